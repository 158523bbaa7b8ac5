"""What do I send to my boss? The door for Jinja2.

``html(data)`` gives a report as text, ``write(data, path)`` one self-contained file: no
network, no foreign script, under 2 MB.

``findings`` finds what is to be said and drawn; ``svg`` draws figure data, and ``page``
lays all of it out as one HTML file. No number is computed here, nor in the script of
the page, which looks numbers up.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter, signature
from typing import Any, TypedDict, TypeVar, Unpack

from trueness._core.imports import required as _required
from trueness.counts.answers import of_counts
from trueness.counts.resampling import Seed
from trueness.counts.values import Panel, Tally
from trueness.threshold.limits import ConstraintLike, Prevalences

_required("jinja2", "report")  # says what to install, which the next line does not
from trueness.findings.page import page_about  # noqa: E402
from trueness.findings.subject import Cost, Goal, Groups, Wanted, read_asked  # noqa: E402
from trueness.findings.without_labels import judged  # noqa: E402
from trueness.nogold.rate import Rate  # noqa: E402
from trueness.nogold.rate_comparison import RateComparison  # noqa: E402
from trueness.report.page import Report, check_name, render, write_page  # noqa: E402

__all__ = ["Report", "html", "write", "write_judges"]

F = TypeVar("F", bound=Callable[..., Any])


class ReportWords(TypedDict, total=False):
    """What can be asked of a report, word by word; :func:`write` says what it means."""

    title: str
    source: str
    maximize: Goal
    minimize: Goal
    subject_to: ConstraintLike | Iterable[ConstraintLike]
    cost: Cost | None
    groups: Groups
    level: float
    rng: Seed
    at: float | None
    prevalences: Prevalences
    calibrator: str
    half_width: float | None
    classifier: str
    combiner: str


def _spelt_out(function: F) -> F:
    """Show the words that are passed on one by one, with the defaults they have."""
    own = signature(function)
    passed_on: dict[str, Parameter] = {}
    for reads in (Wanted, read_asked, page_about):  # the last one asks first
        passed_on |= signature(reads).parameters
    given = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    words = (passed_on[name] for name in ReportWords.__annotations__)
    given += [p.replace(kind=p.KEYWORD_ONLY) for p in words]
    vars(function)["__signature__"] = own.replace(parameters=given)
    vars(function)["typed"] = f"report.{function.__name__}"
    return function


@of_counts
@_spelt_out
def html(data: Panel | Tally, **words: Unpack[ReportWords]) -> str:
    """What can be said about these classifiers, as one HTML page?

    Parameters as in :func:`trueness.report.write`.
    """
    return render(page_about(data, **words, classes=isinstance(data, Mapping)))


@of_counts
@_spelt_out
def write(
    data: Panel | Tally, path: str | os.PathLike[str], **words: Unpack[ReportWords]
) -> Report:
    """Write a report to a file, all or nothing.

    Parameters
    ----------
    data
        A tally, a panel of several classifiers on the same cases, or what
        :func:`trueness.one_vs_rest` gives for more than two classes.
    path
        Name of the file, which ends in .html.
    title, source
        Words for the head of the page: what it is about, and where the data are from.
    maximize, minimize, subject_to
        Objective and constraints of the threshold, as in
        :func:`trueness.best_threshold`; by default Youden's index is maximised. Those
        of :func:`trueness.best_thresholds` (``"cost(fp=1, fn=10, defer=0.3)"``, ``"npv
        below >= 0.99"``) add a section on two thresholds, those of
        :func:`trueness.group_thresholds` (``"recall_gap <= 0.02"``) one on groups.
    cost
        Cost of a false positive and of a false negative, ``{"fp": 1, "fn": 20}``.
    groups
        From group to panel or tally, as ``by=`` gives.
    level
        Confidence level of all intervals.
    rng
        Seed of everything random.
    at
        A threshold that is used already, in place of the best one.
    prevalences
        A range, or an estimate, of the share of positives where the classifier will be
        used: adds a section on the best threshold there.
    calibrator
        A name from ``trueness.CALIBRATORS``: adds what this calibration would change.
    half_width
        Wanted half-width of the interval of the AUC: adds how many cases it needs.
    classifier
        Which classifier ``calibrator`` and ``half_width`` are about; the best one by
        default.
    combiner
        A name from ``trueness.COMBINERS``: the way of combining the classifiers that
        the page describes; by default the best one.
    """
    check_name(path)
    page = page_about(data, **words, classes=isinstance(data, Mapping))
    return write_page(page, path)


def write_judges(
    rates: Mapping[str, Rate],
    panels: Mapping[str, Panel],
    path: str | os.PathLike[str],
    compared: RateComparison | None = None,
    *,
    title: str = "",
    source: str = "",
) -> Report:
    """Write a report on judged answers to an HTML file, all or nothing.

    Parameters
    ----------
    rates, panels
        From system to what :func:`trueness.prevalence` said, and of what.
    path
        Name of the file, which ends in .html.
    compared
        From :func:`trueness.compare_prevalence`.
    title, source
        Words for the head of the page.
    """
    check_name(path)
    page = judged(rates, panels, compared, title=title, source=source)
    return write_page(page, path)
