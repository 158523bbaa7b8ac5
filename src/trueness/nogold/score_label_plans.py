r"""Label plans by score: how many cases of each band of scores should be labelled?

Bands are made by the cumulative root of the variance of an expected label (Dalenius and
Hodges 1959), with the threshold as one more border. Of all labels, a band gets its part
by Neyman's allocation (1934),

.. math:: n_b \propto N_b S_b, \qquad
          S_b^2 = \operatorname{mean}_b\big[g(1-g)(h_+ - h_-)^2 + (l - \bar l_b)^2\big]

with the expected labels g, the influence values h of the metric and
:math:`l = g h_+ + (1 - g) h_-`. A band has at least five labels, and at most its cases;
what it cannot take goes to the other bands (Cochran 1977, section 5.8).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from scipy.special import expit, logit, ndtri

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases, PythonCode
from trueness._core.numbers import counted, number_of, percent
from trueness._core.records import Record, native_frame
from trueness.counts.expected_labels import THESE_CASES, ExpectedLabels, LabelSample
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally, tally_of_rows
from trueness.inference.expected_counts import ExpectedCounts, expect_labels
from trueness.inference.sample import MeasuredValue
from trueness.metrics.algebra import Metric
from trueness.metrics.grammar import metric as read_metric
from trueness.metrics.intervals import metric_measure
from trueness.ranking.areas import auc_measure

# bands of the cumulative root, each cut once more at the threshold
_BANDS = 8
# fewer labels of a band do not show its variance
_FEWEST_LABELS = 5
# numbers of labels are searched in steps of some two per cent
_STEPS = 400
# fewer flagged cases are mentioned: their labels alone decide the metric
_FEW_FLAGGED = 10


@final
@dataclass(frozen=True, repr=False, eq=False)
class ScoreLabelPlan(Record):
    """Numbers of cases to label in each band of scores, and how to draw them.

    Attributes
    ----------
    low, high : array
        The range of scores of each band, the highest band first.
    cases, labels : array
        Number of unlabelled cases in each band, and number of them to label.
    value : float
        The value of the metric that the map expects.
    half_width : float
        Expected half-width of the interval of the metric with these labels.
    sample : LabelSample
        The bands, to be stated as ``unlabelled=`` once the labels are there.
    notes : tuple of str
        What was assumed.
    """

    low: Floats
    high: Floats
    cases: Ints
    labels: Ints
    value: float
    half_width: float
    sample: LabelSample
    notes: tuple[str, ...]

    @property
    def total(self) -> int:
        """Return the number of labels in all."""
        return int(self.labels.sum())

    def draw(self, score: Any, *, rng: Seed = 0) -> DrawnCases:
        """Return the cases to label, at random within each band.

        ``score`` is the score of each case that has no label yet.
        """
        scores = np.asarray(score, np.float64)
        # bands of the sample ascend, those of the table descend
        band = self.sample.sizes.size - 1 - self.sample.band_of(scores)
        generator = _options.generator(rng)

        drawn_cases = []
        for band_number, labels in enumerate(self.labels.tolist()):
            members = np.flatnonzero(band == band_number)
            drawn_cases.append(
                generator.permutation(members)[: min(labels, members.size)]
            )

        index = np.sort(np.concatenate(drawn_cases)).astype(np.int64)

        sizes = np.bincount(band, minlength=self.labels.size)
        drawn = np.bincount(band[index], minlength=self.labels.size)
        probability = drawn / np.maximum(sizes, 1)

        return DrawnCases(index, band[index], probability[band[index]])

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each band."""
        columns = {
            "low": self.low,
            "high": self.high,
            "cases": self.cases,
            "labels": self.labels,
        }
        return native_frame(columns, backend)

    def __repr__(self) -> str:
        """One line for each band, then what was assumed."""
        lines = [
            f"{counted(self.total, 'label')} for an interval of ± "
            f"{self.half_width:.3f} about an expected {self.value:.3f}"
        ]
        for low, high, cases, labels in zip(
            self.low, self.high, self.cases, self.labels, strict=True
        ):
            lines.append(f"  scores {low:.4g} to {high:.4g}: {labels:,} of {cases:,}")

        return "\n".join([*lines, *(f"  Note: {note}" for note in self.notes)])


