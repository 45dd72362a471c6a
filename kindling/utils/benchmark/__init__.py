"""Timing of statements: ``Timer``, ``Measurement``, ``Compare``; random tensors: ``Fuzzer``."""
import kindling as _kindling

_HOMES = {**dict.fromkeys(("Measurement", "TaskSpec", "ordered_unique", "select_unit", "set_torch_threads", "trim_sigfig", "unit_to_english"), "utils.common"),
          "Colorize": "utils.compare", "Compare": "utils.compare", **dict.fromkeys(("Fuzzer", "FuzzedParameter", "FuzzedTensor", "ParameterAlias"), "utils.fuzzer"),
          "FuzzedSparseTensor": "utils.sparse_fuzzer", **dict.fromkeys(("Language", "Timer", "timer"), "utils.timer")}

__getattr__, __dir__ = _kindling._lazy_parts(globals(), _HOMES, ("utils",))
