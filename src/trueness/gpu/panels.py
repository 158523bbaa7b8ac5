"""Which of several classifiers ranks better, when their scores are on a device?

The AUC and the variance of each come from its sorted keys. The variance of a difference
needs the placement values of both classifiers case by case: keys in the order of the
cases are looked up among the sorted ones, a chunk at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness.comparison.aucs import asked_margin, compare_areas
from trueness.comparison.contrasts import ContrastPart
from trueness.gpu.arrays import Library, library_of, same_device
from trueness.gpu.counting import DeviceTally, read_labels
from trueness.gpu.keys import KEYS, float_name, keys_of
from trueness.gpu.merging import CHUNK, placements_of
from trueness.gpu.split import sorted_keys
from trueness.ranking.auc_intervals import AucQuestion


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

    @cached_property
    def tallies(self) -> list[DeviceTally]:
        """Give the sorted keys of each classifier."""
        found = []
        for s in self.scores:
            kind = float_name(s)
            parts = sorted_keys(self.lib, s, self.positive, None, kind)
            found.append(DeviceTally(self.lib, *parts, kind).finite())
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
    n_pos, n_neg = x.n_pos, x.n_neg
    questions = tuple(AucQuestion(x, placements_of(t), level, 0, 0) for t in x.tallies)
    up = _difference_variances(x, x.positive, "neg") / (2 * n_neg) ** 2
    down = _difference_variances(x, ~x.positive, "pos") / (2 * n_pos) ** 2
    known = min(n_pos, n_neg) > 1
    parts = (ContrastPart(up, n_pos), ContrastPart(down, n_neg)) if known else ()
    return compare_areas(x.names, questions, parts, x, asked_margin(margin))


def _difference_variances(x: DevicePanel, chosen: Any, other: str) -> Floats:
    """Give the sample variance of every difference of twice the placements."""
    size = len(x.names)
    columns = [
        keys_of(x.lib, s[chosen], t.kind)
        for s, t in zip(x.scores, x.tallies, strict=True)
    ]
    n = x.lib.size(columns[0])
    total, square = np.zeros((size, size)), np.zeros((size, size))
    for start in range(0, n, CHUNK):
        twice = [
            _twice_below(x.lib, getattr(t, other), keys[start : start + CHUNK])
            for t, keys in zip(x.tallies, columns, strict=True)
        ]
        for i in range(size):
            for j in range(i + 1, size):
                gap = x.lib.cast(twice[i] - twice[j], "float64")
                total[i, j] += float(x.lib.xp.sum(gap))
                square[i, j] += float(x.lib.xp.sum(gap * gap))
    variance = np.maximum(0.0, (square - total**2 / n) / max(n - 1, 1))
    return np.asarray(variance + variance.T)


def _twice_below(lib: Library, ordered: Any, keys: Any) -> Any:
    return lib.places(ordered, keys, "left") + lib.places(ordered, keys, "right")
