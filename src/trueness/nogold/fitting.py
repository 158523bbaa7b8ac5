"""How good is each test, and how common is the condition, when nobody knows the truth?

Errors may be shared (``model``), or are said to be independent; labels that are known
answer by themselves (``verdicts``).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType
from typing import Any, ClassVar, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotConvergedWarning
from trueness._core.numbers import percent
from trueness._core.records import Estimate
from trueness.counts.answers import of_panel
from trueness.nogold.model import (
    LatentModel,
    Patterns,
    only_value,
    parameter_labels,
    pattern_word,
    read_model,
    read_patterns,
)
from trueness.nogold.posterior import (
    PARAMETERS,
    LatentPosterior,
    span,
    summary_of_draws,
)
from trueness.nogold.sampling import Diagnostics, sample
from trueness.nogold.verdict_regression import (
    draw_joint_proportions,
    regressors_by_design,
)
from trueness.nogold.verdicts import LABELLED, center_verdicts

Rng = np.random.Generator
DEPENDENCE = ("shared", "none")
MOST_CASES = 10**10  # beyond, a posterior is a needle that no sampler finds in seconds
# effective draws of the model with shared errors, whose likelihood is an integral: a
# fortieth of those asked for is enough for its wide intervals
FEWER = 40
LEAST = 5  # labels of each class, from which on they determine the answer
SWAPPED = 0.01  # share of draws on the other side at which classes swap names
MOST_RANKED = 8  # classifiers of which all patterns are tried; more are counted
CLEAR = 3.0  # a Bayes factor of 20, "strong" (Kass, Raftery 1995)


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
    r"""How good is each test, and how common is the condition, without a gold standard?

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
        Whether classifiers may make the same errors. With "shared" votes alone do not
        determine the answer: every estimate is an interval without a value,
        ``identified`` is False, and ``independent`` holds the answer if errors were
        independent. "none" takes that for granted.
    labelled : {"random", "by verdict"}
        How the cases whose label is known were chosen: at random, or by their votes.
        Labels answer by themselves, whatever the errors look like, as
        :func:`trueness.prevalence` does with the same number; with ``prior``, several
        populations, or dependence="none" they enter the likelihood instead.
    draws
        Effective number of draws of independent errors; a fortieth of shared ones. A
        ``NotConvergedWarning`` warning says when there are fewer.
    ordered
        Whether alpha_k >= beta_k is certain. Without it the classes may be
        interchanged: a note says when they do.

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
    if cases > MOST_CASES:
        raise InputError(
            f"latent_class takes up to {MOST_CASES:,} cases; found {cases:,}. So many "
            "cases leave no sampling error, only that of the model: divide all "
            f"counts by {10 ** len(str(cases // MOST_CASES)):,}, and the answer is "
            "the same."
        )
    _options.choice(dependence, DEPENDENCE, "dependence")
    _options.choice(labelled, LABELLED[:2], "labelled")
    draws = _options.whole_number(draws, "draws", at_least=100)
    level, rng = _options.fraction(level, "level"), _options.generator(rng)
    model = read_model(patterns, prior, ordered)
    free = prior is None and len(patterns.populations) == 1
    if dependence == "shared" and free and any(patterns.labels):
        return _by_labels(model, labelled, draws, level, rng)
    if dependence == "none":
        return _fit_and_test_independence(model, draws, level, rng)
    return fitted(model, dependence, draws, level, rng)


def fitted(
    model: LatentModel, dependence: str, draws: int, level: float, rng: Rng
) -> LatentPosterior:
    """Fit the model, with independent errors first: the others start from there."""
    coordinates, diagnostics = sample(model, draws, rng)
    alone = _written(model, coordinates, diagnostics, level)
    if dependence == "none":
        return alone

    wide = replace(model, shared=True)
    start = coordinates.mean(axis=0)
    coordinates, diagnostics = sample(wide, _shared_draws(draws), rng, start)
    post = _written(wide, coordinates, diagnostics, level)
    log_bayes_factor = diagnostics.log_evidence - alone.diagnostics.log_evidence
    notes = (*_shared_notes(post, alone, log_bayes_factor), *post.notes)
    return replace(
        post, independent=alone, log_bayes_factor=log_bayes_factor, notes=notes
    )


