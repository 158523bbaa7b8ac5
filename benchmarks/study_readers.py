"""Do reader studies keep their level, and is planned power reached?

    python benchmarks/study_readers.py [WHAT] [STUDIES]

Studies by the model of Roe and Metz (1997): variances of readers .01, of their
interplay with treatments as given, of cases .3, cases and treatments .3, cases and
readers .2, and the rest .2, so that the scores of a class have variance 1 and the AUC
of a reader with shift m is Phi(m / sqrt(2)). ``size``: shares of p < 0.05 for equal
treatments; ``groups``: for groups of readers with cases of their own, and for missing
readings; ``nested``: also for nested designs, with coverage. ``margin``: the first
treatment is worse by exactly the margin; shares of studies that call it non-inferior or
equivalent. ``plan``: power that ``plan_readers`` promises, from components that are
means over many pilot studies, and the share of new studies that find the difference.
``endpoints``: other metrics, two to four treatments, readers who use the scale each in
their own way, other variances, fixed readers or cases, readings missing.
``pilots``: the mean of power and assurance that single pilot studies promise.
``few``: two to five readers who differ much in what a treatment does for them, with
both reference distributions. ``fixed``: fixed cases, and fixed readers who differ.
Tables are in docs/maths/readers.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
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


def designs() -> Iterator[Design]:
    for readers, cases in ((3, (25, 25)), (5, (25, 25)), (5, (50, 50)), (10, (25, 75))):
        for area in (0.7, 0.86, 0.96):
            for interplay in (0.0, 0.1):
                yield Design(readers, cases, area, interplay)


def size(rng: np.random.Generator, studies: int) -> None:
    asked: tuple[dict[str, Any], ...] = (
        {}, {"covariance": "delong"}, {"method": "gallas"})  # fmt: skip
    head("readers", "cases", "AUC", "interplay", "jackknife", "delong", "gallas",
         "cases nested", "readers nested", "both nested")  # fmt: skip
    for d in designs():
        p: list[list[float]] = [[] for _ in range(6)]
        for _ in range(studies):
            data = study(rng, d)
            found = [trueness.reader_study(data, **a) for a in asked]
            for kind in ("cases", "readers", "both"):
                data = study(rng, d._replace(nested=kind))
                found.append(trueness.reader_study(data))
            for one, f in zip(p, found, strict=True):
                one.append(f.p_value)
        row(d.readers, d.size, f"{d.area:g}", f"{d.interplay:g}",
            *(share(one, 0.05) for one in p))  # fmt: skip


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


def groups(rng: np.random.Generator, studies: int) -> None:
    head("groups", "readers", "cases", "AUC", "interplay", "missing", "jackknife",
         "delong", "unbiased", "gallas")  # fmt: skip
    for number, d, missing in (
        (2, Design(3, (30, 30), 0.8, 0.05), 0.0),
        (3, Design(2, (20, 20), 0.86), 0.0),
        (4, Design(3, (20, 40), 0.7, 0.1), 0.0),
        (1, Design(5, (40, 40), 0.8, 0.05), 0.15),
        (2, Design(4, (30, 30), 0.86, 0.02), 0.1),
    ):
        p: list[list[float]] = []
        for _ in range(studies):
            data = split(rng, number, d, missing)
            ways = ("jackknife", "delong", "unbiased")
            found = [trueness.reader_study(data, covariance=way) for way in ways]
            found.append(trueness.reader_study(data, method="gallas"))
            p.append([f.p_value for f in found])
        shares = [share(list(one), 0.05) for one in np.transpose(p)]
        shown = (f"{x:g}" for x in (d.area, d.interplay, missing))
        row(number, d.readers, d.size, *shown, *shares)


def nested(rng: np.random.Generator, studies: int) -> None:
    """Print sizes, and coverage of a difference of .06, of nested and split designs."""
    head("design", "groups", "readers", "cases", "AUC", "interplay", "missing", "size",
         "coverage")  # fmt: skip
    for d, number, missing in (
        (Design(4, (30, 50), 0.8, 0.04, "cases"), 1, 0.0),
        (Design(5, (40, 40), 0.88, 0.0, "readers"), 1, 0.0),
        (Design(6, (30, 60), 0.75, 0.06, "both"), 1, 0.0),
        (Design(3, (35, 35), 0.83, 0.03), 2, 0.0),
        (Design(2, (25, 40), 0.78, 0.05), 4, 0.0),
        (Design(6, (50, 30), 0.9, 0.02), 1, 0.12),
    ):
        p, held = [], []
        for _ in range(studies):
            data = split(rng, number, d, missing)
            p.append(trueness.reader_study(data).p_value)
            data = split(rng, number, d._replace(loss=0.06), missing)
            gap = trueness.reader_study(data).pairs[0].difference
            held.append(gap.low <= -0.06 <= gap.high)
        shown = (f"{x:g}" for x in (d.area, d.interplay, missing))
        row(d.nested + " nested" if d.nested else "crossed", number, d.readers, d.size,
            *shown, share(p, 0.05), float(np.mean(held)))  # fmt: skip


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
    """Print sizes, and coverage of a difference of .06, by both distributions."""
    ways = ("student", "behrens-fisher")
    head("design", "readers", "cases", "AUC", "interplay",
         *(f"{x}, {w}" for x in ("size", "coverage") for w in ways))  # fmt: skip
    for d in FEW:
        p, held = [], []
        for _ in range(studies):
            null, other = study(rng, d), study(rng, d._replace(loss=0.06))
            p.append([trueness.reader_study(null, reference=w).p_value for w in ways])
            gaps = [trueness.reader_study(other, reference=w).pairs[0].difference
                    for w in ways]  # fmt: skip
            held.append([g.low <= -0.06 <= g.high for g in gaps])
        row(d.nested + " nested" if d.nested else "crossed", d.readers, d.size,
            f"{d.area:g}", f"{d.interplay:g}",
            *(float(x) for x in np.mean(np.array(p) < 0.05, axis=0)),
            *(float(x) for x in np.mean(held, axis=0)))  # fmt: skip


def fixed_cases(rng: np.random.Generator, d: Design, seed: int) -> Any:
    """Draw readers of cases that stay; give also the true difference on these cases."""
    n, y = sum(d.cases), np.repeat([1, 0], d.cases)
    case = np.sqrt(0.5) * np.random.default_rng(seed).normal(size=n)
    own = np.sqrt(0.2) * rng.normal(size=(1, d.readers, n))
    rest = np.sqrt(0.2) * rng.normal(size=(2, d.readers, n))
    t, r, c = (x.ravel() for x in np.indices((2, d.readers, n)))
    s = y * d.shifts(rng)[:, :, None] + case + own + rest
    mean = np.sqrt(2.01 + d.interplay) * norm.ppf([d.area - d.loss, d.area])
    apart = case[y == 1][:, None] - case[y == 0]
    wide = np.sqrt(0.8 + 0.01 + d.interplay)
    areas = [norm.cdf((m + apart) / wide).mean() for m in mean]
    data = {"reader": r, "treatment": t, "case": c, "label": y[c], "score": s.ravel()}
    return data, float(areas[0] - areas[1])


def fixed_readers(rng: np.random.Generator, d: Design, seed: int) -> Any:
    """Draw cases of readers who stay: with equal treatments they change places."""
    kept = np.random.default_rng(seed)
    base = np.sqrt(0.01 + d.interplay) * kept.normal(size=d.readers)
    both = np.array([base, kept.permutation(base)])
    shift = both + np.sqrt(2) * norm.ppf([[d.area - d.loss], [d.area]])
    areas = norm.cdf(shift / np.sqrt(2)).mean(axis=1)
    return study(rng, d, shift), float(areas[0] - areas[1])


FIXED = (
    (fixed_cases, Design(4, (30, 30), 0.85, 0.05)),
    (fixed_cases, Design(6, (50, 80), 0.8, 0.1)),
    (fixed_cases, Design(3, (40, 40), 0.9, 0.02)),
    (fixed_cases, Design(8, (20, 20), 0.75, 0.0)),
    (fixed_readers, Design(4, (40, 40), 0.85, 0.1)),
    (fixed_readers, Design(3, (30, 60), 0.8, 0.3)),
    (fixed_readers, Design(6, (25, 25), 0.9, 0.05)),
    (fixed_readers, Design(8, (60, 60), 0.75, 0.1)),
    (fixed_readers, Design(4, (30, 30), 0.8, 0.1, "cases")),
    (fixed_readers, Design(4, (50, 40), 0.85, 0.1, "treatments")),
    (fixed_readers, Design(5, (40, 40), 0.8, 0.1, "readers")),
    (fixed_readers, Design(4, (60, 40), 0.85, 0.1, "both")),
)


def fixed(rng: np.random.Generator, studies: int) -> None:
    """Print sizes, and coverage of a difference, where cases or readers are fixed."""
    head("fixed", "design", "readers", "cases", "AUC", "interplay", "size", "coverage")
    for k, (draw, d) in enumerate(FIXED):
        what = draw.__name__.split("_")[1]
        asked = {what: "fixed"}
        p, held = [], []
        for _ in range(studies):
            data, _ = draw(rng, d, k)
            p.append(trueness.reader_study(data, **asked).p_value)
            data, truth = draw(rng, d._replace(loss=0.06), k)
            gap = trueness.reader_study(data, **asked).pairs[0].difference
            held.append(gap.low <= truth <= gap.high)
        row(what, d.nested + " nested" if d.nested else "crossed", d.readers, d.size,
            f"{d.area:g}", f"{d.interplay:g}", share(p, 0.05),
            float(np.mean(held)))  # fmt: skip


def margin(rng: np.random.Generator, studies: int) -> None:
    head("design", "readers", "cases", "AUC", "interplay", "margin", "covariance",
         *(f"{x}, {scale}" for scale in ("plain", "logit")
           for x in ("2.5 %", "5 %", "equivalent", "interval")))  # fmt: skip
    for d, loss, how in (
        (Design(3, (25, 25), 0.86, 0.05), 0.1, "jackknife"),
        (Design(5, (50, 50), 0.86), 0.05, "jackknife"),
        (Design(5, (50, 50), 0.86, 0.1), 0.05, "delong"),
        (Design(5, (50, 50), 0.96, 0.05), 0.05, "unbiased"),
        (Design(8, (40, 80), 0.75, 0.05), 0.1, "jackknife"),
        (Design(12, (100, 100), 0.9, 0.02), 0.03, "gallas"),
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
            options = {"readers": "fixed"}
            shift = d.shifts(rng)
            bound = float(-np.subtract(*norm.cdf(shift / np.sqrt(2)).mean(axis=1)))
        elif how == "gallas":
            options = {"method": "gallas"}
        found = []
        for _ in range(studies):
            data, one = study(rng, d, shift), []
            for scale in ("plain", "logit"):
                words = {"margin": bound, "scale": scale, **options}
                pair = trueness.reader_study(data, **words).pairs[0]
                worse, end = pair.p_noninferior, pair.difference
                one += [worse < 0.025, worse < 0.05, pair.p_equivalent < 0.05,
                        end.low <= -bound <= end.high]  # fmt: skip
            found.append(one)
        row(d.nested + " nested" if d.nested else "crossed", d.readers,
            d.size, f"{d.area:g}", f"{d.interplay:g}", f"{bound:.3f}", how,
            *(float(x) for x in np.mean(found, axis=0)))  # fmt: skip


class Endpoint(NamedTuple):
    """A study of several treatments, whose readers also use the scale differently."""

    metric: str
    treatments: int
    readers: int
    cases: tuple[int, int]
    value: float  # of the metric
    interplay: float = 0.0
    own: float = 0.01  # variance of readers
    level: float = 0.05  # of where readers put all scores, and as much by treatment
    # of cases, cases and treatments, cases and readers, and the rest
    parts: tuple[float, float, float, float] = (0.3, 0.3, 0.2, 0.2)
    fixed: str = ""
    missing: float = 0.0

    @property
    def spread(self) -> float:
        return 1 + 2 * self.level

    def apart(self, value: float) -> float:
        """By how much do positives score higher (a recall is that at 0)?"""
        shift = norm.ppf(value)
        if self.metric == "auc":
            return float(shift * np.sqrt(2 + self.own + self.interplay))
        if self.metric == "specificity":
            return 1.5
        return float(shift * np.sqrt(self.spread + self.own + self.interplay))

    @property
    def below(self) -> float:
        """How far below 0 are the negatives?"""
        return float(norm.ppf(self.value) * np.sqrt(self.spread))


def readings(rng: np.random.Generator, d: Endpoint, loss: float, kept: Any) -> Any:
    """Draw a study whose first treatment is worse by ``loss``; ``kept`` stays as is."""
    i, j, n = d.treatments, d.readers, sum(d.cases)
    y = np.repeat([1, 0], d.cases)
    mean = np.array([d.apart(d.value - loss * (t == 0)) for t in range(i)])
    own, both = np.sqrt(d.own), np.sqrt(d.interplay)
    drawn = {
        "readers": own * rng.normal(size=(1, j, 1)) + both * rng.normal(size=(i, j, 1)),
        "cases": sum(np.sqrt(v) * rng.normal(size=(k, 1, n))
                     for v, k in zip(d.parts[:2], (1, i), strict=True)),
    } | kept  # fmt: skip
    level = rng.normal(size=(1, j, 1)) + rng.normal(size=(i, j, 1))
    s = y * (mean[:, None, None] + drawn["readers"]) + drawn["cases"]
    s = s + np.sqrt(d.level) * level * (d.metric != "auc")
    s = s + np.sqrt(d.parts[2]) * rng.normal(size=(1, j, n))
    s = s + np.sqrt(d.parts[3]) * rng.normal(size=(i, j, n))
    if d.metric == "specificity":  # the loss lowers it, by higher scores of negatives
        move = norm.ppf(d.value) - norm.ppf(d.value - loss)
        s -= (1 - y) * d.below
        s[0] += (1 - y) * move * np.sqrt(d.spread)
    t, r, c = (x.ravel() for x in np.indices((i, j, n)))
    some = rng.random(t.size) >= d.missing
    columns = {
        "reader": r,
        "treatment": t,
        "case": c,
        "label": y[c],
        "score": s.ravel(),
    }
    return {k: v[some] for k, v in columns.items()}


ENDPOINTS = (
    Endpoint("recall", 2, 4, (40, 40), 0.8),
    Endpoint("specificity", 3, 5, (30, 100), 0.85, parts=(0.1, 0.1, 0.2, 0.6)),
    Endpoint("recall", 2, 3, (25, 50), 0.7, 0.1),
    Endpoint("recall", 2, 5, (50, 50), 0.95, 0.02),
    Endpoint("recall", 3, 6, (60, 40), 0.75, missing=0.15),
    Endpoint("specificity", 4, 8, (100, 100), 0.9, level=0.02),
    Endpoint("auc", 3, 5, (50, 50), 0.85, 0.1, own=0.1),
    Endpoint("auc", 4, 4, (30, 60), 0.8, 0.03),
    Endpoint("auc", 3, 10, (25, 25), 0.75, parts=(0.1, 0.1, 0.2, 0.6)),
    Endpoint("auc", 4, 3, (25, 25), 0.9, own=0.1),
    Endpoint("auc", 3, 4, (40, 60), 0.85, 0.05, missing=0.2),
    Endpoint("auc", 2, 5, (50, 50), 0.85, 0.05, fixed="readers"),
    Endpoint("auc", 3, 4, (30, 70), 0.9, 0.05, fixed="readers"),
    Endpoint("recall", 2, 5, (60, 60), 0.8, level=0.0, fixed="readers"),
)


def endpoints(rng: np.random.Generator, studies: int) -> None:
    """Print sizes of the test of all treatments, and coverage of a difference of .06.

    With fixed readers the effect of a treatment is the same for all of them, as these
    readers are then all there are.
    """
    head("metric", "treatments", "readers", "cases", "value", "interplay", "own",
         "errors", "missing", "fixed", "jackknife", "delong", "unbiased", "gallas",
         "coverage")  # fmt: skip
    ways: tuple[dict[str, Any], ...] = (
        {}, {"covariance": "delong"}, {"covariance": "unbiased"},
        {"method": "gallas"})  # fmt: skip
    for d in ENDPOINTS:
        asked: dict[str, Any] = {"metric": d.metric}
        asked |= {} if d.metric == "auc" else {"threshold": 0.0}
        kept: dict[str, Any] = {}
        some = ways
        if d.fixed:
            asked |= {"readers": "fixed"}
            kept = {"readers": np.sqrt(d.own) * rng.normal(size=(1, d.readers, 1))}
            some = ways[:3]
        truth = true_gap(d, kept)
        p, held = [], []
        for _ in range(studies):
            data = readings(rng, d, 0.0, kept)
            found = [trueness.reader_study(data, **asked, **way) for way in some]
            p.append([f.p_value for f in found] + [np.nan] * (4 - len(some)))
            gap = trueness.reader_study(readings(rng, d, 0.06, kept), **asked)
            pair = gap.pairs[0].difference
            held.append(pair.low <= truth <= pair.high)
        sizes = [float(np.mean(x < 0.05)) if x.max() == x.max() else ""
                 for x in np.transpose(p)]  # fmt: skip
        row(d.metric, d.treatments, d.readers, f"{d.cases[0]} + {d.cases[1]}",
            f"{d.value:g}", f"{d.interplay:g}", f"{d.own:g}",
            "alone" if d.parts[3] > 0.5 else "shared", f"{d.missing:g}",
            d.fixed, *sizes, float(np.mean(held)))  # fmt: skip


def true_gap(d: Endpoint, kept: dict[str, Any]) -> float:
    """Give the true difference; that of fixed readers is the mean over them."""
    if not kept:
        return -0.06
    means = []
    for value in (d.value - 0.06, d.value):
        shift = d.apart(value) + kept["readers"].ravel()
        wide = np.sqrt(2 if d.metric == "auc" else d.spread)
        means.append(norm.cdf(shift / wide).mean())
    return float(means[0] - means[1])


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
    asked = sys.argv[1] if len(sys.argv) > 1 else "size"
    many = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    parts = {
        "size": size,
        "groups": groups,
        "nested": nested,
        "margin": margin,
        "endpoints": endpoints,
        "few": few,
        "fixed": fixed,
    }
    # one row of the plans at a time: python benchmarks/study_readers.py plan 2000 7
    PLANS = (
        PLANS[slice(int(sys.argv[3]), int(sys.argv[3]) + 1)] if sys.argv[3:] else PLANS
    )
    (parts | {"plan": plan, "pilots": pilots})[asked](
        np.random.default_rng(20261116), many
    )
