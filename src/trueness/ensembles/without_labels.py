r"""How good is each classifier, when nobody knows the truth? Their agreement tells.

If classifiers err independently within the classes, only the truth makes their ranks
covary. With x the centred share of cases that rank below and D = AUC - 1/2,

.. math:: \mathrm{cov}(x_i, x_j) = \rho (1 - \rho) D_i D_j = v_i v_j, \qquad
          \mathrm{E}[x_i x_j x_k] = s\, v_i v_j v_k, \qquad
          s = \frac{1 - 2\rho}{\sqrt{\rho (1 - \rho)}}.

Off its diagonal the covariance has rank one: it gives v. The third moment gives s, so
the prevalence (1 - s / sqrt(4 + s^2)) / 2, and AUC = 1/2 + v sqrt(4 + s^2).

That holds for any distribution. More precise, at the price of the Fermi-Dirac form, is
the likelihood of the ranks: its EM steps are "weigh each case by FiDEL's probability"
and "solve eqs. 3 and 4 for the weighted ranks", so at the maximum FiDEL agrees with
itself.

Parisi et al. 2014, doi:10.1073/pnas.1219097111; Ahsen, Vogel and Stolovitzky 2019,
JMLR 20(166).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple, final

import numpy as np
from scipy.special import expit, gammaincc

from trueness._core.arrays import Floats, blocks
from trueness._core.checks import options as _options
from trueness._core.checks.errors import DoubtfulAssumption, NotConverged
from trueness._core.records import Estimate, Record
from trueness.counts.answers import of_panel
from trueness.counts.values import Panel
from trueness.ensembles._checks import common_cases, several_classifiers
from trueness.ensembles.rank_tables import rank_columns, rank_table
from trueness.fermi.distribution import finite_line

# below this chance of so large a deviation from rank one, a warning is given
_DOUBT = 0.001


@final
@dataclass(frozen=True, repr=False)
class Agreement(Record):
    """What does the agreement of classifiers say about them?

    Attributes
    ----------
    auc : mapping from name to Estimate
        Area under the ROC curve of each classifier.
    prevalence : Estimate
        Share of positives.
    misfit : float
        How likely, if the classifiers err independently, are covariances that deviate
        from rank one as far as these: near 0 the estimates cannot be trusted. NaN for
        three classifiers, which cannot contradict each other.
    method : str
        "likelihood" or "covariance".
    n : int
        Cases.
    converged : bool
        Whether the iteration reached its goal.
    """

    auc: Mapping[str, Estimate]
    prevalence: Estimate
    misfit: float
    method: str
    n: int
    converged: bool


@of_panel
def agreement(
    panel: Panel,
    *,
    prevalence: float | None = None,
    method: str = "likelihood",
    level: float = 0.95,
) -> Agreement:
    r"""How good is each classifier and how common the condition, without any label?

    Parameters
    ----------
    panel
        At least three classifiers on the same cases. Labels are not looked at.
    prevalence
        Share of positives, if it is known: then only the AUCs are estimated.
    method
        "covariance": from the covariance and the third moment of the ranks, whatever
        their distribution. "likelihood": from there to the maximum likelihood of
        Fermi-Dirac ranks, more precise for weak, few or imbalanced classifiers.
    level
        Confidence level of the intervals.

    Warns
    -----
    DoubtfulAssumption
        When the covariances are too far from rank one for classifiers that err
        independently within the classes (``misfit`` below 0.001).

    Notes
    -----
    Two things are taken for granted, and cannot be seen in unlabelled data: that errors
    are independent within the classes (only partly checked by ``misfit``: an error that
    all share alike looks like truth), and that most of the classifiers are better than
    chance, which decides the common sign. The intervals are large-sample ones (delta
    method, sandwich). Cost: O(m K^2) for m rows.

    References
    ----------
    Parisi F, Strino F, Nadler B, Kluger Y (2014). PNAS 111:1253,
    doi:10.1073/pnas.1219097111. Ahsen ME, Vogel RM, Stolovitzky GA (2019). JMLR
    20(166):1-40.

    Examples
    --------
    >>> from trueness.counts.simulation import simulate_panel
    >>> p = simulate_panel(20000, 8000, {"A": 0.9, "B": 0.8, "C": 0.7, "D": 0.6}, rng=1)
    >>> found = agreement(p.hide())
    >>> round(found.auc["A"].value, 1), round(found.prevalence.value, 1)
    (0.9, 0.4)
    """
    _options.choice(method, ("likelihood", "covariance"), "method")
    level = _options.fraction(level, "level")
    if prevalence is not None:
        prevalence = _options.fraction(prevalence, "prevalence")
    several_classifiers(panel, 3, "agreement")
    ranked = _Ranked(panel)
    common_cases(panel.names, ranked.seen, "agreement")
    m = _moments(ranked, prevalence)
    found = m.start
    if method == "likelihood":
        found = _likelihood(ranked, m.start, fixed=prevalence is not None)
    if m.misfit < _DOUBT:
        _warn(m.misfit)
    return _record(panel.names, ranked.n, found, m.misfit, method, level)


class _Found(NamedTuple):
    """Estimates (prevalence, then AUC - 1/2 of each) and their covariance."""

    value: Floats
    covariance: Floats
    converged: bool = True


class _Ranked:
    """Centred ranks x (m, K), 0 where missing, with their mask and weights."""

    def __init__(self, panel: Panel) -> None:
        self.cases = (panel.neg + panel.pos + panel.unknown).astype(np.float64)
        self.n = panel.n
        columns = rank_columns(panel.rows, panel.neg + panel.pos + panel.unknown)
        self.size = np.array([max(float(c.cases.sum()), 2.0) for c in columns])
        rank = rank_table(columns)
        self.seen = ~np.isnan(rank)
        self.x = np.where(self.seen, 0.5 - (rank - 0.5) / self.size, 0.0)


class _Moments(NamedTuple):
    start: _Found
    misfit: float


def _moments(ranked: _Ranked, prevalence: float | None) -> _Moments:
    """Estimate from covariance and third moment, with the delta method."""
    k = ranked.x.shape[1]
    i, j = np.triu_indices(k, 1)
    weight = ranked.cases / ranked.cases.sum()
    share = (ranked.seen * weight[:, None]).T @ ranked.seen.astype(np.float64)
    together = (ranked.x * weight[:, None]).T @ ranked.x / np.maximum(share, 1e-300)
    v = _rank_one(together)
    third, third_share = _third(ranked.x * v), _third(ranked.seen * (v * v))
    top, under = float(weight @ third), float(weight @ third_share)
    s = _skewness(prevalence) if prevalence is not None else _ratio(top, under)
    spread = _spread(ranked, weight, together, share, third, (i, j)) / ranked.n
    to_v, to_residual = _rank_one_jacobian(together, v, (i, j))
    misfit = _misfit(together[i, j] - v[i] * v[j], to_residual, spread[:-1, :-1])
    by_v = np.hstack([to_v, np.zeros((k, 1))])
    by_s = np.zeros(len(i) + 1)
    if prevalence is None and under > 0:
        # d(top/under): top moves with its own mean, under with v
        by_s = -s / under * _third_gradient(v * v, v) @ by_v
        by_s[-1] += 1 / under
    scale = math.sqrt(4 + s * s)
    jacobian = np.vstack(
        [-2 / scale**3 * by_s, scale * by_v + np.outer(v * s / scale, by_s)]
    )
    value = np.concatenate([[(1 - s / scale) / 2], np.clip(v * scale, -0.5, 0.5)])
    return _Moments(_Found(value, jacobian @ spread @ jacobian.T), misfit)


def _skewness(rho: float) -> float:
    return (1 - 2 * rho) / math.sqrt(rho * (1 - rho))


def _ratio(top: float, under: float) -> float:
    # without agreement there is no third moment either: half and half
    return top / under if under > 0 else 0.0


def _third(u: Floats) -> Floats:
    """Sum u_i u_j u_k over the triples i < j < k of each row."""
    a, b, c = u.sum(axis=1), (u**2).sum(axis=1), (u**3).sum(axis=1)
    return np.asarray((a**3 - 3 * a * b + 2 * c) / 6)


def _third_gradient(u: Floats, v: Floats) -> Floats:
    """Differentiate the triples' sum of u = w v by v, the weights w = v being fixed."""
    others = u.sum() - u
    return np.asarray(v * (others**2 - ((u**2).sum() - u**2)) / 2)


