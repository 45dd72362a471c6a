"""Names of torch._logging, written by tools/surface.py."""
TABLE = r"""
_logging/ set_logs@_logging._internal trace_structured@_logging._internal
_logging._internal set_logs() trace_structured()
"""  # noqa: E501