@dataclass(frozen=True)
class DrawnCases:
    """Cases to label: their places, their stratum, and how probable their draw was."""

    index: Ints
    stratum: Ints
    probability: Floats


class _Bands(NamedTuple):
    """The band of each row, descending by score, and the sizes of the bands."""

    of_row: Ints
    sizes: Floats
    low: Floats
    high: Floats


class _PlannedLabels(NamedTuple):
    """The labels of each band, and the half-width that they reach."""

    labels: Array
    half_width: float

    @property
    def total(self) -> int:
        """Return the number of labels of all bands."""
        return int(self.labels.sum())


def plan_by_score(
    tally: Tally,
    metric: str,
    *,
    threshold: float,
    half_width: float | None,
    labels: int | None,
    level: float,
    assurance: float,
) -> ScoreLabelPlan:
    """Return how many cases of each band to label for one metric."""
    expected = _expected_labels(tally)
    planned_metric = _PlannedMetric(metric, threshold)
    bands = _make_bands(expected, threshold)
    about_these_cases = expected.labels.target == THESE_CASES

    plans = []
    # the map may be off as far as its error lets it: the largest plan is taken
    for shift in _shifts_of_map(expected, assurance):
        chances = np.asarray(expit(_log_odds(expected.chances) + shift))
        band_variances = _band_variances(expected, chances, bands, planned_metric)
        plan = _Allocation(
            bands,
            band_variances,
            assurance,
            level,
            include_drawing=not about_these_cases,
        )

        if labels is not None:
            labels_of_bands = plan.allocate(labels)
        else:
            assert half_width is not None  # noqa: S101 - its caller saw to it
            labels_of_bands = plan.smallest(half_width)

        plans.append(_PlannedLabels(labels_of_bands, plan.half_width(labels_of_bands)))

    largest = max(plans, key=lambda plan: (plan.total, plan.half_width))

    sample = LabelSample(
        edges=bands.low[::-1][1:],
        sizes=bands.sizes[::-1],
        target=expected.labels.target,
        map=expected.labels.map,
    )

    return ScoreLabelPlan(
        low=bands.low,
        high=bands.high,
        cases=bands.sizes.astype(np.int64),
        labels=largest.labels.astype(np.int64),
        value=float(planned_metric(expected.expected).value),
        half_width=largest.half_width,
        sample=sample,
        notes=(
            f"Labels are allocated for {metric} after Neyman, by the labels that the "
            "map expects.",
            *_notes_on_half_width(expected, planned_metric, assurance),
        ),
    )


def _notes_on_half_width(
    expected: ExpectedCounts, planned_metric: _PlannedMetric, assurance: float
) -> tuple[str, ...]:
    """Return how surely the half-width is kept; with few flagged cases it is not."""
    unknown = np.asarray(expected.observed.unknown, np.float64)
    flagged = float(unknown[expected.observed.score >= planned_metric.threshold].sum())
    if planned_metric.metric is None or flagged >= _FEW_FLAGGED:
        return (
            f"Draw the cases at random within each stratum; {percent(assurance)} of "
            "such samples reach this half-width if the map is right.",
        )

    # the interval of a proportion of few cases depends on the positives among them
    return (
        f"Only {number_of(flagged)} of {number_of(float(unknown.sum()))} cases score "
        f"{planned_metric.threshold:g} or more, so the half-width varies between "
        "samples. Is this the threshold in use?",
        "Draw the cases at random within each band.",
    )


def _expected_labels(tally: Tally) -> ExpectedCounts:
    """Return the expected labels of a tally, or say what is needed."""
    labels = tally.design.unlabelled
    if not tally.labels_expected or not isinstance(labels, ExpectedLabels):
        raise InputError(
            "A plan by score needs cases without labels, and a calibration map that "
            "gives the probability of each label.",
            option="unlabelled",
            example=PythonCode("map"),
        )

    only_unknown = tally.without_labels() if tally.n_pos + tally.n_neg else tally
    return expect_labels(only_unknown)


