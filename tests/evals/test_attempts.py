"""Counts of attempts, and pass rates against subsets counted one by one."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binomtest

import trueness
from trueness import Attempts, InputError, NotEnoughCases

ROWS = {
    "task": ["x", "x", "y", "y", "z", None],
    "ok": [True, False, True, True, None, True],
    "model": ["m", "m", "m", "m", "m", "m"],
    "repo": ["r", "r", "r", "r", "s", "s"],
}


def few(**options):
    rows = {k: v[:4] for k, v in ROWS.items()}
    return trueness.attempts(rows, item="task", passed="ok", **options)


def test_rows_are_counted_by_item():
    attempts = few()

    assert attempts.item.tolist() == ["x", "y"]
    assert attempts.passed.tolist() == [1, 2]
    assert attempts.tried.tolist() == [2, 2]
    assert attempts.missing == 0


def test_rows_of_every_kind_are_counted_alike(tmp_path):
    rows = {name: column[:4] for name, column in ROWS.items()}
    file = tmp_path / "runs.csv"
    pd.DataFrame(rows).to_csv(file, index=False)

    for data in (pd.DataFrame(rows), pl.DataFrame(rows), pl.LazyFrame(rows), file):
        assert trueness.attempts(data, item="task", passed="ok") == few()


def test_rows_of_several_systems_are_counted_apart():
    rows = {"i": [1, 1, 2, 2], "p": [1, 0, 1, 1], "s": ["a", "b", "a", "b"]}

    by_system = trueness.attempts(rows, item="i", passed="p", system="s")

    assert list(by_system) == ["a", "b"]
    assert by_system["a"].passed.tolist() == [1, 1]
    assert by_system["b"].passed.tolist() == [0, 1]


def test_shards_merge_exactly_in_any_order():
    rng = np.random.default_rng(1)
    n = 3000
    rows = {"i": rng.integers(0, 200, n), "p": rng.integers(0, 2, n)}
    rows["c"] = rows["i"] // 7

    def count(at):
        part = {k: v[at] for k, v in rows.items()}
        return trueness.attempts(part, item="i", passed="p", cluster="c")

    parts = [count(at) for at in np.array_split(rng.permutation(n), 5)]
    all_cases = count(np.arange(n))
    assert sum(parts[1:], start=parts[0]) == all_cases
    assert sum(parts[::-1][1:], start=parts[-1]) == all_cases


@pytest.mark.parametrize(
    ("passed", "expected"),
    [
        (["pass", "FAIL", " Passed ", "failed"], [2, 2]),
        (["C", "I", "I", "I"], [1, 3]),
        ([1.0, 0.0, 1.0, 1.0], [3, 1]),
        (["yes", "no", "", "no"], [1, 2]),
    ],
)
def test_verdicts_in_words_and_numbers(passed, expected):
    a = trueness.attempts(
        {"i": [1, 2, 3, 4], "p": passed}, item="i", passed="p", missing_scores="drop"
    )
    wins = int(a.passed.sum())
    assert [wins, int(a.tried.sum()) - wins] == expected


def test_missing_verdicts_are_left_out_or_failed():
    rows = {k: v[:5] for k, v in ROWS.items()}
    dropped = trueness.attempts(rows, item="task", passed="ok")
    assert (len(dropped), dropped.missing) == (2, 1)
    assert any(
        "without a verdict: 1 attempt." in n for n in trueness.pass_rate(dropped).notes
    )

    failed = trueness.attempts(rows, item="task", passed="ok", missing_scores="fail")
    assert (len(failed), failed.missing) == (3, 0)
    assert failed.passed.tolist() == [1, 2, 0]


def test_grades_need_a_threshold():
    rows = {"i": [1, 2, 3], "p": [0.2, 0.5, 1.0]}
    with pytest.raises(InputError, match=r"grades, such as 0\.2.*threshold=0\.5"):
        trueness.attempts(rows, item="i", passed="p")
    a = trueness.attempts(rows, item="i", passed="p", threshold=0.5)
    assert a.passed.tolist() == [0, 1, 1]


FORGED = {
    "schema": ["other"],
    "passed": [[9, 9], [0.5, 1], [1], [[1, 2], [3]]],
    "tried": [[0, 1], [2**70, 1]],
    "item": ["xy", [1, None]],
    "cluster": [3, [["a"], {}]],
    "missing": ["many", True, 10**400],
}


def test_a_file_holds_them_and_a_forged_one_gets_a_sentence(tmp_path):
    a = few(cluster="repo")
    file = tmp_path / "a.json"
    with pytest.raises(InputError, match="There is no file"):
        trueness.read_attempts(file)

    a.write(file)
    assert trueness.read_attempts(file) == a

    held = json.loads(file.read_text())
    for key, values in FORGED.items():
        for value in values:
            file.write_text(json.dumps(held | {key: value}))
            with pytest.raises(InputError):
                trueness.read_attempts(file)

    file.write_text("{" * 9)
    with pytest.raises(InputError, match="not a file of attempts"):
        trueness.read_attempts(file)


WRONG = [
    ({"a": [1]}, {}, "needs a column of items"),
    ({"i": ["a", None], "p": [1, 1]}, {}, "has no value in row 2"),
    ({"i": ["a"], "p": ["maybe"]}, {}, "found 'maybe'"),
    ({"i": ["a", "a"], "p": [1, 1], "c": [1, 2]}, {"cluster": "c"}, "several clusters"),
    ({"i": ["a"], "p": [None]}, {}, "Did the scorer run"),
]


@pytest.mark.parametrize(("rows", "more", "message"), WRONG)
def test_wrong_calls_are_taught(rows, more, message):
    named = {"item": "i", "passed": "p"} if "i" in rows else {}
    with pytest.raises((InputError, NotEnoughCases), match=message):
        trueness.attempts(rows, **named, **more)


def test_items_that_clash():
    with pytest.raises(InputError, match="Each item must occur once"):
        Attempts(["a", "a"], passed=[1, 1], tried=[1, 1])
    one, other = (
        Attempts(["a", "b"], passed=[1, 1], tried=[1, 1], cluster=[c, c]) for c in "cd"
    )
    with pytest.raises(InputError, match="cluster 'c' and to 'd'"):
        one + other


def test_repeats_in_logs_are_attempts_at_one_item(tmp_path):
    samples = [
        {"id": f"q{k}", "epoch": e, "scores": {"match": {"value": "CI"[(k + e) % 2]}}}
        for k in range(4)
        for e in (1, 2, 3)
    ]
    held = {"eval": {"model": "m", "task": "t"}, "status": "success", "plan": {}}
    (tmp_path / "log.json").write_text(json.dumps(held | {"samples": samples}))

    a = trueness.attempts(tmp_path / "log.json")

    assert a.item.tolist() == ["q0", "q1", "q2", "q3"]
    assert (a.tried.tolist(), a.passed.tolist()) == ([3] * 4, [1, 2, 1, 2])


def made(passed, tried, cluster=None):
    return Attempts([f"i{k}" for k in range(len(passed))], passed, tried, cluster)


def by_subsets(passed, tried, k, of):
    each = []
    for c, n in zip(passed, tried, strict=True):
        subsets = list(combinations([True] * c + [False] * (n - c), k))
        each.append(Fraction(sum(map(of, subsets)), len(subsets)))
    return float(sum(each) / len(each))


@pytest.mark.parametrize("seed", range(8))
def test_every_subset_of_k_attempts(seed):
    rng = np.random.default_rng(seed)
    tried = rng.integers(3, 8, 6)
    passed = rng.integers(0, tried + 1)

    a = made(passed, tried)

    for k in (1, 2, 3):
        assert trueness.pass_at_k(a, k).value == by_subsets(passed, tried, k, any)
        assert trueness.pass_hat_k(a, k).value == by_subsets(passed, tried, k, all)


def test_one_attempt_per_item_is_a_counted_share():
    e = trueness.pass_rate(made([1] * 27 + [0] * 13, [1] * 40))
    wilson = binomtest(27, 40).proportion_ci(method="wilson")
    assert (e.low, e.high) == pytest.approx((wilson.low, wilson.high), abs=1e-12)
    assert e.method == "Wilson 1927"


def test_copies_of_attempts_add_nothing():
    """Attempts that always repeat the first one say no more than one attempt."""
    passed = np.array([1] * 60 + [0] * 40)
    one = trueness.pass_rate(made(passed, [1] * 100))

    ten = trueness.pass_rate(made(10 * passed, [10] * 100))

    assert ten.value == one.value
    assert ten.high - ten.low == pytest.approx(one.high - one.low, rel=0.05)


def test_clusters_of_items_are_wider_and_single_ones_are_none():
    rng = np.random.default_rng(3)
    easy = rng.random(20).repeat(10)
    passed = rng.binomial(4, easy)
    groups = [f"g{k // 10}" for k in range(200)]
    alone = trueness.pass_rate(made(passed, [4] * 200))
    grouped = trueness.pass_rate(made(passed, [4] * 200, groups))

    assert grouped.high - grouped.low > 2 * (alone.high - alone.low)

    single = trueness.pass_rate(made(passed, [4] * 200, range(200)))
    assert (single.low, single.high) == (alone.low, alone.high)


def test_a_mapping_of_systems_gives_a_dict_and_each_item_needs_k_attempts():
    with pytest.raises(NotEnoughCases, match="1 of 2 items have fewer"):
        trueness.pass_at_k(made([1, 1], [3, 2]), 3)
    rate = trueness.pass_rate({"a": made([1], [1]), "b": made([0], [2])})
    assert {k: e.value for k, e in rate.items()} == {"a": 1.0, "b": 0.0}


@pytest.mark.parametrize(
    ("items", "attempts", "a", "b"),
    [(30, 1, 2, 2), (60, 5, 2, 2), (200, 3, 9, 1), (500, 10, 0.5, 0.5)],
)
def test_simulated_items_are_covered(items, attempts, a, b):
    rng = np.random.default_rng(items)
    hits = 0
    size = 400
    truth = a / (a + b)
    for _ in range(size):
        passed = rng.binomial(attempts, rng.beta(a, b, items))
        e = trueness.pass_rate(made(passed, [attempts] * items))
        hits += e.low <= truth <= e.high
    assert 0.92 <= hits / size <= 0.985
