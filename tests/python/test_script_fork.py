"""`torch.jit.fork` and `wait` in scripts; generators, packed sequences and pooling at random places in scripts."""
import linecache
import os
import threading
import time

import pytest
import torch

import kindling

PROGRAM = '''
from typing import List, Optional, Tuple
import torch


def work(x, n: int):
    for _ in range(n):
        x = x * 1.5 + 1
    return x


def many(x, n: int):
    futures: List[torch.jit.Future[torch.Tensor]] = []
    for i in range(n):
        futures.append(torch.jit.fork(work, x, i))
    total = torch.zeros_like(x)
    for f in futures:
        total = total + f.wait() + torch.jit.wait(f)
    return total


def nested(x, n: int) -> torch.Tensor:
    f = torch.jit.fork(many, x, n)
    g = torch.jit.fork(many, x * 2, n)
    return f.wait() + g.wait()


def numbers(n: int):
    f = torch.jit.fork(pair, n)
    a, b = torch.jit.wait(f)
    return a + 1, b


def pair(n: int) -> Tuple[int, str]:
    return n * 2, str(n)


def fails(x):
    if x.numel() == 2:
        raise ValueError("two elements")
    return torch.mm(x, x)


def waits(x):
    f = torch.jit.fork(fails, x)
    y = x + 1
    return torch.jit.wait(f) + y


def waits_twice(x, again: bool):
    f = torch.jit.fork(fails, x)
    if again:
        return torch.jit.wait(f) + torch.jit.wait(f)
    return x


def gives_future(x):
    return torch.jit.fork(work, x, 3)


def draws(g: Optional[torch.Generator], n: int):
    if g is not None:
        return torch.rand([n], generator=g), torch.randint(0, 9, [n], generator=g), torch.randperm(n, generator=g), g.initial_seed()
    return torch.zeros([n]), torch.zeros([n]), torch.zeros([n]), 0


def makes_generator(seed: int):
    g = torch.Generator()
    g.manual_seed(seed)
    h = torch.Generator(seed=seed)
    return torch.rand([3], generator=g), torch.normal(0.0, 1.0, [2], generator=h)


class Part(torch.nn.Module):
    def __init__(self, n: int):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2) * n)

    def forward(self, x):
        return x * self.weight

    @torch.jit.export
    def other(self, x):
        return torch.jit.wait(torch.jit.fork(self.forward, x)) + 1


class Packed(torch.nn.Module):
    def __init__(self, kind: str):
        super().__init__()
        torch.manual_seed(0)
        self.rnn = getattr(torch.nn, kind)(3, 4, num_layers=2, bidirectional=True)

    def forward(self, x, lengths):
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        out, state = self.rnn(packed)
        back, sizes = torch.nn.utils.rnn.pad_packed_sequence(out)
        return back, sizes, state, packed.batch_sizes
'''


@pytest.fixture(scope="module")
def both():
    made = []
    for which in (torch, kindling):
        text = PROGRAM if which is torch else PROGRAM.replace("import torch", "import kindling as torch")
        name = f"<fork {which.__name__}>"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        space = {"__name__": f"fork_{which.__name__}"}
        exec(compile(text, name, "exec"), space)
        made.append((which, space))
    yield made
    for which, _ in made:
        del linecache.cache[f"<fork {which.__name__}>"]


def plain(value):
    return [plain(each) for each in value] if isinstance(value, (tuple, list)) else value.tolist() if hasattr(value, "tolist") else value


def told(both, name, *arguments):
    """What both give, arguments made by functions of the framework."""
    answers = []
    for which, space in both:
        scripted = which.jit.script(space[name])
        try:
            answers.append(plain(scripted(*[each(which) if callable(each) else each for each in arguments])))
        except Exception as error:      # noqa: BLE001
            answers.append((type(error).__name__, str(error).strip().split("\n")[-1]))
    return answers


@pytest.mark.parametrize("name, arguments", [("many", (lambda t: t.ones(3), 5)), ("nested", (lambda t: t.ones(2), 4)), ("numbers", (3,)), ("waits", (lambda t: t.ones(3, 3),)),
                                             ("waits", (lambda t: t.ones(2),)), ("waits", (lambda t: t.ones(3, 2),)), ("waits_twice", (lambda t: t.ones(2), True)),
                                             ("waits_twice", (lambda t: t.ones(2), False))], ids=lambda each: each if isinstance(each, str) else "")
def test_what_is_forked_gives_pytorchs_values_and_errors(both, name, arguments):
    theirs, ours = told(both, name, *arguments)
    assert ours == theirs


