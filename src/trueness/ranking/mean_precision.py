"""How many of the cases at the top are positive, on average?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.records import Estimate
from trueness.counts.answers import of_tally
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.counts.weights import remark
from trueness.ranking.resampled_intervals import (
    Resampling,
    SkewedSpread,
    checked,
    from_changes,
    inside,
    jackknifed,
    resampled,
    skewed,
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
    result from cases of a kind that the sample may have missed. Few heavy negatives
    make AP too high where they were missed, of weighted cases and of case-control
    samples with a larger share of positives than ``prevalence``: the interval is then
    made about an estimate with the negatives spread out between their neighbours.
    Measured coverage is in ``docs/maths/ranking.md`` and ``weights.md``. The time for
    the value and the logit interval is O(m) for m distinct scores.

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
    share = None if prevalence is None else _options.fraction(prevalence, "prevalence")

    def statistic(neg: Array, pos: Array) -> Floats:
        return _average_precisions(neg, pos, share)

    asked = checked(statistic, method, level, rng, replicates)
    asked = asked._replace(stratified=prevalence is not None)
    if method == "logit":
        odds = 1.0 if share is None else (1 - share) / share * t.n_pos / t.n_neg
        found = (
            _weighted(t, odds, asked, share)
            if t.weighted or (sampling == "case-control" and _rare(t, odds))
            else _by_jackknife(t, odds, asked)
        )
    else:
        found = resampled(t, asked, method)
    notes = found.notes + remark(t)
    return replace(found, name="average precision", notes=notes)


def _average_precisions(
    neg: Array, pos: Array, share: float | None, *, spread: bool = False
) -> Floats:
    tp, fp = np.cumsum(pos, axis=1), np.cumsum(neg, axis=1)
    if spread:
        place, step = _gaps(pos, neg, tp, fp)
        fp = fp + place * step
    if share is not None:  # so many negatives beside each positive
        fp = fp * ((1 - share) / share * tp[:, -1:] / np.maximum(fp[:, -1:], 1e-300))
    flagged = tp + fp
    zero = np.zeros(flagged.shape)
    precision = np.divide(tp, flagged, out=zero, where=flagged > 0)
    total, found = (pos * precision).sum(axis=1), tp[:, -1]
    # a replicate may hold no positive
    out = np.full(total.shape, np.nan)
    return np.asarray(np.divide(total, found, out=out, where=found > 0))


def _rare(t: Tally, odds: float) -> bool:
    """Does a negative count more than a positive, by design, and are there several?"""
    return odds > 1 and min(t.n_pos, t.n_neg) > 1


def _by_jackknife(t: Tally, odds: float, asked: Resampling) -> Estimate:
    """Make the interval on the logit scale, about the value less its bias."""
    if min(t.n_pos, t.n_neg) < 2:
        return unseen(t, asked, asked.value(t), "logit", math.nan)
    return skewed(t, asked, _left_out(t, odds, fixed=asked.stratified), "logit")


class _Walk(NamedTuple):
    """The rows of a block: positives, negatives, both down to a row, terms of AP."""

    pos: Array
    neg: Array
    tp: Array
    fp: Array
    kept: list[Floats]  # terms of rows above a positive, and a negative, left out
    cut: list[Floats]  # terms of its own row and those below


def _walk(t: Tally, odds: Floats) -> Iterator[_Walk]:
    """Go down the rows; the two odds are those without a positive, and a negative."""
    tp = fp = 0
    for b in blocks(len(t)):
        pos, neg = t.pos[b], t.neg[b]
        tps, fps = np.cumsum(pos) + tp, np.cumsum(neg) + fp
        tp, fp = tps[-1], fps[-1]
        kept = [pos * tps / np.maximum(tps + k * fps, 1e-300) for k in odds]
        less = np.maximum(tps - 1, 0), np.maximum(fps - 1, 0)
        under = np.maximum(less[0] + odds[0] * fps, 1e-300)
        other = np.maximum(tps + odds[1] * less[1], 1e-300)
        cut = [pos * less[0] / under, pos * tps / other]
        yield _Walk(pos, neg, tps, fps, kept, cut)


def _left_out(t: Tally, odds: float, *, fixed: bool) -> SkewedSpread:
    r"""How does AP change without each of the cases? Two walks down the rows.

    With T true and F false positives up to a row, P times AP is the sum of
    :math:`p_i T_i / (T_i + k F_i)` over rows with p positives. Without one positive of
    row j, the terms below j are :math:`p_i (T_i - 1) / (T_i - 1 + k F_i)`; without one
    negative :math:`p_i T_i / (T_i + k (F_i - 1))`: sums down to j and from j on give
    the jackknife exactly, in O(m). When the class counts are fixed, each class is a
    sample of its own, and k, the odds by which negatives count, changes with its size.
    """
    n_pos, n_neg = int(t.n_pos), int(t.n_neg)
    sizes = np.array([n_pos, n_neg])
    each = np.array([(n_pos - 1) / n_pos, n_neg / (n_neg - 1)]) if fixed else np.ones(2)
    value, below, means = _whole_and_means(t, odds, odds * each)
    n = sizes.sum()
    if fixed:
        bias = float((sizes - 1) @ (means - value))
    else:
        means = np.full(2, sizes @ means / n)
        bias = float((n - 1) * (means[0] - value))
    powers, second = _changes(t, odds, odds * each, below, means, value)
    lost = (sizes - 1) / sizes if fixed else np.full(2, (n - 1) / n)
    variance = float(lost @ powers[:, 0])
    return jackknifed(value, variance, bias, powers.sum(axis=0), second, float(n))


def _whole_and_means(
    t: Tally, odds: float, each: Floats
) -> tuple[float, Floats, Floats]:
    """Give AP, the sums of all terms with a case less, and the mean AP without one.

    Counted by terms, not by cases: a term is kept as it is for the cases below it and
    cut for those above.
    """
    total, below, means = 0.0, np.zeros(2), np.zeros(2)
    n_pos, n_neg = int(t.n_pos), int(t.n_neg)
    for w in _walk(t, each):
        whole = w.pos * w.tp / np.maximum(w.tp + odds * w.fp, 1e-300)
        total += float(whole.sum())
        below += [float(cut.sum()) for cut in w.cut]
        above = w.tp - 1, w.fp  # a positive is cut by all others, not by itself
        means[0] += float(w.kept[0] @ (n_pos - w.tp) + w.cut[0] @ above[0])
        means[1] += float(w.kept[1] @ (n_neg - w.fp) + w.cut[1] @ above[1])
    means /= np.array([n_pos * (n_pos - 1), n_neg * n_pos], np.float64)
    return total / n_pos, below, means


def _changes(
    t: Tally,
    odds: float,
    each: Floats,
    below: Floats,
    means: Floats,
    value: float,
) -> tuple[Floats, float]:
    r"""Give sums of powers 2, 3, 4 of the changes by class, and AP's second derivative.

    It is taken in the direction d of the changes, with counts :math:`p (1 + h d)`: with
    :math:`X = k (T' F - T F') / S^2` the slope of T/S,

    .. math:: A' = \sum p (d\,T/S + X), \quad A'' = \sum 2 p X (d - S'/S), \quad
        AP'' = \frac{A''}{P} - \frac{2 A' P'}{P^2} + \frac{2\,AP\,P'^2}{P^2}.
    """
    powers = np.zeros((2, 3))
    kept, cut, turned = np.zeros(2), np.zeros(2), np.zeros(2)
    first = second = 0.0
    n_pos = int(t.n_pos)
    for w in _walk(t, each):
        d = []
        for k, size in enumerate((n_pos - 1, n_pos)):
            up, down = np.cumsum(w.kept[k]), np.cumsum(w.cut[k])
            left = kept[k] + up - w.kept[k] + below[k] - cut[k] - down + w.cut[k]
            if k == 0:  # the case itself is gone from its row
                left = left - w.cut[0] / np.maximum(w.pos, 1)
            d.append(means[k] - left / size)
            kept[k] += up[-1]
            cut[k] += down[-1]
        counts = w.pos, w.neg
        for k in (0, 1):
            square = counts[k] * d[k] ** 2
            powers[k] += [float(square.sum()), square @ d[k], square @ d[k] ** 2]
        tps, fps = (
            np.cumsum(c * x) + y for c, x, y in zip(counts, d, turned, strict=True)
        )
        turned = np.array([tps[-1], fps[-1]])
        flagged = np.maximum(w.tp + odds * w.fp, 1e-300)
        slope = odds * (tps * w.fp - w.tp * fps) / flagged**2
        first += float(w.pos @ (d[0] * w.tp / flagged + slope))
        second += float(2 * w.pos * slope @ (d[0] - (tps + odds * fps) / flagged))
    more = turned[0] / n_pos
    return powers, second / n_pos - 2 * first / n_pos * more + 2 * value * more**2


# cells (rows times cases left out) that the jackknife of weighted cases may take
_CELLS = 1 << 21


def _weighted(
    t: Tally, odds: float, asked: Resampling, share: float | None
) -> Estimate:
    r"""Make the interval of weighted cases: what does one case less change?

    AP of few negatives at the top is too large, and most where they have been missed:
    then neither its error nor its bias shows it. So the interval is made for the AP
    with the negatives spread out by :func:`_gaps`, which is much less biased, and holds
    AP itself.

    To first order a case of weight w changes it by w times its influence. Few heavy
    cases at the top change it by much more: those whose first order is largest are left
    out indeed, as many as there is time for, in samples of up to a thousand rows all.
    """
    value = asked.value(t)
    if value >= 1:  # no negative was met above a positive
        return unseen(t, asked, value, "logit")
    spread = partial(_average_precisions, share=share, spread=True)
    even = asked._replace(statistic=spread)
    neg2, pos2, _ = t.squares
    gain, loss = _influence(t, odds)
    if asked.stratified:  # the weight of a class is known: its mean is taken off
        gain = gain - float(t.pos @ gain) / t.n_pos
        loss = loss - float(t.neg @ loss) / t.n_neg
    classes = [(gain, t.pos, pos2), (loss, t.neg, neg2)]
    # squares of the smallest weights vanish: such cases do not count
    kept = [(u[q > 0], w[q > 0], q[q > 0]) for u, w, q in classes]
    change = np.concatenate([u * q / w for u, w, q in kept])
    number = np.concatenate([w**2 / q for _, w, q in kept])
    most = max(_CELLS // len(t), 1)
    heavy = np.argsort(-np.abs(change), kind="stable")[:most]
    change[heavy] = _without(t, even, heavy)
    found = from_changes(t, even, change, number, "logit")
    return inside(asked, value, found.low, found.high, found.method, found.sd)


def _gaps(pos: Array, neg: Array, tp: Array, fp: Array) -> tuple[Floats, Floats]:
    """Where between two negatives is a positive, and how heavy is the lower of them?

    Above the first negative a sample shows none, though a larger one would: the false
    positive rate grows there as it does between two others. With the curve a straight
    line from negative to negative, a positive in the middle of a gap has half of the
    next negative above it. Nothing is between rows of both classes, or below the last
    negative. (r, m)
    """
    met = neg > 0
    above = np.maximum.accumulate(np.where(met, tp, 0.0), axis=1)
    down = [
        np.minimum.accumulate(np.where(met, c, np.inf)[:, ::-1], axis=1)[:, ::-1]
        for c in (tp, fp)
    ]
    between = ~met & np.isfinite(down[1])
    wide = np.where(between, down[0] - above, 1.0)
    place = (tp - pos / 2 - above) / np.maximum(wide, 1e-300)
    step = np.where(between, down[1], fp) - fp
    return np.where(between, place, 0.0), step


def _influence(t: Tally, odds: float) -> tuple[Floats, Floats]:
    """How does a unit of weight, of a positive and of a negative, change the AP?

    Of negatives spread out: one adds to its gap, too. How the places of positives in a
    gap change is left out; by Euler's theorem that adds up to nothing.
    """
    tps, fps = np.cumsum(t.pos), np.cumsum(t.neg)
    place, step = (x[0] for x in _gaps(*(c[None] for c in (t.pos, t.neg, tps, fps))))
    fps = odds * (fps + place * step)
    flagged = tps + fps
    misses, hits = t.pos * fps / flagged**2, t.pos * tps / flagged**2
    value = float(t.pos @ (tps / flagged)) / t.n_pos
    gain = tps / flagged + misses[::-1].cumsum()[::-1] - value
    loss, met = hits[::-1].cumsum()[::-1], t.neg > 0
    loss[met] += np.diff(np.cumsum(place * hits)[met], prepend=0.0)
    return gain / t.n_pos, -odds * loss / t.n_pos


def _without(t: Tally, asked: Resampling, heavy: Array) -> Floats:
    """How does AP change without one case of each of these rows of a class?"""
    neg2, pos2, _ = t.squares
    rows = np.concatenate([np.flatnonzero(pos2), np.flatnonzero(neg2)])[heavy]
    is_pos = heavy < np.count_nonzero(pos2)
    left = []
    for own, square, some in (
        (t.pos, pos2, is_pos),
        (t.neg, neg2, ~is_pos),
    ):
        whole = np.tile(own, (heavy.size, 1))
        at = rows[some]
        rest = own[at] - square[at] / own[at]
        # of a row's only case nothing is left, not even a rounding
        whole[some, at] = np.where(rest > 1e-9 * own[at], rest, 0.0)
        left.append(whole)
    return asked.value(t) - asked.statistic(left[1], left[0])
