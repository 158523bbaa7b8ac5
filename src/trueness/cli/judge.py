"""How good are tests and judges, and how common is what they look for?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import trueness
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.checks.options import choice
from trueness._core.progress import progress
from trueness.cli import _shell as shell
from trueness.cli import _verdicts as verdicts
from trueness.cli._columns import Request, count_panel, votes_among, with_verdicts
from trueness.cli._command import Columns, File, command
from trueness.cli._source import Source, unnamed
from trueness.counts.values import Panel
from trueness.findings.without_labels import ALL, how_good_tests, judged, pass_rates
from trueness.nogold.combinations.best import best_combination
from trueness.nogold.fitting import latent_class
from trueness.nogold.label_plans import plan_labels
from trueness.nogold.rate import Rate, prevalence
from trueness.nogold.rate_comparison import RateComparison, compare_prevalence
from trueness.nogold.truth_given_votes import LABELLED

_NUMBER = "trueness_item"


def guess_votes(source: Source, taken: set[str | None]) -> tuple[str, ...]:
    """Take every other column when all of them hold 0 and 1 only."""
    found = votes_among(source, taken)
    if len(found) >= 2:
        return found
    raise unnamed("Which columns hold the verdicts?", source, "--vote NAME for each")


VOTES = Columns("vote", guess_votes, least=2, needs_label=False)


@command(VOTES, without=("unlabelled",), cannot="latent_class")
def nogold(
    request: Request,
    yes: str | None = None,
    criterion: str = "product",
    dependence: str = "shared",
    labelled: str = "random",
    draws: int = 10_000,
) -> shell.CommandAnswer:
    """How good is each test, and how common is the condition, if the truth is unknown?

    --criterion: Criterion of the best combination: product, squares, sum or min of
        sensitivity and specificity, or a metric such as "cost(fp=1, fn=5)".
    --dependence: May tests make the same errors ("shared")? Then verdicts alone give
        wide intervals. "none" takes for granted that they do not.
    --labelled HOW: If some cases have a label, how they were chosen: random or "by
        verdict". Labels then answer, with the same rate as trueness judge.
    --draws: Effective number of posterior draws.

    Example: trueness nogold sample:hiv --vote V1 --vote V2 --vote V3 --vote V4 \
--count count
    """
    with progress("Counting", unit=""):
        request = with_verdicts(request, yes)
        panel = count_panel(request)
        populations = count_panel(request, by=True) if request.chosen.by else {}
    data = {str(g): p for g, p in populations.items()} or panel
    words = {"draws": draws, "dependence": dependence, "labelled": labelled}
    with progress("Without a gold standard", 2, "questions") as one_more:
        found = latent_class(data, rng=request.seed, level=request.level, **words)
        one_more(1)
        best = best_combination(found, criterion=criterion)
        one_more(1)
    return shell.answered(
        "nogold",
        how_good_tests(panel, found, best, str(request.chosen.by)),
        chart=lambda: trueness.plots.posterior_densities(found),
        about=shell.about(request, panel),
    )


@command(cannot="prevalence")
def judge(
    file: File,
    judge: list[str] | None = None,
    label: str | None = None,
    labelled: str | None = None,
    system: str | None = None,
    item: str | None = None,
    cluster: str | None = None,
    verdict: str | None = None,
    yes: str | None = None,
    abstain: list[str] | None = None,
    labels: str | None = None,
    next: int = 0,
    width: float | None = None,
    output: Path | None = None,
    positive: str | None = None,
    count: str | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> shell.CommandAnswer:
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
    if labelled is not None:
        choice(labelled, LABELLED, "--labelled")
    with progress("Reading", unit=""):
        source, of_log = verdicts.open_verdicts(file)
        cluster = cluster or verdicts.repeats_in_log(source, of_log)
        source, named, item, system = verdicts.as_wide(
            source, of_log, judge, verdict, item, system, label, labels
        )
        request = verdicts.request_of(
            source, named, label, positive or yes, count, system, level, seed, cluster
        )
        request = with_verdicts(
            request, verdicts.for_verdicts(request, yes), abstain or ()
        )
        panel = count_panel(request)
        systems = count_panel(request, by=True) if request.chosen.by else {}
    panels = {str(s): p for s, p in systems.items()} or {ALL: panel}
    with progress("Estimating the pass rate", unit=""):
        rates = rates_of(panels, labelled, level, seed)
        compared = compared_of(request, panels, rates, item, labelled)
        plans = {s: _plan(panels[s], r, next, width) for s, r in rates.items()}
    words: Any = {"source": source.name, "command": shell.command_line()}
    if output is not None:
        shell.write_report(judged(rates, panels, compared, **words), output)
    return shell.answered(
        "judge",
        pass_rates(rates, compared, plans),
        chart=lambda: (
            trueness.plots.judge_rates(rates)
            if len(rates) > 1
            else trueness.plots.judge_plane(*rates.values())
        ),
        about=shell.about(request, panel),
    )


def rates_of(
    panels: Mapping[str, Panel], labelled: str | None, level: float, seed: int
) -> dict[str, Rate]:
    """What is the true rate of each system that has enough labels or judges?"""

    def rate(p: Panel) -> Rate:
        return prevalence(p, labelled=labelled, level=level, rng=seed)

    if len(panels) == 1:
        return {s: rate(p) for s, p in panels.items()}
    found = {s: r for s, r in shell.each_group(panels, rate).items() if r is not None}
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
        rows = verdicts.numbered(request.rows, item, _NUMBER)
        numbers = count_panel(replace(request, rows=rows, chosen=columns), by=True)
        wanted = {str(s): p for s, p in numbers.items() if str(s) in wanted}
        asked["item"] = _NUMBER
    found: RateComparison = compare_prevalence(wanted, **asked)
    return found


def _paired(request: Request, item: str) -> bool:
    """Does each item occur once in a system, with labels in all of them?"""
    chosen = request.chosen
    # repeats of an item are no pairs
    if chosen.label is None or chosen.count is not None or chosen.cluster is not None:
        return False
    if verdicts.first_twice(request.source, (item, str(chosen.by))) is not None:
        shell.say(
            f"Some items of column {item!r} occur several times in a system, so the "
            f"systems are not compared item by item."
        )
        return False
    return True


def _plan(panel: Panel, r: Rate, next: int, width: float | None) -> dict[str, Any]:
    """Plan more labels, where that was asked."""
    plan: dict[str, Any] = {"next": r.label_next(next)} if next else {}
    if width is not None:
        held = panel.without_clusters()
        plan["needed"] = plan_labels(held, width=width, level=r.level)
    return plan
