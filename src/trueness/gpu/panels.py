"""Several scores of the same cases on a device: which AUC is larger?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.data_types import LabelValue
from trueness.comparison.results import compare_pairs
from trueness.counts.design import PLAIN, Design
from trueness.gpu.keys import (
    Library,
    Tensor,
    check_same_device,
    float_type,
    keys_of,
    library_of,
)
from trueness.gpu.sums import placement_sums, twice_below
from trueness.gpu.tallies import (
    ANSWER_ON_DEVICE,
    DeviceLabels,
    DeviceTally,
    count_cases,
    read_labels,
)
from trueness.inference.differences import Difference
from trueness.inference.estimates import EvaluatedMeasure
from trueness.inference.variance import Stratum, combine_strata
from trueness.ranking.areas import auc_from_moments, auc_variance_from_moments

# cases whose placements are looked up at once: 128 MB for each classifier
CASES_AT_ONCE = 2**24


@final
@dataclass(frozen=True, eq=False, repr=False)
class DevicePanel:
    """Which scores did each classifier give the same labelled cases, on a device?"""

    library: Library
    names: tuple[str, ...]
    scores: list[Tensor]
    positive: Tensor
    design: Design = PLAIN

    def answer_analysis(
        self,
        analysis: Callable[..., Any],
        other_arguments: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:
        """Answer for each classifier on the device."""
        if analysis.__name__ == "compare_auc":
            return compare_auc(self, *other_arguments, **options)
        answer = ANSWER_ON_DEVICE.load()
        answers = [
            answer(analysis, counts, other_arguments, options)
            for counts in self.tallies
        ]
        return dict(zip(self.names, answers, strict=True))

    def with_design(self, **words: object) -> DevicePanel:
        """Return the cases with a sampling design, as of a :class:`trueness.Panel`."""
        return replace(self, design=self.design.with_words(words))

    @cached_property
    def tallies(self) -> list[DeviceTally]:
        """The counts of each classifier."""
        labels = DeviceLabels(positive=self.positive, known=None)
        counted = [count_cases(self.library, scores, labels) for scores in self.scores]
        return [replace(counts, design=self.design) for counts in counted]

    @property
    def n_pos(self) -> int:
        """The number of positive cases."""
        return self.tallies[0].n_pos

    @property
    def n_neg(self) -> int:
        """The number of negative cases."""
        return self.tallies[0].n_neg

    @property
    def rows(self) -> Floats:
        """The scores on the host, one column for each classifier."""
        wide = [self.library.cast(scores, "float64") for scores in self.scores]
        return np.stack([self.library.host(column) for column in wide], axis=1)


def device_panel(
    y_true: Tensor | None, scores: Mapping[str, Any], positive: LabelValue
) -> DevicePanel:
    """Take the scores of several classifiers where they are."""
    first = next(iter(scores.values()))
    library = library_of(first)
    if library is None or y_true is None:
        raise InputError("Several scores on a device need labels on the same device.")

    columns = []
    for column in scores.values():
        check_same_device(first, column)
        if library.name == "torch":
            column = column.detach()
        float_type(column)
        columns.append(column.reshape(-1))

    labels = [read_labels(library, y_true, column, positive) for column in columns]
    is_positive, known = labels[0]
    if known is not None:
        is_positive = is_positive[known]
        columns = [column[known] for column in columns]

    return DevicePanel(library, tuple(map(str, scores)), columns, is_positive)


def compare_auc(
    data: DevicePanel, *, margin: float | None = None, level: float = 0.95
) -> Any:
    """Compare areas of the same cases; see :func:`trueness.compare_auc`."""
    _cases.at_least_two(data.names, "compare_auc")
    _cases.both_classes(data, "compare_auc")
    level = _options.fraction(level, "level")
    n_neg, n_pos = data.n_neg, data.n_pos
    sums = [placement_sums(counts) for counts in data.tallies]
    estimates = [
        auc_from_moments(area.auc, area.of_negatives, area.of_positives, level)
        for area in sums
    ]
    areas = [
        EvaluatedMeasure(
            area.auc, auc_variance_from_moments(area.of_negatives, area.of_positives)
        )
        for area in sums
    ]

    twice_wins = np.array([area.twice_wins for area in sums], dtype=np.float64)
    gap = twice_wins[:, None] - twice_wins
    # the placement of a case counts the cases of the other class
    below = [twice_below(counts) for counts in data.tallies]
    of_positives = [negatives_below for negatives_below, _ in below]
    of_negatives = [positives_below for _, positives_below in below]
    down = _difference_powers(data, ~data.positive, of_negatives, -gap / n_neg)
    up = _difference_powers(data, data.positive, of_positives, gap / n_pos)

    def contrast(first: int, second: int) -> Difference:
        # the influence of a case: twice the difference of its placements, over pairs
        twice_pairs = 2 * n_neg * n_pos
        strata = []
        for size, (squares, fourth_powers) in (
            (n_neg, down[:, first, second]),
            (n_pos, up[:, first, second]),
        ):
            strata.append(
                Stratum(size, squares / twice_pairs**2, fourth_powers / twice_pairs**4)
            )

        return Difference.between(
            areas[first], areas[second], combine_strata(strata, min(n_neg, n_pos))
        )

    values = dict(zip(data.names, estimates, strict=True))
    return compare_pairs(values, contrast, margin=margin, paired=True, method="AUC")


def _difference_powers(
    data: DevicePanel, chosen: Tensor, placements: list[Tensor], mean: Floats
) -> Floats:
    """Return sums of squares and fourth powers of differences of twice the placements.

    Of each pair of classifiers, over the chosen cases; ``placements`` has one array
    for each classifier, over its distinct scores.
    """
    library = data.library
    number = len(data.names)
    # where each chosen case stands among the distinct scores of each classifier
    keys = [
        keys_of(library, scores[chosen], counts.kind)
        for scores, counts in zip(data.scores, data.tallies, strict=True)
    ]

    total = np.zeros((2, number, number))
    for start in range(0, library.size(keys[0]), CASES_AT_ONCE):
        block = slice(start, start + CASES_AT_ONCE)
        twice = []
        for classifier, counts in enumerate(data.tallies):
            at = library.xp.searchsorted(counts.keys, keys[classifier][block])
            twice.append(placements[classifier][at])
        for i in range(number):
            for j in range(i + 1, number):
                difference = library.cast(twice[i] - twice[j], "float64")
                square = (difference - float(mean[i, j])) ** 2
                total[0, i, j] += float(library.xp.sum(square))
                total[1, i, j] += float(library.xp.sum(square * square))

    return np.asarray(total + total.transpose(0, 2, 1))
