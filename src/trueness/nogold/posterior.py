"""What does the posterior of tests without a gold standard say?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import described, listing
from trueness._core.figures import html_table
from trueness._core.imports import required
from trueness._core.records import Estimate, Record, as_precise, native_frame
from trueness.inference.estimates import estimate_from_interval
from trueness.nogold.model import other_votes, parameter_labels, pattern_word
from trueness.nogold.sampling import Diagnostics

PARAMETERS = ("prevalence", "sensitivity", "specificity")
CHAINS = 4  # for ArviZ: parts of the draws
RANKED = ("sensitivity", "specificity", "youden")


@final
@dataclass(frozen=True, repr=False)
class Ranking(Record):
    """How likely is each classifier best, second, ...?

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
        """Give the probability of each place for one classifier."""
        at = self.names.index(_columns.column(name, self.names, "name"))
        return np.asarray(self.probability[at])

    @property
    def best(self) -> str:
        """Which classifier is most often the best?"""
        return self.names[int(self.probability[:, 0].argmax())]

    def to_frame(self, backend: str | None = None) -> Any:
        """Give one row a classifier and one column a place."""
        places = {f"place {i + 1}": p for i, p in enumerate(self.probability.T)}
        columns = {"classifier": np.array(self.names), **places}
        return native_frame(columns, backend)

    def __repr__(self) -> str:
        """One line a classifier."""
        lines = [
            f"  {n}: " + ", ".join(f"{p:.3f}" for p in row)
            for n, row in zip(self.names, self.probability, strict=True)
        ]
        return "\n".join([f"Ranking by {self.by}: P(best), P(second), ...", *lines])


