"""Logs of evaluations, as Inspect, promptfoo, DeepEval and lm_eval wrote them."""

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

import trueness
from trueness import InputError
from trueness.data.verdict_logs import is_log

LOGS = Path(__file__).parent / "logs"
NAN = np.nan


def write_eval(path, parts, header="header.json"):
    """Write a log of Inspect: its header, and these parts."""
    head = {header: '{"eval": {"model": "m", "task": "t"}}'}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as log:
        for name, text in {**head, **parts}.items():
            log.writestr(name, text)
    return path


def same(found, expected):
    np.testing.assert_array_equal(found, np.array(expected, float))


def test_inspect_eval():
    """Letters become numbers as in Inspect's own metrics; what was noted stays."""
    log = trueness.read_verdicts(LOGS / "inspect.eval")
    assert (log.format, log.judges) == ("Inspect", ("exact", "strict"))

    # said: yes yes no yes no yes yes no yes yes; true: yes yes no no no yes yes yes no
    same(log.columns["exact"], [1, 1, 1, 0, 1, 1, 1, 0, 0, 1])
    # I for 3, P for 5, N for 9
    same(log.columns["strict"], [1, 1, 0, 0, 0.5, 1, 1, 0, 0, 1])
    assert set(log.columns["system"]) == {"mockllm/careful"}

    human = log.columns["metadata.human"].tolist()
    assert human == ["pass"] * 3 + ["fail"] + [None] * 6

    failed = trueness.read_verdicts(LOGS / "inspect.json")  # the last sample
    same(failed.columns["exact"], [1, 0, 1, 0, 0, 0, 1, 0, 1, NAN])
    assert repr(log) == (
        "VerdictLog of Inspect: 10 answers of 1 system, judged by exact, strict"
    )


def test_inspect_of_older_packing_scorers_with_parts_and_epochs(tmp_path):
    """Deflated entries and no summary, as Inspect wrote before; values of all kinds."""
    said = {"rubric": {"value": {"style": 1, "facts": 0.25}}, "match": {"value": True}}
    parts = {
        f"samples/q_epoch_{k}.json": json.dumps({"id": "q", "epoch": k, "scores": said})
        for k in (1, 2)
    }
    path = write_eval(tmp_path / "old.eval", parts, header="_journal/start.json")
    log = trueness.read_verdicts(path)

    assert log.judges == ("rubric.style", "rubric.facts", "match")
    assert log.columns["item"].tolist() == ["q", "q (epoch 2)"]
    assert log.columns["cluster"].tolist() == ["q", "q"]  # repeats are one item

    same(log.columns["rubric.facts"], [0.25, 0.25])
    same(log.columns["match"], [1, 1])


def test_promptfoo(tmp_path):
    log = trueness.read_verdicts(LOGS / "promptfoo.json")
    # assertions without a metric go by their type; two of a type are numbered
    assert log.judges == ("exact", "icontains", "icontains 2")

    rows = zip(*(log.columns[k] for k in ("item", "system", "exact")), strict=True)
    right = {(i, s): v for i, s, v in rows}
    # answers yes no yes yes and yes yes no no; truth yes no yes no
    assert [right[str(k), "echo, careful"] for k in range(4)] == [1, 1, 1, 0]
    assert [right[str(k), "echo, hasty"] for k in range(4)] == [1, 0, 0, 1]

    held = json.loads((LOGS / "promptfoo.json").read_text())  # rated by hand
    one = held["results"]["results"][0]["gradingResult"]["componentResults"]
    one.append({"pass": False, "score": 0, "assertion": {"type": "human"}})
    (tmp_path / "rated.json").write_text(json.dumps(held))
    log = trueness.read_verdicts(tmp_path / "rated.json")
    same(log.columns["human"], [0] + [NAN] * 7)


def test_deepeval():
    log = trueness.read_verdicts(LOGS / "deepeval.json")
    assert log.judges == ("kind", "strict")

    same(log.columns["kind"], [1, 1, 0, 0, 1, 1, 0, 0])
    same(log.columns["strict"], [1, 1, 1, 0, 1, 1, NAN, 0])  # one gave an error
    same(log.columns["metadata.human"], [1, 1, 1, 0] + [NAN] * 4)
    assert set(log.columns["system"]) == {"release 2"}


def test_lm_evaluation_harness(tmp_path):
    log = trueness.read_verdicts(LOGS / "dummy")
    lines = next((LOGS / "dummy").glob("*.jsonl")).read_text().splitlines()
    assert log.judges == ("acc", "acc_norm")

    same(log.columns["acc"], [json.loads(x)["acc"] for x in lines])
    assert set(log.columns["system"]) == {"dummy"}

    # two tasks count their documents from 0 each: the items keep apart
    for task in ("one", "two"):
        name = f"samples_{task}_2026-01-01T00-00-00.jsonl"
        (tmp_path / name).write_text("\n".join(lines))
    both = trueness.read_verdicts(tmp_path)
    assert len(set(both.columns["item"])) == 12
    assert both.columns["item"][0] == "one 0"


