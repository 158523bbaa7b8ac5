"""Posterior means and standard deviations of the paper's model, by JAGS.

python tests/reference/latent_jags.py writes latent_jags.json beside it. The prior is
uniform on the triangle: the larger and the smaller of two uniform numbers.
"""

import csv
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
DATA = HERE.parents[1] / "examples" / "no_gold"
MODEL = """
model {
  phi ~ dunif(0, 1)
  for (k in 1:K) {
    u[k] ~ dunif(0, 1)
    v[k] ~ dunif(0, 1)
    alpha[k] <- max(u[k], v[k])
    beta[k] <- min(u[k], v[k])
  }
  for (n in 1:N) {
    truth[n] ~ dbern(phi)
    for (k in 1:K) {
      x[n, k] ~ dbern(truth[n] * alpha[k] + (1 - truth[n]) * beta[k])
    }
  }
}
"""
SCRIPT = """
model in "m.bug"
data in "d.R"
compile, nchains(2)
parameters in "i.R"
initialize
update 2000
monitor phi
monitor alpha
monitor beta
update {sweeps}
coda *, stem("out")
"""


def sample(name, sweeps):
    with (DATA / f"{name}.csv").open() as file:
        _, *lines = csv.reader(file)
    rows = np.repeat([r[:-1] for r in lines], [int(r[-1]) for r in lines], axis=0)
    n, k = rows.shape
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        (at / "m.bug").write_text(MODEL)
        patterns = ",".join(rows.T.ravel())
        (at / "d.R").write_text(
            f"N <- {n}\nK <- {k}\nx <- structure(c({patterns}), .Dim = c({n}, {k}))\n"
        )
        (at / "i.R").write_text(
            '.RNG.name <- "base::Mersenne-Twister"\n.RNG.seed <- 1\n'
        )
        (at / "s.cmd").write_text(SCRIPT.format(sweeps=sweeps))
        subprocess.run(["jags", "s.cmd"], cwd=at, check=True, capture_output=True)
        index = [line.split() for line in (at / "outindex.txt").open()]
        chains = [np.loadtxt(at / f"outchain{c}.txt")[:, 1] for c in (1, 2)]
    out = {}
    for label, first, last in index:
        part = np.array([c[int(first) - 1 : int(last)] for c in chains])
        batches = part.reshape(-1, part.shape[1] // 20).mean(axis=1)
        error = batches.std(ddof=1) / np.sqrt(batches.size)
        out[label] = [float(part.mean()), float(part.std()), float(error)]
    return out


if __name__ == "__main__":
    found = {
        "swineflu_recovered": sample("swineflu_recovered", 100_000),
        "chloroplast_reconstructed": sample("chloroplast_reconstructed", 20_000),
    }
    (HERE / "latent_jags.json").write_text(json.dumps(found, indent=1) + "\n")
