"""Scores on a CUDA device: milliseconds with intervals, beside torchmetrics' AUC alone

    python benchmarks/run.py gpu

Needs a CUDA device with PyTorch and torchmetrics; nothing is measured without one.
Medians of warm runs, synchronised, from arrays to the answer. The AUC is compared with
the host's up to 10^8 scores: equal to the last bit, or the run stops.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import trueness as tr


class Row(NamedTuple):
    scores: str
    n: str
    what: str
    ms: float
    torchmetrics_ms: str = ""
    ratio: str = ""


def timed(torch: Any, run: Callable[[], Any], turns: int = 7) -> float:
    run()
    took = []
    for _ in range(turns):
        torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        took.append(1e3 * (time.perf_counter() - start))
    return sorted(took)[turns // 2]


def rows() -> Iterator[Row]:
    try:
        import torch
        from torchmetrics.functional.classification import binary_auroc
    except ImportError:
        return
    if not torch.cuda.is_available():
        return
    for kind, n in [
        *((torch.float32, n) for n in (10**4, 10**5, 10**6, 10**7, 10**8, 5 * 10**8)),
        *((k, 10**8) for k in (torch.float16, torch.bfloat16)),
    ]:
        g = torch.Generator(device="cuda").manual_seed(1)
        y = torch.rand(n, device="cuda", generator=g) < 0.3
        s = torch.sigmoid(torch.randn(n, device="cuda", generator=g) + y.float() - 1)
        s, labels = s.to(kind), y.int()
        at = str(kind).removeprefix("torch."), f"{n:.0e}".replace("e+0", "e")
        ours = timed(torch, lambda y=y, s=s: tr.auc(y, s))
        theirs = timed(torch, lambda s=s, y=labels: float(binary_auroc(s, y)), 3)
        yield Row(*at, "AUC", round(ours, 2), f"{theirs:.2f}", f"{theirs / ours:.2f}")
        if n <= 10**8:
            host = tr.auc(y.cpu().numpy(), s.double().cpu().numpy())
            assert host.value == tr.auc(y, s).value
        if n not in (10**6, 10**8, 5 * 10**8) or kind != torch.float32:
            continue
        for what, ask in {
            "average precision": tr.average_precision,
            "Brier score": tr.brier,
            "log loss": tr.log_loss,
            "best accuracy": lambda y, s: tr.best_threshold(y, s, "accuracy"),
        }.items():
            took = timed(torch, lambda ask=ask, y=y, s=s: ask(y, s), 5)
            yield Row(*at, what, round(took, 2))


def peer_is_faster(rows: list[dict[str, Any]]) -> str:
    """Say where torchmetrics' AUC without an interval took less time."""
    slower = [
        f"{row['n']} ({row['scores']})"
        for row in rows
        if row["ratio"] and float(row["ratio"]) < 1
    ]
    return f"torchmetrics is faster at {', '.join(slower)}." if slower else ""
