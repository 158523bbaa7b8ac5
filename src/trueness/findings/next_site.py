"""Does it hold at every site, and what will it do at the next one?"""

from __future__ import annotations

import math
from dataclasses import replace

from trueness._core.numbers import counted, p_is, percent
from trueness._core.records import Estimate
from trueness.findings.notes import Note, as_notes, note
from trueness.findings.records import Figure, Finding, Table, fields_of, finding, table
from trueness.findings.subject import Subject, cut_of, named_sites
from trueness.sites.across import AcrossSites, across_sites
from trueness.sites.figures import forest_figure, plane_figure
from trueness.sites.summary_curve import SummaryROC

# how a measure is written in a sentence
_MEASURE_TEXTS = {
    "auc": "AUC",
    "brier": "Brier score",
    "average_precision": "average precision",
}


def next_site(answer: AcrossSites) -> Finding:
    """Say what the value is at each site, on average, and at the next one."""
    name = _MEASURE_TEXTS.get(answer.measure, answer.measure)
    numbers = fields_of(
        answer,
        "measure",
        "mean",
        "tau",
        "i_squared",
        "prediction",
        "p_value",
        "outliers",
        "covariate",
        "scale",
    )

    tables = [_summary_table(answer)] if answer.mean is not None else []
    tables.append(_site_table(answer, name))

    if answer.covariate is not None:
        tables.append(_covariate_table(answer))

    return finding(
        "sites",
        {**numbers, "sites": dict(answer.sites)},
        answer=_answer(answer, name),
        notes=as_notes(answer.notes),
        tables=tuple(tables),
        figures=(Figure(forest_figure(answer), "Sites and the next one"),),
    )


def at_the_next_site(subject: Subject) -> Finding | None:
    """Answer for the sites of a report: the AUC, and both rates at the threshold."""
    if not subject.sites:
        return None

    best = subject.best
    level = subject.request.level
    tallies = named_sites(subject, best.key)
    of_areas = next_site(across_sites(tallies, "auc", level=level))
    threshold = best.point.threshold
    if math.isinf(threshold):
        return of_areas

    by_metric = {
        name: across_sites(tallies, name, threshold=threshold, level=level)
        for name in ("recall", "specificity")
    }
    rows = [
        (name, answer.mean, answer.prediction)
        for name, answer in by_metric.items()
        if answer.mean is not None
    ]
    if not rows:
        return of_areas

    head = ("", "mean over sites", "next site (prediction interval)")
    at_cut = table(f"At a threshold of {cut_of(best.point)}", head, rows)

    return replace(
        of_areas,
        numbers=of_areas.numbers | {"at_threshold": by_metric},
        tables=(*of_areas.tables, at_cut),
    )


def _answer(answer: AcrossSites, name: str) -> tuple[Note, ...]:
    """Say the prediction interval, and how far sites differ."""
    sites = counted(len(answer.sites), "site")

    if answer.mean is None or answer.prediction is None or answer.tau is None:
        return (note("sites few", sites=sites, measure=name),)

    low, high = f"{answer.prediction.low:.3g}", f"{answer.prediction.high:.3g}"

    return (
        note(
            "sites next",
            measure=name,
            low=low,
            high=high,
            level=answer.level,
            sites=sites,
            mean=f"{answer.mean.value:.3g}",
        ),
        note("sites between", p=p_is(answer.p_value), part=_i_squared_text(answer)),
    )


def _i_squared_text(answer: AcrossSites) -> str:
    """Write I² in per cent."""
    return "" if answer.i_squared is None else percent(answer.i_squared.value)


def _summary_table(answer: AcrossSites) -> Table:
    """Return the mean, the next site and the variation between sites."""
    rows: list[tuple[str, Estimate | None]] = [
        ("mean over sites", answer.mean),
        ("next site (prediction interval)", answer.prediction),
        (f"standard deviation between sites ({answer.scale})", answer.tau),
        ("I²", answer.i_squared),
    ]
    return table("Over all sites", ("", "value"), rows, most=60)


def _site_table(answer: AcrossSites, name: str) -> Table:
    """Return the value and the weight of each site."""
    rows = [
        (
            site,
            estimate,
            percent(answer.weights[site]) if site in answer.weights else "left out",
        )
        for site, estimate in answer.sites.items()
    ]

    return table("Sites", ("site", name, "weight"), rows)


def _covariate_table(answer: AcrossSites) -> Table:
    """Return what a covariate explains."""
    effect = answer.covariate
    assert effect is not None  # noqa: S101  # where this table is made
    rows = [
        (name, coefficient, p_is(effect.p_value), percent(effect.explained))
        for name, coefficient in effect.coefficients.items()
    ]
    head = ("covariate", f"effect ({answer.scale})", "p", "explains")

    return table("What explains the differences", head, rows)


def summary_point(summary: SummaryROC) -> Finding:
    """Say what sensitivity and specificity are over all sites, together."""
    names = ("sensitivity", "specificity", "lr_positive", "lr_negative", "odds_ratio")
    rows = [(getattr(summary, name).name, getattr(summary, name)) for name in names]
    numbers = fields_of(
        summary,
        *names,
        "tau_sensitivity",
        "tau_specificity",
        "correlation",
        "method",
    )

    return finding(
        "summary",
        numbers,
        answer=(
            note(
                "summary point",
                sites=counted(len(summary.sites), "site"),
                sensitivity=f"{summary.sensitivity.value:.3g}",
                specificity=f"{summary.specificity.value:.3g}",
                correlation=_correlation_text(summary.correlation),
            ),
        ),
        notes=as_notes(summary.notes),
        tables=(table("Summary point", ("", "value"), rows),),
        figures=(Figure(plane_figure(summary), "Sites in the ROC plane"),),
    )


def _correlation_text(correlation: float) -> str:
    """Write a correlation, which sites that do not vary do not show."""
    return "not known" if math.isnan(correlation) else f"{correlation:.2f}"
