"""Recurrent layers and cells."""
import math

import kindling as torch
from kindling.nn import init
from kindling.nn.modules.module import Module
from kindling.nn.parameter import Parameter
from kindling.nn.utils.rnn import PackedSequence

__all__ = ["RNNBase", "RNN", "LSTM", "GRU", "RNNCellBase", "RNNCell", "LSTMCell", "GRUCell"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def apply_permutation(tensor, permutation, dim=1):
    """Old name of index_select."""
    import warnings
    warnings.warn("`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead",
                  FutureWarning, stacklevel=2)
    return tensor.index_select(dim, permutation)


class RNNBase(Module):
    """What RNN, LSTM and GRU share: weights by layer and direction, and checks of input and hidden state."""

    __constants__ = ["mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout",
                     "bidirectional", "proj_size"]

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
                 bidirectional: bool = False, proj_size: int = 0, device=None, dtype=None):
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        # A tensor is refused below with the rest.
        self.dropout = float(dropout) if isinstance(dropout, (int, float)) else dropout
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        directions = 2 if bidirectional else 1
        if not isinstance(dropout, (int, float)) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element "
                             "being zeroed")
        if dropout > 0 and num_layers == 1:
            import warnings
            warnings.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                          f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                          stacklevel=2)
        for name, value, kind in (("input_size", input_size, int), ("hidden_size", hidden_size, int),
                                  ("bias", bias, bool), ("batch_first", batch_first, bool)):
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
        if input_size <= 0:
            raise ValueError("input_size must be greater than zero")
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        gate_size = _GATES[mode] * hidden_size
        answered = proj_size if proj_size > 0 else hidden_size

        def parameter(*shape):
            return Parameter(torch.empty(shape, device=device, dtype=dtype))

        self._flat_weights_names = []
        self._all_weights = []
        for layer in range(num_layers):
            for direction in range(directions):
                taken = input_size if layer == 0 else answered * directions
                suffix = f"_l{layer}" + ("_reverse" if direction == 1 else "")
                made = {"weight_ih": parameter(gate_size, taken), "weight_hh": parameter(gate_size, answered)}
                if bias:
                    # Two biases, as in cuDNN's form; only their sum matters.
                    made["bias_ih"] = parameter(gate_size)
                    made["bias_hh"] = parameter(gate_size)
                if proj_size > 0:
                    made["weight_hr"] = parameter(proj_size, hidden_size)
                names = [name + suffix for name in made]
                for name, weight in zip(names, made.values()):
                    setattr(self, name, weight)
                self._flat_weights_names.extend(names)
                self._all_weights.append(names)
        self._init_flat_weights()
        self.reset_parameters()

    def _init_flat_weights(self):
        self._flat_weights = [getattr(self, name, None) for name in self._flat_weights_names]

    def __setattr__(self, name, value):
        names = self.__dict__.get("_flat_weights_names")
        if names is not None and name in names and "_flat_weights" in self.__dict__:
            self._flat_weights[names.index(name)] = value
        super().__setattr__(name, value)

    def flatten_parameters(self):
        """Weights need not be in one piece of memory here: nothing to do."""

    def _apply(self, fn, recurse=True):
        self._flat_weights = []
        result = super()._apply(fn, recurse)
        self._init_flat_weights()
        return result

    def reset_parameters(self):
        """Draws all weights anew, uniform in +-1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def check_input(self, input, batch_sizes):
        """ValueError or RuntimeError for a dtype, a dimension or a size that is not the weights'."""
        weight_dtype = self._flat_weights[0].dtype
        if input.dtype != weight_dtype and not torch.is_autocast_enabled():
            raise ValueError(f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight_dtype}). Convert "
                             f"input: input.to({weight_dtype}), or convert model: model.to({input.dtype})")
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError("input.size(-1) must be equal to input_size. Expected "
                               f"{self.input_size}, got {input.size(-1)}")

    def _state_shape(self, input, batch_sizes, width):
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        return self.num_layers * (2 if self.bidirectional else 1), batch, width

    def get_expected_hidden_size(self, input, batch_sizes):
        """The hidden state's shape for this input."""
        return self._state_shape(input, batch_sizes, self.proj_size if self.proj_size > 0 else self.hidden_size)

    def check_hidden_size(self, hx, expected_hidden_size, msg="Expected hidden size {}, got {}"):
        """RuntimeError if the hidden state has another shape."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input, hidden, batch_sizes):
        """Checks input and hidden state."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx, permutation):
        """The hidden state with its batch reordered."""
        return hx if permutation is None else hx.index_select(1, permutation)

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text

    def __setstate__(self, state):
        super().__setstate__(state)
        # Names saved by old versions are lists inside all_weights.
        if "all_weights" in state:
            self._all_weights = self.__dict__.pop("all_weights")
        self.__dict__.setdefault("proj_size", 0)
        if not self._all_weights or isinstance(self._all_weights[0][0], str):
            self._flat_weights_names = [name for names in self._all_weights for name in names]
            self._init_flat_weights()

    @property
    def all_weights(self):
        """The weights by layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def _replicate_for_data_parallel(self):
        replica = super()._replicate_for_data_parallel()
        replica._flat_weights = replica._flat_weights[:]
        return replica

    # ---- the call

    def _enter(self, input):
        """The input as (T, N, *) or (N, T, *), and whether it came with a batch. ValueError for other dimensions."""
        name = self._get_name()
        if input.dim() not in (2, 3):
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D"
                             f"{' tensor' if self.mode.startswith('RNN') else ''} instead")
        is_batched = input.dim() == 3
        return (input if is_batched else input.unsqueeze(self._batch_dim())), is_batched

    def _batch_dim(self):
        return 0 if self.batch_first else 1

    def _zeros(self, input, batch, width):
        return torch.zeros(self.num_layers * (2 if self.bidirectional else 1), batch, width, dtype=input.dtype,
                           device=input.device)

    def _run(self, input, hx):
        """forward of the layers with one hidden state."""
        operator = self._operator()
        options = (self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        width = self.proj_size if self.proj_size > 0 else self.hidden_size
        if isinstance(input, PackedSequence):
            data, batch_sizes, sorted_indices, unsorted_indices = input
            if hx is None:
                hx = self._zeros(data, int(batch_sizes[0]), width)
            else:
                hx = self.permute_hidden(hx, sorted_indices)
            self.check_forward_args(data, hx, batch_sizes)
            output, hidden = operator(data, batch_sizes, hx, *options)
            return (PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices),
                    self.permute_hidden(hidden, unsorted_indices))
        input, is_batched = self._enter(input)
        if hx is None:
            hx = self._zeros(input, input.size(self._batch_dim()), width)
        else:
            if is_batched and hx.dim() != 3:
                raise RuntimeError(f"For batched 3-D input, hx should also be 3-D but got {hx.dim()}-D tensor")
            if not is_batched:
                if hx.dim() != 2:
                    raise RuntimeError(f"For unbatched 2-D input, hx should also be 2-D but got {hx.dim()}-D tensor")
                hx = hx.unsqueeze(1)
        self.check_forward_args(input, hx, None)
        output, hidden = operator(input, hx, *options, self.batch_first)
        return (output, hidden) if is_batched else (output.squeeze(self._batch_dim()), hidden.squeeze(1))


class RNN(RNNBase):
    """h' = tanh(W x + b + U h + c) over a sequence (T, N, input_size), (N, T, *) with batch_first, or (T, *).

    Takes input_size, hidden_size, num_layers=1, nonlinearity="tanh" or "relu", bias, batch_first, dropout,
    bidirectional. Answers the outputs of all steps and the last hidden state.
    """

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__("RNN_TANH" if self.nonlinearity == "tanh" else "RNN_RELU", *args, **kwargs)

    def _operator(self):
        return torch.rnn_tanh if self.mode == "RNN_TANH" else torch.rnn_relu

    def forward(self, input, hx=None):
        return self._run(input, hx)


class GRU(RNNBase):
    """Gated recurrent units (Cho et al., 2014) over a sequence (T, N, *), (N, T, *) with batch_first, or (T, *).

    Takes input_size, hidden_size, num_layers=1, bias, batch_first, dropout, bidirectional. Answers the outputs of all
    steps and the last hidden state.
    """

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)

    def _operator(self):
        return torch.gru

    def forward(self, input, hx=None):
        return self._run(input, hx)


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter, 1997) over a sequence (T, N, *), (N, T, *) with batch_first, or (T, *).

    Takes input_size, hidden_size, num_layers=1, bias, batch_first, dropout, bidirectional, proj_size. Answers the
    outputs of all steps and the last (hidden, cell) states.
    """

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input, batch_sizes):
        """The cell state's shape for this input."""
        return self._state_shape(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input, hidden, batch_sizes):
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden[0], self.get_expected_hidden_size(input, batch_sizes),
                               "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(hidden[1], self.get_expected_cell_size(input, batch_sizes),
                               "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx, permutation):
        if permutation is None:
            return hx
        return hx[0].index_select(1, permutation), hx[1].index_select(1, permutation)

    def _states(self, input, batch):
        width = self.proj_size if self.proj_size > 0 else self.hidden_size
        return self._zeros(input, batch, width), self._zeros(input, batch, self.hidden_size)

    def forward(self, input, hx=None):
        options = (self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if isinstance(input, PackedSequence):
            data, batch_sizes, sorted_indices, unsorted_indices = input
            hx = (self._states(data, int(batch_sizes[0])) if hx is None
                  else self.permute_hidden(hx, sorted_indices))
            self.check_forward_args(data, hx, batch_sizes)
            output, hidden, cell = torch.lstm(data, batch_sizes, hx, *options)
            return (PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices),
                    self.permute_hidden((hidden, cell), unsorted_indices))
        input, is_batched = self._enter(input)
        if hx is None:
            hx = self._states(input, input.size(self._batch_dim()))
        else:
            dimensions = 3 if is_batched else 2
            if hx[0].dim() != dimensions or hx[1].dim() != dimensions:
                raise RuntimeError(f"For {'batched' if is_batched else 'unbatched'} {dimensions}-D input, hx and cx "
                                   f"should also be {dimensions}-D but got ({hx[0].dim()}-D, {hx[1].dim()}-D) tensors")
            if not is_batched:
                hx = hx[0].unsqueeze(1), hx[1].unsqueeze(1)
        self.check_forward_args(input, hx, None)
        output, hidden, cell = torch.lstm(input, hx, *options, self.batch_first)
        if is_batched:
            return output, (hidden, cell)
        return output.squeeze(self._batch_dim()), (hidden.squeeze(1), cell.squeeze(1))


