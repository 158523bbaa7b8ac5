"""Choices of cuts by counting, in fractions: a slow twin that knows no Trueness.

A choice is a list of states (one for each prevalence that it must be good at). A state
says for "" (all decided cases), "above" and "below" (each cut as if alone) and "groups"
how many tp, fp, fn, tn and deferred cases there are.
"""

import math
import operator
from fractions import Fraction
from itertools import accumulate, product

import numpy as np


def tied(rng, n, levels):
    """Random labels of both classes, and scores with many ties."""
    y = (rng.random(n) < 0.4).astype(int)
    y[:2] = 0, 1
    return y, np.round((rng.normal(size=n) + y) * levels / 4) / levels


def ratio(a, b):
    return Fraction(a) / b if b else None


def plus(*parts):
    """Add weighted values; undefined where one of them is."""
    return None if any(v is None for _, v in parts) else sum(w * v for w, v in parts)


def _mcc_squared(tp, fp, fn, tn, d):
    top = tp * tn - fp * fn
    return ratio(top * abs(top), (tp + fp) * (tp + fn) * (fp + tn) * (fn + tn))


TENTH = Fraction(1, 10)
METRICS = {
    "accuracy": lambda tp, fp, fn, tn, d: ratio(tp + tn, tp + fp + fn + tn),
    "recall": lambda tp, fp, fn, tn, d: ratio(tp, tp + fn),
    "fpr": lambda tp, fp, fn, tn, d: ratio(fp, fp + tn),
    "precision": lambda tp, fp, fn, tn, d: ratio(tp, tp + fp),
    "npv": lambda tp, fp, fn, tn, d: ratio(tn, tn + fn),
    "f1": lambda tp, fp, fn, tn, d: ratio(2 * tp, 2 * tp + fn + fp),
    "f_beta(2)": lambda tp, fp, fn, tn, d: ratio(5 * tp, 5 * tp + 4 * fn + fp),
    "flagged": lambda tp, fp, fn, tn, d: tp + fp,
    "flagged_rate": lambda tp, fp, fn, tn, d: ratio(tp + fp, tp + fp + fn + tn),
    "deferred": lambda tp, fp, fn, tn, d: d,
    "defer": lambda tp, fp, fn, tn, d: ratio(d, tp + fp + fn + tn + d),
    "cost(fp=0.1, fn=0.3)": lambda tp, fp, fn, tn, d: TENTH * fp + 3 * TENTH * fn,
    "fp + 2*fn + 0.4*deferred": lambda tp, fp, fn, tn, d: fp + 2 * fn + 4 * TENTH * d,
    "80*tp - 5*fp - deferred": lambda tp, fp, fn, tn, d: 80 * tp - 5 * fp - d,
    # with fixed classes a quotient of sums of tp and fp, too
    "kappa": lambda tp, fp, fn, tn, d: ratio(
        2 * (tp * tn - fp * fn), (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    ),
    "balanced_accuracy": lambda *c: plus(
        (Fraction(1, 2), METRICS["recall"](*c)), (-Fraction(1, 2), METRICS["fpr"](*c)),
        (1, Fraction(1, 2)),
    ),
    "0.7*accuracy + 0.3*recall": lambda *c: plus(
        (7 * TENTH, METRICS["accuracy"](*c)), (3 * TENTH, METRICS["recall"](*c))
    ),
    "precision + 2*recall": lambda *c: plus(
        (1, METRICS["precision"](*c)), (2, METRICS["recall"](*c))
    ),
    "mcc": _mcc_squared,  # with its sign
}  # fmt: skip
SIGNS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


def value_of(name, state):
    for where in ("above", "below"):
        if name.endswith(f" {where}"):
            return METRICS[name.removesuffix(f" {where}")](*state[where])
    for kind in ("gap", "ratio", "min", "max"):
        if name.endswith(f"_{kind}"):
            each = [METRICS[name.removesuffix(f"_{kind}")](*c) for c in state["groups"]]
            if None in each:
                return None
            low, high = min(each), max(each)
            kinds = {"gap": high - low, "min": low, "max": high}
            return kinds[kind] if kind in kinds else ratio(low, high)
    return METRICS[name](*state[""])


def met(text, state):
    name, sign, bound = text.rsplit(" ", 2)
    value = value_of(name, state)
    return value is not None and SIGNS[sign](value, Fraction(bound))


def best(choices, name, limits, sign=1):
    """Give all choices that are best in their worst state, and that value."""
    found, top = [], None
    for key, states in choices:
        values = [value_of(name, s) for s in states]
        if None in values or not all(met(k, s) for k in limits for s in states):
            continue
        worst = min(sign * v for v in values)
        if top is None or worst > top:
            found, top = [], worst
        if worst == top:
            found.append(key)
    return found, None if top is None else sign * top


def in_numbers(name, value):
    """Give a value as the float that Trueness shows."""
    return (
        math.copysign(math.sqrt(abs(value)), value) if name == "mcc" else float(value)
    )


def _running(t, share):
    """Count true and false positives at every cut, in use."""
    pos, neg = ([*accumulate(map(Fraction, x.tolist()), initial=0)]
                for x in (t.pos, t.neg))  # fmt: skip
    up = down = Fraction(1)
    if share is not None:
        n = pos[-1] + neg[-1]
        up, down = share * n / pos[-1], (1 - share) * n / neg[-1]
    return [(a * up, b * down) for a, b in zip(pos, neg, strict=True)]


def _state(upper, lower, whole):
    (tp, fp), (more, other), (pos, neg) = upper, lower, whole
    return {
        "": (tp, fp, pos - more, neg - other, more + other - tp - fp),
        "above": (tp, fp, pos - tp, neg - fp, 0),
        "below": (more, other, pos - more, neg - other, 0),
    }


def single(t, *shares):
    """Give every cut, by its highest threshold."""
    runs = [_running(t, p) for p in shares or (None,)]
    for k, high in enumerate([math.inf, *t.score.tolist()]):
        yield high, [_state(r[k], r[k], r[-1]) for r in runs]


def pairs(t, share=None):
    r = _running(t, share)
    for i, j in product(range(len(r)), repeat=2):
        if i <= j:
            yield (i, j), [_state(r[i], r[j], r[-1])]


def for_groups(tallies):
    """Give every choice of a cut for each group."""
    each = [[states[0][""] for _, states in single(t)] for t in tallies.values()]
    for cuts in product(*each):
        yield cuts, [{"": [sum(x) for x in zip(*cuts, strict=True)], "groups": cuts}]
