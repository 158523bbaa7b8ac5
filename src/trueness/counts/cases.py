"""What tallies and panels share: three columns of counts, or six of weights.

For weighted cases, ``neg``, ``pos`` and ``unknown`` are sums of weights, and three more
columns are sums of squared weights. All columns are added, chosen and merged alike.
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
from trueness.counts.clusters import (
    Clusters,
    add_clusters,
    canonical_clusters,
    cluster_names,
    subtract_clusters,
)
from trueness.counts.design import PLAIN, Design
from trueness.counts.rows import has_cases, subtract_counts

T = TypeVar("T")
C = TypeVar("C", bound="Cases")
Squares = tuple[Array, Array, Array]  # sums of squared weights: neg, pos, unknown


def _total(column: str, question: str) -> cached_property[int]:
    """Return a property with the sum of a column of counts, computed once."""
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
        unlabelled: Any = None,
    ) -> Self:
        """State the sampling design, as far as the counts do not hold it themselves.

        Parameters
        ----------
        sampling
            ``"cohort"`` or ``"case-control"``.
        prevalence
            The proportion of positives in the target population.
        unlabelled
            ``"left out"``, ``"missing at random"``, or what says how probable a label
            is: a calibration map of this score, labelled reference cases to which one
            is fitted, or :class:`trueness.ExpectedLabels`.
        """
        design = self.design.with_arguments(
            {"sampling": sampling, "prevalence": prevalence, "unlabelled": unlabelled}
        )
        if design.expects_labels:
            self._check_one_score()
        return self if design == self.design else with_fields(self, design=design)

    def without_design(self) -> Self:
        """Forget the sampling design, but for weights and clusters."""
        return self if self.design == PLAIN else with_fields(self, design=PLAIN)

    def without_clusters(self) -> Self:
        """Forget which cases belong together."""
        return self if self.clusters is None else with_fields(self, clusters=None)

    def __add__(self, other: Self) -> Self:
        """Count the cases of both; panels must have the same names."""
        if type(other) is not type(self):
            return NotImplemented

        other = self._aligned(other, "added")
        merged: Self = self._merged(other, align_counts(self, other))

        # counts without a case can be added to any others
        if not self.n:
            return keep_clusters(other, merged, lambda: merged._find(other)[0])
        if not other.n:
            return keep_clusters(self, merged, lambda: merged._find(self)[0])

        vars(merged)["design"] = self.design + other.design
        if _both_clustered(self, other):
            own_clusters = _clusters_of(self)
            other_clusters = _clusters_of(other)
            vars(merged)["clusters"] = add_clusters(
                own_clusters,
                other_clusters,
                rows=(merged._find(self)[0], merged._find(other)[0]),
                columns=_same_kind(own_clusters.counts, other_clusters.counts),
            )

        return merged

    def __radd__(self, other: int) -> Self:
        """Let ``sum(tallies)`` start from 0."""
        return self if other == 0 else NotImplemented

    def __sub__(self, other: Self) -> Self:
        """Remove the cases of a part: ``(a + b) - b`` is ``a``.

        So a window can slide. The bins of a binned tally keep their extent.
        """
        if type(other) is not type(self):
            return NotImplemented

        other = self._aligned(other, "subtracted")
        own_counts, other_counts = align_counts(self, other)
        row, is_in_whole = self._find(other)
        remaining = subtract_counts(
            own_counts,
            row[is_in_whole],
            [column[is_in_whole] for column in other_counts],
        )
        is_negative = np.add.reduce(
            [column < 0 for column in remaining], axis=0
        ).astype(bool)
        if is_negative.any() or not is_in_whole.all():
            raise InputError(_describe_surplus(self, is_negative, other, ~is_in_whole))

        clusters = self.clusters
        if other.n and _both_clustered(self, other):
            own_clusters = _clusters_of(self)
            other_clusters = _clusters_of(other)
            clusters = subtract_clusters(
                own_clusters,
                other_clusters,
                row_in_whole=row,
                columns=_same_kind(own_clusters.counts, other_clusters.counts),
            )

        remainder = with_fields(with_counts(self, remaining), clusters=clusters)
        return keep_rows(remainder, has_cases(remaining))

    def __eq__(self, other: object) -> bool:
        """Return whether both describe the same cases, of the same sampling design."""
        if type(other) is not type(self):
            return NotImplemented

        return (
            self.design == other.design
            and getattr(self, "names", ()) == getattr(other, "names", ())
            and same_arrays(self._outputs, other._outputs)
            and same_arrays(self.counts, other.counts)
            and _same_clusters(self.clusters, other.clusters)
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
        """Return a frame: the outputs, then neg, pos and unknown.

        A binned tally also has ``high``. Weighted cases have the sums of squared
        weights, and clustered cases a row for each output and cluster.
        """
        return native_frame(self.named_columns, backend)

    def _repr_html_(self) -> str:
        names, columns = zip(*self._shown(), strict=True)
        shown_rows = islice(zip(*columns, strict=True), _ROWS_SHOWN)
        table = html_table(names, [tuple(map(brief, row)) for row in shown_rows])

        hidden_rows = columns[0].size - _ROWS_SHOWN
        note = f"<p>{hidden_rows:,} more rows</p>" if hidden_rows > 0 else ""
        return f"<p>{type(self).__name__}: {describe(self)}</p>{table}{note}"

    def without_labels(self) -> Self:
        """Forget the labels: every case is unknown."""
        return change_counts(self, _as_unknown)

    def labelled(self) -> Self:
        """Forget the cases without a label."""
        if not self.n_unknown:
            return self
        labelled_rows = keep_rows(self, (self.neg + self.pos) > 0)
        return change_counts(labelled_rows, _without_unknown)

    @property
    def labels_expected(self) -> bool:
        """Return whether a map says how likely cases without a label are positive."""
        if not self.design.expects_labels:
            return False
        return self.n_unknown > 0 or self.design.stratified

    def _check_one_score(self) -> None:
        """Stop where the map of one score cannot say how probable a label is."""

    @property
    def grouped(self) -> Clusters | None:
        """Return the cluster of each case; None where each case belongs to itself."""
        return None if self.clusters is None or self.clusters.single else self.clusters

    @property
    def cluster_number(self) -> float:
        """Return the number of clusters, infinite where cases are independent."""
        return math.inf if self.grouped is None else float(self.grouped.number)

    @property
    def n(self) -> int:
        """Return the number of cases, labelled or not, or their total weight."""
        return self.n_neg + self.n_pos + self.n_unknown

    n_neg = _total("neg", "Return the number of negative cases.")
    n_pos = _total("pos", "Return the number of positive cases.")
    n_unknown = _total("unknown", "Return the number of cases without a label.")

    @property
    def weighted(self) -> bool:
        """Return whether these are sums of weights instead of counts."""
        return self._squares is not None

    @property
    def unit(self) -> str:
        """Return what the counts count: ``"cases"``, or their ``"total weight"``."""
        return "total weight" if self.weighted else "cases"

    @property
    def single_cases(self) -> bool:
        """Return whether each case counts by itself, without a weight or a cluster."""
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
        sums = (self.neg, self.pos, self.unknown)
        return (*sums, *self.squares) if self.weighted else sums

    @cached_property
    def equal_cases(self) -> tuple[float, float]:
        """Return Kish's effective numbers of negatives and of positives."""
        if not self.weighted:
            # a counted case has weight one, whose square is one
            return float(self.n_neg), float(self.n_pos)

        squares_of_negatives, squares_of_positives, _ = self.squares
        return (
            kish(float(self.n_neg), float(squares_of_negatives.sum())),
            kish(float(self.n_pos), float(squares_of_positives.sum())),
        )

    @property
    def prevalence(self) -> float:
        """Proportion of positives among the labelled cases; NaN when there are none."""
        n_labelled = self.n_pos + self.n_neg
        return self.n_pos / n_labelled if n_labelled else float("nan")


