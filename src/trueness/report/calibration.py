"""Do the scores mean what they say? The section on calibration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np

from trueness._core.arrays import Array
from trueness._core.numbers import listed, p_is, p_value, percent
from trueness.calibration.proper_scores import ProperScore, brier, log_loss
from trueness.calibration.reliability_curve import (
    Reliability,
    reliability,
    reliability_figure,
)
from trueness.calibration.slope import calibration_line, calibration_test
from trueness.counts.values import Tally
from trueness.inference.sample import meant
from trueness.report import svg
from trueness.report._parts import (
    Figure,
    Grid,
    Section,
    grid,
    possible,
    where_possible,
)
from trueness.report.inputs import Model, ReportOptions

DOUBT = 0.05  # the usual level: below it calibration is doubted
FEW = 20  # the intervals of the parts, which need replicates, are not shown


@final
@dataclass(frozen=True)
class Meaning:
    """What the scores of one classifier are worth as probabilities."""

    name: str
    curve: Reliability
    brier: ProperScore
    log_loss: ProperScore
    p_value: float
    mean: float
    prevalence: float

    @property
    def doubted(self) -> bool:
        """Does the test speak against calibration?"""
        return self.p_value < DOUBT

    def probability(self, threshold: Array) -> Array:
        """Which share of positives belongs to each threshold, by the fitted curve?"""
        return np.interp(threshold, self.curve.score, self.curve.probability)


@where_possible
def meaning(m: Model, options: ReportOptions) -> Meaning | None:
    """Measure the calibration of a classifier whose scores can be probabilities."""
    if not m.is_probability:
        return None
    t, level, rng = m.tally, options.level, options.rng
    few = options.replicates or FEW  # of a first look
    x: Tally = meant(t).counts
    return Meaning(
        m.name,
        reliability(t, level=level, rng=rng, replicates=few),
        brier(t, level=level),
        log_loss(t, level=level),
        calibration_test(t).p_value,
        float(x.score @ (x.neg + x.pos) / (x.n_neg + x.n_pos)),
        x.prevalence,
    )


def figure(models: Sequence[Model], found: Sequence[Meaning | None]) -> Figure | None:
    """Draw the share of positives against the score, with the consistency band."""
    known = {x.name: x.curve for x in found if x is not None}
    if not known:
        return None
    drawn = reliability_figure(known, "consistency")
    axes, first = svg.axes_of(drawn), found[0]
    cut = float(np.clip(models[0].steps.first, 0, 1))
    at = float("nan") if first is None else float(first.probability(np.array(cut)))
    over = [
        svg.upright(axes, cut, "now rule", "threshold"),
        svg.dot(axes, cut, at, "now", "threshold probability"),
    ]
    note = (
        "On the diagonal a score is the probability that it states. The grey band is "
        "where the curve would lie if the scores were calibrated."
    )
    names = [m.name for m in models]
    return svg.curves(
        drawn, names, title="Calibration", note=note, over=over, band="expected"
    )


def section(models: Sequence[Model], found: Sequence[Meaning | None]) -> Section | None:
    """Say which scores can be read as probabilities."""
    known = [x for x in found if x is not None]
    left_out = [m.name for m in models if not m.is_probability]
    if not known and not left_out:  # nothing that could be tested
        return None
    words = [_sentence(x) for x in known] + _unbounded(known)
    if left_out:
        words.append(
            f"{outside(left_out)} Calibration would turn them into probabilities."
        )
    return Section(
        "calibration",
        words=tuple(words),
        tables=_tables(models, found),
        method=(
            "Isotonic (CORP) reliability curve and decomposition of the Brier score: "
            "score = miscalibration - discrimination + uncertainty (Dimitriadis, "
            "Gneiting and Jordan 2021, doi:10.1073/pnas.2016191118). A slope of 1 and "
            "an intercept of 0 mean calibrated (Cox 1958). p-value of the test that "
            "the scores are calibrated: Spiegelhalter 1986."
        ),
        caveat=(
            "A large p-value does not prove calibration; it only means that nothing "
            "was found against it, and with few positives little can be found. "
            "Calibration holds at the prevalence of these cases, and changes with it."
        ),
    )


def outside(names: Sequence[str]) -> str:
    """Say whose scores are not probabilities."""
    return (
        f"The scores of {listed(names)} fall outside 0 to 1, so they are not "
        "probabilities."
    )


def _tables(
    models: Sequence[Model], found: Sequence[Meaning | None]
) -> tuple[Grid, ...]:
    """Give the scores with their parts, and the line through them."""
    parts, lines = [], []
    for x, m in zip(found, models, strict=True):
        if x is None:
            continue
        b, line = x.brier, possible(partial(calibration_line, m.tally))
        three = (b.mcb.value, b.dsc.value, b.unc.value)
        chance = "" if math.isnan(x.p_value) else p_value(x.p_value)
        parts.append((x.name, b, *three, chance))
        ends = (line and line.slope, line and line.intercept)
        lines.append((x.name, x.log_loss, *ends))
    if not parts:
        return ()
    head = ("classifier", "Brier score", "miscalibration", "discrimination",
            "uncertainty", "p-value")  # fmt: skip
    return (
        grid("Brier score and its parts", head, parts),
        grid("Log loss and calibration line",
             ("classifier", "log loss", "slope", "intercept"), lines),
    )  # fmt: skip


def _unbounded(known: Sequence[Meaning]) -> list[str]:
    """Say why a log loss is infinite, or could be."""
    out = []
    worst = [x.name for x in known if math.isinf(x.log_loss.value)]
    if worst:
        out.append(
            f"The log loss of {listed(worst)} is infinite: a score of exactly 0 or 1 "
            "was wrong."
        )
    open_ended = [
        x.name
        for x in known
        if math.isinf(x.log_loss.high) and math.isfinite(x.log_loss.value)
    ]
    if open_ended:
        out.append(
            f"The log loss of {listed(open_ended)} has no upper limit: some scores are "
            "exactly 0 or 1, and one of them that is wrong would make it infinite."
        )
    return out


def _sentence(x: Meaning) -> str:
    said = (
        f"{x.name} states {percent(x.mean)} on average, and {percent(x.prevalence)} of "
        "the cases are positive"
    )
    if math.isnan(x.p_value):
        return f"{said}. Whether that is chance cannot be tested by these scores."
    if x.doubted:
        return (
            f"{said}. Scores that were calibrated would rarely look like this "
            f"({p_is(x.p_value)}), so do not read them as probabilities; calibrate "
            "them first."
        )
    return f"{said}; nothing was found against its calibration ({p_is(x.p_value)})."
