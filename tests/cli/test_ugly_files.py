"""Files as people have them: what is not needed must not stop a command."""

import duckdb
import numpy as np
import pytest

import trueness
from shell import answer, run

CASES = 40


def rows(rng=0):
    """Labels and scores of some cases, of which both classes overlap."""
    draw = np.random.default_rng(rng)
    label = draw.integers(0, 2, CASES)
    score = np.round(draw.normal(label, 1.0), 3)
    return label.tolist(), score.tolist()


def write_csv(path, **columns):
    """Write columns as CSV; None is an empty field."""
    lines = [",".join(columns)]
    for row in zip(*columns.values(), strict=True):
        lines.append(",".join("" if v is None else str(v) for v in row))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def zoned(tmp_path):
    """A CSV file with a UTC time in each row, and its AUC by the library."""
    label, score = rows()
    when = [f"2026-11-01T10:{k:02d}:00Z" for k in range(CASES)]
    path = write_csv(tmp_path / "zoned.csv", when=when, y=label, p=score)
    return path, trueness.auc(label, score).value


class TestTimesWithATimeZone:
    @pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "duckdb"])
    @pytest.mark.parametrize("named", [True, False])
    def test_do_not_stop_a_command(self, zoned, ending, named):
        path, expected = zoned
        place = path.with_suffix(f".{ending}")
        read = f"SELECT * FROM '{path}'"  # noqa: S608 - a file of this test
        if ending == "duckdb":
            with duckdb.connect(str(place)) as database:
                database.execute(f"CREATE TABLE t AS {read}")
        elif ending != "csv":
            duckdb.sql(
                f"COPY ({read}) TO '{place}'"
                + (" (FORMAT json)" if ending == "jsonl" else "")
            )

        words = ("--label", "y", "--score", "p") if named else ()
        found = answer("evaluate", place, *words)

        assert found["result"]["scores"]["p"]["auc"]["value"] == pytest.approx(expected)

    def test_are_kept_as_they_are_written(self, zoned):
        path, _ = zoned

        opened = trueness.scan(path)

        assert opened.select('min("when")').fetchall() == [("2026-11-01T10:00:00Z",)]

    @pytest.mark.parametrize("option", ["--by", "--cluster"])
    def test_can_be_groups(self, zoned, option):
        path, _ = zoned
        words = ("--label", "y", "--score", "p", option, "when")

        assert run("evaluate", path, *words).exit_code == 0

    def test_of_parquet_are_written_back_as_they_are(self, zoned, tmp_path):
        path, _ = zoned
        source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
        duckdb.read_csv(str(path)).write_parquet(str(source))

        words = ("--label", "y", "--score", "p", "--output", target)
        result = run("calibrate", source, *words)

        assert result.exit_code == 0, result.stderr
        written = duckdb.read_parquet(str(target))
        kinds = dict(zip(written.columns, map(str, written.types), strict=True))
        assert kinds["when"] == "TIMESTAMP WITH TIME ZONE"
