"""What is said of two cuts, of cuts for groups, of a range, of several classifiers?

The command line and the report speak with the same sentences.
"""

from __future__ import annotations

from trueness._core.numbers import counted, level_text, listed, percent, written
from trueness.metrics.words import text_of
from trueness.threshold.decisions import Decision
from trueness.threshold.group_cuts import GroupThresholds
from trueness.threshold.operating_point import OperatingPoint
from trueness.threshold.zone_validation import GuaranteedZones, ZoneValidation
from trueness.threshold.zones import Zones


def amount(value: float) -> str:
    """Write money with its thousands, shares with four digits.

    >>> amount(12345.6), amount(0.25)
    ('12,346', '0.25')
    """
    return f"{value:,.0f}" if abs(value) >= 1e4 else written(value)


def objective_of(text: str) -> str:
    """Give what was maximised or minimised, in words."""
    name = text.partition(" ")[2]
    if name == "youden":
        return "Youden's index (sensitivity + specificity - 1)"
    return text_of(name)


def zone_sentences(z: Zones) -> list[str]:
    """Say where yes and no end, and what the zone of doubt is worth."""
    where = f"One cut is enough: say yes from {z.upper:.6g} on."
    if z.defer:
        where = (
            f"Say no below {z.lower:.6g} and yes from {z.upper:.6g} on; between them, "
            f"for {percent(z.defer)} of the cases, a person should look."
        )
    single = "no single cut meets the constraints"
    if z.single == z.single:
        single = f"with the best single cut it is {amount(z.single)}"
    found = f"Then {objective_of(z.objective)} is {amount(z.value)}; {single}."
    more = len(z.pairs) - 1
    others = counted(more, "other pair of cuts is", "other pairs of cuts are")
    return [where, found, *([f"{others} as good."] if more else [])]


def zone_check(v: ZoneValidation) -> str:
    """Say what to expect of two cuts on new cases."""
    e = v.corrected
    return (
        f"The cuts were tuned on the same data. On new cases expect {written(e.value)} "
        f"({level_text(e.level)} interval {written(e.low)} to {written(e.high)}) "
        f"instead of {written(v.value)}."
    )


def guaranteed_zone_sentence(z: GuaranteedZones) -> str:
    """Say what two cuts promise, and how many cases lie between them."""
    return (
        f"Say no below {z.lower:.6g} and yes from {z.upper:.6g} on. With "
        f"{level_text(z.confidence)} confidence the population then has "
        f"{z.constraint}. Between the cuts lie {percent(z.defer)} of the cases."
    )


def zone_rows(z: Zones | GuaranteedZones) -> list[list[object]]:
    """Count the cases in each zone."""
    c = z.confusion
    doubt = [["doubt", z.deferred_pos, z.deferred_neg]] if isinstance(z, Zones) else []
    return [["yes", int(c.tp), int(c.fp)], *doubt, ["no", int(c.fn), int(c.tn)]]


def group_sentences(g: GroupThresholds) -> list[str]:
    """Say what a cut for each group gives, and what one cut for all would."""
    proof = "no other choice of cuts is better"
    if not g.proved:
        proof = f"no choice of cuts is better than {amount(g.bound)}"
    what = objective_of(g.objective)
    differ = ", ".join(f"{k} {v:.4g}" for k, v in g.common_gaps.items())
    lines = [f"With a cut for each group {what} is {amount(g.value)}; {proof}."]
    lines += [f"{name}: {e}." for name, e in g.gaps.items()]
    if g.free_value != g.value:
        lines.append(f"Without limits on differences it is {amount(g.free_value)}.")
    if g.common_value == g.common_value:
        lines.append(
            f"One cut for all, {g.common_threshold:.6g}, gives {amount(g.common_value)}"
            + (f" with {differ}." if differ else ".")
        )
    return lines


def group_rows(g: GroupThresholds) -> list[list[object]]:
    """Give the threshold of each group, and what comes of it there."""
    rows: list[list[object]] = []
    for name, at in g.thresholds.items():
        c = g.confusions[name]
        tp, flagged, pos = int(c.tp), int(c.tp + c.fp), int(c.tp + c.fn)
        rows.append([name, at, flagged, tp / pos, tp / flagged if flagged else None])
    return rows


GROUP_HEAD = ("group", "threshold", "flagged", "recall", "precision")


def prevalence_sentences(p: OperatingPoint) -> list[str]:
    """Say where to cut when the prevalence of use is known, or lies in a range."""
    what, r = objective_of(p.objective), p.robust
    if r is None:
        return [
            f"At a prevalence of {percent(p.prevalence)} flag from {p.threshold:.4g} "
            f"on; {what} is then {amount(p.value)}.",
            *p.notes,
        ]
    low, high = (percent(v) for v in r.prevalence)
    return [
        f"If the prevalence lies between {low} and {high}, flag from {p.threshold:.4g} "
        f"on: {what} is then {amount(p.value)} or better, which no other threshold "
        f"promises. It falls short of the best for the true prevalence by "
        f"{amount(r.regret)} at most.",
        f"The threshold that never falls short by much is {r.regret_threshold:.4g}: by "
        f"{amount(r.smallest_regret)} at most.",
        *r.notes,
    ]


def decision_sentences(d: Decision) -> list[str]:
    """Say which classifier should decide, and what remains of the choice."""
    what, e = objective_of(d.point.objective), d.corrected
    others = [k for k, v in d.chosen.items() if k != d.classifier and v >= 0.05]
    lines = [
        f"{d.classifier} should decide: flag from {d.point.threshold:.4g} on; {what} "
        f"is then {amount(d.value)}.",
        f"The best of {len(d.values)} looks better than it is. On new cases expect "
        f"{amount(e.value)} ({level_text(e.level)} interval {amount(e.low)} to "
        f"{amount(e.high)}).",
        f"If the choice were repeated on similar data, it would be {d.classifier} in "
        f"{percent(d.chosen[d.classifier])} of the samples"
        + (f", and sometimes {listed(others)}." if others else "."),
    ]
    if len(d.mixture) > 1:
        parts = listed([
            f"{x.classifier} from {x.threshold:.4g} on in {percent(x.probability)}"
            for x in d.mixture
        ])  # fmt: skip
        lines.append(
            f"A coin that decides which rule is used ({parts} of the cases) would give "
            f"{amount(d.mixture_value)}: it treats the same case differently from time "
            f"to time."
        )
    return lines
