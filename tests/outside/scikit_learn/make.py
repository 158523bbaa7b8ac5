"""python tests/outside/scikit_learn/make.py"""

import sys
from pathlib import Path

import numpy as np
import sklearn
from sklearn import metrics

sys.path.insert(0, str(Path(__file__).parents[1]))
from write_vectors import Vectors

case = np.arange(1, 161)
label = ((case * 5) % 7 < 3).astype(int)
score = np.round((1 + (case * 13 + 6 * label) % 37) / 39, 6)
weight = 1 + (case * 11) % 5
flag = (score >= 0.5).astype(int)

vectors = Vectors(
    {"label": label.tolist(), "score": score.tolist(), "weight": weight.tolist()}
)
likelihood_ratios = metrics.class_likelihood_ratios
AT_HALF = {
    "accuracy": metrics.accuracy_score,
    "balanced_accuracy": metrics.balanced_accuracy_score,
    "recall": metrics.recall_score,
    "precision": metrics.precision_score,
    "f1": metrics.f1_score,
    "mcc": metrics.matthews_corrcoef,
    "kappa": metrics.cohen_kappa_score,
    "jaccard": metrics.jaccard_score,
    "lr_positive": lambda *y, **options: likelihood_ratios(*y, **options)[0],
    "lr_negative": lambda *y, **options: likelihood_ratios(*y, **options)[1],
}
for weights in ({}, {"weight": "$weight"}):
    inputs = {"label": "$label", "score": "$score", **weights}
    by_case = {"sample_weight": weight} if weights else {}
    for call, function in (
        ("auc", metrics.roc_auc_score),
        ("average_precision", metrics.average_precision_score),
        ("brier", metrics.brier_score_loss),
        ("log_loss", metrics.log_loss),
    ):
        vectors.add(f"{call}.value", inputs, function(label, score, **by_case))
    for max_fpr in (0.1, 0.35):
        number = metrics.roc_auc_score(label, score, max_fpr=max_fpr, **by_case)
        options = {"max_fpr": max_fpr, "corrected": True}
        vectors.add("partial_auc.value", {**inputs, **options}, number)
    for metric, function in AT_HALF.items():
        number = function(label, flag, **by_case)
        options = {"metric": metric, "threshold": 0.5}
        vectors.add("metric.value", {**inputs, **options}, number)

# certain, wrong probabilities, which scikit-learn clips
vectors.data["certain"] = np.round(score * 1.3 - 0.15, 6).clip(0, 1).tolist()
inputs = {"label": "$label", "score": "$certain", "clip": "scikit-learn"}
clipped = metrics.log_loss(label, vectors.data["certain"])
vectors.add("log_loss.value", inputs, clipped)

vectors.write(
    __file__,
    suite="scikit-learn",
    version=sklearn.__version__,
    licence="BSD-3-Clause",
    source="Pedregosa et al. (2011), JMLR 12:2825; data by formulas",
    compared="AUC, partial AUC, average precision, proper scores, ten metrics; weights",
    differs=(
        "Log loss of a certain, wrong probability is infinite; scikit-learn's is "
        'clip="scikit-learn".',
        "An undefined ratio is NaN; scikit-learn returns 0 and warns.",
    ),
)
