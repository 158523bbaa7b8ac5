"""python tests/outside/optbinning/make.py"""

import sys
from pathlib import Path

import numpy as np
import optbinning
from optbinning.binning import metrics as binned
from optbinning.metrics.classification import gini

sys.path.insert(0, str(Path(__file__).parents[1]))
from write_vectors import Vectors

case = np.arange(500)
label = ((case * 37) % 101 < 12 + (case * 13) % 41).astype(int)
data = {
    "label": label,
    "fine": np.round(((case * 83) % 503) / 503 + 0.3 * label, 6),
    "tied": np.round(((case * 13 + 5 * label) % 23) / 23, 6),
    # grades 1 to 8 of two samples
    "reference": 1 + (case * 29) % 101 // 13,
    "current": 1 + np.minimum((case[:320] * 31) % 103 // 12, 7),
}
vectors = Vectors({name: column.tolist() for name, column in data.items()})

for name in ("fine", "tied"):
    inputs = {"label": "$label", "score": f"${name}"}
    vectors.add("scorecard.gini", inputs, gini(label, data[name]))

# Gini from the counts of bins, and the divergence of Jeffreys, which is the PSI
grades = np.arange(1, 9)
reference = np.array([np.sum(data["reference"] == grade) for grade in grades])
current = np.array([np.sum(data["current"] == grade) for grade in grades])
inputs = {"reference": "$reference", "current": "$current"}
theirs = binned.jeffrey(
    current / current.sum(), reference / reference.sum(), return_sum=True
)
vectors.add("psi.value", inputs, theirs)
theirs = binned.jeffrey(
    reference / reference.sum(), current / current.sum(), return_sum=True
)
vectors.add("psi.value", {"reference": "$current", "current": "$reference"}, theirs)

positives = np.array([4, 9, 15, 22, 31])
negatives = np.array([160, 140, 90, 60, 35])
theirs = binned.gini(positives, negatives)
inputs = {"positives": positives.tolist(), "negatives": negatives.tolist()}
vectors.add("grades.gini", inputs, theirs)
# the information value of a binned variable is the PSI of positives against negatives
theirs = binned.jeffrey(
    positives / positives.sum(), negatives / negatives.sum(), return_sum=True
)
vectors.add("grades.information_value", inputs, theirs)

vectors.write(
    __file__,
    suite="optbinning",
    version=optbinning.__version__,
    licence="Apache-2.0",
    source="Navas-Palencia (2020), arXiv:2001.08025; data by formulas",
    compared="Gini of cases and of binned counts, PSI, information value",
    differs=(
        "Its KS counts one negative too few at every score, so it can be smaller than "
        "ours by one over the number of negatives. Ours is that of SciPy.",
        "Its default bins of a PSI are those of a tree; ours have equal size in the "
        "reference.",
    ),
)
