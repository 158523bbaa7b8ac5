"""Which logical combination of classifiers is best, when nobody knows the truth?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import places
from trueness._core.records import Estimate, Record, brief, shown
from trueness.calibration.field_rules import check_names
from trueness.calibration.maps import Map, freeze, register
from trueness.metrics.algebra import Metric
from trueness.metrics.definitions import cost
from trueness.nogold.criteria import CRITERIA, Draws, net, read_criterion
from trueness.nogold.formulas import formula, votes
from trueness.nogold.monotone import best_monotone, is_monotone
from trueness.nogold.posterior import (
    LatentPosterior,
    check_posterior,
    summary_of_draws,
    vote_rows,
    which_population,
)
from trueness.nogold.search import all_sets, best_on_average, winners

ENUMERATED = 4  # classifiers up to which all combinations are written down
DRAWS = 1000  # in which the best combination is looked for, beyond three classifiers
ENTRIES = 2**22  # patterns times draws that are held at a time
EQUAL = 1e-12  # values that differ by less
RULES = ("expected", "most often")
# combinations up to which a table words all, and draws of a table of more
WORDED, TABLE_DRAWS = 2**8, 500


@register("combination")
@final
@dataclass(frozen=True, repr=False, eq=False)
class LogicMap(Map):
    """1 for the vote patterns in ``cells``, else 0; for ``panel.combine``."""

    names: tuple[str, ...]
    cells: Floats  # (patterns, K); the name that it has in files

    def __post_init__(self) -> None:
        freeze(self, "cells")
        check_names(self.names)
        if self.cells.size % len(self.names) or not np.isin(self.cells, (0, 1)).all():
            raise InputError("cells must hold a vote, 0 or 1, for each classifier.")

    def __call__(self, rows: ArrayLike) -> Floats:
        """Give 1 or 0 for each row of votes."""
        value = vote_rows(rows, self.names)
        gone = np.asarray(np.isnan(value).any(axis=1))
        if gone.any():
            raise InputError(
                f"A logical combination needs every vote; missing at {places(gone)} "
                "rows. The probability of each case allows missing votes.",
                example=PythonCode("panel.observed(), or post.probability"),
            )
        power = 2.0 ** np.arange(len(self.names))
        patterns = self.cells.reshape(-1, len(self.names))
        return np.isin(value @ power, patterns @ power).astype(np.float64)


@final
@dataclass(frozen=True, repr=False)
class Combination(Record):
    """A logical combination of classifiers, and how good it is.

    Attributes
    ----------
    formula, sensitivity, specificity : str, Estimate
        The combination in words, such as "C1 or (C2 and C3)"; used as one classifier.
    criterion, score : str, Estimate
        What was optimised, and its posterior.
    probability_best : float
        Share of draws in which no other combination is better (the paper's
        probability; by product and minimum of more than four, none that was found).
    rule : str
        "expected" (best on average) or "most often" (best in most draws).
    most_often, most_often_probability, winners : str, float, int
        The combination that is best in most draws, in which share of them, and how many
        combinations are best in some draw.
    gap : float
        How much better, at most, another combination could be on average; 0 is exact
        (to rounding, 1e-13).
    code : int
        The paper's 2^K-bit code; its tables print ``number``, code + 1.
    patterns, names : tuple of tuples of int, tuple of str
        The vote patterns that are flagged, in the order of the names of classifiers.
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
    patterns: tuple[tuple[int, ...], ...]
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
        return (
            f"Combination: {shown(self.formula, 300)}\n"
            f"  flags {len(self.patterns):,} of {2 ** len(self.names):,} vote patterns"
            f"\n  sensitivity: {self.sensitivity}\n  specificity: {self.specificity}\n"
            f"  {self.criterion}: {self.score} ({sure})\n"
            f"  best in {brief(self.probability_best)} of the draws; most often best: "
            f"{often} ({brief(self.most_often_probability)}, {self.winners:,} winners)"
        )

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
        return LogicMap(self.names, np.array(self.patterns, dtype=np.float64))


@final
@dataclass(frozen=True, repr=False)
class CostRule(Record):
    """Which patterns should be flagged, and what does that cost?

    Attributes
    ----------
    formula, threshold : str, float
        The patterns whose post-test probability exceeds fp / (fp + fn), in words.
    cost, alternatives : Estimate, mapping from name to Estimate
        Of a case, in expectation; of each classifier, flagging none and flagging all.
    combination : Combination
        The same rule, with its sensitivity, specificity and map.
    """

    formula: str
    threshold: float
    cost: Estimate
    alternatives: dict[str, Estimate]
    combination: Combination


