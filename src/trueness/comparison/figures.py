"""What do the figures of a comparison show? Differences with bands, without ink."""

from __future__ import annotations

import numpy as np

from trueness._core.figures import Axis, Curves, Intervals, Line, guide, intervals
from trueness.comparison.dominance import Dominance
from trueness.comparison.results import Comparison

FPR = Axis("fpr", "False positive rate")


def difference_figure(d: Dominance, name: str = "") -> Curves:
    """Where is the first of two classifiers better, and how sure is that?"""
    reach = max(0.01, *(float(abs(v).max()) for v in (d.low, d.high)))
    name = name or "first - second"
    y = Axis("difference", "Difference of true positive rates", -reach, reach)
    columns = {k: getattr(d, k) for k in ("fpr", "difference", "low", "high")}
    line = Line(name, columns)
    zero = guide(FPR, y, [0, 1], [0, 0])
    return Curves("Difference of two ROC curves", FPR, y, (line,), (line,), (zero,))


def pairs_figure(found: Comparison, minus: str = "-") -> Intervals:
    """Which classifiers differ, and by how much? All differences with intervals."""
    named = {f"{p.first} {minus} {p.second}": p.difference for p in found.pairs}
    adjusted = np.array([p.p_adjusted for p in found.pairs])
    keys = ("pair", "difference")
    return intervals(
        "Differences", "Difference", named, zero=0.0, keys=keys, p=adjusted
    )
