"""Which threshold was asked for? The best one, a given one, one with a guarantee, two.

``trueness threshold`` asks here; the section of a report, with its slider and its
figures, is made by ``where_to_cut`` from the same choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core import numbers
from trueness._core.checks.cases import both_classes
from trueness._core.checks.errors import InputError
from trueness._core.records import Estimate
from trueness.counts.design import CASE_CONTROL
from trueness.counts.values import Tally
from trueness.findings.how_good import cases_note
from trueness.findings.notes import Note, note, said, when
from trueness.findings.records import Figure, Finding, Table, fields_of, finding, table
from trueness.findings.subject import UNNAMED, cut_of
from trueness.metrics.algebra import Metric
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import SHOWN
from trueness.metrics.grammar import cases_of, is_share, text_of
from trueness.ranking.figures import score_figure
from trueness.threshold import sentences
from trueness.threshold.group_cuts import group_thresholds
from trueness.threshold.guarantees import (
    GuaranteedThreshold,
    Proof,
    guaranteed_threshold,
)
from trueness.threshold.limits import DEFAULT, asks_for_groups, asks_for_two_cuts
from trueness.threshold.operating_point import OperatingPoint, best_threshold
from trueness.threshold.rule import Rule, at_threshold, confusion, rule_of
from trueness.threshold.validation import Validation, validate_threshold
from trueness.threshold.zones import Zones, best_thresholds

POINT = (
    *("threshold", "score_range", "objective", "value", "constraints", "binding"),
    *("score_ranges", "prevalence", "method", "notes"),
)
# every key of an answer; None where there is nothing to say
KEYS = (
    *POINT,
    *("confusion", "metrics", "estimates", "validation", "guarantee", "zones"),
    *("group_cuts", "groups"),
)
VALIDATION = (
    *("thresholds", "corrected", "optimism", "metrics", "holds", "failed"),
    *("prevalence", "notes"),
)


@final
@dataclass(frozen=True)
class CutQuestion:
    """What is asked of a threshold."""

    maximize: str | Metric | None = None
    minimize: str | Metric | None = None
    bounds: tuple[Any, ...] = ()
    at: float | Rule | None = None
    validate: bool = False
    guarantee: float | None = None
    prevalences: tuple[float, float] | None = None
    level: float = 0.95
    rng: Any = 0
    name: str = UNNAMED  # of the classifier

    @property
    def two(self) -> bool:
        """Are two cuts asked for?"""
        return asks_for_two_cuts([*self.bounds, self.maximize, self.minimize])

    @property
    def for_groups(self) -> bool:
        """Is a cut for each group asked for, or given?"""
        return asks_for_groups(self.bounds) or bool(getattr(self.at, "groups", ()))

    @property
    def wanted(self) -> dict[str, Any]:
        """Give the objective, or what is meant when none was named."""
        goal = {"maximize": self.maximize, "minimize": self.minimize}
        told = self.maximize is not None and self.minimize is not None
        if told or self.at is not None or self.guarantee is not None:
            return goal
        if self.minimize is not None or (self.two and self.maximize is None):
            return {"minimize": self.minimize or "defer"}
        return {"maximize": self.maximize or DEFAULT}

    @property
    def given(self) -> dict[str, Any]:
        """Give objective, constraints and prevalences as the library takes them."""
        several = self.prevalences
        more = {} if several is None else {"prevalences": several}
        return self.wanted | {"subject_to": list(self.bounds), **more}


class CutFinding(NamedTuple):
    """What was found, and the choice itself, for who draws it."""

    finding: Finding
    choice: Any


def find_cut(
    t: Tally, q: CutQuestion, groups: Mapping[str, Tally] | None = None
) -> CutFinding:
    """Answer what is asked of a threshold; stop at what does not go together."""
    _fits(q)
    if q.for_groups and not groups:
        raise InputError(
            "Limits on differences between groups need groups. Type by=COLUMN."
        )
    if q.at is not None:
        return _given(t, q, groups or {})
    if q.for_groups:
        return _of_groups(t, groups or {}, q)
    if q.guarantee is not None:
        return _promised(t, q)
    return _two(t, q) if q.two else _best(t, q)


def _fits(q: CutQuestion) -> None:
    """Stop at what would be left out silently."""
    chosen = (q.maximize, q.minimize, q.bounds, q.validate, q.guarantee)
    if q.at is not None and any(chosen):
        raise InputError(
            "at= evaluates one threshold, so there is nothing to choose. Leave out "
            "objective, constraints, validation and guarantee."
        )
    if q.at is not None and q.prevalences is not None:
        raise InputError(
            "at= needs one prevalence, and found a range. Type "
            f"prevalence={q.prevalences[0]:g}."
        )
    if q.guarantee is not None and not q.bounds:
        raise InputError(
            "guarantee= needs a constraint, and found none. Type "
            'subject_to="recall >= 0.9" and guarantee=0.95.'
        )
    if q.guarantee is not None and q.validate:
        raise InputError(
            "A guarantee comes with its own proof. Leave validation out, or the "
            "guarantee."
        )


def _found(
    choice: Any,
    t: Tally,
    answer: Iterable[Note],
    tables: Iterable[Table],
    mind: Iterable[Note] = (),
    *,
    key: str = "threshold",
    more: Mapping[str, Any] | None = None,
    **known: Any,
) -> CutFinding:
    """Put an answer about a threshold together, with every key of its numbers."""
    numbers = dict.fromkeys(KEYS) | {"groups": {}} | known
    if numbers["estimates"] is not None:
        numbers["metrics"] = {k: e.value for k, e in numbers["estimates"].items()}
    words = {"notes": tuple(mind), "tables": tuple(tables), **(more or {})}
    return CutFinding(
        finding(key, numbers, answer=(cases_note(t), *answer), **words), choice
    )


def _best(t: Tally, q: CutQuestion) -> CutFinding:
    point = best_threshold(t, **q.given)
    checked = _validated(t, q)
    if q.prevalences is not None:
        # of a range the numbers are for the prevalence where the threshold is worst
        t = t.with_design(prevalence=point.prevalence)
    found = at_threshold(t, point.threshold, level=q.level).metrics
    mind: list[Note] = []
    if checked is not None:
        e, at = checked.corrected, checked.threshold
        expect = {**fields_of(e, "value", "low", "high"), "instead": checked.value}
        ends = {"low": numbers.cut_text(at.low), "high": numbers.cut_text(at.high)}
        mind = [
            note("optimistic"),
            note("expect", **expect),
            note("chosen again", level=at.level, **ends),
            *said(sentences.met(checked)),
        ]
    return _found(
        point,
        t,
        _sentences(point),
        [_matrix(point.confusion), _metrics(checked.metrics if checked else found)],
        [*mind, *_for_prevalence(t)],
        confusion=point.confusion,
        estimates=found,
        validation=checked and fields_of(checked, *VALIDATION),
        **fields_of(point, *POINT),
    )


def _validated(data: Any, q: CutQuestion) -> Validation | None:
    if not q.validate:
        return None
    made: Validation = validate_threshold(data, **q.given, level=q.level, rng=q.rng)
    return made


def _sentences(point: OperatingPoint) -> list[Note]:
    lines = [note("flag nothing")]
    if not np.isposinf(point.threshold):
        _, low, high = numbers.cut_texts(point.threshold, point.score_range)
        lines = [
            note("flag a score", cut=cut_of(point)),
            note("same cases", low=low, high=high),
        ]
    what, share = sentences.objective_of(point.objective), ""
    if point.sampling != CASE_CONTROL:
        share = f", at a prevalence of {numbers.percent(point.prevalence)}"
    more = len(point.score_ranges) - 1
    are = numbers.counted(more, "other threshold is", "other thresholds are")
    return [
        *lines,
        note("then is", what=what, value=point.value, share=share),
        *said([*point.notes, *sentences.limiting(point)]),
        *when(more > 0, "ties", are=are),
    ]


def _for_prevalence(t: Tally) -> tuple[Note, ...]:
    share = {"wanted": t.design.prevalence, "share": t.prevalence}
    return when(share["wanted"] is not None, "metrics for prevalence", **share)


def _given(t: Tally, q: CutQuestion, groups: Mapping[str, Tally]) -> CutFinding:
    """Evaluate a threshold, or a rule, that was chosen beforehand."""
    both_classes(t, "threshold")
    rule = rule_of(q.at)
    data = {g: groups[g] for g in groups if g in rule.groups} if rule.groups else t
    found: Any = at_threshold(data, rule, level=q.level)
    share = t.design.prevalence
    code = "flagging" if isinstance(q.at, float) else "by rule"
    tables = [_matrix(found.confusion), _metrics(found.metrics)]
    if rule.groups:
        rows = [(g, numbers.cut_text(rule.cuts(g)[1])) for g in rule.groups]
        tables.insert(0, table("Thresholds", ("group", "threshold"), rows))
    return _found(
        found,
        t,
        [note(code, cut=numbers.cut_text(found.threshold), rule=repr(rule))],
        tables,
        [
            note("intervals", level=q.level),
            note("given beforehand"),
            *when(rule.defers, "decided", share=found.metrics.get("defer")),
            *_for_prevalence(t),
            *said(found.notes),
        ],
        threshold=found.threshold,
        prevalence=t.prevalence if share is None else share,
        method="given",
        estimates=found.metrics,
        **fields_of(found, "notes", "confusion"),
    )


def _promised(t: Tally, q: CutQuestion) -> CutFinding:
    """Find one cut, or two, whose constraints hold with a confidence."""
    asked = {"subject_to": list(q.bounds), "level": q.guarantee, "rng": q.rng}
    two = asks_for_two_cuts([*q.bounds])
    g = guaranteed_threshold(t, **({} if two else q.wanted), **asked)
    known: dict[str, Any] = {
        "prevalence": t.prevalence,
        "notes": g.notes,
        "guarantee": fields_of(g, "level", "proofs"),
    }
    if two:
        known |= {"constraints": {p.constraint: p.value for p in g.proofs}}
        known |= {"method": "guaranteed pair of thresholds", "zones": g.to_dict()}
        words = said([sentences.guaranteed_zone_sentence(g)])
        return _found(g, t, words, [_zones(g)], **known)
    # a guarantee speaks of the cases as they came
    found = at_threshold(t.without_design(), g.threshold, level=q.level).metrics
    goal = next((f"{k} {v}" for k, v in q.wanted.items() if v is not None), None)
    c = confusion(t, g.threshold)
    return _found(
        g,
        t,
        [
            note("flag a score", cut=numbers.cut_text(g.threshold)),
            note("promise", level=g.level, constraint=g.constraint),
            *map(_proof, g.proofs),
        ],
        [_matrix(c), _metrics(found)],
        [note("two-sided", level=q.level), *said(g.notes)],
        **fields_of(g, "threshold", "score_range", "method"),
        objective=goal,
        constraints={p.constraint.split()[0]: p.value for p in g.proofs},
        binding=[],
        score_ranges=[g.score_range],
        confusion=c,
        estimates=found,
        **known,
    )


def _proof(p: Proof) -> Note:
    name, sign, _ = p.constraint.split(maxsplit=2)
    text, many = text_of(name), numbers.counted(p.cases, *cases_of(name))
    write = numbers.percent if is_share(name) else numbers.written
    return note(
        "proof",
        text=text[:1].upper() + text[1:],
        value=write(p.value),
        many=many,
        level=p.level,
        side="upper" if sign.startswith("<") else "lower",
        bound=write(p.bound),
    )


def _two(t: Tally, q: CutQuestion) -> CutFinding:
    z, checked = best_thresholds(t, **q.given), _validated(t, q)
    tables, notes = [_zones(z)], list[Note]()
    if checked is not None:
        rows = list(checked.metrics.items())
        tables.append(table("On new cases", ("metric", "value"), rows))
        notes = [*said([sentences.zone_check(checked)]), note("above and below")]
    drawn = Figure(
        score_figure({q.name: t.labelled()}),
        "Scores and deferred cases",
        "Solid: positives. Dashed outline: negatives. Shaded: cases left to a person.",
        order=(q.name,),
        at=(z.lower, z.upper),
    )
    return _found(
        z,
        t,
        said(sentences.zone_sentences(z)),
        tables,
        notes,
        key="zones",
        more={"figures": (drawn,), **_ZONES},
        method="pair of thresholds, exact",
        zones=z.to_dict() | {"validation": checked and checked.to_dict()},
        **fields_of(z, "objective", "value", "constraints", "prevalence", "notes"),
    )


_ZONES = {
    "method": "All pairs of thresholds are compared exactly (Chow 1970, "
    "doi:10.1109/TIT.1970.1054406, is the case without constraints).",
    "caveat": "These numbers do not include what a person decides about the deferred "
    "cases: each of them has the stated cost, whatever the decision.",
}
_GROUPS = {
    "method": "The best thresholds, one for each group, by branch and bound in whole "
    "numbers, with a proof that none are better (Hardt et al. 2016 randomise instead). "
    "Intervals of differences take the thresholds as fixed.",
    "caveat": "Equal rates are one idea of fairness among several that exclude each "
    "other; which one is right is not a question of statistics.",
}


def _of_groups(t: Tally, groups: Mapping[str, Tally], q: CutQuestion) -> CutFinding:
    """Find a cut for each group under limits on their differences."""
    g = group_thresholds(groups, **q.given, level=q.level)
    checked = _validated(groups, q)
    tables = [table("Thresholds", sentences.GROUP_HEAD, sentences.group_rows(g))]
    notes = list(said(g.notes))
    if checked is not None:
        names = [n for n in (*SHOWN, *g.gaps) if n in checked.metrics]
        rows = [(text_of(n), checked.metrics[n]) for n in names]
        tables.append(table("On new cases", ("metric", "value"), rows))
        notes += said([sentences.zone_check(checked)])
    how = "proved optimal" if g.proved else "best found within the time limit"
    alone: dict[str, Any] = {
        "threshold": g.thresholds,
        "score_range": g.score_ranges,
        "confusion": g.confusions,
    }
    each = {n: {k: v[n] for k, v in alone.items()} for n in groups}
    return _found(
        g,
        t,
        said(sentences.group_sentences(g)),
        tables,
        notes,
        key="group-cuts",
        more=_GROUPS,
        method=f"a threshold for each group, {how}",
        group_cuts=g.to_dict(),
        validation=checked and fields_of(checked, *VALIDATION),
        groups={n: dict.fromkeys(KEYS[:-1]) | own for n, own in each.items()},
        **fields_of(g, "objective", "value", "constraints", "notes"),
    )


def with_groups(
    whole: Finding, parts: Mapping[str, Finding | None], by: str
) -> Finding:
    """Add where each group would be cut if it were alone."""
    if not parts:
        return whole
    rows: list[tuple[Any, ...]] = []
    for name, f in parts.items():
        n = f.numbers if f else {}
        if (c := n.get("confusion")) is None:
            rows.append((name, *(None,) * 5))
            continue
        rates = (n["metrics"].get(k) for k in ("recall", "precision"))
        cut = numbers.cut_text(n["threshold"], n["score_range"])
        rows.append((name, cut, n["value"], *rates, int(c.tp + c.fp)))
    head = (by, "threshold", "objective", "recall", "precision", "flagged")
    made = table(f"The best threshold for each {by} alone", head, rows)
    each = {
        name: f and {k: v for k, v in f.numbers.items() if k != "groups"}
        for name, f in parts.items()
    }
    return replace(
        whole, numbers=whole.numbers | {"groups": each}, tables=(*whole.tables, made)
    )


def _matrix(c: Confusion) -> Table:
    counts = {"positive": (c.tp, c.fn), "negative": (c.fp, c.tn)}
    rows = [
        (kind, *(numbers.number_of(float(n)) for n in two))
        for kind, two in counts.items()
    ]
    return table("Cases", ("cases", "flagged", "not flagged"), rows)


def _metrics(found: Mapping[str, Estimate]) -> Table:
    rows = [(text_of(name), found[name]) for name in SHOWN if name in found]
    return table("Metrics", ("metric", "value"), rows)


def _zones(z: Zones | GuaranteedThreshold) -> Table:
    return table("Cases", ("cases", "positive", "negative"), sentences.zone_rows(z))
