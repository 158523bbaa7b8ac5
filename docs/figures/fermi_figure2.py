"""Fig. 2 of Kim et al. 2021: what beta and mu depend on."""

import trueness


def chart():
    return trueness.plots.fermi_parameters()
