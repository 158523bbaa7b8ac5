"""How good is each test, and how common is the condition, without a gold standard?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import trueness
from trueness._core.arrays import Floats
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness._core.progress import progress
from trueness.cli import _shell as shell
from trueness.cli import options
from trueness.cli._columns import (
    FileData,
    count_panel,
    read_number,
    with_verdicts,
)
from trueness.cli._file_data import ColumnRule, open_data, refuse_design
from trueness.cli._missing_scores import naming_rows_without_score
from trueness.cli.judge import guess_votes
from trueness.counts.values import Panel
from trueness.data.column_roles import several_scores
from trueness.data.engines import quoted
from trueness.findings.records import table
from trueness.findings.without_labels import how_good_tests
from trueness.nogold.combination_tables import all_combinations
from trueness.nogold.combinations import best_combination
from trueness.nogold.fitting import latent_class
from trueness.nogold.formulas import formula
from trueness.nogold.posterior import LatentPosterior

if TYPE_CHECKING:
    import pyarrow

COMBINATION_COLUMNS = (
    "number",
    "formula",
    "sensitivity",
    "sensitivity_sd",
    "specificity",
    "specificity_sd",
    "product",
    "squares",
    "sum",
    "min",
)
# combinations that a table shows: all of two tests, else the best by the product
MAX_COMBINATIONS_SHOWN = 16

VOTES = ColumnRule("vote", guess_votes, least=2, needs_label=False)
SCORED_VOTES = ColumnRule("score", several_scores, least=2, needs_label=False)


def nogold_command(
    file: options.File,
    label: options.Label = None,
    vote: options.Votes = None,
    yes: options.Yes = None,
    score: options.Scores = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--at",
            metavar="SCORE",
            help="Threshold from which a score is a positive verdict: 0.5 for all "
            "scores, or NAME=0.5 for each.",
            rich_help_panel=options.DATA,
        ),
    ] = None,
    criterion: Annotated[
        str,
        typer.Option(
            "--criterion",
            metavar="NAME",
            help="Criterion for the best combination: product, squares, sum or min "
            'of sensitivity and specificity, or a metric such as "cost(fp=1, '
            'fn=5)".',
        ),
    ] = "product",
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help='Choose the combination that is best on average ("expected"), or in '
            'most draws ("most often", Keith et al. 2012).',
        ),
    ] = "expected",
    combinations: Annotated[
        bool,
        typer.Option(
            "--combinations",
            help="Show every logical combination of up to four tests.",
        ),
    ] = False,
    prior: Annotated[
        list[str] | None,
        typer.Option(
            "--prior",
            metavar="NAME=A,B",
            help="Beta prior: prevalence=2,8 or sensitivity.TEST=9,1. Repeat it for "
            "several.",
        ),
    ] = None,
    output: options.RowsFile = None,
    column: Annotated[
        str,
        typer.Option(
            "--column",
            metavar="NAME",
            help="Name of the new column: the post-test probability.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = "post_test",
    dependence: Annotated[
        str,
        typer.Option(
            "--dependence",
            metavar="HOW",
            help='May tests make the same errors? "shared" allows it, with wide '
            'credible intervals; "none" assumes independent errors given the '
            "truth.",
        ),
    ] = "shared",
    labelled: Annotated[
        str,
        typer.Option(
            "--labelled",
            metavar="HOW",
            help='If some cases have a label, how they were chosen: random or "by '
            'verdict". The labels then determine the rate, as in trueness judge.',
        ),
    ] = "random",
    draws: Annotated[
        int,
        typer.Option(
            "--draws",
            metavar="NUMBER",
            help="Effective sample size of the posterior draws.",
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
    r"""How good is each test, and how common is the condition, without a gold standard?

    Tests are columns of verdicts (--vote), or scores with a threshold each: --score a
    --score b --score c --at 0.5.

    Example:
    trueness nogold sample:hiv --vote V1 --vote V2 --vote V3 --vote V4 \
        --count count
    """
    refuse_design(
        "nogold",
        "latent_class",
        {
            "weight": weight,
            "cluster": cluster,
            "sampling": sampling,
            "prevalence": prevalence,
        },
    )
    thresholds = _read_thresholds(vote or [], score or [], at or [])
    data = open_data(
        SCORED_VOTES if thresholds else VOTES,
        file=file,
        label=label,
        columns=tuple(thresholds) or vote or (),
        positive=positive,
        count=count,
        by=by,
        decimal=decimal,
        missing_scores=missing_scores,
        strict=strict,
        keep_order=output is not None,
        level=level,
        seed=seed,
    )
    shell.check_rows(output, data.source, column)

    with naming_rows_without_score(data):
        if thresholds:
            data = _cut_scores(data, thresholds)
        else:
            data = with_verdicts(data, yes)

        posterior, answer = _fit_latent_classes(
            data,
            criterion=criterion,
            method=method,
            prior=read_priors(prior or []),
            dependence=dependence,
            labelled=labelled,
            draws=draws,
        )

    if combinations:
        answer = _with_combinations(answer, posterior)
    if output is not None:
        _write_post_test(data, posterior, column, output)

    return answer


def read_priors(texts: list[str]) -> dict[str, Any] | None:
    """Read Beta distributions: prevalence=2,8, or sensitivity.TEST=9,1.

    >>> read_priors(["prevalence=2,8", "sensitivity.A=9,1"])
    {'prevalence': (2.0, 8.0), 'sensitivity': {'A': (9.0, 1.0)}}
    """
    priors: dict[str, Any] = {}
    for text in texts:
        name, _, numbers = text.rpartition("=")
        parameter, _, test = name.partition(".")

        try:
            first, second = (float(number) for number in numbers.split(","))
        except ValueError:
            raise InputError(
                "A prior needs a parameter and the two numbers of a Beta "
                f"distribution; found {text!r}.",
                option="prior",
                example="prevalence=2,8",
            ) from None

        if test:
            priors.setdefault(parameter, {})[test] = (first, second)
        else:
            priors[parameter] = (first, second)

    return priors or None


def _read_thresholds(
    vote: list[str], score: list[str], at: list[str]
) -> dict[str, float]:
    """Return the threshold of each score; none where verdicts are named.

    ``at`` holds "score=0.5" for one score, and "0.5" for all others.
    """
    if not score and not at:
        return {}

    if vote or not score:
        raise InputError(
            "Thresholds are for scores, and verdicts have none. Name the scores, or "
            "leave the thresholds out.",
            option="score",
        )

    common = []
    text_of_score = {}
    for text in at:
        name, _, number = text.rpartition("=")
        if name:
            text_of_score[name] = number
        if "=" not in text:
            common.append(text)

    unknown = sorted({*text_of_score} - {*score})
    without_own = [name for name in score if name not in text_of_score]
    lacks_threshold = bool(without_own) and not common
    if len(common) > 1 or unknown or lacks_threshold:
        names_in_question = unknown or without_own or common
        raise InputError(
            "Each score needs one threshold from which it is a positive verdict; look "
            f"at {listing(names_in_question)}.",
            option="at",
            example=f"{score[0]}=0.5",
        )

    thresholds = {}
    for name in score:
        text = text_of_score[name] if name in text_of_score else common[0]
        thresholds[name] = _read_threshold(text)

    return thresholds


def _read_threshold(text: str) -> float:
    """Read the threshold of a score."""
    try:
        return read_number(text)
    except ValueError:
        raise InputError(
            f"A threshold must be a number; found {text!r}.", option="at", example="0.5"
        ) from None


def _cut_scores(data: FileData, thresholds: dict[str, float]) -> FileData:
    """Make verdicts of scores: 1 from the threshold on, 0 below it, none if missing."""
    text = [name for name in thresholds if data.source.types[name] == "VARCHAR"]
    if text:
        raise InputError(
            f"A threshold needs numbers, and column {text[0]!r} holds text.",
            option="score",
        )

    other_columns = [
        quoted(column) for column in data.rows.columns if column not in thresholds
    ]
    verdicts = []
    for name, threshold in thresholds.items():
        number = f"CAST({quoted(name)} AS DOUBLE)"
        # DuckDB takes NaN for the largest number, and here it is no score
        verdict = f"CASE WHEN NOT isnan({number}) THEN CAST({number} >= {threshold!r} "
        verdicts.append(f"{verdict} AS INTEGER) END AS {quoted(name)}")

    return replace(data, rows=data.rows.project(", ".join(other_columns + verdicts)))


def _with_combinations(
    answer: shell.CommandAnswer, posterior: LatentPosterior
) -> shell.CommandAnswer:
    """Add every logical combination, as in Tables 2 to 4 of Keith et al. (2012)."""
    rates = all_combinations(posterior)
    rows = [
        dict(zip(COMBINATION_COLUMNS, values, strict=True))
        for values in zip(
            *(getattr(rates, name).tolist() for name in COMBINATION_COLUMNS),
            strict=True,
        )
    ]
    # the paper's numbers for up to three tests; of more, the best by the product
    rows_shown = rows

    if len(rows) > MAX_COMBINATIONS_SHOWN:
        rows_shown = sorted(rows, key=lambda row: -row["product"])[
            :MAX_COMBINATIONS_SHOWN
        ]

    head = ("number", "combination", "sensitivity", "SD", "specificity", "SD")
    cells = [
        (
            row["number"],
            row["formula"] or _formula_of(posterior, row["number"]),
            *(f"{row[name]:.3f}" for name in COMBINATION_COLUMNS[2:6]),
        )
        for row in rows_shown
    ]

    return replace(
        answer,
        result=answer.result | {"combinations": rows},
        parts=[*answer.parts, table("Combinations", head, cells)],
    )


def _formula_of(posterior: LatentPosterior, number: int) -> str:
    """Write a combination of the paper's number in words."""
    patterns = range(2 ** len(posterior.names))
    flagged = [j for j in patterns if number - 1 >> j & 1]
    return formula(flagged, posterior.names)


