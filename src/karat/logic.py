r"""Which logical combination of classifiers is best, when nobody knows the truth?

The votes of K classifiers fall into 2^K cells; a combination flags some of them, and
has the sensitivity sum(a_j) and the specificity 1 - sum(b_j), with a_j and b_j the
probabilities of the flagged cells in positives and negatives (Keith, Davey, Boyd 2012,
Methods). Their enumeration of 2^(2^K) combinations is kept for K <= 4; beyond, the
optimum is found exactly by ``_fronts_of_cells.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from karat import _checks
from karat._boolean import formula, votes
from karat._fronts_of_cells import (
    Choice,
    best_minimum,
    best_prefix,
    best_product,
    prefixes,
)
from karat._numerics import Array, Floats
from karat._records import Estimate, Record
from karat.algebra import Metric
from karat.confusion import Confusion, cost
from karat.expressions import metric
from karat.latent import LatentPosterior
from karat.maps import Map, freeze, register

# classifiers up to which all combinations are written down
ENUMERATED = 4
# draws on which combinations are compared: first all of them, then the best few
DRAWS, SHORTLIST = 1000, 256
RULES = ("expected", "most often")

Criterion = Callable[[Array, Array, Array], Array]


@register("combination")
@final
@dataclass(frozen=True, repr=False, eq=False)
class LogicMap(Map):
    """1 for the vote patterns in ``cells``, else 0; for ``panel.combine``."""

    names: tuple[str, ...]
    cells: Floats

    def __post_init__(self) -> None:
        freeze(self, "cells")

    def __call__(self, rows: ArrayLike) -> Floats:
        """Give 1 or 0 for each row of votes."""
        value = _checks.complete_votes(rows, self.names)
        power = 2.0 ** np.arange(len(self.names))
        cells = self.cells.reshape(-1, len(self.names))
        return np.isin(value @ power, cells @ power).astype(np.float64)


@final
@dataclass(frozen=True, repr=False)
class Combination(Record):
    """A logical combination of classifiers, and how good it is.

    Attributes
    ----------
    formula : str
        In words, such as "C1 or (C2 and C3)".
    sensitivity, specificity : Estimate
        Of the combination as one classifier.
    criterion : str
        What was made as good as possible, and
    score : Estimate
        its posterior.
    probability_best : float
        Share of draws in which no other combination is better (the paper's
        probability).
    rule : str
        "expected" (best on average) or "most often" (best in most draws).
    most_often, most_often_probability : str, float
        The combination that is best in most draws, and in which share of them.
    winners : int
        How many combinations are best in some draw.
    gap : float
        How much better, at most, another combination could be on average; 0 is exact.
    code : int
        The paper's 2^K-bit code; its tables print ``number``, code + 1.
    cells : tuple of tuples of int
        The vote patterns that are flagged, in the order of the names.
    names : tuple of str
        The classifiers.
    """

    formula: str
    sensitivity: Estimate
    specificity: Estimate
    criterion: str
    score: Estimate
    probability_best: float
    rule: str
    most_often: str
    most_often_probability: float
    winners: int
    gap: float
    code: int
    cells: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]

    @property
    def number(self) -> int:
        """Under which number do the paper's tables list it?"""
        return self.code + 1

    @property
    def bits(self) -> str:
        """Give the paper's code as it is written: bit 0 on the right."""
        return format(self.code, f"0{2 ** len(self.names)}b")

    @property
    def map(self) -> LogicMap:
        """Give the combination as a function of votes, for ``panel.combine``."""
        return LogicMap(self.names, np.array(self.cells, dtype=np.float64))


def cell_probabilities(post: LatentPosterior, draws: int | None = None) -> Any:
    """Give a_j and b_j of every cell, and the draws they were taken from.

    ``draws`` takes that many, evenly spaced.
    """
    flat = post._flat()
    n = len(flat["sensitivity"])
    at = np.arange(n) if draws is None else np.linspace(0, n - 1, min(n, draws))
    flat = {k: v[at.astype(int)] for k, v in flat.items()}
    rows = votes(len(post.names)).astype(np.float64)
    a, b = post._model.class_probabilities(flat, rows)
    return a, b, flat


def _product(sens: Array, spec: Array, phi: Array) -> Array:
    return np.asarray(sens * spec)


def _squares(sens: Array, spec: Array, phi: Array) -> Array:
    return np.asarray(sens**2 + spec**2)


