r"""How sure are we of an AUC when the cases of a cluster are alike?

Several images of a patient, several days of a site: such cases say less than as many
independent ones. Clusters keep the one idea of counts: the cluster is one more output.
A panel whose last column is the number of the cluster says how many negatives and
positives showed each score in each cluster; whoever has a mapping from cluster to tally
gives that.

An AUC is a mean of placement values, and cases of a cluster are added up before they
are squared (Obuchowski 1997):

.. math:: \mathrm{var}(A) = \frac{m_1}{m_1 - 1} \sum_c P_c^2 +
          \frac{m_0}{m_0 - 1} \sum_c N_c^2 + \frac{2m}{m - 1} \sum_c P_c N_c

with :math:`P_c = \sum_{i \in c} (V_i - A) / N_1` over the positives of cluster c,
:math:`N_c` likewise over its negatives, and m clusters of which :math:`m_1` have
positives and :math:`m_0` negatives. Weights enter the sums, and nothing else changes:
what varies is the cluster (the linearised variance of survey samples).

Of few clusters, or very unequal ones, this variance is too small. Limits therefore have
the larger of it and of the jackknife's, which leaves out one cluster at a time, and
Student's quantile with fewer degrees of freedom the more unequal the changes are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.records import Estimate
from trueness.counts.placements import Placements, placements
from trueness.counts.rows import merge_rows
from trueness.counts.values import Panel, Tally, panel_of_rows, tally_of_weights
from trueness.counts.weights import student_factor
from trueness.ranking.auc_intervals import (
    AucQuestion,
    delong_sd,
    exponential_spread,
    logit_ends,
    pair_variance,
    score_interval,
    student_quantile,
)

CLUSTER = "(cluster)"


class Clusters(NamedTuple):
    """Who of the cases belongs together? The rows of a panel and their clusters."""

    names: tuple[str, ...]
    rows: Floats  # without the column of the clusters
    neg: Array
    pos: Array
    code: Array
    m: int
    squares: tuple[Array, Array] | None = None  # of weights, likewise

    @property
    def with_pos(self) -> int:
        """Count the clusters that have positives."""
        return int(np.count_nonzero(np.bincount(self.code, self.pos)))

    @property
    def with_neg(self) -> int:
        """Count the clusters that have negatives."""
        return int(np.count_nonzero(np.bincount(self.code, self.neg)))

    def as_heavy(self, there: Array) -> Floats:
        """Count clusters (of the columns of ``there``) as the heaviest of them.

        What no cluster showed may come from one whose cases weigh as much as those of
        the heaviest. Cases of equal weight leave the number of clusters.
        """
        if self.squares is None:
            return np.asarray(there.sum(axis=0), np.float64)
        total = np.bincount(self.code, self.neg + self.pos, self.m)
        square = np.bincount(self.code, sum(self.squares), self.m)
        weight = there * (square / total)[:, None]
        return np.asarray(weight.sum(axis=0) / weight.max(axis=0), np.float64)

    @property
    def as_cases(self) -> SimpleNamespace:
        """Take clusters for cases, one of each class that they have."""
        counts = (np.bincount(self.code, n, self.m) for n in (self.pos, self.neg))
        n_pos, n_neg = self.as_heavy(np.column_stack(tuple(counts)) > 0)
        return SimpleNamespace(n_pos=float(n_pos), n_neg=float(n_neg))

    def tally(self, k: int) -> Tally:
        """Forget the clusters and the other classifiers."""
        return self.at(self.rows[:, k])

    def at(self, score: Floats) -> Tally:
        """Put the cases of the rows at these scores."""
        if self.squares is None:
            return Tally(score, self.neg, self.pos)
        zero = np.zeros(score.size)
        columns = [self.neg, self.pos, zero, *self.squares, zero]
        return tally_of_weights(score + 0.0, columns)


def clusters(x: Any, what: str) -> Clusters:
    """Read clusters: a panel with their number last, or a mapping to tallies, panels.

    Parameters
    ----------
    x
        Clusters.
    what
        The analysis that needs them, for messages.
    """
    if isinstance(x, Mapping):
        x = cluster_panel(x)
    if not (isinstance(x, Panel) and x.names[-1] == CLUSTER):
        raise InputError(
            f"{what} needs the cluster of every case. Type cluster= with a column next "
            f"to labels and scores, or with a mapping from cluster to tally next to "
            f"counts."
        )
    x = x.labelled()
    code = x.rows[:, -1].astype(np.int64)
    # numbers of clusters without a labelled case are left out
    there = np.bincount(code) > 0
    at, m = (np.cumsum(there) - 1)[code], int(there.sum())
    squares = x.squares[:2] if x.weighted else None
    found = Clusters(x.names[:-1], x.rows[:, :-1], x.neg, x.pos, at, m, squares)
    if min(found.with_pos, found.with_neg) < 2:
        raise NotEnoughCases(
            f"{what} needs at least two clusters with positives and two with "
            f"negatives; found {found.with_pos} and {found.with_neg} of {found.m}."
        )
    return found


def cluster_panel(parts: Any) -> Panel:
    """Number the clusters, and put the number beside their outputs, as the last one."""
    if isinstance(parts, Panel):
        return parts
    some = list(parts.values()) if isinstance(parts, Mapping) else []
    if not some or not all(isinstance(t, (Tally, Panel)) for t in some):
        raise InputError(
            "cluster= takes a column of the data, or a mapping from cluster to tally."
        )
    names = some[0].names if isinstance(some[0], Panel) else ("score",)
    outputs = [t.score[:, None] if isinstance(t, Tally) else t.rows for t in some]
    code = np.repeat(np.arange(len(some), dtype=np.float64), [len(o) for o in outputs])
    rows = np.column_stack([np.concatenate(outputs), code])
    if any(t.weighted for t in some):
        each = [[t.neg, t.pos, t.unknown, *t.squares] for t in some]
        sums: Any = [np.concatenate(c).astype(float) for c in zip(*each, strict=True)]
        return panel_of_rows((*names, CLUSTER), *merge_rows(rows, sums))
    counts = (np.concatenate([getattr(t, k) for t in some]) for k in ("neg", "pos"))
    return Panel([*names, CLUSTER], rows, *counts)


class Influence(NamedTuple):
    """What does each cluster add to the error of the AUC of each classifier?"""

    pos: Floats  # (m, K): its positives
    neg: Floats  # (m, K): its negatives
    change: Floats  # (m, K): the AUC less that without the cluster


def auc_influence(c: Clusters) -> Influence:
    r"""Add up the placement values of each cluster, less the AUC. O(K m log m).

    Without cluster c the pairs in which its positives or its negatives took part are
    gone; those within it were then taken off twice.
    """
    n_pos, n_neg = float(c.pos.sum()), float(c.neg.sum())
    own_pos, own_neg = (np.bincount(c.code, n, c.m) for n in (c.pos, c.neg))
    pairs = (n_pos - own_pos) * (n_neg - own_neg)
    pos, neg, change = [], [], []
    for column in c.rows.T:
        at = np.unique(column, return_inverse=True)[1]
        below = np.bincount(at, c.neg)
        above = np.bincount(at, c.pos)
        # placements: the share of the other class that it outranks, ties one half
        up = (np.cumsum(below) - below / 2)[at] / n_neg
        down = (n_pos - np.cumsum(above) + above / 2)[at] / n_pos
        area = float(c.pos @ up) / n_pos
        pos.append(np.bincount(c.code, c.pos * (up - area), c.m) / n_pos)
        neg.append(np.bincount(c.code, c.neg * (down - area), c.m) / n_neg)
        won = np.bincount(c.code, c.pos * up * n_neg + c.neg * down * n_pos, c.m)
        left = area * n_pos * n_neg - won + _within(c, at)
        change.append(area - left / pairs)
    return Influence(*(np.column_stack(x) for x in (pos, neg, change)))


def _within(c: Clusters, level: Array) -> Floats:
    """How many pairs of each cluster's own cases are in order, ties one half?"""
    order = np.lexsort((level, c.code))
    code, level = c.code[order], level[order]
    new = (code[1:] != code[:-1]) | (level[1:] != level[:-1])
    start = np.append(0, np.flatnonzero(new) + 1)
    neg, pos = (np.add.reduceat(n[order], start) for n in (c.neg, c.pos))
    code = code[start]
    # negatives of lower levels, less those of the clusters before
    below = np.cumsum(neg) - neg
    below = below - below[np.searchsorted(code, np.arange(c.m))][code]
    return np.asarray(np.bincount(code, pos * (below + neg / 2), c.m), np.float64)


