"""Which section of a declaration answers which item of a guideline or law?

Item numbers are those of the published checklists; where a document numbers nothing,
the item has a name. What no count can say, the author writes.
"""

from __future__ import annotations

from typing import NamedTuple

SAID = "1 Stated by the author"
COUNTED = "2 Counted"
MEASURED = "3 Measured"
NOT_MEASURED = "4 Not measured"
CLAIMS = "5 Claims"
EVIDENCE = "7 Evidence"
AUTHOR = "stated by the author"


class GuidelineItem(NamedTuple):
    """An item of a guideline, what it asks for, and where a declaration answers it."""

    document: str
    item: str
    topic: str
    section: str


_STARD = "STARD 2015"
_STARD_AI = "STARD-AI 2025"
_TRIPOD = "TRIPOD+AI 2024"
_FDA = "FDA model card (draft 2025)"
_ACT = "EU AI Act"

GUIDELINE_ITEMS = (
    GuidelineItem(_STARD, "3", "intended use and clinical role", SAID),
    GuidelineItem(_STARD, "6-9", "eligibility, setting, dates, sampling", SAID),
    GuidelineItem(_STARD, "10a", "index test in detail", AUTHOR),
    GuidelineItem(_STARD, "10b, 11", "reference standard and why", SAID),
    GuidelineItem(_STARD, "12a", "threshold, prespecified or exploratory", SAID),
    GuidelineItem(_STARD, "13", "blinding", AUTHOR),
    GuidelineItem(_STARD, "14", "methods of estimates", MEASURED),
    GuidelineItem(_STARD, "15, 16", "indeterminate results, missing data", COUNTED),
    GuidelineItem(_STARD, "18", "intended sample size", AUTHOR),
    GuidelineItem(_STARD, "19", "flow of participants", COUNTED),
    GuidelineItem(_STARD, "20-22", "characteristics, severity, time between", AUTHOR),
    GuidelineItem(_STARD, "23", "cross tabulation", COUNTED),
    GuidelineItem(_STARD, "24", "estimates and their precision", MEASURED),
    GuidelineItem(_STARD, "25-30", "harms, limitations, protocol, funding", AUTHOR),
    GuidelineItem(_STARD_AI, "data", "source, partitions, exclusions", SAID),
    GuidelineItem(_STARD_AI, "index test", "model, version, training data", AUTHOR),
    GuidelineItem(_STARD_AI, "subgroups", "performance in groups", MEASURED),
    GuidelineItem(_STARD_AI, "availability", "data and code for checking", EVIDENCE),
    GuidelineItem(_TRIPOD, "3-6", "purpose, data, participants", SAID),
    GuidelineItem(_TRIPOD, "8", "outcome and how it was assessed", SAID),
    GuidelineItem(_TRIPOD, "9, 21, 22", "predictors, development, model", AUTHOR),
    GuidelineItem(_TRIPOD, "11", "missing data", COUNTED),
    GuidelineItem(_TRIPOD, "12e", "measures of performance", MEASURED),
    GuidelineItem(_TRIPOD, "14", "fairness", MEASURED),
    GuidelineItem(_TRIPOD, "18", "protocol, data, code", EVIDENCE),
    GuidelineItem(_TRIPOD, "20a", "flow of participants", COUNTED),
    GuidelineItem(_TRIPOD, "23a", "performance with intervals, in groups", MEASURED),
    GuidelineItem(_TRIPOD, "23b", "heterogeneity across sites", MEASURED),
    GuidelineItem(_TRIPOD, "25-27", "interpretation, limitations, use", AUTHOR),
    GuidelineItem(_FDA, "uses", "intended use and users", SAID),
    GuidelineItem(_FDA, "data", "population of the test data", SAID),
    GuidelineItem(_FDA, "performance", "measures, intervals, subgroups", MEASURED),
    GuidelineItem(_FDA, "limitations", "what was not measured", NOT_MEASURED),
    GuidelineItem(_FDA, "risk, maintenance", "risks, updates, monitoring", AUTHOR),
    GuidelineItem(_ACT, "Art. 15(3)", "declared levels of accuracy", CLAIMS),
    GuidelineItem(_ACT, "Annex IV 2(g)", "test data, metrics, test report", COUNTED),
    GuidelineItem(_ACT, "Annex IV 2(g)", "dated and signed by a person", AUTHOR),
    GuidelineItem(_ACT, "Annex IV 3", "accuracy for groups of persons", MEASURED),
    GuidelineItem(_ACT, "Annex IV 4", "why these metrics", AUTHOR),
)
