"""How are draws from the posterior made, and when are there enough?

Tempered sequential Monte Carlo finds it, importance sampling draws from it, Metropolis
steps polish the draws (docs/maths/nogold.md, "Sampling", with the papers).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar, final

import numpy as np
from scipy.special import gammaln, logsumexp

from trueness._core.arrays import Array, Floats
from trueness._core.progress import progress, stop_if_requested
from trueness._core.records import Record
from trueness._core.solvers import bisect
from trueness.nogold.model import LatentModel

Rng = np.random.Generator
# None of these changes what is drawn: weights and Metropolis steps are right for any
# proposal. They say how much time is spent on a good one
COMPONENTS, EM_STEPS = 4, 6  # of a fitted mixture: two modes, each with a bend
# of freedom of the proposals: heavier tails than the normal ones of the prior, which
# bound the weights, and still with a kurtosis
DEGREES = 8.0
STEP_SHARE = 0.5  # of the particles stay effective when t rises (Del Moral et al. 2006)
MOST_LEVELS = 300  # of t: 10^10 cases take about 60
RIDGE = 96  # particles in the 3 dimensions of the ridge, four to five a dimension
# proposals at most, of independent and of shared errors, and steps times tests: about
# 1 s of either
MOST, MOST_STEPS = {False: 60_000, True: 12_000}, 504
REFIT = 6  # steps after which the mixture is fitted again: each kind of step twice
NEAR = (0.3, 0.6, 0.9)  # b: one step in three is short, middling, almost a new draw
EPS = 1e-4  # of a numerical slope: errors of rounding and of curvature are both 1e-8
FAR = 6.5  # farthest place of a climb: Phi(-6.5) is 4e-11, one in 10^10 cases


@final
@dataclass(frozen=True, repr=False)
class Diagnostics(Record):
    """Can the draws be trusted?

    Attributes
    ----------
    converged, message : bool, str
        Whether there are as many effective draws as were asked for, and in words.
    effective : float
        How many independent draws these are worth.
    parameter, mcse : array
        Names of the parameters; Monte-Carlo standard error of each posterior mean.
    proposals : int
        Points at which the likelihood was evaluated for the draws.
    log_evidence, log_evidence_sd : float
        Log probability of the data under model and prior, with its Monte-Carlo error.
        NaN where the labels alone answer.
    """

    converged: bool
    message: str
    effective: float
    parameter: Array
    mcse: Floats
    proposals: int
    log_evidence: float = np.nan
    log_evidence_sd: float = np.nan


class Mixture(NamedTuple):
    """Normal components: shares, means, roots of the covariances and their inverses."""

    share: Floats  # (G,)
    mean: Floats  # (G, d)
    root: Floats  # (G, d, d)
    inverse: Floats


def sample(
    model: LatentModel, draws: int, rng: Rng, start: Floats | None = None
) -> tuple[Floats, Diagnostics]:
    """Draw coordinates, (rows, d), and say how far they can be trusted.

    ``start`` is the mean of independent errors, where a search of shared ones begins.
    """
    if start is None:
        first = fit(_found(model, 400 + 30 * model.dim, rng), rng)
    else:
        first = _ridge(model, start, rng)
    number, most = (4 if model.shared else 2) * draws, MOST[model.shared]
    # a first pool teaches the proposal what the particles, which are few, did not
    v, weight = _proposed(model, first, 2000 + 100 * model.dim, rng)
    family = resample(_truncated(weight), min(number, len(v)), rng)
    if model.shared:
        taught = _polished(model, v[family], family, np.inf, REFIT, rng)[0]
        # half of the proposals stay with the ridge (defensive: Hesterberg 1995)
        both = zip(first, fit(taught, rng), strict=True)
        share, *rest = (np.concatenate(part) for part in both)
        mixture = Mixture(share / 2, *rest)
    else:
        mixture = fit(v[family], rng)
    v, weight = _proposed(model, mixture, 4000, rng)
    # choosing rows adds the noise of as many rows: twice the draws are needed
    while (found := kish(_truncated(weight))) < 2 * draws and len(v) < most:
        stop_if_requested()
        wanted = 1.1 * (2 * draws / found - 1) * len(v)
        size = min(max(wanted, 1000), most - len(v), 4 * len(v))
        more = _proposed(model, mixture, int(size), rng)
        v, weight = np.vstack([v, more[0]]), np.concatenate([weight, more[1]])
    family = rng.permutation(resample(_truncated(weight), number, rng))
    rows = v[family]
    if model.shared:  # proposals near one particle of the ridge have it in common
        family = _log_density(first, rows)[1].argmax(axis=0)
    enough = 0.9 * draws  # nobody sees a tenth
    most = max(MOST_STEPS // len(model.patterns.names), 3 * REFIT)
    rows, worth, mcse, tried = _polished(model, rows, family, enough, most, rng)
    return rows, Diagnostics(
        worth >= enough,
        f"{worth:,.0f} effective draws of the {draws:,} asked for",
        worth,
        np.array(model.labels),
        mcse,
        len(v) + tried,
        *_bridge(model, rows, mixture, weight),
    )


def _polished(
    model: LatentModel, v: Floats, family: Array, draws: float, most: int, rng: Rng
) -> tuple[Floats, float, Floats, int]:
    """Let rows take Metropolis steps until they are worth so many draws.

    Those of shared errors take some in any case: their weights are the less reliable.
    Rows of a family have their first ancestor in common (Lee, Whiteley 2018).
    """
    step, least = 0, min(3 * REFIT, most) * model.shared
    start, ratio, n = _standardised(model, v), np.zeros(0), len(v)
    order = np.argsort(family, kind="stable")
    first = np.flatnonzero(np.diff(family[order], prepend=-1))
    before = (np.add.reduceat(start[order], first) ** 2).sum(axis=0) / n**2
    while True:
        stop_if_requested()
        kept = np.maximum((start * _standardised(model, v)).mean(axis=0), 0)
        # of means, over that of parameters; steps are reversible, so that of what was
        # before they keep the correlation at twice as many, which is less (Geyer 1992),
        # but for the mixture, which adapts to all rows
        variance = kept * before + (1 - kept) / n
        worth = 1 / float(variance.max())
        if step >= most or (step >= least and worth >= draws):
            sd = np.hstack(list(model.natural(v).values())).std(axis=0)
            return v, worth, sd * np.sqrt(variance), step * n
        ratio = ratio if ratio.size else model.log_ratio(v)
        v, ratio = _moved(model, v, ratio, 1.0, REFIT // 3, rng)
        step += REFIT


def _standardised(model: LatentModel, v: Floats) -> Floats:
    """Give the parameters of rows, with mean 0 and variance 1."""
    flat = np.hstack(list(model.natural(v).values()))
    sd = np.maximum(flat.std(axis=0), 1e-300)
    return np.asarray((flat - flat.mean(axis=0)) / sd)


def _bridge(
    model: LatentModel, rows: Floats, mixture: Mixture, proposed: Floats
) -> tuple[float, float]:
    """Give the log evidence and its standard error.

    Meng and Wong's optimal bridge between draws and proposals, iterated: its terms are
    bounded, whatever the weights are.
    """
    few = rows[:: max(len(rows) // 4000, 1)]
    drawn = model.log_ratio(few) + _log_normal(few) - _log_density(mixture, few)[0]
    top, share = float(np.median(drawn)), len(few) / (len(few) + proposed.size)
    a, b = (np.exp(np.clip(x - top, -600, 600)) for x in (drawn, proposed))
    r = 1.0
    for _ in range(200):
        stop_if_requested()
        up, down = b / (share * b + (1 - share) * r), 1 / (share * a + (1 - share) * r)
        r, before = float(up.mean() / down.mean()), r
        if abs(np.log(r / before)) < 1e-8:
            break
    error = sum(float(x.var() / x.mean() ** 2 / x.size) for x in (up, down))
    return top + float(np.log(r)), float(np.sqrt(error))


def kish(log_weight: Floats) -> float:
    """How many equal weights are these worth (Kish 1965)?"""
    w = np.exp(log_weight - log_weight.max())
    return float(w.sum() ** 2 / (w * w).sum())


def resample(log_weight: Floats, n: int, rng: Rng) -> Array:
    """Choose n points by their weights, systematically: least extra noise."""
    w = np.exp(log_weight - log_weight.max())
    edges = np.cumsum(w) / w.sum()
    even = (rng.random() + np.arange(n)) / n
    return np.asarray(np.minimum(np.searchsorted(edges, even), w.size - 1))


def _truncated(log_weight: Floats) -> Floats:
    """Let no weight of N exceed root N times their mean (Ionides 2008)."""
    mean = logsumexp(log_weight) - np.log(log_weight.size)
    return np.asarray(np.minimum(log_weight, mean + np.log(log_weight.size) / 2))


def _proposed(
    model: LatentModel, mixture: Mixture, n: int, rng: Rng
) -> tuple[Floats, Floats]:
    """Draw points of the mixture, and give the logarithms of their weights."""
    v = _draws(mixture, n, rng)
    return v, model.log_ratio(v) + _log_normal(v) - _log_density(mixture, v)[0]


def _log_normal(v: Floats) -> Floats:
    return np.asarray(-(v**2).sum(axis=1) / 2 - v.shape[1] * np.log(2 * np.pi) / 2)


State = TypeVar("State", bound=tuple[Floats, ...])
Peaks = tuple[Floats, Floats, Floats]  # places (n, d), log densities, information


def _raised(
    words: str,
    state: State,
    ratio: Callable[[State], Floats],
    move: Callable[[State, float], State],
    rng: Rng,
) -> State:
    """Raise t from 0 to 1, no faster than enough particles count; they follow."""
    t = 0.0
    with progress(words, 1, unit="") as came_by:
        for _ in range(MOST_LEVELS):
            log_r, rest = ratio(state), 1.0 - t
            enough = STEP_SHARE * log_r.size
            step = bisect(lambda s: kish(s * log_r) >= enough, 0.0, rest)  # noqa: B023
            t = 1.0 if step == rest else t + float(step)
            # a particle of one t, weighted for the next: the ratio to the power by
            # which t rose
            at = resample(float(step) * log_r, log_r.size, rng)
            state = move(tuple(part[at] for part in state), t)  # type: ignore[arg-type]
            came_by(float(step))
            if t == 1.0:
                break
    return state


def _found(model: LatentModel, n: int, rng: Rng) -> Floats:
    """Find the posterior, also where it is a needle: 10^9 cases, one in 10^6 positive.

    Particles move there from the normal distribution. In a needle they follow a wide
    mode that ends as the lower one. So some points climb; where a peak is higher than
    all particles by more than a peak is anyway, about half the dimension, it is taken
    with its own width.
    """
    v = rng.standard_normal((n, model.dim))
    v, ratio = _raised(
        "From prior to posterior",
        (v, model.log_ratio(v)),
        lambda x: x[1],
        lambda x, t: _moved(model, *x, t, 1, rng),
        rng,
    )
    start, free = rng.standard_normal((64, model.dim)), np.arange(model.dim)
    peaks = _climbed(model, np.vstack([start, v[:64]]), free, 60)
    best = int(_laplace(peaks, free).argmax())
    place, value, information = (part[best] for part in peaks)
    if value < (ratio + _log_normal(v)).max() + model.dim:
        return v
    root = np.linalg.inv(np.linalg.cholesky(information)).T
    return np.asarray(place + rng.standard_normal(v.shape) @ root.T)


def _moved(
    model: LatentModel, v: Floats, ratio: Floats, t: float, rounds: int, rng: Rng
) -> tuple[Floats, Floats]:
    """Take Metropolis steps with every particle: near by, anywhere and near by."""
    mixture = fit(v, rng)
    for move in (_nearby, _anywhere, _nearby) * rounds:
        new, factor = move(v, mixture, rng)
        there = model.log_ratio(new)
        gain = t * (there - ratio) + _log_normal(new) - _log_normal(v) + factor
        accept = np.log(rng.random(len(v))) < gain
        v = np.where(accept[:, None], new, v)
        ratio = np.where(accept, there, ratio)
    return v, ratio


def _anywhere(v: Floats, mixture: Mixture, rng: Rng) -> tuple[Floats, Floats]:
    """Propose points of the mixture, and give the density there over that here."""
    new = _draws(mixture, len(v), rng)
    return new, _log_density(mixture, v)[0] - _log_density(mixture, new)[0]


def _nearby(v: Floats, mixture: Mixture, rng: Rng) -> tuple[Floats, Floats]:
    """Propose steps around a component, chosen by how likely a point is of it.

    The step is reversible with respect to the density |x - m|^-d, in units of the
    component (Kamatani 2018); the chances to choose it enter as those of a mixture.
    """
    n, d = v.shape
    _, chance, square = _log_density(mixture, v)
    g = (np.cumsum(chance, axis=0) < rng.random(n)).sum(axis=0)
    g, all_ = np.minimum(g, len(mixture.share) - 1), np.arange(n)
    b = rng.choice(NEAR, size=n)[:, None]
    width = np.sqrt(square[g, all_] / rng.chisquare(d, n))[:, None]
    z = np.empty_like(v)
    for k, root in enumerate(mixture.root):
        z[g == k] = rng.standard_normal((int((g == k).sum()), d)) @ root.T
    mean = mixture.mean[g]
    new = mean + np.sqrt(1 - b**2) * (v - mean) + b * width * z
    _, there, farther = _log_density(mixture, new)
    factor = d / 2 * np.log(farther[g, all_] / np.maximum(square[g, all_], 1e-300))
    with np.errstate(divide="ignore"):
        return new, factor + np.log(there[g, all_]) - np.log(chance[g, all_])


def fit(v: Floats, rng: Rng) -> Mixture:
    """Fit a mixture of normals, by steps of expectation and maximisation.

    Points are whitened first. A covariance leans on that of all points by d + 2 cases
    (the conjugate prior of Fraley and Raftery 2007), so that none is singular.
    """
    d, middle = v.shape[1], v.mean(axis=0)
    root = np.linalg.cholesky(_covariance(v))
    back = np.linalg.inv(root)
    z = (v - middle) @ back.T
    far = [z[rng.integers(len(z))]]  # each point begins with the nearest of a few far
    for _ in range(COMPONENTS - 1):  # ones (k-means++)
        near = np.min([((z - c) ** 2).sum(axis=1) for c in far], axis=0) + 1e-12
        far.append(z[rng.choice(len(z), p=near / near.sum())])
    nearest = np.argmin([((z - c) ** 2).sum(axis=1) for c in far], axis=0)
    chance = np.asarray(np.eye(COMPONENTS)[nearest].T)
    for _ in range(EM_STEPS):
        stop_if_requested()
        weight = chance.sum(axis=1) + 1e-9
        mean = chance @ z / weight[:, None]
        roots = np.empty((COMPONENTS, d, d))
        for k in range(COMPONENTS):
            x = z - mean[k]
            cov = (x * chance[k][:, None]).T @ x + COMPONENTS ** (-2 / d) * np.eye(d)
            roots[k] = np.linalg.cholesky(cov / (weight[k] + 2 * d + 4))
        inverse = np.asarray(np.linalg.inv(roots))
        mixture = Mixture(weight / weight.sum(), mean, roots, inverse)
        _, chance, _ = _log_density(mixture, z, np.inf)
    return Mixture(
        mixture.share,
        middle + mixture.mean @ root.T,
        root @ mixture.root,
        mixture.inverse @ back,
    )


def _draws(mixture: Mixture, n: int, rng: Rng) -> Floats:
    """Draw from the components, stretched to Student t."""
    d = mixture.mean.shape[1]
    ends = np.cumsum(rng.multinomial(n, mixture.share))
    stretch = np.sqrt(DEGREES / rng.chisquare(DEGREES, (n, 1)))
    z = rng.standard_normal((n, d)) * stretch
    parts = np.split(z, ends[:-1])  # views, one of each component
    for part, mean, root in zip(parts, mixture.mean, mixture.root, strict=True):
        part[:] = mean + part @ root.T
    return np.asarray(rng.permutation(z))


def _log_density(
    mixture: Mixture, v: Floats, degrees: float = DEGREES
) -> tuple[Floats, Floats, Floats]:
    """Give the log density, the chance of each component, and squared distances.

    (n,), (G, n) and (G, n); of Student t, or of normals with infinite degrees.
    """
    d = v.shape[1]
    both = zip(mixture.mean, mixture.inverse, strict=True)
    square = np.stack([(((v - m) @ i.T) ** 2).sum(axis=1) for m, i in both])
    size = np.log(np.diagonal(mixture.root, axis1=1, axis2=2)).sum(axis=1)
    if np.isinf(degrees):
        height = -square / 2 - d * np.log(2 * np.pi) / 2
    else:
        height = -(degrees + d) / 2 * np.log1p(square / degrees)
        height += gammaln((degrees + d) / 2) - gammaln(degrees / 2)
        height -= d / 2 * np.log(degrees * np.pi)
    height += (np.log(np.maximum(mixture.share, 1e-300)) - size)[:, None]
    top = height.max(axis=0)
    chance = np.exp(height - top)
    total = chance.sum(axis=0)
    return top + np.log(total), chance / total, square


def _laplace(peaks: Peaks, free: Array) -> Floats:
    """Give the log density of what is held, the rest integrated by Laplace."""
    _, value, information = peaks
    size = np.linalg.slogdet(information[:, free[:, None], free])[1]
    return np.asarray(value - size / 2 + free.size / 2 * np.log(2 * np.pi))


def _slope(peaks: Peaks, given: Array, free: Array) -> Floats:
    """How do the most probable accuracies move with what is held? (n, free, held)"""
    info, a = peaks[2], free[:, None]
    return np.asarray(-np.linalg.solve(info[:, a, free], info[:, a, given]))


def _ridge(model: LatentModel, start: Floats, rng: Rng) -> Mixture:
    """Walk along prevalence and spreads, and put a component at every particle."""
    d, sites = model.dim, len(model.patterns.populations)
    given, free = np.r_[np.arange(sites), d - 2, d - 1], np.arange(sites, d - 2)

    def held(peaks: Peaks) -> Floats:
        return _log_normal(peaks[0][:, given])

    def walk(peaks: Peaks, t: float) -> Peaks:
        """Take a Metropolis step in what is held; the accuracies follow."""
        new = peaks[0].copy()
        root = np.linalg.cholesky(_covariance(new[:, given]))
        step = rng.standard_normal((RIDGE, given.size)) @ root.T
        along = np.einsum("nah,nh->na", _slope(peaks, given, free), step)
        new[:, given] += step
        new[:, free] += np.clip(along, -2, 2)
        other = _climbed(model, np.clip(new, -FAR, FAR), free, 4)
        gain = t * (_laplace(other, free) - _laplace(peaks, free))
        gain += (1 - t) * (held(other) - held(peaks))
        yes = np.log(rng.random(RIDGE)) < gain
        (v, value, info), (u, worth, more) = other, peaks
        return (
            np.where(yes[:, None], v, u),
            np.where(yes, value, worth),
            np.where(yes[:, None, None], info, more),
        )

    v = np.zeros((RIDGE, d))
    v[:, : start.size] = np.clip(start, -3, 3)
    v[:, given] = rng.standard_normal((RIDGE, given.size))
    peaks = _raised(
        "Along the ridge of shared errors",
        _climbed(model, v, free, 12),
        lambda x: _laplace(x, free) - held(x),
        walk,
        rng,
    )
    # a component of each peak, as wide as a kernel along what is held: Silverman's rule
    h, a = given[:, None], free[:, None]
    wide = (4 / (given.size + 2) / RIDGE) ** (2 / (given.size + 4))
    kernel = _covariance(peaks[0][:, given]) * wide
    slope, cov = _slope(peaks, given, free), np.empty((RIDGE, d, d))
    across = slope @ kernel
    cov[:, h, given] = kernel
    cov[:, a, given], cov[:, h, free] = across, across.swapaxes(1, 2)
    inner = np.linalg.inv(peaks[2][:, a, free])
    cov[:, a, free] = inner + across @ slope.swapaxes(1, 2)
    root = np.asarray(np.linalg.cholesky(cov))
    share = np.full(RIDGE, 1 / RIDGE)
    return Mixture(share, peaks[0], root, np.asarray(np.linalg.inv(root)))


def _covariance(v: Floats) -> Floats:
    whole = np.atleast_2d(np.cov(v.T))
    # correlations of 1, as of a particle that was chosen again and again, have no root
    return np.asarray(whole + np.diag(1e-9 * np.diag(whole) + 1e-16))


def _climbed(model: LatentModel, v: Floats, free: Array, steps: int) -> Peaks:
    """Climb to the most probable accuracies: Fisher's scoring, damped (Marquardt)."""
    v, damp, size = v.copy(), np.full(len(v), 1e-3), free.size
    value, slope, information = _slopes(model, v)
    for _ in range(steps):
        stop_if_requested()
        inner = information[:, free[:, None], free]
        more = damp[:, None, None] * np.einsum("nii->ni", inner)[:, :, None]
        step = np.linalg.solve(inner + more * np.eye(size), slope[:, free, None])
        step = step[..., 0]
        step *= np.minimum(1, 1.5 / np.maximum(np.abs(step).max(axis=1), 1e-9))[:, None]
        on = np.flatnonzero((step * slope[:, free]).sum(axis=1) > 0.02)
        if not on.size:  # nobody gains a hundredth of a log unit
            break
        new = v[on]
        new[:, free] = np.clip(new[:, free] + step[on], -FAR, FAR)
        found = _slopes(model, new)
        up = found[0] > value[on]
        at = on[up]
        v[at], damp[at] = new[up], damp[at] / 4
        value[at], slope[at], information[at] = (x[up] for x in found)
        damp[on[~up]] = np.maximum(8 * damp[on[~up]], 0.05)
    return v, value, information


def _slopes(model: LatentModel, v: Floats) -> tuple[Floats, Floats, Floats]:
    """Give the log density, its slope and the information, by numerical slopes.

    The information weighs a cell by its cases, half those seen and half those expected.
    """
    n, d = v.shape
    points = np.concatenate([v[:, None], v[:, None] + EPS * np.eye(d)], axis=1)
    prior, log_p = model.log_cells(points.reshape(-1, d))
    prior, log_p = prior.reshape(n, d + 1), log_p.reshape(n, d + 1, -1)
    slope = (log_p[:, 1:] - log_p[:, :1]) / EPS
    _, counts, total = model.patterns.cells
    value = prior[:, 0] + log_p[:, 0] @ counts + _log_normal(v)
    weight = (counts + total * np.exp(log_p[:, 0])) / 2
    information = (slope * weight[:, None]) @ slope.swapaxes(1, 2) + np.eye(d)
    return value, slope @ counts + (prior[:, 1:] - prior[:, :1]) / EPS - v, information
