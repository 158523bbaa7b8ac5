"""Make smooth_ece.json: the smooth calibration error by its authors' package.

pip install relplot && python tests/reference/smooth_ece.py
"""

import json
from pathlib import Path

import numpy as np
import relplot

cases = []
for seed, n, power in ((1, 500, 1.0), (2, 2000, 2.0), (3, 5000, 0.5)):
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(n), 3)
    y = (rng.random(n) < p**power).astype(int)
    cases.append(
        {"seed": seed, "n": n, "power": power, "smooth": float(relplot.smECE(p, y))}
    )
path = Path(__file__).with_suffix(".json")
path.write_text(json.dumps({"relplot": "1.0.3", "cases": cases}, indent=1) + "\n")