class _PlannedMetric:
    """A metric at a threshold, or the AUC, of expected counts."""

    def __init__(self, name: str, threshold: float) -> None:
        self.name = name
        self.threshold = threshold
        self.metric: Metric | None = None if name == "auc" else read_metric(name)

    def __call__(self, counts: Tally) -> MeasuredValue:
        if self.metric is None:
            return auc_measure(counts)
        return metric_measure(self.metric, counts.score >= self.threshold, counts)


def _log_odds(chances: Floats) -> Floats:
    return np.asarray(logit(np.clip(chances, 1e-12, 1 - 1e-12)))


def _shifts_of_map(expected: ExpectedCounts, assurance: float) -> list[float]:
    """Return how far all log odds may be off, by the error of the map."""
    variance_of_label = expected.chances * (1 - expected.chances)
    unknown = np.asarray(expected.observed.unknown, np.float64)
    # how much the log odds of each case move the number of positives: p (1 - p)
    weights = unknown * variance_of_label
    weights = weights / max(float(weights.sum()), 1e-300)
    variance = expected.labels.map.error_variance(expected.observed.score, weights)
    # a map that does not know its error is taken as it is
    if not math.isfinite(variance):
        return [0.0]

    error = float(ndtri(assurance)) * math.sqrt(variance)
    return [-error, 0.0, error]


def _make_bands(expected: ExpectedCounts, threshold: float) -> _Bands:
    """Return bands with equal parts of the cumulative root of the label variance."""
    score = expected.observed.score
    unknown = np.asarray(expected.observed.unknown, np.float64)

    # Dalenius and Hodges (1959): bands of equal sums of the standard deviation need
    # the fewest labels
    label_sd = np.sqrt(expected.chances * (1 - expected.chances))
    cumulative_sd = np.cumsum(unknown * label_sd)
    part = (_BANDS * cumulative_sd / cumulative_sd[-1]).astype(np.int64)
    part = np.minimum(part, _BANDS - 1)  # the last row belongs to the last band

    # the threshold is a border, too
    part_and_side = 2 * part + (score < threshold)
    band = np.unique(part_and_side, return_inverse=True)[1].reshape(-1)
    starts = np.flatnonzero(np.diff(band, prepend=-1))
    ends = np.append(starts[1:] - 1, band.size - 1)

    return _Bands(
        of_row=band,
        sizes=np.bincount(band, unknown).astype(np.float64),
        low=score[ends],
        high=score[starts],
    )


class _BandVariances(NamedTuple):
    """Variances that labels of each band have to reduce, and the part of the cases."""

    sum_of_squares: Floats  # N times the sum of squared deviations within the band
    label_variance: Floats  # the sum of g (1 - g)
    variance_of_cases: float  # the variance if every case had a label


def _band_variances(
    expected: ExpectedCounts,
    chances: Floats,
    bands: _Bands,
    planned_metric: _PlannedMetric,
) -> _BandVariances:
    """Return the variance within each band that labels have to find."""
    unknown = np.asarray(expected.observed.unknown, np.float64)
    positives = unknown * chances
    negatives = unknown - positives
    counts = [negatives, positives, np.zeros(unknown.size)]
    # expected cases have the weight 1: the squares of weights add up to their number
    expected_cases = tally_of_rows(expected.observed.score, *counts, *counts)

    influence = planned_metric(expected_cases).influence
    by_positive = np.asarray(influence.by_positive)
    by_negative = np.asarray(influence.by_negative)

    # the variance of a case's influence: of its label, and of its mean within the band
    label_variance = chances * (1 - chances)
    of_label = label_variance * (by_positive - by_negative) ** 2
    mean = chances * by_positive + (1 - chances) * by_negative
    band_mean = np.bincount(bands.of_row, unknown * mean) / bands.sizes
    of_mean = (mean - band_mean[bands.of_row]) ** 2
    # a label varies about its probability, and probabilities within the band
    within = np.bincount(bands.of_row, unknown * (of_label + of_mean))

    labels_in_bands = np.bincount(bands.of_row, unknown * chances * (1 - chances))
    return _BandVariances(
        sum_of_squares=np.asarray(bands.sizes * within),
        label_variance=labels_in_bands.astype(np.float64),
        variance_of_cases=float(
            positives @ by_positive**2 + negatives @ by_negative**2
        ),
    )


