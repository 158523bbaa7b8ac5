"""Would they be better together?"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import trueness
from trueness._core.checks.options import choice
from trueness._core.progress import progress
from trueness.cli._columns import Request, count_panel
from trueness.cli._command import TWO_SCORES, command
from trueness.cli._options import Rows, Save, option
from trueness.cli._outputs import check_rows, save_fitted, write_rows
from trueness.cli._shell import CommandAnswer, about, answered, each_group
from trueness.counts.values import Panel
from trueness.ensembles.combiners import COMBINERS
from trueness.ensembles.crossfit import compare_combiners
from trueness.findings.subject import subject
from trueness.findings.which_is_better import better_together, in_each_group


@command(TWO_SCORES, cannot="compare_combiners")
def combine(
    request: Request,
    method: Annotated[
        str | None,
        option(f"--method: One of {', '.join(COMBINERS)}; by default the best one."),
    ] = None,
    output: Rows = None,
    column: str = "combined",
    save: Save = None,
) -> CommandAnswer:
    """Would they be better together? Compares ways to combine scores, applies one.

    --column: Name of the new column.

    Example: trueness combine sample:west_nile --label virus --score boosting \
--score logistic --score forest -o combined.parquet
    """
    if method is not None:
        choice(method, list(COMBINERS), "--method")
    check_rows(output, request.source, column)
    by = request.chosen.by
    asked: dict[str, Any] = {"level": request.level, "rng": request.seed}
    asked["combiner"] = method or ""
    with progress("Counting", unit=""):
        panel = count_panel(request)
        groups = count_panel(request, by=True) if by else {}
    with progress("Combining", unit=""):
        found = better_together(subject(panel, **asked))
        chosen = found.numbers["method"]
        fitted = COMBINERS[chosen](panel)
        parts = each_group(groups, lambda p: better_together(subject(p, **asked)))
    save_fitted(fitted, save)
    write_rows(request.source, column, lambda t: _score(fitted, t, panel), output)
    return answered(
        "combine",
        in_each_group(found, parts, str(by)),
        chart=lambda: trueness.plots.combiners(
            compare_combiners(panel, level=request.level, rng=request.seed)
        ),
        about=about(request, panel),
        column=column,
    )


def _score(fitted: Any, rows: Any, panel: Panel) -> Any:
    columns = [rows[n].to_numpy(zero_copy_only=False) for n in panel.names]
    return fitted(np.column_stack(columns).astype(np.float64))
