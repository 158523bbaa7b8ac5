"""How good is each classifier, when nobody knows the truth? Their agreement tells.

If classifiers err independently within the classes, only the truth makes their ranks
covary (``moments``). More precise where little is known, at the price of the
Fermi-Dirac form, is the likelihood of the ranks: its EM steps weigh each case by
FiDEL's probability and solve eqs. 3 and 4 for the weighted ranks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import NamedTuple, final

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
from trueness._core.figures import html_table
from trueness._core.numbers import p_is
from trueness._core.progress import stop_if_requested
from trueness._core.records import Estimate, Record, first_line_as_html, sketch_of
from trueness._core.warn import warn_user
from trueness.counts.answers import of_panel
from trueness.counts.values import Panel
from trueness.ensembles.moments import RankedPanel, RankMoments
from trueness.fermi.distribution import finite_lines
from trueness.inference.estimates import estimate_from_interval
from trueness.inference.intervals import wilson_interval

# below this probability of moments so far from independence, a warning is given
DOUBTFUL_MISFIT = 0.001
# an interval of an AUC wider than this is remarked upon
WIDE_INTERVAL = 0.3
DEPENDENCE = ("shared", "none")
NOT_IDENTIFIED = "not identified"
EM_STEPS = 10  # before Newton's, which need a start that is not far from the maximum
NEWTON_STEPS = 50


@final
@dataclass(frozen=True, repr=False)
class Agreement(Record):
    """AUCs and prevalence from the agreement of classifiers.

    Attributes
    ----------
    auc, prevalence : mapping from name to Estimate, and Estimate
        Area under the ROC curve of each classifier, and the proportion of positives.
        Where errors may be shared, ranks alone do not determine them: the value is NaN,
        and the interval 0 to 1.
    dependence : str
        "shared", classifiers may make the same errors; "none", errors are independent
        within the classes.
    misfit : float
        The p-value of independent errors (and of the prevalence, if you passed one).
        Near 0 the data contradict independence; errors that all classifiers share are
        not detected. NaN for three classifiers, which cannot contradict each other.
    method, n, converged
        "covariance" or "likelihood", the cases, and whether the iteration converged.
    independent : Agreement or None
        The result if errors were independent; None where independence was assumed.
    """

    auc: Mapping[str, Estimate]
    prevalence: Estimate
    dependence: str
    misfit: float
    method: str
    n: int
    converged: bool
    independent: Agreement | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """One line a classifier, then what must be known."""
        lines = [
            f"Agreement of {len(self.auc)} classifiers on {self.n:,} cases, errors "
            f"{_ERRORS[self.dependence]}"
        ]
        lines += [f"  {name}: {text}" for name, text in self._rows()]
        lines += [f"  Note: {note}" for note in self.notes]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        notes = [(note,) for note in self.notes]
        rows = html_table(("", "agreement"), self._rows())
        table_of_notes = html_table(("notes",), notes)
        return f"{first_line_as_html(self)}{rows}{sketch_of(self)}{table_of_notes}"

    def _rows(self) -> list[tuple[str, str]]:
        """Return a row for the prevalence and for each AUC.

        What is not determined is shown with its value if errors are independent.
        """
        estimates = {"prevalence": self.prevalence}
        estimates |= {f"AUC of {name}": area for name, area in self.auc.items()}
        if self.independent is None:
            return [(name, str(estimate)) for name, estimate in estimates.items()]

        if_independent = [self.independent.prevalence, *self.independent.auc.values()]
        rows = []
        for (name, estimate), independent in zip(
            estimates.items(), if_independent, strict=True
        ):
            text = str(estimate)
            if math.isnan(estimate.value):
                text = f"not determined; {independent} if errors were independent"
            rows.append((name, text))

        return rows


_ERRORS = {"shared": "that may be shared", "none": "independent"}


@of_panel
def agreement(
    data: Panel,
    *,
    prevalence: float | None = None,
    dependence: str = "shared",
    method: str = "covariance",
    level: float = 0.95,
) -> Agreement:
    r"""AUC of each classifier and prevalence, from the agreement of their ranks.

    How good is each classifier, and how common is the condition, without labels? If
    classifiers may make the same errors, ranks alone do not determine the AUC: any
    labels agree with them. ``independent`` then holds the result for independent
    errors:

    .. math:: \mathrm{E}[x_i x_j] = \rho (1 - \rho) D_i D_j, \qquad
              \mathrm{E}[x_i x_j x_k] = \rho (1 - \rho) (1 - 2 \rho) D_i D_j D_k

    for centred rank proportions x, AUC = 1/2 + D and the prevalence rho (Parisi et al.
    2014, doi:10.1073/pnas.1219097111; Ahsen et al. 2019, JMLR 20(166)). This makes two
    assumptions that unlabelled data cannot confirm. Errors are independent within the
    classes (``misfit`` detects some violations), and most classifiers are better than
    chance, which determines the common sign. An interval contains the values at
    which the moments are not too far from those of the data. It is [0, 1] where the
    agreement is no more than expected by chance. For "likelihood" it is the union with
    the sandwich interval.

    Parameters
    ----------
    data
        At least three classifiers on the same cases. Labels are not used.
    prevalence
        Proportion of positives, if it is known: then only the AUCs are estimated.
    dependence : {"shared", "none"}
        Whether classifiers may make the same errors. With "shared" every estimate is an
        interval without a value, and ``independent`` holds the answer if errors were
        independent. "none" assumes independent errors, and warns
        (``DoubtfulAssumptionWarning``) where ``misfit`` is below 0.001.
    method
        "covariance": from the covariances and third moments of the ranks, whatever the
        distribution of the scores. "likelihood": the maximum likelihood under
        Fermi-Dirac ranks, starting from that estimate. It is more precise where this
        model is nearly true (prevalence near one half), and biased elsewhere.

    Examples
    --------
    >>> from trueness.counts.resampling import simulate_panel
    >>> p = simulate_panel(20000, 8000, {"A": 0.9, "B": 0.8, "C": 0.7, "D": 0.6}, rng=1)
    >>> found = agreement(p.without_labels())
    >>> found.auc["A"].value, found.auc["A"].low, found.auc["A"].high
    (nan, 0.0, 1.0)
    >>> alone = found.independent
    >>> round(alone.auc["A"].value, 1), round(alone.prevalence.value, 1)
    (0.9, 0.4)
    """
    _options.choice(method, ("likelihood", "covariance"), "method")
    _options.choice(dependence, DEPENDENCE, "dependence")
    level = _options.fraction(level, "level")
    if prevalence is not None:
        prevalence = _options.fraction(prevalence, "prevalence")
    _check_enough_outputs(data)
    ranked = RankedPanel(data)
    _check_common_cases(ranked)

    moments = RankMoments(ranked, prevalence)
    parameters = _estimates_from_moments(moments, level)
    if prevalence is not None:
        parameters = _with_known_prevalence(parameters, prevalence)
    converged = True
    if method == "likelihood":
        parameters, converged = _estimates_from_likelihood(
            ranked, parameters, level, prevalence_known=prevalence is not None
        )

    misfit = moments.p_value_of_misfit()
    _warn(misfit if dependence == "none" else math.nan, converged)
    rate, *areas = _as_estimates(parameters, level, method)
    area_by_name = dict(zip(data.names, areas, strict=True))
    cases_of_rarer_class = data.n * min(rate.value, 1 - rate.value)
    independent = Agreement(
        auc=area_by_name,
        prevalence=rate,
        dependence="none",
        misfit=misfit,
        method=method,
        n=ranked.n,
        converged=converged,
        notes=_notes(area_by_name, cases_of_rarer_class, misfit, method),
    )
    if dependence == "none":
        return independent
    return _with_shared_errors(independent, prevalence_known=prevalence is not None)


def _with_shared_errors(independent: Agreement, *, prevalence_known: bool) -> Agreement:
    """Return the agreement without what shared errors leave undetermined.

    Whatever the labels of the cases are, some shared errors explain the ranks. With the
    upper ranks of a classifier as positives its AUC is 1, with the lower ones 0.
    """
    level = independent.prevalence.level
    unknown = estimate_from_interval(math.nan, 0.0, 1.0, level, NOT_IDENTIFIED)
    return replace(
        independent,
        auc=dict.fromkeys(independent.auc, unknown),
        prevalence=independent.prevalence if prevalence_known else unknown,
        dependence="shared",
        independent=independent,
        notes=_notes_on_shared_errors(independent),
    )


def _notes_on_shared_errors(independent: Agreement) -> tuple[str, ...]:
    """Return notes on what is not identified, and on the test of independence."""
    notes = [
        "Not identified: classifiers may make the same errors, so ranks alone do not "
        "determine AUCs or prevalence. Label some cases (50 at random are a good "
        "start), or set dependence to 'none' if errors are known to be independent."
    ]
    if math.isnan(independent.misfit):
        notes.append(
            "Three classifiers cannot show whether errors are independent; four could."
        )
    elif independent.misfit < DOUBTFUL_MISFIT:
        notes.append(
            "The ranks contradict independent errors, or the stated prevalence "
            f"({p_is(independent.misfit)})."
        )
    else:
        notes.append(
            "The ranks do not contradict independent errors "
            f"({p_is(independent.misfit)}), but they cannot show an error that all "
            "classifiers share."
        )

    return tuple(notes)


def _check_enough_outputs(data: Panel) -> None:
    """Refuse fewer than three classifiers, or fewer than two cases."""
    if len(data.names) < 3:
        raise NotEnoughCases(
            "agreement needs at least 3 classifiers; there are "
            f"{listing(data.names)}. With one or two, agreement alone cannot tell how "
            "good each is."
        )
    if data.n < 2:
        raise NotEnoughCases(f"agreement needs at least 2 cases; found {data.n}.")


def _check_common_cases(ranked: RankedPanel) -> None:
    """Refuse two classifiers that have no case in common."""
    # (K, K): cases that both classifiers scored
    common_cases = ranked.seen.T.astype(np.float64) @ ranked.seen
    without_common = np.argwhere(np.triu(common_cases == 0, 1))
    if without_common.size:
        i, j = without_common[0]
        first = ranked.names[i]
        second = ranked.names[j]
        raise NotEnoughCases(
            "agreement needs cases scored by both classifiers of every pair; "
            f"{first!r} and {second!r} have none in common. Leave one of them out."
        )


class _BlindParameters(NamedTuple):
    """Prevalence first, then the AUC of each classifier: arrays (K + 1,)."""

    value: Floats
    standard_error: Floats
    low: Floats
    high: Floats


def _as_estimates(
    parameters: _BlindParameters, level: float, method: str
) -> list[Estimate]:
    """Return an estimate of the prevalence, and of each AUC."""
    columns = (column.tolist() for column in parameters)
    return [
        estimate_from_interval(value, low, high, level, method, error)
        for value, error, low, high in zip(*columns, strict=True)
    ]


def _with_known_prevalence(
    parameters: _BlindParameters, prevalence: float
) -> _BlindParameters:
    """Return the parameters with the known prevalence in place of its estimate."""
    return parameters._replace(
        value=np.append(prevalence, parameters.value[1:]),
        low=np.append(prevalence, parameters.low[1:]),
        high=np.append(prevalence, parameters.high[1:]),
    )


def _estimates_from_moments(moments: RankMoments, level: float) -> _BlindParameters:
    """Return estimates and intervals by the distance of the moments."""
    quantile = NormalDist().inv_cdf((1 + level) / 2) ** 2
    ends = np.array([moments.interval(k, quantile) for k in range(moments.value.size)])
    if moments.p_value_of_no_agreement() > 1 - level:
        # no agreement beyond chance: nothing is known
        ends[moments.free] = [-np.inf, np.inf]

    # the moments have the logit of the prevalence, and D = AUC - 1/2
    prevalence = float(expit(moments.value[0]))
    standard_error = moments.standard_errors()
    # delta method: from the logit to the prevalence
    standard_error[0] *= prevalence * (1 - prevalence)
    return _BlindParameters(
        value=np.append(prevalence, moments.value[1:] + 0.5),
        standard_error=standard_error,
        low=_on_natural_scale(ends[:, 0]),
        high=_on_natural_scale(ends[:, 1]),
    )


def _on_natural_scale(ends: Floats) -> Floats:
    """Return prevalence and AUCs for a logit and values of D, within 0 to 1."""
    return np.append(expit(ends[0]), np.clip(ends[1:], -0.5, 0.5) + 0.5)


def _estimates_from_likelihood(
    ranked: RankedPanel,
    from_moments: _BlindParameters,
    level: float,
    *,
    prevalence_known: bool,
) -> tuple[_BlindParameters, bool]:
    """Return estimates of maximum likelihood, and whether it converged.

    The intervals also contain those of the moments.
    """
    mixture = _RankMixture(ranked, prevalence_known)
    maximum = _maximise(mixture, from_moments.value)
    covariance = _sandwich_covariance(mixture, maximum)

    quantile = NormalDist().inv_cdf((1 + level) / 2)
    # the parameters are the prevalence, and each AUC less 1/2
    value = np.append(maximum.value[0], maximum.value[1:] + 0.5)
    standard_error = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    # Wald's intervals within [0, 1]; that of the prevalence is Wilson's
    low = np.clip(value - quantile * standard_error, 0, 1)
    high = np.clip(value + quantile * standard_error, 0, 1)
    low[0], high[0] = _interval_of_prevalence(
        float(value[0]), float(standard_error[0]), quantile
    )

    low = np.minimum(low, from_moments.low)
    high = np.maximum(high, from_moments.high)
    if prevalence_known:
        low[0] = high[0] = value[0]
    return _BlindParameters(value, standard_error, low, high), maximum.converged


def _interval_of_prevalence(
    prevalence: float, standard_error: float, quantile: float
) -> tuple[float, float]:
    """Return Wilson's interval at the effective number of cases."""
    sample_size = math.inf
    if standard_error > 0:
        # the number of cases for which a proportion has this standard error
        sample_size = prevalence * (1 - prevalence) / standard_error**2
    return wilson_interval(prevalence, sample_size, quantile)


