"""Are the choices the best there are? Every cut, pair and choice of groups is tried."""

from fractions import Fraction

import numpy as np
import pytest

import trueness
from cuts_by_counting import (
    as_float,
    best_choices,
    cuts_of_groups,
    pairs_of_cuts,
    single_cuts,
)
from trueness import Infeasible, NotEnoughCases, Tally

OBJECTIVES = (
    *("accuracy", "precision", "recall", "f1", "f_beta(2)", "kappa", "mcc"),
    *("0.7*accuracy + 0.3*recall", "balanced_accuracy", "precision + 2*recall"),
    "cost(fp=0.1, fn=0.3)",
)
CONSTRAINTS = (
    *("recall >= 0.6", "precision >= 0.7", "fpr < 0.3", "flagged_rate <= 0.4"),
    *("flagged >= 3", "0.7*accuracy + 0.3*recall >= 0.6"),
)
ZONE_OBJECTIVES = (
    *("fp + 2*fn + 0.4*deferred", "accuracy", "f1", "defer", "precision"),
    "80*tp - 5*fp - deferred",
)
ZONE_CONSTRAINTS = (
    *("defer <= 0.3", "deferred < 4", "precision above >= 0.6", "npv below >= 0.8"),
    *("accuracy >= 0.7", "f1 >= 0.5", "mcc above > 0"),
)
GROUP_OBJECTIVES = ("accuracy", "f1", "precision", "kappa", "cost(fp=0.1, fn=0.3)")
# on all cases, whatever their group
TOTAL_CONSTRAINTS = ("recall >= 0.6", "flagged <= 9")
GROUP_CONSTRAINTS = (
    *("recall_gap <= 0.1", "fpr_gap <= 0", "precision_gap <= 0.3", "f1_gap < 0.2"),
    *("recall_ratio >= 0.8", "flagged_rate_ratio >= 0.5", "fpr_max <= 0.5"),
    *("recall_min >= 0.5", *TOTAL_CONSTRAINTS),
)


def random_tally(rng, max_rows=7):
    """Return few cases of both classes, so that many values are equal."""
    while True:
        rows = int(rng.integers(1, max_rows))
        pos = rng.integers(0, 4, rows)
        neg = rng.integers(0, 4, rows)
        if pos.any() and neg.any():
            # 0 and 1 are among the scores
            score = np.sort(rng.choice(9, rows, replace=False))[::-1] / 8
            return Tally(score, neg, pos).labelled()


KINDS = ("counts", "whole weights", "any weights", "huge weights")


def with_weights(rng, tally, kind):
    """Return the cases of each score and class as one case, with a weight."""
    if kind == "mixed":
        kind = str(rng.choice(KINDS[:3]))
    if kind == "counts":
        return tally

    label = np.repeat([1, 0], len(tally))
    score = np.tile(tally.score, 2)
    weight = np.concatenate([tally.pos, tally.neg]).astype(float)
    if kind != "whole weights":
        weight *= rng.exponential(size=weight.size) + 0.01
    if kind == "huge weights":
        weight *= 1e50

    occurs = weight > 0
    return trueness.tally(label[occurs], score[occurs], weight=weight[occurs])


def about(value):
    """Return what a value is compared with; None is NaN."""
    number = np.nan if value is None else float(value)
    return pytest.approx(number, rel=1e-9, abs=1e-12, nan_ok=True)


def random_problem(rng, objectives, constraints):
    """Return an objective, up to two constraints, and 1 to maximize or -1."""
    objective = str(rng.choice(objectives))
    size = int(rng.integers(3))
    chosen = rng.choice(constraints, size, replace=False).tolist()
    sign = -1 if objective.startswith(("cost", "defer", "fp")) else 1
    return objective, chosen, sign


def checked_answer(search, data, problem, optimum, **options):
    """Return the answer of a search, None where rightly nothing is allowed or defined.

    Its value is the ``optimum`` that brute force found; None says that there is none.
    """
    objective, constraints, sign = problem
    direction = "minimize" if sign < 0 else "maximize"
    arguments = {direction: objective, "subject_to": constraints, **options}

    if optimum is None:
        with pytest.raises((Infeasible, NotEnoughCases)):
            search(data, **arguments)
        return None

    answer = search(data, **arguments)
    assert answer.value == about(as_float(objective, optimum))
    return answer


def prevalence_options(prevalences):
    """Return the options for no prevalence, for one, or for the two ends of a range."""
    ends = tuple(float(prevalence) for prevalence in prevalences)
    if not ends:
        return {}
    if len(ends) == 1:
        return {"prevalence": ends[0]}
    return {"prevalences": ends}


