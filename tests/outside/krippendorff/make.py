"""python tests/outside/krippendorff/make.py"""

import sys
from importlib.metadata import version
from pathlib import Path

import krippendorff
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from write_vectors import Vectors


def ratings(raters, items, categories, missing):
    """Ratings by formulas: a true category, errors, and every so many none."""
    item = np.arange(1, items + 1)
    columns = {}
    for rater in range(1, raters + 1):
        truth = (item * item * 7 + 3 * item) % categories
        is_error = (item * (11 + 2 * rater)) % 9 < 2 + rater % 2
        rated = np.where(is_error, (truth + rater) % categories, truth)
        is_missing = (item * (5 + rater)) % missing == 0
        columns[f"rater_{rater}"] = [
            None if left_out else int(value)
            for left_out, value in zip(is_missing, rated, strict=True)
        ]
    return columns


vectors = Vectors()
for design in ((2, 30, 3, 50), (3, 25, 4, 6), (5, 12, 2, 4), (4, 60, 5, 3)):
    columns = ratings(*design)
    reliability = [
        [np.nan if value is None else value for value in column]
        for column in columns.values()
    ]
    alpha = krippendorff.alpha(reliability, level_of_measurement="nominal")
    vectors.add("raters.value", {"ratings": columns, "method": "krippendorff"}, alpha)

vectors.write(
    __file__,
    suite="krippendorff",
    version=version("krippendorff"),
    licence="GPL-3.0-or-later",
    source="Castro; alpha; ratings by formulas",
    compared="Krippendorff's alpha of two to five raters, with missing ratings",
)
