"""Devices that plug-ins bring: names, modules, entry points, and a toy of two kinds with memory, copies, kernels, generators, streams."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture
def packages(tmp_path):
    """A folder of packages with the toy in it, as pip would lay it out; `entry` changes what its entry point names."""
    def make(entry="toy_backend:autoload", name="toy"):
        folder = tmp_path / "packages"
        info = folder / f"{name}_backend-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-backend\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[torch.backends]\n{name} = {entry}\n")
        (folder / "toy_backend.py").write_text((HERE / "toy_backend" / "toy_backend.py").read_text())
        return folder
    return make


def program(code, folder=None, **environment):
    """Runs a program with `import torch` under `kindling run`, the folder in its path."""
    paths = [str(folder)] if folder else []
    given = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join(paths + [p for p in [os.environ.get("PYTHONPATH")] if p])}
    return subprocess.run([sys.executable, "-m", "kindling", "run", "-c", code], capture_output=True, text=True, env=given, cwd=folder)


def result(code, folder=None, **environment):
    done = program("import torch, sys\n" + code, folder, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_the_toy(packages):
    """Named for the first time, the device is found by its entry point, and does what a device does."""
    assert result("""
assert "toy_backend" not in sys.modules
x = torch.arange(6.).reshape(2, 3).to("toy")
print(x.device, x.is_toy, x.is_cpu, torch.device("tin").type, torch.toy.device_count())
print(x)
assert torch.equal(x.cpu(), torch.arange(6.).reshape(2, 3)) and x[1, 2].item() == 5 and x.tolist()[1] == [3, 4, 5]
y = torch.ones(2, 3, device="toy:1")                 # a factory, on the second device
print(y.device, torch.zeros_like(y).device, torch.empty(2, device="toy").device)
z = x + x * 2                                         # its own kernels
print(z.cpu().tolist(), z.device, torch._C._get_accelerator())
v = x.t()[1:]                                         # views need none
v.copy_(torch.full((2, 2), 9.))                       # a write through one
print(x.cpu().tolist(), v.is_contiguous(), v.shape)
print(x.sum().item(), torch.relu(x).device)
w = torch.ones(2, device="toy"); w.add_(2).mul_(w); w += 1; print(w.cpu().tolist(), w._version)
x.fill_(2.); print(x.cpu().tolist()[0], x.clone().device, x.to(torch.float64).dtype)
print(torch.ones(2).tin().device, torch.nn.Linear(2, 2).toy().weight.device)
try: torch.mm(x, x.t())
except NotImplementedError as e: print(str(e).partition(". ")[0])
""", packages()) == [
        "toy:0 True False tin 2", "tensor([[0., 1., 2.],", "        [3., 4., 5.]], device='toy:0')", "toy:1 toy:1 toy:0",
        "[[0.0, 3.0, 6.0], [9.0, 12.0, 15.0]] toy:0 toy", "[[0.0, 9.0, 9.0], [3.0, 9.0, 9.0]] False torch.Size([2, 2])", "39.0 toy:0",
        "[10.0, 10.0] 3", "[2.0, 2.0, 2.0] toy:0 torch.float64", "tin:0 toy:0",
        "Could not run 'aten::mm' with arguments from the 'PrivateUse1' backend"]


def test_lazy_bits_on_the_toy(packages):
    """Copies on, to and from a device work a conjugate and a sign off, reading and writing."""
    assert result("""
z = torch.tensor([1 + 2j, 3 - 1j])
x = z.to("toy").conj()
print(x.is_conj(), x.cpu().tolist(), x.clone().cpu().tolist(), x.resolve_conj().cpu().tolist(), x[0].item())
x.copy_(torch.tensor([5j, 6j])); print(x.cpu().tolist(), x.conj().cpu().tolist())
n = torch._neg_view(torch.ones(2, device="toy")); n.copy_(n.clone() * 2); print(n.cpu().tolist())
""", packages()) == ["True [(1-2j), (3+1j)] [(1-2j), (3+1j)] [(1-2j), (3+1j)] (1-2j)", "[5j, 6j] [-5j, -6j]", "[-2.0, -2.0]"]


def test_autograd_on_the_toy(packages):
    assert result("""
x = torch.tensor([1., -2., 3.], device="toy", requires_grad=True)
y = (x * x + x).sum()
y.backward()
print(x.grad.device, x.grad.cpu().tolist(), y.grad_fn is not None)
""", packages()) == ["toy:0 [3.0, -3.0, 7.0] True"]


def test_two_kinds_at_once(packages):
    assert result("""
import torch.utils
a, b = torch.ones(2, device="toy"), torch.ones(2, device="tin")
import toy_backend
(a + a, b + b, b + b)
print(toy_backend.toy.calls, toy_backend.tin.calls, a.to("tin").device, a.to("tin").cpu().tolist())
print(torch._C._dispatch_key_for_device("toy"), torch._C._dispatch_key_for_device("tin"), torch._C._get_privateuse1_backend_name())
torch.utils.rename_privateuse1_backend("third")
try: torch.utils.rename_privateuse1_backend("fourth")
except RuntimeError as e: print(e)
try: torch.empty(1, device="third")
except NotImplementedError as e: print(e)
import pickle; print(pickle.loads(pickle.dumps(torch.device("tin", 0))))
""", packages()) == ["['PrivateUse1'] ['PrivateUse2', 'PrivateUse2'] tin:0 [1.0, 1.0]", "PrivateUse1 PrivateUse2 toy",
                     "torch.register_privateuse1_backend() has already been set! Current backends: toy, tin, third",
                     "Could not allocate on device 'third': no plug-in has said how", "tin:0"]


def test_memory_streams_and_generators(packages):
    assert result("""
