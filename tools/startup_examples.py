"""Measures the worked examples of docs/startup/examples.md with the installed `kindling startup`, and writes that file.

    python tools/startup_examples.py OUTPUT.md [--keep FOLDER] [SUBJECT...]

Without subjects, all of SUBJECTS. What is not installed is left out with a line that says so. --keep stores each
measurement as JSON, to be looked at with `kindling startup --from-json FILE --html page.html`.
"""

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from kindling.startup import model
from kindling.startup.formats import title
from kindling.startup.formats.tables import code, place, section, words
from kindling.startup.formats.terminal import heading

HERE = Path(__file__).resolve().parents[1] / "docs" / "startup"
# (name, distribution that has to be there, program)
SUBJECTS = [
    ("kindling", "kindling", ["-c", "import kindling"]),
    ("torch", "torch", ["-c", "import torch"]),
    ("numpy", "numpy", ["-c", "import numpy"]),
    ("scipy", "scipy", ["-c", "import scipy.stats"]),
    ("pandas", "pandas", ["-c", "import pandas"]),
    ("scikit-learn", "scikit-learn", ["-c", "import sklearn.linear_model"]),
    ("transformers", "transformers", ["-c", "from transformers import LlamaForCausalLM"]),
    ("deepspeed", "deepspeed", ["-c", "import deepspeed"]),
    ("tiny_llama_v1", "torch", ["tiny_llama_v1.py"]),
]
# Where torch's time goes, by what its imports are for: the first prefix that fits a module counts its own time.
TORCH = [
    ("native core (torch._C and its libraries)", ["torch._C"]),
    ("meta registrations, decompositions, references", ["torch._meta_registrations", "torch._decomp", "torch._refs",
                                                         "torch._prims", "torch._prims_common"]),
    ("export, fx and the compiler's front", ["torch.export", "torch._export", "torch.fx", "torch._dynamo", "torch._inductor",
                                             "torch._higher_order_ops", "torch._subclasses", "torch._functorch"]),
    ("functional, nn", ["torch.functional", "torch.nn", "torch._jit_internal"]),
    ("distributed", ["torch.distributed"]),
    ("torch.utils and optim", ["torch.utils", "torch.optim"]),
    ("rest of torch", ["torch", "torchgen"]),
    ("sympy and mpmath", ["sympy", "mpmath"]),
    ("numpy", ["numpy"]),
]  # fmt: skip


def measure(program, folder):
    """The measurement of one subject."""
    path = Path(folder) / "measured.json"
    command = [sys.executable, "-m", "kindling", "startup", "--quiet", "--json", str(path), *program]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    if not path.exists():
        sys.exit(f"{' '.join(command)}: {done.stderr[-500:]}")
    data = model.load(path)
    path.unlink()
    return data, done.stderr


def parts(data):
    """Milliseconds of torch's import by what they are for."""
    found = dict.fromkeys([name for name, _ in TORCH], 0.0)
    found["standard library"] = found["other packages"] = 0.0
    for row in data["modules"]:
        for name, prefixes in TORCH:
            if any(row["name"] == prefix or row["name"].startswith(prefix + ".") for prefix in prefixes):
                break
        else:
            name = "standard library" if row["standard"] else "other packages"
        found[name] += row["self_ms"]
    return sorted(found.items(), key=lambda item: -item[1])


