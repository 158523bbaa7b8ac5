"""Likelihood and entropic likelihood of 5 of 7."""

import karat.plots


def chart():
    return karat.plots.majority_likelihood(5, 7)
