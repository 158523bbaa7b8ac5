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
from trueness.ranking.verification import AT_RANDOM, impute, remarks, weighted_auc


class AucQuestion(NamedTuple):
    """What an interval method is given: the counts, what is known, what is asked."""

    tally: Any  # a tally; where only the class counts matter a panel will do
    place: Placements
    level: float
    rng: Seed
    replicates: int
    pos: Effective | None = None  # of weighted cases
    neg: Effective | None = None

    @classmethod
    def of(cls, t: Tally, level: float, rng: Seed, replicates: int) -> AucQuestion:
        """Ask about a tally, weighted or not."""
        place = placements(t)
        if not t.weighted:
            return cls(t, place, level, rng, replicates)
        return cls(t, place, level, rng, replicates, *sizes(t))

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
        return float(_student(*spread, self.n_pos, self.n_neg, self.level, *self.df))


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
        The counts, or weights: then the variance is DeLong's of weighted placement
        values, with Student's quantile by the effective degrees of freedom.
    method
        How the interval is made, one of ``AUC_METHODS``: ``"score"`` (the default: it
        had the best coverage of all, also at AUC 1 and with a single positive),
        ``"delong"``, ``"logit-delong"``, ``"hanley-mcneil"``, ``"fermi-dirac"``,
        ``"bootstrap"`` (percentiles of a stratified bootstrap) and ``"bca"``.
    level
        Confidence level of the interval.
    unlabelled
        What to do with cases without a label. ``"left out"`` (the default): they change
        nothing, and a note, with a warning where their scores differ from those of the
        labelled cases, says so. ``"missing at random"``: who was labelled depended on
        the score only; each such case counts as positive with the share of positives
        among labelled cases of like score (Begg and Greenes), and the interval, by
        influence values on the logit scale, allows for that.
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
        Value in [0, 1]; the interval has width, lies in [0, 1] and holds the value. Its
        ``notes`` say when the score ranks the wrong way round and what was done with
        cases without a label.

    Warns
    -----
    DoubtfulAssumption
        When cases without a label are left out though their scores differ.

    Notes
    -----
    The value is a whole number of half pairs divided once, so it is exact. Where a
    method has no answer (AUC 0 or 1, a single positive or negative, no spread), the
    score interval stands in for it and ``method`` of the answer says so. O(m).

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
    AUC 1.000 (95 % CI 0.642 to 1.000, score for delong)
    """
    level = _options.fraction(level, "level")
    if cluster is not None:
        found: Estimate = door("ranking.clusters").clustered_auc(cluster, level)
        return found
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
    low, high = logit_limits(value, sd, student_quantile(few - 1 + _TRUST, level))
    method = "missing at random"
    if not low < high:  # no spread: what the labelled cases alone can say
        low, high = score_limits(value, 0.0, 0.0, t.n_pos, t.n_neg, level)
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
    sd = delong_sd(q)
    return _wald(q, sd)


def _wald(q: AucQuestion, sd: float) -> Interval:
    half = q.z * sd
    return max(0.0, q.place.auc - half), min(1.0, q.place.auc + half), sd


def _logit_delong(q: AucQuestion) -> Interval:
    """DeLong's error on the logit scale: never leaves (0, 1)."""
    sd = delong_sd(q)
    return *logit_limits(q.place.auc, sd, q.z), sd


def logit_limits(value: float, sd: float, quantile: float) -> tuple[float, float]:
    """Which limits has a share, with its error carried to the logit scale?

    Both are the value itself at 0 and 1, and where the error is zero or unknown.
    """
    if not 0 < value < 1 or not sd > 0:
        return value, value
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


# how many cases' worth of trust the model gets against the spread of the data; with 2
# the intervals covered alike in simulations and were wider
_TRUST = 4.0


def score_interval(q: AucQuestion) -> Interval:
    """Which AUCs could have given this sample? See :func:`score_limits`."""
    p = q.place
    df = None if q.pos is None else q.df
    limits = score_limits(p.auc, p.pos_var, p.neg_var, q.n_pos, q.n_neg, q.level, df)
    return float(limits[0]), float(limits[1]), delong_sd(q)


