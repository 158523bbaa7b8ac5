"""Head-to-head verdicts: which of two systems wins more often, ties counted half?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, cast, final

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.data_types import Column, Frame
from trueness._core.imports import HigherFunction
from trueness._core.numbers import counted, p_is, p_value
from trueness._core.records import Estimate, Record, native_frame
from trueness.comparison.results import holm
from trueness.inference.estimates import estimate_from_variance
from trueness.inference.variance import variance_between_units

# of the room of data: the columns of verdicts head to head, and what is a tie
READ_WINNERS: HigherFunction[Callable[[Any], tuple[Any, Any, Array]]] = HigherFunction(
    "read_winners"
)
IS_TIE: HigherFunction[Callable[[object], bool]] = HigherFunction("is_tie")


@final
@dataclass(frozen=True, repr=False)
class HeadToHeadPair(Record):
    """Wins, losses and ties of the first of two systems, item by item.

    Attributes
    ----------
    first, second : str
        The systems.
    wins, losses, ties : int
        Numbers of items on which the first won, lost, and tied.
    win_rate : Estimate
        Win rate of the first; a tie counts one half.
    p_value, p_adjusted : float
        Exact two-sided sign test of the items without a tie; and adjusted for the
        number of pairs (Holm).
    """

    first: str
    second: str
    wins: int
    losses: int
    ties: int
    win_rate: Estimate
    p_value: float
    p_adjusted: float

    def __repr__(self) -> str:
        """Write the pair in one line."""
        return (
            f"{self.first} - {self.second}: {counted(self.wins, 'win')}, "
            f"{counted(self.losses, 'loss', 'losses')}, {counted(self.ties, 'tie')}; "
            f"{self.win_rate}, {p_is(self.p_value)} (adjusted "
            f"{p_value(self.p_adjusted)})"
        )

    __str__ = __repr__


@final
@dataclass(frozen=True, repr=False)
class HeadToHead(Record):
    """Systems compared by pairs.

    Attributes
    ----------
    names : tuple of str
        The systems.
    pairs : tuple of HeadToHeadPair
        Every pair that was compared.
    """

    names: tuple[str, ...]
    pairs: tuple[HeadToHeadPair, ...]
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __repr__(self) -> str:
        """Return a line for each pair, then the notes."""
        lines = [f"Head to head: {', '.join(map(str, self.names))}"]
        lines += [f"  {pair}" for pair in self.pairs]
        return "\n".join([*lines, *(f"  Note: {note}" for note in self.notes)])

    __str__ = __repr__

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a table with one row per pair."""
        names = ("first", "second", "wins", "losses", "ties", "p_value", "p_adjusted")
        columns = {name: [getattr(pair, name) for pair in self.pairs] for name in names}
        columns["win_rate"] = [pair.win_rate.value for pair in self.pairs]
        columns["low"] = [pair.win_rate.low for pair in self.pairs]
        columns["high"] = [pair.win_rate.high for pair in self.pairs]
        return native_frame(columns, backend)


def head_to_head(
    first: Column | Frame,
    second: Column | None = None,
    winner: Column | None = None,
    *,
    tie: str = "tie",
    level: float = 0.95,
) -> HeadToHead:
    r"""Win rate of systems compared item by item, with an interval and the sign test.

    Which of two systems wins more often, if ties are possible?

    .. math:: \hat w = \frac{\text{wins} + \text{ties}/2}{n}

    Parameters
    ----------
    first, second
        The two systems: a name, or a column of names. Alone, ``first`` is the column of
        winners, or a frame with the columns ``model_a``, ``model_b`` and ``winner``.
    winner
        A column with the name of the winner of each item, or the word for a tie.
    tie
        The word for a tie, where it does not begin with "tie" or "draw".
    level
        Confidence level of the intervals.

    Notes
    -----
    The interval is Wilson's at the effective sample size from the variance of the
    verdicts, with Student's quantile. Each verdict is on a different item. The sign
    test leaves out ties (Dixon and Mood 1946).

    References
    ----------
    Dixon, Mood (1946), doi:10.1080/01621459.1946.10501898

    Examples
    --------
    >>> verdicts = ["A"] * 8 + ["B"] * 1 + ["tie"] * 2
    >>> pair = head_to_head("A", "B", verdicts).pairs[0]
    >>> pair.win_rate.value, pair.p_value  # 9 / 11, and 2 * (1 + 9) / 2**9
    (0.8181818181818182, 0.0390625)
    """
    level = _options.fraction(level, "level")
    if second is None and winner is None:
        first, second, winner = READ_WINNERS.load()(first)
    if second is None or winner is None:
        lacking = "second" if second is None else "winner"
        raise InputError(
            f"head_to_head needs two systems and the winners; {lacking} is missing.",
            option=lacking,
        )

    winners = _with_one_word_for_ties(winner, tie)
    firsts = _names_of_items(cast("Column", first), winners.size, "first")
    seconds = _names_of_items(second, winners.size, "second")

    if not winners.size:
        raise NotEnoughCases("head_to_head needs verdicts; found none.")

    _check_verdicts(firsts, seconds, winners, tie)

    # in the order in which they first appear
    names = tuple(dict.fromkeys([*firsts.tolist(), *seconds.tolist()]))
    pairs = []
    for first_name, second_name in combinations(names, 2):
        # either system may have been named first
        met = ((firsts == first_name) & (seconds == second_name)) | (
            (firsts == second_name) & (seconds == first_name)
        )
        if met.any():
            pairs.append(
                _pair_of_verdicts(first_name, second_name, winners[met], level)
            )

    adjusted = holm([pair.p_value for pair in pairs])
    return HeadToHead(
        names=names,
        pairs=tuple(
            replace(pair, p_adjusted=p_value)
            for pair, p_value in zip(pairs, adjusted, strict=True)
        ),
    )


