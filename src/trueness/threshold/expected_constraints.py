"""Which threshold is expected to keep its constraints on new cases?

A threshold that just meets a constraint in the sample misses it on average, because the
choice makes something of chance. What new cases are expected to miss is added to the
bound, and the choice is made again, until nothing is missed (Wang and Ahmed 2008,
tightened constraints; expectations by Efron's .632, as in ``validation``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from trueness._core.checks.errors import Infeasible, NotEnoughCases
from trueness.metrics.algebra import Constraint
from trueness.threshold.operating_point import OperatingPoint

THESE_CASES = "these cases"
NEW_CASES = "new cases"
# rounds after which no threshold is expected to keep the constraints; two to five are
# usual, since what is missed hardly depends on the bound
_MOST_ROUNDS = 25


class ExpectedConstraints(NamedTuple):
    """A validated choice, and each constrained metric in the sample and on new cases.

    ``validation`` is a ``Validation``.
    """

    validation: Any
    observed: list[float]
    expected: list[float]


def tighten_until_kept(
    stated: Sequence[Constraint],
    validate: Callable[[Sequence[Constraint]], ExpectedConstraints],
) -> Any:
    """Return the validation of the first choice that is expected to keep constraints.

    ``validate`` chooses by tightened constraints and validates the choice. Where no
    threshold is expected to keep them, the choice in the sample is returned, and a note
    says so.
    """
    # the first choice is that of the stated constraints
    in_sample = current = validate(stated)
    required = list(stated)
    for _ in range(_MOST_ROUNDS):
        if _all_kept(stated, current.expected):
            return current.validation
        if any(math.isnan(value) for value in current.expected):
            break
        required = _tighten(stated, required, current)
        try:
            current = validate(required)
        except (Infeasible, NotEnoughCases):
            break

    texts = " and ".join(map(repr, stated))
    note = f"No threshold is expected to keep {texts} on new cases."
    validation = in_sample.validation
    return replace(validation, notes=(*validation.notes, note))


def _all_kept(stated: Sequence[Constraint], expected: Sequence[float]) -> bool:
    return all(
        bool(constraint.decide(value))
        for constraint, value in zip(stated, expected, strict=True)
    )


def _tighten(
    stated: Sequence[Constraint],
    required: Sequence[Constraint],
    current: ExpectedConstraints,
) -> list[Constraint]:
    """Return constraints with bounds moved by what new cases are expected to miss."""
    tightened = []
    for stated_constraint, current_constraint, observed, expected in zip(
        stated, required, current.observed, current.expected, strict=True
    ):
        if stated_constraint.decide(expected):
            tightened.append(current_constraint)
            continue
        # as much beyond the stated bound as new cases are expected to fall short of it
        bound = current_constraint.bound + (stated_constraint.bound - expected)
        if replace(current_constraint, bound=bound).decide(observed):
            # the same cut would be chosen again: ask for a little more than it has
            outward = math.inf if current_constraint.upward else -math.inf
            bound = math.nextafter(observed, outward)
        tightened.append(replace(current_constraint, bound=bound))

    return tightened


def name_stated_constraints(
    choice: OperatingPoint,
    stated: Sequence[Constraint],
    required: Sequence[Constraint],
) -> OperatingPoint:
    """Return a choice by tightened constraints that speaks of the stated ones."""
    # the stated text of each tightened constraint
    stated_text = {
        repr(tightened): repr(stated_constraint)
        for tightened, stated_constraint in zip(required, stated, strict=True)
    }
    return replace(
        choice,
        constraints={
            stated_text[text]: value for text, value in choice.constraints.items()
        },
        binding=tuple(stated_text[text] for text in choice.binding),
    )
