"""What can be said of scores when no case has a label, and what cannot?

Scores of several classifiers agree more or less, a threshold flags a number of cases,
ranks mean something where AUC and prevalence are known, and scores can be combined.
How good any of them is cannot be measured.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from statistics import NormalDist
from types import MappingProxyType
from typing import Any

from trueness._core.checks.errors import DoubtfulAssumptionWarning, InputError
from trueness._core.numbers import cut_text
from trueness._core.records import Estimate
from trueness.calibration.maps import Map
from trueness.counts.values import Panel, Tally
from trueness.ensembles.combiners import (
    fidel,
    mean_score,
    wisdom_of_crowds,
)
from trueness.ensembles.without_labels import Agreement, agreement
from trueness.findings.notes import Note, as_notes, note, note_if
from trueness.findings.records import Finding, Table, finding, table
from trueness.findings.subject import Subject, answer_or_none, tallies_of
from trueness.inference.estimates import estimate_from_interval
from trueness.inference.intervals import wilson_interval

MIN_CLASSIFIERS = 3  # whose agreement tells something
FIDEL = "fidel"


def how_good_alone(subject: Subject) -> Finding:
    """Say what the scores alone tell, and that it is no measurement."""
    tallies = tallies_of(subject.data)
    threshold = subject.request.at
    flagged_rates = {}
    tables: tuple[Table, ...] = ()
    if isinstance(threshold, float):
        flagged_rates = {
            name: flagged_rate(counts, threshold, subject.request.level)
            for name, counts in tallies.items()
        }
        tables = (_table_of_flagged(flagged_rates, threshold),)

    numbers = {
        "scores": {name: dict.fromkeys(_MEASURES) for name in tallies},
        "flagged_rate": flagged_rates,
        "agreement": None,
    }
    notes = (note("no labels"), *note_if(flagged_rates, "flagged alone"))
    agreement_finding = _agreement_of(subject)

    if agreement_finding is None:
        return finding(
            "ranking",
            numbers,
            answer=(note("unlabelled only", n=subject.cases.n),),
            notes=notes,
            tables=tables,
        )

    return finding(
        "agreement",
        {**numbers, **agreement_finding.numbers},
        key="ranking",
        answer=agreement_finding.answer,
        notes=(*agreement_finding.notes, *notes),
        tables=(*agreement_finding.tables, *tables),
        figures=agreement_finding.figures,
    )


_MEASURES = ("auc", "average_precision", "brier")


def _agreement_of(subject: Subject) -> Finding | None:
    """Return what the agreement of three or more classifiers says, if it can."""
    panel = subject.data
    if not isinstance(panel, Panel) or len(panel.names) < MIN_CLASSIFIERS:
        return None
    agreement_of_scores = answer_or_none(
        partial(agreement, panel, level=subject.request.level)
    )
    if agreement_of_scores is None:
        return None

    # here, so that reports with labels do without the tests without a gold standard
    from trueness.findings.without_labels import how_good_scores

    return how_good_scores(panel, agreement_of_scores)


def flagged_rate(tally: Tally, threshold: float, level: float) -> Estimate:
    """Proportion of all cases that a threshold flags, with Wilson's interval.

    Weighted and clustered cases have the value only.
    """
    flagged = float(tally.unknown[tally.score >= threshold].sum())
    proportion = flagged / float(tally.n_unknown)
    low = high = math.nan
    if tally.single_cases:
        quantile = NormalDist().inv_cdf((1 + level) / 2)
        low, high = wilson_interval(proportion, float(tally.n_unknown), quantile)

    return estimate_from_interval(proportion, low, high, level, "wilson")


def _table_of_flagged(flagged: Mapping[str, Estimate], threshold: float) -> Table:
    """Return which proportion of the cases each score flags."""
    caption = f"Flagged at a score of {cut_text(threshold)} or more"
    return table(caption, ("score", "flagged"), flagged.items())


# combiners that need no label
BLIND_COMBINERS: Mapping[str, Callable[[Panel], Map]] = MappingProxyType(
    {
        FIDEL: lambda panel: fidel(panel, labels="none"),
        "wisdom-of-crowds": wisdom_of_crowds,
        "mean-score": mean_score,
    }
)


def combine_without_labels(
    panel: Panel, method: str, level: float
) -> tuple[Finding, Map]:
    """Combine scores without labels: what was found, and the map of rows."""
    agreement_of_scores = None
    if len(panel.names) >= MIN_CLASSIFIERS:
        agreement_of_scores = answer_or_none(partial(agreement, panel, level=level))

    name = method or _default_combiner(agreement_of_scores)
    if name not in BLIND_COMBINERS:
        raise InputError(
            f"The method {name} needs labels, and no case has one.",
            option="method",
            choices=tuple(BLIND_COMBINERS),
        )

    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always", DoubtfulAssumptionWarning)
        combiner = BLIND_COMBINERS[name](panel)

    warning_notes = as_notes(str(warning.message) for warning in caught_warnings)

    numbers: dict[str, Any] = {"method": name, "agreement": None}
    tables: tuple[Table, ...] = ()
    notes: tuple[Note, ...] = ()

    if agreement_of_scores is not None:
        from trueness.findings.without_labels import how_good_scores

        agreement_finding = how_good_scores(panel, agreement_of_scores)
        numbers |= agreement_finding.numbers
        tables = agreement_finding.tables
        notes = agreement_finding.notes

    answer = (note("unlabelled only", n=panel.n), note("combined blind", method=name))
    finding_on_combination = finding(
        "ensembles",
        numbers,
        answer=answer,
        notes=(*notes, *warning_notes, note("gain unknown")),
        tables=tables,
        title_values={"folds": 0},
    )

    return finding_on_combination, combiner


def _default_combiner(agreement: Agreement | None) -> str:
    """Return FiDEL; where the scores contradict its assumption, the mean rank."""
    from trueness.findings.without_labels import contradicts_independence

    if agreement is None or contradicts_independence(agreement):
        return "wisdom-of-crowds"
    return FIDEL