COUNTS = ("neg", "pos", "unknown")
# the names of the sums of squared weights, in frames and files
SQUARES = ("neg_squares", "pos_squares", "unknown_squares")
_ROWS_SHOWN = 10


def _as_unknown(columns: Sequence[Array]) -> list[Array]:
    """Return columns, of counts and perhaps of squares, in which no label is known."""
    zero = no_cases(len(columns[0]))
    unknown_columns = []
    for first in range(0, len(columns), 3):
        all_cases = np.add.reduce(columns[first : first + 3])
        unknown_columns += [zero, zero, all_cases]
    return unknown_columns


def _without_unknown(columns: Sequence[Array]) -> list[Array]:
    """Return columns, of counts and perhaps of squares, without unknown cases."""
    zero = no_cases(len(columns[0]))
    return [zero if k % 3 == 2 else column for k, column in enumerate(columns)]


def set_fields(value: object, names: Sequence[str], columns: Sequence[Any]) -> None:
    """Set the fields of a frozen value to read-only arrays; squares come last."""
    fixed = [read_only(column) for column in columns]
    for name, column in zip(names, fixed, strict=False):
        object.__setattr__(value, name, column)
    if len(columns) > len(names):
        object.__setattr__(value, "_squares", tuple(fixed[len(names) :]))


def read_only(column: Any) -> Any:
    """Return a view of an array that cannot be written to; others as they are."""
    if not isinstance(column, np.ndarray):
        return column
    view = column.view()
    view.flags.writeable = False
    return view


