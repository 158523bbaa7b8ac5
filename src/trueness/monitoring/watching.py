"""What is watched, batch by batch, and kept in a file?

A :class:`Watch` asks its detector after every batch (``detectors``), and remembers what
the latest looks told, so that an alarm can say since when and by how much. A watch on
groups has a watch for each, with its part of the false alarms. Its state is one file
(``states``).
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described
from trueness._core.records import Record
from trueness.counts.values import Panel, Tally
from trueness.monitoring.detectors import change_point, grown, limits
from trueness.monitoring.kinds import (
    Told,
    ends_of,
    is_share,
    kind_of,
    log_stakes,
    shown,
)
from trueness.monitoring.states import (
    MOST_EVIDENCE,
    About,
    State,
    counted,
    new_cases,
    remembered,
    same_cases,
    write_state,
)
from trueness.monitoring.verdicts import FAILS, HOLDS, OPEN, Check, Verdict, together

_KEPT = 2000  # rows of the history
_RECENT = 400  # looks among which a change is sought


@final
@dataclass(frozen=True, repr=False)
class Change(Record):
    """When did it change, and to what?

    Attributes
    ----------
    likely : str
        The batch with which the change most likely began.
    first, last : str
        The batches between which it began, with the probability of the level.
    value, low, high : float
        The mean of what was watched since then, with a confidence sequence for every
        batch from the first to the last.
    """

    likely: str
    first: str
    last: str
    value: float
    low: float
    high: float


@final
class Watch:
    """A quantity that is checked again with every batch; see :func:`trueness.watch`.

    ``groups`` holds the watch of each group, in the order in which they appeared.
    """

    def __init__(
        self,
        about: About,
        state: State | None = None,
        groups: Mapping[str, Watch] | None = None,
    ) -> None:
        self._about = about
        self._state = _fresh() if state is None else state
        self.groups: dict[str, Watch] = dict(groups or {})

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
        if a["bound"] is None:
            near = f" near {a['near']:g}" if a["near"] is not None else ""
            return f"{a['metric']}{near}{by}"
        at = "" if a["threshold"] is None else f" at {a['threshold']:g}"
        sign = ">=" if a["side"] > 0 else "<="
        return f"{a['metric']} {sign} {a['bound']:.4g}{at}{by}"

    @property
    def bound(self) -> float | None:
        """Give the bound, where there is one."""
        found = self._about["bound"]
        return None if found is None else float(found)

    @property
    def judges(self) -> tuple[str, ...]:
        """Name the columns of verdicts, for a rate from judges."""
        return tuple(self._about["judges"])

    @property
    def by(self) -> str | None:
        """Name the column of the groups, where there are groups."""
        return None if self._about["by"] is None else str(self._about["by"])

    @property
    def columns(self) -> dict[str, Any]:
        """Name the columns of a file that the command line found its cases in."""
        return dict(self._about["columns"])

    def keep_columns(self, **columns: Any) -> None:
        """Remember the columns of a file, so that they need not be named again."""
        plain = (str, bool, int, float)
        self._about["columns"] = {
            k: v for k, v in columns.items() if isinstance(v, plain)
        }

    @property
    def alarm_at(self) -> float:
        """Give the evidence at which the alarm is raised.

        It is the promised mean number of looks between false alarms.
        """
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
        found = self._state["since"]
        return None if found is None else str(found)

    @property
    def change(self) -> Change | None:
        """After an alarm, say between which batches the change began, and to what.

        The interval holds the shares of the detector that belong to each look
        (``detectors``). The limits are the smallest and the largest of confidence
        sequences that begin at each of these looks, so one of them is that of the
        change.
        """
        recent = self._state["recent"]
        if not self.alarm or not recent:
            return None
        gains = np.array([row["gains"] for row in recent])
        stakes = log_stakes(self._about["metric"], gains.shape[1])
        first, likely, last = change_point(gains, stakes, self._about["level"])
        sums = np.array([row["sums"] for row in recent])[::-1].cumsum(axis=0)[::-1]
        if not sums[last, 0]:
            return None
        lows, highs = zip(*map(self._limits, sums[first : last + 1]), strict=True)
        low, high = min(lows), max(highs)
        value = shown(self._about, sums[likely, 1] / sums[likely, 0])
        names = [str(recent[k]["name"]) for k in (likely, first, last)]
        return Change(names[0], names[1], names[2], value, low, high)

    def _limits(self, sums: Any) -> tuple[float, float]:
        """Give the limits of a mean at the looks of all time, as what is watched."""
        n, total, squares = (float(s) for s in sums)
        alpha, ends = 1 - self._about["level"], ends_of(self._about)
        share = is_share(self._about)
        low, high = limits((n, total, squares), alpha, ends, share=share)
        return shown(self._about, low), shown(self._about, high)

    def sentence(self) -> str:
        """Say in words what was found so far."""
        if not self._state["looks"]:
            return "no batch has been counted yet."
        if self.by is not None:
            return self._groups_sentence()
        tail = f"evidence {_amount(self.evidence)}, alarm at {_amount(self.alarm_at)}."
        c = self.change
        if c is not None:
            when = f"with {c.first}" if c.first == c.last else _between(c)
            return (
                f"alarm since {self.since}. The change began {when}; since then "
                f"{c.value:.4g} ({c.low:.4g} to {c.high:.4g}); {tail}"
            )
        ends = f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g} over all looks)"
        return f"no alarm; {ends} in {self._state['n']:,.0f} cases that count; {tail}"

    def _groups_sentence(self) -> str:
        loud = {g: w for g, w in self.groups.items() if w.alarm}
        if not loud:
            return f"no alarm in any of the {len(self.groups)} groups."
        said = "; ".join(f"{g}: {w.sentence()}" for g, w in loud.items())
        return f"{len(loud)} of {len(self.groups)} groups: {said}"

    def update(self, *batch: Any, name: str | None = None, **columns: Any) -> Watch:
        """Look at another batch, and give the watch itself.

        Parameters
        ----------
        batch
            A tally; labels and scores; a frame with ``label=`` and ``score=``; for
            what needs no labels, scores. For a rate from judges a panel, or what makes
            one. For a watch on groups a mapping from group to one of these, a frame
            with the column of the groups, or labels, scores and ``by=``.
        name
            What the batch is called. A batch whose name was seen before is not counted
            again: the same batch changes nothing, and one whose unknown cases have
            since got labels adds only those. Without a name every batch is new.
            When a case gets its label must not depend on the label nor, for a rate
            from judges, on the verdicts.
        """
        if len(batch) not in (1, 2):
            raise InputError(
                f"update takes one batch; found {len(batch)} arguments. Type "
                'w.update(y_true, y_score), w.update(frame, label="y", score="p") or '
                "w.update(tally)."
            )
        if not isinstance(name, str | None):
            raise InputError(f"The name of a batch is text; found {described(name)}.")
        judges, kind = list(self.judges), kind_of(self._about["metric"])
        plain = not kind.labels
        found = counted(batch, columns, by=self.by, judges=judges, scores_only=plain)
        if self.by is not None:
            self._update_groups(found, name)
            return self
        seen = None if name is None else self._state["batches"].get(name)
        new: Any = found if seen is None else new_cases(seen, found, str(name))
        # labels tell nothing new of what needs none
        if new is not None and (seen is None or kind.labels):
            more = (name, seen is not None) if judges else ()
            self._look(kind.told(self._about, self._state, new, *more), name)
        if name is not None:
            self._state["batches"][name] = remembered(found)
        return self

    def _update_groups(self, parts: Mapping[Any, Any], name: str | None) -> None:
        looked = False
        for group, part in parts.items():
            one = self._watch_of(str(group))
            before = one.looks
            one.update(part, name=name)
            looked = looked or one.looks > before
        self._state["looks"] += looked
        if not self.alarm and any(w.alarm for w in self.groups.values()):
            self._state["since"] = self._named(name)

    def _watch_of(self, group: str) -> Watch:
        """Give the watch of a group; a new one has its part of the false alarms.

        Groups that were named have equal parts; otherwise the k-th that appears has
        1 / (k (k + 1)), which adds up to one however many there will be.
        """
        if group in self.groups:
            return self.groups[group]
        named, k = self._about["named"], len(self.groups) + 1
        if named is not None and group not in named:
            raise InputError(
                f"This watch was begun for the groups {', '.join(named)}; found "
                f"{group!r}. Begin a new one, or without naming groups."
            )
        times = k * (k + 1) if named is None else len(named)
        own = {"by": None, "named": None, "mean_time": self.alarm_at * times}
        self.groups[group] = Watch({**self._about, **own})
        return self.groups[group]

    def _named(self, name: str | None) -> str:
        return name if name is not None else f"look {self._state['looks']}"

    def _look(self, told: Told, name: str | None) -> None:
        """Ask the detector, and write a row of the history."""
        state = self._state
        before = None if state["log_m"] is None else np.array(state["log_m"])
        if before is not None and before.shape != told.gains.shape[1:]:
            raise InputError(
                "The state of this watch has other bets than this Trueness makes. "
                "Continue it with the Trueness that wrote it, or begin a new watch."
            )
        state["looks"] += 1
        state["told"] += bool(told.n)
        sums = [told.n, told.total, told.squares]
        for key, more in zip(("n", "total", "squares"), sums, strict=True):
            state[key] += more
        stakes = log_stakes(self._about["metric"], told.gains.shape[2])
        log_m, found = grown(before, told.gains, stakes)
        state["log_m"] = log_m.tolist()
        # a bound of 1 that is missed is beyond all evidence, which JSON cannot hold
        found = min(found, MOST_EVIDENCE)
        state["peak"] = max(state["peak"], found)
        if len(state["recent"]) < 2 * _RECENT or not self.alarm:
            gains = told.gains.sum(axis=0).ravel().round(6).tolist()
            row = {"name": self._named(name), "sums": sums, "gains": gains}
            state["recent"].append(row)
        if not self.alarm:
            state["recent"] = state["recent"][-_RECENT:]
            if found >= math.log(self.alarm_at):
                state["since"] = self._named(name)
        self._write_row(told, name, found)

    def _write_row(self, told: Told, name: str | None, found: float) -> None:
        state, n = self._state, self._state["n"]
        low, high = self._limits([state[k] for k in ("n", "total", "squares")])
        row: dict[str, Any] = {"look": state["looks"], "name": name, "n": n}
        row["batch"] = shown(self._about, told.total / told.n) if told.n else None
        row["value"] = shown(self._about, state["total"] / n) if n else None
        row |= {"low": low, "high": high, "evidence": math.exp(found)}
        rows = [*state["history"], row]
        if len(rows) > _KEPT:  # thin the past, keep both ends
            rows = [*rows[:-_RECENT:2], *rows[-_RECENT:]]
        state["history"] = rows

    def check(self) -> Check:
        """Give the watch as a gate gives its answer, with the same writers.

        An alarm *fails*; without one, it *holds* where the confidence sequence of all
        looks so far lies on the good side of the bound.
        """
        parts = self.groups or {"": self}
        found = tuple(w._verdict(g) for g, w in parts.items())
        notes = (f"A false alarm comes once in {self.alarm_at:,.0f} looks at most.",)
        return Check(together(found), found, self._about["level"], "none", notes)

    def _verdict(self, group: str) -> Verdict:
        bound = math.nan if self.bound is None else self.bound
        good = self.low > bound if self._about["side"] > 0 else self.high < bound
        word = FAILS if self.alarm else HOLDS if good else OPEN
        where = f"{group}: " if group else ""
        reason = f"{where}{self.what}: {self.sentence()}"
        ends = (self.value, self.low, self.high, bound)
        n = round(self._state["n"])
        return Verdict(self.what, group, word, *ends, n, None, reason)

    def restart(self) -> Watch:
        """Begin anew, after a repair, and give the watch itself.

        The alarm and all evidence are forgotten, and the promise about false alarms
        begins anew. Batches that were counted stay counted, the history is kept, and
        scores are again compared with the baseline.
        """
        fresh = _fresh()
        for key in ("looks", "history", "batches", "labels", "baseline"):
            fresh[key] = self._state[key]
        self._state = fresh
        for one in self.groups.values():
            one.restart()
        return self

    def same_cases(self, x: Tally | Panel | Mapping[Any, Any]) -> str | None:
        """Name the batch that had exactly these cases, in any group."""
        if not isinstance(x, Mapping):
            return same_cases(self._state["batches"], x)
        known = ((self.groups.get(str(g)), part) for g, part in x.items())
        found = (one.same_cases(part) for one, part in known if one is not None)
        return next((name for name in found if name is not None), None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a JSON or Parquet file, whole or not at all.

        Parameters
        ----------
        path
            A file whose name ends in .parquet holds a row for each look, and what is
            needed to continue; any other file is JSON.
        """
        write_state(self.held, self.history, path)

    @property
    def held(self) -> dict[str, Any]:
        """Give what a file of this watch holds: the question, and all that was seen."""
        groups = {g: w.held for g, w in self.groups.items()}
        return {"about": self._about, "state": self._state, "groups": groups}


def _fresh() -> dict[str, Any]:
    """Give the state of a watch that has not seen a batch yet."""
    numbers = dict.fromkeys(("n", "total", "squares"), 0.0)
    state: dict[str, Any] = {**numbers, "looks": 0, "told": 0, "peak": 0.0}
    state |= dict.fromkeys(("since", "log_m", "waiting", "baseline", "seen"))
    return {**state, "history": [], "recent": [], "batches": {}, "labels": {}}


def _between(c: Change) -> str:
    return f"between {c.first} and {c.last}, most likely with {c.likely}"


def _amount(x: float) -> str:
    return f"{x:,.0f}" if 1e3 <= x < 1e9 else f"{x:.3g}"
