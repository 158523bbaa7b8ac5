r"""What are probabilities worth where positives are a known share of the cases?

A case-control sample has as many positives and negatives as its design wanted. The
score that a case of each class shows is that of the population, the share of positives
is not, and whatever compares a probability with what happened depends on that share.
With the share :math:`\pi` of use given, each positive counts as :math:`\pi n / N_1`
cases and each negative as :math:`(1 - \pi) n / N_0`, and an interval allows for other
cases of each class, not for another share.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.records import Estimate
from trueness.counts.values import Tally
from trueness.ranking.auc_intervals import student_quantile


class FixedShare(NamedTuple):
    """How many cases of each class there are, and the share of positives that counts.

    A case of a class counts as often as ``weights`` say; both together are as many
    cases as ``number``: so many equal ones would tell as much (Kish).
    """

    share: float
    n_pos: int
    n_neg: int

    @property
    def number(self) -> float:
        """As how many equal cases do these count?"""
        return 1 / (self.share**2 / self.n_pos + (1 - self.share) ** 2 / self.n_neg)

    @property
    def weights(self) -> tuple[float, float]:
        """How often does a positive, and a negative, count?"""
        n = self.number
        return self.share * n / self.n_pos, (1 - self.share) * n / self.n_neg

    @property
    def note(self) -> str:
        """Say what was done."""
        found = self.n_pos / (self.n_pos + self.n_neg)
        return (
            f"The cases are weighed to a share of positives of {self.share:.4g}, which "
            f"was given and is taken as known; among them it is {found:.4g}. The "
            f"intervals allow for other positives and other negatives."
        )

    def samples(
        self, mass: Array, truths: Sequence[Floats], rng: np.random.Generator
    ) -> Iterator[tuple[Array, Array]]:
        """Draw as many of each class, weighed, where truths are shares of positives.

        ``mass`` says how many cases of the population have each score. A truth has its
        own share of positives, and its sample is weighed to that one.
        """
        mass, n = mass / mass.sum(), self.number
        for truth in truths:
            yes = mass * np.clip(truth, 1e-9, 1 - 1e-9)
            share = float(yes.sum())
            no = (mass - yes) / (1 - share)
            pos = rng.multinomial(self.n_pos, yes / share) * (share * n / self.n_pos)
            neg = rng.multinomial(self.n_neg, no) * ((1 - share) * n / self.n_neg)
            yield pos, neg

    def mean(
        self,
        losses: tuple[Floats, Floats],
        rows: tuple[Array, Array],
        level: float,
        most: float,
        least: float = 0.0,
    ) -> Estimate:
        r"""How large is the mean loss, and between which values may it lie?

        .. math:: m = \pi m_1 + (1 - \pi) m_0, \qquad
                  \mathrm{var}(m) = \pi^2 v_1 / N_1 + (1 - \pi)^2 v_0 / N_0

        ``rows`` hold positives and negatives. As for other cases (``mean_estimate``),
        one more of each class, spread over all scores, is added for the interval.
        """
        pos, neg = rows
        spread = pos / self.n_pos * self.share + neg / self.n_neg * (1 - self.share)
        value = middle = variance = doubt = 0.0
        parts = ((losses[1], pos, self.share), (losses[0], neg, 1 - self.share))
        with np.errstate(invalid="ignore"):
            for loss, cases, share in parts:
                own = float(loss[cases > 0] @ cases[cases > 0])
                other = float(loss[spread > 0] @ spread[spread > 0])
                n, both = float(cases.sum()), cases + spread
                mean = (own + other) / (n + 1)
                away = float(((loss - mean) ** 2)[both > 0] @ both[both > 0]) / (n + 1)
                part = share**2 * away / (n + 1)
                value, middle = value + share * own / n, middle + share * mean
                variance, doubt = variance + part, doubt + part**2 / n
        method = "one more of each, share given"
        if math.isnan(value):
            return Estimate(value, value, value, level, method)
        if not math.isfinite(variance):
            low = value if math.isinf(value) else 0.0
            return Estimate(value, low, math.inf, level, method)
        df = variance**2 / doubt if doubt > 0 else 1e9
        half = float(student_quantile(df, level)) * math.sqrt(variance)
        low, high = max(middle - half, least), min(middle + half, most)
        sd = math.sqrt(variance)
        return Estimate(value, min(low, value), max(high, value), level, method, sd)


def fixed_share(
    t: Tally, sampling: object, prevalence: object, what: str
) -> FixedShare | None:
    """Give how cases are to be weighed; nothing when they count as they came."""
    share = None if prevalence is None else _options.fraction(prevalence, "prevalence")
    _options.sampling(sampling, share, what)
    if share is None:
        return None
    if t.weighted:
        raise InputError(
            f"{what} needs weights or prevalence=, not both: weights already say how "
            f"many positives a case stands for. Leave one of them out."
        )
    _cases.both_classes(t, what)
    return FixedShare(share, int(t.n_pos), int(t.n_neg))


def weighed(fixed: FixedShare | None, pos: Array, neg: Array) -> tuple[Array, Array]:
    """Give positives and negatives as often as they count."""
    if fixed is None:
        return pos, neg
    return pos * fixed.weights[0], neg * fixed.weights[1]


def noted(fixed: FixedShare | None) -> tuple[str, ...]:
    """Say that cases were weighed, if they were."""
    return () if fixed is None else (fixed.note,)


def class_sandwich(
    fixed: FixedShare, design: Floats, residuals: tuple[Floats, Floats], rows: Any
) -> Floats:
    """What varies a sum of weighed residuals between samples of both classes? (k, k)

    ``design`` (m, k) are the columns, ``residuals`` those of a positive and a negative
    at each row, ``rows`` positives and negatives.
    """
    k = design.shape[1]
    out = np.zeros((k, k))
    for cases, residual, weight in zip(rows, residuals, fixed.weights, strict=True):
        n, each = float(cases.sum()), residual[:, None] * design
        away = each - cases @ each / n
        out += weight**2 * (away * cases[:, None]).T @ away * n / max(n - 1, 1)
    return out
