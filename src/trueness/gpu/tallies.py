"""Counts of the cases of each class at each distinct score, made on the device.

``device_tally`` sorts once. The class of a case travels in the last bits of its key,
so that one sort of whole numbers puts both in order; float64 keys have no bits to
spare, and the classes follow by the places that the sort gives. A run of equal keys is
one distinct score, and running sums of the classes, read at the end of each run, are
all that the answers need.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Ints
from trueness._core.checks import options as _options
from trueness._core.checks.columns import label_pair
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.data_types import LabelValue
from trueness._core.imports import HigherFunction
from trueness.counts.design import LEFT_OUT, PLAIN, Design
from trueness.counts.expected_labels import Unlabelled
from trueness.counts.values import Tally, tally_of_bins, tally_of_rows
from trueness.gpu.keys import (
    KEY_TYPES,
    Library,
    Tensor,
    check_same_device,
    float_type,
    key_at_least,
    keys_of,
    library_of,
    scores_on_host,
)

# up to so many distinct scores a tally comes to the host
FEW_SCORES = 2**17
# PyTorch sorts fewer than 2^31 values at once
SORTED_AT_ONCE = 2**30

# the answers on a device read this module
ANSWER_ON_DEVICE: HigherFunction[Callable[..., Any]] = HigherFunction(
    "answer_on_device"
)


class DeviceLabels(NamedTuple):
    """Masks of the positive cases, and of those with a label (None: all)."""

    positive: Tensor
    known: Tensor | None


@final
@dataclass(frozen=True, eq=False, repr=False)
class DeviceTally:
    """Counts of cases at or below each distinct score, which stay on a device.

    Attributes
    ----------
    library : Library
        PyTorch or CuPy.
    kind : str
        The type of the scores, such as ``"float32"``.
    keys : array (m,)
        The distinct scores as whole numbers in their order, ascending.
    running_counts : array (2, m) or (3, m)
        How many negatives, positives and, if there are any, cases without a label have
        this score or a lower one.
    design : Design
        How the cases were sampled.
    """

    library: Library
    kind: str
    keys: Tensor
    running_counts: Tensor
    design: Design = PLAIN

    def answer_analysis(
        self,
        analysis: Callable[..., Any],
        other_arguments: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:
        """Answer on the device, or from bins with bounds."""
        return ANSWER_ON_DEVICE.load()(analysis, self, other_arguments, options)

    def with_design(
        self,
        *,
        sampling: str | None = None,
        prevalence: float | None = None,
        unlabelled: Unlabelled | None = None,
    ) -> DeviceTally:
        """Return the cases with a sampling design, as of a :class:`trueness.Tally`."""
        design = self.design.with_arguments(
            {"sampling": sampling, "prevalence": prevalence, "unlabelled": unlabelled}
        )
        if design.unlabelled != LEFT_OUT:
            raise InputError(
                "Labels that are missing at random need counts on the host, or bins.",
                example=PythonCode(
                    "at_most=100_000 for bins, or tally(y, s).to_host()"
                ),
            )

        return replace(self, design=design)

    @cached_property
    def _totals(self) -> list[int]:
        """The numbers of negatives, positives and unknowns, read at one go."""
        totals: list[int] = self.running_counts[:, -1].tolist()
        return totals

    @property
    def n_neg(self) -> int:
        """The number of negative cases."""
        return self._totals[0]

    @property
    def n_pos(self) -> int:
        """The number of positive cases."""
        return self._totals[1]

    @property
    def n_unknown(self) -> int:
        """The number of cases without a label."""
        return sum(self._totals[2:])

    @property
    def n(self) -> int:
        """The number of cases."""
        return sum(self._totals)

    @property
    def distinct_scores(self) -> int:
        """The number of distinct scores."""
        return self.library.size(self.keys)

    @cached_property
    def counts(self) -> Tensor:
        """The negatives, positives and, if any, unknowns at each distinct score."""
        return self.library.differences(self.running_counts)

    @property
    def labelled_counts(self) -> Tensor:
        """The negatives and the positives at each distinct score."""
        return self.counts[:2]

    def __repr__(self) -> str:
        """Return the numbers of cases and scores, in one line."""
        return (
            f"DeviceTally: {self.n:,} cases ({self.n_neg:,} negative, {self.n_pos:,} "
            f"positive, {self.n_unknown:,} unknown), {self.kind} scores on "
            f"{self.keys.device}"
        )

    def to_host(self) -> Tally:
        """Copy the distinct scores and their counts to the host."""
        keys = self.library.host(self.keys)
        scores = _descending(scores_on_host(keys, self.kind))
        counts = self._counts_on_host(self.running_counts)
        return self.designed(tally_of_rows(scores, *counts))

    def _counts_on_host(self, running_counts: Tensor) -> list[Ints]:
        """Return negatives, positives and unknowns, from the highest score on."""
        running = self.library.host(running_counts)
        counts = [
            _descending(np.diff(row, prepend=0).astype(np.int64)) for row in running
        ]
        if len(counts) < 3:
            counts.append(np.zeros_like(counts[0]))

        return counts

    def to_host_if_few(self) -> Tally | DeviceTally:
        """Copy the counts to the host unless there are many distinct scores."""
        return self.to_host() if self.distinct_scores <= FEW_SCORES else self

    def designed(self, counts: Tally) -> Tally:
        """Return counts on the host with the sampling design of these cases."""
        return counts.with_design(
            sampling=self.design.sampling, prevalence=self.design.prevalence
        )

    def __add__(self, other: DeviceTally) -> DeviceTally:
        """Return the counts of both, which are on one device."""
        if type(other) is not DeviceTally or other.kind != self.kind:
            raise InputError(
                "A DeviceTally can be added to one with the same type of score, "
                f"{self.kind}; found {getattr(other, 'kind', type(other).__name__)}. "
                "On the host, all types can be added.",
                example=PythonCode(".to_host() or .bin(100_000)"),
            )

        check_same_device(self.keys, other.keys)
        xp = self.library.xp
        keys, order = self.library.sort_with_order(xp.concat([self.keys, other.keys]))
        last_of_ties = _last_of_equal(self.library, keys)

        # a third row where either has cases without a label
        rows = max(len(self.counts), len(other.counts))
        counts_of_both = [_with_rows(self, rows), _with_rows(other, rows)]
        counts = xp.concat(counts_of_both, axis=1)[:, order]

        return DeviceTally(
            library=self.library,
            kind=self.kind,
            keys=keys[last_of_ties],
            running_counts=self.library.running_sums(counts)[:, last_of_ties],
            design=self.design + other.design,
        )

    def bin(self, at_most: int, begin: Sequence[float] = ()) -> Tally:
        """Return a tally in at most so many bins; one begins at each of ``begin``.

        None holds more than twice an equal part of all cases, unless they have one
        score; a score never stands in two bins. Only the bins are copied.
        """
        at_most = _options.whole_number(at_most, "at_most", at_least=1)
        starts = [0, *self._equal_parts(at_most)]
        if begin:
            starts += self._places([key_at_least(low, self.kind) for low in begin])
        inside = np.unique(starts)
        return self._count_bins(inside[inside < self.distinct_scores])

    def _equal_parts(self, number: int) -> list[int]:
        """Return the distinct scores at which equal parts of all cases begin."""
        xp = self.library.xp
        cases_to = xp.sum(self.running_counts, axis=0)
        part_size = math.ceil(self.n / number)
        # the first case of each part but the first, numbered from the lowest score on
        first_cases = xp.arange(part_size, self.n, part_size, device=self.keys.device)
        starts = self.library.host(xp.searchsorted(cases_to, first_cases + 1))

        # a score where two parts begin more than fills a bin, and has its own
        heavy = starts[1:][starts[1:] == starts[:-1]]
        return [*starts.tolist(), *(heavy + 1).tolist()]

    def _places(self, keys: Sequence[int]) -> list[int]:
        """Return how many distinct scores are below each key."""
        wanted = self.library.xp.asarray(
            keys,
            dtype=self.library.dtype(KEY_TYPES[self.kind]),
            device=self.keys.device,
        )
        below = self.library.xp.searchsorted(self.keys, wanted)
        places: list[int] = self.library.host(below).tolist()

        return places

    def _count_bins(self, starts: Ints) -> Tally:
        """Return a tally in bins that begin at these distinct scores, ascending."""
        last_rows = np.append(starts[1:], self.distinct_scores) - 1
        xp = self.library.xp
        at_start = xp.asarray(starts, device=self.keys.device)
        at_last = xp.asarray(last_rows, device=self.keys.device)

        counts = self._counts_on_host(self.running_counts[:, at_last])
        low = scores_on_host(self.library.host(self.keys[at_start]), self.kind)
        high = scores_on_host(self.library.host(self.keys[at_last]), self.kind)

        return self.designed(tally_of_bins(_descending(low), _descending(high), counts))

    def between(self, ranges: Sequence[tuple[float, float]]) -> DeviceTally:
        """Return the cases with scores in these ranges, ends included."""
        keys = []
        for low, high in sorted(ranges):
            keys.append(key_at_least(low, self.kind))
            keys.append(key_at_least(float(np.nextafter(high, np.inf)), self.kind))

        places = self._places(keys)
        parts = [
            slice(begin, end)
            for begin, end in zip(places[::2], places[1::2], strict=True)
        ]
        xp = self.library.xp
        counts = xp.concat([self.counts[:, part] for part in parts], axis=1)

        return replace(
            self,
            keys=xp.concat([self.keys[part] for part in parts]),
            running_counts=self.library.running_sums(counts),
        )

    def flagged(self, threshold: float) -> tuple[int, int]:
        """Return the numbers of positives and negatives with at least this score."""
        (place,) = self._places([key_at_least(threshold, self.kind)])
        if place == 0:
            return self.n_pos, self.n_neg
        negatives_below, positives_below = self.running_counts[:2, place - 1].tolist()
        return self.n_pos - positives_below, self.n_neg - negatives_below


def _descending(column: Any) -> Any:
    """Return a column of the host from the highest score to the lowest."""
    return np.ascontiguousarray(column[::-1])


def _with_rows(data: DeviceTally, rows: int) -> Tensor:
    """Return the counts of a tally in so many rows, zero where nothing was counted."""
    if len(data.counts) == rows:
        return data.counts
    return data.library.xp.concat([data.counts, data.counts[:1] * 0])


def device_tally(
    y_true: Tensor | None,
    y_score: Tensor,
    positive: LabelValue = None,
    at_most: int | None = None,
) -> Tally | DeviceTally:
    """Return the tally of labels and scores on a device; ``at_most`` makes bins."""
    library = library_of(y_score)
    if library is None:
        raise InputError(
            f"Scores on a device must be a PyTorch or CuPy array; found "
            f"{type(y_score).__name__}."
        )

    if library.name == "torch":
        y_score = y_score.detach()

    float_type(y_score)
    scores = y_score.reshape(-1)
    labels = read_labels(library, y_true, scores, positive)
    counted = count_cases(library, scores, labels)

    return counted if at_most is None else counted.bin(at_most)


def count_cases(library: Library, scores: Tensor, labels: DeviceLabels) -> DeviceTally:
    """Return the cases of each class at each distinct score."""
    total = _count_block(library, scores, labels, 0)
    for start in range(SORTED_AT_ONCE, library.size(scores), SORTED_AT_ONCE):
        total = total + _count_block(library, scores, labels, start)
    return total


def _count_block(
    library: Library, scores: Tensor, labels: DeviceLabels, start: int
) -> DeviceTally:
    """Return the counts of one block of cases, which is sorted at once."""
    block = slice(start, start + SORTED_AT_ONCE)
    scores = scores[block]
    labels = DeviceLabels(
        positive=labels.positive[block],
        known=None if labels.known is None else labels.known[block],
    )
    kind = float_type(scores)

    if not library.size(scores):
        raise InputError("y_score must have at least one case; found none.")

    runs = _sort_cases(library, scores, labels, kind)
    last_of_ties = _last_of_equal(library, runs.numbers)

    xp = library.xp
    sizes_by_class = [
        runs.sizes * (runs.classes == label) for label in range(runs.number_of_classes)
    ]
    running_counts = [
        xp.cumulative_sum(sizes)[last_of_ties] for sizes in sizes_by_class
    ]

    keys = runs.numbers[last_of_ties]
    if runs.offset:
        keys = keys + runs.offset

    return DeviceTally(
        library=library,
        kind=kind,
        keys=library.cast(keys, KEY_TYPES[kind]),
        running_counts=xp.stack(running_counts),
    )


def _last_of_equal(library: Library, keys: Tensor) -> Tensor:
    """Return the place of the last of each run of equal keys."""
    xp = library.xp
    (last_but_one,) = xp.nonzero(keys[1:] != keys[:-1])
    end = xp.full(
        1, library.size(keys) - 1, dtype=last_but_one.dtype, device=keys.device
    )
    return xp.concat([last_but_one, end])


class SortedRuns(NamedTuple):
    """Cases in the order of their scores, those of one score and class together."""

    numbers: Tensor  # the key of a case is its number plus the offset
    classes: Tensor  # 0 negative, 1 positive, 2 without a label
    sizes: Tensor  # how many cases have this number and class
    number_of_classes: int  # 2, or 3 where labels are missing
    offset: int = 0


def _sort_cases(
    library: Library, scores: Tensor, labels: DeviceLabels, kind: str
) -> SortedRuns:
    """Return the cases in order, by one sort."""
    lowest, highest = library.ends(scores)
    if not (math.isfinite(lowest) and math.isfinite(highest)):
        number = int((~library.xp.isfinite(scores)).sum())
        raise InputError(
            f"y_score must be finite; found NaN or infinite scores in {number:,} "
            "cases. Remove these cases or give them a score yourself."
        )

    classes = library.cast(labels.positive, "int8")
    if labels.known is not None:
        unlabelled = classes * 0 + 2
        classes = library.xp.where(labels.known, classes, unlabelled)

    number_of_classes = 2 if labels.known is None else 3
    class_bits = 1 if labels.known is None else 2
    keys = keys_of(library, scores, kind, lowest=lowest)

    if kind == "float64":
        # the class does not fit into the key: each case stands alone
        ordered, order = library.sort_with_order(keys)
        in_order = classes[order]
        one_each = library.xp.ones_like(order)
        return SortedRuns(ordered, in_order, one_each, number_of_classes)

    packed_type, offset = _packing(kind, lowest, highest, class_bits)
    numbers = library.cast(keys - offset if offset else keys, packed_type)
    # this sorts the keys alone, which is three times as fast as a sort with places
    packed, sizes = library.sorted_counts((numbers << class_bits) | classes)

    return SortedRuns(
        numbers=packed >> class_bits,
        classes=packed & (2**class_bits - 1),
        sizes=sizes,
        number_of_classes=number_of_classes,
        offset=offset,
    )


def _packing(
    kind: str, lowest: float, highest: float, class_bits: int
) -> tuple[str, int]:
    """Return the type that holds a key and a class, and what to take off the keys.

    Scores of 16 bits, and those between -2 and 2, have room for the class in 32 bits
    as they are; others have it where they are not too far apart.
    """
    if KEY_TYPES[kind] == "int16":
        return "int32", 0

    lowest_key = key_at_least(lowest, kind)
    highest_key = key_at_least(highest, kind)
    # the numbers from -room to room - 1 leave the last bits of 32 to the class
    room = 2 ** (31 - class_bits)
    if -room <= lowest_key and highest_key < room:
        return "int32", 0
    if highest_key - lowest_key < 2 * room:
        return "int32", lowest_key + room
    return "int64", 0


def read_labels(
    library: Library, labels: Tensor | None, scores: Tensor, positive: LabelValue
) -> DeviceLabels:
    """Return which cases are positive, and which have a label, as NaN is none."""
    xp = library.xp

    if labels is None:
        nobody = xp.zeros(
            library.size(scores), dtype=library.dtype("bool"), device=scores.device
        )
        return DeviceLabels(positive=nobody, known=nobody)

    check_same_device(labels, scores)
    labels = labels.reshape(-1)
    if library.size(labels) != library.size(scores):
        raise InputError(
            "y_true and y_score must have the same length; found "
            f"{library.size(labels):,} and {library.size(scores):,}."
        )

    if str(labels.dtype).endswith("bool"):
        ones = labels if positive in (None, True, 1) else ~labels
        return DeviceLabels(positive=ones, known=None)

    known = None
    missing = labels != labels  # only NaN differs from itself
    if "float" in str(labels.dtype) and bool(missing.any()):
        known = ~missing

    ones = labels == 1
    if positive in (None, 1) and bool(xp.all(ones | (labels == 0) | missing)):
        return DeviceLabels(positive=ones, known=known)
    return _read_other_labels(library, labels, known, positive)


def _read_other_labels(
    library: Library, labels: Tensor, known: Tensor | None, positive: LabelValue
) -> DeviceLabels:
    """Return which cases are positive where the labels are not 0 and 1."""
    labelled = labels if known is None else labels[known]
    if not library.size(labelled):
        nobody = labels == labels  # all are NaN, which differs from itself
        return DeviceLabels(positive=nobody, known=known)

    values = sorted({float(labelled.min()), float(labelled.max())})
    others = (labelled != values[0]) & (labelled != values[-1])
    if bool(others.any()):
        values.append(float(labelled[others][0]))

    plain = [int(value) if value == int(value) else value for value in sorted(values)]
    _, chosen = label_pair(plain, positive, "y_true")
    return DeviceLabels(positive=labels == chosen, known=known)
