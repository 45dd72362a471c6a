"""LinearCrossEntropyOptions."""

__all__ = ["LinearCrossEntropyOptions"]


class LinearCrossEntropyOptions:
    """How linear_cross_entropy may split its work. Accepted as PyTorch's; this library computes in one piece."""

    __slots__ = ("allow_retain_graph", "batch_chunk_size", "chunking_method", "acc_policy", "acc_dtype")

    def __init__(self, allow_retain_graph=False, batch_chunk_size=None, chunking_method="auto", acc_policy="auto",
                 acc_dtype=None):
        for name, value in zip(self.__slots__, (allow_retain_graph, batch_chunk_size, chunking_method, acc_policy,
                                                acc_dtype)):
            object.__setattr__(self, name, value)

    def _values(self):
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other):
        return self._values() == other._values() if type(other) is type(self) else NotImplemented

    def __hash__(self):
        return hash(self._values())

    def __setattr__(self, name, value):
        raise AttributeError(f"cannot assign to field '{name}'")

    def __repr__(self):
        return "LinearCrossEntropyOptions({})".format(
            ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__))

    def __reduce__(self):
        return type(self), self._values()
