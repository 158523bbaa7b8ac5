"""What happens when the threshold moves? The slider and the figures that follow it.

Each classifier gets at most a few hundred *steps*: thresholds of its own, with the
exact counts there. Everything that the page shows follows from these counts, so the
figures and the numbers cannot disagree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from markupsafe import Markup

from karat._numerics import Array, Floats, Ints
from karat.algebra import Constraint
from karat.confusion import Confusion, sweep, thresholds
from karat.counts import Tally
from karat.report import svg
from karat.report._parts import Figure, grid, percent

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
    probabilities: Sequence[list[float | None]],
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
    marks = _forbidden(axes, constraints, models[0], _from_roc)
    marks.append(svg.line(axes, [0, 1], [0, 1], "chance"))
    marks += _bands(axes, bands)
    rates = [(s.fp / s.n_neg, s.tp / s.n_pos) for s in models]
    return _curves(
        "ROC curve",
        axes,
        marks,
        models,
        rates,
        "fpr recall",
        "Up and to the left is better; the dashed diagonal is guessing.",
    )


def pr_figure(
    models: Sequence[Steps], constraints: Sequence[Constraint], bands: Sequence[Band]
) -> Figure:
    """Draw precision against recall."""
    axes = svg.Axes("recall (true positive rate)", "precision")
    first = models[0]
    prevalence = first.n_pos / (first.n_pos + first.n_neg)
    marks = _forbidden(axes, constraints, first, _from_pr)
    marks.append(svg.line(axes, [0, 1], [prevalence, prevalence], "chance"))
    marks += _bands(axes, bands)
    rates = []
    for s in models:
        some = (s.tp + s.fp) > 0  # precision of no flag at all is undefined
        rates.append((s.tp[some] / s.n_pos, (s.tp / np.maximum(s.tp + s.fp, 1))[some]))
    return _curves(
        "Precision and recall",
        axes,
        marks,
        models,
        rates,
        "recall precision",
        "Up and to the right is better; the dashed line is guessing, at the "
        f"prevalence {percent(prevalence)}.",
    )


def capacity_figure(
    models: Sequence[Steps], constraints: Sequence[Constraint]
) -> Figure:
    """Draw how many positives are found against how many cases are flagged."""
    axes = svg.Axes("share of cases flagged", "recall (true positive rate)")
    marks = _forbidden(axes, constraints, models[0], _from_capacity)
    marks.append(svg.line(axes, [0, 1], [0, 1], "chance"))
    rates = [((s.tp + s.fp) / (s.n_pos + s.n_neg), s.tp / s.n_pos) for s in models]
    marks.append(svg.upright(axes, models[0].flagged_rate, "now rule", "flagged_rate"))
    return _curves(
        "Capacity",
        axes,
        marks,
        models,
        rates,
        "flagged_rate recall",
        "How many of the positives are found when only so many cases can be handled.",
    )


def cost_figure(models: Sequence[Steps], prices: tuple[float, float]) -> Figure:
    """Draw what the errors cost against how many cases are flagged."""
    fp, fn = prices
    curves = []
    for s in models:
        total = s.n_pos + s.n_neg
        cost = (fp * s.fp + fn * (s.n_pos - s.tp)) / total
        curves.append(((s.tp + s.fp) / total, cost))
    top = max(float(y.max()) for _, y in curves) * 1.05 or 1.0
    axes = svg.Axes("share of cases flagged", "cost per case", y=(0.0, top))
    marks = [svg.upright(axes, models[0].flagged_rate, "now rule", "flagged_rate")]
    return _curves(
        "Cost",
        axes,
        marks,
        models,
        curves,
        "flagged_rate cost",
        f"Lower is better; a false alarm costs {fp:g}, a missed positive {fn:.4g}.",
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


def _curves(
    title: str,
    axes: svg.Axes,
    marks: list[Markup],
    models: Sequence[Steps],
    curves: Sequence[tuple[Array, Array]],
    follow: str,
    note: str,
) -> Figure:
    """Draw a curve for every classifier, and the dot that the slider moves."""
    for k, (x, y) in enumerate(curves):
        chosen = "" if k else " chosen"
        marks.append(svg.line(axes, x, y, f"curve c{k % 8}{chosen}", str(k)))
    x, y = curves[0]
    start = max(0, models[0].start - len(models[0].threshold) + len(x))
    marks.append(svg.dot(axes, x[start], y[start], "now", follow))
    rows = []
    for s, (x, y) in zip(models, curves, strict=True):
        for i in np.unique(np.linspace(0, len(x) - 1, 12).astype(int)):
            cut = s.threshold[i + len(s.threshold) - len(x)]
            rows.append((s.name, float(cut), float(x[i]), float(y[i])))
    names = ", ".join(s.name for s in models)
    text = f"{title} of {names}: {axes.y_label} against {axes.x_label}. {note}"
    head = ("classifier", "threshold", axes.x_label, axes.y_label)
    return Figure(title, svg.drawing(axes, marks, text), note, grid(title, head, rows))


def only(k: int) -> str:
    """Show a mark of classifier k only while it is chosen; the first one is."""
    return "only gone" if k else "only"


def _bands(axes: svg.Axes, bands: Sequence[Band]) -> list[Markup]:
    return [
        svg.area(axes, x, low, high, f"band {only(k)} c{k % 8}", str(k))
        for k, (x, low, high) in enumerate(bands)
    ]


def _from_roc(x: Array, y: Array, s: Steps) -> tuple[Array, Array]:
    return y * s.n_pos, x * s.n_neg


def _from_pr(x: Array, y: Array, s: Steps) -> tuple[Array, Array]:
    tp = x * s.n_pos
    return tp, tp * (1 - y) / np.maximum(y, 1e-9)


def _from_capacity(x: Array, y: Array, s: Steps) -> tuple[Array, Array]:
    tp = y * s.n_pos
    return tp, x * (s.n_pos + s.n_neg) - tp


def _forbidden(
    axes: svg.Axes, constraints: Sequence[Constraint], s: Steps, counts: Any
) -> list[Markup]:
    """Shade where a constraint does not hold, whatever the metric: by small columns."""
    if not constraints:
        return []
    edge = np.linspace(0, 1, 61)
    fine = np.linspace(0, 1, 241)
    x, y = np.meshgrid((edge[1:] + edge[:-1]) / 2, (fine[1:] + fine[:-1]) / 2)
    tp, fp = counts(x, y, s)
    c = Confusion(tp, fp, s.n_pos - tp, s.n_neg - fp)
    held = np.all([bound(k, c) for k in constraints], axis=0)
    possible = (fp >= 0) & (fp <= s.n_neg)
    marks = []
    for column, wrong in enumerate((~held & possible).T):
        change = np.flatnonzero(np.diff(np.concatenate([[0], wrong, [0]])))
        for low, high in change.reshape(-1, 2):
            span = (float(edge[column]), float(edge[column + 1]))
            marks.append(svg.box(axes, span, (fine[low], fine[high]), "forbidden"))
    return marks
