r"""How good is each judge, and how many independent judges are they worth?

Accuracies come from the shares of vote patterns in both classes, or, where labels were
chosen by truth, from the labelled cases alone. The worth of K judges whose errors
correlate by r on average is that of

.. math:: K_{\mathrm{eff}} = \frac{K}{1 + (K - 1) r}

independent ones (the design effect of Kish 1965): the mean of K verdicts then has the
variance of the mean of so many independent ones. K counts judges that agree in every
case once, and those whose verdict is always the same not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.records import Estimate, Record
from trueness.inference.limits import around
from trueness.nogold._checks import only_value
from trueness.nogold.posterior import estimate
from trueness.nogold.verdicts import Verdicts, distinct, graded

Rng = np.random.Generator
DRAWS = 4000
REPLICATES = 1000  # of the labelled cases, for the number of effective judges


@final
@dataclass(frozen=True, repr=False)
class Judge(Record):
    """How good is one judge? NaN for a judge who gives grades.

    Attributes
    ----------
    sensitivity, specificity : Estimate
        Share of positives that get a yes, and of negatives that get a no.
    """

    sensitivity: Estimate
    specificity: Estimate


def nothing(level: float, why: str) -> Estimate:
    """Give the estimate of what cannot be known, with the reason."""
    return around(np.nan, np.nan, np.nan, level, why)


def by_shares(x: Verdicts, pos: Floats, neg: Floats, level: float) -> dict[str, Judge]:
    """Give each judge's accuracies from the shares of patterns in both classes."""

    def share(of: Floats, right: Floats, wrong: Floats) -> Floats:
        good, bad = of @ right, of @ wrong
        return np.asarray(good / np.maximum(good + bad, 1e-300))

    return _each(x, level, lambda y, n: (share(pos, y, n), share(neg, n, y)))


def by_counts(x: Verdicts, level: float, rng: Rng) -> dict[str, Judge]:
    """Give each judge's accuracies from labelled cases alone (prior of Jeffreys)."""

    def share(of: Array, right: Floats, wrong: Floats) -> Floats:
        return rng.beta(of @ right + 0.5, of @ wrong + 0.5, DRAWS)

    return _each(x, level, lambda y, n: (share(x.pos, y, n), share(x.neg, n, y)))


def _each(
    x: Verdicts, level: float, draws: Callable[[Floats, Floats], tuple[Floats, Floats]]
) -> dict[str, Judge]:
    """Summarise draws of both accuracies, given who said yes and who said no."""
    out = {}
    for k, (name, column) in enumerate(zip(x.names, x.rows.T, strict=True)):
        said = (column == 1).astype(float), (column == 0).astype(float)
        out[name] = (
            Judge(nothing(level, "graded"), nothing(level, "graded"))
            if graded(x.rows)[k]
            else Judge(*(estimate(d, level) for d in draws(*said)))
        )
    return out


def effective_judges(
    x: Verdicts,
    level: float,
    rng: Rng,
    both: tuple[Floats, Floats] | None = None,
) -> Estimate:
    """How many independent judges is the panel worth, by the labelled cases?

    ``both`` are shares of the patterns in positives and negatives, (draws, patterns),
    where labelled cases were chosen by their verdicts: judges agree more, or less, in
    these than in all.
    """
    # who always says the same errs independently of all others, but is worth nothing
    kept = [k for k in distinct(x.rows) if np.isnan(only_value(x.rows[:, k]))]
    k = len(kept)
    if k <= 1:
        return around(k, k, k, level, "one judge" if k else "constant verdicts")
    rows = x.rows[:, kept]
    known = x.pos + x.neg > 0
    seen = ~np.isnan(rows).any(axis=1) & (known | (both is not None))
    if x.pos[seen].sum() < 2 and x.neg[seen].sum() < 2:
        return nothing(level, "too few labels")
    if both is None:
        size = REPLICATES, x.pos.size
        both = rng.standard_gamma(x.pos, size), rng.standard_gamma(x.neg, size)
    pos, neg = (share[:REPLICATES, seen] for share in both)
    r = _mean_correlation(rows[seen], pos, neg)
    return estimate(k / (1 + (k - 1) * np.clip(r, 0, 1)), level)


def _mean_correlation(rows: Floats, pos: Floats, neg: Floats) -> Floats:
    """Average the correlation of errors over pairs, within classes, for each draw."""
    k = rows.shape[1]
    rows = rows - rows.mean(axis=0)
    products = (rows[:, :, None] * rows[:, None]).reshape(len(rows), k * k)
    covariance = np.zeros((len(pos), k, k))
    for w in (pos, neg):
        total = np.maximum(w.sum(axis=1), 1e-300)
        mean = w @ rows / total[:, None]
        covariance += (w @ products).reshape(-1, k, k)
        # within the class: products less those of the means
        covariance -= total[:, None, None] * mean[:, :, None] * mean[:, None]
    sd = np.sqrt(np.maximum(np.diagonal(covariance, axis1=1, axis2=2), 1e-300))
    r = covariance / sd[:, :, None] / sd[:, None]
    i, j = np.triu_indices(k, 1)
    return np.asarray(r[:, i, j].mean(axis=1))
