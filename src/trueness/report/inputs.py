"""Which classifiers is a report about, and what does its reader want?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import Infeasible
from trueness._core.records import Estimate
from trueness.counts.values import Panel, Tally
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.grammar import constraints
from trueness.ranking.auc_intervals import auc
from trueness.report._parts import names_shown
from trueness.report.threshold import Steps, steps
from trueness.threshold.operating_point import (
    OperatingPoint,
    best_threshold,
    read_objective,
)

REPLICATES = 500  # of every bootstrap of the report
UNNAMED = "the classifier"  # what a tally, which has no name, is called


@final
@dataclass(frozen=True)
class Wishes:
    """An objective, constraints, prices, a level and a seed."""

    objective: Metric
    smallest: bool
    subject_to: tuple[Constraint, ...]
    prices: tuple[float, float]
    stated: bool
    level: float
    rng: Any

    @property
    def choice(self) -> dict[str, Any]:
        """Give the objective as ``best_threshold`` takes it."""
        return {"minimize" if self.smallest else "maximize": self.objective}


@final
@dataclass(frozen=True)
class Model:
    """A classifier: its name as shown and as given, its tally and where it is cut."""

    name: str
    key: str
    tally: Tally
    auc: Estimate
    point: OperatingPoint
    steps: Steps
    feasible: bool = True  # can the limits be met?

    @property
    def is_probability(self) -> bool:
        """Could the scores be probabilities?"""
        return bool(self.tally.score[-1] >= 0 and self.tally.score[0] <= 1)


def read_wishes(
    data: Panel | Tally,
    maximize: Any = None,
    minimize: Any = None,
    subject_to: Any = (),
    cost: Mapping[str, float] | None = None,
    level: float = 0.95,
    rng: Any = 0,
) -> Wishes:
    """Read what the reader wants; without prices both kinds of error weigh the same."""
    odds = data.n_neg / data.n_pos if data.n_pos else 1.0
    prices = (float(cost["fp"]), float(cost["fn"])) if cost else (1.0, odds)
    stated = bool(cost) or maximize is not None or minimize is not None
    if cost and maximize is None and minimize is None:
        minimize = f"cost(fp={prices[0]!r}, fn={prices[1]!r})"
    if maximize is None:  # "accuracy" is what a wish to minimise leaves unsaid
        maximize = "youden" if minimize is None else "accuracy"
    objective, _ = read_objective(maximize, minimize)
    return Wishes(
        objective,
        minimize is not None,
        constraints(subject_to),
        prices,
        stated,
        _options.fraction(level, "level"),
        rng,
    )


def read_models(data: Panel | Tally, wishes: Wishes) -> list[Model]:
    """Put the classifiers in order, the best ranking first."""
    tallies = {UNNAMED: data} if isinstance(data, Tally) else _columns(data)
    models = []
    for text, (key, t) in zip(names_shown([*tallies]), tallies.items(), strict=True):
        _cases.both_classes(t, "report")
        point, feasible = _cut(t, wishes)
        models.append(
            Model(
                text,
                key,
                t,
                auc(t, level=wishes.level),
                point,
                steps(t, text, point.threshold, len(tallies)),
                feasible,
            )
        )
    models.sort(key=lambda m: -m.auc.value)
    if not models[0].feasible:  # say what stops the best one
        _named_cut(models[0], wishes)
    return models


def _cut(t: Tally, wishes: Wishes) -> tuple[OperatingPoint, bool]:
    """Cut within the limits, or without them where they cannot be met."""
    try:
        within = best_threshold(t, **wishes.choice, subject_to=wishes.subject_to)
    except Infeasible:
        return best_threshold(t, **wishes.choice), False
    return within, True


def _named_cut(m: Model, wishes: Wishes) -> None:
    try:
        best_threshold(m.tally, **wishes.choice, subject_to=wishes.subject_to)
    except Infeasible as err:
        raise Infeasible(f"{m.name}: {err}" if m.name != UNNAMED else str(err)) from err


def _columns(panel: Panel) -> dict[str, Tally]:
    return {name: panel[name] for name in panel.names}
