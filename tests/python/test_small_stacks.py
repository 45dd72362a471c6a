"""Threads of the program may have small stacks: 64 KB is enough for every operator, and what needs more finds it elsewhere.

No function of ours takes more than 8 KB (the build refuses it: -Wstack-usage in CMakeLists.txt); here calls are made.
"""
import os
import subprocess
import sys
from pathlib import Path

import pytest

FUZZER = Path(__file__).parents[1] / "fuzz" / "arguments.py"
pytestmark = pytest.mark.skipif(bool(os.environ.get("KINDLING_SANITIZED")), reason="frames are several times as long under the sanitizer")

SETTING = """
import sys, threading
import kindling as torch
from kindling.nn import functional as F
from kindling.utils.checkpoint import checkpoint

a, big, long = torch.randn(200, 200), torch.randn(300, 1000), torch.randn(200000)
spd = a @ a.T + 200 * torch.eye(200)
z = torch.complex(a[:60, :60], a[60:120, :60])
lstm, conv, layer = torch.nn.LSTM(32, 64, 2), torch.nn.Conv2d(3, 8, 3), torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0)

def small(function, kilobytes=64):
    results = []
    threading.stack_size(kilobytes << 10)
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    threading.stack_size(0)
    return results[0]
"""

CASES = """
big.exp()                                   # pointwise, in tiles, strided, over rows, past the caches
(big.exp() * 2 + 1).tanh().half().float()
big.t() + big.t()
big[:, ::2] * big[:, 1::2]
big + big[:, :1]
torch.randn(5000, 2000) + 1
big.t().contiguous()
torch.where(big > 0, big, 0.0)
big.sum()                                   # folds: rows, columns, long, of halves, with places
big.sum(0)
big.t().sum(0)
long.sum()
(big * big).sum(0)
big.half().mean(1)
big.var(0)
big.var(1)
big.argmax(1)
big[:, :7].argmax(1)
big.max(0)[1]
big.norm(dim=1)
big.cumsum(0)                               # scans
big.cumsum(1)
big.exp().cumprod(1)
big.cummax(1)[0]
big.half().cumsum(1)
(big.half() * 2).cumsum(0)
big.logcumsumexp(0)
big.softmax(1)                              # rows
big.softmax(0)
big[:, :5].softmax(1)
F.layer_norm(big, (1000,))
F.cross_entropy(big, torch.zeros(300, dtype=torch.long))
a @ a                                       # products
a.double() @ a.double()
a.long() @ a.long()
a.bfloat16() @ a.bfloat16()
torch.einsum("ij,jk->ik", a, a)
torch.cdist(a, a)
lstm(torch.ones(10, 4, 32))[0]              # layers
conv(torch.ones(2, 3, 32, 32))
layer(torch.ones(5, 2, 32))
F.scaled_dot_product_attention(*[torch.ones(2, 4, 64, 32, dtype=torch.double)] * 3)
F.max_pool2d(torch.ones(1, 2, 8, 8), 2)
F.interpolate(torch.ones(1, 2, 8, 8), scale_factor=2, mode="bicubic")
F.grid_sample(torch.ones(1, 2, 8, 8, dtype=torch.double), torch.zeros(1, 8, 8, 2, dtype=torch.double), align_corners=False)
torch.unique((big * 3).long())              # sorting and indexing
torch.unique((big * 3).long(), dim=0)
big.sort()[0]
big.topk(5)[0]
big.median()
big.kthvalue(3)[0]
big[big > 0]
big.gather(0, (big * 0).long())
big.nonzero()
torch.fft.fft2(big)                         # transforms
torch.fft.rfft(big.double())
torch.fft.fft(big[:, :997])
torch.linalg.solve(spd, a)                  # what LAPACK computes
torch.linalg.inv(spd)
torch.linalg.cholesky(spd)
torch.linalg.qr(a)[1].abs()
torch.linalg.svd(a)[1]
torch.linalg.svdvals(z)
torch.linalg.eigvalsh(spd)
torch.linalg.eigh(z + z.mH)[0]
torch.linalg.eigvals(z).abs().sort()[0]
torch.linalg.lstsq(spd, a, driver="gelsd")[0]
torch.linalg.det(spd / 100)
torch.matrix_exp(a / 100)
gradient(lambda x: F.softmax(x @ x, 0).exp().sum())
gradient(lambda x: lstm(x[:, :32].reshape(50, 4, 32))[0].sum())
gradient(lambda x: torch.linalg.svd(x)[1].sum())
gradient(lambda x: torch.linalg.solve(x + spd, a).sum())
gradient(lambda x: torch.autograd.grad((x ** 3).sum(), x, create_graph=True)[0].sum())
gradient(lambda x: checkpoint(lambda y: checkpoint(torch.sin, y, use_reentrant=True).exp(), x, use_reentrant=True).sum())
"""


