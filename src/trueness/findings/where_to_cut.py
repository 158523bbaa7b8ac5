"""What does every threshold do? The section with the slider, and what else was asked.

Each classifier gets at most a few hundred *steps*: thresholds of its own, with the
exact counts there. All that the page shows at a step is a column that is computed
here; the script only looks numbers up, so the page and the library cannot disagree,
and a new metric is on the page at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.binomial import wilson
from trueness._core.checks.errors import InputError
from trueness._core.figures import Bars, Curves
from trueness._core.numbers import cut_text, number_of, percent, written
from trueness.counts.values import Tally
from trueness.findings.advised_threshold import guarantee_for, validate_choice
from trueness.findings.cut import find_cut
from trueness.findings.cut_answers import promise_notes, rows_of
from trueness.findings.how_good import measures_of
from trueness.findings.memory import CurveDrawing
from trueness.findings.notes import Note, as_notes, note, note_if
from trueness.findings.records import Figure, Finding, fields_of, figure, finding, table
from trueness.findings.slider_steps import (
    Steps,
    columns,
    constraint_holds,
    quantity,
    round_for_page,
    weight_of,
)
from trueness.findings.subject import (
    Subject,
    answer_or_none,
    best_for,
    cut_of,
    named_groups,
)
from trueness.findings.what_scores_mean import meanings
from trueness.inference.sample import apply_design
from trueness.metrics.algebra import Constraint
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.grammar import text_of
from trueness.ranking.figures import curve_figure, score_figure
from trueness.threshold import cost_figures, sentences
from trueness.threshold.operating_point import OperatingPoint
from trueness.threshold.rule import AtThreshold, confusion
from trueness.threshold.validation import Validation

PR, PRICE = "Precision and recall", "What a threshold costs"
PLACES = 3  # of an area that stands beside its curve
BAND_POINTS = 25  # of the intervals beside what flagging more brings
CURVE_POINTS = 21  # of curves whose every point has limits of its own
SCORE_BINS = 40  # of scores
LEAST_PROBABILITY = 0.001  # at the end of a logit axis
RARE_PREVALENCE = (
    0.1  # where fewer cases are positive, precision and recall say more than ROC
)


def slider(subject: Subject) -> dict[str, Any]:
    """Return what the script of the page needs to move every figure."""
    constraints = subject.request.constraints
    models = []
    for steps, meaning, model in zip(
        subject.steps, meanings(subject), subject.models, strict=True
    ):
        probability = meaning and meaning.probability(steps.threshold)
        quantities = columns(steps, subject.request.costs, probability)
        models.append(
            {
                "name": steps.name,
                "auc": f"{model.auc.value:.3f}",
                "bands": _rate_bands(subject, steps),
                "start": steps.start,
                "size": len(steps.threshold),
                "meets": [
                    _zeros_and_ones(constraint_holds(c, steps.confusion))
                    for c in constraints
                ],
                "columns": {
                    k: round_for_page(k, values) for k, values in quantities.items()
                },
            }
        )

    return {
        "models": models,
        "constraints": [repr(c) for c in constraints],
        "required": [
            {"metric": c.metric.name, "bound": c.bound, "upward": c.upward}
            for c in constraints
        ],
        "prevalence": prevalence_of_rates(subject),
        "level": subject.request.level,
    }


def _rate_bands(subject: Subject, steps: Steps) -> dict[str, list[Any]]:
    """Return Wilson's intervals of recall and precision, by the proportion flagged.

    Only of single cases: weights and clusters would make them wider.
    """
    if not subject.cases.single_cases or steps.prevalence is not None:
        return {}

    last = steps.threshold.size - 1
    shown_steps = np.unique(np.linspace(0, last, BAND_POINTS).astype(int))
    detected = steps.tp[shown_steps]
    flagged = detected + steps.fp[shown_steps]
    level = subject.request.level

    bands = {"flagged_rate": flagged / (steps.n_pos + steps.n_neg)}
    bands["recall_low"], bands["recall_high"] = wilson(detected, steps.n_pos, level)
    bands["precision_low"], bands["precision_high"] = wilson(detected, flagged, level)
    return {name: np.round(values, 3).tolist() for name, values in bands.items()}


def prevalence_of_rates(subject: Subject) -> float:
    """Return the prevalence that rates are for, with few digits."""
    return float(f"{subject.steps[0].prevalence_of_rates:.6g}")


def _zeros_and_ones(holds: Array) -> str:
    """Write at which steps a constraint holds, a digit for each."""
    return "".join("1" if value else "0" for value in holds)


def _text_of_quantity(name: str, value: float | None) -> str:
    """Return a number as the slider shows it: as a count, in per cent, or as it is."""
    if value is None:
        return "undefined"
    _, _, kind = quantity(name)
    if kind == "count":
        return f"{int(value):,}"
    return percent(value) if kind == "share" else f"{value:.4g}"


def readout(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the numbers where the slider starts, for pages without their script."""
    if not data:
        return {}

    model = data["models"][0]
    start = model["start"]
    texts = {}
    for name, column in model["columns"].items():
        texts[name] = _text_of_quantity(name, column[start])

    threshold = model["columns"]["threshold"][start]
    texts["threshold"] = "above all scores" if threshold is None else repr(threshold)

    return texts


