"""How good is the ranking? The section on AUC and average precision."""

from __future__ import annotations

from collections.abc import Sequence

from trueness._core.figures import intervals
from trueness._core.numbers import level_text
from trueness.ranking.mean_precision import average_precision
from trueness.report import svg
from trueness.report._parts import Section
from trueness.report.inputs import Model, ReportOptions


def section(models: Sequence[Model], options: ReportOptions) -> Section:
    """Show how well each classifier ranks, and how sure that is."""
    areas = {m.name: m.auc for m in models}
    told = clustered_words(models, options)
    precisions = {
        m.name: average_precision(m.tally, level=options.level) for m in models
    }
    return Section(
        "ranking",
        figures=(
            svg.forest(intervals("AUC", "AUC", areas), of="classifier", coloured=True),
            svg.forest(
                intervals("Average precision", "average precision", precisions),
                of="classifier",
                coloured=True,
            ),
        ),
        words=told,
        method=(
            f"{level_text(options.level)} confidence intervals. AUC: "
            f"{_CLUSTERS if told else _SCORE}. Average "
            "precision: influence values on the logit scale (after Boyd, Eng and Page "
            "2013, doi:10.1007/978-3-642-40994-3_29)."
        ),
        caveat=(
            "The AUC averages over all thresholds, including those that would never "
            "be used; look at the curve near the threshold that you will use. "
            "Average precision depends on the prevalence, so compare it on the same "
            "cases only."
        ),
    )


_SCORE = "score method (variance: Kim et al. 2021, eq. 18, doi:10.1073/pnas.2100761118)"
_CLUSTERS = "variance by clusters (Obuchowski 1997, doi:10.2307/2533958)"


def clustered_words(models: Sequence[Model], options: ReportOptions) -> tuple[str, ...]:
    """Say by how much cases that belong together would have misled."""
    if options.cluster is None:
        return ()
    return (
        *(f"{m.name}: {note}" for m in models for note in m.auc.notes),
        "All other intervals of this report assume independent cases.",
    )
