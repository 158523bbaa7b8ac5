"""How good is a classifier as a ranking, and how sure are we?

Each area is a measure of counts, with its influence values by formula; ``inference``
makes the limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import accumulate, permutations
from statistics import NormalDist
from typing import Any

import numpy as np

from trueness._core.arrays import BLOCK, Array, Floats, Ints, blocks
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.numbers import about
from trueness._core.records import Estimate
from trueness.counts.answers import of_tally, refuse
from trueness.counts.placements import twice_wins
from trueness.counts.resampling import Seed, auc_replicates, bootstrap
from trueness.counts.values import Tally
from trueness.inference.limits import infer, limited, notes_of, percentiles
from trueness.inference.sample import Measure, Measured, in_blocks, meant
from trueness.inference.spread import Spread, joined
from trueness.inference.verification import remarks


@of_tally
def auc(
    data: Tally,
    *,
    method: str = "student",
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 2000,
) -> Estimate:
    r"""How often does a positive case have a higher score than a negative one?

    .. math:: A = P(s_+ > s_-) + \tfrac12 P(s_+ = s_-)

    The ``notes`` say when the score ranks the wrong way round. An AUC of 0 or 1 shows
    no spread: the limit is Wilson's of a kind of cases that was not seen ("unseen").

    Parameters
    ----------
    method
        ``"student"`` (the default): Wilson's form of DeLong's variance with Student's
        quantile; it follows the design of the cases. To reproduce other software and
        old papers: ``"delong"`` (a normal interval on the plain scale, as pROC has it),
        ``"hanley-mcneil"``, ``"fermi-dirac"`` and ``"bootstrap"`` (percentiles).

    References
    ----------
    DeLong, DeLong, Clarke-Pearson (1988), doi:10.2307/2531595; Hanley, McNeil (1982),
    doi:10.1148/radiology.143.1.7063747; Obuchowski (1997), doi:10.2307/2533958
    (clusters); Begg, Greenes (1983), doi:10.2307/2530820; Kim et al. (2021),
    doi:10.1073/pnas.2100761118

    Examples
    --------
    >>> auc(Tally([3, 2, 1], pos=[1, 1, 0], neg=[0, 1, 2])).value  # 5.5 of 6 pairs
    0.9166666666666666
    """
    _cases.both_classes(data, "auc")
    _options.choice(method, AUC_METHODS, "method")
    notes = remarks(data)
    found = infer(data, auc_measure, level=level, name="AUC")
    if method != "student":
        found = _by_method(data, found, method, rng, replicates)
    if found.high < 0.5:
        notes = (REVERSED, *notes)
    return replace(found, notes=(*notes, *found.notes))


REVERSED = (
    "The whole interval lies below one half: this score ranks the wrong way round, "
    "positives below negatives. If a low score means positive, change its sign. "
    "If the other label counts as positive, name it with positive=."
)


def auc_measure(t: Tally) -> Measured:
    r"""Give the AUC and its influence values, which are the placement values (DeLong).

    .. math:: u^+_i = \frac{V_i - A}{N_1}, \qquad u^-_i = \frac{W_i - A}{N_0}
    """
    m = t.neg.size
    sums = ([c[b].sum().item() for b in blocks(m)] for c in (t.neg, t.pos))
    # negatives, and positives, above each block of rows
    neg_met, pos_met = ([*accumulate(each, initial=0)] for each in sums)
    a = twice_wins(t) / (2 * t.n_pos * t.n_neg)
    pairs = 2.0 * t.n_neg * t.n_pos

    def placed(count: Array, met: list[Any], mean: float, by: float, b: slice) -> Any:
        above = 2 * met[b.start // BLOCK] - 2 * mean
        return (2 * np.cumsum(count[b]) - count[b] + above) / by

    u = in_blocks(m, partial(placed, t.pos, pos_met, t.n_pos * a, pairs))
    v = in_blocks(m, partial(placed, t.neg, neg_met, t.n_neg * (1 - a), -pairs))
    return Measured(min(max(a, 0.0), 1.0), u, v, by_class=True)


def auc_from_moments(
    value: float,
    n: tuple[float, float],
    two: tuple[float, float],
    four: tuple[float, float],
    level: float = 0.95,
) -> Estimate:
    """Give the answer of :func:`auc` from sums that were made elsewhere, as on a GPU.

    Of negatives, then of positives: number, sums of squares and of fourth powers of
    placement values about the AUC.
    """
    # without counts there are no weights or clusters to speak of
    s = auc_spread(n, two, four)
    return limited(value, s, level=level, name="AUC", cases=Tally())


def auc_spread(
    n: tuple[float, float], two: tuple[float, float], four: tuple[float, float]
) -> Spread:
    """How far does an AUC vary? From the sums that :func:`auc_from_moments` takes."""
    sums = zip(n, two, four, strict=True)
    parts = [(float(k), q / k**2, f / k**4) for k, q, f in sums]
    return joined(parts, min(n))


def _by_method(
    t: Tally, found: Estimate, method: str, rng: Seed, replicates: int
) -> Estimate:
    """Give the AUC the limits of another method."""
    sd, a, level = found.sd, found.value, found.level
    if method == "bootstrap":
        refuse(t, 'method="bootstrap"', {"unlabelled": "It draws labelled cases."})
        number = _options.whole_number(replicates, "replicates", at_least=100)
        drawn = auc_replicates(t, number, rng)
        return percentiles(a, drawn, level, notes_of(t), "AUC")
    if method in ("hanley-mcneil", "fermi-dirac"):
        refuse(t, f'method="{method}"', SINGLE_CASES)
        if method == "hanley-mcneil":
            sd = math.sqrt(pair_variance(a, *exponential_spread(a), t.n_pos, t.n_neg))
        elif 0 < a < 1:
            # loads SciPy, which the others do without
            from trueness.fermi.distribution import fermi_dirac

            sd = fermi_dirac(t).auc_se
    # the normal interval on the plain scale, within [0, 1]
    half = NormalDist().inv_cdf((1 + level) / 2) * sd
    if not half > 0:
        return found
    low, high = max(0.0, a - half), min(1.0, a + half)
    given: Any = {"low": low, "high": high, "method": method, "sd": sd}
    return replace(found, **given, notes=notes_of(t))


# what a method that counts single cases refuses
SINGLE_CASES = dict.fromkeys(
    ("weight", "cluster", "unlabelled"), "It counts single cases."
)
AUC_METHODS = ("student", "delong", "hanley-mcneil", "fermi-dirac", "bootstrap")
auc.measure = auc_measure  # type: ignore[attr-defined]  # estimate and compare read it


def exponential_spread(a: float) -> tuple[float, float]:
    """Variances of placement values, both classes exponential.

    Hanley and McNeil (1982): P100 = 2 A^2 / (1 + A), P110 = A / (2 - A), less A^2.
    """
    b = 1 - a
    return a * a * b / (1 + a), a * b * b / (1 + b)


def pair_variance(
    a: float, pos_var: float, neg_var: float, n_pos: float, n_neg: float
) -> float:
    """How far does an AUC vary, given the spread of placements? Kim et al., eq. 18."""
    total = a * (1 - a) + (n_pos - 1) * neg_var + (n_neg - 1) * pos_var
    return total / n_pos / n_neg


@of_tally
def average_precision(
    data: Tally,
    *,
    method: str = "student",
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 2000,
) -> Estimate:
    r"""What is the mean precision (PPV) at the scores of the positive cases?

    .. math:: AP = \sum_k (R_k - R_{k-1}) P_k

    Without interpolation (Boyd, Eng and Page 2013, doi:10.1007/978-3-642-40994-3_29);
    tied cases share one precision. That of a random classifier is about the prevalence,
    and it is too high on average when positives are few.

    Parameters
    ----------
    method
        ``"student"`` (from influence values, as for :func:`auc`) or ``"bootstrap"``
        (percentiles, which lie too high when positives are few).

    Examples
    --------
    >>> t = Tally([3, 2, 1], pos=[1, 1, 0], neg=[0, 1, 2])
    >>> average_precision(t).value  # (1/1 + 2/3) / 2
    0.8333333333333333
    """
    _cases.both_classes(data, "average_precision")
    both, name = (average_precision_measure, average_precisions), "average precision"
    asked = method, level, rng, replicates
    found = estimated_by(data, both, *asked, what="average_precision")
    notes, share = found.notes, data.design.prevalence
    each = (1 - share) / share * data.n_pos / data.n_neg if share is not None else 0.0
    if each > 2:
        notes += (
            f"At this prevalence a negative counts for as much as {about(each)} "
            "positives: the top of the ranking rests on few negatives. Average "
            "precision is then too high on average, and its limits hold less often "
            "than they say; collect more negatives.",
        )
    return replace(found, name=name, notes=notes)


def average_precision_measure(t: Tally) -> Measured:
    r"""Give the average precision and its influence values.

    A case is flagged at its own cut and at all lower ones; with :math:`P_k = T_k / F_k`

    .. math:: u^-_i = -\sum_{k \ge i} \frac{p_k}{N_1} \frac{P_k}{F_k}, \qquad
              u^+_i = \frac{P_i - AP}{N_1} + \sum_{k \ge i}
              \frac{p_k}{N_1} \frac{1 - P_k}{F_k}
    """
    pos, n_pos = t.pos, t.n_pos
    flagged = np.cumsum(pos + t.neg, dtype=np.float64)
    found = np.cumsum(pos, dtype=np.float64)
    # a row of cases without a label, at the top, flags nobody
    precision = np.divide(found, flagged, out=np.zeros(len(t)), where=flagged > 0)
    value = float(pos @ precision) / n_pos
    share = np.divide(pos, n_pos * flagged, out=np.zeros(len(t)), where=flagged > 0)
    fall = from_here_on(share * precision)
    by_pos = (precision - value) / n_pos + from_here_on(share) - fall
    return Measured(min(value, 1.0), -fall, by_pos)


average_precision.measure = average_precision_measure  # type: ignore[attr-defined]


def from_here_on(values: Floats) -> Floats:
    """Add up the values of each row and of those after it."""
    return np.asarray(np.cumsum(values[::-1])[::-1])


def average_precisions(neg: Array, pos: Array) -> Floats:
    """Give the average precision of each row of counts (r, m)."""
    tp, flagged = np.cumsum(pos, axis=1), np.cumsum(neg + pos, axis=1)
    zero = np.zeros(flagged.shape)
    precision = np.divide(tp, flagged, out=zero, where=flagged > 0)
    total, found = (pos * precision).sum(axis=1), tp[:, -1]
    # a replicate may hold no positive
    out = np.full(total.shape, np.nan)
    return np.asarray(np.divide(total, found, out=out, where=found > 0))


def estimated_by(
    t: Tally,
    measures: tuple[Measure, Callable[[Array, Array], Floats]],
    method: str,
    level: float,
    rng: Seed,
    replicates: int,
    *,
    what: str = "",
    stratified: bool = False,
) -> Estimate:
    """Give a measure, of one and of many rows of counts, the limits of a method."""
    _options.choice(method, ("student", "bootstrap"), "method")
    notes = remarks(t, stacklevel=5)
    if method == "student":
        found = infer(t, measures[0], level=level, what=what)
        return replace(found, notes=(*notes, *found.notes))
    sample = meant(t, what)
    refuse(t, 'method="bootstrap"', {"unlabelled": "It draws labelled cases."})
    number = _options.whole_number(replicates, "replicates", at_least=100)

    def scaled(neg: Array, pos: Array) -> Floats:
        if not sample.fixed:
            return measures[1](neg, pos)
        # drawn as cases, then counted at the prevalence that is meant
        total = (sample.counts.n_neg, sample.counts.n_pos)
        made = (
            c * (n / np.maximum(c.sum(axis=1, keepdims=True), 1e-300))
            for c, n in zip((neg, pos), total, strict=True)
        )
        return measures[1](*made)

    apart = stratified or sample.fixed
    values = bootstrap(sample.cases, scaled, number, rng, stratified=apart)
    value = measures[0](sample.counts).value
    return percentiles(value, values, level, (*notes, *notes_of(t)))


def _share_below(ordered: Floats, at: Floats) -> Floats:
    """Give the share of ``ordered`` below each value, ties counting a half."""
    below = np.searchsorted(ordered, at, side="left")
    upto = np.searchsorted(ordered, at, side="right")
    return (below + upto) / (2 * ordered.size)


def multiclass_areas(code: Ints, scores: Floats, average: str) -> tuple[float, Floats]:
    """Give an average of the areas of several classes, and the influence of each case.

    "hand-till" is Hand and Till (2001), eq. (7); "macro" and "weighted" average the
    areas of each class against all others, by equal weights or by the shares of the
    classes. All are sums of two-sample U-statistics: what each case adds gives the
    variance (DeLong).
    """
    # A(k|j), how often a case of class k has a higher score *for class k* than one of
    # class j; win[i, j] is the share of class j that case i beats by the score of its
    # own class, lose[i, k] the share of class k that beats case i by the score of k
    n, c = scores.shape
    win, lose, area = np.zeros((n, c)), np.zeros((n, c)), np.zeros((c, c))
    members = [np.flatnonzero(code == k) for k in range(c)]
    for k, j in permutations(range(c), 2):
        own, other, s = members[k], members[j], scores[:, k]
        win[own, j] = _share_below(np.sort(s[other]), s[own])
        lose[other, k] = 1 - _share_below(np.sort(s[own]), s[other])
        area[k, j] = win[own, j].mean()
    size = np.bincount(code, minlength=c)
    share = size / n
    if average == "hand-till":
        weight = 1 / (c * (c - 1))
        value = weight * float(area.sum())
        each = weight * (win.sum(axis=1) + lose.sum(axis=1))
        mean = np.bincount(code, each, minlength=c) / size
        return value, (each - mean[code]) / share[code]
    # against the rest: each other class counts by its size
    rest = np.where(np.eye(c, dtype=bool), 0.0, size) / (n - size)[:, None]
    one = (rest * area).sum(axis=1)
    weights = np.full(c, 1 / c) if average == "macro" else share
    beaten = (rest[code] * win).sum(axis=1)
    influence = weights[code] * (beaten - one[code]) / share[code]
    # a case of another class is one of the rest that class k must beat
    away = (lose - one) * weights / (1 - share)
    influence += np.where(code[:, None] == np.arange(c), 0.0, away).sum(axis=1)
    value = float(weights @ one)
    if average == "weighted":  # the weights are estimated too
        influence += one[code] - value
    return value, influence


def multiclass_estimate(
    code: Ints, value: float, influence: Floats, level: float
) -> Estimate:
    """Give an average its limits; where each class adds up to zero, they are strata."""
    u = influence / code.size
    size = np.bincount(code).astype(np.float64)
    two, four = (np.bincount(code, u**k) for k in (2, 4))
    if np.abs(np.bincount(code, u)).max() < 1e-12:  # sums round in their last digits
        parts = [*zip(size, two, four, strict=True)]
    else:
        parts = [(size.sum(), two.sum(), four.sum())]
    return limited(value, joined(parts, size.min()), level=level)
