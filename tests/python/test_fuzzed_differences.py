"""What tests/fuzz/differences.py found, a line for each: values, dtypes, shapes and strides, or the class of exception, as PyTorch has them."""
import contextlib
import itertools
import math
import subprocess
import sys
import warnings

import pytest
import torch

import kindling

pytestmark = pytest.mark.kernels

STRIDES = """
torch.ops.aten._prelu_kernel_backward(torch.ones(3, 2).t(), torch.ones(1, 3).expand(2, 3), torch.ones(1, 3))
2. ** torch.ones(3, 4).t()
torch.pow(2, torch.ones(3, 4).t())
torch.pow(1 + 1j, torch.ones(3, 4, 2).permute(2, 0, 1))
torch.pow(2, torch.ones(3, 4).t(), out=torch.empty(0))
torch._foreach_pow(2., [torch.ones(2, 3, 4).permute(2, 0, 1), torch.ones(2, 3).half().t()])
torch.ldexp(torch.ones(1) + 0j, torch.ones(3, 4, dtype=torch.int32).t())
torch.ones(4, 1, 4)[3:0, [-4, -1, 3]]
torch.ones(0, 1, 4)[:, torch.tensor([7])]
torch.ones(2, 2).t().set_(torch.ones(6), 1, [2, 2])
torch.ones(4)[::2].set_(torch.ones(4), 0, [2])
torch.ones(2, 2).t().set_(torch.arange(7.).untyped_storage(), 1, [2, 3])
torch.linalg.matrix_power(torch.ones(2, 2, 2).permute(1, 0, 2), 1)
torch._weight_norm(torch.ones(4, 3).t(), torch.ones(3, 1))
torch._weight_norm(torch.ones(3, 2, 2).permute(2, 1, 0), torch.ones(1, 2, 1), 1)
torch.unique(torch.tensor([[1., -1, .5, 1], [2, 3, 4, 2]]), dim=1)
torch.unique_consecutive(torch.arange(12.).view(2, 2, 3), dim=2)
torch.cat([torch.ones(1, 3, 2, 2, 2).contiguous(memory_format=torch.channels_last_3d)] * 2, 1)
torch.cat([torch.ones(2, 3, 4, 4).contiguous(memory_format=torch.channels_last)[:, :, ::2]] * 2)
torch.cat([torch.ones(2, 3, 4, 4).contiguous(memory_format=torch.channels_last), torch.ones(2, 3, 4, 4)])
torch.cat([torch.ones(2, 3, 4, 4).contiguous(memory_format=torch.channels_last), torch.ones(0)])
torch.cat([torch.arange(8).as_strided((1, 2, 2, 1), (1, 1, 2, 4))])
torch.cat([torch.ones(40).as_strided((2, 1, 4, 5), (20, 1, 5, 1))])
torch.dstack([torch.ones(3, 3, 3, 3, 3).contiguous(memory_format=torch.channels_last_3d)])
torch.empty_like(torch.ones(2, 3, 4, 4).contiguous(memory_format=torch.channels_last)[:, :, ::2]).fill_(1)
torch.nn.functional.max_pool2d(torch.ones(2, 3, 4, 4).contiguous(memory_format=torch.channels_last)[:, :, ::2], 2)
torch.conv1d(torch.ones(3, 3, 5, dtype=torch.uint8), torch.ones(3, 3, 2, dtype=torch.uint8))
torch.conv2d(torch.ones(3, 3, 5, 5, dtype=torch.int64), torch.ones(3, 3, 2, 2, dtype=torch.int64))
torch.conv3d(torch.ones(3, 3, 5, 5, 5, dtype=torch.int64), torch.ones(3, 3, 2, 2, 2, dtype=torch.int64))
torch.nn.utils.rnn.pad_sequence([torch.ones(2, 2, 2, 2).contiguous(memory_format=torch.channels_last)])
"""
VALUES = """
torch.logspace(2, -9223372036854775807, 4, dtype=torch.int64)
torch.ones(1, 3).squeeze_(torch.tensor(False))
torch.arange(6.).reshape(2, 3).sum([torch.tensor([True])])
torch.arange(3.).flip(torch.tensor([[False]]))
torch.norm(torch.arange(8.).view(2, 2, 2), 2, torch.tensor(0))
torch.norm(torch.arange(8.).view(2, 2, 2), "fro", [])
torch.norm(torch.arange(8.).view(2, 2, 2), None, (0, 2), True)
torch.arange(8.).view(2, 2, 2).norm("nuc", (0, 2))
torch.isin(torch.tensor(1, dtype=torch.uint64), torch.zeros(0, dtype=torch.int16), invert=True)
torch.isin(torch.tensor(3, dtype=torch.uint16), torch.tensor([2, 3]))
torch.isin(65536, torch.zeros(40, dtype=torch.int8))
torch.isin(65536, torch.zeros(4, dtype=torch.int8))
torch.isin(0.1, torch.full((40,), 0.1))
torch.isin(0.1, torch.full((4,), 0.1), invert=True)
torch.isin(torch.zeros(40, dtype=torch.int8), 65536)
torch.isin(torch.tensor(0.1, dtype=torch.float64), torch.tensor([0.1, 0.2]))
torch.isin(torch.tensor(0.1, dtype=torch.float64), torch.tensor([0.1] * 40))
torch.isin(torch.tensor([0.1] * 3, dtype=torch.float32), torch.tensor(0.1, dtype=torch.float64))
torch.addr(torch.tensor([1.5]), torch.tensor([3], dtype=torch.uint64), torch.tensor([5], dtype=torch.uint8))
torch.addr(torch.tensor(1.5), torch.tensor([100, 3], dtype=torch.uint8), torch.tensor([100, 3], dtype=torch.uint8), beta=0)
torch.addr(torch.tensor([1], dtype=torch.uint8), torch.tensor([100], dtype=torch.int8), torch.tensor([100], dtype=torch.int8))
torch.addr(torch.tensor([1.5]), torch.tensor([100], dtype=torch.int8), torch.tensor([3], dtype=torch.int8), alpha=2)
torch.addr(torch.tensor([100], dtype=torch.int8), torch.tensor([100], dtype=torch.int16), torch.tensor([3], dtype=torch.int8), beta=3)
torch.addr(torch.tensor(1.), torch.tensor([100.]).bfloat16(), torch.tensor([100]))
torch.addr(torch.tensor([3], dtype=torch.uint64), torch.tensor([5.]), torch.tensor([1 + 1j]), beta=2)
torch.ops.aten.smooth_l1_loss(torch.tensor([True, False]), torch.tensor([2., 1.5]), 1, 0.)
torch.ops.aten.smooth_l1_loss(torch.tensor([2., 1.5]).half(), torch.tensor([True, False]), 0, 0.)
torch.abs(torch.tensor([3 + 4j, -2]), out=torch.empty(2, dtype=torch.complex64))
torch.abs(torch.tensor([3 + 4j, -2]), out=torch.ones(2, dtype=torch.complex64).conj())
torch.abs(torch.tensor([3 + 4j, -2]), out=torch.empty(2, dtype=torch.float64))
torch.abs(torch.tensor([3 + 4j, -2]).to(torch.complex128), out=torch.empty(2))
torch.nn.functional.elu(torch.tensor([0., -0., -1, 1]), float('inf'))
torch.nn.functional.elu(torch.tensor([0., -0., -1, 1]), -1.)
torch.nn.functional.celu(torch.tensor([0., -0., -1, 1]), float('inf'))
torch.ops.aten.elu(torch.tensor([0., -0., -1, 1]), 1, 1, float('inf'))
torch.autograd.grad(torch.ops.aten.softplus_backward(torch.ones(4), (x := torch.tensor([0., 2.4, 2.5, 2.6], requires_grad=True)), 1, 2.5).sum(), x)
torch.ops.aten._sparse_addmm(torch.ones(2, 2), torch.full((2, 2), float('nan')), torch.ones(2, 2), alpha=0)
torch.ops.aten._sparse_coo_tensor_unsafe(torch.tensor([[0, 1]]), torch.ones(2), [2], dtype=torch.int32).to_dense()
torch.ops.aten.elu_backward(torch.tensor([1., 2, 3]), 1, 2, 3, False, torch.tensor([0., -1, 1]))
torch.ops.aten.elu_backward(torch.tensor([1., 2, 3]), 1, 2, 3, True, torch.tensor([0., -1, 1]))
torch.gradient(torch.tensor([1., 4, 9], dtype=torch.float64), spacing=0.38139138703132724)
torch.gradient(torch.tensor([1., 4, 9, 11], dtype=torch.float64), spacing=0.38139138703132724, edge_order=2)
torch.autograd.grad((x := torch.tensor([1.5, 0.5], dtype=torch.float64, requires_grad=True)).pow(-2 ** 63).sum(), x)
torch.autograd.grad((x := torch.zeros(2, 2, requires_grad=True)).renorm(1, 0, 1e30).sum(), x)
torch.linalg.vector_norm(torch.tensor(1e30), 3, dim=0)
torch.linalg.vector_norm(torch.tensor(2.), float('nan'), dim=0)
torch.nn.functional.pairwise_distance(torch.tensor(-1.), torch.tensor(1.), float('nan'))
torch.nn.utils.rnn.pad_sequence([torch.ones(5, 2, 3), torch.tensor([3.])], True, 0.5)
torch.ops.aten.embedding_sparse_backward(torch.ones(3, 2), torch.tensor([0, 1, 1]), 4, 1, False).to_dense()
torch.ops.aten.embedding_sparse_backward(torch.ones(3, 2), torch.tensor([0, 1, 1]), 4, -2, False).to_dense()
torch.autograd.grad((x := torch.tensor([0.5, 0.9], dtype=torch.float64, requires_grad=True)).pow(2 ** 64 - 1).sum(), x)
torch.batch_norm(torch.zeros(2, 0, 2, 2), torch.zeros(2, 0, 2, 2, dtype=torch.float64), None, None, None, True, 0.5, 1., True)
torch.batch_norm(torch.zeros(0, 1), None, torch.zeros(1, 0), None, None, True, 0.5, 1., True)
torch.repeat_interleave(torch.zeros(0), torch.tensor([], dtype=torch.int64), output_size=5)
torch.kaiser_window(4, True, 1e308)
torch.gradient(torch.ones(3, dtype=torch.complex128), spacing=complex(1, -float('inf')))
torch.cdist(torch.zeros(3, 1, 0), torch.zeros(3, 1, 0, dtype=torch.float64))
torch.ops.aten.mean.dtype_out(torch.ones(2, 3), out=torch.zeros((), dtype=torch.float64))
torch.ops.aten.replication_pad2d(torch.ones(1, 4, 4), [-2, -2, 0, 0])
torch.ops.aten.reflection_pad3d(torch.ones(1, 4, 4, 4), [-2, -2, 0, 0, 0, 0])
torch.nn.functional.linear(torch.ones(2, 3, 3).transpose(0, 1), torch.ones(2, 3), torch.ones(2, dtype=torch.float64))
torch.nn.functional.linear(torch.ones(3), torch.ones(2, 3), torch.ones(2))
[x := torch.zeros(2, 3, dtype=torch.float64), torch.ops.aten.split_copy.Tensor_out(torch.ones(3), 3, 0, out=[x])][0]
torch.zeros(3).set_(torch.ones(3, requires_grad=True) * 1, 1, [2]).requires_grad
torch.autograd.grad(torch.cdist((x := torch.ones(3, 2, requires_grad=True)), x * 2, 0).sum(), x)
torch.autograd.grad(torch.pdist((x := torch.tensor([[1., float('inf')], [2., float('nan')]], requires_grad=True)), 0).sum(), x)
torch.pdist(torch.tensor([[1., float('inf')], [2., float('nan')]]), 0)
torch.cdist(torch.tensor([[1., float('nan')], [2., float('inf')], [0., 1e-30]]), torch.zeros(2, 2), 0)
(x := torch.ones(2, 2)).data_ptr() == torch.chain_matmul(x).data_ptr()
torch.ones(6).view(torch.tensor([3]), 2)
torch.ones(torch.tensor([[3]]), 2)
torch.ones(6).reshape((torch.tensor([3]), 2))
torch.ones(6).repeat(torch.tensor([2]))
torch.ones(6).expand(torch.tensor([2]), 6)
torch.linalg.cholesky_ex(torch.tensor([[4., 2], [2, float('nan')]]))[1]
torch.linalg.cholesky_ex(torch.eye(3).repeat(2, 1, 1) * torch.tensor([1., float('nan')]).view(2, 1, 1))[1]
torch.ops.aten._prelu_kernel_backward(torch.ones(3), torch.ones(3, 1), torch.ones(1, 3))
torch.ops.aten._prelu_kernel_backward(torch.ones(1), -torch.ones(3), torch.ones(2, 3))
torch.binary_cross_entropy_with_logits(torch.ones(3).bfloat16(), torch.ones(3).bfloat16(), torch.ones(3), None, 0)
torch.binary_cross_entropy_with_logits(torch.ones(3), torch.ones(3).bfloat16(), None, torch.ones(3), 0)
torch.binary_cross_entropy_with_logits(torch.ones(3), torch.ones(3), None, torch.ones(3).double(), 0)
torch.ops.aten._pad_packed_sequence(torch.ones(3, 1), torch.tensor([3, 0]), False, 8., 2)
torch.ops.aten.nll_loss_backward(torch.zeros(()), torch.zeros(0), torch.tensor(1), None, 0, 1, torch.zeros(()))
torch.autograd.grad((x := torch.tensor([[2.5, float('inf'), 1], [1, 2, -float('inf')], [-float('inf')] * 3], requires_grad=True)).logsumexp(1).sum(), x)
torch.autograd.grad(torch.linalg.det((x := torch.tensor([[[1., 2], [2, 4]], [[1, 2], [3, 4]]], dtype=torch.float64, requires_grad=True))).sum(), x, create_graph=True)[0].detach() + 0
torch.ops.aten.elu_backward(torch.ones(2, dtype=torch.uint8), 2, 1, 5, True, torch.ones(2, dtype=torch.float64))
torch.ops.aten.leaky_relu_backward(torch.ones(2, dtype=torch.uint8), torch.ones(2, dtype=torch.float64), 2, True)
torch.ops.aten.softshrink_backward(torch.ones(2, dtype=torch.uint8), torch.ones(2, dtype=torch.float64), 2)
torch.logspace(0, complex(1, float('-inf')), 2, 1., dtype=torch.complex64)
torch.autograd.grad(torch.pow(1 + 0j, (x := torch.tensor([0., float('inf'), float('nan'), 1e308], dtype=torch.float64, requires_grad=True))).real.sum(), x)[0] + 0
torch.autograd.grad(torch.view_as_real(torch.pow(1, (x := torch.tensor([0j, complex(float('inf'), 1)], requires_grad=True)))).sum(), x)
torch.autograd.grad((x := torch.tensor([1., -1, 0, float('nan')], requires_grad=True)).angle().sum(), x)
torch.ops.aten.embedding_renorm_(torch.ones(0, 2), torch.zeros(0, dtype=torch.int64), 0.3, -1e308)
torch.pdist(torch.zeros(3, 0), float('inf'))
torch.pdist(torch.zeros(3, 0), 2)
"""
REFUSED = """
torch.ones(3, 3).unfold(0, 2, 2 ** 62)
torch.embedding_renorm_(torch.ones(1, 0, dtype=torch.int16), torch.tensor([0]), 1., 2.)
torch.tensordot(torch.ones(2, 2), torch.ones(2, 2), torch.tensor([[0, 1]]))
torch.tensordot(torch.ones(2, 2), torch.ones(2, 2), torch.tensor([0, 1, 1]))
torch.cov(torch.ones(2, 3), fweights=torch.ones(3, dtype=torch.bool))
torch.cov(torch.ones(2, 3), aweights=torch.ones(3, dtype=torch.complex64))
torch.norm(torch.ones(2), 0, {})
torch.ones(2).norm(dim="")
torch.norm(torch.ones(2, 2, 2), "fro", (0, 1, 2))
torch.norm(torch.ones(2, 2, 2), "nuc")
torch.norm(torch.ones(2, 2), "x")
torch.norm(torch.ones(2, 2), "nuc", 0)
torch.isin(torch.tensor([3], dtype=torch.uint16), torch.tensor([2, 3]))
torch.nn.functional.binary_cross_entropy(torch.ones(2), torch.ones(2), torch.ones(2, requires_grad=True))
torch.nn.functional.multi_margin_loss(torch.ones(2, 3), torch.tensor([0, 2]), weight=torch.ones(3, requires_grad=True))
torch.nn.functional.multi_margin_loss(torch.ones(2, 3), torch.tensor([0, 2]), weight=torch.ones(3, dtype=torch.float64))
torch.linalg.matrix_rank(torch.eye(3), torch.tensor(1 + 0j))
torch.nn.functional.soft_margin_loss(torch.ones(2), torch.ones(2, requires_grad=True))
torch.index_select(torch.ones(0, 2), 0, torch.tensor([0]))
torch.index_select(torch.ones(2, 3, 0), 1, torch.tensor([3]), out=torch.empty(0))
torch.index_select(torch.ones(0), 0, torch.tensor([0]))
torch.embedding(torch.ones(0, 2), torch.tensor([0]))
torch.embedding(torch.ones(2, 0), torch.tensor([[2]]))
torch.autograd.grad(torch.ops.aten.embedding_dense_backward((x := torch.ones(3, 0, requires_grad=True)), torch.tensor([0, -1, 5]), 0, -1, False).sum(), x)
torch.autograd.grad(torch.ops.aten.embedding_dense_backward((x := torch.ones(0, requires_grad=True)), torch.tensor(2), 0, 2, False).sum(), x)
torch.addr(torch.tensor([1], dtype=torch.uint64), torch.tensor([3], dtype=torch.uint64), torch.tensor([5], dtype=torch.uint8))
torch.addr(torch.ones(3, 3), torch.ones(2), torch.ones(2))
torch.nn.functional.smooth_l1_loss(torch.tensor([True, False]), torch.tensor([2., 1.5]), beta=0.)
torch.ones(2, dtype=torch.complex64).clamp(None)
torch.ones(2, dtype=torch.complex64).clamp_(None, None)
torch.clamp(torch.ones(2, dtype=torch.complex64), out=torch.ones(2))
torch.clip(torch.ones(2, dtype=torch.bool))
torch.abs(torch.tensor([3 + 4j]), out=torch.empty(1, dtype=torch.complex128))
torch.abs(torch.tensor([3 + 4j]), out=torch.empty(1, dtype=torch.int32))
torch.abs(torch.tensor([3.]), out=torch.empty(1, dtype=torch.complex64))
torch.ones(()).set_(torch.ones(()), 1, [])
torch.ones(1, 1).set_(torch.ones(1), 1, [1, 1], [1, 1])
torch.ones(2).set_(torch.ones(2).untyped_storage(), 1, [2])
torch.tril_indices(2 ** 62, 1)
torch.cross(torch.ones(3), torch.ones(3).double())
torch.linalg.cross(torch.ones(2, 3, dtype=torch.int32), torch.ones(2, 3, dtype=torch.int8))
torch.linalg.lstsq(torch.eye(3).expand(2, 3, 3), torch.ones(3, 3))
torch.linalg.lstsq(torch.eye(3).expand(2, 3, 3), torch.ones(3))
torch.linalg.lstsq(torch.eye(3), torch.ones(2, 3, 3))
torch.ones(0, 0, 4)[:, [-4, -1, 3]]
torch.ops.aten.cross_entropy_loss(torch.ones(2, 3), torch.ones(2, 3), None, 3)
torch.ops.aten.cross_entropy_loss(torch.ones(2, 3), torch.tensor([0, 1]), None, -1, -100, 0.3)
torch.nn.functional.multi_margin_loss(torch.ones(2, 1), torch.zeros(2, 1, dtype=torch.int64))
torch.nn.functional.multi_margin_loss(torch.ones(2), torch.zeros(1, 1, dtype=torch.int64))
torch.max_pool1d(torch.ones(1, 20), 3, 1, 2, 3)
torch.max_pool2d(torch.ones(1, 20, 20), 3, 1, 2, 3)
torch.max_pool3d(torch.ones(1, 20, 20, 20), 3, 1, 2, 3)
torch.ops.aten._sparse_coo_tensor_with_dims(1, 1, [2, 3])
torch.ops.aten._sparse_coo_tensor_with_dims(1, 1, [2, 3], layout=torch.sparse_csr)
torch.ops.aten._sparse_coo_tensor_with_dims(3, -1, [2, 3], layout=torch.sparse_coo)
torch.ops.aten._sparse_coo_tensor_with_dims(-1, 3, [2, 3], layout=torch.sparse_coo)
torch.ops.aten._sparse_coo_tensor_with_dims(1, 1, [2, -3], layout=torch.sparse_coo)
torch.ops.aten._sparse_coo_tensor_with_dims_and_tensors(1, 0, [2], torch.tensor([[0, 1]]), torch.ones(2))
torch.ops.aten._sparse_coo_tensor_with_dims_and_tensors(1, 0, [2], torch.tensor([[0, 1]]).int(), torch.ones(2), layout=torch.sparse_coo)
torch.ops.aten._sparse_coo_tensor_unsafe(torch.tensor([[0, 1]]).int(), torch.ones(2), [2])
torch.ops.aten._sparse_coo_tensor_unsafe(torch.tensor([[0, 1]]), torch.ones(2), [-2])
torch.ops.aten._validate_sparse_coo_tensor_args(torch.tensor([[0, 1]]).int(), torch.ones(2), [2])
torch.ones(2).to_sparse().sparse_resize_([3], 2, -1)
torch.zeros(2).to_sparse().sparse_resize_([3], 2, -1)
torch.ops.aten.sparse_resize_and_clear_(torch.ones(2).to_sparse(), [3], 2, -1)
torch.ops.aten.sparse_resize_and_clear_(torch.ones(2), [3], 1, 0)
torch.ops.aten._coalesced_(torch.ones(2), False)
torch.ops.aten._sparse_sparse_matmul(torch.eye(2), torch.eye(2))
torch.ops.aten._sparse_addmm(torch.ones(2, 2).double(), torch.eye(2), torch.eye(2))
torch.addmm(torch.ones(2, 2).double(), torch.eye(2).to_sparse(), torch.eye(2))
torch.ops.aten.embedding_sparse_backward(torch.ones(1), torch.ones(3, 1, dtype=torch.int64), 4, 2, False)
torch.ops.aten.embedding_sparse_backward(torch.ones(2), torch.tensor(3), 4, -2, False)
torch.ones(0, 4, 4).to_sparse_csr()
torch.ones(2, 0, 4, 4).to_sparse_bsc((2, 2))
torch.linalg.qr(torch.eye(2, requires_grad=True), 'r')[1].sum().backward()
torch.linalg.qr(torch.zeros(0, 0, requires_grad=True), 'r')[1].sum().backward()
torch.nn.functional.max_unpool2d(torch.zeros(2, 2, 1, 1), torch.zeros(2, 2, 1, 1, dtype=torch.int64), 4, [17, 17], [17, 17])
torch.nn.functional.max_unpool3d(torch.zeros(2, 2, 1, 1, 1), torch.zeros(2, 2, 1, 1, 1, dtype=torch.int64), 4, [17, 17, 7], [17, 17, 7])
torch.ops.aten.max_unpool2d(torch.zeros(2, 2, 0, 1), torch.zeros(2, 2, 0, 1, dtype=torch.int64), [-1, 2])
torch.histogram(torch.ones(1), torch.ones(1))
torch.histogramdd(torch.ones(1, 1), [torch.ones(1)])
torch.unique(torch.zeros(0, 0, 3, requires_grad=True), dim=0)
torch.unique_consecutive(torch.zeros(0, 2, 3), dim=1)
torch.batch_norm(torch.zeros(2, 0, 2), torch.zeros(0), None, None, None, True, 0.5, 1., True)
torch.ops.aten.einsum('ij,jk->ik', [torch.ones(2, 3), torch.ones(3, 2)], path=[0])
torch.meshgrid([torch.ones(2), torch.ones(2, device='meta')])
torch.cdist(torch.zeros(2, 1, 3), torch.zeros(2, 1, 3, dtype=torch.float64))
torch.linalg.cond(torch.ones(5, 5), 1 + 0j)
torch.renorm(torch.ones(5, 5), 2, 0, 1 + 0j)
torch.nn.functional.linear(torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 2, dtype=torch.float64))
torch.nn.functional.linear(torch.ones(3), torch.ones(2, 3), torch.ones(2, dtype=torch.float64))
torch.ops.aten.gradient.tensorarrayint(torch.ones(3), spacing=[torch.tensor(2.)])
torch._foreach_addcmul([torch.ones(2)], [torch.ones(2)], [torch.ones(2)], torch.tensor(2.))
torch._foreach_addcdiv_([torch.ones(2)], [torch.ones(2)], [torch.ones(2)], torch.tensor(2.))
torch.normal(-1e308, torch.ones(3))
torch.nn.functional.cross_entropy(torch.ones(1, 2), torch.ones(1, 2), torch.ones(1, 2))
torch.ops.aten.replication_pad2d(torch.ones(1, 4, 4), [-3, -2, 0, 0])
torch.ops.aten.replication_pad1d(torch.ones(1, 4), [-2, -2])
torch.ops.aten.replication_pad3d(torch.ones(1, 4, 4, 4), [-2] * 6)
torch.ops.aten.split_copy.Tensor_out(torch.ones(3), 3, 0, out=[torch.zeros(0)])
torch.fft.fftfreq(-3)
torch.logspace(1e300 + 1j, 2, 3, dtype=torch.complex64)
torch.ops.aten.nll_loss_backward(torch.zeros(()), torch.zeros(2, 2, 2, 2), torch.zeros(2, dtype=torch.int64), None, 0, 1, torch.zeros(()))
torch.linalg.cholesky(torch.tensor([[float('nan')]]))
torch.linalg.cholesky(torch.tensor([[4., 2], [2, float('nan')]], dtype=torch.complex128))
torch.cholesky(torch.tensor([[float('nan')]]), upper=True)
torch.atleast_1d({})
torch.atleast_2d('')
torch.atleast_3d(5)
torch.stft(torch.ones(8, dtype=torch.bool), 4, return_complex=True)
torch.stft(torch.ones(8, dtype=torch.bool), 4, return_complex=True, center=False)
torch.linalg.vecdot(torch.ones(2), torch.ones(1))
torch.fft.ihfft(torch.ones(3), out=torch.empty(2, dtype=torch.complex128))
torch.binary_cross_entropy_with_logits(torch.ones(3), torch.ones(2, 3), None, torch.ones(3), 0)
torch.binary_cross_entropy_with_logits(torch.ones(3), torch.ones(3), torch.ones(2, 3), None, 0)
torch.ops.aten.leaky_relu_backward(torch.ones(2), torch.ones(2), -0.1, True)
torch.ops.aten.elu_backward(torch.ones(2), -1., 1, 1, True, torch.ones(2))
torch.ops.aten.hardshrink_backward(torch.ones(2).half(), torch.ones(2).half(), 1e10)
torch.ops.aten.softshrink_backward(torch.ones(2).half(), torch.ones(2).half(), 1e10)
torch.var(torch.ones(0), correction=1 + 1j)
torch.std(torch.ones(0, 3) + 0j, correction=complex(1, float('inf')))
torch.bucketize(-32768, torch.tensor(False))
torch.searchsorted(torch.tensor(1), 0)
torch.searchsorted(torch.tensor(1), torch.tensor(0))
torch.bucketize(0, torch.tensor(0, dtype=torch.int8))
torch.poisson(torch.zeros(0, dtype=torch.int32))
torch.ops.aten._standard_gamma(torch.zeros(0, dtype=torch.int32))
torch.ops.aten._dirichlet_grad(torch.zeros(0, 2) + 0j, torch.zeros(0, 2) + 0j, torch.zeros(0, 2) + 0j)
torch.ops.aten.nll_loss_backward(torch.zeros(7, 0), torch.zeros(7, 0), torch.zeros(0, dtype=torch.int64), None, 1, 0, torch.tensor(2.))
torch.binary_cross_entropy_with_logits(torch.ones(2), torch.ones(2), None, torch.ones(2, requires_grad=True))
"""


