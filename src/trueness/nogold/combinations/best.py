r"""Which logical combination of classifiers is best, when nobody knows the truth?

The votes of K classifiers fall into 2^K cells; a combination flags some of them, and
has the sensitivity sum(a_j) and the specificity 1 - sum(b_j), with a_j and b_j the
probabilities of the flagged cells in positives and negatives (Keith, Davey, Boyd 2012,
Methods). They enumerate 2^(2^K) combinations; here the best one of a draw is found by
``_criteria.py``, and the one that is best on average by ``_on_average.py``, exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.checks import options as _options
from trueness._core.checks import votes as _votes
from trueness._core.records import Estimate, Record, brief, shown
from trueness.calibration.maps import Map, freeze, register
from trueness.metrics.confusion import cost
from trueness.nogold.combinations.branch_and_bound import TIE, Found, maximise
from trueness.nogold.combinations.criteria import (
    CRITERIA,
    Criterion,
    mean_of_best,
    read_criterion,
    slopes,
    winners_of,
)
from trueness.nogold.combinations.on_average import best_of_named
from trueness.nogold.combinations.one_draw import prefixes
from trueness.nogold.combinations.quotient import quotient
from trueness.nogold.combinations.words import formula, votes
from trueness.nogold.posterior import LatentPosterior

# classifiers up to which all combinations are written down
ENUMERATED = 4
# draws in which the best combination is looked for, beyond three classifiers
DRAWS = 1000
# cells times draws over which the criterion is averaged
ENTRIES = 2**22
# values that differ by less are equal
EQUAL = 1e-12
# boxes times cells of the search for a quotient before it is cut off
WORK = 2**12
RULES = ("expected", "most often")


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
        value = _votes.complete_votes(rows, self.names)
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
        How much better, at most, another combination could be on average; 0 is exact
        (to rounding, 1e-13).
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
    def exact(self) -> bool:
        """Is it certain that no other combination is better on average?"""
        return self.gap == 0

    def __repr__(self) -> str:
        """Say what it is, how good, and how sure that is."""
        sure = "exact" if self.exact else f"up to {self.gap:.2g} could be missing"
        sure = f"best on average, {sure}" if self.rule == "expected" else "most often"
        often = shown(self.most_often, 120)
        lines = [
            f"Combination: {shown(self.formula, 300)}",
            f"  flags {len(self.cells):,} of {2 ** len(self.names):,} vote patterns",
            f"  sensitivity: {self.sensitivity}",
            f"  specificity: {self.specificity}",
            f"  {self.criterion}: {self.score} ({sure})",
            f"  best in {brief(self.probability_best)} of the draws; most often best: "
            f"{often} ({brief(self.most_often_probability)}, {self.winners:,} winners)",
        ]
        return "\n".join(lines)

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


def members_of(k: int) -> Floats:
    """Give all combinations as rows of 0 and 1, in the order of the codes."""
    cells = 2**k
    return np.asarray(np.arange(2**cells)[:, None] >> np.arange(cells) & 1, np.float64)


def blocks_of_all(
    a: Floats, b: Floats, value: Any, phi: Floats
) -> Iterator[tuple[int, Floats]]:
    """Walk through the values of all combinations, (draws, some codes)."""
    members = members_of(int(np.log2(a.shape[1])))
    step = max(1, 2**20 // len(a))
    for start in range(0, len(members), step):
        part = members[start : start + step].T
        yield start, value(a @ part, 1 - b @ part, phi[:, None])


def winning_cells(c: Criterion, a: Floats, b: Floats, phi: Floats) -> Array:
    """Which combination is best in each draw? (draws, cells) of bool."""
    k = int(np.log2(a.shape[1]))
    if k >= ENUMERATED:  # solving a draw is cheaper than 65,536 combinations
        return winners_of(c, a, b, phi)
    best, code = np.full(len(a), -np.inf), np.zeros(len(a), dtype=np.int64)
    for start, found in blocks_of_all(a, b, c.value, phi):
        at = found.argmax(axis=1)
        top = found[np.arange(len(a)), at]
        # a margin of rounding, so that equal combinations keep the smaller code
        better = top > best + 1e-13
        best, code = np.where(better, top, best), np.where(better, at + start, code)
    return np.asarray(code[:, None] >> np.arange(2**k) & 1, dtype=bool)


class Draws(NamedTuple):
    """Cell probabilities in positives and negatives, and the prevalence of draws."""

    a: Floats
    b: Floats
    phi: Floats


def _draws(
    post: LatentPosterior, most: int | None, s: int, prevalence: float | None
) -> Draws:
    a, b, flat = cell_probabilities(post, most)
    return Draws(a, b, _phi(flat, s, prevalence))


def _phi(flat: Any, s: int, prevalence: float | None) -> Floats:
    if prevalence is not None:
        fixed = _options.fraction(prevalence, "prevalence")
        return np.full(len(flat["prevalence"]), fixed)
    return np.asarray(flat["prevalence"][:, s])


class _Winners(NamedTuple):
    """What is best in each draw, and how good that is."""

    draws: Draws
    cells: Array  # (draws, cells) of bool
    value: Floats  # (draws,)


def _winners(c: Criterion, d: Draws) -> _Winners:
    cells = winning_cells(c, *d)
    sens, spec = np.einsum("dj,dj->d", d.a, cells), np.einsum("dj,dj->d", d.b, cells)
    return _Winners(d, cells, c.value(sens, 1 - spec, d.phi))


def _share_best(c: Criterion, won: _Winners, chosen: Array) -> float:
    """In which share of the draws is no combination better than this?"""
    d = won.draws
    sens, spec = d.a[:, chosen].sum(axis=1), 1 - d.b[:, chosen].sum(axis=1)
    return float(np.mean(c.value(sens, spec, d.phi) >= won.value - EQUAL))


def _best_on_average(
    c: Criterion, post: LatentPosterior, s: int, prevalence: float | None, won: _Winners
) -> tuple[Array, float]:
    """Give the best set of cells on average, and what could be missing."""
    cells = 2 ** len(post.names)
    if c.name in CRITERIA:
        d = _draws(post, max(1, ENTRIES // cells), s, prevalence)
        found = best_of_named(c.name, d.a, d.b)
        return found.chosen, _smaller_gap(c, d, found) if found.gap else 0.0
    if c.shape == "linear":
        return _linear(c, _draws(post, max(1, ENTRIES // cells), s, prevalence)), 0.0
    if len(post.names) <= ENUMERATED:
        parts = blocks_of_all(won.draws.a, won.draws.b, c.value, won.draws.phi)
        mean = np.concatenate([v.mean(axis=0) for _, v in parts])
        code = int(np.argmax(mean > mean.max() - 1e-13))
        return np.asarray(code >> np.arange(cells) & 1, dtype=bool), 0.0
    return _closed(c, won, *_searched(c, won))


def _smaller_gap(c: Criterion, d: Draws, found: Found) -> float:
    """Compare the bound of the search with that of knowing the draw."""
    sens, spec = d.a[:, found.chosen].sum(axis=1), 1 - d.b[:, found.chosen].sum(axis=1)
    best = float(c.value(sens, spec, d.phi).mean())
    return min(found.gap, mean_of_best(c, *d, winners_of(c, *d)) - best)


def _linear(c: Criterion, d: Draws) -> Array:
    """Flag the cells that gain on average."""
    up, down = slopes(c.value, d.phi)
    n = len(up)
    gain = np.einsum("d,dj->j", up, d.a) / n
    loss = np.einsum("d,dj->j", down, d.b) / n
    return np.asarray(gain - loss > TIE * (np.abs(gain) + np.abs(loss)))


def _searched(c: Criterion, won: _Winners) -> tuple[Array, float]:
    """Flip single cells of the most promising set; the gap is to knowing the draw."""
    d = won.draws

    def score(sens: Array, spec: Array) -> Floats:
        return np.asarray(c.value(sens, spec, d.phi[:, None]).mean(axis=0))

    sets = _candidates(d, won.cells)
    mean = score(d.a @ sets.T, 1 - d.b @ sets.T)
    chosen, best = _improve(sets[int(np.argmax(mean))], d, score)
    return chosen, max(mean_of_best(c, *d, won.cells) - best, 0.0)


def _closed(
    c: Criterion, won: _Winners, chosen: Array, gap: float
) -> tuple[Array, float]:
    """Close the gap of a quotient of counts by branch and bound, if it can be."""
    form = c.ratio and quotient(c.ratio, c.sign, *won.draws, chosen)
    if not form:
        return chosen, gap
    upper = form.value(chosen) + gap
    found = maximise(form, chosen, max(1, WORK // chosen.size))
    return found.chosen, min(found.gap, max(upper - form.value(found.chosen), 0.0))


def _candidates(d: Draws, winners: Array) -> Array:
    """Which sets are promising? On two orders of the cells, and the best of draws."""
    cells = d.a.shape[1]
    weighted = (
        (d.phi[:, None] * d.a).mean(axis=0),
        ((1 - d.phi)[:, None] * d.b).mean(axis=0),
    )
    steps = np.unique(np.linspace(0, cells, 65).astype(int))
    sets = [winners[np.linspace(0, len(winners) - 1, 64).astype(int)]]
    for a, b in ((d.a.mean(axis=0), d.b.mean(axis=0)), weighted):
        place = np.empty(cells, dtype=int)
        place[prefixes(a, b)[0]] = np.arange(cells)
        sets.append(place < steps[:, None])
    return np.unique(np.vstack(sets), axis=0)


def _improve(chosen: Array, d: Draws, score: Any, rounds: int = 500) -> Any:
    """Flip single cells as long as the average score rises."""
    sign = np.where(chosen, -1.0, 1.0)
    sens, spec = d.a[:, chosen].sum(axis=1), 1 - d.b[:, chosen].sum(axis=1)
    best = float(score(sens[:, None], spec[:, None])[0])
    for _ in range(rounds):
        value = score(sens[:, None] + d.a * sign, spec[:, None] - d.b * sign)
        j = int(value.argmax())
        if value[j] <= best + 1e-12:
            break
        best = float(value[j])
        sens, spec = sens + sign[j] * d.a[:, j], spec - sign[j] * d.b[:, j]
        sign[j] = -sign[j]
    return sign < 0, best


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
        From :func:`trueness.latent_class`.
    criterion : str, Metric
        "product", "squares", "sum" or "min" of sensitivity and specificity, or any
        metric or its text: ``trueness.cost(fp=1, fn=5)``, "0.7*accuracy + 0.3*recall".
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
    theirs is ``rule="most often"``. The optimum is exact to rounding for the four named
    criteria up to 11 classifiers, and beyond unless ``gap`` says otherwise; for what is
    linear in the rates (costs, accuracy) always; for other metrics up to 4 classifiers,
    beyond which ``gap`` bounds what can be missing (mostly nothing for F and Jaccard of
    tests that are better than chance). The average is over all draws while
    draws times 2^K is below 4 million, else over as many, evenly spaced;
    ``probability_best`` is over 1000 beyond 3 classifiers. A cell that adds nothing
    (less than 1e-14 of its probability) is not flagged.

    References
    ----------
    Keith, Davey, Boyd 2012, BMC Bioinformatics 13:179, doi:10.1186/1471-2105-13-179.

    Examples
    --------
    >>> import trueness
    >>> votes = [[1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 0, 1]]
    >>> p = trueness.Panel(["A", "B", "C"], votes,
    ...                    pos=[90, 0, 10, 0], neg=[0, 90, 0, 10])
    >>> post = trueness.latent_class(p, rng=0)
    >>> trueness.best_combination(post, criterion="sum").formula
    'at least 2 of A, B, C'
    """
    c = read_criterion(criterion)
    _options.choice(rule, RULES, "rule")
    _votes.latent_posterior(post)
    # the paper's criteria do not look at the prevalence
    free = c.name in CRITERIA
    s = _votes.population(population, post.populations, prevalence, single=free)
    few = DRAWS if len(post.names) >= ENUMERATED else None
    won = _winners(c, _draws(post, few, s, prevalence))
    often = Counter(w.tobytes() for w in won.cells)
    chosen, gap = np.frombuffer(often.most_common(1)[0][0], dtype=bool), 0.0
    if rule == "expected":
        chosen, gap = _best_on_average(c, post, s, prevalence, won)
    return _describe(post, chosen, c, rule, gap, often, won, s, prevalence)


