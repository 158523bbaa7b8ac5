"""Which cases belong together, and how they came: kept by everything made of counts."""

import copy
import pickle
from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import trueness
from trueness import InputError, Panel, Tally
from trueness.counts.design import Design

# three patients: two images of p1, three of p2, one of p3 without a label
LABEL = [1, 0, 1, 1, 0, None]
SCORE = [0.9, 0.4, 0.9, 0.4, 0.4, 0.1]
PATIENT = ["p1", "p1", "p2", "p2", "p2", "p3"]

CASES = st.lists(
    st.tuples(
        st.sampled_from([0, 1, None]),
        st.integers(0, 3),
        st.integers(0, 3),
        st.integers(0, 4),
    ),
    min_size=1,
    max_size=30,
)


def tally_of(cases, **words):
    y, s, _, c = (list(k) for k in zip(*cases, strict=True))
    return trueness.tally(y, s, positive=1 if any(v is not None for v in y) else None,
                          cluster=c, **words)  # fmt: skip


def panel_of(cases, **words):
    y, a, b, c = (list(k) for k in zip(*cases, strict=True))
    outputs = {"a": a, "b": [np.nan if v == 3 else v for v in b]}
    positive = 1 if any(v is not None for v in y) else None
    return trueness.panel(y, outputs, positive=positive, cluster=c, **words)


MAKERS = [tally_of, panel_of]


def again(x):
    return pickle.loads(pickle.dumps(x))  # noqa: S301 - our own bytes


def cells(x):
    """Give the counts of each output and cluster as a dict: the slow way."""
    rows = x.to_frame("dict")
    counts = [rows.pop(k) for k in ("neg", "pos", "unknown")]
    keys = [tuple(map(str, key)) for key in zip(*rows.values(), strict=True)]
    return dict(zip(keys, zip(*counts, strict=True), strict=True))


def test_six_images_by_hand():
    t = trueness.tally(LABEL, SCORE, cluster=PATIENT)

    assert t.score.tolist() == [0.9, 0.4, 0.1]  # values never look at clusters
    assert t.pos.tolist() == [2, 1, 0]
    assert t.clusters.names.tolist() == ["p1", "p2", "p3"]
    assert t.to_frame("dict") == {
        "score": [0.9, 0.9, 0.4, 0.4, 0.1],
        "cluster": ["p1", "p2", "p1", "p2", "p3"],
        "neg": [0, 0, 1, 1, 0],
        "pos": [1, 1, 0, 1, 0],
        "unknown": [0, 0, 0, 0, 1],
    }
    assert repr(t).startswith("Tally: 6 cases in 3 clusters (2 negative")
    assert t.without_clusters() == trueness.tally(LABEL, SCORE)
    assert t != t.without_clusters()
    assert t.labelled().clusters.names.tolist() == ["p1", "p2"]
    assert Tally(**t.to_frame("dict")) == t


@pytest.mark.parametrize("made", MAKERS)
@given(cases=CASES, random=st.randoms(use_true_random=False))
def test_order_does_not_matter(made, cases, random):
    whole = made(cases)

    shuffled = made(random.sample(cases, len(cases)))

    assert shuffled == whole
    assert again(whole) == copy.deepcopy(whole) == whole


@pytest.mark.parametrize("made", MAKERS)
@given(cases=CASES, at=st.integers(0, 30))
def test_shards_do_not_matter(made, cases, at):
    assume(len(cases) > 1)
    at = 1 + at % (len(cases) - 1)
    whole = made(cases)

    first = made(cases[:at])
    second = made(cases[at:])

    assert first + second == whole
    assert whole - second == first
    assert len(first - first) == 0
    assert sum([made([case]) for case in cases]) == whole

    if made is panel_of:
        assert whole - second[["b", "a"]] == first


@pytest.mark.parametrize("made", MAKERS)
@given(cases=CASES, at=st.integers(0, 30))
def test_shards_without_clusters_are_added_and_taken_out(made, cases, at):
    assume(len(cases) > 1)
    at = 1 + at % (len(cases) - 1)
    first = made(cases[:at]).without_clusters()
    second = made(cases[at:]).without_clusters()

    assert first + second - second == first
    assert len(first - first) == 0


@pytest.mark.parametrize("made", MAKERS)
@given(cases=CASES)
def test_labels_are_left_out_with_their_clusters(made, cases):
    known = [case for case in cases if case[0] is not None]
    hidden = [(None, *case[1:]) for case in cases]

    counts = made(cases)

    assert counts.without_labels() == made(hidden)
    assert cells(counts.labelled()) == (cells(made(known)) if known else {})