def align_counts(first: Cases, second: Cases) -> tuple[list[Array], list[Array]]:
    """Return the counts of both; if one is weighted, cases of the other weigh one."""
    if not (first.weighted or second.weighted):
        _columns.check_total_fits(first.n + second.n)
    return _same_kind(first.counts, second.counts)


def _same_kind(
    first: Sequence[Array], second: Sequence[Array]
) -> tuple[list[Array], list[Array]]:
    """Return both as counts, or both as weights and squares if one of them is."""
    if len(first) == len(second) == 3:
        return [*first], [*second]
    return _as_weights(first), _as_weights(second)


def _as_weights(columns: Sequence[Array]) -> list[Array]:
    """Return six columns: a counted case has weight one, whose square is one."""
    weights_and_squares = columns if len(columns) == 6 else (*columns, *columns)
    return [np.asarray(column, np.float64) for column in weights_and_squares]


def same_arrays(first: Sequence[Array], second: Sequence[Array]) -> bool:
    """Return whether these are the same columns."""
    if len(first) != len(second):
        return False
    return all(
        np.array_equal(column, other_column, equal_nan=column.dtype.kind == "f")
        for column, other_column in zip(first, second, strict=True)
    )


def _same_clusters(first: Clusters | None, second: Clusters | None) -> bool:
    if first is None or second is None:
        return first is second
    return first is second or first.same(second)


def _describe_surplus(
    whole: Cases, is_negative: Array, part: Cases, is_stray: Array
) -> str:
    """Return the sentence that says where a part has more cases than the whole.

    ``is_negative`` marks rows of the whole with too few cases, ``is_stray`` rows of the
    part that the whole does not have.
    """
    if is_negative.any():
        outputs = whole._outputs[0][is_negative]
    else:
        outputs = part._outputs[0][is_stray]

    n_cases = f"{int(is_stray.sum() + is_negative.sum()):,}"
    place = f"in {n_cases} rows of outputs, first {outputs[0].tolist()}"
    if outputs.ndim == 1:
        place = f"at {n_cases} scores, first {outputs[0]:.6g}"
        lowest, highest = part._outputs
        if (lowest[is_stray] != highest[is_stray]).any():
            place += " (or its bins are wider than those of a)"

    return (
        "a - b removes cases that were added before; b has more cases than a "
        f"{place}. Is b the part and a the whole?"
    )


def counts_by_name(x: Cases) -> dict[str, Array]:
    """Return the columns by their names in frames and files."""
    return dict(zip((*COUNTS, *SQUARES), x.counts, strict=False))


def count_columns(
    size: int, output: str = "score", **columns_by_name: ArrayLike | None
) -> list[Ints]:
    """Return checked columns of counts, of the size of the output; None is all zero."""
    columns = []
    for name, values in columns_by_name.items():
        if values is None:
            columns.append(no_cases(size))
            continue

        column = np.atleast_1d(_columns.as_array(values, name))
        if column.size == 0:
            column = column.astype(np.int64)
        column = _columns.whole_counts(_columns.one_dimensional(column, name), name)
        _columns.same_length(**{output: np.empty(size), name: column})
        columns.append(column)

    return columns


def with_counts(x: C, columns: Sequence[Array]) -> C:
    """Return the same rows with other counts, and without clusters."""
    changed = with_fields(x, clusters=None, _squares=None)
    for cached_total in ("n_neg", "n_pos", "n_unknown", "equal_cases"):
        vars(changed).pop(cached_total, None)
    set_fields(changed, COUNTS, columns)
    return changed


def with_fields(x: C, **fields: Any) -> C:
    """Return the same counts with other fields."""
    changed = object.__new__(type(x))
    vars(changed).update(vars(x) | fields)
    return changed


def keep_rows(x: C, keep: Array) -> C:
    """Return counts with only the rows to ``keep``, a mask."""
    fields: dict[str, Any] = {
        name: value[keep]
        for name, value in vars(x).items()
        if isinstance(value, np.ndarray)
    }
    if "_high" in fields and np.array_equal(fields["_high"], fields["score"]):
        # no bin is left
        fields["_high"] = None

    columns = [column[keep] for column in x.counts]
    remaining = with_counts(with_fields(x, **fields), columns)
    # the cells of clusters move to the new rows; -1 for rows that are dropped
    new_row = np.where(keep, np.cumsum(keep) - 1, -1)
    return keep_clusters(x, remaining, lambda: new_row)


def change_counts(x: C, change: Callable[[Sequence[Array]], Sequence[Array]]) -> C:
    """Return the same rows with changed counts, also in every cluster."""
    clusters = None if x.clusters is None else x.clusters.change_counts(change)
    return with_fields(with_counts(x, change(x.counts)), clusters=clusters)


