"""What random calls of operators found (tests/fuzz/differences.py and empties.py), by class; PyTorch is asked for each."""
import gc

import pytest
from both import same


@pytest.mark.parametrize("truth", ["1", "0", ".5", "0j", "None", "torch.tensor(1)", "torch.ones(1)", "1 << 31"])
@pytest.mark.parametrize("call", ["sort(x, descending={})", "sort(x, stable={})", "sum(x, [0], {})", "sum(x, [0], keepdim={})", "histogram(x, 3, density={})",
                                  "histogram(x, torch.tensor([0., 1., 2.]), density={})", "histogram.bin_ct(x, 3, range=[0., 2.], density={})", "any.dim(x, 0, {})"])
def test_functions_of_ops_take_what_has_a_truth(call, truth):
    same(f"r = torch.ops.aten.{call.format(truth)}\nr if isinstance(r, torch.Tensor) else [*r]", "x = torch.tensor([1., .5])")


@pytest.mark.parametrize("truth", ["1", "0", "torch.ones(())"])
def test_pinned_memory_by_a_truth(truth):
    same(f"torch.ops.aten.zeros([2], pin_memory={truth})")


@pytest.mark.parametrize("made", ["torch.sort(x, descending=1)", "torch.sum(x, 0, keepdim=1)", "x.sort(0, 1)", "torch.any(x, 0, 1)"])
def test_functions_of_torch_do_not(made):
    same(f"try: r = {made}\nexcept TypeError: r = 'refused'\nr", "x = torch.tensor([1., .5])\nr = 0")


@pytest.mark.parametrize("number", ["-1e308", "1e308", "1e5", "float('inf')", "-7."])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_means_beyond_the_dtype(number, dtype):
    same(f"torch.normal({number}, torch.zeros(2, dtype=torch.{dtype}))")


@pytest.mark.parametrize("bias", ["torch.ones(5)", "torch.ones(5, 1, 5)", "torch.ones(5, 2, 3, 1)", "torch.ones(5, 2, 3, 5)", "torch.ones(2)", "None"])
def test_bias_of_bilinear(bias):
    same(f"torch.bilinear(torch.ones(2, 3, 3), torch.ones(2, 3, 4), torch.ones(5, 3, 4), {bias})", message=False)   # ours names the operator and the shapes


@pytest.mark.parametrize("parts", ["torch.zeros(1, 0).long(), torch.zeros(0, 1), [1, 0]", "torch.zeros(1, 1).long(), torch.zeros(1, 3), [1, 0]", "torch.zeros(1, 1).long(), torch.zeros(1, 3), [1, 3]",
                                   "torch.ones(1, 1).long(), torch.zeros(1, 3), [1, 3]", "torch.zeros(1, 1).long(), torch.zeros(1, 3), [3]"])
@pytest.mark.parametrize("call", ["torch.ops.aten._validate_sparse_coo_tensor_args({})", "torch.sparse_coo_tensor({}, check_invariants=True).to_dense()"])
def test_parts_of_sparse_tensors(call, parts):
    same(call.format(parts))


@pytest.mark.parametrize("which", ["triu_indices(M, 2, 0)", "triu_indices(M, 2, -1)", "tril_indices(2, M, 0)", "tril_indices(2, M, -2)", "tril_indices(M, M, -M)", "triu_indices(M, 1, 0)",
                                   "tril_indices(1, M)", "tril_indices(3, 2, 1)", "triu_indices(3, 2, -1)", "triu_indices(2, 1 << 40, (1 << 40) - 2)"])
def test_triangles_of_many_rows_with_none(which):
    same(f"torch.{which}", "M = (1 << 63) - 1")


OUTS = ["topk(x, 2, out=(a(7, 2), w(7, 2, dtype=i)))", "sort(x, out=(a(0), w(7, 3, dtype=i)))", "max(x, 1, out=(a(7), w(7, dtype=i)))", "linalg.qr(x, out=(a(0), w(0)))", "frexp(x, out=(a(0), w(0, dtype=kindling.int32)))",
        "aminmax(x, out=(a(()), w(())))", "linalg.slogdet(x[:3], out=(a(()), w(())))", "mode(x, out=(a(7), w(7, dtype=i)))"]


@pytest.mark.parametrize("call", OUTS)
def test_outs_of_a_call_that_refuses_the_second_are_let_go(call):
    """The first result was kept for ever when the second could not be written: an inference tensor, outside of inference mode."""
    import kindling
    run = f"kindling.{call}"

    def w(*sizes, **options):
        with kindling.inference_mode():
            return kindling.empty(*sizes, **options)
    scope = {"kindling": kindling, "x": kindling.randn(7, 3), "a": kindling.empty, "w": w, "i": kindling.int64}
    in_use = []
    for _ in range(3):
        for _ in range(20):
            with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
                eval(run, scope)
        gc.collect()  # or what earlier tests left in cycles goes at any moment
        in_use.append(kindling._C._memory_stats()["allocated_bytes.all.current"])
    assert in_use[2] == in_use[1]


