"""How many attempts at each item passed, and how often does a system pass?

The item is the unit: every rate is a mean over items of a number between 0 and 1,
whatever happens within an item.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import wraps
from itertools import chain
from math import comb
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, final

import numpy as np

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.files import as_written, replacing
from trueness._core.names import documented
from trueness._core.numbers import counted
from trueness._core.records import Estimate, Record, shown
from trueness.inference.estimates import (
    FEW_CLUSTERS,
    estimate_from_variance,
    estimate_of_proportion,
)
from trueness.inference.variance import VarianceEstimate, variance_between_units

P = ParamSpec("P")
# of an item that passed c of n attempts: the exact number that is averaged
Value = Callable[[int, int], Fraction]
_DATA = {
    "data": "Attempts of one system; or a mapping from system to attempts, for a\n"
    "dict of estimates."
}

SCHEMA = "trueness/attempts/1"


@final
@dataclass(frozen=True, repr=False)
class Attempts(Record):
    """How many of its attempts did each item pass?

    Attributes
    ----------
    item : array of str
        The items, each once, in the order of their names.
    passed, tried : array of int
        Attempts that passed, and all attempts, at each item.
    cluster : array of str, or None
        Which items belong together (one passage, one repository); None where each
        stands for itself.
    missing : int
        Attempts without a verdict, which are no part of ``tried``.

    Examples
    --------
    ``a + b`` adds attempts; items of the same name are the same item.

    >>> a = Attempts(["x", "y"], passed=[2, 0], tried=[3, 3])
    >>> b = Attempts(["y", "z"], passed=[1, 1], tried=[1, 1])
    >>> a + b
    Attempts: 3 items, 8 attempts (1 to 4 per item), 4 passed
    """

    item: Array
    passed: Ints
    tried: Ints
    cluster: Array | None = None
    missing: int = 0

    def __post_init__(self) -> None:
        """Check the counts, and put the items in the order of their names."""
        names = np.array([str(i) for i in self.item], object)
        order = np.argsort(names, kind="stable")
        again = np.flatnonzero(names[order][1:] == names[order][:-1])
        if again.size:
            raise InputError(
                f"Each item must stand once; {shown(names[order][again[0]])!r} stands "
                "several times. Add attempts with +, or count rows with "
                "trueness.attempts."
            )
        fields = {"item": names}
        for name in ("passed", "tried"):
            values = np.asarray(getattr(self, name))
            values = values if values.size else np.zeros(0, np.int64)
            kind = values.ndim == 1 and values.dtype.kind in "iub"
            if not kind or (values < 0).any():
                raise InputError(
                    f"{name} must hold whole numbers, 0 or more, one per item."
                )
            fields[name] = values.astype(np.int64)
        if self.cluster is not None:
            fields["cluster"] = np.array([str(c) for c in self.cluster], object)
        for name, values in fields.items():
            if values.size != names.size:
                raise InputError(
                    f"Attempts needs one number per item; found {names.size:,} items "
                    f"and {values.size:,} entries of {name}."
                )
            values = values[order]
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        for at in np.flatnonzero((self.passed > self.tried) | (self.tried < 1)):
            raise InputError(
                f"Item {shown(self.item[at])!r} passed {self.passed[at]} of "
                f"{self.tried[at]} attempts; passed must be 0 to tried, and tried 1 or "
                "more."
            )
        if self.cluster is not None and len(set(self.cluster)) == self.cluster.size:
            object.__setattr__(self, "cluster", None)  # clusters of one item are none

    def __len__(self) -> int:
        """Count the items."""
        return int(self.item.size)

    def __add__(self, other: Attempts) -> Attempts:
        """Add the attempts of both; items of the same name join."""
        if not isinstance(other, Attempts):
            return NotImplemented
        return joined([self, other])

    def __repr__(self) -> str:
        """Say how much there is in one line."""
        tried = self.tried
        ends = sorted({int(tried.min()), int(tried.max())}) if tried.size else []
        each = f" ({' to '.join(map(str, ends))} per item)" if ends else ""
        text = (
            f"Attempts: {counted(len(self), 'item')}, "
            f"{counted(int(tried.sum()), 'attempt')}{each}, "
            f"{int(self.passed.sum()):,} passed"
        )
        if self.cluster is not None:
            text += f", {counted(len(set(self.cluster)), 'cluster')}"
        return text + (f", {self.missing:,} without a verdict" if self.missing else "")

    @property
    def units(self) -> tuple[int, str]:
        """Count what was drawn, items or clusters of them, and say which they are."""
        if self.cluster is None:
            return len(self), "tried"
        return len(set(self.cluster)), "clustered"

    def codes(self) -> Ints | None:
        """Number the clusters of the items; None where each item is one."""
        if self.cluster is None:
            return None
        return np.unique(self.cluster.astype(str), return_inverse=True)[1]

    def of_items(self, items: Iterable[str]) -> Attempts:
        """Keep the items of these names."""
        wanted = set(items)
        at = np.array([name in wanted for name in self.item], bool)
        cluster = None if self.cluster is None else self.cluster[at]
        return Attempts(self.item[at], self.passed[at], self.tried[at], cluster)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the counts to a JSON file, for :func:`trueness.read_attempts`."""
        with replacing(path) as temporary:
            held = {"schema": SCHEMA, **self.to_dict()}
            temporary.write_text(json.dumps(held), encoding="utf-8")


