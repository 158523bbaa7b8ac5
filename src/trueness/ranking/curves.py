"""Which trade-offs does a threshold offer, and how good is a part of them?

A ``Curve`` has one entry for each threshold, the highest first. A row of the tally is a
step of the curve, so ties are never broken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.figures import few_points, largest_distance
from trueness._core.records import Estimate, TwoAxes
from trueness._core.solvers import concave_corners
from trueness.counts.answers import of_tally
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.inference.expected_counts import check_headline
from trueness.inference.sample import Measure, MeasuredValue, RocRange, apply_design
from trueness.inference.variance import Influence
from trueness.inference.verification import unlabelled_notes
from trueness.metrics.confusion import sweep_counts
from trueness.ranking.areas import estimate_by_method, reverse_cumsum

Range = tuple[float, float]


@final
@dataclass(frozen=True, repr=False)
class Curve(TwoAxes):
    """A curve of two rates over all thresholds.

    Attributes
    ----------
    axes : tuple of str
        The two rates, which are attributes: ``fpr``, ``tpr``, ``fnr``, ``recall``,
        ``precision``, ``flagged_rate`` or ``lift``.
    threshold : array
        +inf (nothing is flagged), then every score. Without a flagged case precision
        and lift are undefined, so that these curves leave out the first point.
    prevalence : float
        Prevalence for which it holds; NaN where it describes each class separately.
    largest_shift : float
        By how much :func:`simplify` moved the curve at most (of lift as a proportion
        of the largest one); 0 when it is exact.
    """

    threshold: Floats
    prevalence: float = math.nan
    largest_shift: float = 0.0
    notes: tuple[str, ...] = field(default=(), kw_only=True)


# rates, from tp and fp, the class sizes, and the prevalence
_RATES: dict[str, Callable[[Any, Any, Any, Any, float], Any]] = {
    "fpr": lambda tp, fp, n_pos, n_neg, prevalence: fp / n_neg,
    "tpr": lambda tp, fp, n_pos, n_neg, prevalence: tp / n_pos,
    "fnr": lambda tp, fp, n_pos, n_neg, prevalence: (n_pos - tp) / n_pos,
    "recall": lambda tp, fp, n_pos, n_neg, prevalence: tp / n_pos,
    "precision": lambda tp, fp, n_pos, n_neg, prevalence: tp / (tp + fp),
    "flagged_rate": lambda tp, fp, n_pos, n_neg, prevalence: (
        (tp + fp) / (n_pos + n_neg)
    ),
    "lift": lambda tp, fp, n_pos, n_neg, prevalence: tp / (tp + fp) / prevalence,
}


def _curve(tally: Tally, name: str, across: str, up: str) -> Curve:
    """Return the curve of two rates at every score, from ``_RATES``."""
    _cases.both_classes(tally, name)
    check_headline(tally)
    notes = unlabelled_notes(tally)
    # an ROC curve does not depend on the prevalence, all other curves do
    within_class = across == "fpr"
    counts = apply_design(tally, "" if within_class else name).target_counts

    cuts = sweep_counts(counts.pos, counts.neg)
    n_pos = cuts.tp[-1].item()
    n_neg = cuts.fp[-1].item()
    prevalence = tally.design.prevalence
    if prevalence is None:
        prevalence = n_pos / (n_pos + n_neg)

    # where nothing is flagged these rates are 0 / 0, so the curve begins one cut later
    first_cut = int(up in ("precision", "lift"))
    tp = cuts.tp[first_cut:]
    fp = cuts.fp[first_cut:]
    rate_across = _RATES[across]
    rate_up = _RATES[up]
    # rates replace the counts in memory: new arrays would cost more than the division
    x = fp.view(np.float64)
    y = tp.view(np.float64)
    with np.errstate(over="ignore"):  # lift at a prevalence of 1e-320
        for block in blocks(tp.size):
            tp_block = tp[block]
            fp_block = fp[block]
            # compute both before writing either, since they replace the counts
            across_rate = rate_across(tp_block, fp_block, n_pos, n_neg, prevalence)
            up_rate = rate_up(tp_block, fp_block, n_pos, n_neg, prevalence)
            x[block] = across_rate
            y[block] = up_rate

    return Curve(
        (across, up),
        x,
        y,
        threshold=np.concatenate([[np.inf], counts.score])[first_cut:],
        prevalence=math.nan if within_class else prevalence,
        notes=notes,
    )


@of_tally
def roc(data: Tally) -> Curve:
    """ROC curve: true positive rate by false positive rate, at every threshold.

    Which true positive rate goes with each false positive rate?

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
    r"""Precision-recall curve: precision (PPV) by recall, at every threshold.

    Which precision (PPV) remains at each recall?

    .. math:: \mathrm{ppv} =
              \frac{\pi\,\mathrm{tpr}}{\pi\,\mathrm{tpr} + (1-\pi)\,\mathrm{fpr}}

    With ``prevalence=`` pi is that prevalence. Between two points the curve is not
    straight: :func:`leakage` gives the precision at any recall.

    Examples
    --------
    >>> curve = precision_recall(Tally([0.9, 0.5, 0.1], pos=[1, 1, 0], neg=[0, 1, 1]))
    >>> curve.recall, curve.precision.round(3)
    (array([0.5, 1. , 1. ]), array([1.   , 0.667, 0.5  ]))
    """
    return _curve(data, "precision_recall", "recall", "precision")


