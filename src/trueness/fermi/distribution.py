r"""Fermi-Dirac statistics of ranks: the probability of a positive at each rank.

.. math:: P(1 \mid r) = \frac{1}{1 + e^{\beta (r - \mu)}} \qquad (5)

Kim et al. 2021, PNAS 118:e2100761118, doi:10.1073/pnas.2100761118; equation numbers
are theirs. It follows from the AUC and the prevalence alone, by maximum entropy, which
is not the truth: ``docs/maths/fermi.md`` measures where it misses.
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
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import listing
from trueness._core.records import Answer
from trueness.counts.answers import of_tally, whole_cases
from trueness.counts.placements import twice_wins
from trueness.counts.values import Tally
from trueness.fermi.partition_sums import PartitionSums
from trueness.fermi.solver import RankLine, line, logit_of_prevalence, solve


@final
@dataclass(frozen=True, repr=False)
class FermiDirac(Answer):
    r"""Fermi-Dirac distribution of positives over the ranks of N cases.

    What is the probability of a positive, given rank, prevalence and AUC? Made by
    :func:`trueness.fermi_dirac`. Rank 1 is the highest score; tied cases have the mean
    of their ranks, so ranks need not be whole.

    Attributes
    ----------
    n, n_pos, prevalence, auc
        Cases, (expected) positives among them, their proportion, and the area.
    beta, temperature : float
        Inverse temperature, which is how fast the probability of a positive falls with
        rank; and its inverse. Beta is negative when the AUC is below 1/2, infinite when
        it is 1.
    mu : float
        Chemical potential: the rank at which positive and negative are equally likely,
        which may lie outside the ranks 1 to N; infinite for AUC = 1/2 unless the
        prevalence is 1/2.
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
    _solution: RankLine

    def probability(self, rank: ArrayLike) -> Any:
        """Return the probability that the case at this rank is positive (Eq. 5)."""
        return expit(self._sums.logit(_check_ranks(rank, self.n)))

    def log_likelihood_ratio(self, rank: ArrayLike) -> Any:
        r"""Return the log-likelihood ratio: the evidence for a positive (Eq. 8).

        .. math:: \ln\frac{P(r \mid 1)}{P(r \mid 0)}
                  = \ln\frac{1 - \rho}{\rho} - \beta (r - \mu) = \beta (r^* - r)
        """
        solution = self._solution
        return line(
            _check_ranks(rank, self.n),
            solution.log_likelihood_ratio,
            solution.beta,
            solution.centre,
        )

    def expected(self, what: str, rank: ArrayLike | None = None) -> Any:
        r"""Return the expected value of a metric if the first ``rank`` are flagged.

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
        return _AT_RANK[what](self, _check_flagged_numbers(rank, self.n, what))

    def at_prevalence(self, prevalence: float) -> FermiDirac:
        """Return the distribution at another prevalence, with the same n and AUC."""
        prevalence = _options.fraction(prevalence, "prevalence")
        return fermi_dirac(n=self.n, prevalence=prevalence, auc=self.auc)

    @cached_property
    def _sums(self) -> PartitionSums:
        return PartitionSums(self.n, self.n_pos, self.auc, self._solution)

    @property
    def p110(self) -> float:
        r"""Probability that two positives rank before one negative (Eq. 22, corrected).

        .. math:: P_{110} = \sum_r \frac{P_0(r)}{N_0} F_1(r)^2, \qquad
                  F_1(r) = \frac{1}{N_1} \Big(\sum_{i<r} P_1(i) + \tfrac12 P_1(r)\Big)

        Differs from eq. (22), whose sums leave out the ties of a rank with itself. Ties
        count 1/2 here.
        """
        return self.auc**2 + self._sums.variances[0]

    @property
    def p100(self) -> float:
        """Probability that one positive ranks before two negatives, as ``p110``."""
        return self.auc**2 + self._sums.variances[1]

    @property
    def auc_se(self) -> float:
        r"""Standard error of the AUC from sample to sample (Eq. 18).

        .. math:: \sigma^2 = \frac{A (1 - A) + (N_1 - 1)(P_{110} - A^2)
                  + (N_0 - 1)(P_{100} - A^2)}{N_1 N_0}

        It uses only N, N1 and the AUC, not the scores, and is too low where positives
        are rare and the AUC is high.
        """
        n_neg = self.n - self.n_pos
        over_negatives, over_positives = self._sums.variances
        total = self.auc * (1 - self.auc) + max(self.n_pos - 1, 0.0) * over_negatives
        total += max(n_neg - 1, 0.0) * over_positives
        return math.sqrt(total / (self.n_pos * n_neg))


@of_tally
def fermi_dirac(
    data: Tally | None = None,
    *,
    n: int | None = None,
    n_pos: float | None = None,
    auc: float | None = None,
    prevalence: float | None = None,
) -> FermiDirac:
    r"""Fermi-Dirac distribution: the probability of a positive at each rank.

    What is the probability of a positive at each rank, given AUC and prevalence? The
    inverse temperature beta and the chemical potential mu solve, to machine precision,

    .. math:: N_1 = \sum_{r=1}^N P(1 \mid r), \qquad
              \sum_{r=1}^N r P(1 \mid r) = N_1 \frac{N+1}{2} + N_1 N_0 (\tfrac12 - A).
              \qquad (3, 4)

    (Kim et al. 2021, doi:10.1073/pnas.2100761118). For an AUC of 1/2, beta is 0; for an
    AUC of 0 or 1 it is infinite. The time does not depend on N. Differs from eqs.
    (6) and (10), which are off by half a rank. The strong limit of the paper lacks
    a factor pi/2.

    Parameters
    ----------
    data
        A tally: N, N1 and the AUC are those of its labelled cases (ties count 1/2).
    n, n_pos, auc, prevalence
        In place of a tally: the number of cases, the AUC, and the number of positives
        or the prevalence. ``n_pos`` may be an expected number, not necessarily whole;
        with ``prevalence`` it is ``n * prevalence``.

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
        labelled = data.labelled()
        n = labelled.n
        n_pos = labelled.n_pos
        auc = twice_wins(labelled) / (2 * labelled.n_pos * labelled.n_neg)

    n, n_pos, auc = _check_numbers(n, n_pos, auc, prevalence)
    solution = solve(n, n_pos, auc)
    # around the centre, where the line loses no digits
    beta, log_ratio, centre = solution
    log_odds = logit_of_prevalence(n_pos, n) + log_ratio
    return FermiDirac(
        n=n,
        n_pos=n_pos,
        prevalence=n_pos / n,
        auc=auc,
        beta=beta,
        mu=_rank_of_zero(log_odds, beta, centre),
        temperature=math.inf if beta == 0 else 1 / beta,
        rank_threshold=_rank_of_zero(log_ratio, beta, centre),
        _solution=solution,
    )