def example(name, distribution, data, errors):
    """One subject's section."""
    try:
        version = f"{distribution} {importlib.metadata.version(distribution)}"
    except importlib.metadata.PackageNotFoundError:  # on PYTHONPATH
        version = f"{distribution}, from a folder"
    lines = [f"## {name} ({version})", "", f"    kindling startup {title_of(data)}", ""]
    lines += [f"- {words(line.strip())}" for line in list(heading(data))[1:]]
    if data["exit"]["status"]:
        last = [line for line in errors.strip().splitlines() if line.strip()][-1:]
        lines.append(f"- it ends with: {words(last[0]) if last else 'no message'}")
    if name == "torch":
        section(lines, "Where it goes", ["ms", "%", "part"], [
            (f"{spent:.1f}", f"{100 * spent / data['total_ms']:.1f}", part) for part, spent in parts(data)])  # fmt: skip
    rows = [row for row in data["modules"] if row["depth"] <= 1 and row["cumulative_ms"] >= 0.01 * data["total_ms"]]
    section(lines, "Imports with what is inside them", ["ms", "%", "module", "first imported by"], [
        (f"{row['cumulative_ms']:.2f}", f"{100 * row['cumulative_ms'] / data['total_ms']:.1f}", code(row["name"]),
         place(row["importer"], row["line"])) for row in sorted(rows, key=lambda row: -row["cumulative_ms"])[:8]])  # fmt: skip
    section(lines, "Packages", ["ms", "%", "package", "modules", "first imported by"], [
        (f"{row['self_ms']:.2f}", f"{row['percent']:.1f}", code(row["name"]), str(row["modules"]),
         place(row["first_importer"], row["line"])) for row in model.group(data, "package")[:6]])  # fmt: skip
    libraries = sorted(data["libraries"], key=lambda row: -model.library_ms(row))[:5]
    section(lines, "Libraries", ["ms", "relocate", "relocations", "static constructors", "init", "library"], [
        (f"{model.library_ms(row):.2f}", f"{'~' * row['estimated']}{row['relocate_ms']:.2f}",
         f"{sum(row['relocations'].values()):,}", f"{len(row['constructors'])} in {row['constructors_ms']:.2f} ms",
         f"{row['init_ms']:.2f}", code(row["path"].rpartition("/")[2])) for row in libraries])  # fmt: skip
    slow = [(item["ms"], item["symbol"], row["path"]) for row in data["libraries"] for item in row["constructors"]]
    section(lines, "Static constructors of more than a millisecond", ["ms", "symbol", "library"], [
        (f"{spent:.2f}", code(symbol), code(path.rpartition("/")[2]))
        for spent, symbol, path in sorted(slow, reverse=True)[:8] if spent >= 1])  # fmt: skip
    failed = {row["name"]: row for row in data["failed"] if not row["name"].startswith("_")}
    if failed:
        names = sorted(failed, key=lambda name: (failed[name]["importer"] != "__main__", name))  # the program's own first
        lines += ["", "Imports that failed and were done without: " + ", ".join(map(code, names[:15])) + "."]
    for row in data["advice"][:3]:
        lines += ["", f"Advice: {row['kind']} {code(row['module'])} at {place(row.get('importer', ''), row['line'])}, "
                      f"measured to save {row['saving_ms']:.1f} ms."]  # fmt: skip
    return [f"#{line}" if line.startswith("## ") and at else line for at, line in enumerate(lines)] + [""]


def title_of(data):
    kind = data["command"]["kind"]
    return f'{kind} "{data["command"]["what"]}"' if kind == "-c" else title(data)


def main(words_):
    keep = None
    if "--keep" in words_:
        at = words_.index("--keep")
        keep = Path(words_[at + 1])
        keep.mkdir(parents=True, exist_ok=True)
        del words_[at : at + 2]
    if not words_:
        sys.exit(__doc__)
    output, chosen = words_[0], words_[1:]
    unknown = set(chosen) - {name for name, _, _ in SUBJECTS}
    if unknown:
        sys.exit(f"no subject {', '.join(sorted(unknown))}; there are {', '.join(name for name, _, _ in SUBJECTS)}")
    lines = ["# What imports cost: examples", "",
             "Made by `python tools/startup_examples.py docs/startup/examples.md`; the figures are of one machine and move with",
             f"its load ({os.cpu_count()} processors). What to read in them: [README.md](README.md).", ""]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for name, distribution, program in SUBJECTS:
            if chosen and name not in chosen:
                continue
            if importlib.util.find_spec({"scikit-learn": "sklearn"}.get(distribution, distribution)) is None:
                lines += [f"## {name}", "", f"{distribution} is not installed here.", ""]
                continue
            data, errors = measure(program, folder)
            if keep:
                (keep / f"{name}.json").write_text(json.dumps(data))
            lines += example(name, distribution, data, errors)
            print(f"{name}: {data['total_ms']:.1f} ms")
    Path(output).write_text("\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
