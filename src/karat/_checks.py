"""Is this input usable, and if not, what should be typed instead?

Every input check of Karat and its words live here. A message has three parts: what
was needed, what was found (name, value, how many, first places) and what to type
instead. Analyses call one line.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class InputError(ValueError):
    """The input is wrong; the message says what to type instead."""


class NotEnoughCases(ValueError):  # noqa: N818 - a name that reads as a sentence
    """The input is right, but holds too few cases for this question."""


class Infeasible(InputError):  # noqa: N818 - a name that reads as a sentence
    """No threshold meets the constraints; the message says how close one can get."""


class NotConverged(UserWarning):
    """An iteration stopped before it reached its goal; the record says so too."""


class Optimistic(UserWarning):
    """The numbers rest on the very cases that the model was made from."""


def listing(values: Iterable[Any], limit: int = 5) -> str:
    """Write the first few values, and how many more there are.

    >>> listing([1, 2, 3], limit=2)
    '1, 2 and 1 more'
    """
    values = list(values)
    shown = ", ".join(repr(plain(v)) for v in values[:limit])
    rest = len(values) - limit
    return f"{shown} and {rest} more" if rest > 0 else shown


def plain(value: Any) -> Any:
    """Turn a NumPy scalar into the Python value that a person would type."""
    return value.item() if isinstance(value, np.generic) else value


def nearest(name: object, known: Collection[str]) -> str:
    """Name the known word closest to a misspelt one, as a sentence, or nothing.

    >>> nearest("acuracy", ["accuracy", "recall"])
    " Did you mean 'accuracy'?"
    """
    if not isinstance(name, str):
        return ""
    lower = {k.lower(): k for k in known}
    match = get_close_matches(name.lower(), list(lower), n=1, cutoff=0.6)
    return f" Did you mean {lower[match[0]]!r}?" if match else ""


def choice(value: object, known: Collection[str], what: str) -> Any:
    """Pass on one of the known names of a choice."""
    if isinstance(value, str) and value in known:
        return value
    raise InputError(
        f"{what} must be one of {listing(known, 30)}; "
        f"found {value!r}.{nearest(value, known)}"
    )


def column(name: str, known: Sequence[str], what: str) -> str:
    """Pass on the name of a column that is there exactly once."""
    found = list(known).count(name)
    if found == 1:
        return name
    if found == 0:
        raise InputError(
            f"{what}={name!r} must name a column; this frame has "
            f"{listing(known, 12) or 'no columns'}.{nearest(name, list(known))}"
        )
    raise InputError(
        f"{what}={name!r} must name one column; this frame has {found} columns of "
        f"that name. Rename them so that each has its own."
    )


def distinct_names(names: Sequence[str], what: str = "scores") -> tuple[str, ...]:
    """Pass on names of classifiers that are text and differ."""
    wrong = [n for n in names if not isinstance(n, str)]
    if wrong:
        raise InputError(f"{what} must have text as names; found {listing(wrong)}.")
    twice = sorted({n for n in names if list(names).count(n) > 1})
    if twice:
        raise InputError(f"{what} must have different names; twice: {listing(twice)}.")
    return tuple(names)


def places(mask: Array) -> str:
    """Say how many entries are meant and where the first ones are."""
    where = np.flatnonzero(mask)
    word = "position" if where.size == 1 else "positions"
    return f"{where.size:,} of {mask.size:,} ({word} {listing(where)})"


def one_dimensional(values: Array, what: str) -> Array:
    """Pass on an array with one axis."""
    if values.ndim == 1:
        return values
    hint = ""
    if values.ndim == 2 and values.shape[1] in (1, 2):
        hint = f" Pass one column: {what}[:, {values.shape[1] - 1}]."
    raise InputError(
        f"{what} must be one-dimensional; found shape {values.shape}.{hint}"
    )


def same_length(**arrays: Array) -> None:
    """Stop when arrays that describe the same cases differ in length."""
    lengths = {name: len(a) for name, a in arrays.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} has {n:,}" for name, n in lengths.items())
        raise InputError(
            f"All columns must have one entry per case; found {found}. "
            f"Do they come from the same rows?"
        )


def numeric_scores(values: Array, what: str) -> Array:
    """Pass on scores that are numbers: float32 and float64 as they are."""
    if values.dtype in (np.float32, np.float64):
        return values
    if values.dtype.kind in "iu":
        return _exact_integers(values, what)
    if values.dtype.kind in "bf":
        return values.astype(np.float64)
    if values.dtype.kind == "O":
        return _numbers_from_objects(values, what)
    raise InputError(
        f"{what} must be numbers; found {values.dtype} such as "
        f"{listing(values[:3])}. Convert the column to numbers first"
        + (", and check which column holds the labels." if values.size else ".")
    )


def _exact_integers(values: Array, what: str) -> Array:
    converted = values.astype(np.float64)
    # float64 holds integers exactly up to 2**53 only: beyond it ties would appear
    if values.size and not np.array_equal(converted.astype(values.dtype), values):
        raise InputError(
            f"{what} must fit into float64; found integers beyond 2**53 that do not. "
            f"Subtract a constant or use ranks."
        )
    return converted


def _numbers_from_objects(values: Array, what: str) -> Array:
    text = np.fromiter((isinstance(v, (str, bytes)) for v in values), bool, values.size)
    if text.any():
        raise InputError(
            f"{what} must be numbers; found text at {places(text)}, such as "
            f"{listing(values[text][:3])}. Convert the column to numbers first."
        )
    gone = missing(values)
    out = np.full(values.size, np.nan)
    try:
        out[~gone] = [float(v) for v in values[~gone]]
    except TypeError as err:
        raise InputError(f"{what} must be numbers; {err}.") from None
    return out


def finite_scores(
    values: Array, what: str, *, allow_nan: bool = False, cases: Array | None = None
) -> Array:
    """Pass on scores without NaN or infinity; each stands for one case or ``cases``."""
    bad = np.isinf(values) if allow_nan else ~np.isfinite(values)
    if bad.any() and cases is not None:
        raise InputError(not_finite(what, int(cases[bad].sum()), int(cases.sum())))
    if bad.any():
        raise InputError(
            f"{what} must be finite; found NaN, missing or infinite at {places(bad)}. "
            f"Remove these cases or give them a score yourself."
        )
    return values


def not_finite(what: str, lost: int, total: int) -> str:
    """Say in how many cases the score is missing, where rows have no place."""
    return (
        f"{what} must be finite; found NaN, missing or infinite in {lost:,} of "
        f"{total:,} cases. Filter these rows out or give them a score yourself."
    )


def named_groups(groups: Array, cases: Array | None = None) -> None:
    """Stop when a case has no group."""
    gone = missing(groups)
    if gone.any():
        where = f"at {places(gone)}"
        if cases is not None:
            where = f"in {int(cases[gone].sum()):,} of {int(cases.sum()):,} cases"
        raise InputError(
            f"by= must name a group for every case; missing {where}. "
            f"Fill these with a name of their own."
        )


def missing(values: Array) -> NDArray[np.bool_]:
    """Which entries are missing (None, NaN, NaT, pandas.NA)?"""
    kind = values.dtype.kind
    if kind == "f":
        return np.isnan(values)
    if kind in "mM":
        return np.isnat(values)
    if kind != "O":
        return np.zeros(values.size, dtype=bool)
    return np.fromiter((_is_missing(v) for v in values), bool, values.size)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return bool(isinstance(value, (float, np.floating)) and math.isnan(value))


def label_pair(found: Sequence[Any], positive: Any, what: str) -> tuple[Any, Any]:
    """Which label value is negative and which is positive?

    ``found`` are the distinct values that are not missing. A value that does not occur
    is None.
    """
    if positive is None:
        return _default_pair(found, what)
    others = [v for v in found if not _same(v, positive)]
    if len(others) > 1:
        raise InputError(
            f"{what} must have two values, positive={positive!r} and one other; "
            f"found {listing(found)}.{_type_hint(found, positive)}"
        )
    return (others[0] if others else None), positive


def _same(value: Any, positive: Any) -> bool:
    # 1 == True is meant (0/1 and bool are the same labels), 1 == "1" is not
    return bool(value == positive)


def _type_hint(found: Sequence[Any], positive: Any) -> str:
    alike = [v for v in found if str(plain(v)) == str(plain(positive))]
    if alike and not any(_same(v, positive) for v in found):
        return f" Pass positive={plain(alike[0])!r} without turning it into text."
    return nearest(positive, [v for v in found if isinstance(v, str)])


def _default_pair(found: Sequence[Any], what: str) -> tuple[Any, Any]:
    numbers = [v for v in found if isinstance(v, (Number, np.generic))]
    values = set(numbers) if len(numbers) == len(found) else {"text"}
    for negative in (0, -1):
        if values <= {negative, 1}:
            return negative, 1
    if len(found) > 2:
        raise InputError(_too_many_labels(found, what))
    example = plain(found[-1])
    raise InputError(
        f"{what} holds {listing(found)}: say which one counts as positive, "
        f"for example positive={example!r}. (Only 0/1, False/True and -1/1 need no "
        f"such word.)"
    )


def _too_many_labels(found: Sequence[Any], what: str) -> str:
    message = f"{what} must have two values; found {len(found)}: {listing(found)}."
    fractions = [
        v for v in found if isinstance(v, (float, np.floating)) and not v.is_integer()
    ]
    if fractions:
        return (
            f"{message} These look like scores: are the labels and the scores "
            f"swapped? Type tally(y_true, y_score)."
        )
    return f"{message} For one class against the rest pass y_true == {found[-1]!r}."


def whole_counts(values: Array, what: str) -> NDArray[np.int64]:
    """Pass on counts: whole numbers, zero or more."""
    if values.dtype.kind == "b" or values.dtype.kind not in "iuf":
        raise InputError(f"{what} must be whole numbers; found {values.dtype}.")
    bad = ~np.isfinite(values) if values.dtype.kind == "f" else np.zeros(0, bool)
    if not bad.any():
        bad = (values < 0) | (values != np.floor(values)) | (values >= 2.0**63)
    if bad.any():
        raise InputError(
            f"{what} must be whole numbers, zero or more; found "
            f"{listing(values[bad])} at {places(bad)}. Weights are not counts."
        )
    return values.astype(np.int64)


def panels_of_votes(panels: Mapping[Any, Any]) -> dict[str, Any]:
    """Pass on panels of 0/1 votes of at least two classifiers on the same names."""
    if not panels:
        raise InputError(
            'latent_class needs at least one population; found none. Type {"site": '
            "panel}."
        )
    out = {}
    for name, panel in panels.items():
        where = f" in population {name!r}" if len(panels) > 1 else ""
        out[str(name)] = _votes(panel, where)
    first, *rest = out.values()
    for other in rest:
        if set(other.names) != set(first.names):
            raise InputError(
                f"All populations must have the same classifiers; found "
                f"{listing(first.names)} and {listing(other.names)}."
            )
    if all(_constant(sum(out.values()), k) for k in range(len(first.names))):
        raise NotEnoughCases(
            f"latent_class learns from disagreement; here every one of "
            f"{listing(first.names)} gives the same vote to all of its "
            f"{sum(p.n for p in out.values()):,} cases. Cut the scores elsewhere with "
            f"panel.vote, or look at other cases."
        )
    return out


def _votes(panel: Any, where: str) -> Any:
    if not hasattr(panel, "names") or not hasattr(panel, "rows"):
        raise InputError(
            f"latent_class needs a Panel of votes, or a mapping from population to "
            f"Panel; found {type(panel).__name__}{where}. Type "
            f'karat.panel(None, {{"a": a, "b": b}}).'
        )
    if len(panel.names) < 2:
        raise InputError(
            f"latent_class needs at least 2 classifiers on the same cases; found "
            f"{listing(panel.names)}{where}. One classifier cannot be judged "
            f"without labels or a second opinion."
        )
    if panel.n == 0:
        raise NotEnoughCases(f"latent_class needs cases; the panel{where} is empty.")
    for name, column in zip(panel.names, panel.rows.T, strict=True):
        wrong = ~np.isnan(column) & (column != 0) & (column != 1)
        if wrong.any():
            raise InputError(
                f"latent_class needs votes of 0 and 1; {name!r} has "
                f"{listing(np.unique(column[wrong]))}{where}. Cut the scores "
                f"first: panel.vote({{{name!r}: 0.5, ...}})."
            )
        if np.isnan(column).all():
            raise NotEnoughCases(f"Classifier {name!r} has no vote at all{where}.")
    return panel


def _constant(panel: Any, k: int) -> bool:
    column = panel.rows[:, k]
    seen = column[~np.isnan(column)]
    return bool((seen == seen[0]).all())


def prior_mapping(given: object, words: tuple[str, ...]) -> Mapping[str, Any]:
    """Pass on a prior by parameter; None is uniform everywhere."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(
            f"prior must be a mapping such as "
            f'{{"prevalence": (1, 1), "sensitivity": {{"A": (9, 1)}}}}; '
            f"found {given!r}."
        )
    for word in given:
        choice(word, words, "The parameters of prior")
    return given


