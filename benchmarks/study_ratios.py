"""How often do intervals of ratios hold the true ratio?

``python benchmarks/study_ratios.py 4000`` prints the figures of the maths pages: ratios
of a metric on the same cases (Student's interval on the logarithmic scale) and of
selection rates of two groups (Donner and Zou 2012).
"""

from __future__ import annotations

import sys

import numpy as np

import trueness

ROWS = [[1, 1], [1, 0], [0, 1], [0, 0]]


def paired_cells(first: float, second: float, correlation: float) -> np.ndarray:
    """Probabilities of 11, 10, 01, 00 with two rates and their correlation."""
    both = first * second + correlation * np.sqrt(
        first * (1 - first) * second * (1 - second)
    )
    return np.array([both, first - both, second - both, 1 - first - second + both])


def paired_coverage(
    metric: str, n: int, rates: tuple[float, float], rng: np.random.Generator, runs: int
) -> float:
    """Of two tests on the same cases: sensitivity and PPV, with prevalence 0.3."""
    positives = paired_cells(*rates, 0.5)
    negatives = paired_cells(0.2, 0.15, 0.4)
    truth = rates[0] / rates[1]
    if metric == "precision":
        first = 0.3 * rates[0] / (0.3 * rates[0] + 0.7 * 0.2)
        second = 0.3 * rates[1] / (0.3 * rates[1] + 0.7 * 0.15)
        truth = first / second
    held = defined = 0
    for _ in range(runs):
        n_pos = rng.binomial(n, 0.3)
        pos = rng.multinomial(n_pos, positives)
        neg = rng.multinomial(n - n_pos, negatives)
        panel = trueness.Panel(["a", "b"], ROWS, pos=pos, neg=neg)
        ratio = trueness.compare_metric(panel, metric, effect="ratio").pairs[0].ratio
        if np.isnan(ratio.value):
            continue
        defined += 1
        held += ratio.low <= truth <= ratio.high
    return held / defined


def group_coverage(
    sizes: tuple[int, int],
    rates: tuple[float, float],
    rng: np.random.Generator,
    runs: int,
) -> float:
    """Of the selection rates of two groups."""
    held = defined = 0
    for _ in range(runs):
        flagged = rng.binomial(sizes, rates)
        groups = {
            name: trueness.Tally([1, 0], neg=[int(x), int(size - x)])
            for name, x, size in zip("ab", flagged, sizes, strict=True)
        }
        ratio = (
            trueness.compare_groups(groups, "flagged_rate", effect="ratio")
            .pairs[0]
            .ratio
        )
        if np.isnan(ratio.value):
            continue
        defined += 1
        held += ratio.low <= rates[0] / rates[1] <= ratio.high
    return held / defined


def main() -> None:
    """Print the coverage of each design."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    rng = np.random.default_rng(0)
    for metric in ("recall", "precision"):
        for n in (100, 300, 1000):
            for rates in ((0.8, 0.7), (0.9, 0.9), (0.5, 0.3)):
                held = paired_coverage(metric, n, rates, rng, runs)
                print(f"{metric} n={n} rates={rates}: {held:.3f}", flush=True)
    for sizes in ((30, 30), (50, 200), (300, 1000)):
        for rates in ((0.3, 0.3), (0.2, 0.4), (0.05, 0.1), (0.9, 0.95)):
            held = group_coverage(sizes, rates, rng, runs)
            print(f"groups {sizes} rates={rates}: {held:.3f}", flush=True)


if __name__ == "__main__":
    main()