def _with_one_word_for_ties(winner: Column, tie: str) -> Array:
    """Return the winners, in which every tie is written in the same way."""
    winners = np.array(winner, dtype=object).ravel()
    is_tie = np.array([IS_TIE.load()(word) for word in winners.tolist()], dtype=bool)
    winners[is_tie] = tie
    return winners


def _names_of_items(names: Column, n_items: int, option: str) -> Array:
    """Return the system of each item; one name stands for all items."""
    column = np.asarray(names, dtype=object)
    if column.ndim == 0:
        return np.full(n_items, names, dtype=object)

    if column.size != n_items:
        raise InputError(
            f"{option} needs one name, or one per verdict; found {column.size:,} names "
            f"and {n_items:,} verdicts.",
            option=option,
        )

    return column.ravel()


def _check_verdicts(firsts: Array, seconds: Array, winners: Array, tie: str) -> None:
    """Raise an error where a system is compared with itself, or a third one won."""
    itself = np.flatnonzero(firsts == seconds)
    if itself.size:
        raise InputError(
            f"Two systems must have two names; found {firsts[itself[0]]!r} twice at "
            f"position {itself[0]}.",
            option="second",
        )

    is_known = (winners == firsts) | (winners == seconds) | (winners == tie)
    strangers = np.flatnonzero(~is_known.astype(bool))
    if strangers.size:
        row = strangers[0]
        choices = (str(firsts[row]), str(seconds[row]), tie)
        raise InputError(
            f"A winner must be {choices[0]!r}, {choices[1]!r} or {tie!r}; found "
            f"{winners[row]!r} at position {row} ({strangers.size:,} such verdicts).",
            option="winner",
        )


def _pair_of_verdicts(
    first: str, second: str, winners: Array, level: float
) -> HeadToHeadPair:
    """Return the wins of the first of two systems, with win rate and sign test."""
    won = np.asarray(winners == first, dtype=bool)
    lost = np.asarray(winners == second, dtype=bool)
    wins = int(won.sum())
    losses = int(lost.sum())

    # a tie is half a win
    points = np.where(won, 1.0, np.where(lost, 0.0, 0.5))
    win_rate = float(points.mean())
    variance_estimate = variance_between_units((points - win_rate) / points.size)
    p_value = _sign_test(wins, losses)

    return HeadToHeadPair(
        first=first,
        second=second,
        wins=wins,
        losses=losses,
        ties=winners.size - wins - losses,
        win_rate=estimate_from_variance(
            win_rate, variance_estimate, level=level, name="win rate"
        ),
        p_value=p_value,
        p_adjusted=p_value,
    )


def _sign_test(wins: int, losses: int) -> float:
    """Return the two-sided exact p-value of equally many wins and losses."""
    from scipy.special import bdtr

    decided = wins + losses
    if decided == 0:
        return 1.0
    # Dixon and Mood (1946): ties are left out
    tail = float(bdtr(min(wins, losses), decided, 0.5))
    return min(1.0, 2 * tail)
