"""Would they be better together?"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from trueness._core.checks.options import choice
from trueness._core.doors import door
from trueness._core.progress import progress
from trueness._core.records import shown
from trueness.cli._command import TWO_SCORES, command
from trueness.cli._options import Rows, Save
from trueness.cli._outputs import check_rows, save_fitted, write_rows
from trueness.cli._shell import Answer, about, cases_sentence, each_group, table
from trueness.cli._source import Ask, count_panel
from trueness.counts.values import Panel
from trueness.ensembles.combiners import COMBINERS
from trueness.ensembles.crossfit import CombinerComparison, compare_combiners
from trueness.ranking.auc_intervals import auc


@command(TWO_SCORES)
def combine(
    ask: Ask,
    method: Annotated[
        str | None,
        typer.Option(help=f"One of {', '.join(COMBINERS)}; default: the best one."),
    ] = None,
    output: Rows = None,
    column: Annotated[str, typer.Option(help="Name of the new column.")] = "combined",
    save: Save = None,
) -> Answer:
    """Would they be better together? Compares ways to combine scores, applies one.

    Example: trueness combine sample:west_nile --label virus --score boosting \
--score logistic --score forest -o combined.parquet
    """
    if method is not None:
        choice(method, list(COMBINERS), "--method")
    check_rows(output, ask.source, column)
    with progress("Counting", unit=""):
        panel = count_panel(ask)
        groups = count_panel(ask, by=True) if ask.chosen.by else {}
    with progress("Combining", unit=""):
        compared = compare_combiners(panel, level=ask.level, rng=ask.seed)
        method = method or _best(compared)
        fitted = COMBINERS[method](panel)
        by_group = each_group(
            groups, lambda p: compare_combiners(p, level=ask.level, rng=ask.seed)
        )
    save_fitted(fitted, save)
    write_rows(ask.source, column, lambda t: _score(fitted, t, panel), output)
    result = {
        "method": method,
        "column": column,
        **_numbers(compared),
        "single": {s: auc(panel.observed(s)[s], level=ask.level) for s in panel.names},
        "groups": {g: c and _numbers(c) for g, c in by_group.items()},
    }
    parts = [
        cases_sentence(panel),
        *_parts(compared, method),
        *_group_table(ask, by_group, method),
    ]
    return Answer(
        "combine",
        result,
        parts,
        chart=lambda: door("plots").combiners(compared),
        about=about(ask, panel),
    )


def _numbers(compared: CombinerComparison) -> dict[str, Any]:
    return {
        "out_of_sample": {
            name: {"auc": compared.auc[name], "gain": compared.difference[name]}
            for name in compared.auc
        },
        "against": compared.against,
        "folds": compared.folds,
    }


def _best(compared: CombinerComparison) -> str:
    return max(compared.auc, key=lambda name: compared.auc[name].value)


def _score(fitted: Any, rows: Any, panel: Panel) -> Any:
    columns = [rows[n].to_numpy(zero_copy_only=False) for n in panel.names]
    return fitted(np.column_stack(columns).astype(np.float64))


def _parts(compared: CombinerComparison, method: str) -> list[Any]:
    rows = [[n, v, compared.difference[n]] for n, v in compared.auc.items()]
    return [
        table(["combiner", "AUC", f"gain over {shown(compared.against)}"], rows),
        f"AUC of cases that the combiner was not fitted on, {compared.folds} folds.",
        _verdict(compared, method),
    ]


def _verdict(compared: CombinerComparison, method: str) -> str:
    gain = compared.difference[method]
    if method == compared.against:
        return "Nothing beats the best single score; use that."
    if gain.low > 0:
        return f"{method} beats the best single score, beyond chance."
    if gain.high < 0:
        return f"{method} is worse than the best single score."
    return f"{method} and the best single score cannot be told apart."


def _group_table(
    ask: Ask, groups: dict[str, CombinerComparison | None], method: str
) -> list[Any]:
    rows = [[g, c.auc[method], c.difference[method]] for g, c in groups.items() if c]
    if not rows:
        return []
    head = [str(ask.chosen.by), f"AUC of {method}", "gain"]
    return [f"{method}, fitted and judged in each group:", table(head, rows)]
