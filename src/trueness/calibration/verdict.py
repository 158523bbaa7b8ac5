"""Can the scores be read as probabilities, and what does calibration gain?

Size and test of the verdict come from the residuals of the same bins, so that they
cannot contradict each other; the gain is that on cases which the map has not seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks import options as _options
from trueness._core.numbers import level_text, number_of, p_is
from trueness._core.records import Answer, Estimate, Record
from trueness.calibration.forecasts import Forecasts
from trueness.calibration.residuals import BinnedResiduals, residuals_from_scores
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.inference.estimates import (
    estimate_from_interval,
    interval_notes,
)
from trueness.inference.intervals import WILSON, ProportionSample, proportion_interval
from trueness.inference.verification import unlabelled_notes

# each bin has at most about so large a part of the cases, and of the variance of labels
_PARTS = 10


@final
@dataclass(frozen=True, repr=False)
class CalibrationPlace(Record):
    """Scores that mean something else than they say.

    Attributes
    ----------
    low, high, score : float
        The lowest and the highest of these scores, and their mean, which is the share
        of positives that they state.
    share : Estimate
        The share of positives that they have, with limits that hold for all places at
        once (Bonferroni).
    cases : float
        How many labelled cases have such a score (as equal cases, if weighted).
    """

    low: float
    high: float
    score: float
    share: Estimate
    cases: float

    @property
    def sentence(self) -> str:
        """Say it in cases."""
        many = number_of_cases_to_show(abs(self.share.value - self.score))
        x, places = self.share, len(str(many)) - 1
        ends = f"{cases_in(x.low, many)} to {cases_in(x.high, many)}"
        scored = f"scored about {self.score:.{places}f}"
        if self.high - self.low > abs(x.value - self.score) / 2:
            scored = f"scored from {self.low:.{places}f} to {self.high:.{places}f}"
            scored += f", {self.score:.{places}f} on average"
        return (
            f"Of {number_of(many)} cases {scored}, {cases_in(x.value, many)} are "
            f"positive ({level_text(x.level)} limits {ends})."
        )


@final
@dataclass(frozen=True, repr=False)
class CalibrationVerdict(Answer):
    """Can the scores be read as probabilities?

    Attributes
    ----------
    code : str
        "miscalibrated": the test rejects, and the size is not known to be small.
        "close": the test rejects, but the size is small. "calibrated": the test does
        not reject, and the size is small. "undecided": nothing was found, but these
        cases could hide an error that is not small.
    size, p_value : Estimate, float
        Mean absolute difference of score and share of positives, place by place; how
        often calibrated scores differ from the shares by as much, in any places.
    worst : CalibrationPlace or None
        Where scores are surely off, and farthest; None where no single place is, or
        the test does not reject.
    mean, prevalence : float
        Mean score, and share of positives, of all.
    """

    code: str
    size: Estimate
    p_value: float
    worst: CalibrationPlace | None
    mean: float
    prevalence: float
    tolerance: float
    notes: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """Say the verdict, the worst place and the size, in cases."""
        many = number_of_cases_to_show(self.size.high)
        value, low, high = (
            cases_in(x, many) for x in (self.size.value, self.size.low, self.size.high)
        )
        test = "" if math.isnan(self.p_value) else f" ({p_is(self.p_value)})"
        first = {
            "miscalibrated": f"These scores are not probabilities{test}.",
            "close": f"These scores are close to probabilities, but not equal{test}.",
            "calibrated": f"These scores can be read as probabilities{test}.",
            "undecided": "Nothing was found against reading these scores as "
            f"probabilities{test}, but there are too few cases to be sure.",
        }[self.code]
        size = (
            "On average, score and share of positives differ by "
            f"{value} in {number_of(many)} cases ({low} to {high})."
        )
        if self.code in ("calibrated", "undecided"):
            size = (
                "On average, score and share of positives may differ by up to "
                f"{high} in {number_of(many)} cases."
            )
        return (first, *([self.worst.sentence] if self.worst else []), size)

    def __repr__(self) -> str:
        """Write the verdict in sentences."""
        return "\n".join([*self.sentences, *(f"Note: {n}" for n in self.notes)])


@of_tally
def calibration_verdict(
    data: Tally, *, tolerance: float = 0.05, level: float = 0.95
) -> CalibrationVerdict:
    r"""Can the scores be read as probabilities, and where are they off?

    .. math:: \mathrm{size} = \sum_k \frac{n_k}{n} |\bar y_k - \bar p_k|

    Bins hold at most about a tenth of the cases, and of the variance :math:`p(1-p)` of
    calibrated labels; the size is the debiased error of :func:`calibration_error` there
    (Kumar, Liang and Ma 2019, arXiv:1909.10155; Satterthwaite 1946).

    Parameters
    ----------
    tolerance
        A size is small where its upper limit is at most this part of the share of the
        rarer class: with 0.05, at most 5 of 100 positives are expected at scores where
        they are not.

    Examples
    --------
    Errors that cancel: half of the cases are scored too low, half too high.

    >>> t = Tally([0.2, 0.8], neg=[60, 40], pos=[40, 60])
    >>> found = calibration_verdict(t)
    >>> found.code, round(found.size.value, 3)
    ('miscalibrated', 0.2)
    >>> print(found.worst.sentence)
    Of 100 cases scored about 0.80, 60 are positive (95 % limits 49 to 70).
    """
    s = Forecasts(data, "calibration_verdict")
    tolerance = _options.fraction(tolerance, "tolerance")
    level = _options.fraction(level, "level")
    # bins share out both the cases and their variance
    variance = s.cases * s.score * (1 - s.score)
    mass = s.cases / s.n + variance / max(float(variance.sum()), 1e-300)
    number = np.floor((np.cumsum(mass) - mass / 2) * _PARTS)
    start = np.flatnonzero(np.diff(number, prepend=-1))
    found = residuals_from_scores(s, start)
    size = found.mean_error(level)
    p = found.test().p_value
    if s.pos[s.score == 0].any() or s.neg[s.score == 1].any():
        p = 0.0  # what was impossible has happened
    small = size.high <= tolerance * min(s.prevalence, 1 - s.prevalence)
    codes = ("close", "calibrated") if small else ("miscalibrated", "undecided")
    rejected = p < 1 - level
    worst = _worst(s, start, found, level) if rejected else None
    known = (float(s.score @ s.cases) / s.n, s.prevalence, tolerance)
    notes = (*unlabelled_notes(data), *interval_notes(data))
    return CalibrationVerdict(codes[not rejected], size, p, worst, *known, notes)


def _worst(
    s: Forecasts, start: Array, found: BinnedResiduals, level: float
) -> CalibrationPlace | None:
    """Give the bin whose scores are surely off by most."""
    units, each = s.sample.observed.cluster_number, 1 - (1 - level) / start.size
    ends = [*start[1:], s.score.size]
    total, up, said = (
        np.add.reduceat(x, start) for x in (s.cases, s.pos, s.cases * s.score)
    )
    worst, least = None, 0.0
    for k in range(start.size):
        n, share, score = float(total[k]), float(up[k] / total[k]), said[k] / total[k]
        variance = float(found.covariance[k, k])
        low, high = proportion_interval(
            share, ProportionSample(variance, n, units), each
        )
        gap = max(low - score, score - high)
        if gap > least:
            least, inside = gap, s.score[start[k] : ends[k]].tolist()
            e = estimate_from_interval(
                share, low, high, level, WILSON, math.sqrt(variance)
            )
            worst = CalibrationPlace(inside[0], inside[-1], float(score), e, n)
    return worst


def number_of_cases_to_show(difference: float) -> int:
    """In how many cases, a power of ten, does a difference show?"""
    if not difference > 0:
        return 100
    return int(10 ** max(2, math.ceil(-math.log10(difference))))


def cases_in(share: float, many: int) -> str:
    """Say how many of so many cases a share is."""
    x = share * many
    return f"{x:.1f}" if x < 10 and round(x) != x else f"{x:,.0f}"
