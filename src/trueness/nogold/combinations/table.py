"""Which combinations are there, and what is each worth?

All of them for few classifiers (``all_combinations``); for many, those that no other
one beats in both sensitivity and specificity (``combination_front``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.records import Record
from trueness.nogold import _checks as _votes
from trueness.nogold.combinations.best import ENTRIES, ENUMERATED, draws_of, every_draw
from trueness.nogold.combinations.criteria import CRITERIA, read_criterion
from trueness.nogold.combinations.search import all_sets, winners
from trueness.nogold.combinations.words import formula
from trueness.nogold.posterior import LatentPosterior

# combinations up to which all are worded, and draws that are used for more
WORDED, DRAWS = 2**8, 500


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
    patterns = np.arange(2 ** len(post.names))
    d = draws_of(post, DRAWS if patterns.size > 8 else ENTRIES)
    parts = [_worth(*x[1:]) for x in all_sets(d, patterns, patterns < 0)]
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

    The front is exact, for up to 10 classifiers: patterns are added one after another,
    and the undominated sums are kept (Nemhauser, Ullmann 1969,
    doi:10.1287/mnsc.15.9.494).

    Parameters
    ----------
    post
        From :func:`trueness.latent_class`.
    """
    _votes.latent_posterior(post, "combination_front")
    _votes.at_most_classifiers(len(post.names), 10)
    sums = [(d.a.sum(axis=0), d.b.sum(axis=0)) for d in every_draw(post)]
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
    return CombinationFront(sens, spec, members, post.names)