def run(code, **options):
    return subprocess.run([sys.executable, "-c", SETTING + code], capture_output=True, text=True, **options)


def test_the_same_numbers_on_a_small_stack():
    """Each of these needed more than 64 KB once, or is of a kind with one that did."""
    done = run(f"""
def gradient(function):
    x = a.clone().requires_grad_()
    function(x).backward()
    return x.grad

count = 0
for line in {CASES!r}.strip().splitlines():
    call = compile(line, line, "eval")
    print(line, file=sys.stderr, flush=True)       # the last line says what ended the process
    torch.manual_seed(0)
    there = small(lambda: eval(call))
    torch.manual_seed(0)
    here = eval(call)
    assert torch.equal(here, there), line
    count += 1
print(count)
""")
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])
    assert int(done.stdout) == len(CASES.strip().splitlines())


def test_random_numbers_on_a_small_stack():
    done = run("""
for draw in (lambda: torch.rand(3000), lambda: torch.randn(3000), lambda: torch.rand(3000, dtype=torch.double),
             lambda: torch.bernoulli(torch.full((3000,), 0.5, dtype=torch.double)), lambda: torch.randint(0, 10, (3000,)),
             lambda: torch.randperm(3000), lambda: torch.multinomial(torch.ones(100), 10), lambda: torch.poisson(big.abs()),
             lambda: big.clone().exponential_(), lambda: torch._standard_gamma(big.abs()), lambda: F.dropout(big),
             lambda: torch.empty(3000, dtype=torch.int64).random_(), lambda: torch.empty(3000).log_normal_()):
    torch.manual_seed(0)
    there = small(draw)
    torch.manual_seed(0)
    assert torch.equal(draw(), there)
""")
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])


def test_every_operator_with_random_arguments():
    done = subprocess.run([sys.executable, FUZZER, "--count", "6000", "--seed", "3", "--stack", "64"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_a_small_stack_of_the_first_thread():
    done = run("torch.rand(200, 200) @ torch.rand(200, 200); big.sum(0); torch.linalg.svd(a); a.clone().requires_grad_().exp().sum().backward()",
               preexec_fn=lambda: __import__("resource").setrlimit(__import__("resource").RLIMIT_STACK, (256 << 10, -1)))
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])


def test_backward_calls_within_backward_calls():
    """Each takes a part of the stack; where little is left the next one runs on another."""
    done = run("""
class Deep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, depth):
        ctx.depth = depth
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        if ctx.depth:
            with torch.enable_grad():
                y = torch.ones(2, requires_grad=True)
                Deep.apply(y, ctx.depth - 1).sum().backward()
            grad = grad + y.grad
        return grad * 2, None

def deep():
    x = torch.ones(2, requires_grad=True)
    Deep.apply(x, 100).sum().backward()
    return x.grad

assert torch.equal(small(deep), deep())
assert torch.equal(small(deep, 256), deep())
""")
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])
