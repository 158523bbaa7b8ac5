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
from trueness.metrics.confusion import Confusion, sweep_counts
from trueness.threshold.cuts import make_cuts
from trueness.threshold.linear_forms import (
    ONE_CUT,
    TWO_CUTS,
    LinearForm,
    constraint_form,
    quotient_of_metric,
)
from trueness.threshold.prevalences import UsePrevalence

# which of tp, fp, fn, tn are counted
_POSITIVES = (True, False, True, False)
_NEGATIVES = (False, True, False, True)
_FLAGGED = (True, True, False, False)
_CLEARED = (False, False, True, True)
_ALL = (True, True, True, True)
_NAMES_OF_CASES: dict[tuple[bool, ...], str] = {
    _POSITIVES: "positives",
    _NEGATIVES: "negatives",
    _ALL: "labelled cases",
    _FLAGGED: "flagged cases",
    _CLEARED: "cases that are not flagged",
}
# of the error allowed, the part that an estimated prevalence may use (Bonferroni)
_PART_FOR_PREVALENCE = 0.1
# the logarithm of the smallest error rate that is distinguished from zero
_SMALLEST_LOG_RATE = -700.0


@dataclass(frozen=True)
class MeanClaim:
    """The mean of a value over the cases is at least zero.

    ``values`` are those of a case in tp, fp, fn and tn. Where they have one value above
    zero and one below, the claim is a bound on a proportion: of the cases that count
    more than ``bound`` are right (precision, recall, accuracy, F1, Jaccard).
    """

    values: tuple[Fraction, ...]

    @property
    def counted_cells(self) -> tuple[bool, ...]:
        """Return which of tp, fp, fn and tn count: those whose value is not zero."""
        return tuple(bool(value) for value in self.values)

    @property
    def is_proportion(self) -> bool:
        """Return whether it is a bound on a proportion of cases."""
        return len({value for value in self.values if value}) == 2

    @property
    def bound(self) -> float:
        """Return the proportion, or scaled mean, that is just not proved."""
        smallest = min(self.values)
        largest = max(self.values)
        return float(-smallest / (largest - smallest))

    @property
    def name_of_cases(self) -> str:
        """Return which cases it is a proportion of, in words."""
        return _NAMES_OF_CASES.get(self.counted_cells, "cases that count")

    @property
    def direction(self) -> int:
        """Return 1 if the proportion rises as more is flagged, -1 if it falls, else 0.

        Only proportions of a fixed set of cases move in one direction for sure.
        """
        of_fixed_cases = self.counted_cells in (_POSITIVES, _NEGATIVES, _ALL)
        if not (self.is_proportion and of_fixed_cases):
            return 0
        tp, fp, fn, tn = self.values
        # only flagged cases can be right: the more are flagged, the more are right
        if not (fn > 0 or tn > 0):
            return 1
        # only cleared cases can be right; where both can, the proportion has no
        # direction
        return 0 if tp > 0 or fp > 0 else -1

    @property
    def case_direction(self) -> int:
        """Return 1 if it is of more cases when more is flagged, -1 if fewer, or 0."""
        if not self.is_proportion:
            return 0
        if self.counted_cells == _FLAGGED:
            return 1
        return -1 if self.counted_cells == _CLEARED else 0

    def cases(self, counts: Confusion) -> Any:
        """Return how many cases count."""
        return np.asarray(counts.weighted_sum(self.counted_cells))

    def right_cases(self, counts: Confusion) -> Any:
        """Return how many of the cases that count are right."""
        return np.asarray(counts.weighted_sum(value > 0 for value in self.values))

    def p_values(self, counts: Confusion) -> Floats:
        r"""Return the probability of such a sample when the claim just fails.

        Exact binomial tails for a proportion. Otherwise, of a loss in [0, 1] with mean
        :math:`\ell` or more, the chance of a mean of r or less is at most
        :math:`e^{-n\,kl(r, \ell)}` (Hoeffding 1963, theorem 1) and at most e times the
        binomial tail :math:`P(Bin(n, \ell) \le \lceil nr \rceil)` (Bentkus 2004,
        theorem 1.1); Bates et al. (2021), prop. 6, take the smaller one. Cases with a
        value of 0 change no sign: the test is made given how many do not.
        """
        n_cases = self.cases(counts)
        if self.is_proportion:
            p_values = at_least(self.right_cases(counts), n_cases, self.bound)
        else:
            p_values = self._p_values_of_mean(counts, n_cases)
        # no case is no evidence
        return np.where(n_cases > 0, p_values, 1.0)

    def _p_values_of_mean(self, counts: Confusion, n_cases: Any) -> Floats:
        """Return the smaller of Hoeffding's and Bentkus's bound, for a mean loss."""
        values = tuple(float(value) for value in self.values)
        smallest = min(values)
        largest = max(values)
        mean = counts.weighted_sum(values) / np.maximum(n_cases, 1)
        loss = np.clip((largest - mean) / (largest - smallest), 0.0, 1.0)
        loss_bound = 1 - self.bound

        # Hoeffding (1963), theorem 1, for losses below their bound
        exponent = -n_cases * divergence(loss, loss_bound)
        hoeffding = np.where(loss < loss_bound, np.exp(exponent), 1.0)
        lost_cases = np.ceil(n_cases * loss - 1e-9)  # rounding must not add a case
        # Bentkus (2004), theorem 1.1, as a tail of the cases that are not lost
        bentkus = math.e * at_least(n_cases - lost_cases, n_cases, self.bound)
        return np.minimum(np.minimum(hoeffding, bentkus), 1.0)

    def passes(self, counts: Confusion, alpha: float | Floats) -> NDArray[np.bool_]:
        """Return at which cuts the claim is proved with an error of alpha."""
        return np.asarray(self.p_values(counts) <= alpha)

    def evidence(self, counts: Confusion) -> Floats:
        """Return how strong the evidence is at each cut: more is stronger."""
        return -self.p_values(counts)

    def fewest_cases(self, alpha: float) -> int:
        """Return how many cases prove a proportion when all of them are right."""
        # n of n right have probability bound^n where the bound is just missed
        n_cases = max(1, math.floor(math.log(alpha) / math.log(self.bound)) - 1)
        while at_least(np.array(n_cases), n_cases, self.bound) > alpha:
            n_cases += 1
        return n_cases


