"""The update rules as functions over lists of tensors."""
from kindling.optim.adadelta import adadelta
from kindling.optim.adagrad import _make_sparse, adagrad
from kindling.optim.adam import adam
from kindling.optim.adamax import adamax
from kindling.optim.adamw import adamw
from kindling.optim.asgd import asgd
from kindling.optim.nadam import nadam
from kindling.optim.radam import radam
from kindling.optim.rmsprop import rmsprop
from kindling.optim.rprop import rprop
from kindling.optim.sgd import sgd
from kindling.optim.sparse_adam import sparse_adam

__all__ = ["adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop", "rprop", "sgd",
           "sparse_adam", "_make_sparse"]
