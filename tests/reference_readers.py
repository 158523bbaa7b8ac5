"""Obuchowski and Rockette's analysis of a reader study, written out in loops.

From the formulas of Hillis (2014), doi:10.1002/sim.5926, for tests; it knows nothing of
the package.
"""

from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import pandas as pd


class Reading(NamedTuple):
    """What one reader said with one treatment."""

    case: np.ndarray
    is_positive: np.ndarray
    score: np.ndarray


class Covariances(NamedTuple):
    """Mean variance of an area, and mean covariances of two of them."""

    variance: float
    same_reader: float  # Cov1: other treatment
    same_treatment: float  # Cov2: other reader
    neither: float  # Cov3


class MeanSquare(NamedTuple):
    """A mean square with its degrees of freedom."""

    value: float
    df: int


class SlowStudy(NamedTuple):
    """The F test of all treatments, and (difference, standard error, df) of pairs."""

    statistic: float
    df: float
    pairs: list


def slow_study(data, fixed=None, pairs_of="own"):
    """Analyse a study; with ``pairs_of="pooled"`` pairs share the denominator of F."""
    readings = readings_of(data)
    areas = {key: area(reading) for key, reading in readings.items()}
    covariances = mean_covariances(readings, areas)

    by_treatment = {}
    for (treatment, reader), value in areas.items():
        by_treatment.setdefault(treatment, {})[reader] = value
    readers_of = {t: len(values) for t, values in by_treatment.items()}
    means = {t: np.mean(list(values.values())) for t, values in by_treatment.items()}
    grand_mean = np.mean(list(areas.values()))

    all_readers = {reader for _, reader in readings}
    crossed = all(len(all_readers) == number for number in readers_of.values())
    if crossed:
        readers = len(all_readers)
        error = interaction_mean_square(by_treatment, means, grand_mean)
    else:
        readers = mean_number_of_readers(readers_of)
        error = within_mean_square(by_treatment, means)

    def denominator(number_of_readers):
        """Return the variance of a treatment's mean times readers, and its df."""
        excess = covariances.same_treatment - covariances.neither
        if fixed == "readers":
            shared = covariances.same_reader if crossed else covariances.neither
            known = covariances.variance - shared + (number_of_readers - 1) * excess
            return known, np.inf

        total = error.value
        if fixed != "cases":
            total = error.value + number_of_readers * max(excess, 0)
        return total, total**2 / (error.value**2 / error.df)

    pairs = []
    for first, second in combinations(by_treatment, 2):
        harmonic_mean = 2 / (1 / readers_of[first] + 1 / readers_of[second])
        total, df = denominator(readers if pairs_of == "pooled" else harmonic_mean)
        difference = means[first] - means[second]
        pairs.append((difference, np.sqrt(2 * total / harmonic_mean), df))

    ms_treatment = treatment_mean_square(readers_of, means, grand_mean)
    total, df = denominator(readers)
    return SlowStudy(ms_treatment / total, df, pairs)


def readings_of(data):
    """Return the reading of each treatment and reader."""
    return {
        key: Reading(
            group["case"].to_numpy(),
            group["label"].to_numpy() == 1,
            group["score"].to_numpy(),
        )
        for key, group in pd.DataFrame(data).groupby(["treatment", "reader"])
    }


def treatment_mean_square(readers_of, means, grand_mean):
    """Return the mean square of treatments, each weighted by its readers."""
    squares = sum(
        number * (means[t] - grand_mean) ** 2 for t, number in readers_of.items()
    )
    return squares / (len(readers_of) - 1)


def mean_number_of_readers(readers_of):
    """Return the number of readers that stands in F where treatments differ in it."""
    total = sum(readers_of.values())
    squares = sum(number**2 for number in readers_of.values())
    return (total - squares / total) / (len(readers_of) - 1)


def area(reading, without=None):
    """Return the area under the ROC curve, pair by pair, without one case."""
    remains = reading.case != without
    positives = reading.score[reading.is_positive & remains]
    negatives = reading.score[~reading.is_positive & remains]
    wins = [np.mean(p > negatives) + np.mean(p == negatives) / 2 for p in positives]
    return np.mean(wins)


def mean_covariances(readings, areas):
    """Return the jackknife's covariances, averaged over kinds of pairs."""
    cases = np.unique(np.concatenate([reading.case for reading in readings.values()]))
    left_out = [
        [
            area(reading, case) if case in reading.case else areas[key]
            for key, reading in readings.items()
        ]
        for case in cases
    ]
    n = len(cases)
    covariance = (n - 1) ** 2 / n * np.cov(np.array(left_out).T)

    by_kind = {kind: [] for kind in product((True, False), repeat=2)}
    for (i, first), (j, second) in product(enumerate(readings), repeat=2):
        same_treatment = first[0] == second[0]
        same_reader = first[1] == second[1]
        shared = set(readings[first].case) & set(readings[second].case)
        by_kind[same_treatment, same_reader].append(covariance[i, j] if shared else 0.0)

    def mean(same_treatment, same_reader):
        values = by_kind[same_treatment, same_reader]
        return np.mean(values) if values else 0.0

    return Covariances(
        variance=mean(True, True),
        same_reader=mean(False, True),
        same_treatment=mean(True, False),
        neither=mean(False, False),
    )


def interaction_mean_square(by_treatment, means, grand_mean):
    """Return the mean square of reader by treatment of a crossed study."""
    treatments = list(by_treatment)
    readers = list(by_treatment[treatments[0]])
    means_of_readers = {
        reader: np.mean([by_treatment[t][reader] for t in treatments])
        for reader in readers
    }
    squares = 0.0
    for t, reader in product(treatments, readers):
        expected = means[t] + means_of_readers[reader] - grand_mean
        squares += (by_treatment[t][reader] - expected) ** 2
    df = (len(treatments) - 1) * (len(readers) - 1)
    return MeanSquare(squares / df, df)


def within_mean_square(by_treatment, means):
    """Return the mean square of readers within treatments."""
    squares = 0.0
    for t, values in by_treatment.items():
        squares += sum((value - means[t]) ** 2 for value in values.values())
    df = sum(len(values) for values in by_treatment.values()) - len(by_treatment)
    return MeanSquare(squares / df, df)