class ClusterSpread(NamedTuple):
    """A variance by clusters, that for limits, and how many degrees of freedom."""

    variance: float
    cautious: float
    df: float


def cluster_freedom(change: Floats) -> float:
    r"""How many degrees of freedom leave changes that single clusters make?

    .. math:: \nu = \frac{2 (\sum_c j_c^2)^2}{\sum_c j_c^4} - 1

    At most one less than clusters that make a change (a cluster without positives makes
    none to recall); of changes that are normal two thirds of them.
    """
    size = np.abs(change)
    fourth, most = float((size**4).sum()), len(change) - 1.0
    if not fourth > 0:
        return most
    most = np.count_nonzero(size > 1e-9 * size.max()) - 1.0
    return max(min(2 * float(change @ change) ** 2 / fourth - 1, most), 1.0)


def cluster_spread(
    c: Clusters, pos: Floats, neg: Floats, change: Floats
) -> ClusterSpread:
    """Obuchowski's variance, with Satterthwaite's degrees of freedom.

    Few clusters with positives among many have few degrees of freedom, and so have
    clusters of which few make most of the change; never more than clusters less one.
    """
    m, m1, m0 = c.m, c.with_pos, c.with_neg
    up, down = m1 / (m1 - 1) * float(pos @ pos), m0 / (m0 - 1) * float(neg @ neg)
    both = 2 * m / (m - 1) * float(pos @ neg)
    # Satterthwaite: each part is as well known as it has clusters
    doubt = up**2 / (m1 - 1) + down**2 / (m0 - 1)
    df = (up + down) ** 2 / doubt if doubt > 0 else min(m1, m0) - 1
    variance = max(up + down + both, 0.0)
    cautious = max(variance, (m - 1) / m * float(change @ change))
    return ClusterSpread(variance, cautious, max(min(df, cluster_freedom(change)), 1.0))


