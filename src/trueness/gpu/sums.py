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
    library = data.library
    twice_negatives_below, twice_positives_below = twice_below(data)
    _, positives = data.labelled_counts
    twice_wins = int(library.xp.sum(positives * twice_negatives_below))
    twice_pairs = 2 * data.n_pos * data.n_neg

    # the placement of a case counts the cases of the other class; those of all
    # negatives add up to the pairs that the positive loses
    placement_of_negative = library.cast(twice_positives_below, "float64")
    placement_of_positive = library.cast(twice_negatives_below, "float64")
    mean_of_negatives = (twice_pairs - twice_wins) / data.n_neg
    mean_of_positives = twice_wins / data.n_pos
    deviation = library.xp.stack(
        [
            placement_of_negative - mean_of_negatives,
            placement_of_positive - mean_of_positives,
        ]
    )
    of_negatives, of_positives = power_sums(data, deviation)

    return PlacementSums(
        twice_wins=twice_wins,
        auc=twice_wins / twice_pairs,
        of_negatives=_placement_moments(of_negatives, largest=2 * data.n_pos),
        of_positives=_placement_moments(of_positives, largest=2 * data.n_neg),
    )


def twice_below(data: DeviceTally) -> Tensor:
    """Return twice the cases below each score, those at it once, of both classes."""
    return 2 * data.running_counts[:2] - data.labelled_counts


def _placement_moments(powers: Stratum, largest: int) -> PlacementMoments:
    """Return the powers of placement values from those of numbers of cases."""
    return PlacementMoments(
        powers.size, powers.squares / largest**2, powers.fourth_powers / largest**4
    )


def power_sums(data: DeviceTally, values: Tensor) -> tuple[Stratum, Stratum]:
    """Return the sums of squares and fourth powers of values of all cases.

    ``values`` has a row for the negatives and one for the positives, as the answer has
    a :class:`Stratum` for each.
    """
    xp = data.library.xp
    square = values * values
    weighted = data.labelled_counts * square
    sums = xp.stack([xp.sum(weighted, axis=1), xp.sum(weighted * square, axis=1)])
    squares, fourth_powers = sums.tolist()

    return (
        Stratum(float(data.n_neg), squares[0], fourth_powers[0]),
        Stratum(float(data.n_pos), squares[1], fourth_powers[1]),
    )


def weight_of_negative(data: DeviceTally) -> float:
    """Return how many times a negative counts for each time that a positive does."""
    prevalence = data.design.prevalence
    if prevalence is None:
        return 1.0
    return (1 - prevalence) / prevalence * data.n_pos / data.n_neg


def average_precision_value(data: DeviceTally) -> float:
    """Return the average precision."""
    precision, _ = _precision_of_scores(data)
    _, positives = data.labelled_counts
    return float(data.library.xp.sum(positives * precision)) / data.n_pos


def average_precision_variance(data: DeviceTally) -> tuple[float, VarianceEstimate]:
    """Return the average precision with its variance by influence values."""
    xp = data.library.xp
    n_pos = data.n_pos
    odds = weight_of_negative(data)
    _, positives = data.labelled_counts
    precision, flagged = _precision_of_scores(data)
    value = float(xp.sum(positives * precision)) / n_pos

    loss = xp.cumulative_sum(positives * precision / flagged)
    gain = xp.cumulative_sum(positives / flagged)
    influence_of_negative = -odds * loss / n_pos
    influence_of_positive = (precision - value + gain - loss) / n_pos

    prevalence = data.design.prevalence
    if prevalence is None:
        prevalence = n_pos / (n_pos + data.n_neg)

    variance = variance_of_sum(
        data,
        influence=xp.stack([influence_of_negative, influence_of_positive]),
        extra_variance=extra_variance_of_precision(n_pos, data.n_neg, prevalence),
    )
    return value, variance


def _precision_of_scores(data: DeviceTally) -> tuple[Tensor, Tensor]:
    """Return the precision with each score as the threshold, and the cases flagged."""
    counts = data.labelled_counts
    above = data.running_counts[:2, -1:] - data.running_counts[:2] + counts
    false_positives, true_positives = data.library.cast(above, "float64")
    flagged = true_positives + weight_of_negative(data) * false_positives
    return true_positives / flagged, flagged


def variance_of_sum(
    data: DeviceTally, influence: Tensor, extra_variance: float = 0.0
) -> VarianceEstimate:
    """Return the variance of an estimate, as ``inference`` has it.

    ``influence`` has a row for a negative at each score, and one for a positive.
    """
    xp = data.library.xp
    counts = data.labelled_counts
    units = min(data.n_pos, data.n_neg)
    # a value that no case has may be infinite
    influence = xp.where(counts > 0, influence, 0.0)

    # where the design fixes the class sizes, these add no variance
    if data.design.fixed_classes:
        sizes = data.library.cast(data.running_counts[:2, -1], "float64")
        mean = xp.sum(counts * influence, axis=1) / sizes
        strata = power_sums(data, influence - mean[:, None])
        return combine_strata(strata, units, extra_variance)

    negatives, positives = power_sums(data, influence)
    all_cases = Stratum(
        size=negatives.size + positives.size,
        squares=negatives.squares + positives.squares,
        fourth_powers=negatives.fourth_powers + positives.fourth_powers,
    )
    return combine_strata([all_cases], units, extra_variance)


def _losses(library: Library, name: str, probability: Tensor) -> Tensor:
    """Return the loss of a negative and, in a second row, of a positive."""
    xp = library.xp
    if name == "brier":
        return xp.stack([probability, 1 - probability]) ** 2
    return -xp.stack([xp.log1p(-probability), xp.log(probability)])


def mean_loss_variance(
    data: DeviceTally, name: str, clip: float = 0.0
) -> tuple[float, VarianceEstimate]:
    """Return the Brier score or the log loss with its variance.

    Probabilities keep the distance ``clip`` from 0 and 1.
    """
    library = data.library
    xp = library.xp
    probability = scores_on_device(library, data.keys, data.kind)
    if clip:
        probability = xp.clip(probability, clip, 1 - clip)

    # a loss that no case has may be infinite
    loss = _losses(library, name, probability)
    loss = xp.where(data.labelled_counts > 0, loss, 0.0)
    total_of_negatives, total_of_positives = xp.sum(
        data.labelled_counts * loss, axis=1
    ).tolist()

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
    influence_of_negative, influence_of_positive = loss - value
    influence = xp.stack(
        [
            weight_of_negatives * influence_of_negative,
            weight_of_positives * influence_of_positive,
        ]
    )

    return value, variance_of_sum(data, influence)