@dataclass(frozen=True)
class _RankMixture:
    """Two classes whose ranks follow Fermi-Dirac curves; parameters (rho, D)."""

    ranked: RankedPanel
    prevalence_known: bool


@dataclass(frozen=True)
class _Maximum:
    """Where the likelihood is largest: (rho, D), and the slope of the EM step there."""

    value: Floats
    em_slope: Floats
    converged: bool


def _maximise(mixture: _RankMixture, start: Floats) -> _Maximum:
    """Return the maximum, by EM steps and then Newton steps on their fixed point."""
    value = _inside(mixture, np.append(start[0], start[1:] - 0.5))
    for _ in range(EM_STEPS):
        value = _inside(mixture, _em_step(mixture, value))

    identity = np.eye(value.size)
    converged = False
    for _ in range(NEWTON_STEPS):
        image = _em_step(mixture, value)
        slope = _em_slope(mixture, value, image)
        # Newton on M(x) - x = 0: (I - M') step = M(x) - x
        step = np.linalg.lstsq(identity - slope, image - value)[0]
        if mixture.prevalence_known:
            step[0] = 0.0
        # no parameter moves by more than a tenth at once
        step *= min(1.0, 0.1 / max(float(np.abs(step).max()), 1e-300))

        previous = value
        value = _inside(mixture, previous + step)
        # 1e-5 is far below any standard error; nearer, a flat likelihood wanders
        converged = bool(np.abs(value - previous).max() < 1e-5)
        if converged:
            break

    return _Maximum(value, slope, converged)


