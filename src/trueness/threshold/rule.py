"""Which cases does a rule flag, leave to a person, or clear, and how good is it?

A ``Rule`` is one cut, two cuts with a zone for doubt between them, or either for each
group: what choices give, and what all that judges a choice takes.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import (
    Any,
    Concatenate,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeGuard,
    TypeVar,
    final,
)

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import described, is_several
from trueness._core.data_types import Column, LabelValue
from trueness._core.files import as_written
from trueness._core.numbers import cut_text, number_of
from trueness._core.records import Estimate, Record, native_frame
from trueness.counts.answers import OfTally, of_counts, of_tally
from trueness.counts.cases import keep_rows
from trueness.counts.design import CASE_CONTROL
from trueness.counts.values import Tally, rescore
from trueness.inference.estimates import interval_notes
from trueness.inference.expected_counts import labelled_or_expected, shows_values
from trueness.inference.sample import check_prevalence_known
from trueness.inference.verification import unlabelled_notes
from trueness.metrics.algebra import Metric, depends_on_prevalence
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.grammar import metric as read_metric
from trueness.metrics.grammar import metric_as_typed, one_or_more
from trueness.metrics.intervals import (
    METHODS,
    WILSON_METHOD,
    estimates,
    unknown_depend_on_score,
)

Cut = float | Mapping[str, float]
FLAGGED, DEFERRED, NOT_FLAGGED = 1.0, 0.5, 0.0


@final
@dataclass(frozen=True, repr=False)
class Rule(Record):
    """A decision rule: which scores are flagged, deferred or not flagged.

    One threshold, or a pair, for all cases or for each group.

    Attributes
    ----------
    upper : float or dict of str to float
        A case is flagged when ``score >= upper``; a dict has a number for each group.
    lower : float or dict of str to float or None
        A case is not flagged when ``score < lower``, and deferred (left to a person)
        between the two. None: nothing is deferred.

    Examples
    --------
    >>> Rule(0.8, lower=0.3)
    Rule: flag at 0.8 or more, defer at 0.3 or more
    >>> Rule({"a": 0.5, "b": 0.4}).decide([0.45, 0.45], ["a", "b"])
    array([0., 1.])
    """

    upper: Cut
    lower: Cut | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "upper", _read_cut(self.upper, "upper"))
        if self.lower is not None:
            object.__setattr__(self, "lower", _read_cut(self.lower, "lower"))

        same_groups = self.lower is None or (
            _group_names(self.upper) == _group_names(self.lower)
        )
        if not same_groups or self.upper == {}:
            raise InputError(
                "A rule for groups needs an upper and a lower threshold for each; "
                f"found {described(self.upper)} and {described(self.lower)}."
            )

        for group in self.groups or (None,):
            low, high = self.cuts(group)
            if low > high:
                raise InputError(
                    "The lower threshold must not lie above the upper one; found "
                    f"{low:g} and {high:g}.",
                    example=PythonCode(f"Rule({low:g}, lower={high:g})"),
                )

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the groups that have thresholds of their own, if any."""
        return tuple(self.upper) if isinstance(self.upper, Mapping) else ()

    @property
    def defers(self) -> bool:
        """Return whether the rule defers cases."""
        return self.lower is not None and self.lower != self.upper

    def cuts(self, group: LabelValue = None) -> tuple[float, float]:
        """Return the lower and the upper threshold, of a group where groups differ."""
        upper = self._cut_of_group(self.upper, group)
        if self.lower is None:
            return upper, upper
        return self._cut_of_group(self.lower, group), upper

    def _cut_of_group(self, cut: Cut, group: LabelValue) -> float:
        """Return a threshold, that of the group where groups have their own."""
        if not isinstance(cut, Mapping):
            return float(cut)
        if str(group) not in cut:
            raise InputError(
                f"This rule is for the groups {', '.join(cut)}; found "
                f"{described(group)}."
            )

        return float(cut[str(group)])

    def decide(self, score: ArrayLike, group: Column | None = None) -> Floats:
        """Return what happens to each case: 1 is flagged, 0 is not, NaN is deferred.

        A rule that names groups needs the group of each case, or of all.
        """
        score = _columns.as_floats(score, "score")
        if self.groups and group is not None and not isinstance(group, str):
            names = np.asarray(group).astype(str)
            decisions = np.full(score.shape, np.nan)
            for name in np.unique(names):
                of_group = names == name
                decisions[of_group] = self.decide(score[of_group], str(name))
            return decisions

        # groups that the rule does not name are not asked for
        name_of_group = group if isinstance(group, str) else None
        lower, upper = self.cuts(name_of_group)
        # the first condition that holds decides: without a score there is no decision
        conditions = [np.isnan(score), score >= upper, score < lower]
        return np.select(conditions, [np.nan, FLAGGED, NOT_FLAGGED], np.nan)

    def verdicts(self, data: Tally | Mapping[Any, Tally]) -> Tally:
        """Count cases: those flagged as 1, deferred as 1/2, not flagged as 0."""
        if isinstance(data, Mapping):
            first, *others = [
                self._verdicts_of(tally, name) for name, tally in data.items()
            ]
            return sum(others, start=first)
        if self.groups:
            raise InputError(
                f"A rule for the groups {', '.join(self.groups)} needs a tally of "
                "each.",
                option="by",
                example="COLUMN",
            )
        return self._verdicts_of(data, None)

    def _verdicts_of(self, tally: Tally, group: LabelValue) -> Tally:
        """Return the counts of a group with verdicts instead of scores."""
        lower, upper = self.cuts(group)
        if tally.labels_expected:
            # by the scores, which verdicts no longer have
            tally = labelled_or_expected(tally)
        conditions = [tally.score >= upper, tally.score < lower]
        verdicts = np.select(conditions, [FLAGGED, NOT_FLAGGED], DEFERRED)
        return rescore(tally, verdicts)

    def to_sql(self, score: str = "score", group: str = "group") -> str:
        """Write the rule as an SQL expression: 1 flagged, 0 not, NULL deferred.

        ``score`` and ``group`` are the columns, by name.
        """
        column = _quoted(score)
        branches = []
        for name in self.groups or (None,):
            lower, upper = self.cuts(name)
            in_group = ""
            if name is not None:
                literal = name.replace("'", "''")
                in_group = f"{_quoted(group)} = '{literal}' AND "
            branches.append(f"WHEN {in_group}{_at_least(column, upper)} THEN 1")
            branches.append(f"WHEN {in_group}{_below(column, lower)} THEN 0")

        return " ".join(["CASE", *branches, "END"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rule to a JSON file; :meth:`load` reads it back, equal."""
        text = json.dumps({"trueness": "rule", **self.to_dict()}, allow_nan=False)
        _options.file_path(path, "Rule.save").write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Rule:
        """Read a rule that :meth:`save` wrote."""
        file = Path(_options.file_path(path, "Rule.load"))
        if not file.is_file():
            raise InputError(f"There is no file {file} to read a rule from.")
        with as_written(file, "a rule"):
            return cls.from_dict(json.loads(file.read_text(encoding="utf-8")))

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Rule:
        """Read what ``to_dict`` returned."""
        known_fields = {"trueness", "upper", "lower"}
        if (
            not isinstance(fields, Mapping)
            or not {"upper"} <= fields.keys() <= known_fields
            or fields.get("trueness", "rule") != "rule"
        ):
            raise InputError(
                f'A rule is written as {{"upper": 0.8, "lower": 0.3}}; found '
                f"{described(fields)}."
            )
        return cls(_from_json(fields["upper"]), _from_json(fields.get("lower")))

    def __repr__(self) -> str:
        parts = []
        for name in self.groups or (None,):
            lower, upper = self.cuts(name)
            actions = f"flag at {cut_text(upper)} or more"
            if math.isinf(upper):
                actions = "flag nothing" if upper > 0 else "flag everything"
            if lower < upper:
                actions += f", defer at {cut_text(lower)} or more"
            parts.append(actions if name is None else f"{name}: {actions}")

        return f"Rule: {'; '.join(parts)}"


class HoldsRule(Protocol):
    """An answer that holds a rule, such as that of a best threshold."""

    @property
    def rule(self) -> Rule:
        """Return the rule."""


RuleOrThreshold: TypeAlias = float | Estimate | Rule | HoldsRule
"""A threshold, a rule, or an answer that holds one."""


def rule_of(rule_or_threshold: RuleOrThreshold | None) -> Rule:
    """Return a rule from a number, a rule, or an answer that holds one."""
    if isinstance(rule_or_threshold, Rule):
        return rule_or_threshold
    rule = getattr(rule_or_threshold, "rule", None)
    if isinstance(rule, Rule):
        return rule
    return Rule(threshold_number(rule_or_threshold))


def rules_of(threshold: Any) -> list[Rule]:
    """Return one rule, or one for each of several thresholds."""
    if is_several(threshold) and not _is_answer(threshold):
        return [Rule(cut) for cut in threshold]
    return [rule_of(threshold)]


def threshold_number(value: object, name: str = "threshold") -> float:
    """Read a threshold; infinite ones flag everything or nothing."""
    if isinstance(value, (float, np.floating)) and math.isinf(value):
        return float(value)
    return _options.real_number(value, name)


def _read_cut(cut: Cut, name: str) -> Cut:
    """Read a threshold, or one for each group."""
    if isinstance(cut, Mapping):
        return {
            str(group): threshold_number(value, name) for group, value in cut.items()
        }
    return threshold_number(cut, name)


def _group_names(cut: Cut) -> set[str] | None:
    """Return the groups of a threshold; None where it is one number for all."""
    return set(cut) if isinstance(cut, Mapping) else None


def _from_json(cut: str | float | Mapping[str, Any] | None) -> Any:
    """Read a threshold of JSON, which writes infinite ones as text."""
    if isinstance(cut, Mapping):
        return {name: _from_json(value) for name, value in cut.items()}
    return float(cut) if cut in ("inf", "-inf") else cut


def _quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _at_least(column: str, cut: float) -> str:
    """Return SQL for scores of at least a cut, which may be infinite."""
    if math.isinf(cut):
        return f"{column} IS NOT NULL" if cut < 0 else "FALSE"
    return f"{column} >= {cut!r}"


def _below(column: str, cut: float) -> str:
    """Return SQL for scores below a cut, which may be infinite."""
    if math.isinf(cut):
        return f"{column} IS NOT NULL" if cut > 0 else "FALSE"
    return f"{column} < {cut!r}"


P = ParamSpec("P")
R = TypeVar("R")


def all_groups_at_once(
    asks_for_groups: Callable[[Any], bool],
) -> Callable[[Callable[Concatenate[Tally, P], R]], OfTally[P, R]]:
    """Let an analysis take all groups at once where an argument asks for it.

    Otherwise it is made of each group by itself.
    """

    def decorate(analysis: Callable[Concatenate[Tally, P], R]) -> OfTally[P, R]:
        of_each_group = of_tally(analysis)
        of_all_groups = of_counts(analysis)

        @wraps(of_each_group)
        def call(*args: Any, **options: Any) -> Any:
            arguments = (*args[1:], *options.values())
            if any(asks_for_groups(argument) for argument in arguments):
                return of_all_groups(*args, **options)
            return of_each_group(*args, **options)

        return call  # type: ignore[return-value]

    return decorate


def _is_answer(x: object) -> TypeGuard[Rule | HoldsRule]:
    return isinstance(x, Rule) or isinstance(getattr(x, "rule", None), Rule)


def _names_groups(x: object) -> bool:
    return _is_answer(x) and bool(rule_of(x).groups)


@final
@dataclass(frozen=True, repr=False)
class AtThreshold(Record):
    """The metrics of a classifier at one threshold, or by one rule.

    Attributes
    ----------
    confusion : Confusion
        The confusion matrix of the decided cases.
    metrics : dict of str to Estimate
        Every metric of the decided cases; and ``defer``, the proportion of cases that
        is deferred, where the rule defers some.
    prevalence : float or None
        The prevalence in use, if the sampling design states one.
    """

    rule: Rule
    confusion: Confusion
    metrics: dict[str, Estimate]
    prevalence: float | None = None
    sampling: str = "cohort"
    notes: tuple[str, ...] = ()

    @property
    def threshold(self) -> float:
        """Return the score from which on cases are flagged; NaN where groups differ."""
        return math.nan if self.rule.groups else self.rule.cuts()[1]

    def __getitem__(self, name: str) -> Estimate:
        if name in self.metrics:
            return self.metrics[name]
        # a metric may be shown, or asked for, by one of its aliases
        by_own_name = {
            read_metric(k).name: estimate for k, estimate in self.metrics.items()
        }
        return by_own_name[read_metric(name).name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __repr__(self) -> str:
        tp, fp, fn, tn = [number_of(float(cell)) for cell in self.confusion.cells]
        heading = (
            f"{self.rule!r}: {tp} true and {fp} false positives, {fn} false and {tn} "
            "true negatives"
        )
        metrics = [f"  {estimate!r}" for estimate in self.metrics.values()]
        notes = [f"  Note: {note}" for note in self.notes]
        return "\n".join([heading, *metrics, *notes])

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row per metric: metric, value, low, high, level, method, group."""
        estimates = self.metrics.values()
        columns = {
            "metric": list(self.metrics),
            "value": [estimate.value for estimate in estimates],
            "low": [estimate.low for estimate in estimates],
            "high": [estimate.high for estimate in estimates],
            "level": [estimate.level for estimate in estimates],
            "method": [estimate.method for estimate in estimates],
            "group": [None] * len(estimates),
        }
        return native_frame(columns, backend)


@all_groups_at_once(_names_groups)
def confusion(
    data: Tally | Mapping[Any, Tally], threshold: RuleOrThreshold
) -> Confusion:
    """Confusion matrix at a threshold, or by a rule.

    How many cases are right and wrong?

    These are the counts of the labelled cases; a stated prevalence does not change
    them. Deferred cases are not counted.

    Parameters
    ----------
    data
        The counts, or data; for a rule with groups a mapping from group to tally.
    threshold
        Cases with at least this score are flagged; or a :class:`Rule`, or a result with
        a rule.

    Examples
    --------
    >>> confusion([0, 1, 1, 0], [0.1, 0.4, 0.8, 0.5], 0.5)
    Confusion
      tp: 1
      fp: 1
      fn: 1
      tn: 1
    """
    return _count_verdicts(rule_of(threshold).verdicts(data))


def _count_verdicts(verdicts: Tally) -> Confusion:
    """Return the confusion matrix of verdicts, without those that are deferred."""
    flagged = verdicts.score == FLAGGED
    cleared = verdicts.score < DEFERRED
    return Confusion(
        tp=verdicts.pos[flagged].sum(),
        fp=verdicts.neg[flagged].sum(),
        fn=verdicts.pos[cleared].sum(),
        tn=verdicts.neg[cleared].sum(),
    )


@all_groups_at_once(_names_groups)
def at_threshold(
    data: Tally | Mapping[Any, Tally],
    threshold: RuleOrThreshold,
    metrics: Iterable[str | Metric] | None = None,
    *,
    level: float = 0.95,
    method: str = WILSON_METHOD,
) -> Any:
    """Metrics at a threshold, or by a rule, with confidence intervals.

    How good is the classifier at my threshold?

    Parameters
    ----------
    data
        The counts, or data; for a rule with groups a mapping from group to tally.
    threshold
        One threshold, chosen beforehand; a :class:`Rule`, or a result with a rule; or
        several thresholds, which return a dict from threshold to record.
    metrics
        Which metrics to compute; all of ``METRICS`` when None.
    method
        ``"wilson"`` (the default) or ``"exact"``: Clopper and Pearson's intervals of
        proportions, and those of likelihood ratios that R's epiR prints.

    Notes
    -----
    Proportions of cases have Wilson's interval, other metrics Student's from their
    influence values (:func:`estimate`). If labels are missing at random given the
    score, the metrics (but not ``confusion``) use expected counts (Begg and Greenes). A
    threshold that was tuned on the same cases looks better here than it will be on new
    cases: see :func:`validate_threshold`.

    Examples
    --------
    >>> answer = at_threshold([0, 1, 1, 0], [0.1, 0.4, 0.8, 0.5], 0.5)
    >>> answer["sensitivity"].value, answer.metrics["precision"].value
    (0.5, 0.5)
    >>> t = Tally([3, 2, 1], pos=[8, 3, 1], neg=[1, 3, 9])
    >>> at_threshold(t, Rule(3, lower=2))["accuracy"].value  # 17 of 19 that are decided
    0.8947368421052632
    """
    level = _options.fraction(level, "level")
    _options.choice(method, METHODS, "method")
    wanted = None
    if metrics is not None:
        needed = "metrics or their names in a list"
        names = one_or_more(metrics, "metrics", needed, ["recall", "f1"])
        wanted = [metric_as_typed(name) for name in names]
    if is_several(threshold) and not _is_answer(threshold):
        return {
            cut: _at_rule(data, Rule(cut), wanted, level, method) for cut in threshold
        }
    return _at_rule(data, rule_of(threshold), wanted, level, method)


def _at_rule(
    data: Tally | Mapping[Any, Tally],
    rule: Rule,
    metrics: list[Metric] | None,
    level: float,
    method: str,
) -> AtThreshold:
    """Return the metrics of the cases that a rule decides."""
    one_threshold = not (rule.groups or rule.defers)
    if not one_threshold:
        _check_labels_not_expected(data)

    if one_threshold and isinstance(data, Tally):
        # the scores are kept: the chance of a label may depend on them
        tally = data
    else:
        tally = rule.verdicts(data)

    _cases.some_labels(tally, "at_threshold")
    if unknown_depend_on_score(tally):
        _cases.both_classes(tally, "at_threshold")
        if not one_threshold:
            raise InputError(
                "Labels that are missing at random need a rule with one threshold for "
                "all cases; found two of them, or groups.",
                option="unlabelled",
                example="left out",
            )

    if one_threshold:
        verdicts = rule.verdicts(tally)
        values = estimates(tally, rule.cuts()[1], metrics, level=level, method=method)
    else:
        verdicts = tally
        # deferred cases belong to no cell
        decided = keep_rows(tally, tally.score != DEFERRED)
        values = estimates(decided, FLAGGED, metrics, level=level, method=method)

    if rule.defers:
        values |= _proportion_deferred(tally, level)

    confusion_matrix = _count_verdicts(verdicts)
    if not shows_values(tally):
        confusion_matrix = Confusion(math.nan, math.nan, math.nan, math.nan)

    notes = (*unlabelled_notes(tally), *_notes(tally, values))

    return AtThreshold(
        rule=rule,
        confusion=confusion_matrix,
        metrics=values,
        prevalence=tally.design.prevalence,
        sampling=tally.design.sampling,
        notes=notes,
    )


def _check_labels_not_expected(data: Tally | Mapping[Any, Tally]) -> None:
    """Stop where a rule with two thresholds, or with groups, meets expected labels."""
    tallies = [data] if isinstance(data, Tally) else data.values()
    if any(tally.labels_expected for tally in tallies):
        raise InputError(
            "Expected labels need a rule with one threshold for all cases; found two "
            "of them, or groups.",
            option="unlabelled",
        )


def _proportion_deferred(verdicts: Tally, level: float) -> dict[str, Estimate]:
    """Return which proportion of all cases is not decided."""
    deferred = rescore(verdicts, verdicts.score == DEFERRED)
    proportion = replace(METRICS["flagged_rate"], name="defer")
    return estimates(deferred, 1.0, [proportion], level=level)


def _notes(tally: Tally, values: dict[str, Estimate]) -> list[str]:
    """Say which metrics are left out or undefined, and what intervals assume."""
    notes = []
    design = tally.design
    if design.sampling == CASE_CONTROL and design.prevalence is None:
        notes.append(
            "Metrics that depend on the prevalence are left out for a case-control "
            "sample. State the prevalence to get them."
        )

    notes += interval_notes(tally)
    undefined = [
        name for name, estimate in values.items() if math.isnan(estimate.value)
    ]
    if undefined:
        notes.append(
            f"{', '.join(undefined)}: undefined here, because their denominator is 0."
        )

    return notes


def metric_at(metric: Metric, *args: Any, **options: Any) -> Any:
    """Return one metric of data: ``f1(t, threshold=0.5)``, ``f1(y_true, y_pred)``."""

    def analysis(
        data: Tally,
        threshold: RuleOrThreshold | None = None,
        *,
        level: float = 0.95,
        method: str = WILSON_METHOD,
    ) -> Any:
        if threshold is None:
            _check_verdicts(data, metric)
            threshold = 1.0
        if depends_on_prevalence(metric):
            check_prevalence_known(data, metric.name)
        answer = at_threshold(
            data, threshold, metrics=[metric], level=level, method=method
        )
        if isinstance(answer, dict):  # several thresholds
            return {cut: _with_notes(record, metric) for cut, record in answer.items()}
        return _with_notes(answer, metric)

    analysis.__name__ = metric.name
    return of_tally(analysis)(*args, **options)


def _check_verdicts(data: Tally, metric: Metric) -> None:
    """Refuse scores that are not 0 and 1 where no threshold is given."""
    scores = set(data.score.tolist())
    if not scores or not scores <= {0.0, 1.0}:
        raise InputError(
            f"{metric.name} needs a threshold, or verdicts that are 0 and 1; found "
            f"{len(scores):,} distinct scores.",
            option="threshold",
            example=0.5,
        )


def _with_notes(record: AtThreshold, metric: Metric) -> Estimate:
    """Return one metric with its notes, or with those of the record."""
    estimate = record.metrics[metric.name]
    return replace(estimate, notes=estimate.notes or record.notes)
