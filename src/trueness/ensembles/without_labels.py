r"""How good is each classifier, when nobody knows the truth? Their agreement tells.

If classifiers err independently within the classes, only the truth makes their ranks
covary, and the covariances and third moments of the ranks give every AUC and the
prevalence, whatever the distribution of the scores (:mod:`trueness.ensembles.moments`).

Parisi et al. 2014, doi:10.1073/pnas.1219097111; Ahsen, Vogel and Stolovitzky 2019,
JMLR 20(166).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple, final

import numpy as np
from scipy.special import expit

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import (
    DoubtfulAssumption,
    NotEnoughCases,
)
from trueness._core.checks.words import listing
from trueness._core.records import Estimate, Record
from trueness.counts.answers import of_panel
from trueness.counts.values import Panel
from trueness.ensembles.moments import (
    Moments,
    Ranked,
    Solution,
    chance_of_misfit,
    chance_of_nothing,
    interval,
    moments,
    nearest,
    standard_errors,
)
from trueness.inference.limits import around

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
    auc : mapping from name to Estimate
        Area under the ROC curve of each classifier.
    prevalence : Estimate
        Share of positives.
    misfit : float
        The p-value of independent errors: the probability, if the errors of the
        classifiers are independent (and the prevalence is the one that was given), of
        ranks that deviate from this as far as these. Near 0, the estimates cannot be
        trusted. NaN for three classifiers, which cannot contradict each other.
    n : int
        Cases.
    notes : tuple of str
        What is assumed, and what these cases leave undecided.
    """

    auc: Mapping[str, Estimate]
    prevalence: Estimate
    misfit: float
    n: int
    notes: tuple[str, ...] = ()


@of_panel
def agreement(
    data: Panel,
    *,
    prevalence: float | None = None,
    level: float = 0.95,
) -> Agreement:
    r"""How good is each classifier, and how common is the condition, without labels?

    .. math:: \mathrm{E}[x_i x_j] = \rho (1 - \rho) D_i D_j, \qquad
              \mathrm{E}[x_i x_j x_k] = \rho (1 - \rho) (1 - 2 \rho) D_i D_j D_k

    for centred rank shares x, AUC = 1/2 + D and the prevalence rho.

    Parameters
    ----------
    data
        At least three classifiers on the same cases. Labels are not used.
    prevalence
        Share of positives, if it is known: then only the AUCs are estimated.

    Warns
    -----
    DoubtfulAssumption
        When the moments are too far from those of classifiers with independent errors
        within the classes (``misfit`` below 0.001).

    Notes
    -----
    Two things are assumed that unlabelled data cannot show: that errors are independent
    within the classes (only partly checked by ``misfit``: an error that all classifiers
    share looks like the truth), and that most of the classifiers are better than
    chance, which decides the common sign. The same scores with the opposite sign have
    the same AUCs and one minus the prevalence. An interval contains the values at which
    the moments are not too far from those of the data, with all other parameters at
    their best fit (see :mod:`trueness.ensembles.moments`): its coverage was 89 to 99 %
    in simulations with a prevalence of 2 to 90 %, and it is all of [0, 1] where the
    agreement is no more than expected by chance. The time is O(m K^2) for m
    rows.

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
    level = _options.fraction(level, "level")
    if prevalence is not None:
        prevalence = _options.fraction(prevalence, "prevalence")
    if len(data.names) < 3:
        raise NotEnoughCases(
            "agreement needs at least 3 classifiers; this panel has "
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
    m = moments(ranked)
    best, held = _nearest(m, ranked, prevalence)
    found = _from_moments(m, best, held, level)
    if prevalence is not None:
        found.at[0] = found.low[0] = found.high[0] = prevalence
    misfit = chance_of_misfit(m, best, held)
    if misfit < _DOUBT:
        warnings.warn(
            "The errors of these classifiers do not look independent within the "
            "classes, or the prevalence that was given is wrong (so large a "
            f"deviation has probability {misfit:.1g}), so estimates from agreement "
            "alone are doubtful. Leave out classifiers that are alike, or label some "
            "cases.",
            DoubtfulAssumption,
            stacklevel=2,
        )
    rows = zip(*(x.tolist() for x in found), strict=True)
    share, *each = [around(v, a, b, level, "covariance", s) for v, s, a, b in rows]
    aucs = dict(zip(data.names, each, strict=True))
    notes = _notes(data.names, m, found, misfit)
    return Agreement(aucs, share, misfit, ranked.n, notes)


class _Agreed(NamedTuple):
    """Prevalence and AUCs, their standard errors and the ends of their intervals."""

    at: Floats
    sd: Floats
    low: Floats
    high: Floats


def _nearest(
    m: Moments, ranked: Ranked, prevalence: float | None
) -> tuple[Solution, frozenset[int]]:
    """Fit the moments; a classifier that says one thing to all has an AUC of 1/2."""
    flat = [1 + k for k, c in enumerate(ranked.columns) if c.score.size < 2]
    held, start = frozenset(flat), m.start.copy()
    start[flat] = 0.0
    if prevalence is not None:
        held |= {0}
        start[0] = math.log(prevalence / (1 - prevalence))
    return nearest(m, start, held), held


def _from_moments(
    m: Moments, best: Solution, held: frozenset[int], level: float
) -> _Agreed:
    quantile = NormalDist().inv_cdf((1 + level) / 2) ** 2
    ends = np.array(
        [interval(m, best, k, quantile, held) for k in range(best.value.size)]
    )
    if chance_of_nothing(m) > 1 - level:  # no agreement beyond chance: nothing is known
        free = [k for k in range(best.value.size) if k not in held]
        ends[free] = [-np.inf, np.inf]
    rho = float(expit(best.value[0]))
    sd = standard_errors(m, best, held)
    sd[0] *= rho * (1 - rho)
    low, high = (
        np.append(expit(e[0]), np.clip(e[1:], -0.5, 0.5) + 0.5) for e in ends.T
    )
    return _Agreed(np.append(rho, best.value[1:] + 0.5), sd, low, high)


def _notes(
    names: tuple[str, ...], m: Moments, f: _Agreed, misfit: float
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
    wide = [k for k, w in zip(names, (f.high - f.low)[1:], strict=True) if w > _WIDE]
    if wide and (f.high - f.low)[1:].min() >= 1:
        notes.append(
            "The classifiers agree no more than expected by chance, so these cases "
            "say nothing about AUCs or prevalence. Label some of them, or count more "
            "cases."
        )
    elif wide:
        rare = m.n * min(f.at[0], 1 - f.at[0])
        notes.append(
            f"The AUC of {listing(wide)} is hardly determined: the agreement rests on "
            f"about {rare:,.0f} cases of the rarer class."
        )
    return tuple(notes)
