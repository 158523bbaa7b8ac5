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
from math import comb
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, NoReturn, ParamSpec, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases, PythonCode
from trueness._core.files import as_written, replacing
from trueness._core.imports import HigherFunction
from trueness._core.names import documented
from trueness._core.numbers import counted
from trueness._core.records import Answers, Estimate, Record, shown
from trueness.inference.estimates import (
    FEW_CLUSTERS,
    estimate_from_variance,
    estimate_of_proportion,
)
from trueness.inference.variance import VarianceEstimate, variance_between_units

P = ParamSpec("P")
# the exact value of an item, of which c of n attempts passed, that is averaged
ValueOfItem = Callable[[int, int], Fraction]
# what the docstrings of the rates say about their data
_DATA_PARAMETER = {
    "data": "Attempts of one system, or a mapping from system to attempts, which\n"
    "returns a dict of estimates; or what :func:`attempts` counts."
}

# of the room of data: count the attempts of a frame, a log or a file
COUNT_ATTEMPTS: HigherFunction[Callable[[Any], Any]] = HigherFunction("attempts")

SCHEMA = "trueness/attempts/1"


@final
@dataclass(frozen=True, repr=False)
class Attempts(Record):
    """Attempts at items: how many of them passed, for each item.

    Attributes
    ----------
    item : array of str
        The items, each once, in the order of their names.
    passed, tried : array of int
        Attempts that passed, and all attempts, at each item.
    cluster : array of str, or None
        Cluster of each item (one passage, one repository); None where items are
        independent.
    missing : int
        Attempts without a verdict, which ``tried`` does not count.

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
        """Check the counts, and sort the items by name."""
        names = np.array([str(name) for name in self.item], object)
        order = np.argsort(names, kind="stable")
        _check_different(names[order])

        columns = {
            "item": names,
            "passed": _whole_numbers(self.passed, "passed"),
            "tried": _whole_numbers(self.tried, "tried"),
        }

        if self.cluster is not None:
            columns["cluster"] = np.array([str(name) for name in self.cluster], object)

        for name, values in columns.items():
            if values.size != names.size:
                raise InputError(
                    f"Attempts needs one number per item; found {names.size:,} items "
                    f"and {values.size:,} entries of {name}."
                )
            values = values[order]
            values.flags.writeable = False
            object.__setattr__(self, name, values)

        _check_counts(self)

        if self.cluster is not None and len(set(self.cluster)) == self.cluster.size:
            # clusters of one item each are no clusters
            object.__setattr__(self, "cluster", None)

    def __len__(self) -> int:
        """Return the number of items."""
        return int(self.item.size)

    def __add__(self, other: Attempts) -> Attempts:
        """Return the attempts of both, added for items of the same name."""
        if not isinstance(other, Attempts):
            return NotImplemented
        return add_attempts([self, other])

    def __repr__(self) -> str:
        """Return the numbers of items and attempts, in one line."""
        text = (
            f"Attempts: {counted(len(self), 'item')}, "
            f"{counted(int(self.tried.sum()), 'attempt')}{self._attempts_per_item}, "
            f"{int(self.passed.sum()):,} passed"
        )
        if self.cluster is not None:
            text += f", {counted(len(set(self.cluster)), 'cluster')}"
        if self.missing:
            text += f", {self.missing:,} without a verdict"

        return text

    @property
    def _attempts_per_item(self) -> str:
        """Return the number of attempts per item as text, in brackets."""
        if not self.tried.size:
            return ""

        fewest = int(self.tried.min())
        largest = int(self.tried.max())
        if fewest == largest:
            return f" ({fewest} per item)"
        return f" ({fewest} to {largest} per item)"

    @property
    def units(self) -> tuple[int, str]:
        """Return the number of independent units, and the word for them."""
        if self.cluster is None:
            return len(self), "tried"
        return len(set(self.cluster)), "clustered"

    def codes(self) -> Ints | None:
        """Return the number of the cluster of each item; None without clusters."""
        if self.cluster is None:
            return None
        return np.unique(self.cluster.astype(str), return_inverse=True)[1]

    def select_items(self, items: Iterable[str]) -> Attempts:
        """Return the attempts at the items of these names."""
        kept_names = set(items)
        is_kept = np.array([name in kept_names for name in self.item], bool)

        return Attempts(
            item=self.item[is_kept],
            passed=self.passed[is_kept],
            tried=self.tried[is_kept],
            cluster=None if self.cluster is None else self.cluster[is_kept],
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the counts to a JSON file, for :func:`trueness.read_attempts`."""
        with replacing(path) as temporary:
            content = {"schema": SCHEMA, **self.to_dict()}
            temporary.write_text(json.dumps(content), encoding="utf-8")


