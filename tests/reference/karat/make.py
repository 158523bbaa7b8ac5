"""Files as they were written when the package was called Karat.

Made once, with Karat 0.1.0 from before the renaming: python make.py FOLDER
"""

import sys

import karat
import numpy as np
import pandas as pd

OUT = sys.argv[1]

rng = np.random.default_rng(0)
y = (rng.random(60) < 0.4).astype(int)
a = np.round(rng.normal(y, 1), 1)
b = np.round(rng.normal(y * 0.7, 1), 1)
t = karat.tally(y, a)
p = karat.panel(y, {"a": a, "b": b})
t.write(f"{OUT}/tally.parquet")
p.write(f"{OUT}/panel.parquet")
for name in karat.CALIBRATORS:
    chances = name in ("beta", "temperature")
    counts = karat.tally(y, 1 / (1 + np.exp(-a))) if chances else t
    karat.save_map(karat.calibrate(counts, method=name), f"{OUT}/map_{name}.json")
karat.save_map(karat.fidel(p), f"{OUT}/combiner_fidel.json")
karat.save_map(karat.mean_score(p), f"{OUT}/combiner_mean_score.json")
batch = {"y": [1, 0, 1], "p": [0.9, 0.2, 0.4], "day": ["mon", "mon", "tue"]}
stream = karat.Stream(f"{OUT}/stream.parquet", label="y", score="p", by="day")
stream.add("one", pd.DataFrame(batch))
