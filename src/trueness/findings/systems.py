"""Which system or treatment is better? Attempts, readers, and what judges say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from trueness._core.numbers import counted, listed, p_is, p_value, points, spelt
from trueness._core.records import Estimate, as_precise, shown
from trueness.comparison.results import Pair
from trueness.evals.attempts import Attempts, pass_at_k, pass_hat_k, pass_rate
from trueness.evals.runs import Leaderboard, leaderboard, rates_figure
from trueness.findings.notes import TITLES, Note, note, said, when
from trueness.findings.records import (
    Figure,
    Finding,
    Page,
    Table,
    Tile,
    fields_of,
    finding,
    table,
)
from trueness.nogold.figures import raw_rate
from trueness.nogold.rate import Rate
from trueness.nogold.rate_comparison import RateComparison
from trueness.readers.analysis import ReaderStudy

Runs = Mapping[str, Attempts]
_PAIR = ("first", "second", "value", "low", "high", "level", "p", "many")
MOST_PAIRS = 10  # differences that are said in words; a table has all


def how_often(
    runs: Runs,
    *,
    pass_at: Sequence[int] = (),
    pass_hat: Sequence[int] = (),
    groups: Mapping[str, Runs] | None = None,
    by: str = "",
    level: float = 0.95,
) -> Finding:
    """How often does each system pass, on all items and on those of every group?"""
    asked: dict[str, Callable[..., Any]] = {"pass rate": pass_rate}
    asked |= {f"pass@{k}": partial(pass_at_k, k=k) for k in pass_at}
    asked |= {f"pass^{k}": partial(pass_hat_k, k=k) for k in pass_hat}
    rows = {
        s: {name: ask(a, level=level) for name, ask in asked.items()}
        for s, a in runs.items()
    }
    board = leaderboard(runs, level=level) if len(runs) > 1 else None
    for name, e in zip(board.names, board.rates, strict=True) if board else ():
        rows[name]["pass rate"] = e  # of the items that every system tried
    by_group = {
        g: {s: pass_rate(a, level=level) for s, a in part.items()}
        for g, part in (groups or {}).items()
    }
    each = ([g, s or "all", e] for g, x in by_group.items() for s, e in x.items())
    tables = [
        _rates_table(rows, board),
        *([table(f"By {by}", [by, "system", "pass rate"], each)] if by_group else []),
        *([_differences(board)] if board else []),
    ]
    notes = [n for each in rows.values() for e in each.values() for n in e.notes]
    if board:  # which says of each system how many of its attempts were left out
        unnamed = {n for a in runs.values() for n in pass_rate(a).notes if a.missing}
        notes = [n for n in notes if n not in unnamed] + list(board.notes)
    drawn = rates_figure(board or next(iter(rows.values())))
    return finding(
        "evals" if board is None else "systems",
        {
            "systems": rows,
            "items": {s: len(a) for s, a in runs.items()},
            "attempts": {s: int(a.tried.sum()) for s, a in runs.items()},
            "groups": by_group,
            "leaderboard": None if board is None else board.columns(),
            "differences": [] if board is None else list(board.comparison.pairs),
        },
        key="evals",
        answer=(*said([_counts(runs)]), _answer(rows, board, level)),
        notes=(*said(notes), note("trusted")),
        tables=tuple(tables),
        figures=(Figure(drawn, "Pass rates"),),
    )


def _counts(runs: Runs) -> str:
    """Say how many items and attempts there are, of each system where they differ."""
    tried = {s: int(a.tried.sum()) for s, a in runs.items()}
    both = {(len(a), tried[s]) for s, a in runs.items()}
    if len(both) > 1:
        each = ", ".join(f"{shown(s)} {n:,}" for s, n in tried.items())
        return f"{len(runs)} systems; attempts: {each}."
    of = f"{len(runs)} systems, each with " if len(runs) > 1 else ""
    ((items, attempts),) = both
    return f"{of}{counted(items, 'item')} and {counted(attempts, 'attempt')}."


def _differences(board: Leaderboard) -> Table:
    rows = []
    for p in board.comparison.pairs:
        d = p.difference
        value, low, high = as_precise(d.value, d.low, d.high)
        between = f"{value} ({low} to {high})"
        rows.append([f"{p.first} - {p.second}", between, p_is(p.p_adjusted)])
    return table("Differences", ["pair", "difference", "adjusted p-value"], rows)


def _written(e: Estimate) -> str:
    width = e.high - e.low
    return (
        f"{points(e.value, width)} % ({points(e.low, width)} to "
        f"{points(e.high, width)} %)"
    )


def _answer(
    rows: Mapping[str, Mapping[str, Estimate]], board: Leaderboard | None, level: float
) -> Note:
    if board is None:
        (rate,) = (each["pass rate"] for each in rows.values())
        return note("pass rate", rate=_written(rate), level=level)
    first = {"first": shown(board.names[0]), "rate": _written(board.rates[0])}
    if board.worst_rank[0] == 1:
        return note("first alone", **first)
    rates = zip(board.names, board.rates, strict=True)
    tied = [shown(n) for n, rate in rates if rate.value == board.rates[0].value]
    if len(tied) > 1:
        return note("first tied", tied=tied, rate=first["rate"])
    same = [set(letters.split()) for letters in board.groups]
    both = zip(board.names[1:], same[1:], strict=True)
    others = [shown(n) for n, letters in both if letters & same[0]]
    return note("first with", **first, others=others)


def _rates_table(
    rows: Mapping[str, Mapping[str, Estimate]], board: Leaderboard | None
) -> Table:
    names = list(next(iter(rows.values())))
    if board is None:
        every = [[s or "all", *each.values()] for s, each in rows.items()]
        return table("Pass rates", ["system", *names], every)
    at = {s: k for k, s in enumerate(board.names)}
    made = [
        [board.ranks(at[s]), s, *rows[s].values(), board.groups[at[s]]]
        for s in board.names
    ]
    return table("Pass rates", ["rank", "system", *names, "not different"], made)


def evals_page(found: Finding, source: str = "") -> Page:
    """Put the finding on a page of its own."""
    systems: Mapping[str, Mapping[str, Estimate]] = found.numbers["systems"]
    tiles = []
    for s, each in list(systems.items())[:6]:
        text, _, detail = _written(each["pass rate"]).partition(" (")
        tiles.append(Tile(shown(s or "pass rate"), text, detail.removesuffix(")")))
    facts = [("systems", f"{len(systems):,}")]
    facts += [("file", shown(source, 120))] if source else []
    answers = ((found.question, found.answer),)
    return Page(TITLES["evals"], tuple(facts), tuple(tiles), answers, (found,))


def compared_by_readers(found: ReaderStudy) -> Finding:
    """Say whether readers do better with one treatment than with another."""
    name = "AUC" if found.metric == "auc" else found.metric
    rows = [
        (f"{shown(p.first, 30)} - {shown(p.second, 30)}", p.difference,
         p_value(p.p_value), p_value(p.p_adjusted))
        for p in found.pairs
    ]  # fmt: skip
    means = dict(zip(found.treatments, found.means, strict=True))
    tables = [table("Treatments", ("treatment", f"mean {name}"), means.items())]
    if rows:
        tables.append(table("Differences", ("difference", name, "p", "p (Holm)"), rows))
    fields = ("metric", "pairs", "components", "design", "assumed", "method", "notes")
    every = zip(found.treatments, found.results, strict=True)
    each = {t: zip(found.readers, map(float, x), strict=True) for t, x in every}
    return finding(
        "readers",
        {
            "means": means,
            # a nested reader has one treatment only
            "readers": {t: {r: v for r, v in x if v == v} for t, x in each.items()},
            "equality": fields_of(found, "statistic", "df1", "df2", "p_value"),
            **fields_of(found, *fields),
        },
        answer=(
            note(
                "study",
                readers=counted(len(found.readers), "reader"),
                treatments=counted(len(found.treatments), "treatment"),
                n=found.n_pos + found.n_neg,
                pos=found.n_pos,
                **fields_of(found, "design", "assumed"),
            ),
        ),
        notes=(
            *(line for p in found.pairs for line in _pair_notes(p, found.level)),
            *said(found.notes),
        ),
        tables=tuple(tables),
    )


def _pair_notes(p: Pair, level: float) -> list[Note]:
    first, second = shown(p.first), shown(p.second)
    order = (first, second) if p.difference.value >= 0 else (second, first)
    both = dict(zip(("first", "second"), order, strict=True))
    sure = p.p_adjusted < 1 - level
    lines = [note("readers better" if sure else "readers alike", **both)]
    if p.margin > 0:
        for one, other, worse in (
            (first, second, p.p_noninferior),
            (second, first, p.p_noninferior_second),
        ):
            code = "not worse" if worse < (1 - level) / 2 else "perhaps worse"
            told = {"first": one, "second": other, "margin": p.margin, "p": worse}
            lines.append(note(code, **told))
        if p.p_equivalent < 1 - level:
            told = {"margin": p.margin, "p": p.p_equivalent}
            lines.append(note("equivalent", first=first, second=second, **told))
    return lines


def rate_sentences(r: Rate, system: str = "") -> list[str]:
    """Say the raw and the corrected rate, and what the judges are worth, for a paper.

    ``system`` is whose rate it is, where there are several.
    """
    raw, several, alone = raw_rate(r), len(r.naive) > 1, r.independent
    graded = not np.isfinite(raw)  # grades are calibrated by the labels, not cut
    told: dict[str, Any] = {
        **{k: points(getattr(r, k), r.high - r.low) for k in ("value", "low", "high")},
        "raw": points(raw, r.high - r.low),
        "means": listed([f"{v:.3g} by {shown(n)}" for n, v in r.naive.items()]),
        "whose": f"{shown(system)}: the" if system else "The",
        "judges": "judges'" if several else "judge's",
        "it": "the pass rate" if graded else "it",
        "level": r.level,
        "beside": "",
    }
    if alone is not None:
        rate = points(alone.value, alone.high - alone.low)
        ends = [points(v, r.high - r.low) for v in (alone.low, alone.high)]
        beside = note("rate if independent", rate=rate, ends=" to ".join(ends))
        told["beside"] = f"; {beside}"
    codes = ["mean grade" if graded else "raw rate"]
    codes.append("corrected" if r.identified else "not corrected")
    if several and np.isfinite(r.effective_judges.value):
        worth = f"{r.effective_judges.value:.1f}"
        told |= {"n": spelt(len(r.naive)), "worth": worth}
        codes.append("worth one" if worth == "1.0" else "worth")
    return [str(note(code, **told)) for code in codes]


def difference_sentences(c: RateComparison) -> list[str]:
    """Say which systems differ, the clearest differences first."""
    if not c.identified:
        return [str(note("no better system"))]
    order, level = (
        np.argsort(c.adjusted_p_value, kind="stable"),
        next(iter(c.rates.values())).level,
    )
    many = ", adjusted for all pairs" if len(c.first) > 1 else ""
    lines = []
    for k in order[:MOST_PAIRS]:
        names = [shown(str(c.first[k])), shown(str(c.second[k]))]
        ends = np.array([c.difference[k], c.low[k], c.high[k]])
        if ends[0] < 0:
            names, ends = names[::-1], -ends[[0, 2, 1]]
        said_ends = [points(float(v), float(ends[2] - ends[1])) for v in ends]
        p = float(c.adjusted_p_value[k])
        told = dict(zip(_PAIR, (*names, *said_ends, level, p, many), strict=True))
        code = "system better" if p < 1 - level else "systems alike"
        lines.append(str(note(code, **told)))
    left = order.size - MOST_PAIRS
    return [*lines, *map(str, when(left > 0, "other pairs", n=counted(left, "pair")))]
