"""python tests/outside/dcurves/make.py"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from write_vectors import Vectors

# Its data df_binary: cancer by family history, 750 patients
vectors = Vectors(
    {"label": [0, 0, 1, 1], "score": [0, 1, 0, 1], "count": [554, 91, 81, 24]}
)
# net benefit of acting on a family history, as R's dcurves gives it, by threshold
PRINTED = {
    0.05: 0.025614035087719297,
    0.1: 0.018518518518518517,
    0.15: 0.010588235294117645,
    0.2: 0.0016666666666666635,
    0.25: -0.008444444444444449,
    0.3: -0.02000000000000001,
    0.4: -0.04888888888888891,
    0.45: -0.06727272727272728,
    0.5: -0.08933333333333335,
    0.6: -0.15,
}
for threshold, net_benefit in PRINTED.items():
    inputs = {
        "label": "$label",
        "score": "$score",
        "count": "$count",
        "threshold": threshold,
    }
    vectors.add("decision_curve.net_benefit", inputs, net_benefit)
for threshold, treat_all in ((0.01, 0.13131313131313133), (0.02, 0.12244897959183675)):
    inputs = {
        "label": "$label",
        "score": "$score",
        "count": "$count",
        "threshold": threshold,
    }
    vectors.add("decision_curve.treat_all", inputs, treat_all)
# net interventions avoided, per 100 patients
AVOIDED = {
    0.01: -995.3333333333334,
    0.05: -131.33333333333337,
    0.1: -23.333333333333353,
    0.15: 12.666666666666652,
    0.2: 30.666666666666657,
    0.3: 48.666666666666664,
    0.5: 63.06666666666666,
    0.8: 71.16666666666666,
}
for threshold, per_hundred in AVOIDED.items():
    inputs = {
        "label": "$label",
        "score": "$score",
        "count": "$count",
        "threshold": threshold,
    }
    vectors.add("decision_curve.avoided_per_100", inputs, per_hundred)

vectors.write(
    __file__,
    suite="dcurves",
    version="1.1.7",
    licence="Apache-2.0",
    source="Vickers, Elkin (2006); figures of R's dcurves in the tests of Python's",
    compared="Net benefit of a test and of treating all, net interventions avoided",
)
