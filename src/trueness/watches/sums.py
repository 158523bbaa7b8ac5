"""What does a batch tell? Which cases, their sum, the sum of their squares.

One function a kind; all add to the sums of a watch, which its evidence is made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueness._core.checks.errors import InputError
from trueness.counts.placements import placements
from trueness.counts.values import Tally
from trueness.gates.measures import at_threshold
from trueness.metrics.algebra import Metric
from trueness.metrics.grammar import metric
from trueness.watches import evidence as _evidence
from trueness.watches.ranks import POWERS, rank_wealth


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
    c = at_threshold(t, threshold)
    counts = np.array([int(c.tp), int(c.fp), int(c.fn), int(c.tn)], np.float64)
    if m.name == "f1":  # true positives among true positives and errors
        return float(counts[0]), float(counts[:3].sum())
    if m.ratio is None or m.ratio.under is None:
        raise InputError(f"{m.name} is not a share of cases.")
    return float(counts @ m.ratio.over), float(counts @ m.ratio.under)


def _add_auc(state: dict[str, Any], t: Tally) -> None:
    """Count a block with m cases of the rarer class as m pairs, and wait for both."""
    if state["waiting"] is not None:
        t = unpacked(state["waiting"]) + t
    pairs = min(t.n_pos, t.n_neg)
    if not pairs:
        state["waiting"] = packed(t)
        return
    state["waiting"] = None
    area = float(placements(t)[1])
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
    before = state["wealth"] or [0.0] * gained.size
    state["wealth"] = [float(a + b) for a, b in zip(before, gained, strict=True)]
    state["n"] += float(neg.sum() + pos.sum())
    state["total"] += float(pos.sum())


def _add_scores(about: dict[str, Any], state: dict[str, Any], t: Tally) -> None:
    bag = unpacked(state["bag"])
    every = t.neg + t.pos + t.unknown
    # within a batch no order is known: a random one keeps the ranks exchangeable
    rng = np.random.default_rng([about["rng"], state["looks"]])
    new = rng.permutation(np.repeat(t.score, every))
    old = (bag.neg + bag.pos + bag.unknown)[::-1]
    gained = rank_wealth(bag.score[::-1], old.astype(np.float64), new, rng)
    before = state["wealth"] or [0.0] * (3 * POWERS.size)
    state["wealth"] = [float(a + b) for a, b in zip(before, gained, strict=True)]
    state["bag"] = packed((bag + t).hide())
    state["n"] += float(new.size)


def packed(t: Tally) -> dict[str, list[Any]]:
    """Give a tally as JSON holds it."""
    names = ("score", "neg", "pos", "unknown")
    return {k: getattr(t, k).tolist() for k in names}


def unpacked(held: Mapping[str, list[Any]]) -> Tally:
    """Give the tally that JSON held."""
    return Tally(**held)
