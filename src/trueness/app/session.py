"""How is a question of the page answered? Counts once, sections when asked, look-ups.

A file with its columns is counted once (``Counted``). Sections are those of the report;
a move of the threshold is a look-up in the running counts of every distinct score.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from trueness._core.checks.errors import Infeasible, InputError
from trueness._core.progress import progress
from trueness.app.address import FIELDS, WITHOUT, Asked, in_page, wide_table
from trueness.app.files import DataFile
from trueness.cli._columns import Chosen, Request, count_panel, with_verdicts
from trueness.cli.judge import compared_of, for_verdicts, rates_of
from trueness.cli.plan import with_rules
from trueness.counts.values import Panel, Tally
from trueness.data import frames
from trueness.data.cleaning import listening
from trueness.data.engines import quoted
from trueness.data.eval_rows import attempts
from trueness.findings import trust
from trueness.findings import without_labels as nogold
from trueness.findings.page import QUESTIONS, answers, facts_of, tiles
from trueness.findings.records import Finding, Page
from trueness.findings.slider import Steps, columns, every_step, met, short
from trueness.findings.subject import (
    REPLICATES,
    Model,
    Subject,
    Wanted,
    read_asked,
    tallies_of,
)
from trueness.findings.systems import evals_page, how_often
from trueness.inference.verification import said_elsewhere
from trueness.nogold.rate import Rate
from trueness.nogold.rate_comparison import RateComparison
from trueness.threshold.zones import best_thresholds

KEPT = 3  # files, with their columns, whose counts stay in memory
MOST_ROWS = 3_000_000  # of more rows each score is counted in bins of its own
BINS = 200_000
SEED = 0
# sections that no objective changes, and what else they depend on beside the level:
# they are worked out once
STEADY = {
    "ranking": (),
    "comparison": (),
    "ensembles": ("combine",),
    "calibration": (),
    "calibrated": ("calibrate", "classifier"),
    "planning": ("half_width", "classifier"),
}


@final
@dataclass(frozen=True)
class Counted:
    """A file, counted: its classifiers, its groups, and what was found so far."""

    request: Request
    data: Any  # Panel, tallies by name, or Leaves
    groups: Mapping[Any, Panel | Tally] | None = None
    known: dict[Any, Any] = field(default_factory=dict)

    @property
    def first(self) -> Panel | Tally:
        """Give something that knows how many cases there are."""
        binned = isinstance(self.data, dict)  # every score by itself
        found: Panel | Tally = next(iter(self.data.values())) if binned else self.data
        return found

    @property
    def labelled(self) -> bool:
        """Is there a label to be compared with?"""
        return bool(self.first.n_pos + self.first.n_neg)


def count(file: DataFile, asked: Asked, chosen: Chosen) -> Counted:
    """Count the chosen columns, where they lie."""
    large = file.rows > MOST_ROWS
    for word, instead in WITHOUT.items():
        if large and getattr(chosen, word) is not None:
            raise InputError(
                f"Of more than {MOST_ROWS:,} rows scores are counted in bins, and "
                "cases with weights or clusters are not put into bins; found "
                f"{file.rows:,} rows. Choose {instead!r} under {FIELDS[word]}, or open "
                "fewer rows."
            )
    wanted = (chosen.label, *chosen.scores, chosen.count, chosen.weight, chosen.by,
              chosen.cluster)  # fmt: skip
    names = list(dict.fromkeys(n for n in wanted if n is not None))
    with file.held(), progress("Counting", unit=""):
        source, known = file.source, {}
        if asked.kind == "judges":
            source, _, known["item"], _ = wide_table(file, asked)
        if asked.kind in ("judges", "systems"):
            rows = source.rows
        elif large:  # a small file may hold very many rows, which stay where they lie
            rows = source.rows.select(", ".join(map(quoted, names)))
        else:
            rows = source.only(names)
        request = Request(source, chosen, rows, asked.level, SEED)
        if asked.kind == "systems":
            words: Any = {"passed": chosen.scores[0], "system": chosen.by}
            found = attempts(rows, item=asked.item, **words)
            return Counted(request, found if isinstance(found, dict) else {"": found})
        if asked.kind == "leaves":
            found = frames.leaves(rows, node=chosen.scores[0], **chosen.words)
            return Counted(request, found)
        if asked.kind == "scores" and large:
            return Counted(request, *_binned(request))
        if asked.kind == "judges":
            request = with_verdicts(request, for_verdicts(request, asked.yes))
        elif asked.kind == "tests":
            request = with_verdicts(request, asked.yes)
        groups = count_panel(request, by=True) if chosen.by else None
        return Counted(request, count_panel(request), groups, known)


def _binned(request: Request) -> tuple[dict[str, Tally], Mapping[Any, Tally] | None]:
    """Count each score by itself, so that memory is bounded whatever the rows."""
    chosen = request.chosen

    def tally(score: str, **more: Any) -> Any:
        return frames.tally(request.rows, score=score, **more, **chosen.words)

    groups = None
    if chosen.by is not None and len(chosen.scores) == 1:
        groups = tally(chosen.scores[0], by=chosen.by, at_most=BINS // 10)
    return {score: tally(score, at_most=BINS) for score in chosen.scores}, groups


@final
class Bench:
    """The counts that are in memory, the last ones used."""

    def __init__(self) -> None:
        self._counted: OrderedDict[Any, Counted] = OrderedDict()
        self._lock = threading.Lock()

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._counted.clear()

    def find(self, asked: Asked) -> Counted | None:
        """Give the counts, if they were made, for the prevalence that is asked for."""
        with self._lock:
            if asked.data not in self._counted:
                return None
            self._counted.move_to_end(asked.data)
            return meant(self._counted[asked.data], asked.one_share)

    def count(self, file: DataFile, asked: Asked, chosen: Chosen) -> Counted:
        """Count, once; of several files the last ones stay."""
        if (known := self.find(asked)) is not None:
            return known
        with listening() as cleaned:
            found = count(file, asked, chosen)
        found.known["cleaned"] = cleaned
        with self._lock:
            self._counted[asked.data] = found
            while len(self._counted) > KEPT:
                self._counted.popitem(last=False)
        return meant(found, asked.one_share)


def meant(counted: Counted, prevalence: float | None) -> Counted:
    """Say of counts for which share of positives the answers are wanted.

    What was found for one share is kept apart from what was found for another.
    """
    if prevalence is None:
        return counted
    known = counted.known.setdefault(("prevalence", prevalence), {})
    if "counted" not in known:
        words = {"prevalence": prevalence}
        data, groups = (
            x and frames.designed(x, words) for x in (counted.data, counted.groups)
        )
        known["counted"] = replace(counted, data=data, groups=groups, known=known)
    found: Counted = known["counted"]
    return found


def options_of(counted: Counted, asked: Asked, quick: bool = False) -> Wanted:
    """Read what is asked of the counts, as the report reads it."""
    return read_asked(
        counted.first,
        **asked.wanted,
        rng=SEED,
        replicates=0 if quick else REPLICATES,
        **asked.sections
        | {
            "half_width": asked.half_width or _half_width(counted),
            "classifier": asked.classifier if asked.classifier in asked.columns else "",
        },
    )


def _half_width(counted: Counted) -> float:
    """Ask first for an interval two thirds as wide, in round numbers."""
    if "half_width" not in counted.known:
        f = Subject(counted.data, read_asked(counted.first), known=counted.known)
        wide = float(f"{(f.models[0].auc.high - f.models[0].auc.low) / 3:.1g}")
        counted.known["half_width"] = float(np.clip(wide, 0.001, 0.2))
    return float(counted.known["half_width"])


def findings(counted: Counted, asked: Asked, quick: bool = False) -> Subject:
    """Give what sections may ask; what no objective changes is shared."""
    options = options_of(counted, asked, quick)
    if quick:  # bands that are there already are not taken away
        full, known = replace(options, replicates=REPLICATES).sure, counted.known
        curves = [("roc",), ("pr",)]
        for what in (*curves, *(("meaning", m) for m in asked.columns)):
            if (*what, full) in known:
                known[*what, options.sure] = known[*what, full]
    return Subject(counted.data, options, counted.groups, known=counted.known)


def depends(asked: Asked, key: str) -> tuple[Any, ...]:
    """What does a section depend on, beside the counts?"""
    share = asked.one_share
    if key in STEADY:
        more = (getattr(asked, name) for name in STEADY[key])
        return (key, share, asked.level, *more)
    return (key, share, *map(str, asked.wanted.items()))


@said_elsewhere()
def section(counted: Counted, asked: Asked, key: str) -> Finding | None:
    """Work out one section of the report; its headline is said in the summary too."""
    made = QUESTIONS[key](findings(counted, asked))
    counted.known["section", *depends(asked, key)] = made
    return made


@said_elsewhere()
def summary(counted: Counted, asked: Asked, quick: bool) -> Page:
    """Give the head of the report: tiles, and plain words from what is known.

    The sentences that other sections add are those of sections that are done.
    """
    f, known = findings(counted, asked, quick), counted.known
    if not quick:
        _ = f.checked
    said = {k: known.get(("section", *depends(asked, k))) for k in QUESTIONS}
    return Page("", facts_of(counted.first, ""), tiles(f), answers(f, said), ())


def unmet(counted: Counted, asked: Asked) -> dict[str, str]:
    """Which constraint cannot be met together with those before it, and why?"""
    some, last = asked, {}
    for k in range(len(asked.subject_to), 0, -1):
        some = replace(asked, subject_to=asked.subject_to[:k])
        try:  # is there a threshold, or a pair of them, that keeps so many?
            f = findings(counted, some, quick=True)
            best = f.models[0]
            if f.asked.two is not None:
                best_thresholds(best.tally, **f.asked.two)
        except (Infeasible, InputError) as err:
            last = {f"subject_to_{k - 1}": in_page(str(err))}
        else:
            break
    return last


@said_elsewhere()
def operating(counted: Counted, asked: Asked, quick: bool) -> tuple[Finding, Any]:
    """Give the section with the slider, and what the slider needs at first."""
    f = findings(counted, asked, quick)
    made = QUESTIONS["threshold"](f)
    assert made is not None  # noqa: S101 - there is always a threshold
    return made, slider(counted, asked, f)


def slider(counted: Counted, asked: Asked, f: Subject) -> dict[str, Any]:
    """Give the sliders: every distinct score is a step, numbers are looked up."""
    models: list[dict[str, Any]] = []
    for k, m in enumerate(f.models):
        steps = _steps(counted, m)
        start = steps.at_or_above(m.point.threshold)
        size = len(steps.threshold)
        models.append(
            {"name": m.name, "key": m.key, "index": k, "start": start, "size": size}
        )
    return {
        "models": models,
        "constraints": [repr(c) for c in f.asked.limits],
        "now": look_up(counted, asked, 0, models[0]["start"])["values"],
    }


def _steps(counted: Counted, m: Model) -> Steps:
    what = ("every", m.key)
    if what not in counted.known:
        counted.known[what] = every_step(m.tally, m.name)
    found: Steps = counted.known[what]
    return found


def look_up(counted: Counted, asked: Asked, model: int, at: int) -> dict[str, Any]:
    """Give every number of the page at one step of one classifier."""
    f = findings(counted, asked, quick=True)
    m = f.models[min(max(model, 0), len(f.models) - 1)]
    steps = _steps(counted, m)
    at = min(max(at, 0), len(steps.threshold) - 1)
    chosen = at == steps.at_or_above(m.point.threshold)
    s = steps.pick(at, m.point.threshold if chosen else None)
    found = columns(s, f.asked.costs, _probability(counted, f, m, s.threshold))
    held = [bool(met(c, s.confusion)[0]) for c in f.asked.limits]
    values = {k: short(k, v)[0] for k, v in found.items()}
    return {"values": values, "meets": held, "at": at}


def _probability(counted: Counted, f: Subject, m: Model, cut: Any) -> Any:
    """Give the share of positives at a threshold, where the curve is known by now."""
    for replicates in (REPLICATES, 0):
        sure = replace(f.asked, replicates=replicates).sure
        found = counted.known.get(("meaning", m.key, sure))
        if found is not None:
            return found.probability(cut)
    return None if not m.is_probability else np.full(cut.shape, np.nan)


def without_labels(counted: Counted, asked: Asked) -> Page:
    """Answer about tests or judges whose truth nobody knows."""
    facts = facts_of(counted.data, "")
    words: Any = {"level": asked.level, "rng": SEED}
    return nogold.without_labels(counted.data, title="", facts=facts, **words)


def rates(
    counted: Counted, asked: Asked
) -> tuple[dict[str, Rate], dict[str, Panel], RateComparison | None]:
    """What is the true rate of each system, of which counts, and which is better?"""
    request, how = counted.request, asked.labelled
    panels: dict[str, Any] = {str(s): p for s, p in (counted.groups or {}).items()}
    panels = panels or {nogold.ALL: counted.data}
    found = rates_of(panels, how, asked.level, request.seed)
    compared = compared_of(request, panels, found, counted.known["item"], how)
    return found, {s: panels[s] for s in found}, compared


def judged(counted: Counted, asked: Asked, source: str = "") -> Page:
    """Answer about judges of whose cases some have a label."""
    return nogold.judged(*rates(counted, asked), source=source)


def systems(counted: Counted, asked: Asked, source: str = "") -> Page:
    """Say how often each system passes, and which rank it can have."""
    return evals_page(how_often(counted.data, level=asked.level), source)


def leaves(counted: Counted, asked: Asked) -> Finding:
    """Say which leaves can be trusted."""
    found = counted.data.report(level=asked.level)
    return trust.which_leaves(with_rules(found, counted.request, asked.named("rule")))


def tally_of(counted: Counted, asked: Asked) -> Tally:
    """Give the classifier that is looked at: the one that was chosen, or the first."""
    return tallies_of(counted.data)[asked.score]
