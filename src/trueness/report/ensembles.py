"""Would they be better together? The section on combinations."""

from __future__ import annotations

from collections.abc import Sequence

from trueness._core.checks.options import choice
from trueness._core.records import shown
from trueness.counts.values import Panel
from trueness.ensembles.combiners import COMBINERS
from trueness.ensembles.crossfit import compare_combiners
from trueness.ensembles.figures import combiner_figure
from trueness.report import svg
from trueness.report._parts import Section, grid, where_possible
from trueness.report.comparison import fewer
from trueness.report.inputs import Model, ReportOptions


@where_possible
def section(panel: Panel, models: Sequence[Model], options: ReportOptions) -> Section:
    """Compare ways to combine the classifiers, on cases they were not fitted on."""
    if options.combiner:
        choice(options.combiner, list(COMBINERS), "combiner")
    few, drawn = fewer(panel, options.rng)
    # in the order of the data, so that the same cases share a fold as elsewhere
    kept = few[[n for n in few.names if n in {m.key for m in models}]]
    found = compare_combiners(kept, level=options.level, rng=options.rng)
    names = sorted(found.auc, key=lambda name: -found.auc[name].value)
    rows: list[tuple[object, ...]] = [
        *((n, found.auc[n], found.difference[n]) for n in names),
        *((f"{shown(k)} alone", e, "") for k, e in found.single.items()),
    ]
    head = ("combiner", "AUC", f"gain over {found.against}")
    method = options.combiner or found.best()
    words = found.sentence(method)
    each = [(shown(k), e) for k, e in found.gain[method].items()]
    return Section(
        "ensembles",
        words=(words, *([f"Based on {drawn}."] if drawn else [])),
        figures=(svg.forest(combiner_figure(found), of="combiner"),),
        tables=(
            grid("AUC on cases that were not used for fitting", head, rows),
            grid(f"What {method} adds", ("classifier", "gain over it"), each),
        ),
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
