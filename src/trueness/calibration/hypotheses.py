r"""Could the deviations from calibrated scores be chance? Tests of that hypothesis."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.isotonic import isotonic_curve
from trueness._core.logistic import (
    coefficient_influence,
    fit_logistic,
    separated,
)
from trueness._core.numbers import counted
from trueness._core.records import Answer
from trueness.calibration.case_control import balance
from trueness.calibration.forecasts import Forecasts
from trueness.calibration.inversion import by_chance
from trueness.calibration.monotone import equal_mass
from trueness.calibration.slope import log_odds
from trueness.counts.answers import of_tally, refuse_weights
from trueness.counts.values import Tally
from trueness.counts.weights import fourths, remark


@final
@dataclass(frozen=True, repr=False)
class CalibrationTest(Answer):
    """A test of the hypothesis that each score is the probability of a positive.

    Attributes
    ----------
    statistic : float
        What was compared with its distribution under the hypothesis.
    p_value : float
        How often calibrated scores give at least that. Small values are evidence
        against calibration.
    method : str
        Name of the test.
    notes : tuple of str
        What the test cannot see or depends on.
    """

    statistic: float
    p_value: float
    method: str
    notes: tuple[str, ...] = ()


@of_tally(weights=True)
def calibration_test(
    t: Tally,
    *,
    method: str = "spiegelhalter",
    prevalence: float | None = None,
    sampling: str = "cohort",
    bins: int = 10,
    parameters: int = 0,
    replicates: int = 999,
    rng: Any = 0,
) -> CalibrationTest:
    r"""Are these data consistent with calibrated scores?

    Parameters
    ----------
    t
        Labelled cases whose scores are probabilities.
    method
        "spiegelhalter" compares the Brier score with its expectation (1986; a normal
        statistic; it cannot detect errors that cancel), "cox" tests for slope 1 and
        intercept 0 at once (likelihood ratio, chi-squared with 2 degrees of freedom),
        "isotonic" compares the miscalibration MCB of the Brier score with that of
        labels drawn from the scores (Monte Carlo; of a cohort its level is exact at
        any sample size; it can detect every monotone departure), "hosmer-lemeshow"
        compares the number of positives in bins of equally many cases with the sum of
        their scores (to reproduce published numbers). The first two take weighted
        cases: variances are then linearised, "cox" is Wald's test, and Student's and
        the F distribution have the degrees of freedom of the weights.
    prevalence, sampling
        As in :func:`trueness.brier`.
    bins
        Number of bins of "hosmer-lemeshow".
    parameters
        How many parameters of the model were fitted on these same cases: the degrees of
        freedom of "hosmer-lemeshow" are the number of bins minus this number. Use 0 for
        cases that the model has not seen; R's ``hoslem.test`` uses 2.
    replicates
        Number of draws of "isotonic", and of the others where cases are too few for the
        law of many.
    rng
        Seed or NumPy generator of these draws.

    Notes
    -----
    Spiegelhalter's statistic is :math:`\sum (y-p)(1-2p) / \sqrt{\sum (1-2p)^2 p(1-p)}`.
    It is NaN where all scores are 0, 1/2 or 1, which carry no information for it.
    Hosmer and Lemeshow's is
    :math:`\sum_b (O_b - E_b)^2 / (n_b \bar p_b (1 - \bar p_b))`, chi-squared; another
    number of bins gives another answer, and errors that cancel within a bin go
    undetected.

    References
    ----------
    D. J. Spiegelhalter, Probabilistic prediction in patient management and clinical
    trials, Statistics in Medicine 5 (1986) 421, doi:10.1002/sim.4780050506. D. W.
    Hosmer, S. Lemeshow, Communications in Statistics A 9 (1980) 1043,
    doi:10.1080/03610928008827941.

    Examples
    --------
    Ten cases at 0.2, four of them positive: (4 - 2) 0.6 / sqrt(10 0.36 0.16).

    >>> calibration_test(Tally([0.2], neg=[6], pos=[4])).statistic
    1.58...
    """
    test = CALIBRATION_TESTS[_options.choice(method, CALIBRATION_TESTS, "method")]
    replicates = _options.whole_number(replicates, "replicates", at_least=19)
    bins = _options.whole_number(bins, "bins", at_least=2)
    parameters = _options.whole_number(parameters, "parameters")
    s = Forecasts.of(t, "calibration_test", sampling, prevalence)
    s.two_of_each_class("calibration_test")
    notes = _NOTES.get(method, ()) + s.notes
    generator = _options.generator(rng)
    if method not in _TAKE_WEIGHTS:
        refuse_weights(t, f"method={method!r}", _UNKNOWN_WEIGHTS)
    if s.pos[s.score == 0].any() or s.neg[s.score == 1].any():
        # what was impossible has happened
        return CalibrationTest(math.inf, 0.0, method, notes)
    if t.weighted:
        if method == "cox":
            _overlapping(t, s)
        found = _linearised(method, s)
        return CalibrationTest(*found, method, notes + remark(t))
    asked = _TestRequest(bins, parameters, replicates, generator)
    statistic, p_value = test(s, asked)
    known = not math.isnan(p_value)
    if s.fixed is not None:
        few = min(s.fixed.n_pos, s.fixed.n_neg)
        if few < _FEW_OF_A_CLASS and known and method != "isotonic":
            p_value = _exact(method, s, asked)
            notes += (f"The smaller class has {counted(few, 'case')}{_BOTH_DRAWN}",)
    elif method in _LAWS and (said := _LAWS[method](s.score, s.cases, bins)):
        drawn = parameters == 0 and known
        if drawn:
            p_value = _exact(method, s, asked)
        notes += (said + (_DRAWN if drawn else _TOO_SMALL),)
    return CalibrationTest(float(statistic), float(p_value), method, notes)


class _TestRequest(NamedTuple):
    bins: int
    parameters: int
    replicates: int
    rng: np.random.Generator


_TAKE_WEIGHTS = ("spiegelhalter", "cox")
_UNKNOWN_WEIGHTS = (
    "It draws other labels, and the weight of a case with another label is not known. "
    'Type method="cox" or method="spiegelhalter".'
)


def _linearised(method: str, s: Forecasts) -> tuple[float, float]:
    r"""Test weighted cases by linearised variances (Binder 1983).

    With the influence :math:`u_i` of a case of weight w on what is tested, its variance
    is :math:`V = \sum w_i^2 u_i u_i'` (times n / (n - 1)). Wald's statistic
    :math:`d' V^{-1} d` of the departure d has Hotelling's law; with
    :math:`e_i = w_i u_i' V^{-1} d`, what a case adds to it, its degrees of freedom are
    :math:`\tfrac43 (\sum e_i^2)^2 / \sum e_i^4`, as of a jackknife.
    """
    from scipy.special import fdtrc

    assert s.squares is not None  # noqa: S101  # who calls has looked
    p = s.score
    if method == "spiegelhalter":
        unit = (1 - 2 * p)[:, None]
        away = unit.T @ (s.pos - s.cases * p)
    else:
        unit, away, p = _cox_influence(s)
    rows = [(unit * (1 - p)[:, None], s.pos, s.squares[0]),
            (unit * p[:, None], s.neg, s.squares[1])]  # fmt: skip
    n = s.effective
    parts = np.stack([(u.T * q) @ u for u, _, q in rows])
    variance = parts.sum(axis=0) * n / max(n - 1, 1)
    if not variance.any():
        return math.nan, math.nan
    along = np.linalg.pinv(variance, hermitian=True) @ away
    wald, k = float(away @ along), len(away)
    second = sum(float(q @ (u @ along) ** 2) for u, _, q in rows)
    fourth = sum(float(fourths(w, q) @ (u @ along) ** 4) for u, w, q in rows)
    df = max(4 / 3 * second**2 / fourth if fourth > 0 else math.inf, float(k))
    p_value = float(fdtrc(k, df - k + 1, wald * (df - k + 1) / (k * df)))
    return math.copysign(math.sqrt(wald), away[0]) if k == 1 else wald, p_value


def _cox_influence(s: Forecasts) -> tuple[Floats, Floats, Floats]:
    """What adds a case to intercept and slope, how far are they off, and the fit?"""
    logit = log_odds(s.score)
    free = fit_logistic([logit], s.pos, s.neg).coefficients
    design = np.stack([np.ones(logit.size), logit], axis=1)
    unit, p = coefficient_influence(design, design @ free, s.cases)
    return unit, free - np.array([0.0, 1.0]), p


def _overlapping(t: Tally, s: Forecasts) -> None:
    """Stop Cox's test of weighted cases where its line has no best slope."""
    _cases.both_classes(t, "calibration_test")
    logit = log_odds(s.score)
    if logit[0] == logit[-1] or separated(logit, s.pos, s.neg):
        raise NotEnoughCases(
            "Cox's test of weighted cases needs two different scores and classes that "
            'overlap. Type method="spiegelhalter".'
        )


