"""Names of torch.classes, written by tools/surface.py."""
TABLE = r"""
classes/ __path__@:classes__path__ load_library()
"""  # noqa: E501
