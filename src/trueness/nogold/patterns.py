"""How many cases showed each pattern of votes?

The counts of a panel of 0/1 votes, or of one panel for each population, as the latent
class model reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks.errors import InputError, NotEnoughCases, PythonCode
from trueness._core.checks.words import listing
from trueness.counts.values import Panel
from trueness.nogold.shared_errors import Halves, split_into_halves

TINY = 1e-300  # in place of a probability of 0, which has no logarithm

# what is known of the cases of a cell
UNLABELLED = 0
POSITIVE = 1
NEGATIVE = 2


class CellBlock(NamedTuple):
    """Neighbouring cells of the table: one population, one kind of label."""

    population: int
    kind: int  # UNLABELLED, POSITIVE or NEGATIVE
    patterns: Array  # the numbers of the patterns that were seen


class Cells(NamedTuple):
    """The cells of the table that have cases, block after block."""

    blocks: list[CellBlock]
    counts: Floats  # (cells,), cases of each cell
    totals: Floats  # (cells,), cases of which those of the cell are a part


@final
@dataclass(frozen=True)
class Patterns:
    """Numbers of cases with each pattern of votes, in each population."""

    names: tuple[str, ...]
    populations: tuple[str, ...]
    rows: Floats  # (m, K) of 0, 1 and NaN
    unknown: Floats  # (S, m)
    pos: Floats
    neg: Floats

    @property
    def total(self) -> Floats:
        """Return the number of cases, labelled or not: (populations, patterns)."""
        return self.unknown + self.pos + self.neg

    @property
    def labels(self) -> tuple[float, float]:
        """Return how many cases are known to be positive, and negative."""
        return float(self.pos.sum()), float(self.neg.sum())

    @cached_property
    def cells(self) -> Cells:
        """Return the cells that have cases, with their counts."""
        blocks = []
        counts = []
        totals = []
        for population in range(len(self.populations)):
            unknown = self.unknown[population]
            pos = self.pos[population]
            neg = self.neg[population]
            # positives and negatives are parts of one table of labelled cases
            labelled = pos.sum() + neg.sum()

            for kind, cases, total in (
                (UNLABELLED, unknown, unknown.sum()),
                (POSITIVE, pos, labelled),
                (NEGATIVE, neg, labelled),
            ):
                seen = np.flatnonzero(cases)
                if seen.size:
                    blocks.append(CellBlock(population, kind, seen))
                    counts.append(cases[seen])
                    totals.append(np.full(seen.size, total))

        return Cells(blocks, np.concatenate(counts), np.concatenate(totals))

    def log_probabilities(
        self,
        prevalence: Floats,
        one_minus_prevalence: Floats,
        in_positives: Floats,
        in_negatives: Floats,
    ) -> Floats:
        """Return log P of each cell, (n, cells).

        By the prevalence of each population, (n, S), and the probability of each
        pattern in both classes, (n, m).
        """
        blocks = []
        for population, kind, seen in self.cells.blocks:
            # P(positive and this pattern), P(negative and this pattern): (n, cells)
            positive = prevalence[:, [population]] * in_positives[:, seen]
            negative = one_minus_prevalence[:, [population]] * in_negatives[:, seen]
            if kind == POSITIVE:
                blocks.append(positive)
            elif kind == NEGATIVE:
                blocks.append(negative)
            else:
                blocks.append(positive + negative)

        return np.log(np.maximum(np.hstack(blocks), TINY))

    @cached_property
    def halves(self) -> Halves:
        """Return the patterns by halves of their tests, which make a fast product."""
        return split_into_halves(self.rows)


def read_patterns(data: Panel | Mapping[str, Panel]) -> Patterns:
    """Return the patterns of one panel, or of each panel of a mapping."""
    panels = _check_panels(data if isinstance(data, Mapping) else {"": data})
    pooled = reduce(add, panels.values())
    _check_disagreement(pooled)

    # rows as bytes, since NaN does not equal NaN
    place_of_row = {row.tobytes(): j for j, row in enumerate(pooled.rows)}

    unknown = np.zeros((len(panels), len(pooled)))
    pos = np.zeros_like(unknown)
    neg = np.zeros_like(unknown)
    for population, panel in enumerate(panels.values()):
        places = [place_of_row[row.tobytes()] for row in panel.rows]
        unknown[population, places] = panel.unknown
        pos[population, places] = panel.pos
        neg[population, places] = panel.neg

    return Patterns(
        names=pooled.names,
        populations=tuple(panels),
        rows=pooled.rows,
        unknown=unknown,
        pos=pos,
        neg=neg,
    )


def _check_disagreement(panel: Panel) -> None:
    """Refuse votes that are the same in all cases."""
    votes = [only_value(column) for column in panel.rows.T]
    if np.isfinite(votes).all():
        raise NotEnoughCases(
            "A latent class model learns from disagreement; here each of "
            f"{listing(panel.names)} gives the same vote to all of its "
            f"{panel.n:,} cases. Choose other thresholds, or other cases.",
            example=PythonCode("panel.vote(thresholds)"),
        )


def _check_panels(panels: Mapping[Any, Any]) -> dict[str, Panel]:
    """Return panels of 0/1 votes of at least two classifiers on the same names."""
    if not panels:
        raise InputError(
            "latent_class needs at least one population; found none.",
            example=PythonCode('{"site": panel}'),
        )

    for population, panel in panels.items():
        where = f" in population {population!r}" if len(panels) > 1 else ""
        _check_panel(panel, where)

    first, *other_panels = panels.values()
    for other_panel in other_panels:
        if set(other_panel.names) != set(first.names):
            raise InputError(
                f"All populations must have the same classifiers; found "
                f"{listing(first.names)} and {listing(other_panel.names)}."
            )

    names = list(first.names)
    return {str(population): panel[names] for population, panel in panels.items()}


def _check_panel(panel: object, where: str) -> None:
    """Refuse what is no panel of votes; ``where`` says of which population."""
    if not isinstance(panel, Panel):
        raise InputError(
            "latent_class needs a Panel of votes, or a mapping from population to "
            f"Panel; found {type(panel).__name__}{where}.",
            example=PythonCode('trueness.panel(None, {"a": a, "b": b})'),
        )

    if len(panel.names) < 2:
        raise InputError(
            "latent_class needs at least 2 classifiers on the same cases; found "
            f"{listing(panel.names)}{where}. One classifier alone cannot be evaluated "
            "without labels."
        )

    if panel.n == 0:
        raise NotEnoughCases(f"latent_class needs cases; the panel{where} is empty.")

    for name, column in zip(panel.names, panel.rows.T, strict=True):
        if other_votes(column).size:
            raise InputError(
                f"A latent class model needs votes of 0 and 1; {name!r} has "
                f"{listing(other_votes(column))}{where}. Turn scores into 0 and 1 "
                "first, with a threshold for each classifier.",
                example=PythonCode(f"panel.vote({{{name!r}: 0.5, ...}})"),
            )

        if np.isnan(column).all():
            raise NotEnoughCases(f"Classifier {name!r} has no votes{where}.")


def other_votes(rows: Floats) -> Floats:
    """Return the values that are neither 0 nor 1."""
    return np.unique(rows[~np.isnan(rows) & (rows != 0) & (rows != 1)])


def only_value(column: Array) -> float:
    """Return the value that a column has in every case; NaN where there are several."""
    values = np.unique(column[~np.isnan(column)])
    return float(values[0]) if values.size == 1 else np.nan


def pattern_word(row: Floats) -> str:
    """Write a pattern, a missing vote as a point: "10."."""
    return "".join("." if np.isnan(vote) else f"{vote:.0f}" for vote in row)


def parameter_labels(patterns: Patterns) -> tuple[str, ...]:
    """Return the name of every parameter, in the order of the draws."""
    prevalences = ["prevalence"]
    if len(patterns.populations) > 1:
        prevalences = [f"prevalence[{name}]" for name in patterns.populations]

    return (
        *prevalences,
        *(f"sensitivity[{name}]" for name in patterns.names),
        *(f"specificity[{name}]" for name in patterns.names),
    )
