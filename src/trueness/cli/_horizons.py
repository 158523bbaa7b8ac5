"""Labels at a time horizon: a file of follow-up times is read as labelled cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks.errors import InputError
from trueness._core.files import temporary_folder
from trueness.cli._source import Source, existing_column, open_source
from trueness.data.column_roles import EVENT_NAMES, TIME_NAMES
from trueness.data.engines import quoted
from trueness.data.horizons import HorizonLabels, at_horizon
from trueness.data.named_roles import column_called

# columns that are added to the rows
LABEL, WEIGHT = "label_at_horizon", "weight_at_horizon"


@final
@dataclass(frozen=True)
class LabelledFollowUp:
    """A file with labels and weights at a horizon, and how they came about."""

    file: str
    labels: HorizonLabels

    @property
    def sentence(self) -> str:
        """Say how many cases had the event, were free of it, or were censored."""
        labels = self.labels
        return (
            f"By {labels.horizon:g}, {labels.n_events:,} cases had the event and "
            f"{labels.n_event_free:,} were free of it; {labels.n_censored:,} were "
            "censored before, which weights of the others account for "
            "(Kaplan-Meier)."
        )


def label_follow_up(
    file: str, *, time: str | None, event: str | None, horizon: float
) -> LabelledFollowUp:
    """Write the rows with labels and weights to a temporary file."""
    import pyarrow as pa
    import pyarrow.parquet

    source = open_source(file, ordered=True)
    time = time or column_called(source.types, TIME_NAMES)
    event = event or column_called(source.types, EVENT_NAMES)
    times = column_values(source, time, "time")
    events = column_values(source, event, "event")
    labels = at_horizon(times, events, horizon)

    table = source.rows.to_arrow_table()
    table = table.append_column(LABEL, pa.array(labels.label, from_pandas=True))
    table = table.append_column(WEIGHT, pa.array(labels.weight))
    path = temporary_folder() / "labelled.parquet"
    pyarrow.parquet.write_table(table, path)

    return LabelledFollowUp(str(path), labels)


def column_values(source: Source, name: str | None, option: str) -> Array:
    """Return a column of a file that was named, missing values as NaN or None."""
    if name is None:
        raise InputError(
            f"Which column holds the {option}?",
            option=option,
            choices=tuple(source.types),
        )

    existing_column(source, name, f"--{option}")
    values = source.rows.project(quoted(name)).fetchnumpy()[name]
    if not np.ma.isMaskedArray(values):
        return np.asarray(values)
    if values.dtype.kind == "O":
        return np.asarray(np.ma.filled(values, None))
    return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
