"""What is the true pass rate, when the judges err?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import trueness
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.checks.options import choice, fraction
from trueness._core.numbers import counted
from trueness._core.progress import progress
from trueness._core.records import shown
from trueness.cli._columns import Request, count_panel, with_verdicts
from trueness.cli._command import command
from trueness.cli._fields import RATE, fields_of
from trueness.cli._options import Count, File, Label, Level, Positive, Seed, Yes
from trueness.cli._shell import CommandAnswer, about, each_group, say, table
from trueness.cli._verdicts import (
    as_wide,
    first_twice,
    for_verdicts,
    numbered,
    open_verdicts,
    repeats_in_log,
    request_of,
)
from trueness.cli._words import for_the_shell
from trueness.cli.report import command_line
from trueness.counts.values import Panel
from trueness.findings.judges import judged
from trueness.inference.limits import around
from trueness.nogold import sentences
from trueness.nogold.figures import raw_rate
from trueness.nogold.label_plans import plan_labels
from trueness.nogold.rate import Rate, prevalence
from trueness.nogold.rate_comparison import (
    PER_PAIR,
    RateComparison,
    compare_prevalence,
)
from trueness.nogold.truth_given_votes import LABELLED

ALL = "all"
HOW = {
    "random": "at random",
    "by verdict": "by the verdicts of the judges",
    "by truth": "by their true label",
}
_NUMBER = "trueness_item"
ALSO = (
    "trueness nogold gives the same rate from these labels, and the best combination "
    "of the judges."
)


@command(cannot="prevalence")
def judge(
    file: File,
    judge: list[str] | None = None,
    label: Label = None,
    labelled: str | None = None,
    system: str | None = None,
    item: str | None = None,
    cluster: str | None = None,
    verdict: str | None = None,
    yes: Yes = None,
    abstain: list[str] | None = None,
    labels: str | None = None,
    next: int = 0,
    width: float | None = None,
    output: Path | None = None,
    positive: Positive = None,
    count: Count = None,
    level: Level = 0.95,
    seed: Seed = 0,
) -> CommandAnswer:
    """What is the true pass rate if judges make errors? Reads tables and logs.

    --judge COLUMN: Column with the verdicts of a judge, 0 and 1 or grades; repeat it
        for each. With --verdict, the column with the names of the judges.
    --labelled HOW: How the labelled cases were chosen: random, "by verdict" or "by
        truth".
    --system COLUMN: Column with the systems to compare.
    --item COLUMN: Column with the items that were answered.
    --cluster COLUMN: Column that says which answers are repeats of one item (epochs,
        attempts); of a log it is known.
    --verdict COLUMN: Of a table with a row per verdict: its column.
    --abstain VALUE: Verdict that counts as missing, such as unsure; repeat it for
        several.
    --labels FILE: File with the labels, joined by --item.
    --next NUMBER: Number of cases to label next; answers which.
    --width SHARE: Wanted width of the interval; answers how many labels it takes.
    --output, -o FILE: Write a report with figures to this HTML file.

    Example: trueness judge sample:judges --judge skywork_gemma_27b \
