"""What did calibration gain, in words?"""

from __future__ import annotations

import math

from trueness._core.checks.errors import NotEnoughCases
from trueness.calibration.gain import CalibrationGain
from trueness.calibration.slope import CalibrationLine, calibration_line


def line_after(found: CalibrationGain) -> CalibrationLine | None:
    """Give the line through the cross-fitted probabilities, where there is one."""
    try:
        return calibration_line(found.tally, level=found.gain.level)
    except NotEnoughCases:
        return None


def gain_sentences(found: CalibrationGain) -> list[str]:
    """Say whether calibration helps, and whether its result can be relied on."""
    lines = []
    g = found.gain
    if not math.isnan(found.before.value):
        lines.append(
            "Calibration helps significantly."
            if g.low > 0
            else "Calibration makes the scores worse; leave them as they are."
            if g.high < 0
            else "These cases do not show whether calibration helps."
        )
        lines[0] += (
            f" The Brier score falls by {g.value:.4g} ({g.low:.4g} to {g.high:.4g}; "
            f"below 0 it rises), in {found.folds} folds."
        )
    line = line_after(found)
    return [*lines, *([] if line is None else [_reliability(line)])]


def gain_rows(found: CalibrationGain) -> list[list[object]]:
    """Give the Brier scores before and after, each with its words."""
    known = not math.isnan(found.before.value)
    rows: list[list[object]] = [["as they are", found.before]] if known else []
    return [
        *rows,
        ["calibrated, cases not used for fitting", found.cross_fitted],
        ["calibrated, same cases (optimistic)", found.in_sample],
    ]


def _reliability(line: CalibrationLine) -> str:
    s = line.slope
    if s.low <= 1 <= s.high:
        words = "neither too extreme nor too moderate"
    else:
        words = "still too extreme" if s.value < 1 else "still too moderate"
    where = line.intercept
    height = "right on average"
    if where.low > 0 or where.high < 0:
        height = f"too {'low' if where.value > 0 else 'high'} on average"
    return (
        f"The probabilities are {words} (calibration slope {s.value:.3g}, {s.low:.3g} "
        f"to {s.high:.3g}; 1 is ideal) and {height}."
    )