def _write_post_test(
    data: FileData, posterior: LatentPosterior, column: str, output: Path
) -> None:
    """Write all rows with the probability of the condition, given their verdicts."""
    names = data.request.scores
    verdicts = data.rows.select(", ".join(map(quoted, names))).to_arrow_table()

    def post_test(_: pyarrow.Table) -> Floats:
        votes = [
            verdicts[name].to_numpy(zero_copy_only=False).astype(np.float64)
            for name in names
        ]
        return posterior.probability(np.column_stack(votes))

    shell.write_rows(data.source, column, post_test, output)


def _fit_latent_classes(
    data: FileData,
    *,
    criterion: str,
    method: str,
    prior: dict[str, Any] | None,
    dependence: str,
    labelled: str,
    draws: int,
) -> tuple[LatentPosterior, shell.CommandAnswer]:
    """Estimate the tests from their verdicts, and find their best combination."""
    by = data.request.by
    with progress("Counting", unit=""):
        panel = count_panel(data)
        populations = count_panel(data, by=True) if by else {}

    by_population = {
        str(name): panel_of_population
        for name, panel_of_population in populations.items()
    }
    votes: Panel | Mapping[str, Panel] = by_population or panel

    with progress("Without a gold standard", 2, "questions") as one_more:
        posterior = latent_class(
            votes,
            prior=prior,
            draws=draws,
            dependence=dependence,
            labelled=labelled,
            level=data.request.level,
            rng=data.request.rng,
        )
        one_more(1)
        best = best_combination(posterior, criterion=criterion, method=method)
        one_more(1)

    answer = shell.command_answer(
        how_good_tests(panel, posterior, best, str(by)),
        about=shell.about(data, panel),
        chart=lambda: trueness.plots.posterior_densities.figure_data(posterior),
    )

    return posterior, answer
