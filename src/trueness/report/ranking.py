"""How good is the ranking? The section on AUC and average precision."""

from __future__ import annotations

from collections.abc import Sequence

from trueness._core.figures import intervals
from trueness._core.numbers import level_text
from trueness.ranking.areas import average_precision
from trueness.report import svg
from trueness.report._parts import Section
from trueness.report.inputs import Model, ReportOptions


def section(models: Sequence[Model], options: ReportOptions) -> Section:
    """Show how well each classifier ranks, and how sure that is."""
    areas = {m.name: m.auc for m in models}
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
        method=(
            f"{level_text(options.level)} confidence intervals. AUC: {_METHOD}. "
            "Average precision: the same with its influence values."
        ),
        caveat=(
            "The AUC averages over all thresholds, including those that would never "
            "be used; look at the curve near the threshold that you will use. "
            "Average precision depends on the prevalence, so compare it on the same "
            "cases only."
        ),
    )


_METHOD = (
    "DeLong's variance (1988, doi:10.2307/2531595; of clusters Obuchowski's, 1997), "
    "Wilson's form of the interval with Student's quantile"
)
