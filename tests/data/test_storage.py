"""Files of counts: docs/counts.md is what is read, and what is written is read back."""

import json
import shutil
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import trueness
from trueness import InputError
from trueness._core.files import replacing
from trueness.cli import app
from trueness.data import storage


@pytest.fixture
def tally():
    return trueness.tally([1, 0, None, 1], [0.1 + 0.2, -1e300, 5e-324, 0.3])


@pytest.fixture
def panel():
    outputs = {"neg": [0.1, np.nan, 3], "</script>": [1, 2, 3]}
    return trueness.panel([1, None, 0], outputs)


@pytest.mark.parametrize("cluster", [None, ["a", "b", "a", "b"], [2, 7, 2, 7]])
@pytest.mark.parametrize("weight", [None, [1, 2.5, 1, 0.5]])
def test_a_file_holds_exactly_a_panel_with_its_design(tmp_path, cluster, weight):
    path = tmp_path / "p.parquet"
    scores = [0.3, 0.2, np.nan, 0.1]
    designed = trueness.panel(
        [1, 0, None, 1],
        {"neg": scores, "b": scores[::-1]},
        cluster=cluster,
        weight=weight,
        prevalence=0.1,
        sampling="case-control",
    )

    designed.write(str(path))

    assert trueness.read_panel(path) == designed


def test_a_file_holds_exactly_a_panel_with_odd_names(tmp_path, panel):
    path = tmp_path / "p.parquet"

    panel.write(path)

    assert trueness.read_panel(path) == panel


def test_shards_are_plain_parquet_with_versioned_metadata_and_merge(tmp_path, tally):
    for k, part in enumerate([tally, tally.without_labels()]):
        part.write(tmp_path / f"{k}.parquet")
    files = sorted(tmp_path.glob("*.parquet"))
    assert sum(trueness.read_tally(f) for f in files) == tally + tally.without_labels()

    table = pq.read_table(files[0])
    assert table.column_names == ["score", "neg", "pos", "unknown"]

    about = json.loads(table.schema.metadata[b"trueness"])
    assert about == {"version": 1, "kind": "tally"}

    trueness.tally([1, 0], [0.3, 0.2], cluster=[1, 2]).write(files[0])
    columns = pq.read_table(files[0]).column_names
    assert columns[:5] == ["score", "cluster", "neg", "pos", "unknown"]


def test_files_that_cannot_be_read(tmp_path, tally, panel):
    panel.write(tmp_path / "p.parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    (tmp_path / "text.parquet").write_text("hello")
    tally.write(tmp_path / "t.parquet")
    cut = (tmp_path / "t.parquet").read_bytes()[:-20]
    (tmp_path / "cut.parquet").write_bytes(cut)
    storage.write_columns(
        {"a": [1]}, {"kind": "tally", "version": 99}, tmp_path / "new.parquet"
    )

    (tmp_path / "x.csv").write_text("y,p\n1,0.5\n")

    for name, message in [
        ("p.parquet", "holds a panel. Type trueness.read_panel"),
        ("x.csv", "must have the columns score, neg"),
        ("other.parquet", "does not hold counts that Trueness wrote"),
        ("text.parquet", "cannot be read"),
        ("cut.parquet", "cannot be read"),
        ("none.parquet", "There is no file"),
        ("new.parquet", "has format 99; this Trueness reads up to 1"),
    ]:
        with pytest.raises(InputError, match=message):
            trueness.read_tally(tmp_path / name)
    with pytest.raises(InputError, match="Make the folder first"):
        tally.write(tmp_path / "no" / "t.parquet")


HELD = {"score": [0.9, 0.1], "neg": [0, 2], "pos": [1, 0], "unknown": [0, 0]}
DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    "text",
    [
        *(DEEP, '{"columns": ' + DEEP + "}", "[]", "1", "{}"),
        json.dumps({"columns": 1}),
        *(
            json.dumps({"columns": HELD | {"score": v}})
            for v in (1, "x", None, [], [1], [[1, 2], [3]], {}, ["a", "b"])
        ),
        *(json.dumps({"columns": HELD | {"neg": [v, 1]}}) for v in (-1, "x", [])),
        *(json.dumps({"columns": HELD, "version": v}) for v in ("x", None, [], -1)),
        *(json.dumps({"columns": HELD, "design": v}) for v in (1, [1], "x")),
        json.dumps({"columns": HELD, "trueness": "rule"}),
        json.dumps({"columns": HELD | {f"{k}_squares": [9, 9] for k in
                                       ("neg", "pos", "unknown")}}),
    ],
    ids=lambda text: text[:80],
)  # fmt: skip
def test_forged_counts_get_a_sentence(tmp_path, text):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(InputError, match=r"[.]$"):
        trueness.read_tally(tmp_path / "t.json")


