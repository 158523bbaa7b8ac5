r"""What is the rate, when labels were chosen by truth?

So many known positives, so many known negatives: their number says nothing about the
rate. They say how often positives and negatives get a "yes" (A and B), and the cases
without a label say how common a "yes" is,

.. math:: q = \theta A + (1 - \theta) B

(Rogan, Gladen 1978, doi:10.1093/oxfordjournals.aje.a112510), solved for theta with
draws of A, B and q (a generalised confidence interval: Weerahandi 1993, J. Am. Stat.
Assoc. 88:899, doi:10.1080/01621459.1993.10476355). Several judges are made one first
(``one_verdict``).
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from trueness._core.arrays import Array, Floats
from trueness._core.checks.errors import NotEnoughCases
from trueness.nogold import truth_given_votes as _truth
from trueness.nogold.verdicts import Verdicts, read_votes

Rng = np.random.Generator


def draws(x: Verdicts, rng: Rng) -> Floats:
    """Draw the share of positives among the cases without a label."""
    yes = one_verdict(x)
    pos, neg, unknown = (
        (float(c[yes].sum()), float(c[~yes].sum())) for c in (x.pos, x.neg, x.unknown)
    )
    return mixture_share(pos, neg, unknown, rng)


def possible(pos: int, neg: int, unknown: int) -> None:
    """Stop where one of both classes, or cases without a label, are missing."""
    if min(pos, neg, unknown) == 0:
        raise NotEnoughCases(
            f"Labels that were chosen by truth need positives, negatives and cases "
            f"without a label; found {pos:,}, {neg:,} and {unknown:,}. Were the labels "
            f'drawn at random? Then type labelled="random".'
        )


def one_verdict(x: Verdicts) -> Array:
    """Make one verdict of all: which patterns speak for a positive case?

    The mean verdict, with judges turned round that the labels show to be worse than
    chance, is cut half way between its means in both classes. More levels than two
    would fit the few labels of a class too closely.
    """
    v = read_votes(x)
    in_pos, in_neg = (c @ v.x / c.sum() for c in (v.pos, v.neg))
    score = v.x @ np.where(in_pos < in_neg, -1.0, 1.0)
    middle = (v.pos @ score / v.pos.sum() + v.neg @ score / v.neg.sum()) / 2
    return np.asarray(score > middle)


def mixture_share(
    pos: tuple[float, float],
    neg: tuple[float, float],
    unknown: tuple[float, float],
    rng: Rng,
) -> Floats:
    """Draw theta, given counts of yes and no in either class and without a label.

    Each share has the posterior of Jeffreys, and theta is what they solve to, moved to
    0 or 1 where that lies outside. A posterior of theta between 0 and 1 alone would end
    before a rate near 1 too often: at .97, with 50 labels, in 5 to 7 % of samples.
    Where positives do not say yes more often than negatives, nothing is known.
    """
    a, b, q = (rng.beta(y + 0.5, n + 0.5, _truth.DRAWS) for y, n in (pos, neg, unknown))
    gap = np.where(a > b, a - b, np.inf)
    return np.where(a > b, np.clip((q - b) / gap, 0.0, 1.0), rng.random(_truth.DRAWS))


def outside(x: Verdicts) -> float:
    """How surely does q lie beyond the shares of both classes? A p-value.

    Then no rate explains it: labelled cases are not like the others.
    """
    yes = one_verdict(x)
    q, *ends = (
        ((c[yes].sum() + 0.5) / (c.sum() + 1), c.sum() + 1.0)
        for c in (x.unknown, x.neg, x.pos)
    )
    below, above = (
        sign * (q[0] - end) / np.sqrt(q[0] * (1 - q[0]) / q[1] + end * (1 - end) / n)
        for sign, (end, n) in zip((-1, 1), ends, strict=True)
    )
    return float(2 * ndtr(-max(below, above)))


def influence(x: Verdicts, theta: float) -> Floats:
    """Give the influence of a case where labels were chosen by truth."""
    yes = one_verdict(x).astype(float)
    _, _, pos, neg, unknown = x
    a, b, q = (
        (c @ yes + 0.5) / (c.sum() + 1) for c in (pos, neg, unknown)
    )  # as the prior of Jeffreys
    gap = a - b if abs(a - b) > 1e-3 else 1e-3
    return np.column_stack(
        [
            (yes - q) / (unknown.sum() * gap),
            -theta * (yes - a) / (pos.sum() * gap),
            -(1 - theta) * (yes - b) / (neg.sum() * gap),
        ]
    )


def influence_on_rate(x: Verdicts, labelled: str, theta: float) -> Floats:
    """What does a case without a label, a positive, a negative add to the rate?"""
    if labelled == "by truth":
        return influence(x, theta)
    v = read_votes(x)
    return _truth.influence(v, _truth.design(v, labelled))
