"""What may a section ask, and which sections are there?

``Findings`` holds the counts and what is asked of them; whatever takes time is worked
out when a section asks for it, and once. ``SECTIONS`` at the foot is the one place to
add a section: the report shows all of them, and the workbench shows the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar, final

from trueness.counts.answers import refuse
from trueness.counts.values import Panel, Tally
from trueness.report import (
    calibrated,
    calibration,
    comparison,
    decisions,
    ensembles,
    planning,
    ranking,
    scale,
    threshold,
)
from trueness.report._parts import Section, possible
from trueness.report.inputs import Checked, Model, ReportOptions, read_models
from trueness.threshold.at_cut import AtThreshold, at_threshold
from trueness.threshold.validation import validate_threshold

T = TypeVar("T")


@final
@dataclass(frozen=True)
class Findings:
    """Counts, options, and what was found so far.

    ``data`` may be tallies by name, where counts of all classifiers together would be
    too many; questions that need the same cases are then left out.

    ``known`` remembers answers by what they depend on, so that whoever asks again with
    another objective need not wait for what is the same; it may be shared by findings
    about the same counts.
    """

    data: Panel | Tally | Mapping[str, Tally]
    options: ReportOptions
    groups: Mapping[Any, Panel | Tally] | None = None
    known: dict[Any, Any] = field(default_factory=dict)

    def once(self, what: Any, make: Callable[[], T]) -> T:
        """Give an answer, which is worked out the first time."""
        if what not in self.known:
            self.known[what] = make()
        found: T = self.known[what]
        return found

    @property
    def models(self) -> list[Model]:
        """The classifiers, the best ranking first."""
        o = self.options
        return self.once(
            ("models", o.level, o.asked), lambda: read_models(self.data, o, self.once)
        )

    @property
    def meanings(self) -> list[calibration.Meaning | None]:
        """What the scores of each classifier are worth as probabilities."""
        by_key = {
            m.key: self.once(
                ("meaning", m.key, self.options.sure),
                partial(calibration.meaning, m, self.options),
            )
            for m in self.models
        }
        return [by_key[m.key] for m in self.models]

    @property
    def checked(self) -> Checked:
        """What remains of the threshold of the best classifier on new cases."""
        o, best = self.options, self.models[0]
        if o.at is not None:
            made: AtThreshold = at_threshold(best.tally, o.at, level=o.level)
            return made
        if not o.replicates:
            return None
        return self.once(
            ("checked", o.sure, o.asked),
            lambda: possible(
                lambda: validate_threshold(
                    best.tally,
                    **o.choice,
                    subject_to=o.subject_to,
                    replicates=o.replicates,
                    level=o.level,
                    rng=o.rng,
                )
            ),
        )


_Make = Callable[[Findings], Section | None]


@final
@dataclass(frozen=True)
class SectionMaker:
    """The title of a section, and how it is made of findings."""

    title: str
    make: _Make

    def __call__(self, f: Findings) -> Section | None:
        """Make the section; None where there is nothing to show."""
        made = self.make(f)
        return made and replace(made, title=self.title)


def _of_several(
    section: Callable[[Panel, list[Model], ReportOptions], Section | None],
) -> _Make:
    """Ask where there are several classifiers on the same cases."""

    def ask(f: Findings) -> Section | None:
        if not isinstance(f.data, Panel) or len(f.data.names) < 2:
            return None
        refuse(f.data, "compare")  # labelled cases alone would have other AUCs
        return section(f.data, f.models, f.options)

    return ask


def _threshold(f: Findings) -> Section:
    drawn = calibration.figure(f.models, f.meanings)
    return threshold.section(f.models, drawn, f.checked, f.options, f.once)


def _groups(f: Findings) -> Section | None:
    return comparison.groups(f.groups, f.models[0], f.options) if f.groups else None


# one entry a section, in the order of the page
SECTIONS: Mapping[str, SectionMaker] = {
    "threshold": SectionMaker("Move the threshold", _threshold),
    "ranking": SectionMaker(
        "How good is the ranking?", lambda f: ranking.section(f.models, f.options)
    ),
    "scale": SectionMaker(
        "What is lost by counting scores in bins?",
        lambda f: scale.section(f.models[0], f.options),
    ),
    "zones": SectionMaker(
        "Which cases should a person decide?",
        lambda f: decisions.two_cuts(f.models[0], f.options),
    ),
    "prevalence": SectionMaker(
        "What if positives are rarer or more frequent?",
        lambda f: decisions.prevalences(f.models[0], f.options),
    ),
    "comparison": SectionMaker("Which is better?", _of_several(comparison.section)),
    "decision": SectionMaker(
        "Which should decide?", _of_several(decisions.classifiers)
    ),
    "ensembles": SectionMaker(
        "Would they be better together?", _of_several(ensembles.section)
    ),
    "groups": SectionMaker("Does it hold in every group?", _groups),
    "group-cuts": SectionMaker(
        "A threshold for each group?",
        lambda f: decisions.group_cuts(f.groups or {}, f.models[0], f.options),
    ),
    "calibration": SectionMaker(
        "Do the scores mean what they say?",
        lambda f: calibration.section(f.models, f.meanings),
    ),
    "calibrated": SectionMaker(
        "What would calibration change?",
        lambda f: calibrated.section(f.models, f.options),
    ),
    "planning": SectionMaker(
        "How many cases would be enough?",
        lambda f: planning.section(f.models, f.options),
    ),
}
