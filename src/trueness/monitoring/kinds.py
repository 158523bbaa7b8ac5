"""What does a batch tell, of each kind that can be watched?

Every kind draws numbers from the cases of a batch: found or not, right or wrong, a
squared error, the area of a block of cases. Their mean is what is watched; the bets of
``detectors`` say whether it is worse than its bound, the sums of ``sequences`` between
which numbers it lies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from trueness._core.arrays import Floats, Ints
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described, nearest
from trueness.counts.values import Panel, Tally
from trueness.metrics.grammar import known_names, metric
from trueness.monitoring.detectors import (
    BOLDEST,
    PARTS,
    effects,
    in_parts,
    mean_bets,
    mean_gains,
)
from trueness.monitoring.states import About, State, packed, packed_row, unpacked
from trueness.threshold.rule import confusion

_BLOCK = 8  # cases of a block whose AUC is one number
_MOST_BLOCKS, _MOST_CASES = 256, 10**6
_LEAN = 4.0  # cases by which a guess leans on the share of yes among the verdicts
_NEAR = 0.05  # scores that are near another


class Told(NamedTuple):
    """The log gains of the bets (parts of the look, rows, bets), and sums."""

    gains: Floats
    n: float = 0.0
    total: float = 0.0
    squares: float = 0.0


def ends_of(about: About) -> tuple[float, float]:
    """Between which numbers does what a case tells lie?"""
    if about["metric"] == "calibration" and about["near"] is None:
        return -1.0, 1.0
    return (-1.0, 2.0) if about["judges"] else (0.0, 1.0)


def log_stakes(what: str, bets: int) -> Floats:
    """Give the logarithm of what is staked on each of so many bets, one in all."""
    parts = np.array([3, 3, 1, 1] if what == "scores" else [1])
    each = np.log(parts / (parts.sum() * bets / parts.size))
    return np.repeat(each, bets // parts.size)


def is_share(about: About) -> bool:
    """Are they zeros and ones?"""
    return kind_of(about["metric"]).share or about["near"] is not None


def bound_of(about: About) -> float:
    """Give the bound of what a case tells: J = tp / (tp + errors) is F1 / (2 - F1)."""
    bound = float(about["bound"])
    return bound / (2 - bound) if about["metric"] == "f1" else bound


def shown(about: About, x: float) -> float:
    """Give a mean of what cases tell as what is watched."""
    low, high = (0.0, 1.0) if about["judges"] else ends_of(about)
    x = 2 * x / (1 + x) if about["metric"] == "f1" else x
    return float(min(max(x, low), high))


def _effects(about: About, state: State, n: float) -> Floats:
    """Give the changes to bet on, for looks of the size that they have on average."""
    usual = (state["n"] + n) / (state["told"] + 1)
    return effects(about["mean_time"], max(usual, 1e-9), about["level"])


def numbers_told(about: About, state: State, x: Floats, times: Floats) -> Told:
    """Bet on numbers, each of which came so many times."""
    n, bound, ends = float(times.sum()), bound_of(about), ends_of(about)
    effect = _effects(about, state, n)
    if not n:
        return Told(np.zeros((1, 1, effect.size)))
    most = (bound - ends[0]) * (ends[1] - bound)  # no variance around b is larger
    spread = most
    if not is_share(about):  # that of earlier looks, with a case of the largest
        sums = state["n"], state["total"], state["squares"]
        found = sums[2] - 2 * bound * sums[1] + sums[0] * bound**2
        spread = (most + max(found, 0.0)) / (1.0 + sums[0])
    bets = mean_bets(effect, math.sqrt(spread), bound, about["side"], ends)
    rng = np.random.default_rng([about["rng"], state["looks"], 1])
    gains = in_parts(times, rng) @ mean_gains(x, bound, about["side"], bets)
    return Told(gains[:, None, :], n, float(times @ x), float(times @ x**2))


def _share(about: About, state: State, t: Tally) -> Told:
    m, c = metric(about["metric"]), confusion(t, about["threshold"])
    counts = np.array([int(c.tp), int(c.fp), int(c.fn), int(c.tn)], np.float64)
    ratio: Any = m.ratio
    if m.name == "f1":  # true positives among true positives and errors
        k, n = counts[0], counts[:3].sum()
    else:
        k, n = counts @ ratio.over, counts @ ratio.under
    return numbers_told(about, state, np.array([1.0, 0.0]), np.array([k, n - k]))


def _flagged(about: About, state: State, t: Tally) -> Told:
    every, flags = t.neg + t.pos + t.unknown, t.score >= about["threshold"]
    times = np.array([every[flags].sum(), every[~flags].sum()], np.float64)
    return numbers_told(about, state, np.array([1.0, 0.0]), times)


def _brier(about: About, state: State, t: Tally) -> Told:
    _probabilities(t, "A Brier score")
    x = np.concatenate([(1 - t.score) ** 2, t.score**2])
    return numbers_told(about, state, x, np.concatenate([t.pos, t.neg]) * 1.0)


def _auc(about: About, state: State, t: Tally) -> Told:
    """Deal the cases out to blocks, whose areas are independent; wait for both classes.

    A block has as few cases as its area can do with: many small bets are better than
    few that might lose all. The area of a block has the mean that is watched, whatever
    its numbers of positives and negatives (Mann and Whitney 1947).
    """
    if state["waiting"] is not None:
        t = unpacked(state["waiting"], t) + t
    rare, labelled = min(t.n_pos, t.n_neg), t.n_pos + t.n_neg
    if not rare or labelled < _BLOCK:
        state["waiting"] = packed(t)
        return numbers_told(about, state, np.empty(0), np.empty(0))
    state["waiting"] = None
    blocks = min(rare, labelled // _BLOCK, _MOST_BLOCKS)
    rng = np.random.default_rng([about["rng"], state["looks"]])
    # rows are by falling score: a positive wins over the negatives of later rows
    pos, neg = (np.array_split(_dealt(c, rng), blocks) for c in (t.pos, t.neg))
    x = np.array([_area(p, q) for p, q in zip(pos, neg, strict=True)])
    return numbers_told(about, state, x, np.ones(blocks))


def _dealt(counts: Ints, rng: np.random.Generator) -> Ints:
    """Give the row of each case, in a random order; of very many cases, of some."""
    if counts.sum() > _MOST_CASES:
        counts = rng.binomial(counts, _MOST_CASES / counts.sum())
    return np.asarray(rng.permutation(np.repeat(np.arange(counts.size), counts)))


def _area(pos: Ints, neg: Ints) -> float:
    neg = np.sort(neg)
    ahead = sum(np.searchsorted(neg, pos, side) for side in ("left", "right"))
    return 1.0 - float(np.mean(ahead)) / (2 * neg.size)


def _calibration(about: About, state: State, t: Tally) -> Told:
    r"""Bet that positives are more, or fewer, than the scores say.

    .. math:: \log L = \sum_i \log\bigl(1 + \lambda h(s_i) (y_i - s_i)\bigr)

    With :math:`P(y_i = 1) = s_i` every bet is fair. Those with :math:`h = 1` see scores
    that are all too high or too low, those with :math:`h = 2s - 1` scores that are too
    extreme or not enough.
    """
    _probabilities(t, "Calibration")
    near = about["near"]
    here = np.ones(t.score.size, bool) if near is None else abs(t.score - near) <= _NEAR
    s, neg, pos = t.score[here], t.neg[here] * 1.0, t.pos[here] * 1.0
    n = float(neg.sum() + pos.sum())
    effect = _effects(about, state, n)
    if not n:
        return Told(np.zeros((1, 1, 4 * effect.size)))
    gains = []
    for h in (np.ones_like(s), 2.0 * s - 1.0):
        spread = math.sqrt(float((neg + pos) @ (h * h * s * (1 - s))) / n)
        bets = np.minimum(effect / max(spread, 1e-9), BOLDEST)
        for bet in (bets, -bets):
            up, down = np.log1p(np.outer(h * (1 - s), bet)), np.outer(h * s, -bet)
            gains.append(pos @ up + neg @ np.log1p(down))
    over, under = (1 - s, -s) if near is None else (np.ones_like(s), np.zeros_like(s))
    sums = (float(pos @ over**k + neg @ under**k) for k in (1, 2))
    return Told(np.concatenate(gains)[None, None, :], n, *sums)


def _scores(about: About, state: State, t: Tally) -> Told:
    r"""Bet on the rank of each new score among all before it.

    While old and new scores are exchangeable, the rank of a new one among all so far,
    ties broken at random, is uniform and independent of the ranks before it (Vovk,
    Nouretdinov and Gammerman 2003; as a detector Vovk et al. 2021). Its normal score z
    has a normal distribution, and the bets are likelihood ratios of others, with
    another mean (three quarters of the stakes) or another standard deviation.
    """
    old = unpacked(state["baseline"], t)
    if state["seen"] is not None:
        old = old + unpacked(state["seen"], t)
    every = t.neg + t.pos + t.unknown
    # within a batch no order is known: a random one keeps the ranks exchangeable
    rng = np.random.default_rng([about["rng"], state["looks"]])
    new = rng.permutation(np.repeat(t.score, every))
    before = (old.neg + old.pos + old.unknown)[::-1].astype(np.float64)
    rank = ranks_among(old.score[::-1], before, new, rng)
    seen = t.hide() if state["seen"] is None else (unpacked(state["seen"], t) + t)
    state["seen"] = packed(seen.hide())
    n = float(new.size)
    effect = _effects(about, state, n)
    z = np.array_split(ndtri(np.clip(rank, 1e-12, 1 - 1e-12)), PARTS)
    gains = np.array([score_gains(part, effect) for part in z])
    return Told(gains[:, None, :], n, float(rank.sum()), float(rank @ rank))


def score_gains(z: Floats, effect: Floats) -> Floats:
    """Give the log gain of each bet on normal scores: up, down, wider and narrower."""
    n, first, second = z.size, z.sum(), z @ z
    gains = [side * effect * first - n * effect**2 / 2 for side in (1, -1)]
    for log_scale in (effect / math.sqrt(2), -effect / math.sqrt(2)):
        # the information about the logarithm of a standard deviation is 2
        gains.append(-n * log_scale - second * np.expm1(-2 * log_scale) / 2)
    return np.concatenate(gains)


def ranks_among(
    score: Floats, times: Floats, new: Floats, rng: np.random.Generator
) -> Floats:
    """Rank each new score among all before it, from 0 to 1, ties broken at random.

    ``score`` holds distinct old scores, increasing, ``times`` how often each was seen.
    """
    below = np.concatenate([[0.0], np.cumsum(times)])
    left, right = (np.searchsorted(score, new, side) for side in ("left", "right"))
    less, ties = _earlier(new)
    n = below[-1] + np.arange(new.size) + 1
    ties = ties + below[right] - below[left]
    rank = below[left] + less + rng.random(new.size) * (ties + 1)
    return np.asarray(rank / n, np.float64)


def _earlier(x: Floats) -> tuple[Floats, Floats]:
    """Count how many before each are smaller, and how many equal, half by half."""
    if x.size <= 256:
        before = np.tri(x.size, k=-1, dtype=bool)
        pairs = x[None, :] < x[:, None], x[None, :] == x[:, None]
        less, ties = ((before & pair).sum(axis=1).astype(np.float64) for pair in pairs)
        return less, ties
    half = x.size // 2
    first, later = np.sort(x[:half]), x[half:]
    low, high = (np.searchsorted(first, later, side) for side in ("left", "right"))
    (less, ties), (more, tied) = _earlier(x[:half]), _earlier(later)
    return np.append(less, more + low), np.append(ties, tied + high - low)


def _probabilities(t: Tally, what: str) -> None:
    if t.score.size and (t.score[-1] < 0 or t.score[0] > 1):
        raise InputError(f"{what} needs probabilities, from 0 to 1.")


def judges_told(
    about: About, state: State, panel: Panel, name: str | None, late: bool
) -> Told:
    r"""Correct the verdicts of judges that err by a trickle of labels.

    Every case has verdicts, a few have a label, drawn at random. With a guess
    :math:`f(x)` of the truth from the verdicts x, made from labels of earlier batches
    only, each labelled case and the unlabelled ones that are dealt to it give

    .. math:: u = y - f(x) + \frac{1}{m + 1} \sum_{i=0}^{m} f(x_i), \qquad
              \mathbb{E}\,u = \theta, \quad -1 \le u \le 2,

    whatever the guess and however the judges err (Angelopoulos et al. 2023,
    doi:10.1126/science.adi6000). No case is used twice. A second detector bets on the
    labels alone, which is sooner where a rate falls far. Each is fair in a history of
    its own, so the larger of the two, halved, keeps the probability of a false alarm.

    Cases wait in the order of their batches; labels use up what waits of their own
    batch and of those before it. A label of a case that still waits is as good as one
    that came in time, since nothing of the case was used yet. One that comes after its
    case was dealt out (``late``, and no longer in the queue) can give no further u: the
    verdicts are known by now, and given them its mean is not the rate. It counts among
    the labels alone, and it teaches the guess for later cases.
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
    alone = {**about, "judges": [], "metric": "accuracy"}  # a share like any other
    times = np.array([panel.n_pos, panel.n_neg], np.float64)
    second = numbers_told(alone, state, np.array([1.0, 0.0]), times)
    for word, pos, neg in zip(_words(panel), panel.pos, panel.neg, strict=True):
        if pos + neg:  # they teach later guesses
            seen = state["labels"].setdefault(word, [0, 0])
            state["labels"][word] = [seen[0] + int(pos), seen[1] + int(neg)]
    # two detectors as rows; the one with fewer parts has none to add at last
    both = (first.gains, second.gains)
    parts = max(map(len, both))
    rows = [np.pad(g, ((0, parts - len(g)), (0, 0), (0, 0))) for g in both]
    return first._replace(gains=np.concatenate(rows, axis=1))


