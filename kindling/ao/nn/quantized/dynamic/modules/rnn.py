"""Recurrent layers with weights in qint8 or float16: the products of each step are those of dynamic linear layers."""
import kindling as torch
from kindling import nn
from kindling.ao.nn.quantized.modules.utils import _quantize_weight

__all__ = ["LSTM", "GRU", "LSTMCell", "RNNCell", "GRUCell", "PackedParameter", "RNNBase", "RNNCellBase", "pack_weight_bias"]


def pack_weight_bias(qweight, bias, dtype):
    """A weight and a bias, packed for products."""
    if dtype == torch.qint8:
        return torch.ops.quantized.linear_prepack(qweight, bias)
    return torch.ops.quantized.linear_prepack_fp16(qweight, bias)


def _packed(observer, weight, bias):
    """A weight packed as an observer of its own sees fit."""
    watcher = observer()
    if watcher.dtype not in (torch.qint8, torch.float16):
        raise RuntimeError(f"Unsupported dtype for dynamic RNN quantization: {watcher.dtype}")
    if watcher.dtype == torch.float16:
        return pack_weight_bias(weight.float(), bias, torch.float16)
    watcher(weight)
    return pack_weight_bias(_quantize_weight(weight.float(), watcher), bias, torch.qint8)


def _observer_of(module):
    if not hasattr(module, "qconfig"):
        raise AssertionError("Input float module must have qconfig defined")
    if module.qconfig is not None and module.qconfig.weight is not None:
        return module.qconfig.weight
    from kindling.ao.quantization.qconfig import default_dynamic_qconfig
    return default_dynamic_qconfig.weight


class _Cell:
    """The packed weights of one layer in one direction."""

    def __init__(self, ih, hh):
        self.ih, self.hh = ih, hh

    def from_input(self, rows):
        return self.ih.apply_dynamic(rows, True)

    def from_hidden(self, hidden):
        return self.hh.apply_dynamic(hidden, True)


def _lstm(gates, from_hidden, state):
    hidden, cell = state
    i, f, g, o = (gates + from_hidden(hidden)).chunk(4, 1)
    cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def _gru(gates, from_hidden, state):
    (hidden,) = state
    reset, update, new = gates.chunk(3, 1)
    reset_h, update_h, new_h = from_hidden(hidden).chunk(3, 1)
    new = (new + (reset + reset_h).sigmoid() * new_h).tanh()
    return ((hidden - new) * (update + update_h).sigmoid() + new,)


class PackedParameter(nn.Module):
    """Packed weights as a module, so that they stand in the state dict."""

    def __init__(self, param):
        super().__init__()
        self.param = param

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "param"] = self.param

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        self.param = state_dict.pop(prefix + "param")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs)


