"""What does a score mean as a probability?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

import trueness
from trueness._core.checks.errors import NeedsWholeCases, NotEnoughCases
from trueness._core.checks.options import whole_number
from trueness._core.progress import progress
from trueness.calibration import calibrators as calibration
from trueness.calibration import maps
from trueness.calibration.gain import CalibrationGain, calibration_gain
from trueness.calibration.maps import Map
from trueness.cli._columns import Request, count_tally
from trueness.cli._command import ONE_SCORE, command
from trueness.cli._options import Rows, Save, option
from trueness.cli._outputs import check_rows, save_fitted, write_rows
from trueness.cli._shell import CommandAnswer, about, answered
from trueness.cli._words import for_the_shell
from trueness.counts.values import Tally
from trueness.findings.notes import note
from trueness.findings.records import Finding
from trueness.findings.what_scores_mean import (
    gain_numbers,
    gains_in_groups,
    score_to_probability,
    what_calibration_changes,
)


@command(ONE_SCORE)
def calibrate(
    request: Request,
    method: Annotated[
        str, option(f"--method: One of {', '.join(calibration.CALIBRATORS)}.")
    ] = "auto",
    folds: int = 5,
    output: Rows = None,
    column: str | None = None,
    save: Save = None,
) -> CommandAnswer:
    """What does a score mean as a probability? Fits a map and applies it.

    --folds: Folds of the cross-fitting, which checks the map on new cases.
    --column: Name of the new column.

    Example: trueness calibrate sample:west_nile --label virus --score adaboost \
-o calibrated.parquet --save map.json
    """
    name = request.chosen.scores[0]
    column = column or f"{name}_calibrated"
    whole_number(folds, "--folds", at_least=2)
    check_rows(output, request.source, column)
    with progress("Fitting", unit=""):
        t = count_tally(request, name)
        groups = count_tally(request, name, by=True) if request.chosen.by else {}
        fitted = calibration.calibrate(t, method=method)
        found, by_group, why = _gains(
            fitted, t, groups, request, method=method, folds=folds
        )
    save_fitted(fitted, save)
    write_rows(
        request.source, column, lambda rows: fitted(_numbers(rows[name])), output
    )
    by = str(request.chosen.by)
    findings = [score_to_probability(t, fitted, method)]
    if found is None:
        unknown = (note("unknown gain", why=why),)
        findings.append(Finding("", gain_numbers(None), unknown))
    else:
        findings.append(what_calibration_changes(t, found, name, method))
    return answered(
        "calibrate",
        *findings,
        gains_in_groups(by_group, by),
        chart=lambda: trueness.plots.reliability(
            found.tally if found else t.map(fitted)
        ),
        about=about(request, t),
        method=method,
        column=column,
        map=json.loads(maps.map_to_json(fitted)),
    )


def _numbers(column: Any) -> Any:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _gains(
    fitted: Map, t: Tally, groups: Mapping[Any, Tally], request: Request, **wanted: Any
) -> tuple[CalibrationGain | None, dict[str, CalibrationGain], str]:
    """Check the map on cases it has not seen; None, and why, where it cannot be."""
    wanted |= {"level": request.level, "rng": request.seed}
    try:
        found = calibration_gain(t, fitted=fitted, **wanted)
        by_group = calibration_gain(groups, fitted=fitted, **wanted) if groups else {}
    except NotEnoughCases:
        return None, {}, "There are too few cases for cross-fitting."
    except NeedsWholeCases as err:
        return None, {}, for_the_shell(str(err))
    return found, {str(g): x for g, x in by_group.items()}, ""
