"""Votes without truth to 10,000 effective draws, against JAGS and NUTS

JAGS runs the model of the paper, one latent truth a case. At N = 541,094 it would take
hours, so a sweep over a hundredth of the cases is timed and multiplied, and the number
of sweeps is what the same Markov chain needs on patterns (``gibbs``). NumPyro's NUTS
runs on patterns; its compilation counts, as it does for every new panel. Errors are
independent in all of them.
crowd-kit's Dawid-Skene gives a point estimate only.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaincinv

import trueness

DATA = Path(__file__).parents[1] / "examples" / "no_gold"
SETS = ("swineflu_recovered", "chloroplast_reconstructed", "snp1000_reconstructed")
WANTED = 10_000
JAGS_MODEL = """
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


class Row(NamedTuple):
    data: str
    cases: int
    trueness_s: float
    trueness_ess: int
    jags_ratio: str
    numpyro_ratio: str
    crowdkit_ratio: str


def table(name: str) -> trueness.Panel:
    with (DATA / f"{name}.csv").open() as file:
        head, *rows = csv.reader(file)
    votes = np.array([r[:-1] for r in rows], dtype=float)
    return trueness.Panel(head[:-1], votes, unknown=[int(r[-1]) for r in rows])


def jags_seconds(panel: trueness.Panel, sweeps: int) -> float:
    """Seconds a sweep of the paper's model, one row a case."""
    rows = np.repeat(panel.rows, panel.unknown, axis=0).astype(int)
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        (at / "m.bug").write_text(JAGS_MODEL)
        patterns = ",".join(map(str, rows.T.ravel()))
        n, k = rows.shape
        (at / "d.R").write_text(
            f"N <- {n}\nK <- {k}\nx <- structure(c({patterns}), .Dim = c({n}, {k}))\n"
        )
        head = 'model in "m.bug"\ndata in "d.R"\ncompile\ninitialize\nupdate 20\n'
        took = []
        for updates in (0, sweeps):
            (at / "s.cmd").write_text(f"{head}update {updates + 1}\n")
            start = time.perf_counter()
            subprocess.run(["jags", "s.cmd"], cwd=at, capture_output=True, check=True)
            took.append(time.perf_counter() - start)
    return (took[1] - took[0]) / sweeps


def truncated(a: np.ndarray, b: np.ndarray, low, high, rng) -> np.ndarray:
    """Draw from Beta(a, b) between two limits."""
    ends = betainc(a, b, low), betainc(a, b, high)
    return np.clip(betaincinv(a, b, rng.uniform(*ends)), low, high)


def gibbs(panel: trueness.Panel, start: np.ndarray, sweeps: int, rng) -> np.ndarray:
    """Run the paper's Markov chain on patterns; (chains, sweeps, parameters)."""
    x, count, k = panel.rows, panel.unknown, len(panel.names)
    phi, alpha, beta = start[:, :1], start[:, 1 : k + 1], 1 - start[:, k + 1 :]
    out = []
    for _ in range(sweeps):
        a, b = (
            np.where(x == 1, rate[:, None], 1 - rate[:, None]).prod(axis=2)
            for rate in (alpha, beta)
        )
        pos = rng.binomial(count, phi * a / (phi * a + (1 - phi) * b))
        neg = count - pos
        n, m = pos.sum(axis=1, keepdims=True), neg.sum(axis=1, keepdims=True)
        phi = rng.beta(1 + n, 1 + m)
        alpha = truncated(1 + pos @ x, 1 + n - pos @ x, beta, 1.0, rng)
        beta = truncated(1 + neg @ x, 1 + m - neg @ x, 0.0, alpha, rng)
        out.append(np.hstack([phi, alpha, 1 - beta]))
    return np.array(out).swapaxes(0, 1)


