"""What is required? A sentence, a table or a contract becomes a :class:`Requirement`.

``"auc >= 0.8 in every site"``, ``"recall >= 0.9 at 0.3 at the next site"``, or the
fields by name; gates, watches and declarations read the same. A contract is a TOML file
with the columns and a list of requirements (``[[require]]``); its JSON Schema is
``docs/contract.schema.json``.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, final

from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described, nearest
from trueness._core.numbers import percent_hint
from trueness.counts.design import AT_RANDOM, CASE_CONTROL, COHORT, LEFT_OUT
from trueness.metrics.algebra import Metric
from trueness.metrics.grammar import known_names, metric
from trueness.monitoring.verdicts import FACTS, MEASURES, measure_of
from trueness.threshold.rule import Rule, rule_of

KNOWN = (*MEASURES, *FACTS, "missing_scores")
_LABELLED = ("random", "by verdict", "by truth")
_REAL = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_PERCENT = re.compile(rf"{_REAL}\s*%")
_TEXT = re.compile(
    rf"\s*(?P<metric>.+?)\s*(?P<sign>>=|<=|>|<)\s*(?P<bound>{_REAL}\s*%?)"
    rf"(?:\s+at\s+(?P<threshold>{_REAL}|\S+\.json))?"
    r"(?P<next_site>\s+at\s+the\s+next\s+site)?(?:\s+(?:by|in\s+every)\s+(?P<by>\w+))?\s*"
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
    by, gap_at_most : str or None, float or None
        A column of groups: required of each, or of the largest difference of two.
    not_worse_than, margin : str or None, float
        A baseline, ``"baseline"`` or a column of the same file (paired), and how much
        worse than it is still good enough.
    fpr : pair of float, or None
        The range of a ``partial_auc``.
    judges, labelled : tuple of str, str or None
        For ``prevalence``: columns of verdicts, of judges that err, and how the cases
        with a label were chosen, "random", "by verdict" or "by truth".
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
        """Write it as people say it."""
        what = f"{self.metric}{self.at}"
        parts = [text for text, _, _ in self.bounds()]
        if self.gap_at_most is not None:
            parts.append(f"gap of {what} <= {self.gap_at_most:g}")
        if self.not_worse_than is not None:
            worse = f" by more than {self.margin:g}" if self.margin else ""
            parts.append(f"{what} not worse than {self.not_worse_than}{worse}")
        return " and ".join(parts) + (f" by {self.by}" if self.by else "")

    def bounds(self) -> list[tuple[str, float, int]]:
        """Give each bound: in words, as a number, and 1 where more is better, or -1."""
        ways = ((">=", self.at_least, 1), ("<=", self.at_most, -1))
        return [
            (f"{self.metric} {sign} {bound:g}{self.at}", bound, side)
            for sign, bound, side in ways
            if bound is not None
        ]

    @property
    def at(self) -> str:
        """Say where scores are cut, and of which site it is required."""
        site = " at the next site" if self.next_site else ""
        if isinstance(self.threshold, Rule):
            rule = repr(self.threshold).removeprefix("Rule: ")
            return f" by the rule ({rule}){site}"
        return site if self.threshold is None else f" at {self.threshold:g}{site}"

    @property
    def is_fact(self) -> bool:
        """Is it counted in the file, and not estimated?"""
        return self.metric in FACTS or self.metric in ("missing_scores", "flagged")

    @property
    def lower_is_better(self) -> bool:
        """Which way is worse than a baseline?"""
        found = measure_of(self.metric) or metric(self.metric)
        return found.direction == "lower"


_NUMBER, _PAIR = "a finite number, such as 0.9", "two numbers, such as [0, 0.1]"
_CUT = 'a finite number, such as 0.5, or a file with a rule, such as "rule.json"'
_WORD, _NAMES = 'text in quotes, such as "auc"', 'a list of columns, such as ["a", "b"]'
_COLUMN = 'the name of a column in quotes, such as "y"'
_SHARE = "a share of positives between 0 and 1, such as 0.01"
_LEVEL = "between 0.5 and 1, such as 0.95"
_SWITCH = "true or false"
CHOICES = {
    "sampling": (COHORT, CASE_CONTROL),
    "unlabelled": (LEFT_OUT, AT_RANDOM),
    "adjust": ("holm", "none"),
    "undecided": ("report", "pass", "fail"),
}
# what the fields of a requirement, and the keys of a contract, must be
FIELDS = {
    **dict.fromkeys(("metric", "by", "not_worse_than", "labelled"), _WORD),
    **dict.fromkeys(("at_least", "at_most", "gap_at_most", "margin"), _NUMBER),
    **{"threshold": _CUT, "fpr": _PAIR, "judges": _NAMES, "next_site": _SWITCH},
}
_KEYS = {
    **dict.fromkeys(("label", "score", "key", "count", "weight", "cluster"), _COLUMN),
    **{k: f"one of {', '.join(map(repr, words))}" for k, words in CHOICES.items()},
    **{"positive": "", "prevalence": _SHARE, "level": _LEVEL, "require": ""},
}
# words for a field that other tools use
_OTHER_WORDS = {
    **dict.fromkeys(("min", "minimum", "ge", "gte", "lower", "above"), "at_least"),
    **dict.fromkeys(("max", "maximum", "le", "lte", "upper", "below"), "at_most"),
    **dict.fromkeys(("cut", "cutoff", "at"), "threshold"),
    **dict.fromkeys(("group", "groups", "group_by"), "by"),
    **dict.fromkeys(("name", "measure"), "metric"),
}


def requirement(given: object) -> Requirement:
    """Read a requirement from a sentence or from its fields."""
    if isinstance(given, str):
        given = _from_text(given)
    if isinstance(given, Mapping):
        given = _from_fields(given)
    if not isinstance(given, Requirement):
        raise InputError(
            "A requirement is a sentence, such as 'auc >= 0.8' or 'recall >= 0.9 at "
            f"0.3', or a table of fields; found {described(given)}."
        )
    for mistake in _mistakes(given):
        raise InputError(mistake.sentence, option=mistake.field)
    return given


def requirement_of_test(given: Any) -> Requirement:
    """Read a requirement of a test, whose verdicts are 0 and 1: no threshold needed."""
    try:
        return requirement(given)
    except InputError:
        if not isinstance(given, str):
            raise
        try:
            return requirement(f"{given} at 1")
        except InputError:
            pass
        raise


def single(r: Requirement) -> list[Requirement]:
    """Give the bound, the gap and the comparison that a requirement asks for."""
    parts = (("at_least", "at_most"), ("gap_at_most",), ("not_worse_than", "margin"))
    every = ({name: getattr(r, name) for name in names} for names in parts)
    asked = [one for one in every if any(one.get(k) is not None for k in _BOUNDS)]
    return [replace(r, **{**_NO_BOUND, **one}) for one in asked]


_BOUNDS = ("at_least", "at_most", "gap_at_most", "not_worse_than")
_NO_BOUND: dict[str, Any] = {**dict.fromkeys(_BOUNDS), "margin": 0.0}


def contradiction(asked: Sequence[Requirement]) -> tuple[int, int] | None:
    """Which two requirements can no predictions meet? Places in the list."""
    for (j, one), (k, other) in combinations(enumerate(asked), 2):
        pairs = ((one.at_least, other.at_most), (other.at_least, one.at_most))
        apart = any(a is not None and b is not None and a > b for a, b in pairs)
        if apart and replace(one, **_NO_BOUND) == replace(other, **_NO_BOUND):
            return j, k
    return None


def _from_text(text: str) -> dict[str, Any]:
    """Read the fields that a sentence names."""
    found = _TEXT.fullmatch(text)
    if not found:
        raise InputError(
            f"Cannot read the requirement {described(text)}: a metric, >= or <=, and a "
            "number were needed, and after at a number or a .json file. Examples: "
            "'auc >= 0.8', 'recall >= 0.9 at 0.3'."
        )
    given: dict[str, Any] = {k: v for k, v in found.groupdict().items() if v}
    if "next_site" in given:
        given["next_site"] = True
    sign = given.pop("sign")
    if given["metric"].endswith("="):
        raise InputError(
            f"Cannot read the requirement {described(text)}: did you mean {sign[0]}=?"
        )
    if len(sign) == 1 and Requirement(given["metric"]).is_fact:
        raise InputError(
            f"{described(text)} is counted and not estimated: does the bound itself "
            f"belong to it? Write {sign}= and a number."
        )
    side = "at_least" if sign.startswith(">") else "at_most"
    given[side] = _share(given.pop("bound"))
    if not given.get("threshold", ".json").endswith(".json"):
        given["threshold"] = float(given["threshold"])
    return given


def _from_fields(given: Mapping[str, Any]) -> Requirement:
    for name in given:
        if name not in FIELDS:
            known = f".{nearest(str(name), FIELDS)} Known fields: {', '.join(FIELDS)}."
            meant = f"; write {_OTHER_WORDS.get(name)} = {given[name]!r}."
            hint = meant if name in _OTHER_WORDS else known
            raise InputError(
                f"A requirement has no field {described(name)}{hint}", option=str(name)
            )
    if "metric" not in given:
        raise InputError(
            'A requirement needs metric = "auc" or another; found the fields '
            f"{', '.join(map(repr, given)) or 'none'}."
        )
    return Requirement(**{k: _typed(k, FIELDS[k], v) for k, v in given.items()})


def _share(text: str) -> float:
    """Read a number, or a percentage as a share: 80% is 0.8."""
    return float(Decimal(text.rstrip("% ")) / (100 if "%" in text else 1))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _typed(name: str, kind: str, value: Any) -> Any:
    """Read a value of this kind; a rule from its file, its fields or as it is."""
    if kind == _NUMBER and isinstance(value, str) and _PERCENT.fullmatch(value):
        return _share(value)
    plain = _is_number(value)
    several = isinstance(value, (list, tuple))
    if kind in (_NUMBER, _CUT) and plain and math.isfinite(value):
        return float(value)
    if kind == _CUT and isinstance(value, (str, Mapping)):
        return Rule.load(value) if isinstance(value, str) else Rule.from_dict(value)
    if kind == _CUT and isinstance(getattr(value, "rule", value), Rule):
        return rule_of(value)
    if kind in (_WORD, _COLUMN) and isinstance(value, str):
        return value.strip()
    if kind == _SWITCH and isinstance(value, bool):
        return value
    if kind == _PAIR and several and len(value) == 2 and all(map(_is_number, value)):
        return tuple(float(v) for v in value)
    if kind == _NAMES and several and all(isinstance(v, str) for v in value):
        return tuple(value)
    lowest = {_SHARE: 0.0, _LEVEL: 0.5}.get(kind, math.inf)
    if (plain and lowest < value < 1) or value in CHOICES.get(name, ()):
        return value
    raise InputError(f"{name} must be {kind}; found {described(value)}.", option=name)


class _Mistake(NamedTuple):
    """The field of a requirement that cannot be meant, and why."""

    field: str
    sentence: str


def _mistakes(requirement: Requirement) -> Iterator[_Mistake]:
    """Say what cannot be meant, first things first."""
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


def _mistakes_about_judges(r: Requirement) -> Iterator[_Mistake]:
    """Say what a rate from judges cannot go with."""
    if r.judges and r.metric != "prevalence":
        yield _Mistake(
            "judges", f"judges are for prevalence; found metric {described(r.metric)}."
        )
    if r.judges and (r.by or r.gap_at_most is not None or r.not_worse_than):
        yield _Mistake(
            "judges",
            "A rate from judges is required with at_least or at_most, of all cases; "
            "leave out by, gap_at_most and not_worse_than.",
        )
    if r.labelled is not None and not r.judges:
        yield _Mistake(
            "labelled", 'labelled goes with judges = ["a", "b"]; leave it out.'
        )
    if r.labelled not in (None, *_LABELLED):
        known = ", ".join(f'"{word}"' for word in _LABELLED)
        yield _Mistake(
            "labelled",
            f"labelled must be one of {known}; found {described(r.labelled)}.",
        )


def _mistakes_about_whole_files(r: Requirement) -> Iterator[_Mistake]:
    """Say which words do not go with a number that is counted in the whole file."""
    refused = ("gap_at_most", "not_worse_than") if r.is_fact else ()
    if r.metric == "missing_scores":
        refused = (*refused, "by")

    for name in refused:
        if getattr(r, name) is not None:
            yield _Mistake(
                name,
                f"{name} does not go with {r.metric}, which is counted in the whole "
                "file; give at_least or at_most.",
            )


def _mistakes_about_thresholds(r: Requirement) -> Iterator[_Mistake]:
    """Say where a threshold is missing, or where there is none to give."""
    _, _, depends_on_threshold = _range(r.metric)
    if r.threshold is not None and not depends_on_threshold:
        yield _Mistake(
            "threshold",
            f"{r.metric} does not depend on a threshold; leave out {r.threshold}.",
        )
    if r.threshold is None and depends_on_threshold and not r.next_site:
        yield _Mistake(
            "threshold",
            f"{r.metric} needs a threshold: which scores are flagged? Give threshold, "
            f'or write "{r.metric} >= 0.9 at 0.5".',
        )


def _mistakes_about_bounds(r: Requirement) -> Iterator[_Mistake]:
    """Say which bounds are outside of the metric's range, or exclude each other."""
    low, high, _ = _range(r.metric)
    for _, bound, side in r.bounds():
        if not low <= bound <= high:
            yield _Mistake(
                "at_least" if side > 0 else "at_most",
                f"{r.metric} lies between {low:g} and {high:g}; the bound {bound:g} "
                f"is outside that range.{percent_hint(bound, high)}",
            )

    lower = r.at_least
    upper = r.at_most
    if lower is not None and upper is not None and lower > upper:
        yield _Mistake(
            "at_most", f"{r.metric} cannot be at_least {lower:g} and at_most {upper:g}."
        )


