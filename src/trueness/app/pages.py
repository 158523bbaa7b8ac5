"""How does the workbench look, and which lines give the same elsewhere?

Pages and fragments are made of the parts of the report; the lines are for a shell, and
for Python.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from importlib import resources
from io import BytesIO
from typing import Any
from urllib.parse import urlencode

import jinja2
import numpy as np
from markupsafe import Markup
from starlette.datastructures import QueryParams

from trueness import __version__
from trueness._core.figures import Curves, Line, TitledFigure
from trueness.app import address, session
from trueness.app.address import FIELDS, KINDS, WITHOUT, Asked, wide_table
from trueness.app.files import Files
from trueness.app.session import COMBINER, MAP, REPORT, combines
from trueness.calibration.calibrators import CALIBRATORS
from trueness.cli._columns import as_votes
from trueness.cli._source import REAL_TYPES, SAMPLE, WHOLE_TYPES
from trueness.cli.judge import first_twice, wide_sql
from trueness.data.engines import quoted
from trueness.ensembles.combiners import COMBINERS
from trueness.findings import notes
from trueness.findings.page import QUESTIONS
from trueness.findings.records import Figure, Finding, Page
from trueness.findings.request import (
    Request,
    for_one_threshold,
    goal_of_pair,
    separate_constraints,
)
from trueness.findings.without_labels import HOW
from trueness.metrics.definitions import SYNONYMS
from trueness.metrics.grammar import known_names
from trueness.plots._matplotlib import PRINT_DPI, printed
from trueness.reports import embedded, environment, file_of, moving
from trueness.reports.figure_files import light_style
from trueness.reports.svg import draw
from trueness.reports.svg_marks import WIDTH
from trueness.threshold.constraints import asks_for_two_cuts, without_deferral_cost

# what is answered at once; other questions wait until somebody opens them
AT_ONCE = ("summary", "threshold", "nogold", "judges", "leaves", "systems")
# sections that wait for a question: which field asks it, and an example
WAITING = {
    "zones": ("subject_to", "defer <= 0.1"),
    "prevalence": ("prevalence", ""),  # a range around the share of positives here
    "group-cuts": ("subject_to", "recall_gap <= 0.05"),
}
# both error rates count equally, whatever the prevalence: to be filled in by Python
EQUAL = "cost(fp=1, fn={panel.n_neg / panel.n_pos:.15g})"
STATIC = {"app.css": "text/css", "style.css": "text/css", "figure.css": "text/css",
          "app.js": "text/javascript", "script.js": "text/javascript",
          "open.js": "text/javascript"}  # fmt: skip
# of all sections: those of the report, and those of whole pages
TITLES = notes.TITLES | {
    "summary": "In plain words",
    "nogold": "How good is each test?",
    "judges": "What is the true pass rate?",
    "systems": "How often does each system pass?",
}


def query_of(asked: Asked) -> str:
    """Write an address that asks for the same."""
    pairs: list[tuple[str, Any]] = [("file", asked.file.word)]
    for f in fields(asked)[1:-2]:
        value, name = getattr(asked, f.name), f.name.replace("columns", "column")
        if value not in (None, "", (), f.default):
            many = value if isinstance(value, tuple) else (value,)
            pairs += [(name, v) for v in many]
    return urlencode(pairs)


def sections_of(asked: Asked) -> list[str]:
    """Which sections can there be, for this kind of data?"""
    if asked.chosen is None:
        return []
    if asked.kind != "scores":
        return ["nogold" if asked.kind == "tests" else str(asked.kind)]
    binned, one = asked.file.rows > session.MOST_ROWS, len(asked.columns) < 2
    none = {
        "comparison": one or binned,
        "ensembles": one or binned,
        "groups": asked.by is None,
        "group-cuts": asked.by is None,
        "sites": asked.by is None,
        "scale": not binned,
    }
    return [k for k in ("summary", *QUESTIONS) if not none.get(k)]


@cache
def _environment() -> jinja2.Environment:
    made = environment(jinja2.FunctionLoader(_own), face=notes.PAGE)
    made.globals |= {
        "version": __version__, "fields": FIELDS, "nothing": address.NOTHING,
        "no_labels": address.NO_LABELS, "drop": address.DROP,
        "ways": HOW, "titles": TITLES,
        "instead": WITHOUT, "kinds": {k: v[2] for k, v in KINDS.items()},
        "at_once": AT_ONCE, "calibrators": list(CALIBRATORS),
        "combiners": list(COMBINERS), "call": _call, "repr": repr, "quoted": quoted,
        "combines": combines, "REPORT": REPORT, "MAP": MAP, "COMBINER": COMBINER,
    }  # fmt: skip
    return made


def _own(name: str) -> str | None:
    file = resources.files("trueness.app") / name
    return file.read_text(encoding="utf-8") if file.is_file() else None


def static(name: str) -> str:
    """Give a style or a script: those of the report, and those of the workbench."""
    return _own(name) or file_of(name)


def _render(template: str, **given: Any) -> str:
    """Write a page or a part of it; only the slider has words that move."""
    text: str = _environment().get_template(template).render(**moving({}) | given)
    return text


def opening() -> str:
    """Write the empty page that asks for its content with the secret of the session."""
    return _render("open.html.j2")


def start(files: Files, problem: str = "") -> str:
    """Write the first page: drop a file, or choose one."""
    limit = f"{files.limit / 2**20:,.0f} MB"
    return _render("start.html.j2", files=files, problem=problem, limit=limit)


def look_page(asked: Asked, typed: QueryParams) -> str:
    """Write the page about a file; its sections are fetched by the script.

    What was ``typed`` is shown again, also where it cannot be read.
    """
    file, keys = asked.file, sections_of(asked)
    types = file.source.types
    whole = [c for c, kind in types.items() if kind in WHOLE_TYPES]
    return _render(
        "look.html.j2",
        file=file,
        asked=asked,
        problems=asked.problems,
        types=types,
        whole=whole,
        numbers=[c for c, k in types.items() if c in whole or k.startswith(REAL_TYPES)],
        values=file.values(asked.label) if asked.label in types else [],
        combines=combines(asked) and "ensembles" in keys,
        keys=keys,
        opened={*typed.getlist("open"), *(k for k in keys if asks(asked, k))},
        taken=lines_of(asked),
        query=query_of(asked),
        objective=typed.get("objective", "").strip(),
        prevalence=typed.get("prevalence", "").strip(),
        limits=[*(t.strip() for t in typed.getlist("subject_to") if t.strip()), ""],
        words=embedded(sorted({*known_names(), *SYNONYMS})),
    )


def operating(section: Finding, slider: dict[str, Any]) -> str:
    """Write the section with the slider."""
    columns = {k: [v] for k, v in slider["now"].items()}
    texts = moving({"models": [{"start": 0, "columns": columns}]})
    data = embedded({k: v for k, v in slider.items() if k != "now"})
    return _render("operating.html.j2", s=section, slider=slider, data=data, **texts)


def section(made: Finding | None, key: str, asked: Asked, **more: float | None) -> str:
    """Write one section, or why it is not there.

    ``more`` is the width that was planned for, and the share of positives here.
    """
    waits = None if made or asks(asked, key) else WAITING.get(key)
    if waits and not waits[1]:
        share = more.get("prevalence") or 0.5
        waits = (waits[0], f"{share / 2:.2g}:{min(2 * share, (1 + share) / 2):.2g}")
    without = [(v, FIELDS[k]) for k, v in WITHOUT.items() if asked.named(k)]
    return _render(
        "section.html.j2", s=made, key=key, asked=asked, width=more.get("width"),
        without=without, waits=waits,
    )  # fmt: skip


def asks(asked: Asked, key: str) -> bool:
    """Does the address ask the question that a section waits for?"""
    limits, between = separate_constraints(asked.subject_to)
    return {
        "zones": asks_for_two_cuts([asked.objective, *limits]),
        "group-cuts": bool(between),
        "prevalence": isinstance(asked.share, tuple),
    }.get(key, False)


def head(page: Page, cleaned: Sequence[str] = ()) -> str:
    """Write tiles and plain words, what was cleaned, and the sections, if any."""
    return _render("head.html.j2", page=page, cleaned=" ".join(cleaned))


def problem(words: str, again: bool = False) -> str:
    """Write why something is not there."""
    return _render("problem.html.j2", words=words, again=again)


def figure_file(figure: Figure, names: Sequence[str], kind: str) -> bytes:
    """Write a figure of the page as a file of its own, in the light colours.

    The page names its classifiers above all figures; a file names them below its own.
    """
    if kind == "png":
        return _figure_png(figure)
    drawn = draw(figure)[0]
    names = names if "data-model" in drawn else ()
    high = int(re.findall(r'viewBox="0 0 \d+ (\d+)"', drawn)[0])
    inner = drawn.replace("<svg ", Markup('<svg height="{}" ').format(high), 1)
    more = {"below": high, "wide": WIDTH, "style": Markup(light_style())}  # noqa: S704
    return _render("figure.svg.j2", inner=inner, names=names, **more).encode()


def _figure_png(figure: Figure) -> bytes:
    """Return the same figure at print size, by matplotlib."""
    data = figure.data
    if isinstance(data, Curves) and figure.at is not None:
        x, y = figure.at
        columns = {data.x.name: np.array([x]), data.y.name: np.array([y])}
        data = replace(data, dots=(Line("threshold", columns),))
    written = BytesIO()
    printed(TitledFigure(data, figure.title, figure.note)).savefig(
        written, format="png", dpi=PRINT_DPI
    )
    return written.getvalue()


# lines that give the same elsewhere


def lines_of(asked: Asked) -> dict[str, str] | None:
    """Write the commands and the Python lines that give what the page shows."""
    chosen, kind = asked.chosen, str(asked.kind)
    if chosen is None:
        return None
    grouped = "system" if kind in ("judges", "systems") else "by"
    of_a_log = kind == "systems" and asked.file.judges  # which knows them itself
    named = {grouped: chosen.by, "verdict": asked.verdict, "item": asked.item}
    options: dict[str, Any] = {
        **_columns(asked, asked.columns if asked.is_long else chosen.scores),
        **({} if of_a_log else named),
        "rule": asked.named("rule"),
        "yes": asked.yes,
        "labelled": asked.labelled if chosen.label else None,
        "level": asked.other_level,
    }
    if kind == "scores":
        options |= {
            asked.goal: asked.objective,
            "subject-to": asked.subject_to,
            **{f"cost-{k}": v for k, v in (asked.cost or {}).items()},
            "prevalence": asked.prevalence,
            "calibrate": asked.calibrate,
            "half-width": asked.half_width,
            "classifier": asked.classifier,
            "combine": asked.combine,
        }
    end = () if kind == "leaves" else ("-o", REPORT)
    taken = {
        "command": _typed(KINDS[kind][1], asked, options, *end),
        "python": _python(asked, chosen),
        "calibrate": "",
        "combine": "",
    }
    if kind == "scores":
        more = {"prevalence": asked.one_share, "method": asked.calibrate}
        options = _columns(asked, (asked.score,)) | more
        taken["calibrate"] = _typed("calibrate", asked, options, "--save", MAP)
    if combines(asked):
        options = _columns(asked, chosen.scores) | more | {"method": asked.combine}
        taken["combine"] = _typed("combine", asked, options, "--save", COMBINER)
    return taken


def _columns(asked: Asked, columns: tuple[str, ...]) -> dict[str, Any]:
    """Give the options that name columns."""
    found: Any = asked.chosen
    beside = {k: getattr(found, k) for k in ("count", "weight", "cluster")}
    beside["missing-scores"] = found.missing_scores
    first = {"label": found.label, "positive": asked.positive}
    return {**first, KINDS[str(asked.kind)][0]: columns, **beside}


def _typed(command: str, asked: Asked, options: Mapping[str, Any], *end: str) -> str:
    """Write a command; a value that looks like an option is joined to its own."""
    words = ["trueness", command, asked.file.typed]
    for option, value in options.items():
        for one in value if isinstance(value, tuple) else (value,):
            if one not in (None, ""):
                joined = str(one).startswith("-")
                words += [f"--{option}={one}"] if joined else [f"--{option}", str(one)]
    return shlex.join([*words, *end])


def _call(name: str, data: str, **options: Any) -> str:
    """Write a call of the library; options that say nothing are left out."""
    given = {k: list(v) if isinstance(v, tuple) and k != "prevalences" else v
             for k, v in options.items()}  # fmt: skip
    said = [f"{k}={v!r}" for k, v in given.items() if v not in (None, [], "")]
    return f"trueness.{name}({', '.join([data, *said] if data else said)})"


def opened_line(typed: str) -> str:
    """Write how what was typed is opened in Python."""
    if typed.startswith(SAMPLE):
        name = typed.removeprefix(SAMPLE)
        return f"trueness.scan(trueness.samples.path({name!r}))"
    return f"trueness.scan({typed!r})"


def flagged_line(asked: Asked, cut: float | None) -> str:
    """Write the Python line that gives the flagged rows, where there are any."""
    condition = f"{quoted(asked.score)} >= {cut!r}"
    opened = opened_line(asked.file.typed)
    return "" if cut is None else f"{opened}.filter({condition!r})"


def _python(asked: Asked, chosen: Request) -> str:
    """Write the lines of Python, with what each kind of data has of its own."""
    given: dict[str, Any] = {"asked": asked, "chosen": chosen, "rule": None}
    if asked.kind == "scores":
        request = asked.request
        constraints, of_groups = separate_constraints(request.subject_to)
        given |= {
            "design": _design(asked, chosen),
            "limits": for_one_threshold(constraints),
            "between": of_groups,
            "two": goal_of_pair(
                request.maximize, request.minimize, constraints, request.cost, EQUAL
            ),
            "equal": EQUAL,
            "goal": _goal(asked),
            "request": request,
        }
    elif asked.kind == "judges":
        given["item"] = _item(asked, chosen) if chosen.by else None
    elif asked.kind == "leaves":
        given["rule"] = asked.named("rule")
    if asked.is_long:
        keys = [str(asked.item), *([chosen.by] if chosen.by else [])]
        said = asked.columns[0], str(asked.verdict)
        given["wide"] = wide_sql(chosen.scores, *said, keys, chosen.label)
    if asked.yes is not None:  # 0 and 1 of verdicts that are words
        types = asked.file.source.types
        kind = types.get(asked.verdict or "")  # of a long table: of all its verdicts
        words = [c for c in chosen.scores if (kind or types.get(c)) == "VARCHAR"]
        cells = ", ".join(as_votes(words or chosen.scores, asked.yes))
        given["votes"] = f"* REPLACE ({cells})"
    opened = opened_line(asked.file.typed)
    return _render("lines.py.j2", opened=opened, **given)


def _design(asked: Asked, chosen: Request) -> dict[str, Any]:
    """Give what is said of the cases when they are counted."""
    design = replace(chosen, prevalence=asked.one_share).counting
    if chosen.missing_scores is not None:
        design["missing_scores"] = chosen.missing_scores
    return design


def _goal(asked: Asked) -> dict[str, str]:
    """Give what one cut is chosen by."""
    single = without_deferral_cost(asked.objective) if asked.objective else None
    if single is not None:
        deferred = asks_for_two_cuts([asked.objective])
        return {asked.goal: single.name if deferred else asked.objective}
    if asked.cost is not None:
        return {"minimize": f"cost(fp={asked.cost_fp!r}, fn={asked.cost_fn!r})"}
    return {"maximize": "youden"}


def _item(asked: Asked, chosen: Request) -> str | None:
    """Name the items, where systems are compared item by item, as the command does."""
    source, _, item, _ = wide_table(asked)
    if item is None or chosen.label is None or chosen.count is not None:
        return None
    return item if first_twice(source, (item, str(chosen.by))) is None else None
