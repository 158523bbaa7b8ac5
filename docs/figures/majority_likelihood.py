"""Likelihood and entropic likelihood of 5 of 7."""

import trueness.plots


def chart():
    return trueness.plots.majority_likelihood(5, 7)
