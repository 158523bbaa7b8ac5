"""Which is better, is it better everywhere, and would they be better together?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import trueness
from trueness._core.checks.options import choice
from trueness._core.progress import progress
from trueness.cli._columns import Request, count_panel
from trueness.cli._command import TWO_SCORES, command
from trueness.cli._outputs import check_rows, save_fitted, write_rows
from trueness.cli._shell import CommandAnswer, about, answered, each_group
from trueness.counts.values import Panel
from trueness.ensembles.combiners import COMBINERS
from trueness.findings.records import Finding
from trueness.findings.subject import subject
from trueness.findings.which_is_better import (
    better_together,
    in_each_group,
    which_is_better,
)


def _asked(request: Request, ask: Any, **more: Any) -> tuple[Panel, Finding]:
    """Count the scores together, and ask of all cases and of each group."""
    by = request.chosen.by
    words = {"level": request.level, "rng": request.seed, **more}
    with progress("Counting", unit=""):
        panel = count_panel(request)
        groups = count_panel(request, by=True) if by else {}
    with progress("Comparing", unit=""):
        found = ask(subject(panel, **words, cluster=request.chosen.cluster or ""))
        parts = each_group(groups, lambda part: ask(subject(part, **words)))
    return panel, in_each_group(found, parts, str(by))


@command(TWO_SCORES)
def compare(request: Request) -> CommandAnswer:
    """Which score is better, and is it better everywhere? Paired tests, dominance.

    Example: trueness compare sample:west_nile --label virus --score boosting \
--score logistic
    """
    panel, found = _asked(request, which_is_better)
    return answered(
        "compare",
        found,
        chart=lambda: trueness.plots.roc(panel),
        about=about(request, panel),
    )


@command(TWO_SCORES, cannot="compare_combiners", methods=COMBINERS)
def combine(
    request: Request,
    method: str | None = None,
    output: Path | None = None,
    column: str = "combined",
    save: Path | None = None,
) -> CommandAnswer:
    """Would they be better together? Compares ways to combine scores, applies one.

    --method NAME: One of {methods}; by default the best one.

    Example: trueness combine sample:west_nile --label virus --score boosting \
--score logistic --score forest -o combined.parquet
    """
    if method is not None:
        choice(method, list(COMBINERS), "--method")
    check_rows(output, request.source, column)
    panel, found = _asked(request, better_together, combiner=method or "")
    fitted = COMBINERS[found.numbers["method"]](panel)
    save_fitted(fitted, save)
    write_rows(request.source, column, lambda t: _score(fitted, t, panel), output)
    sure = {"level": request.level, "rng": request.seed}
    return answered(
        "combine",
        found,
        chart=lambda: trueness.plots.combiners(
            trueness.compare_combiners(panel, **sure)
        ),
        about=about(request, panel),
        column=column,
    )


def _score(fitted: Any, rows: Any, panel: Panel) -> Any:
    columns = [rows[n].to_numpy(zero_copy_only=False) for n in panel.names]
    return fitted(np.column_stack(columns).astype(np.float64))