def precision_at(fpr: Floats, tpr: Floats, prevalence: float) -> Any:
    """Return the precision at a pair of rates; NaN where no case is flagged."""
    with np.errstate(invalid="ignore"):
        hits = prevalence * tpr
        return hits / (hits + (1 - prevalence) * fpr)


@of_tally
def det(data: Tally) -> Curve:
    """DET curve (detection error tradeoff): miss rate by false positive rate.

    Which miss rate goes with each false alarm rate?

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
    """Cumulative gain curve: recall by the proportion of cases flagged.

    What proportion of the positives is among the cases with the highest scores?

    Examples
    --------
    >>> gain_curve(Tally([2, 1], pos=[1, 1], neg=[0, 2])).flagged_rate
    array([0.  , 0.25, 1.  ])
    """
    return _curve(data, "gain_curve", "flagged_rate", "recall")


@of_tally
def lift_curve(data: Tally) -> Curve:
    """Lift curve: precision over prevalence, by the proportion of cases flagged.

    How many times more frequent are positives among flagged cases than among all?

    Examples
    --------
    >>> lift_curve(Tally([2, 1], pos=[1, 1], neg=[0, 2])).lift
    array([2., 1.])
    """
    return _curve(data, "lift_curve", "flagged_rate", "lift")


def hull(curve: Curve) -> Curve:
    """Convex hull of an ROC curve.

    Which rates can one threshold, or a random choice between two, reach?

    The smallest concave curve on or above the ROC ``curve``; its points are the
    thresholds that are best for some costs of the errors (Fawcett and Niculescu-Mizil
    2007, doi:10.1007/s10994-007-5011-0).

    Examples
    --------
    >>> curve = hull(roc(Tally([3, 2, 1], pos=[1, 0, 1], neg=[0, 1, 0])))
    >>> curve.fpr, curve.tpr
    (array([0., 0., 1.]), array([0. , 0.5, 1. ]))
    """
    _check_curve(curve, "hull", "trueness.roc(t)", ("fpr", "tpr"))
    # the slopes of the hull are isotonic likelihood ratios
    corners = concave_corners(np.diff(curve.y), np.diff(curve.x))
    fpr = curve.x[corners]
    tpr = curve.y[corners]

    # points between blocks of equal slope are not corners: there the cross product of
    # both steps is zero
    fpr_steps = np.diff(fpr)
    tpr_steps = np.diff(tpr)
    # below 0 where the curve turns right, as a concave one does
    cross_product = fpr_steps[:-1] * tpr_steps[1:] - tpr_steps[:-1] * fpr_steps[1:]
    is_corner = np.concatenate([[True], cross_product < 0, [True]])
    threshold = curve.threshold[corners]
    return Curve(curve.axes, fpr[is_corner], tpr[is_corner], threshold[is_corner])


def simplify(
    curve: Curve, *, points: int | None = None, tolerance: float | None = None
) -> Curve:
    """A curve with fewer points, and the largest distance from the original.

    Which few points draw nearly the same curve, and by how much do they move it?

    The first and the last point stay; ``largest_shift`` is the largest distance in the
    plane of the curve between the old and the new one, both drawn with straight lines
    (Douglas and Peucker 1973, doi:10.3138/FM57-6770-U75U-7727).

    Parameters
    ----------
    points, tolerance
        Largest number of points (2 or more); largest shift of the curve.

    Examples
    --------
    >>> line = roc(Tally([3, 2, 1], pos=[1, 1, 1], neg=[1, 1, 1]))
    >>> simplify(line, tolerance=0.001).fpr
    array([0., 1.])
    """
    _check_curve(curve, "simplify", "trueness.roc(t), points=200")
    if points is None and tolerance is None:
        raise InputError(
            "simplify needs a number of points or a tolerance, or both.",
            option="points",
            example=200,
        )

    max_points = 2**62  # no limit
    if points is not None:
        max_points = _options.whole_number(points, "points", at_least=2)
    allowed = 0.0
    if tolerance is not None:
        allowed = _options.not_negative(tolerance, "tolerance")

    height = curve.y / curve.y.max() if curve.axes[1] == "lift" else curve.y
    kept_points = few_points(curve.x, height, max_points, allowed)
    shift = largest_distance(curve.x, height, kept_points)
    if tolerance is not None and shift > allowed:
        raise InputError(
            f"{max_points:,} points cannot keep the curve within the tolerance "
            f"{tolerance:g}; they move it by {shift:.2g}. Allow more points or a "
            "larger tolerance.",
            option="points",
        )

    return replace(
        curve,
        x=curve.x[kept_points],
        y=curve.y[kept_points],
        threshold=curve.threshold[kept_points],
        largest_shift=max(shift, curve.largest_shift),
    )


def _check_curve(
    curve: Curve, function: str, example: str, axes: tuple[str, str] | None = None
) -> None:
    """Stop at anything but a curve, or at a curve with other axes."""
    if isinstance(curve, Curve) and axes in (None, curve.axes):
        return
    passed = getattr(curve, "axes", type(curve).__name__)
    raise InputError(
        f"{function} needs a curve; found {passed}.",
        example=PythonCode(f"{function}({example})"),
    )


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
    r"""Partial area under the ROC curve, with a confidence interval.

    How good is a classifier over the part of the ROC curve that matters?

    .. math:: \int_{f_0}^{f_1} \mathrm{tpr}\,d\mathrm{fpr}, \qquad
              \int_{t_0}^{t_1} (1 - \mathrm{fpr})\,d\mathrm{tpr}, \qquad
              \int_{f_0}^{f_1} [\min(\mathrm{tpr}, t_1) - t_0]_+\,d\mathrm{fpr}

    Parameters
    ----------
    max_fpr
        Instead of ``fpr=(0, max_fpr)``.
    fpr, tpr
        Range of false positive rates, for example (0, 0.1), or of true positive rates:
        the area to the right of the curve. With both, it is the area under the curve
        inside the rectangle (two-way; Yang, Lu, Lyu and Hu 2019).
    corrected
        Whether to return the area on McClish's scale (1989,
        doi:10.1177/0272989X8900900307): 1/2 for a random classifier, 1 for an ideal
        one.
    method
        ``"newcombe"`` (as for :func:`auc`, with the numbers of cases in the range) or
        ``"bootstrap"`` (percentiles).

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


