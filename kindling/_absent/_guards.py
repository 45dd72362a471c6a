"""Names of torch._guards, written by tools/surface.py."""
TABLE = r"""
_guards GuardBuilderBase TracingContext active_fake_mode() detect_fake_mode() tracing()
"""  # noqa: E501
