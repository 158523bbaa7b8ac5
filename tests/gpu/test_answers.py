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


def tallies_of_both(n=3000, seed=0, ties=False, kind=torch.float32):
    """Return the same cases counted on a device and on the host."""
    rng = np.random.default_rng(seed)
    label = rng.random(n) < 0.3
    score = 1 / (1 + np.exp(-rng.normal(label, 1)))
    if ties:
        score[::2] = np.round(score[::2], 2)

    scores = torch.tensor(score).to(kind)
    on_device = device_tally(torch.tensor(label), scores)
    assert isinstance(on_device, DeviceTally)
    return on_device, trueness.tally(label, scores.double().numpy())


def placements_by_pairs(scores, others, above):
    """Return the exact part of the other class on the right side, for each score.

    Of positives those below count (``above=False``), of negatives those above.
    """
    placements = []
    for score in scores:
        beyond = others > score if above else others < score
        twice_won = 2 * int(beyond.sum()) + int((others == score).sum())
        placements.append(Fraction(twice_won, 2 * len(others)))
    return placements


@pytest.fixture(
    params=[(1, 1, 1), (7, 3, 4), (40, 90, 12)],
    ids=["one pair", "four levels", "twelve levels"],
)
def few_levels(request):
    """Scores of positives and of negatives with many ties, and their device tally."""
    n_pos, n_neg, levels = request.param
    rng = np.random.default_rng(n_pos)
    positives = rng.integers(levels, size=n_pos)
    negatives = rng.integers(levels, size=n_neg)

    labels = torch.tensor([1] * n_pos + [0] * n_neg)
    scores = torch.tensor(np.concatenate([positives, negatives])).double()
    return positives, negatives, device_tally(labels, scores)


def test_placement_sums_are_those_of_pairs(few_levels):
    positives, negatives, on_device = few_levels

    sums = placement_sums(on_device)

    of_positives = placements_by_pairs(positives, negatives, above=False)
    of_negatives = placements_by_pairs(negatives, positives, above=True)
    assert sums.twice_wins == 2 * len(negatives) * sum(of_positives)
    for moments, placements in (
        (sums.of_positives, of_positives),
        (sums.of_negatives, of_negatives),
    ):
        mean = sum(placements) / len(placements)
        squares = float(sum((x - mean) ** 2 for x in placements))
        fourth_powers = float(sum((x - mean) ** 4 for x in placements))

        assert moments.size == len(placements)
        assert moments.squares == pytest.approx(squares, rel=1e-13, abs=1e-28)
        assert moments.fourth_powers == pytest.approx(fourth_powers, rel=1e-13, abs=0)


def test_average_precision_is_the_mean_precision_of_positives(few_levels):
    positives, negatives, on_device = few_levels

    value = average_precision_value(on_device)

    precisions = []
    for cut in positives:
        true_positives = int((positives >= cut).sum())
        false_positives = int((negatives >= cut).sum())
        precisions.append(Fraction(true_positives, true_positives + false_positives))
    expected = float(sum(precisions) / len(positives))
    assert value == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("ties", [False, True], ids=["distinct", "tied"])
@pytest.mark.parametrize(
    "wish",
    [
        {"maximize": "f1", "subject_to": "recall >= 0.8"},
        {"maximize": "accuracy"},
        {"maximize": "precision", "subject_to": ["flagged <= 200", "recall >= 0.1"]},
        {"minimize": "3*fp + fn", "prevalence": 0.1},
    ],
    ids=["f1 with recall", "accuracy", "precision with capacity", "costs"],
)
def test_the_best_threshold_is_that_of_the_host(wish, ties):
    on_device, on_host = tallies_of_both(seed=5, ties=ties)

    best = trueness.best_threshold(on_device, **wish)

    expected = trueness.best_threshold(on_host, **wish)
    assert best.value == expected.value
    assert best.score_ranges == expected.score_ranges
    assert best.binding == expected.binding


def test_a_score_shared_by_most_is_looked_into():
    rng = np.random.default_rng(3)
    score = np.where(rng.random(200_000) < 0.9, 0.5, rng.random(200_000))
    label = rng.random(score.size) < score
    on_device = device_tally(torch.tensor(label), torch.tensor(score).float())
    on_host = trueness.tally(label, score.astype(np.float32))

    best = trueness.best_threshold(on_device, "youden")

    expected = trueness.best_threshold(on_host, "youden")
    assert best.score_ranges == expected.score_ranges
    with pytest.raises(trueness.Infeasible):
        trueness.best_threshold(
            on_device, "f1", ["recall >= 0.99", "precision >= 0.99"]
        )


