"""The Tensor type beside PyTorch's: signs, properties, conversions, life."""
import copy
import gc
import pickle
import subprocess
import sys
import weakref

import numpy
import pytest

import kindling
from both import same

SETUP = """
a = torch.tensor([[1., 2., 3.], [4., 5., 6.]])
i = torch.tensor([3, 1, 2])
b = torch.tensor([True, False])
z = torch.tensor([1+2j, 3-1j])
s = torch.tensor(2.5)
"""

SIGNS = """
a + a|a + 1|1 + a|a - 1|1 - a|a * 2.5|2 * a|a / 2|1 / a|a // 2|7 // i|a % 2|7 % i|a ** 2|2 ** i|a ** 0.5|-a|+a|abs(-a)
i & 1|i | 2|i ^ 3|~i|~b|b & True|i << 1|i >> 1|a @ a.T|a == 2|a != 2|a < 3|a <= 3|a > 3|a >= 3|3 < a|a == a|a == None|a != 'x'
i + 1.5|i + True|b + 1|b + b|i / 2|i // 2|s + i|i + s|a.double() + s|torch.tensor(1) + 1.5|1 + z|z * 1j|a * 1j|i * 2j
2 ** a|a.int() ** 2|True + i|b * 2.0|1.0 - i|a.half() + 1|a.bfloat16() * 2
""".replace("\n", "|").strip("|").split("|")
SIGNS = [s for s in SIGNS if s] + ["i | 2"]


@pytest.mark.parametrize("source", SIGNS)
def test_signs(source):
    if source in ("i ", " 2"):
        return
    same(source, SETUP)


ERRORS = ["a + 'x'", "a @ 2", "a + None", "len(s)", "iter(s)", "bool(a)", "bool(torch.empty(0))", "int(a)", "float(a)", "a.item()",
          "range(3)[a]", "a.foo", "a.T.T.numpy().bar", "torch.add(a, 'x')", "a.add('x')", "torch.relu('x')", "torch.add(a, a, a)",
          "torch.add(a, a, foo=1)", "torch.relu()", "torch.exp(a, a)", "a.reshape(1.5)", "a.permute('a')", "torch.zeros('x')",
          "torch.zeros(2, dtype=3)", "torch.exp(a, out='x')", "torch.add(a, a, alpha='x')", "torch.Tensor.add(1, a)",
          "torch.Tensor.add()", "a.sum(0, 1)", "torch.softmax(a)", "torch.cat(a)", "torch.cat([1, 2])", "a.expand(2, 'x')",
          "torch.tensor([[1, 2], [3]])", "torch.tensor(None)", "torch.tensor('x')", "torch.tensor(['x'])", "torch.tensor([1, None])",
          "hash(a) == id(a)", "del a[0]", "a.requires_grad_().numpy()", "torch.ones(2, device='cuda')", "a.cuda()"]


@pytest.mark.parametrize("source", ERRORS)
def test_errors(source):
    same(source, SETUP, message=source not in ("hash(a) == id(a)", "del a[0]", "int(a)", "float(a)"))


