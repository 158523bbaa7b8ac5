"""Which treatment lets readers see more?"""

from __future__ import annotations

from typing import Annotated, Any

import trueness
from trueness._core.checks.options import choice
from trueness._core.numbers import counted, p_is, p_value
from trueness._core.progress import progress
from trueness._core.records import shown
from trueness.cli._columns import Request
from trueness.cli._command import ONE_SCORE, command
from trueness.cli._fields import EQUALITY, STUDY, fields_of
from trueness.cli._options import option
from trueness.cli._shell import CommandAnswer, about, table
from trueness.cli._words import noted
from trueness.counts.values import Tally
from trueness.readers.analysis import ReaderStudy, reader_study
from trueness.readers.model import COVARIANCES


@command(ONE_SCORE, without=("seed", "count", "by"), cannot="reader_study")
def readers(
    request: Request,
    reader: str = "reader",
    treatment: str = "treatment",
    case: str = "case",
    metric: str = "auc",
    threshold: float | None = None,
    fixed: str | None = None,
    covariance: Annotated[
        str,
        option(
            "--covariance: How the covariances are estimated: "
            f"{', '.join(COVARIANCES)}."
        ),
    ] = "jackknife",
    method: str = "obuchowski-rockette",
    pairs: str = "own",
    margin: float | None = None,
    scale: str = "plain",
    reference: str = "student",
) -> CommandAnswer:
    """Do readers do better with one treatment? Multi-reader multi-case studies.

    --reader COLUMN: Column with the readers.
    --treatment COLUMN: Column with the treatments.
    --case COLUMN: Column with the cases.
    --metric: auc, or a metric at a threshold: recall, specificity, ...
    --threshold: The threshold of such a metric.
    --fixed WHAT: What is taken as fixed, not as a sample: readers, or cases.
    --method: obuchowski-rockette, or gallas (one-shot variance).
    --pairs: Where some treatments share more cases or have more readers than others:
        own variance of each pair, or pooled as in MRMCaov.
    --margin: Largest loss that would not matter (for non-inferiority).
    --scale: Where limits are symmetric: plain, or logit (tests against a margin then
        keep their level near 1).
    --reference: Distribution of the tests: student (with Hillis' degrees of freedom),
        or behrens-fisher (keeps its level with two to four readers).

    Example: trueness readers sample:readers --label truth --score rating
    """
    if fixed is not None:
        choice(fixed, ("readers", "cases"), "--fixed")
    label, score = str(request.chosen.label), request.chosen.scores[0]
    with progress("Comparing", unit=""):
        rows = request.source.only((reader, treatment, case, label, score))
        found = reader_study(
            rows.to_arrow_table(),
            reader=reader,
            treatment=treatment,
            case=case,
            label=label,
            score=score,
            positive=request.chosen.positive,
            metric=metric,
            threshold=threshold,
            readers="fixed" if fixed == "readers" else "random",
            cases="fixed" if fixed == "cases" else "random",
            covariance=covariance,
            method=method,
            margin=margin,
            pairs=pairs,
            scale=scale,
            reference=reference,
            level=request.level,
        )
    return CommandAnswer(
        "readers",
        _result(found),
        [_head(found), *_tables(found), *_sentences(found)],
        chart=lambda: trueness.plots.reader_results(found),
        about=about(request, Tally([0.0], neg=[found.n_neg], pos=[found.n_pos])),
    )


def _head(found: ReaderStudy) -> str:
    cases = found.n_pos + found.n_neg
    return (
        f"{counted(len(found.readers), 'reader')}, "
        f"{counted(len(found.treatments), 'treatment')}, {cases:,} cases "
        f"({found.n_pos:,} positive); {found.design}; {found.assumed}."
    )


def _tables(found: ReaderStudy) -> list[Any]:
    name = "AUC" if found.metric == "auc" else found.metric
    means = [[shown(t), m] for t, m in zip(found.treatments, found.means, strict=True)]
    parts = [table(["treatment", f"mean {name}"], means)]
    if found.pairs:
        rows = [
            [f"{shown(p.first, 30)} - {shown(p.second, 30)}", p.difference,
             p_value(p.p_value), p_value(p.p_adjusted)]
            for p in found.pairs
        ]  # fmt: skip
        parts.append(table(["difference", name, "p", "p (Holm)"], rows))
    return parts


def _sentences(found: ReaderStudy) -> list[str]:
    lines = []
    for p in found.pairs:
        first, second = shown(p.first), shown(p.second)
        if p.difference.value < 0:
            first, second = second, first
        sure = p.p_adjusted < 1 - found.level
        lines.append(
            f"Readers do significantly better with {first} than with {second}."
            if sure
            else f"{first} and {second} do not differ significantly with these readers "
            f"and cases."
        )
        if p.margin > 0:
            for one, other, worse in (
                (p.first, p.second, p.p_noninferior),
                (p.second, p.first, p.p_noninferior_second),
            ):
                safe = worse < (1 - found.level) / 2
                lines.append(
                    f"{shown(one)} is {'' if safe else 'not shown to be '}not worse "
                    f"than {shown(other)} by more than {p.margin:g} ({p_is(worse)})."
                )
            if p.p_equivalent < 1 - found.level:
                lines.append(
                    f"{shown(p.first)} and {shown(p.second)} are equivalent: they "
                    f"differ by less than {p.margin:g} ({p_is(p.p_equivalent)})."
                )
    return [*lines, *noted(found.notes)]


def _result(found: ReaderStudy) -> dict[str, Any]:
    return {
        "means": dict(zip(found.treatments, found.means, strict=True)),
        "readers": {
            t: {
                r: float(v)
                for r, v in zip(found.readers, row, strict=True)
                if v == v  # a nested reader has one treatment only
            }
            for t, row in zip(found.treatments, found.results, strict=True)
        },
        "equality": fields_of(found, EQUALITY),
        **fields_of(found, STUDY),
    }