def _describe(
    post: LatentPosterior,
    chosen: Array,
    c: Criterion,
    rule: str,
    gap: float,
    often: Counter[bytes],
    won: _Winners,
    s: int,
    prevalence: float | None,
) -> Combination:
    sens, spec = rates_of(post, chosen)
    phi = _phi(post._flat(), s, prevalence)
    favourite = np.frombuffer(often.most_common(1)[0][0], dtype=bool)
    cells = np.flatnonzero(chosen)
    return Combination(
        formula(cells.tolist(), post.names),
        _estimate(sens, post._level),
        _estimate(spec, post._level),
        c.name,
        _estimate(c.sign * c.value(sens, spec, phi), post._level),
        _share_best(c, won, chosen),
        rule,
        formula(np.flatnonzero(favourite).tolist(), post.names),
        _share_best(c, won, favourite),
        len(often),
        gap,
        sum(1 << int(j) for j in cells),
        tuple(map(tuple, votes(len(post.names))[cells].tolist())),
        post.names,
    )


def rates_of(post: LatentPosterior, chosen: Array) -> tuple[Floats, Floats]:
    """Give sensitivity and specificity of a set of cells in every draw."""
    flat, rows = post._flat(), votes(len(post.names))[chosen].astype(np.float64)
    n = len(flat["sensitivity"])
    sens, fpr = np.zeros(n), np.zeros(n)
    for at in blocks(n, max(1, 2**22 // max(len(rows), 1))):
        part = {k: v[at] for k, v in flat.items()}
        a, b = post._model.class_probabilities(part, rows)
        sens[at], fpr[at] = a.sum(axis=1), b.sum(axis=1)
    return sens, 1 - fpr


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
    expected cost, which is itself a logical combination. The probability is that of the
    expected numbers of positives and negatives with the pattern; ``post.probability``,
    the graded score, is the mean of it over the posterior, and can differ a little
    where the data are few.

    Parameters
    ----------
    post
        From :func:`trueness.latent_class`.
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
    value = read_criterion(price).value
    flat = post._flat()
    s = _votes.population(population, post.populations, prevalence)
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
