"""What does every threshold do? The section of a report with the slider.

The other questions about thresholds are left out where nobody asked them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks.errors import InputError
from trueness._core.figures import Curves
from trueness.findings.cut import find_cut
from trueness.findings.notes import note, said, when
from trueness.findings.records import Figure, Finding, fields_of, figure, finding, table
from trueness.findings.slider import Steps, columns, quantity, steps, weight_of
from trueness.findings.subject import Subject, cut_of, named_groups, possible
from trueness.findings.what_scores_mean import meanings
from trueness.inference.sample import meant
from trueness.metrics.grammar import text_of
from trueness.ranking.figures import (
    curve_figure,
    score_figure,
)
from trueness.threshold import figures, sentences
from trueness.threshold.operating_point import best_threshold
from trueness.threshold.rule import AtThreshold

PR, PRICE = "Precision and recall", "What a threshold costs"
POINTS = 21  # of curves whose every point has limits of its own
RARE = 0.1  # where fewer cases are positive, precision and recall say more than ROC


def steps_of(s: Subject) -> list[Steps]:
    """Give where the slider of each classifier stops."""
    number = len(s.models)
    return [
        s.once(
            ("steps", m.key, s.asked.cut),
            partial(steps, m.tally, m.name, m.point.threshold, number),
        )
        for m in s.models
    ]


def at_the_cut(s: Subject) -> Finding:
    """Show what every threshold does, and the chosen one."""
    a, best, checked = s.asked, s.best, s.checked
    given = isinstance(checked, AtThreshold)
    known = checked.metrics if checked else {}
    rows = [(quantity(name)[1], e) for name, e in known.items()]
    where = "at the given threshold" if given else "on new cases, at the threshold"
    caption = f"{best.name} {where}, {cut_of(best.point)}"
    limits = " and ".join(map(repr, a.limits))
    chosen = note(
        "chosen",
        best="minimises" if a.smallest else "maximises",
        what=text_of(a.objective.name) if a.goal else sentences.objective_of(" youden"),
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
    now = columns(first.pick(first.start), s.asked.costs)
    more = {"at": tuple(now[q].item() for q in follow.split()), **more}
    shaded = _shaded(s, plane) if plane else ()
    return figure(title, data, order=s.names, follow=follow, shaded=shaded, **more)


def _figures(s: Subject) -> list[Figure]:
    """Draw what the slider moves; a first look has no bands, and waits for nothing."""
    a, share, (fp, fn) = s.asked, steps_of(s)[0].share, s.asked.costs
    bands: dict[str, Any] = {"band": "simultaneous", "level": a.level, "rng": a.rng}
    bands = bands | {"replicates": a.replicates} if a.replicates else {}
    roc = s.once(("roc", a.sure), lambda: curve_figure("roc", s.tallies, **bands))
    pr = s.once(
        ("pr", a.sure), lambda: curve_figure("precision_recall", s.tallies, **bands)
    )
    counts = {m.name: meant(m.tally).counts for m in s.models}
    cost = s.once(("price", fp, fn), lambda: figures.price_figure(counts, fp, fn))
    both, rare, told = "recall precision", share < RARE, {"share": share}
    made = [
        _drawn(s, "ROC curve", roc, "fpr recall", "roc", folded=rare),
        _drawn(s, PR, pr, both, "precision_recall", told=told, folded=not rare),
    ]
    made = made[::-1] if rare else made
    price: dict[str, Any] = {"told": {"fp": fp, "fn": fn}, "rule": "flagged_rate"}
    if not a.stated_cost:
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
    level, first, at = s.asked.level, steps_of(s)[0], np.linspace(0, 1, POINTS)
    curve = partial(figures.cost_curve_figure, s.tallies, level=level, at=at)
    return _drawn(
        s,
        "Cost for every cost ratio",
        s.once(("cost_curve", level), curve),
        "weight weighted_cost",
        told={"weight": weight_of(first.share, s.asked.costs)},
        tilt="fpr fnr",
        ends=(first.at_start("fpr"), first.at_start("fnr")),
        y=(0.0, 0.55),
        folded=True,
    )


def _shaded(s: Subject, plane: str) -> tuple[figures.Strip, ...]:
    """Shade where a constraint is not met, half a column wider: two strips meet."""
    limits, first = s.asked.limits, steps_of(s)[0]
    if not limits:
        return ()
    half, made = 0.5 / (figures.ACROSS - 1), []
    for x, *ends in figures.region(limits, plane, first.n_pos, first.n_neg, met=False):
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
    data = figures.decision_figure(asked, level=s.asked.level, at=at)
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
    a = s.asked
    if a.prevalences is None:
        return None
    point = best_threshold(s.best.tally, **a.choice, prevalences=a.prevalences)
    there = table("There", ("metric", "value"), point.metrics.items())
    return finding(
        "prevalence",
        {"point": point},
        answer=said(sentences.prevalence_sentences(point)),
        tables=(there,) if point.prevalences is None else (),
    )


def two_cuts(s: Subject) -> Finding | None:
    """Say where yes and no end, when the question spoke of deferred cases."""
    a = s.asked
    if a.two is None:
        return None
    asked = replace(a, **a.two, prevalences=None)
    return find_cut(s.best.tally, asked, name=s.best.name)[0]


def cuts_of_groups(s: Subject) -> Finding | None:
    """Find a threshold for each group, when the question limited their differences."""
    a = s.asked
    if not a.between:
        return None
    parts = named_groups(s, s.best.key)
    groups = {g: t for g, t in parts.items() if t.n_pos and t.n_neg}
    if len(groups) < 2:
        raise InputError(
            "Limits on differences between groups need two groups with positives and "
            "negatives."
        )
    goal: dict[str, Any] = {"maximize": None, "minimize": None, "prevalences": None}
    limits = {"subject_to": (*map(repr, a.limits), *a.between)}
    asked = replace(a, **goal | a.choice | limits)
    return find_cut(s.best.tally, asked, groups)[0]


def probabilities(s: Subject) -> list[Array | None]:
    """Give the share of positives at every step of each slider, where it is known."""
    each = zip(meanings(s), steps_of(s), strict=True)
    return [x and x.probability(stops.threshold) for x, stops in each]
