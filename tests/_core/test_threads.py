"""An answer has the same digits, whatever the number of threads that made it."""

from __future__ import annotations

import os

import numpy as np
import pytest

import trueness
from trueness._core.arrays import threads

# long enough that blocks, keys and tables are each shared among threads
N = 300_000

MEASURES = ("auc", "average_precision", "brier", "log_loss")


@pytest.fixture
def with_threads(monkeypatch):
    """Return a function that answers a question with so many threads."""

    def answer(number, question):
        monkeypatch.setattr(
            os, "sched_getaffinity", lambda process: range(number), raising=False
        )
        assert threads() == number
        return question()

    return answer


def cases(decimals, seed=5):
    rng = np.random.default_rng(seed)
    label = rng.random(N) < 0.3
    score = np.round(1 / (1 + np.exp(-rng.normal(size=N) - label)), decimals)
    return label, score, rng.gamma(2, size=N)


def digits(estimate):
    return [float(number).hex() for number in (estimate.value, estimate.se)]


@pytest.mark.parametrize("decimals", [3, 17])
@pytest.mark.parametrize("number", [2, 5])
def test_measures_of_one_tally(with_threads, decimals, number):
    label, score, _ = cases(decimals)

    def question():
        tally = trueness.tally(label, score)
        return [digits(getattr(trueness, name)(tally)) for name in MEASURES]

    assert with_threads(number, question) == with_threads(1, question)


@pytest.mark.parametrize("decimals", [3, 17])
@pytest.mark.parametrize("number", [2, 5])
def test_sums_of_weights(with_threads, decimals, number):
    label, score, weight = cases(decimals)

    def question():
        return trueness.tally(label, score, weight=weight)

    assert with_threads(number, question) == with_threads(1, question)


def test_ranks_of_several_classifiers(with_threads):
    panel = trueness.simulate_panel(20_000, 5_000, [0.6, 0.7, 0.8], rng=1)

    def question():
        fitted = trueness.fidel(panel)
        return fitted.auc.tolist(), fitted(panel.rows).tolist()

    assert with_threads(3, question) == with_threads(1, question)
