"""An error carries its advice as data, and each face writes it in its own words."""

import ast
import pickle
import re
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import trueness
from trueness._core.checks.advice import page_advice, python_advice, shell_advice
from trueness._core.checks.errors import InputError, NotEnoughCases, PythonCode
from trueness.app.address import DROP, FORM_FIELDS
from trueness.cli._shell import OPTION_OF_ARGUMENT

SOURCE = Path(trueness.__file__).parent
Y = [0, 1, 1, 0, 1, 0]
P = [0.1, 0.8, 0.4, 0.3, 0.9, 0.2]
FRAME = {"y": Y, "p": P}

# a call that is wrong, and what Python, the shell and the page advise
BAD_CALLS = {
    "a percentage as a level": (
        lambda: trueness.auc(Y, P, level=95),
        "Type level=0.95.",
        "Type --level 0.95.",
        "Choose 0.95 under Confidence level.",
    ),
    "labels that could mean anything": (
        lambda: trueness.auc(["cat", "dog"] * 3, P),
        'Type positive="cat" or positive="dog".',
        "Type --positive cat or --positive dog.",
        "Choose one under Positive value.",
    ),
    "a column that is not there": (
        lambda: trueness.auc(pd.DataFrame({**FRAME, "q": P}), label="z", score="p"),
        'Choose label from "y", "p", "q".',
        "Choose --label from y, p, q.",
        "Choose one under Label.",
    ),
    "a score that is missing": (
        lambda: trueness.auc(Y, [np.nan, *P[1:]]),
        'Type missing_scores="drop".',
        "Type --missing-scores drop.",
        "Choose 'leave them out' under Cases without a score.",
    ),
    "a seed that is none": (
        lambda: trueness.auc(Y, P, method="bootstrap", rng="x"),
        "Type rng=0.",
        "Type --seed 0.",
        "",
    ),
    "a guarantee of nothing": (
        lambda: trueness.guaranteed_threshold(Y, P, subject_to=[]),
        'Type subject_to="recall >= 0.9".',
        "Type --subject-to 'recall >= 0.9'.",
        "Choose recall >= 0.9 under Constraint.",
    ),
    "something that is no tally": (
        lambda: trueness.auc(3),
        'Type trueness.auc(y_true, y_score) or trueness.auc(frame, label="y", '
        'score="p").',
        "",
        "",
    ),
    "a method that there is not": (
        lambda: trueness.calibrate(Y, P, method="magic"),
        "Choose method from ",
        "Choose --method from ",
        "",
    ),
    "too few cases for the folds": (
        lambda: trueness.compare_combiners(Y, {"a": P, "b": P[::-1]}, folds=5),
        "Type folds=3.",
        "Type --folds 3.",
        "",
    ),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_each_face_gives_its_own_advice(name):
    call, in_python, in_shell, on_page = BAD_CALLS[name]

    with pytest.raises((InputError, NotEnoughCases)) as caught:
        call()

    error = caught.value

    assert python_advice(error).startswith(in_python)
    assert shell_advice(error, names=OPTION_OF_ARGUMENT).startswith(in_shell)
    assert page_advice(error, FORM_FIELDS, {"drop": repr(DROP)}) == on_page
    assert str(error) == f"{error.message} {python_advice(error)}".strip()


ABOUT_ONE_COLUMN = {
    "weight": lambda: trueness.tally(Y, P, weight=["x"] * len(Y)),
    "count": lambda: trueness.tally(Y, P, count=["x"] * len(Y)),
    "cluster": lambda: trueness.tally(Y, P, cluster=[None] * len(Y)),
    "by": lambda: trueness.tally(Y, P, by=[None] * len(Y)),
    "y_score": lambda: trueness.tally(Y, ["x"] * len(Y)),
    "score": lambda: trueness.tally(
        {"y": Y, "p": [date(2026, 1, 1)] * len(Y)}, label="y", score="p"
    ),
}


@pytest.mark.parametrize("option", ABOUT_ONE_COLUMN)
def test_an_error_about_one_column_says_which_option_it_is(option):
    with pytest.raises(InputError) as caught:
        ABOUT_ONE_COLUMN[option]()

    assert caught.value.option == option


def test_a_command_without_the_option_gives_no_advice():
    error = InputError("Too high.", option="level", example=0.95)

    assert shell_advice(error, options={"--seed"}) == ""
    assert shell_advice(error, options={"--level"}) == "Type --level 0.95."


def test_the_shell_repeats_an_option_and_quotes_what_it_would_split():
    error = InputError("Two.", option="score", example=["a b", "c"])

    assert shell_advice(error) == "Type --score 'a b' --score c."
    assert python_advice(error) == 'Type score=["a b", "c"].'


def test_code_reaches_python_only():
    error = InputError("None.", option="cv", example=PythonCode("KFold(5)"))

    assert str(error) == "None. Type cv=KFold(5)."
    assert shell_advice(error) == page_advice(error, {"cv": "Folds"}) == ""


def test_long_lists_of_choices_are_cut():
    error = InputError("None.", option="label", choices=[f"c{k}" for k in range(20)])

    assert python_advice(error).endswith('"c11" and 8 more.')


def test_an_error_raised_again_keeps_its_advice():
    error = NotEnoughCases("Too few.", option="folds", example=3)

    again = error.rephrased(message="Group a: too few.")

    assert type(again) is NotEnoughCases
    assert str(again) == "Group a: too few. Type folds=3."


def test_an_error_travels_between_processes():
    error = InputError("Too high.", option="level", choices=(0.9,), example=0.95)

    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own

    assert (str(again), again.option, again.choices) == (str(error), "level", (0.9,))


ERRORS = {"InputError", "NotEnoughCases", "Infeasible", "UnsupportedDesign"}
MODULES = sorted(SOURCE.rglob("*.py"))
# Python in a sentence: name=value, a call of ours; and an option of the shell
PYTHON = re.compile(
    r"(?<![\w.<>=!])[a-z_]+=(?![=>])|\btrueness\.[a-z]|\b(?:frame|post)[.(\[]\w|"
    r"\blambda\b|\bType [a-z\"'-]|\b(?:type|pass) [a-z_]+="
)
# a metric is written so in every face, and so is a fraction of a formula
SHARED = re.compile(r"\b(?:cost|pass_at_k|pass_hat_k|fbeta|net_benefit)\([^)]*\)")
SHELL = re.compile(r"(?<!\S)(?<!pip install )--[a-z]")


def written(node):
    """Return a string as it may be shown; what is filled in is left out."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(written, node.values))
    if isinstance(node, ast.BinOp):
        return written(node.left) + written(node.right)
    if isinstance(node, ast.IfExp):
        return f"{written(node.body)} {written(node.orelse)}"
    return ""


def called(node):
    """Return the name of what is called."""
    function = getattr(node, "func", None)
    return getattr(function, "id", getattr(function, "attr", ""))


def messages(path):
    """Return the messages of all errors that a module raises."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if called(node) in ERRORS and node.args:
            yield SHARED.sub("", written(node.args[0]))


def room(path):
    return path.relative_to(SOURCE).parts[0]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_message_holds_code(path):
    result = [m for m in messages(path) if PYTHON.search(m) and room(path) != "cli"]
    assert [m for m in result if not m.startswith("trueness. is a module")] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_message_holds_options_of_the_shell(path):
    if room(path) == "cli" or path.name == "requirements.py":  # a command by name
        return
    assert [m for m in messages(path) if SHELL.search(m)] == []


SURGERY = {"replace", "split", "partition", "removeprefix", "removesuffix", "find"}
SURGERY |= {"sub", "search", "match", "fullmatch", "startswith", "endswith", "strip"}
# errors of others, which have no fields: what they say is all that is known
FOREIGN = {"data/engines.py", "data/text_files.py", "cli/_signals.py"}
# where an upload lies on the server is hidden
HIDES_PATHS = {"app/files.py"}


def text_of_error(node, name):
    """Is this the text of the caught error?"""
    if isinstance(node, ast.Call) and called(node) in ("str", "repr") and node.args:
        return getattr(node.args[0], "id", None) == name
    if isinstance(node, ast.Attribute) and node.attr in ("message", "args"):
        return getattr(node.value, "id", None) == name
    return False


def edits_of_errors(tree):
    """Return the lines at which the text of a caught error is parsed or edited."""
    for handler in ast.walk(tree):
        if not isinstance(handler, ast.ExceptHandler) or handler.name is None:
            continue
        for node in ast.walk(handler):
            if isinstance(node, ast.Call) and called(node) in SURGERY:
                parts = [getattr(node.func, "value", None), *node.args]
                inside = [n for part in parts if part for n in ast.walk(part)]
                if any(text_of_error(n, handler.name) for n in inside):
                    yield node.lineno
            read = isinstance(node, (ast.Compare, ast.Subscript))
            if read and any(text_of_error(n, handler.name) for n in ast.walk(node)):
                yield node.lineno
            # the text of our own errors speaks Python: others take the message
            if isinstance(node, ast.FormattedValue):
                own = ERRORS & {getattr(n, "id", "") for n in ast.walk(handler.type)}
                if own and getattr(node.value, "id", None) == handler.name:
                    yield node.lineno


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_module_edits_the_text_of_an_error(path):
    if str(path.relative_to(SOURCE)) in FOREIGN | HIDES_PATHS:
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))

    assert [*edits_of_errors(tree)] == []


