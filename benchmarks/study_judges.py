"""The true rate behind judges: coverage and width beside other programs

For every design verdicts are simulated (sensitivity .75 to .9, specificity .7 to .85,
errors correlated by a common normal variable), some cases are labelled, and 95 %
intervals of the rate are counted that hold the truth. Others take one judge, so that
several are given to them as their majority. Lee et al. (2025, arXiv:2511.21140) is
their formula: Rogan and Gladen with the delta method on adjusted counts. Peers that are
not installed are left out: ``pip install ppi-python judgy truescore``.

``python study_judges.py 400 random`` makes 400 samples of each design with labels
at random (or ``verdict``, ``truth``); ``ours`` as a third word leaves
the peers out, and a fourth is the seed. ``python study_judges.py 400 other`` has four
judges whose errors go together in other ways; ``python study_judges.py 100 choices``
labels cases by verdict in other ways.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product

import numpy as np
from scipy.special import ndtri

import trueness
from trueness.nogold.random_effect import spread_of

SENS = np.array([0.85, 0.9, 0.8, 0.85, 0.75])
SPEC = np.array([0.8, 0.75, 0.85, 0.7, 0.8])
CASES, LEVEL = 2000, 0.95
JUDGES = ((1, 0.0), (3, 0.0), (3, 0.3), (3, 0.6), (5, 0.0), (5, 0.3), (5, 0.6))
LABELS, RATES = (50, 100, 200), (0.5, 0.8, 0.95, 0.97)
WORDS = {"random": "random", "verdict": "by verdict", "truth": "by truth"}


def verdicts(
    rng: np.random.Generator,
    y: np.ndarray,
    judges: int,
    correlation: float,
    sens: np.ndarray = SENS,
    spec: np.ndarray = SPEC,
) -> np.ndarray:
    """Draw verdicts whose errors correlate by about this much within either class."""
    spread = spread_of(0.8, correlation)  # of a case's own ease: rho is its share
    rho = spread**2 / (1 + spread**2)
    own = rng.standard_normal((y.size, judges))
    common = rng.standard_normal((y.size, 1))
    z = np.sqrt(rho) * common + np.sqrt(1 - rho) * own
    cut = np.where(y[:, None], ndtri(sens[:judges]), ndtri(1 - spec[:judges]))
    return (z < cut).astype(float)


def design(
    rng: np.random.Generator,
    judges: int,
    labels: int,
    rate: float,
    rho: float,
    how: str,
) -> tuple[np.ndarray, np.ndarray]:
    """Give verdicts, and labels with NaN where there is none."""
    y = rng.random(CASES) < rate
    if how == "truth":
        y = np.r_[y, np.arange(labels) % 2 == 0]
    x = verdicts(rng, y, judges, rho)
    at = np.arange(CASES, y.size) if how == "truth" else chosen(x, labels, how, rng)
    known = np.full(y.size, np.nan)
    known[at] = y[at]
    return x, known


def chosen(
    x: np.ndarray, labels: int, how: str, rng: np.random.Generator
) -> np.ndarray:
    """Choose cases to label: any, or as many with a majority of yes as of no."""
    order = rng.permutation(len(x))
    if how == "verdict":
        yes = x[order].mean(axis=1) > 0.5
        order = np.r_[order[yes][: labels // 2], order[~yes][: labels // 2]]
    return order[:labels]


def ours(x: np.ndarray, y: np.ndarray, how: str) -> tuple[float, float]:
    panel = trueness.panel(y, {f"J{k}": column for k, column in enumerate(x.T)})
    r = trueness.prevalence(panel, labelled=WORDS[how])
    return r.low, r.high


def _one(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
    vote = (x.mean(axis=1) > 0.5).astype(float)
    known = ~np.isnan(y)
    return vote[known], y[known], vote[~known]


def ppi(x: np.ndarray, y: np.ndarray, how: str) -> tuple[float, float]:
    from ppi_py import ppi_mean_ci

    seen, label, rest = _one(x, y)
    low, high = ppi_mean_ci(label, seen, rest, alpha=1 - LEVEL)
    return float(np.ravel(low)[0]), float(np.ravel(high)[0])


def judgy(x: np.ndarray, y: np.ndarray, how: str) -> tuple[float, float]:
    from judgy import estimate_success_rate

    seen, label, rest = _one(x, y)
    return estimate_success_rate(label, seen, rest, bootstrap_iterations=500)[1:]


def truescore(x: np.ndarray, y: np.ndarray, how: str) -> tuple[float, float]:
    from truescore import ppi_estimate, rogan_gladen_estimate

    vote = (x.mean(axis=1) > 0.5).astype(float)
    known = np.flatnonzero(~np.isnan(y))
    f = rogan_gladen_estimate if how == "truth" else ppi_estimate
    e = f(vote, y[known], gold_index=known)
    return e.low, e.high


def lee(x: np.ndarray, y: np.ndarray, how: str) -> tuple[float, float]:
    """Rogan and Gladen with a delta-method interval on counts with two added."""
    seen, label, rest = _one(x, y)
    z = float(ndtri((1 + LEVEL) / 2))
    n, m1, m0 = rest.size, (label == 1).sum(), (label == 0).sum()
    p = (rest.sum() + z**2 / 2) / (n + z**2)
    q1 = (seen[label == 1].sum() + 1) / (m1 + 2)
    q0 = (1 - seen[label == 0]).sum() + 1
    q0 = q0 / (m0 + 2)
    j = q1 + q0 - 1
    theta = (p + q0 - 1) / j
    v0, v1 = q0 * (1 - q0) / (m0 + 2), q1 * (1 - q1) / (m1 + 2)
    shift = 2 * z**2 * (theta * v1 - (1 - theta) * v0)
    var = p * (1 - p) / (n + z**2) + (1 - theta) ** 2 * v0 + theta**2 * v1
    half = z * np.sqrt(var) / j
    low, high = np.clip([theta + shift - half, theta + shift + half], 0, 1)
    return float(low), float(high)


METHODS: dict[str, Callable[..., tuple[float, float]]] = {
    "trueness": ours,
    "ppi-python": ppi,
    "truescore": truescore,
    "judgy": judgy,
    "Lee et al.": lee,
}


def study(
    how: str, repeats: int, methods: dict[str, Callable[..., tuple]], seed: int
) -> None:
    print("| labels | judges | n | rate | error corr. | " + " | ".join(methods) + " |")
    print("| --- " * (5 + len(methods)) + "|")
    for judges, rho in JUDGES:
        for labels in LABELS:
            for rate in RATES:
                what = [seed, judges, labels, int(100 * rate), int(100 * rho), len(how)]
                rng = np.random.default_rng(what)
                ends: dict[str, list[tuple[float, float]]] = {m: [] for m in methods}
                for _ in range(repeats):
                    x, y = design(rng, judges, labels, rate, rho, how)
                    for name, f in methods.items():
                        ends[name].append(answer(f, x, y, how))
                cells = [cell(np.array(found), rate) for found in ends.values()]
                row = (how, judges, labels, rate, rho, *cells)
                print("| " + " | ".join(map(str, row)) + " |", flush=True)


def other(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw truth (a rate of .7) and verdicts of four judges, 1,500 cases."""
    sens, spec = np.array([0.85, 0.8, 0.75, 0.8]), np.array([0.75, 0.8, 0.7, 0.7])
    y, z = rng.random(1500) < 0.7, rng.standard_normal((1500, 4))
    if kind == "worse than chance":
        sens, spec = 1.1 - sens, 1.1 - spec
    if kind == "difficulty":  # cases that are hard for all of them
        z = (z + 1.2 * rng.standard_normal((1500, 1))) / np.sqrt(1 + 1.2**2)
    hard = (rng.random((1500, 1)) < 0.25) & (kind == "a quarter hard")
    if kind == "one ancestor":
        z[:, :3] = 0.9 * rng.standard_normal((1500, 1)) + np.sqrt(0.19) * z[:, :3]
    x = np.where(y[:, None], z < ndtri(sens), z < ndtri(1 - spec))
    leader = rng.random((1500, 1)) < 0.5
    x = np.where(hard, leader ^ (rng.random(x.shape) < 0.2), x).astype(float)
    return y, np.column_stack([x, 1 - x[:, 0]]) if kind == "opposite" else x