@pytest.mark.parametrize("prevalence", [None, 0.01, 0.05, 0.6])
def test_average_precision_has_an_interval(prevalence):
    on_device, on_host = tallies_of_both(seed=1, ties=True)

    estimate = trueness.average_precision(on_device, prevalence=prevalence)

    expected = trueness.average_precision(on_host, prevalence=prevalence)
    interval = (expected.low, expected.high)
    assert estimate.value == pytest.approx(expected.value, rel=1e-12)
    assert (estimate.low, estimate.high) == pytest.approx(interval, rel=1e-11)
    assert estimate.se == pytest.approx(expected.se, rel=1e-11)
    assert (estimate.method, estimate.notes) == (expected.method, expected.notes)


def test_average_precision_of_many_scores_is_that_of_the_host():
    """It was that of bins, and 3e-7 off."""
    on_device, on_host = tallies_of_both(n=300_000, seed=5)

    estimate = trueness.average_precision(on_device)

    expected = trueness.average_precision(on_host)
    interval = (expected.low, expected.high)
    assert (estimate.low, estimate.high) == pytest.approx(interval, rel=1e-11)


@pytest.mark.parametrize("name", ["brier", "log_loss"])
def test_proper_scores(name):
    on_device, on_host = tallies_of_both(seed=2)
    loss = getattr(trueness, name)

    estimate = loss(on_device)

    expected = loss(on_host)
    interval = (expected.low, expected.high)
    low, high = estimate.mcb.bounds
    assert estimate.value == pytest.approx(expected.value, rel=1e-12)
    assert (estimate.low, estimate.high) == pytest.approx(interval, rel=1e-11)
    assert estimate.notes == expected.notes
    assert low <= expected.mcb.value <= high


def points_of(curve):
    """Return the points of a ROC curve as a set."""
    return set(zip(curve.fpr.tolist(), curve.tpr.tolist(), strict=True))


def test_curves_come_with_their_error(monkeypatch):
    monkeypatch.setattr(answers, "CURVE_BINS", 200)
    on_device, on_host = tallies_of_both(seed=3)

    curve = trueness.roc(on_device)

    # points of the exact curve, fewer of them
    assert points_of(curve) <= points_of(trueness.roc(on_host))
    assert 100 < len(points_of(curve)) <= 201
    assert curve.bounds is not None


def test_a_partial_area_is_not_bounded_by_bins(monkeypatch):
    monkeypatch.setattr(answers, "CURVE_BINS", 200)
    on_device, _ = tallies_of_both(seed=3)

    with pytest.raises(trueness.InputError, match="partial_auc needs the tally on the"):
        trueness.partial_auc(on_device, fpr=(0, 0.2))


@pytest.mark.parametrize("shift", [0.0, 3.0, 40.0], ids=["chance", "good", "perfect"])
def test_intervals_rest_on_few_positives_and_on_perfect_ranks(shift):
    rng = np.random.default_rng(0)
    label = np.arange(2000) < 12
    score = torch.tensor(rng.normal(shift * label, 1))

    area = trueness.auc(device_tally(torch.tensor(label), score))

    expected = trueness.auc(label, score)
    interval = (expected.low, expected.high)
    assert area.value == expected.value
    assert (area.low, area.high) == pytest.approx(interval, abs=1e-9)
    assert (area.method, area.notes) == (expected.method, expected.notes)


@pytest.fixture
def designed():
    """Return the same cases on a device and on the host, with a sampling design."""
    design = {"prevalence": 0.02, "sampling": "case-control"}
    return [tally.with_design(**design) for tally in tallies_of_both(seed=4)]


def test_answers_follow_the_design_of_scores_on_a_device(designed):
    on_device, on_host = designed

    lower_end = trueness.auc(on_device).low
    precision = trueness.at_threshold(on_device, 0.6)["precision"]
    best_f1 = trueness.best_threshold(on_device, "f1").value

    assert lower_end == pytest.approx(trueness.auc(on_host).low, abs=1e-9)
    assert precision == trueness.at_threshold(on_host, 0.6)["precision"]
    assert best_f1 == trueness.best_threshold(on_host, "f1").value


@pytest.mark.parametrize(
    "threshold",
    [0.5, [0.2, 0.7], trueness.Rule(0.5), trueness.Rule(0.7, lower=0.4), np.inf],
    ids=str,
)
@pytest.mark.parametrize("name", ["at_threshold", "confusion", "f1"])
def test_decisions_are_those_of_the_host(designed, name, threshold):
    on_device, on_host = designed
    if name == "confusion" and isinstance(threshold, list):
        threshold = threshold[0]
    analysis = getattr(trueness, name)

    answer = analysis(on_device, threshold)

    assert repr(answer) == repr(analysis(on_host, threshold))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda t: trueness.recall(t), "recall needs a threshold"),
        (lambda t: trueness.at_threshold(t), "at_threshold needs a threshold"),
        (
            lambda t: trueness.best_threshold(t, prevalences=(0.1, 0.2)),
            "need the tally on the host",
        ),
    ],
)
def test_what_a_device_lacks_is_said(designed, ask, message):
    on_device, _ = designed

    with pytest.raises(InputError, match=message):
        ask(on_device)


