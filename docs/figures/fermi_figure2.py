"""Fig. 2 of Kim et al. 2021: what beta and mu depend on."""

import karat


def chart():
    return karat.plots.fermi_parameters()