def _rank_one(together: Floats) -> Floats:
    """Which v has v_i v_j nearest to the covariances off the diagonal?"""
    c = together.copy()
    np.fill_diagonal(c, 0.0)
    start = c + np.diag(np.abs(c).max(axis=1))
    value, vector = np.linalg.eigh(start)
    v = vector[:, -1] * math.sqrt(max(value[-1], 0.0))
    for _ in range(2000):
        before = v.copy()
        for i in range(len(v)):
            square = float(v @ v) - v[i] ** 2
            v[i] = c[i] @ v / square if square > 0 else 0.0
        if np.abs(v - before).max() <= 1e-13 * np.abs(v).max(initial=1e-300):
            break
    # the common sign: most classifiers are better than chance
    return np.asarray(-v if v.sum() < 0 else v)


def _rank_one_jacobian(
    c: Floats, v: Floats, pairs: tuple[Any, Any]
) -> tuple[Floats, Floats]:
    """How do v and the residuals follow the covariances of the pairs?"""
    i, j = pairs
    k, at = len(v), np.arange(len(i))
    by_c = np.zeros((k, len(i)))
    by_c[i, at], by_c[j, at] = v[j], v[i]
    by_v = c - 2 * np.outer(v, v)
    np.fill_diagonal(by_v, -(float(v @ v) - v * v))
    to_v = -np.linalg.pinv(by_v) @ by_c
    fitted = np.zeros((len(i), k))
    fitted[at, i], fitted[at, j] = v[j], v[i]
    return to_v, np.eye(len(i)) - fitted @ to_v


