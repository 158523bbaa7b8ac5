"""What does a rank mean, given how many cases are positive and how large the AUC is?

The chance that the case at a rank is positive follows by maximum entropy. Read
``distribution``, then ``solver``, which finds beta and mu and adds probabilities up to
any rank. Maths: ``docs/maths/fermi.md``.
"""

from trueness.fermi.distribution import midranks

__all__ = ["midranks"]
