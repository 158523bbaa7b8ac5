"""AdaBoost on West Nile, calibrated on earlier years."""

import pandas as pd

import karat
from karat import plots
from karat.samples import path


def chart():
    frame = pd.read_csv(path("west_nile"))
    early, late = frame[frame.year < 2011], frame[frame.year >= 2011]
    c = karat.calibrate(karat.tally(early, label="virus", score="adaboost"))
    t = karat.tally(late, label="virus", score="adaboost").map(c)
    title = "AdaBoost, calibrated on earlier years"
    return plots.reliability(t, replicates=200, title=title)