def at_the_cut(subject: Subject) -> Finding:
    """Show what every threshold does, and the chosen one."""
    request = subject.request
    best = subject.best
    evaluation = subject.evaluation
    is_given = isinstance(evaluation, AtThreshold)
    counts = best.point.confusion
    flags_some = bool(counts.tp + counts.fp)
    rows = rows_of(evaluation.metrics, counts) if evaluation and flags_some else []
    where = "on new cases, at the threshold"

    if is_given:
        where = "at the threshold"
        if request.at is not None:
            where = "at the given threshold"

    caption = f"{best.name} {where} {cut_of(best.point)}"
    prevalence = subject.cases.design.prevalence
    guarantee = subject.guarantee_of(best.key, best.tally)

    return finding(
        "every threshold",
        fields_of(best.point, "threshold", "score_range"),
        answer=(
            *(promise_notes(guarantee) or (_choice_note(subject),)),
            *_surer_threshold_note(subject),
            *note_if(request.constraints, "red"),
            *note_if(prevalence is not None, "shares for", share=prevalence),
        ),
        tables=(table(caption, ("metric", "value"), rows),) if rows else (),
        figures=tuple(_figures(subject)),
        key="threshold",
        title_values={"how": note("as fixed" if is_given else "to expect")},
    )


def _holds_on_new_cases(evaluation: Validation | AtThreshold | None) -> bool:
    """Return whether a validation expects a constraint to hold on new cases."""
    return isinstance(evaluation, Validation) and bool(
        sentences.kept_constraint_sentences(evaluation)
    )


def _choice_note(subject: Subject) -> Note:
    """Return by what the threshold was chosen, and within which constraints."""
    request = subject.request
    if request.at is not None:
        return note("given", at=request.at)

    objective = sentences.objective_of(" youden")
    if request.stated_goal:
        objective = text_of(request.objective.name)

    constraints = " and ".join(map(repr, request.constraints))
    subject_to = f", subject to {constraints}" if constraints else ""
    if constraints and _holds_on_new_cases(subject.evaluation):
        subject_to += " on new cases"

    best = "minimises" if request.minimizes else "maximises"
    return note("chosen", best=best, what=objective, limits=subject_to)


def _surer_threshold_note(subject: Subject) -> tuple[Note, ...]:
    """Say where to cut to be sure of the constraints, not only to expect them."""
    request = subject.request
    best = subject.best

    if not request.constraints or not isinstance(subject.evaluation, Validation):
        return ()

    find = partial(
        guarantee_for,
        best.tally,
        request.stated_goal,
        request.constraints,
        confidence=request.level,
        rng=request.rng,
    )

    try:
        guarantee = answer_or_none(find)
    except InputError:
        # some metrics have no test, and some constraints cannot be proved
        return ()

    if guarantee is None or guarantee.threshold == best.point.threshold:
        return ()

    counts = confusion(best.tally, guarantee.threshold)
    if _is_as_safe(request.constraints, best.point.confusion, counts):
        return (
            note("sure already", level=request.level, constraint=guarantee.constraint),
        )

    flagged_rate = METRICS["flagged_rate"]
    return (
        note(
            "surer",
            level=request.level,
            constraint=guarantee.constraint,
            cut=cut_text(guarantee.threshold, guarantee.score_range),
            flagged=float(flagged_rate(counts)),
            instead=float(flagged_rate(best.point.confusion)),
        ),
    )


# rates that only rise, or only fall, as the threshold falls, in every population
_MONOTONE_RATES = ("recall", "fnr", "specificity", "fpr", "flagged_rate")


