"""Every table of Zhang (2024), recomputed from its equations, beside what is printed.

The page ``docs/papers/zhang2024.md`` shows them. The printed values are
in ``tests/reference/zhang2024_tables.json``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import trueness
from trueness.trees.levels import TOP_METHODS

REFERENCE = Path(__file__).parents[2] / "tests" / "reference" / "zhang2024_tables.json"
PRINTED = json.loads(REFERENCE.read_text())
TOPS = [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0]
PAIRS = [(0.6, 0.6), (0.6, 0.7), (0.6, 0.8), (0.6, 0.9)]
PAIRS += [(0.7, 0.7), (0.8, 0.8), (0.9, 0.9)]
SHARES = {"3": 0.5, "4": 0.75, "5": 0.9, "6": 0.5, "7": 0.75, "8": 0.9}
SIMULATED = [(m, p) for m in ("mle", "emle", "blend") for p in (0.6, 0.7, 0.8, 0.9)]
# Table 10, counted in the order of Tables 11 to 14
GOLF = {
    "Outlook": trueness.Leaves(
        ["1 rainy", "2 overcast", "3 sunny"], [3, 0, 2], [2, 4, 3]
    ),
    "Temp": trueness.Leaves(["1 hot", "2 mild", "3 cool"], [2, 2, 1], [2, 4, 3]),
    "Humidity": trueness.Leaves(["1 high", "2 normal"], [4, 1], [3, 6]),
    "Windy": trueness.Leaves(["1 false", "2 true"], [2, 3], [6, 3]),
}
DRAWS = 10_000  # of the paper's simulations


def cell(ours: float, printed: float, digits: int, allowed: float = 0.0) -> str:
    """Write ours, then the printed value; bold when they disagree."""
    off = abs(ours - printed) > allowed + 0.5001 * 10.0**-digits
    # a half is rounded up, as in the paper
    text = f"{ours + 1e-12:.{digits}f}".replace("-0.0000", "0.0000")
    return (
        f"**{text}** ({printed:.{digits}f})"
        if off
        else f"{text} ({printed:.{digits}f})"
    )


def table(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def single(key: str, level: Callable, name: str) -> Iterator[str]:
    yield f"**Table {key}.** {name}.\n"
    rows = [
        [f"n = {n}"]
        + [cell(level(int(n), p), v, 2) for p, v in zip(TOPS, printed, strict=True)]
        for n, printed in PRINTED[key].items()
    ]
    yield from table(["p", *(f"{p:.2f}" for p in TOPS)], rows)


def two_leaves(key: str) -> Iterator[str]:
    share = SHARES[key]
    field = "confidence" if key in "345" else "utility"
    yield f"**Table {key}.** Level of {field}, two leaves, $\\lambda = {share}$.\n"
    rows = []
    for n, printed in PRINTED[key].items():
        row = [f"n = {n}" if n != "inf" else "$n = \\infty$"]
        for (a, b), v in zip(PAIRS, printed, strict=True):
            if n == "inf":
                ours = share * a + (1 - share) * b
            else:
                levels = trueness.trees.tree_levels(
                    int(n), [share, 1 - share], [a, b], "wrong"
                )
                ours = getattr(levels, field)
            row.append(cell(ours, v, 4))
        rows.append(row)
    yield from table(["p", *(f"{a}, {b}" for a, b in PAIRS)], rows)


def golf(key: str, name: str) -> Iterator[str]:
    yield f"**Table {key}.** {name}, leaves.\n"
    leaves = GOLF[name]
    n = leaves.neg + leaves.pos
    levels = trueness.trees.tree_levels(14, n / 14, leaves.pos / n, "wrong")
    rows = [
        [f"$P({letter}_j)$"]
        + [
            cell(ours, v, 4)
            for ours, v in zip(
                getattr(levels, f"node_{field}"), PRINTED[key][field], strict=True
            )
        ]
        for letter, field in (("C", "confidence"), ("U", "utility"))
    ]
    yield from table(["", *(str(node).split()[1] for node in leaves.node)], rows)


def golf_whole() -> Iterator[str]:
    yield "**Table 15.** The four covariates.\n"
    found = trueness.compare_splits(GOLF, method="mle", empty="wrong")
    rows = []
    for field, name in (
        ("confidence", "$P(C)$"),
        ("utility", "$P(U)$"),
        ("gini", "Gini"),
    ):
        ours = dict(zip(found.name.tolist(), getattr(found, field), strict=True))
        printed = zip(GOLF, PRINTED["15"][field], strict=True)
        rows.append([name, *(cell(ours[k], v, 4) for k, v in printed)])
    yield from table(["", *GOLF], rows)


def expectation(n: int, p: float, method: str, f: Callable) -> tuple[float, float]:
    """Exact mean of f(estimate) over all samples, and its noise in the simulation."""
    y = np.arange((n + 1) // 2, n + 1)
    mass = trueness.trees.entropic_binomial(n, p).pmf(y)
    value = f(TOP_METHODS[method](y, np.full(y.shape, n)))
    mean = float(mass @ value)
    return mean, float(np.sqrt(mass @ (value - mean) ** 2 / DRAWS))


def simulated(key: str, name: str, f: Callable, truth: Callable) -> Iterator[str]:
    yield f"**Table {key}.** {name}.\n"
    rows = []
    for n, printed in PRINTED[key].items():
        row = [f"n = {n}"]
        for (method, p), v in zip(SIMULATED, printed, strict=True):
            mean, noise = expectation(
                int(n), p, method, lambda x, n=int(n), p=p: f(n, x, p)
            )
            row.append(cell(mean - truth(int(n), p), v, 4, 4 * noise))
        rows.append(row)
    yield from table(["", *(f"{m} {p}" for m, p in SIMULATED)], rows)


def table_9() -> Iterator[str]:
    yield "**Table 9.** Biases at $p = 0.51$.\n"
    levels = {
        "p": lambda n, x: x,
        "P(C)": trueness.confidence_level,
        "P(U)": trueness.utility_level,
    }
    columns = [("p", "mle"), ("p", "emle"), ("p", "blend"), ("P(C)", "mle")]
    columns += [("P(C)", "blend"), ("P(U)", "mle"), ("P(U)", "blend")]
    rows = []
    for n, printed in PRINTED["9"].items():
        row = [f"n = {n}"]
        for (what, method), v in zip(columns, printed, strict=True):
            level = levels[what]
            mean, noise = expectation(
                int(n), 0.51, method, lambda x, level=level, n=int(n): level(n, x)
            )
            row.append(cell(mean - level(int(n), 0.51), v, 4, 4 * noise))
        rows.append(row)
    yield from table(["", *(f"{what}, {m}" for what, m in columns)], rows)


def pages() -> Iterator[str]:
    yield from single("1", trueness.confidence_level, "Level of confidence, eq. (5)")
    yield from single("2", trueness.utility_level, "Level of utility, eq. (6)")
    for key in SHARES:
        yield from two_leaves(key)
    yield from table_9()
    for key, name in zip(("11", "12", "13", "14"), GOLF, strict=True):
        yield from golf(key, name)
    yield from golf_whole()
    zero, same = (lambda n, p: 0.0), (lambda n, p: p)
    yield from simulated("16", "Bias of p", lambda n, x, p: x, same)
    yield from simulated(
        "17", "Mean squared error of p", lambda n, x, p: (x - p) ** 2, zero
    )
    for key, level, name in (
        ("18", trueness.confidence_level, "Bias of P(C)"),
        ("19", trueness.utility_level, "Bias of P(U)"),
    ):
        f = lambda n, x, p, level=level: level(n, x)  # noqa: E731
        yield from simulated(key, name, f, level)


def text() -> str:
    return "\n".join(pages()) + "\n"
