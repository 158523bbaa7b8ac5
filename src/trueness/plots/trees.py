"""Confidence and utility of leaves, by number of cases and over a tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from scipy.special import xlog1py, xlogy

from trueness._core.arrays import Array
from trueness._core.checks import options as _options
from trueness._core.figures import (
    Axis,
    Curves,
    Diagram,
    Line,
    Node,
    TitledFigure,
    span,
)
from trueness._core.numbers import level_text
from trueness._core.records import shown
from trueness.plots._pictures import Shown, Style, picture
from trueness.trees.leaf_reports import LeafReport, leaf_figure
from trueness.trees.levels import TOP_METHODS, tree_levels
from trueness.trees.splits import named_splits, split_parameters

_LEVELS = {"confidence": "Level of confidence P(C)", "utility": "Level of utility P(U)"}


@picture
def levels_by_sample_size(
    splits: Mapping[str, Any],
    n: Iterable[int] = range(1, 101),
    *,
    level: str = "confidence",
    method: str = "blend",
    empty: str | float = "coin",
    **style: Unpack[Style],
) -> Shown:
    """Level of confidence, or of utility, of splits by number of cases.

    Figures 1 and 2 of Zhang (2024): one line per split.

    Parameters
    ----------
    splits
        A mapping from name to ``(weights, p)`` or :class:`trueness.Leaves`, as in
        :func:`trueness.compare_splits`; ``([1], [0.7])`` is no split.
    n
        Numbers of cases.
    level
        "confidence" or "utility".
    method, empty
        As in :func:`trueness.compare_splits`.
    """
    _options.choice(level, _LEVELS, "level")
    sizes = [_options.whole_number(size, "n") for size in n]

    lines = []
    for name, split in named_splits(splits).items():
        weights, _, p = split_parameters(split, method)
        levels = [
            getattr(tree_levels(size, weights, p, empty), level) for size in sizes
        ]
        lines.append(Line(name, {"n": np.array(sizes), "level": np.array(levels)}))

    x = span("n", "Cases n", sizes)
    y = span("level", _LEVELS[level], *(line["level"] for line in lines))
    return Curves(_LEVELS[level], x, y, tuple(lines))


@picture
def majority_likelihood(y: int, n: int, **style: Unpack[Style]) -> Shown:
    """Likelihood of the larger class probability, with and without the labels.

    Figure 3 of Zhang (2024): the likelihood of p and that of the size of the majority,
    each divided by its maximum. Maxima and their blend are marked.

    Parameters
    ----------
    y, n
        Cases of one class, and in all; at least two.
    """
    n = _options.whole_number(n, "n", at_least=2)
    y = _options.whole_number(y, "y")
    _options.part_of(y, n)
    majority = max(y, n - y)
    p = np.linspace(0.5, 1, 501)

    # which class has the majority is known, or is not
    of_this_class = xlogy(majority, p) + xlog1py(n - majority, -p)
    of_other_class = xlogy(n - majority, p) + xlog1py(majority, -p)
    log_likelihoods = {
        "likelihood": of_this_class,
        "entropic likelihood": np.logaddexp(of_this_class, of_other_class),
    }
    lines = [
        Line(name, {"p": p, "height": np.exp(log_likelihood - log_likelihood.max())})
        for name, log_likelihood in log_likelihoods.items()
    ]

    estimates = {
        name: float(estimate(np.asarray(majority), np.asarray(n)))
        for name, estimate in TOP_METHODS.items()
    }
    values = ", ".join(f"{name} {value:.4f}" for name, value in estimates.items())

    return Curves(
        f"Likelihoods of the larger class probability for {y} of {n} ({values})",
        Axis("p", "Larger class probability p", 0.5, 1.0),
        Axis("height", "Likelihood (proportion of its maximum)"),
        tuple(lines),
        rules=tuple(estimates.items()),
    )


@picture
def leaf_tree(
    tree: Any,
    report: LeafReport,
    *,
    names: Sequence[str] | None = None,
    **style: Unpack[Style],
) -> Shown:
    """A tree with the confidence of its leaves: which can be trusted?

    The tree with its leaves coloured by their level of confidence; their size grows
    with their number of cases, and their shape shows the verdict. Each leaf is labelled
    with its number, its majority class and its number of cases.

    Parameters
    ----------
    tree
        A fitted scikit-learn tree, or a :class:`~trueness.estimators.ConfidentTree`.
    report
        From :func:`trueness.estimators.leaf_report`.
    names
        Names of the features; by default those that the tree was fitted with.
    """
    fitted_tree = getattr(tree, "estimator_", tree).tree_
    if names is None:
        names = getattr(tree, "feature_names_in_", None)

    left_child = fitted_tree.children_left
    right_child = fitted_tree.children_right
    x, depth = _layout(left_child, right_child)
    # numbers of nodes that a path leads to, and their places among these
    numbers = np.flatnonzero(depth >= 0).tolist()
    place_of = {number: place for place, number in enumerate(numbers)}

    leaves = _leaf_nodes(report, x, depth)
    nodes = []
    edges = []
    for number in numbers:
        is_leaf = left_child[number] < 0
        if is_leaf:
            # where no case of the report reached the leaf, it has no node yet
            empty = Node(x[number], depth[number], below=f"no case\n#{number}")
            nodes.append(leaves.get(number, empty))
            continue

        question = _question(fitted_tree, number, names)
        nodes.append(Node(x[number], depth[number], above=question, readout=question))
        for child in (left_child[number], right_child[number]):
            edges.append((place_of[number], place_of[child]))

    diagram = Diagram(
        "A tree with the confidence of its leaves",
        tuple(nodes),
        tuple(edges),
        shapes={
            shape: verdict
            for verdict, shape in _SHAPES.items()
            if verdict in report.verdict
        },
        level_title="Level of confidence P(C)",
    )
    n_trusted = int((report.verdict == "trust").sum())
    description = (
        f"A tree of {report.node.size} leaves coloured by level of confidence; "
        f"{n_trusted} reach {report.required_confidence:g}."
    )

    return TitledFigure(diagram, description=description)


def _question(nodes_of_tree: Any, number: int, names: Sequence[str] | None) -> str:
    """Return what an inner node asks: is this feature at most that number?"""
    feature = nodes_of_tree.feature[number]
    name = f"x{feature}" if names is None else str(names[feature])
    return f"{name}\n<= {nodes_of_tree.threshold[number]:.4g}"


_SHAPES = {
    "trust": "circle",
    "untested": "square",
    "thin": "triangle",
    "coin toss": "cross",
    "contradicted": "diamond",
}


def _leaf_nodes(report: LeafReport, x: Array, depth: Array) -> dict[int, Node]:
    """Return the leaves by their number: colour, shape and size say what to trust."""
    class_names: dict[Any, Any] = {}

    if report.classes is not None:
        class_names["negative"] = report.classes[0]
        class_names["positive"] = report.classes[1]

    largest = max(float(report.n.max()), 1.0)
    leaves = {}
    for row, leaf in enumerate(report.node.tolist()):
        majority = report.majority[row]
        class_name = shown(class_names.get(majority, majority), 14)
        cases = f"{report.n[row]:,}"
        rule = ""
        if report.rule is not None:
            rule = f"{report.rule[row]}; "

        leaves[int(leaf)] = Node(
            x[leaf],
            depth[leaf],
            below=f"{class_name}\n#{leaf}, n = {cases}",
            shape=_SHAPES[report.verdict[row]],
            size=float(report.n[row]) / largest,
            level=float(report.confidence[row]),
            readout=f"{rule}{cases} cases, {report.verdict[row]}, "
            f"P(C) {report.confidence[row]:.3f}, P(U) {report.utility[row]:.3f}",
        )

    return leaves


def _layout(left_child: Array, right_child: Array) -> tuple[Array, Array]:
    """Return horizontal place and depth of each node; -1 where none leads to it.

    Leaves stand side by side, parents over the middle of their children.
    """
    is_leaf = left_child < 0
    depth = np.full(left_child.size, -1)
    depth[0] = 0
    parents_first = []
    to_visit = [0]

    while to_visit:
        node = to_visit.pop()
        parents_first.append(node)
        if not is_leaf[node]:
            children = [right_child[node], left_child[node]]
            depth[children] = depth[node] + 1
            # the left child is visited first, so that leaves come from left to right
            to_visit += children

    x = np.zeros(left_child.size)
    leaves = [node for node in parents_first if is_leaf[node]]
    x[leaves] = np.arange(len(leaves))

    for node in reversed(parents_first):
        if not is_leaf[node]:
            x[node] = (x[left_child[node]] + x[right_child[node]]) / 2

    return x, depth


@picture
def leaf_probabilities(report: LeafReport, **style: Unpack[Style]) -> Shown:
    """Majority of each leaf with its interval: how certain is it, is it trusted?

    Parameters
    ----------
    report
        From ``leaves.report()``.
    """
    trusted = int((report.verdict == "trust").sum())
    about = (
        f"Proportion of the majority in each of {report.node.size} leaves with its "
        f"{level_text(report.level)} interval; {trusted} can be trusted."
    )
    return TitledFigure(leaf_figure(report), description=about)
