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
from typing import Any, NamedTuple

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
    by_name,
    read_patterns,
    read_prior,
)
from trueness.nogold.posterior import PARAMETERS, LatentPosterior, estimate
from trueness.nogold.predictive import left_out, pointwise, spread
from trueness.nogold.random_effect import RandomEffect
from trueness.nogold.sampling import enumeration as _enumeration
from trueness.nogold.sampling.strategy import (
    Diagnostics,
    diagnose,
    diagnose_sample,
    natural,
    sample,
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


class Sampling(NamedTuple):
    """How is a posterior to be sampled and told?"""

    method: str
    draws: int  # effective ones, of every parameter
    chains: int
    level: float
    rng: np.random.Generator


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
    how = Sampling(
        _options.choice(method, METHODS, "method"),
        _options.whole_number(draws, "draws", at_least=100),
        _options.whole_number(chains, "chains", at_least=2),
        _options.fraction(level, "level"),
        _options.generator(rng),
    )
    if method == "exact":
        _votes.few_terms(_enumeration.terms(patterns), _enumeration.MANY)
    _options.choice(dependence, DEPENDENCE, "dependence")
    full = read_prior(prior, patterns, ordered)
    base = Independent(patterns, full)
    if dependence == "labels":
        _votes.labels_of_both(patterns, _labels.LEAST)
        return from_labels(base, how)
    if dependence != "auto":
        return posterior(with_dependence(base, dependence), how)
    fewer = without_copies(patterns, base.prior)
    if fewer is not None:
        base = Independent(*fewer[:2])
    post = _checked(posterior(base, how), how, free=prior is None)
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
    known = list(post.estimates.values())
    _, sens, spec = by_name(model.patterns, [known[i] for i in at if i < len(known)])
    before = post.independent
    return replace(
        post,
        sensitivity=sens,
        specificity=spec,
        diagnostics=replace(d, parameter=np.array(model.labels), **each),
        _chains=MappingProxyType(model.expanded(post.chains)),
        _model=model,
        _independent=None
        if before is post
        else _with_copies(before, replace(model, inner=before.model)),
    )


def _checked(post: LatentPosterior, how: Sampling, *, free: bool) -> LatentPosterior:
    """Test the assumption of independent errors; where it fails, fit without it.

    With labels of both classes they are asked, since no model of errors is safe; they
    are believed at the first doubt. Otherwise the model is reported that predicts the
    votes best. A test that is silent proves nothing with few cases: where shared errors
    explain the votes as well, the answer says so.
    """
    found = check(post.model, post.flat, how.rng)
    labelled = free and _labels.possible(post.model.patterns)
    quiet = found.seen and not found.note
    doubt = undecided(post.model, post.flat, found.p_value) if quiet else ""
    if labelled and (doubt or not found.p_value > DOUBT):
        other = from_labels(post.model, how)
        note = by_labels_note(found, post, other)
        return replace(other, notes=(*other.notes, note), _independent=post)
    note = found.note or doubt
    if not note or not post.identified:  # the note on that says more
        return post
    if doubt:
        return replace(post, identified=False, notes=(*post.notes, doubt))
    if not found.seen:
        # several populations with common accuracies are an assumption of their own
        unsure = len(post.populations) == 1
        return replace(post, identified=not unsure, notes=(*post.notes, found.note))
    return _predicting_best(post, found, how)


def _predicting_best(
    post: LatentPosterior, found: SharedErrors, how: Sampling
) -> LatentPosterior:
    """Fit the models with dependence, and report the one that predicts best."""
    method = how.method if how.method in ("auto", "importance") else "auto"
    how = how._replace(method=method)
    few = how._replace(draws=min(how.draws, CANDIDATE))
    tried = {"none": post}
    with warnings.catch_warnings():
        # a candidate is only compared; the one that is reported warns for itself
        warnings.simplefilter("ignore", NotConverged)
        for word in MODELS:
            tried[word] = posterior(with_dependence(post.model, word), few)
    fit = {w: pointwise(p.model, p.flat, p.populations) for w, p in tried.items()}
    each = {w: left_out(log_p) for w, (log_p, _, _) in fit.items()}
    count = fit["none"][1]
    best = max(each, key=lambda w: float(each[w] @ count))
    chosen = tried[best]
    if best != "none" and few != how:
        chosen = posterior(chosen.model, how)
    gain = each[best] - each["none"]
    total = float(gain @ count)
    note = chosen_note(found, best, total, spread(gain, count), tried, chosen)
    return replace(
        chosen, identified=False, notes=(*chosen.notes, note), _independent=post
    )


def from_labels(base: Independent, how: Sampling) -> LatentPosterior:
    """Take rate and accuracies from the labels, with errors of any kind."""
    model = _labels.FromLabels(base.patterns, base.prior)
    steps = -(-int(2 * how.draws + 200) // how.chains)
    flat, worth = model.draws(how.chains * steps, how.rng)
    by_chain, columns = _by_chain(flat, how.chains)
    found = diagnose(columns, model.labels, how.draws, "importance", worth=worth)
    notes = constant_votes(model.patterns)
    return _written(model, by_chain, found, (True, tuple(notes)), how.level)


def posterior(model: Any, how: Sampling) -> LatentPosterior:
    """Sample a model and write down what was found."""
    found = sample(model, how.method, how.draws, how.chains, how.rng)
    flat = natural(model, found.theta.reshape(-1, found.theta.shape[2]))
    by_chain, columns = _by_chain(flat, len(found.theta))
    diagnostics = diagnose_sample(found, model, columns, how.draws)
    if not diagnostics.converged:
        warnings.warn(f"latent_class: {diagnostics.message}.", NotConverged, 3)
    said = remarks(model, flat, how.rng)
    return _written(model, by_chain, diagnostics, said, how.level)


def _by_chain(flat: dict[str, Floats], chains: int) -> tuple[dict[str, Floats], Floats]:
    """Give the draws of each chain, (chains, steps, size), also all side by side."""
    out = {k: v.reshape(chains, -1, v.shape[1]) for k, v in flat.items()}
    return out, np.concatenate(list(out.values()), axis=2)


def _written(
    model: Any,
    by_chain: dict[str, Floats],
    diagnostics: Diagnostics,
    said: tuple[bool, tuple[str, ...]],
    level: float,
) -> LatentPosterior:
    """Summarise draws."""
    parts = [by_chain[word].reshape(-1, by_chain[word].shape[2]) for word in PARAMETERS]
    each = [estimate(column, level) for part in parts for column in part.T]
    return LatentPosterior(
        *by_name(model.patterns, each),
        *said,
        diagnostics,
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
