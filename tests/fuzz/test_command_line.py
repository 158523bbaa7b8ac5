"""Nothing breaks the command line: random files, hostile names, random options."""

import csv
import io
import json
import os
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from trueness.cli import app
from trueness.cli._app import COMMANDS, load

sys.path.insert(0, str(Path(__file__).parent))
import _calls

pytestmark = pytest.mark.slow

EXAMPLES = int(os.environ.get("TRUENESS_FUZZ", "0")) // 10
END = time.monotonic() + 60 * float(os.environ.get("TRUENESS_FUZZ_MINUTES", "1e6"))
# done, not written, wrong input, too few cases, a requirement fails, not clear yet
CODES = {0, 1, 2, 3, 4, 5}

NAMES = st.sampled_from(_calls.ODD_NAMES)
VALUES = st.one_of(
    st.sampled_from(["0", "1", "", "yes", "no", "nan", "inf", "-1", "1e300", "5e-324"]),
    st.floats(0, 1).map(str),
    st.text(max_size=4),
)
COLUMNS = {
    *("label", "score", "by", "node", "vote", "count", "reader", "treatment", "case"),
    *("cluster", "weight", "item"),
}
# demo writes into the folder one stands in, app serves until it is told to stop
STAYING = ("demo", "app")


def _commands():
    """Find every command and the options that take a column: words to options."""
    found = {}
    for name in COMMANDS:
        command = load(name)
        for words, one in {
            (name, *([k] if k else [])): c
            for k, c in getattr(command, "commands", {"": command}).items()
        }.items():
            options = [o for p in one.params for o in p.opts if o.startswith("--")]
            found[words] = [o for o in options if o[2:] in COLUMNS]
    return {words: o for words, o in found.items() if words[0] not in STAYING}


OPTIONS = [
    ["--maximize", "f1"],
    ["--maximize", "f_beta(1e308)"],
    ["--subject-to", "recall >= 0.9"],
    ["--subject-to", "recall >="],
    ["--prevalence", "0.01"],
    ["--level", "2"],
    ["--positive", "yes"],
    ["--seed", "-1"],
    ["--decimal", ","],
]


@st.composite
def files(draw):
    """Draw a CSV file, JSON lines or bytes of any kind, and its column names."""
    names = draw(st.lists(NAMES, min_size=1, max_size=4))
    rows = draw(
        st.lists(st.lists(VALUES, min_size=len(names), max_size=len(names)), max_size=8)
    )
    kind = draw(st.sampled_from(["csv", "csv", "jsonl", "junk"]))
    if kind == "junk":
        return "csv", draw(st.binary(max_size=60)), names
    if kind == "jsonl":
        lines = [json.dumps(dict(zip(names, r, strict=True))) for r in rows]
        return kind, "\n".join(lines).encode(), names
    text = io.StringIO()
    csv.writer(text).writerows([names, *rows])
    return kind, text.getvalue().encode("utf-8", "surrogatepass"), names


