"""Does it hold at every site, and what will it do at the next one?

A site is a hospital, a month, an annotator, a customer, or a study of a paper. Each has
counts of its own, and sites are a sample of sites:

    scales          the unbounded scale of a measure
    values          the value and the variance of one site
    random_effects  mean and variance between sites: REML, Hartung-Knapp, Q-profile
    prediction      where the next site will lie
    covariates      what explains the differences; sites that stand out
    across          ``across_sites``: all of it, from data to answer
    left_out        would the others have predicted each site?
    bivariate       sensitivity and specificity together: two likelihoods
    summary_curve   ``summary_roc``: summary point, regions and curve

Read them in this order. Maths: ``docs/maths/sites.md``.
"""

from trueness.sites.left_out import leave_sites_out

__all__ = ["leave_sites_out"]