def beta_prior(
    given: object, name: str, names: Sequence[str], word: str
) -> tuple[float, float]:
    """Pass on (a, b) of a Beta prior, the same for all names or one for each."""
    if isinstance(given, Mapping):
        for other in given:
            if other not in names:
                raise InputError(
                    f"prior[{word!r}] names {other!r}, but there are only "
                    f"{listing(names)}.{nearest(other, names)}"
                )
        given = given.get(name)
    if given is None:
        return 1.0, 1.0
    if not isinstance(given, (tuple, list, np.ndarray)) or len(given) != 2:
        raise InputError(
            f"prior[{word!r}] must be (a, b) of a Beta distribution, such as (1, 1); "
            f"found {given!r}."
        )
    what = f"Each of (a, b) of prior[{word!r}]"
    return positive_number(given[0], what), positive_number(given[1], what)


def possible_order(mass: Array, names: Sequence[str], least: float) -> None:
    """Stop when a prior contradicts sensitivity >= 1 - specificity."""
    for name, share in zip(names, mass, strict=True):
        if share < least:
            raise InputError(
                f"The prior of {name!r} is impossible with the order constraint: only "
                f"{share:.2g} of it has sensitivity >= 1 - specificity. Are positive "
                f"and negative swapped? Otherwise pass ordered=False."
            )


