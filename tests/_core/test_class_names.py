"""Is each class known by a name of its own?"""

import ast
from pathlib import Path

import trueness

SOURCE = Path(trueness.__file__).parent


def test_class_names_are_unique():
    """Whoever looks for a class finds one; a leading underscore makes no new word."""
    # plug-ins: this is the word of the library that each of them serves
    result = {"Evaluator": ["mlflow.py", "spark.py"]}
    twice = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                name, place = node.name.lstrip("_"), str(path.relative_to(SOURCE))
                if place not in result.setdefault(name, [place]):
                    twice[name] = [*result[name], place]

    assert not twice
