"""The best cut by counting cases, in fractions: a slow twin that knows no Trueness."""

import math
from fractions import Fraction

import numpy as np


def tied(rng, n, levels):
    """Random labels of both classes, and scores with many ties."""
    y = (rng.random(n) < 0.4).astype(int)
    y[:2] = 0, 1
    return y, np.round((rng.normal(size=n) + y) * levels / 4) / levels


def ratio(a, b):
    return Fraction(a, b) if b else None


def _accuracy(tp, fp, fn, tn):
    return ratio(tp + tn, tp + fp + fn + tn)


def _recall(tp, fp, fn, tn):
    return ratio(tp, tp + fn)


def _precision(tp, fp, fn, tn):
    return ratio(tp, tp + fp)


def _f2(tp, fp, fn, tn):
    return ratio(5 * tp, 5 * tp + 4 * fn + fp)


def _f1(tp, fp, fn, tn):
    return ratio(2 * tp, 2 * tp + fn + fp)


def _fpr(tp, fp, fn, tn):
    return ratio(fp, fp + tn)


def _flagged_rate(tp, fp, fn, tn):
    return ratio(tp + fp, tp + fp + fn + tn)


def _mix(tp, fp, fn, tn):
    return Fraction(7, 10) * _accuracy(tp, fp, fn, tn) + Fraction(3, 10) * _recall(
        tp, fp, fn, tn
    )


def _bac(tp, fp, fn, tn):
    return (ratio(tp, tp + fn) + ratio(tn, fp + tn)) / 2


def _pr(tp, fp, fn, tn):
    p = _precision(tp, fp, fn, tn)
    return None if p is None else p + 2 * _recall(tp, fp, fn, tn)


def _cost(tp, fp, fn, tn):
    return -(Fraction(1, 10) * fp + Fraction(3, 10) * fn)


def _mcc_squared(tp, fp, fn, tn):
    top = tp * tn - fp * fn
    return ratio(top * abs(top), (tp + fp) * (tp + fn) * (fp + tn) * (fn + tn))


OBJECTIVES = {
    "accuracy": _accuracy,
    "precision": _precision,
    "recall": _recall,
    "f1": _f1,
    "f_beta(2)": _f2,
    "0.7*accuracy + 0.3*recall": _mix,
    "balanced_accuracy": _bac,
    "precision + 2*recall": _pr,
    "-cost(fp=0.1, fn=0.3)": _cost,
    "mcc": _mcc_squared,
}
CONSTRAINTS = {
    "recall >= 0.6": lambda *c: _recall(*c) >= Fraction(6, 10),
    "precision >= 0.7": lambda *c: (_precision(*c) or Fraction(-1)) >= Fraction(7, 10),
    "fpr < 0.3": lambda *c: _fpr(*c) < Fraction(3, 10),
    "flagged_rate <= 0.4": lambda *c: _flagged_rate(*c) <= Fraction(4, 10),
    "flagged >= 3": lambda tp, fp, fn, tn: tp + fp >= 3,
    "0.7*accuracy + 0.3*recall >= 0.6": lambda *c: _mix(*c) >= Fraction(6, 10),
}


def brute_force(y, score, objective, constraints, prevalence=None):
    """All optimal (threshold, value) by counting cases at every score."""
    found, best = [], None
    for cut in [math.inf, *sorted(set(score), reverse=True)]:
        flag = [s >= cut for s in score]
        tp = sum(1 for f, v in zip(flag, y, strict=True) if f and v)
        fp = sum(1 for f, v in zip(flag, y, strict=True) if f and not v)
        pos, n = sum(y), len(y)
        fn, tn = pos - tp, n - pos - fp
        if prevalence is not None:
            up, down = prevalence * n / pos, (1 - prevalence) * n / (n - pos)
            tp, fn, fp, tn = tp * up, fn * up, fp * down, tn * down
        c = (tp, fp, fn, tn)
        value = objective(*c)
        if value is None or not all(g(*c) for g in constraints):
            continue
        if best is None or value > best:
            found, best = [], value
        if value == best:
            found.append(cut)
    return found, best


def instances(seed, many, names=tuple(OBJECTIVES)):
    rng = np.random.default_rng(seed)
    texts = list(CONSTRAINTS)
    for _ in range(many):
        n = int(rng.integers(3, 14))
        y, score = tied(rng, n, levels=int(rng.integers(1, 6)))
        score = np.clip(np.abs(score), 0, 1)  # many scores of exactly 0 and 1
        name = names[rng.integers(len(names))]
        subject = [texts[k] for k in rng.permutation(len(texts))[: rng.integers(3)]]
        yield y.tolist(), score.tolist(), name, subject
