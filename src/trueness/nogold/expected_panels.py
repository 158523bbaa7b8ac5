"""Expected labels without any label: the posterior of several classifiers.

A posterior of tests, or a FiDEL fit, tells how probable a label is given the outputs of
all classifiers. Of one classifier, or of a combination, it becomes expected counts: the
mean probability of the cases at each score. Both the probabilities and the cases come
from the same sample, so that their errors go together: posterior draws, or a jackknife
over groups of cases, vary the expected positives and negatives of each row at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import described
from trueness._core.imports import HigherFunction
from trueness._core.records import Record
from trueness.counts.cases import keep_rows
from trueness.counts.expected_labels import PROCESS, ExpectedLabels
from trueness.counts.values import Panel, Tally
from trueness.nogold.posterior import LatentPosterior

# draws of a posterior that are kept, and groups of cases that a jackknife leaves out
FIDEL: HigherFunction[Callable[..., Any]] = HigherFunction("fidel")
_DRAWS = 400
_GROUPS = 20


class Deviations(NamedTuple):
    """Deviations of expected labels: arrays (k, m) whose squares add up to variances.

    ``chances`` for cases that are given; ``positives`` and ``negatives`` are expected
    numbers at each row, where the cases are drawn too.
    """

    chances: Floats
    positives: Floats
    negatives: Floats

    @property
    def unknown(self) -> bool:
        """Return whether nothing is known of the error."""
        return bool(np.isinf(self.chances).any())


@final
@dataclass(frozen=True, repr=False, eq=False)
class ExpectedPanel(Record):
    """Cases of several classifiers whose labels are expected from all outputs.

    ``expected["A"]`` is the tally of one classifier, ``expected.combine(f)`` that of a
    combination; both take every analysis of a tally.

    Attributes
    ----------
    panel
        The cases.
    chances : array (m,)
        The probability of a positive label of each row.
    deviations : Deviations
        Sampling errors of these probabilities and of the expected counts.
    has_value : bool
        Is there a value? Without labels there is an interval only, unless errors are
        assumed to be independent.
    notes : tuple of str
        What is assumed.
    """

    panel: Panel
    chances: Floats
    deviations: Deviations
    has_value: bool
    target: str
    notes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the classifiers."""
        return self.panel.names

    def __getitem__(self, name: str) -> Tally:
        """Return the expected counts of one classifier."""
        tally = self.panel[name]
        output = self.panel.rows[:, self.panel.names.index(name)]
        return self._with_labels(tally, output)

    def combine(self, f: Callable[[Floats], ArrayLike]) -> Tally:
        """Return the expected counts of a combination of the outputs of each row."""
        score = _options.array_of(f, self.panel.rows, "panel.combine")
        return self._with_labels(self.panel.combine(f), score)

    def _with_labels(self, tally: Tally, output: Floats) -> Tally:
        """Return a tally with the mean probability of its cases at each score."""
        table = _table_of_scores(self, tally, output)
        labels = ExpectedLabels(table, self.target, has_value=self.has_value)
        return tally.with_design(unlabelled=labels)

    def __repr__(self) -> str:
        """Return the numbers of cases and classifiers, and what is assumed."""
        line = (
            f"Expected labels of {self.panel.n_unknown:,} cases from "
            f"{len(self.names)} classifiers"
        )
        return "\n".join([line, *(f"  Note: {note}" for note in self.notes)])


