"""The format of counts: what docs/counts.md says is what is read."""

import json
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import trueness
from trueness import InputError
from trueness.cli import app

ROOT = Path(__file__).parents[2]
CONFORMANCE = json.loads((ROOT / "docs" / "counts.conformance.json").read_text())
READER = ROOT / "docs" / "counts.mjs"


def seen(t):
    """Give the rows of a tally in the form of the conformance file."""
    names = ("score", "high", "neg", "pos", "unknown")
    columns = [getattr(t, k) for k in names] + (list(t.squares) if t.weighted else [])
    rows = zip(*(c.tolist() for c in columns), strict=True)
    out = {"design": asdict(t.design), "rows": [list(r) for r in rows]}
    if t.clusters is not None:
        cells = zip(t.clusters.row, t.clusters.code, *t.clusters.counts, strict=True)
        out["cells"] = [
            [int(r), t.clusters.names[c].item(), *(v.item() for v in counts)]
            for r, c, *counts in cells
        ]
    return out


def meant(case):
    return {"design": asdict(trueness.Tally().design), **case["means"]}


def write(case, folder):
    path = folder / f"counts.{case['kind']}"
    if case["kind"] == "parquet":
        pq.write_table(pa.table(case["columns"]), path)
    else:
        path.write_text(case["text"], encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize("case", CONFORMANCE, ids=lambda c: c["name"])
def test_read_tally_passes_the_conformance_file(case, tmp_path):
    path = write(case, tmp_path)
    if "error" in case:
        with pytest.raises(InputError):
            trueness.read_tally(path)
        return
    assert seen(trueness.read_tally(path)) == meant(case)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("case", CONFORMANCE, ids=lambda c: c["name"])
def test_the_reader_in_javascript_reads_the_same(case, tmp_path):
    path = write(case, tmp_path)
    made = subprocess.run(["node", READER, path], capture_output=True, text=True)
    assert bool(made.returncode) == ("error" in case), made.stderr
    if "error" not in case:
        assert json.loads(made.stdout) == meant(case)


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
@pytest.mark.parametrize("weight", [None, [1, 2.5, 1, 0.1]])
@pytest.mark.parametrize("cluster", [None, [2, 7, 2, 7], ["7", "07\n", 'a"', "ü"]])
def test_every_kind_of_file_holds_exactly_the_value(tmp_path, ending, weight, cluster):
    s = [0.1 + 0.2, -1e300, 5e-324, 1 / 3]
    t = trueness.tally([1, 0, None, 1], s, weight=weight, cluster=cluster)
    for k, x in enumerate([t, t.coarse(2), trueness.Tally()]):
        x.write(tmp_path / f"{k}.{ending}")
        assert trueness.read_tally(tmp_path / f"{k}.{ending}") == x
    designed = t.with_design(prevalence=0.1, sampling="case-control")
    designed.write(path := tmp_path / f"d.{ending}")
    assert trueness.read_tally(path) == designed
    assert trueness.tally(trueness.scan(path)) == designed


COMMANDS = (
    ["look", "FILE"],
    ["evaluate", "FILE"],
    ["evaluate", "FILE", "--label", "y", "--score", "p"],
    ["threshold", "FILE", "--maximize", "f1"],
    ["calibrate", "FILE"],
    ["report", "FILE", "-o", "report.html"],
    ["check", "--init", "FILE", "-o", "quality.toml"],
    ["check", "quality.toml", "FILE"],
    ["watch", "state.json", "FILE", "--metric", "auc", "--at-least", "0.6"],
    ["watch", "state.json", "FILE", "--name", "again"],
)


def test_every_command_takes_counts_in_place_of_predictions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    s = np.round(rng.random(900), 2)
    t = trueness.tally((rng.random(900) < s).astype(int), s)
    t.write("counts.csv")
    for command in COMMANDS:
        typed = ["counts.csv" if word == "FILE" else word for word in command]
        made = CliRunner().invoke(app, typed)
        assert made.exit_code == 0, (typed, made.output)
        assert command[0] == "look" or "900 cases" in made.stdout
    auc = trueness.auc(t)
    for ending in ("json", "parquet"):
        t.write(f"counts.{ending}")
        made = CliRunner().invoke(app, ["evaluate", f"counts.{ending}", "--json"])
        found = json.loads(made.stdout)["result"]["scores"]["score"]["auc"]
        assert (found["value"], found["low"]) == (auc.value, auc.low)


def test_a_mapping_of_columns_holds_counts_too():
    columns = {"SCORE": [2, 1, 2], "NEG": [1, 0, 1], "POS": [0, 10**15, 0]}
    columns |= {"UNKNOWN": [0, 0, 0], "site": ["a", "a", "b"], "prevalence": [0.5] * 3}
    whole = trueness.tally(columns)
    assert whole.n_pos == 10**15
    assert whole.design.prevalence == 0.5
    assert sum(trueness.tally(columns, by="site").values(), trueness.Tally()) == whole
    assert trueness.auc(whole).value == 0
    columns["prevalence"] = [0.5, 0.1, 0.5]
    with pytest.raises(InputError, match="same in every row"):
        trueness.tally(columns)


@pytest.mark.parametrize("at_least", [1, 5, 11, 40])
@pytest.mark.parametrize("seed", range(3))
def test_shared_counts_are_none_or_many(seed, at_least):
    rng = np.random.default_rng(seed)
    y = rng.choice([0.0, 1.0, np.nan], 900, p=[0.7, 0.2, 0.1])
    s = np.round(rng.normal(size=900) + np.nan_to_num(y), rng.integers(0, 4))
    t = trueness.tally(y, s)
    small = t.share(at_least)
    assert all(((c == 0) | (c >= at_least)).all() for c in small.counts)
    assert [c.sum() for c in small.counts] == [c.sum() for c in t.counts]
    assert {*small.score, *small.high} <= set(t.score)
    assert (t.share(1) == t) or at_least > 1
    if small.binned:
        low, high = trueness.auc(small.labelled()).limits
        assert low <= trueness.auc(t.labelled()).value <= high


def test_shared_weights_stand_for_as_many_cases():
    rng = np.random.default_rng(3)
    y, s, w = rng.integers(0, 2, 500), rng.normal(size=500), rng.random(500)
    shared = trueness.tally(y, s, weight=w).share(11)
    for low, high in zip(shared.score, shared.high, strict=True):
        inside = (s >= low) & (s <= high)
        for kind in (0, 1):
            assert np.count_nonzero(inside & (y == kind)) in {0, *range(11, 501)}
    even = trueness.tally(y, s, weight=np.full(500, 0.1)).share(11)
    assert len(even) == len(trueness.tally(y, s).share(11))
    assert len(trueness.Tally().share()) == 0
    with pytest.raises(InputError, match="none or at least 11"):
        trueness.Tally([1, 2], neg=[50, 50], pos=[0, 10]).share()
    with pytest.raises(InputError, match="without_clusters"):
        trueness.tally([0, 1, 0, 1], [1, 2, 3, 4], cluster=[1, 1, 2, 2]).share(1)