PLAIN = ["a.shape", "a.size()", "a.size(-1)", "a.stride()", "a.dim()", "a.ndim", "a.numel()", "a.dtype", "a.device", "a.layout", "a.T", "a.mT",
         "a.H", "z.real", "z.imag", "z.H" if False else "z.mH" if False else "a.mH", "a.nbytes", "a.itemsize", "a.element_size()", "a.is_cpu",
         "a.is_contiguous()", "a.T.is_contiguous()", "a.data", "a.tolist()", "s.item()", "i.tolist()", "b.tolist()", "z.tolist()", "s.tolist()",
         "int(s)", "float(s)", "complex(s)", "bool(s)", "list(i)", "2 in i", "9 in i", "len(a)", "list(reversed(i))", "f'{s:.1f}'", "f'{a}'",
         "a.type()", "i.type()", "a.type(torch.int64)", "a.type('torch.DoubleTensor')", "a.to(torch.float64)", "a.to('cpu') is a",
         "a.to(torch.float32) is a", "a.to(torch.float32, copy=True) is a", "a.to(i)", "a.double()", "a.long()", "a.bool()", "a.half()",
         "a.bfloat16()", "i.float()", "i.type_as(a)", "a.new_tensor([1, 2])", "a.new_zeros(2)", "a.new_ones((2, 2))", "a.new_full((2,), 7)",
         "a.new(2, 3).shape", "a.is_floating_point()", "i.is_signed()", "z.is_complex()", "torch.is_tensor(a)", "torch.is_tensor(1)",
         "isinstance(a, torch.Tensor)", "isinstance(a, torch.FloatTensor)", "a.get_device()", "a.untyped_storage().nbytes()",
         "a.dim_order()", "a.unflatten(1, (3, 1)).shape", "a.split(1)", "a.split([1, 2], 1)", "torch.numel(a)", "torch.is_floating_point(a)",
         "torch.Tensor(2, 3).shape", "torch.Tensor([1, 2])", "torch.LongTensor([1, 2])", "torch.FloatTensor(3).shape", "torch.Tensor()",
         "torch.Size([2, 3]) + (4,)", "torch.Size([2, 3])[:1]", "torch.Size([2, 3]).numel()", "torch.Size((1, 2)) * 2", "torch.device('cuda:1')",
         "str(torch.device('cpu'))", "torch.device('cpu') == torch.device('cpu')", "torch.device('meta').type", "torch.finfo(torch.float16)",
         "torch.finfo(torch.float32).eps", "torch.finfo(torch.bfloat16).max", "torch.iinfo(torch.int8)", "torch.iinfo(torch.int64).max",
         "torch.float32.is_floating_point", "torch.int8.itemsize", "torch.float.to_complex()", "torch.promote_types(torch.int8, torch.float16)",
         "torch.result_type(i, 1.5)", "torch.result_type(s, i)", "torch.result_type(b, 1)", "torch.can_cast(torch.float, torch.int)",
         "torch.get_default_dtype()", "torch.strided", "torch.channels_last", "torch.typename(a)", "torch.max(a, 1)", "torch.max(a, 1).indices",
         "type(torch.max(a, 1)).__name__", "tuple(torch.max(a, 1))", "torch.broadcast_shapes((2, 1), (3,))", "torch.atleast_2d(s)",
         "torch.meshgrid(i, i, indexing='ij')", "torch.einsum('ij,kj->ik', a, a)", "torch.tensordot(a, a.T, 1)", "torch.meshgrid(i, i[:2], indexing='xy')", "torch.tensordot(a[:, :1], a, ([1], [1]))", "torch.block_diag(a, s)",
         "torch.cartesian_prod(i, i)", "torch.zeros(2, 3)", "torch.zeros((2, 3))", "torch.zeros([2], dtype=int)", "torch.ones(2, dtype=bool)",
         "torch.full((2,), 1.5)", "torch.arange(5)", "torch.arange(0, 1, 0.25)", "torch.linspace(0, 1, 5)", "torch.eye(2)", "torch.empty(0)",
         "torch.zeros_like(a)", "torch.scalar_tensor(3)", "a.sum(axis=0)", "torch.sum(a, dim=0, keepdims=True)", "a.view(3, 2)", "a.view((3, 2))",
         "a.view(-1)", "a.permute(1, 0).shape", "a.reshape([6])", "a.expand(2, 2, 3).shape", "torch.zeros(2, requires_grad=True)",
         "torch.add(a, a, alpha=2)", "torch.add(input=a, other=a)", "torch.as_tensor([1, 2])", "torch.asarray([1., 2.])",
         "torch.tensor([1, 2.5])", "torch.tensor([True, 2])", "torch.tensor([1j])", "torch.tensor([])", "torch.tensor([[], []])", "torch.tensor(3)",
         "torch.tensor([s, s])", "torch.tensor((1, 2), dtype=torch.uint8)", "torch.tensor(range(3))", "torch.tensor([2**40])",
         "torch.frombuffer(bytearray(b'abcd'), dtype=torch.uint8)"]


@pytest.mark.parametrize("source", PLAIN)
def test_plain(source):
    same(source, SETUP)


def test_one_object_for_life():
    import kindling as torch
    a = torch.ones(2, requires_grad=True)
    a.mark = "kept"
    gone = weakref.ref(a)
    y = a * a                                  # the graph holds a
    del a
    gc.collect()
    assert gone() is not None and gone().mark == "kept"
    del y
    gc.collect()
    assert gone() is None


def test_attributes_and_references():
    import kindling as torch
    a = torch.ones(2)
    a.note = [1]
    assert a.note == [1] and a.__dict__ == {"note": [1]}
    r = weakref.ref(a)
    assert r() is a
    a.self = a                                  # a cycle through the dictionary
    del a
    gc.collect()
    assert r() is None


def test_subclass():
    import kindling as torch

    class Sub(torch.Tensor):
        pass
    a = torch.ones(2).as_subclass(Sub)
    assert type(a) is Sub and type(a + 1) is Sub and type(a.sum()) is Sub and isinstance(a, torch.Tensor)
    assert type(torch.Tensor.relu(a)) is Sub
    assert type(Sub([1., 2.])) is Sub


