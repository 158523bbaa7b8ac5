"""How many negatives, positives and unknowns showed each output?

Every answer of Trueness is a function of these counts. A ``Tally`` holds them for one
classifier, a ``Panel`` for several classifiers on the same cases:

    Tally   score (m,)               neg, pos, unknown (m,)
    Panel   names (K,), rows (m, K)  neg, pos, unknown (m,)

Both are canonical: distinct outputs, highest first, no row without a case. Scores are
finite, -0.0 is 0.0, a missing label is *unknown*, a missing output of a panel NaN. Of
weighted cases there are sums of weights and ``squares``. More: ``docs/one_idea.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, final, overload

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import (
    DoubtfulAssumptionWarning,
    InputError,
    PythonCode,
)
from trueness._core.checks.words import described, listing, nearest
from trueness._core.imports import HigherFunction
from trueness._core.progress import stop_if_requested
from trueness._core.warn import warn_user
from trueness.counts.bins import (
    BINS_FORGOTTEN,
    equal_depth_starts,
    join_into_bins,
    map_bins,
    merge_bins,
    starts_without_small_counts,
)
from trueness.counts.cases import (
    COUNTS,
    Cases,
    Squares,
    assign_clusters,
    columns_by_cell,
    count_columns,
    counts_by_name,
    describe,
    keep_clusters,
    keep_rows,
    set_fields,
)
from trueness.counts.clusters import Clusters
from trueness.counts.design import PLAIN, Design
from trueness.counts.rows import find_rows, merge_rows
from trueness.counts.sorting import merge_counts

# files of counts are written above
_Path = str | PathLike[str]
WRITE_TALLY: HigherFunction[Callable[[Tally, _Path], None]] = HigherFunction(
    "write_tally"
)
EXPECTED_PANEL: HigherFunction[Callable[..., Any]] = HigherFunction("expected_panel")
WRITE_PANEL: HigherFunction[Callable[[Panel, _Path], None]] = HigherFunction(
    "write_panel"
)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Tally(Cases):
    """Counts of negatives, positives and unknowns for each score.

    :func:`trueness.tally` returns it; the constructor takes counted rows in any order,
    and brings them into canonical form.

    Attributes
    ----------
    score : array (m,) of float64
        Distinct scores, highest first.
    neg, pos, unknown : array (m,) of int64
        Cases at that score that are negative, positive and without a label.
    high : array (m,) of float64
        The largest score of each row. It equals ``score``, except in a binned tally
        (see :meth:`bin`), whose ``score`` is the smallest score of each bin. So every
        threshold of the tally is also one of the cases. :func:`trueness.bounds` says
        how much accuracy is lost.

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
        scores = np.atleast_1d(_columns.as_array(score, "score"))
        scores = read_output(_columns.one_dimensional(scores, "score"))
        columns = count_columns(scores.size, neg=neg, pos=pos, unknown=unknown)
        set_fields(self, ("score", *COUNTS), merge_counts([(scores, *columns)]))
        if cluster is not None:
            ids = _read_clusters(cluster, score=scores)
            assign_clusters(self, rows_of(self, scores), ids, columns)

    @property
    def high(self) -> Floats:
        """Return the largest score of each row: in a bin, it is not ``score``."""
        return self.score if self._high is None else self._high

    @property
    def binned(self) -> bool:
        """Return whether a row holds cases of more than one score."""
        return self._high is not None

    @property
    def plain(self) -> bool:
        """Return whether cases are a simple sample, without weights or bins."""
        if self.binned or self.weighted or self.clusters is not None:
            return False
        return self.design == PLAIN

    def _check_one_score(self) -> None:
        if self.binned:
            raise InputError(_MAP_NEEDS_SCORES, option="at_most")

    def bin(self, at_most: int) -> Tally:
        """Return neighbouring rows merged into at most ``at_most`` bins of equal size.

        >>> t = Tally([4, 3, 2, 1], neg=[0, 1, 0, 1], pos=[1, 0, 1, 0]).bin(2)
        >>> t.score, t.high, t.neg, t.pos
        (array([3., 1.]), array([4., 2.]), array([1, 1]), array([1, 1]))
        """
        at_most = _options.whole_number(at_most, "at_most", at_least=1)
        if len(self) <= at_most:
            return self
        if self.labels_expected:
            raise InputError(_MAP_NEEDS_SCORES, option="at_most")
        cases = np.add.reduce(self.counts[:3])
        return _bin_rows(self, equal_depth_starts(cases, at_most))

    def suppress_small_counts(self, at_least: int = 11) -> Tally:
        """Return counts without small ones, to be sent to others.

        Neighbouring rows are merged into bins whose numbers of negatives, positives and
        unknowns are each zero or ``at_least``. The ``bounds`` of an answer show the
        effect of the order lost in the bins. The ends of a bin are scores of cases;
        round scores first if these must stay private.

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
                "Counts by cluster would reveal the cases of single clusters. "
                "Without clusters the intervals would be too narrow, since they "
                "assume independent cases.",
                example=PythonCode("t.without_clusters().suppress_small_counts(...)"),
            )

        starts = starts_without_small_counts(self.counts, at_least)
        return _bin_rows(self.without_clusters(), starts)

    def __len__(self) -> int:
        """Return the number of distinct scores."""
        return self.score.size

    @property
    def _outputs(self) -> tuple[Floats, ...]:
        return self.score, self.high

    def _merged(self, other: Tally, columns: Sequence[Sequence[Array]]) -> Tally:
        """Return the counts of both; ``columns`` are those of each, of one kind."""
        own_counts, other_counts = columns
        if not (self.binned or other.binned):
            parts = [(self.score, *own_counts), (other.score, *other_counts)]
            return tally_of_rows(*merge_counts(parts))

        low = np.concatenate([self.score, other.score])
        high = np.concatenate([self.high, other.high])
        counts = [np.concatenate(pair) for pair in zip(*columns, strict=True)]
        return tally_of_bins(*merge_bins(low, high, counts))

    def _find(self, other: Tally) -> tuple[Ints, Array]:
        """Return the row that holds each row of another, and whether there is one."""
        position = rows_of(self, other.score)
        row = np.minimum(position, max(len(self) - 1, 0))
        if not len(self):
            return row, np.zeros(row.size, dtype=bool)
        # a row may be a bin: it must reach as low and as high as the other
        inside = (other.score >= self.score[row]) & (other.high <= self.high[row])
        return row, (position < len(self)) & inside

    def map(
        self, f: Callable[[Floats], ArrayLike], *, monotone: bool | None = None
    ) -> Tally:
        """Return the tally with other scores: ``f`` maps scores (m,) to new ones (m,).

        A calibration map is applied in this way. Scores that ``f`` makes equal share a
        row. The bins of a binned tally are kept if ``f`` is monotone.
        The maps of Trueness say so themselves; for other functions pass
        ``monotone=True``. Otherwise the bins are dropped, with a warning.
        """
        _check_scores_kept(self)
        new_score = _map_scores(f, self.score)
        if monotone is None:
            monotone = getattr(f, "monotone", False)
        if not self.binned:
            return rescore(self, new_score)
        if not monotone:
            warn_user(BINS_FORGOTTEN, DoubtfulAssumptionWarning)
            return rescore(self, new_score)

        low = read_output(new_score)
        high = read_output(_map_scores(f, self.high))
        mapped = tally_of_bins(*map_bins(low, high, self.counts))
        return keep_clusters(self, mapped, lambda: rows_of(mapped, low))

    @property
    def named_columns(self) -> dict[str, Array]:
        """The arrays by name, as in frames and files; cluster by cluster."""
        columns = columns_by_cell(self, {"score": self.score, "high": self.high})
        if not self.binned:
            del columns["high"]
        return columns

    def write(self, path: str | PathLike[str]) -> None:
        """Write to a file, all or nothing; ``trueness.read_tally`` reads it.

        By its ending CSV (``.csv``), JSON (``.json``), or Parquet; ``docs/counts.md``
        is the specification.
        """
        WRITE_TALLY.load()(self, path)

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
    """Counts of negatives, positives and unknowns for each row of outputs.

    :func:`trueness.panel` returns it; the constructor takes counted rows in any order,
    and brings them into canonical form.

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
                f"found shape {value.shape}.",
                option="rows",
            )

        value = np.column_stack(
            [
                read_output(value[:, k], name, allow_missing=True)
                for k, name in enumerate(names)
            ]
        )

        columns = count_columns(len(value), neg=neg, pos=pos, unknown=unknown)
        merged = merge_rows(value, columns)
        set_fields(self, ("names", "rows", *COUNTS), (names, *merged))
        if cluster is not None:
            ids = _read_clusters(cluster, rows=value)
            assign_clusters(self, find_rows(value, self.rows), ids, columns)

    def __len__(self) -> int:
        """Return the number of distinct rows."""
        return len(self.rows)

    @property
    def _outputs(self) -> tuple[Floats, ...]:
        return (self.rows,)

    def _check_one_score(self) -> None:
        """Stop at a map of labels: a panel has several scores."""
        raise InputError(
            "A calibration map gives the probability of a label from one score; "
            f"found the scores of {listing(self.names)}. Labels expected from one "
            "score would favour that score in a comparison. Choose one score.",
            example=PythonCode(f"panel[{self.names[0]!r}].with_design(unlabelled=map)"),
        )

    def _aligned(self, other: Panel, done: str) -> Panel:
        """Return the other panel with its columns in the order of this one."""
        if set(self.names) != set(other.names):
            raise InputError(
                f"Panels can be {done} when they hold the same classifiers; found "
                f"{listing(self.names)} and {listing(other.names)}. Choose the common "
                "ones.",
                example=PythonCode('panel[["a", "b"]]'),
            )
        return other if self.names == other.names else other[list(self.names)]

    def _merged(self, other: Panel, columns: Sequence[Sequence[Array]]) -> Panel:
        """Return the counts of both; ``columns`` are those of each, of one kind."""
        rows = np.concatenate([self.rows, other.rows])
        counts = [np.concatenate(pair) for pair in zip(*columns, strict=True)]
        return panel_of_rows(self.names, *merge_rows(rows, counts))

    def _find(self, other: Panel) -> tuple[Ints, Array]:
        """Return the row that holds each row of another, and whether there is one."""
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
            names = _columns.distinct_names(name, "names")
            columns = [self._column(one_name) for one_name in names]
            return with_rows(self, self.rows[:, columns], tuple(name))

        output = self.rows[:, self._column(name)]
        missing = np.isnan(output)
        if missing.any():
            cases = np.add.reduce(self.counts[:3])[missing].sum().item()
            raise InputError(
                f"{name!r} has no score for {cases:,} of {self.n:,} cases, and one is "
                "needed for every case. Give these cases a score, or leave them out.",
                option="missing_scores",
                example="drop",
            )
        return rescore(self, output)

    def __iter__(self) -> Iterator[str]:
        """Walk through the names, as with a mapping."""
        return iter(self.names)

    def _column(self, name: str) -> int:
        """Return the position of a classifier among the columns."""
        if isinstance(name, str) and name in self.names:
            return self.names.index(name)
        raise InputError(
            f"There is no classifier {described(name)}.{nearest(name, self.names)}",
            choices=self.names,
        )

    def complete_cases(self, *names: str) -> Panel:
        """Return the cases with an output of all these classifiers (default: all)."""
        columns = [self._column(name) for name in names or self.names]
        missing = np.asarray(np.isnan(self.rows[:, columns]).any(axis=1))
        return keep_rows(self, ~missing)

    def vote(self, thresholds: float | Mapping[str, float] | Sequence[float]) -> Panel:
        """Return votes: 1 where ``score >= threshold``, else 0; NaN stays NaN.

        One threshold for all, one per name, or a sequence in the order of the names. A
        threshold may be a number, a :class:`trueness.Rule`, or an answer that holds one
        such as that of :func:`trueness.best_threshold`.
        """
        if isinstance(thresholds, Mapping):
            thresholds = self._thresholds_in_order(thresholds)
        if isinstance(thresholds, (list, tuple)):
            cuts = [_plain_threshold(threshold) for threshold in thresholds]
        else:
            cuts = _plain_threshold(thresholds)

        cut = _columns.as_floats(cuts, "A threshold of panel.vote")
        if cut.ndim > 1 or (cut.ndim == 1 and cut.size != len(self.names)):
            raise InputError(
                f"panel.vote needs one threshold, or one for each of "
                f"{listing(self.names)}; found shape {cut.shape}.",
                option="thresholds",
            )
        if np.isnan(cut).any():
            raise InputError(
                "A threshold of panel.vote must be a number; found NaN.",
                option="thresholds",
            )

        votes = np.where(np.isnan(self.rows), np.nan, self.rows >= cut)
        return with_rows(self, votes, self.names)

    def _thresholds_in_order(self, thresholds: Mapping[str, float]) -> list[float]:
        """Return the thresholds in the order of the names; each must have one."""
        for name in thresholds:
            self._column(name)  # an unknown name is an error

        without_threshold = [name for name in self.names if name not in thresholds]
        if without_threshold:
            raise InputError(
                "panel.vote needs a threshold for every classifier; found none for "
                f"{listing(without_threshold)}.",
                option="thresholds",
            )

        return [thresholds[name] for name in self.names]

    def combine(self, f: Callable[[Floats], ArrayLike]) -> Tally:
        """Return a tally of combined scores: ``f`` maps rows (m, K) to scores (m,)."""
        score = _options.array_of(f, self.rows, "panel.combine")
        if score.shape != (len(self),):
            raise InputError(
                "The function of panel.combine must return one score per row, shape "
                f"({len(self)},); it returned shape {score.shape}."
            )
        return rescore(self, score)

    def expected(
        self,
        posterior: object,
        *,
        dependence: str | None = None,
        target: str = "process",
    ) -> Any:
        """Return the panel with labels expected from all outputs, by a fitted model.

        It needs no label, or few of them.

        ``p.expected(trueness.latent_class(p))["A"]`` is a tally with expected labels,
        for AUC, metrics, thresholds and curves. Without labels there is an interval and
        no value, unless independent errors are stated.

        Parameters
        ----------
        posterior
            Of :func:`trueness.latent_class`, or a fit of :func:`trueness.fidel` with
            ``labels="none"``.
        dependence
            ``"none"``: errors are assumed to be independent, and the answer says so.
        target
            ``"process"`` or ``"these cases"``, as in :class:`trueness.ExpectedLabels`.
        """
        return EXPECTED_PANEL.load()(self, posterior, dependence, target)

    @property
    def named_columns(self) -> dict[str, Array]:
        """The arrays by name, as in a frame; see :attr:`Tally.named_columns`."""
        columns: dict[str, Array] = dict(zip(self.names, self.rows.T, strict=True))
        clash = set(columns) & {*counts_by_name(self), "cluster"}
        if clash:
            raise InputError(
                f"A frame of this panel would have two columns named {listing(clash)}. "
                f"Rename the classifier."
            )
        return columns_by_cell(self, columns)

    def _shown(self) -> list[tuple[str, Array]]:  # the names may be those of counts
        return [
            *zip(self.names, self.rows.T, strict=True),
            *counts_by_name(self).items(),
        ]

    def write(self, path: str | PathLike[str]) -> None:
        """Write to a Parquet file, all or nothing; ``trueness.read_panel`` reads it."""
        WRITE_PANEL.load()(self, path)

    def __repr__(self) -> str:
        """Say what was counted, in one line."""
        return (
            f"Panel of {', '.join(self.names)}: {describe(self)}, "
            f"{len(self):,} distinct rows"
        )


