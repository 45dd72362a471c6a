"""Timing of statements: ``Timer``, ``Measurement``, ``Compare``."""
import kindling as _kindling

_HOMES = {**dict.fromkeys(("Measurement", "TaskSpec", "ordered_unique", "select_unit", "set_torch_threads", "trim_sigfig", "unit_to_english"), "utils.common"),
          "Colorize": "utils.compare", "Compare": "utils.compare", **dict.fromkeys(("Language", "Timer", "timer"), "utils.timer")}

__getattr__, __dir__ = _kindling._lazy_parts(globals(), _HOMES, ("utils",))
