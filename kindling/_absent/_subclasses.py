"""Names of torch._subclasses, written by tools/surface.py."""
TABLE = r"""
_subclasses/
_subclasses.fake_tensor is_fake()
"""  # noqa: E501