def _mistakes_about_margins(r: Requirement) -> Iterator[_Mistake]:
    """Say what a gap between groups or a margin lacks."""
    if r.gap_at_most is not None and not r.by:
        yield _Mistake(
            "gap_at_most", f"gap_at_most of {r.metric} needs groups. Give by as well."
        )
    if r.margin and r.not_worse_than is None:
        yield _Mistake(
            "margin", "margin goes with not_worse_than; leave it out, or give both."
        )

    low, high, _ = _range(r.metric)
    width = high - low
    for name, size in (("margin", r.margin), ("gap_at_most", r.gap_at_most)):
        if size is not None and not 0 <= size <= width:
            yield _Mistake(
                name,
                f"{name} must be between 0 and {width:g}, the range of "
                f"{r.metric}; found {size:g}.{percent_hint(size, width)}",
            )


def _mistakes_about_partial_areas(r: Requirement) -> Iterator[_Mistake]:
    """Say what is wrong with the false positive rates of a partial AUC."""
    if r.fpr is None:
        return
    if r.metric != "partial_auc":
        yield _Mistake("fpr", f"fpr goes with partial_auc; {r.metric} has none.")
    if not 0 <= r.fpr[0] < r.fpr[1] <= 1:
        yield _Mistake(
            "fpr", f"fpr must rise, from 0 to 1; found {list(r.fpr)}. Write [0, 0.1]."
        )


