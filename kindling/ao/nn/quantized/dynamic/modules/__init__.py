import kindling as _kindling

__all__ = ["Linear", "LSTM", "GRU", "LSTMCell", "RNNCell", "GRUCell"]

__getattr__, __dir__ = _kindling._lazy_parts(globals(), {**dict.fromkeys(__all__, "rnn"), "Linear": "linear"}, ("linear", "rnn"))
