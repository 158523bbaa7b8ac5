"""Can it be trusted? Bins, sample sizes, leaves of a tree, contracts and watches."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Any

import numpy as np

from trueness._core.figures import Axis, Curves, Line
from trueness._core.numbers import written
from trueness._core.records import Answer, apart
from trueness.calibration.proper_scores import brier, log_loss
from trueness.findings.notes import Note, note, said, when
from trueness.findings.records import Figure, Finding, fields_of, figure, finding, table
from trueness.findings.subject import Subject, best_for
from trueness.monitoring.verdicts import FAILS, HOLDS, OPEN, Check
from trueness.monitoring.watching import Watch
from trueness.nogold.label_plans import LabelNumber
from trueness.ranking.areas import auc, average_precision
from trueness.ranking.curves import roc
from trueness.ranking.figures import FPR, TPR
from trueness.ranking.planning import Plan, plan_auc
from trueness.trees.leaf_reports import (
    LeafReport,
    leaf_figure,
    leaf_numbers,
    leaf_sentences,
    leaf_table,
)
from trueness.trees.levels import confidence_level, utility_level

STEPS = (1.0, 0.75, 0.5)  # of the wanted half-width: what more would cost


def enough_cases(s: Subject) -> Finding | None:
    """Say how many cases an interval of a wanted width needs."""
    m, aim = s.chosen, s.request.half_width
    area = m.auc.value
    if aim is None or not 0.5 <= area < 1:  # new cases must be able to have the AUC
        return None
    share = m.tally.design.prevalence or m.tally.prevalence
    plans = {
        w: plan_auc(auc=area, prevalence=share, half_width=w, level=s.request.level)
        for w in (aim * step for step in STEPS)
    }
    labelled = m.tally.n_pos + m.tally.n_neg
    rows = [
        (f"±{w:.3g}", p.n, p.n_pos, max(p.n - labelled, 0)) for w, p in plans.items()
    ]
    head = ("half-width", "cases", "of them positive", "more than now")
    now, more = (m.auc.high - m.auc.low) / 2, plans[aim].n - labelled
    then = note("narrow already", aim=aim)
    if more > 0:
        sizes = {"n": plans[aim].n, "pos": plans[aim].n_pos, "more": more}
        then = note("cases needed", aim=aim, **sizes)
    have = {"n": labelled, "level": s.request.level, "name": m.name, "half": now}
    return finding(
        "planning",
        {"plan": plans[aim]},
        answer=(note("width now", **have), then),
        tables=(table(f"Cases for an interval of the AUC of {m.name}", head, rows),),
    )


def lost_in_bins(s: Subject) -> Finding | None:
    """Say between which numbers the exact answers lie, when the tally is binned."""
    m, a = s.best, s.request
    if not m.tally.binned:
        return None
    t, level = m.tally, a.level
    found: dict[str, Any] = {
        "AUC": auc(t, level=level),
        "average precision": average_precision(t, level=level),
        f"best {a.objective.name}": best_for(t, a.single_goal),
    }
    if m.is_probability:
        found |= {"Brier score": brier(t, level=level)}
        found |= {"log loss": log_loss(t, level=level)}
    rows = [(what, x.value, _between(x)) for what, x in found.items()]
    head = ("what", "from the bins", "exact value between")
    exact = roc(t).bounds
    middle = (np.asarray(exact.low) + np.asarray(exact.high)) / 2
    line = Line(m.name, {"fpr": exact.x, "tpr": middle})
    band = Line(m.name, {"fpr": exact.x, "low": exact.low, "high": exact.high})
    x, y = Axis("fpr", FPR.title), Axis("tpr", TPR.title)
    data = Curves("ROC curve, exactly", x, y, (line,), (band,))
    drawn = figure(data.what, data, order=(m.name,), folded=True)
    return finding(
        "scale",
        found,
        answer=(note("bins", bins=len(t.score), between=_between(found["AUC"])),),
        figures=(drawn,),
        tables=(table("Exact values", head, rows),),
    )


def _between(x: Answer) -> str:
    if not isinstance(x.bounds, tuple):
        return str(x.bounds)
    low, high = x.bounds
    return written(low) if low == high else apart(low, high).replace(" to ", " and ")


def which_leaves(
    found: LeafReport,
    groups: Mapping[str, LeafReport | None] | None = None,
    by: str = "",
) -> Finding:
    """Show every leaf with its levels of confidence and utility."""
    parts = {g: leaf_table(r) for g, r in (groups or {}).items() if r is not None}
    return finding(
        "leaves",
        {
            **_leaf_numbers(found),
            "groups": {g: r and _leaf_numbers(r) for g, r in (groups or {}).items()},
        },
        answer=said([*leaf_sentences(found), *([found.note] if found.note else [])]),
        figures=(Figure(leaf_figure(found), "Leaves", of="leaf"),),
        tables=(
            table("Leaves", *leaf_table(found)),
            *(
                table(f"{by} {g}", [by, *head], ([g, *x] for x in rows))
                for g, (head, rows) in parts.items()
            ),
        ),
    )


def _leaf_numbers(r: LeafReport) -> dict[str, Any]:
    return {
        "leaves": leaf_numbers(r),
        "tree": fields_of(r.tree, "n", "confidence", "utility"),
        **fields_of(r, "wanted", "level", "trusted_level", "method"),
    }


def planned(p: Plan, what: str) -> Finding:
    """Say how many cases a plan needs, and what they bring."""
    size = note("plan", n=p.n, pos=p.n_pos)
    if p.counted != p.n:
        size = note("plan rate", n=p.n, part=p.counted, measure=p.measure)
    lines = [size, note("plan width", level=p.level, what=what, half=p.half_width)]
    if not isnan(p.power):
        code = "paired power" if isnan(p.null) else "plan power"
        lines.append(note(code, what=what, null=p.null, power=p.power))
    return finding("planning", {"plan": p}, answer=tuple(lines))


def planned_leaf(n: int, p: float, **wanted: float | None) -> Finding:
    """Say how many cases a leaf needs, and what they bring."""
    reached = {
        "confidence": float(confidence_level(n, p)),
        "utility": float(utility_level(n, p)),
    }
    numbers = {"n": n, "asked": {"p": p, **wanted}, "reached": reached}
    answer = (note("plan leaf", n=n, **reached),)
    return finding("planning", numbers, answer=answer)


def planned_labels(p: LabelNumber) -> Finding:
    """Say how many labels an interval needs."""
    told = {"n": p.labels, "half": 50 * p.width, "without": p.without_judges}
    needed = (note("labels needed", **told), *said(p.notes))
    return finding("planning", {"plan": p}, answer=needed)


def requirements(found: Check, counted: Note, undecided: str = "report") -> Finding:
    """Say which requirements hold, fail, or cannot be told yet; and the exit code."""
    word = found.verdict
    if word == OPEN and undecided != "report":
        word = HOLDS if undecided == "pass" else FAILS
    code = {HOLDS: 0, FAILS: 4, OPEN: 5}[word]
    rows = [
        (v.verdict, v.name, f"{v.value:.4g}", v.span or "exact")
        for v in found.ordered()
    ]
    head = ("verdict", "requirement", "measured", "limits")
    return finding(
        "check",
        {
            "verdict": found.verdict,
            "exit_code": code,
            **fields_of(found, "level", "adjust", "verdicts", "notes"),
        },
        answer=(counted,),
        notes=(
            *said(v.reason for v in found.ordered() if v.verdict != HOLDS),
            *said(found.notes),
            note(found.verdict, exit=code),
        ),
        # a requirement is read to its end
        tables=(table("Requirements", head, rows, most=120),),
    )


def still_good(held: Watch, counted: Note, new: bool) -> Finding:
    """Say whether a watch raises its alarm."""
    words, ends = ("alarm", "since", "evidence"), ("value", "low", "high")
    rows = [
        (g, "alarm" if w.alarm else "no alarm", w.value, w.low, w.high)
        for g, w in held.groups.items()
    ]
    head = ("group", "", "value", "from", "to")
    found = held.sentence()
    return finding(
        "watch",
        {
            **fields_of(held, *words, "looks", *ends, "change"),
            "groups": {
                g: fields_of(w, *words, *ends, "change") for g, w in held.groups.items()
            },
            "watching": held.what,
            "counted": new,
            "sentence": found,
        },
        answer=(
            counted,
            *when(not new, "counted before"),
            note("watched", what=held.what, found=found),
        ),
        tables=(table("Groups", head, rows),) if rows else (),
    )
