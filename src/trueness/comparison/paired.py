"""Which classifier has the larger AUC, and could the difference be chance?

Also the common part of all comparisons: on the same cases the influence values of two
classifiers are subtracted case by case; for different cases, intervals are combined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from trueness._core.arrays import Array, Floats, Ints, begins_run
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.records import Estimate
from trueness.comparison.results import (
    SAME,
    Comparison,
    compare_pairs,
)
from trueness.counts.answers import of_panel
from trueness.counts.values import Panel, Tally
from trueness.inference.differences import (
    DeLongDifference,
    Difference,
    IndependentDifference,
)
from trueness.inference.estimates import (
    EvaluatedMeasure,
    reported_estimate,
)
from trueness.inference.jackknife import Statistic, evaluate_statistic
from trueness.inference.sample import Sample, apply_design
from trueness.inference.variance import (
    estimate_variance,
    influence_at_rows,
    influence_difference,
)
from trueness.ranking.areas import auc

# what an answer calls a statistic, where that is not the name of the function
TITLES = {
    "auc": "AUC",
    "average_precision": "average precision",
    "brier": "Brier score",
    "log_loss": "log loss",
    "partial_auc": "partial AUC",
}


@of_panel
def compare_auc(
    data: Panel | Tally | Mapping[Any, Tally],
    other: Tally | None = None,
    *,
    method: str = "student",
    margin: float | None = None,
    level: float = 0.95,
) -> Comparison:
    r"""Difference of two AUCs, with a confidence interval and a test.

    Which classifier ranks better, and could the difference be chance?

    .. math:: t = \frac{A_i - A_j}{\sqrt{\mathrm{var}(A_i - A_j)}}

    If a class shows no difference, the interval allows for cases not in the sample: two
    copies on 8 cases are not proven equal.

    Parameters
    ----------
    data
        A panel (paired: the same cases), a mapping from name to tally (unpaired:
        different cases), or a tally. First leave out cases that a classifier has not
        scored (``panel.complete_cases()``).
    other
        A second tally of different cases, when ``data`` is a tally.
    method
        ``"student"``: DeLong's variance with Student's quantile; for different cases
        Zou and Donner's interval. ``"delong"``: the published test, with the normal
        quantile, as R's pROC prints it.

    Notes
    -----
    The variance is DeLong's (1988, doi:10.2307/2531595), for clusters Obuchowski's;
    p-values are adjusted by Holm's method: docs/maths/comparison.md.

    Examples
    --------
    >>> p = Panel(["a", "b"], [[3, 6], [2, 4], [1, 2]], pos=[2, 1, 1], neg=[0, 1, 2])
    >>> pair = compare_auc(p).pairs[0]  # b is twice a
    >>> pair.difference.value, pair.p_value
    (0.0, 1.0)
    """
    level = _options.fraction(level, "level")
    _options.choice(method, ("student", "delong"), "method")
    if isinstance(data, Panel):
        if other is not None:
            raise InputError("compare_auc takes one panel; leave the other data out.")
        return _compare_auc_on_same_cases(data, method, margin, level)

    tallies = _unpaired_tallies(data, other)
    sides = [
        evaluate_statistic(tally, auc, level=level, name="AUC")
        for tally in tallies.values()
    ]
    if method == "student":
        return compare_independent(tallies, sides, "AUC", margin=margin)

    # DeLong's test counts the cases for its degrees of freedom
    labelled = [tally.labelled() for tally in tallies.values()]

    def difference(i: int, j: int) -> DeLongDifference:
        return _delong_difference_of_different_cases(
            sides[i], sides[j], labelled[i].n, labelled[j].n
        )

    return compare_pairs(
        _delong_aucs(tallies, level),
        difference,
        margin=margin,
        paired=False,
        measure="AUC",
        cases=labelled,
    )


def _unpaired_tallies(
    data: Tally | Mapping[Any, Tally], other: Tally | None
) -> dict[str, Tally]:
    """Return the tallies of different cases by name."""
    if isinstance(data, Tally) and isinstance(other, Tally):
        tallies = {"first": data, "second": other}
    elif isinstance(data, Mapping) and other is None:
        tallies = {str(name): tally for name, tally in data.items()}
    else:
        raise InputError(
            "compare_auc needs a panel (the same cases), a mapping of tallies or two "
            "tallies (different cases).",
            example=PythonCode("trueness.compare_auc(panel)"),
        )

    _cases.at_least_two(tuple(tallies), "compare_auc")
    for tally in tallies.values():
        _cases.both_classes(tally, "compare_auc")
    return tallies


def _compare_auc_on_same_cases(
    data: Panel, method: str, margin: float | None, level: float
) -> Comparison:
    """Return the comparison of the AUCs of a panel."""
    _cases.both_classes(data, "compare_auc")
    panel = complete_panel(data, "compare_auc")
    columns = measured_columns(panel, auc, "AUC", level)
    if method == "student":
        return compare_outputs(panel, columns, margin, "AUC")

    sample = apply_design(panel)

    def difference(i: int, j: int) -> DeLongDifference:
        by_student = _paired_difference(sample, columns[i], columns[j])
        return DeLongDifference(by_student.value, by_student.standard_error)

    return compare_pairs(
        _delong_aucs({name: panel[name] for name in panel.names}, level),
        difference,
        margin=margin,
        paired=True,
        measure="AUC",
        cases=[panel],
    )


def _delong_aucs(tallies: Mapping[str, Tally], level: float) -> dict[str, Estimate]:
    """Return the AUC of each classifier with the normal interval by DeLong."""
    return {
        name: auc(tally, method="delong", level=level)
        for name, tally in tallies.items()
    }


def _delong_difference_of_different_cases(
    first: EvaluatedMeasure,
    second: EvaluatedMeasure,
    n_first: float,
    n_second: float,
) -> DeLongDifference:
    """Return a difference of two AUCs of different cases, tested as in R's pROC."""
    first_variance = first.variance_estimate.variance
    second_variance = second.variance_estimate.variance
    # independent samples: variances add
    variance = first_variance + second_variance

    # Welch (1947), with the numbers of cases of both classes together
    variance_of_variance = first_variance**2 / (n_first - 1)
    variance_of_variance += second_variance**2 / (n_second - 1)
    degrees_of_freedom = math.inf
    if variance_of_variance > 0:
        degrees_of_freedom = variance**2 / variance_of_variance
    return DeLongDifference(
        value=first.value - second.value,
        standard_error=math.sqrt(variance),
        degrees_of_freedom=degrees_of_freedom,
    )


