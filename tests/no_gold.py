"""The tables of examples/no_gold, for the tests."""

import csv
from pathlib import Path

import numpy as np

import trueness

FOLDER = Path(__file__).parents[1] / "examples" / "no_gold"


def table(name):
    """Return a panel, or panels by the column ``population`` where there is one."""
    with (FOLDER / f"{name}.csv").open() as file:
        header, *rows = csv.reader(file)
    if header[0] != "population":
        return panel_of_counts(header, rows)

    rows_by_population = {}
    for population, *row in rows:
        rows_by_population.setdefault(population, []).append(row)
    return {
        population: panel_of_counts(header[1:], rows)
        for population, rows in rows_by_population.items()
    }


def panel_of_counts(header, rows):
    """Return the panel of a table of verdicts, with counts in the last column."""
    verdicts = np.array([row[:-1] for row in rows], dtype=float)
    counts = [int(row[-1]) for row in rows]
    return trueness.Panel(header[:-1], verdicts, unknown=counts)


def simulate(rng, n, prevalence, sensitivity, false_positive_rate):
    """Return random truths, and votes that are independent given the truth."""
    truth = rng.random(n) < prevalence
    rate = np.where(truth[:, None], sensitivity, false_positive_rate)
    votes = rng.random((n, len(sensitivity))) < rate
    return truth, votes.astype(float)
