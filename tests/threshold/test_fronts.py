"""The Pareto front: by hand, against comparing all pairs of cuts, at the edges."""

import operator
from fractions import Fraction

import numpy as np
import pytest

import trueness
from cuts_by_counting import cases_with_ties, single_cuts, value_of
from trueness import Tally, pareto

HAND = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])


def undominated_cuts(tally, names, prevalence):
    """Return the cuts that no other cut dominates, by comparing all pairs of cuts."""
    values_by_cut = {}
    for cut, (state,) in single_cuts(tally, prevalence):
        values = [value_of(name, state) for name in names]
        if None not in values:
            values_by_cut[cut] = values

    def is_dominated(values):
        return any(
            other != values and all(map(operator.ge, other, values))
            for other in values_by_cut.values()
        )

    return [cut for cut, values in values_by_cut.items() if not is_dominated(values)]


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
        n = int(rng.integers(3, 25))
        label, score = cases_with_ties(rng, n, levels=int(rng.integers(1, 9)))
        tally = trueness.tally(label, score)

        as_number = None if prevalence is None else float(prevalence)
        front = pareto(tally, names, prevalence=as_number)

        assert front.high.tolist() == undominated_cuts(tally, names, prevalence)


def test_by_hand():
    front = pareto(HAND, ["recall", "precision"])

    assert front.values["recall"].tolist() == [2 / 4, 3 / 4, 1]
    assert front.values["precision"].tolist() == [1, 3 / 4, 4 / 7]
    assert front.directions == {"recall": "higher", "precision": "higher"}
    assert len(front) == 3

    frame = front.to_frame()

    assert " ".join(frame.columns) == "threshold low high recall precision tp fp fn tn"
    assert frame["fp"].tolist() == [0, 1, 3]


def test_directions_can_be_given():
    front = pareto(HAND, ["recall"], minimize=["flagged"])
    by_keywords = pareto(HAND, maximize="recall", minimize="flagged")

    assert front.values["flagged"].tolist() == [0, 2, 4, 7]
    assert by_keywords.high.tolist() == front.high.tolist()


def test_the_direction_of_a_rate_of_errors_is_down():
    assert pareto(HAND, ["recall", "fpr"]).directions["fpr"] == "lower"


def test_constraints_bound_the_front():
    front = pareto(HAND, ["recall", "precision"], subject_to="flagged <= 4")

    assert front.confusion.tp.tolist() == [2, 3]


def test_many_continuous_scores():
    rng = np.random.default_rng(6)
    label = rng.random(20_000) < 0.3
    tally = trueness.tally(label, rng.normal(size=label.size) + label)

    front = pareto(tally, ["recall", "fpr"], prevalence=0.1)

    # a cut between two positives, or just above a negative, is dominated
    assert (np.diff(front.confusion.tp) > 0).all()
    assert (np.diff(front.confusion.fp) > 0).all()


@pytest.mark.parametrize("names", [["recall", "fpr"], ["recall", "fpr", "mcc"]])
@pytest.mark.parametrize("lacking", ["neg", "pos"])
def test_a_tally_in_which_a_metric_is_undefined_has_an_empty_front(names, lacking):
    of_one_class = Tally([1.0], **{"neg": [3], "pos": [3]} | {lacking: [0]})

    assert len(pareto(of_one_class, names)) == 0


def test_positives_alone_have_a_front_of_their_metrics():
    assert len(pareto(Tally([1.0], pos=[3]), ["recall", "f1"])) == 1
