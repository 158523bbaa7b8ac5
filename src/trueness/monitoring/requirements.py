"""What is required? A sentence, a table or a contract becomes a :class:`Requirement`.

``"auc >= 0.8 in every site"``, ``"recall >= 0.9 at 0.3 at the next site"``, or the
fields by name; gates, watches and declarations read the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple, final

from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described, nearest
from trueness._core.numbers import percent_hint
from trueness.metrics.algebra import Metric
from trueness.metrics.grammar import known_names
from trueness.metrics.grammar import metric as read_metric
from trueness.monitoring.fields import (
    FIELDS,
    OTHER_WORDS,
    REAL_NUMBER,
    read_field,
    read_proportion,
)
from trueness.monitoring.measures import FACTS, MEASURES, measure_of
from trueness.threshold.rule import Rule

KNOWN = (*MEASURES, *FACTS, "missing_scores")
_LABELLED = ("random", "by verdict", "by truth")
_SENTENCE = re.compile(
    rf"\s*(?P<metric>.+?)\s*(?P<sign>>=|<=|>|<)\s*(?P<bound>{REAL_NUMBER}\s*%?)"
    rf"(?:\s+at\s+(?P<threshold>{REAL_NUMBER}|\S+\.json))?"
    r"(?P<next_site>\s+at\s+the\s+next\s+site)?(?:\s+(?:by|in\s+every)\s+(?P<by>\w+))?\s*"
)
_BOUNDS = ("at_least", "at_most", "gap_at_most", "not_worse_than")


class Bound(NamedTuple):
    """One bound of a requirement."""

    text: str  # the requirement in words, with this bound
    value: float
    side: int  # 1 where more is better, -1 where less is


@final
@dataclass(frozen=True)
class Requirement:
    """Bound that a measure of the predictions must meet, in their population.

    Attributes
    ----------
    metric : str
        ``auc``, any metric or sum of metrics, a fact about the file (``positives``).
    at_least, at_most : float or None
        The bound; or both.
    threshold : float, Rule or None
        Where scores are cut, for metrics of the confusion matrix.
    by, gap_at_most : str or None, float or None
        A column of groups: required of each, or of the largest difference of two.
    not_worse_than, margin : str or None, float
        A baseline, ``"baseline"`` or a column of the same file (paired), and how much
        worse than it is still good enough.
    fpr : pair of float, or None
        The range of a ``partial_auc``.
    judges, labelled : tuple of str, str or None
        For ``prevalence``: columns with the verdicts of judges; and how the cases with
        a label were chosen, "random", "by verdict" or "by truth".
    next_site : bool
        Required of a site that was not seen, by the prediction interval over sites.
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
    next_site: bool = False

    def __str__(self) -> str:
        """Return the requirement as a sentence."""
        quantity = f"{self.metric}{self.at}"
        parts = [bound.text for bound in self.bounds()]

        if self.gap_at_most is not None:
            parts.append(f"gap of {quantity} <= {self.gap_at_most:g}")

        if self.not_worse_than is not None:
            margin = f" by more than {self.margin:g}" if self.margin else ""
            parts.append(f"{quantity} not worse than {self.not_worse_than}{margin}")

        text = " and ".join(parts)
        return f"{text} by {self.by}" if self.by else text

    def bounds(self) -> list[Bound]:
        """Return the bounds that are numbers: the lower one, the upper one, or both."""
        bounds = []

        if self.at_least is not None:
            text = f"{self.metric} >= {self.at_least:g}{self.at}"
            bounds.append(Bound(text, self.at_least, 1))

        if self.at_most is not None:
            text = f"{self.metric} <= {self.at_most:g}{self.at}"
            bounds.append(Bound(text, self.at_most, -1))

        return bounds

    @property
    def at(self) -> str:
        """Return the threshold or rule, and the next site, as text."""
        site = " at the next site" if self.next_site else ""

        if isinstance(self.threshold, Rule):
            rule = repr(self.threshold).removeprefix("Rule: ")
            return f" by the rule ({rule}){site}"

        if self.threshold is None:
            return site
        return f" at {self.threshold:g}{site}"

    @property
    def is_fact(self) -> bool:
        """Return whether the metric is counted in the file, and not estimated."""
        return self.metric in FACTS or self.metric in ("missing_scores", "flagged")

    @property
    def lower_is_better(self) -> bool:
        """Return whether a lower value is better."""
        measure = measure_of(self.metric) or read_metric(self.metric)
        return measure.direction == "lower"

    def without_bounds(self) -> Requirement:
        """Return the requirement without its bounds."""
        return replace(
            self,
            at_least=None,
            at_most=None,
            gap_at_most=None,
            not_worse_than=None,
            margin=0.0,
        )


