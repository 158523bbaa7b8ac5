"""Scores are on a GPU: what can be said without copying them?

The same as on the host, of PyTorch and CuPy arrays on a CUDA device, with the same
whole numbers: ``tally``, ``auc``, ``average_precision``, ``best_threshold``, ``brier``,
``log_loss``, ``confusion``, ``at_threshold``, ``compare_auc`` and the bootstrap; curves
and other numbers with the limits that bins leave.

Scores become integer keys in the same order (``arrays``), split by label and sorted: a
``DeviceTally``. Few distinct scores are counted on the device and come to the host as
an ordinary ``Tally`` (``counting``). Of many, ``arrays`` adds up where the keys of one
class stand among those of the other, and ``passes`` makes answers of the sums, also of
several scores of the same cases, a ``DevicePanel``; ``kernels`` has what Triton does in
one pass. Nothing is loaded unless an array on a device is seen; it needs PyTorch or
CuPy: ``pip install "trueness[gpu]"``.
"""