def _inside(mixture: _RankMixture, value: Floats) -> Floats:
    """Return parameters with AUCs and an unknown prevalence kept away from 0 and 1."""
    n = mixture.ranked.n
    prevalence = value[0]
    if not mixture.prevalence_known:
        prevalence = np.clip(prevalence, 1 / n, 1 - 1 / n)
    return np.append(prevalence, np.clip(value[1:], 1 / n - 0.5, 0.5 - 1 / n))


def _positive_probability(mixture: _RankMixture, value: Floats) -> Floats:
    """Return the probability of a positive for each case, as FiDEL gives it."""
    ranked = mixture.ranked
    reference_sizes = ranked.reference_sizes
    prevalence = float(value[0])
    areas = 0.5 + value[1:]
    beta, llr, centre = finite_lines(
        reference_sizes, reference_sizes * prevalence, areas
    )

    # rank = n (1/2 - x) + 1/2, so that each line has this height at x = 0
    height = llr - beta * (reference_sizes / 2 + 0.5 - centre)
    slope = beta * reference_sizes
    # L of each case: slopes times ranks, and the heights of the outputs that it has
    evidence = ranked.centred_ranks @ slope + ranked.seen @ height
    prior_log_odds = math.log(prevalence / (1 - prevalence))
    return np.asarray(expit(prior_log_odds + evidence))


