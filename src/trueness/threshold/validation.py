r"""How far can a chosen rule be trusted?

What a repeated choice gains in its own bootstrap sample over the cases left out is what
the choice makes of chance (Efron 1983). The choice is repeated in ``repeated_choices``;
here its optimism is taken off, and intervals allow for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import product
from statistics import NormalDist
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.records import Answer, Estimate, brief
from trueness.counts.design import CASE_CONTROL
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.inference.differences import variance_of_independent_difference
from trueness.inference.estimates import (
    estimate_from_interval,
    estimate_from_replicates,
    estimate_from_variance,
    interval_notes,
)
from trueness.inference.variance import Influence, VarianceEstimate, estimate_variance
from trueness.metrics.algebra import Metric, depends_on_prevalence
from trueness.metrics.definitions import METRICS
from trueness.metrics.grammar import CONSTRAINTS, one_or_more
from trueness.metrics.intervals import slopes, units_seen
from trueness.threshold.constraints import (
    GROUPS,
    SIDES,
    ConstraintLike,
    Objective,
    ScopedConstraint,
    asks_for_groups,
    asks_for_two_cuts,
    read_objective,
    read_scoped_constraints,
)
from trueness.threshold.cuts import thresholds_of, unit_of
from trueness.threshold.group_cuts import group_thresholds
from trueness.threshold.group_optimum import choose_groups_again
from trueness.threshold.operating_point import best_threshold, choose_cut_again
from trueness.threshold.prevalences import (
    Prevalences,
    UsePrevalence,
    prevalence_of_use,
    prevalences_to_try,
)
from trueness.threshold.repeated_choices import (
    Chooser,
    RepeatedChoices,
    repeat_choice,
)
from trueness.threshold.rule import DEFERRED, FLAGGED, NOT_FLAGGED, together
from trueness.threshold.zones import best_thresholds, choose_zones_again

# rows that a choice is repeated on: neighbouring scores are pooled, since where exactly
# a repeated choice lies between them moves its value by far less than chance does
_ROWS = 1000
_ROWS_OF_SEARCHES = 200  # where each sample needs a search of its own


@final
@dataclass(frozen=True, repr=False)
class Validation(Answer):
    """What to expect of a chosen rule on new cases.

    Attributes
    ----------
    choice : OperatingPoint, Zones or GroupThresholds
        The choice made from all cases.
    thresholds : dict of str to Estimate
        Each chosen threshold and the interval in which repeated choices lie:
        "threshold", or "lower" and "upper", or one for each group.
    value, optimism : float
        The objective in the sample, and what of it is optimism (negative when an
        objective is minimised).
    corrected : Estimate
        What to expect of the choice on new cases, with an interval for the objective of
        the chosen rule in the population.
    in_bag, out_of_bag : array
        The objective of each repeated choice on its own cases, and on those left out.
    metrics : dict of str to Estimate
        What to expect of each metric on new cases; intervals allow for the choice.
    holds : dict of str to float
        How often each constraint held on the cases that a repeated choice left out.
    failed : float
        The proportion of samples in which nothing could be chosen.
    """

    choice: Any
    thresholds: dict[str, Estimate]
    value: float
    corrected: Estimate
    optimism: float
    in_bag: Floats
    out_of_bag: Floats
    metrics: dict[str, Estimate]
    holds: dict[str, float]
    failed: float
    prevalence: str = ""
    notes: tuple[str, ...] = ()

    @property
    def threshold(self) -> Estimate:
        """Return the chosen threshold (the upper one of two) with its interval."""
        return next(iter(self.thresholds.values()))


@together(asks_for_groups)
def validate_threshold(
    data: Tally | Mapping[Any, Tally],
    maximize: str | Metric | None = None,
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    *,
    minimize: str | Metric | None = None,
    prevalences: Prevalences = None,
    replicates: int = 1000,
    level: float = 0.95,
    rng: Seed = 0,
) -> Validation:
    r"""Validation of a chosen threshold: optimism and confidence intervals.

    What can be expected of a chosen rule on new cases?

    The choice of :func:`best_threshold` is repeated on bootstrap samples; where the
    words speak of deferred cases, or of one side, that of :func:`best_thresholds`;
    where they bound differences between groups, that of :func:`group_thresholds`.

    Parameters
    ----------
    data
        Scores and labels of one classifier, both classes present; of groups a mapping
        from name to tally, or data with ``by=``.
    maximize, minimize, subject_to, prevalences
        As in these functions. The uncertainty of an estimated prevalence goes into the
        intervals; for a range they hold whichever prevalence of it is true.
    replicates
        How many bootstrap samples; a fifth of that where each needs a search of its
        own, for two thresholds or groups.

    Notes
    -----
    Of what repeated choices gain in their samples over the cases left out .632 is taken
    off (Efron 1983, doi:10.2307/2288636); intervals have the variance of the rule taken
    as fixed or, where it is larger, of the repeated choices. Whole clusters are drawn.
    Beyond 1,000 distinct scores neighbours are joined before the choice is repeated.

    Examples
    --------
    >>> t = Tally([4, 3, 2, 1], pos=[40, 30, 20, 10], neg=[10, 20, 30, 40])
    >>> v = validate_threshold(t, "accuracy", rng=1)
    >>> v.value, v.corrected.low < 0.7 < v.corrected.high
    (0.7, True)
    """
    level = _options.fraction(level, "level")
    replicates = _options.whole_number(replicates, "replicates", at_least=2)
    constraints = one_or_more(subject_to, "subject_to", CONSTRAINTS, ["recall >= 0.9"])
    objective = read_objective(maximize, minimize)
    aim: dict[str, Any] = {"minimize": minimize, "subject_to": constraints}
    if maximize is not None:
        aim["maximize"] = maximize

    if isinstance(data, Mapping):
        task = _choice_of_groups(data, aim, objective)
    elif asks_for_two_cuts([*constraints, maximize, minimize]):
        task = _choice_of_zones(data, aim, objective)
    else:
        task = _choice_of_one_cut(data, aim, objective, prevalences)

    if task.most_rows < _ROWS:
        replicates = max(2, replicates // 5)
    runs = repeat_choice(
        list(task.tallies.values()),
        task.choose,
        most_rows=task.most_rows,
        replicates=replicates,
        rng=_options.generator(rng),
    )
    failures = replicates - len(runs.places)
    if 2 * failures > replicates:
        raise _too_many_failures(task, failures, replicates)
    return _validate(task, runs, failures / replicates, level)


# from cells to values of a quantity
Measure = Callable[[Array], Any]


@dataclass(frozen=True)
class _RepeatableChoice:
    """A choice that can be made again, and the quantities that are measured of it.

    A quantity is a metric with the scope in which it is measured: a constraint, of
    which the bound is not looked at.

    Attributes
    ----------
    tallies
        One tally of all cases, or one of each group.
    cut_names
        The names of the cuts of a group, the highest first.
    shown
        Quantities that are measured besides the objective and the constraints.
    """

    choice: Any
    tallies: dict[str, Tally]
    cut_names: tuple[str, ...]
    choose: Chooser
    objective: Objective
    shown: Iterable[ScopedConstraint]
    constraints: tuple[ScopedConstraint, ...]
    prevalence_text: str
    note: str
    prevalence: UsePrevalence | None = None
    most_rows: int = _ROWS_OF_SEARCHES

    @property
    def quantities(self) -> dict[str, ScopedConstraint]:
        """Return all that is measured, by name."""
        objective = _quantity(self.objective.shown)
        return {q.name: q for q in (*self.shown, *self.constraints, objective)}

    @property
    def prevalences(self) -> list[float | None]:
        """Return the prevalences at which everything is measured."""
        if self.prevalence is None:
            return [None]
        return [*self.prevalence.ends]

    def measure(self, quantity: ScopedConstraint, prevalence: float | None) -> Measure:
        """Return the quantity as a function of cells, which are scaled first.

        Each group gets as many cases as it has, and each class as many as the
        prevalence says.
        """
        sizes = [float(tally.n_pos + tally.n_neg) for tally in self.tallies.values()]
        cases: Floats = np.array(sizes)[:, None, None]
        axes: tuple[int, ...] = (-2, -1)
        if prevalence is not None:
            cases = cases * [prevalence, 1 - prevalence]
            axes = (-2,)

        def measure_cells(cells: Array) -> Any:
            total = cells.sum(axis=axes, keepdims=True)
            return quantity.evaluate(cells * (cases / np.where(total > 0, total, 1)))

        return measure_cells

    def value_in_use(self, quantity: ScopedConstraint, cells: Array) -> Any:
        """Return the quantity in use; of the objective the worst in a range."""
        if quantity.name != self.objective.shown.name:
            prevalence = None if self.prevalence is None else self.prevalence.value
            return self.measure(quantity, prevalence)(cells)
        values = [self.measure(quantity, p)(cells) for p in self.prevalences]
        worst = np.min if self.objective.sign > 0 else np.max
        return worst(values, axis=0)


def _quantity(metric: Metric) -> ScopedConstraint:
    """Return a metric of all decided cases as a quantity; its bound plays no part."""
    return ScopedConstraint(metric >= 0)


def _choice_of_groups(
    data: Mapping[Any, Tally], aim: dict[str, Any], objective: Objective
) -> _RepeatableChoice:
    constraints = read_scoped_constraints(aim["subject_to"], GROUPS)
    choice = group_thresholds(data, **aim)
    tallies = {str(name): tally.labelled() for name, tally in data.items()}
    unit = unit_of(counts for t in tallies.values() for counts in (t.pos, t.neg))
    return _RepeatableChoice(
        choice=choice,
        tallies=tallies,
        cut_names=("",),
        choose=partial(choose_groups_again, objective.maximized, constraints, unit),
        objective=objective,
        shown=[_quantity(metric) for metric in METRICS.values()],
        constraints=constraints,
        prevalence_text="that of the sample",
        note="Each group was drawn by itself, with as many cases as it has.",
    )


_SHOWN_OF_ZONES = ("precision above", "npv below", "recall above", "fpr above", "defer")


def _choice_of_zones(
    data: Tally, aim: dict[str, Any], objective: Objective
) -> _RepeatableChoice:
    constraints = read_scoped_constraints(aim["subject_to"], SIDES)
    _cases.both_classes(data, "validate_threshold")
    choice = best_thresholds(data, **aim)
    return _RepeatableChoice(
        choice=choice,
        tallies={"": data.labelled()},
        cut_names=("upper", "lower"),
        choose=partial(
            choose_zones_again, objective.maximized, constraints, data.design.prevalence
        ),
        objective=objective,
        shown=read_scoped_constraints([f"{q} >= 0" for q in _SHOWN_OF_ZONES], SIDES),
        constraints=constraints,
        prevalence_text=f"{choice.prevalence:.4g}",
        note="What a person decides about the deferred cases is not included.",
        prevalence=prevalence_of_use(data),
    )


def _choice_of_one_cut(
    data: Tally, aim: dict[str, Any], objective: Objective, prevalences: Prevalences
) -> _RepeatableChoice:
    constraints = read_scoped_constraints(aim["subject_to"], SIDES)
    _cases.both_classes(data, "validate_threshold")
    choice = best_threshold(data, prevalences=prevalences, **aim)
    labelled = data.labelled()
    prevalence = prevalence_of_use(data, prevalences)

    metrics = [objective.shown, *(scoped.metric for scoped in constraints)]
    to_try = prevalences_to_try(prevalence, metrics)
    plain_constraints = [scoped.constraint for scoped in constraints]
    prevalence_text, note = _describe_prevalence(labelled, prevalence)
    return _RepeatableChoice(
        choice=choice,
        tallies={"": labelled},
        cut_names=("threshold",),
        choose=partial(
            choose_cut_again, objective.maximized, plain_constraints, to_try
        ),
        objective=objective,
        shown=_metrics_of_one_cut(labelled, prevalence),
        constraints=constraints,
        prevalence_text=prevalence_text,
        note=note,
        prevalence=prevalence,
        most_rows=_ROWS,
    )


def _describe_prevalence(
    labelled: Tally, prevalence: UsePrevalence | None
) -> tuple[str, str]:
    """Return the prevalence in words, and a note on it, which may be empty."""
    if prevalence is None:
        return (
            f"{labelled.prevalence:.4g}, that of the sample",
            "The prevalence is that of the sample; if it differs in use, state that "
            "of use.",
        )
    if prevalence.is_range:
        worst = "Values are the worst over the range of prevalences."
        return prevalence.describe(), worst
    return prevalence.describe(), ""


def _metrics_of_one_cut(
    labelled: Tally, prevalence: UsePrevalence | None
) -> list[ScopedConstraint]:
    """Return all metrics; of a case-control sample those without a prevalence."""
    quantities = [_quantity(metric) for metric in METRICS.values()]
    if prevalence is None and labelled.design.sampling == CASE_CONTROL:
        return [q for q in quantities if not depends_on_prevalence(q.metric)]
    return quantities


def _too_many_failures(
    task: _RepeatableChoice, failures: int, replicates: int
) -> NotEnoughCases:
    positives = sum(tally.n_pos for tally in task.tallies.values())
    negatives = sum(tally.n_neg for tally in task.tallies.values())
    return NotEnoughCases(
        f"validate_threshold needs a choice in most bootstrap samples; in "
        f"{failures:,} of {replicates:,} no threshold met the constraints or "
        f"{task.objective.shown.name} was undefined. Loosen the constraints, or "
        f"collect more than {brief(positives)} positives and {brief(negatives)} "
        "negatives.",
        option="subject_to",
    )


class _ObservedRule(NamedTuple):
    """The chosen rule on all cases: verdicts of each group, and its cells.

    ``corrected`` are the cells as they would be without the optimism of the choice.
    """

    verdicts: list[Tally]
    cells: Floats
    corrected: Floats


def _validate(
    task: _RepeatableChoice, runs: RepeatedChoices, failed: float, level: float
) -> Validation:
    """Return what the repeated choices say of the chosen rule."""
    observed = _observe_rule(task, runs)
    quantities = task.quantities
    metrics = {
        name: _estimate_quantity(task, quantity, observed, runs, level)
        for name, quantity in quantities.items()
        if math.isfinite(float(task.value_in_use(quantity, observed.corrected)))
    }
    objective_name = task.objective.shown.name
    if objective_name not in metrics:
        raise NotEnoughCases(
            f"validate_threshold needs cases on which {objective_name} is defined; the "
            "cases that samples left out are too few."
        )

    objective = quantities[objective_name]
    value = task.choice.value
    return Validation(
        choice=task.choice,
        thresholds=_estimate_thresholds(task, runs.places, level),
        value=value,
        corrected=metrics[objective_name],
        optimism=value - metrics[objective_name].value,
        in_bag=np.asarray(task.value_in_use(objective, runs.in_sample)),
        out_of_bag=np.asarray(task.value_in_use(objective, runs.left_out)),
        metrics=metrics,
        holds={
            str(scoped): _how_often_met(task, scoped, runs.left_out)
            for scoped in task.constraints
        },
        failed=failed,
        prevalence=task.prevalence_text,
        notes=_notes(task),
    )


def _observe_rule(task: _RepeatableChoice, runs: RepeatedChoices) -> _ObservedRule:
    """Count the cells of the chosen rule, as they are and without optimism."""
    rule = task.choice.rule
    verdicts = [
        rule.verdicts({name: tally} if rule.groups else tally)
        for name, tally in task.tallies.items()
    ]
    cells = np.array([_cells_of_verdicts(of_group) for of_group in verdicts], float)
    return _ObservedRule(verdicts, cells, _correct_optimism(cells, runs))


def _cells_of_verdicts(verdicts: Tally) -> list[list[float]]:
    """Return the positives and negatives flagged, deferred and cleared."""
    cells = []
    for zone in (FLAGGED, DEFERRED, NOT_FLAGGED):
        in_zone = verdicts.score == zone
        cells.append([verdicts.pos[in_zone].sum(), verdicts.neg[in_zone].sum()])
    return cells


def _how_often_met(
    task: _RepeatableChoice, scoped: ScopedConstraint, cells: Floats
) -> float:
    """Return the proportion of samples that meet a constraint at all prevalences."""
    met = [
        scoped.is_met_by(task.measure(scoped, prevalence)(cells))
        for prevalence in task.prevalences
    ]
    return float(np.mean(np.all(met, axis=0)))


def _notes(task: _RepeatableChoice) -> tuple[str, ...]:
    first_tally = next(iter(task.tallies.values()))
    assumption = "The cases are assumed to be like those in use"
    if first_tally.clusters is None:
        assumption += (
            ", and independent; if some are of one person or one site, declare the "
            "clusters"
        )
    notes = [f"{assumption}."]
    if task.note:
        notes.append(task.note)
    return (*notes, *interval_notes(first_tally))


def _estimate_thresholds(
    task: _RepeatableChoice, places: Ints, level: float
) -> dict[str, Estimate]:
    """Return each chosen threshold with the interval in which repeated choices lie."""
    estimates = {}
    for group, (group_name, tally) in enumerate(task.tallies.items()):
        lower, upper = task.choice.rule.cuts(group_name)
        for cut, (cut_name, threshold) in enumerate(
            zip(task.cut_names, (upper, lower), strict=False)
        ):
            estimates[cut_name or group_name] = _estimate_threshold(
                tally, threshold, places[:, group, cut], level
            )
    return estimates


def _estimate_threshold(
    tally: Tally, threshold: float, places: Ints, level: float
) -> Estimate:
    """Return a threshold with the percentile interval of repeated choices.

    The percentiles are those of the places of the cuts: these have an order and no
    gaps, also where nothing is flagged.
    """
    place = float((tally.score >= threshold).sum())
    of_places = estimate_from_replicates(place, places.astype(float), level)
    ends = np.rint([of_places.low, of_places.high]).astype(np.int64)
    high, low = thresholds_of(tally.score, ends)

    repeated = thresholds_of(tally.score, places)
    standard_error = _standard_deviation(repeated[np.isfinite(repeated)])
    return estimate_from_interval(
        threshold, low, high, level, "bootstrap", standard_error
    )


def _standard_deviation(values: Floats) -> float:
    """Return the standard deviation; NaN of fewer than two values, or of zeros."""
    # in units of the largest: squares beyond 1e308 are infinite
    largest = float(np.abs(values).max(initial=0.0))
    if values.size < 2 or not largest:
        return math.nan
    return largest * float((values / largest).std(ddof=1))


# the proportion of the cases that a bootstrap sample holds, Efron's .632
_DISTINCT = 1 - math.exp(-1)


def _correct_optimism(cells: Floats, runs: RepeatedChoices) -> Floats:
    """Return the cells as they would be without the choice (Efron's .632).

    A sample has fewer distinct cases and chooses worse. Cases left out are added up
    first: the mean of a ratio of few cases is biased.
    """
    in_sample = np.nanmean(_proportions_in_zones(runs.in_sample), axis=0)
    left_out = _proportions_in_zones(runs.left_out.sum(axis=0))
    optimism = in_sample - left_out

    apparent = _proportions_in_zones(cells)
    # what was raised to zero is taken from the other zones by dividing once more
    corrected = _proportions_in_zones(np.maximum(apparent - _DISTINCT * optimism, 0))
    return np.asarray(corrected * cells.sum(axis=-2, keepdims=True))


def _proportions_in_zones(cells: Floats) -> Floats:
    """Return which proportion of each class is in each zone."""
    with np.errstate(invalid="ignore"):  # a sample may have none of a class
        return np.asarray(cells / cells.sum(axis=-2, keepdims=True))


def _estimate_quantity(
    task: _RepeatableChoice,
    quantity: ScopedConstraint,
    observed: _ObservedRule,
    runs: RepeatedChoices,
    level: float,
) -> Estimate:
    """Return a corrected value, with an interval that allows for the choice.

    For a range of prevalences the interval holds whichever of them is true.
    """
    prevalence_variance = _variance_of_estimated_prevalence(
        task, quantity, observed.cells
    )
    estimates = [
        _estimate_at_prevalence(
            quantity,
            task.measure(quantity, prevalence),
            observed,
            runs,
            number_of_cuts=len(task.cut_names),
            prevalence_variance=prevalence_variance,
            level=level,
        )
        for prevalence in task.prevalences
    ]
    return estimate_from_interval(
        float(task.value_in_use(quantity, observed.corrected)),
        low=min(e.low for e in estimates),
        high=max(e.high for e in estimates),
        level=level,
        method="bootstrap",
        standard_error=max(e.se for e in estimates),
        name=quantity.name,
    )


def _variance_of_estimated_prevalence(
    task: _RepeatableChoice, quantity: ScopedConstraint, cells: Floats
) -> float:
    """Return the variance that an estimated prevalence adds to a quantity.

    From the ends of its interval to a standard error, as of a normal law.
    """
    prevalence = task.prevalence
    if prevalence is None or prevalence.level is None:
        return 0.0
    at_low = float(task.measure(quantity, prevalence.low)(cells))
    at_high = float(task.measure(quantity, prevalence.high)(cells))
    normal_quantile = NormalDist().inv_cdf((1 + prevalence.level) / 2)
    return ((at_low - at_high) / (2 * normal_quantile)) ** 2


def _estimate_at_prevalence(
    quantity: ScopedConstraint,
    measure: Measure,
    observed: _ObservedRule,
    runs: RepeatedChoices,
    *,
    number_of_cuts: int,
    prevalence_variance: float,
    level: float,
) -> Estimate:
    """Return a corrected value with the variance of the rule and of its choice.

    The variance is that of the rule taken as fixed or, where it is larger, that of the
    repeated choices.
    """
    value = float(measure(observed.corrected))
    ends = _possible_range(measure, observed.cells, quantity.range, number_of_cuts)
    of_fixed_rule = _variance_of_fixed_rule(measure, observed)

    low_end, high_end = ends
    if low_end > -math.inf and high_end == math.inf:
        # without an upper end both variances are compared on the logarithmic scale
        of_choices = _variance_of_choices(measure, runs, low_end)
        distance = float(measure(observed.cells)) - low_end
        of_logarithm = of_fixed_rule.variance / distance**2 if distance else 0.0
        variance = max(of_logarithm, of_choices) * (value - low_end) ** 2
    else:
        of_choices = _variance_of_choices(measure, runs, None)
        variance = max(of_fixed_rule.variance, of_choices)
    total = replace(of_fixed_rule, variance=variance + prevalence_variance)
    return estimate_from_variance(value, total, ends, level)


def _variance_of_choices(
    measure: Measure, runs: RepeatedChoices, low_end: float | None
) -> float:
    """Return the variance of what repeated choices gain in their own samples.

    With a lower end, that of the logarithm of the distance from it.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # odds may be infinite
        in_sample = np.asarray(measure(runs.in_sample), float)
        in_all = np.asarray(measure(runs.in_all), float)
        if low_end is not None:
            in_sample = np.log(in_sample - low_end)
            in_all = np.log(in_all - low_end)
        gain = in_sample - in_all
    gain = gain[np.isfinite(gain)]
    return float(gain.var(ddof=1)) if gain.size > 1 else 0.0


def _variance_of_fixed_rule(
    measure: Measure, observed: _ObservedRule
) -> VarianceEstimate:
    """Return the variance of a quantity, the rule taken as fixed.

    Groups are independent, so their variances add up.
    """
    cells = observed.cells
    of_groups = []
    for group, slopes_of_group in enumerate(slopes(measure, cells)):
        verdicts = observed.verdicts[group]
        # verdicts are 1, 1/2 and 0; the zones in the same order are 0, 1 and 2
        zone = np.rint(2 - 2 * verdicts.score).astype(np.int64)
        by_positive, by_negative = slopes_of_group[zone].T
        variance = estimate_variance(
            verdicts,
            Influence(by_negative, by_positive),
            within_class=verdicts.design.fixed_classes,
        )
        if not variance.variance > 0 and verdicts.clusters is None:
            # no case was seen to vary, in a class that the quantity looks at
            units = min(units_seen(measure, cells, group, verdicts))
            variance = replace(variance, units=units)
        # 0 for NaN, too
        of_groups.append(replace(variance, variance=max(0.0, variance.variance)))
    return reduce(variance_of_independent_difference, of_groups)


def _possible_range(
    measure: Measure,
    cells: Floats,
    ends: tuple[float, float],
    number_of_cuts: int,
) -> tuple[float, float]:
    """Return the smallest and the largest value that a quantity can have.

    A count or a cost has no ends of its own. Sums of counts are largest, and smallest,
    where each class is in one zone.
    """
    if np.isfinite(ends).all():
        return ends

    zones = (0, 2) if number_of_cuts == 1 else (0, 1, 2)
    class_sizes = cells.sum(axis=1)
    extremes = []
    for zone_of_positives, zone_of_negatives in product(zones, repeat=2):
        extreme = np.zeros(cells.shape)
        extreme[:, zone_of_positives, 0] = class_sizes[:, 0]
        extreme[:, zone_of_negatives, 1] = class_sizes[:, 1]
        extremes.append(extreme)

    values = np.asarray(measure(np.array(extremes)), np.float64)
    defined = values[~np.isnan(values)]
    if not defined.size:
        return ends
    smallest = max(ends[0], float(defined.min()))
    largest = min(ends[1], float(defined.max()))
    return (smallest, largest) if smallest < largest else ends
