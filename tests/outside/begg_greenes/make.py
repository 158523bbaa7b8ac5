"""python tests/outside/begg_greenes/make.py"""

import sys
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from write_vectors import Vectors

# Liver scans (Drum and Christacopoulos 1972): of 429 abnormal scans 263 were verified,
# 231 with disease; of 221 normal scans 81 were verified, 27 with disease.
abnormal = Fraction(429 * 231, 263)
normal = Fraction(221 * 27, 81)
sensitivity = abnormal / (abnormal + normal)
specificity = (221 - normal) / (650 - abnormal - normal)

inputs = {
    "verified_pos": [231, 27],
    "verified_neg": [32, 54],
    "unverified": [166, 140],
}
vectors = Vectors()
for metric, printed, exact in (
    ("recall", 0.84, sensitivity),
    ("specificity", 0.74, specificity),
):
    vectors.add("partly_verified.value", {**inputs, "metric": metric}, printed, 2)
    vectors.add("partly_verified.value", {**inputs, "metric": metric}, exact, 13)
predictive = Fraction(231, 263), Fraction(54, 81)
for metric, exact in zip(("precision", "npv"), predictive, strict=True):
    vectors.add("partly_verified.value", {**inputs, "metric": metric}, exact, 13)

vectors.write(
    __file__,
    suite="Begg and Greenes",
    version="1983",
    licence="published figures",
    source="Begg, Greenes (1983), doi:10.2307/2530820: liver scans, partly verified",
    compared="Sensitivity, specificity, predictive values, corrected for verification",
)
