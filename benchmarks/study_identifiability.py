"""Could any number of verdicts tell the rate? Ranks of models of how judges err.

``python benchmarks/study_identifiability.py`` prints the table of
``docs/maths/nogold.md``. The probability of every pattern of verdicts is written down
for each model, and differentiated by a complex step at a point in general position; the
code that is judged is not used.
"""

from itertools import combinations, product

import numpy as np

MODELS = ("independent", "one covariance", "pairwise", "easy and hard")


def sizes(judges, model):
    """How many parameters describe the dependence?"""
    pairs = judges * (judges - 1) // 2
    return dict(zip(MODELS, (0, 2, 2 * pairs, 2 * judges + 2), strict=True))[model]


def patterns(x, q, model, d):
    """Give the probability of each pattern in one class; ``d`` is the dependence."""
    plain = np.prod(np.where(x == 1, q, 1 - q), axis=1)
    if model == "easy and hard":
        other = np.prod(np.where(x == 1, d[:-1], 1 - d[:-1]), axis=1)
        return d[-1] * plain + (1 - d[-1]) * other
    judges = x.shape[1]
    for n, (i, j) in enumerate(combinations(range(judges), 2)):
        if model == "independent":
            break
        rest = [k for k in range(judges) if k not in (i, j)]
        others = np.prod(np.where(x[:, rest] == 1, q[rest], 1 - q[rest]), axis=1)
        sign = (-1) ** (x[:, i] + x[:, j])
        plain = plain + d[n if model == "pairwise" else 0] * sign * others
    return plain


def ranks(judges, model, populations=1, rng=None):
    """Give degrees of freedom, parameters, and how many the data determine."""
    rng = rng or np.random.default_rng(1)
    x = np.array(list(product((0.0, 1.0), repeat=judges)))
    more = sizes(judges, model)
    small = (0.3, 0.7) if model == "easy and hard" else (0.01, 0.03)
    at = np.concatenate(
        [
            rng.uniform(0.3, 0.7, populations),
            rng.uniform(0.6, 0.9, judges),
            rng.uniform(0.1, 0.4, judges),
            rng.uniform(*small, more),
        ]
    )

    def all_patterns(theta):
        share, q, d = np.split(theta, [populations, populations + 2 * judges])
        a = patterns(x, q[:judges], model, d[: more // 2])
        b = patterns(x, q[judges:], model, d[more // 2 :])
        return np.concatenate([p * a + (1 - p) * b for p in share])

    step = 1e-30
    slope = np.array(
        [np.imag(all_patterns(at + 1j * step * e)) / step for e in np.eye(at.size)]
    ).T
    values = np.linalg.svd(slope / np.linalg.norm(slope, axis=0), compute_uv=False)
    free = populations * (2**judges - 1)
    return free, at.size, int((values > 1e-9 * values[0]).sum())


if __name__ == "__main__":
    print("| judges | free | " + " | ".join(MODELS) + " |")
    print("| --- | --- |" + " --- |" * len(MODELS))
    for number in (2, 3, 4, 5, 6):
        cells = [ranks(number, m) for m in MODELS]
        row = " | ".join(f"{rank} of {size}" for _, size, rank in cells)
        print(f"| {number} | {cells[0][0]} | {row} |")
    for number, model in ((2, "independent"), (2, "pairwise"), (3, "pairwise")):
        print("two populations:", number, model, ranks(number, model, 2))