def requirement(source: str | Mapping[str, Any] | Requirement) -> Requirement:
    """Return the requirement in a sentence, or in a mapping of fields."""
    if isinstance(source, str):
        source = _fields_of_sentence(source)
    if isinstance(source, Mapping):
        source = _from_fields(source)

    if not isinstance(source, Requirement):
        raise InputError(
            "A requirement is a sentence, such as 'auc >= 0.8' or 'recall >= 0.9 at "
            f"0.3', or a table of fields; found {described(source)}."
        )

    first_mistake = next(_mistakes(source), None)
    if first_mistake is not None:
        raise InputError(first_mistake.sentence, option=first_mistake.field)

    return source


def requirement_of_test(source: str | Mapping[str, Any] | Requirement) -> Requirement:
    """Return the requirement on a test: verdicts of 0 and 1 need no threshold."""
    try:
        return requirement(source)
    except InputError:
        if not isinstance(source, str):
            raise
        try:
            return requirement(f"{source} at 1")
        except InputError:
            pass  # raise the error about the sentence as it was written
        raise


def split_requirement(required: Requirement) -> list[Requirement]:
    """Return the bounds, the gap and the comparison as separate requirements."""
    subject = required.without_bounds()
    parts = []
    if required.at_least is not None or required.at_most is not None:
        parts.append(
            replace(subject, at_least=required.at_least, at_most=required.at_most)
        )

    if required.gap_at_most is not None:
        parts.append(replace(subject, gap_at_most=required.gap_at_most))

    if required.not_worse_than is not None:
        parts.append(
            replace(
                subject, not_worse_than=required.not_worse_than, margin=required.margin
            )
        )

    return parts


def contradiction(requirements: Sequence[Requirement]) -> tuple[int, int] | None:
    """Return the places of two requirements that exclude each other, if any do."""
    for (j, first), (k, second) in combinations(enumerate(requirements), 2):
        exclude_each_other = _is_above(first.at_least, second.at_most) or _is_above(
            second.at_least, first.at_most
        )
        if exclude_each_other and first.without_bounds() == second.without_bounds():
            return j, k
    return None


def _is_above(lower: float | None, upper: float | None) -> bool:
    """Return whether a lower bound is above an upper one; False if one is missing."""
    return lower is not None and upper is not None and lower > upper


def _fields_of_sentence(text: str) -> dict[str, Any]:
    """Return the fields of a requirement in a sentence."""
    match = _SENTENCE.fullmatch(text)
    if not match:
        raise InputError(
            f"Cannot read the requirement {described(text)}. It needs a metric, >= or "
            "<=, and a number; at is followed by a number or a .json file. Examples: "
            "'auc >= 0.8', 'recall >= 0.9 at 0.3'."
        )

    metric = match["metric"]
    sign = match["sign"]

    if metric.endswith("="):
        raise InputError(
            f"Cannot read the requirement {described(text)}: did you mean {sign[0]}=?"
        )

    if len(sign) == 1 and Requirement(metric).is_fact:
        raise InputError(
            f"{described(text)} is ambiguous: does it include the bound itself? Write "
            f"{sign}= and a number."
        )

    side = "at_least" if sign.startswith(">") else "at_most"
    fields: dict[str, Any] = {"metric": metric, side: read_proportion(match["bound"])}
    threshold = match["threshold"]
    if threshold:
        is_file = threshold.endswith(".json")
        fields["threshold"] = threshold if is_file else float(threshold)

    if match["next_site"]:
        fields["next_site"] = True
    if match["by"]:
        fields["by"] = match["by"]

    return fields


