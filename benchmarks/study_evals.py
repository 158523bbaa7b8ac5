"""How often do limits of pass rates hold, and how often are equal systems "different"?

    python benchmarks/study_evals.py --samples 1000

Items have Beta-distributed chances to pass, and are tried several times. Printed: the
coverage of 95 % intervals of the pass rate, pass@k and pass^k, how often two systems
with the same chances differ significantly, and how often all ranks of five hold.
"""

from __future__ import annotations

import argparse

import numpy as np

import trueness
from trueness import Attempts

DESIGNS = [
    (items, attempts, shape)
    for items in (30, 100, 500, 2000)
    for attempts, shape in ((1, (2, 2)), (3, (9, 1)), (5, (0.5, 0.5)), (10, (1, 4)))
]
GAINS = np.array([0.0, 0.0, 0.05, 0.1, 0.3])


def made(passed: np.ndarray, attempts: int) -> Attempts:
    """Count attempts at items that are numbered."""
    names = [str(k) for k in range(passed.size)]
    return Attempts(names, passed, np.full(passed.size, attempts))


def truths(shape: tuple[float, float], k: int) -> tuple[float, float, float]:
    """Give pass rate, pass@k and pass^k of Beta-distributed chances, by a fine grid."""
    from scipy.stats import beta

    p = beta(*shape).ppf((np.arange(200_000) + 0.5) / 200_000)
    return p.mean(), (1 - (1 - p) ** k).mean(), (p**k).mean()


def study(items: int, attempts: int, shape: tuple[float, float], samples: int) -> list:
    """Draw the events of one design."""
    rng = np.random.default_rng(items * 1000 + attempts)
    k = max(1, attempts // 2)
    true, held = truths(shape, k), np.zeros(3)
    differ = ranked = 0
    order = 1 + (GAINS[None] > GAINS[:, None]).sum(axis=1)
    for _ in range(samples):
        chance = rng.beta(*shape, items)
        a, b = (made(rng.binomial(attempts, chance), attempts) for _ in range(2))
        found = (
            trueness.pass_rate(a),
            trueness.pass_at_k(a, k),
            trueness.pass_hat_k(a, k),
        )
        held += [e.low <= t <= e.high for e, t in zip(found, true, strict=True)]
        pair = trueness.compare_runs({"a": a, "b": b}).pairs[0]
        differ += pair.p_value <= 0.05
        runs = {
            str(j): made(rng.binomial(attempts, np.clip(chance + g, 0, 1)), attempts)
            for j, g in enumerate(GAINS)
        }
        board = trueness.leaderboard(runs)
        mine = order[[int(n) for n in board.names]]
        ranked += bool(((board.best_rank <= mine) & (mine <= board.worst_rank)).all())
    return [*held / samples, differ / samples, ranked / samples]


def main() -> None:
    """Print a row for each design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1000)
    samples = parser.parse_args().samples
    print("| items | attempts | Beta | rate | pass@k | pass^k | differ | ranks |")
    print("|---|---|---|---|---|---|---|---|")
    for items, attempts, shape in DESIGNS:
        row = study(items, attempts, shape, samples)
        cells = " | ".join(f"{v:.3f}".lstrip("0") for v in row)
        print(f"| {items} | {attempts} | {shape} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
