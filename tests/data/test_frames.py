"""The door for data: every engine gives the same counts, every slip a sentence."""

import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import trueness
from trueness import InputError
from trueness.data.columns import arrow_numbers

COLUMNS = {
    "y": ["yes", "no", None, "no", "yes", "yes"],
    "p": [0.5, 0.25, 0.5, -0.0, 0.0, 0.75],
    "q": [1.0, np.nan, 0.0, 1.0, 0.0, 1.0],
    "n": [1, 2, 3, 4, 5, 6],
    "site": ["a", "b", "a", "b", "a", "b"],
}


@pytest.mark.parametrize("cluster", ["site", "n"])
def test_how_the_cases_came_on_every_engine(engine, cluster):
    frame = engine(COLUMNS)
    ids = COLUMNS[cluster]
    options = {"positive": "yes", "prevalence": 0.1, "sampling": "case-control"}
    arguments = {"label": "y", "cluster": cluster, **options}

    def count_arrays(**columns):
        return trueness.tally(
            COLUMNS["y"], COLUMNS["p"], cluster=ids, **options, **columns
        )

    def count_frame(**columns):
        return trueness.tally(frame, score="p", **arguments, **columns)

    t = count_arrays()
    assert count_frame() == trueness.tally(COLUMNS, score="p", **arguments) == t
    assert trueness.auc(frame, score="p", **arguments) == trueness.auc(t)
    assert trueness.panel(frame, scores=["p", "q"], **arguments)["p"] == t

    groups = count_frame(by="site")
    assert sum(groups.values()) == t
    assert groups["a"].design == t.design

    assert count_frame(at_most=2) == t.bin(2)
    assert count_frame(count="n") == count_arrays(count=COLUMNS["n"])
    weighted = count_arrays(weight=COLUMNS["n"])
    assert count_frame(weight="n") == count_frame(sample_weight="n") == weighted


CLUSTERS = {
    "category": (pa.array(["b", "a", "b"]).dictionary_encode(), ["a", "b"]),
    "date": (pa.array([19_000, 18_999, 19_000], pa.int32()).cast(pa.date32()),
             ["2022-01-07", "2022-01-08"]),
    "missing": (pa.array(["b", None, "b"]), None),
}  # fmt: skip


@pytest.mark.parametrize("kind", CLUSTERS)
def test_clusters_of_every_kind(typed_engine, kind):
    ids, names = CLUSTERS[kind]
    columns = {"y": pa.array([1, 0, 1]), "p": pa.array([3.0, 2.0, 1.0]), "c": ids}
    arguments = {"label": "y", "score": "p", "cluster": "c"}
    if names is None:
        with pytest.raises(InputError, match=r"cluster must .*missing"):
            trueness.tally(typed_engine(columns), **arguments)
    else:
        t = trueness.tally(typed_engine(columns), **arguments)
        assert t.clusters.names.tolist() == names


def test_one_column_of_every_eager_engine(eager_engine):
    frame = eager_engine({"y": [0, 1, 1], "p": [1, 2, 3]})
    assert trueness.tally(frame["y"], frame["p"]) == trueness.tally(
        [0, 1, 1], [1, 2, 3]
    )


def test_nullable_numbers_booleans_decimals_and_chunks():
    label = [True, None, False]
    score = [Decimal("0.1"), Decimal("0.2"), Decimal("0.3")]
    expected = trueness.tally(label, [0.1, 0.2, 0.3])
    frames = [
        pa.table({"y": label, "p": pa.array(score, pa.decimal128(3, 1))}),
        pl.DataFrame({"y": label, "p": score}),
        pd.DataFrame({"y": pd.array(label, dtype="boolean"), "p": score}),
    ]

    for frame in frames:
        assert trueness.tally(frame, label="y", score="p") == expected

    chunked = pa.chunked_array([[0.5, 0.25], [], [0.5]])
    t = trueness.tally(pa.chunked_array([[1], [0, 1]]), chunked)
    assert t == trueness.tally([1, 0, 1], [0.5, 0.25, 0.5])


