"""Who read which case by which treatment, and how good was each reader?

All designs (fully crossed, cases or readers nested) are one table: a row per reader and
treatment, a column per case, NaN where a case was not read. An ``Endpoint`` is the AUC,
or a metric at a cut, of such a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import columns as _column_checks
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import listing, places
from trueness._core.imports import handler
from trueness.metrics.algebra import Metric, classes_of
from trueness.metrics.confusion import Confusion
from trueness.metrics.grammar import metric as read_metric


class Readings(NamedTuple):
    """One row per treatment and reader, one column per case."""

    treatments: tuple[str, ...]
    readers: tuple[str, ...]
    treatment: Array  # of each row
    reader: Array  # of each row
    positive: Array  # of each case
    score: Floats  # (rows, cases), NaN where not read
    lost: int = 0  # readings without a score

    @property
    def number(self) -> tuple[int, int]:
        """Count the positive and the negative cases."""
        n_pos = int(self.positive.sum())
        return n_pos, self.positive.size - n_pos

    @property
    def nested_readers(self) -> bool:
        """Does every reader use one treatment only?"""
        # rows are different pairs of reader and treatment
        return len(self.treatments) > 1 and np.bincount(self.reader).max() == 1

    @property
    def design(self) -> str:
        """Name the design in words."""
        read = ~np.isnan(self.score)
        if read.all() and not self.nested_readers:
            return "fully crossed"
        parts = []
        if self.nested_readers:
            parts.append("readers nested within treatments")
        for name, by in (("treatments", self.treatment), ("readers", self.reader)):
            seen = np.array([read[by == k].any(axis=0) for k in np.unique(by)])
            if len(seen) > 1 and (seen.sum(axis=0) <= 1).all():
                parts.append(f"cases nested within {name}")
        if 1 < self.groups < np.bincount(self.treatment).max():
            parts.append(f"{self.groups} groups of readers with cases of their own")
        return ", ".join(parts) or "partly crossed"

    @property
    def groups(self) -> int:
        """Into how many groups without a common case do readers of a treatment fall?"""
        from scipy.sparse.csgraph import connected_components

        read = (~np.isnan(self.score)).astype(np.int64)
        parts = (read[self.treatment == t] for t in range(len(self.treatments)))
        return max(int(connected_components(p @ p.T > 0)[0]) for p in parts)

    @property
    def shares_evenly(self) -> bool:
        """Does every pair of treatments share about as many cases as any other?"""
        read = ~np.isnan(self.score)
        seen = [read[self.treatment == t].any(0) for t in range(len(self.treatments))]
        by = np.array(seen, dtype=np.int64)
        common = (by @ by.T)[np.triu_indices(len(by), 1)]
        return common.size < 2 or bool(2 * common.min() >= common.max())

    def of_treatments(self, at: Sequence[int]) -> Readings:
        """Give the part of the study with these treatments, and the cases read."""
        rows = np.isin(self.treatment, at)
        read = ~np.isnan(self.score[rows]).all(axis=0)
        readers, reader = np.unique(self.reader[rows], return_inverse=True)
        return Readings(
            tuple(self.treatments[t] for t in at),
            tuple(self.readers[r] for r in readers),
            np.searchsorted(at, self.treatment[rows]),
            reader,
            self.positive[read],
            self.score[np.ix_(rows, read)],
        )


ROLES = ("reader", "treatment", "case", "label", "score")


def _columns_read(
    data: object, given: Mapping[str, Any]
) -> tuple[dict[str, Array], int]:
    """Read the five columns, and count the readings without a score, which go."""
    names = {role: given.get(role, role) for role in ROLES}
    named = [n for n in names.values() if isinstance(n, str)]
    found = handler("columns_of")(data, named) if named else {}
    as_array = handler("column")
    columns = {
        role: np.asarray(as_array(found[n] if isinstance(n, str) else n, role))
        for role, n in names.items()
    }
    if len({len(values) for values in columns.values()}) > 1:
        sizes = ", ".join(f"{role} {len(v):,}" for role, v in columns.items())
        raise InputError(
            f"Every reading needs one value in each column; found {sizes}. Pass "
            "columns of the same length."
        )
    score = _column_checks.numeric_scores(columns["score"], "score").astype(np.float64)
    _column_checks.finite_scores(score, "score", allow_nan=True)
    read = ~np.isnan(score)  # a reading without a score was not made
    columns = {k: v[read] for k, v in columns.items()} | {"score": score[read]}
    if not read.any():
        raise NotEnoughCases("reader_study needs readings; these data have none.")
    for role in ROLES[:-1]:
        gone = _column_checks.missing(columns[role])
        if gone.any():
            raise InputError(
                f"Every reading needs a {role}; missing at {places(gone)}. Leave these "
                f"readings out, or complete them."
            )
    return columns, int((~read).sum())


def readings(data: object, given: Mapping[str, Any]) -> Readings:
    """Read who read what; ``given`` maps the roles of columns to these."""
    columns, without = _columns_read(data, given)
    label = _labels(columns["label"], given.get("positive"))
    (readers, r), (treatments, t), (cases, c) = (
        np.unique(_text(columns[k]), return_inverse=True) for k in ROLES[:3]
    )
    truth = np.zeros(cases.size, dtype=bool)
    truth[c] = label
    if (truth[c] != label).any():
        wrong = cases[c[truth[c] != label][0]]
        raise InputError(
            f"Every case has one label; case {wrong} has both. Is the column of cases "
            f"the right one, and are names such as 1.1 and 1.10 read as numbers? Read "
            f"them as text."
        )
    group, row = np.unique(t * readers.size + r, return_inverse=True)
    key = row * cases.size + c
    _, first, count = np.unique(key, return_index=True, return_counts=True)
    if count.max() > 1:
        at, more = first[count > 1][0], int((count > 1).sum()) - 1
        raise InputError(
            f"Each reader may read a case once per treatment; reader {readers[r[at]]} "
            f"has read case {cases[c[at]]} more often with treatment "
            f"{treatments[t[at]]}"
            + (f", and {more:,} more are like that" if more else "")
            + ". Keep one of these readings. Are names such as 1.1 and 1.10 read as "
            "numbers? Read them as text."
        )
    table = np.full((group.size, cases.size), np.nan)
    table[row, c] = columns["score"]
    for k, there in zip(group, ~np.isnan(table), strict=True):
        n_pos, n_neg = ((there & side).sum() for side in (truth, ~truth))
        if min(n_pos, n_neg) < 2:
            raise NotEnoughCases(
                f"Each reader needs two positive and two negative cases per treatment; "
                f"reader {readers[k % readers.size]} has {n_pos} and {n_neg} with "
                f"treatment {treatments[k // readers.size]}."
            )
    return Readings(
        tuple(str(x) for x in treatments),
        tuple(str(x) for x in readers),
        group // readers.size,
        group % readers.size,
        truth,
        table,
        without,
    )


def _text(values: Array) -> Array:
    """Name levels so that they sort as people count: numbers by size, else as text."""
    if values.dtype.kind in "biuf":
        return values
    text = values.astype(str)
    try:
        whole = text.astype(np.int64)
    except ValueError:
        return text
    return whole if (whole.astype(str) == text).all() else text


def _labels(values: Array, positive: object) -> Array:
    if positive is not None:
        found = np.asarray(values == positive)
        if not found.any():
            kinds = set(values.tolist())  # as they are: 1 and "1" are two labels
            raise InputError(
                f"No case has the label {positive!r}; there are {listing(kinds, 5)}."
            )
        return found
    values = _text(values)
    kinds = set(np.unique(values).tolist())
    if not kinds <= {0, 1}:
        raise InputError(
            f"Labels must be 0 and 1; found {listing(kinds, 5)}. Say which one is "
            f'positive: positive="diseased".'
        )
    return np.asarray(values == 1)


class Endpoint(NamedTuple):
    """What is measured, and how it changes when a case is left out."""

    name: str
    value: Callable[[Floats, Floats], float]  # of positives' and negatives' scores
    without: Callable[[Floats, Floats], tuple[Floats, Floats]]  # one case less
    kernel: Callable[[Floats, Floats], Floats]  # value is its mean over pairs
    range: tuple[float, float]
    depends: tuple[bool, bool] = (True, True)  # on positives, on negatives


def endpoint(metric: Metric | str, threshold: float | None) -> Endpoint:
    """Choose the AUC, or a metric at a threshold."""
    if isinstance(metric, str) and metric.lower() in ("auc", "roc_auc"):
        if threshold is not None:
            raise InputError("The AUC has no threshold; leave threshold= out.")
        area = lambda p, q: float(_wins(p, q).mean())  # noqa: E731 - an entry of a record
        return Endpoint("auc", area, _auc_less, _wins, (0.0, 1.0))
    chosen = read_metric(metric)
    if threshold is None:
        raise InputError(
            f'metric={metric!r} needs a threshold. Type threshold=3 for "positive '
            'when the score is at least 3".'
        )
    cut = _options.real_number(threshold, "threshold")
    kernels = {
        "recall": lambda p, q: np.repeat((p >= cut)[:, None] * 1.0, q.size, axis=1),
        "specificity": lambda p, q: np.repeat((q < cut)[None] * 1.0, p.size, axis=0),
    }

    def at(tp: Array, fp: Array, n_pos: int, n_neg: int) -> Floats:
        cells = np.broadcast_arrays(tp, fp, n_pos - tp, n_neg - fp)
        return np.asarray(chosen(Confusion(*cells)), dtype=np.float64)

    def value(p: Floats, q: Floats) -> float:
        return float(at((p >= cut).sum(), (q >= cut).sum(), p.size, q.size))

    def without(p: Floats, q: Floats) -> tuple[Floats, Floats]:
        tp, fp = (p >= cut).sum(), (q >= cut).sum()
        return (
            at(tp - (p >= cut), fp, p.size - 1, q.size),
            at(tp, fp - (q >= cut), p.size, q.size - 1),
        )

    def none(p: Floats, q: Floats) -> Floats:
        raise InputError(
            "Other covariances than the jackknife's are for the AUC, recall and "
            f'specificity; found {name}. Type covariance="jackknife".'
        )

    name, kernel = f"{chosen.name} at {cut:g}", kernels.get(chosen.name, none)
    return Endpoint(name, value, without, kernel, chosen.range, classes_of(chosen))


def _wins(p: Floats, q: Floats) -> Floats:
    """Which positive beats which negative? Ties count one half."""
    return np.asarray((p[:, None] > q) + 0.5 * (p[:, None] == q))


def _auc_less(p: Floats, q: Floats) -> tuple[Floats, Floats]:
    win = _wins(p, q)
    total = win.sum()
    return (
        (total - win.sum(axis=1)) / ((p.size - 1) * q.size),
        (total - win.sum(axis=0)) / (p.size * (q.size - 1)),
    )
