"""How are names that came with the data written, so that they stay apart?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from trueness._core.checks.words import nearest
from trueness._core.records import shown

NAMELESS = "(no name)"


def told_apart(names: Sequence[str], most: int = 40) -> list[str]:
    """Write names with at most so many letters, and no two of them alike.

    Names that begin alike are cut where they are the same, not where they differ.

    >>> told_apart(["a_long_prefix_of_model_1", "a_long_prefix_of_model_2", "b"], 16)
    ['a_lo…_of_model_1', 'a_lo…_of_model_2', 'b']
    """
    texts = [_cut(name, most) for name in names]
    alike: dict[str, list[int]] = defaultdict(list)
    for k, text in enumerate(texts):
        alike[text].append(k)
    for group in alike.values():
        same = _same([str(names[k]) for k in group])
        for k in group if len(group) > 1 else ():
            texts[k] = _around(str(names[k]), same, most)
    return _numbered(texts, most)


def _same(names: Sequence[str]) -> int:
    """With how many letters do all of these begin alike?"""
    first, last = min(names), max(names)
    pairs = zip(first, last, strict=False)
    return next((k for k, (a, b) in enumerate(pairs) if a != b), len(first))


def _cut(name: str, most: int) -> str:
    text = shown(name, 10 * most) or NAMELESS
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _around(name: str, at: int, most: int) -> str:
    """Show the beginning of a name, and the place where it differs from others."""
    head = most // 4
    start = max(head, min(at - head, len(name) - most + head + 1))
    if len(name) <= most or start <= head:
        return _cut(name, most)
    return f"{shown(name[:head])}…{_cut(name[start:], most - head - 1)}"


def _numbered(texts: list[str], most: int) -> list[str]:
    """Number what is still alike."""
    found: list[str] = []
    for text in texts:
        new, same = text, 1
        while new in found:
            same += 1
            new = f"{_cut(text, most - 6)} ({same})"
        found.append(new)
    return found


# what other libraries call it (scikit-learn, pROC, yardstick, torchmetrics), and what
# to type here
ELSEWHERE = {
    "auc(y_true, y_score)": "roc_auc_score roc_auc auroc BinaryAUROC AUROC ci_auc "
    "roc_auc_vec binary_auroc",
    "roc(y_true, y_score)": "roc_curve BinaryROC RocCurveDisplay",
    "plots.roc(y_true, y_score)": "plot_roc ggroc plot_roc_curve",
    "average_precision(y_true, y_score)": "average_precision_score pr_auc auprc "
    "BinaryAveragePrecision",
    "precision_recall(y_true, y_score)": "precision_recall_curve pr_curve "
    "BinaryPrecisionRecallCurve",
    "confusion(y_true, y_score, 0.5)": "confusion_matrix conf_mat "
    "BinaryConfusionMatrix ConfusionMatrixDisplay",
    "at_threshold(y_true, y_score, 0.5)": "classification_report coords "
    "precision_recall_fscore_support",
    "brier(y_true, y_score)": "brier_score_loss brier_class brier_score",
    "log_loss(y_true, y_score)": "mn_log_loss cross_entropy",
    "compare_auc(y_true, {'a': a, 'b': b})": "roc_test delong_roc_test delong "
    "delong_test",
    "reliability(y_true, y_score)": "calibration_curve CalibrationDisplay",
    "calibration_error(y_true, y_score)": "BinaryCalibrationError "
    "expected_calibration_error ece",
    "calibrate(y_true, y_score)": "CalibratedClassifierCV",
    "estimators.ThresholdClassifier(model)": "TunedThresholdClassifierCV",
    "multiclass_auc(y_true, scores)": "MulticlassAUROC multiclass_roc hand_till",
    "accuracy(y_true, y_pred)": "accuracy_score BinaryAccuracy",
    "f1(y_true, y_pred)": "BinaryF1Score F1Score f_meas",
    "precision(y_true, y_pred)": "precision_score BinaryPrecision",
    "recall(y_true, y_pred)": "recall_score BinaryRecall",
    "mcc(y_true, y_pred)": "matthews_corrcoef BinaryMatthewsCorrCoef",
    "kappa(y_true, y_pred)": "cohen_kappa_score BinaryCohenKappa",
}


def not_here(
    name: str, known: Collection[str], inside: Mapping[str, str] | None = None
) -> str:
    """Say what a name that Trueness does not have is called here.

    ``inside`` says in which room a name is that is not at the top.

    >>> not_here("auroc", [])
    "module 'trueness' has no attribute 'auroc'. Type trueness.auc(y_true, y_score)."
    """
    text = f"module 'trueness' has no attribute {name!r}."
    if inside and name in inside:
        return f"{text} Type trueness.{inside[name]}.{name}."
    for here, others in ELSEWHERE.items():
        if name in others.split():
            return f"{text} Type trueness.{here}."
    return text + nearest(name, known)
