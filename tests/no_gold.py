"""The tables of examples/no_gold, for the tests."""

import csv
from pathlib import Path

import numpy as np

import trueness

FOLDER = Path(__file__).parents[1] / "examples" / "no_gold"


def table(name):
    """Give a panel, or a mapping of panels when there is a column ``population``."""
    with (FOLDER / f"{name}.csv").open() as file:
        head, *rows = csv.reader(file)
    several = head[0] == "population"
    names = head[several:-1]
    parts = {}
    for row in rows:
        parts.setdefault(row[0] if several else "", []).append(row[several:])
    panels = {
        s: trueness.Panel(
            names,
            np.array([r[:-1] for r in part], dtype=float),
            unknown=[int(r[-1]) for r in part],
        )
        for s, part in parts.items()
    }
    return panels if several else panels[""]


def simulate(rng, n, phi, alpha, beta):
    """Draw truth and votes case by case."""
    truth = rng.random(n) < phi
    rate = np.where(truth[:, None], alpha, beta)
    return truth, (rng.random((n, len(alpha))) < rate).astype(float)