def lines(text):
    return text.strip().splitlines()


def outcome(t, expression):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(expression, {"torch": t})
        except Exception as problem:
            return type(problem).__name__


def same(expected, actual):
    if isinstance(expected, (list, tuple)):
        return len(expected) == len(actual) and all(map(same, expected, actual))
    if not isinstance(expected, torch.Tensor):
        return expected == actual
    return (str(expected.dtype).rpartition(".")[2] == str(actual.dtype).rpartition(".")[2] and tuple(expected.shape) == tuple(actual.shape) and expected.stride() == actual.stride()
            and torch.allclose(expected.resolve_conj(), torch.tensor(actual.tolist(), dtype=expected.dtype).reshape(expected.shape), 1e-6, 1e-12, equal_nan=True))


@pytest.mark.parametrize("expression", lines(STRIDES) + lines(VALUES))
def test_answers(expression):
    expected, actual = outcome(torch, expression), outcome(kindling, expression)
    assert not isinstance(expected, str) and same(expected, actual), (expected, actual)


@pytest.mark.parametrize("expression", lines(REFUSED))
def test_refusals(expression):
    expected, actual = outcome(torch, expression), outcome(kindling, expression)
    assert isinstance(expected, str) and expected == actual, (expected, actual)


def test_strides_of_mixed_dtypes():
    """An operand of another dtype is converted before the order of the dimensions is read off the operands."""
    def found(t):
        seen = []
        for name, dtype in itertools.product(("ge", "add", "atan2", "logical_and", "maximum", "pow"), ("int32", "bool", "float16", "float32")):
            if (name, dtype) == ("pow", "bool"):
                continue
            a, b = t.ones(32, dtype=getattr(t, dtype)).as_strided((2,) * 5, (0, 2, 0, 1, 0)), t.ones(32).as_strided((2,) * 5, (1, 4, 2, 8, 16))
            narrow = t.ones(2, 1, 2, 1, 2, dtype=getattr(t, dtype))
            pairs = [(a, b), (b, a), (narrow.expand(2, 2, 2, 2, 2), b.contiguous().permute(4, 1, 3, 2, 0)), (narrow, b), (b.permute(1, 0, 4, 3, 2), a)]
            seen += [getattr(t, name)(*pair).stride() for pair in pairs]
        return seen
    assert found(torch) == found(kindling)


