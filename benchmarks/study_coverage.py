"""Coverage of the 95 % intervals of the AUC, by simulation

    python benchmarks/study_coverage.py [SAMPLES] [fresh]

For every size, prevalence, AUC, with ties or not: which share of samples has an
interval that holds the true AUC, and how wide is it? Normal scores of equal spread;
"tied" rounds them to five levels (the truth is that of the levels); "wide" gives
positives twice the spread. One row a cell and method, written to results/coverage.json.

"fresh" is a grid that no method was tuned on: other shapes (exponential scores, the
same in whole steps, Cauchy), other sizes, prevalences and AUCs; without the bootstrap;
written to results/coverage_fresh.json.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

import trueness
from trueness.ranking.auc_intervals import AUC_METHODS

HERE = Path(__file__).parent
CUTS = np.array([-0.8, 0.3, 1.0, 1.8])
RESAMPLED = ("bootstrap", "bca")


class Grid(NamedTuple):
    kinds: tuple[str, ...]
    sizes: tuple[int, ...]
    prevalences: tuple[float, ...]
    areas: tuple[float, ...]
    methods: tuple[str, ...]
    seed: int


GRIDS = {
    "coverage": Grid(
        ("normal", "wide", "tied"),
        (20, 50, 200, 1000),
        (0.05, 0.2, 0.5),
        (0.6, 0.8, 0.95, 0.99),
        tuple(AUC_METHODS),
        20261115,
    ),
    "coverage_fresh": Grid(
        ("exponential", "steps", "cauchy"),
        (15, 30, 80, 400),
        (0.1, 0.35, 0.8),
        (0.55, 0.7, 0.9, 0.97),
        tuple(m for m in AUC_METHODS if m not in RESAMPLED),
        7,
    ),
}


class Row(NamedTuple):
    kind: str
    n: int
    n_pos: int
    auc: float
    method: str
    samples: int
    coverage: float
    above: float  # share of samples whose interval lies above the truth
    below: float
    width: float


def truth(kind: str, area: float) -> float:
    if kind == "tied":
        shift = np.sqrt(2) * ndtri(area)
        edges = np.concatenate([[-np.inf], CUTS, [np.inf]])
        neg, pos = np.diff(ndtr(edges)), np.diff(ndtr(edges - shift))
        return float(pos @ (np.cumsum(neg) - neg / 2))
    if kind == "steps":  # geometric numbers of half units
        stay_neg, stay_pos = np.exp(-0.5), np.exp(-0.5 * (1 - area) / area)
        meet = (1 - stay_neg) / (1 - stay_neg * stay_pos)
        return float(meet * (stay_pos + (1 - stay_pos) / 2))
    return area


def sample(rng: np.random.Generator, kind: str, y: np.ndarray, area: float):
    if kind == "cauchy":
        return rng.standard_cauchy(y.size) + 2 * np.tan(np.pi * (area - 0.5)) * y
    if kind in ("exponential", "steps"):
        score = rng.exponential(np.where(y, area / (1 - area), 1.0))
        return np.floor(2 * score) if kind == "steps" else score
    spread = 2.0 if kind == "wide" else 1.0
    shift = np.sqrt(1 + spread**2) * ndtri(area)
    score = rng.normal(size=y.size) * np.where(y, spread, 1.0) + shift * y
    return np.searchsorted(CUTS, score) if kind == "tied" else score


def rows(samples: int = 400, name: str = "coverage") -> Iterator[Row]:
    grid = GRIDS[name]
    rng = np.random.default_rng(grid.seed)
    for kind, n, prevalence, area in itertools.product(*grid[:4]):
        n_pos = max(1, round(n * prevalence))
        y = np.repeat([1, 0], [n_pos, n - n_pos])
        true = truth(kind, area)
        found: dict[str, list[tuple[float, float]]] = {m: [] for m in grid.methods}
        for k in range(samples):
            t = trueness.tally(y, sample(rng, kind, y, area).astype(float))
            for method in grid.methods:
                # a quarter of the samples: two hundred replicates each
                if method in RESAMPLED and k % 4:
                    continue
                a = trueness.auc(t, method=method, rng=k, replicates=200)
                found[method].append((a.low, a.high))
        for method, ends in found.items():
            low, high = np.array(ends).T
            yield Row(
                kind,
                n,
                n_pos,
                area,
                method,
                len(ends),
                round(float(np.mean((low <= true) & (true <= high))), 4),
                round(float(np.mean(low > true)), 4),
                round(float(np.mean(high < true)), 4),
                round(float(np.mean(high - low)), 4),
            )


def summary(found: list[Row]) -> list[dict[str, object]]:
    """One line a method: mean, smallest, share of cells under 93 % and 90 %."""
    lines = []
    for method in dict.fromkeys(r.method for r in found):
        part = np.array([r.coverage for r in found if r.method == method])
        width = np.mean([r.width for r in found if r.method == method])
        lines.append(
            {
                "method": method,
                "mean coverage": round(float(part.mean()), 3),
                "smallest": round(float(part.min()), 3),
                "cells under 0.93": f"{np.sum(part < 0.93)} of {part.size}",
                "cells under 0.90": f"{np.sum(part < 0.90)} of {part.size}",
                "mean width": round(float(width), 3),
            }
        )
    return lines


def main() -> None:
    words = sys.argv[1:]
    name = "coverage_fresh" if "fresh" in words else "coverage"
    samples = next((int(w) for w in words if w.isdigit()), 400)
    found = []
    for row in rows(samples, name):
        found.append(row)
        print(*row, flush=True)
    lines = summary(found)
    result = {
        "title": "Coverage of the 95 % intervals of the AUC, by simulation"
        + (", on a fresh grid" if name == "coverage_fresh" else ""),
        "date": date.today().isoformat(),
        "machine": f"{samples} samples a cell; bootstrap methods a quarter of them",
        "rows": lines,
        "cells": [r._asdict() for r in found],
    }
    (HERE / "results").mkdir(exist_ok=True)
    path = HERE / "results" / f"{name}.json"
    path.write_text(json.dumps(result, indent=0) + "\n")


if __name__ == "__main__":
    main()
