"""Which answers and verdicts does a log hold, by the program that wrote it?

A format is one function, from what a file holds to answers: of which item, of which
system, what each judge said, and what else was noted of the case, where a label may be.
``FORMATS`` lists them with the keys by which a file is recognised.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from trueness.data.log_files import (
    first_object,
    read_inspect_archive,
    read_json,
    read_json_lines,
)

TASK = "task"
ENDINGS = (".eval", ".json", ".jsonl")
# a longer note can be neither a label nor a group
_MAX_NOTE_CHARACTERS = 200


class LoggedAnswer(NamedTuple):
    """One answer: of what and whom, what judges said, what else was noted."""

    item: str
    system: str
    verdicts: Mapping[str, Any]  # by the name of the judge
    notes: Mapping[str, Any]
    epoch: int = 1  # which epoch, repeat or attempt of the item it is


class LogFormat(NamedTuple):
    """Format of a log: the keys that it is recognised by, and its reader."""

    keys: tuple[frozenset[str], ...]  # the object has all of one of these
    read: Callable[[str], Iterator[LoggedAnswer]]


def log_format(file: str) -> str | None:
    """Return which program wrote a file; None when it is no log that is known here."""
    path = Path(file)
    ending = path.suffix.lower()
    if not path.is_file() or ending not in ENDINGS:
        return None
    if ending == ".eval":
        return "Inspect"

    keys = first_object(path).keys()
    for name, form in FORMATS.items():
        if any(keys >= needed for needed in form.keys):
            return name

    return None


def _short_values(notes: Mapping[str, Any] | None, prefix: str) -> dict[str, Any]:
    """Return the single values of what was noted; texts and lists are no columns."""
    if not isinstance(notes, Mapping):
        return {}

    return {
        f"{prefix}{name}": value
        for name, value in notes.items()
        if isinstance(value, (bool, int, float, str))
        and len(str(value)) <= _MAX_NOTE_CHARACTERS
    }


# Inspect


def _read_inspect(file: str) -> Iterator[LoggedAnswer]:
    """Read a log of Inspect: eval.model, and id, epoch, scores, metadata of samples."""
    if file.lower().endswith(".eval"):
        head, samples = read_inspect_archive(file)
    else:
        content = read_json(file)
        head = content.get("eval") or {}
        samples = content.get("samples") or []

    system = str(head.get("model") or "")
    task = head.get("task")

    for sample in samples:
        notes = _short_values(sample.get("metadata"), "metadata.")
        yield LoggedAnswer(
            item=str(sample.get("id")),
            system=system,
            verdicts=_inspect_verdicts(sample.get("scores") or {}),
            notes={TASK: task, **notes},
            epoch=int(sample.get("epoch") or 1),
        )


def _inspect_verdicts(scores: Mapping[str, Any]) -> dict[str, Any]:
    """Return the verdict of each scorer; one with several results has several."""
    verdicts: dict[str, Any] = {}
    for scorer, score in scores.items():
        value = score.get("value") if isinstance(score, Mapping) else score
        if isinstance(value, Mapping):
            for part, verdict in value.items():
                verdicts[f"{scorer}.{part}"] = verdict
        elif not isinstance(value, list):
            verdicts[scorer] = value

    return verdicts


# promptfoo

_FAILED_TO_RUN = 2  # promptfoo's reason of a row that was not graded


def _read_promptfoo(file: str) -> Iterator[LoggedAnswer]:
    """Read results of promptfoo: results.results, with the grade of each assertion."""
    content = read_json(file)["results"]
    results = content
    if isinstance(content, Mapping):
        results = content.get("results", [])

    several_prompts = len({_prompt(result) for result in results}) > 1
    # the verdict on the whole is one that all rows have
    some_unexplained = any(
        not _components(result) and "success" in result for result in results
    )

    for result in results:
        system = _provider(result)
        if several_prompts:
            system = f"{system}, {_prompt(result)}"

        verdicts: dict[str, Any] = _assertions(_components(result))

        if some_unexplained:
            verdicts.setdefault("success", _success(result))

        metadata = (result.get("testCase") or {}).get("metadata")
        notes = _short_values(result.get("vars"), "vars.")
        notes |= _short_values(metadata, "metadata.")
        yield LoggedAnswer(
            item=str(result.get("testIdx")),
            system=system,
            verdicts=verdicts,
            notes=notes,
            epoch=int(result.get("repeatIndex") or 0) + 1,
        )


def _provider(result: Mapping[str, Any]) -> str:
    """Return the system that answered."""
    provider = result.get("provider") or ""
    if isinstance(provider, str):
        return provider
    return str(provider.get("label") or provider.get("id") or "")


def _prompt(result: Mapping[str, Any]) -> str:
    """Return the label of the prompt of a result, or its number."""
    prompt = result.get("prompt") or {}
    label = prompt.get("label") if isinstance(prompt, Mapping) else prompt
    return str(label or result.get("promptIdx"))


def _components(result: Mapping[str, Any]) -> list[Any]:
    """Return the grades of single assertions; a row may have none."""
    return (result.get("gradingResult") or {}).get("componentResults") or []


def _success(result: Mapping[str, Any]) -> float | None:
    """Return whether the whole row passed; None where it could not be run."""
    if result.get("failureReason") == _FAILED_TO_RUN or "success" not in result:
        return None
    return float(bool(result["success"]))


def _assertions(components: Iterable[Any]) -> dict[str, float]:
    """Return the verdict of each assertion; two of a name are numbered."""
    verdicts: dict[str, float] = {}
    for component in components:
        if not isinstance(component, Mapping) or "pass" not in component:
            continue
        name = _assertion_name(component.get("assertion") or {})
        verdicts[_free_name(name, verdicts)] = float(bool(component["pass"]))

    return verdicts


def _assertion_name(assertion: Mapping[str, Any]) -> str:
    """Return the metric of an assertion or, without one, its type and its grader."""
    kind = assertion.get("type") or "assertion"
    grader = assertion.get("provider")
    if isinstance(grader, str):
        kind = f"{kind} ({grader})"
    return str(assertion.get("metric") or kind)


def _free_name(name: str, taken: Mapping[str, float]) -> str:
    """Return the name, or the first numbered one that is not taken."""
    if name not in taken:
        return name
    numbered = (f"{name} {number}" for number in count(2))
    return next(other for other in numbered if other not in taken)


# DeepEval


def _read_deepeval(file: str) -> Iterator[LoggedAnswer]:
    """Read a test run of DeepEval: the metrics of each test case."""
    content = read_json(file)
    run = content.get("testRunData", content)
    parameters = run.get("hyperparameters") or {}
    system = str(run.get("identifier") or parameters.get("model") or "")
    cases = run.get("testCases") or run.get("test_results") or []

    for number, case in enumerate(cases):
        yield LoggedAnswer(
            item=str(case.get("name") or case.get("order", number)),
            system=system,
            verdicts=_deepeval_verdicts(case),
            notes=_short_values(_deepeval_metadata(case), "metadata."),
        )


def _deepeval_verdicts(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return whether each metric reached its threshold; None where it failed to run."""
    metrics = case.get("metricsData") or case.get("metrics_data") or []
    return {
        str(metric.get("name")): None if metric.get("error") else metric.get("success")
        for metric in metrics
    }


