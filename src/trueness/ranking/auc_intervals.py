"""How good is a classifier as a ranking, and how sure are we?

``auc`` is the one question; ``AUC_METHODS``, at the foot of this module, are the ways
to say how sure. ``docs/maths/ranking.md`` has their measured coverage.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.doors import door
from trueness._core.records import Estimate
from trueness._core.search import edge
from trueness.counts.answers import of_tally
from trueness.counts.placements import Placements, placement_values, placements, runs
from trueness.counts.resampling import (
    Seed,
    bca_interval,
    bootstrap,
    compact,
    draw,
    percentile_interval,
)
from trueness.counts.values import Tally
from trueness.counts.weights import Effective, remark, sizes
from trueness.ranking.missed_cases import Missed, missed_cases
from trueness.ranking.verification import (
    AT_RANDOM,
    impute,
    not_in_clusters,
    remarks,
    weighted_auc,
)


class AucQuestion(NamedTuple):
    """What an interval method is given: the counts, what is known, what is asked."""

    tally: Any  # a tally; where only the class counts matter a panel will do
    place: Placements
    level: float
    rng: Seed
    replicates: int
    pos: Effective | None = None  # of weighted cases
    neg: Effective | None = None
    missed: tuple[Missed, Missed] | None = None  # of weighted positives and negatives

    @classmethod
    def of(cls, t: Tally, level: float, rng: Seed, replicates: int) -> AucQuestion:
        """Ask about a tally, weighted or not."""
        place = placements(t)
        if not t.weighted:
            return cls(t, place, level, rng, replicates)
        missed = missed_cases(t, place.auc)
        return cls(t, place, level, rng, replicates, *sizes(t), missed)

    @property
    def n_pos(self) -> float:
        """Give the positives, as many equal cases as they are worth."""
        return float(self.tally.n_pos) if self.pos is None else self.pos.number

    @property
    def n_neg(self) -> float:
        """Give the negatives, likewise."""
        return float(self.tally.n_neg) if self.neg is None else self.neg.number

    @property
    def df(self) -> tuple[float, float]:
        """Give the degrees of freedom of both variances."""
        if self.pos is None or self.neg is None:
            return self.n_pos - 1, self.n_neg - 1
        return self.pos.df, self.neg.df

    @property
    def z(self) -> float:
        """Give the normal quantile of the level; Student's where cases are weighted."""
        if self.pos is None:
            return NormalDist().inv_cdf((1 + self.level) / 2)
        spread = self.place.pos_var, self.place.neg_var
        freedom = _satterthwaite(*spread, self.n_pos, self.n_neg, *self.df)
        return float(student_quantile(freedom, self.level))


Interval = tuple[float, float, float]  # low, high, standard error