def joined(parts: Iterable[Attempts]) -> Attempts:
    """Add up attempts; an item keeps its cluster, which must be one."""
    index: dict[str, int] = {}
    where: dict[str, str] = {}
    rows, missing, some = [], 0, False
    for part in parts:
        rows.append((part, [index.setdefault(i, len(index)) for i in part.item]))
        missing += part.missing
        some |= part.cluster is not None
        own = part.item if part.cluster is None else part.cluster
        for i, c in zip(part.item, own, strict=True):
            if where.setdefault(i, c) != c:
                raise InputError(
                    f"Item {shown(i)!r} belongs to cluster {shown(where[i])!r} and to "
                    f"{shown(c)!r}. Give items of different clusters different names."
                )
    passed, tried = np.zeros((2, len(index)), np.int64)
    for part, at in rows:
        passed[at] += part.passed
        tried[at] += part.tried
    cluster = np.array([where[i] for i in index], object) if some else None
    return Attempts(np.array(list(index), object), passed, tried, cluster, missing)


def read_attempts(path: str | os.PathLike[str]) -> Attempts:
    """Which attempts does this file hold?

    Parameters
    ----------
    path
        A file written by :meth:`Attempts.write`.
    """
    file = Path(_options.file_path(path, "read_attempts"))
    if not file.is_file():
        raise InputError(f"There is no file {file}. Is the folder right?")
    try:
        held = json.loads(file.read_text(encoding="utf-8", errors="replace"))
    except (ValueError, RecursionError):
        held = None
    if not isinstance(held, Mapping) or held.get("schema") != SCHEMA:
        raise InputError(
            f"{file} is not a file of attempts. Write one with a.write(path); logs "
            "are read by trueness.attempts."
        )
    item, cluster, missing = (held.get(k) for k in ("item", "cluster", "missing"))
    given = [item, [] if cluster is None else cluster]
    lists = [values for values in given if isinstance(values, list)]
    if len(lists) < 2 or not all(isinstance(v, str) for v in chain(*lists)):
        raise InputError(f"{file} is damaged: items and clusters are lists of text.")
    if type(missing) is not int or not 0 <= missing < 2**63:
        raise InputError(f"{file} is damaged: missing must be a whole number.")
    with as_written(file, "attempts"):
        counts = held["passed"], held["tried"]
        return Attempts(lists[0], *counts, cluster, missing)  # type: ignore[arg-type]  # checked there


