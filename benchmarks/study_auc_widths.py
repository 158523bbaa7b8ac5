"""Does the interval of the AUC cover, and what does that cost in width?

    python benchmarks/study_auc_widths.py [SAMPLES] [SEED]

Seven shapes of scores (normal with equal, twice and half the spread among positives,
exponential, five levels, a quarter of the positives hard to tell, Cauchy), 5 to 200
positives, 10 to 2,000 negatives, true AUCs from 0.5 to 0.999: 840 cells. Then designs
in which a share of the positives ranks last, and their mirror images. An interval of
the AUC is a function of three numbers of a sample (the AUC and both spreads of the
placement values), so that all samples of a cell are answered at once.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from trueness.ranking.auc_intervals import score_ends

POSITIVES, NEGATIVES = (5, 10, 20, 50, 200), (10, 50, 200, 2000)
AREAS = (0.5, 0.7, 0.85, 0.95, 0.99, 0.999)
LAST = (
    (5, 50, 0.3),
    (5, 20, 0.2),
    (10, 50, 0.2),
    (20, 100, 0.1),
    (20, 1000, 0.14),
    (30, 60, 0.08),
    (50, 200, 0.05),
    (100, 1000, 0.03),
)
Z = 1.959964
Limits = tuple[np.ndarray, np.ndarray]


class Cell(NamedTuple):
    kind: str
    pos: int
    neg: int
    area: float
    covered: dict[str, float]
    width: dict[str, float]


def levels(shift: float) -> tuple[np.ndarray, float]:
    """Give four cuts into five levels, and the AUC of the levels."""
    cuts = np.array([-1.0, 0.0, 1.0, 2.0]) * max(1.0, shift / 2)
    neg, pos = (
        np.diff(ndtr(cuts - m), prepend=0, append=1) for m in (0.0, float(shift))
    )
    return cuts, float(pos @ (np.cumsum(neg) - neg / 2))


def normals(rng, shape_neg, shape_pos, shift, spread=1.0):
    return rng.normal(size=shape_neg), shift + spread * rng.normal(size=shape_pos)


def draw(kind, area, n_pos, n_neg, samples, rng):
    """Draw the scores of negatives and positives, one sample a row."""
    shapes = (samples, n_neg), (samples, n_pos)
    spread = {"equal": 1.0, "wide": 2.0, "narrow": 0.5}.get(kind)
    if spread is not None:
        return normals(rng, *shapes, ndtri(area) * np.hypot(1, spread), spread)
    if kind == "exponential":
        scale = area / (1 - area)
        return rng.exponential(1, shapes[0]), rng.exponential(scale, shapes[1])
    if kind == "cauchy":
        shift = 2 * np.tan(np.pi * (area - 0.5))
        return rng.standard_cauchy(shapes[0]), shift + rng.standard_cauchy(shapes[1])
    if kind == "five levels":
        shift = brentq(lambda m: levels(m)[1] - area, -1, 12)
        return [
            np.searchsorted(levels(shift)[0], x).astype(float)
            for x in normals(rng, *shapes, shift)
        ]
    root = 2**0.5  # a quarter of the positives is a third of the way
    shift = brentq(
        lambda m: 0.75 * ndtr(m / root) + 0.25 * ndtr(m / 3 / root) - area, -1, 40
    )
    return normals(
        rng, *shapes, shift * np.where(rng.random(shapes[1]) < 0.25, 1 / 3, 1)
    )


KINDS = ("equal", "wide", "narrow", "exponential", "five levels", "mixture", "cauchy")


def draw_last(share, area, n_pos, n_neg, samples, rng):
    """Let a share of the positives rank last, the others have the given AUC."""
    shift = ndtri(area) * 2**0.5 if area < 1 else 50.0
    neg, pos = normals(rng, (samples, n_neg), (samples, n_pos), shift)
    return neg, np.where(rng.random(pos.shape) < share, -100.0, pos)


def moments(neg: np.ndarray, pos: np.ndarray) -> tuple[np.ndarray, ...]:
    """Give the AUC and the spreads of both classes' placement values, row by row."""
    n_neg, both = neg.shape[1], np.concatenate([neg, pos], axis=1)
    rank = np.unique(both, return_inverse=True)[1].reshape(both.shape)
    rank = rank + (rank.max() + 1) * np.arange(len(neg))[:, None]
    mine, theirs = rank[:, n_neg:], rank[:, :n_neg]
    below, above = placed(mine, theirs), 1 - placed(theirs, mine)
    return below.mean(axis=1), below.var(axis=1, ddof=1), above.var(axis=1, ddof=1)


