"""Which logical combination of classifiers is best, when nobody knows the truth?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import places
from trueness._core.records import Estimate, Record, brief, shown
from trueness.calibration.field_rules import check_names
from trueness.calibration.maps import Map, freeze, register
from trueness.metrics.algebra import Metric
from trueness.metrics.definitions import cost
from trueness.nogold.criteria import CRITERIA, Criterion, Draws, net, read_criterion
from trueness.nogold.formulas import formula, votes
from trueness.nogold.monotone import best_monotone, is_monotone
from trueness.nogold.pattern_draws import (
    MAX_ENTRIES,
    PatternDraws,
    read_pattern_draws,
)
from trueness.nogold.posterior import (
    LatentPosterior,
    check_posterior,
    summary_of_draws,
    vote_rows,
)
from trueness.nogold.search import best_on_average, winners

MAX_ALL_DRAWS = 3  # classifiers up to which the winner of every draw is looked for
MAX_DRAWS = 1000  # of more classifiers
ROUNDING = 1e-12  # values that differ by less are equal
METHODS = ("expected", "most often")


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
            raise InputError(
                "cells must hold a verdict, 0 or 1, for each classifier.",
                option="cells",
            )

    def __call__(self, rows: ArrayLike) -> Floats:
        """Return 1 or 0 for each row of votes."""
        checked_rows = vote_rows(rows, self.names)
        incomplete = np.asarray(np.isnan(checked_rows).any(axis=1))
        if incomplete.any():
            raise InputError(
                f"A logical combination needs every vote; missing at "
                f"{places(incomplete)} "
                "rows. The probability of each case allows missing votes.",
                example=PythonCode("panel.complete_cases(), or posterior.probability"),
            )

        # votes are the digits of a number, by which patterns are compared
        power = 2.0 ** np.arange(len(self.names))
        flagged = self.cells.reshape(-1, len(self.names))
        return np.isin(checked_rows @ power, flagged @ power).astype(np.float64)


@final
@dataclass(frozen=True, repr=False)
class Combination(Record):
    """A logical combination of classifiers, and how good it is.

    Attributes
    ----------
    formula, sensitivity, specificity : str, Estimate
        The combination in words, such as "C1 or (C2 and C3)"; used as one classifier.
    criterion, score : str, Estimate
        The criterion that was optimised, and its posterior.
    probability_best : float
        Proportion of draws in which no other combination is better (the paper's
        probability). For product and minimum of more than four classifiers, only the
        combinations found are compared.
    rule : str
        "expected" (best on average) or "most often" (best in most draws).
    most_often, most_often_probability, winners : str, float, int
        The combination that is best in most draws; the proportion of these draws; how
        many combinations are best in at least one draw.
    gap : float
        Largest possible gain of another combination on average; 0 means optimal (to
        rounding, 1e-13).
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
        """Return whether certainly no other combination is better on average."""
        return self.gap == 0

    def __repr__(self) -> str:
        """Return the formula, its rates with their intervals, and what is assumed."""
        if self.rule != "expected":
            certainty = "most often"
        elif self.exact:
            certainty = "best on average, exact"
        else:
            certainty = f"best on average, up to {self.gap:.2g} could be missing"

        all_patterns = 2 ** len(self.names)
        most_often = shown(self.most_often, 120)
        lines = [
            f"Combination: {shown(self.formula, 300)}",
            f"  flags {len(self.patterns):,} of {all_patterns:,} vote patterns",
            f"  sensitivity: {self.sensitivity}",
            f"  specificity: {self.specificity}",
            f"  {self.criterion}: {self.score} ({certainty})",
            f"  best in {brief(self.probability_best)} of the draws; most often best: "
            f"{most_often} ({brief(self.most_often_probability)}, "
            f"{self.winners:,} winners)",
        ]

        return "\n".join(lines)

    @property
    def number(self) -> int:
        """Return the number under which the paper's tables list it."""
        return self.code + 1

    @property
    def bits(self) -> str:
        """Return the paper's code as it is written: bit 0 on the right."""
        return format(self.code, f"0{2 ** len(self.names)}b")

    @property
    def map(self) -> LogicMap:
        """Return the combination as a function of votes, for ``panel.combine``."""
        return LogicMap(self.names, np.array(self.patterns, dtype=np.float64))


