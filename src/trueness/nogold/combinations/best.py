r"""Which logical combination of classifiers is best, when nobody knows the truth?

The votes of K classifiers fall into 2^K patterns; a combination flags some of them, and
has the sensitivity sum(a_j) and the specificity 1 - sum(b_j), with a_j and b_j the
probabilities of the flagged patterns in positives and negatives (Keith, Davey, Boyd
2012, Methods). They enumerate 2^(2^K) combinations; here the best one of a draw is
found by ``criteria.py``, and the one that is best on average by ``on_average.py``,
exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.checks import options as _options
from trueness.metrics.definitions import cost
from trueness.nogold import _checks as _votes
from trueness.nogold.combinations.branch_and_bound import BestFound, maximise, polish
from trueness.nogold.combinations.criteria import (
    CRITERIA,
    Criterion,
    Draws,
    gains,
    mean_of_best,
    read_criterion,
    slopes,
    winners_of,
)
from trueness.nogold.combinations.on_average import best_of_named
from trueness.nogold.combinations.one_draw import prefixes
from trueness.nogold.combinations.quotient import quotient
from trueness.nogold.combinations.records import Combination, CostRule
from trueness.nogold.combinations.words import formula, votes
from trueness.nogold.posterior import LatentPosterior, estimate

# classifiers up to which all combinations are written down
ENUMERATED = 4
# draws in which the best combination is looked for, beyond three classifiers
DRAWS = 1000
# patterns times draws over which the criterion is averaged
ENTRIES = 2**22
# values that differ by less are equal
EQUAL = 1e-12
# subproblems times patterns of the search for a quotient before it is cut off
WORK = 2**12
RULES = ("expected", "most often")


def pattern_probabilities(
    post: LatentPosterior,
    draws: int | None = None,
    s: int = 0,
    prevalence: float | None = None,
) -> Draws:
    """Give a_j and b_j of every pattern, and the prevalence.

    ``draws`` takes that many, evenly spaced; ``s`` is the population.
    """
    flat = post.flat
    n = len(flat["sensitivity"])
    at = np.arange(n) if draws is None else np.linspace(0, n - 1, min(n, draws))
    flat = {k: v[at.astype(int)] for k, v in flat.items()}
    rows = votes(len(post.names)).astype(np.float64)
    a, b = post.model.class_probabilities(flat, rows)
    return Draws(a, b, _phi(flat, s, prevalence))


def _phi(flat: Any, s: int, prevalence: float | None) -> Floats:
    if prevalence is not None:
        fixed = _options.fraction(prevalence, "prevalence")
        return np.full(len(flat["prevalence"]), fixed)
    return np.asarray(flat["prevalence"][:, s])


def members_of(k: int) -> Floats:
    """Give all combinations as rows of 0 and 1, in the order of the codes."""
    return _flags(np.arange(2**2**k)[:, None], 2**k).astype(np.float64)


def _flags(code: Any, patterns: int) -> Array:
    """Which patterns does a code flag? Its bits, the lowest first."""
    return np.asarray(code >> np.arange(patterns) & 1, dtype=bool)


def blocks_of_all(d: Draws, value: Any) -> Iterator[tuple[int, Floats]]:
    """Walk through the values of all combinations, (draws, some codes)."""
    members = members_of(int(np.log2(d.a.shape[1])))
    for at in blocks(len(members), max(1, 2**20 // len(d.a))):
        part = members[at].T
        yield at.start, value(d.a @ part, 1 - d.b @ part, d.phi[:, None])


def winning_patterns(c: Criterion, d: Draws) -> Array:
    """Which combination is best in each draw? (draws, patterns) of bool."""
    n, patterns = d.a.shape
    if patterns >= 2**ENUMERATED:  # solving a draw is cheaper than 65,536 combinations
        return winners_of(c, d)
    best, code = np.full(n, -np.inf), np.zeros(n, dtype=np.int64)
    for start, found in blocks_of_all(d, c.value):
        at = found.argmax(axis=1)
        top = found[np.arange(n), at]
        # a margin of rounding, so that equal combinations keep the smaller code
        better = top > best + 1e-13
        best, code = np.where(better, top, best), np.where(better, at + start, code)
    return _flags(code[:, None], patterns)


class _Winners(NamedTuple):
    """What is best in each draw, and how good that is."""

    c: Criterion
    draws: Draws
    patterns: Array  # (draws, patterns) of bool
    value: Floats  # (draws,)

    def share(self, chosen: Array) -> float:
        """In which share of the draws is no combination better than this?"""
        found = self.c.of(self.draws, chosen)
        return float(np.mean(found >= self.value - EQUAL))


def _winners(c: Criterion, d: Draws) -> _Winners:
    patterns = winning_patterns(c, d)
    return _Winners(c, d, patterns, c.of(d, patterns))


def _best_on_average(
    post: LatentPosterior, s: int, prevalence: float | None, won: _Winners
) -> tuple[Array, float]:
    """Give the best set of patterns on average, and what could be missing."""
    c, patterns = won.c, 2 ** len(post.names)
    if c.name in CRITERIA or c.shape == "linear":
        d = pattern_probabilities(post, max(1, ENTRIES // patterns), s, prevalence)
        if c.name not in CRITERIA:
            return _linear(c, d), 0.0
        found = best_of_named(c.name, d.a, d.b)
        return found.chosen, _smaller_gap(c, d, found) if found.gap else 0.0
    if len(post.names) <= ENUMERATED:
        parts = blocks_of_all(won.draws, c.value)
        mean = np.concatenate([v.mean(axis=0) for _, v in parts])
        code = int(np.argmax(mean > mean.max() - 1e-13))
        return _flags(code, patterns), 0.0
    return _closed(won, *_searched(won))


def _smaller_gap(c: Criterion, d: Draws, found: BestFound) -> float:
    """Compare the bound of the search with that of knowing the draw."""
    best = float(c.of(d, found.chosen).mean())
    return min(found.gap, mean_of_best(c, d, winners_of(c, d)) - best)


def _linear(c: Criterion, d: Draws) -> Array:
    """Flag the patterns that gain on average."""
    up, down = slopes(c.value, d.phi)
    gain, loss = (
        np.einsum("d,dj->j", slope, p) / len(slope)
        for slope, p in ((up, d.a), (down, d.b))
    )
    return gains(gain, loss)


class Averaged(NamedTuple):
    """Any criterion, averaged over draws, as far as a local search needs it."""

    c: Criterion
    draws: Draws
    tie: Floats

    def totals(self, chosen: Array) -> Floats:
        """Give sensitivity and specificity of a set in each draw, (2, draws)."""
        return self.draws.rates(chosen)

    def step(self, j: int) -> Floats:
        """What does one pattern add to both rates?"""
        return np.stack([self.draws.a[:, j], -self.draws.b[:, j]])

    def gains(self, totals: Floats, inside: Array, among: Array) -> Floats:
        """What does each of these patterns add to the set without it?"""
        each = np.stack([self.draws.a[:, among], -self.draws.b[:, among]])
        without = totals[:, :, None] - each * inside
        return self.mean(without + each) - self.mean(without)

    def mean(self, rates: Floats) -> Floats:
        """Average the criterion over the draws; rates are (2, draws, sets)."""
        value = self.c.value(rates[0], rates[1], self.draws.phi[:, None])
        return np.asarray(value.mean(axis=0))


def _searched(won: _Winners) -> tuple[Array, float]:
    """Polish the most promising set; the gap is to knowing the draw."""
    c, d = won.c, won.draws
    problem = Averaged(c, d, np.full(d.a.shape[1], EQUAL))
    sets = _candidates(d, won.patterns)
    mean = problem.mean(np.stack([d.a @ sets.T, 1 - d.b @ sets.T]))
    chosen = sets[int(np.argmax(mean))]
    chosen = polish(problem, chosen, np.arange(chosen.size))
    best = float(problem.mean(problem.totals(chosen)[:, :, None])[0])
    return chosen, max(mean_of_best(c, d, won.patterns) - best, 0.0)


def _closed(won: _Winners, chosen: Array, gap: float) -> tuple[Array, float]:
    """Close the gap of a quotient of counts by branch and bound, if it can be."""
    ratio = won.c.ratio
    form = ratio and quotient(ratio, won.c.sign, *won.draws, chosen)
    if not form:
        return chosen, gap
    upper = form.value(chosen) + gap
    found = maximise(form, chosen, max(1, WORK // chosen.size))
    return found.chosen, min(found.gap, max(upper - form.value(found.chosen), 0.0))


def _candidates(d: Draws, winners: Array) -> Array:
    """Which sets are promising? Prefixes of two orders, and the best of draws."""
    patterns = d.a.shape[1]
    weighted = (
        (d.phi[:, None] * d.a).mean(axis=0),
        ((1 - d.phi)[:, None] * d.b).mean(axis=0),
    )
    steps = np.unique(np.linspace(0, patterns, 65).astype(int))
    sets = [winners[np.linspace(0, len(winners) - 1, 64).astype(int)]]
    for a, b in ((d.a.mean(axis=0), d.b.mean(axis=0)), weighted):
        place = np.empty(patterns, dtype=int)
        place[prefixes(a, b)[0]] = np.arange(patterns)
        sets.append(place < steps[:, None])
    return np.unique(np.vstack(sets), axis=0)


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
        The population whose prevalence a metric uses, if there are several; or a
        prevalence to use instead.

    Returns
    -------
    Combination
        With formula, patterns, code, sensitivity, specificity, probability_best and
        map.

    Notes
    -----
    Keith, Davey, Boyd 2012, Methods. Differs from their rule: with many classifiers
    every draw has its own winner, so the default maximises the posterior expectation;
    theirs is ``rule="most often"``. The optimum is exact to rounding for the four named
    criteria up to 11 classifiers, and for more classifiers unless ``gap`` is above 0;
    it is always exact for criteria that are linear in the rates (costs, accuracy). For
    other metrics it is exact up to 4 classifiers, beyond which ``gap`` bounds how much
    better another combination could be (mostly nothing for F and Jaccard of tests that
    are better than chance). The average is over all draws while the number of draws
    times 2^K is below 4 million, and otherwise over as many evenly spaced draws as this
    limit allows; ``probability_best`` uses 1,000 draws for more than 3 classifiers. A
    pattern that adds nothing (less than 1e-14 of its probability) is not flagged.

    References
    ----------
    Keith, Davey, Boyd 2012, BMC Bioinformatics 13:179, doi:10.1186/1471-2105-13-179.

    Examples
    --------
    >>> import trueness
    >>> votes = [[1, 1, 1], [1, 1, 0], [1, 0, 1], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> p = trueness.Panel(["A", "B", "C"], votes,
    ...                    pos=[90, 10, 5, 0, 0, 0], neg=[0, 0, 0, 5, 10, 90])
    >>> post = trueness.latent_class(p, rng=0)
    >>> trueness.best_combination(post, criterion="sum").formula
    'at least 2 of A, B, C'
    """
    c = read_criterion(criterion)
    _options.choice(rule, RULES, "rule")
    _votes.latent_posterior(post, "best_combination")
    # the paper's criteria do not look at the prevalence
    free = c.name in CRITERIA
    s = _votes.population(population, post.populations, prevalence, single=free)
    few = DRAWS if len(post.names) >= ENUMERATED else None
    won = _winners(c, pattern_probabilities(post, few, s, prevalence))
    often = Counter(w.tobytes() for w in won.patterns)
    chosen = favourite = np.frombuffer(often.most_common(1)[0][0], dtype=bool)
    gap = 0.0
    if rule == "expected":
        chosen, gap = _best_on_average(post, s, prevalence, won)
    sens, spec = rates_of(post, chosen)
    score = c.sign * c.value(sens, spec, _phi(post.flat, s, prevalence))
    patterns = np.flatnonzero(chosen)
    return Combination(
        formula(patterns.tolist(), post.names),
        estimate(sens, post.level),
        estimate(spec, post.level),
        c.name,
        estimate(score, post.level),
        won.share(chosen),
        rule,
        formula(np.flatnonzero(favourite).tolist(), post.names),
        won.share(favourite),
        len(often),
        gap,
        sum(1 << int(j) for j in patterns),
        tuple(map(tuple, votes(len(post.names))[patterns].tolist())),
        post.names,
    )