def _hosmer_lemeshow(s: Forecasts, asked: _TestRequest) -> tuple[float, float]:
    from scipy.special import gammaincc

    if s.fixed is not None:
        raise InputError(
            "Hosmer and Lemeshow's test takes cases as they came, not weighed to "
            'prevalence=. Type method="isotonic" or method="cox".'
        )
    total, mean = _expected(s.score, s.cases, asked.bins)
    freedom = int((mean * (1 - mean / total) > 0).sum()) - asked.parameters
    if freedom < 1:
        return math.nan, math.nan
    statistic = float(_pearson(s.score, s.cases, s.pos, asked.bins))
    return statistic, float(gammaincc(freedom / 2, statistic / 2))


def _expected(p: Floats, cases: Array, bins: int) -> tuple[Array, Floats]:
    """Give cases and expected positives of bins of equally many cases."""
    start = equal_mass(cases, bins)
    return np.add.reduceat(cases, start), np.add.reduceat(cases * p, start)


def _pearson(p: Floats, cases: Array, up: Array, bins: int) -> Floats:
    """Give Hosmer and Lemeshow's statistic of positives (..., m)."""
    total, mean = _expected(p, cases, bins)
    seen = np.add.reduceat(up, equal_mass(cases, bins), axis=-1)
    spread = mean * (1 - mean / total)
    told = spread > 0  # bins of scores 0 or 1, which were right, tell nothing
    away = (seen - mean) ** 2 / np.where(told, spread, np.inf)
    return np.asarray(away.sum(axis=-1))