@final
@dataclass(frozen=True, repr=False)
class LatentPosterior(Record):
    """What do votes say about tests and prevalence?

    Attributes
    ----------
    prevalence, sensitivity, specificity : Estimate, mappings from name to Estimate
        Posterior mean, standard deviation, interval: of the share of positive cases (by
        name where there are several populations), and of each classifier. The value is
        NaN where votes alone do not determine it: then there is an interval only.
    dependence : str
        "none", errors are independent; "shared", classifiers may make the same errors;
        "labels", labels answer and nothing is assumed about errors.
    identified : bool
        Whether enough data would determine every parameter. False without labels where
        errors may be shared.
    log_bayes_factor, independent : float, LatentPosterior or None
        Log of how much more probable the data are if errors may be shared than if they
        are independent, NaN where labels answer; and the answer if they are.
    notes, diagnostics : tuple of str, Diagnostics
        What a reader of the answer must know; effective draws, Monte-Carlo error,
        evidence.
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
    _model: Any

    @property
    def names(self) -> tuple[str, ...]:
        """Which classifiers?"""
        return tuple(self._model.patterns.names)

    @property
    def populations(self) -> tuple[str, ...]:
        """Which populations are there? A single population has no name."""
        return tuple(self._model.patterns.populations)

    @property
    def level(self) -> float:
        """Which level do the intervals have?"""
        return self._level

    @property
    def model(self) -> Any:
        """Which model was fitted, with its patterns and its prior?"""
        return self._model

    @property
    def flat(self) -> dict[str, Floats]:
        """Give the draws, (draws, size), also for one population."""
        return dict(self._flat)

    @property
    def draws(self) -> Mapping[str, Floats]:
        """Give all draws: (draws, K); prevalence (draws,), or (draws, populations)."""
        flat = self.flat
        if len(self.populations) == 1:
            flat["prevalence"] = flat["prevalence"][:, 0]
        return MappingProxyType(flat)

    def quantile(self, q: ArrayLike) -> dict[str, Floats]:
        """Give posterior quantiles of every parameter, by its name."""
        flat = np.concatenate(list(self._flat.values()), axis=1)
        value = np.quantile(flat, np.asarray(q), axis=0)
        return {n: value[..., i] for i, n in enumerate(self.diagnostics.parameter)}

    def probability(
        self,
        rows: ArrayLike,
        *,
        population: str | None = None,
        prevalence: float | None = None,
    ) -> Floats:
        r"""How likely is a case positive, given its votes?

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
        s = which_population(population, self.populations, prevalence)
        if prevalence is not None:
            prevalence = _options.fraction(prevalence, "prevalence")
        n, total = len(self._flat["sensitivity"]), np.zeros(len(rows))
        never = np.ones(len(rows), dtype=bool)
        for block in blocks(n, max(2**20 // max(len(rows), 1), 64)):
            part = {k: v[block] for k, v in self._flat.items()}
            a, b = self._model.class_probabilities(part, rows)
            share = part["prevalence"][:, [s]] if prevalence is None else prevalence
            either = share * a + (1 - share) * b
            never &= (either == 0).all(axis=0)
            total += (share * a / np.maximum(either, 1e-300)).sum(axis=0)
        return np.where(never, np.nan, total / n)

    def ranking(self, by: str = "sensitivity") -> Ranking:
        """How likely is each classifier to be best, second, ... by this measure?

        Parameters
        ----------
        by : {"sensitivity", "specificity", "youden"}
            The measure to rank by; youden is sensitivity + specificity - 1.
        """
        _options.choice(by, RANKED, "by")
        flat = self.flat
        score = (
            flat["sensitivity"] + flat["specificity"] if by == "youden" else flat[by]
        )
        place = np.argsort(np.argsort(-score, axis=1), axis=1)
        share = [(place == i).mean(axis=0) for i in range(score.shape[1])]
        return Ranking(self.names, by, np.array(share).T)

    def to_datatree(self) -> Any:
        """Give the draws, log likelihood and data to ArviZ (extra ``bayes``).

        There is one column a pattern of votes, and its number of cases beside.
        """
        xarray = required("xarray", "bayes")
        # what a model adds has a dimension of its own
        last = dict.fromkeys(("sensitivity", "specificity"), "classifier")
        last |= {"prevalence": "population", "spread": "class"}
        coords = {
            "classifier": list(self.names),
            "population": list(self.populations),
            "class": ["pos", "neg"],
        }
        variables = {
            k: (("chain", "draw", last.get(k, f"{k}_of")), _by_chain(v))
            for k, v in self.flat.items()
        }
        used = {dims[2] for dims, _ in variables.values()}
        known = {k: v for k, v in coords.items() if k in used}
        patterns, phi = self._model.patterns, self._flat["prevalence"]
        classes = self._model.class_probabilities(self._flat, patterns.rows)
        log_p = patterns.log_chances(phi, 1 - phi, *classes)
        parts, count, _ = patterns.cells
        label = [
            f"{self.populations[s]}{pattern_word(row)}{'?+-'[kind]}"
            for s, kind, at in parts
            for row in patterns.rows[at]
        ]
        votes = ("chain", "draw", "pattern"), _by_chain(log_p)
        here = {"pattern": np.array(label)}
        return xarray.DataTree.from_dict(
            {
                "posterior": xarray.Dataset(variables, known),
                "log_likelihood": xarray.Dataset({"votes": votes}, here),
                "observed_data": xarray.Dataset({"cases": ("pattern", count)}, here),
            }
        )

    def summary(self) -> dict[str, Array]:
        """Give one row per parameter: mean, sd, quantiles and Monte-Carlo error."""
        flat = np.concatenate(list(self._flat.values()), axis=1)
        low, high = (1 - self._level) / 2, (1 + self._level) / 2
        ends = np.quantile(flat, [low, 0.5, high], axis=0)
        known = np.nan if self.open else 1.0
        return {
            "parameter": self.diagnostics.parameter,
            "mean": known * flat.mean(axis=0),
            "sd": flat.std(axis=0, ddof=1),
            "low": ends[0],
            "median": known * ends[1],
            "high": ends[2],
            "mcse": self.diagnostics.mcse,
        }

    @property
    def open(self) -> bool:
        """Is there an interval only, since votes alone do not determine the answer?"""
        return self.dependence == "shared" and not self.identified

    def to_frame(self, backend: str | None = None) -> Any:
        """Give the summary as a table."""
        return native_frame(self.summary(), backend)

    def __repr__(self) -> str:
        """One line a parameter, then what must be known."""
        head = (
            f"Latent classes: {len(self.names)} classifiers, errors "
            f"{SAID[self.dependence]}, {self.diagnostics.effective:,.0f} effective "
            "draws"
        )
        lines = [f"  {name}: {value}" for name, value in self._said()]
        return "\n".join([head, *lines, *(f"  Note: {n}" for n in self.notes)])

    def _said(self) -> list[tuple[str, str]]:
        """Write every parameter; where it is open, beside what independence gives."""
        if not self.open:
            return [(name, str(value)) for name, value in self.estimates.items()]
        alone = self.independent
        known = alone.estimates if alone is not None and alone.identified else {}
        more = {n: f"; {e.value:.3f} if independent" for n, e in known.items()}
        return [(n, span(e) + more.get(n, "")) for n, e in self.estimates.items()]

    @property
    def estimates(self) -> dict[str, Estimate]:
        """Give prevalence, sensitivities and specificities by their names."""
        phi = self.prevalence
        each = [phi] if isinstance(phi, Estimate) else [*phi.values()]
        each += [*self.sensitivity.values(), *self.specificity.values()]
        return dict(zip(parameter_labels(self._model.patterns), each, strict=True))

    def _repr_html_(self) -> str:
        return html_table(("parameter", "posterior"), self._said()) + html_table(
            ("notes",), [(n,) for n in self.notes]
        )


SAID = {
    "none": "independent",
    "shared": "that may be shared",
    "labels": "of any kind, by the labels",
}


def span(e: Estimate) -> str:
    """Write the interval alone."""
    _, low, high = as_precise(e.low, e.low, e.high)
    return f"{low} to {high}"


def summary_of_draws(values: Floats, level: float, *, known: bool = True) -> Estimate:
    """Summarise draws by mean, equal-tailed interval and sd; or by the interval."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    # costs of 1e300 are divided before they are squared
    unit = float(np.abs(values).max(initial=0.0)) or 1.0
    spread = unit * float((values / unit).std(ddof=1))
    mean = unit * float((values / unit).mean())
    mean = min(max(mean, float(values.min())), float(values.max()))  # of equal draws
    value = mean if known else np.nan
    return estimate_from_interval(value, low, high, level, "posterior", spread)


def _by_chain(flat: Floats) -> Floats:
    each = len(flat) // CHAINS
    return flat[: CHAINS * each].reshape(CHAINS, each, -1)


def vote_rows(rows: ArrayLike, names: Sequence[str]) -> Floats:
    """Pass on rows (m, K) of 0, 1 and NaN, in the order of the names."""
    votes = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    if votes.ndim != 2 or votes.shape[1] != len(names):
        raise InputError(
            f"Votes must have shape (rows, {len(names)}), a column for each of "
            f"{listing(names)}; found shape {votes.shape}."
        )
    if other_votes(votes).size:
        raise InputError(
            f"Votes must be 0, 1 or NaN; found {listing(other_votes(votes))}. Make 0 "
            "and 1 of scores first, with a threshold for each.",
            example=PythonCode("panel.vote(...)"),
        )
    return votes


def which_population(
    name: object, known: Sequence[str], prevalence: object, *, single: bool = False
) -> int:
    """Which population is meant? With ``single`` the first, if nothing is said."""
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


def latent_posterior(post: Any, what: str, most: float = np.inf) -> None:
    """Stop when this is not what latent_class gives, or a table would not end."""
    if not hasattr(post, "draws") or not hasattr(post, "probability"):
        raise InputError(
            f"{what} needs a posterior; found {type(post).__name__}.",
            example=PythonCode(f"trueness.{what}(trueness.latent_class(panel))"),
        )
    if len(post.names) > most:
        raise InputError(
            f"This is possible for up to {most} classifiers; found {len(post.names)}. "
            "The best combination is found for any number.",
            example=PythonCode("trueness.best_combination(post)"),
        )
