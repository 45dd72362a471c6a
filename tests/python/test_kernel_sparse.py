"""Products of sparse and strided matrices by the loops over rows, under each instruction set."""
import pytest

import kindling

pytestmark = pytest.mark.kernels


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [1, 3, 16, 67, 130])
def test_wide_products(width, dtype):
    kindling.manual_seed(0)
    dense = kindling.randn(40, 30, dtype=getattr(kindling, dtype))
    dense = dense * (kindling.rand(40, 30) < 0.2)
    right = kindling.randn(30, width, dtype=dense.dtype)
    for sparse in (dense.to_sparse(), dense.to_sparse_csr(), dense.to_sparse_csc()):
        assert kindling.allclose(sparse @ right, dense @ right, atol=1e-5)
        assert kindling.allclose(right.t() @ sparse.t(), right.t() @ dense.t(), atol=1e-5)
