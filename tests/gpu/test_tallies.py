"""What the GPU counts, on tensors of the CPU: the same code, the same whole numbers."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import trueness
from trueness import InputError
from trueness.gpu import answers, tallies
from trueness.gpu.answers import answer_on_device
from trueness.gpu.keys import key_at_least, keys_of, library_of, scores_on_host
from trueness.gpu.tallies import DeviceTally, device_tally

TYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def name(kind):
    return str(kind).removeprefix("torch.")


def cases(kind, n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    s = rng.normal(y, 1)
    if n >= 100:  # ties, both zeros, a subnormal of the type
        s[::3] = np.round(s[::3], 1)
        s[:4], s[4:8] = -0.0, 0.0
        s[8] = float(torch.finfo(kind).smallest_normal) / 4
    scores = torch.tensor(s).to(kind)
    return y, scores, scores.double().numpy()


@pytest.fixture
def many(monkeypatch):
    """Let few distinct scores count as many, and sort them in blocks."""
    monkeypatch.setattr(tallies, "FEW_SCORES", 30)
    monkeypatch.setattr(answers, "FEW_SCORES", 30)
    monkeypatch.setattr(tallies, "SORTED_AT_ONCE", 640)


@pytest.mark.parametrize("kind", TYPES, ids=name)
@pytest.mark.parametrize("n", [1, 2, 100, 3000])
def test_counts_equal_those_of_the_host(kind, n, many):
    y, scores, host = cases(kind, n)
    expected = trueness.tally(y, host)
    for labels in (torch.tensor(y), torch.tensor(y).long(), torch.tensor(y).float()):
        assert device_tally(labels, scores).to_host() == expected
    assert device_tally(None, scores).to_host() == expected.without_labels()


def test_few_scores_come_to_the_host():
    y, scores, host = cases(torch.float32, 3000)
    counted = device_tally(torch.tensor(y), torch.round(scores, decimals=1))
    assert isinstance(counted, DeviceTally)
    assert counted.to_host_if_few() == trueness.tally(
        y, np.round(host.astype(np.float32), 1)
    )


@pytest.mark.parametrize("kind", [torch.float32, torch.float64], ids=name)
def test_auc_of_one_pass_is_that_of_the_host(kind, many):
    label, scores, scores_on_host = cases(kind, 3000, seed=4)
    on_device = device_tally(torch.tensor(label), scores)

    area = trueness.auc(on_device)

    expected = trueness.auc(trueness.tally(label, scores_on_host))
    assert isinstance(on_device, DeviceTally)
    assert (area.value, area.name) == (expected.value, expected.name)
    assert area.se == pytest.approx(expected.se, rel=1e-10)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64], ids=name)
def test_tables_of_one_pass_are_those_of_the_host(kind, many):
    label, scores, scores_on_host = cases(kind, 3000, seed=4)
    on_device = device_tally(torch.tensor(label), scores)
    on_host = trueness.tally(label, scores_on_host)

    for threshold in (-1.0, 0.0, 0.3, float(scores_on_host[0]), np.pi / 10, 1e30):
        table = trueness.confusion(on_device, threshold)
        point = trueness.at_threshold(on_device, threshold)

        expected = trueness.confusion(on_host, threshold)
        assert table.to_dict() == expected.to_dict()
        assert trueness.f1(on_device, threshold=threshold) == point["f1"]
        assert point["f1"] == trueness.at_threshold(on_host, threshold)["f1"]


def test_missing_labels_are_unknown_and_bins_have_limits(many):
    y, scores, host = cases(torch.float32, 500)
    coarse = device_tally(torch.tensor(y), scores, at_most=40)
    assert coarse.binned == (len(coarse) <= 40)

    low, high = trueness.auc(coarse).bounds
    assert low <= trueness.auc(y, host).value <= high

    labels = torch.tensor(y).float()
    labels[::7] = float("nan")
    expected = trueness.tally(np.where(np.arange(500) % 7, y, np.nan), host)
    assert device_tally(labels, scores).to_host() == expected


@pytest.mark.parametrize("kind", TYPES, ids=name)
def test_keys_are_in_the_order_of_scores(kind):
    lib = library_of(torch.zeros(1))
    scores = torch.sort(torch.cat([-torch.rand(200), torch.rand(200)]).to(kind)).values
    keys = keys_of(lib, scores, name(kind))

    assert bool((keys[1:] >= keys[:-1]).all())

    back = scores_on_host(keys.numpy(), name(kind))
    assert back.tolist() == scores.double().tolist()
    for threshold in (0.1, -0.3, 1 / 3, 0.0):
        above = keys >= key_at_least(threshold, name(kind))
        assert above.tolist() == (scores.double() >= threshold).tolist()


@pytest.mark.parametrize(
    ("y", "s", "message"),
    [
        ([1, 0], torch.tensor([0.1, float("nan")]), "infinite scores in 1 cases"),
        ([1, 0], torch.tensor([0.1, np.inf]).half(), "infinite scores in 1 cases"),
        ([1, 0], torch.tensor([1, 2]), "found int64"),
        ([1, 2, 3], torch.rand(3), "two values; found 3"),
        ([1, 2], torch.rand(2), "positive=2"),
        ([1, 0, 1], torch.rand(2), "found 3 and 2"),
    ],
)
def test_wrong_input(y, s, message):
    with pytest.raises(InputError, match=message):
        device_tally(torch.tensor(y), s)


def test_what_needs_the_host_says_so(many):
    y, scores, _ = cases(torch.float32, 3000)
    d = device_tally(torch.tensor(y), scores)

    with pytest.raises(InputError, match=r"3,000 cases.*at_most=100_000.*to_host"):
        answer_on_device(trueness.ranking.fit_binormal, d, (), {})
    with pytest.raises(InputError, match="needs the tally on the host"):
        trueness.auc(d, method="delong")
    with pytest.raises(trueness.NotEnoughCases):
        trueness.auc(device_tally(torch.zeros(3000), scores))
    assert "float32 scores on cpu" in repr(d)


def test_tensors_of_the_host_are_columns():
    y = torch.tensor([0, 1, 1])
    s = torch.tensor([0.25, 0.5, 0.125])
    assert trueness.auc(y, s).value == 0.5
    assert trueness.auc(y, s.bfloat16()).value == 0.5
    assert trueness.auc(y, s.requires_grad_()).value == 0.5


def test_nothing_is_loaded_unasked():
    code = (
        "import sys, trueness\n"
        "trueness.auc([0, 1], [0.1, 0.2])\n"
        "print(*(m for m in sys.modules if m.startswith(('torch', 'trueness.gpu'))))"
    )
    source = str(Path(trueness.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": source, "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == ""


def test_scores_of_any_range_are_sorted():
    """Scores of both signs need more than 32 bits beside the class."""
    rng = np.random.default_rng(5)
    y = rng.random(2000) < 0.4
    scores = torch.tensor(rng.normal(size=2000) * 10.0 ** rng.integers(-30, 30, 2000))
    scores = scores.float()
    labels = torch.tensor(np.where(rng.random(2000) < 0.2, np.nan, y))

    counted = device_tally(labels, scores).to_host()

    known = labels.numpy()
    labels_on_host = np.where(np.isnan(known), None, known == 1)
    assert counted == trueness.tally(labels_on_host, scores.double().numpy())


@pytest.mark.parametrize("largest", [1, 7, 50])
def test_bins_are_no_more_than_asked_for(largest):
    rng = np.random.default_rng(6)
    scores = torch.tensor(rng.integers(300, size=5000) ** 2 / 9e4)
    scores[:2000] = 0.25
    counted = device_tally(torch.tensor(rng.random(5000) < 0.5), scores)

    bins = counted.bin(largest)

    assert len(bins) <= largest
    assert bins.n == 5000
    assert (bins.score[:-1] > bins.high[1:]).all()
    part = -(-5000 // largest)
    several_scores = bins.score < bins.high
    assert ((bins.pos + bins.neg)[several_scores] < 2 * part + 1).all()


def test_no_case_is_refused():
    with pytest.raises(InputError, match="at least one case"):
        device_tally(torch.zeros(0), torch.zeros(0))
