"""Names of torch._jit_internal, written by tools/surface.py."""
TABLE = r"""
_jit_internal is_static_fn() should_drop()
"""  # noqa: E501
