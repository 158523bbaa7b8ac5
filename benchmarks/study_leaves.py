"""Do leaves with a low P(C) fail more often, and does pruning by them pay?

    python benchmarks/study_leaves.py

Real data: scikit-learn's breast cancer, digits, wine and diabetes as questions with two
answers, and West Nile with the copies of a record kept in one part. Each repeat grows
a tree without limits on two fifths of the cases, keeps one fifth apart, and looks at
the other two fifths as new cases.

"leaves" rows: by verdict, how many leaves, their mean P(C) and P(U), the share of them
whose majority among at least ten new cases is another one, and the share of new cases
they predict right. Counted once on the cases the tree was grown on and once on the
fifth kept apart.

"pruning" rows: accuracy on new cases of trees pruned by confidence, less that of
cost-complexity pruning of the same tree with as many leaves (or the next fewer), with
its standard error over the repeats (which share their cases: it is too small). "alone"
is pruned on the cases it was grown on, "apart" on the fifth kept apart; "cv" is
cost-complexity with its strength chosen by five-fold cross-validation on both parts
together.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from trueness.estimators import leaf_report, prune
from trueness.estimators.trees import tree_leaves

HERE = Path(__file__).parent
SHARED = Path(os.environ.get("TRUENESS_SHARED", HERE.parent.parent / "shared"))
WEST_NILE = SHARED / "data" / "west_nile.csv.bz2"
REPEATS = int(os.environ.get("TRUENESS_REPEATS", "24"))
FLOORS = (0.0, 0.8, 0.9, 0.95, 0.99)
SLOW = 6  # West Nile: so many times fewer repeats
ENOUGH = 10  # new cases in a leaf before its majority is judged


class Row(NamedTuple):
    data: str
    question: str
    choice: str
    leaves: float
    confidence: float | str
    utility: float | str
    fails: float | str
    accuracy: float
    difference: float | str
    standard_error: float | str


Data = tuple[np.ndarray, np.ndarray, np.ndarray]


def bundled(name: str, answer: Any) -> Data:
    """Features, labels and groups that must stay together, of a bundled data set."""
    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return x, answer(y) + 0, np.arange(len(y))


def west_nile() -> Data:
    import pandas as pd

    frame = pd.read_csv(WEST_NILE)
    y = (frame.pop("y") == "Yes").to_numpy().astype(int)
    x = frame.to_numpy(dtype=float)
    _, group = np.unique(x, axis=0, return_inverse=True)
    return x, y, group


def parts(data: Data, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Two fifths to grow, one fifth apart, two fifths new; groups stay together."""
    x, y, group = data
    rng = np.random.default_rng([seed, len(y)])
    fifth = rng.permutation(np.arange(group.max() + 1) % 5)[group]
    return [(x[at], y[at]) for at in (fifth < 2, fifth == 2, fifth > 2)]


def grown(data: Data, seed: int) -> tuple[Any, list[tuple[np.ndarray, np.ndarray]]]:
    split = parts(data, seed)
    return DecisionTreeClassifier(random_state=seed).fit(*split[0]), split


def by_verdict(tree: Any, report: Any, new: Any) -> dict[str, np.ndarray]:
    """Add up, by verdict: leaves, P(C), P(U), judged, failed, cases, right ones."""
    found, _ = tree_leaves(tree, *new)
    counts = np.zeros((2, tree.tree_.node_count), dtype=int)
    counts[:, found.node] = found.neg, found.pos
    neg, pos = counts[:, report.node]
    # the leaf predicts the majority of the cases that it was counted on
    up, tie = report.majority == "positive", report.majority == "tie"
    right = np.where(tie, (neg + pos) / 2, np.where(up, pos, neg))
    judged = (neg + pos >= ENOUGH) & (neg != pos)
    failed = judged * np.where(tie, 0.5, (pos > neg) != up)
    columns = (report.confidence, report.utility, judged, failed, neg + pos, right)
    return {
        verdict: np.array(
            [at.sum(), *(np.asarray(c, float)[at].sum() for c in columns)]
        )
        for verdict in ("trust", "thin", "coin toss")
        for at in [report.verdict == verdict]
    }


