"""The shortest time of a call, as the benchmarks beside other modules take it."""
import math
import time


def least(call, seconds):
    """Microseconds of the fastest of the calls that fit into `seconds`."""
    call()
    best, end = math.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
    return best * 1e6