def test_gradients_flow_through_forked_calls(both):
    gradients = []
    for which, space in both:
        x = which.ones(3, requires_grad=True)
        which.jit.script(space["nested"])(x, 4).sum().backward()
        gradients.append(x.grad.tolist())
    assert gradients[0] == gradients[1]
    which, space = both[1]
    with which.no_grad():               # holds in the other thread too
        assert not which.jit.script(space["many"])(which.ones(2, requires_grad=True), 3).requires_grad


def test_modules_are_forked(both):
    answers = []
    for which, space in both:
        scripted = which.jit.script(space["Part"](3))
        y = scripted.other(which.ones(2))
        y.sum().backward()
        answers.append((y.tolist(), scripted.weight.grad.tolist()))
    assert answers[0] == answers[1]


def test_a_future_may_leave_the_script(both):
    for which, space in both:
        future = which.jit.script(space["gives_future"])(which.ones(1))
        assert future.wait().item() == 8.125 and future.done() and which.jit.wait(future).item() == 8.125


def test_forked_calls_run_at_the_same_time(tmp_path):
    """Each of two calls waits until the other has begun."""
    barrier = threading.Barrier(2)
    text = '''
import kindling as torch

@torch.jit.ignore
def meet(n: int) -> int:
    barrier.wait(60)
    return n

def other(n: int) -> int:
    return meet(n) + 1

def together(n: int):
    f = torch.jit.fork(other, n)
    return meet(n * 2), torch.jit.wait(f)
'''
    name = "<fork at the same time>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {"__name__": "together", "barrier": barrier}
    exec(compile(text, name, "exec"), space)
    assert kindling.jit.script(space["together"])(5) == (10, 6)
    del linecache.cache[name]


def test_a_child_of_a_fork_of_the_process_does_not_hang():
    """What was running when the process was forked is an error in the child; what had not begun is computed there; new forks run."""
    text = '''
import kindling as torch

@torch.jit.ignore
def rest(n: int) -> int:
    begun.set()
    go.wait(60)
    return n

def other(n: int) -> int:
    return rest(n) + 1

def begin(n: int):
    return torch.jit.fork(other, n)

def square(x):
    return x * x

def again(x):
    return torch.jit.wait(torch.jit.fork(square, x))
'''
    name = "<fork of the process>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    begun, go = threading.Event(), threading.Event()
    space = {"__name__": "processes", "begun": begun, "go": go}
    exec(compile(text, name, "exec"), space)
    again = kindling.jit.script(space["again"])
    future = kindling.jit.script(space["begin"])(5)
    assert begun.wait(60)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            try:
                future.wait()
            except RuntimeError as error:
                if "running when the process was forked" in str(error) and again(kindling.full((3,), 3.0)).tolist() == [9, 9, 9]:
                    code = 0
        finally:
            os._exit(code)
    for _ in range(600):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.1)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        pytest.fail("the child hangs")
    assert status == 0
    go.set()
    assert future.wait() == 6
    del linecache.cache[name]


def test_scripts_draw_from_generators(both):
    theirs, ours = told(both, "draws", lambda t: t.Generator().manual_seed(5), 6)
    assert ours == theirs and theirs[3] == 5
    assert told(both, "draws", None, 2)[1] == [[0, 0], [0, 0], [0, 0], 0]
    theirs, ours = told(both, "makes_generator", 7)
    assert ours[0] == theirs[0] and ours[1] == pytest.approx(theirs[1], rel=1e-5)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers_take_packed_sequences(both, kind):
    answers = []
    for which, space in both:
        module = space["Packed"](kind)
        x = which.arange(24.0).view(4, 2, 3) / 10
        lengths = which.tensor([2, 4])
        scripted = which.jit.script(module)
        made = scripted(x, lengths)
        assert plain(made) == plain(module(x, lengths))
        answers.append(made)
    flat = [[part.flatten().tolist() for part in (a, b, *(c if isinstance(c, tuple) else (c,)), d)] for a, b, c, d in answers]
    for theirs, ours in zip(*flat):
        assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("layer", ["FractionalMaxPool2d(2, output_size=3)", "FractionalMaxPool2d((2, 3), output_ratio=0.5)", "FractionalMaxPool3d(2, output_size=(2, 3, 2))",
                                   "FractionalMaxPool2d(2, output_size=3, return_indices=True)"])
def test_pooling_at_random_places_is_scripted(layer):
    answers = []
    for which in (torch, kindling):
        x = which.arange(6.0 ** (3 if "3d" in layer else 2)).reshape(1, 1, *[6] * (3 if "3d" in layer else 2))
        scripted = which.jit.script(eval(f"which.nn.{layer}"))
        which.manual_seed(3)
        answers.append(plain(scripted(x)))
    assert answers[0] == answers[1]