def _check_different(sorted_names: Array) -> None:
    """Raise an error for an item that occurs several times."""
    repeated = np.flatnonzero(sorted_names[1:] == sorted_names[:-1])
    if repeated.size:
        raise InputError(
            f"Each item must occur once; {shown(sorted_names[repeated[0]])!r} occurs "
            "several times. Add attempts with +, or count the rows.",
            example=PythonCode("trueness.attempts(frame, item=..., passed=...)"),
        )


def _whole_numbers(values: ArrayLike, name: str) -> Ints:
    """Return counts as integers, checked to be 0 or more."""
    numbers = np.asarray(values)
    if not numbers.size:
        numbers = np.zeros(0, np.int64)  # an empty list has no type of its own

    countable = numbers.ndim == 1 and numbers.dtype.kind in "iub"
    if not countable or (numbers < 0).any():
        raise InputError(f"{name} must hold whole numbers, 0 or more, one per item.")
    return numbers.astype(np.int64)


def _check_counts(attempts: Attempts) -> None:
    """Raise an error for an item without attempts, or with more passed than tried."""
    impossible = (attempts.passed > attempts.tried) | (attempts.tried < 1)
    if not impossible.any():
        return

    first = np.flatnonzero(impossible)[0]
    raise InputError(
        f"Item {shown(attempts.item[first])!r} passed {attempts.passed[first]} of "
        f"{attempts.tried[first]} attempts; passed must be 0 to tried, and tried 1 or "
        "more."
    )


def add_attempts(parts: Iterable[Attempts]) -> Attempts:
    """Return the attempts of all parts; items of the same name are one item."""
    parts = list(parts)
    cluster_of_item: dict[str, str] = {}
    for shard in parts:
        _add_clusters(cluster_of_item, shard)

    names = list(cluster_of_item)
    position = {name: number for number, name in enumerate(names)}

    passed = np.zeros(len(names), np.int64)
    tried = np.zeros(len(names), np.int64)
    for shard in parts:
        rows = [position[name] for name in shard.item]
        passed[rows] += shard.passed
        tried[rows] += shard.tried

    cluster = None
    if any(shard.cluster is not None for shard in parts):
        cluster = np.array([cluster_of_item[name] for name in names], object)

    return Attempts(
        item=np.array(names, object),
        passed=passed,
        tried=tried,
        cluster=cluster,
        missing=sum(shard.missing for shard in parts),
    )


def _add_clusters(cluster_of_item: dict[str, str], shard: Attempts) -> None:
    """Add the cluster of each item to the mapping; each item must have only one.

    Without clusters, each item is a cluster of its own.
    """
    clusters = shard.item if shard.cluster is None else shard.cluster
    for name, cluster in zip(shard.item, clusters, strict=True):
        known_cluster = cluster_of_item.setdefault(name, cluster)
        if known_cluster != cluster:
            raise InputError(
                f"Item {shown(name)!r} belongs to cluster {shown(known_cluster)!r} and "
                f"to {shown(cluster)!r}. Give items of different clusters different "
                "names."
            )


