r"""How far do the rates of two systems go together, when they answered the same items?

Systems mostly stumble over the same items, so that their rates err together, and their
difference is known better than from two samples of different items. Each estimate is,
to first order, a sum over cases of what each of them adds (its influence),

.. math::

   \hat\theta_s - \theta_s \approx \sum_{i} u_{is}, \qquad
   \operatorname{Cor}(\hat\theta_s, \hat\theta_t) \approx
   \frac{\sum_i u_{is} u_{it}}{\sqrt{\sum_i u_{is}^2 \sum_i u_{it}^2}},

with all that one item adds taken together. A case adds its verdicts (how common such a
pattern is) and, where it has a label, its residual. The draws of each rate stay as they
are; only their order is changed, so that they correlate by this much (Iman, Conover
1982, doi:10.1080/03610918208812265).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import listing, nearest
from trueness.counts.values import Panel
from trueness.nogold import rate_by_truth as _by_truth
from trueness.nogold import truth_given_votes as _truth
from trueness.nogold.verdicts import Verdicts, Votes, read_votes

Rng = np.random.Generator
# three columns a pattern: what a case without label, a positive, a negative adds
Influence = Floats


def split_item(panels: Mapping[str, Panel], item: Any) -> dict[str, tuple[Panel, Any]]:
    """Take the column of the items out: panels of verdicts, and the rows by item."""
    out = {}
    for name, panel in panels.items():
        if item not in panel.names:
            raise InputError(
                f"item= names the column of each panel that says which item a case is "
                f"about; {name!r} has only {listing(panel.names)}, not {item!r}."
                f"{nearest(item, panel.names)}"
            )
        judges = [n for n in panel.names if n != item]
        if not judges:
            raise InputError(f"{name!r} has no judge besides the column {item!r}.")
        ids = panel.rows[:, panel.names.index(item)]
        _once(ids, panel, name)
        out[name] = panel[judges], (ids, _patterns_of(panel, judges), panel)
    known = [set(ids.tolist()) for _, (ids, _, _) in out.values()]
    if not set.intersection(*known):
        raise NotEnoughCases(
            "No item was answered by all systems, so the systems cannot be paired. "
            "Do all systems use the same item numbers? Otherwise leave item= out."
        )
    return out


def _once(ids: Floats, panel: Panel, name: str) -> None:
    """Stop where an item has no number, or several cases in one system."""
    if np.isnan(ids).any():
        raise InputError(
            f"Every case needs its item; {int(np.isnan(ids).sum()):,} rows of {name!r} "
            f"have none."
        )
    number, at = np.unique(ids, return_inverse=True)
    cases = np.bincount(at, panel.pos + panel.neg + panel.unknown)
    if cases.max() > 1:
        raise InputError(
            f"Each item must occur once in each system; item "
            f"{number[cases.argmax()]:g} occurs {cases.max():.0f} times in {name!r}. "
            f"Compare one answer per item, or leave item= out."
        )


def _patterns_of(panel: Panel, judges: list[str]) -> Array:
    """Which row of ``panel[judges]`` is each row of the panel?"""
    rows = panel.rows[:, [panel.names.index(n) for n in judges]]
    at = {row.tobytes(): j for j, row in enumerate(panel[judges].rows)}
    return np.array([at[row.tobytes()] for row in np.ascontiguousarray(rows)])


def _steps(data: _truth.Labelled, total: Floats) -> tuple[Floats, Floats]:
    """Give P(+ | x), and how far the rate moves with a unit of residual of each row."""
    b, information = _truth.mode_and_information(data)
    p = _truth.probabilities(b[None], data.x)[0]
    z = np.column_stack([np.ones(len(p)), data.x])
    slope = z.T @ (total / total.sum() * p * (1 - p))
    return p, z @ np.linalg.solve(information, slope)


def influence(x: Verdicts, labelled: str, theta: float) -> Influence:
    """Give the influence of cases on the rate of their own system."""
    if labelled == "by truth":
        return by_truth(x, theta)
    v = read_votes(x)
    return by_votes(v, _truth.design(v, labelled))


def by_truth(x: Verdicts, theta: float) -> Influence:
    """Give the influence of a case where labels were chosen by truth."""
    yes = _by_truth.one_verdict(x).astype(float)
    _, _, pos, neg, unknown = x
    a, b, q = (
        (c @ yes + 0.5) / (c.sum() + 1) for c in (pos, neg, unknown)
    )  # as the prior of Jeffreys
    gap = a - b if abs(a - b) > 1e-3 else 1e-3
    return np.column_stack(
        [
            (yes - q) / (unknown.sum() * gap),
            -theta * (yes - a) / (pos.sum() * gap),
            -(1 - theta) * (yes - b) / (neg.sum() * gap),
        ]
    )


def by_votes(v: Votes, data: _truth.Labelled) -> Influence:
    """Give the influence of cases, by a regression of the labels on the votes."""
    p, step = _steps(data, v.total)
    seen = (p - v.total @ p / v.total.sum()) / v.total.sum()
    return np.column_stack([seen, seen + step * (1 - p), seen - step * p])


def correlation(by_item: list[Any], influence: list[Influence]) -> Floats:
    """Correlate the rates by what each item adds to each of them."""
    ids = np.unique(np.concatenate([part[0] for part in by_item]))
    each = np.zeros((len(influence), ids.size))
    for s, ((item, pattern, panel), u) in enumerate(
        zip(by_item, influence, strict=True)
    ):
        counts = np.column_stack([panel.unknown, panel.pos, panel.neg])
        add = (counts * u[pattern]).sum(axis=1)
        each[s] = np.bincount(np.searchsorted(ids, item), add, minlength=ids.size)
    size = np.sqrt(np.maximum((each**2).sum(axis=1), 1e-300))
    return np.asarray(each @ each.T / np.outer(size, size))


def coupled(
    draws: Mapping[str, Floats], correlation: Floats, rng: Rng
) -> dict[str, Floats]:
    """Put the draws of each rate into an order in which they correlate by this much."""
    n = min(d.size for d in draws.values())
    # the root by eigenvectors: equal systems make the matrix singular
    value, axes = np.linalg.eigh(correlation)
    root = axes * np.sqrt(np.maximum(value, 0))
    z = rng.standard_normal((n, len(draws))) @ root.T
    return {
        name: np.sort(d[:n])[np.argsort(np.argsort(z[:, s]))]
        for s, (name, d) in enumerate(draws.items())
    }
