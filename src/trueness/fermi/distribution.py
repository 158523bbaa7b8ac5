r"""What is the chance that the case at this rank is positive, from the AUC alone?

.. math:: P(1 \mid r) = \frac{1}{1 + e^{\beta (r - \mu)}} \qquad (5)

Kim et al. 2021, PNAS 118:e2100761118, doi:10.1073/pnas.2100761118; equation numbers
are theirs. Maximum entropy is not truth: ``docs/maths/fermi.md`` measures where it
misses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness._core.records import Answer
from trueness.counts.answers import of_tally, whole_cases
from trueness.counts.placements import twice_wins
from trueness.counts.values import Tally
from trueness.fermi.solver import PartitionSums, Solution, line, solve


@final
@dataclass(frozen=True, repr=False)
class FermiDirac(Answer):
    r"""What is known of a case from its rank among N, given prevalence and AUC?

    Made by :func:`trueness.fermi_dirac`. Rank 1 is the highest score; tied cases have
    the mean of their ranks, so ranks need not be whole.

    Attributes
    ----------
    n, n_pos, prevalence, auc
        Cases, (expected) positives among them, their share, and the area.
    beta, temperature : float
        How fast the probability of a positive falls with rank, and 1 / beta; negative
        when the AUC is below 1/2, infinite when it is 1.
    mu : float
        The rank at which positive and negative are equally likely, which may lie
        outside the ranks 1 to N; infinite for AUC = 1/2 unless the prevalence is 1/2.
    rank_threshold : float
        r*: a rank beyond this one is evidence against a positive, Eq. 9.

    Examples
    --------
    >>> fd = fermi_dirac(n=2, n_pos=1, auc=0.9)  # two cases: P(1 | r = 1) is the AUC
    >>> round(float(fd.probability(1)), 12)
    0.9
    """

    n: int
    n_pos: float
    prevalence: float
    auc: float
    beta: float
    mu: float
    temperature: float
    rank_threshold: float
    # the line of eq. 5 around its centre, where beta and mu lose no digits
    _solution: Solution

    def probability(self, rank: ArrayLike) -> Any:
        r"""How likely is the case at this rank to be positive? Eq. 5."""
        return expit(self._sums.logit(_ranks(rank, self.n)))

    def log_likelihood_ratio(self, rank: ArrayLike) -> Any:
        r"""How strong is the evidence of this rank for a positive? Eq. 8.

        .. math:: \ln\frac{P(r \mid 1)}{P(r \mid 0)}
                  = \ln\frac{1 - \rho}{\rho} - \beta (r - \mu) = \beta (r^* - r)
        """
        beta, llr, centre = self._solution
        return line(_ranks(rank, self.n), llr, beta, centre)

    def expected(self, what: str, rank: ArrayLike | None = None) -> Any:
        r"""What is the mean of a metric when the first ``rank`` cases are flagged?

        ``"tpr"``, ``"fpr"``, ``"precision"`` and ``"balanced_accuracy"`` (Eqs 27 to 30)
        are functions of a whole rank from 0 to N (array in, array out). Without a rank:
        ``"rank_pos"`` and ``"rank_neg"``, the mean ranks of the classes (27, 28);
        ``"auc"`` from these (31); ``"mean_balanced_accuracy"`` over k = 1..N (32);
        ``"auprc"``, the area under the precision-recall curve by trapezoids (33), and
        ``"auprc_large"``, its form for large N (34).

        Differs from eq. (14), which lacks the factor 1/2 of eq. (30), and from eq. (33)
        as printed: the mean runs over k = 0..N-1 with Prec(0) = Prec(1).

        Examples
        --------
        >>> fd = fermi_dirac(n=2, n_pos=1, auc=0.9)
        >>> fd.expected("tpr", [0, 1, 2]).round(12)
        array([0. , 0.9, 1. ])
        """
        _options.choice(what, (*_AT_RANK, *_OVERALL), "what")
        if what in _OVERALL:
            return _OVERALL[what](self)
        return _AT_RANK[what](self, _cuts(rank, self.n, what))

    def at_prevalence(self, prevalence: float) -> FermiDirac:
        """Give that of as many cases and the same AUC at another prevalence."""
        prevalence = _options.fraction(prevalence, "prevalence")
        return fermi_dirac(n=self.n, prevalence=prevalence, auc=self.auc)

    @cached_property
    def _sums(self) -> PartitionSums:
        return PartitionSums(self.n, self.n_pos, self.auc, self._solution)

    @property
    def p110(self) -> float:
        r"""How often do two positives rank before one negative? Eq. 22, corrected.

        .. math:: P_{110} = \sum_r \frac{P_0(r)}{N_0} F_1(r)^2, \qquad
                  F_1(r) = \frac{1}{N_1} \Big(\sum_{i<r} P_1(i) + \tfrac12 P_1(r)\Big)

        Differs from eq. (22), whose sums leave out the ties of a rank with itself and
        give a negative variance in a third of all cases. Ties count 1/2 here.
        """
        return self.auc**2 + self._sums.variances[0]

    @property
    def p100(self) -> float:
        """How often does one positive rank before two negatives? As ``p110``."""
        return self.auc**2 + self._sums.variances[1]

    @property
    def auc_se(self) -> float:
        r"""How much does the AUC vary from sample to sample? Eq. 18.

        .. math:: \sigma^2 = \frac{A (1 - A) + (N_1 - 1)(P_{110} - A^2)
                  + (N_0 - 1)(P_{100} - A^2)}{N_1 N_0}

        It uses only N, N1 and the AUC, not the scores, and is too low where positives
        are rare and the AUC is high.
        """
        neg = self.n - self.n_pos
        over_neg, over_pos = self._sums.variances
        total = self.auc * (1 - self.auc) + max(self.n_pos - 1, 0.0) * over_neg
        total += max(neg - 1, 0.0) * over_pos
        return math.sqrt(total / (self.n_pos * neg))


@of_tally
def fermi_dirac(
    data: Tally | None = None,
    *,
    n: int | None = None,
    n_pos: float | None = None,
    auc: float | None = None,
    prevalence: float | None = None,
) -> FermiDirac:
    r"""How likely is the case at each rank positive, given AUC and prevalence?

    Beta and mu solve, to the last digits,

    .. math:: N_1 = \sum_{r=1}^N P(1 \mid r), \qquad
              \sum_{r=1}^N r P(1 \mid r) = N_1 \frac{N+1}{2} + N_1 N_0 (\tfrac12 - A).
              \qquad (3, 4)

    (Kim et al. 2021, doi:10.1073/pnas.2100761118). For an AUC of 1/2, beta is 0; for an
    AUC of 0 or 1 it is infinite. The time does not depend on N. Differs from eqs. (6)
    and (10), which are off by half a rank, and from the strong limit of the paper,
    which lacks a factor pi/2.

    Parameters
    ----------
    data
        A tally: its labelled cases give N, N1 and the AUC (ties count 1/2).
    n, n_pos, auc, prevalence
        These three numbers, in place of a tally. ``n_pos`` may be an expected number,
        which need not be whole; in its place ``n * prevalence``.

    Examples
    --------
    >>> fd = fermi_dirac(n=100, n_pos=50, auc=0.9)  # Fig. 1 of the paper
    >>> round(fd.beta, 10), fd.mu
    (0.0756127096, 50.5)
    """
    if data is not None:
        _options.alone("fermi_dirac", "a tally", n=n, n_pos=n_pos, auc=auc)
        _options.alone("fermi_dirac", "a tally", prevalence=prevalence)
        _cases.both_classes(data, "fermi_dirac")
        t = data.labelled()
        n, n_pos, auc = t.n, t.n_pos, twice_wins(t) / (2 * t.n_pos * t.n_neg)
    n, n_pos, auc = _numbers(n, n_pos, auc, prevalence)
    beta, llr, centre = solution = solve(n, n_pos, auc)
    height = math.log(n_pos / (n - n_pos)) + llr
    mu, neutral = (_where(centre, x, beta) for x in (height, llr))
    heat = math.inf if beta == 0 else 1 / beta
    known = (n, n_pos, n_pos / n, auc, beta)
    return FermiDirac(*known, mu, heat, neutral, solution)


def _numbers(
    n: object, n_pos: object, auc: object, prevalence: object
) -> tuple[int, float, float]:
    """Pass on N, N1 and AUC of a Fermi-Dirac distribution."""
    if n is None or auc is None or (n_pos is None) == (prevalence is None):
        raise InputError(
            "fermi_dirac needs a tally, or n, auc and one of n_pos and prevalence. "
            "Type trueness.fermi_dirac(t) or "
            "trueness.fermi_dirac(n=100, n_pos=50, auc=0.9)."
        )
    size = _options.whole_number(n, "n", at_least=2)
    area = _options.fraction(auc, "auc", ends="[]")
    if n_pos is None:
        return size, size * _options.fraction(prevalence, "prevalence"), area
    number = _options.real_number(n_pos, "n_pos")
    if not 0 < number < size:
        raise InputError(
            f"n_pos must lie between 0 and n={size:,}, both classes being present; "
            f"found {number:g}."
        )
    return size, int(number) if number.is_integer() else number, area


def _ranks(values: object, n: int) -> Any:
    """Pass on ranks among n cases: real numbers from 1/2 to n + 1/2."""
    rank = np.asarray(values)
    if rank.dtype.kind not in "iuf":
        raise InputError(f"rank must be numbers; found {rank.dtype}.")
    bad = ~((rank >= 0.5) & (rank <= n + 0.5))
    if bad.any():
        raise InputError(
            f"rank must lie between 1/2 and n + 1/2 = {n + 0.5:g}, rank 1 being the "
            f"highest score; found {listing(np.atleast_1d(rank)[np.atleast_1d(bad)])}."
        )
    return rank.astype(np.float64)


def _cuts(values: ArrayLike | None, n: int, what: str) -> Any:
    """Pass on thresholds: how many of n ranked cases are flagged."""
    if values is None:
        raise InputError(
            f"expected({what!r}) needs a rank: how many cases are flagged. "
            f"Type expected({what!r}, {max(1, n // 10)})."
        )
    rank = np.asarray(values)
    wrong = rank.dtype.kind not in "iuf"
    if wrong or not ((rank >= 0) & (rank <= n) & (rank == np.floor(rank))).all():
        raise InputError(
            f"rank must be whole numbers from 0 to n={n:,}: how many cases are "
            f"flagged; found {listing(np.atleast_1d(rank))}."
        )
    return rank.astype(np.float64)


def _where(centre: float, height: float, beta: float) -> float:
    """At which rank does the line ``height - beta (r - centre)`` cross zero?"""
    if height == 0 or math.isinf(beta):
        return centre
    return centre + height / beta if beta else math.copysign(math.inf, height)


def _finite_line(n: float, n_pos: float, auc: float) -> tuple[float, float, float]:
    s = beta, *_ = solve(int(n), n_pos, auc)
    if math.isinf(beta):  # as if half a pair were the other way
        pairs, part = n_pos * (n - n_pos), n_pos % 1
        wrong = (0.5 * pairs / (pairs + 1) + part * (1 - part) / 2) / pairs
        s = slope, llr, centre = solve(int(n), n_pos, wrong)
        if beta > 0:  # the ranks turned round: 1 - wrong would be 1 from 10^8 cases on
            return -slope, llr, int(n) + 1 - centre
    return s


def finite_lines(
    n: ArrayLike, n_pos: ArrayLike, auc: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Give beta, llr and centre of L(r) = llr - beta (r - centre), finite ones."""
    columns = (np.asarray(x, np.float64).tolist() for x in (n, n_pos, auc))
    lines = np.array([_finite_line(*one) for one in zip(*columns, strict=True)])
    return lines[:, 0], lines[:, 1], lines[:, 2]


