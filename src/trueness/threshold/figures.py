"""What do the figures of a threshold show? Costs, net benefit, regions, without ink."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.figures import POINTS, Axis, Curves, Line, few_points, guide
from trueness.counts.values import Tally
from trueness.metrics.algebra import Constraint
from trueness.metrics.confusion import Confusion, sweep, thresholds
from trueness.threshold.costs import DecisionCurve, cost_curve, decision_curve

WEIGHT = Axis("weight", "Weight of missed positives (prevalence and costs)")
COST = Axis("cost", "Cost (share of the largest possible)", 0.0, 0.5)
ACT = Axis("p", "Threshold probability")
FLAGGED = Axis("flagged_rate", "Share of all cases flagged")
UNSEEN = 2e-4  # of the height of a figure: lines may be off by so much
Tallies = Mapping[str, Tally]


def cost_curve_figure(
    tallies: Tallies, *, level: float = 0.95, at: Floats | None = None
) -> Curves:
    """What do errors cost at best, for every weight of the two kinds?

    The guide is the better of "flag all" and "flag none"; ``at`` are the weights.
    """
    found = {name: cost_curve(t, level=level, at=at) for name, t in tallies.items()}
    lines = tuple(
        Line(name, {"weight": c.weight, "cost": c.cost, "low": c.low, "high": c.high,
                    "trivial": c.trivial, "cut": c.threshold})
        for name, c in found.items()
    )  # fmt: skip
    trivial = guide(WEIGHT, COST, [0, 0.5, 1], [0, 0.5, 0])
    return Curves("Cost curve", WEIGHT, COST, lines, lines, (trivial,))


def price_figure(tallies: Tallies, fp: float, fn: float) -> Curves:
    """What do the errors cost per case, against how many cases are flagged?"""
    lines = []
    for name, t in tallies.items():
        c, n = sweep(t), t.n_pos + t.n_neg
        flagged = np.asarray((c.tp + c.fp) / n)
        cost = np.asarray((fp * c.fp + fn * c.fn) / n)
        top = float(cost.max()) or 1.0
        some = few_points(flagged, cost / top, POINTS, UNSEEN)
        columns = {"flagged_rate": flagged[some], "cost": cost[some]}
        lines.append(Line(name, {**columns, "cut": thresholds(t)[some]}))
    top = max(float(line["cost"].max()) for line in lines) * 1.05 or 1.0
    return Curves("Cost", FLAGGED, Axis("cost", "Cost per case", 0, top), tuple(lines))


def decision_figure(
    tallies: Tallies,
    *,
    level: float = 0.95,
    standardised: bool = False,
    at: Mapping[str, Floats] | None = None,
) -> Curves:
    """What is it worth to act on the scores? The models, acting always, acting never.

    ``at`` gives the probabilities at which each classifier is asked.
    """
    found = {
        name: decision_curve(t, threshold=None if at is None else at[name], level=level)
        for name, t in tallies.items()
    }
    lines = tuple(Line(n, _benefit(d, standardised)) for n, d in found.items())
    always = {
        d.prevalence: (d.threshold, d.treat_all / (d.prevalence if standardised else 1))
        for d in found.values()
    }
    ceiling = max(
        *(float(line["high"].max()) for line in lines),
        *(float(v.max()) for _, v in always.values()),
    )
    what = "Standardised net benefit" if standardised else "Net benefit"
    # far below zero nothing is to be learned: acting never is better
    y = Axis("y", what, -ceiling / 4, 1.05 * ceiling)
    p = next(iter(found.values())).threshold
    others = [guide(ACT, y, at_p, v, "act always") for at_p, v in always.values()]
    others.append(guide(ACT, y, p, 0 * p, "act never"))
    return Curves(what, ACT, y, lines, lines, tuple(others))


def _benefit(d: DecisionCurve, standardised: bool) -> dict[str, Array]:
    keys = ("standardised", "standardised_low", "standardised_high")
    keys = keys if standardised else ("net_benefit", "low", "high")
    y, low, high = (getattr(d, k) for k in keys)
    return {"p": d.threshold, "y": y, "low": low, "high": high, "cut": d.threshold}


# a point of a plane, as true and false positives of so many of each class
PLANES: dict[str, Callable[[Array, Array, float, float], tuple[Array, Array]]] = {
    "roc": lambda x, y, pos, neg: (y * pos, x * neg),
    "precision_recall": lambda x, y, pos, _: (
        x * pos,
        x * pos * (1 - y) / np.maximum(y, 1e-9),
    ),
    "gain": lambda x, y, pos, neg: (y * pos, x * (pos + neg) - y * pos),
}
# points of a plane at which constraints are asked: finer than a pixel
ACROSS, UP = 241, 961
Strip = tuple[Floats, Floats, Floats]  # where, from, to


def region(
    constraints: Sequence[Constraint],
    plane: str,
    n_pos: float,
    n_neg: float,
    *,
    met: bool = True,
) -> list[Strip]:
    """Where in a plane are all constraints met, or not all of them, as strips?

    Whatever the metric: the constraints are asked point by point. Where one is
    undefined it is not met; points that no cut of so many cases can reach belong to
    neither region.
    """
    x, y = np.linspace(0, 1, ACROSS)[:, None], np.linspace(0, 1, UP)[None, :]
    tp, fp = np.broadcast_arrays(*PLANES[plane](x, y, n_pos, n_neg))
    c = Confusion(tp, fp, n_pos - tp, n_neg - fp)
    held = np.ones((ACROSS, UP), dtype=bool)
    for constraint in constraints:
        held &= np.asarray(constraint(c), dtype=bool)
    possible = (fp >= 0) & (fp <= n_neg * (1 + 1e-12))
    marked = (held if met else ~held) & possible
    # marked stretches of neighbouring columns are joined, as long as they are alike
    done: list[list[tuple[float, ...]]] = []
    growing: list[list[tuple[float, ...]]] = []
    for k, column in enumerate(marked):
        change = np.diff(np.concatenate([[0], column.astype(np.int8), [0]]))
        ends = np.flatnonzero(change).reshape(-1, 2) - [0, 1]
        if len(ends) != len(growing):
            done += growing
            growing = [[] for _ in ends]
        for strip, (low, high) in zip(growing, ends / (UP - 1), strict=True):
            strip.append((k / (ACROSS - 1), float(low), float(high)))
    columns = (np.array(strip).T for strip in done + growing)
    return [(where, low, high) for where, low, high in columns]
