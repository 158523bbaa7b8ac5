"""What can be asked of a public function, and which answers cannot be?

Functions are found by introspection: whoever adds a public one has it fuzzed. Values
for a parameter come from its name, since a word means the same everywhere in Trueness;
the names of a choice are learnt from the sentence that refuses a wrong one.
"""

from __future__ import annotations

import copy
import inspect
import json
import math
import pickle
import warnings
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st
from scipy import sparse

import trueness

OURS = (trueness.InputError, trueness.NotEnoughCases, trueness.Infeasible)
DOUBTS = (
    trueness.NotConvergedWarning,
    trueness.OptimisticWarning,
    trueness.DoubtfulAssumptionWarning,
)
# it enters what it is given into a registry, for the rest of the process
CHANGES_THE_PROCESS = {"register"}


@cache
def functions():
    """Find everything public that can be asked: name to function.

    Functions, metrics, the two values themselves, and what the values can do.
    """
    found = {n: getattr(trueness, n) for n in trueness.__all__}
    for kind in (trueness.Tally, trueness.Panel):
        for n in dir(kind):
            found[f"{kind.__name__}.{n}"] = getattr(kind, n)
    asked = {n: f for n, f in sorted(found.items()) if _is_asked(n, f)}
    return {n: f for n, f in asked.items() if n not in CHANGES_THE_PROCESS}


def _is_asked(name, thing):
    values = (trueness.Tally, trueness.Panel)
    known = inspect.isfunction(thing) or isinstance(thing, trueness.records.Metric)
    return (known or thing in values) and not name.split(".")[-1].startswith("_")


# what hostile values, and the calls of the corpus, are written in
SCOPE = {"trueness": trueness, "np": np, "math": math, "pd": pd, "pl": pl, "pa": pa}
SCOPE |= {"sparse": sparse, "Decimal": Decimal, "Fraction": Fraction}
edge = st.sampled_from(
    [0.0, 1.0, 0.5, -1.0, 5e-324, 1e-310, 1e300, -1e300, 1.7e308, 2.0**-52, 1 / 3]
)
unit = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0, 0.1, 1e-9, 5e-324]))
real = st.one_of(unit, edge, st.floats(allow_nan=False, allow_infinity=False))
count = st.one_of(
    st.integers(0, 3), st.integers(0, 50), st.sampled_from([0, 10**6, 10**12])
)
# each made anew: what is given must not be changed, and lists could be
hostile = st.sampled_from(
    [
        *("None", "-1", "0", "1", "2.5", "math.nan", "math.inf", "-math.inf", "True"),
        *("''", "'x'", "'*'", "'\\0'", "b'x'", "'1'"),
        *("[]", "{}", "()", "[None]", "[[]]"),
        *("object()", "10**400", "-(10**400)", "1j", "set()", "range(3)", "[1, [2]]"),
        *("np.array([])", "np.array(['a'])", "np.float32(0.5)", "np.datetime64('nat')"),
        *("{'a': None}", "{'a': 1}", "slice(None)", "'no/such.json'", "'auto'"),
        *("int", "[int]", "1e-320", "'x' * 5000", "'\\ud800'", "{(1,): 2, 3: 4}"),
        *("np.array([1j])", "np.zeros(2, 'V4')", "np.zeros((2, 2))", "np.array(0.5)"),
        *("np.ma.array([1, 2], mask=[0, 1])", "memoryview(b'ab')", "(0.8, 0.2)"),
        *("pd.NA", "pd.Series([0, 1])", "pd.Series(['a', 'b'], dtype='category')"),
        *("pd.Series([1, None], dtype='Int64')", "pd.DataFrame({'y': [0, 1]})"),
        *("pl.Series([0.5])", "pl.LazyFrame({'y': [0]})", "pl.Series([[1], [2]])"),
        *("pa.array([0.5])", "pa.chunked_array([[1], [2]])", "pa.array([{'a': 1}])"),
        *("sparse.csr_matrix([[0.5, 0.5]])", "Decimal('0.5')", "Fraction(1, 3)"),
    ]
).map(lambda text: eval(text, SCOPE))  # noqa: S307 - from above
# names that mean something to SQL, to a shell, to Narwhals or to our own code
ODD_NAMES = (
    *("y", "p", "*", 'a"b', "a'b", "COLUMNS(*)", "a.b", "a[0]", "x\ny", "", " ", "é"),
    *("\0", "\N{GRINNING FACE}", "y; DROP TABLE t", "--", "label", "score", "count"),
    *("neg", "pos", "unknown", "positive", "values", "what", "by", "SELECT", "%s"),
    "{y}",
)
odd_name = st.sampled_from(ODD_NAMES)


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


labels = st.one_of(
    st.integers(0, 1),
    st.sampled_from([0, 1, None, math.nan]),
    st.sampled_from(["yes", "no"]),
    st.sampled_from([0, 1, 2, "x", None, (), []]),
)


