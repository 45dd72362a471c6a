"""Products, convolutions and look-ups that are put off: they run block by block of rows, with what comes before and after them
(graph/blocks.cpp), and nobody sees a difference."""

import os
import random
import re

import pytest

import kindling as torch
from kindling.nn import functional as F

# With the variable the whole process is one region, which `explain` does not begin.
pytestmark = pytest.mark.skipif(os.environ.get("KINDLING_DEFER") == "1", reason="regions are looked into, and KINDLING_DEFER=1 makes the process one")


@pytest.fixture(autouse=True)
def no_gradients():
    torch.manual_seed(3)
    with torch.no_grad():
        yield


def explained(function, *arguments):
    """The result, which has to be eager's bit for bit, and what was told of its only run."""
    told = torch.compiler.explain(function)(*arguments)
    assert torch.equal(told.result, function(*arguments)) and torch.equal(torch.compile(function)(*arguments), told.result)
    assert len(told.runs) == 1, str(told)
    return told.runs[0]


def together(run):
    """Of each range of blocks: first, last, how many."""
    return [tuple(map(int, each)) for each in re.findall(r"^(\d+) to (\d+) together, \d+ rows in (\d+) blocks", run.after, re.M)]


def bytes_of(*tensors):
    return sum(each.numel() * each.element_size() for each in tensors)


def transformer_part(x, w, b, g, c, mask):
    return x + F.gelu(F.linear(F.layer_norm(x, x.shape[-1:], g, c), w, b)) * mask


@pytest.mark.parametrize("shape", [(4096, 256), (8, 256, 512)])
def test_transformer_block_reads_and_writes_each_operand_once(shape):
    width = shape[-1]
    x, mask = torch.randn(shape), (torch.rand(shape) > 0.1) / 0.9
    w, b, g, c = torch.randn(width, width) * 0.05, torch.randn(width), torch.rand(width), torch.randn(width)
    run = explained(transformer_part, x, w, b, g, c, mask)
    assert [each[:2] for each in together(run)] == [(0, 2)]
    ideal = bytes_of(x, w, b, g, c, mask, x)      # the last one: the result
    assert run.bytes_fused <= 1.3 * ideal < 0.5 * run.bytes_apart, (run.bytes_fused, ideal)


def test_dropout_reads_a_byte_for_each_number():
    x, w, b = torch.randn(4096, 256), torch.randn(256, 256) * 0.05, torch.randn(256)

    def block(x, w, b):
        return x + F.dropout(F.gelu(F.linear(F.layer_norm(x, (256,)), w, b)), 0.1, True)

    torch.manual_seed(5)
    expected, state = block(x, w, b), torch.get_rng_state()
    torch.manual_seed(5)
    told = torch.compiler.explain(block)(x, w, b)
    assert torch.equal(told.result, expected) and torch.equal(torch.get_rng_state(), state)
    run, ideal = told.runs[-1], bytes_of(x, w, b, x)
    assert together(run) and run.bytes_fused <= 1.3 * ideal, (run.bytes_fused, ideal)


def test_dropout_of_complex_numbers_is_refused():
    x = torch.randn(100, 100, dtype=torch.complex64)
    with pytest.raises(NotImplementedError):
        torch.compile(lambda x: F.dropout(x * 2, 0.5, True))(x)


