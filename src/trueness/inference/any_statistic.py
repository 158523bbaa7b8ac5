r"""Any statistic of your own, with a confidence interval.

``estimate`` takes a function of counts. An analysis of Trueness has influence values of
its own, and the same interval here as when it is called. Another function is computed
on redrawn cases (``bootstrap``), or if it is smooth, without one case at a time
(``jackknife``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.imports import HigherFunction
from trueness._core.records import Estimate
from trueness.counts.answers import of_counts, refuse
from trueness.counts.resampling import Seed
from trueness.counts.values import Panel, Tally
from trueness.inference.bootstrap import bootstrap_values
from trueness.inference.estimates import (
    estimate_from_interval,
    estimate_from_replicates,
    estimate_from_variance,
    interval_notes,
    reported_estimate,
)
from trueness.inference.jackknife import (
    LABELLED_ONLY,
    Statistic,
    check_between,
    evaluate_by_jackknife,
    evaluate_statistic,
    number_from,
    read_ends,
)
from trueness.inference.sample import apply_design
from trueness.inference.variance import VarianceEstimate

METHODS = ("bootstrap", "jackknife")
# an analysis or a metric by its name
STATISTIC_BY_NAME: HigherFunction[Callable[[str], Any]] = HigherFunction(
    "statistic_by_name"
)


@of_counts
def estimate(
    data: Tally | Panel,
    statistic: Statistic | str,
    *,
    method: str = "bootstrap",
    value_range: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 1000,
) -> Estimate:
    """Estimate of any statistic, with a confidence interval.

    How large is a statistic of your own, and how precise is the estimate?

    Parameters
    ----------
    data
        The counts, a panel, or labels and scores.
    statistic
        A function from a tally (or a panel) to a number, for example ``lambda t:
        t.score @ t.pos / t.n_pos``. It should not change when all counts are doubled.
    method
        For your own functions. ``"bootstrap"``: percentiles of redrawn cases (Efron
        1979), of clusters by Rao and Wu (1988). ``"jackknife"``: Student's interval
        from values without one case each, for smooth functions such as means and
        quotients; not for quantiles.

    Notes
    -----
    An analysis of Trueness, such as :func:`auc`, has the same interval here as when it
    is called. With more than 10,000 cases of a class, or clusters, replicates are drawn
    from random parts (bag of little bootstraps, Kleiner et al. 2014). The jackknife
    calls a function up to 800 times: each time one case of a row is left out (Efron
    1982, ch. 6). Above 400 rows, neighbouring scores are assumed to have the same
    influence. For a panel, random groups of rows are left out (delete-a-group
    jackknife, Kott 2001).

    References
    ----------
    Efron (1979), Ann. Stat. 7:1; Efron (1982), The Jackknife, the Bootstrap and Other
    Resampling Plans; Kleiner et al. (2014), J. R. Stat. Soc. B 76:795; Kott (2001), J.
    Off. Stat. 17:521; Rao, Wu (1988), J. Am. Stat. Assoc. 83:231

    Examples
    --------
    >>> t = Tally([1, 0], pos=[9, 1], neg=[2, 18])
    >>> e = estimate(t, lambda t: t.pos[t.score >= 1].sum() / t.n_pos)
    >>> e.value
    0.9
    """
    level = _options.fraction(level, "level")
    function = statistic
    if isinstance(function, str):
        function = STATISTIC_BY_NAME.load()(function)
    function = _options.statistic(function, "estimate")
    _options.choice(method, METHODS, "method")
    if has_measure(data, function):
        evaluated = evaluate_statistic(data, function, ends=value_range, level=level)
        return reported_estimate(evaluated)
    if method == "jackknife":
        return reported_estimate(
            evaluate_by_jackknife(data, function, value_range, level)
        )

    bootstrapped = bootstrap_statistic(
        data, function, ends=value_range, level=level, rng=rng, replicates=replicates
    )
    return bootstrapped.estimate


def has_measure(data: object, statistic: Statistic) -> bool:
    """Return whether a statistic has influence values of its own for these cases."""
    return isinstance(data, Tally) and hasattr(statistic, "measure")


class BootstrappedStatistic(NamedTuple):
    """A statistic with its interval, and its values in redrawn samples."""

    estimate: Estimate
    replicates: Floats


def bootstrap_statistic(
    data: Tally | Panel,
    statistic: Statistic,
    *,
    ends: tuple[float, float],
    level: float,
    rng: Seed,
    replicates: int,
    name: str = "",
) -> BootstrappedStatistic:
    """Return a statistic with the percentile interval of redrawn cases."""
    value_range = read_ends(ends)
    replicates = _options.whole_number(replicates, "replicates", at_least=100)
    generator = _options.generator(rng)
    refuse(data, "estimate", {"unlabelled": LABELLED_ONLY})
    _cases.some_labels(data, "estimate")

    sample = apply_design(data)
    value = number_from(statistic, sample.target_counts)
    check_between(value, value_range)
    if math.isnan(value):
        return BootstrappedStatistic(_undefined_estimate(level, name), np.zeros(0))

    def statistics_of(cases: Tally | Panel) -> list[float]:
        return [number_from(statistic, cases, may_be_undefined=True)]

    # (replicates, 1): one statistic
    replicate_table = bootstrap_values(sample, statistics_of, replicates, generator)
    replicate_values = replicate_table[:, 0]
    if varies(replicate_values):
        notes = (*interval_notes(data), *_notes_on_undefined(replicate_values))
        estimated = estimate_from_replicates(
            value, replicate_values, level, name=name, notes=notes
        )
        return BootstrappedStatistic(estimated, replicate_values)

    # nothing varied: the interval allows for a kind of cases that the sample lacks
    constant = constant_variance(sample.observed)
    estimated = estimate_from_variance(value, constant, value_range, level, name, data)
    return BootstrappedStatistic(estimated, replicate_values)


def varies(replicates: Floats) -> bool:
    """Return whether two defined replicates differ."""
    defined = replicates[np.isfinite(replicates)]
    return defined.size > 1 and bool(np.ptp(defined) > 0)


def constant_variance(cases: Tally | Panel) -> VarianceEstimate:
    """Return the variance of a value that is the same in all redrawn samples."""
    units = float(min(cases.equal_cases))
    return VarianceEstimate(0.0, math.inf, units, constant_class_sizes=(units,))


def _undefined_estimate(level: float, name: str) -> Estimate:
    note = "The statistic is undefined (NaN) for these cases."
    return estimate_from_interval(
        math.nan, math.nan, math.nan, level, "bootstrap", name=name, notes=(note,)
    )


def _notes_on_undefined(values: Floats) -> list[str]:
    """Return a note where the statistic is undefined for redrawn cases."""
    undefined = 1 - float(np.isfinite(values).mean())
    if not undefined:
        return []
    return [
        f"The statistic is undefined in {100 * undefined:.2g} % of the redrawn "
        "samples, which the interval leaves out."
    ]