def test_an_empty_frame_is_an_empty_tally(engine):
    frame = engine({"y": np.array([], int), "p": np.array([], float)})
    t = trueness.tally(frame, label="y", score="p")
    assert t == trueness.Tally()
    with pytest.raises(trueness.NotEnoughCases, match=r"no cases\. Were all rows"):
        trueness.auc(t)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"label": "y", "score": "P1"},
            "score must name a column; there is no column 'P1'",
        ),
        ({"label": "Y", "score": "p"}, "Did you mean 'y'"),
        ({"label": "y"}, 'Name the score column.*Choose score from "y", "p"'),
        ({"label": "p", "score": "n"}, "look like scores"),
        (
            {"score": "site"},
            r"score 'site' must be numbers, or the results of a test; it holds 'a', "
            r"'b'\. .*Type positive=\"a\" or positive=\"b\"",
        ),
        ({"label": "site", "score": "p"}, "choose which one counts as positive"),
        ({"label": "y", "score": "p", "count": "m"}, "no column 'm'"),
        ({"label": "y", "score": "p", "by": "town"}, "no column 'town'"),
        ({"label": "y", "scores": "p"}, "in a list"),
        ({"label": "y", "scores": None}, "in a list"),
        ({"label": "y", "scores": ["p", "p"]}, "twice: 'p'"),
        ({"label": "y", "scores": ["p", "r"]}, "scores must name a column"),
    ],
)
def test_slips_with_a_frame(arguments, message):
    frame = pl.DataFrame(COLUMNS, nan_to_null=True)
    with pytest.raises(InputError, match=message):
        (trueness.panel if "scores" in arguments else trueness.tally)(
            frame, **arguments
        )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda f: trueness.tally(f["y"]), "needs labels and scores, or a frame"),
        (lambda f: trueness.tally(f, f["p"]), "y_true must be one column; found a fra"),
        (lambda f: trueness.tally(f["y"], f["p"], label="y"), "name columns of a fra"),
        (lambda f: trueness.panel(f["y"], {}), "mapping from name to column"),
        (lambda f: trueness.panel(f["y"], {"p": f["p"]}, label="y"), "name columns of"),
        (lambda f: trueness.panel(f["y"], {"p": f["p"], "q": [1]}), "p has 6, q has 1"),
        (lambda f: trueness.tally(None, f["p"], cluster="c"),
         "cluster 'c' names a column of a frame"),
        (lambda f: trueness.tally(None, f["p"], cluster=[1, 2]), "cluster has 2"),
        (lambda f: trueness.tally(f, label="y", score="p", cluster="sitte"),
         r"'sitte'.*'site'"),
        (lambda f: trueness.panel(f["y"], {"a": f["p"]}, weight=[1], sample_weight=[1]),
         "mean the same"),
        *((make, "lists of different lengths") for make in (
            lambda f: trueness.Tally([[1, 2], [3]]),
            lambda f: trueness.Tally([1, 2], neg=[[1], [1, 2]]),
            lambda f: trueness.tally([1, 0], [[1, 2], [3]]),
            lambda f: trueness.Panel(["a"], [[1], [2, 3]]),
        )),
    ],
)  # fmt: skip
def test_slips_with_columns(make, message):
    with pytest.raises(InputError, match=message):
        make(pl.DataFrame(COLUMNS, nan_to_null=True))


def test_frames_without_columns_and_with_columns_of_one_name():
    frame = pd.DataFrame([[1, 2, 3]], columns=["y", "p", "p"])
    with pytest.raises(InputError, match="there are 2 columns 'p'"):
        trueness.tally(frame, label="y", score="p")

    twice = pa.Table.from_arrays([pa.array([1])] * 3, names=["y", "y", "p"])
    with pytest.raises(InputError, match="there are 2 columns"):
        trueness.tally(twice, label="y", score="p")
    with pytest.raises(InputError, match="there is no column 'y'"):
        trueness.tally(pd.DataFrame(), label="y", score="p")


