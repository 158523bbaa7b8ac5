"""ROC curves of redrawn cases.

Cases are redrawn with all their outputs, by the sampling design: single cases, weights,
or whole clusters. Outputs of very many rows are merged into levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.progress import progress
from trueness.comparison.curve_ranges import roc_corners
from trueness.counts.placements import group_starts, run_starts
from trueness.counts.resampling import replicates as redraws
from trueness.counts.values import Panel, Tally
from trueness.ranking.bands import height


@dataclass(frozen=True)
class CurveRequest:
    """At which rates curves are compared, how often redrawn, and at which level."""

    grid: Floats  # false positive rates
    level: float
    margin: float  # NaN where none is tested
    replicates: int
    rng: np.random.Generator


# with more rows than these, outputs are merged into levels, still finer than the usual
# grid of the band
_MAX_ROWS_OF_ONE = 1_000
_MAX_ROWS_OF_SEVERAL = 20_000
_LEVELS_OF_ONE = 1_000
_LEVELS_OF_SEVERAL = 128  # of each classifier


def redrawn_curves(
    cases: Tally | Panel, tallies: Sequence[Tally], request: CurveRequest
) -> Floats:
    """Return curves of redrawn cases, with all their outputs: (K, replicates, grid)."""
    levels_of_rows = _output_levels(cases, tallies)
    cells, first_rows = _combinations_of_levels(levels_of_rows)
    counted_cells = _replace_scores(cases, -cells)
    levels = [level[first_rows] for level in levels_of_rows]
    counted_levels = [_replace_scores(counted_cells, -level) for level in levels]
    cells_along_curves = [
        _place_cells(level, counted_cells, run_starts(counted))
        for level, counted in zip(levels, counted_levels, strict=True)
    ]

    curves = np.empty((len(levels), request.replicates, request.grid.size))
    n_drawn = 0
    with progress("Bootstrap", request.replicates, "samples") as advance:
        # blocks of replicates, so that their counts fit into memory
        blocks = redraws(
            counted_cells, request.replicates, request.rng, occupied_only=True
        )
        for neg, pos in blocks:
            block = slice(n_drawn, n_drawn + len(neg))
            for k, (negatives, positives) in enumerate(cells_along_curves):
                curves[k, block] = _heights_of_curves(
                    negatives.cumulative_proportions(neg),
                    positives.cumulative_proportions(pos),
                    request.grid,
                )
            n_drawn += len(neg)
            advance(len(neg))

    # merging rows lowers the curves: add what the curve of the sample lost, or the band
    # would be as wide as the largest loss, at the steep start of the curve
    for k, (tally, counted) in enumerate(zip(tallies, counted_levels, strict=True)):
        coarse_curve = height(*roc_corners(counted), request.grid)
        curves[k] += height(*roc_corners(tally), request.grid) - coarse_curve

    return curves


def _heights_of_curves(fpr: Floats, tpr: Floats, grid: Floats) -> Floats:
    """Return the height of each curve at the rates of the grid: (replicates, grid)."""
    heights = [
        height(fpr_corners, tpr_corners, grid)
        for fpr_corners, tpr_corners in zip(fpr, tpr, strict=True)
    ]
    return np.array(heights)


def _replace_scores(cases: Tally | Panel, scores: Array) -> Tally:
    """Return a tally of the cases with a new score for each row."""
    if isinstance(cases, Tally):
        return cases.map(lambda _: scores)
    return cases.combine(lambda _: scores)


def _output_levels(cases: Tally | Panel, tallies: Sequence[Tally]) -> list[Array]:
    """Return the level of each row for each classifier, 0 for the highest outputs."""
    outputs = [cases.score] if isinstance(cases, Tally) else list(cases.rows.T)

    several = len(outputs) > 1
    max_rows = _MAX_ROWS_OF_SEVERAL if several else _MAX_ROWS_OF_ONE
    max_levels = None
    if len(cases) > max_rows:
        max_levels = _LEVELS_OF_SEVERAL if several else _LEVELS_OF_ONE
    return [
        _levels(output, tally, max_levels)
        for output, tally in zip(outputs, tallies, strict=True)
    ]


def _levels(output: Floats, tally: Tally, max_levels: int | None) -> Array:
    """Return the level of each output, 0 for the highest; neighbours may be merged."""
    # each row of the tally begins a level, or each group of rows with about equal cases
    starts = np.arange(len(tally))
    if max_levels is not None:
        proportions = tally.neg / tally.n_neg + tally.pos / tally.n_pos
        starts = group_starts(proportions, max_levels)
    # scores fall along the rows, and a sorted search needs rising numbers
    return np.searchsorted(-tally.score[starts], -output, side="right") - 1


def _combinations_of_levels(levels: Sequence[Array]) -> tuple[Array, Array]:
    """Return the number of the combination of levels in each row, and a row of each."""
    cell_of_row = _consecutive_numbers(levels[0])
    for level in levels[1:]:
        # digits of a mixed base: a pair of levels has a key of its own
        cell_of_row = _consecutive_numbers(cell_of_row * (int(level.max()) + 1) + level)

    row_of_cell = np.empty(int(cell_of_row.max()) + 1, np.intp)
    # of several rows of a cell the last is taken: all have the same levels
    row_of_cell[cell_of_row] = np.arange(cell_of_row.size)
    return cell_of_row, row_of_cell


def _consecutive_numbers(keys: Array) -> Array:
    """Return whole numbers from 0 on in the order of the keys, without gaps."""
    if int(keys.max()) > 4 * keys.size:
        return np.unique(keys, return_inverse=True)[1]

    # a table of all keys up to the largest takes less time than a sort
    occurs = np.zeros(int(keys.max()) + 1, dtype=bool)
    occurs[keys] = True
    number_of_key = np.cumsum(occurs) - 1
    return number_of_key[keys]


@dataclass(frozen=True)
class _CellsOfClass:
    """The cells that hold cases of a class, along an ROC curve.

    Attributes
    ----------
    order
        The cells from the highest level down; None where they are in this order.
    number_above : array (corners,)
        How many of these cells stand above each corner of the curve.
    """

    order: Array | None
    number_above: Array

    def cumulative_proportions(self, counts: Array) -> Floats:
        """Return the proportion of a class above each corner: (replicates, corners).

        ``counts`` are those of its cells, (replicates, cells).
        """
        if self.order is not None:
            counts = np.take(counts, self.order, axis=1)

        cumulative = np.zeros((len(counts), counts.shape[1] + 1), _type_of_sums(counts))
        np.cumsum(counts, axis=1, out=cumulative[:, 1:])
        return np.take(cumulative, self.number_above, axis=1) / cumulative[:, -1:]


def _type_of_sums(counts: Array) -> type:
    """Return the smallest type that holds the sums of each replicate."""
    if counts.dtype.kind == "f":
        return np.float64
    most_cases = int(counts.sum(axis=1, dtype=np.int64).max())
    return np.int32 if most_cases < 2**31 else np.int64


def _place_cells(
    level: Array, cells: Tally, starts: Array
) -> tuple[_CellsOfClass, _CellsOfClass]:
    """Return where the cells of negatives, and of positives, stand along a curve.

    ``starts`` are the first levels of runs that hold the same single class. Within a
    run the curve is straight, however often its cases are redrawn, so that it has one
    corner for each run.
    """
    return (
        _place_cells_of_class(level[cells.neg > 0], starts),
        _place_cells_of_class(level[cells.pos > 0], starts),
    )


def _place_cells_of_class(level: Array, starts: Array) -> _CellsOfClass:
    """Return where cells at these levels stand along a curve."""
    order = np.argsort(level, kind="stable")
    is_in_order = bool((np.diff(order) == 1).all())
    # the levels before the start of a run are the cells above it
    above_each_run = np.searchsorted(level[order], starts)
    return _CellsOfClass(
        order=None if is_in_order else order,
        number_above=np.append(above_each_run, level.size),
    )
