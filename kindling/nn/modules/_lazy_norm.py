"""Batch and instance normalisation whose num_features is that of the first input."""
import kindling as torch
from kindling.nn.modules.batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from kindling.nn.modules.instancenorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from kindling.nn.modules.lazy import LazyModuleMixin
from kindling.nn.parameter import UninitializedBuffer, UninitializedParameter


class _LazyNormBase(LazyModuleMixin):
    def __init__(self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *,
                 bias=True):
        # The parent makes nothing of zero features; affine and tracking are set afterwards.
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = torch.tensor(0, dtype=torch.long, device=device)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input):
        if not self.has_uninitialized_params():
            return
        self.num_features = self._feature_count(input)
        if self.affine:
            self.weight.materialize((self.num_features,))
            if self.bias is not None:
                self.bias.materialize((self.num_features,))
        if self.track_running_stats:
            self.running_mean.materialize((self.num_features,))
            self.running_var.materialize((self.num_features,))
        self.reset_parameters()

    def _feature_count(self, input):
        return input.shape[1]


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """A BatchNorm1d whose num_features is that of the first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """A BatchNorm2d whose num_features is that of the first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """A BatchNorm3d whose num_features is that of the first input."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNormBase, InstanceNorm1d):
    """An InstanceNorm1d whose num_features is that of the first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d):
    """An InstanceNorm2d whose num_features is that of the first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d):
    """An InstanceNorm3d whose num_features is that of the first input."""

    cls_to_become = InstanceNorm3d


for _class in (LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d):
    _class.__module__ = __name__.partition(".")[0] + ".nn.modules.batchnorm"
for _class in (LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d):
    _class.__module__ = __name__.partition(".")[0] + ".nn.modules.instancenorm"
