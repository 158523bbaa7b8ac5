"""Published bins: k in every cell, and in everything that subtraction can find."""

import itertools

import numpy as np
import pytest

import trueness
from trueness.declarations.private_bins import (
    private_counts,
    published_ends,
    shortest_decimal,
)


def random_groups(seed, sizes=(400, 150, 60, 25)):
    """Return tallies of groups of different sizes, and of all cases."""
    rng = np.random.default_rng(seed)
    groups = {}
    for place, size in enumerate(sizes):
        label = rng.random(size) < 0.3
        score = np.round(rng.normal(label * 1.0, 1.0), 2)
        groups[f"site {place}"] = trueness.tally(label, score)
    all_cases = groups["site 0"]
    for name in list(groups)[1:]:
        all_cases = all_cases + groups[name]
    return all_cases, groups


def is_safe(neg, pos, unknown, k):
    return min(neg, pos) >= k and (unknown == 0 or unknown >= k)


@pytest.mark.parametrize("k", [2, 5, 11])
@pytest.mark.parametrize("seed", range(4))
def test_every_published_bin_has_k_of_each_class(k, seed):
    all_cases, groups = random_groups(seed)

    published = private_counts(
        all_cases, {"site": groups}, at_least=k, thresholds=[0.5, 1.5]
    )

    for tally in (published.whole, *published.groups["site"].tallies.values()):
        for row in zip(tally.neg, tally.pos, tally.unknown, strict=True):
            assert is_safe(*row, k)


def indicator(published_row, fine_edges, names):
    """Return which pairs of group and fine bin a published bin holds."""
    group, low, high = published_row
    return [
        float((group is None or group == name) and low <= edge < high)
        for name in names
        for edge in fine_edges
    ]


@pytest.mark.parametrize("seed", range(6))
def test_subtraction_finds_no_small_cell(seed):
    """Every set of groups and interval of scores in the span of what is published.

    By linear algebra, which knows nothing of chains: an indicator that is a linear
    combination of published bins is a number that a reader can compute.
    """
    at_least = 5
    all_cases, groups = random_groups(seed, sizes=(160, 90, 70, 40))

    published = private_counts(
        all_cases, {"site": groups}, at_least=at_least, thresholds=[0.5]
    )

    tallies = published.groups["site"].tallies
    names = list(tallies)
    edges = published.whole.score.tolist()
    rows = [(None, low, high) for low, high in bins_of(published.whole)]
    for name, tally in tallies.items():
        rows += [(name, low, high) for low, high in bins_of(tally)]
    matrix = np.array([indicator(row, edges, names) for row in rows]).T

    exact_counts = np.zeros((len(names), len(edges), 3))
    for number, name in enumerate(names):
        behind = groups_in(name, groups, published)
        for place, (low, high) in enumerate(bins_of(published.whole)):
            exact_counts[number, place] = counted_between(behind, low, high)

    computable = 0
    for chosen, start, stop in groups_and_intervals(len(names), len(edges)):
        wanted = np.zeros((len(names), len(edges)))
        wanted[chosen, start:stop] = 1
        solution, *_ = np.linalg.lstsq(matrix, wanted.ravel(), rcond=None)
        if np.abs(matrix @ solution - wanted.ravel()).max() > 1e-8:
            continue

        computable += 1
        neg, pos, unknown = exact_counts[chosen, start:stop].sum((0, 1))
        assert is_safe(neg, pos, unknown, at_least), (chosen, start, stop)
    assert computable >= len(rows)


def groups_and_intervals(number_of_groups, number_of_bins):
    """Go through all sets of groups, and all intervals of bins."""
    for size in range(1, number_of_groups + 1):
        for chosen in itertools.combinations(range(number_of_groups), size):
            for start, stop in itertools.combinations(range(number_of_bins + 1), 2):
                yield list(chosen), start, stop


def groups_in(name, groups, published):
    """Return the tallies behind a published group, which may be several."""
    if name in groups:
        return [groups[name]]
    return [groups[small] for small in published.groups["site"].pooled]


def counted_between(tallies, low, high):
    counts = np.zeros(3)
    for tally in tallies:
        inside = (tally.score >= low) & (tally.score < high)
        counts += [column[inside].sum() for column in tally.counts[:3]]
    return counts


def cell_indicator(cells, fine_edges, low, high, site=None, sex=None):
    """Return which cells a published bin of scores and of a group holds."""
    entries = []
    for cell_site, cell_sex, cell_bin in cells:
        has_site = site in (None, cell_site)
        has_sex = sex in (None, cell_sex)
        has_score = low <= fine_edges[cell_bin] < high
        entries.append(float(has_site and has_sex and has_score))
    return entries


def bins_of(tally):
    """Return the ends of the bins of a tally: each begins where the one above ends."""
    upper_ends = [np.inf, *tally.score[:-1].tolist()]
    return zip(tally.score.tolist(), upper_ends, strict=True)