def test_numpy_shares_memory():
    import kindling as torch
    n = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    t = torch.from_numpy(n)
    n[0, 0] = 9
    assert t[0, 0].item() == 9
    m = t.numpy()
    t[1, 1] = 7
    assert m[1, 1] == 7 and n[1, 1] == 7
    assert numpy.asarray(t).sum() == n.sum()
    assert torch.from_numpy(n.T).stride() == (1, 3)
    assert (torch.ones(2) + numpy.ones(2)).tolist() == [2, 2]
    assert (numpy.float32(2) * torch.ones(2)).tolist() == [2, 2]
    assert memoryview(t).tolist() == t.tolist()


LEGACY = ["torch.Tensor", "torch.FloatTensor", "torch.LongTensor", "torch.ones(1).double().new"]
LEGACY_DATA = ["np.arange(6.).reshape(2, 3)", "np.array([3])", "np.zeros((0, 2))", "np.array([True])", "np.array(['a'])",
               "np.array([2.], dtype='f4')", "np.float32(3)", "'ab'", "None", "3.5", "{1: 2}"]


@pytest.mark.parametrize("data", LEGACY_DATA)
@pytest.mark.parametrize("constructor", LEGACY)
def test_old_constructors_take_arrays(constructor, data):
    same(f"{constructor}({data})", "import numpy as np")


def test_old_constructors_take_sizes_and_tensors():
    for source in ("torch.Tensor(np.array(3)).shape", "torch.LongTensor(np.int64(3)).shape", "torch.Tensor(torch.tensor([3]))",
                   "torch.Tensor(torch.tensor([True]))"):
        same(source, "import numpy as np")


SOURCES = ["float(x)", "math.sqrt(x)", "int(x)", "bool(x)", "x.item()", "float(x.detach())", "with_no_grad(x)"]


def test_a_number_that_leaves_the_graph_warns_once():
    """A warning is given once in a process, so each case has one of its own: a fork of one that has imported the package."""
    program = ("import math, os, sys, warnings, {0} as torch\n"
               "@torch.no_grad()\n"
               "def with_no_grad(x): return float(x)\n"
               "for source in {1}:\n"
               "    if os.fork() == 0:\n"
               "        x = torch.ones(1, requires_grad=True)\n"
               "        with warnings.catch_warnings(record=True) as seen:\n"
               "            warnings.simplefilter('always')\n"
               "            eval(source), eval(source)\n"
               "        print(source, [str(w.message).partition(' (Triggered')[0] for w in seen], flush=True)\n"
               "        os._exit(0)\n"
               "    os.wait()\n")
    texts = [subprocess.run([sys.executable, "-c", program.format(name, SOURCES)], capture_output=True, text=True).stdout for name in ("torch", "kindling")]
    assert texts[0].count("\n") == len(SOURCES) and texts[0] == texts[1]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64", "complex128"])
def test_numpy_dtypes(dtype):
    import kindling as torch
    n = numpy.ones((2, 2), dtype)
    t = torch.from_numpy(n)
    assert t.dtype is getattr(torch, dtype)
    assert t.numpy().dtype == n.dtype and (t.numpy() == n).all()
    assert torch.tensor(n).tolist() == n.tolist()


def test_dlpack():
    import kindling as torch
    a = torch.arange(4.)
    b = torch.from_dlpack(a)
    b[0] = 5
    assert a[0].item() == 5
    assert numpy.from_dlpack(a)[0] == 5
    capsule = torch.to_dlpack(a)
    torch.from_dlpack(capsule)
    with pytest.raises(RuntimeError):
        torch.from_dlpack(capsule)


def test_copies_and_pickles():
    import kindling as torch
    a = torch.arange(6.).reshape(2, 3)
    a.tag = 1
    b = copy.deepcopy(a)
    assert b.tag == 1 and (b == a).all() and b.data_ptr() != a.data_ptr()
    c = copy.copy(a)
    assert c.data_ptr() == a.data_ptr()
    d = pickle.loads(pickle.dumps(a))
    assert (d == a).all()
    assert pickle.loads(pickle.dumps(torch.float32)) is torch.float32
    assert pickle.loads(pickle.dumps(torch.Size([1, 2]))) == torch.Size([1, 2])
    assert pickle.loads(pickle.dumps(torch.device("cpu"))) == torch.device("cpu")
    assert pickle.loads(pickle.dumps(torch.relu)) is not None
    assert pickle.loads(pickle.dumps(torch.Tensor.relu)) is torch.Tensor.relu


