r"""How far can a mean be by chance, when few readers show how readers differ?

The variance of a mean over readers is a sum :math:`I + R`: the mean square I of the
readers, on f degrees of freedom, and R, what the cases do to all readers alike, which
many cases show well. Hillis (2007) gives the sum Student's distribution on
:math:`f (I + R)^2 / I^2` degrees of freedom. Where the mean square of two or three
readers is small by chance these are many, and tests reject too often. Behrens and
Fisher's solution says instead which variances may be true, :math:`I f / \chi^2_f + R`,
and averages over them: exact where R = 0 or I = 0, and between, by integration for f of
1 to 8, at the level or below it (``docs/maths/readers.md``).
"""

from __future__ import annotations

import math

import numpy as np

from trueness._core.arrays import Floats
from trueness.comparison.contrasts import Test, student_test
from trueness.ranking.auc_intervals import student_quantile
from trueness.readers.model import ReaderSpread

REFERENCES = ("student", "behrens-fisher")
# equally likely values; the limits of one degree of freedom are then within .01 %
_VALUES = 2000


def may_be(s: ReaderSpread) -> Floats:
    """By which ratios to the estimate may the standard error be, equally likely?"""
    from scipy.special import chdtri

    share = (np.arange(_VALUES) + 0.5) / _VALUES
    shown = s.inner / s.value
    return np.asarray(np.sqrt(shown * s.free / chdtri(s.free, share) + 1 - shown))


def quantile(s: ReaderSpread, level: float, reference: str) -> float:
    """Within how many standard errors of a mean lies the truth, at this level?"""
    if reference == "student" or math.isinf(s.df):
        return float(student_quantile(s.df, level))
    from scipy.optimize import brentq
    from scipy.special import ndtr, ndtri

    root, outside = may_be(s), (1 - level) / 2
    most = -float(ndtri(outside)) * float(root.max())
    return float(brentq(lambda z: ndtr(-z / root).mean() - outside, 0.0, most))


def mean_test(
    value: float, sd: float, s: ReaderSpread, level: float, reference: str
) -> Test:
    """Test a difference of means over readers that has this spread."""
    if reference == "student" or math.isinf(s.df):
        return student_test(value, sd, s.df, level)
    from scipy.special import ndtr

    root, half = may_be(s), quantile(s, level, reference) * sd

    def above(null: float) -> float:
        return float(ndtr((null - value) / sd / root).mean())

    return Test(value - half, value + half, value / sd, above)


def equality_test(statistic: float, df1: int, s: ReaderSpread, reference: str) -> float:
    """Give the p-value of equal treatments from MS(T) over its denominator."""
    from scipy.special import chdtrc, fdtrc

    if math.isinf(s.df):
        return float(chdtrc(df1, df1 * statistic))
    if reference == "student":
        return float(fdtrc(df1, s.df, statistic))
    return float(chdtrc(df1, df1 * statistic / may_be(s) ** 2).mean())
