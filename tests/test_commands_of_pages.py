"""Every command that a page shows in passing runs too, on files of that kind.

``test_docs.py`` runs the commands in ``sh`` blocks, which need no file of the reader.
Here are the others, page by page and in order, since some read what an earlier one
wrote: blocks of text, and commands within a sentence.
"""

import itertools
import json
import re
import shlex
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from test_docs import PAGES, ROOT
from trueness.cli import app

FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(trueness [a-z][^`\n]*)`")
# a name of a command without what it is asked, and forms to be filled in
PLACEHOLDER = re.compile(r"\.\.\.|\bFILE\b|^trueness \w+( --\w+)*$")
NOT_HERE = ("app", "demo", "ties")  # never ends, takes a minute, is made by the reader
FIRST_WATCH = "watch state.json predictions.parquet --label y --score a --metric auc"


def commands(page):
    """Return the commands of a page in order, without those of ``sh`` blocks."""
    text = page.read_text(encoding="utf-8")
    result = []
    for fence in FENCE.finditer(text):
        if fence[1] in ("text", "bash"):
            lines = fence[2].splitlines()
            result += [(fence.start(), line) for line in lines]
    prose = FENCE.sub(lambda fence: " " * len(fence[0]), text)
    result += [(inline.start(), inline[1]) for inline in INLINE.finditer(prose)]
    in_order = [line for _, line in sorted(result, key=lambda place: place[0])]
    return [
        line
        for line in in_order
        if line.startswith("trueness ")
        and not PLACEHOLDER.search(line)
        and line.split()[1] not in NOT_HERE
    ]


COMMANDS = {page: lines for page in PAGES if (lines := commands(page))}


def random_frame(n=600, *, seed=0):
    """Return labels and three scores, with columns of the names that pages use."""
    rng = np.random.default_rng(seed)
    label = (rng.random(n) < 0.4).astype(int)
    p, q, r = (1 / (1 + np.exp(rng.normal(size=n) - 2 * label + 1)) for _ in range(3))
    return pd.DataFrame(
        {
            "y": label,
            "p": p,
            "q": q,
            "r": r,
            "default": label,
            "a": p,
            "b": q,
            "points": 1000 * p,
            "hospital": np.arange(n) % 6,
        }
    )


def write_files(folder):
    """Write a file of every name that the commands of the pages read."""
    frame = random_frame()
    frame["site"] = frame["hospital"]
    for name in ("last_year", "new", "development", "preds", "predictions"):
        frame.to_csv(folder / f"{name}.csv", index=False)
    for name in ("predictions", "last_release", "new", "site_a", "site_b"):
        frame.to_parquet(folder / f"{name}.parquet")
    random_frame(seed=1).to_parquet(folder / "today.parquet")
    frame[["p", "q", "r"]].to_csv(folder / "today.csv", index=False)
    tests = frame[["y"]].assign(a=frame["p"] >= 0.5, b=frame["q"] >= 0.5).astype(int)
    tests.to_csv(folder / "tests.csv", index=False)
    tests.to_csv(folder / "ratings.csv", index=False)
    words = np.select(
        [frame["p"] < 0.4, frame["p"] < 0.6], ["neg", "inconclusive"], "pos"
    )
    frame[["y"]].assign(result=words).to_csv(folder / "results.csv", index=False)
    grades = {"default": frame["y"], "pd": frame["p"].round(1).clip(0.05, 0.95)}
    pd.DataFrame(grades).to_csv(folder / "loans.csv", index=False)
    years = {"risk": frame["p"], "years": 1 + frame["q"] * 9, "died": frame["y"]}
    pd.DataFrame(years).to_csv(folder / "cohort.csv", index=False)
    pd.DataFrame({"p": [0.9, 0.1], "y": [1, 0], "n": [30, 40]}).to_csv(
        folder / "counts.csv", index=False
    )
    attempts = {"task": np.arange(600) // 5, "correct": frame["y"]}
    attempts["model"] = np.where(np.arange(600) % 2, "new", "old")
    pd.DataFrame(attempts).to_csv(folder / "attempts.csv", index=False)
    duels = {"first": ["A", "B", "A"] * 9, "second": ["B", "C", "C"] * 9}
    duels["winner"] = ["A", "C", "tie"] * 9
    pd.DataFrame(duels).to_csv(folder / "duels.csv", index=False)
    (folder / "logs").mkdir()
    for name in ("logs/new.eval", "logs/old.eval", "new.eval", "old.eval"):
        write_evaluation_log(folder / name)


def write_evaluation_log(path, items=40, epochs=5):
    """Write a log of Inspect: one scorer, several attempts at each item."""
    rng = np.random.default_rng(len(path.name))
    head = {"eval": {"model": path.stem, "task": "arithmetic"}}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as log:
        log.writestr("header.json", json.dumps(head))
        for item, epoch in itertools.product(range(items), range(1, epochs + 1)):
            score = {"match": {"value": bool(rng.random() < 0.5 + item / 100)}}
            sample = {"id": f"q{item}", "epoch": epoch, "scores": score}
            log.writestr(f"samples/q{item}_epoch_{epoch}.json", json.dumps(sample))


def write_contracts(folder):
    """Write the contracts that pages show, under the names in their first lines."""
    for page in PAGES:
        for fence in FENCE.finditer(page.read_text(encoding="utf-8")):
            name = re.match(r"# (\w+\.toml)\n", fence[2])
            if name:
                (folder / name[1]).write_text(fence[2], encoding="utf-8")


def before(line):
    """Do what the page leaves to the reader before a command."""
    if "labelled.csv" in line and Path("to_label.csv").exists():
        rows = pd.read_csv("to_label.csv")
        rows["y"] = (np.arange(len(rows)) % 3 == 0).astype(int)
        rows.to_csv("labelled.csv", index=False)
    if "declaration.html" in line and not Path("declaration.html").exists():
        declare = "declare predictions.parquet --label y --score p --by year"
        frame = random_frame().assign(year=lambda rows: 2020 + rows["hospital"] % 3)
        frame.to_parquet("predictions.parquet")
        run(f"trueness {declare} -o declaration.html")
    if (
        "report.html" in line
        and "evaluate" in line
        and not Path("report.html").exists()
    ):
        run("trueness report preds.csv --label y --score p --evidence -o report.html")
    if "state.json" in line and not Path("state.json").exists():
        run(f"trueness {FIRST_WATCH} --at-least 0.7")
    if "rule.json" in line and not Path("rule.json").exists():
        run("trueness threshold preds.csv --label y --score p --save rule.json")
    if "map.json" in line and not Path("map.json").exists():
        run("trueness calibrate last_year.csv --label y --score p --save map.json")


def run(line):
    words = shlex.split(line.partition(" || ")[0], comments=True)[1:]
    return CliRunner().invoke(app, words)


@pytest.mark.slow
@pytest.mark.parametrize("page", COMMANDS, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_in_passing_run(page, tmp_path, monkeypatch):
    write_files(tmp_path)
    write_contracts(tmp_path)
    monkeypatch.chdir(tmp_path)

    failed = {}
    for line in COMMANDS[page]:
        before(line)
        result = run(line)
        # a gate or a watch may say that a requirement does not hold
        verdicts = (0, 4, 5) if line.split()[1] in ("check", "watch") else (0,)
        if result.exit_code not in verdicts:
            failed[line] = result.stderr or result.output

    assert failed == {}


def test_the_commands_are_found():
    lines = [line for page in COMMANDS.values() for line in page]

    assert len(lines) > 40
    assert "trueness apply map.json new.parquet --score p -o scored.parquet" in lines