@given(cases=CASES)
def test_maps_and_bins_keep_clusters(cases):
    tally = tally_of(cases)
    lower = [(label, score // 2, *others) for label, score, *others in cases]

    binned = tally.bin(2)

    assert tally.map(lambda score: score // 2) == tally_of(lower)
    assert binned.n == tally.n
    assert binned.clusters.number == tally.clusters.number
    assert binned.without_labels().labelled().clusters.number == 0


@given(cases=CASES)
def test_what_is_made_of_a_panel_keeps_clusters(cases):
    panel = panel_of(cases)
    votes = [
        (label, int(a >= 2), 3 if b == 3 else int(b >= 2), cluster)
        for label, a, b, cluster in cases
    ]
    observed = [case for case in cases if case[2] != 3]

    assert panel["a"] == tally_of(cases)
    assert panel.combine(lambda rows: rows[:, 0]) == tally_of(cases)
    assert panel.vote(2) == panel_of(votes)

    expected = cells(panel_of(observed)) if observed else {}

    assert cells(panel.complete_cases("b")) == expected


def test_values_of_weights_and_clusters():
    weight = [2.0, 1.0, 0.5, 1.0, 3.0, 0.0]
    t = trueness.tally(LABEL, SCORE, cluster=PATIENT, weight=weight)

    assert t.clusters.names.tolist() == ["p1", "p2"]  # p3 weighs nothing
    assert t.clusters.per_cluster(t.clusters.counts[0]).tolist() == [1.0, 3.0]

    one, two = (
        trueness.tally(LABEL[at], SCORE[at], cluster=PATIENT[at], weight=weight[at])
        for at in (slice(0, 3), slice(3, 6))
    )

    assert one + two == t
    assert t - two == one


def test_clusters_of_the_same_name_are_one():
    a = trueness.tally([1, 0], [2, 1], cluster=["x", "y"])

    assert (a + a).clusters.number == 2

    whole = trueness.tally([1], [3], cluster=[7])

    assert (a + whole).clusters.names.tolist() == ["7", "x", "y"]
    with pytest.raises(InputError, match="to counts without clusters"):
        a + a.without_clusters()
    with pytest.raises(InputError, match="some clusters have more cases in b"):
        (a + a) - trueness.tally([1, 0], [2, 1], cluster=["z", "y"])
    assert a + Tally() == a == Tally() + a


@pytest.mark.parametrize(
    ("ids", "names"),
    [
        ([3, 1, 3], [1, 3]),
        ([3.0, 1.0, 3.0], [1, 3]),
        ([3.5, 1.0, 3.5], ["1", "3.5"]),
        ([True, False, True], [0, 1]),
        (np.array([2**63, 1, 2**63], np.uint64), ["1", str(2**63)]),
        (["b", "a", "b"], ["a", "b"]),
        (["b", 2, "b"], ["2", "b"]),
        (pd.Categorical(["b", "a", "b"]), ["a", "b"]),
        (pd.Series([3, 1, 3], dtype="Int64"), [1, 3]),
        ([date(2026, 2, 1), date(2026, 1, 1), date(2026, 2, 1)],
         ["2026-01-01", "2026-02-01"]),
        (pd.to_datetime(["2026-02-01", "2026-01-01", "2026-02-01"]),
         ["2026-01-01", "2026-02-01"]),
        ([datetime(2026, 1, 1, 12), datetime(2026, 1, 1), datetime(2026, 1, 1, 12)],
         ["2026-01-01", "2026-01-01T12:00"]),
    ],
)  # fmt: skip
def test_names_of_clusters(ids, names):
    t = trueness.tally([1, 0, 1], [3, 2, 1], cluster=ids)
    assert t.clusters.names.tolist() == names


@pytest.mark.parametrize("ids", [["a", None, "b"], [1.0, np.nan, 2.0]])
def test_a_missing_cluster_is_told_in_words(ids):
    with pytest.raises(InputError, match=r"cluster must .*missing"):
        trueness.tally([1, 0, 1], [3, 2, 1], cluster=ids)


def test_a_mapping_of_clusters():
    parts = {
        "p1": Tally([2, 1], pos=[1, 0], neg=[0, 1]),
        "p2": Tally([2, 1], neg=[1, 2]),
    }
    whole = Tally(
        [2, 1, 2, 1], [0, 1, 1, 2], [1, 0, 0, 0], cluster=["p1", "p1", "p2", "p2"]
    )
    parts["p3"] = Tally([2], pos=[1])
    whole += Tally([2], pos=[1], cluster=["p3"])

    assert trueness.auc(parts, cluster=True) == trueness.auc(whole)

    panels = {k: Panel(["a", "b"], np.column_stack([t.score, -t.score]), t.neg, t.pos)
              for k, t in parts.items()}  # fmt: skip

    assert trueness.auc(panels, cluster=True)["a"] == trueness.auc(whole)
    with pytest.raises(InputError, match="need a mapping from cluster to counts"):
        trueness.auc(whole, cluster=True)
    with pytest.raises(InputError, match=r"without clusters; found .* at 'p1'"):
        trueness.auc({"p1": whole}, cluster=True)


@pytest.mark.parametrize("made", MAKERS)
def test_the_design_is_kept_and_must_be_the_same(made):
    cases = [(1, 2, 1, 0), (0, 1, 2, 1), (0, 0, 0, 1), (None, 1, 1, 2)]
    x = made(cases, prevalence=0.1, sampling="case-control")
    design = Design("case-control", 0.1)

    assert x == made(cases).with_design(prevalence=0.1, sampling="case-control")
    assert x.without_design() == made(cases) != x

    more = x + x
    for part in (
        more,
        more - x,
        x.without_labels(),
        x.labelled(),
        copy.copy(x),
        again(x),
    ):
        assert part.design == design

    assert more - x == x

    if made is tally_of:
        assert x.map(np.negative).design == x.bin(2).design == design
    else:
        assert x["a"].design == x.vote(1).design == x[["b"]].design == design

    with pytest.raises(InputError, match=r"prevalence 0\.1 and 0\.2"):
        x + x.with_design(prevalence=0.2)
    with pytest.raises(InputError, match="prevalence must lie"):
        x.with_design(prevalence=1.5)
