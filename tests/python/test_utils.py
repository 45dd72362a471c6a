"""Trees, checkpointing, hooks' handles and DLPack, side by side with torch."""
import collections
import dataclasses
import pickle

import numpy as np
import pytest
import torch as reference
import torch.utils._pytree as theirs

import kindling
import kindling.utils._pytree as mine
import kindling.utils.checkpoint    # noqa: F401

BOTH = (kindling, reference)
Point = collections.namedtuple("Point", "x y")
TREES = [1, None, [1, [2, (3,)]], {"b": 1, "a": [2, None]}, Point(1, [2, 3]), collections.OrderedDict(z=1, y=(2,)),
         collections.defaultdict(list, a=1, b=[2]), collections.deque([1, [2]], maxlen=5), (), [], {}, ((), [1]),
         {"x": Point({"q": 1}, 2)}, "text", {1: {2: {3: 4}}}]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_trees(tree):
    (leaves, spec), (their_leaves, their_spec) = mine.tree_flatten(tree), theirs.tree_flatten(tree)
    assert leaves == their_leaves and repr(spec) == repr(their_spec)
    assert (spec.num_leaves, spec.num_nodes, spec.num_children) == (
        their_spec.num_leaves, their_spec.num_nodes, their_spec.num_children)
    again = mine.tree_unflatten(leaves, spec)
    assert again == tree and type(again) is type(tree)
    assert spec == mine.tree_structure(again) and hash(spec) == hash(mine.tree_structure(again))
    assert mine.tree_leaves(tree) == theirs.tree_leaves(tree)
    assert mine.treespec_pprint(spec) == theirs.treespec_pprint(their_spec)
    double = lambda leaf: (leaf, leaf)
    assert mine.tree_map(double, tree) == theirs.tree_map(double, tree)
    assert mine.tree_map_only(int, str, tree) == theirs.tree_map_only(int, str, tree)
    assert [(mine.keystr(path), leaf) for path, leaf in mine.tree_leaves_with_path(tree)] == [
        (theirs.keystr(path), leaf) for path, leaf in theirs.tree_leaves_with_path(tree)]
    for path, leaf in mine.tree_leaves_with_path(tree):
        assert mine.key_get(tree, path) is leaf


def test_is_leaf_and_several_trees():
    assert mine.tree_map(sum, [[1, 2], [3]], is_leaf=lambda each: each and isinstance(each[0], int)) == [3, 3]
    assert mine.tree_map(lambda a, b: (a, b), [1, 2], [[3], {4: 5}]) == [(1, [3]), (2, {4: 5})]
    assert mine.tree_map(lambda a, b: a + b, {"a": 1, "b": 2}, collections.OrderedDict(b=10, a=20)) == {
        "a": 21, "b": 12}
    assert mine.tree_map_with_path(lambda path, a, b: (mine.keystr(path), a, b), [1], [2]) == [("[0]", 1, 2)]
    assert mine.tree_all(bool, [1, 1]) and not mine.tree_all(bool, [1, 0]) and mine.tree_any(bool, [0, 1])
    assert mine.tree_any_only(int, bool, ["a", 0]) is False and mine.tree_all_only(int, bool, ["", 1]) is True


@pytest.mark.parametrize("tree, other", [([1], (1,)), ([1, 2], [1]), ({"a": 1}, {"b": 1}), (Point(1, 2), (1, 2)),
                                         ([[1]], [2]), ({"a": 1}, [1])])
def test_mismatched_trees(tree, other):
    messages = []
    for module in (mine, theirs):
        with pytest.raises(ValueError) as caught:
            module.tree_map(lambda *each: each, tree, other)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("prefix", [1, [1, 2], [1, [2, 3]], [[1], 2], [1, 2, 3]])
def test_broadcast_prefix(prefix):
    tree = [{"a": 0, "b": 0}, [0, (0, 0)]]
    assert (mine._broadcast_to_and_flatten(prefix, mine.tree_structure(tree))
            == theirs._broadcast_to_and_flatten(prefix, theirs.tree_structure(tree)))


