"""AUC with its interval of scores on a CUDA device, beside torchmetrics' AUC alone

    python benchmarks/bench_gpu.py 1e6 1e8 5e8

Needs a CUDA device with PyTorch, CuPy and Triton. Times are medians of warm runs
between CUDA events; memory is the peak beyond the input, as PyTorch and CuPy's pool
report it. Counts are compared with NumPy's on the host up to 10^8 scores.
"""

import sys
import time

import torch
from torchmetrics.functional.classification import binary_auroc

import trueness
from trueness.gpu.passes import placements_of


def timed(run, turns):
    run()
    found = []
    for _ in range(turns):
        torch.cuda.synchronize()
        start = time.perf_counter()
        value = run()
        torch.cuda.synchronize()
        found.append(time.perf_counter() - start)
    return sorted(found)[len(found) // 2], value


def parts(y, s):
    """Where does the time go?"""
    import trueness.gpu.counting as counting
    from trueness.gpu.arrays import library_of
    from trueness.gpu.split import split_keys

    lib = library_of(s)
    flags = y.bool()
    split, (pos, neg, _) = timed(lambda: split_keys(lib, s, flags, None, "float32"), 5)
    sort, _ = timed(lambda: (lib.sort(pos.clone()), lib.sort(neg.clone())), 5)
    d = counting.DeviceTally(lib, lib.sort(pos), lib.sort(neg), None, "float32")
    search, _ = timed(lambda: placements_of(d), 5)
    few, _ = timed(lambda: counting._few(d), 5)
    labels, _ = timed(lambda: counting._labels(lib, y, s, None), 5)
    return {
        "labels": labels,
        "split": split,
        "sort": sort,
        "search": search,
        "few": few,
    }


def compare(n):
    g = torch.Generator(device="cuda").manual_seed(1)
    y = torch.rand(n, device="cuda", generator=g) < 0.3
    s = torch.randn(n, device="cuda", generator=g) + y.float()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    ours, found = timed(lambda: trueness.auc(y, s), 5)
    peak = (torch.cuda.max_memory_allocated() - before) / 4 / n
    print(f"n={n:.0e} ours {1e3 * ours:.2f} ms, peak {peak:.2f} keys: {found}")
    print("   ", {k: f"{1e3 * v:.2f} ms" for k, v in parts(y, s).items()})
    if n <= 10**8:
        exact = trueness.auc(trueness.tally(y.cpu().numpy(), s.cpu().numpy()))
        print("    host, the same number:", exact.value == found.value)
    theirs, value = timed(lambda: float(binary_auroc(s, y.int())), 3)
    ratio = theirs / ours
    print(f"    torchmetrics {1e3 * theirs:.2f} ms {value:.7f}, ratio {ratio:.2f}")


def main():
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    for size in sys.argv[1:] or ["1e6", "1e8"]:
        compare(int(float(size)))
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
