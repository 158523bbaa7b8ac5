"""Which interval of a mean loss covers with 2 cases, and with 1,000?

    python benchmarks/study_mean_loss.py [SAMPLES]

The normal interval, and the one after c more cases are spread over the scores, half of
each class (c = 2 is what `brier` and `log_loss` use). One line a design and size: the
share of samples whose interval holds the truth, and its median width.
"""

from __future__ import annotations

import math
import sys

import numpy as np

Z = 1.959964
SIZES = (2, 5, 20, 100, 1000)


def designs(rng):
    """Draw scores and the true shares of positives at them."""

    def of(draw, share=lambda p: p):
        def made(n):
            p = draw(n)
            return p, share(p)

        return made

    def half(p):
        return 1 / (1 + np.exp(-0.5 * np.log(p / (1 - p))))

    def hard(p):
        return np.where(p > 0.5, 0.9, 0.05)

    return {
        "sure": of(lambda n: rng.choice([0.01, 0.99], n, p=[0.7, 0.3])),
        "beta": of(lambda n: np.clip(rng.beta(0.5, 0.8, n), 1e-6, 1 - 1e-6)),
        "overdone": of(lambda n: np.clip(rng.beta(0.3, 0.3, n), 1e-4, 1 - 1e-4), half),
        "constant": of(lambda n: np.full(n, 0.1)),
        "votes": of(lambda n: rng.choice([0.001, 0.999], n, p=[0.6, 0.4]), hard),
        "rare": of(lambda n: rng.beta(0.5, 20, n) + 1e-9),
    }


LOSSES = {
    "brier": lambda p: (p * p, (1 - p) ** 2),
    "log_loss": lambda p: (-np.log1p(-p), -np.log(p)),
}


def intervals(neg, pos, label):
    """Give (low, high) of every sample by the normal interval and for c = 1, 2, 4."""
    n = label.shape[1]
    loss = np.where(label, pos, neg)
    mean, sd = loss.mean(axis=1), loss.std(axis=1, ddof=1) / math.sqrt(n)
    yield "normal", mean - Z * sd, mean + Z * sd
    coin, square = (neg + pos).mean(axis=1) / 2, (neg**2 + pos**2).mean(axis=1) / 2
    for c in (1, 2, 4):
        middle = (n * mean + c * coin) / (n + c)
        spread = ((loss**2).sum(axis=1) + c * square) / (n + c) - middle**2
        half = Z * np.sqrt(spread / (n + c))
        yield f"c = {c}", middle - half, middle + half


def main(samples: int = 2000) -> None:
    rng = np.random.default_rng(0)
    for kind, losses in LOSSES.items():
        for name, draw in designs(rng).items():
            p, share = draw(400_000)
            neg, pos = losses(p)
            truth = float(np.mean((1 - share) * neg + share * pos))
            for n in SIZES:
                p, share = (x.reshape(samples, n) for x in draw(samples * n))
                label = rng.random((samples, n)) < share
                words = []
                for method, low, high in intervals(*losses(p), label):
                    held = np.mean((low <= truth) & (truth <= high))
                    wide = np.median(high - np.maximum(low, 0))
                    words.append(f"{method}: {held:.3f} ({wide:.3g})")
                print(kind, name, n, *words, flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