@dataclass(frozen=True)
class RateClaim:
    """``a * recall + b * fpr >= d``, for each (a, b, d): one for every prevalence.

    ``error_part`` is the part of the error allowed that remains for the rates.
    """

    forms: tuple[tuple[float, float, float], ...]
    error_part: float = 1.0
    # the sum may rise and fall as more is flagged
    direction = 0
    case_direction = 0

    def cases(self, counts: Confusion) -> Any:
        """Return how many cases there are."""
        return np.asarray(counts.weighted_sum(_ALL))

    def passes(self, counts: Confusion, alpha: float | Floats) -> NDArray[np.bool_]:
        """Return at which cuts it is proved, by exact ends (Clopper, Pearson 1934)."""
        proved = np.ones(np.shape(counts.tp), dtype=bool)
        for a, b, d in self.forms:
            # Bonferroni: the ends of the rates that count hold together
            rates_that_count = bool(a) + bool(b)
            tail = alpha * self.error_part / max(1, rates_that_count)
            recall = exact_end(counts.tp, counts.tp + counts.fn, tail, low=a > 0)
            fpr = exact_end(counts.fp, counts.fp + counts.tn, tail, low=b > 0)
            proved &= np.asarray(a * recall + b * fpr >= d)

        return proved

    def evidence(self, counts: Confusion) -> Floats:
        """Return how far the sum is beyond its bound, as minus a normal p-value."""
        positives = counts.tp + counts.fn
        negatives = counts.fp + counts.tn
        # half a case of each kind, so that a rate of 0 or 1 has an error too
        recall = (counts.tp + 0.5) / (positives + 1)
        fpr = (counts.fp + 0.5) / (negatives + 1)
        z_scores = []
        for a, b, d in self.forms:
            variance_of_recall = a * a * recall * (1 - recall) / (positives + 1)
            variance_of_fpr = b * b * fpr * (1 - fpr) / (negatives + 1)
            variance = variance_of_recall + variance_of_fpr
            z_scores.append((a * recall + b * fpr - d) / np.sqrt(variance))

        # the weakest of all prevalences decides
        return -np.asarray(ndtr(-np.min(z_scores, axis=0)))

    def p_values(self, counts: Confusion) -> Floats:
        """Return the error rate at which it would just be proved, by bisection."""
        start = np.zeros(np.shape(counts.tp))
        end = np.full(np.shape(counts.tp), _SMALLEST_LOG_RATE)
        # rates so small that only their logarithm can be halved
        log_rate = bisect(
            lambda log_alpha: self.passes(counts, np.exp(log_alpha)), start, end
        )
        return np.asarray(np.exp(log_rate))


Claim = MeanClaim | RateClaim