@whole_cases
def midranks(t: Tally, score: ArrayLike | None = None) -> Floats:
    """Which rank would these scores have among the cases of a tally?

    Rank 1 is the highest score and tied cases share the mean of their ranks. Before a
    new score come all cases with a higher score, labelled or not, and half of those
    tied with it: rank = above + tied/2 + 1/2, from 1/2 (above all) to n + 1/2 (below
    all). Without ``score`` the scores of the tally itself are ranked.

    Examples
    --------
    >>> t = Tally([0.9, 0.5], pos=[1, 2])
    >>> midranks(t), midranks(t, [1.0, 0.9, 0.7, 0.5, 0.1])
    (array([1. , 2.5]), array([0.5, 1. , 1.5, 2.5, 3.5]))
    """
    _cases.one_classifier(t, "midranks")
    cases = t.neg + t.pos + t.unknown
    upto = np.cumsum(cases)
    if score is None:
        return upto - (cases - 1) / 2
    return rank_scores(_columns.as_floats(score, "score"), t.score[::-1], upto)


def rank_scores(score: Floats, ascending: Floats, upto: Array) -> Floats:
    """Rank scores against distinct ascending ones; ``upto`` counts from the top."""
    reach, m = np.concatenate([[0], upto]), ascending.size
    at = np.searchsorted(ascending, score)  # NaN goes behind the last one
    # one search serves both: a tie is one step further up
    tied = np.append(ascending, np.nan)[at] == score
    both = reach[m - at] + reach[m - at - tied]
    return np.where(np.isnan(score), np.nan, (both + 1) / 2)


