"""Log loss of each calibrator above the best one, by size of the validation set."""

import csv
from pathlib import Path

import altair as alt

from trueness.plots._altair import frame, styled

STORED = Path(__file__).parents[2] / "benchmarks" / "results" / "study_calibration.csv"
FLOOR = 0.05


def chart():
    with STORED.open() as file:
        rows = list(csv.DictReader(file))
    shown = [r for r in rows if r["method"] != "none"]
    methods = sorted(
        {r["method"] for r in shown},
        key=lambda m: (
            sum(
                max(float(r["excess_percent"]), FLOOR) ** 0.2
                for r in shown
                if r["method"] == m
            )
            / sum(r["method"] == m for r in shown)
        ),
    )
    columns = {
        "method": [r["method"] for r in shown],
        "size": [f"{int(r['size']):,} cases" for r in shown],
        "excess": [max(float(r["excess_percent"]), FLOOR) for r in shown],
        "cell": [f"{r['data']}, {r['model']}" for r in shown],
    }
    sizes = [f"{n:,} cases" for n in (50, 200, 1000, 5000)]
    dots = (
        alt.Chart(frame(columns), width=150, height=220)
        .mark_tick(thickness=1.5, opacity=0.6)
        .encode(
            x=alt.X(
                "excess:Q",
                title="Log loss above the best, %",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(values=[0.1, 1, 10, 100], format="g"),
            ),
            y=alt.Y("method:N", title=None, sort=methods),
            tooltip=["cell:N", "method:N", "excess:Q"],
            color=alt.condition(
                "datum.method == 'auto'", alt.value("#D55E00"), alt.value("#0072B2")
            ),
        )
        .facet(column=alt.Column("size:N", title=None, sort=sizes))
    )
    about = "Excess log loss of calibrators over the best, for four validation sizes"
    return styled(dots, "One tick a data set and model", about)