def test_a_folder_of_systems_becomes_a_panel_each(tmp_path):
    shutil.copy(LOGS / "inspect.eval", tmp_path / "a.eval")
    shutil.copy(LOGS / "inspect.json", tmp_path / "b.json")
    log = trueness.read_verdicts(tmp_path)
    frame = log.to_frame("pandas")
    panels = trueness.panel(frame, scores=list(log.judges), by="system")

    sizes = {k: p.n for k, p in panels.items()}

    assert sizes == {"mockllm/careful": 10, "mockllm/hasty": 10}


def test_what_is_no_log(tmp_path):
    def refused(words, name, content=None):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=words):
            trueness.read_verdicts(tmp_path / name)

    refused("none of these", "table.json", b'{"a": 1, "b": 0}\n{"a": 0, "b": 1}\n')
    assert not is_log(str(tmp_path / "table.json"))
    refused("There is no log", "gone.eval")
    held = (LOGS / "inspect.eval").read_bytes()
    refused("inspect log recover", "cut.eval", held[:4000])
    held = (LOGS / "promptfoo.json").read_bytes()
    refused("none of these", "half.json", held[: len(held) // 2])
    shutil.copy(LOGS / "inspect.json", tmp_path / "i.json")
    shutil.copy(LOGS / "deepeval.json", tmp_path / "d.json")
    refused("DeepEval and Inspect", "?.json")
    held = json.loads((LOGS / "deepeval.json").read_text())
    held["testCases"] = [case | {"metricsData": []} for case in held["testCases"]]
    (tmp_path / "none.json").write_text(json.dumps(held))
    with pytest.raises(trueness.NotEnoughCases, match="8 answers and no verdict"):
        trueness.read_verdicts(tmp_path / "none.json")


def test_files_that_hold_too_much_get_a_sentence(tmp_path, monkeypatch):
    deep = '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"
    (tmp_path / "log.json").write_text(deep)
    with pytest.raises(InputError, match="nested thousands of levels"):
        trueness.read_verdicts(tmp_path / "log.json")

    monkeypatch.setattr("trueness.data.log_files.MAX_UNPACKED_BYTES", 10**6)
    some = {f"samples/{k}_epoch_1.json": " " * (4 * 10**5) + "{}" for k in range(3)}
    for parts in ({"summaries.json": " " * (2 * 10**6) + "[]"}, some):
        path = write_eval(tmp_path / "log.eval", parts)
        assert path.stat().st_size < 10_000
        with pytest.raises(InputError, match="unpacks to more than"):
            trueness.read_verdicts(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(
            ("a.eval", s)
            for s in ("[]", "1", '"a"', '{"scores": [1]}', '{"scores": "abc"}',
                      '{"epoch": "x"}', '{"epoch": 1e999}', '{"epoch": [1]}')
        ),
        *(
            ("a.json", f'{{"evalId": 1, "results": {s}}}')
            for s in ("1", "[1]", '{"results": 1}', '[{"gradingResult": 1}]',
                      '[{"gradingResult": {"componentResults": 1}}]')
        ),
        *(
            ("a.json", s)
            for s in ('{"testRunData": 1}', '{"test_results": [1]}',
                      '{"test_results": [{"metricsData": [1]}]}',
                      '{"eval": 1, "status": 1, "plan": 1}',
                      '{"eval": {}, "status": 1, "plan": 1, "samples": 1}')
        ),
        ("a.jsonl", '{"doc_id": [1], "doc": 1, "filtered_resps": 1, "metrics": 1}'),
    ],
)  # fmt: skip
def test_a_forged_log_gets_a_sentence(tmp_path, name, text):
    path = tmp_path / name
    if name == "a.eval":
        write_eval(path, {"samples/1.json": text})
    else:
        path.write_text(text)
    with pytest.raises(InputError, match=f"{name} does not hold a log of "):
        trueness.read_verdicts(path)


def test_a_judge_takes_the_place_of_no_item_and_may_give_any_number(tmp_path):
    sample = {"id": "q", "scores": {"item": 1, "large": 10**400}}
    parts = {"samples/1.json": json.dumps(sample)}

    log = trueness.read_verdicts(write_eval(tmp_path / "a.eval", parts))

    assert log.judges == ("item (judge)", "large")
    assert log.columns["item"].tolist() == ["q"]
    assert log.columns["item (judge)"].tolist() == [1.0]
