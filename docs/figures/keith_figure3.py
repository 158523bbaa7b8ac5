"""Conditional dependencies of the model: Fig. 3 of Keith, Davey, Boyd (2012)."""

import matplotlib.pyplot as plt
from matplotlib.patches import Circle, FancyBboxPatch

NODES = {
    r"$\phi$": (0.8, 3.2),
    "$T_n$": (0.8, 2.0),
    "$C_{kn}$": (2.4, 2.0),
    r"$\alpha_k$": (2.0, 3.2),
    r"$\beta_k$": (2.8, 3.2),
}
ARROWS = (
    (r"$\phi$", "$T_n$"),
    ("$T_n$", "$C_{kn}$"),
    (r"$\alpha_k$", "$C_{kn}$"),
    (r"$\beta_k$", "$C_{kn}$"),
    (r"$\beta_k$", r"$\alpha_k$"),
)
RADIUS = 0.26
# corner, width and height of what is repeated, and where its words stand
PLATES = {
    "cases n = 1 ... N": ((0.3, 1.25), 2.75, 1.2, (0.4, 1.33)),
    "classifiers k = 1 ... K": ((1.6, 1.0), 1.65, 2.75, (1.7, 3.6)),
}


def chart():
    with plt.style.context("trueness.plots.theme"):
        _, ax = plt.subplots(figsize=(4.2, 3.6), layout="constrained")
        for words, (corner, width, height, place) in PLATES.items():
            box = FancyBboxPatch(
                corner, width, height, boxstyle="round,pad=0.02", fill=False
            )
            ax.add_patch(box)
            ax.text(*place, words, fontsize="small")
        for start, end in ARROWS:
            style = "dashed" if end == r"$\alpha_k$" else "solid"
            ax.annotate(
                "", NODES[end], NODES[start],
                arrowprops={
                    "arrowstyle": "->", "shrinkA": 15, "shrinkB": 15,
                    "linestyle": style,
                },
            )  # fmt: skip
        for name, centre in NODES.items():
            observed = name == "$C_{kn}$"
            colour = "lightgrey" if observed else "white"
            ax.add_patch(Circle(centre, RADIUS, facecolor=colour, edgecolor="black"))
            ax.text(*centre, name, ha="center", va="center")
        ax.text(0.3, 0.6, "grey: observed; dashed: the order alpha >= beta",
                fontsize="small")  # fmt: skip
        ax.set(xlim=(0.1, 3.5), ylim=(0.4, 3.9), aspect="equal")
        ax.axis("off")
    return ax
