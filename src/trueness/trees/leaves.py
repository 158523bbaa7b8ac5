"""Which leaves of a tree can be trusted?

``Leaves`` counts the cases of each leaf, as a tally counts those of each score: it is
all that is asked about a tree, a segmentation or a categorical covariate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import options as _options
from trueness._core.checks.columns import missing, one_dimensional
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import listing, places
from trueness._core.figures import html_table
from trueness._core.records import brief, native_frame
from trueness.counts.cases import (
    COUNTS,
    Cases,
    Squares,
    align_counts,
    count_columns,
    counts_by_name,
    describe,
    same_arrays,
    set_fields,
)
from trueness.counts.clusters import Clusters
from trueness.counts.design import PLAIN, Design
from trueness.counts.values import Tally
from trueness.trees.leaf_maps import LeafMap, leaf_texts
from trueness.trees.leaf_reports import (
    LeafReport,
    probability_for_levels,
    report_on_leaves,
)
from trueness.trees.levels import TOP_METHODS, confidence_level, top_or_half

MAX_ROWS = 10  # of leaves in a notebook


@final
@dataclass(frozen=True, eq=False, repr=False)
class Leaves(Cases):
    """Counts of negatives, positives and unknowns in each leaf.

    :func:`trueness.leaves` returns it; the constructor takes counts of leaves, in any
    order. ``a + b`` counts the cases of both.

    Attributes
    ----------
    node : array (J,)
        Names or numbers of the leaves, distinct, in their order.
    neg, pos, unknown : array (J,) of int64
        Cases of that leaf that are negative, positive and without a label.

    Examples
    --------
    >>> golf = Leaves(["sunny", "rainy", "overcast"], neg=[2, 3, 0], pos=[3, 2, 4])
    >>> golf.node.tolist(), golf.pos.tolist(), golf.n
    (['overcast', 'rainy', 'sunny'], [4, 2, 3], 14)
    """

    node: Array
    neg: Ints
    pos: Ints
    unknown: Ints
    _squares: Squares | None = None
    clusters: Clusters | None = None
    design: Design = PLAIN

    def __init__(
        self,
        node: ArrayLike = (),
        neg: ArrayLike | None = None,
        pos: ArrayLike | None = None,
        unknown: ArrayLike | None = None,
    ) -> None:
        names = _leaf_names(np.atleast_1d(np.asarray(node)))
        columns = count_columns(names.size, "node", neg=neg, pos=pos, unknown=unknown)
        distinct, place = np.unique(names, return_inverse=True)
        counts = np.zeros((distinct.size, 3), np.int64)
        np.add.at(counts, place, np.column_stack(columns))

        has_cases = counts.any(axis=1)  # a leaf without a case is none
        values = [distinct[has_cases], *counts[has_cases].T]
        set_fields(self, ("node", *COUNTS), values)

    def __len__(self) -> int:
        """Return the number of leaves."""
        return int(self.node.size)

    def __add__(self, other: Leaves) -> Leaves:
        """Return the cases of both."""
        if not isinstance(other, Leaves):
            return NotImplemented
        if not len(self):
            return other
        if not len(other):
            return self

        if (self.node.dtype.kind == "U") != (other.node.dtype.kind == "U"):
            raise InputError(
                f"Leaves can be added when their nodes are of one kind; found "
                f"{listing(self.node[:1])} and {listing(other.node[:1])}. Turn both "
                f"into text."
            )

        counts = map(np.concatenate, zip(*align_counts(self, other), strict=True))
        return Leaves(np.concatenate([self.node, other.node]), *counts)

    def __radd__(self, other: int) -> Leaves:
        """Let ``sum(parts)`` start from 0."""
        return self if other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        """Return whether both hold the same cases."""
        if not isinstance(other, Leaves):
            return NotImplemented
        return same_arrays((self.node, *self.counts), (other.node, *other.counts))

    __hash__ = None

    def tally(self, *, method: str = "mle") -> Tally:
        """Return a tally that scores each leaf by its estimated probability.

        "mle" is the proportion of positives; "emle" and "blend" move it towards 1/2. A
        leaf without a labelled case gets 1/2, and so does a single case with "emle".
        """
        return Tally(self.scores(method=method), self.neg, self.pos, self.unknown)

    def scores(self, *, method: str = "mle") -> Floats:
        """Return each leaf's estimated probability of a positive, as in ``tally``."""
        n = self.neg + self.pos
        # the class with more cases gets the estimate, the other one the rest
        of_majority = top_or_half(self.pos, n, method)
        if method == "mle":
            # 1 - (1 - p) would not be the proportion to the last digit
            return np.where(n > 0, self.pos / np.maximum(n, 1), 0.5)
        return np.where(self.pos >= self.neg, of_majority, 1 - of_majority)

    def map(self, method: str = "blend", *, default: float | None = None) -> LeafMap:
        """Return the scores of these leaves as a map, for cases that come later.

        It is saved and applied like a calibrator: ``leaves.map().save("x.json")``.
        A leaf that was never seen gets ``default``: when None, the prevalence of the
        labelled cases.
        """
        labelled = self.neg + self.pos

        if default is None:
            if not labelled.sum():
                raise NotEnoughCases(
                    "A map of leaves needs labelled cases, or a default: the score of "
                    "a leaf that was never seen.",
                    option="default",
                    example=0.5,
                )
            default = float(self.pos.sum() / labelled.sum())

        default = _options.fraction(default, "default", ends="[]")
        score = self.scores(method=method)
        estimate = TOP_METHODS[method](self.pos, labelled)
        of_levels = probability_for_levels(self.neg, self.pos, estimate)

        return LeafMap(
            node=tuple(leaf_texts(self.node)),
            score=score,
            confidence=np.asarray(confidence_level(labelled, of_levels)),
            default=default,
            method=method,
        )

    def report(
        self,
        *,
        confidence: float = 0.95,
        level: float = 0.95,
        method: str = "blend",
        empty: str | float = "coin",
        fresh: bool = True,
    ) -> LeafReport:
        """Verdict on each leaf, with its levels of confidence and utility.

        Which leaves can be trusted? See :class:`LeafReport`.

        A trusted leaf reaches this ``confidence``, with all leaves taken into account;
        ``level`` is that of the intervals. The levels use the estimate ``method``
        ("mle", "emle" or "blend") of the larger class probability; an ``empty`` leaf
        counts in those of the whole tree as in :func:`trueness.trees.tree_levels`. With
        ``fresh=False``, for cases that the tree was grown on, no leaf is called
        trusted.
        """
        confidence = _options.fraction(confidence, "confidence")
        level = _options.fraction(level, "level")
        _options.choice(method, TOP_METHODS, "method")

        if not (self.neg + self.pos).sum():
            raise NotEnoughCases(
                f"A report on leaves needs labelled cases; found none among "
                f"{self.n:,} cases in {len(self):,} leaves."
            )

        return report_on_leaves(
            self.node,
            self.neg,
            self.pos,
            confidence=confidence,
            level=level,
            method=method,
            empty=empty,
            fresh=fresh,
        )

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a frame with columns node, neg, pos, unknown."""
        return native_frame({"node": self.node, **counts_by_name(self)}, backend)

    def __repr__(self) -> str:
        """Return the number of cases and leaves, in one line."""
        return f"Leaves: {describe(self)} in {len(self):,} leaves"

    def _repr_html_(self) -> str:
        rows = list(zip(self.node, *self.counts, strict=True))
        cells = [tuple(brief(value) for value in row) for row in rows[:MAX_ROWS]]
        note = ""
        if len(rows) > MAX_ROWS:
            note = f"<p>{len(rows) - MAX_ROWS:,} more leaves</p>"
        return f"<p>{self!r}</p>{html_table(('node', *COUNTS), cells)}{note}"


def _leaf_names(values: Array) -> Array:
    """Return names of leaves, checked to be all numbers or all text."""
    names = one_dimensional(values, "node")
    is_missing = missing(names)
    if is_missing.any():
        raise InputError(
            f"node must name a leaf for every case; missing at {places(is_missing)}. "
            "Give these cases a leaf of their own.",
            option="node",
        )

    if names.dtype.kind != "O":
        return names

    kinds = sorted({type(name).__name__ for name in names})
    if len(kinds) > 1:
        raise InputError(
            f"node must hold names of one kind; found {listing(kinds)}. "
            f"Turn them all into text.",
            option="node",
        )

    return np.array(names.tolist()) if names.size else names.astype(str)