def _sum(sens: Array, spec: Array, phi: Array) -> Array:
    return np.asarray(sens + spec)


def _min(sens: Array, spec: Array, phi: Array) -> Array:
    return np.asarray(np.minimum(sens, spec))


def _of_metric(m: Metric) -> Criterion:
    """Turn a metric into a criterion; what should be low is negated."""
    sign = _checks.metric_sign(m)

    def value(sens: Array, spec: Array, phi: Array) -> Array:
        c = Confusion(
            tp=phi * sens,
            fp=(1 - phi) * (1 - spec),
            fn=phi * (1 - sens),
            tn=(1 - phi) * spec,
        )
        return np.asarray(sign * np.nan_to_num(m(c), nan=-sign * np.inf), np.float64)

    return value


def read_criterion(given: Any) -> tuple[str, Criterion]:
    """Read a name of ``CRITERIA``, a metric, or the text of a metric."""
    if isinstance(given, str) and given in CRITERIA:
        return given, CRITERIA[given]
    m = _checks.criterion(given, tuple(CRITERIA), metric)
    return m.name, _of_metric(m)


def _solve(name: str, value: Criterion, a: Floats, b: Floats, phi: float) -> Choice:
    """Give the best combination for one draw, exactly."""
    if name in ("product", "g_mean"):
        return best_product(a, b)
    if name == "min":
        return best_minimum(a, b)
    _, sens, spec = prefixes(a, b)
    return best_prefix(a, b, value(sens, spec, np.asarray(phi)))


def members_of(k: int) -> Floats:
    """Give all combinations as rows of 0 and 1, in the order of the codes."""
    cells = 2**k
    return np.asarray(np.arange(2**cells)[:, None] >> np.arange(cells) & 1, np.float64)


