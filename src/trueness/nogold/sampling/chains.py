"""Can these draws be trusted? R-hat, effective sizes and Monte-Carlo errors.

The definitions of Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), Bayesian
Analysis 16:667, doi:10.1214/20-BA1221, on arrays of shape (chains, draws). ArviZ has
them too; sampling needs them while it runs, and must not wait for a library that takes
longer to import than the sampling takes. ``tests/nogold/test_chains.py`` holds both
together.
"""

from __future__ import annotations

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from trueness._core.arrays import Array, Floats
from trueness.nogold.sampling.products import dot

TAILS = (0.05, 0.95)
GOOD_K = 0.7  # Pareto k up to which weights serve (Vehtari et al. 2024)


def r_hat(chains: Floats) -> float:
    """How much more do the chains vary together than each alone? 1 is ideal.

    The larger of the rank-normalised split R-hat (section 3.2) and its folded form.
    """
    halves = _split(chains)
    folded = np.abs(halves - np.median(halves))
    return max(_plain_r_hat(_rank_normal(halves)), _plain_r_hat(_rank_normal(folded)))


def ess_bulk(chains: Floats) -> float:
    """How many independent draws would place the bulk as precisely?"""
    return _ess(_rank_normal(_split(chains)))


def ess_tail(chains: Floats) -> float:
    """How many independent draws would place the 5 % and 95 % points as precisely?"""
    halves = _split(chains)
    ends = np.quantile(chains, TAILS)
    return min(_ess((halves <= end).astype(np.float64)) for end in ends)


def ess_mean(chains: Floats) -> float:
    """How many independent draws would place the mean as precisely?"""
    return _ess(_split(chains))


def pareto_k(log_weight: Floats) -> float:
    """How heavy is the tail of the importance weights? Above 0.7 they are useless.

    The shape of a generalised Pareto distribution, fitted to the largest weights
    (Vehtari, Simpson, Gelman, Yao, Gabry 2024, J. Mach. Learn. Res. 25:72, section 3.1)
    by the estimator of Zhang and Stephens 2009, doi:10.1198/tech.2009.08017.
    """
    size = log_weight.size
    most = int(min(0.2 * size, 3 * np.sqrt(size)))
    top = np.partition(log_weight, size - most - 1)[size - most - 1 :]
    top = np.sort(np.exp(top - top.max()))
    excess = top[1:] - top[0]
    excess = excess[excess > 0]
    return _generalised_pareto_shape(excess) if excess.size >= 5 else -np.inf


def weighted_ess(values: Floats, log_weight: Floats) -> tuple[float, float, float]:
    """How many independent draws are weighted ones worth: bulk, tail and mean?

    The variance of a function over that of its self-normalised weighted mean (delta
    method), for normal scores of the weighted ranks, for the indicators of both tails,
    and for the value itself.
    """
    order = np.argsort(values)
    w = np.exp(log_weight - log_weight.max())[order]
    w /= w.sum()
    rank = np.clip(np.cumsum(w) - w / 2, 1e-12, 1 - 1e-12)
    tails = [_worth((rank <= end).astype(np.float64), w) for end in TAILS]
    return _worth(ndtri(rank), w), min(tails), _worth(values[order], w)


def _worth(h: Floats, w: Floats) -> float:
    centred = (h - dot(w, h)) ** 2
    error = dot(w * w, centred)
    return float(dot(w, centred) / error) if error > 0 else float(h.size)


def _generalised_pareto_shape(excess: Floats) -> float:
    n = excess.size
    steps = 30 + int(np.sqrt(n))
    quartile = excess[int(n / 4 + 0.5) - 1]
    grid = 1 - np.sqrt(steps / (np.arange(1, steps + 1) - 0.5))
    theta = 1 / excess[-1] + grid / (3 * quartile)  # Zhang, Stephens 2009, eq. (8)
    k = np.log1p(-theta[:, None] * excess).mean(axis=1)
    profile = n * (np.log(-theta / k) - k - 1)
    with np.errstate(over="ignore"):  # a profile far below the others weighs nothing
        weight = 1 / np.exp(profile - profile[:, None]).sum(axis=1)
    best = float(dot(theta, weight) / weight.sum())
    shape = float(np.log1p(-best * excess).mean())
    # a weak prior at 0.5 worth ten cases, as in the appendix of Vehtari et al.
    return (n * shape + 10 * 0.5) / (n + 10)


def _split(chains: Floats) -> Floats:
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def _rank_normal(values: Array) -> Floats:
    """Replace values by normal scores of their mid-ranks (Blom)."""
    _, at, count = np.unique(values, return_inverse=True, return_counts=True)
    rank = np.cumsum(count) - (count - 1) / 2
    score = ndtri((rank - 0.375) / (values.size + 0.25))
    return np.asarray(score[at]).reshape(values.shape)


def _plain_r_hat(chains: Floats) -> float:
    n = chains.shape[1]
    within = chains.var(axis=1, ddof=1).mean()
    between = chains.mean(axis=1).var(ddof=1)
    if within == 0:
        return 1.0 if between == 0 else np.inf
    return float(np.sqrt((n - 1) / n + between / within))


def _ess(chains: Floats) -> float:
    """Divide the number of draws by the autocorrelation time of Geyer's sequences."""
    m, n = chains.shape
    if np.ptp(chains) == 0:
        return float(chains.size)
    cov = _autocovariance(chains)
    within = cov[0] * n / (n - 1)
    total = cov[0] + (chains.mean(axis=1).var(ddof=1) if m > 1 else 0.0)
    rho = 1 - (within - cov) / total
    rho[0] = 1.0
    time = max(_geyer_time(rho), 1 / np.log10(m * n))
    return float(m * n / time)


def _geyer_time(rho: Floats) -> float:
    """Sum the initial positive, made monotone, sequence of pairs (Geyer 1992)."""
    last = (rho.size - 1) // 2  # pairs that lie wholly before the end
    pairs = rho[: 2 * last].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs < 0)
    # without a negative pair ArviZ and Stan keep the last one as the tail below
    stop = int(negative[0]) if negative.size else max(last - 1, 0)
    monotone = np.minimum.accumulate(pairs[: max(stop, 1)])
    # an even lag that is still positive after the last pair improves the estimate
    tail = rho[2 * stop] if 2 * stop < rho.size else 0.0
    return float(-1 + 2 * monotone.sum() + max(tail, 0.0))


def _autocovariance(chains: Floats) -> Floats:
    """Average the autocovariance over the chains, lag 0 to n - 1."""
    n = chains.shape[1]
    centred = chains - chains.mean(axis=1, keepdims=True)
    size = next_fast_len(2 * n, real=True)
    power = np.abs(rfft(centred, size, axis=1)) ** 2
    return np.asarray(irfft(power, size, axis=1)[:, :n].mean(axis=0) / n)
