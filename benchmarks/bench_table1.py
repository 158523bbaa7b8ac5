"""Best accuracy threshold: Table 1 of Ramazi and Mari Oriyad, once more.

All 39 rows of the paper with its seconds beside ours. Scores rounded to 1 to 5
decimals, labels 0 and 1; seconds for the exhaustive search (NumPy,
``np.mean((score >= t) == y)`` for every distinct score), the same on bools with
``count_nonzero``, the 0-1 program with two binaries a case, the one with a binary a
distinct score, and the sweep. The last three include counting the cases. A dash: not
tried, because it would take more than a minute; a question mark: so in the paper.
``ratio`` is exhaustive search over sweep, measured in turns; all answers are compared.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from side_by_side import fastest

import trueness

TABLE_1 = Path(__file__).parents[1] / "tests" / "reference" / "ramazi_table1.json"
MINUTE = 60.0
MOST_COMPARISONS = 2.5e9  # of the exhaustive search, three times: half a minute
MOST_CASES = 2000  # of the program with two binaries a case
MOST_SCORES = 10**4  # of the program with a binary a score


class Row(NamedTuple):
    cases: int
    decimals: int
    distinct: int
    paper_ilp_python_s: str
    paper_exhaustive_python_s: str
    paper_ilp_cpp_s: str
    paper_exhaustive_cpp_s: str
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
    for printed in json.loads(TABLE_1.read_text()):
        yield row_of(printed)


def row_of(printed: dict) -> Row:
    n = printed["cases"]
    y, score = data(n, printed["decimals"])
    distinct = np.unique(score).size
    runs = {"sweep": lambda: best_accuracy(y, score)}
    slow = n * distinct > MOST_COMPARISONS
    if not slow:
        runs["exhaustive"] = lambda: exhaustive(y, score)
        runs["bools"] = lambda: on_bools(y, score)
    took = fastest(runs, turns=3)
    values = [run() for run in runs.values()] if n < 10**5 else []
    values.append(best_accuracy(y, score))

    case_seconds, case_value = "-", None
    if n <= MOST_CASES:
        case_seconds, case_value = program("milp-cases", y, score)
    score_seconds, score_value = "-", None
    if distinct <= MOST_SCORES:
        score_seconds, score_value = program("milp", y, score)
    values += [value for value in (case_value, score_value) if value is not None]
    right = {round(value * n) for value in values}
    return Row(
        cases=n,
        decimals=printed["decimals"],
        distinct=distinct,
        paper_ilp_python_s=printed["ilp_python"] or "?",
        paper_exhaustive_python_s=printed["exhaustive_python"] or "?",
        paper_ilp_cpp_s=printed["ilp_cpp"] or "?",
        paper_exhaustive_cpp_s=printed["exhaustive_cpp"] or "?",
        exhaustive_s="-" if slow else f"{took['exhaustive']:.4f}",
        on_bools_s="-" if slow else f"{took['bools']:.4f}",
        per_case_milp_s=case_seconds,
        per_score_milp_s=score_seconds,
        sweep_s=f"{took['sweep']:.5f}",
        ratio="-" if slow else f"{took['exhaustive'] / took['sweep']:.3g}",
        ratio_on_bools="-" if slow else f"{took['bools'] / took['sweep']:.3g}",
        all_equal=len(right) == 1,
    )
