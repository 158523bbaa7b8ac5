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
from trueness.calibration.gain import (
    CalibrationGain,
    calibration_gain,
    gain_rows,
    gain_sentences,
    line_after,
)
from trueness.calibration.maps import Map
from trueness.cli._columns import Request, count_tally
from trueness.cli._command import ONE_SCORE, command
from trueness.cli._fields import GAIN, fields_of
from trueness.cli._options import Rows, Save, option
from trueness.cli._outputs import check_rows, save_fitted, write_rows
from trueness.cli._shell import CommandAnswer, about, cases_sentence, table
from trueness.cli._words import for_the_shell
from trueness.counts.values import Tally


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
    result = {
        "method": method,
        "column": column,
        "map": json.loads(maps.map_to_json(fitted)),
        **_numbers_of(found),
        "groups": {g: _numbers_of(x) for g, x in by_group.items()},
    }
    parts = [
        cases_sentence(t),
        f"Calibration map fitted by the method {method}. What a score means as a "
        "probability:",
        table(["score", "probability"], _meaning(t, fitted)),
        *_words(found, why),
        *_group_table(request, by_group),
    ]
    return CommandAnswer(
        "calibrate",
        result,
        parts,
        chart=lambda: trueness.plots.reliability(
            found.tally if found else t.map(fitted)
        ),
        about=about(request, t),
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


def _numbers_of(found: CalibrationGain | None) -> dict[str, Any]:
    if found is None:
        return {"brier": None, "slope": None, "intercept": None, "folds": None}
    line = line_after(found)
    return {
        "brier": fields_of(found, GAIN),
        "slope": line and line.slope,
        "intercept": line and line.intercept,
        "folds": found.folds,
    }


def _meaning(t: Tally, fitted: Map) -> list[list[float]]:
    """Give a few scores of the file and their probabilities."""
    shares = np.linspace(0, 1, 6)
    picked = t.score[np.unique(((len(t) - 1) * shares).round().astype(int))]
    return [[float(s), float(p)] for s, p in zip(picked, fitted(picked), strict=True)]


def _words(found: CalibrationGain | None, why: str) -> list[Any]:
    if found is None:
        return [f"It is not known how well the map does on new cases. {why}"]
    words = gain_sentences(found)
    return [table(["scores", "Brier score"], gain_rows(found)), *words]


def _group_table(request: Request, groups: dict[str, CalibrationGain]) -> list[Any]:
    if not groups:
        return []
    rows = [[g, x.tally.n, x.before, x.cross_fitted, x.gain] for g, x in groups.items()]
    head = [str(request.chosen.by), "cases", "Brier before", "cross-fitted", "gain"]
    return ["The map, evaluated in each group:", table(head, rows)]