@st.composite
def designs(draw, n):
    """Draw how the cases were sampled: most often nothing is said of it."""
    size = {"min_size": n, "max_size": n}
    arguments = {
        "weight": st.one_of(st.lists(unit, **size), hostile),
        "cluster": st.one_of(st.lists(st.sampled_from("abcd"), **size), hostile),
        "sampling": st.one_of(st.sampled_from(["cohort", "case-control"]), hostile),
        "prevalence": st.one_of(unit, hostile),
        "unlabelled": st.sampled_from(["left out", "missing at random", "x"]),
    }
    return {
        word: draw(values)
        for word, values in arguments.items()
        if draw(st.integers(0, 5)) == 0
    }


@st.composite
def data(draw, takes):
    """Draw cases, as arrays or as a frame of hostile names, for an analysis."""
    n = draw(st.integers(0, 8))
    scores = st.lists(draw(st.sampled_from([unit, real])), min_size=n, max_size=n)
    label = draw(st.lists(labels, min_size=n, max_size=n))
    first = draw(scores)
    second = draw(scores)

    words = {}
    if draw(st.integers(0, 3)) == 0:
        words["positive"] = draw(st.one_of(labels, hostile))
    words |= draw(designs(n))
    if draw(st.integers(0, 3)) == 0:
        words["by"] = draw(st.lists(st.sampled_from("uv"), min_size=n, max_size=n))

    if draw(st.booleans()):
        scores_given = first if takes == "tally" else {"A": first, "B": second}
        return (label, scores_given), words

    names = draw(st.lists(odd_name, min_size=4, max_size=4, unique=True))
    name_of_label, name_of_first, name_of_second, name_of_group = names
    columns = {
        name_of_label: label,
        name_of_first: first,
        name_of_second: second,
        name_of_group: words.get("by", label),
    }
    words["label"] = name_of_label
    for word in ("by", "cluster"):
        if word in words:
            words[word] = name_of_group
    if "weight" in words:
        words["weight"] = name_of_second
    if takes == "tally":
        words["score"] = name_of_first
    else:
        words["scores"] = [name_of_first, name_of_second]
    library = draw(st.sampled_from(["dict", "pandas", "polars"]))
    return (_in_library(columns, library),), words


def _in_library(columns, library):
    """Return columns as a frame of a library, or as they are where it cannot."""
    if library == "dict":
        return columns
    try:
        return __import__(library).DataFrame(columns)
    except Exception:  # a column that this library cannot hold
        return columns


# by the word of the parameter; anything else is met with what is hostile
WORDS = {
    "t": tallies(),
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
    "prevalences": st.one_of(st.none(), st.tuples(unit, unit), hostile),
    "threshold": st.one_of(st.none(), unit, st.lists(unit, max_size=4), hostile),
    "thresholds": st.one_of(st.none(), unit, st.lists(unit, max_size=4), hostile),
    "n": st.one_of(st.integers(1, 30), hostile),
    "n_pos": st.one_of(st.integers(0, 20), hostile),
    "y": st.one_of(st.integers(0, 20), hostile),
    "auc": st.one_of(unit, st.lists(unit, max_size=4), hostile),
    "y_true": st.one_of(st.lists(st.integers(0, 1), max_size=6), hostile),
    "y_score": st.one_of(st.lists(real, max_size=6), hostile),
    "maximize": st.sampled_from(["accuracy", "f1", "precision", "f_beta(1e308)", "x("]),
    "curve": tallies().map(lambda t: _curve(t)),
    "c": tallies().map(lambda t: trueness.sweep(t)),
}


def _curve(t):
    try:
        with only_doubts():
            return trueness.roc(t)
    except OURS:
        return None


@cache
def _posterior(seed):
    votes = trueness.simulate_panel(60, 20, [0.9, 0.8, 0.7], rng=seed).vote(0.0)
    return trueness.latent_class(
        votes.without_labels() if seed % 2 else votes, draws=100
    )


@cache
def _map(method):
    t = trueness.simulate_tally(60, 20, 0.8, rng=0)
    t = t.map(trueness.calibrate(t, method="platt"))
    return trueness.calibrate(t, method=method)


