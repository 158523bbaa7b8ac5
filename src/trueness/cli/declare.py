"""Declare numbers with the counts that prove them, and verify those of others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from trueness._core.files import is_device
from trueness._core.progress import progress
from trueness.cli import options
from trueness.cli._columns import FileData, count_tally
from trueness.cli._file_data import ONE_SCORE, open_data
from trueness.cli._missing_scores import naming_rows_without_score
from trueness.cli._shell import CommandAnswer, about, say
from trueness.cli._source import REAL_TYPES, existing_column
from trueness.counts.values import Tally
from trueness.data.engines import quoted
from trueness.declarations.claims import read_claims
from trueness.declarations.declaring import declare
from trueness.declarations.records import (
    UNCHECKED,
    WITHIN,
    Declaration,
    Verification,
    summary_of,
)
from trueness.declarations.sections import privacy_sentences, summary
from trueness.declarations.verification import verify
from trueness.findings.records import Table, table
from trueness.monitoring.verdicts import FAILS, OPEN

STATED = "Stated by the author"

# exit codes of verify
_FAILED_EXIT_CODE = 4
_UNDECIDED_EXIT_CODE = 5


def _statement(name: str, help: str) -> Any:
    """Make an option for what only the author can say."""
    return typer.Option(name, metavar="TEXT", help=help, rich_help_panel=STATED)


def declare_command(
    file: options.File,
    label: options.Label = None,
    score: options.Score = None,
    at: Annotated[
        list[float] | None,
        options.number(
            "--at",
            metavar="SCORE",
            help="Threshold in use; bins get an edge there. Repeat it for several.",
        ),
    ] = None,
    claim: Annotated[
        list[str] | None,
        typer.Option(
            "--claim",
            metavar="CLAIM",
            help='Claim, written as in check: "recall >= 0.9 at 0.3", "auc >= 0.8 in '
            'every site". Repeat it for several.',
        ),
    ] = None,
    by: options.By = None,
    private: Annotated[
        int,
        typer.Option(
            "--private",
            metavar="NUMBER",
            help="Smallest number of cases of each class in a bin; 1 publishes exact "
            "counts.",
        ),
    ] = 5,
    exact_table: Annotated[
        bool,
        typer.Option(
            "--exact-table",
            help="Publish the 2x2 table at each threshold even where a cell is small.",
        ),
    ] = False,
    edges: Annotated[
        Path | None,
        typer.Option(
            "--edges",
            metavar="FILE",
            help=(
                "Use the bin edges of this declaration, so that counts of both can "
                "be added."
            ),
        ),
    ] = None,
    agreement: Annotated[
        bool,
        typer.Option(
            "--agreement",
            help="The comparator is not a reference standard: measure agreement.",
        ),
    ] = False,
    intended_use: Annotated[
        str, _statement("--intended-use", "Intended use of the scores, and by whom.")
    ] = "",
    population: Annotated[
        str, _statement("--population", "Population and source of the cases.")
    ] = "",
    dates: Annotated[
        str, _statement("--dates", "Period in which the data were collected.")
    ] = "",
    reference_standard: Annotated[
        str,
        _statement(
            "--reference-standard",
            "Reference standard: how the labels were determined.",
        ),
    ] = "",
    threshold_choice: Annotated[
        str,
        _statement(
            "--threshold-choice",
            "Was the threshold prespecified, or chosen on these data?",
        ),
    ] = "",
    unit: Annotated[
        str, _statement("--unit", "Unit of analysis: a patient, an image, a visit.")
    ] = "",
    left_out: Annotated[str, _statement("--left-out", "Excluded cases, and why.")] = "",
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="Title of the declaration.")
    ] = "Declaration of performance",
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Page (.html), its data (.json) or Markdown (.md) to write.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = Path("declaration.html"),
    positive: options.Positive = None,
    count: options.Count = None,
    decimal: options.Decimal = None,
    missing_scores: options.MissingScores = None,
    invert: options.Invert = False,
    strict: options.Strict = False,
    weight: options.Weight = None,
    cluster: options.Cluster = None,
    sampling: options.Sampling = None,
    prevalence: options.Prevalence = None,
    unlabelled: options.Unlabelled = None,
    level: options.Level = 0.95,
    json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> CommandAnswer:
    """Declare how good a score is, with counts from which anyone can check it.

    Numbers and claims are published with their counts, in bins that hide
    single cases. trueness verify checks them without the data, and so does
    the page itself in a browser.

    Example:
    trueness declare sample:west_nile --label virus --score boosting --at 0.05
    """
    data = open_data(
        ONE_SCORE,
        file=file,
        label=label,
        columns=[score] if score else (),
        positive=positive,
        count=count,
        by=by,
        decimal=decimal,
        missing_scores=missing_scores,
        invert=invert,
        strict=strict,
        weight=weight,
        cluster=cluster,
        sampling=sampling,
        prevalence=prevalence,
        unlabelled=unlabelled,
        level=level,
    )
    claims = claim or []

    with progress("Counting", unit=""), naming_rows_without_score(data):
        counts = count_tally(data, data.request.scores[0])
        groups = {
            column: _count_groups(data, column)
            for column in _columns_of_groups(data, claims)
        }

    with progress("Measuring", unit=""):
        declaration = declare(
            counts,
            output,
            at=at or (),
            claims=claims,
            statements={
                "intended_use": intended_use,
                "population": population,
                "dates": dates,
                "reference_standard": reference_standard,
                "threshold_choice": threshold_choice,
                "unit": unit,
                "left_out": left_out,
            },
            groups=groups,
            private=private,
            exact_table=exact_table,
            edges=edges,
            agreement=agreement,
            title=title,
            source=data.source.path,
            without_score=_rows_without_score(data),
            level=level,
        )

    say(f"Declaration written to {output}.")

    return CommandAnswer(
        declaration.to_dict(),
        # a file that goes to a device such as /dev/stdout goes there alone
        [] if is_device(output) else _parts_of_declaration(declaration),
        about=about(data, counts),
    )


def _columns_of_groups(data: FileData, claims: list[str]) -> list[str]:
    """Return the column of --by, and those that claims name."""
    columns = [data.request.by] if data.request.by else []
    columns += [
        requirement.by for _, requirement in read_claims(claims) if requirement.by
    ]
    return list(dict.fromkeys(columns))


def _count_groups(data: FileData, column: str) -> dict[str, Tally]:
    """Count the score in each group of a column."""
    existing_column(data.source, column, "--by")
    request = replace(data.request, by=column)
    rows = data.source.only(request.columns)
    tallies = count_tally(
        replace(data, request=request, rows=rows), request.scores[0], by=True
    )

    return {str(group): tally for group, tally in tallies.items()}


def _rows_without_score(data: FileData) -> dict[str, int] | None:
    """Return the rows without a score by label, where such rows are left out."""
    request = data.request
    score = request.scores[0]
    is_real = data.source.types[score].startswith(REAL_TYPES)
    if request.label is None or request.missing_scores != "drop" or not is_real:
        return None

    name = quoted(score)
    other_columns = [quoted(column) for column in data.rows.columns if column != score]
    missing = data.rows.filter(f"{name} IS NULL OR isnan({name})")
    if not missing.limit(1).fetchall():
        return {}

    # any score will do, since only the labels are counted
    any_score = f"CAST(0 AS DOUBLE) AS {name}"
    rows = missing.project(", ".join([*other_columns, any_score]))
    counts = count_tally(replace(data, rows=rows), score)

    return {
        "neg": round(counts.n_neg),
        "pos": round(counts.n_pos),
        "unknown": round(counts.n_unknown),
    }


def _parts_of_declaration(declaration: Declaration) -> list[str | Table]:
    """Say what is declared, what is claimed, and what the counts hide."""
    parts: list[str | Table] = [*summary(declaration)]
    if declaration.claims:
        rows = [(claim.claim, claim.verdict) for claim in declaration.claims]
        parts.append(table("Claims", ["claim", "verdict"], rows, most=200))
    parts += list(privacy_sentences(declaration))
    return parts


def verify_command(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Declaration to verify: a page (.html) or its data (.json).",
            show_default=False,
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FILE",
            help="File of predictions, if you have it; its SHA-256 digest is compared.",
        ),
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> CommandAnswer:
    """Does each number of a declaration follow from its counts? For CI.

    Nothing in the file is trusted: every number, table and claim is computed
    again. Exit codes: 0 all follows and every claim holds; 4 something does
    not follow, or a claim fails; 5 a claim cannot be decided yet.

    Example:
    trueness verify declaration.html
    """
    verification = verify(file, data=data)
    return CommandAnswer(
        _numbers(verification),
        _parts_of_verification(verification),
        about={"file": file},
        code=_exit_code(verification),
    )


def _exit_code(verification: Verification) -> int:
    if not verification or verification.claims == FAILS:
        return _FAILED_EXIT_CODE
    return _UNDECIDED_EXIT_CODE if verification.claims == OPEN else 0


def _numbers(verification: Verification) -> dict[str, Any]:
    return {
        "verdict": verification.verdict,
        "claims": verification.claims,
        "digest": verification.digest,
        "checks": [vars(check) | {} for check in verification.checks],
    }


def _parts_of_verification(verification: Verification) -> list[str | Table]:
    """Return what does not follow, then each number, then what this shows."""
    parts: list[str | Table] = [summary_of(verification)]
    if verification.failures:
        rows = [
            (check.name, check.stated, check.recomputed)
            for check in verification.failures
        ]
        head = ["statement", "stated", "but"]
        parts.append(table("Does not follow", head, rows, most=200))

    parts.append(_table_of_numbers(verification))
    if verification.declaration.claims:
        claims = [
            (claim.claim, claim.verdict) for claim in verification.declaration.claims
        ]
        parts.append(table("Claims as stated", ["claim", "verdict"], claims, most=200))

    parts += [str(check) for check in verification.checks if check.verdict == UNCHECKED]
    parts += [
        "Verification shows that numbers follow from the counts, not that the counts "
        "are true.",
        f"Digest of this declaration: {verification.digest}",
    ]

    return parts


def _table_of_numbers(verification: Verification) -> Table:
    """List the numbers of all cases with the verdict on each."""
    names = (", interval", ", bounds", ", method", ", numbers")
    numbers = len(verification.declaration.measured)
    rows = [
        (check.name, check.stated, _verdict_text(check.verdict, check.recomputed))
        for check in verification.checks
        if not check.name.endswith(names)
    ][:numbers]

    return table("Numbers", ["number", "stated", "verdict"], rows, most=80)


def _verdict_text(verdict: str, recomputed: str) -> str:
    return f"follows within {recomputed}" if verdict == WITHIN else verdict