OTHER = (
    "worse than chance",
    "a quarter hard",
    "difficulty",
    "one ancestor",
    "opposite",
)


def study_other(repeats: int, seed: int) -> None:
    print("| errors | labels | trueness |\n| --- | --- | --- |")
    for kind in OTHER:
        for how in ("random", "verdict"):
            rng, ends = np.random.default_rng([seed, len(kind), len(how)]), []
            for _ in range(repeats):
                y, x = other(kind, rng)
                known = np.full(y.size, np.nan)
                at = chosen(x, 80, how, rng)
                known[at] = y[at]
                ends.append(answer(ours, x, known, how))
            print(f"| {kind} | {how} | {cell(np.array(ends), 0.7)} |", flush=True)


def choices(x: np.ndarray, labels: int, rng: np.random.Generator) -> dict:
    """Choose cases in other ways that depend on the verdicts only."""
    order = rng.permutation(len(x))
    mean, code = x[order].mean(axis=1), x[order] @ 2.0 ** np.arange(x.shape[1])
    turn = np.zeros(len(x))
    for c in np.unique(code):
        turn[code == c] = np.arange((code == c).sum())
    split, first = (mean > 0) & (mean < 1), x[order, 0] == 1
    most = int(0.7 * labels)
    return {
        "as many of each pattern": order[np.argsort(turn, kind="stable")][:labels],
        "70 % where judges disagree": np.r_[
            order[split][:most], order[~split][: labels - most]
        ],
        "half where the first judge says no": np.r_[
            order[first][: labels // 2], order[~first][: labels // 2]
        ],
    }


def study_choices(repeats: int, seed: int) -> None:
    """Cases labelled in other ways, with judges of random accuracy, by rate."""
    rng, ends = np.random.default_rng([seed, 5]), {}
    for judges, labels, rate in product((2, 3, 5), LABELS, RATES):
        for _ in range(repeats):
            sens, spec = rng.uniform(0.7, 0.95, judges), rng.uniform(0.65, 0.92, judges)
            y = rng.random(CASES) < rate
            x = verdicts(rng, y, judges, rng.choice([0.0, 0.3, 0.6]), sens, spec)
            for name, at in choices(x, labels, rng).items():
                known = np.full(CASES, np.nan)
                known[at] = y[at]
                found = answer(ours, x, known, "verdict")
                for key in ((name, f"rate {rate}"), (name, f"{labels} labels")):
                    ends.setdefault(key, []).append((*found, rate))
    print("| labelled | cells | trueness | below | above |\n" + "| --- " * 5 + "|")
    for (name, cells), rows in sorted(ends.items()):
        low, high, rate = np.array(rows).T
        parts = (low <= rate) & (rate <= high), high < rate, low > rate
        a, b, c = (f"{p.mean():.3f}" for p in parts)
        print(f"| {name} | {cells} | {a} ({(high - low).mean():.3f}) | {b} | {c} |")


PAIRED = (  # which cases of the second system are labelled, and whose judges
    ("random", "same items", "per system"),
    ("random", "same items", "shared"),
    ("random", "other items", "per system"),
    ("verdict", "same items", "per system"),
    ("verdict", "same items", "shared"),
    ("truth", "same items", "per system"),
)


def two_systems(
    rng: np.random.Generator, how: str, which: str
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Draw labels and verdicts of two systems on 800 items that are hard for both."""
    labels, items = 100, 800
    extra = labels if how == "truth" else 0
    hard, luck = rng.standard_normal((2, items + extra))
    out, order = {}, rng.permutation(items)
    for system, rate in (("A", 0.8), ("B", 0.7)):
        own = rng.standard_normal(items + extra)
        y = np.sqrt(0.6) * hard + np.sqrt(0.4) * own < ndtri(rate)
        if extra:
            y[items:] = np.arange(extra) % 2 == 0
        z = rng.standard_normal((items + extra, 2))
        z = np.sqrt(0.4) * luck[:, None] + np.sqrt(0.6) * z
        x = (z < np.where(y[:, None], ndtri(SENS[:2]), ndtri(1 - SPEC[:2]))) * 1.0
        if how == "verdict":
            at = chosen(x, labels, how, rng)
        elif extra:
            at = np.arange(items, items + extra)
        else:
            at = (
                order[:labels]
                if which == "same items" or system == "A"
                else (order[labels : 2 * labels])
            )
        known = np.full(y.size, np.nan)
        known[at] = y[at]
        out[system] = known, np.column_stack([x, np.arange(y.size)])
    return out


def study_pairs(repeats: int, seed: int) -> None:
    """Two systems that answered the same items, with rates .8 and .7."""
    print("| labels | judges | not paired | item= |\n" + "| --- " * 4 + "|")
    for how, which, judges in PAIRED:
        rng = np.random.default_rng([seed, len(how), len(which), len(judges)])
        ends: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
        for _ in range(repeats):
            data = two_systems(rng, how, which)
            for paired, found in ends.items():
                names = ("J0", "J1", "item") if paired else ("J0", "J1")
                panels = {
                    s: trueness.panel(y, dict(zip(names, x.T, strict=False)))
                    for s, (y, x) in data.items()
                }
                c = trueness.compare_prevalence(
                    panels,
                    labelled=WORDS[how],
                    judges=judges,
                    item="item" if paired else None,
                )
                found.append((c.low[0], c.high[0]))
        cells = " | ".join(cell(np.array(e), 0.1) for e in ends.values())
        print(f"| {how}, {which} | {judges} | {cells} |", flush=True)


def answer(f: Callable[..., tuple], x: np.ndarray, y: np.ndarray, how: str) -> tuple:
    try:
        return f(x, y, how)
    except ImportError:
        return (np.inf, np.inf)
    except (ValueError, RuntimeError, ZeroDivisionError):  # no answer counts as a miss
        return (np.nan, np.nan)


def cell(a: np.ndarray, rate: float) -> str:
    if np.isinf(a).any():
        return "-"
    held = ((a[:, 0] <= rate) & (rate <= a[:, 1])).mean()
    some = ~np.isnan(a[:, 0])
    width = np.mean(a[some, 1] - a[some, 0]) if some.any() else np.nan
    return f"{held:.3f} ({width:.3f})"


def main(
    repeats: str = "300", how: str = "", who: str = "all", seed: str = "0"
) -> None:
    methods = {"trueness": ours} if who == "ours" else METHODS
    more = {"other": study_other, "choices": study_choices, "pairs": study_pairs}
    if how in more:
        more[how](int(repeats), int(seed))
        return
    for kind in [how] if how else WORDS:
        study(kind, int(repeats), methods, int(seed))


if __name__ == "__main__":
    main(*sys.argv[1:])
