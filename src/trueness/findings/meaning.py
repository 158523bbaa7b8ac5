"""What are the scores of one classifier worth as probabilities?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from trueness._core.arrays import Array
from trueness.calibration.proper_scores import ProperScore, brier, log_loss
from trueness.calibration.reliability_diagram import Reliability, reliability
from trueness.calibration.verdict import CalibrationVerdict, calibration_verdict
from trueness.counts.values import Tally
from trueness.findings.request import Precision

FEW_REPLICATES = 20  # where no band is drawn


@final
@dataclass(frozen=True)
class Meaning:
    """How good the scores of one classifier are as probabilities."""

    curve: Reliability
    brier: ProperScore
    log_loss: ProperScore
    verdict: CalibrationVerdict

    def probability(self, threshold: Array) -> Array:
        """Return the proportion of positives at each threshold, by the fitted curve."""
        return np.interp(threshold, self.curve.score, self.curve.probability)


def measure_meaning(tally: Tally, precision: Precision) -> Meaning:
    """Measure how well scores between 0 and 1 are calibrated."""
    level = precision.level
    return Meaning(
        curve=reliability(
            tally,
            level=level,
            rng=precision.rng,
            replicates=precision.replicates or FEW_REPLICATES,
        ),
        brier=brier(tally, level=level),
        log_loss=log_loss(tally, level=level),
        verdict=calibration_verdict(tally, margin=precision.margin, level=level),
    )
