"""What a DTensor knows of its place."""
from collections import namedtuple

TensorMeta = namedtuple("TensorMeta", ["shape", "stride", "dtype"])


class DTensorSpec:
    """A mesh, a placement for each of its dimensions, and the shape of the whole tensor."""

    def __init__(self, mesh, placements, tensor_meta=None):
        self.mesh, self.placements, self.tensor_meta = mesh, tuple(placements), tensor_meta

    device_mesh = property(lambda self: self.mesh)
    shape = property(lambda self: self.tensor_meta.shape)
    stride = property(lambda self: self.tensor_meta.stride)
    ndim = property(lambda self: len(self.tensor_meta.shape))

    def __eq__(self, other):
        return isinstance(other, DTensorSpec) and (self.mesh, self.placements, self.tensor_meta) == (other.mesh, other.placements, other.tensor_meta)

    def __hash__(self):
        return hash((self.mesh, self.placements))

    def __repr__(self):
        return f"DTensorSpec(mesh={self.mesh}, placements={self.placements}, tensor_meta={self.tensor_meta})"
