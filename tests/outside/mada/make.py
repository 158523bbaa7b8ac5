"""python tests/outside/mada/make.py

mada's numbers are those of tests/reference/sites.R, which runs it.
"""

import json
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from write_vectors import Vectors

REFERENCE = Path(__file__).parents[2] / "reference" / "sites_bivariate.json"
studies = json.loads(REFERENCE.read_text())


def expit(log_odds):
    return 1 / (1 + math.exp(-log_odds))


vectors = Vectors()
for name in ("AuditC", "Dementia"):
    inputs = {"method": "normal"}
    for cell in ("tp", "fp", "fn", "tn"):
        column = f"{name}_{cell}"
        vectors.data[column] = [int(count) for count in studies[name][cell]]
        inputs[cell] = f"${column}"

    fit = studies[name]["mada"]
    sensitivity, specificity = fit["mean"]
    low, high = fit["interval_sensitivity"]
    vectors.add("summary_roc.sensitivity", inputs, expit(sensitivity), 5)
    vectors.add("summary_roc.specificity", inputs, expit(specificity), 5)
    vectors.add("summary_roc.sensitivity_low", inputs, low, 5)
    vectors.add("summary_roc.sensitivity_high", inputs, high, 5)

vectors.write(
    __file__,
    suite="mada",
    version="0.5.12",
    licence="GPL-2.0-only",
    source="Doebler, Sousa-Pinto; reitsma, with its data AuditC and Dementia",
    compared="Summary sensitivity with its interval, and specificity",
    differs=('Our default is the binomial model; mada\'s is method="normal".',),
)