# a measure at a rank (Eqs 27 to 30)
_AT_RANK: dict[str, Callable[[FermiDirac, Floats], Any]] = {
    "tpr": lambda fd, k: fd._sums.head(k) / fd.n_pos,
    "fpr": lambda fd, k: fd._sums.head(k, positive=False) / (fd.n - fd.n_pos),
    "precision": lambda fd, k: np.divide(
        fd._sums.head(k), k, out=np.full_like(k, np.nan), where=k > 0
    )[()],
    "balanced_accuracy": lambda fd, k: (
        (1 + _AT_RANK["tpr"](fd, k) - _AT_RANK["fpr"](fd, k)) / 2
    ),
}
# one number for all ranks (Eqs 27, 28 right, 31 to 34); Eq. 4 over N1 is the mean rank
# of the positives
_OVERALL: dict[str, Callable[[FermiDirac], float]] = {
    "rank_pos": lambda fd: (fd.n + 1) / 2 + fd.n * (1 - fd.prevalence) * (0.5 - fd.auc),
    "rank_neg": lambda fd: (fd.n + 1) / 2 - fd.n * fd.prevalence * (0.5 - fd.auc),
    "auc": lambda fd: (
        (_OVERALL["rank_neg"](fd) - _OVERALL["rank_pos"](fd)) / fd.n + 0.5
    ),
    "mean_balanced_accuracy": lambda fd: (fd.auc + 0.5) / 2,
    "auprc": lambda fd: fd._sums.auprc(step=1),
    "auprc_large": lambda fd: fd._sums.auprc(step=0),
}