def vote_rows(rows: Any, names: Sequence[str]) -> NDArray[np.float64]:
    """Pass on rows (m, K) of 0, 1 and NaN, in the order of the names."""
    votes = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    if votes.ndim != 2 or votes.shape[1] != len(names):
        raise InputError(
            f"Votes must have shape (rows, {len(names)}), a column for each of "
            f"{listing(names)}; found shape {votes.shape}."
        )
    wrong = ~np.isnan(votes) & (votes != 0) & (votes != 1)
    if wrong.any():
        raise InputError(
            f"Votes must be 0, 1 or NaN; found {listing(np.unique(votes[wrong]))}. "
            f"Cut the scores first: panel.vote(...)."
        )
    return votes


def population(
    name: object, known: Sequence[str], prevalence: object, *, single: bool = False
) -> int:
    """Which population is meant? With ``single`` the first, if nothing is said."""
    if name is None and (len(known) == 1 or prevalence is not None or single):
        return 0
    if name not in known:
        raise InputError(
            f"Say which population is meant: population= one of {listing(known)}, or "
            f"prevalence=...; found {name!r}."
        )
    return list(known).index(str(name))


def few_terms(terms: float, most: int) -> None:
    """Stop an exact sum that would not end."""
    if terms > most:
        raise InputError(
            f"method='exact' sums over all latent counts; {terms:.2g} terms are more "
            f"than {most:,}. Type method='importance'."
        )