def read_attempts(path: str | os.PathLike[str]) -> Attempts:
    """Attempts that :meth:`Attempts.write` has written to a file.

    Parameters
    ----------
    path
        A file written by :meth:`Attempts.write`.
    """
    file = Path(_options.file_path(path, "read_attempts"))
    if not file.is_file():
        raise InputError(f"There is no file {file}. Is the folder right?")

    try:
        content = json.loads(file.read_text(encoding="utf-8", errors="replace"))
    except (ValueError, RecursionError):
        content = None

    if not isinstance(content, Mapping) or content.get("schema") != SCHEMA:
        raise InputError(
            f"{file} is not a file of attempts that Trueness wrote. Logs are counted "
            "first.",
            example=PythonCode("trueness.attempts(path).write(file)"),
        )

    item = content.get("item")
    cluster = content.get("cluster")
    missing = content.get("missing")

    if not _is_text_list(item) or not (cluster is None or _is_text_list(cluster)):
        raise InputError(f"{file} is damaged: items and clusters are lists of text.")
    if type(missing) is not int or not 0 <= missing < 2**63:
        raise InputError(f"{file} is damaged: missing must be a whole number.")

    with as_written(file, "attempts"):
        return Attempts(
            item=item,  # type: ignore[arg-type]  # checked above
            passed=content["passed"],
            tried=content["tried"],
            cluster=cluster,
            missing=missing,
        )


