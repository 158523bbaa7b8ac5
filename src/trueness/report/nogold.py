"""How good is each test, when nobody knows the truth? A report without labels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from trueness._core.checks.errors import InputError
from trueness._core.records import Estimate, shown
from trueness.counts.values import Panel
from trueness.ensembles.without_labels import Agreement, agreement
from trueness.nogold.combinations.best import best_combination
from trueness.nogold.combinations.records import Combination
from trueness.nogold.dependence import Dependence, conditional_dependence
from trueness.nogold.posterior import LatentPosterior, latent_class
from trueness.report import estimates
from trueness.report._parts import (
    Page,
    Section,
    Tile,
    confidence,
    grid,
    names_shown,
    percent,
)

DOUBT = 0.05
_KEITH = (
    "Latent classes: tests err independently of each other given the truth; uniform "
    "priors with sensitivity at least 1 - specificity (Keith, Davey, Boyd 2012, "
    "doi:10.1186/1471-2105-13-179)."
)
_AGREE = (
    "The covariance of ranks between classifiers that err independently tells their "
    "AUCs and the prevalence (after Kim et al. 2021, doi:10.1073/pnas.2100761118)."
)


_PRIOR = (
    "The data alone cannot answer: without more tests or known cases part of the "
    "answer comes from the prior."
)


def is_votes(panel: Panel) -> bool:
    """Are all outputs yes or no?"""
    rows = panel.rows[~np.isnan(panel.rows)]
    return bool(np.isin(rows, (0.0, 1.0)).all())


def without_labels(
    data: Any, *, title: str, facts: Any, level: float, rng: Any
) -> Page:
    """Report on tests or scores for which no case has a label."""
    if not isinstance(data, Panel) or len(data.names) < 2:
        raise InputError(
            "Without any label a report needs several classifiers on the same cases; "
            "name the column of the labels, or more classifiers."
        )
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        if is_votes(data):
            found = latent_class(data, rng=rng, level=level)
            rule = best_combination(found)
            section, answers = _votes(data, found, rule)
            tiles = (_tile("prevalence", found.prevalence), *_rule_tiles(rule))
            together = err_together(conditional_dependence(found, rng=rng))
        else:
            agreed = agreement(data, level=level)
            section, answers = _scores(data, agreed)
            best = max(agreed.auc, key=lambda name: agreed.auc[name].value)
            value = agreed.auc[best]
            tiles = (
                _tile("prevalence", agreed.prevalence),
                Tile(
                    f"AUC of {shown(best, 40)}",
                    f"{value.value:.3f}",
                    f"{value.low:.3f} to {value.high:.3f}",
                ),
            )
            together = ""
    beware = [str(w.message) for w in raised] + ([together] if together else [])
    beware.append(
        "Everything here rests on the assumption that the errors of the classifiers "
        "are independent given the truth. If two of them share their errors, both look "
        "better than they are. Verify a sample of the cases if you can."
    )
    summary = (*answers, ("What to beware of?", tuple(beware)))
    title = title or "How good are these tests?"
    return Page(title, facts, tiles, summary, None, (section,))


def _tile(name: str, e: Estimate) -> Tile:
    return Tile(name, percent(e.value), f"{percent(e.low)} to {percent(e.high)}")


def _rule_tiles(rule: Combination) -> tuple[Tile, ...]:
    return (
        Tile("best rule", shown(rule.formula, 60), ""),
        _tile("its sensitivity", rule.sensitivity),
        _tile("its specificity", rule.specificity),
    )


def _votes(
    panel: Panel, found: LatentPosterior, rule: Combination
) -> tuple[Section, Any]:
    texts = names_shown(list(panel.names))
    sens = [found.sensitivity[n] for n in panel.names]
    spec = [found.specificity[n] for n in panel.names]
    rows = list(zip(texts, sens, spec, strict=True))
    section = Section(
        "nogold",
        "How good is each test?",
        words=(_combined(rule), *found.notes),
        figures=(
            estimates.figure("Sensitivity", texts, sens, "sensitivity", of="test"),
            estimates.figure("Specificity", texts, spec, "specificity", of="test"),
        ),
        tables=(grid("Tests", ("test", "sensitivity", "specificity"), rows),),
        method=_KEITH,
        caveat="Intervals are posterior ones; their level is that of the report.",
    )
    best = max(range(len(sens)), key=lambda k: sens[k].value)
    careful = max(range(len(spec)), key=lambda k: spec[k].value)
    p = found.prevalence
    answers = (
        ("What was measured?", (f"{len(texts)} tests on {panel.n:,} cases; nobody "
                                "knows who has the condition.",)),
        ("How common is the condition?", (_between("The prevalence", p),)),
        ("How good are the tests?", (
            f"{texts[best]} finds most: {percent(sens[best].value)} of those who have "
            "it.",
            f"{texts[careful]} raises the fewest false alarms: it flags "
            f"{percent(1 - spec[careful].value)} of those who do not have it.",
        )),
        ("What to do?", (_combined(rule),)),
        ("How sure are we?", (
            _between(f"The sensitivity of {texts[best]}", sens[best]),
            *(() if found.identified else (_PRIOR,)),
        )),
    )  # fmt: skip
    return section, answers


def err_together(d: Dependence) -> str:
    """Say which tests seem to share their errors, beyond what the model explains."""
    # two looks at each pair, the score test where there is one: the better one counts
    # twice
    looks = 1 + np.isfinite(d.score_p_value)
    p_value = np.minimum(1.0, looks * np.fmin(d.p_value, d.score_p_value))
    sure = p_value < DOUBT
    pairs = [
        f"{shown(a)} and {shown(b)} (p = {p:.2g})"
        for a, b, p in zip(d.first[sure], d.second[sure], p_value[sure], strict=True)
    ]
    if pairs:
        named = ", ".join(pairs)
        return f"These tests err together, which the model does not know: {named}."
    if not np.isfinite(d.p_value).all():
        return d.note
    return (
        "A check for tests that err together found nothing beyond chance (smallest p = "
        f"{float(p_value.min()):.2g}). {d.note}"
    )


def _combined(rule: Combination) -> str:
    return (
        f"The best combination is: {shown(rule.formula, 300)}. It finds "
        f"{percent(rule.sensitivity.value)} of those who have the condition and leaves "
        f"{percent(rule.specificity.value)} of the others alone."
    )


def _scores(panel: Panel, found: Agreement) -> tuple[Section, Any]:
    texts = names_shown(list(panel.names))
    values = [found.auc[n] for n in panel.names]
    rows = list(zip(texts, values, strict=True))
    section = Section(
        "nogold",
        "How good is each classifier?",
        figures=(estimates.figure("AUC without labels", texts, values, "AUC"),),
        tables=(grid("AUC, from agreement alone", ("classifier", "AUC"), rows),),
        method=_AGREE,
        caveat=_misfit(found),
    )
    best = max(range(len(values)), key=lambda k: values[k].value)
    answers = (
        ("What was measured?", (f"{len(texts)} classifiers on {panel.n:,} cases "
                                "without any label.",)),
        ("How common is the condition?", (
            _between("The prevalence", found.prevalence),)),
        ("How good are they?", (
            f"{texts[best]} ranks best, with an AUC of about "
            f"{values[best].value:.3f}.",)),
        ("How sure are we?", (_between(f"The AUC of {texts[best]}", values[best]),)),
        ("What to do?", (
            f"Rank by {texts[best]}, or by all of them together: trueness.fidel takes "
            "them without labels. Then verify a sample of the cases, from the top of "
            "the ranking and from below.",)),
    )  # fmt: skip
    return section, answers


def _misfit(found: Agreement) -> str:
    if np.isnan(found.misfit):
        return "Three classifiers cannot contradict each other: nothing was checked."
    return (
        "If the classifiers erred independently, agreement as far from the model as "
        f"this would be seen with a probability of {found.misfit:.2g}; near 0 the "
        "estimates cannot be trusted. An error that all of them share looks like truth."
    )


def _between(what: str, e: Estimate) -> str:
    return (
        f"{what} is about {percent(e.value)}; with a probability of "
        f"{confidence(e.level)} it lies between {percent(e.low)} and {percent(e.high)}."
    )