def _is_as_safe(
    constraints: Iterable[Constraint], counts: Confusion, proven: Confusion
) -> bool:
    """Return whether what is proven of one threshold holds at another one as well.

    Of two thresholds the one with the higher recall in the sample has the higher recall
    in the population; so it is with every monotone rate.
    """
    for constraint in constraints:
        if constraint.metric.name not in _MONOTONE_RATES:
            return False

        rate = float(constraint.metric(counts))
        proven_rate = float(constraint.metric(proven))
        is_as_safe = rate >= proven_rate
        if not constraint.upward:
            is_as_safe = rate <= proven_rate
        if not is_as_safe:
            return False

    return True


def _with_dot(subject: Subject, figure_of_curves: Figure, plane: str = "") -> Figure:
    """Add the dot that moves with the threshold to a figure of curves.

    In a ``plane`` of two metrics the region is shaded where a constraint is not met.
    """
    first = subject.steps[0]
    columns_now = columns(first.single_step(first.start), subject.request.costs)
    across, up = figure_of_curves.follow.split()

    return replace(
        figure_of_curves,
        order=subject.names,
        at=(columns_now[across].item(), columns_now[up].item()),
        shaded=_infeasible_strips(subject, plane) if plane else (),
    )


def _figures(subject: Subject) -> list[Figure]:
    """Draw what the slider moves; a first look has no bands, and waits for nothing."""
    pictures = [
        _scores_figure(subject),
        *_roc_and_precision_recall(subject),
        _price_figure(subject),
    ]
    if subject.request.replicates:
        pictures.append(_capacity_figure(subject))
        optional_pictures = (
            _net_benefit_figure(subject),
            answer_or_none(partial(_cost_ratio_figure, subject)),
        )
        pictures += [picture for picture in optional_pictures if picture is not None]
    return pictures


def _roc_and_precision_recall(subject: Subject) -> list[Figure]:
    """Draw both curves; first the one that says more at this prevalence."""
    prevalence = subject.steps[0].prevalence_of_rates
    positives_are_rare = prevalence < RARE_PREVALENCE
    # without costs both curves stand before what a threshold costs
    costs_stated = bool(subject.request.stated_cost)

    roc = figure(
        "ROC curve",
        _curves_with_bands(subject, "roc"),
        follow="fpr recall",
        folded=positives_are_rare and costs_stated,
    )
    precision_recall = figure(
        PR,
        _curves_with_bands(subject, "precision_recall"),
        title_values={"share": prevalence},
        follow="recall precision",
        folded=costs_stated and not positives_are_rare,
    )
    areas = {m.name: f"AUC {written(m.auc, PLACES)}" for m in subject.models}
    pictures = [
        replace(_with_dot(subject, roc, "roc"), labels=areas),
        replace(
            _with_dot(subject, precision_recall, "precision_recall"),
            labels=_average_precisions(subject),
        ),
    ]

    return pictures[::-1] if positives_are_rare else pictures


def _average_precisions(subject: Subject) -> dict[str, str]:
    """Return the area under each precision-recall curve, as it is written beside it.

    A first look does not wait for them.
    """
    if not subject.request.replicates:
        return {}

    labels = {}
    for model in subject.models:
        area = measures_of(subject, model.key, model.tally)["average_precision"]
        if area is not None:
            labels[model.name] = f"AP {written(area, PLACES)}"

    return labels


def _curves_with_bands(subject: Subject, kind: str) -> Curves:
    """Return the curves of all classifiers, with bands unless this is a first look."""
    request = subject.request

    def draw() -> Curves:
        if not request.replicates:
            return curve_figure(kind, subject.tallies)

        return curve_figure(
            kind,
            subject.tallies,
            band="simultaneous",
            level=request.level,
            rng=request.rng,
            replicates=request.replicates,
        )

    return subject.memory.curves.get_or_compute(
        CurveDrawing(kind, request.precision), draw
    )


def _price_figure(subject: Subject) -> Figure:
    """Draw what every threshold costs; folded where no costs were stated."""
    fp, fn = subject.request.costs
    costs_stated = bool(subject.request.stated_cost)

    def draw() -> Curves:
        counts = {m.name: apply_design(m.tally).target_counts for m in subject.models}
        return cost_figures.price_figure(counts, fp, fn)

    picture = figure(
        PRICE,
        subject.memory.curves.get_or_compute(
            CurveDrawing("price", costs=(fp, fn)), draw
        ),
        title_values={"fp": fp, "fn": fn},
        note=None if costs_stated else str(note("equal costs", fn=fn)),
        follow="flagged_rate cost",
        rule="flagged_rate",
        folded=not costs_stated,
    )

    return _with_dot(subject, picture)


