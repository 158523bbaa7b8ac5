"""Is a formula known to rise or to fall?"""

import numpy as np
import pytest

import trueness
from trueness.calibration.calibrators import CALIBRATORS
from trueness.calibration.formulas import (
    Chain,
    Linear,
    Logistic,
    PriorShift,
    StepFunction,
    direction,
    evaluate,
)

UP = Logistic(0.0, ((2.0, "identity"),))
DOWN = Logistic(0.0, ((-2.0, "logit"), (1.0, "log1m")))


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (UP, 1),
        (DOWN, -1),
        (Logistic(0.0, ((1.0, "identity"), (0.5, "square"))), None),
        (Logistic(0.0, ((1.0, "identity"), (-1.0, "log"))), None),
        (Logistic(0.5, ()), 1),
        (StepFunction(np.array([0.5]), np.array([0.2, 0.2])), 1),
        (StepFunction(np.array([0.5, 0.7]), np.array([0.2, 0.1, 0.3])), None),
        (Linear(np.array([0.0, 1.0]), np.array([1.0, 0.0])), -1),
        (PriorShift(1.0, 3.0), 1),
        (Chain((DOWN, DOWN)), 1),
    ],
)
def test_direction(formula, expected):
    assert direction(formula) == expected


@pytest.mark.parametrize("method", CALIBRATORS)
def test_what_is_said_of_calibrators_is_true(method):
    rng = np.random.default_rng(1)
    p = rng.random(300)
    t = trueness.tally(rng.random(300) < p, p)
    fitted = trueness.calibrate(t, method=method)
    grid = np.linspace(0.001, 0.999, 5000)
    way = direction(fitted.expression)
    steps = np.diff(evaluate(fitted.expression, grid))
    if way is None:  # nothing is promised, and that only where it need not rise
        assert method in ("binormal", "histogram")
    else:
        assert (steps * way).min() >= -1e-15
