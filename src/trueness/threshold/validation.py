r"""How far can a chosen rule be trusted?

What a repeated choice gains in its own bootstrap sample over the cases left out is what
the choice makes of chance (Efron 1983). The choice is repeated in ``repeated_choices``;
here its optimism is taken off, and intervals allow for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from trueness._core.arrays import Floats, Ints
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.records import Answer, Estimate, brief
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.inference.estimates import (
    estimate_from_interval,
    estimate_from_replicates,
    interval_notes,
)
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.grammar import CONSTRAINTS, one_or_more
from trueness.threshold.constraints import (
    ConstraintLike,
    ScopedConstraint,
    asks_for_groups,
    asks_for_two_cuts,
)
from trueness.threshold.corrected_estimates import (
    ObservedRule,
    estimate_quantity,
    observe_rule,
)
from trueness.threshold.cuts import thresholds_of
from trueness.threshold.expected_constraints import (
    NEW_CASES,
    THESE_CASES,
    ExpectedConstraints,
    tighten_until_kept,
)
from trueness.threshold.prevalences import (
    Prevalences,
)
from trueness.threshold.repeatable_choice import (
    ROWS_OF_SWEEPS,
    Aim,
    RepeatableChoice,
    choice_of_groups,
    choice_of_one_cut,
    choice_of_zones,
)
from trueness.threshold.repeated_choices import (
    RepeatedChoices,
    repeat_choice,
)
from trueness.threshold.rule import all_groups_at_once


@final
@dataclass(frozen=True, repr=False)
class Validation(Answer):
    """Expected performance of a chosen rule on new cases.

    Attributes
    ----------
    choice : OperatingPoint, Zones or GroupThresholds
        The choice made from all cases.
    thresholds : dict of str to Estimate
        Each chosen threshold and the interval in which repeated choices lie:
        "threshold", or "lower" and "upper", or one for each group.
    value, optimism : float
        The objective in the sample, and its optimism (negative when an objective is
        minimised).
    corrected : Estimate
        The expected objective on new cases, with an interval for that of the chosen
        rule in the population.
    in_bag, out_of_bag : array
        The objective of each repeated choice on its own cases, and on those left out.
    metrics : dict of str to Estimate
        The expected value of each metric on new cases; intervals allow for the choice.
    holds : dict of str to float
        How often each constraint held on the cases that a repeated choice left out.
    failure_rate : float
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
    failure_rate: float
    prevalence: str = ""
    notes: tuple[str, ...] = ()

    @property
    def threshold(self) -> Estimate:
        """Return the chosen threshold (the upper one of two) with its interval."""
        return next(iter(self.thresholds.values()))


