"""What does a choice become when it is repeated on bootstrap samples?

All that a metric sees of a rule is how many positives and negatives are in its zones:
*cells* (..., groups, zones, 2), where the zones are flagged, deferred and cleared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.progress import progress
from trueness.counts.placements import coarsen, group_starts
from trueness.counts.resampling import draw, whole_draws
from trueness.counts.values import Tally
from trueness.metrics.confusion import Confusion

# samples that are drawn at once: their counts stay in the processor's cache
_BLOCK = 64

# from running counts (samples, cuts) of each group to the places of the chosen cuts
# (samples, groups, cuts), -1 where nothing can be chosen
Chooser = Callable[[list[Confusion]], Ints]


class RepeatedChoices(NamedTuple):
    """Choices made on bootstrap samples, without the samples that allowed none.

    ``places`` are the chosen cuts in the whole tallies (samples, groups, cuts); the
    others are cells (samples, groups, zones, 2) of the chosen rules.
    """

    places: Ints
    in_sample: Floats
    left_out: Floats
    in_all: Floats


def repeat_choice(
    tallies: Sequence[Tally],
    choose: Chooser,
    *,
    most_rows: int,
    replicates: int,
    rng: np.random.Generator,
) -> RepeatedChoices:
    """Repeat a choice on bootstrap samples of tallies of at most so many rows."""
    pooled = [coarsen(tally, most_rows) for tally in tallies]
    units = [resampling_units(tally) for tally in pooled]
    places_in_tally = [_places_of_pooled_cuts(tally, most_rows) for tally in tallies]

    blocks = []
    with progress("Bootstrap", replicates, "samples") as advance:
        for start in range(0, replicates, _BLOCK):
            size = min(_BLOCK, replicates - start)
            samples = [
                draw_samples(units_of_group, size, rng) for units_of_group in units
            ]
            blocks.append(_choose_in_block(pooled, samples, choose, places_in_tally))
            advance(size)

    return RepeatedChoices(
        *(np.concatenate(parts) for parts in zip(*blocks, strict=True))
    )


def _places_of_pooled_cuts(tally: Tally, most_rows: int) -> Ints:
    """Return where the cuts of the pooled tally are among those of the whole one."""
    if len(tally) <= most_rows:
        return np.arange(len(tally) + 1)
    # each class counts as one, as where rows are pooled
    weight = tally.neg / tally.n_neg + tally.pos / tally.n_pos
    return np.append(group_starts(weight, most_rows), len(tally))


def _choose_in_block(
    pooled: list[Tally],
    samples: list[Samples],
    choose: Chooser,
    places_in_tally: list[Ints],
) -> RepeatedChoices:
    """Return the cells of what is chosen in each sample of a block."""
    size = len(samples[0].drawn.pos)
    in_sample = [_running_counts(places_of_group.drawn) for places_of_group in samples]
    left_out = [
        _running_counts(places_of_group.left_out) for places_of_group in samples
    ]
    in_all = [_running_counts(_copies(tally, size)) for tally in pooled]

    chosen_cuts = choose(in_sample)
    succeeded = np.asarray((chosen_cuts >= 0).all(axis=(1, 2)))
    places = [
        places_of_group[chosen_cuts[succeeded, group]]
        for group, places_of_group in enumerate(places_in_tally)
    ]
    return RepeatedChoices(
        places=np.stack(places, axis=1),
        in_sample=_cells_of_groups(in_sample, chosen_cuts, succeeded),
        left_out=_cells_of_groups(left_out, chosen_cuts, succeeded),
        in_all=_cells_of_groups(in_all, chosen_cuts, succeeded),
    )


class RowCounts(NamedTuple):
    """Positives and negatives in each row of some samples (samples, rows)."""

    pos: Array
    neg: Array


class Samples(NamedTuple):
    """Bootstrap samples, and the cases that each left out."""

    drawn: RowCounts
    left_out: RowCounts


def _copies(tally: Tally, size: int) -> RowCounts:
    """Return the rows of a tally as many times as there are samples."""
    return RowCounts(
        pos=np.tile(tally.pos, (size, 1)), neg=np.tile(tally.neg, (size, 1))
    )


@dataclass(frozen=True)
class ResamplingUnits:
    """What is drawn: equal cases of each row and class, or whole clusters.

    Attributes
    ----------
    numbers
        How many units there are: of each row, for the positives and the negatives; or
        one for each cluster.
    weights
        The weight of a unit of each row, for the positives and the negatives.
    cluster_tables
        Of clusters in place of weights: the positives, and the negatives, of each
        cluster in each row.
    fixed_classes
        Whether the design fixed the size of each class.
    """

    numbers: list[Ints]
    weights: list[Floats]
    cluster_tables: list[Any]
    fixed_classes: bool


def resampling_units(tally: Tally) -> ResamplingUnits:
    """Return the units that a bootstrap draws: cases of a row, or whole clusters."""
    clusters = tally.grouped
    if clusters is not None:
        from scipy.sparse import csr_array

        shape = (clusters.number, len(tally))
        negatives, positives, *_ = clusters.counts
        return ResamplingUnits(
            numbers=[np.ones(clusters.number, dtype=np.int64)],
            weights=[],
            # from a number of each cluster to the counts of the rows
            cluster_tables=[
                csr_array((counts, (clusters.code, clusters.row)), shape=shape)
                for counts in (positives, negatives)
            ],
            fixed_classes=tally.design.fixed_classes,
        )

    numbers = []
    weights = []
    for counts, squares in (
        (tally.pos, tally.squares[1]),
        (tally.neg, tally.squares[0]),
    ):
        number, weight = whole_draws(counts.astype(float), squares.astype(float))
        numbers.append(np.where(weight > 0, number, 0))
        weights.append(weight)

    return ResamplingUnits(
        numbers=numbers,
        weights=weights,
        cluster_tables=[],
        fixed_classes=tally.design.fixed_classes,
    )


def draw_samples(
    units: ResamplingUnits, size: int, rng: np.random.Generator
) -> Samples:
    """Draw bootstrap samples, each with the cases that it left out.

    Of N equal cases of a row, of which B were drawn, :math:`N (1 - 1/N)^B` are left out
    on average; that mean stands for them. A cluster is drawn like one case.
    """
    if units.fixed_classes:
        times_drawn = [draw(number, size, rng) for number in units.numbers]
    else:
        # both classes are drawn together, so that their sizes vary
        all_drawn = draw(np.concatenate(units.numbers), size, rng)
        times_drawn = np.split(all_drawn, len(units.numbers), axis=1)

    left_out = [
        number * np.power(1 - 1 / np.maximum(number, 1), n_drawn)
        for number, n_drawn in zip(units.numbers, times_drawn, strict=True)
    ]
    return Samples(
        _counts_in_rows(units, times_drawn), _counts_in_rows(units, left_out)
    )


def _counts_in_rows(units: ResamplingUnits, numbers: Sequence[Array]) -> RowCounts:
    """Return the positives and negatives that these numbers of units make."""
    if units.cluster_tables:
        of_clusters = numbers[0]
        positives, negatives = units.cluster_tables
        return RowCounts(pos=of_clusters @ positives, neg=of_clusters @ negatives)
    return RowCounts(
        pos=numbers[0] * units.weights[0], neg=numbers[1] * units.weights[1]
    )


def _running_counts(rows: RowCounts) -> Confusion:
    """Count right and wrong cases at all cuts of some samples."""
    tp = np.pad(np.cumsum(rows.pos, axis=1), ((0, 0), (1, 0)))
    fp = np.pad(np.cumsum(rows.neg, axis=1), ((0, 0), (1, 0)))
    return Confusion(tp, fp, tp[:, -1:] - tp, fp[:, -1:] - fp)


def _cells_of_groups(
    counts: list[Confusion], chosen: Ints, succeeded: NDArray[np.bool_]
) -> Floats:
    """Return the cells of the chosen cuts (samples, groups, zones, 2)."""
    cells = [
        _cells(counts_of_group, chosen[succeeded, group], succeeded)
        for group, counts_of_group in enumerate(counts)
    ]
    return np.stack(cells, axis=1)


def _cells(counts: Confusion, cuts: Ints, succeeded: NDArray[np.bool_]) -> Floats:
    """Return positives and negatives flagged, deferred and cleared in some samples."""
    if cuts.shape[1] == 1:
        # one cut defers nothing
        cuts = np.repeat(cuts, 2, axis=1)

    zones_of_class = []
    for running in (counts.tp[succeeded], counts.fp[succeeded]):
        at_cuts = np.take_along_axis(running, cuts, axis=1)
        total = running[:, -1:]
        # running counts at the cuts: their differences are the zones
        zones_of_class.append(np.diff(at_cuts, axis=1, prepend=0, append=total))

    return np.stack(zones_of_class, axis=-1).astype(np.float64)
