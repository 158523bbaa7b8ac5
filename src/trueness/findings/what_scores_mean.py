"""What does a score mean? Calibration as it is, and what a map would change."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks.errors import (
    InputError,
    NotEnoughCases,
    UnsupportedDesign,
)
from trueness._core.figures import Line
from trueness._core.numbers import p_is
from trueness.calibration.explained import nagelkerke_r2
from trueness.calibration.forecasts import equal_mass_bins
from trueness.calibration.gain import (
    CalibrationGain,
    calibration_gain,
    gain_rows,
    gain_sentences,
    line_after,
)
from trueness.calibration.goodness_of_fit import calibration_test
from trueness.calibration.lines import calibration_line
from trueness.calibration.parametric import platt
from trueness.calibration.reliability_diagram import (
    reliability,
    reliability_figure,
)
from trueness.calibration.verdict import CalibrationVerdict, calibration_verdict
from trueness.counts.cases import headings
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.findings.how_good import cases_note
from trueness.findings.meaning import FEW_REPLICATES, Meaning
from trueness.findings.memory import could_be_probabilities
from trueness.findings.notes import Note, as_notes, note, note_if, section_text
from trueness.findings.records import (
    Figure,
    Finding,
    Table,
    fields_of,
    figure,
    finding,
    in_groups,
    table,
)
from trueness.findings.request import Request
from trueness.findings.subject import Subject, answer_or_none
from trueness.inference.intervals import normal_quantile, wilson_interval
from trueness.ranking.figures import score_figure

GROUPS = 10  # of cases with similar scores
POOLED_BINS = "pooled-bins"
MIN_P_VALUE = 0.05  # of a curve that fits
LOGISTIC_PARAMETERS = 2  # intercept and slope of a logistic curve
BEFORE, AFTER = "as they are", "calibrated"


def meanings(subject: Subject) -> list[Meaning | None]:
    """Measure the calibration of each classifier whose scores can be probabilities."""
    return [subject.meaning_of(model) for model in subject.models]


def what_scores_mean(subject: Subject) -> Finding | None:
    """Say which scores can be read as probabilities."""
    meaning_of = dict(zip(subject.names, meanings(subject), strict=True))
    measured_meanings = {name: x for name, x in meaning_of.items() if x is not None}
    outside = [model.name for model in subject.models if not model.is_probability]
    if not measured_meanings and not outside:  # nothing that could be tested
        return None

    infinite = [
        name for name, x in measured_meanings.items() if math.isinf(x.log_loss.value)
    ]
    open_ended = [
        name
        for name, x in measured_meanings.items()
        if math.isinf(x.log_loss.high) and name not in infinite
    ]
    numbers = {
        name: fields_of(x, "brier", "log_loss", "verdict")
        for name, x in measured_meanings.items()
    }

    return finding(
        "calibration",
        numbers,
        answer=tuple(_verdict_notes(measured_meanings)),
        notes=(
            *note_if(infinite, "log loss infinite", names=infinite),
            *note_if(open_ended, "log loss unbounded", names=open_ended),
            *note_if(outside, "not probabilities", names=outside),
        ),
        tables=_tables(subject.tallies, measured_meanings),
        figures=tuple(
            _figure(subject, meaning_of[subject.best.name], measured_meanings)
        ),
    )


def calibration_as_it_is(tallies: Mapping[str, Tally], request: Request) -> Finding:
    """Verdict on the calibration of scores as they are, within a margin.

    Scores outside 0 to 1 have none, nor have cases that are too few.
    """
    verdicts: dict[str, CalibrationVerdict] = {}
    for name, tally in tallies.items():
        if not could_be_probabilities(tally):
            continue

        verdict = answer_or_none(
            partial(
                calibration_verdict, tally, margin=request.margin, level=request.level
            )
        )
        if verdict is not None:
            verdicts[name] = verdict

    if request.margin is not None and not verdicts:
        raise InputError(
            "A margin is for scores between 0 and 1, with enough cases; found none.",
            option="margin",
        )

    sentences = [
        f"{name}: {sentence}" if len(tallies) > 1 else sentence
        for name, verdict in verdicts.items()
        for sentence in verdict.sentences
    ]

    return finding("calibration", {"calibration": verdicts}, answer=as_notes(sentences))


def _verdict_notes(meaning_of: Mapping[str, Meaning]) -> list[Note]:
    """Say the one verdict of each; how far, and where, of the worst like the best."""
    verdicts_by_code: dict[str, dict[str, Any]] = {}
    for name, meaning in meaning_of.items():
        verdict = meaning.verdict
        verdicts_by_code.setdefault(verdict.verdict, {})[name] = verdict

    best = next(iter(meaning_of), "")
    notes: list[Note] = []
    for code, verdicts in verdicts_by_code.items():
        p_values = _p_values_in_words(verdicts.values())
        notes.append(note(code, names=list(verdicts), p=p_values))
        if best not in verdicts:
            continue

        worst = max(verdicts, key=lambda name: verdicts[name].error.value)
        prefix = f"{worst}: " if len(meaning_of) > 1 else ""
        # the first sentence is the verdict, which stands there already
        notes += as_notes(f"{prefix}{text}" for text in verdicts[worst].sentences[1:])

    return notes


def _p_values_in_words(verdicts: Iterable[CalibrationVerdict]) -> str:
    """Return the different p-values in brackets, or nothing."""
    texts = [p_is(v.p_value) for v in verdicts if not math.isnan(v.p_value)]
    if not texts:
        return ""
    return f" ({', '.join(dict.fromkeys(texts))})"


def _tables(
    tallies: Mapping[str, Tally], meaning_of: Mapping[str, Meaning]
) -> tuple[Table, ...]:
    """Return the scores with their parts, and the line through them."""
    if not meaning_of:
        return ()

    verdict_rows = []
    part_rows = []
    line_rows = []
    for name, meaning in meaning_of.items():
        verdict_rows.append(
            (
                name,
                meaning.verdict.verdict,
                meaning.verdict.error,
                meaning.brier,
            )
        )
        parts = meaning.brier.parts
        part_rows.append((name, parts.mcb.value, parts.dsc.value, parts.unc.value))
        line = answer_or_none(partial(calibration_line, tallies[name]))
        slope = line and line.slope
        intercept = line and line.intercept
        explained = answer_or_none(partial(nagelkerke_r2, tallies[name]))
        line_rows.append((name, meaning.log_loss, explained, slope, intercept))

    return (
        table(
            "Calibration",
            ("classifier", "verdict", "mean error", "Brier score"),
            verdict_rows,
        ),
        table(
            "Parts of the Brier score",
            ("classifier", "miscalibration", "discrimination", "uncertainty"),
            part_rows,
            brief=False,
        ),
        table(
            "Log loss and calibration line",
            ("classifier", "log loss", "Nagelkerke's R²", "slope", "intercept"),
            line_rows,
            brief=False,
        ),
    )


def _figure(
    subject: Subject, meaning_of_best: Meaning | None, meaning_of: Mapping[str, Meaning]
) -> list[Figure]:
    """Draw the proportion of positives against the score, with its consistency band."""
    if not meaning_of:
        return []

    threshold = float(np.clip(subject.best.point.threshold, 0, 1))
    probability = math.nan
    if meaning_of_best is not None:
        probability = float(meaning_of_best.probability(np.array(threshold)))

    curves = {name: meaning.curve for name, meaning in meaning_of.items()}
    level = subject.request.level
    groups = {
        name: groups_of_scores(subject.tallies[name], level) for name in meaning_of
    }
    groups_drawn = {name: group for name, group in groups.items() if group is not None}
    caption = section_text("figure", "Calibration", {})
    if groups_drawn:
        caption = f"{caption} {note('groups of scores', level=level)}"

    calibration = figure(
        "Calibration",
        reliability_figure(curves, "consistency"),
        note=caption,
        order=subject.names,
        at=(threshold, probability),
        follow="threshold probability",
        rule="threshold",
        band="expected",
        histogram=score_figure({name: subject.tallies[name] for name in meaning_of}),
    )
    return [replace(calibration, groups=groups_drawn)]


def groups_of_scores(tally: Tally, level: float) -> Line | None:
    """Return the proportion of positives in groups of cases with similar scores.

    The groups have about equal numbers of cases; the interval is Wilson's (1927). None
    for a design in which a proportion of cases is none of the population.
    """
    labelled = tally.labelled()
    if labelled.weighted or labelled.clusters is not None or labelled.design.prevalence:
        return None

    cases = labelled.neg + labelled.pos
    first_rows = equal_mass_bins(cases, GROUPS)
    sizes = np.add.reduceat(cases, first_rows)
    proportions = np.add.reduceat(labelled.pos, first_rows) / sizes
    mean_scores = np.add.reduceat(labelled.score * cases, first_rows) / sizes

    quantile = normal_quantile(level)
    intervals = [
        wilson_interval(float(proportion), float(size), quantile)
        for proportion, size in zip(proportions, sizes, strict=True)
    ]
    low, high = np.array(intervals).T

    columns = {"x": mean_scores, "y": proportions, "low": low, "high": high}
    return Line("groups", columns)


def requested_calibration(subject: Subject) -> Finding | None:
    """Calibrate the classifier that was named by the method that was asked for."""
    request = subject.request
    model = subject.named_model

    if not request.calibrator:
        return None

    gain = calibration_gain(
        model.tally, method=request.calibrator, level=request.level, rng=request.rng
    )
    return what_calibration_changes(model.tally, gain, model.name, request.calibrator)


def what_calibration_changes(
    t: Tally, gain: CalibrationGain, name: str, method: str
) -> Finding:
    """Return scores before and after calibration, on cases not used for fitting."""
    curves = {}
    if could_be_probabilities(t):
        curves[BEFORE] = reliability(t, replicates=FEW_REPLICATES)
    curves[AFTER] = reliability(gain.tally, replicates=FEW_REPLICATES)

    without_bands = replace(reliability_figure(curves), bands=())
    before_and_after = figure(
        "Before and after", without_bands, order=(AFTER, BEFORE), legend=True
    )

    return finding(
        "calibrated",
        {"method": method, **gain_numbers(gain)},
        answer=as_notes(gain_sentences(gain)),
        tables=(table("Brier score", ("scores", "Brier score"), gain_rows(gain)),),
        figures=(before_and_after,),
        title_values={"name": name, "method": method, "folds": gain.folds},
    )


def gain_numbers(gain: CalibrationGain | None) -> dict[str, Any]:
    """Return the numbers of what calibration changes; None where it is not known."""
    line = None if gain is None else line_after(gain)
    names = ("before", "in_sample", "cross_fitted", "gain")

    return {
        "brier": gain and fields_of(gain, *names),
        "slope": line and line.slope,
        "intercept": line and line.intercept,
        "folds": gain and gain.folds,
    }


class LogisticBeside(NamedTuple):
    """A logistic curve beside a map that assumes no shape, and whether it fits."""

    probabilities: Floats
    verdict: Note


def _logistic_beside(t: Tally, scores: Floats) -> LogisticBeside | None:
    """Fit a logistic curve to the same cases, and test it (Hosmer and Lemeshow).

    In the log odds of scores between 0 and 1 (Cox 1958), else in the score (Platt).
    """
    curve = platt(t, scale="logit" if could_be_probabilities(t) else "identity")
    test = answer_or_none(
        partial(
            calibration_test,
            t.map(curve),
            method="hosmer-lemeshow",
            parameters=LOGISTIC_PARAMETERS,
        )
    )
    if test is None:
        return None

    fits = test.p_value >= MIN_P_VALUE
    verdict = note("logistic fits" if fits else "logistic differs", p=test.p_value)
    return LogisticBeside(np.asarray(curve(scores), np.float64), verdict)


def what_a_map_changes(
    t: Tally,
    map: Callable[[Any], Any],
    method: str,
    name: str,
    groups: Mapping[Any, Tally],
    by: str,
    *,
    level: float,
    rng: Seed,
    folds: int,
) -> tuple[list[Finding], Tally]:
    """Return what scores mean by a map and what it changes, in all and in each group.

    The counts with calibrated scores come with it, cross-fitted where that can be.
    """
    meaning = _meaning_of_map(t, map, method)
    gain_of_group: Mapping[str, Any] = {}

    cross_fit: Callable[..., Any] = partial(
        calibration_gain,
        fitted=map,
        method=method,
        level=level,
        rng=rng,
        folds=folds,
    )

    try:
        gain = cross_fit(t)
        if groups:
            gain_of_group = cross_fit(groups)
    except (NotEnoughCases, UnsupportedDesign) as err:
        reason = "There are too few cases for cross-fitting."
        if isinstance(err, UnsupportedDesign):
            reason = err.message
        no_numbers = gain_numbers(None) | {"groups": {}}
        no_gain = Finding("", no_numbers, (note("unknown gain", why=reason),))
        return [meaning, no_gain], t.map(map)

    rows = []
    numbers_of_groups = {}
    for group, gain_in_group in gain_of_group.items():
        losses = (gain_in_group.before, gain_in_group.cross_fitted, gain_in_group.gain)
        rows.append((str(group), gain_in_group.tally.n, *losses))
        numbers_of_groups[str(group)] = gain_numbers(gain_in_group)

    head_of_cases, _ = headings(t)
    head = (by, head_of_cases, "Brier before", "cross-fitted", "gain")
    changes = in_groups(
        what_calibration_changes(t, gain, name, method),
        numbers_of_groups,
        table(f"The map in each {by}", head, rows),
    )

    return [meaning, changes], gain.tally


def _meaning_of_map(t: Tally, fitted_map: Callable[[Any], Any], method: str) -> Finding:
    """Return the probabilities of some scores, from the highest to the lowest."""
    # six scores or fewer, evenly from the highest to the lowest
    places = ((len(t) - 1) * np.linspace(0, 1, 6)).round().astype(int)
    scores = t.score[np.unique(places)]
    head = ["score", "probability"]
    columns = [scores, fitted_map(scores)]
    logistic = _logistic_beside(t, scores) if method == POOLED_BINS else None
    if logistic is not None:
        head.append("logistic curve (Platt)")
        columns.append(logistic.probabilities)

    rows = [tuple(map(float, row)) for row in zip(*columns, strict=True)]
    method_in_words = method
    if method == "auto":
        method_in_words = f"auto, which chose {type(fitted_map).__name__}"

    return finding(
        "calibration",
        {},
        answer=(cases_note(t), note("fitted", method=method_in_words)),
        notes=() if logistic is None else (logistic.verdict,),
        tables=(table("What a score means", head, rows),),
    )
