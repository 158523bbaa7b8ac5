"""python tests/outside/ppi_python/make.py"""

import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import ppi_py

sys.path.insert(0, str(Path(__file__).parents[1]))
from write_vectors import Vectors

# labelled cases by label and verdict (11, 10, 01, 00), then verdicts without a label
STUDIES = {
    "good judge": ([26000, 4000, 6000, 64000], [129000, 271000]),
    "poor judge": ([30000, 30000, 20000, 40000], [251000, 349000]),
    "lenient judge": ([9000, 200, 15000, 56000], [302000, 698000]),
}
vectors = Vectors()
for labelled, unlabelled in STUDIES.values():
    label = np.repeat([1.0, 1.0, 0.0, 0.0], labelled)
    verdict = np.repeat([1.0, 0.0, 1.0, 0.0], labelled)
    others = np.repeat([1.0, 0.0], unlabelled)
    estimate = ppi_py.ppi_mean_pointestimate(label, verdict, others)[0]
    low, high = np.ravel(ppi_py.ppi_mean_ci(label, verdict, others, alpha=0.05))

    # our interval is that of a posterior, so many labels agree to three digits
    inputs = {"labelled": labelled, "unlabelled": unlabelled}
    vectors.add("judged.value", inputs, estimate, 3)
    vectors.add("judged.low", inputs, low, 3)
    vectors.add("judged.high", inputs, high, 3)

vectors.write(
    __file__,
    suite="ppi-python",
    version=version("ppi-python"),
    licence="MIT",
    source="Angelopoulos et al. (2023), doi:10.1126/science.adi6000; counts of ours",
    compared="Rate of a judge's verdicts corrected by labels, with its interval",
    differs=(
        "Its interval is normal, ours that of a posterior: they agree once labels are "
        "many.",
    ),
)
