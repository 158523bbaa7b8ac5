r"""How often does a system pass? The item is the unit, and its attempts are alike.

Every rate here is a mean over m items of a number :math:`y_i` between 0 and 1, so that
its influence values are :math:`(y_i - \bar y)/m`, whatever happens within an item.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import wraps
from math import comb
from typing import Any, Concatenate, NamedTuple, ParamSpec

import numpy as np

from trueness._core.arrays import Floats, Ints
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.names import documented
from trueness._core.records import Estimate
from trueness.evals.attempts import Attempts, systems
from trueness.inference.limits import FEW_CLUSTERS, limited, share_limited
from trueness.inference.spread import Spread, unit_spread

P = ParamSpec("P")
# of an item that passed c of n attempts: the exact number that is averaged
Value = Callable[[int, int], Fraction]
_DATA = {
    "data": "Attempts of one system; or a mapping from system to attempts, for a\n"
    "dict of estimates."
}


class Items(NamedTuple):
    """A number for each item, their exact mean, and the items that belong together."""

    value: float
    each: Floats
    spread: Spread
    cluster: Ints | None
    single: bool  # is there one attempt per item, so that the rate is a counted share?


def _of_each_system(
    rate: Callable[Concatenate[Attempts, P], Estimate],
) -> Callable[Concatenate[Attempts | Mapping[str, Attempts], P], Any]:
    """Let a rate answer for the attempts of one system or of each of several."""

    @wraps(rate)
    def answer(
        data: Attempts | Mapping[str, Attempts], *own: P.args, **options: P.kwargs
    ) -> Any:
        each = systems(data, rate.__name__).items()
        found = {name: rate(a, *own, **options) for name, a in each}
        return found if isinstance(data, Mapping) else found[""]

    answer.__doc__ = documented(rate.__doc__, ["level"], _DATA)
    return answer  # type: ignore[return-value]  # data may be named


@_of_each_system
def pass_rate(data: Attempts, *, level: float = 0.95) -> Estimate:
    r"""How often does a system pass, and how sure are we?

    .. math:: \hat p = \frac1m \sum_{i=1}^m \frac{c_i}{n_i}

    Notes
    -----
    Attempts at one item resemble each other, so the item is what varies: ten attempts
    at 100 items are not 1,000 cases. With one attempt per item the limits are
    Wilson's, otherwise those of the engine (maths page of inference); items of one
    cluster are added up first. No rate counts as known better than from as many
    independent attempts.

    References
    ----------
    Miller (2024), Adding Error Bars to Evals, arXiv:2411.00640;
    Wilson (1927), J. Am. Stat. Assoc. 22:209

    Examples
    --------
    >>> pass_rate(Attempts(["x", "y"], passed=[2, 1], tried=[4, 4])).value  # 3/8
    0.375
    """
    return estimated(data, items(data), level, "pass rate")


@_of_each_system
def pass_at_k(data: Attempts, k: int, *, level: float = 0.95) -> Estimate:
    r"""How often does at least one of k attempts pass?

    .. math:: \frac1m \sum_i \Bigl(1 - \binom{n_i - c_i}{k} \Big/ \binom{n_i}{k}\Bigr)

    Parameters
    ----------
    k
        How many attempts; every item needs as many.

    Notes
    -----
    The share of all subsets of k attempts in which one passes, exact in whole numbers:
    the unbiased estimator. ``k=1`` is :func:`pass_rate`.

    References
    ----------
    Chen et al. (2021), Evaluating Large Language Models Trained on Code, eq. (1),
    arXiv:2107.03374

    Examples
    --------
    >>> a = Attempts(["x", "y"], passed=[1, 0], tried=[4, 4])
    >>> pass_at_k(a, 2).value  # (3/6 + 0) / 2
    0.25
    """
    k = _enough(data, k, "pass@")
    found = items(data, lambda n, c: 1 - Fraction(comb(n - c, k), comb(n, k)))
    return estimated(data, found, level, f"pass@{k}")


@_of_each_system
def pass_hat_k(data: Attempts, k: int, *, level: float = 0.95) -> Estimate:
    r"""How often do all of k attempts pass?

    .. math:: \frac1m \sum_i \binom{c_i}{k} \Big/ \binom{n_i}{k}

    Parameters
    ----------
    k
        How many attempts; every item needs as many.

    Notes
    -----
    The share of all subsets of k attempts in which each passes, exact in whole numbers
    and unbiased. ``k=1`` is :func:`pass_rate`.

    References
    ----------
    Yao, Shinn, Razavi, Narasimhan (2024), tau-bench, sec. 4, arXiv:2406.12045

    Examples
    --------
    >>> a = Attempts(["x", "y"], passed=[3, 4], tried=[4, 4])
    >>> pass_hat_k(a, 2).value  # (3/6 + 1) / 2
    0.75
    """
    k = _enough(data, k, "pass^")
    found = items(data, lambda n, c: Fraction(comb(c, k), comb(n, k)))
    return estimated(data, found, level, f"pass^{k}")


def _enough(a: Attempts, k: int, name: str) -> int:
    k = _options.whole_number(k, "k", at_least=1)
    few = a.tried < k
    if few.any():
        raise NotEnoughCases(
            f"{name}{k} needs {k} attempts at every item; {int(few.sum()):,} of "
            f"{len(a):,} items have fewer. Ask for {int(a.tried.min())} or less, or "
            "try these items more often."
        )
    return k


def mean_of_items(
    values: Sequence[float],
    items: Sequence[str],
    cluster: Sequence[str] | None = None,
    *,
    level: float = 0.95,
) -> Estimate:
    """How large is the mean of grades from 0 to 1, of items seen once or several times?

    For programs that have grades at hand in place of counted attempts: the mean of each
    item, then that of all items.
    """
    _, first, at, number = np.unique(
        items, return_index=True, return_inverse=True, return_counts=True
    )
    grades = np.asarray(values, float)
    if not ((grades >= 0) & (grades <= 1)).all():
        raise InputError("A pass rate needs grades from 0 to 1.")
    each = np.bincount(at.reshape(-1), grades) / number
    codes = None
    if cluster is not None:
        codes = np.unique(np.asarray(cluster)[first], return_inverse=True)[1]
    s = unit_spread((each - each.mean()) / each.size, codes)
    single = bool(((grades == 0) | (grades == 1)).all() and (number == 1).all())
    found = Items(float(each.mean()), each, s, codes, single)
    return _limited(found, level, "pass rate")


def items(a: Attempts, value: Value = lambda n, c: Fraction(c, n)) -> Items:
    """Give the number of each item, and how far their mean would vary."""
    n, c, number, at = a.table()
    exact = [value(int(i), int(j)) for i, j in zip(n, c, strict=True)]
    mean = sum((x * int(k) for x, k in zip(exact, number, strict=True)), Fraction())
    mean /= len(a)
    each = np.array([float(x) for x in exact])[at]
    codes = a.codes()
    s = unit_spread((each - float(mean)) / len(a), codes)
    # no rate is known better than from as many independent attempts
    least = float(mean * (1 - mean)) / float(a.tried.sum())
    if 0 < s.variance < least:
        s = s._replace(variance=least)
    return Items(float(mean), each, s, codes, bool((a.tried == 1).all()))


def estimated(a: Attempts, found: Items, level: float, name: str) -> Estimate:
    """Give the mean of the items its limits, and what to keep in mind."""
    notes = []
    if a.missing:
        notes.append(
            f"{a.missing:,} attempts have no verdict and are left out. If they failed, "
            'count them so: missing="fail".'
        )
    if found.spread.units < FEW_CLUSTERS:
        what = "items" if a.cluster is None else "clusters of items"
        notes.append(
            f"There are only {int(found.spread.units)} {what}: limits of fewer than "
            f"{FEW_CLUSTERS} are uncertain themselves."
        )
    return replace(_limited(found, level, name), notes=tuple(notes))


def _limited(found: Items, level: float, name: str) -> Estimate:
    level, s = _options.fraction(level, "level"), found.spread
    if not found.single:
        return limited(found.value, s, (0.0, 1.0), level, name)
    units = math.inf if found.cluster is None else s.units
    return share_limited(found.value, s, float(found.each.size), units, level, name)
