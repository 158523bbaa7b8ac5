"""Figures of leaves: what is in them, read from their specification."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import trueness
from trueness import InputError, plots

PAPER = {
    "no split": ([1.0], [0.7]),
    "A": ([0.9, 0.1], [0.75, 0.25]),
    "B": ([0.2, 0.8], [0.75, 0.6875]),
}


def values(spec, layer=None):
    """Rows of a chart, or of one of its layers."""
    data = (spec if layer is None else spec["layer"][layer])["data"]
    return data["values"] if "values" in data else spec["datasets"][data["name"]]


@pytest.mark.parametrize("level", ["confidence", "utility"])
def test_levels_by_n(level):
    spec = plots.levels_by_n(PAPER, n=[5, 20], level=level, title="Fig").to_dict()
    assert len(values(spec)) == 6
    for row in values(spec):
        known = trueness.trees.tree_levels(int(row["n"]), *PAPER[row["curve"]])
        assert row["level"] == pytest.approx(getattr(known, level))
    encoding = spec["layer"][0]["encoding"]
    assert encoding["x"]["field"] == "n"
    assert level in encoding["y"]["title"]
    assert "no split, A, B" in spec["description"]
    # told apart without colour as well
    assert encoding["strokeDash"]["field"] == "curve"


def test_levels_of_counted_leaves():
    windy = trueness.Leaves(["false", "true"], [2, 3], [6, 3])
    spec = plots.levels_by_n({"windy": windy}, n=[14]).to_dict()
    known = trueness.compare_splits({"windy": windy})
    at = known.name.tolist().index("windy")
    assert values(spec)[0]["level"] == pytest.approx(known.confidence[at])


def test_likelihoods_peak_at_their_estimates():
    spec = plots.majority_likelihood(5, 7).to_dict()
    curves = values(spec, 2)
    peak = {}
    for row in curves:
        name = row["curve"]
        if row["height"] >= peak.get(name, (0, 0))[0]:
            peak[name] = row["height"], row["p"]
    assert peak["likelihood"][1] == pytest.approx(5 / 7, abs=1e-3)
    assert peak["entropic likelihood"][1] == pytest.approx(2 / 3, abs=1e-3)
    marks = {row["rule"]: row["p"] for row in values(spec, 0)}
    assert marks["blend"] == pytest.approx(103 / 147)
    mirror = plots.majority_likelihood(2, 7).to_dict()
    assert values(mirror, 2) == curves


def test_certain_leaves_are_drawn_too():
    rows = values(plots.majority_likelihood(4, 4).to_dict(), 2)
    assert np.isfinite([row["height"] for row in rows]).all()


@pytest.fixture
def tree(rng):
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=300) > 0).astype(int)
    return (
        DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:200], y[:200]),
        X,
        y,
    )


def test_tree_with_its_leaves(tree):
    model, X, y = tree
    report = trueness.estimators.leaf_report(model, X[200:], y[200:])
    spec = plots.leaf_tree(model, report, names=["a", "b", "c"]).to_dict()
    edges, questions, leaves = (values(spec, layer) for layer in range(3))
    splits = model.get_n_leaves() - 1
    assert (len(edges), len(questions)) == (2 * splits, splits)
    assert len(leaves) == report.node.size
    assert {q["question"].split("\n")[0] for q in questions} <= {"a", "b", "c"}
    for row, p, verdict in zip(leaves, report.confidence, report.verdict, strict=True):
        assert (row["confidence"], row["verdict"]) == (p, verdict)
    assert spec["layer"][2]["encoding"]["color"]["field"] == "confidence"
    assert spec["layer"][2]["encoding"]["shape"]["field"] == "verdict"
    # leaves stand side by side, and lower than the root
    assert len({row["x"] for row in leaves}) == len(leaves)
    # class, number and cases under each leaf, its rule on touch
    texts = [row["text"] for row in values(spec, 3)]
    majority = {"negative": "0", "positive": "1", "tie": "tie"}
    assert all(text.startswith("no case") for text in texts[len(leaves) :])
    assert len(texts) == model.get_n_leaves()
    for k, text in enumerate(texts[: len(leaves)]):
        called, _, rest = text.partition("\n")
        assert called == majority[report.majority[k]]
        assert rest == f"#{report.node[k]}, n = {report.n[k]}"
        assert leaves[k]["rule"] == report.rule[k]
    # no edge enters the two lines of a question above its node
    at = {(q["x"], q["depth"]) for q in questions}
    for edge in edges:
        ends = [
            (x, d) for x, d in at if x == edge["x2"] and d - 1 < edge["depth2"] <= d
        ]
        assert all(edge["depth2"] < d for _, d in ends)
    assert min(row["depth"] for row in leaves) > min(q["depth"] for q in questions)


def test_a_leaf_without_a_case_is_named_too(tree):
    model, X, y = tree
    few = model.apply(X[200:]) == model.apply(X[200:])[0]
    report = trueness.estimators.leaf_report(model, X[200:][few], y[200:][few])
    texts = [row["text"] for row in values(plots.leaf_tree(model, report).to_dict(), 3)]
    empty = model.get_n_leaves() - report.node.size
    assert empty > 0
    assert sum(text.startswith("no case") for text in texts) == empty


def test_a_confident_tree_is_drawn(tree):
    _, X, y = tree
    model = trueness.estimators.ConfidentTree(random_state=0).fit(X[:200], y[:200])
    report = trueness.estimators.leaf_report(model, X[200:], y[200:])
    spec = plots.leaf_tree(model, report).to_dict()
    assert len(values(spec, 2)) == report.node.size


def test_names_are_text_only(tree):
    model, X, y = tree
    report = trueness.estimators.leaf_report(model, X[200:], y[200:])
    chart = plots.leaf_tree(model, report, names=["<script>", "b", "c"])
    assert any("<script>" in q["question"] for q in values(chart.to_dict(), 1))


def test_wrong_input_is_answered_by_a_sentence():
    with pytest.raises(InputError, match="level must be one of"):
        plots.levels_by_n(PAPER, level="trust")
    with pytest.raises(InputError, match="n must be a whole number"):
        plots.levels_by_n(PAPER, n=[2.5])
    with pytest.raises(InputError, match="found y=9 of n=7"):
        plots.majority_likelihood(9, 7)
    with pytest.raises(InputError, match="2 or more"):
        plots.majority_likelihood(1, 1)
