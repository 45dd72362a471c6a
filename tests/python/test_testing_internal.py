"""torch.testing._internal beside torch: the test case, parametrised tests, tests over devices and dtypes."""
import importlib
import subprocess
import sys
import unittest

import pytest
from both import same

SETUP = """
import enum, importlib, warnings
import numpy as np
cu = importlib.import_module(torch.__name__ + ".testing._internal.common_utils")
nan, inf = float("nan"), float("inf")

class Case(cu.TestCase):
    def test(self): pass

class Object:
    def __repr__(self): return "OBJ"

class Color(enum.Enum):
    A = 1

def rnd(f, *args, **kwargs):
    torch.manual_seed(3)
    result = f(*args, **kwargs)
    return result.dtype, result.stride(), [round(abs(x), 4) for x in result.flatten().tolist()]

self, OBJ = Case("test"), Object()
"""

CASES = r'''
self.assertEqual(1, 1)
self.assertEqual(1, 2)
self.assertEqual(1, 1.0)
self.assertEqual(1.0, 1.0+1e-6)
self.assertEqual(1.0, 1.0+1e-5)
self.assertEqual(True, 1)
self.assertEqual(True, 0)
self.assertEqual(True, torch.tensor(True))
self.assertEqual(True, torch.tensor(1))
self.assertEqual(1, torch.tensor(1))
self.assertEqual(1, torch.tensor(2))
self.assertEqual(1, torch.tensor([1]))
self.assertEqual(1, torch.tensor([[2]]))
self.assertEqual(1, torch.tensor([1,2]))
self.assertEqual(torch.tensor(1.), 1.)
self.assertEqual(torch.tensor(1.), 1.1)
self.assertEqual(torch.tensor([1,2]), [1,2])
self.assertEqual(torch.tensor([1,2]), [1,3])
self.assertEqual([1,2], torch.tensor([1,2]))
self.assertEqual([1.,2], torch.tensor([1,2]))
self.assertEqual(torch.tensor([1,2]), np.array([1,2]))
self.assertEqual(torch.tensor([1.,2]), np.array([1.,2]))
self.assertEqual(torch.tensor([1.,2]), np.array([1.,2]), exact_dtype=False)
self.assertEqual(torch.tensor([1.,2]), np.array([1.,3]), exact_dtype=False)
self.assertEqual(torch.tensor([1.,2]), torch.tensor([1,2]))
self.assertEqual(torch.tensor([1.,2]), torch.tensor([1.,nan]))
self.assertEqual(torch.tensor([1.,nan]), torch.tensor([1.,nan]))
self.assertEqual(torch.tensor([1.,nan]), torch.tensor([1.,nan]), equal_nan=False)
self.assertEqual("a","a")
self.assertEqual("a","b")
self.assertEqual("a\\nb","a\\nc")
self.assertEqual("a" * 1000, "b" * 1000)
self.assertEqual("a\nb\n", "a\nb\nc" * 200)
self.assertEqual(set(range(400)), {1})
self.assertEqual({1,2},{1,2})
self.assertEqual({1,2},{1,3})
self.assertEqual(int,int)
self.assertEqual(int,float)
self.assertEqual(torch.float32,torch.float32)
self.assertEqual(torch.float32,torch.float64)
self.assertEqual(torch.Size([1,2]),torch.Size([1,3]))
self.assertEqual(torch.Size([1,2]),[1,2])
self.assertEqual(torch.device('cpu'),torch.device('meta'))
self.assertEqual(torch.device('cpu'),'cpu')
self.assertEqual(None,None)
self.assertEqual(None,1)
self.assertEqual([1,2],[1,3], msg="hello")
self.assertEqual([1,2],[1,3], "hello")
self.assertEqual([1,2],[1,3], msg=lambda m: "<"+m+">")
self.assertEqual([[1,2],3],[[1,3],4])
self.assertEqual({"a":torch.ones(1)},{"a":torch.zeros(1)})
self.assertEqual({"a":1},{"b":1})
self.assertEqual(range(3),[0,1,2])
self.assertEqual((1,),(1,2))
self.assertEqual(1.0,1.1,atol=0.2,rtol=0)
self.assertEqual(1.0,1.1,atol=0.2)
self.assertEqual(1.0,1.3,atol=0.2,rtol=0)
self.assertEqual(torch.ones(1),torch.ones(1)+.1,atol=0.2,rtol=0)
self.assertEqual(torch.nn.ModuleList([]),[])
self.assertEqual(object,1)
self.assertEqual(OBJ,OBJ)
self.assertEqual(OBJ,2)
self.assertEqual(1,None)
self.assertEqual(torch.ones(2),torch.ones(3))
self.assertEqual(torch.ones(2,2).t(),torch.ones(2,2), exact_stride=True)
self.assertEqual(torch.ones(2,device='meta'),torch.ones(2), exact_device=True)
self.assertEqual(torch.ones(0),torch.zeros(0))
self.assertEqual(np.float64(1.0),1.0)
self.assertEqual(np.int64(1),1)
self.assertEqual(np.array([1.]),np.array([1.]))
self.assertEqual(np.array([1.]),np.array([2.]))
self.assertEqual(1+1j,1+2j)
self.assertEqual(b"a",b"b")
self.assertNotEqual(1,2)
self.assertNotEqual(1,1)
self.assertNotEqual(torch.ones(1),torch.ones(1))
self.assertNotEqual(torch.ones(1),torch.ones(1),msg='x')
self.assertNotEqual(torch.ones(1),torch.zeros(1))
self.assertEqualIgnoreType(torch.ones(1),torch.ones(1).double())
self.assertEqualBroadcasting(torch.ones(2,2),1)
self.assertEqualBroadcasting(torch.ones(2,2),[[1.,1.],[1.,2.]])
self.assertEqualTypeString(torch.ones(1),torch.ones(1))
self.assertEqualTypeString(torch.ones(1),torch.ones(1).double())
self.assertObjectIn(OBJ,[OBJ])
self.assertObjectIn(OBJ,[1])
self.assertGreaterAlmostEqual(1,2)
self.assertGreaterAlmostEqual(2,1)
self.assertRaises(ValueError, lambda: 1)
self.assertRaisesRegex(ValueError, 'x', lambda: int('a'))
self.assertRaisesRegex(ValueError, 'invalid', lambda: int('a'))
self.assertNotWarn(lambda: 1)
self.assertNotWarn(lambda: warnings.warn('x'), 'hey')
self.assertExpectedInline('a','a')
self.assertTrue(torch.tensor(True))
self.assertEqual(torch.ones(3, dtype=torch.bfloat16), torch.ones(3, dtype=torch.bfloat16)*1.01)
self.assertEqual(torch.arange(3), range(3))
self.assertEqual(torch.ones(2).requires_grad_(), torch.ones(2))
self.assertEqual(torch.finfo(torch.float32).eps, 1.1920928955078125e-07)
self.assertEqual(Color.A, Color.A)
self.assertEqual(Color.A, 1)
self.assertEqual(torch.ones(1).untyped_storage(), torch.ones(1).untyped_storage())
self.assertEqual(slice(1), slice(1))
self.assertEqual([], ())
self.assertEqual({}, [])
self.assertEqual(nan, nan)
self.assertEqual(inf, -inf)
self.assertEqual(torch.tensor([True]), torch.tensor([False]))
self.assertEqual(torch.tensor([True]), [True])
self.assertEqual(1, "1")
self.precision, self.rel_tol
list(cu.iter_indices(torch.ones(2,2)))
list(cu.iter_indices(torch.tensor(1)))
list(cu.iter_indices(torch.ones(2)))
cu.dtype_name(torch.float32)
cu.noncontiguous_like(torch.arange(6.).reshape(2,3)).stride(), cu.noncontiguous_like(torch.arange(6.).reshape(2,3))
cu.noncontiguous_like(torch.arange(1.)), cu.noncontiguous_like(torch.arange(3.)).stride()
rnd(cu.random_matrix, 3, 2)
rnd(cu.random_matrix, 3, 3, singular=True)
rnd(cu.random_matrix, 3, 3, 2, dtype=torch.float64)
rnd(cu.random_symmetric_matrix, 3)
rnd(cu.random_symmetric_pd_matrix, 3)
rnd(cu.random_symmetric_psd_matrix, 3)
rnd(cu.random_hermitian_matrix, 3)
rnd(cu.random_hermitian_pd_matrix, 3, dtype=torch.float64, device='cpu')
rnd(cu.random_hermitian_psd_matrix, 3)
rnd(cu.random_square_matrix_of_rank, 3, 2)
rnd(cu.random_well_conditioned_matrix, 3, 3, dtype=torch.float64, device='cpu')
rnd(cu.random_lowrank_matrix, 2, 3, 3)
rnd(cu.make_fullrank_matrices_with_distinct_singular_values, 2, 3, 3, dtype=torch.float64, device='cpu')
rnd(cu.make_symmetric_matrices, 3, 3, dtype=torch.float64, device='cpu')
rnd(cu.make_symmetric_pd_matrices, 3, 3, dtype=torch.float64, device='cpu')
cu.is_iterable(3), cu.is_iterable([1]), cu.is_iterable_of_tensors([]), cu.is_iterable_of_tensors([torch.ones(1)]), cu.is_iterable_of_tensors([], True)
cu.numpy_to_torch_dtype_dict[np.float32], len(cu.numpy_to_torch_dtype_dict), len(cu.torch_to_numpy_dtype_dict)
cu.chunk_list([1,2,3,4,5],2)
cu.split_if_not_empty('a b'), cu.split_if_not_empty('')
cu.sanitize_test_filename('/a/test/x.py')
cu.remove_device_and_dtype_suffixes('test_a_cpu_float32')
'''.strip().split("\n")