@final
@dataclass(frozen=True, repr=False)
class CostRule(Record):
    """Patterns of votes to flag, and what that costs.

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


def best_combination(
    posterior: LatentPosterior,
    *,
    criterion: str | Metric = "product",
    method: str = "expected",
    population: str | None = None,
    prevalence: float | None = None,
    monotone: bool = True,
) -> Combination:
    r"""Best logical combination of classifiers, by a criterion.

    Which patterns of votes should be flagged, so that the combination is the best
    classifier?

    Parameters
    ----------
    posterior
        From :func:`trueness.latent_class`.
    criterion : str, Metric
        "product", "squares", "sum" or "min" of sensitivity and specificity, or any
        metric or its text: ``trueness.cost(fp=1, fn=5)``, "0.7*accuracy + 0.3*recall".
    method : {"expected", "most often"}
        Best on average over the posterior, or best in most draws, as in Keith, Davey,
        Boyd 2012 (doi:10.1186/1471-2105-13-179). With many classifiers every draw has
        its own winner.
    population, prevalence
        The population whose prevalence a metric uses, if there are several; or a
        prevalence to use instead.
    monotone
        By default an additional positive vote never turns a positive result into a
        negative one. False also allows combinations such as "A and not B".

    Notes
    -----
    With up to 5 classifiers all monotone combinations are tried. With more, if the best
    combination is not monotone, the monotone one next to it is returned. The optimum is
    exact up to 4 classifiers, and for criteria linear in the rates (costs, accuracy)
    with any number. For quotients of counts (F, Jaccard) and for the product it usually
    is exact; otherwise ``gap`` states how much better another combination could be.
    Draws times 2^K beyond 4 million are thinned out, and ``probability_best`` uses
    1,000 draws for more than 3 classifiers. A pattern that adds nothing is not flagged.

    Examples
    --------
    >>> import trueness
    >>> votes = [[1, 1, 1], [1, 1, 0], [1, 0, 1], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> p = trueness.Panel(["A", "B", "C"], votes,
    ...                    pos=[90, 10, 5, 0, 0, 0], neg=[0, 0, 0, 5, 10, 90])
    >>> posterior = trueness.latent_class(p, dependence="none", rng=0)
    >>> trueness.best_combination(posterior, criterion="sum").formula
    'at least 2 of A, B, C'
    """
    objective = read_criterion(criterion)
    _options.choice(method, METHODS, "method")
    check_posterior(posterior, "best_combination")
    # the paper's criteria do not look at the prevalence
    pattern_draws = read_pattern_draws(
        posterior, population, prevalence, any_population=objective.name in CRITERIA
    )
    few_classifiers = len(posterior.names) <= MAX_ALL_DRAWS
    at_most = MAX_ENTRIES if few_classifiers else MAX_DRAWS
    contest = _find_winners(objective, pattern_draws.evenly_spaced(at_most))

    best_set = contest.most_often
    gap = 0.0
    if method == "expected":
        best_set, gap = _best_expected(objective, pattern_draws, start=best_set)
    if monotone and not is_monotone(best_set):
        draws = pattern_draws.as_many_as_fit()
        best_set, gap = best_monotone(objective, draws, best_set)

    return _describe(
        best_set, pattern_draws, contest, objective=objective, method=method, gap=gap
    )


class _Contest(NamedTuple):
    """Best combination of each draw, and how often each of them wins."""

    objective: Criterion
    draws: Draws
    best_value: Floats  # (draws,), that of the best combination of a draw
    most_often: Array  # the combination that is best in most draws
    number: int  # of combinations that are best in some draw

    def proportion_best(self, flagged_set: Array) -> float:
        """Return the proportion of draws in which no other combination is better."""
        value = self.objective.evaluate(self.draws, flagged_set)
        return float(np.mean(value >= self.best_value - ROUNDING))


def _find_winners(objective: Criterion, draws: Draws) -> _Contest:
    """Return the best combination of each draw, and the one that wins most often."""
    best_sets = winners(objective, draws)
    # sets as bytes can be counted
    wins = Counter(best_set.tobytes() for best_set in best_sets)
    most_frequent, _ = wins.most_common(1)[0]

    return _Contest(
        objective=objective,
        draws=draws,
        best_value=objective.evaluate(draws, best_sets),
        most_often=np.frombuffer(most_frequent, dtype=bool),
        number=len(wins),
    )


def _best_expected(
    objective: Criterion, pattern_draws: PatternDraws, start: Array
) -> tuple[Array, float]:
    """Return the best set on average, and how much better another could be."""
    if objective.shape != "linear":
        return best_on_average(objective, pattern_draws.as_many_as_fit())

    # slopes are the same everywhere, so that gains add up over all draws
    # each pattern adds its gain whatever else is flagged
    gain, loss = np.sum(
        [
            objective.gain_and_loss(draws.rates(start), draws)
            for draws in pattern_draws.in_blocks()
        ],
        axis=0,
    )

    return net(gain, loss) > 0, 0.0


def _describe(
    flagged_set: Array,
    pattern_draws: PatternDraws,
    contest: _Contest,
    *,
    objective: Criterion,
    method: str,
    gap: float,
) -> Combination:
    """Write a combination down, with its rates in all draws."""
    posterior = pattern_draws.posterior
    # (3, draws), block by block to save memory
    sens, spec, prevalence = np.hstack(
        [
            np.stack([*draws.rates(flagged_set), draws.prevalence])
            for draws in pattern_draws.in_blocks()
        ]
    )
    score = objective.sign * objective.value(sens, spec, prevalence)
    patterns = np.flatnonzero(flagged_set).tolist()
    most_often = np.flatnonzero(contest.most_often).tolist()
    flagged_votes = votes(len(posterior.names))[patterns].tolist()

    return Combination(
        formula=formula(patterns, posterior.names),
        sensitivity=summary_of_draws(sens, posterior.level),
        specificity=summary_of_draws(spec, posterior.level),
        criterion=objective.name,
        score=summary_of_draws(score, posterior.level),
        probability_best=contest.proportion_best(flagged_set),
        rule=method,
        most_often=formula(most_often, posterior.names),
        most_often_probability=contest.proportion_best(contest.most_often),
        winners=contest.number,
        gap=gap,
        code=sum(1 << pattern for pattern in patterns),
        patterns=tuple(tuple(row) for row in flagged_votes),
        names=posterior.names,
    )


def cost_rule(
    posterior: LatentPosterior,
    *,
    fp: float,
    fn: float,
    population: str | None = None,
    prevalence: float | None = None,
) -> CostRule:
    r"""Rule of least expected cost: the vote patterns to flag when errors have costs.

    Flag where the post-test probability exceeds fp / (fp + fn). The probability comes
    from the expected numbers of positives and negatives with the pattern.
    ``posterior.probability``, its mean over the posterior, can differ slightly with few
    data.

    Parameters
    ----------
    posterior, population, prevalence
        As in :func:`trueness.best_combination`.
    fp, fn
        Costs of a false positive and of a false negative.
    """
    price = cost(fp=fp, fn=fn)
    # the rule of least expected cost, whatever it looks like
    best = best_combination(
        posterior,
        criterion=price,
        population=population,
        prevalence=prevalence,
        monotone=False,
    )

    return CostRule(
        formula=best.formula,
        threshold=fp / (fp + fn),
        cost=best.score,
        alternatives=_costs_of_alternatives(
            price, read_pattern_draws(posterior, population, prevalence)
        ),
        combination=best,
    )


def _costs_of_alternatives(
    price: Metric, pattern_draws: PatternDraws
) -> dict[str, Estimate]:
    """Return the cost of each classifier, of flagging none and of flagging all."""
    posterior = pattern_draws.posterior
    prevalence = np.concatenate(
        [draws.prevalence for draws in pattern_draws.in_blocks()]
    )
    sens_and_spec = {
        name: (posterior.flat["sensitivity"][:, k], posterior.flat["specificity"][:, k])
        for k, name in enumerate(posterior.names)
    }
    never = np.zeros(len(prevalence))
    always = np.ones(len(prevalence))
    sens_and_spec["flag none"] = (never, always)
    sens_and_spec["flag all"] = (always, never)

    gain = read_criterion(price).value
    costs = {}
    for name, (sens, spec) in sens_and_spec.items():
        costs[name] = summary_of_draws(-gain(sens, spec, prevalence), posterior.level)

    return costs
