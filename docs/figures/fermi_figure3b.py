"""Fig. 3B of Kim et al. 2021: the standard error of the AUC, both ways."""

import runpy
from pathlib import Path

import trueness


def chart():
    simulated = runpy.run_path(str(Path(__file__).with_name("fermi_figure3a.py")))
    auc, _, _, delong, fermi = zip(*simulated["simulated"](), strict=True)
    return trueness.plots.identity(
        delong,
        fermi,
        x_title="standard error by DeLong",
        y_title="standard error by Fermi-Dirac",
        colour=auc,
        colour_title="AUC",
    )
