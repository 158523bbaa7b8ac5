"""Where does the true curve lie?

Bands around ROC and precision-recall curves: pointwise, or simultaneous, so that the
whole curve lies inside with the stated confidence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.binomial import wilson
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.options import renamed
from trueness._core.records import Answer
from trueness.counts.answers import of_tally, refuse_weights
from trueness.counts.placements import coarser, corners
from trueness.counts.resampling import Seed, draw, replicates
from trueness.counts.values import Tally, exchanged, tally_of_weights
from trueness.counts.weights import sizes, student_factor
from trueness.ranking.clusters import (
    Clusters,
    cluster_draws,
    cluster_factor,
    clusters,
    design_effect,
    share_variance,
)
from trueness.ranking.curves import precision_at
from trueness.ranking.likelihood_bands import likely_alarms
from trueness.ranking.verification import (
    AT_RANDOM,
    LEFT_OUT,
    impute,
    not_in_clusters,
    remarks,
)


@final
@dataclass(frozen=True, repr=False)
class RocBand(Answer):
    """Where does the true ROC curve lie?

    Attributes
    ----------
    fpr : array
        Grid of false positive rates.
    tpr, low, high : array
        The curve of the sample, and the lower and upper end of the band, at ``fpr``.
    level : float
        Confidence level.
    kind : {"simultaneous", "pointwise"}
        Does it hold for the whole curve, or for each point alone?
    method : str
        How the band was made.
    notes : tuple of str
        Which cases were left out.
    """

    fpr: Floats
    tpr: Floats
    low: Floats
    high: Floats
    level: float
    kind: str
    method: str
    notes: tuple[str, ...] = field(default=(), kw_only=True)


@final
@dataclass(frozen=True, repr=False)
class PrecisionRecallBand(Answer):
    """Where does the true precision-recall curve lie?

    Attributes
    ----------
    recall : array
        Grid of recalls.
    precision, low, high : array
        The curve of the sample, and the lower and upper end of the band, at ``recall``.
    prevalence : float
        Share of positives for which it holds.
    level : float
        Confidence level.
    kind : {"simultaneous", "pointwise"}
        Does it hold for the whole curve, or for each point alone?
    method : str
        How the band was made.
    notes : tuple of str
        Which cases were left out.
    """

    recall: Floats
    precision: Floats
    low: Floats
    high: Floats
    prevalence: float
    level: float
    kind: str
    method: str
    notes: tuple[str, ...] = field(default=(), kw_only=True)


class _Verified(NamedTuple):
    """All cases, of which some have no label: what is expected of them."""

    cases: Tally

    @property
    def counts(self) -> Tally:
        """Give expected counts as weights of the cases that have a label.

        Each stands for the cases of its bin, with and without one.
        """
        t = coarser(self.cases, _ROWS)
        x, none = impute(t), np.zeros(len(t))
        known = np.bincount(x.bin, t.neg + t.pos)
        each = (np.bincount(x.bin, x.neg + x.pos) / known)[x.bin]
        sums = x.neg, x.pos, none, each * x.neg, each * x.pos, none
        return tally_of_weights(t.score, sums)

    def draws(self, number: int, rng: Seed) -> Iterator[tuple[Array, Array]]:
        """Redraw cases with and without a label, and impute those of each draw."""
        t = coarser(self.cases, _ROWS)
        drawn = draw(np.concatenate(t.counts), number, rng)
        for neg, pos, unknown in drawn.reshape(-1, 3, len(t)):
            if neg.any() and pos.any():
                at = np.flatnonzero(neg + pos + unknown)
                x = impute(Tally(t.score[at], neg[at], pos[at], unknown[at]))
                yield x.neg[None], x.pos[None]


class _BandRequest(NamedTuple):
    level: float
    kind: str
    method: str
    rng: Seed
    replicates: int
    together: Clusters | None
    notes: tuple[str, ...]
    verified: _Verified | None = None  # where labels are missing at random


@renamed(number="replicates")
@of_tally(weights=True)
def roc_band(
    t: Tally,
    *,
    kind: str = "simultaneous",
    method: str = "bootstrap",
    level: float = 0.95,
    points: int = 101,
    rng: Seed = 0,
    replicates: int = 1000,
    cluster: Any = None,
    unlabelled: str = LEFT_OUT,
) -> RocBand:
    r"""Where does the true ROC curve lie?

    .. math:: \widehat{\mathrm{tpr}}(f) \pm c\,\hat\sigma(f), \qquad
              P\Big(\max_f |\mathrm{tpr}^*(f) - \widehat{\mathrm{tpr}}(f)|
              / \hat\sigma(f) \le c\Big) = \text{level}

    Parameters
    ----------
    t
        The counts.
    kind
        ``"simultaneous"``: the whole curve lies inside with this confidence.
        ``"pointwise"``: each single point does.
    method
        ``"bootstrap"`` (stratified), or ``"kolmogorov"``: wider, but valid for every
        sample size, by the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart for
        both classes (simultaneous only).
    level
        Confidence level.
    points
        How many false positive rates the grid has, from 0 to 1.
    rng, replicates
        Seed and number of replicates.
    cluster
        Which cases belong together (patients, sites): a column of the data, or a
        mapping from cluster to tally. Whole clusters are then drawn, and the band is
        wider by the ratio of Student's to the normal quantile.
    unlabelled
        Cases without a label are ``"left out"``, or ``"missing at random"`` given the
        score, as in :func:`auc` (Begg and Greenes): all cases are then drawn together,
        and the chances of those without a label are estimated in every draw.

    Notes
    -----
    Near 0 and 1, where the replicates do not vary, the standard error is that of a rate
    with two successes and two failures added (Agresti and Coull). The band also extends
    by two negatives to both sides, since a sample does not resolve smaller differences
    of the false positive rate. Measured coverage is in ``docs/maths/ranking.md``.

    References
    ----------
    Campbell (1994), Stat. Med. 13:499; Massart (1990), Ann. Probab. 18:1269.

    Examples
    --------
    >>> band = roc_band(Tally([2, 1], pos=[8, 2], neg=[2, 8]), points=3, rng=1)
    >>> bool((band.low <= band.tpr).all() and (band.tpr <= band.high).all())
    True
    """
    methods = ("bootstrap", "kolmogorov")
    words = (kind, method, level, rng, replicates)
    t, asked = _request(t, cluster, unlabelled, "roc", methods, *words)
    grid = np.linspace(0, 1, _options.whole_number(points, "points", at_least=3))
    band = _vertical(t, grid, asked)
    return RocBand(grid, *band, asked.level, kind, method, notes=asked.notes)


@renamed(number="replicates")
@of_tally(weights=True)
def precision_recall_band(
    t: Tally,
    *,
    prevalence: float | None = None,
    sampling: str = "cohort",
    kind: str = "simultaneous",
    method: str | None = None,
    level: float = 0.95,
    points: int = 101,
    rng: Seed = 0,
    replicates: int = 1000,
    cluster: Any = None,
    unlabelled: str = LEFT_OUT,
) -> PrecisionRecallBand:
    """Where does the true precision-recall curve lie?

    Parameters
    ----------
    t
        The counts.
    prevalence
        Share of positives at which precision (PPV) is reported, taken as known; that of
        the sample when None.
    sampling
        How the cases were collected. ``"cohort"``: as they came, so that the share of
        positives is uncertain too, unless ``prevalence`` is given. ``"case-control"``:
        a fixed number of each class by design; then ``prevalence`` must be given.
    method
        ``"likelihood"``: precisions at which the counts are likely (the default).
        ``"bootstrap"``: wider; the default for weighted cases, with ``cluster=`` and
        for labels missing at random.
        ``"kolmogorov"``: the widest, as in :func:`roc_band`.
    kind, level, points, rng, replicates, cluster, unlabelled
        As in :func:`roc_band`. Only the bootstrap draws.

    Notes
    -----
    The odds of precision are the odds of the prevalence times recall over the false
    positive rate, eq. (21) of Sameni (2025). The likelihood band holds, at each recall,
    the precisions for which some threshold makes the numbers of positives found and of
    false alarms likely, by the empirical likelihood ratio of Claeskens et al. (2003);
    how likely they must be for the whole curve follows Naiman's inequality (1986). The
    bootstrap band is made for the logarithm of the odds; in a cohort all cases are
    drawn together, so that the share of positives varies as it does in such samples.
    The Kolmogorov band is that of the ROC curve with the classes exchanged; in a cohort
    it is combined with Wilson's interval of the share of positives.

    References
    ----------
    Claeskens et al. (2003), Can. J. Stat. 31:173, doi:10.2307/3316066; Naiman (1986),
    Ann. Stat. 14:896.

    Examples
    --------
    >>> t = Tally([2, 1], pos=[8, 2], neg=[2, 8])
    >>> band = precision_recall_band(t, points=3, rng=1)
    >>> band.precision.round(3).tolist()  # at recall 1/3, 2/3, 1
    [0.8, 0.8, 0.5]
    """
    _options.sampling(sampling, prevalence, "precision_recall_band")
    if method is None:
        alike = cluster is None and not t.weighted and unlabelled != AT_RANDOM
        method = "likelihood" if alike else "bootstrap"
    methods = ("likelihood", "bootstrap", "kolmogorov")
    words = (kind, method, level, rng, replicates)
    t, asked = _request(t, cluster, unlabelled, "precision_recall", methods, *words)
    points = _options.whole_number(points, "points", at_least=3)
    recall = np.linspace(0, 1, points + 1)[1:]
    share = t.prevalence
    if prevalence is not None:
        share = _options.fraction(prevalence, "prevalence")
    band = _precision_band(t, recall, share, prevalence is None, asked)
    return PrecisionRecallBand(
        recall, *band, share, asked.level, kind, method, notes=asked.notes
    )


def _precision_band(
    t: Tally, recall: Floats, share: float, random: bool, asked: _BandRequest
) -> tuple[Floats, Floats, Floats]:
    """Give precision and its band; ``random``: the share of positives is estimated."""
    # seen from the negatives: their "hit rate" is specificity, their "fpr" a miss
    if asked.together is not None:
        t, _ = _by_clusters(asked)
    as_they_are = asked.together is None and asked.verified is None
    mirror = few_rows(exchanged(t)) if as_they_are else exchanged(t)
    grid = (1 - recall)[::-1]
    fpr = 1 - height(running_shares(mirror.neg), running_shares(mirror.pos), grid)[::-1]
    value = precision_at(fpr, recall, share)
    if asked.method != "kolmogorov":
        odds = (1 - share) / share * t.n_pos / t.n_neg
        if asked.method == "likelihood":
            counts = few_rows(t)
            few, many = likely_alarms(counts, recall, random, asked.level, asked.kind)
            alarms = many, few
        else:
            alarms = _false_alarms(mirror, fpr, recall, random, asked)
        low, high = (recall / (recall + odds * a) for a in alarms)
        return value, np.minimum(low, value), np.maximum(high, value)
    level = math.sqrt(asked.level) if random else asked.level
    _, most, least = (
        1 - s[::-1] for s in _vertical(mirror, grid, asked._replace(level=level))
    )
    # two statements that hold with the root of the level each hold together
    shares = wilson(t.n_pos, t.n_pos + t.n_neg, level) if random else (share, share)
    low, high = map(precision_at, (most, least), (recall, recall), shares)
    return value, low, high


def _false_alarms(
    mirror: Tally, fpr: Floats, recall: Floats, random: bool, asked: _BandRequest
) -> tuple[Floats, Floats]:
    r"""Between which numbers of false alarms per positive, most first, is the truth?

    The odds of precision are r P / F with F false alarms among P positives at recall r,
    so the band is one of log((F + 1/2) / P), which rises with r. In a cohort all cases
    are drawn together, so that it holds the doubt in P too. The variance is at least
    that of two independent counts. A sample does not resolve a recall below a positive
    or two: the band reaches that far to both sides, where at the end all negatives are
    false alarms and the share of positives alone counts.
    """
    n_pos, n_neg = mirror.n_neg, mirror.n_pos
    # weights are counted in units of an equal negative, of which half a one is added
    known_neg, known_pos = _known(mirror, asked)
    unit = n_neg / known_neg
    centre = np.log(n_neg * fpr / unit + 0.5) - math.log(n_pos / unit)
    logs = []
    for neg, pos in _mirrored(mirror, random, asked):
        for n, p in zip(neg, pos, strict=True):
            if n.any() and p.any():
                rate = 1 - height(running_shares(n), running_shares(p), 1 - recall)
                alarms = np.log(p.sum() / unit * rate + 0.5)
                logs.append(alarms - math.log(n.sum() / unit))
    drawn = np.array(logs)
    least = 1 / (known_neg * fpr + 1) + (1 / (known_pos + 1) if random else 0.0)
    error = np.sqrt(np.maximum(drawn.var(axis=0), least))
    half = critical(np.abs(drawn - centre) / error, asked.level, asked.kind) * error
    half *= few_weights(mirror, asked.level) * few_clusters(asked)
    low = np.maximum.accumulate(centre - half)
    high = np.minimum.accumulate((centre + half)[::-1])[::-1]
    side = 2 / known_pos
    low = np.where(recall >= side, np.interp(recall - side, recall, low), -np.inf)
    high = np.where(recall + side < 1, np.interp(recall + side, recall, high), np.inf)
    share = n_pos / (n_pos + n_neg)
    if random:
        share = _share_interval(mirror, (1 + asked.level) / 2, asked.together)
    all_of_them = (1 - share) / share
    added = 0.5 * unit / n_pos
    most = np.minimum(np.exp(high) - added, all_of_them)
    return most, np.maximum(np.exp(low) - added, 0.0)


def _share_interval(mirror: Tally, level: float, together: Clusters | None) -> float:
    """Which share of positives is possible at least? Classes are exchanged here."""
    share = mirror.n_neg / (mirror.n_neg + mirror.n_pos)
    neg, pos, _ = mirror.squares
    varies = neg.sum() * (1 - share) ** 2 + pos.sum() * share**2
    varies /= (mirror.n_neg + mirror.n_pos) ** 2
    if together is not None:
        varies = max(varies, share_variance(together))
    known = share * (1 - share) / varies
    return float(wilson(share * known, known, level)[0])


def _mirrored(
    mirror: Tally, random: bool, asked: _BandRequest
) -> Iterator[tuple[Array, Array]]:
    """Redraw cases, or whole clusters, seen from the negatives."""
    if asked.verified is not None:
        blocks = asked.verified.draws(asked.replicates, asked.rng)
        if not random:  # the share is given, so it must not vary
            n_pos, n_neg = mirror.n_neg, mirror.n_pos
            blocks = ((a * (n_neg / a.sum()), b * (n_pos / b.sum())) for a, b in blocks)
    elif asked.together is not None:
        blocks = _by_clusters(asked)[1]
    else:
        yield from replicates(
            mirror, asked.replicates, asked.rng, stratified=not random
        )
        return
    for neg, pos in blocks:
        yield pos[:, ::-1], neg[:, ::-1]


def _by_clusters(asked: _BandRequest) -> tuple[Tally, Iterator[tuple[Array, Array]]]:
    assert asked.together is not None  # noqa: S101  # who calls has looked
    return cluster_draws(asked.together, asked.replicates, asked.rng, _ROWS)


def _request(
    t: Tally,
    cluster: Any,
    unlabelled: str,
    curve: str,
    methods: tuple[str, ...],
    kind: str,
    method: str,
    level: float,
    rng: Seed,
    replicates: int,
) -> tuple[Tally, _BandRequest]:
    """Check what a band of a curve was asked for; give the cases that it is about."""
    together = None
    if cluster is not None:
        not_in_clusters(unlabelled, f"{curve}_band")
        together = clusters(cluster, f"{curve}_band")
    notes = remarks(t, unlabelled, stacklevel=6) if together is None else ()
    at_random = unlabelled == AT_RANDOM and t.n_unknown > 0
    if at_random and method != "bootstrap":
        raise InputError(
            f'A band with unlabelled="{AT_RANDOM}" draws all cases; found '
            f'method={method!r}. Type method="bootstrap".'
        )
    verified = _Verified(t) if at_random else None
    if verified is not None:
        t = verified.counts
    else:
        t = t.labelled() if together is None else together.tally(0)
    _cases.both_classes(t, f"{curve}_band")
    _options.choice(kind, ("simultaneous", "pointwise"), "kind")
    _options.choice(method, methods, "method")
    if method != "bootstrap":
        why = 'Its limits hold for single cases. Type method="bootstrap".'
        refuse_weights(t, f"method={method!r}", why)
    if method == "kolmogorov":
        _options.choice(kind, ("simultaneous",), "kind with method='kolmogorov'")
    number = _options.whole_number(replicates, "replicates", at_least=100)
    if together is not None and method != "bootstrap":
        raise InputError(
            f"A band with cluster= draws whole clusters; found method={method!r}. Type "
            f'method="bootstrap".'
        )
    level = _options.fraction(level, "level")
    return t, _BandRequest(level, kind, method, rng, number, together, notes, verified)


# rows beyond this are joined to neighbours before resampling: a change below 1/1000
_ROWS = 1000


def few_rows(t: Tally) -> Tally:
    """Give the same curve with at most a thousand corners, to be resampled."""
    return coarser(corners(t), _ROWS)


def _vertical(
    t: Tally, grid: Floats, asked: _BandRequest
) -> tuple[Floats, Floats, Floats]:
    """Give the curve and the band of tpr over a grid of fpr."""
    counts, blocks = few_rows(t), None
    if asked.together is not None:
        counts, blocks = _by_clusters(asked)
    elif asked.verified is not None:
        blocks = asked.verified.draws(asked.replicates, asked.rng)
    x, y = running_shares(counts.neg), running_shares(counts.pos)
    value = height(x, y, grid)
    if asked.method == "kolmogorov":
        up, side = (_massart(n, asked.level) for n in (t.n_pos, t.n_neg))
        low = np.where(grid >= side, height(x, y, np.maximum(grid - side, 0)) - up, 0.0)
        high = height(x, y, np.minimum(grid + side, 1)) + up
        return value, np.clip(low, 0, 1), np.clip(high, 0, 1)
    drawn = curves_of(counts, grid, asked.replicates, asked.rng, blocks)
    n_pos, n_neg = _known(t, asked)
    least = rate_variance(value, n_pos)
    if asked.verified is not None:
        # two more cases are of those at the cut, and may stand for many
        neg, pos, _ = counts.squares
        each = np.interp(grid, x[1:], (neg + pos) / (counts.neg + counts.pos))
        least = np.maximum(least, rate_variance(value, t.n_pos / each))
    error = np.sqrt(np.maximum(drawn.var(axis=0), least))
    c = critical(np.abs(drawn - value) / error, asked.level, asked.kind)
    c *= few_weights(t, asked.level) * few_clusters(asked)
    return value, *_widened(grid, value, c * error, 2 / n_neg)


def _known(t: Tally, asked: _BandRequest) -> tuple[float, float]:
    """As how many independent cases do the positives and the negatives count?

    Where redrawn curves do not vary, cases of clusters that are alike show less.
    """
    pos, neg = (e.number for e in sizes(t))
    if asked.together is None:
        return pos, neg
    effect = design_effect(asked.together)
    return max(pos / effect, 1.0), max(neg / effect, 1.0)


def few_clusters(asked: _BandRequest) -> float:
    """How much wider are limits when few clusters were seen? Student's factor."""
    if asked.together is None:
        return 1.0
    return cluster_factor(asked.together, asked.level)


