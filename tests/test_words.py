"""Sentences that people see: no retired words, no Python in a shell."""

import ast
import inspect
import re
from pathlib import Path

import trueness
from retired import RETIRED

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "trueness"
MODULES = sorted(SOURCE.rglob("*.py"))
TEXTS = [
    *(p for p in SOURCE.rglob("*") if p.suffix in (".j2", ".js", ".txt")),
    *(p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts),
    ROOT / "README.md",
]
TEXTS = [p for p in TEXTS if "_generated" not in p.parts]


def name_of(path):
    return str(path.relative_to(ROOT))


def rendered(node):
    """Write a string as it may be shown; what is filled in becomes x."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        parts = node.values
        return "".join(
            rendered(v) if isinstance(v, ast.Constant) else "x" for v in parts
        )
    if isinstance(node, ast.BinOp):
        return rendered(node.left) + rendered(node.right)
    return "x"


def shown_strings(tree):
    """Give the strings of a module that are sentences, and are no documentation."""
    inside = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside |= {id(v) for v in node.values}
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inside.add(id(node.value))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Constant, ast.JoinedStr)) and id(node) not in inside:
            text = rendered(node)
            if " " in text.strip():
                yield text


def retired_in(text, where):
    """Give a line for each retired word of a text, with what to write instead."""
    text = " ".join(text.split())
    return [
        f"{where}: {better!r} instead of {result[0]!r}"
        for word, better in RETIRED.items()
        for result in re.finditer(rf"\b(?:{word})", text)
    ]


def test_messages_use_no_retired_words():
    result = [
        line
        for path in MODULES
        for text in shown_strings(ast.parse(path.read_text(encoding="utf-8")))
        for line in retired_in(text, name_of(path))
    ]

    assert result == []


def test_numbers_are_written_in_one_place():
    # p_is, percent and level_text of _core.numbers write them, so that no sentence
    # says "p = 1e-30" or "95%" where another says "p < 0.0001" or "95 %"
    by_hand = re.compile(r"\bp = \{[^}:]*:\.|\(p = .$|%\}|\}%|\blevel:\.?\d?g\} ?%")
    result = [
        f"{name_of(path)}: {line.strip()}"
        for path in MODULES
        if path.name != "numbers.py"
        for line in path.read_text(encoding="utf-8").splitlines()
        if by_hand.search(line)
    ]

    assert result == []


def test_pages_and_templates_use_no_retired_words():
    result = []
    for path in TEXTS:
        text = path.read_text(encoding="utf-8")
        # code is not prose: fences, names in backquotes, expressions of templates
        code = r"```.*?```|`[^`\n]*`|\{\{.*?\}\}|\{%.*?%\}"
        text = re.sub(code, "", text, flags=re.DOTALL)
        result += retired_in(text, name_of(path))

    assert result == []


def test_the_reference_uses_no_retired_words():
    result = []
    public = {name: getattr(trueness, name) for name in trueness.__all__}
    for room in (trueness.plots, trueness.reports, trueness.estimators):
        public |= {
            f"{room.__name__}.{k}": v for k, v in vars(room).items() if k[0] != "_"
        }
    for name, value in public.items():
        if inspect.ismodule(value) or isinstance(value, trueness.records.Metric):
            continue
        methods = vars(value).values() if inspect.isclass(value) else ()
        for one in (value, *methods):
            result += retired_in(inspect.getdoc(one) or "", name)

    assert result == []


def test_a_retired_word_would_be_found():
    assert retired_in("It was chosen at the best  cut.", "here")
    assert retired_in("This threshold was tuned on the same data.", "here") == []