_MAP_NEEDS_SCORES = (
    "A map of expected labels needs the score of each case, but bins hold several "
    "scores. Leave at_most or unlabelled out."
)


def rows_of(t: Tally, score: Array) -> Ints:
    """Return the row, or the bin, that holds each of these scores."""
    return np.searchsorted(-t.score, -score)


def with_rows(panel: Panel, rows: Floats, names: tuple[str, ...]) -> Panel:
    """Return a panel with the cases of each row at another row of outputs."""
    moved = panel_of_rows(names, *merge_rows(rows, panel.counts))
    return keep_clusters(panel, moved, lambda: find_rows(rows, moved.rows))


def _bin_rows(t: Tally, start: Ints) -> Tally:
    """Return a tally with neighbouring rows merged into bins."""
    binned = tally_of_bins(*join_into_bins(start, t.score, t.high, t.counts))
    return keep_clusters(t, binned, lambda: rows_of(binned, t.score))


def _read_clusters(cluster: ArrayLike, **outputs: Array) -> Array:
    """Return the cluster of each row, checked against the length of the outputs."""
    ids = np.atleast_1d(_columns.as_array(cluster, "cluster"))
    _columns.same_length(**outputs, cluster=ids)
    return ids


def rescore(x: Tally | Panel, new_score: Array) -> Tally:
    """Return a tally with the cases of each row at a new score."""
    _check_scores_kept(x)
    score = read_output(new_score)
    moved = tally_of_sums(score, x.counts)
    return keep_clusters(x, moved, lambda: rows_of(moved, score))


