"""Which probabilities were stated, and what happened?

``Forecasts`` are the labelled cases of the target population, in ascending order of
score. Neighbouring scores are pooled, or put into bins of equally many cases; rows of
tied scores are never split.
"""

from __future__ import annotations

import math

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import PythonCode
from trueness.counts.values import Tally
from trueness.inference.estimates import evaluate_measure
from trueness.inference.sample import MeasuredValue, Sample, apply_design
from trueness.inference.variance import Influence, VarianceEstimate

# curves are fitted to at most this many rows; neighbours of more are pooled
MAX_POOLED_ROWS = 1000

# weights with a smaller relative difference are equal
_EQUAL_WEIGHTS = 1e-12


def check_probabilities(data: Tally, name: str) -> Tally:
    """Return the data, which must have labels, and scores from 0 to 1."""
    _cases.some_labels(data, name)
    labelled = data.labelled()
    for scores in (labelled.score, labelled.high):
        # scores are in descending order, so both ends decide; there are none where all
        # labels are expected
        if scores.size and not (scores[-1] >= 0 and scores[0] <= 1):
            _columns.unit_scores(
                scores,
                name,
                "Calibrate them on other cases first.",
                example=PythonCode("t.map(trueness.calibrate(other_cases))"),
            )
    return data


class Forecasts:
    """Cases of the target population, ascending by score.

    Attributes
    ----------
    sample
        These cases beside those that were drawn.
    scale
        What a unit of weight counts: Kish's number of equal cases over the sum of
        weights, 1 of counts.
    score, pos, neg, cases : array (m,)
        Distinct scores, with the positives, negatives and cases there.
    """

    def __init__(self, data: Tally, name: str) -> None:
        self.sample = apply_design(check_probabilities(data, name), name)
        counts = self.sample.target_counts

        # counted cases have the scale 1, and stay whole numbers
        squares = sum(float(square.sum()) for square in counts.squares[:2])
        self.scale = float(counts.n_pos + counts.n_neg) / max(squares, 1e-300)

        self.score = counts.score[::-1]
        self.pos = self._ascending(counts.pos)
        self.neg = self._ascending(counts.neg)
        self.cases = self.pos + self.neg

    def _ascending(self, count: Array) -> Array:
        """Return effective numbers of cases, the lowest score first."""
        return count[::-1] if self.scale == 1 else count[::-1] * self.scale

    @property
    def n(self) -> float:
        """Return the effective number of cases."""
        return float(self.pos.sum() + self.neg.sum())

    @property
    def prevalence(self) -> float:
        """Return the proportion of positives."""
        return float(self.pos.sum()) / self.n

    @property
    def mean_score(self) -> float:
        """Return the mean of the stated probabilities."""
        return float(self.score @ self.cases) / self.n

    @property
    def is_simple_sample(self) -> bool:
        """Return whether cases are independent, of equal weight, and not reweighted."""
        observed = self.sample.observed
        if observed.grouped is not None:
            return False
        if self.sample.class_sizes_fixed or self.sample.imputation is not None:
            return False
        if not observed.weighted:
            return True

        # of n cases of equal weight w: n w^2 / (n w) = w
        neg_squares, pos_squares, _ = observed.squares
        has_neg = observed.neg > 0
        has_pos = observed.pos > 0
        weight_of_negatives = neg_squares[has_neg] / observed.neg[has_neg]
        weight_of_positives = pos_squares[has_pos] / observed.pos[has_pos]
        weight = np.concatenate([weight_of_negatives, weight_of_positives])
        return bool(np.ptp(weight) <= _EQUAL_WEIGHTS * weight.max())

    @property
    def refuted_certainties(self) -> bool:
        """Return whether a positive has the score 0, or a negative the score 1."""
        positives_at_zero = self.pos[self.score == 0]
        negatives_at_one = self.neg[self.score == 1]
        return bool(positives_at_zero.any() or negatives_at_one.any())

    def variance_of_sum(
        self, by_negative: Floats, by_positive: Floats
    ) -> VarianceEstimate:
        """Return the variance of a sum over cases, from what each case adds.

        The terms of a negative and of a positive are in ascending order of score.
        """
        return variance_of_sum(
            self.sample, by_negative[::-1] * self.scale, by_positive[::-1] * self.scale
        )


def variance_of_sum(
    sample: Sample[Tally], by_negative: Floats, by_positive: Floats
) -> VarianceEstimate:
    """Return the variance of a sum over cases, from what each case of a row adds."""
    influence = Influence(by_negative, by_positive)
    evaluated = evaluate_measure(sample, lambda _: MeasuredValue(math.nan, influence))
    return evaluated.variance_estimate


def effective_sample_size(forecasts: Forecasts, curve: Floats) -> float:
    """Return the number of independent cases that would vary as much about a curve."""
    cases = forecasts.n
    if forecasts.sample.observed.grouped is None:
        return cases

    # the variance of the mean residual: of these clusters, and of one independent case
    variance = forecasts.variance_of_sum(-curve / cases, (1 - curve) / cases).variance
    variance_of_case = float(forecasts.cases @ (curve * (1 - curve))) / cases
    if not (variance > 0 and variance_of_case > 0):
        return cases
    return min(cases, variance_of_case / variance)


def pool_rows(
    score: Floats, pos: Array, neg: Array, max_rows: int = MAX_POOLED_ROWS
) -> tuple[Floats, Array, Array]:
    """Return at most ``max_rows`` rows, by pooling neighbours at their mean score."""
    if score.size <= max_rows:
        return score, pos, neg

    cases = pos + neg
    start = equal_mass_bins(cases, max_rows)
    pooled_pos = np.add.reduceat(pos, start)
    pooled_neg = np.add.reduceat(neg, start)
    mean_score = np.add.reduceat(score * cases, start) / (pooled_pos + pooled_neg)
    return mean_score, pooled_pos, pooled_neg


def equal_mass_bins(mass: Array, bins: int) -> Array:
    """Return the first rows of bins with about equal mass, such as numbers of cases."""
    middle = np.cumsum(mass) - mass / 2
    bin_number = np.floor(middle * (bins / mass.sum()))
    return first_rows(bin_number)


def equal_width_bins(score: Floats, bins: int) -> Array:
    """Return the first rows of the bins (k/bins, (k+1)/bins] that hold cases."""
    inner_edges = np.arange(1, bins) / bins
    return first_rows(np.searchsorted(inner_edges, score, side="left"))


def first_rows(bin_number: Array) -> Array:
    """Return the rows at which the number of the bin changes."""
    return np.flatnonzero(np.diff(bin_number, prepend=-1))
