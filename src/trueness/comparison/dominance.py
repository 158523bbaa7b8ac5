"""Is one classifier better somewhere, and nowhere worse?

The curves of a sample are compared exactly (Sameni 2025, section 5). For the curves of
the population: is there a range where the first is better, and by how much could the
second be better anywhere?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import NormalDist
from typing import final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.figures import Axis, Curves, Line, guide
from trueness._core.records import Record
from trueness.comparison.curve_ranges import Ranges, ranges_by_fpr, ranges_by_recall
from trueness.comparison.curve_tests import (
    normal_multipliers,
    p_value_of_margin,
    simultaneous_band,
    tests_of_ranges,
    uncertain_difference,
)
from trueness.comparison.redrawing import CurveRequest, redrawn_curves
from trueness.comparison.results import read_margin
from trueness.counts.answers import of_panel
from trueness.counts.resampling import Seed
from trueness.counts.values import Panel, Tally


@final
@dataclass(frozen=True, repr=False)
class Dominance(Record):
    """Whether the first classifier dominates; then it is true in an ``if``.

    Attributes
    ----------
    verdict : {"dominates", "is dominated", "equal", "crosses"}
        How the two curves of the sample compare.
    fpr_better, fpr_worse, recall_better, recall_worse : tuple of (low, high)
        False positive rates where the ROC curve of the first is higher, and lower;
        recalls where its precision is higher, and lower, at any prevalence.
    p_better, p_worse, p_value : float
        One-sided p-values of "not better", and of "not worse", over any range of false
        positive rates. ``p_value`` is twice the smaller: it tests whether the two
        curves are equal.
    range_better, range_worse : tuple (low, high)
        The range with the strongest evidence; empty when the sample shows none.
    margin, margin_first : float
        Largest true positive rate by which the second may be better anywhere, with
        confidence ``level`` (non-inferiority of the whole curve); and the same for the
        first.
    tested_margin, p_noninferior : float
        The margin that was tested, and the p-value of "the second is better by more
        than that at some false positive rate"; NaN without a margin.
    significantly_better, significantly_worse : tuple of (low, high)
        False positive rates at which the band of the difference excludes zero.
    fpr, difference, low, high : array
        Difference of the true positive rates, with its simultaneous band.
    level, paired : float, bool
        Confidence level of the band, and whether both scored the same cases.
    names : tuple (first, second)
        Their names in the panel.
    """

    verdict: str
    fpr_better: Ranges
    fpr_worse: Ranges
    recall_better: Ranges
    recall_worse: Ranges
    p_better: float
    p_worse: float
    range_better: tuple[float, ...]
    range_worse: tuple[float, ...]
    p_value: float
    margin: float
    margin_first: float
    tested_margin: float
    p_noninferior: float
    significantly_better: Ranges
    significantly_worse: Ranges
    fpr: Floats
    difference: Floats
    low: Floats
    high: Floats
    level: float
    paired: bool
    names: tuple[str, str] = ("first", "second")

    def __bool__(self) -> bool:
        """Return whether the first dominates the second in the sample."""
        return self.verdict == "dominates"


@of_panel
def dominates(
    data: Tally | Panel,
    other: Tally | str | None = None,
    reference: str | None = None,
    *,
    margin: float | None = None,
    level: float = 0.95,
    points: int = 101,
    rng: Seed = 0,
    replicates: int = 1000,
) -> Dominance:
    r"""Dominance of one ROC curve over another, with p-values and a band.

    Is one classifier better at some false positive rates and worse at none?

    .. math:: G_a(u) \le G_b(u) \text{ for all } u \in (0, 1)

    Curves may touch; all of them meet at both ends. *Better somewhere* is tested by
    mean differences over ranges and at single rates, *nowhere worse* by the worst
    one-sided bound over all rates: ``docs/maths/comparison.md``.

    Parameters
    ----------
    data, other, reference
        Two tallies (different cases), or a panel and two of its names (the same cases);
        a panel of two classifiers needs no names.
    margin
        A loss of true positive rate that would not matter, for example 0.05: then
        ``p_noninferior`` says whether a larger loss can be excluded at every false
        positive rate.
    points
        How many false positive rates the band has.

    Examples
    --------
    >>> good = Tally([3, 2, 1], pos=[6, 3, 1], neg=[0, 2, 8])
    >>> poor = Tally([3, 2, 1], pos=[3, 4, 3], neg=[2, 4, 4])
    >>> answer = dominates(good, poor)
    >>> answer.verdict, answer.fpr_better, answer.recall_better
    ('dominates', ((0.0, 1.0),), ((0.0, 1.0),))
    """
    request = _request(
        margin=margin, level=level, points=points, rng=rng, replicates=replicates
    )
    if isinstance(data, Tally) and isinstance(other, Tally) and reference is None:
        return _dominance_on_different_cases(data.labelled(), other.labelled(), request)

    # the same cases: two columns of a panel
    names = [name for name in (other, reference) if isinstance(name, str)]
    if isinstance(data, Panel) and not names:
        names = list(data.names)  # a panel of two needs no names
    if not isinstance(data, Panel) or len(names) != 2:
        raise InputError(
            "dominates needs two tallies, or a panel and two of its names.",
            example=PythonCode(
                'trueness.dominates(a, b) or trueness.dominates(panel, "a", "b")'
            ),
        )

    pair = (names[0], names[1])
    return _dominance_on_same_cases(data, [pair], request)[pair]


def dominance_of_pairs(
    panel: Panel,
    pairs: Sequence[tuple[str, str]],
    *,
    margin: float | None = None,
    level: float = 0.95,
    points: int = 101,
    rng: Seed = 0,
    replicates: int = 1000,
) -> dict[tuple[str, str], Dominance]:
    """Return the answers of :func:`dominates` for several pairs on the same cases."""
    if not pairs:
        return {}
    request = _request(
        margin=margin, level=level, points=points, rng=rng, replicates=replicates
    )
    return _dominance_on_same_cases(panel, pairs, request)


def _request(
    *, margin: float | None, level: float, points: int, rng: Seed, replicates: int
) -> CurveRequest:
    """Return the options of a comparison of curves, checked."""
    points = _options.whole_number(points, "points", at_least=3, at_most=10**6)
    return CurveRequest(
        grid=np.linspace(0, 1, points + 1)[:-1],
        level=_options.fraction(level, "level"),
        margin=read_margin(margin),
        replicates=_options.whole_number(replicates, "replicates", at_least=100),
        rng=_options.generator(rng),
    )


def _dominance_on_different_cases(
    first: Tally, second: Tally, request: CurveRequest
) -> Dominance:
    """Return how the curves of two classifiers on different cases compare."""
    for tally in (first, second):
        _cases.both_classes(tally, "dominates")

    # independent samples are redrawn independently
    first_curves = redrawn_curves(first, [first], request)[0]
    second_curves = redrawn_curves(second, [second], request)[0]
    redrawn_differences = first_curves - second_curves
    multipliers = normal_multipliers(request)
    dominance = _dominance(first, second, redrawn_differences, multipliers, request)
    return replace(dominance, paired=False)


def _dominance_on_same_cases(
    panel: Panel, pairs: Sequence[tuple[str, str]], request: CurveRequest
) -> dict[tuple[str, str], Dominance]:
    """Return how the curves of pairs compare, all on the same redrawn cases."""
    names = list(dict.fromkeys(chain.from_iterable(pairs)))
    panel = panel[names].labelled()
    _cases.complete_outputs(panel, "dominates")
    tallies = {name: panel[name] for name in names}
    for tally in tallies.values():
        _cases.both_classes(tally, "dominates")

    # one draw of cases for all classifiers keeps their correlation
    redrawn = redrawn_curves(panel, list(tallies.values()), request)
    curves = dict(zip(names, redrawn, strict=True))
    multipliers = normal_multipliers(request)
    answers = {}
    for first, second in pairs:
        redrawn_differences = curves[first] - curves[second]
        answer = _dominance(
            tallies[first], tallies[second], redrawn_differences, multipliers, request
        )
        answers[first, second] = replace(answer, names=(first, second))

    return answers


def _dominance(
    first: Tally,
    second: Tally,
    redrawn_differences: Floats,
    multipliers: Floats,
    request: CurveRequest,
) -> Dominance:
    """Return how two curves compare, in the sample and in the population.

    ``redrawn_differences`` are those of bootstrap samples, (replicates, grid).
    """
    fpr_better, fpr_worse = ranges_by_fpr(first, second)
    recall_better, recall_worse = ranges_by_recall(first, second)
    uncertain = uncertain_difference(
        first, second, redrawn_differences, multipliers, request
    )
    band = simultaneous_band(uncertain, request.level)
    better, worse = tests_of_ranges(uncertain, request.grid)
    # the distance of a one-sided bound from the difference, at each rate
    one_sided = NormalDist().inv_cdf(request.level) * uncertain.standard_error

    return Dominance(
        verdict=_VERDICTS[bool(fpr_better), bool(fpr_worse)],
        fpr_better=fpr_better,
        fpr_worse=fpr_worse,
        recall_better=recall_better,
        recall_worse=recall_worse,
        p_better=better.p_value,
        p_worse=worse.p_value,
        range_better=better.clearest_range,
        range_worse=worse.clearest_range,
        p_value=min(1.0, 2 * min(better.p_value, worse.p_value)),
        # the largest of the one-sided bounds at all rates (Berger 1982)
        margin=float(np.clip(one_sided - uncertain.value, 0.0, 1.0).max()),
        margin_first=float(np.clip(one_sided + uncertain.value, 0.0, 1.0).max()),
        tested_margin=request.margin,
        p_noninferior=p_value_of_margin(uncertain, request.margin),
        significantly_better=_ranges_where(request.grid, band.low > 0),
        significantly_worse=_ranges_where(request.grid, band.high < 0),
        fpr=request.grid,
        difference=uncertain.value,
        low=band.low,
        high=band.high,
        level=request.level,
        paired=True,
    )


# by whether the first is better somewhere, and whether it is worse somewhere
_VERDICTS = {
    (False, False): "equal",
    (False, True): "is dominated",
    (True, False): "dominates",
    (True, True): "crosses",
}


def _ranges_where(grid: Floats, is_inside: Array) -> Ranges:
    """Return the ranges of consecutive grid points for which a condition holds."""
    # one change starts a range, and the next change ends it
    # False before and after, so that a range at either end has two edges
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_inside, [False]])))
    starts = edges[::2]
    stops = edges[1::2]
    return tuple(
        (float(grid[start]), float(grid[stop - 1]))
        for start, stop in zip(starts, stops, strict=True)
    )


def difference_figure(dominance: Dominance, name: str = "") -> Curves:
    """Return the figure of a difference of two curves, with its band."""
    # the axis has a length even where both curves are equal
    largest = max(
        0.01, float(abs(dominance.low).max()), float(abs(dominance.high).max())
    )
    x_axis = Axis("fpr", "False positive rate")
    y_axis = Axis("difference", "Difference of true positive rates", -largest, largest)
    line = Line(
        name or "first - second",
        {
            "fpr": dominance.fpr,
            "difference": dominance.difference,
            "low": dominance.low,
            "high": dominance.high,
        },
    )
    zero = guide(x_axis, y_axis, [0, 1], [0, 0])
    return Curves(
        "Difference of two ROC curves", x_axis, y_axis, (line,), (line,), (zero,)
    )
