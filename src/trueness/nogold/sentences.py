"""What do answers without a gold standard say, in words?"""

from __future__ import annotations

import numpy as np

from trueness._core.numbers import level_text, p_is, percent
from trueness._core.records import Estimate, shown
from trueness.nogold.combinations.records import Combination
from trueness.nogold.dependence import Dependence

DOUBT = 0.05


def dependence_sentence(d: Dependence) -> str:
    """Say which tests seem to share their errors, beyond what the model explains."""
    # two looks at each pair, the score test where there is one: the better one counts
    # twice
    looks = 1 + np.isfinite(d.score_p_value)
    p_value = np.minimum(1.0, looks * np.fmin(d.p_value, d.score_p_value))
    sure = p_value < DOUBT
    pairs = [
        f"{shown(a)} and {shown(b)} ({p_is(p)})"
        for a, b, p in zip(d.first[sure], d.second[sure], p_value[sure], strict=True)
    ]
    if pairs:
        return (
            "These tests seem to make the same errors, which the model does not allow "
            f"for: {', '.join(pairs)}."
        )
    if not np.isfinite(d.p_value).all():
        return d.note
    return (
        "No evidence was found that tests make the same errors (smallest "
        f"{p_is(float(p_value.min()))}). {d.note}"
    )


def combination_sentence(rule: Combination) -> str:
    """Say which rule is best, and how good it is."""
    return (
        f"The best combination is: {shown(rule.formula, 300)}. It finds "
        f"{percent(rule.sensitivity.value)} of those who have the condition "
        f"(sensitivity) and clears {percent(rule.specificity.value)} of those who do "
        "not (specificity)."
    )


def credible_sentence(what: str, e: Estimate) -> str:
    """Say what a posterior says of one number."""
    return (
        f"{what} is about {percent(e.value)}; with a probability of "
        f"{level_text(e.level)} it lies between {percent(e.low)} and {percent(e.high)}."
    )