def _sparse(p: Floats, cases: Array, bins: int) -> str:
    """Say that bins expect too few cases of a class for the chi-squared law."""
    total, mean = _expected(p, cases, bins)
    few = int((np.minimum(mean, total - mean) < 1).sum())
    if few <= _SPARSE * mean.size:
        return ""
    return (
        f"{few} of {mean.size} bins expect less than one positive or less than one "
        "negative, too few for the chi-squared law"
    )


def _rare(p: Floats, cases: Array, bins: int) -> str:
    """Say that the scores expect too few cases of a class for the chi-squared law."""
    expected = min(float(cases @ p), float(cases @ (1 - p)))
    if expected >= _FEW:
        return ""
    return (
        f"The scores expect {expected:.3g} cases of the rarer class, too few for the "
        "chi-squared law"
    )


def _exact(method: str, s: Forecasts, asked: _TestRequest) -> float:
    """How often have labels drawn from the scores so large a statistic?"""
    s = s.pooled()
    if method == "cox" and s.fixed is not None:
        found = _cox_by_class(s, *s.redrawn(s.score, asked.replicates, asked.rng)[:2])
    else:
        drawn = list(s.labels(s.score, asked.replicates, asked.rng))
        up = np.stack([s.pos, *(up for up, _ in drawn)])
        cases = s.cases
        if s.fixed is not None:
            cases = np.stack([cases, *(up + down for up, down in drawn)])
        found = _DRAWN_STATISTICS[method](s, cases, up, asked.bins)
    # rounding must not part what is equal
    return float((found >= found[0] - 1e-9 * (1 + found[0])).mean())


