r"""What do labels say of the accuracies, whatever the errors look like?

Where classifiers err together, no model of their errors is safe: sixty labels do not
contradict one that is wrong. With labels none is needed. The truth given the votes is
learnt from the labels (``truth_given_votes``) and the votes from all cases,

.. math:: P(x_j, +) = W_j P(+ \mid x_j), \qquad P(x_j, -) = W_j (1 - P(+ \mid x_j)),

with W the shares of the vote patterns, any table at all. As log P(x | +) / P(x | -) is
linear in the votes, this is the model in which votes may depend on each other in any
way, but alike in both classes (no interaction of the class with two votes).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from trueness._core.arrays import Floats
from trueness.nogold import truth_given_votes as _truth
from trueness.nogold.model import Patterns, parameter_labels, pattern_word
from trueness.nogold.verdicts import Verdicts, read_votes

Rng = np.random.Generator
LABELLED = ("random", "by verdict", "by truth")


@final
@dataclass(frozen=True)
class FromLabels:
    """Any dependence, alike in both classes; one population, with labels."""

    patterns: Patterns
    labelled: str
    shared: ClassVar[bool] = True  # tests may share errors, in any way

    @property
    def labels(self) -> tuple[str, ...]:
        """Give the name of every parameter, with the joint share of each pattern."""
        more = (
            f"{word}[{pattern_word(row)}]"
            for word in ("positive", "negative")
            for row in self.patterns.rows
        )
        return (*parameter_labels(self.patterns), *more)

    def draws(self, rng: Rng) -> tuple[dict[str, Floats], float]:
        """Draw all parameters, and say how many independent draws they are worth."""
        x = self.patterns
        seen = ~np.isnan(x.rows)
        v = read_votes(Verdicts(x.names, x.rows, x.pos[0], x.neg[0], x.unknown[0]))
        data = _truth.design(v, self.labelled)
        positive, negative, worth = _truth.joint_shares(data, v.total, rng)
        # accuracies are sums of joint shares over patterns with a vote, over the share
        # of the class, so that rate and accuracies always agree
        hit, alarm = (
            part @ (x.rows == 1) / np.maximum(part @ seen.astype(float), 1e-300)
            for part in (positive, negative)
        )
        flat = {
            "prevalence": positive.sum(axis=1, keepdims=True),
            "sensitivity": hit,
            "specificity": 1 - alarm,
            "positive": positive,
            "negative": negative,
        }
        return flat, worth

    def class_probabilities(
        self, flat: Mapping[str, Floats], rows: Floats
    ) -> tuple[Floats, Floats]:
        """Give the probability of each pattern in positives and in negatives."""
        mine = self.patterns.rows
        out = np.zeros((2, len(flat["positive"]), len(rows)))
        for j, row in enumerate(rows):
            seen = ~np.isnan(row)
            known = ~np.isnan(mine[:, seen]).any(axis=1)
            same = known & (np.nan_to_num(mine[:, seen]) == row[seen]).all(axis=1)
            for c, word in enumerate(("positive", "negative")):
                share = flat[word][:, known].sum(axis=1)
                out[c, :, j] = flat[word][:, same].sum(axis=1) / np.maximum(
                    share, 1e-300
                )
        return out[0], out[1]

    def post_test(
        self, flat: Mapping[str, Floats], rows: Floats, s: int, phi: float | None
    ) -> Floats:
        """Average P(positive | votes) over the posterior; NaN for votes never seen."""
        a, b = self.class_probabilities(flat, rows)
        share = flat["prevalence"] if phi is None else phi
        either = share * a + (1 - share) * b
        never = (either == 0).all(axis=0)
        out = (share * a / np.maximum(either, 1e-300)).mean(axis=0)
        return np.where(never, np.nan, out)
