"""Whoever asks long work to stop is heard: long loops ask at every step."""

import threading

import numpy as np
import pytest

import trueness
from trueness._core.progress import Stopped, stopped_by

RNG = np.random.default_rng(1)
LABELS = (RNG.random(1500) < 0.4).astype(int)
SCORES = RNG.normal(size=1500) + LABELS
CLASSES = RNG.integers(0, 5, 400)
PROBABILITIES = RNG.random((400, 5))
SITES = {f"site {k}": trueness.simulate_tally(60, 25, auc=0.8, rng=k) for k in range(9)}
PANEL = trueness.panel(
    LABELS, {name: SCORES + RNG.normal(size=1500) for name in ("a", "b", "c")}
).without_labels()


class StopAtQuestion(threading.Event):
    """A request to stop that is made when the work asks for the n-th time."""

    def __init__(self, number):
        super().__init__()
        self.questions_left = number

    def is_set(self):
        self.questions_left -= 1
        return self.questions_left < 0


# a call, and how often it asks at least: once for each step of its long loop
LONG_CALLS = {
    "bootstrap of the AUC": (
        lambda: trueness.auc(LABELS, SCORES, method="bootstrap", replicates=20_000),
        25,
    ),
    "Pareto front of three metrics": (
        lambda: trueness.pareto(
            LABELS, SCORES, maximize=["recall", "precision", "accuracy"]
        ),
        20,
    ),
    "AUC of each pair of classes": (
        lambda: trueness.multiclass_auc(CLASSES, PROBABILITIES),
        19,
    ),
    "plan of an AUC": (
        lambda: trueness.plan_auc(auc=0.8, half_width=0.05, prevalence=0.3),
        20,
    ),
    "bins of a declaration": (lambda: trueness.declare(LABELS, SCORES), 1400),
    "each site left out": (lambda: trueness.across_sites(SITES, trueness.auc), 80),
    "steps of a mixture of ranks": (
        lambda: trueness.agreement(PANEL, method="likelihood"),
        40,
    ),
}


@pytest.mark.parametrize("name", LONG_CALLS)
def test_a_long_call_stops_at_the_step_at_which_it_is_asked_to(name):
    call, steps = LONG_CALLS[name]

    with stopped_by(StopAtQuestion(steps)), pytest.raises(Stopped):
        call()


def test_work_that_nobody_stops_ends_by_itself():
    call, _ = LONG_CALLS["AUC of each pair of classes"]

    with stopped_by(threading.Event()):
        answer = call()

    assert 0.4 < answer.value < 0.6
