"""What does the posterior of tests without a gold standard say?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import described, listing
from trueness._core.figures import html_table
from trueness._core.imports import required
from trueness._core.numbers import level_text
from trueness._core.records import (
    Estimate,
    Record,
    as_precise,
    first_line_as_html,
    native_frame,
    sketch_of,
)
from trueness.inference.estimates import estimate_from_interval
from trueness.nogold.patterns import (
    Patterns,
    other_votes,
    parameter_labels,
    pattern_word,
)
from trueness.nogold.sampling import Diagnostics

NUMBER_OF_CHAINS = 4  # for ArviZ: parts of the draws
RANKED_BY = ("sensitivity", "specificity", "youden")
MAX_BLOCK_SIZE = 2**20  # draws times patterns that are held at a time
TINY = 1e-300  # in place of a denominator of 0
ERRORS_IN_WORDS = {
    "none": "independent",
    "shared": "that may be shared",
    "labels": "of any kind (identified by labels)",
}
# the last letter of a pattern's name in ArviZ: without a label, positive, negative
KIND_LETTERS = "?+-"


class PatternModel(Protocol):
    """A model that gives every pattern of votes a probability in both classes."""

    @property
    def patterns(self) -> Patterns:
        """Return the votes to which it was fitted."""

    def class_probabilities(
        self, draws: Mapping[str, Floats], rows: Floats, /
    ) -> tuple[Floats, Floats]:
        """Return the probability of each pattern in positives and in negatives."""


@final
@dataclass(frozen=True, repr=False)
class Ranking(Record):
    """Probability of each classifier to be best, second, and so on.

    Attributes
    ----------
    names : tuple of str
        The classifiers.
    by : str
        What they are ranked by.
    probability : array (K, K)
        Row: classifier; column: place, 0 is the best. Rows and columns sum to 1.
    """

    names: tuple[str, ...]
    by: str
    probability: Floats

    def __getitem__(self, name: str) -> Floats:
        """Return the probability of each place for one classifier."""
        row = self.names.index(_columns.column(name, self.names, "name"))
        return np.asarray(self.probability[row])

    @property
    def best(self) -> str:
        """Return the classifier that is most often the best."""
        return self.names[int(self.probability[:, 0].argmax())]

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a table with a row for each classifier and a column for each place."""
        columns = {"classifier": np.array(self.names)}
        for place, probability in enumerate(self.probability.T, start=1):
            columns[f"place {place}"] = probability
        return native_frame(columns, backend)

    def __repr__(self) -> str:
        """One line a classifier."""
        lines = [f"Ranking by {self.by}: P(best), P(second), ..."]
        for name, row in zip(self.names, self.probability, strict=True):
            probabilities = ", ".join(f"{probability:.3f}" for probability in row)
            lines.append(f"  {name}: {probabilities}")
        return "\n".join(lines)


