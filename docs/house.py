"""Which room stands on which? The picture of the house, drawn from the imports.

``python docs/house.py`` prints the picture as SVG; the documentation is built with it,
so it shows what the code does and not what somebody remembers.
"""

from __future__ import annotations

import ast
from html import escape
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "trueness"
WIDE, HIGH, GAP_X, GAP_Y, MARGIN = 118, 40, 26, 50, 16


def rooms() -> dict[str, str]:
    """Name every room, with the first line of what it says of itself."""
    heads = sorted(SOURCE.glob("*/__init__.py"))
    return {
        head.parent.name: (ast.get_docstring(ast.parse(head.read_text())) or "")
        .strip()
        .partition("\n")[0]
        for head in heads
    }


def imports(room: str) -> set[str]:
    """Name the other rooms that the modules of a room import, anywhere in them."""
    found: set[str] = set()
    for path in (SOURCE / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module)
                found |= {f"{node.module}.{a.name}" for a in node.names}
            elif isinstance(node, ast.Import):
                found |= {a.name for a in node.names}
    named = {n.split(".")[1] for n in found if n.startswith("trueness.")}
    return (named & set(rooms())) - {room}


def edges() -> dict[str, set[str]]:
    """Give for each room the rooms that it imports."""
    return {room: imports(room) for room in rooms()}


def levels(graph: dict[str, set[str]]) -> dict[str, int]:
    """Give for each room the longest way down: a room stands above all it imports."""
    level: dict[str, int] = {}
    while len(level) < len(graph):
        ready = [r for r in graph if r not in level and graph[r] <= set(level)]
        if not ready:
            raise SystemExit(f"A circle among {sorted(set(graph) - set(level))}.")
        level |= {r: 1 + max((level[o] for o in graph[r]), default=-1) for r in ready}
    return level


def direct(graph: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Leave out what follows: an import that a longer way down already shows."""
    below: dict[str, set[str]] = {}
    for room in sorted(graph, key=levels(graph).__getitem__):
        below[room] = graph[room].union(*(below[o] for o in graph[room]))
    return sorted(
        (room, other)
        for room, others in graph.items()
        for other in others
        if not any(other in below[o] for o in others)
    )


def places(graph: dict[str, set[str]]) -> dict[str, tuple[float, float]]:
    """Put each room into the row of its level, near the rooms that it stands on."""
    level = levels(graph)
    rows = [
        sorted(r for r in graph if level[r] == k)
        for k in range(max(level.values()) + 1)
    ]
    widest = max(map(len, rows)) * (WIDE + GAP_X) - GAP_X
    spot: dict[str, tuple[float, float]] = {}
    for k, row in enumerate(rows):
        arrows = direct(graph)
        on = {r: [spot[o][0] for a, o in arrows if a == r] or [0.0] for r in row}
        row.sort(key=lambda r: (sum(on[r]) / len(on[r]), r))
        span = len(row) * (WIDE + GAP_X) - GAP_X
        y = MARGIN + (len(rows) - 1 - k) * (HIGH + GAP_Y)
        for place, room in enumerate(row):
            x = MARGIN + (widest - span) / 2 + place * (WIDE + GAP_X)
            spot[room] = (x, y)
    return spot


def svg() -> str:
    """Draw the house: a box for each room, an arrow for each direct import."""
    graph, about = edges(), rooms()
    spot = places(graph)
    width = max(x for x, _ in spot.values()) + WIDE + MARGIN
    height = max(y for _, y in spot.values()) + HIGH + MARGIN
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        'role="img" font-family="system-ui, sans-serif" font-size="14">',
        "<title>The rooms of Trueness and what they import</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#5b6b7a"/>'
        "</marker></defs>",
        f'<rect width="{width:g}" height="{height:g}" fill="#fff"/>',
    ]
    for room, other in direct(graph):
        (x, y), (u, v) = spot[room], spot[other]
        middle = (y + HIGH + v) / 2
        out.append(
            f'<path class="import" data-from="{room}" data-to="{other}" fill="none" '
            f'stroke="#5b6b7a" stroke-width="1.2" marker-end="url(#tip)" '
            f'd="M{x + WIDE / 2:g} {y + HIGH:g}C{x + WIDE / 2:g} {middle:g} '
            f'{u + WIDE / 2:g} {middle:g} {u + WIDE / 2:g} {v:g}"/>'
        )
    for room, (x, y) in spot.items():
        out.append(
            f'<g class="room"><title>{escape(about[room])}</title>'
            f'<rect x="{x:g}" y="{y:g}" width="{WIDE}" height="{HIGH}" rx="6" '
            f'fill="#e8f1f8" stroke="#0072B2"/>'
            f'<text x="{x + WIDE / 2:g}" y="{y + HIGH / 2 + 5:g}" '
            f'text-anchor="middle" fill="#12293d">{room}</text></g>'
        )
    return "\n".join([*out, "</svg>"]) + "\n"


if __name__ == "__main__":
    print(svg(), end="")
