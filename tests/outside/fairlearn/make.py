"""python tests/outside/fairlearn/make.py"""

import sys
from pathlib import Path

import fairlearn
import numpy as np
from fairlearn import metrics

sys.path.insert(0, str(Path(__file__).parents[1]))
from write_vectors import Vectors

case = np.arange(600)
group = np.where(case % 7 < 3, "a", np.where(case % 7 < 6, "b", "c"))
label = ((case * 37) % 101 < 30 + 12 * (group == "a")).astype(int)
score = np.round(((case * 83) % 97) / 97 * 0.6 + 0.3 * label + 0.1 * (group == "a"), 6)

vectors = Vectors(
    {"label": label.tolist(), "score": score.tolist(), "group": group.tolist()}
)
RATES = {
    "selection_rate": metrics.selection_rate,
    "recall": metrics.true_positive_rate,
    "fpr": metrics.false_positive_rate,
    "specificity": metrics.true_negative_rate,
    "miss_rate": metrics.false_negative_rate,
}
for threshold in (0.4, 0.6):
    verdict = (score >= threshold).astype(int)
    for name, rate in RATES.items():
        theirs = metrics.MetricFrame(
            metrics=rate,
            y_true=label,
            y_pred=verdict,
            sensitive_features=group,
        )
        inputs = {
            "label": "$label",
            "score": "$score",
            "group": "$group",
            "metric": name,
            "threshold": threshold,
        }
        for member, value in theirs.by_group.items():
            vectors.add("groups.rate_" + member, inputs, value)
        vectors.add("groups.largest_gap", inputs, theirs.difference())
        vectors.add("groups.smallest_ratio", inputs, theirs.ratio())

    together = {
        "label": "$label",
        "score": "$score",
        "group": "$group",
        "threshold": threshold,
    }
    fairness = {"y_true": label, "y_pred": verdict, "sensitive_features": group}
    vectors.add(
        "fairness.demographic_parity_difference",
        together,
        metrics.demographic_parity_difference(**fairness),
    )
    vectors.add(
        "fairness.demographic_parity_ratio",
        together,
        metrics.demographic_parity_ratio(**fairness),
    )
    vectors.add(
        "fairness.equalized_odds_difference",
        together,
        metrics.equalized_odds_difference(**fairness),
    )
    vectors.add(
        "fairness.equalized_odds_ratio",
        together,
        metrics.equalized_odds_ratio(**fairness),
    )
    vectors.add(
        "fairness.equal_opportunity_difference",
        together,
        metrics.equal_opportunity_difference(**fairness),
    )

vectors.write(
    __file__,
    suite="fairlearn",
    version=fairlearn.__version__,
    licence="MIT",
    source="Weerts et al. (2023), JMLR 24(257); MetricFrame; data by formulas",
    compared="Rates by group, largest gaps, smallest ratios; demographic parity, "
    "equalized odds, equal opportunity",
    differs=("A gap of fairlearn has no interval; ours has one for every pair.",),
)