def _scores_figure(subject: Subject) -> Figure:
    """Draw the scores of both classes, and which of them the threshold flags."""
    probabilities = all(model.is_probability for model in subject.models)
    data = subject.memory.histograms.get_or_compute(
        None, lambda: _score_bars(subject.tallies, probabilities)
    )
    first = subject.steps[0]
    at_start = columns(first.single_step(first.start), subject.request.costs)

    return figure(
        "Scores",
        data,
        order=subject.names,
        at=(first.start_threshold, 0.0),
        rule="threshold",
        logit=probabilities,
        counts={
            cell: number_of(at_start[cell].item()) for cell in ("tp", "fp", "fn", "tn")
        },
    )


def _score_bars(tallies: Mapping[str, Tally], probabilities: bool) -> Bars:
    """Count scores in bins; those of probabilities have equal widths in logits."""
    if not probabilities:
        return score_figure(tallies)

    # scores stand highest first
    lowest = min(tally.score[-1] for tally in tallies.values())
    highest = max(tally.score[0] for tally in tallies.values())
    low, high = np.clip(
        np.array([lowest, highest]), LEAST_PROBABILITY, 1 - LEAST_PROBABILITY
    )
    if low == high:
        return score_figure(tallies)

    logits = np.linspace(
        np.log(low / (1 - low)), np.log(high / (1 - high)), SCORE_BINS + 1
    )
    edges = 1 / (1 + np.exp(-logits))
    # as they were before rounding, so that no score is outside
    edges[0] = low
    edges[-1] = high

    neg = {}
    pos = {}
    for name, tally in tallies.items():
        neg[name] = _counts_in_bins(tally.score, tally.neg, edges)
        pos[name] = _counts_in_bins(tally.score, tally.pos, edges)
    return Bars("Scores", edges, neg=neg, pos=pos)


def _counts_in_bins(score: Floats, counts: Array, edges: Floats) -> Floats:
    """Count scores between edges; those outside are in the first and the last bin."""
    inside = np.clip(score, edges[0], edges[-1])
    heights, _ = np.histogram(inside, edges, weights=counts + 0.0)
    return np.asarray(heights, dtype=np.float64)


def _capacity_figure(subject: Subject) -> Figure:
    """Draw how many positives are among those flagged first."""
    picture = figure(
        "Capacity",
        subject.memory.curves.get_or_compute(
            CurveDrawing("gain"), lambda: curve_figure("gain", subject.tallies)
        ),
        follow="flagged_rate recall",
        rule="flagged_rate",
        folded=True,
    )

    return _with_dot(subject, picture, "gain")


def _cost_ratio_figure(subject: Subject) -> Figure:
    """Draw the cost of the best threshold for every weight of the two errors."""
    level = subject.request.level
    first = subject.steps[0]
    draw = partial(
        cost_figures.cost_curve_figure,
        subject.tallies,
        level=level,
        at=np.linspace(0, 1, CURVE_POINTS),
    )
    picture = figure(
        "Cost for every cost ratio",
        subject.memory.curves.get_or_compute(
            CurveDrawing("cost_curve", level=level), draw
        ),
        title_values={
            "weight": weight_of(first.prevalence_of_rates, subject.request.costs)
        },
        follow="weight weighted_cost",
        tilt="fpr fnr",
        ends=(first.at_start("fpr"), first.at_start("fnr")),
        y=(0.0, 0.55),
        folded=True,
    )

    return _with_dot(subject, picture)


def _infeasible_strips(subject: Subject, plane: str) -> tuple[cost_figures.Strip, ...]:
    """Shade where a constraint is not met, half a column wider: two strips meet."""
    first = subject.steps[0]
    constraints = subject.request.constraints
    if not constraints:
        return ()

    half_column = 0.5 / (cost_figures.COLUMNS - 1)
    strips = []
    for x, low, high in cost_figures.region(
        constraints, plane, first.n_pos, first.n_neg, met=False
    ):
        columns = np.concatenate([[x[0] - half_column], x, [x[-1] + half_column]])
        strips.append((columns.clip(0, 1), _repeat_ends(low), _repeat_ends(high)))

    return tuple(strips)


def _repeat_ends(values: Floats) -> Floats:
    """Repeat the first value and the last one."""
    return np.concatenate([values[:1], values, values[-1:]])