@pytest.mark.parametrize("which", range(13))
def test_sparse_conversions(which):
    """Every layout to every other, with and without sizes of blocks and numbers of dense dimensions: what PyTorch refuses, in its words."""
    makers = [lambda t: t.ones(()), lambda t: t.ones(3), lambda t: t.ones(4, 4), lambda t: t.ones(2, 4, 4), lambda t: t.ones(0, 4), lambda t: t.ones(0, 4, 4),
              lambda t: t.ones(2, 0, 4, 4), lambda t: t.ones(4, 4).to_sparse(), lambda t: t.ones(4, 4).to_sparse_csr(), lambda t: t.ones(4, 4).to_sparse_bsr((2, 2)),
              lambda t: t.ones(4, 4, 2).to_sparse(2), lambda t: t.ones(2, 4, 4).to_sparse(), lambda t: t.ones(2, 4, 4).to_sparse_csr()]

    def told(t, layout, blocksize, dense_dim):
        x = makers[which](t)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                x = x.to_sparse(layout=layout and getattr(t, layout), blocksize=blocksize, dense_dim=dense_dim)
            return str(x.layout).partition(".")[2], tuple(x.shape)
        except Exception as problem:
            return type(problem).__name__, str(problem).splitlines()[0].partition(": ")[2].partition(" range")[0]
    for call in itertools.product((None, "strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr"), (None, [], [1], [2, 2], [0, 1], [3, 2], [2, -1], [1, 1, 1]), (None, 0, 1, 2, -1)):
        theirs, ours = told(torch, *call), told(kindling, *call)
        if "IndexError" in (theirs[0], ours[0]):   # of a number PyTorch asks for a dimension that is not there
            assert theirs[0] == ours[0] or which < 2 and ours[0] == "RuntimeError", (call, theirs, ours)
        else:
            assert theirs == ours, call


