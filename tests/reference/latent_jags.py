"""Posterior means and standard deviations of latent class models, by JAGS.

python tests/reference/latent_jags.py writes latent_jags.json beside it. The prior is
uniform on the triangle: the larger and the smaller of two uniform numbers. Three ways
to write the models: CASES has a latent truth a case, TABLE the probability of each
pattern in each population, EFFECT the same with an ease of each case (Qu, Tan, Kutner
1996) that is summed over 41 points, and half-normal spreads.
"""

import csv
import json
import subprocess
import tempfile
from itertools import product
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
DATA = HERE.parents[1] / "examples" / "no_gold"
RATES = """model {
  for (s in 1:S) { phi[s] ~ dunif(0, 1) }
  for (k in 1:K) {
    u[k] ~ dunif(0, 1)
    v[k] ~ dunif(0, 1)
    alpha[k] <- max(u[k], v[k])
    beta[k] <- min(u[k], v[k])
  }
"""
CASES = """
  for (n in 1:N) {
    truth[n] ~ dbern(phi[1])
    for (k in 1:K) {
      x[n, k] ~ dbern(truth[n] * alpha[k] + (1 - truth[n]) * beta[k])
    }
  }
}
"""
TABLE = """
  for (m in 1:N) {
    for (k in 1:K) {
      a[m, k] <- x[m, k] * alpha[k] + (1 - x[m, k]) * (1 - alpha[k])
      b[m, k] <- x[m, k] * beta[k] + (1 - x[m, k]) * (1 - beta[k])
    }
    for (s in 1:S) { p[s, m] <- phi[s] * prod(a[m,]) + (1 - phi[s]) * prod(b[m,]) }
  }
  for (s in 1:S) { count[s,] ~ dmulti(p[s,], size[s]) }
}
"""
EFFECT = """
  for (c in 1:2) { spread[c] ~ dnorm(0, 1) T(0,) }
  for (k in 1:K) { place[k, 1] <- qnorm(alpha[k], 0, 1) }
  for (k in 1:K) { place[k, 2] <- qnorm(beta[k], 0, 1) }
  for (g in 1:41) { weight[g] <- dnorm(-5 + (g - 1) / 4, 0, 1) / 4 }
  for (c in 1:2) { for (g in 1:41) { for (k in 1:K) {
    yes[c, g, k] <- pnorm(
      sqrt(1 + spread[c]^2) * place[k, c] + spread[c] * (-5 + (g - 1) / 4), 0, 1)
  } } }
  for (m in 1:N) {
    for (c in 1:2) {
      for (g in 1:41) {
        for (k in 1:K) {
          q[m, c, g, k] <- x[m, k] * yes[c, g, k] + (1 - x[m, k]) * (1 - yes[c, g, k])
        }
        product[m, c, g] <- prod(q[m, c, g,])
      }
      given[m, c] <- inprod(product[m, c,], weight)
    }
    p[1, m] <- phi[1] * given[m, 1] + (1 - phi[1]) * given[m, 2]
  }
  count[1,] ~ dmulti(p[1,], size[1])
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


def read(name):
    """Give all patterns (2^K, K), and their counts in each population (S, 2^K)."""
    with (DATA / f"{name}.csv").open() as file:
        head, *lines = csv.reader(file)
    several = head[0] == "population"
    rows = list(product((0, 1), repeat=len(head) - 1 - several))
    places = sorted({r[0] for r in lines}) if several else [""]
    counts = np.zeros((len(places), len(rows)), int)
    for r in lines:
        s = places.index(r[0]) if several else 0
        counts[s, rows.index(tuple(map(int, r[several:-1])))] += int(r[-1])
    return np.array(rows), counts


def written(**values):
    """Write arrays as R does, columns first."""
    out = []
    for name, value in values.items():
        flat = ",".join(map(str, np.ravel(value, order="F")))
        shape = ",".join(map(str, np.shape(value)))
        text = f"structure(c({flat}), .Dim = c({shape}))" if shape else flat
        out.append(f"{name} <- {text}\n")
    return "".join(out)


def sample(name, model, sweeps):
    rows, counts = read(name)
    more = {}
    if model is not CASES:
        more = {"count": counts, "size": counts.sum(axis=1)}
    else:
        rows = np.repeat(rows, counts[0], axis=0)
    data = written(N=len(rows), K=rows.shape[1], S=len(counts), x=rows, **more)
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        (at / "m.bug").write_text(RATES + model)
        (at / "d.R").write_text(data)
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


RUNS = {
    "swineflu_recovered": (CASES, 100_000),
    "chloroplast_reconstructed": (CASES, 20_000),
    "huiwalter1980_tuberculin": (TABLE, 20_000),
    "pleural_dayton1998": (TABLE, 20_000),
    "pathologists_holmquist1967": (TABLE, 20_000),
    "dentists_espeland1989": (TABLE, 20_000),
    "hiv_alvord1988": (EFFECT, 4_000),
}

if __name__ == "__main__":
    found = {name: sample(name, *how) for name, how in RUNS.items()}
    (HERE / "latent_jags.json").write_text(json.dumps(found, indent=1) + "\n")