maps = st.sampled_from(sorted(trueness.CALIBRATORS)).map(_map)
groups = st.dictionaries(st.sampled_from("abc"), tallies(), max_size=3)
constraint_texts = st.sampled_from(
    ["recall >= 0.9", "fpr <= 0.1", "flagged <= 3", "recall >=", "lift >= 1e308", ""]
)
WORDS |= {
    "post": st.one_of(st.integers(0, 3).map(_posterior), hostile),
    "map": st.one_of(maps, hostile),
    "groups": st.one_of(groups, hostile),
    "data": st.one_of(tallies(), panels(), groups, hostile),
    "subject_to": st.one_of(constraint_texts, st.lists(constraint_texts), hostile),
    "constraint": st.one_of(constraint_texts, hostile),
    "requirements": st.one_of(constraint_texts, hostile),
    "f": st.one_of(maps, st.just(lambda s: s), hostile),
    "score": st.one_of(st.lists(real, max_size=4), hostile),
    "neg": st.one_of(st.lists(count, max_size=4), hostile),
    "names": st.one_of(st.lists(odd_name, max_size=3), hostile),
    "fpr": st.one_of(unit, st.tuples(unit, unit), hostile),
    "tpr": st.one_of(st.none(), st.tuples(unit, unit), hostile),
    "path": hostile.filter(lambda v: not isinstance(v, (str, bytes)) or "/" in str(v)),
}
WORDS |= {"pos": WORDS["neg"], "unknown": WORDS["neg"], "minimize": WORDS["maximize"]}


@cache
def choices(name, parameter):
    """Learn the names of a choice from the words that refuse a wrong one."""
    function = functions()[name]
    if not hasattr(function, "__code__"):
        return ()
    first = next(iter(inspect.signature(inspect.unwrap(function)).parameters), None)
    probes = [trueness.Tally([0.2, 0.5, 0.8], [3, 2, 1], [1, 2, 3])]
    probes.append(trueness.simulate_panel(30, 15, [0.7, 0.8, 0.9], rng=0))
    for probe in probes:
        # other errors: the probe lacks what another argument needs
        with suppress(Exception):
            try:
                function(**{first: probe, parameter: "no such choice"})
            except trueness.InputError as err:
                if err.option == parameter and err.choices:
                    return tuple(err.choices)
    return ()


@st.composite
def questions(draw, name=None):
    """Draw a public function and arguments for it."""
    name = name or draw(st.sampled_from(list(functions())))
    function = functions()[name]
    if isinstance(function, trueness.records.Metric):
        given, arguments = draw(data("tally"))
        return name, given, {**arguments, "threshold": draw(WORDS["threshold"])}

    given, arguments = draw(inputs(name))
    parameters = list(inspect.signature(inspect.unwrap(function)).parameters.values())
    for parameter in parameters[bool(given) :]:
        word = parameter.name
        is_variadic = parameter.kind in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        )
        if is_variadic or word in arguments:
            continue

        is_required = parameter.default is parameter.empty
        is_given = is_required or draw(st.integers(0, 3)) == 0
        if is_given or word in COSTLY:
            arguments[word] = draw(values_of(name, parameter))
    return name, given, arguments


# parameters that are always given, since their defaults take long
COSTLY = ("replicates", "draws", "repeats")


@st.composite
def inputs(draw, name):
    """Draw the data of a function: positional arguments, and arguments by name."""
    if "." in name:
        return (draw(tallies() if name.startswith("Tally") else panels()),), {}

    takes = getattr(functions()[name], "takes", None)
    if not takes:
        return (), {}
    if draw(st.integers(0, 3)) == 0:
        return draw(data(takes))

    # of counts, a design can be told
    design = draw(designs(0))
    return (), {k: v for k, v in design.items() if k not in ("weight", "cluster")}


def values_of(name, parameter):
    """Return a strategy for one argument of a function."""
    known = choices(name, parameter.name) if isinstance(parameter.default, str) else ()
    if known:
        return st.sampled_from([*known, "no such choice"])
    if parameter.name in WORDS:
        return WORDS[parameter.name]
    return st.one_of(hostile, tallies(), real)


@contextmanager
def only_doubts():
    """Let no warning pass but our own."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for doubt in DOUBTS:
            warnings.simplefilter("ignore", doubt)
        yield


def ask(name, arguments, given=()):
    """Ask; give the answer, or None where it was refused in words of our own."""
    with only_doubts():
        try:
            return functions()[name](*given, **arguments)
        except OURS as err:
            words = str(err)
    assert words.strip()[-1:] in ".?!)'\"^", f"no sentence: {words}"
    assert len(words) < 3000, f"too long to read: {words[:200]}"
    for python in (" at 0x", "has no attribute", "not subscriptable", "<class "):
        assert python not in words, f"no words of ours: {words}"
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
    if getattr(answer, "axes", None) == ("fpr", "tpr") and hasattr(
        answer, "largest_shift"
    ):
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
    """An answer can be printed and copied, and is JSON."""
    repr(answer)
    if hasattr(answer, "to_dict") and type(answer).__module__.startswith("trueness."):
        json.loads(json.dumps(answer.to_dict(), allow_nan=False))
        for twin in (pickle.loads(pickle.dumps(answer)), copy.copy(answer)):  # noqa: S301
            assert repr(twin) == repr(answer)
            assert twin == answer