def _is_text_list(value: object) -> bool:
    """Return whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def attempts_by_system(
    data: Attempts | Mapping[Any, Attempts], function: str, *, at_least: int = 1
) -> dict[str, Attempts]:
    """Return attempts by the name of their system; "" for a system without a name.

    ``function`` is the public function that was called, for the errors.
    """
    if _is_table_or_log(data):
        data = COUNT_ATTEMPTS.load()(data)

    runs: Mapping[Any, Any] = data if isinstance(data, Mapping) else {"": data}
    all_attempts = all(isinstance(run, Attempts) for run in runs.values())
    if not all_attempts or len(runs) < at_least:
        kinds = " and ".join(sorted({type(run).__name__ for run in runs.values()}))
        number = f"{len(runs)} of " if isinstance(data, Mapping) else ""
        _refuse_other_data(function, at_least, f"{number}{kinds or 'none'}")

    for name, run in runs.items():
        if not len(run):
            of_system = f" of {shown(name)}" if name else ""
            raise NotEnoughCases(
                f"{function} needs items; the attempts{of_system} are empty."
            )

    return {str(name): run for name, run in runs.items()}


def _is_table_or_log(data: object) -> bool:
    """Return whether this is a frame, a log or a file, whose attempts are counted."""
    if isinstance(data, (str, os.PathLike)) or hasattr(data, "judges"):
        return True
    if isinstance(data, Mapping):
        parts = list(data.values())
        # columns, and not the attempts of systems
        return bool(parts) and all(isinstance(p, Sequence | np.ndarray) for p in parts)
    return hasattr(data, "columns")


def _refuse_other_data(function: str, at_least: int, passed: str) -> NoReturn:
    """Raise an error that says which data a function needs."""
    needed = "attempts"
    example = "trueness.attempts(log)"
    if at_least > 1:
        needed = f"attempts of {at_least} or more systems"
        example = '{"A": a, "B": b}'

    raise InputError(
        f"{function} needs {needed}; found {passed}.",
        example=PythonCode(f"trueness.{function}({example})"),
    )


def _of_each_system(
    rate: Callable[Concatenate[Attempts, P], Estimate],
) -> Callable[Concatenate[Attempts | Mapping[str, Attempts], P], Any]:
    """Return a rate of one system that also takes a mapping from system to attempts."""

    @wraps(rate)
    def answer(
        data: Attempts | Mapping[str, Attempts],
        *arguments: P.args,
        **options: P.kwargs,
    ) -> Any:
        runs = attempts_by_system(data, rate.__name__)
        estimates = {
            name: rate(run, *arguments, **options) for name, run in runs.items()
        }
        return estimates[""] if runs.keys() == {""} else Answers(estimates)

    answer.__doc__ = documented(rate.__doc__, ["level"], _DATA_PARAMETER)
    return answer  # type: ignore[return-value]  # data may be named


@_of_each_system
def pass_rate(data: Attempts, *, level: float = 0.95) -> Estimate:
    r"""Pass rate: mean over items, with a confidence interval.

    How often does a system pass?

    .. math:: \hat p = \frac1m \sum_{i=1}^m \frac{c_i}{n_i}

    Notes
    -----
    Attempts at one item are correlated, so items are the sampling unit: ten attempts at
    100 items are not 1,000 cases (Miller 2024, arXiv:2411.00640). With one attempt per
    item the interval is Wilson's; items of one cluster are added up first. The
    effective sample size is at most the number of attempts.

    Examples
    --------
    >>> pass_rate(Attempts(["x", "y"], passed=[2, 1], tried=[4, 4])).value  # 3/8
    0.375
    """
    return estimate_rate(data, item_values(data), level, "pass rate")


@_of_each_system
def pass_at_k(data: Attempts, k: int, *, level: float = 0.95) -> Estimate:
    r"""pass@k, with a confidence interval.

    How often does at least one of k attempts pass?

    .. math:: \frac1m \sum_i \Bigl(1 - \binom{n_i - c_i}{k} \Big/ \binom{n_i}{k}\Bigr)

    Parameters
    ----------
    k
        How many attempts; every item needs as many.

    Notes
    -----
    The proportion of all subsets of k attempts in which one passes, exact and unbiased
    (Chen et al. 2021, arXiv:2107.03374, eq. 1). ``k=1`` is :func:`pass_rate`.

    Examples
    --------
    >>> a = Attempts(["x", "y"], passed=[1, 0], tried=[4, 4])
    >>> pass_at_k(a, 2).value  # (3/6 + 0) / 2
    0.25
    """

    def subsets_that_pass(n: int, c: int, k: int) -> int:
        return comb(n, k) - comb(n - c, k)

    return _rate_of_subsets(data, k, subsets_that_pass, level, mark="@")


@_of_each_system
def pass_hat_k(data: Attempts, k: int, *, level: float = 0.95) -> Estimate:
    r"""pass^k, with a confidence interval.

    How often do all of k attempts pass?

    .. math:: \frac1m \sum_i \binom{c_i}{k} \Big/ \binom{n_i}{k}

    Parameters
    ----------
    k
        How many attempts; every item needs as many.

    Notes
    -----
    The proportion of all subsets of k attempts in which each passes, exact and unbiased
    (Yao et al. 2024, arXiv:2406.12045, sec. 4). ``k=1`` is :func:`pass_rate`.

    Examples
    --------
    >>> a = Attempts(["x", "y"], passed=[3, 4], tried=[4, 4])
    >>> pass_hat_k(a, 2).value  # (3/6 + 1) / 2
    0.75
    """

    def subsets_that_pass(n: int, c: int, k: int) -> int:
        return comb(c, k)

    return _rate_of_subsets(data, k, subsets_that_pass, level, mark="^")


def _rate_of_subsets(
    attempts: Attempts,
    k: int,
    subsets_that_pass: Callable[[int, int, int], int],
    level: float,
    *,
    mark: str,
) -> Estimate:
    """Return the proportion of subsets of k attempts that pass, c passed of n."""
    k = _options.whole_number(k, "k", at_least=1)
    too_few = attempts.tried < k
    if too_few.any():
        raise NotEnoughCases(
            f"pass{mark}{k} needs {k} attempts at every item; "
            f"{int(too_few.sum()):,} of {len(attempts):,} items have fewer. Ask for "
            f"{int(attempts.tried.min())} or less, or collect more attempts at these "
            "items.",
            option="k",
        )

    def value_of_item(tried: int, passed: int) -> Fraction:
        return Fraction(subsets_that_pass(tried, passed, k), comb(tried, k))

    # exact fractions: binomial coefficients soon exceed a float
    values = item_values(attempts, value_of_item)
    return estimate_rate(attempts, values, level, f"pass{mark}{k}")


def mean_of_items(
    values: Sequence[float],
    items: Sequence[str],
    cluster: Sequence[str] | None = None,
    *,
    level: float = 0.95,
) -> Estimate:
    """Mean of grades from 0 to 1 over items, with a confidence interval.

    For programs that have grades at hand in place of counted attempts: the mean of each
    item, then that of all items.
    """
    _, first_row, item, n_grades = np.unique(
        items, return_index=True, return_inverse=True, return_counts=True
    )
    grades = np.asarray(values, float)
    if not ((grades >= 0) & (grades <= 1)).all():
        raise InputError("A pass rate needs grades from 0 to 1.")

    # one value for each item, however often it was graded
    means = np.bincount(item.reshape(-1), grades) / n_grades
    mean = means.mean()
    cluster_codes = None

    if cluster is not None:
        cluster_of_item = np.asarray(cluster)[first_row]
        cluster_codes = np.unique(cluster_of_item, return_inverse=True)[1]

    variance = variance_between_units((means - mean) / means.size, cluster_codes)

    passed_or_failed = bool(((grades == 0) | (grades == 1)).all())
    return _estimate_mean_of_items(
        float(mean),
        variance,
        n_items=means.size,
        is_proportion=passed_or_failed and bool((n_grades == 1).all()),
        clustered=cluster_codes is not None,
        level=level,
        name="pass rate",
    )


class ItemValues(NamedTuple):
    """The value of each item, and the exact mean over items."""

    mean: Fraction
    values: Floats


def _proportion_passed(tried: int, passed: int) -> Fraction:
    """Return c / n."""
    return Fraction(passed, tried)


def item_values(
    attempts: Attempts, value_of_item: ValueOfItem = _proportion_passed
) -> ItemValues:
    """Return the exact mean of the items, and the value of each."""
    # items with the same counts have the same value, which is computed once
    counts = np.column_stack([attempts.tried, attempts.passed])
    distinct, row, n_items = np.unique(
        counts, axis=0, return_inverse=True, return_counts=True
    )
    exact = [value_of_item(int(tried), int(passed)) for tried, passed in distinct]

    total = Fraction()
    for value, number in zip(exact, n_items, strict=True):
        total += value * int(number)

    values = np.array([float(value) for value in exact])[row.reshape(-1)]
    return ItemValues(total / len(attempts), values)


def without_verdict(how_many: str) -> str:
    """Return a note on attempts that were left out without a verdict."""
    advice = "If they failed, set missing_scores to 'fail'."
    return f"Left out without a verdict: {how_many}. {advice}"


def estimate_rate(
    attempts: Attempts, values: ItemValues, level: float, name: str
) -> Estimate:
    """Return the mean over items with its interval and notes."""
    mean = float(values.mean)
    # the influence of an item on the mean of all
    deviations = (values.values - mean) / len(attempts)
    variance = variance_between_units(deviations, attempts.codes())
    # the variance is at least that of as many independent attempts
    binomial_variance = float(values.mean * (1 - values.mean))
    smallest_variance = binomial_variance / float(attempts.tried.sum())
    if 0 < variance.variance < smallest_variance:
        variance = replace(variance, variance=smallest_variance)

    estimate = _estimate_mean_of_items(
        mean,
        variance,
        n_items=len(attempts),
        is_proportion=bool((attempts.tried == 1).all()),
        clustered=attempts.cluster is not None,
        level=level,
        name=name,
    )

    return replace(estimate, notes=_rate_notes(attempts, variance.units))


def _rate_notes(attempts: Attempts, n_units: float) -> tuple[str, ...]:
    """Return notes on missing verdicts and on few items."""
    notes = []
    if attempts.missing:
        notes.append(without_verdict(counted(attempts.missing, "attempt")))

    if n_units < FEW_CLUSTERS:
        units = "items" if attempts.cluster is None else "clusters of items"
        notes.append(
            f"There are only {int(n_units)} {units}: with fewer than {FEW_CLUSTERS} "
            "the confidence interval itself is uncertain."
        )

    return tuple(notes)


def _estimate_mean_of_items(
    mean: float,
    variance: VarianceEstimate,
    *,
    n_items: int,
    is_proportion: bool,
    clustered: bool,
    level: float,
    name: str,
) -> Estimate:
    """Return a mean with its interval: Wilson's where each item was tried once."""
    level = _options.fraction(level, "level")

    if not is_proportion:
        return estimate_from_variance(mean, variance, (0.0, 1.0), level, name)

    n_clusters = variance.units if clustered else math.inf
    return estimate_of_proportion(
        mean, variance, float(n_items), n_clusters, level, name
    )
