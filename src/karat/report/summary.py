"""What does a report say? All numbers and sentences, before anything is laid out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from karat import _checks
from karat._records import Estimate, shown
from karat.algebra import Constraint, Metric
from karat.counts import Panel, Tally
from karat.expressions import constraints, metric
from karat.inference import auc
from karat.operating import OperatingPoint, best_threshold
from karat.report import operating
from karat.report._parts import Page, Section, grid, names_shown, percent


@final
@dataclass(frozen=True)
class Wishes:
    """What the reader wants: an objective, constraints, prices, a level, a seed."""

    maximize: Metric
    subject_to: tuple[Constraint, ...]
    prices: tuple[float, float]
    stated: bool
    level: float
    rng: Any


@final
@dataclass(frozen=True)
class Model:
    """A classifier of the report: its tally, its AUC and where it is cut."""

    name: str
    tally: Tally
    auc: Estimate
    point: OperatingPoint
    steps: operating.Steps


def summarise(
    data: Panel | Tally,
    *,
    title: str = "",
    source: str = "",
    maximize: str | Metric | None = None,
    subject_to: Any = (),
    cost: Mapping[str, float] | None = None,
    level: float = 0.95,
    rng: Any = 0,
) -> Page:
    """Compute everything that the report shows."""
    tallies = _tallies(data)
    for t in tallies.values():
        _checks.both_classes(t, "report")
    wishes = _wishes(data, maximize, subject_to, cost, level, rng)
    models = _models(tallies, wishes)
    best = models[0]
    return Page(
        title=shown(title, 120) or "How good is this classifier?",
        facts=_facts(data, source),
        summary=_in_plain_words(data, models, wishes),
        operating=_operating(models, wishes),
        sections=(_ranking(models, best),),
        slider=operating.slider(
            [m.steps for m in models], wishes.subject_to, wishes.prices
        ),
    )


def _tallies(data: Panel | Tally) -> dict[str, Tally]:
    if isinstance(data, Tally):
        return {"score": data}
    return {name: data[name] for name in data.names}


def _wishes(
    data: Panel | Tally, maximize: Any, subject_to: Any, cost: Any, level: Any, rng: Any
) -> Wishes:
    # without prices both kinds of error weigh the same in all: Youden's index
    odds = data.n_neg / data.n_pos
    prices = (cost["fp"], cost["fn"]) if cost else (1.0, odds)
    if maximize is None:
        maximize = f"-cost(fp={prices[0]!r}, fn={prices[1]!r})" if cost else "youden"
    return Wishes(
        metric(maximize),
        constraints(subject_to),
        (float(prices[0]), float(prices[1])),
        bool(cost),
        _checks.fraction(level, "level"),
        rng,
    )


def _models(tallies: Mapping[str, Tally], wishes: Wishes) -> list[Model]:
    """Put the classifiers in order, the best ranking first."""
    texts = names_shown(list(tallies))
    models = []
    for text, t in zip(texts, tallies.values(), strict=True):
        point = best_threshold(t, wishes.maximize, wishes.subject_to)
        steps = operating.steps(t, text, point.threshold, len(tallies))
        models.append(Model(text, t, auc(t, level=wishes.level), point, steps))
    return sorted(models, key=lambda m: -m.auc.value)


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


def _in_plain_words(
    data: Panel | Tally, models: Sequence[Model], wishes: Wishes
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    best = models[0]
    value = best.auc
    of_100 = f"{100 * value.value:.0f} of 100"
    return (
        (
            "What was measured?",
            (
                f"{len(models)} classifiers on the same {data.n:,} cases."
                if len(models) > 1
                else f"One classifier on {data.n:,} cases.",
            ),
        ),
        (
            "How good is it?",
            (
                f"Given one positive and one negative case, {best.name} scores the "
                f"positive one higher {of_100} times (AUC {value.value:.3f}).",
            ),
        ),
        (
            "How sure are we?",
            (
                f"With {percent(wishes.level)} confidence the AUC lies between "
                f"{value.low:.3f} and {value.high:.3f}.",
            ),
        ),
    )


def _operating(models: Sequence[Model], wishes: Wishes) -> Section:
    steps = [m.steps for m in models]
    none: list[Any] = [None] * len(models)
    return Section(
        "operating",
        "Move the threshold",
        words=(
            "One threshold moves through all figures. Arrow keys move it by one step.",
        ),
        figures=(
            operating.roc_figure(steps, wishes.subject_to, none),
            operating.pr_figure(steps, wishes.subject_to, none),
            operating.capacity_figure(steps, wishes.subject_to),
            operating.cost_figure(steps, wishes.prices),
            operating.score_figure([m.tally for m in models], steps),
        ),
    )


def _ranking(models: Sequence[Model], best: Model) -> Section:
    rows = [(m.name, m.auc) for m in models]
    return Section(
        "ranking",
        "How good is the ranking?",
        tables=(grid("AUC", ("classifier", "AUC"), rows),),
        method=f"{best.auc.method} interval.",
    )
