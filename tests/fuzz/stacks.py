"""Calls operators on inputs large enough for their real paths in threads with small stacks, each in a process of its own.

    python tests/fuzz/stacks.py                 # all, with stacks of 64, 128 and 256 KB, and under `ulimit -s 256`
    python tests/fuzz/stacks.py --module torch  # what PyTorch does

A fresh process makes the first call, which opens libraries and declares operators, on the small stack too. A fault is a
process that does not end well.
"""
import re
import resource
import signal
import subprocess
import sys

import children
from children import Fault

# Thread stacks in KB, and the limit of the main thread and of those that a process starts by itself.
PLACES = [("thread", 64), ("thread", 128), ("thread", 256), ("process", 256)]
SETUP = """
m = torch.randn(200, 200, requires_grad=True)
d = torch.randn(120, 120, dtype=torch.float64)
s = (d @ d.T + 120 * torch.eye(120, dtype=torch.float64)).requires_grad_()
d.requires_grad_()
c = torch.randn(64, 64, dtype=torch.complex64, requires_grad=True)
v = torch.randn(100_000, requires_grad=True)
w = torch.randn(300, 700, requires_grad=True)
i = torch.randint(0, 300, (4000,))
x = torch.randn(4, 8, 32, 32, requires_grad=True)
h = torch.randn(300, 300).to(torch.bfloat16).requires_grad_()
"""
CALLS = [
    "m @ m", "torch.bmm(x[0], x[1])", "m @ v[:200]", "torch.einsum('ij,jk->ik', m, m)", "h @ h", "c @ c", "i.reshape(40, 100) @ i.reshape(100, 40)",
    "F.linear(w, m[:, :1].expand(200, 700))", "torch.addmm(m, m, m)", "d @ d", "torch.linalg.svd(d)", "torch.linalg.svdvals(m)",
    "torch.linalg.eigh(s)", "torch.linalg.eigvals(d)", "torch.linalg.qr(d)", "torch.linalg.cholesky(s)", "torch.linalg.solve(s, d)",
    "torch.linalg.inv(s)", "torch.linalg.det(s / 100)", "torch.linalg.lstsq(d.detach(), d.detach())", "torch.linalg.matrix_exp(d / 50)",
    "torch.linalg.lu(s)", "torch.linalg.pinv(d)", "torch.linalg.matrix_rank(d)", "torch.linalg.eig(c)", "torch.linalg.svd(c)",
    "torch.linalg.solve_triangular(s.tril(), d, upper=False)", "torch.linalg.ldl_factor(s.detach())",
    "torch.exp(v)", "v + v * 2", "torch.sigmoid(h)", "torch.erfinv(v.tanh())", "torch.lgamma(v.abs())", "torch.polygamma(2, v.abs() + 1)", "torch.special.zeta(v.abs().detach() + 2, v.abs() + 1)",
    "v.sum()", "w.sum(0)", "w.sum(1)", "w.mean()", "w.var(0)", "w.std(1)", "w.prod(1)", "w.amax(0)", "w.argmax(1)", "torch.logsumexp(w, 1)", "w.norm()", "w.median(1)",
    "v.cumsum(0)", "w.cumsum(0)", "v.cumprod(0)", "torch.logcumsumexp(w, 1)", "w.cummax(1)", "v.sort()", "w.sort(0)", "v.topk(100)", "v.kthvalue(50)", "torch.unique(i)",
    "torch.unique(i, return_inverse=True, return_counts=True)", "torch.unique(i.reshape(40, 100), dim=0)", "torch.histc(v, 100)", "torch.bincount(i)", "torch.searchsorted(v.detach().sort()[0], v)",
    "torch.softmax(w, 1)", "torch.log_softmax(w, 0)", "F.layer_norm(w, (700,))", "F.batch_norm(x, None, None, training=True)", "F.group_norm(x, 4)", "F.cross_entropy(m, torch.arange(200))",
    "F.conv2d(x, x[:, :, :3, :3])", "F.conv_transpose2d(x, x[:, :, :3, :3].expand(4, 8, 3, 3).transpose(0, 1).reshape(8, 4, 3, 3))", "F.conv1d(w[None], w[:, :, None].expand(300, 700, 3)[:, :300])",
    "F.conv3d(x[None], torch.randn(4, 4, 3, 3, 3))", "F.conv2d(x, torch.randn(8, 1, 3, 3), groups=8)", "F.max_pool2d(x, 2)", "F.avg_pool2d(x, 3, 1, 1)", "F.adaptive_avg_pool2d(x, 5)",
    "F.interpolate(x, scale_factor=2, mode='bicubic')", "F.grid_sample(x, torch.rand(4, 20, 20, 2) * 2 - 1, align_corners=False)", "F.pad(x, (2, 2, 2, 2), mode='reflect')", "F.unfold(x, 3)",
    "F.scaled_dot_product_attention(x, x, x)", "torch.nn.LSTM(32, 40, 2, batch_first=True)(x[0])", "torch.nn.GRU(32, 40, bidirectional=True)(x[0])", "torch.nn.RNN(32, 20)(x[0])",
    "torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)(x[0])", "torch.nn.MultiheadAttention(32, 4)(x[0], x[0], x[0])", "F.embedding(i, m[:300].expand(200, 200).repeat(2, 1))",
    "F.embedding_bag(i.reshape(40, 100) % 200, m)", "w[i]", "w.index_select(0, i)", "w.gather(0, i.reshape(4, 1000)[:, :700])", "torch.zeros(300, 700).index_add(0, i, w[i])",
    "torch.zeros(4000).scatter_add(0, i, v[:4000])", "w[w > 0]", "torch.nonzero(w)", "torch.where(w > 0, w, -w)", "torch.cat([w, w])", "w.T.contiguous()", "w.repeat(3, 2)", "torch.roll(w, 5, 1)",
    "torch.fft.fft(v)", "torch.fft.rfft2(w)", "torch.fft.ifftn(c)", "torch.stft(v, 400, 100, window=torch.hann_window(400), return_complex=True)", "torch.randn(100_000)", "torch.rand(1000, 100).bernoulli()", "torch.randperm(100_000)",
    "torch.multinomial(w.softmax(1), 20)", "torch.distributions.Gamma(v[:1000].abs() + 1, 1.0).rsample()", "torch._standard_gamma(v[:1000].abs() + 1)", "torch.poisson(v.abs())", "torch.binomial(torch.full((100,), 20.), torch.rand(100))",
    "F.ctc_loss(torch.randn(50, 16, 20).log_softmax(2), torch.randint(1, 20, (16, 30)), torch.full((16,), 50), torch.randint(10, 30, (16,)))",
    "torch.cdist(w, w)", "F.cosine_similarity(w, w)", "torch.cov(w[:50])", "torch.quantile(w, 0.3, 1)", "torch.bucketize(v, torch.linspace(-2, 2, 50))", "torch.cross(x[..., :3], x[..., :3], -1)",
    "repr(v)", "str(w)", "v.tolist()[:2]", "torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), v[:20].detach())", "torch.utils.checkpoint.checkpoint(lambda x: x.sin().exp(), w, use_reentrant=False)",
    "torch.optim.Adam([w]).step()", "torch.func.vmap(torch.sum)(w)", "torch.save(w, io.BytesIO())", "copy.deepcopy(w)", "torch.func.grad(lambda x: x.sin().sum())(v.detach())", "chain(v)",
]
CHILD = """
import {module} as torch, {module}.nn.functional as F, {module}.utils.checkpoint, threading, sys, warnings, io, copy
warnings.simplefilter("ignore")
def chain(x):
    for _ in range(3000):
        x = x * 1.0001
    return x
def tensors(value):
    return [value] if isinstance(value, torch.Tensor) else [x for item in value for x in tensors(item)] if isinstance(value, (list, tuple)) else []
ended = []
def body():
    scope = {{"torch": torch, "F": F, "io": io, "copy": copy, "chain": chain}}
    exec({setup!r}, scope)
    result = eval({call!r}, scope)
    total = sum((x.abs() if x.is_complex() else x).double().sum() for x in tensors(result) if x.requires_grad)
    if isinstance(total, torch.Tensor):
        total.backward()
    ended.append(True)
if {thread}:
    threading.stack_size({thread} * 1024)
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
else:
    body()
sys.exit(0 if ended else 1)
"""


