"""Large tensors and products against this machine's limits, measured in the same run on one thread.

  python limits.py [--megabytes 16,64,256] [--torch] [--seconds 0.4]

The stream rate is the best of plain and of past-the-cache stores over arrays as large as the operator's, for one array read
and one written (copy) or two read (add); what an operator reads and writes is counted once. The multiply-add peak is that
of chains in registers. Needs a C compiler (CC, or cc), which compiles limits.c for this machine. --torch adds torch's time
over ours.
"""
import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time

# Operator: expression over a, b (float32), c (a mask), d (positive); bytes read and written for an element; whose rate.
MEMORY = {
    "add": ("a + b", 12, "add"), "mul": ("a * b", 12, "add"), "where": ("m.where(c, a, b)", 13, "add"), "clamp": ("a.clamp(-1, 1)", 8, "copy"),
    "relu": ("a.relu()", 8, "copy"), "copy": ("a.clone()", 8, "copy"), "to double": ("a.double()", 12, "copy"), "to bfloat16": ("a.bfloat16()", 6, "copy"),
    "to half": ("a.half()", 6, "copy"), "exp": ("a.exp()", 8, "copy"), "log": ("d.log()", 8, "copy"), "sigmoid": ("a.sigmoid()", 8, "copy"),
    "tanh": ("a.tanh()", 8, "copy"), "pow": ("d ** 1.7", 8, "copy"), "erf": ("a.erf()", 8, "copy"), "sin": ("a.sin()", 8, "copy"),
}
PRODUCTS = (256, 512, 1024, 2048)


def compile_limits():
    library = os.path.join(tempfile.mkdtemp(), "limits.so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "limits.c")
    # The limits of the instruction set that kernels are held to, if they are.
    machine = {"baseline": "x86-64", "avx2": "x86-64-v3", "avx512": "x86-64-v4"}.get(os.environ.get("KINDLING_ISA"), "native")
    subprocess.run([os.environ.get("CC", "cc"), "-O3", f"-march={machine}", "-ffp-contract=fast", "-pthread", "-shared", "-fPIC", "-o", library, source], check=True)
    library = ctypes.CDLL(library)
    library.multiply_add.restype = library.run.restype = library.tile_products.restype = ctypes.c_int64
    return library


def best(calls, seconds):
    """The least time of each call, all of them in turns; processor time, which other programs do not lengthen."""
    times = [float("inf")] * len(calls)
    for call in calls:
        call()
    stop = time.perf_counter() + seconds
    while time.perf_counter() < stop or times[0] == float("inf"):
        for i, call in enumerate(calls):
            start = time.thread_time()
            call()
            times[i] = min(times[i], time.thread_time() - start)
    return times


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--megabytes", default="16,64,256")
    p.add_argument("--seconds", type=float, default=0.4)
    p.add_argument("--torch", action="store_true")
    a = p.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import kindling
    modules = [kindling]
    if a.torch:
        import torch
        modules.append(torch)
    for m in modules:
        m.set_num_threads(1)
    limits = compile_limits()

    def rates(megabytes):
        """GB/s of the best copy and the best add over arrays of that size."""
        n = megabytes << 20
        x, y, z = (kindling.ones(n // 4) for _ in range(3))
        pointers = [ctypes.c_void_p(t.data_ptr()) for t in (x, y, z)]
        copies = [lambda k=k: limits.stream_copy(pointers[2], pointers[0], ctypes.c_size_t(n), k) for k in (0, 1)]
        adds = [lambda k=k: limits.stream_add(pointers[2], pointers[0], pointers[1], ctypes.c_size_t(n), k) for k in (0, 1)]
        times = best(copies + adds, a.seconds)
        return {"copy": 2 * n / min(times[:2]) * 1e-9, "add": 3 * n / min(times[2:]) * 1e-9}

    for megabytes in map(int, a.megabytes.split(",")):
        rate = rates(megabytes)
        print(f"\n{megabytes} MB: copy {rate['copy']:.1f} GB/s, add {rate['add']:.1f} GB/s")
        scopes = []
        for m in modules:
            m.manual_seed(0)
            x, y = m.randn(megabytes << 18), m.randn(megabytes << 18)
            scopes.append({"m": m, "a": x, "b": y, "c": x > 0, "d": x.abs() + 0.1})
        for name, (text, traffic, kind) in MEMORY.items():
            times = best([eval("lambda: " + text, scope) for scope in scopes], a.seconds)
            line = f"  {name:12s} {times[0] * 1e3:8.2f} ms  {traffic * (megabytes << 18) / times[0] * 1e-9 / rate[kind]:6.0%} of the stream rate"
            print(line + (f"  torch / ours {times[1] / times[0]:6.2f}" if a.torch else ""), flush=True)
        del scopes

    result, rounds = ctypes.c_float(), 1 << 16
    made = limits.multiply_add(ctypes.c_int64(rounds), ctypes.byref(result))
    for n in PRODUCTS:
        pairs = [(m.randn(n, n), m.randn(n, n)) for m in modules]
        calls = [lambda x=x, y=y: x @ y for x, y in pairs]
        *times, peak = best(calls + [lambda: limits.multiply_add(ctypes.c_int64(rounds), ctypes.byref(result))], 2 * a.seconds)
        rate = made / peak
        if n == PRODUCTS[0]:
            print(f"\nmultiply-adds: {rate * 1e-9:.1f} G/s in registers")
        line = f"  matmul {n:5d} {times[0] * 1e3:8.2f} ms  {n ** 3 / times[0] / rate:6.0%} of the peak"
        print(line + (f"  torch / ours {times[1] / times[0]:6.2f}" if a.torch else ""), flush=True)

    for bytes_, name in ((0, "bfloat16"), (1, "int8")):
        def draw(m, *shape, bytes_=bytes_):
            return m.randint(-128, 127, shape, dtype=m.int8) if bytes_ else m.randn(shape).bfloat16()

        data = draw(kindling, 4096 >> (not bytes_))
        tiles = (ctypes.c_int64(1 << 14), bytes_, ctypes.c_void_p(data.data_ptr()))
        made = limits.tile_products(*tiles)
        if not made:
            continue
        for n in PRODUCTS:
            pairs = [(m, draw(m, n, n), draw(m, n, n)) for m in modules]
            calls = [lambda m=m, x=x, y=y, by=m._int_mm if bytes_ else m.matmul: by(x, y) for m, x, y in pairs]
            *times, peak = best(calls + [lambda tiles=tiles: limits.tile_products(*tiles)], 2 * a.seconds)
            if n == PRODUCTS[0]:
                print(f"\nmultiply-adds of {name} tiles: {made / peak * 1e-9:.0f} G/s")
            line = f"  {name} {n:5d} {times[0] * 1e3:8.2f} ms  {n ** 3 / times[0] / made * peak:6.0%} of the peak"
            print(line + (f"  torch / ours {times[1] / times[0]:6.2f}" if a.torch else ""), flush=True)


if __name__ == "__main__":
    sys.exit(main())