def test_registration():
    class Pair:
        def __init__(self, one, two):
            self.one, self.two = one, two
    mine.register_pytree_node(Pair, lambda pair: ([pair.one, pair.two], None), lambda items, _: Pair(*items))
    doubled = mine.tree_map(lambda leaf: leaf * 2, [Pair(1, [2])])
    assert (doubled[0].one, doubled[0].two) == (2, [4])
    with pytest.raises(ValueError, match="already registered"):
        mine.register_pytree_node(Pair, None, None)
    with pytest.raises(ValueError, match="Did not find a flatten_with_keys_fn"):
        mine.tree_leaves_with_path(Pair(1, 2))

    @dataclasses.dataclass
    class Record:
        a: object
        b: object = None
    mine.register_dataclass(Record)
    assert mine.tree_map(str, Record(1)) == Record("1") and mine.tree_leaves(Record(1, [2])) == [1, 2]
    with pytest.raises(ValueError, match="does not include all dataclass fields"):
        mine.register_dataclass(dataclasses.make_dataclass("Other", ["a", "b"]), field_names=["a"])

    @dataclasses.dataclass(frozen=True)
    class Fixed:
        value: int
    mine.register_constant(Fixed)
    assert mine.tree_flatten([Fixed(3)])[0] == [] and mine.tree_map(str, [Fixed(3)]) == [Fixed(3)]
    with pytest.raises(ValueError, match="holds 0 items"):
        mine.tree_unflatten([1], mine.tree_structure([Fixed(3)]))


# ---- checkpointing

def blocks(module):
    def block(x, weight):
        return module.nn.functional.dropout((x @ weight).sin().exp(), 0.5)
    return block


def checkpointed(module, options, *, second=False):
    x = module.tensor(np.linspace(-1, 1, 16).reshape(4, 4).tolist(), requires_grad=True)
    weight = module.tensor(np.linspace(0, 1, 16).reshape(4, 4).tolist(), requires_grad=True)
    module.manual_seed(5)
    block = blocks(module)
    if options is None:
        y = block(block(x, weight), weight)
    else:
        run = module.utils.checkpoint.checkpoint
        y = run(block, run(block, x, weight, **options), weight, **options)
    if second:
        (grad,) = module.autograd.grad(y.sum(), x, create_graph=True)
        grad.pow(2).sum().backward()
    else:
        y.sum().backward()
    return [y.detach().tolist(), x.grad.tolist(), weight.grad.tolist(), module.rand(1).item()]


@pytest.mark.parametrize("options", [{"use_reentrant": False}, {"use_reentrant": True},
                                     {"use_reentrant": False, "early_stop": False},
                                     {"use_reentrant": False, "determinism_check": "none"}], ids=str)
def test_checkpointing_changes_nothing(options):
    plain = checkpointed(kindling, None)
    assert checkpointed(kindling, options) == plain
    np.testing.assert_allclose(np.concatenate([np.ravel(each) for each in plain]), np.concatenate(
        [np.ravel(each) for each in checkpointed(reference, options)]), rtol=1e-5, atol=1e-6)


def test_checkpointing_twice_differentiated():
    assert checkpointed(kindling, {"use_reentrant": False}, second=True) == checkpointed(kindling, None, second=True)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointed_function_runs_again(reentrant):
    calls = []

    def square(x):
        calls.append(kindling.is_grad_enabled())
        return x * x
    x = kindling.ones(2, requires_grad=True)
    y = kindling.utils.checkpoint.checkpoint(square, x, use_reentrant=reentrant)
    assert calls == [not reentrant]
    y.sum().backward()
    assert calls == [not reentrant, True] and x.grad.tolist() == [2, 2]


def test_backward_twice_through_a_checkpoint():
    x = kindling.ones(2, requires_grad=True)
    y = kindling.utils.checkpoint.checkpoint(lambda value: value.exp() * value, x, use_reentrant=False)
    first = kindling.autograd.grad(y.sum(), x, retain_graph=True)[0]
    assert kindling.autograd.grad(y.sum(), x)[0].tolist() == first.tolist()


def test_nested_checkpoints():
    run = kindling.utils.checkpoint.checkpoint
    x = kindling.tensor([0.5, 1.5], requires_grad=True)

    def inner(value):
        return value.sin() * value

    def outer(value):
        return run(inner, run(inner, value, use_reentrant=False).exp(), use_reentrant=False)
    run(outer, x, use_reentrant=False).sum().backward()
    expected = x.detach().clone().requires_grad_()
    inner(inner(expected).exp()).sum().backward()
    assert x.grad.tolist() == expected.grad.tolist()


