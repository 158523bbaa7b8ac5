"""AdaBoost on West Nile, calibrated on earlier years."""

import pandas as pd

import trueness
from trueness import plots
from trueness.samples import path


def chart():
    frame = pd.read_csv(path("west_nile"))
    early, late = frame[frame.year < 2011], frame[frame.year >= 2011]
    c = trueness.calibrate(trueness.tally(early, label="virus", score="adaboost"))
    t = trueness.tally(late, label="virus", score="adaboost").map(c)
    title = "AdaBoost, calibrated on earlier years"
    return plots.reliability(t, replicates=200, title=title)
