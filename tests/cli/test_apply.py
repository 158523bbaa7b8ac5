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


@pytest.fixture
def saved_map(folder):
    """Fit a map to the score p of the old cases, and return its file."""
    path = folder / "m.json"
    line = ("calibrate", folder / "old.csv", "--label", "y", "--score", "p")
    result = run(*line, "--method", "isotonic", "--save", path)
    assert result.exit_code == 0
    return path


def test_a_calibrator_is_applied_to_new_rows(folder, saved_map):
    target = folder / "out.parquet"
    line = ("apply", saved_map, folder / "new.parquet", "--score", "p")

    content = answer(*line, "-o", target)

    written = pl.read_parquet(target)
    new = pl.read_parquet(folder / "new.parquet")
    assert content["result"]["rows"] == 300
    assert written.drop("p_calibrated").equals(new)
    missing = new["p"].is_null().to_numpy()
    calibrated = written["p_calibrated"].to_numpy()
    expected = trueness.load_map(saved_map)(new["p"].to_numpy()[~missing])
    assert calibrated[~missing].tolist() == expected.tolist()
    assert np.isnan(calibrated[missing]).all()


def test_a_calibrator_writes_the_column_that_is_named(folder, saved_map):
    target = folder / "out.csv"
    line = ("apply", saved_map, folder / "new.parquet", "--score", "q")

    result = run(*line, "-o", target, "--column", "z")

    assert result.exit_code == 0
    assert "z" in pl.read_csv(target).columns


def test_a_calibrator_says_what_it_took_and_which_rows_are_odd(folder, saved_map):
    (folder / "odd.csv").write_text("id,p\n1,0.3\n2,\n3,7.5\n4,0.4\n")

    result = run("apply", saved_map, folder / "odd.csv", "-o", folder / "odd_out.csv")

    fitted_on = pl.read_csv(folder / "old.csv")["p"]
    ends = f"{round(fitted_on.min(), 6):g} to {round(fitted_on.max(), 6):g}"
    outside = f"1 score lies outside {ends}, where the map is constant."
    assert "Using score 'p': the map was fitted on it." in result.stderr
    assert "3 rows scored by" in result.stdout
    assert "1 row has no score." in result.stdout
    assert outside in result.stdout


def test_an_empty_score_stays_empty(folder, saved_map):
    (folder / "odd.csv").write_text("id,p\n1,0.3\n2,\n3,7.5\n4,0.4\n")
    target = folder / "odd_out.csv"

    run("apply", saved_map, folder / "odd.csv", "-o", target)

    lines = target.read_text().splitlines()
    assert lines[2].endswith(",")
    assert "nan" not in str(lines)


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