def _mistakes_about_next_site(r: Requirement) -> Iterator[_Mistake]:
    """Say what cannot be required of a site that was not seen."""
    if not r.next_site:
        return
    if r.is_fact or r.judges:
        yield _Mistake(
            "next_site",
            f"{r.metric} is not predicted for the next site; leave next_site out.",
        )
    if r.gap_at_most is not None or r.not_worse_than is not None:
        yield _Mistake(
            "next_site",
            "The next site is required with at_least or at_most; leave out gap_at_most "
            "and not_worse_than.",
        )


def _range(name: str) -> tuple[float, float, bool]:
    """Between which numbers does it lie, and does it depend on a threshold?"""
    if measure := measure_of(name):
        return *measure.range, False
    if name in ("unlabelled_share", "missing_scores"):
        return 0.0, 1.0, False
    if name in FACTS:
        return -math.inf, math.inf, False
    return *known_metric(name, KNOWN, "There is no metric {}.").range, True


def known_metric(name: str, others: Iterable[str], unknown: str) -> Metric:
    """Read a metric; an error names those that there are, and ``others``."""
    try:
        return metric(name)
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


@final
@dataclass(frozen=True)
class Contract:
    """Which columns, and what is required of them?"""

    requirements: tuple[Requirement, ...]
    label: str | None = None
    score: str | None = None
    positive: Any = None
    key: str | None = None
    count: str | None = None
    weight: str | None = None
    cluster: str | None = None
    sampling: str | None = None
    prevalence: float | None = None
    unlabelled: str | None = None
    level: float = 0.95
    adjust: str = "holm"
    undecided: str = "report"
    path: str = field(default="", compare=False)


