"""Names of torch._export, written by tools/surface.py."""
TABLE = r"""
_export/
_export.config patch()
_export.error InternalError!(Exception)
_export.utils _disable_aten_to_metadata_assertions() _is_cia_op()
"""  # noqa: E501
