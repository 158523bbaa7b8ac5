"""What does a report say? All numbers and sentences, before anything is laid out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trueness._core.numbers import percent
from trueness._core.records import shown
from trueness.counts.values import Panel, Tally
from trueness.ranking.verification import said_elsewhere
from trueness.report import (
    calibration,
    comparison,
    ensembles,
    nogold,
    ranking,
    scale,
    threshold,
)
from trueness.report._parts import Page, Section, possible
from trueness.report.inputs import (
    REPLICATES,
    Model,
    ReportOptions,
    read_models,
    read_options,
)
from trueness.report.plain_words import in_plain_words, tiles
from trueness.report.slider import slider
from trueness.threshold.validation import Validation, validate_threshold


@said_elsewhere()
def summarise(
    data: Panel | Tally,
    *,
    title: str = "",
    source: str = "",
    maximize: Any = None,
    minimize: Any = None,
    subject_to: Any = (),
    cost: Mapping[str, float] | None = None,
    groups: Mapping[Any, Panel | Tally] | None = None,
    level: float = 0.95,
    rng: Any = 0,
    command: str = "",
) -> Page:
    """Compute everything that the report shows.

    Parameters as in :func:`trueness.report.write`; ``command`` is what was typed.
    """
    title, facts = shown(title, 120), _facts(data, source)
    if not data.n_pos + data.n_neg and data.n_unknown:
        return nogold.without_labels(
            data, title=title, facts=facts, level=level, rng=rng, command=command
        )
    options = read_options(
        data,
        maximize=maximize,
        minimize=minimize,
        subject_to=subject_to,
        cost=cost,
        level=level,
        rng=rng,
        command=command,
    )
    models = read_models(data, options)
    found = calibration.meanings(models, options)
    checked = _checked(models[0], options)
    more = _more(data, models, groups, options)
    words = [sentence for _, sentence in more]
    return Page(
        title=title or "How good is this classifier?",
        facts=facts,
        tiles=tiles(models, checked),
        summary=in_plain_words(data, models, found, checked, options, words),
        operating=threshold.section(
            models, calibration.figure(models, found), checked, options
        ),
        sections=(
            ranking.section(models, options),
            *(section for section, _ in more),
            calibration.section(models, found),
        ),
        slider=slider(
            [m.steps for m in models],
            options.subject_to,
            options.costs,
            [
                x and x.probability(m.steps.threshold)
                for x, m in zip(found, models, strict=True)
            ],
        ),
        command=command,
    )


def _more(
    data: Panel | Tally,
    models: Sequence[Model],
    by: Mapping[Any, Panel | Tally] | None,
    options: ReportOptions,
) -> list[tuple[Section, str]]:
    """Give the sections that need several classifiers or groups, where there are."""
    found = [scale.section(models[0], options)]
    if isinstance(data, Panel) and len(models) > 1:
        found.append(comparison.section(data, models, options))
        found.append(ensembles.section(data, models, options))
    if by:
        found.append(comparison.groups(by, models[0], options))
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


def _checked(best: Model, options: ReportOptions) -> Validation | None:
    """Ask what remains of the threshold of the best classifier on new cases."""
    return possible(
        lambda: validate_threshold(
            best.tally,
            **options.choice,
            subject_to=options.subject_to,
            replicates=REPLICATES,
            level=options.level,
            rng=options.rng,
        )
    )
