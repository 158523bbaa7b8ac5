r"""What would be proof that a metric keeps its bound in the population?

A bound on a metric is read as one of three kinds of claim, each with a test whose error
rate is known whatever the scores:

``ShareOfCases``
    Among some cases at least so many are right. Precision, recall, accuracy, F1,
    Jaccard: :math:`over/under \ge b` says that :math:`over - b\,under` is at least zero
    on average; when that number has one positive and one negative value, the claim is a
    bound on a share, and the test is the exact binomial one.
``Mean``
    The mean of a number between two ends is at least zero: the same with more values
    (F-beta, cost per case, net benefit). The test is that of Hoeffding and Bentkus.
``Rates``
    A weighted sum of recall and false positive rate reaches a bound: Youden's J,
    balanced accuracy, likelihood ratios, and every quotient at a prevalence that is not
    that of the sample. Each rate is replaced by its exact limit.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from trueness._core.arrays import Floats, Ints
from trueness._core.binomial import at_least, divergence, exact_end
from trueness._core.checks.errors import InputError
from trueness._core.search import bisect
from trueness.metrics.algebra import (
    Constraint,
    Metric,
    as_fraction,
    depends_on_prevalence,
)
from trueness.metrics.confusion import Confusion, swept
from trueness.threshold import limits
from trueness.threshold.cuts import make_cuts
from trueness.threshold.prevalence import Share

Cells = tuple[bool, bool, bool, bool]  # which of tp, fp, fn, tn
_POSITIVES, _NEGATIVES = (True, False, True, False), (False, True, False, True)
_ALL, _FLAGGED = (True, True, True, True), (True, True, False, False)
_CLEARED = (False, False, True, True)
# of the error allowed, the part that the doubt of an estimated prevalence may use
_FOR_PREVALENCE = 0.1


class TestedClaim(ABC):
    """A claim that is tested by a p-value, and need not rise or fall with the cuts."""

    @abstractmethod
    def p_values(self, c: Confusion) -> Floats:
        """How likely is such a sample when the claim just fails?"""

    def passes(self, c: Confusion, alpha: Any) -> NDArray[np.bool_]:
        """At which cuts is it proved?"""
        return np.asarray(self.p_values(c) <= alpha)

    def evidence(self, c: Confusion) -> Floats:
        """How strong is the evidence at each cut? More is stronger."""
        return -self.p_values(c)

    def monotone(self) -> int:
        """Does it rise (1) or fall (-1) as more is flagged, or neither for sure (0)?"""
        return 0


@dataclass(frozen=True)
class ShareOfCases(TestedClaim):
    """Of the cases in ``right`` and ``wrong`` more than ``bound`` are right."""

    right: Cells
    wrong: Cells
    bound: float

    @property
    def cells(self) -> Cells:
        """Which cases is it a share of?"""
        return tuple(a or b for a, b in zip(self.right, self.wrong, strict=True))  # type: ignore[return-value]

    @property
    def words(self) -> str:
        """Which cases is it a share of, in words?"""
        return _WORDS.get(self.cells, "cases that count")

    def is_bound(self, asked: Constraint) -> bool:
        """Is the share the metric itself, or what it lacks to one? (Not so for F1.)"""
        bound = as_fraction(asked.bound)
        return self.bound == float(bound if asked.upward else 1 - bound)

    def counts(self, c: Confusion) -> tuple[Ints, Ints]:
        """How many are right, and of how many?"""
        y = _total(c, self.right)
        return y, y + _total(c, self.wrong)

    def p_values(self, c: Confusion) -> Floats:
        """How likely is such a share when the bound is just missed? Exact tails."""
        y, n = self.counts(c)
        return np.where(n > 0, at_least(y, n, self.bound), 1.0)

    def monotone(self) -> int:
        """Does the share rise (1) or fall (-1) as more is flagged, or neither (0)?"""
        if self.cells not in (_POSITIVES, _NEGATIVES, _ALL):
            return 0
        tp, fp, fn, tn = self.right
        if not (fn or tn):
            return 1
        return 0 if tp or fp else -1

    def fewest(self, alpha: float) -> int:
        """How many cases are proof when all of them are right?"""
        # n of n right have probability bound^n where the bound is just missed
        n = max(1, math.floor(math.log(alpha) / math.log(self.bound)) - 1)
        while at_least(np.array(n), n, self.bound) > alpha:
            n += 1
        return n


def _total(c: Confusion, cells: Cells) -> Any:
    return np.asarray(c.weighed(cells))


_WORDS: dict[Cells, str] = {
    _POSITIVES: "positives",
    _NEGATIVES: "negatives",
    _ALL: "labelled cases",
    _FLAGGED: "flagged cases",
    _CLEARED: "cases that are not flagged",
}


@dataclass(frozen=True)
class MeanRisk(TestedClaim):
    """The mean of ``z`` over the cases (tp, fp, fn, tn) is at least zero."""

    z: tuple[float, float, float, float]

    def counts(self, c: Confusion) -> tuple[Floats, Ints]:
        """Give the mean loss, scaled to [0, 1], and the number of cases that count."""
        n = _total(c, tuple(bool(v) for v in self.z))  # type: ignore[arg-type]
        high, low = max(self.z), min(self.z)
        loss = (high - c.weighed(self.z) / np.maximum(n, 1)) / (high - low)
        return np.clip(loss, 0.0, 1.0), n

    def p_values(self, c: Confusion) -> Floats:
        r"""How likely is such a mean when the claim just fails?

        Of a loss in [0, 1] with mean :math:`\ell` or more, the chance of a mean of r or
        less is at most :math:`e^{-n\,kl(r, \ell)}` (Hoeffding 1963, theorem 1) and at
        most e times the binomial tail :math:`P(Bin(n, \ell) \le \lceil nr \rceil)`
        (Bentkus 2004, theorem 1.1); Bates et al. (2021), prop. 6, take the smaller one.
        Cases with z = 0 change no sign: the test is made given how many do not.
        """
        loss, n = self.counts(c)
        # the loss of cases whose z is zero on average
        most = max(self.z) / (max(self.z) - min(self.z))
        hoeffding = np.where(loss < most, np.exp(-n * divergence(loss, most)), 1.0)
        k = np.ceil(n * loss - 1e-9)  # rounding must not add a case
        bentkus = math.e * at_least(n - k, n, 1 - most)
        return np.where(n > 0, np.minimum(np.minimum(hoeffding, bentkus), 1.0), 1.0)


@dataclass(frozen=True)
class RiskRates(TestedClaim):
    """``a * recall + b * fpr >= d``, for each (a, b, d): one for every prevalence.

    ``left`` is the part of the error allowed that remains for the rates.
    """

    forms: tuple[tuple[float, float, float], ...]
    left: float = 1.0

    def counts(self, c: Confusion) -> tuple[Any, Any]:
        """Give zero and the number of cases: no share is counted here."""
        n = _total(c, _ALL)
        return 0 * n, n

    def passes(self, c: Confusion, alpha: Any) -> NDArray[np.bool_]:
        """At which cuts is it proved?

        By limits of both rates that hold together: each with half of the error (all of
        it where the other rate does not count), exact (Clopper and Pearson 1934).
        """
        met = np.ones(np.shape(c.tp), dtype=bool)
        for a, b, d in self.forms:
            # Bonferroni: limits of the rates that count hold together
            tail = alpha * self.left / max(1, bool(a) + bool(b))
            recall = exact_end(c.tp, c.tp + c.fn, tail, low=a > 0)
            fpr = exact_end(c.fp, c.fp + c.tn, tail, low=b > 0)
            met &= np.asarray(a * recall + b * fpr >= d)
        return met

    def evidence(self, c: Confusion) -> Floats:
        """How far beyond its bound is the sum, as the p-value of a normal law?"""
        pos, neg = c.tp + c.fn, c.fp + c.tn
        # half a case of each kind, so that a rate of 0 or 1 has an error too
        x, y = (c.tp + 0.5) / (pos + 1), (c.fp + 0.5) / (neg + 1)
        found = []
        for a, b, d in self.forms:
            spread = a * a * x * (1 - x) / (pos + 1) + b * b * y * (1 - y) / (neg + 1)
            found.append((a * x + b * y - d) / np.sqrt(spread))
        return -np.asarray(ndtr(-np.min(found, axis=0)))

    def p_values(self, c: Confusion) -> Floats:
        """At which error rate would it just be proved? By bisection."""
        start, end = np.zeros(np.shape(c.tp)), np.full(np.shape(c.tp), -700.0)
        # of rates so small that only their logarithm can be halved
        return np.asarray(
            np.exp(bisect(lambda x: self.passes(c, np.exp(x)), start, end))
        )


Risk = ShareOfCases | MeanRisk | RiskRates


def read_risk(asked: Constraint, share: Share | None, alpha: float) -> Risk:
    """Read a bound on a metric as a claim that can be tested."""
    rates = _as_rates(asked, share, alpha)
    if rates is not None:
        return rates
    z = _values(asked)
    if z is None:
        raise _no_claim(asked)
    if not (min(z) < 0 < max(z)):
        raise InputError(
            f"A guarantee needs a bound that can be met and missed, such as one "
            f"between 0 and 1 for a share; found {asked!r}. No number of cases can "
            f"prove that a share is 0 or 1."
        )
    up, down = {v for v in z if v > 0}, {v for v in z if v < 0}
    if len(up) > 1 or len(down) > 1:
        return MeanRisk(tuple(map(float, z)))  # type: ignore[arg-type]
    x, y = up.pop(), -down.pop()
    # x right > y wrong: the share of right ones is above y / (x + y)
    right, wrong = (tuple(v * s > 0 for v in z) for s in (1, -1))
    return ShareOfCases(right, wrong, float(y / (x + y)))  # type: ignore[arg-type]


def _no_claim(asked: Constraint) -> InputError:
    return InputError(
        f"A guarantee needs a bound on a mean or a quotient of means, such as a share "
        f"of cases (recall, fpr, precision, accuracy, f1), a cost per case, or a "
        f"weighted sum of recall and fpr; found {asked!r}. For other metrics see "
        f"trueness.validate_threshold."
    )


# the sizes of the classes do not matter here: one case of each
_ONE_EACH = make_cuts(np.zeros(1), swept(np.ones(1, int), np.ones(1, int)), None)


def _lead(asked: Constraint, size: int) -> limits.Form | None:
    """Write a bound on a quotient as a sum of counts that must not be negative."""
    ratios = [part.ratio for _, part in asked.metric.parts]
    # the mean of a plain sum of counts depends on how many cases there are
    if any(r is not None and r.under is None for r in ratios):
        return None
    try:
        q = limits.quotient(asked.metric, _ONE_EACH, size, "")
    except InputError:
        return None
    if size == limits.TWO_CUTS and limits.fixed(q.under):
        return None
    return limits.lead(asked, q)


def _values(asked: Constraint) -> tuple[Fraction, ...] | None:
    """What does each kind of case add to over - bound * under?"""
    lead = _lead(asked, limits.TWO_CUTS)
    # two cuts let all four counts vary; those below the lower one are the rest
    return None if lead is None else (lead[0], lead[1], -lead[2], -lead[3])


def _as_rates(asked: Constraint, share: Share | None, alpha: float) -> RiskRates | None:
    """Read a bound as one on recall and fpr; None when it is a simpler claim."""
    depends = depends_on_prevalence(asked.metric)
    if not depends and not _is_share(asked.metric):
        # with one case in each class the counts are the rates
        lead = _lead(asked, limits.ONE_CUT)
        if lead is not None:
            a, b, c = map(float, lead)
            return RiskRates(((a, b, -c),))
    if share is None or not depends:
        return None
    z = _values(asked)
    if z is None:
        raise _no_claim(asked)
    left, ends = 1.0, [e.value for e in share.ends]
    if share.level is not None:
        left, ends = 1 - _FOR_PREVALENCE, _ends(share, _FOR_PREVALENCE * alpha)
    return RiskRates(tuple(_at_prevalence(z, p) for p in ends), left)


def _ends(share: Share, alpha: float) -> list[float]:
    """Widen the interval of an estimated prevalence to the error that it may use."""
    assert share.level is not None  # noqa: S101 - an estimate
    z = NormalDist().inv_cdf(1 - alpha / 2)
    return [float(p) for p in share.moved(np.array([-z, z]), share.level, 1e-12)]


def _at_prevalence(z: tuple[Fraction, ...], p: float) -> tuple[float, float, float]:
    """Write the mean of z as a weighted sum of recall and fpr."""
    tp, fp, fn, tn = map(float, z)
    return p * (tp - fn), (1 - p) * (fp - tn), -(p * fn + (1 - p) * tn)


def _is_share(m: Metric) -> bool:
    """Is it one quotient of counts, and not a sum of several?"""
    return len(m.parts) == 1 and m.parts[0][1].ratio is not None
