"""Names of torch._weights_only_unpickler, written by tools/surface.py."""
TABLE = r"""
_weights_only_unpickler _safe_globals
"""  # noqa: E501
