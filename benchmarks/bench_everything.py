"""Four measures with limits, against scikit-learn's four calls without

Trueness: AUC, average precision, Brier score and log loss with their intervals, from
one tally. scikit-learn: roc_auc_score, average_precision_score, brier_score_loss and
log_loss. Seconds and ratios are of CPU time; Trueness also uses a second thread.
"AVX2" are both with NumPy's AVX-512 off: on AMD Zen 4 its sort, "sort_cpu_s", takes up
to five times as long with it (numpy/x86-simd-sort issue 6).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from side_by_side import best_times, peak_bytes
from sklearn import metrics as sk

import trueness as tr

CALLS = (
    sk.roc_auc_score,
    sk.average_precision_score,
    sk.brier_score_loss,
    sk.log_loss,
)
NARROW = {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"}


class Row(NamedTuple):
    rows: str
    scores: str
    numpy: str
    sort_cpu_s: str
    trueness_cpu_s: str
    sklearn_cpu_s: str
    cpu_times_faster: str
    trueness_bytes_a_row: str
    sklearn_bytes_a_row: str


def ours(label: np.ndarray, score: np.ndarray) -> tuple[Any, ...]:
    t = tr.tally(label, score)
    return tr.auc(t), tr.average_precision(t), tr.brier(t), tr.log_loss(t)


def measured(how: str) -> Iterator[Row]:
    rng = np.random.default_rng(0)
    for n in (10**6, 4 * 10**6):
        y = (rng.random(n) < 0.3).astype(np.int64)
        p = 1 / (1 + np.exp(-rng.normal(size=n) - y))
        for name, s in (
            ("float64", p),
            ("float32", p.astype(np.float32)),
            ("three decimals", np.round(p, 3).clip(0.001, 0.999)),
        ):
            runs = {
                "trueness": lambda y=y, s=s: ours(y, s),
                "sklearn": lambda y=y, s=s: [call(y, s) for call in CALLS],
            }
            measured_times = best_times(
                runs | {"sort": lambda s=s: np.sort(s)}, turns=3
            )
            best = {run: cpu for run, (_, cpu) in measured_times.items()}
            yield Row(
                f"{n:.0e}",
                name,
                how,
                *(f"{best[k]:.3f}" for k in ("sort", "trueness", "sklearn")),
                f"{best['sklearn'] / best['trueness']:.1f}",
                *(f"{peak_bytes(run) / n:.1f}" for run in runs.values()),
            )


def rows() -> Iterator[Row]:
    yield from measured("as it is")
    again = subprocess.run(
        [sys.executable, __file__], env=os.environ | NARROW, stdout=subprocess.PIPE
    )
    yield from (Row(*row) for row in json.loads(again.stdout))


if __name__ == "__main__":
    print(json.dumps(list(measured("AVX2"))))
