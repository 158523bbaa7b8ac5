r"""What do I send to my boss? The door for Jinja2.

``report(data, path)`` writes one self-contained file, ``html(data)`` gives its text: no
network, no foreign script, under 2 MB. ``findings`` finds what is to be said and drawn,
``svg`` draws figure data, and this lays all of it out as one page. No number is
computed here, nor in the script of the page, which looks numbers up.

Everything that came with the data is text: the template escapes it, and in the JSON of
the page every character that could end a script is written as ``\uXXXX``. The policy
of the page allows its own style and its own script, by their hash, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from trueness import __version__
from trueness._core.checks.errors import InputError
from trueness._core.files import replacing
from trueness._core.imports import required as _required
from trueness._core.numbers import level_text, with_minus
from trueness._core.records import json_value
from trueness._core.times import build_day
from trueness.counts.answers import of_counts
from trueness.counts.resampling import Seed
from trueness.counts.values import Panel, Tally
from trueness.findings import subject as subjects
from trueness.findings.notes import REPORT, Note, say
from trueness.findings.page import page_about, with_remarks
from trueness.findings.records import Page
from trueness.findings.request import Cost, Goal, Request, as_constraints
from trueness.findings.slider_steps import ALL_METRICS, READOUT
from trueness.findings.subject import Groups
from trueness.findings.where_to_cut import readout
from trueness.threshold.constraints import ConstraintLike
from trueness.threshold.prevalences import Prevalences
from trueness.threshold.rule import Rule

# A report of scores needs neither judged answers nor a declaration.
if TYPE_CHECKING:
    from trueness.declarations.records import Declaration
    from trueness.nogold.rate import Rate
    from trueness.nogold.rate_comparison import RateComparison

_required("jinja2", "report")  # says what to install, which the next lines do not
import jinja2  # noqa: E402
from markupsafe import Markup  # noqa: E402

from trueness.reports import first_screen, lanes, svg  # noqa: E402

__all__ = ["Report", "html", "report", "write_judges"]


@of_counts
def html(
    data: Panel | Tally,
    *,
    title: str = "",
    source: str = "",
    name: str = "",
    remarks: Sequence[str] = (),
    maximize: Goal = None,
    minimize: Goal = None,
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    cost: Cost | None = None,
    guarantee: float | None = None,
    groups: Groups = None,
    sites: Groups = None,
    level: float = 0.95,
    rng: Seed = 0,
    at: float | None = None,
    prevalences: Prevalences = None,
    margin: float | None = None,
    calibrator: str = "",
    half_width: float | None = None,
    classifier: str = "",
    combiner: str = "",
) -> str:
    """Report on these classifiers as one HTML page.

    Parameters as in :func:`trueness.report`.
    """
    request = Request(
        maximize=maximize,
        minimize=minimize,
        subject_to=as_constraints(subject_to),
        cost=cost,
        guarantee=guarantee,
        level=level,
        rng=rng,
        at=at,
        prevalences=prevalences,
        margin=margin,
        calibrator=calibrator,
        half_width=half_width,
        classifier=classifier,
        combiner=combiner,
        classes=isinstance(data, Mapping),
    )
    page = page_about(
        {name: data} if name and isinstance(data, Tally) else data,
        request,
        title=title,
        source=source,
        groups=groups,
        sites=sites,
    )
    page = with_remarks(page, remarks)

    return render(page)


@of_counts
def report(
    data: Panel | Tally,
    path: str | os.PathLike[str],
    *,
    evidence: bool = False,
    title: str = "",
    source: str = "",
    name: str = "",
    remarks: Sequence[str] = (),
    maximize: Goal = None,
    minimize: Goal = None,
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    cost: Cost | None = None,
    guarantee: float | None = None,
    groups: Groups = None,
    sites: Groups = None,
    level: float = 0.95,
    rng: Seed = 0,
    at: float | None = None,
    prevalences: Prevalences = None,
    margin: float | None = None,
    calibrator: str = "",
    half_width: float | None = None,
    classifier: str = "",
    combiner: str = "",
) -> Report:
    """Write a report to a file, all or nothing.

    Parameters
    ----------
    data
        A tally, a panel of several classifiers on the same cases, or, for more than two
        classes, the result of :func:`trueness.one_vs_rest`.
    path
        Name of the file, which ends in .html.
    evidence
        Put the counts into the page, in bins of at least 5 cases of each class, so that
        others can evaluate them: :func:`trueness.scan` reads them, as it does those of
        :func:`trueness.declare`.
    title, source
        Title of the page, and source of the data, shown at its top.
    name
        What one score is called; by default its column.
    remarks
        Sentences about the data; by default they name the columns that were found in a
        frame.
    maximize, minimize, subject_to
        Objective and constraints of the threshold, as in
        :func:`trueness.best_threshold`; by default Youden's index is maximised. Those
        of :func:`trueness.best_thresholds` (``"cost(fp=1, fn=10, defer=0.3)"``, ``"npv
        below >= 0.99"``) add a section on two thresholds, those of
        :func:`trueness.group_thresholds` (``"recall_gap <= 0.02"``) one on groups.
    cost
        Cost of a false positive and of a false negative, ``{"fp": 1, "fn": 20}``.
    guarantee
        Confidence with which the constraints must hold in the population, such as 0.95,
        as in :func:`trueness.guaranteed_threshold`. Without it they are expected to
        hold on new cases.
    groups
        A mapping from group to panel or tally, as ``by=`` returns.
    sites
        The same for a sample of sites: adds a prediction for the next site, as
        :func:`trueness.across_sites` does.
    level
        Confidence level of all intervals.
    rng
        A seed or a NumPy generator.
    at
        A threshold that is in use, in place of the best one.
    prevalences
        A range, or an estimate, of the proportion of positives where the classifier
        will be used: adds a section on the best threshold there.
    margin
        Mean error up to which scores count as calibrated, as in
        :func:`trueness.calibration_verdict`.
    calibrator
        A name from ``trueness.CALIBRATORS``: adds the effect of this calibration.
    half_width
        Wanted half-width of the interval of the AUC: adds the number of cases needed.
    classifier
        The classifier that ``calibrator`` and ``half_width`` apply to; by default the
        best one.
    combiner
        A name from ``trueness.COMBINERS``: the way of combining the classifiers that
        the page describes; by default the best one.
    """
    check_name(path)
    request = Request(
        maximize=maximize,
        minimize=minimize,
        subject_to=as_constraints(subject_to),
        cost=cost,
        guarantee=guarantee,
        level=level,
        rng=rng,
        at=at,
        prevalences=prevalences,
        margin=margin,
        calibrator=calibrator,
        half_width=half_width,
        classifier=classifier,
        combiner=combiner,
        classes=isinstance(data, Mapping),
    )
    page = page_about(
        {name: data} if name and isinstance(data, Tally) else data,
        request,
        title=title,
        source=source,
        groups=groups,
        sites=sites,
    )
    page = with_remarks(page, remarks)
    declaration = None

    if evidence:
        declaration = evidence_of(data, at, title=page.title)

    return write_page(page, path, declaration)


def evidence_of(
    data: Tally | Panel, threshold: float | Rule | None, *, title: str
) -> Declaration:
    """Return the counts of the one score of a report, as they may be published."""
    counts = data
    if isinstance(data, Panel) and len(data.names) == 1:
        counts = data[data.names[0]]

    if not isinstance(counts, Tally):
        raise InputError(
            "A report carries the counts of one score; found several. Choose one.",
            option="score",
        )

    from trueness.declarations.declaring import declare

    thresholds = [threshold] if isinstance(threshold, (int, float)) else []
    declaration: Declaration = declare(counts, at=thresholds, title=title)
    return declaration


def report_of(
    subject: subjects.Subject, path: str | os.PathLike[str], **options: Any
) -> Report:
    """Write a report about the data of a finding."""
    data: Any = subject.data
    if isinstance(data, Mapping) and len(data) == 1:
        (data,) = data.values()

    groups: dict[Any, Panel | Tally] = {}
    for name, counts in (subject.groups or {}).items():
        # the counts of one score, by its name
        groups[name] = (
            next(iter(counts.values())) if isinstance(counts, Mapping) else counts
        )

    options = {"level": subject.request.level, "groups": groups or None} | options
    report_file: Report = report(data, path, **options)
    return report_file


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
        Mappings from system to the result of :func:`trueness.prevalence`, and to its
        panel.
    path
        Name of the file, which ends in .html.
    compared
        From :func:`trueness.compare_prevalence`.
    title, source
        Title of the page, and source of the data.
    """
    from trueness.findings.without_labels import judges_page

    check_name(path)
    page = judges_page(rates, panels, compared, title=title, source=source)
    return write_page(page, path)


_ESCAPES_IN_SCRIPT = {ord(c): f"\\u{ord(c):04x}" for c in "<>&'\u2028\u2029"}


@final
@dataclass(frozen=True)
class Report:
    """A report that was written to a file; a notebook shows it.

    Attributes
    ----------
    path : Path
        The file.
    size : int
        Size of the file in bytes.
    """

    path: Path
    size: int

    def __repr__(self) -> str:
        """Say where it is."""
        return f"Report written to {self.path} ({self.size / 1024:,.0f} KB)"

    def _repr_html_(self) -> str:
        page = escape(self.path.read_text(encoding="utf-8"))
        return (
            f"<p>{escape(repr(self))}</p>"
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" title="Report" '
            'width="100%" height="640"></iframe>'
        )


def check_name(path: str | os.PathLike[str]) -> None:
    """Raise an error for a name that promises something else than a page."""
    name = Path(os.fsdecode(path))
    if name.suffix.lower() not in ("", ".html", ".htm"):
        raise InputError(
            f"The report is an HTML page, so its name must end in .html; found {name}. "
            "A browser prints it to a PDF file.",
            option="path",
            example=str(name.with_suffix(".html")),
        )


def write_page(
    page: Page, path: str | os.PathLike[str], evidence: Declaration | None = None
) -> Report:
    """Write a page to a file, all or nothing; ``evidence`` are its counts."""
    text = render(page, evidence=evidence).encode()
    with replacing(path) as temporary:
        temporary.write_bytes(text)
    return Report(Path(os.fsdecode(path)), len(text))


def render(
    page: Page, version: str = __version__, evidence: Declaration | None = None
) -> str:
    """Write a page as HTML."""
    style = file_of("style.css") + file_of("figure.css")
    script = file_of("script.js")
    # a JSON block is data: no browser runs it, so the policy need not name it
    policy = (
        f"default-src 'none'; script-src {_policy_hash(script)}; "
        f"style-src {_policy_hash(style)}; base-uri 'none'; form-action 'none'"
    )
    text: str = environment().get_template("page.html.j2").render(
        page=page,
        version=version,
        policy=policy,
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        data=embeddable_json(_without_bands(page.slider)),
        date=build_day(),
        evidence=None if evidence is None else embeddable_json(evidence.to_dict()),
        **values_of_slider(page.slider),
    )  # fmt: skip

    return text


def _without_bands(slider: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the script looks up: bands are drawn, and do not move."""
    if not slider:
        return {}

    models = [
        {key: value for key, value in model.items() if key != "bands"}
        for model in slider["models"]
    ]
    return {**slider, "models": models}


def _keep_numbers_together(text: str) -> str:
    """Keep a number on one line with its sign of per cent, or with its ``p =``."""
    for spaced in (" %", "p = ", "p < "):
        text = text.replace(spaced, spaced.replace(" ", "\N{NO-BREAK SPACE}"))
    return text


def _say_on_page(noted: Note, face: str) -> str:
    """Return a sentence as a page shows it."""
    return _keep_numbers_together(say(noted, face))


def values_of_slider(slider: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the parts of a page need to show numbers that move."""
    return {"now": readout(slider), "first": READOUT, "every": ALL_METRICS}


def embeddable_json(value: object) -> Markup:
    r"""Write JSON that cannot leave its script block.

    >>> embeddable_json("</script>")
    Markup('"\\u003c/script\\u003e"')
    """
    text = json.dumps(json_value(value), separators=(",", ":"), allow_nan=False)
    return Markup(text.translate(_ESCAPES_IN_SCRIPT))  # noqa: S704 - escaped in this line


def _policy_hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def file_of(name: str) -> str:
    """Return the text of a file of this room: template, style or script."""
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def environment(*more: jinja2.BaseLoader, face: str = REPORT) -> jinja2.Environment:
    """Return the templates of the report, and of others that show findings."""
    own_templates = {name: file_of(name) for name in ("page.html.j2", "parts.html.j2")}
    templates = jinja2.Environment(
        loader=jinja2.ChoiceLoader([*more, jinja2.DictLoader(own_templates)]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "draw": svg.draw,
        "flagging": first_screen.draw_flagging,
        "forest": lanes.draw_forest,
        "icons": first_screen.draw_icons,
        "lane": lanes.draw_lane,
        "level": level_text,
        "rank": lanes.draw_ranking,
        "minus": with_minus,
        "say": partial(_say_on_page, face=face),
        "unbroken": _keep_numbers_together,
    }

    return templates
