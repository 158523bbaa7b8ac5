"""What people see: odd files, hostile names, narrow and plain terminals."""

import io
import os
import pty
import re
import subprocess
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len
from rich.console import Console

from shell import ENVIRONMENT, TRUENESS, run
from trueness._core.records import Estimate
from trueness.cli._shell import _grids_that_fit
from trueness.findings.records import table

ROWS = "1,0.9\n1,0.8\n0,0.5\n1,0.5\n0,0.2\n0,0.1\n0,0\n"
HOSTILE = ["\x1b[31mred\x07", "a\u202ertl", "tab\there", "[bold]x[/bold]", "\U0001f600"]


def said(result):
    return " ".join(result.stderr.split())


# content of a CSV file, and what Trueness says about it
UNUSABLE = {
    "nothing": ("", 2, "data.csv is empty. A header and rows are needed"),
    "only a header": ("y,p\n", 2, "data.csv has no rows, only the columns 'y', 'p'"),
    "three labels": (
        "y,p\n0,0.1\n1,0.5\n2,0.7\n", 2,
        "holds more than two classes: '0', '1', '2'. Name one column of scores per "
        "class, each with the name of its class",
    ),
    "labels in words": (
        "y,p\nill,0.5\nbored,0.2\n", 2,
        "Type --positive bored or --positive ill.",
    ),
    "scores in words": ("y,p\n1,high\n0,low\n", 2, "score 'p' must be numbers"),
    "thousands": ('y;p\n1;1,500\n0;2,200\n', 2, "score 'p' has numbers such as 1,500"),
    "a missing score": ("y,p\n1,0.5\n0,\n", 2, "score 'p' must be finite; found NaN"),
    "more than two numbers": ("y,p\n1,0.5\n2,0.1\n3,1\n", 2, "than two classes"),
    "labels that are dates": (
        "y,p\n2020-01-01,0.5\n2020-01-02,0.2\n", 2,
        "Type --positive 2020-01-01 or --positive 2020-01-02.",
    ),
    "one class": ("y,p\n1,0.5\n1,0.6\n", 3, "needs at least one positive and one neg"),
    "no label at all": ("y,p\n,0.5\n,0.6\n", 3, "needs at least one positive"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNUSABLE)
@pytest.mark.parametrize("way", ["data.csv", "-"])
def test_unusable_files_get_a_sentence(case, way, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content, code, sentence = UNUSABLE[case]
    Path("data.csv").write_text(content)
    result = run("evaluate", way, "-l", "y", "-s", "p", text=content)
    sentence = sentence.replace("data.csv", "standard input" if way == "-" else way)
    assert result.exit_code == code
    assert sentence in said(result)
    assert result.stdout == ""


USABLE = {
    "semicolons": "y;p\n" + ROWS.replace(",", ";"),
    "tabs": "y\tp\n" + ROWS.replace(",", "\t"),
    "yes and no": "y,p\n" + re.sub("^1", "yes", re.sub("^0", "no", ROWS, flags=re.M),
                                   flags=re.M),
    "true and false": "y,p\n" + re.sub("^1", "true", re.sub(
        "^0", "false", ROWS, flags=re.M), flags=re.M),
    "a byte order mark": "\ufeffy,p\n" + ROWS,
    "Windows lines": ("y,p\n" + ROWS).replace("\n", "\r\n"),
    "quotes": '"y","p"\n' + ROWS,
    "decimal commas": "y;p\n" + ROWS.replace(",", ";").replace(".", ","),
    "no last newline": "y,p\n" + ROWS.rstrip(),
}  # fmt: skip


@pytest.mark.parametrize("case", USABLE)
def test_files_as_they_come(case, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(USABLE[case])
    for source, text in ((path, None), ("-", USABLE[case])):
        result = run("evaluate", source, text=text)
        assert result.exit_code == 0, result.stderr
        assert "Using label 'y' and score 'p': no other column fits." in said(result)
        assert "7 cases: 3 positive" in result.stdout
        assert "0.958" in result.stdout  # 11.5 of 12 pairs


def test_folders_spreadsheets_encodings_and_names_of_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.8, 0.7, 0.1]})
    Path("folder").mkdir()
    frame[:2].to_parquet("folder/a.parquet")
    frame[2:].to_parquet("folder/b.parquet")
    for name in ("folder", "folder/*.parquet"):
        assert "4 cases" in run("evaluate", name).stdout
    Path("book.xlsx").write_bytes(b"PK")
    assert "book.xlsx is not a readable spreadsheet" in said(
        run("evaluate", "book.xlsx")
    )
    Path("latin.csv").write_bytes("y,p,o\n1,0.5,Köln\n0,0.2,x\n".encode("latin-1"))
    assert "was read as Latin-1" in run("evaluate", "latin.csv").stdout
    streamed = run("evaluate", "-", text=Path("latin.csv").read_bytes())
    assert "was read as Latin-1" in streamed.stdout
    Path("wide.csv").write_bytes("y,p\n1,0.5\n0,0.2\n".encode("utf-16"))
    assert "2 cases" in run("evaluate", "wide.csv").stdout
    Path("ragged.csv").write_text("y,p\n1,0.5,3\n0,0.2\n1,0.3\n")
    ragged = said(run("evaluate", "ragged.csv", "--label", "y", "--score", "p"))
    assert "Line 2 of ragged.csv has 3 fields, and the first has 2." in ragged
    assert "Did you mean 'latin.csv'?" in said(run("evaluate", "latin.cvs"))
    assert "Did you mean" not in said(run("evaluate", "zebra.csv"))


