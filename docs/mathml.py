"""Formulas as MathML, which every browser draws by itself: no script and no network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

# what Sphinx's own renderers wrap several aligned lines in
_ALIGNED = r"\begin{aligned}%s\end{aligned}"


def _text(node: Any) -> str:
    text = node.astext().strip()
    lines = "&" in text or r"\\" in text
    return _ALIGNED % text if lines and r"\begin" not in text else text


def inline(self: Any, node: Any) -> None:
    """Write a formula within a line."""
    self.body.append(convert(_text(node)))
    raise nodes.SkipNode


def display(self: Any, node: Any) -> None:
    """Write a formula on a line of its own."""
    self.body.append(self.starttag(node, "div", CLASS="math"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({node["number"]})</span>')
    self.body.append(convert(_text(node), display="block"))
    self.body.append("</div>")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
