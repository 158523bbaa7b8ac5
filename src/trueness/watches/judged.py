r"""Is the true rate still high enough, by judges that err and a trickle of labels?

Every case has verdicts, a few have a label, drawn at random. A label says most where it
surprises: with a guess :math:`f(x)` of the truth from the verdicts x, made from labels
of earlier batches only, each labelled case and the unlabelled ones that are dealt to it
give

.. math:: u = y - f(x) + \frac{1}{m + 1} \sum_{i=0}^{m} f(x_i), \qquad
          \mathbb{E}\,u = \theta, \quad -1 \le u \le 2,

whatever the guess and however the judges err (Angelopoulos et al. 2023,
doi:10.1126/science.adi6000); its spread is small where the guess is good. Groups are
disjoint, so that the u of a batch are independent, and their sums feed the e-process of
means (``evidence``). Its average with the e-process of the labels alone, which is
sooner where a rate falls far, is one again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks.errors import InputError
from trueness._core.doors import door
from trueness.counts.values import Panel
from trueness.watches import evidence as _evidence

LEAN = 4.0  # cases by which a guess leans on the share of yes among the verdicts
LOWEST, HIGHEST = -1.0, 2.0  # of u


def add_judged(about: dict[str, Any], state: dict[str, Any], panel: Panel) -> None:
    """Add what a batch tells: its labels, and the verdicts that waited for them."""
    words = ["".join(_letter(v) for v in row) for row in panel.rows]
    guess = _guesses(panel.rows, words, state["labels"])
    waiting = state["waiting"] or {}
    for word, row, n in zip(words, panel.rows, panel.unknown, strict=True):
        if n:
            held = waiting.setdefault(word, [row.tolist(), 0])
            held[1] += int(n)
    state["waiting"] = waiting
    labels = int((panel.pos + panel.neg).sum())
    if not labels:
        return
    # the order within a batch is not known: a seeded one deals the cases out
    rng = np.random.default_rng([about["rng"], state["looks"]])
    y = np.concatenate([np.ones(panel.n_pos), np.zeros(panel.n_neg)])
    f = np.concatenate([np.repeat(guess, panel.pos), np.repeat(guess, panel.neg)])
    others = _waiting_guesses(waiting, state["labels"])
    u = _corrected(y, f, rng.permutation(others), rng)
    state["n"] += float(labels)
    state["total"] += float(u.sum())
    state["squares"] += float(u @ u)
    state["yes"] = state.get("yes", 0.0) + float(panel.n_pos)
    state["waiting"] = None
    for word, pos, neg in zip(words, panel.pos, panel.neg, strict=True):
        if pos + neg:
            seen = state["labels"].setdefault(word, [0, 0])
            seen[0] += int(pos)
            seen[1] += int(neg)


def _letter(verdict: float) -> str:
    return (
        "."
        if np.isnan(verdict)
        else f"{verdict:g}" + ("" if verdict in (0, 1) else ";")
    )


def _guesses(rows: Floats, words: list[str], labels: dict[str, list[int]]) -> Floats:
    """Guess the truth of each pattern from earlier labels, never from its own."""
    with np.errstate(invalid="ignore"):
        seen = ~np.isnan(rows)
        yes = np.where(seen, np.clip(rows, 0, 1), 0.0).sum(axis=1)
    prior = (yes + 0.5) / (seen.sum(axis=1) + 1)
    known = np.array([labels.get(w, (0, 0)) for w in words], np.float64)
    return np.asarray((known[:, 0] + LEAN * prior) / (known.sum(axis=1) + LEAN))


def _waiting_guesses(waiting: dict[str, Any], labels: dict[str, list[int]]) -> Floats:
    if not waiting:
        return np.empty(0)
    rows = np.array([row for row, _ in waiting.values()], np.float64)
    guess = _guesses(rows, list(waiting), labels)
    return np.repeat(guess, [n for _, n in waiting.values()])


def _corrected(
    y: Floats, f: Floats, others: Floats, rng: np.random.Generator
) -> Floats:
    """Deal the unlabelled cases out to the labelled ones, and correct their guesses."""
    order = rng.permutation(y.size)
    y, f = y[order], f[order]
    edges = (np.arange(y.size + 1) * others.size) // y.size
    sums = np.concatenate([[0.0], np.cumsum(others)])
    dealt, m = sums[edges[1:]] - sums[edges[:-1]], np.diff(edges)
    return np.asarray(y - f + (dealt + f) / (m + 1))


def rate_evidence(state: dict[str, Any], bound: float, side: int) -> float:
    """Log evidence that the rate is below (side 1) or above (-1) the bound.

    Only the side that speaks against the bound must be bounded (by 1, after scaling).
    """
    scale = 1 / (HIGHEST - bound) if side > 0 else 1 / (bound - LOWEST)
    n, total, squares = state["n"], state["total"], state["squares"]
    sums = n, scale * total, scale**2 * squares
    by_judges = _evidence.mean_evidence(*sums, scale * bound, side)
    alone = _evidence.share_evidence(state.get("yes", 0.0), n, bound, side)
    return float(np.logaddexp(by_judges, alone) - np.log(2))


def rate_limits(state: dict[str, Any], alpha: float) -> tuple[float, float]:
    """Which rates have not been ruled out, at any moment so far?"""
    n = state["n"]
    if not n:
        return 0.0, 1.0
    line, value = -np.log(alpha / 2), min(max(state["total"] / n, 0.0), 1.0)

    def ruled_out(side: int) -> Callable[[float], bool]:
        return lambda b: rate_evidence(state, b, side) >= line

    low = _evidence.edge(ruled_out(-1), value, 0.0)
    return low, _evidence.edge(ruled_out(1), value, 1.0)


def judged_panel(batch: Any, judges: list[str], columns: dict[str, Any]) -> Panel:
    """Read the verdicts of a batch: a panel, or a frame with the columns of judges."""
    if not isinstance(batch, Panel):
        batch = door("data.frames").panel(batch, scores=judges, **columns)
    if not isinstance(batch, Panel):
        raise InputError("A batch is one panel of verdicts; found groups.")
    gone = [j for j in judges if j not in batch.names]
    if gone:
        raise InputError(
            f"This watch needs the verdicts of {', '.join(judges)}; the batch has no "
            f"{gone[0]!r}."
        )
    return batch[judges]
