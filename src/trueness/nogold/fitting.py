"""How good is each test, and how common is the condition, when nobody knows the truth?

Errors may be shared (``model``), or are said to be independent; labels that are known
answer by themselves (``verdicts``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotConvergedWarning
from trueness._core.numbers import percent
from trueness._core.records import Estimate
from trueness._core.warn import warn_user
from trueness.counts.answers import of_panel
from trueness.nogold.identification import identification
from trueness.nogold.model import LatentModel, read_model
from trueness.nogold.patterns import (
    Patterns,
    only_value,
    parameter_labels,
    pattern_word,
    read_patterns,
)
from trueness.nogold.posterior import (
    LatentPosterior,
    summary_of_draws,
)
from trueness.nogold.sampling import Diagnostics, sample
from trueness.nogold.verdict_regression import (
    draw_joint_proportions,
    regressors_by_design,
)
from trueness.nogold.verdicts import LABELLED, center_verdicts, proportion_with_vote

Rng = np.random.Generator
DEPENDENCE = ("shared", "none")
MAX_CASES = 10**10  # beyond, a posterior is a needle that no sampler finds in seconds
# effective draws of the model with shared errors, whose likelihood is an integral: a
# fortieth of those asked for is enough for its wide intervals
DRAWS_PER_SHARED_DRAW = 40
LEAST_SHARED_DRAWS = 100
ENOUGH_LABELS = 5  # of each class, from which on they determine the answer
SWAPPED_PROPORTION = 0.01  # of draws on the other side, at which classes swap names
STRONG_EVIDENCE = 3.0  # log of a Bayes factor of 20, "strong" (Kass, Raftery 1995)
LARGEST_SHOWN = 50.0  # log Bayes factor; beyond, "more than" is said
TINY = 1e-300  # in place of a denominator of 0


@of_panel
def latent_class(
    data: Any,
    *,
    prior: Mapping[str, Any] | None = None,
    dependence: str = "shared",
    labelled: str = "random",
    draws: int = 10_000,
    ordered: bool = True,
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
) -> LatentPosterior:
    r"""Accuracy of tests and prevalence without a gold standard: latent classes.

    How good is each test, and how common is the condition, if the truth is unknown?

    .. math:: P(x) = \phi\, E \prod_k \alpha_k(z)^{x_k} (1 - \alpha_k(z))^{1 - x_k}
            + (1 - \phi)\, E \prod_k \beta_k(z)^{x_k} (1 - \beta_k(z))^{1 - x_k}

    with z the ease of a case, a normal effect that all tests share in a class (Qu, Tan,
    Kutner 1996, doi:10.2307/2533043; without it Keith, Davey, Boyd 2012,
    doi:10.1186/1471-2105-13-179): docs/maths/nogold.md.

    Parameters
    ----------
    data
        A panel of 0/1 votes of K >= 2 classifiers; NaN is a test that was not run. A
        mapping from name to panel gives each population its own prevalence, with common
        accuracies (Hui, Walter 1980).
    prior
        Beta distributions, ``{"prevalence": (a, b), "sensitivity": {"A": (a, b)}}``:
        one pair for all, or a mapping by name; uniform where nothing is named.
    dependence : {"shared", "none"}
        Whether classifiers may make the same errors. With "shared", votes alone do
        not determine the answer: every estimate is an interval without a value, and
        ``identified`` is False. ``independent`` holds the answer if errors were
        independent. "none" assumes independent errors.
    labelled : {"random", "by verdict"}
        How the cases whose label is known were chosen: at random, or by their votes.
        Labels determine the answer, whatever the dependence of errors, with the same
        number as :func:`trueness.prevalence`. With ``prior``, several populations, or
        dependence="none" they enter the likelihood instead.
    draws
        Effective number of posterior draws if errors are independent; a fortieth of it
        if they may be shared. A ``NotConvergedWarning`` warning says when there are
        fewer.
    ordered
        Whether alpha_k >= beta_k is certain. Without it the classes may be
        interchanged: a note says when they are.

    Examples
    --------
    All labels known, uniform priors, no order: Beta(1 + 3, 1 + 1) has the mean 4/6.

    >>> from trueness import Panel
    >>> p = Panel(["A", "B"], [[1, 1], [0, 1], [0, 0]], pos=[3, 1, 0], neg=[0, 0, 4])
    >>> post = latent_class(p, dependence="none", ordered=False, rng=1)
    >>> round(post.sensitivity["A"].value, 2)
    0.67
    """
    patterns = read_patterns(data)
    cases = int(patterns.total.sum())
    if cases > MAX_CASES:
        raise InputError(
            f"latent_class takes up to {MAX_CASES:,} cases; found {cases:,}. With so "
            "many cases sampling error is negligible: divide all counts by "
            f"{10 ** len(str(cases // MAX_CASES)):,}; the answer stays the same."
        )

    _options.choice(dependence, DEPENDENCE, "dependence")
    _options.choice(labelled, LABELLED[:2], "labelled")
    draws = _options.whole_number(draws, "draws", at_least=100)
    level = _options.fraction(level, "level")
    rng = _options.generator(rng)

    model = read_model(patterns, prior, ordered)
    labels_suffice = prior is None and len(patterns.populations) == 1
    if dependence == "shared" and labels_suffice and any(patterns.labels):
        return _fit_by_labels(model, labelled, draws, level, rng)
    if dependence == "none":
        return _fit_and_test_independence(model, draws, level, rng)
    return fit_latent_classes(model, dependence, draws, level, rng)


def fit_latent_classes(
    model: LatentModel, dependence: str, draws: int, level: float, rng: Rng
) -> LatentPosterior:
    """Fit the model, with independent errors first: the others start from there."""
    coordinates, diagnostics = sample(model, draws, rng)
    independent = _summarize(model, coordinates, diagnostics, level)
    if dependence == "none":
        return independent

    shared_model = replace(model, shared=True)
    # the search for shared errors begins where independent ones are most probable
    start = coordinates.mean(axis=0)
    coordinates, diagnostics = sample(shared_model, _shared_draws(draws), rng, start)
    shared = _summarize(shared_model, coordinates, diagnostics, level)
    log_bayes_factor = diagnostics.log_evidence - independent.diagnostics.log_evidence
    note = _note_on_shared_errors(shared, independent, log_bayes_factor)

    return replace(
        shared,
        independent=independent,
        log_bayes_factor=log_bayes_factor,
        notes=(note, *shared.notes),
    )


def _fit_and_test_independence(
    model: LatentModel, draws: int, level: float, rng: Rng
) -> LatentPosterior:
    """Fit independent errors, and say whether the votes contradict them."""
    coordinates, diagnostics = sample(model, draws, rng)
    independent = _summarize(model, coordinates, diagnostics, level)
    if not independent.identified:  # so few tests cannot contradict anything
        return independent

    shared_model = replace(model, shared=True)
    start = coordinates.mean(axis=0)
    _, of_shared = sample(shared_model, _shared_draws(draws), rng, start)
    log_bayes_factor = of_shared.log_evidence - diagnostics.log_evidence
    assumed = "Errors are assumed to be independent."
    notes = (f"{assumed} {_evidence(log_bayes_factor)}", *independent.notes)

    return replace(independent, log_bayes_factor=log_bayes_factor, notes=notes)


def _shared_draws(draws: int) -> int:
    """Return how many effective draws the model with shared errors gets."""
    return max(draws // DRAWS_PER_SHARED_DRAW, LEAST_SHARED_DRAWS)


def _summarize(
    model: LatentModel, coordinates: Floats, diagnostics: Diagnostics, level: float
) -> LatentPosterior:
    """Summarise draws, and say what a reader must know."""
    if not diagnostics.converged:
        warn_user(f"latent_class: {diagnostics.message}.", NotConvergedWarning)

    notes = []
    if model.shared:
        # with shared errors only labels of both classes determine the answer
        identified = min(model.patterns.labels) >= ENOUGH_LABELS
    else:
        table = identification(model.patterns)
        identified = table.complete
        if not identified:
            notes.append(
                f"Not identified: {table.parameters} parameters, but the data have "
                f"{table.degrees_of_freedom} degrees of freedom and determine "
                f"{table.rank} combinations of them. The prior determines the rest, "
                "however many cases there are."
            )

    notes += _notes_on_constant_votes(model.patterns)
    parameters = model.natural(coordinates)
    if not model.ordered:
        notes += _notes_on_swapped_classes(parameters)

    return _posterior(
        model,
        parameters,
        diagnostics,
        dependence="shared" if model.shared else "none",
        identified=identified,
        notes=notes,
        level=level,
    )


def _notes_on_swapped_classes(parameters: Mapping[str, Floats]) -> list[str]:
    """Return a note if 'positive' means 'negative' in some draws."""
    youden = parameters["sensitivity"] + parameters["specificity"] - 1
    swapped = float(np.mean(youden.sum(axis=1) < 0))
    if swapped < SWAPPED_PROPORTION:
        return []

    return [
        f"The two classes are interchanged in {100 * swapped:.0f} % of the draws "
        "(label switching), so means over all draws are meaningless. Set an order "
        "constraint or an informative prior."
    ]


def _notes_on_constant_votes(patterns: Patterns) -> list[str]:
    """Return a note on classifiers that give the same vote to all cases."""
    notes = []
    for name, column in zip(patterns.names, patterns.rows.T, strict=True):
        vote = only_value(column)
        if np.isfinite(vote):
            notes.append(
                f"{name} votes {vote:.0f} in every case, so its estimates depend on "
                "the prior and on the other classifiers."
            )

    return notes


def _posterior(
    model: LatentModel | FromLabels,
    parameters: dict[str, Floats],
    diagnostics: Diagnostics,
    *,
    dependence: str,
    identified: bool,
    notes: Sequence[str],
    level: float,
) -> LatentPosterior:
    """Write a posterior down; what votes alone do not determine has no value."""
    has_value = identified or dependence != "shared"
    patterns = model.patterns

    def estimates(parameter: str, names: Sequence[str]) -> Mapping[str, Estimate]:
        """Return the estimate of each name from the draws of a parameter."""
        columns = zip(names, parameters[parameter].T, strict=True)
        return MappingProxyType(
            {
                name: summary_of_draws(draws, level, known=has_value)
                for name, draws in columns
            }
        )

    prevalence_by_population = estimates("prevalence", patterns.populations)
    prevalence: Mapping[str, Estimate] | Estimate = prevalence_by_population
    if len(patterns.populations) == 1:  # a single population has no name
        prevalence = prevalence_by_population[patterns.populations[0]]

    return LatentPosterior(
        prevalence=prevalence,
        sensitivity=estimates("sensitivity", patterns.names),
        specificity=estimates("specificity", patterns.names),
        dependence=dependence,
        identified=identified,
        log_bayes_factor=np.nan,
        independent=None,
        notes=tuple(notes),
        diagnostics=diagnostics,
        _flat=MappingProxyType(parameters),
        _level=level,
        _model=model,
    )


@final
@dataclass(frozen=True)
class FromLabels:
    """Any dependence, alike in both classes; one population, with labels."""

    patterns: Patterns
    labelled: str
    shared: ClassVar[bool] = True  # tests may share errors, in any way

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the name of every parameter, with the proportion of each pattern."""
        patterns = [pattern_word(row) for row in self.patterns.rows]
        return (
            *parameter_labels(self.patterns),
            *(f"positive[{pattern}]" for pattern in patterns),
            *(f"negative[{pattern}]" for pattern in patterns),
        )

    def draws(self, rng: Rng) -> tuple[dict[str, Floats], float]:
        """Return draws of all parameters, and their effective number."""
        patterns = self.patterns
        verdicts = center_verdicts(
            patterns.names,
            patterns.rows,
            pos=patterns.pos[0],
            neg=patterns.neg[0],
            unknown=patterns.unknown[0],
        )
        data = regressors_by_design(verdicts, self.labelled)
        joint = draw_joint_proportions(data, rng)
        parameters = {
            "prevalence": joint.positive.sum(axis=1, keepdims=True),
            "sensitivity": self._accuracies(joint.positive, right_vote=1),
            "specificity": self._accuracies(joint.negative, right_vote=0),
            "positive": joint.positive,
            "negative": joint.negative,
        }

        return parameters, joint.effective

    def _accuracies(self, proportions: Floats, right_vote: int) -> Floats:
        """Return how often each test is right in a class, (draws, K).

        Joint proportions are added up over patterns with the right vote and over those
        with any vote, so that rate and accuracies always agree.
        """
        accuracies = [
            proportion_with_vote(proportions, votes, right_vote)
            for votes in self.patterns.rows.T
        ]
        return np.column_stack(accuracies)

    def class_probabilities(
        self, flat: Mapping[str, Floats], rows: Floats
    ) -> tuple[Floats, Floats]:
        """Return the probability of each pattern in positives and in negatives.

        A missing vote of a row is any vote.
        """
        observed = self.patterns.rows
        draws = len(flat["positive"])

        in_positives = np.zeros((draws, len(rows)))
        in_negatives = np.zeros((draws, len(rows)))
        for j, row in enumerate(rows):
            voted = ~np.isnan(row)
            # seen patterns with a vote of each test that this row has
            complete = np.asarray(~np.isnan(observed[:, voted]).any(axis=1))
            equal = (np.nan_to_num(observed[:, voted]) == row[voted]).all(axis=1)
            same = complete & equal
            in_positives[:, j] = _fraction_of(flat["positive"], same, complete)
            in_negatives[:, j] = _fraction_of(flat["negative"], same, complete)

        return in_positives, in_negatives


