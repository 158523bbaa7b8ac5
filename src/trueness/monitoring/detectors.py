r"""What does a batch tell of a quantity that is watched?

Every kind draws numbers from the cases of a batch (found or not, a squared error, the
AUC of a block), whose mean is watched; ``bets`` stakes on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from trueness._core.arrays import Floats, Ints
from trueness._core.checks.columns import unit_scores
from trueness._core.checks.errors import InputError
from trueness.counts.values import Panel, Tally
from trueness.metrics.algebra import Coefficients
from trueness.metrics.grammar import metric
from trueness.monitoring.batches import pack_counts, pack_row, unpack_counts
from trueness.monitoring.bets import (
    NO_SUMS,
    Sums,
    best_bets,
    confidence_sequence,
    effects,
)
from trueness.monitoring.requirements import known_metric
from trueness.monitoring.states import State, WatchQuestion
from trueness.threshold.rule import confusion

_PARTS_OF_LOOK = 16  # of a look, over which its cases are distributed
_MAX_SHUFFLED = 10**6  # the most cases that are distributed at random
_BLOCK_SIZE = 8  # cases of a block whose AUC is one number
_MAX_BLOCKS = 256
_PRIOR_CASES = 4.0  # the weight of the proportion of yes among verdicts in a guess
_WINDOW_HALF_WIDTH = 0.05  # the distance of scores that count as near the watched one
_MAX_PAIRED_AT_ONCE = 256  # numbers whose pairs are compared in one table


class BatchLook(NamedTuple):
    """The gains of the bets at one look, and the sums of its observations.

    ``gains`` are logarithms, by part of the look, detector and bet.
    """

    gains: Floats
    sums: Sums


def watched_quantity(question: WatchQuestion, mean: float) -> float:
    """Return the watched quantity that belongs to a mean of observations."""
    low, high = (0.0, 1.0) if question["judges"] else _ends(question)
    if question["metric"] == "f1":  # of J = tp / (tp + errors)
        mean = 2 * mean / (1 + mean)
    return float(min(max(mean, low), high))


def sequence_ends(question: WatchQuestion, sums: Sums) -> tuple[float, float]:
    """Return both ends of the confidence sequence of the watched quantity."""
    low, high = confidence_sequence(
        sums, _ends(question), question["level"], is_proportion=_is_proportion(question)
    )
    return watched_quantity(question, low), watched_quantity(question, high)


def _ends(question: WatchQuestion) -> tuple[float, float]:
    """Return the smallest and the largest possible observation."""
    if question["metric"] == "calibration" and question["near"] is None:
        return -1.0, 1.0
    return (-1.0, 2.0) if question["judges"] else (0.0, 1.0)


def _is_proportion(question: WatchQuestion) -> bool:
    """Return whether observations are zero or one."""
    return kind_of(question["metric"]).proportion or question["near"] is not None


def _effects(question: WatchQuestion, state: State, n: float) -> Floats:
    """Return the effect sizes to bet on, for looks of average size."""
    cases_per_look = (state["n"] + n) / (state["informative"] + 1)
    return effects(question["mean_time"], max(cases_per_look, 1e-9), question["level"])


def _random(question: WatchQuestion, state: State, *stream: int) -> np.random.Generator:
    """Return the random generator of this look."""
    return np.random.default_rng([question["rng"], state["looks"], *stream])


def _look_at_numbers(
    question: WatchQuestion, state: State, values: Floats, counts: Floats
) -> BatchLook:
    """Return the look at observations, each with its number of cases."""
    n = float(counts.sum())
    effect = _effects(question, state, n)
    if not n:
        return BatchLook(np.zeros((1, 1, effect.size)), NO_SUMS)

    low, high = _ends(question)
    bound = float(question["bound"] or 0.0)
    if question["metric"] == "f1":  # J = tp / (tp + errors) is F1 / (2 - F1)
        bound = bound / (2 - bound)

    largest_loss = high - bound if question["side"] > 0 else bound - low
    # no variance around the bound is larger
    variance = (bound - low) * (high - bound)
    if not _is_proportion(question):
        variance = _variance_so_far(state, bound, variance)

    # Waudby-Smith and Ramdas (2024); for zeros and ones these are likelihood ratios
    bets = best_bets(effect, math.sqrt(variance), largest_loss)
    gain_of_value = np.log1p(np.outer(question["side"] * (bound - values), bets))
    gains = _deal_to_parts(counts, _random(question, state, 1)) @ gain_of_value
    sums = Sums(n, float(counts @ values), float(counts @ values**2))

    return BatchLook(gains[:, None, :], sums)


def _variance_so_far(state: State, bound: float, largest: float) -> float:
    """Return the variance over earlier looks, with one case of the largest variance."""
    n = state["n"]
    squares = state["squares"] - 2 * bound * state["total"] + n * bound**2
    return float((largest + max(squares, 0.0)) / (1.0 + n))


def _deal_to_parts(counts: Floats, rng: np.random.Generator) -> Floats:
    """Return the number of cases of each value (column) in random parts (rows)."""
    n = int(counts.sum())
    n_values = counts.size
    if n < 2 or max(n, n_values * _PARTS_OF_LOOK) > _MAX_SHUFFLED:
        return counts[None, :].astype(np.float64)

    n_parts = min(n, _PARTS_OF_LOOK)
    value_of_case = np.repeat(np.arange(n_values), counts.astype(np.int64))
    value_of_case = rng.permutation(value_of_case)
    part_of_case = np.arange(n) * n_parts // n

    # one number for each pair of part and value
    pair = part_of_case * n_values + value_of_case
    dealt = np.bincount(pair, minlength=n_parts * n_values)
    return dealt.reshape(n_parts, n_values).astype(np.float64)


def _look_at_proportion(
    question: WatchQuestion, state: State, tally: Tally
) -> BatchLook:
    """Return the look at a metric that is a proportion of cases, such as recall."""
    watched = metric(question["metric"])
    cells = confusion(tally, question["threshold"]).cells
    counts = np.array([int(count) for count in cells], np.float64)

    # F1 is watched as J: true positives among these and the errors
    if watched.name == "f1":
        over: Coefficients | None = (1, 0, 0, 0)
        under: Coefficients | None = (1, 1, 1, 0)
    else:
        assert watched.ratio is not None  # noqa: S101  # a proportion
        over, under = watched.ratio

    successes = counts @ np.array(over)
    failures = counts @ np.array(under) - successes
    return _look_at_zeros_and_ones(question, state, successes, failures)


def _look_at_flagged(question: WatchQuestion, state: State, tally: Tally) -> BatchLook:
    """Return the look at the proportion flagged, of cases with and without labels."""
    cases = tally.neg + tally.pos + tally.unknown
    flags = tally.score >= question["threshold"]
    return _look_at_zeros_and_ones(
        question, state, cases[flags].sum(), cases[~flags].sum()
    )


def _look_at_zeros_and_ones(
    question: WatchQuestion, state: State, ones: float, zeros: float
) -> BatchLook:
    """Return the look at so many ones and zeros."""
    counts = np.array([ones, zeros], np.float64)
    return _look_at_numbers(question, state, np.array([1.0, 0.0]), counts)


def _look_at_brier(question: WatchQuestion, state: State, tally: Tally) -> BatchLook:
    """Return the look at the squared error of each case."""
    unit_scores(tally.score, "A Brier score", "Calibrate first.")
    squared_errors = np.concatenate([(1 - tally.score) ** 2, tally.score**2])
    counts = np.concatenate([tally.pos, tally.neg]) * 1.0
    return _look_at_numbers(question, state, squared_errors, counts)


def _look_at_auc(question: WatchQuestion, state: State, tally: Tally) -> BatchLook:
    """Return the look at the AUCs of random blocks of cases, which are independent.

    Blocks are small: many small bets are better than few that might lose everything.
    Cases wait until there are enough of both classes.
    """
    if state["waiting"] is not None:
        tally = unpack_counts(state["waiting"], tally) + tally

    n_rarer = min(tally.n_pos, tally.n_neg)
    n_labelled = tally.n_pos + tally.n_neg
    if not n_rarer or n_labelled < _BLOCK_SIZE:
        state["waiting"] = pack_counts(tally)
        return _look_at_numbers(question, state, np.empty(0), np.empty(0))

    state["waiting"] = None

    n_blocks = min(n_rarer, n_labelled // _BLOCK_SIZE, _MAX_BLOCKS)
    rng = _random(question, state)
    blocks_of_positives = np.array_split(_shuffled_rows(tally.pos, rng), n_blocks)
    blocks_of_negatives = np.array_split(_shuffled_rows(tally.neg, rng), n_blocks)
    areas = np.empty(n_blocks)

    for block, positives in enumerate(blocks_of_positives):
        # rows are by falling score: a positive wins over the negatives of later rows
        negatives = np.sort(blocks_of_negatives[block])
        ahead = np.searchsorted(negatives, positives, "left")
        ahead_or_tied = np.searchsorted(negatives, positives, "right")
        areas[block] = 1.0 - np.mean(ahead + ahead_or_tied) / (2 * negatives.size)

    return _look_at_numbers(question, state, areas, np.ones(n_blocks))


def _shuffled_rows(counts: Ints, rng: np.random.Generator) -> Ints:
    """Return the row of each case in random order; of very many cases, a sample."""
    if counts.sum() > _MAX_SHUFFLED:
        counts = rng.binomial(counts, _MAX_SHUFFLED / counts.sum())
    return np.asarray(rng.permutation(np.repeat(np.arange(counts.size), counts)))


def _look_at_calibration(
    question: WatchQuestion, state: State, tally: Tally
) -> BatchLook:
    """Return the look at whether positives are as many as their scores expect."""
    unit_scores(tally.score, "Calibration", "Calibrate first.")
    watched_score = question["near"]
    is_near = np.ones(tally.score.size, bool)

    if watched_score is not None:
        is_near = abs(tally.score - watched_score) <= _WINDOW_HALF_WIDTH

    scores = tally.score[is_near]
    neg = tally.neg[is_near].astype(np.float64)
    pos = tally.pos[is_near].astype(np.float64)

    n = float(neg.sum() + pos.sum())
    effect = _effects(question, state, n)
    if not n:
        return BatchLook(np.zeros((1, 1, 4 * effect.size)), NO_SUMS)

    gains = _calibration_gains(scores, neg, pos, effect)

    # observations are label - score; near a watched score, they are the label
    positive_deviation = np.ones_like(scores)
    negative_deviation = np.zeros_like(scores)
    if watched_score is None:
        positive_deviation = 1 - scores
        negative_deviation = -scores
    sums = Sums(
        n,
        float(pos @ positive_deviation + neg @ negative_deviation),
        float(pos @ positive_deviation**2 + neg @ negative_deviation**2),
    )

    return BatchLook(gains[None, None, :], sums)


def _calibration_gains(
    scores: Floats, neg: Floats, pos: Floats, effect: Floats
) -> Floats:
    """Return the log gain of each bet against the scores as probabilities.

    Bets are that all scores are too low, that they are too high, that they are not
    extreme enough, and that they are too extreme.
    """
    cases = neg + pos
    gains = []
    for direction in (np.ones_like(scores), 2.0 * scores - 1.0):
        variances = direction * direction * scores * (1 - scores)
        standard_deviation = math.sqrt(float(cases @ variances) / float(cases.sum()))
        bets = best_bets(effect, standard_deviation, 1.0)
        for signed_bets in (bets, -bets):
            of_positives = np.outer(direction * (1 - scores), signed_bets)
            of_negatives = np.outer(direction * scores, -signed_bets)
            gains.append(pos @ np.log1p(of_positives) + neg @ np.log1p(of_negatives))

    return np.concatenate(gains)


def _look_at_scores(question: WatchQuestion, state: State, tally: Tally) -> BatchLook:
    """Return the look at the rank of each new score among all before it.

    Ranks become normal scores. While old and new scores are exchangeable, ranks with
    ties broken at random are uniform and independent (Vovk, Nouretdinov and Gammerman
    2003).
    """
    old = _scores_before(state, tally)

    # the order within a batch is unknown: a random one keeps the ranks exchangeable
    rng = _random(question, state)
    cases = tally.neg + tally.pos + tally.unknown
    new_scores = rng.permutation(np.repeat(tally.score, cases))
    old_counts = (old.neg + old.pos + old.unknown)[::-1].astype(np.float64)
    rank = ranks_among(old.score[::-1], old_counts, new_scores, rng)

    n = float(new_scores.size)
    effect = _effects(question, state, n)
    normal_scores = ndtri(np.clip(rank, 1e-12, 1 - 1e-12))
    parts = np.array_split(normal_scores, _PARTS_OF_LOOK)
    gains = np.array([score_gains(scores_of_part, effect) for scores_of_part in parts])
    sums = Sums(n, float(rank.sum()), float(rank @ rank))

    return BatchLook(gains[:, None, :], sums)


def _scores_before(state: State, tally: Tally) -> Any:
    """Return the scores before a batch, and add its own scores to the state."""
    old = unpack_counts(state["baseline"], tally)
    all_scores = tally.without_labels()
    if state["seen"] is not None:
        since_baseline = unpack_counts(state["seen"], tally)
        old = old + since_baseline
        all_scores = since_baseline + all_scores

    state["seen"] = pack_counts(all_scores)
    return old


def score_gains(z: Floats, effect: Floats) -> Floats:
    """Return the log gain of each bet on normal scores: up, down, wider, narrower."""
    n = z.size
    total = z.sum()
    squares = z @ z
    gains = [side * effect * total - n * effect**2 / 2 for side in (1, -1)]

    for log_scale in (effect / math.sqrt(2), -effect / math.sqrt(2)):
        # the information about the logarithm of a standard deviation is 2
        gains.append(-n * log_scale - squares * np.expm1(-2 * log_scale) / 2)

    return np.concatenate(gains)


def ranks_among(
    scores: Floats, counts: Floats, new_scores: Floats, rng: np.random.Generator
) -> Floats:
    """Return the rank of each new score among all before it, as a number from 0 to 1.

    Ties are broken at random. ``scores`` are the distinct old scores, ascending, and
    ``counts`` their numbers of cases.
    """
    running_counts = np.concatenate([[0.0], np.cumsum(counts)])
    old_below = running_counts[np.searchsorted(scores, new_scores, "left")]
    old_not_above = running_counts[np.searchsorted(scores, new_scores, "right")]
    new_below, new_ties = _count_earlier(new_scores)

    # the new score is one of the cases that it is ranked among
    n_so_far = running_counts[-1] + np.arange(new_scores.size) + 1
    ties = new_ties + old_not_above - old_below
    rank = old_below + new_below + rng.random(new_scores.size) * (ties + 1)

    return np.asarray(rank / n_so_far, np.float64)


def _count_earlier(numbers: Floats) -> tuple[Floats, Floats]:
    """Return, for each number, how many before it are smaller, and how many equal.

    Long arrays are divided: each half counts itself, then the first in the second.
    """
    # a table of all pairs is faster for few numbers
    if numbers.size <= _MAX_PAIRED_AT_ONCE:
        is_before = np.tri(numbers.size, k=-1, dtype=bool)
        smaller = (is_before & (numbers[None, :] < numbers[:, None])).sum(axis=1)
        equal = (is_before & (numbers[None, :] == numbers[:, None])).sum(axis=1)
        return smaller.astype(np.float64), equal.astype(np.float64)

    half = numbers.size // 2
    first_half = np.sort(numbers[:half])
    second_half = numbers[half:]
    smaller_in_first = np.searchsorted(first_half, second_half, "left")
    not_larger_in_first = np.searchsorted(first_half, second_half, "right")
    first_smaller, first_equal = _count_earlier(numbers[:half])
    second_smaller, second_equal = _count_earlier(second_half)

    return (
        np.append(first_smaller, second_smaller + smaller_in_first),
        np.append(first_equal, second_equal + not_larger_in_first - smaller_in_first),
    )


def _look_at_judges(
    question: WatchQuestion, state: State, panel: Panel, name: str | None, late: bool
) -> BatchLook:
    """Return the look at a rate from judges that err, corrected by a few labels.

    Each labelled case and the unlabelled ones that are dealt to it give a number from
    -1 to 2 whose mean is the rate (Angelopoulos et al. 2023). A second detector bets
    on the labels alone. Labels use up what waits of their own batch and of those before
    it; one that comes after its case was dealt out (``late``, and no longer in the
    queue) counts among the labels alone, since its verdicts are known by now.
    """
    queue = state["waiting"] or []
    n_usable = _queue_verdicts(queue, panel, name, late)
    corrected = np.empty(0)

    if n_usable and panel.n_pos + panel.n_neg:
        unlabelled = [patterns for _, patterns in queue[:n_usable]]
        corrected = _corrected_labels(question, state, panel, unlabelled)
        queue = queue[n_usable:]

    state["waiting"] = [batch for batch in queue if batch[1]] or None

    corrected_look = _look_at_numbers(
        question, state, corrected, np.ones(corrected.size)
    )
    labels_alone: WatchQuestion = {**question, "judges": [], "metric": "accuracy"}
    look_at_labels = _look_at_zeros_and_ones(
        labels_alone, state, panel.n_pos, panel.n_neg
    )
    _remember_labels(state, panel)

    # two detectors; the one with fewer parts has no gains in the last ones
    n_parts = max(len(corrected_look.gains), len(look_at_labels.gains))
    gains = [
        _pad_parts(look.gains, n_parts) for look in (corrected_look, look_at_labels)
    ]
    return BatchLook(np.concatenate(gains, axis=1), corrected_look.sums)


def _queue_verdicts(
    queue: list[Any], panel: Panel, name: str | None, late: bool
) -> int:
    """Add unlabelled verdicts to the queue; return the number of usable batches.

    Late labels take their own verdicts out of the queue, and use no later batch.
    """
    patterns = _patterns(panel)

    if not late:
        unlabelled = {}
        for pattern, row, n in zip(patterns, panel.rows, panel.unknown, strict=True):
            if n:
                unlabelled[pattern] = [pack_row(row), int(n)]
        queue.append([name, unlabelled])
        return len(queue)

    for place, (batch, unlabelled) in enumerate(queue):
        if batch != name:
            continue
        for pattern, n in zip(patterns, panel.pos + panel.neg, strict=True):
            if n:
                unlabelled[pattern][1] -= int(n)
        return place + 1

    return 0


def _remember_labels(state: State, panel: Panel) -> None:
    """Add the labels of each pattern to the state, for later guesses."""
    for pattern, pos, neg in zip(_patterns(panel), panel.pos, panel.neg, strict=True):
        if pos + neg:
            n_pos, n_neg = state["labels"].get(pattern, [0, 0])
            state["labels"][pattern] = [n_pos + int(pos), n_neg + int(neg)]


def _pad_parts(gains: Floats, n_parts: int) -> Floats:
    """Return gains with so many parts; the added ones gain nothing."""
    return np.pad(gains, ((0, n_parts - len(gains)), (0, 0), (0, 0)))


def _corrected_labels(
    question: WatchQuestion, state: State, panel: Panel, unlabelled: list[Any]
) -> Floats:
    r"""Return the corrected label of each labelled case.

    Each case takes its part m of the unlabelled cases that wait, with guesses f(x):

    .. math:: u = y - f(x) + \frac{1}{m + 1} \sum_{i=0}^{m} f(x_i)
    """
    # the order within a batch is unknown: unlabelled cases are assigned at random
    rng = _random(question, state)
    guess = _guesses(panel.rows, _patterns(panel), state["labels"])
    labels = np.concatenate([np.ones(panel.n_pos), np.zeros(panel.n_neg)])
    guesses = np.concatenate([np.repeat(guess, panel.pos), np.repeat(guess, panel.neg)])
    guesses_of_unlabelled = rng.permutation(
        np.concatenate([_guesses_of_unlabelled(counts, state) for counts in unlabelled])
    )
    order = rng.permutation(labels.size)
    labels = labels[order]
    guesses = guesses[order]

    edges = (np.arange(labels.size + 1) * guesses_of_unlabelled.size) // labels.size
    running_sums = np.concatenate([[0.0], np.cumsum(guesses_of_unlabelled)])
    sum_assigned = np.diff(running_sums[edges])
    n_assigned = np.diff(edges)

    return np.asarray(labels - guesses + (sum_assigned + guesses) / (n_assigned + 1))


def _guesses_of_unlabelled(counts: dict[str, Any], state: State) -> Floats:
    """Return the guess of each unlabelled case of a batch."""
    if not counts:
        return np.empty(0)
    rows = np.array([row for row, _ in counts.values()], np.float64)
    guesses = _guesses(rows, list(counts), state["labels"])
    return np.repeat(guesses, [n for _, n in counts.values()])


def _patterns(panel: Panel) -> list[str]:
    """Return each row of verdicts as text, the key of its labels."""
    return ["".join(map(_letter, row)) for row in panel.rows]


def _letter(verdict: float) -> str:
    """Return a verdict as text; a grade ends with a semicolon."""
    if np.isnan(verdict):
        return "."
    return f"{verdict:g}" if verdict in (0, 1) else f"{verdict:g};"


def _guesses(rows: Floats, patterns: list[str], labels: dict[str, list[int]]) -> Floats:
    """Return the guessed probability of each pattern, from earlier labels only."""
    has_verdict = ~np.isnan(rows)
    verdicts = np.where(has_verdict, np.clip(rows, 0, 1), 0.0)
    yes = verdicts.sum(axis=1)
    # before any label: the proportion of yes, with one more judge who is undecided
    prior = (yes + 0.5) / (has_verdict.sum(axis=1) + 1)

    no_labels = (0, 0)
    label_counts = [labels.get(pattern, no_labels) for pattern in patterns]
    counts = np.array(label_counts, np.float64)
    positives = counts[:, 0]
    n_labels = counts.sum(axis=1)

    return np.asarray((positives + _PRIOR_CASES * prior) / (n_labels + _PRIOR_CASES))


class Kind(NamedTuple):
    """A kind of watch: the function that looks at a batch, and what it needs."""

    look: Callable[..., BatchLook]
    proportion: bool = False  # observations are 0 or 1, by a threshold
    labels: bool = True
    bound: bool = True


KINDS = {
    "auc": Kind(_look_at_auc),
    "brier": Kind(_look_at_brier),
    "calibration": Kind(_look_at_calibration, bound=False),
    "scores": Kind(_look_at_scores, labels=False, bound=False),
    "flagged_rate": Kind(_look_at_flagged, proportion=True, labels=False),
    "prevalence": Kind(_look_at_judges),
}


def kind_of(watched: str) -> Kind:
    """Return the kind of watch of this name, or of a metric that is a proportion."""
    if isinstance(watched, str) and watched in KINDS:
        return KINDS[watched]

    kind = known_metric(watched, KINDS, "There is no metric {} to monitor.")
    if not kind.is_proportion and watched != "f1":
        raise InputError(
            f"{watched} is not a proportion of cases and cannot be monitored. Watch "
            "recall, precision, npv, accuracy, f1, auc or brier."
        )

    return Kind(_look_at_proportion, proportion=True)