def complete_votes(rows: Any, names: Sequence[str]) -> NDArray[np.float64]:
    """Pass on rows of 0 and 1; a combination cannot use a missing vote."""
    votes = vote_rows(rows, names)
    gone = np.asarray(np.isnan(votes).any(axis=1))
    if gone.any():
        raise InputError(
            f"A logical combination needs every vote; missing at {places(gone)} rows. "
            f"Type panel.observed(), or use post.probability, which can do without."
        )
    return votes


def latent_posterior(post: Any) -> None:
    """Stop when this is not what latent_class gives."""
    if not hasattr(post, "draws") or not hasattr(post, "probability"):
        raise InputError(
            f"Combinations need a posterior; found {type(post).__name__}. Type "
            f"karat.best_combination(karat.latent_class(panel))."
        )


def at_most_classifiers(found: int, most: int) -> None:
    """Stop a table that would not end."""
    if found > most:
        raise InputError(
            f"This is possible for up to {most} classifiers; found {found}. "
            f"karat.best_combination takes any number."
        )


def criterion(given: Any, names: Sequence[str], read: Any) -> Any:
    """Read a criterion that is not one of the names: a metric or its text."""
    try:
        return read(given)
    except InputError as err:
        raise InputError(
            f"criterion must be one of {listing(names)}, or a metric; {err}"
        ) from None


def metric_sign(metric: Any) -> float:
    """Give 1 where higher is better and -1 where lower is."""
    if metric.direction in ("higher", "lower"):
        return 1.0 if metric.direction == "higher" else -1.0
    raise InputError(
        f"A criterion needs a direction; {metric.name!r} is neither better when high "
        f"nor when low."
    )


def installed(library: str, extra: str) -> Any:
    """Open a foreign library, or say how to get it."""
    from importlib import import_module

    try:
        return import_module(library)
    except ImportError:
        raise InputError(
            f'This needs {library}. Type: pip install "karat[{extra}]".'
        ) from None


def same_cases(a: Array, b: Array) -> None:
    """Stop when models of different data are compared."""
    if a.shape != b.shape or not np.array_equal(a, b):
        raise InputError("Models can be compared when they are of the same cases.")


def both_classes(tally: Any, what: str) -> None:
    """Stop an analysis that needs a positive and a negative case."""
    if tally.n_pos and tally.n_neg:
        return
    labelled = tally.n_pos + tally.n_neg
    lacking = "positives" if not tally.n_pos else "negatives"
    if labelled:
        hint = "Is the positive label right? Pass positive=... to karat.tally."
    elif tally.n_unknown:
        hint = (
            f"All {tally.n_unknown:,} cases are without a label: see "
            f"karat.latent_class for what can be said without labels."
        )
    else:
        hint = "The tally is empty: were all rows filtered out?"
    raise NotEnoughCases(
        f"{what} needs at least one positive and one negative case; this tally has "
        f"0 {lacking} among {labelled:,} labelled cases. {hint}"
    )


def one_classifier(tally: Any, what: str) -> None:
    """Stop when something else than a tally of one classifier was passed."""
    if hasattr(tally, "score") and hasattr(tally, "labelled"):
        return
    if hasattr(tally, "names") and hasattr(tally, "labelled"):
        raise InputError(
            f"{what} needs the tally of one classifier; found a panel of "
            f"{listing(tally.names)}. Type panel[{tally.names[0]!r}]."
        )
    raise InputError(
        f"{what} needs a tally; found {type(tally).__name__}. "
        f"Type karat.tally(y_true, y_score)."
    )


def some_labels(tally: Any, what: str) -> None:
    """Stop an analysis that needs labelled cases, of whichever class."""
    if tally.n_pos + tally.n_neg:
        return
    both_classes(tally, what)