def few_weights(t: Tally, level: float) -> float:
    """How much wider are limits when few weights are large? Student's factor."""
    if not t.weighted:
        return 1.0
    return student_factor(min(e.df for e in sizes(t)), level)


def _widened(
    grid: Floats, value: Floats, half: Floats, side: float
) -> tuple[Floats, Floats]:
    """Let the band reach two negatives to both sides, rise with fpr and end at 0, 1."""
    low = np.maximum.accumulate(np.clip(value - half, 0, 1))
    high = np.minimum.accumulate(np.clip(value + half, 0, 1)[::-1])[::-1]
    low = np.where(grid >= side, np.interp(grid - side, grid, low), 0.0)
    return low, np.interp(grid + side, grid, high)


def running_shares(count: Array) -> Floats:
    """Which share of the cases is in the first 0, 1, 2, ... rows?"""
    total = np.concatenate([[0], np.cumsum(count)])
    return np.asarray(total / total[-1])


def height(x: Floats, y: Floats, at: Floats) -> Floats:
    """Read a rising curve of corners (x, y); at a jump the upper value."""
    # interp takes the last of equal corners just to the right of them
    return np.asarray(np.interp(np.minimum(at + 1e-12, 1.0), x, y))


def curves_of(
    t: Tally,
    grid: Floats,
    number: int,
    rng: Seed,
    blocks: Iterator[tuple[Array, Array]] | None = None,
) -> Floats:
    """Which ROC curves would other samples have shown? (number, grid)."""
    out = [
        height(running_shares(n), running_shares(p), grid)
        for neg, pos in (blocks or replicates(t, number, rng))
        for n, p in zip(neg, pos, strict=True)
    ]
    return np.array(out)


def rate_variance(rate: Floats, n: float | Floats) -> Floats:
    """How uncertain is a rate, also at 0 and 1? Two successes and failures added."""
    middle = (n * rate + 2) / (n + 4)
    return np.asarray(middle * (1 - middle) / (n + 4))


def critical(scaled: Floats, level: float, kind: str) -> float:
    """How many errors wide must the band be?

    A whole band is nowhere narrower than a pointwise one: where no error was seen no
    redrawn curve varies, and by their quantile it had no height at all.
    """
    from scipy.special import ndtri

    alone = float(ndtri((1 + level) / 2))
    if kind == "pointwise":
        return alone
    return max(alone, float(np.quantile(scaled.max(axis=1), level)))


def _massart(n: int, level: float) -> float:
    """How far is a distribution function from its estimate at most, at this level?

    Both classes must hold at once, so each has the root of the level.
    """
    return math.sqrt(math.log(2 / (1 - math.sqrt(level))) / (2 * n))
