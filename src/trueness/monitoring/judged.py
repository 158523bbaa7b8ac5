r"""Is the true rate still high enough, by judges that err and a trickle of labels?

Every case has verdicts, a few have a label, drawn at random. A label says most where it
surprises: with a guess :math:`f(x)` of the truth from the verdicts x, made from labels
of earlier batches only, each labelled case and the unlabelled ones that are dealt to it
give

.. math:: u = y - f(x) + \frac{1}{m + 1} \sum_{i=0}^{m} f(x_i), \qquad
          \mathbb{E}\,u = \theta, \quad -1 \le u \le 2,

whatever the guess and however the judges err (Angelopoulos et al. 2023,
doi:10.1126/science.adi6000); its spread is small where the guess is good. No case is
used twice, so that the u of a batch are independent, and their sums feed the e-process
of means (``evidence``). A second one is that of the labels alone, a share, which is
sooner where a rate falls far. Each is fair in a history of its own, so the larger of
the two, halved, exceeds 1/alpha in at most alpha of the streams (Ville, twice).

Late labels. Cases wait in the order of their batches; labels use up what waits of their
own batch and of those before it. A label of a case that still waits is as good as one
that came in time, since nothing of the case was used yet. One that comes after its case
was dealt out can give no further u: the verdicts are known by now, and given them its
mean is not the rate. It counts among the labels alone, whose history holds no
verdicts, and it teaches the guess for later cases.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks.errors import InputError
from trueness.counts.values import Panel
from trueness.data.frames import panel
from trueness.monitoring import evidence as _evidence
from trueness.monitoring.sums import packed_row

LEAN = 4.0  # cases by which a guess leans on the share of yes among the verdicts
LOWEST, HIGHEST = -1.0, 2.0  # of u


def add_judged(
    about: dict[str, Any], state: dict[str, Any], panel: Panel, name: str | None
) -> None:
    """Add what a new batch tells; its cases without a label wait for those with."""
    queue = state["waiting"] or []
    held = {
        word: [packed_row(row), int(n)]
        for word, row, n in zip(_words(panel), panel.rows, panel.unknown, strict=True)
        if n
    }
    if held:
        queue.append([name, held])
    _use(about, state, panel, queue, len(queue))


def add_late(
    about: dict[str, Any], state: dict[str, Any], panel: Panel, name: str | None
) -> None:
    """Add labels, and nothing else, that came after the verdicts of their batch."""
    queue = state["waiting"] or []
    at = [k for k, (batch, _) in enumerate(queue) if batch == name]
    if not at:  # dealt out: among the labels alone
        _learn(state, panel)
        return
    held = queue[at[0]][1]
    for word, n in zip(_words(panel), panel.pos + panel.neg, strict=True):
        if n:
            held[word][1] -= int(n)
    _use(about, state, panel, queue, at[0] + 1)


def _use(
    about: dict[str, Any],
    state: dict[str, Any],
    panel: Panel,
    queue: list[Any],
    end: int,
) -> None:
    """Correct guesses by the labels of a batch, with what waits up to ``end``."""
    labels = panel.n_pos + panel.n_neg
    if labels:
        # the order within a batch is not known: a seeded one deals the cases out
        rng = np.random.default_rng([about["rng"], state["looks"]])
        guess = _guesses(panel.rows, _words(panel), state["labels"])
        y = np.concatenate([np.ones(panel.n_pos), np.zeros(panel.n_neg)])
        f = np.concatenate([np.repeat(guess, panel.pos), np.repeat(guess, panel.neg)])
        others = [_waiting_guesses(held, state["labels"]) for _, held in queue[:end]]
        dealt = rng.permutation(np.concatenate([np.empty(0), *others]))
        u = _corrected(y, f, dealt, rng)
        state["judged"] += float(labels)
        state["total"] += float(u.sum())
        state["squares"] += float(u @ u)
        _learn(state, panel)
        queue = queue[end:]
    state["waiting"] = queue or None


def _learn(state: dict[str, Any], panel: Panel) -> None:
    """Count the labels, for the evidence of labels alone and for later guesses."""
    state["n"] += float(panel.n_pos + panel.n_neg)
    state["yes"] += float(panel.n_pos)
    for word, pos, neg in zip(_words(panel), panel.pos, panel.neg, strict=True):
        if pos + neg:
            seen = state["labels"].setdefault(word, [0, 0])
            seen[0] += int(pos)
            seen[1] += int(neg)


def _words(panel: Panel) -> list[str]:
    """Write each row of verdicts as a word, by which labels are remembered."""
    return ["".join(_letter(v) for v in row) for row in panel.rows]


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


def _waiting_guesses(held: dict[str, Any], labels: dict[str, list[int]]) -> Floats:
    """Guess the truth of each case of a batch that waits."""
    rows = np.array([row for row, _ in held.values()], np.float64)
    guess = _guesses(rows, list(held), labels)
    return np.repeat(guess, [n for _, n in held.values()])


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


def rate_value(state: dict[str, Any]) -> float | None:
    """Estimate the rate: the mean of u, which may lie outside 0 to 1."""
    n = state["judged"]
    return min(max(state["total"] / n, 0.0), 1.0) if n else None


def rate_evidence(state: dict[str, Any], bound: float, side: int) -> float:
    """Log evidence that the rate is below (side 1) or above (-1) the bound.

    Only the side that speaks against the bound must be bounded (by 1, after scaling).
    """
    scale = 1 / (HIGHEST - bound) if side > 0 else 1 / (bound - LOWEST)
    n, total, squares = state["n"], state["total"], state["squares"]
    sums = state["judged"], scale * total, scale**2 * squares
    by_judges = _evidence.mean_evidence(*sums, scale * bound, side)
    alone = _evidence.share_evidence(state["yes"], n, bound, side)
    # not their mean: late labels are fair to one of the two histories only
    return float(max(by_judges, alone) - np.log(2))


def rate_limits(state: dict[str, Any], alpha: float) -> tuple[float, float]:
    """Which rates have not been ruled out, at any moment so far?"""
    asked = partial(rate_evidence, state)
    return _evidence.limits(asked, state["total"], state["judged"], alpha)


def judged_panel(
    batch: tuple[Any, ...], judges: list[str], columns: dict[str, Any]
) -> Panel:
    """Read the verdicts of a batch: a panel, a frame with the judges, or columns."""
    found: Any = batch[0] if len(batch) == 1 else None
    if not isinstance(found, Panel):
        named: dict[str, Any] = {"scores": judges} if len(batch) == 1 else {}
        found = panel(*batch, **{**named, **columns})
    if not isinstance(found, Panel):
        raise InputError("A batch is one panel of verdicts; found groups.")
    gone = [j for j in judges if j not in found.names]
    if gone:
        raise InputError(
            f"This watch needs the verdicts of {', '.join(judges)}; the batch has no "
            f"{gone[0]!r}."
        )
    return found[judges]
