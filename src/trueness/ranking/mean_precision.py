"""How many of the cases at the top are positive, on average?"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.records import Estimate
from trueness.counts.answers import of_tally
from trueness.counts.placements import pooled_moments
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.counts.weights import remark
from trueness.ranking.auc_intervals import logit_ends, student_quantile
from trueness.ranking.resampled_intervals import (
    METHODS,
    Resampling,
    checked,
    from_changes,
    resampled,
    unseen,
)


@of_tally(weights=True)
def average_precision(
    t: Tally,
    *,
    prevalence: float | None = None,
    sampling: str = "cohort",
    method: str = "logit",
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 2000,
) -> Estimate:
    r"""What is the mean precision (PPV) at the scores of the positive cases?

    .. math:: AP = \sum_k (R_k - R_{k-1}) P_k

    Parameters
    ----------
    t
        The counts; cases without a label change nothing.
    prevalence
        Share of positives at which precision is reported, taken as known; that of the
        sample when None.
    sampling
        How the cases were collected. ``"cohort"``: as they came, so that the number of
        positives is random, and the interval allows for it unless ``prevalence`` is
        given. ``"case-control"``: a fixed number of each class by design; then
        ``prevalence`` must be given.
    method
        ``"logit"`` (influence values on the logit scale), ``"bca"``, ``"bootstrap"``
        (percentiles) or ``"normal"``. The bootstrap intervals are known to lie too high
        when positives are few.
    level
        Confidence level of the interval.
    rng, replicates
        Seed and number of replicates of the bootstrap.

    Returns
    -------
    Estimate
        The value is in (0, 1]; that of a random classifier is about the prevalence.

    Notes
    -----
    The value is a sum over distinct scores without interpolation: tied cases share one
    precision. It differs from eq. 33 of Kim et al. (2021), which is the trapezoid area.
    The value is too high on average when positives are few, since every positive is
    itself among the cases flagged at its own score. The logit interval is centred at
    the value minus this bias, adds the bias to the standard error, and uses Student's
    quantile. With one positive, or AP = 1, the interval extends to the value that would
    result from cases of a kind that the sample may have missed. Measured coverage is in
    ``docs/maths/ranking.md``. The time for the value and the logit interval is O(m) for
    m distinct scores.

    References
    ----------
    Boyd, Eng, Page (2013), ECML PKDD, 451, doi:10.1007/978-3-642-40994-3_29

    Examples
    --------
    >>> t = Tally([3, 2, 1], pos=[1, 1, 0], neg=[0, 1, 2])
    >>> average_precision(t).value  # (1/1 + 2/3) / 2
    0.8333333333333333
    """
    _options.sampling(sampling, prevalence, "average_precision")
    t = t.labelled()
    _cases.both_classes(t, "average_precision")
    _options.choice(method, ("logit", *METHODS), "method")
    share = None if prevalence is None else _options.fraction(prevalence, "prevalence")

    def statistic(neg: Array, pos: Array) -> Floats:
        return _average_precisions(neg, pos, share)

    way = "bca" if method == "logit" else method
    asked = checked(statistic, way, level, rng, replicates)
    asked = asked._replace(stratified=prevalence is not None)
    if method == "logit":
        odds = 1.0 if share is None else (1 - share) / share * t.n_pos / t.n_neg
        found = (_weighted if t.weighted else _by_influence)(t, odds, asked)
    else:
        found = resampled(t, asked, method)
    notes = found.notes + remark(t)
    return replace(found, name="average precision", notes=notes)


def _average_precisions(neg: Array, pos: Array, share: float | None) -> Floats:
    tp, fp = np.cumsum(pos, axis=1), np.cumsum(neg, axis=1)
    if share is not None:  # so many negatives beside each positive
        fp = fp * ((1 - share) / share * tp[:, -1:] / np.maximum(fp[:, -1:], 1e-300))
    flagged = tp + fp
    zero = np.zeros(flagged.shape)
    precision = np.divide(tp, flagged, out=zero, where=flagged > 0)
    total, found = (pos * precision).sum(axis=1), tp[:, -1]
    # a replicate may hold no positive
    out = np.full(total.shape, np.nan)
    return np.asarray(np.divide(total, found, out=out, where=found > 0))


def _by_influence(t: Tally, odds: float, asked: Resampling) -> Estimate:
    """Make the interval on the logit scale, about the value less its bias."""
    s = _spread(t, odds, fixed=asked.stratified)
    if not s.sd > 1e-12 or s.value >= 1:
        return unseen(t, asked, s.value, "logit", s.sd)
    centre = min(max(s.value - s.bias, 1e-3 * s.value), 1 - 1e-3 * (1 - s.value))
    quantile = float(student_quantile(s.df, asked.level))
    low, high = logit_ends(centre, math.hypot(s.sd, s.bias), quantile)
    low, high = min(low, s.value), max(high, s.value)
    return Estimate(s.value, low, high, asked.level, "logit", s.sd)


class _PrecisionSpread(NamedTuple):
    """AP, how far other samples would be from it, its bias, degrees of freedom."""

    value: float
    sd: float
    bias: float
    df: float


def _spread(t: Tally, odds: float, *, fixed: bool) -> _PrecisionSpread:
    r"""How far would other samples be from this AP? One walk down the rows.

    With T true and F false positives (times the odds k) up to a row, S = T + F and
    precision T/S, one more case of row j changes P times AP by

    .. math:: l_+ = \frac{T_j}{S_j} + \sum_{i \ge j} \frac{p_i F_i}{S_i^2} - AP, \qquad
              l_- = -k \sum_{i \ge j} \frac{p_i T_i}{S_i^2},

    with p positives in a row. A sum from j on is a constant less the sum before j. When
    the class counts are fixed the means of both classes are taken off; when they are
    random nothing is, since all effects add up to zero. The bias is half the sum of the
    second derivatives by each case,

    .. math:: \frac1P \sum_i p_i \frac{F_i}{S_i^2} \left(1 - \frac{T_i}{P}
              + (k - 1) \frac{T_i}{S_i}\right).
    """
    gains, losses = [], []
    total = bias = hit = miss = 0.0
    tp = fp = 0
    for b in blocks(len(t)):
        pos, neg = t.pos[b], t.neg[b]
        tps, fps = np.cumsum(pos) + tp, np.cumsum(neg) + fp
        tp, fp = tps[-1], fps[-1]
        flagged = tps + odds * fps
        precision, share = tps / flagged, pos / flagged
        total += float((pos * precision).sum())
        hits = share * precision
        misses = share - hits
        gains.append(_moments(precision + misses - np.cumsum(misses) - miss, pos))
        losses.append(_moments(np.cumsum(hits) - hits + hit, neg))
        hit, miss = hit + float(hits.sum()), miss + float(misses.sum())
        bias += float(misses @ (1 - tps / t.n_pos + (odds - 1) * precision))
    value = total / t.n_pos
    (_, gain, up), (_, loss, down) = (
        pooled_moments(np.array(x)) for x in (gains, losses)
    )
    # the sums were taken before j: what is missing is one constant for each class
    squares = np.array([up, odds**2 * down])
    sizes = np.array([t.n_pos, t.n_neg])
    if fixed:
        squares = squares * sizes / np.maximum(sizes - 1, 1)
    else:
        means = np.array([gain + miss - value, odds * (loss - hit)])
        squares = (squares + sizes * means**2) * sizes.sum() / (sizes.sum() - 1)
    sd = math.sqrt(squares.sum()) / t.n_pos if sizes.min() > 1 else math.nan
    return _PrecisionSpread(value, sd, bias / t.n_pos, _freedom(squares, sizes))


# cells (rows times cases left out) that the jackknife of weighted cases may take
_CELLS = 1 << 21


def _weighted(t: Tally, odds: float, asked: Resampling) -> Estimate:
    r"""Make the interval of weighted cases: what does one case less change?

    To first order a case of weight w changes AP by w times the influence of
    ``_spread``, divided by P, with weights for counts. Few heavy cases at the top
    change it by much more: those whose first order is largest are left out indeed, as
    many as there is time for, in samples of up to a thousand rows all.
    """
    pos, neg, (neg2, pos2, _) = t.pos, t.neg, t.squares
    tps, fps = np.cumsum(pos), odds * np.cumsum(neg)
    flagged = tps + fps
    misses, hits = pos * fps / flagged**2, pos * tps / flagged**2
    value = float(pos @ (tps / flagged)) / t.n_pos
    gain = (tps / flagged + misses[::-1].cumsum()[::-1] - value) / t.n_pos
    loss = -odds * hits[::-1].cumsum()[::-1] / t.n_pos
    if asked.stratified:  # the weight of a class is known: its mean is taken off
        gain = gain - float(pos @ gain) / t.n_pos
        loss = loss - float(neg @ loss) / t.n_neg
    classes = [(gain, pos, pos2), (loss, neg, neg2)]
    kept = [(u[w > 0], w[w > 0], q[w > 0]) for u, w, q in classes]
    change = np.concatenate([u * q / w for u, w, q in kept])
    number = np.concatenate([w**2 / q for _, w, q in kept])
    most = max(_CELLS // len(t), 1)
    heavy = np.argsort(-np.abs(change), kind="stable")[:most]
    change[heavy] = _without(t, asked, heavy)
    return from_changes(t, asked, change, number, "logit")


def _without(t: Tally, asked: Resampling, heavy: Array) -> Floats:
    """How does AP change without one case of each of these rows of a class?"""
    rows = np.concatenate([np.flatnonzero(t.pos), np.flatnonzero(t.neg)])[heavy]
    is_pos = heavy < np.count_nonzero(t.pos)
    left = []
    for own, square, some in (
        (t.pos, t.squares[1], is_pos),
        (t.neg, t.squares[0], ~is_pos),
    ):
        whole = np.tile(own, (heavy.size, 1))
        at = rows[some]
        whole[some, at] -= square[at] / own[at]
        left.append(np.maximum(whole, 0.0))
    return asked.value(t) - asked.statistic(left[1], left[0])


def _freedom(squares: Floats, sizes: Array) -> float:
    """Give Satterthwaite's degrees of freedom, at least one."""
    doubt = float((squares**2 / np.maximum(sizes - 1, 1)).sum())
    return max(1.0, float(squares.sum()) ** 2 / doubt) if doubt > 0 else 1e9


def _moments(values: Floats, weight: Array) -> tuple[int, float, float]:
    """Give number, mean and sum of squares about the mean."""
    n = int(weight.sum())
    mean = float((weight * values).sum()) / max(n, 1)
    return n, mean, float((weight * (values - mean) ** 2).sum())
