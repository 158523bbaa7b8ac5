"""How does the workbench look, and which lines give the same elsewhere?

Pages and fragments are made of the parts of the report; the lines are for a shell, and
for Python.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from trueness.app import counting
from trueness.app.address import (
    CHOICE_WITHOUT_COLUMN,
    DEFAULT_CALIBRATOR,
    DROP,
    FIELDS,
    KINDS,
    NO_COLUMN,
    NO_LABELS,
    Address,
    TypedGoal,
    column_or_none,
)
from trueness.app.files import Files
from trueness.app.guessed_columns import wide_table
from trueness.app.session import COMBINER, MAP, REPORT, can_combine
from trueness.calibration.calibrators import CALIBRATORS
from trueness.cli._columns import as_votes
from trueness.cli._source import REAL_TYPES, SAMPLE, WHOLE_TYPES
from trueness.cli.judge import first_repeated_case, wide_sql
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
from trueness.findings.without_labels import HOW_LABELS_WERE_CHOSEN
from trueness.metrics.definitions import SYNONYMS
from trueness.metrics.grammar import known_names
from trueness.plots._matplotlib import PRINT_DPI, print_figure
from trueness.reports import embeddable_json, environment, file_of, values_of_slider
from trueness.reports.figure_files import light_style
from trueness.reports.svg import draw
from trueness.reports.svg_marks import WIDTH
from trueness.threshold.constraints import asks_for_two_cuts, without_deferral_cost

# what is answered at once; other questions wait until somebody opens them
SECTIONS_SHOWN_AT_ONCE = (
    *("summary", "threshold", "verified", "alone", "nogold", "judges", "leaves"),
    "systems",
)
# sections that wait for a question: which field asks it, and an example
FIELDS_OF_WAITING_SECTIONS = {
    "zones": ("subject_to", "defer <= 0.1"),
    "prevalence": ("prevalence", ""),  # a range around the share of positives here
    "group-cuts": ("subject_to", "recall_gap <= 0.05"),
}
# what has no report, and no JSON of it, to take away
KINDS_WITHOUT_REPORT = ("leaves", "alone")
Option = str | float | tuple[str, ...] | None  # of a command line
# both error rates count equally, whatever the prevalence: to be filled in by Python
COST_OF_EQUAL_RATES = "cost(fp=1, fn={panel.n_neg / panel.n_pos:.15g})"
STATIC_FILES = {
    "app.css": "text/css",
    "style.css": "text/css",
    "figure.css": "text/css",
    "app.js": "text/javascript",
    "script.js": "text/javascript",
    "open.js": "text/javascript",
}
# of all sections: those of the report, and those of whole pages
TITLES = notes.TITLES | {
    "summary": "In plain words",
    "verified": "How good is each test?",
    "alone": "What do scores without labels show?",
    "nogold": "How good is each test?",
    "judges": "What is the true pass rate?",
    "systems": "How often does each system pass?",
}


def query_of(address: Address) -> str:
    """Write an address that asks for the same; what is usual is left out."""
    columns = address.data.columns
    verdicts = address.data.verdicts
    goal = address.goal
    analysis_options = address.analysis_options
    usual_calibrator = analysis_options.calibrator == DEFAULT_CALIBRATOR
    values: dict[str, str | float | tuple[str, ...] | None] = {
        "file": address.file.word,
        "kind": address.kind,
        "label": columns.label,
        "positive": columns.positive,
        "column": columns.scores,
        "by": columns.by,
        "count": columns.count,
        "weight": columns.weight,
        "cluster": columns.cluster,
        "missing_scores": columns.missing_scores,
        "rule": verdicts.rule,
        "yes": verdicts.yes,
        "labelled": verdicts.labelled,
        "verdict": verdicts.verdict,
        "item": verdicts.item,
        "system": verdicts.system,
        "goal": None if goal.direction == "maximize" else goal.direction,
        "objective": goal.objective,
        "subject_to": tuple(map(str, analysis_options.subject_to)),
        "guarantee": analysis_options.guarantee,
        "cost_fp": goal.cost_fp,
        "cost_fn": goal.cost_fn,
        "prevalence": goal.prevalence,
        "level": address.other_level,
        "calibrate": None if usual_calibrator else analysis_options.calibrator,
        "half_width": analysis_options.half_width,
        "classifier": analysis_options.classifier,
        "combine": analysis_options.combiner,
    }
    stated = {name: value for name, value in values.items() if value not in (None, "")}

    return urlencode(stated, doseq=True)


def sections_of(address: Address) -> list[str]:
    """Return the sections that there can be, for this kind of data."""
    if address.chosen_columns is None:
        return []
    if address.kind != "scores":
        return ["nogold" if address.kind == "tests" else address.kind]

    in_bins = address.file.rows > counting.MAX_EXACT_ROWS
    is_alone = len(address.columns) < 2
    has_no_groups = address.data.columns.by is None
    left_out = {
        "comparison": is_alone or in_bins,
        "ensembles": is_alone or in_bins,
        "groups": has_no_groups,
        "group-cuts": has_no_groups,
        "sites": has_no_groups,
        "scale": not in_bins,
    }

    return [key for key in ("summary", *QUESTIONS) if not left_out.get(key)]


@cache
def _environment() -> jinja2.Environment:
    """Return the templates' environment, with the names that all of them use."""
    templates = environment(jinja2.FunctionLoader(_read_packaged), face=notes.PAGE)
    templates.globals |= {
        "version": __version__,
        "fields": FIELDS,
        "nothing": NO_COLUMN,
        "no_labels": NO_LABELS,
        "drop": DROP,
        "ways": HOW_LABELS_WERE_CHOSEN,
        "titles": TITLES,
        "instead": CHOICE_WITHOUT_COLUMN,
        "kinds": {name: kind.title for name, kind in KINDS.items()},
        "have_labels": [name for name, kind in KINDS.items() if kind.has_labels],
        "have_no_report": KINDS_WITHOUT_REPORT,
        "at_once": SECTIONS_SHOWN_AT_ONCE,
        "calibrators": list(CALIBRATORS),
        "combiners": list(COMBINERS),
        "call": _python_call,
        "repr": repr,
        "quoted": quoted,
        "combines": can_combine,
        "REPORT": REPORT,
        "MAP": MAP,
        "COMBINER": COMBINER,
    }

    return templates