def rates_of(post: LatentPosterior, chosen: Array) -> tuple[Floats, Floats]:
    """Give sensitivity and specificity of a set of patterns in every draw."""
    flat, rows = post.flat, votes(len(post.names))[chosen].astype(np.float64)
    n = len(flat["sensitivity"])
    sens, fpr = np.zeros(n), np.zeros(n)
    for at in blocks(n, max(1, 2**22 // max(len(rows), 1))):
        part = {k: v[at] for k, v in flat.items()}
        a, b = post.model.class_probabilities(part, rows)
        sens[at], fpr[at] = a.sum(axis=1), b.sum(axis=1)
    return sens, 1 - fpr


def cost_rule(
    post: LatentPosterior,
    *,
    fp: float,
    fn: float,
    population: str | None = None,
    prevalence: float | None = None,
) -> CostRule:
    r"""Which vote patterns should be flagged, when errors have costs?

    Flag where the post-test probability exceeds fp / (fp + fn): the rule of least
    expected cost, which is itself a logical combination. The probability is that of the
    expected numbers of positives and negatives with the pattern; ``post.probability``,
    the graded score, is its mean over the posterior, and can differ a little when there
    are few data.

    Parameters
    ----------
    post
        From :func:`trueness.latent_class`.
    fp, fn
        Costs of a false positive and of a false negative.
    population, prevalence
        The population whose prevalence is used, if there are several; or a prevalence
        to use instead.

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
    flat = post.flat
    s = _votes.population(population, post.populations, prevalence)
    phi = _phi(flat, s, prevalence)
    level = post.level
    sens, spec = flat["sensitivity"], flat["specificity"]
    costs = {
        n: estimate(-value(sens[:, k], spec[:, k], phi), level)
        for k, n in enumerate(post.names)
    }
    nothing, everything = np.zeros(len(phi)), np.ones(len(phi))
    costs["flag none"] = estimate(-value(nothing, everything, phi), level)
    costs["flag all"] = estimate(-value(everything, nothing, phi), level)
    return CostRule(best.formula, fp / (fp + fn), best.score, costs, best)
