r"""How good are the probabilities, and what part of their loss is miscalibration?

The Brier score and the log loss of a tally whose scores are probabilities, and their
decomposition by isotonic recalibration (CORP; Dimitriadis, Gneiting and Jordan 2021):

.. math:: S = \mathrm{MCB} - \mathrm{DSC} + \mathrm{UNC}

MCB is what the best increasing recalibration would gain, DSC what it then gains over
saying the prevalence to everybody, UNC the loss of saying that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.binomial import wilson
from trueness._core.isotonic import isotonic_curve, pool_violators
from trueness._core.numbers import number_of
from trueness._core.records import Answer, Estimate
from trueness.calibration.forecasts import (
    DrawRequest,
    Forecasts,
    Losses,
    mean_loss,
    probability_rows,
)
from trueness.calibration.inversion import (
    Statistic,
    by_chance,
    departures,
    doubted,
    gradients,
    inverted,
)
from trueness.calibration.likely_curves import likely_curves
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.counts.weights import equal_cases, remark

METHOD = "inverted"  # of the intervals of numbers that noise enlarges
_TINY = 2.0**-52
_Loss = Callable[[Floats], Losses]


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
    notes : tuple of str
        What to beware of; empty where there is nothing.
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
    notes: tuple[str, ...] = ()

    def __float__(self) -> float:
        """Give the value alone."""
        return self.value

    def __repr__(self) -> str:
        """Write the value with its interval, then its parts."""
        numbers = (self.value, self.low, self.high, self.level, self.method)
        line = repr(Estimate(*numbers, limits=self.limits))
        parts = [f"  {k}: {getattr(self, k)}" for k in ("mcb", "dsc", "unc")]
        notes = [f"  Note: {note}" for note in self.notes]
        return "\n".join([line, *parts, f"  skill: {self.skill:.4g}", *notes])


@of_tally(weights=True)
def brier(
    t: Tally,
    *,
    prevalence: float | None = None,
    sampling: str = "cohort",
    level: float = 0.95,
    replicates: int = 500,
    rng: Any = 0,
) -> ProperScore:
    r"""How far are the probabilities from the outcomes, as a mean squared error?

    .. math:: S = \frac1n \sum_i (p_i - y_i)^2

    Parameters
    ----------
    t
        Labelled cases whose scores are probabilities.
    prevalence
        Share of positives where the probabilities are used: the cases are weighted to
        this share, which is treated as known. By default it is the share among the
        cases.
    sampling
        How the cases were sampled: ``"cohort"`` (the number of positives is random) or
        ``"case-control"`` (fixed by design), which needs ``prevalence``.
    level
        Confidence level of the intervals.
    replicates
        Samples drawn for the intervals of the parts.
    rng
        Seed or NumPy generator.

    Notes
    -----
    The interval of the score is the normal one of a mean after one more case of each
    class is added, spread over the scores (as Agresti and Coull add four to a
    proportion): two cases that were both predicted correctly are not proof, and the
    interval never has length zero. The interval of UNC is Wilson's for the prevalence.
    Isotonic recalibration fits noise, so MCB and DSC are too large on average. Their
    intervals contain the true values under which the observed ones would not be
    unusual: samples are drawn from a family of true curves that runs from calibrated
    scores (for DSC: from no discrimination) to the isotonic curve and beyond, and the
    curves are kept under which the observed value is not rare. The interval of MCB
    starts at 0 unless MCB is above the upper quantile for labels drawn from the scores
    themselves. More than 1,000 distinct scores are pooled to 1,000 for this resampling,
    not for the values. Coverage: see the mathematics of calibration in the
    documentation.

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
    s = Forecasts.of(t, "brier", sampling, prevalence)
    ask = DrawRequest.of(level, replicates, rng)
    return _proper_score(t, s, squares, 1.0, ask)


@of_tally(weights=True)
def log_loss(
    t: Tally,
    *,
    prevalence: float | None = None,
    sampling: str = "cohort",
    level: float = 0.95,
    replicates: int = 500,
    rng: Any = 0,
) -> ProperScore:
    r"""How surprising were the outcomes, in nats per case?

    .. math:: S = -\frac1n \sum_i \left[ y_i \ln p_i + (1-y_i) \ln(1-p_i) \right]

    Parameters
    ----------
    t, prevalence, sampling, level, replicates, rng
        As in :func:`brier`.

    Notes
    -----
    A probability of 0 for an outcome that occurred gives an infinite loss, and that is
    the answer: nothing is clipped, and ``notes`` say how many such cases there are.
    Where scores of exactly 0 or 1 have all been right, the interval has no upper limit,
    because the next case may be wrong. See :func:`brier` for the intervals and the
    reference.

    Examples
    --------
    >>> import math
    >>> x = log_loss(Tally([0.5], neg=[3], pos=[1]))
    >>> math.isclose(x.value, math.log(2))
    True
    """
    s = Forecasts.of(t, "log_loss", sampling, prevalence)
    ask = DrawRequest.of(level, replicates, rng)
    return _proper_score(t, s, _logs, math.inf, ask)


