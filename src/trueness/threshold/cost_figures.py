"""How are costs, net benefit and constraints drawn?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.figures import POINTS, Axis, Curves, Line, few_points, guide
from trueness.counts.values import Tally
from trueness.metrics.algebra import Constraint
from trueness.metrics.confusion import Confusion, sweep, thresholds
from trueness.threshold.costs import (
    CostCurve,
    DecisionCurve,
    cost_curve,
    decision_curve,
)

WEIGHT = Axis("weight", "Weight of missed positives (prevalence and costs)")
COST = Axis("cost", "Cost (proportion of the largest possible)", 0.0, 0.5)
ACT = Axis("p", "Threshold probability")
FLAGGED = Axis("flagged_rate", "Proportion of all cases flagged")
# part of the height of a figure by which a drawn line may be off
LINE_TOLERANCE = 2e-4
Tallies = Mapping[str, Tally]


def cost_curve_figure(
    tallies: Tallies, *, level: float = 0.95, at: Floats | None = None
) -> Curves:
    """Return a figure of the smallest cost, for every weight of the two errors."""
    curves = {
        name: cost_curve(tally, level=level, at=at) for name, tally in tallies.items()
    }
    return cost_curves_figure(curves)


def cost_curves_figure(curves: Mapping[str, CostCurve]) -> Curves:
    """Return a figure of cost curves by their names."""
    lines = []
    for name, curve in curves.items():
        columns = {
            "weight": curve.weight,
            "cost": curve.cost,
            "low": curve.low,
            "high": curve.high,
            "trivial": curve.trivial,
            "cut": curve.threshold,
        }
        lines.append(Line(name, columns))

    trivial = guide(WEIGHT, COST, [0, 0.5, 1], [0, 0.5, 0])
    return Curves("Cost curve", WEIGHT, COST, tuple(lines), tuple(lines), (trivial,))


def price_figure(tallies: Tallies, fp: float, fn: float) -> Curves:
    """Return a figure of the cost per case, against how many cases are flagged."""
    lines = []
    for name, tally in tallies.items():
        counts = sweep(tally)
        cases = tally.n_pos + tally.n_neg
        flagged = np.asarray((counts.tp + counts.fp) / cases)
        cost = np.asarray((fp * counts.fp + fn * counts.fn) / cases)
        highest = float(cost.max()) or 1.0
        # both axes have the length 1, as in the figure
        points = few_points(flagged, cost / highest, POINTS, LINE_TOLERANCE)
        columns = {
            "flagged_rate": flagged[points],
            "cost": cost[points],
            "cut": thresholds(tally)[points],
        }
        lines.append(Line(name, columns))

    top = max(float(line["cost"].max()) for line in lines) * 1.05 or 1.0
    return Curves("Cost", FLAGGED, Axis("cost", "Cost per case", 0, top), tuple(lines))


def decision_figure(
    tallies: Tallies,
    *,
    level: float = 0.95,
    standardised: bool = False,
    at: Mapping[str, Floats] | None = None,
) -> Curves:
    """Return a figure of the net benefit of acting on the scores, always, or never."""
    curves = {
        name: decision_curve(
            tally, threshold=None if at is None else at[name], level=level
        )
        for name, tally in tallies.items()
    }
    return decision_curves_figure(curves, standardised=standardised)


def decision_curves_figure(
    curves: Mapping[str, DecisionCurve], *, standardised: bool = False
) -> Curves:
    """Return a figure of decision curves by their names."""
    lines = tuple(
        Line(name, _decision_columns(curve, standardised))
        for name, curve in curves.items()
    )
    # classifiers on the same cases have one line of acting always
    # keyed by prevalence, the only thing that acting always depends on
    act_always = {}
    for curve in curves.values():
        unit = curve.prevalence if standardised else 1
        act_always[curve.prevalence] = (curve.threshold, curve.treat_all / unit)

    ceiling = max(
        *(float(line["high"].max()) for line in lines),
        *(float(benefit.max()) for _, benefit in act_always.values()),
    )
    title = "Standardised net benefit" if standardised else "Net benefit"
    # far below zero nothing is to be learned: acting never is better
    y = Axis("y", title, -ceiling / 4, 1.05 * ceiling)
    guides = [
        guide(ACT, y, probability, benefit, "act always")
        for probability, benefit in act_always.values()
    ]
    probability = next(iter(curves.values())).threshold
    guides.append(guide(ACT, y, probability, 0 * probability, "act never"))
    return Curves(title, ACT, y, lines, lines, tuple(guides))


def _decision_columns(curve: DecisionCurve, standardised: bool) -> dict[str, Array]:
    """Return the columns of a decision curve, standardised or not."""
    columns = {
        "p": curve.threshold,
        "y": curve.net_benefit,
        "low": curve.low,
        "high": curve.high,
        "cut": curve.threshold,
    }
    if standardised:
        columns["y"] = curve.standardised
        columns["low"] = curve.standardised_low
        columns["high"] = curve.standardised_high

    return columns


def _counts_of_roc(x: Array, y: Array, pos: float, neg: float) -> tuple[Array, Array]:
    return y * pos, x * neg


def _counts_of_precision_recall(
    x: Array, y: Array, pos: float, neg: float
) -> tuple[Array, Array]:
    tp = x * pos
    # precision = tp / (tp + fp), solved for fp
    return tp, tp * (1 - y) / np.maximum(y, 1e-9)


def _counts_of_gain(x: Array, y: Array, pos: float, neg: float) -> tuple[Array, Array]:
    tp = y * pos
    return tp, x * (pos + neg) - tp


# a point of a plane, as true and false positives of so many of each class
PLANES: dict[str, Callable[[Array, Array, float, float], tuple[Array, Array]]] = {
    "roc": _counts_of_roc,
    "precision_recall": _counts_of_precision_recall,
    "gain": _counts_of_gain,
}
# points of a plane at which constraints are evaluated: finer than a pixel
COLUMNS, ROWS = 241, 961
Strip = tuple[Floats, Floats, Floats]  # x, and y from and to


def region(
    constraints: Sequence[Constraint],
    plane: str,
    n_pos: float,
    n_neg: float,
    *,
    met: bool = True,
) -> list[Strip]:
    """Return the strips of a plane in which all constraints are met, or not all."""
    x = np.linspace(0, 1, COLUMNS)[:, None]
    y = np.linspace(0, 1, ROWS)[None, :]
    tp, fp = np.broadcast_arrays(*PLANES[plane](x, y, n_pos, n_neg))
    counts = Confusion(tp, fp, n_pos - tp, n_neg - fp)
    all_met = np.ones((COLUMNS, ROWS), dtype=bool)
    for constraint in constraints:
        all_met &= np.asarray(constraint(counts), dtype=bool)

    # points that no cut of so many cases can reach belong to neither region
    possible = (fp >= 0) & (fp <= n_neg * (1 + 1e-12))
    marked = (all_met if met else ~all_met) & possible
    return _strips_of(marked)


def _strips_of(marked: Array) -> list[Strip]:
    """Join marked stretches of neighbouring columns while their number is the same."""
    finished: list[list[tuple[float, float, float]]] = []
    growing: list[list[tuple[float, float, float]]] = []
    for k, column in enumerate(marked):
        x = k / (COLUMNS - 1)
        stretches = _marked_stretches(column)
        if len(stretches) != len(growing):
            finished += growing
            growing = [[] for _ in stretches]
        for strip, (low, high) in zip(growing, stretches, strict=True):
            strip.append((x, float(low), float(high)))

    strips = []
    for strip in finished + growing:
        x_of_strip, low_of_strip, high_of_strip = np.array(strip).T
        strips.append((x_of_strip, low_of_strip, high_of_strip))

    return strips


def _marked_stretches(column: Array) -> Array:
    """Return low and high of each run of marked places in a column."""
    # 1 where a run begins, -1 after it ends
    change = np.diff(np.concatenate([[0], column.astype(np.int8), [0]]))
    first_and_stop = np.flatnonzero(change).reshape(-1, 2)
    first_and_last = first_and_stop - [0, 1]
    return np.asarray(first_and_last / (ROWS - 1))
