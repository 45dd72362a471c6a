"""The shortest time of a call, as the benchmarks beside other modules take it."""
import math
import time


def least(call, seconds, clock=time.perf_counter):
    """Microseconds of the fastest of the calls that fit into `seconds`."""
    call()
    best, end = math.inf, clock() + seconds
    while clock() < end:
        begin = clock()
        call()
        best = min(best, clock() - begin)
    return best * 1e6
