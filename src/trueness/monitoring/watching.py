"""What is watched, batch by batch, and kept in a file?

A :class:`Watch` adds up what tells (which cases, their sum, the sum of their squares)
and asks ``evidence`` after every batch. Its state is one file (``states``).
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping
from typing import Any, final

import numpy as np
from scipy.special import logsumexp

from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described
from trueness.counts.answers import refuse
from trueness.counts.values import Panel, Tally
from trueness.data.frames import tally
from trueness.monitoring import evidence as _evidence
from trueness.monitoring.judged import (
    add_judged,
    add_late,
    judged_panel,
    rate_evidence,
    rate_limits,
    rate_value,
)
from trueness.monitoring.states import MOST_EVIDENCE, write_state
from trueness.monitoring.sums import (
    T,
    add_batch,
    is_batch,
    like,
    outputs,
    packed,
    unpacked,
)

NO_LABELS = ("scores", "flagged_share")
_SUMS = dict.fromkeys(("n", "total", "squares", "judged", "yes"), 0.0)


@final
class Watch:
    """A quantity that is checked again with every batch; see :func:`trueness.watch`.

    Attributes
    ----------
    value, low, high : float
        The estimate, and a confidence sequence, which is valid at all looks together.
    alarm : bool
        Whether the evidence against the bound has ever reached the alarm level; an
        alarm is not withdrawn.
    since : str or None
        The batch in which the alarm was raised.
    evidence : float
        The largest evidence against the bound so far, as an e-value; the alarm is
        raised at 1 / (1 - level).
    history : list of dict
        A row for each look.
    """

    def __init__(self, about: dict[str, Any], state: dict[str, Any]) -> None:
        self._about = about
        self._state = state

    @classmethod
    def begun(cls, about: dict[str, Any], bag: Any = None) -> Watch:
        """Begin a watch that has not seen a batch yet, with the scores of before."""
        state: dict[str, Any] = {**_SUMS, "looks": 0, "peak": 0.0, "since": None}
        state |= {"history": [], "batches": {}}
        state |= {"wealth": None, "waiting": None, "bag": bag, "labels": {}}
        return cls(about, state)

    def __repr__(self) -> str:
        """Say in a line how it stands."""
        return f"Watch on {self.what}: {self.sentence()}"

    @property
    def what(self) -> str:
        """Describe in words what is watched."""
        a = self._about
        at = "" if a["threshold"] is None else f" at {a['threshold']:g}"
        if a["bound"] is None:
            near = f" near {a['near']:g}" if a["near"] is not None else ""
            return f"{a['metric']}{near}"
        sign = ">=" if a["side"] > 0 else "<="
        return f"{a['metric']} {sign} {a['bound']:.4g}{at}"

    @property
    def bound(self) -> float | None:
        """Give the bound, where there is one."""
        found = self._about["bound"]
        return None if found is None else float(found)

    @property
    def judges(self) -> tuple[str, ...]:
        """Name the columns of verdicts, for a rate from judges."""
        return tuple(self._about.get("judges") or ())

    @property
    def by(self) -> None:
        """One watch has no groups."""

    @property
    def error(self) -> float:
        """Give the share of false alarms that is allowed over its whole life."""
        return 1.0 - float(self._about["level"])

    @property
    def history(self) -> list[dict[str, Any]]:
        """Give a row for each look."""
        return list(self._state["history"])

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
        """Give the estimate from all cases so far."""
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
        """Give the largest evidence against the bound so far, as an e-value."""
        return math.exp(self._state["peak"])

    @property
    def alarm(self) -> bool:
        """Has the evidence ever reached the alarm level?"""
        return bool(self._state["peak"] >= -math.log(1 - self._about["level"]))

    @property
    def since(self) -> str | None:
        """Name the batch in which the alarm was raised."""
        found = self._state["since"]
        return None if found is None else str(found)

    def sentence(self) -> str:
        """Say in words what was found so far."""
        line = 1 / (1 - self._about["level"])
        if not self._state["looks"]:
            return "no batch has been counted yet."
        ends = (
            f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g} over all looks)"
            if math.isfinite(self.low)
            else "no estimate, only evidence"
        )
        large = 1e3 <= self.evidence < 1e9
        evidence = f"{self.evidence:,.0f}" if large else f"{self.evidence:.3g}"
        how = f"alarm since {self.since}" if self.alarm else "no alarm"
        return (
            f"{how}; {ends} in {self._state['n']:,.0f} cases that count; evidence "
            f"{evidence} (the alarm is raised at {line:g})."
        )

    def update(self, *batch: Any, name: str | None = None, **columns: Any) -> Watch:
        """Look at another batch, and give the watch itself.

        Parameters
        ----------
        batch
            A tally; labels and scores; a frame with ``label=`` and ``score=``; for
            what needs no labels, scores. For a rate from judges a panel, or what makes
            one.
        name
            What the batch is called. A batch whose name was seen before is not counted
            again: the same batch changes nothing, and one whose unknown cases have
            since got labels adds only those. Without a name every batch is new.
            When a case gets its label must not depend on the label nor, for a rate
            from judges, on the verdicts.
        """
        is_batch(batch)
        found: Tally | Panel
        if self.judges:
            found = judged_panel(batch, list(self.judges), columns)
        else:
            found = _tally(batch, columns, self._about["metric"] in NO_LABELS)
        if not isinstance(name, str | None):
            raise InputError(f"The name of a batch is text; found {described(name)}.")
        told = self._told(found, name)
        if told is None:
            return self
        late = name is not None and name in self._state["batches"]
        if isinstance(told, Tally):
            add_batch(self._about, self._state, told)
        else:
            (add_late if late else add_judged)(self._about, self._state, told, name)
        self._remember(found, name)
        look(self._about, self._state, name)
        return self

    def _told(self, x: Any, name: str | None) -> Any:
        """Give what is new in a batch; None when nothing is."""
        seen = self._state["batches"].get(name)
        if name is None or seen is None:
            return x
        if seen["mark"] == _fingerprint(x):
            return None
        if seen["counts"] is None:
            raise InputError(
                f"Batch {name!r} was counted before, with other cases. Give it another "
                f"name if it is new."
            )
        late = _late(unpacked(seen["counts"], x), x, name)
        if self._about["metric"] in ("flagged_share", "scores"):
            self._remember(x, name)  # labels tell nothing new of what needs none
            return None
        return late

    def twin(self, x: Tally | Panel) -> str | None:
        """Name the batch that had exactly these cases, if chance can hardly explain it.

        Batches of a few distinct outputs are often equal; only longer ones are
        compared.
        """
        if len(outputs(x)) < _LONG:
            return None
        mark = _fingerprint(x)
        kept = self._state["batches"].items()
        return next((name for name, held in kept if held["mark"] == mark), None)

    def _remember(self, x: Tally | Panel, name: str | None) -> None:
        """Keep what was counted under this name, for a file that comes twice."""
        if name is not None:
            held = packed(x) if x.n_unknown else None
            kept = {"mark": _fingerprint(x), "unknown": x.n_unknown, "counts": held}
            self._state["batches"][name] = kept

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
        """What a file of this watch holds: the question, and all that was seen."""
        return {"about": self._about, "state": self._state}


def _tally(
    batch: tuple[Any, ...], columns: Mapping[str, Any], scores_only: bool
) -> Tally:
    alone = batch[0] if len(batch) == 1 else None
    if isinstance(alone, Tally):
        found: Any = alone
    else:
        plain = isinstance(alone, list) or getattr(alone, "ndim", 0) == 1
        given = (None, alone) if scores_only and plain else batch
        found = tally(*given, **columns)
    refuse(found, "watch")
    if not isinstance(found, Tally):
        raise InputError("A batch is one tally; found groups. Watch each on its own.")
    return found


def look(about: dict[str, Any], state: dict[str, Any], name: str | None) -> None:
    """Ask for the evidence, and write a row of the history."""
    what, n, total = about["metric"], state["n"], state["total"]
    alpha = 1 - about["level"]
    state["looks"] += 1
    value = low = high = None
    if what in ("calibration", "scores"):
        wealth = state["wealth"]
        found = (
            0.0 if wealth is None else float(logsumexp(wealth) - np.log(len(wealth)))
        )
        if what == "calibration" and about["near"] is not None and n:
            value = total / n
            low, high = _evidence.share_limits(total, n, alpha)
    elif what == "prevalence":
        found = rate_evidence(state, about["bound"], about["side"]) if n else 0.0
        value = rate_value(state)
        low, high = rate_limits(state, alpha)
    elif what == "brier":
        sums = (n, total, state["squares"])
        found = _evidence.mean_evidence(*sums, about["bound"], about["side"])
        value = total / n if n else None
        low, high = _evidence.mean_limits(*sums, alpha)
    else:
        found, value, low, high = _of_share(about, n, total, alpha)
    # a bound of 1 that is missed is beyond all evidence, which JSON cannot hold
    found = min(float(found), MOST_EVIDENCE)
    state["peak"] = max(state["peak"], found)
    if state["since"] is None and state["peak"] >= -math.log(alpha):
        state["since"] = name if name is not None else f"look {state['looks']}"
    row = {"look": state["looks"], "name": name, "n": n, "value": value}
    row |= {"low": low, "high": high, "evidence": math.exp(found)}
    state["history"].append(row)
    if len(state["history"]) > _KEPT:  # thin the past, keep both ends
        state["history"] = [*state["history"][:-100:2], *state["history"][-100:]]


_KEPT = 2000
_LONG = 20  # distinct outputs from which on two batches are not equal by chance


def _of_share(
    about: dict[str, Any], n: float, total: float, alpha: float
) -> tuple[float, float | None, float, float]:
    bound = about["bound"]
    low, high = _evidence.share_limits(total, n, alpha)
    value = total / n if n else None
    if about["metric"] == "f1":  # J = tp / (tp + errors) is F1 / (2 - F1)
        found = _evidence.share_evidence(total, n, bound / (2 - bound), about["side"])
        shown = [None if j is None else 2 * j / (1 + j) for j in (value, low, high)]
        return found, shown[0], float(shown[1] or 0.0), float(shown[2] or 0.0)
    found = _evidence.share_evidence(total, n, bound, about["side"])
    return found, value, low, high


def _fingerprint(x: Tally | Panel) -> str:
    mark = hashlib.sha256()
    for part in (outputs(x), x.neg, x.pos, x.unknown):
        mark.update(np.ascontiguousarray(part).tobytes())
    return mark.hexdigest()


def _late(before: T, after: T, name: str) -> T:
    """Give the cases that got their label since."""
    if np.array_equal(outputs(before), outputs(after), equal_nan=True):
        neg, pos = after.neg - before.neg, after.pos - before.pos
        gone = before.unknown - after.unknown
        if (neg >= 0).all() and (pos >= 0).all() and (neg + pos == gone).all():
            return like(after, neg, pos)
    raise InputError(
        f"Batch {name!r} was counted before, with other cases or other labels. Only "
        f"labels that were unknown may be added; give a new batch a new name."
    )
