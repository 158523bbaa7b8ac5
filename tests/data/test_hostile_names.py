"""A name is an identifier, whatever it contains."""

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest

import trueness

NAMES = [
    *("*", "COLUMNS(*)", "COLUMNS('p.*')", "^p.*$", "a.b", "x[0]", "line\nbreak"),
    *('a "quoted" name', "'single'", "`tick`", "score", "label", "cases", "bin"),
    *("column_0", " ", "--", "?", "$1", "%s", "a,b", "select", "é", "{x}", "\\"),
]


@pytest.fixture
def columns(rng):
    result = {name: rng.integers(0, 9, 40) / 8 for name in NAMES}
    return {"y*": rng.integers(0, 2, 40), "by.[*]": rng.integers(0, 3, 40), **result}


def test_tallies_and_groups(engine, columns):
    frame = engine(columns)
    few = NAMES if "spark" not in type(frame).__module__ else NAMES[:8]
    for name in few:
        known = trueness.tally(columns["y*"], columns[name])
        tally = trueness.tally(frame, label="y*", score=name)
        assert tally == known, name

    name = "*"
    by = trueness.tally(frame, label="y*", score=name, by="by.[*]")
    assert sum(by.values()) == trueness.tally(columns["y*"], columns[name])

    bins = trueness.tally(frame, label="y*", score=name, at_most=3)
    assert bins.n == 40

    counted = trueness.tally(frame, label="y*", score=name, count="by.[*]")
    times = columns["by.[*]"]
    assert counted == trueness.tally(columns["y*"], columns[name], count=times)

    leaves = trueness.leaves(frame, node=name, label="y*")
    assert leaves == trueness.leaves(columns["y*"], columns[name])


def test_panels_and_maps(engine, columns):
    frame = engine(columns)
    names = ["*", "a.b", "^p.*$", "`tick`"]
    panel = trueness.panel(frame, label="y*", scores=names)
    same = {n: columns[n] for n in names}

    assert panel == trueness.panel(columns["y*"], same)

    t = trueness.tally(columns["y*"], columns["*"])
    platt = trueness.calibrate(t, method="platt")
    for made in (
        trueness.apply(frame, platt, "*", name="COLUMNS(new)"),
        trueness.apply(frame, trueness.mean_score(panel), name="COLUMNS(new)"),
    ):
        rows = nw.from_native(made)
        rows = rows.collect("pyarrow") if isinstance(rows, nw.LazyFrame) else rows
        assert rows.columns == [*columns, "COLUMNS(new)"]
        assert rows.shape[0] == 40
        order = np.lexsort([np.asarray(rows.get_column(n).to_list()) for n in NAMES])
        known = np.lexsort([columns[n] for n in NAMES])
        back = np.asarray(rows.get_column("a.b").to_list())[order]
        assert back.tolist() == columns["a.b"][known].tolist()


def test_exact_passes(lazy_engine, columns):
    frame = lazy_engine(columns)
    t = trueness.tally(columns["y*"], columns["*"])
    named = {"label": "y*", "score": "*"}

    assert trueness.exact_auc(frame, **named).value == trueness.auc(t).value

    best = trueness.exact_threshold(frame, **named, at_most=3, batch=10, maximize="f1")
    assert best.value == trueness.best_threshold(t, maximize="f1").value


def test_columns_of_pandas_may_be_numbered(rng):
    ratings = pd.DataFrame(rng.integers(0, 3, (30, 3)))
    attempts = pd.DataFrame({"task": ["a", "b"], 3: [1, 2], "passed": [1, 0]})

    agreement = trueness.rater_agreement(ratings)
    counted = trueness.attempts(attempts, item="task", passed="passed")

    assert -1 <= agreement.value <= 1
    assert counted.tried.sum() == 2