def test_sequential_checkpoints():
    def run(module, segments):
        module.manual_seed(1)
        model = module.nn.Sequential(*[module.nn.Linear(3, 3) for _ in range(5)])
        x = module.ones(2, 3, requires_grad=True)
        if segments:
            module.utils.checkpoint.checkpoint_sequential(model, segments, x, use_reentrant=False).sum().backward()
        else:
            model(x).sum().backward()
        return x.grad.tolist(), [param.grad.tolist() for param in model.parameters()]
    assert run(kindling, 2) == run(kindling, 3) == run(kindling, 0)


def changing(module, other):
    state = []

    def function(x):
        state.append(1)
        return (x * x if len(state) == 1 else other(x)).sum()
    x = module.ones(2, requires_grad=True)
    return module.utils.checkpoint.checkpoint(function, x, use_reentrant=False, early_stop=False)


@pytest.mark.parametrize("other", [lambda x: x + 1, lambda x: (x * x) * x, lambda x: x[:1] * x[:1]], ids=range(3))
def test_functions_that_change_are_noticed(other):
    messages = []
    for module in BOTH:
        with pytest.raises(module.utils.checkpoint.CheckpointError) as caught:
            changing(module, other).backward()
        # torch adds how to get a list of the operators.
        messages.append(str(caught.value).partition("\nTip:")[0].strip())
    assert messages[0] == messages[1]


def test_checkpoint_errors():
    run = kindling.utils.checkpoint.checkpoint
    x = kindling.ones(1, requires_grad=True)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        run(lambda value: value * 2, x)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: other"):
        run(lambda value, other: value, x, use_reentrant=True, other=1)
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        run(lambda value: value, x, use_reentrant=True, debug=True)
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        run(lambda value: value, x, use_reentrant=False, determinism_check="x")
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        run(lambda value: value * 2, kindling.ones(1), use_reentrant=True)
    with pytest.raises(RuntimeError, match="Only tuple of tensors is supported"):
        kindling.utils.checkpoint.detach_variable([x])


def test_checkpoint_contexts():
    seen = []

    class Noting:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            seen.append(self.name)

        def __exit__(self, *error):
            return False
    x = kindling.ones(1, requires_grad=True)
    y = kindling.utils.checkpoint.checkpoint(lambda value: value.exp(), x, use_reentrant=False,
                                             context_fn=lambda: (Noting("first"), Noting("again")))
    y.backward()
    assert seen == ["first", "again"]


# ---- handles

def test_handles():
    from kindling.utils.hooks import RemovableHandle
    hooks, extra = collections.OrderedDict(), collections.OrderedDict()
    with RemovableHandle(hooks, extra_dict=extra) as handle:
        hooks[handle.id] = extra[handle.id] = "hook"
        other = RemovableHandle(hooks)
        hooks[other.id] = "other"
    assert list(hooks.values()) == ["other"] and not extra
    handle.remove()
    copy = pickle.loads(pickle.dumps((hooks, other)))
    copy[1].remove()
    assert not copy[0] and list(hooks.values()) == ["other"]
    del hooks
    other.remove()
    dead = pickle.loads(pickle.dumps(other))
    dead.remove()


def test_full_backward_hooks():
    from kindling.utils.hooks import BackwardHook
    seen = []
    hook = BackwardHook("module", [lambda module, grads, outs: seen.append((module, grads, outs))], [])
    x = kindling.ones(2, requires_grad=True)
    (arg, number) = hook.setup_input_hook((x, 3))
    hook.setup_output_hook(arg * number).sum().backward()
    ((module, grads, outs),) = seen
    assert module == "module" and grads[0].tolist() == [3, 3] and grads[1] is None and outs[0].tolist() == [1, 1]
    assert x.grad.tolist() == [3, 3]


def test_dlpack():
    from kindling.utils.dlpack import from_dlpack, to_dlpack
    x = kindling.arange(4)
    y = from_dlpack(to_dlpack(x))
    y[0] = 9
    assert x.tolist() == [9, 1, 2, 3]
    array = np.arange(3.0)
    from_dlpack(array)[1] = 7
    assert array.tolist() == [0, 7, 2]
