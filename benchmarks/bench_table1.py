"""Best accuracy threshold: Table 1 of Ramazi and Mari Oriyad, once more.

Scores rounded to 1 to 5 decimals, labels 0 and 1; seconds for the exhaustive search
(NumPy, ``np.mean((score >= t) == y)`` for every distinct score), the same on bools with
``count_nonzero``, the 0-1 program with two binaries a case, the one with a binary a
distinct score, and the sweep. The last three include counting the cases. A dash: not
tried, because it would take more than a minute. ``ratio`` is exhaustive search over
sweep, measured in turns; all answers are compared.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from side_by_side import fastest

import trueness

SIZES = (1000, 2000, 5000, 10**4, 2 * 10**4, 10**5, 5 * 10**5, 10**6, 2 * 10**6)
MINUTE = 60.0
MOST_COMPARISONS = 2.5e9  # of the exhaustive search, three times: half a minute
MOST_CASES = 2000  # of the program with two binaries a case
MOST_SCORES = 10**4  # of the program with a binary a score


class Row(NamedTuple):
    cases: int
    decimals: int
    distinct: int
    exhaustive_s: str
    on_bools_s: str
    per_case_milp_s: str
    per_score_milp_s: str
    sweep_s: str
    ratio: str
    ratio_on_bools: str
    all_equal: bool


def data(n: int, decimals: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n + decimals)
    y = (rng.random(n) < 0.5).astype(np.int64)
    x = rng.normal(size=n) + np.where(y == 1, 0.7, -0.7)
    return y, np.round(1 / (1 + np.exp(-x)), decimals)


def exhaustive(y: np.ndarray, score: np.ndarray) -> float:
    cuts = np.append(np.unique(score), np.inf)
    return max(float(np.mean((score >= t) == y)) for t in cuts)


def on_bools(y: np.ndarray, score: np.ndarray) -> float:
    cuts, y = np.append(np.unique(score), np.inf), y == 1
    return max(int(np.count_nonzero((score >= t) == y)) for t in cuts) / y.size


def best_accuracy(y: np.ndarray, score: np.ndarray, method: str = "sweep") -> float:
    counts = trueness.tally(y, score)
    return trueness.best_threshold(counts, maximize="accuracy", method=method).value


def program(method: str, y: np.ndarray, score: np.ndarray) -> tuple[str, float | None]:
    start = time.perf_counter()
    value = best_accuracy(y, score, method)
    took = time.perf_counter() - start
    return ("> 60", None) if took >= MINUTE else (f"{took:.4f}", value)


def rows():
    for n in SIZES:
        for decimals in range(1, 6):
            y, score = data(n, decimals)
            distinct = np.unique(score).size
            runs = {"sweep": lambda y=y, s=score: best_accuracy(y, s)}
            slow = n * distinct > MOST_COMPARISONS
            if not slow:
                runs["exhaustive"] = lambda y=y, s=score: exhaustive(y, s)
                runs["bools"] = lambda y=y, s=score: on_bools(y, s)
            took = fastest(runs, turns=3)
            values = {round(run() * n) for run in runs.values()} if n < 10**5 else set()
            case, score_, texts = "-", "-", []
            if n <= MOST_CASES:
                case, value = program("milp-cases", y, score)
                texts.append(value)
            if distinct <= MOST_SCORES:
                score_, value = program("milp", y, score)
                texts.append(value)
            values |= {round(v * n) for v in texts if v is not None}
            values.add(round(best_accuracy(y, score) * n))
            yield Row(
                n,
                decimals,
                distinct,
                "-" if slow else f"{took['exhaustive']:.4f}",
                "-" if slow else f"{took['bools']:.4f}",
                case,
                score_,
                f"{took['sweep']:.5f}",
                "-" if slow else f"{took['exhaustive'] / took['sweep']:.3g}",
                "-" if slow else f"{took['bools'] / took['sweep']:.3g}",
                len(values) == 1,
            )