def read_contract(path: str | Path) -> Contract:
    """Read a contract; every mistake is named with its line."""
    file = Path(path)
    if not file.is_file():
        raise InputError(
            f"There is no contract {path}. The command trueness check --init "
            "predictions.parquet writes a first one from data."
        )
    try:
        text = file.read_text(encoding="utf-8-sig")  # some editors put a mark first
        held = tomllib.loads(text)
    except UnicodeDecodeError:
        raise InputError(f"{path} must be UTF-8 text.") from None
    except tomllib.TOMLDecodeError as err:
        raise InputError(f"{path} is not TOML: {err}.") from None
    except RecursionError:
        raise InputError(f"{path} is nested deeper than can be read.") from None
    lines = text.splitlines()
    held.pop("$schema", None)
    for key, value in held.items():
        try:
            if key not in _KEYS:
                near, known = nearest(key, _KEYS), ", ".join(_KEYS)
                raise InputError(f"there is no key {key!r}.{near} Known keys: {known}.")
            if key == "require" and isinstance(value, dict):
                raise InputError(f"write [[{key}]] with two brackets, for several.")
            if _KEYS[key]:
                _typed(key, _KEYS[key], value)
        except InputError as err:
            named = re.compile(rf"\s*\[*\s*{re.escape(key)}\b")
            at = next((k for k, line in enumerate(lines, 1) if named.match(line)), 0)
            line = f", line {at}" if at else ""
            raise InputError(f"{path}{line}: {err.message}", option=key) from None
    required = _required(held.pop("require", None), lines, file)
    return Contract(required, path=str(path), **held)


