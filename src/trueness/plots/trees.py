"""What do confidence and utility look like, over n and over a tree?"""

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
def levels_by_n(
    splits: Mapping[str, Any],
    n: Iterable[int] = range(1, 101),
    *,
    level: str = "confidence",
    method: str = "blend",
    empty: str | float = "coin",
    **look: Unpack[Style],
) -> Shown:
    """How do splits compare as the number of cases grows?

    Figures 1 and 2 of Zhang (2024): one line per split.

    Parameters
    ----------
    splits
        From name to ``(weights, p)`` or :class:`trueness.Leaves`, as in
        :func:`trueness.compare_splits`; ``([1], [0.7])`` is no split.
    n
        Numbers of cases.
    level
        "confidence" or "utility".
    method, empty
        As in :func:`trueness.compare_splits`.
    """
    _options.choice(level, _LEVELS, "level")
    sizes = [_options.whole_number(m, "n") for m in n]
    lines = []
    for name, split in named_splits(splits).items():
        share, _, p = split_parameters(split, method)
        found = [getattr(tree_levels(m, share, p, empty), level) for m in sizes]
        lines.append(Line(name, {"n": np.array(sizes), "level": np.array(found)}))
    x = span("n", "Cases n", sizes)
    y = span("level", _LEVELS[level], *(line["level"] for line in lines))
    return Curves(_LEVELS[level], x, y, tuple(lines))


@picture
def majority_likelihood(y: int, n: int, **look: Unpack[Style]) -> Shown:
    """Which larger class probability explains y of n, with and without the labels?

    Figure 3 of Zhang (2024): the likelihood of p and that of the size of the majority,
    each divided by its maximum, with their maxima and the blend of the two.

    Parameters
    ----------
    y, n
        Cases of one class, and in all; at least two.
    """
    n = _options.whole_number(n, "n", at_least=2)
    y = _options.whole_number(y, "y")
    _options.part_of(y, n)
    top, p = max(y, n - y), np.linspace(0.5, 1, 501)
    plain, other = (xlogy(k, p) + xlog1py(n - k, -p) for k in (top, n - top))
    both = np.logaddexp(plain, other)
    curves = {"likelihood": plain, "entropic likelihood": both}
    estimate = {
        name: float(f(np.asarray(top), np.asarray(n)))
        for name, f in TOP_METHODS.items()
    }
    found = ", ".join(f"{name} {value:.4f}" for name, value in estimate.items())
    return Curves(
        f"Likelihoods of the larger class probability for {y} of {n} ({found})",
        Axis("p", "Larger class probability p", 0.5, 1.0),
        Axis("height", "Likelihood (proportion of its maximum)"),
        tuple(Line(name, {"p": p, "height": np.exp(c - c.max())})
              for name, c in curves.items()),
        rules=tuple(estimate.items()),
    )  # fmt: skip


@picture
def leaf_tree(
    tree: object,
    report: LeafReport,
    *,
    names: Sequence[str] | None = None,
    **look: Unpack[Style],
) -> Shown:
    """Which leaves of this tree can be trusted, seen at a glance?

    The tree with its leaves coloured by their level of confidence; their size grows
    with their number of cases, and their shape shows the verdict. Under each leaf are
    the class of its majority, its number and its cases.

    Parameters
    ----------
    tree
        A fitted scikit-learn tree, or a :class:`~trueness.estimators.ConfidentTree`.
    report
        From :func:`trueness.estimators.leaf_report`.
    names
        Names of the features; by default those that the tree was fitted with.
    """
    fitted: Any = getattr(tree, "estimator_", tree)
    nodes_of_tree = fitted.tree_
    if names is None:
        names = getattr(tree, "feature_names_in_", None)
    left, right = nodes_of_tree.children_left, nodes_of_tree.children_right
    x, depth = _layout(left, right)
    reached = np.flatnonzero(depth >= 0)
    leaves = _leaf_nodes(report, x, depth)
    nodes = []
    for node in reached.tolist():
        if left[node] >= 0:
            feature = nodes_of_tree.feature[node]
            name = f"x{feature}" if names is None else str(names[feature])
            question = f"{name}\n<= {nodes_of_tree.threshold[node]:.4g}"
            nodes.append(Node(x[node], depth[node], above=question, readout=question))
        else:
            # no case of the report reached this leaf
            empty = Node(x[node], depth[node], below=f"no case\n#{node}")
            nodes.append(leaves.get(node, empty))
    place = {node: k for k, node in enumerate(reached.tolist())}
    edges = [
        (place[node], place[child])
        for node in reached.tolist()
        if left[node] >= 0
        for child in (left[node], right[node])
    ]
    diagram = Diagram(
        "A tree with the confidence of its leaves",
        tuple(nodes),
        tuple(edges),
        shapes={_SHAPES[v]: v for v in _SHAPES if v in report.verdict},
        level_title="Level of confidence P(C)",
    )
    trusted = int((report.verdict == "trust").sum())
    words = (
        f"A tree of {report.node.size} leaves coloured by level of confidence; "
        f"{trusted} reach {report.wanted:g}."
    )
    return TitledFigure(diagram, description=words)


_SHAPES = {
    "trust": "circle",
    "untested": "square",
    "thin": "triangle",
    "coin toss": "cross",
    "contradicted": "diamond",
}


def _leaf_nodes(report: LeafReport, x: Array, depth: Array) -> dict[int, Node]:
    """Return the leaves by their number: colour, shape and size say what to trust."""
    classes = ("negative", "positive") if report.classes is None else report.classes
    class_names = {"negative": classes[0], "positive": classes[1]}
    largest = max(float(report.n.max()), 1.0)
    leaves = {}
    for k, leaf in enumerate(report.node.tolist()):
        majority = report.majority[k]
        name = shown(class_names.get(majority, majority), 14)
        rule = "" if report.rule is None else f"{report.rule[k]}; "
        leaves[int(leaf)] = Node(
            x[leaf],
            depth[leaf],
            below=f"{name}\n#{leaf}, n = {report.n[k]:,}",
            shape=_SHAPES[report.verdict[k]],
            size=float(report.n[k]) / largest,
            level=float(report.confidence[k]),
            readout=f"{rule}{report.n[k]:,} cases, {report.verdict[k]}, "
            f"P(C) {report.confidence[k]:.3f}, P(U) {report.utility[k]:.3f}",
        )
    return leaves


def _layout(left: Array, right: Array) -> tuple[Array, Array]:
    """Put leaves side by side and parents over the middle of their children."""
    x, depth = np.zeros(left.size), np.full(left.size, -1)
    depth[0] = 0
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if left[node] >= 0:
            depth[[left[node], right[node]]] = depth[node] + 1
            stack += [right[node], left[node]]
    ends = [node for node in order if left[node] < 0]
    x[ends] = np.arange(len(ends))
    for node in reversed(order):
        if left[node] >= 0:
            x[node] = (x[left[node]] + x[right[node]]) / 2
    return x, depth


@picture
def leaf_shares(r: LeafReport, **look: Unpack[Style]) -> Shown:
    """How large is the majority of each leaf, how certain is it, and can it be trusted?

    Parameters
    ----------
    r
        From ``leaves.report()``.
    """
    trusted = int((r.verdict == "trust").sum())
    about = (
        f"Share of the majority in each of {r.node.size} leaves with its "
        f"{level_text(r.level)} interval; {trusted} can be trusted."
    )
    return TitledFigure(leaf_figure(r), description=about)
