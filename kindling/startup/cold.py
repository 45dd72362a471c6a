"""Runs that do not find everything in memory: pages of the program's files evicted, and an empty bytecode cache."""

import os
import tempfile


def files(data):
    """Every file the start read, as far as it is known: modules, their bytecode, libraries, the interpreter."""
    from importlib.util import cache_from_source

    found = {os.path.realpath(data["python"]["executable"])}
    for row in data["modules"]:
        if row["file"]:
            found.add(row["file"])
            if row["file"].endswith(".py"):
                found.add(cache_from_source(row["file"]))
    found.update(row["path"] for row in data["libraries"])
    return sorted(path for path in found if os.path.isfile(path))


def evict(paths):
    """Drop the files' pages from memory; ``(files, kB of them, kB that stayed)``: what another process has mapped can't
    be dropped, so the rest is counted and not believed to be gone."""
    whole = stayed = number = 0
    for path in paths:
        try:
            file = os.open(path, os.O_RDONLY)
        except OSError:
            continue
        try:
            size = os.fstat(file).st_size
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            number += 1
            whole += size
            stayed += resident(file, size)
        finally:
            os.close(file)
    return number, whole // 1024, stayed // 1024


def resident(file, size):
    """Bytes of an open file that are in memory (mincore)."""
    import ctypes
    import mmap

    if not size:
        return 0
    pages = -(-size // mmap.PAGESIZE)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    place = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file, 0)
    if place in (None, ctypes.c_void_p(-1).value):
        return size
    try:
        states = ctypes.create_string_buffer(pages)
        if libc.mincore(place, size, states):
            return size
        return min(sum(state & 1 for state in states.raw) * mmap.PAGESIZE, size)
    finally:
        libc.munmap(place, size)


def measure(program, data, repeat):
    """Add runs of the kinds ``cold`` and ``bytecode-cold`` to the measurement, and what could be evicted."""
    from .model import statistics

    paths = files(data)
    runs = {"cold": [], "bytecode-cold": []}
    for _ in range(repeat):
        number, whole, stayed = evict(paths)
        runs["cold"].append(program.run("cold"))
        with tempfile.TemporaryDirectory(prefix="kindling-startup-") as folder:
            environ = {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
            runs["bytecode-cold"].append(program.run("bytecode-cold", environ=environ))
    for kind, rows in runs.items():
        data["statistics"][kind] = statistics([run.wall_ms for run in rows if not run.timed_out])
        data["runs"] += [run.fields() for run in rows]
    data["eviction"] = {"files": number, "kb": whole, "stayed_kb": stayed}
    if stayed > whole // 20:
        data["notes"].append(f"of {whole} kB in {number} files {stayed} kB stayed in memory (other processes have them "
                             "mapped): the cold runs are warmer than a first start")  # fmt: skip