def _check_numbers(
    n: int | None, n_pos: float | None, auc: float | None, prevalence: float | None
) -> tuple[int, float, float]:
    """Return N, N1 and AUC of a Fermi-Dirac distribution, checked."""
    if n is None or auc is None or (n_pos is None) == (prevalence is None):
        raise InputError(
            "fermi_dirac needs a tally, or n, auc and one of n_pos and prevalence.",
            example=PythonCode(
                "trueness.fermi_dirac(t) or "
                "trueness.fermi_dirac(n=100, n_pos=50, auc=0.9)"
            ),
        )

    size = _options.whole_number(n, "n", at_least=2)
    area = _options.fraction(auc, "auc", ends="[]")
    if n_pos is None:
        return size, size * _options.fraction(prevalence, "prevalence"), area

    positives = _options.real_number(n_pos, "n_pos")
    if not 0 < positives < size:
        raise InputError(
            f"n_pos must be above 0 and below n, which is {size:,}; found "
            f"{positives:g}.",
            option="n_pos",
        )

    if positives.is_integer():
        positives = int(positives)
    return size, positives, area


def _check_ranks(values: ArrayLike, n: int) -> Any:
    """Return ranks among n cases: real numbers from 1/2 to n + 1/2."""
    rank = np.asarray(values)
    if rank.dtype.kind not in "iuf":
        raise InputError(f"rank must be numbers; found {rank.dtype}.", option="rank")

    bad = ~((rank >= 0.5) & (rank <= n + 0.5))
    if bad.any():
        raise InputError(
            f"rank must lie between 1/2 and n + 1/2 = {n + 0.5:g}, rank 1 being the "
            f"highest score; found {listing(np.atleast_1d(rank)[np.atleast_1d(bad)])}.",
            option="rank",
        )
    return rank.astype(np.float64)