def at_least_two(names: Sequence[str], what: str) -> None:
    """Stop a comparison of one with itself."""
    if len(names) < 2:
        raise InputError(
            f"{what} needs at least two classifiers; found {listing(names) or 'none'}. "
            f'Type karat.panel(y_true, {{"a": a, "b": b}}).'
        )


def complete_outputs(panel: Any, what: str) -> None:
    """Stop an analysis that needs every classifier's output for every case."""
    gone = np.isnan(panel.rows).any(axis=1)
    if gone.any():
        cases = int((panel.neg + panel.pos + panel.unknown)[gone].sum())
        raise InputError(
            f"{what} needs every classifier's output for every case; {cases:,} of "
            f"{panel.n:,} labelled cases lack one. To leave these out, type "
            f"panel.observed()."
        )


def overlapping(tally: Any, cells: int, what: str) -> None:
    """Stop a fit of two parameters to curves that do not determine them."""
    if cells >= 4:
        return
    raise NotEnoughCases(
        f"{what} needs classes that overlap at several scores; here one or two cuts "
        f"tell all there is about {tally.n_pos:,} positives and {tally.n_neg:,} "
        f"negatives. karat.auc gives the area without a model."
    )


def fraction(value: object, what: str, *, ends: str = "()") -> float:
    """Pass on a number between 0 and 1; ``ends`` says whether 0 and 1 are allowed."""
    number = real_number(value, what)
    above = number >= 0 if ends[0] == "[" else number > 0
    below = number <= 1 if ends[1] == "]" else number < 1
    if above and below:
        return number
    hint = f" Type {what}={number / 100:g}." if 1 < number < 100 else ""
    raise InputError(
        f"{what} must lie in {ends[0]}0, 1{ends[1]}; found {number:g}.{hint}"
    )


def grid(values: object, what: str, *, below_one: bool = False) -> NDArray[np.float64]:
    """Pass on places between 0 and 1 at which a curve is wanted."""
    places_at = np.atleast_1d(probabilities(values, what))
    if below_one and (places_at == 1).any():
        raise InputError(f"{what} must lie in [0, 1); found 1.")
    return one_dimensional(places_at, what)


def real_number(value: object, what: str) -> float:
    """Pass on one finite number."""
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(
        value, bool
    ):
        number = float(value)
        if math.isfinite(number):
            return number
    raise InputError(f"{what} must be one finite number; found {value!r}.")


def positive_number(value: object, what: str) -> float:
    """Pass on one finite number above zero."""
    number = real_number(value, what)
    if number > 0:
        return number
    raise InputError(f"{what} must be above zero; found {number:g}.")


def not_negative(value: object, what: str) -> float:
    """Pass on one finite number, zero or more."""
    number = real_number(value, what)
    if number >= 0:
        return number
    raise InputError(f"{what} must be zero or more; found {number:g}.")


def share_range(value: object, what: str) -> tuple[float, float]:
    """Pass on two shares, the lower one first: 0 <= low < high <= 1."""
    pair = list(value) if isinstance(value, Sequence | np.ndarray) else []
    if len(pair) != 2:
        raise InputError(
            f"{what} must be two numbers between 0 and 1; found {value!r}. "
            f"Type {what}=(0, 0.1)."
        )
    low, high = (fraction(v, what, ends="[]") for v in pair)
    if low >= high:
        raise InputError(
            f"{what} must rise from its first to its second number; found "
            f"({low:g}, {high:g})."
        )
    return low, high


def whole_number(value: object, what: str, *, at_least: int = 0) -> int:
    """Pass on one whole number that is large enough."""
    number = real_number(value, what)
    if number.is_integer() and number >= at_least:
        return int(value)  # type: ignore[call-overload, no-any-return]
    raise InputError(
        f"{what} must be a whole number, {at_least} or more; found {value!r}."
    )


def mapping_of_scores(scores: object) -> Mapping[str, Any]:
    """Pass on named score columns."""
    if isinstance(scores, Mapping) and scores:
        distinct_names(list(scores))
        return scores
    raise InputError(
        f"The scores of a panel must be a mapping from name to column with at least "
        f"one entry; found {type(scores).__name__}. "
        f'Type karat.panel(y_true, {{"a": a, "b": b}}).'
    )


def alone(what: str, given: str, **others: object) -> None:
    """Stop when an argument is passed that the first one replaces."""
    found = [f"{k}=" for k, v in others.items() if v is not None]
    if found:
        raise InputError(
            f"{what} takes {given} or numbers, not both; found {given} and "
            f"{', '.join(found)}. Leave one of them out."
        )


