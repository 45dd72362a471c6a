"""What tests/fuzz/differences.py, empties.py and programs.py have found, by class; PyTorch is asked for each."""
import pytest
from both import same

# Dtypes without a kernel: a NotImplementedError, after what PyTorch's iterator finds before it looks for a kernel.
NO_KERNEL = [
    f"F.{name}(torch.ones(2, dtype=torch.int32))"
    for name in ("gelu", "silu", "mish", "elu", "celu", "selu", "leaky_relu", "hardsigmoid", "hardswish", "hardshrink", "softplus", "logsigmoid", "glu",
                 "softshrink")
] + [
    f"torch.ones(2, dtype=torch.bool).{name}" for name in ("abs()", "abs_()", "floor()", "ceil_()", "trunc()", "round()", "gcd(torch.tensor(True))", "lcm(torch.tensor(True))",
                                                           "pow(torch.tensor(True))", "addcmul(torch.tensor(True), torch.tensor(True))")
] + [
    f"torch.ones(2, dtype=torch.int64).{name}" for name in ("lerp(torch.ones(2, dtype=torch.int64), 1)", "frac()", "round(decimals=1)", "nextafter(torch.tensor(1))",
                                                            "hypot(torch.tensor(1))", "igamma(torch.tensor(1))", "logaddexp(torch.tensor(1))", "logaddexp2(torch.tensor(1))")
] + [
    f"torch.ones(2).{name}(torch.ones(2){more})" for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "bitwise_left_shift_",
                                                              "__lshift__", "__rshift__", "__and__", "__or__", "__xor__") for more in ("", ".bfloat16()")
] + [
    "torch.ones(2) << 1", "torch.ones(2, dtype=torch.bfloat16).bitwise_right_shift_(1)", "torch.logit(torch.ones(2) + 0j)", "torch.xlogy(torch.ones(2) + 0j, torch.ones(2))",
    "F.mse_loss(torch.ones(2) + 0j, torch.ones(2) + 0j)", "F.mse_loss(torch.tensor([1]), torch.tensor([2]))", "F.smooth_l1_loss(torch.tensor([1]), torch.tensor([2]))",
    "torch.special.zeta(torch.ones(2).half(), torch.ones(2).half())", "torch.special.erfcx(torch.ones(2).bfloat16())", "torch.special.ndtri(torch.ones(2).half())",
    "F.threshold(torch.ones(2) > 0, 1, 1)",
    # what is found first
    "torch.lerp(torch.ones(2, dtype=torch.int32), torch.ones(3, dtype=torch.int32), 1)", "torch.ones(2).bitwise_and(torch.ones(3))",
    "torch.ones(2, dtype=torch.int32).bitwise_and_(torch.ones(2))", "torch.bitwise_and(torch.ones(2), 1, out=torch.ones(2, dtype=torch.int32))",
    # that the operator is there for
    "F.mse_loss(torch.tensor([1]), torch.tensor([2.5]))", "torch.igamma(torch.tensor([1]), torch.tensor([0.5]))", "F.silu(torch.ones(2) + 1j)", "torch.ones(2, dtype=torch.int32) << 3",
]

# Through torch.ops: arguments that do not fit, numbers without an end, lists of tensors.
OPS = [
    "torch.ops.aten.less.Tensor(torch.ones(2), slice(None))", "torch.ops.aten.any.dims(torch.ones(2), [0, torch.ones(2)])", "torch.ops.aten._foreach_mm([], [torch.ones(2), 0])",
    "torch.ops.aten.sum.dim_IntList(torch.ones(2), [2**70])", "torch.ops.aten.swapaxes(torch.ones(2, 2), 1, 2**70)", "torch.ops.aten.add.Tensor(torch.ones(2))",
    "torch.ops.aten.zeros([2], device='cuda')", "torch.zeros(2, device='cuda')", "type(torch.ops.aten.split(torch.ones(2), 1))", "type(torch.ops.aten.unbind.int(torch.ones(2)))",
    "torch.ops.aten._foreach_add_([torch.ones(2)], 1)", "torch._foreach_add_([torch.ones(2)], 1)", "type(torch._foreach_add([torch.ones(2)], 1))",
    "type(torch.ops.aten._foreach_add.Scalar([torch.ones(2)], 1))", "type(torch.ops.aten.where.default(torch.ones(2)))", "type(torch.where(torch.ones(2)))",
]