def _check_flagged_numbers(values: ArrayLike | None, n: int, quantity: str) -> Any:
    """Return how many of n ranked cases are flagged, as whole numbers."""
    if values is None:
        raise InputError(
            f"The expected {quantity} needs a rank, the number of cases that are "
            "flagged.",
            example=PythonCode(f"expected({quantity!r}, {max(1, n // 10)})"),
        )

    rank = np.asarray(values)
    numeric = rank.dtype.kind in "iuf"
    if not numeric or not ((rank >= 0) & (rank <= n) & (rank == np.floor(rank))).all():
        raise InputError(
            f"rank must be whole numbers from 0 to {n:,}, the number of cases: how "
            f"many cases are flagged; found {listing(np.atleast_1d(rank))}.",
            option="rank",
        )
    return rank.astype(np.float64)


def _rank_of_zero(height: float, beta: float, centre: float) -> float:
    """Return the rank at which the line ``height - beta (r - centre)`` crosses zero."""
    if height == 0 or math.isinf(beta):
        return centre
    if beta == 0:
        return math.copysign(math.inf, height)
    return centre + height / beta


def finite_lines(
    n: ArrayLike, n_pos: ArrayLike, auc: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Return beta, log-likelihood ratio and centre of the lines of several classifiers.

    A perfect AUC has an infinite beta: half a pair is then counted as misranked.
    """
    sizes = np.asarray(n, np.float64).tolist()
    positives = np.asarray(n_pos, np.float64).tolist()
    areas = np.asarray(auc, np.float64).tolist()
    lines = np.array(
        [
            _finite_line(*numbers)
            for numbers in zip(sizes, positives, areas, strict=True)
        ]
    )
    return lines[:, 0], lines[:, 1], lines[:, 2]


def _finite_line(n: float, n_pos: float, auc: float) -> RankLine:
    """Return the line of one classifier, with a finite beta."""
    solution = solve(int(n), n_pos, auc)
    if math.isfinite(solution.beta):
        return solution

    pairs = n_pos * (n - n_pos)
    # half a pair, and less of very few pairs: of a single one a quarter
    missed_pairs = 0.5 * pairs / (pairs + 1)
    # an expected number of positives need not be whole: in any order, a fraction of a
    # positive loses this much
    fraction = n_pos % 1
    missed_by_fraction = fraction * (1 - fraction) / 2
    miss = (missed_pairs + missed_by_fraction) / pairs
    almost_reversed = solve(int(n), n_pos, miss)
    if solution.beta < 0:
        return almost_reversed

    # solve with the ranks reversed: from 10^8 cases on, 1 - miss would round to 1
    beta, log_ratio, centre = almost_reversed
    return RankLine(-beta, log_ratio, int(n) + 1 - centre)


@whole_cases
def midranks(t: Tally, score: ArrayLike | None = None) -> Floats:
    """Midranks of scores among the cases of a tally.

    Which rank would these scores have? Rank 1 is the highest score and tied cases share
    the mean of their ranks. A new score ranks after all cases with a higher score,
    labelled or not, and half of those tied with it: rank = above + tied/2 + 1/2. It
    goes from 1/2 (above all) to n + 1/2 (below all). Without ``score`` the scores of
    the tally itself are ranked.

    Examples
    --------
    >>> t = Tally([0.9, 0.5], pos=[1, 2])
    >>> midranks(t), midranks(t, [1.0, 0.9, 0.7, 0.5, 0.1])
    (array([1. , 2.5]), array([0.5, 1. , 1.5, 2.5, 3.5]))
    """
    _cases.one_classifier(t, "midranks")
    cases = t.neg + t.pos + t.unknown
    cases_up_to = np.cumsum(cases)
    if score is None:
        # ties share the mean of the ranks that they take
        return cases_up_to - (cases - 1) / 2

    scores = _columns.as_floats(score, "score")
    return rank_scores(scores, t.score[::-1], cases_up_to)


def rank_scores(score: Floats, ascending: Floats, cases_up_to: Array) -> Floats:
    """Return midranks of scores against distinct ascending ones.

    ``cases_up_to`` counts the cases from the highest score to each of these.
    """
    # cases at or above the k highest scores, for k = 0, 1, 2, ...
    cases_from_top = np.concatenate([[0], cases_up_to])
    position = np.searchsorted(ascending, score)  # NaN goes behind the last one
    scores_above = ascending.size - position

    # a tied score is found one step further up
    tied = np.append(ascending, np.nan)[position] == score
    cases_at_or_above = cases_from_top[scores_above]
    cases_above = cases_from_top[scores_above - tied]
    midrank = (cases_at_or_above + cases_above + 1) / 2
    return np.where(np.isnan(score), np.nan, midrank)


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
