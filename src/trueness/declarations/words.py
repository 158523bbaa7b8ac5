"""How are the numbers of a declaration called and written?"""

from __future__ import annotations

import math

from trueness.declarations.measurements import DIGITS, CrossTable, Measurement

# the names of measures, as a reader of diagnostic studies knows them
NAMES = {
    "recall": "sensitivity",
    "specificity": "specificity",
    "precision": "positive predictive value",
    "npv": "negative predictive value",
    "lr_positive": "positive likelihood ratio",
    "lr_negative": "negative likelihood ratio",
    "net_benefit": "net benefit",
    "auc": "AUC",
    "brier": "Brier score",
    "calibration_intercept": "calibration intercept",
    "calibration_slope": "calibration slope",
    "pass_rate": "pass rate",
}
# where the comparator is no reference standard (FDA 2007)
NAMES_OF_AGREEMENT = {
    "recall": "positive per cent agreement",
    "specificity": "negative per cent agreement",
}


def measure_name(measure: str, agreement: bool) -> str:
    """Return the name of a measure."""
    if agreement and measure in NAMES_OF_AGREEMENT:
        return NAMES_OF_AGREEMENT[measure]
    return NAMES.get(measure, measure)


def measurement_name(measurement: Measurement, agreement: bool) -> str:
    """Return the name of a number: its measure, threshold and group."""
    name = measure_name(measurement.measure, agreement)
    if measurement.threshold is not None:
        name = f"{name} at {measurement.threshold:g}"
    return f"{name}{_where(measurement.column, measurement.group)}"


def table_name(table: CrossTable) -> str:
    """Return the name of a table: its threshold and group."""
    return f"table at {table.threshold:g}{_where(table.column, table.group)}"


def _where(column: str, group: str) -> str:
    return f" in {column} {group}" if column else ""


def number_text(value: float) -> str:
    """Return a number as text, with the digits that a declaration states.

    >>> number_text(0.5), number_text(float("nan")), number_text(595.0)
    ('0.5000', 'undefined', '595')
    """
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "infinity" if value > 0 else "-infinity"
    if abs(value) >= 10 and value.is_integer():
        return f"{value:,.0f}"
    return f"{value:#.{DIGITS}g}".rstrip(".")


def bounds_text(measurement: Measurement) -> str:
    """Return the bounds of a value that the counts prove, as text."""
    if measurement.bounds is None:
        return "no bounds"
    low, high = measurement.bounds
    return f"{number_text(low)} to {number_text(high)}"


def value_text(measurement: Measurement) -> str:
    """Return a value as text, or its bounds if only these are known."""
    if math.isnan(measurement.value) and measurement.bounds is not None:
        return bounds_text(measurement)
    return number_text(measurement.value)


def interval_text(measurement: Measurement) -> str:
    """Return a confidence interval as text."""
    if math.isnan(measurement.low):
        return "not known"
    return f"{number_text(measurement.low)} to {number_text(measurement.high)}"


def cell_text(cell: tuple[float, float]) -> str:
    """Return the cell of a table as text, or its bounds."""
    smallest, largest = cell
    if smallest == largest:
        return f"{smallest:,.10g}"
    return f"{smallest:,.10g} to {largest:,.10g}"