def _required(given: object, lines: list[str], file: Path) -> tuple[Requirement, ...]:
    if not isinstance(given, list) or not given:
        raise InputError(
            f"{file} requires nothing. Add a table:\n"
            f'[[require]]\nmetric = "auc"\nat_least = 0.8'
        )
    starts = [k for k, s in enumerate(lines, 1) if re.match(r"\s*\[\[\s*require", s)]
    starts += [0] * len(given)  # of tables that are written in one line

    def mistake(k: int, at: int, text: str) -> InputError:
        line = f" (line {at})" if at else ""
        return InputError(f"{file}, requirement {k + 1}{line}: {text}")

    found: list[Requirement] = []
    for k, one in enumerate(given):
        if isinstance(one, dict) and isinstance(one.get("threshold"), str):
            one["threshold"] = str(file.parent / one["threshold"])  # a saved rule
        try:
            found.append(requirement(one))
        except InputError as err:
            at = _line_of(lines, starts[k], err.option)
            raise mistake(k, at, err.message) from None
    against = contradiction(found)
    if against is not None:
        j, k = against
        why = f"contradicts requirement {j + 1}, {found[j]}; nothing can meet both."
        raise mistake(k, starts[k], f"{found[k]} {why}")
    return tuple(found)


def _line_of(lines: list[str], start: int, field: str | None) -> int:
    """Find the line of a field of the table that starts here, or of the table."""
    for number, line in enumerate(lines[start:] if start else (), start + 1):
        if re.match(r"\s*\[", line):
            break
        if line.partition("=")[0].strip() == field:
            return number
    return start
