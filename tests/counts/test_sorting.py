"""Distinct scores with their counts: every path equals a slow twin."""

import numpy as np
import pytest

import trueness
from trueness import InputError
from trueness._core import arrays
from trueness._core.arrays import BLOCK
from trueness.counts import score_keys, score_table, sorting


def slow_tally(label, score):
    """Return the rows of a tally by a twin that knows nothing of bits and blocks."""
    counts_by_score = {}
    for case_label, case_score in zip(label, score, strict=True):
        column = 2 if case_label is None else int(case_label)
        counts = counts_by_score.setdefault(float(case_score) + 0.0, [0, 0, 0])
        counts[column] += 1
    return [(s, *counts_by_score[s]) for s in sorted(counts_by_score, reverse=True)]


def as_rows(tally):
    """Return the rows of a tally as tuples."""
    columns = (tally.score, tally.neg, tally.pos, tally.unknown)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def lower_thresholds(monkeypatch, smallest):
    """Bring keys, threads and the hash table to arrays of this size."""
    monkeypatch.setattr(sorting, "_MIN_FOR_KEYS", smallest // 32)
    monkeypatch.setattr(score_keys, "_MIN_FOR_THREADS", smallest)
    monkeypatch.setattr(score_table, "_MIN_FOR_TABLE", smallest)
    monkeypatch.setattr(score_keys, "threads", lambda: 3)
    monkeypatch.setattr(score_table, "threads", lambda: 3)


SHAPES = {
    "uniform": lambda rng, n: rng.random(n),
    "logits": lambda rng, n: rng.normal(size=n) * 5,
    "decimals": lambda rng, n: np.round(rng.random(n), 2),
    "both zeros": lambda rng, n: rng.choice([0.0, -0.0, 1.0, -1.0], n),
    "negative": lambda rng, n: -rng.random(n),
    "constant": lambda rng, n: np.full(n, 0.3),
    "half zero": lambda rng, n: rng.normal(size=n) * (rng.random(n) < 0.5),
    "subnormal": lambda rng, n: rng.choice([5e-324, -5e-324, 0.0, 1e-310], n),
    "all magnitudes": lambda rng, n: (
        rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-300, 300, n)
    ),
    "widest": lambda rng, n: rng.choice([-1.7e308, 5e-324, 1.7e308, 0.0], n),
}
LABELS = {
    "both classes": [0, 1],
    "some unknown": [0, 1, None],
    "positives": [1],
    "all unknown": [None],
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", sorted(SHAPES))
@pytest.mark.parametrize("smallest", [1 << 16, 32])
def test_counting_equals_its_slow_twin(rng, monkeypatch, shape, dtype, smallest):
    # small blocks and thresholds bring every path to a few hundred cases
    lower_thresholds(monkeypatch, smallest)
    monkeypatch.setattr(sorting.blocks, "__defaults__", (min(smallest, 37),))

    for n in (1, 2, 31, 700):
        with np.errstate(over="ignore"):
            score = SHAPES[shape](rng, n).astype(dtype)
        score = score[np.isfinite(score)]
        for choices in LABELS.values():
            label = [choices[k] for k in rng.integers(0, len(choices), score.size)]

            counted = trueness.tally(label, score)

            assert as_rows(counted) == slow_tally(label, score)


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_a_strided_column_that_is_read_only_is_counted(rng, shape):
    score = SHAPES[shape](rng, 700)
    label = rng.integers(0, 2, 700)
    strided = np.repeat(score, 2)[::2]
    strided.flags.writeable = False

    counted = trueness.tally(label, strided)

    assert counted == trueness.tally(label, score)


@pytest.fixture
def scores_with_a_rare_one(rng, monkeypatch):
    """Few distinct scores, and two cases of a score that a sample does not show."""
    lower_thresholds(monkeypatch, 64)
    score = np.round(rng.random(4000), 1)
    score[[17, 1234]] = 7.125
    return score


def test_a_rare_score_outside_the_sample_is_counted(rng, scores_with_a_rare_one):
    label = rng.integers(0, 2, 4000)

    counted = trueness.tally(label, scores_with_a_rare_one)

    assert as_rows(counted) == slow_tally(label, scores_with_a_rare_one)


def test_an_infinity_outside_the_sample_is_refused(rng, scores_with_a_rare_one):
    label = rng.integers(0, 2, 4000)
    scores_with_a_rare_one[99] = np.inf

    with pytest.raises(InputError, match=r"1 of 4,000 \(position 99\)"):
        trueness.tally(label, scores_with_a_rare_one)


@pytest.mark.parametrize("shape", ["uniform", "all magnitudes", "half zero"])
@pytest.mark.parametrize("max_halved", [0, 1 << 21])
@pytest.mark.parametrize("halved_bits", [6, 32])
def test_a_descending_order_keeps_ties_in_place(
    rng, monkeypatch, shape, max_halved, halved_bits
):
    # with no keys in halves, positions are part of the keys; where halves have few
    # bits, many scores differ only in the bits behind
    monkeypatch.setattr(score_keys, "_MAX_HALVED", max_halved)
    monkeypatch.setattr(score_keys, "_HALVED_BITS", halved_bits)
    monkeypatch.setattr(score_keys, "has_slow_sort", lambda: True)
    score = SHAPES[shape](rng, 500)

    order, value = score_keys.descending_order(score)

    assert order.tolist() == np.argsort(-score, kind="stable").tolist()
    assert value.tolist() == score[order].tolist()


def hostile_keys(kind, rng):
    keys = rng.integers(0, 1 << 63, 5000, dtype=np.uint64)
    if kind == "one bucket":
        keys >>= np.uint64(40)
        keys[7] = np.uint64(2**64 - 1)
    if kind == "ties":
        keys %= np.uint64(9)
    if kind == "descending":
        keys = np.sort(keys)[::-1].copy()
    return keys[:1] if kind == "one key" else keys


@pytest.mark.parametrize(
    "kind", ["spread", "one bucket", "ties", "descending", "one key"]
)
@pytest.mark.parametrize("max_cached", [1000, 1 << 19])
@pytest.mark.parametrize("workers", [1, 3])
def test_keys_are_sorted_by_buckets(kind, max_cached, workers, monkeypatch):
    monkeypatch.setattr(score_keys, "has_slow_sort", lambda: True)
    monkeypatch.setattr(score_keys, "_MAX_CACHED", max_cached)
    monkeypatch.setattr(score_keys, "_MIN_BUCKETED_BY_THREAD", 100)
    keys = hostile_keys(kind, np.random.default_rng(1))
    expected = np.sort(keys)

    score_keys.sort_in_place(keys, workers)

    np.testing.assert_array_equal(keys, expected)


@pytest.mark.parametrize("size", [0, 1, BLOCK, 40 * BLOCK + 7])
def test_blocks_in_threads_answer_in_order(size, monkeypatch):
    monkeypatch.setattr(arrays, "threads", lambda: 3)

    answers = arrays.map_blocks(lambda block: (block.start, block.stop), size)

    assert answers == [(block.start, block.stop) for block in arrays.blocks(size)]


def test_an_error_in_a_thread_is_raised(monkeypatch):
    monkeypatch.setattr(arrays, "threads", lambda: 3)

    with pytest.raises(ZeroDivisionError):
        arrays.map_blocks(lambda block: 1 // (block.start - 20 * BLOCK), 40 * BLOCK)


def test_ranges_of_scores_are_of_like_size():
    scores = np.array([4.0, 0, 8, 2, 6, 1, 5, 3, 7])

    ranges = sorting._ranges_of_scores(scores, 3)

    # an edge, 5 or 2, is the lowest score of its range
    assert list(ranges) == [1, 2, 0, 1, 0, 2, 0, 1, 0]


def test_ranges_of_many_scores_are_of_like_size(rng):
    scores = rng.exponential(size=50_000)

    ranges = sorting._ranges_of_scores(scores, 5)

    sizes = np.bincount(ranges)

    assert sizes.size == 5
    # each edge is a quantile of 4,096 scores: an error of some 320 cases
    assert sizes == pytest.approx(np.full(5, 10_000), abs=1500)
    assert all(
        scores[ranges == k].min() > scores[ranges == k + 1].max() for k in range(4)
    )
