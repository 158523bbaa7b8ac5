"""A map gives the same column on every engine as it gives arrays."""

import ibis
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

import trueness
from trueness import CALIBRATORS, COMBINERS, InputError


def cases(n=400, seed=3):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    p = 1 / (1 + np.exp(-(rng.normal(size=n) + 2 * y - 1)))
    return y, np.round(p, 3)


def in_order(frame, by, *names):
    """Columns by row number: joins and clusters keep no order."""
    opened = nw.from_native(frame)
    if isinstance(opened, nw.LazyFrame):
        opened = opened.collect("pyarrow")
    order = np.argsort(opened[by].to_list())
    columns = [opened[name].to_list() for name in names]
    return np.array([[np.nan if v is None else v for v in c] for c in columns])[
        :, order
    ].astype(float)


SCORES = [0.0, 0.2, None, 0.5, 0.123, 0.999, 1.0, float("nan")]


def test_every_calibrator_on_every_engine(engine):
    t = trueness.tally(*cases())
    fitted = {m: trueness.calibrate(t, method=m) for m in CALIBRATORS}
    frame = engine({"i": list(range(len(SCORES))), "s": SCORES})
    for method, f in fitted.items():
        frame = trueness.apply(frame, f, "s", name=method)
    columns = in_order(frame, "i", *fitted)

    scores = [np.nan if v is None else v for v in SCORES]

    for (method, f), found in zip(fitted.items(), columns, strict=True):
        expected = f(scores)
        assert np.isnan(expected[[2, -1]]).all()
        np.testing.assert_allclose(
            found, expected, rtol=1e-12, atol=1e-15, err_msg=method
        )


def test_every_combiner_on_every_engine(engine, rng):
    n = 150
    y = (rng.random(n) < 0.4).astype(int)
    names = ("a", "b", "c")
    scores = {k: np.round(rng.normal(size=n) + y, 2) for k in names}
    panel = trueness.panel(y, scores)
    fitted = {name: combiner(panel) for name, combiner in COMBINERS.items()}
    rows = {k: [*v[:20].tolist(), None, 0.25, None] for k, v in scores.items()}
    rows["b"][-2] = None  # a gap in one column, in another, and in all
    frame = engine({"i": list(range(23)), **rows})
    given = np.array([[np.nan if v is None else v for v in rows[k]] for k in names]).T
    for name, f in fitted.items():
        frame = trueness.apply(frame, f, name=name)

    columns = in_order(frame, "i", *fitted)

    for (name, f), found in zip(fitted.items(), columns, strict=True):
        np.testing.assert_allclose(found, f(given), rtol=1e-12, err_msg=name)


def test_a_long_table_is_joined(lazy_engine, rng):
    y, p = cases(5000)
    t = trueness.tally(y, rng.permutation(p))
    fitted = trueness.calibrate(t, method="fermi-dirac")
    rows = {"i": list(range(len(SCORES))), "s": SCORES}
    new = trueness.apply(lazy_engine(rows), fitted, "s")
    expected = fitted([np.nan if v is None else v for v in SCORES])

    result = in_order(new, "i", "s_calibrated")[0]

    np.testing.assert_allclose(result, expected, rtol=1e-12)


def test_a_lazy_frame_stays_lazy_and_keeps_its_columns():
    fitted = trueness.calibrate(trueness.tally(*cases()), method="isotonic")
    shifted = trueness.at_prevalence(fitted, 0.4, 0.1)
    new = trueness.apply(
        pl.LazyFrame({"s": [0.1, 0.5], "keep": ["x", "y"]}), shifted, "s"
    )

    assert isinstance(new, pl.LazyFrame)
    assert new.collect().columns == ["s", "keep", "s_calibrated"]

    result = new.collect()["s_calibrated"]
    np.testing.assert_allclose(result, shifted([0.1, 0.5]), rtol=1e-14)


@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")
def test_frames_of_dask_are_counted_and_mapped_where_they_are():
    dask = pytest.importorskip("dask.dataframe")
    y, s = cases()
    rows = dask.from_pandas(pd.DataFrame({"y": y, "s": s}), npartitions=3)

    t = trueness.tally(y, s)

    assert trueness.tally(rows, label="y", score="s") == t
    for method in ("isotonic", "beta"):
        fitted = trueness.calibrate(t, method=method)
        result = trueness.apply(rows, fitted, "s", name="p").compute()["p"]
        np.testing.assert_allclose(result, fitted(s), rtol=1e-14)


def test_long_maps_on_ibis_with_polars():
    y, s = cases()
    fitted = trueness.fidel(trueness.panel(y, {"s": s, "z": -s}))
    rows = ibis.polars.connect().create_table("x", pl.DataFrame({"s": s, "z": -s}))
    result = trueness.apply(rows, fitted).to_polars()

    expected = fitted(result.select("s", "z").to_numpy())

    np.testing.assert_allclose(result["combined"], expected, rtol=1e-14)


def test_slips():
    fitted = trueness.calibrate(trueness.tally(*cases()), method="platt")
    frame = pl.LazyFrame({"s": [0.1], "p": [1.0]})

    mean = trueness.mean_score(trueness.Panel(["s"], [[1]], neg=[1]))

    for arguments, message in (
        ((frame, fitted), "Which column holds the scores"),
        ((frame, fitted, "t"), "no column 't'"),
        ((frame, np.exp, "s"), "needs a fitted map"),
        (([0.1], fitted, "s"), "apply needs a frame; found list"),
        ((frame, mean, "s"), "leave score out"),
    ):
        with pytest.raises(InputError, match=message):
            trueness.apply(*arguments)
    with pytest.raises(InputError, match="has a column 'p' already"):
        trueness.apply(frame, fitted, "s", name="p")
