"""Which system or treatment is better? Attempts, readers, and what judges say."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from trueness._core.numbers import counted, listed, p_is, p_value, points, spelt
from trueness._core.records import Estimate, as_precise, shown
from trueness.comparison.results import Pair
from trueness.evals.attempts import Attempts, pass_at_k, pass_hat_k, pass_rate
from trueness.evals.runs import Leaderboard, leaderboard, rates_figure
from trueness.findings.notes import TITLES, Note, as_notes, note, note_if
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
    board = leaderboard(runs, level=level) if len(runs) > 1 else None
    rates = _rates_of_systems(runs, board, pass_at, pass_hat, level)

    by_group: dict[str, dict[str, Any]] = {}
    rows_of_groups = []
    for group, runs_of_group in (groups or {}).items():
        by_group[group] = {}
        for system, attempts in runs_of_group.items():
            rate = pass_rate(attempts, level=level)
            by_group[group][system] = rate
            rows_of_groups.append([group, system or "all", rate])

    tables = [_rates_table(rates, board)]

    if by_group:
        tables.append(table(f"By {by}", [by, "system", "pass rate"], rows_of_groups))
    if board:
        tables.append(_differences(board))

    notes = _notes_of_rates(runs, rates, board)
    forest = rates_figure(board or next(iter(rates.values())))
    number_of_attempts = {}
    for system, attempts in runs.items():
        number_of_attempts[system] = int(attempts.tried.sum())

    return finding(
        "evals" if board is None else "systems",
        {
            "systems": rates,
            "items": {system: len(attempts) for system, attempts in runs.items()},
            "attempts": number_of_attempts,
            "groups": by_group,
            "leaderboard": None if board is None else board.columns(),
            "differences": [] if board is None else list(board.comparison.pairs),
        },
        key="evals",
        answer=(*as_notes([_counts_sentence(runs)]), _answer(rates, board, level)),
        notes=(*as_notes(notes), note("trusted")),
        tables=tuple(tables),
        figures=(Figure(forest, "Pass rates"),),
    )


def _rates_of_systems(
    runs: Runs,
    board: Leaderboard | None,
    pass_at: Sequence[int],
    pass_hat: Sequence[int],
    level: float,
) -> dict[str, dict[str, Estimate]]:
    """Return the pass rate of each system, and its pass@k and pass^k."""
    measures: dict[str, Callable[..., Any]] = {"pass rate": pass_rate}
    measures |= {f"pass@{k}": partial(pass_at_k, k=k) for k in pass_at}
    measures |= {f"pass^{k}": partial(pass_hat_k, k=k) for k in pass_hat}
    rows = {
        system: {
            name: measure(attempts, level=level) for name, measure in measures.items()
        }
        for system, attempts in runs.items()
    }

    if board:
        for system, rate in zip(board.names, board.rates, strict=True):
            rows[system]["pass rate"] = rate  # of the items that every system tried

    return rows


def _notes_of_rates(
    runs: Runs,
    rows: Mapping[str, Mapping[str, Estimate]],
    board: Leaderboard | None,
) -> list[str]:
    """Return the notes of the estimates and of the leaderboard."""
    notes = [
        text
        for rates in rows.values()
        for estimate in rates.values()
        for text in estimate.notes
    ]
    if board is None:
        return notes

    # the board says of each system how many of its attempts were left out
    unnamed = {
        text
        for attempts in runs.values()
        if attempts.missing
        for text in pass_rate(attempts).notes
    }

    return [text for text in notes if text not in unnamed] + list(board.notes)


def _counts_sentence(runs: Runs) -> str:
    """Say how many items and attempts there are, of each system where they differ."""
    attempts_of_system = {
        system: int(attempts.tried.sum()) for system, attempts in runs.items()
    }
    sizes = {
        (len(attempts), attempts_of_system[system]) for system, attempts in runs.items()
    }
    if len(sizes) > 1:
        numbers = [
            f"{shown(system)} {number:,}"
            for system, number in attempts_of_system.items()
        ]
        return f"{len(runs)} systems; attempts: {', '.join(numbers)}."

    ((number_of_items, number_of_attempts),) = sizes
    items = counted(number_of_items, "item")
    attempts_in_words = counted(number_of_attempts, "attempt")

    if len(runs) == 1:
        return f"{items} and {attempts_in_words}."
    return f"{len(runs)} systems, each with {items} and {attempts_in_words}."


def _differences(board: Leaderboard) -> Table:
    """Return the differences of the pass rates of all pairs."""
    rows = []
    for pair in board.comparison.pairs:
        difference = pair.difference
        value, low, high = as_precise(difference.value, difference.low, difference.high)
        between = f"{value} ({low} to {high})"
        rows.append([f"{pair.first} - {pair.second}", between, p_is(pair.p_adjusted)])

    return table("Differences", ["pair", "difference", "adjusted p-value"], rows)


def _rate_text(estimate: Estimate) -> str:
    """Write a rate in per cent, with as many digits as its interval allows."""
    width = estimate.high - estimate.low
    return (
        f"{points(estimate.value, width)} % ({points(estimate.low, width)} to "
        f"{points(estimate.high, width)} %)"
    )


def _answer(
    rows: Mapping[str, Mapping[str, Estimate]], board: Leaderboard | None, level: float
) -> Note:
    """Say which system passes most often, and whether that is sure."""
    if board is None:
        (rates,) = rows.values()
        return note("pass rate", rate=_rate_text(rates["pass rate"]), level=level)

    first = shown(board.names[0])
    rate = _rate_text(board.rates[0])
    if board.worst_rank[0] == 1:
        return note("first alone", first=first, rate=rate)

    tied_systems = [
        shown(name)
        for name, rate_of_system in zip(board.names, board.rates, strict=True)
        if rate_of_system.value == board.rates[0].value
    ]
    if len(tied_systems) > 1:
        return note("first tied", tied=tied_systems, rate=rate)

    # systems that share a letter are not significantly different
    letters = [set(group.split()) for group in board.groups]
    others = [
        shown(name)
        for name, letters_of_other in zip(board.names[1:], letters[1:], strict=True)
        if letters_of_other & letters[0]
    ]

    return note("first with", first=first, rate=rate, others=others)


def _rates_table(
    rows: Mapping[str, Mapping[str, Estimate]], board: Leaderboard | None
) -> Table:
    """Return the rates of each system, with its rank where there are several."""
    names = list(next(iter(rows.values())))
    if board is None:
        rows_of_systems = [
            [system or "all", *rates.values()] for system, rates in rows.items()
        ]
        return table("Pass rates", ["system", *names], rows_of_systems)

    ranked_rows = [
        [board.ranks(place), system, *rows[system].values(), board.groups[place]]
        for place, system in enumerate(board.names)
    ]

    return table("Pass rates", ["rank", "system", *names, "not different"], ranked_rows)


def evals_page(finding: Finding, source: str = "") -> Page:
    """Put the finding on a page of its own."""
    systems: Mapping[str, Mapping[str, Estimate]] = finding.numbers["systems"]
    tiles = []
    for system, rates in list(systems.items())[:6]:
        text, _, detail = _rate_text(rates["pass rate"]).partition(" (")
        name = shown(system or "pass rate")
        tiles.append(Tile(name, text, detail.removesuffix(")")))

    facts = [("systems", f"{len(systems):,}")]
    if source:
        facts.append(("file", shown(source, 120)))

    answers = ((finding.question, finding.answer),)
    return Page(TITLES["evals"], tuple(facts), tuple(tiles), answers, (finding,))


def reader_study_finding(study: ReaderStudy) -> Finding:
    """Say whether readers do better with one treatment than with another."""
    name = "AUC" if study.metric == "auc" else study.metric
    rows = [
        (
            f"{shown(pair.first, 30)} - {shown(pair.second, 30)}",
            pair.difference,
            p_value(pair.p_value),
            p_value(pair.p_adjusted),
        )
        for pair in study.pairs
    ]

    means = dict(zip(study.treatments, study.means, strict=True))
    tables = [table("Treatments", ("treatment", f"mean {name}"), means.items())]

    if rows:
        tables.append(table("Differences", ("difference", name, "p", "p (Holm)"), rows))

    fields = (
        "metric",
        "pairs",
        "components",
        "design",
        "random_effects",
        "method",
        "notes",
    )
    results = {
        treatment: {
            reader: value
            for reader, value in zip(study.readers, map(float, values), strict=True)
            if not math.isnan(value)  # a nested reader has one treatment only
        }
        for treatment, values in zip(study.treatments, study.results, strict=True)
    }

    return finding(
        "readers",
        {
            "means": means,
            "readers": results,
            "equality": fields_of(study, "statistic", "df1", "df2", "p_value"),
            **fields_of(study, *fields),
        },
        answer=(
            note(
                "study",
                readers=counted(len(study.readers), "reader"),
                treatments=counted(len(study.treatments), "treatment"),
                n=study.n_pos + study.n_neg,
                pos=study.n_pos,
                **fields_of(study, "design", "random_effects"),
            ),
        ),
        notes=(
            *(line for pair in study.pairs for line in _pair_notes(pair, study.level)),
            *as_notes(study.notes),
        ),
        tables=tuple(tables),
    )


def _pair_notes(pair: Pair, level: float) -> list[Note]:
    """Say which of two treatments is better, and whether one is not inferior."""
    first = shown(pair.first)
    second = shown(pair.second)
    better, worse = (first, second) if pair.difference.value >= 0 else (second, first)
    is_significant = pair.p_adjusted < 1 - level
    code = "readers better" if is_significant else "readers alike"
    lines = [note(code, first=better, second=worse)]

    if pair.margin > 0:
        lines.append(
            _noninferiority(first, second, pair.margin, pair.p_noninferior, level)
        )
        lines.append(
            _noninferiority(
                second, first, pair.margin, pair.p_noninferior_second, level
            )
        )
        lines += note_if(
            pair.p_equivalent < 1 - level,
            "equivalent",
            first=first,
            second=second,
            margin=pair.margin,
            p=pair.p_equivalent,
        )

    return lines


def _noninferiority(
    first: str, second: str, margin: float, p: float, level: float
) -> Note:
    """Say whether a treatment is worse than another by no more than a margin."""
    code = "not worse" if p < (1 - level) / 2 else "perhaps worse"
    return note(code, first=first, second=second, margin=margin, p=p)


def rate_sentences(rate: Rate, system: str = "") -> list[str]:
    """Return sentences on the raw and the corrected rate, and on the judges.

    ``system`` is whose rate it is, where there are several.
    """
    raw = raw_rate(rate)
    width = rate.high - rate.low
    several = len(rate.naive) > 1
    means = []
    for judge, mean in rate.naive.items():
        means.append(f"{mean:.3g} by {shown(judge)}")

    values: dict[str, Any] = {
        "value": points(rate.value, width),
        "low": points(rate.low, width),
        "high": points(rate.high, width),
        "raw": points(raw, width),
        "means": listed(means),
        "whose": f"{shown(system)}: the" if system else "The",
        "judges": "judges'" if several else "judge's",
        "it": "it",
        "level": rate.level,
        "beside": _if_independent(rate),
    }

    codes = ["raw rate"]
    if not np.isfinite(raw):
        # grades are calibrated by the labels, not cut
        codes = ["mean grade"]
        values["it"] = "the pass rate"

    codes.append("corrected" if rate.identified else "not corrected")

    if several and np.isfinite(rate.effective_judges.value):
        effective = f"{rate.effective_judges.value:.1f}"
        values |= {"n": spelt(len(rate.naive)), "worth": effective}
        codes.append("worth one" if effective == "1.0" else "worth")

    return [str(note(code, **values)) for code in codes]


def _if_independent(rate: Rate) -> str:
    """Say what the rate would be if errors were independent, where that differs."""
    if_independent = rate.independent
    if if_independent is None:
        return ""

    width = rate.high - rate.low
    low = points(if_independent.low, width)
    high = points(if_independent.high, width)
    sentence = note(
        "rate if independent",
        rate=points(if_independent.value, if_independent.high - if_independent.low),
        ends=f"{low} to {high}",
    )

    return f"; {sentence}"


def difference_sentences(comparison: RateComparison) -> list[str]:
    """Say which systems differ, the clearest differences first."""
    if not comparison.identified:
        return [str(note("no better system"))]
    clearest_first = np.argsort(comparison.p_adjusted, kind="stable")
    lines = [_difference_sentence(comparison, k) for k in clearest_first[:MOST_PAIRS]]
    pairs_left = clearest_first.size - MOST_PAIRS
    return [
        *lines,
        *map(
            str, note_if(pairs_left > 0, "other pairs", n=counted(pairs_left, "pair"))
        ),
    ]


def _difference_sentence(comparison: RateComparison, pair: int) -> str:
    """Return by how much one system passes more often, and whether that is sure."""
    level = next(iter(comparison.rates.values())).level
    better = shown(str(comparison.first[pair]))
    worse = shown(str(comparison.second[pair]))
    value = float(comparison.difference[pair])
    low = float(comparison.low[pair])
    high = float(comparison.high[pair])

    if value < 0:
        better, worse = worse, better
        value = -value
        low, high = -high, -low

    p_value = float(comparison.p_adjusted[pair])
    sentence = note(
        "system better" if p_value < 1 - level else "systems alike",
        first=better,
        second=worse,
        value=points(value, high - low),
        low=points(low, high - low),
        high=points(high, high - low),
        level=level,
        p=p_value,
        many=", adjusted for all pairs" if len(comparison.first) > 1 else "",
    )

    return str(sentence)
