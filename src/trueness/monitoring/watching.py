"""What is watched, batch by batch, and kept in a file?

A :class:`Watch` asks its detector after every batch, and remembers what the latest
looks told, so that an alarm can say since when and by how much. A watch on groups has a
watch for each, with its part of the false alarms.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import described
from trueness._core.records import Record
from trueness.counts.values import Panel, Tally
from trueness.monitoring.bets import Sums, change_point, grow, log_stakes
from trueness.monitoring.detectors import BatchLook, kind_of, limits, shown
from trueness.monitoring.states import (
    MOST_EVIDENCE,
    About,
    State,
    counted,
    fingerprint,
    new_cases,
    outputs,
    packed,
    write_state,
)
from trueness.monitoring.verdicts import FAILS, HOLDS, OPEN, Check, Verdict, prefix

_MAX_ROWS = 2000  # of the history
_MIN_DISTINCT = 20  # outputs from which on two batches are not equal by chance
_MAX_RECENT = 400  # looks among which a change is sought


@final
@dataclass(frozen=True, repr=False)
class Change(Record):
    """When did it change, and to what?

    Attributes
    ----------
    likely, first, last : str
        The batch with which the change most likely began, and those between which it
        did, with the probability of the level.
    value, low, high : float
        The mean of what was watched since then, with a confidence sequence.
    """

    likely: str
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
        "told": 0,
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
    """A quantity that is checked again with every batch; see :func:`trueness.watch`.

    ``groups`` holds the watch of each group, in the order in which they appeared.
    """

    _about: About
    _state: State = field(default_factory=_new_state)
    groups: dict[str, Watch] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Say in a line how it stands, and in another for each group."""
        if not self.groups:
            return f"Watch on {self.what}: {self.sentence()}"
        lines = [f"  {g}: {w.sentence()}" for g, w in self.groups.items()]
        return "\n".join([f"Watch on {self.what}", *lines])

    @property
    def what(self) -> str:
        """Describe in words what is watched."""
        a = self._about
        by = f" by {a['by']}" if a["by"] else ""
        near = "" if a["near"] is None else f" near {a['near']:g}"
        at = "" if a["threshold"] is None else f" at {a['threshold']:g}"
        sign = ">=" if a["side"] > 0 else "<="
        bound = near if a["bound"] is None else f" {sign} {a['bound']:.4g}{at}"
        return f"{a['metric']}{bound}{by}"

    @property
    def bound(self) -> float | None:
        """Give the bound, where there is one."""
        return self._about["bound"]

    @property
    def judges(self) -> tuple[str, ...]:
        """Name the columns of verdicts, for a rate from judges."""
        return tuple(self._about["judges"])

    @property
    def by(self) -> str | None:
        """Name the column of the groups, where there are groups."""
        return self._about["by"]

    @property
    def columns(self) -> dict[str, Any]:
        """Name the columns of a file that the command line found its cases in."""
        return self._about["columns"]

    @property
    def alarm_at(self) -> float:
        """Give the evidence of an alarm: the mean number of looks to a false one."""
        return float(self._about["mean_time"])

    @property
    def history(self) -> list[dict[str, Any]]:
        """Give a row for each look, of all groups where there are groups."""
        own = [dict(row) for row in self._state["history"]]
        groups = self.groups.items()
        return own + [{"group": g, **row} for g, w in groups for row in w.history]

    @property
    def looks(self) -> int:
        """How often was it looked at?"""
        return int(self._state["looks"])

    def _last(self, name: str) -> float:
        rows = self._state["history"]
        found = rows[-1][name] if rows else None
        return math.nan if found is None else float(found)

    @property
    def value(self) -> float:
        """Give the estimate from all cases since the watch began."""
        return self._last("value")

    @property
    def low(self) -> float:
        """Give the lower end of the confidence sequence."""
        return self._last("low")

    @property
    def high(self) -> float:
        """Give the upper end of the confidence sequence."""
        return self._last("high")

    @property
    def evidence(self) -> float:
        """Give the largest evidence so far, of any group where there are groups."""
        own = math.exp(self._state["peak"])
        parts = (w.evidence * self.alarm_at / w.alarm_at for w in self.groups.values())
        return max([own, *parts])

    @property
    def alarm(self) -> bool:
        """Was the alarm ever raised, for any group where there are groups?"""
        return self._state["since"] is not None

    @property
    def since(self) -> str | None:
        """Name the batch in which the alarm was raised."""
        return self._state["since"]

    @property
    def change(self) -> Change | None:
        """After an alarm, say between which batches the change began, and to what.

        The limits are the smallest and the largest of confidence sequences that begin
        at each look of the interval, so one of them is that of the change.
        """
        recent = self._state["recent"]
        if not self.alarm or not recent:
            return None
        gains = np.array([row["gains"] for row in recent])
        stakes = log_stakes(self._about["metric"], gains.shape[1])
        looks = change_point(gains, stakes, self._about["level"])

        sums_of_looks = np.array([row["sums"] for row in recent])
        sums_since = sums_of_looks[::-1].cumsum(axis=0)[::-1]
        if not sums_since[looks.last, 0]:
            return None
        intervals = [
            limits(self._about, Sums(*sums))
            for sums in sums_since[looks.first : looks.last + 1].tolist()
        ]
        n, total, _ = sums_since[looks.likely]
        return Change(
            likely=str(recent[looks.likely]["name"]),
            first=str(recent[looks.first]["name"]),
            last=str(recent[looks.last]["name"]),
            value=shown(self._about, total / n),
            low=min(low for low, _ in intervals),
            high=max(high for _, high in intervals),
        )

    def sentence(self) -> str:
        """Say in words what was found so far."""
        if not self._state["looks"]:
            return "no batch has been counted yet."
        loud = {g: w for g, w in self.groups.items() if w.alarm}
        if loud:
            said = "; ".join(f"{g}: {w.sentence()}" for g, w in loud.items())
            return f"{len(loud)} of {len(self.groups)} groups: {said}"
        if self.by is not None:
            return f"no alarm in any of the {len(self.groups)} groups."
        if self.judges and not self._state["labels"]:
            return (
                "no alarm, and none can come without labels: verdicts alone do not "
                "determine the rate. Label some cases at random."
            )
        tail = f"evidence {_amount(self.evidence)}, alarm at {_amount(self.alarm_at)}."
        c = self.change
        if c is not None:
            when = f"between {c.first} and {c.last}, most likely with {c.likely}"
            when = f"with {c.first}" if c.first == c.last else when
            return (
                f"alarm since {self.since}. The change began {when}; since then "
                f"{c.value:.4g} ({c.low:.4g} to {c.high:.4g}); {tail}"
            )
        ends = f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g} over all looks)"
        return f"no alarm; {ends} in {self._state['n']:,.0f} cases that count; {tail}"

    def update(
        self, *batch: object, name: str | None = None, **columns: object
    ) -> Watch:
        """Look at another batch, and give the watch itself.

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
            raise InputError(f"The name of a batch is text; found {described(name)}.")
        kind = kind_of(self._about["metric"])
        found = counted(self._about, batch, columns, scores_only=not kind.labels)
        if self.by is not None:
            self._update_groups(found, name)
            return self
        seen = None if name is None else self._state["batches"].get(name)
        new: Any = found if seen is None else new_cases(seen, found, str(name))
        # labels tell nothing new of what needs none
        if new is not None and (seen is None or kind.labels):
            more = (name, seen is not None) if self.judges else ()
            self._count_look(kind.look(self._about, self._state, new, *more), name)
        if name is not None:
            held = packed(found) if found.n_unknown else None
            mark = fingerprint(found)  # for when it comes twice
            self._state["batches"][name] = {"mark": mark, "counts": held}
        return self

    def _update_groups(self, parts: Mapping[Any, Any], name: str | None) -> None:
        watches = {str(g): self._watch_of(str(g)) for g in parts}
        before = sum(w.looks for w in watches.values())
        for group, part in parts.items():
            watches[str(group)].update(part, name=name)
        looked = sum(w.looks for w in watches.values()) > before
        self._state["looks"] += looked
        if not self.alarm and any(w.alarm for w in self.groups.values()):
            self._state["since"] = self._named(name)

    def _watch_of(self, group: str) -> Watch:
        """Give the watch of a group; a new one has its part of the false alarms."""
        if group in self.groups:
            return self.groups[group]
        named, k = self._about["named"], len(self.groups) + 1
        if named is not None and group not in named:
            raise InputError(
                f"This watch was begun for the groups {', '.join(named)}; found "
                f"{group!r}. Begin a new one, or without naming groups."
            )
        # equal parts, or 1 / (k (k + 1)), which add up to one however many will come
        times = k * (k + 1) if named is None else len(named)
        about = self._about.copy()
        about["by"] = None
        about["named"] = None
        about["mean_time"] = self.alarm_at * times
        self.groups[group] = Watch(about)
        return self.groups[group]

    def _named(self, name: str | None) -> str:
        return name if name is not None else f"look {self._state['looks']}"

    def _count_look(self, look: BatchLook, name: str | None) -> None:
        """Ask the detector, and write a row of the history."""
        state = self._state
        log_m, log_evidence = grow(self._about, state, look.gains)
        # a bound of 1 that is missed is beyond all evidence, which JSON cannot hold
        log_evidence = min(log_evidence, MOST_EVIDENCE)
        state["log_m"] = log_m.tolist()
        state["peak"] = max(state["peak"], log_evidence)
        state["looks"] += 1
        state["told"] += bool(look.sums.n)
        state["n"] += look.sums.n
        state["total"] += look.sums.total
        state["squares"] += look.sums.squares

        self._remember(look, name)
        if not self.alarm and log_evidence >= math.log(self.alarm_at):
            state["since"] = self._named(name)
        self._write_history(look.sums, name, math.exp(log_evidence))

    def _remember(self, look: BatchLook, name: str | None) -> None:
        """Keep the gains of the latest looks, among which a change is sought."""
        recent = self._state["recent"]
        if self.alarm and len(recent) >= 2 * _MAX_RECENT:
            return
        gains = look.gains.sum(axis=0).ravel().round(6).tolist()
        row = {"name": self._named(name), "sums": list(look.sums), "gains": gains}
        recent.append(row)
        if not self.alarm:
            self._state["recent"] = recent[-_MAX_RECENT:]

    def _write_history(self, sums: Sums, name: str | None, evidence: float) -> None:
        """Write a row of the history; of a long one the past is thinned."""
        state = self._state
        so_far = Sums(state["n"], state["total"], state["squares"])
        low, high = limits(self._about, so_far)
        batch = shown(self._about, sums.total / sums.n) if sums.n else None
        value = shown(self._about, so_far.total / so_far.n) if so_far.n else None
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
        if len(rows) > _MAX_ROWS:  # both ends stay
            rows = [*rows[:-_MAX_RECENT:2], *rows[-_MAX_RECENT:]]
        state["history"] = rows

    def check(self) -> Check:
        """Answer as a gate does: an alarm fails.

        It holds where the confidence sequence lies on the good side of the bound.
        """
        parts = self.groups or {"": self}
        found = [w._verdict(g) for g, w in parts.items()]
        notes = [f"A false alarm comes once in {self.alarm_at:,.0f} looks at most."]
        return Check.of(found, self._about["level"], "none", notes)

    def _verdict(self, group: str) -> Verdict:
        bound = math.nan if self.bound is None else self.bound
        good = self.low > bound if self._about["side"] > 0 else self.high < bound
        word = FAILS if self.alarm else HOLDS if good else OPEN
        reason = f"{prefix(group)}{self.what}: {self.sentence()}"
        numbers = (self.value, self.low, self.high, bound, round(self._state["n"]))
        return Verdict(self.what, group, word, *numbers, None, reason)

    def restart(self) -> Watch:
        """Begin anew, after a repair, and give the watch itself.

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
        for one in self.groups.values():
            one.restart()
        return self

    def same_cases(self, x: Tally | Panel | Mapping[Any, Any]) -> str | None:
        """Name the batch that had exactly these cases, in any group."""
        if isinstance(x, Mapping):
            known = ((self.groups.get(str(g)), part) for g, part in x.items())
            found = (one.same_cases(part) for one, part in known if one is not None)
            return next((name for name in found if name is not None), None)
        if len(outputs(x)) < _MIN_DISTINCT:
            return None
        mark, batches = fingerprint(x), self._state["batches"].items()
        return next((name for name, held in batches if held["mark"] == mark), None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file, whole or not at all.

        Parameters
        ----------
        path
            Ends in .parquet for a table with a row for each look; otherwise JSON.
        """
        write_state(self.held, self.history, path)

    @property
    def held(self) -> dict[str, Any]:
        """Give what a file of this watch holds: the question, and all that was seen."""
        groups = {g: w.held for g, w in self.groups.items()}
        return {"about": self._about, "state": self._state, "groups": groups}


def _amount(x: float) -> str:
    return f"{x:,.0f}" if 1e3 <= x < 1e9 else f"{x:.3g}"
