r"""Decisions among several classes: which costs least, and what do they cost?

With the cost :math:`C_{td}` of decision d where the class is t, a case with
probabilities p is decided for

.. math:: \arg\min_d \sum_t p_t C_{td}

(Elkan 2001, The foundations of cost-sensitive learning, IJCAI, eq. 1; Sameni 2025,
sec. 6.3).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.records import Answer, Estimate, native_frame
from trueness.inference.estimates import estimate_from_variance
from trueness.inference.variance import Stratum, combine_strata


@final
@dataclass(frozen=True, repr=False)
class ClassDecisions(Answer):
    """Decisions by expected cost, and their mean cost in these cases.

    Attributes
    ----------
    cost : Estimate
        Mean cost of a case.
    saving : Estimate
        The saving per case, compared with the same decision for all cases.
    best_single_class : object
        The class with the lowest cost if all cases were decided for it.
    decision : array (n,)
        The class that each case is assigned to, also where its label is unknown.
    classes : tuple
        The classes, in the order of the rows and columns of ``counts``.
    counts : array (c, c)
        Number of cases of each class (rows) that were assigned to each class (columns).
    """

    cost: Estimate
    saving: Estimate
    best_single_class: Any
    decision: Array
    classes: tuple[Any, ...]
    counts: Ints
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __repr__(self) -> str:
        """Write the mean cost, and what it saves."""
        lines = [
            repr(self.cost),
            f"compared with {self.best_single_class} for every case: {self.saving}",
            *(f"Note: {note}" for note in self.notes),
        ]
        return "\n".join(lines)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return how many cases of each class were decided for each class."""
        size = len(self.classes)
        columns = {
            "class": [name for name in self.classes for _ in range(size)],
            "decision": [*self.classes] * size,
            "cases": self.counts.ravel().tolist(),
        }
        return native_frame(columns, backend)


def decide_by_cost(
    class_codes: Ints,
    probabilities: Floats,
    costs: Floats,
    classes: tuple[Any, ...],
    level: float,
) -> ClassDecisions:
    """Decide each case, and estimate what the labelled ones cost.

    ``class_codes`` has the number of each case's class, -1 where it is unknown.
    """
    # (cases, classes) @ (classes, decisions)
    expected_costs = probabilities @ costs
    cheapest_class = np.argmin(expected_costs, axis=1)
    is_labelled = class_codes >= 0
    true_class = class_codes[is_labelled]
    cost_of_case = costs[true_class, cheapest_class[is_labelled]]

    # what each case would cost if all got the same decision
    cheapest_for_all = int(np.argmin(costs[true_class].mean(axis=0)))
    saving_of_case = costs[true_class, cheapest_for_all] - cost_of_case

    counts = np.zeros(costs.shape, dtype=np.int64)
    # a row for each true class, a column for each decision
    np.add.at(counts, (true_class, cheapest_class[is_labelled]), 1)
    largest_gap = float(costs.max() - costs.min())
    smallest = float(costs.min())
    largest = float(costs.max())
    return ClassDecisions(
        cost=_estimate_mean(cost_of_case, (smallest, largest), level, "mean cost"),
        saving=_estimate_mean(
            saving_of_case, (-largest_gap, largest_gap), level, "saving"
        ),
        best_single_class=classes[cheapest_for_all],
        decision=np.array(classes, dtype=object)[cheapest_class],
        classes=classes,
        counts=counts,
    )


def _estimate_mean(
    values: Floats, ends: tuple[float, float], level: float, name: str
) -> Estimate:
    """Return the mean over cases with its interval."""
    n = values.size
    # a case moves a mean by its deviation over n
    influence = (values - values.mean()) / n
    stratum = Stratum(
        size=float(n),
        squares=float(np.sum(influence**2)),
        fourth_powers=float(np.sum(influence**4)),
    )
    return estimate_from_variance(
        float(values.mean()), combine_strata([stratum], n), ends, level, name
    )
