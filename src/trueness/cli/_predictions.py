"""What does a contract speak of? Its predictions, counted in every way it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import nearest
from trueness._core.numbers import percent
from trueness.cli._shell import say
from trueness.cli._source import Source, known, open_source
from trueness.counts.design import WORDS as DESIGN
from trueness.counts.values import Panel
from trueness.data.count_tables import are_counts, count_columns_of
from trueness.data.engines import quoted
from trueness.data.frames import panel, tally
from trueness.monitoring.checking import Evidence
from trueness.monitoring.contracts import Contract
from trueness.monitoring.requirements import Requirement

_BASELINE, _LABEL = "trueness_baseline", "trueness_label"


@final
@dataclass(frozen=True)
class Predictions:
    """The rows of a file that have a score, and the columns that a contract names.

    ``columns`` are those that counting takes beside the score, ``missing`` is the share
    of the rows without a score.
    """

    source: Source
    rows: Any
    score: str
    columns: dict[str, Any]
    required: tuple[Requirement, ...]
    missing: float

    @property
    def label(self) -> Any:
        """Name the column of the labels; None where the file holds counts."""
        return self.columns["label"]

    def tally(self, by: str | None = None) -> Any:
        """Count the score, in each group of a column too."""
        by = by and known(self.source, by, "by")
        return tally(self.rows, score=self.score, by=by, **self.columns)

    def panel(self, scores: list[str], rows: Any = None, by: str | None = None) -> Any:
        """Count several columns together, in each group of a column too."""
        rows = self.rows if rows is None else rows
        return panel(rows, scores, by=by, **self.columns)

    @property
    def beside(self) -> list[str]:
        """Which baselines are columns of the same file?"""
        named = (r.not_worse_than for r in self.required)
        return [name for name in named if name and name in self.source.types]


def predictions(asked: Contract, file: str) -> Predictions:
    """Open the file that a contract is about."""
    source = open_source(file)
    judged = [r.judges[0] for r in asked.requirements if r.judges]
    if asked.score is None and len(judged) == len(asked.requirements):
        asked = replace(asked, score=judged[0])  # a rate from judges has no score
    for name in ("label", "score"):
        if getattr(asked, name) is None:
            raise InputError(
                f'{asked.path} must name the column: add {name} = "NAME". '
                f"{source.name} has {', '.join(source.types)}."
            )
    if are_counts(source.types) and asked.label not in source.types:
        score = count_columns_of(source.types)["score"]
        held = (source, source.rows, score, {"label": None})
        return Predictions(*held, asked.requirements, 0.0)
    label, score = (
        known(source, str(getattr(asked, name)), name) for name in ("label", "score")
    )
    rows, missing = with_scores(source, score)
    columns: dict[str, Any] = {"label": label, "positive": asked.positive}
    columns["count"] = asked.count
    for word in ("weight", "cluster"):
        if getattr(asked, word) is not None:
            columns[word] = known(source, getattr(asked, word), word)
    came = {word: getattr(asked, word) for word in DESIGN}
    columns |= {word: said for word, said in came.items() if said is not None}
    return Predictions(source, rows, score, columns, asked.requirements, missing)


def with_scores(source: Source, score: str) -> tuple[Any, float]:
    """Give the rows that have a score, and the share of those that have none."""
    name = quoted(score)
    gone = f"{name} IS NULL"
    if source.types[score] in ("DOUBLE", "FLOAT"):
        gone = f"({gone} OR isnan({name}))"
    counts = source.rows.aggregate(f"count(*) AS n, count_if({gone}) AS lost")
    ((n, lost),) = counts.fetchall()
    return source.rows.filter(f"NOT {gone}") if lost else source.rows, lost / n


def cases_of(
    p: Predictions, key: str | None, file: str | None
) -> Callable[[str | None], Any]:
    """Give a function that counts all cases, or those of each group of a column.

    Each baseline that is a column is counted beside the score; one in a file of its
    own on the same cases where a key joins the files, otherwise by itself.
    """
    both, old = _baseline(p, key, file)
    paired = [([p.score, name], name, None) for name in p.beside]
    if both is not None:
        paired.append(([p.score, _BASELINE], "baseline", both))

    def count(by: str | None) -> Any:
        tallies = p.tally(by)
        panels = {name: p.panel(scores, rows, by) for scores, name, rows in paired}
        other: Any = None
        if old is not None:
            other = tally(old, score=p.score, by=by, **p.columns)
        if by is None:
            return Evidence(tallies, panels | _judged(p), other)
        return {
            str(g): Evidence(
                t,
                {name: parts[g] for name, parts in panels.items() if g in parts},
                None if other is None else other.get(g),
                str(g),
            )
            for g, t in tallies.items()
        }

    return count


def _judged(p: Predictions) -> dict[str, Panel]:
    """Count the verdicts of judges together."""
    found = {}
    for r in p.required:
        if r.judges:
            named = [known(p.source, j, "judges") for j in r.judges]
            found[",".join(named)] = p.panel(named)
    return found


def _baseline(p: Predictions, key: str | None, file: str | None) -> tuple[Any, Any]:
    """Give the rows of both files joined by their key, or those of the baseline."""
    if file is None:
        for r in p.required:
            if r.not_worse_than and r.not_worse_than not in p.source.types:
                near = nearest(r.not_worse_than, list(p.source.types))
                raise InputError(
                    f"{r} needs a baseline. Type --baseline last_release.parquet, or "
                    f"name a column of {p.source.name} with its scores.{near}"
                )
        return None, None
    other = open_source(file)
    old, lost = with_scores(other, known(other, p.score, "score"))
    if lost:
        say(
            f"{percent(lost)} of the rows of {other.name} have no score; they are left "
            "out."
        )
    if key:
        return _joined(p, key, other, old), None
    known(other, p.label, "label")
    return None, old


def _joined(p: Predictions, key: str, other: Source, old: Any) -> Any:
    """Put the baseline's score beside the candidate's, case by case."""
    for one in (p.source, other):
        _once(one, known(one, key, "key"))
    name, rows = quoted(key), p.rows
    if p.source.types[key] != other.types[key]:  # 7 and "7" name the same case
        as_text = f"* REPLACE (CAST({name} AS VARCHAR) AS {name})"
        rows, old = rows.project(as_text), old.project(as_text)
    said = quoted(p.label) if p.label in other.types else "NULL"
    wanted = f"{name}, {quoted(p.score)} AS {_BASELINE}, {said} AS {_LABEL}"
    here = rows.to_arrow_table()
    both = here.join(old.project(wanted).to_arrow_table(), key)
    both = both.filter(both[_BASELINE].is_valid())
    if not both.num_rows:
        raise NotEnoughCases(
            f"No case of {p.source.name} has a baseline score: the values of {key!r} "
            f"in {other.name} are others. Leave key out of the contract for an "
            f"unpaired comparison."
        )
    if both.num_rows < here.num_rows:
        say(
            f"{here.num_rows - both.num_rows:,} of {here.num_rows:,} rows have no "
            f"baseline score with the same {key!r}; the comparison leaves them out."
        )
    _same_labels(p, key, other, both)
    return both


def _same_labels(p: Predictions, key: str, other: Source, both: Any) -> None:
    """Stop where a case has another label in the file of the baseline."""
    if p.source.types[p.label] != other.types.get(p.label):
        return
    pairs = zip(both[p.label].to_pylist(), both[_LABEL].to_pylist(), strict=True)
    differ = sum(a != b for a, b in pairs if a is not None and b is not None)
    if differ:
        raise InputError(
            f"{differ:,} of {both.num_rows:,} cases have another {p.label!r} in "
            f"{other.name} than in {p.source.name}. Is {key!r} the key of the cases?"
        )


def _once(source: Source, key: str) -> None:
    """Stop where two rows have one key: joined, they would count as more cases."""
    named = quoted(key)
    rows = source.rows.aggregate(f"count({named}) AS n, count(DISTINCT {named}) AS d")
    n, distinct = rows.fetchall()[0]
    if n != distinct:
        raise InputError(
            f"{source.name}: {n - distinct:,} rows repeat a value of the key "
            f"{key!r}, so that cases cannot be paired. Name a key that each case has "
            f"once, or leave key out of the contract."
        )