def test_an_edit_of_an_error_would_be_seen():
    tree = ast.parse(
        "try:\n    f()\nexcept InputError as err:\n"
        "    say(str(err).replace('a', 'b'))\n    say(f'Sorry: {err}')\n"
    )

    assert [*edits_of_errors(tree)] == [4, 5]


@pytest.mark.parametrize(
    ("typed", "option", "advice"),
    [
        ({"capacity": 2}, "subject_to", 'Type subject_to="flagged <= 100".'),
        ({"min_recall": 0.9}, "subject_to", 'Type subject_to="recall >= 0.9".'),
        ({"min_ppv": 0.5}, "subject_to", 'Type subject_to="precision >= 0.5".'),
        ({"costs": (1, 5)}, "minimize", 'Type minimize="cost(fp=1, fn=20)".'),
    ],
)
def test_options_that_others_have_are_answered_with_ours(typed, option, advice):
    with pytest.raises(InputError) as caught:
        trueness.best_threshold([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], **typed)

    assert caught.value.option == option
    assert str(caught.value).endswith(advice)


def test_counts_of_a_2x2_table_are_one_argument_of_evaluate():
    with pytest.raises(
        InputError, match=r"evaluate\(trueness.Confusion\(tp=80"
    ) as caught:
        trueness.evaluate(tp=815, fp=115, fn=208, tn=327)

    assert "one argument" in caught.value.message
