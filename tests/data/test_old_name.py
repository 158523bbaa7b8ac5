"""Files that were written under the old name are read as they were."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import trueness

FOLDER = Path(__file__).parents[1] / "reference" / "karat"
MAPS = sorted(FOLDER.glob("map_*.json"))


def cases():
    rng = np.random.default_rng(0)
    y = (rng.random(60) < 0.4).astype(int)
    a = np.round(rng.normal(y, 1), 1)
    return y, a, np.round(rng.normal(y * 0.7, 1), 1)


def test_tallies_and_panels():
    y, a, b = cases()
    t = trueness.read_tally(FOLDER / "tally.parquet")
    p = trueness.read_panel(FOLDER / "panel.parquet")
    assert t == trueness.tally(y, a)
    assert p == trueness.panel(y, {"a": a, "b": b})


@pytest.mark.parametrize("path", MAPS, ids=lambda p: p.stem)
def test_calibrators(path):
    y, a, _ = cases()
    method = path.stem.removeprefix("map_")
    chances = method in ("beta", "temperature")
    t = trueness.tally(y, 1 / (1 + np.exp(-a)) if chances else a)
    new = trueness.calibrate(t, method=method)
    np.testing.assert_allclose(
        trueness.load_map(path)(t.score), new(t.score), rtol=1e-9
    )


def test_every_calibrator_has_a_file():
    assert {p.stem.removeprefix("map_") for p in MAPS} == set(trueness.CALIBRATORS)


@pytest.mark.parametrize("name", ["fidel", "mean_score"])
def test_combiners(name):
    p = trueness.read_panel(FOLDER / "panel.parquet")
    loaded = trueness.load_map(FOLDER / f"combiner_{name}.json")
    assert loaded == getattr(trueness, name)(p)


def test_streams_go_on(tmp_path):
    path = tmp_path / "stream.parquet"
    path.write_bytes((FOLDER / "stream.parquet").read_bytes())
    stream = trueness.Stream(path, label="y", score="p", by="day")
    batch = pd.DataFrame({"y": [0], "p": [0.5], "day": ["tue"]})
    assert not stream.add("one", batch)
    assert stream.add("two", batch)
    assert stream.tally().n == 4
    assert trueness.Stream(path, label="y", score="p", by="day").windows()["tue"].n == 2
