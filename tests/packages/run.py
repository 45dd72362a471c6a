"""Runs a small program for each package under Kindling and under PyTorch, and compares what they print.

    python tests/packages/run.py --packages FOLDER --torch PYTHON [--apart FOLDER] [--write docs/compatibility.md] [--keep FILE] [--limit SECONDS] [NAME...]

FOLDER is the environment's site-packages that has the packages and Kindling, and no PyTorch; PYTHON an interpreter that has PyTorch
2.13. The folder of --apart has folders named as packages (`pip install --no-deps --target`) that only their own program sees:
deepspeed and bitsandbytes, which transformers and accelerate import where they are installed. Numbers agree to 1e-4 of their size, or 1e-5 near zero; everything else is the same text.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|inf|nan)(?![\w.])")
SKIPPED = re.compile(r"warn|WARN|it/s|HF_TOKEN")
# The library of torchvision's ordinary wheel needs CUDA's: beside a PyTorch for CPUs its operators are declared, and what calls them is left out.
DECLARED = """
import runpy, sys, torch
for name, schema in (("nms", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"), ("qnms", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")):
    try: getattr(torch.ops.torchvision, name)
    except AttributeError: torch.library.define("torchvision::" + name, schema)
runpy.run_path(sys.argv[1], run_name="__main__")
"""
IMPORTS = {"safetensors": "safetensors.torch"}


def run(command, folder, program, limit):
    """(printed, last line of errors, seconds)"""
    environ = {**os.environ, "OMP_NUM_THREADS": "1", "KINDLING_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore", "HF_HUB_OFFLINE": "1"}
    environ.pop("PYTHONPATH", None)
    if folder:
        environ["PYTHONPATH"] = str(folder)
    start = time.perf_counter()
    try:
        done = subprocess.run([*command, *program], capture_output=True, text=True, env=environ, cwd="/", timeout=limit)
    except subprocess.TimeoutExpired:
        return None, f"more than {limit} s", limit
    lines = [line for line in done.stderr.strip().splitlines() if line and not line.startswith(" ") and not SKIPPED.search(line)]
    return (done.stdout if done.returncode == 0 else None), (lines[-1] if lines else "")[:160], time.perf_counter() - start


def far(ours, theirs):
    """The largest relative difference of two texts' numbers; None where the texts differ beside them."""
    if NUMBER.sub("#", ours) != NUMBER.sub("#", theirs):
        return None
    worst = 0.0
    for a, b in zip(map(float, NUMBER.findall(ours)), map(float, NUMBER.findall(theirs))):
        if not (a == b or math.isnan(a) and math.isnan(b)):
            worst = max(worst, abs(a - b) / max(abs(a), abs(b), 0.1))
    return worst


def try_package(name, kindling, torch, kept, apart=None, limit=300):
    what = IMPORTS.get(name, name)
    if apart and (Path(apart) / name).is_dir():
        folder = str(Path(apart) / name)
        kindling, torch = (kindling[0], folder), (torch[0], os.pathsep.join([folder, str(torch[1])]))
    _, problem, imported = run(kindling[0], kindling[1], ["-c", f"import {what}"], limit)
    row = {"name": name, "import": not problem or "Error" not in problem, "ms": 1000 * imported, "problem": ""}
    ours, problem, row["ours"] = run(kindling[0], kindling[1], [str(PROGRAMS / f"use_{name}.py")], limit)
    program = PROGRAMS / f"use_{name}.py"
    if kept.get(name, [None])[0] != program.read_text():
        kept[name] = program.read_text(), *run(torch[0], torch[1], ["-c", DECLARED, str(program)], limit)
    _, theirs, other, row["theirs"] = kept[name]
    if theirs is None:
        del kept[name]
    if theirs is None:
        row["problem"] = f"fails under PyTorch: {other}"
    elif ours is None:
        row["problem"] = problem
    else:
        row["far"] = far(ours, theirs)
        if row["far"] is None:
            row["problem"] = "other text"
        elif row["far"] > 1e-4:
            row["problem"] = f"numbers differ by {row['far']:.1g}"
    row["works"] = not row["problem"]
    return row


def table(rows, versions):
    good = sum(row["works"] for row in rows)
    text = f"""# Packages that run

Made by `tests/packages/run.py`: each package in an environment without PyTorch, a program of 10 to 40 lines
(`tests/packages/programs`), one thread, seconds from process start on a machine that did other work too. {good} of {len(rows)} give what they give under PyTorch 2.13.

| package | import | program | largest difference | seconds | under PyTorch |
| --- | --- | --- | --- | --- | --- |
"""
    for row in rows:
        far = "" if row.get("far") is None else f"{row['far']:.1g}"
        text += (f"| {row['name']} {versions.get(row['name'], '')} | {'yes' if row['import'] else 'no'} | {row['problem'].replace('|', '/') or 'works'} "
                 f"| {far} | {row['ours']:.1f} | {row['theirs']:.1f} |\n")
    return text


def architectures(ours, theirs):
    """A sentence about the models of transformers, from the two files of architectures.py."""
    import contextlib
    import io
    import re
    sys.path.insert(0, str(Path(__file__).parent))
    import architectures as tool

    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        tool.compare(*(json.loads(Path(each).read_text()) for each in (ours, theirs)))
    counts = re.findall(r"'([^']*)': (\d+)", said.getvalue().splitlines()[-1])
    return ("\nTiny models of transformers' architectures (`tests/packages/architectures.py`), losses to 1e-5, sums of gradients to 1e-3, generated tokens: "
            + ", ".join(f"{number} {what}" for what, number in counts) + ".\n")


def versions(*folders):
    found = {}
    for info in (each for folder in folders for each in Path(folder).glob("*.dist-info")):
        name, _, version = info.name.removesuffix(".dist-info").rpartition("-")
        found[name.replace("-", "_").lower()] = version
    for module, package in (("pyro", "pyro_ppl"), ("open_clip", "open_clip_torch"), ("ignite", "pytorch_ignite")):
        found[module] = found.get(package, "")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--packages", required=True, type=os.path.abspath)
    parser.add_argument("--torch", required=True)
    parser.add_argument("--apart", type=os.path.abspath, help="a folder of folders, each for the program of that name alone")
    parser.add_argument("--write")
    parser.add_argument("--keep", help="a file that keeps what PyTorch printed, for the next time")
    parser.add_argument("--architectures", nargs=2, metavar=("OURS", "THEIRS"), help="files of architectures.py, for the last sentence")
    parser.add_argument("--limit", type=int, default=300, help="seconds for one program")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    python = Path(given.packages).parents[2] / "bin" / "python"
    kindling, torch = ([str(python), "-P", "-m", "kindling", "run"], None), ([given.torch], given.packages)
    rows, kept = [], json.loads(Path(given.keep).read_text()) if given.keep and Path(given.keep).exists() else {}
    for name in given.names or sorted(path.stem[4:] for path in PROGRAMS.glob("use_*.py")):
        rows.append(try_package(name, kindling, torch, kept, given.apart, given.limit))
        row = rows[-1]
        print(f"{'ok  ' if row['works'] else 'FAIL'} {name:28} {row['ours']:6.1f} {row['theirs']:6.1f}  {row.get('far')}  {row['problem']}", flush=True)
        if given.keep:
            Path(given.keep).write_text(json.dumps(kept))
    if given.write:
        Path(given.write).write_text(table(rows, versions(given.packages, *Path(given.apart).glob("*") if given.apart else ())) + (architectures(*given.architectures) if given.architectures else ""))
    return 0 if all(row["works"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