def _read_packaged(name: str) -> str | None:
    """Return a file of this package as text; None where it has none of this name."""
    file = resources.files("trueness.app") / name
    return file.read_text(encoding="utf-8") if file.is_file() else None


def static(name: str) -> str:
    """Return a style or a script: those of the report, and those of the workbench."""
    return _read_packaged(name) or file_of(name)


def _render(template: str, **values: Any) -> str:
    """Write a page or a part of it; only the slider has words that move."""
    text: str = (
        _environment().get_template(template).render(values_of_slider({}) | values)
    )
    return text


def opening() -> str:
    """Write the empty page that asks for its content with the secret of the session."""
    return _render("open.html.j2")


def start(files: Files, problem: str = "") -> str:
    """Write the first page: drop a file, or choose one."""
    limit = f"{files.limit / 2**20:,.0f} MB"
    return _render("start.html.j2", files=files, problem=problem, limit=limit)


def look_page(address: Address, typed: QueryParams) -> str:
    """Write the page about a file; its sections are fetched by the script.

    What was ``typed`` is shown again, also where it cannot be read.
    """
    file = address.file
    columns = address.data.columns
    keys = sections_of(address)

    types = file.source.types
    whole = [name for name, kind in types.items() if kind in WHOLE_TYPES]
    numbers = []
    for name, kind in types.items():
        if kind in WHOLE_TYPES or kind.startswith(REAL_TYPES):
            numbers.append(name)

    values = []
    if columns.label in types:
        values = file.values(columns.label)

    asked_sections = [key for key in keys if is_asked(address, key)]
    constraints = [text.strip() for text in typed.getlist("subject_to")]
    # behind the constraints there is an empty field for one more
    constraint_texts = [*filter(None, constraints), ""]

    return _render(
        "look.html.j2",
        file=file,
        kind=address.kind,
        columns=columns,
        verdicts=address.data.verdicts,
        goal=address.goal,
        analysis_options=address.analysis_options,
        problems=address.problems,
        types=types,
        whole=whole,
        numbers=numbers,
        values=values,
        combines=can_combine(address) and "ensembles" in keys,
        keys=keys,
        opened={*typed.getlist("open"), *asked_sections},
        taken=lines_of(address),
        query=query_of(address),
        objective=typed.get("objective", "").strip(),
        prevalence=typed.get("prevalence", "").strip(),
        limits=constraint_texts,
        words=embeddable_json(sorted({*known_names(), *SYNONYMS})),
    )


