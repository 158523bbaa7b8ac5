r"""Labels of cases that were drawn by score: a stratified sample.

Within each band of scores, some of the N cases were drawn at random and labelled. A
labelled case stands for N / n cases of its band (Horvitz and Thompson 1952). With the
influence u of a labelled case on the value, the variance of the drawing is

.. math:: V = \sum_b N_b^2 \Big(\frac{1}{n_b} - \frac{1}{N_b}\Big) s_b^2

with :math:`s_b^2` the variance of u within a band (Neyman 1934). That is the variance
for these very cases; the process adds that of N cases which are all labelled.

References
----------
Neyman (1934), J. R. Stat. Soc. 97:558, doi:10.2307/2342192; Horvitz, Thompson (1952),
J. Am. Stat. Assoc. 47:663; Cochran (1977), Sampling Techniques, section 5
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from trueness._core.arrays import Floats, Ints
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.numbers import number_of
from trueness.counts.expected_labels import THESE_CASES, LabelSample
from trueness.counts.values import Tally, tally_of_rows
from trueness.inference.variance import Influence, VarianceEstimate

# observed and expected positives that differ by more standard errors have a note
_DISAGREES = 1.96


@dataclass(frozen=True)
class StratifiedCounts:
    """Labelled cases with the weight of their band.

    Attributes
    ----------
    expected
        Weighted counts, which stand for all cases.
    observed
        The counts as they were drawn.
    band : array (m,)
        The band of each row.
    labelled : array (number of bands,)
        How many cases of each band have a label.
    sample
        The bands, with their numbers of cases.
    """

    expected: Tally
    observed: Tally
    band: Ints
    labelled: Floats
    sample: LabelSample

    def influence_of_cases(self, influence: Influence) -> Influence:
        """Return influence values of zero: ``add_error_of_map`` adds the variance."""
        constant = np.zeros(len(self.observed))
        return replace(
            influence,
            by_negative=constant,
            by_positive=constant,
            by_unlabelled=None,
        )

    def add_error_of_map(
        self, estimate: VarianceEstimate, influence: Influence
    ) -> VarianceEstimate:
        """Return the variance of a value in a stratified sample."""
        by_negative = np.asarray(influence.by_negative)
        by_positive = np.asarray(influence.by_positive)
        sizes = self.sample.sizes
        n_labelled = np.maximum(self.labelled, 1.0)

        means = self._sum_by_band(by_negative, by_positive) / n_labelled
        squares = self._sum_by_band(by_negative**2, by_positive**2)

        # rounding must not leave a negative sum of squares
        squared_deviations = np.maximum(squares - n_labelled * means**2, 0.0)
        within = squared_deviations / np.maximum(n_labelled - 1, 1.0)

        # Neyman (1934): the variance that each band adds
        parts = sizes**2 * (1 / n_labelled - 1 / np.maximum(sizes, n_labelled)) * within
        variance = float(parts.sum())
        if self.sample.target != THESE_CASES:
            # the process adds the variance of all cases, as if each had a label
            variance += float(sizes / n_labelled @ squares)

        # Satterthwaite (1946) over bands, each with n - 1 degrees of freedom
        # half the variance of each part, as of a chi-squared variable
        half_variances = parts**2 / np.maximum(n_labelled - 1, 1.0)
        degrees_of_freedom = math.inf
        if half_variances.sum() > 0:
            degrees_of_freedom = variance**2 / float(half_variances.sum())
        return replace(
            estimate,
            variance=variance,
            degrees_of_freedom=max(degrees_of_freedom, 1.0),
            uncorrected_variance=variance,
            units=float(min(self.observed.n_neg, self.observed.n_pos)),
            constant_class_sizes=(),
        )

    def _sum_by_band(self, of_negative: Floats, of_positive: Floats) -> Floats:
        """Return sums over the labelled cases of each band."""
        values = self.observed.neg * of_negative + self.observed.pos * of_positive
        return np.bincount(self.band, values, self.sample.sizes.size).astype(np.float64)


def weigh_bands(tally: Tally) -> StratifiedCounts:
    """Return labelled cases, each with the weight of its band of scores."""
    sample = tally.design.unlabelled
    assert isinstance(sample, LabelSample)  # noqa: S101 - its callers saw to it
    drawn = tally.without_design().labelled()
    band = sample.band_of(drawn.score)
    labelled = np.bincount(band, drawn.neg + drawn.pos, sample.sizes.size)
    bands_without_labels = int(((labelled == 0) & (sample.sizes > 0)).sum())
    if bands_without_labels:
        raise NotEnoughCases(
            f"Each band of scores needs labels; {bands_without_labels} of "
            f"{sample.sizes.size} bands have none. Label the cases that the plan drew "
            "there."
        )

    # the inverse of the probability to be drawn (Horvitz and Thompson 1952)
    weight_of_band = sample.sizes / np.maximum(labelled, 1.0)
    weight = weight_of_band[band]
    counts = [drawn.neg * weight, drawn.pos * weight, np.zeros(len(drawn))]
    # expected cases have the weight 1: the squares of weights add up to their number
    return StratifiedCounts(
        expected=tally_of_rows(drawn.score, *counts, *counts),
        observed=drawn,
        band=band,
        labelled=labelled.astype(np.float64),
        sample=sample,
    )


def notes_on_label_sample(tally: Tally) -> list[str]:
    """Return notes on how cases were drawn, and on labels that contradict the map."""
    counts = weigh_bands(tally)
    total = float(counts.sample.sizes.sum())
    population = "the process that drew them"
    if counts.sample.target == THESE_CASES:
        population = "these very cases"
    notes = [
        f"{number_of(float(counts.labelled.sum()))} of {number_of(total)} cases were "
        f"drawn by score and labelled: a stratified sample of "
        f"{counts.sample.sizes.size} bands. The answer is about {population}."
    ]
    if counts.sample.map is not None:
        notes += _notes_on_contradiction(counts)
    return notes


def _notes_on_contradiction(counts: StratifiedCounts) -> list[str]:
    """Return a note where observed and expected numbers of positives disagree."""
    observed = counts.observed
    chances = np.asarray(counts.sample.map(observed.score), np.float64)
    weight_of_band = counts.sample.sizes / np.maximum(counts.labelled, 1.0)
    weight = weight_of_band[counts.band]
    observed_total = float(counts.expected.n_pos)
    expected = float((weight * (observed.neg + observed.pos)) @ chances)

    # the squared residual of a label from its probability, added up by row
    residual_squares = observed.pos * (1 - chances) ** 2 + observed.neg * chances**2
    variance = float(weight**2 @ residual_squares)
    if abs(observed_total - expected) <= _DISAGREES * math.sqrt(variance):
        return []

    return [
        f"The labels contradict the map: {observed_total:,.0f} positives were found, "
        f"but it expects {expected:,.0f}. P(label | score) has changed; fit "
        "the map again."
    ]
