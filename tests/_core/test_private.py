"""No module reads what another one keeps to itself."""

import ast
from pathlib import Path

import trueness

SOURCE = Path(trueness.__file__).parent


def private_reads(text):
    """Names behind a dot that begin with an underscore and are not defined here."""
    tree = ast.parse(text)
    own = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    own |= {n.attr for n in ast.walk(tree) if _on(n, "self", "cls")}
    own |= {
        n.target.id
        for n in ast.walk(tree)
        if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
    }
    reads = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute)]
    result = {n.attr for n in reads if n.attr[0] == "_" and n.attr[:2] != "__"}
    standard_library = {"_asdict", "_replace", "_fields", "_make", "_repr_html_"}
    standard_library |= {"_exit", "_run_exitfuncs"}  # of os and atexit
    return result - own - standard_library


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
