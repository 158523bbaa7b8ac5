"""What is required? A sentence or a table becomes a :class:`Requirement`.

``"auc >= 0.8"``, ``"recall >= 0.9 at 0.3"``, ``"recall >= 0.9 at 0.3 by site"``; or the
fields by name, as a contract holds them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, final

from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described, nearest
from trueness.metrics.algebra import Metric
from trueness.metrics.grammar import known_names, metric
from trueness.monitoring.measures import FACTS, MEASURES

LABELLED = ("random", "by verdict", "by truth")

_TEXT = re.compile(
    r"^\s*(?P<what>.+?)\s*(?P<sign>>=|<=|>|<)\s*(?P<bound>[-+\d.eE]+)"
    r"(?:\s+at\s+(?P<at>[-+\d.eE]+))?(?:\s+by\s+(?P<by>\w+))?\s*$"
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
    threshold : float or None
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
    threshold: float | None = None
    by: str | None = None
    gap_at_most: float | None = None
    not_worse_than: str | None = None
    margin: float = 0.0
    fpr: tuple[float, float] | None = None
    judges: tuple[str, ...] = ()
    labelled: str | None = None

    def __str__(self) -> str:
        """Write it as people say it."""
        at = "" if self.threshold is None else f" at {self.threshold:g}"
        parts = []
        if self.at_least is not None:
            parts.append(f"{self.metric} >= {self.at_least:g}{at}")
        if self.at_most is not None:
            parts.append(f"{self.metric} <= {self.at_most:g}{at}")
        if self.gap_at_most is not None:
            parts.append(f"gap of {self.metric}{at} <= {self.gap_at_most:g}")
        if self.not_worse_than is not None:
            worse = f" by more than {self.margin:g}" if self.margin else ""
            parts.append(
                f"{self.metric}{at} not worse than {self.not_worse_than}{worse}"
            )
        by = f" by {self.by}" if self.by else ""
        return " and ".join(parts) + by

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


def requirement(given: Any) -> Requirement:
    """Read a requirement from a sentence or from its fields.

    Examples
    --------
    >>> requirement("recall >= 0.9 at 0.3").threshold
    0.3
    >>> print(requirement({"metric": "auc", "at_least": 0.8, "by": "site"}))
    auc >= 0.8 by site
    """
    if isinstance(given, Requirement):
        return _checked(given)
    if isinstance(given, str):
        return _checked(_from_text(given))
    if isinstance(given, Mapping):
        return _checked(_from_fields(given))
    raise InputError(
        f"A requirement is a sentence or a table of fields; found {described(given)}. "
        f'Type "auc >= 0.8" or "recall >= 0.9 at 0.3".'
    )


def single(r: Requirement) -> list[Requirement]:
    """Give the bound, the gap and the comparison that a requirement asks for."""
    alone: dict[str, Any] = {"at_least": None, "at_most": None, "gap_at_most": None}
    alone |= {"not_worse_than": None, "margin": 0.0}
    parts = []
    for names in (("at_least", "at_most"), ("gap_at_most",), ("not_worse_than",)):
        given = {k: getattr(r, k) for k in names if getattr(r, k) is not None}
        if given:
            more = {"margin": r.margin} if "not_worse_than" in given else {}
            parts.append(replace(r, **{**alone, **given, **more}))
    return parts


def contradiction(asked: Sequence[Requirement]) -> tuple[int, int] | None:
    """Which two requirements can no predictions meet? Places in the list."""
    bounds: dict[Requirement, tuple[int, float]] = {}
    for way, name in ((1, "at_least"), (-1, "at_most")):
        for k, r in enumerate(asked):
            bound = getattr(r, name)
            if bound is None:
                continue
            same = replace(r, at_least=None, at_most=None, gap_at_most=None)
            same = replace(same, not_worse_than=None, margin=0.0)
            held = bounds.get(same)
            if way < 0 and held is not None and held[1] > bound:
                return (held[0], k) if held[0] < k else (k, held[0])
            if way > 0 and (held is None or bound > held[1]):
                bounds[same] = (k, bound)
    return None


def _from_text(text: str) -> Requirement:
    found = _TEXT.match(text)
    if not found:
        raise InputError(
            f"Cannot read the requirement {described(text)}: a metric, >= or <=, and a "
            f'number were needed. Type "auc >= 0.8" or "recall >= 0.9 at 0.3".'
        )
    numbers = {k: _number(found[k], text) for k in ("bound", "at") if found[k]}
    more = found["sign"].startswith(">")
    return Requirement(
        found["what"].strip(),
        at_least=numbers["bound"] if more else None,
        at_most=None if more else numbers["bound"],
        threshold=numbers.get("at"),
        by=found["by"],
    )


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(
            f"Cannot read {described(text)} in {described(where)} as a number."
        ) from None


def _from_fields(given: Mapping[str, Any]) -> Requirement:
    known = [f.name for f in fields(Requirement)]
    for name in given:
        if name in OTHER_WORDS:
            word = OTHER_WORDS[name]
            raise InputError(
                f"A requirement has no field {described(name)}; write {word} = "
                f"{given[name]!r}."
            )
        if name not in known:
            raise InputError(
                f"A requirement has no field {described(name)}."
                f"{nearest(str(name), known)} "
                f"Known fields: {', '.join(known)}."
            )
    if "metric" not in given:
        raise InputError(
            'A requirement needs metric = "auc" or another; found the fields '
            f"{', '.join(map(repr, given)) or 'none'}."
        )
    values = dict(given)
    for name, kind in KINDS.items():
        if name in values:
            values[name] = _typed(name, values[name], kind)
    return Requirement(**values)


# words for a field that other tools use
OTHER_WORDS = {
    **dict.fromkeys(("min", "minimum", "ge", "gte", "lower", "above"), "at_least"),
    **dict.fromkeys(("max", "maximum", "le", "lte", "upper", "below"), "at_most"),
    **dict.fromkeys(("cut", "cutoff", "at"), "threshold"),
    **dict.fromkeys(("group", "groups", "group_by"), "by"),
    **dict.fromkeys(("name", "measure"), "metric"),
}
KINDS = {
    "metric": "text",
    "at_least": "number",
    "at_most": "number",
    "threshold": "number",
    "by": "text",
    "gap_at_most": "number",
    "not_worse_than": "text",
    "margin": "number",
    "fpr": "two numbers",
    "judges": "names",
    "labelled": "text",
}


def _typed(name: str, value: Any, kind: str) -> Any:
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "number" and plain and math.isfinite(value):
        return float(value)
    if kind == "text" and isinstance(value, str):
        return value.strip()
    listed = isinstance(value, (list, tuple))
    pair = listed and len(value) == 2 and not any(isinstance(v, bool) for v in value)
    if (
        kind == "two numbers"
        and pair
        and all(isinstance(v, (int, float)) for v in value)
    ):
        return tuple(float(v) for v in value)
    if kind == "names" and listed and all(isinstance(v, str) for v in value):
        return tuple(value)
    raise InputError(f"{name} must be {_A[kind]}; found {described(value)}.")


_A = {
    "number": "a finite number, such as 0.9",
    "text": 'text in quotes, such as "auc"',
    "two numbers": "two numbers, such as [0, 0.1]",
    "names": 'a list of columns, such as ["judge_a", "judge_b"]',
}


def _checked(r: Requirement) -> Requirement:
    asked = (r.at_least, r.at_most, r.gap_at_most, r.not_worse_than)
    if all(a is None for a in asked):
        raise InputError(
            f"{r.metric} needs a bound. Give at_least, at_most, gap_at_most or "
            "not_worse_than."
        )
    _judged(r)
    if r.is_fact:
        _counted(r)
    if r.metric in MEASURES or r.metric in FACTS or r.metric == "missing_scores":
        if r.threshold is not None:
            raise InputError(
                f"{r.metric} does not depend on a threshold; leave out threshold "
                f"{r.threshold:g}."
            )
        ends = MEASURES[r.metric].ends if r.metric in MEASURES else (0.0, 1.0)
        if r.metric in FACTS and not r.metric.endswith("_share"):
            ends = (-math.inf, math.inf)
    else:
        ends = _known(r).range
        if r.threshold is None:
            raise InputError(
                f"{r.metric} needs a threshold: which scores are flagged? Give "
                f'threshold, or write "{r.metric} >= 0.9 at 0.5".'
            )
    _possible(r, ends)
    _compared(r, ends)
    return r


def _counted(r: Requirement) -> None:
    """Stop where a fact about the file is treated as an estimate."""
    wrong = {
        "gap_at_most": r.gap_at_most is not None,
        "not_worse_than": r.not_worse_than is not None,
        "by": r.by is not None and r.metric == "missing_scores",
    }
    for name in (k for k, found in wrong.items() if found):
        raise InputError(
            f"{name} does not go with {r.metric}, which is counted in the whole file; "
            f"give at_least or at_most."
        )


def _compared(r: Requirement, ends: tuple[float, float]) -> None:
    """Stop at fields that speak of nothing, or of what cannot be."""
    wide = ends[1] - ends[0]
    if r.gap_at_most is not None and not r.by:
        raise InputError(f"gap_at_most of {r.metric} needs groups. Give by as well.")
    if r.margin and r.not_worse_than is None:
        raise InputError("margin goes with not_worse_than; leave it out, or give both.")
    for name, size in (("margin", r.margin), ("gap_at_most", r.gap_at_most)):
        if size is not None and not 0 <= size <= wide:
            raise InputError(
                f"{name} must be between 0 and {wide:g}, the range of {r.metric}; "
                f"found {size:g}.{_percent(size, wide)}"
            )
    if r.fpr is not None:
        if r.metric != "partial_auc":
            raise InputError(f"fpr goes with partial_auc; {r.metric} has none.")
        if not 0 <= r.fpr[0] < r.fpr[1] <= 1:
            raise InputError(
                f"fpr must rise from its first to its second number, both from 0 to 1; "
                f"found {list(r.fpr)}. Write [0, 0.1]."
            )


def _percent(bound: float, high: float) -> str:
    """Hint at per cent that were meant as a share."""
    meant = high == 1 and 1 < bound <= 100
    return f" Write {bound / 100:g} for {bound:g} %." if meant else ""


def _judged(r: Requirement) -> None:
    """Stop where judges, or how labels came, are named for nothing."""
    if r.judges and r.metric != "prevalence":
        raise InputError(
            f"judges are for prevalence; found metric {described(r.metric)}."
        )
    if r.judges and (r.by or r.gap_at_most is not None or r.not_worse_than):
        raise InputError(
            "A rate from judges is required with at_least or at_most, of all cases; "
            "leave out by, gap_at_most and not_worse_than."
        )
    if r.labelled is None:
        return
    if not r.judges:
        raise InputError('labelled goes with judges = ["a", "b"]; leave it out.')
    if r.labelled not in LABELLED:
        known = ", ".join(f'"{w}"' for w in LABELLED)
        raise InputError(
            f"labelled must be one of {known}; found {described(r.labelled)}."
        )


def _known(r: Requirement) -> Metric:
    names = [*MEASURES, *FACTS, "missing_scores", *known_names()]
    try:
        return metric(r.metric)
    except InputError as err:
        if re.fullmatch(r"\w+", r.metric):
            raise InputError(
                f"There is no metric {described(r.metric)}.{nearest(r.metric, names)} "
                f"Known: {', '.join(names)}."
            ) from None
        raise InputError(f"metric {described(r.metric)}: {err}") from None


def _possible(r: Requirement, ends: tuple[float, float]) -> None:
    low, high = ends
    for bound in (r.at_least, r.at_most):
        if bound is not None and not low <= bound <= high:
            raise InputError(
                f"{r.metric} lies between {low:g} and {high:g}; the bound {bound:g} "
                f"is outside that range.{_percent(bound, high)}"
            )
    most = math.inf if r.at_most is None else r.at_most
    if r.at_least is not None and r.at_least > most:
        raise InputError(
            f"{r.metric} cannot be at_least {r.at_least:g} and at_most {most:g}; "
            f"one of the two bounds is wrong."
        )
