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
from typing import Any, Concatenate, ParamSpec, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described, is_several
from trueness._core.files import as_written
from trueness._core.numbers import cut_text, number_of
from trueness._core.records import Estimate, Record, native_frame
from trueness.counts.answers import OfTally, of_counts, of_tally
from trueness.counts.cases import keep_rows
from trueness.counts.design import CASE_CONTROL
from trueness.counts.values import Tally, rescored
from trueness.inference.estimates import interval_notes
from trueness.inference.sample import check_prevalence_known
from trueness.inference.verification import unlabelled_notes
from trueness.metrics.algebra import Metric, depends_on_prevalence
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.grammar import metric as read_metric
from trueness.metrics.grammar import one_or_more
from trueness.metrics.intervals import estimates, meant_by_rows

Cut = float | Mapping[str, float]
FLAGGED, DEFERRED, NOT_FLAGGED = 1.0, 0.5, 0.0


@final
@dataclass(frozen=True, repr=False)
class Rule(Record):
    """Which scores are flagged, deferred, not flagged, and for whom?

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
    Rule: flag from 0.8 on, defer from 0.3 on
    >>> Rule({"a": 0.5, "b": 0.4}).decide([0.45, 0.45], ["a", "b"])
    array([0., 1.])
    """

    upper: Cut
    lower: Cut | None = None

    def __post_init__(self) -> None:
        for name in ("upper", "lower"):
            given = getattr(self, name)
            if isinstance(given, Mapping):
                given = {str(k): threshold_number(v, name) for k, v in given.items()}
            elif name == "upper" or given is not None:
                given = threshold_number(given, name)
            object.__setattr__(self, name, given)
        # the groups of each threshold; None where it is a number
        names = [set(cut) if isinstance(cut, Mapping) else None
                 for cut in (self.upper, self.lower) if cut is not None]  # fmt: skip
        if names[0] != names[-1] or self.upper == {}:
            raise InputError(
                "A rule for groups needs an upper and a lower threshold for each; "
                f"found {described(self.upper)} and {described(self.lower)}."
            )
        for group in self.groups or (None,):
            low, high = self.cuts(group)
            if low > high:
                raise InputError(
                    "The lower threshold must not lie above the upper one; found "
                    f"{low:g} and {high:g}. Type Rule({low:g}, lower={high:g})."
                )

    @property
    def groups(self) -> tuple[str, ...]:
        """Give the groups that have thresholds of their own, if any."""
        return tuple(self.upper) if isinstance(self.upper, Mapping) else ()

    @property
    def defers(self) -> bool:
        """Is there a zone for doubt?"""
        return self.lower is not None and self.lower != self.upper

    def cuts(self, group: object = None) -> tuple[float, float]:
        """Give the lower and the upper threshold, of a group where groups differ."""
        if not isinstance(self.upper, Mapping):
            upper, lower = self.upper, self.lower
        else:
            if str(group) not in self.upper:
                raise InputError(
                    f"This rule is for the groups {', '.join(self.upper)}; found "
                    f"{described(group)}."
                )
            upper = self.upper[str(group)]
            lower = self.lower[str(group)] if isinstance(self.lower, Mapping) else None
        return (upper if lower is None else float(lower)), float(upper)  # type: ignore[arg-type]

    def decide(self, score: ArrayLike, group: object = None) -> Floats:
        """What happens to each case? 1 is flagged, 0 is not, NaN is deferred.

        A rule that names groups needs the group of each case, or of all.
        """
        score = _columns.as_floats(score, "score")
        if self.groups and group is not None and not isinstance(group, str):
            names = np.asarray(group).astype(str)
            found = np.full(score.shape, np.nan)
            for name in np.unique(names):
                found[names == name] = self.decide(score[names == name], str(name))
            return found
        lower, upper = self.cuts(group)
        kinds = [np.isnan(score), score >= upper, score < lower]
        return np.select(kinds, [np.nan, FLAGGED, NOT_FLAGGED], np.nan)

    def verdicts(self, data: Tally | Mapping[Any, Tally]) -> Tally:
        """Count cases: those flagged as 1, deferred as 1/2, not flagged as 0."""
        if isinstance(data, Mapping):
            first, *others = (self._judged(t, name) for name, t in data.items())
            return sum(others, start=first)
        if self.groups:
            raise InputError(
                f"A rule for the groups {', '.join(self.groups)} needs a tally of "
                'each. Type trueness.tally(frame, label=..., score=..., by="group").'
            )
        return self._judged(data, None)

    def _judged(self, t: Tally, group: object) -> Tally:
        lower, upper = self.cuts(group)
        kinds = [t.score >= upper, t.score < lower]
        return rescored(t, np.select(kinds, [FLAGGED, NOT_FLAGGED], DEFERRED))

    def to_sql(self, score: str = "score", group: str = "group") -> str:
        """Write the rule as an SQL expression: 1 flagged, 0 not, NULL deferred.

        ``score`` and ``group`` are the columns, by name.
        """
        column, parts = _quoted(score), []
        for name in self.groups or (None,):
            lower, upper = self.cuts(name)
            whose = ""
            if name is not None:
                text = name.replace("'", "''")
                whose = f"{_quoted(group)} = '{text}' AND "
            parts += [f"WHEN {whose}{_at_least(column, upper)} THEN 1"]
            parts += [f"WHEN {whose}{_at_least(column, lower, below=True)} THEN 0"]
        return " ".join(["CASE", *parts, "END"])

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
    def from_dict(cls, given: object) -> Rule:
        """Read what ``to_dict`` gave."""
        known = {"trueness", "upper", "lower"}
        if (
            not isinstance(given, Mapping)
            or not {"upper"} <= given.keys() <= known
            or given.get("trueness", "rule") != "rule"
        ):
            raise InputError(
                f'A rule is written as {{"upper": 0.8, "lower": 0.3}}; found '
                f"{described(given)}."
            )
        cuts = (_read(given.get(name)) for name in ("upper", "lower"))
        return cls(*cuts)

    def __repr__(self) -> str:
        parts = []
        for name in self.groups or (None,):
            lower, upper = self.cuts(name)
            words = f"flag from {cut_text(upper)} on"
            if math.isinf(upper):
                words = "flag nothing" if upper > 0 else "flag everything"
            if lower < upper:
                words += f", defer from {cut_text(lower)} on"
            parts.append(words if name is None else f"{name}: {words}")
        return f"Rule: {'; '.join(parts)}"


