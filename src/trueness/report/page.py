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
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any, final

import jinja2
from markupsafe import Markup

from trueness import __version__
from trueness._core.checks.errors import InputError
from trueness._core.files import replacing
from trueness._core.records import json_value
from trueness.findings.notes import REPORT, say
from trueness.findings.records import Page
from trueness.findings.where_to_cut import EVERY, READOUT, readout
from trueness.report import svg

_UNSAFE = {ord(c): f"\\u{ord(c):04x}" for c in "<>&'\u2028\u2029"}


@final
@dataclass(frozen=True)
class Report:
    """Where was a report written? It shows itself in a notebook.

    Attributes
    ----------
    path : Path
        The file.
    size : int
        Its size in bytes.
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
    """Stop at a name that promises something else than a page."""
    name = Path(os.fsdecode(path))
    if name.suffix.lower() not in ("", ".html", ".htm"):
        raise InputError(
            f"The report is an HTML page, so the name {name} would be misleading. Type "
            f'"{name.with_suffix(".html")}"; a browser prints it to a PDF file.'
        )


def write_page(page: Page, path: str | os.PathLike[str]) -> Report:
    """Write a page to a file, all or nothing."""
    text = render(page).encode()
    with replacing(path) as temporary:
        temporary.write_bytes(text)
    return Report(Path(os.fsdecode(path)), len(text))


def render(page: Page, version: str = __version__) -> str:
    """Write a page as HTML."""
    style, script = file_of("style.css"), file_of("script.js")
    # a JSON block is data: no browser runs it, so the policy need not name it
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    given = os.environ.get("SOURCE_DATE_EPOCH")  # the day that a build asks for
    day = time.gmtime(float(given) if given else time.time())
    text: str = environment().get_template("page.html.j2").render(
        page=page,
        version=version,
        policy=policy,
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        data=embedded(page.slider),
        date=time.strftime("%Y-%m-%d", day),
        **moving(page.slider),
    )  # fmt: skip
    return text


def moving(slider: Mapping[str, Any]) -> dict[str, Any]:
    """Give what the parts of a page need to show numbers that move."""
    return {"now": readout(slider), "first": READOUT, "every": EVERY}


def embedded(value: object) -> Markup:
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
def file_of(name: str) -> str:
    """Give the text of a file of this room: template, style or script."""
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def environment(*more: jinja2.BaseLoader, face: str = REPORT) -> jinja2.Environment:
    """Read templates: those of the report, and of who else shows findings."""
    known = {name: file_of(name) for name in ("page.html.j2", "parts.html.j2")}
    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader([*more, jinja2.DictLoader(known)]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"draw": svg.draw, "say": partial(say, face=face)}
    return made
