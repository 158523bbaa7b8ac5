"""Split this way, that way or not at all: the golf data and Figs 1 and 2."""

import numpy as np
import pytest

from trueness import InputError, Leaves, NotEnoughCases, compare_splits

# Zhang (2024), table 10: neg and pos of each level
GOLF = {
    "outlook": Leaves(["rainy", "overcast", "sunny"], [3, 0, 2], [2, 4, 3]),
    "temperature": Leaves(["hot", "mild", "cool"], [2, 2, 1], [2, 4, 3]),
    "humidity": Leaves(["high", "normal"], [4, 1], [3, 6]),
    "windy": Leaves(["false", "true"], [2, 3], [6, 3]),
}
PAPER = {
    "A": ([0.9, 0.1], [0.75, 0.25]),
    "B": ([0.2, 0.8], [0.75, 0.6875]),
    "no split": ([1.0], [0.7]),
}


def by_name(found, field):
    return dict(zip(found.name.tolist(), getattr(found, field), strict=True))


@pytest.mark.parametrize(
    ("empty", "expected"),
    [
        (
            "wrong",
            {
                "outlook": (0.7617, 0.6646),
                "temperature": (0.7224, 0.5908),
                "humidity": (0.8145, 0.6828),
                "windy": (0.7461, 0.6231),
            },
        ),
        (
            "coin",
            {
                "outlook": (0.7638, 0.6660),
                "temperature": (0.7251, 0.5915),
                "humidity": (0.8145, 0.6828),
                "windy": (0.7462, 0.6231),
            },
        ),
    ],
)
def test_golf_by_the_errata(empty, expected):
    found = compare_splits(GOLF, method="mle", empty=empty)
    confidence, utility = by_name(found, "confidence"), by_name(found, "utility")
    for name, (c, u) in expected.items():
        assert confidence[name] == pytest.approx(c, abs=6e-5)
        assert utility[name] == pytest.approx(u, abs=6e-5)
    gini = by_name(found, "gini")
    known = {
        "outlook": 0.3429,
        "temperature": 0.4405,
        "humidity": 0.3673,
        "windy": 0.4286,
    }
    assert {k: round(gini[k], 4) for k in known} == known


def test_the_ranking_claim_of_the_paper_is_false():
    """Utility puts humidity first, Gini outlook."""
    found = compare_splits(GOLF, method="mle")
    assert found.best == "humidity"
    assert by_name(found, "gini_rank")["outlook"] == 1
    assert (np.diff(found.utility) <= 1e-12).all()
    assert found.n == 14
    assert set(found.name) == {*GOLF, "no split"}
    assert by_name(found, "leaves") == {
        "outlook": 3,
        "temperature": 3,
        "humidity": 2,
        "windy": 2,
        "no split": 1,
    }


def test_splits_of_the_paper_cross():
    """Figs 1 and 2: with few cases B is worse than no split, with many it ties."""
    few, many = (compare_splits(PAPER, n=n) for n in (10, 3000))
    assert few.name.tolist() == ["A", "no split", "B"]
    u = by_name(many, "utility")
    assert u["A"] == pytest.approx(0.75, abs=1e-6)
    assert u["B"] == pytest.approx(0.7, abs=1e-6)
    c = {n: by_name(compare_splits(PAPER, n=n), "confidence") for n in (5, 30)}
    assert c[5]["A"] > c[5]["no split"]
    assert c[30]["A"] < c[30]["no split"]


def test_counted_and_supposed_splits_stand_side_by_side():
    found = compare_splits({**GOLF, "guess": ([0.5, 0.5], [0.9, 0.8])}, n=14)
    assert found.name.size == 6
    assert "guess" in repr(found)
    assert "at 14 cases" in repr(found)
    assert "<td>guess</td>" in found._repr_html_()


@pytest.mark.parametrize(
    ("splits", "options", "error", "message"),
    [
        ({}, {}, InputError, "at least one"),
        ([1, 2], {}, InputError, "found list"),
        ({"a": 3}, {}, InputError, "'a' must be Leaves or a pair"),
        ({"a": ([1.0], [0.7])}, {}, InputError, r"compare_splits\(splits, n=100\)"),
        ({"a": ([0.5], [0.7])}, {"n": 5}, InputError, "sum to 1"),
        ({"a": ([1.0], [0.7])}, {"n": 5, "method": "x"}, InputError, "method must be"),
        (
            {"a": Leaves([1], [2], [3]), "b": Leaves([1], [2], [4])},
            {},
            InputError,
            "a: 2 and 3; b: 2 and 4",
        ),
        ({"a": Leaves([1], unknown=[3])}, {}, NotEnoughCases, "found none among 3"),
    ],
)
def test_wrong_input_is_answered_by_a_sentence(splits, options, error, message):
    with pytest.raises(error, match=message):
        compare_splits(splits, **options)
