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


def tally_of(cases, **design):
    """Return the tally of (label, score, another score, cluster)."""
    labels, scores, _, clusters = map(list, zip(*cases, strict=True))
    return trueness.tally(
        labels, scores, positive=positive_of(labels), cluster=clusters, **design
    )


def panel_of(cases, **design):
    """Return the panel of the same cases; a second score of 3 stands for none."""
    labels, first, second, clusters = map(list, zip(*cases, strict=True))
    outputs = {"a": first, "b": [np.nan if x == 3 else x for x in second]}
    return trueness.panel(
        labels, outputs, positive=positive_of(labels), cluster=clusters, **design
    )


def positive_of(labels):
    """Return the positive label; without labels none may be named."""
    return None if all(label is None for label in labels) else 1


MAKERS = [tally_of, panel_of]


def pickled(counts):
    """Return the same counts after a way through bytes."""
    return pickle.loads(pickle.dumps(counts))  # noqa: S301 - our own bytes


def counts_by_cell(counts):
    """Return {(outputs..., cluster): (neg, pos, unknown)}: the slow way."""
    columns = counts.to_frame("dict")
    numbers = [columns.pop(name) for name in ("neg", "pos", "unknown")]
    cells = [tuple(map(str, cell)) for cell in zip(*columns.values(), strict=True)]
    return dict(zip(cells, zip(*numbers, strict=True), strict=True))


def test_six_images_by_hand():
    tally = trueness.tally(LABEL, SCORE, cluster=PATIENT)

    # the rows of scores do not depend on clusters
    assert tally.score.tolist() == [0.9, 0.4, 0.1]
    assert tally.pos.tolist() == [2, 1, 0]
    assert tally.clusters.names.tolist() == ["p1", "p2", "p3"]
    assert repr(tally).startswith("Tally: 6 cases in 3 clusters (2 negative")


def test_six_images_as_a_table():
    tally = trueness.tally(LABEL, SCORE, cluster=PATIENT)

    table = tally.to_frame("dict")

    assert table == {
        "score": [0.9, 0.9, 0.4, 0.4, 0.1],
        "cluster": ["p1", "p2", "p1", "p2", "p3"],
        "neg": [0, 0, 1, 1, 0],
        "pos": [1, 1, 0, 1, 0],
        "unknown": [0, 0, 0, 0, 1],
    }
    assert Tally(**table) == tally


def test_clusters_can_be_dropped_or_lose_their_last_case():
    tally = trueness.tally(LABEL, SCORE, cluster=PATIENT)

    assert tally.without_clusters() == trueness.tally(LABEL, SCORE)
    assert tally != tally.without_clusters()
    assert tally.labelled().clusters.names.tolist() == ["p1", "p2"]


@pytest.mark.parametrize("count", MAKERS)
@given(cases=CASES, random=st.randoms(use_true_random=False))
def test_order_does_not_matter(count, cases, random):
    whole = count(cases)

    shuffled = count(random.sample(cases, len(cases)))

    assert shuffled == whole
    assert pickled(whole) == copy.deepcopy(whole) == whole


@pytest.mark.parametrize("count", MAKERS)
@given(cases=CASES, split=st.integers(0, 30))
def test_shards_do_not_matter(count, cases, split):
    assume(len(cases) > 1)
    split = 1 + split % (len(cases) - 1)
    whole = count(cases)

    first = count(cases[:split])
    second = count(cases[split:])

    assert first + second == whole
    assert whole - second == first
    assert len(first - first) == 0
    assert sum([count([case]) for case in cases]) == whole

    if count is panel_of:
        assert whole - second[["b", "a"]] == first


@pytest.mark.parametrize("count", MAKERS)
@given(cases=CASES, split=st.integers(0, 30))
def test_shards_without_clusters_are_added_and_taken_out(count, cases, split):
    assume(len(cases) > 1)
    split = 1 + split % (len(cases) - 1)
    first = count(cases[:split]).without_clusters()
    second = count(cases[split:]).without_clusters()

    assert first + second - second == first
    assert len(first - first) == 0


@pytest.mark.parametrize("count", MAKERS)
@given(cases=CASES)
def test_labels_are_left_out_with_their_clusters(count, cases):
    known = [case for case in cases if case[0] is not None]
    hidden = [(None, *case[1:]) for case in cases]

    counts = count(cases)

    assert counts.without_labels() == count(hidden)

    expected = counts_by_cell(count(known)) if known else {}

    assert counts_by_cell(counts.labelled()) == expected


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

    expected = counts_by_cell(panel_of(observed)) if observed else {}

    assert counts_by_cell(panel.complete_cases("b")) == expected


WEIGHT = [2.0, 1.0, 0.5, 1.0, 3.0, 0.0]


def weighted_images(images=slice(None)):
    """Return the tally of some of the six images, with weights."""
    return trueness.tally(
        LABEL[images], SCORE[images], cluster=PATIENT[images], weight=WEIGHT[images]
    )


def test_values_of_weights_and_clusters():
    clusters = weighted_images().clusters

    # the only image of p3 has weight 0
    assert clusters.names.tolist() == ["p1", "p2"]
    assert clusters.per_cluster(clusters.counts[0]).tolist() == [1.0, 3.0]


def test_shards_of_weights_and_clusters_add_up():
    whole = weighted_images()
    first = weighted_images(slice(0, 3))
    second = weighted_images(slice(3, 6))

    assert first + second == whole
    assert whole - second == first