def has_fewest_errors(point, tally, equal_cuts):
    """Return whether no cut that is as good has a subset of the errors."""
    tiny = 1e-12 * (tally.n_pos + tally.n_neg)
    for cut in equal_cuts:
        cells = trueness.confusion(tally, cut)
        more_fp = cells.fp - point.confusion.fp
        more_fn = cells.fn - point.confusion.fn
        is_worse_somewhere = max(more_fp, more_fn) > tiny
        is_better_nowhere = max(-more_fp, -more_fn) <= tiny
        if not (is_worse_somewhere or is_better_nowhere):
            return False
    return True


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prevalences", [(), ("0.37",), ("0.01", "0.3")], ids=str)
def test_one_cut(prevalences, kind):
    rng = np.random.default_rng(1)
    options = prevalence_options(prevalences)
    several_best = 0
    infeasible = 0
    for _ in range(150):
        tally = with_weights(rng, random_tally(rng, 9), kind)
        problem = random_problem(rng, OBJECTIVES, CONSTRAINTS)
        if len(prevalences) == 2 and problem[0] in (
            "mcc",
            "kappa",
            "precision + 2*recall",
        ):
            continue  # whose worst prevalence is sought on a grid

        best_cuts, optimum = best_choices(
            single_cuts(tally, *map(Fraction, prevalences)), *problem
        )
        point = checked_answer(
            trueness.best_threshold, tally, problem, optimum, **options
        )

        if point is None:
            infeasible += 1
            continue
        several_best += len(best_cuts) > 1
        assert [high for _, high in point.score_ranges] == best_cuts
        assert point.score_range[0] < point.threshold <= point.score_range[1]
        assert has_fewest_errors(point, tally, best_cuts)

    assert infeasible > 3
    assert several_best > 3 or "weights" in kind


@pytest.mark.parametrize("kind", KINDS)
def test_two_cuts(kind):
    rng = np.random.default_rng(8)
    several_best = 0
    infeasible = 0
    for _ in range(150):
        tally = with_weights(rng, random_tally(rng), kind)
        prevalence = (None, Fraction(1, 10), Fraction(3, 10))[rng.integers(3)]
        problem = random_problem(rng, ZONE_OBJECTIVES, ZONE_CONSTRAINTS)
        all_pairs = list(pairs_of_cuts(tally, prevalence))

        best_pairs, optimum = best_choices(all_pairs, *problem)
        zones = checked_answer(
            trueness.best_thresholds,
            tally,
            problem,
            optimum,
            prevalence=None if prevalence is None else float(prevalence),
        )

        if zones is None:
            infeasible += 1
            continue
        several_best += len(best_pairs) > 1
        assert len(zones.pairs) == len(best_pairs)

        pairs_without_zone = [pair for pair in all_pairs if pair[0][0] == pair[0][1]]
        _, best_single = best_choices(pairs_without_zone, *problem)
        assert zones.single_threshold_value == about(best_single)

        deferred = zones.deferred_pos + zones.deferred_neg
        assert sum(zones.confusion.cells) + deferred == pytest.approx(tally.n)

    assert min(several_best, infeasible) > 9


def values_over_all_groups(confusions):
    """Return the values of the constraints that hold over all groups."""
    tp, fp, fn, _ = sum(np.array(confusion.cells) for confusion in confusions.values())
    return {"recall >= 0.6": tp / (tp + fn), "flagged <= 9": tp + fp}


@pytest.mark.parametrize("kind", [*KINDS, "mixed"])
def test_groups(kind):
    rng = np.random.default_rng(12)
    feasible = 0
    infeasible = 0
    for _ in range(60):
        names = "abc"[: rng.integers(2, 4)]
        groups = {name: with_weights(rng, random_tally(rng, 6), kind) for name in names}
        objective, constraints, sign = random_problem(
            rng, GROUP_OBJECTIVES, GROUP_CONSTRAINTS
        )
        all_choices = list(cuts_of_groups(groups))

        _, optimum = best_choices(all_choices, objective, constraints, sign)
        answer = checked_answer(
            trueness.group_thresholds,
            groups,
            (objective, constraints, sign),
            optimum,
            time_limit=9,
        )

        if answer is None:
            infeasible += 1
            continue
        feasible += 1
        assert answer.proved

        # without the constraints that bind the groups to each other
        uncoupled = [k for k in constraints if "_gap" not in k and "_ratio" not in k]
        _, unconstrained_value = best_choices(all_choices, objective, uncoupled, sign)
        assert answer.unconstrained_value == about(unconstrained_value)

        # one threshold for all, under the constraints on all cases
        totals = [k for k in constraints if k in TOTAL_CONSTRAINTS]
        everyone = sum(groups.values(), Tally([]))
        _, common_value = best_choices(single_cuts(everyone), objective, totals, sign)
        assert answer.common_value == about(common_value)

        values = values_over_all_groups(answer.confusions)
        assert answer.constraints == pytest.approx({k: values[k] for k in totals})

    assert min(feasible, infeasible) > 3


@pytest.mark.parametrize(
    ("method", "prevalences"),
    [("milp", ()), ("milp", ("0.15",)), ("milp-cases", ())],
)
def test_programs(method, prevalences):
    """The 0-1 programs and their certificates, where the metric is linear."""
    rng = np.random.default_rng(2)
    linear = [m for m in OBJECTIVES if m not in ("mcc", "precision + 2*recall")]
    options = prevalence_options(prevalences)
    infeasible = 0
    for _ in range(40):
        tally = random_tally(rng)
        problem = random_problem(rng, linear, CONSTRAINTS)

        best_cuts, optimum = best_choices(
            single_cuts(tally, *map(Fraction, prevalences)), *problem
        )
        point = checked_answer(
            trueness.best_threshold, tally, problem, optimum, method=method, **options
        )

        if point is None:
            infeasible += 1
            continue
        assert point.score_range[1] in best_cuts

        # a program maximizes: the value has the sign of the direction
        _, _, sign = problem
        maximum = float(sign * optimum)
        assert point.certificate.value == pytest.approx(maximum, abs=1e-12)
        assert point.certificate.bound == pytest.approx(maximum, abs=1e-6)

    assert infeasible > 3
