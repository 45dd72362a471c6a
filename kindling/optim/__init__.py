"""Optimizers and learning rate schedules.  Each optimizer lives in a file of its own that loads on first use."""
import kindling as _kindling

_FILES = {"Adafactor": "_adafactor", "Adadelta": "adadelta", "Adagrad": "adagrad", "Adam": "adam", "Adamax": "adamax",
          "AdamW": "adamw", "ASGD": "asgd", "LBFGS": "lbfgs", "Muon": "_muon", "NAdam": "nadam",
          "Optimizer": "optimizer", "RAdam": "radam", "RMSprop": "rmsprop", "Rprop": "rprop", "SGD": "sgd",
          "SparseAdam": "sparse_adam", "swap_in_optimizer_params_and_state": "_stateless"}
_SUBMODULES = ("lr_scheduler", "swa_utils", "_functional", *_FILES.values())

__all__ = ["Adafactor", "Adadelta", "Adagrad", "Adam", "Adamax", "AdamW", "ASGD", "LBFGS", "lr_scheduler", "Muon",
           "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam",
           "swap_in_optimizer_params_and_state", "swa_utils"]

__getattr__, __dir__ = _kindling._lazy_parts(globals(), _FILES, _SUBMODULES)
