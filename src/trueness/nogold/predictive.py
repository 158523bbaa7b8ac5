r"""How well does a model predict a case that it has not seen?

The expected log predictive density, each case left out in turn,

.. math:: \mathrm{elpd} = \sum_i \log p(x_i \mid x_{-i}), \qquad
   \frac{1}{p(x_i \mid x_{-i})} = E\left[\frac{1}{p(x_i \mid \theta)}\right]

over the posterior (Gelfand, Dey 1994, J. R. Stat. Soc. B 56:501), with the largest
weights cut off (Ionides 2008, doi:10.1198/106186008X320456). All cases of a pattern
have the same weight, so the cost does not grow with the number of cases. A case with a
label is predicted together with its label. ``arviz_door`` has the version of ArviZ,
which smooths the weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness.nogold.model import pattern_word


def pointwise(
    model: Any, flat: Mapping[str, Floats], populations: tuple[str, ...]
) -> tuple[Floats, Floats, Array]:
    """Give the log probability of a case of each pattern, and how many there are."""
    patterns = model.patterns
    a, b = model.class_probabilities(flat, patterns.rows)
    parts, count, label = [], [], []
    for s, site in enumerate(populations):
        phi = flat["prevalence"][:, [s]]
        kinds = (
            ("?", patterns.unknown[s], phi * a + (1 - phi) * b),
            ("+", patterns.pos[s], phi * a),
            ("-", patterns.neg[s], (1 - phi) * b),
        )
        for mark, cases, p in kinds:
            seen = cases > 0
            parts.append(np.log(np.maximum(p[:, seen], 1e-300)))
            count.append(cases[seen])
            label += [f"{site}{pattern_word(row)}{mark}" for row in patterns.rows[seen]]
    return np.hstack(parts), np.concatenate(count), np.array(label)


def left_out(log_p: Floats) -> Floats:
    """Give the log density of each pattern, one of its cases left out.

    >>> float(left_out(np.log(np.full((10, 1), 0.25)))[0].round(6))
    -1.386294
    """
    # 1 / p is the weight of a draw as if the case had not been seen; in units of the
    # largest, so that none overflows
    top = -log_p.min(axis=0)
    weight = np.exp(-log_p - top)
    weight = np.minimum(weight, weight.mean(axis=0) * np.sqrt(len(log_p)))
    return np.asarray(
        np.log((weight * np.exp(log_p)).sum(axis=0)) - np.log(weight.sum(axis=0))
    )


def spread(each: Floats, count: Floats) -> float:
    """Give the standard error of a sum over cases."""
    n = count.sum()
    mean = each @ count / n
    return float(np.sqrt(n * (((each - mean) ** 2) @ count) / max(n - 1, 1)))