def published_indicators(published, cells, fine_edges):
    """Return one column for each published number: the cells that it adds up."""
    columns = []
    for low, high in bins_of(published.whole):
        columns.append(cell_indicator(cells, fine_edges, low, high))
    for column, groups in published.groups.items():
        for name, tally in groups.tallies.items():
            for low, high in bins_of(tally):
                indicator = cell_indicator(
                    cells, fine_edges, low, high, **{column: name}
                )
                columns.append(indicator)
    return np.array(columns).T


def test_subtraction_across_two_columns_finds_no_small_cell():
    """Cells are site, sex and fine bin; sets are groups times intervals of scores."""
    at_least = 5
    rng = np.random.default_rng(3)
    size = 420
    label = rng.random(size) < 0.4
    score = np.round(rng.normal(label, 1), 2)
    site = rng.choice(["a", "b", "c"], size, p=[0.5, 0.3, 0.2])
    sex = rng.choice(["f", "m"], size, p=[0.7, 0.3])

    published = private_counts(
        trueness.tally(label, score),
        {
            "site": trueness.tally(label, score, by=site),
            "sex": trueness.tally(label, score, by=sex),
        },
        at_least=at_least,
        thresholds=[0.5],
    )

    fine_edges = published.whole.score
    number_of_bins = fine_edges.size
    cells = list(itertools.product("abc", "fm", range(number_of_bins)))
    matrix = published_indicators(published, cells, fine_edges)
    # edges stand highest first: the bin of a score begins at the first that it reaches
    bin_of_case = [int(np.argmax(value >= fine_edges)) for value in score]
    counts = np.zeros((len(cells), 2))
    for case in range(size):
        cell = cells.index((site[case], sex[case], bin_of_case[case]))
        counts[cell, int(label[case])] += 1

    computable = 0
    for wanted in sets_of_cells(cells, number_of_bins):
        solution, *_ = np.linalg.lstsq(matrix, wanted, rcond=None)
        if np.abs(matrix @ solution - wanted).max() < 1e-8:
            computable += 1
            assert (wanted @ counts >= at_least).all()
    assert computable >= matrix.shape[1]


def sets_of_cells(cells, number_of_bins):
    """Go through all sets of sites and of sexes, and all intervals of scores."""
    sets_of_sites = []
    for number in (1, 2, 3):
        sets_of_sites += itertools.combinations("abc", number)

    for sites, sexes in itertools.product(sets_of_sites, ("f", "m", "fm")):
        for start, stop in itertools.combinations(range(number_of_bins + 1), 2):
            chosen = []
            for cell_site, cell_sex, cell_bin in cells:
                in_groups = cell_site in sites and cell_sex in sexes
                chosen.append(float(in_groups and start <= cell_bin < stop))
            yield np.array(chosen)


def test_bins_are_as_many_as_measured_before():
    predictions = trueness.scan(trueness.samples.path("west_nile"))
    all_cases = trueness.tally(predictions, label="virus", score="boosting")

    published = private_counts(all_cases, {}, at_least=5, thresholds=[0.05]).whole

    low, high = trueness.auc(published).bounds
    assert len(published) >= 80
    assert high - low < 0.014
    assert low <= trueness.auc(all_cases).value <= high


def test_a_threshold_has_an_edge_and_its_table_is_exact():
    all_cases, _ = random_groups(1)

    published = private_counts(all_cases, {}, at_least=5, thresholds=[0.777]).whole

    assert 0.777 in published.score.tolist()
    expected = trueness.confusion(all_cases, 0.777)
    assert trueness.confusion(published, 0.777) == expected
    certain = trueness.bounds("recall", published, threshold=0.777)
    assert certain.low == certain.high


def test_a_small_cell_hides_its_threshold_unless_it_is_published_in_words():
    all_cases, _ = random_groups(1)
    extreme = float(all_cases.score[2])

    hidden = private_counts(all_cases, {}, at_least=5, thresholds=[extreme])
    exposed = private_counts(
        all_cases, {}, at_least=5, thresholds=[extreme], exact_table=True
    )

    assert (hidden.hidden, hidden.exposed) == ((extreme,), ())
    assert (exposed.hidden, exposed.exposed) == ((), (extreme,))
    exact = trueness.confusion(all_cases, extreme)
    assert trueness.confusion(exposed.whole, extreme) == exact


def test_thresholds_that_flag_all_or_nothing_hide_nothing():
    all_cases, _ = random_groups(2)
    lowest = float(all_cases.score[-1])
    highest = float(all_cases.score[0])

    published = private_counts(
        all_cases, {}, at_least=5, thresholds=[lowest, highest + 0.001]
    )

    assert (published.hidden, published.exposed) == ((), ())
    for threshold in (lowest, highest + 0.001):
        exact = trueness.confusion(all_cases, threshold)
        assert trueness.confusion(published.whole, threshold) == exact