@of_tally(weights=True)
def auc(
    t: Tally,
    *,
    method: str = "score",
    level: float = 0.95,
    unlabelled: str = "left out",
    rng: Seed = 0,
    replicates: int = 2000,
    cluster: Any = None,
) -> Estimate:
    r"""How often does a positive case have a higher score than a negative one?

    .. math:: A = P(s_+ > s_-) + \tfrac12 P(s_+ = s_-)

    Parameters
    ----------
    t
        The counts. For weighted cases the variance is DeLong's, of weighted placement
        values, with Student's quantile at the effective degrees of freedom; the score
        interval allows for heavier cases than those drawn (``counts.heavy_cases``).
    method
        How the interval is made, one of ``AUC_METHODS``: ``"score"`` (the default: its
        measured coverage was the best of all, also at AUC 1 and with a single
        positive), ``"delong"``, ``"logit-delong"``, ``"hanley-mcneil"``,
        ``"fermi-dirac"``, ``"bootstrap"`` (percentiles of a stratified bootstrap) and
        ``"bca"``.
    level
        Confidence level of the interval.
    unlabelled
        What to do with cases without a label. ``"left out"`` (the default): they do not
        change the answer; a note says so, and a warning is given where their scores
        differ from those of the labelled cases. ``"missing at random"``: whether a case
        was labelled depended on its score only. A case without a label then counts as
        positive with the share of positives among labelled cases of similar score (Begg
        and Greenes). The interval, from influence values on the logit scale, allows for
        this.
    rng
        Seed or generator, for the bootstrap methods.
    replicates
        Number of bootstrap replicates.
    cluster
        Which cases belong together (patients, sites): a column of the data, or a
        mapping from cluster to tally. The interval is then that of Obuchowski (1997)
        with Student's quantile, on the logit scale, and ``notes`` has the design
        effect.

    Returns
    -------
    Estimate
        The value is in [0, 1]; the interval lies in [0, 1], contains the value and
        never has zero width. Its ``notes`` say when the score ranks the wrong way round
        and what was done with cases without a label.

    Warns
    -----
    DoubtfulAssumption
        When cases without a label are left out though their scores differ from those of
        the labelled cases.

    Notes
    -----
    The value is a whole number of half pairs divided once by the number of pairs, so it
    is exact. Where a method has no answer (AUC 0 or 1, a single positive or negative,
    no spread), the score interval is given instead, and ``method`` of the answer says
    so. The time is O(m) for m distinct scores.

    References
    ----------
    DeLong, DeLong, Clarke-Pearson (1988), Biometrics 44:837, doi:10.2307/2531595;
    Hanley, McNeil (1982), Radiology 143:29, doi:10.1148/radiology.143.1.7063747;
    Newcombe (2006), Stat. Med. 25:559, doi:10.1002/sim.2324;
    Begg, Greenes (1983), Biometrics 39:207, doi:10.2307/2530820;
    Obuchowski (1997), Biometrics 53:567, doi:10.2307/2533958;
    Kim et al. (2021), doi:10.1073/pnas.2100761118

    Examples
    --------
    >>> auc(Tally([3, 2, 1], pos=[1, 1, 0], neg=[0, 1, 2])).value  # 5.5 of 6 pairs
    0.9166666666666666
    >>> auc(Tally([2, 1], pos=[9, 0], neg=[0, 9]), method="delong")  # no zero width
    AUC 1.000 (95 % CI 0.701 to 1.000, score for delong)
    """
    level = _options.fraction(level, "level")
    if cluster is not None:
        not_in_clusters(unlabelled, "auc")
        found: Estimate = door("ranking.clusters").clustered_auc(cluster, level)
        return _noted(found, found.notes)
    _cases.both_classes(t, "auc")
    _options.choice(method, AUC_METHODS, "method")
    number = _options.whole_number(replicates, "replicates", at_least=100)
    notes = remarks(t, unlabelled) + remark(t)
    if t.weighted:
        _options.choice(method, WEIGHTED, "method of weighted cases")
    if unlabelled == AT_RANDOM and t.n_unknown:
        return _noted(_at_random(t, level), notes)
    return _noted(answer(AucQuestion.of(t, level, rng, number), method), notes)


def answer(q: AucQuestion, method: str) -> Estimate:
    """Make the interval, with the score interval where the method has none."""
    value = q.place.auc
    low, high, sd = AUC_METHODS[method](q)
    usable = low < high and low <= value <= high and not math.isnan(sd)
    if method != "score" and not usable:
        low, high, _ = score_interval(q)
        method = f"score for {method}"
    return Estimate(
        value, max(0.0, low), min(1.0, high), q.level, method, sd, name="AUC"
    )


REVERSED = (
    "The whole interval lies below one half: this score ranks the wrong way round, "
    "positives below negatives. If a low score means positive, reverse it with "
    "tally.map(lambda s: -s); if the other label is the positive one, pass "
    "positive=... to trueness.tally."
)


def _noted(found: Estimate, notes: tuple[str, ...]) -> Estimate:
    if found.high < 0.5:
        notes = (REVERSED, *notes)
    return replace(found, notes=notes) if notes else found


def _at_random(t: Tally, level: float) -> Estimate:
    """Give the AUC where labels are missing at random given the score."""
    value, sd = weighted_auc(impute(t))
    few = min(t.n_pos, t.n_neg)
    low, high = logit_ends(value, sd, student_quantile(few - 1 + _MORE, level))
    method = "missing at random"
    if not low < high:  # no spread: what the labelled cases alone can say
        alike = AucSample(value, 0.0, 0.0, t.n_pos, t.n_neg)
        low, high = score_ends(alike, level)
        method = "score for missing at random"
    low, high = min(low, value), max(high, value)
    return Estimate(value, low, high, level, method, sd, name="AUC")


def delong_sd(q: AucQuestion) -> float:
    r"""How far does the AUC vary between samples, by the placement values?

    .. math:: \sigma^2 = S_{10} / N_1 + S_{01} / N_0

    DeLong et al. (1988); Kim et al. (2021), eq. 20. NaN with a single case of a class.
    """
    p = q.place
    return math.sqrt(p.pos_var / q.n_pos + p.neg_var / q.n_neg)


def _delong(q: AucQuestion) -> Interval:
    return _wald(q, delong_sd(q))


def _wald(q: AucQuestion, sd: float) -> Interval:
    half = q.z * sd
    return max(0.0, q.place.auc - half), min(1.0, q.place.auc + half), sd


