r"""A declaration as one page, which checks itself in a browser without a network.

Everything that came with the data is text: the template escapes it, and in the data
block every character that could end a script is written as ``\uXXXX``. The policy of
the page allows its own style and its own script, by their hash, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib import resources
from typing import Any

from trueness._core.imports import required
from trueness.declarations.json_format import declaration_to_json
from trueness.declarations.records import Declaration
from trueness.declarations.sections import sections, summary

_UNSAFE = {ord(c): f"\\u{ord(c):04x}" for c in "<>&'\u2028\u2029"}
_NUMBER_LETTERS = frozenset("0123456789.,-+e to")


def declaration_page(declaration: Declaration) -> str:
    """Return a declaration as a page of HTML."""
    markupsafe = required("markupsafe", "report")
    style = _file("page.css")
    script = _file("verify.js")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    text: str = _template().render(
        declaration=declaration,
        summary=summary(declaration),
        sections=sections(declaration),
        policy=policy,
        style=markupsafe.Markup(style),
        script=markupsafe.Markup(script),
        data=markupsafe.Markup(embedded_json(declaration_to_json(declaration))),
    )

    return text


def embedded_json(content: object) -> str:
    r"""Return JSON that cannot end the script block around it.

    >>> embedded_json("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return text.translate(_UNSAFE)


@cache
def _template() -> Any:
    """Return the template of the page; what it inserts is escaped."""
    jinja2 = required("jinja2", "report")
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["is_number"] = _is_number

    return environment.from_string(_file("page.html.j2"))


def _is_number(text: str) -> bool:
    """Return whether a cell holds only numbers, which stay on one line."""
    return bool(text) and set(text) <= _NUMBER_LETTERS


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _file(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")
