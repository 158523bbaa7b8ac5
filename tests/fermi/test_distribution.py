"""The Fermi-Dirac distribution: exact, stable, symmetric, and what follows from it."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import trueness
from trueness import InputError, NotEnoughCases, Tally, fermi_dirac
from trueness.fermi import midranks

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "reference" / "fermi_dirac.json").read_text()
)["rows"]


def all_ranks(fd):
    return np.arange(1, fd.n + 1)


def test_two_cases_by_hand():
    fd = fermi_dirac(n=2, n_pos=1, auc=0.9)  # P(1) = AUC, so beta = 2 logit(0.9)

    assert fd.beta == pytest.approx(2 * math.log(9), rel=1e-14)
    assert (fd.mu, fd.rank_threshold, fd.prevalence) == (1.5, 1.5, 0.5)
    assert fd.temperature == pytest.approx(1 / (2 * math.log(9)))
    assert fd.probability([1, 2]) == pytest.approx([0.9, 0.1])
    assert fd.log_likelihood_ratio(1) == pytest.approx(math.log(9))
    # F1 = (P/2, 1 - (1-P)/2 ...): with P = .9, .1: F1 = .45, .95 and F0 = .95, .45
    assert fd.p110 == pytest.approx(0.1 * 0.45**2 + 0.9 * 0.95**2)
    assert fd.p100 == pytest.approx(0.9 * 0.95**2 + 0.1 * 0.45**2)
    assert fd.auc_se == pytest.approx(math.sqrt(0.9 * 0.1))  # one pair: Bernoulli

    errata = fermi_dirac(n=200, n_pos=20, auc=0.9).auc_se

    assert errata == pytest.approx(0.0289, abs=5e-5)


def test_a_tally_gives_its_own_numbers():
    tally = Tally([3, 2, 1], pos=[1, 1, 0], neg=[0, 1, 2], unknown=[0, 5, 0])
    fd = fermi_dirac(tally)

    assert (fd.n, fd.n_pos, fd.auc) == (5, 2, 5.5 / 6)
    assert fd.to_dict()["beta"] == fermi_dirac(n=5, n_pos=2, auc=5.5 / 6).beta
    assert fermi_dirac(n=5, prevalence=0.4, auc=5.5 / 6).beta == fd.beta


def test_beta_to_twelve_digits():
    assert len(REFERENCE) > 400

    for n, n_pos, auc, beta, logit, rank in REFERENCE:
        case = (n, n_pos, auc)

        distribution = fermi_dirac(n=n, n_pos=n_pos, auc=float.fromhex(auc))

        logit_of_prevalence = math.log(n_pos / (n - n_pos))
        log_odds = logit_of_prevalence + distribution.log_likelihood_ratio(rank)
        assert distribution.beta == pytest.approx(float(beta), rel=1e-12, abs=0), case
        assert log_odds == pytest.approx(float(logit), rel=1e-11, abs=1e-11), case


SIZES = st.integers(2, 60).flatmap(
    lambda n: st.tuples(st.just(n), st.integers(1, n - 1))
)
AUC = st.one_of(
    st.floats(0.001, 0.999),
    st.sampled_from([0.0, 1e-300, 1e-9, 0.5 - 1e-9, 0.5, 0.5 + 1e-9, 1 - 1e-9, 1.0]),
)


@given(SIZES, AUC)
def test_the_constraints_by_their_sums(size, auc):
    """Eqs 3 and 4: the number of positives, and the sum of their ranks."""
    n, n_pos = size
    n_neg = n - n_pos
    fd = fermi_dirac(n=n, n_pos=n_pos, auc=auc)
    rank = all_ranks(fd)
    positive = fd.probability(rank)
    negative = 1 - positive
    rank_sum = n_pos * (n + 1) / 2 + n_pos * n_neg * (0.5 - auc)

    assert positive.sum() == pytest.approx(n_pos, rel=1e-12)
    assert (rank * positive).sum() == pytest.approx(rank_sum, rel=1e-12)

    rank_of_positive = rank @ positive / n_pos

    assert fd.expected("rank_pos") == pytest.approx(rank_of_positive, rel=1e-12)

    rank_of_negative = rank @ negative / n_neg

    assert fd.expected("rank_neg") == pytest.approx(rank_of_negative, rel=1e-12)


@given(SIZES, AUC)
def test_areas_and_their_moments_by_double_sums(size, auc):
    """Eqs 27, 28 and 31 with half ties; 22 and 23 by their double sums."""
    n, n_pos = size
    n_neg = n - n_pos
    fd = fermi_dirac(n=n, n_pos=n_pos, auc=auc)
    positive = fd.probability(all_ranks(fd))
    negative = 1 - positive
    # [i, j]: rank j stands before rank i
    before = np.tri(n, k=-1) + np.eye(n) / 2

    positives_before = before @ positive / n_pos
    negatives_behind = before.T @ negative / n_neg
    p110 = negative @ positives_before**2 / n_neg
    p100 = positive @ negatives_behind**2 / n_pos

    assert negative @ positives_before / n_neg == pytest.approx(auc, abs=1e-12)
    assert fd.expected("auc") == pytest.approx(auc, abs=1e-12)
    assert fd.p110 == pytest.approx(p110, abs=1e-12)
    assert fd.p100 == pytest.approx(p100, abs=1e-12)
    assert min(fd.p110, fd.p100) >= auc**2


@given(SIZES, st.floats(0.51, 0.999))
def test_floor_of_the_threshold_maximises_balanced_accuracy(size, auc):
    n, n_pos = size
    distribution = fermi_dirac(n=n, n_pos=n_pos, auc=auc)

    accuracy = distribution.expected("balanced_accuracy", np.arange(n + 1))

    best_rank = math.floor(distribution.rank_threshold + 1e-9)
    mean = distribution.expected("mean_balanced_accuracy")
    assert accuracy[best_rank] == pytest.approx(accuracy.max(), abs=1e-12)
    assert mean == pytest.approx(accuracy[1:].mean())


@pytest.mark.parametrize("auc", [0.0, 0.1, 0.5, 0.8, 1.0])
@pytest.mark.parametrize(("n", "n_pos"), [(50, 20), (2500, 100), (70_000, 900)])
def test_expected_rates_are_running_sums(n, n_pos, auc):
    fd = fermi_dirac(n=n, n_pos=n_pos, auc=auc)
    true_positives = np.append(0, np.cumsum(fd.probability(all_ranks(fd))))
    false_positives = np.arange(n + 1) - true_positives
    flagged = np.array([0, 1, 2, n_pos, n // 2, n - 1, n])

    tpr = fd.expected("tpr", flagged)
    fpr = fd.expected("fpr", flagged)
    precision = fd.expected("precision", flagged)

    assert tpr == pytest.approx(true_positives[flagged] / n_pos, rel=1e-10, abs=1e-13)
    assert fpr == pytest.approx(false_positives[flagged] / (n - n_pos), abs=1e-11)
    assert np.isnan(precision[0])

    some_flagged = flagged[1:]
    by_sums = true_positives[some_flagged] / some_flagged

    assert precision[1:] == pytest.approx(by_sums, rel=1e-10, abs=1e-13)


@pytest.mark.parametrize("auc", [0.0, 0.1, 0.5, 0.8, 1.0])
@pytest.mark.parametrize(("n", "n_pos"), [(50, 20), (2500, 100), (70_000, 900)])
def test_the_expected_precision_recall_area_is_a_sum_of_trapezoids(n, n_pos, auc):
    fd = fermi_dirac(n=n, n_pos=n_pos, auc=auc)
    prevalence = n_pos / n
    true_positives = np.append(0, np.cumsum(fd.probability(all_ranks(fd))))
    precision = true_positives[1:] / np.arange(1, n + 1)

    # eq. 33: the curve begins with the precision of the first rank
    curve = np.append(precision[0], precision)
    area = ((curve[1:] + curve[:-1]) / 2 * np.diff(true_positives) / n_pos).sum()
    # eq. 34
    large = prevalence / 2 * (1 + (precision**2).mean() / prevalence**2)

    assert fd.expected("auprc") == pytest.approx(area, rel=1e-10)
    assert fd.expected("auprc_large") == pytest.approx(large, rel=1e-10)


@pytest.mark.parametrize("auc", [0.2, 0.5, 0.55, 0.9, 0.99999])
@pytest.mark.parametrize("n_pos", [1, 400, 60_000])
def test_quadrature_agrees_with_the_sums_it_replaces(auc, n_pos):
    n = 120_000
    distribution = fermi_dirac(n=n, n_pos=n_pos, auc=auc)

    positive = distribution.probability(all_ranks(distribution))
    negative = 1 - positive
    # placements: positives above each rank, and negatives below it; ties count half
    tpr = (np.cumsum(positive) - positive / 2) / n_pos
    tnr = (np.cumsum(negative[::-1])[::-1] - negative / 2) / (n - n_pos)
    p110 = negative @ tpr**2 / (n - n_pos)
    p100 = positive @ tnr**2 / n_pos
    assert distribution.p110 == pytest.approx(p110, rel=1e-11)
    assert distribution.p100 == pytest.approx(p100, rel=1e-11)


def assert_turned_round(turned, fd, beta, probability):
    """Is this the distribution of the ranks counted from the other end?"""
    ranks_from_below = all_ranks(fd)[::-1]
    expected = pytest.approx(probability, rel=1e-9, abs=1e-12)
    assert turned.beta == pytest.approx(beta, rel=1e-12)
    assert turned.probability(ranks_from_below) == expected
    assert turned.auc_se == pytest.approx(fd.auc_se, rel=1e-9)


@given(SIZES, AUC)
def test_classes_exchanged_turn_the_ranks_round(size, auc):
    n, n_pos = size
    fd = fermi_dirac(n=n, n_pos=n_pos, auc=auc)

    exchanged = fermi_dirac(n=n, n_pos=n - n_pos, auc=auc)

    negative = 1 - fd.probability(all_ranks(fd))
    assert_turned_round(exchanged, fd, fd.beta, negative)
    if 1e-9 < abs(fd.beta) < math.inf:
        for name in ("mu", "rank_threshold"):
            mirrored = n + 1 - getattr(fd, name)
            expected = pytest.approx(mirrored, rel=1e-9, abs=1e-6)
            assert getattr(exchanged, name) == expected


@given(SIZES, AUC)
def test_a_reversed_score_turns_the_ranks_round(size, auc):
    # where 1 - AUC is a float without rounding
    assume(1 - (1 - auc) == auc)
    n, n_pos = size
    fd = fermi_dirac(n=n, n_pos=n_pos, auc=auc)

    reversed_score = fermi_dirac(n=n, n_pos=n_pos, auc=1 - auc)

    positive = fd.probability(all_ranks(fd))
    assert_turned_round(reversed_score, fd, -fd.beta, positive)


@given(SIZES, st.floats(0.01, 0.99))
def test_at_its_threshold_the_chance_is_the_prevalence(size, auc):
    n, n_pos = size
    distribution = fermi_dirac(n=n, n_pos=n_pos, auc=auc)

    if 1 <= distribution.rank_threshold <= n:
        chance = distribution.probability(distribution.rank_threshold)
        assert chance == pytest.approx(distribution.prevalence, rel=1e-9)


@given(SIZES, st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_a_distribution_at_another_prevalence_keeps_size_and_auc(size, auc, prevalence):
    n, n_pos = size

    shifted = fermi_dirac(n=n, n_pos=n_pos, auc=auc).at_prevalence(prevalence)

    expected_positives = shifted.probability(all_ranks(shifted)).sum()
    assert (shifted.n, shifted.auc) == (n, auc)
    assert expected_positives == pytest.approx(n * prevalence, rel=1e-6)


def test_every_start_is_good_enough(rng):
    for _ in range(400):
        n = round(2 * 10 ** (8.7 * rng.random()))
        n_pos = min(n - 1, max(1, round(n ** rng.random())))
        # next to 0, 1 and 1/2, where the equations are hardest to solve
        distance = 10 ** (-16 * rng.random())
        auc = rng.choice(
            [
                distance,
                1 - distance,
                0.5 + distance / 2,
                0.5 - distance / 2,
                rng.random(),
            ]
        )

        distribution = fermi_dirac(
            n=n, n_pos=n_pos + rng.choice([0, 0.0, -0.3]), auc=auc
        )

        total = distribution.expected("tpr", n)
        assert total == pytest.approx(1, rel=1e-9), (n, n_pos, auc)


@pytest.mark.parametrize(("n_pos", "mu"), [(3, -math.inf), (5, 5.5), (8, math.inf)])
def test_chance(n_pos, mu):
    fd = fermi_dirac(n=10, n_pos=n_pos, auc=0.5)

    assert (fd.beta, fd.mu, fd.rank_threshold) == (0, mu, 5.5)
    assert fd.temperature == math.inf
    assert fd.probability(all_ranks(fd)) == pytest.approx(n_pos / 10)
    assert not fd.log_likelihood_ratio(all_ranks(fd)).any()


def test_perfect_and_perfectly_wrong():
    fd = fermi_dirac(n=10, n_pos=3, auc=1.0)

    assert (fd.beta, fd.mu, fd.rank_threshold) == (math.inf, 3.5, 3.5)
    assert (fd.temperature, fd.auc_se) == (0, 0)
    assert list(fd.probability([1, 3, 3.5, 4, 10])) == [1, 1, 0.5, 0, 0]

    wrong = fermi_dirac(n=10, n_pos=3, auc=0.0)

    assert (wrong.beta, wrong.mu, wrong.auc_se) == (-math.inf, 7.5, 0)
    assert list(wrong.probability([7, 8])) == [0, 1]


def test_expected_positives_need_not_be_whole():
    fd = fermi_dirac(n=10, n_pos=2.5, auc=0.9)

    assert fd.probability(all_ranks(fd)).sum() == pytest.approx(2.5)

    # 2.5 positives cannot stand before all others: the third rank is half of each
    full = fermi_dirac(n=10, n_pos=2.5, auc=1.0)

    assert list(full.probability([1, 2, 3, 4])) == pytest.approx([1, 1, 0.5, 0])
    assert full.beta == math.inf


def test_a_thousand_million_cases():
    fd = fermi_dirac(n=10**9, n_pos=10**7, auc=0.9)
    small = fermi_dirac(n=10**6, n_pos=10**4, auc=0.9)

    assert fd.beta * 1e9 == pytest.approx(small.beta * 1e6, rel=1e-5)
    assert fd.auc_se * math.sqrt(1e3) == pytest.approx(small.auc_se, rel=1e-3)
    assert fd.expected("tpr", 10**9) == pytest.approx(1, rel=1e-12)

    one = fermi_dirac(n=10**9, n_pos=1, auc=1 - 1e-9)

    assert one.expected("tpr", 10**9) == pytest.approx(1, rel=1e-12)


def test_midranks_share_ties(rng):
    scipy_stats = pytest.importorskip("scipy.stats")
    score = rng.integers(0, 20, 200) / 8
    tally = trueness.tally(rng.integers(0, 2, 200), score)

    assert list(midranks(tally, score)) == list(scipy_stats.rankdata(-score))
    assert list(midranks(tally)) == list(midranks(tally, tally.score))
    assert np.isnan(midranks(tally, [np.nan])[0])
    assert list(midranks(Tally(), [1.0])) == [0.5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "needs a tally, or n, auc and one of n_pos and prevalence"),
        ({"n": 10, "auc": 0.9}, "one of n_pos and prevalence"),
        ({"n": 10, "auc": 0.9, "n_pos": 3, "prevalence": 0.3}, "one of n_pos"),
        ({"n": 1, "auc": 0.9, "n_pos": 1}, "n must be a whole number, 2 or more"),
        ({"n": 10, "auc": 1.2, "n_pos": 3}, r"auc must lie in \[0, 1\]; found 1.2"),
        (
            {"n": 10, "auc": 0.9, "n_pos": 10},
            "n_pos must be above 0 and below n, which is 10",
        ),
        ({"n": 10, "auc": 0.9, "prevalence": 0.0}, "prevalence must lie in"),
        ({"data": Tally([1, 2], [1, 0], [0, 1]), "n": 5}, "a tally or numbers, not"),
    ],
)
def test_errors_name_what_to_type(arguments, message):
    with pytest.raises(InputError, match=message):
        fermi_dirac(**arguments)


def test_errors_of_ranks_and_of_one_class():
    fd = fermi_dirac(n=10, n_pos=3, auc=0.9)
    for words, ask in {
        r"rank must lie between 1/2 and .* 10\.5": lambda: fd.probability([1, 11]),
        "rank must be numbers": lambda: fd.log_likelihood_ratio(["a"]),
        "needs a rank": lambda: fd.expected("tpr"),
        "whole numbers from 0 to 10": lambda: fd.expected("tpr", 2.5),
        "what must be one of": lambda: fd.expected("recall", 2),
    }.items():
        with pytest.raises(InputError, match=words):
            ask()

    with pytest.raises(NotEnoughCases, match="0 negatives"):
        fermi_dirac(Tally([1, 2], pos=[1, 1]))
