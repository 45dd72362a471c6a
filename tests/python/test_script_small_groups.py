"""Operators in a row on small tensors, which scripts run as one loop (script/run/small_group.h): nobody sees a difference."""

import random
import threading

import pytest

import kindling as torch

OFTEN = 12                  # calls until they are recorded, and some more


def calls(function, make, count=OFTEN):
    """Compares a script with the function that it is made of, on fresh arguments each time."""
    scripted = torch.jit.script(function)
    for _ in range(count):
        arguments = make()
        result, expected = scripted(*arguments), function(*arguments)
        for a, b in zip(*([each if isinstance(each, tuple) else (each,) for each in (result, expected)])):
            assert torch.equal(a, b) and a.dtype == b.dtype and a.stride() == b.stride() and a._version == b._version
            assert a.requires_grad == b.requires_grad and a.untyped_storage().nbytes() == b.untyped_storage().nbytes()
    return scripted


def chain(x):
    y = torch.sigmoid(x * 2 + 1) - 0.5
    return torch.relu(torch.tanh(y) * y + 0.25) * 3


def cell(gates, c):
    i, f, g, o = gates.chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


@pytest.mark.parametrize("make", [
    lambda: (torch.randn(10),),
    lambda: (torch.randn(()),),
    lambda: (torch.randn(3, 4).t(),),
    lambda: (torch.randn(2, 6)[:, ::2],),
    lambda: (torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),),
    lambda: (torch.randn(7).double(),),
    lambda: (torch.randn(7).bfloat16(),),
    lambda: (torch.arange(5),),
    lambda: (torch.randn(20)[random.randrange(10):][:4],),                  # at another place in its memory each time
    lambda: (torch.randn(*random.choice([(3,), (4,), (2, 2)])),),
    lambda: (torch.randn(3, requires_grad=random.random() < 0.5),),
    lambda: (torch.randn(100_000),),                                        # left to the queue
])
def test_a_chain(make):
    calls(chain, make, 30)


def test_parts_of_one_memory():
    calls(cell, lambda: (torch.randn(4, 64), torch.randn(4, 16)))

    def product(a, b):
        return (a * b + a).exp() - b

    memory = torch.randn(64)
    pairs = [(memory[:8], memory[8:16]), (memory[:8], memory[4:12]), (memory[:8], memory[:8]), (torch.randn(8), torch.randn(8))]
    calls(product, lambda: random.choice(pairs), 60)


def test_what_is_written_to_later():
    scripted = torch.jit.script(chain)
    x = torch.ones(4)
    results = []
    for i in range(OFTEN):
        results.append(scripted(x))
        x.add_(i)
        results[-1].mul_(2)                     # is nobody else's
    x = torch.ones(4)
    for i, result in enumerate(results):
        assert torch.equal(result, chain(x) * 2)
        x.add_(i)


def test_an_error_on_the_way_shows_its_line():
    @torch.jit.script
    def add(a, b):
        c = a * 2
        d = c + b
        return d.exp()

    for _ in range(OFTEN):
        add(torch.ones(3), torch.ones(3))
    with pytest.raises(RuntimeError, match="(?s)d = c [+] b.*must match the size"):
        add(torch.ones(3), torch.ones(4))
    other = torch.jit.script(add)
    for _ in range(OFTEN):                      # and where it is met while operators are recorded
        with pytest.raises(RuntimeError, match="(?s)d = c [+] b.*must match the size"):
            other(torch.ones(2), torch.ones(5))


def test_who_watches_sees_operators():
    scripted = torch.jit.script(chain)
    x = torch.ones(4)
    for _ in range(OFTEN):
        scripted(x)
    with torch.profiler.profile() as profile:
        scripted(x)
    assert {"aten::sigmoid", "aten::tanh", "aten::relu"} <= {each.key for each in profile.key_averages()}
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(scripted(x), chain(x))
    x.requires_grad_()
    scripted(x).sum().backward()
    again = torch.ones(4, requires_grad=True)
    chain(again).sum().backward()
    assert torch.equal(x.grad, again.grad)


def test_threads_share_what_was_recorded():
    scripted = torch.jit.script(cell)
    wrong = []

    def work(seed):
        draw = torch.Generator().manual_seed(seed)
        for i in range(200):
            g, c = torch.randn(2 + i % 3, 16, generator=draw), torch.randn(2 + i % 3, 4, generator=draw)
            wrong.extend(1 for a, b in zip(scripted(g, c), cell(g, c)) if not torch.equal(a, b))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


UNARY = "exp sigmoid tanh relu neg abs sin sqrt floor reciprocal".split()
SHAPES = [(3,), (2, 3), (1, 3), (2, 1), (), (4, 2, 3)]


def program(draw):
    """Text, and the shapes of its arguments a to c."""
    names, lines = ["a", "b", "c"], []
    for i in range(draw.randint(3, 12)):
        x, y = draw.choice(names[-4:]), draw.choice(names)
        lines.append(f"    v{i} = " + draw.choice([f"torch.{draw.choice(UNARY)}({x})", f"{x} + {y}", f"{x} * {y}", f"{x} - {y} * 0.5", f"{x} / 3", f"torch.maximum({x}, {y})",
                                                   f"torch.where({x} > {y}, {x}, {y})", f"torch.clamp({x}, -1, 1)", f"{x}.float()", f"{x}.double()", f"({x} > 0).float()", f"{x}.sum()"]))
        names.append(f"v{i}")
    return "def f(a, b, c):\n" + "\n".join(lines) + f"\n    return {names[-1]}, {draw.choice(names[3:])}\n"


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed):
    draw = random.Random(seed)
    text = program(draw)
    scope = {"torch": torch}
    exec(text, scope)
    scripted = torch.jit.CompilationUnit(text).f
    shapes = [[draw.choice(SHAPES) for _ in "abc"] for _ in range(3)]
    torch.manual_seed(seed)
    for call in range(36):
        arguments = [torch.randn(shape) for shape in shapes[call % 3]]
        if draw.random() < 0.2:
            arguments[1] = arguments[0]
        answers = []
        for function in (scripted, scope["f"]):
            try:
                answers.append([(each.nan_to_num(7.0).tolist(), each.dtype, each.stride()) for each in function(*arguments)])
            except RuntimeError as error:
                answers.append("must match" in str(error) or str(error))
        assert answers[0] == answers[1], text
