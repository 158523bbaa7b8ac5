"""Curves against counting by hand, loops over thresholds, scikit-learn."""

import copy
import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from sklearn.metrics import det_curve, precision_recall_curve, roc_curve

import trueness
from conftest import tied_cases
from trueness import Tally

NAMES = ("roc", "precision_recall", "det", "gain_curve", "lift_curve")
CURVES = {name: getattr(trueness, name) for name in NAMES}


def test_by_hand():
    tally = Tally([0.9, 0.6, 0.3], pos=[2, 1, 1], neg=[0, 1, 5])
    pr = trueness.precision_recall(tally)

    assert pr.precision.tolist() == [1, 3 / 4, 4 / 10]

    gain = trueness.gain_curve(tally)

    assert gain.flagged_rate == pytest.approx([0, 2 / 10, 4 / 10, 1])

    lift = trueness.lift_curve(tally)

    assert lift.lift == pytest.approx([(2 / 2) / (4 / 10), (3 / 4) / (4 / 10), 1])

    rare = trueness.precision_recall(tally, prevalence=0.01)
    hits, alarms = 0.01 * 3 / 4, 0.99 / 6

    assert rare.precision[1:] == pytest.approx([hits / (hits + alarms), 0.01])

    same = trueness.precision_recall(tally, prevalence=4 / 10)

    assert same.precision == pytest.approx(pr.precision)


@pytest.mark.parametrize("f", CURVES.values())
def test_one_class_and_no_share_are_errors(f):
    with pytest.raises(trueness.NotEnoughCases, match=f"{f.__name__} needs at least"):
        f(Tally([1, 2], pos=[1, 1]))
    for wrong in (0, 1, -0.2, 20, "a"):
        with pytest.raises(trueness.InputError, match="prevalence must"):
            f(Tally([1, 2], pos=[1, 1], neg=[1, 1]), prevalence=wrong)


def test_scikit_learn_agrees_on_roc(rng):
    labels, score = tied_cases(rng, 300, levels=20)

    curve = trueness.roc(labels, score)

    fpr, tpr, threshold = roc_curve(labels, score, drop_intermediate=False)

    assert curve.fpr == pytest.approx(fpr)
    assert curve.tpr == pytest.approx(tpr)
    assert curve.threshold.tolist() == threshold.tolist()


def test_scikit_learn_agrees_on_precision_and_recall(rng):
    labels, score = tied_cases(rng, 300, levels=20)

    curve = trueness.precision_recall(labels, score)

    # theirs begins with all cases, and ends in a point without a threshold
    precision, recall, threshold = precision_recall_curve(labels, score)

    assert curve.precision[::-1] == pytest.approx(precision[:-1])
    assert curve.recall[::-1] == pytest.approx(recall[:-1])
    assert curve.threshold[::-1].tolist() == threshold.tolist()


def test_scikit_learn_agrees_on_detection_errors(rng):
    labels, score = tied_cases(rng, 300, levels=20)

    curve = trueness.det(labels, score)

    fpr, fnr, threshold = det_curve(labels, score)
    row = np.searchsorted(-curve.threshold, -threshold)

    assert curve.fnr[row] == pytest.approx(fnr)
    assert curve.fpr[row] == pytest.approx(fpr)


def hull_by_qhull(fpr, tpr):
    points = np.column_stack([fpr, tpr])
    points = np.vstack([points, [1, -1], [0, -1]])  # below: only the top is left
    corners = points[np.sort(ConvexHull(points).vertices)]
    return corners[corners[:, 1] >= 0]


@pytest.mark.parametrize("n", [6, 30, 400])
def test_hull_agrees_with_qhull(rng, n):
    labels, score = tied_cases(rng, n, levels=50)
    curve = trueness.roc(trueness.tally(labels, score))

    hull = trueness.ranking.hull(curve)

    # qhull may keep points that lie on an edge, up to rounding
    by_qhull = hull_by_qhull(curve.fpr, curve.tpr)
    height = np.interp(by_qhull[:, 0], hull.fpr, hull.tpr)

    assert (np.abs(height - by_qhull[:, 1]) < 1e-9).sum() >= len(by_qhull) - 1
    assert (np.interp(curve.fpr, hull.fpr, hull.tpr) >= curve.tpr - 1e-12).all()

    slope = np.arctan2(np.diff(hull.tpr), np.diff(hull.fpr))

    assert (np.diff(slope) < 0).all()
    assert set(hull.threshold) <= set(curve.threshold)