def test_clusters_of_the_same_name_are_one():
    tally = trueness.tally([1, 0], [2, 1], cluster=["x", "y"])
    numbered = trueness.tally([1], [3], cluster=[7])

    assert (tally + tally).clusters.number == 2
    assert (tally + numbered).clusters.names.tolist() == ["7", "x", "y"]
    assert tally + Tally() == tally == Tally() + tally


def test_counts_with_other_clusters_are_refused():
    tally = trueness.tally([1, 0], [2, 1], cluster=["x", "y"])

    with pytest.raises(InputError, match="to counts without clusters"):
        tally + tally.without_clusters()
    with pytest.raises(InputError, match="some clusters have more cases in b"):
        (tally + tally) - trueness.tally([1, 0], [2, 1], cluster=["z", "y"])


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
        (
            [date(2026, 2, 1), date(2026, 1, 1), date(2026, 2, 1)],
            ["2026-01-01", "2026-02-01"],
        ),
        (
            pd.to_datetime(["2026-02-01", "2026-01-01", "2026-02-01"]),
            ["2026-01-01", "2026-02-01"],
        ),
        (
            [datetime(2026, 1, 1, 12), datetime(2026, 1, 1), datetime(2026, 1, 1, 12)],
            ["2026-01-01", "2026-01-01T12:00"],
        ),
    ],
)
def test_names_of_clusters(ids, names):
    tally = trueness.tally([1, 0, 1], [3, 2, 1], cluster=ids)

    assert tally.clusters.names.tolist() == names


@pytest.mark.parametrize("ids", [["a", None, "b"], [1.0, np.nan, 2.0]])
def test_a_missing_cluster_is_told_in_words(ids):
    with pytest.raises(InputError, match=r"cluster must .*missing"):
        trueness.tally([1, 0, 1], [3, 2, 1], cluster=ids)


@pytest.fixture
def patients():
    """Return a tally of each of three patients, and their sum with clusters."""
    by_patient = {
        "p1": Tally([2, 1], pos=[1, 0], neg=[0, 1]),
        "p2": Tally([2, 1], neg=[1, 2]),
        "p3": Tally([2], pos=[1]),
    }
    whole = Tally(
        [2, 1, 2, 1, 2],
        neg=[0, 1, 1, 2, 0],
        pos=[1, 0, 0, 0, 1],
        cluster=["p1", "p1", "p2", "p2", "p3"],
    )
    return by_patient, whole


def test_a_mapping_of_clusters_to_tallies(patients):
    by_patient, whole = patients

    assert trueness.auc(by_patient, cluster=True) == trueness.auc(whole)


def test_a_mapping_of_clusters_to_panels(patients):
    by_patient, whole = patients
    panels = {
        patient: Panel(
            ["a", "b"],
            np.column_stack([tally.score, -tally.score]),
            tally.neg,
            tally.pos,
        )
        for patient, tally in by_patient.items()
    }

    assert trueness.auc(panels, cluster=True)["a"] == trueness.auc(whole)


def test_clusters_of_counts_must_be_a_mapping_of_plain_counts(patients):
    _, whole = patients

    with pytest.raises(InputError, match="need a mapping from cluster to counts"):
        trueness.auc(whole, cluster=True)
    with pytest.raises(InputError, match=r"without clusters; found .* at 'p1'"):
        trueness.auc({"p1": whole}, cluster=True)


FOUR_CASES = [(1, 2, 1, 0), (0, 1, 2, 1), (0, 0, 0, 1), (None, 1, 1, 2)]


@pytest.mark.parametrize("count", MAKERS)
def test_the_design_is_kept(count):
    counts = count(FOUR_CASES, prevalence=0.1, sampling="case-control")
    twice = counts + counts

    made_of_counts = (
        twice,
        twice - counts,
        counts.without_labels(),
        counts.labelled(),
        copy.copy(counts),
        pickled(counts),
    )

    design = Design("case-control", 0.1)

    assert [part.design for part in made_of_counts] == [design] * 6
    assert twice - counts == counts


def test_the_design_of_a_tally_is_kept():
    tally = tally_of(FOUR_CASES, prevalence=0.1)

    assert tally.map(np.negative).design == tally.design
    assert tally.bin(2).design == tally.design


def test_the_design_of_a_panel_is_kept():
    panel = panel_of(FOUR_CASES, prevalence=0.1)

    assert panel["a"].design == panel.design
    assert panel[["b"]].design == panel.design
    assert panel.vote(1).design == panel.design


@pytest.mark.parametrize("count", MAKERS)
def test_a_design_can_be_added_and_dropped(count):
    plain = count(FOUR_CASES)
    designed = count(FOUR_CASES, prevalence=0.1, sampling="case-control")

    assert plain.with_design(prevalence=0.1, sampling="case-control") == designed
    assert designed.without_design() == plain != designed


@pytest.mark.parametrize("count", MAKERS)
def test_counts_of_other_designs_are_not_added(count):
    counts = count(FOUR_CASES, prevalence=0.1)

    with pytest.raises(InputError, match=r"prevalence 0\.1 and 0\.2"):
        counts + counts.with_design(prevalence=0.2)
    with pytest.raises(InputError, match="prevalence must lie"):
        counts.with_design(prevalence=1.5)
