"""How fast this machine could do a case: what the case reads and writes of memory, or its multiply-adds, done by ../limits.c on as many threads.

bench.py --bounds runs this beside the two modules, in the same turns. Needs a C compiler (CC, or cc).
"""
import ctypes
import json
import mmap
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from limits import compile_limits

MB = 1 << 20

# Loops of a case: how many arrays are read, the megabytes of each, and those written, to an array of its own or ("=") to the last that was read.
ONE = [(1, 16, 16)]
TRAFFIC = {
    **dict.fromkeys(("add", "fma", "t_add"), [(2, 16, 16)]), "add_out": [(2, 16, 16, "=")],
    **dict.fromkeys(("add_broadcast_row", "add_broadcast_col", "exp", "log", "tanh", "sigmoid", "gelu", "erf", "sin", "pow", "sqrt", "clamp", "softmax", "log_softmax",
                     "layer_norm", "cumsum", "dropout", "transpose_copy", "permute_copy", "flip", "roll", "tril"), ONE),
    **dict.fromkeys(("sum", "sum_rows", "sum_cols", "max_rows", "argmax_cols", "var_rows", "norm", "logsumexp", "mv", "linear_b1", "cross_entropy"), [(1, 16, 0)]),
    "where": [(1, 16, 4), (2, 18, 16)], "to_double": [(1, 16, 32)], "to_bf16": [(1, 16, 8)], **dict.fromkeys(("randn", "rand"), [(0, 0, 16)]),
    **dict.fromkeys(("embedding", "index_rows"), [(1, 4, 4)]), "strided_add": [(2, 16, 8)], **dict.fromkeys(("cat", "stack"), [(2, 16, 32)]),
    "mul5_loop": [(1, 4, 4)] * 5, "chain6_eager": [(2, 4, 4)] * 3 + [(1, 4, 4)] * 2 + [(2, 4, 4)],
    "layer_norm_residual_eager": [(2, 2, 2), (1, 2, 2)], "rms_norm_eager": [(1, 2, 2), (1, 2, 0), (1, 2, 2), (1, 2, 2)],
}
MULTIPLY_ADDS = {
    **{f"matmul_{n}": n ** 3 for n in (16, 64, 256, 1024, 2048)}, "bmm_64": 64 ** 4, "conv3x3": 4 * 64 * 64 * 9 * 56 * 56, "conv1x1": 4 * 64 * 64 * 56 * 56,
    "conv7x7s2": 4 * 64 * 3 * 49 * 56 * 56, "conv_depthwise": 4 * 64 * 9 * 56 * 56, "cdist": 512 * 512 * 64,
}


class Bounds:
    def __init__(self):
        self.library = compile_limits()
        self.memory = mmap.mmap(-1, 96 * MB)
        self.memory.madvise(mmap.MADV_HUGEPAGE)
        self.at = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        ctypes.memset(self.at, 1, 96 * MB)  # pages of its own

    def run(self, threads, arrays=0, read=0, written=0, over=False, past_cache=0, rounds=0):
        to = self.at + (arrays - 1 if over else arrays) * read * MB
        return self.library.run(threads, ctypes.c_void_p(to), ctypes.c_void_p(self.at), ctypes.c_size_t(written * MB), arrays, ctypes.c_size_t(read * MB),
                                past_cache, ctypes.c_int64(rounds))

    def best(self, call, budget=0.1):
        stop, best = time.perf_counter() + budget, float("inf")
        call()
        while time.perf_counter() < stop:
            start = time.perf_counter()
            call()
            best = min(best, time.perf_counter() - start)
        return best

    def seconds(self, case, threads):
        """The least time of a case by its bound, or None."""
        name = case.partition("/")[2]
        try:
            if name in MULTIPLY_ADDS:
                rounds = 1 << 16
                made = self.run(threads, rounds=rounds)
                return MULTIPLY_ADDS[name] / made * self.best(lambda: self.run(threads, rounds=rounds))
            if name in TRAFFIC:
                return sum(min(self.best(lambda: self.run(threads, arrays, read, written, bool(over), past_cache), 0.05) for past_cache in (0, 1))
                           for arrays, read, written, *over in TRAFFIC[name])
        finally:
            self.library.finish()


if __name__ == "__main__":
    bounds = Bounds()
    for line in sys.stdin:
        seconds = bounds.seconds(line.strip(), int(sys.argv[2]))
        print(json.dumps({"seconds": seconds} if seconds else {"error": "no bound is known"}), flush=True)
