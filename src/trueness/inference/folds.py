r"""How sure are we of a mean over the folds of a cross-validation?

.. math:: \hat\theta = \frac1K \sum_k \hat\theta_k, \qquad
          V = \frac{1}{K^2} \sum_k V_k

with :math:`V_k` the variance of the measure in fold k, by the influence values of its
cases. It is about the models that were trained on these folds: the cases of a fold are
new to its model, and those of different folds are independent. Between the models
nothing is assumed.

References
----------
LeDell, Petersen, van der Laan (2015), Electron. J. Stat. 9:1583, doi:10.1214/15-EJS1035
(the AUC); Bayle, Bayle, Janson, Mackey (2020), NeurIPS 33:16339 (means)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from trueness._core.checks import options as _options
from trueness._core.records import Estimate
from trueness.counts.folds import Folds
from trueness.inference.estimates import inferred, limited
from trueness.inference.measure import Measure
from trueness.inference.sample import meant
from trueness.inference.spread import Spread


def infer_folds(
    data: Folds,
    measure: Measure,
    *,
    level: float = 0.95,
    name: str = "",
    what: str = "",
) -> Estimate | dict[str, Estimate]:
    """How large is a measure on average over the folds, and how sure are we?"""
    level = _options.fraction(level, "level")
    if data.names:
        words = {"level": level, "name": name, "what": what}
        each = {k: infer_folds(data[k], measure, **words) for k in data.names}  # type: ignore[arg-type]
        return each  # type: ignore[return-value]
    found = [inferred(meant(t, what), measure) for t in data]
    value = math.fsum(f.measured.value for f in found) / len(found)
    s = averaged([f.spread for f in found])
    return limited(value, s, found[0].measured.ends, level, name)


def averaged(parts: Sequence[Spread]) -> Spread:
    """Give the spread of a mean over independent parts (Satterthwaite 1946)."""
    k = len(parts)
    variance = math.fsum(s.variance for s in parts) / k**2
    doubt = math.fsum(s.variance**2 / s.df for s in parts if s.variance > 0) / k**4
    units, plain = sum(s.units for s in parts), sum(s.plain for s in parts) / k**2
    df = variance**2 / doubt if doubt > 0 else math.inf
    silent = () if variance > 0 else (units,)
    return Spread(variance, df, units, plain, silent)
