"""Which trade-offs does a threshold offer, and how good is a part of them?

A ``Curve`` has one entry a threshold, highest threshold first, ties never broken: a row
of the tally is a step of the curve.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.figures import few_points, largest_distance
from trueness._core.records import Estimate, TwoAxes
from trueness._core.solvers import concave_corners
from trueness.counts.answers import of_tally
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.inference.sample import Measure, MeasuredValue, RocRange, apply_design
from trueness.inference.variance import Influence
from trueness.inference.verification import unlabelled_notes
from trueness.metrics.confusion import sweep_counts
from trueness.ranking.areas import estimate_by_method, reverse_cumsum

Range = tuple[float, float]


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
    notes = unlabelled_notes(t, stacklevel=5)
    by_class = across == "fpr"
    counts = apply_design(t, "" if by_class else name).target_counts
    c = sweep_counts(counts.pos, counts.neg)
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


@of_tally
def partial_auc(
    data: Tally,
    max_fpr: float | None = None,
    *,
    fpr: Range | None = None,
    tpr: Range | None = None,
    corrected: bool = False,
    method: str = "newcombe",
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
        ``"newcombe"`` (as for :func:`auc`, with the numbers of cases that the range
        holds) or ``"bootstrap"`` (percentiles).

    Examples
    --------
    >>> t = Tally([3, 2, 1], pos=[2, 1, 1], neg=[0, 1, 3])
    >>> partial_auc(t, fpr=(0, 0.25)).value  # 0.25 * (0.5 + 0.75) / 2
    0.15625
    """
    _cases.both_classes(data, "partial_auc")
    _options.choice(method, ("newcombe", "bootstrap"), "method")
    measure, measure_of_replicates = partial_area_measure(
        fpr, tpr, max_fpr, corrected=corrected
    )
    estimate = estimate_by_method(
        data,
        measure=measure,
        measure_of_replicates=measure_of_replicates,
        method=method,
        level=level,
        rng=rng,
        replicates=replicates,
        stratified=True,
    )
    name = "partial AUC, McClish" if corrected else "partial AUC"
    return replace(estimate, name=name)


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
    shift, factor = 0.0, 1.0
    if corrected:  # McClish: chance becomes 1/2 and the ideal 1
        line = np.array([[0.0, 1.0]])
        chance = float(_inside(line, line, part)[0][0])
        if best - chance <= _NARROW * best:
            raise InputError(
                "corrected=True compares with a random classifier, which in this part "
                "of the ROC plane is as good as an ideal one. Leave corrected out, or "
                "choose a part that reaches above the diagonal."
            )
        factor = 0.5 / (best - chance)
        shift = 0.5 - factor * chance
    # the areas of the worst and of an ideal classifier
    ends = (shift, shift + factor * best)
    roc_range = RocRange(*(high - low for low, high in part))

    def many(neg: Array, pos: Array) -> Floats:
        area = _inside(_steps(neg), _steps(pos), part)[0]
        return np.clip(shift + factor * area, *ends)

    def measure(t: Tally) -> MeasuredValue:
        x, y = _steps(t.neg[None]), _steps(t.pos[None])
        area, a, b = _inside(x, y, part)
        last = (b * b - a * a) / 2
        first = (b - a) - last
        moved: list[Any] = []
        for place, step, n in ((x, -np.diff(y), t.n_neg), (y, np.diff(x), t.n_pos)):
            pull = np.zeros(place.shape[1])
            pull[:-1] += (step * first)[0]
            pull[1:] += (step * last)[0]
            each = (reverse_cumsum(pull)[1:] - float(pull @ place[0])) / n
            moved.append(factor * each)
        value = float(np.clip(shift + factor * area, *ends)[0])
        return MeasuredValue(
            value, Influence(*moved), ends, within_class=True, roc_range=roc_range
        )

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
