"""What each calibrator makes of AdaBoost's scores on West Nile."""

import pandas as pd

import karat
from karat import plots
from karat.samples import path

METHODS = ("auto", "platt", "beta", "isotonic", "fermi-dirac", "binormal")


def chart():
    frame = pd.read_csv(path("west_nile"))
    t = karat.tally(frame[frame.year < 2011], label="virus", score="adaboost")
    maps = {name: karat.calibrate(t, method=name) for name in METHODS}
    return plots.calibration_maps(maps, t, title="AdaBoost on West Nile, 2007 and 2009")
