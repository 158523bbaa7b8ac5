"""Are these votes and priors ones that a latent class model can use?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.options import choice, positive_number
from trueness._core.checks.words import described, listing, nearest

Array = NDArray[Any]


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
    together: Any = sum(out.values())
    if np.isfinite([only_value(column) for column in together.rows.T]).all():
        raise NotEnoughCases(
            "latent_class learns from disagreement; here each of "
            f"{listing(first.names)} gives the same vote to all of its "
            f"{sum(p.n for p in out.values()):,} cases. Choose other thresholds with "
            "panel.vote, or use other cases."
        )
    return out


def _votes(panel: Any, where: str) -> Any:
    if not hasattr(panel, "names") or not hasattr(panel, "rows"):
        raise InputError(
            f"latent_class needs a Panel of votes, or a mapping from population to "
            f"Panel; found {type(panel).__name__}{where}. Type "
            f'trueness.panel(None, {{"a": a, "b": b}}).'
        )
    if len(panel.names) < 2:
        raise InputError(
            "latent_class needs at least 2 classifiers on the same cases; found "
            f"{listing(panel.names)}{where}. One classifier cannot be evaluated "
            "without labels or a second classifier."
        )
    if panel.n == 0:
        raise NotEnoughCases(f"latent_class needs cases; the panel{where} is empty.")
    for name, column in zip(panel.names, panel.rows.T, strict=True):
        wrong = ~np.isnan(column) & (column != 0) & (column != 1)
        if wrong.any():
            raise InputError(
                f"latent_class needs votes of 0 and 1; {name!r} has "
                f"{listing(np.unique(column[wrong]))}{where}. Apply thresholds to the "
                f"scores first: panel.vote({{{name!r}: 0.5, ...}})."
            )
        if np.isnan(column).all():
            raise NotEnoughCases(f"Classifier {name!r} has no vote at all{where}.")
    return panel


def only_value(column: Array) -> float:
    """Which value does a column have in every case? NaN where there are several."""
    seen = np.unique(column[~np.isnan(column)])
    return float(seen[0]) if seen.size == 1 else np.nan


def beta_priors(given: object, names: Mapping[str, Sequence[str]]) -> list[Array]:
    """Read (a, b) of the Beta prior of each name of each parameter, (names, 2)."""
    if given is not None and not isinstance(given, Mapping):
        raise InputError(
            f"prior must be a mapping such as "
            f'{{"prevalence": (1, 1), "sensitivity": {{"A": (9, 1)}}}}; '
            f"found {given!r}."
        )
    for word in given or ():
        choice(word, tuple(names), "The parameters of prior")
    return [
        np.array([_beta((given or {}).get(word), n, each, word) for n in each])
        for word, each in names.items()
    ]


def _beta(
    given: object, name: str, names: Sequence[str], word: str
) -> tuple[float, float]:
    """Pass on (a, b), the same for all names or one for each; (1, 1) is uniform."""
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


def vote_rows(rows: ArrayLike, names: Sequence[str]) -> NDArray[np.float64]:
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
            "Apply thresholds to the scores first: panel.vote(...)."
        )
    return votes


def population(
    name: object, known: Sequence[str], prevalence: object, *, single: bool = False
) -> int:
    """Which population is meant? With ``single`` the first, if nothing is said."""
    if name is None and (len(known) == 1 or prevalence is not None or single):
        return 0
    if isinstance(name, str) and name in known:
        return list(known).index(name)
    if len(known) == 1:
        raise InputError(
            f"These votes are of one population without a name; found population="
            f"{described(name)}. Leave it out."
        )
    raise InputError(
        f"Say which population is meant: population= one of {listing(known)}, or "
        f"prevalence=...; found {described(name)}."
    )


def latent_posterior(post: Any, what: str, most: float = np.inf) -> None:
    """Stop when this is not what latent_class gives, or a table would not end."""
    if not hasattr(post, "draws") or not hasattr(post, "probability"):
        raise InputError(
            f"{what} needs a posterior; found {type(post).__name__}. Type "
            f"trueness.{what}(trueness.latent_class(panel))."
        )
    if len(post.names) > most:
        raise InputError(
            f"This is possible for up to {most} classifiers; found {len(post.names)}. "
            f"trueness.best_combination takes any number."
        )