# Integers at the limits, and beyond.
LIMITS = [
    f"{call}" for value in ("2**63", "2**64", "-2**63 - 1", "10**30")
    for call in (f"torch.ones(2).add_({value})", f"torch.ones(2, dtype=torch.int64).eq({value})", f"torch.ones(2).sum({value})", f"torch.ones(2, 2).swapaxes(0, {value})",
                 f"torch.ones(2).sum([0, {value}])", f"torch.full((2,), {value}, dtype=torch.float32)", f"torch.native_dropout(torch.ones(2), {value}, True)",
                 f"torch.ops.aten.native_dropout_backward(torch.ones(2), torch.ones(2) > 0, {value})", f"torch.arange({value})", f"torch.ones(2).clamp(max={value})",
                 f"torch.ones(2).masked_fill(torch.ones(2) > 0, {value})")
] + ["torch.native_dropout(torch.ones(2), 0, True)[0].shape"]

# With out= and no dtype, that of out decides.
OUT = [
    f"torch.{name}(torch.tensor([1.6, 1.6, 1.6]), 0, out=torch.empty(0, dtype=torch.{dtype}))" for name in ("sum", "prod", "cumsum", "cumprod")
    for dtype in ("int64", "float64", "complex64", "uint8")
] + [
    f"torch.{call}, out=torch.empty(0, dtype=torch.{dtype}))" for call in ("linspace(0, 2, 4", "arange(0.5, 3", "eye(2", "logspace(0, 2, 3", "ones(2", "full((2,), 3")
    for dtype in ("int64", "float64", "uint8")
] + ["torch.mean(torch.tensor([1 + 2j]), 0, out=torch.empty(0))", "torch.zeros(2, pin_memory=True)", "torch.zeros(2, pin_memory=False)", "torch.empty_like(torch.ones(2), pin_memory=True)"]


@pytest.mark.parametrize("source", NO_KERNEL + OPS + LIMITS + OUT)
def test_as_torch(source):
    same(source, message=False)


# Arrays: what makes a tensor of one has its strides where it is dense, and its order where it is not.
ARRAYS = ["np.zeros((0, 3))", "np.zeros((4, 0, 0)).T", "np.zeros((2, 0, 3))[:, :, 1:]", "np.ones((3, 4)).T", "np.ones((5, 3))[::2][:1]", "np.ones((2, 3, 4)).transpose(1, 2, 0)",
          "np.ones((4, 6))[:, ::2]", "np.broadcast_to(np.ones(3), (2, 3)).copy().T", "np.arange(12).reshape(3, 4).T", "np.ones((2, 2), dtype='float16', order='F')", "np.ones(())"]


@pytest.mark.parametrize("array", ARRAYS)
def test_strides_of_arrays(array):
    setup = f"import numpy as np\na = {array}"
    for make in ("from_numpy(a)", "tensor(a)", "as_tensor(a)", "tensor(a, dtype=torch.float32)", "as_tensor(a, dtype=torch.int32)"):
        same(f"(torch.{make}.stride(), torch.{make})", setup)


@pytest.mark.parametrize("name", ["chebyshev_polynomial_t", "chebyshev_polynomial_w", "hermite_polynomial_h", "laguerre_polynomial_l", "shifted_chebyshev_polynomial_u", "zeta",
                                  "xlog1py", "legendre_polynomial_p"])
def test_number_first_and_meta(name):
    same(f"torch.special.{name}(1, torch.ones(2, 2, device='meta'))")


# A complex number where a real one belongs: refused, and never its real part.
COMPLEX = [
    f"F.{call}" for call in ("leaky_relu(torch.ones(2), 1 + 2j)", "leaky_relu(torch.ones(2), 1 + 0j)", "celu(-torch.ones(2), 1 + 2j)", "elu(-torch.ones(2), 1 + 2j)",
                             "elu(-torch.ones(2), 1 + 0j)", "threshold(torch.ones(2), 1j, 2)", "softplus(torch.ones(2), 1j)", "hardshrink(torch.ones(2), 1j)",
                             "softshrink(torch.ones(2), 1j)")
] + [
    f"torch.{call}" for call in ("ops.aten.rrelu(torch.ones(2), 0.1 + 1j, 0.2)", "addcmul(torch.ones(2), torch.ones(2), torch.ones(2), value=1j)",
                                 "addcdiv(torch.ones(2), torch.ones(2), torch.ones(2), value=1j)", "std(torch.ones(3), correction=1j)",
                                 "ops.aten.var.correction(torch.ones(3), correction=1j)", "ops.aten.var.correction(torch.ones(3), correction=1 + 0j)", "histc(torch.ones(3), 5, 1j, 2)",
                                 "ops.aten.trapezoid.dx(torch.ones(3), dx=1j)", "ops.aten.cumulative_trapezoid.dx(torch.ones(3), dx=1j)", "linalg.cond(torch.ones(2, 2), 1j)",
                                 "linalg.vector_norm(torch.ones(2), 1j)", "norm(torch.ones(2), 1j)", "full((2,), 1j, dtype=torch.float32)", "full((2,), 1 + 0j, dtype=torch.float32)",
                                 "ones(2).fill_(1j)", "ones(2).masked_fill(torch.ones(2) > 0, 1j)", "ops.aten.elu(torch.ones(2), 1, 1, 2j)",
                                 "ops.aten.softplus_backward(torch.ones(2), torch.ones(2), 1j, 20)", "ops.aten.threshold_backward(torch.ones(2), torch.ones(2), 1j)",
                                 "ops.aten.hardtanh_backward(torch.ones(2), torch.ones(2), 1j, 2)", "renorm(torch.ones(2, 2), 1j, 0, 1)")
]


