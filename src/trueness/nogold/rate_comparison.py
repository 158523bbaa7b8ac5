r"""Which system has the higher true rate, and how many labels does an answer take?

``compare_prevalence`` compares the rates of several systems whose answers were judged;
``plan_labels`` says how many labels an interval of a given width takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, product
from types import MappingProxyType
from typing import Any, final

import numpy as np
from scipy.special import chdtrc, ndtri

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.records import Estimate, Record
from trueness.counts.values import Panel
from trueness.nogold import truth_given_votes as _truth
from trueness.nogold.model import log_sigmoids
from trueness.nogold.posterior import estimate
from trueness.nogold.random_effect import RandomEffect, spread_of
from trueness.nogold.rate import (
    Votes,
    prevalence,
    read_verdicts,
    read_votes,
    shares,
    standard_error,
)

JUDGES = ("per system", "shared")


@final
@dataclass(frozen=True, repr=False)
class RateComparison(Record):
    """Which system has the higher true rate? One entry per pair.

    Attributes
    ----------
    first, second : array of str
        The systems.
    difference, low, high : array
        First minus second, with its interval.
    simultaneous_low, simultaneous_high : array
        Intervals that hold for all pairs at once.
    probability : array
        That the first is better.
    p_value, adjusted_p_value : array
        Two-sided, and adjusted for the number of pairs (Holm).
    rates : mapping from system to Estimate
        The rate of each.
    judges : str
        "shared" or "per system".
    notes : tuple of str
        What is assumed, and what the data say about it.
    """

    first: Array
    second: Array
    difference: Floats
    low: Floats
    high: Floats
    simultaneous_low: Floats
    simultaneous_high: Floats
    probability: Floats
    p_value: Floats
    adjusted_p_value: Floats
    rates: Mapping[str, Estimate]
    judges: str
    notes: tuple[str, ...]


def compare_prevalence(
    systems: Mapping[str, Any],
    *,
    labelled: str | None = None,
    judges: str = "per system",
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
) -> RateComparison:
    r"""Which system has the higher true rate, by judges that err?

    Parameters
    ----------
    systems
        From name to panel of verdicts on the answers of that system.
    labelled : {"random", "by verdict", "by truth"}
        As for :func:`trueness.prevalence`.
    judges : {"per system", "shared"}
        Whether judges may be of different accuracy on each system, or are taken to be
        the same everywhere (then all labels serve all systems; for labels at random or
        by verdict). A judge that favours its own kin is not the same everywhere: where
        both are possible this is tested, and said in ``notes``.
    level
        Of the intervals.
    rng
        A seed or a NumPy generator.

    Returns
    -------
    RateComparison
        With differences, intervals, P(first is better) and adjusted p-values.

    Notes
    -----
    The cases of different systems are taken to be independent. Answers to the same
    questions mostly go well or badly together, so that the intervals are then too wide
    rather than too narrow. Simultaneous intervals come from the distribution of the
    largest standardised difference.
    """
    if not isinstance(systems, Mapping) or len(systems) < 2:
        raise InputError(
            f"compare_prevalence needs a mapping of at least two systems; found "
            f'{systems!r:.80}. Type {{"system A": panel_a, "system B": panel_b}}.'
        )
    _options.choice(judges, JUDGES, "judges")
    level, rng = _options.fraction(level, "level"), _options.generator(rng)
    panels = {str(n): read_verdicts(p) for n, p in systems.items()}
    if judges == "shared":
        draws, notes = _shared(panels, labelled, rng)
    else:
        each = {
            n: prevalence(p, labelled=labelled, level=level, rng=rng)
            for n, p in panels.items()
        }
        draws = {n: r.draws for n, r in each.items()}
        notes = tuple(dict.fromkeys(note for r in each.values() for note in r.notes))
    p_same = _same_judges(panels, labelled)
    return _compared(draws, judges, level, (*notes, *_said(p_same, judges)))


def _shared(
    panels: Mapping[str, Panel], labelled: str | None, rng: np.random.Generator
) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """Fit one set of slopes, with an intercept for each system."""
    if labelled not in ("random", "by verdict"):
        raise InputError(
            f'judges="shared" needs labels at random or by verdict; found labelled='
            f'{labelled!r}. Type judges="per system".'
        )
    votes, x, at = _stacked(panels)
    data = _truth.Labelled(x, *(np.concatenate([v[i] for v in votes]) for i in (2, 3)))
    b = _truth.coefficients(data, rng)
    p = _truth.probabilities(b, x)
    draws = {
        n: (shares(v.total, len(p), rng) * p[:, at == s]).sum(axis=1)
        for s, (n, v) in enumerate(zip(panels, votes, strict=True))
    }
    note = "The judges are taken to be equally good on all systems."
    return draws, (note,)


def _stacked(panels: Mapping[str, Panel]) -> tuple[list[Votes], Floats, Array]:
    """Put the patterns of all systems below each other, with columns for systems."""
    first = next(iter(panels.values()))
    for name, p in panels.items():
        if set(p.names) != set(first.names):
            raise InputError(
                f"All systems must have the same judges; {name!r} has "
                f"{', '.join(p.names)}, and not {', '.join(first.names)}."
            )
    whole: Any = sum(p[list(first.names)] for p in panels.values())
    votes = [read_votes(p[list(first.names)], like=whole) for p in panels.values()]
    at = np.repeat(np.arange(len(votes)), [len(v.x) for v in votes])
    system = (at[:, None] == np.arange(1, len(votes))).astype(float)
    x = np.column_stack([np.vstack([v.x for v in votes]), system - system.mean(axis=0)])
    return votes, x, at


def _same_judges(panels: Mapping[str, Panel], labelled: str | None) -> float:
    """Test by the likelihood ratio whether the judges are the same everywhere."""
    if labelled == "by truth" or any(p.n_pos + p.n_neg == 0 for p in panels.values()):
        return np.nan
    if len({frozenset(p.names) for p in panels.values()}) > 1:
        return np.nan
    votes, x, at = _stacked(panels)
    pos, neg = (np.concatenate([v[i] for v in votes]) for i in (2, 3))
    k = votes[0].x.shape[1]
    own = [x[:, :k] * (at == s)[:, None] for s in range(1, len(votes))]
    wide = np.column_stack([x, *own])
    values = [_highest(_truth.Labelled(z, pos, neg)) for z in (x, wide)]
    return float(chdtrc(k * (len(votes) - 1), max(2 * (values[1] - values[0]), 0.0)))


def _highest(data: _truth.Labelled) -> float:
    b = _truth.mode(data)
    yes, no = log_sigmoids(b[0] + data.x @ b[1:])
    return float(yes @ data.pos + no @ data.neg)


def _said(p: float, judges: str) -> tuple[str, ...]:
    if not np.isfinite(p):
        return ()
    if p < 0.05:
        what = (
            'pass judges="per system"'
            if judges == "shared"
            else "here they are not taken to be"
        )
        return (
            f"The judges are not equally good on all systems (p = {p:.2g}): {what}.",
        )
    return (f"No sign that the judges differ between the systems (p = {p:.2g}).",)


def _compared(
    draws: Mapping[str, Floats], judges: str, level: float, notes: tuple[str, ...]
) -> RateComparison:
    pairs = list(combinations(draws, 2))
    gap = np.array([draws[a] - draws[b] for a, b in pairs])
    mean, sd = gap.mean(axis=1), np.maximum(gap.std(axis=1, ddof=1), 1e-300)
    low, high = np.quantile(gap, [(1 - level) / 2, (1 + level) / 2], axis=1)
    # the largest of all standardised distances: one band for all pairs
    most = np.abs((gap - mean[:, None]) / sd[:, None]).max(axis=0)
    reach = np.quantile(most, level) * sd
    better = ((gap > 0).sum(axis=1) + 0.5) / (gap.shape[1] + 1)
    p = 2 * np.minimum(better, 1 - better)
    return RateComparison(
        np.array([a for a, _ in pairs]),
        np.array([b for _, b in pairs]),
        mean,
        low,
        high,
        np.minimum(mean - reach, low),
        np.maximum(mean + reach, high),
        better,
        p,
        holm(p),
        MappingProxyType({n: estimate(d, level) for n, d in draws.items()}),
        judges,
        notes,
    )


def holm(p: Floats) -> Floats:
    """Adjust p-values for their number (Holm 1979, Scand. J. Stat. 6:65).

    >>> holm(np.array([0.01, 0.04, 0.03])).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    step = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    out = np.empty(p.size)
    out[order] = np.minimum(step, 1.0)
    return out


