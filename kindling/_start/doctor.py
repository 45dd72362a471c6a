"""``kindling doctor``: what was found, opened and chosen on this machine."""

import os
import sys


def main(argv):
    """Print the facts, as a table or with ``--json`` as one JSON object; exit status 1 if something is broken."""
    unknown = [word for word in argv if word != "--json"]
    if unknown:
        sys.stderr.write(f"kindling: doctor has no option {unknown[0]}; only --json\n")
        raise SystemExit(2)
    found, faults = facts()
    if "--json" in argv:
        import json

        sys.stdout.write(json.dumps({**found, "faults": faults}, indent=1) + "\n")
    else:
        width = max(map(len, found))
        for name, value in found.items():
            if isinstance(value, (list, tuple)):
                value = ", ".join(map(str, value)) or "none"
            sys.stdout.write(f"{name:{width}}  {value}\n")
        for fault in faults:
            sys.stdout.write(f"FAULT: {fault}\n")
    raise SystemExit(1 if faults else 0)


def facts():
    """Facts by name, and a list of faults."""
    import platform

    from kindling.version import api, release

    found, faults = {}, []
    found["kindling"] = f"{release} (API of PyTorch {api})"
    found["python"] = f"{platform.python_implementation()} {platform.python_version()} at {sys.executable}"
    found["system"] = f"{platform.system()} {platform.machine()}, {' '.join(platform.libc_ver())}"
    folder = os.path.abspath(sys.modules["kindling"].__path__[0])
    found["package"] = f"{folder} ({_megabytes(_tree(folder))})"
    for path in _tree(folder):
        if ".so" in os.path.basename(path):
            found[os.path.relpath(path, folder)] = _megabytes([path])
    try:
        import kindling
        from kindling import _C
    except ImportError as error:
        faults.append(f"the extension module does not load: {error}")
        return found, faults
    try:
        found["processor"] = _processor()
        found["instruction set"] = _C._get_cpu_capability()
        limit = os.environ.get("KINDLING_ISA")
        if limit:
            known = limit in ("baseline", "avx2", "avx512")
            found["instruction set"] += f" (KINDLING_ISA={limit}{'' if known else ', which is none of baseline, avx2 and avx512'})"
        found["threads"] = f"{kindling.get_num_threads()} of {len(os.sched_getaffinity(0))} processors allowed"
        found["operators"] = _operators()
        from kindling import dispatch

        counts = dispatch.counts()
        found["overloads"] = f"{counts['declared']} declared, {counts['C++']} of these with C++ kernels, {counts['Python']} defined from Python"
        found["devices of plug-ins"] = [name for name, _, _ in _C._private_devices()]
    except Exception as error:
        faults.append(f"{type(error).__name__}: {error}")
    _blas(found, faults)
    _torch(found)
    return found, faults


def _tree(folder):
    for place, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(place, name)


def _megabytes(paths):
    return f"{sum(os.path.getsize(path) for path in paths) / 1e6:.1f} MB"


def _processor():
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return "unknown"


def _operators():
    from kindling import _C

    return len(_C._operator_names(0xFFFFFFFF))


def _mapped(word):
    """Files mapped into this process whose name contains ``word``."""
    with open("/proc/self/maps") as file:
        return sorted({line.split(None, 5)[5].strip() for line in file if word in os.path.basename(line)})


def _blas(found, faults):
    """Where the matrix library is, and that a large product opens it and comes out right."""
    import importlib.util

    spec = importlib.util.find_spec("scipy_openblas32")
    if spec is None:
        found["BLAS"] = "not installed (package scipy-openblas32): products run on Kindling's own kernels"
        return
    before = _mapped("openblas")
    try:
        import kindling

        one = kindling.ones(512, 512)
        if (one @ one).sum().item() != 512.0**3:
            faults.append("a product of two 512 x 512 matrices comes out wrong")
    except Exception as error:
        faults.append(f"a matrix product fails: {type(error).__name__}: {error}")
    after = _mapped("openblas")
    place = os.path.dirname(spec.origin)
    found["BLAS"] = f"{after[0]} (opened by a product)" if after and not before else f"in {place}, not opened"


def _torch(found):
    from importlib import metadata

    from kindling._start import alias as _alias

    path = [entry for entry in sys.path if entry != _alias.FOLDER]
    other = list(metadata.distributions(name="torch", path=path))
    found["installed torch"] = (
        f"{other[0].version} at {other[0].locate_file('torch')} (not used)" if other else "none (none needed)"
    )
    found["alias"] = "in place" if sys.modules.get("torch") is sys.modules["kindling"] else "not in place"