def _fraction_of(proportions: Floats, patterns: Array, all_patterns: Array) -> Floats:
    """Return the fraction of some patterns among others, in each draw."""
    total = np.maximum(proportions[:, all_patterns].sum(axis=1), TINY)
    return np.asarray(proportions[:, patterns].sum(axis=1) / total)


def _fit_by_labels(
    model: LatentModel, labelled: str, draws: int, level: float, rng: Rng
) -> LatentPosterior:
    """Return the posterior of rate and accuracies from labels; errors of any kind."""
    patterns = model.patterns
    from_labels = FromLabels(patterns, labelled)
    parameters, effective = from_labels.draws(rng)
    effective = min(effective, float(len(parameters["prevalence"])))
    sd = np.hstack(list(parameters.values())).std(axis=0, ddof=1)
    diagnostics = Diagnostics(
        converged=True,
        message=f"{effective:,.0f} effective draws from the labels",
        effective=effective,
        parameter=np.array(from_labels.labels),
        mcse=sd / np.sqrt(effective),
        proposals=len(sd),
    )

    independent = fit_latent_classes(model, "none", draws, level, rng)
    notes = [
        LABELS[labelled].format(independent=_rate(independent)),
        *_notes_on_few_labels(patterns),
        *_notes_on_constant_votes(patterns),
    ]
    posterior = _posterior(
        from_labels,
        parameters,
        diagnostics,
        dependence="labels",
        identified=True,
        notes=notes,
        level=level,
    )

    return replace(posterior, independent=independent)


