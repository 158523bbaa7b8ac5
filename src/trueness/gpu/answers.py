"""Analyses of scores that stay on a device.

``ON_DEVICE`` has the analyses that are made there, exactly: by sums over the runs of
equal scores or, for a threshold, by looking closer at the few bins that may hold the
best one. Of few distinct scores everything else is answered on the host; of many,
other curves and numbers are those of ``CURVE_BINS`` bins and carry their bounds. What
nothing is known about from bins asks for the host.

The bootstrap draws a case a Poisson number of times with mean 1. Those at one score
together are drawn a Poisson number of times whose mean is their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from inspect import unwrap
from typing import Any, NamedTuple, cast

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.records import Estimate
from trueness.calibration.proper_scores import (
    LOSSES,
    ProperScore,
    ScoreParts,
    clip_distance,
    note_on_clipping,
    notes_on_infinity,
)
from trueness.calibration.proper_scores import brier as host_brier
from trueness.calibration.proper_scores import log_loss as host_log_loss
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.gpu.keys import Library, Tensor, scores_on_host
from trueness.gpu.sums import (
    average_precision_value,
    average_precision_variance,
    mean_loss_variance,
    placement_sums,
)
from trueness.gpu.tallies import FEW_SCORES, DeviceTally
from trueness.inference.estimates import (
    estimate_from_replicates,
    estimate_from_variance,
)
from trueness.inference.sample import check_prevalence_known
from trueness.inference.verification import unlabelled_notes
from trueness.metrics.algebra import Metric
from trueness.metrics.definitions import METRICS, SYNONYMS
from trueness.ranking.areas import (
    AUC_METHODS,
    REVERSED,
    auc_from_moments,
    notes_on_few_negatives,
)
from trueness.ranking.areas import average_precision as host_precision
from trueness.scale.certificates import BOUNDED, answer_with_bounds
from trueness.scale.refinement import Bound, exact_threshold
from trueness.threshold.prevalences import Prevalences
from trueness.threshold.rule import rules_of

CURVE_BINS = 2**17
# bins where only the width of an interval, a note or a part of a score is wanted
PRECISION_BINS = 2**15
LOSS_BINS = 2**14
# bins of each look for the best threshold, and the cases that it may copy at the end
THRESHOLD_BINS = 2**12
COPIED_CASES = 2**16


def auc(
    data: DeviceTally,
    *,
    method: str = "newcombe",
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 2000,
) -> Estimate:
    """Return the AUC with its interval; see :func:`trueness.auc`."""
    _options.choice(method, AUC_METHODS, "method")

    if method not in ("newcombe", "bootstrap"):
        raise InputError(
            f"The method {method!r} needs the tally on the host. On a device, use "
            "bins (option at_most) or another method.",
            option="method",
            example="newcombe",
        )

    level = _options.fraction(level, "level")
    sums = placement_sums(data)

    if method == "newcombe":
        estimate = auc_from_moments(
            sums.auc, sums.of_negatives, sums.of_positives, level
        )
    else:
        number = _options.whole_number(replicates, "replicates", at_least=100)
        estimate = estimate_from_replicates(
            sums.auc,
            replicated_aucs(data, number, rng),
            level,
            notes=("Each case was drawn a Poisson number of times, within its class.",),
            name="AUC",
        )

    if estimate.high < 0.5:
        return replace(estimate, notes=(REVERSED, *estimate.notes))
    return estimate


def replicated_aucs(data: DeviceTally, replicates: int, rng: Seed) -> Floats:
    """Return the AUC of each bootstrap replicate."""
    library = data.library
    xp = library.xp
    seeds = _options.generator(rng).integers(2**31, size=(replicates, 2)).tolist()
    count_of_negatives, count_of_positives = data.labelled_counts
    sums_of_replicates = []

    for seed_of_negatives, seed_of_positives in seeds:
        negatives = _poisson(library, count_of_negatives, seed_of_negatives)
        positives = _poisson(library, count_of_positives, seed_of_positives)
        negatives_to = xp.cumulative_sum(negatives)
        twice_wins = xp.sum(positives * (2 * negatives_to - negatives))
        sums_of_replicates.append(
            xp.stack([twice_wins, xp.sum(positives), negatives_to[-1]])
        )

    # one copy to the host for all replicates
    sums = library.host(xp.stack(sums_of_replicates)).astype(np.float64)
    # a replicate without a class has no AUC
    both_classes = (sums[:, 1] > 0) & (sums[:, 2] > 0)
    twice_wins_of, n_pos, n_neg = sums[both_classes].T

    return np.asarray(twice_wins_of / (2 * n_neg * n_pos))


def _poisson(library: Library, means: Tensor, seed: int) -> Tensor:
    """Return whole numbers drawn from Poisson distributions."""
    if library.name == "cupy":
        return library.xp.random.RandomState(seed).poisson(means)
    torch = library.xp
    generator = torch.Generator(means.device).manual_seed(seed)
    drawn = torch.poisson(library.cast(means, "float64"), generator=generator)
    return library.cast(drawn, "int64")


def average_precision(
    data: DeviceTally,
    *,
    method: str = "wilson",
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 2000,
) -> Estimate:
    """Return the average precision; the bootstrap and its notes are those of bins."""
    level = _options.fraction(level, "level")
    # asks the design of these cases for no more than its fields
    check_prevalence_known(cast("Any", data), "average_precision")

    def from_bins() -> Estimate:
        estimate: Estimate = unwrap(host_precision)(
            data.bin(PRECISION_BINS),
            method=method,
            level=level,
            rng=rng,
            replicates=replicates,
        )
        return estimate

    if method != "wilson":
        return _move_to_exact_value(from_bins(), average_precision_value(data))

    value, variance_estimate = average_precision_variance(data)
    # without counts there are no weights and no clusters to make notes on
    no_cases = Tally()
    estimate = estimate_from_variance(
        min(value, 1.0),
        variance_estimate,
        level=level,
        name="average precision",
        cases=no_cases,
    )

    if data.n_unknown:
        return replace(estimate, notes=from_bins().notes)

    notes_on_few = notes_on_few_negatives(
        data.n_pos, data.n_neg, data.design.prevalence
    )
    return replace(estimate, notes=(*estimate.notes, *notes_on_few))


def _move_to_exact_value(binned_estimate: Estimate, value: float) -> Estimate:
    """Return an estimate of bins with the exact value, its interval moved along."""
    shift = value - binned_estimate.value
    low = max(0.0, binned_estimate.low + shift)
    high = min(1.0, binned_estimate.high + shift)
    note = (
        "The value is exact; the width of its interval is that of "
        f"{PRECISION_BINS:,} bins."
    )

    return replace(
        binned_estimate,
        value=value,
        low=min(low, value),
        high=max(high, value),
        notes=(*binned_estimate.notes, note),
    )


def brier(data: DeviceTally, *, level: float = 0.95) -> ProperScore:
    """Return the Brier score with its interval; its parts are those of bins."""
    return _proper_score(data, "brier", level)


def log_loss(
    data: DeviceTally, *, clip: float | str | None = None, level: float = 0.95
) -> ProperScore:
    """Return the log loss with its interval; its parts are those of bins."""
    if clip is None:
        return _proper_score(data, "log_loss", level)
    distance = clip_distance(clip)
    score = _proper_score(data, "log_loss", level, distance)
    return replace(score, notes=(note_on_clipping(distance), *score.notes))


def _proper_score(
    data: DeviceTally, name: str, level: float, clip: float = 0.0
) -> ProperScore:
    """Return a mean loss with its interval; its parts are computed when asked for."""
    level = _options.fraction(level, "level")
    ends = _ends_of_labelled(data)
    _check_probabilities(ends, name)
    check_prevalence_known(cast("Any", data), name)

    # without counts there are no weights and no clusters to make notes on
    no_cases = Tally()
    value, variance_estimate = mean_loss_variance(data, name, clip)
    estimate = estimate_from_variance(
        value,
        variance_estimate,
        (0.0, LOSSES[name].largest),
        level,
        cases=no_cases,
    )
    infinite_notes: tuple[str, ...] = ()
    some_certain = ends.lowest_score == 0 or ends.highest_score == 1
    if name == "log_loss" and not clip and some_certain:
        infinite_notes = notes_on_infinity(_counts_at_ends(data, ends))

    notes_on_labels: tuple[str, ...] = ()
    if data.n_unknown:
        notes_on_labels = unlabelled_notes(data.bin(LOSS_BINS))

    analysis_on_host = unwrap(host_brier if name == "brier" else host_log_loss)
    options: dict[str, Any] = {"level": level}

    if clip:
        options["clip"] = clip

    def parts() -> ScoreParts:
        bins = data.bin(LOSS_BINS)
        binned_estimate = answer_with_bounds(analysis_on_host, (bins,), options)
        of_parts: ScoreParts = binned_estimate.parts
        return of_parts

    return ProperScore(
        value=value,
        low=value if math.isinf(value) else estimate.low,
        high=math.inf if infinite_notes else estimate.high,
        level=level,
        method=estimate.method,
        se=estimate.se,
        notes=(*infinite_notes, *notes_on_labels, *estimate.notes),
        _name=name,
        _parts=parts,
    )


class _Ends(NamedTuple):
    """The lowest and the highest score of labelled cases, and where they stand."""

    first: int  # places among the distinct scores, ascending
    last: int
    lowest_score: float
    highest_score: float


def _ends_of_labelled(data: DeviceTally) -> _Ends:
    """Return the lowest and the highest score of labelled cases."""
    library = data.library
    first, last = 0, data.distinct_scores - 1
    if data.n_unknown:
        labelled = library.xp.sum(data.labelled_counts, axis=0)
        (places,) = library.xp.nonzero(labelled > 0)
        first, last = int(places[0]), int(places[-1])

    two_keys = library.xp.stack([data.keys[first], data.keys[last]])
    lowest, highest = scores_on_host(library.host(two_keys), data.kind).tolist()
    return _Ends(first, last, lowest, highest)


def _check_probabilities(ends: _Ends, name: str) -> None:
    """Raise an error where scores are no probabilities."""
    if ends.lowest_score >= 0 and ends.highest_score <= 1:
        return
    raise InputError(
        f"{name} needs scores from 0 to 1; found {ends.lowest_score:.3g} to "
        f"{ends.highest_score:.3g}. Calibrate them on other cases first.",
        example=PythonCode("tally(y, s).to_host().map(trueness.calibrate(others))"),
    )


def _counts_at_ends(data: DeviceTally, ends: _Ends) -> Tally:
    """Return the counts of labelled cases at the lowest and at the highest score."""
    # where all cases have one score, it is counted once
    score_at = {ends.last: ends.highest_score, ends.first: ends.lowest_score}
    counts = data.labelled_counts[:, list(score_at)]
    negatives, positives = data.library.host(counts)
    return Tally(list(score_at.values()), neg=negatives, pos=positives)


def best_threshold(
    data: DeviceTally,
    maximize: str | Metric | None = None,
    subject_to: Bound | Iterable[Bound] = (),
    method: str = "sweep",
    *,
    minimize: str | Metric | None = None,
    prevalences: Prevalences = None,
    auc: float | None = None,
) -> Any:
    """Return the best threshold of all; only bins that may hold it are copied."""
    _options.choice(method, ("sweep",), "method")
    if prevalences is not None or auc is not None:
        raise InputError(
            "Prevalences, and an AUC that is known from elsewhere, need the tally on "
            "the host.",
            example=PythonCode("trueness.best_threshold(t.to_host(), ...)"),
        )

    refined = exact_threshold(
        data,
        maximize=maximize,
        subject_to=subject_to,
        minimize=minimize,
        at_most=THRESHOLD_BINS,
        batch=COPIED_CASES,
    )
    return refined.answer


def counts_between(data: DeviceTally, thresholds: Iterable[float]) -> Tally:
    """Return counts on the host: one row for the cases between two thresholds.

    A rule with these thresholds decides a row as it decides each of its cases, so that
    the host answers what depends on decisions alone.
    """
    # infinite thresholds divide no cases
    cuts = sorted(filter(math.isfinite, set(thresholds)), reverse=True)
    scores = [*cuts, np.nextafter(cuts[-1], -np.inf)] if cuts else [0.0]
    flagged = [(0, 0), *map(data.flagged, cuts), (data.n_pos, data.n_neg)]
    positives, negatives = np.diff(flagged, axis=0).T
    return data.designed(Tally(scores, neg=negatives, pos=positives))


def _by_decisions(
    analysis: Callable[..., Any],
    data: DeviceTally,
    threshold: object = None,
    *other_arguments: Any,
    **options: Any,
) -> Any:
    """Answer on the host about the cases between the thresholds of a rule."""
    if threshold is None:
        raise InputError(
            f"{analysis.__name__} needs a threshold.", option="threshold", example=0.5
        )

    thresholds: list[float] = []
    for rule in rules_of(threshold):
        for group in rule.groups or (None,):
            thresholds += rule.cuts(group)
    between = counts_between(data, thresholds)
    return analysis(between, threshold, *other_arguments, **options)


ON_DEVICE: dict[str, Callable[..., Any]] = {
    "auc": auc,
    "average_precision": average_precision,
    "best_threshold": best_threshold,
    "brier": brier,
    "log_loss": log_loss,
}
# these depend on which cases are flagged, and on no more
BY_DECISIONS = {"confusion", "at_threshold", *METRICS, *SYNONYMS}


# the methods of an interval that need no more than sums over the distinct scores
_METHODS_BY_SUMS = {
    "auc": "newcombe",
    "average_precision": "wilson",
    "brier": None,
    "log_loss": None,
}


def _is_sum_over_scores(data: DeviceTally, name: str, options: dict[str, Any]) -> bool:
    """Return whether an answer is a few sums, which the device makes fastest."""
    if name not in _METHODS_BY_SUMS or data.n_unknown:
        return False
    return options.get("method") in (None, _METHODS_BY_SUMS[name])


def answer_on_device(
    analysis: Callable[..., Any],
    data: DeviceTally,
    other_arguments: tuple[Any, ...],
    options: dict[str, Any],
) -> Any:
    """Answer on the device or, of few scores, on the host; else from bins."""
    name = analysis.__name__
    few_scores = data.distinct_scores <= FEW_SCORES
    if few_scores and not _is_sum_over_scores(data, name, options):
        return analysis(data.to_host(), *other_arguments, **options)
    if name in BY_DECISIONS:
        return _by_decisions(analysis, data, *other_arguments, **options)

    if name in ON_DEVICE:
        _cases.both_classes(data, name)
        return ON_DEVICE[name](data, *other_arguments, **options)

    if name in BOUNDED:
        return answer_with_bounds(
            analysis, (data.bin(CURVE_BINS), *other_arguments), options
        )

    gigabytes = 8 * data.n / 1e9
    raise InputError(
        f"{name} needs the tally on the host: {data.n:,} cases, up to {gigabytes:.1f} "
        "GB. Bins need less memory, but give bounds on the exact answer.",
        example=PythonCode("at_most=100_000 for bins, or tally(y, s).to_host()"),
    )
