"""Tally and Panel: canonical form, structure, errors."""

import re
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueness
from trueness import InputError, Panel, Tally
from trueness.counts.values import holds_tests

# ten cases worked by hand in docs/one_idea.md
LABEL = [1, 1, 0, 1, 0, 0, 1, 0, None, 0]
SCORE = [0.9, 0.8, 0.8, 0.7, 0.7, 0.7, 0.4, 0.2, 0.2, 0.1]


def test_ten_cases_by_hand():
    tally = trueness.tally(LABEL, SCORE)

    assert tally.score.tolist() == [0.9, 0.8, 0.7, 0.4, 0.2, 0.1]
    assert tally.neg.tolist() == [0, 1, 2, 0, 1, 1]
    assert tally.pos.tolist() == [1, 1, 1, 1, 0, 0]
    assert tally.unknown.tolist() == [0, 0, 0, 0, 1, 0]
    assert (tally.n, tally.n_neg, tally.n_pos, tally.n_unknown, len(tally)) == (
        10,
        5,
        4,
        1,
        6,
    )
    assert tally.prevalence == 4 / 9


def test_constructor_makes_canonical_form():
    tally = Tally([1, 3, -0.0, 0.0, 3], neg=[0, 1, 1, 2, 4], pos=[0, 0, 0, 1, 0])

    assert tally.score.tolist() == [3.0, 0.0]
    assert not np.signbit(tally.score).any()
    assert tally.neg.tolist() == [5, 3]
    assert tally.pos.tolist() == [0, 1]

    for column in (tally.score, tally.neg, tally.pos, tally.unknown):
        assert column.dtype == (np.float64 if column is tally.score else np.int64)
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1

    with pytest.raises(AttributeError):
        tally.score = 3
    with pytest.raises(AttributeError):
        Panel(["a"], [[1]], pos=[1]).names = ("b",)


def test_the_empty_tally_is_zero():
    tally = trueness.tally(LABEL, SCORE)

    assert tally + Tally() == tally == Tally() + tally == tally - Tally()
    assert sum([tally, tally]) == tally + tally
    assert sum([tally, tally]).n == 20
    assert np.isnan(Tally().prevalence)
    assert repr(Tally()) == (
        "Tally: 0 cases (0 negative, 0 positive, 0 unknown), 0 distinct scores"
    )


def test_equal_exactly_when_the_cases_are_the_same():
    tally = trueness.tally(LABEL, SCORE)

    assert tally == Tally(
        tally.score[::-1], tally.neg[::-1], tally.pos[::-1], tally.unknown[::-1]
    )
    assert tally != tally.without_labels()
    assert tally != tally + tally
    assert tally != "tally"


def test_map_may_merge_scores_and_turn_them_round():
    tally = trueness.tally([1, 0, 1, 0], [-2, 2, 1, 0])
    squared = tally.map(np.square)

    assert squared.score.tolist() == [4, 1, 0]
    assert squared.pos.tolist() == [1, 1, 0]
    assert squared.neg.tolist() == [1, 0, 1]
    assert tally.map(lambda s: -s).score.tolist() == [2, 0, -1, -2]
    with pytest.raises(InputError, match=r"one score per score, shape \(4,\)"):
        tally.map(lambda s: 3.0)
    with pytest.raises(InputError, match="score must be finite"):
        tally.map(lambda s: s / 0.0 if False else np.full(4, np.nan))


def test_subtraction_never_goes_below_zero():
    tally = Tally([2, 1], neg=[1, 0], pos=[0, 1])

    with pytest.raises(InputError, match="more cases than a at 1 scores, first 2"):
        tally - Tally([2], neg=[2])
    with pytest.raises(InputError, match=r"at 1 scores, first 1\.5"):
        tally - Tally([1.5], neg=[1])
    with pytest.raises(InputError, match="Is b the part and a the whole"):
        Tally() - tally

    for other in (1, Panel(["a"], [[2]], neg=[1])):
        with pytest.raises(TypeError):
            tally - other
        with pytest.raises(TypeError):
            tally + other

    p = Panel(["a"], [[1], [0]], pos=[1, 1])

    with pytest.raises(InputError, match=r"in 1 rows of outputs, first \[1.0\]"):
        p - Panel(["a"], [[1]], pos=[2])
    with pytest.raises(InputError, match="hold the same classifiers"):
        p - Panel(["b"], [[1]], pos=[1])
    with pytest.raises(TypeError):
        p - 1


