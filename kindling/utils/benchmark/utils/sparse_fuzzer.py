"""Random sparse tensors for benchmarks."""
import math

import kindling as torch

from .fuzzer import FuzzedTensor

__all__ = []


class FuzzedSparseTensor(FuzzedTensor):
    """A COO tensor; the parameters `density`, `coalesced` and `sparse_dim` say how many elements it has and how they are held."""

    def __init__(self, name, size, min_elements=None, max_elements=None, dim_parameter=None, sparse_dim=None, nnz=None, density=None, coalesced=None,
                 dtype=torch.float32, cuda=False):
        super().__init__(name=name, size=size, min_elements=min_elements, max_elements=max_elements, dim_parameter=dim_parameter, dtype=dtype, cuda=cuda)
        self._sparse_dim, self._density, self._coalesced = sparse_dim, density, coalesced

    @staticmethod
    def sparse_tensor_constructor(size, dtype, sparse_dim, nnz, is_coalesced):
        """A tensor of `nnz` random places; each of them twice unless it is coalesced."""
        size = [size] * sparse_dim if isinstance(size, (int, float)) else list(size)
        if all(each <= 0 for each in size[:sparse_dim]) and nnz != 0:
            raise AssertionError("invalid arguments")
        values = FuzzedTensor.default_tensor_constructor([nnz] + size[sparse_dim:], dtype)
        places = torch.rand(sparse_dim, nnz, device="cpu")
        places = places.mul_(torch.tensor(size[:sparse_dim]).unsqueeze(1).to(places)).to(torch.long)
        if not is_coalesced:
            values, places = torch.cat([values, torch.randn_like(values)]), torch.cat([places, places], 1)
        made = torch.sparse_coo_tensor(places, values, torch.Size(size))
        return made.coalesce() if is_coalesced else made

    def _make_tensor(self, params, state):
        size = self._get_size_and_steps(params)[0]
        density = params["density"]
        nnz = math.ceil(sum(size) * density)
        if nnz > sum(size):
            raise AssertionError("nnz cannot exceed total number of elements")
        sparse_dim = min(params["sparse_dim"] if self._sparse_dim else len(size), len(size))
        made = self.sparse_tensor_constructor(size, self._dtype, sparse_dim, nnz, params["coalesced"])
        if self._cuda:
            made = made.cuda()
        return made, {"numel": made.numel(), "shape": made.size(), "is_coalesced": made.is_coalesced(), "density": density, "sparsity": 1.0 - density,
                      "sparse_dim": made.sparse_dim(), "dense_dim": made.dense_dim(), "is_hybrid": len(size) > sparse_dim, "dtype": str(self._dtype)}
