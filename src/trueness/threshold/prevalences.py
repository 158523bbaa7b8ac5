"""Which prevalence do the cases have in use, and where is a choice worst?

A prevalence of use is one number, which the sampling design says; a range, of which
nothing more is known; or an estimate with a confidence interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described
from trueness._core.numbers import level_text
from trueness._core.records import Estimate
from trueness.counts.values import Panel, Tally
from trueness.inference.sample import check_prevalence_known
from trueness.metrics.algebra import Metric, depends_on_prevalence

# what people may pass as ``prevalences=``
Prevalences = tuple[float, float] | Estimate | None

# prevalences of a range that are tried when the worst need not be at one of its ends
GRID_POINTS = 33


class UsePrevalence(NamedTuple):
    """The prevalence of use: known (all three equal), a range, or an estimate.

    ``level`` is the confidence of ``low`` to ``high`` for an estimate; None otherwise.
    """

    low: float
    value: float
    high: float
    level: float | None = None

    @property
    def is_range(self) -> bool:
        """Return whether it is a range of which nothing more is known."""
        return self.level is None and self.low < self.high

    @property
    def ends(self) -> tuple[float, ...]:
        """Return both ends of a range; otherwise the prevalence itself."""
        if self.is_range:
            return (self.low, self.high)
        return (self.value,)

    def at_standard_errors(
        self, z: ArrayLike, level: float, smallest: float = 1e-9
    ) -> Floats:
        """Return the prevalence that lies z standard errors from the estimate.

        Normal on the scale of log odds, with a standard error of its own to either
        side. An interval may reach 0 or 1, where log odds are infinite: prevalences
        below ``smallest``, or that close to 1, are moved there.
        """
        z = np.asarray(z)
        points = np.clip([self.low, self.value, self.high], smallest, 1 - smallest)
        low, middle, high = np.log(points / (1 - points))

        # an interval of a proportion is wider on one side
        half_width = np.where(z < 0, middle - low, high - middle)
        quantile = NormalDist().inv_cdf((1 + level) / 2)
        # beyond 700 the exponential of a float overflows
        log_odds = np.clip(middle + z / quantile * half_width, -700, 700)
        return np.asarray(1 / (1 + np.exp(-log_odds)))

    def describe(self) -> str:
        """Return the prevalence as text: one number, a range, or an interval."""
        if self.level is not None:
            interval = f"{self.low:.4g} to {self.high:.4g}"
            return f"{self.value:.4g} ({level_text(self.level)} {interval})"
        if self.is_range:
            return f"{self.low:g} to {self.high:g}"
        return f"{self.low:g}"


def prevalence_of_use(
    data: Tally | Panel, prevalences: Prevalences = None
) -> UsePrevalence | None:
    """Return the prevalence of use: from ``prevalences``, or from the design."""
    of_design = data.design.prevalence
    if prevalences is None:
        return read_prevalence(of_design)
    if of_design is None:
        return read_prevalence(prevalences)

    raise InputError(
        f"One prevalence or a range of them is needed, not both; found {of_design:g} "
        f"and {described(prevalences)}.",
        option="prevalences",
    )


def read_prevalence(value: float | Prevalences | UsePrevalence) -> UsePrevalence | None:
    """Return a prevalence of use, from a number, two numbers, or an estimate."""
    if value is None or isinstance(value, UsePrevalence):
        return value
    if isinstance(value, Estimate):
        return _read_estimate(value)
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return _read_range(value)

    number = _options.fraction(value, "prevalence")
    return UsePrevalence(low=number, value=number, high=number)


def _read_estimate(estimate: Estimate) -> UsePrevalence:
    """Return the prevalence of an estimate, with its interval."""
    value = _options.fraction(estimate.value, "prevalence")
    if not 0 <= estimate.low <= value <= estimate.high <= 1:
        raise InputError(
            f"prevalence must be an estimate with an interval between 0 and 1 "
            f"around its value; found {estimate!r}.",
            option="prevalences",
        )
    return UsePrevalence(estimate.low, value, estimate.high, estimate.level)


def _read_range(pair: Sequence[Any]) -> UsePrevalence:
    """Return the prevalence of a range; its middle stands for its value."""
    low, high = _options.share_range(pair, "prevalence")
    if not 0 < low < high < 1:
        raise InputError(
            "prevalence must be a range between 0 and 1, without its ends; found "
            f"({low:g}, {high:g}).",
            option="prevalences",
            example=(0.01, 0.05),
        )
    return UsePrevalence(low=low, value=(low + high) / 2, high=high)


def check_prevalence_of_use(
    data: Tally | Panel,
    prevalence: UsePrevalence | None,
    metrics: Iterable[Metric],
    analysis: str,
) -> None:
    """Refuse metrics that need a prevalence when a case-control sample has none."""
    if prevalence is not None:
        return
    for metric in metrics:
        if depends_on_prevalence(metric):
            check_prevalence_known(data, f"{metric.name} in {analysis}")


def prevalences_to_try(
    prevalence: UsePrevalence | None, metrics: Iterable[Metric]
) -> list[float | None]:
    """Return the prevalences among which the worst of a range is found.

    The ends are enough when every metric only rises or only falls from one to the
    other; otherwise a grid is tried. None is the prevalence of the sample.
    """
    if prevalence is None:
        return [None]
    if not prevalence.is_range:
        return [prevalence.value]

    monotone = all(is_monotone_in_prevalence(metric) for metric in metrics)
    points = 2 if monotone else GRID_POINTS
    return [*np.linspace(prevalence.low, prevalence.high, points).tolist()]


def is_monotone_in_prevalence(metric: Metric) -> bool:
    """Return whether the metric, at any cut, is monotone in the prevalence.

    A quotient of two linear functions does, and so does a linear function: counts are
    linear in the prevalence when the number of cases stays the same.
    """
    if metric.ratio is not None:
        return True
    return all(_is_linear_in_prevalence(term) for _, term in metric.parts)


def _is_linear_in_prevalence(term: Metric) -> bool:
    if not depends_on_prevalence(term):
        return True
    # a sum of counts, or its proportion of all cases
    return term.ratio is not None and term.ratio.under in (None, (1, 1, 1, 1))
