"""How does one say a set of vote patterns in words?

Bit k (from the right, from 0) of a pattern's number is 1 when classifier k votes *no*
(Keith, Davey, Boyd 2012). An implicant says of each classifier that it says yes, says
no, or does not matter: a place of a table with three entries an axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from trueness._core.arrays import Array
from trueness._core.progress import stop_if_requested

MAX_MINIMISED = 12  # classifiers; of more, a formula is not searched for
MAX_LITERALS_PER_CLASSIFIER = 2  # beyond, a weighted vote says it better
MAX_VOTE_WEIGHT = 1000
MAX_PROGRAM_NODES = 500  # subproblems of the integer program that finds the weights

# what an implicant says of a classifier, and what a pattern has
YES = 0
NO = 1
EITHER = 2
Term = tuple[int, ...]  # one of these for each classifier


def votes(k: int) -> Array:
    """Return the votes of every pattern, (2^K, K), in the paper's order.

    >>> votes(2).tolist()
    [[1, 1], [0, 1], [1, 0], [0, 0]]
    """
    pattern = np.arange(2**k)[:, None]
    says_no = pattern >> np.arange(k) & 1
    return np.asarray(1 - says_no)


def formula(patterns: Sequence[int], names: Sequence[str]) -> str:
    """Write a set of patterns as people say it.

    >>> formula([0, 1, 2, 4, 6], ["A", "B", "C"])
    'A or (B and C)'
    >>> formula([0, 1, 2, 4], ["A", "B", "C"])
    'at least 2 of A, B, C'
    """
    inside = np.zeros(2 ** len(names), dtype=bool)
    inside[np.asarray(patterns, dtype=int)] = True
    if inside.all():
        return "always"
    if not inside.any():
        return "never"

    by_count = _say_by_count(inside, names)
    if by_count:
        return by_count
    if len(names) > MAX_MINIMISED:
        how_many = f"{inside.sum():,} of {inside.size:,} patterns"
        return _say_as_weighted_vote(inside, names) or how_many

    return _say_logically(inside, names)


def _say_logically(inside: Array, names: Sequence[str]) -> str:
    """Write the shortest logical formula, or a weighted vote where that is long."""
    inside_terms = _cover(inside.tobytes())
    outside_terms = _cover((~inside).tobytes())
    inside_length = _number_of_literals(inside_terms)
    outside_length = _number_of_literals(outside_terms)

    longest = MAX_LITERALS_PER_CLASSIFIER * len(names)
    if min(inside_length, outside_length) > longest:
        weighted_vote = _say_as_weighted_vote(inside, names)
        if weighted_vote:
            return weighted_vote

    if outside_length < inside_length:
        # De Morgan: not (a and b) is (not a) or (not b)
        return _join_terms(outside_terms, names, plain=NO, inner=" or ", outer=" and ")

    return _join_terms(inside_terms, names, plain=YES, inner=" and ", outer=" or ")


def _number_of_literals(terms: Sequence[Term]) -> int:
    """Return how often a classifier is named in all implicants."""
    return sum(len(term) - term.count(EITHER) for term in terms)


def _join_terms(
    terms: Sequence[Term], names: Sequence[str], *, plain: int, inner: str, outer: str
) -> str:
    """Join what each implicant says; votes other than ``plain`` are negated."""
    groups = []
    for term in terms:
        literals = []
        for name, vote in zip(names, term, strict=True):
            if vote == plain:
                literals.append(name)
            elif vote != EITHER:
                literals.append(f"not {name}")

        group = inner.join(literals)
        if len(terms) > 1 and len(literals) > 1:
            group = f"({group})"

        groups.append(group)

    return outer.join(groups)


def _one_axis_per_classifier(inside: Array) -> Array:
    """Reshape a set of patterns to (2, ..., 2), the first classifier first."""
    classifiers = int(np.log2(inside.size))
    return inside.reshape((2,) * classifiers).T


def _say_by_count(inside: Array, names: Sequence[str]) -> str:
    """Write "at least t of these", where only the number of votes matters; else ""."""
    matter = _classifiers_that_matter(inside)
    number_of_yes = votes(len(names))[:, matter].sum(axis=1)
    # numbers of yes of patterns inside, and of those outside: they must not overlap
    within = set(number_of_yes[inside].tolist())
    without = set(number_of_yes[~inside].tolist())
    if len(matter) < 2 or within & without:
        return ""

    listed = ", ".join(names[i] for i in matter)
    lowest = min(within)
    highest = max(within)

    if lowest > max(without) and 1 < lowest < len(matter):
        return f"at least {lowest} of {listed}"
    if highest < min(without) and 0 < highest < len(matter) - 1:
        return f"at most {highest} of {listed}"
    if lowest == highest and 1 <= lowest < len(matter):
        return f"exactly {lowest} of {listed}"
    return ""


def _classifiers_that_matter(inside: Array) -> list[int]:
    """Return the classifiers whose vote alone can decide about a case."""
    table = _one_axis_per_classifier(inside)
    return [
        axis
        for axis in range(table.ndim)
        if (table.take(YES, axis=axis) != table.take(NO, axis=axis)).any()
    ]


def _say_as_weighted_vote(inside: Array, names: Sequence[str]) -> str:
    """Write a weighted vote with small whole weights, if the set is one; else "".

    A weighted vote is monotone: one more vote for yes never turns its yes into no.
    """
    if not _is_monotone(inside):
        return ""

    solution = _smallest_weights(inside)
    if solution is None:
        return ""

    *weights, points_of_yes = solution
    says_yes = votes(len(names)) @ weights >= points_of_yes
    if (says_yes != inside).any():
        return ""  # the solver stopped a rounding error beside the solution

    # a test of weight 0 has no say
    points = [
        f"{name} {weight}"
        for name, weight in zip(names, weights, strict=True)
        if weight
    ]
    return f"at least {points_of_yes} points ({', '.join(points)})"


def _is_monotone(inside: Array) -> bool:
    """Return whether no further yes takes a pattern out of the set."""
    table = _one_axis_per_classifier(inside)
    for axis in range(table.ndim):
        only_with_no = table.take(NO, axis=axis) & ~table.take(YES, axis=axis)
        if only_with_no.any():
            return False
    return True


def _smallest_weights(inside: Array) -> Array | None:
    """Return whole weights of all classifiers, and the points that a yes takes.

    An integer program makes their sum as small as possible; None where it has no
    solution. The smallest patterns inside and the largest outside decide.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    lowest_inside, highest_outside = _border_patterns(inside)
    classifiers = lowest_inside.shape[1]
    border = np.vstack([lowest_inside, highest_outside])
    sizes = [len(lowest_inside), len(highest_outside)]

    # points less the least number of a yes: 0 or more inside, -1 or less outside
    less_least = np.hstack([border, np.full((len(border), 1), -1.0)])
    # the sum of the weights is minimised; the last variable, the bound, is free
    solution = milp(
        np.array([*[1.0] * classifiers, 0.0]),
        constraints=LinearConstraint(
            less_least,
            np.repeat([0.0, -np.inf], sizes),
            np.repeat([np.inf, -1.0], sizes),
        ),
        bounds=Bounds(
            np.zeros(classifiers + 1),
            [*[MAX_VOTE_WEIGHT] * classifiers, classifiers * MAX_VOTE_WEIGHT],
        ),
        integrality=np.ones(classifiers + 1, dtype=int),
        options={"node_limit": MAX_PROGRAM_NODES},
    )
    if solution.x is None:
        return None
    return np.asarray(np.rint(solution.x).astype(int))