@pytest.mark.parametrize("source", CASES)
def test_comparisons_and_helpers(source):
    same(source, SETUP)


def suites(name):
    """Names of the tests of some classes, and what each does when it runs."""
    torch, cu, cd, dt = (importlib.import_module(name + end) for end in (
        "", ".testing._internal.common_utils", ".testing._internal.common_device_type", ".testing._internal.common_dtype"))
    log=[]
    class TestA(cu.TestCase):
        @cu.parametrize("x", [1,2])
        def test_a(self, x):
            log.append(('a',x))

        @cu.parametrize("x,y", [(1,'b'),(2,'c d')])
        def test_b(self, x, y):
            log.append(('b',x,y))

        @cu.parametrize("x", [1,2])
        @cu.parametrize("y", [True,None])
        def test_c(self, x, y):
            log.append(('c',x,y))

        @cu.parametrize("x", [[1],(2,),{'a':1},lambda: 1, 1.5, torch.float32, int, 'q', object(), -1, torch.tensor(1)])
        def test_d(self, x):
            log.append(('d',))

        @cu.parametrize("x", [cu.subtest(1, name='one'), cu.subtest(2, decorators=[unittest.expectedFailure]), 3])
        def test_e(self, x):
            log.append(('e',x))
            self.assertNotEqual(x,2)

        @cu.parametrize("x,y", [cu.subtest((1,2), name='one'), (3,4)], name_fn=lambda x,y: f"N{x}{y}")
        def test_f(self, x, y):
            log.append(('f',x,y))

        @cu.decorateIf(unittest.expectedFailure, lambda p: p['x']==2)
        @cu.parametrize("x", [1,2])
        def test_g(self, x):
            self.assertNotEqual(x,2)

        def test_h(self):
            log.append('h')

        @cu.parametrize("x", [1,2])
        @unittest.skip('no')
        def test_s(self, x):
            log.append('s')

    cu.instantiate_parametrized_tests(TestA)
    class TestB(cu.TestCase):
        def test_a(self, device):
            log.append(('Ba',device))

        @cd.dtypes(torch.float32, torch.int64)
        def test_b(self, device, dtype):
            log.append(('Bb',device,str(dtype).replace('kindling','torch')))

        @cd.dtypes(torch.float32, torch.int64)
        @cd.dtypesIfCPU(torch.bool)
        def test_c(self, device, dtype):
            log.append(('Bc',str(dtype).replace('kindling','torch')))

        @cu.parametrize("x", [1,2])
        @cd.dtypes(torch.float32)
        def test_d(self, device, dtype, x):
            log.append(('Bd',x))

        @cd.onlyCUDA
        def test_e(self, device):
            log.append('Be')

        @cd.onlyCPU
        @cd.precisionOverride({torch.float32: 1.0})
        @cd.dtypes(torch.float32, torch.float64)
        def test_f(self, device, dtype):
            log.append(('Bf',self.precision,self.rel_tol))

        @cd.toleranceOverride({torch.float32: cd.tol(atol=1,rtol=2)})
        @cd.dtypes(torch.float32, torch.float64)
        def test_g(self, device, dtype):
            log.append(('Bg',self.precision,self.rel_tol))

        @cd.skipCPUIf(True,'x')
        def test_j(self, device):
            log.append('Bj')

        @cd.expectedFailureCPU
        def test_k(self, device):
            self.assertEqual(1,2)

        @cd.skipMeta
        def test_l(self, device):
            log.append('Bl')

        @cd.deviceCountAtLeast(2)
        def test_m(self, devices):
            log.append('Bm')

        @cd.deviceCountAtLeast(1)
        def test_n(self, devices):
            log.append(('Bn',devices))

        @cd.onlyNativeDeviceTypes
        @cd.dtypes((torch.float32,torch.int64),(torch.bool,torch.int64))
        def test_o(self, device, dtype):
            log.append(('Bo',str(dtype).replace('kindling','torch')))

        @cu.skipIfTorchDynamo('x')
        @cd.skipCPUIfNoLapack
        def test_p(self, device):
            log.append('Bp')

        @cu.slowTest
        def test_q(self, device):
            log.append('Bq')

        @cd.dtypes(*dt.all_types_and_complex_and(torch.bool))
        def test_r(self, device, dtype):
            log.append('Br')

        def helper(self):
            return 1

        attr = 5
        @cd.onlyAccelerator
        def test_s(self, device):
            pass

        @cd.dtypes(torch.float32)
        @cd.dtypesIfCUDA(torch.bool)
        def test_t(self, device, dtype):
            raise RuntimeError('boo')

        def test_u(self, device):
            self.assertEqual(self.device_type,'cpu')
            log.append((self.get_primary_device(), self.get_all_devices()))

    g={'TestB':TestB}
    cd.instantiate_device_type_tests(TestB, g)
    g2={}
    class TestC(cu.TestCase):
        def test_a(self, device):
            pass

    cd.instantiate_device_type_tests(TestC, g2 if not g2.update(TestC=TestC) else g2, only_for='cuda')
    g3={}
    class TestD(cu.TestCase):
        def test_a(self, device):
            pass

    cd.instantiate_device_type_tests(TestD, g3 if not g3.update(TestD=TestD) else g3, except_for=('cpu',))
    out=[]
    def names(c): return sorted(n for n in vars(c) if n.startswith('test'))
    out.append(names(TestA)); out.append({k:(names(v), v.__name__, v.__module__, v.__qualname__) for k,v in g.items()}); out.append(sorted(g2)); out.append(sorted(g3))
    def go(c):
        for n in names(c):
            del log[:]
            r=unittest.TestResult()
            c(n).run(r)
            out.append((n, r.testsRun, len(r.failures), [e[1].strip().split('\n')[-1] for e in r.errors], [s[1] for s in r.skipped], len(r.expectedFailures), len(r.unexpectedSuccesses), list(log)))
    go(TestA)
    for c in g.values(): go(c)
    return out