def operating(section: Finding, slider: dict[str, Any]) -> str:
    """Write the section with the slider."""
    current = slider["now"]
    columns_now = {name: [value] for name, value in current.items()}
    texts = values_of_slider({"models": [{"start": 0, "columns": columns_now}]})
    # the numbers of now are in the page already
    others = {name: value for name, value in slider.items() if name != "now"}

    return _render(
        "operating.html.j2",
        s=section,
        slider=slider,
        data=embeddable_json(others),
        **texts,
    )


def section(
    finding: Finding | None,
    key: str,
    address: Address,
    *,
    width: float | None = None,
    prevalence: float | None = None,
) -> str:
    """Write one section, or why it is not there.

    ``width`` is the one that was planned for, ``prevalence`` that of the cases.
    """
    waiting_field = (
        None
        if finding or is_asked(address, key)
        else FIELDS_OF_WAITING_SECTIONS.get(key)
    )
    if waiting_field and not waiting_field[1]:
        waiting_field = (waiting_field[0], _range_around(prevalence or 0.5))

    design_columns = address.data.design_columns

    return _render(
        "section.html.j2",
        s=finding,
        key=key,
        analysis_options=address.analysis_options,
        width=width,
        without=[
            (CHOICE_WITHOUT_COLUMN[name], FIELDS[name]) for name in design_columns
        ],
        waits=waiting_field,
    )


def _range_around(prevalence: float) -> str:
    """Propose a range of prevalences, from half to twice as many positives."""
    high = min(2 * prevalence, (1 + prevalence) / 2)
    return f"{prevalence / 2:.2g}:{high:.2g}"


def is_asked(address: Address, key: str) -> bool:
    """Return whether the address asks the question that a section waits for."""
    of_all_cases, of_groups = separate_constraints(address.analysis_options.subject_to)

    if key == "zones":
        return asks_for_two_cuts([address.goal.objective, *of_all_cases])
    if key == "group-cuts":
        return bool(of_groups)
    if key == "prevalence":
        return address.analysis_options.prevalences is not None
    return False


def head(page: Page, cleaning_remarks: Sequence[str] = ()) -> str:
    """Write tiles and plain words, what was cleaned, and the sections, if any."""
    return _render("head.html.j2", page=page, cleaned=" ".join(cleaning_remarks))


def problem(sentence: str, again: bool = False) -> str:
    """Write why a section cannot be shown, and a button to try again if asked."""
    return _render("problem.html.j2", words=sentence, again=again)


def figure_file(figure: Figure, names: Sequence[str], kind: str) -> bytes:
    """Write a figure of the page as a file of its own, in the light colours.

    The page names its classifiers above all figures; a file names them below its own.
    """
    if kind == "png":
        return _figure_png(figure)

    svg, _ = draw(figure)
    height = int(re.findall(r'viewBox="0 0 \d+ (\d+)"', svg)[0])
    # a picture inside another needs a height of its own
    svg_with_height = svg.replace(
        "<svg ", Markup('<svg height="{}" ').format(height), 1
    )
    has_classifiers = "data-model" in svg
    text = _render(
        "figure.svg.j2",
        inner=svg_with_height,
        names=names if has_classifiers else (),
        below=height,
        wide=WIDTH,
        style=Markup(light_style()),  # noqa: S704 - a file of the package
    )

    return text.encode()


def _figure_png(figure: Figure) -> bytes:
    """Return the same figure at print size, by matplotlib."""
    data = figure.data
    if isinstance(data, Curves) and figure.at is not None:
        x, y = figure.at
        columns = {data.x.name: np.array([x]), data.y.name: np.array([y])}
        data = replace(data, dots=(Line("threshold", columns),))

    image = BytesIO()
    figure_at_print_size = print_figure(TitledFigure(data, figure.title, figure.note))
    figure_at_print_size.savefig(image, format="png", dpi=PRINT_DPI)

    return image.getvalue()


# lines that give the same elsewhere


