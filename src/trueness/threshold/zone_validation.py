"""How far can two chosen cuts be trusted, and which two keep their promise?

``validate_thresholds`` chooses the pair again and again on resampled cases;
``guaranteed_thresholds`` gives the smallest zone of doubt outside of which constraints
hold in the population.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.records import Estimate, Record
from trueness.counts.answers import of_tally
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.counts.weights import remark
from trueness.metrics.algebra import Metric, as_fraction
from trueness.metrics.confusion import Confusion
from trueness.metrics.intervals import weighed_cells
from trueness.threshold.at_cut import confusion
from trueness.threshold.cuts import (
    Cuts,
    Interval,
    all_cuts,
    in_units,
    make_cuts,
    whole_cuts,
)
from trueness.threshold.guarantees import Proof, proofs_at, prove
from trueness.threshold.operating_point import ConstraintLike, read_objective
from trueness.threshold.pairs import Sum, best_pairs
from trueness.threshold.validation import (
    DRAWS,
    Again,
    chosen_again,
    class_sizes,
    counts_between,
    interval_of_draws,
    rehearse,
    sample_counts,
    sample_space,
    spread,
    without_optimism,
)
from trueness.threshold.zones import (
    Sided,
    Zones,
    best_thresholds,
    choose_pair,
    fewest_deferred,
    forbidding,
    read_sided,
    two_cuts,
)

# what is shown besides objective and constraints
_SHOWN = ("defer", "precision above", "npv below", "recall above", "fpr above")


@final
@dataclass(frozen=True, repr=False)
class ZoneValidation(Record):
    """What can be expected of two chosen thresholds on new cases?

    Attributes
    ----------
    zones : Zones
        The choice made from all cases.
    lower, upper : Estimate
        The chosen thresholds and the intervals in which repeated choices lie.
    value : float
        The objective in the sample, where the thresholds were chosen.
    corrected : Estimate
        What to expect of the choice on new cases, with an interval for the objective of
        the chosen rule in the population.
    optimism : float
        ``value - corrected.value``.
    metrics : dict of str to Estimate
        The deferred share, precision above, NPV below and every bounded metric, with
        intervals that allow for the choice.
    holds : dict of str to float
        How often each constraint held on the cases left out.
    failed : float
        The share of resamples in which no pair of thresholds met the constraints.
    notes : tuple of str
        What to keep in mind.
    """

    zones: Zones
    lower: Estimate
    upper: Estimate
    value: float
    corrected: Estimate
    optimism: float
    metrics: dict[str, Estimate]
    holds: dict[str, float]
    failed: float
    notes: tuple[str, ...] = ()


class _Outcome(NamedTuple):
    """Counts in the three zones, one entry a draw: flagged, doubtful, cleared."""

    tp: Any
    fp: Any
    doubt_pos: Any
    doubt_neg: Any
    fn: Any
    tn: Any

    def measure(self, what: Sided | Metric, cuts: Cuts) -> Any:
        """Evaluate an objective, or the metric that a constraint bounds."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if isinstance(what, Sided) and what.side == "above":
                missed, rest = self.fn + self.doubt_pos, self.tn + self.doubt_neg
                return what.asked.metric(Confusion(self.tp, self.fp, missed, rest))
            if isinstance(what, Sided) and what.side == "below":
                found, alarms = self.tp + self.doubt_pos, self.fp + self.doubt_neg
                return what.asked.metric(Confusion(found, alarms, self.fn, self.tn))
            m = what.asked.metric if isinstance(what, Sided) else what
            pos, neg = float(cuts.positives), float(cuts.negatives)
            doubt = self.doubt_pos + self.doubt_neg
            known = {"deferred": doubt, "defer": doubt / (pos + neg)}
            known |= {"cases": pos + neg, "positives": pos, "negatives": neg}
            decided = Confusion(self.tp, self.fp, self.fn, self.tn)
            return m.constant + sum(
                w * (known[part.name] if part.name in known else part(decided))
                for w, part in m.parts
            )


