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
from trueness._core.checks import options as _options
from trueness._core.isotonic import isotonic_curve, pool_violators
from trueness._core.records import Answer, Estimate
from trueness.calibration.drawn_labels import (
    by_chance,
    pooled_columns,
    probability_rows,
)
from trueness.calibration.fixed_shares import (
    FixedShare,
    fixed_share,
    noted,
    weighed,
)
from trueness.calibration.inversion import (
    Draws,
    departures,
    doubted,
    gradients,
    inverted,
)
from trueness.calibration.likely_curves import Rows, likely_curves
from trueness.calibration.mean_losses import (
    Squares,
    effective_cases,
    mean_estimate,
    mean_loss,
    squared_rows,
)
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.counts.weights import (
    equal_cases,
    remark,
    whole_draws,
)

METHOD = "inverted"  # of the intervals of numbers that noise enlarges


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
    fixed = fixed_share(t, sampling, prevalence, "brier")
    return _proper_score(t, "brier", fixed, level, replicates, rng)


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
    fixed = fixed_share(t, sampling, prevalence, "log_loss")
    return _proper_score(t, "log_loss", fixed, level, replicates, rng)


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
    t: Tally,
    name: str,
    fixed: FixedShare | None,
    level: float,
    replicates: int,
    rng: Any,
) -> ProperScore:
    loss = LOSSES[name]
    score, *counts = probability_rows(t, name)
    pos, neg = weighed(fixed, counts[0], counts[1])
    level = _options.fraction(level, "level")
    replicates = _options.whole_number(replicates, "replicates", at_least=20)
    generator = _options.generator(rng)
    value, mcb, dsc, _ = _decompose(score, pos, neg, loss)
    losses, most = loss(score), _MOST[name]
    squares = squared_rows(t)
    rows, drawn = _drawn_rows(score, pos, neg, squares)
    draws: Draws | FixedShare | None = drawn if fixed is None else fixed
    if fixed is None:
        unc = _uncertainty(*_as_cases(pos, neg, squares), loss, level)
        e = mean_estimate(losses, neg, pos, level, most[0], squares=squares)
    else:
        unc = _known_uncertainty(fixed.share, loss, level)
        e = fixed.mean(losses, (counts[0], counts[1]), level, most[0])
    asked = (loss, level, replicates, generator)
    parts = [
        _miscalibration(mcb, rows, *asked, e.high, draws),
        _discrimination(dsc, rows, *asked, unc, draws),
    ]
    skill = (dsc - mcb) / unc.value if unc.value else float("nan")
    notes = _infinite(score, counts[0], counts[1], losses) + remark(t) + noted(fixed)
    numbers = (value, e.low, e.high, level, e.method, e.sd)
    return ProperScore(*numbers, parts[0], parts[1], unc, skill, notes)


def _miscalibration(
    mcb: float,
    rows: Rows,
    loss: _Loss,
    level: float,
    replicates: int,
    rng: Any,
    most: float,
    draws: Draws | FixedShare | None = None,
) -> Estimate:
    """Give MCB with the truths that could have shown it, on the scale of its root."""
    seen = _rooted(1, loss)(*rows)[0]
    # MCB is a part of the loss, and cannot exceed it
    ask = (_rooted(1, loss), _rooted(1, loss), level, replicates, rng, math.sqrt(most))
    ((low, high),) = inverted(np.array([seen]), rows, departures(rows), *ask, draws)
    chance = by_chance(*rows, _rooted(1, loss), level, replicates, rng, draws)[0]
    pairs = _paired(rows, rows[0], doubted(rows[1], rows[2], 0.5), loss, level, draws)
    # isotonic regression follows noise, which takes the lower end up: a likely curve
    # does so less
    smooth = _paired(rows, rows[0], _likely(rows, draws), loss, level, draws)
    low = 0.0 if seen <= chance else min(low**2, max(min(pairs.low, smooth.low), 0.0))
    return _part(mcb, (low, max(high**2, pairs.high)), level, most)


def _likely(rows: Rows, draws: Draws | FixedShare | None) -> Floats:
    """Give the mean of likely curves, which a log loss can bear."""
    fixed = draws if isinstance(draws, FixedShare) else None
    return np.clip(likely_curves(rows, fixed).middle, _TINY, 1 - _TINY)


def _paired(
    rows: Rows,
    before: Floats,
    after: Floats,
    loss: _Loss,
    level: float,
    draws: Draws | FixedShare | None,
) -> Estimate:
    """How much less do the same cases lose by the curve ``after``, on average?

    Recalibration is where the loss is least, so that, to first order, MCB varies as the
    mean difference of the losses of the same cases does, and DSC likewise. The truths
    of ``inversion`` go in one direction only, and are too sure of themselves far from
    where they start.
    """
    _, pos, neg = rows
    pairs = zip(loss(before), loss(after), strict=True)
    by_neg, by_pos = (one - other for one, other in pairs)
    if isinstance(draws, FixedShare):
        counts = pos / draws.weights[0], neg / draws.weights[1]
        return draws.mean((by_neg, by_pos), counts, level, math.inf, -math.inf)
    return mean_estimate((by_neg, by_pos), neg, pos, level, math.inf, -math.inf)