def test_a_library_that_is_not_there():
    code = (
        "import sys; sys.modules['polars'] = None\n"
        "import trueness\n"
        "try: trueness.tally([0, 1], [0, 1]).to_frame('polars')\n"
        "except trueness.InputError as e: print(e)"
    )
    source = str(Path(trueness.__file__).parents[1])
    command = [sys.executable, "-c", code]
    there = {"PYTHONPATH": source}

    out = subprocess.check_output(command, env=there, text=True)

    assert "pip install polars" in out


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([{1: 2}, {}], "found dict such as"),
        (pd.Series([[1], [2]]), "found list such as"),
        ([[1], [0, 1]], "lists of different lengths"),
        ([[1], [0]], "must be one-dimensional"),
    ],
)
def test_labels_that_are_none(labels, message):
    with pytest.raises(InputError, match=message):
        trueness.tally(labels, [0.1, 0.2])


@pytest.mark.parametrize(
    "positive", [(1, 2), [1], {1}, np.array([1]), pd.NA, float("nan"), {"a": 1}]
)
def test_positive_is_one_value(positive):
    with pytest.raises(InputError, match=r"one label value.*y_true holds 0, 1"):
        trueness.tally([1, 0], [0.1, 0.2], positive=positive)


def test_a_mapping_of_columns_is_counted_like_a_frame():
    y = [1, 0, 1, None]
    a = [0.9, 0.4, 0.4, 0.1]
    b = [1, 2, 3, 4]
    columns = {"y": y, "a": a, "b": b}
    assert trueness.tally(columns, label="y", score="a") == trueness.tally(y, a)
    assert trueness.tally(y_true=y, y_score=a, positive=1) == trueness.tally(y, a)

    heavy = trueness.tally(columns, label="y", score="a", count="b")
    assert heavy == trueness.tally(y, a, count=b)

    both = trueness.panel(columns, ["a", "b"], label="y")
    assert both == trueness.panel(y, {"a": a, "b": b})
    assert trueness.panel(columns, "a", label="y") == trueness.panel(y, {"a": a})
    with pytest.raises(InputError, match="Name the score columns in a list"):
        trueness.panel(columns, label="y")
    assert trueness.look({1: y, 2: a}).could_be("score") == ["2"]
    with pytest.raises(
        InputError, match=r'There is no column \'z\'. Choose score from "y", "a"'
    ):
        trueness.tally(columns, label="y", score="z")
    with pytest.raises(
        InputError, match="Name the columns of the labels and of the scores"
    ):
        trueness.tally(columns)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([0.1, 0.2, 0.3]),
        pa.array([0.1, 0.2, 0.3], pa.float32()).slice(1),
        pa.array([True, False, True, True]).slice(1),
        pa.array([1, None, 3]),
        pa.array([], pa.int64()),
        pa.chunked_array([[1, 2], [], [3]], pa.int8()),
        pa.chunked_array([[True], [False, True]]),
    ],
    ids=str,
)
def test_numbers_of_arrow_are_those_that_pandas_reads(values):
    expected = np.asarray(values.to_pandas())

    numbers = arrow_numbers(values)

    np.testing.assert_array_equal(numbers, expected)
    assert numbers.dtype == expected.dtype


def test_labels_are_expected_from_a_frame_of_labelled_cases():
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, 300)
    reference = {"sick": label, "risk": rng.normal(label), "age": rng.random(300)}
    today = {"risk": rng.normal(0.4, 1.1, 200)}

    estimate = trueness.auc(today, unlabelled=reference)

    counts = trueness.tally(reference, label="sick", score="risk")
    expected = trueness.auc(None, today["risk"], unlabelled=counts)
    assert estimate.value == expected.value