def test_cases_can_be_taken_out_of_bins(rng):
    score = rng.random(200)
    first = trueness.tally(rng.integers(0, 2, 200), score)
    second = trueness.tally(rng.integers(0, 2, 50), rng.choice(score, 50))
    binned = (first + second).bin(10)

    # the cases of the second lie in the bins of the sum
    remaining = binned - second

    low, high = trueness.auc(remaining).bounds
    assert remaining.n_neg == first.n_neg
    assert remaining.n_pos == first.n_pos
    assert low <= trueness.auc(first).value <= high


BINNED = Tally([4, 3, 2, 1], neg=[0, 1, 0, 1], pos=[1, 0, 1, 0]).bin(2)


def test_a_rising_map_moves_the_ends_of_bins():
    mapped = BINNED.map(lambda score: score / 4, monotone=True)

    assert mapped.score.tolist() == [0.75, 0.25]
    assert mapped.high.tolist() == [1.0, 0.5]


def test_a_falling_map_turns_bins_round():
    mapped = BINNED.map(lambda score: -score, monotone=True)

    assert mapped.score.tolist() == [-2, -4]
    assert mapped.high.tolist() == [-1, -3]
    assert mapped.pos.tolist() == BINNED.pos[::-1].tolist()


def test_bins_that_touch_after_a_map_are_one():
    mapped = BINNED.map(lambda score: np.minimum(score, 2), monotone=True)

    assert len(mapped) == 1


def test_a_calibrator_keeps_the_bins():
    reference = Tally([4, 3, 2, 1], neg=[0, 1, 1, 2], pos=[2, 1, 1, 0])
    logistic = trueness.calibrate(reference, method="platt")

    mapped = BINNED.map(logistic)

    assert mapped.binned
    assert trueness.brier(mapped).bounds is not None


def test_other_maps_forget_the_cells_and_say_so():
    tally = Tally([4, 3, 2, 1], neg=[0, 1, 0, 1], pos=[1, 0, 1, 0]).bin(2)
    with pytest.warns(trueness.DoubtfulAssumptionWarning, match="will have no bounds"):
        assert not tally.map(np.square).binned

    with pytest.raises(InputError, match="rises and falls"):
        tally.map(lambda s: (s - 2.5) ** 2 + s, monotone=True)
    with pytest.raises(InputError, match="score must be finite"):
        tally.map(lambda s: np.where(s < 4, s, np.inf), monotone=True)


def test_hide_and_labelled():
    tally = trueness.tally(LABEL, SCORE)
    hidden = tally.without_labels()

    assert (hidden.n_neg, hidden.n_pos, hidden.n_unknown) == (0, 0, 10)
    assert hidden.unknown.tolist() == [1, 2, 3, 1, 2, 1]
    assert tally.labelled().n == 9
    assert len(hidden.labelled()) == 0

    p = Panel(["a"], [[1], [0]], pos=[1, 0], unknown=[1, 1])

    assert p.labelled() == Panel(["a"], [[1]], pos=[1])
    assert p.without_labels().n_unknown == 3


def test_text_and_html():
    tally = trueness.tally(["<b>", "no"], [1, 0], positive="<b>")

    assert repr(tally) == (
        "Tally: 2 cases (1 negative, 1 positive, 0 unknown), "
        "2 distinct scores from 0 to 1"
    )

    p = trueness.panel([1, 0], {"<script>": [1, 0]})

    assert "<script>" not in p._repr_html_()
    assert "&lt;script&gt;" in p._repr_html_()
    assert "&lt;" not in tally._repr_html_()

    many = Tally(np.arange(100), neg=np.ones(100, int))

    assert "90 more rows" in many._repr_html_()


def test_huge_counts_stay_whole():
    tally = Tally([1, 0], neg=[0, 3_000_000_000], pos=[2_000_000_000, 1])

    assert (tally + tally).n_neg == 6_000_000_000
    assert trueness.auc(tally).value == 2_000_000_000 * 6_000_000_000 / (
        2 * 2_000_000_001 * 3_000_000_000
    ) + 3_000_000_000 / (2 * 2_000_000_001 * 3_000_000_000)


def test_panel_by_hand():
    p = trueness.panel([1, 0, 0, None], {"a": [1, 0, 1, 1], "b": [1, 1, 1, 0]})

    assert p.names == ("a", "b")
    assert p.rows.tolist() == [[1, 1], [1, 0], [0, 1]]
    assert p.pos.tolist() == [1, 0, 0]
    assert p.neg.tolist() == [1, 0, 1]
    assert p.unknown.tolist() == [0, 1, 0]
    assert p.prevalence == 1 / 3
    assert list(p) == ["a", "b"]
    assert repr(p) == (
        "Panel of a, b: 4 cases (2 negative, 1 positive, 1 unknown), 3 distinct rows"
    )


OUTPUTS = st.lists(
    st.tuples(
        st.sampled_from([0, 1, None]),
        st.sampled_from([0.0, 1.0, 0.5, -0.0, np.nan]),
        st.sampled_from([0.0, 1.0, 2.0, np.nan]),
    ),
    min_size=1,
    max_size=25,
)


