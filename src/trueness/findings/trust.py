"""Can it be trusted? Bins, sample size, and what a leaf of a tree is worth."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueness._core.figures import Axis, Curves, Line
from trueness._core.numbers import written
from trueness._core.records import Answer, apart
from trueness.calibration.proper_scores import brier, log_loss
from trueness.findings.notes import TITLES, Note, note
from trueness.findings.records import Figure, Finding, said, table
from trueness.findings.subject import Subject
from trueness.ranking.areas import auc, average_precision
from trueness.ranking.curves import roc
from trueness.ranking.figures import FPR, TPR
from trueness.ranking.planning import plan_auc
from trueness.threshold.operating_point import best_threshold
from trueness.trees.leaf_report import (
    LeafReport,
    leaf_figure,
    leaf_head,
    leaf_rows,
    leaf_sentences,
)

STEPS = (1.0, 0.75, 0.5)  # of the wanted half-width: what more would cost


def enough_cases(s: Subject) -> Finding | None:
    """Say how many cases an interval of a wanted width needs."""
    m, aim = s.chosen, s.asked.half_width
    area = m.auc.value
    if aim is None or not 0.5 <= area < 1:  # new cases must be able to have the AUC
        return None
    share = m.tally.design.prevalence or m.tally.prevalence
    plans = {
        w: plan_auc(auc=area, prevalence=share, half_width=w, level=s.asked.level)
        for w in (aim * step for step in STEPS)
    }
    labelled = m.tally.n_pos + m.tally.n_neg
    rows = [
        (f"±{w:.3g}", p.n, p.n_pos, max(p.n - labelled, 0)) for w, p in plans.items()
    ]
    head = ("half-width", "cases", "of them positive", "more than now")
    return Finding(
        TITLES["planning"],
        {"plan": plans[aim]},
        answer=_enough(m.name, (m.auc.high - m.auc.low) / 2, labelled, plans[aim], s),
        tables=(table(f"Cases for an interval of the AUC of {m.name}", head, rows),),
        method="The smallest number of cases for which the confidence interval of the "
        "AUC is on average as narrow as wanted, if AUC and prevalence are those found "
        "here and the scores of both classes are normal.",
        caveat="A plan is as good as the AUC that it expects; plan with a lower one "
        "too.",
        key="planning",
    )


def _enough(
    name: str, now: float, labelled: int, plan: Any, s: Subject
) -> tuple[Note, ...]:
    have = note("width now", n=labelled, level=s.asked.level, name=name, half=now)
    more, aim = plan.n - labelled, s.asked.half_width
    if more <= 0:
        return have, note("narrow already", aim=aim)
    return have, note("cases needed", aim=aim, n=plan.n, pos=plan.n_pos, more=more)


def lost_in_bins(s: Subject) -> Finding | None:
    """Say between which numbers the exact answers lie, when the tally is binned."""
    m, a = s.best, s.asked
    if not m.tally.binned:
        return None
    t, level = m.tally, a.level
    found: dict[str, Any] = {
        "AUC": auc(t, level=level),
        "average precision": average_precision(t, level=level),
        f"best {a.objective.name}": best_threshold(t, **a.choice),
    }
    if m.is_probability:
        found |= {"Brier score": brier(t, level=level)}
        found |= {"log loss": log_loss(t, level=level)}
    rows = [(what, x.value, _between(x)) for what, x in found.items()]
    head = ("what", "from the bins", "exact value between")
    return Finding(
        TITLES["scale"],
        found,
        answer=(note("bins", bins=len(t.score), between=_between(found["AUC"])),),
        figures=(_exact_curve(m.name, roc(t).limits),),
        tables=(table("Exact values", head, rows),),
        method="Only the order of the cases inside a bin is lost. For each number the "
        "best and the worst possible order are known, and they are the limits.",
        caveat="These limits are not confidence intervals: they say what the bins "
        "hide, not how far new cases would differ.",
        key="scale",
    )


def _between(x: Answer) -> str:
    if not isinstance(x.limits, tuple):
        return str(x.limits)
    low, high = x.limits
    return written(low) if low == high else apart(low, high).replace(" to ", " and ")


def _exact_curve(name: str, limits: Any) -> Figure:
    """Draw the region that holds the exact ROC curve."""
    middle = (np.asarray(limits.low) + np.asarray(limits.high)) / 2
    line = Line(name, {"fpr": limits.x, "tpr": middle})
    band = Line(name, {"fpr": limits.x, "low": limits.low, "high": limits.high})
    x, y = Axis("fpr", FPR.title), Axis("tpr", TPR.title)
    data = Curves("ROC curve, exactly", x, y, (line,), (band,))
    text = "The exact ROC curve runs inside the region."
    return Figure(data, "ROC curve, exactly", text, order=(name,), folded=True)


def which_leaves(r: LeafReport) -> Finding:
    """Show every leaf with its levels of confidence and utility."""
    return Finding(
        TITLES["leaves"],
        {"leaves": r},
        answer=said([*leaf_sentences(r), *([r.note] if r.note else [])]),
        figures=(Figure(leaf_figure(r), "Leaves", of="leaf"),),
        tables=(table("Leaves", leaf_head(r), leaf_rows(r)),),
        method="P(C) and P(U): levels of confidence and utility of a leaf with as many "
        "cases as it has, at an estimate of the share of its majority from which the "
        "bias was removed.",
        caveat="Leaves that were grown on these cases look surer than they are; count "
        "them on cases that the tree has not seen.",
        key="leaves",
    )
