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

from trueness._core.arrays import Array
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.records import Estimate, Record
from trueness.counts.answers import of_tally
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.inference.notes import notes_of
from trueness.metrics.algebra import Metric, as_fraction
from trueness.metrics.confusion import Confusion, sweep
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
from trueness.threshold.prevalence import (
    Prevalences,
    share_in_use,
    stop_unknown_share,
)
from trueness.threshold.repetition import (
    Again,
    cells_at,
    chosen_again,
    chosen_sides,
    counts_between,
    rehearse,
    sample_counts,
    sample_space,
    scaled,
    spread,
    trusted,
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
        What to expect on new cases of the deferred share, precision above, NPV below
        and every bounded metric, with intervals that allow for the choice.
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


@of_tally
def validate_thresholds(
    data: Tally,
    maximize: str | Metric | None = None,
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
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
    data
        Scores and labels of one classifier, both classes present.
    maximize, minimize, subject_to
        As in :func:`best_thresholds`.
    replicates, level, rng
        As in :func:`validate_threshold`.

    Notes
    -----
    The shares of a class in the three zones are corrected for their bootstrap optimism;
    the intervals allow for the choice as in :func:`validate_threshold`.

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
    zones = best_thresholds(data, maximize, subject_to, minimize=minimize)
    _cases.both_classes(data, "validate_thresholds")
    level = _options.fraction(level, "level")
    replicates = _options.whole_number(replicates, "replicates", at_least=2)
    shown, objective = read_objective(maximize, minimize)
    bounds, t = read_sided(subject_to), data.labelled()
    cuts = whole_cuts(t, t.design.prevalence, "validate_thresholds")
    task = _ZoneTask(t, sweep(t), cuts, objective, bounds)
    lacking = "no pair of thresholds met the constraints"
    choose = partial(_choose, task, sample_space(t))
    generator = _options.generator(rng)
    runs = rehearse(t, choose, replicates, generator, "validate_thresholds", lacking)
    expected = float(task.measure(shown, runs.left.sum(axis=0, dtype=np.float64)))
    rule = chosen_sides(t, [zones.upper, zones.lower])
    fair = without_optimism(rule, runs)

    def expect(what: Sided | Metric, value: float) -> Estimate:
        ends = what.asked.metric.range if isinstance(what, Sided) else what.range
        return trusted(rule, runs, partial(task.measure, what), ends, value, level)

    corrected = expect(shown, expected)
    metrics = {
        name: expect(bound, value)
        for name, bound in _shown(bounds).items()
        if math.isfinite(value := float(task.measure(bound, fair)))
    }
    if shown.name in metrics:
        metrics[shown.name] = corrected
    return ZoneValidation(
        zones=zones,
        lower=spread(zones.lower, runs.chosen[:, 1], level),
        upper=spread(zones.upper, runs.chosen[:, 0], level),
        value=zones.value,
        corrected=corrected,
        optimism=zones.value - expected,
        metrics=metrics,
        holds={
            str(k): float(np.mean(k.asked.decide(task.measure(k, runs.left))))
            for k in bounds
        },
        failed=1 - len(runs.left) / replicates,
        notes=(
            "The cases are assumed to be like those in use; what a person decides "
            "about the deferred cases is not included.",
            *notes_of(t),
        ),
    )


def _shown(bounds: tuple[Sided, ...]) -> dict[str, Sided]:
    asked = {k: read_sided(f"{k} >= 0")[0] for k in _SHOWN}
    for bound in bounds:
        side = f" {bound.side}" if bound.side else ""
        asked.setdefault(bound.asked.metric.name + side, bound)
    return asked


class _ZoneTask(NamedTuple):
    tally: Tally
    whole: Confusion  # at every cut
    cuts: Cuts
    objective: Metric
    bounds: tuple[Sided, ...]

    def measure(self, what: Sided | Metric, counts: Array) -> Any:
        """Evaluate an objective, or what a constraint bounds, for counts (..., 6).

        These are positives and negatives flagged, doubtful and cleared.
        """
        tp, fp, doubt_pos, doubt_neg, fn, tn = self._in_use(counts)
        with np.errstate(divide="ignore", invalid="ignore"):
            if isinstance(what, Sided) and what.side == "above":
                c = Confusion(tp, fp, fn + doubt_pos, tn + doubt_neg)
                return what.asked.metric(c)
            if isinstance(what, Sided) and what.side == "below":
                c = Confusion(tp + doubt_pos, fp + doubt_neg, fn, tn)
                return what.asked.metric(c)
            m = what.asked.metric if isinstance(what, Sided) else what
            pos, neg = float(self.cuts.positives), float(self.cuts.negatives)
            doubt = doubt_pos + doubt_neg
            known = {"deferred": doubt, "defer": doubt / (pos + neg)}
            known |= {"cases": pos + neg, "positives": pos, "negatives": neg}
            decided = Confusion(tp, fp, fn, tn)
            return m.constant + sum(
                w * (known[part.name] if part.name in known else part(decided))
                for w, part in m.parts
            )

    def _in_use(self, counts: Array) -> Any:
        """Scale counts to the number of cases and the prevalence of use."""
        n = float(self.cuts.positives + self.cuts.negatives)
        if self.cuts.asked is None:
            return np.moveaxis(scaled(counts, n), -1, 0)
        pos = scaled(counts[..., 0::2], n * self.cuts.asked)
        neg = scaled(counts[..., 1::2], n * (1 - self.cuts.asked))
        return (x[..., k] for k in range(3) for x in (pos, neg))


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
    thresholds, rows = zip(
        *(chosen_again(task.tally, k, pos, neg) for k in first), strict=True
    )
    return Again(
        thresholds,
        counts_between(rows, pos_out, neg_out),
        cells_at(seen, first),
        cells_at(task.whole, rows),
    )


def _sampled(whole: Cuts, seen: Confusion) -> Cuts:
    """Give the cuts of a sample: of weights in the unit of all cases."""
    if not whole.weighted:
        return make_cuts(whole.score, seen, whole.asked)
    units = Confusion(*(np.rint(c / whole.unit).astype(np.int64) for c in seen.cells))
    return in_units(whole.score, units, whole.unit, whole.asked)


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


@of_tally
def guaranteed_thresholds(
    data: Tally,
    constraint: ConstraintLike | Iterable[ConstraintLike],
    *,
    confidence: float = 0.95,
    prevalences: Prevalences = None,
    rng: Seed = 0,
) -> GuaranteedZones:
    r"""Which two thresholds guarantee constraints, with the fewest deferred cases?

    Parameters
    ----------
    data
        Labelled cases, drawn independently from the population of use.
    constraint
        Bounds on either side: ``["precision above >= 0.9", "npv below >= 0.99"]``,
        ``"fnr below <= 0.05"``; what :func:`guaranteed_threshold` can prove.
    confidence
        The probability with which all of them must hold at once.
    prevalences
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
    _cases.one_classifier(data, "guaranteed_thresholds")
    _cases.some_labels(data, "guaranteed_thresholds")
    share = share_in_use(data, prevalences)
    metrics = [k.asked.metric for k in bounds]
    stop_unknown_share(data, share, metrics, "guaranteed_thresholds")
    t = data.labelled()
    confidence = _options.fraction(confidence, "confidence")
    alpha = float((1 - as_fraction(confidence)) / len(bounds))
    generator = _options.generator(rng)
    proved = [prove(t, k.asked, alpha, generator, share) for k in bounds]
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
