r"""What does a batch tell, and has it changed, at any time?

Every kind draws numbers from the cases of a batch (found or not, a squared error, the
area of a block), whose mean is watched. Fair bets on them multiply their stake by
:math:`L_t`, at most one on average while all is well; a unit is staked anew at each
look. With an alarm at :math:`M_t = (M_{t-1} + 1) L_t \ge c` a false one comes once in c
looks at most (Shiryaev-Roberts e-detectors; Shin, Ramdas and Rinaldo 2024). Proofs and
bets are in ``docs/maths/monitoring.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betainc, betaincc, betaln, logsumexp, ndtri, xlog1py, xlogy

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks.columns import unit_scores
from trueness._core.checks.errors import InputError
from trueness._core.solvers import bisect
from trueness.counts.values import Panel, Tally
from trueness.metrics.grammar import metric
from trueness.monitoring.requirements import known_metric
from trueness.monitoring.states import About, State, packed, packed_row, unpacked
from trueness.threshold.rule import confusion

_BETS = np.geomspace(0.005, 0.9, 24)  # of a sequence: between nothing and nearly all
_BOLDEST = 0.9  # of the bet that might lose everything in one case
_PARTS, _MOST_DEALT = 16, 10**6  # of a look, and cases that are dealt out to them
_BLOCK, _MOST_BLOCKS = 8, 256  # cases of a block whose AUC is one number
_LEAN = 4.0  # cases by which a guess leans on the share of yes among the verdicts
_NEAR = 0.05  # scores that are near another


# log gains of the bets (parts of the look, rows, bets); the number of cases, their sum
# and that of their squares
Told = tuple[Floats, list[float]]


def _ends(about: About) -> tuple[float, float]:
    """Between which numbers does what a case tells lie?"""
    if about["metric"] == "calibration" and about["near"] is None:
        return -1.0, 1.0
    return (-1.0, 2.0) if about["judges"] else (0.0, 1.0)


def log_stakes(what: str, bets: int) -> Floats:
    """Give the logarithm of what is staked on each of so many bets, one in all."""
    parts = np.array([3, 3, 1, 1] if what == "scores" else [1])
    each = np.log(parts / (parts.sum() * bets / parts.size))
    return np.repeat(each, bets // parts.size)


def _is_share(about: About) -> bool:
    """Are they zeros and ones?"""
    return kind_of(about["metric"]).share or about["near"] is not None


def shown(about: About, x: float) -> float:
    """Give a mean of what cases tell as what is watched."""
    low, high = (0.0, 1.0) if about["judges"] else _ends(about)
    x = 2 * x / (1 + x) if about["metric"] == "f1" else x
    return float(min(max(x, low), high))


def _effects(about: About, state: State, n: float) -> Floats:
    """Give the changes to bet on, for looks of the size that they have on average."""
    usual = (state["n"] + n) / (state["told"] + 1)
    return effects(about["mean_time"], max(usual, 1e-9), about["level"])


def _numbers(about: About, state: State, x: Floats, times: Floats) -> Told:
    """Bet on numbers, each of which came so many times."""
    n, bound, ends = float(times.sum()), float(about["bound"]), _ends(about)
    effect = _effects(about, state, n)
    if not n:
        return np.zeros((1, 1, effect.size)), [0.0] * 3
    if about["metric"] == "f1":  # J = tp / (tp + errors) is F1 / (2 - F1)
        bound = bound / (2 - bound)
    worst = ends[1] - bound if about["side"] > 0 else bound - ends[0]
    spread = (bound - ends[0]) * (ends[1] - bound)  # no variance around b is larger
    if not _is_share(about):  # that of earlier looks, with a case of the largest
        before, total = state["n"], state["total"]
        found = state["squares"] - 2 * bound * total + before * bound**2
        spread = (spread + max(found, 0.0)) / (1.0 + before)
    # Waudby-Smith and Ramdas (2024); of zeros and ones these are likelihood ratios
    bets = best_bets(effect, math.sqrt(spread), worst)
    each = np.log1p(np.outer(about["side"] * (bound - x), bets))
    rng = np.random.default_rng([about["rng"], state["looks"], 1])
    gains = _in_parts(times, rng) @ each
    return gains[:, None, :], [n, float(times @ x), float(times @ x**2)]


def _share(about: About, state: State, t: Tally) -> Told:
    m, c = metric(about["metric"]), confusion(t, about["threshold"])
    counts = np.array([int(c.tp), int(c.fp), int(c.fn), int(c.tn)], np.float64)
    ratio: Any = m.ratio  # of F1 that of true positives to these and errors
    cells = (
        ((1, 0, 0, 0), (1, 1, 1, 0)) if m.name == "f1" else (ratio.over, ratio.under)
    )
    k, n = (counts @ np.array(one) for one in cells)
    return _numbers(about, state, np.array([1.0, 0.0]), np.array([k, n - k]))


def _flagged(about: About, state: State, t: Tally) -> Told:
    every, flags = t.neg + t.pos + t.unknown, t.score >= about["threshold"]
    times = np.array([every[flags].sum(), every[~flags].sum()], np.float64)
    return _numbers(about, state, np.array([1.0, 0.0]), times)


def _brier(about: About, state: State, t: Tally) -> Told:
    unit_scores(t.score, "A Brier score", "Calibrate first.")
    x = np.concatenate([(1 - t.score) ** 2, t.score**2])
    return _numbers(about, state, x, np.concatenate([t.pos, t.neg]) * 1.0)


def _auc(about: About, state: State, t: Tally) -> Told:
    """Deal the cases out to blocks, whose areas are independent; wait for both classes.

    Blocks are small, since many small bets are better than few that might lose all.
    """
    if state["waiting"] is not None:
        t = unpacked(state["waiting"], t) + t
    rare, labelled = min(t.n_pos, t.n_neg), t.n_pos + t.n_neg
    if not rare or labelled < _BLOCK:
        state["waiting"] = packed(t)
        return _numbers(about, state, np.empty(0), np.empty(0))
    state["waiting"] = None
    blocks = min(rare, labelled // _BLOCK, _MOST_BLOCKS)
    rng = np.random.default_rng([about["rng"], state["looks"]])
    pos, neg = (np.array_split(_dealt(c, rng), blocks) for c in (t.pos, t.neg))
    x = np.empty(blocks)
    for k, (p, q) in enumerate(zip(pos, map(np.sort, neg), strict=True)):
        # rows are by falling score: a positive wins over the negatives of later rows
        ahead = sum(np.searchsorted(q, p, side) for side in ("left", "right"))
        x[k] = 1.0 - np.mean(ahead) / (2 * q.size)
    return _numbers(about, state, x, np.ones(blocks))


def _dealt(counts: Ints, rng: np.random.Generator) -> Ints:
    """Give the row of each case, in a random order; of very many cases, of some."""
    if counts.sum() > _MOST_DEALT:
        counts = rng.binomial(counts, _MOST_DEALT / counts.sum())
    return np.asarray(rng.permutation(np.repeat(np.arange(counts.size), counts)))


def _calibration(about: About, state: State, t: Tally) -> Told:
    """Bet that positives are more, or fewer, than the scores say."""
    unit_scores(t.score, "Calibration", "Calibrate first.")
    near = about["near"]
    here = np.ones(t.score.size, bool) if near is None else abs(t.score - near) <= _NEAR
    s, neg, pos = t.score[here], t.neg[here] * 1.0, t.pos[here] * 1.0
    n = float(neg.sum() + pos.sum())
    effect = _effects(about, state, n)
    if not n:
        return np.zeros((1, 1, 4 * effect.size)), [0.0] * 3
    gains = []
    # scores that are all too high or too low; too extreme, or not enough
    for h in (np.ones_like(s), 2.0 * s - 1.0):
        spread = math.sqrt(float((neg + pos) @ (h * h * s * (1 - s))) / n)
        bets = best_bets(effect, spread, 1.0)
        for bet in (bets, -bets):
            up, down = np.log1p(np.outer(h * (1 - s), bet)), np.outer(h * s, -bet)
            gains.append(pos @ up + neg @ np.log1p(down))
    over, under = (1 - s, -s) if near is None else (np.ones_like(s), np.zeros_like(s))
    sums = (float(pos @ over**k + neg @ under**k) for k in (1, 2))
    return np.concatenate(gains)[None, None, :], [n, *sums]


def _scores(about: About, state: State, t: Tally) -> Told:
    """Bet on the rank of each new score among all before it, as a normal score.

    While old and new scores are exchangeable, ranks with ties broken at random are
    uniform and independent (Vovk, Nouretdinov and Gammerman 2003).
    """
    seen = t.without_labels()
    old = unpacked(state["baseline"], t)
    if state["seen"] is not None:
        before = unpacked(state["seen"], t)
        old, seen = old + before, before + seen
    state["seen"] = packed(seen)
    every = t.neg + t.pos + t.unknown
    # within a batch no order is known: a random one keeps the ranks exchangeable
    rng = np.random.default_rng([about["rng"], state["looks"]])
    new = rng.permutation(np.repeat(t.score, every))
    times = (old.neg + old.pos + old.unknown)[::-1].astype(np.float64)
    rank = ranks_among(old.score[::-1], times, new, rng)
    n = float(new.size)
    effect = _effects(about, state, n)
    z = np.array_split(ndtri(np.clip(rank, 1e-12, 1 - 1e-12)), _PARTS)
    gains = np.array([score_gains(part, effect) for part in z])
    return gains[:, None, :], [n, float(rank.sum()), float(rank @ rank)]


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


def _judges(
    about: About, state: State, panel: Panel, name: str | None, late: bool
) -> Told:
    """Correct the verdicts of judges that err by a trickle of labels.

    Each labelled case and the unlabelled ones that are dealt to it give a number from
    -1 to 2 whose mean is the rate (Angelopoulos et al. 2023). A second detector bets
    on the labels alone. Labels use up what waits of their own batch and of those before
    it; one that comes after its case was dealt out (``late``, and no longer in the
    queue) counts among the labels alone, since its verdicts are known by now.
    """
    words = _words(panel)
    queue = state["waiting"] or []
    end = len(queue) + 1
    if not late:
        rows = zip(words, panel.rows, panel.unknown, strict=True)
        new = {word: [packed_row(row), int(n)] for word, row, n in rows if n}
        queue.append([name, new])
    else:
        end = next((k + 1 for k, (batch, _) in enumerate(queue) if batch == name), 0)
        if end:
            held = queue[end - 1][1]
            for word, n in zip(words, panel.pos + panel.neg, strict=True):
                if n:
                    held[word][1] -= int(n)
    by_judges = np.empty(0)
    if end and panel.n_pos + panel.n_neg:
        by_judges = _corrected(about, state, panel, [held for _, held in queue[:end]])
        queue = queue[end:]
    state["waiting"] = [one for one in queue if one[1]] or None
    first, sums = _numbers(about, state, by_judges, np.ones(by_judges.size))
    alone = {**about, "judges": [], "metric": "accuracy"}  # a share like any other
    times = np.array([panel.n_pos, panel.n_neg], np.float64)
    second, _ = _numbers(alone, state, np.array([1.0, 0.0]), times)
    for word, pos, neg in zip(words, panel.pos, panel.neg, strict=True):
        if pos + neg:  # they teach later guesses
            seen = state["labels"].setdefault(word, [0, 0])
            state["labels"][word] = [seen[0] + int(pos), seen[1] + int(neg)]
    # two detectors as rows; the one with fewer parts has none to add at last
    parts = max(len(first), len(second))
    both = [np.pad(g, ((0, parts - len(g)), (0, 0), (0, 0))) for g in (first, second)]
    return np.concatenate(both, axis=1), sums


def _corrected(about: About, state: State, panel: Panel, waits: list[Any]) -> Floats:
    r"""Deal what waits out to the labelled cases, and correct their guesses.

    .. math:: u = y - f(x) + \frac{1}{m + 1} \sum_{i=0}^{m} f(x_i)
    """
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

    def letter(v: float) -> str:
        return "." if np.isnan(v) else f"{v:g}" if v in (0, 1) else f"{v:g};"

    return ["".join(map(letter, row)) for row in panel.rows]


def _guesses(rows: Floats, words: list[str], labels: dict[str, list[int]]) -> Floats:
    """Guess the truth of each pattern from earlier labels, never from its own."""
    seen = ~np.isnan(rows)
    yes = np.where(seen, np.clip(rows, 0, 1), 0.0).sum(axis=1)
    prior = (yes + 0.5) / (seen.sum(axis=1) + 1)
    known = np.array([labels.get(w, (0, 0)) for w in words], np.float64)
    return np.asarray((known[:, 0] + _LEAN * prior) / (known.sum(axis=1) + _LEAN))


class Kind(NamedTuple):
    """What is watched: what its cases tell, and what it needs."""

    told: Callable[..., Told]
    share: bool = False  # cases tell zeros and ones, by a threshold
    labels: bool = True
    bound: bool = True


KINDS = {
    "auc": Kind(_auc),
    "brier": Kind(_brier),
    "calibration": Kind(_calibration, bound=False),
    "scores": Kind(_scores, labels=False, bound=False),
    "flagged_share": Kind(_flagged, share=True, labels=False),
    "prevalence": Kind(_judges),
}


def kind_of(what: str) -> Kind:
    """Find what is watched by its name: a kind, or a metric that is a share."""
    if isinstance(what, str) and what in KINDS:
        return KINDS[what]
    found = known_metric(what, KINDS, "There is nothing called {} to watch.")
    if not found.is_proportion and what != "f1":
        raise InputError(
            f"{what} is not a share of cases, so that no look tells it by itself. "
            f"Watch recall, precision, npv, accuracy, f1, auc or brier."
        )
    return Kind(_share, share=True)


def effects(mean_time: float, per_look: float, level: float = 0.95) -> Floats:
    r"""Give the changes, in standard deviations, that are bet on.

    One for each that takes d = 1, 2, 4, ... looks of so many cases to be found,
    :math:`\sqrt{2 \log c / (n d)}`, as long as a false alarm within d looks has at most
    the probability 1 - level; c is the promised number of looks between two.
    """
    longest = max((1 - level) * mean_time, 1.0)
    waits = 2.0 ** np.arange(1 + int(math.log2(longest * (1 + 1e-9))))
    return np.asarray(np.sqrt(2 * math.log(mean_time) / (per_look * waits)))


def best_bets(effect: Floats, spread: float, worst: float) -> Floats:
    """Give the best bets on these changes, none of which may lose all."""
    bets = np.minimum(effect / max(spread, 1e-9), _BOLDEST / max(worst, 1e-9))
    return np.asarray(bets, np.float64)


def _in_parts(times: Floats, rng: np.random.Generator) -> Floats:
    """Deal cases out to parts at random: how many of each kind a part has, in rows."""
    n, kinds = int(times.sum()), times.size
    if n < 2 or max(n, kinds * _PARTS) > _MOST_DEALT:
        return times[None, :].astype(np.float64)
    parts = min(n, _PARTS)
    kind = rng.permutation(np.repeat(np.arange(kinds), times.astype(np.int64)))
    cell = np.arange(n) * parts // n * kinds + kind
    counts = np.bincount(cell, minlength=parts * kinds).reshape(parts, kinds)
    return counts.astype(np.float64)


def grown(about: About, state: State, gains: Floats) -> tuple[Floats, float]:
    """Give the logarithm of each bet's part after a look, and that of the evidence.

    Each row is a detector with a history of its own. The mean of rows need not be one,
    but their largest divided by their number keeps the chance of a false alarm.
    """
    before = np.full(gains.shape[1:], -np.inf)
    if state["log_m"] is not None:
        before = np.array(state["log_m"])
    if before.shape != gains.shape[1:]:
        raise InputError(
            "The state of this watch has other bets than this Trueness makes. "
            "Continue it with the Trueness that wrote it, or begin a new watch."
        )
    stakes = log_stakes(about["metric"], gains.shape[2])
    after = np.logaddexp(before, stakes) + np.cumsum(gains, axis=0)
    found = logsumexp(after, axis=2).max() - math.log(after.shape[1])
    return np.asarray(after[-1]), float(found)


def change_point(gains: Floats, stakes: Floats, level: float) -> tuple[int, int, int]:
    """Between which looks did the change come: first, most likely and last.

    The share of each start in the detector is its posterior one (Shiryaev 1963).
    """
    since = np.cumsum(gains[::-1], axis=0)[::-1]  # of a stake put down at each look
    log_weight = logsumexp(since + stakes, axis=1)
    weight = np.exp(log_weight - logsumexp(log_weight))
    order = np.argsort(-weight, kind="stable")
    held = order[: np.searchsorted(np.cumsum(weight[order]), level) + 1]
    return int(held.min()), int(order[0]), int(held.max())


def _share_evidence(k: float, n: float, bound: Floats, side: Floats) -> Floats:
    """Log evidence that a share is below (side 1) or above (-1) the bound.

    A mixture of likelihood ratios over all shares on the wrong side (Robbins 1970).
    """
    a, b = k + 1.0, n - k + 1.0
    below = side > 0
    inside = np.where(below, betainc(a, b, bound), betaincc(a, b, bound))
    width = np.where(below, bound, 1.0 - bound)
    with np.errstate(divide="ignore", invalid="ignore"):
        top = betaln(a, b) + np.log(inside) - np.log(width)
        found = top - xlogy(k, bound) - xlog1py(n - k, -bound)
    return np.where(np.isnan(found), 0.0, found)


def _mean_evidence(
    sums: Sequence[float], bound: Floats, side: Floats, ends: tuple[float, float]
) -> Floats:
    """Log evidence that a mean is below (side 1) or above (-1) the bound.

    A mixture of the bets of Fan, Grama and Liu (2015), which need only sums.
    """
    n, total, squares = sums
    width = ends[1] - ends[0]
    y = side * (n * bound - total) / width
    y2 = np.maximum(squares - 2 * bound * total + n * bound**2, 0.0) / width**2
    psi = -np.log1p(-_BETS) - _BETS
    logs = _BETS * y[..., None] - psi * y2[..., None]
    found = np.logaddexp.reduce(logs, axis=-1) - np.log(_BETS.size)
    return np.asarray(found, np.float64)


def limits(about: About, sums: Sequence[float]) -> tuple[float, float]:
    """Which values has no evidence ruled out, at any moment so far (Ville 1939)?

    ``sums`` are the number of cases, their sum and that of their squares. Each side has
    half of the error.
    """
    (n, total, _), ends = sums, _ends(about)
    low, high = ends
    if n:
        line, value = -np.log((1 - about["level"]) / 2), min(max(total / n, low), high)
        sides, share = np.array([-1.0, 1.0]), _is_share(about)

        def held(bound: Floats) -> Array:
            if share:
                return np.asarray(_share_evidence(total, n, bound, sides) < line)
            return np.asarray(_mean_evidence(sums, bound, sides, ends) < line)

        low, high = bisect(held, np.full(2, value), np.array(ends))
    return shown(about, low), shown(about, high)
