r"""How often does a system pass? The item is the unit, and its attempts are alike.

Every rate here is a mean over m items of a number :math:`y_i` between 0 and 1, so that
its influence values are :math:`(y_i - \bar y)/m`, whatever happens within an item.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import comb
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.records import Estimate
from trueness.evals.attempts import Attempts, systems
from trueness.inference.limits import FEW_CLUSTERS, limited, share_limited
from trueness.inference.spread import Spread, unit_spread

# of an item that passed c of n attempts: the exact number that is averaged
Value = Callable[[int, int], Fraction]


class Items(NamedTuple):
    """A number for each item, their exact mean, and the items that belong together."""

    value: float
    each: Floats
    spread: Spread
    single: bool  # is there one attempt per item, so that the rate is a counted share?


def pass_rate(data: Attempts | Mapping[str, Attempts], *, level: float = 0.95) -> Any:
    r"""How often does a system pass, and how sure are we?

    .. math:: \hat p = \frac1m \sum_{i=1}^m \frac{c_i}{n_i}

    Parameters
    ----------
    data
        Attempts of one system, or a mapping from system to attempts.
    level
        Confidence level of the interval.

    Returns
    -------
    Estimate
        Of a mapping a dict, from system to estimate.

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
    return _answers(data, "pass_rate", _share, "pass rate", level)


def pass_at_k(
    data: Attempts | Mapping[str, Attempts], k: int, *, level: float = 0.95
) -> Any:
    r"""How often does at least one of k attempts pass?

    .. math:: \frac1m \sum_i \Bigl(1 - \binom{n_i - c_i}{k} \Big/ \binom{n_i}{k}\Bigr)

    Parameters
    ----------
    data
        Attempts of one system, or a mapping from system to attempts.
    k
        How many attempts; every item needs as many.
    level
        Confidence level of the interval.

    Returns
    -------
    Estimate
        Of a mapping a dict, from system to estimate.

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
    k = _options.whole_number(k, "k", at_least=1)
    return _answers(data, "pass_at_k", partial(_any_of, k), f"pass@{k}", level, k)


def pass_hat_k(
    data: Attempts | Mapping[str, Attempts], k: int, *, level: float = 0.95
) -> Any:
    r"""How often do all of k attempts pass?

    .. math:: \frac1m \sum_i \binom{c_i}{k} \Big/ \binom{n_i}{k}

    Parameters
    ----------
    data
        Attempts of one system, or a mapping from system to attempts.
    k
        How many attempts; every item needs as many.
    level
        Confidence level of the interval.

    Returns
    -------
    Estimate
        Of a mapping a dict, from system to estimate.

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
    k = _options.whole_number(k, "k", at_least=1)
    return _answers(data, "pass_hat_k", partial(_all_of, k), f"pass^{k}", level, k)


def _share(n: int, c: int) -> Fraction:
    return Fraction(c, n)


def _any_of(k: int, n: int, c: int) -> Fraction:
    return 1 - Fraction(comb(n - c, k), comb(n, k))


def _all_of(k: int, n: int, c: int) -> Fraction:
    return Fraction(comb(c, k), comb(n, k))


def _answers(
    data: Any, what: str, value: Value, name: str, level: float, k: int = 1
) -> Any:
    level = _options.fraction(level, "level")
    found = {}
    for system, a in systems(data, what).items():
        _enough(a, k, name)
        found[system] = estimated(a, items(a, value), level, name)
    return found if isinstance(data, Mapping) else found[""]


def _enough(a: Attempts, k: int, name: str) -> None:
    few = a.tried < k
    if few.any():
        raise NotEnoughCases(
            f"{name} needs {k} attempts at every item; {int(few.sum()):,} of "
            f"{len(a):,} items have fewer. Ask for {int(a.tried.min())} or less, or "
            "try these items more often."
        )


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
        codes = np.unique(np.asarray(cluster)[first], return_inverse=True)[1].reshape(
            -1
        )
    s = unit_spread((each - each.mean()) / each.size, codes)
    single = bool(((grades == 0) | (grades == 1)).all() and (number == 1).all())
    return _limited(
        Items(float(each.mean()), each, s, single), codes, level, "pass rate"
    )


def items(a: Attempts, value: Value = _share) -> Items:
    """Give the number of each item, and how far their mean would vary."""
    n, c, number, at = a.table()
    exact = [value(int(i), int(j)) for i, j in zip(n, c, strict=True)]
    mean = sum((x * int(k) for x, k in zip(exact, number, strict=True)), Fraction())
    mean /= len(a)
    each = np.array([float(x) for x in exact])[at]
    s = unit_spread((each - float(mean)) / len(a), a.codes())
    # no rate is known better than from as many independent attempts
    least = float(mean * (1 - mean)) / float(a.tried.sum())
    if 0 < s.variance < least:
        s = s._replace(variance=least)
    return Items(float(mean), each, s, bool((a.tried == 1).all()))


def estimated(a: Attempts, found: Items, level: float, name: str) -> Estimate:
    """Give the mean of the items its limits, and what to keep in mind."""
    return replace(
        _limited(found, a.cluster, level, name), notes=_notes(a, found.spread)
    )


def _limited(found: Items, cluster: Any, level: float, name: str) -> Estimate:
    value, s = found.value, found.spread
    if not found.single:
        return limited(value, s, (0.0, 1.0), level, name)
    units = math.inf if cluster is None else s.units
    return share_limited(value, s, float(found.each.size), units, level, name)


def _notes(a: Attempts, s: Spread) -> tuple[str, ...]:
    found = []
    if a.missing:
        found.append(
            f"{a.missing:,} attempts have no verdict and are left out. If they failed, "
            'count them so: missing="fail".'
        )
    what = "items" if a.cluster is None else "clusters of items"
    if s.units < FEW_CLUSTERS:
        found.append(
            f"There are only {int(s.units)} {what}: limits of fewer than "
            f"{FEW_CLUSTERS} are uncertain themselves."
        )
    return tuple(found)