def complete_panel(panel: Panel, analysis: str) -> Panel:
    """Return the labelled cases of two or more classifiers, with all their outputs."""
    _cases.some_labels(panel, analysis)
    panel = panel.labelled()
    _cases.at_least_two(panel.names, analysis)
    _cases.complete_outputs(panel, analysis)
    return panel


def measured_columns(
    panel: Panel,
    statistic: Statistic,
    name: str,
    level: float,
    ends: tuple[float, float] = (0.0, 1.0),
) -> list[EvaluatedMeasure]:
    """Return the measure of every classifier, with its influence by panel row."""
    columns = []
    for classifier, output in zip(panel.names, panel.rows.T, strict=True):
        evaluated = evaluate_statistic(
            panel[classifier], statistic, ends=ends, level=level, name=name
        )
        # a row of the panel has the influence of the tally row with the same output
        influence = influence_at_rows(evaluated.influence, _tally_rows(output))
        columns.append(replace(evaluated, influence=influence))

    return columns


def _tally_rows(output: Floats) -> Ints:
    """Return the row of a tally, highest score first, for each output of a panel."""
    order = np.argsort(-output)
    rows = np.empty(output.size, dtype=np.intp)
    # equal outputs share a row of the tally: a new row begins where the output falls
    rows[order] = np.cumsum(begins_run(output[order])) - 1
    return rows


def compare_outputs(
    panel: Panel,
    columns: Sequence[EvaluatedMeasure],
    margin: float | None,
    measure: str,
) -> Comparison:
    """Return the comparison of measures of the same cases; copies are named."""
    return name_copies(compare_columns(panel, columns, margin, measure), panel)