@pytest.mark.parametrize("source", COMPLEX)
def test_complex_numbers_for_real_ones(source):
    same(source, message=False)


# What a call of any operator with random arguments came out as otherwise than in PyTorch.
FOUND = [
    "torch.ops.aten._unique2(torch.tensor([1., 2, 1]), return_counts=True)",
    "F.bilinear(torch.ones(2, 2, 2, dtype=torch.int8), torch.ones(2, 2, 2, dtype=torch.int8), torch.ones(2, 2, 2, dtype=torch.int8))",
    "torch.ops.aten.contiguous(torch.ones(2), memory_format=torch.preserve_format)",
    "torch.ones(2, 2).t().contiguous(memory_format=torch.preserve_format)",
    "torch.ops.aten.index.Tensor(torch.ones(2), [])",
    "torch.deg2rad(torch.ones(2) + 0j)",
    "torch.rad2deg(torch.ones(2) + 0j)",
    "torch.median(torch.zeros(0, dtype=torch.int32))",
    "torch.nanmedian(torch.zeros(0, dtype=torch.int64))",
    "torch.median(torch.zeros(0, dtype=torch.uint8))",
    "torch.ops.aten._dirichlet_grad(torch.full((3, 2), 0.5), torch.ones(2), torch.full((3, 2), 2.)).shape",
    "torch.ops.aten._dirichlet_grad(torch.ones(3, 2, dtype=torch.int64), torch.ones(2), torch.ones(3, 2))",
    "torch.ones(3).repeat_interleave(torch.ones(3))",
    "torch.ones(3).repeat_interleave(torch.ones(3) > 0)",
    "torch.ops.aten.repeat_interleave.Tensor(torch.ones(3, 3))",
    "torch.bernoulli(torch.ones(2, dtype=torch.int16))",
    "torch.ones(2).bernoulli_(torch.ones(2, dtype=torch.int16))",
    "torch.ops.aten._weight_norm(torch.ones(2, 2, dtype=torch.int64), torch.ones(2, 1))",
    "torch.block_diag([torch.ones(2)])",
    "torch.cartesian_prod([torch.ones(2)])",
    "torch.atleast_1d([torch.ones(2), 1.0])",
    "torch.geqrf(torch.ones(2, 2, requires_grad=True))[0].sum().backward()",
    "torch.unique(torch.ones(2, requires_grad=True)).sum().backward()",
    "torch.unique(torch.ones(2, 2, requires_grad=True), dim=0).sum().backward()",
    "torch.unique_consecutive(torch.ones(2, requires_grad=True)).sum().backward()",
    "torch.ones(2).set_(torch.ones(8).untyped_storage(), 2, [4], [0, 1])",
    "torch.ones(()).index_fill(2, torch.tensor([0]), 4)",
    "torch.ones(2, 2).scatter(5, torch.zeros(0, 2, dtype=torch.int64), 4.)",
    'torch.ones(2, 2).scatter_reduce(5, torch.zeros(0, 2, dtype=torch.int64), torch.ones(2, 2), "sum")',
    "torch.ones(2, 2).amin([1, 1, 4])",
    'torch.abs(torch.ones(2), out=torch.ones(2, device="meta"))',
    'torch.abs(torch.ones(2, device="meta"), out=torch.ones(2))',
    'torch.aminmax(torch.ones(2, device="meta"), min=torch.ones(()), max=torch.ones(()))',
    'torch.mm(torch.ones(2, 2), torch.ones(2, 2), out=torch.ones(2, 2, device="meta"))',
    'torch.mm(torch.ones(2, 2, device="meta"), torch.ones(2, 2, device="meta"), out=torch.ones(2, 2))',
    "torch.special.scaled_modified_bessel_k0(torch.ones(3, 4).t()).stride()",
    "torch.special.chebyshev_polynomial_t(torch.ones(3, 4).t(), 2).stride()",
    "torch.special.gammainc(torch.ones(2, 3, 4).permute(2, 0, 1), torch.ones(4, 2, 3)).stride()",
    "torch.ops.aten.alias_copy(torch.ones(3, 4).t()).stride()",
    "torch.ops.aten.split_copy(torch.ones(3, 4).t(), 2)[0].stride()",
    "torch.zeros(0, 3, 2, 2).contiguous(memory_format=torch.channels_last).stride()",
    "torch.channel_shuffle(x := torch.ones(3, 2, 5, 5), 2).data_ptr() == x.data_ptr()",
    "torch.channel_shuffle(x := torch.ones(3, 2, 5, 5), 1).add_(1) is None or x.sum()",
    "torch.channel_shuffle(torch.ones(3, 4, 0, 5), 2).shape",
    "torch.inner(torch.ones(2, 0), torch.ones(3, 0))",
    "torch.inner(torch.ones(0), torch.ones(0))",
    "torch.rot90(torch.ones(2, 3, 4), 1).stride()",
    "torch.rot90(torch.ones(2, 3, 4), 3)._is_view()",
    "torch.ops.aten.arange(1 + 0j)",
    "torch.clamp(torch.tensor([True, False]), torch.tensor(True))",
    "torch.binomial(torch.tensor([1, 2]), torch.tensor([0.5, 0.5]))",
    "torch.ones(2).index_fill(0, torch.zeros(1, 1, dtype=torch.int64), 1.)",
    "torch.ops.aten.slice.Tensor(torch.tensor(1.), 0, 0)",
    "[x.resize_(4)._version for x in (torch.ones(3), torch.ones(4), torch.ones(2, 2))]",
    "[x.resize_as_(torch.ones(4))._version for x in (torch.ones(3), torch.ones(4), torch.ones(2, 2))]",
    "torch.chain_matmul(torch.ones(3))",
    "torch.chain_matmul([torch.ones(3, 3), torch.ones(3, 3)])",
    "torch.chain_matmul(torch.ones(2, 2), out=(out := torch.zeros(2, 2))) is None or out",
    "torch.chain_matmul(torch.ones(2, 2), out=3)",
    "torch.chain_matmul(torch.ones(3), out=3)",
    "torch.ones(3).repeat_interleave(2, output_size=5)",
    "torch.ones(3).repeat_interleave(2, output_size=6)",
    "torch.ones(2).repeat_interleave(torch.tensor([1, 2]), output_size=4)",
    "torch.ones(2).repeat_interleave(torch.tensor([1, 2]), output_size=3)",
    "torch.ops.aten.unique_consecutive(torch.ones(3, 3), dim=0)",
    "torch.geqrf(torch.ones(2, 2, requires_grad=True))[1].requires_grad",
    "torch.nanmedian(torch.zeros(0, dtype=torch.uint64)).item()",
]


@pytest.mark.parametrize("source", FOUND)
def test_found(source):
    same(source, message=False)


# Norms over no dimension: of a vector, each element's own.
@pytest.mark.parametrize("source", ["torch.norm_except_dim(torch.tensor([3., -4.]), 2, 0)", "torch._weight_norm(torch.tensor([3., -4.]), torch.tensor([1., 2.]), 0)",
                                    "torch.norm_except_dim(torch.tensor(3.), 2, 0)", "torch.norm_except_dim(torch.tensor([3., -4.]), 2, -1)"])
def test_norm_of_vectors(source):
    same(source, message=False)


# The slopes that rrelu draws are PyTorch's for the same seed, one for each element below zero.
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_rrelu_draws(dtype):
    setup = f"x = (torch.arange(40) - 20.0).to(torch.{dtype}).view(5, 8).t()\ntorch.manual_seed(3)"
    same("torch.rrelu(x, 0.1, 0.3, True)", setup)
    same("torch.rrelu(x, 0.1, 0.3, True).stride()", setup)
    same("torch.rrelu_(x.clone(), 0.1, 0.3, True)", setup)
    same("F.rrelu(x.contiguous().requires_grad_(), 0.1, 0.3, True).sum().backward() or torch.rand(2)", setup)
