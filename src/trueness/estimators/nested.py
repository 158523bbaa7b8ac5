r"""Nested cross-validation (Bates, Hastie and Tibshirani 2023).

How far is a cross-validation from the model refitted on all cases? With K folds, a
model is trained without each fold, and without each pair of folds. Algorithm 1 of the
paper compares, for each outer fold j, the error of the models that were trained without
j with that of an inner cross-validation, which has never seen j.

Bates et al. treat means of losses. For areas, the error and the standard error of a
fold are those of its area. J. Am. Stat. Assoc. 119:1434.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, permutations
from typing import Any

import numpy as np

from trueness._core.arrays import Array
from trueness._core.progress import steps
from trueness._core.records import Estimate
from trueness.counts.values import Tally
from trueness.estimators.training import Split, TrainingData
from trueness.inference.estimates import estimate_from_variance, evaluate_measure
from trueness.inference.intervals import Ends
from trueness.inference.sample import Measure, apply_design
from trueness.inference.variance import VarianceEstimate, variance_of_mean


@dataclass(frozen=True)
class NamedMeasure:
    """A measure of counts, by the name that people read."""

    title: str
    measure: Measure


@dataclass(frozen=True)
class _Repeat:
    """What one repeat says of one measure.

    Attributes
    ----------
    inner, outer
        Means of the values by models without two folds, and without one.
    squared_error
        Mean squared difference of both in a fold, less the variance within folds.
    naive
        Variance of the mean over folds, as if they were independent.
    ends
        The smallest and the largest value that is possible.
    """

    inner: float
    outer: float
    squared_error: float
    naive: VarianceEstimate
    ends: Ends


def nested_cross_validation(
    data: TrainingData,
    model: Any,
    response: str,
    repeats: Sequence[Sequence[Split]],
    measures: Mapping[str, NamedMeasure],
    level: float,
) -> dict[str, Estimate]:
    """Estimate measures of the model refitted on all cases."""
    results: dict[str, list[_Repeat]] = {name: [] for name in measures}
    for splits in steps(repeats, "Nested cross-validation"):
        folds = [split.test for split in splits]
        tallies = _tallies_without_two_folds(data, model, response, folds)
        for name, named_measure in measures.items():
            results[name].append(
                _evaluate_repeat(tallies, len(folds), named_measure.measure)
            )

    number_of_folds = len(repeats[0])

    return {
        name: _combine_repeats(
            results[name], number_of_folds, named_measure.title, level
        )
        for name, named_measure in measures.items()
    }


def _tallies_without_two_folds(
    data: TrainingData, model: Any, response: str, folds: Sequence[Array]
) -> dict[tuple[int, int], Tally]:
    """Return, at (i, j), the counts of fold i by a model trained without i and j.

    At (j, j) the model was trained without fold j alone.
    """
    all_cases = np.arange(len(data.labels))
    tallies = {}
    for i, j in combinations_with_replacement(range(len(folds)), 2):
        cases_left_out = np.concatenate([folds[i], folds[j]])
        training_cases = np.setdiff1d(all_cases, cases_left_out)
        trained_model = data.fit(model, training_cases)
        # a model without two folds serves either of them
        for test_fold, also_left_out in {(i, j), (j, i)}:
            split = Split(training_cases, folds[test_fold])
            score = data.score(trained_model, response, split)
            tallies[test_fold, also_left_out] = data.count_tally(
                score, folds[test_fold]
            )

    return tallies


def _evaluate_repeat(
    tallies: Mapping[tuple[int, int], Tally], number_of_folds: int, measure: Measure
) -> _Repeat:
    """Return the numbers of algorithm 1 for one repeat."""
    outer_folds = [
        evaluate_measure(apply_design(tallies[j, j]), measure)
        for j in range(number_of_folds)
    ]
    outer = np.array([fold.value for fold in outer_folds])

    # of the folds beside j, by models that were trained without j
    inner_values = np.full((number_of_folds, number_of_folds), np.nan)
    for i, j in permutations(range(number_of_folds), 2):
        counts = apply_design(tallies[i, j]).target_counts
        inner_values[i, j] = measure(counts).value

    inner = np.nanmean(inner_values, axis=0)

    variances = [fold.variance_estimate for fold in outer_folds]
    within_folds = np.mean([estimate.variance for estimate in variances])
    return _Repeat(
        inner=float(inner.mean()),
        outer=float(outer.mean()),
        squared_error=float(np.mean((inner - outer) ** 2) - within_folds),
        naive=variance_of_mean(variances),
        ends=outer_folds[0].ends,
    )


def _combine_repeats(
    repeats: Sequence[_Repeat], number_of_folds: int, title: str, level: float
) -> Estimate:
    """Average over repeats: value (sec. 4.4) and variance (sec. 4.3)."""
    k = number_of_folds
    inner = float(np.mean([repeat.inner for repeat in repeats]))
    outer = float(np.mean([repeat.outer for repeat in repeats]))
    squared_error = float(np.mean([repeat.squared_error for repeat in repeats]))
    naive_variance = float(np.mean([repeat.naive.variance for repeat in repeats]))

    # kept between the variance of independent folds and that of one fold
    variance = min(max((k - 1) / k * squared_error, naive_variance), k * naive_variance)

    # models of nested folds see fewer cases; the difference is carried on to all
    lowest, highest = repeats[0].ends
    value = inner - (1 + (k - 2) / k) * (inner - outer)
    value = min(max(value, lowest), highest)

    variance_estimate = replace(
        repeats[0].naive, variance=variance, uncorrected_variance=variance
    )
    return estimate_from_variance(
        value, variance_estimate, repeats[0].ends, level, title
    )
