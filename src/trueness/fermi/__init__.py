"""What does a rank mean?

Given how many cases are positive and how large the AUC is, the chance that the case at
a rank is positive follows by maximum entropy: the Fermi-Dirac distribution.

How data flow: a tally gives N, N1 and its AUC (``counts.placements``); ``solver`` finds
beta and mu, and adds probabilities up to any rank; ``distribution`` holds them in a
``FermiDirac`` that answers. Calibration by rank, FiDEL and cuts without labels build
on it. Read ``distribution``, then ``solver``; the maths is in ``docs/maths/fermi.md``.
"""

from trueness.fermi.distribution import midranks

__all__ = ["midranks"]
