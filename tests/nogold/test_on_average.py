"""The best combination on average: enumeration, HiGHS, random sets, tiny patterns."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from trueness.metrics.definitions import METRICS
from trueness.nogold.combinations import on_average as _on_average
from trueness.nogold.combinations.branch_and_bound import maximise
from trueness.nogold.combinations.minimum import minimum
from trueness.nogold.combinations.on_average import best_of_named
from trueness.nogold.combinations.quotient import quotient
from trueness.nogold.combinations.words import votes

VALUE = {
    "product": lambda s, p: s * p,
    "squares": lambda s, p: s**2 + p**2,
    "sum": lambda s, p: s + p,
    "min": np.minimum,
}


def patterns(alpha, beta):
    """Give the probabilities of all patterns; alpha and beta are (draws, K)."""
    v = votes(alpha.shape[1])[None]
    return tuple(
        np.prod(np.where(v, r[:, None], 1 - r[:, None]), axis=2) for r in (alpha, beta)
    )


def posterior(rng, k, cases, draws, *, low=0.5, high=0.95, common=0.0):
    """Draw rates as from ``cases`` labelled cases; ``common`` moves them together."""
    truth = rng.uniform(low, high, k), rng.uniform(1 - high, 1 - low, k)
    rates = []
    for rate in truth:
        hits = rng.binomial(cases, rate)
        rates.append(rng.beta(1 + hits, 1 + cases - hits, (draws, k)))
    shift = common * rng.standard_normal((draws, 1))
    rates = [1 / (1 + (1 / np.clip(r, 1e-12, 1) - 1) * np.exp(-shift)) for r in rates]
    return np.maximum(*rates), np.minimum(*rates)


def value_of(name, a, b, chosen):
    return float(VALUE[name](a @ chosen, 1 - b @ chosen).mean())


def enumerated(name, a, b):
    members = (np.arange(2 ** a.shape[1])[:, None] >> np.arange(a.shape[1]) & 1) * 1.0
    best = -np.inf
    for part in np.array_split(members, max(1, len(members) // 4096)):
        # einsum: threads of BLAS would wait for each other on a busy machine
        sens, fpr = (np.einsum("cj,dj->dc", part, m) for m in (a, b))
        best = max(best, VALUE[name](sens, 1 - fpr).mean(axis=0).max())
    return best


@pytest.mark.parametrize("name", VALUE)
@pytest.mark.parametrize("coarse", [True, False])
def test_against_enumeration(rng, name, coarse, monkeypatch):
    if coarse:
        monkeypatch.setattr(_on_average, "COARSE", 1)
    for trial in range(60):
        k = 2 + trial % 2 if trial % 12 else 4
        cases = (3, 20, 200, 10**6)[trial % 4]
        wide = {"high": (0.7, 0.95)[trial % 2], "common": (0.0, 0.5, 2.0)[trial % 3]}
        alpha, beta = posterior(rng, k, cases, 30, **wide)
        if trial % 5 == 0:  # tests that never err in one class
            alpha[:, 0], beta[:, -1] = 1.0, 0.0
        a, b = patterns(alpha, beta)
        found = best_of_named(name, a, b)
        assert found.gap == 0
        best = enumerated(name, a, b)
        assert value_of(name, a, b, found.chosen) == pytest.approx(best, abs=1e-13)


def minimum_by_highs(a, b):
    """Max mean(t), t_d <= S_d, t_d <= 1 - F_d, patterns 0 or 1."""
    d, n = a.shape
    rows = np.vstack([np.hstack([-a, np.eye(d)]), np.hstack([b, np.eye(d)])])
    found = milp(
        np.concatenate([np.zeros(n), np.full(d, -1 / d)]),
        constraints=LinearConstraint(rows, ub=np.repeat([0.0, 1.0], d)),
        integrality=np.repeat([1, 0], [n, d]),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0, "time_limit": 20},
    )
    return -found.fun, found.x[:n] > 0.5


def product_by_highs(a, b):
    """Max of a'z - sum(M_ij w_ij), w_ij >= z_i + z_j - 1, w_ij >= 0."""
    d, n = a.shape
    m = a.T @ b / d
    i, j = np.triu_indices(n, 1)
    rows = np.zeros((i.size, n + i.size))
    at = np.arange(i.size)
    rows[at, i], rows[at, j], rows[at, n + at] = 1, 1, -1
    found = milp(
        np.concatenate([np.diag(m) - a.mean(axis=0), (m + m.T)[i, j]]),
        constraints=LinearConstraint(rows, ub=1),
        integrality=np.repeat([1, 0], [n, i.size]),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0, "time_limit": 20},
    )
    return -found.fun, found.x[:n] > 0.5


