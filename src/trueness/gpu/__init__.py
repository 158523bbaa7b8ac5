"""Scores are on a GPU: what can be said without copying them?

Which questions this room answers
    The same as ``tally``, ``auc``, ``average_precision``, ``best_threshold``,
    ``brier``, ``log_loss``, ``confusion``, ``at_threshold``, ``compare_auc`` and the
    bootstrap on the host, of PyTorch and CuPy arrays on a CUDA device, with the same
    whole numbers; curves and other numbers with the limits that bins leave.

How data flow through it
    Scores become integer keys in the same order, split by label and sorted, keys only
    (``split``): a ``DeviceTally``. Few distinct scores are counted on the device and
    come to the host as an ordinary ``Tally``, on which everything works (``counting``).
    Of many, ``merging`` adds up where the keys of one class stand among those of the
    other, and ``passes`` makes answers of the sums. Several scores of the same cases
    are a ``DevicePanel`` (``panels``).

In which order to read it
    ``arrays`` (two libraries, one set of words), ``keys``, ``split``, ``counting``,
    ``merging``, ``passes``, ``panels``, ``resampling``; ``kernels`` has what Triton
    does in one pass.

Nothing of it is loaded unless an array on a device is seen. It needs PyTorch or CuPy:
``pip install "trueness[gpu]"``.
"""
