"""Verdict on calibration: can the scores be read as probabilities?

One test looks for an error of any kind (``goodness_of_fit.joint_test``), one error says
how large it is (``errors.mean_error``). "Calibrated" is not the absence of proof: it is
an equivalence, shown where the error is surely below a margin (Nattino, Pennell and
Lemeshow 2020, doi:10.1111/biom.13249).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import final

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks import options as _options
from trueness._core.numbers import level_text, number_of, p_is
from trueness._core.records import Answer, Estimate, Record
from trueness.calibration.errors import error_bins
from trueness.calibration.forecasts import Forecasts
from trueness.calibration.goodness_of_fit import joint_test
from trueness.calibration.residuals import BinnedResiduals, residuals_from_scores
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.inference.estimates import estimate_from_interval, interval_notes
from trueness.inference.intervals import WILSON, ProportionSample, proportion_interval
from trueness.inference.verification import unlabelled_notes

# five points: what a mean absolute error may be where nothing else is asked for. A
# convention, which the argument ``margin`` replaces
DEFAULT_MARGIN = 0.05
# for rare classes, where 0.05 is too wide: the margin as a part of their proportion
LARGEST_PART_OF_RARER_CLASS = 0.2
# the probability with which the planned number of cases shows calibrated scores
PLANNED_POWER = 0.8


@final
@dataclass(frozen=True, repr=False)
class CalibrationPlace(Record):
    """Scores that differ from the proportion of positives.

    Attributes
    ----------
    low, high, score : float
        The lowest and the highest of these scores, and their mean, which is the
        proportion of positives that they state.
    proportion : Estimate
        The proportion of positives that they have, with an interval that holds for all
        places at once (Bonferroni).
    cases : float
        How many labelled cases have such a score (as equal cases, if weighted).
    """

    low: float
    high: float
    score: float
    proportion: Estimate
    cases: float

    @property
    def sentence(self) -> str:
        """Return the score and the proportion of positives, in numbers of cases."""
        difference = abs(self.proportion.value - self.score)
        number = number_of_cases_to_show(difference)
        digits = len(str(number)) - 1

        scored = f"scored about {self.score:.{digits}f}"
        # one score cannot represent a range that is wide compared to the difference
        if self.high - self.low > difference / 2:
            scored = (
                f"scored from {self.low:.{digits}f} to {self.high:.{digits}f}, "
                f"{self.score:.{digits}f} on average"
            )

        low = cases_in(self.proportion.low, number)
        high = cases_in(self.proportion.high, number)
        return (
            f"Of {number_of(number)} cases {scored}, "
            f"{cases_in(self.proportion.value, number)} are positive "
            f"({level_text(self.proportion.level)} CI {low} to {high})."
        )


@final
@dataclass(frozen=True, repr=False)
class CalibrationVerdict(Answer):
    """Verdict on calibration: whether the scores can be read as probabilities.

    Attributes
    ----------
    verdict : str
        "miscalibrated": the test rejects, and the error may exceed the margin. "close":
        the test rejects, but the interval of the error is within the margin.
        "calibrated": the test does not reject, and the interval of the error is within
        the margin. "undecided": the test does not reject, but the error may exceed the
        margin.
    p_value : float
        Probability that calibrated scores differ at least as much from the labels.
    error : Estimate
        Mean absolute difference of score and proportion of positives in bins, less
        what noise adds: ``calibration_error(data).debiased``.
    bound, margin : float
        Upper end of the one-sided interval of the error, and what it must not exceed.
    cases_needed : float
        How many cases like these would confirm calibrated scores in 4 of 5 samples.
    worst : CalibrationPlace or None
        The scores with the largest significant error; None if there are none, or if the
        test does not reject.
    mean, prevalence : float
        Mean score, and proportion of positives, of all.
    """

    verdict: str
    p_value: float
    error: Estimate
    bound: float
    margin: float
    cases_needed: float
    worst: CalibrationPlace | None
    mean: float
    prevalence: float
    notes: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return the verdict, the worst place, the error, and the cases needed."""
        p_value = "" if math.isnan(self.p_value) else f" ({p_is(self.p_value)})"
        sentences = [_FIRST_SENTENCE[self.verdict].format(p=p_value)]
        if self.worst is not None:
            sentences.append(self.worst.sentence)
        sentences.append(self._sentence_on_error())
        if self.verdict == "undecided" and math.isfinite(self.cases_needed):
            sentences.append(
                f"If they are, about {self.cases_needed:,.0f} such cases would show it."
            )

        return tuple(sentences)

    def _sentence_on_error(self) -> str:
        """Return how large the error is, or may be, in numbers of cases."""
        if self.verdict == "miscalibrated":
            n_shown = number_of_cases_to_show(self.error.high)
            value = cases_in(self.error.value, n_shown)
            low = cases_in(self.error.low, n_shown)
            high = cases_in(self.error.high, n_shown)
            return (
                "On average, score and proportion of positives differ by "
                f"{value} in {number_of(n_shown)} cases ({low} to {high})."
            )

        n_shown = number_of_cases_to_show(min(self.bound, self.margin))
        differ = (
            "may differ by up to"
            if self.verdict == "undecided"
            else "differ by at most"
        )
        return (
            f"On average, score and proportion of positives {differ} "
            f"{cases_in(self.bound, n_shown)} in {number_of(n_shown)} cases; the "
            f"margin is {cases_in(self.margin, n_shown)}."
        )

    def __repr__(self) -> str:
        """Write the verdict in sentences."""
        notes = [f"Note: {note}" for note in self.notes]
        return "\n".join([*self.sentences, *notes])


