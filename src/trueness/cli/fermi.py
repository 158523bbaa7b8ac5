"""What does a rank mean, when only the AUC is known? Fermi-Dirac ranks and FiDEL."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import trueness
from trueness._core.checks.errors import InputError
from trueness._core.numbers import counted
from trueness._core.progress import progress
from trueness.cli import _shell as shell
from trueness.cli import options
from trueness.cli._columns import read_number
from trueness.cli._source import existing_column, open_source
from trueness.cli.apply import write_scored_rows
from trueness.fermi.distribution import FermiDirac, fermi_dirac
from trueness.findings.records import table

NUMBER_OF_DECILES = 10  # ranks that are shown when none is named
MIN_CLASSIFIERS = 2


def fermi_command(
    n: Annotated[
        int | None,
        typer.Option("--n", metavar="NUMBER", help="Number of cases, N."),
    ] = None,
    positives: Annotated[
        float | None,
        options.number("--positives", help="Number of positives among them, N1."),
    ] = None,
    auc: Annotated[
        list[str] | None,
        typer.Option(
            "--auc",
            metavar="NUMBER",
            help="The AUC. With --file one for each score, --auc NAME=0.9.",
        ),
    ] = None,
    prevalence: Annotated[
        float | None,
        options.number(
            "--prevalence",
            metavar="FRACTION",
            help="Proportion of positives, in place of --positives.",
        ),
    ] = None,
    rank: Annotated[
        list[float] | None,
        typer.Option(
            "--rank",
            metavar="NUMBER",
            help="Rank to show; 1 is the highest score. Repeat it for several.",
        ),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--file",
            metavar="FILE",
            help="Scores of several classifiers, which FiDEL combines by known AUCs.",
            rich_help_panel=options.DATA,
        ),
    ] = None,
    output: options.RowsFile = None,
    column: Annotated[
        str,
        typer.Option(
            "--column",
            metavar="NAME",
            help="Name of the new column.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = "fidel",
    save: options.SaveFile = None,
    json: options.Json = False,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> shell.CommandAnswer:
    """How probable is a positive at each rank, given only the AUC? Fermi-Dirac, FiDEL.

    With --file the scores of several classifiers, whose AUCs are known, are
    combined without labels: --auc NAME=0.85 for each, and --prevalence.

    Example:
    trueness fermi --n 100 --positives 50 --auc 0.9
    """
    if file is not None:
        return _combine_by_known_aucs(file, auc or [], prevalence, output, column, save)

    area = _single_auc(auc or [])
    if n is None or area is None or (positives is None) == (prevalence is None):
        raise InputError(
            "Ranks need the number of cases, the AUC, and one of the number of "
            "positives and the prevalence. Type --n 100 --positives 50 --auc 0.9.",
            option="n",
        )

    law = fermi_dirac(n=n, n_pos=positives, auc=area, prevalence=prevalence)

    return shell.CommandAnswer(
        result=_numbers(law, rank),
        parts=[*_sentences(law), _rank_table(law, rank)],
        chart=lambda: trueness.plots.rank_probability.figure_data(law),
    )


def _single_auc(texts: list[str]) -> float | None:
    """Return the AUC of one classifier."""
    if not texts:
        return None

    if len(texts) > 1 or "=" in texts[0]:
        raise InputError(
            "Without a file, state one AUC and no name.",
            option="auc",
            example="0.9",
        )

    return read_number(texts[0])


def _shown_ranks(law: FermiDirac, rank: list[float] | None) -> list[float]:
    """Return the ranks that were named, or the first, every tenth part, the last."""
    if rank:
        return rank
    spaced = np.linspace(1, law.n, min(law.n, NUMBER_OF_DECILES + 1))
    return [float(r) for r in np.unique(np.round(spaced))]


def _numbers(law: FermiDirac, rank: list[float] | None) -> dict[str, Any]:
    """Return what a program reads."""
    ranks = _shown_ranks(law, rank)
    return {
        "n": law.n,
        "n_pos": law.n_pos,
        "prevalence": law.prevalence,
        "auc": law.auc,
        "beta": law.beta,
        "temperature": law.temperature,
        "mu": law.mu,
        "rank_threshold": law.rank_threshold,
        "auc_se": law.auc_se,
        "ranks": [
            {"rank": shown_rank, "probability": float(law.probability(shown_rank))}
            for shown_rank in ranks
        ],
    }


def _sentences(law: FermiDirac) -> list[str]:
    """Say what beta, mu and r* are, and what they mean."""
    cases = counted(law.n, "case", "cases")
    return [
        f"{cases}, {law.n_pos:g} positive (prevalence {law.prevalence:.4g}), AUC "
        f"{law.auc:g}.",
        f"Inverse temperature beta {law.beta:.6g}, chemical potential mu {law.mu:.6g}.",
        f"Ranks up to r* = {law.rank_threshold:.6g} are evidence for a positive.",
        f"The standard error of the AUC is {law.auc_se:.4g} (Kim et al. 2021, eq. 18).",
        "These are maximum-entropy probabilities given only prevalence and AUC; "
        "those of a real classifier may differ.",
    ]


def _rank_table(law: FermiDirac, rank: list[float] | None) -> Any:
    """Return P(1 | r) at some ranks."""
    rows = [
        (f"{shown_rank:g}", f"{float(law.probability(shown_rank)):.4f}")
        for shown_rank in _shown_ranks(law, rank)
    ]
    return table("Ranks", ("rank", "P(positive)"), rows)


def _combine_by_known_aucs(
    file: str,
    texts: list[str],
    prevalence: float | None,
    output: Path | None,
    column: str,
    save: Path | None,
) -> shell.CommandAnswer:
    """Combine the scores of a file by FiDEL with known AUCs; no label is needed."""
    aucs = _named_aucs(texts)
    source = open_source(file, ordered=True)
    names = [existing_column(source, name, "--auc") for name in aucs]

    if prevalence is None:
        raise InputError(
            "FiDEL with known AUCs needs the prevalence.",
            option="prevalence",
            example="0.1",
        )

    shell.check_rows(output, source, column)

    with progress("Counting", unit=""):
        panel = trueness.panel(source.rows.to_arrow_table(), scores=names)
        ensemble = trueness.fidel(panel, auc=aucs, prevalence=prevalence)

    shell.save_fitted(ensemble, save)

    if output is not None:
        write_scored_rows(source, ensemble, names, column, output)

    laws = {
        name: fermi_dirac(n=panel.n, prevalence=prevalence, auc=aucs[name])
        for name in names
    }
    rows = [
        (name, f"{law.auc:g}", f"{law.beta:.4g}", f"{law.rank_threshold:.6g}")
        for name, law in laws.items()
    ]

    return shell.CommandAnswer(
        result={
            "cases": panel.n,
            "prevalence": prevalence,
            "classifiers": {
                name: {"auc": law.auc, "beta": law.beta, "r": law.rank_threshold}
                for name, law in laws.items()
            },
        },
        parts=[
            f"FiDEL of {len(names)} classifiers on "
            f"{counted(panel.n, 'case', 'cases')}, by their known AUCs; no label was "
            "used.",
            table("Classifiers", ("classifier", "AUC", "beta", "r*"), rows),
        ],
    )


def _named_aucs(texts: list[str]) -> dict[str, float]:
    """Read --auc NAME=0.85 of each classifier."""
    aucs = {}
    for text in texts:
        name, sign, number = text.rpartition("=")
        if not sign or not name:
            raise InputError(
                f"With a file, each AUC needs the name of its score; found {text!r}.",
                option="auc",
                example="NAME=0.85",
            )
        aucs[name] = read_number(number)

    if len(aucs) < MIN_CLASSIFIERS:
        raise InputError(
            "FiDEL combines at least two classifiers, each with its AUC; found "
            f"{len(aucs)}.",
            option="auc",
            example="NAME=0.85",
        )

    return aucs
