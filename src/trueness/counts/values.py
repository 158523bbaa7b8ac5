"""How many negatives, positives and unknowns showed each output?

Every answer of Trueness is a function of that. A ``Tally`` holds it for one classifier,
a ``Panel`` for several classifiers on the same cases:

    Tally   score (m,)               neg, pos, unknown (m,)
    Panel   names (K,), rows (m, K)  neg, pos, unknown (m,)

Both are canonical: distinct outputs, highest first, no row without a case. Scores are
finite, -0.0 is 0.0, a missing label is *unknown*, a missing output of a panel NaN. Of
weighted cases there are sums of weights and ``squares``. More: ``docs/one_idea.md``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import final, overload

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import DoubtfulAssumptionWarning, InputError
from trueness._core.checks.words import listing
from trueness._core.imports import handler
from trueness.counts.cases import (
    COUNTS,
    Cases,
    Squares,
    by_cell,
    by_name,
    count_columns,
    describe,
    fill,
    keep_clusters,
    put_in_clusters,
    rows_kept,
)
from trueness.counts.design import PLAIN, Design
from trueness.counts.rows import (
    BINS_FORGOTTEN,
    Clusters,
    equal_depth,
    find_rows,
    joined,
    merge_bins,
    merge_rows,
    no_small,
    turned_bins,
)
from trueness.counts.sorting import merge_counts


@final
@dataclass(frozen=True, eq=False, repr=False)
class Tally(Cases):
    """How many negatives, positives and unknowns showed each score?

    Made by :func:`trueness.tally`; the constructor takes rows that are counted already,
    in any order, and brings them into canonical form.

    Attributes
    ----------
    score : array (m,) of float64
        Distinct scores, highest first.
    neg, pos, unknown : array (m,) of int64
        Cases at that score that are negative, positive and without a label.
    high : array (m,) of float64
        The largest score of each row. It equals ``score``, except in a binned tally
        (see :meth:`bin`), whose ``score`` is the smallest score of each bin, so that
        every threshold of the tally is also one of the cases; :func:`trueness.bounds`
        says how much accuracy is lost.

    Examples
    --------
    >>> t = Tally([0.2, 0.9, 0.2], neg=[1, 0, 2], pos=[0, 1, 1])
    >>> t.score, t.neg, t.pos
    (array([0.9, 0.2]), array([0, 3]), array([1, 1]))
    """

    score: Floats
    neg: Ints
    pos: Ints
    unknown: Ints
    _squares: Squares | None = None
    _high: Floats | None = None
    clusters: Clusters | None = None
    design: Design = PLAIN

    def __init__(
        self,
        score: ArrayLike = (),
        neg: ArrayLike | None = None,
        pos: ArrayLike | None = None,
        unknown: ArrayLike | None = None,
        cluster: ArrayLike | None = None,
    ) -> None:
        found = np.atleast_1d(_columns.as_array(score, "score"))
        value = read_output(_columns.one_dimensional(found, "score"))
        columns = count_columns(value.size, neg=neg, pos=pos, unknown=unknown)
        fill(self, ("score", *COUNTS), merge_counts([(value, *columns)]))
        if cluster is not None:
            row = rows_of(self, value)
            put_in_clusters(self, row, _read_clusters(score=value, of=cluster), columns)

    @property
    def high(self) -> Floats:
        """What is the largest score of each row? It differs from ``score`` in a bin."""
        return self.score if self._high is None else self._high

    @property
    def binned(self) -> bool:
        """Does a row hold cases of more than one score?"""
        return self._high is not None

    @property
    def plain(self) -> bool:
        """Are these independent cases, neither weighted nor binned, as they came?"""
        parts = (self._high, self._squares, self.clusters)
        return all(part is None for part in parts) and self.design == PLAIN

    def bin(self, at_most: int) -> Tally:
        """Put neighbouring rows together into at most ``at_most`` bins of equal size.

        >>> t = Tally([4, 3, 2, 1], neg=[0, 1, 0, 1], pos=[1, 0, 1, 0]).bin(2)
        >>> t.score, t.high, t.neg, t.pos
        (array([3., 1.]), array([4., 2.]), array([1, 1]), array([1, 1]))
        """
        at_most = _options.whole_number(at_most, "at_most", at_least=1)
        if len(self) <= at_most:
            return self
        return _in_bins(self, equal_depth(np.add.reduce(self.counts[:3]), at_most))

    def suppress_small_counts(self, at_least: int = 11) -> Tally:
        """Give counts without small ones, to be sent to others.

        Neighbouring rows are put together into bins whose numbers of negatives,
        positives and unknowns are each zero or ``at_least``; the ``limits`` of an
        answer say what the order lost in the bins can cost. The ends of a bin are
        scores of cases; round scores first if these must not be known.

        Parameters
        ----------
        at_least
            The smallest number of cases that may be told; of weighted cases Kish's
            number of equal cases, of which there are at least as many.

        Examples
        --------
        >>> t = Tally([4, 3, 2, 1], neg=[0, 1, 3, 9], pos=[6, 0, 2, 0])
        >>> t = t.suppress_small_counts(2)
        >>> t.score, t.high, t.neg, t.pos
        (array([4., 2., 1.]), array([4., 3., 1.]), array([0, 4, 9]), array([6, 2, 0]))
        """
        at_least = _options.whole_number(at_least, "at_least", at_least=1)
        if self.grouped is not None:
            raise InputError(
                "Counts by cluster tell the cases of single clusters, however they are "
                "put together. Type t.without_clusters().suppress_small_counts(...). "
                "Intervals from these counts are then too narrow, since they take "
                "cases as independent."
            )
        return _in_bins(self.without_clusters(), no_small(self.counts, at_least))

    def __len__(self) -> int:
        """How many distinct scores?"""
        return self.score.size

    @property
    def _outputs(self) -> tuple[Floats, ...]:
        return self.score, self.high

    def _merged(self, other: Tally, columns: Sequence[Sequence[Array]]) -> Tally:
        parts = [(t.score, *c) for t, c in zip((self, other), columns, strict=True)]
        if not (self.binned or other.binned):
            return tally_of_rows(*merge_counts(parts))
        low, *counts = (np.concatenate(c) for c in zip(*parts, strict=True))
        high = np.concatenate([self.high, other.high])
        return tally_of_bins(*merge_bins(low, high, counts))

    def _find(self, other: Tally) -> tuple[Ints, Array]:
        at = rows_of(self, other.score)
        row = np.minimum(at, max(len(self) - 1, 0))
        if not len(self):
            return row, np.zeros(row.size, dtype=bool)
        inside = (other.score >= self.score[row]) & (other.high <= self.high[row])
        return row, (at < len(self)) & inside

    def map(
        self, f: Callable[[Floats], ArrayLike], *, monotone: bool | None = None
    ) -> Tally:
        """Replace all scores: ``f`` takes the scores (m,) and gives the new ones (m,).

        This is how a calibration map is applied. Scores that ``f`` makes equal share a
        row. The bins of a binned tally are kept if ``f`` never falls or never rises.
        The maps of Trueness say so themselves; for other functions pass
        ``monotone=True``. Otherwise the bins are dropped, with a warning.
        """
        new = _mapped(f, self.score)
        keep = getattr(f, "monotone", False) if monotone is None else monotone
        if self.binned and not keep:
            warnings.warn(BINS_FORGOTTEN, DoubtfulAssumptionWarning, stacklevel=2)
        if not (self.binned and keep):
            return rescored(self, new)
        ends = read_output(np.concatenate([new, _mapped(f, self.high)]))
        made = tally_of_bins(*turned_bins(ends, self.counts))
        return keep_clusters(self, made, lambda: rows_of(made, new + 0.0))

    @property
    def named_columns(self) -> dict[str, Array]:
        """The arrays by name, as in frames and files; cluster by cluster."""
        columns = by_cell(self, {"score": self.score, "high": self.high})
        if not self.binned:
            del columns["high"]
        return columns

    def write(self, path: str | PathLike[str]) -> None:
        """Write to a file, all or nothing; ``trueness.read_tally`` reads it.

        By its ending CSV (``.csv``), JSON (``.json``), or Parquet; ``docs/counts.md``
        is the specification.
        """
        handler("write_tally")(self, path)

    def __repr__(self) -> str:
        """Say what was counted, in one line."""
        rows = "bins of scores" if self.binned else "distinct scores"
        text = f"Tally: {describe(self)}, {len(self):,} {rows}"
        if len(self):
            text += f" from {self.score[-1]:.4g} to {self.high[0]:.4g}"
        return text


@final
@dataclass(frozen=True, eq=False, repr=False)
class Panel(Cases):
    """How many negatives, positives and unknowns showed each row of outputs?

    Made by :func:`trueness.panel`; the constructor takes rows that are counted already,
    in any order, and brings them into canonical form.

    Attributes
    ----------
    names : tuple of str (K,)
        The classifiers.
    rows : array (m, K) of float64
        Distinct rows of outputs, in descending order; NaN where a classifier gave none.
    neg, pos, unknown : array (m,) of int64
        Cases with that row that are negative, positive and without a label.

    Examples
    --------
    >>> p = Panel(["A", "B"], [[1, 0], [0, 0], [1, 0]], pos=[1, 0, 2], neg=[0, 5, 0])
    >>> p.rows, p.pos
    (array([[1., 0.],
           [0., 0.]]), array([3, 0]))
    >>> p["A"].score
    array([1., 0.])
    """

    names: tuple[str, ...]
    rows: Floats
    neg: Ints
    pos: Ints
    unknown: Ints
    _squares: Squares | None = None
    clusters: Clusters | None = None
    design: Design = PLAIN

    def __init__(
        self,
        names: Sequence[str],
        rows: ArrayLike,
        neg: ArrayLike | None = None,
        pos: ArrayLike | None = None,
        unknown: ArrayLike | None = None,
        cluster: ArrayLike | None = None,
    ) -> None:
        names = _columns.distinct_names(names, "names")
        value = _columns.as_array(rows, "rows")
        if value.size == 0 and names:
            value = value.reshape(-1, len(names))
        if value.ndim != 2 or value.shape[1] != len(names) or not names:
            raise InputError(
                f"rows must have one column per name, shape (m, {len(names)}); "
                f"found shape {value.shape}."
            )
        value = np.column_stack(
            [read_output(value[:, k], n, gone=True) for k, n in enumerate(names)]
        )
        columns = count_columns(len(value), neg=neg, pos=pos, unknown=unknown)
        fill(self, ("names", "rows", *COUNTS), (names, *merge_rows(value, columns)))
        if cluster is not None:
            row = find_rows(value, self.rows)
            put_in_clusters(self, row, _read_clusters(rows=value, of=cluster), columns)

    def __len__(self) -> int:
        """How many distinct rows?"""
        return len(self.rows)

    @property
    def _outputs(self) -> tuple[Floats, ...]:
        return (self.rows,)

    def _aligned(self, other: Panel, done: str) -> Panel:
        if set(self.names) != set(other.names):
            raise InputError(
                f"Panels can be {done} when they hold the same classifiers; found "
                f"{listing(self.names)} and {listing(other.names)}. Choose the common "
                f'ones: panel[["a", "b"]].'
            )
        return other if self.names == other.names else other[list(self.names)]

    def _merged(self, other: Panel, columns: Sequence[Sequence[Array]]) -> Panel:
        rows = np.concatenate([self.rows, other.rows])
        counts = [np.concatenate(pair) for pair in zip(*columns, strict=True)]
        return panel_of_rows(self.names, *merge_rows(rows, counts))

    def _find(self, other: Panel) -> tuple[Ints, Array]:
        row = find_rows(other.rows, self.rows)
        return row, row >= 0

    @overload
    def __getitem__(self, name: str) -> Tally: ...
    @overload
    def __getitem__(self, name: list[str]) -> Panel: ...
    def __getitem__(self, name: str | list[str]) -> Tally | Panel:
        """Forget the other classifiers: a name gives a Tally, a list a Panel."""
        if isinstance(name, list):
            if tuple(name) == self.names:
                return self
            at = [self._column(n) for n in _columns.distinct_names(name, "names")]
            return _with_rows(self, self.rows[:, at], tuple(name))
        output = self.rows[:, self._column(name)]
        gone = np.isnan(output)
        if gone.any():
            cases = np.add.reduce(self.counts[:3])[gone].sum().item()
            raise InputError(
                f"A tally needs an output for every case; {name!r} has none for "
                f'{cases:,} of {self.n:,} cases. Pass missing="drop" to leave '
                f"them out, or give them a score. A panel that is counted has them in "
                f"panel.observed({name!r})[{name!r}]."
            )
        return rescored(self, output)

    def __iter__(self) -> Iterator[str]:
        """Walk through the names, as with a mapping."""
        return iter(self.names)

    def _column(self, name: str) -> int:
        return self.names.index(_columns.column(name, self.names, "name"))

    def observed(self, *names: str) -> Panel:
        """Keep the cases for which all these classifiers (default: all) gave output."""
        at = [self._column(n) for n in names or self.names]
        gone = np.asarray(np.isnan(self.rows[:, at]).any(axis=1))
        return rows_kept(self, ~gone)

    def vote(self, thresholds: float | Mapping[str, float] | Sequence[float]) -> Panel:
        """Turn scores to votes: 1 where ``score >= threshold``, else 0; NaN stays NaN.

        One threshold for all, one per name, or a sequence in the order of the names.
        """
        if isinstance(thresholds, Mapping):
            for name in thresholds:
                self._column(name)
            lacking = [n for n in self.names if n not in thresholds]
            if lacking:
                raise InputError(
                    f"panel.vote needs a threshold for every classifier; none for "
                    f"{listing(lacking)}."
                )
            thresholds = [thresholds[n] for n in self.names]
        cut = _columns.as_floats(thresholds, "A threshold of panel.vote")
        if cut.ndim > 1 or (cut.ndim == 1 and cut.size != len(self.names)):
            raise InputError(
                f"panel.vote needs one threshold, or one for each of "
                f"{listing(self.names)}; found shape {cut.shape}."
            )
        if np.isnan(cut).any():
            raise InputError("A threshold of panel.vote must be a number; found NaN.")
        votes = np.where(np.isnan(self.rows), np.nan, self.rows >= cut)
        return _with_rows(self, votes, self.names)

    def combine(self, f: Callable[[Floats], ArrayLike]) -> Tally:
        """Score each row: ``f`` takes the rows (m, K) and gives (m,) scores."""
        score = _options.array_of(f, self.rows, "panel.combine")
        if score.shape != (len(self),):
            raise InputError(
                f"The function of panel.combine must give one score per row, shape "
                f"({len(self)},); it gave shape {score.shape}."
            )
        return rescored(self, score)

    @property
    def named_columns(self) -> dict[str, Array]:
        """The arrays by name, as in a frame; see :attr:`Tally.named_columns`."""
        columns: dict[str, Array] = dict(zip(self.names, self.rows.T, strict=True))
        clash = set(columns) & {*by_name(self), "cluster"}
        if clash:
            raise InputError(
                f"A frame of this panel would have two columns named {listing(clash)}. "
                f"Rename the classifier."
            )
        return by_cell(self, columns)

    def _shown(self) -> list[tuple[str, Array]]:  # the names may be those of counts
        return [*zip(self.names, self.rows.T, strict=True), *by_name(self).items()]

    def write(self, path: str | PathLike[str]) -> None:
        """Write to a Parquet file, all or nothing; ``trueness.read_panel`` reads it."""
        handler("write_panel")(self, path)

    def __repr__(self) -> str:
        """Say what was counted, in one line."""
        return (
            f"Panel of {', '.join(self.names)}: {describe(self)}, "
            f"{len(self):,} distinct rows"
        )


def rows_of(t: Tally, score: Array) -> Ints:
    """Find the row, or the bin, that holds each of these scores."""
    return np.searchsorted(-t.score, -score)


def _with_rows(panel: Panel, rows: Floats, names: tuple[str, ...]) -> Panel:
    """Put the cases of a panel at other rows."""
    made = panel_of_rows(names, *merge_rows(rows, panel.counts))
    return keep_clusters(panel, made, lambda: find_rows(rows, made.rows))


def _in_bins(t: Tally, start: Ints) -> Tally:
    made = tally_of_bins(*joined(start, t.score, t.high, t.counts))
    return keep_clusters(t, made, lambda: rows_of(made, t.score))


def _read_clusters(of: ArrayLike, **beside: Array) -> Array:
    ids = np.atleast_1d(_columns.as_array(of, "cluster"))
    _columns.same_length(**beside, cluster=ids)
    return ids


def rescored(x: Tally | Panel, new: Array) -> Tally:
    """Put the cases of each row at a new score."""
    score = read_output(new)
    made = tally_of_sums(score, x.counts)
    return keep_clusters(x, made, lambda: rows_of(made, score))


def _mapped(f: Callable[[Floats], ArrayLike], score: Floats) -> Array:
    new: Array = _options.array_of(f, score, "tally.map")
    if new.shape != score.shape:
        raise InputError(
            f"The function of tally.map must give one score per score, shape "
            f"{score.shape}; it gave shape {new.shape}."
        )
    return new


def read_output(values: Array, name: str = "score", *, gone: bool = False) -> Floats:
    """Read a column of scores; where outputs may be ``gone`` there is NaN."""
    numbers = _columns.numeric_scores(values, name).astype(np.float64)
    return _columns.finite_scores(numbers, name, allow_nan=gone) + 0.0


def tally_of_rows(*columns: Array) -> Tally:
    """Make a tally of columns in canonical form: score, then 3 or 6."""
    made = object.__new__(Tally)
    fill(made, ("score", *COUNTS), columns)
    return made


def tally_of_sums(score: Floats, columns: Sequence[Array]) -> Tally:
    """Make a tally of rows in any order; scores are finite, without -0.0."""
    return tally_of_rows(*merge_counts([(score, *columns)]))


def tally_of_bins(low: Floats, high: Floats, counts: Sequence[Ints]) -> Tally:
    """Make a tally of bins that are in order and do not overlap."""
    made = tally_of_rows(low, *counts)
    if low is not high and not np.array_equal(low, high):
        fill(made, ("_high",), (high,))
    return made


def panel_of_rows(names: tuple[str, ...], *columns: Array) -> Panel:
    """Make a panel of columns in canonical form: rows, then 3 or 6."""
    made = object.__new__(Panel)
    fill(made, ("names", "rows", *COUNTS), (names, *columns))
    return made
