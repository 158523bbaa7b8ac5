"""Fitting and applying calibrators, against scikit-learn's and the venn-abers package

Scores and labels are NumPy arrays. Fitting includes counting them; applying is to as
many scores again, in random order. The peers are what ``CalibratedClassifierCV`` fits
inside (sigmoid, isotonic, temperature) and ``venn_abers.VennAbers``. ``differ_by`` is
the largest difference of the probabilities (the sigmoid's optimiser stops early).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from side_by_side import fastest
from sklearn.calibration import _SigmoidCalibration, _TemperatureScaling
from sklearn.isotonic import IsotonicRegression
from venn_abers import VennAbers

import trueness


class Row(NamedTuple):
    rows: str
    scores: str
    method: str
    peer: str
    trueness_fit_s: str
    times_faster_to_fit: str
    trueness_apply_s: str
    times_faster_to_apply: str
    differ_by: str


def two_columns(p: np.ndarray) -> np.ndarray:
    return np.stack([1 - p, p], axis=1)


class Pair(NamedTuple):
    method: str
    options: dict[str, Any]
    peer: str
    fit: Callable[[np.ndarray, np.ndarray], Any]
    apply: Callable[[Any, np.ndarray], np.ndarray]


PAIRS = (
    Pair(
        "platt",
        {"targets": "smoothed"},
        "scikit-learn sigmoid",
        lambda s, y: _SigmoidCalibration().fit(s, y),
        lambda fitted, s: fitted.predict(s),
    ),
    Pair(
        "isotonic",
        {},
        "scikit-learn isotonic",
        lambda s, y: IsotonicRegression(out_of_bounds="clip").fit(s, y),
        lambda fitted, s: fitted.predict(s),
    ),
    Pair(
        "temperature",
        {},
        "scikit-learn temperature",
        lambda s, y: _TemperatureScaling().fit(two_columns(s), y),
        lambda fitted, s: fitted.predict(two_columns(s))[:, 1],
    ),
    Pair(
        "venn-abers",
        {},
        "venn-abers",
        lambda s, y: VennAbers().fit(two_columns(s), y),
        lambda fitted, s: fitted.predict_proba(two_columns(s))[0][:, 1],
    ),
)


def rows() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    n = 10**6
    p = rng.random(n)
    y = (rng.random(n) < p**1.5).astype(np.int64)
    for name, s in (
        ("float64", p),
        ("three decimals", np.clip(p.round(3), 1e-3, 0.999)),
    ):
        for pair in PAIRS:
            yield measure(name, s, y, pair)


def measure(name: str, s: np.ndarray, y: np.ndarray, pair: Pair) -> Row:
    def ours() -> Any:
        return trueness.calibrate(
            trueness.tally(y, s), method=pair.method, **pair.options
        )

    turns = 1 if pair.method == "venn-abers" and name == "float64" else 3
    fit = fastest({"trueness": ours, "peer": lambda: pair.fit(s, y)}, turns)
    c, other = ours(), pair.fit(s, y)
    apply = fastest({"trueness": lambda: c(s), "peer": lambda: pair.apply(other, s)})
    return Row(
        f"{s.size:.0e}",
        name,
        pair.method,
        pair.peer,
        f"{fit['trueness']:.3f}",
        f"{fit['peer'] / fit['trueness']:.1f}",
        f"{apply['trueness']:.3f}",
        f"{apply['peer'] / apply['trueness']:.1f}",
        f"{np.abs(c(s) - pair.apply(other, s)).max():.0e}",
    )