def placed(these: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Which share of ``among``, in the same row, is below each? Ties are halves."""
    line = np.sort(among.ravel())
    low, high = (np.searchsorted(line, these.ravel(), s) for s in ("left", "right"))
    upto = ((low + high) / 2).reshape(these.shape)
    return upto / among.shape[1] - np.arange(len(these))[:, None]


def delong(a, pos_var, neg_var, n_pos, n_neg) -> Limits:
    half = Z * np.sqrt(pos_var / n_pos + neg_var / n_neg)
    return stood_in(a - half, a + half, a, pos_var, neg_var, n_pos, n_neg)


def logit_delong(a, pos_var, neg_var, n_pos, n_neg) -> Limits:
    sd = np.sqrt(pos_var / n_pos + neg_var / n_neg)
    with np.errstate(all="ignore"):
        centre, half = np.log(a / (1 - a)), Z * sd / (a * (1 - a))
        ends = [1 / (1 + np.exp(-x)) for x in (centre - half, centre + half)]
    return stood_in(*ends, a, pos_var, neg_var, n_pos, n_neg)


def stood_in(low, high, *sample) -> Limits:
    """Take the score interval where there is no other, as `trueness.auc` does."""
    other = score(*sample)
    none = ~(low < high)
    return np.where(none, other[0], low), np.where(none, other[1], high)


def score(*sample) -> Limits:
    return score_ends(*sample, 0.95)


METHODS: dict[str, Callable[..., Limits]] = {
    "score": score,
    "logit-delong": logit_delong,
    "delong": delong,
}


def measured(kind, n_pos, n_neg, area, scores) -> Cell:
    sample = moments(*scores)
    covered, width = {}, {}
    for name, method in METHODS.items():
        low, high = method(*sample, n_pos, n_neg)
        held = (low <= area + 1e-12) & (area - 1e-12 <= high)
        covered[name] = float(np.mean(held))
        width[name] = float(np.mean(np.minimum(high, 1) - np.maximum(low, 0)))
    return Cell(kind, n_pos, n_neg, area, covered, width)


def ordinary(samples: int, rng) -> Iterator[Cell]:
    for kind, pos, neg, area in itertools.product(KINDS, POSITIVES, NEGATIVES, AREAS):
        scores = draw(kind, area, pos, neg, samples, rng)
        yield measured(kind, pos, neg, area, scores)


def corners(samples: int, rng) -> Iterator[Cell]:
    for (pos, neg, share), area in itertools.product(LAST, (1.0, 0.95, 0.8)):
        truth, kind = (1 - share) * area, f"{share} last, others {area}"
        scores = draw_last(share, area, pos, neg, samples, rng)
        yield measured(kind, pos, neg, truth, scores)
        other = draw_last(share, area, pos, neg, samples, rng)
        mirrored = -other[1], -other[0]  # negatives that rank first
        yield measured("mirror: " + kind, neg, pos, truth, mirrored)


def line(words: list[object]) -> None:
    print("| " + " | ".join(map(str, words)) + " |", flush=True)


def show(cells: list[Cell]) -> None:
    line(["method", "mean", "smallest", "under .93", "above .97", "width"])
    for m in METHODS:
        c = np.array([x.covered[m] for x in cells])
        wide = np.mean([x.width[m] for x in cells])
        shares = (c < 0.93).mean(), (c > 0.97).mean()
        line([m, *(f"{x:.3f}" for x in (c.mean(), c.min(), *shares, wide))])


def main(samples: int = 500, seed: int = 3) -> None:
    rng = np.random.default_rng(seed)
    cells = list(ordinary(samples, rng))
    show(cells)
    line(["positives", *(f"AUC {a}" for a in AREAS)])
    for pos in POSITIVES:
        words = []
        for area in AREAS:
            some = [x for x in cells if x.pos == pos and x.area == area]
            words.append(
                " / ".join(
                    f"{np.mean([x.covered[m] for x in some]):.3f}" for m in METHODS
                )
                + " ("
                + " / ".join(
                    f"{np.mean([x.width[m] for x in some]):.3f}" for m in METHODS
                )
                + ")"
            )
        line([pos, *words])
    found = list(corners(samples, rng))
    show(found)
    for x in found:
        line([x.kind, x.pos, x.neg, *(f"{x.covered[m]:.3f}" for m in METHODS)])
    for x in sorted(cells, key=lambda x: x.covered["score"])[:10]:
        line([*x[:4], x.covered["score"]])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