@final
@dataclass(frozen=True, repr=False)
class LatentPosterior(Record):
    """Posterior of a latent class model: accuracy of tests, and prevalence.

    Attributes
    ----------
    prevalence, sensitivity, specificity : Estimate, mappings from name to Estimate
        Posterior mean, standard deviation and interval of the prevalence (by name for
        several populations), and of each classifier. The value is NaN where votes alone
        do not determine it: then there is an interval only.
    dependence : str
        "none": errors are independent; "shared": classifiers may make the same errors;
        "labels": labels determine the answer, without assumptions about errors.
    identified : bool
        Whether enough data would determine every parameter. False without labels where
        errors may be shared.
    log_bayes_factor, independent : float, LatentPosterior or None
        Log Bayes factor of shared against independent errors, NaN where labels
        determine the answer; and the result if errors are independent.
    notes, diagnostics : tuple of str, Diagnostics
        What to keep in mind; effective draws, Monte Carlo error, evidence.
    """

    prevalence: Any
    sensitivity: Mapping[str, Estimate]
    specificity: Mapping[str, Estimate]
    dependence: str
    identified: bool
    log_bayes_factor: float
    independent: LatentPosterior | None
    notes: tuple[str, ...]
    diagnostics: Diagnostics
    _flat: Mapping[str, Floats]  # (draws, size)
    _level: float
    _model: PatternModel

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the classifiers."""
        return tuple(self._model.patterns.names)

    @property
    def populations(self) -> tuple[str, ...]:
        """Return the populations; a single one has no name."""
        return tuple(self._model.patterns.populations)

    @property
    def level(self) -> float:
        """Return the level of the intervals."""
        return self._level

    @property
    def model(self) -> Any:
        """Return the fitted model, with its patterns and its prior."""
        return self._model

    @property
    def flat(self) -> dict[str, Floats]:
        """Return the draws, (draws, size), also for one population."""
        return dict(self._flat)

    @property
    def draws(self) -> Mapping[str, Floats]:
        """Return all draws, (draws, K); prevalence (draws,) where it is one."""
        draws = self.flat
        if len(self.populations) == 1:
            draws["prevalence"] = draws["prevalence"][:, 0]
        return MappingProxyType(draws)

    def quantile(self, q: ArrayLike) -> dict[str, Floats]:
        """Return posterior quantiles of every parameter, by its name."""
        quantiles = np.quantile(self._table_of_draws(), np.asarray(q), axis=0)
        return {
            name: quantiles[..., column]
            for column, name in enumerate(self.diagnostics.parameter)
        }

    def _table_of_draws(self) -> Floats:
        """Return the draws of all parameters side by side, (draws, parameters)."""
        return np.concatenate(list(self._flat.values()), axis=1)

    def probability(
        self,
        rows: ArrayLike,
        *,
        population: str | None = None,
        prevalence: float | None = None,
    ) -> Floats:
        r"""Return how likely a case is positive, given its votes.

        .. math:: E\left[\frac{\phi A(x)}{\phi A(x) + (1 - \phi) B(x)}\right]

        over the posterior. A map for ``panel.combine``: a graded score that keeps
        information which a yes/no rule discards.

        Parameters
        ----------
        rows
            Votes (m, K) of 0, 1 and NaN, in the order of ``names``.
        population
            The population whose prevalence is used, if there are several.
        prevalence
            A prevalence to be used in place of the estimated one.

        NaN for votes that have no probability, as those that labels never showed.
        """
        rows = vote_rows(rows, self.names)
        column = which_population(population, self.populations, prevalence)
        if prevalence is not None:
            prevalence = _options.fraction(prevalence, "prevalence")

        number_of_draws = len(self._flat["sensitivity"])
        block_size = max(MAX_BLOCK_SIZE // max(len(rows), 1), 64)
        total = np.zeros(len(rows))
        never_possible = np.ones(len(rows), dtype=bool)

        for block in blocks(number_of_draws, block_size):
            draws = {name: values[block] for name, values in self._flat.items()}
            in_positives, in_negatives = self._model.class_probabilities(draws, rows)

            prevalence_of_draw: Floats | float
            if prevalence is None:
                prevalence_of_draw = draws["prevalence"][:, [column]]
            else:
                prevalence_of_draw = prevalence

            # phi A(x), and the probability of these votes in either class
            positive = prevalence_of_draw * in_positives
            either = positive + (1 - prevalence_of_draw) * in_negatives
            never_possible &= (either == 0).all(axis=0)
            total += (positive / np.maximum(either, TINY)).sum(axis=0)

        return np.where(never_possible, np.nan, total / number_of_draws)

    def ranking(self, by: str = "sensitivity") -> Ranking:
        """Return how likely each classifier is best, second, ... by this measure.

        Parameters
        ----------
        by : {"sensitivity", "specificity", "youden"}
            The measure to rank by; youden is sensitivity + specificity - 1.
        """
        _options.choice(by, RANKED_BY, "by")
        if by == "youden":
            # less 1, which does not change the order
            score = self._flat["sensitivity"] + self._flat["specificity"]
        else:
            score = self._flat[by]

        # (draws, classifiers): the place of each classifier, 0 for the best
        place = np.argsort(np.argsort(-score, axis=1), axis=1)
        n_classifiers = score.shape[1]
        probability = [(place == rank).mean(axis=0) for rank in range(n_classifiers)]

        return Ranking(self.names, by, np.array(probability).T)

    def to_datatree(self) -> Any:
        """Return the draws, log likelihood and data for ArviZ (extra ``bayes``).

        There is one column for each pattern of votes, and its number of cases beside.
        """
        xarray = required("xarray", "bayes")
        patterns = self._model.patterns
        phi = self._flat["prevalence"]
        in_positives, in_negatives = self._model.class_probabilities(
            self._flat, patterns.rows
        )
        log_likelihood = patterns.log_probabilities(
            phi, 1 - phi, in_positives, in_negatives
        )

        dimensions = ("chain", "draw", "pattern")
        votes = {"votes": (dimensions, _by_chain(log_likelihood))}
        cases = {"cases": ("pattern", patterns.cells.counts)}
        names = {"pattern": np.array(self._cell_names())}

        return xarray.DataTree.from_dict(
            {
                "posterior": self._posterior_dataset(xarray),
                "log_likelihood": xarray.Dataset(votes, names),
                "observed_data": xarray.Dataset(cases, names),
            }
        )

    def _posterior_dataset(self, xarray: Any) -> Any:
        """Return the draws as ArviZ reads them, by chain."""
        coordinates = {
            "classifier": list(self.names),
            "population": list(self.populations),
            "class": ["pos", "neg"],
        }
        dimension_of = {
            "prevalence": "population",
            "sensitivity": "classifier",
            "specificity": "classifier",
            "spread": "class",
        }

        variables = {}
        used = set()
        for name, draws in self._flat.items():
            # what a model adds has a dimension of its own
            dimension = dimension_of.get(name, f"{name}_of")
            variables[name] = (("chain", "draw", dimension), _by_chain(draws))
            used.add(dimension)

        return xarray.Dataset(
            variables, {name: coordinates[name] for name in coordinates if name in used}
        )

    def _cell_names(self) -> list[str]:
        """Write each cell of the table: population, votes, and what the label is."""
        names = []
        for population, kind, seen in self._model.patterns.cells.blocks:
            for row in self._model.patterns.rows[seen]:
                votes = pattern_word(row)
                names.append(self.populations[population] + votes + KIND_LETTERS[kind])
        return names

    def summary(self) -> dict[str, Array]:
        """Return a row for each parameter: mean, sd, quantiles and Monte-Carlo error.

        Where there is an interval only, mean and median are NaN.
        """
        draws = self._table_of_draws()
        low = (1 - self._level) / 2
        high = (1 + self._level) / 2
        quantiles = np.quantile(draws, [low, 0.5, high], axis=0)
        mean = draws.mean(axis=0)
        median = quantiles[1]

        # the data leave these parameters open: a middle would suggest that they do not
        if self.open:
            mean = np.full_like(mean, np.nan)
            median = np.full_like(median, np.nan)

        return {
            "parameter": self.diagnostics.parameter,
            "mean": mean,
            "sd": draws.std(axis=0, ddof=1),
            "low": quantiles[0],
            "median": median,
            "high": quantiles[2],
            "mcse": self.diagnostics.mcse,
        }

    @property
    def open(self) -> bool:
        """Return whether votes alone leave the answer open: an interval only."""
        return self.dependence == "shared" and not self.identified

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the summary as a table."""
        return native_frame(self.summary(), backend)

    def __repr__(self) -> str:
        """One line a parameter, then what must be known."""
        lines = [
            f"Latent classes: {len(self.names)} classifiers, errors "
            f"{ERRORS_IN_WORDS[self.dependence]}, "
            f"{self.diagnostics.effective:,.0f} effective draws"
        ]
        lines += [f"  {name}: {text}" for name, text in self._parameter_texts()]
        lines += [f"  Note: {note}" for note in self.notes]
        return "\n".join(lines)

    def _parameter_texts(self) -> list[tuple[str, str]]:
        """Write every parameter; where it is open, beside what independence gives."""
        if not self.open:
            return [(name, str(value)) for name, value in self.estimates.items()]

        if_independent = {}
        if self.independent is not None and self.independent.identified:
            if_independent = self.independent.estimates

        texts = []
        for name, estimate in self.estimates.items():
            text = f"{level_text(estimate.level)} credible interval {span(estimate)}"
            if name in if_independent:
                text += f"; {if_independent[name].value:.3f} if errors were independent"
            texts.append((name, text))

        return texts

    @property
    def estimates(self) -> dict[str, Estimate]:
        """Return prevalence, sensitivities and specificities by their names."""
        prevalences = [self.prevalence]
        if not isinstance(self.prevalence, Estimate):
            prevalences = list(self.prevalence.values())

        estimates = [
            *prevalences,
            *self.sensitivity.values(),
            *self.specificity.values(),
        ]
        labels = parameter_labels(self._model.patterns)
        return dict(zip(labels, estimates, strict=True))

    def _repr_html_(self) -> str:
        parameters = html_table(("parameter", "posterior"), self._parameter_texts())
        notes = html_table(("notes",), [(note,) for note in self.notes])
        return f"{first_line_as_html(self)}{parameters}{sketch_of(self)}{notes}"


