"""What do ArviZ and its users say of these draws? The door for ArviZ.

``datatree`` hands a posterior over as an ``xarray.DataTree``, the common form of ArviZ
1.x (0.2x reads it by ``InferenceData.from_datatree``). ``loo`` compares models by what
each case would have been worth as a new one (Vehtari, Gelman, Gabry 2017, Stat.
Comput. 27:1413, doi:10.1007/s11222-016-9696-4): all cases of a pattern have the same
weight, so the cost does not grow with the number of cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.special import logsumexp

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks.errors import InputError
from trueness._core.doors import installed
from trueness._core.records import Record
from trueness.nogold.posterior import LatentPosterior
from trueness.nogold.predictive import pointwise, spread


def datatree(post: LatentPosterior) -> Any:
    """Give draws, log likelihood of each pattern, and counts, as a DataTree."""
    xarray = installed("xarray", "bayes")
    names, sites = list(post.names), list(post.populations)
    # what a model of shared errors adds has a dimension of its own
    last = dict.fromkeys(("sensitivity", "specificity"), "classifier")
    last |= {"prevalence": "population", "spread": "class"}
    coords = {"classifier": names, "population": sites, "class": ["pos", "neg"]}
    variables = {
        k: (("chain", "draw", last.get(k, f"{k}_of")), v)
        for k, v in post.chains.items()
    }
    used = {dims[2] for dims, _ in variables.values()}
    posterior = xarray.Dataset(
        variables, coords={k: v for k, v in coords.items() if k in used}
    )
    chains, steps = next(iter(post.chains.values())).shape[:2]
    dims = ("chain", "draw", "pattern")
    per_case, count, label = pointwise(post.model, post.flat, post.populations)
    pattern = xarray.Dataset(
        {"votes": (dims, per_case.reshape(chains, steps, -1))},
        coords={"pattern": label},
    )
    data = xarray.Dataset({"cases": ("pattern", count)}, coords={"pattern": label})
    return xarray.DataTree.from_dict(
        {"posterior": posterior, "log_likelihood": pattern, "observed_data": data}
    )


@final
@dataclass(frozen=True, repr=False)
class ModelComparison(Record):
    """Which model predicts new cases best?

    Attributes
    ----------
    model : array of str
        The models, best first.
    elpd : array
        Expected log predictive density of all cases, left out one at a time.
    se : array
        Its standard error.
    difference, difference_se : array
        Difference in elpd from the best model, with its standard error.
    parameters : array
        Effective number of parameters.
    pareto_k : array
        The largest Pareto k of each model; above 0.7 its elpd is not reliable.
    waic : array
        The same density by WAIC, as a check.
    """

    model: Array
    elpd: Floats
    se: Floats
    difference: Floats
    difference_se: Floats
    parameters: Floats
    pareto_k: Floats
    waic: Floats


def compare_models(models: Mapping[str, LatentPosterior]) -> ModelComparison:
    """Which of these models predicts new cases best? LOO and WAIC.

    Parameters
    ----------
    models
        A mapping from name to posterior, all fitted to the same panel.
    """
    if (
        not isinstance(models, Mapping)
        or not models
        or not all(isinstance(post, LatentPosterior) for post in models.values())
    ):
        raise InputError(
            "compare_models needs a mapping from name to posterior. Type "
            'trueness.compare_models({"independent": trueness.latent_class(panel)}).'
        )
    found = {name: _loo(post) for name, post in models.items()}
    order = sorted(found, key=lambda n: -found[n][0] @ found[n][1])
    best, count = found[order[0]][0], found[order[0]][1]
    rows = []
    for name in order:
        each, cases, k, lppd, waic = found[name]
        _cases.same_cases(cases, count)
        rows.append(
            (
                each @ count,
                spread(each, count),
                (each - best) @ count,
                spread(each - best, count),
                (lppd - each) @ count,
                k,
                waic @ count,
            )
        )
    return ModelComparison(np.array(order), *np.array(rows).T)


def _loo(post: LatentPosterior) -> tuple[Floats, Floats, float, Floats, Floats]:
    """Give elpd of a case of each pattern, counts, worst k, lppd and WAIC."""
    log_p, count, _ = pointwise(post.model, post.flat, post.populations)
    weight, k = _smoothed(-log_p.T)
    top = (log_p.T + weight).max(axis=1)
    elpd = top + np.log(np.exp(log_p.T + weight - top[:, None]).sum(axis=1))
    lppd = np.log(np.exp(log_p).mean(axis=0))
    return elpd, count, float(np.max(k)), lppd, lppd - log_p.var(axis=0, ddof=1)


def _smoothed(log_weight: Floats) -> tuple[Floats, Floats]:
    """Smooth importance weights by ArviZ (PSIS); normalised logarithms."""
    arviz = installed("arviz", "bayes")
    if int(arviz.__version__.split(".")[0]) < 1:
        weight, k = arviz.psislw(log_weight)
    else:  # from ArviZ 1.0 on it takes log likelihoods, whose inverse is the weight
        from arviz_stats.base import array_stats

        weight, k = array_stats.psislw(-log_weight, axis=-1)
    total = logsumexp(weight, axis=-1, keepdims=True)
    return np.asarray(weight - total), np.asarray(k)
