"""Run the benchmarks and write their table.

    python benchmarks/run.py [NAME ...]

One file per claim, ``bench_*.py``, each with a function ``rows()`` that yields ``Row``.
Where a peer may be faster, ``peer_is_faster(rows)`` says in which rows it was.
Studies, ``study_*.py``, take longer and are run when they are named.
Results are kept per file in ``results/``. The first rows of each benchmark are written
to RESULTS.md, so that one can be run again alone; pages show those of the studies.
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import subprocess
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
LIBRARIES = ("numpy", "scipy", "scikit-learn")
MOST = 12  # rows of a benchmark in RESULTS.md


def machine() -> str:
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [x for x in info.read_text().splitlines() if x.startswith("model name")]
        cpu = lines[0].split(":")[1].strip() if lines else cpu
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    python = f"Python {platform.python_version()}"
    # a benchmark of a device has imported its library
    torch = sys.modules.get("torch")
    device = ""
    if torch is not None and torch.cuda.is_available():
        device = f", {torch.cuda.get_device_name()}, torch {torch.__version__}"
    return f"{cpu}, {os.cpu_count()} cores{device}; {python}, {libraries}"


def run_file(path: Path) -> dict:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    print(f"\n{path.stem}: {module.__doc__.splitlines()[0]}", flush=True)
    rows = []
    for row in module.rows():
        rows.append(row._asdict())
        print("  " + "  ".join(str(v) for v in row), flush=True)
    result = {
        "title": module.__doc__.splitlines()[0],
        "date": date.today().isoformat(),
        "machine": machine(),
        "rows": rows,
    }
    if rows and hasattr(module, "peer_is_faster"):
        result["peer_is_faster"] = module.peer_is_faster(rows)
    return result


def write_table() -> None:
    lines = [
        "# Benchmarks",
        "",
        "Each table with its command, its day and its machine; ratios are side by side",
        f"in one run. Of long tables the first {MOST} rows; all are in `results/`.",
    ]
    for path in sorted((HERE / "results").glob("*.json")):
        if not (HERE / f"bench_{path.stem}.py").exists():
            continue
        result = json.loads(path.read_text())
        lines += [
            "",
            f"## {result['title'].rstrip('.')}",
            "",
            f"`python benchmarks/run.py {path.stem}`, {result['date']}, "
            f"{result['machine']}",
            "",
        ]
        if result.get("peer_is_faster"):
            lines += [result["peer_is_faster"], ""]
        head = list(result["rows"][0])
        lines += ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
        for row in result["rows"][:MOST]:
            lines.append("| " + " | ".join(str(row.get(h, "")) for h in head) + " |")
    (HERE / "RESULTS.md").write_text("\n".join(lines) + "\n")


def main(names: list[str]) -> None:
    known = {p.stem.removeprefix("bench_"): p for p in sorted(HERE.glob("bench_*.py"))}
    studies = sorted(HERE.glob("study_*.py"))
    every = known | {p.stem.removeprefix("study_"): p for p in studies}
    wrong = [n for n in names if n not in every]
    if wrong:
        sys.exit(f"No benchmark {wrong}; there are {', '.join(every)}.")
    (HERE / "results").mkdir(exist_ok=True)
    if len(names) == 1:
        result = run_file(every[names[0]])
        if not result["rows"]:
            sys.exit(0)  # what it needs is not on this machine
        (HERE / "results" / f"{names[0]}.json").write_text(json.dumps(result, indent=1))
    else:
        # a process each: imports and memory of one must not help or hinder the next
        for name in names or known:
            subprocess.run([sys.executable, __file__, name], check=True)
    write_table()


if __name__ == "__main__":
    main(sys.argv[1:])
