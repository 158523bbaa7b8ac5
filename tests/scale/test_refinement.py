"""The exact answer in a few counting passes is that of all the cases at once."""

from decimal import Decimal

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trueness
from trueness import InputError
from trueness._core.records import json_value
from trueness.data import engine_bins
from trueness.metrics.algebra import Metric

OBJECTIVES = [
    *("accuracy", "f1", "mcc", "youden", "kappa", "precision", "markedness", "lift"),
    "0.7*accuracy + 0.3*recall",
]
CONSTRAINTS = [
    [],
    ["recall >= 0.6"],
    ["precision >= 0.4", "flagged <= 60"],
    ["fpr <= 0.3", "recall >= 0.3"],
]
NAMED = {"label": "y", "score": "p"}


def cases(seed, n=300, levels=None):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    y[:2] = 0, 1
    p = rng.normal(size=n) + y
    return y, p if levels is None else np.round(p * levels) / levels


def lazy(y, p):
    return pl.LazyFrame({"y": y, "p": p})


def threshold(rows, **options):
    return trueness.exact_threshold(rows, **NAMED, **options)


def area(rows, **options):
    return trueness.exact_auc(rows, **NAMED, **options)


def same(a, b):
    """Equal records, but for how the cut was searched."""
    assert json_value(a) == json_value(b)


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.sampled_from(OBJECTIVES),
    st.sampled_from(CONSTRAINTS),
    st.sampled_from([None, 3, 20]),
    st.sampled_from([2, 7, 40]),
    st.sampled_from([5, 50, 1000]),
)
def test_the_optimum_of_all_cases(seed, objective, bounds, levels, bins, batch):
    y, p = cases(seed, 120, levels)
    options = {"maximize": objective, "subject_to": bounds}
    t = trueness.tally(y, p)
    limits = {"at_most": bins, "batch": batch}
    try:
        expected = trueness.best_threshold(t, **options)
    except trueness.Infeasible:
        with pytest.raises(trueness.Infeasible):
            threshold(lazy(y, p), **limits, **options)
        return
    r = threshold(lazy(y, p), **limits, **options)
    same(r.answer, expected)

    assert r.exact
    assert r.low == expected.value

    same(trueness.exact_threshold(t, at_most=7, **options).answer, expected)
    assert trueness.exact_auc(t).value == trueness.auc(t).value


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_the_auc_of_all_cases(seed):
    y, p = cases(seed, 150, seed % 3 * 10 or None)
    expected = trueness.auc(trueness.tally(y, p))

    r = area(lazy(y, p))

    assert r.exact
    assert r.value == expected.value
    assert r.answer.low == pytest.approx(expected.low, rel=1e-12)
    assert r.answer.high == pytest.approx(expected.high, rel=1e-12)


@pytest.mark.parametrize("tolerance", [0.05, 0.001])
def test_a_best_value_within_a_tolerance(tolerance):
    y, p = cases(4, 5000)
    exact = trueness.best_threshold(trueness.tally(y, p), "f1").value

    result = threshold(lazy(y, p), tolerance=tolerance, maximize="f1", at_most=10)

    assert result.low <= exact <= result.high
    assert result.high - result.low <= tolerance
    assert result.value == result.low


def test_few_rows_are_counted_again():
    y, p = cases(6, 50_000)

    result = threshold(lazy(y, p), maximize="f1")

    same(result.answer, trueness.best_threshold(trueness.tally(y, p), "f1"))
    assert result.passes == 4
    assert 50_000 < result.rows < 60_000  # all rows once, then bins near the optimum


def test_an_exact_answer_is_a_number_and_says_what_it_took():
    y, p = cases(6, 400)

    best = threshold(lazy(y, p), maximize="f1")
    result = area(lazy(y, p))

    assert best.threshold == best.answer.threshold
    assert float(best) == best.value
    assert "exact, after 1 pass over 400 rows in" in repr(result)


def test_the_same_on_every_lazy_engine(exact_engine):
    y, p = cases(7, 2000)
    frame = exact_engine({"y": y, "p": p})
    t = trueness.tally(y, p)
    goal = {
        "minimize": trueness.cost(fp=1, fn=4),
        "subject_to": ["recall >= 0.5"],
        "prevalence": 0.1,
    }

    best = threshold(frame, **goal, at_most=200)
    result = area(frame)

    same(best.answer, trueness.best_threshold(t, **goal))
    assert result.value == trueness.auc(t).value


KINDS = {
    "float32": lambda p: pa.array(p, pa.float32()),
    "ties": lambda p: pa.array(np.round(p, 1)),
    "integers": lambda p: pa.array((p * 50).astype(np.int16)),
    "decimals": lambda p: pa.array([Decimal(f"{v:.3f}") for v in p]),
    "both signs": lambda p: pa.array(np.where(p > 0.5, p, -1e6 * p)),
    "all tied": lambda p: pa.array(np.zeros(p.size)),
}


