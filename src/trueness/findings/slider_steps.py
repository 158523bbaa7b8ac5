"""At which thresholds does the slider of a page stop, and what are the numbers there?

Each classifier gets at most a few hundred *steps*: thresholds of its own, with the
exact counts there. All that the page shows at a step is a column that is computed
here; the script only looks numbers up, so the page and the library cannot disagree,
and a new metric is on the page at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.numbers import cut_text, percent
from trueness.counts.values import Tally
from trueness.inference.sample import counts_to_show
from trueness.metrics.algebra import Constraint
from trueness.metrics.confusion import Confusion, sweep, thresholds
from trueness.metrics.definitions import METRICS, SHOWN
from trueness.metrics.grammar import is_proportion, text_of

MAX_STEPS = 400
MIN_STEPS = 20  # of a classifier among very many
_MAX_STEPS_OF_PAGE = 450  # of all classifiers together: keeps the page small

Quantity = tuple[str, str, str]  # a number on the page: name, words, and its kind

# what stands beside the slider; all metrics stand in the table under it
READOUT_NAMES = ("flagged_rate", *SHOWN, "cost")
COUNTS = ("tp", "fp", "fn", "tn", "flagged", "passed")


def quantity(name: str) -> Quantity:
    """Return the name of this number, and whether it is a count or a proportion."""
    if name in COUNTS:
        return name, text_of(name), "count"
    text = "cost per case" if name == "cost" else text_of(name)
    return name, text, "share" if is_proportion(name) else "number"


READOUT = tuple(quantity(name) for name in READOUT_NAMES)
ALL_METRICS = tuple(quantity(name) for name in METRICS if name not in COUNTS)


@final
@dataclass(frozen=True)
class Steps:
    """The thresholds that the slider stops at, and the counts there.

    Every rate is for ``prevalence``, where the design of the cases says another one.
    """

    name: str
    threshold: Floats
    tp: Array
    fp: Array
    n_pos: float
    n_neg: float
    start: int
    prevalence: float | None = None

    @property
    def counts(self) -> Confusion:
        """The four counts of the cases at every step."""
        return Confusion(self.tp, self.fp, self.n_pos - self.tp, self.n_neg - self.fp)

    @property
    def confusion(self) -> Confusion:
        """The four counts for the prevalence of the design, of as many cases."""
        return self.counts.at_prevalence(self.prevalence)

    @property
    def prevalence_of_rates(self) -> float:
        """Return the prevalence of the cases that the numbers are about."""
        if self.prevalence is not None:
            return self.prevalence
        return self.n_pos / (self.n_pos + self.n_neg)

    @property
    def start_threshold(self) -> float:
        """The threshold at which the slider starts."""
        return float(self.threshold[self.start])

    def at_or_above(self, threshold: float) -> int:
        """Return the step whose counts are those of this threshold."""
        steps_above = np.searchsorted(-self.threshold, -threshold, side="right")
        return max(int(steps_above) - 1, 0)

    def single_step(self, place: int, threshold: float | None = None) -> Steps:
        """Return one step alone; ``threshold`` is another place of the same cut."""
        if threshold is None:
            threshold = self.threshold[place]

        return replace(
            self,
            threshold=np.array([threshold]),
            tp=self.tp[place : place + 1],
            fp=self.fp[place : place + 1],
            start=0,
        )

    def at_start(self, name: str) -> float:
        """Return a metric where the slider starts."""
        return float(METRICS[name](self.confusion[self.start]))


def steps(t: Tally, name: str, start: float, models: int = 1) -> Steps:
    """Return the steps of a slider; one of them is exactly the threshold ``start``.

    Several ``models`` on a page have fewer steps each, so that the page stays small.
    """
    all_steps = steps_at_every_score(t, name)
    scores = all_steps.threshold
    last_place = scores.size - 1
    # the start may lie between two scores: the step that flags the same cases
    place_of_start = int(np.searchsorted(-scores, -start, side="right")) - 1
    number = max(MIN_STEPS, min(MAX_STEPS, _MAX_STEPS_OF_PAGE // models))
    places = np.union1d(
        _evenly_spaced_places(all_steps, number), [0, place_of_start, last_place]
    )

    # as few digits as flag the same cases: what is shown is what was counted
    next_lower = np.append(scores[1:], -np.inf)
    score_ranges = zip(
        next_lower[places].tolist(), scores[places].tolist(), strict=True
    )
    shortest = [float(cut_text(high, (low, high))) for low, high in score_ranges]
    threshold = np.array(shortest)

    step_of_start = int(np.searchsorted(places, place_of_start))
    threshold[step_of_start] = start

    return replace(
        all_steps,
        threshold=threshold,
        tp=all_steps.tp[places],
        fp=all_steps.fp[places],
        start=step_of_start,
    )


def steps_at_every_score(t: Tally, name: str) -> Steps:
    """Make every distinct score a step, where numbers are looked up and not sent."""
    counts_shown = counts_to_show(t)
    counts = sweep(counts_shown)

    return Steps(
        name=name,
        threshold=thresholds(counts_shown),
        tp=counts.tp,
        fp=counts.fp,
        n_pos=counts_shown.n_pos,
        n_neg=counts_shown.n_neg,
        start=0,
        prevalence=t.design.prevalence,
    )


def _evenly_spaced_places(all_steps: Steps, number: int) -> Ints:
    """Choose steps evenly along the ROC curve, and along the proportion flagged."""
    size = all_steps.tp.size
    if size <= number:
        return np.arange(size)

    # the length of a staircase: up by sensitivity and right by the false positive rate
    along_roc = np.asarray(
        all_steps.tp / all_steps.n_pos + all_steps.fp / all_steps.n_neg
    )
    flagged = np.asarray(
        (all_steps.tp + all_steps.fp) / (all_steps.n_pos + all_steps.n_neg)
    )

    # half of the steps along each, as both rise with every step
    places = []
    for progress in (along_roc, flagged):
        evenly_spaced = np.linspace(0, progress[-1], number // 2)
        places.append(np.searchsorted(progress, evenly_spaced))

    return np.unique(np.concatenate(places)).clip(0, size - 1)


def weight_of(prevalence: float, costs: tuple[float, float]) -> float:
    """Return the part of the largest possible cost that missed positives make up."""
    cost_fp, cost_fn = costs
    cost_of_false_alarms = (1 - prevalence) * cost_fp
    cost_of_missed_positives = prevalence * cost_fn
    total = cost_of_false_alarms + cost_of_missed_positives
    return cost_of_missed_positives / total if total else 0.5


def columns(
    steps: Steps, costs: tuple[float, float], probability: Array | None = None
) -> dict[str, Array]:
    """Return every quantity of the page at every step, NaN where it is undefined.

    Scores that are not probabilities have neither a probability nor a net benefit.
    """
    cases = steps.n_pos + steps.n_neg
    counts = steps.counts
    target = steps.confusion  # for the prevalence of the design
    cost_fp, cost_fn = costs
    weight = weight_of(steps.prevalence_of_rates, costs)
    quantities: dict[str, Array] = {
        name: metric(target) for name, metric in METRICS.items()
    }
    quantities |= {
        "tp": counts.tp,
        "fp": counts.fp,
        "fn": counts.fn,
        "tn": counts.tn,
        "flagged": counts.tp + counts.fp,
        "passed": counts.fn + counts.tn,
        "cost": (cost_fp * target.fp + cost_fn * target.fn) / cases,
        "weight": np.full(target.tp.size, weight),
        "weighted_cost": (
            weight * quantities["fnr"] + (1 - weight) * quantities["fpr"]
        ),
        "threshold": steps.threshold,
    }

    if probability is not None:
        flags_nobody = np.isinf(steps.threshold)
        quantities["probability"] = np.where(flags_nobody, np.nan, probability)
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = np.where(
                steps.threshold < 1, steps.threshold / (1 - steps.threshold), np.nan
            )
        quantities["net_benefit"] = (target.tp - target.fp * odds) / cases

    return quantities


def round_for_page(name: str, values: ArrayLike) -> list[Any]:
    """Round what is drawn or shown with fewer digits; thresholds stay whole.

    A share is rounded as it is shown: rounded again, its last digit could be another.
    JSON has neither NaN nor infinity: both become null.
    """
    exact = np.asarray(values).tolist()

    if name in (*COUNTS, "threshold"):
        return [None if value == np.inf else value for value in exact]

    is_share = name in METRICS and is_proportion(name)
    rounded: list[Any] = []
    for value in exact:
        if not np.isfinite(value):
            rounded.append(None)
        elif is_share:
            rounded.append(_as_shown(value))
        else:
            rounded.append(float(f"{value:.4g}"))

    return rounded


def _as_shown(proportion: float) -> float:
    """Round a proportion as it is shown in per cent."""
    without_sign = percent(proportion)[:-2]
    return float(f"{float(without_sign) / 100:.9g}")


def constraint_holds(constraint: Constraint, counts: Confusion) -> Array:
    """At which thresholds does a constraint hold? Not where it is undefined."""
    return np.asarray(constraint(counts), dtype=bool)
