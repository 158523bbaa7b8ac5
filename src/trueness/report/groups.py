"""Does it hold in every group?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueness.comparison.aucs import compare_auc
from trueness.counts.values import Panel, Tally
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import fpr, precision, recall
from trueness.ranking.auc_intervals import auc
from trueness.report import estimates
from trueness.report._parts import (
    Section,
    grid,
    names_shown,
    p_is,
    percent,
    possible,
)
from trueness.report.inputs import Model, Wishes


def section(
    groups: Mapping[Any, Panel | Tally], best: Model, wishes: Wishes
) -> tuple[Section, str] | None:
    """Measure the best classifier in each group, at the same cut."""
    tallies = {str(g): _column(x, best.key) for g, x in groups.items()}
    both = {g: t for g, t in tallies.items() if t.n_pos and t.n_neg}
    if len(both) < 2:
        return None
    texts = dict(zip(tallies, names_shown(list(tallies)), strict=True))
    values = {g: auc(t, level=wishes.level) for g, t in both.items()}
    rows = [
        (texts[g], t.n, t.n_pos, values.get(g), *_at_cut(t, best.point.threshold))
        for g, t in tallies.items()
    ]
    head = ("group", "cases", "positive", "AUC", "flagged", "recall",
            "false positive rate", "precision")  # fmt: skip
    test = possible(lambda: compare_auc(both, level=wishes.level))
    words = _sentence(best, values, texts, test)
    figure = estimates.figure(
        "AUC by group",
        [texts[g] for g in values],
        [*values.values()],
        "AUC",
        of="group",
    )
    made = Section(
        "groups",
        "Does it hold in every group?",
        words=(words, f"The cut is the same everywhere, {best.point.threshold:.4g}."),
        figures=(figure,),
        tables=(grid(f"{best.name}, by group", head, rows),),
        method=(
            "The groups are other cases, so the test is unpaired (DeLong et al. 1988, "
            "doi:10.2307/2531595); groups with one class only have no AUC."
        ),
        caveat=(
            "A lower AUC in each group than in all together is no error: part of the "
            "ranking then tells the groups apart. Many groups make many small samples."
        ),
    )
    return made, words


def _column(x: Panel | Tally, key: str) -> Tally:
    return x if isinstance(x, Tally) else x[key]


def _at_cut(t: Tally, threshold: float) -> tuple[str, ...]:
    flagged = t.score >= threshold
    tp, fp = int(t.pos[flagged].sum()), int(t.neg[flagged].sum())
    c = Confusion(tp, fp, t.n_pos - tp, t.n_neg - fp)
    labelled = t.n_pos + t.n_neg
    share = (tp + fp) / labelled if labelled else float("nan")
    return tuple(percent(float(v)) for v in (share, recall(c), fpr(c), precision(c)))


def _sentence(best: Model, values: Any, texts: dict[str, str], test: Any) -> str:
    worst = min(values, key=lambda g: values[g].value)
    top = max(values, key=lambda g: values[g].value)
    line = (
        f"The AUC of {best.name} goes from {values[worst].value:.3f} ({texts[worst]}) "
        f"to {values[top].value:.3f} ({texts[top]})"
    )
    if test is None:
        return f"{line}."
    sure = test.p_value < 1 - values[top].level
    could = "more than chance" if sure else "which could be chance"
    return f"{line}, {could} ({p_is(test.p_value)})."