OUT = ["F.linear(a, a, out=torch.empty(0))", "F.linear(a, a, a[0, :2], out=torch.empty(2, 2))",
       "torch.native_batch_norm(a, None, None, None, None, True, 0.1, 1e-5, out=(torch.empty(0), torch.empty(0), torch.empty(0)))",
       "torch.argsort(i, stable=True, out=torch.empty(0, dtype=torch.int64))", "F.softshrink(a, -0.5)", "F.softshrink(a, 1.5)",
       "nn.Softshrink(-1)(a)", "torch.roll(s, 1, 0)", "torch.roll(s, (1, 2), (0, 0))", "torch.roll(s, 1)", "torch.roll(s, 1, -1)",
       "F.softshrink(a.half(), 1e5)", "F.softshrink(a.double(), 1e39)", "torch.softmax(s, 0)", "torch.log_softmax(s, -1)",
       "a.polygamma(1)", "a.clone().polygamma_(2)", "torch.ones(2, dtype=torch.int64).polygamma_(1)", "i.polygamma(0)",
       "torch.gather(a, 1, torch.tensor([[0, 1, 0]]), out=a[:1])", "torch.cat([a, a], out=a)", "torch.take(a, torch.tensor([0, 1]), out=a[0, :2])",
       "torch.index_select(a, 0, torch.tensor([0, 1]), out=a)", "torch.masked_select(a[0], a[0] > 0, out=a[0])",
       "torch.kthvalue(a[0], 1, out=(a[0, 0], torch.tensor(0)))", "torch.cat([a, a], out=torch.empty(0))"]


@pytest.mark.parametrize("source", OUT)
def test_out_forms_and_refusals(source):
    same(source, SETUP)


MASKED = ["sum(a, 1, mask=m)", "sum(i, mask=i > 1)", "prod(a, 0, keepdim=True, mask=m)", "amax(a, 1, mask=m)", "amin(i, 0, mask=i > 5)",
          "argmax(a, 1, mask=m)", "argmin(a, mask=m)", "mean(a, 1, mask=m)", "mean(i)", "median(a, 1, mask=m)", "median(i, 0, mask=i > 1)",
          "norm(a, 2.0, 1, mask=m)", "norm(a, -1.0, 1, mask=m)", "var(a, 1, mask=m)", "std(a, 1, False, mask=m)", "std(z)", "softmax(a, 1, mask=m)",
          "log_softmax(a, 1, mask=m)", "softmin(a, 1, mask=m)", "normalize(a, 2.0, 1, mask=m)", "logaddexp(a, a, input_mask=m)",
          "logsumexp(a, 1, mask=m)", "cumsum(a, 1, mask=m)", "cumprod(a, 0, mask=m)", "sum(a, (0, 0))", "sum(a, 3)", "sum(i, mask=m)",
          "sum(a.requires_grad_(), 1, mask=m).sum().backward(), a.grad"]


@pytest.mark.parametrize("source", MASKED)
def test_masked(source):
    same("torch.masked." + source, SETUP + "m = torch.tensor([[True, False, True], [False, False, False]])")


def test_lazy_methods_match():
    from kindling import _tensor
    names = {n for n in vars(_tensor._Methods) if not n.startswith("__") or n in dir(kindling.Tensor)}
    for name in names - {"__module__", "__dict__", "__weakref__", "__doc__", "__static_attributes__", "__firstlineno__"}:
        assert getattr(kindling.Tensor, name, None) is not None, name


@pytest.mark.parametrize("call", ["maximum(x, x)", "minimum(x, x)", "fmax(x, x)", "fmin(x, x)", "max(x)", "min(x)", "max(x, 0)", "min(x, x)", "amax(x)", "amin(x, 0)",
                                  "sort(x)", "argsort(x)", "topk(x, 1)", "msort(x)", "median(x)", "nanmedian(x, 0)", "kthvalue(x, 1)", "mode(x)", "aminmax(x)", "argmax(x)",
                                  "sign(x)", "sgn(x)", "signbit(x)", "relu(x)", "cummax(x, 0)", "cummin(x, 0)", "lt(x, x)", "clamp(x, 0)"])  # fmt: skip
def test_complex_numbers_have_no_order(call):
    """RuntimeError or NotImplementedError, as there; and what has no order there either answers."""
    same(f"torch.{call}", "x = torch.tensor([1 + 1j, 2, 0])", message=False)
    same("torch.mm(b, b)", "b = torch.ones(2, 2, dtype=torch.bool)", message=False)
