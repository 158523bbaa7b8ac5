"""What does a report say? All numbers and sentences, before anything is laid out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from trueness._core.checks.errors import InputError
from trueness._core.numbers import number_of, percent
from trueness._core.progress import steps
from trueness._core.records import shown
from trueness.counts.values import Panel, Tally
from trueness.inference.sample import needs_prevalence
from trueness.inference.verification import said_elsewhere
from trueness.report import nogold
from trueness.report._parts import Page, Section, possible
from trueness.report.findings import SECTIONS, Findings
from trueness.report.inputs import largest, read_options, strongest
from trueness.report.plain_words import Answers, in_plain_words, tiles
from trueness.report.slider import slider

TITLE = "How good is this classifier?"
ADVICE = ("zones", "prevalence", "decision", "group-cuts")  # sections on what to do


@said_elsewhere()
def summarise(
    data: Panel | Tally | Mapping[str, Tally],
    *,
    title: str = "",
    source: str = "",
    groups: Mapping[Any, Panel | Tally] | None = None,
    classifier: str = "",
    classes: bool = False,
    **asked: Any,
) -> Page:
    """Compute everything that the report shows.

    Parameters as in :func:`trueness.report.write`; ``data`` may be tallies by name, or,
    with ``classes``, of each class against the rest. What is ``asked`` beside is read
    by ``inputs.read_options``.
    """
    data, fewer = strongest(data, classifier)
    groups, some = largest(groups)
    if classes and isinstance(data, Mapping):
        data, groups = {f"{c} against the rest": t for c, t in data.items()}, None
        _same_cases(data)
    cases = next(iter(data.values())) if isinstance(data, Mapping) else data
    title, facts = shown(title, 120), facts_of(cases, source, data if classes else None)
    needs_prevalence(cases, "A report")
    facts += tuple((k, v) for k, v in (("shown", fewer), ("groups", some)) if v)
    if not cases.n_pos + cases.n_neg and cases.n_unknown:
        kept = {k: asked[k] for k in ("level", "rng", "command") if k in asked}
        return nogold.without_labels(cases, title=title, facts=facts, **kept)
    options = read_options(cases, classes=classes, classifier=classifier, **asked)
    return _page(Findings(data, options, groups), title or TITLE, facts)


def _page(f: Findings, title: str, facts: tuple[tuple[str, str], ...]) -> Page:
    """Work out every section that these cases allow, and what they say together."""
    made = {
        key: section
        for key, ask in steps(SECTIONS.items(), "Sections", len(SECTIONS))
        if (section := possible(partial(ask, f)))
    }
    o, both = f.options, zip(f.meanings, f.models, strict=True)
    probabilities = [x and x.probability(m.steps.threshold) for x, m in both]
    every = [m.steps for m in f.models]
    return Page(
        title=title,
        facts=facts,
        tiles=tiles(f.models, f.checked),
        summary=plain_words(f, list(made.values())),
        operating=made.pop("threshold"),
        sections=tuple(made.values()),
        slider=slider(every, o.subject_to, o.costs, probabilities),
        command=o.command,
    )


def plain_words(f: Findings, sections: Sequence[Section]) -> Answers:
    """Answer the questions of a reader in a hurry, from what the sections found."""
    said: dict[bool, list[str]] = {True: [], False: []}
    for s in sections:
        said[s.key in ADVICE] += [s.headline] if s.headline else []
    parts = (f.models, f.meanings, f.checked, f.options)
    return in_plain_words(*parts, said[False], said[True])


def _same_cases(classes: Mapping[str, Any]) -> None:
    sizes = {getattr(t, "n", None) for t in classes.values()}
    if len(sizes) != 1 or not all(isinstance(t, Tally) for t in classes.values()):
        raise InputError(
            "A report on several tallies needs classes of the same cases, as "
            "trueness.one_vs_rest(y_true, scores) gives them. For groups type "
            "report.write(panel, path, groups=groups)."
        )


def facts_of(
    data: Panel | Tally, source: str, classes: Any = None
) -> tuple[tuple[str, str], ...]:
    """Say what was counted, for the head of the page."""
    facts = [(data.unit, number_of(data.n))]
    if classes is not None:
        facts += [(shown(c), f"{number_of(t.n_pos)} ({percent(t.prevalence)})")
                  for c, t in classes.items()]  # fmt: skip
    elif data.n_pos + data.n_neg:
        share = percent(data.prevalence)
        facts.append(("positive", f"{number_of(data.n_pos)} ({share})"))
        facts.append(("negative", number_of(data.n_neg)))
    if data.n_unknown:
        facts.append(("without a label", number_of(data.n_unknown)))
    if data.clusters is not None:
        facts.append(("clusters", number_of(data.clusters.number)))
    if data.design.prevalence is not None:
        facts.append(("for a prevalence of", percent(data.design.prevalence)))
    if source:
        facts.append(("file", shown(source, 120)))
    return tuple(facts)
