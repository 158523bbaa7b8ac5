r"""Sums over the runs of a device tally: placements, precision, losses.

Of positives and negatives at each distinct score, and running sums of both from the
lowest score on. A positive at a score is ahead of the negatives below, and half of
those at it: its placement value is that number over all negatives, and the mean over
the positives is the AUC (DeLong, DeLong and Clarke-Pearson 1988). Twice the placements
are whole numbers, so that the AUC is exact.

Average precision: the positives at a score are flagged together with :math:`T`
positives and :math:`N` negatives at this score or above. A negative counts c times at
another prevalence, so that :math:`F = T + c N` cases are flagged with precision
:math:`P = T / F`. A case acts on the precision at its score and at all lower ones:
running sums of :math:`P / F` and :math:`1 / F` over the positives are its influence.
"""

from __future__ import annotations

from typing import NamedTuple

from trueness.gpu.keys import Library, Tensor, scores_on_device
from trueness.gpu.tallies import DeviceTally
from trueness.inference.variance import Stratum, VarianceEstimate, combine_strata
from trueness.ranking.areas import PlacementMoments, extra_variance_of_precision


class PlacementSums(NamedTuple):
    """The AUC of a device tally, and the powers of placement values about it."""

    twice_wins: int  # pairs that the positive wins count twice, ties once
    auc: float
    of_negatives: PlacementMoments
    of_positives: PlacementMoments


def placement_sums(data: DeviceTally) -> PlacementSums:
    """Return what the AUC and DeLong's variance need."""
    negatives_below = twice_below(data.negatives_to, data.negatives)
    positives_below = twice_below(data.positives_to, data.positives)
    twice_wins = int(data.library.xp.sum(data.positives * negatives_below))
    auc = twice_wins / (2 * data.n_pos * data.n_neg)
    return PlacementSums(
        twice_wins=twice_wins,
        auc=auc,
        of_negatives=_placement_moments(
            data.library,
            positives_below,
            mean=2 * data.n_pos * (1 - auc),
            largest=2 * data.n_pos,
            counts=data.negatives,
            size=data.n_neg,
        ),
        of_positives=_placement_moments(
            data.library,
            negatives_below,
            mean=2 * data.n_neg * auc,
            largest=2 * data.n_neg,
            counts=data.positives,
            size=data.n_pos,
        ),
    )


def _placement_moments(
    library: Library,
    twice_placement: Tensor,
    *,
    mean: float,
    largest: int,
    counts: Tensor,
    size: int,
) -> PlacementMoments:
    """Return the powers of the placement values of one class about their mean."""
    deviation = library.cast(twice_placement, "float64") - mean
    powers = power_sums(library, deviation, counts, size)
    # numbers of pairs become proportions at the end: a pass less over all scores
    return PlacementMoments(
        powers.size,
        powers.squares / largest**2,
        powers.fourth_powers / largest**4,
    )


def twice_below(running: Tensor, counts: Tensor) -> Tensor:
    """Return twice the cases below each distinct score, those at it once."""
    return 2 * running - counts


def power_sums(library: Library, values: Tensor, counts: Tensor, size: int) -> Stratum:
    """Return the sums of squares and fourth powers of values of so many cases."""
    square = values * values
    weighted = counts * square
    sums = library.xp.stack(
        [library.xp.sum(weighted), library.xp.sum(weighted * square)]
    )
    squares, fourth_powers = sums.tolist()
    return Stratum(float(size), squares, fourth_powers)


def _of_cases(library: Library, values: Tensor, counts: Tensor) -> Tensor:
    """Return zero for the values that no case has, which may be infinite."""
    return library.xp.where(counts > 0, values, 0.0)


class CaseInfluence(NamedTuple):
    """What one negative and one positive case add to an estimate, at each score."""

    of_negatives: Tensor
    of_positives: Tensor


def weight_of_negative(data: DeviceTally) -> float:
    """Return how many times a negative counts for each time that a positive does."""
    prevalence = data.design.prevalence
    if prevalence is None:
        return 1.0
    return (1 - prevalence) / prevalence * data.n_pos / data.n_neg


def average_precision_value(data: DeviceTally) -> float:
    """Return the average precision."""
    precision, _ = _precision_of_scores(data)
    return float(data.library.xp.sum(data.positives * precision)) / data.n_pos