@final
@dataclass(frozen=True, repr=False)
class LabelNumber(Record):
    """How many labels does an interval of this width take?

    Attributes
    ----------
    labels : int
        Labels at random.
    width : float
        Expected width of the interval with them.
    without_judges : int
        Labels that it would take without any judge.
    notes : tuple of str
        What was assumed.
    """

    labels: int
    width: float
    without_judges: int
    notes: tuple[str, ...]


def plan_labels(
    panel: Any = None,
    *,
    width: float,
    prevalence: float | None = None,
    judges: int = 1,
    sensitivity: float = 0.85,
    specificity: float = 0.85,
    correlation: float = 0.0,
    cases: int = 2000,
    level: float = 0.95,
) -> LabelNumber:
    """How many labels at random does an interval of this width take?

    Parameters
    ----------
    panel
        Verdicts with some labels: their judges are taken as they are. Without a panel
        the numbers below say what is expected.
    width
        Of the whole interval, such as 0.1 for plus or minus 5 points.
    prevalence
        The rate that is expected.
    judges, sensitivity, specificity, correlation
        How many judges, how good, and how much their errors go together.
    cases
        How many cases there will be.
    level
        Of the interval.

    Returns
    -------
    LabelNumber
        With the number of labels, and what it would be without judges.

    Examples
    --------
    Without judges 0.25 * (2 * 1.96 / 0.1)^2 = 384 labels at a rate of one half.

    >>> plan_labels(width=0.1, prevalence=0.5, cases=10**6).without_judges
    385
    """
    width, level = _options.fraction(width, "width"), _options.fraction(level, "level")
    z = float(ndtri((1 + level) / 2))
    p, v, notes = (
        _expected(prevalence, judges, sensitivity, specificity, correlation, cases)
        if panel is None
        else _from_panel(panel)
    )
    share = v.total / v.total.sum()
    least = 2 * z * standard_error(p, v, v.total)
    if least > width:
        raise NotEnoughCases(
            f"With all of {v.total.sum():,.0f} cases labelled the interval is still "
            f"{least:.3f} wide, more than {width:g}. Take more cases or a wider one."
        )
    low, high = 1, int(v.total.sum())
    while low < high:
        n = (low + high) // 2
        if 2 * z * standard_error(p, v, n * share) > width:
            low = n + 1
        else:
            high = n
    rate = float(share @ p)
    alone = int(np.ceil(rate * (1 - rate) * (2 * z / width) ** 2))
    found = 2 * z * standard_error(p, v, low * share)
    return LabelNumber(low, found, alone, notes)