def test_ends_of_bins_are_not_the_scores_of_cases():
    rng = np.random.default_rng(0)
    label = rng.random(500) < 0.4
    all_cases = trueness.tally(label, rng.random(500) * 0.5 + label * 0.3)

    published = private_counts(all_cases, {}, at_least=5, thresholds=[]).whole

    scores = {*all_cases.score.tolist()}
    assert not scores & {*published.score.tolist(), *published.high.tolist()}
    assert published.score[-1] > 0
    assert published.high[0] < 1


def test_bins_hold_all_their_cases():
    all_cases, _ = random_groups(3)
    starts = np.arange(0, len(all_cases), 7)

    low, high = published_ends(all_cases, starts, [0.3])

    assert (low[:-1] > high[1:]).all()
    rows = np.searchsorted(starts, np.arange(len(all_cases)), side="right") - 1
    assert (all_cases.score >= low[rows]).all()
    assert (all_cases.high <= high[rows]).all()


def test_edges_of_another_declaration_are_kept():
    first, _ = random_groups(4)
    second, _ = random_groups(5)
    edges = private_counts(first, {}, at_least=5, thresholds=[]).whole.score.tolist()

    published = private_counts(second, {}, at_least=5, thresholds=[], edges=edges)

    inner = published.whole.score[:-1]
    assert {*inner.tolist()} <= {*edges}


def test_small_groups_are_counted_together():
    all_cases, groups = random_groups(6, sizes=(300, 12, 9, 200))

    published = private_counts(all_cases, {"site": groups}, at_least=5, thresholds=[])

    assert published.groups["site"].pooled == ("site 1", "site 2")
    total = sum(t.n for t in published.groups["site"].tallies.values())
    assert total == all_cases.n


def test_cases_without_a_group_are_a_group_of_their_own():
    all_cases, groups = random_groups(7)
    named = {name: groups[name] for name in ("site 0", "site 2", "site 3")}

    published = private_counts(all_cases, {"site": named}, at_least=5, thresholds=[])

    tallies = published.groups["site"].tallies
    assert tallies["none named"].n == groups["site 1"].n


def test_groups_that_overlap_are_refused():
    all_cases, groups = random_groups(8)
    twice = {"a": all_cases, "b": groups["site 0"]}

    with pytest.raises(trueness.InputError, match="must not overlap"):
        private_counts(all_cases, {"site": twice}, at_least=5, thresholds=[])


def test_weighted_cases_count_as_kish_says():
    rng = np.random.default_rng(9)
    label = rng.random(400) < 0.4
    weight = rng.exponential(size=400)
    all_cases = trueness.tally(label, rng.normal(label, 1), weight=weight)

    published = private_counts(all_cases, {}, at_least=5, thresholds=[]).whole

    for weights, squares in zip(published.counts[:2], published.squares, strict=False):
        assert (weights**2 / squares >= 5 - 1e-6).all()


def test_too_few_cases_are_refused():
    few = trueness.Tally([1, 0], neg=[3, 40], pos=[2, 2])

    with pytest.raises(trueness.NotEnoughCases, match="At least 5 negatives"):
        private_counts(few, {}, at_least=5, thresholds=[])


def test_clusters_need_exact_counts():
    clustered = trueness.Tally([1, 0, 1, 0], neg=[9, 9, 9, 9], pos=[9, 9, 9, 9],
                               cluster=["a", "a", "b", "b"])  # fmt: skip

    with pytest.raises(trueness.InputError, match="Type private=1"):
        private_counts(clustered, {}, at_least=5, thresholds=[])

    exact = private_counts(clustered, {}, at_least=1, thresholds=[]).whole
    assert exact.clusters is not None
    assert exact.named_columns["cluster"].dtype.kind == "i"


def test_labels_missing_at_random_need_exact_counts():
    cases = trueness.Tally([1, 0], neg=[9, 9], pos=[9, 9], unknown=[9, 9])
    cases = cases.with_design(unlabelled="missing at random")

    with pytest.raises(trueness.InputError, match="Type private=1"):
        private_counts(cases, {}, at_least=5, thresholds=[])

    assert private_counts(cases, {}, at_least=1, thresholds=[]).whole == cases


@pytest.mark.parametrize(
    ("low", "high", "options", "expected"),
    [
        (0.31234, 0.31987, {}, 0.313),
        (0.31234, 0.31987, {"down": True}, 0.319),
        (0.2, 0.31234, {"open_below": True}, 0.3),
        (0.5, 0.5, {}, 0.5),
        (-3.7, -3.2, {}, -3.7),
        (-3.71, -3.2, {"open_above": True}, -3.7),
        (1e300, 2e300, {}, 1e300),
        (1e-9, 2e-9, {"open_below": True}, 2e-9),
    ],
)
def test_shortest_decimal(low, high, options, expected):
    assert shortest_decimal(low, high, **options) == pytest.approx(expected, rel=1e-12)
