"""Scores are on a GPU: what can be said without copying them?

The same as on the host, of PyTorch and CuPy arrays on a CUDA device, with the same
whole numbers: ``tally``, ``auc``, ``average_precision``, ``best_threshold``, ``brier``,
``log_loss``, ``confusion``, ``at_threshold``, ``compare_auc`` and the bootstrap; curves
and other numbers with the bounds that bins leave.

Scores become whole numbers in the same order, their keys (``keys``). One sort of the
keys and one pass over runs of equal ones give a ``DeviceTally`` (``tallies``): the
distinct scores, and how many positives and negatives lie at or below each. Every
answer is a few sums over these runs (``answers``, ``precision``), also of several
scores of the same cases, a ``DevicePanel`` (``panels``).

All is written in the words of the array API standard, without kernels of our own.
Nothing is loaded unless an array on a device is seen; it needs PyTorch or CuPy:
``pip install "trueness[gpu]"``.
"""
