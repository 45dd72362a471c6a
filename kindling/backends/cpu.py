"""The CPU's abilities."""
__all__ = ["get_cpu_capability"]


def get_cpu_capability():
    """The instruction set that kernels use: "DEFAULT", "AVX2" or "AVX512"."""
    from kindling import _C
    return _C._get_cpu_capability()