def patterns_of(post: LatentPosterior, at: Any, s: int, prevalence: Any) -> Draws:
    """Give pattern probabilities and the prevalence of population s in some draws."""
    flat = {name: part[at] for name, part in post.flat.items()}
    phi = flat["prevalence"][:, s]
    if prevalence is not None:
        phi = np.full_like(phi, _options.fraction(prevalence, "prevalence"))
    if post.model.shared:
        rows = votes(len(post.names)).astype(np.float64)
        a, b = post.model.class_probabilities(flat, rows)
    else:
        a, b = (_products(r) for r in (flat["sensitivity"], 1 - flat["specificity"]))
    return Draws(a, b, phi)


def _products(rate: Floats) -> Floats:
    """Multiply the probabilities of all patterns of one half and of the other."""
    if rate.shape[1] == 1:
        return np.hstack([rate, 1 - rate])
    low, high = (_products(half) for half in np.array_split(rate, 2, axis=1))
    return (high[:, :, None] * low[:, None, :]).reshape(len(rate), -1)


def draws_of(
    post: LatentPosterior, most: int, s: int = 0, prevalence: Any = None
) -> Draws:
    """Take at most this many draws, evenly spaced."""
    n = len(post.flat["sensitivity"])
    at = np.linspace(0, n - 1, min(n, max(1, most))).astype(int)
    return patterns_of(post, at, s, prevalence)


def every_draw(
    post: LatentPosterior, s: int = 0, prevalence: Any = None
) -> Iterator[Draws]:
    """Walk through all draws, some at a time."""
    step = max(1, ENTRIES >> len(post.names) + 2)
    for at in blocks(len(post.flat["sensitivity"]), step):
        yield patterns_of(post, at, s, prevalence)


def rates_of(post: LatentPosterior, chosen: Array) -> Floats:
    """Give sensitivity and specificity of a set of patterns in every draw."""
    return np.hstack([d.rates(chosen) for d in every_draw(post)])


