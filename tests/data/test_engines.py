"""Every engine means the same: one table of cases, all engines identical."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import trueness
from trueness import InputError, Tally
from trueness.data import streaming

NAN = float("nan")
THREE = [0.1, 0.2, 0.3]
# name: (label column, score column, positive=, the tally counted by hand)
MEANINGS = {
    "signed zeros are one score": (
        pa.array([0, 1, 1]),
        pa.array([0.0, -0.0, -1.0]),
        None,
        Tally([0.0, -1.0], neg=[1, 0], pos=[1, 1]),
    ),
    "NaN and null labels are unknown": (
        pa.array([1.0, NAN, None, 0.0]),
        pa.array([3.0, 2.0, 2.0, 1.0]),
        None,
        Tally([3, 2, 1], neg=[0, 0, 1], pos=[1, 0, 0], unknown=[0, 2, 0]),
    ),
    "decimal scores are the nearest float": (
        pa.array([0, 1, 1]),
        pa.array([Decimal(f"{v:.10f}") for v in THREE], pa.decimal128(20, 10)),
        None,
        Tally(THREE, neg=[1, 0, 0], pos=[0, 1, 1]),
    ),
    "decimal labels": (
        pa.array([Decimal(0), Decimal(1), None], pa.decimal128(5, 2)),
        pa.array(THREE),
        None,
        Tally(THREE, neg=[1, 0, 0], pos=[0, 1, 0], unknown=[0, 0, 1]),
    ),
    "booleans": (
        pa.array([True, False, True]),
        pa.array(THREE),
        None,
        Tally(THREE, neg=[0, 1, 0], pos=[1, 0, 1]),
    ),
    "booleans with a gap, False meant": (
        pa.array([True, None, False]),
        pa.array(THREE),
        False,
        Tally(THREE, neg=[1, 0, 0], pos=[0, 0, 1], unknown=[0, 1, 0]),
    ),
    "text": (
        pa.array(["no", "yes", "no"]),
        pa.array(THREE),
        "yes",
        Tally(THREE, neg=[1, 0, 1], pos=[0, 1, 0]),
    ),
    "text with a gap": (
        pa.array(["no", None, "ja"]),
        pa.array(THREE),
        "ja",
        Tally(THREE, neg=[1, 0, 0], pos=[0, 0, 1], unknown=[0, 1, 0]),
    ),
    "minus one": (
        pa.array([-1, 1, -1], pa.int8()),
        pa.array(THREE),
        None,
        Tally(THREE, neg=[1, 0, 1], pos=[0, 1, 0]),
    ),
    "two and five": (
        pa.array([2, 5, 2]),
        pa.array(THREE),
        2,
        Tally(THREE, neg=[0, 1, 0], pos=[1, 0, 1]),
    ),
    "no label known": (
        pa.array([None, None, None], pa.int64()),
        pa.array(THREE),
        None,
        Tally(THREE, unknown=[1, 1, 1]),
    ),
    "single precision": (
        pa.array([0, 1, 1]),
        pa.array(THREE, pa.float32()),
        None,
        Tally(np.array(THREE, np.float32), neg=[1, 0, 0], pos=[0, 1, 1]),
    ),
    "whole numbers as scores": (
        pa.array([0, 1, 1]),
        pa.array([-7, 2**53, 3]),
        None,
        Tally([-7, 2**53, 3], neg=[1, 0, 0], pos=[0, 1, 1]),
    ),
    "booleans as scores": (
        pa.array([0, 1, 1]),
        pa.array([True, True, False]),
        None,
        Tally([1, 0], neg=[1, 0], pos=[1, 1]),
    ),
    "extreme scores": (
        pa.array([0, 1, 1, 0]),
        pa.array([5e-324, -1.7976931348623157e308, 1.7976931348623157e308, -5e-324]),
        None,
        Tally(
            [5e-324, -1.7976931348623157e308, 1.7976931348623157e308, -5e-324],
            neg=[1, 0, 0, 1],
            pos=[0, 1, 1, 0],
        ),
    ),
}


@pytest.mark.parametrize("name", MEANINGS)
def test_one_meaning_on_every_engine(typed_engine, name):
    label, score, positive, expected = MEANINGS[name]
    frame = typed_engine({"y": label, "p": score})
    t = trueness.tally(frame, label="y", score="p", positive=positive)
    assert t == expected
    assert trueness.tally(frame, score="p") == expected.hide()
    p = trueness.panel(frame, label="y", scores=["p"], positive=positive)
    assert p["p"] == expected


def random_columns(rng, n):
    score = np.round(rng.normal(size=n), 2)
    return {
        "y": pa.array(rng.integers(0, 2, n), mask=rng.random(n) < 0.1),
        "p": pa.array(score),
        "q": pa.array(np.round(rng.random(n), 1), mask=rng.random(n) < 0.2),
        "n": pa.array(rng.integers(0, 4, n)),
        "site": pa.array(rng.choice(["a", "b", "c"], n)),
        "day": pa.array(rng.integers(0, 3, n).astype("M8[D]")),
    }


def test_random_cases_on_every_lazy_engine(lazy_engine, rng):
    """The slow twin: count the same columns as arrays."""
    columns = random_columns(rng, 2000)
    frame = lazy_engine(columns)
    y = np.array(columns["y"].to_pylist(), dtype=object)
    p = columns["p"].to_numpy()
    q = np.array([np.nan if v is None else v for v in columns["q"].to_pylist()])
    n, site = columns["n"].to_numpy(), np.array(columns["site"].to_pylist())
    counted = trueness.tally(frame, label="y", score="p", count="n", by="site")
    assert counted == trueness.tally(y, p, count=n, by=site)
    assert list(counted) == ["a", "b", "c"]
    both = trueness.panel(frame, label="y", scores=["p", "q"], count="n")
    assert both == trueness.panel(y, {"p": p, "q": q}, count=n)
    assert trueness.tally(frame, label="y", score="p") == trueness.tally(y, p)


def test_groups_are_python_values(lazy_engine, rng):
    columns = random_columns(rng, 50)
    days = trueness.tally(lazy_engine(columns), label="y", score="p", by="day")
    assert set(days) == set(columns["day"].to_pylist())


def test_any_name_of_a_column():
    names = {"cases": [0, 1], "key_0": [0.5, 0.7], "len": [2, 3]}
    frame = pl.LazyFrame(names)
    t = trueness.tally(frame, label="cases", score="key_0", count="len")
    assert t == Tally([0.5, 0.7], neg=[2, 0], pos=[0, 3])
    same = trueness.tally(frame, label="cases", score="cases")
    assert same == Tally([0, 1], neg=[1, 0], pos=[0, 1])


SLIPS = {
    "score='P' must name a column": {"label": "y", "score": "P"},
    "label='z' must name a column": {"label": "z", "score": "p"},
    "by='z' must name": {"label": "y", "score": "p", "by": "z"},
    "score='p' must be finite; found NaN, missing or infinite in 2 of 5 cases": {
        "label": "y",
        "score": "p",
    },
    "'t' must be numbers": {"score": "t"},
    "holds 'cat', 'dog': choose which": {"label": "t", "score": "k"},
    "must have two values; found 3": {"label": "k", "score": "k"},
    "by= must name a group for every case; missing in 1 of 5 cases": {
        "score": "k",
        "by": "g",
    },
    "count must be whole numbers": {"score": "k", "count": "h"},
    "count= must name a column of a lazy frame; found list": {
        "score": "k",
        "count": [1, 2, 3, 4, 5],
    },
}


@pytest.mark.parametrize("words", SLIPS)
def test_slips_on_every_lazy_engine(lazy_engine, words):
    frame = lazy_engine(
        {
            "y": pa.array([0, 1, 0, 1, None]),
            "p": pa.array([0.5, NAN, 0.1, None, 0.2]),
            "t": pa.array(["cat", "dog", "cat", "cat", "dog"]),
            "k": pa.array([1, 2, 3, 1, 2]),
            "g": pa.array(["a", "b", None, "a", "b"]),
            "h": pa.array([0.5, 1.0, 1.0, 1.0, 1.0]),
        }
    )
    with pytest.raises(InputError, match=words):
        trueness.tally(frame, **SLIPS[words])


def test_infinite_scores_are_counted(lazy_engine):
    frame = lazy_engine({"p": pa.array([0.5, float("inf"), 0.1])})
    with pytest.raises(InputError, match="infinite in 1 of 3 cases"):
        trueness.tally(frame, score="p")
    with pytest.raises(InputError, match="infinite in 1 of 3 cases"):
        trueness.panel(frame, scores=["p"])


def test_too_many_cases_in_one_count():
    frame = pl.LazyFrame({"p": [0.5, 0.5], "n": [2**62, 2**62]})
    with pytest.raises(InputError, match="do not fit into 64 bits"):
        trueness.tally(frame, score="p", count="n")


def test_many_labels_are_refused_while_streaming():
    frame = pl.LazyFrame({"y": np.arange(500), "p": np.arange(500) / 500})
    with pytest.raises(InputError, match="must have two values"):
        trueness.tally(frame, label="y", score="p")


def test_a_plan_is_counted_not_its_source(lazy_engine):
    import narwhals as nw

    frame = lazy_engine({"y": [0, 1, 1, 0], "p": [0.1, 0.2, 0.3, 0.4]})
    kept = nw.from_native(frame).filter(nw.col("p") > 0.15).to_native()
    t = trueness.tally(kept, label="y", score="p")
    assert t == Tally([0.2, 0.3, 0.4], neg=[0, 0, 1], pos=[1, 1, 0])


@pytest.mark.parametrize("at_most", [1, 10, 300])
def test_bins_are_the_same_on_every_engine(exact_engine, rng, at_most):
    n = 3000
    y = (rng.random(n) < 0.3).astype(int)
    columns = {
        "y": pa.array(y, mask=rng.random(n) < 0.1),
        "p": pa.array(np.exp(rng.normal(size=n) + y)),
        "g": pa.array(rng.choice(["a", "b"], n)),
    }
    exact = trueness.tally(pl.from_arrow(columns["y"]), columns["p"])
    frame = exact_engine(columns)
    t = trueness.tally(frame, label="y", score="p", at_most=at_most)
    assert t == trueness.tally(
        pl.from_arrow(pa.table(columns)).lazy(), label="y", score="p", at_most=at_most
    )
    assert len(t) <= at_most
    counts = (t.n_neg, t.n_pos, t.n_unknown)
    assert counts == (exact.n_neg, exact.n_pos, exact.n_unknown)
    found = trueness.bounds("auc", t)
    assert found.low <= trueness.auc(exact).value <= found.high
    # the bins hold what they say: count the cases in each
    for low, high, pos in zip(t.score, t.high, t.pos, strict=True):
        inside = (exact.score >= low) & (exact.score <= high)
        assert exact.pos[inside].sum() == pos
    groups = trueness.tally(frame, score="p", by="g", at_most=at_most)
    assert sum(t.n for t in groups.values()) == n


def test_few_scores_stay_exact_in_bins():
    frame = pl.LazyFrame({"y": [0, 1, 1, 0] * 50, "p": [0.1, 0.2, 0.2, 0.9] * 50})
    t = trueness.tally(frame, label="y", score="p", at_most=1000)
    assert t == trueness.tally(frame, label="y", score="p")
    assert not t.binned


def test_bins_of_extreme_scores():
    values = [5e-324, 0.0, -1.7e308, 1.7e308, 1e-300, -1.0, 1.0]
    t = trueness.tally(pl.LazyFrame({"p": values}), score="p", at_most=4)
    assert t.n == 7
    assert (t.score[-1], t.high[0]) == (-1.7e308, 1.7e308)


def test_bins_of_nothing_and_of_gaps():
    empty = pl.LazyFrame({"y": [], "p": []}, schema={"y": pl.Int64, "p": pl.Float64})
    assert trueness.tally(empty, label="y", score="p", at_most=5) == Tally()
    gaps = pl.LazyFrame({"p": [0.1, None, NAN, float("inf")]})
    with pytest.raises(InputError, match="infinite in 3 of 4 cases"):
        trueness.tally(gaps, score="p", at_most=5)


@pytest.mark.parametrize("at_most", [1, 7, 10_000])
def test_bins_of_counted_rows(lazy_engine, rng, at_most):
    """A row with count n is n rows."""
    n = 400
    columns = {
        "y": rng.integers(0, 2, n),
        "p": rng.normal(size=n).round(2),
        "n": rng.integers(0, 4, n),
        "g": rng.choice(["a", "b"], n),
    }
    again = {k: np.repeat(v, columns["n"]) for k, v in columns.items()}
    options = {"label": "y", "score": "p", "at_most": at_most}
    t = trueness.tally(lazy_engine(columns), count="n", **options)
    exact = trueness.tally(again["y"], again["p"])
    assert (t.n_neg, t.n_pos) == (exact.n_neg, exact.n_pos)
    assert len(t) <= at_most
    low, high = trueness.auc(t).limits or (trueness.auc(t).value,) * 2
    assert low <= trueness.auc(exact).value <= high
    if at_most == 10_000:  # fewer scores than bins: nothing is lost
        assert t == exact
    for low, high, pos in zip(t.score, t.high, t.pos, strict=True):
        inside = (exact.score >= low) & (exact.score <= high)
        assert exact.pos[inside].sum() == pos
    groups = trueness.tally(lazy_engine(columns), count="n", by="g", **options)
    assert sum(x.n for x in groups.values()) == exact.n


@pytest.mark.parametrize(
    ("count", "words"),
    [
        ([1.5, 1], "in 1 of 2 rows it is not. Weights are not counts"),
        ([-1, -2], "in 2 of 2 rows"),
        ([None, 2], "in 1 of 2 rows"),
        ([2**62, 2**62], "do not fit into 64 bits"),
    ],
)
def test_bins_refuse_what_is_no_count(count, words):
    frame = pl.LazyFrame({"p": [0.1, 0.2], "n": count})
    with pytest.raises(InputError, match=words):
        trueness.tally(frame, score="p", count="n", at_most=5)


def test_bins_of_arrays():
    t = trueness.tally([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], at_most=2)
    assert t.score.tolist() == [0.3, 0.1]
    assert t.high.tolist() == [0.4, 0.2]


def test_progress_is_shown_on_a_terminal_only(terminal, capsys):
    frame = pl.LazyFrame({"p": [0.1, 0.2]})
    trueness.tally(frame, score="p")
    assert capsys.readouterr().err == ""
    terminal()
    trueness.tally(frame, score="p")
    trueness.panel(frame, scores=["p"])
    shown = capsys.readouterr().err
    assert "counting p" in shown
    assert "2 of 2 rows" in shown
    assert re.search(r"counting p: 2 rows, [0-9.]+ s", shown)
    assert "counting in the engine" in shown


def test_an_engine_elsewhere_sends_no_more_rows_than_are_held_here(monkeypatch):
    monkeypatch.setattr("trueness.data.engines.MOST_ROWS", 50)
    columns = {"y": [0, 1] * 50, "p": np.arange(100) / 100, "c": [1] * 100}
    rows = ibis.memtable(pa.table(columns))
    with pytest.raises(InputError, match=r"more than 50 rows.*Type at_most=10_000"):
        trueness.tally(rows, label="y", score="p")
    with pytest.raises(InputError, match="Round the scores"):
        trueness.panel(rows, ["p", "c"], label="y")
    bins = trueness.tally(rows, label="y", score="p", at_most=20)
    assert bins.n == 100
    assert trueness.auc(bins).limits[0] < 0.51 < trueness.auc(bins).limits[1]
    assert trueness.tally(rows.limit(50), label="y", score="p").n == 50


@pytest.mark.parametrize("library", ["daft", "datafusion"])
def test_frames_that_are_not_read_say_what_to_type(library):
    frame = type("DataFrame", (), {"__module__": f"{library}.dataframe"})()
    for ask in (
        lambda: trueness.tally(frame, label="y", score="p"),
        lambda: trueness.panel(frame, ["a", "b"], label="y"),
        lambda: trueness.auc(frame, label="y", score="p"),
        lambda: trueness.look(frame),
    ):
        with pytest.raises(InputError, match=rf"{library} are not.*frame\.to_arrow"):
            ask()


def test_whole_scores_that_floats_cannot_tell_apart_are_refused():
    pl = pytest.importorskip("polars")
    score = [2**53 + k for k in (1, 0, 3, 2)]
    frame = pl.LazyFrame({"y": [1, 0, 1, 0], "p": score})
    names = {"label": "y", "score": "p"}
    for ask in (
        lambda: trueness.tally(frame, **names),
        lambda: trueness.tally(frame, **names, at_most=3),
        lambda: trueness.exact_threshold(frame, **names, maximize="f1"),
        lambda: trueness.exact_auc(frame, **names),
    ):
        with pytest.raises(trueness.InputError, match="integers beyond 2"):
            ask()


def test_categories_are_labels_on_lazy_frames_too():
    pl = pytest.importorskip("polars")
    label = pl.Series(["a", "b", None, "a"], dtype=pl.Categorical)
    frame = pl.LazyFrame({"y": label, "p": [0.1, 0.2, 0.3, 0.4]})
    t = trueness.tally(frame, label="y", score="p", positive="a")
    assert (t.n_pos, t.n_neg, t.n_unknown) == (2, 1, 1)


def test_whole_numbers_of_128_bits_and_long_decimals():
    rows = duckdb.sql("SELECT i % 2 AS y, i::HUGEINT AS p FROM range(10) t(i)")
    assert trueness.tally(rows, label="y", score="p") == trueness.tally(
        [k % 2 for k in range(10)], list(range(10))
    )
    wide = duckdb.sql(
        "SELECT i % 2 AS y, 1267650600228229401496703205376::HUGEINT + i AS p "
        "FROM range(10) t(i)"
    )
    for at_most in (None, 5):
        with pytest.raises(InputError, match="must fit into float64"):
            trueness.tally(wide, label="y", score="p", at_most=at_most)
    close = duckdb.sql(
        "SELECT i % 2 AS y, 0.1::DECIMAL(38, 25) + i * 1e-24::DECIMAL(38, 25) AS p "
        "FROM range(9) t(i)"
    )
    for at_most in (None, 5):
        with pytest.raises(
            InputError, match=r"distinguishes 1 of the 9 different decimals"
        ):
            trueness.tally(close, label="y", score="p", at_most=at_most)
    fine = duckdb.sql(
        "SELECT i % 2 AS y, (0.1 + i * 0.01)::DECIMAL(38, 25) AS p FROM range(9) t(i)"
    )
    assert len(trueness.tally(fine, label="y", score="p")) == 9


def test_scores_with_parts_are_refused_in_words(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"y": 1, "p": {"a": 0.5}}\n{"y": 0, "p": {"a": 0.1}}\n')
    for options in ({"score": "p"}, {"score": "y", "label": "p"}):
        with pytest.raises(InputError, match="holds lists or objects with parts"):
            trueness.tally(trueness.scan(path), **options)
    with pytest.raises(InputError, match=r"found 'dict' such as \{'a': 0.5\}"):
        trueness.tally([1, 0], [{"a": 0.5}, {"a": 0.1}])


WEIGHTS = ["any", "whole", "beyond 2**53", "far apart", "huge", "tiny"]


@pytest.mark.parametrize("kind", WEIGHTS)
def test_every_engine_adds_up_weights(engine, kind):
    rng = np.random.default_rng(3)
    y, s = rng.integers(0, 2, 60), rng.integers(0, 9, 60) / 8
    w = rng.exponential(size=60) * (rng.random(60) < 0.9)
    w = {
        "any": w,
        "whole": rng.integers(0, 5, 60),
        "beyond 2**53": 2**62 + rng.integers(0, 5, 60),
        "far apart": w * 10.0 ** rng.integers(-200, 30, 60),
        "huge": 1e59 * w / w.max(),
        "tiny": 1e-59 * w / w.max(),
    }[kind]
    frame = engine({"y": y.tolist(), "s": s.tolist(), "w": w.tolist()})
    found = trueness.tally(frame, label="y", score="s", weight="w")
    want = trueness.tally(y, s, weight=w)
    assert np.array_equal(found.score, want.score)
    for a, b in zip(found.counts, want.counts, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
    both = trueness.panel(frame, label="y", scores=["s"], weight="w")
    np.testing.assert_allclose(both["s"].pos, want.pos, rtol=1e-13)


BATCHED = [  # engines that hand over their rows in batches
    lambda columns: pl.from_arrow(pa.table(columns)).lazy(),
    lambda columns: duckdb.connect().from_arrow(pa.table(columns)),
]
LABELS = {
    "numbers": ([0, 1], None),
    "words": (["well", "ill"], "well"),
    "one class": ([1, 1], None),
    "missing": ([0, 1, None, None], None),
    "none known": ([None, None, float("nan")], None),
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("size", [np.float32, np.float64])
@pytest.mark.parametrize("batched", BATCHED, ids=["polars", "duckdb"])
def test_weights_are_streamed_as_those_of_arrays_are_added_up(
    batched, size, labels, monkeypatch
):
    """In parts of 500 rows, so that parts are merged; the second is all of zeros."""
    monkeypatch.setattr(streaming, "_BATCH", 100)
    monkeypatch.setattr(streaming, "_TOGETHER", 500)
    rng = np.random.default_rng(8)
    kinds, positive = LABELS[labels]
    y = [kinds[k] for k in rng.integers(0, len(kinds), 2000)]
    s = np.round(rng.normal(size=2000), 2).astype(size)
    s[:20] = -0.0
    w = rng.exponential(size=2000) * (rng.random(2000) < 0.9)
    w[500:1000] = 0
    frame = batched({"y": pa.array(y), "s": s, "w": w})
    asked = {"label": "y", "score": "s", "weight": "w", "positive": positive}
    found = trueness.tally(frame, **asked)
    want = trueness.tally(y, s, weight=w, positive=positive)
    assert np.array_equal(found.score, want.score)
    assert not np.signbit(found.score[found.score == 0]).any()
    for a, b in zip(found.counts, want.counts, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    plain = trueness.tally(frame, score="s", weight="w")
    assert plain.unknown.sum() == pytest.approx(w.sum())


@pytest.mark.parametrize("batched", BATCHED, ids=["polars", "duckdb"])
def test_what_is_wrong_with_streamed_rows_is_said(batched):
    y, s, w = [0, 1, 2, 0], [0.1, 0.2, 0.3, 0.4], [1.0, 2.0, 3.0, 4.0]

    def tally(**columns):
        frame = batched({"y": y, "s": s, "w": w} | columns)
        return trueness.tally(frame, label="y", score="s", weight="w")

    with pytest.raises(InputError, match="found 3: 0, 1, 2"):
        tally()
    with pytest.raises(InputError, match="1 of 4"):
        tally(y=[0, 1, 1, 0], s=[0.1, np.inf, 0.3, 0.4])
    assert len(tally(y=[0, 1, 1, 0], w=[0.0] * 4)) == 0
    ones = tally(y=[0, 1, 1, 0], w=[1, 1, 1, 1])
    assert not ones.weighted
    assert (ones.n_neg, ones.n_pos) == (2, 2)
    assert tally(y=[0, 1, 1, 0], w=[1e-200, 1.0, 1.0, 2.0]).weighted


def test_bad_weights_in_an_engine(lazy_engine):
    for wrong in ([1.0, -1.0], [1.0, None], [1.0, np.inf], [1.0, np.nan]):
        frame = lazy_engine({"y": [0, 1], "s": [0.1, 0.9], "w": wrong})
        with pytest.raises(InputError, match="finite numbers"):
            trueness.tally(frame, label="y", score="s", weight="w")
    for wrong in ([1.0, 1e300], [1e-300, 1e-300]):
        frame = lazy_engine({"y": [0, 1], "s": [0.1, 0.9], "w": wrong})
        with pytest.raises(InputError, match="must lie between"):
            trueness.tally(frame, label="y", score="s", weight="w")
    frame = lazy_engine({"y": [0, 1], "s": [0.1, 0.9], "w": [1.0, 1.0]})
    assert not trueness.tally(frame, label="y", score="s", weight="w").weighted
    frame = lazy_engine({"y": [0, 1], "s": [0.1, 0.9], "w": [1.0, 2.0], "n": [1, 2]})
    with pytest.raises(InputError, match="at_most"):
        trueness.tally(frame, label="y", score="s", weight="w", count="n", at_most=5)


@pytest.mark.parametrize("at_most", [1, 7, 10_000])
def test_bins_of_weighted_rows(lazy_engine, rng, at_most):
    y, s = rng.integers(0, 2, 500), np.round(rng.normal(size=500), 2)
    w = rng.exponential(size=500) * (rng.random(500) < 0.9)  # some cases are none
    frame = lazy_engine({"y": y, "s": s, "w": w, "g": y + (s > 0)})
    asked = {"label": "y", "score": "s", "weight": "w", "at_most": at_most}
    found, whole = trueness.tally(frame, **asked), trueness.tally(y, s, weight=w)
    assert len(found) <= at_most
    assert found.high[0] == whole.score[0]
    for a, b in zip(found.counts, whole.counts, strict=True):
        assert a.sum() == pytest.approx(b.sum(), rel=1e-12)
    if at_most == 10_000:  # fewer scores than bins: nothing is lost
        assert not found.binned
        assert trueness.auc(found).value == pytest.approx(trueness.auc(whole).value)
    else:
        low, high = trueness.auc(found).limits
        assert low <= trueness.auc(whole).value <= high
    groups = trueness.tally(frame, **asked, by="g")
    assert sum(t.n_pos for t in groups.values()) == pytest.approx(whole.n_pos)
    for wrong in (np.nan, -1.0, np.inf):
        frame = lazy_engine({"y": [0, 1], "s": [0.1, 0.9], "w": [1.0, wrong]})
        with pytest.raises(InputError, match="finite numbers"):
            trueness.tally(frame, **asked)


@pytest.mark.parametrize("opened_by", [duckdb.read_csv, trueness.scan])
def test_threads_share_a_relation_of_duckdb(opened_by, tmp_path):
    rng = np.random.default_rng(5)
    y, p = rng.integers(0, 2, 50_000), rng.random(50_000)
    path = tmp_path / "cases.csv"
    pd.DataFrame({"y": y, "p": p, "q": p**2}).to_csv(path, index=False)
    rows, start = opened_by(str(path)), threading.Barrier(6)

    def ask(k):
        start.wait()
        if k % 3 == 0:
            return trueness.tally(rows, label="y", score="p").n
        if k % 3 == 1:
            return trueness.panel(rows, label="y", scores=["p", "q"]).n
        return trueness.exact_auc(rows, label="y", score="p").value

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(ask, range(6)))
    assert found[:2] == found[3:5] == [50_000, 50_000]
    assert found[2] == found[5]