def squares_by_highs(a, b):
    """Max of 1 - 2 b'z + sum(Q_ij w_ij), w_ij <= z_i, z_j: its vertices are integer."""
    d, n = a.shape
    q = (a.T @ a + b.T @ b) / d
    i, j = np.triu_indices(n, 1)
    at = np.arange(i.size)
    rows = np.zeros((2 * i.size, n + i.size))
    rows[at, i], rows[at, n + at] = -1, 1
    rows[at + i.size, j], rows[at + i.size, n + at] = -1, 1
    price = np.concatenate([2 * b.mean(axis=0) - np.diag(q), -2 * q[i, j]])
    found = linprog(price, A_ub=rows, b_ub=np.zeros(len(rows)), bounds=(0, 1))
    return 1 - found.fun, found.x[:n] > 0.5


def assert_best(name, a, b, theirs):
    """HiGHS stops within its own tolerance, so its set may be worse, never better."""
    found = best_of_named(name, a, b)
    best = value_of(name, a, b, found.chosen)
    assert found.gap == 0
    assert best == pytest.approx(theirs[0], abs=1e-6)
    assert best >= value_of(name, a, b, theirs[1]) - 1e-13


@pytest.mark.parametrize("k", [5, 6, 7])
@pytest.mark.parametrize("cases", [10, 100, 10**5])
def test_minimum_against_highs(rng, k, cases):
    a, b = patterns(*posterior(rng, k, cases, 20, common=0.2))
    assert_best("min", a, b, minimum_by_highs(a, b))


@pytest.mark.parametrize(
    ("k", "name"), [(5, "product"), (6, "product"), (5, "squares"), (6, "squares")]
)
@pytest.mark.parametrize("cases", [10, 100, 10**5])
def test_forms_against_highs(rng, k, name, cases):
    a, b = patterns(*posterior(rng, k, cases, 50, common=0.2))
    solve = {"product": product_by_highs, "squares": squares_by_highs}[name]
    assert_best(name, a, b, solve(a, b))


@pytest.mark.parametrize("name", ["product", "squares", "min"])
def test_no_random_set_is_better(rng, name):
    """Eight classifiers: flips of any one, two or many patterns bring nothing."""
    a, b = patterns(*posterior(rng, 8, 30, 200))
    found = best_of_named(name, a, b)
    assert found.gap == 0
    best = value_of(name, a, b, found.chosen)
    for share in (1 / 256, 2 / 256, 0.02, 0.1):
        others = found.chosen ^ (rng.random((500, 256)) < share)
        value = VALUE[name](a @ others.T, 1 - b @ others.T).mean(axis=0)
        assert value.max() <= best + 1e-13


def test_a_search_that_is_cut_off_states_a_gap(rng):
    some = 0
    for _ in range(20):
        a, b = patterns(*posterior(rng, 4, 5, 30, high=0.7, common=0.5))
        start = np.zeros(16, dtype=bool)
        found = maximise(minimum(a, b), start, 1)
        best = enumerated("min", a, b)
        value = value_of("min", a, b, found.chosen)
        assert value <= best + 1e-13
        assert value + found.gap >= best - 1e-13
        some += found.gap > 0
    assert some > 0