def fermi_numbers(
    n: object, n_pos: object, auc: object, prevalence: object
) -> tuple[int, float, float]:
    """Pass on N, N1 and AUC of a Fermi-Dirac distribution."""
    if n is None or auc is None or (n_pos is None) == (prevalence is None):
        raise InputError(
            "fermi_dirac needs a tally, or n, auc and one of n_pos and prevalence. "
            "Type karat.fermi_dirac(t) or karat.fermi_dirac(n=100, n_pos=50, auc=0.9)."
        )
    size = whole_number(n, "n", at_least=2)
    area = fraction(auc, "auc", ends="[]")
    if n_pos is None:
        return size, size * fraction(prevalence, "prevalence"), area
    number = real_number(n_pos, "n_pos")
    if not 0 < number < size:
        raise InputError(
            f"n_pos must lie between 0 and n={size:,}, both classes being present; "
            f"found {number:g}."
        )
    return size, int(number) if number.is_integer() else number, area


def ranks(values: object, n: int) -> Any:
    """Pass on ranks among n cases: real numbers from 1/2 to n + 1/2."""
    rank = np.asarray(values)
    if rank.dtype.kind not in "iuf":
        raise InputError(f"rank must be numbers; found {rank.dtype}.")
    bad = ~((rank >= 0.5) & (rank <= n + 0.5))
    if bad.any():
        raise InputError(
            f"rank must lie between 1/2 and n + 1/2 = {n + 0.5:g}, rank 1 being the "
            f"highest score; found {listing(np.atleast_1d(rank)[np.atleast_1d(bad)])}."
        )
    return rank.astype(np.float64)


def whole_ranks(values: object, n: int, what: str, lacking: bool) -> Any:
    """Pass on thresholds: how many of n ranked cases are flagged."""
    if lacking:
        raise InputError(
            f"expected({what!r}) needs a rank: how many cases are flagged. "
            f"Type expected({what!r}, {max(1, n // 10)})."
        )
    rank = np.asarray(values)
    wrong = rank.dtype.kind not in "iuf"
    if wrong or not ((rank >= 0) & (rank <= n) & (rank == np.floor(rank))).all():
        raise InputError(
            f"rank must be whole numbers from 0 to n={n:,}: how many cases are "
            f"flagged; found {listing(np.atleast_1d(rank))}."
        )
    return rank.astype(np.float64)


def part_of(y: int, n: int) -> None:
    """Stop when more cases are in a part than in the whole."""
    if y > n:
        raise InputError(
            f"y must not exceed n; found y={y:,} of n={n:,}. Are they swapped?"
        )


def one_entry_per_leaf(shape: tuple[int, ...], leaves: int) -> None:
    """Stop when the last axis does not run over the leaves."""
    if shape[-1:] != (leaves,):
        raise InputError(
            f"Cases and majorities need one entry per leaf in their last axis, "
            f"{leaves}; found shape {shape}."
        )


