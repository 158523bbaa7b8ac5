"""How are names that came with the data written, so that they stay apart?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from trueness._core.records import shown

NAMELESS = "(no name)"


def told_apart(names: Sequence[str], most: int = 40) -> list[str]:
    """Write names with at most so many letters, and no two of them alike.

    Names that begin alike are cut where they are the same, not where they differ.

    >>> told_apart(["a_long_prefix_of_model_1", "a_long_prefix_of_model_2", "b"], 16)
    ['a_lo…_of_model_1', 'a_lo…_of_model_2', 'b']
    """
    texts = [_cut(name, most) for name in names]
    alike: dict[str, list[int]] = defaultdict(list)
    for k, text in enumerate(texts):
        alike[text].append(k)
    for group in alike.values():
        same = _same([str(names[k]) for k in group])
        for k in group if len(group) > 1 else ():
            texts[k] = _around(str(names[k]), same, most)
    return _numbered(texts, most)


def _same(names: Sequence[str]) -> int:
    """With how many letters do all of these begin alike?"""
    first, last = min(names), max(names)
    pairs = zip(first, last, strict=False)
    return next((k for k, (a, b) in enumerate(pairs) if a != b), len(first))


def _cut(name: str, most: int) -> str:
    text = shown(name, 10 * most) or NAMELESS
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _around(name: str, at: int, most: int) -> str:
    """Show the beginning of a name, and the place where it differs from others."""
    head = most // 4
    start = max(head, min(at - head, len(name) - most + head + 1))
    if len(name) <= most or start <= head:
        return _cut(name, most)
    return f"{shown(name[:head])}…{_cut(name[start:], most - head - 1)}"


def _numbered(texts: list[str], most: int) -> list[str]:
    """Number what is still alike."""
    found: list[str] = []
    for text in texts:
        new, same = text, 1
        while new in found:
            same += 1
            new = f"{_cut(text, most - 6)} ({same})"
        found.append(new)
    return found