@settings(
    max_examples=max(EXAMPLES, 15),
    derandomize=not EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(files(), st.data())
def test_no_traceback_ever(tmp_path_factory, made, data):
    if time.monotonic() > END:
        return
    kind, content, names = made
    path = tmp_path_factory.mktemp("fuzz") / f"cases.{kind}"
    path.write_bytes(content)
    pick = st.one_of(st.sampled_from(names), NAMES)
    found = _commands()
    head = data.draw(st.sampled_from(sorted(found)))
    words = [*head, str(path)] if head[0] != "plan" else [*head]
    for option in found[head]:
        for name in data.draw(st.lists(pick, min_size=option == "--label", max_size=2)):
            words += [option, name]
    if head[0] in ("report", "apply"):
        words += ["--output", str(path.with_suffix(".html"))]
    elif data.draw(st.booleans()):
        words.append("--json")
    for option in data.draw(st.lists(st.sampled_from(OPTIONS), max_size=2)):
        words += option
    result = CliRunner().invoke(app, words)
    error = result.exception
    assert error is None or isinstance(error, SystemExit), (words, repr(error))
    assert result.exit_code in CODES, (words, result.exit_code)
    assert "Traceback" not in result.output
    if result.exit_code == 0 and "--json" in words:
        json.loads(result.stdout)
    elif result.exit_code in (2, 3):
        assert result.stderr.strip(), words


@pytest.mark.parametrize(
    "name", [n for n in _calls.ODD_NAMES if n.strip() and n not in ("y", "\0")]
)
def test_a_name_is_a_name(name, tmp_path):
    path = tmp_path / "cases.parquet"  # in CSV a line break would begin a new row
    cases = {"y": [1, 0, 1, 0], name: [0.9, 0.1, 0.7, 0.2]}
    pd.DataFrame(cases).to_parquet(path)
    words = ["evaluate", str(path), "--label", "y", "--score", name, "--json"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["cases"]["n"] == 4


ROLES = {
    "--label": "evaluate --label NAME --score p",
    "--score": "compare --label y --score NAME --score q",
    "--by": "evaluate --label y --score p --by NAME",
    "--node": "leaves --label y --node NAME",
    "--weight": "evaluate --label y --score p --weight NAME",
    "--cluster": "evaluate --label y --score p --cluster NAME",
    "--count": "evaluate --label y --score p --count NAME",
    "--vote": "nogold --vote a --vote b --vote NAME --draws 100",
    "--judge": "judge --judge a --judge b --judge NAME --label y --labelled random",
    "--system": "judge --judge a --judge b --label y --labelled random --system NAME",
    "--item": "judge --judge a --judge b --label y --labelled random --item NAME",
}
# what a column holds under its odd name, in each of the roles
HOLDS = {"--label": "y", "--score": "p", "--vote": "a", "--judge": "a", "--weight": "w"}
NAMES_OF_SQL = (
    *("*", "t.*", "COLUMNS(*)", "COLUMNS(c -> true)", "* EXCLUDE (y)", "^.*$"),
    *('a"b', "a'b", "a`b", "x\ny", "x\r\ny", "a[0]", "s.a", "#1", "$1", "?", "%s"),
)


@pytest.mark.parametrize("role", ROLES)
def test_a_name_is_a_name_in_every_role(role, tmp_path):
    path = tmp_path / "cases.parquet"
    n = 24
    columns = {
        **{"y": [1, 0] * (n // 2), "p": [k / n for k in range(n)]},
        **{"q": [(k * 7 % n) / n for k in range(n)], "w": [0.5, 2.0] * (n // 2)},
        **{"a": [1, 0, 0] * (n // 3), "b": [1, 0, 1, 0] * (n // 4)},
    }
    odd = columns[HOLDS[role]] if role in HOLDS else [k // 6 + 1 for k in range(n)]
    for name in NAMES_OF_SQL if EXAMPLES else (*NAMES_OF_SQL[:8:2], "^.*$", "x\r\ny"):
        pd.DataFrame({name: odd, **columns}).to_parquet(path)
        command, *rest = [name if w == "NAME" else w for w in ROLES[role].split()]
        result = CliRunner().invoke(app, [command, str(path), *rest, "--json"])
        assert result.exit_code == 0, (name, result.stderr, result.exception)
        json.loads(result.stdout)


def _refused(path, *words):
    result = CliRunner().invoke(app, [*words[:1], str(path), *words[1:]])
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 2
    return result.stderr


def test_a_sqlite_file_is_named_whatever_it_is_called(tmp_path):
    for name in ("p.sqlite", "p.db", "p.csv", "p.parquet"):
        path = tmp_path / name
        with closing(sqlite3.connect(path)) as made:
            made.execute("CREATE TABLE preds (y INTEGER, p REAL)")
            made.commit()
        said = _refused(path, "evaluate", "--label", "y", "--score", "p")
        assert "is a sqlite database" in said
        assert "sqlite3 -header -csv" in said
        assert "p_table.csv" in said  # and never over the file itself


def test_a_file_that_is_not_what_its_ending_says(tmp_path):
    path = tmp_path / "cases.csv"
    pd.DataFrame({"y": [0, 1]}).to_parquet(path)
    assert "its content is Parquet" in _refused(path, "evaluate")
    path = tmp_path / "cases.parquet"
    path.write_text("y,p\n1,0.5\n")
    assert "its content is none" in _refused(path, "evaluate")


def test_scores_that_are_objects_get_words_of_the_shell(tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_text('{"y": 1, "p": {"a": 0.3}}\n{"y": 0, "p": {"a": 0.1}}\n')
    for words in (["--score", "p"], ["--score", "p", "--score", "y"]):
        said = _refused(path, "compare", "--label", "y", *words)
        assert "float()" not in said
        assert "scores[" not in said
    said = _refused(path, "evaluate", "--label", "y", "--score", "p")
    # the parts of an object are columns, so the one that holds scores is named
    assert "has no column 'p'; it has 'y', 'p.a'" in said


def test_a_header_that_csv_cannot_hold_gets_a_remedy(tmp_path):
    path = tmp_path / "cases.csv"
    path.write_bytes(b'"y","a\r\nb"\n1,.9\n0,.2\n1,.8\n0,.3\n')
    assert "save the table as Parquet" in _refused(path, "evaluate", "--label", "y")
    path.write_bytes(b'"y","a\nb"\n1,.9\n0,.2\n1,.8\n0,.3\n')
    # a header on two lines is read as one
    words = ["evaluate", str(path), "--label", "y", "--score", "a b", "--json"]
    assert CliRunner().invoke(app, words).exit_code == 0


# a figure may be left without a point, or with points beyond all numbers
BARE = {
    "one case": ([1], [0.5]),
    "one class": ([1, 1, 1], [0.2, 0.5, 0.5]),
    "no label": ([None, None], [0.2, 0.5]),
    "all tied": ([1, 0, 1, 0], [0.5] * 4),
    "as far as numbers go": ([1, 0, 1, 0], [1.7e308, -1.7e308, 1.79e308, 0.0]),
    "tied far out": ([1, 0], [1e300, 1e300]),
}


@pytest.mark.parametrize("case", BARE)
def test_a_report_with_hardly_a_point_is_written_or_refused(case, tmp_path):
    y, p = BARE[case]
    path, page = tmp_path / "cases.parquet", tmp_path / "report.html"
    groups = ["u", "v", "u", "v"][: len(y)]
    pd.DataFrame({"y": y, "p": p, "g": groups}).to_parquet(path)
    for more in ([], ["--by", "g"]):
        words = ["report", str(path), "--label", "y", "--score", "p", "-o", str(page)]
        result = CliRunner().invoke(app, [*words, *more])
        assert isinstance(result.exception, (SystemExit, type(None))), result.exception
        assert result.exit_code in (0, 2, 3)
        assert page.exists() == (result.exit_code == 0)
        page.unlink(missing_ok=True)
