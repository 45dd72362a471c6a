"""Sparse tensors: the same programs in PyTorch and here.

A line of `sparse_cases/` is a program; one marked `# class` is refused by both, in words that begin differently.
"""
import re
from pathlib import Path

import pytest
from sparse_more import SUBJECTS
from sparse_programs import close, compare, run

import kindling

torch = pytest.importorskip("torch")
CASES = sorted(Path(__file__).with_name("sparse_cases").glob("*.txt"))
pytestmark = [pytest.mark.kernels, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("case", CASES, ids=[path.stem for path in CASES])
def test_same_answers(case):
    different = []
    for line in case.read_text().splitlines():
        program, _, mark = line.partition("  # ")
        if answers := compare(program.replace("; ", "\n"), words=mark != "class"):
            different.append(f"{program}\n    torch: {answers[0]}\n    here:  {answers[1]}")
    assert not different, "\n".join(different)


OPERANDS = {
    "a": "torch.sparse_coo_tensor([[0,1,1],[2,0,2]],[3.,4,5],(2,3)).coalesce()",
    "b": "torch.sparse_coo_tensor([[0,1,1],[1,0,2]],[1.,2,-3],(2,3)).coalesce()",
    "u": "torch.sparse_coo_tensor([[1,0,1,1],[1,2,1,0]],[1.,2,3,4],(2,3))",            # places twice, not sorted
    "w": "torch.sparse_coo_tensor([[1,0,0],[1,2,2]],[5.,6,7],(2,3))",
    "i": "torch.sparse_coo_tensor([[0,1,1],[2,0,2]],[3,4,5],(2,3))",
    "h": "torch.arange(12.).reshape(2,3,2).to_sparse(2)",
    "g": "torch.sparse_coo_tensor([[0,1,1]],[[3.,4,1],[1,2,1],[5,6,1]],(2,3))",        # a dense dimension
    "c": "torch.sparse_coo_tensor([[0,1],[2,0]],[3.+1j,4],(2,3))",
    "B": "torch.sparse_coo_tensor([[0,1],[2,0]],[True,False],(2,3))",
    "n": "torch.sparse_coo_tensor([[0,1,1],[2,0,2]],[float('nan'),-4,0],(2,3)).coalesce()",
    "z": "torch.sparse_coo_tensor((2,3))",
    "d": "torch.arange(6.).reshape(2,3)", "k": "torch.tensor(2.)",
    "r": "torch.tensor([[0,3.,0],[1,0,2]]).to_sparse_csr()", "s": "torch.tensor([[0,5.,1],[1,0,0]]).to_sparse_csr()",
    "q": "torch.tensor([[0,5.,1],[1,0,0]]).to_sparse_csc()", "o": "torch.arange(8.).reshape(2,4).to_sparse_bsr((2,2))",
}
PAIRS = "ab uw wu au ua az za zz ai ia ii ag gg hh bb ac iB da du dg ad ka ak rs rr rd dr qq ra oo".split()
BINARY = ("x+y x-y x*y x/y x//y torch.add(x,y,alpha=2) torch.sub(x,y,alpha=2) x.add_(y) x.sub_(y) x.mul_(y) x.div_(y) "
          "torch.add(x,y,out=torch.zeros(2,3,layout=x.layout)) torch.mul(x,y,out=torch.zeros(2,3,layout=x.layout)) x==y").split()
NAMES = ("abs negative sgn sign sin sinh asin asinh tan tanh atan atanh ceil floor round trunc frac sqrt square expm1 log1p erf "
         "erfinv relu nan_to_num isnan isinf isneginf isposinf signbit deg2rad rad2deg positive conj_physical conj resolve_conj "
         "cos exp log sigmoid rsqrt reciprocal any all sum mean prod max argmax nonzero norm tril flatten numel det zero_ "
         "abs_ neg_ sin_ sqrt_ relu_ expm1_ sign_ tanh_ asin_ floor_ log1p_").split()
UNARY = [f"x.{name}()" for name in NAMES] + [
    "x+1", "1-x", "x*2", "2.5*x", "x/2", "x//2", "x**2", "x**0", "2**x", "-x", "x*torch.tensor(2.)", "x*True", "x*1j",
    "x.div(2,rounding_mode='floor')", "x.div(2,rounding_mode='trunc')", "x.mul_(3)", "x.div_(2)", "x.add_(1)", "x.real", "x.imag",
    "torch.sin(x, out=x.clone())", "torch.neg(x, out=x.clone())", "x.sum(0)", "x.sum(1,keepdim=True)", "x.sum((0,1))",
    "x.sum(dtype=torch.float64)", "x.sum(-1)", "x.bool()", "x.to(torch.int32)", "x.to(torch.complex64)", "x.norm(1,0)",
    "x.norm(p=float('inf'))", "torch.equal(x,x)", "F.relu(x)", "torch.sparse.sum(x)", "torch.sparse.sum(x,0)", "torch.sparse.sum(x,1)",
    "torch.sparse.sum(x,[0,1])", "torch.sparse.sum(x,1,dtype=torch.float64)", "torch.sparse.softmax(x,0)", "torch.sparse.softmax(x,1)",
    "torch.sparse.softmax(x,-1,dtype=torch.float64)", "torch.sparse.log_softmax(x,1)", "torch.sparse.log_softmax(x,0)"]
# CSR plus strided gives PyTorch alpha times the sparse one, whichever stands second.
NOT_ALIKE = {"torch.add(r,d,alpha=2)"}


def wrong(program, coalesce=False):
    """Where PyTorch gives an answer, it must be given; where it refuses, there may be one, or a refusal."""
    theirs, ours = run(torch, program, coalesce), run(kindling, program, coalesce)
    if theirs[0] == "raised":
        return "" if ours[0] == "gave" or ours[1] in (theirs[1], "RuntimeError", "NotImplementedError", "IndexError", "TypeError") else f"{program}: {ours}"
    return "" if close(theirs, ours) else f"{program}\n    torch: {theirs}\n    here:  {ours}"


def with_operands(names, expression):
    lines = [f"{name} = {OPERANDS[name]}" for name in names]
    return "\n".join([*lines, expression])


@pytest.mark.parametrize("pair", PAIRS)
def test_two_operands(pair):
    first, second = pair
    expressions = [re.sub(r"\by\b", second, re.sub(r"\bx\b", first, e)) for e in BINARY]
    found = [wrong(with_operands(pair, e)) for e in expressions if e not in NOT_ALIKE]
    assert not any(found), "\n".join(filter(None, found))


@pytest.mark.parametrize("name", [n for n in OPERANDS if n not in "dk"])
def test_one_operand(name):
    found = []
    for expression in UNARY:
        found.append(wrong(with_operands(name, re.sub(r"\bx\b", name, expression))))
    assert not any(found), "\n".join(filter(None, found))


# PyTorch gives these elements in no order at all; and these are nodes of its own.
OTHERWISE = ("torch.sparse.mm(R.t(),R)",)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_subject(subject):
    found = [wrong(program, coalesce=subject != "products") for program in SUBJECTS[subject] if not program.endswith(OTHERWISE)]
    assert not any(found), "\n".join(filter(None, found))


def test_indices_that_nobody_checked_reach_no_memory():
    """Constructors take any indices; what reads or writes by them refuses those out of range."""
    made = kindling.sparse_coo_tensor, kindling.sparse_csr_tensor
    beside = made[0]([[9, 8], [-9, 1]], [1., 2], (2, 2)), made[1]([0, 1, 2], [0, 7], [1., 2], (2, 3)), made[1]([0, 5, 2], [0, 1], [1., 2], (2, 3))
    for tensor in beside:
        with pytest.raises((IndexError, RuntimeError)):
            kindling.sparse.mm(tensor, kindling.ones(tensor.shape[1], 2))
    for tensor in beside[:2]:
        with pytest.raises((IndexError, RuntimeError)):
            kindling.ones(tensor.shape).sparse_mask(tensor)
    with pytest.raises(IndexError):
        kindling.ones(2, 2).add_(beside[0])
    with pytest.raises(IndexError):
        beside[0] * kindling.ones(2, 2)


def test_kernels_of_ones_own():
    """torch.library serves sparse tensors by their own dispatch keys."""
    library = kindling.library.Library("sparse_test", "DEF")
    library.define("scaled(Tensor x) -> Tensor")
    for factor, key in enumerate(("CPU", "SparseCPU", "SparseCsrCPU"), 2):
        library.impl("scaled", lambda x, factor=factor: x * factor, key)
    eye = kindling.eye(2)
    scaled = kindling.ops.sparse_test.scaled
    assert [scaled(x).to_dense().sum().item() for x in (eye, eye.to_sparse(), eye.to_sparse_csr())] == [4, 6, 8]


def test_what_was_detached_keeps_its_elements():
    x = kindling.eye(3).to_sparse()
    alias = x.detach()
    alias.zero_()
    assert x._nnz() == 3 and alias._nnz() == 0
    with pytest.raises(TypeError, match="Cannot assign to a sparse tensor"):
        x[0, 0] = 1.
    with pytest.raises(NotImplementedError, match="device meta"):
        x.to("meta")
    for make in (lambda: kindling.sparse_coo_tensor([[0]], [1.], (2,), device="meta"), lambda: kindling.zeros_like(x, device="meta"),
                 lambda: kindling.sparse_csr_tensor([0, 1], [0], [1.], (1, 2), device="meta")):
        with pytest.raises(NotImplementedError, match="device meta"):
            make()


def test_first_sparse_tensor_makes_the_table_once():
    """Several threads may be the first to meet an operator with a sparse tensor."""
    program = ("import kindling as torch, threading\n"
               "x = torch.eye(4).to_sparse()\nfound = []\n"
               "def work(): found.append(((x + x) * 2).sin().to_dense().sum().item())\n"
               "threads = [threading.Thread(target=work) for _ in range(8)]\n"
               "[t.start() for t in threads]; [t.join() for t in threads]\nassert len(set(found)) == 1 and len(found) == 8\n")
    import subprocess
    import sys
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_nothing_is_kept():
    """Parts, gradients and tables of sparse tensors go when the tensors go."""
    import gc

    def work():
        weight = kindling.ones(50, 4, requires_grad=True)
        for _ in range(3):
            kindling.nn.functional.embedding(kindling.arange(0, 50, 3), weight, sparse=True).sum().backward()
        s = kindling.eye(20).to_sparse().requires_grad_()
        (kindling.sparse.mm(s, kindling.ones(20, 2)).sum() + s.to_dense().square().sum()).backward()
        first = kindling.autograd.grad(s.to_dense().pow(3).sum(), s, create_graph=True)[0]
        first.to_dense().sum().backward()
        alias = s.detach()
        alias.mul_(2).zero_()
        rows = (alias + s.detach()).coalesce().sin().to_sparse_csr().requires_grad_()
        (rows @ kindling.ones(20, 2)).sum().backward()
        with pytest.raises(RuntimeError):
            s + 1

    for _ in range(3):
        work()
    gc.collect()
    before = kindling.memory_stats()["allocated_bytes.all.current"]
    for _ in range(20):
        work()
    gc.collect()
    assert kindling.memory_stats()["allocated_bytes.all.current"] == before


def test_modes_see_operators_of_sparse_tensors():
    from kindling.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    seen = []
    x = kindling.eye(3).to_sparse()
    with Watch():
        (x + x).sin()
        kindling.mm(x, kindling.ones(3, 2))
    assert seen[:2] == ["aten.add.Tensor", "aten.sin.default"] and "aten.mm.default" in seen


def test_conversions_check_blocks_and_dense_dimensions():
    """Each source and target, of tensors with elements and without: who refuses, and what the others give."""
    torch = pytest.importorskip("torch")

    def converted(t, source, target, sizes, options):
        try:
            x = t.zeros(sizes)
            if source == "sparse_bsr":
                x = x.to_sparse_bsr((1, 1))
            elif source:
                x = x.to_sparse(layout=getattr(t, source))
        except (RuntimeError, IndexError):
            return None
        try:
            y = x.to_sparse(layout=getattr(t, target), **options)
            return str(y.layout).partition(".")[2], tuple(y.shape), y.sparse_dim(), y.dense_dim()
        except (RuntimeError, IndexError) as error:
            # To blocks from batches or from more than two sparse dimensions: PyTorch does not convert.
            more = "batched inputs" in str(error) or "sparse_dim()!=2" in str(error)
            return None if more else type(error).__name__
    for source in None, "sparse_coo", "sparse_csr", "sparse_bsr":
        for target in "strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc":
            for sizes in (), (3,), (0,), (2, 3), (0, 0), (2, 2, 2), (0, 2, 2), (2, 0, 0), (0, 0, 0, 0):
                for options in ({}, *({"blocksize": each} for each in ((1, 1), [0], [], (0, 1), (2, 2))), *({"dense_dim": each} for each in (0, 1, 4, -1))):
                    call = source, target, sizes, options
                    wanted = converted(torch, *call)
                    assert wanted is None or converted(kindling, *call) == wanted, call


def refusal(t, call):
    """The class of error that a product of matrices and vectors ends in."""
    scope = {"t": t, "v": t.ones(3), "csr": t.eye(3).to_sparse_csr(), "coo": t.eye(3).to_sparse()}
    with pytest.raises(Exception) as caught:
        eval(call, scope)
    return caught.type.__name__


@pytest.mark.parametrize("call", [f"{function}({first}, {second})" for function in ("t.mm", "t.sparse.mm") for first, second in
                                  (("coo", "v"), ("csr", "v"), ("v", "coo"), ("v", "csr"), ("coo", "v.to_sparse()"), ("coo", "t.ones(2, 3, 3)"), ("csr", "t.ones(2, 3, 3)"))]
                         + ["t.sparse.mm(csr, t.tensor(1.))", "t.addmm(v, coo, v)", "t.addmm(v, csr, v)", "t.sparse.addmm(v, coo, v)", "t.hspmm(coo, v)", "t.smm(coo, v)"])
def test_products_with_vectors_are_refused_by_torchs_class(call):
    assert refusal(kindling, call) == refusal(pytest.importorskip("torch"), call)


def test_triangular_solve_of_compressed_matrices():
    torch = pytest.importorskip("torch")

    def solved(t, layout, dtype, upper, transpose, unit):
        t.manual_seed(5)
        A = t.randn(8, 8, dtype=getattr(t, dtype)) * (t.rand(8, 8) > 0.4) + 3 * t.eye(8)
        A = (A.to_sparse_bsr((2, 2)) if layout == "bsr" else A.to_sparse_csr()).requires_grad_()
        B = t.randn(8, 3, dtype=getattr(t, dtype), requires_grad=True)
        x, copy = t.triangular_solve(B, A, upper, transpose, unit)
        if layout == "bsr":     # nor transpose them for the gradient
            return [x.stride(), tuple(copy.shape)], [x.detach().numpy()]
        (x * x.conj()).real.sum().backward()
        seen = [x.stride(), tuple(copy.shape), str(copy.dtype).partition(".")[2], str(A.grad.layout).partition(".")[2]]
        return seen, [t.view_as_real(each.detach() + 0j).resolve_conj().double().numpy() for each in (x, A.grad, B.grad)]

    for layout, dtype in (("csr", "float32"), ("csr", "float64"), ("csr", "complex64"), ("csr", "complex128"), ("bsr", "float64")):
        for flags in ((upper, transpose, unit) for upper in (True, False) for transpose in (False, True) for unit in (True, False)):
            if layout == "bsr" and flags[1:] != (False, False):
                continue    # PyTorch does not convert such blocks
            (ours, numbers), (theirs, expected) = (solved(t, layout, dtype, *flags) for t in (kindling, torch))
            assert ours == theirs, (layout, dtype, flags)
            for a, b in zip(numbers, expected):
                assert abs(a - b).max() <= 1e-4 * max(1, abs(b).max()), (layout, dtype, flags)


@pytest.mark.parametrize("call", ["A.to_sparse_csc(), B", "A.to_sparse(), B", "A.long().to_sparse_csr(), B.long()", "A.to_sparse_csr(), B.double()", "A.to_sparse_csr(), B[:2]",
                                  "A[:2].to_sparse_csr(), B", "A.half().to_sparse_csr(), B.half()", "A.to_sparse_csr(), B[:, 0]"])
def test_triangular_solve_refuses_as_torch_does(call):
    torch = pytest.importorskip("torch")

    def refused(t):
        with pytest.raises(Exception) as caught:
            A, B = eval(call, {"A": t.ones(3, 3), "B": t.ones(3, 2)})
            t.triangular_solve(B, A)
        return caught.type.__name__
    assert refused(kindling) == refused(torch)