def span(estimate: Estimate) -> str:
    """Write the interval alone."""
    _, low, high = as_precise(estimate.low, estimate.low, estimate.high)
    return f"{low} to {high}"


def summary_of_draws(values: Floats, level: float, *, known: bool = True) -> Estimate:
    """Summarise draws by mean, equal-tailed interval and sd; or by the interval."""
    # a column of a table and the same draws in a row have one mean, to the last bit
    values = np.ascontiguousarray(values, dtype=np.float64)

    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    # costs of 1e300 are divided before they are squared
    unit = float(np.abs(values).max(initial=0.0)) or 1.0
    scaled = values / unit
    standard_deviation = unit * float(scaled.std(ddof=1))
    mean = unit * float(scaled.mean())
    # the mean of equal draws may end a rounding error beside them
    mean = min(max(mean, float(values.min())), float(values.max()))
    value = mean if known else np.nan

    return estimate_from_interval(
        value, low, high, level, "posterior", standard_deviation
    )


def _by_chain(draws: Floats) -> Floats:
    """Cut draws, (draws, size), into chains of equal length, (chains, length, size)."""
    length = len(draws) // NUMBER_OF_CHAINS
    whole_chains = draws[: NUMBER_OF_CHAINS * length]
    return whole_chains.reshape(NUMBER_OF_CHAINS, length, -1)