def average_precision_variance(data: DeviceTally) -> tuple[float, VarianceEstimate]:
    """Return the average precision with its variance by influence values."""
    xp = data.library.xp
    n_pos = data.n_pos
    odds = weight_of_negative(data)
    precision, flagged = _precision_of_scores(data)
    value = float(xp.sum(data.positives * precision)) / n_pos

    loss = xp.cumulative_sum(data.positives * precision / flagged)
    gain = xp.cumulative_sum(data.positives / flagged)
    influence = CaseInfluence(
        of_negatives=-odds * loss / n_pos,
        of_positives=(precision - value + gain - loss) / n_pos,
    )

    prevalence = data.design.prevalence
    if prevalence is None:
        prevalence = n_pos / (n_pos + data.n_neg)
    extra_variance = extra_variance_of_precision(n_pos, data.n_neg, prevalence)
    return value, variance_of_sum(data, influence, extra_variance)


def _precision_of_scores(data: DeviceTally) -> tuple[Tensor, Tensor]:
    """Return the precision with each score as the threshold, and the cases flagged."""
    true_positives = data.n_pos - data.positives_to + data.positives
    false_positives = data.n_neg - data.negatives_to + data.negatives
    found = data.library.cast(true_positives, "float64")
    odds = weight_of_negative(data)
    flagged = found + odds * data.library.cast(false_positives, "float64")
    return found / flagged, flagged


def variance_of_sum(
    data: DeviceTally, influence: CaseInfluence, extra_variance: float = 0.0
) -> VarianceEstimate:
    """Return the variance of an estimate, as ``inference`` has it."""
    library = data.library
    units = min(data.n_pos, data.n_neg)
    of_negatives = _of_cases(library, influence.of_negatives, data.negatives)
    of_positives = _of_cases(library, influence.of_positives, data.positives)
    # where the design fixes the class sizes, these add no variance
    if data.design.fixed_classes:
        strata = [
            _centered_powers(library, of_negatives, data.negatives, data.n_neg),
            _centered_powers(library, of_positives, data.positives, data.n_pos),
        ]
        return combine_strata(strata, units, extra_variance)

    negatives = power_sums(library, of_negatives, data.negatives, data.n_neg)
    positives = power_sums(library, of_positives, data.positives, data.n_pos)
    all_cases = Stratum(
        size=negatives.size + positives.size,
        squares=negatives.squares + positives.squares,
        fourth_powers=negatives.fourth_powers + positives.fourth_powers,
    )
    return combine_strata([all_cases], units, extra_variance)


def _centered_powers(
    library: Library, values: Tensor, counts: Tensor, size: int
) -> Stratum:
    """Return sums of powers about the mean of a class."""
    mean = float(library.xp.sum(counts * values)) / size
    return power_sums(library, values - mean, counts, size)


def _losses(library: Library, name: str, probability: Tensor) -> tuple[Tensor, Tensor]:
    """Return the loss of a negative and of a positive at each probability."""
    if name == "brier":
        return probability * probability, (1 - probability) ** 2
    return -library.xp.log1p(-probability), -library.xp.log(probability)


def mean_loss_variance(
    data: DeviceTally, name: str, clip: float = 0.0
) -> tuple[float, VarianceEstimate]:
    """Return the Brier score or the log loss with its variance.

    Probabilities keep the distance ``clip`` from 0 and 1.
    """
    library = data.library
    probability = scores_on_device(library, data.keys, data.kind)
    if clip:
        probability = library.xp.clip(probability, clip, 1 - clip)
    of_negative, of_positive = _losses(library, name, probability)
    of_negative = _of_cases(library, of_negative, data.negatives)
    of_positive = _of_cases(library, of_positive, data.positives)
    totals = library.xp.stack(
        [
            library.xp.sum(data.negatives * of_negative),
            library.xp.sum(data.positives * of_positive),
        ]
    )
    total_of_negatives, total_of_positives = totals.tolist()

    # what a case of each class counts, so that all together count one
    cases = data.n_pos + data.n_neg
    prevalence = data.design.prevalence
    if prevalence is None:
        weight_of_negatives = weight_of_positives = 1 / cases
    else:
        weight_of_negatives = (1 - prevalence) / data.n_neg
        weight_of_positives = prevalence / data.n_pos
    value = (
        weight_of_negatives * total_of_negatives
        + weight_of_positives * total_of_positives
    )
    influence = CaseInfluence(
        of_negatives=weight_of_negatives * (of_negative - value),
        of_positives=weight_of_positives * (of_positive - value),
    )
    return value, variance_of_sum(data, influence)
