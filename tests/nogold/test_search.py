"""The best combination: fractions by hand, enumeration, HiGHS, tiny patterns."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from trueness.nogold import search
from trueness.nogold.criteria import Draws, net, read_criterion
from trueness.nogold.formulas import votes
from trueness.nogold.search import best_on_average, mean_of_best, winners

BOUNDED = ("product", "min", "f1", "jaccard", "f_beta(beta=2)", "f_beta(beta=0.5)")
OTHERS = ("squares", "mcc", "kappa", "precision", "g_mean", "f1 + mcc")


def pattern_probabilities(rate):
    """Return the probabilities of all patterns; the rate of yes is (draws, K)."""
    says_yes = votes(rate.shape[1])[None]
    of_vote = np.where(says_yes, rate[:, None], 1 - rate[:, None])
    return np.prod(of_vote, axis=2)


def draws_of(alpha, beta, prevalence):
    """Return draws of independent tests: rates of yes in both classes, (draws, K)."""
    return Draws(pattern_probabilities(alpha), pattern_probabilities(beta), prevalence)


def draw_rates(rng, true_rate, cases, draws):
    """Draw rates as from so many labelled cases, (draws, K)."""
    hits = rng.binomial(cases, true_rate)
    return rng.beta(1 + hits, 1 + cases - hits, (draws, true_rate.size))


def draw_accuracies(rng, k, cases, draws, *, low=0.5, high=0.95, common=0.0):
    """Draw alpha and beta, (draws, K) each; ``common`` moves all of them together."""
    true_alpha = rng.uniform(low, high, k)
    true_beta = rng.uniform(1 - high, 1 - low, k)
    first = draw_rates(rng, true_alpha, cases, draws)
    second = draw_rates(rng, true_beta, cases, draws)
    shift = common * rng.standard_normal((draws, 1))
    first = shift_log_odds(first, shift)
    second = shift_log_odds(second, shift)
    return np.maximum(first, second), np.minimum(first, second)


def shift_log_odds(rate, shift):
    odds_against = 1 / np.clip(rate, 1e-12, 1) - 1
    return 1 / (1 + odds_against * np.exp(-shift))


def random_draws(rng, trial, number=30):
    """Return draws of two to four tests; each trial is of another kind."""
    classifiers = 2 + trial % 2 if trial % 12 else 4
    alpha, beta = draw_accuracies(
        rng,
        classifiers,
        cases=(3, 20, 200, 10**6)[trial % 4],
        draws=number,
        high=(0.7, 0.95)[trial % 2],
        common=(0.0, 0.5, 2.0)[trial % 3],
    )
    if trial % 5 == 0:  # tests that never err in one class
        alpha[:, 0] = 1.0
        beta[:, -1] = 0.0
    return draws_of(alpha, beta, rng.beta(3, 7, number))


def values_of_all_sets(criterion, draws):
    """Return the criterion of all combinations, (draws, combinations)."""
    patterns = draws.in_positives.shape[1]
    members = (np.arange(2**patterns)[:, None] >> np.arange(patterns) & 1) * 1.0
    # einsum: threads of BLAS would wait for each other on a busy machine
    sens = np.einsum("cj,dj->dc", members, draws.in_positives)
    fpr = np.einsum("cj,dj->dc", members, draws.in_negatives)
    return criterion.value(sens, 1 - fpr, draws.prevalence[:, None])


@pytest.mark.parametrize("name", [*BOUNDED, *OTHERS])
def test_against_enumeration(rng, name):
    criterion = read_criterion(name)
    for trial in range(26):
        draws = random_draws(rng, trial)
        highest = values_of_all_sets(criterion, draws).mean(axis=0).max()

        chosen, gap = best_on_average(criterion, draws)

        value = criterion.evaluate(draws, chosen).mean()
        assert gap == 0
        assert value == pytest.approx(highest, abs=1e-12)


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("tried", [0, 2])
def test_bounds_and_parts_against_enumeration(rng, name, tried, monkeypatch):
    """Patterns are decided by the bounds, or put in and out, not by trying."""
    monkeypatch.setattr(search, "MAX_ENUMERATED", tried)
    monkeypatch.setattr(search, "PATTERNS_OF_FOUR", 0)
    criterion = read_criterion(name)
    proved = 0
    for trial in range(30):
        draws = random_draws(rng, trial)
        few_parts = draws.in_positives.shape[1]
        monkeypatch.setattr(search, "MAX_PARTS", (2**15, few_parts)[trial % 2])
        highest = values_of_all_sets(criterion, draws).mean(axis=0).max()

        chosen, gap = best_on_average(criterion, draws)

        value = criterion.evaluate(draws, chosen).mean()
        assert value <= highest + 1e-13
        assert value + gap >= highest - 1e-12
        proved += gap == 0
    assert proved >= 14


@pytest.mark.parametrize("name", ["product", "min", "squares", "f1", "mcc", "f1 + mcc"])
def test_knowing_the_draw_is_better(rng, name):
    criterion = read_criterion(name)
    for trial in range(24):
        draws = random_draws(rng, trial)
        highest = values_of_all_sets(criterion, draws).max(axis=1)

        assert mean_of_best(criterion, draws) >= highest.mean() - 1e-13
        if name != "f1 + mcc" or draws.in_positives.shape[1] < 16:
            value = criterion.evaluate(draws, winners(criterion, draws))
            assert value == pytest.approx(highest, abs=1e-12)


def best_in_fractions(in_positives, in_negatives, prevalence, value):
    """Return the highest value of all sets of patterns, in exact fractions."""
    values = []
    for flags in product((0, 1), repeat=len(in_positives)):
        sens = sum(p for p, flag in zip(in_positives, flags, strict=True) if flag)
        fpr = sum(p for p, flag in zip(in_negatives, flags, strict=True) if flag)
        tp = prevalence * sens
        fp = (1 - prevalence) * fpr
        values.append(value(tp, fp, prevalence - tp, 1 - prevalence - fp))
    return max(values)


METRIC_BY_HAND = {
    "f1": lambda tp, fp, fn, tn: 2 * tp / (2 * tp + fp + fn),
    "jaccard": lambda tp, fp, fn, tn: tp / (tp + fp + fn),
    "cost(fp=1, fn=3)": lambda tp, fp, fn, tn: -fp - 3 * fn,
    "accuracy": lambda tp, fp, fn, tn: tp + tn,
}


def random_table(rng):
    """Return counts of eight patterns in both classes, and a prevalence of tenths."""
    counts = rng.integers(0, 30, (2, 8)) + 1
    return counts, Fraction(int(rng.integers(1, 10)), 10)


def as_fractions(counts):
    return [Fraction(int(count), int(counts.sum())) for count in counts]


@pytest.mark.parametrize("name", METRIC_BY_HAND)
def test_one_draw_in_fractions(rng, name):
    """Every set in exact arithmetic, against the winner and the best on average."""
    criterion = read_criterion(name)
    for _ in range(8):
        counts, prevalence = random_table(rng)
        exact = best_in_fractions(
            as_fractions(counts[0]),
            as_fractions(counts[1]),
            prevalence,
            METRIC_BY_HAND[name],
        )
        in_positives, in_negatives = counts[:, None] / counts.sum(axis=1)[:, None, None]
        draws = Draws(in_positives, in_negatives, np.array([float(prevalence)]))

        winner = winners(criterion, draws)
        if criterion.shape == "linear":
            gain, loss = criterion.gain_and_loss(np.zeros((2, 1)), draws)
            chosen = net(gain, loss) > 0
        else:
            chosen, gap = best_on_average(criterion, draws)
            assert gap == 0

        assert criterion.evaluate(draws, winner)[0] == pytest.approx(
            float(exact), abs=1e-14
        )
        assert criterion.evaluate(draws, chosen)[0] == pytest.approx(
            float(exact), abs=1e-14
        )


def minimum_by_highs(in_positives, in_negatives):
    """Maximise mean(t) with t_d <= S_d and t_d <= 1 - F_d, patterns 0 or 1."""
    draws, patterns = in_positives.shape
    below_sens = np.hstack([-in_positives, np.eye(draws)])
    below_spec = np.hstack([in_negatives, np.eye(draws)])
    solution = milp(
        np.concatenate([np.zeros(patterns), np.full(draws, -1 / draws)]),
        constraints=LinearConstraint(
            np.vstack([below_sens, below_spec]), ub=np.repeat([0.0, 1.0], draws)
        ),
        integrality=np.repeat([1, 0], [patterns, draws]),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0, "time_limit": 20},
    )
    return solution.x[:patterns] > 0.5


@pytest.mark.parametrize("k", [5, 6])
@pytest.mark.parametrize("cases", [10, 100, 10**5])
def test_minimum_against_highs(rng, k, cases):
    alpha, beta = draw_accuracies(rng, k, cases, 20, common=0.2)
    draws = draws_of(alpha, beta, np.full(20, 0.3))
    criterion = read_criterion("min")
    by_highs = minimum_by_highs(draws.in_positives, draws.in_negatives)
    value_of_highs = criterion.evaluate(draws, by_highs).mean()

    chosen, gap = best_on_average(criterion, draws)

    value = criterion.evaluate(draws, chosen).mean()
    assert value + gap >= value_of_highs - 1e-12
    assert value >= value_of_highs - 2e-3


@pytest.mark.parametrize("name", [*BOUNDED, "squares", "mcc"])
def test_no_random_set_is_better(rng, name):
    """Eight classifiers: flips of any one, two or many patterns bring nothing."""
    alpha, beta = draw_accuracies(rng, 8, 30, 200)
    draws = draws_of(alpha, beta, rng.beta(30, 70, 200))
    criterion = read_criterion(name)

    chosen, gap = best_on_average(criterion, draws)

    assert gap == 0 or name in ("min", "squares", "mcc")
    assert gap < {"min": 2e-3}.get(name, 0.1)
    value = criterion.evaluate(draws, chosen).mean()
    for proportion in (1 / 256, 2 / 256, 0.02, 0.1):
        flipped = chosen ^ (rng.random((500, 256)) < proportion)
        sens = draws.in_positives @ flipped.T
        spec = 1 - draws.in_negatives @ flipped.T
        values = criterion.value(sens, spec, draws.prevalence[:, None])
        assert values.mean(axis=0).max() <= value + 1e-13


def test_twelve_classifiers(rng):
    """A quotient of 4,096 patterns is proved to be the best."""
    alpha, beta = draw_accuracies(rng, 12, 100, 100)
    draws = draws_of(alpha, beta, rng.beta(30, 70, 100))
    criterion = read_criterion("f1")

    chosen, gap = best_on_average(criterion, draws)

    assert gap == 0
    gains = criterion.gains(draws.rates(chosen), draws)
    assert ((gains > 0) == chosen).mean() > 0.99


@pytest.mark.parametrize("name", ["product", "squares", "min", "f1", "mcc"])
def test_cells_that_add_nothing_are_left_out(name):
    alpha = np.full((10, 2), 0.8)
    beta = np.full((10, 2), 0.3)
    alpha[:, 1] = 0.0  # the second never says yes
    beta[:, 1] = 0.0
    draws = draws_of(alpha, beta, np.full(10, 0.5))

    chosen, _ = best_on_average(read_criterion(name), draws)

    assert votes(2)[chosen].tolist() == [[1, 0]]
