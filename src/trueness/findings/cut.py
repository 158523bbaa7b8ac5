"""Which threshold was asked for? The best one, a given one, one with a guarantee, two.

``trueness threshold`` asks here; the section of a report, with its slider and its
figures, is made by ``where_to_cut`` from the same choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.checks.cases import both_classes
from trueness._core.checks.errors import InputError
from trueness._core.numbers import (
    counted,
    cut_text,
    cut_texts,
    number_of,
    percent,
    written,
)
from trueness._core.records import Estimate
from trueness.counts.design import CASE_CONTROL
from trueness.counts.values import Tally
from trueness.findings.how_good import cases_note
from trueness.findings.notes import TITLES, Note, note
from trueness.findings.records import Figure, Finding, Table, fields_of, said, table
from trueness.findings.subject import UNNAMED, cut_of
from trueness.metrics.algebra import Metric
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import SHOWN
from trueness.metrics.grammar import cases_of, is_share, text_of
from trueness.ranking.figures import score_figure
from trueness.threshold import sentences
from trueness.threshold.at_cut import at_threshold, confusion
from trueness.threshold.group_cuts import group_thresholds
from trueness.threshold.guarantees import (
    GuaranteedThreshold,
    Proof,
    guaranteed_threshold,
)
from trueness.threshold.limits import DEFAULT, asks_for_groups, asks_for_two_cuts
from trueness.threshold.operating_point import OperatingPoint, best_threshold
from trueness.threshold.rule import Rule, rule_of
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
    t: Tally,
    answer: list[Note],
    tables: list[Table],
    mind: list[Note],
    *,
    key: str = "threshold",
    figures: tuple[Figure, ...] = (),
    about: tuple[str, str] = ("", ""),
    **known: Any,
) -> Finding:
    """Put an answer about a threshold together, with every key of its numbers."""
    return Finding(
        TITLES[key],
        dict.fromkeys(KEYS) | {"groups": {}} | known,
        (cases_note(t), *answer),
        tuple(mind),
        tuple(tables),
        figures,
        *about,
        key,
    )


def _best(t: Tally, q: CutQuestion) -> CutFinding:
    point = best_threshold(t, **q.given)
    checked = _validated(t, q)
    if q.prevalences is not None:
        # of a range the numbers are for the prevalence where the threshold is worst
        t = t.with_design(prevalence=point.prevalence)
    found = at_threshold(t, point.threshold, level=q.level).metrics
    tables = [_matrix(point.confusion), _metrics(checked.metrics if checked else found)]
    finding = _found(
        t,
        _sentences(point),
        tables,
        [*_checked(checked), *_for_prevalence(t)],
        confusion=point.confusion,
        metrics={name: e.value for name, e in found.items()},
        estimates=found,
        validation=checked and fields_of(checked, *VALIDATION),
        **fields_of(point, *POINT),
    )
    return CutFinding(finding, point)


def _validated(data: Any, q: CutQuestion) -> Validation | None:
    if not q.validate:
        return None
    made: Validation = validate_threshold(data, **q.given, level=q.level, rng=q.rng)
    return made


def _sentences(point: OperatingPoint) -> list[Note]:
    lines = [note("flag nothing")]
    if not np.isposinf(point.threshold):
        _, low, high = cut_texts(point.threshold, point.score_range)
        lines = [
            note("flag a score", cut=cut_of(point)),
            note("same cases", low=low, high=high),
        ]
    share = f", at a prevalence of {percent(point.prevalence)}"
    known = point.sampling != CASE_CONTROL
    what = sentences.objective_of(point.objective)
    lines.append(
        note("then is", what=what, value=point.value, share=share if known else "")
    )
    lines += said([*point.notes, *sentences.limiting(point)])
    more = len(point.score_ranges) - 1
    if more > 0:
        are = counted(more, "other threshold is", "other thresholds are")
        lines.append(note("ties", are=are))
    return lines


def _checked(v: Validation | None) -> list[Note]:
    if v is None:
        return []
    e, at = v.corrected, v.threshold
    ends = {"low": cut_text(at.low), "high": cut_text(at.high)}
    return [
        note("optimistic"),
        note("expect", value=e.value, low=e.low, high=e.high, instead=v.value),
        note("chosen again", level=at.level, **ends),
        *said(sentences.met(v)),
    ]


def _for_prevalence(t: Tally) -> list[Note]:
    wanted = t.design.prevalence
    if wanted is None:
        return []
    return [note("metrics for prevalence", wanted=wanted, share=t.prevalence)]


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
        rows = [(g, cut_text(rule.cuts(g)[1])) for g in rule.groups]
        tables.insert(0, table("Thresholds", ("group", "threshold"), rows))
    finding = _found(
        t,
        [note(code, cut=cut_text(found.threshold), rule=repr(rule))],
        tables,
        [note("intervals", level=q.level), note("given beforehand"),
         *([note("decided", share=found.metrics["defer"])] if rule.defers else []),
         *_for_prevalence(t), *said(found.notes)],
        threshold=found.threshold,
        prevalence=t.prevalence if share is None else share,
        method="given",
        metrics={name: e.value for name, e in found.metrics.items()},
        estimates=found.metrics,
        **fields_of(found, "notes", "confusion"),
    )  # fmt: skip
    return CutFinding(finding, found)


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
        words = [*said([sentences.guaranteed_zone_sentence(g)])]
        return CutFinding(_found(t, words, [_zones(g)], [], **known), g)
    # a guarantee speaks of the cases as they came
    found = at_threshold(t.without_design(), g.threshold, level=q.level).metrics
    goal = next((f"{k} {v}" for k, v in q.wanted.items() if v is not None), None)
    c = confusion(t, g.threshold)
    finding = _found(
        t,
        [
            note("flag a score", cut=cut_text(g.threshold)),
            note("promise", level=g.level, constraint=g.constraint),
            *said(map(_proof, g.proofs)),
        ],
        [_matrix(c), _metrics(found)],
        [note("two-sided", level=q.level), *said(g.notes)],
        **fields_of(g, "threshold", "score_range", "method"),
        objective=goal,
        constraints={p.constraint.split()[0]: p.value for p in g.proofs},
        binding=[],
        score_ranges=[g.score_range],
        confusion=c,
        metrics={name: e.value for name, e in found.items()},
        estimates=found,
        **known,
    )
    return CutFinding(finding, g)


def _proof(p: Proof) -> str:
    name, sign, _ = p.constraint.split(maxsplit=2)
    text, many = text_of(name), counted(p.cases, *cases_of(name))
    share = is_share(name)
    value, bound = (percent(v) if share else written(v) for v in (p.value, p.bound))
    side = "upper" if sign.startswith("<") else "lower"
    proof = note(
        "proof", text=text[:1].upper() + text[1:], value=value, many=many,
        level=p.level, side=side, bound=bound,
    )  # fmt: skip
    return str(proof)


def _two(t: Tally, q: CutQuestion) -> CutFinding:
    z, checked = best_thresholds(t, **q.given), _validated(t, q)
    tables, notes = [_zones(z)], list[Note]()
    if checked is not None:
        rows = list(checked.metrics.items())
        tables.append(table("On new cases", ("metric", "value"), rows))
        notes = [*said([sentences.zone_check(checked)]), note("above and below")]
    finding = _found(
        t,
        list(said(sentences.zone_sentences(z))),
        tables,
        notes,
        key="zones",
        figures=(_zone_figure(t, z, q.name),),
        about=_ZONES,
        method="pair of thresholds, exact",
        zones=z.to_dict() | {"validation": checked and checked.to_dict()},
        **fields_of(z, "objective", "value", "constraints", "prevalence", "notes"),
    )
    return CutFinding(finding, z)


_ZONES = (
    "All pairs of thresholds are compared exactly (Chow 1970, "
    "doi:10.1109/TIT.1970.1054406, is the case without constraints).",
    "These numbers do not include what a person decides about the deferred cases: each "
    "of them has the stated cost, whatever the decision.",
)
_GROUPS = (
    "The best thresholds, one for each group, by branch and bound in whole numbers, "
    "with a proof that none are better (Hardt et al. 2016 randomise instead). "
    "Intervals of differences take the thresholds as fixed.",
    "Equal rates are one idea of fairness among several that exclude each other; which "
    "one is right is not a question of statistics.",
)


def _zone_figure(t: Tally, z: Zones, name: str) -> Figure:
    return Figure(
        score_figure({name: t.labelled()}),
        "Scores and deferred cases",
        "Solid: positives. Dashed outline: negatives. Shaded: cases left to a person.",
        order=(name,),
        at=(z.lower, z.upper),
    )


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
    alone = {
        name: dict.fromkeys(KEYS[:-1])
        | {
            "threshold": g.thresholds[name],
            "score_range": g.score_ranges[name],
            "confusion": g.confusions[name],
        }
        for name in groups
    }
    finding = _found(
        t,
        list(said(sentences.group_sentences(g))),
        tables,
        notes,
        key="group-cuts",
        about=_GROUPS,
        method=f"a threshold for each group, {how}",
        group_cuts=g.to_dict(),
        validation=checked and fields_of(checked, *VALIDATION),
        groups=alone,
        **fields_of(g, "objective", "value", "constraints", "notes"),
    )
    return CutFinding(finding, g)


def with_groups(
    whole: Finding, parts: Mapping[str, Finding | None], by: str
) -> Finding:
    """Add where each group would be cut if it were alone."""
    if not parts:
        return whole
    rows = [(name, *_alone(f.numbers if f else None)) for name, f in parts.items()]
    head = (by, "threshold", "objective", "recall", "precision", "flagged")
    made = table(f"The best threshold for each {by} alone", head, rows)
    each = {
        name: f and {k: v for k, v in f.numbers.items() if k != "groups"}
        for name, f in parts.items()
    }
    return replace(
        whole, numbers=whole.numbers | {"groups": each}, tables=(*whole.tables, made)
    )


def _alone(n: dict[str, Any] | None) -> tuple[Any, ...]:
    if n is None or n["confusion"] is None:
        return (None,) * 5
    c, rates = n["confusion"], (n["metrics"].get(k) for k in ("recall", "precision"))
    cut = cut_text(n["threshold"], n["score_range"])
    return (cut, n["value"], *rates, int(c.tp + c.fp))


def _matrix(c: Confusion) -> Table:
    rows = [
        ("positive", number_of(float(c.tp)), number_of(float(c.fn))),
        ("negative", number_of(float(c.fp)), number_of(float(c.tn))),
    ]
    return table("Cases", ("cases", "flagged", "not flagged"), rows)


def _metrics(found: Mapping[str, Estimate]) -> Table:
    rows = [(text_of(name), found[name]) for name in SHOWN if name in found]
    return table("Metrics", ("metric", "value"), rows)


def _zones(z: Zones | GuaranteedThreshold) -> Table:
    return table("Cases", ("cases", "positive", "negative"), sentences.zone_rows(z))
