"""Names of torch._weights_only_unpickler, written by tools/surface.py."""
TABLE = r"""
_weights_only_unpickler _get_user_allowed_globals() _safe_globals
"""  # noqa: E501