def effective(chains: np.ndarray) -> float:
    """How many independent draws are these worth? (Geyer's initial positive sums)"""
    m, n = chains.shape
    away = chains - chains.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(away, 2 * n, axis=1)) ** 2
    within = np.fft.irfft(power, axis=1)[:, :n].mean(axis=0) / n
    total = within[0] + chains.mean(axis=1).var(ddof=1)
    rho = 1 - (within[0] - within) / total
    pairs = rho[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    end = int(np.argmax(pairs < 0)) if (pairs < 0).any() else len(pairs)
    return m * n / max(2 * pairs[:end].sum() - 1, 1 / np.log10(m * n))


def sweeps_needed(panel: trueness.Panel) -> float:
    """How many sweeps of one chain give 10,000 effective draws of every parameter?"""
    rng = np.random.default_rng(0)
    flat = np.hstack(
        list(trueness.latent_class(panel, dependence="none", rng=0).flat.values())
    )
    start = flat[rng.choice(len(flat), 8)]  # in the posterior: no burn-in counts
    theta = gibbs(panel, start, 10_000, rng)
    worst = min(effective(theta[:, :, i]) for i in range(theta.shape[2]))
    return WANTED * theta.shape[0] * theta.shape[1] / worst


def jags_ratio(panel: trueness.Panel, ours: float) -> str:
    if shutil.which("jags") is None:
        return "not installed"
    part, factor = panel, 1
    if panel.n > 10_000:
        factor = 100
        few = np.maximum(panel.unknown // factor, 1)
        part = trueness.Panel(panel.names, panel.rows, unknown=few)
    sweep = factor * jags_seconds(part, 40_000 if panel.n < 1000 else 40)
    return f"{sweep * sweeps_needed(panel) / ours:,.0f}"


def numpyro_ratio(panel: trueness.Panel, ours: float) -> str:
    try:
        import jax
        import jax.numpy as jnp
        import numpyro
        import numpyro.distributions as dist
        from numpyro.infer import MCMC, NUTS
    except ImportError:
        return "not installed"
    jax.config.update("jax_enable_x64", True)
    x, count = jnp.array(panel.rows), jnp.array(panel.unknown, dtype=float)
    k = len(panel.names)

    def model() -> None:
        phi = numpyro.sample("phi", dist.Uniform(0, 1))
        # uniform on the triangle: alpha is the larger of two uniforms, beta below it
        alpha = numpyro.sample("alpha", dist.Beta(2, 1).expand([k]))
        ratio = numpyro.sample("ratio", dist.Uniform(0, 1).expand([k]))
        beta = alpha * ratio
        a = (x * jnp.log(alpha) + (1 - x) * jnp.log1p(-alpha)).sum(axis=1)
        b = (x * jnp.log(beta) + (1 - x) * jnp.log1p(-beta)).sum(axis=1)
        each = jnp.logaddexp(jnp.log(phi) + a, jnp.log1p(-phi) + b)
        numpyro.factor("votes", (count * each).sum())

    start = time.perf_counter()
    run = MCMC(NUTS(model), num_warmup=1000, num_samples=5000, num_chains=4,
               chain_method="vectorized", progress_bar=False)  # fmt: skip
    run.run(jax.random.PRNGKey(0))
    draws = run.get_samples(group_by_chain=True)
    took = time.perf_counter() - start
    phi = effective(np.asarray(draws["phi"]))
    alpha = np.asarray(draws["alpha"])
    worst = min(phi, *(effective(alpha[:, :, i]) for i in range(k)))
    return f"{took * max(WANTED / worst, 1) / ours:,.0f}"


def crowdkit_ratio(panel: trueness.Panel, ours: float) -> str:
    try:
        import pandas as pd
        from crowdkit.aggregation import DawidSkene
    except ImportError:
        return "not installed"
    factor = 20 if panel.n > 10_000 else 1
    rows = np.repeat(panel.rows, np.maximum(panel.unknown // factor, 1), axis=0)
    n, k = rows.shape
    frame = pd.DataFrame(
        {
            "task": np.repeat(np.arange(n), k),
            "worker": np.tile(panel.names, n),
            "label": rows.ravel().astype(int),
        }
    )
    start = time.perf_counter()
    DawidSkene(n_iter=100).fit(frame)
    return f"{factor * (time.perf_counter() - start) / ours:,.1f} (no interval)"


def rows() -> Iterator[Row]:
    for name in SETS:
        panel = table(name)
        took = []
        for seed in range(3):
            start = time.perf_counter()
            post = trueness.latent_class(panel, dependence="none", rng=seed)
            took.append(time.perf_counter() - start)
        ours = min(took)
        yield Row(
            name,
            panel.n,
            round(ours, 3),
            int(post.diagnostics.effective),
            jags_ratio(panel, ours),
            numpyro_ratio(panel, ours),
            crowdkit_ratio(panel, ours),
        )
