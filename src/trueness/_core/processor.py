"""Which of NumPy's sorts is slow on this processor?

Nothing here imports NumPy: the command line decides before NumPy is loaded.
"""

from __future__ import annotations

import os
from functools import cache

# features that NumPy leaves out, by its own names; it reads them while it is imported
DISABLED_FEATURES = "NPY_DISABLE_CPU_FEATURES"


# AMD's number of the family whose only member with AVX-512 is Zen 4
_FAMILY_OF_ZEN_4 = "25"


@cache
def has_slow_sort() -> bool:
    """Return whether NumPy sorts 64 bits by AVX-512 where that is slow."""
    return not os.environ.get(DISABLED_FEATURES) and slow_avx512(first_processor())


def slow_avx512(cpuinfo: str) -> bool:
    """Return whether this is AMD's Zen 4.

    There NumPy's AVX-512 sort takes five times as long as its AVX2 sort
    (numpy/x86-simd-sort, issue 6). On Zen 5 it is the faster one.
    """
    lines = [line.partition(":") for line in cpuinfo.splitlines()]
    facts = {name.strip(): value.strip() for name, _, value in lines}
    return (
        facts.get("vendor_id") == "AuthenticAMD"
        and facts.get("cpu family") == _FAMILY_OF_ZEN_4
        and "avx512f" in facts.get("flags", "").split()
    )


def first_processor() -> str:
    """Return what Linux says of the first processor; nothing on other systems."""
    try:
        with open("/proc/cpuinfo") as file:
            return file.read(8192).partition("\n\n")[0]
    except OSError:
        return ""
