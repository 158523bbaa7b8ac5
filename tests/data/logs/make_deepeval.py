"""Write the results of DeepEval: eight test cases, two metrics of our own.

DEEPEVAL_RESULTS_FOLDER=FOLDER python make_deepeval.py    (pip install deepeval)

The metrics compare texts, so no model is asked. Metric "strict" fails on one case with
an error, as a judge that cannot be reached does.
"""

from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, DisplayConfig, ErrorConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

SAID = ["yes", "yes", "no", "yes", "no", "yes", "yes", "no"]
TRUTH = ["yes", "yes", "no", "no", "no", "yes", "no", "yes"]


class Match(BaseMetric):
    def __init__(self, name, threshold, misses=(), broken=()):
        self.name, self.threshold = name, threshold
        self.misses, self.broken = misses, broken
        self.async_mode, self.include_reason, self.evaluation_model = False, True, name

    def measure(self, case, *args, **kwargs):
        if case.name in self.broken:
            raise ValueError("the judge did not answer")
        right = case.actual_output == case.expected_output
        if case.name in self.misses:
            right = False
        self.score, self.reason = (0.9 if right else 0.2), "compared"
        self.success = self.score >= self.threshold
        return self.score

    async def a_measure(self, case, *args, **kwargs):
        return self.measure(case)

    def is_successful(self):
        return bool(self.success)

    @property
    def __name__(self):
        return self.name


cases = [
    LLMTestCase(
        name=f"case {k}",
        input=f"Question {k}?",
        actual_output=said,
        expected_output=truth,
        metadata={"human": int(said == truth)} if k < 4 else None,
    )
    for k, (said, truth) in enumerate(zip(SAID, TRUTH, strict=True))
]
evaluate(
    cases,
    [Match("kind", 0.5, misses=("case 2",)), Match("strict", 0.85, broken=("case 6",))],
    identifier="release 2",
    hyperparameters={"model": "echo"},
    async_config=AsyncConfig(run_async=False),
    error_config=ErrorConfig(ignore_errors=True),
    display_config=DisplayConfig(show_indicator=False, print_results=False),
)
