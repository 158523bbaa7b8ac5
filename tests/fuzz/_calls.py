"""What can be asked of a public function, and which answers cannot be?

Functions are found by introspection: whoever adds a public one has it fuzzed. Values
for a parameter come from its name, since a word means the same everywhere in Trueness;
the names of a choice are learnt from the sentence that refuses a wrong one.
"""

from __future__ import annotations

import inspect
import json
import math
import re
import warnings
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache

import numpy as np
from hypothesis import strategies as st

import trueness

OURS = (trueness.InputError, trueness.NotEnoughCases, trueness.Infeasible)
DOUBTS = (
    trueness.NotConverged,
    trueness.Optimistic,
    trueness.DoubtfulAssumption,
)
# they read files, write files or draw: the command line is fuzzed for those
ELSEWHERE = {
    *("scan", "read_tally", "read_panel", "save_map", "load_map", "load_watch"),
    "register",
}


@cache
def functions():
    """Find every public function: name to function."""
    found = {n: getattr(trueness, n) for n in trueness.__all__ if n not in ELSEWHERE}
    return {n: f for n, f in sorted(found.items()) if inspect.isfunction(f)}


edge = st.sampled_from(
    [0.0, 1.0, 0.5, -1.0, 5e-324, 1e-310, 1e300, -1e300, 1.7e308, 2.0**-52, 1 / 3]
)
unit = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0, 0.1, 1e-9, 5e-324]))
real = st.one_of(unit, edge, st.floats(allow_nan=False, allow_infinity=False))
count = st.one_of(
    st.integers(0, 3), st.integers(0, 50), st.sampled_from([0, 10**6, 10**12])
)
hostile = st.sampled_from(
    [None, -1, 0, 1, 2.5, math.nan, math.inf, "", "x", b"x", [], {}, (), [None], object]
)


@st.composite
def tallies(draw, score=None):
    """Draw counts of a few scores, on the unit scale or not, labels or not."""
    scale = draw(st.sampled_from([unit, real])) if score is None else score
    score = draw(st.lists(scale, max_size=7))
    size = len(score)
    counts = [draw(st.lists(count, min_size=size, max_size=size)) for _ in range(3)]
    if draw(st.booleans()):
        counts[2] = [0] * size
    return trueness.Tally(score, *counts)


@st.composite
def panels(draw, votes=False):
    """Draw a panel of up to four classifiers; an output may be missing."""
    k, m = draw(st.integers(1, 4)), draw(st.integers(0, 7))
    vote = st.sampled_from([0.0, 1.0])
    output = vote if votes else draw(st.sampled_from([unit, real, vote]))
    if draw(st.integers(0, 3)) == 0:
        output = st.one_of(output, st.just(math.nan))
    rows = [draw(st.lists(output, min_size=k, max_size=k)) for _ in range(m)]
    small = st.integers(0, 40)
    counts = [draw(st.lists(small, min_size=m, max_size=m)) for _ in range(3)]
    names = [f"C{i}" for i in range(k)]
    return trueness.Panel(names, np.array(rows, dtype=float).reshape(m, k), *counts)


# by the word of the parameter; anything else is met with what is hostile
WORDS = {
    "t": tallies(),
    "tally": tallies(),
    "x": st.one_of(tallies(), panels()),
    "panel": panels(),
    "p": panels(),
    "level": st.one_of(st.sampled_from([0.5, 0.95, 0.999]), hostile),
    "rng": st.one_of(st.integers(0, 5), hostile),
    "replicates": st.sampled_from([20, 25, 19, 0, None]),
    "draws": st.sampled_from([100, 200, 0, None]),
    "repeats": st.sampled_from([20, 3, 0]),
    "folds": st.sampled_from([2, 3, 5, 1]),
    "bins": st.sampled_from([1, 2, 10, 15, 0]),
    "prevalence": st.one_of(st.none(), unit, hostile),
    "threshold": st.one_of(st.none(), unit, st.lists(unit, max_size=4), hostile),
    "thresholds": st.one_of(st.none(), unit, st.lists(unit, max_size=4), hostile),
    "n": st.one_of(st.integers(1, 30), hostile),
    "n_pos": st.one_of(st.integers(0, 20), hostile),
    "y": st.one_of(st.integers(0, 20), hostile),
    "auc": st.one_of(unit, hostile),
    "aucs": st.one_of(st.lists(unit, max_size=4), hostile),
    "y_true": st.one_of(st.lists(st.integers(0, 1), max_size=6), hostile),
    "y_score": st.one_of(st.lists(real, max_size=6), hostile),
    "maximize": st.sampled_from(["accuracy", "f1", "precision", "f_beta(1e308)", "x("]),
    "curve": tallies().map(lambda t: _curve(t)),
    "c": tallies().map(lambda t: trueness.sweep(t)),
}


