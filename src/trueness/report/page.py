r"""How does a report become one HTML file that loads nothing?

Everything that came with the data is text: the template escapes it, and in the JSON of
the page every character that could end a script is written as ``\uXXXX``. The policy
of the page allows its own style and its own script, by their hash, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import time
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from trueness._core.records import json_value
from trueness.report._parts import Page
from trueness.report.slider import EVERY, READOUT, readout

_UNSAFE = {ord(c): f"\\u{ord(c):04x}" for c in "<>&'\u2028\u2029"}


def render(page: Page, version: str) -> str:
    """Write a page as HTML."""
    style, script = _file("style.css"), _file("script.js")
    # a JSON block is data: no browser runs it, so the policy need not name it
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    text: str = _template().render(
        page=page,
        version=version,
        policy=policy,
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        data=embedded(page.slider),
        now=readout(page.slider),
        date=_date(),
        first=READOUT,
        every=EVERY,
    )
    return text


def embedded(value: Any) -> Markup:
    r"""Write JSON that cannot leave its script block.

    >>> embedded("</script>")
    Markup('"\\u003c/script\\u003e"')
    """
    text = json.dumps(json_value(value), separators=(",", ":"), allow_nan=False)
    return Markup(text.translate(_UNSAFE))  # noqa: S704 - escaped in this line


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _file(name: str) -> str:
    return (resources.files("trueness.report") / name).read_text(encoding="utf-8")


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.from_string(_file("page.html.j2"))


def _date() -> str:
    """Give the day on which the page is made, or the one that a build asks for."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    at = float(given) if given else time.time()
    return time.strftime("%Y-%m-%d", time.gmtime(at))
