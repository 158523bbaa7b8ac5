"""How much faster is one thing than another, on a noisy machine?

The contestants run in turns, and the fastest turn of each counts: noise only ever adds
time. On a busy machine CPU time says more. Peak memory is what the process allocated
beyond its inputs (tracemalloc).
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any


def fastest(
    contestants: dict[str, Callable[[], Any]], turns: int = 3
) -> dict[str, float]:
    """Give the shortest time of each contestant in seconds, measured in turns."""
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(turns):
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def best_times(
    contestants: dict[str, Callable[[], Any]], turns: int
) -> dict[str, tuple[float, float]]:
    """Return the shortest wall and CPU time of each contestant, measured in turns."""
    best = dict.fromkeys(contestants, (float("inf"), float("inf")))
    for _ in range(turns):
        for name, run in contestants.items():
            wall = -time.perf_counter()
            cpu = -time.process_time()
            run()
            cpu += time.process_time()
            wall += time.perf_counter()
            best[name] = (min(best[name][0], wall), min(best[name][1], cpu))
    return best


def peak_bytes(run: Callable[[], Any]) -> int:
    """Give the most memory that was allocated at once while running."""
    tracemalloc.start()
    try:
        result = run()
        peak = tracemalloc.get_traced_memory()[1]
        del result
    finally:
        tracemalloc.stop()
    return peak
