r"""Is it still good in every group? One watch for each, and one alarm for all.

Each group has a watch of its own with a part of the allowed error. Groups that are
named at the start have equal parts, :math:`\alpha / G`; otherwise the k-th group that
shows up has :math:`\alpha / (k (k + 1))`, which adds up to :math:`\alpha` however many
there will be. So in at most :math:`\alpha` of all streams that are good in every group
the alarm is ever raised for any of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, final

from trueness._core.checks.errors import InputError
from trueness.data.frames import panel, tally
from trueness.monitoring.states import write_state
from trueness.monitoring.sums import is_batch
from trueness.monitoring.watching import Watch


@final
class GroupWatch:
    """A quantity that is watched in each group; see :func:`trueness.watch`.

    Attributes
    ----------
    groups : dict from group to Watch
        The watch of each group, in the order in which they appeared.
    alarm : bool
        Whether any of them has ever raised its alarm.
    since : str or None
        The batch in which the first alarm was raised.
    """

    def __init__(
        self,
        about: dict[str, Any],
        by: str,
        named: Sequence[str] | None,
        groups: Mapping[str, Watch] | None = None,
        looks: int = 0,
        since: str | None = None,
    ) -> None:
        self._about, self._by = about, by
        self._named = None if named is None else [str(n) for n in named]
        self._looks, self._since = looks, since
        self.groups: dict[str, Watch] = dict(groups or {})

    def __repr__(self) -> str:
        """Say in a line for each group how it stands."""
        lines = [f"  {g}: {w.sentence()}" for g, w in self.groups.items()]
        return "\n".join([f"Watch on {self.what}", *lines])

    @property
    def what(self) -> str:
        """Describe in words what is watched."""
        return f"{Watch(self._about, {}).what} by {self._by}"

    @property
    def judges(self) -> tuple[str, ...]:
        """Name the columns of verdicts, for a rate from judges."""
        return tuple(self._about["judges"])

    @property
    def by(self) -> str:
        """Name the column of the groups."""
        return self._by

    @property
    def looks(self) -> int:
        """How often was it looked at?"""
        return self._looks

    @property
    def alarm(self) -> bool:
        """Has any group ever raised its alarm?"""
        return any(w.alarm for w in self.groups.values())

    @property
    def since(self) -> str | None:
        """Name the batch in which the first alarm was raised."""
        return self._since

    @property
    def evidence(self) -> float:
        """Give the largest evidence of any group, scaled to the allowed error of all.

        The alarm is raised at 1 / (1 - level), as for one watch.
        """
        whole = 1 - self._about["level"]
        return max(
            (w.evidence * w.error / whole for w in self.groups.values()), default=1.0
        )

    def sentence(self) -> str:
        """Say which groups raise an alarm."""
        if not self.groups:
            return "no batch has been counted yet."
        loud = {g: w for g, w in self.groups.items() if w.alarm}
        if not loud:
            return f"no alarm in any of the {len(self.groups)} groups."
        said = "; ".join(f"{g}: {w.sentence()}" for g, w in loud.items())
        return f"{len(loud)} of {len(self.groups)} groups: {said}"

    def update(
        self, *batch: Any, name: str | None = None, **columns: Any
    ) -> GroupWatch:
        """Look at another batch, and give the watch itself.

        Parameters
        ----------
        batch
            A mapping from group to tally (to panel, for a rate from judges); a frame
            with the columns that ``tally`` takes, whose groups are those of the column
            that the watch was begun with; or labels, scores and ``by=``.
        name
            What the batch is called; it is counted once in each group.
        """
        is_batch(batch)
        given = batch[0] if len(batch) == 1 else None
        parts = given if isinstance(given, Mapping) else self._counted(batch, columns)
        before = self.alarm
        looked = False
        for group, part in parts.items():
            one = self._watch_of(str(group))
            seen = one.looks
            one.update(part, name=name)
            looked = looked or one.looks > seen
        self._looks += looked
        if self.alarm and not before:
            self._since = name if name is not None else f"look {self._looks}"
        return self

    def twin(self, parts: Mapping[Any, Any]) -> str | None:
        """Name the batch that had exactly the cases of one of these groups."""
        known = ((self.groups.get(str(g)), x) for g, x in parts.items())
        found = (one.twin(x) for one, x in known if one is not None)
        return next((name for name in found if name is not None), None)

    def _counted(self, batch: tuple[Any, ...], columns: dict[str, Any]) -> Any:
        columns = {"by": self._by, **columns}
        if self._about["judges"] and len(batch) == 1:
            columns["scores"] = self._about["judges"]
        count = panel if self._about["judges"] else tally
        return count(*batch, **columns)

    def _watch_of(self, group: str) -> Watch:
        if group not in self.groups:
            self.groups[group] = Watch.begun(
                {**self._about, "level": 1 - self._share(group)}
            )
        return self.groups[group]

    def _share(self, group: str) -> float:
        """Give a group its part of the error."""
        whole = 1 - self._about["level"]
        if self._named is None:
            k = len(self.groups) + 1
            return float(whole / (k * (k + 1)))
        if group not in self._named:
            raise InputError(
                f"This watch was begun for the groups {', '.join(self._named)}; found "
                f"{group!r}. Begin a new one, or without naming groups."
            )
        return float(whole / len(self._named))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a JSON or Parquet file, whole or not at all."""
        held: dict[str, Any] = {"about": self._about, "by": self._by}
        held["named"] = self._named
        held |= {"looks": self._looks, "since": self._since}
        held["groups"] = {g: w.held for g, w in self.groups.items()}
        rows = [
            {"group": g, **row} for g, w in self.groups.items() for row in w.history
        ]
        write_state(held, rows, path)