def _border_patterns(inside: Array) -> tuple[Array, Array]:
    """Return the votes of the smallest patterns inside and the largest outside.

    A pattern is lowest if each vote less is outside, highest if each more is inside.
    """
    table = _one_axis_per_classifier(inside)
    is_lowest = table.copy()
    is_highest = ~table

    for axis in range(table.ndim):
        with_yes = np.take(table, [YES], axis=axis)
        with_no = np.take(table, [NO], axis=axis)
        no_limit = np.ones_like(with_no)
        # a pattern with a yes is lowest if the same with a no is outside
        is_lowest &= np.concatenate([~with_no, no_limit], axis=axis)
        is_highest &= np.concatenate([no_limit, with_yes], axis=axis)

    # an index is 0 for a yes
    return 1.0 - np.argwhere(is_lowest), 1.0 - np.argwhere(is_highest)


@lru_cache(maxsize=4096)
def _cover(packed: bytes) -> tuple[Term, ...]:
    """Cover patterns by few large implicants: the essential ones, then the largest.

    ``packed`` are the bytes of a set of patterns, which a cache can hold.
    """
    patterns = _one_axis_per_classifier(np.frombuffer(packed, dtype=bool))
    # Quine (1952) and McCluskey (1956)
    primes = _prime_implicants(patterns)

    # a pattern that one prime implicant alone covers makes that one essential
    covered_once = patterns & (_count_covering_terms(primes) == 1)
    chosen_terms = primes & _gather(covered_once, np.logical_or)

    uncovered = patterns & (_count_covering_terms(chosen_terms) == 0)
    while uncovered.any():
        stop_if_requested()
        gain = np.where(primes, _gather(uncovered.astype(np.int32), np.add), 0)
        largest_gain = int(gain.max())

        for term in np.argwhere(gain == largest_gain).tolist():
            place = _patterns_of(term)
            # one that was taken before may have covered some of its patterns
            if np.count_nonzero(uncovered[place]) == largest_gain:
                chosen_terms[tuple(term)] = True
                uncovered[place] = False

    return _without_redundant_terms(chosen_terms)


