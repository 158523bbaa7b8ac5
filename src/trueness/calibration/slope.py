r"""Are the probabilities too extreme, or too high? The calibration slope and intercept.

Two numbers with a meaning, by logistic regression on the log-odds of the scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.logistic import (
    LogisticFit,
    coefficient_influence,
    fit_logistic,
    separated,
)
from trueness._core.records import Answer, Estimate
from trueness.calibration.forecasts import Forecasts
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.counts.weights import linearised
from trueness.ranking.auc_intervals import student_quantile
from trueness.ranking.clusters import Clusters, cluster_freedom, clusters

_EPS = 2.0**-52
_IN_FULL = 3_000_000  # rows times clusters that are fitted again without each cluster


@final
@dataclass(frozen=True, repr=False)
class CalibrationLine(Answer):
    """Calibration slope and intercept.

    Attributes
    ----------
    slope : Estimate
        Below 1 the scores are too extreme, above 1 too timid.
    intercept : Estimate
        Log-odds by which the scores are too low (above 0) or too high on the whole, the
        slope being held at 1 ("calibration in the large").
    clipped : int
        Labelled cases with a score of exactly 0 or 1, which has no logit; they were
        taken as 2^-52 from it, and weigh heavily.
    notes : tuple of str
        Whether cases were weighed to another share of positives.
    """

    slope: Estimate
    intercept: Estimate
    clipped: int
    notes: tuple[str, ...] = ()


@of_tally(weights=True)
def calibration_line(
    t: Tally,
    *,
    prevalence: float | None = None,
    sampling: str = "cohort",
    level: float = 0.95,
    cluster: Any = None,
) -> CalibrationLine:
    r"""Are the probabilities too extreme, or too high overall?

    .. math:: \mathrm{logit}\, P(y=1) = a + b\, \mathrm{logit}(p)

    The slope is b with a free; the intercept is a with b = 1.

    Parameters
    ----------
    t
        Labelled cases whose scores are probabilities.
    prevalence, sampling
        As in :func:`trueness.brier`.
    level
        Confidence level of the (Wald) intervals. For weighted cases they use the
        linearised variance (the sandwich estimator of survey samples) and Student's
        quantile.
    cluster
        Which cases belong together (patients, sites): a column of the data, or a
        mapping from cluster to tally. The variance is then that of the estimates with
        one cluster left out at a time (with many clusters by one Newton step each),
        with Student's quantile.

    References
    ----------
    D. R. Cox (1958), doi:10.1093/biomet/45.3-4.562. B. Van Calster et al., Calibration:
    the Achilles heel of predictive analytics, BMC Medicine 17 (2019) 230,
    doi:10.1186/s12916-019-1466-7.

    Examples
    --------
    The scores have log-odds of -ln 9 and ln 9, where the true ones are -ln 3 and ln 3.

    >>> line = calibration_line(Tally([0.1, 0.9], neg=[30, 10], pos=[10, 30]))
    >>> round(line.slope.value, 6), round(abs(line.intercept.value), 6)
    (0.5, 0.0)
    """
    together = None if cluster is None else clusters(cluster, "calibration_line")
    t = t if together is None else together.tally(0)
    _cases.both_classes(t, "calibration_line")
    s = Forecasts.of(t, "calibration_line", sampling, prevalence)
    if s.fixed is not None and together is not None:
        raise InputError(
            "calibration_line takes cluster= or prevalence=, not both; leave one out."
        )
    s.two_of_each_class("calibration_line")
    level = _options.fraction(level, "level")
    logit = log_odds(s.score)
    if logit[0] == logit[-1]:
        raise NotEnoughCases(
            "A calibration slope needs two different scores; all cases have "
            f"{s.score[0]:g}."
        )
    if separated(logit, s.pos, s.neg):
        raise NotEnoughCases(
            "A calibration slope needs classes that overlap; here one threshold "
            "separates them perfectly, so the slope would be infinite."
        )
    free = fit_logistic([logit], s.pos, s.neg)
    moved = fit_logistic([], s.pos, s.neg, offset=logit)
    if together is not None:
        slope, shift = _left_out(
            together, free.coefficients, moved.coefficients[0], level
        )
    elif s.squares is not None:
        both = np.stack([np.ones(logit.size), logit], axis=1)
        slope = _sandwich(s, both, both @ free.coefficients, free, level)
        odds = moved.coefficients[0] + logit
        shift = _sandwich(s, both[:, :1], odds, moved, level)
    else:
        z = NormalDist().inv_cdf((1 + level) / 2)
        slope, shift = (
            _about(fit.coefficients[-1], math.sqrt(fit.covariance[-1, -1]), z, level)
            for fit in (free, moved)
        )
    ends = (s.score == 0) | (s.score == 1)
    clipped = int(sum(x[ends].sum() for x in s.met))
    return CalibrationLine(slope, shift, clipped, s.notes)


def _about(
    value: float, sd: float, quantile: float, level: float, method: str = "wald"
) -> Estimate:
    """Put so many standard errors on both sides of a coefficient."""
    value, half = float(value), quantile * sd
    return Estimate(value, value - half, value + half, level, method, sd)


def _sandwich(
    s: Forecasts, design: Floats, odds: Floats, fit: LogisticFit, level: float
) -> Estimate:
    r"""Give the last coefficient the interval of cases that do not count once each.

    The influence of a case of weight w is :math:`w\, I^{-1} x (y - p)`, with the
    information I of all weights (Binder 1983). At a given share of positives each class
    varies by itself.
    """
    unit, p = coefficient_influence(design, odds, s.cases)
    if s.fixed is not None:
        sd = math.sqrt(s.class_sandwich(unit, p)[-1, -1])
        df, method = min(s.fixed.n_pos, s.fixed.n_neg) - 1.0, "share given"
    else:
        assert s.squares is not None  # noqa: S101  # who calls has looked
        last = unit[:, -1]
        parts = [
            (last * (1 - p), s.pos, s.squares[0]),
            (-last * p, s.neg, s.squares[1]),
        ]
        variance, df = linearised(parts, together=True)
        sd, df, method = math.sqrt(variance), max(df, 1.0), "linearised"
    t = float(student_quantile(df, level))
    return _about(fit.coefficients[-1], sd, t, level, method)


def _left_out(
    c: Clusters, free: Floats, shift: float, level: float
) -> tuple[Estimate, Estimate]:
    """Give slope and intercept the intervals that clusters leave (jackknife).

    Without cluster c, whose score is U_c and whose information is I_c, a Newton step
    from the estimate of all moves it by (I - I_c)^-1 U_c, which is CR3 of sandwich
    variances: it does not shrink with few clusters, as the plain sandwich does. Of few
    clusters one step is too short for the slope: with ten clusters of one class each it
    found half of its error, so they are left out in full.
    """
    logit = log_odds(c.rows[:, 0])
    both = np.stack([np.ones(logit.size), logit], axis=1)
    slope = _moved(c, both, both @ free)[:, 1]
    if c.m * logit.size <= _IN_FULL:
        slope = _refitted(c, logit, float(free[1]), slope)
    fixed = _moved(c, both[:, :1], shift + logit)[:, 0]
    made = []
    for value, part in ((float(free[1]), slope), (float(shift), fixed)):
        half = float(student_quantile(cluster_freedom(part - part.mean()), level))
        sd = math.sqrt((c.m - 1) / c.m * float(np.sum((part - part.mean()) ** 2)))
        made.append(_about(value, sd, half, level, "clusters"))
    return made[0], made[1]


def _refitted(c: Clusters, logit: Floats, slope: float, step: Floats) -> Floats:
    """By how much does the slope move without each cluster? Where it has no maximum
    without a cluster, by the Newton step.
    """
    moved = step.copy()
    for k in range(c.m):
        at = c.code != k
        rows = logit[at], c.pos[at], c.neg[at]
        if rows[1].any() and rows[2].any() and not separated(*rows):
            other = fit_logistic([rows[0]], rows[1], rows[2])
            moved[k] = slope - other.coefficients[1]
    return moved


def _moved(c: Clusters, design: Floats, eta: Floats) -> Floats:
    """By how much does leaving out each cluster move the coefficients? (m, k)"""
    cases = c.neg + c.pos
    p = 1 / (1 + np.exp(-np.clip(eta, -700, 700)))
    off, weight = c.pos - cases * p, cases * p * (1 - p)

    def by_cluster(*values: Floats) -> Floats:
        return np.stack([np.bincount(c.code, v, c.m) for v in values], axis=1)

    score = by_cluster(*(off * x for x in design.T))
    rows = [by_cluster(*(weight * x * y for y in design.T)) for x in design.T]
    information = np.stack(rows, axis=1)
    # one Newton step from the estimate, with the information of the others
    rest = information.sum(axis=0) - information
    return np.asarray((np.linalg.pinv(rest) @ score[:, :, None])[:, :, 0])


def log_odds(score: Floats) -> Floats:
    """Give the logit of probabilities, 0 and 1 taken as 2^-52 from themselves."""
    p = np.clip(score, _EPS, 1 - _EPS)
    return np.asarray(np.log(p) - np.log1p(-p))
