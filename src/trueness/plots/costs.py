"""What do errors cost, and what is it worth to act on the scores, as a picture?"""

from __future__ import annotations

from typing import Any

import altair as alt

from trueness.counts.answers import of_counts
from trueness.plots._lines import ONE, Axis, Source, bands, finished, lines, named
from trueness.plots._theme import COLOURS, GREY, frame
from trueness.threshold.costs import DecisionCurve
from trueness.threshold.costs import cost_curve as costs
from trueness.threshold.costs import decision_curve as decisions

WEIGHT = Axis("weight", "Weight of missed positives (prevalence and prices)")
COST = Axis("cost", "Cost (share of the largest possible)", 0.0, 0.5)


@of_counts
def cost_curve(x: Source, *, level: float = 0.95, title: str = "") -> Any:
    """What do errors cost at best, for every weight of the two kinds? A chart.

    The broken line is the better of "flag all" and "flag none".

    Parameters
    ----------
    x
        A tally, a panel, or a mapping from name to tally.
    level
        Confidence level of the bands.
    title
        Shown above the figure.
    """
    found = {name: costs(t, level=level) for name, t in named(x).items()}
    drawn = {
        name: {
            "weight": c.weight,
            "cost": c.cost,
            "low": c.low,
            "high": c.high,
            "trivial": c.trivial,
            "cut": c.threshold,
        }
        for name, c in found.items()
    }
    curves = lines(drawn, WEIGHT, COST)
    trivial = (
        alt.Chart(frame({"weight": [0, 0.5, 1], "cost": [0, 0.5, 0]}))
        .mark_line(color=GREY, strokeDash=[4, 4], strokeWidth=1)
        .encode(x=alt.X("weight:Q"), y=alt.Y("cost:Q"))
    )
    layers = [bands(drawn, WEIGHT, COST), trivial, curves]
    return finished(layers, "Cost curve", found, title)


@of_counts
def decision_curve(
    x: Source,
    *,
    prevalence: float | None = None,
    level: float = 0.95,
    standardised: bool = False,
    title: str = "",
) -> Any:
    """What is it worth to act on the scores? The models, acting always, acting never.

    Parameters
    ----------
    x
        A tally, a panel, or a mapping from name to tally; scores are probabilities.
    prevalence
        Share of positives where the classifier will be used; that of each sample when
        None.
    level
        Confidence level of the bands.
    standardised
        Divide by the prevalence, so that 1 is the best possible.
    title
        Shown above the figure.
    """
    named_so = {_called(name): t for name, t in named(x).items()}
    found = {
        name: decisions(t, prevalence=prevalence, level=level)
        for name, t in named_so.items()
    }
    drawn = {name: _values(d, standardised) for name, d in found.items()}
    always = {
        d.prevalence: d.treat_all / (d.prevalence if standardised else 1)
        for d in found.values()
    }
    ceiling = max(
        *(float(v["high"].max()) for v in drawn.values()),
        *(float(v.max()) for v in always.values()),
    )
    # far below zero nothing is to be learned: acting never is better
    what = "Standardised net benefit" if standardised else "Net benefit"
    act = Axis("p", "Probability at which one acts")
    worth = Axis("y", what, -ceiling / 4, 1.05 * ceiling)
    p = next(iter(found.values())).threshold
    others = [{"act always": {"p": p, "y": v}} for v in always.values()]
    others.append({"act never": {"p": p, "y": 0 * p}})
    colour, dash = _strategies(list(drawn))
    layers = [
        bands(drawn, act, worth).encode(color=colour),
        *(
            lines(curves, act, worth).encode(color=colour, strokeDash=dash)
            for curves in (*others, drawn)
        ),
    ]
    return finished(layers, f"Decision curve: {what.lower()}", found, title)


def _called(name: str) -> str:
    return "act on the score" if name == ONE else name


def _values(d: DecisionCurve, standardised: bool) -> dict[str, Any]:
    if not standardised:
        return {"p": d.threshold, "y": d.net_benefit, "low": d.low, "high": d.high}
    low, high = d.standardised_low, d.standardised_high
    return {"p": d.threshold, "y": d.standardised, "low": low, "high": high}


def _strategies(names: list[str]) -> tuple[Any, Any]:
    """Give colours and dashes, with one legend for both."""
    domain = [*names, "act always", "act never"]
    legend: Any = alt.Legend(
        orient="bottom",
        columns=3,
        symbolType="stroke",
        symbolOpacity=1,
        symbolStrokeWidth=2,
    )
    palette = [COLOURS[k % len(COLOURS)] for k in range(len(names))]
    colours = alt.Scale(domain=domain, range=[*palette, GREY, GREY])
    dashes = alt.Scale(domain=domain, range=[[1, 0]] * len(names) + [[6, 3], [2, 2]])
    return (
        alt.Color("curve:N", title=None, scale=colours, legend=legend),
        alt.StrokeDash("curve:N", title=None, scale=dashes, legend=legend),
    )