@of_tally(weights=True)
def validate_thresholds(
    t: Tally,
    maximize: str | Metric | None = None,
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    prevalence: float | None = None,
    *,
    minimize: str | Metric | None = None,
    replicates: int = 500,
    level: float = 0.95,
    rng: Seed = 0,
) -> ZoneValidation:
    r"""What can be expected of two chosen thresholds on new cases?

    The choice of :func:`best_thresholds` is repeated on bootstrap samples, each time
    evaluated on the cases that the sample left out, as in :func:`validate_threshold`.

    Parameters
    ----------
    t
        Scores and labels of one classifier, both classes present.
    maximize, minimize, subject_to, prevalence
        As in :func:`best_thresholds`.
    replicates, level, rng
        As in :func:`validate_threshold`.

    Notes
    -----
    The shares of a class in the three zones are corrected for their bootstrap optimism;
    the intervals are quantiles of Dirichlet posteriors (Jeffreys' prior) around the
    corrected shares, so that they allow for the choice.

    References
    ----------
    Efron 1983, J. Am. Stat. Assoc. 78:316, doi:10.2307/2288636.

    Examples
    --------
    >>> t = Tally([3, 2, 1], pos=[60, 30, 10], neg=[10, 30, 160])
    >>> v = validate_thresholds(t, minimize="cost(fp=2, fn=2) + 0.5*deferred")
    >>> v.value, v.corrected.low < 70 < v.corrected.high
    (70.0, True)
    """
    zones = best_thresholds(t, maximize, subject_to, prevalence, minimize=minimize)
    _cases.both_classes(t, "validate_thresholds")
    level = _options.fraction(level, "level")
    replicates = _options.whole_number(replicates, "replicates", at_least=2)
    rng = _options.generator(rng)
    shown, objective = read_objective(maximize, minimize)
    bounds = read_sided(subject_to)
    cuts = whole_cuts(t, prevalence, "validate_thresholds")
    task = _ZoneTask(t.labelled(), cuts, objective, bounds)
    lacking = "no pair of thresholds met the constraints"
    choose = partial(_choose, task, sample_space(task.tally))
    runs = rehearse(task.tally, choose, replicates, rng, "validate_thresholds", lacking)
    left = _outcome(task, runs.left.astype(np.float64).T)
    pooled = _outcome(task, runs.left.sum(axis=0, dtype=np.float64))
    drawn = _posterior(task, zones, runs, level, rng)
    expected = float(pooled.measure(shown, cuts))
    return ZoneValidation(
        zones=zones,
        lower=spread(zones.lower, runs.chosen[:, 1], level),
        upper=spread(zones.upper, runs.chosen[:, 0], level),
        value=zones.value,
        corrected=interval_of_draws(drawn.measure(shown, cuts), expected, level),
        optimism=zones.value - expected,
        metrics=_metrics(task, zones, drawn, level),
        holds={
            str(k): float(np.mean(k.asked.decide(left.measure(k, cuts))))
            for k in bounds
        },
        failed=1 - len(runs.left) / replicates,
        notes=(
            "The cases are assumed to be independent and like those in use; what a "
            "person decides about the deferred cases is not included.",
            *remark(t),
        ),
    )


class _ZoneTask(NamedTuple):
    tally: Tally
    cuts: Cuts
    objective: Metric
    bounds: tuple[Sided, ...]


def _choose(
    task: _ZoneTask,
    space: Array,
    pos: Array,
    neg: Array,
    pos_out: Array,
    neg_out: Array,
) -> Again | None:
    seen = sample_counts(space, pos, neg, both=True)
    if seen is None:
        return None
    cuts = _sampled(task.cuts, seen)
    found, _ = choose_pair(cuts, task.objective, task.bounds)
    if found is None:
        return None
    flagged = seen.tp + seen.fp
    # rows without a case of the sample repeat a cut: the first of them is meant
    first = [
        int(np.searchsorted(flagged, flagged[k])) for k in fewest_deferred(cuts, found)
    ]
    upper, lower = (chosen_again(task.tally, seen, k, pos, neg) for k in first)
    return Again(
        (upper.threshold, lower.threshold),
        counts_between([upper.row, lower.row], pos_out, neg_out),
        upper.bag + lower.bag,
        upper.whole + lower.whole,
    )


