"""Which classifiers is a report about, and what does its reader want?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from karat import _checks
from karat._records import Estimate
from karat.algebra import Constraint, Metric
from karat.counts import Panel, Tally
from karat.expressions import constraints, metric
from karat.inference import auc
from karat.operating import OperatingPoint, best_threshold
from karat.report._parts import names_shown
from karat.report.operating import Steps, steps


@final
@dataclass(frozen=True)
class Wishes:
    """An objective, constraints, prices, a level and a seed."""

    maximize: Metric
    subject_to: tuple[Constraint, ...]
    prices: tuple[float, float]
    stated: bool
    level: float
    rng: Any


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

    @property
    def is_probability(self) -> bool:
        """Could the scores be probabilities?"""
        return bool(self.tally.score[-1] >= 0 and self.tally.score[0] <= 1)


def read_wishes(
    data: Panel | Tally,
    maximize: Any = None,
    subject_to: Any = (),
    cost: Mapping[str, float] | None = None,
    level: float = 0.95,
    rng: Any = 0,
) -> Wishes:
    """Read what the reader wants; without prices both kinds of error weigh the same."""
    odds = data.n_neg / data.n_pos if data.n_pos else 1.0
    prices = (float(cost["fp"]), float(cost["fn"])) if cost else (1.0, odds)
    stated = bool(cost) or maximize is not None
    if maximize is None:
        maximize = f"-cost(fp={prices[0]!r}, fn={prices[1]!r})" if cost else "youden"
    return Wishes(
        metric(maximize),
        constraints(subject_to),
        prices,
        stated,
        _checks.fraction(level, "level"),
        rng,
    )


def read_models(data: Panel | Tally, wishes: Wishes) -> list[Model]:
    """Put the classifiers in order, the best ranking first."""
    tallies = {"score": data} if isinstance(data, Tally) else _columns(data)
    models = []
    for text, (key, t) in zip(names_shown([*tallies]), tallies.items(), strict=True):
        _checks.both_classes(t, "report")
        point = best_threshold(t, wishes.maximize, wishes.subject_to)
        models.append(
            Model(
                text,
                key,
                t,
                auc(t, level=wishes.level),
                point,
                steps(t, text, point.threshold, len(tallies)),
            )
        )
    return sorted(models, key=lambda m: -m.auc.value)


def _columns(panel: Panel) -> dict[str, Tally]:
    return {name: panel[name] for name in panel.names}