def _fit_and_test_independence(
    model: LatentModel, draws: int, level: float, rng: Rng
) -> LatentPosterior:
    """Fit independent errors, and say whether the votes contradict them."""
    coordinates, diagnostics = sample(model, draws, rng)
    alone = _written(model, coordinates, diagnostics, level)
    if not alone.identified:  # so few tests cannot contradict anything
        return alone

    wide = replace(model, shared=True)
    start = coordinates.mean(axis=0)
    _, of_shared = sample(wide, _shared_draws(draws), rng, start)
    log_bayes_factor = of_shared.log_evidence - diagnostics.log_evidence
    assumed = "Errors are assumed to be independent."
    notes = (f"{assumed} {_evidence(log_bayes_factor)}", *alone.notes)
    return replace(alone, log_bayes_factor=log_bayes_factor, notes=notes)


def _shared_draws(draws: int) -> int:
    """Return how many effective draws the model with shared errors gets."""
    return max(draws // FEWER, 100)


def _written(
    model: LatentModel, v: Floats, found: Diagnostics, level: float
) -> LatentPosterior:
    """Summarise draws, and say what a reader must know."""
    if not found.converged:
        warnings.warn(f"latent_class: {found.message}.", NotConvergedWarning, 5)
    flat, notes = model.natural(v), []
    free, parameters, rank = degrees_of_freedom(model.patterns)
    identified = rank >= parameters
    if model.shared:
        identified = min(model.patterns.labels) >= LEAST
    elif not identified:
        notes.append(
            f"Not identified: {parameters} parameters, but the data have {free} "
            f"degrees of freedom and determine {rank} combinations of them. However "
            f"many cases there are, the rest of the answer comes from the prior."
        )
    notes += constant_votes(model.patterns)
    youden = (flat["sensitivity"] + flat["specificity"] - 1).sum(axis=1)
    share = float(np.mean(youden < 0))
    if share >= SWAPPED and not model.ordered:
        notes.append(
            f"The two classes are interchanged in {100 * share:.0f} % of the draws "
            "(label switching): there the classifiers, taken together, are worse than "
            "chance, and 'positive' means 'negative'. Means over all draws are "
            "meaningless; pass ordered=True or an informative prior."
        )
    word = "shared" if model.shared else "none"
    return record(model, word, flat, found, identified, notes, level)


def constant_votes(patterns: Patterns) -> list[str]:
    """Say which classifiers give the same vote to all cases."""
    said = zip(patterns.names, map(only_value, patterns.rows.T), strict=True)
    return [
        f"{name} votes {vote:.0f} in every case, so its estimates rest on the prior "
        "and on the other classifiers."
        for name, vote in said
        if np.isfinite(vote)
    ]


def record(
    model: LatentModel | FromLabels,
    dependence: str,
    flat: dict[str, Floats],
    found: Diagnostics,
    identified: bool,
    notes: Sequence[str],
    level: float,
) -> LatentPosterior:
    """Write a posterior down; what votes alone do not determine has no value."""
    known, x = identified or dependence != "shared", model.patterns

    def each(word: str, names: Sequence[str]) -> Mapping[str, Estimate]:
        pairs = zip(names, flat[word].T, strict=True)
        return MappingProxyType(
            {n: summary_of_draws(c, level, known=known) for n, c in pairs}
        )

    phi = each("prevalence", x.populations)
    return LatentPosterior(
        phi if len(phi) > 1 else phi[x.populations[0]],  # a single one has no name
        each("sensitivity", x.names),
        each("specificity", x.names),
        dependence,
        identified,
        np.nan,
        None,
        tuple(notes),
        found,
        MappingProxyType(flat),
        level,
        model,
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
        """Give the name of every parameter, with the joint share of each pattern."""
        rows = [pattern_word(row) for row in self.patterns.rows]
        more = [f"{word}[{row}]" for word in ("positive", "negative") for row in rows]
        return (*parameter_labels(self.patterns), *more)

    def draws(self, rng: Rng) -> tuple[dict[str, Floats], float]:
        """Draw all parameters, and say how many independent draws they are worth."""
        x = self.patterns
        seen = ~np.isnan(x.rows)
        verdicts = center_verdicts(
            x.names, x.rows, pos=x.pos[0], neg=x.neg[0], unknown=x.unknown[0]
        )
        data = regressors_by_design(verdicts, self.labelled)
        positive, negative, worth = draw_joint_proportions(data, rng)
        # accuracies are sums of joint shares over patterns with a vote, over the share
        # of the class, so that rate and accuracies always agree
        hit, alarm = (
            part @ (x.rows == 1) / np.maximum(part @ seen.astype(float), 1e-300)
            for part in (positive, negative)
        )
        phi = positive.sum(axis=1, keepdims=True)
        flat = {"prevalence": phi, "sensitivity": hit, "specificity": 1 - alarm}
        return flat | {"positive": positive, "negative": negative}, worth

    def class_probabilities(
        self, flat: Mapping[str, Floats], rows: Floats
    ) -> tuple[Floats, Floats]:
        """Give the probability of each pattern in positives and in negatives."""
        mine = self.patterns.rows
        out = np.zeros((2, len(flat["positive"]), len(rows)))
        for j, row in enumerate(rows):
            seen = ~np.isnan(row)
            known = ~np.isnan(mine[:, seen]).any(axis=1)
            same = known & (np.nan_to_num(mine[:, seen]) == row[seen]).all(axis=1)
            for c, word in enumerate(("positive", "negative")):
                of = np.maximum(flat[word][:, known].sum(axis=1), 1e-300)
                out[c, :, j] = flat[word][:, same].sum(axis=1) / of
        return out[0], out[1]


def _by_labels(
    fit: LatentModel, labelled: str, draws: int, level: float, rng: Rng
) -> LatentPosterior:
    """Take rate and accuracies from the labels, with errors of any kind."""
    patterns = fit.patterns
    model = FromLabels(patterns, labelled)
    flat, worth = model.draws(rng)
    worth = min(worth, float(len(flat["prevalence"])))
    sd = np.hstack(list(flat.values())).std(axis=0, ddof=1)
    message = f"{worth:,.0f} effective draws from the labels"
    found = Diagnostics(
        *(True, message, worth, np.array(model.labels), sd / np.sqrt(worth)), len(sd)
    )
    alone = fitted(fit, "none", draws, level, rng)
    notes = [LABELS[labelled].format(independent=_rate(alone))]
    known = zip(("positive", "negative"), PARAMETERS[1:], patterns.labels, strict=True)
    notes += [
        f"Only {number:.0f} of the labels are {word}, so the {of} is poorly known."
        for word, of, number in known
        if number < LEAST
    ]
    notes += constant_votes(patterns)
    post = record(model, "labels", flat, found, True, notes, level)
    return replace(post, independent=alone)


LABELS = {
    how: "Rate and accuracies come from the labels; nothing is assumed about the "
    f"errors of the classifiers. The labelled cases are assumed to be chosen {word}. "
    "If errors were independent, the rate would be {independent}."
    for how, word in (("random", "at random"), ("by verdict", "by their votes only"))
}


def _rate(post: LatentPosterior) -> str:
    """Write the prevalence, of the first population."""
    e = next(iter(post.estimates.values()))
    if post.open:
        return f"between {percent(e.low)} and {percent(e.high)}"
    return f"{percent(e.value)} ({percent(e.low)} to {percent(e.high)})"


def _shared_notes(
    post: LatentPosterior, alone: LatentPosterior, gain: float
) -> list[str]:
    """Say what shared errors change, and which model the votes prefer."""
    name = post.names[0]
    populations = post.populations
    where = f" in {populations[0]}" if len(populations) > 1 else ""
    first = "" if post.identified else ALONE
    prior = ""
    if not alone.identified:  # not even then would votes be enough
        first = first.replace(NONE, "")
        prior = ", from the prior"
    return [
        f"{first}If classifiers may make the same errors, the prevalence{where} is "
        f"{_rate(post)} and the sensitivity of {name} {span(post.sensitivity[name])}. "
        f"If errors were independent, they would be {_rate(alone)} and "
        f"{alone.sensitivity[name].value:.3f}{prior}. {_evidence(gain)}"
    ]


def _evidence(log_bayes_factor: float) -> str:
    """Say which model the votes prefer, and by how much."""
    over = "more than " if abs(log_bayes_factor) > 50 else ""
    factor = np.exp(min(abs(log_bayes_factor), 50.0))
    more = f"{over}{factor:,.3g} times"
    if log_bayes_factor > CLEAR:
        return (
            f"The votes contradict independent errors: they are {more} as probable "
            "if errors may be shared."
        )
    if log_bayes_factor < -CLEAR:
        return (
            f"The votes are {more} as probable if errors are independent, but they "
            "agree with some that are shared."
        )
    likelier = "may be shared" if log_bayes_factor > 0 else "are independent"
    return (
        "The votes do not clearly tell shared from independent errors: they are "
        f"{more} as probable if errors {likelier}."
    )


NONE = ', or, if errors are known to be independent, pass dependence="none"'
ALONE = (
    "Not identified: votes alone do not determine prevalence and accuracies, because "
    "classifiers may make the same errors. Label some cases (50 at random are a good "
    f"start){NONE}. "
)


def degrees_of_freedom(patterns: Patterns) -> tuple[int, int, int]:
    """How many numbers can the table tell, how many are asked, how many can be known?

    The last is the rank of the derivative of all probabilities (Jones et al. 2010).
    """
    s, k = len(patterns.populations), len(patterns.names)
    parameters = s + 2 * k
    # which sets of tests were run, in which population, with or without labels
    x = patterns
    designs = sorted({
        (i, tuple(~np.isnan(row)), labelled)
        for labelled, cases in ((False, x.unknown), (True, x.pos + x.neg))
        for i in range(s)
        for row in x.rows[cases[i] > 0]
    })  # fmt: skip
    free = sum(2 ** (sum(seen) + labelled) - 1 for _, seen, labelled in designs)
    if k > MOST_RANKED:
        return free, parameters, min(free, parameters)
    general = np.random.default_rng(0)  # any point that is not special
    ranges = ((0.2, 0.8, s), (0.55, 0.95, k), (0.05, 0.45, k))
    at = np.concatenate([general.uniform(*r) for r in ranges])
    # complex steps differentiate without rounding (Squire, Trapp 1998)
    steps = at + 1e-30j * np.eye(parameters)
    rows = np.hstack([[_chances(x, s, *d) for x in steps] for d in designs]).imag.T
    size = np.linalg.norm(rows, axis=0)
    rank = np.linalg.matrix_rank(rows / np.where(size > 0, size, 1), tol=1e-7)
    return free, parameters, int(rank)


def _chances(
    at: Array, sites: int, s: int, seen: tuple[bool, ...], labelled: bool
) -> Array:
    """Give the probabilities of all patterns of one design, at phi, alpha and beta."""
    alpha, beta = (part[np.array(seen)] for part in np.split(at[sites:], 2))
    x = np.array(list(product((False, True), repeat=sum(seen))))
    a = at[s] * np.where(x, alpha, 1 - alpha).prod(axis=1)
    b = (1 - at[s]) * np.where(x, beta, 1 - beta).prod(axis=1)
    return np.concatenate([a, b]) if labelled else a + b
