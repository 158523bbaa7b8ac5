"""python tests/outside/MRMCaov/make.py"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from write_vectors import Vectors

# As MRMCaov prints them of Van Dyke's readings: p-value of the test of both treatments,
# interval of treatment 1 less treatment 2
PRINTED = (
    ({}, 0.05166569, -0.0879594986, 0.0003588544),
    ({"covariance": "delong"}, 0.05123303, -0.0878671960, 0.0002665519),
    ({"covariance": "unbiased"}, 0.0511618, -0.0878519409, 0.0002512968),
    ({"fixed": "readers"}, 0.01927984, -0.08048591, -0.00711473),
    ({"fixed": "cases"}, 0.04195875, -0.08502022, -0.00258042),
    ({"metric": "recall", "threshold": 3}, 0.02008822, -0.1780371, -0.0175185),
)

vectors = Vectors()
for options, p_value, low, high in PRINTED:
    vectors.add("reader_study.p_value", options, p_value, 6)
    # the sample has names in place of numbers, and their order is the other one
    vectors.add("reader_study.low", options, -high, 6)
    vectors.add("reader_study.high", options, -low, 6)

vectors.write(
    __file__,
    suite="MRMCaov",
    version="0.3.0",
    licence="GPL-3.0-only",
    source="Smith, Hillis (2020), doi:10.1117/12.2549075; Van Dyke's readings",
    compared="Reader studies: p-values and intervals; random, fixed readers or cases",
    differs=(
        'Two to four readers have reference="behrens-fisher"; the published test '
        "rejects too often with so few.",
    ),
)