def squares(p: Floats) -> tuple[Floats, Floats]:
    """Give the loss of a negative and of a positive case at each probability."""
    return p * p, (1 - p) ** 2


def _logs(p: Floats) -> tuple[Floats, Floats]:
    with np.errstate(divide="ignore"):
        return -np.log1p(-p), -np.log(p)


def decomposition(t: Tally, name: str) -> tuple[float, float, float, float]:
    """Give the mean loss of a name in ``LOSSES`` and its parts MCB, DSC and UNC."""
    return _decompose(*probability_rows(t, name), LOSSES[name])


def _proper_score(
    t: Tally, s: Forecasts, loss: _Loss, most: float, ask: DrawRequest
) -> ProperScore:
    value, mcb, dsc, _ = _decompose(*s[:3], loss)
    unc = _uncertainty(s, loss, ask.level)
    losses, few = loss(s.score), s.pooled().to_draw()
    e = s.mean(losses, ask.level, most)
    parts = (
        _miscalibration(mcb, few, loss, ask, e.high),
        _discrimination(dsc, few, loss, ask, unc),
    )
    skill = (dsc - mcb) / unc.value if unc.value else float("nan")
    notes = _infinite(s, losses) + remark(t) + s.notes
    numbers = (value, e.low, e.high, ask.level, e.method, e.sd)
    return ProperScore(*numbers, *parts, unc, skill, notes)


def _miscalibration(
    mcb: float, s: Forecasts, loss: _Loss, ask: DrawRequest, most: float
) -> Estimate:
    """Give MCB with the truths that could have shown it, on the scale of its root."""
    root, level = _rooted(1, loss), ask.level
    # MCB is a part of the loss, and cannot exceed it
    low, high = inverted(s, departures(s), root, ask, math.sqrt(most))
    drawn = by_chance(s, root, ask.replicates, ask.rng)
    # between a number and infinity, where a score of 0 was wrong, there is no middle
    way: Any = "linear" if np.isfinite(drawn).all() else "higher"
    chance = np.quantile(drawn, (1 + level) / 2, method=way)
    pairs = _paired(s, s.score, doubted(s.pos, s.neg, 0.5), loss, level)
    # isotonic regression follows noise, which takes the lower end up: a likely curve
    # does so less
    smooth = _paired(s, s.score, _likely(s), loss, level)
    certain = root(*s[:3]) <= chance
    low = 0.0 if certain else min(low**2, max(min(pairs.low, smooth.low), 0.0))
    return _part(mcb, (low, max(high**2, pairs.high)), level, most)


def _likely(s: Forecasts) -> Floats:
    """Give the mean of likely curves, which a log loss can bear."""
    return np.clip(likely_curves(s).middle, _TINY, 1 - _TINY)


def _paired(
    s: Forecasts, before: Floats, after: Floats, loss: _Loss, level: float
) -> Estimate:
    """How much less do the same cases lose by the curve ``after``, on average?

    Recalibration is where the loss is least, so that, to first order, MCB varies as the
    mean difference of the losses of the same cases does, and DSC likewise. The truths
    of ``inversion`` go in one direction only, and are too sure of themselves far from
    where they start.
    """
    pairs = zip(loss(before), loss(after), strict=True)
    by_neg, by_pos = (one - other for one, other in pairs)
    return s.mean((by_neg, by_pos), level, math.inf, -math.inf)


def _discrimination(
    dsc: float, s: Forecasts, loss: _Loss, ask: DrawRequest, unc: Estimate
) -> Estimate:
    """Give DSC with the truths that could have shown it, as shares of UNC.

    The share of positives is itself uncertain: the ends are shares of the ends of UNC,
    which DSC cannot exceed. Without a case of a class any share is possible.
    """
    family, level = gradients(s), ask.level
    whole = float(_said(family.base[:1], loss)[0])
    low, high = inverted(s, family, _rooted(2, loss), ask, math.sqrt(whole))
    if not s.pos.any() or not s.neg.any():
        high = math.sqrt(whole)
    if s.score.size == 1:  # one score for all: others may not have been met
        square = NormalDist().inv_cdf((1 + level) / 2) ** 2
        high = math.sqrt(whole * square / (s.n + square))
    # the likely curve takes up less noise, the isotonic one misses less
    doubt = 0.25 / s.n  # a share of 0 is not certain
    steps = np.clip(isotonic_curve(s.pos, s.neg), doubt, 1 - doubt)
    less, more = (_paired(s, family.base, c, loss, level) for c in (_likely(s), steps))
    low = max(min(low**2 / whole * unc.low, less.low), 0.0)
    high = max(high**2 / whole * unc.high, more.high)
    return _part(dsc, (low, high), level, max(unc.high, dsc))