def _logit_delong(q: AucQuestion) -> Interval:
    """DeLong's error on the logit scale: never leaves (0, 1)."""
    sd = delong_sd(q)
    return *logit_ends(q.place.auc, sd, q.z), sd


def logit_ends(value: float, sd: float, quantile: float) -> tuple[float, float]:
    """Which limits has a share, with its error carried to the logit scale?

    Both are the value itself at 0 and 1, and where the error is zero or unknown.
    """
    if not 0 < value < 1 or not sd > 0:
        return value, value
    # the derivative of log(p / (1 - p)) is 1 / (p (1 - p))
    centre, half = math.log(value / (1 - value)), quantile * sd / (value * (1 - value))
    return _expit(centre - half), _expit(centre + half)


def _expit(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def exponential_spread(a: Any) -> tuple[Any, Any]:
    """How far do placement values spread when both classes are exponential?

    Variances of the placement values of positives and negatives, P100 - A^2 and
    P110 - A^2, by Hanley and McNeil (1982): P100 = 2 A^2 / (1 + A), P110 = A / (2 - A).
    """
    b = 1 - a
    return a * a * b / (1 + a), a * b * b / (1 + b)


def pair_variance(a: Any, pos_var: Any, neg_var: Any, n_pos: Any, n_neg: Any) -> Any:
    r"""How far does an AUC vary, given the spread of the placement values?

    .. math:: \sigma^2 = \frac{A(1-A) + (N_1-1)(P_{110}-A^2) + (N_0-1)(P_{100}-A^2)}
                              {N_1 N_0}

    Kim et al. (2021), eq. 18.
    """
    total = a * (1 - a) + (n_pos - 1) * neg_var + (n_neg - 1) * pos_var
    return total / n_pos / n_neg


def _hanley_mcneil(q: AucQuestion) -> Interval:
    a = q.place.auc
    spread = exponential_spread(a)
    return _wald(q, math.sqrt(pair_variance(a, *spread, q.n_pos, q.n_neg)))


def _fermi_dirac(q: AucQuestion) -> Interval:
    """Eq. 18 with the spread that the Fermi-Dirac distribution has (half ties)."""
    a = q.place.auc
    if a in (0.0, 1.0):
        return a, a, 0.0
    from trueness.fermi.distribution import (
        fermi_dirac,  # loads SciPy, which the others do without
    )

    return _wald(q, fermi_dirac(q.tally).auc_se)


# how many cases' worth of trust the model gets against the spread of the data, and how
# many degrees of freedom more a variance has for it
_TRUST, _MORE = 2.0, 4.0


class AucSample(NamedTuple):
    """What a sample shows of an AUC: numbers, or arrays with an entry for each sample.

    Where cases are weighted ``df`` are the degrees of freedom of both variances, and
    ``met`` is among how many cases none of a kind that ranks last was met.
    """

    auc: Any
    pos_var: Any
    neg_var: Any
    n_pos: Any
    n_neg: Any
    df: tuple[float, float] | None = None
    met: float | None = None


def score_interval(q: AucQuestion) -> Interval:
    """Which AUCs could have given this sample? See :func:`score_ends`."""
    p = q.place
    seen = AucSample(p.auc, p.pos_var, p.neg_var, q.n_pos, q.n_neg)
    if q.missed is None:
        low, high = score_ends(seen, q.level)
        return float(low), float(high), delong_sd(q)
    pos, neg = q.missed
    seen = seen._replace(df=q.df, met=min(pos.met, neg.met))
    sides = (pos.low, neg.low), (pos.high, neg.high)
    ends = [
        score_ends(seen._replace(pos_var=p.pos_var + up, neg_var=p.neg_var + down),
                   q.level)[k] for k, (up, down) in enumerate(sides)
    ]  # fmt: skip
    return float(ends[0]), float(ends[1]), delong_sd(q)


def score_ends(seen: AucSample, level: float) -> tuple[Any, Any]:
    r"""Which AUCs could have given a sample of AUC a?

    All :math:`\theta` with :math:`(a - \theta)^2 \le t^2 \sigma^2(\theta)`, where
    :math:`\sigma^2` is eq. 18 of Kim et al. (2021). Its two spreads follow a model as
    :math:`\theta` moves (the larger one of Hanley and McNeil, for both classes, so that
    exchanging the classes changes nothing) and are multiplied by how much larger they
    are in the data at a. t is Student's quantile with Satterthwaite's degrees of
    freedom. On the side of one half the interval also holds what a kind of cases that
    was not met could make of a (see :func:`_unmet`).
    """
    outside = score_test(seen, level)
    ends = (edge(lambda theta: ~outside(theta), seen.auc, end) for end in (0.0, 1.0))
    low, high = ends
    return low, high


def score_test(seen: AucSample, level: float) -> Callable[[Any], Any]:
    """Is an AUC of theta excluded by these samples? Gives a function of theta."""
    a, pos_var, neg_var, n_pos, n_neg, df, met = seen
    model = _model_spread(a)
    # the data say how much wider than the model the spread is; the model says how it
    # changes with theta
    ratios = [
        _spread_ratio(variance, model, n, a)
        for variance, n in ((pos_var, n_pos), (neg_var, n_neg))
    ]

    bounds = [_most_spread(r * model, a, weighted=df is not None) for r in ratios]

    def square_error(theta: Any) -> Any:
        model, most = _model_spread(theta), theta * (1 - theta)
        pos, neg = (
            np.minimum(ratio * model, bound * most)
            for ratio, bound in zip(ratios, bounds, strict=True)
        )
        return pair_variance(theta, pos, neg, n_pos, n_neg)

    one, two = (n_pos - 1, n_neg - 1) if df is None else df
    parts = ratios[0] * model, ratios[1] * model, n_pos, n_neg, one, two
    freedom = _satterthwaite(*parts)
    few = np.minimum(n_pos, n_neg) if met is None else met
    unmet = _unmet(a, few, level)
    to_half, to_end = _quantiles(np.abs(a - unmet), square_error(unmet), freedom, level)

    def outside(theta: Any) -> Any:
        inward = (theta < a) == (a > 0.5)
        t = np.where(inward, to_half, to_end)
        rare = (a - theta) ** 2 > t**2 * square_error(theta)
        return rare & ~(inward & (np.abs(a - theta) <= np.abs(a - unmet)))

    return outside


def _model_spread(a: Any) -> Any:
    return np.maximum(*exponential_spread(a))


def _spread_ratio(variance: Any, model: Any, n: Any, a: Any) -> Any:
    """How much wider is the spread than the model's, shrunk where cases say little?"""
    # near 0 and 1 nearly all placements agree, and their spread says little
    weight = np.maximum(n - 1, 0) * 4 * a * (1 - a)
    measured = np.where(weight > 0, weight * variance, 0.0) / np.where(model, model, 1)
    return (measured + _TRUST) / (weight + _TRUST)


def _most_spread(spread: Any, a: Any, weighted: bool) -> Any:
    """How far do placements spread at most, in units of A (1 - A)?

    No variable in [0, 1] of mean A spreads more than that. But a weighted spread is
    given for as many equal cases as the weights alone would leave, and where extreme
    placements are heavy it spreads as that of fewer cases: by more.
    """
    most = a * (1 - a)
    return np.maximum(spread / most, 1.0) if weighted and most > 0 else 1.0


def _unmet(a: Any, few: Any, level: float) -> Any:
    r"""What would the AUC be if a kind of cases that ranks last had not been met?

    The fewer class may hold a share q of a kind that none of its n cases shows; then
    the AUC is not a but a (1 - q), and no number of the sample tells. q is Wilson's
    limit of 0 among n, :math:`z^2 / (n + z^2)`. Towards one half it matters less and
    less, because there the spread that is seen is as wide: hence the root.
    """
    square = NormalDist().inv_cdf((1 + level) / 2) ** 2
    q = square / (few + square) * np.sqrt(np.abs(2 * a - 1))
    return np.where(a > 0.5, a * (1 - q), 1 - (1 - a) * (1 - q))


def _quantiles(away: Any, variance: Any, df: Any, level: float) -> tuple[Any, Any]:
    """Give the quantiles of the sides towards one half and towards the near end.

    Where the limit of what was not met is farther than Student's, an AUC beyond it is
    rarer than half of 1 - level. What is left over belongs to the other side, so that
    the interval as a whole is of the level asked for.
    """
    t = student_quantile(df, level)
    deviations = np.where(away > 0, away, 0) / np.sqrt(np.where(away > 0, variance, 1))
    if np.all(deviations <= t):  # with many cases: SciPy can be left alone
        return t, t
    from scipy.special import stdtr, stdtrit

    tail = (1 - level) / 2
    left = np.minimum(stdtr(df, -deviations), tail)
    return t, stdtrit(df, 1 - (2 * tail - left))


def _satterthwaite(
    pos_var: Any, neg_var: Any, n_pos: Any, n_neg: Any, pos_df: Any, neg_df: Any
) -> Any:
    """Give the degrees of freedom of the sum of both parts of the variance."""
    # Satterthwaite (1946): the square of a sum of variances over its own doubt
    pos, neg = pos_var / n_pos, neg_var / n_neg
    spread = pos**2 / (pos_df + _MORE) + neg**2 / (neg_df + _MORE)
    return np.where(spread > 0, (pos + neg) ** 2, 1e9) / np.where(spread > 0, spread, 1)


def student_quantile(df: Any, level: float) -> Any:
    """Within how many standard errors lies a share ``level`` of Student's law?

    For many degrees of freedom by Fisher and Cornish's series, whose error is then
    below 1e-15 of it: SciPy, which takes longer to load than to count a million rows,
    is left alone.
    """
    if np.min(df) > 1e6:
        z = NormalDist().inv_cdf((1 + level) / 2)
        # Abramowitz and Stegun, eq. 26.7.5
        one, two = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
        return z + one / df + two / df**2
    from scipy.special import stdtrit

    return stdtrit(df, (1 + level) / 2)


def auc_replicates(t: Tally, replicates: int, rng: Seed = 0) -> Floats:
    """Which AUCs would other samples of the same cases have shown? Stratified.

    Runs of rows with one class only are one row here: within a run the order does not
    matter to the AUC, and fewer rows are drawn faster.
    """
    rng = _options.generator(rng)
    neg, pos = runs(t)
    neg_at, pos_at = np.flatnonzero(neg), np.flatnonzero(pos)
    above = np.searchsorted(neg_at, pos_at, side="left")  # rows of negatives above
    upto = np.searchsorted(neg_at, pos_at, side="right")
    neg, pos = neg[neg_at], pos[pos_at]
    step = max(1, (1 << 20) // (neg.size + pos.size))
    parts = []
    for start in range(0, replicates, step):
        some = min(step, replicates - start)
        lower = draw(neg, some, rng, dtype=compact(neg))
        upper = draw(pos, some, rng, dtype=compact(pos))
        parts.append(_wins(lower, upper, above, upto, t.n_neg))
    return np.concatenate(parts) / (2.0 * t.n_pos * t.n_neg)


def _wins(neg: Array, pos: Array, above: Array, upto: Array, n_neg: int) -> Floats:
    """Count won pairs twice and ties once, for each replicate."""
    exact = np.int32 if n_neg < 2**30 else np.int64
    total = np.zeros((len(neg), neg.shape[1] + 1), dtype=exact)
    np.cumsum(neg, axis=1, dtype=exact, out=total[:, 1:])
    beaten = 2 * n_neg - np.take(total, above, axis=1) - np.take(total, upto, axis=1)
    wins: Floats = np.einsum("rm,rm->r", pos, beaten, dtype=np.float64)
    return wins


def _bootstrap(q: AucQuestion) -> Interval:
    drawn = _weighted_replicates if q.tally.weighted else auc_replicates
    values = drawn(q.tally, q.replicates, q.rng)
    return *percentile_interval(values, q.level), float(values.std(ddof=1))


def _weighted_replicates(t: Tally, number: int, rng: Seed) -> Floats:
    """Which AUCs would other samples of weighted cases have shown?"""

    def areas(neg: Array, pos: Array) -> Floats:
        above = np.cumsum(neg, axis=1) - neg / 2
        n_pos, n_neg = pos.sum(axis=1), neg.sum(axis=1)
        return np.asarray(1 - np.einsum("rm,rm->r", pos, above) / (n_pos * n_neg))

    return bootstrap(t.labelled(), areas, number, rng)


def _bca(q: AucQuestion) -> Interval:
    t, a = q.tally, q.place.auc
    values = auc_replicates(t, q.replicates, q.rng)
    below, above = placement_values(t)
    # what a case adds to the AUC: its placement, less the mean, over its class
    influence = np.concatenate([(below - a) / t.n_pos, (above - a) / t.n_neg])
    weight = np.concatenate([t.pos, t.neg])
    ends = bca_interval(a, values, influence, weight, q.level)
    return *ends, float(values.std(ddof=1))


AUC_METHODS: dict[str, Callable[[AucQuestion], Interval]] = {
    "score": score_interval,
    "delong": _delong,
    "logit-delong": _logit_delong,
    "hanley-mcneil": _hanley_mcneil,
    "fermi-dirac": _fermi_dirac,
    "bootstrap": _bootstrap,
    "bca": _bca,
}
# those that rest on the first two moments alone
WEIGHTED = ("score", "delong", "logit-delong", "hanley-mcneil", "bootstrap")
