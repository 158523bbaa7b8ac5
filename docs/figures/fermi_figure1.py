"""Fig. 1B of Kim et al. 2021, with its erratum: beta = 0.0756, mu = 50.5."""

import trueness


def chart():
    fd = trueness.fermi_dirac(n=100, n_pos=50, auc=0.9)
    seen = trueness.counts.rank_frequencies(100, 50, 0.9, replicates=1000, rng=1)
    return trueness.plots.rank_probability(
        fd, seen, title="N = 100, N1 = 50, AUC = 0.9"
    )
