"""What is required? A sentence or a table becomes a :class:`Requirement`.

``"auc >= 0.8"``, ``"recall >= 0.9 at 0.3"``, ``"recall >= 0.9 at rule.json by site"``;
or the fields by name, as a contract holds them. Gates and watches read the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described, nearest
from trueness.metrics.grammar import known_names, metric
from trueness.monitoring.measures import FACTS, MEASURES
from trueness.threshold.rule import Rule, rule_of

LABELLED = ("random", "by verdict", "by truth")
KNOWN = (*MEASURES, *FACTS, "missing_scores")

_TEXT = re.compile(
    r"^\s*(?P<metric>.+?)\s*(?P<sign>>=|<=|>|<)\s*(?P<bound>[-+\d.eE]+)"
    r"(?:\s+at\s+(?P<threshold>\S+))?(?:\s+by\s+(?P<by>\w+))?\s*$"
)


@final
@dataclass(frozen=True)
class Requirement:
    """What must be true of the predictions, in the population that they come from?

    Attributes
    ----------
    metric : str
        ``auc``, any metric or sum of metrics, a fact about the file (``positives``).
    at_least, at_most : float or None
        The bound; or both.
    threshold : float, Rule or None
        Where scores are cut, for metrics of the confusion matrix.
    by : str or None
        A column of groups: required of each of them.
    gap_at_most : float or None
        The largest difference between any two groups of ``by``.
    not_worse_than : str or None
        A baseline: ``"baseline"``, or a column of the same file (paired).
    margin : float
        How much worse than the baseline is still good enough.
    judges : tuple of str
        For ``prevalence``: columns of verdicts, of judges that err.
    labelled : str or None
        For ``judges`` with labels: how the labelled cases were chosen, "random", "by
        verdict" or "by truth".
    """

    metric: str
    at_least: float | None = None
    at_most: float | None = None
    threshold: float | Rule | None = None
    by: str | None = None
    gap_at_most: float | None = None
    not_worse_than: str | None = None
    margin: float = 0.0
    fpr: tuple[float, float] | None = None
    judges: tuple[str, ...] = ()
    labelled: str | None = None

    def __str__(self) -> str:
        """Write it as people say it."""
        parts = []
        if self.at_least is not None:
            parts.append(f"{self.metric} >= {self.at_least:g}{self.at}")
        if self.at_most is not None:
            parts.append(f"{self.metric} <= {self.at_most:g}{self.at}")
        if self.gap_at_most is not None:
            parts.append(f"gap of {self.metric}{self.at} <= {self.gap_at_most:g}")
        if self.not_worse_than is not None:
            worse = f" by more than {self.margin:g}" if self.margin else ""
            what = f"{self.metric}{self.at}"
            parts.append(f"{what} not worse than {self.not_worse_than}{worse}")
        by = f" by {self.by}" if self.by else ""
        return " and ".join(parts) + by

    @property
    def at(self) -> str:
        """Say where scores are cut."""
        if isinstance(self.threshold, Rule):
            return f" by the rule ({repr(self.threshold).removeprefix('Rule: ')})"
        return "" if self.threshold is None else f" at {self.threshold:g}"

    @property
    def is_fact(self) -> bool:
        """Is it counted in the file, and not estimated?"""
        return self.metric in FACTS or self.metric in ("missing_scores", "flagged")

    @property
    def lower_is_better(self) -> bool:
        """Which way is worse than a baseline?"""
        if self.metric in MEASURES:
            return MEASURES[self.metric].better == "lower"
        return metric(self.metric).direction == "lower"


FIELDS = {
    **dict.fromkeys(("metric", "by", "not_worse_than", "labelled"), "text"),
    **dict.fromkeys(("at_least", "at_most", "gap_at_most", "margin"), "number"),
    "threshold": "cut",
    "fpr": "two numbers",
    "judges": "names",
}
_KINDS = {
    "number": "a finite number, such as 0.9",
    "text": 'text in quotes, such as "auc"',
    "cut": 'a finite number, such as 0.5, or a file with a rule, such as "rule.json"',
    "two numbers": "two numbers, such as [0, 0.1]",
    "names": 'a list of columns, such as ["judge_a", "judge_b"]',
}
# words for a field that other tools use
_OTHER_WORDS = {
    **dict.fromkeys(("min", "minimum", "ge", "gte", "lower", "above"), "at_least"),
    **dict.fromkeys(("max", "maximum", "le", "lte", "upper", "below"), "at_most"),
    **dict.fromkeys(("cut", "cutoff", "at"), "threshold"),
    **dict.fromkeys(("group", "groups", "group_by"), "by"),
    **dict.fromkeys(("name", "measure"), "metric"),
}


def requirement(given: Any) -> Requirement:
    """Read a requirement from a sentence or from its fields.

    Examples
    --------
    >>> requirement("recall >= 0.9 at 0.3").threshold
    0.3
    >>> print(requirement({"metric": "auc", "at_least": 0.8, "by": "site"}))
    auc >= 0.8 by site
    """
    if isinstance(given, str):
        given = _from_text(given)
    if isinstance(given, Mapping):
        given = _from_fields(given)
    if not isinstance(given, Requirement):
        raise InputError(
            f"A requirement is a sentence or a table of fields; found "
            f'{described(given)}. Type "auc >= 0.8" or "recall >= 0.9 at 0.3".'
        )
    for mistake in _mistakes(given):
        raise InputError(mistake)
    return given


def single(r: Requirement) -> list[Requirement]:
    """Give the bound, the gap and the comparison that a requirement asks for."""
    bare = replace(r, **_NO_BOUND)
    parts = []
    for names in (("at_least", "at_most"), ("gap_at_most",), ("not_worse_than",)):
        given = {k: getattr(r, k) for k in names if getattr(r, k) is not None}
        if "not_worse_than" in given:
            given["margin"] = r.margin
        if given:
            parts.append(replace(bare, **given))
    return parts


_NO_BOUND: dict[str, Any] = dict.fromkeys(
    ("at_least", "at_most", "gap_at_most", "not_worse_than")
) | {"margin": 0.0}


def contradiction(asked: Sequence[Requirement]) -> tuple[int, int] | None:
    """Which two requirements can no predictions meet? Places in the list."""
    for k, one in enumerate(asked):
        for j, other in enumerate(asked[:k]):
            pairs = ((one.at_least, other.at_most), (other.at_least, one.at_most))
            apart = any(a is not None and b is not None and a > b for a, b in pairs)
            if apart and replace(one, **_NO_BOUND) == replace(other, **_NO_BOUND):
                return j, k
    return None


def _from_text(text: str) -> dict[str, Any]:
    """Read the fields that a sentence names."""
    found = _TEXT.match(text)
    if not found:
        raise InputError(
            f"Cannot read the requirement {described(text)}: a metric, >= or <=, and a "
            f'number were needed. Type "auc >= 0.8" or "recall >= 0.9 at 0.3".'
        )
    given: dict[str, Any] = {k: v for k, v in found.groupdict().items() if v}
    side = "at_least" if given.pop("sign").startswith(">") else "at_most"
    given[side] = given.pop("bound")
    for name in {side, "threshold"} & given.keys():
        try:
            given[name] = float(given[name])
        except ValueError:
            if name == side or not given[name].endswith(".json"):
                raise InputError(
                    f"Cannot read {described(given[name])} in {described(text)} as a "
                    "number."
                ) from None
    return given


def _from_fields(given: Mapping[str, Any]) -> Requirement:
    for name in given:
        if name in _OTHER_WORDS:
            raise InputError(
                f"A requirement has no field {described(name)}; write "
                f"{_OTHER_WORDS[name]} = {given[name]!r}."
            )
        if name not in FIELDS:
            raise InputError(
                f"A requirement has no field {described(name)}."
                f"{nearest(str(name), FIELDS)} Known fields: {', '.join(FIELDS)}."
            )
    if "metric" not in given:
        raise InputError(
            'A requirement needs metric = "auc" or another; found the fields '
            f"{', '.join(map(repr, given)) or 'none'}."
        )
    return Requirement(**{k: _typed(k, v) for k, v in given.items()})


def _typed(name: str, value: Any) -> Any:
    """Read the value of a field; a rule from its file, its fields or as it is."""
    kind = FIELDS[name]
    if kind in ("number", "cut") and _is_number(value) and math.isfinite(value):
        return float(value)
    if kind == "cut" and isinstance(value, (str, Mapping)):
        return Rule.load(value) if isinstance(value, str) else Rule.from_dict(value)
    if kind == "cut" and isinstance(getattr(value, "rule", value), Rule):
        return rule_of(value)
    if kind == "text" and isinstance(value, str):
        return value.strip()
    if isinstance(value, (list, tuple)):
        if kind == "two numbers" and len(value) == 2 and all(map(_is_number, value)):
            return tuple(float(v) for v in value)
        if kind == "names" and all(isinstance(v, str) for v in value):
            return tuple(value)
    raise InputError(f"{name} must be {_KINDS[kind]}; found {described(value)}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _mistakes(r: Requirement) -> Iterator[str]:
    """Say what cannot be meant, first things first."""
    bounds = {k: getattr(r, k) for k in ("at_least", "at_most", "gap_at_most")}
    if all(b is None for b in (*bounds.values(), r.not_worse_than)):
        yield (
            f"{r.metric} needs a bound. Give at_least, at_most, gap_at_most or "
            "not_worse_than."
        )
    yield from _about_judges(r)
    compared = {"gap_at_most": r.gap_at_most, "not_worse_than": r.not_worse_than}
    if r.metric == "missing_scores":
        compared["by"] = r.by
    for name, given in compared.items():
        if r.is_fact and given is not None:
            yield (
                f"{name} does not go with {r.metric}, which is counted in the whole "
                "file; give at_least or at_most."
            )
    if r.metric in KNOWN or r.metric in MEASURES:
        if r.threshold is not None:
            yield (
                f"{r.metric} does not depend on a threshold; leave out threshold "
                f"{r.threshold}."
            )
        low, high = MEASURES[r.metric].ends if r.metric in MEASURES else (0.0, 1.0)
        if r.metric in FACTS and not r.metric.endswith("_share"):
            low, high = -math.inf, math.inf
    else:
        low, high = _range(r.metric)
        if r.threshold is None:
            yield (
                f"{r.metric} needs a threshold: which scores are flagged? Give "
                f'threshold, or write "{r.metric} >= 0.9 at 0.5".'
            )
    for bound in (r.at_least, r.at_most):
        if bound is not None and not low <= bound <= high:
            yield (
                f"{r.metric} lies between {low:g} and {high:g}; the bound {bound:g} "
                f"is outside that range.{_percent(bound, high)}"
            )
    most = math.inf if r.at_most is None else r.at_most
    if r.at_least is not None and r.at_least > most:
        yield (
            f"{r.metric} cannot be at_least {r.at_least:g} and at_most {most:g}; "
            f"one of the two bounds is wrong."
        )
    if r.gap_at_most is not None and not r.by:
        yield f"gap_at_most of {r.metric} needs groups. Give by as well."
    if r.margin and r.not_worse_than is None:
        yield "margin goes with not_worse_than; leave it out, or give both."
    for name, size in (("margin", r.margin), ("gap_at_most", r.gap_at_most)):
        if size is not None and not 0 <= size <= high - low:
            yield (
                f"{name} must be between 0 and {high - low:g}, the range of "
                f"{r.metric}; found {size:g}.{_percent(size, high - low)}"
            )
    if r.fpr is not None and r.metric != "partial_auc":
        yield f"fpr goes with partial_auc; {r.metric} has none."
    if r.fpr is not None and not 0 <= r.fpr[0] < r.fpr[1] <= 1:
        yield (
            f"fpr must rise from its first to its second number, both from 0 to 1; "
            f"found {list(r.fpr)}. Write [0, 0.1]."
        )


def _about_judges(r: Requirement) -> Iterator[str]:
    if r.judges and r.metric != "prevalence":
        yield f"judges are for prevalence; found metric {described(r.metric)}."
    if r.judges and (r.by or r.gap_at_most is not None or r.not_worse_than):
        yield (
            "A rate from judges is required with at_least or at_most, of all cases; "
            "leave out by, gap_at_most and not_worse_than."
        )
    if r.labelled is not None and not r.judges:
        yield 'labelled goes with judges = ["a", "b"]; leave it out.'
    if r.labelled not in (None, *LABELLED):
        known = ", ".join(f'"{w}"' for w in LABELLED)
        yield f"labelled must be one of {known}; found {described(r.labelled)}."


def _percent(bound: float, high: float) -> str:
    """Hint at per cent that were meant as a share."""
    meant = high == 1 and 1 < bound <= 100
    return f" Write {bound / 100:g} for {bound:g} %." if meant else ""


def _range(name: str) -> tuple[float, float]:
    names = [*KNOWN, *known_names()]
    try:
        return metric(name).range
    except InputError as err:
        if re.fullmatch(r"\w+", name):
            raise InputError(
                f"There is no metric {described(name)}.{nearest(name, names)} "
                f"Known: {', '.join(names)}."
            ) from None
        raise InputError(f"metric {described(name)}: {err}") from None
