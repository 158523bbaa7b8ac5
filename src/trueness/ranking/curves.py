"""Which trade-offs does a classifier offer as its threshold moves?

A ``Curve`` has one entry a threshold, highest threshold first, ties never broken: a row
of the tally is a step of the curve.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from trueness._core.arrays import Floats, blocks
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.figures import few_points, largest_distance
from trueness._core.records import TwoAxes
from trueness._core.solvers import concave_corners
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.inference.sample import meant
from trueness.inference.verification import remarks
from trueness.metrics.confusion import swept


@final
@dataclass(frozen=True, repr=False)
class Curve(TwoAxes):
    """Which rate is traded for which other rate?

    Attributes
    ----------
    axes : tuple of str
        Which two rates it has, as attributes: ``fpr``, ``tpr``, ``fnr``, ``recall``,
        ``precision``, ``flagged_rate`` or ``lift``.
    threshold : array
        +inf (nothing is flagged), then every score. Where nothing is flagged, precision
        and lift are undefined, so that these curves leave out that point.
    prevalence : float
        Share of positives for which it holds; NaN where it is about each class alone.
    moved : float
        By how much :func:`simplify` moved the curve at most (of lift as a share of the
        largest one); 0 when it is exact.
    """

    threshold: Floats
    prevalence: float = math.nan
    moved: float = 0.0
    notes: tuple[str, ...] = field(default=(), kw_only=True)


# of positives and negatives flagged, of all of them, and of the share of positives
_RATES: dict[str, Callable[[Any, Any, Any, Any, float], Any]] = {
    "fpr": lambda tp, fp, n_pos, n_neg, share: fp / n_neg,
    "tpr": lambda tp, fp, n_pos, n_neg, share: tp / n_pos,
    "fnr": lambda tp, fp, n_pos, n_neg, share: (n_pos - tp) / n_pos,
    "recall": lambda tp, fp, n_pos, n_neg, share: tp / n_pos,
    "precision": lambda tp, fp, n_pos, n_neg, share: tp / (tp + fp),
    "flagged_rate": lambda tp, fp, n_pos, n_neg, share: (tp + fp) / (n_pos + n_neg),
    "lift": lambda tp, fp, n_pos, n_neg, share: tp / (tp + fp) / share,
}


def _curve(t: Tally, name: str, across: str, up: str) -> Curve:
    """Cut at every score, and take two rates of what is flagged."""
    _cases.both_classes(t, name)
    notes = remarks(t, stacklevel=5)
    by_class = across == "fpr"
    counts = meant(t, "" if by_class else name).counts
    c = swept(counts.pos, counts.neg)
    n_pos, n_neg = c.tp[-1].item(), c.fp[-1].item()
    share = t.design.prevalence
    if share is None:
        share = n_pos / (n_pos + n_neg)
    first = int(up in ("precision", "lift"))  # 0 / 0 where nothing is flagged
    # in the place of the counts: new memory costs more than the division
    tp, fp = c.tp[first:], c.fp[first:]
    x, y = fp.view(np.float64), tp.view(np.float64)
    with np.errstate(over="ignore"):  # lift at a prevalence of 1e-320
        for b in blocks(tp.size):
            some = tp[b], fp[b], n_pos, n_neg, share
            x[b], y[b] = _RATES[across](*some), _RATES[up](*some)
    cut = np.concatenate([[np.inf], counts.score])[first:]
    share = math.nan if by_class else share
    return Curve((across, up), x, y, cut, share, notes=notes)


@of_tally
def roc(data: Tally) -> Curve:
    """Which true positive rate costs which false positive rate?

    Tied scores are one diagonal step. Sameni (2025), eqs. (4), (6), (9).

    Examples
    --------
    >>> curve = roc(Tally([0.9, 0.5, 0.1], pos=[1, 1, 0], neg=[0, 1, 1]))
    >>> curve.fpr, curve.tpr
    (array([0. , 0. , 0.5, 1. ]), array([0. , 0.5, 1. , 1. ]))
    """
    return _curve(data, "roc", "fpr", "tpr")


@of_tally
def precision_recall(data: Tally) -> Curve:
    r"""Which precision is left at which recall?

    .. math:: \mathrm{ppv} =
              \frac{\pi\,\mathrm{tpr}}{\pi\,\mathrm{tpr} + (1-\pi)\,\mathrm{fpr}}

    With ``prevalence=`` pi is another share of positives. Between two points the curve
    is not straight: :func:`leakage` gives the precision at any recall.

    Examples
    --------
    >>> curve = precision_recall(Tally([0.9, 0.5, 0.1], pos=[1, 1, 0], neg=[0, 1, 1]))
    >>> curve.recall, curve.precision.round(3)
    (array([0.5, 1. , 1. ]), array([1.   , 0.667, 0.5  ]))
    """
    return _curve(data, "precision_recall", "recall", "precision")


def precision_at(fpr: Floats, tpr: Floats, prevalence: float) -> Any:
    """Which share of the flagged cases is positive? NaN where nothing is flagged."""
    with np.errstate(invalid="ignore"):
        hits = prevalence * tpr
        return hits / (hits + (1 - prevalence) * fpr)


@of_tally
def det(data: Tally) -> Curve:
    """Which miss rate is traded for which false alarm rate?

    Drawn on probit axes, on which the curve of a binormal classifier is a straight line
    (Martin et al. 1997, Proc. Eurospeech, 1895).

    Examples
    --------
    >>> det(Tally([0.9, 0.5, 0.1], pos=[1, 1, 0], neg=[0, 1, 1])).fnr
    array([1. , 0.5, 0. , 0. ])
    """
    return _curve(data, "det", "fpr", "fnr")


@of_tally
def gain_curve(data: Tally) -> Curve:
    """Which share of the positives is found among the cases with the highest scores?

    Examples
    --------
    >>> gain_curve(Tally([2, 1], pos=[1, 1], neg=[0, 2])).flagged_rate
    array([0.  , 0.25, 1.  ])
    """
    return _curve(data, "gain_curve", "flagged_rate", "recall")


@of_tally
def lift_curve(data: Tally) -> Curve:
    """How many times more frequent are positives among the cases flagged?

    Examples
    --------
    >>> lift_curve(Tally([2, 1], pos=[1, 1], neg=[0, 2])).lift
    array([2., 1.])
    """
    return _curve(data, "lift_curve", "flagged_rate", "lift")


def hull(curve: Curve) -> Curve:
    """What can be reached by one threshold, or by a random choice between two?

    The smallest concave curve on or above the ROC ``curve``; its points are the
    thresholds that are best for some costs of the errors (Fawcett and Niculescu-Mizil
    2007, doi:10.1007/s10994-007-5011-0).

    Examples
    --------
    >>> curve = hull(roc(Tally([3, 2, 1], pos=[1, 0, 1], neg=[0, 1, 0])))
    >>> curve.fpr, curve.tpr
    (array([0., 0., 1.]), array([0. , 0.5, 1. ]))
    """
    _a_curve(curve, "hull", "trueness.roc(t)", ("fpr", "tpr"))
    # the slopes of the hull are isotonic likelihood ratios
    at = concave_corners(np.diff(curve.y), np.diff(curve.x))
    fpr, tpr = curve.x[at], curve.y[at]
    # blocks of equal slope meet in a point that is no corner: there the cross product
    # of the two steps is zero
    turn = np.diff(fpr)[:-1] * np.diff(tpr)[1:] - np.diff(tpr)[:-1] * np.diff(fpr)[1:]
    corner = np.concatenate([[True], turn < 0, [True]])
    return Curve(curve.axes, fpr[corner], tpr[corner], curve.threshold[at][corner])


def simplify(
    curve: Curve, *, points: int | None = None, tolerance: float | None = None
) -> Curve:
    """Which few points draw nearly the same curve, and by how much do they move it?

    The first and the last point stay; ``moved`` is the largest distance in the plane of
    the curve between the old and the new one, both drawn with straight lines (Douglas
    and Peucker 1973, doi:10.3138/FM57-6770-U75U-7727).

    Parameters
    ----------
    points, tolerance
        Keep at most so many points (2 or more); move the curve by at most this much.

    Examples
    --------
    >>> line = roc(Tally([3, 2, 1], pos=[1, 1, 1], neg=[1, 1, 1]))
    >>> simplify(line, tolerance=0.001).fpr
    array([0., 1.])
    """
    _a_curve(curve, "simplify", "trueness.roc(t), points=200")
    if points is None and tolerance is None:
        raise InputError("simplify needs points=200 or tolerance=0.001, or both.")
    most, allowed = 2**62, 0.0
    if points is not None:
        most = _options.whole_number(points, "points", at_least=2)
    if tolerance is not None:
        allowed = _options.not_negative(tolerance, "tolerance")
    height = curve.y / curve.y.max() if curve.axes[1] == "lift" else curve.y
    kept = few_points(curve.x, height, most, allowed)
    moved = largest_distance(curve.x, height, kept)
    if tolerance is not None and moved > allowed:
        raise InputError(
            f"{most:,} points cannot keep the curve within tolerance={tolerance:g}; "
            f"they move it by {moved:.2g}. Allow more points or a larger tolerance."
        )
    few: Any = {name: getattr(curve, name)[kept] for name in ("x", "y", "threshold")}
    return replace(curve, **few, moved=max(moved, curve.moved))


def _a_curve(
    curve: object, what: str, how: str, axes: tuple[str, str] | None = None
) -> None:
    """Stop when something else than a curve, or one of other axes, was passed."""
    if not isinstance(curve, Curve) or (axes or curve.axes) != curve.axes:
        found = getattr(curve, "axes", type(curve).__name__)
        raise InputError(f"{what} needs a curve; found {found}. Type {what}({how}).")
