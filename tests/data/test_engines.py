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
BIG = 1.7976931348623157e308
DECIMALS = [Decimal(f"{v:.10f}") for v in THREE]
# name: label column, score column, what each label means, what else is said of it
MEANINGS = {
    "signed zeros are one score": ([0, 1, 1], [0.0, -0.0, -1.0], "011",
                                   {"scores": [0, 0, -1]}),
    "NaN and null labels are unknown": ([1.0, NAN, None, 0.0], [3.0, 2.0, 2.0, 1.0],
                                        "1??0", {}),
    "decimal scores are the nearest float": (
        [0, 1, 1], pa.array(DECIMALS, pa.decimal128(20, 10)), "011", {"scores": THREE}),
    "decimal labels": (pa.array([Decimal(0), Decimal(1), None], pa.decimal128(5, 2)),
                       THREE, "01?", {}),
    "booleans": ([True, False, True], THREE, "101", {}),
    "booleans with a gap": ([True, None, False], THREE, "0?1", {"positive": False}),
    "text": (["no", "yes", "no"], THREE, "010", {"positive": "yes"}),
    "text with a gap": (["no", None, "ja"], THREE, "0?1", {"positive": "ja"}),
    "minus one": (pa.array([-1, 1, -1], pa.int8()), THREE, "010", {}),
    "two and five": ([2, 5, 2], THREE, "101", {"positive": 2}),
    "categories": (pa.array(["a", "b", None]).dictionary_encode(), THREE, "10?",
                   {"positive": "a"}),
    "no label known": (pa.array([None] * 3, pa.int64()), THREE, "???", {}),
    "single precision": ([0, 1, 1], pa.array(THREE, pa.float32()), "011",
                         {"scores": np.array(THREE, np.float32)}),
    "whole numbers as scores": ([0, 1, 1], [-7, 2**53, 3], "011", {}),
    "booleans as scores": ([0, 1, 1], [True, True, False], "011",
                           {"scores": [1, 1, 0]}),
    "extreme scores": ([0, 1, 1, 0], [5e-324, -BIG, BIG, -5e-324], "0110", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", MEANINGS)
def test_one_meaning_on_every_engine(typed_engine, name):
    label, score, truth, said = MEANINGS[name]
    positive = {"positive": said.get("positive")}
    neg, pos, unknown = ([int(c == kind) for c in truth] for kind in "01?")
    expected = Tally(said.get("scores", score), neg=neg, pos=pos, unknown=unknown)
    frame = typed_engine({"y": pa.array(label), "p": pa.array(score)})

    assert trueness.tally(frame, label="y", score="p", **positive) == expected
    assert trueness.tally(frame, score="p") == expected.without_labels()

    p = trueness.panel(frame, label="y", scores=["p"], **positive)
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


def columns_as_arrays(columns):
    """Return the columns as NumPy arrays, the slow twin of what an engine reads."""
    fractions = columns["q"].to_pylist()
    return {
        "y": np.array(columns["y"].to_pylist(), dtype=object),
        "p": columns["p"].to_numpy(),
        "q": np.array([NAN if value is None else value for value in fractions]),
        "n": columns["n"].to_numpy(),
        "site": np.array(columns["site"].to_pylist()),
    }


def test_a_tally_of_random_cases_is_that_of_arrays(typed_engine, rng):
    columns = random_columns(rng, 1000)
    arrays = columns_as_arrays(columns)

    counted = trueness.tally(typed_engine(columns), label="y", score="p")

    assert counted == trueness.tally(arrays["y"], arrays["p"])


def test_groups_of_counted_cases_are_those_of_arrays(typed_engine, rng):
    columns = random_columns(rng, 1000)
    arrays = columns_as_arrays(columns)

    groups = trueness.tally(
        typed_engine(columns), label="y", score="p", count="n", by="site"
    )

    assert list(groups) == ["a", "b", "c"]
    assert groups == trueness.tally(
        arrays["y"], arrays["p"], count=arrays["n"], by=arrays["site"]
    )


def test_a_panel_of_random_cases_is_that_of_arrays(typed_engine, rng):
    columns = random_columns(rng, 1000)
    frame = typed_engine(columns)
    arrays = columns_as_arrays(columns)
    scores = {"p": arrays["p"], "q": arrays["q"]}

    counted = trueness.panel(frame, label="y", scores=["p", "q"], count="n")
    unlabelled = trueness.panel(frame, scores=["p", "q"], count="n")

    assert counted == trueness.panel(arrays["y"], scores, count=arrays["n"])
    assert unlabelled == counted.without_labels()


def test_groups_of_a_panel_are_those_of_arrays(typed_engine, rng):
    columns = random_columns(rng, 1000)
    arrays = columns_as_arrays(columns)

    groups = trueness.panel(typed_engine(columns), label="y", scores=["q"], by="site")

    assert groups == trueness.panel(arrays["y"], {"q": arrays["q"]}, by=arrays["site"])


def test_days_make_groups_on_every_engine(typed_engine, rng):
    columns = random_columns(rng, 1000)

    groups = trueness.tally(typed_engine(columns), label="y", score="p", by="day")

    days = set(map(str, columns["day"].to_pylist()))
    assert {str(day)[:10] for day in groups} == days


SLIPS = {
    "score must name a column; there is no column 'P'": {"label": "y", "score": "P"},
    "label must name a column; there is no column 'z'": {"label": "z", "score": "p"},
    "by must name a column": {"label": "y", "score": "p", "by": "z"},
    "score 'p' must be finite; found NaN, missing or infinite in 3 of 5 cases":
        {"label": "y", "score": "p"},
    "'t' must be numbers": {"score": "t"},
    "holds 'cat', 'dog': choose which": {"label": "t", "score": "k"},
    "must have two values; found 3": {"label": "k", "score": "h"},
    "by must name a group for every case; missing in 1 of 5 cases":
        {"score": "k", "by": "g"},
    "count must be whole numbers": {"score": "k", "count": "h"},
    "count must name a column of a lazy frame; found list. Add it to the data first":
        {"score": "k", "count": [1, 2, 3, 4, 5]},
}  # fmt: skip


@pytest.mark.parametrize("message", SLIPS)
def test_slips_on_every_lazy_engine(lazy_engine, message):
    columns = {
        "y": [0, 1, 0, 1, None],
        "p": [0.5, NAN, 0.1, None, float("inf")],
        "t": ["cat", "dog", "cat", "cat", "dog"],
        "k": [1, 2, 3, 1, 2],
        "g": ["a", "b", None, "a", "b"],
        "h": [0.5, 1.0, 1.0, 1.0, 1.0],
    }
    frame = lazy_engine({k: pa.array(v) for k, v in columns.items()})
    with pytest.raises(InputError, match=message):
        trueness.tally(frame, **SLIPS[message])


@pytest.mark.parametrize(
    ("columns", "arguments", "message"),
    [
        ({"n": [2**62, 2**62]}, {}, "do not fit into 64 bits"),
        ({"n": [2**62, 2**62]}, {"at_most": 5}, "do not fit into 64 bits"),
        (
            {"n": [1.5, 1]},
            {"at_most": 5},
            "in 1 of 2 rows they are not. Weights are not",
        ),
        ({"n": [-1, -2]}, {"at_most": 5}, "in 2 of 2 rows"),
        ({"n": [None, 2]}, {"at_most": 5}, "in 1 of 2 rows"),
        ({"n": [1, 2], "p": [0.1, NAN]}, {"at_most": 5}, "infinite in 1 of 2 cases"),
    ],
)
def test_what_is_no_count_is_refused(columns, arguments, message):
    frame = pl.LazyFrame({"p": [0.5, 0.5]} | columns)
    with pytest.raises(InputError, match=message):
        trueness.tally(frame, score="p", count="n", **arguments)


def test_many_labels_are_refused_while_streaming():
    frame = pl.LazyFrame({"y": np.arange(500), "p": np.arange(500) / 500})
    with pytest.raises(InputError, match="must have two values"):
        trueness.tally(frame, label="y", score="p")


def test_a_plan_is_counted_not_its_source(lazy_engine):
    import narwhals.stable.v2 as nw

    frame = lazy_engine({"y": [0, 1, 1, 0], "p": [0.1, 0.2, 0.3, 0.4]})
    kept = nw.from_native(frame).filter(nw.col("p") > 0.15).to_native()
    t = trueness.tally(kept, label="y", score="p")
    assert t == Tally([0.2, 0.3, 0.4], neg=[0, 0, 1], pos=[1, 1, 0])


MOST_BINS = 10_000  # more than there are scores: nothing is put together


def binned_columns(rng):
    """Return cases with rounded scores, counts and weights, in two groups."""
    size = 500
    label = (rng.random(size) < 0.3).astype(int)
    missing_label = rng.random(size) < 0.1
    score = (rng.normal(size=size) + label).round(2)
    count = rng.integers(0, 4, size)
    # some cases weigh nothing
    weight = rng.exponential(size=size) * (rng.random(size) < 0.9)
    return {
        "y": pa.array(label, mask=missing_label),
        "p": pa.array(score),
        "n": pa.array(count),
        "w": pa.array(weight),
        "g": pa.array(rng.choice(["a", "b"], size)),
    }


@pytest.mark.parametrize("at_most", [1, 7, MOST_BINS])
@pytest.mark.parametrize("design", [{}, {"count": "n"}, {"weight": "w"}], ids=str)
def test_bins_hold_what_they_say_on_every_engine(exact_engine, rng, design, at_most):
    columns = binned_columns(rng)
    frame = exact_engine(columns)
    options = {"label": "y", "score": "p", "at_most": at_most, **design}
    design_of_arrays = {role: columns[name].to_numpy() for role, name in design.items()}
    exact = trueness.tally(
        columns["y"].to_pylist(), columns["p"].to_numpy(), **design_of_arrays
    )

    binned = trueness.tally(frame, **options)

    assert len(binned) <= at_most
    assert binned.binned == (at_most < MOST_BINS)
    for in_bins, in_rows in zip(binned.counts, exact.counts, strict=True):
        bins = zip(binned.score, binned.high, in_bins, strict=True)
        for low, high, count in bins:
            inside = (exact.score >= low) & (exact.score <= high)
            assert in_rows[inside].sum() == pytest.approx(count, rel=1e-12)

    # the AUC of all scores lies within the bounds of the binned one
    area = trueness.auc(binned)
    low, high = area.bounds or (area.value - 1e-12, area.value + 1e-12)
    assert low <= trueness.auc(exact).value <= high


@pytest.mark.parametrize("at_most", [1, 7, MOST_BINS])
@pytest.mark.parametrize("design", [{}, {"count": "n"}, {"weight": "w"}], ids=str)
def test_bins_are_the_same_on_every_engine(exact_engine, rng, design, at_most):
    columns = binned_columns(rng)
    polars_plan = pl.from_arrow(pa.table(columns)).lazy()
    options = {"label": "y", "score": "p", "at_most": at_most, **design}

    binned = trueness.tally(exact_engine(columns), **options)
    by_polars = trueness.tally(polars_plan, **options)

    assert np.array_equal(binned.score, by_polars.score)
    for counts, counts_of_polars in zip(binned.counts, by_polars.counts, strict=True):
        np.testing.assert_allclose(counts, counts_of_polars, rtol=1e-12)


@pytest.mark.parametrize("at_most", [1, 7, MOST_BINS])
@pytest.mark.parametrize("design", [{}, {"count": "n"}, {"weight": "w"}], ids=str)
def test_binned_groups_hold_all_positives_on_every_engine(
    exact_engine, rng, design, at_most
):
    frame = exact_engine(binned_columns(rng))
    options = {"label": "y", "score": "p", "at_most": at_most, **design}

    groups = trueness.tally(frame, **options, by="g")

    positives = sum(tally.n_pos for tally in groups.values())
    assert positives == pytest.approx(trueness.tally(frame, **options).n_pos)


def test_bins_of_extreme_scores_of_nothing_and_of_arrays():
    values = [5e-324, 0.0, -1.7e308, 1.7e308, 1e-300, -1.0, 1.0]
    t = trueness.tally(pl.LazyFrame({"p": values}), score="p", at_most=4)
    assert t.n == 7
    assert (t.score[-1], t.high[0]) == (-1.7e308, 1.7e308)

    empty = pl.LazyFrame({"y": [], "p": []}, schema={"y": pl.Int64, "p": pl.Float64})
    assert trueness.tally(empty, label="y", score="p", at_most=5) == Tally()

    t = trueness.tally([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], at_most=2)
    assert (t.score.tolist(), t.high.tolist()) == ([0.3, 0.1], [0.4, 0.2])


def test_progress_is_shown_on_a_terminal_only(terminal, capsys):
    frame = pl.LazyFrame({"p": [0.1, 0.2]})
    trueness.tally(frame, score="p")
    assert capsys.readouterr().err == ""

    terminal()
    trueness.tally(frame, score="p")
    trueness.panel(frame, scores=["p"])
    shown = capsys.readouterr().err
    for message in ("counting p", "2 of 2 rows", "counting in the engine"):
        assert message in shown
    assert re.search(r"counting p: 2 rows, [0-9.]+ s", shown)


def test_an_engine_elsewhere_sends_no_more_rows_than_are_held_here(monkeypatch):
    monkeypatch.setattr("trueness.data.engines.MAX_ROWS_SENT", 50)
    columns = {"y": [0, 1] * 50, "p": np.arange(100) / 100, "c": [1] * 100}
    rows = ibis.memtable(pa.table(columns))

    with pytest.raises(
        InputError, match=r"more than 50 distinct scores.*Type at_most=10000"
    ):
        trueness.tally(rows, label="y", score="p")
    with pytest.raises(InputError, match="Round the scores"):
        trueness.panel(rows, ["p", "c"], label="y")

    bins = trueness.tally(rows, label="y", score="p", at_most=20)
    assert bins.n == 100
    assert trueness.auc(bins).bounds[0] < 0.51 < trueness.auc(bins).bounds[1]
    assert trueness.tally(rows.limit(50), label="y", score="p").n == 50


@pytest.mark.parametrize("library", ["daft", "datafusion"])
def test_frames_that_are_not_read_say_what_to_type(library):
    frame = type("DataFrame", (), {"__module__": f"{library}.dataframe"})()
    for ask, message in (
        (trueness.tally, {"score": "p"}),
        (trueness.panel, {"scores": ["a", "b"]}),
        (trueness.auc, {"score": "p"}),
    ):
        with pytest.raises(InputError, match=rf"{library} are not.*frame\.to_arrow"):
            ask(frame, label="y", **message)
    with pytest.raises(InputError, match=rf"{library} are not.*frame\.to_arrow"):
        trueness.look(frame)


def test_whole_scores_that_floats_cannot_tell_apart_are_refused():
    score = [2**53 + k for k in (1, 0, 3, 2)]
    frame = pl.LazyFrame({"y": [1, 0, 1, 0], "p": score})
    for ask, more in (
        (trueness.tally, {}),
        (trueness.tally, {"at_most": 3}),
        (trueness.exact_threshold, {"maximize": "f1"}),
        (trueness.exact_auc, {}),
    ):
        with pytest.raises(InputError, match="integers beyond 2"):
            ask(frame, label="y", score="p", **more)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        ("i::HUGEINT", None),
        ("(0.1 + i * 0.01)::DECIMAL(38, 25)", None),
        ("1267650600228229401496703205376::HUGEINT + i", "must fit into float64"),
        ("0.1::DECIMAL(38, 25) + i * 1e-24::DECIMAL(38, 25)",
         "distinguishes 1 of the 9 different decimals"),
    ],
)  # fmt: skip
def test_whole_numbers_of_128_bits_and_long_decimals(score, message):
    query = f"SELECT i % 2 AS y, {score} AS p FROM range(9) t(i)"  # noqa: S608
    rows = duckdb.sql(query)
    if message is None:
        t = trueness.tally(rows, label="y", score="p")
        assert t.pos.tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0]
        return
    for at_most in (None, 5):
        with pytest.raises(InputError, match=message):
            trueness.tally(rows, label="y", score="p", at_most=at_most)