@pytest.mark.parametrize("name", ["xlogy", "special.xlog1py"])
def test_slope_by_an_integer_in_full_precision(name):
    def slope(t):
        function = t.xlogy if name == "xlogy" else t.special.xlog1py
        x = t.tensor([2.], dtype=t.float64, requires_grad=True)
        return t.autograd.grad(function(x, t.tensor([3], dtype=t.uint16)), x)[0].item()
    assert slope(kindling) == pytest.approx(slope(torch), rel=1e-14)


def test_triangles_of_tall_matrices():
    for rows, columns, diagonal in itertools.product((0, 1, 3, 5), (0, 1, 4, 6), (-7, -2, 0, 1, 3, 9)):
        for name in ("tril_indices", "triu_indices"):
            assert getattr(kindling, name)(rows, columns, diagonal).tolist() == getattr(torch, name)(rows, columns, diagonal).tolist(), (name, rows, columns, diagonal)
    assert kindling.triu_indices(2**40, 2, 1).tolist() == [[0], [1]]


@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
def test_residuals_of_least_squares(driver):
    """gelsy has none, and those of vectors are in columns of one."""
    def found(t, width, device="cpu"):
        A, B = (t.arange(12.).reshape(3, 4, 1) + 1).to(device), t.ones(3, 4, *width).to(device)
        return [x.tolist() for x in t.linalg.lstsq(A, B, driver=driver)]
    for width in ((), (2,)):
        for theirs, ours in zip(found(torch, width), found(kindling, width)):
            theirs, ours = torch.tensor(theirs), torch.tensor(ours)
            assert theirs.shape == ours.shape and torch.allclose(theirs, ours, 1e-4, 1e-4), (theirs, ours)
        for t in (kindling, torch):       # whether there are residuals depends on the rank
            with pytest.raises(NotImplementedError):
                found(t, width, "meta")


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
def test_least_squares_of_what_is_not_finite(driver):
    """NaN are refused as PyTorch's library refuses them, and so are infinite matrices whose singular values are looked for: gelss would never end."""
    for value, place, size, dtype in itertools.product((float("nan"), float("inf")), (0, 1), (2, 3), ("float32", "float64", "complex64")):
        for part in ((), (0, 0)):
            given = [kindling.eye(3, size, dtype=getattr(kindling, dtype)), kindling.ones(3, 1, dtype=getattr(kindling, dtype))]
            given[place][part] = value
            if value != value or driver in ("gelsd", "gelss") and place == 0:
                with pytest.raises(RuntimeError, match=f"torch.linalg.lstsq: Argument {4 + (driver == 'gels') + 2 * place} has illegal value"):
                    kindling.linalg.lstsq(*given, driver=driver)
            elif driver == "gels" and place == 0:      # of full rank or not, as rounding has it
                with contextlib.suppress(kindling.linalg.LinAlgError):
                    kindling.linalg.lstsq(*given, driver=driver)
            else:
                assert kindling.linalg.lstsq(*given, driver=driver).solution.isnan().any()


def test_least_squares_print_nothing(capfd):
    """LAPACK says on stderr what it thinks is wrong with the arguments of its own routines."""
    for driver, rcond, dtype, count in itertools.product(("gelsy", "gelsd", "gelss"), (float("nan"), float("inf"), 0., None), ("float32", "float64", "complex64"), (2, 3, 5)):
        for size in (1e38, 1e-40, 1., 0.):
            A, B = kindling.full((count, count), size, dtype=getattr(kindling, dtype)), kindling.ones(count, 1, dtype=getattr(kindling, dtype))
            found = kindling.linalg.lstsq(A, B, rcond=rcond, driver=driver)
            assert not found.singular_values.isnan().any()
    for rows in (torch, kindling):     # NaN keeps every value that is none
        found = rows.linalg.lstsq(rows.tensor([[3., 0.], [0., 1e-6]]), rows.ones(2, 1), rcond=float("nan"), driver="gelsd")
        assert found.rank == 2 and found.solution.flatten().tolist() == pytest.approx([1 / 3, 1e6])
    out, err = capfd.readouterr()
    assert "On entry to" not in out + err


def test_permutations_have_the_batch_of_the_matrices():
    P, L, U = kindling.lu_unpack(kindling.eye(3).repeat(1, 2, 1, 1), kindling.tensor([2, 3, 3], dtype=kindling.int32))
    assert P.shape == L.shape == U.shape and P[0, 1].tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "bfloat16", "int64"])
@pytest.mark.parametrize("size", [2, 20])
def test_products_that_alpha_takes_away(dtype, size):
    """BLAS does not look at matrices whose product is multiplied by 0: their NaN do not matter. Other loops do."""
    def found(t):
        ones = t.ones(size, size, dtype=getattr(t, dtype))
        none = t.full((size, size), float("nan") if dtype != "int64" else 1).to(getattr(t, dtype))
        results = [t.addmm(ones, none, ones, alpha=0), t.addmm(ones, none, ones, alpha=0, beta=0), t.addmv(ones[0], none, ones[0], alpha=0),
                   t.baddbmm(ones[None], none[None], ones[None], alpha=0), t.addbmm(ones, none[None], ones[None], alpha=0)]
        # On processors without instructions for it, torch's small batched products of bfloat16 are a loop of its own.
        if dtype == "bfloat16" and not torch.ops.mkldnn._is_mkldnn_bf16_supported():
            del results[3]
        return [str(x.sum().item()) for x in results]
    theirs, ours = found(torch), found(kindling)
    if dtype == "bfloat16" and not torch.ops.mkldnn._is_mkldnn_bf16_supported():   # without AVX-512 PyTorch's batches are a loop of its own
        theirs[3] = ours[3]
    assert theirs == ours


def test_gradient_of_singular_values_without_vectors():
    def found(t):
        x = (t.arange(12., dtype=t.float64).reshape(3, 4) ** 2 * 0.7).sin().requires_grad_()
        return [t.autograd.grad(values.sum(), x)[0].tolist() for values in (t.svd(x, compute_uv=False)[1], t.svd(x, True, False).S, x.svd(compute_uv=False).S, t.linalg.svdvals(x))]
    for theirs, ours in zip(found(torch), found(kindling)):
        assert torch.allclose(torch.tensor(theirs), torch.tensor(ours), 1e-6, 1e-9)
    for t in (torch, kindling):    # what has no vectors has no gradient
        x = t.eye(3, requires_grad=True)
        for call, error in ((lambda: t.ops.aten._linalg_eigh(x, "L", False)[0], RuntimeError), (lambda: t.ops.aten._linalg_svd(x, False, False)[1], RuntimeError),
                            (lambda: t.ops.aten._linalg_svd(x, True, False)[1], IndexError)):
            with pytest.raises(error):
                call().sum().backward()


@pytest.mark.parametrize("name", ["rnn_tanh_cell", "rnn_relu_cell", "gru_cell", "lstm_cell"])
def test_cells_take_one_step(name):
    for t in (torch, kindling):
        state = t.zeros(3, 3) if name != "lstm_cell" else (t.zeros(3, 3), t.zeros(3, 3))
        gates = {"gru_cell": 9, "lstm_cell": 12}.get(name, 3)
        with pytest.raises(RuntimeError):
            getattr(t, name)(t.zeros(3, 3, 3), state, t.ones(gates, 3), t.ones(gates, 3))


def test_triangles_without_rows_or_columns():
    most = 2**63 - 1
    for name, (rows, columns), diagonal in itertools.product(("tril_indices", "triu_indices"), ((most, 0), (0, most), (0, 0), (2**62, 0)), (-most - 1, -1, 0, 1, most)):
        assert tuple(getattr(kindling, name)(rows, columns, diagonal).shape) == (2, 0), (name, rows, columns, diagonal)


@pytest.mark.parametrize("name", ["sgd", "adam", "adamw", "adagrad"])
@pytest.mark.parametrize("which", ["grad_scale", "found_inf"])
def test_scale_of_fused_optimizers_is_float(name, which):
    def step(t, dtype):
        given = dict(lr=.1, weight_decay=0., maximize=False, **{which: t.zeros((), dtype=getattr(t, dtype)) + (which == "grad_scale")})
        p, one = [t.ones(3)], [t.ones(3)]
        try:
            if name == "sgd":
                t.ops.aten._fused_sgd_(p, one, [], momentum=0., dampening=0., nesterov=False, is_first_step=False, **given)
            elif name == "adagrad":
                t.ops.aten._fused_adagrad_(p, one, [t.zeros(3)], [t.tensor(1.)], lr_decay=0., eps=1e-8, **given)
            else:
                getattr(t.ops.aten, f"_fused_{name}_")(p, one, [t.zeros(3)], [t.zeros(3)], [], [t.tensor(1.)], beta1=.9, beta2=.9, eps=1e-8, amsgrad=False, **given)
        except RuntimeError as problem:
            return str(problem)
        return p[0].tolist()
    for dtype in ("float32", "float64", "int64", "bfloat16", "bool"):
        theirs, ours = step(torch, dtype), step(kindling, dtype)
        assert theirs == ours if isinstance(theirs, str) else ours == pytest.approx(theirs), dtype


