"""Which lines give the same elsewhere: in a shell, and in Python?"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from trueness.app.address import KINDS, Asked, wide_table
from trueness.cli._columns import Chosen, as_votes
from trueness.cli._source import SAMPLE
from trueness.cli.judge import first_twice, wide_sql
from trueness.data.engines import quoted
from trueness.findings.subject import apart, asked_of_two, of_one_cut
from trueness.threshold.limits import asks_for_two_cuts, undeferred

REPORT, MAP, COMBINER = "report.html", "map.json", "combiner.json"
COMMANDS = {"leaves": "leaves", "judges": "judge", "systems": "evals"}
# both error rates count equally, whatever the prevalence: to be filled in by Python
EQUAL = "cost(fp=1, fn={panel.n_neg / panel.n_pos:.15g})"
NUMBER = "trueness_item"


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
        "level": _level(asked),
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
    write = {"scores": _score_lines, "judges": _judge_lines, "tests": _test_lines,
             "leaves": _leaf_lines, "systems": _system_lines}[kind]  # fmt: skip
    taken = {
        "command": _typed(COMMANDS.get(kind, "report"), asked, options, *end),
        "python": "\n".join(write(asked, chosen)) + "\n",
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


def combines(asked: Asked) -> bool:
    """Are there several classifiers, on independent whole cases?"""
    whole = not (asked.named("weight") or asked.named("cluster"))
    return asked.kind == "scores" and len(asked.columns) > 1 and whole


def _level(asked: Asked) -> float | None:
    return None if asked.level == 0.95 else asked.level


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


def flagged_line(typed: str, score: str, cut: float) -> str:
    """Write the Python line that gives the flagged rows."""
    condition = f"{quoted(score)} >= {cut!r}"
    return f"{opened_line(typed)}.filter({condition!r})"


def _score_lines(asked: Asked, chosen: Chosen) -> Iterator[str]:
    """Write the counts, the threshold, the report, and what is fitted."""
    words = replace(chosen, prevalence=asked.one_share).words  # said once, of counts
    limits, between = apart(asked.subject_to)
    goals = {"maximize": None, "minimize": None, asked.goal: asked.objective or None}
    two = asked_of_two(**goals, limits=limits, cost=asked.cost, equal=EQUAL)
    one, goal = f"panel[{asked.score!r}]", _goal(asked)
    yield f"import trueness\n\nrows = {opened_line(asked.file.typed)}"
    yield f"panel = {_call('panel', 'rows', scores=chosen.scores, **words)}"
    yield f"print(trueness.auc({one}))"
    ask: dict[str, Any] = {**goal, "subject_to": tuple(of_one_cut(limits))}
    ranges = asked.wanted["prevalences"]
    yield f"print({_call('best_threshold', one, **ask, prevalences=ranges)})"
    if two is not None:
        both = _call("best_thresholds", one, **two)
        yield f"print({both})".replace(repr(EQUAL), f'f"{EQUAL}"')
    report = f'panel, "{REPORT}", source={asked.file.typed!r}'
    if chosen.by is not None:
        words = {"scores": chosen.scores, "by": chosen.by, **words}
        yield f"groups = {_call('panel', 'rows', **words)}"
        report += ", groups=groups"
    if between:
        ask = {**goal, "subject_to": (*of_one_cut(limits), *between)}
        each = f"{{g: p[{asked.score!r}] for g, p in groups.items()}}"
        yield f"print({_call('group_thresholds', each, **ask)})"
    wanted = asked.wanted | asked.sections | {"level": _level(asked)}
    yield _call("report.write", report, **wanted)
    yield f"fitted = {_call('calibrate', one, method=asked.calibrate)}"
    yield f'trueness.save_map(fitted, "{MAP}")'
    if combines(asked):
        best = "trueness.compare_combiners(panel).best()"
        best = repr(asked.combine) if asked.combine else best
        yield f"combiner = trueness.COMBINERS[{best}](panel)"
        yield f'trueness.save_map(combiner, "{COMBINER}")'


def _goal(asked: Asked) -> dict[str, str]:
    """Give what one cut is chosen by."""
    single = undeferred(asked.objective) if asked.objective else None
    if single is not None:
        deferred = asks_for_two_cuts([asked.objective])
        return {asked.goal: single.name if deferred else asked.objective}
    if asked.cost is not None:
        return {"minimize": f"cost(fp={asked.cost_fp!r}, fn={asked.cost_fn!r})"}
    return {"maximize": "youden"}


def _test_lines(asked: Asked, chosen: Chosen) -> Iterator[str]:
    yield f"import trueness\n\nrows = {opened_line(asked.file.typed)}"
    if asked.yes is not None:
        yield _verdict_line(asked, chosen)
    yield f"panel = {_call('panel', 'rows', scores=chosen.scores, **chosen.words)}"
    yield "found = trueness.latent_class(panel, rng=0)\nprint(found)"
    yield "print(trueness.best_combination(found))"
    yield f'trueness.report.write(panel, "{REPORT}", source={asked.file.typed!r})'


def _leaf_lines(asked: Asked, chosen: Chosen) -> Iterator[str]:
    node, level = chosen.scores[0], _level(asked)
    report = f"leaves.report({'' if level is None else f'level={level!r}'})"
    if asked.named("rule"):
        yield "import dataclasses\n"
    yield f"import trueness\n\nrows = {opened_line(asked.file.typed)}"
    yield f"leaves = {_call('leaves', 'rows', node=node, **chosen.words)}"
    if not asked.named("rule"):
        yield f"print({report})"
        return
    columns = f"{quoted(node)}, {quoted(str(asked.rule))}"
    yield f"found = {report}"
    yield f"rules = dict(rows.select({columns!r}).distinct().fetchall())"
    yield "rule = [rules.get(leaf) for leaf in found.node.tolist()]"
    yield "print(dataclasses.replace(found, rule=rule))"


def _system_lines(asked: Asked, chosen: Chosen) -> Iterator[str]:
    """Count attempts, and rank several systems."""
    words: dict[str, Any] = {"passed": chosen.scores[0]}
    rows = f"trueness.read_verdicts({asked.file.typed!r})"
    if not asked.file.judges:
        rows = opened_line(asked.file.typed)
        words |= {"item": asked.item, "system": chosen.by}
    level = {"level": _level(asked)}
    yield f"import trueness\n\nattempts = {_call('attempts', rows, **words)}"
    yield f"print({_call('pass_rate', 'attempts', **level)})"
    if chosen.by is not None:
        yield f"print({_call('leaderboard', 'attempts', **level)})"


def _judge_lines(asked: Asked, chosen: Chosen) -> Iterator[str]:
    """Make the table wide, give the rate of each system, and compare them."""
    if asked.file.judges:
        yield "import duckdb"
    yield "import trueness\nfrom trueness.report import write_judges\n"
    yield from _judged_rows(asked, chosen)
    how: dict[str, Any] = {"labelled": asked.labelled if chosen.label else None}
    how["level"] = _level(asked)
    counted: dict[str, Any] = {"scores": chosen.scores, **chosen.words}
    if chosen.by is None:
        yield f"panel = {_call('panel', 'rows', **counted)}"
        yield f"rate = {_call('prevalence', 'panel', **how)}\nprint(rate)"
        yield 'rates, panels, compared = {"all": rate}, {"all": panel}, None'
    else:
        counted["by"] = chosen.by
        panels = "{str(s): p for s, p in panels.items()}"
        yield f"panels = {_call('panel', 'rows', **counted)}\npanels = {panels}"
        rate = _call("prevalence", "p", **how)
        yield f"rates = {{s: {rate} for s, p in panels.items()}}"
        paired, item = "panels", _item(asked, chosen)
        if item is not None:
            number = f"*, dense_rank() OVER (ORDER BY {quoted(item)}) AS {NUMBER}"
            paired, how["item"] = "paired", NUMBER
            counted["scores"] = (*chosen.scores, NUMBER)
            yield f"rows = rows.project({number!r})"
            yield f"paired = {_call('panel', 'rows', **counted)}"
            yield f"paired = {panels.replace('panels', 'paired')}"
        yield f"compared = {_call('compare_prevalence', paired, **how)}"
        yield "print(rates)\nprint(compared)"
    source = f"compared, source={asked.file.typed!r}"
    yield f'write_judges(rates, panels, "{REPORT}", {source})'


def _judged_rows(asked: Asked, chosen: Chosen) -> Iterator[str]:
    """Open the table, make it wide, and its words numbers."""
    if asked.file.judges:
        yield f"log = trueness.read_verdicts({asked.file.typed!r})"
        yield 'rows = duckdb.from_arrow(log.to_frame("pyarrow"))'
    else:
        yield f"rows = {opened_line(asked.file.typed)}"
    if asked.is_long:
        keys = [str(asked.item), *([chosen.by] if chosen.by else [])]
        judge, said = asked.columns[0], str(asked.verdict)
        wide = wide_sql(chosen.scores, judge, said, keys, chosen.label)
        yield f"rows = rows.aggregate({wide[0]!r}, {wide[1]!r})"
    if asked.yes is not None:
        yield _verdict_line(asked, chosen)


def _verdict_line(asked: Asked, chosen: Chosen) -> str:
    """Write the line that makes 0 and 1 of verdicts that are words."""
    types = asked.file.source.types
    kind = types.get(asked.verdict or "")  # of a long table: that of all its verdicts
    words = [c for c in chosen.scores if (kind or types.get(c)) == "VARCHAR"]
    cells = ", ".join(as_votes(words or chosen.scores, str(asked.yes)))
    return f"rows = rows.project({f'* REPLACE ({cells})'!r})"


def _item(asked: Asked, chosen: Chosen) -> str | None:
    """Name the items, where systems are compared item by item, as the command does."""
    source, _, item, _ = wide_table(asked)
    if item is None or chosen.label is None or chosen.count is not None:
        return None
    return item if first_twice(source, (item, str(chosen.by))) is None else None
