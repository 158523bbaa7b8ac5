r"""What is the rate, when labels were chosen by truth?

So many known positives, so many known negatives: their number says nothing about the
rate. They say how often positives and negatives get a "yes" (A and B), and the cases
without a label say how common a "yes" is,

.. math:: q = \theta A + (1 - \theta) B

(Rogan, Gladen 1978, doi:10.1093/oxfordjournals.aje.a112510; here by Bayes, with the
uniform prior for theta and that of Jeffreys for A and B). Several judges are made one
first (``one_verdict``).
"""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, betaincinv

from trueness._core.arrays import Array, Floats
from trueness._core.checks.errors import NotEnoughCases
from trueness.counts.values import Panel
from trueness.nogold.sampling.tempering import resample
from trueness.nogold.truth_given_votes import DRAWS, PROPOSALS
from trueness.nogold.verdicts import read_votes

Rng = np.random.Generator


def draws(panel: Panel, rng: Rng) -> Floats:
    """Draw the share of positives among the cases without a label."""
    if panel.n_pos == 0 or panel.n_neg == 0 or panel.n_unknown == 0:
        raise NotEnoughCases(
            f"Labels that were chosen by truth need positives, negatives and cases "
            f"without a label; found {panel.n_pos:,}, {panel.n_neg:,} and "
            f"{panel.n_unknown:,}. Were the labels drawn at random? Then type "
            f'labelled="random".'
        )
    yes = one_verdict(panel)
    pos, neg, unknown = (
        (float(c[yes].sum()), float(c[~yes].sum()))
        for c in (panel.pos, panel.neg, panel.unknown)
    )
    return mixture_share(pos, neg, unknown, rng)


def one_verdict(panel: Panel) -> Array:
    """Make one verdict of all: which patterns speak for a positive case?

    The mean verdict, with judges turned round that the labels show to be worse than
    chance, is cut half way between its means in both classes. More levels than two
    would fit the few labels of a class too closely.
    """
    v = read_votes(panel)
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
    r"""Draw theta from its posterior, given counts of yes and no.

    Given A and B, a uniform theta makes q uniform between B and A. So the probability
    of the unlabelled counts is that of the Beta distribution between B and A, over
    \|A - B\|: draws of (A, B) are weighted by it, and q is then drawn from the Beta
    distribution between them, by its inverse.
    """
    a, b = (rng.beta(y + 0.5, n + 0.5, PROPOSALS) for y, n in (pos, neg))
    shape = unknown[0] + 1, unknown[1] + 1
    low, high = (betainc(*shape, end(a, b)) for end in (np.minimum, np.maximum))
    with np.errstate(divide="ignore"):  # no chance at all: never chosen
        weight = np.log(np.maximum(high - low, 0)) - np.log(np.abs(a - b))
    if not np.isfinite(weight).any():  # q is far outside of all: the nearer end
        weight = np.zeros(a.size)
    at = rng.permutation(resample(weight, DRAWS, rng))
    a, b, low, high = a[at], b[at], low[at], high[at]
    q = betaincinv(*shape, low + (high - low) * rng.random(at.size))
    return np.asarray(np.clip((q - b) / (a - b), 0.0, 1.0))
