"""Scores of several classifiers for the same cases on a device, and their AUCs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.data_types import LabelValue
from trueness.comparison.results import Comparison, compare_pairs
from trueness.counts.design import PLAIN, Design
from trueness.counts.expected_labels import Unlabelled
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
    """The scores that each classifier gave the same labelled cases, on a device.

    Attributes
    ----------
    library : Library
        PyTorch or CuPy.
    names : tuple of str
        The classifiers.
    scores : list of arrays (n,)
        The scores of all cases, an array for each classifier.
    positive : array (n,) of bool
        Which cases are positive.
    design : Design
        How the cases were sampled.
    """

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
        """Return the answer for each classifier, by its name."""
        if analysis.__name__ == "compare_auc":
            return compare_auc(self, *other_arguments, **options)
        answer = ANSWER_ON_DEVICE.load()
        answers = [
            answer(analysis, counts, other_arguments, options)
            for counts in self.tallies
        ]
        return dict(zip(self.names, answers, strict=True))

    def with_design(
        self,
        *,
        sampling: str | None = None,
        prevalence: float | None = None,
        unlabelled: Unlabelled | None = None,
    ) -> DevicePanel:
        """Return the cases with a sampling design, as of a :class:`trueness.Panel`."""
        design = self.design.with_arguments(
            {"sampling": sampling, "prevalence": prevalence, "unlabelled": unlabelled}
        )
        return replace(self, design=design)

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
    """Return the labelled cases of several classifiers, on the device of the scores."""
    first_column = next(iter(scores.values()))
    library = library_of(first_column)
    if library is None or y_true is None:
        raise InputError("Several scores on a device need labels on the same device.")

    columns = []
    for column in scores.values():
        check_same_device(first_column, column)
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
) -> Comparison:
    """Return the differences of AUCs on the same cases, as ``trueness.compare_auc``."""
    _cases.at_least_two(data.names, "compare_auc")
    _cases.both_classes(data, "compare_auc")
    level = _options.fraction(level, "level")
    n_neg = data.n_neg
    n_pos = data.n_pos

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
    gap_in_wins = twice_wins[:, None] - twice_wins
    # the placement of a case counts the cases of the other class
    below = [twice_below(counts) for counts in data.tallies]
    negatives_below = [negatives for negatives, _ in below]
    positives_below = [positives for _, positives in below]
    powers_of_negatives = _difference_powers(
        data,
        ~data.positive,
        placements=positives_below,
        mean_difference=-gap_in_wins / n_neg,
    )
    powers_of_positives = _difference_powers(
        data,
        data.positive,
        placements=negatives_below,
        mean_difference=gap_in_wins / n_pos,
    )

    def contrast(first: int, second: int) -> Difference:
        """Return the difference of two AUCs, by the numbers of the classifiers."""
        strata = [
            _influence_powers(n_neg, powers_of_negatives[:, first, second], n_pos),
            _influence_powers(n_pos, powers_of_positives[:, first, second], n_neg),
        ]
        return Difference.between(
            areas[first], areas[second], combine_strata(strata, min(n_neg, n_pos))
        )

    values = dict(zip(data.names, estimates, strict=True))
    return compare_pairs(values, contrast, margin=margin, paired=True, measure="AUC")


def _influence_powers(size: int, powers: Floats, size_of_other: int) -> Stratum:
    """Return the powers of the influence values of one class.

    The influence of a case is twice the difference of its placements, over twice the
    number of pairs.
    """
    twice_pairs = 2 * size * size_of_other
    squares, fourth_powers = powers
    return Stratum(size, squares / twice_pairs**2, fourth_powers / twice_pairs**4)


def _difference_powers(
    data: DevicePanel,
    of_class: Tensor,
    *,
    placements: list[Tensor],
    mean_difference: Floats,
) -> Floats:
    """Return sums of squares and fourth powers of differences of twice the placements.

    Of each pair of classifiers, about the mean difference, over the cases of a class;
    ``placements`` has one array for each classifier, over its distinct scores. The
    answer has the squares first: (2, K, K).
    """
    library = data.library
    n_classifiers = len(data.names)
    # where each of these cases stands among the distinct scores of each classifier
    keys = [
        keys_of(library, scores[of_class], counts.kind)
        for scores, counts in zip(data.scores, data.tallies, strict=True)
    ]

    total = np.zeros((2, n_classifiers, n_classifiers))
    for start in range(0, library.size(keys[0]), CASES_AT_ONCE):
        block = slice(start, start + CASES_AT_ONCE)
        placements_of_cases = []
        for classifier, counts in enumerate(data.tallies):
            places = library.xp.searchsorted(counts.keys, keys[classifier][block])
            placements_of_cases.append(placements[classifier][places])

        for i, j in combinations(range(n_classifiers), 2):
            difference = library.cast(
                placements_of_cases[i] - placements_of_cases[j], "float64"
            )
            square = (difference - float(mean_difference[i, j])) ** 2
            total[0, i, j] += float(library.xp.sum(square))
            total[1, i, j] += float(library.xp.sum(square * square))

    # only i < j was filled; the powers of j - i are those of i - j
    return np.asarray(total + total.transpose(0, 2, 1))