def test_scores_with_parts_are_refused_in_words(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"y": 1, "p": {"a": 0.5}}\n{"y": 0, "p": {"a": 0.1}}\n')
    with pytest.raises(InputError, match=r"""Type score="y" or score="p\.a"."""):
        trueness.tally(trueness.scan(path), score="p")

    path.write_text('{"y": 1, "p": [0.5, 0.2]}\n{"y": 0, "p": [0.1, 0.9]}\n')
    for options in ({"score": "p"}, {"score": "y", "label": "p"}):
        with pytest.raises(InputError, match="holds lists or objects"):
            trueness.tally(trueness.scan(path), **options)
    with pytest.raises(InputError, match=r"found 'dict' such as \{'a': 0.5\}"):
        trueness.tally([1, 0], [{"a": 0.5}, {"a": 0.1}])


def same_weights(found, want):
    assert np.array_equal(found.score, want.score)
    assert not np.signbit(found.score[found.score == 0]).any()
    for a, b in zip(found.counts, want.counts, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


WEIGHTS = ["any", "whole", "beyond 2**53", "far apart", "huge", "tiny"]


@pytest.mark.parametrize("kind", WEIGHTS)
def test_every_engine_adds_up_weights(engine, kind):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 60)
    s = rng.integers(0, 9, 60) / 8
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
    want = trueness.tally(y, s, weight=w)
    same_weights(trueness.tally(frame, label="y", score="s", weight="w"), want)
    both = trueness.panel(frame, label="y", scores=["s"], weight="w")
    same_weights(both["s"], want)


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
    monkeypatch.setattr(streaming, "_ROWS_PER_BATCH", 100)
    monkeypatch.setattr(streaming, "_MAX_ROWS_IN_MEMORY", 500)
    rng = np.random.default_rng(8)
    kinds, positive = LABELS[labels]
    y = [kinds[k] for k in rng.integers(0, len(kinds), 2000)]
    s = np.round(rng.normal(size=2000), 2).astype(size)
    s[:20] = -0.0
    w = rng.exponential(size=2000) * (rng.random(2000) < 0.9)
    w[500:1000] = 0
    frame = batched({"y": pa.array(y), "s": s, "w": w})
    arguments = {"label": "y", "score": "s", "weight": "w", "positive": positive}
    want = trueness.tally(y, s, weight=w, positive=positive)
    same_weights(trueness.tally(frame, **arguments), want)

    plain = trueness.tally(frame, score="s", weight="w")

    assert plain.unknown.sum() == pytest.approx(w.sum())


