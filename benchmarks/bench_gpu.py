"""Scores on a CUDA device: AUC with its interval and more, beside torchmetrics' AUC

    SCIPY_ARRAY_API=1 python benchmarks/bench_gpu.py 1e6 1e8 5e8 1e9

Needs a CUDA device with PyTorch, CuPy and Triton. Times are medians of warm runs,
synchronised. Memory is the peak beyond the input in PyTorch's pool, from which CuPy
takes its own too, in units of the keys (4 bytes a case). Counts are compared with
NumPy's on the host up to 10^8 scores.
"""

import sys
import time

import torch

import trueness
from trueness.gpu.arrays import library_of
from trueness.gpu.merging import sums_of
from trueness.gpu.split import sorted_keys


def timed(run, turns=5):
    value = run()
    found = []
    for _ in range(turns):
        torch.cuda.synchronize()
        start = time.perf_counter()
        value = run()
        torch.cuda.synchronize()
        found.append(time.perf_counter() - start)
    return 1e3 * sorted(found)[len(found) // 2], value


def peak(run, n):
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run()
    return (torch.cuda.max_memory_allocated() - before) / 4 / n


def others(y, s):
    """AUC alone, by those who have it on the device."""
    from torchmetrics.functional.classification import binary_auroc

    labels = y.int()
    yield "torchmetrics", lambda: float(binary_auroc(s, labels))
    try:
        from torcheval.metrics.functional import binary_auroc as auroc
    except ImportError:
        print("    torcheval is not installed")
    else:
        yield "torcheval", lambda: float(auroc(s, labels))
    try:
        import sklearn
        from sklearn.metrics import roc_auc_score

        sklearn.set_config(array_api_dispatch=True)
    except (ImportError, RuntimeError) as err:
        print(f"    scikit-learn: {str(err)[:80]}")
    else:
        yield "scikit-learn", lambda: float(roc_auc_score(labels, s))


def compare(n):
    g = torch.Generator(device="cuda").manual_seed(1)
    y = torch.rand(n, device="cuda", generator=g) < 0.3
    s = torch.randn(n, device="cuda", generator=g) + y.float()
    memory = peak(lambda: trueness.auc(y, s), n)
    ours, found = timed(lambda: trueness.auc(y, s))
    print(f"n={n:.0e} auc {ours:.2f} ms, peak {memory:.2f} keys: {found}")
    lib = library_of(s)
    keys, parts = timed(lambda: sorted_keys(lib, s, y, None, "float32"))
    look, _ = timed(lambda parts=parts: sums_of(lib, *parts[:2]))
    print(f"    split and sort {keys:.2f} ms, search and sums {look:.2f} ms")
    del parts
    if n <= 10**8:
        host = trueness.auc(trueness.tally(y.cpu().numpy(), s.cpu().numpy()))
        print("    host, the same:", host.value == found.value, host.low - found.low)
    for name, run in others(y, s):
        try:
            theirs, value = timed(run, 3)
        except Exception as err:
            print(f"    {name}: {type(err).__name__} {str(err)[:80]}")
            continue
        ratio = theirs / ours
        print(f"    {name} {theirs:.2f} ms {value:.7f}, ratio {ratio:.2f}")
    torch.cuda.empty_cache()
    for name, run in {
        "average precision": lambda: trueness.average_precision(y, s),
        "best accuracy": lambda: trueness.best_threshold(y, s, "accuracy"),
        "best F1, recall >= 0.8": lambda: trueness.best_threshold(
            y, s, "f1", subject_to="recall >= 0.8"
        ),
        "at a threshold": lambda: trueness.at_threshold(y, s, 0.5),
        "roc": lambda: trueness.roc(y, s),
        "brier": lambda: trueness.brier(y, torch.sigmoid(s)),
    }.items():
        took, value = timed(run, 3)
        print(f"    {name} {took:.1f} ms: {str(value).splitlines()[0][:70]}")


def bootstrap(n=10**7, replicates=2000):
    g = torch.Generator(device="cuda").manual_seed(2)
    y = torch.rand(n, device="cuda", generator=g) < 0.3
    s = torch.randn(n, device="cuda", generator=g) + y.float()
    t = trueness.tally(y, s)
    took, found = timed(
        lambda: trueness.auc(t, method="bootstrap", replicates=replicates), 1
    )
    print(f"bootstrap {replicates} x {n:.0e}: {took:.0f} ms {found}")
    print("    for comparison", trueness.auc(t))


def main():
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    for size in sys.argv[1:] or ["1e6", "1e8"]:
        compare(int(float(size)))
        torch.cuda.empty_cache()
    bootstrap()


if __name__ == "__main__":
    main()
