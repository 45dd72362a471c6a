"""``--advise``: what could be done about it, each thing measured by doing it. A short form of it is always there."""

import os
import sys

from ..model import statistics

OPTIONS = [
    ("--advise", None, "try for longer which imports could be deferred, and environment variables one by one"),
    ("--no-advice", None, "try nothing"),
]
ALWAYS = True  # `improve` is called without an option, too

# Environment variables that switch off probing of devices, or logging: (name, value, package that heeds it, device that it
# takes to measure it or None, what it does).
VARIABLES = [
    (
        "TORCH_DEVICE_BACKEND_AUTOLOAD",
        "0",
        "torch",
        None,
        "no search for device plug-ins among the installed distributions",
    ),
    (
        "PYTORCH_NVML_BASED_CUDA_CHECK",
        "1",
        "torch",
        "/dev/nvidiactl",
        "asks the driver's library, without a CUDA context",
    ),
    ("CUDA_VISIBLE_DEVICES", "", "torch", "/dev/nvidiactl", "hides NVIDIA devices"),
    ("CUDA_MODULE_LOADING", "LAZY", "torch", "/dev/nvidiactl", "loads kernels when they are first used"),
    ("HIP_VISIBLE_DEVICES", "", "torch", "/dev/kfd", "hides AMD devices"),
    ("ROCR_VISIBLE_DEVICES", "", "torch", "/dev/kfd", "hides AMD devices from the runtime below HIP"),
    ("AMD_LOG_LEVEL", "0", "torch", "/dev/kfd", "no log of the HIP runtime"),
    ("MIOPEN_LOG_LEVEL", "1", "torch", "/dev/kfd", "no log of MIOpen"),
    ("ZE_AFFINITY_MASK", "", "torch", "/dev/dri/renderD128", "hides Intel devices"),
    ("OMP_NUM_THREADS", "1", "torch", None, "no thread pool of OpenMP"),
    ("OPENBLAS_NUM_THREADS", "1", "numpy", None, "no thread pool of OpenBLAS, which numpy starts when imported"),
    ("MKL_NUM_THREADS", "1", "numpy", None, "no thread pool of MKL"),
    ("TF_CPP_MIN_LOG_LEVEL", "3", "tensorflow", None, "no log of TensorFlow's native part"),
    ("TF_ENABLE_ONEDNN_OPTS", "0", "tensorflow", None, "no oneDNN"),
    ("JAX_PLATFORMS", "cpu", "jax", None, "no search for accelerators"),
    ("TRANSFORMERS_VERBOSITY", "error", "transformers", None, "no log below errors"),
    ("USE_TF", "0", "transformers", None, "no search for TensorFlow"),
    ("USE_FLAX", "0", "transformers", None, "no search for Flax"),
    ("HF_HUB_OFFLINE", "1", "huggingface_hub", None, "asks no server"),
    ("BITSANDBYTES_NOWELCOME", "1", "bitsandbytes", None, "no banner"),
    ("DS_ACCELERATOR", "cpu", "deepspeed", None, "no search for accelerators"),
    ("MPLCONFIGDIR", None, "matplotlib", None, "a place to keep the font cache where the home folder can't be written"),
    ("PYTHONDONTWRITEBYTECODE", None, "", None, "when it is set, what is not cached is compiled in each start"),
]


def improve(data, options, program):
    """Measure what could be deferred, and with --advise the environment variables."""
    from .. import deferral

    leave, thorough = data["exit"], "--advise" in options.given
    if leave["timed_out"] or leave["signal"] or "--no-advice" in options.given:
        return
    if not thorough and any(name.endswith("budget") for name in options.given):
        return
    deferral.advise(program, data, 120.0 if thorough else 15.0, 3)
    if thorough:
        data["environment"] = environment(data, program)
        for row in data["environment"]:
            if row["saving_ms"] is not None and row["saving_ms"] >= max(2.0, 0.02 * data["total_ms"]):
                data["advice"].append({"kind": "environment", "module": f"{row['name']}={row['value']}",
                                       "saving_ms": row["saving_ms"], "line": None, "what": row["what"]})  # fmt: skip
        data["advice"].sort(key=lambda row: -row["saving_ms"])


def environment(data, program, rounds=3):
    """Each variable of the table that concerns the program: ``{"name", "value", "what", "saving_ms", "reason"}``, where
    ``reason`` says why it could not be measured."""
    packages = {row["package"] for row in data["modules"] if not row["failed"]}
    found = []
    for name, value, package, device, what in VARIABLES:
        if package and package not in packages:
            continue
        row = {"name": name, "value": value, "what": what, "saving_ms": None, "reason": None}
        found.append(row)
        if value is None:
            row["reason"] = "depends on the place"
        elif device and not os.path.exists(device):
            row["reason"] = f"no device here ({device})"
        elif program.environ.get(name) == value:
            row["reason"] = "is set already"
        else:
            walls = {True: [], False: []}
            for _ in range(rounds):
                for there in (True, False):
                    run = program.run("environment", environ={name: value} if there else None)
                    if run.status != data["exit"]["status"] or run.timed_out:
                        row["reason"] = f"the program ends with status {run.status}"
                    walls[there].append(run.wall_ms)
            if not row["reason"]:
                # The lesser of what the minima and the medians say: a busy machine moves either.
                row["saving_ms"] = round(min(statistics(walls[False])[key] - statistics(walls[True])[key]
                                             for key in ("min", "median")), 3)  # fmt: skip
    return found


def write(data, options):
    """With --advise: what was tried, and the variables, on stdout."""
    if "--advise" in options.given and not options.quiet:
        sys.stdout.write(text(data))


def text(data):
    lines = []
    for row in data["advice"]:
        if row["kind"] == "defer":
            lines.append(
                f"\nput off {row['module']} ({row['importer']}:{row['line']}): {row['saving_ms']:.1f} ms, measured"
            )
            lines.append(f"  chain: {' > '.join(row['chain'])}")
            if row["heavy"] != row["module"]:
                lines.append(f"  {row['heavy']} itself is needed by the modules in between")
            lines.append(f"  its import also leaves: {', '.join(row['effects']) or 'nothing seen'}")
    kept = [row for row in data.get("tried", ()) if row["module"] not in {one["module"] for one in data["advice"]}]
    if kept:
        lines.append("\ntried without gain")
        for row in kept:
            why = {"fails": "the program ends otherwise", "deferred": f"{row['saving_ms']:+.1f} ms",
                   "used": f"used during start by {row['used_by']}:{row['line']}"}  # fmt: skip
            lines.append(f"  {row['module']}: {why[row['outcome']]}")
    if data.get("environment"):
        lines.append("\nenvironment variables (ms saved)")
        for row in data["environment"]:
            value = row["value"] if row["value"] is not None else "..."
            saving = f"{row['saving_ms']:8.2f}" if row["saving_ms"] is not None else f"{'-':>8}"
            lines.append(
                f"{saving}  {row['name']}={value}  {row['what']}" + (f" ({row['reason']})" if row["reason"] else "")
            )
    return "\n".join(lines) + "\n"
