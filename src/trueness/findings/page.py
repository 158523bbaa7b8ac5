"""What does a report say? The answer first, then every finding that was asked for.

The first screen answers who reads nothing else: what to do, how good it is, how sure
we are, what to keep in mind. There is one advice, and one threshold in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np

from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.numbers import level_text, number_of, percent, written
from trueness._core.progress import steps
from trueness._core.records import Estimate, shown
from trueness.counts.cases import how_many
from trueness.counts.placements import tied_proportion
from trueness.counts.values import Panel, Tally
from trueness.findings import (
    scorecards,
    trust,
    what_scores_mean,
    where_to_cut,
    which_is_better,
)
from trueness.findings import subject as subjects
from trueness.findings.cut_answers import promise_notes, proof_note
from trueness.findings.diagnostic_tests import (
    COUNTS_OF_TEST,
    are_tests,
    test_in_short,
    test_tiles,
    which_test_is_better,
)
from trueness.findings.how_good import (
    cases_note,
    few_cases_notes,
    how_good,
    in_every_group,
    missing_code_notes,
    reversed_notes,
    weak_auc_notes,
)
from trueness.findings.memory import Model
from trueness.findings.notes import Note, as_notes, note, note_if
from trueness.findings.records import Finding, Lane, Page, Tile
from trueness.findings.request import Request, without_column_names
from trueness.inference.estimates import interval_notes
from trueness.inference.sample import check_prevalence_known
from trueness.inference.verification import unlabelled_notes, without_unlabelled_warning
from trueness.metrics.grammar import constraint_text, text_of
from trueness.metrics.intervals import unknown_depend_on_score
from trueness.threshold.rule import AtThreshold
from trueness.threshold.sentences import (
    kept_constraint_sentences,
    limiting_constraint_sentences,
    missed_constraint_sentences,
    rarely_met_constraint_sentences,
)
from trueness.threshold.validation import Validation

MIND = "What should you keep in mind?"
SAFE_PROBABILITY = 0.95  # a constraint that holds less often on new cases is mentioned
CODES_OF_COUNTS = ("cases", "total weight")  # what the head of the page says already
Answers = tuple[tuple[str, tuple[Note, ...]], ...]
Question = Callable[[subjects.Subject], Finding | None]


def _at_the_next_site(subject: subjects.Subject) -> Finding | None:
    """Say what to expect at the next site, where there are several."""
    if not subject.sites:
        return None

    from trueness.findings.next_site import at_the_next_site

    return at_the_next_site(subject)


# every question of a report, in the order of the page
QUESTIONS: Mapping[str, Question] = {
    "threshold": where_to_cut.at_the_cut,
    "zones": where_to_cut.two_cuts,
    "prevalence": where_to_cut.cuts_for_prevalences,
    "comparison": lambda subject: (
        which_is_better.which_is_better(subject) if subject.several else None
    ),
    "ensembles": lambda subject: (
        which_is_better.better_together(subject) if subject.several else None
    ),
    "calibration": what_scores_mean.what_scores_mean,
    "calibrated": what_scores_mean.requested_calibration,
    "groups": in_every_group,
    "group-cuts": where_to_cut.cuts_of_groups,
    "sites": _at_the_next_site,
    "ranking": how_good,
    "by-name": scorecards.measures_by_name,
    "scale": trust.lost_in_bins,
    "planning": trust.enough_cases,
}

# the questions whose answers stand on the first screen, too
SUMMARISED = (
    "zones",
    "prevalence",
    "comparison",
    "ensembles",
    "calibration",
    "groups",
    "group-cuts",
    "scale",
)


@without_unlabelled_warning()
def page_about(
    data: Panel | Tally | Mapping[str, Tally],
    request: Request = subjects.DEFAULT_REQUEST,
    *,
    title: str = "",
    source: str = "",
    groups: Mapping[Any, Panel | Tally] | None = None,
    sites: Mapping[Any, Panel | Tally] | None = None,
) -> Page:
    """Find everything that a report shows.

    Parameters as in :func:`trueness.report`; ``data`` may be tallies by name, or,
    where the request says so, of each class against the rest.
    """
    _check_groups(groups, "groups")
    _check_groups(sites, "sites")

    data, classifiers_shown = subjects.strongest_classifiers(data, request.classifier)
    groups, groups_shown = subjects.largest_groups(groups)
    classes = None
    if request.classes and isinstance(data, Mapping):
        classes = _against_the_rest(data)
        data = classes
        groups = None

    cases = next(iter(data.values())) if isinstance(data, Mapping) else data
    title = shown(title, 120)
    facts = facts_of(cases, source, classes)
    check_prevalence_known(cases, "A report")
    if classifiers_shown:
        facts += (("shown", classifiers_shown),)
    if groups_shown:
        facts += (("groups", groups_shown),)

    has_labels = cases.n_pos + cases.n_neg > 0
    if not has_labels and cases.n_unknown and not cases.labels_expected:
        from trueness.findings.without_labels import without_labels

        return without_labels(
            cases, title=title, facts=facts, level=request.level, rng=request.rng
        )

    # tests have no threshold: of the request only these two matter
    if are_tests(data) and not request.classes:
        of_tests = Request(level=request.level, rng=request.rng)
        tests = subjects.subject(data, of_tests, groups=groups, sites=sites)
        return page_about_tests(tests, title=title, facts=facts)

    subject = subjects.subject(
        data, without_column_names(request), groups=groups, sites=sites
    )
    return _page_about_scores(subject, title, facts)


def _check_groups(groups: object, option: str) -> None:
    """Stop at groups that are no mapping, such as the name of their column."""
    if groups is None or isinstance(groups, Mapping):
        return

    raise InputError(
        f"{option}= takes counts by group, in a mapping; found {groups!r}. "
        "Counting by a column returns them.",
        option=option,
        example=PythonCode('trueness.tally(frame, by="site")'),
    )


def _page_about_scores(
    subject: subjects.Subject, title: str, facts: tuple[tuple[str, str], ...]
) -> Page:
    """Ask every question of a report, and put the answers on a page."""
    findings = {}
    for key, answer_question in steps(QUESTIONS.items(), "Sections", len(QUESTIONS)):
        # a question that these data cannot answer has no section
        finding = subjects.answer_or_none(partial(answer_question, subject))
        if finding:
            findings[key] = finding

    models = by_auc(subject)
    ranking: tuple[tuple[str, Estimate], ...] = ()
    usual_title = "How good is this classifier?"
    if len(subject.models) > 1 and not subject.request.classes:
        usual_title = "How good are these classifiers?"
        ranking = tuple((model.name, model.auc) for model in models)

    headline, lead = opening(subject, findings)

    return Page(
        title or usual_title,
        facts,
        tiles(subject),
        answers(subject, findings),
        tuple(findings.values()),
        where_to_cut.slider(subject),
        question=_question(subject),
        headline=headline,
        lead=lead,
        ranking=ranking,
        ties=ties_by_auc(models, findings.get("comparison"), subject.request.level),
    )


def page_about_tests(
    subject: subjects.Subject, *, title: str, facts: tuple[tuple[str, str], ...]
) -> Page:
    """Report on tests: there is no threshold to choose, and no probability."""
    note_on_cases = cases_note(subject.cases)
    quality = how_good(subject)
    findings = [quality]

    if subject.several:
        comparison = which_test_is_better(subject, cases_note=note_on_cases)
        # the section before this one has the estimates of each test
        of_each, *differences = comparison.tables
        tables = (replace(of_each, brief=False), *differences)
        findings.append(replace(comparison, tables=tables))

    sentences: list[Note] = []
    for finding in findings:
        # how many cases there are has an answer of its own
        sentences += [
            line for line in finding.answer if line.code not in CODES_OF_COUNTS
        ]

    first_tally = next(iter(subject.tallies_by_key.values()))
    answers = (
        ("How good is it?", tuple(sentences)),
        (MIND, (*few_cases_notes(first_tally), *quality.notes)),
        ("What was measured?", (note_on_cases,)),
    )

    first_name, first_test = next(iter(quality.numbers["tests"].items()))
    several = len(quality.numbers["tests"]) > 1
    question = "How good are these tests?" if several else "How good is this test?"
    headline = sentences[0] if sentences else None
    if not several:
        headline = test_in_short(first_test, first_name)
        # the first screen has the counts
        tables = tuple(t for t in quality.tables if t.caption != COUNTS_OF_TEST)
        findings[0] = replace(quality, tables=tables)
    # the first screen has the sentences
    sections = tuple(replace(finding, answer=(), notes=()) for finding in findings)

    return Page(
        title or question,
        facts,
        test_tiles(first_test, shown(first_name, 40) if several else ""),
        answers,
        sections,
        question=question,
        headline=headline,
        lead=tuple(sentences[1:]),
        confusion=None
        if several
        else next(iter(quality.numbers["confusion"].values())),
    )


def by_auc(subject: subjects.Subject) -> list[Model]:
    """Return the classifiers, the largest AUC first."""
    return sorted(subject.models, key=lambda model: -model.auc.value)


def ties_by_auc(
    models: Sequence[Model], comparison: Finding | None, level: float
) -> tuple[int, ...]:
    """Return how many classifiers share each rank, the largest AUC first.

    Those whose AUC does not differ significantly from that of the first one of a tie
    share its rank. Without a comparison nothing is known of ties.
    """
    if comparison is None or "pairs" not in comparison.numbers:
        return ()

    differ = {
        frozenset((pair.first, pair.second))
        for pair in comparison.numbers["pairs"]
        if pair.p_adjusted < 1 - level
    }
    ties: list[int] = []
    first_of_tie = ""

    for model in models:
        if ties and frozenset((first_of_tie, model.key)) not in differ:
            ties[-1] += 1
        else:
            first_of_tie = model.key
            ties.append(1)

    return tuple(ties)


def _question(subject: subjects.Subject) -> str:
    """Write the question that the page answers."""
    request = subject.request
    which = (
        "Which classifier is best" if subject.several else "How good is this classifier"
    )

    if not request.wants_a_threshold:
        return f"{which}, and how certain is that?"

    constraints = " and ".join(
        constraint_text(repr(constraint)) for constraint in request.constraints
    )
    if not constraints:
        return f"{which}, and where should its threshold be?"
    return f"{which}, and where should its threshold be, with {constraints}?"


def opening(
    subject: subjects.Subject, findings: Mapping[str, Finding | None]
) -> tuple[Note, tuple[Note, ...]]:
    """Return the answer in one sentence, and what stands beside it.

    Without a cost or a constraint the answer is how good it is; a threshold is advised
    with its price.
    """
    advice = _advice(subject, findings)
    if subject.request.wants_a_threshold:
        return advice[0], tuple(advice[1:])
    times = f"{100 * subject.best.auc.value:.0f}"
    headline = note(
        "auc in short", name=subject.best.name, times=times, auc=subject.best.auc
    )
    return headline, (*weak_auc_notes(subject.best.name, subject.best.auc), *advice)


def _against_the_rest(data: Mapping[str, Tally]) -> dict[str, Tally]:
    """Name classes of the same cases by what they are compared with."""
    sizes = {t.n if isinstance(t, Tally) else None for t in data.values()}
    if len(sizes) != 1 or None in sizes:
        raise InputError(
            "A report on several tallies needs the same cases in each, as one_vs_rest "
            "returns them. Groups of cases are another argument.",
            option="groups",
            example=PythonCode('trueness.tally(frame, by="site")'),
        )

    return {f"{c} against the rest": t for c, t in data.items()}


def with_remarks(page: Page, remarks: Sequence[str]) -> Page:
    """Say under what was measured which columns were taken."""
    if not remarks or not page.answers:
        return page
    *others, (question, notes) = page.answers
    measured_notes = (*notes, *as_notes(remarks))
    return replace(page, answers=(*others, (question, measured_notes)))


def with_cleaned(page: Page, cleaning_remarks: Sequence[str]) -> Page:
    """Say among what to keep in mind, in one line, what was cleaned in the file."""
    if not cleaning_remarks:
        return page

    line = note("cleaned", what=" ".join(cleaning_remarks))
    extended = [
        (question, (*notes, line) if question == MIND else notes)
        for question, notes in page.answers
    ]

    return replace(page, answers=tuple(extended))


def facts_of(
    data: Panel | Tally, source: str, classes: Mapping[str, Tally] | None = None
) -> tuple[tuple[str, str], ...]:
    """Say what was counted, for the head of the page."""
    facts = [(data.unit, number_of(data.n))]
    if classes is not None:
        facts += [(shown(name), _positives(tally)) for name, tally in classes.items()]
    elif data.n_pos + data.n_neg:
        facts.append(("positive", _positives(data)))
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


def _positives(data: Panel | Tally) -> str:
    """Write how many cases are positive, and which proportion that is."""
    return f"{number_of(data.n_pos)} ({percent(data.prevalence)})"


def tiles(subject: subjects.Subject) -> tuple[Tile, ...]:
    """Return the few numbers that are seen first."""
    area = subject.best.auc
    where, cases = {
        AtThreshold: ("there", "the cases"),
        Validation: ("on new cases", "new cases"),
    }.get(type(subject.evaluation), ("in this sample", "the cases"))
    flagged, recall, precision = _rates(subject)
    prevalence = subject.steps[0].prevalence_of_rates

    return (
        Tile(
            f"AUC of {subject.best.name}",
            f"{area.value:.3f}",
            f"{level_text(area.level)} CI {area.low:.3f} to {area.high:.3f}",
            Lane(
                area.value,
                area.low,
                area.high,
                start=0.5 if area.low >= 0.5 else 0.0,
                reference=0.5,
                reference_text="0.5 is guessing",
            ),
        ),
        Tile(
            f"recall (sensitivity) {where}",
            percent(recall.value),
            recall.interval,
            recall.lane(*_required_rate(subject, "recall")),
        ),
        Tile(
            f"precision (PPV) {where}",
            percent(precision.value),
            precision.interval,
            precision.lane(prevalence, f"{percent(prevalence)} by chance"),
        ),
        Tile(
            "flag scores of at least",
            subjects.cut_of(subject.best.point),
            f"{percent(flagged.value)} of {cases}",
            flagged.lane(None, ""),
        ),
    )


def _required_rate(subject: subjects.Subject, name: str) -> tuple[float | None, str]:
    """Return what a constraint requires of a metric alone, and how that is said."""
    for constraint in subject.request.constraints:
        if constraint.metric.name == name and constraint.upward:
            return constraint.bound, f"{percent(constraint.bound)} required"
    return None, ""


def _flags_nothing(subject: subjects.Subject) -> bool:
    """Return whether no case is flagged, and nothing can be said of those that are."""
    c = subject.best.point.confusion
    return not c.tp + c.fp


class _RateAtThreshold(NamedTuple):
    """A rate at the threshold; without an estimate only its value is known."""

    value: float
    estimate: Estimate | None

    @property
    def interval(self) -> str:
        """Its confidence interval in words; nothing where there is none."""
        estimate = self.estimate
        if estimate is None:
            return ""

        level = level_text(estimate.level)
        return f"{level} CI {percent(estimate.low)} to {percent(estimate.high)}"

    def lane(self, reference: float | None, text: str) -> Lane | None:
        """Return where it lies between none and all."""
        if isnan(self.value):
            return None
        low, high = (nan, nan)
        if self.estimate is not None:
            low, high = self.estimate.ci
        return Lane(self.value, low, high, reference=reference, reference_text=text)


def _rates(
    subject: subjects.Subject,
) -> tuple[_RateAtThreshold, _RateAtThreshold, _RateAtThreshold]:
    """Return proportion flagged, recall, precision, of new cases or of the sample."""
    first = subject.steps[0]
    rates = []
    for name in ("flagged_rate", "recall", "precision"):
        estimate = subject.evaluation.metrics.get(name) if subject.evaluation else None
        if estimate is None or _flags_nothing(subject):
            rates.append(_RateAtThreshold(first.at_start(name), None))
        else:
            rates.append(_RateAtThreshold(estimate.value, estimate))

    flagged, recall, precision = rates
    return flagged, recall, precision


def answers(
    subject: subjects.Subject, findings: Mapping[str, Finding | None]
) -> Answers:
    """Answer the questions of a reader in a hurry, from what was found."""
    return (
        ("What should you do?", tuple(_advice(subject, findings))),
        ("How good is it?", _how_good(subject, findings)),
        ("How sure are we?", _how_sure(subject, findings)),
        (MIND, tuple(_caveats(subject, findings))),
        ("What was measured?", (measured_note(subject),)),
    )


def _how_good(
    subject: subjects.Subject, findings: Mapping[str, Finding | None]
) -> tuple[Note, ...]:
    """Say how good the best classifier is, and what other sections answered."""
    notes = [auc_note(subject.best)]
    others = subject.models[1:]
    if others:
        texts = ", ".join(f"{model.name} {model.auc.value:.3f}" for model in others[:5])
        further_notes = ""
        if len(others) > 5:
            further_notes = f" and {len(others) - 5} more"
        notes.append(note("auc of others", others=texts, more=further_notes))

    for key in ("comparison", "ensembles", "groups"):
        section = findings.get(key)
        if section is None:
            continue
        # the best one has been named already
        notes += [n for n in section.answer if n.code not in ("best", *CODES_OF_COUNTS)]

    return tuple(notes)


def _how_sure(
    subject: subjects.Subject, findings: Mapping[str, Finding | None]
) -> tuple[Note, ...]:
    """Say between which values AUC, recall and precision lie."""
    best = subject.best
    evaluation = subject.evaluation
    notes = [
        note("auc between", name=best.name, auc=best.auc, level=subject.request.level)
    ]
    notes += weak_auc_notes(best.name, best.auc)

    for model in subject.models[1:]:
        notes += reversed_notes(model.name, model.auc)

    if evaluation is not None and {"recall", "precision"} <= evaluation.metrics.keys():
        notes += note_if(
            not _flags_nothing(subject),
            "between",
            new="on new cases, " if isinstance(evaluation, Validation) else "",
            recall=evaluation.metrics["recall"],
            precision=evaluation.metrics["precision"],
        )

    bins = findings.get("scale")
    if bins:
        notes += bins.answer

    return tuple(notes)


def auc_note(model: Model) -> Note:
    """Say how often a positive case has the higher score, and how often both tie."""
    times = f"{100 * model.auc.value:.0f}"
    if model.tally.binned or unknown_depend_on_score(model.tally):
        # scores of a bin may differ, and the pairs of cases without a label are unknown
        return note("auc of bins", name=model.name, times=times, auc=model.auc)

    tied = tied_proportion(model.tally)
    if round(100 * tied) == 0:
        return note("auc", name=model.name, times=times, auc=model.auc)

    wins = f"{100 * (model.auc.value - tied / 2):.0f}"
    ties = f"{100 * tied:.0f}"
    return note("auc with ties", name=model.name, wins=wins, ties=ties, auc=model.auc)


def _advice(
    subject: subjects.Subject, findings: Mapping[str, Finding | None]
) -> list[Note]:
    """Advise two thresholds, or those of groups, where that was asked; else one."""
    for key in ("zones", "group-cuts", "prevalence"):
        answer_of_section = findings.get(key)
        if answer_of_section is not None:
            return [
                n for n in answer_of_section.answer if n.code not in CODES_OF_COUNTS
            ]

    best = subject.best
    request = subject.request

    if np.isposinf(best.point.threshold):
        return [note("flag nothing"), note("nothing flagged")]

    guarantee = subject.guarantee_of(best.key, best.tally)
    notes = [
        note("flag", name=best.name, cut=subjects.cut_of(best.point)),
        *promise_notes(guarantee),
        _rates_to_expect(subject),
        *as_notes(
            _expected_constraints(subject) or limiting_constraint_sentences(best.point)
        ),
    ]

    # the price of an error chose the threshold, since nothing else was asked
    if request.at is None and not request.stated_goal and not guarantee:
        notes.append(note("price", fn=request.costs[1]))

    return notes


def _rates_to_expect(subject: subjects.Subject) -> Note:
    """Say what share is flagged, recall and precision, on new cases where known."""
    flagged, recall, precision = _rates(subject)
    tally = subject.best.tally
    expect = "That"
    kind_of_cases = ""
    if isinstance(subject.evaluation, Validation):
        expect = "On new cases expect that this"
    elif tally.n_unknown and not unknown_depend_on_score(tally):
        kind_of_cases = "labelled "

    return note(
        "nothing flagged" if _flags_nothing(subject) else "then",
        expect=expect,
        flagged=flagged.value,
        seen=kind_of_cases,
        recall=recall.value,
        precision=precision.value,
    )


def _expected_constraints(subject: subjects.Subject) -> list[str]:
    """Say what to expect of the constraints on new cases."""
    if not isinstance(subject.evaluation, Validation):
        return []
    return [
        *missed_constraint_sentences(subject.evaluation),
        *kept_constraint_sentences(subject.evaluation),
    ]


def _caveats(
    subject: subjects.Subject, findings: Mapping[str, Finding | None]
) -> list[Note]:
    """Say what to keep in mind of the cases, the scores and the threshold."""
    data = subject.best.tally
    notes = [*as_notes(interval_notes(data)), *few_cases_notes(data)]
    for model in subject.models:
        notes += missing_code_notes(model.name, model.tally)

    notes += as_notes(unlabelled_notes(data))
    labelled_alone = unknown_depend_on_score(data) and not data.labels_expected
    notes += note_if(labelled_alone, "labelled alone")
    notes += note_if(subject.several and not subject.cases.single_cases, "not combined")

    calibration = findings.get("calibration")
    if calibration:
        for note_on_it in (*calibration.answer, *calibration.notes):
            if note_on_it.code in ("miscalibrated", "not probabilities"):
                notes.append(note_on_it)

    infeasible = [model.name for model in subject.models if not model.feasible]
    notes += note_if(infeasible, "infeasible", names=infeasible)
    notes += _optimism(subject)

    prevalence = subject.cases.design.prevalence
    where = "this prevalence"
    if prevalence is not None:
        where = f"a prevalence of {percent(prevalence)}"
    notes.append(note("cases like these", where=where))
    return notes


def _optimism(subject: subjects.Subject) -> list[Note]:
    """Say what the choice of the threshold itself is worth on new cases."""
    evaluation = subject.evaluation
    if subject.request.at is not None:
        return [note("given beforehand")]

    guarantee = subject.guarantee_of(subject.best.key, subject.best.tally)
    if guarantee is not None:
        return [*map(proof_note, guarantee.proofs), *as_notes(guarantee.notes)]
    if _flags_nothing(subject):
        return []
    if not isinstance(evaluation, Validation) or isnan(evaluation.corrected.value):
        return [note("optimistic")]

    objective = text_of(evaluation.choice.objective.partition(" ")[2])
    expected = evaluation.corrected.value
    instead = evaluation.value
    lines = [note("optimistic by", what=objective, expect=expected, instead=instead)]

    if written(expected) == written(instead):
        lines = [note("optimistic")]

    # a guarantee is given of cases that are counted one by one
    code = "rarely met" if subject.best.tally.single_cases else "said"
    return lines + [
        note(code, text=text)
        for text in rarely_met_constraint_sentences(evaluation, SAFE_PROBABILITY)
    ]


def measured_note(subject: subjects.Subject) -> Note:
    """Say what was measured, for readers who know nothing of it."""
    data = subject.best.tally
    if subject.request.classes:
        return note("measured classes", number=len(subject.models), n=data.n)

    classifiers = f"The classifier {subject.best.name}"
    if subject.best.name == subjects.UNNAMED:
        classifiers = "One classifier"
    if data.labels_expected:
        return note(
            "measured expected", who=classifiers, n=data.n, unknown=data.n_unknown
        )

    cases = how_many(data)
    if len(subject.models) > 1:
        classifiers = f"{len(subject.models)} classifiers"
        cases = f"the same {cases}"

    known = ", of which"
    if data.n_unknown:
        known = f"; of the {number_of(data.n_pos + data.n_neg)} with a label"

    return note(
        "measured",
        who=classifiers,
        cases=cases,
        known=known,
        pos=data.n_pos,
        are="is" if data.n_pos == 1 else "are",
        share=data.prevalence,
    )