@pytest.mark.parametrize("word", [[[1]], {}, ("sum",), 3, None, "none of them"], ids=str)
def test_words_that_have_no_hash(word):
    """What is looked up in a table of words is refused as any other word is."""
    def refusals(t):
        F, one = t.nn.functional, t.ones(1, 1, 2, 2)
        for call in (lambda: F.embedding_bag(t.tensor([0]), t.ones(2, 2), t.tensor([0]), mode=word), lambda: F.mse_loss(one, one, reduction=word),
                     lambda: F.cross_entropy(t.ones(1, 1), t.tensor([0]), reduction=word), lambda: F.interpolate(one, 3, mode=word),
                     lambda: F.grid_sample(one, one, mode=word, align_corners=False), lambda: F.grid_sample(one, one, padding_mode=word, align_corners=False),
                     lambda: t.nn.init.calculate_gain(word), lambda: t.cdist(t.ones(1, 1), t.ones(1, 1), compute_mode=word),
                     lambda: t.meshgrid(t.ones(1), indexing=word), lambda: t.nn.RNN(1, 1, nonlinearity=word)):
            try:
                call()
                yield None
            except Exception as problem:
                yield type(problem).__name__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert list(refusals(torch)) == list(refusals(kindling))


def test_weight_of_one_point_is_a_number():
    def found(t):
        counts, edges = t.histogramdd(t.tensor([[.5]]), 2, weight=t.tensor(3.))
        return counts.tolist(), [x.tolist() for x in edges]
    assert found(torch) == found(kindling)
    for t in (torch, kindling):
        with pytest.raises(RuntimeError, match="same shape"):
            t.histogramdd(t.ones(2, 1), 2, weight=t.tensor(3.))


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "bool", "float32", "int64", "bfloat16"])
def test_index_reduce_refuses_what_has_no_kernel(dtype):
    def found(t):
        for reduce, (rows, count), width in itertools.product(("mean", "prod", "amax", "amin"), ((0, 0), (2, 0), (2, 1), (1, 1)), ((), (2,), (0,))):
            x, index, source = t.ones(rows, *width, dtype=getattr(t, dtype)), t.zeros(count, *width, dtype=t.long), t.ones(count, *width, dtype=getattr(t, dtype))
            for call in (lambda: x.index_reduce(0, t.zeros(count, dtype=t.long), source, reduce), lambda: x.scatter_reduce(0, index, source, reduce)):
                try:
                    yield call().tolist()
                except Exception as problem:
                    yield type(problem).__name__
    warnings.simplefilter("ignore")
    assert list(found(torch)) == list(found(kindling))


def test_masked_index_of_nothing():
    """Nothing is read of a tensor without elements, whatever the indices are."""
    def found(t):
        for size, mask, indices in (((0,), 0, [5]), ((0,), 2, [[0, 1]]), ((0,), 1, [[2**62]]), ((3, 0), 2, [None, [0, 1]]), ((3, 0), 2, [[0, 1]])):
            x = t.ops.aten._unsafe_masked_index(t.zeros(size), t.zeros(mask, dtype=t.bool), [None if each is None else t.tensor(each) for each in indices], 7)
            yield tuple(x.shape), x.tolist()
    assert list(found(torch)) == list(found(kindling))


@pytest.mark.filterwarnings("ignore")
def test_values_of_a_sparse_tensor_have_its_sizes():
    """Also where no place is checked."""
    def found(t):
        for places, values, size in (((0, 2), (2, 2, 2, 3), [3, 0, 3]), ((0, 2), (2, 3, 0, 3), [3, 0, 3]), ((0, 0), (0, 3), [3]), ((0, 0), (0, 2), [3]), ((1, 2), (2, 4), [3, 4]),
                                     ((1, 2), (2, 5), [3, 4]), ((1, 0), (0, 5), [3, 4]), ((2, 0), (0,), [0, 4]), ((0, 2), (2, 5), [3]), ((1, 2), (3, 4), [3, 4])):
            for make in (t.ops.aten._sparse_coo_tensor_unsafe, lambda *given: t.sparse_coo_tensor(*given, check_invariants=False), t.sparse_coo_tensor):
                try:
                    yield tuple(make(t.zeros(places, dtype=t.long), t.zeros(values), size).shape)
                except RuntimeError as problem:
                    yield str(problem)
    assert list(found(torch)) == list(found(kindling))


def test_offsets_of_bags_have_one_dimension():
    for indices, offsets in itertools.product(((4,), (4, 2), (0, 2)), ((2, 2), (0, 2), ())):
        errors = []
        for t in (torch, kindling):
            with pytest.raises((RuntimeError, IndexError)) as caught:
                t.ops.aten._embedding_bag(t.zeros(3, 2), t.zeros(indices, dtype=t.long), t.zeros(offsets, dtype=t.long))
            errors.append(caught.type)
        assert errors[0] is errors[1], (indices, offsets)


@pytest.mark.parametrize("name", ["fmod", "remainder"])
def test_second_slope_of_a_remainder(name):
    """The quotient is whole, so its slope is 0, also where it is infinite."""
    def found(t):
        for x in (t.tensor(True), t.tensor(3), t.tensor(1.5), t.tensor(-1.5, requires_grad=True)):
            y = t.tensor([-0.0, 0., 2., -2.], requires_grad=True)
            g, = t.autograd.grad(getattr(t, name)(x, y).sum(), y, create_graph=True)
            yield g.tolist(), t.autograd.grad(g.sum(), y)[0].tolist()
    assert list(found(torch)) == list(found(kindling))


def test_windows_of_avg_pool3d_are_no_larger_than_the_image():
    def found(t):
        for size, kernel, padding, ceil in itertools.product((3, 4), (4, 5), (0, 2), (False, True)):
            for batch in ((), (1,)):
                try:
                    yield tuple(t.nn.functional.avg_pool3d(t.ones(*batch, 1, size, size, 5), (kernel, 1, 2), 1, (padding, 0, 0), ceil).shape)
                except RuntimeError:
                    yield "refused"
    assert list(found(torch)) == list(found(kindling))


@pytest.mark.parametrize("dims", [1., "a", None, {}, 1, -1, ([0], [0]), 3])
def test_tensordot_refuses_what_are_no_dimensions(dims):
    def found(t):
        try:
            return t.tensordot(t.ones(2, 2), t.ones(2, 2), dims).tolist()
        except Exception as problem:
            return type(problem).__name__
    assert found(torch) == found(kindling)


def test_targets_have_the_names_of_pytorch():
    """Of every overload with `out` that both have, in torch.ops, where targets go by name."""
    seen = 0
    for name in dir(kindling.ops.aten):
        packet = getattr(kindling.ops.aten, name)
        theirs = {schema.overload_name: [each.name for each in schema.arguments if each.is_out] for schema in torch._C._jit_get_schemas_for_operator(f"aten::{name}")}
        for overload in packet.overloads():
            ours = [each.name for each in getattr(packet, overload)._schema.arguments if each.is_out]
            if ours and theirs.get(overload):
                assert ours == theirs[overload] or len(ours) == 1, (name, overload)
                seen += len(ours) > 1
    assert seen > 20


def test_targets_by_name():
    def found(t):
        x, empty = t.arange(24.).reshape(2, 3, 4), lambda: t.empty(0)
        y = t.ops.aten._native_batch_norm_legit.no_stats_out(x, None, None, True, .1, 1e-5, out=empty(), save_mean=empty(), save_invstd=empty())
        z = t.ops.aten.max_pool2d_with_indices.out(x, [2, 2], out=empty(), indices=t.empty(0, dtype=t.int64))
        return [each.tolist() for each in (*y, *z)]
    for one, other in zip(found(torch), found(kindling)):
        assert torch.allclose(torch.tensor(one), torch.tensor(other), atol=1e-5)


@pytest.mark.parametrize("one, other", itertools.permutations(["float16", "bfloat16", "float32", "float64"], 2))
def test_cosines_of_two_dtypes(one, other):
    """Lengths and quotients are each in the dtype of its vector."""
    def found(t):
        x, y = (t.linspace(-1, 2, 12).reshape(3, 4) * scale for scale in (1, -1.3))
        result = t.cosine_similarity(x.to(getattr(t, one)), y.flip(0).to(getattr(t, other)), eps=.3)
        return str(result.dtype).rpartition(".")[2], result.double().tolist()
    (dtype, theirs), (our_dtype, ours) = found(torch), found(kindling)
    assert dtype == our_dtype and torch.allclose(torch.tensor(theirs), torch.tensor(ours), atol=1e-6)


@pytest.mark.parametrize("name", ["add", "mul", "div"])
def test_a_tensor_of_no_dimension_is_no_number_in_torch_ops(name):
    def found(t):
        lists = [t.ones(2, dtype=t.int32), t.ones(2, dtype=t.float16)], [t.ones((), dtype=t.int32)]
        return [[str(x.dtype).rpartition(".")[2] for x in call(xs, t.tensor(2.5, dtype=t.float64))] for xs in lists for call in (
            getattr(t.ops.aten, f"_foreach_{name}"), getattr(t, f"_foreach_{name}"))]
    assert found(torch) == found(kindling)


def test_the_norm_of_a_complex_number_with_an_infinite_part():
    """It is infinite, also where the other part is NaN."""
    def found(t):
        nan, infinite = float("nan"), float("inf")
        for z in (complex(nan, infinite), complex(infinite, nan), complex(nan, 1), complex(-infinite, infinite)):
            for p in (1, 2, 3, infinite):
                yield repr(t.linalg.vector_norm(t.tensor([z, 1, 2j]), p).item())
    assert list(found(torch)) == list(found(kindling))


@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64"])
def test_dropout_looks_at_its_probability_first(dtype):
    for t in (torch, kindling):
        with pytest.raises(RuntimeError, match="expects p to be in"):
            t.native_dropout(t.ones(3, dtype=getattr(t, dtype)), -1., True)


