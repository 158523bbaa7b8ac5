r"""How good are the probabilities, and what part of their loss is miscalibration?

The Brier score and the log loss of a tally whose scores are probabilities, and their
decomposition by isotonic recalibration (CORP; Dimitriadis, Gneiting and Jordan 2021):

.. math:: S = \mathrm{MCB} - \mathrm{DSC} + \mathrm{UNC}

MCB is what the best increasing recalibration would gain, DSC what it then gains over
saying the prevalence to everybody, UNC the loss of saying that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.isotonic import pool_violators
from trueness._core.records import Answer, Estimate
from trueness.calibration.monotone import equal_mass
from trueness.counts.answers import of_tally
from trueness.counts.resampling import bootstrap, debiased_interval, reflected_interval
from trueness.counts.values import Tally

# resampling looks at this many rows at most: more are pooled to as many equal cells
MOST_ROWS = 4000
_TINY = 2.0**-52
_Loss = Callable[[Floats], tuple[Floats, Floats]]


@final
@dataclass(frozen=True, repr=False)
class ProperScore(Answer):
    """A mean loss with its interval, and its three parts.

    Attributes
    ----------
    value, low, high, level, method, sd
        As in an :class:`trueness.Estimate`.
    mcb, dsc, unc : Estimate
        Miscalibration, discrimination and uncertainty: ``value = mcb - dsc + unc``.
    skill : float
        ``(dsc - mcb) / unc``: 1 is perfect, 0 as good as saying the prevalence.
    """

    value: float
    low: float
    high: float
    level: float
    method: str
    sd: float
    mcb: Estimate
    dsc: Estimate
    unc: Estimate
    skill: float

    def __float__(self) -> float:
        """Give the value alone."""
        return self.value

    def __repr__(self) -> str:
        """Write the value with its interval, then its parts."""
        line = Estimate(
            self.value,
            self.low,
            self.high,
            self.level,
            self.method,
            limits=self.limits,
        )
        parts = (f"  {k}: {getattr(self, k)}" for k in ("mcb", "dsc", "unc"))
        return "\n".join([repr(line), *parts, f"  skill: {self.skill:.4g}"])


@of_tally
def brier(
    t: Tally, *, level: float = 0.95, replicates: int = 500, rng: Any = 0
) -> ProperScore:
    r"""How far are the probabilities from what happened, squared?

    .. math:: S = \frac1n \sum_i (p_i - y_i)^2

    Parameters
    ----------
    t
        Labelled cases whose scores are probabilities.
    level
        Confidence of the intervals.
    replicates
        Bootstrap samples for the intervals of the parts.
    rng
        Seed or NumPy generator.

    Notes
    -----
    The interval of the score is the normal one of a mean, that of UNC Wilson's of the
    prevalence. Those of MCB and DSC come from a bootstrap on the counts: isotonic
    recalibration fits noise, so both are too large on average, in a bootstrap sample
    twice as much. The interval of MCB is reflected (2 estimate - quantile), which takes
    that back, and starts at 0 unless MCB is above the upper quantile that labels drawn
    from the scores themselves give. That of DSC is the normal one about the estimate
    less its bias, with the bias added to its standard error. More than 4,000 distinct
    scores are pooled to 4,000 for this resampling, not for the values.

    References
    ----------
    T. Dimitriadis, T. Gneiting, A. Jordan, Stable reliability diagrams for
    probabilistic classifiers, PNAS 118 (2021) e2016191118,
    doi:10.1073/pnas.2016191118.

    Examples
    --------
    Scores 0.2 and 0.8 where 1/4 and 3/4 are positive: recalibration moves both by 0.05.

    >>> b = brier(Tally([0.2, 0.8], neg=[3, 1], pos=[1, 3]))
    >>> round(b.value, 6), round(b.mcb.value, 6), b.dsc.value, b.unc.value
    (0.19, 0.0025, 0.0625, 0.25)
    """
    return _proper_score(t, "brier", level, replicates, rng)


@of_tally
def log_loss(
    t: Tally, *, level: float = 0.95, replicates: int = 500, rng: Any = 0
) -> ProperScore:
    r"""How surprising was what happened, in nats a case?

    .. math:: S = -\frac1n \sum_i \left[ y_i \ln p_i + (1-y_i) \ln(1-p_i) \right]

    Parameters
    ----------
    t
        Labelled cases whose scores are probabilities.
    level
        Confidence of the intervals.
    replicates
        Bootstrap samples for the intervals of the parts.
    rng
        Seed or NumPy generator.

    Notes
    -----
    A probability of 0 for what happened costs infinity, and that is the answer: nothing
    is clipped. See :func:`brier` for the intervals and the reference.

    Examples
    --------
    >>> import math
    >>> x = log_loss(Tally([0.5], neg=[3], pos=[1]))
    >>> math.isclose(x.value, math.log(2))
    True
    """
    return _proper_score(t, "log_loss", level, replicates, rng)


def _squares(p: Floats) -> tuple[Floats, Floats]:
    """Give the loss of a negative and of a positive case at each probability."""
    return p * p, (1 - p) ** 2


def _logs(p: Floats) -> tuple[Floats, Floats]:
    with np.errstate(divide="ignore"):
        return -np.log1p(-p), -np.log(p)


def decomposition(t: Tally, name: str) -> tuple[float, float, float, float]:
    """Give the mean loss of a name in ``LOSSES`` and its parts MCB, DSC and UNC."""
    return _decompose(*probability_rows(t, name), LOSSES[name])


def _proper_score(
    t: Tally, name: str, level: float, replicates: int, rng: Any
) -> ProperScore:
    loss = LOSSES[name]
    score, pos, neg = probability_rows(t, name)
    level = _options.fraction(level, "level")
    replicates = _options.whole_number(replicates, "replicates", at_least=20)
    parts = _decompose(score, pos, neg, loss)
    mean = parts[0]
    sd = _mean_sd(score, pos, neg, loss, mean)
    half = NormalDist().inv_cdf((1 + level) / 2) * sd
    generator = _options.generator(rng)
    draws = resampled(
        score, pos, neg, partial(_decompose, loss=loss), replicates, generator
    )
    mcb = _part(parts[1], draws[:, 1], level, reflected_interval)
    if parts[1] <= _by_chance(score, pos, neg, loss, level, replicates, generator):
        mcb = replace(mcb, low=0.0)
    dsc = _part(parts[2], draws[:, 2], level, debiased_interval)
    unc = _uncertainty(int(pos.sum()), int(neg.sum()), loss, level)
    skill = (dsc.value - mcb.value) / unc.value if unc.value else float("nan")
    low = max(0.0, mean - half) if np.isfinite(half) else mean
    high = mean + half if np.isfinite(half) else mean
    return ProperScore(mean, low, high, level, "normal", sd, mcb, dsc, unc, skill)


def probability_rows(t: Tally, what: str) -> tuple[Floats, Array, Array]:
    """Give score, positives and negatives of labelled rows, in ascending order."""
    _cases.some_labels(t, what)
    instead = "Calibrate first: t.map(trueness.calibrate(other_cases))."
    t = t.labelled()
    _columns.unit_scores(t.score, what, instead)
    if t.binned:
        _columns.unit_scores(t.high, what, instead)
    return t.score[::-1], t.pos[::-1], t.neg[::-1]


def pooled(
    score: Floats, pos: Array, neg: Array, most: int = MOST_ROWS
) -> tuple[Floats, Array, Array]:
    """Pool neighbouring rows to at most ``most`` cells with their mean score."""
    if score.size <= most:
        return score, pos, neg
    cases = pos + neg
    start = equal_mass(cases, most)
    total = np.add.reduceat(cases, start)
    mean = np.add.reduceat(score * cases, start) / total
    return mean, np.add.reduceat(pos, start), np.add.reduceat(neg, start)


def _mean_loss(loss: tuple[Floats, Floats], pos: Array, neg: Array) -> float:
    # a loss that nobody suffers is no loss, even an infinite one
    suffered = [x[n > 0] @ n[n > 0] for x, n in zip(loss, (neg, pos), strict=True)]
    return float(sum(suffered) / (pos.sum() + neg.sum()))


def _decompose(
    score: Floats, pos: Array, neg: Array, loss: _Loss
) -> tuple[float, float, float, float]:
    """Give S, MCB, DSC and UNC (Dimitriadis et al. 2021, eq. 5)."""
    share, start = pool_violators(pos, neg)
    block_pos, block_neg = (np.add.reduceat(x, start[:-1]) for x in (pos, neg))
    total = np.array([pos.sum()]), np.array([neg.sum()])
    prevalence = total[0] / (total[0] + total[1])
    value = _mean_loss(loss(score), pos, neg)
    recalibrated = _mean_loss(loss(share), block_pos, block_neg)
    reference = _mean_loss(loss(prevalence), *total)
    # PAVA minimises the loss: a difference below zero is rounding
    mcb, dsc = max(0.0, value - recalibrated), max(0.0, reference - recalibrated)
    return value, mcb, dsc, reference


def _mean_sd(score: Floats, pos: Array, neg: Array, loss: _Loss, mean: float) -> float:
    n = int(pos.sum() + neg.sum())
    if n < 2 or not np.isfinite(mean):
        return float("nan")
    away = [(x - mean) ** 2 for x in loss(score)]
    return float(np.sqrt(_mean_loss((away[0], away[1]), pos, neg) / (n - 1)))


def resampled(
    score: Floats,
    pos: Array,
    neg: Array,
    statistic: Callable[[Floats, Array, Array], tuple[float, ...]],
    replicates: int,
    rng: Any,
) -> Floats:
    """How do numbers of such rows vary between samples of all their cases?"""
    score, pos, neg = pooled(score, pos, neg)
    t = Tally(score, neg, pos)

    def each(neg: Array, pos: Array) -> list[tuple[float, ...]]:
        met = (np.flatnonzero(n + p)[::-1] for n, p in zip(neg, pos, strict=True))
        drawn = zip(met, neg, pos, strict=True)
        return [statistic(t.score[at], p[at], n[at]) for at, n, p in drawn]

    return bootstrap(t, each, replicates, rng, stratified=False)


def _by_chance(
    score: Floats,
    pos: Array,
    neg: Array,
    loss: _Loss,
    level: float,
    replicates: int,
    rng: Any,
) -> float:
    """Give the upper quantile of MCB when the scores are calibrated."""
    score, pos, neg = pooled(score, pos, neg)
    cases = pos + neg
    drawn = (rng.binomial(cases, score) for _ in range(replicates))
    chance = [_decompose(score, d, cases - d, loss)[1] for d in drawn]
    return float(np.quantile(chance, (1 + level) / 2))


def _uncertainty(n_pos: int, n_neg: int, loss: _Loss, level: float) -> Estimate:
    """Carry Wilson's interval of the prevalence over to the loss of saying it."""
    n = n_pos + n_neg
    share = n_pos / n
    z = NormalDist().inv_cdf((1 + level) / 2)
    centre = (n_pos + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * float(np.sqrt(n * share * (1 - share) + z * z / 4))
    ends = np.clip([share, centre - half, centre + half, 0.5], _TINY, 1 - _TINY)
    by_neg, by_pos = loss(ends)
    value, one, other, most = (ends * by_pos + (1 - ends) * by_neg).tolist()
    if n_pos in (0, n):
        value = 0.0
    # the loss is largest at 1/2
    high = most if ends[1] <= 0.5 <= ends[2] else max(one, other)
    return Estimate(value, min(one, other, value), high, level, "wilson")


def _part(
    value: float,
    draws: Floats,
    level: float,
    interval: Callable[[float, Floats, float], tuple[float, float]],
) -> Estimate:
    if not np.isfinite(value):
        return Estimate(value, value, value, level, "bootstrap")
    finite = draws[np.isfinite(draws)]
    low, high = interval(value, finite, level)
    return Estimate(value, low, high, level, "bootstrap", float(finite.std(ddof=1)))


LOSSES: dict[str, _Loss] = {"brier": _squares, "log_loss": _logs}
