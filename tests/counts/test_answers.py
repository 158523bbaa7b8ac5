"""Every analysis takes what people have: arrays, frames, groups, panels, bins."""

import inspect
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import trueness
from trueness import InputError, Panel, Tally
from trueness.counts.answers import WHOLE, of_panel, of_tally

RNG = np.random.default_rng(3)
Y = (RNG.random(80) < 0.4).astype(int)
A = np.round(1 / (1 + np.exp(-RNG.normal(Y, 1))), 2)
B = np.round(1 / (1 + np.exp(-RNG.normal(Y / 2, 1))), 2)
SITE = np.where(np.arange(80) % 2, "north", "south")
FRAME = pd.DataFrame({"y": Y, "a": A, "b": B, "site": SITE})
T, P = trueness.tally(Y, A), trueness.panel(Y, {"a": A, "b": B})
COST = "cost(fp=1, fn=10, defer=0.3)"
# what an analysis needs beside the counts; None: other counts, see the test of votes
OPTIONS = {
    "guaranteed_threshold": {"subject_to": "recall >= 0.2"},
    "at_threshold": {"threshold": 0.5},
    "indeterminate_results": {"threshold": trueness.Rule(0.6, lower=0.4)},
    "tipping_point": {"requirement": "auc >= 0.1"},
    "confusion": {"threshold": 0.5},
    "best_thresholds": {"minimize": COST},
    "cost_curve": {"at": (0.1, 0.5)},
    "decision_curve": {"threshold": (0.1, 0.5)},
    "partial_auc": {"fpr": (0, 0.3)},
    "compare": {"statistic": trueness.auc},
    "compare_metric": {"metric": "accuracy", "thresholds": 0.5},
    "dominates": {"replicates": 100},
    "agreement": None,  # of three classifiers
    "latent_class": None,  # of votes
    "prevalence": None,
    "plan_labels": None,
    "validate_threshold": {"replicates": 50},
    "pareto": {"metrics": ["recall", "precision"]},
}

# the data are no more to the taste of an analysis than any others
pytestmark = pytest.mark.filterwarnings("ignore::trueness.DoubtfulAssumptionWarning")


def public(takes):
    found = [getattr(trueness, name) for name in trueness.__all__]
    found = [f for f in found if getattr(f, "takes", None) == takes]
    return [f for f in found if OPTIONS.get(f.__name__, ()) is not None]


def options_of(f):
    given = OPTIONS.get(f.__name__, {})
    known = inspect.signature(inspect.unwrap(f)).parameters
    return {k: v for k, v in {"rng": 0, **given}.items() if k in known}


def same(one, other):
    if isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other)
    elif hasattr(one, "to_dict"):
        assert one.to_dict() == other.to_dict()
    else:
        assert repr(one) == repr(other)


def test_every_public_function_of_a_tally_or_a_panel_is_open():
    """No hand-kept list: whoever writes an analysis is told to decorate it."""
    exempt = {  # they take counts to make counts of them, or groups on purpose
        *("resample", "read_tally", "read_panel", "midranks", "compare_groups"),
        *("cluster_bootstrap", "bounds", "crossing_correlation"),
    }
    for name in trueness.__all__:
        f = getattr(trueness, name)
        if not inspect.isfunction(f) or name in exempt:
            continue
        first = next(iter(inspect.signature(f).parameters.values()), None)
        words = str(first.annotation) if first is not None else ""
        if words.startswith(("Tally", "Panel")):
            assert hasattr(f, "takes"), f"put @of_tally or @of_panel on {name}"


def test_the_name_in_the_room_is_the_public_one():
    for name in trueness.__all__:
        f = getattr(trueness, name)
        if hasattr(f, "takes"):
            assert getattr(import_module(f.__module__), name) is f


@pytest.mark.parametrize("f", public("tally"), ids=lambda f: f.__name__)
def test_analyses_of_a_tally(f):
    options = options_of(f)
    answer = f(T, **options)
    same(f(Y, A, **options), answer)
    same(f(y_true=Y, y_score=A, **options), answer)
    same(f(Y.tolist(), pd.Series(A), **options), answer)
    same(f(FRAME, label="y", score="a", **options), answer)
    same(f(pl.from_pandas(FRAME).lazy(), label="y", score="a", **options), answer)
    same(f({"y": Y, "a": A}, label="y", score="a", **options), answer)
    same(f(np.where(Y == 1, "ill", "well"), A, pos_label="ill", **options), answer)
    for several in (
        f(P, **options),
        f(Y, {"a": A, "b": B}, **options),
        f(FRAME, label="y", score=["a", "b"], **options),
        f({"a": T, "b": P["b"]}, **options),
    ):
        assert list(several) == ["a", "b"]
        same(several["a"], answer)

    groups = f(FRAME, label="y", score="a", by="site", **options)

    assert list(groups) == ["north", "south", WHOLE]

    same(groups[WHOLE], answer)
    north = SITE == "north"
    same(groups["north"], f(Y[north], A[north], **options))


