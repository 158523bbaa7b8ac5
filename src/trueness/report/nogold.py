"""How good is each test, when nobody knows the truth? A report without labels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from trueness._core.checks.errors import InputError
from trueness._core.figures import intervals
from trueness._core.names import told_apart
from trueness._core.numbers import counted, percent
from trueness._core.records import Estimate, shown
from trueness.counts.values import Panel
from trueness.ensembles.without_labels import Agreement, agreement
from trueness.nogold.combinations.best import best_combination
from trueness.nogold.combinations.records import Combination
from trueness.nogold.dependence import conditional_dependence
from trueness.nogold.fitting import latent_class
from trueness.nogold.posterior import LatentPosterior
from trueness.nogold.sentences import (
    combination_sentence,
    credible_sentence,
    dependence_sentence,
)
from trueness.report import svg
from trueness.report._parts import Page, Section, Tile, grid
from trueness.report.inputs import NAME

_KEITH = (
    "Latent class model: given the truth, tests make their errors independently of "
    "each other; uniform priors with sensitivity at least 1 - specificity (Keith, "
    "Davey and Boyd 2012, doi:10.1186/1471-2105-13-179)."
)
_AGREE = (
    "If classifiers make their errors independently, the covariance of their ranks "
    "determines their AUCs and the prevalence (after Kim et al. 2021, "
    "doi:10.1073/pnas.2100761118)."
)


_PRIOR = (
    "The data alone do not determine the answer: without more tests or cases whose "
    "truth is known, part of it comes from the prior."
)


def is_votes(panel: Panel) -> bool:
    """Are all outputs yes or no?"""
    rows = panel.rows[~np.isnan(panel.rows)]
    return bool(np.isin(rows, (0.0, 1.0)).all())


def without_labels(
    data: Any,
    *,
    title: str,
    facts: Any,
    level: float = 0.95,
    rng: Any = 0,
    command: str = "",
) -> Page:
    """Report on tests or scores for which no case has a label."""
    if not isinstance(data, Panel) or len(data.names) < 2:
        raise InputError(
            "Without any label a report needs several classifiers on the same cases; "
            "found one. Name the column of the labels, or more classifiers."
        )
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        if is_votes(data):
            found = latent_class(data, rng=rng, level=level)
            rule = best_combination(found)
            section, answers = _votes(data, found, rule)
            tiles = (_tile("prevalence", found.prevalence), *_rule_tiles(rule))
            joint = conditional_dependence(found, rng=rng)
            together = dependence_sentence(joint, found)
            replaced = found.independent is not found
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
            together, replaced = "", False
    mind = [str(w.message) for w in raised] + ([together] if together else [])
    mind.append(_SHARED if replaced else _INDEPENDENT)
    summary = (*answers, ("What should you keep in mind?", tuple(mind)))
    title = title or "How good are these tests?"
    return Page(title, facts, tiles, summary, None, (section,), command=command)


_INDEPENDENT = (
    "All results assume that, given the truth, the classifiers make their errors "
    "independently. If two of them make the same errors, both look better than they "
    "are. Verify a sample of the cases if you can."
)
_SHARED = (
    "Of the models in which tests make the same errors, the one that predicts the "
    "verdicts best was taken; others may fit as well and give other results. Verify a "
    "sample of the cases if you can."
)


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
    texts = told_apart(list(panel.names), NAME)
    sens = [found.sensitivity[n] for n in panel.names]
    spec = [found.specificity[n] for n in panel.names]
    rows = list(zip(texts, sens, spec, strict=True))
    section = Section(
        "nogold",
        "How good is each test?",
        words=(combination_sentence(rule), *found.notes),
        figures=(
            _forest("Sensitivity", dict(zip(texts, sens, strict=True))),
            _forest("Specificity", dict(zip(texts, spec, strict=True))),
        ),
        tables=(grid("Tests", ("test", "sensitivity", "specificity"), rows),),
        method=_KEITH,
        caveat="The intervals are posterior (credible) intervals.",
    )
    best = max(range(len(sens)), key=lambda k: sens[k].value)
    careful = max(range(len(spec)), key=lambda k: spec[k].value)
    p = found.prevalence
    answers = (
        ("What was measured?", (
            f"{counted(len(texts), 'test')} on {counted(panel.n, 'case')}; it is not "
            "known which cases have the condition.",)),
        ("How common is the condition?", (
            credible_sentence("The prevalence", p),)),
        ("How good are the tests?", (
            f"{texts[best]} has the highest sensitivity: it finds "
            f"{percent(sens[best].value)} of the cases with the condition.",
            f"{texts[careful]} has the highest specificity: it flags only "
            f"{percent(1 - spec[careful].value)} of the cases without it.",
        )),
        ("What should you do?", (combination_sentence(rule),)),
        ("How sure are we?", (
            credible_sentence(f"The sensitivity of {texts[best]}", sens[best]),
            *(() if found.identified else (_PRIOR,)),
        )),
    )  # fmt: skip
    return section, answers


def _forest(title: str, values: dict[str, Estimate]) -> Any:
    return svg.forest(intervals(title, title.lower(), values), of="test")


def _scores(panel: Panel, found: Agreement) -> tuple[Section, Any]:
    texts = told_apart(list(panel.names), NAME)
    values = [found.auc[n] for n in panel.names]
    rows = list(zip(texts, values, strict=True))
    section = Section(
        "nogold",
        "How good is each classifier?",
        figures=(
            svg.forest(
                intervals(
                    "AUC without labels", "AUC", dict(zip(texts, values, strict=True))
                ),
                of="classifier",
            ),
        ),
        tables=(grid("AUC, from agreement alone", ("classifier", "AUC"), rows),),
        method=_AGREE,
        caveat=_misfit(found),
    )
    best = max(range(len(values)), key=lambda k: values[k].value)
    answers = (
        ("What was measured?", (
            f"{len(texts)} classifiers on {counted(panel.n, 'case')} without any "
            "label.",)),
        ("How common is the condition?", (
            credible_sentence("The prevalence", found.prevalence),)),
        ("How good are they?", (
            f"{texts[best]} ranks best, with an AUC of about "
            f"{values[best].value:.3f}.",)),
        ("How sure are we?", (
            credible_sentence(f"The AUC of {texts[best]}", values[best]),)),
        ("What should you do?", (
            f"Rank the cases by {texts[best]}, or by all classifiers together, which "
            "FiDEL combines without labels. Then verify a sample of the cases, from "
            "the top of the ranking and from below.",)),
    )  # fmt: skip
    return section, answers


def _misfit(found: Agreement) -> str:
    if np.isnan(found.misfit):
        return (
            "With three classifiers the assumption of independent errors cannot be "
            "checked, and it was not."
        )
    return (
        "Check of the assumption: if the classifiers made their errors independently, "
        "agreement as far from the model as this would be seen with a probability of "
        f"{found.misfit:.2g}. Near 0 the estimates cannot be trusted. An error that "
        "all of them share cannot be seen in this way."
    )
