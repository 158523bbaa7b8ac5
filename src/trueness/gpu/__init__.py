"""Scores are on a GPU: what can be said without copying them?

Which questions this room answers
    The same as ``tally``, ``auc``, ``average_precision``, ``confusion`` and
    ``at_threshold`` on the host, of PyTorch and CuPy arrays on a CUDA device, with the
    same whole numbers.

How data flow through it
    Scores become integer keys in the same order, split by label (``split``) and sorted,
    keys only (``keys``): a ``DeviceTally``. Few distinct scores are counted on the
    device and come to the host as an ordinary ``Tally``, on which everything works
    (``counting``). Of many, the answers that need one pass over the sorted keys are
    made on the device (``passes``); for the others ``at_most=`` gives bins with limits.

In which order to read it
    ``arrays`` (two libraries, one set of words), ``keys``, ``split``, ``counting``,
    ``passes``.

Nothing of it is loaded unless an array on a device is seen. It needs PyTorch or CuPy:
``pip install "trueness[gpu]"``.
"""