def _sampled(whole: Cuts, seen: Confusion) -> Cuts:
    """Give the cuts of a sample: of weights in the unit of all cases."""
    if not whole.weighted:
        return make_cuts(whole.score, seen, whole.asked)
    units = Confusion(*(np.rint(c / whole.unit).astype(np.int64) for c in seen.cells))
    return in_units(whole.score, units, whole.unit, whole.asked)


def _outcome(task: _ZoneTask, counts: Floats) -> _Outcome:
    """Scale counts in the zones to the number of cases and prevalence of use."""
    n = float(task.cuts.positives + task.cuts.negatives)
    pos, neg = counts[0::2].sum(axis=0), counts[1::2].sum(axis=0)
    if task.cuts.asked is None:
        times = n / np.where(pos + neg > 0, pos + neg, 1)
        return _Outcome(*(c * times for c in counts))
    up = n * task.cuts.asked / np.where(pos > 0, pos, 1)
    down = n * (1 - task.cuts.asked) / np.where(neg > 0, neg, 1)
    return _Outcome(*(c * (down if k % 2 else up) for k, c in enumerate(counts)))


def _posterior(
    task: _ZoneTask,
    zones: Zones,
    runs: Again,
    level: float,
    rng: np.random.Generator,
) -> _Outcome:
    """Draw outcomes of the chosen rule in the population; see ``validation.py``."""
    parts = []
    # the shares from the upper cut on, and from the lower one on
    cuts = [confusion(task.tally, cut) for cut in (zones.upper, zones.lower)]
    sizes = [
        class_sizes(c, weighed_cells(task.tally, task.tally.score >= cut), level)
        for c, cut in zip(cuts, (zones.upper, zones.lower), strict=True)
    ]
    for k in (0, 1):
        (high, many), (low, few) = (
            without_optimism(_rates(c)[k], size[k], runs, at)
            for c, size, at in zip(cuts, sizes, (k, k + 2), strict=True)
        )
        shares = np.array([high, max(low - high, 0.0), 1 - max(high, low)])
        parts.append(rng.dirichlet(shares * min(many, few) + 0.5, DRAWS).T)
    share: Any = task.cuts.asked
    if share is None:
        share = sizes[0].draw_share(task.cuts.prevalence, rng)
    n = float(task.cuts.positives + task.cuts.negatives)
    (tp, dp, fn), (fp, dn, tn) = n * share * parts[0], n * (1 - share) * parts[1]
    return _Outcome(tp, fp, dp, dn, fn, tn)


def _rates(c: Confusion) -> tuple[float, float]:
    return float(c.tp / (c.tp + c.fn)), float(c.fp / (c.fp + c.tn))


def _metrics(
    task: _ZoneTask, zones: Zones, drawn: _Outcome, level: float
) -> dict[str, Estimate]:
    c = zones.confusion
    seen = np.array([c.tp, c.fp, zones.deferred_pos, zones.deferred_neg, c.fn, c.tn])
    here = _outcome(task, seen.astype(np.float64))
    asked = {k: read_sided(f"{k} >= 0")[0] for k in _SHOWN}
    for bound in task.bounds:
        side = f" {bound.side}" if bound.side else ""
        asked.setdefault(bound.asked.metric.name + side, bound)
    found = {}
    for name, bound in asked.items():
        value = float(here.measure(bound, task.cuts))
        if math.isfinite(value):
            values = drawn.measure(bound, task.cuts)
            found[name] = interval_of_draws(values, value, level)
    return found


@final
@dataclass(frozen=True, repr=False)
class GuaranteedZones(Record):
    """Which two thresholds guarantee constraints in the population?

    Attributes
    ----------
    lower, upper, lower_interval, upper_interval, confusion
        As in :class:`Zones`.
    constraint : str
        What is guaranteed.
    confidence : float
        The confidence with which all constraints hold at once.
    defer : float
        The share of the cases between the two thresholds.
    proofs : tuple of Proof
        One for each constraint.
    notes : tuple of str
        What to keep in mind.
    """

    lower: float
    upper: float
    lower_interval: Interval
    upper_interval: Interval
    constraint: str
    confidence: float
    defer: float
    confusion: Confusion
    proofs: tuple[Proof, ...]
    notes: tuple[str, ...] = ()