@pytest.mark.parametrize("f", public("panel"), ids=lambda f: f.__name__)
def test_analyses_of_a_panel(f):
    options = options_of(f)
    answer = f(P, **options)
    same(f(Y, {"a": A, "b": B}, **options), answer)
    same(f(Y, FRAME[["a", "b"]], **options), answer)
    same(f(FRAME, label="y", scores=["a", "b"], **options), answer)
    table = f(Y, np.column_stack([A, B]), **options)
    same(f(Y, A, B, **options), table)

    assert type(table) is type(answer)

    groups = f(FRAME, label="y", scores=["a", "b"], by="site", **options)

    assert list(groups) == ["north", "south", WHOLE]

    same(groups[WHOLE], answer)


def test_votes_and_three_classifiers():
    p = trueness.panel(Y, {"a": A, "b": B, "c": A[::-1]})
    same(
        trueness.agreement(Y, A, B, A[::-1]).prevalence,
        trueness.agreement(p).prevalence,
    )
    votes = {name: (RNG.random(60) < 0.5).astype(int) for name in "abc"}
    words = {"dependence": "none", "draws": 200}
    found = trueness.latent_class(None, votes, **words)
    same(found, trueness.latent_class(trueness.panel(None, votes), **words))
    asked = {"labelled": "random", "rng": 0}
    found = trueness.prevalence(Y[:60], votes, **asked)
    same(found, trueness.prevalence(trueness.panel(Y[:60], votes), **asked))


def test_figures_and_reports(tmp_path):
    figure_data = trueness.plots.roc.figure_data

    assert repr(figure_data(Y, A)) == repr(figure_data(T))
    assert repr(figure_data(Y, {"a": A, "b": B})) == repr(figure_data(P))

    trueness.report(Y, A, tmp_path / "one.html")
    trueness.report(FRAME, tmp_path / "two.html", label="y", score="a")
    texts = [Path(tmp_path, f"{k}.html").read_text() for k in ("one", "two")]

    assert texts[0].count("<svg") == texts[1].count("<svg") > 3


def test_limits_of_bins():
    from trueness.ranking.areas import auc

    coarse = T.bin(5)
    low, high = auc(coarse).bounds

    assert low <= auc(T).value <= high
    assert low < high
    assert auc(Y, A, at_most=5).bounds == (low, high)


def test_counts_of_cases_and_missing_labels():
    rows = trueness.auc([1, 0, 1, None], [3, 2, 1, 5], count=[1, 2, 1, 9])
    assert rows.value == 2 / 4
    assert trueness.auc([1, 0, 0, 1, None], [3, 2, 2, 1, 5]).value == 2 / 4


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (
            lambda: trueness.auc(Y),
            r"found one ndarray\. Type trueness\.auc\(y_true, y_s",
        ),
        (lambda: trueness.auc(3), "found one int"),
        (lambda: trueness.auc("y", "p"), "found one str"),
        (lambda: trueness.compare_auc(Y), r"\{\"a\": a, \"b\": b\}"),
        (
            lambda: trueness.auc(Y, A, metod="x"),
            "no option 'metod'. Did you mean 'method'",
        ),
        (lambda: trueness.auc(T, metod="x"), "no option 'metod'"),
        (
            lambda: trueness.auc(T, pos_label=1),
            "The option pos_label is for arrays and frames",
        ),
        (lambda: trueness.auc(FRAME[["a", "b"]]), "Which column holds the labels"),
        (lambda: trueness.auc(Y, A, label="y"), "name columns of a frame"),
        (lambda: trueness.auc(Y, A, positive=1, pos_label=1), "which mean the same"),
        (lambda: trueness.auc(["cat", "dog"], [1, 2]), 'positive="cat"'),
        (lambda: trueness.auc({"y": Y}, label="y", score="p"), "no column 'p'"),
        (lambda: trueness.auc({"y": Y}, label="y"), "Which columns hold the scores"),
        (lambda: trueness.auc(FRAME, label="y", score="a", scores=["b"]), "both name"),
        (lambda: trueness.auc(Y, A[:-1]), "80"),
    ],
)
def test_wrong_questions_are_answered_in_words(ask, words):
    with pytest.raises(InputError, match=words):
        ask()


def test_the_answer_is_the_functions_own_and_inputs_stay():
    @of_tally
    def size(t, *, factor=1):
        assert isinstance(t, Tally)
        return t.n * factor

    @of_panel
    def width(p):
        assert isinstance(p, Panel)
        return len(p.names)

    assert size(T) == size(Y, A) == size(t=T) == 80
    assert size(Y, A, factor=2) == 160
    assert width(Y, A, B, A) == 3

    words = {"label": "y", "score": "a"}

    assert size(FRAME, **words) == 80
    assert words == {"label": "y", "score": "a"}


def test_the_design_can_be_said_of_counts():
    said = trueness.average_precision(T, prevalence=0.05)
    counted = trueness.average_precision(trueness.tally(Y, A, prevalence=0.05))

    assert said.value == counted.value
    assert said.value < trueness.average_precision(T).value

    groups = {"x": T, "y": T}
    by_group = trueness.average_precision(groups, prevalence=0.05)

    assert by_group["x"].value == counted.value