class RNNCellBase(Module):
    """What the cells share: the weights of one step."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device=None, dtype=None):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size

        def parameter(*shape):
            return Parameter(torch.empty(shape, device=device, dtype=dtype))

        self.weight_ih = parameter(rows, input_size)
        self.weight_hh = parameter(rows, hidden_size)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, parameter(rows) if bias else None)
        self.reset_parameters()

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if "nonlinearity" in self.__dict__ and self.nonlinearity != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def reset_parameters(self):
        """Draws all weights anew, uniform in +-1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _enter(self, input, hx):
        """Input and hidden state with a batch, and whether they came with one. ValueError for other dimensions."""
        name = self._get_name()
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        if hx is not None and hx.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected hidden to be 1D or 2D, got {hx.dim()}D instead")
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
        elif not is_batched:
            hx = hx.unsqueeze(0)
        return input, hx, is_batched


class RNNCell(RNNCellBase):
    """One step of RNN: input (N, input_size) or (input_size,), hidden state likewise."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: torch.Tensor, hx: torch.Tensor | None = None) -> torch.Tensor:
        input, hx, is_batched = self._enter(input, hx)
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        operator = torch.rnn_tanh_cell if self.nonlinearity == "tanh" else torch.rnn_relu_cell
        result = operator(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return result if is_batched else result.squeeze(0)


class LSTMCell(RNNCellBase):
    """One step of LSTM: input (N, input_size) or (input_size,), states (hidden, cell) likewise."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input: torch.Tensor, hx: tuple[torch.Tensor, torch.Tensor] | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        if input.dim() not in (1, 2):
            raise ValueError(f"LSTMCell: Expected input to be 1D or 2D, got {input.dim()}D instead")
        if hx is not None:
            for place, value in enumerate(hx):
                if value.dim() not in (1, 2):
                    raise ValueError(f"LSTMCell: Expected hx[{place}] to be 1D or 2D, got {value.dim()}D instead")
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
        if hx is None:
            zeros = torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
            hx = (zeros, zeros)
        elif not is_batched:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        result = torch.lstm_cell(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return result if is_batched else (result[0].squeeze(0), result[1].squeeze(0))


class GRUCell(RNNCellBase):
    """One step of GRU: input (N, input_size) or (input_size,), hidden state likewise."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: torch.Tensor, hx: torch.Tensor | None = None) -> torch.Tensor:
        input, hx, is_batched = self._enter(input, hx)
        result = torch.gru_cell(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return result if is_batched else result.squeeze(0)
