"""How good is a classifier over the part of the curve that matters?

``partial_auc`` looks at a range of false or true positive rates, or both;
``average_precision`` at the flagged cases. Both come with intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.records import Estimate
from trueness.counts.answers import of_tally
from trueness.counts.placements import grouped, runs
from trueness.counts.resampling import (
    Seed,
    bca_interval,
    bootstrap,
    percentile_interval,
)
from trueness.counts.values import Tally

Range = tuple[float, float]
Statistic = Callable[[Array, Array], Floats]


class _Box(NamedTuple):
    """Which part of the ROC plane is looked at, and from which side?"""

    fpr: Range
    tpr: Range
    sideways: bool  # measured along the TPR axis, to the right of the curve

    @property
    def best(self) -> float:
        return (self.fpr[1] - self.fpr[0]) * (self.tpr[1] - self.tpr[0])


@of_tally
def partial_auc(
    t: Tally,
    *,
    fpr: Range | None = None,
    tpr: Range | None = None,
    corrected: bool = False,
    method: str = "bca",
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 2000,
) -> Estimate:
    r"""How good is a classifier over the part of the ROC curve that matters?

    .. math:: \int_{f_0}^{f_1} \mathrm{tpr}\,d\mathrm{fpr}, \qquad
              \int_{t_0}^{t_1} (1 - \mathrm{fpr})\,d\mathrm{tpr}, \qquad
              \int_{f_0}^{f_1} [\min(\mathrm{tpr}, t_1) - t_0]_+\,d\mathrm{fpr}

    Parameters
    ----------
    t
        The counts; cases without a label change nothing.
    fpr
        Range of false positive rates, for example (0, 0.1).
    tpr
        Range of true positive rates. Alone: the area to the right of the curve, whose
        height is specificity. With ``fpr``: the area under the curve inside the box
        (two-way).
    corrected
        McClish's scale: 1/2 for a random classifier, 1 for an ideal one.
    method
        ``"bca"``, ``"bootstrap"`` (percentiles) or ``"normal"`` (bootstrap error).
    level
        Confidence level of the interval.
    rng, replicates
        Seed and number of replicates of the stratified bootstrap.

    Returns
    -------
    Estimate
        The area, at most the size of the box; with ``corrected`` up to 1, and below 1/2
        where the curve lies under the diagonal.

    Notes
    -----
    Ties are drawn as straight lines. Where no replicate differs (a perfect part of the
    curve), the interval reaches to the value that the tally would have with one more
    positive at the bottom and one more negative at the top. The bootstrap draws at most
    2000 corners of the curve: beyond that neighbours are joined.

    References
    ----------
    McClish (1989), Med. Decis. Making 9:190, doi:10.1177/0272989X8900900307;
    Yang, Lu, Lyu, Hu (2019), Stat. Med. 38:1855, for the two-way area.

    Examples
    --------
    >>> t = Tally([3, 2, 1], pos=[2, 1, 1], neg=[0, 1, 3])
    >>> partial_auc(t, fpr=(0, 0.25)).value  # 0.25 * (0.5 + 0.75) / 2
    0.15625
    """
    t = t.labelled()
    _cases.both_classes(t, "partial_auc")
    # a run of one class is a straight part of the curve: one row is enough
    t = _rows(*runs(t))
    box, statistic = _area_inside(fpr, tpr, corrected)
    name = f"{method}, McClish" if corrected else method
    highest = 1.0 if corrected else box.best
    drawn_from = _rows(*grouped(t.neg, t.pos, _FINE))
    return _resampled(
        t, statistic, method, name, level, rng, replicates, highest, drawn_from
    )


def partial_area(
    t: Tally,
    *,
    fpr: Range | None = None,
    tpr: Range | None = None,
    corrected: bool = False,
) -> float:
    """How large is the area inside the box? The value of :func:`partial_auc` alone."""
    _, statistic = _area_inside(fpr, tpr, corrected)
    neg, pos = runs(t)
    return float(statistic(neg[None], pos[None])[0])


def _area_inside(fpr: Any, tpr: Any, corrected: bool) -> tuple[_Box, Statistic]:
    box = _box(fpr, tpr)
    scale = _mcclish(box) if corrected else (0.0, 1.0)

    def statistic(neg: Array, pos: Array) -> Floats:
        return scale[0] + scale[1] * _areas(neg, pos, box)

    return box, statistic


# more corners than this are joined for the bootstrap, not for the value
_FINE = 2000


def _rows(neg: Array, pos: Array) -> Tally:
    return Tally(np.arange(neg.size, 0, -1), neg, pos)


def _box(fpr: Any, tpr: Any) -> _Box:
    if fpr is None and tpr is None:
        raise InputError(
            "partial_auc needs a part of the curve: fpr=(0, 0.1), tpr=(0.9, 1) or both."
        )
    rates = _options.share_range(fpr, "fpr") if fpr is not None else (0.0, 1.0)
    heights = _options.share_range(tpr, "tpr") if tpr is not None else (0.0, 1.0)
    return _Box(rates, heights, sideways=fpr is None)


def _areas(neg: Array, pos: Array, box: _Box) -> Floats:
    """Give the area inside the box for each row of counts (r, m)."""
    x, y = _steps(neg), _steps(pos)
    if box.sideways:
        # seen from the other side: specificity over the miss rate, read backwards
        x, y = 1 - y[:, ::-1], 1 - x[:, ::-1]
        wide, high = (1 - box.tpr[1], 1 - box.tpr[0]), (0.0, 1.0)
    else:
        wide, high = box.fpr, box.tpr
    return _clipped_area(x, y, wide, high)


def _steps(count: Array) -> Floats:
    """Give cumulative shares, with a zero in front."""
    total = np.zeros((len(count), count.shape[1] + 1))
    np.cumsum(count, axis=1, out=total[:, 1:])
    total /= total[:, -1:]
    return total


def _clipped_area(x: Floats, y: Floats, wide: Range, high: Range) -> Floats:
    """Integrate min(max(y - low, 0), high - low) over x from wide[0] to wide[1]."""
    x0, x1, y0, y1 = x[:, :-1], x[:, 1:], y[:, :-1], y[:, 1:]
    width = x1 - x0
    slope = np.divide(y1 - y0, width, out=np.zeros_like(width), where=width > 0)
    a, b = np.clip(x0, *wide), np.clip(x1, *wide)
    ya, yb = y0 + slope * (a - x0), y0 + slope * (b - x0)
    part = _excess(ya, yb, b - a, high[0]) - _excess(ya, yb, b - a, high[1])
    return np.asarray(part.sum(axis=1))


def _excess(ya: Floats, yb: Floats, width: Floats, level: float) -> Floats:
    """Give the area of a rising segment above a level."""
    above_a, above_b = np.maximum(ya - level, 0), np.maximum(yb - level, 0)
    rise = yb - ya
    share = np.divide(above_b - above_a, rise, out=np.ones_like(rise), where=rise > 0)
    # a segment that crosses the level is above it over a share of its width only
    crossing = width * share * (above_a + above_b) / 2
    return np.where(rise > 0, crossing + width * (1 - share) * above_a, width * above_a)


def _mcclish(box: _Box) -> tuple[float, float]:
    """Give shift and factor that take chance to 1/2 and the ideal to 1."""
    line = np.array([[1]])
    chance = float(_areas(line, line, box)[0])
    factor = 0.5 / (box.best - chance)
    return 0.5 - factor * chance, factor


@of_tally
def average_precision(
    t: Tally,
    *,
    prevalence: float | None = None,
    method: str = "logit",
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 2000,
) -> Estimate:
    r"""Which precision does a positive case find at its own score, on average?

    .. math:: AP = \sum_k (R_k - R_{k-1}) P_k

    Parameters
    ----------
    t
        The counts; cases without a label change nothing.
    prevalence
        Share of positives for which precision is meant; that of the sample when None.
    method
        ``"logit"`` (influence values on the logit scale), ``"bca"``, ``"bootstrap"``
        (percentiles) or ``"normal"``. The bootstrap ones are known to sit too high when
        positives are few.
    level
        Confidence level of the interval.
    rng, replicates
        Seed and number of replicates of the stratified bootstrap.

    Returns
    -------
    Estimate
        In (0, 1]; a random classifier has about the prevalence.

    Notes
    -----
    A sum over distinct scores without interpolation: tied cases share one precision.
    Differs from eq. 33 of Kim et al. (2021), which is the trapezoid area. The class
    counts are taken as given. O(m) for the value and the logit interval.

    References
    ----------
    Boyd, Eng, Page (2013), ECML PKDD, 451, doi:10.1007/978-3-642-40994-3_29

    Examples
    --------
    >>> t = Tally([3, 2, 1], pos=[1, 1, 0], neg=[0, 1, 2])
    >>> average_precision(t).value  # (1/1 + 2/3) / 2
    0.8333333333333333
    """
    t = t.labelled()
    _cases.both_classes(t, "average_precision")
    odds = 1.0
    if prevalence is not None:
        share = _options.fraction(prevalence, "prevalence")
        odds = (1 - share) / share * t.n_pos / t.n_neg

    def statistic(neg: Array, pos: Array) -> Floats:
        return _average_precisions(neg, pos, odds)

    if method != "logit":
        return _resampled(t, statistic, method, method, level, rng, replicates)
    level = _options.fraction(level, "level")
    value, sd = _precision_spread(t, odds)
    if not sd > 1e-12 or value >= 1:
        return _stand_in(t, statistic, value, level, method, sd)
    return _on_logit(value, sd, level, method)


def _average_precisions(neg: Array, pos: Array, odds: float) -> Floats:
    tp, fp = np.cumsum(pos, axis=1), odds * np.cumsum(neg, axis=1)
    flagged = tp + fp
    precision = np.divide(tp, flagged, out=np.zeros_like(flagged), where=flagged > 0)
    return np.asarray((pos * precision).sum(axis=1) / tp[:, -1])


def _precision_spread(t: Tally, odds: float) -> tuple[float, float]:
    r"""How large is AP, and how far would other samples be from it (sd)?

    With the class counts fixed, a positive of row i changes AP by
    :math:`p_i + \sum_{j\ge i} s_j (1 - p_j)` and a negative by
    :math:`-\sum_{j\ge i} s_j p_j`, up to factors and constants, where :math:`p_j` is
    the precision and :math:`s_j` the share of a row's positives among the flagged. A
    sum from i on is a constant less the sum before i: one walk down the rows will do.
    """
    total, gains, losses = 0.0, [], []
    tp = fp = 0
    hit = miss = 0.0
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
    value = total / t.n_pos
    if min(t.n_pos, t.n_neg) < 2:
        return value, math.nan
    up = _square(gains) / (t.n_pos - 1) / t.n_pos
    down = _square(losses) / (t.n_neg - 1) * t.n_neg * (odds / t.n_pos) ** 2
    return value, math.sqrt(up + down)


def _moments(values: Floats, weight: Array) -> tuple[int, float, float]:
    """Give number, mean and sum of squares about the mean."""
    n = int(weight.sum())
    mean = float((weight * values).sum()) / max(n, 1)
    return n, mean, float((weight * (values - mean) ** 2).sum())


def _square(parts: list[tuple[int, float, float]]) -> float:
    """Give the sum of squares about the mean of all parts together."""
    n, mean, square = np.array(parts).T
    return float(square.sum() + (n * (mean - (n * mean).sum() / n.sum()) ** 2).sum())


def _on_logit(value: float, sd: float, level: float, method: str) -> Estimate:
    from scipy.special import expit, logit, ndtri

    half = float(ndtri((1 + level) / 2)) * sd / (value * (1 - value))
    low, high = expit(logit(value) - half), expit(logit(value) + half)
    return Estimate(value, float(low), float(high), level, method, sd)


def _resampled(
    t: Tally,
    statistic: Statistic,
    method: str,
    name: str,
    level: float,
    rng: Seed,
    replicates: int,
    highest: float = 1.0,
    drawn_from: Tally | None = None,
) -> Estimate:
    """Give a value with its bootstrap interval."""
    _options.choice(method, ("bca", "bootstrap", "normal"), "method")
    level = _options.fraction(level, "level")
    number = _options.whole_number(replicates, "replicates", at_least=100)
    value = float(statistic(t.neg[None], t.pos[None])[0])
    source = t if drawn_from is None else drawn_from
    values = bootstrap(source, statistic, number, rng)
    if drawn_from is not None:  # centred on the exact value
        values += value - float(statistic(source.neg[None], source.pos[None])[0])
    sd = float(values.std(ddof=1))
    if sd <= 1e-12 * highest or min(t.n_pos, t.n_neg) < 2:
        return _stand_in(t, statistic, value, level, name, sd)
    if method == "bca":
        influence, weight = _jackknife(t, statistic)
        low, high = bca_interval(value, values, influence, weight, level)
    elif method == "bootstrap":
        low, high = percentile_interval(values, level)
    else:
        from scipy.special import ndtri

        half = float(ndtri((1 + level) / 2)) * sd
        low, high = value - half, value + half
    high = min(max(high, value), highest)
    return Estimate(value, min(low, value), high, level, name, sd)


# the acceleration is a third moment: a few hundred cells give it well
_JACKKNIFE = 256


def _jackknife(t: Tally, statistic: Statistic) -> tuple[Floats, Floats]:
    """How much does leaving out one case of a row change the value?

    Long tallies are first grouped into neighbouring rows.
    """
    neg, pos = grouped(t.neg, t.pos, _JACKKNIFE)
    full = float(statistic(neg[None], pos[None])[0])
    parts, weights = [], []
    for own, less_pos in ((pos, 1), (neg, 0)):
        at = np.flatnonzero(own)
        drop = (np.arange(own.size) == at[:, None]).astype(np.int64)
        left = statistic(neg - (1 - less_pos) * drop, pos - less_pos * drop)
        total = int(own.sum())
        parts.append((full - left) * (total - 1) / total)
        weights.append(own[at])
    return np.concatenate(parts), np.concatenate(weights)


def _stand_in(
    t: Tally, statistic: Statistic, value: float, level: float, method: str, sd: float
) -> Estimate:
    """Where the data show no spread, ask how far two unlucky cases would move it."""
    top, bottom = t.score[0] + 1, t.score[-1] - 1
    worse = t + Tally([top, bottom], neg=[1, 0], pos=[0, 1])
    better = t + Tally([top, bottom], neg=[0, 1], pos=[1, 0])
    ends = [float(statistic(x.neg[None], x.pos[None])[0]) for x in (worse, better)]
    low, high = min(value, *ends), max(value, *ends)
    return Estimate(value, low, high, level, f"two more cases for {method}", sd)
