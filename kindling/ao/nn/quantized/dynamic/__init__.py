"""Layers that take float32 and compute in whole numbers, with scales from the input's range."""
from .modules import GRU, LSTM, GRUCell, Linear, LSTMCell, RNNCell

__all__ = ["Linear", "LSTM", "GRU", "LSTMCell", "RNNCell", "GRUCell"]