def _from_fields(fields: Mapping[str, Any]) -> Requirement:
    """Return the requirement with these fields."""
    for name in fields:
        if name in FIELDS:
            continue

        if name in OTHER_WORDS:
            hint = f"; write {OTHER_WORDS[name]} = {fields[name]!r}."
        else:
            known_fields = ", ".join(FIELDS)
            hint = f".{nearest(str(name), FIELDS)} Known fields: {known_fields}."

        raise InputError(
            f"A requirement has no field {described(name)}{hint}", option=str(name)
        )

    if "metric" not in fields:
        names = ", ".join(repr(name) for name in fields) or "none"
        raise InputError(
            f'A requirement needs metric = "auc" or another; found the fields {names}.'
        )

    return Requirement(
        **{name: read_field(name, FIELDS[name], fields[name]) for name in fields}
    )


class _Mistake(NamedTuple):
    """A field of a requirement that is wrong, with the reason."""

    field: str
    sentence: str


def _mistakes(requirement: Requirement) -> Iterator[_Mistake]:
    """Yield the mistakes in a requirement, the most basic first."""
    if all(getattr(requirement, name) is None for name in _BOUNDS):
        names = ", ".join(_BOUNDS)
        yield _Mistake("metric", f"{requirement.metric} needs a bound, one of {names}.")

    yield from _mistakes_about_judges(requirement)
    yield from _mistakes_about_whole_files(requirement)
    yield from _mistakes_about_next_site(requirement)
    yield from _mistakes_about_thresholds(requirement)
    yield from _mistakes_about_bounds(requirement)
    yield from _mistakes_about_margins(requirement)
    yield from _mistakes_about_partial_areas(requirement)


def _mistakes_about_judges(required: Requirement) -> Iterator[_Mistake]:
    """Yield mistakes in a requirement on a rate from judges."""
    if required.judges and required.metric != "prevalence":
        yield _Mistake(
            "judges",
            f"judges are for prevalence; found metric {described(required.metric)}.",
        )

    if required.judges and (
        required.by or required.gap_at_most is not None or required.not_worse_than
    ):
        yield _Mistake(
            "judges",
            "A requirement for a rate from judges needs at_least or at_most; leave "
            "out by, gap_at_most and not_worse_than.",
        )

    if required.labelled is not None and not required.judges:
        yield _Mistake(
            "labelled", 'labelled goes with judges = ["a", "b"]; leave it out.'
        )

    if required.labelled not in (None, *_LABELLED):
        allowed = ", ".join(f'"{word}"' for word in _LABELLED)
        yield _Mistake(
            "labelled",
            f"labelled must be one of {allowed}; found {described(required.labelled)}.",
        )


def _mistakes_about_whole_files(required: Requirement) -> Iterator[_Mistake]:
    """Yield fields that do not apply to a number counted in the whole file."""
    refused = ("gap_at_most", "not_worse_than") if required.is_fact else ()
    if required.metric == "missing_scores":
        refused = (*refused, "by")

    for name in refused:
        if getattr(required, name) is not None:
            yield _Mistake(
                name,
                f"{name} does not apply to {required.metric}, which is counted in the "
                "whole file; set at_least or at_most.",
            )


def _mistakes_about_thresholds(required: Requirement) -> Iterator[_Mistake]:
    """Yield a mistake for a missing threshold, or for a needless one."""
    _, _, depends_on_threshold = _range(required.metric)
    if required.threshold is not None and not depends_on_threshold:
        yield _Mistake(
            "threshold",
            f"{required.metric} does not depend on a threshold; leave out "
            f"{required.threshold}.",
        )

    if required.threshold is None and depends_on_threshold and not required.next_site:
        example = f"{required.metric} >= 0.9 at 0.5"
        for bound in required.bounds()[:1]:
            example = f"{bound.text} at 0.5"
        yield _Mistake(
            "threshold",
            f"{required.metric} needs a threshold: which scores are flagged? Set "
            f'threshold, or write "{example}".',
        )


