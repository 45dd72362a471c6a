"""How a tensor lies on one dimension of a mesh. On a mesh of one device each way is the whole tensor."""

__all__ = ["Placement", "Shard", "Replicate", "Partial"]


class Placement:
    """How a tensor lies on one dimension of a mesh."""

    _key = ()

    def is_shard(self, dim=None):
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self):
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op=None):
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)

    def __eq__(self, other):
        return type(self) is type(other) and self._key == other._key

    def __hash__(self):
        return hash((type(self).__name__, self._key))


class Shard(Placement):
    """Cut along a dimension of the tensor."""

    def __init__(self, dim):
        self.dim = dim

    @staticmethod
    def local_shard_size_and_offset(curr_local_size, num_chunks, rank):
        """How long the piece of a rank is, and where it begins."""
        full = -(-curr_local_size // num_chunks)
        begin = min(full * rank, curr_local_size)
        return min(full, curr_local_size - begin), begin

    @property
    def _key(self):
        return (self.dim,)

    def __repr__(self):
        return f"Shard(dim={self.dim})"

    def __str__(self):
        return f"S({self.dim})"


class _StridedShard(Shard):
    """Cut along a dimension in several rounds."""

    def __init__(self, dim, *, split_factor):
        super().__init__(dim)
        self.split_factor = split_factor

    def is_shard(self, dim=None):
        return False

    @property
    def _key(self):
        return self.dim, self.split_factor

    def __repr__(self):
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self):
        return f"_S({self.dim}, {self.split_factor})"


class Replicate(Placement):
    """Whole on each device."""

    def __repr__(self):
        return "Replicate()"

    def __str__(self):
        return "R"


class Partial(Placement):
    """A part of a reduction that is still to be done."""

    ALL_REDUCE_OPS = ("sum", "avg", "min", "max", "product")
    LINEAR_REDUCE_OPS = ("sum", "avg")

    def __init__(self, reduce_op="sum"):
        self.reduce_op = reduce_op

    @property
    def _key(self):
        return (self.reduce_op,)

    def __repr__(self):
        return f"Partial({self.reduce_op})"

    def __str__(self):
        return f"P({self.reduce_op})"
