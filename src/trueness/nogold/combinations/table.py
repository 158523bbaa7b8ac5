"""Which combinations are there, and what is each worth?

All of them for few classifiers (``all_combinations``); for many, those that no other
one beats in both sensitivity and specificity (``combination_front``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.checks import options as _options
from trueness._core.records import Record
from trueness.nogold import _checks as _votes
from trueness.nogold.combinations.best import (
    ENUMERATED,
    blocks_of_all,
    members_of,
    pattern_probabilities,
    winning_patterns,
)
from trueness.nogold.combinations.criteria import CRITERIA, read_criterion
from trueness.nogold.combinations.one_draw import front
from trueness.nogold.combinations.words import formula
from trueness.nogold.posterior import LatentPosterior


@final
@dataclass(frozen=True, repr=False)
class CombinationTable(Record):
    """All combinations of up to four classifiers (the paper's Tables 2 to 4).

    Every field but ``names`` has one entry a combination, in the order of the paper's
    numbers; ``formula`` is "" where there are too many to be worded (see ``top``).

    Attributes
    ----------
    number : array
        The paper's number, code + 1.
    formula : array of str
        In words.
    sensitivity, sensitivity_median, sensitivity_sd : array
        Posterior mean, median, standard deviation.
    specificity, specificity_median, specificity_sd : array
        The same.
    product, squares, sum, min : array
        Posterior means of the paper's four criteria.
    best_product, best_squares, best_sum, best_min : array
        Share of draws in which the combination is best.
    names : tuple of str
        The classifiers.
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
        if len(at) <= 2**8:
            kept["formula"] = _formulas(kept["number"], self.names)
        return CombinationTable(**kept, names=self.names)

    def __repr__(self) -> str:
        """Show the ten best by the product."""
        top = self if len(self.number) <= 10 else self.sorted(most=10)
        lines = [
            f"  {n:>5} {f:<32} {s:.3f} {p:.3f}"
            for n, f, s, p in zip(
                top.number, top.formula, top.sensitivity, top.specificity, strict=True
            )
        ]
        head = f"{len(self.number):,} combinations: number, formula, sens., spec."
        return "\n".join([head, *lines])


def _formulas(number: Array, names: tuple[str, ...]) -> Array:
    patterns = np.arange(2 ** len(names))
    return np.array(
        [formula(patterns[n - 1 >> patterns & 1 == 1], names) for n in number]
    )


def all_combinations(post: LatentPosterior) -> CombinationTable:
    """How good is every logical combination of up to four classifiers?

    Parameters
    ----------
    post
        From :func:`trueness.latent_class`.

    Returns
    -------
    CombinationTable
        One row for each of the 2^(2^K) combinations; ``sorted("min")`` sorts it.

    Notes
    -----
    Keith, Davey, Boyd 2012, Tables 2 to 4. With four classifiers 500 draws are used,
    with fewer all of them.
    """
    _votes.latent_posterior(post, "all_combinations")
    _votes.at_most_classifiers(len(post.names), ENUMERATED)
    d = pattern_probabilities(post, 500 if len(post.names) > 3 else None)
    members = members_of(len(post.names))
    moments = [_moments(part, members) for part in (d.a, -d.b)]
    moments[1][0] += 1  # the specificity is 1 - sum(b)
    moments[1][1] += 1
    means: dict[str, Floats] = {}
    shares: dict[str, Floats] = {}
    for name, value in CRITERIA.items():
        parts = [v.mean(axis=0) for _, v in blocks_of_all(d, value)]
        means[name] = np.concatenate(parts)
        won = winning_patterns(read_criterion(name), d)
        won = won @ (1 << np.arange(won.shape[1]))
        shares[name] = np.bincount(won, minlength=len(members)) / len(won)
    number = np.arange(1, len(members) + 1)
    few = len(members) <= 2**8
    worded = _formulas(number, post.names) if few else np.full(len(members), "")
    columns: Any = (number, worded, *moments[0], *moments[1])
    columns = (*columns, *means.values(), *shares.values(), post.names)
    return CombinationTable(*columns)


def _moments(patterns: Floats, members: Floats) -> list[Floats]:
    """Give mean, median and standard deviation of the sums, a block at a time."""
    parts = []
    for at in blocks(len(members), max(1, 2**22 // len(patterns))):
        total = patterns @ members[at].T
        parts.append(
            [total.mean(axis=0), np.median(total, axis=0), total.std(axis=0, ddof=1)]
        )
    return list(np.concatenate(parts, axis=1))


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
    _members: Array
    _names: tuple[str, ...]

    def patterns(self, i: int) -> Array:
        """Which patterns does combination i flag?"""
        flags = np.unpackbits(self._members[i], count=2 ** len(self._names))
        return np.flatnonzero(flags)

    def cells(self, i: int) -> Array:
        """Give ``patterns(i)`` under the name that it had before 0.2."""
        return self.patterns(i)

    def formula(self, i: int) -> str:
        """Write combination i in words."""
        return formula(self.patterns(i).tolist(), self._names)


def combination_front(post: LatentPosterior) -> CombinationFront:
    """Which combinations does no other beat in both sensitivity and specificity?

    The front is exact, for up to 10 classifiers: patterns are added one after another,
    and the undominated sums are kept (Nemhauser, Ullmann 1969).

    Parameters
    ----------
    post
        From :func:`trueness.latent_class`.
    """
    _votes.latent_posterior(post, "combination_front")
    _votes.at_most_classifiers(len(post.names), 10)
    a, b, _ = pattern_probabilities(post)
    sens, spec, members = front(a.mean(axis=0), b.mean(axis=0))
    return CombinationFront(sens, spec, members, post.names)
