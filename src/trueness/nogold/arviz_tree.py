"""How are these draws handed to ArviZ?

``datatree`` gives a posterior as an ``xarray.DataTree``, the common form of ArviZ 1.x
(0.2x reads it by ``InferenceData.from_datatree``). All cases of a pattern have the same
likelihood, so that there is one column a pattern, and its number of cases beside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.imports import required
from trueness.nogold.model import LatentModel, pattern_word

CHAINS = 4  # draws are independent: chains are parts of them


def datatree(model: LatentModel, draws: Mapping[str, Floats]) -> Any:
    """Give draws, log likelihood of each pattern, and counts, as a DataTree."""
    xarray = required("xarray", "bayes")
    # what a model of shared errors adds has a dimension of its own
    last = dict.fromkeys(("sensitivity", "specificity"), "classifier")
    last |= {"prevalence": "population", "spread": "class"}
    coords = {
        "classifier": list(model.patterns.names),
        "population": list(model.patterns.populations),
        "class": ["pos", "neg"],
    }
    variables = {
        k: (("chain", "draw", last.get(k, f"{k}_of")), _by_chain(v))
        for k, v in draws.items()
    }
    used = {dims[2] for dims, _ in variables.values()}
    posterior = xarray.Dataset(
        variables, coords={k: v for k, v in coords.items() if k in used}
    )
    log_p, count, label = _pointwise(model, draws)
    pattern = xarray.Dataset(
        {"votes": (("chain", "draw", "pattern"), _by_chain(log_p))},
        coords={"pattern": label},
    )
    data = xarray.Dataset({"cases": ("pattern", count)}, coords={"pattern": label})
    return xarray.DataTree.from_dict(
        {"posterior": posterior, "log_likelihood": pattern, "observed_data": data}
    )


def _by_chain(flat: Floats) -> Floats:
    each = len(flat) // CHAINS
    return flat[: CHAINS * each].reshape(CHAINS, each, -1)


def _pointwise(
    model: LatentModel, flat: Mapping[str, Floats]
) -> tuple[Floats, Floats, Array]:
    """Give the log probability of a case of each pattern, and how many there are."""
    patterns = model.patterns
    a, b = model.class_probabilities(flat, patterns.rows)
    parts, count, label = [], [], []
    for s, site in enumerate(patterns.populations):
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
