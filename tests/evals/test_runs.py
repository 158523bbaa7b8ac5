"""Comparisons of runs against McNemar and SciPy, plans, and leaderboards."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import trueness
from trueness import Attempts, InputError, NotEnoughCases


def made(passed, tried, first=0, cluster=None):
    names = [f"i{k + first:05}" for k in range(len(passed))]
    return Attempts(names, passed, tried, cluster)


def test_one_attempt_is_mcnemars_exact_test():
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.integers(0, 2, (2, 40))
        pair = trueness.compare_runs(
            {"a": made(a, [1] * 40), "b": made(b, [1] * 40)}
        ).pairs[0]
        won = int(((a == 1) & (b == 0)).sum())
        lost = int(((a == 0) & (b == 1)).sum())
        p = stats.binomtest(won, won + lost).pvalue if won + lost else 1.0
        assert pair.p_value == pytest.approx(p)
        assert pair.difference.value == pytest.approx((won - lost) / 40)
        outside = not pair.difference.low <= 0 <= pair.difference.high
        assert not outside or pair.p_value <= 0.05


def test_several_attempts_are_a_paired_comparison_of_items():
    rng = np.random.default_rng(1)
    easy = rng.beta(1, 1, 300)
    passed_by_a = rng.binomial(5, easy)
    passed_by_b = rng.binomial(3, easy**1.3)
    paired_test = stats.ttest_rel(passed_by_a / 5, passed_by_b / 3)

    comparison = trueness.compare_runs(
        {"a": made(passed_by_a, [5] * 300), "b": made(passed_by_b, [3] * 300)}
    )

    (pair,) = comparison.pairs
    mean_difference = (passed_by_a / 5 - passed_by_b / 3).mean()
    assert pair.difference.value == pytest.approx(mean_difference)
    assert pair.statistic == pytest.approx(paired_test.statistic)
    assert pair.p_value == pytest.approx(paired_test.pvalue, rel=0.02)


def test_items_are_paired_by_name():
    a = made([1, 0, 1], [1] * 3)
    b = made([1, 1, 0], [1] * 3, first=1)
    comparison = trueness.compare_runs({"a": a, "b": b})

    assert comparison.pairs[0].difference.value == pytest.approx(
        (0 + 1) / 2 - (1 + 1) / 2
    )
    assert "2 items of 4 are left out" in comparison.notes[0]
    with pytest.raises(NotEnoughCases, match="use the same item names"):
        trueness.compare_runs({"a": a, "b": made([1], [1], first=9)})


def test_clusters_count_once():
    rng = np.random.default_rng(2)
    level = rng.random(15).repeat(20)
    groups = [f"g{k // 20}" for k in range(300)]
    a = rng.binomial(2, level)
    b = rng.binomial(2, np.clip(level + rng.normal(0, 0.2, 15).repeat(20), 0, 1))
    tried = [2] * 300
    alone = trueness.compare_runs({"a": made(a, tried), "b": made(b, tried)})
    grouped = trueness.compare_runs(
        {"a": made(a, tried, cluster=groups), "b": made(b, tried, cluster=groups)}
    )

    one = alone.pairs[0].difference
    other = grouped.pairs[0].difference

    assert other.value == one.value
    assert other.high - other.low > 1.3 * (one.high - one.low)


def test_reference_and_margin():
    rng = np.random.default_rng(3)
    runs = {k: made(rng.integers(0, 2, 60), [1] * 60) for k in "abc"}

    comparison = trueness.compare_runs(runs, reference="b", margin=0.3)

    assert [(p.first, p.second) for p in comparison.pairs] == [("a", "b"), ("b", "c")]
    assert all(p.margin == 0.3 for p in comparison.pairs)
    with pytest.raises(InputError, match=r"one of.*found 'd'"):
        trueness.compare_runs(runs, reference="d")
    with pytest.raises(InputError, match="2 or more systems"):
        trueness.compare_runs({"a": runs["a"]})
    for ask in (trueness.compare_runs, trueness.leaderboard):
        with pytest.raises(InputError, match=rf"trueness\.{ask.__name__}"):
            ask(runs["a"])


@pytest.mark.parametrize(("items", "attempts"), [(40, 1), (40, 4), (200, 2)])
def test_equal_systems_differ_in_five_of_a_hundred(items, attempts):
    rng = np.random.default_rng(items + attempts)
    p = []
    for _ in range(500):
        easy = rng.beta(1, 1, items)
        a, b = rng.binomial(attempts, easy, (2, items))
        tried = [attempts] * items
        runs = {"a": made(a, tried), "b": made(b, tried)}
        p.append(trueness.compare_runs(runs).pairs[0].p_value)
    assert np.mean(np.array(p) <= 0.05) <= 0.08


def test_a_plan_gives_its_power():
    rng = np.random.default_rng(5)

    def runs(items, attempts):
        easy = rng.beta(2, 2, items)
        a = rng.binomial(attempts, easy)
        b = rng.binomial(attempts, np.clip(easy - 0.05, 0, 1))
        tried = [attempts] * items
        return {"a": made(a, tried), "b": made(b, tried)}

    plan = trueness.plan_items(runs(4000, 6), difference=0.05, attempts=3)
    seen = [
        trueness.compare_runs(runs(plan.items, 3)).pairs[0].p_value <= 0.05
        for _ in range(300)
    ]
    assert 0.72 <= np.mean(seen) <= 0.88
    assert plan.by_attempts[1] > plan.items > plan.by_attempts[10]


def test_plans_that_cannot_be_made():
    one = made([1, 0, 1], [1] * 3)
    with pytest.raises(InputError, match=r"a difference .* or a half_width"):
        trueness.plan_items(one)
    with pytest.raises(NotEnoughCases, match="attempts=1"):
        trueness.plan_items(one, half_width=0.1, attempts=5)
    with pytest.raises(InputError, match="two systems; found 3"):
        trueness.plan_items(dict.fromkeys("abc", one), difference=0.1)


def test_ranks_hold_together():
    rng = np.random.default_rng(7)
    gain = np.array([0.0, 0.0, 0.05, 0.1, 0.3])
    true = 1 + (gain[None] > gain[:, None]).sum(axis=1)
    wrong, size = 0, 250

    for _ in range(size):
        easy = rng.beta(2, 3, 80)
        runs = {
            str(k): made(rng.binomial(2, np.clip(easy + g, 0, 1)), [2] * 80)
            for k, g in enumerate(gain)
        }
        board = trueness.leaderboard(runs)
        mine = true[[int(n) for n in board.names]]
        wrong += bool(((mine < board.best_rank) | (mine > board.worst_rank)).any())

    assert wrong / size <= 0.08


def test_letters_are_shared_by_exactly_those_that_do_not_differ():
    rng = np.random.default_rng(11)
    for _ in range(20):
        easy = rng.beta(2, 3, 60)
        runs = {
            str(k): made(rng.binomial(1, np.clip(easy + g, 0, 1)), [1] * 60)
            for k, g in enumerate(rng.uniform(0, 0.6, 6))
        }
        board = trueness.leaderboard(runs)
        letters = dict(zip(board.names, map(str.split, board.groups), strict=True))
        for pair in board.comparison.pairs:
            shared = set(letters[pair.first]) & set(letters[pair.second])
            assert bool(shared) == (pair.p_adjusted > 0.05)

    equal = trueness.leaderboard(dict.fromkeys("xyz", made([1, 0] * 20, [1] * 40)))
    assert equal.best_rank.tolist() == [1, 1, 1]
    assert equal.worst_rank.tolist() == [3, 3, 3]
    assert set(equal.groups) == {"a"}
    assert "1 to 3" in repr(equal)


@pytest.mark.parametrize("option", ["difference", "half_width"])
def test_a_goal_that_no_number_of_items_reaches_is_refused(option):
    both = {
        "a": Attempts(["w", "x", "y", "z"], passed=[2, 1, 0, 1], tried=[2] * 4),
        "b": Attempts(["w", "x", "y", "z"], passed=[1, 2, 1, 0], tried=[2] * 4),
    }

    with pytest.raises(InputError, match="would need more than"):
        trueness.plan_items(both, **{option: 1e-320})
