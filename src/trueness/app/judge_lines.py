"""Which Python lines answer about judges as the page does?"""

from __future__ import annotations

from pathlib import Path

from trueness.app.address import Asked, wide_table
from trueness.app.files import DataFile
from trueness.cli._columns import Chosen, as_votes
from trueness.cli._source import SAMPLE
from trueness.cli._verdicts import first_twice, wide_sql
from trueness.data.engines import quoted

REPORT = "report.html"
NUMBER = "trueness_item"


def opened_line(typed: str) -> str:
    """Write how what was typed is opened in Python."""
    if typed.startswith(SAMPLE):
        name = typed.removeprefix(SAMPLE)
        return f"trueness.scan(trueness.samples.path({name!r}))"
    if "::" in typed and not Path(typed).is_file():
        place, _, table = typed.rpartition("::")
        return f"trueness.scan({place!r}, table={table!r})"
    return f"trueness.scan({typed!r})"


def verdict_line(asked: Asked, chosen: Chosen, file: DataFile) -> str:
    """Write the line that makes 0 and 1 of verdicts that are words."""
    types = file.source.types
    kind = types.get(asked.verdict or "")  # of a long table: that of all its verdicts
    words = [c for c in chosen.scores if (kind or types.get(c)) == "VARCHAR"]
    cells = ", ".join(as_votes(words or chosen.scores, str(asked.yes)))
    return f"rows = rows.project({f'* REPLACE ({cells})'!r})"


def judge_lines(asked: Asked, chosen: Chosen, file: DataFile) -> str:
    """Write the lines: a wide table, the rate of each system, their comparison."""
    heads = ["import trueness", "from trueness.report import write_judges"]
    lines, item = _rows(asked, chosen, file), _item(asked, chosen, file)
    if file.judges:
        heads.insert(0, "import duckdb")
    columns = "".join(f", {k}={v!r}" for k, v in chosen.words.items())
    level = "" if asked.level == 0.95 else f", level={asked.level:g}"
    how = f", labelled={asked.labelled!r}" if chosen.label else ""
    names = list(chosen.scores)
    if chosen.by is None:
        lines += [
            f"panel = trueness.panel(rows, scores={names!r}{columns})",
            f"rate = trueness.prevalence(panel{how}{level})",
            "print(rate)",
            'rates, panels, compared = {"all": rate}, {"all": panel}, None',
        ]
    else:
        count = f"trueness.panel(rows, scores={{}}{columns}, by={chosen.by!r})"
        lines += [
            f"panels = {count.format(repr(names))}",
            "panels = {str(s): p for s, p in panels.items()}",
            f"rates = {{s: trueness.prevalence(p{how}{level}) "
            "for s, p in panels.items()}",
        ]
        paired = "panels"
        if item is not None:
            number = f"dense_rank() OVER (ORDER BY {quoted(item)}) AS {NUMBER}"
            paired = "paired"
            lines += [
                f"rows = rows.project({f'*, {number}'!r})",
                f"paired = {count.format(repr([*names, NUMBER]))}",
                "paired = {str(s): p for s, p in paired.items()}",
            ]
            how += f", item={NUMBER!r}"
        lines.append(f"compared = trueness.compare_prevalence({paired}{how}{level})")
        lines += ["print(rates)", "print(compared)"]
    lines.append(
        f'write_judges(rates, panels, "{REPORT}", compared, source={file.typed!r})'
    )
    return "\n".join([*heads, "", *lines]) + "\n"


def _rows(asked: Asked, chosen: Chosen, file: DataFile) -> list[str]:
    """Write how the table is opened, made wide, and its words made numbers."""
    lines = [f"rows = {opened_line(file.typed)}"]
    if file.judges:
        lines = [
            f"log = trueness.read_verdicts({file.typed!r})",
            'rows = duckdb.from_arrow(log.to_frame("pyarrow"))',
        ]
    if asked.verdict is not None:
        keys = [str(asked.item), *([chosen.by] if chosen.by else [])]
        wide = wide_sql(
            chosen.scores, asked.columns[0], asked.verdict, keys, chosen.label
        )
        lines.append(f"rows = rows.aggregate({wide[0]!r}, {wide[1]!r})")
    if asked.yes is not None:
        lines.append(verdict_line(asked, chosen, file))
    return lines


def _item(asked: Asked, chosen: Chosen, file: DataFile) -> str | None:
    """Name the items, where systems are compared item by item, as the command does."""
    source, _, item, _ = wide_table(file, asked)
    if item is None or chosen.label is None or chosen.count is not None:
        return None
    return item if first_twice(source, (item, str(chosen.by))) is None else None
