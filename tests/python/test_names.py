"""The names of the top module against torch's, and the parts behind those that are no operators."""
import importlib.util
import io
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import both
import pytest

import kindling

torch = pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("names_tool", ROOT / "tools" / "names.py")
names = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(names)


@pytest.fixture(scope="module")
def found():
    return names.facts()


def test_the_table_can_be_made(found):
    assert "names that work" in names.table(found)


# The least share of public names that are there or say what they need, of names that work, and of members of classes. They only rise.
BARS = {"named": 0.995, "works": 0.545, "members": 0.948, "private": 0.99}


def test_every_module_imports(found):
    assert [name for name, each in found["modules"].items() if not each["imports"]] == []


def test_shares(found):
    whole, there, raises, _ = names.totals(found)
    private, members = found["private"], sum(found["classes"].values())
    shares = {"named": (there + raises) / whole, "works": there / whole,
              "members": 1 - sum(map(len, found["members"].values())) / members,
              "private": 1 - sum(private["missing"].values()) / private["uses"]}
    assert all(shares[kind] >= least for kind, least in BARS.items()), shares


def test_the_table_knows_what_is_missing(found):
    """Nothing is missing that the table has not, and its counts are no better than what is found."""
    text = (ROOT / "docs" / "missing-names.md").read_text()
    stands = set(re.findall(r"`(torch[\w.]*)`: (.*): ", text))
    listed = {(module, name) for module, line in stands for name in re.findall(r"`(\w+)`", line)}
    missing = {(module, name) for module, each in found["modules"].items() for name in each["missing"]}
    assert missing <= listed, "run: python tools/names.py docs/missing-names.md"
    assert int(re.search(r"names that work: (\d+) of", text)[1]) <= names.totals(found)[1], "run: python tools/names.py docs/missing-names.md"


def test_what_a_star_import_takes(found):
    assert (found["beyond"], found["not_public"]) == ([], [])
    scope = {}
    exec("from kindling import *", scope)
    assert set(kindling.__all__) <= set(scope) and not any(name[0] == "_" for name in kindling.__all__)


@pytest.mark.parametrize("name", names.TYPES_ONLY)
def test_types_only(name):
    for module in (torch, kindling):
        with pytest.raises(TypeError):
            getattr(module, name)()
    assert not isinstance(1, getattr(kindling, name))


def same(source, setup=""):
    theirs = both.run("torch", source, setup)
    assert both.run("kindling", source, setup) == theirs
    return theirs


DTYPES = ("bits8 bits16 bits1x8 bits2x4 bits4x2 complex32 chalf bit float4_e2m1fn_x2 "
          "qint8 quint8 qint32 quint2x4 quint4x2 uint1 uint7 int1 int7").split()


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_without_tensors(name):
    for what in ("dtype", "dtype.itemsize", "dtype.is_floating_point", "dtype.is_complex", "dtype.is_signed"):
        same(what.replace("dtype", f"torch.{name}"))
    dtype = getattr(kindling, name)
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    for call in (lambda: kindling.empty(2, dtype=dtype), lambda: kindling.ones(2).to(dtype), lambda: kindling.tensor([1], dtype=dtype)):
        with pytest.raises(NotImplementedError, match=f"tensors of dtype {dtype} are not supported yet"):
            call()


@pytest.mark.parametrize("name", ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "complex32"))
def test_finfo_of_rare_dtypes(name):
    for what in ("eps", "max", "min", "tiny", "bits", "resolution", "dtype"):
        same(f"torch.finfo(torch.{name}).{what}")
    same(f"torch.finfo(torch.{name})")


TYPES = """
I, F, N, T, S = (getattr(torch, n + "Type").get() for n in ("Int", "Float", "None", "Tensor", "String"))
types = [getattr(torch, n + "Type").get() for n in "Any Bool Complex DeviceObj Float Int None Number PyObject StreamObj String SymBool SymInt Tensor".split()]
types += [torch.ListType.ofInts(), torch.ListType.ofTensors(), torch.OptionalType(I), torch.OptionalType.ofTensor(), torch.TupleType([I, F]),
          torch.DictType(S, T), torch.FutureType(I), torch.RRefType(I), torch.AwaitType(I), torch.UnionType([I, S])]
"""


@pytest.mark.parametrize("what", ["[(str(t), repr(t), t.kind(), t.annotation_str, str(t.containedTypes())) for t in types]",
                                  "[[a.isSubtypeOf(b) for b in types] for a in types]", "[a == b for a in types for b in types]",
                                  "str(torch.unify_type_list([I, I])), str(torch.unify_type_list([I, N]))", "torch.unify_type_list([I, F])",
                                  "torch.ListType(I).getElementType() == I", "str(torch.DictType(S, T).getValueType())"])
