"""How good is a classifier over the part of the ROC curve that matters?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.records import Estimate
from trueness.counts.answers import of_tally
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.inference.sample import Measure, Measured
from trueness.ranking.areas import estimated_by, from_here_on

Range = tuple[float, float]


@of_tally
def partial_auc(
    data: Tally,
    max_fpr: float | None = None,
    *,
    fpr: Range | None = None,
    tpr: Range | None = None,
    corrected: bool = False,
    method: str = "student",
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
    max_fpr
        Instead of ``fpr=(0, max_fpr)``.
    fpr, tpr
        Range of false positive rates, for example (0, 0.1), or of true positive rates:
        the area to the right of the curve. With both it is the area under the curve
        inside the rectangle (two-way; Yang, Lu, Lyu and Hu 2019).
    corrected
        Whether to give the area on McClish's scale (1989,
        doi:10.1177/0272989X8900900307): 1/2 for a random classifier, 1 for an ideal
        one.
    method
        ``"student"`` (from influence values, as for :func:`auc`) or ``"bootstrap"``
        (percentiles).

    Examples
    --------
    >>> t = Tally([3, 2, 1], pos=[2, 1, 1], neg=[0, 1, 3])
    >>> partial_auc(t, fpr=(0, 0.25)).value  # 0.25 * (0.5 + 0.75) / 2
    0.15625
    """
    _cases.both_classes(data, "partial_auc")
    measures = partial_area_measure(fpr, tpr, max_fpr, corrected=corrected)
    asked = (data, measures, method, level, rng, replicates)
    name = "partial AUC, McClish" if corrected else "partial AUC"
    return replace(estimated_by(*asked, stratified=True), name=name)


def partial_area(t: Tally, **part: Any) -> float:
    """Give the value of :func:`partial_auc` alone."""
    return partial_area_measure(**part)[0](t.labelled()).value


def partial_area_measure(
    fpr: Range | None = None,
    tpr: Range | None = None,
    max_fpr: float | None = None,
    *,
    corrected: bool = False,
) -> tuple[Measure, Callable[[Array, Array], Floats]]:
    r"""Give the area inside a rectangle, as a measure and for many rows of counts.

    A case moves the area by the strip between the old curve and the new one inside:

    .. math:: dF = \int_{\text{inside}} (\delta y\,dx - \delta x\,dy), \qquad
              \delta x_k = \frac{[k \ge i] - x_k}{N_0}
    """
    if max_fpr is not None:
        if fpr is not None:
            raise InputError(
                "partial_auc was given fpr= and max_fpr=, which mean the same. Leave "
                "one of them out."
            )
        fpr = (0.0, _options.fraction(max_fpr, "max_fpr", ends="(]"))
    if fpr is None and tpr is None:
        raise InputError(
            "partial_auc needs a part of the curve; found none. Type fpr=(0, 0.1), "
            "tpr=(0.9, 1) or both."
        )
    part = _range(fpr, "fpr"), _range(tpr, "tpr")
    best = math.prod(high - low for low, high in part)
    shift, factor = _mcclish(part, best) if corrected else (0.0, 1.0)
    ends = (0.0, 1.0 if corrected else best)

    def many(neg: Array, pos: Array) -> Floats:
        area = _inside(_steps(neg), _steps(pos), part)[0]
        return np.clip(shift + factor * area, *ends)

    def measure(t: Tally) -> Measured:
        x, y = _steps(t.neg[None]), _steps(t.pos[None])
        area, a, b = _inside(x, y, part)
        last = (b * b - a * a) / 2
        first = (b - a) - last
        moved: list[Any] = []
        for place, step, n in ((x, -np.diff(y), t.n_neg), (y, np.diff(x), t.n_pos)):
            pull = np.zeros(place.shape[1])
            pull[:-1] += (step * first)[0]
            pull[1:] += (step * last)[0]
            each = (from_here_on(pull)[1:] - float(pull @ place[0])) / n
            moved.append(factor * each)
        value = float(np.clip(shift + factor * area, *ends)[0])
        return Measured(value, moved[0], moved[1], ends, by_class=True)

    return measure, many


# a narrower range than this is lost in the rounding of the rates
_NARROW = 1e-9


def _range(value: Range | None, what: str) -> Range:
    if value is None:
        return 0.0, 1.0
    low, high = _options.share_range(value, what)
    if high - low < _NARROW:
        raise InputError(
            f"{what} must be at least {_NARROW:g} wide; found ({low!r}, {high!r}). "
            "For the rate at one threshold see trueness.roc."
        )
    return low, high


def _steps(count: Array) -> Floats:
    """Give cumulative shares, with a zero in front."""
    total = np.zeros((len(count), count.shape[1] + 1))
    np.cumsum(count, axis=1, out=total[:, 1:])
    with np.errstate(invalid="ignore"):  # clusters that were drawn may lack a class
        total /= total[:, -1:]
    return total


def _inside(x: Floats, y: Floats, part: tuple[Range, Range]) -> tuple[Floats, ...]:
    """Give the area under curves in a rectangle, and the part of each segment inside.

    A segment is inside from a share a of its length to a share b.
    """
    dx, dy = np.diff(x), np.diff(y)
    shares = []
    for start, step, (low, high) in zip((x, y), (dx, dy), part, strict=True):
        start, flat = start[:, :-1], step <= 0
        # at the very top a case more below it still takes the curve down
        over = (start >= high) & (high < 1)
        size = np.where(flat, 1.0, step)
        enters = np.where(flat, start < low, (low - start) / size)
        leaves = np.where(flat, ~over, (high - start) / size)
        shares += [np.clip(enters, 0, 1), np.clip(leaves, 0, 1)]
    right, left, up, out = shares
    a, b = np.maximum(right, up), np.minimum(left, out)
    b = np.maximum(a, b)
    (_, _), (low, high) = part
    under = (b - a) * (y[:, :-1] - low) + dy * (b * b - a * a) / 2
    above = np.maximum(left - np.maximum(right, out), 0.0)
    area = np.einsum("rm,rm->r", dx, under + (high - low) * above)
    return np.asarray(area), a, b


def _mcclish(part: tuple[Range, Range], best: float) -> tuple[float, float]:
    """Give shift and factor that take chance to 1/2 and the ideal to 1."""
    line = np.array([[0.0, 1.0]])
    chance = float(_inside(line, line, part)[0][0])
    if best - chance <= _NARROW * best:
        raise InputError(
            "corrected=True compares with a random classifier, which in this part of "
            "the ROC plane is as good as an ideal one. Leave corrected out, or choose "
            "a part that reaches above the diagonal."
        )
    factor = 0.5 / (best - chance)
    return 0.5 - factor * chance, factor
