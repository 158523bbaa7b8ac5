"""What does a person take away? Files, and the lines that give the same elsewhere."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, final

import duckdb
from markupsafe import Markup

from trueness._core.imports import required
from trueness.app.address import KINDS, Asked
from trueness.app.files import DataFile
from trueness.app.judge_lines import REPORT, judge_lines, opened_line, verdict_line
from trueness.app.session import Counted, judged, rates, systems, tally_of
from trueness.calibration.calibrators import calibrate
from trueness.calibration.maps import map_to_json
from trueness.cli._columns import Chosen
from trueness.cli._shell import CommandAnswer, about, answered, envelope
from trueness.cli.report import report_result, report_words
from trueness.data.engines import quoted, reading
from trueness.ensembles.combiners import COMBINERS
from trueness.ensembles.crossfit import compare_combiners
from trueness.findings.page import page_about
from trueness.findings.records import Figure, Page
from trueness.findings.subject import apart, asked_of_two, of_one_cut
from trueness.findings.without_labels import pass_rates
from trueness.report.page import file_of, render
from trueness.report.svg import draw
from trueness.threshold.limits import asks_for_two_cuts, undeferred

MAP, COMBINER = "map.json", "combiner.json"
FILES = (REPORT, "report.json", MAP, COMBINER)
# both error rates count equally, whatever the prevalence: to be filled in by Python
EQUAL = "cost(fp=1, fn={panel.n_neg / panel.n_pos:.15g})"
ROW = 18  # height of a name under a figure


@final
@dataclass(frozen=True)
class Taken:
    """The lines that give the same: in a shell, and in Python."""

    command: str
    python: str
    calibrate: str = ""
    combine: str = ""


def lines_of(asked: Asked, chosen: Chosen, file: DataFile) -> Taken:
    """Write the command and the Python lines that give what the page shows."""
    kind, typed = asked.kind or "scores", file.typed
    commands = {"leaves": "leaves", "judges": "judge", "systems": "evals"}
    command = commands.get(kind, "report")
    words = ["trueness", command, typed]
    words += [*_pair("--label", chosen.label), *_pair("--positive", asked.positive)]
    is_long = kind == "judges" and asked.verdict is not None
    for column in asked.columns if is_long else chosen.scores:
        words += _pair(f"--{KINDS[kind][0]}", column)
    words += [*_pair("--count", chosen.count), *_pair("--weight", chosen.weight)]
    words += _pair("--cluster", chosen.cluster)
    of_log = kind == "systems" and bool(file.judges)  # which knows them itself
    if not of_log:
        grouped = "--system" if kind in ("judges", "systems") else "--by"
        words += _pair(grouped, chosen.by)
        words += [*_pair("--verdict", asked.verdict), *_pair("--item", asked.item)]
    words += _pair("--rule", asked.named("rule"))
    words += _pair("--yes", asked.yes)
    words += _pair("--labelled", asked.labelled if chosen.label else None)
    words += [] if asked.level == 0.95 else ["--level", f"{asked.level:g}"]
    if kind == "scores":
        words += _asked_words(asked)
    if kind != "leaves":
        words += ["-o", REPORT]
    fitted = [""] * 2
    if kind == "scores":
        fitted = [_fit_line(asked, chosen, typed, c) for c in ("calibrate", "combine")]
    write = {"judges": judge_lines, "systems": _system_lines}.get(kind, _python)
    python = write(asked, chosen, file)
    return Taken(shlex.join(words), python, *fitted)


def _pair(option: str, value: Any) -> list[str]:
    """Write an option; a value that looks like an option is joined to its own."""
    if value is None:
        return []
    text = str(value)
    return [f"{option}={text}"] if text.startswith("-") else [option, text]


def _asked_words(asked: Asked) -> list[str]:
    words = []
    if asked.objective:
        words += _pair(f"--{asked.goal}", asked.objective)
    for limit in asked.subject_to:
        words += _pair("--subject-to", limit)
    if asked.cost is not None:
        words += ["--cost-fp", f"{asked.cost_fp!r}", "--cost-fn", f"{asked.cost_fn!r}"]
    words += _pair("--prevalence", asked.prevalence or None)
    words += ["--calibrate", asked.calibrate]
    words += _pair("--half-width", asked.half_width)
    words += _pair("--classifier", asked.classifier or None)
    words += _pair("--combine", asked.combine or None)
    return words


def _fit_line(asked: Asked, chosen: Chosen, typed: str, command: str) -> str:
    """Write the command that saves the fitted map, or the fitted combiner."""
    alone = command == "calibrate"
    if not alone and not combines(asked):
        return ""
    words = ["trueness", command, typed, *_pair("--label", chosen.label)]
    words += _pair("--positive", asked.positive)
    for score in (asked.score,) if alone else chosen.scores:
        words += _pair("--score", score)
    words += [*_pair("--count", chosen.count), *_pair("--weight", chosen.weight)]
    words += _pair("--cluster", chosen.cluster)
    words += _pair("--prevalence", asked.one_share)
    words += _pair("--method", asked.calibrate if alone else asked.combine or None)
    return shlex.join([*words, "--save", MAP if alone else COMBINER])


def combines(asked: Asked) -> bool:
    """Are there several classifiers, on independent whole cases?"""
    whole = not (asked.named("weight") or asked.named("cluster"))
    return asked.kind == "scores" and len(asked.columns) > 1 and whole


def _python(asked: Asked, chosen: Chosen, file: DataFile) -> str:
    """Write a few lines of Python: the counts, the threshold, the report."""
    typed = file.typed
    chosen = replace(chosen, prevalence=asked.one_share)  # said once, of the counts
    columns = "".join(f", {k}={v!r}" for k, v in chosen.words.items())
    lines = ["import trueness", "", f"rows = {opened_line(typed)}"]
    if asked.named("rule"):
        lines.insert(0, "import dataclasses\n")
    if asked.kind == "leaves":
        node = chosen.scores[0]
        lines.append(f"leaves = trueness.leaves(rows, node={node!r}{columns})")
        lines += _report_lines(asked, node)
        return "\n".join(lines) + "\n"
    if asked.kind == "tests" and asked.yes is not None:
        lines.append(verdict_line(asked, chosen, file))
    lines.append(
        f"panel = trueness.panel(rows, scores={list(chosen.scores)!r}{columns})"
    )
    if asked.kind == "tests":
        lines += ["found = trueness.latent_class(panel, rng=0)", "print(found)",
                  "print(trueness.best_combination(found))"]  # fmt: skip
        lines.append(f'trueness.report.write(panel, "{REPORT}", source={typed!r})')
        return "\n".join(lines) + "\n"
    score = asked.score
    wanted = _wanted(asked)
    lines.append(f"print(trueness.auc(panel[{score!r}]))")
    one = f"panel[{score!r}]"
    lines.append(f"print(trueness.best_threshold({one}{_best(asked)}))")
    limits, between = apart(asked.subject_to)
    goals = {"maximize": None, "minimize": None, asked.goal: asked.objective or None}
    two = asked_of_two(**goals, limits=limits, cost=asked.cost, equal=EQUAL)
    if two is not None:
        both = _given(two).replace(repr(EQUAL), f'f"{EQUAL}"')
        lines.append(f"print(trueness.best_thresholds({one}{both}))")
    if chosen.by is not None:
        lines.append(
            f"groups = trueness.panel(rows, scores={list(chosen.scores)!r}, "
            f"by={chosen.by!r}{columns})"
        )
        wanted += ", groups=groups"
    if between:
        each = f"{{g: p[{score!r}] for g, p in groups.items()}}"
        more = _best(replace(asked, subject_to=(*of_one_cut(limits), *between)), True)
        lines.append(f"print(trueness.group_thresholds({each}{more}))")
    lines.append(f'trueness.report.write(panel, "{REPORT}", source={typed!r}{wanted})')
    lines += _fit_lines(asked)
    return "\n".join(lines) + "\n"


def _system_lines(asked: Asked, chosen: Chosen, file: DataFile) -> str:
    """Write the lines that count attempts, and rank several systems."""
    words: dict[str, Any] = {"passed": chosen.scores[0]}
    rows = f"trueness.read_verdicts({file.typed!r})"
    if not file.judges:
        rows = opened_line(file.typed)
        words |= {"item": asked.item, "system": chosen.by}
    level = {} if asked.level == 0.95 else {"level": asked.level}
    lines = [
        "import trueness\n",
        f"attempts = trueness.attempts({rows}{_given(words)})",
        f"print(trueness.pass_rate(attempts{_given(level)}))",
    ]
    if chosen.by is not None:
        lines.append(f"print(trueness.leaderboard(attempts{_given(level)}))")
    return "\n".join(lines) + "\n"


def _fit_lines(asked: Asked) -> list[str]:
    """Write the lines that save the fitted map and the fitted combiner."""
    score, method = asked.score, asked.calibrate
    lines = [
        f"fitted = trueness.calibrate(panel[{score!r}], method={method!r})",
        f'trueness.save_map(fitted, "{MAP}")',
    ]
    if combines(asked):
        best = "trueness.compare_combiners(panel).best()"
        best = repr(asked.combine) if asked.combine else best
        lines += [
            f"combiner = trueness.COMBINERS[{best}](panel)",
            f'trueness.save_map(combiner, "{COMBINER}")',
        ]
    return lines


def _report_lines(asked: Asked, node: str) -> list[str]:
    level = "" if asked.level == 0.95 else f"level={asked.level:g}"
    if not asked.named("rule"):
        return [f"print(leaves.report({level}))"]
    columns = f"{quoted(node)}, {quoted(str(asked.rule))}"
    return [
        f"found = leaves.report({level})",
        f"rules = dict(rows.select({columns!r}).distinct().fetchall())",
        "rule = [rules.get(leaf) for leaf in found.node.tolist()]",
        "print(dataclasses.replace(found, rule=rule))",
    ]


def _wanted(asked: Asked) -> str:
    given = asked.wanted | asked.sections
    return _given({k: v for k, v in given.items() if (k, v) != ("level", 0.95)})


def _given(options: Mapping[str, Any]) -> str:
    """Write options as they are typed; those that say nothing are left out."""
    lists = {k: list(v) if k == "subject_to" else v for k, v in options.items()}
    return "".join(f", {k}={v!r}" for k, v in lists.items() if v not in (None, [], ""))


def _best(asked: Asked, groups: bool = False) -> str:
    """Write what is asked of one cut, or of a cut for each group."""
    given: dict[str, Any] = {}
    single = undeferred(asked.objective) if asked.objective else None
    if single is not None:
        deferred = asks_for_two_cuts([asked.objective])
        given[asked.goal] = single.name if deferred else asked.objective
    elif asked.cost is not None:
        given["minimize"] = f"cost(fp={asked.cost_fp!r}, fn={asked.cost_fn!r})"
    else:
        given["maximize"] = "youden"
    if groups:
        return _given({**given, "subject_to": asked.subject_to})
    limits = of_one_cut(apart(asked.subject_to)[0])
    prevalences = asked.wanted["prevalences"]
    return _given({**given, "subject_to": limits, "prevalences": prevalences})


def report_page(counted: Counted, asked: Asked, command: str) -> Page:
    """Make the report that the command makes."""
    if asked.kind in ("judges", "systems"):
        answer = judged if asked.kind == "judges" else systems
        return answer(counted, asked, counted.request.source.name, command)
    tests = asked.kind == "tests"
    wanted = {"level": asked.level} if tests else asked.wanted | asked.sections
    return page_about(
        counted.data,
        source=counted.request.source.name,
        groups=None if tests else counted.groups,
        rng=counted.request.seed,
        command=command,
        **wanted,
    )


def file_made(counted: Counted, asked: Asked, name: str, command: str) -> bytes:
    """Write a file of ``FILES``."""
    if name in (MAP, COMBINER):
        return (fitted_map if name == MAP else fitted_combiner)(counted, asked)
    page = report_page(counted, asked, command)
    return render(page).encode() if name == REPORT else _json(counted, asked, page)


def _json(counted: Counted, asked: Asked, page: Page) -> bytes:
    """Write what ``trueness report --json``, or ``judge --json``, writes."""
    if asked.kind == "judges":
        found, _, compared = rates(counted, asked)
        answer = answered("judge", pass_rates(found, compared))
    else:
        result = report_result(page, Path(REPORT), len(render(page).encode()))
        answer = CommandAnswer("report", result, report_words(page))
    answer = replace(answer, about=about(counted.request, counted.first))
    return (json.dumps(envelope(answer), indent=2, allow_nan=False) + "\n").encode()


def fitted_map(counted: Counted, asked: Asked) -> bytes:
    """Fit the map that ``trueness calibrate --save`` saves."""
    t = tally_of(counted, asked)
    return f"{map_to_json(calibrate(t, method=asked.calibrate))}\n".encode()


def fitted_combiner(counted: Counted, asked: Asked) -> bytes:
    """Fit the combiner that ``trueness combine --save`` saves."""
    panel, request = counted.data, counted.request
    method = (
        asked.combine
        or compare_combiners(panel, level=request.level, rng=request.seed).best()
    )
    return f"{map_to_json(COMBINERS[method](panel))}\n".encode()


def flagged_rows(counted: Counted, score: str, cut: float, target: Path) -> None:
    """Write the rows whose score reaches the threshold, all columns, to a file."""
    at_least = duckdb.ColumnExpression(score) >= duckdb.ConstantExpression(cut)
    with reading():
        rows = counted.request.source.rows.filter(at_least)
        if target.suffix == ".parquet":
            rows.write_parquet(str(target))
        else:
            rows.write_csv(str(target))


def flagged_line(typed: str, score: str, cut: float) -> str:
    """Write the Python line that gives the flagged rows."""
    condition = f"{quoted(score)} >= {cut!r}"
    return f"{opened_line(typed)}.filter({condition!r})"


# the classes of marks, as ``trueness.report.svg`` writes them
_DRAWN = re.compile(
    r"\.(grid|tick|title|name|mid|end|line|curve|thick|chance|area|band|expected|"
    r"positives|negatives|forbidden|dot|rule|gone|c\d)\b"
)


@cache
def _plain_style() -> str:
    """Give the rules of figures in the light colours, without any variable."""
    text = file_of("style.css")
    colours = dict(re.findall(r"(--[\w-]+):\s*(#[0-9a-f]+)", text.split("}")[0]))
    rules = re.findall(r"(\.[\w., -]+)(\{[^}]*\})", text.split("@media print")[0])
    drawn = [r for r in rules if _DRAWN.search(r[0])]
    flat = " ".join(selector + body for selector, body in drawn)
    for name, colour in colours.items():
        flat = flat.replace(f"var({name})", colour)
    return flat


def figure_svg(figure: Figure, names: Sequence[str] = ()) -> bytes:
    """Write a figure of the page as a file of its own, in the light colours.

    The page names its classifiers above all figures; a file names them below its own.
    """
    text = str(draw(figure).svg)
    shown = list(enumerate(names)) if "data-model" in text else []
    sizes = re.search(r'viewBox="0 0 (\d+) (\d+)"', text)
    width, below = (int(v) for v in sizes.groups()) if sizes else (360, 320)
    height = below + ROW * len(shown) + (8 if shown else 0)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * width}" '
        f'height="{2 * height}" '
    )
    first = (
        f"><style>{_plain_style()}</style>"
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    )
    legend = Markup("").join(_named(k, name, below + ROW * k) for k, name in shown)
    text = text.replace("<svg ", head, 1).replace(">", first, 1)
    text = text.replace(f'0 0 {width} {below}"', f'0 0 {width} {height}"', 1)
    return f"{text.removesuffix('</svg>')}{legend}</svg>".encode()


def _named(k: int, name: str, y: int) -> Markup:
    return Markup(
        '<path class="line curve chosen c{c}" d="M54 {y}L84 {y}"/>'
        '<text class="name" x="92" y="{base}">{name}</text>'
    ).format(c=k % 8, y=y + 8, base=y + 12, name=name)


def figure_png(figure: Figure, names: Sequence[str] = ()) -> bytes:
    """Draw a figure of the page in dots."""
    convert = required("vl_convert", "plots")
    found: bytes = convert.svg_to_png(figure_svg(figure, names).decode(), scale=2)
    return found