@pytest.mark.parametrize("name", ["product", "squares"])
def test_a_large_problem_states_a_gap(rng, name, monkeypatch):
    monkeypatch.setattr(_on_average, "COARSE", 1)
    monkeypatch.setattr(_on_average, "MATRIX", 2)
    some = 0
    for _ in range(20):
        a, b = patterns(*posterior(rng, 4, 5, 30, high=0.65, common=1.0))
        found = best_of_named(name, a, b)
        best = enumerated(name, a, b)
        value = value_of(name, a, b, found.chosen)
        assert best - 1e-13 <= value + found.gap
        some += found.gap > 0
    assert some > 0


def f1(a, b, phi, members):
    """2 tp / (2 tp + fp + fn), mean over draws, of each set."""
    tp = phi[:, None] * np.einsum("cj,dj->dc", members, a)
    fp = (1 - phi)[:, None] * np.einsum("cj,dj->dc", members, b)
    return (2 * tp / (tp + fp + phi[:, None])).mean(axis=0)


def test_quotients_against_enumeration(rng):
    closed = 0
    for trial in range(40):
        k = 2 + trial % 2 if trial % 10 else 4
        cases, common = (3, 20, 200, 10**6)[trial % 4], (0.0, 0.5, 2.0)[trial % 3]
        alpha, beta = posterior(rng, k, cases, 30, common=common)
        if trial % 5 == 0:
            alpha[:, 0] = 1.0
        a, b = patterns(alpha, beta)
        phi = rng.beta(3, 7, 30)
        start = np.arange(2**k) == 0
        form = quotient(METRICS["f1"].ratio, 1.0, a, b, phi, start)
        found = maximise(form, start)
        members = (np.arange(2**2**k)[:, None] >> np.arange(2**k) & 1) * 1.0
        best = f1(a, b, phi, members).max()
        value = f1(a, b, phi, found.chosen[None] * 1.0)[0]
        assert form.value(found.chosen) == pytest.approx(value, abs=1e-13)
        assert value - 1e-13 <= best <= value + found.gap + 1e-13
        closed += found.gap == 0
    assert closed > 30


def test_a_quotient_that_may_be_undefined_is_left_alone(rng):
    a, b = patterns(*posterior(rng, 3, 20, 10))
    none = np.zeros(8, dtype=bool)
    phi = np.full(10, 0.3)
    assert quotient(METRICS["precision"].ratio, 1.0, a, b, phi, none) is None
    assert quotient(METRICS["npv"].ratio, 1.0, a, b, phi, none) is None


@pytest.mark.parametrize("name", VALUE)
def test_tiny_cells_are_decided_by_their_gain(rng, name):
    """Patterns of probability 1e-17 follow the sign of what they add."""
    alpha, beta = posterior(rng, 5, 100, 50)
    alpha[:, 4], beta[:, 4] = 1e-17, 5e-18
    a, b = patterns(alpha, beta)
    chosen = best_of_named(name, a, b).chosen
    s, p = a @ chosen, 1 - b @ chosen
    slope = {
        "product": (p, s),
        "squares": (2 * s, 2 * p),
        "sum": (np.ones(50), np.ones(50)),
        "min": (1.0 * (s < p), 1.0 * (s >= p)),
    }[name]
    tiny = votes(5)[:, 4] == 1
    gain = slope[0] @ a - slope[1] @ b
    assert (a[:, tiny] < 1e-16).all()
    assert (chosen[tiny] == (gain[tiny] > 0)).all()
    assert chosen[tiny].any()


@pytest.mark.parametrize("name", VALUE)
def test_cells_that_add_nothing_are_left_out(name):
    alpha, beta = np.full((10, 2), 0.8), np.full((10, 2), 0.3)
    alpha[:, 1], beta[:, 1] = 0.0, 0.0  # the second never says yes
    chosen = best_of_named(name, *patterns(alpha, beta)).chosen
    assert votes(2)[chosen].tolist() == [[1, 0]]
