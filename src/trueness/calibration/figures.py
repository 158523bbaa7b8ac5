"""What do the figures of calibration show? Shares of positives, without ink."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.figures import POINTS, Axis, Bars, Curves, Line, guide
from trueness._core.polyline import few_points
from trueness.calibration.reliability_curve import Reliability
from trueness.counts.values import Tally

SCORE, SHARE = Axis("score", "Score"), Axis("probability", "Share of positives")
UNSEEN = 5e-4  # a quarter of a pixel: lines may be off by so much
BARS = 40


def reliability_figure(
    found: Mapping[str, Reliability], band: str = "confidence"
) -> Curves:
    """Which share of the cases with a score of p is positive?

    ``band`` is "confidence", which holds the true curve, or "consistency", in which
    the curve of calibrated scores would lie.
    """
    lines = tuple(Line(n, _few(r, "probability")) for n, r in found.items())
    ends = (f"{band}_low", f"{band}_high")
    bands = tuple(Line(n, _few(r, *ends)) for n, r in found.items())
    diagonal = guide(SCORE, SHARE, [0.0, 1.0], [0.0, 1.0])
    return Curves("Reliability diagram", SCORE, SHARE, lines, bands, (diagonal,))


def _few(r: Reliability, *names: str) -> dict[str, Array]:
    """Give columns of a curve without the points that nobody would see."""
    values = [getattr(r, name) for name in names]
    some = np.arange(r.score.size)
    if some.size > POINTS:
        kept = [few_points(r.score, v, some.size, UNSEEN) for v in values]
        some = np.unique(np.concatenate(kept))
    short = [name.rpartition("_")[2] for name in names]
    return {
        "score": r.score[some],
        **{k: v[some] for k, v in zip(short, values, strict=True)},
    }


def probability_bars(name: str, t: Tally) -> Bars:
    """How many negatives and positives have which score between 0 and 1?"""
    bar = np.minimum((t.score * BARS).astype(int), BARS - 1)
    neg, pos = (_counted(bar, count) for count in (t.neg, t.pos))
    return Bars("Scores", np.arange(BARS + 1) / BARS, {name: neg}, {name: pos})


def _counted(bar: Array, count: Array) -> Floats:
    return np.asarray(np.bincount(bar, count, BARS), dtype=np.float64)
