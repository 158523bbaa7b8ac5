"""Reader studies of clustered cases: lesions of a patient, regions of an image."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import trueness
from trueness import InputError, NotEnoughCases


def readings(n_patients=40, lesions=3, readers=5, shared=1.0, gain=0.0, seed=0):
    """Scores of lesions, whose difficulty a patient shares."""
    rng = np.random.default_rng(seed)
    rows = []
    patient_effect = shared * rng.normal(size=n_patients)
    labels = rng.random((n_patients, lesions)) < 0.5
    lesion_effect = rng.normal(size=(n_patients, lesions))
    skill = rng.normal(0, 0.2, size=readers)
    for reader in range(readers):
        for treatment in ("one", "two"):
            noise = rng.normal(size=(n_patients, lesions))
            better = gain * (treatment == "two")
            for patient in range(n_patients):
                for lesion in range(lesions):
                    label = labels[patient, lesion]
                    score = label * (1.2 + skill[reader] + better)
                    score += patient_effect[patient] + lesion_effect[patient, lesion]
                    score += noise[patient, lesion]
                    case = f"{patient}-{lesion}"
                    rows.append((reader, treatment, case, int(label), score, patient))

    names = ["reader", "treatment", "case", "label", "score", "patient"]
    return pd.DataFrame(rows, columns=names)


@pytest.mark.parametrize("covariance", ["jackknife", "delong"])
@pytest.mark.parametrize("metric", ["auc", "recall"])
def test_clusters_of_one_case_change_nothing(covariance, metric):
    data = readings()
    options = {"covariance": covariance, "metric": metric}
    if metric == "recall":
        options["threshold"] = 0.5

    plain = trueness.reader_study(data, **options)
    single = trueness.reader_study(data, cluster="case", **options)

    assert single.p_value == pytest.approx(plain.p_value)
    assert single.components.cov2 == pytest.approx(plain.components.cov2)
    assert single.means[0].ci == pytest.approx(plain.means[0].ci)


@pytest.mark.parametrize("covariance", ["jackknife", "delong"])
def test_one_reader_has_the_clustered_error_of_an_auc(covariance):
    data = readings(readers=1)
    study = trueness.reader_study(
        data, fixed="readers", cluster="patient", covariance=covariance
    )
    first = data[data.treatment == "one"]

    alone = trueness.auc(
        first.label.to_numpy(), first.score.to_numpy(), cluster=first.patient.to_numpy()
    )

    # both are Obuchowski's, up to the correction for the number of clusters
    assert study.means[0].se == pytest.approx(alone.se, rel=0.03)


def test_repeated_cases_count_once():
    data = readings(lesions=1, n_patients=60)
    copies = [data.assign(case=data.case + f" {number}") for number in range(4)]
    fourfold = pd.concat(copies)

    once = trueness.reader_study(data)
    clustered = trueness.reader_study(fourfold, cluster="patient")
    careless = trueness.reader_study(fourfold)

    assert clustered.means[0].se == pytest.approx(once.means[0].se, rel=0.02)
    assert careless.means[0].se < 0.8 * clustered.means[0].se


def test_intervals_of_clustered_readings_hold_the_truth():
    means = [
        trueness.reader_study(
            readings(n_patients=20, readers=3, shared=2.0, seed=seed),
            cluster="patient",
            fixed="readers",
        ).means[0]
        for seed in range(100)
    ]
    # two lesions of different patients, whose effects add to the noise
    truth = np.mean([mean.value for mean in means])

    held = np.mean([mean.low <= truth <= mean.high for mean in means])

    assert held > 0.87


def test_wrong_clusters_are_refused():
    data = readings(n_patients=10, readers=2)

    with pytest.raises(InputError, match="one cluster"):
        trueness.reader_study(data, cluster="reader")
    with pytest.raises(InputError, match="covariance"):
        trueness.reader_study(data, cluster="patient", covariance="unbiased")
    with pytest.raises(NotEnoughCases, match="two clusters"):
        trueness.reader_study(data.assign(patient=1), cluster="patient")
    with pytest.raises(InputError, match="cluster"):
        trueness.reader_study(data.assign(patient=None), cluster="patient")