def _rooted(part: int, loss: _Loss) -> Statistic:
    """Give the root of a part: squares of noise are far from normal, roots are not."""
    return lambda score, pos, neg: math.sqrt(_decompose(score, pos, neg, loss)[part])


def _infinite(s: Forecasts, losses: Losses) -> tuple[str, ...]:
    """Say why a loss is, or may be, infinite."""
    if np.isfinite(losses[0]).all() and np.isfinite(losses[1]).all():
        return ()
    score, (pos, neg) = s.score, s.met
    wrong = pos[score == 0].sum(), neg[score == 1].sum()
    instead = (
        "Use probabilities between 0 and 1, both excluded: "
        "t.map(trueness.calibrate(other_cases)), or clip the scores and report it."
    )
    if any(wrong):
        return (
            "The loss is infinite, because some predictions were certain and wrong "
            f"(positives with a score of exactly 0: {number_of(wrong[0])}; negatives "
            f"with exactly 1: {number_of(wrong[1])}). {instead}",
        )
    sure = number_of((pos + neg)[(score == 0) | (score == 1)].sum())
    weighted = s.squares is not None and s.fixed is None
    many = f"Cases with a weight of {sure}" if weighted else f"{sure} cases"
    return (
        f"{many} have a score of exactly 0 or 1 and are all right; a single wrong one "
        "would make the loss infinite, so the interval has no upper end. "
        f"{instead}",
    )


def _decompose(
    score: Floats, pos: Array, neg: Array, loss: _Loss
) -> tuple[float, float, float, float]:
    """Give S, MCB, DSC and UNC (Dimitriadis et al. 2021, eq. 5)."""
    share, start = pool_violators(pos, neg)
    block_pos, block_neg = (np.add.reduceat(x, start[:-1]) for x in (pos, neg))
    total = np.array([pos.sum()]), np.array([neg.sum()])
    prevalence = total[0] / (total[0] + total[1])
    value = mean_loss(loss(score), pos, neg)
    recalibrated = mean_loss(loss(share), block_pos, block_neg)
    reference = mean_loss(loss(prevalence), *total)
    # PAVA minimises the loss: a difference below zero is rounding
    mcb, dsc = max(0.0, value - recalibrated), max(0.0, reference - recalibrated)
    return value, mcb, dsc, reference


def _said(share: Floats, loss: _Loss) -> Floats:
    """Give the mean loss of saying a share of positives to everybody, if it is true."""
    by_neg, by_pos = loss(share)
    return share * by_pos + (1 - share) * by_neg


def _uncertainty(s: Forecasts, loss: _Loss, level: float) -> Estimate:
    """Carry Wilson's interval of the prevalence over to the loss of saying it."""
    if s.fixed is not None:
        value = float(_said(np.array([s.fixed.share]), loss)[0])
        return Estimate(value, value, value, level, "share given")
    share, n = float(s.pos.sum()) / s.n, s.n
    if s.squares is not None:  # of as many equal cases as the share varies like
        yes, no = (float(q.sum()) for q in s.squares)
        n = float(equal_cases(share, s.n, yes, no, (yes + no) / s.n))
    low, high = wilson(share * n, n, level)
    ends = np.clip([share, low, high, 0.5], _TINY, 1 - _TINY)
    value, one, other, most = _said(ends, loss).tolist()
    if share in (0, 1):
        value = 0.0
    # the loss is largest at 1/2
    largest = most if ends[1] <= 0.5 <= ends[2] else max(one, other)
    return Estimate(value, min(one, other, value), largest, level, "wilson")


def _part(
    value: float, ends: tuple[float, float], level: float, most: float
) -> Estimate:
    """Put an interval about a part; it holds the value, and nothing impossible."""
    if not np.isfinite(value):
        return Estimate(value, value, most, level, METHOD)
    low, high = ends
    return Estimate(value, min(low, value), max(min(high, most), value), level, METHOD)


LOSSES: dict[str, _Loss] = {"brier": squares, "log_loss": _logs}
