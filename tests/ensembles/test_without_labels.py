"""AUCs and prevalence from agreement alone."""

import warnings
from itertools import product

import numpy as np
import pytest

import trueness
from trueness import DoubtfulAssumptionWarning, InputError, NotEnoughCases, Panel

AUCS = np.linspace(0.6, 0.9, 10)
THREE = trueness.simulate_panel(3000, 1500, [0.7, 0.8, 0.9], rng=17)


def if_independent(panel, **options):
    """AUCs and prevalence for errors that are known to be independent."""
    return trueness.agreement(panel, dependence="none", **options)


def errors(found, aucs):
    return np.array([e.value for e in found.auc.values()]) - aucs


def test_exact_when_the_moments_are_exact():
    prevalence = 0.25
    accuracy = np.array([0.9, 0.8, 0.7, 0.6])  # sensitivity, specificity, AUC of a vote
    votes = np.array(list(product([0, 1], repeat=4)))
    # every combination of votes as often as independence says
    in_positives = np.prod(np.where(votes == 1, accuracy, 1 - accuracy), axis=1)
    in_negatives = np.prod(np.where(votes == 0, accuracy, 1 - accuracy), axis=1)
    probability = prevalence * in_positives + (1 - prevalence) * in_negatives
    count = np.round(1e9 * probability).astype(int)

    agreement = if_independent(Panel(list("ABCD"), votes, unknown=count))

    assert agreement.prevalence.value == pytest.approx(prevalence, abs=1e-6)
    assert errors(agreement, accuracy) == pytest.approx(np.zeros(4), abs=1e-6)
    assert agreement.misfit > 0.9


@pytest.mark.parametrize("method", ["likelihood", "covariance"])
def test_within_two_hundredths_without_a_label(method):
    p = trueness.simulate_panel(5000, 2000, AUCS, rng=11)
    agreement = if_independent(p.without_labels(), method=method)

    assert np.abs(errors(agreement, AUCS)).max() < 0.02
    assert agreement.prevalence.value == pytest.approx(0.4, abs=0.03)
    assert agreement.misfit > 0.001
    assert agreement.converged
    assert if_independent(p, method=method).auc["C1"] == agreement.auc["C1"]


def test_an_ensemble_without_labels_is_as_good():
    p = trueness.simulate_panel(5000, 2000, np.linspace(0.55, 0.75, 10), rng=12)
    blind = trueness.fidel(p, labels="none")
    seeing = trueness.fidel(p)

    assert blind.source == "agreement"

    a, b = (trueness.auc(p.combine(f)).value for f in (blind, seeing))

    assert a == pytest.approx(b, abs=0.005)

    probability = blind.probability(p.rows)

    assert probability.mean() == pytest.approx(0.4, abs=0.05)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::trueness.NotConvergedWarning")
@pytest.mark.parametrize("method", ["likelihood", "covariance"])
@pytest.mark.parametrize(
    ("n", "n_pos", "aucs", "samples"),
    [
        (1500, 600, [0.6, 0.7, 0.75, 0.8, 0.85], 15),
        (8000, 160, [0.9, 0.85, 0.8, 0.75], 5),  # the condition is rare
    ],
)
def test_intervals_cover(method, n, n_pos, aucs, samples):
    rng = np.random.default_rng(13)
    hits = []
    prevalence = []
    doubts = []
    for _ in range(samples):
        p = trueness.simulate_panel(n, n_pos, aucs, rng=rng)
        agreement = if_independent(p, method=method)
        each = zip(agreement.auc.values(), aucs, strict=True)
        hits.append(np.mean([e.low <= a <= e.high for e, a in each]))
        prevalence.append(
            agreement.prevalence.low <= n_pos / n <= agreement.prevalence.high
        )
        doubts.append(agreement.misfit < 0.05)

    assert np.mean(hits) > 0.9
    assert np.mean(prevalence) > 0.85 or samples < 15
    assert np.mean(doubts) < 0.25


SHOWN = {"A": 0.9, "B": 0.85, "C": 0.8, "D": 0.75}


@pytest.mark.parametrize("method", ["likelihood", "covariance"])
def test_a_prevalence_above_one_half(method):
    p = trueness.simulate_panel(20000, 16000, SHOWN, rng=1).without_labels()
    agreement = if_independent(p, method=method)

    assert agreement.prevalence.low <= 0.8 <= agreement.prevalence.high
    assert agreement.prevalence.value == pytest.approx(0.8, abs=0.03)

    given = if_independent(p, method=method, prevalence=0.8)

    assert given.prevalence.value == 0.8
    assert np.abs(errors(given, list(SHOWN.values()))).max() < 0.03

    # turned round, the rare class is the other one, and each is as good as before
    turned = if_independent(Panel(p.names, -p.rows, unknown=p.unknown))
    straight = if_independent(p)

    assert turned.prevalence.value == pytest.approx(1 - straight.prevalence.value)
    assert errors(turned, errors(straight, 0)) == pytest.approx(0, abs=1e-6)


def correlated_panel(correlation, rng=16):
    """Six classifiers whose errors correlate, all with all."""
    return trueness.simulate_panel(
        2000, 800, np.linspace(0.6, 0.8, 6), correlation=correlation, rng=rng
    )


@pytest.mark.parametrize("correlation", [0.0, 0.1, 0.3])
def test_ranks_alone_give_no_headline(correlation):
    agreement = trueness.agreement(correlated_panel(correlation))

    assert agreement.dependence == "shared"

    for estimate in [agreement.prevalence, *agreement.auc.values()]:
        assert np.isnan(estimate.value)
        assert (estimate.low, estimate.high) == (0.0, 1.0)

    assert agreement.notes[0].startswith(
        "Not identified: classifiers may make the same"
    )
    assert "not determined; 0." in repr(agreement)
    assert "if errors were independent" in agreement._repr_html_()