class _PartOfPlane(NamedTuple):
    """A rectangle of the ROC plane, and the scale on which its area is given."""

    fpr: Range
    tpr: Range
    shift: float  # an area a is given as shift + factor * a
    factor: float

    @property
    def area(self) -> float:
        """The area of an ideal classifier."""
        return (self.fpr[1] - self.fpr[0]) * (self.tpr[1] - self.tpr[0])

    @property
    def ends(self) -> tuple[float, float]:
        """The values of the worst and of an ideal classifier."""
        return self.shift, self.shift + self.factor * self.area

    def value(self, area: Floats) -> Floats:
        """Return areas on the scale of this part."""
        return np.clip(self.shift + self.factor * area, *self.ends)


def partial_area_measure(
    fpr: Range | None = None,
    tpr: Range | None = None,
    max_fpr: float | None = None,
    *,
    corrected: bool = False,
) -> tuple[Measure, Callable[[Array, Array], Floats]]:
    r"""Return the area inside a rectangle, as a measure and for many rows of counts.

    A case moves the area by the strip between the old curve and the new one inside:

    .. math:: dF = \int_{\text{inside}} (\delta y\,dx - \delta x\,dy), \qquad
              \delta x_k = \frac{[k \ge i] - x_k}{N_0}
    """
    part_of_curve = _read_part(fpr, tpr, max_fpr, corrected=corrected)
    roc_range = RocRange(
        part_of_curve.fpr[1] - part_of_curve.fpr[0],
        part_of_curve.tpr[1] - part_of_curve.tpr[0],
    )

    def measure_of_replicates(neg: Array, pos: Array) -> Floats:
        inside = _area_inside(
            _rates(neg), _rates(pos), part_of_curve.fpr, part_of_curve.tpr
        )
        return part_of_curve.value(inside.area)

    def measure(tally: Tally) -> MeasuredValue:
        """Return the area of the part of the plane, and its influence values."""
        x = _rates(tally.neg[None])
        y = _rates(tally.pos[None])
        inside = _area_inside(x, y, part_of_curve.fpr, part_of_curve.tpr)
        # a negative moves the curve to the right, a positive upwards
        by_negatives = _pull_on_curve(x, -np.diff(y), inside) / tally.n_neg
        by_positives = _pull_on_curve(y, np.diff(x), inside) / tally.n_pos
        return MeasuredValue(
            float(part_of_curve.value(inside.area)[0]),
            Influence(
                part_of_curve.factor * by_negatives, part_of_curve.factor * by_positives
            ),
            part_of_curve.ends,
            within_class=True,
            roc_range=roc_range,
        )

    return measure, measure_of_replicates


