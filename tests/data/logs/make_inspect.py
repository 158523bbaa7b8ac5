"""Write a log of Inspect: ten questions, an answer that is echoed, two judges.

python make_inspect.py FOLDER    (pip install inspect_ai)

The model is Inspect's own mockllm, so nothing is asked of any server. Judge "exact"
compares the answer with the target, judge "strict" gives C, I, P or N; "human" is kept
in the metadata of four of the samples. Two models make two systems.
"""

import sys

from inspect_ai import Task
from inspect_ai import eval as run
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    NOANSWER,
    PARTIAL,
    Score,
    accuracy,
    scorer,
)
from inspect_ai.solver import solver

ANSWERS = {
    "careful": ["yes", "yes", "no", "yes", "no", "yes", "yes", "no", "yes", "yes"],
    "hasty": ["yes", "no", "no", "yes", "yes", "no", "yes", "no", "no", "yes"],
}
TRUTH = ["yes", "yes", "no", "no", "no", "yes", "yes", "yes", "no", "yes"]


@scorer(metrics=[accuracy()])
def exact():
    async def score(state, target):
        right = state.output.completion.strip() == target.text
        return Score(value=CORRECT if right else INCORRECT)

    return score


@scorer(metrics=[accuracy()])
def strict():
    async def score(state, target):
        k = int(state.sample_id)
        right = state.output.completion.strip() == target.text
        if k == 9:
            return Score(value=NOANSWER)
        if k == 5:
            return Score(value=PARTIAL)
        return Score(value=CORRECT if right and k != 3 else INCORRECT)

    return score


def samples():
    for k, truth in enumerate(TRUTH, 1):
        note = {"human": "pass" if k != 4 else "fail"} if k <= 4 else {}
        yield Sample(id=k, input=f"Question {k}?", target=truth, metadata=note)


@solver
def say(name):
    """Answer as the model of this name would; no model, no network is asked."""

    async def solve(state, generate):
        text = ANSWERS[name][int(state.sample_id) - 1]
        if state.sample_id == 10 and name == "hasty":
            raise ValueError("no answer")  # a sample that failed has no scores
        state.output = ModelOutput.from_content(f"mockllm/{name}", text)
        return state

    return solve


def main(folder):
    for name in ANSWERS:
        task = Task(
            name="questions",
            dataset=list(samples()),
            solver=say(name),
            scorer=[exact(), strict()],
            fail_on_error=False,
        )
        for form in ("eval", "json"):
            run(
                task,
                model=f"mockllm/{name}",
                log_dir=f"{folder}/{name}",
                log_format=form,
                display="none",
            )


main(sys.argv[1])
