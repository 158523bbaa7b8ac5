"""No module reads what another one keeps to itself."""

import ast
from pathlib import Path

import trueness

SOURCE = Path(trueness.__file__).parent


def private_reads(text):
    """Return names behind a dot that begin with an underscore and are not of here."""
    nodes = list(ast.walk(ast.parse(text)))
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    own |= {node.attr for node in nodes if _on(node, "self", "cls")}
    own |= {
        node.target.id
        for node in nodes
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }

    standard_library = {"_asdict", "_replace", "_fields", "_make", "_repr_html_"}
    # of os and atexit
    standard_library |= {"_exit", "_run_exitfuncs"}

    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    private = {name for name in attributes if name[0] == "_" and name[:2] != "__"}
    return private - own - standard_library


def _on(node, *names):
    value = getattr(node, "value", None)
    return (
        isinstance(node, ast.Attribute)
        and isinstance(value, ast.Name)
        and value.id in names
    )


def test_a_private_read_is_seen():
    assert private_reads("def f(x):\n    return x._secret\n") == {"_secret"}
    assert not private_reads("class A:\n    _a: int\n\ndef f(x):\n    return x._a\n")


def test_no_module_reads_private_fields_of_another():
    result = {
        str(path.relative_to(SOURCE)): names
        for path in sorted(SOURCE.rglob("*.py"))
        if (names := private_reads(path.read_text()))
    }

    assert not result, result


def private_imports(text):
    """Names, not modules, that another module keeps to itself and this one takes."""
    return {
        name.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and (node.module or "")[:8] == "trueness"
        for name in node.names
        if name.name[0] == "_" and name.name[:2] != "__"
        if not list(SOURCE.parent.glob(f"{node.module.replace('.', '/')}/{name.name}*"))
    }


def test_no_module_imports_private_names_of_another():
    example = "from trueness.counts.sorting import _count_sorted"

    assert private_imports(example) == {"_count_sorted"}
    assert not private_imports("from trueness._core.checks import cases as _cases")
    assert not private_imports("from trueness.cli import _app")

    result = {
        str(path.relative_to(SOURCE)): names
        for path in sorted(SOURCE.rglob("*.py"))
        if (names := private_imports(path.read_text()))
    }

    assert not result, result
