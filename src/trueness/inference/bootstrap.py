r"""Bootstrap of any statistic: the values that other samples would have shown.

The cases that were drawn are drawn again, in the way that they came, and the statistic
is computed anew (Efron 1979). Independent cases are drawn by their number, in each
class where the design fixed its size. Weighted ones have random weights (the Bayesian
bootstrap, Rubin 1981). Of C clusters C - 1 are drawn, which makes the variance unbiased
(Rao and Wu 1988).

With very many cases each replicate is drawn from a random part of them, at the size of
the whole (the bag of little bootstraps, Kleiner et al. 2014). Its deviation from the
value of the part stands for the deviation of the whole, at a fraction of the cost.

References
----------
Efron (1979), Ann. Stat. 7:1; Kleiner, Talwalkar, Sarkar, Jordan (2014), J. R. Stat.
Soc. B 76:795; Rao, Wu (1988), J. Am. Stat. Assoc. 83:231; Rubin (1981), Ann. Stat.
9:130
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.progress import progress
from trueness.counts.cases import keep_rows, with_counts
from trueness.counts.clusters import Clusters
from trueness.counts.resampling import common_weight, gamma_draw
from trueness.counts.values import Panel, Tally
from trueness.inference.sample import Sample, apply_design

# one number, or several, of the counts (a tally or a panel) of a target population
Statistics = Callable[[Any], Sequence[float]]
AnySample = Sample[Any]

# the largest number of cases of a class, or of clusters, that is drawn from as a whole;
# larger samples are drawn from a random part of the size n^0.7 (Kleiner et al. 2014),
# which is never smaller than this number
_MAX_WHOLE = 10_000
_PART_EXPONENT = 0.7
# a draw without replacement lists all cases in memory: more cases are drawn with it
_MAX_LISTED = 10**8
# the number of random parts that share the replicates
_PARTS = 10


def bootstrap_values(
    sample: AnySample,
    statistics: Statistics,
    replicates: int,
    rng: np.random.Generator,
) -> Floats:
    """Return the statistics of redrawn samples: a row for each replicate.

    A statistic is NaN where it is undefined, as without a case of some class.
    """
    value_of_whole = np.array(statistics(sample.target_counts))
    number_of_parts = _PARTS if _needs_parts(sample.observed) else 1

    values = []
    with progress("Bootstrap", replicates, "samples") as advance:
        for part in range(number_of_parts):
            source = _draw_source(sample, rng)
            shift = np.zeros(value_of_whole.size)
            if number_of_parts > 1:
                # replicates of a part vary around its own value, so they are moved to
                # vary around the value of the whole sample
                value_of_part = statistics(_target_counts(sample, source.cases))
                shift = value_of_whole - np.array(value_of_part)

            # the replicates are dealt out to the parts in turn
            for _ in range(part, replicates, number_of_parts):
                redrawn = _target_counts(sample, _redraw_cases(source, rng))
                values.append(np.array(statistics(redrawn)) + shift)
                advance(1)

    return np.array(values)


def _target_counts(sample: AnySample, cases: Tally | Panel) -> Any:
    """Return the counts of the target population that redrawn cases stand for."""
    if not sample.reweighted:
        return cases
    prevalence = sample.target_counts.prevalence
    return apply_design(cases.with_design(prevalence=prevalence)).target_counts


@dataclass(frozen=True)
class _ReplicateSource:
    """Cases from which replicates are drawn, and how.

    ``redraw`` returns the columns of counts of one replicate, as the cases have them.
    """

    cases: Tally | Panel
    redraw: Callable[[np.random.Generator], list[Array]]


def _redraw_cases(source: _ReplicateSource, rng: np.random.Generator) -> Tally | Panel:
    """Return one replicate: the rows that were drawn, with their counts."""
    redrawn = with_counts(source.cases, source.redraw(rng))
    return keep_rows(redrawn, redrawn.neg + redrawn.pos > 0)


def _needs_parts(cases: Tally | Panel) -> bool:
    """Return whether there are so many cases, or clusters, that parts are drawn."""
    if cases.grouped is not None:
        return cases.grouped.number > _MAX_WHOLE
    return max(_class_units(cases)) > _MAX_WHOLE


def _class_units(cases: Tally | Panel) -> tuple[int, int]:
    """Return how many negatives and positives there are, or how many rows with them.

    Rows are counted where cases are weighted.
    """
    if cases.weighted:
        return int((cases.neg > 0).sum()), int((cases.pos > 0).sum())
    return int(cases.n_neg), int(cases.n_pos)


def _part_size(units: int) -> int:
    """Return how many of these units are in a part."""
    recommended = math.ceil(math.pow(units, _PART_EXPONENT))
    return min(units, max(_MAX_WHOLE, recommended))


def _draw_source(sample: AnySample, rng: np.random.Generator) -> _ReplicateSource:
    """Return the cases, or a random part of them, with a draw that suits the design."""
    cases = sample.observed
    if cases.grouped is not None:
        return _source_of_clusters(cases, cases.grouped, rng)

    weight = common_weight(cases)
    if cases.weighted and weight is None:
        return _source_of_weighted_cases(cases, rng)

    return _source_of_counted_cases(
        cases, weight, rng, class_sizes_fixed=sample.class_sizes_fixed
    )


def _source_of_counted_cases(
    cases: Tally | Panel,
    weight: float | None,
    rng: np.random.Generator,
    *,
    class_sizes_fixed: bool,
) -> _ReplicateSource:
    """Return a source of independent cases of equal weight."""
    # cases of one common weight are counted again, by dividing their sums by it
    unit = 1.0 if weight is None else weight
    negatives = np.rint(cases.neg / unit).astype(np.int64)
    positives = np.rint(cases.pos / unit).astype(np.int64)
    n_neg = int(negatives.sum())
    n_pos = int(positives.sum())

    # a part has the proportions of each class, and replicates their full size
    negatives_in_part = _part_of_counts(negatives, rng)
    positives_in_part = _part_of_counts(positives, rng)
    in_part = negatives_in_part + positives_in_part > 0
    negatives_in_part = negatives_in_part[in_part]
    positives_in_part = positives_in_part[in_part]

    def redraw(generator: np.random.Generator) -> list[Array]:
        """Return the columns of counts of one redrawn sample."""
        drawn_positives = n_pos
        if not class_sizes_fixed:
            # both classes were drawn together, so their sizes vary
            drawn_positives = generator.binomial(n_neg + n_pos, n_pos / (n_neg + n_pos))

        drawn_negatives = n_neg + n_pos - drawn_positives
        return _columns_of_equal_cases(
            _draw_from_counts(negatives_in_part, drawn_negatives, generator),
            _draw_from_counts(positives_in_part, drawn_positives, generator),
            weight,
        )

    columns = _columns_of_equal_cases(negatives_in_part, positives_in_part, weight)
    return _ReplicateSource(with_counts(keep_rows(cases, in_part), columns), redraw)


def _columns_of_equal_cases(
    negatives: Array, positives: Array, weight: float | None
) -> list[Array]:
    """Return columns of counts, with those of squares where cases have a weight."""
    columns = [negatives, positives, np.zeros_like(negatives)]
    if weight is None:
        return columns
    weights = [column * weight for column in columns]
    squares = [column * weight**2 for column in columns]
    return [*weights, *squares]


def _part_of_counts(counts: Array, rng: np.random.Generator) -> Array:
    """Return the counts of a random part of the cases of a class."""
    total = int(counts.sum())
    size = _part_size(total)
    if size == total:
        return counts
    if total > _MAX_LISTED:
        # among so many cases hardly any is drawn twice, so replacement does no harm
        return rng.multinomial(size, counts / total)

    chosen_cases = rng.choice(total, size, replace=False, shuffle=False)
    # case number c lies in the first row whose running count exceeds c
    rows = np.searchsorted(np.cumsum(counts), chosen_cases, side="right")
    return np.bincount(rows, minlength=counts.size)


def _draw_from_counts(counts: Array, n_draws: int, rng: np.random.Generator) -> Array:
    """Return how many of the cases drawn with replacement fall on each row."""
    drawn = np.zeros(counts.size, dtype=np.int64)
    rows = np.flatnonzero(counts)
    if rows.size:
        # rows without a case are left out, since they would cost as much as others
        probability = counts[rows] / counts[rows].sum()
        drawn[rows] = rng.multinomial(n_draws, probability)
    return drawn


def _source_of_weighted_cases(
    cases: Tally | Panel, rng: np.random.Generator
) -> _ReplicateSource:
    """Return a source of independent weighted cases, by the Bayesian bootstrap."""
    negative_factors = _expansion_factors(cases.neg, rng)
    positive_factors = _expansion_factors(cases.pos, rng)
    in_part = negative_factors + positive_factors > 0
    unlabelled_factors = np.zeros(len(cases))
    factors = (negative_factors, positive_factors, unlabelled_factors)

    # three columns of weights, then three of squared weights, by the same factors
    columns = [
        (column * factor)[in_part]
        for column, factor in zip(cases.counts, (*factors, *factors), strict=True)
    ]
    neg, pos, unlabelled, neg_squares, pos_squares, unlabelled_squares = columns

    def redraw(generator: np.random.Generator) -> list[Array]:
        """Return the columns of weights and of squares of one redrawn sample."""
        # one replicate of random weights, with the mean and variance of each row
        drawn_neg = gamma_draw(neg, neg_squares, 1, generator)[0]
        drawn_pos = gamma_draw(pos, pos_squares, 1, generator)[0]
        return [
            drawn_neg,
            drawn_pos,
            unlabelled,
            # a drawn weight keeps the ratio of square to weight of its row
            drawn_neg * _ratio(neg_squares, neg),
            drawn_pos * _ratio(pos_squares, pos),
            unlabelled_squares,
        ]

    return _ReplicateSource(with_counts(keep_rows(cases, in_part), columns), redraw)


def _expansion_factors(weights: Array, rng: np.random.Generator) -> Floats:
    """Draw a random part of the rows, and return how many rows each one stands for.

    Rows outside the part have the factor 0.
    """
    rows = np.flatnonzero(weights)
    size = _part_size(rows.size)
    factors = np.zeros(weights.size)
    if size:
        chosen_rows = rng.choice(rows, size, replace=False, shuffle=False)
        factors[chosen_rows] = rows.size / size
    return factors


def _ratio(squares: Array, weights: Array) -> Floats:
    """Return squares over weights; 0 where the weight is 0."""
    return np.divide(squares, weights, out=np.zeros(weights.size), where=weights > 0)


def _source_of_clusters(
    cases: Tally | Panel, clusters: Clusters, rng: np.random.Generator
) -> _ReplicateSource:
    """Return a source of whole clusters, or of a random part of them."""
    from scipy.sparse import csr_array  # clusters are small

    size = _part_size(clusters.number)
    chosen_clusters = rng.choice(clusters.number, size, replace=False, shuffle=False)
    in_part = np.zeros(clusters.number, dtype=bool)
    in_part[chosen_clusters] = True

    # a cell holds the cases of one cluster at one row: keep those of the part, and
    # number its clusters and rows from 0
    cells = in_part[clusters.code]
    number_in_part = np.cumsum(in_part) - 1
    codes = number_in_part[clusters.code[cells]]
    has_cells = np.zeros(len(cases), dtype=bool)
    has_cells[clusters.row[cells]] = True
    row_in_part = np.cumsum(has_cells) - 1
    rows = row_in_part[clusters.row[cells]]

    # one table for each column of counts: clusters by rows
    shape = (size, int(has_cells.sum()))
    tables = [
        csr_array((column[cells], (codes, rows)), shape=shape)
        for column in clusters.counts
    ]

    def redraw(generator: np.random.Generator) -> list[Array]:
        # Rao and Wu (1988): C - 1 of C clusters; the factor C / (C - 1) of all counts
        # does not change a statistic
        clusters_to_draw = max(clusters.number - 1, 1)
        equal_chances = np.full(size, 1 / size)
        times_drawn = generator.multinomial(clusters_to_draw, equal_chances)
        return [np.asarray(times_drawn @ table) for table in tables]

    columns = [np.asarray(table.sum(axis=0)) for table in tables]
    rows_of_part = keep_rows(with_counts(cases, cases.counts), has_cells)
    return _ReplicateSource(with_counts(rows_of_part, columns), redraw)