def _spread(
    ranked: _Ranked,
    weight: Floats,
    together: Floats,
    share: Floats,
    third: Floats,
    pairs: tuple[Any, Any],
) -> Floats:
    """Give the covariance, over cases, of the pairs' products and the triples' sum."""
    i, j = pairs
    total = np.zeros((len(i) + 1,) * 2)
    mean, top = together[i, j], float(weight @ third)
    for b in blocks(len(weight), 1 << 13):
        x, seen = ranked.x[b], ranked.seen[b]
        product = (x[:, i] * x[:, j] - mean) * (seen[:, i] & seen[:, j])
        away = np.column_stack([product / share[i, j], third[b] - top])
        total += away.T @ (away * weight[b, None])
    return total


def _misfit(residual: Floats, maker: Floats, spread: Floats) -> float:
    """How likely are residuals as large as these, if rank one is the truth?

    The sum of squares of correlated residuals is taken as a scaled chi-square with the
    right mean and variance (Satterthwaite).
    """
    if len(residual) <= 3:
        return math.nan
    expected = maker @ spread @ maker.T
    mean, half_var = float(np.trace(expected)), float((expected**2).sum())
    if mean <= 0 or half_var <= 0:
        return math.nan
    freedom = mean**2 / half_var
    return float(
        gammaincc(freedom / 2, float(residual @ residual) / mean * freedom / 2)
    )


def _likelihood(ranked: _Ranked, start: _Found, *, fixed: bool) -> _Found:
    """Climb to the maximum by EM and Newton steps on its fixed point."""
    inside = 1 / ranked.n
    value = _inside(start.value, inside)
    for _ in range(10):
        value = _inside(_em(ranked, value, fixed=fixed), inside)
    converged = False
    slope = np.zeros((value.size,) * 2)
    for _ in range(50):
        image = _em(ranked, value, fixed=fixed)
        slope = _slope(ranked, value, image, fixed=fixed)
        step = np.linalg.lstsq(np.eye(value.size) - slope, image - value)[0]
        step *= min(1.0, 0.1 / max(float(np.abs(step).max()), 1e-300))
        new = _inside(value + step, inside)
        # 1e-5 is far below any standard error; nearer, a flat likelihood wanders
        converged = bool(np.abs(new - value).max() < 1e-5)
        value = new
        if converged:
            break
    bread = np.linalg.pinv(np.eye(value.size) - slope)
    covariance = bread @ _influence(ranked, value, fixed=fixed) @ bread.T
    return _Found(value, covariance, converged)


def _inside(value: Floats, margin: float) -> Floats:
    value = np.clip(value, margin - 0.5, 0.5 - margin)
    value[0] = np.clip(value[0], margin, 1 - margin)
    return value


