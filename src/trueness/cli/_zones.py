"""What is asked of a threshold, and what of two, or of groups?

One cut is found by the command itself (``threshold``), the others here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import trueness
from trueness._core.checks.errors import InputError
from trueness.cli._columns import Request
from trueness.cli._fields import CUT, POINT, VALIDATION, fields_of
from trueness.cli._shell import table
from trueness.cli._words import noted
from trueness.counts.values import Tally
from trueness.metrics.definitions import SHOWN
from trueness.metrics.grammar import text_of
from trueness.threshold import sentences
from trueness.threshold.group_cuts import group_thresholds
from trueness.threshold.guarantees import guaranteed_threshold
from trueness.threshold.operating_point import DEFAULT
from trueness.threshold.validation import validate_threshold
from trueness.threshold.zones import asks_for_two_cuts, best_thresholds

_HEAD = ["cases", "positive", "negative"]


@final
@dataclass(frozen=True)
class CutQuestion:
    """What is asked of a threshold, as it was typed."""

    request: Request
    maximize: str | None
    minimize: str | None
    bounds: list[str]
    at: float | None
    validate: bool
    guarantee: float | None

    @property
    def asked(self) -> list[str | None]:
        """Give every metric and constraint that was named."""
        return [*self.bounds, self.maximize, self.minimize]

    @property
    def two(self) -> bool:
        """Are two cuts asked for?"""
        return asks_for_two_cuts(self.asked)

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
        several = self.request.prevalences
        more = {} if several is None else {"prevalences": several}
        return self.wanted | {"subject_to": self.bounds, **more}

    @property
    def promise(self) -> dict[str, Any]:
        """Give what is to be guaranteed as the library takes it."""
        seed = self.request.seed
        return {
            "subject_to": self.bounds,
            "level": self.guarantee,
            "rng": seed,
        }

    @property
    def sure(self) -> dict[str, Any]:
        """Give level and seed of what is estimated."""
        return {"level": self.request.level, "rng": self.request.seed}

    def no_range(self) -> None:
        """Stop where the prevalence cannot be a range."""
        several = self.request.prevalences
        if several is not None:
            raise InputError(
                "--at needs one prevalence, and found a range. Type --prevalence "
                f"{several[0]:g}."
            )


class CutFound(NamedTuple):
    """What was found: for programs, for people, and as a figure."""

    result: dict[str, Any]
    parts: list[Any]
    chart: Any


def every_key(**known: Any) -> dict[str, Any]:
    """Give every key of the answer; null where there is nothing to say."""
    return dict.fromkeys(CUT) | known


def two_cuts(q: CutQuestion, t: Tally) -> CutFound:
    """Find two cuts."""
    z = best_thresholds(t, **q.given)
    checked = validate_threshold(t, **q.given, **q.sure) if q.validate else None
    parts: list[Any] = [
        *sentences.zone_sentences(z),
        table(_HEAD, sentences.zone_rows(z)),
    ]
    if checked is not None:
        parts += [
            sentences.zone_check(checked),
            table(["metric", "value"], [[n, v] for n, v in checked.metrics.items()]),
            "'above' is about the cases called positive, 'below' about those called "
            "negative.",
        ]
    same = ("objective", "value", "constraints", "prevalence", "notes")
    result = every_key(
        **fields_of(z, same),
        method="pair of thresholds, exact",
        zones=z.to_dict() | {"validation": checked and checked.to_dict()},
    )
    return CutFound(result, parts, lambda: trueness.plots.zones(t, z))


def two_promised_cuts(q: CutQuestion, t: Tally) -> CutFound:
    """Find two cuts with a guarantee."""
    z = guaranteed_threshold(t, **q.promise)
    words = [
        sentences.guaranteed_zone_sentence(z),
        table(_HEAD, sentences.zone_rows(z)),
    ]
    result = every_key(
        constraints={p.constraint: p.value for p in z.proofs},
        prevalence=t.prevalence,
        method="guaranteed pair of thresholds",
        notes=z.notes,
        zones=z.to_dict(),
        guarantee=fields_of(z, ("level", "proofs")),
    )
    return CutFound(result, words, lambda: trueness.plots.zones(t, z))


def cuts_of_groups(q: CutQuestion, groups: dict[str, Tally]) -> CutFound:
    """Find a cut for each group under limits on their differences."""
    level = q.request.level
    g = group_thresholds(groups, **q.wanted, subject_to=q.bounds, level=level)
    how = "proved optimal" if g.proved else "best found within the time limit"
    result = every_key(
        **fields_of(g, ("objective", "value", "constraints", "notes")),
        method=f"a threshold for each group, {how}",
        group_cuts=g.to_dict(),
    )
    checked = validate_threshold(groups, **q.given, **q.sure) if q.validate else None
    result["validation"] = checked and fields_of(checked, VALIDATION)
    rows = table(list(sentences.GROUP_HEAD), sentences.group_rows(g))
    first, *rest = sentences.group_sentences(g)
    parts = [first, rows, *rest, *noted(g.notes)]
    if checked is not None:
        names = [*SHOWN, *g.gaps]
        expected = [
            [text_of(n), checked.metrics[n]] for n in names if n in checked.metrics
        ]
        parts += [sentences.zone_check(checked), table(["metric", "value"], expected)]
    return CutFound(result, parts, None)


def at_cut(confusion: Any, found: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Give counts and metrics at a threshold, and whatever else is known of it."""
    values = {name: e.value for name, e in found.items()}
    return every_key(confusion=confusion, metrics=values, estimates=found, **more)


def point_numbers(point: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Give the numbers of a chosen threshold as ``--json`` writes them."""
    return at_cut(point.confusion, found, **fields_of(point, POINT))
