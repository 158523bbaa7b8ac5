"""Choices of cuts by counting, in fractions: a slow twin that knows no Trueness.

A choice is a list of states, one for each prevalence that it must be good at. A state
is a mapping: "all" has the cells of all cases, "above" and "below" those of each cut of
a pair as if it were alone, and "groups" those of each group.
"""

import math
import operator
from fractions import Fraction
from itertools import accumulate, product
from typing import NamedTuple

import numpy as np

HALF = Fraction(1, 2)
TENTH = Fraction(1, 10)


class Cells(NamedTuple):
    """The four cells of a confusion matrix, and the cases that no cut decides."""

    tp: Fraction
    fp: Fraction
    fn: Fraction
    tn: Fraction
    deferred: Fraction = Fraction(0)

    @property
    def flagged(self):
        return self.tp + self.fp

    @property
    def pos(self):
        return self.tp + self.fn

    @property
    def neg(self):
        return self.fp + self.tn

    @property
    def decided(self):
        return self.pos + self.neg


def cases_with_ties(rng, n, levels):
    """Return random labels of both classes, and scores with many ties."""
    label = (rng.random(n) < 0.4).astype(int)
    label[:2] = (0, 1)
    return label, np.round((rng.normal(size=n) + label) * levels / 4) / levels


def ratio(numerator, denominator):
    """Return a quotient, None where it is undefined."""
    return Fraction(numerator) / denominator if denominator else None


def weighted_sum(*terms):
    """Return the sum of (weight, value), None where one of the values is undefined."""
    if any(value is None for _, value in terms):
        return None
    return sum(weight * value for weight, value in terms)


# metrics as quotients of the cells


def recall(c):
    return ratio(c.tp, c.pos)


def fpr(c):
    return ratio(c.fp, c.neg)


def precision(c):
    return ratio(c.tp, c.flagged)


def accuracy(c):
    return ratio(c.tp + c.tn, c.decided)


def kappa(c):
    determinant = c.tp * c.tn - c.fp * c.fn
    # with fixed classes this, too, is a quotient of sums of tp and fp
    return ratio(2 * determinant, c.flagged * c.neg + c.pos * (c.fn + c.tn))


def signed_square_of_mcc(c):
    """Return the square of Matthews's correlation, which is rational, with its sign."""
    determinant = c.tp * c.tn - c.fp * c.fn
    margins = c.flagged * c.pos * c.neg * (c.fn + c.tn)
    return ratio(determinant * abs(determinant), margins)


METRICS = {
    "accuracy": accuracy,
    "recall": recall,
    "fpr": fpr,
    "precision": precision,
    "npv": lambda c: ratio(c.tn, c.tn + c.fn),
    "f1": lambda c: ratio(2 * c.tp, 2 * c.tp + c.fn + c.fp),
    "f_beta(2)": lambda c: ratio(5 * c.tp, 5 * c.tp + 4 * c.fn + c.fp),
    "flagged": lambda c: c.flagged,
    "flagged_rate": lambda c: ratio(c.flagged, c.decided),
    "deferred": lambda c: c.deferred,
    "defer": lambda c: ratio(c.deferred, c.decided + c.deferred),
    "cost(fp=0.1, fn=0.3)": lambda c: TENTH * c.fp + 3 * TENTH * c.fn,
    "fp + 2*fn + 0.4*deferred": lambda c: c.fp + 2 * c.fn + 4 * TENTH * c.deferred,
    "80*tp - 5*fp - deferred": lambda c: 80 * c.tp - 5 * c.fp - c.deferred,
    "kappa": kappa,
    "balanced_accuracy": lambda c: weighted_sum(
        (HALF, recall(c)), (-HALF, fpr(c)), (HALF, 1)
    ),
    "0.7*accuracy + 0.3*recall": lambda c: weighted_sum(
        (7 * TENTH, accuracy(c)), (3 * TENTH, recall(c))
    ),
    "precision + 2*recall": lambda c: weighted_sum((1, precision(c)), (2, recall(c))),
    "mcc": signed_square_of_mcc,
}
COMPARISONS = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def value_of(name, state):
    """Return the value of a metric in a state, None where it is undefined.

    "npv below" is the metric of one cut of a pair, "recall_gap" one of all groups.
    """
    for part in ("above", "below"):
        if name.endswith(f" {part}"):
            return METRICS[name.removesuffix(f" {part}")](state[part])
    for kind in ("gap", "ratio", "min", "max"):
        if name.endswith(f"_{kind}"):
            metric = METRICS[name.removesuffix(f"_{kind}")]
            return value_over_groups(kind, [metric(c) for c in state["groups"]])
    return METRICS[name](state["all"])


