"""Layers that take float32 and compute in whole numbers, with scales from the input's range."""
import kindling as _kindling

__all__ = ["Linear", "LSTM", "GRU", "LSTMCell", "RNNCell", "GRUCell"]

__getattr__, __dir__ = _kindling._lazy_parts(globals(), dict.fromkeys(__all__, "modules"), ("modules",))
