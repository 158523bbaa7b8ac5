r"""Average precision of scores on a device, with its interval.

With the sorted keys of both classes, a positive k is flagged together with
:math:`T_k` positives and :math:`N_k` negatives; a negative counts c times at another
prevalence, so that :math:`F_k = T_k + c N_k` and :math:`P_k = T_k / F_k`. A case acts
on the precision of all positives with its score or a lower one: running sums over the
positives, read at the place of the case, are its influence value.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from trueness._core.records import Estimate
from trueness.counts.values import Tally
from trueness.gpu.arrays import CHUNK, Library, Tensor
from trueness.gpu.counting import DeviceTally
from trueness.inference.estimates import estimate_from_variance
from trueness.inference.variance import Stratum, VarianceEstimate, combine_strata
from trueness.ranking.areas import extra_variance_of_precision


class _RunningSums(NamedTuple):
    """Over the positives from the lowest score on, with a zero in front."""

    precision: Any  # of each positive
    loss: Any  # what one more flagged case takes from the precision
    gain: Any  # what a positive one gives back


def average_precision_estimate(data: DeviceTally, level: float) -> Estimate:
    """Return average precision with the interval of :func:`average_precision`."""
    odds = weight_of_negative(data)
    sums = _running_sums(data, odds)
    value = float(data.lib.xp.mean(sums.precision))

    variance_estimate = _variance(data, sums, value, odds)
    # without counts there are no weights and no clusters to make notes on
    no_cases = Tally()
    return estimate_from_variance(
        min(value, 1.0),
        variance_estimate,
        level=level,
        name="average precision",
        cases=no_cases,
    )


def weight_of_negative(data: DeviceTally) -> float:
    """Return how many times a negative counts for each time that a positive does."""
    prevalence = data.design.prevalence
    if prevalence is None:
        return 1.0
    return (1 - prevalence) / prevalence * data.n_pos / data.n_neg


def _running_sums(data: DeviceTally, odds: float) -> _RunningSums:
    lib = data.lib
    xp = lib.xp
    flagged_positives = data.n_pos - lib.places(data.pos, data.pos, "left")
    flagged_negatives = data.n_neg - lib.places(data.neg, data.pos, "left")
    true_positives = lib.cast(flagged_positives, "float64")
    flagged = true_positives + odds * lib.cast(flagged_negatives, "float64")
    precision = true_positives / flagged

    return _RunningSums(
        precision=precision,
        loss=xp.cumulative_sum(precision / flagged, include_initial=True),
        gain=xp.cumulative_sum(1 / flagged, include_initial=True),
    )


def _variance(
    data: DeviceTally, sums: _RunningSums, value: float, odds: float
) -> VarianceEstimate:
    """Return the variance from influence values, as ``inference`` has it."""
    lib = data.lib
    n_pos = data.n_pos

    def of_negatives(block: Tensor) -> Any:
        lower = lib.places(data.pos, block, "right")
        return -odds * sums.loss[lower] / n_pos

    def of_positives(block: Tensor) -> Any:
        lower = lib.places(data.pos, block, "right")
        # all positives of a score share one precision, that of the first of them
        own = sums.precision[lib.places(data.pos, block, "left")]
        return (own - value + sums.gain[lower] - sums.loss[lower]) / n_pos

    # a prevalence that is given fixes the class sizes, which then add no variance
    fixed = data.design.fixed_classes
    negatives = _power_sums(lib, data.neg, of_negatives, centered=fixed)
    positives = _power_sums(lib, data.pos, of_positives, centered=fixed)
    strata = [negatives, positives]
    if not fixed:
        strata = [Stratum(*(sum(pair) for pair in zip(*strata, strict=True)))]

    prevalence = data.design.prevalence
    if prevalence is None:
        prevalence = n_pos / (n_pos + data.n_neg)
    return combine_strata(
        strata,
        min(n_pos, data.n_neg),
        extra_variance_of_precision(n_pos, data.n_neg, prevalence),
    )


def _power_sums(
    lib: Library, keys: Tensor, influence: Any, *, centered: bool
) -> Stratum:
    """Return the sums of squares and fourth powers of influence values of a class."""
    xp = lib.xp
    size = lib.size(keys)
    blocks = [keys[start : start + CHUNK] for start in range(0, size, CHUNK)]
    mean = 0.0
    if centered:
        mean = sum(float(xp.sum(influence(block))) for block in blocks) / size

    squares = 0.0
    fourth_powers = 0.0
    for block in blocks:
        square = (influence(block) - mean) ** 2
        squares += float(xp.sum(square))
        fourth_powers += float(xp.sum(square * square))
    return Stratum(float(size), squares, fourth_powers)
