"""Simulated judges that err, for the tests of rates and of label plans."""

import numpy as np


def simulate_judges(
    rng, cases, rate, *, sensitivity, specificity, labels, labelled="random", shared=0.0
):
    """Simulate judges; with chance ``shared`` a case draws one luck for all of them.

    Return the labels, NaN where unknown, and the verdicts by judge.
    """
    truth = rng.random(cases) < rate
    if labelled == "by truth":
        # labelled cases beside the others, as many of either class
        truth = np.r_[truth, np.arange(labels) % 2 == 0]
    luck = rng.random((truth.size, len(sensitivity)))
    luck = np.where(rng.random((truth.size, 1)) < shared, luck[:, :1], luck)
    verdicts = np.where(truth[:, None], luck < sensitivity, luck >= specificity)

    if labelled == "by truth":
        chosen = np.arange(cases, truth.size)
    else:
        chosen = rng.permutation(cases)
    if labelled == "by verdict":
        says_yes = verdicts[chosen].mean(axis=1) > 0.5
        half = labels // 2
        chosen = np.r_[chosen[says_yes][:half], chosen[~says_yes][:half]]
    chosen = chosen[:labels]
    known = np.full(truth.size, np.nan)
    known[chosen] = truth[chosen]
    by_judge = {f"J{k}": column.astype(float) for k, column in enumerate(verdicts.T)}
    return known, by_judge