--judge internlm2_20b --label human --labelled random
    """
    fraction(level, "--level")
    if labelled is not None:
        choice(labelled, LABELLED, "--labelled")
    with progress("Reading", unit=""):
        source, of_log = open_verdicts(file)
        cluster = cluster or repeats_in_log(source, of_log)
        source, named, item, system = as_wide(
            source, of_log, judge, verdict, item, system, label, labels
        )
        request = request_of(
            source, named, label, positive or yes, count, system, level, seed, cluster
        )
        request = with_verdicts(request, for_verdicts(request, yes), abstain or ())
        panel = count_panel(request)
        systems = count_panel(request, by=True) if request.chosen.by else {}
    panels = {str(s): p for s, p in systems.items()} or {ALL: panel}
    with progress("Estimating the pass rate", unit=""):
        rates = rates_of(panels, labelled, level, seed)
        compared = compared_of(request, panels, rates, item, labelled)
        plans = _plans(panels, rates, next, width)
    if output is not None:
        from trueness.report.page import write_page  # Jinja2 is loaded when needed

        page = judged(
            rates,
            {s: panels[s] for s in rates},
            compared,
            source=source.name,
            command=command_line(),
        )
        say(f"{write_page(page, output)}.")
    return CommandAnswer(
        "judge",
        judge_result(rates, compared, plans),
        judge_parts(rates, compared, plans),
        chart=lambda: _chart(rates),
        about=about(request, panel),
    )


def rates_of(
    panels: Mapping[str, Panel], labelled: str | None, level: float, seed: int
) -> dict[str, Rate]:
    """What is the true rate of each system that has enough labels or judges?"""

    def rate(p: Panel) -> Rate:
        found = prevalence(p, labelled=labelled, level=level, rng=seed)
        return replace(found, notes=tuple(map(for_the_shell, found.notes)))

    if len(panels) == 1:
        return {s: rate(p) for s, p in panels.items()}
    found = {s: r for s, r in each_group(panels, rate).items() if r is not None}
    if not found:
        raise NotEnoughCases("None of the systems has enough labels or judges.")
    return found


def compared_of(
    request: Request,
    panels: Mapping[str, Panel],
    rates: Mapping[str, Rate],
    item: str | None,
    labelled: str | None,
) -> RateComparison | None:
    """Compare the systems, item by item where the items are named."""
    wanted = {s: panels[s] for s in rates}
    if len(wanted) < 2:
        return None
    asked: dict[str, Any] = {"labelled": labelled}
    asked |= {"level": request.level, "rng": request.seed}
    if item is not None and _paired(request, item):
        columns = replace(request.chosen, scores=(*request.chosen.scores, _NUMBER))
        rows = numbered(request.rows, item, _NUMBER)
        numbers = count_panel(replace(request, rows=rows, chosen=columns), by=True)
        wanted = {str(s): p for s, p in numbers.items() if str(s) in wanted}
        asked["item"] = _NUMBER
    found = compare_prevalence(wanted, **asked)
    return replace(found, notes=tuple(map(for_the_shell, found.notes)))


def _paired(request: Request, item: str) -> bool:
    """Does each item occur once in a system, with labels in all of them?"""
    case = (item, str(request.chosen.by))
    if request.chosen.label is None or request.chosen.count is not None:
        return False
    if request.chosen.cluster is not None:  # repeats of an item are no pairs
        return False
    if first_twice(request.source, case) is not None:
        say(
            f"Some items of column {item!r} occur several times in a system, so the "
            f"systems are not compared item by item."
        )
        return False
    return True


def _plans(
    panels: Mapping[str, Panel],
    rates: Mapping[str, Rate],
    next: int,
    width: float | None,
) -> dict[str, dict[str, Any]]:
    """Plan more labels for each system, where that was asked."""
    out: dict[str, dict[str, Any]] = {}
    for s, r in rates.items():
        plan: dict[str, Any] = {}
        if next:
            plan["next"] = r.label_next(next)
        if width is not None:
            plan["needed"] = plan_labels(
                panels[s].without_clusters(), width=width, level=r.level
            )
        out[s] = plan
    return out


def _chart(rates: Mapping[str, Rate]) -> Any:
    plots = trueness.plots
    if len(rates) > 1:
        return plots.judge_rates(rates)
    return plots.judge_plane(next(iter(rates.values())))


def judge_parts(
    rates: Mapping[str, Rate],
    compared: RateComparison | None,
    plans: Mapping[str, Mapping[str, Any]],
) -> list[Any]:
    """Say what was found about judges, in sentences and tables."""
    parts: list[Any] = [_head(rates)]
    for s, r in rates.items():
        parts.append(" ".join(sentences.rate_sentences(r, "" if s == ALL else s)))
    if len(rates) > 1:
        parts.append(table([*sentences.SYSTEM_HEAD], sentences.system_rows(rates)))
    if compared is not None:
        parts += sentences.difference_sentences(compared)
    parts.append(_judges_table(rates))
    for s, plan in plans.items():
        parts += _plan_parts("" if s == ALL else f"{shown(s)}: ", plan)
    notes = sentences.rate_notes(rates, () if compared is None else compared.notes)
    if any(r.labelled in ("random", "by verdict") for r in rates.values()):
        notes.append(ALSO)
    return [*parts, *(f"Note: {n}" for n in notes)]


def _head(rates: Mapping[str, Rate]) -> str:
    first = next(iter(rates.values()))
    cases = sum(r.cases for r in rates.values())
    labels = sum(r.labels for r in rates.values())
    how = f", chosen {HOW[first.labelled]}" if labels else ""
    return (
        f"{counted(cases, 'answer')}, {counted(len(first.naive), 'judge')}; "
        f"{counted(labels, 'label')}{how}."
    )


def _judges_table(rates: Mapping[str, Rate]) -> Any:
    if len(rates) == 1:
        return table([*sentences.JUDGE_HEAD], sentences.judge_rows(*rates.values()))
    rows = [[s, *row] for s, r in rates.items() for row in sentences.judge_rows(r)]
    return table(["system", *sentences.JUDGE_HEAD], rows)


def _plan_parts(whose: str, plan: Mapping[str, Any]) -> list[Any]:
    out: list[Any] = []
    if "needed" in plan:
        n = plan["needed"]
        out.append(
            f"{whose}{n.labels:,} labels at random in all make an interval "
            f"{100 * n.width:.3g} points wide; without judges it would take "
            f"{n.without_judges:,}."
        )
    if "next" in plan:
        p = plan["next"]
        out.append(
            whose
            + sentences.label_sentence(p.width_now, p.width_then, p.labels.tolist())
        )
        rows = [[str(w), int(n)] for w, n in zip(p.pattern, p.labels, strict=True)]
        out.append(table(["verdicts in this order", "to label"], rows))
    return out


def judge_result(
    rates: Mapping[str, Rate],
    compared: RateComparison | None,
    plans: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """Give what ``--json`` says of judges."""
    return {
        "systems": {
            s: {
                "rate": around(r.value, r.low, r.high, r.level),
                "raw": raw_rate(r),
                "naive": dict(r.naive),
                "judges": dict(r.judges),
                **fields_of(r, RATE),
                "sentences": sentences.rate_sentences(r, "" if s == ALL else s),
                "next": plans[s].get("next"),
                "needed": plans[s].get("needed"),
            }
            for s, r in rates.items()
        },
        "differences": [
            fields_of(compared, PER_PAIR, row=k) for k in range(len(compared.first))
        ]
        if compared
        else [],
        "notes": list(compared.notes) if compared else [],
        "sentences": sentences.difference_sentences(compared) if compared else [],
    }
