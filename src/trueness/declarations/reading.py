"""Which declaration does a file hold? It may come from anyone; nothing is trusted.

The file is text of limited size and depth. A page gives its data block and nothing
else: no script of it runs, no path or address in it is opened.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from trueness._core.checks.errors import InputError
from trueness._core.checks.options import file_path
from trueness._core.files import as_written
from trueness.declarations.json_format import declaration_from_json
from trueness.declarations.records import Declaration

# a declaration has a few hundred kB at most
MOST_BYTES = 16_000_000
MOST_DEPTH = 16

# the data block of a page: of a declaration, and of a report with its evidence
BLOCK = "declaration"
BLOCK_OF_REPORT = "evidence"

_PAGES = (".html", ".htm")
_OPENING, _CLOSING = "[{", "]}"


def read_declaration(
    source: Declaration | Mapping[str, Any] | str | os.PathLike[str],
) -> Declaration:
    """Declaration in a file, in a page, or in the content of one.

    Parameters
    ----------
    source
        The path of a page (.html) or of its data (.json), or the content of the data.
    """
    if isinstance(source, Declaration):
        return source
    if isinstance(source, Mapping):
        return declaration_from_json(source)

    place = file_path(source, "read_declaration")
    text = read_text(place)

    with as_written(place, "a declaration"):
        return declaration_from_json(parse_json(data_of(text, place)))


def read_text(place: Path) -> str:
    """Return the text of a file that is not too large."""
    if not place.is_file():
        raise InputError(f"There is no file {place} to read a declaration from.")

    if place.stat().st_size > MOST_BYTES:
        raise InputError(
            f"A declaration has at most {MOST_BYTES // 1_000_000} MB; {place} has "
            f"{place.stat().st_size / 1e6:,.0f} MB."
        )

    try:
        return place.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{place} must be UTF-8 text.") from None


def is_page(place: str | os.PathLike[str]) -> bool:
    """Return whether this is the name of a page."""
    return Path(os.fsdecode(place)).suffix.lower() in _PAGES


def is_report(text: str) -> bool:
    """Return whether a page is a report with its evidence."""
    finder = _BlockFinder()
    finder.feed(text)
    finder.close()
    return finder.names == [BLOCK_OF_REPORT]


def data_of(text: str, place: Path) -> str:
    """Return the JSON of a file: all of it, or the data block of a page."""
    if not is_page(place):
        return text

    finder = _BlockFinder()
    finder.feed(text)
    finder.close()

    if len(finder.blocks) != 1:
        raise InputError(
            f"A page with its counts has one block of data; {place} has "
            f"{len(finder.blocks)}. Ask the author for a declaration, or for a report "
            "that includes its counts."
        )

    return finder.blocks[0]


class _BlockFinder(HTMLParser):
    """Parser that finds the data block of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.blocks: list[str] = []
        self.names: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a block at a script with the name of a data block."""
        attributes = dict(attrs)
        self._inside = (
            tag == "script"
            and attributes.get("id") in (BLOCK, BLOCK_OF_REPORT)
            and attributes.get("type") == "application/json"
        )

        if self._inside:
            self.blocks.append("")
            self.names.append(str(attributes["id"]))

    def handle_endtag(self, tag: str) -> None:
        """End a block."""
        self._inside = False

    def handle_data(self, data: str) -> None:
        """Collect the text of a block."""
        if self._inside:
            self.blocks[-1] += data


def parse_json(text: str) -> Any:
    """Return the content of JSON of limited depth, without repeated members."""
    _check_depth(text)
    return json.loads(
        text, object_pairs_hook=_unique_members, parse_constant=_refuse_constant
    )


def _check_depth(text: str) -> None:
    """Raise an error for JSON that is nested deeper than a declaration."""
    depth = 0
    in_text = False
    escaped = False

    for letter in text:
        if in_text:
            in_text = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            in_text = True
        elif letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1

        if depth > MOST_DEPTH:
            raise InputError(
                f"A declaration is nested at most {MOST_DEPTH} levels deep; this file "
                "is deeper."
            )


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object; raise an error for one that is repeated."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise InputError(
            "Each member of a declaration must occur once; one is repeated."
        )
    return members


def _refuse_constant(name: str) -> None:
    """Raise an error for NaN and Infinity, which JSON does not have."""
    raise InputError(f"JSON has no number {name}.")
