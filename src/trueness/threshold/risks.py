r"""What would be proof that a metric keeps its bound in the population?

``MeanClaim``: :math:`over/under \ge b` says that :math:`over - b\,under` is at least
zero on average. ``RateClaim``: a weighted sum of recall and false positive rate reaches
a bound. Both have a test whose error rate is known whatever the scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from trueness._core.arrays import Floats
from trueness._core.binomial import at_least, divergence, exact_end
from trueness._core.checks.errors import InputError
from trueness._core.solvers import bisect
from trueness.metrics.algebra import Constraint, as_fraction, depends_on_prevalence
from trueness.metrics.confusion import Confusion, swept
from trueness.threshold.cuts import make_cuts
from trueness.threshold.linear_forms import (
    ONE_CUT,
    TWO_CUTS,
    LinearForm,
    constraint_form,
    is_constant,
    quotient_of_metric,
)
from trueness.threshold.prevalences import UsePrevalence

# which of tp, fp, fn, tn are counted
_POSITIVES, _NEGATIVES = (True, False, True, False), (False, True, False, True)
_FLAGGED, _CLEARED = (True, True, False, False), (False, False, True, True)
_ALL = (True, True, True, True)
_WORDS: dict[tuple[bool, ...], str] = {
    _POSITIVES: "positives",
    _NEGATIVES: "negatives",
    _ALL: "labelled cases",
    _FLAGGED: "flagged cases",
    _CLEARED: "cases that are not flagged",
}
# of the error allowed, the part that the doubt of an estimated prevalence may use
_FOR_PREVALENCE = 0.1


@dataclass(frozen=True)
class MeanClaim:
    """The mean of ``z`` over the cases (tp, fp, fn, tn) is at least zero.

    Where z has one value above zero and one below, it is a share: of the cases that
    count more than ``bound`` are right (precision, recall, accuracy, F1, Jaccard).
    """

    z: tuple[Fraction, ...]

    @property
    def is_share(self) -> bool:
        """Is it a bound on a share of cases?"""
        return len({v for v in self.z if v}) == 2

    @property
    def bound(self) -> float:
        """Which share, or mean of z between its ends, is just not proved?"""
        return float(-min(self.z) / (max(self.z) - min(self.z)))

    @property
    def words(self) -> str:
        """Which cases is it a share of?"""
        return _WORDS.get(tuple(map(bool, self.z)), "cases that count")

    @property
    def way(self) -> int:
        """Does the share rise (1) or fall (-1) as more is flagged, or neither (0)?"""
        of_fixed = tuple(map(bool, self.z)) in (_POSITIVES, _NEGATIVES, _ALL)
        if not (self.is_share and of_fixed):
            return 0
        tp, fp, fn, tn = (v > 0 for v in self.z)
        return 1 if not (fn or tn) else 0 if tp or fp else -1

    @property
    def towards(self) -> int:
        """Is it a share of more cases when more is flagged (1), or fewer (-1)?"""
        cells = tuple(map(bool, self.z))
        return self.is_share * ((cells == _FLAGGED) - (cells == _CLEARED))

    def cases(self, c: Confusion) -> Any:
        """How many cases count?"""
        return np.asarray(c.weighed(map(bool, self.z)))

    def right(self, c: Confusion) -> Any:
        """How many of them are right?"""
        return np.asarray(c.weighed(v > 0 for v in self.z))

    def p_values(self, c: Confusion) -> Floats:
        r"""How likely is such a sample when the claim just fails?

        Exact binomial tails for a share. Otherwise, of a loss in [0, 1] with mean
        :math:`\ell` or more, the chance of a mean of r or less is at most
        :math:`e^{-n\,kl(r, \ell)}` (Hoeffding 1963, theorem 1) and at most e times the
        binomial tail :math:`P(Bin(n, \ell) \le \lceil nr \rceil)` (Bentkus 2004,
        theorem 1.1); Bates et al. (2021), prop. 6, take the smaller one. Cases with z =
        0 change no sign: the test is made given how many do not.
        """
        n = self.cases(c)
        if self.is_share:
            return np.where(n > 0, at_least(self.right(c), n, self.bound), 1.0)
        z, most = tuple(map(float, self.z)), 1 - self.bound
        loss = (max(z) - c.weighed(z) / np.maximum(n, 1)) / (max(z) - min(z))
        loss = np.clip(loss, 0.0, 1.0)
        hoeffding = np.where(loss < most, np.exp(-n * divergence(loss, most)), 1.0)
        k = np.ceil(n * loss - 1e-9)  # rounding must not add a case
        bentkus = math.e * at_least(n - k, n, self.bound)
        return np.where(n > 0, np.minimum(np.minimum(hoeffding, bentkus), 1.0), 1.0)

    def passes(self, c: Confusion, alpha: float | Floats) -> NDArray[np.bool_]:
        """At which cuts is it proved?"""
        return np.asarray(self.p_values(c) <= alpha)

    def evidence(self, c: Confusion) -> Floats:
        """How strong is the evidence at each cut? More is stronger."""
        return -self.p_values(c)

    def fewest(self, alpha: float) -> int:
        """How many cases are proof of a share when all of them are right?"""
        # n of n right have probability bound^n where the bound is just missed
        n = max(1, math.floor(math.log(alpha) / math.log(self.bound)) - 1)
        while at_least(np.array(n), n, self.bound) > alpha:
            n += 1
        return n


@dataclass(frozen=True)
class RateClaim:
    """``a * recall + b * fpr >= d``, for each (a, b, d): one for every prevalence.

    ``left`` is the part of the error allowed that remains for the rates.
    """

    forms: tuple[tuple[float, float, float], ...]
    left: float = 1.0
    way = towards = 0  # the sum may rise and fall

    def cases(self, c: Confusion) -> Any:
        """How many cases are there?"""
        return np.asarray(c.weighed(_ALL))

    def passes(self, c: Confusion, alpha: float | Floats) -> NDArray[np.bool_]:
        """At which cuts is it proved, by exact limits (Clopper and Pearson 1934)?"""
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


Claim = MeanClaim | RateClaim


def read_claim(asked: Constraint, share: UsePrevalence | None, alpha: float) -> Claim:
    """Read a bound on a metric as a claim that can be tested."""
    m, depends = asked.metric, depends_on_prevalence(asked.metric)
    plain = len(m.parts) == 1 and m.parts[0][1].ratio is not None
    lead = None if depends or plain else _lead(asked, ONE_CUT)
    if lead is not None:  # with one case in each class the counts are the rates
        a, b, c = map(float, lead)
        return RateClaim(((a, b, -c),))
    lead = _lead(asked, TWO_CUTS)
    if lead is None:
        raise InputError(
            f"A guarantee needs a bound on a mean or a quotient of means, such as a "
            f"share of cases (recall, fpr, precision, accuracy, f1), a cost per case, "
            f"or a weighted sum of recall and fpr; found {asked!r}. For other metrics "
            f"see trueness.validate_threshold."
        )
    # two cuts let all four counts vary; those below the lower one are the rest
    z = lead[0], lead[1], -lead[2], -lead[3]
    if depends and share is not None:
        left, ends = 1.0, list(share.ends)
        if share.level is not None:  # an estimate: its interval, widened
            left = 1 - _FOR_PREVALENCE
            away = NormalDist().inv_cdf(1 - _FOR_PREVALENCE * alpha / 2)
            ends = share.at_standard_errors(
                np.array([-away, away]), share.level, 1e-12
            ).tolist()
        tp, fp, fn, tn = map(float, z)
        forms = [(p * (tp - fn), (1 - p) * (fp - tn), -(p * fn + (1 - p) * tn))
                 for p in ends]  # fmt: skip
        return RateClaim(tuple(forms), left)
    if not (min(z) < 0 < max(z)):
        raise InputError(
            f"A guarantee needs a bound that can be met and missed, such as one "
            f"between 0 and 1 for a share; found {asked!r}. No number of cases can "
            f"prove that a share is 0 or 1."
        )
    return MeanClaim(z)


def limit_of(
    asked: Constraint,
    claim: Claim,
    c: Confusion,
    here: float,
    alpha: float,
    share: UsePrevalence | None,
) -> float:
    """How far could a bound be moved, towards the value here, and still be proved?

    For a plain share this is the one-sided limit of Clopper and Pearson (1934).
    """
    exactly = as_fraction(asked.bound) if asked.upward else 1 - as_fraction(asked.bound)
    # the share is the metric itself, or what it lacks to one (not so for F1)
    if (
        isinstance(claim, MeanClaim)
        and claim.is_share
        and claim.bound == float(exactly)
    ):
        limit = float(exact_end(claim.right(c), claim.cases(c), alpha, low=True))
        return limit if asked.upward else 1 - limit

    def proved(bound: float) -> bool:
        moved = Constraint(asked.metric, ">=" if asked.upward else "<=", float(bound))
        try:
            return bool(read_claim(moved, share, alpha).passes(c, alpha))
        except InputError:  # a bound that cannot be missed, such as 0 for a share
            return False

    # the bound itself is proved; the value of the sample never is, or is the end
    given, end = asked.bound, here
    if math.isinf(end):  # a likelihood ratio without an error of one kind
        end = math.copysign(1.0, end) + 2 * given
        while proved(end) and abs(end) < 1e12:
            given, end = end, 2 * end
    return float(bisect(proved, given, end))


# the sizes of the classes do not matter here: one case of each
_ONE_EACH = make_cuts(np.zeros(1), swept(np.ones(1, int), np.ones(1, int)), None)


def _lead(asked: Constraint, size: int) -> LinearForm | None:
    """Write a bound on a quotient as a sum of counts that must not be negative."""
    ratios = [part.ratio for _, part in asked.metric.parts]
    # the mean of a plain sum of counts depends on how many cases there are
    if any(r is not None and r.under is None for r in ratios):
        return None
    try:
        q = quotient_of_metric(asked.metric, _ONE_EACH, size, "")
    except InputError:
        return None
    if size == TWO_CUTS and is_constant(q[1]):
        return None
    return constraint_form(asked, q)