def _check_scores_kept(x: Tally | Panel) -> None:
    """Stop where a map of expected labels needs the scores as they are."""
    if x.labels_expected and isinstance(x, Tally):
        raise InputError(
            "The map of expected labels belongs to the original scores. Replace the "
            "scores first, then set unlabelled to a map of the new scores.",
            option="unlabelled",
        )


def _map_scores(f: Callable[[Floats], ArrayLike], score: Floats) -> Array:
    """Return the new score that a function assigns to each score."""
    new_score: Array = _options.array_of(f, score, "tally.map")
    if new_score.shape != score.shape:
        raise InputError(
            "The function of tally.map must return one score per score, shape "
            f"{score.shape}; it returned shape {new_score.shape}."
        )
    return new_score


def read_output(
    values: Array, name: str = "score", *, allow_missing: bool = False
) -> Floats:
    """Read a column of scores; a missing output is NaN where it is allowed."""
    stop_if_requested()
    numbers = _columns.numeric_scores(values, name).astype(np.float64)
    # -0.0 becomes 0.0
    return _columns.finite_scores(numbers, name, allow_nan=allow_missing) + 0.0


def tally_of_rows(*columns: Array) -> Tally:
    """Return a tally of columns in canonical form: score, then 3 or 6."""
    tally = object.__new__(Tally)
    set_fields(tally, ("score", *COUNTS), columns)
    return tally