@all_groups_at_once(asks_for_groups)
def validate_threshold(
    data: Tally | Mapping[Any, Tally],
    maximize: str | Metric | None = None,
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    *,
    minimize: str | Metric | None = None,
    prevalences: Prevalences = None,
    constraints_on: str = THESE_CASES,
    replicates: int = 1000,
    level: float = 0.95,
    rng: Seed = 0,
) -> Validation:
    r"""Validation of a chosen threshold: optimism and confidence intervals.

    What can be expected of a chosen rule on new cases?

    Bootstrap samples repeat the choice of :func:`best_threshold`. If constraints defer
    cases or are about one side, it is that of :func:`best_thresholds`; if they bound
    differences between groups, that of :func:`group_thresholds`.

    Parameters
    ----------
    data
        Scores and labels of one classifier, both classes present; of groups a mapping
        from name to tally, or data with ``by=``.
    maximize, minimize, subject_to, prevalences
        As in these functions. The uncertainty of an estimated prevalence goes into the
        intervals; for a range they hold whichever prevalence of it is true.
    constraints_on
        ``"these cases"``: the constraints hold in the sample, as in
        :func:`best_threshold`. ``"new cases"``: they are expected to hold on new cases,
        for one threshold only.
    replicates
        How many bootstrap samples; a fifth of that where each needs a search of its
        own, for two thresholds or groups.

    Notes
    -----
    The correction subtracts .632 of the mean difference between the samples of repeated
    choices and the cases left out (Efron 1983, doi:10.2307/2288636). Intervals have the
    variance of a fixed rule or, if larger, that of the repeated choices. Whole clusters
    are drawn. Beyond 1,000 distinct scores neighbours are merged before the choice is
    repeated.

    A constraint that new cases are expected to miss is tightened until it is
    expected to hold (Wang and Ahmed 2008, doi:10.1016/j.orl.2008.01.003). The
    intervals take the tightened bound as fixed.

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
    aim = Aim(maximize, minimize, subject_to=constraints)
    _options.choice(constraints_on, (THESE_CASES, NEW_CASES), "constraints_on")
    generator = _options.generator(rng)

    if isinstance(data, Mapping):
        task = choice_of_groups(data, aim)
    elif asks_for_two_cuts([*constraints, maximize, minimize]):
        task = choice_of_zones(data, aim)
    elif constraints_on == NEW_CASES:
        choose = partial(choice_of_one_cut, data, aim, prevalences)
        return _keep_on_new_cases(choose, replicates, level, generator)
    else:
        task = choice_of_one_cut(data, aim, prevalences)

    if constraints_on == NEW_CASES:
        raise InputError(
            "Constraints on new cases are for one threshold; found an objective or a "
            "constraint of several.",
            option="constraints_on",
            example=THESE_CASES,
        )

    repeated = _repeat_and_validate(task, replicates, level, generator)
    validation: Validation = repeated.validation
    return validation


def _keep_on_new_cases(
    choose: Callable[..., RepeatableChoice],
    replicates: int,
    level: float,
    rng: np.random.Generator,
) -> Validation:
    """Return the validation of a choice that is expected to keep its constraints."""
    stated = choose().plain_constraints

    def validate_tightened(required: Sequence[Constraint]) -> ExpectedConstraints:
        # each round draws the same samples
        return _repeat_and_validate(choose(required), replicates, level, deepcopy(rng))

    validation: Validation = tighten_until_kept(stated, validate_tightened)
    return validation


def _repeat_and_validate(
    task: RepeatableChoice,
    replicates: int,
    level: float,
    rng: np.random.Generator,
) -> ExpectedConstraints:
    """Repeat a choice, and return what to expect of it and of its constraints."""
    # searches take long: a fifth of the samples
    if task.most_rows < ROWS_OF_SWEEPS:
        replicates = max(2, replicates // 5)
    runs = repeat_choice(
        list(task.tallies.values()),
        task.choose,
        most_rows=task.most_rows,
        replicates=replicates,
        rng=rng,
    )
    failures = replicates - len(runs.places)
    if 2 * failures > replicates:
        raise _too_many_failures(task, failures, replicates)

    observed = observe_rule(task, runs)
    return ExpectedConstraints(
        validation=_validate(task, runs, observed, failures / replicates, level),
        observed=_least_favourable_values(task, observed.cells),
        expected=_least_favourable_values(task, observed.corrected),
    )


def _least_favourable_values(task: RepeatableChoice, cells: Floats) -> list[float]:
    """Return each constrained metric, at the prevalence that favours it least."""
    values = []
    for scoped in task.constraints:
        of_prevalences = [
            float(task.measure(scoped, prevalence)(cells))
            for prevalence in task.prevalences
        ]
        # a lower bound is hardest to keep where the metric is least
        least_favourable = min if scoped.constraint.upward else max
        values.append(least_favourable(of_prevalences))

    return values


def _too_many_failures(
    task: RepeatableChoice, failures: int, replicates: int
) -> NotEnoughCases:
    """Return the error for a choice that failed in most bootstrap samples."""
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


def _validate(
    task: RepeatableChoice,
    runs: RepeatedChoices,
    observed: ObservedRule,
    failure_rate: float,
    level: float,
) -> Validation:
    """Return what the repeated choices say of the chosen rule."""
    quantities = task.quantities
    metrics = {
        name: estimate_quantity(task, quantity, observed, runs, level)
        for name, quantity in quantities.items()
        if math.isfinite(float(task.value_in_use(quantity, observed.corrected)))
    }
    objective_name = task.objective.shown.name
    if objective_name not in metrics:
        raise NotEnoughCases(
            f"validate_threshold needs cases on which {objective_name} is defined; "
            "too few cases were left out of the bootstrap samples."
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
        failure_rate=failure_rate,
        prevalence=task.prevalence_text,
        notes=_notes(task),
    )


def _how_often_met(
    task: RepeatableChoice, scoped: ScopedConstraint, cells: Floats
) -> float:
    """Return the proportion of samples that meet a constraint at all prevalences."""
    met = [
        scoped.is_met_by(task.measure(scoped, prevalence)(cells))
        for prevalence in task.prevalences
    ]
    return float(np.mean(np.all(met, axis=0)))


def _notes(task: RepeatableChoice) -> tuple[str, ...]:
    """Return what is assumed of the cases, and what a reader must know of them."""
    first_tally = next(iter(task.tallies.values()))
    assumption = "The cases are assumed to represent future cases"
    if first_tally.clusters is None:
        assumption += (
            ", and to be independent; if several come from one person or site, "
            "declare clusters"
        )

    notes = [f"{assumption}."]
    if task.note:
        notes.append(task.note)
    return (*notes, *interval_notes(first_tally))


def _estimate_thresholds(
    task: RepeatableChoice, places: Ints, level: float
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
    # a cut that flags more has a lower threshold
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
