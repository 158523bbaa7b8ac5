"""Do these classifiers hold enough to be combined?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Array
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.options import fraction
from trueness._core.checks.words import listing


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