@final
@dataclass(frozen=True, eq=False)
class ScoreTable:
    """A label map with one probability for each score of a tally.

    Attributes
    ----------
    score, chances : array (m,)
        Distinct scores, ascending, and the mean probability of their cases.
    deviations : Deviations
        How far these, and the expected counts at each score, are off.
    notes : tuple of str
        What is assumed.
    """

    score: Floats
    chances: Floats
    deviations: Deviations
    notes: tuple[str, ...]
    reference: None = None

    @property
    def degrees_of_freedom(self) -> float:
        """Return those of the deviations: one less than draws, or groups of cases."""
        return max(1.0, len(self.deviations.chances) - 1)

    def __call__(self, score: ArrayLike) -> Floats:
        """Return the probability at each score of the table."""
        return np.asarray(self.chances[self._places(np.asarray(score, np.float64))])

    def error_variance(self, score: Floats, by_log_odds: Floats) -> float:
        """Return the variance of a value of given cases, through the probabilities."""
        if self.deviations.unknown:
            return math.inf
        places = self._places(score)
        chances = self.chances[places]
        by_chance = by_log_odds / np.maximum(chances * (1 - chances), 1e-12)
        # (k, m) @ (m,): how far each deviation moves the value
        moved = self.deviations.chances[:, places] @ by_chance
        return float(moved @ moved)

    def variance_with_cases(
        self, score: Floats, by_positive: Floats, by_negative: Floats
    ) -> float:
        """Return the variance of a value where the cases are drawn as well."""
        if self.deviations.unknown:
            return math.inf
        places = self._places(score)
        moved = self.deviations.positives[:, places] @ by_positive
        moved = moved + self.deviations.negatives[:, places] @ by_negative
        return float(moved @ moved)

    def error_draws(
        self, score: Floats, n_draws: int, rng: np.random.Generator
    ) -> Floats | None:
        """Return errors (n_draws, m) of the log odds, drawn from the deviations."""
        if self.deviations.unknown:
            return None
        places = self._places(score)
        probability = self.chances[places]
        deviations = self.deviations.chances[:, places]
        # (draws, kept) @ (kept, m): deviations of the probability, as normal variables
        errors = rng.standard_normal((n_draws, len(deviations))) @ deviations
        # delta method: the log odds change by that over p (1 - p)
        return np.asarray(errors / np.maximum(probability * (1 - probability), 1e-12))

    def _places(self, score: Floats) -> Any:
        """Return where each score is in the table; the nearest below for others."""
        last = self.score.size - 1
        return np.clip(np.searchsorted(self.score, score, side="right") - 1, 0, last)


def _table_of_scores(
    expected: ExpectedPanel, tally: Tally, output: Floats
) -> ScoreTable:
    """Return the mean probability, and its errors, of the cases at each score."""
    ascending = tally.score[::-1]
    place = np.searchsorted(ascending, output + 0.0)
    cases = np.asarray(expected.panel.unknown, np.float64)
    totals = np.bincount(place, cases, ascending.size)
    safe_totals = np.maximum(totals, 1e-300)

    def total_of(values: Floats) -> Floats:
        return np.bincount(place, values, ascending.size).astype(np.float64)

    # means over the cases of a score have the means of their deviations
    deviations = Deviations(
        chances=np.array(
            [
                total_of(cases * deviation) / safe_totals
                for deviation in expected.deviations.chances
            ]
        ),
        positives=np.array(
            [total_of(deviation) for deviation in expected.deviations.positives]
        ),
        negatives=np.array(
            [total_of(deviation) for deviation in expected.deviations.negatives]
        ),
    )

    return ScoreTable(
        score=ascending,
        chances=total_of(cases * expected.chances) / safe_totals,
        deviations=deviations,
        notes=expected.notes,
    )


def expected_panel(
    panel: Panel, posterior: object, dependence: str | None, target: str = PROCESS
) -> ExpectedPanel:
    """Return the cases of a panel with labels expected from all of its outputs."""
    if dependence is not None:
        _options.choice(dependence, ("shared", "none"), "dependence")
    if isinstance(posterior, LatentPosterior):
        return _by_posterior(panel, posterior, dependence, target)
    if hasattr(posterior, "source") and hasattr(posterior, "probability"):
        return _by_fidel(panel, posterior, dependence, target)

    raise InputError(
        "Expected labels of a panel need the posterior of a latent class model, or a "
        f"fit of FiDEL without labels; found {described(posterior)}.",
        example=PythonCode("panel.expected(trueness.latent_class(panel))"),
    )