def best_combination(
    post: LatentPosterior,
    *,
    criterion: str | Metric = "product",
    method: str = "expected",
    population: str | None = None,
    prevalence: float | None = None,
    monotone: bool = True,
) -> Combination:
    r"""Which logical combination of the classifiers is best?

    Parameters
    ----------
    post
        From :func:`trueness.latent_class`.
    criterion : str, Metric
        "product", "squares", "sum" or "min" of sensitivity and specificity, or any
        metric or its text: ``trueness.cost(fp=1, fn=5)``, "0.7*accuracy + 0.3*recall".
    method : {"expected", "most often"}
        Best on average over the posterior, or best in most draws: the choice of Keith,
        Davey, Boyd 2012 (doi:10.1186/1471-2105-13-179), but with many classifiers every
        draw has its own winner.
    population, prevalence
        The population whose prevalence a metric uses, if there are several; or a
        prevalence to use instead.
    monotone
        By default one more positive vote never undoes a flag. False also allows
        combinations such as "A and not B".

    Notes
    -----
    Of monotone combinations all are tried up to 5 classifiers; beyond, where the best
    of all is not monotone, the one next to it. The optimum is exact up to 4
    classifiers, and for criteria linear in the rates (costs, accuracy) with any number;
    for quotients of counts (F, Jaccard) and the product it mostly is, and else ``gap``
    says how much better another combination could be. Draws times 2^K beyond 4 million
    are thinned out, and ``probability_best`` uses 1,000 draws for more than 3
    classifiers. A pattern that adds nothing is not flagged.

    Examples
    --------
    >>> import trueness
    >>> votes = [[1, 1, 1], [1, 1, 0], [1, 0, 1], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> p = trueness.Panel(["A", "B", "C"], votes,
    ...                    pos=[90, 10, 5, 0, 0, 0], neg=[0, 0, 0, 5, 10, 90])
    >>> post = trueness.latent_class(p, dependence="none", rng=0)
    >>> trueness.best_combination(post, criterion="sum").formula
    'at least 2 of A, B, C'
    """
    c = read_criterion(criterion)
    _options.choice(method, RULES, "method")
    check_posterior(post, "best_combination")
    # the paper's criteria do not look at the prevalence
    free, k = c.name in CRITERIA, len(post.names)
    s = which_population(population, post.populations, prevalence, single=free)
    d = draws_of(post, DRAWS if k >= ENUMERATED else ENTRIES, s, prevalence)
    won = winners(c, d)
    worth = c.evaluate(d, won) - EQUAL
    often = Counter(w.tobytes() for w in won)
    chosen = favourite = np.frombuffer(often.most_common(1)[0][0], dtype=bool)
    gap = 0.0
    if method == "expected" and c.shape == "linear":  # gains add up over all draws
        every = every_draw(post, s, prevalence)
        sums = np.sum([c.gain_and_loss(x.rates(chosen), x) for x in every], axis=0)
        chosen = net(*sums) > 0
    elif method == "expected":
        chosen, gap = best_on_average(c, draws_of(post, ENTRIES >> k, s, prevalence))
    if monotone and not is_monotone(chosen):
        draws = draws_of(post, ENTRIES >> k, s, prevalence)
        chosen, gap = best_monotone(c, draws, chosen)
    parts = [(*x.rates(chosen), x.prevalence) for x in every_draw(post, s, prevalence)]
    sens, spec, phi = np.hstack(parts)
    patterns = np.flatnonzero(chosen)
    return Combination(
        formula(patterns.tolist(), post.names),
        summary_of_draws(sens, post.level),
        summary_of_draws(spec, post.level),
        c.name,
        summary_of_draws(c.sign * c.value(sens, spec, phi), post.level),
        float(np.mean(c.evaluate(d, chosen) >= worth)),
        method,
        formula(np.flatnonzero(favourite).tolist(), post.names),
        float(np.mean(c.evaluate(d, favourite) >= worth)),
        len(often),
        gap,
        sum(1 << int(j) for j in patterns),
        tuple(map(tuple, votes(k)[patterns].tolist())),
        post.names,
    )


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
    expected cost. The probability is that of the expected numbers of positives and
    negatives with the pattern; ``post.probability``, its mean over the posterior, can
    differ a little when there are few data.

    Parameters
    ----------
    post, population, prevalence
        As in :func:`trueness.best_combination`.
    fp, fn
        Costs of a false positive and of a false negative.
    """
    price = cost(fp=fp, fn=fn)
    # the rule of least expected cost, whatever it looks like
    best = best_combination(
        post,
        criterion=price,
        population=population,
        prevalence=prevalence,
        monotone=False,
    )
    s = which_population(population, post.populations, prevalence)
    phi = np.concatenate([d.prevalence for d in every_draw(post, s, prevalence)])
    sens, spec = post.flat["sensitivity"].T, post.flat["specificity"].T
    none, every = np.zeros(len(phi)), np.ones(len(phi))
    rates = dict(zip(post.names, zip(sens, spec, strict=True), strict=True))
    rates |= {"flag none": (none, every), "flag all": (every, none)}
    value = read_criterion(price).value
    costs = {n: summary_of_draws(-value(*r, phi), post.level) for n, r in rates.items()}
    return CostRule(best.formula, fp / (fp + fn), best.score, costs, best)


@final
@dataclass(frozen=True, repr=False)
class CombinationTable(Record):
    """All combinations of up to four classifiers (the paper's Tables 2 to 4).

    Every field but ``names`` has one entry a combination, in the order of the paper's
    numbers (code + 1); ``formula`` is "" where there are too many (see ``sorted``).
    Sensitivity and specificity have posterior mean, median and standard deviation,
    ``product`` to ``min`` are posterior means of the paper's four criteria, and
    ``best_product`` to ``best_min`` the shares of draws in which it is best.
    """

    number: Array
    formula: Array
    sensitivity: Floats
    sensitivity_median: Floats
    sensitivity_sd: Floats
    specificity: Floats
    specificity_median: Floats
    specificity_sd: Floats
    product: Floats
    squares: Floats
    sum: Floats
    min: Floats
    best_product: Floats
    best_squares: Floats
    best_sum: Floats
    best_min: Floats
    names: tuple[str, ...]

    def sorted(self, by: str = "product", most: int | None = None) -> CombinationTable:
        """Sort by a column of numbers, highest first, and keep the first ``most``."""
        columns = [k for k, v in vars(self).items() if isinstance(v, np.ndarray)]
        _options.choice(by, [c for c in columns if c != "formula"], "by")
        if most is not None:
            most = _options.whole_number(most, "most", at_least=1)
        at = np.argsort(-getattr(self, by), kind="stable")[:most]
        kept = {c: getattr(self, c)[at] for c in columns}
        if len(at) <= WORDED:
            kept["formula"] = _formulas(kept["number"], self.names)
        return CombinationTable(**kept, names=self.names)

    def __repr__(self) -> str:
        """Show the ten best by the product."""
        top = self if len(self.number) <= 10 else self.sorted(most=10)
        rows = zip(
            top.number, top.formula, top.sensitivity, top.specificity, strict=True
        )
        lines = [f"  {n:>5} {f:<32} {s:.3f} {p:.3f}" for n, f, s, p in rows]
        head = f"{len(self.number):,} combinations: number, formula, sens., spec."
        return "\n".join([head, *lines])


def _formulas(number: Array, names: tuple[str, ...]) -> Array:
    if len(number) > WORDED:
        return np.full(len(number), "")
    patterns = np.arange(2 ** len(names))
    return np.array(
        [formula(patterns[n - 1 >> patterns & 1 == 1], names) for n in number]
    )


def all_combinations(post: LatentPosterior) -> CombinationTable:
    """How good is every logical combination of up to four classifiers?

    ``sorted("min")`` sorts the table. With four classifiers 500 draws are used, with
    fewer all of them (Keith, Davey, Boyd 2012, Tables 2 to 4).

    Parameters
    ----------
    post
        From :func:`trueness.latent_class`.
    """
    check_posterior(post, "all_combinations", ENUMERATED)
    patterns = np.arange(2 ** len(post.names))
    d = draws_of(post, TABLE_DRAWS if patterns.size > 8 else ENTRIES)
    parts = [
        _worth(sens, spec) for _, sens, spec in all_sets(d, patterns, patterns < 0)
    ]
    columns: Any = {k: np.concatenate([p[k] for p in parts]) for k in parts[0]}
    number = np.arange(1, 2**patterns.size + 1)
    for name in CRITERIA:
        won = winners(read_criterion(name), d) @ (1 << patterns)
        columns[f"best_{name}"] = np.bincount(won, minlength=number.size) / len(won)
    worded = _formulas(number, post.names)
    return CombinationTable(number=number, formula=worded, names=post.names, **columns)


def _worth(sens: Floats, spec: Floats) -> dict[str, Floats]:
    """Summarise the rates of combinations, (draws, combinations), over the draws."""
    out = {}
    for word, rate in (("sensitivity", sens), ("specificity", spec)):
        out[word] = rate.mean(axis=0)
        out[f"{word}_median"] = np.median(rate, axis=0)
        out[f"{word}_sd"] = rate.std(axis=0, ddof=1)
    return out | {k: f(sens, spec, sens).mean(axis=0) for k, f in CRITERIA.items()}


@final
@dataclass(frozen=True, repr=False)
class CombinationFront(Record):
    """All combinations that no other beats in sensitivity and specificity.

    Attributes
    ----------
    sensitivity, specificity : array
        At the posterior means of the patterns, with rising sensitivity.
    """

    sensitivity: Floats
    specificity: Floats
    _members: Array  # eight patterns a byte, as numpy.packbits packs them
    _names: tuple[str, ...]

    def patterns(self, i: int) -> Array:
        """Which patterns does combination i flag?"""
        flags = np.unpackbits(self._members[i], count=2 ** len(self._names))
        return np.flatnonzero(flags)

    def formula(self, i: int) -> str:
        """Write combination i in words."""
        return formula(self.patterns(i).tolist(), self._names)


def combination_front(post: LatentPosterior) -> CombinationFront:
    """Which combinations does no other beat in both sensitivity and specificity?

    The front is exact, for up to 10 classifiers (Nemhauser, Ullmann 1969,
    doi:10.1287/mnsc.15.9.494).

    Parameters
    ----------
    post
        From :func:`trueness.latent_class`.
    """
    check_posterior(post, "combination_front", 10)
    sums = [
        (d.in_positives.sum(axis=0), d.in_negatives.sum(axis=0))
        for d in every_draw(post)
    ]
    a, b = np.sum(sums, axis=0) / len(post.flat["sensitivity"])
    sens, spec = np.zeros(1), np.ones(1)
    members = np.zeros((1, -(-a.size // 8)), dtype=np.uint8)
    # patterns that are clearly in or out come last: fewer sums in between
    for j in np.argsort(np.maximum(a, b)):
        n = sens.size
        sens = np.concatenate([sens, sens + a[j]])
        spec = np.concatenate([spec, spec - b[j]])
        keep = np.lexsort((-spec, -sens))
        top = np.maximum.accumulate(spec[keep])
        keep = keep[np.concatenate([[True], spec[keep][1:] > top[:-1]])][::-1]
        sens, spec, members = sens[keep], spec[keep], members[keep % n]
        members[keep >= n, j // 8] |= np.uint8(128 >> (j % 8))
    # repeated sums end a rounding error outside [0, 1]: -3e-15 is a specificity of 0
    sensitivity = np.clip(sens, 0.0, 1.0)
    specificity = np.clip(spec, 0.0, 1.0)
    return CombinationFront(sensitivity, specificity, members, post.names)
