"""Does the analysis of reader studies keep its level, and do its intervals cover?

    python benchmarks/study_readers.py [SAMPLES]

Studies of two equal treatments by the model of Roe and Metz (1997): variances of
readers .01, of their interplay with treatments as given, of cases .3, cases and
treatments .3, cases and readers .2, and the rest .2. Prints a table for
docs/maths/readers.md: shares with p < 0.05 by each covariance, and by cases nested
within readers.
"""

from __future__ import annotations

import sys

import numpy as np

import trueness


def study(
    rng: np.random.Generator,
    readers: int,
    cases: tuple[int, int],
    mean: float,
    interplay: float,
    nested: bool = False,
) -> dict[str, np.ndarray]:
    n, y = sum(cases), np.repeat([1, 0], cases)
    shape = (2, readers, n)
    shift = mean + 0.1 * rng.normal(size=(1, readers, 1))
    shift = shift + np.sqrt(interplay) * rng.normal(size=(2, readers, 1))
    many = readers if nested else 1  # every reader with cases of his own
    s = (
        y * shift
        + np.sqrt(0.3) * rng.normal(size=(1, many, n))
        + np.sqrt(0.3) * rng.normal(size=(2, many, n))
        + np.sqrt(0.2) * rng.normal(size=(1, readers, n))
        + np.sqrt(0.2) * rng.normal(size=shape)
    )
    t, r, c = (x.ravel() for x in np.indices(shape))
    case = c + n * r if nested else c
    return {"reader": r, "treatment": t, "case": case, "label": y[c],
            "score": s.ravel()}  # fmt: skip


def main(samples: int = 400) -> None:
    rng = np.random.default_rng(20261115)
    asked = ({}, {"covariance": "delong"}, {"method": "gallas"})
    head = ["readers", "cases", "AUC", "interplay", "jackknife", "delong", "gallas",
            "nested", "interval holds"]  # fmt: skip
    print("|", " | ".join(head), "|")
    print("|", " | ".join("---" for _ in head), "|")
    for readers, cases in ((3, (25, 25)), (5, (25, 25)), (5, (50, 50)), (10, (25, 75))):
        for area, mean in ((0.7, 0.75), (0.86, 1.5), (0.96, 2.5)):
            for interplay in (0.0, 0.1):
                p: list[list[float]] = [[], [], [], []]
                held = []
                for _ in range(samples):
                    data = study(rng, readers, cases, mean, interplay)
                    found = [trueness.reader_study(data, **a) for a in asked]
                    apart = study(rng, readers, cases, mean, interplay, nested=True)
                    found.append(trueness.reader_study(apart))
                    for one, f in zip(p, found, strict=True):
                        one.append(f.p_value)
                    d = found[0].pairs[0].difference
                    held.append(d.low <= 0 <= d.high)
                small = [f"{np.mean(np.array(one) < 0.05):.3f}" for one in p]
                row = [str(readers), f"{cases[0]} + {cases[1]}", f"{area:g}",
                       f"{interplay:g}", *small, f"{np.mean(held):.3f}"]  # fmt: skip
                print("|", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
