"""What would calibration change? The scores before and after, on cases not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trueness.calibration.gain import calibration_gain, gain_rows, gain_sentences
from trueness.calibration.reliability_curve import reliability, reliability_figure
from trueness.counts.values import Tally
from trueness.report import svg
from trueness.report._parts import Figure, Section, grid, where_possible
from trueness.report.inputs import Model, ReportOptions, chosen_model

BEFORE, AFTER = "as they are", "calibrated"
FEW = 20  # replicates: no band is drawn


@where_possible
def section(models: Sequence[Model], options: ReportOptions) -> Section | None:
    """Calibrate one classifier, and judge it on cases that were not used for that."""
    if not options.calibrator:
        return None
    m, method = chosen_model(models, options), options.calibrator
    found = calibration_gain(
        m.tally, method=method, level=options.level, rng=options.rng
    )
    return Section(
        "calibrated",
        words=(f"{m.name}, calibrated by the method {method}.", *gain_sentences(found)),
        figures=(_figure(m, found.tally),),
        tables=(
            grid(
                "Brier score before and after",
                ("scores", "Brier score"),
                gain_rows(found),
            ),
        ),
        method=(
            f"Cross-fitting with {found.folds} folds: every case gets its probability "
            "from a map that was fitted without it. The gain is the difference of the "
            "Brier scores, case by case."
        ),
        caveat=(
            "A map holds for cases like these, at this prevalence. The intervals take "
            "the fitted maps as given."
        ),
    )


def _figure(m: Model, after: Tally) -> Figure:
    """Draw both reliability curves; scores outside 0 to 1 have one only."""
    shown = {BEFORE: m.tally} if m.is_probability else {}
    curves = {
        name: reliability(t, replicates=FEW)
        for name, t in {**shown, AFTER: after}.items()
    }
    drawn = reliability_figure(curves)
    return svg.curves(
        replace(drawn, bands=()),
        [AFTER, BEFORE],
        title="Before and after",
        note="Nearer to the diagonal is better. The calibrated probabilities are those "
        "of cases that were not used for fitting.",
        legend=True,
    )
