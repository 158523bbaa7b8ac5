"""Which of several classifiers ranks better, when their scores are on a device?

The AUC and the variance of each come from its sorted keys. The variance of a difference
needs the placement values of both classifiers case by case: keys in the order of the
cases are looked up among the sorted ones, a chunk at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness.comparison.results import together
from trueness.counts.design import PLAIN, Design
from trueness.gpu.arrays import Library, library_of, same_device
from trueness.gpu.counting import DeviceTally, read_labels
from trueness.gpu.keys import KEYS, float_name, keys_of
from trueness.gpu.merging import CHUNK, area_of
from trueness.gpu.split import sorted_keys
from trueness.inference.differences import Contrast, Side
from trueness.inference.spread import Stratum, joined
from trueness.ranking.areas import auc_from_moments, auc_spread


@final
@dataclass(frozen=True, eq=False, repr=False)
class DevicePanel:
    """Which scores did each classifier give the same cases, on a device?

    Attributes
    ----------
    names : tuple of str
        The classifiers.
    scores : list of array on the device
        Their scores of the labelled cases.
    positive : array on the device
        Which of these are positive.
    """

    lib: Library
    names: tuple[str, ...]
    scores: list[Any]
    positive: Any
    design: Design = PLAIN

    def with_design(self, **words: Any) -> DevicePanel:
        """Say how the cases came; see :meth:`trueness.Panel.with_design`."""
        return replace(self, design=self.design.with_words(words))

    @cached_property
    def tallies(self) -> list[DeviceTally]:
        """Give the sorted keys of each classifier."""
        found = []
        for s in self.scores:
            kind = float_name(s)
            parts = sorted_keys(self.lib, s, self.positive, None, kind)
            found.append(DeviceTally(self.lib, *parts, kind, self.design).finite())
        return found

    @property
    def n_pos(self) -> int:
        """How many positive cases?"""
        return self.tallies[0].n_pos

    @property
    def n_neg(self) -> int:
        """How many negative cases?"""
        return self.tallies[0].n_neg

    @property
    def rows(self) -> Floats:
        """Copy the scores to the host, one column for each classifier."""
        columns = [self.lib.host(self.lib.cast(s, "float64")) for s in self.scores]
        return np.stack(columns, axis=1)


def device_panel(y_true: Any, scores: Mapping[str, Any], positive: Any) -> DevicePanel:
    """Take the scores of several classifiers where they are."""
    first = next(iter(scores.values()))
    lib = library_of(first)
    if lib is None or y_true is None:
        raise InputError("Several scores on a device need labels on the same device.")
    columns = []
    for s in scores.values():
        same_device(first, s)
        s = s.detach() if lib.name == "torch" else s
        # 16 bits are few distinct scores: in 32 they are sorted like the others
        wide = KEYS[float_name(s)] == "int16"
        columns.append(lib.cast(s.reshape(-1), "float32") if wide else s.reshape(-1))
    labels = [read_labels(lib, y_true, s, positive) for s in columns]
    is_pos, known = labels[0]
    if known is not None:
        is_pos, columns = is_pos[known], [s[known] for s in columns]
    return DevicePanel(lib, tuple(map(str, scores)), columns, is_pos)


def compare_auc(
    x: DevicePanel, *, margin: float | None = None, level: float = 0.95
) -> Any:
    """Compare areas of the same cases; see :func:`trueness.compare_auc`."""
    _cases.at_least_two(x.names, "compare_auc")
    _cases.both_classes(x, "compare_auc")
    level = _options.fraction(level, "level")
    areas = [area_of(t) for t in x.tallies]
    values = {
        name: auc_from_moments(a.value, a.n, a.two, a.four, level)
        for name, a in zip(x.names, areas, strict=True)
    }
    wins = np.array([a.wins for a in areas], dtype=np.float64)
    gap = wins[:, None] - wins
    n_neg, n_pos = x.n_neg, x.n_pos
    down = _difference_powers(x, ~x.positive, "pos", -gap / n_neg)
    up = _difference_powers(x, x.positive, "neg", gap / n_pos)

    sides = [Side(a.value, auc_spread(a.n, a.two, a.four)) for a in areas]

    def contrast(i: int, j: int) -> Contrast:
        # the influence of a case: twice the difference of its placements, over pairs
        scale = 2 * n_neg * n_pos
        powers = (n_neg, *down[:, i, j]), (n_pos, *up[:, i, j])
        parts = [Stratum(n, two / scale**2, four / scale**4) for n, two, four in powers]
        return Contrast.of(sides[i], sides[j], joined(parts, min(n_neg, n_pos)))

    return together(values, contrast, margin=margin, paired=True, method="AUC")


def _difference_powers(x: DevicePanel, chosen: Any, other: str, mean: Floats) -> Floats:
    """Add up squares and fourth powers of every difference of twice the placements.

    About their mean, of the cases of a class; (2, K, K).
    """
    size = len(x.names)
    columns = [
        keys_of(x.lib, s[chosen], t.kind)
        for s, t in zip(x.scores, x.tallies, strict=True)
    ]
    total = np.zeros((2, size, size))
    for start in range(0, x.lib.size(columns[0]), CHUNK):
        twice = [
            _twice_below(x.lib, getattr(t, other), keys[start : start + CHUNK])
            for t, keys in zip(x.tallies, columns, strict=True)
        ]
        for i in range(size):
            for j in range(i + 1, size):
                gap = x.lib.cast(twice[i] - twice[j], "float64")
                square = (gap - float(mean[i, j])) ** 2
                total[0, i, j] += float(x.lib.xp.sum(square))
                total[1, i, j] += float(x.lib.xp.sum(square * square))
    return np.asarray(total + total.transpose(0, 2, 1))


def _twice_below(lib: Library, ordered: Any, keys: Any) -> Any:
    return lib.places(ordered, keys, "left") + lib.places(ordered, keys, "right")
