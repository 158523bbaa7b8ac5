"""Where should the threshold be? One cut, two, one for each group, another prevalence.

``at_the_cut`` is the section with the slider: what every threshold does. The others
answer what was asked beside it, and are left out where nobody asked.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks.errors import InputError
from trueness._core.figures import Curves
from trueness._core.numbers import percent
from trueness.findings.cut import CutQuestion, find_cut
from trueness.findings.notes import note, said, when
from trueness.findings.records import Figure, Finding, Table, fields_of, finding, table
from trueness.findings.slider import Steps, quantity, steps, weight_of
from trueness.findings.subject import Subject, cut_of, named_groups, possible
from trueness.findings.what_scores_mean import meanings
from trueness.inference.sample import meant
from trueness.metrics.grammar import text_of
from trueness.ranking.figures import (
    gain_figure,
    precision_recall_figure,
    roc_figure,
    score_figure,
)
from trueness.threshold import figures, sentences
from trueness.threshold.operating_point import best_threshold
from trueness.threshold.rule import AtThreshold

YOUDEN = "Youden's index (sensitivity + specificity - 1)"
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
    words = (
        "The intervals in the table take the given threshold as fixed"
        if given
        else "The table says what to expect on new cases: the choice is repeated on "
        "bootstrap samples and evaluated on the cases left out"
    )
    drawn: list[Figure | None] = [*_rates(s), _cost(s)]
    if a.replicates:  # a first look has no intervals, and waits for nothing
        scores = Figure(
            s.once("scores", lambda: score_figure(s.tallies)),
            "Scores",
            "Solid: positives. Dashed outline: negatives. Cases to the right of the "
            "line are flagged.",
            order=s.names,
            at=(steps_of(s)[0].first, 0.0),
            rule="threshold",
            folded=True,
        )
        capacity = _drawn(
            s,
            s.once("gain", lambda: gain_figure(s.tallies)),
            "Capacity",
            "Share of the positives that is found when only so many cases can be "
            "handled.",
            "flagged_rate recall",
            shaded=_shaded(s, "gain"),
            rule="flagged_rate",
            folded=True,
        )
        drawn += [scores, capacity, _benefit(s), possible(lambda: _any_cost(s))]
    tables: tuple[Table, ...] = ()
    if checked is not None:
        rows = [(quantity(name).text, found) for name, found in checked.metrics.items()]
        where = "at the given threshold" if given else "on new cases, at the threshold"
        caption = f"{best.name} {where}, {cut_of(best.point)}"
        tables = (table(caption, ("metric", "value"), rows),)
    limits = " and ".join(map(repr, a.subject_to))
    chosen = note(
        "chosen",
        best="minimises" if a.smallest else "maximises",
        what=text_of(a.objective.name) if a.stated else YOUDEN,
        limits=f", subject to {limits}" if limits else "",
    )
    share = s.cases.design.prevalence
    return finding(
        "threshold",
        fields_of(best.point, "threshold", "score_range"),
        answer=(
            chosen if a.at is None else note("given", at=a.at),
            *when(limits, "red"),
            *when(share is not None, "shares for", share=share),
        ),
        tables=tables,
        figures=tuple(f for f in drawn if f is not None),
        method="Every distinct score is tried as a threshold, so the chosen one is "
        "exactly the best. Bands of the ROC and precision-recall curves hold the whole "
        "true curve with the stated confidence. Net benefit: Vickers and Elkin 2006, "
        "doi:10.1177/0272989X06295361. Cost curve: Drummond and Holte 2006, "
        f"doi:10.1007/s10994-006-8199-5. {words}.",
        caveat="A threshold holds for cases like these. Where positives are rarer, "
        "precision and net benefit fall although recall stays the same.",
    )


def _drawn(
    s: Subject, data: Curves, title: str, text: str, follow: str, **more: Any
) -> Figure:
    """Make a figure of curves with the dot that moves."""
    first = steps_of(s)[0]
    place = more.pop("at", None) or tuple(first.at_start(q) for q in follow.split())
    return Figure(data, title, text, order=s.names, at=place, follow=follow, **more)


def _shaded(s: Subject, plane: str) -> tuple[figures.Strip, ...]:
    """Shade where a constraint is not met, half a column wider: two strips meet."""
    if not s.asked.subject_to:
        return ()
    first, half, made = steps_of(s)[0], 0.5 / (figures.ACROSS - 1), []
    limits = s.asked.subject_to
    for x, *ends in figures.region(limits, plane, first.n_pos, first.n_neg, met=False):
        across = np.concatenate([[x[0] - half], x, [x[-1] + half]]).clip(0, 1)
        low, high = (np.concatenate([v[:1], v, v[-1:]]) for v in ends)
        made.append((across, low, high))
    return tuple(made)


def _rates(s: Subject) -> list[Figure]:
    """Draw ROC and precision-recall curves; the one that says more stands first."""
    a = s.asked
    bands: dict[str, Any] = {"band": "simultaneous", "level": a.level, "rng": a.rng}
    bands = bands | {"replicates": a.replicates} if a.replicates else {}
    share = steps_of(s)[0].share
    roc = _drawn(
        s,
        s.once(("roc", a.sure), lambda: roc_figure(s.tallies, **bands)),
        "ROC curve",
        "Up and to the left is better; the dashed diagonal is guessing.",
        "fpr recall",
        shaded=_shaded(s, "roc"),
        folded=share < RARE,
    )
    recall = _drawn(
        s,
        s.once(("pr", a.sure), lambda: precision_recall_figure(s.tallies, **bands)),
        "Precision and recall",
        "Up and to the right is better; the dashed line is guessing, at the "
        f"prevalence of {percent(share)}.",
        "recall precision",
        shaded=_shaded(s, "precision_recall"),
        folded=share >= RARE,
    )
    return [recall, roc] if share < RARE else [roc, recall]


def _cost(s: Subject) -> Figure:
    (fp, fn), first = s.asked.costs, steps_of(s)[0]
    text = f"Lower is better. A false positive costs {fp:g}, a false negative {fn:.4g}."
    if s.asked.invented:
        text = (
            "Lower is better. No costs were given, so both error rates count equally: "
            f"a false positive costs 1 and a false negative {fn:.4g}."
        )
    c = first.confusion[first.start]
    now = float((fp * c.fp + fn * c.fn) / (first.n_pos + first.n_neg))
    counts = {m.name: meant(m.tally).counts for m in s.models}
    return _drawn(
        s,
        s.once(("price", fp, fn), lambda: figures.price_figure(counts, fp, fn)),
        "What a threshold costs",
        text,
        "flagged_rate cost",
        at=(first.at_start("flagged_rate"), now),
        rule="flagged_rate",
    )


def _benefit(s: Subject) -> Figure | None:
    """Draw the net benefit of acting on scores that are probabilities."""
    stops = dict(zip(s.names, steps_of(s), strict=True))
    at = {
        m.name: np.maximum(cut[cut < 1], 0.0)
        for m in s.models
        if m.is_probability and (cut := stops[m.name].threshold)[-1] < 1
    }
    for name, cut in at.items():  # some stops of a slider, evenly, and both ends
        few = np.linspace(0, cut.size - 1, min(cut.size, POINTS)).round()
        at[name] = cut[few.astype(int)]
    if not at:
        return None
    asked = {m.name: m.tally for m in s.models if m.name in at}
    data = figures.decision_figure(asked, level=s.asked.level, at=at)
    best = max(float(line["y"].max()) for line in data.lines)
    first = steps_of(s)[0]
    share, now_at = first.share, float(np.clip(first.first, 0, 1))
    top = max(best, 0.1 * share) * 1.15
    c = first.confusion[first.start]
    odds = now_at / (1 - now_at) if now_at < 1 else 0.0  # nobody is flagged there
    now = float((c.tp - c.fp * odds) / (first.n_pos + first.n_neg))
    # up to which probability is there anything to see?
    seen = [line["p"][line["y"] > 0.02 * share] for line in data.lines]
    last = max((float(x.max()) for x in seen if x.size), default=0.0)
    reach = float(min(1.0, np.ceil(10 * max(last, 2 * share)) / 10))
    return _drawn(
        s,
        data,
        "Net benefit",
        "Higher is better: true positives per case, minus the false positives, "
        "weighted by the odds of the threshold probability. Dashed: flag no case, or "
        "every case.",
        "threshold net_benefit",
        at=(now_at, now),
        rule="threshold",
        x=(0.0, reach),
        y=(-top / 6, top),
        folded=True,
    )


def _any_cost(s: Subject) -> Figure:
    level, first = s.asked.level, steps_of(s)[0]
    weights = np.linspace(0, 1, POINTS)
    data = s.once(
        ("cost_curve", level),
        lambda: figures.cost_curve_figure(s.tallies, level=level, at=weights),
    )
    at = weight_of(first.share, s.asked.costs)
    alarm, miss = first.at_start("fpr"), first.at_start("fnr")
    return _drawn(
        s,
        data,
        "Cost for every cost ratio",
        "Lower is better. The weight says how much of the largest possible cost comes "
        "from missed positives. The curve is the best threshold for each weight, the "
        f"straight line that of the slider. The dot is at the weight now, {at:.2g}.",
        "weight weighted_cost",
        at=(at, at * miss + (1 - at) * alarm),
        tilt="fpr fnr",
        ends=(alarm, miss),
        y=(0.0, 0.55),
        folded=True,
    )


def cuts_for_prevalences(s: Subject) -> Finding | None:
    """Say where to cut if the prevalence of use lies in a range."""
    a = s.asked
    if a.range is None:
        return None
    point = best_threshold(s.best.tally, **a.choice, prevalences=a.range)
    there = table("There", ("metric", "value"), point.metrics.items())
    return finding(
        "prevalence",
        {"point": point},
        answer=said(sentences.prevalence_sentences(point)),
        tables=(there,) if point.prevalences is None else (),
        method="Recall and false positive rate of every threshold are taken from these "
        "cases, the prevalence is the one asked about; for a range, the least "
        "favourable prevalence counts.",
        caveat="Where positives are rarer they may also be of another kind; this "
        "calculation cannot allow for that.",
    )


def two_cuts(s: Subject) -> Finding | None:
    """Say where yes and no end, when the question spoke of deferred cases."""
    if s.asked.two is None:
        return None
    two = dict(s.asked.two)
    limits = tuple(two.pop("subject_to"))
    q = CutQuestion(**two, bounds=limits, level=s.asked.level, name=s.best.name)
    return find_cut(s.best.tally, q).finding


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
    limits = (*map(repr, a.subject_to), *a.between)
    goal = {k: v for k, v in a.choice.items() if k != "subject_to"}
    q = CutQuestion(**goal, bounds=limits, level=a.level)
    return find_cut(s.best.tally, q, groups).finding


def probabilities(s: Subject) -> list[Array | None]:
    """Give the share of positives at every step of each slider, where it is known."""
    each = zip(meanings(s), steps_of(s), strict=True)
    return [x and x.probability(stops.threshold) for x, stops in each]
