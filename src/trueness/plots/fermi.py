"""What does a rank say, and when is it wrong, as a picture?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.figures import POINTS
from trueness.fermi.distribution import FermiDirac
from trueness.fermi.distribution import fermi_dirac as solve
from trueness.plots._theme import GREY, SIZE, alt, frame, stacked, styled


def rank_probability(
    fd: FermiDirac | Mapping[str, FermiDirac],
    observed: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    title: str = "",
) -> Any:
    """How likely is a positive at each rank, and how often was there one?

    Kim et al. (2021), Fig. 1B: the Fermi-Dirac curve, with its threshold as a dashed
    line, and observed shares of positives as points.

    Parameters
    ----------
    fd
        One distribution, or several by name.
    observed
        Share of positives at ranks 1 to n, as :func:`trueness.rank_frequencies` gives;
        by name where there are several.
    title
        Shown above the figure.
    """
    several = dict(fd) if isinstance(fd, Mapping) else {"Fermi-Dirac": fd}
    seen = dict(observed) if isinstance(observed, Mapping) else {}
    if observed is not None and not isinstance(observed, Mapping):
        seen = dict.fromkeys(several, observed)
    colour = alt.Color("name:N", title=None, legend=None if len(several) == 1 else {})
    x = alt.X("rank:Q", title="rank (1 is the highest score)")
    y = alt.Y("p:Q", title="share of positives", scale=alt.Scale(domain=[0, 1]))
    line = alt.Chart(stacked(_curve(name, f) for name, f in several.items()))
    line = line.mark_line().encode(x=x, y=y, color=colour)
    rule = alt.Chart(_thresholds(several)).mark_rule(strokeDash=[4, 3])
    rule = rule.encode(x="rank:Q", color=colour)
    layers = [line, rule]
    if seen:
        shares = {name: np.asarray(share) for name, share in seen.items()}
        points = stacked(
            {"name": name, "rank": range(1, p.size + 1), "p": p}
            for name, p in shares.items()
        )
        dots = alt.Chart(points).mark_circle(size=14, opacity=0.7)
        layers.append(dots.encode(x="rank:Q", y="p:Q", color=colour))
    text = "Probability of being positive by rank; dashed: the threshold r*."
    return styled(alt.layer(*layers), title, text)


def _curve(name: str, fd: FermiDirac) -> dict[str, Any]:
    rank = np.linspace(1, fd.n, min(fd.n, POINTS))
    return {"name": name, "rank": rank, "p": fd.probability(rank)}


def _thresholds(several: dict[str, FermiDirac]) -> Any:
    inside = {k: f for k, f in several.items() if 1 <= f.rank_threshold <= f.n}
    return frame(
        {"name": list(inside), "rank": [f.rank_threshold for f in inside.values()]}
    )


def fermi_parameters(n: int = 1000) -> Any:
    """How do beta and mu follow from AUC and prevalence? Kim et al. (2021), Fig. 2.

    Parameters
    ----------
    n
        Number of cases; beta n and mu / n hardly depend on it.
    """
    area, parts = np.linspace(0.52, 0.98, 47), []
    for rho in (0.1, 0.3, 0.5, 0.7, 0.9):
        found = [solve(n=n, prevalence=rho, auc=float(a)) for a in area]
        b, m = [fd.beta * n for fd in found], [fd.mu / n for fd in found]
        parts.append({"prevalence": f"{rho:g}", "auc": area, "b": b, "m": m})
    base = alt.Chart(stacked(parts)).mark_line(clip=True)
    colour = alt.Color("prevalence:N", title="prevalence")
    x = alt.X("auc:Q", title="AUC", scale=alt.Scale(zero=False))
    both = (
        alt.Y("b:Q", title="beta n"),
        alt.Y("m:Q", title="mu / n", scale=alt.Scale(domain=[-2, 3])),
    )
    pair = alt.hconcat(
        *(base.encode(x=x, y=y, color=colour).properties(width=SIZE) for y in both)
    )
    return styled(pair, "", "beta n and mu / n by AUC, for five prevalences.")


def identity(
    x: ArrayLike,
    y: ArrayLike,
    *,
    x_title: str,
    y_title: str,
    colour: Any = None,
    colour_title: str = "",
    title: str = "",
) -> Any:
    """Do two ways to find a number agree? Points, and the line where they are equal.

    Parameters
    ----------
    x, y
        The numbers, pair by pair.
    x_title, y_title
        What they are.
    colour
        One value per pair, which decides its colour.
    colour_title
        What the values of ``colour`` are.
    title
        Shown above the figure.
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    names = [""] * a.size if colour is None else [str(c) for c in colour]
    ends = [min(a.min(), b.min()), max(a.max(), b.max())]
    scale = alt.Scale(domain=ends, zero=False)
    shade = alt.Color(
        "name:N",
        title=colour_title or None,
        sort=list(dict.fromkeys(names)),
        legend={} if colour is not None else None,
    )
    dots = alt.Chart(frame({"x": a, "y": b, "name": names})).mark_circle(
        size=30, opacity=0.6
    )
    dots = dots.encode(
        x=alt.X("x:Q", title=x_title, scale=scale),
        y=alt.Y("y:Q", title=y_title, scale=scale),
        color=shade,
    )
    line = alt.Chart(frame({"x": ends, "y": ends})).mark_line(
        color=GREY, strokeDash=[4, 3], strokeWidth=1
    )
    text = f"{y_title} against {x_title}; on the dashed line both are equal."
    return styled(line.encode(x="x:Q", y="y:Q") + dots, title, text)
