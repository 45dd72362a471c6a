"""torch.testing beside torch: what is close, the words where it is not, and the numbers of make_tensor."""
import pytest
from both import module, run, same

SETUP = """
import importlib
import numpy as np
T = importlib.import_module(torch.__name__ + ".testing")
A = T.assert_close
nan, inf = float("nan"), float("inf")
"""

CLOSE = r'''
A(1.0, 1.0)
A(1.0, 2.0)
A(1, 2)
A(1.0, 1.0+1e-3)
A(0.0, 1e-3)
A(1.0, 0.0)
A(1+1j, 1+2j)
A(True, False)
A(True, 1)
A(1, 1.0)
A(1, 1.5)
A(None, None)
A(None, 1)
A(1, None)
A("a", "a")
A("a", 1)
A(object(), 1)
A(torch.ones(2), torch.ones(2))
A(torch.ones(2), torch.ones(3))
A(torch.ones(2), torch.zeros(2))
A(torch.ones(2,2), torch.tensor([[1.,2.],[1.,1.]]))
A(torch.ones(3,2), torch.tensor([[1.,2.],[1.,3.],[1,1]]))
A(torch.ones(2), torch.ones(2, dtype=torch.float64))
A(torch.ones(2), torch.ones(2, dtype=torch.float64), check_dtype=False)
A(torch.ones(2), torch.ones(2, dtype=torch.int64), check_dtype=False)
A(torch.ones(2,2), torch.ones(2,2).t(), check_stride=True)
A(torch.ones(2,3), torch.ones(3,2).t(), check_stride=True)
A(torch.tensor(1), torch.tensor(2))
A(torch.tensor(1.0), torch.tensor(2.0))
A(torch.tensor([1,2]), torch.tensor([1,3]))
A(torch.tensor([True,False]), torch.tensor([True,True]))
A(torch.tensor([1.0,nan]), torch.tensor([1.0,nan]))
A(torch.tensor([1.0,nan]), torch.tensor([1.0,nan]), equal_nan=True)
A(torch.tensor([1.0,inf]), torch.tensor([1.0,-inf]))
A(torch.tensor([1.0,inf]), torch.tensor([2.0,inf]))
A(torch.tensor([1.0,2.0]), torch.tensor([1.0,2.1]), rtol=0, atol=0)
A(torch.tensor([1.0,2.0]), torch.tensor([1.0,2.1]), rtol=0.1, atol=0)
A(torch.tensor([1.0,2.0]), torch.tensor([1.0,2.1]), rtol=0.001, atol=0.02)
A(torch.tensor([1.0,2.0]), torch.tensor([1.0,2.1]), rtol=0.001)
A(torch.tensor([1.0,2.0]), torch.tensor([1.0,2.1]), atol=0.001)
A(torch.tensor([1.0,2.0]), torch.tensor([1.0,2.1]), msg="hello")
A(torch.tensor([1.0,2.0]), torch.tensor([1.0,2.1]), msg=lambda m: "X\\n"+m+"\\nY")
A([torch.ones(1), torch.ones(2)], [torch.ones(1), torch.zeros(2)])
A([torch.ones(1)], [torch.ones(1), torch.zeros(2)])
A([1,2,3],[1,2,4])
A((1,2,3),[1,2,3])
A((1,2,3),[1,2,4])
A({"a":1},{"a":2})
A({"a":1},{"b":2})
A({"a":1,"c":{"d":[1,2]}},{"a":1,"c":{"d":[1,3]}})
A({"a":1,"c":1},{"a":2, "b":1})
A([[1,[2]]],[[1,[3]]])
A([1],1)
A(1,[1])
A({"a":1},[1])
A({1},{1})
A({1},[1])
A("abc",["a"])
A([],[])
A([], [1])
A(torch.ones(2).requires_grad_(), torch.zeros(2))
A(np.ones(2), np.zeros(2))
A(np.ones(2), np.ones(2))
A(torch.ones(2), np.ones(2))
A(torch.ones(2), np.ones(2,dtype=np.float32))
A(np.float32(1.0), np.float32(2.0))
A(np.float32(1.0), 1.0)
A(1.0, torch.tensor(1.0))
A(torch.tensor(1.0), 1.0)
A(torch.nn.Parameter(torch.ones(1)), torch.ones(1))
A(torch.ones(1), torch.nn.Parameter(torch.ones(1)))
A(torch.ones(1), torch.nn.Parameter(torch.ones(1)), allow_subclasses=False)
A(torch.ones(0), torch.ones(0))
A(torch.ones(2, dtype=torch.complex64), torch.zeros(2, dtype=torch.complex64))
A(torch.ones(2, dtype=torch.bfloat16), torch.ones(2, dtype=torch.bfloat16)*1.02)
A(torch.ones(2, dtype=torch.float16), torch.ones(2, dtype=torch.float16)*1.002)
A(torch.ones(2, dtype=torch.float16), torch.ones(2, dtype=torch.float32)*1.0005, check_dtype=False)
A(torch.ones(2, device='meta'), torch.ones(2, device='meta'))
A(torch.ones(2, device='meta'), torch.ones(2))
A(torch.ones(2, device='meta'), torch.ones(2), check_device=False)
A(1.0, 1.0, rtol=1)
A(1.0, 1.0, atol=1)
A(nan, nan)
A(nan, nan, equal_nan=True)
A(inf, inf)
A(inf, -inf)
A(2**60, 2**60+1)
A(torch.tensor(2**60), torch.tensor(2**60+1))
A(torch.tensor([250,3],dtype=torch.uint8), torch.tensor([3,250],dtype=torch.uint8))
A(torch.zeros(2), torch.tensor([0, 1e-3]))
A(torch.tensor([1.,2.,3.]), torch.tensor([0.,2.,0.]))
A(torch.ones(1,1,1), torch.zeros(1,1,1))
A(1, True)
A(np.True_, True)
A(np.True_, False)
A(1, 2, msg="hi")
A([1,2],[1,3], msg=lambda m: "<"+m+">")
A(1,2,3)
A(torch.arange(6).reshape(2,3), torch.arange(6).reshape(2,3)+torch.eye(2,3).long())
T.assert_allclose(torch.ones(2), torch.ones(2))
T.assert_allclose(torch.ones(2), torch.zeros(2))
T.assert_allclose(1., 1.1)
T.assert_allclose(1., 1.1, rtol=1, atol=1)
T.assert_allclose(torch.ones(2), torch.zeros(2), msg='hi')
T._comparison.default_tolerances(torch.float16, torch.float32)
T._comparison.default_tolerances(torch.ones(2))
T._comparison.default_tolerances(1.0)
T._comparison.default_tolerances("x")
T._comparison.get_tolerances(torch.float16, rtol=None, atol=None)
T._comparison.get_tolerances(torch.float16, rtol=1., atol=None)
T._comparison.make_scalar_mismatch_msg(1.0,2.0,rtol=0,atol=0)
T._comparison.make_scalar_mismatch_msg(1.0,2.0,rtol=0.,atol=0.5,identifier="foo")
T._comparison.make_scalar_mismatch_msg(1.0,2.0,rtol=0.,atol=0.5,identifier=lambda d: d+"!")
T._comparison.make_tensor_mismatch_msg(torch.ones(2),torch.zeros(2),torch.tensor([True,False]),rtol=0.,atol=0.5)
T._comparison.make_tensor_mismatch_msg(torch.ones(2),torch.zeros(2),torch.tensor([True,False]),rtol=0.,atol=0.5,identifier=lambda d: d+"!")
T._comparison.make_tensor_mismatch_msg(torch.ones(2),torch.zeros(2),torch.tensor([True,True]),rtol=0.,atol=0.5)
'''.strip().split("\n")