@pytest.mark.parametrize("number", ["1 << 63", "(1 << 64) - 1", "-(1 << 63)"])
@pytest.mark.parametrize("call", ["xlogy(x, {})", "special.xlog1py(x, {})", "mul(x, {})", "div(x, {})", "pow(x, {})", "atan2(x, {})", "hypot(x, {})", "remainder(x, {})", "copysign(x, {})", "maximum(x, torch.tensor({}))"])
def test_gradients_beside_integers_at_the_limits(call, number):
    same(f"r = torch.{call.format(number)}\nr.detach(), torch.autograd.grad(r.sum(), x)", "x = torch.tensor([1., 0.], dtype=torch.float64, requires_grad=True)", message=False)


@pytest.mark.parametrize("bounds", ["-1e308, .5", "0., 1e308", "-8e307, 8e307", "-1e39, 0."])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("training", [True, False])
def test_bounds_of_rrelu_beyond_the_dtype(bounds, dtype, training):
    same(f"torch.rrelu(x, {bounds}, training={training})", f"x = torch.ones(2, dtype=torch.{dtype})", message=False)


@pytest.mark.parametrize("dtype", ["torch.float32", "torch.complex64", "None"])
@pytest.mark.parametrize("power", [0, 1, 2, 3])
def test_powers_of_complex_numbers_as_real_ones(power, dtype):
    same(f"torch._foreach_powsum([torch.tensor([1+2j, 3-1j])], {power}, dtype={dtype})")


@pytest.mark.parametrize("pairs", ["[2], [2, 2], [2, 2], [2, 2]", "[2, 2], [2], [2, 2], [2, 2]", "[2, 2], [2, 2], [2], [2, 2]", "[2, 2], [2, 2], [2, 2], [2]", "[2, 2], [2, 2], [2, 2], [2, 2]", "2, 2, 2, 2"])
def test_pairs_of_numbers_of_blocks(pairs):
    same(f"torch.ops.aten.im2col(torch.arange(8.).view(2, 2, 2), {pairs})")


@pytest.mark.parametrize("parts", ["torch.ones(1, 1), torch.ones(2, 2), torch.ones(2, 2, 2, 2)", "torch.tensor([0, 1, 9]), torch.tensor([0, 1]), torch.ones(2)", "torch.tensor([0, 1, 2]), torch.tensor([0, 7]), torch.ones(2)",
                                   "torch.tensor([0, 2, 1]), torch.tensor([0, 1]), torch.ones(2)", "torch.tensor([-1, 1, 2]), torch.tensor([0, 1]), torch.ones(2)", "torch.tensor([0, 1]), torch.tensor([0, 1]), torch.ones(2)"])
def test_parts_of_triangles_lie_within(parts):
    import kindling as torch
    with pytest.raises((RuntimeError, IndexError), match="_substitute"):
        torch.ops.aten._substitute(torch.ones(2, 1), *eval(parts), True, False, False)
    assert torch.ops.aten._substitute(torch.ones(2, 1), torch.tensor([0, 1, 2]), torch.tensor([0, 1]), torch.ones(2) * 2, True, False, False).tolist() == [[.5], [.5]]


@pytest.mark.parametrize("call", ["x.to(True)", "x.to(False)", "x.to(True, True)", "x.bool().to(True).dtype"])
def test_a_flag_alone_for_to(call):
    same(f"try: r = {call}\nexcept (TypeError, RuntimeError) as e: r = type(e).__name__\nr", "x = torch.ones(2)\nr = 0")


@pytest.mark.parametrize("call", ["torch.multinomial(-x, 1)", "torch.multinomial(x * 0, 1)", "torch.multinomial(x / 0, 1)", "torch.multinomial(x, 3)", "torch.multinomial(x, 0)", "torch.multinomial(x, -1)",
                                  "torch.multinomial(x.long(), 1)", "torch.multinomial(x[None, None], 1)", "torch.multinomial(x[0], 1)", "torch.multinomial(x[:0], 1)", "torch.multinomial(x.to(torch.complex64), 1)",
                                  "torch.multinomial(x * float('nan'), 1)", "torch.multinomial(x[None], 2, replacement=True).shape", "torch.multinomial(x, 1, out=torch.empty(1))"])