def repeats(name: str) -> int:
    return max(2, REPEATS // SLOW) if name == "West Nile" else REPEATS


def leaf_rows(name: str, data: Data) -> list[Row]:
    total: dict[tuple[str, str], Any] = defaultdict(lambda: np.zeros(7))
    for seed in range(repeats(name)):
        tree, (_, apart, new) = grown(data, seed)
        reports = {"alone": leaf_report(tree), "apart": leaf_report(tree, *apart)}
        for source, report in reports.items():
            for verdict, sums in by_verdict(tree, report, new).items():
                total[source, verdict] += sums
    rows = []
    for (source, verdict), sums in total.items():
        leaves, confidence, utility, judged, failed, cases, right = sums
        if not leaves or not cases:
            continue
        rows.append(
            Row(
                name,
                "leaves",
                f"{verdict}, {source}",
                round(leaves / repeats(name), 1),
                round(confidence / leaves, 3),
                round(utility / leaves, 3),
                round(failed / judged, 3) if judged else "",
                round(right / cases, 3),
                "",
                "",
            )
        )
    return rows


def cut_to(path: list[Any], leaves: int) -> Any:
    """Give the largest tree of a cost-complexity path with at most so many leaves."""
    return max((t for t in path if t.get_n_leaves() <= leaves), key=size)


def size(tree: Any) -> int:
    return int(tree.get_n_leaves())


def cost_complexity(tree: Any, x: np.ndarray, y: np.ndarray) -> list[Any]:
    alphas = np.maximum(tree.cost_complexity_pruning_path(x, y).ccp_alphas, 0)
    # between two steps, so that rounding does not decide; at most 60 trees
    middle = np.append((alphas[1:] + alphas[:-1]) / 2, 2 * alphas[-1] + 1)
    if middle.size > 60:
        middle = middle[np.unique(np.linspace(0, middle.size - 1, 60).astype(int))]
    seed = tree.random_state
    return [
        DecisionTreeClassifier(random_state=seed, ccp_alpha=a).fit(x, y) for a in middle
    ]


def pruned_rows(name: str, data: Data) -> list[Row]:
    scored: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for seed in range(repeats(name)):
        tree, (first, apart, new) = grown(data, seed)
        path = cost_complexity(tree, *first)
        for floor in FLOORS:
            for source, cases in (("alone", ()), ("apart", apart)):
                ours = prune(tree, *cases, confidence=floor)
                theirs = cut_to(path, size(ours))
                scored[f"{source}, floor {floor:g}"].append(
                    (size(ours), ours.score(*new), theirs.score(*new))
                )
        both = [np.concatenate(c) for c in zip(first, apart, strict=True)]
        chosen = chosen_by_cv(both, [t.ccp_alpha for t in path], seed)
        scored["cv"].append((size(chosen), chosen.score(*new), np.nan))
        scored["full"].append((size(tree), tree.score(*new), np.nan))
    return [summary(name, choice, np.array(v)) for choice, v in scored.items()]


def chosen_by_cv(both: Any, alphas: list[float], seed: int) -> Any:
    some = np.unique(np.quantile(alphas, np.linspace(0, 1, 12)))
    tree = DecisionTreeClassifier(random_state=seed)
    return GridSearchCV(tree, {"ccp_alpha": some}, cv=5).fit(*both).best_estimator_


def summary(name: str, choice: str, v: np.ndarray) -> Row:
    difference = v[:, 1] - v[:, 2]
    known = not np.isnan(difference).any()
    error = difference.std(ddof=1) / len(v) ** 0.5
    return Row(
        name,
        "pruning",
        choice,
        round(v[:, 0].mean(), 1),
        "",
        "",
        "",
        round(v[:, 1].mean(), 4),
        round(difference.mean(), 4) if known else "",
        round(error, 4) if known else "",
    )


QUESTIONS = {
    "breast cancer": lambda: bundled("breast_cancer", lambda y: y),
    "wine, second": lambda: bundled("wine", lambda y: y == 1),
    "diabetes, above median": lambda: bundled("diabetes", lambda y: y > np.median(y)),
    "digits, eight": lambda: bundled("digits", lambda y: y == 8),
    "digits, odd": lambda: bundled("digits", lambda y: y % 2),
    "West Nile": west_nile,
}


def rows():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the warning of leaf_report is the point
        for name, data in QUESTIONS.items():
            if name == "West Nile" and not WEST_NILE.exists():
                continue
            yield from leaf_rows(name, data())
            yield from pruned_rows(name, data())


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    import run

    result = run.run_file(Path(__file__))
    (HERE / "results").mkdir(exist_ok=True)
    target = HERE / "results" / "study_leaves.json"
    target.write_text(json.dumps(result, indent=1))
    run.write_table()