def test_counts_of_a_device_keep_their_design(designed):
    on_device, on_host = designed

    assert on_device.to_host() == on_host
    assert on_device.bin(20).design == (on_device + on_device).design == on_host.design


def test_unlabelled_cases_need_counts_on_the_host():
    on_device, _ = tallies_of_both(seed=4)

    with pytest.raises(InputError, match=r"need counts on the host.*to_host"):
        trueness.auc(on_device, unlabelled="missing at random")


def test_bootstrap_agrees_with_theory():
    on_device, on_host = tallies_of_both(n=4000, seed=6)
    options = {"method": "bootstrap", "replicates": 400, "rng": 1}

    area = trueness.auc(on_device, **options)
    again = trueness.auc(on_device, **options)

    by_delong = trueness.auc(on_host, method="delong")
    interval = (by_delong.low, by_delong.high)
    assert (area.low, area.high) == (again.low, again.high)
    assert area.value == by_delong.value
    assert area.se == pytest.approx(by_delong.se, rel=0.15)
    assert (area.low, area.high) == pytest.approx(interval, abs=0.004)


def test_tallies_add():
    first, first_on_host = tallies_of_both(seed=7)
    second, second_on_host = tallies_of_both(seed=8)
    of_another_type, _ = tallies_of_both(kind=torch.float64)

    total = first + second

    assert total.to_host() == first_on_host + second_on_host
    with pytest.raises(InputError, match="same type of score"):
        first + of_another_type


def test_scores_of_a_range_are_taken_out():
    on_device, on_host = tallies_of_both(seed=7)
    low = 0.3
    high = 0.6

    inside = on_device.between([(low, high)]).to_host()

    in_range = (on_host.score >= low) & (on_host.score <= high)
    assert inside.score.tolist() == on_host.score[in_range].tolist()
    assert inside.pos.tolist() == on_host.pos[in_range].tolist()


@pytest.mark.parametrize("seed", range(4))
def test_bins_lose_no_case_and_span_no_gap(seed):
    on_device, on_host = tallies_of_both(seed=seed, kind=torch.float64)
    ranges = [(0.5, 0.6), (0.3, 0.4)]

    bins = on_device.bin(50)
    bins_of_ranges = on_device.between(ranges).bin(9, [low for low, _ in ranges])

    assert (bins.n_neg, bins.n_pos) == (on_host.n_neg, on_host.n_pos)
    for low, high in ranges:
        bins_inside = (bins_of_ranges.score >= low) & (bins_of_ranges.high <= high)
        inside = (on_host.score >= low) & (on_host.score <= high)
        assert bins_of_ranges.neg[bins_inside].sum() == on_host.neg[inside].sum()
        assert bins_of_ranges.pos[bins_inside].sum() == on_host.pos[inside].sum()


@pytest.mark.parametrize("kind", [torch.float16, torch.float32, torch.float64], ids=str)
def test_paired_areas_are_compared(kind):
    rng = np.random.default_rng(9)
    truth = rng.random(900) < 0.4
    signal = rng.normal(truth, 1)
    noise = {"a": 0.3, "b": 1.0, "c": 1.2}
    scores = {
        name: torch.tensor(signal + rng.normal(0, sigma, 900)).to(kind)
        for name, sigma in noise.items()
    }
    scores["copy"] = 2 * scores["a"]
    label = np.where(rng.random(900) < 0.1, np.nan, truth)
    scores_on_host = {name: column.double().numpy() for name, column in scores.items()}

    panel = device_panel(torch.tensor(label), scores, None)
    comparison = compare_auc(panel, margin=0.02)

    expected = trueness.compare_auc(label, scores_on_host, margin=0.02)
    assert comparison.p_value == pytest.approx(expected.p_value, rel=1e-8)
    for pair, pair_on_host in zip(comparison.pairs, expected.pairs, strict=True):
        difference = pair_on_host.difference
        assert pair.difference.value == difference.value
        assert pair.p_value == pytest.approx(pair_on_host.p_value, rel=1e-8)
        assert pair.difference.low == pytest.approx(difference.low, rel=1e-9)
    pair_of_copies = comparison.pairs[2]
    assert (pair_of_copies.first, pair_of_copies.second) == ("a", "copy")
    assert pair_of_copies.p_value == 1


