"""Do reader studies keep their level, and is planned power reached?

    python benchmarks/study_readers.py [WHAT] [STUDIES]

Studies by the model of Roe and Metz (1997): variances of readers .01, of their
interplay with treatments as given, of cases .3, cases and treatments .3, cases and
readers .2, and the rest .2, so that the scores of a class have variance 1 and the AUC
of a reader with shift m is Phi(m / sqrt(2)). ``few``: two to five readers who differ
much in what a treatment does for them. ``margin``:
the first treatment is worse by exactly the margin; shares of studies that call it
non-inferior or equivalent. ``plan``: power that ``plan_readers`` promises, from
components that are means over many pilot studies, and the share of new studies that
find the difference. ``pilots``: the mean of power and assurance that single pilot
studies promise. Tables are in docs/maths/readers.md.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

import trueness
from trueness.readers.analysis import ReaderStudy
from trueness.readers.model import ReaderComponents


class Design(NamedTuple):
    """What is simulated: ``loss`` is by how much the first treatment is worse."""

    readers: int
    cases: tuple[int, int]
    area: float
    interplay: float = 0.0
    # within readers: "cases"; within treatments: "readers", "both"; cases: "treatments"
    nested: str = ""
    loss: float = 0.0
    groups: int = 1  # of readers, each with cases of its own (split plot)

    @property
    def size(self) -> str:
        return f"{self.cases[0]} + {self.cases[1]}"

    def shifts(self, rng: np.random.Generator) -> np.ndarray:
        """Draw the readers: shift of the positives, (2, readers)."""
        spread = np.sqrt(2.01 + self.interplay)
        mean = spread * norm.ppf([[self.area - self.loss], [self.area]])
        many = 2 if self.nested in ("readers", "both") else 1
        own = rng.normal(0, 0.1, (many, self.readers))
        return mean + own + rng.normal(0, np.sqrt(self.interplay), (2, self.readers))


def study(rng: np.random.Generator, d: Design, shift: Any = None) -> dict[str, Any]:
    """Draw a study; with ``shift``, of these readers."""
    n, y = sum(d.cases), np.repeat([1, 0], d.cases)
    shape = (2, d.readers, n)
    shift = d.shifts(rng) if shift is None else shift
    many = d.readers if d.nested == "cases" else 1
    alone = d.nested in ("readers", "both")  # nobody reads with both treatments
    both = 2 if d.nested in ("both", "treatments") else 1  # nor a case with both
    s = y * shift[:, :, None] + sum(
        np.sqrt(v) * rng.normal(size=size)
        for v, size in (
            (0.3, (both, many, n)),
            (0.3, (2, many, n)),
            (0.2, (2 if alone else 1, d.readers, n)),
            (0.2, shape),
        )
    )
    t, r, c = (x.ravel() for x in np.indices(shape))
    case = c + n * (r if many > 1 else t * (both - 1))
    reader = r + d.readers * t * alone
    return {"reader": reader, "treatment": t, "case": case, "label": y[c],
            "score": s.ravel()}  # fmt: skip


def row(*cells: Any) -> None:
    words = [f"{x:.3f}" if isinstance(x, float) else str(x) for x in cells]
    print("|", " | ".join(words), "|", flush=True)


def head(*names: str) -> None:
    row(*names)
    row(*("---" for _ in names))


def share(found: list[float], limit: float) -> float:
    return float(np.mean(np.array(found) < limit))


def split(rng: np.random.Generator, number: int, d: Design, missing: float) -> Any:
    """Draw groups of readers that have no case in common; leave some readings out."""
    if number == 1 and not missing:
        return study(rng, d)
    parts = [study(rng, d) for _ in range(number)]
    for k, part in enumerate(parts):
        part["reader"] = part["reader"] + k * d.readers
        part["case"] = part["case"] + k * sum(d.cases)
    whole = {k: np.concatenate([p[k] for p in parts]) for k in parts[0]}
    kept = rng.random(whole["case"].size) >= missing
    return {k: v[kept] for k, v in whole.items()}


FEW = (
    Design(2, (60, 60), 0.85, 0.1),
    Design(3, (100, 100), 0.85, 0.3),
    Design(3, (40, 40), 0.8, 0.1),
    Design(3, (200, 200), 0.9, 0.1),
    Design(4, (60, 60), 0.85, 0.3),
    Design(4, (100, 50), 0.75, 0.15),
    Design(5, (80, 80), 0.85, 0.3),
    Design(3, (40, 30), 0.82, 0.1, "treatments"),
    Design(3, (40, 30), 0.82, 0.1, "readers"),
)


def few(rng: np.random.Generator, studies: int) -> None:
    """Print the size of tests, and the coverage of a difference of .06."""
    head("design", "readers", "cases", "AUC", "interplay", "size", "coverage")
    for design in FEW:
        rejected = []
        covered = []
        for _ in range(studies):
            equal = trueness.reader_study(study(rng, design))
            rejected.append(equal.p_value < 0.05)
            other = trueness.reader_study(study(rng, design._replace(loss=0.06)))
            difference = other.pairs[0].difference
            covered.append(difference.low <= -0.06 <= difference.high)
        row(
            design.nested + " nested" if design.nested else "crossed",
            design.readers,
            design.size,
            f"{design.area:g}",
            f"{design.interplay:g}",
            float(np.mean(rejected)),
            float(np.mean(covered)),
        )


def margin(rng: np.random.Generator, studies: int) -> None:
    head("design", "readers", "cases", "AUC", "interplay", "margin", "covariance",
         "2.5 %", "5 %", "equivalent", "interval")  # fmt: skip
    for d, loss, how in (
        (Design(3, (25, 25), 0.86, 0.05), 0.1, "jackknife"),
        (Design(5, (50, 50), 0.86), 0.05, "jackknife"),
        (Design(5, (50, 50), 0.86, 0.1), 0.05, "delong"),
        (Design(5, (50, 50), 0.96, 0.05), 0.05, "unbiased"),
        (Design(8, (40, 80), 0.75, 0.05), 0.1, "jackknife"),
        (Design(12, (100, 100), 0.9, 0.02), 0.03, "unbiased"),
        (Design(6, (50, 50), 0.86, 0.05, "cases"), 0.05, "jackknife"),
        (Design(6, (50, 50), 0.86, 0.05, "readers"), 0.1, "jackknife"),
        (Design(6, (80, 80), 0.86, 0.05, "both"), 0.1, "unbiased"),
        (Design(4, (50, 50), 0.86, 0.05), 0.05, "fixed readers"),
        (Design(8, (40, 80), 0.9, 0.1), 0.05, "fixed readers"),
        (Design(3, (40, 40), 0.9, 0.03), 0.07, "jackknife"),
        (Design(4, (30, 60), 0.95), 0.05, "jackknife"),
        (Design(6, (60, 60), 0.93, 0.08), 0.04, "jackknife"),
        (Design(3, (20, 30), 0.8, 0.02), 0.12, "jackknife"),
        (Design(7, (25, 100), 0.97, 0.03), 0.06, "jackknife"),
        (Design(10, (80, 80), 0.82, 0.05), 0.06, "jackknife"),
    ):
        d = d._replace(loss=loss)
        shift, bound = None, loss
        options: dict[str, Any] = {"covariance": how}
        if how == "fixed readers":  # the truth is that of these readers
            options = {"fixed": "readers"}
            shift = d.shifts(rng)
            bound = float(-np.subtract(*norm.cdf(shift / np.sqrt(2)).mean(axis=1)))
        found = []
        for _ in range(studies):
            data = study(rng, d, shift)
            pair = trueness.reader_study(data, margin=bound, **options).pairs[0]
            worse = pair.p_noninferior
            interval = pair.difference
            covered = interval.low <= -bound <= interval.high
            equivalent = pair.p_equivalent < 0.05
            found.append([worse < 0.025, worse < 0.05, equivalent, covered])
        row(d.nested + " nested" if d.nested else "crossed", d.readers,
            d.size, f"{d.area:g}", f"{d.interplay:g}", f"{bound:.3f}", how,
            *(float(x) for x in np.mean(found, axis=0)))  # fmt: skip


def typical(rng: np.random.Generator, pilot: Design, studies: int) -> ReaderStudy:
    """Give a pilot study whose components are means over many."""
    from dataclasses import astuple, replace

    found = [trueness.reader_study(split(rng, pilot.groups, pilot, 0))
             for _ in range(studies)]  # fmt: skip
    squares = np.mean([astuple(f.components)[:7] for f in found], axis=0)
    ms_t, ms_r, ms_tr, var, cov1, cov2, cov3 = map(float, squares)
    interplay = max(ms_tr - var + cov1 + cov2 - cov3, 0.0)
    reader = max((ms_r - ms_tr) / 2 - cov1 + cov3, 0.0)
    if pilot.nested in ("readers", "both"):
        reader, interplay = max(ms_r - var + cov2, 0.0), 0.0
    mean = ReaderComponents(ms_t, ms_r, ms_tr, var, cov1, cov2, cov3, reader, interplay)
    return replace(found[0], components=mean)


# pilot, loss, and of the new study readers and cases of a group, and groups
PLANS = (
    (Design(5, (50, 50), 0.86), 0.05, 6, (80, 80), 1),
    (Design(10, (25, 25), 0.9), 0.06, 5, (90, 90), 1),
    (Design(5, (50, 50), 0.86, 0.05), 0.07, 9, (60, 60), 1),
    (Design(4, (60, 60), 0.92, 0.02), 0.05, 10, (60, 60), 1),
    (Design(8, (40, 80), 0.75, 0.03), 0.1, 4, (100, 200), 1),
    (Design(5, (30, 30), 0.86, 0.02, "cases"), 0.05, 5, (60, 60), 1),
    (Design(8, (30, 40), 0.8, 0.03, "cases"), 0.09, 4, (60, 80), 1),
    (Design(4, (40, 40), 0.8, 0.0, "cases"), 0.06, 10, (25, 25), 1),
    (Design(5, (40, 40), 0.86, 0.02, "readers"), 0.1, 7, (60, 60), 1),
    (Design(8, (30, 60), 0.78, 0.05, "readers"), 0.15, 4, (60, 120), 1),
    (Design(6, (40, 40), 0.84, 0.03, "both"), 0.12, 10, (60, 60), 1),
    (Design(5, (60, 30), 0.9, 0.0, "both"), 0.1, 4, (100, 60), 1),
    (Design(5, (40, 40), 0.82, 0.02, "treatments"), 0.1, 8, (80, 80), 1),
    (Design(6, (60, 60), 0.9, 0.05, "treatments"), 0.1, 4, (90, 90), 1),
    (Design(3, (30, 30), 0.84, 0.03, "", 0.0, 2), 0.08, 5, (45, 45), 2),
    (Design(3, (30, 30), 0.84, 0.0, "", 0.0, 2), 0.07, 2, (30, 30), 4),
    (Design(6, (40, 40), 0.8, 0.04), 0.1, 3, (40, 40), 3),
    (Design(4, (30, 50), 0.88, 0.02, "", 0.0, 2), 0.06, 8, (60, 100), 1),
)


def promises(rng: Any, pilot: Design, loss: float, given: dict, pilots: int) -> Any:
    """Which power and which assurance do single pilots promise, on average?"""
    found = []
    for _ in range(pilots):
        data = split(rng, pilot.groups, pilot._replace(loss=loss), 0)
        study_of_few = trueness.reader_study(data)
        one = trueness.plan_readers(study_of_few, difference=loss, **given)
        found.append((one.power[0], one.assurance[0]))
    return [float(x) for x in np.mean(found, axis=0)]


def new_study(plan: tuple) -> dict[str, int]:
    """Give the whole number of readers and cases, and the groups, of a new study."""
    pilot, _, readers, cases, groups = plan
    each = {"cases": readers, "both": 2, "treatments": 2}.get(pilot.nested, groups)
    given = {"readers": readers * groups, "cases": sum(cases) * each}
    return given | ({"groups": groups} if pilot.nested != "cases" else {})


def pilots(rng: np.random.Generator, studies: int) -> None:
    head("row of the table of plans", "power", "assurance")
    for k, (pilot, loss, *rest) in enumerate(PLANS):
        given = new_study((pilot, loss, *rest))
        row(k + 1, *promises(rng, pilot, loss, given, studies))


def plan(rng: np.random.Generator, studies: int) -> None:
    head("pilot", "design", "AUC", "interplay", "difference", "new readers",
         "new cases", "planned", "realised", "planned, margin", "realised, margin",
         "mean plan of single pilots")  # fmt: skip
    for pilot, loss, readers, cases, groups in PLANS:
        # components at the mean of both treatments, as a pilot without an effect has
        middle = typical(rng, pilot._replace(area=pilot.area - loss / 2), studies)
        d = pilot._replace(readers=readers, cases=cases, loss=loss)
        given = new_study((pilot, loss, readers, cases, groups))
        promised = trueness.plan_readers(middle, difference=loss, **given).power[0]
        equal = typical(rng, pilot, studies)
        secure = trueness.plan_readers(equal, margin=loss, **given).power[0]
        single = promises(rng, pilot, loss, given, 200)[0]
        hit, safe = [], []
        for _ in range(studies):
            hit.append(trueness.reader_study(split(rng, groups, d, 0)).p_value)
            data = split(rng, groups, d._replace(loss=0.0), 0)
            found = trueness.reader_study(data, margin=loss).pairs[0]
            safe.append(found.p_noninferior)
        times = (f"{n} x " if n > 1 else "" for n in (pilot.groups, groups))
        old, new = times
        row(f"{old}{pilot.readers}, {pilot.size}",
            pilot.nested + " nested" if pilot.nested else "crossed", f"{pilot.area:g}",
            f"{pilot.interplay:g}", f"{loss:g}", f"{new}{readers}", d.size,
            float(promised), share(hit, 0.05), float(secure), share(safe, 0.025),
            single)  # fmt: skip


if __name__ == "__main__":
    asked = sys.argv[1] if len(sys.argv) > 1 else "few"
    many = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    parts = {"few": few, "margin": margin, "plan": plan, "pilots": pilots}
    # one row of the plans at a time: python benchmarks/study_readers.py plan 2000 7
    PLANS = (
        PLANS[slice(int(sys.argv[3]), int(sys.argv[3]) + 1)] if sys.argv[3:] else PLANS
    )
    parts[asked](np.random.default_rng(20261116), many)
