"""The effects that operators declare are those that their calls show, and tags tell them (tests/python/effects.py makes the calls)."""

import functools
import warnings

import pytest

pytest.importorskip("torch")

import effects

EFFECTS = ("Random", "RaisesByValue", "ShapeByValue", "NumberByValue")
# Linear in what these samples have alone: nothing chosen, a fill of 0, a sum in place of other reductions, no NaN, runs of one.
BY_CHANCE = {"constant_pad_nd.default", "masked_fill.Scalar", "nansum.default", "random_.to", "scatter.value", "scatter_reduce.two",
             "set_.source_Tensor", "unique_consecutive.default"}
# Operators that raise because of values and have no check that could be asked before.
RAISE_WITHOUT_CHECK = 22
TAGS = ("nondeterministic_seeded", "dynamic_output_shape", "data_dependent_output")
# Overloads that PyTorch tags otherwise. Ours alone: made of what has the tag, or of what PyTorch has no such kernel for.
OURS = {("dynamic_output_shape", name) for name in
        ("_pack_padded_sequence.default", "_pad_packed_sequence.default", "nonzero_numpy.default", "repeat_interleave.self_Tensor", "where.default")}
# Theirs alone: it draws nothing in either (dropout_p must be 0); alpha's last dimension follows the longest target, whose length ours
# reads from the header; _unique is not there.
THEIRS = {("nondeterministic_seeded", "_scaled_dot_product_flash_attention_for_cpu.default"), ("dynamic_output_shape", "_ctc_loss.default"),
          ("dynamic_output_shape", "_unique.default")}


@functools.cache
def calls():
    return effects.calls()


@functools.cache
def shown():
    return {name: effects.effects(of_one) for name, of_one in calls().items()}


def declared():
    """(name, body, whether layers see through it, traits) of what was called."""
    for name, of_one in calls().items():
        yield name, *effects.facts(of_one[0][0])


def test_there_are_calls_of_most_operators():
    assert len(calls()) > 950


@pytest.mark.parametrize("effect", EFFECTS)
def test_what_is_shown_is_declared(effect):
    """A composition that is seen through has the effects of its parts, and need not repeat them."""
    missing = {name: shown()[name][effect] for name, _, composite, traits in declared()
               if effect in shown()[name] and effect not in traits and not composite}
    assert missing == {}


@pytest.mark.parametrize("effect", EFFECTS)
def test_what_is_declared_is_shown(effect):
    assert {name for name, _, _, traits in declared() if effect in traits and effect not in shown()[name]} == set()


def test_linear_operators():
    warnings.simplefilter("ignore")  # of deprecated functions; pytest puts the filters back
    false, missing = set(), set()
    for name, body, composite, traits in declared():
        if composite or body == "pointwise":
            continue
        answers = effects.linear(calls()[name])
        if "Linear" in traits and not (answers and all(answers)):
            false.add(name)
        elif "Linear" not in traits and answers and all(answers):
            missing.add(name)
    assert false == set()
    assert missing == BY_CHANCE


def test_tags_are_those_of_pytorch():
    import torch

    import kindling

    ours, theirs = set(), set()
    for name in dir(kindling.ops.aten):
        packet, reference = getattr(kindling.ops.aten, name), getattr(torch.ops.aten, name, None)
        for overload in set(packet.overloads()) & set(reference.overloads() if reference else ()):
            here = {tag.name for tag in getattr(packet, overload).tags}
            there = {tag.name for tag in getattr(reference, overload).tags}
            ours |= {(tag, f"{name}.{overload}") for tag in TAGS if tag in here - there}
            theirs |= {(tag, f"{name}.{overload}") for tag in TAGS if tag in there - here}
    assert ours == OURS
    assert theirs == THEIRS


def test_dead_code_elimination_keeps_draws():
    import kindling
    from kindling import fx

    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(kindling.ops.aten.bernoulli_.float, (x, 0.5))
    graph.call_function(kindling.ops.aten.rand_like.default, (x,))
    graph.call_function(kindling.ops.aten.neg.default, (x,))
    graph.output(x)
    graph.eliminate_dead_code()
    assert [node.name for node in graph.nodes] == ["x", "bernoulli__float", "rand_like_default", "output"]


def value_facts(name):
    from kindling import _C

    operator = calls()[name][0][0]
    return _C._value_facts(operator._core, operator._raw)


def test_checks_of_values():
    """A declared check raises what the call raises because of values, whatever they are, and nothing where the call does not."""
    from kindling import _C

    different, asked = [], set()
    for name, of_one in calls().items():
        if value_facts(name)[0] is None:
            continue
        for operator, args, kwargs in of_one:
            for given, named in ((args, kwargs), *effects.variations(args, kwargs)):
                _, error, _ = effects.run(operator, given, named)
                try:
                    _C._check_values(operator._core, operator._raw, *given, **named)
                    said = None
                except Exception as problem:
                    said = problem
                asked.add((name, error is not None))
                if (type(error), str(error)) != (type(said), str(said)):
                    different.append((name, repr(error), repr(said)))
    assert different[:9] == []
    assert {name for name, raised in asked if not raised} == {name for name, raised in asked if raised}, "each was seen to raise, and not to"


def test_operators_that_only_the_call_checks():
    """Factorisations find out while they compute. Few more have no check of their own: their number only falls."""
    without = {name for name, _, _, traits in declared() if "RaisesByValue" in traits and value_facts(name)[0] is None}
    assert len(without) <= RAISE_WITHOUT_CHECK, sorted(without)


def drawn_words(operator, args, kwargs, count):
    """Whether a call draws so many words of 32 bits."""
    import kindling
    from kindling import _C

    effects.run(operator, args, kwargs)     # its seed
    after = kindling.get_rng_state()
    kindling.manual_seed(1)
    _C._skip_draws(count)
    return kindling.equal(after, kindling.get_rng_state())


def test_how_many_numbers_are_drawn():
    seen = set()
    for name, of_one in calls().items():
        _, words, wide = value_facts(name)
        for operator, args, kwargs in of_one if words or wide else ():
            result, error, _ = effects.run(operator, args, kwargs)
            if error is not None:
                continue
            first = effects.tensors_of(result)[0]
            each = wide if first.dtype.to_real().itemsize == 8 else words
            count = first.numel() * (1 + first.dtype.is_complex) * each
            assert drawn_words(operator, args, kwargs, count), (name, first.dtype, first.shape)
            seen.add((name, each))
    assert len(seen) > 10 and not drawn_words(*calls()["rand.default"][0], 12345)
