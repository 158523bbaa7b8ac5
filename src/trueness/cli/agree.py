"""How far do raters agree?"""

from __future__ import annotations

from typing import Annotated

import typer

from trueness._core.checks.options import choice
from trueness._core.progress import progress
from trueness.cli import _shell as shell
from trueness.cli import options
from trueness.cli._columns import count_panel
from trueness.cli._file_data import ColumnRule, open_data
from trueness.data.column_roles import ratings_among
from trueness.evals.raters import DISTANCES, METHODS
from trueness.findings.verdict_tables import how_raters_agree

RATINGS = ColumnRule("rater", ratings_among, least=2, needs_label=False)


def agree_command(
    file: options.File,
    rater: Annotated[
        list[str] | None,
        options.column(
            "--rater",
            help="Column with the ratings of a rater; repeat it for each.",
            panel=options.DATA,
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option("--method", metavar="NAME", help=f"One of {', '.join(METHODS)}."),
    ] = "gwet",
    weights: Annotated[
        str | None,
        typer.Option(
            "--weights",
            metavar="NAME",
            help="Weights of Cohen's kappa for ordered categories: linear or "
            "quadratic.",
        ),
    ] = None,
    count: options.Count = None,
    cluster: options.Cluster = None,
    level: options.Level = 0.95,
    json: options.Json = False,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> shell.CommandAnswer:
    r"""How far do raters agree? Kappa (Cohen, weighted, Fleiss, Conger), AC1, alpha.

    Ratings are numbers, such as 0 and 1 or 1 to 5.

    Example:
    trueness agree sample:hiv --rater V1 --rater V2 --count count \
        --method cohen
    """
    choice(method, METHODS, "--method")

    if weights is not None:
        choice(weights, DISTANCES, "--weights")

    data = open_data(
        RATINGS,
        file=file,
        label=None,
        columns=rater or (),
        count=count,
        cluster=cluster,
        level=level,
    )

    with progress("Counting", unit=""):
        panel = count_panel(data)

    finding = how_raters_agree(panel, method=method, weights=weights, level=level)
    return shell.command_answer(finding, about=shell.about(data, panel))