def _notes_on_few_labels(patterns: Patterns) -> list[str]:
    """Return notes on accuracies with few labelled cases of their class."""
    positives, negatives = patterns.labels
    of_classes = (
        ("positive", "sensitivity", positives),
        ("negative", "specificity", negatives),
    )

    return [
        f"Only {labels:.0f} of the labels are {word}, so the {accuracy} is poorly "
        "known."
        for word, accuracy, labels in of_classes
        if labels < ENOUGH_LABELS
    ]


LABELS = {
    how: "Rate and accuracies come from the labels; nothing is assumed about the "
    f"errors of the classifiers. The labelled cases are assumed to be chosen {word}. "
    "If errors were independent, the rate would be {independent}."
    for how, word in (("random", "at random"), ("by verdict", "by their votes only"))
}


def _rate(post: LatentPosterior) -> str:
    """Write the prevalence, of the first population."""
    prevalence = next(iter(post.estimates.values()))
    low = percent(prevalence.low)
    high = percent(prevalence.high)
    if post.open:
        return f"between {low} and {high}"
    return f"{percent(prevalence.value)} ({low} to {high})"


def _note_on_shared_errors(
    shared: LatentPosterior, independent: LatentPosterior, log_bayes_factor: float
) -> str:
    """Return what shared errors change, and which model the votes prefer."""
    name = shared.names[0]
    populations = shared.populations
    where = f" in {populations[0]}" if len(populations) > 1 else ""
    warning = "" if shared.identified else NOT_IDENTIFIED
    prior = ""

    if not independent.identified:  # not even then would votes be enough
        warning = warning.replace(OR_INDEPENDENT, "")
        prior = ", from the prior"

    sensitivity = shared.sensitivity[name]
    return (
        f"{warning}If classifiers may make the same errors, the prevalence{where} is "
        f"{_rate(shared)}, and the sensitivity of {name} between "
        f"{percent(sensitivity.low)} and {percent(sensitivity.high)}. "
        f"If errors were independent, they would be {_rate(independent)} and "
        f"{percent(independent.sensitivity[name].value)}{prior}. "
        f"{_evidence(log_bayes_factor)}"
    )


def _evidence(log_bayes_factor: float) -> str:
    """Return a sentence on the model that the votes prefer, and by how much."""
    size = abs(log_bayes_factor)
    over = "more than " if size > LARGEST_SHOWN else ""
    factor = np.exp(min(size, LARGEST_SHOWN))
    more = f"{over}{factor:,.3g} times"

    if log_bayes_factor > STRONG_EVIDENCE:
        return (
            f"The votes contradict independent errors: they are {more} as probable "
            "if errors may be shared."
        )

    if log_bayes_factor < -STRONG_EVIDENCE:
        return (
            f"The votes are {more} as probable if errors are independent, but some "
            "shared errors are compatible with them."
        )

    likelier = "may be shared" if log_bayes_factor > 0 else "are independent"
    return (
        "The votes do not clearly distinguish shared from independent errors: they "
        f"are {more} as probable if errors {likelier}."
    )


OR_INDEPENDENT = ", or set dependence to 'none' if errors are known to be independent"
NOT_IDENTIFIED = (
    "Not identified: votes alone do not determine prevalence and accuracies, because "
    "classifiers may make the same errors. Label some cases (50 at random are a good "
    f"start){OR_INDEPENDENT}. "
)
