"""Every analysis takes what people have: arrays, frames, groups, panels, bins."""

import inspect
import warnings
from importlib import import_module

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
    """Return all public analyses that take a tally, or a panel."""
    functions = [getattr(trueness, name) for name in trueness.__all__]
    analyses = [f for f in functions if getattr(f, "takes", None) == takes]
    return [f for f in analyses if OPTIONS.get(f.__name__, ()) is not None]


def options_of(analysis):
    """Return what an analysis needs beside the counts."""
    options = {"rng": 0, **OPTIONS.get(analysis.__name__, {})}
    parameters = inspect.signature(inspect.unwrap(analysis)).parameters
    return {name: value for name, value in options.items() if name in parameters}


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


# the cases of T, and of P, as arguments
CASES_IN_MANY_FORMS = [
    ((Y, A), {}),
    ((), {"y_true": Y, "y_score": A}),
    ((Y.tolist(), pd.Series(A)), {}),
    ((FRAME,), {"label": "y", "score": "a"}),
    ((pl.from_pandas(FRAME).lazy(),), {"label": "y", "score": "a"}),
    (({"y": Y, "a": A},), {"label": "y", "score": "a"}),
    ((np.where(Y == 1, "ill", "well"), A), {"pos_label": "ill"}),
]
TWO_SCORES_IN_MANY_FORMS = [
    ((P,), {}),
    ((Y, {"a": A, "b": B}), {}),
    ((FRAME,), {"label": "y", "score": ["a", "b"]}),
    (({"a": T, "b": P["b"]},), {}),
]


@pytest.mark.parametrize("analysis", public("tally"), ids=lambda f: f.__name__)
def test_an_analysis_of_a_tally_takes_cases_in_many_forms(analysis):
    options = options_of(analysis)
    expected = analysis(T, **options)

    for data, arguments in CASES_IN_MANY_FORMS:
        same(analysis(*data, **arguments, **options), expected)


@pytest.mark.parametrize("analysis", public("tally"), ids=lambda f: f.__name__)
def test_an_analysis_of_a_tally_answers_for_each_of_several(analysis):
    options = options_of(analysis)
    expected = analysis(T, **options)

    for data, arguments in TWO_SCORES_IN_MANY_FORMS:
        answers = analysis(*data, **arguments, **options)
        assert list(answers) == ["a", "b"]
        same(answers["a"], expected)


@pytest.mark.parametrize("analysis", public("tally"), ids=lambda f: f.__name__)
def test_an_analysis_of_a_tally_answers_for_each_group(analysis):
    options = options_of(analysis)
    north = SITE == "north"

    answers = analysis(FRAME, label="y", score="a", by="site", **options)

    assert list(answers) == ["north", "south", WHOLE]

    same(answers[WHOLE], analysis(T, **options))
    same(answers["north"], analysis(Y[north], A[north], **options))


@pytest.mark.parametrize("analysis", public("panel"), ids=lambda f: f.__name__)
def test_an_analysis_of_a_panel_takes_cases_in_many_forms(analysis):
    options = options_of(analysis)

    answer = analysis(P, **options)
    of_matrix = analysis(Y, np.column_stack([A, B]), **options)

    same(analysis(Y, {"a": A, "b": B}, **options), answer)
    same(analysis(Y, FRAME[["a", "b"]], **options), answer)
    same(analysis(FRAME, label="y", scores=["a", "b"], **options), answer)
    same(analysis(Y, A, B, **options), of_matrix)

    assert type(of_matrix) is type(answer)


@pytest.mark.parametrize("analysis", public("panel"), ids=lambda f: f.__name__)
def test_an_analysis_of_a_panel_answers_for_each_group(analysis):
    options = options_of(analysis)

    answers = analysis(FRAME, label="y", scores=["a", "b"], by="site", **options)

    assert list(answers) == ["north", "south", WHOLE]

    same(answers[WHOLE], analysis(P, **options))


def test_agreement_takes_three_columns():
    panel = trueness.panel(Y, {"a": A, "b": B, "c": A[::-1]})

    agreement = trueness.agreement(Y, A, B, A[::-1])

    same(agreement.prevalence, trueness.agreement(panel).prevalence)


@pytest.fixture
def votes():
    rng = np.random.default_rng(4)
    return {name: (rng.random(60) < 0.5).astype(int) for name in "abc"}


def test_latent_classes_take_votes_by_name(votes):
    options = {"dependence": "none", "draws": 200}

    posterior = trueness.latent_class(None, votes, **options)

    same(posterior, trueness.latent_class(trueness.panel(None, votes), **options))


def test_a_prevalence_takes_labels_and_votes_by_name(votes):
    options = {"labelled": "random", "rng": 0}

    rate = trueness.prevalence(Y[:60], votes, **options)

    same(rate, trueness.prevalence(trueness.panel(Y[:60], votes), **options))


def test_figures_take_what_analyses_take():
    figure_data = trueness.plots.roc.figure_data

    assert repr(figure_data(Y, A)) == repr(figure_data(T))
    assert repr(figure_data(Y, {"a": A, "b": B})) == repr(figure_data(P))


def test_reports_take_what_analyses_take(tmp_path):
    of_arrays = tmp_path / "arrays.html"
    of_frame = tmp_path / "frame.html"

    trueness.report(Y, A, of_arrays)
    trueness.report(FRAME, of_frame, label="y", score="a")

    figures_of_arrays = of_arrays.read_text().count("<svg")
    figures_of_frame = of_frame.read_text().count("<svg")

    assert figures_of_arrays == figures_of_frame > 3


def test_limits_of_bins():
    from trueness.ranking.areas import auc

    coarse = T.bin(5)
    low, high = auc(coarse).bounds

    assert low <= auc(T).value <= high
    assert low < high
    assert auc(Y, A, at_most=5).bounds == (low, high)


def test_rows_may_count_several_cases():
    area = trueness.auc([1, 0, 1, None], [3, 2, 1, 5], count=[1, 2, 1, 9])

    assert area.value == 2 / 4


def test_a_missing_label_is_unknown():
    area = trueness.auc([1, 0, 0, 1, None], [3, 2, 2, 1, 5])

    assert area.value == 2 / 4


@pytest.mark.parametrize(
    ("ask", "message"),
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
def test_wrong_questions_are_answered_in_words(ask, message):
    with pytest.raises(InputError, match=message):
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

    options = {"label": "y", "score": "a"}

    assert size(FRAME, **options) == 80
    assert options == {"label": "y", "score": "a"}


def test_the_design_can_be_said_of_counts():
    said = trueness.average_precision(T, prevalence=0.05)
    counted = trueness.average_precision(trueness.tally(Y, A, prevalence=0.05))

    assert said.value == counted.value
    assert said.value < trueness.average_precision(T).value

    groups = {"x": T, "y": T}
    by_group = trueness.average_precision(groups, prevalence=0.05)

    assert by_group["x"].value == counted.value


@pytest.mark.filterwarnings("default::trueness.DoubtfulAssumptionWarning")
@pytest.mark.parametrize("analysis", public("tally"), ids=lambda f: f.__name__)
def test_a_warning_points_at_the_users_line(analysis):
    """Also where a helper of the analysis warns; here labels are of high scores."""
    few_labels_of_low_scores = Tally(
        [0.9, 0.6, 0.4, 0.1],
        pos=[60, 40, 15, 5],
        neg=[5, 15, 40, 60],
        unknown=[0, 10, 60, 90],
    )

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        analysis(few_labels_of_low_scores, **options_of(analysis))

    assert {warning.filename for warning in caught} <= {__file__}
