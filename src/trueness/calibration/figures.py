"""What do fitted maps and the parts of a loss look like, before anybody draws them?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from trueness._core.figures import POINTS, Axis, Curves, Line, guide, span
from trueness.calibration.monotone import equal_mass
from trueness.calibration.proper_scores import ProperScore
from trueness.counts.values import Tally

_LEVELS = 9  # lines of equal loss


def map_figure(maps: Mapping[str, Callable[[Any], Any]], t: Tally, bins: int) -> Curves:
    """Which probability does each map give, and which share was there in bins?"""
    grid = np.linspace(t.score[-1], t.score[0], POINTS)
    cases = t.neg + t.pos
    start = equal_mass(cases, bins)
    total = np.add.reduceat(cases, start)
    seen = {
        "score": np.add.reduceat(t.score * cases, start) / total,
        "probability": np.add.reduceat(t.pos, start) / total,
    }
    return Curves(
        "Probability against score",
        span("score", "Score", grid),
        Axis("probability", "Probability"),
        tuple(Line(k, {"score": grid, "probability": f(grid)})
              for k, f in maps.items()),
        dots=(Line("share of positives", seen),),
    )  # fmt: skip


def decomposition_figure(scores: Mapping[str, ProperScore]) -> Curves:
    """How large are discrimination and miscalibration of each, and where is loss equal?

    On a guide mcb - dsc is constant.
    """
    mcb = [float(s.mcb) for s in scores.values()]
    dsc = [float(s.dsc) for s in scores.values()]
    right, top = (1.15 * max([*v, 1e-9]) for v in (dsc, mcb))
    x = Axis("dsc", "Discrimination (DSC)", 0.0, right)
    y = Axis("mcb", "Miscalibration (MCB)", 0.0, top)
    guides = []
    for shift in np.linspace(-right, top, _LEVELS):
        ends = np.array([max(0.0, -shift), min(right, top - shift)])
        guides.append(guide(x, y, ends, ends + shift))
    dots = tuple(
        Line(name, {"dsc": np.array([d]), "mcb": np.array([m])})
        for name, d, m in zip(scores, dsc, mcb, strict=True)
    )
    what = "Miscalibration against discrimination"
    return Curves(what, x, y, guides=tuple(guides), dots=dots)
