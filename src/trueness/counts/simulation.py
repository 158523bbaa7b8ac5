r"""What would a classifier of known quality do, and several that err together?

Gaussian scores; several classifiers share a part of their noise, so that their ranks
correlate within each class, as in the figures of the Fermi-Dirac paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from trueness._core.arrays import Floats, no_cases
from trueness._core.checks import cases as _cases
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described
from trueness.counts.sorting import count_scores
from trueness.counts.values import Panel, Tally, tally_of_rows

Seed = int | np.random.Generator | None


def simulate_tally(
    n: int, n_pos: int, auc: float, *, sd_ratio: float = 1.0, rng: Seed = 0
) -> Tally:
    r"""What could n test cases of a Gaussian classifier with this AUC look like?

    Negatives are N(0, 1), positives N(d, s^2) with s = ``sd_ratio`` and

    .. math:: A = \Phi\!\left(\frac{d}{\sqrt{1 + s^2}}\right).

    Parameters
    ----------
    n, n_pos
        Cases, and how many of them are positive: the (N, N1)-ensemble of Kim et al.
    auc
        The area under the ROC curve of the population, between 0 and 1.
    sd_ratio
        Standard deviation of the positives' scores over that of the negatives'.
    rng
        A seed or a NumPy generator.

    Examples
    --------
    >>> t = simulate_tally(1000, 300, 0.9, rng=0)
    >>> t.n_pos, t.n_neg
    (300, 700)
    """
    n, n_pos = _options.class_sizes(n, n_pos)
    shift = _shift(auc, sd_ratio)
    generator = _options.generator(rng)
    score = generator.normal(size=n)
    score[n - n_pos :] *= sd_ratio
    score[n - n_pos :] += shift
    is_pos = np.arange(n) >= n - n_pos
    counted = count_scores(score, lambda rows: is_pos[rows])
    return tally_of_rows(*counted, no_cases(counted[0].size))


def _shift(auc: float, sd_ratio: float = 1.0) -> float:
    sd = _options.positive_number(sd_ratio, "sd_ratio")
    return float(np.hypot(1, sd) * ndtri(_options.fraction(auc, "auc")))


def rank_frequencies(
    n: int,
    n_pos: int,
    auc: float,
    *,
    replicates: int = 1000,
    sd_ratio: float = 1.0,
    rng: Seed = 0,
) -> Floats:
    """How often is the case at each rank positive, over many simulated test sets?

    The (N, N1)-ensemble of Kim et al. (2021), Fig. 1: entry r - 1 of the answer is the
    share of ``replicates`` test sets in which rank r is held by a positive. Parameters
    as in :func:`simulate_tally`.

    Examples
    --------
    >>> f = rank_frequencies(10, 4, 0.8, replicates=50, rng=0)
    >>> round(float(f.sum()), 9)  # four positives in every test set
    4.0
    """
    n, n_pos = _options.class_sizes(n, n_pos)
    shift = _shift(auc, sd_ratio)
    replicates = _options.whole_number(replicates, "replicates", at_least=1)
    generator = _options.generator(rng)
    total = np.zeros(n)
    for _ in range(replicates):
        score = generator.normal(size=n)
        score[:n_pos] = shift + sd_ratio * score[:n_pos]
        total += np.argsort(-score) < n_pos
    return total / replicates


def simulate_panel(
    n: int,
    n_pos: int,
    aucs: Sequence[float] | Mapping[str, float],
    *,
    correlation: ArrayLike = 0.0,
    rng: Seed = 0,
) -> Panel:
    r"""What could classifiers look like whose ranks correlate within each class?

    Gaussian scores as in :func:`simulate_tally`, with common noise so that Spearman's
    rank correlation, within each class, is r for every pair:

    .. math:: c = 2 \sin(\pi r / 6) \quad\text{(Pearson's correlation of the scores)}

    as in Kim et al. (2021), Figs S1 and S2.

    Parameters
    ----------
    n, n_pos
        Cases, and how many of them are positive.
    aucs
        The AUC of each classifier, or a mapping from name to AUC.
    correlation
        r: one number for all pairs, or a matrix (K, K) with ones on the diagonal.
    rng
        A seed or a NumPy generator.

    Examples
    --------
    >>> p = simulate_panel(500, 200, {"A": 0.6, "B": 0.75}, correlation=0.3, rng=0)
    >>> p.names, p.n_pos
    (('A', 'B'), 200)
    """
    n, n_pos = _options.class_sizes(n, n_pos)
    if isinstance(aucs, Mapping):
        names, areas = list(aucs), list(aucs.values())
    else:
        found = np.atleast_1d(_columns.probabilities(aucs, "aucs"))
        if found.ndim > 1 or not found.size:
            raise InputError(
                f"aucs must be one AUC a classifier; found {described(aucs)}. "
                f"Type aucs=[0.7, 0.8]."
            )
        names, areas = [f"C{k + 1}" for k in range(found.size)], found.tolist()
    root = _root(_cases.correlation_matrix(correlation, len(names)))
    noise = _options.generator(rng).normal(size=(n, len(names)))
    label = np.repeat([0, 1], [n - n_pos, n_pos])
    shift = np.array([_shift(a) for a in areas])
    return Panel(names, noise @ root + np.outer(label, shift), 1 - label, label)


def _root(spearman: Floats) -> Floats:
    """Give a matrix whose product with standard noise has these rank correlations."""
    # exact for normal scores (Pearson 1907)
    pearson = 2 * np.sin(np.pi * spearman / 6)
    np.fill_diagonal(pearson, 1.0)
    value, vector = np.linalg.eigh(pearson)
    _cases.positive_definite(value, "correlation")
    return np.asarray((vector * np.sqrt(np.maximum(value, 0))).T)