def score_limits(
    a: Any,
    pos_var: Any,
    neg_var: Any,
    n_pos: Any,
    n_neg: Any,
    level: float,
    df: tuple[float, float] | None = None,
) -> tuple[Any, Any]:
    r"""Which AUCs could have given a sample of AUC a? Floats, or arrays of samples.

    All :math:`\theta` with :math:`(a - \theta)^2 \le t^2 \sigma^2(\theta)`, where
    :math:`\sigma^2` is eq. 18 of Kim et al. (2021). Its two spreads follow a model as
    :math:`\theta` moves (the larger one of Hanley and McNeil, for both classes, so that
    exchanging the classes changes nothing) and are multiplied by how much larger they
    are in the data at a. t is Student's quantile with Satterthwaite's degrees of
    freedom; ``df`` are those of both variances where cases are weighted.
    """
    outside = score_test(a, pos_var, neg_var, n_pos, n_neg, level, df)

    def inside(theta: Any) -> Any:
        return ~outside(theta)

    return edge(inside, a, 0.0), edge(inside, a, 1.0)


def score_test(
    a: Any,
    pos_var: Any,
    neg_var: Any,
    n_pos: Any,
    n_neg: Any,
    level: float,
    df: tuple[float, float] | None = None,
) -> Callable[[Any], Any]:
    """Is an AUC of theta excluded by these samples? Gives a function of theta."""
    model = _model_spread(a)
    pos_ratio = _spread_ratio(pos_var, model, n_pos, a)
    neg_ratio = _spread_ratio(neg_var, model, n_neg, a)
    one, two = (n_pos - 1, n_neg - 1) if df is None else df
    spread = pos_ratio * model, neg_ratio * model
    square = _student(*spread, n_pos, n_neg, level, one, two) ** 2

    def outside(theta: Any) -> Any:
        spread = _model_spread(theta)
        most = theta * (1 - theta)  # no variable in [0, 1] of this mean spreads more
        pos = np.minimum(pos_ratio * spread, most)
        neg = np.minimum(neg_ratio * spread, most)
        return (a - theta) ** 2 > square * pair_variance(theta, pos, neg, n_pos, n_neg)

    return outside


def _model_spread(a: Any) -> Any:
    return np.maximum(*exponential_spread(a))


def _spread_ratio(variance: Any, model: Any, n: Any, a: Any) -> Any:
    """How much wider is the spread than the model's, shrunk where cases say little?

    Near a = 1 the data do not show that some positives are of a kind that ranks last: a
    share of them that n cases miss one time in twenty would spread the placements
    about twice as wide as the model. So the factor is shrunk not to 1 but to between
    that and 1; with it the interval covered 93 % where it had covered 72 to 88 %.
    """
    weight = np.maximum(n - 1, 0) * 4 * a * (1 - a)
    measured = np.where(weight > 0, weight * variance, 0.0) / np.where(model, model, 1)
    return (measured + _TRUST * (1.5 + 2 / n)) / (weight + _TRUST)


def _student(
    pos_var: Any,
    neg_var: Any,
    n_pos: Any,
    n_neg: Any,
    level: float,
    pos_df: Any,
    neg_df: Any,
) -> Any:
    """Give Student's quantile, by Satterthwaite's degrees of freedom."""
    pos, neg = pos_var / n_pos, neg_var / n_neg
    spread = pos**2 / (pos_df + _TRUST) + neg**2 / (neg_df + _TRUST)
    df = np.where(spread > 0, (pos + neg) ** 2, 1e9) / np.where(spread > 0, spread, 1)
    return student_quantile(df, level)


def student_quantile(df: Any, level: float) -> Any:
    """Within how many standard errors lies a share ``level`` of Student's law?

    For many degrees of freedom by Fisher and Cornish's series, whose error is then
    below 1e-15 of it: SciPy, which takes longer to load than to count a million rows,
    is left alone.
    """
    if np.min(df) > 1e6:
        z = NormalDist().inv_cdf((1 + level) / 2)
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
    if q.tally.weighted:
        values = _weighted_replicates(q.tally, q.replicates, q.rng)
        return *percentile_interval(values, q.level), float(values.std(ddof=1))
    values = auc_replicates(q.tally, q.replicates, q.rng)
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
