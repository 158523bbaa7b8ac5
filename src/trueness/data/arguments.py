"""Which counts does a person mean who calls an analysis with data?

``auc(y_true, y_score)``, ``auc(frame, label="y", score="p")``,
``compare_auc(y, {"a": a, "b": b})``: the decorators of ``counts/answers.py`` hand on
what was typed, and this module counts it by ``tally`` or ``panel``. Nothing is guessed:
not the label, not the direction, not the column of a probability.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described
from trueness.data.columns import is_frame, on_device, one_thing, several_columns
from trueness.data.frames import panel, tally

Args = tuple[Any, ...]
Words = dict[str, Any]
# what users of other libraries call the same
_SYNONYMS = {"pos_label": "positive", "sample_weight": "weight"}


def count_arguments(
    name: str, takes: str, args: Args, words: Words
) -> tuple[Any, Args]:
    """Count the data that an analysis was given; give the arguments left, too.

    ``takes`` is "tally", "panel" or "counts" (either); ``words`` are the keywords that
    belong to the data.
    """
    if words:
        args, words = _in_our_words(args, words, name)
    if not args:
        raise InputError(_needs(name, takes, "nothing"))
    data, rest = args[0], list(args[1:])
    named = not words.keys().isdisjoint(("label", "score", "scores"))
    given = bool(rest) and _is_column(rest[0])
    if isinstance(data, Mapping) or (is_frame(data) and (named or not given)):
        return _of_table(data, takes, words), tuple(rest)
    if not given:
        raise InputError(_needs(name, takes, one_thing(data)))
    one = takes == "tally" or isinstance(rest[0], Mapping)
    number = 1 if one else _leading_columns(rest)
    scores = _scores(rest[:number], name, takes)
    if "label" in words or "score" in words or "scores" in words:
        raise InputError(
            f"label= and score= name columns of a frame; with arrays type "
            f"trueness.{name}(y_true, y_score) without them."
        )
    count = panel if isinstance(scores, Mapping) else tally
    return count(data, scores, **words), tuple(rest[number:])


def _in_our_words(args: Args, words: Words, name: str) -> tuple[Args, Words]:
    """Give the arguments and the keywords as ``tally`` and ``panel`` have them."""
    ours: Words = {}
    for word, value in words.items():
        plain = _SYNONYMS.get(word, word)
        if plain in ours:
            raise InputError(
                f"{name} was given {word}= and {plain}=, which mean the same. Leave "
                "one of them out."
            )
        ours[plain] = value
    # ``y_true=`` and ``y_score=`` go where they stand without their names
    named = [ours.pop(k) for k in ("y_true", "y_score") if k in ours]
    return (*args[:1], *named, *args[1:]), ours


def _needs(name: str, takes: str, found: str) -> str:
    if takes == "panel":
        counts, arrays, frame = "a panel", '{"a": a, "b": b}', 'scores=["a", "b"]'
    else:
        counts, arrays, frame = "a tally", "y_score", 'score="p"'
    return (
        f"{name} needs {counts}, or labels and scores, or a frame; found {found}. Type "
        f'trueness.{name}(y_true, {arrays}) or trueness.{name}(frame, label="y", '
        f"{frame})."
    )


def _is_column(x: object) -> bool:
    if isinstance(x, (str, bytes)) or type(x).__module__.startswith("trueness."):
        return False
    return isinstance(x, Mapping) or hasattr(x, "__len__") or hasattr(x, "__array__")


def _leading_columns(rest: list[Any]) -> int:
    """How many of the arguments are scores of several classifiers?"""
    sizes = [len(x) if _is_column(x) and hasattr(x, "__len__") else -1 for x in rest]
    same = [size == sizes[0] for size in sizes]
    return same.index(False) if False in same else len(same)


def _scores(columns: list[Any], name: str, takes: str) -> Any:
    """Give one column, or a mapping from name to column."""
    if len(columns) > 1:
        return {f"C{k + 1}": column for k, column in enumerate(columns)}
    (only,) = columns
    if isinstance(only, (Mapping, list, tuple)) or is_frame(only):
        only = several_columns(only)
    if isinstance(only, Mapping):
        return only
    shape: Args = np.shape(only) if hasattr(only, "shape") else ()
    if len(shape) != 2:
        return {"C1": only} if takes == "panel" else only
    if on_device(only):
        return several_columns(only)
    table = np.asarray(only)
    if table.ndim != 2:
        raise InputError(
            f"{name} needs arrays with a number in each place; found "
            f"{described(only)}. Type y_score.toarray() for a sparse matrix."
        )
    if takes == "tally" and shape[1] == 1:
        return table[:, 0]
    if takes == "tally" and shape[1] == 2 and np.allclose(table.sum(axis=1), 1):
        raise InputError(
            f"y_score has two columns that add up to 1, the probabilities of both "
            f"classes; {name} needs that of the positive class. Type y_score[:, 1]."
        )
    return several_columns(table)


def _of_table(data: object, takes: str, words: Words) -> Any:
    score, several = words.pop("score", None), words.pop("scores", None)
    if score is not None and several is not None:
        raise InputError("score= and scores= both name the columns; type one of them.")
    if takes == "panel" or several is not None or isinstance(score, (list, tuple)):
        chosen = score if several is None else several
        return panel(data, [chosen] if isinstance(chosen, str) else chosen, **words)
    return tally(data, score=score, **words)