@pytest.mark.parametrize("size, index", [([0, 0], -3), ([0, 3], 0), ([2, 0], 9)])
def test_nothing_is_put_back_into_an_output_without_elements(size, index):
    for t in (torch, kindling):
        for kind, x, more in (("2d", t.ones(1, 2, 2), ()), ("3d", t.ones(1, 1, 2, 2), ([1, 1, 1], [0, 0, 0]))):
            sizes = size if kind == "2d" else [1, *size]
            out = getattr(t.ops.aten, f"max_unpool{kind}")(x, t.full(x.shape, index), sizes, *more)
            assert out.shape == (1, *sizes)
            with pytest.raises(RuntimeError):   # with elements it is looked at
                getattr(t.ops.aten, f"max_unpool{kind}")(x, t.full(x.shape, 9), [1] * len(sizes), *more)
    x = kindling.ones(1, 2, 2, requires_grad=True)
    assert not kindling.autograd.grad(kindling.ops.aten.max_unpool2d(x, kindling.full((1, 2, 2), index), size).sum(), x)[0].any()


@pytest.mark.parametrize("draw", ["t._standard_gamma(a)", "t._standard_gamma(a).log()", "t.distributions.Gamma(a, 1.).rsample()", "t.distributions.Dirichlet(a).rsample()", "t.distributions.Beta(a, 2.).rsample()"])
def test_random_numbers_have_no_second_slope_by_their_parameters(draw):
    """What it would be is not known; it must not be left out."""
    for t in (torch, kindling):
        a = t.tensor([1.5, 2.], requires_grad=True)
        slope, = t.autograd.grad(eval(draw)[0].pow(2), a, create_graph=True)
        with pytest.raises((NotImplementedError, RuntimeError), match="derivative for .* is not implemented|once_differentiable|have been used in the graph|not have been used"):
            t.autograd.grad(slope.sum(), a)


def warned(t, line):
    """The beginnings of the warnings of a line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        eval(line, {"t": t, "x": t.ones(2)})
    return [str(each.message)[:34] for each in caught]


@pytest.mark.parametrize("line", [f"t.{call}, out=x)" for call in (
    "zeros(3", "ones((3,)", "full((3,), 1.", "empty(3", "eye(3", "linspace(0, 1, 3", "logspace(0, 1, 3", "rand(3", "randn(3", "randint(5, (3,)", "randperm(3", "normal(0., 1., (3,)",
    "linspace(t.tensor(0.), 1, 3", "add(t.ones(3), 1", "cat([t.ones(3)]", "cumsum(t.ones(3), 0", "nan_to_num(t.ones(3)")])
def test_factories_resize_their_targets_without_a_word(line):
    assert warned(torch, line) == warned(kindling, line)


@pytest.mark.parametrize("line", ["t.ones(1).std()", "t.var(t.zeros(0))", "t.var(t.ones(2, 1), 1)", "t.var(t.ones(0, 2), 1)", "t.var(t.ones(2), correction=2)", "t.var(t.ones(2), correction=1.5)",
                                  "t.std(t.ones(1) + 0j)", "t.var_mean(t.ones(1))", "t.std_mean(t.ones(2, 1), 1)", "t.std(t.ones(1), unbiased=False)", "t.std(t.ones(1, device='meta'))",
                                  "t.var(t.ones(1), dim=0, out=t.empty(()))", "t.nn.functional.batch_norm(t.ones(2, 1), None, None, training=True)",
                                  "t.cov(t.ones(3, 1))", "t.ones(3, 0).cov()", "t.ones(3, 1).corrcoef()", "t.cov(t.ones(3, 4), correction=5)", "t.cov(t.ones(3, 4), fweights=t.tensor([1, 0, 0, 0]))",
                                  "t.cov(t.ones(3, 4), aweights=t.tensor([1., 0, 0, 0]))", "t.cov(t.ones(3, 4))", "t.cov(t.ones(3, 1), correction=0)"])
def test_deviations_of_too_few_numbers_warn(line):
    theirs, ours = warned(torch, line), warned(kindling, line)
    assert bool(theirs) == bool(ours) and set(ours) <= {"std(): degrees of freedom is <= 0.", "var(): degrees of freedom is <= 0.", "var_mean(): degrees of freedom is ", "std_mean(): degrees of freedom is ", "cov(): degrees of freedom is <= 0."}, (theirs, ours)


@pytest.mark.parametrize("line", ["t.zeros(1, dtype=t.int32, requires_grad=True)", "t.tensor([1], requires_grad=True)", "t.ones(1).int().requires_grad_()", "t.empty_like(x.bool(), requires_grad=True)",
                                  "setattr(x.long(), 'requires_grad', True)", "t.nn.Parameter(x.int())", "t.arange(3, requires_grad=True)", "x.new_tensor([1], dtype=t.int8, requires_grad=True)"])
def test_what_cannot_require_gradients_says_so_alike(line):
    said = []
    for t in (torch, kindling):
        with pytest.raises(RuntimeError) as caught:
            eval(line, {"t": t, "x": t.ones(2)})
        said.append(str(caught.value).lower())
    assert said[0] == said[1]


@pytest.mark.parametrize("line", ["t.fft.fftfreq(2**63 - 1)", "t.fft.rfftfreq(2**63 - 1)", "t.fft.fftfreq(2**63 - 1, device='meta')"])
def test_as_many_frequencies_as_there_are_integers(line):
    """Halves of that number are sizes; what is refused is their memory."""
    for t in (torch, kindling):
        with pytest.raises(RuntimeError):
            eval(line)
    assert kindling.fft.fftfreq(5).tolist() == torch.fft.fftfreq(5).tolist() and kindling.fft.ifftshift(kindling.arange(5)).tolist() == torch.fft.ifftshift(torch.arange(5)).tolist()


@pytest.mark.parametrize("offsets, lengths, axis", [([1, 3], None, 0), ([0, 2, 4], None, 0), ([0, 1, 4], [2, 2], 0), ([2, 2, 3], None, 0), ([], None, 0), ([[0, 1], [1, 3]], None, 1), ([[1, 2], [0, 2]], [[2], [2]], 1), (None, [1, 3], 0)])
def test_segments_lie_where_offsets_say(offsets, lengths, axis):
    """Also where the first one is not 0, and where lengths are given as well."""
    found = []
    for t in (torch, kindling):
        data = t.arange(8.).reshape(4, 2) if axis == 0 else t.arange(6.).reshape(2, 3)
        given = {name: t.tensor(value, dtype=t.int64) for name, value in (("offsets", offsets), ("lengths", lengths)) if value is not None}
        try:
            found.append([t.segment_reduce(data, reduce, axis=axis, **given).tolist() for reduce in ("sum", "max", "prod")])
        except RuntimeError as problem:
            found.append(type(problem))
    assert found[0] == found[1]


def test_limits_of_dtypes_that_cannot_be_compared():
    """clamp's gradient asks nothing of limits that have none."""
    grads = []
    for module in (torch, kindling):
        x = module.tensor([0.5, 3.0], requires_grad=True)
        module.clamp(x, module.tensor([True, False]), module.tensor([1, 2], dtype=module.uint64)).sum().backward()
        low = module.tensor([1.0, 2.0], requires_grad=True)
        module.clamp(x.detach(), low, module.tensor([3, 4], dtype=module.uint64)).sum().backward()
        grads.append((x.grad.tolist(), low.grad.tolist()))
    assert grads[0] == grads[1]


@pytest.mark.parametrize("write", [lambda a, v: a * v, lambda a, v: a.dot(v), lambda a, v: a.mv(v) if a.dim() > 1 else a.matmul(v), lambda a, v: a.addcmul(a, v), lambda a, v: a.clone().mul_(v)],
                         ids=["mul", "dot", "matmul", "addcmul", "mul_"])
def test_what_leads_nowhere_keeps_nothing(write):
    """A view that nobody recorded requires grad, but there is nowhere to go: what it meets may be written to."""
    for t in (torch, kindling):
        base = t.ones(3, requires_grad=True) * 1
        with t.no_grad():
            view = base[:2]
        other = t.ones(2)
        result = write(other, view)
        assert view.requires_grad and result.requires_grad
        other.add_(1)
        result.sum().backward()


def test_nothing_is_kept_of_a_view_beside_one_with_a_gradient():
    """Where one operand has a gradient and the other leads nowhere, only what the one needs is kept."""
    for t in (torch, kindling):
        base, weight = t.ones(3, requires_grad=True) * 1, t.ones(2, requires_grad=True)
        with t.no_grad():
            view = base[:2]
        other = weight * 2
        result = other * view
        other.detach().add_(1)
        assert t.autograd.grad(result.sum(), weight)[0].tolist() == [2, 2]


@pytest.mark.parametrize("offset", [0, 1, 2, 4])
@pytest.mark.parametrize("size", [[], [1], [2], [0]])
def test_set_counts_from_where_the_source_begins(offset, size):
    found = []
    for t in (torch, kindling):
        source, x = t.arange(3, dtype=t.int32)[1:2], t.tensor(1, dtype=t.int32)
        try:
            x.set_(source, offset, size)
            found.append((x.storage_offset(), tuple(x.shape), source.untyped_storage().nbytes()))
        except RuntimeError as problem:
            found.append(type(problem))
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "bfloat16", "complex64"])
@pytest.mark.parametrize("spacing", [1, 2.5, 1e308, 1e308 - 1e308j, 1 - 1e308j])
@pytest.mark.parametrize("order", [1, 2])
def test_gradient_of_far_points(dtype, spacing, order):
    """Twice a distance may be more than a number holds."""
    results = []
    for t in (torch, kindling):
        x = t.tensor([100, -50, 3, 90, -7, 5]).to(getattr(t, dtype))
        x = x * 1e306 if dtype == "float64" else x
        try:
            result, = t.gradient(x, spacing=spacing, edge_order=order)
            results.append((str(result.dtype).rpartition(".")[2], [repr(number) for number in result.tolist()] if dtype == "bfloat16" else result.tolist()))
        except RuntimeError as problem:
            results.append((type(problem), []))
    assert results[0][0] == results[1][0]
    for one, other in zip(results[0][1], results[1][1]):
        assert one == other or abs(one - other) <= 1e-6 * abs(one) or str(one) == str(other)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 0.0, -2.0])
