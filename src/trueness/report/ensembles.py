"""Would they be better together? The section on combinations."""

from __future__ import annotations

from collections.abc import Sequence

from trueness._core.records import shown
from trueness.counts.values import Panel
from trueness.ensembles.crossfit import compare_combiners
from trueness.ensembles.figures import combiner_figure
from trueness.ensembles.sentences import best_combiner, combiner_sentence
from trueness.report import svg
from trueness.report._parts import Section, grid, possible
from trueness.report.comparison import fewer
from trueness.report.inputs import Model, ReportOptions


def section(
    panel: Panel, models: Sequence[Model], options: ReportOptions
) -> Section | None:
    """Compare ways to combine the classifiers, on cases they were not fitted on."""
    few, drawn = fewer(panel, options.rng)
    kept = few[[m.key for m in models]]
    found = possible(
        lambda: compare_combiners(kept, level=options.level, rng=options.rng)
    )
    if found is None:
        return None
    names = sorted(found.auc, key=lambda name: -found.auc[name].value)
    rows: list[tuple[object, ...]] = [
        *((n, found.auc[n], found.difference[n]) for n in names),
        *((f"{shown(k)} alone", e, "") for k, e in found.single.items()),
    ]
    head = ("combiner", "AUC", f"gain over {found.against}")
    words = combiner_sentence(found, best_combiner(found))
    return Section(
        "ensembles",
        "Would they be better together?",
        words=(words, *([f"Based on {drawn}."] if drawn else [])),
        figures=(svg.forest(combiner_figure(found), of="combiner"),),
        tables=(grid("AUC on cases that were not used for fitting", head, rows),),
        method=(
            f"Cross-fitting with {found.folds} folds: every case is scored by a "
            "combiner that has not seen it. FiDEL: Kim et al. 2021, "
            "doi:10.1073/pnas.2100761118; intervals by DeLong's method."
        ),
        caveat=(
            "Classifiers that make the same errors gain little from each other. The "
            "intervals do not include the variation of the fits themselves."
        ),
        headline=words,
    )
