"""Timing of statements: ``Timer``, ``Measurement``, ``Compare``."""
import kindling as torch  # noqa: F401
from kindling.utils.benchmark.utils.common import (  # noqa: F401
    Measurement, TaskSpec, ordered_unique, select_unit, set_torch_threads, trim_sigfig, unit_to_english)
from kindling.utils.benchmark.utils.compare import Colorize, Compare  # noqa: F401
from kindling.utils.benchmark.utils.timer import Language, Timer, timer  # noqa: F401
