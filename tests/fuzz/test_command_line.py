"""Nothing breaks the command line: random files, hostile names, random options."""

import csv
import io
import json
import os
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from trueness.cli import app

EXAMPLES = int(os.environ.get("TRUENESS_FUZZ", "0")) // 10
END = time.monotonic() + 60 * float(os.environ.get("TRUENESS_FUZZ_MINUTES", "1e6"))
# 0 done, 1 the output could not be written, 2 wrong input, 3 too few cases
CODES = {0, 1, 2, 3}

NAMES = st.sampled_from(
    [
        "y",
        "p",
        "q",
        "*",
        'a"b',
        "a'b",
        "COLUMNS(*)",
        "a.b",
        "a[0]",
        "x\ny",
        "",
        " ",
        "é",
    ]
)
VALUES = st.one_of(
    st.sampled_from(["0", "1", "", "yes", "no", "nan", "inf", "-1", "1e300", "5e-324"]),
    st.floats(0, 1).map(str),
    st.text(max_size=4),
)
COMMANDS = ["evaluate", "threshold", "calibrate", "compare", "combine", "leaves"]
OPTIONS = [
    ["--maximize", "f1"],
    ["--maximize", "f_beta(1e308)"],
    ["--subject-to", "recall >= 0.9"],
    ["--subject-to", "recall >="],
    ["--prevalence", "0.01"],
    ["--level", "2"],
    ["--positive", "yes"],
    ["--seed", "-1"],
    ["--by", "*"],
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
    words = [data.draw(st.sampled_from(COMMANDS)), str(path), "--json"]
    words += ["--label", data.draw(pick)]
    for score in data.draw(st.lists(pick, max_size=3)):
        words += ["--score", score]
    for option in data.draw(st.lists(st.sampled_from(OPTIONS), max_size=2)):
        words += option
    result = CliRunner().invoke(app, words)
    error = result.exception
    assert error is None or isinstance(error, SystemExit), (words, repr(error))
    assert result.exit_code in CODES, (words, result.exit_code)
    assert "Traceback" not in result.output
    if result.exit_code == 0:
        json.loads(result.stdout)
    elif result.exit_code in (2, 3):
        assert result.stderr.strip(), words


@pytest.mark.parametrize("name", ["*", 'a"b', "COLUMNS(*)", "a.b"])
def test_a_name_is_a_name(name, tmp_path):
    path = tmp_path / "cases.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(
            [["y", name], [1, 0.9], [0, 0.1], [1, 0.7], [0, 0.2]]
        )
    words = ["evaluate", str(path), "--label", "y", "--score", name, "--json"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["cases"]["n"] == 4