def _curve(t):
    try:
        return trueness.roc(t)
    except OURS:
        return None


@cache
def choices(name, parameter):
    """Learn the names of a choice from the words that refuse a wrong one."""
    function = functions()[name]
    first = next(iter(inspect.signature(function).parameters), None)
    probes = [trueness.Tally([0.2, 0.5, 0.8], [3, 2, 1], [1, 2, 3])]
    probes.append(trueness.simulate_panel(30, 15, [0.7, 0.8, 0.9], rng=0))
    for probe in probes:
        try:
            function(**{first: probe, parameter: "no such choice"})
        except Exception as err:
            if f"{parameter} must be one of" in str(err):
                return tuple(re.findall(r"'([^']+)'", str(err).split("; found")[0]))
    return ()


@st.composite
def questions(draw, name=None):
    """Draw a public function and arguments for it."""
    name = name or draw(st.sampled_from(list(functions())))
    arguments = {}
    for p in inspect.signature(functions()[name]).parameters.values():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        wanted = p.default is p.empty or draw(st.integers(0, 3)) == 0
        costly = p.name in ("replicates", "draws", "repeats")
        if not (wanted or costly):
            continue
        known = choices(name, p.name) if isinstance(p.default, str) else ()
        if known:
            arguments[p.name] = draw(st.sampled_from([*known, "no such choice"]))
        elif p.name in WORDS:
            arguments[p.name] = draw(WORDS[p.name])
        else:
            arguments[p.name] = draw(st.one_of(hostile, tallies(), real))
    return name, arguments


@contextmanager
def only_doubts():
    """Let no warning pass but our own."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for doubt in DOUBTS:
            warnings.simplefilter("ignore", doubt)
        yield


def ask(name, arguments):
    """Ask; give the answer, or None where it was refused in words of our own."""
    with only_doubts():
        try:
            return functions()[name](**arguments)
        except OURS as err:
            words = str(err)
    assert words.strip()[-1:] in ".?!)'\"", f"no sentence: {words}"
    return None


def judge(answer, where="answer"):
    """Say what cannot be, by an assertion."""
    if isinstance(answer, dict):
        for key, value in answer.items():
            judge(value, f"{where}[{key!r}]")
        return
    if hasattr(answer, "low") and hasattr(answer, "high") and hasattr(answer, "value"):
        _interval(answer, where)
    if is_dataclass(answer) and not isinstance(answer, type):
        for f in fields(answer):
            if not f.name.startswith("_"):
                judge(getattr(answer, f.name), f"{where}.{f.name}")
    if isinstance(answer, trueness.Roc):
        for name in ("fpr", "tpr"):
            value = getattr(answer, name)
            assert (np.diff(value) >= 0).all(), f"{where}.{name} falls"
            assert ((value >= 0) & (value <= 1)).all(), f"{where}.{name} leaves 0 to 1"


def _interval(e, where):
    low, value, high = (
        float(np.asarray(v)) if np.ndim(v) == 0 else None
        for v in (e.low, e.value, e.high)
    )
    if None in (low, value, high) or math.isnan(value):
        return
    assert low == low, f"{where}: {e!r}"
    assert high == high, f"{where}: {e!r}"
    assert low <= value <= high, f"{where}: {e!r}"


def shows_itself(answer):
    """An answer can be printed, and is JSON."""
    repr(answer)
    if hasattr(answer, "to_dict"):
        json.loads(json.dumps(answer.to_dict(), allow_nan=False))


def as_plain(answer):
    """Give what two equal answers have in common."""
    if isinstance(answer, dict):
        return {k: as_plain(v) for k, v in answer.items()}
    return answer.to_dict() if hasattr(answer, "to_dict") else repr(answer)
