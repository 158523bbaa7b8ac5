"""What is answered about scores on a device, on tensors of the CPU, beside the host."""

from fractions import Fraction

import numpy as np
import pytest
import torch

import trueness
from trueness import InputError
from trueness.gpu import answers, panels, tallies
from trueness.gpu.panels import compare_auc, device_panel
from trueness.gpu.sums import average_precision_value, placement_sums
from trueness.gpu.tallies import DeviceTally, device_tally


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Let few distinct scores count as many, and look them up in blocks."""
    monkeypatch.setattr(tallies, "FEW_SCORES", 30)
    monkeypatch.setattr(answers, "FEW_SCORES", 30)
    monkeypatch.setattr(panels, "CASES_AT_ONCE", 64)


def both(n=3000, seed=0, ties=False, kind=torch.float32):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    s = 1 / (1 + np.exp(-rng.normal(y, 1)))
    if ties:
        s[::2] = np.round(s[::2], 2)
    scores = torch.tensor(s).to(kind)
    d = device_tally(torch.tensor(y), scores)
    assert isinstance(d, DeviceTally)
    return d, trueness.tally(y, scores.double().numpy())


@pytest.mark.parametrize(("m", "n", "levels"), [(1, 1, 1), (7, 3, 4), (40, 90, 12)])
def test_sums_are_those_of_pairs(m, n, levels):
    rng = np.random.default_rng(m)
    a, b = (rng.integers(levels, size=size) for size in (m, n))
    labels = torch.tensor([1] * m + [0] * n)
    scores = torch.tensor(np.concatenate([a, b])).double()

    data = device_tally(labels, scores)
    sums = placement_sums(data)

    of_positives = [Fraction(int((b < x).sum() + (b <= x).sum()), 2 * n) for x in a]
    of_negatives = [Fraction(int((a < x).sum() + (a <= x).sum()), 2 * m) for x in b]
    assert sums.twice_wins == 2 * n * sum(of_positives)
    for moments, values in (
        (sums.of_positives, of_positives),
        (sums.of_negatives, of_negatives),
    ):
        mean = sum(values) / len(values)
        squares = float(sum((x - mean) ** 2 for x in values))
        fourth_powers = float(sum((x - mean) ** 4 for x in values))
        assert moments.size == len(values)
        assert moments.squares == pytest.approx(squares, rel=1e-13, abs=1e-28)
        assert moments.fourth_powers == pytest.approx(fourth_powers, rel=1e-13, abs=0)

    precision = [
        Fraction(int((a >= x).sum()), int((a >= x).sum() + (b >= x).sum())) for x in a
    ]
    expected = float(sum(precision) / m)
    assert average_precision_value(data) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(
    "asked",
    [
        {"maximize": "f1", "subject_to": "recall >= 0.8"},
        {"maximize": "accuracy"},
        {"maximize": "precision", "subject_to": ["flagged <= 200", "recall >= 0.1"]},
        {"minimize": "3*fp + fn", "prevalence": 0.1},
    ],
)
def test_the_best_threshold_is_that_of_the_host(asked, ties):
    d, t = both(seed=5, ties=ties)
    one, other = (trueness.best_threshold(x, **asked) for x in (d, t))
    assert one.value == other.value
    assert one.score_ranges == other.score_ranges
    assert one.binding == other.binding


def test_a_score_shared_by_most_is_looked_into():
    rng = np.random.default_rng(3)
    s = np.where(rng.random(200_000) < 0.9, 0.5, rng.random(200_000))
    y = rng.random(s.size) < s
    d = device_tally(torch.tensor(y), torch.tensor(s).float())
    t = trueness.tally(y, s.astype(np.float32))
    one, other = (trueness.best_threshold(x, "youden") for x in (d, t))
    assert one.score_ranges == other.score_ranges
    with pytest.raises(trueness.Infeasible):
        trueness.best_threshold(d, "f1", ["recall >= 0.99", "precision >= 0.99"])


@pytest.mark.parametrize("prevalence", [None, 0.01, 0.05, 0.6])
def test_average_precision_has_an_interval(prevalence):
    d, t = both(seed=1, ties=True)
    one, other = (trueness.average_precision(x, prevalence=prevalence) for x in (d, t))
    assert one.value == pytest.approx(other.value, rel=1e-12)
    assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-11)
    assert one.se == pytest.approx(other.se, rel=1e-11)
    assert (one.method, one.notes) == (other.method, other.notes)


def test_average_precision_of_many_scores_is_that_of_the_host():
    """It was that of bins, and 3e-7 off."""
    d, t = both(n=300_000, seed=5)
    one, other = (trueness.average_precision(x) for x in (d, t))
    assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-11)


@pytest.mark.parametrize("name", ["brier", "log_loss"])
def test_proper_scores(name):
    d, t = both(seed=2)
    one, other = (getattr(trueness, name)(x) for x in (d, t))
    assert one.value == pytest.approx(other.value, rel=1e-12)
    assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-11)
    assert one.notes == other.notes
    low, high = one.mcb.bounds
    assert low <= other.mcb.value <= high


def test_curves_come_with_their_error(monkeypatch):
    monkeypatch.setattr(answers, "CURVE_BINS", 200)
    d, t = both(seed=3)
    curve, found = trueness.roc(t), trueness.roc(d)
    exact, points = (
        {*zip(x.fpr.tolist(), x.tpr.tolist(), strict=True)} for x in (curve, found)
    )
    assert points <= exact  # points of the exact curve, fewer of them
    assert 100 < len(points) <= 201
    assert found.bounds is not None
    with pytest.raises(trueness.InputError, match="partial_auc needs the tally on the"):
        trueness.partial_auc(d, fpr=(0, 0.2))  # which bins do not bound


@pytest.mark.parametrize("shift", [0.0, 3.0, 40.0])
def test_limits_rest_on_few_positives_and_on_perfect_ranks(shift):
    rng = np.random.default_rng(0)
    y = np.arange(2000) < 12
    s = torch.tensor(rng.normal(shift * y, 1))
    one, other = trueness.auc(device_tally(torch.tensor(y), s)), trueness.auc(y, s)
    assert one.value == other.value
    assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-9)
    assert (one.method, one.notes) == (other.method, other.notes)


def test_the_design_of_scores_on_a_device():
    d, t = both(seed=4)
    words = {"prevalence": 0.02, "sampling": "case-control"}
    one, other = d.with_design(**words), t.with_design(**words)
    assert trueness.auc(one).low == pytest.approx(trueness.auc(other).low, abs=1e-9)
    found = trueness.at_threshold(one, 0.6)["precision"]
    assert found == trueness.at_threshold(other, 0.6)["precision"]
    best = [trueness.best_threshold(x, "f1").value for x in (one, other)]
    assert best[0] == best[1]
    assert one.to_host() == other
    assert one.bin(20).design == (one + one).design == other.design
    with pytest.raises(InputError, match=r"need counts on the host.*to_host"):
        trueness.auc(d, unlabelled="missing at random")


def test_bootstrap_agrees_with_theory():
    d, t = both(n=4000, seed=6)
    one = trueness.auc(d, method="bootstrap", replicates=400, rng=1)
    again = trueness.auc(d, method="bootstrap", replicates=400, rng=1)
    exact = trueness.auc(t, method="delong")
    assert (one.low, one.high) == (again.low, again.high)
    assert one.value == exact.value
    assert one.se == pytest.approx(exact.se, rel=0.15)
    assert (one.low, one.high) == pytest.approx((exact.low, exact.high), abs=0.004)


def test_tallies_add():
    (a, ta), (b, tb) = both(seed=7), both(seed=8)
    assert (a + b).to_host() == ta + tb
    with pytest.raises(InputError, match="same type of score"):
        a + both(kind=torch.float64)[0]
    low, high = 0.3, 0.6
    inside = a.between([(low, high)]).to_host()
    kept = (ta.score >= low) & (ta.score <= high)
    assert inside.score.tolist() == ta.score[kept].tolist()
    assert inside.pos.tolist() == ta.pos[kept].tolist()


@pytest.mark.parametrize("seed", range(4))
def test_bins_lose_no_case_and_span_no_gap(seed):
    d, t = both(seed=seed, kind=torch.float64)
    assert (d.bin(50).n_neg, d.bin(50).n_pos) == (t.n_neg, t.n_pos)
    ranges = [(0.5, 0.6), (0.3, 0.4)]
    found = d.between(ranges).bin(9, [low for low, _ in ranges])
    for low, high in ranges:
        inside = (found.score >= low) & (found.high <= high)
        kept = (t.score >= low) & (t.score <= high)
        assert found.neg[inside].sum() == t.neg[kept].sum()
        assert found.pos[inside].sum() == t.pos[kept].sum()


@pytest.mark.parametrize("kind", [torch.float16, torch.float32, torch.float64])
def test_paired_areas_are_compared(kind):
    rng = np.random.default_rng(9)
    y = rng.random(900) < 0.4
    truth = rng.normal(y, 1)
    scores = {k: torch.tensor(truth + rng.normal(0, s, 900)).to(kind)
              for k, s in (("a", 0.3), ("b", 1.0), ("c", 1.2))}  # fmt: skip
    scores["copy"] = 2 * scores["a"]
    labels = np.where(rng.random(900) < 0.1, np.nan, y)
    found = compare_auc(device_panel(torch.tensor(labels), scores, None), margin=0.02)
    host = {k: v.double().numpy() for k, v in scores.items()}
    exact = trueness.compare_auc(labels, host, margin=0.02)
    assert found.p_value == pytest.approx(exact.p_value, rel=1e-8)
    for one, other in zip(found.pairs, exact.pairs, strict=True):
        assert one.difference.value == other.difference.value
        assert one.p_value == pytest.approx(other.p_value, rel=1e-8)
        assert one.difference.low == pytest.approx(other.difference.low, rel=1e-9)
    assert found.pairs[2].p_value == 1  # a, copy


@pytest.mark.slow
def test_parts_of_a_cluster_add_up(tmp_path):
    """The recipe of docs/howto/gpu.md, with gloo and two processes."""
    rng = np.random.default_rng(10)
    y, s = rng.random(400) < 0.5, rng.random(400).round(2)
    where = f"file://{tmp_path / 'meeting'}"
    torch.multiprocessing.spawn(_one_rank, (where, y, s, tmp_path / "auc"), nprocs=2)
    expected = trueness.auc(trueness.tally(y, s)).value
    assert float((tmp_path / "auc").read_text()) == expected


def _one_rank(rank, where, y, s, out):
    from torch import distributed

    distributed.init_process_group("gloo", init_method=where, rank=rank, world_size=2)
    mine = slice(rank, None, 2)
    part = trueness.tally(torch.tensor(y[mine]), torch.tensor(s[mine]))
    parts = [None, None]
    distributed.all_gather_object(parts, part)
    if rank == 0:
        out.write_text(repr(trueness.auc(parts[0] + parts[1]).value))
    distributed.destroy_process_group()


@pytest.mark.parametrize("name", ["auc", "average_precision", "brier", "log_loss"])
def test_few_scores_are_answered_where_they_are(name, monkeypatch):
    monkeypatch.setattr(answers, "FEW_SCORES", 2**17)
    d, t = both(seed=12, ties=True)
    monkeypatch.setattr(DeviceTally, "to_host", None)  # nothing is copied

    one, other = (getattr(trueness, name)(x) for x in (d, t))

    assert one.value == pytest.approx(other.value, rel=1e-12)
    assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-9)


def test_what_few_scores_need_of_the_host_is_answered_there(monkeypatch):
    monkeypatch.setattr(answers, "FEW_SCORES", 2**17)
    d, t = both(seed=13, ties=True)

    assert trueness.auc(d, method="delong") == trueness.auc(t, method="delong")
    assert trueness.youden(d, threshold=0.4) == trueness.youden(t, threshold=0.4)
    assert trueness.roc(d).tpr.tolist() == trueness.roc(t).tpr.tolist()


@pytest.mark.parametrize("name", ["brier", "log_loss"])
@pytest.mark.parametrize("sampling", ["cohort", "case-control"])
def test_losses_at_another_prevalence(name, sampling):
    d, t = both(seed=14)
    design = {"prevalence": 0.07, "sampling": sampling}

    one, other = (getattr(trueness, name)(x, **design) for x in (d, t))

    assert one.value == pytest.approx(other.value, rel=1e-12)
    assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-10)
    assert one.se == pytest.approx(other.se, rel=1e-10)


def certain_scores():
    rng = np.random.default_rng(15)
    y = rng.random(3000) < 0.3
    s = 1 / (1 + np.exp(-rng.normal(y, 1)))
    s[:3], s[3:5] = 0.0, 1.0
    d = device_tally(torch.tensor(y), torch.tensor(s))
    return d, trueness.tally(y, s)


def test_certain_and_wrong_is_an_infinite_loss():
    d, t = certain_scores()

    one, other = trueness.log_loss(d), trueness.log_loss(t)

    assert one.value == other.value == np.inf
    assert one.notes == other.notes


def test_one_certain_score_of_all_cases_is_counted_once():
    labels = torch.ones(40, dtype=torch.int64)
    labels[0] = 0
    scores = torch.ones(40)
    on_device = device_tally(labels, scores)
    on_host = trueness.tally(labels.numpy(), scores.double().numpy())

    of_device = trueness.log_loss(on_device)
    of_host = trueness.log_loss(on_host)

    assert of_device.notes == of_host.notes


@pytest.mark.parametrize("clip", [1e-3, "scikit-learn"])
def test_a_clipped_log_loss(clip):
    d, t = certain_scores()

    one, other = (trueness.log_loss(x, clip=clip) for x in (d, t))

    assert one.value == pytest.approx(other.value, rel=1e-12)
    assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-9)
    assert one.notes == other.notes


def test_losses_need_probabilities_and_a_prevalence():
    d, _ = both(seed=16)
    with pytest.raises(InputError, match="prevalence"):
        trueness.brier(d.with_design(sampling="case-control"))
    scores = torch.tensor(np.random.default_rng(0).normal(size=400))
    with pytest.raises(InputError, match=r"from 0 to 1; found -3\.77 to 3\.07"):
        trueness.brier(device_tally(torch.arange(400) % 2, scores))