class RNNBase(nn.Module):
    """What LSTM and GRU share."""

    _FLOAT_MODULE = nn.RNNBase
    _version = 2
    _gates, _states, _step = 4, 1, None

    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 dtype=torch.qint8):
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers, self.bias = mode, input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional, self.dtype, self.version = batch_first, float(dropout), bidirectional, dtype, 2
        if not isinstance(dropout, (int, float)) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
        if dropout > 0 and num_layers == 1:
            import warnings
            warnings.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater than 1, "
                          f"but got dropout={dropout} and num_layers={num_layers}", stacklevel=2)
        rows, directions, cells = self._gates * hidden_size, 2 if bidirectional else 1, []
        for layer in range(num_layers):
            for _ in range(directions):
                parts = []
                for width in (input_size if layer == 0 else hidden_size * directions, hidden_size):
                    weight, zeros = torch.randn(rows, width), torch.zeros(rows)
                    if dtype == torch.qint8:
                        weight = torch.quantize_per_tensor(weight, 0.1, 0, torch.qint8)
                    parts.append(pack_weight_bias(weight, zeros if bias else None, dtype))
                cells.append(PackedParameter(_Cell(*parts)))
        self._all_weight_values = nn.ModuleList(cells)

    def _get_name(self):
        return "DynamicQuantizedRNN"

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0), ("bidirectional", False)):
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text

    def __repr__(self):
        return f"{self._get_name()}({self.extra_repr()})"       # the packed weights are not shown

    def check_input(self, input, batch_sizes):
        """RuntimeError for input of a wrong shape."""
        dims = 2 if batch_sizes is not None else 3
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}")

    def get_expected_hidden_size(self, input, batch_sizes):
        """The shape of the first hidden state."""
        batch = int(batch_sizes[0]) if batch_sizes is not None else input.size(0 if self.batch_first else 1)
        return self.num_layers * (2 if self.bidirectional else 1), batch, self.hidden_size

    def check_hidden_size(self, hx, expected_hidden_size, msg="Expected hidden size {}, got {}"):
        """RuntimeError for a hidden state of a wrong shape."""
        if tuple(hx.size()) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(tuple(expected_hidden_size), list(hx.size())))

    def permute_hidden(self, hx, permutation):
        """States in the order of sorted sequences."""
        return hx if permutation is None else tuple(each.index_select(1, permutation) for each in hx)

    def forward(self, input, hx=None):
        """(what each step gives, the last states)"""
        packed = isinstance(input, nn.utils.rnn.PackedSequence)
        data, sizes, order, back = (input.data, input.batch_sizes, input.sorted_indices, input.unsorted_indices) if packed else (input, None, None, None)
        self.check_input(data, sizes)
        expected = self.get_expected_hidden_size(data, sizes)
        if hx is None:
            states = tuple(torch.zeros(expected, dtype=data.dtype, device=data.device) for _ in range(self._states))
        else:
            states = self.permute_hidden(tuple(hx) if isinstance(hx, (tuple, list)) else (hx,), order)
        for each, word in zip(states, ("hidden[0]", "hidden[1]")):
            self.check_hidden_size(each, expected, "Expected " + (word if self._states > 1 else "hidden") + " size {}, got {}")
        if not packed:
            steps = data.transpose(0, 1) if self.batch_first else data
            sizes, data = [steps.size(1)] * steps.size(0), steps.reshape(-1, steps.size(-1))
        else:
            sizes = sizes.tolist()
        data, last = self._run(data, sizes, states)
        last = self.permute_hidden(last, back)
        last = last if self._states > 1 else last[0]
        if packed:
            return nn.utils.rnn.PackedSequence(data, input.batch_sizes, order, back), last
        result = data.view(len(sizes), -1, data.size(-1))
        return result.transpose(0, 1) if self.batch_first else result, last

    def _run(self, data, sizes, states):
        directions, last = 2 if self.bidirectional else 1, []
        for layer in range(self.num_layers):
            found = []
            for direction in range(directions):
                at = layer * directions + direction
                output, final = self._run_layer(self._all_weight_values[at].param, data, sizes, tuple(each[at] for each in states), direction == 1)
                found.append(output)
                last.append(final)
            data = torch.cat(found, 1) if directions == 2 else found[0]
            if self.dropout and self.training and layer < self.num_layers - 1:
                data = nn.functional.dropout(data, self.dropout)
        return data, tuple(torch.stack(each) for each in zip(*last))

    def _run_layer(self, cell, data, sizes, first, backwards):
        """One layer over steps whose rows lie one behind the other; a step may have fewer rows than the one before."""
        pieces = list(cell.from_input(data).split(sizes))
        outputs = [None] * len(sizes)
        rows = sizes[-1] if backwards else sizes[0]
        state, ended = tuple(each[:rows] for each in first), []
        for at in (reversed(range(len(sizes))) if backwards else range(len(sizes))):
            if sizes[at] < rows:        # sequences that end here
                ended.append(tuple(each[sizes[at]:] for each in state))
                state = tuple(each[:sizes[at]] for each in state)
            elif sizes[at] > rows:      # read backwards, sequences begin
                state = tuple(torch.cat([each, start[rows:sizes[at]]]) for each, start in zip(state, first))
            rows = sizes[at]
            state = type(self)._step(pieces[at], cell.from_hidden, state)
            outputs[at] = state[0]
        final = [state, *reversed(ended)]
        return torch.cat(outputs), tuple(torch.cat(each) for each in zip(*final)) if ended else state

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """The quantised layer of one in float32, by the observer of weights in its `qconfig`."""
        if type(mod) not in (nn.LSTM, nn.GRU):
            raise AssertionError("nn.quantized.dynamic.RNNBase.from_float only works for nn.LSTM and nn.GRU")
        observer = _observer_of(mod)
        dtype = observer().dtype
        if dtype not in (torch.qint8, torch.float16):
            raise RuntimeError(f"Unsupported dtype for dynamic RNN quantization: {dtype}")
        made = cls(mod.input_size, mod.hidden_size, mod.num_layers, mod.bias, mod.batch_first, mod.dropout, mod.bidirectional, dtype=dtype)
        cells = []
        for layer in range(mod.num_layers):
            for ending in ("", "_reverse") if mod.bidirectional else ("",):
                name = f"_l{layer}{ending}"
                parts = [_packed(observer, getattr(mod, f"weight_{each}{name}"), getattr(mod, f"bias_{each}{name}", None) if mod.bias else None)
                         for each in ("ih", "hh")]
                cells.append(PackedParameter(_Cell(*parts)))
        made._all_weight_values = nn.ModuleList(cells)
        return made

    def _weight_bias(self):
        found = {"weight": {}, "bias": {}}
        for at, each in enumerate(self._all_weight_values):
            directions = 2 if self.bidirectional else 1
            ending = f"_l{at // directions}" + ("_reverse" if at % directions else "")
            for name, packed in (("ih", each.param.ih), ("hh", each.param.hh)):
                found["weight"][f"weight_{name}{ending}"], found["bias"][f"bias_{name}{ending}"] = packed.unpack()
        return found

    def get_weight(self):
        """The weights, unpacked, by name."""
        return self._weight_bias()["weight"]

    def get_bias(self):
        """The biases by name."""
        return self._weight_bias()["bias"]