@pytest.mark.parametrize(
    "tally",
    [Tally([3, 2, 1], [1, 1, 1], [2, 2, 2]), Tally([2, 1], [5, 0], [0, 3])],
    ids=["chance", "turned round"],
)
def test_the_hull_of_a_useless_score_is_the_diagonal(tally):
    line = trueness.ranking.hull(trueness.roc(tally))

    assert (line.fpr.tolist(), line.tpr.tolist()) == ([0, 1], [0, 1])


def distance_to_polyline(x, y, line_x, line_y):
    """Return the distance of each point to the nearest of all segments."""
    points = np.column_stack([x, y])
    corners = np.column_stack([line_x, line_y])
    nearest = np.full(len(x), np.inf)
    for start, end in pairwise(corners):
        step = end - start
        from_start = points - start
        # the foot of the perpendicular, as a fraction of the segment
        foot = np.zeros(len(x))
        if step.any():
            foot = np.clip(from_start @ step / (step @ step), 0, 1)
        offset = from_start - foot[:, None] * step
        nearest = np.minimum(nearest, np.hypot(*offset.T))

    return nearest


@pytest.mark.parametrize(
    "wish", [{"points": 12}, {"tolerance": 0.02}, {"tolerance": 0}]
)
@pytest.mark.parametrize("name", CURVES)
def test_simplify_never_moves_the_curve_by_more_than_it_says(rng, name, wish):
    labels, score = tied_cases(rng, 2000, levels=400)
    curve = CURVES[name](trueness.tally(labels, score))
    # distances of a lift are told as parts of the highest one
    scale = curve.y.max() if name == "lift_curve" else 1.0

    simple = trueness.ranking.simplify(curve, **wish)

    distance = distance_to_polyline(
        curve.x, curve.y / scale, simple.x, simple.y / scale
    )

    assert distance.max() <= simple.largest_shift + 1e-12
    assert simple.largest_shift <= wish.get("tolerance", np.inf)
    assert len(simple.x) == len(simple.threshold) <= wish.get("points", np.inf)
    assert (simple.x[0], simple.y[0]) == (curve.x[0], curve.y[0])
    assert (simple.x[-1], simple.y[-1]) == (curve.x[-1], curve.y[-1])


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({}, "a number of points or a tolerance"),
        ({"points": 1}, "points must be a whole number, 2"),
        ({"tolerance": -1}, "tolerance must be zero or more"),
        ({"points": 2, "tolerance": 0.001}, "2 points cannot keep the curve within"),
    ],
)
def test_simplify_errors(wish, message):
    curve = trueness.roc(Tally([4, 3, 2, 1], pos=[2, 0, 2, 0], neg=[0, 3, 0, 1]))
    with pytest.raises(trueness.InputError, match=message):
        trueness.ranking.simplify(curve, **wish)


def test_a_curve_has_its_axes_only():
    curve = trueness.det(Tally([2, 1], pos=[3, 0], neg=[0, 5]))

    assert curve.axes == ("fpr", "fnr")
    assert not hasattr(curve, "tpr")
    with pytest.raises(trueness.InputError, match="hull needs a curve; found"):
        trueness.ranking.hull(curve)
    assert copy.deepcopy(curve) == curve
    assert curve.to_dict()["threshold"] == ["inf", 2.0, 1.0]
    assert list(curve.to_frame("dict")) == ["fpr", "fnr", "threshold"]


def test_simplify_scales_lift_by_its_maximum():
    """Its heights, up to 4, are compared with depths, which end at 1."""
    curve = trueness.lift_curve(
        Tally([4, 3, 2, 1], pos=[10, 3, 1, 1], neg=[0, 10, 15, 20])
    )
    height = curve.lift / curve.lift.max()
    chord = np.interp(curve.x, curve.x[[0, -1]], height[[0, -1]])
    slope = (height[-1] - height[0]) / (curve.x[-1] - curve.x[0])
    distance = np.abs(height - chord).max() / math.hypot(1, slope)

    two = trueness.ranking.simplify(curve, points=2)

    assert two.largest_shift == pytest.approx(distance)
