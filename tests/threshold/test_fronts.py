"""The Pareto front: by hand, against comparing all pairs of cuts, at the edges."""

import operator
from fractions import Fraction

import numpy as np
import pytest

import trueness
from cuts_by_counting import single, tied, value_of
from trueness import Tally, pareto

HAND = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])


def all_pairs(t, names, share):
    """The cuts that no other cut dominates, in fractions."""
    points = [(cut, [value_of(n, s) for n in names]) for cut, (s,) in single(t, share)]
    points = [(cut, v) for cut, v in points if None not in v]

    def beaten(v):
        return any(w != v and all(map(operator.ge, w, v)) for _, w in points)

    return [cut for cut, v in points if not beaten(v)]


@pytest.mark.parametrize("prevalence", [None, Fraction(3, 100)])
@pytest.mark.parametrize(
    "names",
    [
        ("recall", "precision"),
        ("0.7*accuracy + 0.3*recall", "precision"),
        ("f1", "balanced_accuracy", "precision"),
        ("mcc", "recall", "accuracy"),
        ("mcc", "recall", "accuracy", "precision"),
    ],
)
def test_front_is_what_all_pairs_leave(names, prevalence):
    rng = np.random.default_rng(2)
    for _ in range(40):
        y, score = tied(rng, int(rng.integers(3, 25)), levels=int(rng.integers(1, 9)))
        t = trueness.tally(y, score)
        share = None if prevalence is None else float(prevalence)
        front = pareto(t, names, prevalence=share)
        assert front.high.tolist() == all_pairs(t, names, prevalence)


def test_by_hand():
    front = pareto(HAND, ["recall", "precision"])

    assert front.values["recall"].tolist() == [2 / 4, 3 / 4, 1]
    assert front.values["precision"].tolist() == [1, 3 / 4, 4 / 7]
    assert front.directions == {"recall": "higher", "precision": "higher"}
    assert len(front) == 3

    frame = front.to_frame()

    assert " ".join(frame.columns) == "threshold low high recall precision tp fp fn tn"
    assert frame["fp"].tolist() == [0, 1, 3]


def test_directions_can_be_said():
    front = pareto(HAND, ["recall"], minimize=["flagged"])

    assert front.values["flagged"].tolist() == [0, 2, 4, 7]

    same = pareto(HAND, maximize="recall", minimize="flagged")

    assert same.high.tolist() == front.high.tolist()

    lower = pareto(HAND, ["recall", "fpr"])  # fpr is better when lower

    assert lower.directions["fpr"] == "lower"


def test_constraints_bound_the_front():
    front = pareto(HAND, ["recall", "precision"], subject_to="flagged <= 4")
    assert front.confusion.tp.tolist() == [2, 3]


def test_many_continuous_scores():
    rng = np.random.default_rng(6)
    y = rng.random(20_000) < 0.3
    t = trueness.tally(y, rng.normal(size=y.size) + y)
    front = pareto(t, ["recall", "fpr"], prevalence=0.1)
    # a cut between two positives, or just above a negative, is the only kind to stay
    tp, fp = front.confusion.tp, front.confusion.fp

    assert (np.diff(tp) > 0).all()
    assert (np.diff(fp) > 0).all()


def test_a_tally_in_which_a_metric_is_undefined_has_an_empty_front():
    for t in (trueness.Tally([1.0], pos=[3]), trueness.Tally([1.0], neg=[3])):
        for names in (["recall", "fpr"], ["recall", "fpr", "mcc"]):
            assert len(trueness.pareto(t, names)) == 0
    assert len(trueness.pareto(trueness.Tally([1.0], pos=[3]), ["recall", "f1"])) == 1
