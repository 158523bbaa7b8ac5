"""Which threshold is advised where constraints are to be kept?

With a guarantee, one whose constraints hold in the population with that confidence;
else one whose constraints are expected to hold on new cases.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.findings.request import Request, ThresholdGoal
from trueness.threshold.constraints import ConstraintLike
from trueness.threshold.expected_constraints import NEW_CASES, THESE_CASES
from trueness.threshold.guarantees import GuaranteedThreshold, guaranteed_threshold
from trueness.threshold.operating_point import OperatingPoint
from trueness.threshold.prevalences import Prevalences
from trueness.threshold.rule import confusion
from trueness.threshold.validation import Validation, validate_threshold


def validate_choice(
    tally: Tally,
    goal: ThresholdGoal,
    request: Request,
    prevalences: Prevalences = None,
) -> Validation:
    """Choose a threshold, and say what to expect of it on new cases.

    Constraints are expected to hold there, not only on these cases.
    """
    validation: Validation = validate_threshold(
        tally,
        maximize=goal.maximize,
        minimize=goal.minimize,
        subject_to=goal.subject_to,
        prevalences=prevalences,
        constraints_on=NEW_CASES if goal.subject_to else THESE_CASES,
        level=request.level,
        rng=request.rng,
    )

    return validation


def guarantee_for(
    tally: Tally,
    goal: ThresholdGoal | None,
    constraints: Iterable[ConstraintLike],
    *,
    confidence: float,
    rng: Seed,
) -> GuaranteedThreshold:
    """Find the threshold whose constraints hold with a confidence."""
    guarantee: GuaranteedThreshold = guaranteed_threshold(
        tally,
        constraints,
        maximize=goal and goal.maximize,
        minimize=goal and goal.minimize,
        level=confidence,
        rng=rng,
    )

    return guarantee


def point_of_guarantee(tally: Tally, guarantee: GuaranteedThreshold) -> OperatingPoint:
    """Return a guaranteed threshold as a point that a page can show."""
    return OperatingPoint(
        threshold=guarantee.threshold,
        score_range=guarantee.score_range,
        value=math.nan,
        confusion=confusion(tally, guarantee.threshold),
        score_ranges=(guarantee.score_range,),
        binding=(),
        objective="guaranteed",
        method=guarantee.method,
        constraints={proof.constraint: proof.value for proof in guarantee.proofs},
        prevalence=tally.prevalence,
        notes=guarantee.notes,
    )


def check_guarantee(request: Request) -> None:
    """Raise an error for a guarantee that has nothing to guarantee."""
    _options.fraction(request.guarantee, "guarantee")

    if not request.subject_to:
        raise InputError(
            "A guarantee needs a constraint; found none.",
            option="subject_to",
            example="recall >= 0.9",
        )

    if request.at is not None:
        raise InputError(
            "A given threshold is evaluated, so there is nothing to guarantee. Leave "
            "the guarantee out.",
            option="at",
        )