@pytest.mark.parametrize("source", CLOSE)
def test_comparison_and_its_words(source):
    same(source, SETUP)


def test_the_default_tolerances_are_torchs():
    ours, torchs = (module(name + ".testing")._comparison._DTYPE_PRECISIONS for name in ("kindling", "torch"))
    assert {str(dtype): pair for dtype, pair in ours.items()} == {str(dtype): pair for dtype, pair in torchs.items()}


DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
          "quint8", "float8_e8m0fnu")
OPTIONS = ("3", "2, 3, low=1, high=4", "(2, 3), exclude_zero=True, low=-1, high=2", "[2, 3], noncontiguous=True", "3, low=-1e30, high=1e30",
           "3, low=0", "3, high=0", "3, low=0.5, high=3.7", "3, low=3, high=3", "3, low=4, high=3", "3, low=nan, high=3", "3, low=inf, high=inf",
           "3, low=-inf, high=inf", "3, low=1e39, high=2e39", "3, requires_grad=True", "2, 2, 2, 2, memory_format=torch.channels_last",
           "2, 2, 2, 2, memory_format=torch.channels_last, noncontiguous=True", "", "(), noncontiguous=True", "1, noncontiguous=True",
           "0, noncontiguous=True", "20, exclude_zero=True, low=0, high=2")


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_make_tensor(dtype, options):
    source = (f"r = T.make_tensor({options + ',' if options else ''} dtype=torch.{dtype}, device='cpu')\n"
              "(r.shape, r.tolist(), r.stride(), r.storage_offset(), r.dtype, r.requires_grad)")
    expected, got = (run(name, source, SETUP) for name in ("torch", "kindling"))
    assert got == expected


def test_warnings_of_deprecated_uses():
    source = """import warnings
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    T.make_tensor(3, dtype=torch.float32, device="cpu", low=3, high=3)
    T.assert_allclose(1.0, 1.0)
[(str(each.message), each.category) for each in seen]"""
    same(source, SETUP)


def test_frozen_random_state():
    same("""import importlib
U = importlib.import_module(torch.__name__ + ".testing._utils")
with U.freeze_rng_state():
    torch.rand(3)
[torch.rand(1).item(), U.wrapper_set_seed(torch.rand, 2).tolist(), torch.rand(1).item()]""")