def panel_of(cases):
    label, a, b = (list(c) for c in zip(*cases, strict=True))
    return trueness.panel(label, {"a": a, "b": b})


@given(OUTPUTS, st.randoms())
def test_a_panel_does_not_know_the_order_of_cases_and_columns(cases, random):
    panel = panel_of(cases)
    shuffled = list(cases)
    random.shuffle(shuffled)

    assert panel_of(shuffled) == panel
    assert panel[["b", "a"]][["a", "b"]] == panel


@given(OUTPUTS, OUTPUTS)
def test_panels_of_parts_add_up_to_the_panel_of_all(some_cases, other_cases):
    panel = panel_of(some_cases + other_cases)
    head = panel_of(some_cases)
    tail = panel_of(other_cases)

    assert head + tail == panel
    assert tail + head == panel
    assert tail[["b", "a"]][["a", "b"]] + head == panel
    assert sum([panel]) == panel


@given(OUTPUTS)
def test_the_observed_part_of_a_panel_lacks_no_output(cases):
    panel = panel_of(cases)
    with_both = [case for case in cases if not np.isnan(case[1:]).any()]
    with_first = [case for case in cases if not np.isnan(case[1])]

    assert panel.complete_cases().n == len(with_both)

    if with_first:
        label, first, _ = zip(*with_first, strict=True)
        assert panel.complete_cases("a")["a"] == trueness.tally(
            list(label), list(first)
        )


@given(OUTPUTS)
def test_votes_and_combinations(cases):
    p = panel_of(cases)
    votes = p.vote({"a": 0.5, "b": 1.5})
    expected = [
        (
            label,
            *(
                np.nan if np.isnan(v) else float(v >= c)
                for v, c in zip(o, (0.5, 1.5), strict=True)
            ),
        )
        for label, *o in cases
    ]

    assert votes == panel_of(expected)
    assert votes == p.vote([0.5, 1.5])

    total = p.combine(lambda rows: np.nansum(rows, axis=1))

    assert total == trueness.tally(
        [c[0] for c in cases], [float(np.nansum(c[1:])) for c in cases]
    )


@pytest.mark.parametrize("bins", [10, 200])
def test_wider_bins_cannot_be_taken_out(rng, bins):
    tally = trueness.tally(rng.integers(0, 2, 200), rng.random(200))

    with pytest.raises(InputError, match="its bins are wider"):
        tally.bin(bins) - tally.bin(3)


@given(st.data())
def test_continuous_rows_are_ordered_by_the_first_columns(data):
    n = data.draw(st.integers(1, 40))
    levels = data.draw(st.integers(1, 40))
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    rows = rng.integers(0, levels, (n, 3)) / 7

    panel = Panel(["a", "b", "c"], rows, neg=np.ones(n, int))

    expected = sorted({tuple(row) for row in rows.tolist()}, reverse=True)
    assert [tuple(row) for row in panel.rows.tolist()] == expected