def lines_of(address: Address) -> dict[str, str] | None:
    """Write the commands and the Python lines that give what the page shows."""
    chosen_columns = address.chosen_columns
    if chosen_columns is None:
        return None

    options_at_end = () if address.kind in KINDS_WITHOUT_REPORT else ("-o", REPORT)
    lines = {
        "command": _command_line(
            KINDS[address.kind].command,
            address,
            _report_options(address, chosen_columns),
            *options_at_end,
        ),
        "python": _python_lines(address, chosen_columns),
        "calibrate": "",
        "combine": "",
    }

    if address.kind == "scores":
        options = {
            **_column_options(address, chosen_columns, (address.score,)),
            "prevalence": address.prevalence,
            "method": address.analysis_options.calibrator,
        }
        lines["calibrate"] = _command_line("calibrate", address, options, "--save", MAP)

    if can_combine(address):
        options = {
            **_column_options(address, chosen_columns, chosen_columns.scores),
            "prevalence": address.prevalence,
            "method": address.analysis_options.combiner,
        }
        lines["combine"] = _command_line(
            "combine", address, options, "--save", COMBINER
        )

    return lines


def _report_options(address: Address, chosen_columns: Request) -> dict[str, Option]:
    """Return the options of the command that answers about all of the page."""
    data = address.data
    verdicts = data.verdicts
    columns = data.columns.scores if data.is_long else chosen_columns.scores
    options = _column_options(address, chosen_columns, columns)
    is_log = address.kind == "systems" and address.file.judges

    if not is_log:  # a log knows them itself
        group_option = "system" if address.kind in ("judges", "systems") else "by"
        options |= {
            group_option: chosen_columns.by,
            "verdict": verdicts.verdict,
            "item": verdicts.item,
        }

    options |= {
        "rule": column_or_none(verdicts.rule),
        "yes": verdicts.yes,
        "labelled": verdicts.labelled if chosen_columns.label else None,
        "level": address.other_level,
    }
    if address.kind == "scores":
        options |= _threshold_options(address)

    return options


def _threshold_options(address: Address) -> dict[str, Option]:
    """Return the options about the threshold, and what else the report adds."""
    goal = address.goal
    analysis_options = address.analysis_options
    options: dict[str, Option] = {
        goal.direction: goal.objective,
        "subject-to": tuple(map(str, analysis_options.subject_to)),
        "guarantee": analysis_options.guarantee,
    }

    if goal.cost is not None:
        options |= {"cost-fp": goal.cost_fp, "cost-fn": goal.cost_fn}

    return options | {
        "prevalence": goal.prevalence,
        "calibrate": analysis_options.calibrator,
        "half-width": analysis_options.half_width,
        "classifier": analysis_options.classifier,
        "combine": analysis_options.combiner,
    }


def _column_options(
    address: Address, chosen_columns: Request, columns: tuple[str, ...]
) -> dict[str, Option]:
    """Return the options that name columns."""
    return {
        "label": chosen_columns.label,
        "positive": address.data.columns.positive,
        KINDS[address.kind].option: columns,
        "count": chosen_columns.count,
        "weight": chosen_columns.weight,
        "cluster": chosen_columns.cluster,
        "missing-scores": chosen_columns.missing_scores,
    }


def _command_line(
    command: str, address: Address, options: Mapping[str, Option], *end: str
) -> str:
    """Return a command as it is typed, with ``end`` behind its options."""
    arguments = ["trueness", command, address.file.typed]
    for option, option_values in options.items():
        # an option is repeated for each of its values
        values = option_values if isinstance(option_values, tuple) else (option_values,)
        for value in values:
            if value in (None, ""):
                continue
            if str(value).startswith("-"):
                # what looks like an option is joined to its own
                arguments.append(f"--{option}={value}")
            else:
                arguments += [f"--{option}", str(value)]

    return shlex.join([*arguments, *end])


def _python_call(name: str, data: str, **options: Any) -> str:
    """Return a call of the library as text, without options that say nothing."""
    arguments = [data] if data else []
    for option, value in options.items():
        if value in (None, (), [], ""):
            continue
        # several names are a list, but a range of prevalences is a pair
        is_list = isinstance(value, tuple) and option != "prevalences"
        written_value = list(value) if is_list else value
        arguments.append(f"{option}={written_value!r}")

    return f"trueness.{name}({', '.join(arguments)})"


def opened_line(typed: str) -> str:
    """Write how what was typed is opened in Python."""
    if typed.startswith(SAMPLE):
        name = typed.removeprefix(SAMPLE)
        return f"trueness.scan(trueness.samples.path({name!r}))"
    return f"trueness.scan({typed!r})"