@pytest.fixture
def hostile(tmp_path):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 80)
    columns = {n: np.round(rng.random(80) * 0.5 + y * 0.4, 3) for n in HOSTILE}
    path = tmp_path / "hostile.csv"
    pd.DataFrame({"y": y, "x" * 300: columns[HOSTILE[0]], **columns}).to_csv(
        path, index=False
    )
    return path


def test_names_cannot_steer_a_terminal(hostile, tmp_path):
    words = {"evaluate": [], "compare": [], "threshold": ["-s", HOSTILE[0]]}
    words["report"] = ["-o", tmp_path / "r.html", "-s", HOSTILE[0], "-s", HOSTILE[1]]
    for command, more in words.items():
        result = run(command, hostile, *more)
        text = result.stdout + result.stderr
        assert result.exit_code in (0, 3), text
        for mark in ("\x1b", "\x07", "\u202e", "\t"):
            assert mark not in text, command
    result = run("evaluate", hostile, "-l", "\x1b[31m")
    assert result.exit_code == 2
    assert "\x1b" not in result.stderr
    assert "x" * 41 not in result.stderr


def drawn(grid, width):
    """Write tables as a terminal of this width would show them."""
    console = Console(width=width, record=True, file=io.StringIO())
    for part in _grids_that_fit(grid, width):
        console.print(part)
    return console.export_text().splitlines()


@pytest.mark.parametrize("width", [50, 60, 80, 100, 1000])
def test_tables_break_rather_than_wrap(width):
    e = Estimate(0.123456, 0.0123456, 0.7654321)
    names = ["short", "a rather long name of a score", "x" * 300]
    head = ["score", *(f"measure {k}" for k in range(6))]
    lines = drawn(table("", head, [[n, *[e] * 6] for n in names]), width)
    assert all(cell_len(line.rstrip()) <= width for line in lines)
    text = "\n".join(lines)
    assert text.count("0.123 (0.012 to 0.765)") == 18
    for k in range(6):
        assert f"measure {k}" in text
    tables = sum(line.startswith("score") for line in lines)
    assert (tables == 1) == (width == 1000)


def on_terminal(*words, **more):
    """Run in a pseudo-terminal of 80 columns and give all that it shows."""
    main, other = pty.openpty()
    running = subprocess.Popen(
        [*TRUENESS, *map(str, words)],
        env={**ENVIRONMENT, "COLUMNS": "80", **more},
        stdout=other, stderr=other, stdin=other,
    )  # fmt: skip
    os.close(other)
    text = b""
    with suppress(OSError):  # the other end is closed
        while part := os.read(main, 4096):
            text += part
    os.close(main)
    assert running.wait(60) == 0, text
    return text.decode().replace("\r", "")


def test_terminals_with_and_without_colour(hostile):
    many = hostile.with_name("many.csv")
    rng = np.random.default_rng(2)
    scores = {f"score_{k}": np.round(rng.random(60), 3) for k in range(20)}
    pd.DataFrame({"y": rng.integers(0, 2, 60), **scores}).to_csv(many, index=False)
    words = ("evaluate", many, "--label", "y")
    plain = on_terminal(*words, TERM="dumb")
    assert "\x1b" not in plain
    assert all(cell_len(line) <= 80 for line in plain.splitlines())
    assert "and 8 more: no other column fits" in " ".join(plain.split())
    assert plain.count("score_19 ") >= 1
    bold = on_terminal(*words, TERM="xterm", NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", bold.split("cases")[-1])
