"""The study of leaves in small: its parts do what its words say."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import trueness
from trueness.estimators import leaf_report

PATH = Path(__file__).parents[2] / "benchmarks" / "study_leaves.py"


@pytest.fixture(scope="module")
def study():
    spec = importlib.util.spec_from_file_location("study_leaves", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.REPEATS = 3
    return module


def test_copies_stay_in_one_part(study):
    x = np.repeat(np.arange(40.0), 3)[:, None]
    data = x, np.zeros(120, int), np.repeat(np.arange(40), 3)
    parts = study.parts(data, 0)
    assert sum(len(y) for _, y in parts) == 120
    seen = [set(v[:, 0]) for v, _ in parts]
    assert sum(map(len, seen)) == len(set().union(*seen)) == 40


def test_verdicts_are_added_up(study):
    data = study.QUESTIONS["wine, second"]()
    tree, (_, apart, new) = study.grown(data, 1)
    report = leaf_report(tree, *apart)
    sums = study.by_verdict(tree, report, new)
    assert sum(s[0] for s in sums.values()) == report.node.size
    reached = np.isin(tree.apply(new[0]), report.node)
    assert sum(s[5] for s in sums.values()) == reached.sum()
    nodes, side = tree.apply(new[0])[reached], new[1][reached]
    guess = dict(zip(report.node, report.majority, strict=True))
    worth = {
        "positive": side == 1,
        "negative": side == 0,
        "tie": np.full(side.size, 0.5),
    }
    right = sum(worth[guess[node]][i] for i, node in enumerate(nodes))
    assert sum(s[6] for s in sums.values()) == pytest.approx(float(right))


def test_trusted_leaves_are_right_more_often_than_coin_tosses(study, recwarn):
    data = study.QUESTIONS["diabetes, above median"]()
    found = {row.choice: row for row in study.leaf_rows("diabetes", data)}
    assert found["trust, apart"].accuracy > found["coin toss, apart"].accuracy + 0.1
    assert all(w.category is trueness.Optimistic for w in recwarn)


def test_trees_are_compared_at_the_same_size(study):
    tree, (first, _, _) = study.grown(study.QUESTIONS["wine, second"](), 0)
    path = study.cost_complexity(tree, *first)
    sizes = [study.size(t) for t in path]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1
    assert study.size(study.cut_to(path, 2)) <= 2