def _read_part(
    fpr: Range | None, tpr: Range | None, max_fpr: float | None, *, corrected: bool
) -> _PartOfPlane:
    """Return the part of the ROC plane that the options describe, with its scale."""
    if max_fpr is not None:
        if fpr is not None:
            raise InputError(
                "fpr and max_fpr mean the same, and both were given. Leave one of "
                "them out.",
                option="max_fpr",
            )
        fpr = (0.0, _options.fraction(max_fpr, "max_fpr", ends="(]"))
    if fpr is None and tpr is None:
        raise InputError(
            "A partial AUC needs a part of the curve, a range of fpr, of tpr or of "
            "both; found none.",
            option="fpr",
            example=(0, 0.1),
        )

    plain = _PartOfPlane(_range(fpr, "fpr"), _range(tpr, "tpr"), shift=0.0, factor=1.0)
    return _scale_by_mcclish(plain) if corrected else plain


def _scale_by_mcclish(part_of_curve: _PartOfPlane) -> _PartOfPlane:
    """Return a part scaled so that chance becomes 1/2 and an ideal classifier 1."""
    diagonal = np.array([[0.0, 1.0]])
    chance = float(
        _area_inside(diagonal, diagonal, part_of_curve.fpr, part_of_curve.tpr).area[0]
    )
    if part_of_curve.area - chance <= _MIN_WIDTH * part_of_curve.area:
        raise InputError(
            "The corrected area needs a part of the ROC plane above the diagonal. "
            "Choose such a part, or leave corrected out.",
            option="corrected",
        )

    # McClish (1989): (1 + (A - chance) / (ideal - chance)) / 2
    factor = 0.5 / (part_of_curve.area - chance)
    return part_of_curve._replace(shift=0.5 - factor * chance, factor=factor)


