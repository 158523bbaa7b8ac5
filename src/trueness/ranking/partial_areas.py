"""How good is a classifier over the part of the ROC curve that matters?

``partial_auc`` looks at a range of false or true positive rates, or both: a rectangle.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.records import Estimate
from trueness.counts.answers import of_tally
from trueness.counts.placements import coarser, corners, runs
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.counts.weights import remark
from trueness.ranking.resampled_intervals import (
    Statistic,
    by_leaving_out,
    checked,
    resampled,
)

Range = tuple[float, float]


class _Rectangle(NamedTuple):
    """Which part of the ROC plane is looked at, and from which side?"""

    fpr: Range
    tpr: Range
    sideways: bool  # measured along the TPR axis, to the right of the curve

    @property
    def best(self) -> float:
        return (self.fpr[1] - self.fpr[0]) * (self.tpr[1] - self.tpr[0])


@of_tally(weights=True)
def partial_auc(
    t: Tally,
    *,
    fpr: Range | None = None,
    tpr: Range | None = None,
    corrected: bool = False,
    method: str | None = None,
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
        Range of true positive rates (sensitivities). Given alone, the area is that to
        the right of the curve: specificity integrated over this range. Given with
        ``fpr``, it is the area under the curve inside the rectangle (two-way).
    corrected
        Whether to give the area on McClish's scale: 1/2 for a random classifier, 1 for
        an ideal one.
    method
        ``"logit"`` (the default: a jackknife, which leaves cases out one by one, on the
        logit scale, with Student's quantile), ``"bca"``, ``"bootstrap"`` (percentiles)
        or ``"normal"`` (bootstrap error).
    level
        Confidence level of the interval.
    rng, replicates
        Seed and number of replicates of the stratified bootstrap.

    Returns
    -------
    Estimate
        The area, at most that of the rectangle. With ``corrected`` it is in [0, 1]:
        below 1/2 where the curve lies under the diagonal, and 0 where it lies far
        below.

    Notes
    -----
    Ties are drawn as straight lines. Where no replicate differs (a perfect part of the
    curve) or a class has a single case, the interval extends to the value that would
    result from cases of a kind that the sample may have missed, at the same level (rule
    of three). The jackknife gives the logit interval its error, bias, skewness and
    degrees of freedom. The bootstrap intervals are a little too narrow when few
    negatives lie in the range; with few cases they are widened by Student's factor. The
    jackknife uses at most 1000 and the bootstrap 2000 corners of the curve; beyond
    that, neighbouring corners are joined. Measured coverage is in
    ``docs/maths/ranking.md``.

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
    method = "logit" if method is None else method
    part, statistic = _area_inside(fpr, tpr, corrected)
    asked = checked(statistic, method, level, rng, replicates)
    if not corrected:
        asked = asked._replace(highest=part.best)
    name = f"{method}, McClish" if corrected else method
    if not t.weighted or method != "logit":
        t = corners(t)  # but a run of a class may hold cases of very different weights
    if method == "logit":
        found = by_leaving_out(t, asked, name)
    else:
        found = resampled(t, asked, name, coarser(t, _FINE))
    return replace(found, name="partial AUC", notes=found.notes + remark(t))


def partial_area(
    t: Tally,
    *,
    fpr: Range | None = None,
    tpr: Range | None = None,
    corrected: bool = False,
) -> float:
    """How large is the area inside? The value of :func:`partial_auc` alone."""
    _, statistic = _area_inside(fpr, tpr, corrected)
    neg, pos = runs(t)
    return float(statistic(neg[None], pos[None])[0])


def _area_inside(fpr: Any, tpr: Any, corrected: bool) -> tuple[_Rectangle, Statistic]:
    part = _rectangle(fpr, tpr)
    shift, factor = _mcclish(part) if corrected else (0.0, 1.0)

    def statistic(neg: Array, pos: Array) -> Floats:
        return np.maximum(shift + factor * _areas(neg, pos, part), 0.0)

    return part, statistic


# more corners than this are joined for the bootstrap, not for the value
_FINE = 2000


def _rectangle(fpr: Any, tpr: Any) -> _Rectangle:
    if fpr is None and tpr is None:
        raise InputError(
            "partial_auc needs a part of the curve: fpr=(0, 0.1), tpr=(0.9, 1) or both."
        )
    rates, heights = _range(fpr, "fpr"), _range(tpr, "tpr")
    return _Rectangle(rates, heights, sideways=fpr is None)


# a narrower range than this is lost in the rounding of the rates
_NARROW = 1e-9


def _range(value: Any, what: str) -> Range:
    if value is None:
        return 0.0, 1.0
    low, high = _options.share_range(value, what)
    if high - low < _NARROW:
        raise InputError(
            f"{what} must be at least {_NARROW:g} wide; found ({low!r}, {high!r}). "
            "For the rate at one threshold see trueness.roc."
        )
    return low, high


def _areas(neg: Array, pos: Array, part: _Rectangle) -> Floats:
    """Give the area inside the rectangle for each row of counts (r, m)."""
    x, y = _steps(neg), _steps(pos)
    if part.sideways:
        # seen from the other side: specificity over the miss rate, read backwards
        x, y = 1 - y[:, ::-1], 1 - x[:, ::-1]
        wide, high = (1 - part.tpr[1], 1 - part.tpr[0]), (0.0, 1.0)
    else:
        wide, high = part.fpr, part.tpr
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
    # what is above the floor of the rectangle, less what is above its ceiling
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


def _mcclish(part: _Rectangle) -> tuple[float, float]:
    """Give shift and factor that take chance to 1/2 and the ideal to 1."""
    line = np.array([[1]])
    chance = float(_areas(line, line, part)[0])
    if part.best - chance <= _NARROW * part.best:
        raise InputError(
            "corrected=True compares with a random classifier, which in this part of "
            "the ROC plane is as good as an ideal one. Leave corrected out, or choose "
            "a part that reaches above the diagonal."
        )
    factor = 0.5 / (part.best - chance)
    return 0.5 - factor * chance, factor
