"""Are the choices the best there are? Every cut, pair and choice of groups is tried."""

from fractions import Fraction

import numpy as np
import pytest

import trueness
from cuts_by_counting import best, for_groups, in_numbers, pairs, single
from trueness import Infeasible, NotEnoughCases, Tally

OBJECTIVES = ("accuracy", "precision", "recall", "f1", "f_beta(2)", "kappa", "mcc",
              "0.7*accuracy + 0.3*recall", "balanced_accuracy", "precision + 2*recall",
              "cost(fp=0.1, fn=0.3)")  # fmt: skip
CONSTRAINTS = ("recall >= 0.6", "precision >= 0.7", "fpr < 0.3", "flagged_rate <= 0.4",
               "flagged >= 3", "0.7*accuracy + 0.3*recall >= 0.6")  # fmt: skip
OF_ZONES = ("fp + 2*fn + 0.4*deferred", "accuracy", "f1", "defer", "precision",
            "80*tp - 5*fp - deferred")  # fmt: skip
ZONES = ("defer <= 0.3", "deferred < 4", "precision above >= 0.6", "npv below >= 0.8",
         "accuracy >= 0.7", "f1 >= 0.5", "mcc above > 0")  # fmt: skip
OF_GROUPS = ("accuracy", "f1", "precision", "kappa", "cost(fp=0.1, fn=0.3)")
GROUPS = ("recall_gap <= 0.1", "fpr_gap <= 0", "precision_gap <= 0.3", "f1_gap < 0.2",
          "recall_ratio >= 0.8", "flagged_rate_ratio >= 0.5", "fpr_max <= 0.5",
          "recall_min >= 0.5", "recall >= 0.6", "flagged <= 9")  # fmt: skip


def counts(rng, most=7):
    """Few cases of both classes, so that many values are equal."""
    while True:
        m = int(rng.integers(1, most))
        pos, neg = rng.integers(0, 4, m), rng.integers(0, 4, m)
        if pos.any() and neg.any():
            score = np.sort(rng.choice(9, m, replace=False))[::-1] / 8  # also 0 and 1
            return Tally(score, neg, pos).labelled()


KINDS = ("counts", "whole weights", "any weights", "huge weights")


def as_kind(rng, t, kind):
    """Let the cases of each score and class be one, of that weight or of another."""
    kind = str(rng.choice(KINDS[:3])) if kind == "mixed" else kind
    if kind == "counts":
        return t

    label, score = np.repeat([1, 0], len(t)), np.tile(t.score, 2)
    weight = np.concatenate([t.pos, t.neg]).astype(float)
    if kind != "whole weights":
        weight *= rng.exponential(size=weight.size) + 0.01
        weight *= 1e50 if kind == "huge weights" else 1

    at = weight > 0
    return trueness.tally(label[at], score[at], weight=weight[at])


def about(value):
    number = np.nan if value is None else float(value)
    return pytest.approx(number, rel=1e-9, abs=1e-12, nan_ok=True)


def asked(rng, objectives, constraints):
    name = str(rng.choice(objectives))
    some = rng.choice(constraints, int(rng.integers(3)), replace=False).tolist()
    return name, some, -1 if name.startswith(("cost", "defer", "fp")) else 1


def answered(ask, data, name, limits, sign, top, **words):
    """Ask; None where nothing is allowed or defined, and brute force agrees."""
    words |= {"minimize" if sign < 0 else "maximize": name, "subject_to": limits}
    if top is not None:
        found = ask(data, **words)
        assert found.value == about(in_numbers(name, top))
        return found

    with pytest.raises((Infeasible, NotEnoughCases)):
        ask(data, **words)
    return None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shares", [(), ("0.37",), ("0.01", "0.3")], ids=str)
