"""What does a report say? All numbers and sentences, before anything is laid out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trueness._core.records import shown
from trueness.counts.values import Panel, Tally
from trueness.ranking.bands import precision_recall_band, roc_band
from trueness.ranking.partial_areas import average_precision
from trueness.report import calibration as meaning
from trueness.report import comparison as versus
from trueness.report import costs as prices
from trueness.report import estimates, nogold
from trueness.report import groups as groups_of
from trueness.report import scale as cells
from trueness.report import threshold as operating
from trueness.report._parts import (
    Figure,
    Grid,
    Page,
    Section,
    confidence,
    grid,
    percent,
    possible,
)
from trueness.report.inputs import (
    REPLICATES,
    Model,
    Wishes,
    read_models,
    read_wishes,
)
from trueness.report.plain_words import in_plain_words, tiles
from trueness.threshold.validation import Validation, validate_threshold

SHOWN = ("recall", "specificity", "precision", "npv", "accuracy", "f1", "mcc", "lift")


def summarise(
    data: Panel | Tally,
    *,
    title: str = "",
    source: str = "",
    groups: Mapping[Any, Panel | Tally] | None = None,
    **wanted: Any,
) -> Page:
    """Compute everything that the report shows."""
    if not data.n_pos + data.n_neg and data.n_unknown:
        return nogold.without_labels(
            data,
            title=shown(title, 120),
            facts=_facts(data, source),
            level=wanted.get("level", 0.95),
            rng=wanted.get("rng", 0),
        )
    wishes = read_wishes(data, **wanted)
    models = read_models(data, wishes)
    found = meaning.meanings(models, wishes)
    checked = _checked(models[0], wishes)
    more = _more(data, models, groups, wishes)
    return Page(
        title=shown(title, 120) or "How good is this classifier?",
        facts=_facts(data, source),
        tiles=tiles(models, checked),
        summary=in_plain_words(
            data, models, found, checked, wishes, [words for _, words in more]
        ),
        operating=_operating(models, found, checked, wishes),
        sections=(
            _ranking(models, wishes),
            *(section for section, _ in more),
            meaning.section(models, found),
        ),
        slider=operating.slider(
            [m.steps for m in models],
            wishes.subject_to,
            wishes.prices,
            prices.weight_of(models, wishes.prices),
            [
                meaning.probability_at(x, m.steps.threshold)
                for x, m in zip(found, models, strict=True)
            ],
        ),
    )


def _more(
    data: Panel | Tally,
    models: Sequence[Model],
    by: Mapping[Any, Panel | Tally] | None,
    wishes: Wishes,
) -> list[tuple[Section, str]]:
    """Give the sections that need several classifiers or groups, where there are."""
    found = [cells.section(models[0], wishes)]
    if isinstance(data, Panel) and len(models) > 1:
        found.append(versus.comparison(data, models, wishes))
        found.append(versus.combination(data, models, wishes))
    if by:
        found.append(groups_of.section(by, models[0], wishes))
    return [x for x in found if x is not None]


def _facts(data: Panel | Tally, source: str) -> tuple[tuple[str, str], ...]:
    facts = [("cases", f"{data.n:,}")]
    if data.n_pos + data.n_neg:
        facts.append(("positive", f"{data.n_pos:,} ({percent(data.prevalence)})"))
        facts.append(("negative", f"{data.n_neg:,}"))
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
            **wishes.choice,
            subject_to=wishes.subject_to,
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
    drawn: list[Figure | None] = [
        operating.roc_figure(steps, wishes.subject_to, _roc_bands(models, wishes)),
        operating.pr_figure(steps, wishes.subject_to, _pr_bands(models, wishes)),
        operating.capacity_figure(steps, wishes.subject_to),
        prices.cost_figure(models, wishes.prices),
        meaning.figure(models, found),
        operating.score_figure([m.tally for m in models], steps),
        prices.decision_figure(models, wishes),
        prices.weight_figure(models, wishes),
    ]
    return Section(
        "operating",
        "Move the threshold",
        words=_how_to_move(wishes),
        figures=tuple(f for f in drawn if f is not None),
        tables=_cut_table(models[0], checked),
        method=(
            "Every distinct score is tried as a threshold, so the cut is exact; the "
            "slider stops at a few hundred of them. Bands: bootstrap, the whole true "
            "curve inside. Net benefit: Vickers, Elkin 2006, "
            "doi:10.1177/0272989X06295361. Cost at any prices: Drummond, Holte 2006, "
            "doi:10.1007/s10994-006-8199-5. Intervals of the table and of the two: the "
            "cut is taken as fixed; what it is worth on other cases comes from a "
            "bootstrap that judges each choice by the cases left out."
        ),
        caveat=(
            "A cut holds for cases like these. Where positives are rarer, precision "
            "and net benefit fall although recall stays. Net benefit takes scores for "
            "probabilities: calibrate them first."
        ),
    )


def _how_to_move(wishes: Wishes) -> tuple[str, ...]:
    best = "minimises" if wishes.smallest else "maximises"
    bounds = " and ".join(repr(c) for c in wishes.subject_to)
    what = wishes.objective.name
    if not wishes.stated:
        what += " (recall + specificity - 1)"
    lines = [
        "One threshold moves through all figures. Arrow keys move it by one step.",
        f"The chosen cut {best} {what}"
        + (f", subject to {bounds}." if bounds else "."),
    ]
    if bounds:
        lines.append("In the red regions a constraint is not met.")
    return tuple(lines)


def _roc_bands(models: Sequence[Model], wishes: Wishes) -> list[operating.Band]:
    found = (
        roc_band(m.tally, level=wishes.level, rng=wishes.rng, number=REPLICATES)
        for m in models
    )
    return [(b.fpr, b.low, b.high) for b in found]


def _pr_bands(models: Sequence[Model], wishes: Wishes) -> list[operating.Band]:
    found = (
        precision_recall_band(
            m.tally, level=wishes.level, rng=wishes.rng, number=REPLICATES
        )
        for m in models
    )
    return [(b.recall, b.low, b.high) for b in found]


def _cut_table(best: Model, checked: Validation | None) -> tuple[Grid, ...]:
    if checked is None:
        return ()
    rows = [(n, checked.metrics[n]) for n in SHOWN if n in checked.metrics]
    caption = f"{best.name} at the chosen cut, {best.point.threshold:.4g}"
    return (grid(caption, ("metric", "value"), rows),)


def _ranking(models: Sequence[Model], wishes: Wishes) -> Section:
    names, values = [m.name for m in models], [m.auc for m in models]
    precisions = [average_precision(m.tally, level=wishes.level) for m in models]
    return Section(
        "ranking",
        "How good is the ranking?",
        figures=(
            estimates.figure("AUC", names, values, "AUC", coloured=True),
            estimates.figure(
                "Average precision",
                names,
                precisions,
                "average precision",
                coloured=True,
            ),
        ),
        method=(
            f"{confidence(wishes.level)} intervals. AUC: score interval "
            "(variance: Kim et al. 2021, eq. 18, doi:10.1073/pnas.2100761118). "
            "Average precision: influence values on the "
            "logit scale (after Boyd, Eng, Page 2013, "
            "doi:10.1007/978-3-642-40994-3_29)."
        ),
        caveat=(
            "The AUC weighs all thresholds, also those that nobody would use; look at "
            "the curve where you will cut. Average precision depends on the "
            "prevalence, so compare it on the same cases only."
        ),
    )