def test_parametrised_tests_are_named_and_run_as_in_torch():
    expected, got = suites("torch"), suites("kindling")
    for one, other in zip(expected, got):
        assert other == one
    assert len(got) == len(expected)


RUN = """
import sys
from torch.testing._internal.common_utils import TestCase, run_tests, parametrize, instantiate_parametrized_tests, IS_WINDOWS, TEST_CUDA
import torch

class TestIt(TestCase):
    @parametrize("x", [1, 2])
    def test_x(self, x):
        self.assertEqual(torch.rand(1).item(), 0.0289, atol=1e-4, rtol=0)

    def test_wrong(self):
        self.assertEqual(1, 2)

instantiate_parametrized_tests(TestIt)
if __name__ == "__main__":
    run_tests()
"""


def test_a_file_of_tests_runs_under_the_alias(tmp_path):
    (tmp_path / "test_it.py").write_text(RUN)
    result = subprocess.run([sys.executable, "-m", "kindling", "run", "test_it.py", "-v", "--seed", "1234"], cwd=tmp_path,
                            capture_output=True, text=True)
    words = result.stderr
    assert "test_x_x_1 (" in words and "test_x_x_2 (" in words and words.count("... ok") == 2, words
    assert "FAILED (failures=1)" in words and result.returncode == 1
    assert "python test_it.py TestIt.test_wrong" in words or sys.version_info < (3, 11)


