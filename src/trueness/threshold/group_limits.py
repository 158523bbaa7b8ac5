"""Which limits may be set on how far groups differ? Their words, read and compared.

``"recall_gap <= 0.02"``, ``"fpr_ratio >= 0.8"``, ``"precision_min >= 0.5"``: a metric
and what is limited of its values in the groups.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from trueness._core.checks.errors import InputError
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.grammar import BOUNDS, one_or_more
from trueness.metrics.grammar import constraint as read_constraint
from trueness.metrics.grammar import metric as read_metric

_BETWEEN = re.compile(
    r"^\s*(?P<name>[A-Za-z_][A-Za-z_0-9]*?(\([^)]*\))?)_?(?P<kind>gap|ratio|min|max)"
    r"\s*(?P<sign>[<>]=?)\s*(?P<bound>[-+.\deE]+)\s*$"
)
_GROUPS = re.compile(r"_(gap|ratio|min|max)\s*[<>]")
Kind = Literal["gap", "ratio", "min", "max"]


class Between(NamedTuple):
    """A limit on how far groups may differ, or on the worst of them."""

    metric: Metric
    kind: Kind
    sign: str
    bound: float

    @property
    def name(self) -> str:
        """Give the quantity that is limited."""
        return f"{self.metric.name}_{self.kind}"

    def __str__(self) -> str:
        """Write it as it is typed."""
        return f"{self.name} {self.sign} {self.bound:g}"

    def of(self, values: Sequence[Any]) -> Any:
        """Give the difference or ratio of the largest and the smallest value."""
        low, high = min(values), max(values)
        if self.kind == "gap":
            return high - low
        return low / high if high else math.nan


def asks_for_groups(constraints: Iterable[Any]) -> bool:
    """Does a constraint speak of differences between groups, or of every group?"""
    return any(isinstance(c, str) and _GROUPS.search(c) for c in constraints)


def several(given: Any) -> Iterable[Any]:
    """Give constraints as several, where one was typed."""
    return () if given is None else one_or_more(given, BOUNDS, '["recall_gap <= 0.1"]')


def read_limits(given: Any) -> tuple[list[Between], list[Constraint]]:
    """Tell limits between groups from limits on all cases together."""
    between, totals = [], []
    for text in several(given):
        found = _BETWEEN.match(text) if isinstance(text, str) else None
        if found is None:
            totals.append(read_constraint(text))
        else:
            between.append(_between(found, text))
    return between, totals


def _between(found: re.Match[str], text: str) -> Between:
    kind: Any = found["kind"]
    upward = {"gap": "<", "ratio": ">", "min": ">", "max": "<"}[kind]
    if not found["sign"].startswith(upward):
        word = "at most" if upward == "<" else "at least"
        raise InputError(
            f"{found['name']}_{kind} can only be required to be {word} a number; "
            f"found {text!r}. Type {found['name']}_{kind} {upward}= {found['bound']}."
        )
    try:
        bound = float(found["bound"])
    except ValueError:
        raise InputError(f"Cannot read the bound of {text!r}.") from None
    if (kind == "gap" and bound < 0) or (kind == "ratio" and not 0 < bound <= 1):
        raise InputError(
            f"A gap is bounded by zero or more, a ratio by a number between 0 and 1; "
            f"found {text!r}."
        )
    return Between(read_metric(found["name"].rstrip("_")), kind, found["sign"], bound)
