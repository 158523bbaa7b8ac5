"""Seconds of each public call against the number of cases, continuous scores

    TRUENESS_LARGEST=1e8 python benchmarks/run.py growth

From arrays to the answer, once, after a first call at 1,000 cases. ``power`` is the
exponent between the two largest sizes: 1 grows as the cases do, and n log n is 1.05 to
1.1 here. A call that took longer than ``LONGEST`` is not asked about more cases.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import trueness as tr

LARGEST = float(os.environ.get("TRUENESS_LARGEST", "1e7"))
SIZES = [n for n in (10**4, 10**5, 10**6, 10**7, 10**8) if n <= LARGEST]
LONGEST = 30.0  # seconds

Call = Callable[..., Any]
ONE: dict[str, Call] = {
    "tally": tr.tally,
    "auc": tr.auc,
    "average_precision": tr.average_precision,
    "partial_auc(fpr=(0, .1))": lambda y, s: tr.partial_auc(y, s, fpr=(0, 0.1)),
    "brier": tr.brier,
    "log_loss": tr.log_loss,
    "roc": tr.roc,
    "precision_recall": tr.precision_recall,
    "roc_band": tr.roc_band,
    "at_threshold": lambda y, s: tr.at_threshold(y, s, 0.5),
    "best_threshold": tr.best_threshold,
    "best_threshold(f1, recall >= .6)": lambda y, s: tr.best_threshold(
        y, s, "f1", "recall >= 0.6"
    ),
    "validate_threshold": tr.validate_threshold,
    "guaranteed_threshold": lambda y, s: tr.guaranteed_threshold(
        y, s, subject_to="recall >= 0.6"
    ),
    "pareto": lambda y, s: tr.pareto(y, s, ["recall", "precision"]),
    "decision_curve": tr.decision_curve,
    "cost_curve": tr.cost_curve,
    "calibrate": tr.calibrate,
    "calibration_error": tr.calibration_error,
    "calibration_line": tr.calibration_line,
    "calibration_test": tr.calibration_test,
    "reliability": tr.reliability,
    "fermi_dirac": tr.fermi_dirac,
}
TWO: dict[str, Call] = {
    "compare_auc": tr.compare_auc,
    "compare_metric(recall)": lambda y, p: tr.compare_metric(
        y, p, "recall", thresholds=0.5
    ),
    "dominates": tr.dominates,
    "fidel": tr.fidel,
    "evaluate": tr.evaluate,
}


class Row(NamedTuple):
    call: str
    n_1e4: str
    n_1e5: str
    n_1e6: str
    n_1e7: str
    n_1e8: str
    power: str


def cases(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    y = (rng.random(n) < 0.2).astype(np.int8)
    a, b = (1 / (1 + np.exp(1.5 - d * y - rng.normal(size=n))) for d in (1.5, 1.3))
    return y, a, b


def seconds(ask: Call, y: np.ndarray, given: Any) -> float:
    start = time.perf_counter()
    ask(y, given)
    return time.perf_counter() - start


def rows() -> Iterator[Row]:
    data = {n: cases(n) for n in (1000, *SIZES)}
    for name, ask in (ONE | TWO).items():
        took: list[float] = []
        for y, a, b in data.values():
            given = a if name in ONE else {"a": a, "b": b}
            took.append(seconds(ask, y, given))
            if took[-1] > LONGEST:
                break
        took = took[1:]
        power = math.log10(took[-1] / took[-2]) if len(took) > 1 else math.nan
        texts = [f"{t:.3g}" for t in took] + [""] * (5 - len(took))
        yield Row(name, *texts, f"{power:.2f}")
