"""What do tallies and panels share: three columns of counts, or six of weights.

Of weighted cases ``neg``, ``pos`` and ``unknown`` are sums of weights, and three more
columns sums of their squares; all are added up, chosen and merged alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Ints, no_cases
from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described
from trueness._core.figures import html_table
from trueness._core.numbers import counted, number_of
from trueness._core.records import brief, native_frame
from trueness.counts.design import PLAIN, Design
from trueness.counts.rows import Clusters, cells, cluster_names, join, less, take_out

T = TypeVar("T")
C = TypeVar("C", bound="Cases")
Squares = tuple[Array, Array, Array]  # sums of squared weights: neg, pos, unknown


def _total(column: str, question: str) -> cached_property[int]:
    """Add up a column of counts when the sum is first asked for."""
    total: cached_property[int]
    total = cached_property(lambda x: getattr(x, column).sum().item())
    total.__doc__ = question
    return total


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
        words: dict[str, Any] = {"sampling": sampling, "prevalence": prevalence}
        design = self.design.with_words({**words, "unlabelled": unlabelled})
        return self if design == self.design else with_fields(self, design=design)

    def without_design(self) -> Self:
        """Forget how the cases came, but for their weights and clusters."""
        return self if self.design == PLAIN else with_fields(self, design=PLAIN)

    def without_clusters(self) -> Self:
        """Forget which cases belong together."""
        return self if self.clusters is None else with_fields(self, clusters=None)

    def __add__(self, other: Self) -> Self:
        """Count the cases of both; panels must have the same names."""
        if type(other) is not type(self):
            return NotImplemented
        other = self._aligned(other, "added")
        made: Self = self._merged(other, alike(self, other))
        if not self.n:  # counts without a case fit with all others
            return keep_clusters(other, made, lambda: made._find(other)[0])
        if not other.n:
            return keep_clusters(self, made, lambda: made._find(self)[0])
        vars(made)["design"] = self.design + other.design
        if (pair := _clustered(self, other)) is not None:
            columns = _one_kind([c.counts for c in pair])
            at = made._find(self)[0], made._find(other)[0]
            vars(made)["clusters"] = join(*pair, at, columns)
        return made

    def __radd__(self, other: int) -> Self:
        """Let ``sum(tallies)`` start from 0."""
        return self if other == 0 else NotImplemented

    def __sub__(self, other: Self) -> Self:
        """Take out the cases of a part: ``(a + b) - b`` is ``a``.

        Windows slide by it. Taken from a binned tally, bins keep their extent.
        """
        if type(other) is not type(self):
            return NotImplemented
        other = self._aligned(other, "subtracted")
        mine, others = alike(self, other)
        held, found = self._find(other)
        left = less(mine, held[found], [c[found] for c in others])
        short = np.add.reduce([c < 0 for c in left], axis=0).astype(bool)
        if short.any() or not found.all():
            raise InputError(_no_part(self, short, other, ~found))
        clusters = self.clusters
        if other.n and (pair := _clustered(self, other)) is not None:
            columns = _one_kind([c.counts for c in pair])
            clusters = take_out(*pair, held, columns)
        made = with_fields(with_counts(self, left), clusters=clusters)
        return rows_kept(made, np.add.reduce([c != 0 for c in left], axis=0) > 0)

    def __eq__(self, other: object) -> bool:
        """Do both describe the same cases, which came in the same way?"""
        if type(other) is not type(self):
            return NotImplemented
        a, b = self.clusters, other.clusters
        return (
            self.design == other.design
            and getattr(self, "names", ()) == getattr(other, "names", ())
            and same((*self._outputs, *self.counts), (*other._outputs, *other.counts))
            and (a is b or (a is not None and b is not None and a.same(b)))
        )

    __hash__ = None  # type: ignore[assignment]

    # What differs between tallies and panels: outputs of each row; the rows of both,
    # with these counts; which row holds each row of others, and whether there is one.
    _outputs: Any
    _merged: Any
    _find: Any
    named_columns: Any

    def _shown(self) -> Iterable[tuple[str, Array]]:
        return self.named_columns.items()  # type: ignore[no-any-return]

    def _aligned(self, other: Self, done: str) -> Self:  # outputs in the same order
        return other

    def to_frame(self, backend: str | None = None) -> Any:
        """Give a frame: the outputs, then neg, pos and unknown.

        A binned tally also has ``high``, weighted cases have the sums of squared
        weights, and of clustered ones there is a row for each output and cluster.
        """
        return native_frame(self.named_columns, backend)

    def _repr_html_(self) -> str:
        names, values = zip(*self._shown(), strict=True)
        m, most = values[0].size, 10
        rows = islice(zip(*values, strict=True), most)
        table = html_table(names, [tuple(map(brief, row)) for row in rows])
        note = f"<p>{m - most:,} more rows</p>" if m > most else ""
        return f"<p>{type(self).__name__}: {describe(self)}</p>{table}{note}"

    def without_labels(self) -> Self:
        """Forget the labels: every case is unknown."""

        def hidden(columns: Sequence[Array]) -> list[Array]:
            zero, size = no_cases(len(columns[0])), len(columns)
            whole = (np.add.reduce(columns[k : k + 3]) for k in range(0, size, 3))
            return [column for all_of in whole for column in (zero, zero, all_of)]

        return change_counts(self, hidden)

    def labelled(self) -> Self:
        """Forget the cases without a label."""
        if not self.n_unknown:
            return self

        def known(columns: Sequence[Array]) -> list[Array]:
            zero = no_cases(len(columns[0]))
            return [zero if k % 3 == 2 else c for k, c in enumerate(columns)]

        return change_counts(rows_kept(self, (self.neg + self.pos) > 0), known)

    @property
    def grouped(self) -> Clusters | None:
        """Which cases belong together? None where each belongs to itself."""
        return None if self.clusters is None or self.clusters.single else self.clusters

    @property
    def cluster_number(self) -> float:
        """How many clusters are there? Infinitely many where cases are independent."""
        return math.inf if self.grouped is None else float(self.grouped.number)

    @property
    def n(self) -> int:
        """How many cases, labelled or not? Of weighted ones, the sum of weights."""
        return self.n_neg + self.n_pos + self.n_unknown

    n_neg = _total("neg", "How many negative cases?")
    n_pos = _total("pos", "How many positive cases?")
    n_unknown = _total("unknown", "How many cases without a label?")

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
        q_neg, q_pos, _ = self.squares
        return (
            kish(float(self.n_neg), float(q_neg.sum())),
            kish(float(self.n_pos), float(q_pos.sum())),
        )

    @property
    def prevalence(self) -> float:
        """Which share of the labelled cases is positive? NaN when there are none."""
        known = self.n_pos + self.n_neg
        return self.n_pos / known if known else float("nan")


COUNTS = ("neg", "pos", "unknown")
# the names of the sums of squared weights, in frames and files
SQUARES = ("neg_squares", "pos_squares", "unknown_squares")


def fill(value: object, names: Sequence[str], columns: Sequence[Any]) -> None:
    """Set the fields of a frozen value, arrays read-only; squares come last."""
    fixed = [c.view() if isinstance(c, np.ndarray) else c for c in columns]
    for column in fixed:
        if isinstance(column, np.ndarray):
            column.flags.writeable = False
    for name, column in zip(names, fixed, strict=False):
        object.__setattr__(value, name, column)
    if len(columns) > len(names):
        object.__setattr__(value, "_squares", tuple(fixed[len(names) :]))


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
    return len(some) == len(others) and all(
        np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs
    )


def _no_part(a: Cases, short: Array, b: Cases, stray: Array) -> str:
    first = a._outputs[0][short] if short.any() else b._outputs[0][stray]
    ends = [x[stray] for x in b._outputs]
    wide = bool((ends[0] != ends[-1]).any()) and len(ends) > 1
    why = " (or its bins are wider than those it is taken from)" if wide else ""
    many = f"{int(stray.sum() + short.sum()):,}"
    where = f"in {many} rows of outputs, first {first[0].tolist()}"
    if first.ndim == 1:
        where = f"at {many} scores, first {first[0]:.6g}{why}"
    return (
        f"a - b takes out cases that + put in; b has more cases than a {where}. Is b "
        "the part and a the whole?"
    )


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


def with_counts(x: C, columns: Sequence[Array]) -> C:
    """Give the same rows with other counts; which clusters they are of is lost."""
    made = with_fields(x, clusters=None, _squares=None)
    for name in ("n_neg", "n_pos", "n_unknown"):
        vars(made).pop(name, None)
    fill(made, COUNTS, columns)
    return made


def with_fields(x: C, **fields: Any) -> C:
    """Give the same counts with other fields."""
    made = object.__new__(type(x))
    vars(made).update(vars(x) | fields)
    return made


def rows_kept(x: C, keep: Array) -> C:
    """Leave rows out."""
    kept: dict[str, Any]
    kept = {k: v[keep] for k, v in vars(x).items() if isinstance(v, np.ndarray)}
    if "_high" in kept and np.array_equal(kept["_high"], kept["score"]):
        kept["_high"] = None  # no bin is left
    made = with_counts(with_fields(x, **kept), [c[keep] for c in x.counts])
    to = np.where(keep, np.cumsum(keep) - 1, -1)
    return keep_clusters(x, made, lambda: to)


def change_counts(x: C, change: Callable[[Sequence[Array]], Sequence[Array]]) -> C:
    """Change the counts of every row, and so of every cluster."""
    clusters = None if x.clusters is None else x.clusters.changed(change)
    return with_fields(with_counts(x, change(x.counts)), clusters=clusters)


def keep_clusters(x: Cases, made: T, to: Callable[[], Array]) -> T:
    """Give counts made of others the clusters and the design that these have.

    ``to`` says where each row is now.
    """
    if x.design is not PLAIN:
        vars(made)["design"] = x.design
    if x.clusters is not None:
        vars(made)["clusters"] = x.clusters.moved(to())
    return made


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


def headings(x: Cases) -> tuple[str, str]:
    """What do tables call these counts and those of positives: cases, or weights?"""
    return ("weight", "of positives") if x.weighted else ("cases", "positive")


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


def put_in_clusters(x: Cases, row: Ints, ids: Array, columns: Sequence[Array]) -> None:
    """Say of new counts which cases of each row belong together."""
    names, code = cluster_names(ids)
    vars(x)["clusters"] = cells(names, row, code, columns)


def in_clusters(groups: object) -> Any:
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
        made, m = with_fields(x), x.neg.size
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


def _clustered(a: Cases, b: Cases) -> tuple[Clusters, Clusters] | None:
    """Give the clusters of both, which have them or have not."""
    if a.clusters is not None and b.clusters is not None:
        return a.clusters, b.clusters
    if a.clusters is b.clusters:
        return None
    raise InputError(
        "Counts with clusters can be added only to counts with clusters, since each "
        "case belongs to one. Count both with cluster=."
    )
