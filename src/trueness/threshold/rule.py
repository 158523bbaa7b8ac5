"""Which cases does a rule flag, leave to a person, or clear, and whose?

A ``Rule`` is one cut, two cuts with a zone for doubt between them, or either for each
group: what choices give, and what all that judges a choice takes.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described
from trueness._core.files import as_written
from trueness._core.numbers import cut_text
from trueness._core.records import Record
from trueness.counts.values import Tally, rescored

Cut = float | Mapping[str, float]
FLAGGED, DEFERRED, NOT_FLAGGED = 1.0, 0.5, 0.0


@final
@dataclass(frozen=True, repr=False)
class Rule(Record):
    """Which scores are flagged, deferred, not flagged, and for whom?

    Attributes
    ----------
    upper : float or dict of str to float
        A case is flagged when ``score >= upper``; a dict has a number for each group.
    lower : float or dict of str to float or None
        A case is not flagged when ``score < lower``, and deferred (left to a person)
        between the two. None: nothing is deferred.

    Examples
    --------
    >>> Rule(0.8, lower=0.3)
    Rule: flag from 0.8 on, defer from 0.3 on
    >>> Rule({"a": 0.5, "b": 0.4}).decide([0.45, 0.45], ["a", "b"])
    array([0., 1.])
    """

    upper: Cut
    lower: Cut | None = None

    def __post_init__(self) -> None:
        names = []  # the groups of the upper, and of the lower threshold
        for name in ("upper", "lower"):
            given = getattr(self, name)
            if isinstance(given, Mapping):
                given = {str(k): threshold_number(v, name) for k, v in given.items()}
                names.append(set(given))
            elif name == "upper" or given is not None:
                given = threshold_number(given, name)
                names.append(set())
            object.__setattr__(self, name, given)
        if names[0] != names[-1] or self.upper == {}:
            raise InputError(
                "A rule for groups needs an upper and a lower threshold for each; "
                f"found {described(self.upper)} and {described(self.lower)}."
            )
        for group in self.groups or (None,):
            low, high = self.cuts(group)
            if low > high:
                raise InputError(
                    "The lower threshold must not lie above the upper one; found "
                    f"{low:g} and {high:g}. Type Rule({low:g}, lower={high:g})."
                )

    @property
    def groups(self) -> tuple[str, ...]:
        """Give the groups that have thresholds of their own, if any."""
        return tuple(self.upper) if isinstance(self.upper, Mapping) else ()

    @property
    def defers(self) -> bool:
        """Is there a zone for doubt?"""
        return self.lower is not None and self.lower != self.upper

    def cuts(self, group: Any = None) -> tuple[float, float]:
        """Give the lower and the upper threshold, of a group where groups differ."""
        if not isinstance(self.upper, Mapping):
            upper, lower = self.upper, self.lower
        else:
            if str(group) not in self.upper:
                raise InputError(
                    f"This rule is for the groups {', '.join(self.upper)}; found "
                    f"{described(group)}."
                )
            upper = self.upper[str(group)]
            lower = self.lower[str(group)] if isinstance(self.lower, Mapping) else None
        return (upper if lower is None else float(lower)), float(upper)  # type: ignore[arg-type]

    def decide(self, score: ArrayLike, group: Any = None) -> Floats:
        """What happens to each case? 1 is flagged, 0 is not, NaN is deferred.

        Parameters
        ----------
        score
            The scores.
        group
            The group of each case, or of all, for a rule that names groups.
        """
        score = np.asarray(score, dtype=np.float64)
        if self.groups and group is not None and not isinstance(group, str):
            names = np.asarray(group).astype(str)
            found = np.full(score.shape, np.nan)
            for name in np.unique(names):
                found[names == name] = self.decide(score[names == name], str(name))
            return found
        lower, upper = self.cuts(group)
        kinds = [np.isnan(score), score >= upper, score < lower]
        return np.select(kinds, [np.nan, FLAGGED, NOT_FLAGGED], np.nan)

    def verdicts(self, data: Tally | Mapping[Any, Tally]) -> Tally:
        """Count cases by what happens to them: 1 flagged, 1/2 deferred, 0 not flagged.

        Weights, clusters and design stay as they were; groups are added up.
        """
        if isinstance(data, Mapping):
            first, *others = (self._judged(t, name) for name, t in data.items())
            return sum(others, start=first)
        if self.groups:
            raise InputError(
                f"A rule for the groups {', '.join(self.groups)} needs a tally of "
                'each. Type trueness.tally(frame, label=..., score=..., by="group").'
            )
        return self._judged(data, None)

    def _judged(self, t: Tally, group: Any) -> Tally:
        lower, upper = self.cuts(group)
        kinds = [t.score >= upper, t.score < lower]
        return rescored(t, np.select(kinds, [FLAGGED, NOT_FLAGGED], DEFERRED))

    def to_sql(self, score: str = "score", group: str = "group") -> str:
        """Write the rule as an SQL expression: 1 flagged, 0 not, NULL deferred.

        Parameters
        ----------
        score, group
            The columns, by name.
        """
        column, parts = _quoted(score), []
        for name in self.groups or (None,):
            lower, upper = self.cuts(name)
            whose = "" if name is None else f"{_quoted(group)} = {_text(name)} AND "
            parts += [f"WHEN {whose}{_at_least(column, upper)} THEN 1"]
            parts += [f"WHEN {whose}{_at_least(column, lower, below=True)} THEN 0"]
        return " ".join(["CASE", *parts, "END"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rule to a JSON file; :meth:`load` reads it back, equal."""
        text = json.dumps({"trueness": "rule", **self.to_dict()}, allow_nan=False)
        _options.file_path(path, "Rule.save").write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Rule:
        """Read a rule that :meth:`save` wrote."""
        file = Path(_options.file_path(path, "Rule.load"))
        if not file.is_file():
            raise InputError(f"There is no file {file} to read a rule from.")
        with as_written(file, "a rule"):
            return cls.from_dict(json.loads(file.read_text(encoding="utf-8")))

    @classmethod
    def from_dict(cls, given: Any) -> Rule:
        """Read what ``to_dict`` gave."""
        known = {"trueness", "upper", "lower"}
        if (
            not isinstance(given, Mapping)
            or not {"upper"} <= given.keys() <= known
            or given.get("trueness", "rule") != "rule"
        ):
            raise InputError(
                f'A rule is written as {{"upper": 0.8, "lower": 0.3}}; found '
                f"{described(given)}."
            )
        cuts = (_read(given.get(name)) for name in ("upper", "lower"))
        return cls(*cuts)

    def __repr__(self) -> str:
        parts = []
        for name in self.groups or (None,):
            lower, upper = self.cuts(name)
            words = f"flag from {cut_text(upper)} on"
            if math.isinf(upper):
                words = "flag nothing" if upper > 0 else "flag everything"
            if lower < upper:
                words += f", defer from {cut_text(lower)} on"
            parts.append(words if name is None else f"{name}: {words}")
        return f"Rule: {'; '.join(parts)}"


def rule_of(given: Any) -> Rule:
    """Take a number, a rule, or an answer that holds one, as a rule."""
    if isinstance(given, Rule):
        return given
    inside = getattr(given, "rule", None)
    return inside if isinstance(inside, Rule) else Rule(threshold_number(given))


def threshold_number(value: Any, name: str = "threshold") -> float:
    """Read a threshold; infinite ones flag everything or nothing."""
    if isinstance(value, (float, np.floating)) and math.isinf(value):
        return float(value)
    return _options.real_number(value, name)


def _read(cut: Any) -> Any:
    """Read a threshold of JSON, which writes infinite ones as text."""
    if isinstance(cut, Mapping):
        return {name: _read(v) for name, v in cut.items()}
    return float(cut) if cut in ("inf", "-inf") else cut


def _quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _at_least(column: str, cut: float, below: bool = False) -> str:
    """Compare a column with a cut; infinite ones hold for every score, or for none."""
    if math.isinf(cut):
        holds = (cut < 0) != below
        return f"{column} IS NOT NULL" if holds else "FALSE"
    return f"{column} {'<' if below else '>='} {cut!r}"