def _from_panel(panel: Any) -> tuple[Floats, Votes, tuple[str, ...]]:
    v = read_votes(read_verdicts(panel))
    if v.pos.sum() + v.neg.sum() == 0:
        raise NotEnoughCases(
            "plan_labels needs a few labels to know how good these judges are; found "
            "none. Label some, or give prevalence, sensitivity and specificity."
        )
    b = _truth.mode(_truth.Labelled(v.x, v.pos, v.neg))
    known = int(v.pos.sum() + v.neg.sum())
    note = f"The judges are taken to be as good as {known:,} labels say."
    return _truth.probabilities(b[None], v.x)[0], v, (note,)


def _expected(
    rate: float | None,
    judges: int,
    sensitivity: float,
    specificity: float,
    correlation: float,
    cases: int,
) -> tuple[Floats, Votes, tuple[str, ...]]:
    """Write down the table that is expected of such judges."""
    if not 0 <= correlation < 1:
        raise InputError(
            f"correlation must lie between 0 and 1 (not 1 itself); found {correlation}."
        )
    rate = 0.5 if rate is None else _options.fraction(rate, "prevalence")
    judges = _options.whole_number(judges, "judges", at_least=1)
    cases = _options.whole_number(cases, "cases", at_least=2)
    accuracy = [
        _options.fraction(v, w)
        for v, w in ((sensitivity, "sensitivity"), (specificity, "specificity"))
    ]
    rows = np.array(list(product((1.0, 0.0), repeat=judges)))
    a, b = (
        RandomEffect().probabilities(
            np.full((1, judges), q), np.array([[spread_of(q, correlation)]]), seen
        )[0]
        for q, seen in zip(accuracy, (rows, 1 - rows), strict=True)
    )
    total = rate * a + (1 - rate) * b
    x = rows - total @ rows / total.sum()
    none = np.zeros(len(rows))
    notes = (
        f"Expected: a rate of {rate:g}, {judges} judges with sensitivity "
        f"{sensitivity:g}, specificity {specificity:g} and an error correlation of "
        f"{correlation:g}, {cases:,} cases.",
    )
    return rate * a / total, Votes(x, cases * total, none, none, rows), notes
