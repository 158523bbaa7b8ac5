"""Two Betas in order: by rejection, and where that would not end."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

from trueness.nogold.model import order_mass
from trueness.nogold.sampling import ordered_betas as _ordered


def rejected(rng, parameters, n):
    a, b, c, d = parameters
    x, y = rng.beta(a, b, 100 * n), rng.beta(c, d, 100 * n)
    keep = x >= y
    return x[keep][:n], y[keep][:n]


@pytest.mark.parametrize(
    "parameters", [(1, 1, 1, 1), (3, 9, 8, 4), (2, 40, 3, 8), (0.5, 3, 6, 2)]
)
def test_the_grid_draws_what_rejection_draws(rng, parameters):
    x, y = rejected(rng, parameters, 4000)
    u, v = _ordered._by_grid(*(np.full(4000, float(p)) for p in parameters), rng=rng)
    assert (u >= v).all()
    for ours, plain in ((u, x), (v, y), (u - v, x - y)):
        assert ks_2samp(ours, plain).pvalue > 0.001


def test_means_where_rejection_would_not_end(rng):
    """E[X | X >= Y] is a ratio of order masses: a / (a + b) P(a + 1) / P(a)."""
    a, b, c, d = 2.0, 60.0, 50.0, 5.0
    share = order_mass(a, b, c, d)
    assert share < 1e-20
    x, y = _ordered.ordered_betas(*(np.full(20_000, v) for v in (a, b, c, d)), rng=rng)
    mean = a / (a + b) * order_mass(a + 1, b, c, d) / share
    assert x.mean() == pytest.approx(mean, abs=5 * x.std() / np.sqrt(20_000))
    mean = c / (c + d) * order_mass(a, b, c + 1, d) / share
    assert y.mean() == pytest.approx(mean, abs=5 * y.std() / np.sqrt(20_000))