def value_over_groups(kind, values):
    """Return the gap, ratio, minimum or maximum of the values of all groups."""
    if None in values:
        return None

    low = min(values)
    high = max(values)
    if kind == "gap":
        return high - low
    if kind == "ratio":
        return ratio(low, high)
    return low if kind == "min" else high


def is_met(constraint, state):
    """Return whether a constraint such as "recall >= 0.6" holds in a state."""
    name, sign, bound = constraint.rsplit(" ", 2)
    value = value_of(name, state)
    return value is not None and COMPARISONS[sign](value, Fraction(bound))


def best_choices(choices, objective, constraints, sign=1):
    """Return all choices whose worst state is the best, and its value.

    ``sign`` is -1 to minimize. Where no choice is allowed the value is None.
    """
    best = []
    largest = None
    for choice, states in choices:
        values = [value_of(objective, state) for state in states]
        is_allowed = all(is_met(c, state) for c in constraints for state in states)
        if None in values or not is_allowed:
            continue

        worst = min(sign * value for value in values)
        if largest is None or worst > largest:
            best = []
            largest = worst
        if worst == largest:
            best.append(choice)

    return best, None if largest is None else sign * largest


def as_float(name, value):
    """Return a value as the float that Trueness shows."""
    if name == "mcc":
        # here it is the square, with the sign of the correlation
        return math.copysign(math.sqrt(abs(value)), value)
    return float(value)


def flagged_at_each_cut(tally, prevalence):
    """Return the (true, false) positives of every cut, at a prevalence of use."""
    true_positives = list(accumulate(map(Fraction, tally.pos.tolist()), initial=0))
    false_positives = list(accumulate(map(Fraction, tally.neg.tolist()), initial=0))

    weight_of_positive = weight_of_negative = Fraction(1)
    if prevalence is not None:
        # the classes are weighted; the number of cases stays
        n_pos = true_positives[-1]
        n_neg = false_positives[-1]
        weight_of_positive = prevalence * (n_pos + n_neg) / n_pos
        weight_of_negative = (1 - prevalence) * (n_pos + n_neg) / n_neg
    return [
        (tp * weight_of_positive, fp * weight_of_negative)
        for tp, fp in zip(true_positives, false_positives, strict=True)
    ]


def state_between(upper, lower, everything):
    """Return the state where the cases between two cuts are deferred.

    Each argument is the number of (true, false) positives of a cut.
    """
    upper_tp, upper_fp = upper
    lower_tp, lower_fp = lower
    pos, neg = everything
    deferred = lower_tp + lower_fp - upper_tp - upper_fp
    return {
        "all": Cells(upper_tp, upper_fp, pos - lower_tp, neg - lower_fp, deferred),
        "above": Cells(upper_tp, upper_fp, pos - upper_tp, neg - upper_fp),
        "below": Cells(lower_tp, lower_fp, pos - lower_tp, neg - lower_fp),
    }


def single_cuts(tally, *prevalences):
    """Yield every cut, by its highest threshold, with a state for each prevalence."""
    flagged = [flagged_at_each_cut(tally, p) for p in prevalences or (None,)]
    for place, high in enumerate([math.inf, *tally.score.tolist()]):
        yield high, [state_between(f[place], f[place], f[-1]) for f in flagged]


def pairs_of_cuts(tally, prevalence=None):
    """Yield every pair of an upper and a lower cut, by their places."""
    flagged = flagged_at_each_cut(tally, prevalence)
    for upper, lower in product(range(len(flagged)), repeat=2):
        if upper <= lower:
            state = state_between(flagged[upper], flagged[lower], flagged[-1])
            yield (upper, lower), [state]


def cuts_of_groups(tallies):
    """Yield every choice of a cut for each group."""
    cells_by_group = [
        [states[0]["all"] for _, states in single_cuts(tally)]
        for tally in tallies.values()
    ]
    for cells in product(*cells_by_group):
        total = Cells(*(sum(cell) for cell in zip(*cells, strict=True)))
        yield cells, [{"all": total, "groups": cells}]
