"""A declaration of simulated predictions of four hospitals."""

import numpy as np
import pytest

import trueness

CLAIMS = (
    "recall >= 0.7 at 0.3",
    "specificity >= 0.6 at 0.3",
    "auc >= 0.75",
    "recall >= 0.6 at 0.3 in every hospital",
    "positives >= 100",
)
STATEMENTS = {
    "intended_use": "Triage of chest X-rays in emergency departments.",
    "population": "Adults with a cough of more than two weeks.",
    "dates": "January to June 2026",
    "reference_standard": "CT within two days, read by two radiologists.",
    "threshold_choice": "prespecified",
    "unit": "patient",
    "left_out": "Patients without a CT.",
}


def simulate(seed=0, sizes=(900, 500, 300, 220)):
    """Return labels, probabilities and hospitals."""
    rng = np.random.default_rng(seed)
    hospital = np.repeat([f"hospital {k}" for k in range(len(sizes))], sizes)
    log_odds = rng.normal(-1.2, 1.6, hospital.size)
    probability = 1 / (1 + np.exp(-log_odds))
    label = rng.random(hospital.size) < probability
    return label.astype(int), probability, hospital


@pytest.fixture(scope="session")
def cases():
    return simulate()


@pytest.fixture(scope="session")
def declaration(cases):
    label, score, hospital = cases
    return trueness.declare(
        trueness.tally(label, score),
        at=[0.3, 0.97],
        claims=CLAIMS,
        statements=STATEMENTS,
        groups={"hospital": trueness.tally(label, score, by=hospital)},
        title="Chest X-ray triage, version 3",
    )
