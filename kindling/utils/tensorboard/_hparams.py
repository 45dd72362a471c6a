"""The messages of TensorBoard's table of hyperparameters."""
import time

from kindling.utils.tensorboard import _events

_SUCCESS = 1


def _value(value):
    """A google.protobuf.Value."""
    if value is None:
        return _events.integer(1, 0)
    if isinstance(value, bool):
        return _events.integer(4, value)
    if isinstance(value, str):
        return _events.data(3, value)
    return _events.double(2, float(value))


def _kind(name, value):
    """The column's data type."""
    if value is None:
        return 0
    if isinstance(value, str):
        return 1
    if isinstance(value, bool):
        return 2
    if isinstance(value, (int, float)) or hasattr(value, "item"):
        return 3
    raise ValueError(f"value should be one of int, float, str, bool, or torch.Tensor, but {name} is {type(value)}")


def _plain(value):
    return value.item() if hasattr(value, "item") else value


def _summary(tag, content):
    plugin = _events.data(1, _events.data(1, "hparams") + _events.data(2, content))
    return _events.data(1, _events.data(1, tag) + _events.data(9, plugin))


def summaries(hparams, metrics, domains):
    """The three summaries that begin a session: its columns, its start with the values, its end."""
    columns = b""
    for name, value in hparams.items():
        kind = _kind(name, value)
        column = _events.data(1, name) + (_events.integer(4, kind) if kind else b"")
        if name in domains:
            choices = b"".join(_events.data(1, _value(each)) for each in domains[name])
            column += _events.data(5, choices)
        columns += _events.data(4, column)
    for name in metrics:
        columns += _events.data(5, _events.data(1, _events.data(2, name)))
    values = b""
    for name, value in hparams.items():
        if value is None:
            continue
        entry = _events.data(1, name) + _events.data(2, _value(_plain(value)))
        values += _events.data(1, entry)
    started = values + _events.double(5, time.time())
    return [_summary("_hparams_/experiment", _events.integer(1, 0) + _events.data(2, columns)),
            _summary("_hparams_/session_start_info", _events.integer(1, 0) + _events.data(3, started)),
            _summary("_hparams_/session_end_info", _events.integer(1, 0) + _events.data(
                4, _events.integer(1, _SUCCESS) + _events.double(2, time.time())))]
