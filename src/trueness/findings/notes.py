"""How is each thing said? Every sentence of a finding, once, by its code.

A note is a code with numbers. ``CATALOGUE`` has its sentence, in which ``{share:%}`` is
a number and how it is written (``FORMS``), and ``{type.costs}`` is what to type or to
click: that differs between Python, the shell and the page (``TYPED``), and a report,
which nobody types into, leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any, final

from trueness._core import numbers
from trueness.findings.words import for_readers, for_the_shell

FROM_ROOMS = ("said", "unknown gain")  # sentences that speak Python
PYTHON, SHELL, REPORT, PAGE = "python", "shell", "report", "page"
# every question by its key, as people ask it
TITLES = {
    "threshold": "What does each threshold do?",
    "zones": "Which cases should a person decide?",
    "prevalence": "What if positives are rarer or more frequent?",
    "comparison": "Which is better?",
    "ensembles": "Would they be better together?",
    "calibration": "What does a score mean?",
    "calibrated": "What would calibration change?",
    "groups": "Does it hold in every group?",
    "group-cuts": "A threshold for each group?",
    "ranking": "How good is it?",
    "scale": "What is lost by counting scores in bins?",
    "planning": "How many cases would be enough?",
    "leaves": "Which leaves can be trusted?",
    "nogold": "How good is each test?",
    "judges": "What is the true pass rate?",
    "systems": "Which system is better?",
    "evals": "How often does it pass?",
    "readers": "Which treatment lets readers see more?",
    "check": "Are the requirements met?",
    "watch": "Is it still good?",
}


@final
@dataclass(frozen=True)
class Note:
    """A thing to say: its code, and the numbers and names in it."""

    code: str
    numbers: Mapping[str, Any]

    def __str__(self) -> str:
        """Say it to who writes Python."""
        return say(self)


def note(code: str, **numbers: Any) -> Note:
    """Make a note."""
    return Note(code, numbers)


def when(said: Any, code: str, **numbers: Any) -> tuple[Note, ...]:
    """Make a note where there is something to say."""
    return (Note(code, numbers),) if said else ()


def said(texts: Iterable[str]) -> tuple[Note, ...]:
    """Make notes of sentences that an answer of a room brings along, each once."""
    return tuple(note("said", text=text) for text in dict.fromkeys(texts))


def say(what: Note, face: str = PYTHON) -> str:
    """Write a note out for Python, the shell, the report or the page."""
    text = _Writer().vformat(
        CATALOGUE[what.code], (), {**what.numbers, "type": _Typed(face)}
    )
    if what.code in FROM_ROOMS and face != PYTHON:
        text = for_the_shell(text) if face == SHELL else for_readers(text)
    return " ".join(text.split())


class _Typed:
    """What to type in one face."""

    def __init__(self, face: str) -> None:
        self._face = face

    def __getattr__(self, name: str) -> str:
        return TYPED[name].get(self._face, "")


class _Writer(Formatter):
    """Writes numbers in the forms of ``FORMS``, and those of Python."""

    def format_field(self, value: Any, format_spec: str) -> str:
        form = FORMS.get(format_spec)
        return form(value) if form else format(value, format_spec)


# how a number is written in a sentence
FORMS: dict[str, Callable[[Any], str]] = {
    "%": numbers.percent,
    "n": numbers.number_of,
    "about": numbers.about,
    "e": numbers.written,
    "p": numbers.p_is,
    "level": numbers.level_text,
    "list": numbers.listed,
    "span": lambda e: "{} ({} to {})".format(
        *map(numbers.percent, (e.value, e.low, e.high))
    ),
    "spelt": numbers.spelt,
    "cases": lambda n: numbers.counted(n, "case"),
}

# what to type where, by what it is about
TYPED: dict[str, dict[str, str]] = {
    "costs": {
        PYTHON: 'Pass cost={"fp": 1, "fn": 20}, with your own numbers, to change this.',
        SHELL: "Type --cost-fp 1 --cost-fn 20, with your own numbers, to change this.",
        PAGE: "Set them under Costs to change this.",
        REPORT: "Costs would give a threshold of their own.",
    },
    "reverse": {
        PYTHON: "If low scores mean positive, pass their negative; or check positive=.",
        SHELL: "If low scores mean positive, change their sign; or check --positive.",
        PAGE: "If low scores mean positive, change their sign; or check the positive "
        "value.",
        REPORT: "Check which label counts as positive.",
    },
    "prevalence": {
        PYTHON: "Pass prevalence=0.01, with the share where it will be used.",
        SHELL: "Type --prevalence 0.01, with the share where it will be used.",
        PAGE: "Set the prevalence in use.",
    },
    "guarantee": {
        PYTHON: "For more certainty ask guaranteed_threshold.",
        SHELL: "For more certainty type trueness threshold --guarantee 0.95.",
    },
    "calibrate": {
        PYTHON: "trueness.calibrate makes probabilities of them.",
        SHELL: "trueness calibrate makes probabilities of them.",
        PAGE: "Calibration makes probabilities of them.",
        REPORT: "Calibration makes probabilities of them.",
    },
    "ties": {SHELL: "--json lists all.", PYTHON: "intervals lists all."},
}

CATALOGUE: dict[str, str] = {
    "said": "{text}",
    # what was counted
    "cases": "{n:cases}: {pos:n} positive ({share:%}{known}), {neg:n} negative"
    "{unknown}.",
    "total weight": "Cases with a total weight of {n:n}: {pos:n} positive "
    "({share:%}{known}), {neg:n} negative{unknown}.",
    "unlabelled only": "{n:cases} without a label.",
    "classes": "{n:cases} of {number} classes: {sizes}. Each class is compared with "
    "the rest.",
    "measured": "{who}, on {cases}{known} {pos:n} {are} positive ({share:%}).",
    "measured classes": "{number} classes, each compared with the rest, on the same "
    "{n:cases}.",
    # how good
    "auc": "Given a positive and a negative case, {name} scores the positive one "
    "higher {times} times in 100 (AUC {auc.value:.3f}). Guessing does so 50 times.",
    "auc of others": "AUC of the others: {others}{more}.",
    "all classes": "All classes together have an AUC of {auc:e} (Hand and Till 2001); "
    "guessing has 0.5.",
    "intervals": "In parentheses: {level:level} confidence intervals.",
    "clusters": "The intervals allow for likeness of cases with the same {cluster}.",
    "no brier": "The Brier score needs probabilities, so scores from 0 to 1.",
    "one class": "Groups that hold one class only have no values.",
    "reversed": "{name} ranks the wrong way round: its AUC is below 0.5. "
    "{type.reverse}",
    "guessing": "{name} may be no better than guessing: the interval of its AUC "
    "includes 0.5.",
    "few": "There {are} only {few}, so every rate is coarse.",
    "for prevalence": "Average precision, Brier score and metrics are for a prevalence "
    "of {wanted:%}; here it is {share:%}.",
    "metrics for prevalence": "All metrics are for a prevalence of {wanted:%}. The "
    "counts are those of the cases, where it is {share:%}.",
    "case-control": "A case-control sample does not know the share of positives, so "
    "average precision, Brier score and precision are not shown. {type.prevalence}",
    "at": "Flagging every case with a score of {cut} or more gives the second table.",
    "scored cases": "Each score is measured on the cases that have it: {each}.",
    "groups": "The AUC of {name} ranges from {low:.3f} ({lowest}) to {high:.3f} "
    "({highest}); the difference is {could} ({p:p}).",
    "groups untested": "The AUC of {name} ranges from {low:.3f} ({lowest}) to "
    "{high:.3f} ({highest}).",
    "groups cut": "All groups have the same threshold, {cut}.",
    # what does a score mean
    "miscalibrated": "The scores of {names:list} are not probabilities{p}.",
    "close": "The scores of {names:list} are close to probabilities, but not equal{p}.",
    "calibrated": "The scores of {names:list} can be read as probabilities{p}.",
    "undecided": "Nothing was found against reading the scores of {names:list} as "
    "probabilities{p}, but there are too few cases to be sure.",
    "not probabilities": "The scores of {names:list} fall outside 0 to 1, so they are "
    "not probabilities. {type.calibrate}",
    "log loss infinite": "The log loss of {names:list} is infinite: a score of exactly "
    "0 or 1 was wrong.",
    "log loss unbounded": "The log loss of {names:list} has no upper limit: one wrong "
    "score of exactly 0 or 1 would make it infinite.",
    "fitted": "The map was fitted by the method {method}. What a score means as a "
    "probability:",
    "unknown gain": "It is not known how well the map does on new cases. {why}",
    # which is better
    "best": "{name} is the best by {what}.",
    "best alike": "{names:list} are equally good by {what}.",
    "better": "{best} ranks significantly better than {second} ({p:p}{adjusted}).",
    "not better": "{best} and {second} do not differ significantly in AUC "
    "({p:p}{adjusted}).",
    "better in use": "{best} is best at its threshold, although {second} has a "
    "significantly higher AUC ({p:p}{adjusted}).",
    "curves equal": "{best} has the same ROC curve as {others:list}.",
    "curves cross": "The ROC curve of {best} crosses that of {others:list}: each is "
    "better at some false positive rates.",
    "curve above": "The ROC curve of {best} lies nowhere below that of {others:list}.",
    "curve below": "The ROC curve of {best} lies nowhere above that of {others:list}.",
    "nowhere better": "With {level:level} confidence {other} is nowhere better by more "
    "than {most:.2g} in recall.",
    "no curves": "Whole curves of cases with weights or clusters are compared for up "
    "to {most:n} rows.",
    "drawn": "{what} on {drawn}; the AUCs of single scores are from all of them.",
    # better together
    "together better": "Together they are better: {method} adds {gain:e} to the AUC of "
    "{best}.",
    "together worse": "Together they are worse: {method} changes the AUC of {best} by "
    "{gain:e}.",
    "together open": "A combination is not shown to be better: {method} changes the "
    "AUC of {best} by {gain:e}.",
    # where to cut
    "chosen": "The chosen threshold {best} {what}{limits}.",
    "given": "The threshold {at:g} was given.",
    "red": "In the red regions a constraint is not met.",
    "shares for": "All shares and costs are for use where {share:%} of the cases are "
    "positive. The confusion matrix counts these cases as they are.",
    "flag": "Flag a case when {name} gives it {cut} or more.",
    "flag a score": "Flag a case when its score is {cut} or more.",
    "then": "{expect} flags {flagged:%} of the {seen}cases and finds {recall:%} of the "
    "positives. Of the flagged cases {precision:%} are positive.",
    "decided": "All metrics are of the cases that the rule decides. It leaves "
    "{share:span} of the cases to a person.",
    "by rule": "By the rule that was given ({rule}):",
    "flagging": "Flagging every case with a score of {cut} or more:",
    "same cases": "All thresholds above {low} and up to {high} flag the same cases.",
    "then is": "At this threshold {what} is {value:e}{share}.",
    "ties": "{are} as good. {type.ties}",
    "expect": "On new cases expect {value:e} ({low:e} to {high:e}) instead of "
    "{instead:e}. The intervals allow for the choice.",
    "chosen again": "If the choice were repeated on similar data, the threshold would "
    "lie between {low} and {high} ({level:level} interval).",
    "promise": "With {level:level} confidence the population has {constraint}.",
    "proof": "{text} {value} in {many}; one-sided {level:level} {side} bound {bound}.",
    "two-sided": "In parentheses: two-sided {level:level} intervals of each metric by "
    "itself. The guarantee rests on the one-sided bound.",
    "above and below": "'above' is about the cases called positive, 'below' about "
    "those called negative.",
    "flag nothing": "Flag nothing: for this objective no threshold is better than "
    "that.",
    "no costs": "No costs were given, so both error rates count equally. {type.costs}",
    "auc between": "With {level:level} confidence the AUC of {name} lies between "
    "{auc.low:.3f} and {auc.high:.3f}.",
    "between": "At this threshold, {new}between {recall.low:%} and {recall.high:%} of "
    "the positives are found. Between {precision.low:%} and {precision.high:%} of the "
    "flagged cases are positive.",
    "infeasible": "{names:list}: no threshold meets the constraints; the one shown is "
    "the best without them.",
    "given beforehand": "The intervals are right if the threshold was not chosen on "
    "these cases.",
    "optimistic": "The threshold was tuned on the same data, so its results are "
    "optimistic.",
    "optimistic by": "The threshold was tuned on the same data, so its results are "
    "optimistic. On new cases expect {what} = {expect:e} instead of {instead:e}.",
    "rarely met": "The constraint {name} was met in {share:%} of the bootstrap test "
    "samples. {type.guarantee}",
    "not combined": "Whether they are better together was not tried: combinations are "
    "fitted to cases without weights and clusters.",
    "labelled alone": "Comparisons, calibration and what to expect on new cases rest "
    "on labelled cases alone, and are left out.",
    "cleaned": "Cleaned: {what}",
    "cases like these": "All results hold for cases like these, at {where}, and only "
    "if the classifiers were not trained on them.",
    # can it be trusted
    "width now": "With {n:n} labelled cases the {level:level} confidence interval of "
    "the AUC of {name} is about ±{half:.2g}.",
    "narrow already": "That is narrower than ±{aim:g} already.",
    "cases needed": "For ±{aim:g}, {n:about} cases are needed, {pos:about} of them "
    "positive: {more:about} more than now.",
    "plan": "{n:cases}, {pos:n} of them positive.",
    "plan rate": "{n:cases}, of which about {part:n} count for {measure}.",
    "plan width": "Then the {level:level} confidence interval of {what} is about "
    "±{half:.3g}.",
    "plan power": "Then {what} is shown to differ from {null:g} with a power of "
    "{power:%}.",
    "paired power": "The paired test has a power of {power:%}.",
    "plan leaf": "{n:cases}. Then the majority seen is the true majority with a "
    "probability P(C) of {confidence:.4g}. A new case has its label with a "
    "probability P(U) of {utility:.4g}.",
    "holds": "Every requirement holds. Exit code {exit}.",
    "fails": "At least one requirement fails. Exit code {exit}.",
    "cannot tell yet": "No requirement fails, but not all can be decided with these "
    "cases. Exit code {exit}.",
    "counted before": "This batch was counted before, so nothing changed.",
    "watched": "{what}: {found}",
    # readers
    "study": "{readers}, {treatments}, {n:cases} ({pos:n} positive); {design}; "
    "{assumed}.",
    "readers better": "Readers do significantly better with {first} than with "
    "{second}.",
    "readers alike": "{first} and {second} do not differ significantly with these "
    "readers and cases.",
    "not worse": "{first} is not worse than {second} by more than {margin:g} ({p:p}).",
    "perhaps worse": "{first} may be worse than {second} by more than {margin:g} "
    "({p:p}).",
    "equivalent": "{first} and {second} are equivalent: they differ by less than "
    "{margin:g} ({p:p}).",
    # without the truth
    "verify": "Verify a sample of the cases, for example 50 at random: only labels "
    "show which errors are shared.",
    "if independent": "If errors were independent, it would be {share:span}.",
    "agreed": "{best} ranks best, with an AUC of about {auc.value:.3f} "
    "({auc.low:.3f} to {auc.high:.3f}).",
    "independent errors": "All results assume that, given the truth, classifiers make "
    "their errors independently. Two that make the same errors look better than they "
    "are.",
    "cannot check": "With three classifiers this assumption cannot be checked, and it "
    "was not.",
    "checked": "If errors were independent, agreement so far from the model would have "
    "a probability of {p:.2g}; near 0 the estimates cannot be trusted.",
    "labels needed": "{n:n} labels at random in all make an interval {width:.3g} "
    "points wide; without judges it would take {without:n}.",
    "also": "trueness nogold gives the same rate from these labels, and the best "
    "combination of the judges.",
    # verdicts that are trusted
    "pass rate": "It passes {rate}; in parentheses the {level:level} confidence "
    "interval.",
    "first alone": "{first} has the highest pass rate, {rate}, and is significantly "
    "better than every other system.",
    "first with": "{first} has the highest pass rate, {rate}; it is not significantly "
    "better than {others:list}.",
    "trusted": "This takes the verdicts as true. Where they may be wrong, trueness "
    "judge corrects the rate by a few labels.",
    "bins": "The scores were counted in {bins:n} bins. The exact AUC certainly lies "
    "between {between}.",
}
