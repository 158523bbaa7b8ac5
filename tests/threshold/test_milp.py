"""The 0-1 programs: equal to the sweep and to brute force, with their certificates."""

from fractions import Fraction

import numpy as np
import pytest

import trueness
from cuts_by_counting import CONSTRAINTS, OBJECTIVES, brute_force, instances
from trueness import Infeasible, InputError, NotEnoughCases, Tally, best_threshold

HAND = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])
LINEAR = tuple(n for n in OBJECTIVES if n not in ("mcc", "precision + 2*recall"))


def agree(method, seed, many, prevalence=None):
    """Compare a method with brute force; both must agree on what is infeasible too."""
    checked = infeasible = 0
    share = None if prevalence is None else float(prevalence)
    for y, score, name, subject in instances(seed, many, LINEAR):
        held = [CONSTRAINTS[c] for c in subject]
        found, best = brute_force(y, score, OBJECTIVES[name], held, prevalence)
        t = trueness.tally(y, score)
        if best is None:
            with pytest.raises((Infeasible, NotEnoughCases)):
                best_threshold(t, name, subject, method, prevalence=share)
            infeasible += 1
            continue
        point = best_threshold(t, name, subject, method, prevalence=share)
        swept = best_threshold(t, name, subject, prevalence=share)
        assert point.score_range[1] in found
        assert point.score_range in swept.score_ranges
        assert point.value == swept.value
        assert point.certificate.value == pytest.approx(float(best), abs=1e-12)
        assert point.certificate.bound == pytest.approx(float(best), abs=1e-6)
        checked += 1
    assert infeasible > many / 50
    return checked


def test_binary_per_score_is_brute_force_on_many_instances():
    assert agree("milp", seed=2, many=600) > 400
    assert agree("milp", seed=3, many=300, prevalence=Fraction(3, 20)) > 200


def test_two_binaries_per_case_are_brute_force():
    assert agree("milp-cases", seed=4, many=300) > 180


@pytest.mark.parametrize("method", ["milp", "milp-cases"])
def test_scores_of_exactly_0_and_1_block_nothing(method):
    """With 0 <= t <= 1, as printed, these two cuts could not be made."""
    negative_one = Tally([1.0, 0.5], neg=[3, 1], pos=[1, 0])
    nothing = best_threshold(negative_one, "accuracy", method=method)
    assert (nothing.threshold, nothing.confusion.fp) == (np.inf, 0)
    positive_zero = Tally([0.5, 0.0], pos=[1, 3], neg=[0, 1])
    everything = best_threshold(positive_zero, "accuracy", method=method)
    assert (everything.threshold, everything.confusion.tp) == (0.0, 4)


@pytest.mark.parametrize("method", ["milp", "milp-cases"])
def test_gaps_below_the_tolerance_of_the_solver(method):
    """Scores 1e-12 apart are different scores; equal ones are never split."""
    y = [1, 0, 1, 0, 1, 0]
    score = np.array([3, 1, 2, 2, 2, 0]) * 1e-12
    t = trueness.tally(y, score)
    found, best = brute_force(y, score.tolist(), OBJECTIVES["accuracy"], [])
    point = best_threshold(t, "accuracy", method=method)
    assert point.score_range[1] in found
    assert point.value == float(best)


def test_weights_of_the_mixed_objective():
    """Eq. (6) as printed, alpha * errors - beta * found, can choose another cut."""
    t = Tally([3, 2, 1], pos=[1, 1, 1], neg=[0, 2, 6])
    y = [1, 1, 0, 0, 1, *[0] * 6]
    score = [3, 2, 2, 2, 1, *[1] * 6]
    mixed = OBJECTIVES["0.7*accuracy + 0.3*recall"]

    def printed(tp, fp, fn, tn):
        return -Fraction(7, 10) * (fp + fn) + Fraction(3, 10) * tp

    right, _ = brute_force(y, score, mixed, [])
    wrong, _ = brute_force(y, score, printed, [])
    assert right != wrong
    for method in ("sweep", "milp", "milp-cases"):
        point = best_threshold(t, "0.7*accuracy + 0.3*recall", method=method)
        assert point.score_range[1] in right


def test_certificate():
    c = best_threshold(HAND, "precision", "recall >= 0.75", "milp").certificate
    assert (c.binaries, c.value, c.bound) == (4, 0.75, 0.75)
    assert c.iterations >= 2  # Dinkelbach: one step finds, one proves
    assert c.status == "Optimization terminated successfully"
    c = best_threshold(HAND, method="milp-cases").certificate
    assert (c.binaries, c.rows, c.iterations) == (20, 40, 1)  # 2N binaries, 4N rows


def test_a_larger_instance_with_ties():
    rng = np.random.default_rng(3)
    y = rng.random(20_000) < 0.2
    t = trueness.tally(y, np.round(rng.normal(size=y.size) + y, 2))
    for name, subject in [
        ("accuracy", ()),
        ("f1", "recall >= 0.5"),
        ("kappa", ("precision >= 0.4", "flagged <= 3000")),
    ]:
        a = best_threshold(t, name, subject)
        b = best_threshold(t, name, subject, "milp")
        assert b.score_range in a.score_ranges


@pytest.mark.parametrize("name", ["mcc", "g_mean", "precision + recall", "markedness"])
def test_what_no_linear_program_can_maximise(name):
    with pytest.raises(InputError, match=r'Type method="sweep"'):
        best_threshold(HAND, name, method="milp")


def test_too_many_cases_for_two_binaries_each():
    t = Tally([2, 1], pos=[15_000, 0], neg=[0, 15_000])
    with pytest.raises(InputError, match=r"found 30,000 cases, at most 20,000"):
        best_threshold(t, method="milp-cases")
