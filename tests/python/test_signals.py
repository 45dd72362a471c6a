"""Ctrl-C in the middle of a long operator: it is heard between pieces of the work."""
import signal
import subprocess
import sys
import time

import pytest

# Each takes seconds on one thread; the time until KeyboardInterrupt is asked for, not what was done until then.
LONG = {
    "sort": "x = torch.rand(60_000_000)@x.sort()", "argsort": "x = torch.rand(40_000_000)@x.argsort(stable=True)",
    "unique": "x = torch.rand(30_000_000)@x.unique()", "rows": "x = torch.rand(6000, 10_000)@x.sort(1)",
    "pointwise": "x = torch.rand(60_000_000)@torch.special.bessel_j0(x)",
    "mm": "x = torch.rand(12000, 12000)@x @ x", "mm of bfloat16": "x = torch.rand(14000, 14000).bfloat16()@x @ x",
    "conv": "x = torch.rand(1, 256, 512, 512); w = torch.rand(256, 256, 3, 3)@torch.conv2d(x, w, padding=1)",
    "depthwise": "x = torch.rand(4, 256, 512, 512); w = torch.rand(256, 1, 9, 9)@torch.conv2d(x, w, groups=256)",
    "topk": "x = torch.rand(40_000_000)@x.topk(20_000_000)", "median": "x = torch.rand(40_000_000)@x.median()", "mode": "x = torch.rand(20_000_000)@x.mode()",
    "lgamma": "x = torch.rand(60_000_000)@torch.lgamma(x)", "search": "x = torch.rand(20_000_000); b = torch.linspace(0, 1, 5_000_000)@torch.searchsorted(b, x)",
}  # fmt: skip
CHILD = """
import sys, time
import kindling as torch
torch.set_num_threads({threads})
{setup}
print("ready", flush=True)
try:
    for _ in range(20):
        {call}
    print("finished")
except KeyboardInterrupt:
    print("heard")
    print(torch.ones(3).sort()[0].sum().item())
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", LONG)
def test_a_long_operator_hears_ctrl_c(name, threads):
    setup, call = LONG[name].split("@", 1)
    child = subprocess.Popen([sys.executable, "-c", CHILD.format(threads=threads, setup=setup, call=call)], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        sent = time.monotonic()
        assert child.stdout.readline() == "heard\n"
        waited = time.monotonic() - sent
        assert child.stdout.readline() == "3.0\n" and child.wait(20) == 0
        assert waited < 2.5, waited     # 0.2 s where nobody else uses the machine; what is under way takes 6 s and more
    finally:
        child.kill()
        child.stdout.close()


def test_a_handler_may_compute():
    code = ("import signal, os, threading, time\nimport kindling as torch\nseen = []\n"
            "signal.signal(signal.SIGUSR1, lambda *_: seen.append(torch.ones(100_000).sort()[0].sum().item()))\n"
            "x = torch.rand(10_000_000)\nthreading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()\n"
            "for _ in range(4):\n    y, i = x.sort()\n    assert bool((y[1:] >= y[:-1]).all()) and x[i].equal(y)\nprint(seen)")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120).stdout == "[100000.0]\n"
