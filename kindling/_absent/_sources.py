"""Names of torch._sources, written by tools/surface.py."""
TABLE = r"""
_sources get_source_lines_and_file() normalize_source_lines() parse_def()
"""  # noqa: E501
