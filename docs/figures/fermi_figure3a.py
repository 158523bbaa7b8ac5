"""Fig. 3A of Kim et al. 2021: the threshold by scanning, and by the closed form."""

import numpy as np

import trueness


def simulated(n=50_000):
    """Threshold and standard error, both ways, for nine prevalences and five AUCs."""
    rng = np.random.default_rng(3)
    for auc in (0.55, 0.65, 0.75, 0.85, 0.95):
        for rho in np.arange(1, 10) / 10:
            t = trueness.simulate_tally(n, round(n * rho), auc, rng=rng)
            fd = trueness.fermi_dirac(t)
            best = trueness.best_threshold(t, "balanced_accuracy").confusion
            rank = int(best.tp + best.fp)
            yield auc, rank / n, fd.rank_threshold / n, trueness.auc(t).se, fd.auc_se


def chart():
    auc, scan, closed, _, _ = zip(*simulated(), strict=True)
    return trueness.plots.identity(
        scan,
        closed,
        x_title="best balanced accuracy, by scanning (share of ranks)",
        y_title="r* of Fermi-Dirac (share of ranks)",
        colour=auc,
        colour_title="AUC",
    )