def probabilities(values: object, what: str) -> NDArray[np.float64]:
    """Pass on numbers between 0 and 1, in any shape."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} must be numbers; found {values!r}.") from None
    bad = ~((numbers >= 0) & (numbers <= 1))
    if bad.any():
        found = listing(np.atleast_1d(numbers)[np.atleast_1d(bad)])
        raise InputError(
            f"{what} must lie in [0, 1]; found {found} at {places(bad)}. "
            f"Percentages are divided by 100."
        )
    return numbers


def shares(values: object, what: str) -> NDArray[np.float64]:
    """Pass on probabilities that sum to one, divided by their sum."""
    part = one_dimensional(np.atleast_1d(probabilities(values, what)), what)
    total = float(part.sum())
    # wide enough for shares typed with nine digits, too narrow for a forgotten leaf
    if abs(total - 1) <= 1e-8:
        return part / total
    raise InputError(
        f"{what} must sum to 1; found a sum of {total:g} over {part.size} entries. "
        f"Type {what} / {what}.sum() if these are the leaves' sizes."
    )


def unit_scores(values: Array, what: str, instead: str) -> Array:
    """Pass on scores that can be read as probabilities."""
    bad = (values < 0) | (values > 1)
    if bad.any():
        raise InputError(
            f"{what} needs scores from 0 to 1; found {listing(values[bad])} at "
            f"{places(bad)}. {instead}"
        )
    return values


def options(given: Collection[str], known: Collection[str], what: str) -> None:
    """Stop at a keyword that the chosen method does not have."""
    for name in given:
        if name not in known:
            has = f"its options are {listing(known, 20)}" if known else "it has none"
            raise InputError(
                f"{name!r} is no option of {what}: {has}.{nearest(name, known)}"
            )


def class_sizes(n: object, n_pos: object) -> tuple[int, int]:
    """Pass on a number of cases and of positives among them, both classes present."""
    size = whole_number(n, "n", at_least=2)
    pos = whole_number(n_pos, "n_pos", at_least=1)
    if pos >= size:
        raise InputError(f"n_pos must be below n={size:,}; found {pos:,}.")
    return size, pos


def correlation_matrix(value: object, size: int) -> NDArray[np.float64]:
    """Pass on correlations: one number for all pairs, or a symmetric matrix."""
    matrix = np.asarray(value, dtype=np.float64)
    if matrix.ndim == 0:
        matrix = np.full((size, size), float(matrix))
        np.fill_diagonal(matrix, 1.0)
    shaped = matrix.shape == (size, size) and np.array_equal(matrix, matrix.T)
    if not shaped or not (np.abs(matrix) <= 1).all() or (np.diag(matrix) != 1).any():
        raise InputError(
            f"correlation must be one number between -1 and 1, or a symmetric matrix "
            f"of shape ({size}, {size}) with ones on the diagonal; found "
            f"{matrix.tolist() if matrix.size < 10 else matrix.shape}."
        )
    return matrix


def positive_definite(eigenvalues: Array, what: str) -> None:
    """Stop at correlations that no data can have."""
    if eigenvalues.min() < -1e-12:
        raise InputError(
            f"{what} must be possible for all classifiers at once (a positive "
            f"semi-definite matrix); the smallest eigenvalue is "
            f"{eigenvalues.min():.3g}. Equal correlations of all pairs cannot be below "
            f"-1 / (K - 1)."
        )


def leaf_names(values: Array) -> Array:
    """Pass on names of leaves that can be sorted: all numbers, or all text."""
    names = one_dimensional(values, "node")
    gone = missing(names)
    if gone.any():
        raise InputError(
            f"node must name a leaf for every case; missing at {places(gone)}. "
            f"Fill these with a name of their own."
        )
    if names.dtype.kind != "O":
        return names
    kinds = sorted({type(v).__name__ for v in names})
    if len(kinds) > 1:
        raise InputError(
            f"node must hold names of one kind; found {listing(kinds)}. "
            f"Turn them all into text."
        )
    return np.array(names.tolist()) if names.size else names.astype(str)


def same_kind_of_names(a: Array, b: Array) -> None:
    """Stop when text and numbers would be merged as names of leaves."""
    if (a.dtype.kind == "U") != (b.dtype.kind == "U"):
        raise InputError(
            f"Leaves can be added when their nodes are of one kind; found "
            f"{listing(a[:1])} and {listing(b[:1])}. Turn both into text."
        )


def named_splits(splits: object, counted: type) -> Mapping[str, Any]:
    """Pass on splits by name, each of them counted or a pair of columns."""
    if not isinstance(splits, Mapping) or not splits:
        raise InputError(
            f"compare_splits needs a mapping from name to split with at least one "
            f"entry; found {type(splits).__name__}. "
            f'Type compare_splits({{"a": leaves, "b": ([0.9, 0.1], [0.75, 0.25])}}).'
        )
    for name, split in splits.items():
        if isinstance(split, counted):
            continue
        if not isinstance(split, (tuple, list)) or len(split) != 2:
            raise InputError(
                f"The split {name!r} must be Leaves or a pair (weights, p); "
                f"found {type(split).__name__}."
            )
    return splits


def binary_tree(tree: object, fitted: bool, classes: int) -> None:
    """Stop when this is not a fitted tree of two classes."""
    kind = type(tree).__name__
    if not fitted:
        hint = " Pass one of its trees: forest.estimators_[0]." * hasattr(
            tree, "estimators_"
        )
        raise InputError(
            f"A fitted scikit-learn tree is needed; found {kind} without a tree_."
            f"{hint or ' Call fit first.'}"
        )
    if classes != 2:
        found = f"{classes} classes" if classes else "a regression tree"
        raise InputError(
            f"A tree of two classes is needed; this {kind} has {found}. For one class "
            f"against the rest grow the tree on y == that class."
        )


def two_classes(values: object) -> Array:
    """Pass on the two classes of a forest."""
    labels = np.asarray(values)
    if labels.shape == (2,):
        return labels
    raise InputError(
        f"classes must be the two classes of the forest; found {values!r}. "
        f"Type classes=forest.classes_."
    )


def class_of(value: object, known: Sequence[Any], what: str) -> None:
    """Stop when a value is not one of the classes."""
    if not any(_same(k, value) for k in known):
        raise InputError(
            f"{what} must be one of the classes {listing(known)}; found {value!r}."
        )


def labels_with_cases(y: object) -> None:
    """Stop when cases come without labels."""
    if y is None:
        raise InputError(
            "Cases need their labels: pass X and y, or neither of them for the counts "
            "that the tree keeps."
        )


def labels_of_tree(seen: Array, own: Array, strangers: bool) -> None:
    """Stop when labels are not classes of the tree."""
    if strangers:
        raise InputError(
            f"y must hold the classes of the tree, {listing(own)}; found "
            f"{listing(seen)}. For a tree of a forest pass classes=forest.classes_."
        )


def unweighted_tree(whole: bool) -> None:
    """Stop when a tree keeps weights instead of counts."""
    if not whole:
        raise InputError(
            "The tree keeps weights, not counts: it was grown with sample_weight, "
            "class_weight or on a bootstrap sample. Pass X and y to count cases."
        )


def binary_target(kind: str, classes: Array) -> None:
    """Stop when a target does not have two classes, in scikit-learn's words."""
    if kind != "binary":
        raise InputError(
            f"Only binary classification is supported. The type of the target is "
            f"{kind}."
        )
    if classes.size < 2:
        raise InputError(
            f"Two classes are needed; y has one class only, {listing(classes)}."
        )