def rewrite_panel_file(path, *, columns=None, description=None):
    """Write another value into columns of a file, and into what it says of itself."""
    original = pq.read_table(path)
    statements = json.loads(original.schema.metadata[b"trueness"])
    statements |= description or {}

    values = {name: original[name] for name in original.column_names}
    for name, forged_value in (columns or {}).items():
        values[name] = pa.array([forged_value] * len(original))

    metadata = {"trueness": json.dumps(statements)}
    pq.write_table(pa.table(values).replace_schema_metadata(metadata), path)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("neg", -1),
        ("neg", 0.5),
        ("neg", "x"),
        ("neg", None),
        ("neg", True),
        ("neg", 2**62),
        ("output_0", "x"),
        ("output_0", np.inf),
        ("output_0", [1]),
    ],
)
def test_a_panel_with_a_forged_column_gets_a_sentence(tmp_path, panel, column, value):
    path = tmp_path / "p.parquet"
    panel.write(path)
    rewrite_panel_file(path, columns={column: value})

    with pytest.raises(InputError, match=r"[.]$"):
        trueness.read_panel(path)


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        ("names", 1),
        ("names", "x"),
        ("names", []),
        ("names", ["a", "a"]),
        ("names", ["a"]),
        ("names", [1, 2]),
        ("version", "x"),
        ("version", [1]),
        ("design", "x"),
        ("design", [1]),
        ("kind", "x"),
        ("kind", [1]),
    ],
)
def test_a_panel_with_a_forged_statement_gets_a_sentence(
    tmp_path, panel, statement, value
):
    path = tmp_path / "p.parquet"
    panel.write(path)
    rewrite_panel_file(path, description={statement: value})

    with pytest.raises(InputError, match=r"[.]$"):
        trueness.read_panel(path)


@pytest.mark.parametrize("score", [0.5, "a" * 2**20])
def test_a_small_file_of_huge_counts_is_not_read(tmp_path, score):
    rows = 10_000_000 if score == 0.5 else 2_000
    code = pa.array(np.zeros(rows, np.int32))
    counts = pa.array(np.zeros(rows, np.int64))
    columns = {"score": pa.DictionaryArray.from_arrays(code, pa.array([score]))}
    columns |= dict.fromkeys(("neg", "pos", "unknown"), counts)

    pq.write_table(pa.table(columns), tmp_path / "t.parquet", compression="zstd")

    with pytest.raises(InputError, match="more than 100 times its size"):
        trueness.read_tally(tmp_path / "t.parquet")


WRITER = """
import itertools, sys, trueness
from trueness._core.files import replacing
t = trueness.Tally(range(20_000), pos=[1] * 20_000)
print("ready", flush=True)
for k in itertools.count():
    with replacing(sys.argv[1]) as temporary:
        temporary.write_text("x" * 200_000)
    t.write(sys.argv[2])
"""


@pytest.mark.slow
def test_killed_writers_leave_no_half_file_and_nothing_behind(tmp_path):
    paths = [str(tmp_path / name) for name in ("a.svg", "t.parquet")]
    for k in range(8):
        command = [sys.executable, "-c", WRITER, *paths]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            process.stdout.readline()
            time.sleep(0.01 + 0.013 * k)
            process.kill()
        for whole in tmp_path.glob("a.svg"):
            assert whole.read_text() == "x" * 200_000
        for whole in tmp_path.glob("t.parquet"):
            assert trueness.read_tally(whole).n == 20_000

    with replacing(tmp_path / "b.txt") as alive:
        alive.write_text("b")
        with replacing(tmp_path / "c.txt") as temporary:
            temporary.write_text("c")
        assert alive.exists()  # whoever lives keeps his file
    known = {"a.svg", "t.parquet", "b.txt", "c.txt"}
    assert {p.name for p in tmp_path.iterdir()} <= known


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
    result = subprocess.run(["node", READER, path], capture_output=True, text=True)
    assert bool(result.returncode) == ("error" in case), result.stderr
    if "error" not in case:
        assert json.loads(result.stdout) == meant(case)