def test_largest_tests_ask_for_memory():
    device = importlib.import_module("kindling.testing._internal.common_device_type")

    class Case(device.CPUTestBase):
        @device.largeTensorTest("1000000GB")
        def test_large(self):
            raise AssertionError

    result = unittest.TestResult()
    Case("test_large").run(result)
    assert [reason for _, reason in result.skipped] == ["Insufficient cpu memory"] and result.wasSuccessful()


def test_operators_of_a_suite():
    """`@ops` over objects that look like OpInfo."""
    def tests(name):
        torch, cu, cd = (importlib.import_module(name + end) for end in (
            "", ".testing._internal.common_utils", ".testing._internal.common_device_type"))

        class Op:
            def __init__(self, name, dtypes):
                self.name = self.formatted_name = name
                self.variant_test_name = ""
                self.dtypes = dtypes

            def supported_dtypes(self, device):
                return self.dtypes

            def supported_backward_dtypes(self, device):
                return {dtype for dtype in self.dtypes if dtype.is_floating_point}

            def get_decorators(self, *args):
                return [unittest.expectedFailure] if self.name == "bad" else []

        class TestOps(cu.TestCase):
            @cd.ops([Op("sin", {torch.float32, torch.float64}), Op("bad", {torch.int64})])
            def test_op(self, device, dtype, op):
                self.assertNotEqual(op.name, "bad")

            @cd.ops([Op("sin", {torch.float32, torch.int64})], dtypes=cd.OpDTypes.any_one)
            def test_one(self, device, dtype, op):
                pass

            @cd.ops([Op("sin", {torch.float32, torch.int64})], dtypes=cd.OpDTypes.none)
            def test_none(self, device, op):
                pass

            @cd.ops([Op("sin", {torch.float32, torch.int64})], allowed_dtypes=(torch.int64,))
            def test_allowed(self, device, dtype, op):
                pass

        scope = {"TestOps": TestOps}
        cd.instantiate_device_type_tests(TestOps, scope)
        result = unittest.TestResult()
        unittest.TestLoader().loadTestsFromTestCase(scope["TestOpsCPU"]).run(result)
        return sorted(vars(scope["TestOpsCPU"])), result.testsRun, len(result.errors), len(result.expectedFailures)

    expected, got = tests("torch"), tests("kindling")
    assert [n for n in got[0] if n.startswith("test")] == [n for n in expected[0] if n.startswith("test")] and got[1:] == expected[1:]


