"""Which trade-offs does a classifier offer as its threshold moves?

Each curve is a record of columns, one entry a threshold, highest threshold first, ties
never broken: a row of the tally is a step of the curve. ``hull`` gives what chance
between two thresholds can reach, ``simplify`` fewer points with a stated error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.checks import cases as _cases
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.isotonic import concave_corners
from trueness._core.polyline import few_points, largest_distance
from trueness._core.records import Answer
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.inference.sample import meant
from trueness.inference.verification import remarks
from trueness.metrics.confusion import Confusion, swept


@final
@dataclass(frozen=True, repr=False)
class Roc(Answer):
    """Which true positive rate costs which false positive rate?

    Attributes
    ----------
    fpr, tpr : array
        False positive rate (1 - specificity) and true positive rate (sensitivity) at
        each threshold, from (0, 0) to (1, 1).
    threshold : array
        +inf (nothing is flagged), then every score.
    moved : float
        By how much :func:`simplify` moved the curve at most; 0 when it is exact.
    notes : tuple of str
        What was done with cases without a label; empty when all have one.
    """

    fpr: Floats
    tpr: Floats
    threshold: Floats
    moved: float = 0.0
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    axes: ClassVar[tuple[str, str]] = ("fpr", "tpr")


@final
@dataclass(frozen=True, repr=False)
class PrecisionRecall(Answer):
    """Which precision is left at which recall?

    Attributes
    ----------
    recall, precision : array
        Recall (sensitivity) and precision (PPV) with each score as the threshold. Where
        nothing is flagged, precision is undefined, so that point is left out.
    threshold : array
        Every score, highest first.
    prevalence : float
        Share of positives for which the precision holds.
    moved, notes
        As in :class:`Roc`.
    """

    recall: Floats
    precision: Floats
    threshold: Floats
    prevalence: float
    moved: float = 0.0
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    axes: ClassVar[tuple[str, str]] = ("recall", "precision")


@final
@dataclass(frozen=True, repr=False)
class Det(Answer):
    """Which miss rate is traded for which false alarm rate?

    Attributes
    ----------
    fpr, fnr : array
        False positive rate and miss rate (1 - sensitivity) at each threshold; figures
        draw them on probit axes.
    threshold, moved, notes
        As in :class:`Roc`.
    """

    fpr: Floats
    fnr: Floats
    threshold: Floats
    moved: float = 0.0
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    axes: ClassVar[tuple[str, str]] = ("fpr", "fnr")


@final
@dataclass(frozen=True, repr=False)
class GainCurve(Answer):
    """Which share of the positives is found among the cases with the highest scores?

    Attributes
    ----------
    flagged_rate, recall : array
        Share of all cases, and of the positives, at or above each threshold.
    threshold, prevalence, moved, notes
        As in :class:`Roc` and :class:`PrecisionRecall`.
    """

    flagged_rate: Floats
    recall: Floats
    threshold: Floats
    prevalence: float
    moved: float = 0.0
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    axes: ClassVar[tuple[str, str]] = ("flagged_rate", "recall")


@final
@dataclass(frozen=True, repr=False)
class LiftCurve(Answer):
    """How many times more frequent are positives among the cases flagged?

    Attributes
    ----------
    flagged_rate, lift : array
        Share of all cases that are flagged, and lift, with each score as the threshold.
        Where nothing is flagged, lift is undefined, so that point is left out.
    threshold, prevalence, moved, notes
        As in :class:`PrecisionRecall`; ``moved`` as a share of the largest lift.
    """

    flagged_rate: Floats
    lift: Floats
    threshold: Floats
    prevalence: float
    moved: float = 0.0
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    axes: ClassVar[tuple[str, str]] = ("flagged_rate", "lift")


Curve = TypeVar("Curve", Roc, PrecisionRecall, Det, GainCurve, LiftCurve)


def _cuts(t: Tally, name: str, what: str = "") -> tuple[Confusion, Floats, float, Any]:
    """Cut at every score: counts, thresholds, share of positives and notes.

    ``what`` is said where the share of positives matters.
    """
    _cases.both_classes(t, name)
    notes = remarks(t, stacklevel=5)
    counts = meant(t, what).counts
    c = swept(counts.pos, counts.neg)
    share = t.design.prevalence
    if share is None:
        share = c.tp[-1].item() / (c.tp[-1].item() + c.fp[-1].item())
    return c, np.concatenate([[np.inf], counts.score]), share, notes


def _in_place(count: Array, ratio: Callable[[slice], Array]) -> Floats:
    """Put a ratio in the place of counts: new memory costs more than the division."""
    out = count.view(np.float64)
    for b in blocks(count.size):
        out[b] = ratio(b)
    return out


@of_tally
def roc(data: Tally) -> Roc:
    r"""Which true positive rate costs which false positive rate?

    .. math:: \mathrm{tpr}(\tau) = P(s \ge \tau \mid +), \qquad
              \mathrm{fpr}(\tau) = P(s \ge \tau \mid -)

    Parameters
    ----------
    data
        The counts, or labels and scores. Cases without a label are left out, with a
        note, and with a warning where their scores differ; see :func:`auc`.

    Returns
    -------
    Roc
        ``fpr``, ``tpr`` and ``threshold``, from (0, 0) at +inf to (1, 1).

    Notes
    -----
    Sameni (2025), eqs. (4), (6), (9). Tied scores are one diagonal step of the curve,
    so its area is the AUC with ties counting one half. The time is O(m) for m distinct
    scores.

    Examples
    --------
    >>> curve = roc(Tally([0.9, 0.5, 0.1], pos=[1, 1, 0], neg=[0, 1, 1]))
    >>> curve.fpr, curve.tpr
    (array([0. , 0. , 0.5, 1. ]), array([0. , 0.5, 1. , 1. ]))
    """
    c, cut, _, notes = _cuts(data, "roc")
    n_neg, n_pos = c.fp[-1].item(), c.tp[-1].item()
    fpr = _in_place(c.fp, lambda b: c.fp[b] / n_neg)
    tpr = _in_place(c.tp, lambda b: c.tp[b] / n_pos)
    return Roc(fpr, tpr, cut, notes=notes)


@of_tally
def precision_recall(data: Tally) -> PrecisionRecall:
    r"""Which precision is left at which recall?

    .. math:: \mathrm{ppv} =
              \frac{\pi\,\mathrm{tpr}}{\pi\,\mathrm{tpr} + (1-\pi)\,\mathrm{fpr}}

    Parameters
    ----------
    data
        The counts, or labels and scores. With ``prevalence=`` the precision is that of
        another share of positives, pi, which a case-control sample needs.

    Notes
    -----
    Sameni (2025), eq. (20). Between two points the curve is not a straight line;
    :func:`leakage` gives the precision at any recall. The time is O(m) for m distinct
    scores.

    Examples
    --------
    >>> curve = precision_recall(Tally([0.9, 0.5, 0.1], pos=[1, 1, 0], neg=[0, 1, 1]))
    >>> curve.recall, curve.precision.round(3)
    (array([0.5, 1. , 1. ]), array([1.   , 0.667, 0.5  ]))
    """
    c, cut, share, notes = _cuts(data, "precision_recall", "precision_recall")
    c, n_pos = c[1:], c.tp[-1].item()
    precision = _in_place(c.fp, lambda b: c.tp[b] / (c.tp[b] + c.fp[b]))
    recall = _in_place(c.tp, lambda b: c.tp[b] / n_pos)
    return PrecisionRecall(recall, precision, cut[1:], share, notes=notes)


def precision_at(fpr: Any, tpr: Any, prevalence: float) -> Any:
    """Which share of the flagged cases is positive? NaN where nothing is flagged."""
    with np.errstate(invalid="ignore"):
        hits = prevalence * tpr
        return hits / (hits + (1 - prevalence) * fpr)


@of_tally
def det(data: Tally) -> Det:
    """Which miss rate is traded for which false alarm rate?

    This is the ROC curve with the miss rate (1 - sensitivity) on its vertical axis,
    meant for probit axes, on which the curve of a binormal classifier is a straight
    line.

    Parameters
    ----------
    data
        As in :func:`roc`.

    References
    ----------
    Martin et al. (1997), Proc. Eurospeech, 1895.

    Examples
    --------
    >>> det(Tally([0.9, 0.5, 0.1], pos=[1, 1, 0], neg=[0, 1, 1])).fnr
    array([1. , 0.5, 0. , 0. ])
    """
    c, cut, _, notes = _cuts(data, "det")
    return Det(c.fp / c.fp[-1], c.fn / c.tp[-1], cut, notes=notes)


@of_tally
def gain_curve(data: Tally) -> GainCurve:
    """Which share of the positives is found among the cases with the highest scores?

    Parameters
    ----------
    data
        As in :func:`precision_recall`.

    Examples
    --------
    >>> gain_curve(Tally([2, 1], pos=[1, 1], neg=[0, 2])).flagged_rate
    array([0.  , 0.25, 1.  ])
    """
    c, cut, share, notes = _cuts(data, "gain_curve", "gain_curve")
    flagged = (c.tp + c.fp) / (c.tp[-1] + c.fp[-1])
    return GainCurve(flagged, c.tp / c.tp[-1], cut, share, notes=notes)


@of_tally
def lift_curve(data: Tally) -> LiftCurve:
    """How many times more frequent are positives among the cases flagged?

    Parameters
    ----------
    data
        As in :func:`precision_recall`.

    Examples
    --------
    >>> lift_curve(Tally([2, 1], pos=[1, 1], neg=[0, 2])).lift
    array([2., 1.])
    """
    c, cut, share, notes = _cuts(data, "lift_curve", "lift_curve")
    flagged = (c.tp + c.fp)[1:]
    with np.errstate(over="ignore"):  # a prevalence of 1e-320: beyond all numbers
        lift = c.tp[1:] / flagged / share
    return LiftCurve(flagged / flagged[-1], lift, cut[1:], share, notes=notes)


def hull(curve: Roc) -> Roc:
    r"""What can be reached by one threshold, or by a random choice between two?

    The hull is the smallest concave curve on or above the ROC curve; its points are the
    thresholds that are best for some costs of the errors.

    Parameters
    ----------
    curve
        From :func:`roc`.

    Notes
    -----
    The slopes of the hull are the isotonic (pool-adjacent-violators) likelihood ratios,
    so it is found in O(m).

    References
    ----------
    Fawcett, Niculescu-Mizil (2007), Mach. Learn. 68:97,
    doi:10.1007/s10994-007-5011-0

    Examples
    --------
    >>> curve = hull(roc(Tally([3, 2, 1], pos=[1, 0, 1], neg=[0, 1, 0])))
    >>> curve.fpr, curve.tpr
    (array([0., 0., 1.]), array([0. , 0.5, 1. ]))
    """
    _a_curve(curve, (Roc,), "hull", "trueness.roc(t)")
    at = concave_corners(np.diff(curve.tpr), np.diff(curve.fpr))
    fpr, tpr = curve.fpr[at], curve.tpr[at]
    # blocks of equal slope meet in a point that is no corner: there the cross product
    # of the two steps is zero
    turn = np.diff(fpr)[:-1] * np.diff(tpr)[1:] - np.diff(tpr)[:-1] * np.diff(fpr)[1:]
    corner = np.concatenate([[True], turn < 0, [True]])
    return Roc(fpr[corner], tpr[corner], curve.threshold[at][corner])


def simplify(
    curve: Curve, *, points: int | None = None, tolerance: float | None = None
) -> Curve:
    """Which few points draw nearly the same curve, and by how much do they move it?

    Parameters
    ----------
    curve
        Any curve of this module.
    points
        Keep at most this many points (2 or more).
    tolerance
        Move the curve by at most this much. With ``points`` alone, ``moved`` states the
        smallest movement that the search found.

    Returns
    -------
    curve of the same kind
        Some of its points, always with the first and the last; ``moved`` is the largest
        distance between the old and the new curve, both drawn with straight lines.

    Notes
    -----
    Points are added where the curve is farthest from its simplification, until both
    goals are met. The distance is Euclidean in the plane of the curve (lift: as a
    share of the largest lift) and is measured over all points at the end.

    References
    ----------
    Douglas, Peucker (1973), Cartographica 10:112, doi:10.3138/FM57-6770-U75U-7727

    Examples
    --------
    >>> line = roc(Tally([3, 2, 1], pos=[1, 1, 1], neg=[1, 1, 1]))
    >>> simplify(line, tolerance=0.001).fpr
    array([0., 1.])
    """
    kinds = (Roc, PrecisionRecall, Det, GainCurve, LiftCurve)
    _a_curve(curve, kinds, "simplify", "trueness.roc(t), points=200")
    if points is None and tolerance is None:
        raise InputError("simplify needs points=200 or tolerance=0.001, or both.")
    most, allowed = 2**62, 0.0
    if points is not None:
        most = _options.whole_number(points, "points", at_least=2)
    if tolerance is not None:
        allowed = _options.not_negative(tolerance, "tolerance")
    x, y = (np.asarray(getattr(curve, name), dtype=np.float64) for name in curve.axes)
    if isinstance(curve, LiftCurve):
        y = y / y.max()
    kept = few_points(x, y, most, allowed)
    moved = largest_distance(x, y, kept)
    if tolerance is not None and moved > allowed:
        raise InputError(
            f"{most:,} points cannot keep the curve within tolerance={tolerance:g}; "
            f"they move it by {moved:.2g}. Allow more points or a larger tolerance."
        )
    columns: Any = {
        name: values[kept]
        for name, values in vars(curve).items()
        if isinstance(values, np.ndarray)
    }
    return replace(curve, **columns, moved=max(moved, curve.moved))


def _a_curve(curve: object, kinds: tuple[Any, ...], what: str, how: str) -> None:
    """Stop when something else than a curve was passed."""
    if not isinstance(curve, kinds):
        raise InputError(
            f"{what} needs a curve; found {type(curve).__name__}. Type {what}({how})."
        )


class _Curve(Protocol):
    """A leakage function and its inverse."""

    def __call__(self, u: ArrayLike) -> Any: ...
    def inverse(self, v: ArrayLike) -> Any: ...


class Through:
    """What follows from a leakage function and a prevalence.

    A second base class of records, against the house style: a curve of the data and a
    binormal one answer the same seven questions, which are written here once.
    """

    __slots__ = ()

    def miss_rate(self: _Curve, specificity: ArrayLike) -> Any:
        """Which share of the positives is missed at this specificity? Eq. (14)."""
        return self(specificity)

    def tpr(self: _Curve, fpr: ArrayLike) -> Any:
        """Which true positive rate is reached at this false positive rate? Eq. (13)."""
        return 1 - self(1 - _columns.probabilities(fpr, "fpr"))

    def fpr(self: _Curve, tpr: ArrayLike) -> Any:
        """Which false positive rate does this true positive rate cost? Eq. (15)."""
        return 1 - self.inverse(1 - _columns.probabilities(tpr, "tpr"))

    def precision(self: _Curve, recall: ArrayLike, prevalence: float) -> Any:
        r"""Which precision is left at this recall, at any prevalence? Eq. (21).

        .. math:: \frac{\mathrm{tpr}}
                  {\mathrm{tpr} + (\pi_n/\pi_p) [1 - G^{-1}(1 - \mathrm{tpr})]}

        NaN where nothing is flagged.
        """
        recall = _columns.probabilities(recall, "recall")
        share = _options.fraction(prevalence, "prevalence")
        return precision_at(1 - self.inverse(1 - recall), recall, share)

    def accuracy(self: _Curve, specificity: ArrayLike, prevalence: float) -> Any:
        r"""Which share of all cases is right at this specificity?

        .. math:: \pi_p (1 - G(u)) + \pi_n u

        Differs from the text after eq. (22), which says that accuracy is not a function
        of G: at a given specificity it is.
        """
        u = _columns.probabilities(specificity, "specificity")
        share = _options.fraction(prevalence, "prevalence")
        return share * (1 - self(u)) + (1 - share) * u

    def f_beta(
        self: _Curve, specificity: ArrayLike, prevalence: float, beta: float = 1.0
    ) -> Any:
        r"""How good are precision and recall together at this specificity?

        .. math:: F_\beta = \frac{(1+\beta^2)\,\mathrm{tpr}}
                  {\mathrm{tpr} + \beta^2 + (\pi_n/\pi_p)\,\mathrm{fpr}}

        Differs from eqs. (25) and (26): there the last term has a factor
        beta^2 / tpr that does not follow from eq. (23).
        """
        u = _columns.probabilities(specificity, "specificity")
        share = _options.fraction(prevalence, "prevalence")
        square = _options.positive_number(beta, "beta") ** 2
        tpr, odds = 1 - self(u), (1 - share) / share
        return (1 + square) * tpr / (tpr + square + odds * (1 - u))