def tally_of_sums(score: Floats, columns: Sequence[Array]) -> Tally:
    """Return a tally of rows in any order; scores are finite, without -0.0."""
    return tally_of_rows(*merge_counts([(score, *columns)]))


def tally_of_bins(low: Floats, high: Floats, counts: Sequence[Ints]) -> Tally:
    """Return a tally of bins that are in order and do not overlap."""
    tally = tally_of_rows(low, *counts)
    if low is not high and not np.array_equal(low, high):
        set_fields(tally, ("_high",), (high,))
    return tally


def panel_of_rows(names: tuple[str, ...], *columns: Array) -> Panel:
    """Return a panel of columns in canonical form: rows, then 3 or 6."""
    panel = object.__new__(Panel)
    set_fields(panel, ("names", "rows", *COUNTS), (names, *columns))
    return panel


def holds_tests(x: Tally | Panel) -> bool:
    """Return whether all outputs are verdicts of tests (0 or 1) instead of scores."""
    if isinstance(x, Tally) and x.score.size > 2:
        return False

    outputs = x.score if isinstance(x, Tally) else x.rows
    known_outputs = outputs[~np.isnan(outputs)]
    # the first rows mostly decide, so that the others need not be read
    if known_outputs.size == 0 or not np.isin(known_outputs[:10], (0.0, 1.0)).all():
        return False
    return bool(np.isin(known_outputs, (0.0, 1.0)).all())


def holds_readings(x: Tally) -> bool:
    """Return whether the scores are ordinal: 3 to 11 whole numbers, such as 1 to 5."""
    return 3 <= x.score.size <= 11 and bool((x.score == np.floor(x.score)).all())


def _plain_threshold(threshold: Any) -> Any:
    """Return the threshold as a number: of a rule, of an answer, or of an estimate."""
    # rules cannot be imported here, so they are recognised by their attributes
    rule = getattr(threshold, "rule", threshold)
    if not hasattr(rule, "cuts"):
        return getattr(rule, "value", rule)
    if rule.groups or rule.defers:
        raise InputError(
            "panel.vote needs one threshold for each classifier; found a rule "
            "for groups, or one that defers cases.",
            option="thresholds",
        )

    # the lower threshold of a rule that defers nothing is the same
    _, upper = rule.cuts()
    return upper
