"""Would they be better together?"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import trueness
from trueness._core.checks.options import choice
from trueness._core.progress import progress
from trueness._core.records import shown
from trueness.cli._columns import Request, count_panel
from trueness.cli._command import TWO_SCORES, command
from trueness.cli._options import Rows, Save, option
from trueness.cli._outputs import check_rows, save_fitted, write_rows
from trueness.cli._shell import CommandAnswer, about, cases_sentence, each_group, table
from trueness.counts.values import Panel
from trueness.ensembles.combiners import COMBINERS
from trueness.ensembles.crossfit import CombinerComparison, compare_combiners
from trueness.ranking.areas import auc


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
    with progress("Counting", unit=""):
        panel = count_panel(request)
        groups = count_panel(request, by=True) if request.chosen.by else {}
    with progress("Combining", unit=""):
        compared = compare_combiners(panel, level=request.level, rng=request.seed)
        method = method or compared.best()
        fitted = COMBINERS[method](panel)
        by_group = each_group(
            groups,
            lambda p: compare_combiners(p, level=request.level, rng=request.seed),
        )
    save_fitted(fitted, save)
    write_rows(request.source, column, lambda t: _score(fitted, t, panel), output)
    result = {
        "method": method,
        "column": column,
        **_numbers(compared),
        "single": {
            s: auc(panel.observed(s)[s], level=request.level) for s in panel.names
        },
        "groups": {g: c and _numbers(c) for g, c in by_group.items()},
    }
    parts = [
        cases_sentence(panel),
        *_parts(compared, method),
        *_group_table(request, by_group, method),
    ]
    return CommandAnswer(
        "combine",
        result,
        parts,
        chart=lambda: trueness.plots.combiners(compared),
        about=about(request, panel),
    )


def _numbers(compared: CombinerComparison) -> dict[str, Any]:
    return {
        "out_of_sample": {
            name: {
                "auc": compared.auc[name],
                "gain": compared.difference[name],
                "gain_over_each": compared.gain[name],
                "p_value": compared.p_value[name],
            }
            for name in compared.auc
        },
        "alone": compared.single,
        "against": compared.against,
        "folds": compared.folds,
    }


def _score(fitted: Any, rows: Any, panel: Panel) -> Any:
    columns = [rows[n].to_numpy(zero_copy_only=False) for n in panel.names]
    return fitted(np.column_stack(columns).astype(np.float64))


def _parts(compared: CombinerComparison, method: str) -> list[Any]:
    rows = [[n, v, compared.difference[n]] for n, v in compared.auc.items()]
    rows += [[f"{shown(n)} alone", v, ""] for n, v in compared.single.items()]
    return [
        table(["combiner", "AUC", f"gain over {shown(compared.against)}"], rows),
        f"AUC on cases that were not used for fitting ({compared.folds} folds).",
        compared.sentence(method),
    ]


def _group_table(
    request: Request, groups: dict[str, CombinerComparison | None], method: str
) -> list[Any]:
    rows = [[g, c.auc[method], c.difference[method]] for g, c in groups.items() if c]
    if not rows:
        return []
    head = [str(request.chosen.by), f"AUC of {method}", "gain"]
    return [f"{method}, fitted and evaluated in each group:", table(head, rows)]