def _prime_implicants(patterns: Array) -> Array:
    """Return which terms hold inside the set and cannot be made larger, (3, ...)."""
    implicants = _gather(patterns, np.logical_and)
    primes = implicants
    for axis in range(patterns.ndim):
        # where a classifier may say either, terms with its yes or its no are not prime
        larger = np.take(implicants, [EITHER], axis=axis)
        none = np.zeros_like(larger)
        primes = primes & ~np.concatenate([larger, larger, none], axis=axis)

    return primes


def _gather(patterns: Array, join: np.ufunc) -> Array:
    """Join, for every term, what its patterns hold: (2, ...) to (3, ...)."""
    for axis in range(patterns.ndim):
        yes = np.take(patterns, [YES], axis=axis)
        no = np.take(patterns, [NO], axis=axis)
        patterns = np.concatenate([yes, no, join(yes, no)], axis=axis)
    return patterns


def _count_covering_terms(terms: Array) -> Array:
    """Count the terms of a set that hold for each pattern: (3, ...) to (2, ...).

    A pattern has a yes or a no of each classifier, a term also an either.
    """
    covering = terms.astype(np.int32)
    for axis in range(terms.ndim):
        yes = np.take(covering, [YES], axis=axis)
        no = np.take(covering, [NO], axis=axis)
        either = np.take(covering, [EITHER], axis=axis)
        covering = np.concatenate([yes + either, no + either], axis=axis)
    return covering


def _patterns_of(term: Sequence[int]) -> tuple[int | slice, ...]:
    """Return the index of a term's patterns in a table with an axis per classifier."""
    return tuple(slice(None) if vote == EITHER else vote for vote in term)


def _without_redundant_terms(is_implicant: Array) -> tuple[Term, ...]:
    """Drop implicants that the others cover, the longest first; the rest in order."""
    covering_terms = _count_covering_terms(is_implicant)
    terms = [tuple(term) for term in np.argwhere(is_implicant).tolist()]

    needed = []
    for term in sorted(terms, key=lambda term: (term.count(EITHER), term)):
        place = _patterns_of(term)
        if (covering_terms[place] > 1).all():
            covering_terms[place] -= 1
        else:
            needed.append(term)

    return tuple(sorted(needed, key=_order_in_a_formula))


def _order_in_a_formula(term: Term) -> tuple[int, list[bool], Term]:
    """Order terms: the shortest first, then by who matters, then by their votes."""
    backwards = term[::-1]
    matters = [vote != EITHER for vote in backwards]
    return -term.count(EITHER), matters, backwards
