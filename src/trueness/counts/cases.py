"""What do tallies and panels share: three columns of counts, or six of weights.

``neg``, ``pos`` and ``unknown`` are numbers of cases. Where cases are weighted they are
sums of weights, and three more columns hold the sums of the squared weights. Both are
added up, chosen and merged alike, so the two values treat them as "the columns".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Ints, no_cases
from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described
from trueness._core.html import html_table
from trueness._core.numbers import about, counted, number_of
from trueness._core.records import brief
from trueness.counts.design import PLAIN, Design
from trueness.counts.rows import Clusters, cells, cluster_names, join, take_out

T = TypeVar("T")
C = TypeVar("C", bound="Cases")
Squares = tuple[Array, Array, Array]  # sums of squared weights: neg, pos, unknown


class Cases:
    """Rows with counts, or sums of weights, of negatives, positives and unknowns."""

    neg: Ints
    pos: Ints
    unknown: Ints
    _squares: Squares | None
    clusters: Clusters | None
    design: Design

    def with_design(
        self,
        *,
        sampling: str | None = None,
        prevalence: float | None = None,
        unlabelled: str | None = None,
    ) -> Self:
        """Say how the cases came, in words that the counts do not hold themselves.

        Parameters
        ----------
        sampling
            ``"cohort"`` or ``"case-control"``.
        prevalence
            The share of positives in the population that is meant.
        unlabelled
            ``"left out"`` or ``"missing at random"``.
        """
        words = {"sampling": sampling, "prevalence": prevalence}
        design = self.design.with_words({**words, "unlabelled": unlabelled})
        return self if design == self.design else self._with(design=design)

    def without_design(self) -> Self:
        """Forget how the cases came, but for their weights and clusters."""
        return self if self.design == PLAIN else self._with(design=PLAIN)

    def without_clusters(self) -> Self:
        """Forget which cases belong together."""
        return self if self.clusters is None else self._with(clusters=None)

    def __radd__(self, other: int) -> Self:
        """Let ``sum(tallies)`` start from 0."""
        return self if other == 0 else NotImplemented

    def _with(self, **fields: Any) -> Self:
        made = object.__new__(type(self))
        vars(made).update(vars(self) | fields)
        return made

    def _with_counts(self, columns: Sequence[Array]) -> Self:
        """Give the same rows with other counts; which clusters they are of is lost."""
        made = self._with(clusters=None, _squares=None)
        for name in ("n_neg", "n_pos", "n_unknown"):
            vars(made).pop(name, None)
        fill(made, COUNTS, columns)
        return made

    def hide(self) -> Self:
        """Forget the labels: every case is unknown."""
        return self._changed(hidden)

    def labelled(self) -> Self:
        """Forget the cases without a label."""
        if not self.n_unknown:
            return self
        return self._rows_kept((self.neg + self.pos) > 0)._changed(known)

    def _changed(self, change: Callable[[Sequence[Array]], Sequence[Array]]) -> Self:
        """Change the counts of every row, and so of every cluster."""
        made = self._with_counts(change(self.counts))._with(clusters=self.clusters)
        if made.clusters is not None:
            vars(made)["clusters"] = made.clusters.changed(change)
        return made

    def _rows_kept(self, keep: Array) -> Self:
        """Leave rows out."""
        kept = {k: v[keep] for k, v in vars(self).items() if isinstance(v, np.ndarray)}
        made = self._with(**kept)._with_counts([c[keep] for c in self.counts])
        return self._keep(made, lambda: np.where(keep, np.cumsum(keep) - 1, -1))

    def _keep(self, made: T, to: Callable[[], Array]) -> T:
        """Give counts made of these the clusters and the design that these have.

        ``to`` says where each row is now.
        """
        if self.design is not PLAIN:
            vars(made)["design"] = self.design
        if self.clusters is not None:
            vars(made)["clusters"] = self.clusters.moved(to())
        return made

    @property
    def grouped(self) -> Clusters | None:
        """Which cases belong together? None where each belongs to itself."""
        return None if self.clusters is None or self.clusters.single else self.clusters

    @property
    def n(self) -> int:
        """How many cases, labelled or not? Of weighted ones, the sum of weights."""
        return self.n_neg + self.n_pos + self.n_unknown

    @cached_property
    def n_neg(self) -> int:
        """How many negative cases?"""
        return total(self.neg)

    @cached_property
    def n_pos(self) -> int:
        """How many positive cases?"""
        return total(self.pos)

    @cached_property
    def n_unknown(self) -> int:
        """How many cases without a label?"""
        return total(self.unknown)

    @property
    def weighted(self) -> bool:
        """Are these sums of weights instead of counts?"""
        return self._squares is not None

    @property
    def unit(self) -> str:
        """What are the counts numbers of? ``"cases"``, or their ``"total weight"``."""
        return "total weight" if self.weighted else "cases"

    @property
    def single_cases(self) -> bool:
        """Is each case counted by itself, without a weight and without a cluster?"""
        return self.grouped is None and not self.weighted

    @property
    def squares(self) -> Squares:
        """Sums of squared weights of negatives, positives, unknowns; else the counts.

        A counted case has weight one, whose square is one.
        """
        return self._squares or (self.neg, self.pos, self.unknown)

    @property
    def counts(self) -> tuple[Array, ...]:
        """The columns that are added: three of counts, six of weights and squares."""
        three = (self.neg, self.pos, self.unknown)
        return (*three, *self.squares) if self.weighted else three

    @property
    def equal_cases(self) -> tuple[float, float]:
        """As how many equally weighted cases do negatives and positives count?"""
        (neg, pos, _), (q_neg, q_pos, _) = self.counts[:3], self.squares
        return (
            kish(float(neg.sum()), float(q_neg.sum())),
            kish(float(pos.sum()), float(q_pos.sum())),
        )

    @property
    def prevalence(self) -> float:
        """Which share of the labelled cases is positive? NaN when there are none."""
        known = self.n_pos + self.n_neg
        return self.n_pos / known if known else float("nan")


COUNTS = ("neg", "pos", "unknown")
# the names of the sums of squared weights, in frames and files
SQUARES = ("neg_squares", "pos_squares", "unknown_squares")


def fill(value: Any, names: Sequence[str], columns: Sequence[Any]) -> None:
    """Set the fields of a frozen value, arrays read-only; squares come last."""
    fixed = [c.view() if isinstance(c, np.ndarray) else c for c in columns]
    for column in fixed:
        if isinstance(column, np.ndarray):
            column.flags.writeable = False
    for name, column in zip(names, fixed, strict=False):
        object.__setattr__(value, name, column)
    if len(columns) > len(names):
        object.__setattr__(value, "_squares", tuple(fixed[len(names) :]))


def total(column: Array) -> int:
    """Add up; a Python number, whole for counts and with a fraction for weights."""
    number: int = column.sum().item()
    return number


def alike(a: Cases, b: Cases) -> list[list[Array]]:
    """Give the counts of both; beside weights, a case is one of weight one."""
    if not (a.weighted or b.weighted):
        _columns.fit_together(a.n + b.n)
    return _one_kind([a.counts, b.counts])


def _one_kind(both: Sequence[Sequence[Array]]) -> list[list[Array]]:
    if all(len(columns) == 3 for columns in both):
        return [[*columns] for columns in both]
    six = [c if len(c) == 6 else (*c, *c) for c in both]
    return [[np.asarray(v, np.float64) for v in c] for c in six]


def same(some: Sequence[Array], others: Sequence[Array]) -> bool:
    """Are these the same columns?"""
    pairs = zip(some, others, strict=False)
    return len(some) == len(others) and all(np.array_equal(a, b) for a, b in pairs)


def hidden(columns: Sequence[Array]) -> list[Array]:
    """Give the columns of counts with every case unknown."""
    zero = no_cases(len(columns[0]))
    whole = [np.add.reduce(columns[k : k + 3]) for k in range(0, len(columns), 3)]
    return [column for all_of in whole for column in (zero, zero, all_of)]


def known(columns: Sequence[Array]) -> list[Array]:
    """Give the columns of counts with the unknown cases left out."""
    zero = no_cases(len(columns[0]))
    return [zero if k % 3 == 2 else c for k, c in enumerate(columns)]


def by_name(x: Cases) -> dict[str, Array]:
    """Give the columns by their names in frames and files."""
    return dict(zip((*COUNTS, *SQUARES), x.counts, strict=False))


def count_columns(
    size: int, output: str = "score", **given: ArrayLike | None
) -> list[Ints]:
    """Read columns of counts beside an output; None is a column without a case."""
    columns = []
    for name, values in given.items():
        if values is None:
            columns.append(no_cases(size))
            continue
        column = np.atleast_1d(_columns.as_array(values, name))
        column = column.astype(np.int64) if column.size == 0 else column
        column = _columns.whole_counts(_columns.one_dimensional(column, name), name)
        _columns.same_length(**{output: np.empty(size), name: column})
        columns.append(column)
    return columns


def changed(x: C, change: Callable[[Sequence[Array]], Sequence[Array]]) -> C:
    """Change the counts of every row, and so of every cluster."""
    return x._changed(change)


def with_counts(x: C, columns: Sequence[Array]) -> C:
    """Give the same rows with other counts; which clusters they are of is lost."""
    return x._with_counts(columns)


def with_fields(x: C, **fields: Any) -> C:
    """Give the same counts with other fields."""
    return x._with(**fields)


def rows_kept(x: C, keep: Array) -> C:
    """Leave rows out."""
    return x._rows_kept(keep)


def kept(x: Cases, made: T, to: Callable[[], Array]) -> T:
    """Give counts made of ``x`` its clusters and its design; see ``Cases._keep``."""
    return x._keep(made, to)


def kish(weight: float, square: float) -> float:
    """Count as many equal cases as tell as much as these weighted ones (Kish 1965).

    >>> kish(6.0, 12.0)  # three cases of weight 2
    3.0
    """
    return weight**2 / square if square > 0 else 0.0


def describe(x: Cases) -> str:
    """Say what was counted."""
    neg, pos, unknown = map(number_of, (x.n_neg, x.n_pos, x.n_unknown))
    many = how_many(x)
    if x.clusters is not None:
        many += f" in {x.clusters.number:,} clusters"
    return f"{many} ({neg} negative, {pos} positive, {unknown} unknown)"


def how_many(x: Cases) -> str:
    """Say how many cases there are, or what they weigh."""
    weight = f"cases with a total weight of {number_of(x.n)}"
    return weight if x.weighted else counted(x.n, "case")


def cases_that_tell(x: Cases) -> tuple[int, str]:
    """Count the units that were drawn: cases, clusters, or as many equal cases."""
    if x.grouped is not None:
        return x.grouped.number, "clustered"
    if x.weighted:
        square = float(x.squares[0].sum() + x.squares[1].sum())
        return round(kish(float(x.n_pos + x.n_neg), square)), "equally weighted"
    return int(x.n_pos + x.n_neg), "labelled"


def unlabelled_words(x: Cases) -> str:
    """Say how many cases have no label."""
    some = f"{number_of(x.n_unknown)} of {number_of(x.n)}"
    return f"Cases with a weight of {some}" if x.weighted else f"{some} cases"


def weight_notes(x: Cases) -> tuple[str, ...]:
    """Say what weighted cases tell; nothing where cases are counted."""
    if not x.weighted:
        return ()
    neg, pos = map(about, x.equal_cases)
    return (
        f"Cases are weighted: the positives carry as much information as {pos} equally "
        f"weighted ones, the negatives as {neg}. The limits assume that weights were "
        "fixed beforehand.",
    )


def weighed_counts(x: Cases) -> tuple[str, ...]:
    """Say that counts are sums of weights; nothing where cases are counted."""
    if not x.weighted:
        return ()
    return (
        "Cases are weighted: the confusion matrix, and counts such as flagged in "
        "objective and constraints, are sums of weights. With weights that add up to "
        "the population, flagged <= 500 means 500 of the population and not of the "
        "sample.",
    )


def html(x: Cases, head: tuple[str, ...], rows: Any, most: int = 10) -> str:
    """Show the first rows as a table."""
    first = [tuple(brief(v) for v in row) for row in islice(rows, most)]
    note = f"<p>{x.neg.size - most:,} more rows</p>" if x.neg.size > most else ""
    return f"<p>{type(x).__name__}: {describe(x)}</p>{html_table(head, first)}{note}"


def put_in_clusters(x: Any, row: Ints, ids: Array, columns: Sequence[Array]) -> None:
    """Say of new counts which cases of each row belong together."""
    names, code = cluster_names(ids)
    vars(x)["clusters"] = cells(names, row, code, columns)


def in_clusters(groups: Any) -> Any:
    """Join a mapping from cluster to counts: each key is a cluster."""
    needs = "cluster=True needs a mapping from cluster to counts without clusters"
    if not isinstance(groups, Mapping) or not groups:
        raise InputError(
            f"{needs}; found {described(groups)}. With arrays or a frame type cluster= "
            "and the column."
        )
    parts: Any = []
    for name, x in groups.items():
        if not isinstance(x, Cases) or x.clusters is not None:
            raise InputError(f"{needs}; found {described(x)} at {name!r}.")
        made, m = x._with(), x.neg.size
        put_in_clusters(made, np.arange(m), np.repeat(np.array([name]), m), x.counts)
        parts.append(made)
    return sum(parts[1:], parts[0])


def by_cell(x: Cases, columns: dict[str, Array]) -> dict[str, Array]:
    """Give columns of rows, then counts; of clustered cases a line for each cell."""
    c = x.clusters
    if c is None:
        return columns | by_name(x)
    named = dict(zip(by_name(x), c.counts, strict=True))
    rows = {k: v[c.row] for k, v in columns.items()}
    return rows | {"cluster": c.names[c.code]} | named


def same_design(a: Cases, b: Cases) -> bool:
    """Did both come in the same way, and in the same clusters?"""
    if a.clusters is None or b.clusters is None:
        return a.design == b.design and a.clusters is b.clusters
    return a.design == b.design and a.clusters.same(b.clusters)


def both_designs(a: Any, b: Any, made: T, rows: Callable[[Any], Array]) -> T:
    """Give the sum of two counts their clusters and their design.

    ``rows`` says where the rows of each are now.
    """
    for one, other in ((a, b), (b, a)):  # counts without a case fit with all others
        if not other.n:
            return one._keep(made, lambda one=one: rows(one))  # type: ignore[no-any-return]
    vars(made)["design"] = a.design + b.design
    if _clustered(a, b):
        columns = _one_kind([a.clusters.counts, b.clusters.counts])
        cut = join(a.clusters, b.clusters, (rows(a), rows(b)), columns)
        vars(made)["clusters"] = cut
    return made


def design_left(
    whole: Any, part: Any, made: T, rows: Callable[[Any], Array], held: Array
) -> T:
    """Give what is left of a whole its design and its clusters, less those of a part.

    ``rows`` says where the rows of the whole are now, ``held`` which of them hold those
    of the part.
    """
    vars(made)["design"] = whole.design
    if part.n and _clustered(whole, part):
        columns = _one_kind([whole.clusters.counts, part.clusters.counts])
        left = take_out(whole.clusters, part.clusters, held, columns)
        whole = whole._with(clusters=left)
    return whole._keep(made, lambda: rows(whole))  # type: ignore[no-any-return]


def _clustered(a: Cases, b: Cases) -> bool:
    if (a.clusters is None) != (b.clusters is None):
        raise InputError(
            "Counts with clusters can be added only to counts with clusters, since "
            "each case belongs to one. Count both with cluster=."
        )
    return a.clusters is not None
