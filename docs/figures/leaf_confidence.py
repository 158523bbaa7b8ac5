"""Confidence of two splits and of none against the number of cases."""

import trueness.plots

PAPER = {
    "no split": ([1.0], [0.7]),
    "split A": ([0.9, 0.1], [0.75, 0.25]),
    "split B": ([0.2, 0.8], [0.75, 0.6875]),
}


def chart():
    return trueness.plots.levels_by_sample_size(PAPER)
