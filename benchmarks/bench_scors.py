"""AUC with its interval from arrays, against the AUC alone of scors (Rust)

scors returns no interval. "times" is the time of Trueness over that of scors, below 1
where Trueness is faster; on a busy machine that of CPU time says more. Labels are
bools, as scors takes them fastest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
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
    for n, turns in ((10**4, 200), (10**5, 50), (10**6, 10), (10**7, 3)):
        label = rng.random(n) < 0.3
        score = 1 / (1 + np.exp(-rng.normal(size=n) - label))
        runs: dict[str, Callable[[], Any]] = {
            "trueness": lambda y=label, s=score: trueness.auc(y, s).value,
            "scors": lambda y=label, s=score: scors.roc_auc(y, s),
        }
        best = best_times(runs, turns)
        ratios = [ours / theirs for ours, theirs in zip(*best.values(), strict=True)]
        yield Row(
            f"{n:.0e}",
            *(f"{1e3 * best[name][0]:.2f}" for name in runs),
            *(f"{ratio:.2f}" for ratio in ratios),
            f"{abs(runs['trueness']() - runs['scors']()):.0e}",
        )


def peer_is_faster(rows: list[dict[str, str]]) -> str:
    """Say where scors took less CPU time."""
    slower = [row["rows"] for row in rows if float(row["cpu_times"]) > 1]
    return f"By CPU time scors is faster at {', '.join(slower)}." if slower else ""