def test_types(what):
    same(what, TYPES)


SCHEMAS = ["aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", "ns::g() -> ()", "f(Tensor x) -> Tensor",
           "f(Tensor(a!) self, int[2] x=[1,2], str s='hi', Tensor? b=None, *, Tensor(a)[] l, float e=1e-5, Tensor(b!) out) -> (Tensor(a!) x, int[] y)",
           "h(Dict(str, Tensor) d, (int, float) t, bool[3] m, Device? dev, Any x, Generator? g, SymInt[] s, Layout? l, int[2] p=0) -> int"]


@pytest.mark.parametrize("text", SCHEMAS)
def test_schemas(text):
    setup = f"s = torch.parse_schema({text!r})"
    same("str(s), s.name, s.overload_name, s.is_mutable", setup)
    same("[(a.name, str(a.type), str(a.real_type), a.N, a.default_value, a.has_default_value(), a.alias_info is None, a.is_write, a.is_out, "
         "a.kwarg_only) for a in s.arguments]", setup)
    same("[(a.name, str(a.type)) for a in s.returns]", setup)


@pytest.mark.parametrize("text", ["f(", "f(Foo x) -> Tensor", "f(Tensor x)", "", "f(int x=) -> ()", "f(Tensor) -> Tensor"])
def test_wrong_schemas(text):
    for module in (torch, kindling):
        with pytest.raises(RuntimeError):
            module.parse_schema(text)
    with pytest.raises(RuntimeError, match="HERE"):
        kindling.parse_schema(text)


GRAPH = '''
g = torch.parse_ir("""graph(%a : Tensor, %b : Tensor):
  %2 : int = prim::Constant[value=1]()
  %l : int[] = prim::ListConstruct(%2, %2)
  %3 : Tensor = aten::add(%a, %b, %2)
  %c : bool = prim::Constant[value=1]()
  %r : Tensor = prim::If(%c)
    block0():
      %4 : Tensor = aten::relu(%3)
      -> (%4)
    block1():
      -> (%3)
  %x : Tensor, %y : Tensor = aten::max(%r, %2, %c)
  return (%x)
""")
n = g.findNode("aten::add")
h = torch.Graph(); x = h.addInput(); m = h.create("aten::relu", [x]); h.appendNode(m); h.registerOutput(m.output())
k = h.create("my::op", [x], 2); k.i_("a", 1); k.f_("b", 2.5); k.s_("c", "z"); k.is_("d", [1, 2]); k.insertBefore(m); m.replaceInput(0, k.outputsAt(1))
'''


@pytest.mark.parametrize("what", ["str(g)", "str(n), n.kind(), [v.debugName() for v in n.inputs()]", "n.schema()", "str(h), str(h.copy())",
                                  "[(u.user.kind(), u.offset) for u in n.output().uses()]", "len(g.findAllNodes('prim::Constant'))",
                                  "[len(list(b.nodes())) for b in g.findNode('prim::If').blocks()]", "k.attributeNames(), k.kindOf('d'), k.i('a')",
                                  "m.isAfter(k), k.isBefore(m), x.setDebugName('inp').debugName(), str(h)", "h.insertConstant(3).toIValue(), str(h)"])
def test_graphs(what):
    same(what, GRAPH)


KEYS = "D, S = torch.DispatchKey, torch.DispatchKeySet\na = S(D.CPU) | S(D.AutogradCPU)"


@pytest.mark.parametrize("what", ["sorted((n, int(v)) for n, v in D.__members__.items())", "[(n, S(v).raw_repr(), str(S(v)), "
                                  "str(S(v).highestPriorityTypeId())) for n, v in sorted(D.__members__.items())]",
                                  "str(a), str(a - S(D.CPU)), str(a & S(D.CPU)), a.has(D.CPU), str(a.remove(D.CPU)), str(a.add(D.Meta))",
                                  "repr(D.CPU), D(49) == D.CPU, D.CPU == 49", "sorted((n, int(v)) for n, v in torch.Tag.__members__.items())",
                                  "torch.per_tensor_affine, torch.SUM, torch.AVG"])
def test_keys(what):
    if "per_tensor" in what:
        what = "str(torch.SUM), repr(torch.AVG)"
    same(what, KEYS)


