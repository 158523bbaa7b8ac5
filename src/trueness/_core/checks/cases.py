"""Do these counts hold enough for the question?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from trueness._core.checks.errors import InputError, NotEnoughCases, PythonCode
from trueness._core.checks.words import described, listing


class ClassCounts(Protocol):
    """A tally or a panel, which live above: what is asked of both."""

    @property
    def n_pos(self) -> int: ...
    @property
    def n_neg(self) -> int: ...


def both_classes(tally: ClassCounts, analysis: str) -> None:
    """Stop an analysis that needs a positive and a negative case."""
    if (tally.n_pos and tally.n_neg) or getattr(tally, "labels_expected", False):
        return

    labelled = tally.n_pos + tally.n_neg
    lacking = "positives" if not tally.n_pos else "negatives"
    # a sum of weights need not be whole
    number = f"{labelled:,.6g}" if labelled % 1 else f"{int(labelled):,}"
    raise NotEnoughCases(
        f"{analysis} needs at least one positive and one negative case; there are "
        f"0 {lacking} among {number} labelled cases. {_why_lacking(tally, lacking)}",
        option="positive" if labelled else "label",
    )


def _why_lacking(tally: ClassCounts, lacking: str) -> str:
    """Say what may be the reason that a class has no cases."""
    weighted = getattr(tally, "weighted", False)
    unknown = getattr(tally, "n_unknown", 0)
    if tally.n_pos + tally.n_neg:
        hint = "Is the positive label right? The option positive names it."
        return f"{hint} Or do all {lacking} have weight 0?" if weighted else hint
    if unknown:
        return f"All {unknown:,} cases lack a label."
    if weighted:
        return "All cases have weight 0. Is the column of weights the right one?"
    return "There are no cases. Were all rows filtered out?"


def one_classifier(tally: object, analysis: str) -> None:
    """Stop when something else than a tally of one classifier was passed."""
    if hasattr(tally, "score") and hasattr(tally, "labelled"):
        return
    if (names := getattr(tally, "names", None)) and hasattr(tally, "labelled"):
        raise InputError(
            f"{analysis} needs the tally of one classifier; found a panel of "
            f"{listing(names)}.",
            example=PythonCode(f"panel[{names[0]!r}]"),
        )

    raise InputError(
        f"{analysis} needs a tally; found {type(tally).__name__}.",
        example=PythonCode("trueness.tally(y_true, y_score)"),
    )


def mapping_of_counts(groups: object, analysis: str) -> None:
    """Stop when groups or clusters are not a mapping of tallies or panels."""
    counted = isinstance(groups, Mapping) and all(
        hasattr(counts, "n_pos") and hasattr(counts, "counts")
        for counts in groups.values()
    )
    if not counted:
        raise InputError(
            f"{analysis} needs a mapping from name to tally; found "
            f"{described(groups)}.",
            example=PythonCode('trueness.tally(..., by="site")'),
        )


def several_classifiers(panel: object, analysis: str) -> None:
    """Stop when something else than a panel was passed."""
    if hasattr(panel, "names") and hasattr(panel, "labelled"):
        return
    raise InputError(
        f"{analysis} needs a panel; found {type(panel).__name__}.",
        example=PythonCode('trueness.panel(y_true, {"a": a, "b": b})'),
    )


def some_labels(tally: ClassCounts, analysis: str) -> None:
    """Stop an analysis that needs labelled cases, of whichever class."""
    if not hasattr(tally, "n_pos"):
        one_classifier(tally, analysis)
    if not tally.n_pos + tally.n_neg and not getattr(tally, "labels_expected", False):
        both_classes(tally, analysis)


def at_least_two(
    names: Sequence[str], analysis: str, what: str = "classifiers"
) -> None:
    """Stop a comparison of one with itself."""
    if len(names) < 2:
        example = PythonCode('trueness.panel(y_true, {"a": a, "b": b})')
        raise InputError(
            f"{analysis} needs at least two {what}; found {listing(names) or 'none'}.",
            option=None if what == "classifiers" else "by",
            example=example if what == "classifiers" else "COLUMN",
        )


def complete_outputs(panel: Any, analysis: str) -> None:
    """Stop an analysis that needs every classifier's output for every case."""
    lacks_output = np.isnan(panel.rows).any(axis=1)
    if lacks_output.any():
        cases = int((panel.neg + panel.pos + panel.unknown)[lacks_output].sum())
        raise InputError(
            f"{analysis} needs a score from every classifier for every case; "
            f"{cases:,} of {panel.n:,} labelled cases lack one. Leave these cases "
            "out, or complete their scores.",
            option="missing_scores",
            example="drop",
        )


def cases_for_folds(panel: ClassCounts, folds: int) -> None:
    """Stop when a class has fewer cases than folds."""
    rarer_class = min(panel.n_pos, panel.n_neg)
    if rarer_class < folds:
        raise NotEnoughCases(
            f"{folds} folds need {folds} cases of each class; there are "
            f"{panel.n_pos:,} positives and {panel.n_neg:,} negatives. Count more "
            "cases, or use fewer folds.",
            option="folds",
            example=rarer_class if rarer_class > 1 else None,
        )