class LSTM(RNNBase):
    """An LSTM with packed weights."""

    _FLOAT_MODULE = nn.LSTM
    _gates, _states, _step = 4, 2, staticmethod(_lstm)

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def _get_name(self):
        return "DynamicQuantizedLSTM"


class GRU(RNNBase):
    """A GRU with packed weights."""

    _FLOAT_MODULE = nn.GRU
    _gates, _states, _step = 3, 1, staticmethod(_gru)

    def __init__(self, *args, **kwargs):
        super().__init__("GRU", *args, **kwargs)

    def _get_name(self):
        return "DynamicQuantizedGRU"


class RNNCellBase(nn.Module):
    """One step of a recurrent layer with packed weights."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size, hidden_size, bias=True, num_chunks=4, dtype=torch.qint8):
        super().__init__()
        self.input_size, self.hidden_size, self.bias, self.weight_dtype = input_size, hidden_size, bias, dtype
        self.bias_ih = self.bias_hh = torch.zeros(num_chunks * hidden_size) if bias else None
        if dtype not in (torch.qint8, torch.float16):
            raise RuntimeError("Unsupported dtype specified for quantized LSTMCell!")
        packed = []
        for width, each in ((input_size, self.bias_ih), (hidden_size, self.bias_hh)):
            weight = torch.randn(num_chunks * hidden_size, width)
            packed.append(pack_weight_bias(torch.quantize_per_tensor(weight, 0.1, 0, torch.qint8) if dtype == torch.qint8 else weight, each, dtype))
        self._packed_weight_ih, self._packed_weight_hh = packed

    def _get_name(self):
        return "DynamicQuantizedRNNBase"

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        if not self.bias:
            text += f", bias={self.bias}"
        return text + f", nonlinearity={self.nonlinearity}" if getattr(self, "nonlinearity", "tanh") != "tanh" else text

    def check_forward_input(self, input):
        """RuntimeError for input of a wrong width."""
        if input.size(1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)}, expected {self.input_size}")

    def check_forward_hidden(self, input, hx, hidden_label=""):
        """RuntimeError for a state of a wrong shape."""
        if input.size(0) != hx.size(0):
            raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{hidden_label} batch size {hx.size(0)}")
        if hx.size(1) != self.hidden_size:
            raise RuntimeError(f"hidden{hidden_label} has inconsistent hidden_size: got {hx.size(1)}, expected {self.hidden_size}")

    def _states_for(self, input, hx, count):
        self.check_forward_input(input)
        if hx is None:
            hx = (torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device),) * count
        states = tuple(hx) if isinstance(hx, (tuple, list)) else (hx,)
        for at, each in enumerate(states):
            self.check_forward_hidden(input, each, f"[{at}]" if count > 1 else "")
        return states

    def _from_input(self, input):
        return self._packed_weight_ih.apply_dynamic(input, True)

    def _from_hidden(self, hidden):
        return self._packed_weight_hh.apply_dynamic(hidden, True)

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """The quantised cell of one in float32."""
        if type(mod) not in (nn.LSTMCell, nn.GRUCell, nn.RNNCell):
            raise AssertionError("nn.quantized.dynamic.RNNCellBase.from_float only works for nn.LSTMCell, nn.GRUCell and nn.RNNCell")
        observer = _observer_of(mod)
        options = {"bias": mod.bias, "dtype": observer().dtype}
        if type(mod) is nn.RNNCell:
            options["nonlinearity"] = mod.nonlinearity
        made = cls(mod.input_size, mod.hidden_size, **options)
        made._packed_weight_ih = _packed(observer, mod.weight_ih, mod.bias_ih)
        made._packed_weight_hh = _packed(observer, mod.weight_hh, mod.bias_hh)
        return made

    def get_weight(self):
        """The weights, unpacked, by name."""
        return {"weight_ih": self._packed_weight_ih.unpack()[0], "weight_hh": self._packed_weight_hh.unpack()[0]}

    def get_bias(self):
        """The biases by name."""
        return {"bias_ih": self._packed_weight_ih.unpack()[1], "bias_hh": self._packed_weight_hh.unpack()[1]}

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "_packed_weight_ih"], destination[prefix + "_packed_weight_hh"] = self._packed_weight_ih, self._packed_weight_hh

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        self._packed_weight_ih, self._packed_weight_hh = state_dict.pop(prefix + "_packed_weight_ih"), state_dict.pop(prefix + "_packed_weight_hh")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs)


class RNNCell(RNNCellBase):
    """An Elman cell with packed weights."""

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", dtype=torch.qint8):
        super().__init__(input_size, hidden_size, bias, num_chunks=1, dtype=dtype)
        self.nonlinearity = nonlinearity

    def _get_name(self):
        return "DynamicQuantizedRNNCell"

    def forward(self, input, hx=None):
        (hidden,) = self._states_for(input, hx, 1)
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return getattr(self._from_input(input) + self._from_hidden(hidden), self.nonlinearity)()


class LSTMCell(RNNCellBase):
    """An LSTM's step with packed weights."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, num_chunks=4, **kwargs)

    def _get_name(self):
        return "DynamicQuantizedLSTMCell"

    def forward(self, input, hx=None):
        states = self._states_for(input, hx, 2)
        return _lstm(self._from_input(input), self._from_hidden, states)


class GRUCell(RNNCellBase):
    """A GRU's step with packed weights."""

    def __init__(self, input_size, hidden_size, bias=True, dtype=torch.qint8):
        super().__init__(input_size, hidden_size, bias, num_chunks=3, dtype=dtype)

    def _get_name(self):
        return "DynamicQuantizedGRUCell"

    def forward(self, input, hx=None):
        states = self._states_for(input, hx, 1)
        return _gru(self._from_input(input), self._from_hidden, states)[0]