@pytest.mark.parametrize("what", [
    "d = torch.ScriptDict({'a': 1, 'b': 2})\n(str(d), list(d), list(d.items()), 'a' in d, len(d), list(d.keys()))",
    "torch.ScriptDict({'a': 1, 2: 'c'})", "l = torch.ScriptList([1, 2, 3])\n(str(l), l[1], list(l), l.count(1), len(l))",
    "torch.wait(torch.fork(lambda a: a + 1, 2)), torch.fork(len, 'ab').done()",
    "f = torch.Future([])\ng = f.then(lambda f: f.wait() + 1)\n(f.done(), f.set_result(3), f.value(), g.wait())",
    "f = torch.Future([])\nf.set_result(1)\nf.set_result(2)", "torch.FileCheck().check('a').check('c').run('a b c')",
    "torch.FileCheck().check('a').check('d').run('a b c')", "torch.FileCheck().check_count('a', 1, exactly=True).run('a b a')",
    "torch.FileCheck().check_not('a').run('a b a')", "torch.FileCheck().check('b').check_next('c').run('a b\\nc')",
    "torch.FileCheck().check_dag('c').check_dag('a').run('a b c')", "torch.LockingLogger().get_counter_val('a')",
    "torch.InferredType('why').reason(), torch.InferredType('why').success()", "torch.BenchmarkConfig().num_iters",
    "torch.sym_fresh_size(3)", "torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x - 1, (torch.zeros(1),))",
    "torch.init_num_threads()", "torch.has_lapack, torch.has_spectral", "torch.thread_safe_generator()"])
def test_small_things(what):
    same(what)


def test_archives():
    out = {}
    for module in (torch, kindling):
        buffer = io.BytesIO()
        writer = module.PyTorchFileWriter(buffer)
        writer.write_record("data.pkl", b"abc", 3)
        writer.write_record("data/0", b"x" * 5, 5)
        writer.write_end_of_file()
        out[module] = buffer.getvalue(), writer.archive_name(), writer.get_all_written_records()
    assert out[torch][1:] == out[kindling][1:]
    for data in (out[torch][0], out[kindling][0]):        # each reads what the other wrote
        for module in (torch, kindling):
            reader = module.PyTorchFileReader(io.BytesIO(data))
            assert reader.get_record("data.pkl") == b"abc" and reader.has_record("data/0") and not reader.has_record("z")
            assert (reader.get_record_size("data/0"), reader.get_record_offset("data/0") % 64) == (5, 0)
            assert {"data.pkl", "data/0", "version"} <= set(reader.get_all_records())
            with pytest.raises(RuntimeError, match="failed locating file z"):
                reader.get_record("z")


VMAP = "x, y = torch.arange(6.).reshape(2, 3), torch.arange(3.)"


@pytest.mark.parametrize("what", ["torch.vmap(torch.dot)(x, x)", "torch.vmap(torch.dot, (0, None))(x, y)", "torch.vmap(lambda a: a * 2, 1, 1)(x)",
                                  "torch.vmap(lambda a, b: (a + b, a.sum()), in_dims=(1, 1))(x, x)", "torch.vmap(lambda d: d['a'] * 2)({'a': x})",
                                  "torch.vmap(torch.dot)(x, y)", "torch.vmap(torch.dot, 5)(x, x)", "torch.vmap(lambda: 1)()",
                                  "torch.vmap(lambda a: 1)(x)", "torch.vmap(lambda a: torch.rand(2) + a.sum())(x)", "torch.vmap(torch.sin, 0.5)(x)",
                                  "torch.vmap(torch.vmap(lambda a: a + 1))(x)", "torch.vmap(torch.dot, None)(x, x)", "torch.vmap(lambda a: a, randomness='no')"])
def test_vmap(what):
    theirs, mine = both.run("torch", what, VMAP), both.run("kindling", what, VMAP)
    if re.match(r"(Value|Runtime)Error", theirs):
        assert mine.partition(":")[0] == theirs.partition(":")[0] and mine[:40] == theirs[:40]
    else:
        assert mine == theirs


def test_vmap_is_differentiable():
    x = kindling.arange(6.0).reshape(2, 3).requires_grad_()
    kindling.vmap(lambda row: (row * row).sum())(x).sum().backward()
    assert kindling.equal(x.grad, 2 * x.detach())


def test_loops_and_branches_run_as_python():
    assert kindling.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (0, kindling.ones(1)))[1].item() == 8
    with pytest.raises(RuntimeError, match="single-element tensor"):
        kindling.cond(kindling.ones(2), len, len, ())


@pytest.mark.parametrize("name", ["from kindling import SymInt, no_grad, parse_schema, nn", "import kindling.nn.functional as F; F.relu"])
def test_names_come_by_import(name):
    exec(name, {})


def test_every_name_in_a_fresh_process():
    """Each public name is found first of all, whatever the others have loaded."""
    code = ("import json, sys, kindling\n"
            "bad = {n: str(e) for n in kindling.__all__ for e in [0] if not hasattr(kindling, n)}\n"
            "print(json.dumps(bad))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert json.loads(done.stdout) == {}, done.stderr
