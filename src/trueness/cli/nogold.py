"""How good is each test, and how common is the condition, if the truth is unknown?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

import trueness
from trueness._core.progress import progress
from trueness.cli import _shell as shell
from trueness.cli import options
from trueness.cli._columns import FileData, count_panel, with_verdicts
from trueness.cli._file_data import ColumnRule, open_data, refuse_design
from trueness.cli._missing_scores import naming_rows_without_score
from trueness.cli.judge import guess_votes
from trueness.findings.without_labels import how_good_tests
from trueness.nogold.combinations import best_combination
from trueness.nogold.fitting import latent_class

VOTES = ColumnRule("vote", guess_votes, least=2, needs_label=False)


def nogold_command(
    file: options.File,
    label: options.Label = None,
    vote: options.Votes = None,
    yes: options.Yes = None,
    criterion: Annotated[
        str,
        typer.Option(
            "--criterion",
            metavar="NAME",
            help="Criterion of the best combination: product, squares, sum or min of "
            'sensitivity and specificity, or a metric such as "cost(fp=1, fn=5)".',
        ),
    ] = "product",
    dependence: Annotated[
        str,
        typer.Option(
            "--dependence",
            metavar="HOW",
            help='May tests make the same errors ("shared")? Then verdicts alone give '
            'wide intervals. "none" assumes that they do not.',
        ),
    ] = "shared",
    labelled: Annotated[
        str,
        typer.Option(
            "--labelled",
            metavar="HOW",
            help="If some cases have a label, how they were chosen: random or "
            '"by verdict". Labels then answer, with the same rate as trueness judge.',
        ),
    ] = "random",
    draws: Annotated[
        int,
        typer.Option(
            "--draws",
            metavar="NUMBER",
            help="Effective number of posterior draws.",
        ),
    ] = 10_000,
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
    level: options.Level = 0.95,
    seed: options.Seed = 0,
    json: options.Json = False,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> shell.CommandAnswer:
    r"""How good is each test, and how common is the condition, if the truth is unknown?

    Example:
    trueness nogold sample:hiv --vote V1 --vote V2 --vote V3 --vote V4 \
        --count count
    """
    refuse_design(
        "nogold",
        "latent_class",
        weight=weight,
        cluster=cluster,
        sampling=sampling,
        prevalence=prevalence,
    )
    data = open_data(
        VOTES,
        file=file,
        label=label,
        columns=vote or (),
        positive=positive,
        count=count,
        by=by,
        decimal=decimal,
        missing_scores=missing_scores,
        strict=strict,
        level=level,
        seed=seed,
    )
    with naming_rows_without_score(data):
        return _without_truth(
            with_verdicts(data, yes), criterion, dependence, labelled, draws
        )


def _without_truth(
    data: FileData, criterion: str, dependence: str, labelled: str, draws: int
) -> shell.CommandAnswer:
    """Estimate the tests from their verdicts, and find their best combination."""
    by = data.request.by
    with progress("Counting", unit=""):
        panel = count_panel(data)
        populations = count_panel(data, by=True) if by else {}
    by_population = {str(name): part for name, part in populations.items()}
    votes: Any = by_population or panel

    with progress("Without a gold standard", 2, "questions") as one_more:
        posterior = latent_class(
            votes,
            draws=draws,
            dependence=dependence,
            labelled=labelled,
            level=data.request.level,
            rng=data.request.rng,
        )
        one_more(1)
        best = best_combination(posterior, criterion=criterion)
        one_more(1)
    return shell.answered(
        how_good_tests(panel, posterior, best, str(by)),
        about=shell.about(data, panel),
        chart=lambda: trueness.plots.posterior_densities.figure_data(posterior),
    )
