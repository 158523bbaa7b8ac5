"""Laws that every analysis obeys, because every answer is a function of counts.

A new analysis joins by one line in ``ANALYSES``: a name and a function from a tally to
something with numbers in it. ``rank_only`` says that only the order of scores matters.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueness
from trueness._core.records import json_value

# labels are given by lot here, and now and then look as if they were not
pytestmark = pytest.mark.filterwarnings("ignore::trueness.DoubtfulAssumption")


@dataclass(frozen=True)
class Analysis:
    call: Callable[[trueness.Tally], Any]
    rank_only: bool = True
    uses_unknown: bool = False


def calibrated(method):
    """Give the probabilities of the labelled rows by a calibrator."""

    def call(t):
        if method in ("beta", "temperature"):
            t = t.map(lambda s: 1 / (1 + np.exp(-s)))
        return trueness.calibrate(t, method=method)(t.labelled().score)

    return call


def probable(analysis):
    """Call an analysis of probabilities, with few replicates."""

    def call(t, **options):
        t = t.map(lambda s: 1 / (1 + np.exp(-s)))
        return analysis(t, replicates=20, **options)

    return call


RANK_ONLY = {
    "auto": False,
    "beta": False,
    "binormal": True,
    "fermi-dirac": True,
    "histogram": True,
    "isotonic": True,
    "platt": False,
    "temperature": False,
    "venn-abers": True,
}


def leaf_levels(t):
    """Each score as a leaf: the levels of that tree."""
    tree = trueness.Leaves(t.score, t.neg, t.pos, t.unknown).report().tree
    return [tree.confidence, tree.utility]


def columns(curve):
    """Give a curve without its thresholds: these follow the scores."""
    return {k: v for k, v in curve.to_dict().items() if k != "threshold"}


ANALYSES = {
    "auc": Analysis(trueness.auc),
    "best_threshold": Analysis(
        lambda t: trueness.best_threshold(t, "f1", "accuracy >= 0.1"), rank_only=False
    ),
    "best_threshold ranks": Analysis(
        lambda t: (
            trueness.best_threshold(t, "g_mean + recall", prevalence=0.2).confusion
        )
    ),
    "fermi_dirac": Analysis(trueness.fermi_dirac),
    "fermi_dirac.auc_se": Analysis(lambda t: trueness.fermi_dirac(t).auc_se),
    **{
        f"calibrate {method}": Analysis(calibrated(method), rank_only)
        for method, rank_only in RANK_ONLY.items()
    },
    "leaf levels": Analysis(leaf_levels),
    "auc bca": Analysis(lambda t: trueness.auc(t, method="bca", rng=1, replicates=100)),
    "auc bootstrap": Analysis(
        lambda t: trueness.auc(t, method="bootstrap", rng=1, replicates=100)
    ),
    "auc delong": Analysis(lambda t: trueness.auc(t, method="delong")),
    "auc hanley-mcneil": Analysis(lambda t: trueness.auc(t, method="hanley-mcneil")),
    "auc logit-delong": Analysis(lambda t: trueness.auc(t, method="logit-delong")),
    "average_precision": Analysis(trueness.average_precision),
    "compare with itself": Analysis(lambda t: trueness.compare_auc(t, t)),
    "det": Analysis(lambda t: columns(trueness.det(t))),
    "gain_curve": Analysis(lambda t: columns(trueness.gain_curve(t))),
    "h_measure": Analysis(lambda t: trueness.h_measure(t, replicates=100)),
    "rates": Analysis(lambda t: trueness.rates(t, 0.0), rank_only=False),
    "auc at random": Analysis(
        lambda t: trueness.auc(t, unlabelled="missing at random"), uses_unknown=True
    ),
    "hull": Analysis(lambda t: columns(trueness.hull(trueness.roc(t)))),
    "kl_divergence": Analysis(lambda t: trueness.kl_divergence(t, replicates=100)),
    "leakage": Analysis(trueness.leakage),
    "lift_curve": Analysis(lambda t: columns(trueness.lift_curve(t))),
    "partial_auc": Analysis(
        lambda t: trueness.partial_auc(t, fpr=(0, 0.3), tpr=(0.2, 1), replicates=100)
    ),
    "precision_recall": Analysis(trueness.precision_recall, rank_only=False),
    "roc": Analysis(trueness.roc, rank_only=False),
    "roc_band": Analysis(lambda t: trueness.roc_band(t, points=5, replicates=100)),
    "roc rates": Analysis(lambda t: columns(trueness.roc(t))),
    "simplify": Analysis(
        lambda t: columns(trueness.simplify(trueness.roc(t), points=4))
    ),
    **{
        name: Analysis(probable(getattr(trueness, name)), rank_only=False)
        for name in ("brier", "log_loss", "reliability", "calibration_error")
    },
    "calibration_test": Analysis(
        lambda t: probable(trueness.calibration_test)(t, method="cox"), rank_only=False
    ),
    "cost_curve": Analysis(lambda t: trueness.cost_curve(t).cost),
    "decision_curve": Analysis(
        lambda t: trueness.decision_curve(t.map(lambda s: 1 / (1 + np.exp(-s)))),
        rank_only=False,
    ),
    "validate_threshold": Analysis(
        lambda t: trueness.validate_threshold(t, "youden", rng=1, replicates=10),
        rank_only=False,
    ),
    "pareto": Analysis(lambda t: trueness.pareto(t, ["f1", "specificity"]).values),
    "sweep": Analysis(trueness.sweep),
    "thresholds": Analysis(trueness.thresholds, rank_only=False),
}


@st.composite
def cases(draw, unknown=True):
    """Labels 0, 1 and (perhaps) missing, with scores from a few values."""
    values = [0, 1, None] if unknown else [0, 1]
    n = draw(st.integers(4, 30))
    label = draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))
    label = [0, 1, 0, 1, *label]
    level = st.sampled_from([-2.5, -1.0, -0.0, 0.0, 0.25, 0.5, 1.0, 3.0])
    score = draw(st.lists(level, min_size=len(label), max_size=len(label)))
    return label, score


def same(a, b):
    """Equal numbers, to the last digits that the order of a sum can change."""
    a, b = json_value(a), json_value(b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return bool(np.isclose(a, b, rtol=1e-10, atol=1e-12))
    return a == b


def without_notes(answer):
    """Give the numbers alone: notes do mention cases without a label."""
    value = json_value(answer)
    if isinstance(value, dict):
        return {k: without_notes(v) for k, v in value.items() if k != "notes"}
    return value


@pytest.fixture(scope="module", params=sorted(ANALYSES))
def analysis(request):
    return ANALYSES[request.param]


@given(cases(), st.randoms())
def test_order_of_cases_is_irrelevant(analysis, data, random):
    pairs = list(zip(*data, strict=True))
    random.shuffle(pairs)
    shuffled = trueness.tally(*map(list, zip(*pairs, strict=True)))
    assert same(analysis.call(trueness.tally(*data)), analysis.call(shuffled))


@given(cases(), st.integers(0, 34))
def test_parts_add_up_to_the_whole(analysis, data, at):
    label, score = data
    parts = (
        trueness.tally(label[:at], score[:at]),
        trueness.tally(label[at:], score[at:]),
    )
    assert parts[0] + parts[1] == trueness.tally(label, score)
    assert same(
        analysis.call(parts[1] + parts[0]), analysis.call(trueness.tally(*data))
    )


@given(cases(unknown=False), st.lists(st.sampled_from([-1.0, 0.3, 9.0]), max_size=5))
def test_unknowns_never_change_a_labelled_answer(analysis, data, more):
    t = trueness.tally(*data)
    extra = trueness.tally(None, np.array(more, dtype=float))
    if analysis.uses_unknown:
        return
    assert same(
        without_notes(analysis.call(t + extra)), without_notes(analysis.call(t))
    )


@pytest.mark.parametrize("name", sorted(k for k, a in ANALYSES.items() if a.rank_only))
@given(data=cases())
def test_increasing_scores_change_nothing(name, data):
    analysis, t = ANALYSES[name], trueness.tally(*data)
    assert same(analysis.call(t.map(lambda s: np.exp(s) + s)), analysis.call(t))