def test_one_cut(shares, kind):
    rng, several, infeasible = np.random.default_rng(1), 0, 0
    use = {}
    if shares:
        ends = tuple(map(float, shares))
        use = {"prevalences": ends} if len(ends) == 2 else {"prevalence": ends[0]}

    for _ in range(150):
        t = as_kind(rng, counts(rng, 9), kind)
        name, limits, sign = asked(rng, OBJECTIVES, CONSTRAINTS)
        if len(shares) == 2 and name in ("mcc", "kappa", "precision + 2*recall"):
            continue  # whose worst prevalence is sought on a grid
        found, top = best(single(t, *map(Fraction, shares)), name, limits, sign)
        point = answered(trueness.best_threshold, t, name, limits, sign, top, **use)
        infeasible += point is None
        if point is not None:
            assert [high for _, high in point.score_ranges] == found
            assert point.score_range[0] < point.threshold <= point.score_range[1]
            # none of those that are as good has fewer errors of one kind for nothing
            tiny = 1e-12 * (t.n_pos + t.n_neg)
            for high in found:
                other, mine = trueness.confusion(t, high), point.confusion
                fp, fn = other.fp - mine.fp, other.fn - mine.fn
                assert max(fp, fn) > tiny or max(-fp, -fn) <= tiny
            several += len(found) > 1

    assert infeasible > 3
    assert several > 3 or "weights" in kind


@pytest.mark.parametrize("kind", KINDS)
def test_two_cuts(kind):
    rng, several, infeasible = np.random.default_rng(8), 0, 0
    for _ in range(150):
        t = as_kind(rng, counts(rng), kind)
        share = (None, "0.1", "0.3")[rng.integers(3)]
        name, limits, sign = asked(rng, OF_ZONES, ZONES)
        part = None if share is None else Fraction(share)
        every = list(pairs(t, part))
        found, top = best(every, name, limits, sign)
        z = answered(trueness.best_thresholds, t, name, limits, sign, top,
                     prevalence=None if share is None else float(share))  # fmt: skip
        infeasible += z is None
        if z is not None:
            assert len(z.pairs) == len(found)
            several += len(found) > 1
            one = best([x for x in every if x[0][0] == x[0][1]], name, limits,
                       sign)[1]  # fmt: skip
            assert z.single == about(one)
            cells = [*z.confusion.cells, z.deferred_pos + z.deferred_neg]
            assert sum(cells) == pytest.approx(t.n)

    assert min(several, infeasible) > 9


@pytest.mark.parametrize("kind", [*KINDS, "mixed"])
def test_groups(kind):
    rng, done, infeasible = np.random.default_rng(12), 0, 0
    for _ in range(60):
        names = "abc"[: rng.integers(2, 4)]
        groups = {g: as_kind(rng, counts(rng, 6), kind) for g in names}
        name, limits, sign = asked(rng, OF_GROUPS, GROUPS)
        every = list(for_groups(groups))
        _, top = best(every, name, limits, sign)
        g = answered(trueness.group_thresholds, groups, name, limits, sign, top,
                     time_limit=9)  # fmt: skip
        infeasible += g is None
        if g is None:
            continue
        assert g.proved
        done += 1
        uncoupled = [k for k in limits if "_gap" not in k and "_ratio" not in k]
        free = best(every, name, uncoupled, sign)[1]
        assert g.free_value == about(free)
        totals = [k for k in limits if k in GROUPS[-2:]]
        common = best(single(sum(groups.values(), Tally([]))), name, totals, sign)[1]
        assert g.common_value == about(common)
        cells = [np.array(c.cells) for c in g.confusions.values()]
        tp, fp, fn, _ = sum(cells)
        known = {"recall >= 0.6": tp / (tp + fn), "flagged <= 9": tp + fp}
        assert g.constraints == pytest.approx({k: known[k] for k in totals})

    assert min(done, infeasible) > 3


@pytest.mark.parametrize(("method", "shares"), [
    ("milp", ()), ("milp", ("0.15",)), ("milp-cases", ())
])  # fmt: skip
def test_programs(method, shares):
    """The 0-1 programs and their certificates, where the metric is linear."""
    rng, infeasible = np.random.default_rng(2), 0
    linear = [m for m in OBJECTIVES if m not in ("mcc", "precision + 2*recall")]
    use = {"prevalence": float(shares[0])} if shares else {}
    for _ in range(40):
        t = counts(rng)
        name, limits, sign = asked(rng, linear, CONSTRAINTS)
        found, top = best(single(t, *map(Fraction, shares)), name, limits, sign)
        point = answered(trueness.best_threshold, t, name, limits, sign, top,
                         method=method, **use)  # fmt: skip
        infeasible += point is None
        if point is not None:
            assert point.score_range[1] in found
            c, value = point.certificate, float(sign * top)
            assert c.value == pytest.approx(value, abs=1e-12)
            assert c.bound == pytest.approx(value, abs=1e-6)

    assert infeasible > 3