def test_any_labels_agree_with_the_ranks():
    """Why the interval is 0 to 1: labels by the ranks of one classifier itself."""
    panel = correlated_panel(0.0)
    upper_half = panel.rows[:, 0] > np.median(panel.rows[:, 0])

    as_positives = trueness.auc(upper_half, panel.rows[:, 0]).value
    as_negatives = trueness.auc(~upper_half, panel.rows[:, 0]).value

    assert (as_positives, as_negatives) == (1.0, 0.0)


def test_the_answer_under_independence_is_beside():
    panel = correlated_panel(0.0)

    agreement = trueness.agreement(panel)

    assert agreement.independent.to_dict() == if_independent(panel).to_dict()
    assert agreement.misfit == agreement.independent.misfit


def test_a_known_prevalence_stays_known():
    agreement = trueness.agreement(correlated_panel(0.0), prevalence=0.4)

    assert agreement.prevalence.value == 0.4
    assert np.isnan(agreement.auc["C1"].value)


def test_ranks_that_contradict_independence_say_so_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agreement = trueness.agreement(paired_errors())

    assert agreement.misfit < 1e-3
    assert "The ranks contradict independent errors" in agreement.notes[1]


def paired_errors():
    """Six classifiers, of which the first two make the same errors."""
    pairs = np.eye(6)
    pairs[0, 1] = pairs[1, 0] = 0.7
    aucs = np.linspace(0.6, 0.8, 6)
    return trueness.simulate_panel(3000, 1200, aucs, correlation=pairs, rng=16)


def test_where_nothing_is_known_everything_is_possible():
    p = trueness.simulate_panel(400, 8, [0.6, 0.6, 0.6, 0.6], rng=3)
    agreement = if_independent(p)
    assert {(e.low, e.high) for e in agreement.auc.values()} == {(0.0, 1.0)}
    assert any("no more than expected by chance" in note for note in agreement.notes)


def test_a_given_prevalence_that_the_ranks_contradict():
    p = trueness.simulate_panel(20000, 16000, SHOWN, rng=1)
    with pytest.warns(DoubtfulAssumptionWarning, match="or the stated prevalence"):
        assert if_independent(p, prevalence=0.3).misfit < 1e-9


def test_a_constant_classifier_is_known_to_be_worth_nothing():
    p = trueness.simulate_panel(2000, 800, [0.7, 0.8, 0.9, 0.6], rng=4)
    rows = np.column_stack([p.rows, np.ones(len(p.rows))])

    agreement = if_independent(Panel(list("ABCDE"), rows, unknown=[1] * len(rows)))

    assert (agreement.auc["E"].low, agreement.auc["E"].high) == (0.5, 0.5)
    assert agreement.auc["C"].value == pytest.approx(0.9, abs=0.05)


def test_a_known_prevalence_and_missing_outputs():
    p = trueness.simulate_panel(8000, 800, [0.7, 0.75, 0.8, 0.85], rng=15)
    rows = p.rows.copy()
    rows[np.random.default_rng(0).random(rows.shape) < 0.15] = np.nan
    holes = Panel(p.names, rows, unknown=np.ones(8000, int))
    for method in ("likelihood", "covariance"):
        agreement = if_independent(holes, prevalence=0.1, method=method)
        assert agreement.prevalence.value == pytest.approx(0.1)
        assert np.abs(errors(agreement, [0.7, 0.75, 0.8, 0.85])).max() < 0.06

    f = trueness.fidel(holes, labels="none", prevalence=0.1)

    assert f.prevalence == pytest.approx(0.1)


def test_independence_that_ranks_contradict_is_warned_of():
    with pytest.warns(
        DoubtfulAssumptionWarning, match="The data contradict independent errors"
    ):
        agreement = if_independent(paired_errors())

    assert agreement.misfit < 1e-3


def test_no_agreement_at_all():
    rng = np.random.default_rng(18)
    p = Panel(list("ABCD"), rng.normal(size=(500, 4)), unknown=np.ones(500, int))
    agreement = if_independent(p, method="covariance")

    assert all(np.isfinite(e.value) for e in agreement.auc.values())

    flat = Panel(list("ABCD"), np.zeros((1, 4)), unknown=[500])
    agreement = if_independent(flat, method="covariance")

    assert [e.value for e in agreement.auc.values()] == [0.5] * 4
    assert np.isnan(if_independent(THREE).misfit)  # three cannot contradict


NAN = float("nan")
APART = [[1, NAN, 2], [NAN, 1, 2], [NAN, 3, 1], [2, NAN, 1]]


@pytest.mark.parametrize(
    ("panel", "options", "message"),
    [
        (trueness.simulate_panel(100, 40, [0.7, 0.8], rng=0), {}, "at least 3 class"),
        (THREE, {"method": "moments"}, "method must be one of"),
        (THREE, {"dependence": "some"}, "dependence must be one of"),
        (THREE, {"prevalence": 1.5}, "prevalence must lie in"),
        (Panel(list("ABC"), np.empty((0, 3))), {}, "at least 2 cases"),
        (Panel(list("ABC"), APART, unknown=[1] * 4), {}, "'A' and 'B' have none in"),
    ],
)
def test_errors(panel, options, message):
    with pytest.raises((InputError, NotEnoughCases), match=message):
        trueness.agreement(panel, **options)
