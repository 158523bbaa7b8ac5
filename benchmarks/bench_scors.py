"""AUC with its interval from arrays, against the AUC alone of scors (Rust)

scors returns no interval. "times" is the time of Trueness over that of scors, below 1
where Trueness is faster; on a busy machine that of CPU time says more. Labels are
bools, as scors takes them fastest. Short columns are other ones in each turn: those
that a processor has seen before, it sorts by memory of its branches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
from side_by_side import best_times

import trueness


class Row(NamedTuple):
    rows: str
    trueness_ms: str
    scors_ms: str
    times: str
    cpu_times: str
    same_auc_to: str


def rows() -> Iterator[Row]:
    if find_spec("scors") is None:
        return
    import scors

    rng = np.random.default_rng(1)
    for n, turns, samples in (
        (10**4, 200, 20),
        (10**5, 50, 10),
        (10**6, 10, 1),
        (10**7, 3, 1),
    ):
        columns = [draw(rng, n) for _ in range(samples)]
        turns_of_ours = cycle(columns)
        turns_of_scors = cycle(columns)
        runs: dict[str, Callable[[], Any]] = {
            "trueness": lambda c=turns_of_ours: trueness.auc(*next(c)).value,
            "scors": lambda c=turns_of_scors: scors.roc_auc(*next(c)),
        }
        best = best_times(runs, turns)
        ratios = [ours / theirs for ours, theirs in zip(*best.values(), strict=True)]
        differences = [
            abs(trueness.auc(label, score).value - scors.roc_auc(label, score))
            for label, score in columns
        ]
        yield Row(
            f"{n:.0e}",
            *(f"{1e3 * best[name][0]:.2f}" for name in runs),
            *(f"{ratio:.2f}" for ratio in ratios),
            f"{max(differences):.0e}",
        )


def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and scores of as many cases."""
    label = rng.random(n) < 0.3
    return label, 1 / (1 + np.exp(-rng.normal(size=n) - label))


def peer_is_faster(rows: list[dict[str, str]]) -> str:
    """Say where scors took less CPU time."""
    slower = [row["rows"] for row in rows if float(row["cpu_times"]) > 1]
    return f"By CPU time scors is faster at {', '.join(slower)}." if slower else ""
