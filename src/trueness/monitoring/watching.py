"""What is watched, batch by batch, and kept in a file?

A :class:`Watch` asks its detector after every batch, and remembers what the latest
looks saw, so that an alarm can say since when and by how much. A watch on groups has a
watch for each, with its part of the false alarms.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any, final

import numpy as np

from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import described
from trueness._core.records import DRAW, FIGURE_OF, Record, sketch_of
from trueness.counts.values import Panel, Tally
from trueness.monitoring.batches import (
    count_batch,
    fingerprint,
    new_cases,
    outputs,
    pack_counts,
)
from trueness.monitoring.bets import Sums, change_point, log_stakes, update_evidence
from trueness.monitoring.detectors import (
    BatchLook,
    Kind,
    kind_of,
    sequence_ends,
    watched_quantity,
)
from trueness.monitoring.state_shapes import LARGEST_LOG_EVIDENCE
from trueness.monitoring.states import State, WatchQuestion, write_state
from trueness.monitoring.verdicts import FAILS, HOLDS, OPEN, Check, Verdict, prefix

_MAX_ROWS = 2000  # of the history
_MIN_DISTINCT = 20  # with so many outputs, two batches are not equal by chance
_MAX_RECENT = 400  # looks that are kept to locate a change


@final
@dataclass(frozen=True, repr=False)
class Change(Record):
    """A change: when it began, and the value since then.

    Attributes
    ----------
    most_likely, first, last : str
        The batch with which the change most likely began, and the first and last batch
        of its confidence interval.
    value, low, high : float
        The mean since then, with a confidence sequence.
    """

    most_likely: str
    first: str
    last: str
    value: float
    low: float
    high: float


def _new_state() -> State:
    """Return the state of a watch that has not seen a batch yet."""
    return {
        "n": 0.0,
        "total": 0.0,
        "squares": 0.0,
        "looks": 0,
        "informative": 0,
        "peak": 0.0,
        "since": None,
        "log_m": None,
        "waiting": None,
        "baseline": None,
        "seen": None,
        "history": [],
        "recent": [],
        "batches": {},
        "labels": {},
    }


@final
@dataclass(repr=False, eq=False)
class Watch:
    """A metric that is checked again with every batch; see :func:`trueness.watch`.

    ``groups`` holds the watch of each group, in order of appearance.
    """

    _question: WatchQuestion
    _state: State = field(default_factory=_new_state)
    groups: dict[str, Watch] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return the status in a line, with another line for each group."""
        if not self.groups:
            return f"Watch on {self.what}: {self.sentence()}"
        lines = [f"Watch on {self.what}"]
        for group, watch in self.groups.items():
            lines.append(f"  {group}: {watch.sentence()}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the status and the batches so far, for a notebook."""
        lines = "".join(f"<p>{escape(line)}</p>" for line in repr(self).splitlines())
        return f"<div>{lines}{sketch_of(self)}</div>"

    def plot(self, ax: Any = None) -> Any:
        """Draw the value of each batch, and return the axes; on ``ax`` if passed."""
        figure = FIGURE_OF.load()(self)
        if figure is None:
            raise InputError("A figure of a watch needs a batch with cases.")
        return DRAW.load()(figure, ax)

    @property
    def what(self) -> str:
        """Return the watched quantity and its bound, as text."""
        question = self._question
        text = question["metric"]
        if question["bound"] is not None:
            sign = ">=" if question["side"] > 0 else "<="
            text += f" {sign} {question['bound']:.4g}"
            if question["threshold"] is not None:
                text += f" at {question['threshold']:g}"
        elif question["near"] is not None:
            text += f" near {question['near']:g}"

        if question["by"]:
            text += f" by {question['by']}"

        return text

    @property
    def bound(self) -> float | None:
        """Return the bound; None if there is none."""
        return self._question["bound"]

    @property
    def judges(self) -> tuple[str, ...]:
        """Return the columns of verdicts, for a rate from judges."""
        return tuple(self._question["judges"])

    @property
    def by(self) -> str | None:
        """Return the column of the groups; None without groups."""
        return self._question["by"]

    @property
    def columns(self) -> dict[str, Any]:
        """Return the columns in which the command line found the cases of a file."""
        return self._question["columns"]

    @property
    def alarm_at(self) -> float:
        """Return the evidence of an alarm: the mean looks until a false alarm."""
        return float(self._question["mean_time"])

    @property
    def history(self) -> list[dict[str, Any]]:
        """Return a row for each look, of all groups if there are groups."""
        rows = [dict(row) for row in self._state["history"]]
        for group, watch in self.groups.items():
            rows += [{"group": group, **row} for row in watch.history]
        return rows

    @property
    def looks(self) -> int:
        """Return the number of looks."""
        return int(self._state["looks"])

    def _last(self, name: str) -> float:
        """Return a number of the last look; NaN without looks."""
        rows = self._state["history"]
        if not rows or rows[-1][name] is None:
            return math.nan
        return float(rows[-1][name])

    @property
    def value(self) -> float:
        """Return the estimate from all cases since the watch began."""
        return self._last("value")

    @property
    def low(self) -> float:
        """Return the lower end of the confidence sequence."""
        return self._last("low")

    @property
    def high(self) -> float:
        """Return the upper end of the confidence sequence."""
        return self._last("high")

    @property
    def evidence(self) -> float:
        """Return the largest evidence so far, of any group if there are groups."""
        largest = math.exp(self._state["peak"])
        for watch in self.groups.values():
            # rescale: a group has only a part of the false alarms
            of_group = watch.evidence * self.alarm_at / watch.alarm_at
            largest = max(largest, of_group)
        return largest

    @property
    def alarm(self) -> bool:
        """Return whether an alarm was raised, for any group if there are groups."""
        return self._state["since"] is not None

    @property
    def since(self) -> str | None:
        """Return the name of the batch that raised the alarm."""
        return self._state["since"]

    @property
    def change(self) -> Change | None:
        """Return, after an alarm, where the change began, and the value since then.

        The interval spans the confidence sequences that begin at each look where the
        change may have begun, so one of them begins at the change.
        """
        recent = self._state["recent"]
        if not self.alarm or not recent:
            return None

        gains = np.array([row["gains"] for row in recent])
        stakes = log_stakes(self._question["metric"], gains.shape[1])
        looks = change_point(gains, stakes, self._question["level"])

        # the sums of all cases from each look on
        sums_of_looks = np.array([row["sums"] for row in recent])
        sums_since = sums_of_looks[::-1].cumsum(axis=0)[::-1]
        cases_since_last = sums_since[looks.last, 0]
        if not cases_since_last:
            return None

        low_ends = []
        high_ends = []
        for sums in sums_since[looks.first : looks.last + 1].tolist():
            low, high = sequence_ends(self._question, Sums(*sums))
            low_ends.append(low)
            high_ends.append(high)

        cases, total, _ = sums_since[looks.likely]
        return Change(
            most_likely=str(recent[looks.likely]["name"]),
            first=str(recent[looks.first]["name"]),
            last=str(recent[looks.last]["name"]),
            value=watched_quantity(self._question, total / cases),
            low=min(low_ends),
            high=max(high_ends),
        )

    def sentence(self) -> str:
        """Return the status in words."""
        if not self._state["looks"]:
            return "no batch has been counted yet."
        if self.by is not None:
            return self._sentence_on_groups()

        if self.judges and not self._state["labels"]:
            return (
                "no alarm, and none is possible without labels: verdicts alone do "
                "not determine the rate. Label some cases at random."
            )

        evidence = (
            f"evidence {_amount(self.evidence)}, alarm at {_amount(self.alarm_at)}."
        )
        change = self.change
        if change is None:
            ends = f"{self.low:.4g} to {self.high:.4g} over all looks"
            return (
                f"no alarm; {self.value:.4g} ({ends}) in {self._state['n']:,.0f} cases "
                f"that count; {evidence}"
            )

        return (
            f"alarm since {self.since}. The change began {_when(change)}; since then "
            f"{change.value:.4g} ({change.low:.4g} to {change.high:.4g}); {evidence}"
        )

    def _sentence_on_groups(self) -> str:
        """Return in words which groups raised an alarm."""
        alarms = [
            f"{group}: {watch.sentence()}"
            for group, watch in self.groups.items()
            if watch.alarm
        ]
        number = len(self.groups)

        if not alarms:
            return f"no alarm in any of the {number} groups."
        return f"{len(alarms)} of {number} groups: {'; '.join(alarms)}"

    def update(
        self, *batch: object, name: str | None = None, **columns: object
    ) -> Watch:
        """Look at another batch, and return the watch itself.

        Parameters
        ----------
        batch
            A tally; labels and scores; a frame with ``label=`` and ``score=``; for
            what needs no labels, scores; for a rate from judges a panel, or what makes
            one. For a watch on groups a mapping from group to one of these, a frame
            with the column of the groups, or labels, scores and ``by=``.
        name
            A batch whose name was seen before adds only labels that were unknown.
            Without a name every batch is new. When a case gets its label must depend
            neither on the label nor, for a rate from judges, on the verdicts.
        """
        if len(batch) not in (1, 2):
            raise InputError(
                f"update takes one batch; found {len(batch)} arguments.",
                example=PythonCode(
                    'w.update(y_true, y_score), w.update(frame, label="y", '
                    'score="p") or w.update(tally)'
                ),
            )

        if not isinstance(name, str | None):
            raise InputError(
                f"The name of a batch is text; found {described(name)}.", option="name"
            )

        kind = kind_of(self._question["metric"])
        counts = count_batch(
            self._question, batch, columns, scores_only=not kind.labels
        )
        if self.by is None:
            self._look_at(counts, kind, name)
        else:
            self._update_groups(counts, name)

        return self

    def _look_at(self, counts: Any, kind: Kind, name: str | None) -> None:
        """Look at the new cases of a batch, and remember the batch if it has a name."""
        batches = self._state["batches"]
        counted_before = name is not None and name in batches
        new_counts = counts

        if name is not None and counted_before:
            new_counts = new_cases(batches[name], counts, name)

        # a watch without labels learns nothing from late labels
        is_informative = kind.labels or not counted_before
        if new_counts is not None and is_informative:
            if self.judges:
                look = kind.look(
                    self._question, self._state, new_counts, name, counted_before
                )
            else:
                look = kind.look(self._question, self._state, new_counts)
            self._count_look(look, name)

        if name is not None:
            # the batch may come again with labels that are unknown now
            packed = pack_counts(counts) if counts.n_unknown else None
            batches[name] = {"mark": fingerprint(counts), "counts": packed}

    def _update_groups(
        self, counts_by_group: Mapping[Any, Any], name: str | None
    ) -> None:
        """Look at the batch of each group; there is one alarm for all of them."""
        watches = {str(group): self._watch_of(str(group)) for group in counts_by_group}
        looks_before = sum(watch.looks for watch in watches.values())

        for group, counts in counts_by_group.items():
            watches[str(group)].update(counts, name=name)

        if sum(watch.looks for watch in watches.values()) > looks_before:
            self._state["looks"] += 1
        if not self.alarm and any(watch.alarm for watch in self.groups.values()):
            self._state["since"] = self._name_of_look(name)

    def _watch_of(self, group: str) -> Watch:
        """Return the watch of a group; a new watch has its part of the false alarms."""
        if group in self.groups:
            return self.groups[group]

        named = self._question["named"]
        if named is not None and group not in named:
            raise InputError(
                f"This watch covers the groups {', '.join(named)}; found {group!r}. "
                "Begin a new watch with this group, or without named groups."
            )

        # equal parts of named groups; otherwise 1 / (k (k + 1)), which add up to one
        # for any number of groups
        k = len(self.groups) + 1
        parts = k * (k + 1) if named is None else len(named)
        question = self._question.copy()
        question["by"] = None
        question["named"] = None
        question["mean_time"] = self.alarm_at * parts
        self.groups[group] = Watch(question)

        return self.groups[group]

    def _name_of_look(self, name: str | None) -> str:
        """Return the name of a batch, or the number of the look."""
        return f"look {self._state['looks']}" if name is None else name

    def _count_look(self, look: BatchLook, name: str | None) -> None:
        """Update the evidence by a look, and add a row to the history."""
        state = self._state
        log_m, log_evidence = update_evidence(self._question, state, look.gains)
        # a miss of the bound 1 gives infinite evidence, which JSON cannot hold
        log_evidence = min(log_evidence, LARGEST_LOG_EVIDENCE)
        state["log_m"] = log_m.tolist()
        state["peak"] = max(state["peak"], log_evidence)
        state["looks"] += 1

        if look.sums.n:
            state["informative"] += 1

        state["n"] += look.sums.n
        state["total"] += look.sums.total
        state["squares"] += look.sums.squares

        self._remember(look, name)
        if not self.alarm and log_evidence >= math.log(self.alarm_at):
            state["since"] = self._name_of_look(name)

        self._write_history(look.sums, name, math.exp(log_evidence))

    def _remember(self, look: BatchLook, name: str | None) -> None:
        """Add the gains of a look to the latest ones, by which a change is located."""
        recent = self._state["recent"]
        if self.alarm and len(recent) >= 2 * _MAX_RECENT:
            return

        gains = look.gains.sum(axis=0).ravel().round(6).tolist()
        row = {
            "name": self._name_of_look(name),
            "sums": list(look.sums),
            "gains": gains,
        }
        recent.append(row)

        if not self.alarm:
            self._state["recent"] = recent[-_MAX_RECENT:]

    def _write_history(self, sums: Sums, name: str | None, evidence: float) -> None:
        """Add a row to the history; a long history loses every second old row."""
        state = self._state
        so_far = Sums(state["n"], state["total"], state["squares"])
        low, high = sequence_ends(self._question, so_far)
        batch = (
            watched_quantity(self._question, sums.total / sums.n) if sums.n else None
        )
        value = (
            watched_quantity(self._question, so_far.total / so_far.n)
            if so_far.n
            else None
        )
        row = {
            "look": state["looks"],
            "name": name,
            "n": so_far.n,
            "batch": batch,
            "value": value,
            "low": low,
            "high": high,
            "evidence": evidence,
        }
        rows = [*state["history"], row]
        if len(rows) > _MAX_ROWS:
            # the first row and the latest ones stay
            rows = [*rows[:-_MAX_RECENT:2], *rows[-_MAX_RECENT:]]

        state["history"] = rows

    def check(self) -> Check:
        """Return the status as the answer of a gate: an alarm fails.

        It holds if the confidence sequence is on the good side of the bound.
        """
        watches = self.groups or {"": self}
        verdicts = [watch._verdict(group) for group, watch in watches.items()]
        note = f"False alarms occur at most once in {self.alarm_at:,.0f} looks."
        return Check.of(verdicts, self._question["level"], "none", [note])

    def _verdict(self, group: str) -> Verdict:
        """Return the status of this watch as the verdict of a gate."""
        bound = math.nan if self.bound is None else self.bound

        if self._question["side"] > 0:
            is_good = self.low > bound
        else:
            is_good = self.high < bound

        verdict = HOLDS if is_good else OPEN
        if self.alarm:
            verdict = FAILS

        return Verdict(
            requirement=self.what,
            group=group,
            verdict=verdict,
            value=self.value,
            low=self.low,
            high=self.high,
            bound=bound,
            cases=round(self._state["n"]),
            cases_needed=None,
            reason=f"{prefix(group)}{self.what}: {self.sentence()}",
        )

    def restart(self) -> Watch:
        """Begin anew, after a repair, and return the watch itself.

        The alarm and all evidence are forgotten. Batches that were counted stay
        counted, the history is kept, and scores are again compared with the baseline.
        """
        before = self._state
        self._state = _new_state()
        self._state["looks"] = before["looks"]
        self._state["history"] = before["history"]
        self._state["batches"] = before["batches"]
        self._state["labels"] = before["labels"]
        self._state["baseline"] = before["baseline"]

        for watch in self.groups.values():
            watch.restart()

        return self

    def same_cases(self, counts: Tally | Panel | Mapping[Any, Any]) -> str | None:
        """Return the name of a batch with exactly these cases, in any group."""
        if isinstance(counts, Mapping):
            for group, counts_of_group in counts.items():
                if str(group) in self.groups:
                    name = self.groups[str(group)].same_cases(counts_of_group)
                    if name is not None:
                        return name
            return None

        if len(outputs(counts)) < _MIN_DISTINCT:
            return None

        mark = fingerprint(counts)
        for name, counted in self._state["batches"].items():
            if counted["mark"] == mark:
                return name

        return None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file, whole or not at all.

        Parameters
        ----------
        path
            Ends in .parquet for a table with a row for each look; otherwise JSON.
        """
        write_state(self.content, self.history, path)

    @property
    def content(self) -> dict[str, Any]:
        """Return the content of the file of this watch: its question and its state."""
        return {
            "about": self._question,
            "state": self._state,
            "groups": {group: watch.content for group, watch in self.groups.items()},
        }


def _when(change: Change) -> str:
    """Return in words with which batch a change began."""
    if change.first == change.last:
        return f"with {change.first}"
    return (
        f"between {change.first} and {change.last}, most likely with "
        f"{change.most_likely}"
    )


def _amount(number: float) -> str:
    """Return evidence as text: from 1,000 to 10^9 in full, else with three digits."""
    return f"{number:,.0f}" if 1e3 <= number < 1e9 else f"{number:.3g}"