def _net_benefit_figure(subject: Subject) -> Figure | None:
    """Draw the net benefit of acting on scores that are probabilities."""
    thresholds_of = _thresholds_of_probabilities(subject)
    if not thresholds_of:
        return None

    tallies = {m.name: m.tally for m in subject.models if m.name in thresholds_of}
    data = cost_figures.decision_figure(
        tallies, level=subject.request.level, at=thresholds_of
    )
    first = subject.steps[0]
    prevalence = first.prevalence_of_rates
    threshold_now = float(np.clip(first.start_threshold, 0, 1))
    largest_benefit = max(float(line["y"].max()) for line in data.lines)
    top = max(largest_benefit, 0.1 * prevalence) * 1.15

    return figure(
        "Net benefit",
        data,
        order=subject.names,
        at=(threshold_now, _net_benefit(first, threshold_now)),
        follow="threshold net_benefit",
        rule="threshold",
        x=(0.0, _last_probability(data, prevalence)),
        y=(-top / 6, top),
        folded=True,
    )


def _thresholds_of_probabilities(subject: Subject) -> dict[str, Floats]:
    """Return at which thresholds the net benefit of each classifier is drawn.

    They are some stops of its slider, evenly, and both ends.
    """
    thresholds_of: dict[str, Floats] = {}
    for model, stops in zip(subject.models, subject.steps, strict=True):
        threshold = np.maximum(stops.threshold[stops.threshold < 1], 0.0)
        has_odds = threshold.size and stops.threshold[-1] < 1
        if model.is_probability and has_odds:
            number = min(threshold.size, CURVE_POINTS)
            places = np.linspace(0, threshold.size - 1, number).round()
            thresholds_of[model.name] = threshold[places.astype(int)]

    return thresholds_of


def _net_benefit(first: Steps, threshold: float) -> float:
    """Net benefit where the slider starts."""
    counts = first.confusion[first.start]
    odds = 0.0  # nobody is flagged at a threshold of 1
    if threshold < 1:
        odds = threshold / (1 - threshold)
    return float((counts.tp - counts.fp * odds) / (first.n_pos + first.n_neg))


def _last_probability(data: Curves, prevalence: float) -> float:
    """Return up to which probability there is anything to see, in whole tenths."""
    # a net benefit of less than 2 % of the largest one cannot be told from zero
    visible = [line["p"][line["y"] > 0.02 * prevalence] for line in data.lines]
    last_visible = max((float(p.max()) for p in visible if p.size), default=0.0)

    # twice the prevalence at least, so that both sides of it are seen
    last_visible = max(last_visible, 2 * prevalence)
    return float(min(1.0, np.ceil(10 * last_visible) / 10))


def cuts_for_prevalences(subject: Subject) -> Finding | None:
    """Say where to cut if the prevalence of use lies in a range."""
    request = subject.request
    if request.prevalences is None:
        return None

    point = _best_for_prevalences(subject)
    metrics = table("There", ("metric", "value"), point.metrics.items())

    return finding(
        "prevalence",
        {"point": point},
        answer=as_notes(sentences.prevalence_sentences(point)),
        tables=(metrics,) if point.prevalences is None else (),
    )


def _best_for_prevalences(subject: Subject) -> OperatingPoint:
    """Choose for a range of prevalences; constraints are to hold on new cases."""
    request = subject.request
    tally = subject.best.tally

    if request.constraints:
        validate = partial(
            validate_choice, tally, request.single_goal, request, request.prevalences
        )
        validation = answer_or_none(validate)
        if validation is not None:
            point: OperatingPoint = validation.choice
            return point

    return best_for(tally, request.single_goal, request.prevalences)


def two_cuts(subject: Subject) -> Finding | None:
    """Say where yes and no end, when the question spoke of deferred cases."""
    goal = subject.request.pair_goal
    if goal is None:
        return None

    request_for_pair = replace(
        subject.request,
        maximize=goal.maximize,
        minimize=goal.minimize,
        subject_to=goal.subject_to,
        prevalences=None,
    )

    return find_cut(subject.best.tally, request_for_pair, name=subject.best.name)[0]


def cuts_of_groups(subject: Subject) -> Finding | None:
    """Find a threshold for each group, when the question limited their differences."""
    request = subject.request
    if not request.group_constraints:
        return None

    tallies = named_groups(subject, subject.best.key)
    groups = {
        group: tally for group, tally in tallies.items() if tally.n_pos and tally.n_neg
    }
    if len(groups) < 2:
        raise InputError(
            "Constraints on differences between groups need two groups with "
            "positives and negatives."
        )

    goal = request.single_goal
    request_for_groups = replace(
        request,
        maximize=goal.maximize,
        minimize=goal.minimize,
        subject_to=(*map(repr, request.constraints), *request.group_constraints),
        prevalences=None,
    )

    return find_cut(subject.best.tally, request_for_groups, groups)[0]