FORMATS_OF_COUNTS = pytest.mark.parametrize("ending", ["csv", "json", "parquet"])


@pytest.fixture(params=["cases", "weights"])
def weight(request):
    return [1, 2.5, 1, 0.1] if request.param == "weights" else None


@pytest.fixture(params=["none", "numbers", "odd names"])
def cluster(request):
    names = {
        "none": None,
        "numbers": [2, 7, 2, 7],
        "odd names": ["7", "07\n", 'a"', "ü"],
    }
    return names[request.param]


@pytest.fixture
def extreme_tally(weight, cluster):
    scores = [0.1 + 0.2, -1e300, 5e-324, 1 / 3]
    return trueness.tally([1, 0, None, 1], scores, weight=weight, cluster=cluster)


@FORMATS_OF_COUNTS
def test_every_kind_of_file_holds_exactly_the_tally(tmp_path, extreme_tally, ending):
    path = tmp_path / f"tally.{ending}"

    for tally in (extreme_tally, extreme_tally.bin(2), trueness.Tally()):
        tally.write(path)
        assert trueness.read_tally(path) == tally


@FORMATS_OF_COUNTS
def test_every_kind_of_file_holds_the_design(tmp_path, extreme_tally, ending):
    path = tmp_path / f"tally.{ending}"
    tally = extreme_tally.with_design(prevalence=0.1, sampling="case-control")

    tally.write(path)

    assert trueness.read_tally(path) == tally
    assert trueness.tally(trueness.scan(path)) == tally


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
        result = json.loads(made.stdout)["result"]["scores"]["score"]["auc"]
        assert (result["value"], result["low"]) == (auc.value, auc.low)


def test_a_mapping_of_columns_holds_counts_too():
    columns = {"SCORE": [2, 1, 2], "NEG": [1, 0, 1], "POS": [0, 10**15, 0]}
    columns |= {"UNKNOWN": [0, 0, 0], "site": ["a", "a", "b"], "prevalence": [0.5] * 3}
    all_cases = trueness.tally(columns)

    assert all_cases.n_pos == 10**15
    assert all_cases.design.prevalence == 0.5
    assert (
        sum(trueness.tally(columns, by="site").values(), trueness.Tally()) == all_cases
    )
    assert trueness.auc(all_cases).value == 0

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

    small = t.suppress_small_counts(at_least)

    assert all(((c == 0) | (c >= at_least)).all() for c in small.counts)
    assert [c.sum() for c in small.counts] == [c.sum() for c in t.counts]
    assert {*small.score, *small.high} <= set(t.score)
    assert (t.suppress_small_counts(1) == t) or at_least > 1
    if small.binned:
        low, high = trueness.auc(small.labelled()).bounds
        assert low <= trueness.auc(t.labelled()).value <= high


def test_shared_weights_stand_for_as_many_cases():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 500)
    s = rng.normal(size=500)
    w = rng.random(500)
    shared = trueness.tally(y, s, weight=w).suppress_small_counts(11)

    for low, high in zip(shared.score, shared.high, strict=True):
        inside = (s >= low) & (s <= high)
        for kind in (0, 1):
            assert np.count_nonzero(inside & (y == kind)) in {0, *range(11, 501)}

    even = trueness.tally(y, s, weight=np.full(500, 0.1)).suppress_small_counts(11)
    assert len(even) == len(trueness.tally(y, s).suppress_small_counts(11))
    assert len(trueness.Tally().suppress_small_counts()) == 0
    with pytest.raises(InputError, match="number 0 or at least 11"):
        trueness.Tally([1, 2], neg=[50, 50], pos=[0, 10]).suppress_small_counts()
    with pytest.raises(InputError, match="without_clusters"):
        trueness.tally(
            [0, 1, 0, 1], [1, 2, 3, 4], cluster=[1, 1, 2, 2]
        ).suppress_small_counts(1)