class _Allocation:
    """Numbers of labels of each band, and the half-width that they lead to."""

    def __init__(
        self,
        bands: _Bands,
        band_variances: _BandVariances,
        assurance: float,
        level: float,
        *,
        include_drawing: bool,
    ) -> None:
        self.sizes = bands.sizes
        self.band_variances = band_variances
        self.quantile = float(ndtri((1 + level) / 2))
        self.assurance_quantile = float(ndtri(assurance))
        self.fixed_variance = (
            band_variances.variance_of_cases if include_drawing else 0.0
        )

    def allocate(self, total: float) -> Array:
        """Return Neyman's allocation of so many labels, within what bands can take."""
        # not at the top: it takes 0.15 s to load, and few commands plan labels
        from scipy.optimize import brentq

        fewest = np.minimum(self.sizes, _FEWEST_LABELS)
        number_of_labels = round(min(max(total, fewest.sum()), self.sizes.sum()))
        deviation = np.sqrt(self.band_variances.sum_of_squares)
        # a band without deviations takes labels last, once the others are full
        deviation = np.maximum(deviation, 1e-9 * max(float(deviation.max()), 1e-300))

        def excess_of_labels(scale: float) -> float:
            parts = np.clip(scale * deviation, fewest, self.sizes)
            return float(parts.sum() - number_of_labels)

        # the scale at which bounded parts add up to all labels
        scale = brentq(excess_of_labels, 0.0, float((self.sizes / deviation).max()))
        parts = np.clip(scale * deviation, fewest, self.sizes)
        return _round_to_total(parts, number_of_labels)

    def half_width(self, labels: Array) -> float:
        """Return the half-width that samples keep with the stated assurance."""
        # Neyman (1934): N^2 S^2 (1 / n - 1 / N) of each band
        parts = self.band_variances.sum_of_squares * (1 / labels - 1 / self.sizes)
        variance = max(float(parts.sum()), 1e-300)
        # a variance p (1 - p) from n labels has a relative error of about 1 / sqrt(n p)
        squared_error_of_band = (
            self.sizes / labels / np.maximum(self.band_variances.label_variance, 1e-9)
        )
        relative_error = math.sqrt(float(parts**2 @ squared_error_of_band)) / variance
        upper_variance = variance * math.exp(self.assurance_quantile * relative_error)

        return self.quantile * math.sqrt(upper_variance + self.fixed_variance)

    def smallest(self, half_width: float) -> Array:
        """Return the fewest labels that keep the half-width."""
        for total in np.geomspace(10, 2 * self.sizes.sum(), _STEPS):
            labels = self.allocate(total)
            if self.half_width(labels) <= half_width:
                return labels

        raise NotEnoughCases(
            f"With all of {self.sizes.sum():,.0f} cases labelled the interval is still "
            f"± {self.half_width(self.sizes):.3f}, more than {half_width:g}. Take more "
            'cases, or ask about "these cases".',
            option="half_width",
        )


def _round_to_total(parts: Floats, total: int) -> Array:
    """Return whole numbers with this sum: the largest fractions are rounded up."""
    # a hair above a whole number, by the error of the solver, is that number
    labels = np.floor(parts + 1e-6)
    lacking = max(total - int(labels.sum()), 0)
    fraction = parts - labels
    rounded_up = np.argsort(-fraction, kind="stable")[:lacking]
    labels[rounded_up] += 1
    return labels