def _weights(ranked: _Ranked, value: Floats) -> Floats:
    """How likely is each case positive? FiDEL with these parameters."""
    rho, d = float(value[0]), value[1:]
    lines = [
        finite_line(n, n * rho, 0.5 + a) for n, a in zip(ranked.size, d, strict=True)
    ]
    beta, llr, centre = np.array(lines).T
    # rank = n (1/2 - x) + 1/2
    height = llr - beta * (ranked.size / 2 + 0.5 - centre)
    total = ranked.x @ (beta * ranked.size) + ranked.seen @ height
    return np.asarray(expit(math.log(rho / (1 - rho)) + total))


def _em(ranked: _Ranked, value: Floats, *, fixed: bool) -> Floats:
    """Weigh each case, then take prevalence and AUCs of the weighted cases."""
    weight = _weights(ranked, value)
    up, down = ranked.cases * weight, ranked.cases * (1 - weight)
    mean = [(c @ ranked.x) / np.maximum(c @ ranked.seen, 1e-300) for c in (up, down)]
    rho = value[0] if fixed else up.sum() / ranked.cases.sum()
    return np.concatenate([[rho], mean[0] - mean[1]])


def _slope(ranked: _Ranked, value: Floats, image: Floats, *, fixed: bool) -> Floats:
    """Differentiate the EM step numerically."""
    columns = []
    for k in range(value.size):
        moved = value.copy()
        h = 1e-6 if value[k] < 0.4 else -1e-6
        h = min(h, value[0] / 2) if k == 0 else h
        moved[k] += h
        columns.append((_em(ranked, moved, fixed=fixed) - image) / h)
    return np.column_stack(columns)


def _influence(ranked: _Ranked, value: Floats, *, fixed: bool) -> Floats:
    """Give the covariance of one EM step from these parameters, over samples."""
    weight = _weights(ranked, value)
    parts = []
    for case in (weight, 1 - weight):
        count = np.maximum((ranked.cases * case) @ ranked.seen, 1e-300)
        mean = (ranked.cases * case) @ ranked.x / count
        parts.append(case[:, None] * ranked.seen * (ranked.x - mean) / count)
    first = (weight - value[0]) / ranked.cases.sum()
    away = np.column_stack([0 * first if fixed else first, parts[0] - parts[1]])
    return np.asarray(away.T @ (away * ranked.cases[:, None]))


def _warn(misfit: float) -> None:
    warnings.warn(
        f"These classifiers do not look independent within the classes (a deviation "
        f"from rank one as large as this has probability {misfit:.1g}): AUCs and "
        f"prevalence from agreement alone are doubtful. Leave out classifiers that are "
        f"alike, or label some cases.",
        DoubtfulAssumption,
        stacklevel=3,
    )


def _record(
    names: tuple[str, ...], n: int, f: _Found, misfit: float, method: str, level: float
) -> Agreement:
    z = NormalDist().inv_cdf((1 + level) / 2)
    sd = np.sqrt(np.maximum(np.diag(f.covariance), 0.0))
    if not f.converged:
        warnings.warn(
            "The likelihood of the agreement was not maximised in 50 steps; the record "
            'says converged=False. Try method="covariance".',
            NotConverged,
            stacklevel=3,
        )
    auc = {}
    for name, d, e in zip(names, f.value[1:], sd[1:], strict=True):
        value, half = 0.5 + float(d), z * float(e)
        low, high = max(0.0, value - half), min(1.0, value + half)
        auc[name] = Estimate(value, low, high, level, method, float(e))
    return Agreement(
        auc,
        _prevalence(f.value[0], sd[0], z, level, method),
        misfit,
        method,
        n,
        f.converged,
    )


def _prevalence(rho: float, sd: float, z: float, level: float, method: str) -> Estimate:
    """Give an interval on the logit scale, so that it stays between 0 and 1."""
    rho = float(rho)
    if not 0 < rho < 1:
        return Estimate(rho, 0.0, 1.0, level, method, float(sd))
    logit, half = math.log(rho / (1 - rho)), z * float(sd) / (rho * (1 - rho))
    low, high = (float(expit(logit + h)) for h in (-half, half))
    return Estimate(rho, low, high, level, method, float(sd))
