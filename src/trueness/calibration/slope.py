r"""Are the probabilities too extreme, or too high? The calibration slope and intercept.

Two numbers with a meaning, by logistic regression on the log-odds of the scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.records import Answer, Estimate
from trueness.calibration.drawn_labels import probability_rows
from trueness.calibration.fixed_shares import (
    FixedShare,
    class_sandwich,
    fixed_share,
    noted,
    weighed,
)
from trueness.calibration.logistic import fit_logistic, separated
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
    prevalence
        Share of positives where the probabilities are used: the cases are weighted to
        this share, which is treated as known. By default it is the share among the
        cases.
    sampling
        How the cases were sampled: ``"cohort"`` or ``"case-control"``, which needs
        ``prevalence`` (see :func:`trueness.brier`).
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
    fixed = fixed_share(t, sampling, prevalence, "calibration_line")
    if fixed is not None and together is not None:
        raise InputError(
            "calibration_line takes cluster= or prevalence=, not both; leave one out."
        )
    score, pos, neg = probability_rows(t, "calibration_line")
    level = _options.fraction(level, "level")
    logit = log_odds(score)
    if logit[0] == logit[-1]:
        raise NotEnoughCases(
            "A calibration slope needs two different scores; all cases have "
            f"{score[0]:g}."
        )
    if separated(logit, pos, neg):
        raise NotEnoughCases(
            "A calibration slope needs classes that overlap; here one threshold "
            "separates them perfectly, so the slope would be infinite."
        )
    free = fit_logistic([logit], *weighed(fixed, pos, neg))
    moved = fit_logistic([], *weighed(fixed, pos, neg), offset=logit)
    edge = (score == 0) | (score == 1)
    found = (free.coefficients, moved.coefficients[0])
    if together is not None:
        slope, shift = _left_out(together, *found, level)
    elif fixed is not None:
        slope, shift = _by_class(fixed, (logit, pos, neg), *found, level)
    elif t.weighted:
        logit = log_odds(t.labelled().score)
        both = np.stack([np.ones(logit.size), logit], axis=1)
        b, a = found
        slope = _sandwich(t, both, both @ b, float(b[1]), level)
        shift = _sandwich(t, both[:, :1], a + logit, float(a), level)
    else:
        slope = _wald(free.coefficients[1], free.covariance[1, 1], level)
        shift = _wald(moved.coefficients[0], moved.covariance[0, 0], level)
    return CalibrationLine(slope, shift, int((pos + neg)[edge].sum()), noted(fixed))


def _by_class(
    fixed: FixedShare,
    rows: tuple[Floats, Array, Array],
    free: Floats,
    shift: float,
    level: float,
) -> tuple[Estimate, Estimate]:
    """Give slope and intercept the intervals of cases that were weighed by class."""
    both = np.stack([np.ones(rows[0].size), rows[0]], axis=1)
    t = float(student_quantile(min(fixed.n_pos, fixed.n_neg) - 1.0, level))
    out = []
    for value, design, eta in (
        (free[1], both, both @ free),
        (shift, both[:, :1], shift + rows[0]),
    ):
        sd = math.sqrt(coefficients_vary(fixed, design, eta, rows[1], rows[2])[-1, -1])
        ends = float(value) - t * sd, float(value) + t * sd
        out.append(Estimate(float(value), *ends, level, "share given", sd))
    return out[0], out[1]


def coefficients_vary(
    fixed: FixedShare, design: Floats, eta: Floats, pos: Array, neg: Array
) -> Floats:
    """Give the sandwich variance of logistic coefficients, each class by itself."""
    p = 1 / (1 + np.exp(-np.clip(eta, -700, 700)))
    up, down = weighed(fixed, pos, neg)
    weight = ((up + down) * p * (1 - p))[:, None]
    bread = np.linalg.pinv((design * weight).T @ design, hermitian=True)
    return np.asarray(
        bread @ class_sandwich(fixed, design, (1 - p, -p), (pos, neg)) @ bread
    )


def _sandwich(
    t: Tally, design: Floats, eta: Floats, value: float, level: float
) -> Estimate:
    r"""Give the last coefficient the linearised interval of weighted cases.

    The influence of a case of weight w is :math:`w\, I^{-1} x (y - p)`, with the
    information I of all weights (Binder 1983).
    """
    t = t.labelled()
    p = 1 / (1 + np.exp(-np.clip(eta, -700, 700)))
    information = (design.T * ((t.pos + t.neg) * p * (1 - p))) @ design
    unit = design @ np.linalg.pinv(information)[-1]
    neg, pos, _ = t.squares
    parts = [(unit * (1 - p), t.pos, pos), (-unit * p, t.neg, neg)]
    spread = linearised(parts, together=True)
    sd = math.sqrt(spread.variance)
    half = float(student_quantile(max(spread.df, 1.0), level)) * sd
    return Estimate(value, value - half, value + half, level, "linearised", sd)


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
        ends = value - half * sd, value + half * sd
        made.append(Estimate(value, *ends, level, "clusters", sd))
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
    k = design.shape[1]
    score = np.stack(
        [np.bincount(c.code, (c.pos - cases * p) * x, c.m) for x in design.T], axis=1
    )
    weight = cases * p * (1 - p)
    information = np.empty((c.m, k, k))
    for i in range(k):
        for j in range(k):
            part = weight * design[:, i] * design[:, j]
            information[:, i, j] = np.bincount(c.code, part, c.m)
    # one Newton step from the estimate, with the information of the others
    rest = information.sum(axis=0) - information
    return np.asarray((np.linalg.pinv(rest) @ score[:, :, None])[:, :, 0])


def log_odds(score: Floats) -> Floats:
    """Give the logit of probabilities, 0 and 1 taken as 2^-52 from themselves."""
    p = np.clip(score, _EPS, 1 - _EPS)
    return np.asarray(np.log(p) - np.log1p(-p))


def _wald(value: float, variance: float, level: float) -> Estimate:
    sd = math.sqrt(variance)
    half = NormalDist().inv_cdf((1 + level) / 2) * sd
    value = float(value)
    return Estimate(value, value - half, value + half, level, "wald", sd)
