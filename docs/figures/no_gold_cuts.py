"""What prevalence is found where there is no positive at all? From the SNP study."""

import json
from pathlib import Path

import matplotlib.pyplot as plt

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "snp.json"
KINDS = {
    "independent errors": ("found in the data", "o"),
    "the factor of the first cut": ("found without any positive", "o-"),
}


def chart():
    rows = json.loads(RESULTS.read_text())["rows"]
    with plt.style.context("trueness.plots.theme"):
        _, ax = plt.subplots(layout="constrained")
        for explanation, (name, marks) in KINDS.items():
            found = [row for row in rows if row["explanation"] == explanation]
            found.sort(key=lambda row: int(row["positives"]))
            positives = [int(row["positives"]) for row in found]
            ax.plot(positives, [r["prevalence"] for r in found], marks, label=name)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("Positives of each test")
        ax.set_ylabel("Prevalence by independent errors")
        ax.legend()
    return ax