import gc
t = torch.empty(1000, device="toy")
print(torch.toy.memory_allocated(), torch.accelerator.memory_allocated(), torch.accelerator.current_accelerator())
del t; gc.collect(); print(torch.toy.memory_allocated(), torch.toy.max_memory_allocated())
try: torch.empty(1 << 29, device="toy")
except torch.OutOfMemoryError as e: print(e)
x = torch.tensor([-1., 2.], device="toy")
y = torch.relu(x)                                     # launched on the current stream
print(y.cpu().tolist(), torch.accelerator.current_stream().query())
torch.accelerator.synchronize(); print(y.cpu().tolist(), torch.toy.current_stream().query())
s = torch.Stream("toy")
with s:
    z = torch.relu(x)
print(s.query(), torch.toy.current_stream().query()); e = s.record_event(); print(e.query()); e.synchronize(); print(e.query(), z.cpu().tolist())
with torch.accelerator.device_index(1): print(torch.empty(1, device="toy").device, torch.accelerator.current_device_index())
print(torch.empty(1, device="toy").device, torch.accelerator.device_count(), torch.accelerator.is_available())
g = torch.Generator(device="toy"); g.manual_seed(3); print(g.device, g.initial_seed())
torch.toy.manual_seed(5); a = torch.empty(3, device="toy").normal_()
print(torch.equal(a.cpu(), torch.empty(3).normal_(generator=torch.Generator().manual_seed(5))))
""", packages()) == ["4000 4000 toy", "0 4000", "toy out of memory: 2147483648 bytes were asked for", "[0.0, 0.0] False", "[0.0, 2.0] True",
                     "False True", "False", "True [0.0, 2.0]", "toy:1 1", "toy:0 2 True", "toy 3", "True"]


def test_what_has_no_kernel_may_run_on_the_host(packages):
    assert result("""
x = torch.ones(2, 2, device="toy")
torch.library.Library("_", "IMPL").fallback(None, "PrivateUse1")
y = torch.mm(x, x); x.sub_(1)
print(y.device, y.cpu().tolist(), x.cpu().tolist(), torch.nn.functional.softmax(y, -1).cpu().tolist())
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)).to("toy")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss = model(torch.randn(5, 3).to("toy")).pow(2).mean(); loss.backward(); before = loss.item(); optimizer.step()
print(loss.device, model[0].weight.grad.device)
""", packages()) == ["toy:0 [[2.0, 2.0], [2.0, 2.0]] [[0.0, 0.0], [0.0, 0.0]] [[0.5, 0.5], [0.5, 0.5]]", "toy:0 toy:0"]


def test_autoload_switched_off(packages):
    folder = packages()
    assert result("print(torch._is_device_backend_autoload_enabled())", folder, TORCH_DEVICE_BACKEND_AUTOLOAD="0") == ["False"]
    done = program("import torch; torch.device('toy')", folder, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert "Expected one of cpu" in done.stderr and "TORCH_DEVICE_BACKEND_AUTOLOAD=0" in done.stderr
    assert result("print(torch._is_device_backend_autoload_enabled(), torch.device('toy'))", folder) == ["True toy"]


def test_a_failing_plugin_is_named_and_stops_nothing(packages):
    folder = packages("broken_backend:autoload", "broken")
    (folder / "broken_backend.py").write_text("def autoload():\n    raise OSError('no driver')\n")
    assert result("""
print(torch.ones(1).item())
try: torch.device("broken")
except RuntimeError as e: print(str(e).partition("string: ")[2])
try: torch._import_device_backends()
except RuntimeError as e: print(e)
""", folder) == ["1.0", "broken (the plug-in 'broken' failed: OSError: no driver; TORCH_DEVICE_BACKEND_AUTOLOAD=0 leaves plug-ins out)",
                 "Failed to load the backend extension: broken. You can disable extension auto-loading with TORCH_DEVICE_BACKEND_AUTOLOAD=0. "
                 "(OSError: no driver)"]


def test_device_modules():
    assert result("""
import types
print(torch.get_device_module(None) is torch.cpu, torch.get_device_module("cpu") is torch.cpu, torch.get_device_module("mps") is torch.mps)
torch._C._get_accelerator = lambda: torch.device("cpu")
print(torch.get_device_module(None) is torch.cpu)
for bad in ("meta", 3):
    try: torch.get_device_module(bad)
    except RuntimeError as e: print(e)
m = types.ModuleType("mine"); torch._register_device_module("privateuseone", m)
import torch.privateuseone
print(torch.privateuseone is m, torch.get_device_module("privateuseone:0") is m)
try: torch._register_device_module("cpu", m)
except RuntimeError as e: print(str(e)[:52])
torch._C._get_accelerator = lambda: torch.device("privateuseone"); print(torch.get_device_module() is m)
print(torch.accelerator.current_accelerator(), torch.device("hpu:1"))
""") == ["True True True", "True", "Device 'meta' does not have a corresponding module registered as 'torch.meta'.",
         "Invalid value of device '3', expect torch.device, str, or None", "True True",
         "The runtime module of 'cpu' has already been registe", "True", "privateuseone hpu:1"]


def test_no_accelerator():
    assert result("""
print(torch.accelerator.current_accelerator(), torch.accelerator.device_count(), torch.accelerator.is_available(), torch.Stream(), torch.Event())
for call in (torch.accelerator.synchronize, torch.accelerator.current_stream, torch.accelerator.memory_allocated):
    try: call()
    except RuntimeError as e: print(e)
""") == ["None 0 False torch.Stream device_type=cpu, device_index=-1, stream_id=0 torch.Event device_type=cpu, device_index=-1, event_flag=0, "
         "event_id=0"] + ["Cannot access accelerator device when none is available."] * 3