def flagged_line(address: Address, threshold: float | None) -> str:
    """Write the Python line that gives the flagged rows, where there are any."""
    if threshold is None:
        return ""
    condition = f"{quoted(address.score)} >= {threshold!r}"
    return f"{opened_line(address.file.typed)}.filter({condition!r})"


def _python_lines(address: Address, chosen_columns: Request) -> str:
    """Return the lines of Python, with what each kind of data has of its own."""
    data = address.data
    values: dict[str, Any] = {
        "kind": address.kind,
        "verdicts": data.verdicts,
        "chosen": chosen_columns,
        "rule": None,
        "file": address.file,
        "level": address.other_level,
        "is_long": data.is_long,
    }
    if address.kind == "scores":
        values |= _values_about_scores(address, chosen_columns)
    elif address.kind == "verified":
        values["design"] = _design_arguments(address, chosen_columns)
    elif address.kind == "judges":
        values["item"] = (
            _item_column(address, chosen_columns) if chosen_columns.by else None
        )
    elif address.kind == "leaves":
        values["rule"] = column_or_none(data.verdicts.rule)

    if data.is_long:
        keys = [str(data.verdicts.item)]
        if chosen_columns.by:
            keys.append(chosen_columns.by)
        values["wide"] = wide_sql(
            chosen_columns.scores,
            data.columns.scores[0],
            str(data.verdicts.verdict),
            keys,
            chosen_columns.label,
        )

    if data.verdicts.yes is not None:
        values["votes"] = _votes_sql(address, chosen_columns, data.verdicts.yes)

    return _render("lines.py.j2", opened=opened_line(address.file.typed), **values)


def _values_about_scores(address: Address, chosen_columns: Request) -> dict[str, Any]:
    """Return the values of the template that writes lines of Python about scores."""
    request = address.request
    of_all_cases, of_groups = separate_constraints(request.subject_to)

    return {
        "score": address.score,
        "combines": can_combine(address),
        "design": _design_arguments(address, chosen_columns),
        "limits": for_one_threshold(of_all_cases),
        "between": of_groups,
        "two": goal_of_pair(
            request.maximize,
            request.minimize,
            of_all_cases,
            request.cost,
            COST_OF_EQUAL_RATES,
        ),
        "equal": COST_OF_EQUAL_RATES,
        "goal": _goal_arguments(address.goal),
        "request": request,
    }


def _votes_sql(address: Address, chosen_columns: Request, yes: str) -> str:
    """Return SQL that replaces verdicts that are words by 0 and 1."""
    types = address.file.source.types
    # a long table has one column of verdicts, and so one type
    type_of_verdicts = types.get(address.data.verdicts.verdict or "")
    text_columns = []
    for column in chosen_columns.scores:
        if (type_of_verdicts or types.get(column)) == "VARCHAR":
            text_columns.append(column)

    cells = ", ".join(as_votes(text_columns or chosen_columns.scores, yes))

    return f"* REPLACE ({cells})"


def _design_arguments(address: Address, chosen_columns: Request) -> dict[str, Any]:
    """Return what is said of the cases when they are counted."""
    design = replace(chosen_columns, prevalence=address.prevalence).counting
    if chosen_columns.missing_scores is not None:
        design["missing_scores"] = chosen_columns.missing_scores
    return design


def _goal_arguments(goal: TypedGoal) -> dict[str, str]:
    """Return the argument of Python that one threshold is chosen by."""
    single = without_deferral_cost(goal.objective) if goal.objective else None
    if single is not None:
        deferred = asks_for_two_cuts([goal.objective])
        return {goal.direction: single.name if deferred else goal.objective}

    if goal.cost is not None:
        return {"minimize": f"cost(fp={goal.cost_fp!r}, fn={goal.cost_fn!r})"}
    return {"maximize": "youden"}


def _item_column(address: Address, chosen_columns: Request) -> str | None:
    """Return the column of items; None where systems are not compared item by item."""
    wide = wide_table(address.data)
    if (
        wide.item is None
        or chosen_columns.label is None
        or chosen_columns.count is not None
    ):
        return None
    repeated = first_repeated_case(wide.source, (wide.item, str(chosen_columns.by)))
    return wide.item if repeated is None else None