def _discrimination(
    dsc: float,
    rows: Rows,
    loss: _Loss,
    level: float,
    replicates: int,
    rng: Any,
    unc: Estimate,
    draws: Draws | FixedShare | None = None,
) -> Estimate:
    """Give DSC with the truths that could have shown it, as shares of UNC.

    The share of positives is itself uncertain: the ends are shares of the ends of UNC,
    which DSC cannot exceed. Without a case of a class any share is possible.
    """
    family = gradients(rows)
    base = family.base[:1]
    by_neg, by_pos = loss(base)
    whole = float((base * by_pos + (1 - base) * by_neg)[0])
    ask = (_rooted(2, loss), _rooted(2, loss), level, replicates, rng, math.sqrt(whole))
    seen = np.array(_rooted(2, loss)(*rows))
    ((low, high),) = inverted(seen, rows, family, *ask, draws)
    if not rows[1].any() or not rows[2].any():
        high = math.sqrt(whole)
    if rows[0].size == 1:  # one score for all: others may not have been met
        square, n = NormalDist().inv_cdf((1 + level) / 2) ** 2, rows[1] + rows[2]
        high = math.sqrt(whole * square / (float(n[0]) + square))
    # the likely curve takes up less noise, the isotonic one misses less
    doubt = 0.25 / float(rows[1].sum() + rows[2].sum())  # a share of 0 is not certain
    steps = np.clip(isotonic_curve(rows[1], rows[2]), doubt, 1 - doubt)
    curves = _likely(rows, draws), steps
    less, more = (_paired(rows, family.base, c, loss, level, draws) for c in curves)
    low = max(min(low**2 / whole * unc.low, less.low), 0.0)
    high = max(high**2 / whole * unc.high, more.high)
    return _part(dsc, (low, high), level, max(unc.high, dsc))


def _rooted(part: int, loss: _Loss) -> Callable[[Floats, Array, Array], tuple[float]]:
    """Give the root of a part: squares of noise are far from normal, roots are not."""

    def of(score: Floats, pos: Array, neg: Array) -> tuple[float]:
        return (math.sqrt(_decompose(score, pos, neg, loss)[part]),)

    return of


def _as_cases(pos: Array, neg: Array, squares: Squares | None) -> tuple[float, float]:
    """Give both classes, of as many equal cases as their share varies like."""
    n_pos, n_neg = float(pos.sum()), float(neg.sum())
    if squares is None:
        return n_pos, n_neg
    share, total = n_pos / (n_pos + n_neg), n_pos + n_neg
    yes, no = float(squares[0].sum()), float(squares[1].sum())
    cases = float(equal_cases(share, total, yes, no, (yes + no) / total))
    return share * cases, (1 - share) * cases


def _drawn_rows(
    score: Floats, pos: Array, neg: Array, squares: Squares | None
) -> tuple[tuple[Floats, Array, Array], Draws | None]:
    """Give few rows, and of weighted ones as what they are drawn.

    Weights are scaled to their effective number, so that a case is about one case.
    """
    mean, (pos, neg, *more) = pooled_columns(score, [pos, neg, *(squares or ())])
    if squares is None:
        return (mean, pos, neg), None
    scale = effective_cases(pos, neg, (more[0], more[1])) / float(pos.sum() + neg.sum())
    number, each = whole_draws(pos + neg, more[0] + more[1])
    return (mean, pos * scale, neg * scale), (number, each * scale)


def _infinite(
    score: Floats, pos: Array, neg: Array, losses: tuple[Floats, Floats]
) -> tuple[str, ...]:
    """Say why a loss is, or may be, infinite."""
    if np.isfinite(losses[0]).all() and np.isfinite(losses[1]).all():
        return ()
    wrong = int(pos[score == 0].sum()), int(neg[score == 1].sum())
    instead = (
        "Use probabilities between 0 and 1, both excluded: "
        "t.map(trueness.calibrate(other_cases)), or clip the scores and report it."
    )
    if any(wrong):
        return (
            "The loss is infinite, because some predictions were certain and wrong "
            f"(positives with a score of exactly 0: {wrong[0]:,}; negatives with "
            f"exactly 1: {wrong[1]:,}). {instead}",
        )
    sure = int((pos + neg)[(score == 0) | (score == 1)].sum())
    return (
        f"{sure:,} cases have a score of exactly 0 or 1 and are all right; a single "
        "wrong one would make the loss infinite, so the interval has no upper end. "
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


def _uncertainty(n_pos: float, n_neg: float, loss: _Loss, level: float) -> Estimate:
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


def _known_uncertainty(share: float, loss: _Loss, level: float) -> Estimate:
    """Give the loss of saying a share that was given to everybody."""
    by_neg, by_pos = loss(np.array([share]))
    value = float((share * by_pos + (1 - share) * by_neg)[0])
    return Estimate(value, value, value, level, "share given")


def _part(
    value: float, ends: tuple[float, float], level: float, most: float
) -> Estimate:
    """Put an interval about a part; it holds the value, and nothing impossible."""
    if not np.isfinite(value):
        return Estimate(value, value, most, level, METHOD)
    low, high = ends
    return Estimate(value, min(low, value), max(min(high, most), value), level, METHOD)


LOSSES: dict[str, _Loss] = {"brier": squares, "log_loss": _logs}


# the largest score (and MCB), and the largest UNC, which DSC cannot exceed
_MOST = {"brier": (1.0, 0.25), "log_loss": (math.inf, math.log(2))}