# Near 1 nearly all clusters are alike and say little about spread: there the variance
# of a model in which each cluster is one case has some weight. It is small, since that
# variance is many times too large: with 1/20 intervals are up to 1.5 times as wide, and
# without it .83 of them held an AUC of .995 where clusters are of one class.
_TRUST = 0.01


def clustered_auc(x: Any, level: float = 0.95) -> Estimate:
    """How often does a positive have a higher score, with clusters in mind?"""
    c = clusters(x, "auc")
    return auc_of_clusters(c, auc_influence(c), 0, level)


def auc_of_clusters(c: Clusters, found: Influence, k: int, level: float) -> Estimate:
    r"""Give the AUC of classifier k with its interval and the design effect.

    The interval is symmetric on the logit scale, with Student's quantile; at AUC 0 or 1
    it is the score interval of as many cases as there are clusters (of weighted ones,
    as :meth:`Clusters.as_heavy` counts them).
    """
    t = c.tally(k)
    place = placements(t)
    spread = cluster_spread(c, *(x[:, k] for x in found))
    plain, sd = _plain_sd(t), math.sqrt(spread.variance)
    ends = _interval(place, spread, c, level)
    notes = (_design_effect(sd, plain, c),) if plain > 0 and sd > 0 else ()
    return Estimate(place.auc, *ends, level, "clusters", sd, notes=notes, name="AUC")


def _plain_sd(t: Tally) -> float:
    """Give the error that the AUC would have if all cases were independent."""
    return delong_sd(AucQuestion.of(t, 0.95, 0, 0))


