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

MOST_STEPS = 400
_ALL_STEPS = 500  # of all classifiers together: keeps the page small

Quantity = tuple[str, str, str]  # a number on the page: name, words, and its kind

# what stands beside the slider; all metrics stand in the table under it
FIRST = ("flagged_rate", *SHOWN, "cost")
COUNTS = ("tp", "fp", "fn", "tn", "flagged", "passed")


def quantity(name: str) -> Quantity:
    """How is this number called and written: as a count, a share or a number?"""
    if name in COUNTS:
        return name, text_of(name), "count"
    text = "cost per case" if name == "cost" else text_of(name)
    return name, text, "share" if is_proportion(name) else "number"


READOUT = tuple(quantity(name) for name in FIRST)
EVERY = tuple(quantity(name) for name in METRICS if name not in COUNTS)


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
    def counted(self) -> Confusion:
        """Give the four counts of the cases at every step."""
        return Confusion(self.tp, self.fp, self.n_pos - self.tp, self.n_neg - self.fp)

    @property
    def confusion(self) -> Confusion:
        """Give the four counts that are meant, of as many cases, at every step."""
        return self.counted.at_prevalence(self.prevalence)

    @property
    def share(self) -> float:
        """What proportion of the cases that are meant is positive?"""
        n = self.n_pos + self.n_neg
        return self.n_pos / n if self.prevalence is None else self.prevalence

    @property
    def first(self) -> float:
        """Give the threshold at which the slider starts."""
        return float(self.threshold[self.start])

    def at_or_above(self, threshold: float) -> int:
        """Give the step whose counts are those of this threshold."""
        found = np.searchsorted(-self.threshold, -threshold, side="right")
        return max(int(found) - 1, 0)

    def pick(self, at: int, threshold: float | None = None) -> Steps:
        """Give one step alone; ``threshold`` is another place of the same cut."""
        cut = self.threshold[at] if threshold is None else threshold
        one = slice(at, at + 1)
        tp, fp = self.tp[one], self.fp[one]
        return replace(self, threshold=np.array([cut]), tp=tp, fp=fp, start=0)

    def at_start(self, name: str) -> float:
        """Give a metric where the slider starts."""
        return float(METRICS[name](self.confusion[self.start]))


def steps(t: Tally, name: str, start: float, models: int = 1) -> Steps:
    """Choose the steps of a slider; one of them is exactly the threshold ``start``."""
    every = every_step(t, name)
    c, cut = every.counted, every.threshold
    most = max(20, min(MOST_STEPS, _ALL_STEPS // models))
    # the chosen threshold may lie between two scores: the counts decide
    chosen = int(np.searchsorted(-cut, -start, side="right")) - 1
    spread = _spread(c, every.n_pos, every.n_neg, most)
    at = np.union1d(spread, [0, chosen, cut.size - 1])
    below = np.append(cut[1:], -np.inf)[at]
    # as few digits as flag the same cases: what is shown is what was counted
    ends = zip(below.tolist(), cut[at].tolist(), strict=True)
    threshold = np.array([float(cut_text(high, (low, high))) for low, high in ends])
    place = int(np.searchsorted(at, chosen))
    threshold[place] = start
    return replace(every, threshold=threshold, tp=c.tp[at], fp=c.fp[at], start=place)


def every_step(t: Tally, name: str) -> Steps:
    """Make every distinct score a step, where numbers are looked up and not sent."""
    share = t.design.prevalence
    t = counts_to_show(t)
    c = sweep(t)
    return Steps(name, thresholds(t), c.tp, c.fp, t.n_pos, t.n_neg, 0, share)


def _spread(c: Confusion, n_pos: float, n_neg: float, most: int) -> Ints:
    """Spread steps evenly along the ROC curve, and along the share flagged."""
    if c.tp.size <= most:
        return np.arange(c.tp.size)
    along = np.asarray(c.tp / n_pos + c.fp / n_neg)
    flagged = np.asarray((c.tp + c.fp) / (n_pos + n_neg))
    wanted = [
        np.searchsorted(v, np.linspace(0, v[-1], most // 2)) for v in (along, flagged)
    ]
    return np.unique(np.concatenate(wanted)).clip(0, c.tp.size - 1)


def weight_of(prevalence: float, costs: tuple[float, float]) -> float:
    """What proportion of the largest possible cost do missed positives make up?"""
    alarm, miss = (1 - prevalence) * costs[0], prevalence * costs[1]
    return miss / (alarm + miss) if alarm + miss else 0.5


def columns(
    s: Steps, costs: tuple[float, float], probability: Array | None = None
) -> dict[str, Array]:
    """Give every quantity of the page at every step, NaN where it is undefined.

    Scores that are not probabilities have neither a probability nor a net benefit.
    """
    c, n, k = s.confusion, s.n_pos + s.n_neg, s.counted
    found: dict[str, Array] = {name: m(c) for name, m in METRICS.items()}
    found |= {"tp": k.tp, "fp": k.fp, "fn": k.fn, "tn": k.tn}
    found |= {"flagged": k.tp + k.fp, "passed": k.fn + k.tn}
    found["cost"] = (costs[0] * c.fp + costs[1] * c.fn) / n
    weight = weight_of(s.share, costs)
    found["weight"] = np.full(c.tp.size, weight)
    found["weighted_cost"] = weight * found["fnr"] + (1 - weight) * found["fpr"]
    found["threshold"] = s.threshold
    if probability is not None:
        found["probability"] = np.where(np.isinf(s.threshold), np.nan, probability)
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = np.where(s.threshold < 1, s.threshold / (1 - s.threshold), np.nan)
        found["net_benefit"] = (c.tp - c.fp * odds) / n
    return found


def short(name: str, values: ArrayLike) -> list[Any]:
    """Round what is drawn or shown with fewer digits; thresholds stay whole.

    A share is rounded as it is shown: rounded again, its last digit could be another.
    """
    given = np.asarray(values).tolist()
    if name in (*COUNTS, "threshold"):
        return [None if v == np.inf else v for v in given]
    if name in METRICS and is_proportion(name):
        texts = [percent(v) if np.isfinite(v) else "" for v in given]
        return [float(f"{float(x[:-2]) / 100:.9g}") if x else None for x in texts]
    return [float(f"{v:.4g}") if np.isfinite(v) else None for v in given]


def met(constraint: Constraint, c: Confusion) -> Array:
    """At which thresholds does a constraint hold? Not where it is undefined."""
    return np.asarray(constraint(c), dtype=bool)