def _pull_on_curve(rates: Floats, other_steps: Floats, inside: _Inside) -> Floats:
    """Return how far a case of each row moves the area, times its class size."""
    # a shift of the end of a segment moves its points by the place t from 0 to 1, a
    # shift of the start by 1 - t: both are integrated over the part inside
    end_weight = (inside.leaves * inside.leaves - inside.enters * inside.enters) / 2
    start_weight = (inside.leaves - inside.enters) - end_weight

    # each corner of the curve ends one segment and starts the next
    by_corner = np.zeros(rates.shape[1])
    by_corner[:-1] += (other_steps * start_weight)[0]
    by_corner[1:] += (other_steps * end_weight)[0]

    # a case raises the corners from its own row on, and lowers all by their own rate
    return reverse_cumsum(by_corner)[1:] - float(by_corner @ rates[0])


# a narrower range than this is lost in the rounding of the rates
_MIN_WIDTH = 1e-9


def _range(value: Range | None, rate: str) -> Range:
    """Return the range of a rate, checked; 0 to 1 by default."""
    if value is None:
        return 0.0, 1.0

    low, high = _options.share_range(value, rate)
    if high - low < _MIN_WIDTH:
        raise InputError(
            f"{rate} must be at least {_MIN_WIDTH:g} wide; found ({low!r}, {high!r}). "
            "The ROC curve has the rate at one threshold.",
            option=rate,
        )
    return low, high


def _rates(counts: Array) -> Floats:
    """Return cumulative proportions of rows of counts, with a zero in front."""
    totals = np.zeros((len(counts), counts.shape[1] + 1))
    np.cumsum(counts, axis=1, out=totals[:, 1:])
    with np.errstate(invalid="ignore"):  # clusters that were drawn may lack a class
        totals /= totals[:, -1:]
    return totals


class _Inside(NamedTuple):
    """The area of curves in a rectangle, and where each segment is inside it.

    A segment is inside from a proportion ``enters`` of its length to ``leaves``.
    """

    area: Floats
    enters: Floats
    leaves: Floats


def _area_inside(x: Floats, y: Floats, fpr: Range, tpr: Range) -> _Inside:
    """Return the area under curves in a rectangle, and the segments inside."""
    enters_fpr, leaves_fpr = _crossings(x, *fpr)
    enters_tpr, leaves_tpr = _crossings(y, *tpr)
    # inside the rectangle is inside both ranges
    enters = np.maximum(enters_fpr, enters_tpr)
    leaves = np.maximum(enters, np.minimum(leaves_fpr, leaves_tpr))

    low, high = tpr
    dx = np.diff(x)
    dy = np.diff(y)
    start_height = y[:, :-1] - low
    # the integral of the rise t dy along the part inside
    mean_height = dy * (leaves * leaves - enters * enters) / 2
    under_segment = (leaves - enters) * start_height + mean_height

    # where the curve runs above the rectangle, all of its height counts
    above = np.maximum(leaves_fpr - np.maximum(enters_fpr, leaves_tpr), 0.0)
    # r: curves, m: segments
    area = np.einsum("rm,rm->r", dx, under_segment + (high - low) * above)
    return _Inside(np.asarray(area), enters, leaves)


def _crossings(rates: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Return where each segment enters and leaves a range, from 0 to 1 along it."""
    start = rates[:, :-1]
    step = np.diff(rates)
    is_flat = step <= 0
    # at the very top, one more case below still lowers the curve
    is_over = (start >= high) & (high < 1)
    # a flat segment is inside or outside as a whole, and is not divided by 0
    length = np.where(is_flat, 1.0, step)
    enters = np.where(is_flat, start < low, (low - start) / length)
    leaves = np.where(is_flat, ~is_over, (high - start) / length)
    return np.clip(enters, 0, 1), np.clip(leaves, 0, 1)
