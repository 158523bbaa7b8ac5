"""python tests/outside/scorecardpy/make.py"""

import sys
from importlib.metadata import version
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from scorecardpy.perf import eva_dfkslift, perf_eva

mpl.use("Agg")
sys.path.insert(0, str(Path(__file__).parents[1]))
from write_vectors import Vectors

case = np.arange(500)
label = ((case * 37) % 101 < 12 + (case * 13) % 41).astype(int)
# no two scores are equal: scorecardpy breaks ties by position
score = np.round(((case * 83) % 503) / 503 + 0.3 * label + case / 1e6, 6)
vectors = Vectors({"label": label.tolist(), "score": score.tolist()})
inputs = {"label": "$label", "score": "$score"}

# its answer is rounded to four decimals
theirs = perf_eva(label, score, show_plot=False)
for name in ("KS", "Gini", "AUC"):
    vectors.add(f"scorecard.{name.lower()}", inputs, theirs[name], 4)

table = eva_dfkslift(pd.DataFrame({"label": label, "pred": score}), groupnum=10)
for decile, row in enumerate(table.iloc[1:].to_dict("records"), start=1):
    inputs = {"label": "$label", "score": "$score", "decile": decile}
    vectors.add("decile.n_pos", inputs, row["bad"])
    vectors.add("decile.n_neg", inputs, row["good"])
    vectors.add("decile.rate", inputs, row["badrate"])
    vectors.add("decile.gain", inputs, row["cumbad"])
    vectors.add("decile.cumulative_lift", inputs, row["lift"])
    vectors.add("decile.ks", inputs, row["ks"])

vectors.write(
    __file__,
    suite="scorecardpy",
    version=version("scorecardpy"),
    licence="MIT",
    source="Xie (2021); perf_eva and its table of gains; data by formulas",
    compared="KS, Gini, AUC, table of deciles: counts, rates, gain, lift, KS",
    differs=("scorecardpy breaks ties by position; ours share a decile.",),
)
