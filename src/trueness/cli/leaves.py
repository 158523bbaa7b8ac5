"""Can this leaf be trusted? Confidence and utility of every leaf of a tree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

import trueness
from trueness._core.arrays import Floats
from trueness._core.checks.errors import InputError
from trueness._core.data_types import Frame
from trueness._core.progress import progress
from trueness.cli import _shell as shell
from trueness.cli import options
from trueness.cli._columns import FileData
from trueness.cli._file_data import ColumnRule, open_data, refuse_design
from trueness.cli._missing_scores import naming_rows_without_score
from trueness.cli._source import existing_column, groups_of
from trueness.data.column_roles import NODE_NAMES, not_found
from trueness.data.data_tables import DataTable
from trueness.data.engines import quoted
from trueness.findings.records import table
from trueness.findings.trust import which_leaves
from trueness.trees.leaf_maps import LeafMap
from trueness.trees.leaf_reports import LeafReport
from trueness.trees.leaves import Leaves

if TYPE_CHECKING:
    import pyarrow


def guess_node(table: DataTable, taken: set[str | None]) -> tuple[str, ...]:
    """Take the column of the leaves when there is no doubt."""
    free = [column for column in table.kinds if column not in taken]
    by_name = [column for column in free if column.lower() in NODE_NAMES]
    if len(by_name) == 1 or len(free) == 1:
        return tuple(by_name or free)
    raise not_found("Which column holds the leaves?", table, "node")


NODE = ColumnRule("node", guess_node)


def leaves_command(
    file: options.File,
    label: options.Label = None,
    node: Annotated[
        str | None,
        options.column("--node", help="Column with the leaves.", panel=options.DATA),
    ] = None,
    rule: Annotated[
        str | None,
        options.column("--rule", help="Column with the rule of each leaf, as text."),
    ] = None,
    confidence: Annotated[
        float,
        options.number(
            "--confidence",
            metavar="FRACTION",
            help="Confidence P(C) that a leaf needs to be trusted.",
        ),
    ] = 0.95,
    training_cases: Annotated[
        bool,
        typer.Option(
            "--training-cases",
            help="The tree was grown on these cases; no leaf is then called trusted.",
        ),
    ] = False,
    splits: Annotated[
        list[str] | None,
        options.column(
            "--split",
            help="Compare the leaves with another split: a column. Repeat it for "
            "several.",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="Estimator of the larger class probability: mle, emle or blend.",
        ),
    ] = "blend",
    output: options.RowsFile = None,
    column: Annotated[
        str,
        typer.Option(
            "--column",
            metavar="NAME",
            help="Name of the new column: the score of the leaf.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = "leaf_score",
    save: options.SaveFile = None,
    positive: options.Positive = None,
    count: options.Count = None,
    by: options.By = None,
    decimal: options.Decimal = None,
    missing_scores: options.MissingScores = None,
    strict: options.Strict = False,
    weight: Annotated[str | None, options.unsupported("--weight")] = None,
    cluster: Annotated[str | None, options.unsupported("--cluster")] = None,
    sampling: Annotated[str | None, options.unsupported("--sampling")] = None,
    prevalence: Annotated[str | None, options.unsupported("--prevalence")] = None,
    unlabelled: Annotated[str | None, options.unsupported("--unlabelled")] = None,
    level: options.Level = 0.95,
    json: options.Json = False,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> shell.CommandAnswer:
    """Can this leaf be trusted? Confidence and utility of every leaf of a tree.

    Example:
    trueness leaves sample:leaves --node leaf --label virus --count n
    """
    refuse_design(
        "leaves",
        "leaves",
        {
            "weight": weight,
            "cluster": cluster,
            "sampling": sampling,
            "prevalence": prevalence,
            "unlabelled": unlabelled,
        },
    )
    data = open_data(
        NODE,
        file=file,
        label=label,
        columns=[node] if node else (),
        positive=positive,
        count=count,
        by=by,
        decimal=decimal,
        missing_scores=missing_scores,
        strict=strict,
        keep_order=output is not None,
        level=level,
    )
    shell.check_rows(output, data.source, column)

    def report_on(leaves: Leaves) -> LeafReport:
        report = leaves.report(
            confidence=confidence, level=level, method=method, fresh=not training_cases
        )
        return with_rules(report, data, rule)

    with naming_rows_without_score(data), progress("Counting", unit=""):
        leaves = _count_leaves(data, data.rows)
        groups = {}
        if by is not None:
            groups = {
                group: _count_leaves(data, rows)
                for group, rows in groups_of(data.rows, by)
            }
        report = report_on(leaves)

    node_column = data.request.scores[0]

    if save is not None or output is not None:
        scores = leaves.map(method)
        shell.save_fitted(scores, save, node_column)
        if output is not None:
            _write_leaf_scores(data, scores, node_column, column, output)

    answer = shell.command_answer(
        which_leaves(report, shell.answer_each_group(groups, report_on), str(by)),
        about=shell.about(data, leaves),
        chart=lambda: trueness.plots.leaf_probabilities.figure_data(report),
    )

    if splits:
        return _with_splits(answer, data, leaves, splits, method)
    return answer


def _write_leaf_scores(
    data: FileData, scores: LeafMap, node: str, column: str, output: Path
) -> None:
    """Write all rows with the score of their leaf."""

    def score_of_leaf(rows: pyarrow.Table) -> Floats:
        return scores(np.array(rows[node].to_pylist(), dtype=object))

    shell.write_rows(data.source, column, score_of_leaf, output)


def _with_splits(
    answer: shell.CommandAnswer,
    data: FileData,
    leaves: Leaves,
    splits: list[str],
    method: str,
) -> shell.CommandAnswer:
    """Add the comparison of several splits (Zhang 2024, example 3)."""
    request = data.request
    by_name = {request.scores[0]: leaves}
    for name in splits:
        existing_column(data.source, name, "--split")
        by_name[name] = trueness.leaves(data.source.rows, node=name, **request.counting)

    comparison = trueness.compare_splits(by_name, method=method)
    columns = ("name", "leaves", "confidence", "utility", "gini")
    rows = [
        dict(zip(columns, values, strict=True))
        for values in zip(
            *(getattr(comparison, field).tolist() for field in columns), strict=True
        )
    ]
    cells = [
        (row["name"], row["leaves"], *(f"{row[k]:.4f}" for k in columns[2:]))
        for row in rows
    ]
    head = ("split", "leaves", "P(C)", "P(U)", "Gini")

    return replace(
        answer,
        result=answer.result | {"splits": rows},
        parts=[*answer.parts, table("Splits", head, cells)],
    )


def _count_leaves(data: FileData, rows: Frame) -> Leaves:
    """Count the cases of each leaf in these rows."""
    request = data.request
    return trueness.leaves(rows, node=request.scores[0], **request.counting)


def with_rules(report: LeafReport, data: FileData, rule: str | None) -> LeafReport:
    """Add the rule that the file has for each leaf, the same in all of its rows."""
    if rule is None:
        return report

    source = data.source
    existing_column(source, rule, "--rule")
    leaf_column = quoted(data.request.scores[0])
    rule_text = f"CAST({quoted(rule)} AS VARCHAR)"
    rows = source.rows.aggregate(
        f"{leaf_column}, min({rule_text}), count(DISTINCT {rule_text})", leaf_column
    ).fetchall()

    for leaf, _, distinct_rules in rows:
        if distinct_rules > 1:
            raise InputError(
                f"rule must be the same in all rows of a leaf; column {rule!r} has "
                f"{distinct_rules:,} rules for leaf {str(leaf)!r}.",
                option="rule",
            )

    rule_of_leaf = {leaf: text for leaf, text, _ in rows}
    rules = [rule_of_leaf.get(leaf) or "" for leaf in report.node.tolist()]
    return replace(report, rule=np.array(rules, dtype=object))