def _by_posterior(
    panel: Panel, posterior: LatentPosterior, dependence: str | None, target: str
) -> ExpectedPanel:
    """Return expected labels from the draws of a posterior."""
    if dependence == "none" and posterior.open and posterior.independent is not None:
        posterior = posterior.independent

    flat = posterior.flat
    size = len(flat["sensitivity"])
    kept_draws = np.linspace(0, size - 1, min(size, _DRAWS)).astype(np.int64)
    draws_by_name = {name: values[kept_draws] for name, values in flat.items()}

    in_positives, in_negatives = posterior.model.class_probabilities(
        draws_by_name, panel.rows
    )
    rate = draws_by_name["prevalence"][:, [0]]
    # Bayes' rule, draw by draw: (draws, rows)
    positives = rate * in_positives
    negatives = (1 - rate) * in_negatives
    probability_draws = positives / np.maximum(positives + negatives, 1e-300)

    # of the model, the numbers of cases of each row vary with its parameters
    cases = _cases_that_could_be(panel)
    return ExpectedPanel(
        panel=panel,
        chances=probability_draws.mean(axis=0),
        deviations=Deviations(
            chances=_deviations_of_draws(probability_draws),
            positives=_deviations_of_draws(positives * cases),
            negatives=_deviations_of_draws(negatives * cases),
        ),
        has_value=not posterior.open,
        target=target,
        notes=_notes_on_errors(posterior.dependence),
    )


def _deviations_of_draws(draws: Floats) -> Floats:
    """Return deviations from the mean, whose squares add up to the variance."""
    return np.asarray((draws - draws.mean(axis=0)) / math.sqrt(max(len(draws) - 1, 1)))


def _cases_that_could_be(panel: Panel) -> Floats:
    """Return how many cases have outputs of the same classifiers as each row."""
    missing = np.isnan(panel.rows)
    _, pattern = np.unique(missing, axis=0, return_inverse=True)
    pattern = pattern.reshape(-1)
    totals = np.bincount(pattern, panel.unknown)
    return np.asarray(totals[pattern], np.float64)


def _notes_on_errors(dependence: str) -> tuple[str, ...]:
    """Return what is assumed about the errors of the classifiers."""
    if dependence == "labels":
        return ("The labels of some cases determine how probable each label is.",)

    if dependence == "none":
        return (
            "Errors of the classifiers are assumed to be independent within each "
            "class; without labels this cannot be tested.",
        )

    return (
        "Without labels, classifiers that make the same errors look good, so there "
        "is an interval but no point estimate. Label some cases, or set dependence "
        'to "none" if errors are independent.',
    )


def _by_fidel(
    panel: Panel, fit: Any, dependence: str | None, target: str
) -> ExpectedPanel:
    """Return expected labels from ranks, with a jackknife over groups of cases."""
    chances = np.asarray(fit.probability(panel.rows), np.float64)
    assumed = "none" if dependence == "none" else "shared"
    if fit.source == "labels":
        assumed = "labels"

    if assumed == "shared":
        # any labels agree with the ranks where errors may be shared
        nothing_known = np.full((1, chances.size), np.inf)
        deviations = Deviations(nothing_known, nothing_known, nothing_known)
    else:
        deviations = _jackknife(panel, "given" if assumed == "labels" else "none")

    return ExpectedPanel(
        panel=panel,
        chances=chances,
        deviations=deviations,
        has_value=assumed != "shared",
        target=target,
        notes=_notes_on_errors(assumed),
    )


def _jackknife(panel: Panel, labels: str) -> Deviations:
    """Return deviations of expected labels when groups of cases are left out.

    The delete-a-group jackknife (Shao and Tu 1995, section 2.3): the sum of squared
    deviations has the factor (G - 1) / G.
    """
    group = np.random.default_rng(0).permutation(len(panel)) % _GROUPS
    cases = np.asarray(panel.unknown, np.float64)

    chances = []
    positives = []
    negatives = []
    for left_out in range(_GROUPS):
        is_kept = group != left_out
        refitted = FIDEL.load()(keep_rows(panel, is_kept), labels=labels)
        probability = np.asarray(refitted.probability(panel.rows), np.float64)
        # the cases that remain stand for all of them
        remaining = cases * is_kept * (_GROUPS / (_GROUPS - 1))
        chances.append(probability)
        positives.append(remaining * probability)
        negatives.append(remaining * (1 - probability))

    return Deviations(
        chances=_deviations_of_groups(chances),
        positives=_deviations_of_groups(positives),
        negatives=_deviations_of_groups(negatives),
    )


def _deviations_of_groups(values: list[Floats]) -> Floats:
    """Return deviations of values without a group, with the factor of the jackknife."""
    every = np.array(values)
    # (G - 1) / G of the squares (Shao and Tu 1995)
    factor = math.sqrt((_GROUPS - 1) / _GROUPS)
    return np.asarray((every - every.mean(axis=0)) * factor)
