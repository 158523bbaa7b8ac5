"""What do confidence and utility look like, over n and over a tree?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from scipy.special import xlog1py, xlogy

from trueness._core.arrays import Array
from trueness._core.checks import options as _options
from trueness._core.figures import Axis, Curves, Line, span
from trueness._core.numbers import level_text
from trueness._core.records import shown
from trueness.plots._altair import SIZE, VERDICTS, alt, frame
from trueness.plots._draw import Shown, Style, picture
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
        Axis("height", "Likelihood (share of its maximum)"),
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
    the class of its majority, its number and its cases; its rule is shown when the
    pointer is on it.

    Parameters
    ----------
    tree
        A fitted scikit-learn tree, or a :class:`~trueness.estimators.ConfidentTree`.
    report
        From :func:`trueness.estimators.leaf_report`.
    names
        Names of the features; by default those that the tree was fitted with.
    """
    low: Any = getattr(tree, "estimator_", tree)
    low = low.tree_
    if names is None:
        names = getattr(tree, "feature_names_in_", None)
    left, right = low.children_left, low.children_right
    x, depth = _layout(left, right)
    ends = np.flatnonzero((depth >= 0) & (left < 0))
    inner = np.flatnonzero((depth >= 0) & (left >= 0))
    # room for a question under each other leaf, within what a page can show
    width = int(min(1400, max(SIZE, 75 * ends.size)))
    height = int(min(900, max(160, 84 * (depth.max() + 1))))
    # an edge ends above the question of its child, so that it crosses no words
    step = (height - 2 * _PADDING) / max(1, depth.max())
    below = np.column_stack([left[inner], right[inner]]).ravel()
    bottom = depth[below] - np.where(left[below] >= 0, _QUESTION / step, 0.0)
    edges = _placed(x, depth, inner.repeat(2), x2=x[below], depth2=bottom)
    feature = [f"x{f}" if names is None else str(names[f]) for f in low.feature[inner]]
    cuts = zip(feature, low.threshold[inner], strict=True)
    asked = _placed(x, depth, inner, question=[f"{f}\n<= {t:.4g}" for f, t in cuts])
    chart = alt.layer(
        edges.mark_rule(color="#c0c0c0").encode(x2="x2:Q", y2="depth2:Q"),
        asked.mark_text(fontSize=10, dy=-18, lineBreak="\n", color="#333333").encode(
            text="question:N", tooltip="question:N"
        ),
        _leaves(report, x, depth),
        _leaf_names(report, ends, x, depth),
    ).properties(width=width, height=height)
    trusted = int((report.verdict == "trust").sum())
    words = (
        f"A tree of {report.node.size} leaves coloured by level of confidence; "
        f"{trusted} reach {report.wanted:g}."
    )
    return chart, {"about": words}


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


_PADDING, _QUESTION = 34, 32  # pixels around a tree, and of a question in two lines


def _placed(x: Array, depth: Array, at: Array, **columns: Any) -> Any:
    """Begin a chart with a row for each of these nodes, where it lies."""
    across = alt.Scale(nice=False, zero=False, padding=60)
    down = alt.Scale(reverse=True, nice=False, padding=_PADDING)
    rows = frame({"x": x[at], "depth": depth[at], **columns})
    return alt.Chart(rows).encode(
        x=alt.X("x:Q", axis=None, scale=across),
        y=alt.Y("depth:Q", axis=None, scale=down),
    )


def _leaves(report: LeafReport, x: Array, depth: Array) -> Any:
    """Draw the leaves: colour, shape and size say how far each can be trusted."""
    columns = {
        "leaf": report.node,
        "cases": report.n,
        "confidence": report.confidence,
        "utility": report.utility,
        "verdict": report.verdict,
        "rule": [""] * report.node.size if report.rule is None else report.rule,
    }
    colour = alt.Scale(scheme="viridis", domain=[0.5, 1])
    known = [v for v in VERDICTS if v in report.verdict]
    shape = alt.Scale(domain=known, range=[VERDICTS[v][1] for v in known])
    size = alt.Scale(type="sqrt", range=[60, 500])
    sure = [alt.Tooltip(f"{k}:Q", format=".3f") for k in ("confidence", "utility")]
    marks = _placed(x, depth, report.node, **columns).mark_point(
        filled=True, stroke="#333333", strokeWidth=0.5, opacity=1
    )
    return marks.encode(
        color=alt.Color("confidence:Q", title="P(C)", scale=colour),
        shape=alt.Shape("verdict:N", title="verdict", scale=shape),
        size=alt.Size("cases:Q", title="cases", scale=size),
        tooltip=["leaf:N", "rule:N", "cases:Q", *sure, "verdict:N"],
    )


def _leaf_names(report: LeafReport, ends: Array, x: Array, depth: Array) -> Any:
    """Write class, number and cases under each leaf; some may have no case."""
    classes = ("negative", "positive") if report.classes is None else report.classes
    called = {"negative": classes[0], "positive": classes[1]}
    text = [
        f"{shown(called.get(m, m), 14)}\n#{node}, n = {n:,}"
        for m, node, n in zip(report.majority, report.node, report.n, strict=True)
    ]
    empty = np.setdiff1d(ends, report.node)
    text += [f"no case\n#{node}" for node in empty]
    at = np.concatenate([report.node, empty]).astype(int)
    words = _placed(x, depth, at, text=text)
    look: Any = {"fontSize": 9, "dy": 18, "lineBreak": "\n", "color": "#333333"}
    return words.mark_text(**look).encode(text="text:N")


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
    return leaf_figure(r), {"about": about}
