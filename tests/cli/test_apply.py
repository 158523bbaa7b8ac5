"""A saved map is applied to new rows, from a shell."""

import numpy as np
import polars as pl
import pytest

import trueness
from shell import answer, run


@pytest.fixture
def folder(tmp_path, rng):
    n = 300
    rows = {"id": np.arange(n), "y": rng.integers(0, 2, n)}
    rows |= {"p": (rows["y"] + rng.random(n)) / 2, "q": rng.random(n)}
    pl.DataFrame(rows).write_csv(tmp_path / "old.csv")
    rows["p"] = rng.random(n)
    new = pl.DataFrame(rows).with_columns(
        p=pl.when(pl.col("id") == 7).then(None).otherwise(pl.col("p"))
    )
    new.write_parquet(tmp_path / "new.parquet")
    return tmp_path


def test_a_calibrator(folder):
    fit = ("calibrate", folder / "old.csv", "--label", "y", "--score", "p")
    assert run(*fit, "--method", "isotonic", "--save", folder / "m.json").exit_code == 0
    line = ("apply", folder / "m.json", folder / "new.parquet", "--score", "p")
    found = answer(*line, "-o", folder / "out.parquet")
    assert found["result"]["rows"] == 300
    out, new = (pl.read_parquet(folder / f) for f in ("out.parquet", "new.parquet"))
    assert out.drop("p_calibrated").equals(new)
    fitted = trueness.load_map(folder / "m.json")
    gone = new["p"].is_null().to_numpy()
    known = fitted(new["p"].to_numpy()[~gone])
    made = out["p_calibrated"].to_numpy()
    assert made[~gone].tolist() == known.tolist()
    assert np.isnan(made[gone]).all()
    csv = run(*line[:3], "-o", folder / "out.csv", "--column", "z", "--score", "q")
    assert csv.exit_code == 0
    assert "z" in pl.read_csv(folder / "out.csv").columns
    odd = folder / "odd.csv"
    odd.write_text("id,p\n1,0.3\n2,\n3,7.5\n4,0.4\n")
    said = run(*line[:2], odd, "-o", folder / "odd_out.csv")
    assert "Using score 'p': the map was fitted on it." in said.stderr
    assert "3 rows scored by" in said.stdout
    assert "1 row has no score." in said.stdout
    old = pl.read_csv(folder / "old.csv")["p"]
    ends = f"{round(old.min(), 6):g} to {round(old.max(), 6):g}"
    assert f"1 score lies outside {ends}, where the map is constant." in said.stdout
    written = (folder / "odd_out.csv").read_text().splitlines()
    assert written[2].endswith(",")  # an empty score stays empty
    assert "nan" not in str(written)


def test_a_combiner_knows_its_columns(folder):
    fit = ("combine", folder / "old.csv", "--label", "y", "--score", "p")
    fit += ("--score", "q", "--save", folder / "c.json")
    assert run(*fit).exit_code == 0
    line = ("apply", folder / "c.json", folder / "old.csv", "-o", folder / "o.parquet")
    done = run(*line)
    assert done.exit_code == 0, done.stderr
    assert "300 rows scored by" in done.stdout
    new = folder / "new.csv"
    new.write_text("p,q\n0.5,\n9,0.5\n0.5,0.5\n")
    told = run("apply", folder / "c.json", new, "-o", folder / "o.csv").stdout
    assert "1 row lacks a score; the others were combined." in told
    assert "1 score of 'p' lies outside" in told
    wrong = run(*line, "--score", "p")
    assert wrong.exit_code == 2
    assert "leave the score out" in wrong.stderr


def test_what_cannot_be_applied(folder):
    fit = ("calibrate", folder / "old.csv", "--label", "y", "--score", "p")
    run(*fit, "--method", "platt", "--save", folder / "m.json")
    line = ("apply", folder / "m.json", folder / "new.parquet")
    for more, words in (
        ((), "Type -o"),
        (("-o", folder / "x.parquet", "--score", "r"), "has no column 'r'"),
        (("-o", folder / "new.parquet", "--score", "p"), "is the input file"),
        (("-o", folder / "x.xlsx", "--score", "p"), "the ending of --output"),
        (("-o", folder / "x.json", "--score", "p"), "To keep what was fitted"),
    ):
        done = run(*line, *more)
        assert done.exit_code == 2, more
        assert words in done.stderr
    assert run("apply", folder / "none.json", folder / "new.parquet").exit_code == 2
