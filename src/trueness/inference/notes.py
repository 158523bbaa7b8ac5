"""What must a reader of limits keep in mind?"""

from __future__ import annotations

import math

import numpy as np

from trueness.counts.cases import Cases, weight_notes
from trueness.inference.spread import Spread

# fewer clusters leave the variance itself uncertain (Cameron, Miller 2015, sec. VI)
FEW_CLUSTERS = 15
# with so few degrees of freedom a handful of cases decides the limits
_FEW_FREEDOM = 5.0


def notes_of(x: Cases, s: Spread | None = None, method: str = "") -> tuple[str, ...]:
    """Say what limits of these cases assume, and where they know little."""
    found = [*weight_notes(x), *_clusters(x)]
    if method == "unseen" and s is not None and math.isnan(s.variance):
        found.append(
            "A single case or cluster decides and shows no spread: the limits are as "
            "wide as those of one case."
        )
    elif method == "unseen":
        found.append(
            "Nothing varied in this sample: the limits say how far a kind of cases "
            "that was not seen could move the value."
        )
    elif s is not None and s.df < _FEW_FREEDOM:
        found.append(
            f"A few cases decide these limits ({s.df:.1f} degrees of freedom): they "
            "may be off by more than they say."
        )
    return tuple(found)


def _clusters(x: Cases) -> list[str]:
    c = x.grouped
    if c is None:
        return []
    kinds = zip(("", " with negatives", " with positives"),
                (np.add.reduce(c.counts[:3]), *c.counts[:2]), strict=True)  # fmt: skip
    numbers = [(int((c.per_cluster(k) > 0).sum()), words) for words, k in kinds]
    number, words = min(numbers, key=lambda pair: pair[0])
    if number >= FEW_CLUSTERS:
        return []
    many = f"are only {number} clusters" if number > 1 else "is only one cluster"
    return [
        f"There {many}{words}: limits of fewer than {FEW_CLUSTERS} are uncertain "
        "themselves."
    ]
