"""Leaves: counted, merged, reported, scored."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueness
from trueness import InputError, Leaves, NotEnoughCases, leaves

# Zhang (2024), table 10: outlook and whether golf was played
OUTLOOK = ["rainy"] * 5 + ["overcast"] * 4 + ["sunny"] * 5
PLAY = ["no"] * 3 + ["yes"] * 2 + ["yes"] * 4 + ["yes"] * 3 + ["no"] * 2


def golf():
    return leaves(PLAY, OUTLOOK, positive="yes")


def test_counted_by_hand():
    golf_leaves = golf()

    assert golf_leaves.node.tolist() == ["overcast", "rainy", "sunny"]
    assert (golf_leaves.neg.tolist(), golf_leaves.pos.tolist()) == (
        [0, 3, 2],
        [4, 2, 3],
    )
    assert golf_leaves == Leaves(["sunny", "rainy", "overcast"], [2, 3, 0], [3, 2, 4])
    assert (len(golf_leaves), golf_leaves.n) == (3, 14)


def test_frames_of_all_engines(engine):
    frame = engine({"leaf": OUTLOOK, "y": PLAY})

    assert leaves(frame, node="leaf", label="y", positive="yes") == golf()

    numbered = engine({"leaf": [3, 1, 3, 2], "y": [0, 1, 1, 1], "k": [2, 1, 1, 5]})
    counts = leaves(numbered, node="leaf", label="y", count="k")

    assert counts == Leaves([1, 2, 3], [0, 0, 2], [1, 5, 1])
    assert leaves(numbered, node="leaf").unknown.tolist() == [1, 1, 2]


def test_missing_labels_are_unknown():
    counts = leaves([1, None, 0, None], [1, 1, 2, 3])

    assert counts.unknown.tolist() == [1, 0, 1]

    report = counts.report()

    assert report.n.tolist() == [1, 1, 0]
    assert report.confidence[2] == 0.5
    assert report.verdict.tolist() == ["thin", "thin", "coin toss"]
    assert math.isnan(report.cases_needed[2])


row = st.tuples(st.integers(0, 4), st.sampled_from([0, 1, None]))
cases = st.lists(row, max_size=30)


@given(cases, cases, st.randoms())
def test_parts_add_up_and_order_is_irrelevant(a, b, random):
    def count(rows):
        counts = np.zeros((3, len(rows)), int)
        for i, (_, y) in enumerate(rows):
            counts[2 if y is None else y, i] = 1
        return Leaves(np.array([r[0] for r in rows], dtype=int), *counts)

    together = a + b
    random.shuffle(together)

    assert count(a) + count(b) == count(together) == count(b) + count(a)
    assert sum([count(a), count(b)]) == count(together)
    assert count(a) + Leaves() == count(a)


LEAVES = Leaves([1, 2, 3, 4], neg=[0, 5, 1, 2], pos=[30, 5, 0, 5])


def test_verdicts_by_hand():
    report = LEAVES.report()

    assert report.majority.tolist() == ["positive", "tie", "negative", "positive"]
    assert report.verdict.tolist() == ["trust", "coin toss", "thin", "thin"]


def test_levels_of_a_leaf_by_hand():
    report = LEAVES.report()

    assert report.mle[3] == 5 / 7
    assert report.emle[3] == pytest.approx(2 / 3)
    assert report.blend[3] == pytest.approx(103 / 147)
    assert report.confidence[3] == trueness.confidence_level(7, report.blend[3])
    assert report.utility[3] == trueness.utility_level(7, report.blend[3])
    assert report.confidence_low[3] == 0.5


def test_a_leaf_of_one_case_is_worth_a_coin():
    """One case always agrees with itself."""
    report = LEAVES.report()

    assert (report.confidence[2], report.utility[2]) == (0.5, 0.5)


def test_cases_that_leaves_need_by_hand():
    report = LEAVES.report()

    assert report.cases_needed[0] == 0
    assert report.cases_needed[1] == math.inf
    # one leaf of four is significant, so the next is tested at 0.05 * 2 / 4: all cases
    # of a coin agree in 2 ways of 2**7, and 2 / 128 is below 0.025, 2 / 64 above
    assert report.cases_needed[2] == 6


def test_levels_of_the_whole_tree():
    report = LEAVES.report()

    p = np.select([report.n == 1, report.n == 30], [0.5, 31 / 32], report.blend)
    tree = trueness.trees.tree_levels(48, np.array([30, 10, 1, 7]) / 48, p)
    assert report.tree.confidence == tree.confidence
    assert report.tree.utility == tree.utility


@pytest.mark.parametrize("method", ["mle", "emle", "blend"])
def test_no_number_of_agreeing_cases_is_certain(method):
    n = np.array([2, 3, 4, 5, 12, 400])
    r = Leaves(np.arange(6), n * 0, n).report(method=method)

    # Laplace by hand: 3/4; 3 * (4/5)^2 / 5 + (4/5)^3; 3 * (5/6)^2 / 6 + (5/6)^3
    assert r.confidence[:3] == pytest.approx([3 / 4, 112 / 125, 200 / 216])
    assert (np.diff(r.confidence) > 0).all() or r.confidence[-1] > 1 - 1e-12
    assert (r.utility < 1).all()
    # 2 and 2**-11 of 12 cases; 5 cases have P(C) .977, but 2 * 2**-5 is above 0.05
    assert r.verdict.tolist() == ["thin"] * 4 + ["trust"] * 2
    assert "1.000  " not in "".join(line[40:] for line in repr(r).splitlines()[1:])


def test_classes_can_be_swapped_and_unknowns_change_no_level():
    known = Leaves([1, 2], [3, 9], [8, 2])
    a = known.report()
    b = Leaves([1, 2], [8, 2], [3, 9]).report()

    assert a.confidence.tolist() == b.confidence.tolist()
    assert a.tree.utility == b.tree.utility
    assert a.majority.tolist() == ["positive", "negative"] == b.majority.tolist()[::-1]

    more = (known + Leaves([1, 2], unknown=[5, 7])).report()

    assert json.dumps(more.to_dict()) == json.dumps(a.to_dict())


def test_report_shows_itself():
    report = golf().report()

    assert "coin toss" in repr(report)
    assert "P(C) 0.695" in repr(report)

    many = Leaves(np.arange(90), np.full(90, 2), np.full(90, 5)).report()

    assert "... 50 more leaves" in repr(many)
    assert "<td>overcast</td>" in report._repr_html_()
    assert "&lt;b&gt;" in Leaves(["<b>"], [1], [2]).report()._repr_html_()
    assert "&lt;b&gt;" in Leaves(["<b>"], [1], [2])._repr_html_()
    assert list(report.to_frame()["verdict"]) == ["thin", "coin toss", "coin toss"]
    assert json.dumps(report.to_dict())


def test_tally_scores_each_leaf():
    golf_leaves = golf()

    assert golf_leaves.tally().score.tolist() == [1.0, 0.6, 0.4]
    assert golf_leaves.tally().pos.tolist() == [4, 3, 2]

    blend = 0.5 + 0.6 * 0.1

    assert golf_leaves.tally(method="blend").score == pytest.approx(
        [1.0, blend, 1 - blend]
    )

    empty = Leaves([1, 2], [1, 0], [2, 0], [0, 4]).tally()

    assert empty.score.tolist() == [2 / 3, 0.5]
    assert Leaves([1], [0], [1]).tally(method="emle").score.tolist() == [0.5]


def test_arrays_are_locked_and_frames_made():
    with pytest.raises(ValueError, match="read-only"):
        golf().pos[0] = 9
    frame = golf().to_frame("polars")
    assert frame.columns == ["node", "neg", "pos", "unknown"]
    assert "14 cases (5 negative, 9 positive, 0 unknown) in 3 leaves" in repr(golf())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Leaves([1, 2], [1]), InputError, "node has 2, neg has 1"),
        (lambda: Leaves([1], [0.5]), InputError, "neg must be whole numbers"),
        (lambda: Leaves(["a", None], [1, 1]), InputError, "missing at 1 of 2"),
        (lambda: Leaves(np.array(["a", 1], object), [1, 1]), InputError, "one kind"),
        (lambda: Leaves([1], [1]) + Leaves(["a"], [1]), InputError, "both into text"),
        (lambda: Leaves([1], unknown=[3]).report(), NotEnoughCases, "none among 3"),
        (lambda: golf().report(confidence=95), InputError, "Type confidence=0.95"),
        (lambda: golf().report(method="mean"), InputError, "method must be one of"),
        (lambda: golf().tally(method="mean"), InputError, "method must be one of"),
        (lambda: leaves([1, 0]), InputError, "needs labels and leaves, or a frame"),
        (
            lambda: leaves([1, 0], [1, 2], label="a"),
            InputError,
            "leave them out for arrays",
        ),
        (lambda: leaves([1], [1, 2]), InputError, "y_true has 1, node has 2"),
        (lambda: leaves([f"x{p}" for p in PLAY], OUTLOOK), InputError, "s as positive"),
    ],
)
def test_wrong_input_is_answered_by_a_sentence(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_frame_needs_the_column_of_leaves(engine):
    frame = engine({"leaf": [1, 2], "y": [0, 1]})
    with pytest.raises(InputError, match="Name the column of leaves"):
        leaves(frame, label="y")
    with pytest.raises(InputError, match="Did you mean 'leaf'"):
        leaves(frame, node="leave", label="y")