def vote_rows(rows: ArrayLike, names: Sequence[str]) -> Floats:
    """Return rows (m, K) of 0, 1 and NaN, checked, in the order of the names."""
    votes = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    if votes.ndim != 2 or votes.shape[1] != len(names):
        raise InputError(
            f"Votes must have shape (rows, {len(names)}), a column for each of "
            f"{listing(names)}; found shape {votes.shape}."
        )

    if other_votes(votes).size:
        raise InputError(
            f"Votes must be 0, 1 or NaN; found {listing(other_votes(votes))}. Turn "
            "scores into 0 and 1 first, with a threshold for each classifier.",
            example=PythonCode("panel.vote(...)"),
        )

    return votes


def which_population(
    name: str | None,
    known: Sequence[str],
    prevalence: float | None,
    *,
    single: bool = False,
) -> int:
    """Return the population that is meant; with ``single`` the first by default."""
    if name is None and (len(known) == 1 or prevalence is not None or single):
        return 0
    if isinstance(name, str) and name in known:
        return list(known).index(name)

    if len(known) == 1:
        raise InputError(
            "These votes are of one population without a name; found population "
            f"{described(name)}. Leave it out.",
            option="population",
        )

    raise InputError(
        "Which population is meant? Name it, or state a prevalence; found "
        f"{described(name)}.",
        option="population",
        choices=known,
    )


def check_posterior(post: Any, function: str, max_classifiers: float = np.inf) -> None:
    """Refuse what ``latent_class`` did not return, or a table that would not end."""
    if not hasattr(post, "draws") or not hasattr(post, "probability"):
        raise InputError(
            f"{function} needs a posterior; found {type(post).__name__}.",
            example=PythonCode(f"trueness.{function}(trueness.latent_class(panel))"),
        )

    if len(post.names) > max_classifiers:
        raise InputError(
            f"This is possible for up to {max_classifiers} classifiers; found "
            f"{len(post.names)}. The best combination is found for any number.",
            example=PythonCode("trueness.best_combination(post)"),
        )
