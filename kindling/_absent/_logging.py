"""Names of torch._logging, written by tools/surface.py."""
TABLE = r"""
_logging/ trace_structured@_logging._internal
_logging._internal set_logs() trace_structured()
"""  # noqa: E501
