"""What does every threshold do? The section with the slider, and what else was asked.

Each classifier gets at most a few hundred *steps*: thresholds of its own, with the
exact counts there. All that the page shows at a step is a column that is computed
here; the script only looks numbers up, so the page and the library cannot disagree,
and a new metric is on the page at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks.errors import InputError
from trueness._core.figures import Curves
from trueness._core.numbers import cut_text, percent
from trueness.counts.values import Tally
from trueness.findings.cut import find_cut, rows_of
from trueness.findings.notes import note, said, when
from trueness.findings.records import Figure, Finding, fields_of, figure, finding, table
from trueness.findings.subject import Subject, best_for, cut_of, named_groups, possible
from trueness.findings.what_scores_mean import meanings
from trueness.inference.sample import apply_design, counts_to_show
from trueness.metrics.algebra import Constraint
from trueness.metrics.confusion import Confusion, sweep, thresholds
from trueness.metrics.definitions import METRICS, SHOWN
from trueness.metrics.grammar import is_proportion, text_of
from trueness.ranking.figures import curve_figure, score_figure
from trueness.threshold import cost_figures, sentences
from trueness.threshold.rule import AtThreshold

PR, PRICE = "Precision and recall", "What a threshold costs"
POINTS = 21  # of curves whose every point has limits of its own
RARE = 0.1  # where fewer cases are positive, precision and recall say more than ROC
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
        """Which share of the cases that are meant is positive?"""
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
    """Which share of the largest possible cost do missed positives make up?"""
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


def slider(subject: Subject) -> dict[str, Any]:
    """Give what the script of the page needs to move every figure."""
    constraints, models = subject.request.constraints, []
    for s, meaning in zip(steps_of(subject), meanings(subject), strict=True):
        probability = meaning and meaning.probability(s.threshold)
        found = columns(s, subject.request.costs, probability)
        models.append(
            {
                "name": s.name,
                "start": s.start,
                "size": len(s.threshold),
                "meets": [
                    "".join("01"[v] for v in met(c, s.confusion).astype(int))
                    for c in constraints
                ],
                "columns": {k: short(k, v) for k, v in found.items()},
            }
        )
    return {"models": models, "constraints": [repr(c) for c in constraints]}


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


def readout(data: Mapping[str, Any]) -> dict[str, str]:
    """Write the numbers at the first step, for readers whose scripts are blocked."""
    if not data:
        return {}
    model = data["models"][0]
    now = {k: v[model["start"]] for k, v in model["columns"].items()}
    write = {"count": lambda v: f"{int(v):,}", "share": percent}
    told = {
        k: "undefined" if v is None else write.get(quantity(k)[2], "{:.4g}".format)(v)
        for k, v in now.items()
    }
    cut = now["threshold"]
    return told | {"threshold": "above all scores" if cut is None else repr(cut)}


def steps_of(s: Subject) -> list[Steps]:
    """Give where the slider of each classifier stops."""
    number = len(s.models)
    return [
        s.once(
            ("steps", m.key, s.request.threshold_key),
            partial(steps, m.tally, m.name, m.point.threshold, number),
        )
        for m in s.models
    ]


def at_the_cut(s: Subject) -> Finding:
    """Show what every threshold does, and the chosen one."""
    a, best, checked = s.request, s.best, s.checked
    given = isinstance(checked, AtThreshold)
    c = best.point.confusion
    rows = rows_of(checked.metrics, c) if checked and c.tp + c.fp else []
    where = "at the given threshold" if given else "on new cases, at the threshold"
    caption = f"{best.name} {where}, {cut_of(best.point)}"
    limits = " and ".join(map(repr, a.constraints))
    chosen = note(
        "chosen",
        best="minimises" if a.minimizes else "maximises",
        what=text_of(a.objective.name)
        if a.stated_goal
        else sentences.objective_of(" youden"),
        limits=f", subject to {limits}" if limits else "",
    )
    share = s.cases.design.prevalence
    return finding(
        "every threshold",
        fields_of(best.point, "threshold", "score_range"),
        answer=(
            chosen if a.at is None else note("given", at=a.at),
            *when(limits, "red"),
            *when(share is not None, "shares for", share=share),
        ),
        tables=(table(caption, ("metric", "value"), rows),) if rows else (),
        figures=tuple(_figures(s)),
        key="threshold",
        told={"how": note("as fixed" if given else "to expect")},
    )


def _drawn(
    s: Subject, title: str, data: Curves, follow: str, plane: str = "", **more: Any
) -> Figure:
    """Make a figure of curves with the dot that moves."""
    first = steps_of(s)[0]
    now = columns(first.pick(first.start), s.request.costs)
    more = {"at": tuple(now[q].item() for q in follow.split()), **more}
    shaded = _shaded(s, plane) if plane else ()
    return figure(title, data, order=s.names, follow=follow, shaded=shaded, **more)


def _figures(s: Subject) -> list[Figure]:
    """Draw what the slider moves; a first look has no bands, and waits for nothing."""
    a, share, (fp, fn) = s.request, steps_of(s)[0].share, s.request.costs
    bands: dict[str, Any] = {"band": "simultaneous", "level": a.level, "rng": a.rng}
    bands = bands | {"replicates": a.replicates} if a.replicates else {}
    roc = s.once(
        ("roc", a.precision_key), lambda: curve_figure("roc", s.tallies, **bands)
    )
    pr = s.once(
        ("pr", a.precision_key),
        lambda: curve_figure("precision_recall", s.tallies, **bands),
    )
    counts = {m.name: apply_design(m.tally).target_counts for m in s.models}
    cost = s.once(("price", fp, fn), lambda: cost_figures.price_figure(counts, fp, fn))
    both, rare, told = "recall precision", share < RARE, {"share": share}
    # without costs both curves stand before what a threshold costs
    priced = bool(a.stated_cost)
    made = [
        _drawn(s, "ROC curve", roc, "fpr recall", "roc", folded=rare and priced),
        _drawn(
            *(s, PR, pr, both, "precision_recall"),
            told=told,
            folded=priced and not rare,
        ),
    ]
    made = made[::-1] if rare else made
    price: dict[str, Any] = {"told": {"fp": fp, "fn": fn}, "rule": "flagged_rate"}
    price["folded"] = not priced
    if not priced:
        price["note"] = str(note("equal costs", fn=fn))
    made.append(_drawn(s, PRICE, cost, "flagged_rate cost", **price))
    if a.replicates:
        more = (_scores(s), _capacity(s), _benefit(s), possible(partial(_any_cost, s)))
        made += [f for f in more if f is not None]
    return made


def _scores(s: Subject) -> Figure:
    data, at = s.once("scores", lambda: score_figure(s.tallies)), steps_of(s)[0].first
    now: dict[str, Any] = {"at": (at, 0.0), "rule": "threshold", "folded": True}
    return figure("Scores", data, order=s.names, **now)


def _capacity(s: Subject) -> Figure:
    data = s.once("gain", lambda: curve_figure("gain", s.tallies))
    more = {"rule": "flagged_rate", "folded": True}
    return _drawn(s, "Capacity", data, "flagged_rate recall", "gain", **more)


def _any_cost(s: Subject) -> Figure:
    """Draw the cost of the best threshold for every weight of the two errors."""
    level, first, at = s.request.level, steps_of(s)[0], np.linspace(0, 1, POINTS)
    curve = partial(cost_figures.cost_curve_figure, s.tallies, level=level, at=at)
    return _drawn(
        s,
        "Cost for every cost ratio",
        s.once(("cost_curve", level), curve),
        "weight weighted_cost",
        told={"weight": weight_of(first.share, s.request.costs)},
        tilt="fpr fnr",
        ends=(first.at_start("fpr"), first.at_start("fnr")),
        y=(0.0, 0.55),
        folded=True,
    )


def _shaded(s: Subject, plane: str) -> tuple[cost_figures.Strip, ...]:
    """Shade where a constraint is not met, half a column wider: two strips meet."""
    limits, first = s.request.constraints, steps_of(s)[0]
    if not limits:
        return ()
    half, made = 0.5 / (cost_figures.COLUMNS - 1), []
    for x, *ends in cost_figures.region(
        limits, plane, first.n_pos, first.n_neg, met=False
    ):
        across = np.concatenate([[x[0] - half], x, [x[-1] + half]]).clip(0, 1)
        low, high = (np.concatenate([v[:1], v, v[-1:]]) for v in ends)
        made.append((across, low, high))
    return tuple(made)


def _benefit(s: Subject) -> Figure | None:
    """Draw the net benefit of acting on scores that are probabilities."""
    first, at = steps_of(s)[0], {}
    for m, stops in zip(s.models, steps_of(s), strict=True):
        cut = np.maximum(stops.threshold[stops.threshold < 1], 0.0)
        if m.is_probability and cut.size and stops.threshold[-1] < 1:
            # some stops of a slider, evenly, and both ends
            few = np.linspace(0, cut.size - 1, min(cut.size, POINTS)).round()
            at[m.name] = cut[few.astype(int)]
    if not at:
        return None
    asked = {m.name: m.tally for m in s.models if m.name in at}
    data = cost_figures.decision_figure(asked, level=s.request.level, at=at)
    best = max(float(line["y"].max()) for line in data.lines)
    share, now_at = first.share, float(np.clip(first.first, 0, 1))
    top = max(best, 0.1 * share) * 1.15
    c = first.confusion[first.start]
    odds = now_at / (1 - now_at) if now_at < 1 else 0.0  # nobody is flagged there
    now = float((c.tp - c.fp * odds) / (first.n_pos + first.n_neg))
    # up to which probability is there anything to see?
    seen = [line["p"][line["y"] > 0.02 * share] for line in data.lines]
    last = max((float(x.max()) for x in seen if x.size), default=0.0)
    reach = float(min(1.0, np.ceil(10 * max(last, 2 * share)) / 10))
    return figure(
        "Net benefit",
        data,
        order=s.names,
        at=(now_at, now),
        follow="threshold net_benefit",
        rule="threshold",
        x=(0.0, reach),
        y=(-top / 6, top),
        folded=True,
    )


def cuts_for_prevalences(s: Subject) -> Finding | None:
    """Say where to cut if the prevalence of use lies in a range."""
    a = s.request
    if a.prevalences is None:
        return None
    point = best_for(s.best.tally, a.single_goal, a.prevalences)
    there = table("There", ("metric", "value"), point.metrics.items())
    return finding(
        "prevalence",
        {"point": point},
        answer=said(sentences.prevalence_sentences(point)),
        tables=(there,) if point.prevalences is None else (),
    )


def two_cuts(s: Subject) -> Finding | None:
    """Say where yes and no end, when the question spoke of deferred cases."""
    goal = s.request.pair_goal
    if goal is None:
        return None
    of_pair = replace(
        s.request,
        maximize=goal.maximize,
        minimize=goal.minimize,
        subject_to=goal.subject_to,
        prevalences=None,
    )
    return find_cut(s.best.tally, of_pair, name=s.best.name)[0]


def cuts_of_groups(s: Subject) -> Finding | None:
    """Find a threshold for each group, when the question limited their differences."""
    request = s.request
    if not request.group_constraints:
        return None
    parts = named_groups(s, s.best.key)
    groups = {g: t for g, t in parts.items() if t.n_pos and t.n_neg}
    if len(groups) < 2:
        raise InputError(
            "Limits on differences between groups need two groups with positives and "
            "negatives."
        )
    goal = request.single_goal
    of_groups = replace(
        request,
        maximize=goal.maximize,
        minimize=goal.minimize,
        subject_to=(*map(repr, request.constraints), *request.group_constraints),
        prevalences=None,
    )
    return find_cut(s.best.tally, of_groups, groups)[0]
