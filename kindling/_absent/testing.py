"""Names of torch.testing, written by tools/surface.py."""
TABLE = r"""
testing/ FileCheck@. assert_allclose@testing._comparison assert_close@testing._comparison make_tensor@testing._creation
testing._comparison assert_allclose() assert_close()
testing._creation make_tensor()
"""  # noqa: E501