@pytest.mark.parametrize("power", [1, 2, 3])
def test_slope_of_norms_of_single_numbers(number, power):
    slopes = []
    for t in (torch, kindling):
        x = t.tensor([0.5, number], requires_grad=True)
        value = t.norm_except_dim(x, power, 0)
        slopes.append([*map(str, value.tolist()), *map(str, (t.autograd.grad(value.sum(), x)[0] + 0).tolist())])
    assert slopes[0] == slopes[1]


@pytest.mark.parametrize("repeats", [3, [3], [1, 2]])
@pytest.mark.parametrize("dim", [0, 1])
def test_repeats_in_a_tensor_keep_lazy_bits(repeats, dim):
    for lazy in (lambda t: t._neg_view(t.arange(4.0).view(2, 2)), lambda t: (t.arange(4.0) + 1j).view(2, 2).conj()):
        seen = []
        for t in (torch, kindling):
            result = t.repeat_interleave(lazy(t), t.tensor(repeats), dim)
            seen.append((result.is_neg(), result.is_conj(), result.resolve_neg().resolve_conj().tolist()))
        assert seen[0] == seen[1] and (seen[0][0] or seen[0][1])


@pytest.mark.parametrize("line", ["t.tensordot(1.5, t.ones(1), t.ones(1, 1, dtype=t.int64))", "t.tensordot('a', t.ones(2))", "t.tensordot(t.ones(2), t.ones(2), t.tensor(3))", "t.meshgrid(1.5)", "t.meshgrid(t.ones(2), 1)",
                                  "t.meshgrid(None)", "t.broadcast_shapes(1.5)", "t.broadcast_shapes((2,), {2})", "t.broadcast_shapes((1.5,))", "t.nn.functional.embedding(t.tensor(1), 1.5, 'a')",
                                  "t.autograd.grad(t._dirichlet_grad(x.requires_grad_(), t.ones(2), t.ones(2) * 3).sum(), x)"])
def test_classes_of_what_is_no_tensor(line):
    """Refused as PyTorch refuses it, and not by what the number lacks."""
    classes = []
    for t in (torch, kindling):
        with pytest.raises(Exception) as caught, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            eval(line, {"t": t, "x": t.full((2,), 0.5)})
        classes.append(caught.type)
    assert classes[0] is classes[1]


def test_lu_of_a_singular_matrix():
    """torch.lu gives the factors, whether one asks for what went wrong or not."""
    for line in ("t.lu(t.ones(2, 2))", "t.ones(2, 2).lu()", "t.lu(t.zeros(3, 2, 2))", "t.lu(t.ones(2, 2), get_infos=True)"):
        one, other = (eval(line, {"t": t}) for t in (torch, kindling))
        assert [x.tolist() for x in one] == [x.tolist() for x in other]
    assert kindling.broadcast_shapes(None, (2,)) == torch.broadcast_shapes(None, (2,)) and kindling.tensordot(kindling.ones(2, 2), kindling.ones(2, 2), kindling.tensor(1)).tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize("number, weight", [(65535.0, 2.2557907104492188), (65535.0, 0.1), (0.001, 1.7), (math.inf, 2.0), (3.0, 12345.6)])
def test_covariance_of_one_weighted_number(number, weight):
    """Nothing over nothing, whatever rounding leaves of the number less its mean."""
    for t in (torch, kindling):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = [t.cov(t.tensor([number]), aweights=t.tensor([weight])), t.cov(t.tensor([[number], [number]]), aweights=t.tensor([weight]))]
        assert all(x.isnan().all() for x in result)


@pytest.mark.parametrize("line", ["t._sample_dirichlet(x)", "t.binomial(x, x)", "t.binomial(t.ones(2, 2), x)", "t.binomial(x, t.ones(2, 2))", "t.ops.aten._linalg_eigvals(x).abs()", "t.hspmm(sparse, x)",
                                  "t.hspmm(sparse.requires_grad_(), t.ones(2, 2))", "t.sspaddmm(sparse, sparse, x)"])
def test_what_has_no_formula_refuses_in_backward(line):
    """And is not taken for a constant."""
    for t in (torch, kindling):
        result = eval(line, {"t": t, "x": t.full((2, 2), 0.5, requires_grad=True), "sparse": t.eye(2).to_sparse()})
        assert result.requires_grad
        with pytest.raises(RuntimeError, match="derivative for .* is not implemented"):
            result.sum().backward()


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (1, 2, 3, 4)])
@pytest.mark.parametrize("bad", [0.0, math.nan, math.inf])
@pytest.mark.parametrize("mask", ["bool", "float", "causal", None])
def test_attention_adds_its_mask(shape, bad, mask):
    """A masked place whose score is NaN makes its row NaN; a row that attends to nothing is 0, and so is its gradient."""
    def found(t):
        q, k, v = (((t.arange(float(math.prod(shape))) * step) % 1.7 - 0.6).reshape(shape) for step in (0.37, 0.51, 0.77))
        k[..., -1, 0] = bad
        allowed = t.tensor([[True, False, False], [False] * 3, [True, True, False]])
        given = {"bool": allowed, "float": t.where(allowed, 0.5, -math.inf)}.get(mask)
        leaves = [x.requires_grad_() for x in (q, k, v)]
        result = t.nn.functional.scaled_dot_product_attention(*leaves, attn_mask=given, is_causal=mask == "causal")
        return [x.tolist() for x in (result, *t.autograd.grad(result.sum(), leaves))]
    for theirs, ours in zip(found(torch), found(kindling)):
        assert torch.allclose(torch.tensor(theirs), torch.tensor(ours), 1e-4, 1e-5, equal_nan=True), (theirs, ours)


def test_second_slope_of_attention_to_nothing():
    """Rows that attend to nothing are constants."""
    q, k, v = (kindling.rand(1, 1, 3, 2, dtype=kindling.float64, requires_grad=True) for _ in range(3))
    mask = kindling.tensor([[True, False, False], [False] * 3, [True, True, False]])
    kindling.autograd.gradgradcheck(lambda *args: kindling.nn.functional.scaled_dot_product_attention(*args, attn_mask=mask), (q, k, v))


def test_tangents_of_lazy_tensors_lie_as_these():
    for t in (torch, kindling):
        x = t._neg_view(t.arange(9.0)).as_strided((2, 2), (4, 2), 1)
        result = t.ops.aten._new_zeros_with_same_feature_meta(t.ones(2, 2), x)
        assert result.stride() == (4, 2) and result.storage_offset() == 1 and not result.is_neg() and not result.any()


@pytest.mark.parametrize("dim, strides", [(1, (7, 8, 9)), (1, (3, 0, 1)), (2, (1, 1, 9))])
def test_an_unusual_stride_of_one_element_is_filled(dim, strides):
    """PyTorch divides by it, and leaves the target as it was."""
    out = kindling.zeros(9).as_strided((1, 1, 1), strides)
    assert kindling.cat([kindling.full((1, 1, 1), 5.0)], dim, out=out) is out and out.item() == 5


@pytest.mark.parametrize("size", [0, 2, 30])
def test_set_refuses_in_backward_by_its_source_too(size):
    for t in (torch, kindling):
        x = t.ones(3, 2, requires_grad=True)
        for source in (x, x * 1):
            result = t.zeros(size).set_(source)
            assert result.requires_grad
            with pytest.raises(RuntimeError, match="derivative for set_ is not implemented"):
                t.autograd.grad(result.sum(), x, allow_unused=True)


@pytest.mark.parametrize("mode, shape, pad", [("circular", (1, 4, 2), (-2, 0)), ("circular", (1, 4, 2), (-1, -1)), ("circular", (1, 1, 2, 3), (0, 0, -1, -1)),
                                              ("reflect", (1, 2, 3), (-3, 0, 0, 0)), ("replicate", (1, 2, 3), (0, 0, -1, -1)), ("replicate", (1, 2, 3, 4), (0, 0, -3, 0, 0, 0))])
def test_gradient_of_a_padding_that_leaves_nothing(mode, shape, pad):
    for t in (torch, kindling):
        x = t.ones(shape, requires_grad=True)
        try:
            result = t.nn.functional.pad(x, pad, mode)
        except (RuntimeError, NotImplementedError):
            assert t is torch   # some kernels of PyTorch's take no such thing
            continue
        slope, = t.autograd.grad(result.sum(), x)
        assert not result.numel() and slope.shape == x.shape and not slope.any()


@pytest.mark.parametrize("weight", [None, [1.0, 2, 3]])
@pytest.mark.parametrize("loss, smoothing", [("nll_loss", {}), ("cross_entropy", {}), ("cross_entropy", {"label_smoothing": 0.1})])
def test_no_gradient_where_all_targets_are_ignored(loss, smoothing, weight):
    """The mean of none is NaN, and nothing goes back."""
    for shape, target in (((2, 3), [1, 1]), ((3,), 1), ((1, 3, 2), [[1, 1]])):
        x = kindling.ones(shape, requires_grad=True)
        value = getattr(kindling.nn.functional, loss)(x, kindling.tensor(target), weight and kindling.tensor(weight), ignore_index=1, **smoothing)
        slope, = kindling.autograd.grad(value, x)
        assert value.isnan() and slope.eq(0).all()


@pytest.mark.parametrize("dtype, number", [("float16", 1e-4), ("bfloat16", 1e-30), ("float32", 1e-30), ("float64", 1e-170), ("float64", 0)])
def test_slope_of_sinc_where_squares_are_zero(dtype, number):
    for t in (torch, kindling):
        x = t.tensor(number, dtype=getattr(t, dtype), requires_grad=True)
        assert t.autograd.grad(t.sinc(x), x, t.tensor(math.inf, dtype=x.dtype))[0] == 0