@pytest.mark.parametrize("options", [{}, {"at_most": 7, "batch": 40}])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_every_kind_on_every_lazy_engine(lazy_engine, kind, options):
    y, p = cases(9, 300)
    p = (p - p.min()) / np.ptp(p)
    columns = {"y": pa.array(y), "p": KINDS[kind](p)}
    t = trueness.tally(pa.table(columns), **NAMED)

    result = area(lazy_engine(columns))
    best = threshold(lazy_engine(columns), maximize="f1", **options)

    assert result.exact
    assert result.value == trueness.auc(t).value
    assert result.answer.low == pytest.approx(trueness.auc(t).low, abs=1e-12)
    same(best.answer, trueness.best_threshold(t, "f1"))


@pytest.mark.parametrize("rows", [2, 3, 5])
def test_tiny_tables(rows):
    y = [0, 1, 1, 0, 1][:rows]
    p = [0.3, 0.2, 0.2, 0.1, 0.9][:rows]

    result = area(lazy(y, p))

    assert result.value == trueness.auc(trueness.tally(y, p)).value


def test_scores_that_are_not_finite():
    with pytest.raises(InputError, match="infinite in 1 of"):
        area(lazy([0, 1, 1], [0.3, 0.2, float("nan")]))


@pytest.mark.parametrize("options", [{}, {"at_most": 20}])
@pytest.mark.parametrize("kind", ["eager", "lazy", "with rows without a label"])
def test_text_labels_of_frames(kind, options):
    y, p = cases(8, 400)
    frame = pl.DataFrame({"y": np.where(y == 1, "yes", "no"), "p": p})
    unlabelled = pl.DataFrame({"y": [None] * 50, "p": np.linspace(-3, 3, 50)})
    rows = {
        "eager": frame,
        "lazy": frame.lazy(),
        "with rows without a label": pl.concat(
            [frame, unlabelled.cast({"y": pl.String})]
        ).lazy(),
    }[kind]
    t = trueness.tally(y, p)

    best = threshold(rows, maximize="f1", positive="yes", **options)
    result = area(rows, positive="yes")

    same(best.answer, trueness.best_threshold(t, "f1"))
    assert result.value == trueness.auc(t).value
    assert result.passes == 1


def test_a_metric_of_ones_own_makes_every_bin_count():
    y, p = cases(10, 300)
    wave = Metric("wave", lambda c: np.sin(c.tp * 1.0), range=(-1, 1))

    best = threshold(lazy(y, p), maximize=wave)

    same(best.answer, trueness.best_threshold(trueness.tally(y, p), wave))


def test_data_that_change_between_two_passes(monkeypatch):
    frame = lazy(*cases(11, 300)).collect()
    connection = duckdb.connect()
    connection.register("frame", frame)
    connection.execute("CREATE TABLE rows AS SELECT * FROM frame")
    first = engine_bins.binned_tally

    def then_written(*arguments):
        t = first(*arguments)
        connection.execute("INSERT INTO rows SELECT 1, p FROM rows")
        return t

    monkeypatch.setattr(engine_bins, "binned_tally", then_written)
    with pytest.raises(InputError, match="The data changed while they were counted"):
        threshold(connection.table("rows"), maximize="f1", at_most=10, batch=100)


@pytest.mark.parametrize("exact", ["exact_threshold", "exact_auc"])
def test_bins_hold_no_exact_answer(exact):
    options = {"maximize": "f1"} if exact == "exact_threshold" else {}
    bins = trueness.tally(*cases(12, 300)).bin(8)

    with pytest.raises(InputError, match="needs every score; found a tally of bins"):
        getattr(trueness, exact)(bins, **options)


def test_the_auc_of_all_cases_takes_one_pass():
    y, p = cases(13, 400)

    exact = area(lazy(y, p))

    assert (exact.passes, exact.rows, exact.bins) == (1, 400, 400)
    assert exact.answer == trueness.auc(y, p)


def test_bins_bound_the_exact_auc_closely():
    y, p = cases(4, 5000)
    exact = area(lazy(y, p)).value

    low, high = trueness.auc(lazy(y, p), **NAMED, at_most=100).bounds

    assert low <= exact <= high
    assert high - low < 0.02


@pytest.mark.parametrize(("at_most", "in_bins"), [(20, True), (1000, False)])
def test_of_constraints_that_cannot_be_met_bins_know_no_nearest_threshold(
    at_most, in_bins
):
    y, p = cases(14, 300)
    goal = {"maximize": "recall", "subject_to": ["precision >= 1", "recall >= 0.9"]}

    with pytest.raises(trueness.Infeasible) as caught:
        trueness.exact_threshold(trueness.tally(y, p), **goal, at_most=at_most)

    assert ("inside a bin may come nearer" in str(caught.value)) == in_bins


def test_cases_of_one_class():
    with pytest.raises(trueness.NotEnoughCases, match="exact_auc needs at least one p"):
        area(lazy([0, 0], [0.1, 0.2]))


@pytest.mark.parametrize(
    ("label", "message"),
    [({}, "Which columns hold the labels"), ({"label": "z"}, "no column 'z'")],
)
def test_columns_that_are_not_there(label, message):
    with pytest.raises(InputError, match=message):
        trueness.exact_auc(lazy([0, 1], [0.1, 0.2]), score="p", **label)
