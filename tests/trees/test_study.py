"""The study of leaves in small: its parts do what its words say."""

import importlib.util
from pathlib import Path

import pytest

import trueness

PATH = Path(__file__).parents[2] / "benchmarks" / "study_leaves.py"


@pytest.fixture(scope="module")
def study():
    spec = importlib.util.spec_from_file_location("study_leaves", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.REPEATS = 3
    return module


def test_trusted_leaves_are_right_more_often_than_coin_tosses(study, recwarn):
    data = study.QUESTIONS["diabetes, above median"]()
    found = {row.choice: row for row in study.leaf_rows("diabetes", data)}
    assert found["trust, apart"].accuracy > found["coin toss, apart"].accuracy + 0.1
    assert all(w.category is trueness.Optimistic for w in recwarn)
