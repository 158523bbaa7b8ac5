"""Do the scores mean what they say? The section on calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np

from trueness._core.records import Estimate
from trueness.calibration.errors import calibration_line, calibration_test
from trueness.calibration.proper_scores import ProperScore, brier, log_loss
from trueness.calibration.reliability_curve import Reliability, reliability
from trueness.counts.values import Tally
from trueness.report import svg
from trueness.report._parts import (
    Figure,
    Grid,
    Section,
    chance,
    grid,
    p_is,
    percent,
    possible,
)
from trueness.report.inputs import Model, Wishes
from trueness.report.threshold import only

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


def meanings(models: Sequence[Model], wishes: Wishes) -> list[Meaning | None]:
    """Measure the calibration of every classifier whose scores can be probabilities."""
    return [_meaning(m, wishes) if m.is_probability else None for m in models]


def _meaning(m: Model, wishes: Wishes) -> Meaning:
    t, level = m.tally, wishes.level
    return Meaning(
        m.name,
        reliability(t, level=level, rng=wishes.rng),
        brier(t, level=level, replicates=FEW, rng=wishes.rng),
        log_loss(t, level=level, replicates=FEW, rng=wishes.rng),
        calibration_test(t).p_value,
        _mean_score(t),
        t.prevalence,
    )


def _mean_score(t: Tally) -> float:
    count = t.neg + t.pos
    return float(t.score @ count / count.sum())


def probability_at(
    found: Meaning | None, threshold: np.ndarray
) -> list[float | None] | None:
    """Which share of positives belongs to each threshold, by the fitted curve?"""
    if found is None:
        return None
    value = np.interp(threshold, found.curve.score, found.curve.probability).round(5)
    return [
        None if np.isinf(x) else float(v) for x, v in zip(threshold, value, strict=True)
    ]


def figure(models: Sequence[Model], found: Sequence[Meaning | None]) -> Figure | None:
    """Draw the share of positives against the score, with the consistency band."""
    drawn = [(k, x) for k, x in enumerate(found) if x is not None]
    if not drawn:
        return None
    axes = svg.Axes("score", "share of positives")
    marks = [svg.line(axes, [0, 1], [0, 1], "chance")]
    rows = []
    for k, x in drawn:
        c = x.curve
        band = (c.consistency_low, c.consistency_high)
        marks.append(svg.area(axes, c.score, *band, f"expected {only(k)}", str(k)))
        line = f"curve chosen {only(k)} c{k % 8}"
        marks.append(svg.line(axes, c.score, c.probability, line, str(k)))
        for i in np.unique(np.linspace(0, len(c.score) - 1, 12).astype(int)):
            rows.append(
                (x.name, *(float(v[i]) for v in (c.score, c.probability, *band)))
            )
    first = models[0].steps
    cut = float(np.clip(first.threshold[first.start], 0, 1))
    marks.append(svg.upright(axes, cut, "now rule", "threshold"))
    at = probability_at(found[0], np.array([cut])) or [float("nan")]
    marks.append(svg.dot(axes, cut, at[0] or 0.0, "now", "threshold probability"))
    note = (
        "On the diagonal a score is the probability that it says. The grey band is "
        "where the curve of calibrated scores would lie."
    )
    text = f"Reliability diagram of {', '.join(x.name for _, x in drawn)}. {note}"
    head = ("classifier", "score", "share of positives", "band from", "to")
    return Figure(
        "Calibration",
        svg.drawing(axes, marks, text),
        note,
        grid("Calibration", head, rows),
    )


def section(models: Sequence[Model], found: Sequence[Meaning | None]) -> Section:
    """Say which scores can be read as probabilities."""
    known = [x for x in found if x is not None]
    left_out = [m.name for m, x in zip(models, found, strict=True) if x is None]
    words = [_sentence(x) for x in known]
    if left_out:
        words.append(
            f"The scores of {', '.join(left_out)} leave 0 to 1, so they are no "
            "probabilities; trueness calibrate turns them into some."
        )
    return Section(
        "calibration",
        "Do the scores mean what they say?",
        words=tuple(words),
        tables=_tables(models, found),
        method=(
            "Isotonic (CORP) reliability curve and decomposition of the Brier score: "
            "score = miscalibration - discrimination + uncertainty (Dimitriadis, "
            "Gneiting, Jordan 2021, doi:10.1073/pnas.2016191118). Slope 1 and "
            "intercept 0 are calibrated (Cox 1958). p-value: Spiegelhalter 1986."
        ),
        caveat=(
            "A large p-value does not prove calibration, it only finds nothing against "
            "it; with few positives little can be found. Calibration holds at the "
            "prevalence of these cases, and moves with it."
        ),
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
        parts.append((x.name, _part(b), *three, chance(x.p_value)))
        ends = (line and line.slope, line and line.intercept)
        lines.append((x.name, _part(x.log_loss), *ends))
    if not parts:
        return ()
    head = ("classifier", "Brier score", "miscalibration", "discrimination",
            "uncertainty", "p-value")  # fmt: skip
    return (
        grid("Brier score and its parts", head, parts),
        grid("Log loss, and the line through the scores",
             ("classifier", "log loss", "slope", "intercept"), lines),
    )  # fmt: skip


def _part(x: ProperScore) -> Estimate:
    return Estimate(x.value, x.low, x.high, x.level, x.method)


def _sentence(x: Meaning) -> str:
    said = (
        f"{x.name} says {percent(x.mean)} on average where {percent(x.prevalence)} are "
        "positive"
    )
    if x.doubted:
        return (
            f"{said}; calibrated scores would hardly show what was seen ("
            f"{p_is(x.p_value)}). Do not read its scores as probabilities; "
            "recalibrate them first (trueness calibrate)."
        )
    return f"{said}; nothing speaks against its calibration ({p_is(x.p_value)})."
