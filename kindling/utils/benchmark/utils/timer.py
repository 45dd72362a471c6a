"""Timing of Python statements."""
import enum
import textwrap
import timeit
from timeit import default_timer as timer

import kindling as torch
from kindling.utils.benchmark.utils import common

__all__ = ["Timer", "timer", "Language"]


class Language(enum.Enum):
    PYTHON = 0
    CPP = 1


class Timer:
    """Times a statement as `timeit.Timer` does, with a number of threads, after a warm-up, as a `Measurement`.

    >>> from torch.utils.benchmark import Timer
    >>> Timer("x + 1", globals={"x": torch.ones(2)}).timeit(10).number_per_run
    10
    """

    _timer_cls = timeit.Timer

    def __init__(self, stmt="pass", setup="pass", global_setup="", timer=timer, globals=None, label=None, sub_label=None, description=None,
                 env=None, num_threads=1, language=Language.PYTHON):
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        # Into its own space: what a setup defines shall not be seen elsewhere.
        self._globals = dict(globals or {})
        names = {"py": Language.PYTHON, "python": Language.PYTHON, Language.PYTHON: Language.PYTHON, "cpp": Language.CPP, "c++": Language.CPP,
                 Language.CPP: Language.CPP}
        language = names.get(language.lower() if isinstance(language, str) else language, language)
        if language is Language.PYTHON:
            self._globals.setdefault("torch", torch)
            if global_setup:
                raise ValueError(f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`.")
        elif language is Language.CPP:
            if self._globals:
                raise ValueError("C++ timing does not support globals.")
            raise NotImplementedError("Timer: C++ statements are built with a compiler when they are timed, and Kindling runs none; use "
                                      "the C++ API with a benchmark of its own")
        else:
            raise ValueError(f"Invalid language `{language}`.")
        self._language = language
        stmt, setup = (textwrap.dedent(text).lstrip("\n").rstrip() if text else text for text in (stmt, setup))
        self._timer = self._timer_cls(stmt=stmt, setup=setup, timer=timer, globals=self._globals)
        self._task_spec = common.TaskSpec(stmt=stmt, setup=setup, global_setup=global_setup, label=label, sub_label=sub_label,
                                          description=description, env=env, num_threads=num_threads)

    def _timeit(self, number):
        return max(self._timer.timeit(number), 1e-9)

    def _measured(self, number, times):
        return common.Measurement(number_per_run=number, raw_times=times, task_spec=self._task_spec)

    def timeit(self, number=1000000):
        """One time of `number` runs, after a hundredth of them."""
        with common.set_torch_threads(self._task_spec.num_threads):
            self._timeit(number=max(int(number // 100), 2))
            return self._measured(number, [self._timeit(number=number)])

    def repeat(self, repeat=-1, number=-1):
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback=None):
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _estimate_block_size(self, min_run_time):
        """How many runs are one time: so many that looking at the clock does not count."""
        with common.set_torch_threads(self._task_spec.num_threads):
            overhead = sorted(self._timeit(0) for _ in range(5))[2]
            number = 1
            while True:
                taken = self._timeit(number)
                if overhead / taken <= 1e-4 and taken >= min_run_time / 1000 or taken > min_run_time or number * 10 > 2147483647:
                    return number
                number *= 10

    def _threaded_measurement_loop(self, number, time_hook, stop_hook, min_run_time, max_run_time=None, callback=None):
        total, stop, times = 0.0, False, []
        with common.set_torch_threads(self._task_spec.num_threads):
            while total < min_run_time or not stop:
                taken = time_hook()
                times.append(taken)
                total += taken
                if callback:
                    callback(number, taken)
                stop = stop_hook(times)
                if max_run_time and total > max_run_time:
                    break
        if total == 0.0:
            raise AssertionError("no time was taken")
        return times

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """Times of blocks of runs for `min_run_time` seconds; `callback(number, time)` sees each."""
        number = self._estimate_block_size(min_run_time)
        times = self._threaded_measurement_loop(number, lambda: self._timeit(number), lambda times: True, min_run_time, callback=callback)
        return self._measured(number, times)

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None):
        """Times until the quartiles are closer than that part of the median, or for `max_run_time` seconds."""
        number = self._estimate_block_size(min_run_time=0.05)

        def stop(times):
            return len(times) > 3 and self._measured(number, times).meets_confidence(threshold=threshold)

        times = self._threaded_measurement_loop(number, lambda: self._timeit(number), stop, min_run_time, max_run_time, callback=callback)
        return self._measured(number, times)

    def collect_callgrind(self, number=100, *, repeats=None, collect_baseline=True, retain_out_file=False):
        raise NotImplementedError("Timer.collect_callgrind: counts of instructions need PyTorch's own build and Valgrind; `perf stat` counts them")