def rule_of(given: object) -> Rule:
    """Take a number, a rule, or an answer that holds one, as a rule."""
    if isinstance(given, Rule):
        return given
    inside = getattr(given, "rule", None)
    return inside if isinstance(inside, Rule) else Rule(threshold_number(given))


def threshold_number(value: object, name: str = "threshold") -> float:
    """Read a threshold; infinite ones flag everything or nothing."""
    if isinstance(value, (float, np.floating)) and math.isinf(value):
        return float(value)
    return _options.real_number(value, name)


def _read(cut: object) -> Any:
    """Read a threshold of JSON, which writes infinite ones as text."""
    if isinstance(cut, Mapping):
        return {name: _read(v) for name, v in cut.items()}
    return float(cut) if cut in ("inf", "-inf") else cut


def _quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _at_least(column: str, cut: float, below: bool = False) -> str:
    """Compare a column with a cut; infinite ones hold for every score, or for none."""
    if math.isinf(cut):
        holds = (cut < 0) != below
        return f"{column} IS NOT NULL" if holds else "FALSE"
    return f"{column} {'<' if below else '>='} {cut!r}"


P = ParamSpec("P")
R = TypeVar("R")


def together(
    asked: Callable[[Any], bool],
) -> Callable[[Callable[Concatenate[Tally, P], R]], OfTally[P, R]]:
    """Let an analysis take all groups at once where an argument asks for it."""

    def opened(analysis: Callable[Concatenate[Tally, P], R]) -> OfTally[P, R]:
        alone: Any = of_tally(analysis)
        joint: Any = of_counts(analysis)

        @wraps(alone)
        def call(*args: Any, **options: Any) -> Any:
            at_once = any(map(asked, (*args[1:], *options.values())))
            return (joint if at_once else alone)(*args, **options)

        made: Any = call
        return made  # type: ignore[no-any-return]

    return opened