def _squared(s: Forecasts, cases: Array, up: Array, bins: int) -> Floats:
    """Give Spiegelhalter's statistic, squared, with the spread of calibrated scores.

    The spread that a class of few cases shows may be next to nothing.
    """
    p, column = s.score, 1 - 2 * s.score
    spread = cases @ (column**2 * p * (1 - p))
    square = ((up - cases * p) @ column) ** 2
    return np.asarray(np.divide(square, spread, out=0 * square, where=spread > 0))


def _spiegelhalter(s: Forecasts, asked: _TestRequest) -> tuple[float, float]:
    p, column = s.score, 1 - 2 * s.score
    spread = float(s.cases @ (column**2 * p * (1 - p)))
    if s.fixed is not None:
        spread = float(s.class_sandwich(column[:, None], p)[0, 0])
    if spread == 0:
        return math.nan, math.nan
    z = float((s.pos - s.cases * p) @ column) / math.sqrt(spread)
    return z, 2 * NormalDist().cdf(-abs(z))


def _cox(s: Forecasts, asked: _TestRequest) -> tuple[float, float]:
    if s.fixed is not None:
        statistic = float(_cox_by_class(s)[0])
        return statistic, math.exp(-statistic / 2)
    # scores of 0 and 1 were right: they add nothing to either likelihood
    inner = int(((s.score > 0) & (s.score < 1)).sum())
    if not inner:
        return math.nan, math.nan
    statistic = float(_likelihood_ratio(s.score, s.cases, s.pos, 0))
    if inner == 1:
        return statistic, math.erfc(math.sqrt(statistic / 2))
    return statistic, math.exp(-statistic / 2)


def _cox_by_class(
    s: Forecasts, up: Array | None = None, away: Floats | None = None
) -> Floats:
    """Give Cox's statistic at a given share: of the sample, then of drawn ones.

    The likelihood ratio of the slope, among labels given the scores, and the square of
    how many standard errors the scores are off as a whole are independent; many cases
    have a chi-squared law with one degree of freedom for each.
    """
    from scipy.special import expit, logit

    assert s.fixed is not None  # noqa: S101  # who calls has looked
    share, n_pos, n_neg = s.fixed
    pos, neg = s.met
    odds = log_odds(s.score)
    shift = balance(odds, pos + neg, n_pos)
    seen = (shift.value - math.log(n_pos / n_neg) + logit(share)) / shift.sd
    labels = pos[None] if up is None else np.vstack([pos, up])
    off = seen[None] if away is None else np.concatenate([seen[None], away])
    slope = _likelihood_ratio(expit(odds + shift.value), pos + neg, labels, 0)
    return np.asarray(slope + off**2)