@of_tally(
    weights="Its bound is exact for a number of independent cases. at_threshold "
    "takes weights."
)
def guaranteed_thresholds(
    t: Tally,
    constraint: ConstraintLike | Iterable[ConstraintLike],
    *,
    confidence: float = 0.95,
    prevalence: Any = None,
    rng: Seed = 0,
) -> GuaranteedZones:
    r"""Which two thresholds guarantee constraints, with the fewest deferred cases?

    Parameters
    ----------
    t
        Labelled cases, drawn independently from the population of use.
    constraint
        Bounds on either side: ``["precision above >= 0.9", "npv below >= 0.99"]``,
        ``"fnr below <= 0.05"``; what :func:`guaranteed_threshold` can prove.
    confidence
        The probability with which all of them must hold at once.
    prevalence
        As in :func:`guaranteed_threshold`.
    rng
        Seed or generator, for shares whose cases are split at random.

    Returns
    -------
    GuaranteedZones
        Of all pairs of proved thresholds the one with the fewest deferred cases. Since
        the guarantee holds for all of them at once, that choice does not weaken it.

    Raises
    ------
    NotEnoughCases
        These cases cannot prove a constraint at any threshold.

    Notes
    -----
    Each of k constraints is proved at :math:`(1 - confidence)/k`, as in
    :func:`guaranteed_threshold`; "above" constraints determine which upper thresholds
    are allowed, "below" constraints which lower ones.

    Examples
    --------
    >>> t = Tally([3, 2, 1], pos=[80, 10, 0], neg=[0, 10, 100])
    >>> z = guaranteed_thresholds(t, ["fpr above <= 0.05", "fnr below <= 0.05"])
    >>> z.lower, z.upper
    (1.5, 2.5)
    """
    bounds = _one_sided(constraint)
    _cases.one_classifier(t, "guaranteed_thresholds")
    _cases.some_labels(t, "guaranteed_thresholds")
    t = t.labelled()
    confidence = _options.fraction(confidence, "confidence")
    alpha = float((1 - as_fraction(confidence)) / len(bounds))
    generator = _options.generator(rng)
    proved = [prove(t, k.asked, alpha, generator, prevalence) for k in bounds]
    rows = [
        forbidding(k, np.isin(np.arange(len(t) + 1), p.cuts))
        for k, p in zip(bounds, proved, strict=True)
    ]
    cases = np.concatenate([[0], np.cumsum(t.pos + t.neg)])
    found = best_pairs(Sum(cases, -cases), rows)
    if found is None:
        raise NotEnoughCases(
            "Each constraint can be guaranteed, but the lower threshold would lie "
            "above the upper one. Loosen one of them, or ask for one threshold: "
            "guaranteed_threshold."
        )
    i, j = int(found.first[0]), int(found.second[0])
    proofs = [
        proofs_at(p, i if k.side == "above" else j, 1 - alpha)
        for k, p in zip(bounds, proved, strict=True)
    ]
    return GuaranteedZones(
        **two_cuts(all_cuts(t, None, "guaranteed_thresholds"), i, j),
        constraint=" and ".join(map(str, bounds)),
        confidence=confidence,
        defer=float(cases[j] - cases[i]) / float(cases[-1]),
        proofs=tuple(proofs),
        notes=(
            "The guarantee is about cases like these, drawn independently; it does "
            "not hold for another population.",
        ),
    )


def _one_sided(constraint: Any) -> tuple[Sided, ...]:
    bounds = read_sided(constraint)
    if not bounds:
        raise InputError(
            "A guarantee needs a constraint; found none. Type "
            '["precision above >= 0.9", "npv below >= 0.99"].'
        )
    for bound in bounds:
        if not bound.side:
            raise InputError(
                f"A guarantee for two thresholds is about one side; found {bound}. "
                'Type "precision above >= 0.9" or "npv below >= 0.99".'
            )
    return bounds
