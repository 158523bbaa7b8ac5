"""Where Fermi-Dirac is not calibrated: few positives, ranked well."""

import trueness


def chart():
    sizes = {"N1 = 50": 50, "N1 = 25": 25, "N1 = 10": 10}
    fds = {k: trueness.fermi_dirac(n=100, n_pos=v, auc=0.9) for k, v in sizes.items()}
    seen = {
        k: trueness.counts.rank_frequencies(100, v, 0.9, replicates=4000, rng=v)
        for k, v in sizes.items()
    }
    return trueness.plots.rank_probability(
        fds, seen, title="N = 100, AUC = 0.9: lines Fermi-Dirac, points Gaussian scores"
    )