def keep_clusters(x: Cases, derived: T, new_row: Callable[[], Array]) -> T:
    """Return derived counts with the clusters and the design of the original ones.

    ``new_row`` returns the new number of each row; it is called if there are clusters.
    """
    if x.design is not PLAIN:
        vars(derived)["design"] = x.design
    if x.clusters is not None:
        vars(derived)["clusters"] = x.clusters.move_rows(new_row())
    return derived


def kish(weight: float, square: float) -> float:
    """Return Kish's effective sample size of weighted cases (Kish 1965).

    >>> kish(6.0, 12.0)  # three cases of weight 2
    3.0
    """
    return weight**2 / square if square > 0 else 0.0


def describe(x: Cases) -> str:
    """Return the numbers of cases in words."""
    cases = how_many(x)
    if x.clusters is not None:
        cases += f" in {x.clusters.number:,} clusters"
    return (
        f"{cases} ({number_of(x.n_neg)} negative, {number_of(x.n_pos)} positive, "
        f"{number_of(x.n_unknown)} unknown)"
    )


def how_many(x: Cases) -> str:
    """Return the number of cases, or their total weight, in words."""
    if x.weighted:
        return f"cases with a total weight of {number_of(x.n)}"
    return counted(x.n, "case")


def headings(x: Cases) -> tuple[str, str]:
    """Return the headings of tables for these counts, and for those of positives."""
    return ("weight", "of positives") if x.weighted else ("cases", "positive")


def units_drawn(x: Cases) -> tuple[int, str]:
    """Return the number of sampled units, and a word for their kind.

    Units are clusters, labelled cases, or the effective number of weighted cases.
    """
    if x.grouped is not None:
        return x.grouped.number, "clustered"
    if x.labels_expected:
        return int(x.n), "labelled or expected"
    if x.weighted:
        square = float(x.squares[0].sum() + x.squares[1].sum())
        return round(kish(float(x.n_pos + x.n_neg), square)), "equally weighted"
    return int(x.n_pos + x.n_neg), "labelled"


def unlabelled_words(x: Cases) -> str:
    """Return the number of cases without a label in words."""
    proportion = f"{number_of(x.n_unknown)} of {number_of(x.n)}"
    if x.weighted:
        return f"Cases with a weight of {proportion}"
    return f"{proportion} cases"


def weighted_counts_note(x: Cases) -> tuple[str, ...]:
    """Return a note that counts are sums of weights, if cases are weighted."""
    if not x.weighted:
        return ()
    return (
        "Cases are weighted, so counts such as flagged are sums of weights. If the "
        "weights add up to the population, flagged <= 500 means 500 people of the "
        "population.",
    )


def assign_clusters(x: Cases, row: Ints, ids: Array, columns: Sequence[Array]) -> None:
    """Set the clusters of new counts, from the row and the cluster of each case."""
    names, code = cluster_names(ids)
    vars(x)["clusters"] = canonical_clusters(names, row, code, columns)


def add_as_clusters(groups: object) -> Any:
    """Add up a mapping from cluster to counts: each key is a cluster."""
    needed = "Clusters need a mapping from cluster to counts without clusters"
    if not isinstance(groups, Mapping) or not groups:
        raise InputError(
            f"{needed}; found {described(groups)}. With arrays or a frame name the "
            "column of the clusters.",
            option="cluster",
            example="COLUMN",
        )

    clustered: list[Cases] = []
    for name, counts in groups.items():
        if not isinstance(counts, Cases) or counts.clusters is not None:
            raise InputError(
                f"{needed}; found {described(counts)} at {name!r}.", option="cluster"
            )
        rows = counts.neg.size
        one_cluster = with_fields(counts)
        ids = np.repeat(np.array([name]), rows)
        assign_clusters(one_cluster, np.arange(rows), ids, counts.counts)
        clustered.append(one_cluster)

    return sum(clustered[1:], clustered[0])


def columns_by_cell(x: Cases, columns: dict[str, Array]) -> dict[str, Array]:
    """Return columns of rows and counts; of clustered cases, one line for each cell."""
    clusters = x.clusters
    if clusters is None:
        return columns | counts_by_name(x)

    outputs = {name: column[clusters.row] for name, column in columns.items()}
    cluster = {"cluster": clusters.names[clusters.code]}
    counts = dict(zip(counts_by_name(x), clusters.counts, strict=True))
    return outputs | cluster | counts


def _clusters_of(x: Cases) -> Clusters:
    assert x.clusters is not None  # noqa: S101 - asked after _both_clustered
    return x.clusters


def _both_clustered(first: Cases, second: Cases) -> bool:
    """Return whether both have clusters; refuse where only one of them has."""
    if first.clusters is not None and second.clusters is not None:
        return True
    if first.clusters is second.clusters:
        return False

    raise InputError(
        "Counts with clusters cannot be added to counts without clusters. Count both "
        "by cluster.",
        option="cluster",
    )
