"""How far do the printed numbers of Keith, Davey, Boyd (2012) vary by chance?

    python tests/reference/keith2012_chains.py

The paper ran a Gibbs sampler with all parameters at 0.5, 2000 iterations, and kept the
last 500. This script runs that sampler, in NumPy and without Trueness, in many chains
at once, and writes the standard deviation over chains of whatever the paper prints of
500 iterations: the Monte-Carlo error of the printed numbers.

The true class of a case is drawn for all cases with the same votes at once (binomial),
which is the same chain. The constraint alpha >= beta truncates each Beta distribution,
as I() does in BUGS.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
from scipy.special import betainc, betaincinv

FOLDER = Path(__file__).parents[2] / "examples" / "no_gold"
FILES = {
    "2": "chloroplast_reconstructed",
    "3": "swineflu_recovered",
    "4 upper": "snp1000_reconstructed",
    "4 lower": "snp5000_reconstructed",
}
CHAINS = 400
ITERATIONS = 2000
KEPT = 500
CRITERIA = {
    "product": lambda sens, spec: sens * spec,
    "squares": lambda sens, spec: sens**2 + spec**2,
    "sum": lambda sens, spec: sens + spec,
    "min": np.minimum,
}


def read(name):
    with (FOLDER / f"{name}.csv").open() as file:
        rows = np.array([[int(v) for v in row] for row in list(csv.reader(file))[1:]])
    return rows[:, :-1], rows[:, -1]


def truncated_beta(a, b, low, high, rng):
    """Draw from Beta(a, b) between low and high, by its inverse."""
    start = betainc(a, b, low)
    end = betainc(a, b, high)
    draw = betaincinv(a, b, start + rng.random(np.shape(a)) * (end - start))
    return np.clip(draw, low, high)


def chains(votes, count, rng):
    """Return the kept prevalence, alpha and beta: (kept, chains[, K])."""
    n_tests = votes.shape[1]
    prevalence = np.full(CHAINS, 0.5)
    alpha = np.full((CHAINS, n_tests), 0.5)
    beta = np.full((CHAINS, n_tests), 0.5)
    draws = []
    for iteration in range(ITERATIONS):
        # the true classes, given the rates
        in_positives = np.where(votes, alpha[:, None], 1 - alpha[:, None]).prod(axis=2)
        in_negatives = np.where(votes, beta[:, None], 1 - beta[:, None]).prod(axis=2)
        of_positives = prevalence[:, None] * in_positives
        of_negatives = (1 - prevalence[:, None]) * in_negatives
        positives = rng.binomial(count, of_positives / (of_positives + of_negatives))
        negatives = count - positives

        # the rates, given the true classes
        n_pos = positives.sum(axis=1)
        n_neg = count.sum() - n_pos
        true_positives = positives @ votes
        false_positives = negatives @ votes
        false_negatives = n_pos[:, None] - true_positives
        true_negatives = n_neg[:, None] - false_positives
        prevalence = rng.beta(1 + n_pos, 1 + n_neg)
        alpha = truncated_beta(1 + true_positives, 1 + false_negatives, beta, 1.0, rng)
        beta = truncated_beta(1 + false_positives, 1 + true_negatives, 0.0, alpha, rng)

        if iteration >= ITERATIONS - KEPT:
            draws.append((prevalence, alpha, beta))
    return [np.array(parameter) for parameter in zip(*draws, strict=True)]


def combination_rates(alpha, beta):
    """Return sensitivity and specificity of all 2^(2^K) unions, by code."""
    n_tests = alpha.shape[-1]
    codes = np.arange(2**n_tests)
    # bit k of an intersection is 1 where it holds "not C_k"
    yes = (codes[:, None] >> np.arange(n_tests) & 1) == 0
    in_positives = np.where(yes, alpha[..., None, :], 1 - alpha[..., None, :]).prod(-1)
    in_negatives = np.where(yes, beta[..., None, :], 1 - beta[..., None, :]).prod(-1)
    unions = np.arange(2**codes.size)
    included = ((unions >> codes[:, None]) & 1).astype(float)
    return in_positives @ included, 1 - in_negatives @ included


def statistics_of_chain(prevalence, alpha, beta, numbers):
    """Return the printed statistics of one chain, by name."""
    sens, spec = combination_rates(alpha, beta)
    parameters = (prevalence[:, None], alpha, beta)
    deviations = np.concatenate([draws.std(axis=0, ddof=1) for draws in parameters])
    statistics = {
        "prevalence": prevalence.mean(),
        "average sd": deviations.mean(),
        "largest sd": deviations.max(),
    }

    for name, criterion in CRITERIA.items():
        winner = criterion(sens, spec).argmax(axis=1)
        proportions = np.bincount(winner, minlength=sens.shape[1]) / KEPT
        statistics[f"winner {name}"] = proportions.max()

    for number in numbers:
        for name, rates in (("sensitivity", sens), ("specificity", spec)):
            draws = rates[:, int(number) - 1]
            statistics[f"{number} {name}"] = draws.mean()
            statistics[f"{number} {name}_median"] = np.median(draws)
            statistics[f"{number} {name}_sd"] = draws.std(ddof=1)
    return statistics


def summaries(votes, count, numbers, rng):
    """Return, for each printed statistic, its mean and sd over chains."""
    prevalence, alpha, beta = chains(votes, count, rng)
    of_chains = [
        statistics_of_chain(prevalence[:, k], alpha[:, k], beta[:, k], numbers)
        for k in range(CHAINS)
    ]

    summary = {}
    for name in of_chains[0]:
        values = [statistics[name] for statistics in of_chains]
        mean = float(f"{np.mean(values):.6g}")
        deviation = float(f"{np.std(values, ddof=1):.3g}")
        summary[name] = [mean, deviation]
    return summary


def main():
    here = Path(__file__)
    printed = json.loads(here.with_name("keith2012_tables.json").read_text())
    result = {}
    for key, name in FILES.items():
        rng = np.random.default_rng(0)
        result[key] = summaries(*read(name), list(printed[key]), rng)
        print(key, {k: result[key][k] for k in list(result[key])[:7]}, flush=True)
    text = json.dumps(result, indent=1)
    here.with_suffix(".json").write_text(text + "\n")


if __name__ == "__main__":
    main()
