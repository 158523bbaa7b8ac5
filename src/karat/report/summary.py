"""What does a report say? All numbers and sentences, before anything is laid out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from karat._records import shown
from karat.counts import Panel, Tally
from karat.report import meaning, operating, svg
from karat.report._parts import Figure, Grid, Page, Section, grid, percent, possible
from karat.report.models import Model, Wishes, read_models, read_wishes
from karat.report.words import in_plain_words
from karat.validation import Validation, validate_threshold

REPLICATES = 500
SHOWN = ("recall", "specificity", "precision", "npv", "accuracy", "f1", "mcc", "lift")


def summarise(
    data: Panel | Tally, *, title: str = "", source: str = "", **wanted: Any
) -> Page:
    """Compute everything that the report shows."""
    wishes = read_wishes(data, **wanted)
    models = read_models(data, wishes)
    found = meaning.meanings(models, wishes)
    checked = _checked(models[0], wishes)
    steps = [m.steps for m in models]
    return Page(
        title=shown(title, 120) or "How good is this classifier?",
        facts=_facts(data, source),
        summary=in_plain_words(data, models, found, checked, wishes),
        operating=_operating(models, found, checked, wishes),
        sections=(_ranking(models, wishes), meaning.section(models, found)),
        slider=operating.slider(
            steps,
            wishes.subject_to,
            wishes.prices,
            [
                meaning.probability_at(x, s.threshold)
                for x, s in zip(found, steps, strict=True)
            ],
        ),
    )


def _facts(data: Panel | Tally, source: str) -> tuple[tuple[str, str], ...]:
    facts = [
        ("cases", f"{data.n:,}"),
        ("positive", f"{data.n_pos:,} ({percent(data.prevalence)})"),
        ("negative", f"{data.n_neg:,}"),
    ]
    if data.n_unknown:
        facts.append(("without a label", f"{data.n_unknown:,}"))
    if source:
        facts.append(("file", shown(source, 120)))
    return tuple(facts)


def _checked(best: Model, wishes: Wishes) -> Validation | None:
    """Ask what remains of the cut of the best classifier on other cases."""
    return possible(
        lambda: validate_threshold(
            best.tally,
            wishes.maximize,
            wishes.subject_to,
            replicates=REPLICATES,
            level=wishes.level,
            rng=wishes.rng,
        )
    )


def _operating(
    models: Sequence[Model],
    found: Sequence[Any],
    checked: Validation | None,
    wishes: Wishes,
) -> Section:
    steps = [m.steps for m in models]
    none: list[Any] = [None] * len(models)
    drawn: list[Figure | None] = [
        operating.roc_figure(steps, wishes.subject_to, none),
        operating.pr_figure(steps, wishes.subject_to, none),
        operating.capacity_figure(steps, wishes.subject_to),
        operating.cost_figure(steps, wishes.prices),
        meaning.figure(models, found),
        operating.score_figure([m.tally for m in models], steps),
    ]
    what = wishes.maximize.name
    words = [
        "One threshold moves through all figures. Arrow keys move it by one step.",
        f"The chosen cut maximises {what}"
        + "".join(f", subject to {c!r}" for c in wishes.subject_to)
        + ".",
    ]
    if wishes.subject_to:
        words.append("In the red regions a constraint is not met.")
    return Section(
        "operating",
        "Move the threshold",
        words=tuple(words),
        figures=tuple(f for f in drawn if f is not None),
        tables=_cut_table(models[0], checked),
        method=(
            "Every distinct score is tried as a threshold, so the cut is exact; the "
            "slider stops at a few hundred of them. Intervals of the table: the cut is "
            "taken as fixed; what it is worth on other cases comes from a bootstrap "
            "with the cases left out."
        ),
    )


def _cut_table(best: Model, checked: Validation | None) -> tuple[Grid, ...]:
    if checked is None:
        return ()
    rows = [(n, checked.metrics[n]) for n in SHOWN if n in checked.metrics]
    caption = f"{best.name} at the chosen cut, {best.point.threshold:.4g}"
    return (grid(caption, ("metric", "value"), rows),)


def _ranking(models: Sequence[Model], wishes: Wishes) -> Section:
    names, values = [m.name for m in models], [m.auc for m in models]
    text = "AUC of each classifier with its interval; the table has the numbers."
    table = grid(
        "AUC",
        ("classifier", "AUC", "from", "to"),
        [(m.name, m.auc.value, m.auc.low, m.auc.high) for m in models],
    )
    drawn = svg.intervals(names, values, "AUC", text)
    return Section(
        "ranking",
        "How good is the ranking?",
        figures=(Figure("AUC", drawn, "", table),),
        method=f"AUC with {percent(wishes.level)} intervals ({models[0].auc.method}).",
        caveat=(
            "The AUC weighs all thresholds, also those that nobody would use. Look at "
            "the curve where you will cut."
        ),
    )
