"""LazyLinear, apart from Linear so that the latter does not load the lazy machinery."""
import kindling as torch
from kindling.nn.modules.lazy import LazyModuleMixin
from kindling.nn.modules.linear import Linear
from kindling.nn.parameter import UninitializedParameter


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear whose in_features is the last dimension of the first input."""

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device=None, dtype=None):
        # The parent makes no bias: its size would draw random numbers now.
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input):
        if self.has_uninitialized_params():
            with torch.no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:
            if input.shape[-1] != self.weight.shape[-1]:
                raise AssertionError(f"The in_features inferred from input: {input.shape[-1]} is not equal to "
                                     f"in_features from self.weight: {self.weight.shape[-1]}")
            self.in_features = input.shape[-1]


LazyLinear.__module__ = __name__.partition(".")[0] + ".nn.modules.linear"
