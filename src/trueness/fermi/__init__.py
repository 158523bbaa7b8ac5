"""What does a rank mean, given how many cases are positive and how large the AUC is?

The probability that the case at a rank is positive follows by maximum entropy. Read
``distribution`` first, then ``solver``, which finds the inverse temperature beta and
the chemical potential mu, ``partition_sums``, which adds probabilities up to any rank,
and ``quadrature``, which makes both fast. Maths: ``docs/maths/fermi.md``.
"""

from trueness.fermi.distribution import midranks

__all__ = ["midranks"]
