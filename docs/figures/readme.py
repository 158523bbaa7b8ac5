"""The picture of the README: what its five lines of code found."""

from typing import Any

import trueness


def chart() -> Any:
    predictions = trueness.scan(trueness.samples.path("west_nile"))
    t = trueness.tally(predictions, label="virus", score="boosting")
    return trueness.plots.operating_point(
        t,
        maximize="f1",
        subject_to=["recall >= 0.6", "flagged <= 1500"],
        title="West Nile virus in mosquito traps: the best threshold",
    )