def _interval(
    place: Placements, spread: ClusterSpread, c: Clusters, level: float
) -> tuple[float, float]:
    if place.auc in (0.0, 1.0) or spread.variance == 0:
        none = place._replace(pos_var=0.0, neg_var=0.0)
        return score_interval(AucQuestion(c.as_cases, none, level, 0, 0))[:2]
    sd = cautious_sd(place.auc, spread, c)
    return logit_ends(place.auc, sd, student_quantile(spread.df, level))


def cautious_sd(a: float, spread: ClusterSpread, c: Clusters) -> float:
    """Which standard error have the limits of an AUC?"""
    model = max(exponential_spread(a))
    alone = pair_variance(a, model, model, c.with_pos, c.with_neg)
    known = 4 * a * (1 - a)
    weight, trust = (c.m - 1) * known, _TRUST * (1 - known) ** 2
    return math.sqrt((weight * spread.cautious + trust * alone) / (weight + trust))


def design_effect(c: Clusters) -> float:
    """By how much more do clusters vary than as many cases? At least 1.

    That of the AUC of the first classifier; where the cases show no spread, clusters
    are taken for cases.
    """
    plain = _plain_sd(c.tally(0))
    if not plain > 0:
        return float(c.pos.sum() + c.neg.sum()) / c.m
    spread = cluster_spread(c, *(x[:, 0] for x in auc_influence(c)))
    return max(1.0, spread.cautious / plain**2)


def _design_effect(sd: float, plain: float, c: Clusters) -> str:
    effect = (sd / plain) ** 2
    size = float(c.pos.sum() + c.neg.sum()) / c.m
    each = f"of {size:.3g} cases" if c.squares is None else f"of weight {size:.3g}"
    said = f"{c.m:,} clusters {each} on average"
    if sd <= plain:
        return f"{said}, which are not more alike than others (design effect below 1)."
    return (
        f"{said}, design effect {effect:.2f}: treating the cases as independent would "
        f"make the interval {100 * (1 - plain / sd):.0f} % too narrow."
    )


def cluster_draws(
    c: Clusters, number: int, rng: Any, most: int = 1000
) -> tuple[Tally, Iterator[tuple[Array, Array]]]:
    """Which curves would other samples of as many clusters have shown?

    Gives the counts of the first classifier, pooled to at most ``most`` levels of its
    score, and blocks (neg, pos) of their redrawn counts, highest score first. Whole
    clusters are drawn; samples without a class are left out.
    """
    from scipy.sparse import csr_array

    rng = _options.generator(rng)
    level = np.unique(c.rows[:, 0], return_inverse=True)[1]
    size = np.bincount(level, c.neg + c.pos)
    if size.size > most:  # equally many cases in each
        share = (np.cumsum(size)[level] - size[level] / 2) / size.sum()
        level = np.unique((share * most).astype(np.int64), return_inverse=True)[1]
    place = level.max() - level.astype(np.int64)
    shape = (c.m, int(place.max()) + 1)
    neg, pos = (csr_array((n, (c.code, place)), shape=shape) for n in (c.neg, c.pos))
    whole = c.at((shape[1] - place).astype(np.float64))

    def blocks() -> Iterator[tuple[Array, Array]]:
        step = max(1, (1 << 21) // c.m)
        for start in range(0, number, step):
            some = min(step, number - start)
            times = rng.multinomial(c.m, np.full(c.m, 1 / c.m), some)
            drawn = times @ neg, times @ pos
            both = drawn[0].any(axis=1) & drawn[1].any(axis=1)
            yield drawn[0][both], drawn[1][both]

    return whole, blocks()


def share_variance(c: Clusters) -> float:
    """How uncertain is the share of positives? Clusters are added up first."""
    pos, neg = (np.bincount(c.code, n, c.m) for n in (c.pos, c.neg))
    share = float(pos.sum() / (pos.sum() + neg.sum()))
    away = (pos - share * (pos + neg)) / (pos.sum() + neg.sum())
    return c.m / (c.m - 1) * float(away @ away)


def cluster_factor(c: Clusters, level: float) -> float:
    """By how much are bands of few clusters wider? Student over normal quantile."""
    return student_factor(min(c.with_pos, c.with_neg) - 1.0, level)