def _em_step(mixture: _RankMixture, value: Floats) -> Floats:
    """Return the parameters of the cases, weighted by their class probabilities."""
    stop_if_requested()
    ranked = mixture.ranked
    probability = _positive_probability(mixture, value)
    positive_cases = ranked.cases * probability
    negative_cases = ranked.cases * (1 - probability)

    prevalence = value[0]
    if not mixture.prevalence_known:
        prevalence = positive_cases.sum() / ranked.cases.sum()
    # eqs 3 and 4: D is the difference of the mean ranks of both classes
    mean_of_positives = _mean_rank(ranked, positive_cases)
    mean_of_negatives = _mean_rank(ranked, negative_cases)
    return np.concatenate([[prevalence], mean_of_positives - mean_of_negatives])


def _mean_rank(ranked: RankedPanel, cases: Floats) -> Floats:
    """Return the mean centred rank of weighted cases, by classifier."""
    outputs = np.maximum(cases @ ranked.seen, 1e-300)
    return np.asarray((cases @ ranked.centred_ranks) / outputs)


def _em_slope(mixture: _RankMixture, value: Floats, image: Floats) -> Floats:
    """Return numerical derivatives of the EM step, taken away from 0 and 1."""
    columns = []
    for parameter in range(value.size):
        middle = 0.5 if parameter == 0 else 0.0
        # away from 0 and 1, where the EM step has no value on the other side
        distance = min(1e-6, (0.5 - abs(value[parameter] - middle)) / 2)
        if value[parameter] >= middle:
            distance = -distance
        moved = value.copy()
        moved[parameter] += distance
        # one column for each parameter: a one-sided difference
        columns.append((_em_step(mixture, moved) - image) / distance)

    return np.column_stack(columns)