def _is_answer(x: object) -> bool:
    return isinstance(x, Rule) or isinstance(getattr(x, "rule", None), Rule)


def _names_groups(x: object) -> bool:
    return _is_answer(x) and bool(rule_of(x).groups)


@final
@dataclass(frozen=True, repr=False)
class AtThreshold(Record):
    """How good is the classifier at one threshold, or by one rule?

    Attributes
    ----------
    confusion : Confusion
        The four counts of the cases that are decided.
    metrics : dict of str to Estimate
        Every metric of the decided cases; and ``defer``, the share of cases that is
        deferred, where the rule defers some.
    prevalence : float or None
        The prevalence of use, where the design of the cases says one.
    """

    rule: Rule
    confusion: Confusion
    metrics: dict[str, Estimate]
    prevalence: float | None = None
    sampling: str = "cohort"
    notes: tuple[str, ...] = ()

    @property
    def threshold(self) -> float:
        """Give the score from which on cases are flagged; NaN where groups differ."""
        return float("nan") if self.rule.groups else self.rule.cuts()[1]

    def __getitem__(self, name: str) -> Estimate:
        meant = read_metric(name)
        known = {read_metric(k).name: e for k, e in self.metrics.items()}
        return self.metrics.get(name) or known[meant.name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __repr__(self) -> str:
        tp, fp, fn, tn = (number_of(float(n)) for n in self.confusion.cells)
        head = (
            f"{self.rule!r}: {tp} true and {fp} false positives, {fn} false and {tn} "
            "true negatives"
        )
        rows = [f"  {e!r}" for e in self.metrics.values()]
        return "\n".join([head, *rows, *(f"  Note: {n}" for n in self.notes)])

    def to_frame(self, backend: str | None = None) -> Any:
        """Give one row per metric: metric, value, low, high, level, method, group."""
        found = self.metrics.values()
        columns: dict[str, list[Any]] = {"metric": list(self.metrics)}
        for k in ("value", "low", "high", "level", "method"):
            columns[k] = [getattr(e, k) for e in found]
        return native_frame({**columns, "group": [None] * len(found)}, backend)


@together(_names_groups)
def confusion(data: Tally | Mapping[Any, Tally], threshold: object) -> Confusion:
    """How many cases are right and wrong at this threshold, or by this rule?

    Labelled cases as they are: no prevalence moves these counts. Cases that a rule
    defers are in none of the four.

    Parameters
    ----------
    data
        The counts, or data; for a rule with groups a mapping from group to tally.
    threshold
        Cases with a score of at least this are flagged; or a :class:`Rule`, or an
        answer that holds one.

    Examples
    --------
    >>> confusion([0, 1, 1, 0], [0.1, 0.4, 0.8, 0.5], 0.5)
    Confusion
      tp: 1
      fp: 1
      fn: 1
      tn: 1
    """
    return _counted(rule_of(threshold).verdicts(data))


def _counted(t: Tally) -> Confusion:
    """Count verdicts, without those that are deferred."""
    flagged, cleared = t.score == FLAGGED, t.score < DEFERRED
    cells = [c[at].sum().item() for at in (flagged, cleared) for c in (t.pos, t.neg)]
    return Confusion(*cells)


@together(_names_groups)
def at_threshold(
    data: Tally | Mapping[Any, Tally],
    threshold: object,
    metrics: Iterable[str | Metric] | None = None,
    *,
    level: float = 0.95,
) -> Any:
    """How good is the classifier at my threshold, or by my rule?

    Parameters
    ----------
    data
        The counts, or data; for a rule with groups a mapping from group to tally.
    threshold
        One threshold, chosen beforehand; a :class:`Rule`, or an answer that holds one;
        or several thresholds, then the answer is a dict from threshold to record.
    metrics
        Which metrics to compute; all of ``METRICS`` when None.

    Notes
    -----
    Shares of cases have Wilson's interval, other metrics Student's from their influence
    values (:func:`estimate`). Where labels are missing at random given the score, the
    metrics, but not ``confusion``, are those of expected counts (Begg and Greenes). A
    threshold that was tuned on the same cases looks better here than it will be on new
    cases: see :func:`validate_threshold`.

    Examples
    --------
    >>> found = at_threshold([0, 1, 1, 0], [0.1, 0.4, 0.8, 0.5], 0.5)
    >>> found["sensitivity"].value, found.metrics["precision"].value
    (0.5, 0.5)
    >>> t = Tally([3, 2, 1], pos=[8, 3, 1], neg=[1, 3, 9])
    >>> at_threshold(t, Rule(3, lower=2))["accuracy"].value  # 17 of 19 that are decided
    0.8947368421052632
    """
    level = _options.fraction(level, "level")
    wanted = None
    if metrics is not None:
        needed = "metrics must be metrics or their names in a list"
        wanted = [_named(m) for m in one_or_more(metrics, needed, '["recall", "f1"]')]
    if is_several(threshold) and not _is_answer(threshold):
        return {cut: _at(data, Rule(cut), wanted, level) for cut in threshold}
    return _at(data, rule_of(threshold), wanted, level)


def _at(
    data: Tally | Mapping[Any, Tally],
    rule: Rule,
    metrics: list[Metric] | None,
    level: float,
) -> AtThreshold:
    plain = not (rule.groups or rule.defers)
    t = data if plain and isinstance(data, Tally) else rule.verdicts(data)
    _cases.some_labels(t, "at_threshold")
    if meant_by_rows(t):
        _cases.both_classes(t, "at_threshold")
        if not plain:
            raise InputError(
                "Labels that are missing at random need a rule with one threshold for "
                'all cases; found two of them, or groups. Type unlabelled="left out".'
            )
    decided = t if plain else keep_rows(t, t.score != DEFERRED)
    found = estimates(decided, rule.cuts()[1] if plain else FLAGGED, metrics,
                      level=level)  # fmt: skip
    if rule.defers:  # of all cases, those that are not decided
        asked = rescored(t, t.score == DEFERRED)
        of_all = replace(METRICS["flagged_rate"], name="defer")
        found |= estimates(asked, 1.0, [of_all], level=level)
    d = t.design
    notes = unlabelled_notes(t, stacklevel=6)
    if d.sampling == CASE_CONTROL and d.prevalence is None:
        notes += (
            "Metrics that depend on the prevalence are left out for a case-control "
            "sample; pass prevalence= to get them.",
        )
    notes += interval_notes(t)
    if gone := [name for name, e in found.items() if math.isnan(e.value)]:
        notes += (
            f"{', '.join(gone)}: undefined here, since the cases that they are a share "
            "of are none.",
        )
    counted = _counted(rule.verdicts(t) if plain else t)
    return AtThreshold(rule, counted, found, d.prevalence, d.sampling, notes)


def _named(asked: str | Metric) -> Metric:
    """Read a metric; it is shown by the name that was typed."""
    m = read_metric(asked)
    if isinstance(asked, str) and asked.lower() in m.aliases:
        return replace(m, name=asked)
    return m


def metric_at(m: Metric, *args: Any, **options: Any) -> Any:
    """Ask for one metric of data: ``f1(t, threshold=0.5)``, ``f1(y_true, y_pred)``."""

    def ask(data: Tally, threshold: object = None, *, level: float = 0.95) -> Any:
        if threshold is None:  # scores that are 0 and 1 are verdicts
            threshold, scores = 1.0, set(data.score.tolist())
            if not scores or not scores <= {0.0, 1.0}:
                raise InputError(
                    f"{m.name} needs a threshold, or verdicts that are 0 and 1; found "
                    f"{len(scores):,} distinct scores. Type "
                    f"trueness.{m.name}(y_true, y_score, threshold=0.5)."
                )
        if depends_on_prevalence(m):
            check_prevalence_known(data, m.name)
        found = at_threshold(data, threshold, metrics=[m], level=level)
        if isinstance(found, dict):  # several thresholds
            return {cut: one(x) for cut, x in found.items()}
        return one(found)

    def one(found: AtThreshold) -> Estimate:
        e = found.metrics[m.name]
        return replace(e, notes=e.notes or found.notes)

    ask.__name__ = m.name
    return of_tally(ask)(*args, **options)