def _deepeval_metadata(case: Mapping[str, Any]) -> Any:
    """Return what was noted of a case, under the names that versions gave it."""
    for name in ("metadata", "additionalMetadata", "additional_metadata"):
        if case.get(name):
            return case[name]
    return None


# lm-evaluation-harness

_LM_EVAL_FIELDS = frozenset(
    {
        *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter"),
        *("metrics", "doc_hash", "prompt_hash", "target_hash"),
    }
)
_SAMPLES_FILE = re.compile(r"samples_(.+)_\d{4}-\d\d-\d\dT")


def _read_lm_eval(file: str) -> Iterator[LoggedAnswer]:
    """Read samples of the lm-evaluation-harness: a line per document and filter."""
    path = Path(file)
    named = _SAMPLES_FILE.match(path.name)
    task = named[1] if named else path.stem
    samples = read_json_lines(file)
    several_filters = len({sample.get("filter") for sample in samples}) > 1

    verdicts_of: dict[Any, dict[str, Any]] = {}
    notes_of: dict[Any, dict[str, Any]] = {}
    for sample in samples:
        document = sample.get("doc_id")
        verdicts = verdicts_of.setdefault(document, {})
        if document not in notes_of:
            notes = _short_values(sample.get("doc"), "doc.")
            notes_of[document] = {TASK: task, **notes}

        for metric in sample.get("metrics") or _lm_eval_metrics(sample):
            if isinstance(sample.get(metric), (bool, int, float)):
                judge = metric
                if several_filters:
                    judge = f"{metric} ({sample.get('filter')})"
                verdicts[judge] = sample[metric]

    for document, verdicts in verdicts_of.items():
        yield LoggedAnswer(
            item=str(document),
            system=path.parent.name,
            verdicts=verdicts,
            notes=notes_of[document],
        )


def _lm_eval_metrics(sample: Mapping[str, Any]) -> list[str]:
    """Return the metrics of a sample of versions before 0.4.5, which do not list them.

    They are the values beside those that every sample has.
    """
    return [name for name in sample if name not in _LM_EVAL_FIELDS]


FORMATS: dict[str, LogFormat] = {
    "Inspect": LogFormat(
        (frozenset({"eval", "status", "plan"}), frozenset({"eval", "samples"})),
        _read_inspect,
    ),
    "promptfoo": LogFormat(
        (frozenset({"evalId", "results"}), frozenset({"results", "shareableUrl"})),
        _read_promptfoo,
    ),
    "DeepEval": LogFormat(
        (
            frozenset({"testCases", "metricsScores"}),
            frozenset({"testRunData"}),
            frozenset({"test_results"}),
        ),
        _read_deepeval,
    ),
    "lm-evaluation-harness": LogFormat(
        (frozenset({"doc_id", "doc", "filtered_resps"}),),
        _read_lm_eval,
    ),
}
