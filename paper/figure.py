"""Make the figure of the paper, and print the numbers of its example.

python paper/figure.py
"""

from pathlib import Path

import trueness

traps = trueness.scan(trueness.samples.path("west_nile"))
models = trueness.panel(traps, label="virus", scores=["boosting", "logistic"])
print(trueness.auc(models))
print(trueness.compare_auc(models).pairs[0])
goal = {"maximize": "f1", "subject_to": ["recall >= 0.6", "flagged <= 1500"]}
print(trueness.best_threshold(models["boosting"], **goal))
print(trueness.validate_threshold(models["boosting"], **goal, rng=0))
figure = trueness.plots.operating_point.figure_data(
    models["boosting"], **goal, title="West Nile virus in mosquito traps"
)
trueness.plots.save(figure, Path(__file__).parent / "west_nile.png")