class Stacks:
    @staticmethod
    def options(parser):
        parser.add_argument("--module", default="kindling")
        parser.add_argument("--calls", default="", metavar="REGEX", help="only calls that it finds")

    def __init__(self, args):
        self.module, self.calls, self.limit = args.module, [call for call in CALLS if re.search(args.calls, call)], args.limit

    def call(self, number, report=None):
        place, size = PLACES[number % len(PLACES)]
        call = self.calls[number // len(PLACES) % len(self.calls)]
        source = CHILD.format(module=self.module, setup=SETUP, call=call, thread=size if place == "thread" else 0)
        if report:
            report(f"{call} with a stack of {size} KB of the {place}")

        def limit():
            if place == "process":
                resource.setrlimit(resource.RLIMIT_STACK, (size << 10, size << 10))
        try:
            done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", source], capture_output=True, text=True, preexec_fn=limit,
                                  timeout=max(1, self.limit - 5))
        except subprocess.TimeoutExpired:
            return Fault(f"took too long with a stack of {size} KB of the {place}", "", call)
        if done.returncode == 0:
            return "answered"
        how = signal.Signals(-done.returncode).name if done.returncode < 0 else "raised"
        return Fault(f"{how} with a stack of {size} KB of the {place}", done.stderr[-1500:], call)


def main():
    return children.main(__file__, Stacks, __doc__, count=len(CALLS) * len(PLACES), chunk=40, faults=10**9, memory=1 << 16)[0]


if __name__ == "__main__":
    sys.exit(main())