def test_eleven_voters_take_the_general_road():
    rows = np.array(list(product([0, 1], repeat=11)))
    p = Panel([f"v{k}" for k in range(11)], rows, unknown=np.ones(2048, int))

    assert len(p) == 2048
    assert p.vote(0.5) == p


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: p["aa"], "no classifier 'aa'.*Did you mean 'a'"),
        (lambda p: p["b"], "'b' has no score for 1 of 2 cases.*missing_scores="),
        (lambda p: p[["a", "a"]], "names must have different names; used twice: 'a'"),
        (lambda p: p.vote({"a": 1}), "needs a threshold for every.*none for 'b'"),
        (lambda p: p.vote({"a": 1, "b": 1, "c": 1}), "no classifier 'c'"),
        (lambda p: p.vote([1, 2, 3]), r"one for each of 'a', 'b'; found shape \(3,\)"),
        (lambda p: p.vote(float("nan")), "must be a number; found NaN"),
        (lambda p: p.combine(lambda r: r), r"shape \(2,\); it returned shape \(2, 2\)"),
        (lambda p: p + p[["a"]], "hold the same classifiers; found 'a', 'b' and 'a'"),
        (lambda p: p.combine(lambda r: r[:, 1]), "score must be finite"),
    ],
)
def test_wrong_use_of_a_panel(make, message):
    p = trueness.panel([0, 1], {"a": [1, 0], "b": [1, np.nan]})
    with pytest.raises(InputError, match=message):
        make(p)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Tally([1, 2], neg=[1]), "score has 2, neg has 1"),
        (lambda: Tally([1], neg=[0.5]), "whole numbers, zero or more; found 0.5"),
        (lambda: Tally([1], neg=[-1]), "zero or more; found -1 at 1 of 1"),
        (lambda: Tally([1], neg=[np.nan]), "whole numbers"),
        (lambda: Tally([1], neg=[True]), "whole numbers; found bool"),
        (lambda: Tally([np.nan], neg=[1]), "score must be finite"),
        (lambda: Tally(["a"], neg=[1]), "score must be numbers"),
        (lambda: Panel(["a"], [[1, 2]]), r"shape \(m, 1\); found shape \(1, 2\)"),
        (lambda: Panel([], np.zeros((0, 0))), "one column per name"),
        (lambda: Panel(["a", 1], [[1, 2]]), "text as names; found 1"),
        (lambda: Panel(["a"], [[np.inf]]), "a must be finite"),
    ],
)
def test_wrong_rows(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_frames_of_a_tally_and_a_panel():
    tally = trueness.tally([1, 0], [0.5, 0.25])
    frame = tally.to_frame()

    assert list(frame.columns) == ["score", "neg", "pos", "unknown"]
    assert tally.to_frame("dict")["score"] == [0.5, 0.25]
    assert tally.to_frame("polars").shape == (2, 4)
    assert tally.to_frame("pyarrow").num_rows == 2
    with pytest.raises(InputError, match=r"backend must be one of.*'panda'.*'pandas'"):
        tally.to_frame("panda")

    p = trueness.panel([1, 0], {"a": [1, 0], "neg": [1, 1]})

    with pytest.raises(InputError, match=re.escape("two columns named 'neg'")):
        p.to_frame()
    assert "<td>" in p._repr_html_()
    assert list(p[["a"]].to_frame().columns) == ["a", "neg", "pos", "unknown"]


def test_more_cases_than_64_bits_hold_are_refused():
    many = trueness.Tally([0.1], pos=[2**62], neg=[1])
    votes = trueness.Panel(["a"], [[1]], pos=[2**62])
    for ask in (
        lambda: many + many,
        lambda: votes + votes,
        lambda: trueness.tally([1, 0], [0.1, 0.2], count=[2**62, 2**62]),
        lambda: trueness.panel([1, 0], {"a": [1, 0]}, count=[2**62, 2**62]),
    ):
        with pytest.raises(trueness.InputError, match="do not fit into 64 bits"):
            ask()


def test_a_rule_or_an_answer_is_a_threshold_of_a_vote():
    panel = trueness.Panel(["a", "b"], [[0.9, 0.2], [0.4, 0.8]], pos=[1, 0], neg=[0, 1])
    numbers = panel.vote({"a": 0.5, "b": 0.3})

    best = trueness.best_threshold(panel["a"], "accuracy")
    rules = panel.vote({"a": best, "b": trueness.Rule(0.3)})

    assert rules == numbers

    estimate = trueness.Estimate(0.5, 0.4, 0.6, 0.95, "known")

    assert panel.vote(estimate) == panel.vote(0.5)


def test_a_rule_for_groups_is_no_threshold_of_a_vote():
    panel = trueness.Panel(["a"], [[0.9], [0.4]], pos=[1, 0], neg=[0, 1])
    with pytest.raises(trueness.InputError, match="rule for groups"):
        panel.vote(trueness.Rule(0.8, lower=0.3))


def test_bins_and_single_scores_merge():
    binned = Tally([4, 3, 2, 1], neg=[0, 1, 0, 1], pos=[1, 0, 1, 0]).bin(2)
    single = Tally([3.5, 0.5], neg=[0, 2], pos=[3, 0])

    for merged in (binned + single, single + binned):
        assert merged.binned
        # 3.5 lies within the bin from 3 to 4
        assert merged.score.tolist() == [3, 1, 0.5]
        assert merged.high.tolist() == [4, 2, 0.5]
        assert merged.pos.tolist() == [4, 1, 0]
        assert merged.neg.tolist() == [1, 1, 2]


def test_scores_are_no_verdicts_of_tests():
    assert holds_tests(Tally([1, 0], pos=[3, 1], neg=[0, 4]))
    assert not holds_tests(Tally([0.7, 0.3], pos=[3, 1], neg=[0, 4]))
    assert holds_tests(Panel(["A", "B"], [[1, np.nan], [0, 1]], pos=[3, 1]))
    assert not holds_tests(Panel(["A"], [[np.nan]], pos=[3]))

    # what tells them apart may stand behind many verdicts
    rows = [[k // 16 % 2, k // 8 % 2, k // 4 % 2, k // 2 % 2, k % 2] for k in range(32)]
    rows[20][0] = 0.5

    assert not holds_tests(Panel(list("ABCDE"), rows, pos=[1] * 32))
