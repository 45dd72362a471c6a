"""Optimizers and learning rate schedules.  Each optimizer lives in a file of its own that loads on first use."""
import kindling as _kindling

__path__.append(_kindling.__path__[1] + "/optim")

_FILES = {"Adafactor": "_adafactor", "Adadelta": "adadelta", "Adagrad": "adagrad", "Adam": "adam", "Adamax": "adamax",
          "AdamW": "adamw", "ASGD": "asgd", "LBFGS": "lbfgs", "Muon": "_muon", "NAdam": "nadam",
          "Optimizer": "optimizer", "RAdam": "radam", "RMSprop": "rmsprop", "Rprop": "rprop", "SGD": "sgd",
          "SparseAdam": "sparse_adam", "swap_in_optimizer_params_and_state": "_stateless"}
_SUBMODULES = ("lr_scheduler", "swa_utils", "_functional", *_FILES.values())

__all__ = ["Adafactor", "Adadelta", "Adagrad", "Adam", "Adamax", "AdamW", "ASGD", "LBFGS", "lr_scheduler", "Muon",
           "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam",
           "swap_in_optimizer_params_and_state", "swa_utils"]


def __getattr__(name):
    file = _FILES.get(name)
    if file is None and name not in _SUBMODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = __import__(f"{__name__}.{file or name}", fromlist=("__name__",))
    value = getattr(module, name) if file else module
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})