def systems(data: object, what: str, *, least: int = 1) -> dict[str, Attempts]:
    """Pass on attempts by the name of the system that made them."""
    found: Mapping[Any, Any] = data if isinstance(data, Mapping) else {"": data}
    if not all(isinstance(a, Attempts) for a in found.values()) or len(found) < least:
        needed, typed = "attempts", "trueness.attempts(log)"
        if least > 1:
            needed, typed = f"attempts of {least} or more systems", '{"A": a, "B": b}'
        kinds = " and ".join(sorted({type(v).__name__ for v in found.values()}))
        number = f"{len(found)} of " if isinstance(data, Mapping) else ""
        raise InputError(
            f"{what} needs {needed}; found {number}{kinds or 'none'}. Type trueness."
            f"{what}({typed})."
        )
    for name, a in found.items():
        if not len(a):
            of = f" of {shown(name)}" * bool(name)
            raise NotEnoughCases(f"{what} needs items; the attempts{of} are empty.")
    return {str(name): a for name, a in found.items()}


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
    at 100 items are not 1,000 cases (Miller 2024, arXiv:2411.00640). With one attempt
    per item the limits are Wilson's; items of one cluster are added up first. No rate
    counts as known better than from as many independent attempts.

    Examples
    --------
    >>> pass_rate(Attempts(["x", "y"], passed=[2, 1], tried=[4, 4])).value  # 3/8
    0.375
    """
    return estimated(data, *item_values(data), level, "pass rate")


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
    The share of all subsets of k attempts in which one passes, exact and unbiased
    (Chen et al. 2021, arXiv:2107.03374, eq. 1). ``k=1`` is :func:`pass_rate`.

    Examples
    --------
    >>> a = Attempts(["x", "y"], passed=[1, 0], tried=[4, 4])
    >>> pass_at_k(a, 2).value  # (3/6 + 0) / 2
    0.25
    """
    return _of_subsets(data, k, lambda n, c, k: comb(n, k) - comb(n - c, k), level, "@")


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
    The share of all subsets of k attempts in which each passes, exact and unbiased
    (Yao et al. 2024, arXiv:2406.12045, sec. 4). ``k=1`` is :func:`pass_rate`.

    Examples
    --------
    >>> a = Attempts(["x", "y"], passed=[3, 4], tried=[4, 4])
    >>> pass_hat_k(a, 2).value  # (3/6 + 1) / 2
    0.75
    """
    return _of_subsets(data, k, lambda n, c, k: comb(c, k), level, "^")


def _of_subsets(
    a: Attempts, k: int, count: Callable[[int, int, int], int], level: float, mark: str
) -> Estimate:
    """Give the share of all subsets of k attempts that count, of c passed of n."""
    k = _options.whole_number(k, "k", at_least=1)
    few = a.tried < k
    if few.any():
        raise NotEnoughCases(
            f"pass{mark}{k} needs {k} attempts at every item; {int(few.sum()):,} of "
            f"{len(a):,} items have fewer. Ask for {int(a.tried.min())} or less, or "
            "try these items more often."
        )
    found = item_values(a, lambda n, c: Fraction(count(n, c, k), comb(n, k)))
    return estimated(a, *found, level, f"pass{mark}{k}")


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
    s = variance_between_units((each - each.mean()) / each.size, codes)
    single = bool(((grades == 0) | (grades == 1)).all() and (number == 1).all())
    shares = each.size if single else 0
    return _limited(float(each.mean()), s, shares, codes is None, level, "pass rate")


def item_values(
    a: Attempts, value: Value = lambda n, c: Fraction(c, n)
) -> tuple[Fraction, Floats]:
    """Give the exact mean of the items, and the number of each."""
    pairs = np.column_stack([a.tried, a.passed])
    rows, at, number = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    exact = [value(int(n), int(c)) for n, c in rows]
    mean = sum((x * int(k) for x, k in zip(exact, number, strict=True)), Fraction())
    return mean / len(a), np.array([float(x) for x in exact])[at.reshape(-1)]


def without_verdict(how_many: str) -> str:
    """Say which attempts were left out, and what to do if they failed."""
    advice = 'If they failed, type missing="fail".'
    return f"Left out without a verdict: {how_many}. {advice}"


def estimated(
    a: Attempts, mean: Fraction, each: Floats, level: float, name: str
) -> Estimate:
    """Give the mean of the items its limits, and what to keep in mind."""
    s = variance_between_units((each - float(mean)) / len(a), a.codes())
    # no rate is known better than from as many independent attempts
    least = float(mean * (1 - mean)) / float(a.tried.sum())
    if 0 < s.variance < least:
        s = replace(s, variance=least)
    notes = []
    if a.missing:
        notes.append(without_verdict(f"{counted(a.missing, 'attempt')}"))
    if s.units < FEW_CLUSTERS:
        what = "items" if a.cluster is None else "clusters of items"
        notes.append(
            f"There are only {int(s.units)} {what}: limits of fewer than "
            f"{FEW_CLUSTERS} are uncertain themselves."
        )
    shares = len(a) if (a.tried == 1).all() else 0
    found = _limited(float(mean), s, shares, a.cluster is None, level, name)
    return replace(found, notes=tuple(notes))


def _limited(
    value: float, s: VarianceEstimate, shares: int, alone: bool, level: float, name: str
) -> Estimate:
    """Give limits: those of a share where each of so many items was tried once."""
    level = _options.fraction(level, "level")
    if not shares:
        return estimate_from_variance(value, s, (0.0, 1.0), level, name)
    units = math.inf if alone else s.units
    return estimate_of_proportion(value, s, float(shares), units, level, name)
