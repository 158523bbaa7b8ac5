"""Which AUCs do samples like this one have? A bootstrap on the device.

A case is drawn a Poisson number of times with mean 1, which for many cases is the
bootstrap without its fixed total. The places of the positives among the negatives are
searched once; a replicate is a running sum of the weights of the negatives, looked up
at those places.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness.gpu.counting import DeviceTally
from trueness.gpu.kernels import kernels_for

_BLOCK = 1024
# 2^32 times the distribution function of a Poisson number with mean 1
_SHARES = np.cumsum([math.exp(-1) / math.factorial(k) for k in range(12)])
_STEPS = np.round(_SHARES * 2**32).astype(np.int64)


def replicated_aucs(x: DeviceTally, replicates: int, rng: Any) -> Floats:
    """Give the AUC of each replicate."""
    lib, xp = x.lib, x.lib.xp
    left, right = (lib.places(x.neg, x.pos, side) for side in ("left", "right"))
    seeds = _options.generator(rng).integers(2**31, size=(replicates, 2)).tolist()
    draw = _by_kernel if kernels_for(x.pos) else _plain
    found = lib.host(xp.stack(draw(x, left, right, seeds))).astype(np.float64)
    wins, n_pos, n_neg = found[(found > 0).all(axis=1)].T
    return np.asarray(wins / (2 * n_neg * n_pos))


def _plain(x: DeviceTally, left: Any, right: Any, seeds: Any) -> list[Any]:
    """Give twice the pairs won, the positives and the negatives of each replicate."""
    xp, found = x.lib.xp, []
    for first, second in seeds:
        neg, pos = _poisson(x, x.n_neg, first), _poisson(x, x.n_pos, second)
        upto = xp.cumulative_sum(neg, include_initial=True)
        # a pair won counts twice, a tie once: negatives below, plus those at or below
        wins = xp.sum((upto[left] + upto[right]) * pos)
        found.append(xp.stack([wins, xp.sum(pos), upto[-1]]))
    return found


def _poisson(x: DeviceTally, n: int, seed: int) -> Any:
    if x.lib.name == "cupy":
        return x.lib.xp.random.RandomState(seed).poisson(1.0, n)
    torch = x.lib.xp
    generator = torch.Generator(x.pos.device).manual_seed(seed)
    ones = torch.ones(n, dtype=torch.float32, device=x.pos.device)
    return torch.poisson(ones, generator=generator).to(torch.int64)


def _by_kernel(x: DeviceTally, left: Any, right: Any, seeds: Any) -> list[Any]:
    torch, kernels, found = x.lib.xp, kernels_for(x.pos), []
    steps = torch.asarray(_STEPS, device=x.pos.device)
    sizes = {"STEPS": _STEPS.size, "BLOCK": _BLOCK}
    drawn = x.pos.new_empty(x.n_neg, dtype=torch.int32)
    # a replicate draws about as many as there are, far from the end of 32 bits
    whole = torch.int32 if x.n_neg < 2**30 else torch.int64
    upto = drawn.to(whole)
    grids = [(-(-n // _BLOCK),) for n in (x.n_neg, x.n_pos)]
    with torch.cuda.device(drawn.device):
        for first, second in seeds:
            kernels.weights[grids[0]](drawn, steps, x.n_neg, first, **sizes)
            torch.cumsum(drawn, 0, dtype=whole, out=upto)
            out = x.pos.new_zeros(3, dtype=torch.int64)
            out[2] = upto[-1]
            kernels.wins[grids[1]](
                *(upto, left, right, steps, out, x.n_pos, second), **sizes
            )
            found.append(out)
    return found
