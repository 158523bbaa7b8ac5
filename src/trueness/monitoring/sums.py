"""What does a batch tell? Which cases, their sum, the sum of their squares.

One function a kind; all add to the sums of a watch, which its evidence is made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from trueness._core.arrays import Floats, Ints
from trueness._core.checks.errors import InputError
from trueness.counts.placements import twice_wins
from trueness.counts.values import Panel, Tally
from trueness.metrics.algebra import Metric
from trueness.metrics.grammar import metric
from trueness.monitoring import evidence as _evidence
from trueness.monitoring.ranks import rank_wealth
from trueness.threshold.at_cut import confusion

T = TypeVar("T", Tally, Panel)


def add_batch(about: dict[str, Any], state: dict[str, Any], t: Tally) -> None:
    """Add what a batch tells to the sums."""
    what = about["metric"]
    if what == "auc":
        _add_auc(state, t)
    elif what == "brier":
        if t.score.size and (t.score[-1] < 0 or t.score[0] > 1):
            raise InputError("A Brier score needs probabilities, from 0 to 1.")
        up, down = (1 - t.score) ** 2, t.score**2
        state["n"] += float(t.n_pos + t.n_neg)
        state["total"] += float(t.pos @ up + t.neg @ down)
        state["squares"] += float(t.pos @ up**2 + t.neg @ down**2)
    elif what == "calibration":
        _add_calibration(about, state, t)
    elif what == "scores":
        _add_scores(about, state, t)
    elif what == "flagged_share":
        every = t.neg + t.pos + t.unknown
        state["n"] += float(every.sum())
        state["total"] += float(every[t.score >= about["threshold"]].sum())
    else:
        k, n = _share(metric(what), t, about["threshold"])
        state["n"] += n
        state["total"] += k


def _share(m: Metric, t: Tally, threshold: float) -> tuple[float, float]:
    c = confusion(t, threshold)
    counts = np.array([int(c.tp), int(c.fp), int(c.fn), int(c.tn)], np.float64)
    if m.name == "f1":  # true positives among true positives and errors
        return float(counts[0]), float(counts[:3].sum())
    if m.ratio is None or m.ratio.under is None:
        raise InputError(f"{m.name} is not a share of cases.")
    return float(counts @ m.ratio.over), float(counts @ m.ratio.under)


def _add_auc(state: dict[str, Any], t: Tally) -> None:
    """Count a block with m cases of the rarer class as m pairs, and wait for both."""
    if state["waiting"] is not None:
        t = unpacked(state["waiting"], t) + t
    pairs = min(t.n_pos, t.n_neg)
    if not pairs:
        state["waiting"] = packed(t)
        return
    state["waiting"] = None
    area = twice_wins(t) / (2 * t.n_pos * t.n_neg)
    state["n"] += float(pairs)
    state["total"] += pairs * area


def _add_calibration(about: dict[str, Any], state: dict[str, Any], t: Tally) -> None:
    if t.score.size and (t.score[-1] < 0 or t.score[0] > 1):
        raise InputError("Calibration needs probabilities, from 0 to 1.")
    near = about["near"]
    here = np.ones(t.score.size, bool) if near is None else abs(t.score - near) <= 0.05
    score, neg, pos = t.score[here], t.neg[here], t.pos[here]
    with np.errstate(divide="ignore"):
        gained = _evidence.calibration_wealth(score, neg * 1.0, pos * 1.0)
    _grow(state, gained)
    state["n"] += float(neg.sum() + pos.sum())
    state["total"] += float(pos.sum())


def _add_scores(about: dict[str, Any], state: dict[str, Any], t: Tally) -> None:
    bag = unpacked(state["bag"], t)
    every = t.neg + t.pos + t.unknown
    # within a batch no order is known: a random one keeps the ranks exchangeable
    rng = np.random.default_rng([about["rng"], state["looks"]])
    new = rng.permutation(np.repeat(t.score, every))
    old = (bag.neg + bag.pos + bag.unknown)[::-1]
    gained = rank_wealth(bag.score[::-1], old.astype(np.float64), new, rng)
    _grow(state, gained)
    state["bag"] = packed((bag + t).hide())
    state["n"] += float(new.size)


def _grow(state: dict[str, Any], gained: Floats) -> None:
    """Add the log wealth that each bet gained."""
    before = np.array(state["wealth"] or np.zeros(gained.size))
    if before.size != gained.size:
        raise InputError(
            f"The state of this watch has {before.size} bets, and this Trueness makes "
            f"{gained.size}. Continue it with the Trueness that wrote it, or begin a "
            f"new watch in another file."
        )
    state["wealth"] = (before + gained).tolist()


def is_batch(batch: tuple[Any, ...]) -> None:
    """Stop at what no batch is made of."""
    if len(batch) not in (1, 2):
        raise InputError(
            f"update takes one batch; found {len(batch)} arguments. Type "
            'w.update(y_true, y_score), w.update(frame, label="y", score="p") or '
            "w.update(tally)."
        )


def outputs(x: Tally | Panel) -> Floats:
    """Give the scores, or the rows of verdicts."""
    return x.score if isinstance(x, Tally) else x.rows


def like(x: T, neg: Ints, pos: Ints, unknown: Ints | None = None) -> T:
    """Give other counts of the same scores, or rows of verdicts."""
    if isinstance(x, Panel):
        return Panel(x.names, x.rows, neg, pos, unknown)
    return Tally(x.score, neg, pos, unknown)


def packed(x: Tally | Panel) -> dict[str, list[Any]]:
    """Give a tally or a panel as JSON holds it."""
    if isinstance(x, Tally):
        held: dict[str, list[Any]] = {"score": x.score.tolist()}
    else:
        held = {"rows": [packed_row(row) for row in x.rows]}
    return held | {k: getattr(x, k).tolist() for k in ("neg", "pos", "unknown")}


def packed_row(row: Floats) -> list[float | None]:
    """Give a row of verdicts as JSON holds it, which has no NaN."""
    return [None if np.isnan(v) else float(v) for v in row]


def unpacked(held: Mapping[str, list[Any]], x: T) -> T:
    """Give what JSON held: a tally, or a panel of the same classifiers as ``x``."""
    counts = (held[k] for k in ("neg", "pos", "unknown"))
    if isinstance(x, Panel):
        rows = np.array(held["rows"], np.float64).reshape(-1, len(x.names))
        return Panel(x.names, rows, *counts)
    return Tally(held["score"], *counts)
