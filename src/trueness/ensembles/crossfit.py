"""Which combination is best on cases that it has not seen? What can folds be asked?

Each combiner is fitted on all folds but one and scores that one. A combination is
better when it beats the classifier that would have been chosen on the rest
("best-single"), and every classifier by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import Infeasible, InputError, PythonCode
from trueness._core.checks.words import described, is_several, listing
from trueness._core.figures import Intervals, intervals
from trueness._core.progress import steps
from trueness._core.records import Estimate, Record, native_frame, shown
from trueness.calibration.calibrators import calibrate
from trueness.calibration.folds import deal_cases
from trueness.calibration.proper_scores import brier, log_loss
from trueness.comparison.paired import measured_columns, name_of
from trueness.comparison.results import Comparison, holm, together
from trueness.counts.answers import of_panel
from trueness.counts.folds import Folds
from trueness.counts.values import Panel, Tally, rescored
from trueness.ensembles.combiners import COMBINERS
from trueness.ensembles.ranks import rank_columns
from trueness.inference.differences import Difference
from trueness.inference.estimates import (
    EvaluatedMeasure,
    estimate_from_interval,
    estimate_from_variance,
    estimate_over_folds,
)
from trueness.inference.jackknife import Statistic
from trueness.inference.sample import MeasuredValue, apply_design
from trueness.inference.variance import (
    VarianceEstimate,
    estimate_variance,
    influence_difference,
    variance_of_mean,
)
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.grammar import constraints as read_constraints
from trueness.metrics.grammar import metric as read_metric
from trueness.metrics.intervals import metric_measure
from trueness.ranking.areas import auc, average_precision
from trueness.threshold.operating_point import OperatingPoint, best_threshold
from trueness.threshold.validation import Validation

Combiner = Callable[[Panel], Callable[[Floats], Any]]


@final
@dataclass(frozen=True, repr=False)
class CombinerComparison(Record):
    """How do combiners compare on cases that they have not seen?

    Attributes
    ----------
    auc, difference : mapping from name to Estimate
        Mean out-of-sample AUC over the folds; the same minus that of ``against``.
    against, folds, n_pos, n_neg
        What the others are compared with; number of folds, positives and negatives.
    single, alone : mapping from name to Estimate
        The AUC of each classifier alone, as :func:`auc` gives it: nothing is fitted;
        and its mean over the folds, from which ``gain`` counts.
    gain : mapping from name of a combiner to mapping from classifier to Estimate
        AUC of the combiner minus that of the classifier, both within the folds, paired.
    p_value : mapping from name to float
        The probability of so large an advantage over ``against`` and every classifier
        alone if one of them is in truth as good (one-sided; the largest of the paired
        tests; Holm's correction for the number of combiners).
    """

    auc: Mapping[str, Estimate]
    difference: Mapping[str, Estimate]
    against: str
    folds: int
    n_pos: int
    n_neg: int
    single: Mapping[str, Estimate]
    gain: Mapping[str, Mapping[str, Estimate]]
    p_value: Mapping[str, float]
    alone: Mapping[str, Estimate]

    def best(self) -> str:
        """Which combination has the highest AUC? One classifier alone is none."""
        combined = [name for name in self.auc if name != self.against] or [*self.auc]
        return max(combined, key=lambda name: self.auc[name].value)

    def sentence(self, name: str | None = None) -> str:
        """Is this combiner (by default the best one) better than one classifier?"""
        name = self.best() if name is None else name
        if name == self.against:
            return "No combination beats the best single classifier."
        level = self.auc[name].level
        closest = min(self.gain[name], key=lambda k: self.gain[name][k].value)
        chosen, rival = self.difference[name], self.gain[name][closest]
        both = (
            f"its AUC differs by {_signed(chosen)} from that of the single classifier "
            f"that the data would choose, and by {_signed(rival)} from that of "
            f"{shown(closest)}, the best single classifier in hindsight"
        )
        if self.p_value[name] <= (1 - level) / 2:
            return f"Together they are better ({name}): {both}."
        if rival.high < 0:
            return f"{name} ranks worse than {shown(closest)} alone: {both}."
        return f"{name} does not differ significantly from a single classifier: {both}."

    def to_frame(self, backend: str | None = None) -> Any:
        """Give a table with a row for each combiner."""
        columns: dict[str, list[Any]] = {"combiner": list(self.auc)}
        for word, found in (("auc", self.auc), ("difference", self.difference)):
            for end, name in (("", "value"), ("_low", "low"), ("_high", "high")):
                columns[word + end] = [getattr(e, name) for e in found.values()]
        return native_frame(columns, backend)

    def __repr__(self) -> str:
        """One line a combiner: AUC, and difference to the one compared with."""
        wide = max(map(len, self.auc))
        lines = [
            f"  {k:{wide}}  {self.auc[k]!r}  {self.difference[k].value:+.4f} "
            f"({self.difference[k].low:+.4f} to {self.difference[k].high:+.4f})"
            for k in self.auc
        ]
        head = f"Out-of-sample AUC, {self.folds} folds; difference to {self.against}"
        alone = [f"  {shown(k):{wide}}  {e!r}  alone" for k, e in self.single.items()]
        return "\n".join([head, *lines, *alone, self.sentence()])


def _signed(e: Estimate) -> str:
    return f"{e.value:+.3f} ({e.low:+.3f} to {e.high:+.3f})"


def combiner_figure(found: CombinerComparison) -> Intervals:
    """How does each combiner rank cases it has not seen? The best one first."""
    order = sorted(found.auc.items(), key=lambda pair: -pair[1].value)
    keys = ("combiner", "auc")
    return intervals("Combined", "AUC on new cases", dict(order), keys=keys)


@of_panel
def compare_combiners(
    data: Panel,
    *,
    combiners: Mapping[str, Combiner] | Sequence[str] | None = None,
    against: str = "best-single",
    folds: int = 5,
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
) -> CombinerComparison:
    """Which combination of classifiers ranks unseen cases best, and by how much?

    Limits and p-values are those of :func:`auc` and :func:`compare_auc` within the
    folds, which are treated as independent. The interval is for the maps as fitted: it
    does not include the variation of the fits themselves. Where a classifier has no
    output for a case, its median is used within the folds.

    Parameters
    ----------
    data
        Outputs of classifiers on labelled cases that they were not trained on.
    combiners, against
        Names from ``trueness.COMBINERS`` (all when None), or a mapping from name to a
        function from panel to map; the one whose AUC is subtracted in ``difference``.
    folds
        Number of folds; each class needs as many cases.

    Examples
    --------
    >>> from trueness.counts.resampling import simulate_panel
    >>> p = simulate_panel(600, 200, [0.6, 0.7, 0.8], rng=0)
    >>> found = compare_combiners(p, rng=0)
    >>> found.difference["fidel"].value > 0, found.difference["best-single"].value
    (True, 0.0)
    """
    chosen = _chosen(combiners)
    against = _options.choice(against, chosen, "against")
    level = _options.fraction(level, "level")
    folds = _options.whole_number(folds, "folds", at_least=2)
    _cases.both_classes(data, "compare_combiners")
    data = data.labelled()
    _cases.cases_for_folds(data, folds)
    # the combiners, and behind them each classifier alone
    single = [_alone(k) for k in range(len(data.names))]
    scored = _scored(data, [*chosen.values(), *single], folds, _options.generator(rng))
    measured = MeasuredFolds(scored, auc, "AUC", level)
    combiner_places = {name: place for place, name in enumerate(chosen)}
    single_places = {name: len(chosen) + k for k, name in enumerate(data.names)}

    difference = {}
    gain = {}
    p_values = {}
    for name, place in combiner_places.items():
        to_base = measured.contrast(place, combiner_places[against])
        to_single = {
            classifier: measured.contrast(place, other)
            for classifier, other in single_places.items()
        }
        difference[name] = _estimate_of_difference(to_base, level)
        gain[name] = {
            classifier: _estimate_of_difference(contrast, level)
            for classifier, contrast in to_single.items()
        }
        if name != against:
            # better than all of them: the largest of the p-values
            contrasts = [to_base, *to_single.values()]
            p_values[name] = max(c.p_value_above(0.0) for c in contrasts)

    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    return CombinerComparison(
        auc={name: measured.estimate(k) for name, k in combiner_places.items()},
        difference=difference,
        against=against,
        folds=folds,
        n_pos=data.n_pos,
        n_neg=data.n_neg,
        single={
            name: auc(data.observed(name)[name], level=level) for name in data.names
        },
        gain=gain,
        p_value={against: 1.0, **adjusted},
        alone={name: measured.estimate(k) for name, k in single_places.items()},
    )


def _estimate_of_difference(difference: Difference, level: float) -> Estimate:
    """Return a difference of two AUCs as an estimate with its interval."""
    low, high = difference.interval(level)
    return estimate_from_interval(
        difference.value,
        low,
        high,
        level,
        difference.method,
        difference.standard_error,
    )


def _alone(k: int) -> Combiner:
    """Take the k-th output as it is; where it is missing, its median in the rest."""

    def fit(panel: Panel) -> Callable[[Floats], Any]:
        middle = rank_columns(panel.rows[:, [k]], panel.neg + panel.pos)[0].median
        return lambda rows: np.where(np.isnan(rows[:, k]), middle, rows[:, k])

    return fit


def _chosen(combiners: object) -> dict[str, Combiner]:
    if combiners is None:
        return dict(COMBINERS)
    if isinstance(combiners, Mapping):
        return dict(combiners)
    names = [combiners] if isinstance(combiners, str) else combiners
    if not is_several(names):
        raise InputError(
            f"combiners must be names among {listing(COMBINERS, 20)}, or a mapping "
            f"from name to function; found {described(names)}."
        )
    return {n: COMBINERS[_options.choice(n, COMBINERS, "combiners")] for n in names}


def _scored(
    panel: Panel, combiners: Sequence[Combiner], folds: int, rng: np.random.Generator
) -> Folds:
    """Fit on all folds but one, and score the cases of that one."""
    names = [str(k) for k in range(len(combiners))]
    negatives = deal_cases(panel.neg, folds, rng)
    positives = deal_cases(panel.pos, folds, rng)
    deal = list(zip(negatives, positives, strict=True))

    parts = []
    for neg, pos in steps(deal, "Cross-fitting", unit="folds"):
        rest = Panel(panel.names, panel.rows, panel.neg - neg, panel.pos - pos)
        in_fold = neg + pos > 0
        scores = [
            np.asarray(combiner(rest)(panel.rows[in_fold])) for combiner in combiners
        ]
        parts.append(Panel(names, np.column_stack(scores), neg[in_fold], pos[in_fold]))
    return Folds(tuple(parts))


def answer_folds(
    name: str, x: Folds, rest: tuple[Any, ...], options: Mapping[str, Any]
) -> Any:
    """Ask an analysis about folds, which are no groups and are not pooled."""
    if name not in OF_FOLDS:
        raise InputError(
            f"{name} does not take folds, since each was scored by another model; "
            f"{', '.join(sorted(OF_FOLDS))} do. Ask it of every fold.",
            example=PythonCode(f"[trueness.{name}(part, ...) for part in found.folds]"),
        )
    return OF_FOLDS[name](x, *rest, **options)


def _mean_over_folds(statistic: Any, name: str) -> Callable[..., Any]:
    """Return a function from folds to the mean of a statistic, of each model."""

    def mean(data: Folds, *, level: float = 0.95, **others: Any) -> Any:
        if others:
            raise InputError(
                f"Of folds {statistic.__name__} takes only the level; found "
                f"{listing(others)}. Ask for them of every fold.",
                example=PythonCode(
                    f"[trueness.{statistic.__name__}(part, ...) for part in folds]"
                ),
            )
        if data.names:
            return {model: mean(data[model], level=level) for model in data.names}
        return estimate_over_folds(data, statistic.measure, level=level, name=name)

    return mean


def compare_folds(
    data: Folds,
    statistic: Statistic,
    *,
    name: str = "",
    margin: float | None = None,
    level: float = 0.95,
    ends: tuple[float, float] = (0.0, 1.0),
) -> Comparison:
    """Compare models that were trained and tested on the same folds, fold by fold."""
    _cases.at_least_two(data.names, "A comparison of folds")
    name = name or name_of(statistic)
    level = _options.fraction(level, "level")
    found = MeasuredFolds(data, statistic, name, level, ends)
    values = {k: found.estimate(i) for i, k in enumerate(data.names)}
    return together(values, found.contrast, margin=margin, paired=True, method=name)


class MeasuredFolds:
    """The mean of a measure over the folds of each model, and differences of two."""

    def __init__(
        self,
        data: Folds,
        statistic: Statistic,
        name: str,
        level: float,
        ends: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        self._name = name
        self._level = level
        panels = [panel.labelled() for panel in data]
        self._parts = [
            measured_columns(panel, statistic, name, level, ends) for panel in panels
        ]
        self._samples = [apply_design(panel) for panel in panels]

    def side(self, k: int) -> EvaluatedMeasure:
        """Return the mean of one of them, with its variance."""
        by_fold = [columns[k] for columns in self._parts]
        value = math.fsum(fold.value for fold in by_fold) / len(by_fold)
        variance = variance_of_mean([fold.variance_estimate for fold in by_fold])
        return EvaluatedMeasure(value, variance, by_fold[0].ends)

    def estimate(self, k: int) -> Estimate:
        """Return the mean of one of them, with its interval."""
        mean = self.side(k)
        return estimate_from_variance(
            mean.value, mean.variance_estimate, mean.ends, self._level, self._name
        )

    def contrast(self, i: int, j: int) -> Difference:
        """Compare two of them on the same cases."""
        if i == j:
            return Difference(0.0, VarianceEstimate(0.0, math.inf, math.inf))
        variances = []
        for sample, columns in zip(self._samples, self._parts, strict=True):
            gap = influence_difference(columns[i].influence, columns[j].influence)
            within_class = columns[i].within_class or sample.class_sizes_fixed
            variances.append(
                estimate_variance(sample.observed, gap, within_class=within_class)
            )
        return Difference.between(
            self.side(i), self.side(j), variance_of_mean(variances)
        )


def _validate_threshold(
    data: Folds,
    maximize: str | Metric | None = None,
    subject_to: str | Constraint | Iterable[str | Constraint] = (),
    *,
    minimize: str | Metric | None = None,
    level: float = 0.95,
) -> Any:
    """Choose on all folds but one, test on that one, and average."""
    level = _options.fraction(level, "level")

    def choose(tally: Tally) -> OperatingPoint:
        return best_threshold(
            tally,
            maximize=maximize,  # type: ignore[arg-type]  # None: its own default
            minimize=minimize,
            subject_to=subject_to,
        )

    if data.names:
        return {
            model: _validate_threshold(
                data[model], maximize, subject_to, minimize=minimize, level=level
            )
            for model in data.names
        }
    chosen = choose(data.pooled())
    points, votes = _choose_without_each_fold(data, choose)
    if len(votes) < 2:
        raise Infeasible("No threshold meets the constraints on most of the folds.")

    tested = Folds(tuple(votes))
    objective = read_metric(maximize or minimize or "youden")
    confusions = [_cells(fold) for fold in votes]
    thresholds = np.array([point.threshold for point in points])
    threshold = estimate_from_interval(
        chosen.threshold, thresholds.min(), thresholds.max(), level, "folds"
    )
    corrected = _fold_estimate(tested, objective, level)
    metrics = {m.name: _fold_estimate(tested, m, level) for m in METRICS.values()}
    constraints_met = {
        str(constraint): float(np.mean([constraint(cells) for cells in confusions]))
        for constraint in read_constraints(subject_to)
    }
    return Validation(
        choice=chosen,
        thresholds={"threshold": threshold},
        value=chosen.value,
        corrected=corrected,
        optimism=chosen.value - corrected.value,
        in_bag=np.array([point.value for point in points]),
        out_of_bag=np.array([float(objective(cells)) for cells in confusions]),
        metrics=metrics,
        holds=constraints_met,
        failed=1 - len(votes) / len(data),
        notes=("Chosen on all folds but one and tested on that one, in turn.",),
    )


def _choose_without_each_fold(
    data: Folds, choose: Callable[[Tally], OperatingPoint]
) -> tuple[list[OperatingPoint], list[Tally]]:
    """Return the threshold chosen without each fold, and the fold cut there.

    Folds without which no threshold meets the constraints are left out.
    """
    points = []
    votes = []
    for k, fold in enumerate(data):
        first, *others = (other for j, other in enumerate(data) if j != k)
        try:
            point = choose(sum(others, start=first))
        except Infeasible:
            continue
        points.append(point)
        votes.append(rescored(fold, fold.score >= point.threshold))
    return points, votes


def _fold_estimate(votes: Folds, m: Metric, level: float) -> Estimate:
    def measure(t: Tally) -> MeasuredValue:
        return metric_measure(m, t.score == 1, t)

    return estimate_over_folds(votes, measure, level=level, name=m.name)


def _cells(t: Tally) -> Confusion:
    """Count both classes on both sides of the cut."""
    flagged = t.score == 1
    cleared = t.score == 0
    return Confusion(
        tp=float(t.pos[flagged].sum()),
        fp=float(t.neg[flagged].sum()),
        fn=float(t.pos[cleared].sum()),
        tn=float(t.neg[cleared].sum()),
    )


OF_FOLDS: dict[str, Callable[..., Any]] = {
    "auc": _mean_over_folds(auc, "AUC"),
    "average_precision": _mean_over_folds(average_precision, "average precision"),
    "best_threshold": lambda data, *aim, **choice: best_threshold(
        data.pooled(), *aim, **choice
    ),
    "brier": _mean_over_folds(brier, "Brier score"),
    "calibrate": lambda data, **options: calibrate(data.pooled(), **options),
    "compare": compare_folds,
    "compare_auc": partial(compare_folds, statistic=auc, name="AUC"),
    "log_loss": _mean_over_folds(log_loss, "log loss"),
    "validate_threshold": _validate_threshold,
}