_FIRST_SENTENCE = {
    "miscalibrated": "These scores are not probabilities{p}.",
    "close": "These scores are close to probabilities, but not equal{p}.",
    "calibrated": "These scores can be read as probabilities{p}.",
    "undecided": (
        "The data do not contradict reading these scores as probabilities{p}, but "
        "there are too few cases to confirm it."
    ),
}


@of_tally
def calibration_verdict(
    data: Tally, *, margin: float | None = None, level: float = 0.95
) -> CalibrationVerdict:
    r"""Verdict on calibration: a test, and the mean error beside a margin.

    Can the scores be read as probabilities, and where are they off?

    .. math:: \mathrm{error} = \sum_k \frac{n_k}{n} |\bar y_k - \bar p_k|

    The p-value combines Cox's test of slope and intercept with Pearson's test of bins
    (Bonferroni). The error is that of :func:`calibration_error`, debiased. Scores are
    calibrated if the test does not reject, and the one-sided interval of the error is
    within the margin, as in ``check("calibration_error <= margin")``.

    Parameters
    ----------
    margin
        The largest mean error that does not matter: by default 0.05, but at most a
        fifth of the proportion of the rarer class. With one third positive, it takes
        some 1,800 cases to show that the error is within 0.05, and 11,000 for a margin
        of 0.02.

    References
    ----------
    Cox (1958), doi:10.1093/biomet/45.3-4.562. Nattino, Pennell and Lemeshow (2020),
    doi:10.1111/biom.13249.

    Examples
    --------
    Errors that cancel: half of the cases are scored too low, half too high.

    >>> t = Tally([0.2, 0.8], neg=[60, 40], pos=[40, 60])
    >>> verdict = calibration_verdict(t)
    >>> verdict.verdict, round(verdict.error.value, 3)
    ('miscalibrated', 0.2)
    >>> print(verdict.worst.sentence)
    Of 100 cases scored about 0.80, 60 are positive (95 % CI 49 to 70).
    """
    forecasts = Forecasts(data, "calibration_verdict")
    level = _options.fraction(level, "level")
    margin = _margin_or_default(margin, forecasts.prevalence)

    test = joint_test(forecasts)
    residuals = residuals_from_scores(forecasts, error_bins(forecasts))
    error = residuals.mean_error(level)
    # an equivalence test at 1 - level has one tail only (Schuirmann 1987)
    bound = residuals.mean_error(2 * level - 1).high if level > 0.5 else error.high

    rejected = test.p_value < 1 - level
    worst = None
    if rejected:
        worst = _worst_place(forecasts, test.start, level)
    return CalibrationVerdict(
        verdict=_verdict(rejected=rejected, within_margin=bound <= margin),
        p_value=test.p_value,
        error=error,
        bound=bound,
        margin=margin,
        cases_needed=_number_of_cases_to_confirm(forecasts, residuals, margin, level),
        worst=worst,
        mean=forecasts.mean_score,
        prevalence=forecasts.prevalence,
        notes=(*unlabelled_notes(data), *interval_notes(data)),
    )