def _unlabelled(panel: Panel) -> dict[str, list[Any]]:
    return {
        word: [packed_row(row), int(n)]
        for word, row, n in zip(_words(panel), panel.rows, panel.unknown, strict=True)
        if n
    }


def _corrected(about: About, state: State, panel: Panel, waits: list[Any]) -> Floats:
    """Deal what waits out to the labelled cases, and correct their guesses."""
    # the order within a batch is not known: a seeded one deals the cases out
    rng = np.random.default_rng([about["rng"], state["looks"]])
    guess = _guesses(panel.rows, _words(panel), state["labels"])
    y = np.concatenate([np.ones(panel.n_pos), np.zeros(panel.n_neg)])
    f = np.concatenate([np.repeat(guess, panel.pos), np.repeat(guess, panel.neg)])
    others = []
    for held in filter(None, waits):
        rows = np.array([row for row, _ in held.values()], np.float64)
        guesses = _guesses(rows, list(held), state["labels"])
        others.append(np.repeat(guesses, [n for _, n in held.values()]))
    dealt = rng.permutation(np.concatenate([np.empty(0), *others]))
    order = rng.permutation(y.size)
    y, f = y[order], f[order]
    edges = (np.arange(y.size + 1) * dealt.size) // y.size
    sums = np.concatenate([[0.0], np.cumsum(dealt)])
    return np.asarray(y - f + (np.diff(sums[edges]) + f) / (np.diff(edges) + 1))


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
    return np.asarray((known[:, 0] + _LEAN * prior) / (known.sum(axis=1) + _LEAN))