@pytest.mark.parametrize("driver", ["gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("one, other", [((1, 3, 2), (5, 3, 1)), ((1, 4, 2, 3), (5, 1, 2, 1)), ((1, 1, 1, 4), (4, 1, 1, 1)), ((5, 3, 2), (1, 3, 1)), ((1, 2, 0), (5, 2, 1))])
def test_ranks_are_those_of_the_matrices(driver, one, other):
    """Of one that is broadcast there is one, with its singular values."""
    expected, actual = (t.linalg.lstsq(t.ones(one), t.ones(other), driver=driver) for t in (torch, kindling))
    assert [tuple(x.shape) for x in actual] == [tuple(x.shape) for x in expected] and actual.rank.tolist() == expected.rank.tolist()


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("layout", ["contiguous_format", "channels_last"])
@pytest.mark.parametrize("shape", [(2, 3, 2, 2), (16, 4, 16, 16)])
def test_batch_norm_of_a_constant_channel_where_eps_is_0(shape, layout, affine):
    """1 / deviation is 0 there: the result is the bias, and nothing goes back."""
    data = torch.linspace(-1, 1, math.prod(shape), dtype=torch.float64).reshape(shape)
    data[:, 1] = 2
    found = []
    for t in (torch, kindling):
        x = t.tensor(data.tolist(), dtype=t.float64).contiguous(memory_format=getattr(t, layout)).requires_grad_()
        weight, bias = ((t.arange(start, start + shape[1], dtype=t.float64).requires_grad_() for start in (1.0, 0.0)) if affine else (None, None))
        result, mean, rstd = t.native_batch_norm(x, weight, bias, None, None, True, 0.1, 0.0)
        slopes = t.autograd.grad(result.pow(3).sum() + result[:, 1].sum(), [each for each in (x, weight, bias) if each is not None], create_graph=True)
        second, = t.autograd.grad(slopes[0].square().sum(), x)
        found.append([each.detach().tolist() for each in (result, mean, rstd, *slopes, second)])
    for theirs, ours in zip(*found):
        torch.testing.assert_close(torch.tensor(ours), torch.tensor(theirs), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("number", [0.0, 2.0, 1j])
def test_slope_of_the_determinant_of_one_number(number):
    for t in (torch, kindling):
        x = t.tensor([[[number]], [[3 + number]]], requires_grad=True)
        value = t.linalg.det(x)
        slope, = t.autograd.grad(value, x, t.full_like(value, 2))
        assert slope.tolist() == [[[2]], [[2]]]


def test_slopes_of_hardswish_at_infinities():
    for t in (torch, kindling):
        x = t.tensor([math.inf, -math.inf, 4, 1], requires_grad=True)
        grad = t.ones(4, requires_grad=True)
        assert t.autograd.grad(t.ops.aten.hardswish_backward(grad, x).sum(), grad)[0].tolist()[:3] == [1, 0, 1]


@pytest.mark.parametrize("name", ["amin", "amax"])
def test_gradient_shared_by_more_than_a_half_holds(name):
    for t in (torch, kindling):
        x = t.zeros(300, 300, dtype=t.float16, requires_grad=True)
        assert t.autograd.grad(getattr(t, name)(x), x)[0].unique().tolist() == [t.tensor(1 / 90000, dtype=t.float16).item()]


@pytest.mark.parametrize("types", itertools.product(("int64", "uint8", "float32", "bfloat16"), ("int64", "int16", "float64")), ids="-".join)
def test_isin_of_many(types):
    """Among as many as this the test elements are sorted, and no number is compared with each."""
    torch.manual_seed(0)
    a, b = ((torch.randn(n) * 4).to(getattr(torch, dtype)) for n, dtype in zip((60, 50), types))
    if a.is_floating_point():
        a[:3] = torch.tensor([math.nan, math.inf, -math.inf])
    if b.is_floating_point():
        b[:4] = torch.tensor([math.nan, math.nan, math.inf, 1])
    ours = [kindling.tensor(each.tolist(), dtype=getattr(kindling, dtype)) for each, dtype in zip((a, b), types)]
    for invert in (False, True):
        assert kindling.isin(ours[0].view(6, 10).mT, ours[1], invert=invert).tolist() == torch.isin(a.view(6, 10).mT, b, invert=invert).tolist()
    big = kindling.arange(300_000)
    assert kindling.isin(big, big[::3]).sum() == 100_000        # 3e10 comparisons one by one


def test_attention_with_a_negative_dropout_is_refused():
    for t in (torch, kindling):
        with pytest.raises(RuntimeError, match="do not support dropout > 0"):
            t.nn.functional.scaled_dot_product_attention(*[t.ones(1, 1, 2, 2)] * 3, dropout_p=-1.0)


@pytest.mark.parametrize("p", [0, .5, 1, 2, 3, math.inf])
@pytest.mark.parametrize("columns", [1, 3, 40])
def test_distances_with_and_without_a_derivative(columns, p):
    """Without one no tensor of differences is made."""
    x, y = torch.randn(2, 7, columns), torch.randn(1, 9, columns)
    x[0, 0] = y[0, 0]
    if p != math.inf:       # torch's largest of some numbers leaves NaN out, or not, by their order
        x[1, 1, 0] = math.nan
    a, b = (kindling.tensor(each.tolist()) for each in (x, y))
    for ours, theirs in ((kindling.cdist(a, b, p), torch.cdist(x, y, p)), (kindling.pdist(a[0], p), torch.pdist(x[0], p)),
                         (kindling.cdist(a.clone().requires_grad_(), b, p).detach(), torch.cdist(x, y, p))):
        assert torch.allclose(torch.tensor(ours.tolist()), theirs, rtol=1e-5, atol=1e-6, equal_nan=True)


def test_labels_of_one_number():
    for t in (torch, kindling):
        x = t.tensor(-1.5, requires_grad=True)
        loss = t.nn.functional.multilabel_margin_loss(x, t.tensor([0]), reduction="none")
        assert loss.item() == 0 and t.autograd.grad(loss, x)[0].shape == ()
        with pytest.raises(RuntimeError, match=r"inconsistent target size: \[2\] for input of size: \[\]"):
            t.nn.functional.multilabel_margin_loss(x, t.tensor([0, 0]))


def test_distances_and_least_squares_of_nothing():
    for t in (torch, kindling):
        assert t.cdist(t.ones(0, 2, dtype=t.bfloat16), t.ones(3, 2, dtype=t.bfloat16)).shape == (0, 3)
        with pytest.raises(NotImplementedError):
            t.cdist(t.ones(1, 2, dtype=t.bfloat16), t.ones(3, 2, dtype=t.bfloat16))
        assert [tuple(each.shape) for each in t.linalg.lstsq(t.ones(1, 3, 2), t.ones(0, 3, 1))] == [(0, 2, 1), (0,), (1,), (0,)]


@pytest.mark.parametrize("alpha, kind", [(0, IndexError), (1, RuntimeError), (2, IndexError)])
def test_places_out_of_range_are_told_as_what_adds_there(alpha, kind):
    for t in (torch, kindling):
        with pytest.raises(kind):
            t.index_add(t.ones(2, 2), 0, t.tensor([5]), t.ones(1, 2), alpha=alpha)


def test_bilinear_of_unlike_batches_is_refused():
    for t in (torch, kindling):
        for a, b in (((2, 2), (3, 2)), ((1, 2), (3, 2)), ((2, 0, 2), (3, 0, 2))):
            with pytest.raises(RuntimeError, match="bilinear\\(\\): input batch dimensions do not match at dim 0: got . and 3"):
                t.nn.functional.bilinear(t.ones(a), t.ones(b), t.ones(3, 2, 2))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", ["mul", "add", "sub", "where"])
def test_gradient_of_a_narrow_operand_is_summed_before_it_is_rounded(name, dtype):
    """A bias or a scale of a narrower dtype, broadcast: each term rounded first would lose what many terms add up to."""
    for shape in ((), (1, 40), (30, 1)):
        told = []
        for t in (torch, kindling):
            t.manual_seed(3)
            x, w = t.randn(30, 40, dtype=t.float64), t.randn(30, 40, dtype=t.float64) + 0.3
            b = t.randn(shape).to(getattr(t, dtype)).requires_grad_()
            out = t.where(x > 0, x, b) if name == "where" else getattr(t, name)(x, b)
            told.append(torch.tensor(t.autograd.grad(out, b, w)[0].tolist()))
        assert torch.allclose(*told, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name, point", [("xlogy", -3.0), ("xlogy", math.inf), ("xlog1py", -3.0), ("xlog1py", math.inf)])
@pytest.mark.parametrize("x", [0.0, 2.0])
@pytest.mark.parametrize("grad", [0.0, 1.0])
def test_no_gradient_goes_through_a_logarithm_that_is_none(name, point, x, grad):
    told = []
    for t in (torch, kindling):
        first = t.tensor(x, requires_grad=True)
        told.append(t.autograd.grad(getattr(t.special, name)(first, t.tensor(point)), first, t.tensor(grad))[0].item())
    assert told[0] == told[1] or math.isnan(told[0]) and math.isnan(told[1])


def test_trapz_has_a_float_for_a_distance():
    for t in (torch, kindling):
        assert t.trapz(t.tensor([1.0, 2.0]), dx=2).item() == 3 and t.ops.aten.trapz.dx(t.tensor([1.0, 2.0]), dx=2).item() == 3
        with pytest.raises(TypeError, match=r"trapz\(\) received an invalid combination"):
            t.trapz(t.tensor([1.0, 2.0]), dx=t.tensor([2.0]))
        assert "float dx=1" in str(t.ops.aten.trapz.dx._schema)


def test_no_memory_for_the_library_of_eigenvalues_is_an_error():
    """OpenBLAS would end the process."""
    program = """
import resource, kindling
kindling.eye(2).inverse()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (16 << 20), -1))
try:
    kindling.linalg.eigvals(kindling.eye(3))
except RuntimeError as error:
    print(error)
"""
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert out.returncode == 0 and "the LAPACK library needs" in out.stdout, out


def test_zeta_of_an_order_that_requires_grad():
    """What has no derivative is told when it is asked for, not at the call."""
    for t in (torch, kindling):
        x, y = t.tensor(2.0, requires_grad=True), t.tensor(3.0, requires_grad=True)
        out = t.special.zeta(x, y)
        assert abs(t.autograd.grad(out, y, retain_graph=True)[0].item() + 0.1541138) < 1e-6
        with pytest.raises(NotImplementedError, match="the derivative for 'zeta' is not implemented"):
            out.backward()


def test_power_of_two_beside_complex_numbers_is_not_rounded():
    told = [t.ldexp(t.ones(3, dtype=t.complex64), t.tensor([0.3, 1.7, -2.2], dtype=t.bfloat16)).real.tolist() for t in (torch, kindling)]
    assert told[1] == pytest.approx(told[0], rel=1e-6)
