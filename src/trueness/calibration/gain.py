"""Gain of calibration on cases that the map was not fitted on.

Cases are dealt into folds, and each gets its probability from a map that was fitted to
the other folds. A gain is the mean difference of two losses over the cases.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import described
from trueness._core.numbers import written
from trueness._core.progress import steps
from trueness._core.records import Estimate, Record
from trueness.calibration.calibrators import calibrate
from trueness.calibration.folds import deal_cases
from trueness.calibration.lines import CalibrationLine, calibration_line
from trueness.calibration.maps import Map
from trueness.calibration.proper_scores import Losses, mean_measure, squared_errors
from trueness.calibration.verdict import (
    calibration_verdict,
    cases_in,
    number_of_cases_to_show,
)
from trueness.counts.answers import of_counts
from trueness.counts.cases import with_fields
from trueness.counts.values import Tally
from trueness.inference.estimates import estimate_from_interval, estimate_measure
from trueness.inference.sample import check_prevalence_known


@final
@dataclass(frozen=True, repr=False)
class CalibrationGain(Record):
    """Gain of calibration on cases that the map was not fitted on.

    Attributes
    ----------
    before, in_sample, cross_fitted : Estimate
        Brier score of the original scores (NaN where these are not probabilities); of
        the map fitted on the same cases (optimistic); of maps fitted without them.
    gain : Estimate
        ``before`` minus ``cross_fitted``, paired by case; above 0, calibration helps.
    error_before, error_after : Estimate
        Error of :func:`trueness.calibration_verdict`, before and cross-fitted.
    order : str
        What the map does to the order of the scores: "kept", "ties" (some different
        scores get the same probability), "reversed", or "changed".
    tally : Tally
        The cases with their cross-fitted probabilities, and the number of ``folds``.
    """

    before: Estimate
    in_sample: Estimate
    cross_fitted: Estimate
    gain: Estimate
    error_before: Estimate
    error_after: Estimate
    order: str
    folds: int
    tally: Tally


@of_counts
def calibration_gain(
    data: Tally | Mapping[Any, Tally],
    *,
    method: str = "auto",
    folds: int = 5,
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
    fitted: Map | None = None,
) -> Any:
    r"""Gain in Brier score by calibration, on cases that the map was not fitted on.

    Does calibration help?

    .. math:: \frac1n \sum_i (s_i - y_i)^2 -
              \frac1n \sum_i \big(f_{-k(i)}(s_i) - y_i\big)^2

    with :math:`f_{-k}` the map fitted without fold k. Intervals are those of
    :func:`trueness.brier`, paired for the gain; they take the maps as given.

    Parameters
    ----------
    data
        Labelled cases that the classifier was not trained on; or a mapping from group
        to tally. Maps are fitted on all groups together, and each group is evaluated
        separately.
    method, folds
        A name from ``trueness.CALIBRATORS``; each class needs as many cases as folds.
    fitted
        The map that ``method`` fitted on all these cases, if you have it already.

    Examples
    --------
    Scores of 0.9 and 0.6 where 3 of 5 and 2 of 5 are positive.

    >>> t = Tally([0.9, 0.6], neg=[20, 30], pos=[30, 20])
    >>> gain = calibration_gain(t, method="isotonic", rng=0)
    >>> round(gain.before.value, 3), gain.gain.value > 0
    (0.305, True)
    """
    in_groups = isinstance(data, Mapping)
    level = _options.fraction(level, "level")
    folds = _options.whole_number(folds, "folds", at_least=2)
    groups = _labelled_groups(data if isinstance(data, Mapping) else {"": data})
    total = _sum_of_groups(groups, folds, in_groups)

    whole_map = fitted
    if fitted is None:
        whole_map = calibrate(total, method=method)
    if not isinstance(whole_map, Map):
        raise InputError(
            f"fitted must be a calibration map; found {described(whole_map)}."
        )

    cross_fitted = _cross_fit(groups, total, method, folds, _options.generator(rng))
    gains = {
        name: _gain_of_group(group, whole_map, cross_fitted[name], level)
        for name, group in groups.items()
    }
    if not in_groups:
        return gains[""]
    return gains


def _labelled_groups(groups: Mapping[Any, Tally]) -> dict[Any, Tally]:
    """Return the labelled cases of each group, of one classifier."""
    for group in groups.values():
        _cases.one_classifier(group, "calibration_gain")
        check_prevalence_known(group, "calibration_gain")
    if not groups:
        raise NotEnoughCases("calibration_gain needs cases; found an empty mapping.")
    return {name: group.labelled() for name, group in groups.items()}


def _sum_of_groups(groups: Mapping[Any, Tally], folds: int, in_groups: bool) -> Tally:
    """Return the cases of all groups, which must be enough for the folds."""
    first_group, *others = groups.values()
    total = sum(others, start=first_group)
    _cases.both_classes(total, "calibration_gain")
    _cases.cases_for_folds(total, folds)
    if total.design.prevalence is not None and in_groups:
        raise InputError(
            "calibration_gain needs one sample for a prevalence; found groups with "
            "different proportions of positives. Analyse one group at a time.",
            option="prevalence",
        )
    return total


class _DealtCases(NamedTuple):
    """Cross-fitted probabilities, negatives and positives of a group: (folds, m)."""

    probability: Floats
    neg: Array
    pos: Array


def _cross_fit(
    groups: Mapping[Any, Tally],
    total: Tally,
    method: str,
    folds: int,
    rng: np.random.Generator,
) -> dict[Any, _DealtCases]:
    """Return the cases of each group by fold, scored by maps without that fold."""
    # the rows of all groups, one group after another, since groups share the maps
    score = np.concatenate([group.score for group in groups.values()])
    neg = np.concatenate([group.neg for group in groups.values()])
    pos = np.concatenate([group.pos for group in groups.values()])
    neg_in_fold = deal_cases(neg, folds, rng)
    pos_in_fold = deal_cases(pos, folds, rng)

    probability = np.full(neg_in_fold.shape, np.nan)
    for fold in steps(range(folds), "Cross-fitting", unit="folds"):
        held_out = Tally(score, neg_in_fold[fold], pos_in_fold[fold])
        # all cases without those of the fold, with the design of all
        training = with_fields(total.without_design() - held_out, design=total.design)
        occurs = neg_in_fold[fold] + pos_in_fold[fold] > 0
        fold_map = calibrate(training, method=method)
        probability[fold, occurs] = fold_map(score[occurs])

    # divide the rows into groups again
    dealt_cases = {}
    first_row = 0
    for name, group in groups.items():
        rows = slice(first_row, first_row + len(group))
        dealt_cases[name] = _DealtCases(
            probability=probability[:, rows],
            neg=neg_in_fold[:, rows],
            pos=pos_in_fold[:, rows],
        )
        first_row += len(group)
    return dealt_cases


def _gain_of_group(
    group: Tally, whole_map: Map, dealt_cases: _DealtCases, level: float
) -> CalibrationGain:
    """Return the losses of a group before and after calibration."""
    occurs = dealt_cases.neg + dealt_cases.pos > 0
    # one entry for each row and fold in which it has cases
    score = np.broadcast_to(group.score, occurs.shape)[occurs]
    probability = dealt_cases.probability[occurs]
    neg = dealt_cases.neg[occurs]
    pos = dealt_cases.pos[occurs]
    # scores beyond 0 and 1 have no loss to compare with
    comparable = bool(score.size and score.min() >= 0 and score.max() <= 1)
    if not comparable:
        score = np.full(score.shape, np.nan)

    # one row for each score and fold, with its number in place of the score
    row_numbers = np.arange(neg.size, 0, -1.0)
    cases_by_row = with_fields(Tally(row_numbers, neg, pos), design=group.design)
    loss_before = squared_errors(score)
    loss_after = squared_errors(probability)
    paired_loss = (loss_before[0] - loss_after[0], loss_before[1] - loss_after[1])

    fitted_probability = np.asarray(whole_map(group.score), dtype=np.float64)
    fitted_loss = squared_errors(fitted_probability)
    cross_fitted_tally = with_fields(Tally(probability, neg, pos), design=group.design)

    error_before = estimate_from_interval(math.nan, math.nan, math.nan, level)
    if comparable:
        error_before = calibration_verdict(group, level=level).error
    return CalibrationGain(
        before=_mean_loss(cases_by_row, loss_before, level),
        in_sample=_mean_loss(group, fitted_loss, level),
        cross_fitted=_mean_loss(cases_by_row, loss_after, level),
        gain=_mean_loss(cases_by_row, paired_loss, level, smallest=-1.0),
        error_before=error_before,
        error_after=calibration_verdict(cross_fitted_tally, level=level).error,
        order=_order_under_map(fitted_probability),
        folds=len(occurs),
        tally=cross_fitted_tally,
    )


def _mean_loss(
    cases: Tally, losses: Losses, level: float, *, smallest: float = 0.0
) -> Estimate:
    """Return the mean loss over the cases, from the losses of each row."""
    if np.isnan(losses[0]).any():
        return estimate_from_interval(math.nan, math.nan, math.nan, level, "student")
    return estimate_measure(cases, mean_measure(losses, smallest, 1.0), level=level)


def _order_under_map(probability: Floats) -> str:
    """Return in a word whether a map keeps the order of scores (highest first)."""
    steps_upwards = np.diff(probability[::-1])
    rises = bool((steps_upwards > 0).any())
    falls = bool((steps_upwards < 0).any())
    if rises and falls:
        return "changed"
    if falls:
        return "reversed"
    if (steps_upwards > 0).all():
        return "kept"
    return "ties"


def line_after(gain: CalibrationGain) -> CalibrationLine | None:
    """Return the line through the cross-fitted probabilities, where there is one."""
    try:
        return calibration_line(gain.tally, level=gain.gain.level)
    except NotEnoughCases:
        return None


def gain_sentences(gain: CalibrationGain) -> list[str]:
    """Return in words what calibration gains, and what it does to the order."""
    return [*_sentences_on_errors(gain), *_SENTENCES_ON_ORDER.get(gain.order, ())]


def _sentences_on_errors(gain: CalibrationGain) -> list[str]:
    """Return the errors before and after in cases, and the gain."""
    before = gain.error_before.value
    after = gain.error_after.value
    largest = after
    if not math.isnan(before):
        largest = max(before, after)
    # a round number of cases, such that the larger error is at least one of them
    n_shown = number_of_cases_to_show(largest)
    after_in_cases = cases_in(after, n_shown)

    if math.isnan(gain.gain.value):
        return [
            "On cases not used for fitting, probability and proportion of positives "
            f"differ by {after_in_cases} in {n_shown:,} cases on average."
        ]

    return [
        f"{_does_it_help(gain)} Score and proportion of positives differ by "
        f"{cases_in(before, n_shown)} in {n_shown:,} cases on average. After "
        f"calibration they differ by {after_in_cases}, on cases not used for fitting.",
        f"The gain in Brier score is {written(gain.gain)}, in {gain.folds} folds.",
    ]


def _does_it_help(gain: CalibrationGain) -> str:
    """Return whether calibration helps, in one sentence."""
    if gain.gain.low > 0 and gain.error_after.value > gain.error_before.value:
        return (
            "The Brier score improves, but some scores are further from the observed "
            "proportion; try another method."
        )
    if gain.gain.low > 0:
        return "Calibration helps."
    if gain.gain.high < 0:
        return "Calibration makes the scores worse; leave them as they are."
    return "These cases do not show whether calibration helps."


_SENTENCES_ON_ORDER = {
    "ties": ("Some different scores get the same probability.",),
    "reversed": (
        "The map reverses the order: a higher score gets a lower probability.",
    ),
    "changed": ("The map changes the order of the scores, so that the AUC changes.",),
}


def gain_rows(gain: CalibrationGain) -> list[list[object]]:
    """Return the Brier scores before and after, each with its words."""
    rows: list[list[object]] = [
        ["calibrated, cases not used for fitting", gain.cross_fitted],
        ["calibrated, same cases (optimistic)", gain.in_sample],
    ]
    if not math.isnan(gain.before.value):
        rows.insert(0, ["as they are", gain.before])
    return rows
