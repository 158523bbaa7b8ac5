"""A declaration as Markdown, with Hugging Face's ``model-index`` at its head."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

from trueness.declarations.json_format import number_to_json
from trueness.declarations.records import Declaration
from trueness.declarations.sections import Section, ShownTable, sections, summary
from trueness.declarations.words import measurement_name

# characters with a meaning in Markdown, or in HTML inside it
_ESCAPED = str.maketrans(
    {mark: f"\\{mark}" for mark in "\\`*_{}[]<>#|~$"} | {"\n": " "}
)


def declaration_markdown(declaration: Declaration) -> str:
    """Return a declaration as Markdown."""
    lines = [
        "---",
        *_model_index(declaration),
        "---",
        "",
        f"# {_plain(declaration.title)}",
        "",
        *(f"{_plain(sentence)}  " for sentence in summary(declaration)),
    ]
    for section in sections(declaration):
        lines += _section(section)

    lines += [
        "",
        "This file cannot be verified alone: run `trueness verify` on the page or on "
        "its data, declaration.html or declaration.json.",
        "",
    ]

    return "\n".join(lines)


def _plain(text: str) -> str:
    return text.translate(_ESCAPED)


def _section(section: Section) -> Iterator[str]:
    """Yield the lines of a section, without its tables of counts."""
    yield ""
    yield f"## {section.title}"
    yield ""

    for sentence in section.sentences:
        yield f"- {_plain(sentence)}"

    for table in section.tables:
        if not table.caption.startswith("Counts: "):
            yield from _table(table)


def _table(table: ShownTable) -> Iterator[str]:
    """Yield the lines of a table with its caption."""
    yield ""
    yield f"**{_plain(table.caption)}**"
    yield ""
    yield f"| {' | '.join(_plain(name) or ' ' for name in table.head)} |"
    yield f"|{' --- |' * len(table.head)}"

    for row in table.rows:
        yield f"| {' | '.join(_plain(cell) or ' ' for cell in row)} |"


def _model_index(declaration: Declaration) -> Iterator[str]:
    """Yield the metadata for Hugging Face in YAML, with texts as JSON strings."""
    yield "model-index:"
    yield f"- name: {json.dumps(declaration.title)}"
    yield "  results:"
    yield "  - task:"
    yield "      type: tabular-classification"
    yield "    dataset:"
    yield f"      name: {json.dumps(declaration.provenance.source or 'not stated')}"
    yield "      type: private"
    yield "    metrics:"

    for measurement in declaration.measured:
        if math.isnan(measurement.value):
            continue

        name = measurement_name(measurement, declaration.agreement)
        yield f"    - type: {json.dumps(measurement.measure)}"
        yield f"      name: {json.dumps(name)}"
        yield f"      value: {json.dumps(number_to_json(measurement.value))}"

        if not math.isnan(measurement.low) and not math.isnan(measurement.high):
            low = number_to_json(measurement.low)
            high = number_to_json(measurement.high)
            yield f"      confidence_interval: {json.dumps([low, high])}"