def _likelihood_ratio(p: Floats, cases: Array, up: Array, bins: int) -> Floats:
    """Give twice what slope and intercept add to the log-likelihood of (..., m).

    Newton's method on all samples at once. Of separated classes the likelihood has no
    maximum but a limit, which steps of at most 2 standard deviations approach.
    """
    inner = (p > 0) & (p < 1)
    cases, up, base = cases[..., inner], up[..., inner], log_odds(p[inner])
    away = base - cases @ base / cases.sum()
    spread = math.sqrt(cases @ away**2 / cases.sum())
    x = np.stack([np.ones(base.size), away / spread if spread > 1e-9 else 0 * away])
    products = np.stack([x[0], x[1], x[1] ** 2])
    beta, step = np.zeros((*up.shape[:-1], 2)), np.zeros((*up.shape[:-1], 2))
    start = up @ base - cases @ np.logaddexp(0.0, base)
    height = np.full(start.shape, -np.inf)
    for _ in range(_PASSES):
        odds = base + (beta + step) @ x
        ahead = (up * odds - cases * np.logaddexp(0.0, odds)).sum(axis=-1)
        gain, better = ahead - height, (ahead >= height)[..., None]
        beta, height = np.where(better, beta + step, beta), np.maximum(ahead, height)
        if (np.abs(gain) < 1e-9).all():
            break
        f = 1 / (1 + np.exp(-np.clip(odds, -500, 500)))
        u, v = np.moveaxis((up - cases * f) @ x.T, -1, 0)
        # the inverse of [[a, b], [b, c]]; a little is added for scores that are equal
        a, b, c = np.moveaxis((cases * f * (1 - f)) @ products.T, -1, 0) + 1e-300
        a, c = a * (1 + 1e-9), c + 1e-9 * a
        newton = np.stack([c * u - b * v, a * v - b * u], axis=-1)
        # where all chances are 0 or 1 nothing is left to climb
        size = (a * c - b * b)[..., None]
        newton = np.divide(newton, size, out=0 * newton, where=size > 0)
        newton /= np.maximum(np.abs(newton).max(axis=-1, keepdims=True) / 2, 1.0)
        step = np.where(better, newton, step / 2)
    return np.asarray(np.maximum(2 * (height - start), 0.0))


def _isotonic(s: Forecasts, asked: _TestRequest) -> tuple[float, float]:
    s = s.pooled()
    seen = _mcb(*s[:3])
    drawn = by_chance(s, _mcb, asked.replicates, asked.rng)
    # rounding must not part what is equal
    beyond = int((drawn >= seen * (1 - 1e-12)).sum())
    return seen, (1 + beyond) / (1 + asked.replicates)


def _mcb(p: Floats, pos: Array, neg: Array) -> float:
    """Give the gain of isotonic recalibration in Brier score."""
    fitted, cases = isotonic_curve(pos, neg), pos + neg
    # sum of (p-y)^2 - (fitted-y)^2 over the cases
    gain = (p - fitted) * ((p + fitted) * cases - 2 * pos)
    return float(gain.sum() / cases.sum())


# with a fifth of such bins, 5.5 % of calibrated samples are rejected; with a third, 7 %
_SPARSE = 0.2
# with 15 expected cases of the rarer class, Cox's test rejects up to 8 %
_FEW = 30
_DRAWN = ": the p-value is that of labels drawn from the scores, which is exact."
_TOO_SMALL = (
    ", so the p-value is too small: calibrated scores are rejected at the 5 % level in "
    '7 to 12 % of samples. Use fewer bins or method="isotonic".'
)
_BOTH_DRAWN = (
    ", too few for a law of many: the p-value is that of as many positives and "
    "negatives that are drawn with the scores as chances."
)
_PASSES = 100
# with 50 of a class at a given share, the laws of many cases reject 6 to 7 %
_FEW_OF_A_CLASS = 100
# tests with a law of many cases: a sentence where there are too few
_LAWS: Mapping[str, Callable[[Floats, Array, int], str]] = MappingProxyType(
    {"cox": _rare, "hosmer-lemeshow": _sparse}
)
# and what is compared with that of drawn samples then
_DRAWN_STATISTICS: Mapping[str, Callable[..., Floats]] = MappingProxyType(
    {
        "spiegelhalter": _squared,
        "cox": lambda s, *samples: _likelihood_ratio(s.score, *samples),
        "hosmer-lemeshow": lambda s, *samples: _pearson(s.score, *samples),
    }
)
_Test = Callable[[Forecasts, _TestRequest], tuple[float, float]]
CALIBRATION_TESTS: Mapping[str, _Test] = MappingProxyType(
    {
        "spiegelhalter": _spiegelhalter,
        "cox": _cox,
        "isotonic": _isotonic,
        "hosmer-lemeshow": _hosmer_lemeshow,
    }
)


_NOTES = {
    "spiegelhalter": (
        "The test does not detect errors that cancel in the Brier score.",
    ),
    "hosmer-lemeshow": (
        "The result depends on the number of bins, errors within a bin are not "
        "detected, and with very many cases any model is rejected.",
    ),
}
