"""What does the posterior of tests without a gold standard say?

``LatentPosterior`` is what ``latent_class`` (in ``fitting``) gives: the draws, and what
follows from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.frames import native_frame
from trueness._core.html import html_table
from trueness._core.records import Estimate, Record, as_precise
from trueness.inference.limits import around
from trueness.nogold import _checks as _votes
from trueness.nogold.arviz_tree import datatree
from trueness.nogold.model import parameter_labels
from trueness.nogold.sampling import Diagnostics

PARAMETERS = ("prevalence", "sensitivity", "specificity")
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
    prevalence : Estimate, or mapping from population to Estimate
        Share of positive cases: posterior mean, standard deviation, interval. The value
        is NaN, here and below, where votes alone do not determine it: then there is an
        interval only.
    sensitivity, specificity : mapping from name to Estimate
        Sensitivity and specificity of each classifier.
    dependence : str
        "none", errors are independent; "shared", classifiers may make the same errors;
        "labels", labels answer and nothing is assumed about errors.
    identified : bool
        Whether enough data would determine every parameter. False without labels where
        errors may be shared.
    log_bayes_factor : float
        Log of how much more probable the data are if errors may be shared than if they
        are independent; NaN where only one of both was asked for.
    independent : LatentPosterior or None
        The answer if errors were independent, beside one that does not assume it.
    notes : tuple of str
        What a reader of the answer must know.
    diagnostics : Diagnostics
        Effective draws, Monte-Carlo error, evidence.
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
        names: tuple[str, ...] = self._model.patterns.names
        return names

    @property
    def populations(self) -> tuple[str, ...]:
        """Which populations are there? A single population has no name."""
        populations: tuple[str, ...] = self._model.patterns.populations
        return populations

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
        """
        rows = _votes.vote_rows(rows, self.names)
        s = _votes.population(population, self.populations, prevalence)
        fixed = (
            None if prevalence is None else _options.fraction(prevalence, "prevalence")
        )
        return self._model.post_test(self.flat, rows, s, fixed)  # type: ignore[no-any-return]

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
        """Give the draws, log likelihood and data to ArviZ (extra ``bayes``)."""
        return datatree(self.model, self.flat)

    def summary(self) -> dict[str, Array]:
        """Give one row per parameter: mean, sd, quantiles and Monte-Carlo error.

        Mean and median are NaN where votes alone do not determine the parameters.
        """
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
        beside = self.independent
        if not self.open or beside is None:
            return [(name, str(value)) for name, value in self.estimates.items()]
        return [
            (name, f"{span(value)}; {beside.estimates[name].value:.3f} if independent")
            for name, value in self.estimates.items()
        ]

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


def estimate(values: Floats, level: float, *, known: bool = True) -> Estimate:
    """Summarise draws by their mean, equal-tailed interval and standard deviation.

    What is not known has an interval only.
    """
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    # costs of 1e300 are divided before they are squared
    unit = float(np.abs(values).max(initial=0.0)) or 1.0
    spread = unit * float((values / unit).std(ddof=1))
    mean = unit * float((values / unit).mean())
    mean = min(max(mean, float(values.min())), float(values.max()))  # of equal draws
    value = mean if known else np.nan
    return around(value, low, high, level, "posterior", spread)
