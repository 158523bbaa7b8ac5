r"""Predictive values of two tests on the same cases: published score tests.

Flagged cases of two tests overlap, but are not the same, so McNemar's test does not
compare their PPV. Leisenring, Alonzo and Pepe (2000) regress the condition on which of
two tests was positive, with one row for each positive result, and test the slope by a
score. Kosinski (2013) weights the same score, so that its variance is that of the
difference of both PPV. For the NPV, negative results and their negatives take the place
of positive ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness.counts.values import Panel

PREDICTIVE_VALUES = ("precision", "npv")
PREDICTIVE_VALUE_TESTS = ("leisenring", "kosinski")


@dataclass(frozen=True)
class _PairedResults:
    """The results of two tests in a predictive value, by row of the panel.

    Attributes
    ----------
    right, wrong : array
        Number of cases whose condition agrees with the result, and of all others.
    by_first, by_second : array of bool
        Which rows have the result by each test.
    """

    right: Floats
    wrong: Floats
    by_first: Array
    by_second: Array

    @property
    def first_results(self) -> float:
        return float((self.right + self.wrong)[self.by_first].sum())

    @property
    def second_results(self) -> float:
        return float((self.right + self.wrong)[self.by_second].sum())

    @property
    def pooled_value(self) -> float:
        """Return the predictive value of all results of both tests together."""
        right = float(self.right[self.by_first].sum())
        right += float(self.right[self.by_second].sum())
        return right / (self.first_results + self.second_results)


def score_statistic(
    panel: Panel, metric_name: str, first: int, second: int, method: str
) -> float:
    """Return the signed root of a score statistic of equal predictive values.

    NaN where a test has no such result, 0 where no case distinguishes the tests.
    """
    results = _paired_results(panel, metric_name, first, second)
    if not (results.first_results > 0 and results.second_results > 0):
        return math.nan

    scores = {"leisenring": _leisenring_score, "kosinski": _kosinski_score}
    score, variance = scores[method](results)
    if not variance > 0:
        return 0.0
    return score / math.sqrt(variance)


def _paired_results(
    panel: Panel, metric_name: str, first: int, second: int
) -> _PairedResults:
    """Return positive results for the PPV, negative ones for the NPV."""
    is_precision = metric_name == "precision"
    flagged = panel.rows == 1
    has_result = flagged if is_precision else ~flagged
    positives = panel.pos.astype(np.float64)
    negatives = panel.neg.astype(np.float64)
    return _PairedResults(
        right=positives if is_precision else negatives,
        wrong=negatives if is_precision else positives,
        by_first=has_result[:, first],
        by_second=has_result[:, second],
    )


def _leisenring_score(results: _PairedResults) -> tuple[float, float]:
    r"""Return the score of Leisenring, Alonzo and Pepe, and its variance.

    .. math:: U_i = (D_i - \bar D) \sum_j (Z_{ij} - \bar Z), \qquad
              V = \sum_i U_i^2

    over the results j of case i; :math:`Z_{ij}` is 1 for a result of the first test.
    """
    proportion_of_first = results.first_results / (
        results.first_results + results.second_results
    )
    # the sum over the results of a case of each row
    contrast = results.by_first * (1 - proportion_of_first)
    contrast = contrast - results.by_second * proportion_of_first
    pooled = results.pooled_value

    score_if_right = (1 - pooled) * contrast
    score_if_wrong = -pooled * contrast
    score = results.right @ score_if_right + results.wrong @ score_if_wrong
    variance = results.right @ score_if_right**2 + results.wrong @ score_if_wrong**2
    return float(score), float(variance)


def _kosinski_score(results: _PairedResults) -> tuple[float, float]:
    r"""Return the difference of predictive values, and Kosinski's variance of it.

    .. math:: V = \big(\bar p (1 - \bar p) - 2 C\big)
              \Big(\frac{1}{n_1} + \frac{1}{n_2}\Big), \qquad
              C = \frac{r_{12} (1 - \bar p)^2 + w_{12}\,\bar p^2}{n_1 + n_2}

    with the numbers r and w of right and wrong cases that have this result by both
    tests.
    """
    n_first = results.first_results
    n_second = results.second_results
    pooled = results.pooled_value
    by_both = results.by_first & results.by_second
    right_by_both = float(results.right[by_both].sum())
    wrong_by_both = float(results.wrong[by_both].sum())

    # C of the formula: cases with this result by both tests count in both values
    covariance = right_by_both * (1 - pooled) ** 2 + wrong_by_both * pooled**2
    covariance /= n_first + n_second
    # V of the formula
    variance = pooled * (1 - pooled) - 2 * covariance
    variance *= 1 / n_first + 1 / n_second

    first_value = float(results.right[results.by_first].sum()) / n_first
    second_value = float(results.right[results.by_second].sum()) / n_second
    return first_value - second_value, variance