@pytest.mark.slow
def test_parts_of_a_cluster_add_up(tmp_path):
    """The recipe of docs/howto/gpu.md, with gloo and two processes."""
    rng = np.random.default_rng(10)
    label = rng.random(400) < 0.5
    score = rng.random(400).round(2)
    meeting = f"file://{tmp_path / 'meeting'}"
    output = tmp_path / "auc"

    torch.multiprocessing.spawn(
        _count_one_rank, (meeting, label, score, output), nprocs=2
    )

    expected = trueness.auc(trueness.tally(label, score)).value
    assert float(output.read_text()) == expected


def _count_one_rank(rank, meeting, label, score, output):
    """Count every second case in a process of its own; the first adds up."""
    from torch import distributed

    distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=2)
    own_rows = slice(rank, None, 2)
    part = trueness.tally(torch.tensor(label[own_rows]), torch.tensor(score[own_rows]))
    parts = [None, None]
    distributed.all_gather_object(parts, part)
    if rank == 0:
        output.write_text(repr(trueness.auc(parts[0] + parts[1]).value))
    distributed.destroy_process_group()


@pytest.mark.parametrize("name", ["auc", "average_precision", "brier", "log_loss"])
def test_few_scores_are_answered_where_they_are(name, monkeypatch):
    monkeypatch.setattr(answers, "FEW_SCORES", 2**17)
    on_device, on_host = tallies_of_both(seed=12, ties=True)
    monkeypatch.setattr(DeviceTally, "to_host", None)  # nothing is copied
    analysis = getattr(trueness, name)

    estimate = analysis(on_device)

    expected = analysis(on_host)
    interval = (expected.low, expected.high)
    assert estimate.value == pytest.approx(expected.value, rel=1e-12)
    assert (estimate.low, estimate.high) == pytest.approx(interval, rel=1e-9)


def test_what_few_scores_need_of_the_host_is_answered_there(monkeypatch):
    monkeypatch.setattr(answers, "FEW_SCORES", 2**17)
    on_device, on_host = tallies_of_both(seed=13, ties=True)

    by_delong = trueness.auc(on_device, method="delong")
    youden = trueness.youden(on_device, threshold=0.4)
    recall = trueness.roc(on_device).tpr

    assert by_delong == trueness.auc(on_host, method="delong")
    assert youden == trueness.youden(on_host, threshold=0.4)
    assert recall.tolist() == trueness.roc(on_host).tpr.tolist()


@pytest.mark.parametrize("name", ["brier", "log_loss"])
@pytest.mark.parametrize("sampling", ["cohort", "case-control"])
def test_losses_at_another_prevalence(name, sampling):
    on_device, on_host = tallies_of_both(seed=14)
    design = {"prevalence": 0.07, "sampling": sampling}
    loss = getattr(trueness, name)

    estimate = loss(on_device, **design)

    expected = loss(on_host, **design)
    interval = (expected.low, expected.high)
    assert estimate.value == pytest.approx(expected.value, rel=1e-12)
    assert (estimate.low, estimate.high) == pytest.approx(interval, rel=1e-10)
    assert estimate.se == pytest.approx(expected.se, rel=1e-10)


def tallies_with_certain_scores():
    """Return cases on a device and on the host, of which some score 0 or 1."""
    rng = np.random.default_rng(15)
    label = rng.random(3000) < 0.3
    score = 1 / (1 + np.exp(-rng.normal(label, 1)))
    score[:3] = 0.0
    score[3:5] = 1.0
    on_device = device_tally(torch.tensor(label), torch.tensor(score))
    return on_device, trueness.tally(label, score)


def test_certain_and_wrong_is_an_infinite_loss():
    on_device, on_host = tallies_with_certain_scores()

    loss = trueness.log_loss(on_device)

    expected = trueness.log_loss(on_host)
    assert loss.value == expected.value == np.inf
    assert loss.notes == expected.notes


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
    on_device, on_host = tallies_with_certain_scores()

    loss = trueness.log_loss(on_device, clip=clip)

    expected = trueness.log_loss(on_host, clip=clip)
    interval = (expected.low, expected.high)
    assert loss.value == pytest.approx(expected.value, rel=1e-12)
    assert (loss.low, loss.high) == pytest.approx(interval, rel=1e-9)
    assert loss.notes == expected.notes


def test_losses_need_a_prevalence():
    on_device, _ = tallies_of_both(seed=16)

    with pytest.raises(InputError, match="prevalence"):
        trueness.brier(on_device.with_design(sampling="case-control"))


def test_losses_need_probabilities():
    scores = torch.tensor(np.random.default_rng(0).normal(size=400))
    on_device = device_tally(torch.arange(400) % 2, scores)

    with pytest.raises(InputError, match=r"from 0 to 1; found -3\.77 to 3\.07"):
        trueness.brier(on_device)
