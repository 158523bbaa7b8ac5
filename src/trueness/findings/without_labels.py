"""How good is each test, when nobody knows the truth? Findings without labels."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from trueness._core.checks.errors import InputError
from trueness._core.figures import intervals
from trueness._core.names import told_apart
from trueness._core.numbers import counted, percent
from trueness._core.records import Estimate, shown
from trueness.counts.values import Panel
from trueness.ensembles.without_labels import Agreement, agreement
from trueness.findings.records import Figure, Finding, Page, Tile, said, table
from trueness.findings.subject import NAME
from trueness.nogold.combinations.best import Combination, best_combination
from trueness.nogold.fitting import latent_class
from trueness.nogold.posterior import LatentPosterior
from trueness.nogold.sentences import combination_sentence, credible_sentence

_KEITH = (
    "Latent class model: given the truth, tests may share errors by a normal effect of "
    "each class (Qu, Tan and Kutner 1996, doi:10.2307/2533043), or make them "
    "independently (Keith, Davey and Boyd 2012, doi:10.1186/1471-2105-13-179); uniform "
    "priors with sensitivity at least 1 - specificity."
)
_AGREE = (
    "If classifiers make their errors independently, the covariance of their ranks "
    "determines their AUCs and the prevalence (after Kim et al. 2021, "
    "doi:10.1073/pnas.2100761118)."
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
            tiles = _tiles(found, rule)
            together = [*found.notes]
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
            together = [_INDEPENDENT]
    mind = [*(str(w.message) for w in raised), *together]
    answers = (*answers, ("What should you keep in mind?", mind))
    answers = tuple((question, said(texts)) for question, texts in answers)
    title = title or "How good are these tests?"
    return Page(title, facts, tiles, answers, (section,), command=command)


_INDEPENDENT = (
    "All results assume that, given the truth, the classifiers make their errors "
    "independently. If two of them make the same errors, both look better than they "
    "are. Verify a sample of the cases if you can."
)


def _tile(name: str, e: Estimate) -> Tile:
    span = f"{percent(e.low)} to {percent(e.high)}"
    if np.isnan(e.value):
        return Tile(name, span, "not determined by votes alone")
    return Tile(name, percent(e.value), span)


def _tiles(found: LatentPosterior, rule: Combination) -> tuple[Tile, ...]:
    """Show what is known: without labels intervals, and what independence gives."""
    tiles = [_tile("prevalence", found.prevalence)]
    if found.open and found.independent is not None:
        e = found.independent.prevalence
        tiles.append(_tile("if errors were independent", e))
    tiles.append(Tile("best rule", shown(rule.formula, 60), ""))
    for name, e in (
        ("its sensitivity", rule.sensitivity),
        ("its specificity", rule.specificity),
    ):
        tiles.append(_tile(name, replace(e, value=np.nan) if found.open else e))
    return tuple(tiles)


def _votes(
    panel: Panel, found: LatentPosterior, rule: Combination
) -> tuple[Finding, Any]:
    texts = told_apart(list(panel.names), NAME)
    sens, spec = (
        [x[n] for n in panel.names] for x in (found.sensitivity, found.specificity)
    )
    known = not found.open
    cells = [
        [e if known else f"{percent(e.low)} to {percent(e.high)}" for e in column]
        for column in (sens, spec)
    ]
    head: list[str] = ["test", "sensitivity", "specificity"]
    columns: list[list[Any]] = [list(texts), *cells]
    if found.open and found.independent is not None:
        alone = found.independent
        head += ["sensitivity, if independent", "specificity, if independent"]
        columns += [
            [x[n] for n in panel.names] for x in (alone.sensitivity, alone.specificity)
        ]
    rows = list(zip(*columns, strict=True))
    rule_said = combination_sentence(rule, known=known)
    section = Finding(
        "How good is each test?",
        {"posterior": found, "rule": rule},
        answer=said([rule_said, *found.notes]),
        figures=tuple(
            _forest(f"{word}{'' if known else ', if errors were independent'}", each)
            for word, each in zip(
                ("Sensitivity", "Specificity"), _drawn(found, texts), strict=True
            )
        ),
        tables=(table("Tests", head, rows),),
        method=_KEITH,
        caveat="The intervals are posterior (credible) intervals.",
        key="nogold",
    )
    answers = (
        ("What was measured?", (
            f"{counted(len(texts), 'test')} on {counted(panel.n, 'case')}; it is not "
            "known which cases have the condition.",)),
        ("How common is the condition?", (
            credible_sentence("The prevalence", found.prevalence),)),
        ("How good are the tests?", tuple(
            credible_sentence(f"The {word} of {text}", e)
            for text, *both in zip(texts, sens, spec, strict=True)
            for word, e in zip(("sensitivity", "specificity"), both, strict=True)
        )[:6]),
        ("What should you do?", (
            *(() if known else ("Verify a sample of the cases, for example 50 at "
                                "random: only labels show which errors are shared.",)),
            rule_said,
        )),
    )  # fmt: skip
    return section, answers


def _drawn(found: LatentPosterior, texts: list[str]) -> list[dict[str, Estimate]]:
    """Give what has a value: open intervals are in the table."""
    post = found.independent if found.open and found.independent else found
    both = post.sensitivity, post.specificity
    return [dict(zip(texts, x.values(), strict=True)) for x in both]


def _forest(title: str, values: dict[str, Estimate]) -> Any:
    return Figure(intervals(title, title.lower(), values), title, of="test")


def _scores(panel: Panel, found: Agreement) -> tuple[Finding, Any]:
    texts = told_apart(list(panel.names), NAME)
    values = [found.auc[n] for n in panel.names]
    rows = list(zip(texts, values, strict=True))
    forest = intervals("AUC without labels", "AUC", dict(rows))
    section = Finding(
        "How good is each classifier?",
        {"agreement": found},
        figures=(Figure(forest, "AUC without labels"),),
        tables=(table("AUC, from agreement alone", ("classifier", "AUC"), rows),),
        method=_AGREE,
        caveat=_misfit(found),
        key="nogold",
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
