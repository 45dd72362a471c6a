"""``torch.CompileMode``: the modes of ``torch.compile`` as an enumeration."""
import enum

from kindling import _C


class CompileMode(str, enum.Enum):
    """A mode of :func:`torch.compile`; equal to its name.

    >>> torch.CompileMode("max-autotune") is torch.CompileMode.MAX_AUTOTUNE
    True
    """

    DEFAULT = "default"
    REDUCE_OVERHEAD = "reduce-overhead"
    MAX_AUTOTUNE = "max-autotune"
    MAX_AUTOTUNE_NO_CUDAGRAPHS = "max-autotune-no-cudagraphs"

    @classmethod
    def _missing_(cls, value):
        raise ValueError(f"Unrecognized mode={value}, should be one of: {', '.join(member.value for member in cls)}")

    def __str__(self):
        return self.value


CompileMode.__module__ = _C.Size.__module__