BAD_ROWS = {
    "found 3: 0, 1, 2": {"y": [0, 1, 2, 0]},
    "1 of 4": {"s": [0.1, np.inf, 0.3, 0.4]},
    "finite numbers": [{"w": [1, 2, 1, v]} for v in (-1.0, None, np.inf, NAN)],
    "must lie between": [{"w": [1.0] * 3 + [1e300]}, {"w": [1e-300] * 4}],
}


def test_what_is_wrong_with_weighted_rows_is_said(lazy_engine):
    def tally(columns, **more):
        good = {"y": [0, 1, 1, 0], "s": [0.1, 0.2, 0.3, 0.4], "w": [1.0, 2.0, 3.0, 4.0]}
        frame = lazy_engine(good | columns)
        return trueness.tally(frame, label="y", score="s", weight="w", **more)

    for message, slips in BAD_ROWS.items():
        for slip in slips if isinstance(slips, list) else [slips]:
            with pytest.raises(InputError, match=message):
                tally(slip)
    with pytest.raises(InputError, match="finite numbers"):
        tally(BAD_ROWS["finite numbers"][0], at_most=2)
    with pytest.raises(InputError, match="at_most"):
        tally({"n": [1, 2, 1, 1]}, count="n", at_most=5)
    assert len(tally({"w": [0.0] * 4})) == 0
    ones = tally({"w": [1.0, 1, 1, 1]})
    assert (ones.weighted, ones.n_neg, ones.n_pos) == (False, 2, 2)
    assert tally({"w": [1e-200, 1.0, 1.0, 2.0]}).weighted


@pytest.mark.parametrize("opened_by", [duckdb.read_csv, trueness.scan])
def test_threads_share_a_relation_of_duckdb(opened_by, tmp_path):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 20_000)
    p = rng.random(20_000)
    path = tmp_path / "cases.csv"
    pd.DataFrame({"y": y, "p": p, "q": p**2}).to_csv(path, index=False)
    rows = opened_by(str(path))
    start = threading.Barrier(6)
    questions = [
        lambda: trueness.tally(rows, label="y", score="p").n,
        lambda: trueness.panel(rows, label="y", scores=["p", "q"]).n,
        lambda: trueness.exact_auc(rows, label="y", score="p").value,
    ]

    def ask(k):
        start.wait()
        return questions[k % 3]()

    with ThreadPoolExecutor(6) as pool:
        result = list(pool.map(ask, range(6)))
    assert result[:3] == result[3:] == [20_000, 20_000, result[2]]
