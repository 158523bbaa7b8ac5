"""What each calibrator makes of AdaBoost's scores on West Nile."""

import pandas as pd

import trueness
from trueness import plots
from trueness.samples import path

METHODS = ("auto", "platt", "beta", "isotonic", "fermi-dirac", "binormal")


def chart():
    frame = pd.read_csv(path("west_nile"))
    t = trueness.tally(frame[frame.year < 2011], label="virus", score="adaboost")
    maps = {name: trueness.calibrate(t, method=name) for name in METHODS}
    return plots.calibration_maps(maps, t, title="AdaBoost on West Nile, 2007 and 2009")
