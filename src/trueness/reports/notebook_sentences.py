"""What does an answer say, where no field of it is the one number that was asked for?

``SENTENCES`` has a function for each class of records: a notebook shows its sentence
above the table. The classes are named, so that their rooms need not be loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isnan
from typing import Any

from trueness._core.numbers import level_text, listed, number_of, percent

# Dominance.verdict in words, of the first and the second classifier
_VERDICTS = {
    "dominates": "{} ranks at least as well as {} at every threshold in these cases.",
    "is dominated": "{} never ranks better than {} at any threshold in these cases.",
    "equal": "{} and {} have the same ROC curve in these cases.",
    "crosses": "The ROC curves of {} and {} cross: neither is better everywhere.",
}


def _about_plan(plan: Any) -> str:
    """Say how many cases a study needs."""
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


def _about_guarantee(guaranteed: Any) -> str:
    """Say which rule keeps which constraint, and with which confidence."""
    rule = str(guaranteed.rule).removeprefix("Rule: ").capitalize()
    return (
        f"{rule}. {guaranteed.constraint} holds in the population with a confidence of "
        f"{level_text(guaranteed.level)}. In the sample the value is "
        f"{guaranteed.value:.3g}; its bound is {guaranteed.bound:.3g}."
    )


def _about_dominance(dominance: Any) -> str:
    """Say which of two curves is higher."""
    return _VERDICTS[dominance.verdict].format(*dominance.names)


def _about_ranks(distribution: Any) -> str:
    """Say at which rank a case is as likely positive as negative."""
    share = (
        f"{number_of(distribution.n_pos)} of {number_of(distribution.n)} cases are "
        f"positive, and the AUC is {distribution.auc:.3f}"
    )
    if not 1 <= distribution.mu <= distribution.n:
        return f"{share}: no rank is as likely positive as negative."
    return (
        f"{share}: a case of rank {distribution.mu:.0f} is as likely positive as "
        "negative."
    )


def _about_platt(line: Any) -> str:
    """Write the curve that turns scores into probabilities."""
    score = "the score" if line.scale == "identity" else "the logit of the score"
    return (
        f"The log odds of a positive are {line.intercept:.4g} + {line.slope:.4g} times "
        f"{score}."
    )


def _about_fidel(fidel: Any) -> str:
    """Say whose ranks are combined."""
    named = [
        f"{name} (AUC {auc:.3f})"
        for name, auc in zip(fidel.names, fidel.auc, strict=True)
    ]
    return f"FiDEL adds the evidence of the ranks of {listed(named)}."


def _about_reliability(curve: Any) -> str:
    """Say what a reliability diagram shows, and of how many cases."""
    return (
        f"The proportion of positives at each score, by isotonic regression of "
        f"{number_of(curve.n)} cases; calibrated scores lie on the diagonal."
    )


SENTENCES: Mapping[str, Callable[[Any], str]] = {
    "Plan": _about_plan,
    "GuaranteedThreshold": _about_guarantee,
    "Dominance": _about_dominance,
    "FermiDirac": _about_ranks,
    "Platt": _about_platt,
    "FiDEL": _about_fidel,
    "Reliability": _about_reliability,
}