def _mistakes_about_bounds(required: Requirement) -> Iterator[_Mistake]:
    """Yield bounds that are outside the metric's range, or exclude each other."""
    low, high, _ = _range(required.metric)

    for _, bound, side in required.bounds():
        if not low <= bound <= high:
            yield _Mistake(
                "at_least" if side > 0 else "at_most",
                f"{required.metric} lies between {low:g} and {high:g}; the bound "
                f"{bound:g} is outside that range.{percent_hint(bound, high)}",
            )

    lower = required.at_least
    upper = required.at_most
    if lower is not None and upper is not None and lower > upper:
        yield _Mistake(
            "at_most",
            f"{required.metric} cannot be at_least {lower:g} and at_most {upper:g}.",
        )


def _mistakes_about_margins(required: Requirement) -> Iterator[_Mistake]:
    """Yield mistakes in the gap between groups, and in the margin."""
    if required.gap_at_most is not None and not required.by:
        yield _Mistake(
            "gap_at_most",
            f"gap_at_most of {required.metric} needs groups. Set by as well.",
        )

    if required.margin and required.not_worse_than is None:
        yield _Mistake(
            "margin", "margin goes with not_worse_than; leave it out, or set both."
        )

    low, high, _ = _range(required.metric)
    width = high - low

    for name, size in (
        ("margin", required.margin),
        ("gap_at_most", required.gap_at_most),
    ):
        if size is not None and not 0 <= size <= width:
            yield _Mistake(
                name,
                f"{name} must be between 0 and {width:g}, the range of "
                f"{required.metric}; found {size:g}.{percent_hint(size, width)}",
            )


def _mistakes_about_partial_areas(required: Requirement) -> Iterator[_Mistake]:
    """Yield mistakes in the false positive rates of a partial AUC."""
    if required.fpr is None:
        return
    if required.metric != "partial_auc":
        yield _Mistake("fpr", f"fpr goes with partial_auc; {required.metric} has none.")

    if not 0 <= required.fpr[0] < required.fpr[1] <= 1:
        yield _Mistake(
            "fpr",
            f"fpr must rise, from 0 to 1; found {list(required.fpr)}. Write [0, 0.1].",
        )


def _mistakes_about_next_site(required: Requirement) -> Iterator[_Mistake]:
    """Yield fields that cannot be required of the next site."""
    if not required.next_site:
        return

    if required.is_fact or required.judges:
        yield _Mistake(
            "next_site",
            f"{required.metric} is not predicted for the next site; leave next_site "
            "out.",
        )

    if required.gap_at_most is not None or required.not_worse_than is not None:
        yield _Mistake(
            "next_site",
            "A requirement for the next site needs at_least or at_most; leave out "
            "gap_at_most and not_worse_than.",
        )


def _range(name: str) -> tuple[float, float, bool]:
    """Return the ends of a measure, and whether it depends on a threshold."""
    measure = measure_of(name)
    if measure is not None:
        low, high = measure.range
        return low, high, False

    if name in ("unlabelled_rate", "missing_scores"):
        return 0.0, 1.0, False
    if name in FACTS:
        return -math.inf, math.inf, False

    low, high = known_metric(name, KNOWN, "There is no metric {}.").range
    return low, high, True


def known_metric(name: str, others: Iterable[str], unknown: str) -> Metric:
    """Return the metric of this name; an error lists all metrics and ``others``."""
    try:
        return read_metric(name)
    except InputError as err:
        if isinstance(name, str) and not re.fullmatch(r"\w+", name):
            message = f"metric {described(name)}: {err.message}"
            raise err.rephrased(message=message, option="metric") from None

        names = [*others, *known_names()]
        raise InputError(
            f"{unknown.format(described(name))}{nearest(name, names)} "
            f"Known: {', '.join(names)}.",
            option="metric",
        ) from None