class Kind(NamedTuple):
    """What is watched: what its cases tell, and what it needs.

    ``share``: cases tell zeros and ones.
    """

    told: Callable[..., Told]
    share: bool = False
    labels: bool = True
    bound: bool = True
    threshold: bool = False


KINDS = {
    "auc": Kind(_auc),
    "brier": Kind(_brier),
    "calibration": Kind(_calibration, bound=False),
    "scores": Kind(_scores, labels=False, bound=False),
    "flagged_share": Kind(_flagged, share=True, labels=False, threshold=True),
    "prevalence": Kind(judges_told),
}


def kind_of(what: str) -> Kind:
    """Find what is watched by its name: a kind, or a metric that is a share."""
    if isinstance(what, str) and what in KINDS:
        return KINDS[what]
    try:
        found = metric(what)
    except InputError:
        names = [*KINDS, *known_names()]
        raise InputError(
            f"There is nothing called {described(what)} to watch."
            f"{nearest(what, names)} Known: {', '.join(names)}."
        ) from None
    if not found.is_share and what != "f1":
        raise InputError(
            f"{what} is not a share of cases, so that no look tells it by itself. "
            f"Watch recall, precision, npv, accuracy, f1, auc or brier."
        )
    return Kind(_share, share=True, threshold=True)
