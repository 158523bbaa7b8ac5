"""Folds of a cross-validation: what they hold, and what is no fold."""

import pytest

import trueness
from trueness import InputError, NotEnoughCases, Panel, Tally
from trueness.counts.folds import Folds

FIRST = Tally([2, 1], pos=[2, 1], neg=[0, 3])
SECOND = Tally([5, 2], pos=[4, 0], neg=[1, 1])
PANELS = [
    Panel(["a", "b"], [[1, 0], [0, 1]], pos=[3, 1], neg=[1, 2]),
    Panel(["a", "b"], [[1, 1], [0, 0]], pos=[2, 2], neg=[2, 1]),
]


def test_folds_are_counted_and_read_in_order():
    folds = Folds([FIRST, SECOND])

    assert len(folds) == 2
    assert list(folds) == [FIRST, SECOND]
    assert folds.names == ()
    assert repr(folds) == "Folds: 2 folds, 12 cases"


def test_scores_of_all_folds_are_pooled():
    pooled = Folds([FIRST, SECOND, FIRST]).pooled()

    assert pooled == FIRST + SECOND + FIRST


def test_folds_of_several_models_are_those_of_each():
    folds = Folds(PANELS)

    assert folds.names == ("a", "b")
    assert list(folds["b"]) == [panel["b"] for panel in PANELS]
    assert repr(folds) == "Folds: 2 folds, 14 cases by 2 models"


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([FIRST], "two or more tallies.*found 1 part"),
        ([], "found 0 parts"),
        ([FIRST, PANELS[0]], "two or more tallies"),
        ([FIRST, 3], "two or more tallies"),
        ([PANELS[0], Panel(["b", "a"], [[1, 0]], pos=[1], neg=[1])], "same models"),
    ],
)
def test_what_is_no_fold_is_refused(parts, reason):
    with pytest.raises(InputError, match=reason):
        Folds(parts)


@pytest.mark.parametrize(
    ("fold", "missing"),
    [(Tally([1], neg=[3]), "positives"), (Tally([1], pos=[3]), "negatives")],
)
def test_a_fold_needs_both_classes(fold, missing):
    with pytest.raises(NotEnoughCases, match=f"Fold 2 has no {missing}") as said:
        Folds([FIRST, fold])

    assert said.value.option == "cv"


def clustered(*clusters):
    return trueness.tally([1, 0], [2, 1], cluster=clusters)


def test_a_cluster_is_in_one_fold():
    folds = Folds([clustered("a", "b"), clustered("c", "d")])

    assert len(folds) == 2
    with pytest.raises(InputError, match="Folds 1 and 3 share cluster 'b'"):
        Folds([clustered("a", "b"), clustered("c", "d"), clustered("b", "e")])


def test_folds_without_clusters_share_none():
    assert len(Folds([clustered("a", "b"), FIRST, clustered("c", "d")])) == 3
