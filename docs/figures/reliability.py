"""AdaBoost on West Nile, as it comes: far too sure that a trap has the virus."""

import pandas as pd

import trueness
from trueness import plots
from trueness.samples import path


def chart():
    frame = pd.read_csv(path("west_nile"))
    t = trueness.tally(frame[frame.year >= 2011], label="virus", score="adaboost")
    return plots.reliability(t, replicates=200, title="AdaBoost, as it comes")