def test_sets_of_dtypes():
    def sets(name):
        module = importlib.import_module(name + ".testing._internal.common_dtype")
        torch = importlib.import_module(name)
        return {each: str(getattr(module, each)()).replace("kindling", "torch") for each in dir(module) if "mps" not in each and each.startswith(
            ("all_", "floating_", "integral_", "complex_", "float8_", "double_", "empty_")) and callable(getattr(module, each))} | {
            "and": str(module.all_types_and(torch.half, torch.bool)), "math": str(module.get_all_math_dtypes("cpu"))}

    assert sets("kindling") == sets("torch")


def test_fresh_tensors_are_checked():
    common = importlib.import_module("kindling.testing._internal.common_utils")
    torch = importlib.import_module("kindling")

    class Case(common.NestedTensorTestCase):
        def test_all(self):
            common.do_test_empty_full(self, (torch.float32, torch.int64, torch.bool), torch.strided, "cpu")
            common.do_test_dtypes(self, (torch.float32, torch.int64), torch.strided, torch.device("cpu"))
            with common.enable_profiling_mode_for_profiling_tests(), common.num_profiled_runs(2), common.AlwaysWarnTypedStorageRemoval(True):
                self.assertEqual(common.cppProfilingFlagsToProfilingMode(), common.ProfilingMode.PROFILING)

    result = unittest.TestResult()
    Case("test_all").run(result)
    assert result.wasSuccessful() and result.testsRun == 1, result.errors + result.failures


def test_a_repeated_failure_says_how():
    common = importlib.import_module("kindling.testing._internal.common_utils")
    with pytest.raises(ValueError) as caught, common.print_repro_on_failure(["python", "x.py"]):
        raise ValueError(1)
    assert sys.version_info < (3, 11) or "python x.py" in caught.value.__notes__[0]


from kindling.testing._internal.common_utils import TestCase  # noqa: E402


class TestCollectedByPytest(TestCase):
    """pytest lays the method on the instance, and takes it away after the test: it is there to be taken."""

    def test_method_is_put_back(self):
        self.assertEqual(self._testMethodName, "test_method_is_put_back")


del TestCase