def test_what_multinomial_refuses(call):
    same(f"try: r = {call}\nexcept Exception as e: r = type(e).__name__\nr if isinstance(r, str) else 'an answer'", "x = torch.tensor([.5, .5])\nr = 0")


@pytest.mark.parametrize("call", ["x.add(x, out=None)", "x.min(x, out=None)", "x.sort(0, out=None)", "torch.relu(x, out=None)", "torch.sum(x, 0, out=None)", "torch.add(x, x, out=None)",
                                  "torch.zeros_like(x, out=None)", "torch.zeros(2, out=None)", "torch.conv1d(x[None], x[None], out=None)", "torch.where(x > 1, out=None)", "torch.ops.aten.relu(x, out=None)",
                                  "torch.mean(x, out=None)", "torch.median(x, out=None)", "torch.std(x, out=None)", "torch.sort(x, out=None)", "torch.clone(x, out=None)"])
def test_none_for_an_out(call):
    """Methods have no `out`, and not every function."""
    same(f"try: r = type({call}).__name__ == 'Tensor'\nexcept Exception: r = 'refused'\nr", "x = torch.arange(6.).view(2, 3)\nr = 0")


@pytest.mark.parametrize("order", ["'nuc'", "'fro'", "1", "2", "-2"])
@pytest.mark.parametrize("function", ["torch.linalg.matrix_norm", "torch.linalg.norm"])
def test_a_norm_of_a_half_type_in_another(function, order):
    same(f"try: r = {function}(x, {order}, dtype=torch.float32)\nexcept RuntimeError as e: r = str(e)\nr", "x = torch.eye(2, dtype=torch.float16)\nr = 0")


@pytest.mark.parametrize("target", ["2.", "-1e-6", "0.", "1.", "float('nan')"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_targets_of_binary_cross_entropy_are_probabilities(dtype, target):
    same("try: r = F.binary_cross_entropy(x, t)\nexcept RuntimeError as e: r = str(e)\nr", f"x = torch.tensor([.25], dtype=torch.{dtype})\nt = torch.tensor([{target}], dtype=torch.{dtype})\nF = torch.nn.functional\nr = 0")


@pytest.mark.parametrize("value", [0., 3000., 2.**23, 1e10, 1e16, -1e17, 1e38, float("inf")])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_histogram_of_one_number_has_it_in_the_middle(dtype, value):
    same(f"try: r = torch.histc(torch.tensor([{value!r}] * 2, dtype=torch.{dtype}), 9), torch.histc(torch.tensor({value!r}, dtype=torch.{dtype}), 4)\nexcept RuntimeError: r = 'refused'\nr", "r, inf = 0, float('inf')")


@pytest.mark.parametrize("shape", ["0, 0", "0", "2, 0", "0, 3"])
@pytest.mark.parametrize("samples", ["1, True", "2, True", "1", "2", "0"])
def test_multinomial_of_nothing(shape, samples):
    same(f"try: r = torch.multinomial(torch.zeros({shape}), {samples})\nexcept RuntimeError: r = 'refused'\nr", "r = 0")


@pytest.mark.parametrize("out", ["torch.empty(2, 3, dtype=torch.complex64)", "torch.empty(0, dtype=torch.complex64)", "torch.empty(3, 2, dtype=torch.complex64).t()"])
def test_ihfftn_into_an_out(out):
    same(f"o = {out}\nr = torch.fft.ihfftn(torch.arange(8.).view(2, 4), out=o)\no, r is o")


@pytest.mark.parametrize("options", ["[2, 2], [2, 2], [0, 0], [1, 1], False", "[2, 2], [1, 1], [1, 1], [1, 1], False", "[3, 2], [2, 1], [1, 0], [1, 2], True"])
def test_gradient_of_the_gradient_of_pooling(options):
    same(f"y, k = torch.ops.aten.max_pool2d_with_indices(x, {options})\ng = torch.arange(1., y.numel() + 1).view(y.shape).requires_grad_()\n"
         f"b = torch.ops.aten.max_pool2d_with_indices_backward(g, x, {options}, k)\n*torch.autograd.grad((b * torch.arange(float(b.numel())).view(b.shape)).sum(), [g]), b.detach()",
         "x = torch.tensor([3., 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 3]).view(1, 1, 5, 5)")


@pytest.mark.parametrize("call", ["torch.frexp(x)", "torch.frexp(x.to_sparse_csr())", "x.frexp()", "torch.sgn(x).to_dense()", "torch.aminmax(x)"])
def test_two_results_of_a_sparse_tensor_are_refused(call):
    """The second result was written where there was no room."""
    same(f"try: r = {call}\nexcept RuntimeError: r = 'refused'\nr", "x = torch.eye(2).to_sparse()\nr = 0")
