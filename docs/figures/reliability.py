"""AdaBoost on West Nile, as it comes: far too sure that a trap has the virus."""

import pandas as pd

import karat
from karat import plots
from karat.samples import path


def chart():
    frame = pd.read_csv(path("west_nile"))
    t = karat.tally(frame[frame.year >= 2011], label="virus", score="adaboost")
    return plots.reliability(t, replicates=200, title="AdaBoost, as it comes")
