r"""What if some cases have no label?

``remarks`` tests whether they can be left out: labelled and unlabelled cases must have
like scores. Where labels are missing at random *given the score*, ``impute`` gives each
unlabelled case the share of positives among the labelled cases of like score (Begg and
Greenes 1983), and says how each case acts on what is computed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks.errors import DoubtfulAssumption
from trueness._core.numbers import p_is
from trueness._core.solvers import fit_logistic
from trueness.counts.cases import unlabelled_words
from trueness.counts.design import AT_RANDOM
from trueness.counts.values import Tally, tally_of_rows

_DOUBTFUL = 0.05
# this many unlabelled cases beyond the scores of all labelled ones are mentioned
_BEYOND = 0.05


def remarks(
    t: Tally,
    *,
    instead: str = f'type unlabelled="{AT_RANDOM}"',
    stacklevel: int = 4,
) -> tuple[str, ...]:
    """What must be known about cases without a label? Warns where they differ.

    ``instead`` says what to type where labelling depended on the score alone.
    """
    if not t.n_unknown or not t.n_pos + t.n_neg:
        return ()
    if t.design.unlabelled == AT_RANDOM:
        return _assumed(t)
    many = f"{unlabelled_words(t)} have no label and were left out"
    p = difference(t)
    if math.isnan(p):
        return (f"{many}; whether their scores differ is not tested.",)
    if p >= _DOUBTFUL:
        return (
            f"{many}; their scores do not differ significantly from those of the "
            f"labelled cases ({p_is(p)}).",
        )
    note = (
        f"{many}, although their scores differ from those of the labelled cases "
        f"({p_is(p)}): the answer is about the labelled cases only. If labelling "
        f"depended on the score alone, {instead}."
    )
    warnings.warn(note, DoubtfulAssumption, stacklevel=stacklevel)
    return (note,)


@contextmanager
def said_elsewhere() -> Iterator[None]:
    """Keep quiet about cases left out, for doors that print the notes themselves."""
    with warnings.catch_warnings():
        words = ".* cases have no label and were left out"
        warnings.filterwarnings("ignore", words, DoubtfulAssumption)
        yield


def _assumed(t: Tally) -> tuple[str, ...]:
    said = (
        f"{unlabelled_words(t)} have no label; each counts as positive "
        "with the share of positives among labelled cases with a similar score. That "
        "is right when labels are missing at random given the score, which these "
        "data cannot show."
    )
    known = np.flatnonzero(t.neg + t.pos)
    inside = int(t.unknown[known[0] : known[-1] + 1].sum())
    beyond = t.n_unknown - inside
    if beyond <= _BEYOND * t.n_unknown:
        return (said,)
    return (
        said,
        f"{beyond:,} cases without a label score above or below all labelled ones: "
        f"there the answer is an extrapolation. Label some of them.",
    )


def difference(t: Tally) -> float:
    r"""Do labelled and unlabelled cases have different scores? The p-value.

    A permutation test by ranks of location and spread together (of the kind of Lepage
    1971): sums over the labelled cases of the centred mid-rank r and of r^2 have known
    means and covariance when labels are given by lot, ties included; their quadratic
    form over n - 1 is a beta variable, nearly. NaN of weighted cases.

    Examples
    --------
    >>> difference(Tally([2, 1], pos=[5, 5], unknown=[5, 5]))
    1.0
    """
    from scipy.special import betainc

    if t.squares[2] is not t.unknown:
        return math.nan
    cases: Floats = (t.neg + t.pos + t.unknown).astype(np.float64)
    known: Floats = (t.neg + t.pos).astype(np.float64)
    n, m = float(cases.sum()), float(known.sum())
    # centred and scaled, so that squares neither overflow nor swamp
    rank: Floats = (np.cumsum(cases) - cases / 2) / n - 0.5
    scores = np.stack([rank, rank * rank])
    scores = scores - (scores @ cases / n)[:, None]
    sums = scores @ known
    covariance = m * (n - m) / n / max(n - 1, 1.0) * ((scores * cases) @ scores.T)
    size, axes = np.linalg.eigh(covariance)
    free = size > 1e-9 * max(float(size[-1]), 1e-300)  # two scores have but one order
    df = int(free.sum())
    if not df or n - 1 <= df:
        return 1.0
    part = min(1.0, float(((sums @ axes)[free] ** 2 / size[free]).sum()) / (n - 1))
    # no set of m cases is rarer than one among all such sets
    rarest = math.lgamma(m + 1) + math.lgamma(n - m + 1) - math.lgamma(n + 1)
    chance = float(betainc((n - 1 - df) / 2, df / 2, 1 - part))
    return min(1.0, max(chance, math.exp(rarest)))


# of a negative, a positive and an unlabelled case of each row; and more variance
Effects = Callable[[Floats, Floats], tuple[Floats, Floats, Floats, float]]
Imputed = tuple[Tally, Ints, Effects]


def impute(t: Tally) -> Imputed:
    r"""How many positives and negatives are expected at each score?

    .. math:: \tilde P_i = P_i + U_i q_i, \qquad
              q_i = \frac{\sum_{j \sim i} P_j}{\sum_{j \sim i} (P_j + N_j)}

    where j ~ i are the rows in the bin of i: a score that many labelled cases share (as
    in Begg and Greenes' correction), or neighbouring ones that hold about 2 n^(1/3) of
    the n labelled cases, at least five. Within such a bin q rises along a logistic line
    (in the normal score of the rank) that is fitted to all labelled cases and moved to
    the share of the bin, which is drawn towards the line by two cases' worth.

    Gives the expected counts, the bin of each row, and a function that says how far a
    case moves what is computed from the counts, of its derivatives h by the negatives
    and positives of each row. An unlabelled case acts on its own row, l = q h+ + (1 -
    q) h-. A labelled one acts on its own row too; through the share p of its bin, with
    L cases, on the chances q of the unlabelled cases of the bin; and through the line
    with which the chance rises within a bin:

    .. math:: l_\pm = h_\pm + (y - p) \frac1L \sum_{j} u_j
              \frac{q_j (1 - q_j)}{p (1 - p)} (h_{+,j} - h_{-,j})
              + (y - m)\,x^T I^{-1} \sum_j u_j q_j (1 - q_j) (x_j - \bar x)
              (h_{+,j} - h_{-,j})

    Where a bin shows no positive, or nothing else, its labels show no spread; the last
    number is the variance that they lack of the share to which chances were anchored.

    References
    ----------
    Begg, Greenes (1983), Biometrics 39:207, doi:10.2307/2530820;
    Alonzo, Pepe (2005), J. R. Stat. Soc. C 54:173,
    doi:10.1111/j.1467-9876.2005.00477.x (mean score imputation)

    Examples
    --------
    >>> t = Tally([2, 1], pos=[30, 10], neg=[10, 30], unknown=[0, 40])
    >>> impute(t)[0].pos  # a quarter of the forty is positive
    array([30., 20.])
    """
    from scipy.special import expit, logit, ndtri

    cases: Floats = (t.neg + t.pos + t.unknown).astype(np.float64)
    known = t.neg + t.pos
    z = np.asarray(ndtri((np.cumsum(cases) - cases / 2) / t.n)) * -1.0
    at, start = _bins(known)
    line, covariance = _fitted(z, t.pos, known)
    labelled = np.add.reduceat(known, start).astype(np.float64)
    model = np.add.reduceat(known * line, start) / labelled
    single = np.diff([*start, known.size]) == 1
    prior = np.where(single, 0.0, _MODEL_CASES)
    share = (np.add.reduceat(t.pos, start) + prior * model) / (labelled + prior)
    # a bin of one row needs no line: its share is exact, be it 0 or 1
    inner = np.where(single, 0.5, share)
    chance = expit(logit(line) + (logit(inner) - logit(model))[at])
    more = np.asarray(t.unknown * np.where(single[at], share[at], chance), np.float64)
    counts = t.neg + (t.unknown - more), t.pos + more, np.zeros(len(t))
    expected = tally_of_rows(t.score, *counts, *counts)
    # for the spread alone each bin gets half a case of each kind: where it shows no
    # positive, the next one would move many unlabelled cases
    weight = labelled + prior
    doubted = (share * weight + 0.5) / (weight + 1)
    chance = expit(logit(chance) + (logit(doubted) - logit(inner))[at])
    q, p = np.where(single[at], doubted[at], chance), doubted[at]

    def effects(by_neg: Floats, by_pos: Floats) -> tuple[Floats, Floats, Floats, float]:
        # what a change of the log-odds of a row does, by its unlabelled cases
        moved = t.unknown * (by_pos - by_neg) * q * (1 - q)
        spread = np.maximum(p * (1 - p), 1e-12)
        # a label moves the share of its bin, which moves all log-odds of the bin
        through = np.bincount(at, moved)[at] / spread / weight[at]
        counts = np.bincount(at, known)[at]
        centre = np.bincount(at, known * z)[at] / counts
        # how far (y - m) of a case at z moves what depends on the slope
        slope = covariance[1, 0] + covariance[1, 1] * z
        pull = float(moved @ (z - centre)) * slope
        pos = by_pos + (1 - p) * through + (1 - line) * pull
        neg = by_neg - p * through - line * pull
        unknown = q * by_pos + (1 - q) * by_neg
        # labels that all agree show no spread: add what the anchored share has more
        seen = np.bincount(at, t.pos)[at] / counts
        lacking = np.maximum(spread - seen * (1 - seen), 0.0)
        return neg, pos, unknown, float((known * lacking * through**2).sum())

    return expected, at, effects


# cases' worth of trust in the line against the labelled cases of a bin
_MODEL_CASES = 2.0


def _fitted(z: Floats, pos: Array, known: Array) -> tuple[Floats, Floats]:
    """Fit a logistic line; a case of each class at z = 1 and -1 keeps it finite."""
    from scipy.special import expit

    ends = np.array([0.5, 0.5])
    pos, neg = np.append(pos, ends), np.append(known - pos, ends)
    columns = [np.append(z, [1.0, -1.0])]
    (intercept, slope), covariance, *_ = fit_logistic(columns, pos, neg)
    # never 0 or 1 themselves: their log-odds are taken
    share = np.clip(expit(intercept + slope * z), 1e-300, 1 - 2.0**-53)
    return share, covariance


def _bins(known: Array) -> tuple[Ints, Ints]:
    """Which bin has each row, and where does each bin start?

    A bin begins when the labelled cases before it fill another portion.
    """
    total = int(known.sum())
    portion = max(5, math.ceil(2 * total ** (1 / 3)))
    before = np.cumsum(known) - known
    last = int(before[np.flatnonzero(known)[-1]])
    number = np.minimum(before, last) // portion
    # what is left over at the end is too little for a bin of its own
    number = np.minimum(number, max(0, total // portion - 1))
    start = np.flatnonzero(np.diff(number, prepend=-1))
    return np.repeat(np.arange(start.size), np.diff([*start, known.size])), start