def _sandwich_covariance(mixture: _RankMixture, maximum: _Maximum) -> Floats:
    """Return the sandwich covariance, which holds for ranks of any distribution."""
    ranked = mixture.ranked
    prevalence = maximum.value[0]
    probability = _positive_probability(mixture, maximum.value)

    # what a case adds to the prevalence, and to the difference of the class means
    on_prevalence = (probability - prevalence) / ranked.cases.sum()
    if mixture.prevalence_known:
        on_prevalence = np.zeros_like(on_prevalence)

    on_positive_mean = _influence_on_mean(ranked, probability)
    on_negative_mean = _influence_on_mean(ranked, 1 - probability)
    influence = np.column_stack([on_prevalence, on_positive_mean - on_negative_mean])

    # at the fixed point an EM step M moves by its own error times (I - M')^-1
    bread = np.linalg.pinv(np.eye(maximum.value.size) - maximum.em_slope)
    return bread @ (influence.T @ (influence * ranked.cases[:, None])) @ bread.T


def _influence_on_mean(ranked: RankedPanel, probability: Floats) -> Floats:
    """Return what each case adds to the mean rank of a class, (m, K)."""
    cases = ranked.cases * probability
    outputs = np.maximum(cases @ ranked.seen, 1e-300)
    mean_rank = cases @ ranked.centred_ranks / outputs
    # (m, K)
    deviation = ranked.centred_ranks - mean_rank
    return np.asarray(probability[:, None] * ranked.seen * deviation / outputs)


def _warn(misfit: float, converged: bool) -> None:
    """Warn of doubtful independence, and of a likelihood that was not maximised."""
    if misfit < DOUBTFUL_MISFIT:
        warn_user(
            "The data contradict independent errors, or the stated prevalence "
            f"(p-value {misfit:.1g}), so estimates from agreement alone are doubtful. "
            "Leave out similar classifiers, or label some cases.",
            DoubtfulAssumptionWarning,
        )

    if not converged:
        warn_user(
            "The likelihood did not converge in 50 steps. Use the method covariance, "
            "which needs no iteration.",
            NotConvergedWarning,
        )


def _notes(
    areas: Mapping[str, Estimate],
    cases_of_rarer_class: float,
    misfit: float,
    method: str,
) -> tuple[str, ...]:
    """Return notes on the assumptions, and on what is poorly determined."""
    notes = [
        "Errors are assumed to be independent within each class. Unlabelled cases "
        "cannot show an error that all classifiers share.",
        "Most classifiers are assumed to be better than chance. Only this assumption "
        "determines which class is the positive one.",
    ]
    if misfit < DOUBTFUL_MISFIT:
        notes.append(
            "The errors of these classifiers do not look independent: see misfit."
        )

    notes += _notes_on_wide_intervals(areas, cases_of_rarer_class)
    if method == "likelihood":
        notes.append(
            "Ranks are assumed to follow the Fermi-Dirac form, which biases the "
            "estimates if the prevalence is far from one half. The intervals contain "
            "those of the method covariance, which does not assume it."
        )

    return tuple(notes)


def _notes_on_wide_intervals(
    areas: Mapping[str, Estimate], cases_of_rarer_class: float
) -> list[str]:
    """Return a note on AUCs that are poorly determined, or on all of them."""
    widths = {name: area.high - area.low for name, area in areas.items()}
    wide = [name for name, width in widths.items() if width > WIDE_INTERVAL]
    if not wide:
        return []
    if min(widths.values()) >= 1:
        return [
            "The classifiers agree no more than expected by chance, so these cases "
            "do not determine AUCs or prevalence. Label some cases, or collect more."
        ]

    return [
        f"The AUC of {listing(wide)} is poorly determined: the agreement rests on "
        f"about {cases_of_rarer_class:,.0f} cases of the rarer class."
    ]
