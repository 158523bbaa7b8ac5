"""What does an answer say, where no field of it is the one number that was asked for?

A notebook shows the sentence above the table. There is one function for each class of
records that needs a sentence.
"""

from __future__ import annotations

from functools import singledispatch
from math import isnan

from trueness._core.numbers import level_text, listed, number_of, percent
from trueness.calibration.parametric import Platt
from trueness.calibration.reliability_diagram import Reliability
from trueness.comparison.dominance import Dominance
from trueness.ensembles.combiners import FiDEL
from trueness.fermi.distribution import FermiDirac
from trueness.ranking.planning import Plan
from trueness.threshold.guarantees import GuaranteedThreshold

# Dominance.verdict in words, of the first and the second classifier
_VERDICTS = {
    "dominates": "The ROC curve of {} is nowhere below that of {} in these cases.",
    "is dominated": "The ROC curve of {} is nowhere above that of {} in these cases.",
    "equal": "{} and {} have the same ROC curve in these cases.",
    "crosses": "The ROC curves of {} and {} cross: neither is better everywhere.",
}


@singledispatch
def sentence_about(answer: object) -> str | None:
    """Return what an answer says; None where its own text says it."""
    return None


@sentence_about.register
def _about_plan(plan: Plan) -> str:
    """Return how many cases a study needs."""
    cases = (
        f"The study needs {number_of(plan.n)} cases, {number_of(plan.n_pos)} of them "
        f"positive"
    )
    if isnan(plan.power):
        return (
            f"{cases}: the interval of the {plan.measure} is then "
            f"{plan.value:.3g} \N{PLUS-MINUS SIGN} {plan.half_width:.2g} on average."
        )
    return (
        f"{cases}: the power is then {percent(plan.power)}, if the {plan.measure} is "
        f"{plan.value:.3g}."
    )


@sentence_about.register
def _about_guarantee(guaranteed: GuaranteedThreshold) -> str:
    """Return which rule keeps which constraint, and with which confidence."""
    rule = str(guaranteed.rule).removeprefix("Rule: ").capitalize()
    return (
        f"{rule}. {guaranteed.constraint} holds in the population with a confidence of "
        f"{level_text(guaranteed.level)}. In the sample the value is "
        f"{guaranteed.value:.3g}; its bound is {guaranteed.bound:.3g}."
    )


@sentence_about.register
def _about_dominance(dominance: Dominance) -> str:
    """Return which of two curves is higher."""
    return _VERDICTS[dominance.verdict].format(*dominance.names)


@sentence_about.register
def _about_ranks(distribution: FermiDirac) -> str:
    """Return at which rank a case is as likely positive as negative."""
    cases = (
        f"{number_of(distribution.n_pos)} of {number_of(distribution.n)} cases are "
        f"positive, and the AUC is {distribution.auc:.3f}"
    )
    if not 1 <= distribution.mu <= distribution.n:
        return f"{cases}: no rank is as likely positive as negative."
    return (
        f"{cases}: a case of rank {distribution.mu:.0f} is as likely positive as "
        "negative."
    )


@sentence_about.register
def _about_platt(line: Platt) -> str:
    """Return the line that makes log odds of scores."""
    score = "the score" if line.scale == "identity" else "the logit of the score"
    return (
        f"The log odds of a positive are {line.intercept:.4g} + {line.slope:.4g} times "
        f"{score}."
    )


@sentence_about.register
def _about_fidel(fidel: FiDEL) -> str:
    """Return whose ranks are combined."""
    named = [
        f"{name} (AUC {auc:.3f})"
        for name, auc in zip(fidel.names, fidel.auc, strict=True)
    ]
    return f"FiDEL adds the evidence of the ranks of {listed(named)}."


@sentence_about.register
def _about_reliability(curve: Reliability) -> str:
    """Return what a reliability diagram shows, and of how many cases."""
    return (
        f"The proportion of positives at each score, by isotonic regression of "
        f"{number_of(curve.n)} cases; calibrated scores lie on the diagonal."
    )