class DoubtfulAssumption(UserWarning):
    """What a method takes for granted looks wrong in these data."""


def rows_of(rows: object, names: Sequence[str]) -> NDArray[np.float64]:
    """Pass on rows of outputs (m, K), one column a classifier; NaN is missing."""
    value = np.asarray(rows)
    if value.dtype.kind not in "biuf":
        raise InputError(f"rows must be numbers; found {value.dtype}.")
    if value.ndim != 2 or value.shape[1] != len(names):
        raise InputError(
            f"rows must have a column for each of {listing(names, 12)}, shape (m, "
            f"{len(names)}); found shape {value.shape}."
        )
    return value.astype(np.float64, copy=False)


def both_classes_each(
    names: Sequence[str], n_neg: Array, n_pos: Array, what: str
) -> None:
    """Stop when a classifier has no output for the cases of one class."""
    short = [n for n, a, b in zip(names, n_neg, n_pos, strict=True) if not (a and b)]
    if short:
        raise NotEnoughCases(
            f"{what} needs, of every classifier, outputs for a positive and a negative "
            f"case; {listing(short)} has none for one class. Leave it out: "
            f"panel[[...]]."
        )


def independent_only(method: str) -> None:
    """Stop a combination that needs labels where there are none."""
    if method != "independent":
        raise InputError(
            f"method={method!r} needs labelled cases, to see how the classifiers depend"
            f' on each other; with aucs= or labels="none" only method="independent" is '
            f"possible."
        )


def auc_of_each(aucs: object, names: Sequence[str]) -> NDArray[np.float64]:
    """Pass on an AUC for each name, in the order of the names."""
    if not isinstance(aucs, Mapping):
        raise InputError(
            f"aucs must be a mapping from name to AUC; found {type(aucs).__name__}. "
            f"Type aucs={{{names[0]!r}: 0.8, ...}}."
        )
    lacking = [n for n in names if n not in aucs]
    extra = [n for n in aucs if n not in names]
    if lacking or extra:
        found = f"none for {listing(lacking)}" if lacking else f"also {listing(extra)}"
        raise InputError(
            f"aucs must hold an AUC for each of {listing(names, 12)}; found {found}."
        )
    return np.array([fraction(aucs[n], f"aucs[{n!r}]", ends="[]") for n in names])


def known_prevalence(value: float) -> float:
    """Pass on the prevalence of labelled cases, if both classes are there."""
    if 0 < value < 1:
        return value
    raise InputError(
        "fidel with published aucs needs the prevalence: the panel has no labels of "
        "both classes to count it from. Type prevalence=0.1."
    )


def several_classifiers(panel: Any, least: int, what: str) -> None:
    """Stop when a panel has too few classifiers, or no cases."""
    if len(panel.names) < least:
        raise NotEnoughCases(
            f"{what} needs at least {least} classifiers; this panel has "
            f"{listing(panel.names)}. With one or two, agreement alone cannot tell how "
            f"good each is."
        )
    if panel.n < 2:
        raise NotEnoughCases(f"{what} needs at least 2 cases; found {panel.n}.")


def cases_for_folds(panel: Any, folds: int) -> None:
    """Stop when a class has fewer cases than folds."""
    least = min(panel.n_pos, panel.n_neg)
    if least < folds:
        raise NotEnoughCases(
            f"{folds} folds need {folds} cases of each class; this panel has "
            f"{panel.n_pos:,} positives and {panel.n_neg:,} negatives. Type "
            f"folds={max(least, 2)} or count more cases."
        )


def base_estimators(estimators: object) -> None:
    """Stop when a list of (name, classifier) is something else."""
    listed = isinstance(estimators, (list, tuple)) and len(estimators) > 0
    if not listed or not all(
        hasattr(e[1] if isinstance(e, tuple) and len(e) == 2 else e, "fit")
        for e in estimators  # type: ignore[attr-defined]
    ):
        raise InputError(
            'estimators must be a list of (name, classifier), such as [("line", '
            f"LogisticRegression())]; found {estimators!r}."
        )


def common_cases(names: Sequence[str], seen: Array, what: str) -> None:
    """Stop when two classifiers have no case with an output of both."""
    together = seen.T.astype(np.float64) @ seen
    apart = np.argwhere(np.triu(together == 0, 1))
    if apart.size:
        a, b = (names[k] for k in apart[0])
        raise NotEnoughCases(
            f"{what} needs cases with an output of both, for every pair of classifiers;"
            f" {a!r} and {b!r} have none in common. Leave one of them out: "
            f"panel[[...]]."
        )
