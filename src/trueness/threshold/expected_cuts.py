"""What is to be expected at each cut, when ranks, AUC and prevalence are all one has?

The Fermi-Dirac law says how likely each rank is positive, so it gives the expected
confusion matrix at every cut without a label.
"""

from __future__ import annotations

import numpy as np

from trueness._core.arrays import Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness.counts.values import Tally
from trueness.fermi.distribution import FermiDirac, fermi_dirac
from trueness.metrics import exact
from trueness.metrics.confusion import Confusion, sweep
from trueness.threshold.cuts import Cuts


def expected_cuts(t: Tally, prevalence: float | None, auc: float | None) -> Cuts:
    """Give every cut of a tally with the confusion matrix that is expected there.

    Without ``auc`` its labels give AUC and prevalence, and ``prevalence`` is that of
    use. With ``auc`` the labels are not looked at, and ``prevalence`` is that of the
    cases.
    """
    _cases.one_classifier(t, "best_threshold")
    if auc is not None:
        return _from_numbers(t, prevalence, auc)
    if not (t.n_pos and t.n_neg) and t.n_unknown:
        raise InputError(
            f'method="fermi-dirac" needs auc= and prevalence= when not all is '
            f"labelled; this tally has {t.n_pos:,} positives, {t.n_neg:,} negatives "
            f"and {t.n_unknown:,} unknowns. Type auc=0.8, prevalence=0.1."
        )
    _cases.both_classes(t, 'best_threshold with method="fermi-dirac"')
    t = t.labelled()
    used = _expected(fermi_dirac(t), t.pos + t.neg)
    if prevalence is not None:
        prevalence = _options.fraction(prevalence, "prevalence")
        used = used.at_prevalence(prevalence)
    return Cuts(t.score, sweep(t), used, exact.Scale(), prevalence, counted=False)


def _from_numbers(t: Tally, prevalence: float | None, auc: float) -> Cuts:
    if prevalence is None:
        raise InputError(
            'method="fermi-dirac" with auc= needs prevalence= too, the share of '
            "positives among the cases. Type prevalence=0.1."
        )
    fd = fermi_dirac(n=t.n, prevalence=prevalence, auc=auc)
    used = _expected(fd, t.pos + t.neg + t.unknown)
    return Cuts(t.score, used, used, exact.Scale(), fd.prevalence, counted=False)


def _expected(fd: FermiDirac, cases: Ints) -> Confusion:
    """Add up the chances of the ranks that each cut flags."""
    ranks = np.concatenate([[0], np.cumsum(cases)])
    pos, neg = fd.n_pos, fd.n - fd.n_pos
    tp = pos * np.asarray(fd.expected("tpr", ranks))
    fp = neg * np.asarray(fd.expected("fpr", ranks))
    return Confusion(tp, fp, pos - tp, neg - fp)