def read_claim(
    constraint: Constraint, prevalence: UsePrevalence | None, alpha: float
) -> Claim:
    """Read a bound on a metric as a claim that can be tested."""
    metric = constraint.metric
    depends = depends_on_prevalence(metric)
    one_quotient = len(metric.parts) == 1 and metric.parts[0][1].ratio is not None
    if not depends and not one_quotient:
        form = _form_of_constraint(constraint, ONE_CUT)
        if form is not None:
            # with one case in each class the counts are the rates
            a, b, constant = form
            return RateClaim(((float(a), float(b), -float(constant)),))

    form = _form_of_constraint(constraint, TWO_CUTS)
    if form is None:
        raise InputError(
            "A guarantee needs a bound on a mean or a quotient of means; found "
            f"{constraint!r}. Examples are proportions of cases (recall, fpr, "
            "precision, accuracy, f1) and a cost per case. For other metrics, "
            "validate the threshold instead.",
            option="subject_to",
        )

    # two cuts let all four counts vary; those below the lower one are the rest
    values = (form[0], form[1], -form[2], -form[3])
    if depends and prevalence is not None:
        return _claim_at_prevalence(values, prevalence, alpha)
    if not min(values) < 0 < max(values):
        raise InputError(
            "A guarantee needs a bound that can be met and missed, such as one "
            f"between 0 and 1 for a proportion; found {constraint!r}. No sample size "
            "can prove that a proportion is 0 or 1.",
            option="subject_to",
        )
    return MeanClaim(values)


def _claim_at_prevalence(
    values: tuple[Fraction, ...], prevalence: UsePrevalence, alpha: float
) -> RateClaim:
    """Return the claim on the rates that a mean becomes at each prevalence."""
    error_part = 1.0
    prevalences = list(prevalence.ends)
    if prevalence.level is not None:
        # an estimate: its interval, widened to the part of the error that it may use
        error_part = 1 - _PART_FOR_PREVALENCE
        z = NormalDist().inv_cdf(1 - _PART_FOR_PREVALENCE * alpha / 2)
        widened = prevalence.at_standard_errors(
            np.array([-z, z]), prevalence.level, smallest=1e-12
        )
        prevalences = widened.tolist()

    tp, fp, fn, tn = map(float, values)
    forms = []
    for prevalence_in_use in prevalences:
        # p (tp r + fn (1 - r)) + (1 - p) (fp f + tn (1 - f)) >= 0 at recall r, fpr f
        a = prevalence_in_use * (tp - fn)
        b = (1 - prevalence_in_use) * (fp - tn)
        d = -(prevalence_in_use * fn + (1 - prevalence_in_use) * tn)
        forms.append((a, b, d))

    return RateClaim(tuple(forms), error_part)


def provable_bound(
    constraint: Constraint,
    claim: Claim,
    counts: Confusion,
    value: float,
    alpha: float,
    prevalence: UsePrevalence | None,
) -> float:
    """Return how far a bound could move towards the value here and still be proved.

    For a plain proportion this is the one-sided end of Clopper and Pearson (1934).
    """
    exact_bound = as_fraction(constraint.bound)
    if not constraint.upward:
        exact_bound = 1 - exact_bound
    # the proportion is the metric itself, or what it lacks to one (not so for F1)
    if (
        isinstance(claim, MeanClaim)
        and claim.is_proportion
        and claim.bound == float(exact_bound)
    ):
        right = claim.right_cases(counts)
        end = float(exact_end(right, claim.cases(counts), alpha, low=True))
        return end if constraint.upward else 1 - end

    def is_proved(bound: float) -> bool:
        """Return whether the counts prove the constraint with this bound."""
        # the same constraint with another bound
        moved = Constraint(
            constraint.metric, ">=" if constraint.upward else "<=", float(bound)
        )
        try:
            moved_claim = read_claim(moved, prevalence, alpha)
        except InputError:
            # a bound that cannot be missed, such as 0 for a proportion
            return False

        return bool(moved_claim.passes(counts, alpha))

    # the bound itself is proved; the value of the sample never is, or is the end
    start = constraint.bound
    end = value
    if math.isinf(end):
        # a likelihood ratio without an error of one kind
        end = math.copysign(1.0, end) + 2 * start
        while is_proved(end) and abs(end) < 1e12:
            start = end
            end = 2 * end

    return float(bisect(is_proved, start, end))


# the sizes of the classes do not matter here: one case of each
_ONE_EACH = make_cuts(np.zeros(1), sweep_counts(np.ones(1, int), np.ones(1, int)), None)


def _form_of_constraint(constraint: Constraint, n_counts: int) -> LinearForm | None:
    """Return a bound on a quotient as a form that must not be negative, or None."""
    ratios = [term.ratio for _, term in constraint.metric.parts]
    # the mean of a plain sum of counts depends on how many cases there are
    if any(ratio is not None and ratio.under is None for ratio in ratios):
        return None

    try:
        quotient = quotient_of_metric(constraint.metric, _ONE_EACH, n_counts, "")
    except InputError:
        return None
    if n_counts == TWO_CUTS and quotient.is_linear:
        return None
    return constraint_form(constraint, quotient)