def _margin_or_default(margin: float | None, prevalence: float) -> float:
    """Return the margin that was set, or the default at this prevalence."""
    if margin is not None:
        return _options.fraction(margin, "margin")
    rarer_class = min(prevalence, 1 - prevalence)
    if not rarer_class > 0:
        return DEFAULT_MARGIN
    return min(DEFAULT_MARGIN, LARGEST_PART_OF_RARER_CLASS * rarer_class)


def _verdict(*, rejected: bool, within_margin: bool) -> str:
    """Return the verdict in one word."""
    if within_margin:
        return "close" if rejected else "calibrated"
    return "miscalibrated" if rejected else "undecided"


def _number_of_cases_to_confirm(
    forecasts: Forecasts, residuals: BinnedResiduals, margin: float, level: float
) -> float:
    """Return how many such cases would confirm calibrated scores.

    The bound of their error falls with the root of the number of cases, down to the
    margin.
    """
    power_quantile = NormalDist().inv_cdf(PLANNED_POWER)
    bound = residuals.bound_without_error(2 * level - 1, power_quantile)
    # bound ~ 1 / sqrt(n), solved for the n at which it equals the margin
    cases = forecasts.n * (bound / margin) ** 2
    if not (math.isfinite(cases) and cases > 0):
        return math.nan

    # rounded up to two digits
    unit = 10.0 ** max(math.floor(math.log10(cases)) - 1, 0)
    return math.ceil(cases / unit) * unit


def _worst_place(
    forecasts: Forecasts, start: Array, level: float
) -> CalibrationPlace | None:
    """Return the bin whose interval is furthest from its mean score, if any is."""
    residuals = residuals_from_scores(forecasts, start)
    total = np.add.reduceat(forecasts.cases, start)
    positives = np.add.reduceat(forecasts.pos, start)
    mean_score = np.add.reduceat(forecasts.cases * forecasts.score, start) / total
    clusters = forecasts.sample.observed.cluster_number
    # the largest of several gaps: Bonferroni's level
    level_of_bin = 1 - (1 - level) / start.size

    worst = None
    largest_gap = 0.0
    for k in range(start.size):
        proportion = float(positives[k] / total[k])
        variance = float(residuals.covariance[k, k])
        sample = ProportionSample(variance, float(total[k]), clusters)
        low, high = proportion_interval(proportion, sample, level_of_bin)
        # how far the interval lies from the mean score, above or below
        gap = max(low - mean_score[k], mean_score[k] - high)
        if gap <= largest_gap:
            continue

        largest_gap = gap
        end = start[k + 1] if k + 1 < start.size else forecasts.score.size
        worst = CalibrationPlace(
            low=float(forecasts.score[start[k]]),
            high=float(forecasts.score[end - 1]),
            score=float(mean_score[k]),
            proportion=estimate_from_interval(
                proportion, low, high, level, WILSON, math.sqrt(variance)
            ),
            cases=float(total[k]),
        )

    return worst


def number_of_cases_to_show(difference: float) -> int:
    """Return a power of ten in which a difference is at least one case."""
    if not difference > 0:
        return 100
    return int(10 ** max(2, math.ceil(-math.log10(difference))))


def cases_in(proportion: float, number: int) -> str:
    """Return a proportion as a number of cases, in text."""
    cases = proportion * number
    if cases < 10 and round(cases) != cases:
        return f"{cases:.1f}"
    return f"{cases:,.0f}"
