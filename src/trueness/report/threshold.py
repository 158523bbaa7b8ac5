"""What happens when the threshold moves? The slider and the figures that follow it.

Each classifier gets at most a few hundred *steps*: thresholds of its own, with the
exact counts there. Everything that the page shows follows from these counts, so the
figures and the numbers cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from markupsafe import Markup

from trueness._core.arrays import Array, Floats, Ints
from trueness.counts.values import Tally
from trueness.metrics.algebra import Constraint
from trueness.metrics.confusion import Confusion, sweep, thresholds
from trueness.report import svg
from trueness.report._parts import Figure, grid, percent

MOST_STEPS = 400
Band = tuple[Array, Array, Array]  # where, from, to
_ALL_STEPS = 6000  # of all classifiers together: keeps the page well under 2 MB


@final
@dataclass(frozen=True)
class Steps:
    """The thresholds that the slider stops at, and the counts there."""

    name: str
    threshold: Floats
    tp: Ints
    fp: Ints
    n_pos: int
    n_neg: int
    start: int

    @property
    def flagged_rate(self) -> float:
        """Give the share of the cases that the first cut flags."""
        flagged = self.tp[self.start] + self.fp[self.start]
        return float(flagged / (self.n_pos + self.n_neg))

    @property
    def confusion(self) -> Confusion:
        """Give the four counts at every step."""
        return Confusion(self.tp, self.fp, self.n_pos - self.tp, self.n_neg - self.fp)


def steps(t: Tally, name: str, start: float, models: int = 1) -> Steps:
    """Choose the steps of a slider; one of them is exactly the cut ``start``."""
    c, cut = sweep(t), thresholds(t)
    most = max(20, min(MOST_STEPS, _ALL_STEPS // models))
    # the chosen threshold may lie between two scores: the cut is what counts
    chosen = int(np.searchsorted(-cut, -start, side="right")) - 1
    at = np.union1d(_spread(c, t.n_pos, t.n_neg, most), [0, chosen, cut.size - 1])
    threshold = cut[at].copy()
    place = int(np.searchsorted(at, chosen))
    threshold[place] = start
    return Steps(name, threshold, c.tp[at], c.fp[at], t.n_pos, t.n_neg, place)


def _spread(c: Confusion, n_pos: int, n_neg: int, most: int) -> Ints:
    """Spread steps evenly along the ROC curve, and along the flagged share."""
    if c.tp.size <= most:
        return np.arange(c.tp.size)
    along = np.asarray(c.tp / n_pos + c.fp / n_neg)
    flagged = np.asarray((c.tp + c.fp) / (n_pos + n_neg))
    wanted = [
        np.searchsorted(v, np.linspace(0, v[-1], most // 2)) for v in (along, flagged)
    ]
    return np.unique(np.concatenate(wanted)).clip(0, c.tp.size - 1)


def slider(
    all_steps: Sequence[Steps],
    constraints: Sequence[Constraint],
    prices: tuple[float, float],
    weight: float,
    probabilities: Sequence[list[float | None] | None],
) -> dict[str, Any]:
    """Give what the script of the page needs to move every figure."""
    return {
        "models": [
            {
                "name": s.name,
                "threshold": [None if np.isinf(v) else float(v) for v in s.threshold],
                "tp": s.tp.tolist(),
                "fp": s.fp.tolist(),
                "pos": s.n_pos,
                "neg": s.n_neg,
                "start": s.start,
                "meets": [_flags(bound(c, s.confusion)) for c in constraints],
                "probability": probability,
            }
            for s, probability in zip(all_steps, probabilities, strict=True)
        ],
        "constraints": [repr(c) for c in constraints],
        "prices": {"fp": prices[0], "fn": prices[1]},
        "weight": weight,
    }


def bound(constraint: Constraint, c: Confusion) -> Array:
    """At which thresholds does a constraint hold? Not where it is undefined."""
    return np.asarray(constraint(c), dtype=bool)


def _flags(values: Array) -> str:
    return "".join("1" if v else "0" for v in values)


def roc_figure(
    models: Sequence[Steps], constraints: Sequence[Constraint], bands: Sequence[Band]
) -> Figure:
    """Draw recall against the false positive rate."""
    axes = svg.Axes("false positive rate", "recall (true positive rate)")
    marks = [
        *_forbidden(axes, constraints, models[0], _from_roc),
        svg.line(axes, [0, 1], [0, 1], "chance"),
        *band_marks(axes, enumerate(bands)),
    ]
    curves = [(s.fp / s.n_neg, s.tp / s.n_pos) for s in models]
    note = "Up and to the left is better; the dashed diagonal is guessing."
    return curve_figure("ROC curve", axes, marks, models, curves, "fpr recall", note)


def pr_figure(
    models: Sequence[Steps], constraints: Sequence[Constraint], bands: Sequence[Band]
) -> Figure:
    """Draw precision against recall."""
    axes = svg.Axes("recall (true positive rate)", "precision")
    first = models[0]
    prevalence = first.n_pos / (first.n_pos + first.n_neg)
    marks = [
        *_forbidden(axes, constraints, first, _from_pr),
        svg.line(axes, [0, 1], [prevalence, prevalence], "chance"),
        *band_marks(axes, enumerate(bands)),
    ]
    curves = []
    for s in models:
        some = (s.tp + s.fp) > 0  # precision of no flag at all is undefined
        curves.append((s.tp[some] / s.n_pos, s.tp[some] / (s.tp + s.fp)[some]))
    note = (
        "Up and to the right is better; the dashed line is guessing, at the "
        f"prevalence {percent(prevalence)}."
    )
    return curve_figure(
        "Precision and recall", axes, marks, models, curves, "recall precision", note
    )


def capacity_figure(
    models: Sequence[Steps], constraints: Sequence[Constraint]
) -> Figure:
    """Draw how many positives are found against how many cases are flagged."""
    axes = svg.Axes("share of cases flagged", "recall (true positive rate)")
    marks = [
        *_forbidden(axes, constraints, models[0], _from_capacity),
        svg.line(axes, [0, 1], [0, 1], "chance"),
        svg.upright(axes, models[0].flagged_rate, "now rule", "flagged_rate"),
    ]
    curves = [((s.tp + s.fp) / (s.n_pos + s.n_neg), s.tp / s.n_pos) for s in models]
    note = "How many of the positives are found when only so many cases can be handled."
    return curve_figure(
        "Capacity", axes, marks, models, curves, "flagged_rate recall", note
    )


def score_figure(tallies: Sequence[Tally], models: Sequence[Steps]) -> Figure:
    """Draw how the scores of positives and negatives are spread."""
    names = [s.name for s in models]
    low = min(float(t.score[-1]) for t in tallies)
    high = max(float(t.score[0]) for t in tallies)
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, 41)
    shares = [[_share(t.score, c, edges) for c in (t.neg, t.pos)] for t in tallies]
    top = max(float(v.max()) for pair in shares for v in pair) * 1.05 or 1.0
    axes = svg.Axes("score", "share of each class", (low, high), (0.0, top))
    marks = []
    for k, pair in enumerate(shares):
        for kind, heights in zip(("negatives", "positives"), pair, strict=True):
            x = np.repeat(edges, 2)
            y = np.concatenate([[0], np.repeat(heights, 2), [0]])
            marks.append(svg.polygon(axes, x, y, f"{kind} {only(k)}", str(k)))
    cut = float(np.clip(models[0].threshold[models[0].start], low, high))
    marks.append(svg.upright(axes, cut, "now rule", "threshold"))
    rows = [
        (name, f"{edges[b]:.3g} to {edges[b + 1]:.3g}", float(neg[b]), float(pos[b]))
        for name, (neg, pos) in zip(names, shares, strict=True)
        for b in range(40)
        if neg[b] + pos[b] > 0
    ]
    text = (
        f"Histogram of the scores of {', '.join(names)}, from {low:.3g} to {high:.3g}, "
        "positives and negatives apart; the table has the numbers."
    )
    return Figure(
        "Scores",
        svg.drawing(axes, marks, text),
        "Solid: positives. Dashed outline: negatives. Cases right of the line are "
        "flagged.",
        grid("Scores", ("classifier", "score", "negatives", "positives"), rows),
    )


def _share(score: Floats, count: Ints, edges: Floats) -> Floats:
    total = int(count.sum())
    counted, _ = np.histogram(score, edges, weights=count.astype(np.float64))
    return counted / total if total else counted


def curve_figure(
    title: str,
    axes: svg.Axes,
    marks: Sequence[Markup],
    models: Sequence[Steps],
    curves: Sequence[tuple[Array, Array] | None],
    follow: str,
    note: str,
) -> Figure:
    """Draw the curve of every classifier that has one, and the dot that moves.

    A curve may lack the first steps, where it is undefined.
    """
    lines, rows = [], []
    for k, (s, curve) in enumerate(zip(models, curves, strict=True)):
        if curve is None:
            continue
        chosen = "" if k else " chosen"
        lines.append(svg.line(axes, *curve, f"curve c{k % 8}{chosen}", str(k)))
        rows += _few_rows(s, *curve)
    dot = svg.dot(axes, *_start(models[0], curves[0]), "now", follow)
    drawn = [svg.clipped(axes, [*marks, *lines]), dot]
    names = ", ".join(s.name for s, c in zip(models, curves, strict=True) if c)
    text = f"{title} of {names}: {axes.y_label} against {axes.x_label}. {note}"
    head = ("classifier", "threshold", axes.x_label, axes.y_label)
    return Figure(title, svg.drawing(axes, drawn, text), note, grid(title, head, rows))


def _few_rows(s: Steps, x: Array, y: Array) -> list[tuple[str, str, float, float]]:
    """Give a dozen points of a curve, with their thresholds."""
    left_out = len(s.threshold) - len(x)
    at = np.unique(np.linspace(0, len(x) - 1, 12).astype(int))
    return [
        (s.name, cut_text(s.threshold[i + left_out]), float(x[i]), float(y[i]))
        for i in at
    ]


def cut_text(threshold: float) -> str:
    """Write a threshold with more places than a rate, since counts hang on it."""
    return "above all" if np.isposinf(threshold) else f"{threshold:.6g}"


def _start(s: Steps, curve: tuple[Array, Array] | None) -> tuple[float, float]:
    """Where is the chosen cut on this curve? Nowhere when it is undefined there."""
    at = -1 if curve is None else s.start - len(s.threshold) + len(curve[0])
    if curve is None or at < 0:
        return float("nan"), float("nan")
    return float(curve[0][at]), float(curve[1][at])


def only(k: int) -> str:
    """Show a mark of classifier k only while it is chosen; the first one is."""
    return "only gone" if k else "only"


def band_marks(axes: svg.Axes, bands: Iterable[tuple[int, Band]]) -> list[Markup]:
    """Draw the band of each classifier, seen while it is chosen."""
    return [
        svg.area(axes, x, low, high, f"band {only(k)} c{k % 8}", str(k))
        for k, (x, low, high) in bands
    ]


def _from_roc(x: Array, y: Array, s: Steps) -> tuple[Array, Array]:
    return y * s.n_pos, x * s.n_neg


def _from_pr(x: Array, y: Array, s: Steps) -> tuple[Array, Array]:
    tp = x * s.n_pos
    return tp, tp * (1 - y) / np.maximum(y, 1e-9)


def _from_capacity(x: Array, y: Array, s: Steps) -> tuple[Array, Array]:
    tp = y * s.n_pos
    return tp, x * (s.n_pos + s.n_neg) - tp


_ACROSS, _UP = 241, 961  # points of the figure at which constraints are asked


def _forbidden(
    axes: svg.Axes, constraints: Sequence[Constraint], s: Steps, counts: Any
) -> list[Markup]:
    """Shade where a constraint does not hold, whatever the metric: point by point."""
    if not constraints:
        return []
    x, y = np.meshgrid(np.linspace(0, 1, _ACROSS), np.linspace(0, 1, _UP))
    tp, fp = counts(x, y, s)
    c = Confusion(tp, fp, s.n_pos - tp, s.n_neg - fp)
    held = np.all([bound(k, c) for k in constraints], axis=0)
    wrong = ~held & (fp >= 0) & (fp <= s.n_neg)
    strips = (np.array(strip).T for strip in _strips(wrong.T))
    return [svg.area(axes, x, low, high, "forbidden") for x, low, high in strips]


def _strips(columns: Array) -> list[list[tuple[float, float, float]]]:
    """Join the marked stretches of neighbouring columns: (where, from, to) each."""
    half, high = 0.5 / (_ACROSS - 1), _UP - 1
    done: list[list[tuple[float, float, float]]] = []
    growing: list[list[tuple[float, float, float]]] = []
    for k, column in enumerate(columns):
        change = np.flatnonzero(np.diff(np.concatenate([[0], column, [0]])))
        ends = np.clip((change.reshape(-1, 2) - 0.5) / high, 0, 1).tolist()
        at = k / (_ACROSS - 1)
        if len(ends) != len(growing):
            done += growing
            growing = [[(max(at - half, 0.0), *pair)] for pair in ends]
        for strip, pair in zip(growing, ends, strict=True):
            strip.append((at, *pair))
    # a strip reaches half a column to either side, so that two of them meet
    return [
        [*strip, (min(strip[-1][0] + half, 1.0), *strip[-1][1:])]
        for strip in done + growing
    ]
