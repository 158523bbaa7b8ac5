"""How good is each classifier, when nobody knows the truth? Their agreement tells.

If classifiers err independently within the classes, only the truth makes their ranks
covary (``moments``). More precise where little is known, at the price of the
Fermi-Dirac form, is the likelihood of the ranks: its EM steps weigh each case by
FiDEL's probability and solve eqs. 3 and 4 for the weighted ranks.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import final

import numpy as np
from scipy.special import expit

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import (
    DoubtfulAssumptionWarning,
    NotConvergedWarning,
    NotEnoughCases,
)
from trueness._core.checks.words import listing
from trueness._core.records import Estimate, Record
from trueness.counts.answers import of_panel
from trueness.counts.values import Panel
from trueness.ensembles.moments import Moments, Ranked
from trueness.fermi.distribution import finite_lines
from trueness.inference.estimates import estimate_from_interval
from trueness.inference.intervals import wilson_interval

# below this chance of moments so far from independence, a warning is given
_DOUBT = 0.001
# an interval of an AUC wider than this is remarked upon
_WIDE = 0.3


@final
@dataclass(frozen=True, repr=False)
class Agreement(Record):
    """What does the agreement of classifiers say about them?

    Attributes
    ----------
    auc, prevalence : mapping from name to Estimate, and Estimate
        Area under the ROC curve of each classifier, and the share of positives.
    misfit : float
        The p-value of independent errors (and of the prevalence, where one was given).
        Near 0, the estimates cannot be trusted. NaN for three classifiers, which cannot
        contradict each other.
    method, n, converged
        "covariance" or "likelihood", the cases, and whether the iteration converged.
    """

    auc: Mapping[str, Estimate]
    prevalence: Estimate
    misfit: float
    method: str
    n: int
    converged: bool
    notes: tuple[str, ...] = ()


@of_panel
def agreement(
    data: Panel,
    *,
    prevalence: float | None = None,
    method: str = "covariance",
    level: float = 0.95,
) -> Agreement:
    r"""How good is each classifier, and how common is the condition, without labels?

    .. math:: \mathrm{E}[x_i x_j] = \rho (1 - \rho) D_i D_j, \qquad
              \mathrm{E}[x_i x_j x_k] = \rho (1 - \rho) (1 - 2 \rho) D_i D_j D_k

    for centred rank shares x, AUC = 1/2 + D and the prevalence rho (Parisi et al. 2014,
    doi:10.1073/pnas.1219097111; Ahsen et al. 2019, JMLR 20(166)). Two things are
    assumed that unlabelled data cannot show: that errors are independent within the
    classes (partly checked by ``misfit``; below 0.001 there is a
    ``DoubtfulAssumptionWarning``), and that most of the classifiers are better than
    chance, which decides the common sign. An interval contains the values at which the
    moments are not too far from those of the data, and all of [0, 1] where the
    agreement is no more than expected by chance; for "likelihood" it is joined with the
    sandwich interval.

    Parameters
    ----------
    data
        At least three classifiers on the same cases. Labels are not used.
    prevalence
        Share of positives, if it is known: then only the AUCs are estimated.
    method
        "covariance": from the covariances and third moments of the ranks, whatever the
        distribution of the scores. "likelihood": starting from that estimate, the
        maximum likelihood under Fermi-Dirac ranks, which is more precise where this
        model is nearly true (prevalence near one half) and biased where it is not.

    Examples
    --------
    >>> from trueness.counts.resampling import simulate_panel
    >>> p = simulate_panel(20000, 8000, {"A": 0.9, "B": 0.8, "C": 0.7, "D": 0.6}, rng=1)
    >>> found = agreement(p.without_labels())
    >>> round(found.auc["A"].value, 1), round(found.prevalence.value, 1)
    (0.9, 0.4)
    """
    _options.choice(method, ("likelihood", "covariance"), "method")
    level = _options.fraction(level, "level")
    if prevalence is not None:
        prevalence = _options.fraction(prevalence, "prevalence")
    if len(data.names) < 3:
        raise NotEnoughCases(
            "agreement needs at least 3 classifiers; there are "
            f"{listing(data.names)}. With one or two, agreement alone cannot tell how "
            "good each is."
        )
    if data.n < 2:
        raise NotEnoughCases(f"agreement needs at least 2 cases; found {data.n}.")
    ranked = Ranked(data)
    apart = np.argwhere(np.triu(ranked.seen.T.astype(np.float64) @ ranked.seen == 0, 1))
    if apart.size:
        a, b = (data.names[k] for k in apart[0])
        raise NotEnoughCases(
            "agreement needs cases with an output of both, for every pair of "
            f"classifiers; {a!r} and {b!r} have none in common. Leave one of them out."
        )
    m = Moments(ranked, prevalence)
    found, converged = _from_moments(m, level), True
    if prevalence is not None:
        found[[0, 2, 3], 0] = prevalence
    if method == "likelihood":
        found, converged = _joined(ranked, found, level, fixed=prevalence is not None)
    misfit = m.chance_of_misfit()
    _warn(misfit, converged)
    rate, *each = [
        estimate_from_interval(v, a, b, level, method, s)
        for v, s, a, b in found.T.tolist()
    ]
    areas = dict(zip(data.names, each, strict=True))
    rare = data.n * min(rate.value, 1 - rate.value)
    notes = _notes(areas, rare, misfit, method)
    return Agreement(areas, rate, misfit, method, ranked.n, converged, notes)


def _from_moments(m: Moments, level: float) -> Floats:
    """Give prevalence and AUCs, errors, and both ends: (4, K + 1)."""
    quantile = NormalDist().inv_cdf((1 + level) / 2) ** 2
    ends = np.array([m.interval(k, quantile) for k in range(m.value.size)])
    if m.chance_of_nothing() > 1 - level:  # no agreement beyond chance: nothing known
        ends[m.free] = [-np.inf, np.inf]
    rho, sd = float(expit(m.value[0])), m.standard_errors()
    sd[0] *= rho * (1 - rho)
    low, high = (
        np.append(expit(e[0]), np.clip(e[1:], -0.5, 0.5) + 0.5) for e in ends.T
    )
    return np.stack([np.append(rho, m.value[1:] + 0.5), sd, low, high])


def _joined(
    ranked: Ranked, start: Floats, level: float, *, fixed: bool
) -> tuple[Floats, bool]:
    """Maximise the likelihood; join its intervals with those of the moments."""
    value, covariance, converged = _likelihood(ranked, start[0], fixed=fixed)
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    z = NormalDist().inv_cdf((1 + level) / 2)
    at = np.append(value[0], value[1:] + 0.5)
    low, high = np.clip(at - z * sd, 0, 1), np.clip(at + z * sd, 0, 1)
    # Wilson's interval of the prevalence, at as many cases as its variance is worth
    rho, error = float(at[0]), float(sd[0])
    n = rho * (1 - rho) / error**2 if error > 0 else math.inf
    low[0], high[0] = wilson_interval(rho, n, z)
    low, high = np.minimum(low, start[2]), np.maximum(high, start[3])
    if fixed:
        low[0] = high[0] = at[0]
    return np.stack([at, sd, low, high]), converged


def _likelihood(
    ranked: Ranked, start: Floats, *, fixed: bool
) -> tuple[Floats, Floats, bool]:
    """Climb to the maximum by EM and Newton steps on its fixed point."""
    x, seen, cases, size, n = ranked.x, ranked.seen, ranked.cases, ranked.size, ranked.n

    def inside(value: Floats) -> Floats:
        """Keep AUCs, and a prevalence that is not given, off 0 and 1."""
        d = np.clip(value[1:], 1 / n - 0.5, 0.5 - 1 / n)
        return np.append(value[0] if fixed else np.clip(value[0], 1 / n, 1 - 1 / n), d)

    def weights(value: Floats) -> Floats:
        """How likely is each case positive? FiDEL with these parameters."""
        rho = float(value[0])
        beta, llr, centre = finite_lines(size, size * rho, 0.5 + value[1:])
        # rank = n (1/2 - x) + 1/2
        height = llr - beta * (size / 2 + 0.5 - centre)
        total = x @ (beta * size) + seen @ height
        return np.asarray(expit(math.log(rho / (1 - rho)) + total))

    def step_of(value: Floats) -> Floats:
        """Weigh each case, then take prevalence and AUCs of the weighted cases."""
        weight = weights(value)
        up, down = cases * weight, cases * (1 - weight)
        mean = [(c @ x) / np.maximum(c @ seen, 1e-300) for c in (up, down)]
        rho = value[0] if fixed else up.sum() / cases.sum()
        return np.concatenate([[rho], mean[0] - mean[1]])

    def by_entry(value: Floats, image: Floats, k: int) -> Floats:
        """Differentiate the EM step numerically, inwards where the edge is near."""
        moved, middle = value.copy(), 0.5 if k == 0 else 0.0
        # away from 0 and 1, where the EM step has no value on the other side
        room = min(1e-6, (0.5 - abs(value[k] - middle)) / 2)
        h = room if value[k] < middle else -room
        moved[k] += h
        return np.asarray((step_of(moved) - image) / h)

    value = inside(np.append(start[0], start[1:] - 0.5))
    for _ in range(10):
        value = inside(step_of(value))
    converged, one = False, np.eye(value.size)
    for _ in range(50):
        image = step_of(value)
        slope = np.column_stack([by_entry(value, image, k) for k in range(len(value))])
        step = np.linalg.lstsq(one - slope, image - value)[0]
        step[0] *= not fixed
        step *= min(1.0, 0.1 / max(float(np.abs(step).max()), 1e-300))
        new = inside(value + step)
        # 1e-5 is far below any standard error; nearer, a flat likelihood wanders
        converged = bool(np.abs(new - value).max() < 1e-5)
        value = new
        if converged:
            break
    # what a case adds to the prevalence, and to the difference of the class means
    weight, parts = weights(value), []
    for case in (weight, 1 - weight):
        count = np.maximum((cases * case) @ seen, 1e-300)
        mean = (cases * case) @ x / count
        parts.append(case[:, None] * seen * (x - mean) / count)
    first = (weight - value[0]) / cases.sum()
    away = np.column_stack([0 * first if fixed else first, parts[0] - parts[1]])
    # at the fixed point an EM step M moves by its own error times (I - M')^-1
    bread = np.linalg.pinv(one - slope)
    return value, bread @ (away.T @ (away * cases[:, None])) @ bread.T, converged


def _warn(misfit: float, converged: bool) -> None:
    if misfit < _DOUBT:
        warnings.warn(
            "The errors of these classifiers do not look independent within the "
            "classes, or the prevalence that was given is wrong (so large a "
            f"deviation has probability {misfit:.1g}), so estimates from agreement "
            "alone are doubtful. Leave out classifiers that are alike, or label some "
            "cases.",
            DoubtfulAssumptionWarning,
            stacklevel=3,
        )
    if not converged:
        warnings.warn(
            "The likelihood of the agreement was not maximised in 50 steps; the record "
            'says converged=False. Try method="covariance".',
            NotConvergedWarning,
            stacklevel=3,
        )


def _notes(
    areas: Mapping[str, Estimate], rare: float, misfit: float, method: str
) -> tuple[str, ...]:
    notes = [
        "Errors are assumed to be independent within the classes; an error that all "
        "classifiers share looks like truth, and unlabelled cases cannot show it.",
        "Most classifiers are assumed to be better than chance; this assumption, and "
        "nothing in the data, decides which class is the positive one.",
    ]
    if misfit < _DOUBT:
        notes.append(
            "The errors of these classifiers do not look independent: see misfit."
        )
    wide = [k for k, e in areas.items() if e.high - e.low > _WIDE]
    if wide and min(e.high - e.low for e in areas.values()) >= 1:
        notes.append(
            "The classifiers agree no more than expected by chance, so these cases "
            "say nothing about AUCs or prevalence. Label some of them, or count more "
            "cases."
        )
    elif wide:
        notes.append(
            f"The AUC of {listing(wide)} is hardly determined: the agreement rests on "
            f"about {rare:,.0f} cases of the rarer class."
        )
    if method == "likelihood":
        notes.append(
            "Ranks are assumed to follow the Fermi-Dirac form, which biases the "
            "estimates where the prevalence is far from one half; the intervals "
            'contain those of method="covariance", which needs no form.'
        )
    return tuple(notes)
