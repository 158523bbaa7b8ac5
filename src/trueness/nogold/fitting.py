r"""How good is each test, and how common is the condition, when nobody knows the truth?

``latent_class`` takes a panel of 0/1 votes and gives the joint posterior of prevalence,
sensitivities and specificities under the model of Keith, Davey, Boyd (2012): votes are
independent given the truth, and priors are uniform on alpha_k >= beta_k (a vote for
"positive" is no less likely for a positive case). Labels that are known count as known.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import NotConverged
from trueness.counts.answers import of_panel
from trueness.nogold import _checks as _votes
from trueness.nogold import from_labels as _labels
from trueness.nogold.copies import (
    ALL_AGREE,
    Copied,
    copies_note,
    nearly_copied,
    without_copies,
)
from trueness.nogold.covariances import likely_pairs
from trueness.nogold.dependent import Dependent
from trueness.nogold.difficulty import Difficulty
from trueness.nogold.identifiability import constant_votes, remarks
from trueness.nogold.model import (
    Independent,
    parameter_labels,
    read_patterns,
    read_prior,
)
from trueness.nogold.posterior import LatentPosterior, estimate
from trueness.nogold.predictive import left_out, pointwise, spread
from trueness.nogold.random_effect import RandomEffect
from trueness.nogold.sampling import enumeration as _enumeration
from trueness.nogold.sampling.strategy import (
    Diagnostics,
    diagnose,
    natural,
    sample,
    weighted_diagnostics,
)
from trueness.nogold.shared_errors import (
    DOUBT,
    SharedErrors,
    by_labels_note,
    check,
    chosen_note,
    undecided,
)

CANDIDATE = 500  # draws of a model that is only compared
METHODS = ("auto", "importance", "gibbs", "exact")


@of_panel(weights="Its likelihood is that of independent cases.")
def latent_class(
    panel: Any,
    *,
    prior: Mapping[str, Any] | None = None,
    draws: int = 10_000,
    chains: int = 4,
    rng: int | np.random.Generator | None = 0,
    ordered: bool = True,
    level: float = 0.95,
    method: str = "auto",
    dependence: str = "auto",
) -> LatentPosterior:
    r"""How good is each test, and how common is the condition, without a gold standard?

    .. math::

       P(x) = \phi \prod_k \alpha_k^{x_k} (1 - \alpha_k)^{1 - x_k}
            + (1 - \phi) \prod_k \beta_k^{x_k} (1 - \beta_k)^{1 - x_k}

    Parameters
    ----------
    panel
        A panel of 0/1 votes of K >= 2 classifiers; NaN is a test that was not run.
        Cases whose label is known count as known, which assumes that verification
        depended on nothing but the votes. A mapping from name to panel gives each
        population its own prevalence, with common accuracies (Hui, Walter 1980).
    prior
        Beta distributions, ``{"prevalence": (a, b), "sensitivity": {"A": (a, b)}}``:
        one pair for all, or a mapping by name. A parameter that is not named has a
        uniform prior.
    draws
        Effective number of draws for every parameter; the number of rows may be larger.
    chains
        Independent chains, for R-hat.
    rng
        A seed or a NumPy generator.
    ordered
        Whether alpha_k >= beta_k is certain (the paper's constraint; the prior is then
        uniform on that triangle). Without it the classes may be interchanged: a note
        says when they do.
    level
        Probability of the equal-tailed credible intervals.
    method : {"auto", "importance", "gibbs", "exact"}
        How to sample; see Notes.
    dependence : {"auto", "none", "random effect", "pairs", "easy and hard", "labels"}
        Whether classifiers may make the same errors. "auto" assumes that they do not,
        and tests this assumption automatically; classifiers that agree in every case
        count once. Where the test rejects it, the answer comes from the labels if there
        are some of both classes ("labels": errors of any kind, estimated as by
        :func:`trueness.prevalence`), and otherwise from the model with dependence that
        predicts the votes best; ``notes`` say what was found and what it changed. Where
        it does not reject, errors that correlate by 0.2 and 0.4 are tried: if the votes
        are about as likely under them, ``identified`` is False and a note says how far
        the answer would move. "none" assumes independence and adds no note. The models
        with dependence are "random effect", with cases that are hard for all of them
        (Qu, Tan, Kutner 1996), "pairs" (Dendukuri, Joseph 2001; those whose errors are
        most correlated), and "easy and hard", with cases that are easy for all of them
        (Albert, Dodd 2004). Each of these models adds parameters for each class.

    Returns
    -------
    LatentPosterior
        With prevalence, sensitivity, specificity, draws, diagnostics and notes.

    Notes
    -----
    Keith, Davey, Boyd 2012, Methods. The posterior depends on pattern counts only, so
    the cost does not grow with the number of cases. ``auto`` sums over all latent
    counts where these are few, and otherwise samples by importance
    (``diagnostics.method`` says which ran). A ``NotConverged`` warning says when there
    are fewer effective draws than asked for.

    References
    ----------
    Keith, Davey, Boyd 2012, BMC Bioinformatics 13:179, doi:10.1186/1471-2105-13-179.
    Joseph, Gyorkos, Coupal 1995, Am. J. Epidemiol. 141:263,
    doi:10.1093/oxfordjournals.aje.a117428.
    Qu, Tan, Kutner 1996, Biometrics 52:797, doi:10.2307/2533043.
    Hui, Walter 1980, Biometrics 36:167, doi:10.2307/2530508.

    Examples
    --------
    All labels known, uniform priors, no order: Beta(1 + 3, 1 + 1) has the mean 4/6.

    >>> from trueness import Panel
    >>> p = Panel(["A", "B"], [[1, 1], [0, 1], [0, 0]], pos=[3, 1, 0], neg=[0, 0, 4])
    >>> post = latent_class(p, ordered=False, rng=1)
    >>> round(post.sensitivity["A"].value, 2)
    0.67
    """
    patterns = read_patterns(panel)
    _votes.not_too_many(int(patterns.total.sum()))
    draws = _options.whole_number(draws, "draws", at_least=100)
    chains = _options.whole_number(chains, "chains", at_least=2)
    level = _options.fraction(level, "level")
    _options.choice(method, METHODS, "method")
    if method == "exact":
        _votes.few_terms(_enumeration.terms(patterns), _enumeration.MANY)
    _options.choice(dependence, DEPENDENCE, "dependence")
    rng = _options.generator(rng)
    full = read_prior(prior, patterns, ordered)
    base = Independent(patterns, full)
    if dependence == "labels":
        _votes.labels_of_both(patterns, _labels.LEAST)
        return from_labels(base, draws, chains, level, rng)
    if dependence != "auto":
        model = with_dependence(base, dependence)
        return posterior(model, method, draws, chains, level, rng)
    fewer = without_copies(patterns, base.prior)
    if fewer is not None:
        base = Independent(*fewer[:2])
    post = posterior(base, method, draws, chains, level, rng)
    post = _checked(post, method, draws, chains, free=prior is None, rng=rng)
    note, alone = copies_note(patterns), not isinstance(post.model, _labels.FromLabels)
    if fewer is not None:
        post = _with_copies(post, Copied(patterns, full, post.model, fewer[2]))
    elif note != ALL_AGREE:  # copies of which the prior says something else
        note = ""
    free = prior is None and not (patterns.pos.any() or patterns.neg.any())
    near = nearly_copied(base.patterns) if free else ""
    unsure = alone and bool(near or note == ALL_AGREE)
    said = [n for n in (note, near) if n] if fewer is not None or unsure else []
    return replace(
        post,
        identified=post.identified and not unsure,
        notes=(*said, *post.notes),
    )


def _with_copies(post: LatentPosterior, model: Copied) -> LatentPosterior:
    """Write down also the classifiers that were counted once, with their originals."""
    d, at = post.diagnostics, model.places()
    each = {k: getattr(d, k)[at] for k in ("r_hat", "ess_bulk", "ess_tail", "mcse")}
    names = model.patterns.names
    more = post.diagnostics.parameter[len(parameter_labels(post.model.patterns)) :]
    labels = np.array([*parameter_labels(model.patterns), *more])
    before = post.independent
    sens, spec = (
        MappingProxyType(
            {n: of[post.names[i]] for n, i in zip(names, model.source, strict=True)}
        )
        for of in (post.sensitivity, post.specificity)
    )
    return replace(
        post,
        sensitivity=sens,
        specificity=spec,
        diagnostics=replace(d, parameter=labels, **each),
        _names=names,
        _chains=MappingProxyType(model.expanded(post.chains)),
        _model=model,
        _independent=None
        if before is post
        else _with_copies(before, replace(model, inner=before.model)),
    )


def _checked(
    post: LatentPosterior,
    method: str,
    draws: int,
    chains: int,
    *,
    free: bool,
    rng: np.random.Generator,
) -> LatentPosterior:
    """Test the assumption of independent errors; where it fails, fit without it.

    With labels of both classes they are asked, since no model of errors is safe; they
    are believed at the first doubt. Otherwise the model is reported that predicts the
    votes best. A test that is silent proves nothing with few cases: where shared errors
    explain the votes as well, the answer says so.
    """
    found = check(post.model, post.flat, rng)
    labelled = free and _labels.possible(post.model.patterns)
    quiet = found.seen and not found.note
    doubt = undecided(post.model, post.flat, found.p_value) if quiet else ""
    if labelled and (doubt or not found.p_value > DOUBT):
        other = from_labels(post.model, draws, chains, post.level, rng)
        note = by_labels_note(found, post, other)
        return replace(other, notes=(*other.notes, note), _independent=post)
    note = found.note or doubt
    if not note or not post.identified:  # the note on that says more
        return post
    if doubt:
        return replace(post, identified=False, notes=(*post.notes, doubt))
    # several populations with common accuracies are an assumption of their own
    unsure = found.seen or len(post.populations) == 1
    if not found.seen:
        return replace(post, identified=not unsure, notes=(*post.notes, found.note))
    return _predicting_best(post, found, method, draws, chains, rng)


def _predicting_best(
    post: LatentPosterior,
    found: SharedErrors,
    method: str,
    draws: int,
    chains: int,
    rng: np.random.Generator,
) -> LatentPosterior:
    """Fit the models with dependence, and report the one that predicts best."""
    method = method if method in ("auto", "importance") else "auto"
    few = min(draws, CANDIDATE)
    tried = {"none": post}
    with warnings.catch_warnings():
        # a candidate is only compared; the one that is reported warns for itself
        warnings.simplefilter("ignore", NotConverged)
        for word in MODELS:
            model = with_dependence(post.model, word)
            tried[word] = posterior(model, method, few, chains, post.level, rng)
    fit = {w: pointwise(p.model, p.flat, p.populations) for w, p in tried.items()}
    each = {w: left_out(log_p) for w, (log_p, _, _) in fit.items()}
    count = fit["none"][1]
    best = max(each, key=lambda w: float(each[w] @ count))
    chosen = tried[best]
    if best != "none" and few < draws:
        chosen = posterior(chosen.model, method, draws, chains, post.level, rng)
    gain = each[best] - each["none"]
    total = float(gain @ count)
    note = chosen_note(found, best, total, spread(gain, count), tried, chosen)
    return replace(
        chosen, identified=False, notes=(*chosen.notes, note), _independent=post
    )


def from_labels(
    base: Independent, draws: int, chains: int, level: float, rng: np.random.Generator
) -> LatentPosterior:
    """Take rate and accuracies from the labels, with errors of any kind."""
    model = _labels.FromLabels(base.patterns, base.prior)
    steps = -(-int(2 * draws + 200) // chains)
    flat, worth = model.draws(chains * steps, rng)
    by_chain = {k: v.reshape(chains, steps, -1) for k, v in flat.items()}
    columns = np.concatenate(list(by_chain.values()), axis=2)
    found = weighted_diagnostics(columns, model.labels, worth, draws)
    notes = constant_votes(model.patterns)
    return _written(model, by_chain, flat, found, (True, tuple(notes)), level)


def posterior(
    model: Any,
    method: str,
    draws: int,
    chains: int,
    level: float,
    rng: np.random.Generator,
) -> LatentPosterior:
    """Sample a model and write down what was found."""
    found = sample(model, method, draws, chains, rng)
    c, steps, d = found.theta.shape
    flat = natural(model, found.theta.reshape(-1, d))
    by_chain = {k: v.reshape(c, steps, -1) for k, v in flat.items()}
    columns = np.concatenate(list(by_chain.values()), axis=2)
    diagnostics = diagnose(found, model, columns, model.labels, draws)
    if not diagnostics.converged:
        warnings.warn(f"latent_class: {diagnostics.message}.", NotConverged, 3)
    return _written(
        model, by_chain, flat, diagnostics, remarks(model, flat, rng), level
    )


def _written(
    model: Any,
    by_chain: dict[str, Floats],
    flat: dict[str, Floats],
    diagnostics: Diagnostics,
    said: tuple[bool, tuple[str, ...]],
    level: float,
) -> LatentPosterior:
    """Summarise draws."""
    patterns = model.patterns
    phi, sens, spec = (
        {n: estimate(flat[word][:, i], level) for i, n in enumerate(names)}
        for word, names in (
            ("prevalence", patterns.populations),
            ("sensitivity", patterns.names),
            ("specificity", patterns.names),
        )
    )
    single = len(patterns.populations) == 1
    return LatentPosterior(
        phi[patterns.populations[0]] if single else MappingProxyType(phi),
        MappingProxyType(sens),
        MappingProxyType(spec),
        *said,
        diagnostics,
        patterns.names,
        patterns.populations,
        MappingProxyType(by_chain),
        level,
        model,
    )


def with_dependence(model: Independent, dependence: str) -> Any:
    """Let the classifiers of a model err together."""
    if dependence in ("auto", "none"):
        return model
    return Dependent(
        model.patterns, model.prior, DEPENDENCE[dependence](model.patterns)
    )


DEPENDENCE: dict[str, Any] = {
    "auto": None,
    "none": None,
    "labels": None,
    "random effect": lambda patterns: RandomEffect(),
    "pairs": likely_pairs,
    "easy and hard": lambda patterns: Difficulty(),
}
MODELS = ("random effect", "pairs", "easy and hard")