def blocks_of_all(
    a: Floats, b: Floats, value: Criterion, phi: Floats
) -> Iterator[tuple[int, Floats]]:
    """Walk through the values of all combinations, (draws, some codes)."""
    members = members_of(int(np.log2(a.shape[1])))
    step = max(1, 2**22 // len(a))
    for start in range(0, len(members), step):
        part = members[start : start + step].T
        yield start, value(a @ part, 1 - b @ part, phi[:, None])


def winning_cells(
    name: str, value: Criterion, a: Floats, b: Floats, phi: Floats
) -> Array:
    """Which combination is best in each draw? (draws, cells) of bool."""
    k = int(np.log2(a.shape[1]))
    if k >= ENUMERATED:  # solving a draw is cheaper than 65,536 combinations
        triples = zip(a, b, phi, strict=True)
        return np.array([_solve(name, value, x, y, p).chosen for x, y, p in triples])
    best, code = np.full(len(a), -np.inf), np.zeros(len(a), dtype=np.int64)
    for start, found in blocks_of_all(a, b, value, phi):
        at = found.argmax(axis=1)
        top = found[np.arange(len(a)), at]
        # a margin of rounding, so that equal combinations keep the smaller code
        better = top > best + 1e-13
        best, code = np.where(better, top, best), np.where(better, at + start, code)
    return np.asarray(code[:, None] >> np.arange(2**k) & 1, dtype=bool)


def _candidates(
    name: str, value: Criterion, a: Floats, b: Floats, phi: Floats, winners: Array
) -> Array:
    """Which combinations may be best on average?"""
    if a.shape[1] <= 2**ENUMERATED:
        few = slice(None, None, 1 if a.shape[1] < 2**ENUMERATED else 8)
        parts = blocks_of_all(a[few], b[few], value, phi[few])
        mean = np.concatenate([v.mean(axis=0) for _, v in parts])
        top = np.argsort(-mean, kind="stable")[:SHORTLIST]
        return np.asarray(top[:, None] >> np.arange(a.shape[1]) & 1, dtype=bool)
    weight_a, weight_b = (
        (phi[:, None] * a).mean(axis=0),
        ((1 - phi)[:, None] * b).mean(axis=0),
    )
    plug_in = _solve(name, value, a.mean(axis=0), b.mean(axis=0), phi.mean()).chosen
    order, _, _ = prefixes(a.mean(axis=0), b.mean(axis=0))
    by_post_test, _, _ = prefixes(weight_a, weight_b)
    rank = np.arange(a.shape[1])
    steps = np.unique(np.linspace(0, a.shape[1], 65).astype(int))
    sets = [plug_in]
    for o in (order, by_post_test):
        place = np.empty(a.shape[1], dtype=int)
        place[o] = rank
        sets += [place < t for t in steps]
    some = winners[np.linspace(0, len(winners) - 1, 64).astype(int)]
    return np.unique(np.vstack([np.array(sets), some]), axis=0)


def _improve(chosen: Array, a: Floats, b: Floats, score: Any, rounds: int = 500) -> Any:
    """Flip single cells as long as the average score rises."""
    sign = np.where(chosen, -1.0, 1.0)
    sens, spec = a @ chosen, 1 - b @ chosen
    best = float(score(sens[:, None], spec[:, None])[0])
    for _ in range(rounds):
        value = score(sens[:, None] + a * sign, spec[:, None] - b * sign)
        j = int(value.argmax())
        if value[j] <= best + 1e-12:
            break
        best = float(value[j])
        sens, spec = sens + sign[j] * a[:, j], spec - sign[j] * b[:, j]
        chosen = chosen.copy()
        chosen[j] = ~chosen[j]
        sign[j] = -sign[j]
    return chosen, best


def best_combination(
    post: LatentPosterior,
    *,
    criterion: Any = "product",
    rule: str = "expected",
    population: str | None = None,
    prevalence: float | None = None,
) -> Combination:
    r"""Which logical combination of the classifiers is best?

    Parameters
    ----------
    post
        From :func:`karat.latent_class`.
    criterion : str, Metric
        "product", "squares", "sum" or "min" of sensitivity and specificity, or any
        metric or its text: ``karat.cost(fp=1, fn=5)``, "0.7*accuracy + 0.3*recall".
    rule : {"expected", "most often"}
        Best on average over the posterior, or best in most draws (the paper's choice).
    population, prevalence
        Whose prevalence a metric takes, if there are several, or another one.

    Returns
    -------
    Combination
        With formula, cells, code, sensitivity, specificity, probability_best and map.

    Notes
    -----
    Keith, Davey, Boyd 2012, Methods. Differs from their rule: with many classifiers
    every draw has its own winner, so the default maximises the posterior expectation;
    theirs is ``rule="most often"``. Up to 4 classifiers all combinations are compared;
    beyond, draws are solved exactly, and the expectation is exact for criteria that
    are linear in the rates ("sum", costs); for others it is a local optimum among the
    solutions of the draws, and ``gap`` bounds what can be missing.

    References
    ----------
    Keith, Davey, Boyd 2012, BMC Bioinformatics 13:179, doi:10.1186/1471-2105-13-179.

    Examples
    --------
    >>> import karat
    >>> p = karat.Panel(["A", "B", "C"], [[1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 0, 1]],
    ...                 pos=[90, 0, 10, 0], neg=[0, 90, 0, 10])
    >>> karat.best_combination(karat.latent_class(p, rng=0), criterion="sum").formula
    'at least 2 of A, B, C'
    """
    name, value = read_criterion(criterion)
    _checks.choice(rule, RULES, "rule")
    _checks.latent_posterior(post)
    # the paper's criteria do not look at the prevalence
    free = name in CRITERIA
    s = _checks.population(population, post.populations, prevalence, single=free)
    a, b, flat = cell_probabilities(post, DRAWS if len(post.names) > 3 else None)
    phi = _phi(flat, s, prevalence)
    winners = winning_cells(name, value, a, b, phi)
    often = Counter(w.tobytes() for w in winners)
    favourite, _ = often.most_common(1)[0]
    if rule == "most often":
        chosen, gap = np.frombuffer(favourite, dtype=bool), 0.0
    else:
        chosen, gap = _best_on_average(name, value, a, b, phi, winners)
    return _describe(post, chosen, name, value, rule, gap, often, s, prevalence)


def _phi(flat: Any, s: int | None, prevalence: float | None) -> Floats:
    if prevalence is not None:
        fixed = _checks.fraction(prevalence, "prevalence")
        return np.full(len(flat["prevalence"]), fixed)
    # criteria without a prevalence do not look at it
    return np.asarray(flat["prevalence"][:, s or 0])


def _best_on_average(
    name: str, value: Criterion, a: Floats, b: Floats, phi: Floats, winners: Array
) -> tuple[Array, float]:
    def score(sens: Array, spec: Array) -> Floats:
        return np.asarray(value(sens, spec, phi[:, None]).mean(axis=0))

    sets = _candidates(name, value, a, b, phi, winners)
    mean = score(a @ sets.T, 1 - b @ sets.T)
    chosen, best = sets[int(np.argmax(mean))], float(mean.max())
    if a.shape[1] <= 2**ENUMERATED:
        return chosen, 0.0
    chosen, best = _improve(chosen, a, b, score)
    if _linear(name):  # flips do not influence each other: the optimum is found
        return chosen, 0.0
    each = value(
        np.einsum("ij,ij->i", a, winners), 1 - np.einsum("ij,ij->i", b, winners), phi
    )
    return chosen, max(float(each.mean()) - best, 0.0)


def _linear(name: str) -> bool:
    """Is the average of this criterion a sum over the cells?"""
    if name in CRITERIA:
        return name == "sum"
    ratio = metric(name).ratio
    return ratio is not None and ratio.under is None


def _describe(
    post: LatentPosterior,
    chosen: Array,
    name: str,
    value: Criterion,
    rule: str,
    gap: float,
    often: Counter[bytes],
    s: int | None,
    prevalence: float | None,
) -> Combination:
    a, b, flat = cell_probabilities(post)
    sens, spec = a @ chosen, 1 - b @ chosen
    phi = _phi(flat, s, prevalence)
    total = sum(often.values())
    favourite, count = often.most_common(1)[0]
    liked = np.flatnonzero(np.frombuffer(favourite, dtype=bool))
    cells = np.flatnonzero(chosen)
    sign = -1.0 if name not in CRITERIA and metric(name).direction == "lower" else 1.0
    return Combination(
        formula(cells.tolist(), post.names),
        _estimate(sens, post._level),
        _estimate(spec, post._level),
        name,
        _estimate(sign * value(sens, spec, phi), post._level),
        often[chosen.tobytes()] / total,
        rule,
        formula(liked.tolist(), post.names),
        count / total,
        len(often),
        gap,
        sum(1 << int(j) for j in cells),
        tuple(map(tuple, votes(len(post.names))[cells].tolist())),
        post.names,
    )


def _estimate(values: Floats, level: float) -> Estimate:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    sd = float(values.std(ddof=1))
    return Estimate(
        float(values.mean()), float(low), float(high), level, "posterior", sd
    )


@final
@dataclass(frozen=True, repr=False)
class CostRule(Record):
    """Which patterns should be flagged, and what does that cost?

    Attributes
    ----------
    formula : str
        The patterns whose post-test probability exceeds ``threshold``, in words.
    threshold : float
        fp / (fp + fn).
    cost : Estimate
        Of a case, in expectation.
    alternatives : mapping from name to Estimate
        The cost of each single classifier, of flagging none and of flagging all.
    combination : Combination
        The same rule, with its sensitivity, specificity and map.
    """

    formula: str
    threshold: float
    cost: Estimate
    alternatives: dict[str, Estimate]
    combination: Combination


def cost_rule(
    post: LatentPosterior,
    *,
    fp: float,
    fn: float,
    population: str | None = None,
    prevalence: float | None = None,
) -> CostRule:
    r"""Which vote patterns should be flagged, when errors have a price?

    Flag where the post-test probability exceeds fp / (fp + fn): the rule of least
    expected cost, which is itself a logical combination. ``post.probability`` is the
    graded score behind it.

    Parameters
    ----------
    post
        From :func:`karat.latent_class`.
    fp, fn
        Prices of a false positive and of a false negative.
    population, prevalence
        Whose prevalence counts, if there are several, or another one.

    Returns
    -------
    CostRule
        With formula, cost, and the cost of each single test.
    """
    price = cost(fp=fp, fn=fn)
    best = best_combination(
        post, criterion=price, population=population, prevalence=prevalence
    )
    _, value = read_criterion(price)
    flat = post._flat()
    s = _checks.population(population, post.populations, prevalence)
    phi = _phi(flat, s, prevalence)
    level = post._level
    sens, spec = flat["sensitivity"], flat["specificity"]
    costs = {
        n: _estimate(-value(sens[:, k], spec[:, k], phi), level)
        for k, n in enumerate(post.names)
    }
    nothing, everything = np.zeros(len(phi)), np.ones(len(phi))
    costs["flag none"] = _estimate(-value(nothing, everything, phi), level)
    costs["flag all"] = _estimate(-value(everything, nothing, phi), level)
    return CostRule(best.formula, fp / (fp + fn), best.score, costs, best)


CRITERIA: dict[str, Criterion] = {
    "product": _product,
    "squares": _squares,
    "sum": _sum,
    "min": _min,
}