CASES = {
    "attention": (lambda q, k, v: torch.softmax(q @ k.transpose(-2, -1) * 0.125, -1) @ v, [(4, 8, 128, 64)] * 3, 3),
    "two layers": (lambda x, w, v: F.linear(F.linear(x * 2, w).relu(), v) + x, [(4096, 128), (256, 128), (128, 256)], 5),
    "convolution": (lambda x, w, b: F.conv2d(x * 2, w, b, padding=1).relu() + 1, [(16, 8, 40, 40), (16, 8, 3, 3), (16,)], 3),
    "half types by matrices": (lambda x, y: (x.half() @ y.half()).float() * 2, [(256, 64, 64), (256, 64, 64)], 2),
    "float64": (lambda x, w: (x.double() @ w.double()).exp(), [(8000, 64), (64, 50)], 2),
    "beta and alpha": (lambda c, x, w: torch.addmm(c * 2, x, w, beta=0.5, alpha=3).tanh(), [(9000, 80), (9000, 64), (64, 80)], 3),
    "few columns": (lambda x, w: (x * 2 @ w).relu() * 2, [(150000, 16), (16, 3)], 3),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", CASES)
def test_runs_in_blocks(name, threads):
    function, shapes, least = CASES[name]
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        run = explained(function, *[torch.randn(shape) for shape in shapes])
    finally:
        torch.set_num_threads(before)
    blocks = together(run)
    assert blocks and max(last - first + 1 for first, last, _ in blocks) >= min(least, 2), run
    assert run.bytes_fused < run.bytes_apart


def test_embedding_is_never_stored():
    indices, weight, places = torch.randint(0, 500, (32, 128)), torch.randn(500, 256), torch.randn(128, 256)
    run = explained(lambda i, w, p: F.layer_norm(F.embedding(i, w) * 2 + p, (256,)), indices, weight, places)
    assert together(run) and "never as a whole" in run.after
    rows = torch.randint(0, 500, (9000,))
    assert together(explained(lambda i, w: (w.index_select(0, i) + 1).sum(-1), rows, weight))


def test_convolutions_of_parts_of_a_batch_have_the_same_bits():
    """What blocks rely on, for those that run in blocks."""
    draw = random.Random(2)
    for _ in range(60):
        dims, batch, channels, out = draw.choice([1, 2, 2, 3]), draw.choice([2, 3, 8]), draw.choice([1, 3, 4, 16, 40]), draw.choice([1, 3, 8, 24, 64])
        sizes, kernel = {1: (80,), 2: draw.choice([(9, 9), (14, 14), (5, 33)]), 3: (5, 6, 7)}[dims], [draw.choice([1, 2, 3])] * dims
        groups = channels if draw.random() < 0.2 and out % channels == 0 else 1
        dtype = draw.choice([torch.float32, torch.float64])
        x, w = torch.randn(batch, channels, *sizes, dtype=dtype), torch.randn(out, channels // groups, *kernel, dtype=dtype)
        convolve = getattr(F, f"conv{dims}d")
        whole = convolve(x, w, padding=1, groups=groups)
        assert torch.equal(torch.cat([convolve(x[i:i + 1], w, padding=1, groups=groups) for i in range(batch)]), whole), (x.shape, w.shape)


def test_results_by_channels():
    """Computed in rows and copied, as in eager calls."""
    x, w = torch.randn(32, 8, 48, 48).contiguous(memory_format=torch.channels_last), torch.randn(16, 8, 3, 3)
    function = lambda x, w: F.conv2d(x * 2, w, padding=1).relu()
    result = torch.compile(function)(x, w)
    assert torch.equal(result, function(x, w)) and result.is_contiguous(memory_format=torch.channels_last)


def test_small_products_run_at_the_call():
    x, w = torch.randn(20, 30), torch.randn(30, 40)
    told = torch.compiler.explain(lambda x, w: x @ w)(x, w)
    assert told.recorded == 0 and torch.equal(told.result, x @ w)


def test_a_large_matrix_is_not_read_for_every_block():
    """Blocks that would read it again and save less than that are none."""
    x, w = torch.randn(400, 2048), torch.randn(2048, 2048)
    assert not together(explained(lambda x, w: F.linear(x, w).relu() * 2, x, w))


def changes_the_weight(x, w):
    y = x @ w
    w.zero_()
    return y + 1


def changes_the_result(x, w):
    y = x @ w
    y[:, ::2] = 7
    y.mul_(2)
    return y


def reads_in_between(x, w):
    y = x @ w
    return y * (2 if y[0, 0].item() > 0 else 3)


@pytest.mark.parametrize("function", [changes_the_weight, changes_the_result, reads_in_between])
def test_writes_and_reads_in_between(function):
    x, w = torch.randn(5000, 64), torch.randn(64, 80)
    expected = function(x, w.clone())
    assert torch.equal(torch.compile(function)(x, w.clone()), expected)


def test_errors_come_at_the_call():
    lines = []

    def tell(call):
        def told():
            lines.append("before")
            call()
            lines.append("after")

        return torch.compile(told)

    x, table = torch.randn(6000, 64), torch.randn(50, 64)
    for call, error, words in [
        (lambda: x @ torch.randn(65, 64), RuntimeError, "cannot be multiplied \\(6000x64 and 65x64\\)"),
        (lambda: F.embedding(torch.full((6000,), 50), table), IndexError, "index out of range in self"),
        (lambda: table.index_select(0, torch.full((6000,), -1)), IndexError, "index out of range in self"),
        (lambda: torch.addmm(x, x, torch.randn(64, 64), alpha=1j), RuntimeError, "cannot be converted"),
        (lambda: torch.addmm(x, x, torch.randn(64, 64), beta=1e300), RuntimeError, "cannot be converted to type float without overflow"),
        (lambda: F.conv1d(x[None], torch.randn(4, 65, 3)), RuntimeError, "to have 65 channels"),
    ]:
        lines.clear()
        with pytest.raises(error, match=words):
            tell(call)()
        assert lines == ["before"]


def test_meta_tensors_have_no_values_to_check():
    i, w = torch.zeros(6000, dtype=torch.int64, device="meta"), torch.empty(50, 64, device="meta")
    for function in (F.embedding, lambda i, w: w.index_select(0, i), lambda i, w: F.linear(F.embedding(i, w), w).relu()):
        result = torch.compile(function)(i, w)
        assert result.is_meta and result.shape[0] == 6000


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_any_number_of_rows(threads):
    """Blocks have as many rows as their number allows; scratch memory has room for the largest."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        w = torch.randn(64, 96)
        function = lambda x, w: (x * 2 @ w).relu() + 1
        for rows in range(5000, 5400, 7):
            x = torch.randn(rows, 64)
            assert torch.equal(torch.compile(function)(x, w), function(x, w)), rows
        for matrices in range(90, 110):
            q = torch.randn(matrices, 96, 64)
            assert torch.equal(torch.compile(lambda q: (q @ q.mT).softmax(-1) @ q)(q), (q @ q.mT).softmax(-1) @ q), matrices
    finally:
        torch.set_num_threads(before)


def test_gradients_are_eagers():
    with torch.enable_grad():
        arguments = [torch.randn(shape, requires_grad=True) for shape in [(3000, 128), (256, 128), (256,), (128, 256)]]

        def loss(x, w, b, v):
            return (F.linear(F.gelu(F.linear(F.layer_norm(x, (128,)), w, b)), v) + x).square().mean()

        expected = torch.autograd.grad(loss(*arguments), arguments)
        whole = torch.compile(lambda *a: torch.autograd.grad(loss(*a), a))
        model = torch.compile(loss)
        for given in (whole(*arguments), whole(*arguments), torch.autograd.grad(model(*arguments), arguments)):
            assert all(torch.equal(a, b) for a, b in zip(given, expected))
