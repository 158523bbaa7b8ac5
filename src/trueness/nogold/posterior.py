"""What does the posterior of tests without a gold standard say?

``LatentPosterior`` is what ``latent_class`` (in ``fitting``) gives: the draws, and what
follows from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.doors import door
from trueness._core.html import html_table
from trueness._core.records import Estimate, Record
from trueness.nogold import _checks as _votes
from trueness.nogold.copies import Copied
from trueness.nogold.model import parameter_labels
from trueness.nogold.sampling.strategy import Diagnostics
from trueness.nogold.shared_errors import DependenceSensitivity, sensitivity

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
        return door("data.frames").native_frame(columns, backend)

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
    """What do votes without labels say about tests and prevalence?

    Attributes
    ----------
    prevalence : Estimate, or mapping from population to Estimate
        Share of positive cases: posterior mean, standard deviation, interval.
    sensitivity, specificity : mapping from name to Estimate
        Sensitivity and specificity of each classifier.
    identified : bool
        Whether enough data would determine every parameter. If not, the answer comes
        partly from the prior, or from an assumption that these data contradict or
        cannot show (see ``notes``).
    notes : tuple of str
        What a reader of the answer must know.
    diagnostics : Diagnostics
        Which sampler ran; R-hat, effective draws, Monte-Carlo error.
    """

    prevalence: Any
    sensitivity: Mapping[str, Estimate]
    specificity: Mapping[str, Estimate]
    identified: bool
    notes: tuple[str, ...]
    diagnostics: Diagnostics
    _chains: Mapping[str, Floats]  # (chains, steps, size)
    _level: float
    _model: Any
    _independent: Any = None  # the fit that the check of dependence replaced

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
    def independent(self) -> LatentPosterior:
        """Give the fit with independent errors that this one replaced, or this one."""
        return self if self._independent is None else self._independent

    @property
    def chains(self) -> Mapping[str, Floats]:
        """Give the draws by chain, (chains, draws, size)."""
        return self._chains

    @property
    def flat(self) -> dict[str, Floats]:
        """Give the draws of all chains, (draws, size), also for one population."""
        return {k: v.reshape(-1, v.shape[2]) for k, v in self._chains.items()}

    @property
    def draws(self) -> Mapping[str, Floats]:
        """Give all draws: (draws, K); prevalence (draws,), or (draws, populations)."""
        flat = self.flat
        if len(self.populations) == 1:
            flat["prevalence"] = flat["prevalence"][:, 0]
        return MappingProxyType(flat)

    def quantile(self, q: ArrayLike) -> dict[str, Floats]:
        """Give posterior quantiles of every parameter, by its name."""
        flat = np.concatenate(list(self.flat.values()), axis=1)
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

        Classifiers that agree in every case share their places equally.

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
        place, share = np.arange(score.shape[1])[:, None], []
        for own in score.T[:, :, None]:
            better, alike = (score > own).sum(axis=1), (score == own).sum(axis=1)
            # classifiers that are equal, as copies are, share the places between them
            here = (better <= place) & (place < better + alike)
            share.append((here / alike).mean(axis=1))
        return Ranking(self.names, by, np.array(share))

    def sensitivity_to_dependence(
        self, correlations: Sequence[float] = (0.0, 0.2, 0.4)
    ) -> DependenceSensitivity:
        """How would prevalence and accuracies change if the errors were correlated?

        Gives the most probable answer under a random effect whose spread is such that
        the errors of two classifiers of average accuracy correlate by this much in
        either class.

        Parameters
        ----------
        correlations
            Between 0 and 1.
        """
        given = [_options.fraction(r, "correlations", ends="[)") for r in correlations]
        model, flat = self._model, self.flat
        if not isinstance(model, Copied):
            return sensitivity(model, flat, given)
        found = sensitivity(model.inner, model.reduced(flat), given)
        kept = model.inner.patterns.names
        original = {n: kept[i] for n, i in zip(self.names, model.source, strict=True)}
        return replace(
            found,
            sensitivity={n: found.sensitivity[o] for n, o in original.items()},
            specificity={n: found.specificity[o] for n, o in original.items()},
        )

    def to_datatree(self) -> Any:
        """Give the draws, log likelihood and data to ArviZ (extra ``bayes``)."""
        return door("nogold.arviz_door").datatree(self)

    def summary(self) -> dict[str, Array]:
        """Give one row per parameter: mean, sd, quantiles and diagnostics."""
        flat = np.concatenate(list(self.flat.values()), axis=1)
        low, high = (1 - self._level) / 2, (1 + self._level) / 2
        ends = np.quantile(flat, [low, 0.5, high], axis=0)
        d = self.diagnostics
        return {
            "parameter": d.parameter,
            "mean": flat.mean(axis=0),
            "sd": flat.std(axis=0, ddof=1),
            "low": ends[0],
            "median": ends[1],
            "high": ends[2],
            "mcse": d.mcse,
            "r_hat": d.r_hat,
            "ess_bulk": d.ess_bulk,
            "ess_tail": d.ess_tail,
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Give the summary as a table."""
        return door("data.frames").native_frame(self.summary(), backend)

    def __repr__(self) -> str:
        """One line a parameter, then what must be known."""
        d = self.diagnostics
        head = (
            f"Latent classes: {len(self.names)} classifiers, "
            f"{self.flat['sensitivity'].shape[0]:,} draws ({d.method}, at least "
            f"{d.ess_bulk.min():,.0f} effective)"
        )
        lines = [f"  {name}: {value}" for name, value in self.estimates.items()]
        return "\n".join([head, *lines, *(f"  Note: {n}" for n in self.notes)])

    @property
    def estimates(self) -> dict[str, Estimate]:
        """Give prevalence, sensitivities and specificities by their names."""
        phi = self.prevalence
        each = [phi] if isinstance(phi, Estimate) else [*phi.values()]
        each += [*self.sensitivity.values(), *self.specificity.values()]
        return dict(zip(parameter_labels(self._model.patterns), each, strict=True))

    def _repr_html_(self) -> str:
        rows = [(name, str(value)) for name, value in self.estimates.items()]
        return html_table(("parameter", "posterior"), rows) + html_table(
            ("notes",), [(n,) for n in self.notes]
        )


def estimate(values: Floats, level: float) -> Estimate:
    """Summarise draws by their mean, equal-tailed interval and standard deviation."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    # costs of 1e300 are divided before they are squared
    unit = float(np.abs(values).max(initial=0.0)) or 1.0
    spread = unit * float((values / unit).std(ddof=1))
    mean = unit * float((values / unit).mean())
    mean = min(max(mean, float(values.min())), float(values.max()))  # of equal draws
    return Estimate(mean, float(low), float(high), level, "posterior", spread)
