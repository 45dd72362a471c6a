"""What programs do to a framework beside calling it: they replace methods, look into modules' dictionaries, wrap storages."""
import subprocess
import sys

import kindling
import numpy
import pytest

torch = pytest.importorskip("torch")

REPLACED = "to cpu cuda numpy item size backward storage norm split type tolist add detach register_hook unique".split()


@pytest.mark.parametrize("name", REPLACED)
@pytest.mark.parametrize("before", ["", "kindling.Tensor.{}", "x.{}", "x.norm()", "kindling.nn.Parameter(x).{}"])
def test_a_replaced_method_stays_replaced(name, before):
    """In a process of its own for all that comes before: the first look fills the type in."""
    code = (f"import kindling\nx = kindling.ones(1)\n{before.format(name)}\nkindling.Tensor.{name} = lambda self, *a, **k: 'mine'\n"
            f"assert x.{name}() == 'mine'\nx.unflatten(0, (1, 1)), kindling.nn.Linear(1, 1)\n"
            f"assert x.{name}() == kindling.nn.Parameter(x).{name}() == kindling.Tensor.{name}(x) == 'mine'\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("module", ["optim", "nn", "distributions", "autograd", "nn.utils", "nn.modules", "nn.parallel"])
def test_dictionaries_of_modules(module):
    """They hold their names once someone looks, whatever was loaded before."""
    code = (f"import kindling, kindling.{module} as m\nd = m.__dict__\nassert d is vars(m)\n"
            "assert all(name in d for name in m.__all__ if name in dir(m)), [name for name in m.__all__ if name not in d]\n"
            "assert all(d[name] is getattr(m, name) for name in d if name[:2] != '__')\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dtype", ["uint8", "float32", "int64", "float64", None])
def test_a_tensor_over_a_storage(dtype):
    results = []
    for module in (torch, kindling):
        storage = module.arange(4.0).untyped_storage()
        tensor = module.asarray(storage, dtype=dtype and getattr(module, dtype))
        results.append((str(tensor.dtype), tensor.tolist()))
        tensor.zero_()
        assert module.asarray(storage, dtype=module.float32).tolist() == [0] * 4
    assert results[0] == results[1]


def test_numpy_of_what_requires_grad():
    for module in (torch, kindling):
        x = module.ones(2, requires_grad=True)
        with pytest.raises(RuntimeError, match="requires grad"):
            x.numpy()
        with pytest.raises(RuntimeError, match="requires grad"):
            numpy.asarray(x)
        with module.no_grad():
            array = x.numpy()
            assert numpy.asarray(x).tolist() == array.tolist() == [1, 1]
        array[0] = 5
        assert x[0].item() == 5


def test_divergences_of_any_classes():
    class Mine:
        pass

    for module in (torch, kindling):
        module.distributions.register_kl(Mine, Mine)(lambda p, q: 3)
        assert module.distributions.kl_divergence(Mine(), Mine()) == 3
        with pytest.raises(TypeError):
            module.distributions.register_kl(1, Mine)


@pytest.mark.parametrize("expression", [
    "torch.ones(1).is_nonzero()", "torch.zeros(1).is_nonzero()", "torch.ones(2).is_nonzero()", "y.is_set_to(y.view(2))", "y.is_set_to(torch.ones(2))",
    "y.is_set_to(y[:1])", "y.is_set_to(y.view(2, 1))", "y.is_distributed()", "y.volatile", "torch.get_device(y)", "torch.detach_(y * 2)",
    "y.dequantize()", "torch.zeros(3, 3).fill_diagonal_(2)",
    "torch.zeros(7, 3).fill_diagonal_(2, wrap=True)", "torch.zeros(3, 2, 3).fill_diagonal_(2)", "torch.ones(2).double().float_power_(2)",
    "torch.ones(2).float_power_(2)", "y.to_dense() is y", "y.reinforce(1)", "y.qscheme()", "y.q_scale()", "torch.torch is torch",
    "torch._assert(True, 'x')", "torch._assert(torch.zeros(1), 'x')", "torch._assert_async(torch.zeros(1))", "torch._assert_async(torch.ones(1), 'm')",
    "torch._assert_async(torch.zeros(1), 'm')", "torch._C._nn._parse_to('cpu', torch.float64)", "torch._C._nn._parse_to(dtype=torch.half)",
    "torch._C._get_tracing_state()", "torch._C._log_api_usage_once('x')", "torch._C._are_functorch_transforms_active()",
    "torch._utils._flatten_dense_tensors([torch.ones(2, 2), torch.zeros(3)])", "torch._utils._element_size(torch.half)",
    "torch._utils._unflatten_dense_tensors(torch.arange(7.), [torch.ones(2, 2), torch.zeros(3)])", "torch._utils._get_device_index('cpu')",
    "[len(each) for each in torch._utils._take_tensors([torch.ones(4), torch.ones(4), torch.ones(2).double(), torch.ones(9)], 32)]",
    "torch._tensor_str.PRINT_OPTS.precision", "torch._shape_as_tensor(torch.ones(2, 3))"])
def test_small_names(expression):
    def outcome(module):
        with numpy.errstate(all="ignore"):
            try:
                value = eval(expression, {"torch": module, "y": module.ones(2)})
            except Exception as error:
                return next(kind.__name__ for kind in (NotImplementedError, RuntimeError, AssertionError, ValueError, TypeError, Exception)
                            if isinstance(error, kind))
        return repr(value)

    assert outcome(kindling) == outcome(torch)


def test_print_options_as_a_block():
    with kindling._tensor_str.printoptions(precision=2):
        assert str(kindling.tensor([1 / 3])) == "tensor([0.33])"
    assert str(kindling.tensor([1 / 3])) == "tensor([0.3333])"


def test_trees_as_functions():
    from kindling.utils import _pytree as ours
    from torch.utils import _pytree as theirs

    for tree in (theirs, ours):
        assert tree._dict_flatten({"a": 1, "b": 2}) == ([1, 2], ["a", "b"]) and tree._dict_unflatten([1, 2], ["a", "b"]) == {"a": 1, "b": 2}
        assert tree._list_flatten([1]) == ([1], None) and tree._tuple_unflatten([1], None) == (1,)


def test_checkpoints_that_keep_results_of_some_operators():
    def run(module, policy):
        from importlib import import_module
        tools = import_module(module.__name__ + ".utils.checkpoint")
        module.manual_seed(0)
        x, w = module.randn(3, 3, requires_grad=True), module.randn(3, 3, requires_grad=True)
        calls = []

        def decide(context, op, *args, **kwargs):
            calls.append((context.is_recompute, str(op)))
            return policy(tools.CheckpointPolicy, str(op))

        def body(x):
            return (x.sin() @ w).cos().sum()

        value = tools.checkpoint(body, x, use_reentrant=False, context_fn=lambda: tools.create_selective_checkpoint_contexts(decide))
        value.backward()
        return value.item(), x.grad.tolist(), [each for each in calls if "mm" in each[1] or "sin" in each[1]]

    def keep_products(kinds, op):
        return kinds.MUST_SAVE if op.startswith("aten.mm") else kinds.PREFER_RECOMPUTE

    theirs, ours = run(torch, keep_products), run(kindling, keep_products)
    assert ours[0] == pytest.approx(theirs[0], rel=1e-6) and ours[2] == theirs[2]
    assert numpy.allclose(ours[1], theirs[1], rtol=1e-5)


PLAIN = {int, float, bool, str, type(None), tuple, list, dict}


def plain(kind, t):
    """The annotation in words, if it is made of Python's types and tensors alone."""
    import types
    import typing
    if kind is Ellipsis:
        return "..."
    if kind is t.Tensor:
        return "Tensor"
    home = typing.get_origin(kind)
    if home is None:
        return {type(None): "None"}.get(kind, getattr(kind, "__name__", "")) if isinstance(kind, type) and kind in PLAIN else None
    if home not in (typing.Union, types.UnionType, tuple, list, dict):
        return None
    parts = [plain(each, t) for each in typing.get_args(kind)]
    if None in parts:
        return None
    return " | ".join(sorted(parts)) if home in (typing.Union, types.UnionType) else f"{home.__name__}{parts}"


@pytest.mark.parametrize("area", ["nn", "optim", "optim.lr_scheduler", "utils.data"])
def test_annotations_of_constructors(area):
    """What tools for command lines and configurations read: as in PyTorch, where the types are Python's and Tensor."""
    import importlib
    import inspect
    import typing

    def hints(t):
        module, found = importlib.import_module(f"{t.__name__}.{area}"), {}
        for name in dir(module):
            kind = getattr(module, name)
            if inspect.isclass(kind) and kind.__module__.partition(".")[0] == t.__name__.partition(".")[0]:
                for method in ("__init__", "forward") if area == "nn" else ("__init__",):
                    function = vars(kind).get(method)
                    if inspect.isfunction(function):
                        try:
                            read = typing.get_type_hints(function)
                        except (NameError, TypeError):
                            read = function.__annotations__
                        found[name, method] = {key: plain(each, t) for key, each in read.items() if not isinstance(each, str) and plain(each, t)}
        return found
    ours, theirs, seen, other = hints(kindling), hints(torch), 0, []
    for place, read in ours.items():
        for name, kind in theirs.get(place, {}).items():
            if name in inspect.signature(getattr(importlib.import_module(f"kindling.{area}"), place[0])).parameters and place[1] == "__init__":
                seen += 1
                if read.get(name) != kind:
                    other.append((place[0], name, read.get(name), kind))
            elif place[1] == "forward" and name in read:
                seen += 1
                if read[name] != kind:
                    other.append((place[0], name, read[name], kind))
    assert other == []      # place, parameter, ours, PyTorch's
    assert seen > {"nn": 250, "optim": 80, "optim.lr_scheduler": 40, "utils.data": 8}[area], seen
