"""A state that was damaged, forged or killed: a sentence, and nothing is lost."""

import copy
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import trueness
from shell import run

GOOD = trueness.Tally([0.9, 0.1], neg=[20, 180], pos=[88, 12], unknown=[3, 4])
VOTES = trueness.Panel(
    ["a", "b"], [[1, 1], [1, np.nan], [0, 0]], [2, 1, 9], [8, 3, 1], [4, 0, 5]
)
WATCHES = {
    "share": ({"metric": "recall", "threshold": 0.5, "at_least": 0.8}, GOOD),
    "auc": ({"metric": "auc", "at_least": 0.6}, GOOD),
    "brier": ({"metric": "brier", "at_most": 0.4}, GOOD),
    "calibration": ({"metric": "calibration"}, GOOD),
    "scores": ({"metric": "scores", "baseline": GOOD}, GOOD),
    "judges": ({"metric": "prevalence", "judges": ["a", "b"], "at_least": 0.2}, VOTES),
    "groups": (
        {"metric": "auc", "at_least": 0.6, "by": "site"},
        {"x": GOOD, "y": GOOD},
    ),
    "at 1": ({"metric": "recall", "threshold": 0.5, "at_least": 1.0}, GOOD),
}


def held(kind, path):
    options, batch = WATCHES[kind]
    w = trueness.watch(**options)
    w.update(batch, name="one").update(batch, name="two").save(path)
    return batch


def test_evidence_beyond_measure_is_kept(tmp_path):
    file = tmp_path / "state.json"
    w = trueness.watch("recall", threshold=0.5, at_least=0.9)
    w.update(np.ones(5000), np.zeros(5000)).save(file)
    assert trueness.load_watch(file).evidence == w.evidence > 1e300


@pytest.mark.parametrize("kind", WATCHES)
def test_a_state_is_strict_json(kind, tmp_path):
    held(kind, tmp_path / "w.json")

    def refused(word):
        raise AssertionError(word)

    json.loads((tmp_path / "w.json").read_text(), parse_constant=refused)


ODD = (None, -1, 2.5, "x", [], {}, [None], {"a": None}, True, 10**400, [[1, 2]])


def places(x, path=()):
    """Find every place in nested values: a path to it."""
    inside = x.items() if isinstance(x, dict) else enumerate(x[:2])
    for key, value in inside:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def forged(all_cases, path, value):
    result = copy.deepcopy(all_cases)
    at = result
    for key in path[:-1]:
        at = at[key]
    if value is ODD:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return result


@pytest.mark.parametrize("kind", ["share", "auc", "scores", "judges", "groups"])
def test_a_forged_state_is_refused_or_goes_on(kind, tmp_path):
    """Any one place taken away or given another value, and then used."""
    path = tmp_path / "w.json"
    batch = held(kind, path)
    state = json.loads(path.read_text())
    rng = np.random.default_rng(0)
    refused = 0

    for where in places(state):
        for value in (ODD, *rng.permutation(np.array(ODD, dtype=object))[:2]):
            path.write_text(json.dumps(forged(state, where, value)))
            try:
                w = trueness.load_watch(path)
                repr(w)
                w.update(batch, name="two").update(batch, name="three").save(path)
            except trueness.InputError:
                refused += 1

    assert refused > 50


@pytest.mark.parametrize("ending", ["json", "parquet"])
@pytest.mark.parametrize("kind", ["share", "groups"])
def test_a_state_cut_off_anywhere_is_refused_and_left_alone(kind, ending, tmp_path):
    path = tmp_path / f"w.{ending}"
    held(kind, path)
    content = path.read_bytes()
    pd.DataFrame({"y": [0, 1], "p": [0.1, 0.9]}).to_csv(tmp_path / "b.csv", index=False)

    for size in np.linspace(0, len(content) - 1, 12).astype(int):
        path.write_bytes(content[:size])
        with pytest.raises(trueness.InputError, match="not the state of a watch"):
            trueness.load_watch(path)

    said = run("watch", path, tmp_path / "b.csv", "--label", "y", "-s", "p")
    assert said.exit_code == 2, said.exception
    assert "not the state of a watch" in said.stderr
    assert path.read_bytes() == content[: len(content) - 1]
    assert {p.name for p in tmp_path.iterdir()} == {path.name, "b.csv"}


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"trueness": "watch", "version": 1, "about": 3}', "\0", "1"],
)
def test_bombs_and_scraps(text, tmp_path):
    path = tmp_path / "w.json"
    path.write_text(text)
    with pytest.raises(trueness.InputError, match="state of a watch"):
        trueness.load_watch(path)


@pytest.mark.parametrize("depth", [1, 400])
def test_groups_in_groups_are_refused(depth, tmp_path):
    path = tmp_path / "w.json"
    held("groups", path)
    state = whole = json.loads(path.read_text())
    for _ in range(depth):
        state = whole | {"groups": {"x": state}}

    path.write_text(json.dumps(state))

    with pytest.raises(trueness.InputError, match="groups of group 'x'"):
        trueness.load_watch(path)


@pytest.mark.parametrize(
    "description", [b"[]", b"1", b"{}", b"[" * 100_000, b'{"kind": []}']
)
def test_a_forged_table_of_a_watch_gets_a_sentence(description, tmp_path):
    path = tmp_path / "w.parquet"
    held("share", path)
    table = pq.read_table(path).replace_schema_metadata({"trueness": description})

    pq.write_table(table, path)

    with pytest.raises(trueness.InputError, match="not the state of a watch"):
        trueness.load_watch(path)


@pytest.mark.slow
def test_jobs_at_once_lose_nothing(tmp_path):
    """Batches of a process each, at the same time: all of them are counted."""
    state = tmp_path / "state.json"
    for k in range(4):
        rows = {"y": [0, 1] * 20, "p": [0.1, 0.9] * 19 + [0.9, k / 10]}
        pd.DataFrame(rows).to_csv(tmp_path / f"{k}.csv", index=False)
    columns = ["--label", "y", "--score", "p"]
    begin = ["--metric", "recall", "--threshold", "0.5", "--at-least", "0.5"]
    words = ["watch", str(state), str(tmp_path / "0.csv"), *columns, *begin]

    assert run(*words).exit_code == 0

    code = "import sys; from trueness.cli import app; app(sys.argv[1:])"
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", code, *words[:2], f"{tmp_path}/{k}.csv", *columns],
            stdout=subprocess.DEVNULL,
        )
        for k in (1, 2, 3)
    ]
    assert [job.wait() for job in jobs] == [0, 0, 0]
    assert trueness.load_watch(state).looks == 4
    assert {p.name for p in tmp_path.iterdir()} == {
        "state.json",
        *(f"{k}.csv" for k in range(4)),
    }