def name_copies(comparison: Comparison, panel: Panel) -> Comparison:
    """Return the comparison with pairs of identical outputs marked as such."""
    outputs = dict(zip(panel.names, panel.rows.T, strict=True))
    pairs = []
    for pair in comparison.pairs:
        # only equal values need a comparison of all outputs
        may_be_copies = pair.difference.value == 0
        if may_be_copies and np.array_equal(outputs[pair.first], outputs[pair.second]):
            pair = replace(pair, difference=replace(pair.difference, method=SAME))
        pairs.append(pair)

    return replace(comparison, pairs=tuple(pairs))


def compare_columns(
    panel: Panel,
    columns: Sequence[EvaluatedMeasure],
    margin: float | None,
    measure: str,
) -> Comparison:
    """Return the comparison of measures of the same cases."""
    sample = apply_design(panel)

    def difference(i: int, j: int) -> Difference:
        return _paired_difference(sample, columns[i], columns[j])

    return compare_pairs(
        dict(zip(panel.names, map(reported_estimate, columns), strict=True)),
        difference,
        margin=margin,
        paired=True,
        measure=measure,
        cases=[panel],
        notes=_notes_on_constant_classes(panel, columns),
    )


def _paired_difference(
    sample: Sample[Panel], first: EvaluatedMeasure, second: EvaluatedMeasure
) -> Difference:
    """Return a difference of two measures, whose influence is subtracted by case."""
    # a difference of two measures has the difference of their influence values
    variance_estimate = estimate_variance(
        sample.observed,
        influence_difference(first.influence, second.influence),
        within_class=first.within_class or sample.class_sizes_fixed,
    )
    return Difference.between(first, second, variance_estimate)


def _notes_on_constant_classes(
    panel: Panel, columns: Sequence[EvaluatedMeasure]
) -> list[str]:
    """Return a note for each pair that differs on the cases of one class only."""
    if not columns[0].within_class:
        return []

    notes = []
    for i, j in combinations(range(len(columns)), 2):
        gap = influence_difference(columns[i].influence, columns[j].influence)
        constant_classes = []
        if _is_constant(panel.neg, gap.by_negative):
            constant_classes.append("negative")
        if _is_constant(panel.pos, gap.by_positive):
            constant_classes.append("positive")

        # classifiers with two constant classes are copies, or nearly so
        if len(constant_classes) == 1:
            notes.append(
                f"{panel.names[i]} and {panel.names[j]} differ by the same amount on "
                f"every {constant_classes[0]} case, so the variance within that class "
                "is unknown. The interval is wide on purpose; collect more cases."
            )

    return notes


# a smaller variance per case is rounding
_ROUNDING = 1e-24


def _is_constant(counts: Array, influence: Floats) -> bool:
    """Return whether all cases of a class have the same influence, up to rounding."""
    # the sum of squares per case times the number of cases does not depend on n
    squares = float(counts @ np.asarray(influence) ** 2)
    return not float(counts.sum()) * squares > _ROUNDING


def name_of(statistic: Callable[..., Any]) -> str:
    """Return the name of a function, or "statistic" if it has none."""
    name = getattr(statistic, "__name__", "statistic")
    return "statistic" if name == "<lambda>" else str(name)


def title_of(statistic: Callable[..., Any]) -> str:
    """Return what an answer calls a statistic: AUC, not auc."""
    name = name_of(statistic)
    return TITLES.get(name, name)


def compare_independent(
    tallies: Mapping[str, Tally],
    sides: Sequence[EvaluatedMeasure],
    measure: str,
    *,
    margin: float | None = None,
    pairs: list[tuple[int, int]] | None = None,
) -> Comparison:
    """Return the comparison of measures of different cases."""

    def difference(i: int, j: int) -> IndependentDifference:
        return IndependentDifference(sides[i], sides[j])

    return compare_pairs(
        dict(zip(tallies, map(reported_estimate, sides), strict=True)),
        difference,
        margin=margin,
        pairs=pairs,
        paired=False,
        measure=measure,
        cases=[tally.labelled() for tally in tallies.values()],
    )
