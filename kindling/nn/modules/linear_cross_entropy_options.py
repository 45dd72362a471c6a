"""LinearCrossEntropyOptions."""
import kindling as torch

__all__ = ["LinearCrossEntropyOptions"]


class LinearCrossEntropyOptions:
    """How linear_cross_entropy may split its work. Accepted as PyTorch's; this library computes in one piece.

    ValueError for a value that none of the fields knows.
    """

    __slots__ = ("allow_retain_graph", "batch_chunk_size", "chunking_method", "acc_policy", "acc_dtype")

    def __init__(self, allow_retain_graph: bool = False, batch_chunk_size: int | None = None, chunking_method: str | None = "auto", acc_policy="auto",
                 acc_dtype: torch.dtype | None = None):
        if batch_chunk_size is not None and not (isinstance(batch_chunk_size, int) and batch_chunk_size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {batch_chunk_size!r}")
        method, _, ratio = (chunking_method or "auto").partition(":")
        known = method == "aspect_ratio" and (ratio.isdigit() and int(ratio) > 0 or chunking_method == method)
        if chunking_method is not None and chunking_method != "auto" and not known:
            raise ValueError(f"invalid chunking_method: {chunking_method!r}")
        if acc_policy not in ("accurate", "balanced", "compact", "auto"):
            raise ValueError(f"invalid acc_policy: {acc_policy!r}")
        if acc_dtype is not None:
            import kindling as torch
            if acc_dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
                raise ValueError("acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, "
                                 f"torch.float64}}, got {acc_dtype!r}. Pass acc_dtype=None to let the op pick "
                                 "automatically.")
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
