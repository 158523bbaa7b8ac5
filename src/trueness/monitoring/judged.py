r"""Is the true rate still high enough, by judges that err and a trickle of labels?

Every case has verdicts, a few have a label, drawn at random. A label says most where it
surprises: with a guess :math:`f(x)` of the truth from the verdicts x, made from labels
of earlier batches only, each labelled case and the unlabelled ones that are dealt to it
give

.. math:: u = y - f(x) + \frac{1}{m + 1} \sum_{i=0}^{m} f(x_i), \qquad
          \mathbb{E}\,u = \theta, \quad -1 \le u \le 2,

whatever the guess and however the judges err (Angelopoulos et al. 2023,
doi:10.1126/science.adi6000); its spread is small where the guess is good. No case is
used twice, so that the u of a batch are independent. A second detector bets on the
labels alone, a share, which is sooner where a rate falls far. Each is fair in a history
of its own, so the larger of the two, halved, keeps the probability of a false alarm.

Late labels. Cases wait in the order of their batches; labels use up what waits of their
own batch and of those before it. A label of a case that still waits is as good as one
that came in time, since nothing of the case was used yet. One that comes after its case
was dealt out can give no further u: the verdicts are known by now, and given them its
mean is not the rate. It counts among the labels alone, whose history holds no
verdicts, and it teaches the guess for later cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trueness._core.arrays import Floats
from trueness.counts.values import Panel
from trueness.monitoring.batches import packed_row
from trueness.monitoring.kinds import Told, numbers_told

LEAN = 4.0  # cases by which a guess leans on the share of yes among the verdicts


def told_by_judges(
    about: dict[str, Any],
    state: dict[str, Any],
    panel: Panel,
    name: str | None,
    late: bool,
) -> Told:
    """Say what a batch tells; its cases without a label wait for those with.

    ``late`` says that the batch has labels, and nothing else, that came after the
    verdicts.
    """
    queue = state["waiting"] or []
    end = len(queue) + 1
    if not late:
        queue.append([name, _unlabelled(panel)])
    else:
        end = next((k + 1 for k, (batch, _) in enumerate(queue) if batch == name), 0)
        if end:
            held = queue[end - 1][1]
            for word, n in zip(_words(panel), panel.pos + panel.neg, strict=True):
                if n:
                    held[word][1] -= int(n)
    by_judges = np.empty(0)
    if end and panel.n_pos + panel.n_neg:
        by_judges = _corrected(about, state, panel, [held for _, held in queue[:end]])
        queue = queue[end:]
    state["waiting"] = [one for one in queue if one[1]] or None
    first = numbers_told(about, state, by_judges, np.ones(by_judges.size))
    second = _labels_told(about, state, panel)
    _learn(state, panel)
    return first._replace(gains=_side_by_side(first.gains, second.gains))


def _side_by_side(first: Floats, second: Floats) -> Floats:
    """Give two detectors as rows; the one with fewer parts has none to add at last."""
    parts = max(len(first), len(second))
    both = [np.pad(g, ((0, parts - len(g)), (0, 0), (0, 0))) for g in (first, second)]
    return np.concatenate(both, axis=1)


def _unlabelled(panel: Panel) -> dict[str, list[Any]]:
    return {
        word: [packed_row(row), int(n)]
        for word, row, n in zip(_words(panel), panel.rows, panel.unknown, strict=True)
        if n
    }


def _labels_told(about: dict[str, Any], state: dict[str, Any], panel: Panel) -> Told:
    """Say what the labels alone tell, a share."""
    alone = {**about, "judges": [], "metric": "labels"}
    times = np.array([panel.n_pos, panel.n_neg], np.float64)
    return numbers_told(alone, state, np.array([1.0, 0.0]), times)


def _corrected(
    about: dict[str, Any], state: dict[str, Any], panel: Panel, waits: list[Any]
) -> Floats:
    """Deal what waits out to the labelled cases, and correct their guesses."""
    # the order within a batch is not known: a seeded one deals the cases out
    rng = np.random.default_rng([about["rng"], state["looks"]])
    guess = _guesses(panel.rows, _words(panel), state["labels"])
    y = np.concatenate([np.ones(panel.n_pos), np.zeros(panel.n_neg)])
    f = np.concatenate([np.repeat(guess, panel.pos), np.repeat(guess, panel.neg)])
    others = [_waiting_guesses(held, state["labels"]) for held in waits if held]
    dealt = rng.permutation(np.concatenate([np.empty(0), *others]))
    order = rng.permutation(y.size)
    y, f = y[order], f[order]
    edges = (np.arange(y.size + 1) * dealt.size) // y.size
    sums = np.concatenate([[0.0], np.cumsum(dealt)])
    return np.asarray(y - f + (np.diff(sums[edges]) + f) / (np.diff(edges) + 1))


def _learn(state: dict[str, Any], panel: Panel) -> None:
    """Count the labels of each pattern of verdicts, for later guesses."""
    for word, pos, neg in zip(_words(panel), panel.pos, panel.neg, strict=True):
        if pos + neg:
            seen = state["labels"].setdefault(word, [0, 0])
            seen[0] += int(pos)
            seen[1] += int(neg)


def _words(panel: Panel) -> list[str]:
    """Write each row of verdicts as a word, by which labels are remembered."""
    return ["".join(_letter(v) for v in row) for row in panel.rows]


def _letter(verdict: float) -> str:
    if np.isnan(verdict):
        return "."
    return f"{verdict:g}" + ("" if verdict in (0, 1) else ";")


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
