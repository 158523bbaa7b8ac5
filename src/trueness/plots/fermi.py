"""What does a rank say, and when is it wrong, as a picture?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.figures import POINTS, Axis, Curves, Line, guide, span
from trueness.fermi.distribution import FermiDirac
from trueness.fermi.distribution import fermi_dirac as solve
from trueness.plots._altair import ONE
from trueness.plots._source import drawn
from trueness.plots._theme import SIZE, alt, stacked, styled


def rank_probability(
    fd: FermiDirac | Mapping[str, FermiDirac],
    observed: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    title: str = "",
    ax: Any = None,
) -> Any:
    """How likely is a positive at each rank, and how often was there one?

    Kim et al. (2021), Fig. 1B: the Fermi-Dirac curve, with its threshold r* as a dashed
    line, and observed shares of positives as points.

    Parameters
    ----------
    fd
        One distribution, or several by name.
    observed
        Share of positives at ranks 1 to n, as ``counts.rank_frequencies`` gives;
        by name where there are several.
    title, ax
        As in :func:`trueness.plots.roc`.
    """
    several = dict(fd) if isinstance(fd, Mapping) else {"Fermi-Dirac": fd}
    if observed is not None and not isinstance(observed, Mapping):
        observed = dict.fromkeys(several, observed)
    lines, dots, rules = [], [], []
    for name, f in several.items():
        rank = np.linspace(1, f.n, min(f.n, POINTS))
        lines.append(Line(name, {"rank": rank, "p": f.probability(rank)}))
        if 1 <= f.rank_threshold <= f.n:
            rules.append((f"r* of {name}", f.rank_threshold))
    for name, shares in (observed or {}).items():
        p = np.asarray(shares)
        dots.append(Line(name, {"rank": np.arange(1, p.size + 1), "p": p}))
    figure = Curves(
        "Probability of being positive by rank",
        span("rank", "rank (1 is the highest score)", *(k["rank"] for k in lines)),
        Axis("p", "share of positives"),
        tuple(lines), dots=tuple(dots), rules=tuple(rules),
    )  # fmt: skip
    return drawn(figure, title, ax)


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
    ax: Any = None,
) -> Any:
    """Do two ways to find a number agree? Points, and the line where they are equal.

    Parameters
    ----------
    x, y
        The numbers, pair by pair.
    x_title, y_title
        What they are.
    colour
        One value per pair, which decides its colour and stands in the legend.
    colour_title
        What the values of ``colour`` are.
    title, ax
        As in :func:`trueness.plots.roc`.
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    names = np.full(a.size, ONE)
    if colour is not None:
        names = np.array([f"{colour_title} {c}".strip() for c in colour])
    ends = [min(a.min(), b.min()), max(a.max(), b.max())]
    across, up = span("x", x_title, ends), span("y", y_title, ends)
    dots = tuple(
        Line(str(name), {"x": a[names == name], "y": b[names == name]})
        for name in dict.fromkeys(names.tolist())
    )
    what = f"{y_title} against {x_title}; on the dashed line both are equal"
    equal = guide(across, up, ends, ends)
    return drawn(Curves(what, across, up, guides=(equal,), dots=dots), title, ax)
