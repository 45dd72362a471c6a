"""The first call of a process, for some hundred entries to the package, against the same call after everything was used.

    python tests/fuzz/first_calls.py                    # statements, and names in part
    python tests/fuzz/first_calls.py --names            # every name of every module and class as well

Much here is made when it is first asked for: methods of Tensor, functions, modules, classes. So each statement runs in a process
that has done nothing yet, and again in one in which all statements have run and all modules are loaded: the answers, or the
errors, must be the same. Processes are forked from one that has not imported the package, and from one that has seen it all.
"""
import argparse
import ast
import importlib
import json
import os
import pkgutil
import random
import re
import sys
import traceback
import warnings
from pathlib import Path

PACKAGE = os.environ.get("FIRST_CALLS_PACKAGE", "kindling")     # "torch" to see what a statement gives there
PRIVATE = ("startup", "libkindling")
CHANGING = {"__dict__", "__getattribute__"}     # a class in use has more in its dictionary, and the interpreter's own look-up

# One statement a line, or several with ";". The value of the last expression counts.
STATEMENTS = """
import pickle; pickle.loads(pickle.dumps(torch.ones(2)))
import pickle; pickle.loads(pickle.dumps(torch.ones(2, requires_grad=True), 2))
import pickle; pickle.loads(pickle.dumps(torch.nn.Parameter(torch.ones(2))))
import pickle; pickle.loads(pickle.dumps(torch.nn.Linear(2, 2)))
import pickle; pickle.loads(pickle.dumps(torch.float32))
import pickle; pickle.loads(pickle.dumps(torch.device("cpu", 0)))
import pickle; pickle.loads(pickle.dumps(torch.Size([1, 2])))
import pickle; pickle.loads(pickle.dumps(torch.strided))
import pickle; pickle.loads(pickle.dumps(torch.channels_last))
import pickle; pickle.loads(pickle.dumps(torch.Generator())).initial_seed()
import pickle; pickle.loads(pickle.dumps(torch.ones(2).untyped_storage()))
import pickle; pickle.loads(pickle.dumps(torch.add))
import pickle; pickle.loads(pickle.dumps(torch.Tensor.add))
import pickle; pickle.loads(pickle.dumps(torch.ones(2).sum))()
import pickle; pickle.loads(pickle.dumps(torch.Tensor))
import pickle; pickle.loads(pickle.dumps(torch.nn.functional.relu))
import pickle; pickle.loads(pickle.dumps(torch.nn.functional.linear))
import pickle; pickle.loads(pickle.dumps(torch.nn.LSTM))
import pickle; pickle.loads(pickle.dumps(torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1)))
import pickle; pickle.loads(pickle.dumps(torch.distributions.Normal(0.0, 1.0)))
import pickle; pickle.loads(pickle.dumps(torch.max(torch.ones(2, 2), 0)))
import pickle; pickle.loads(pickle.dumps(torch.finfo(torch.float32).max))
import pickle; pickle.loads(pickle.dumps(torch.no_grad))
import pickle; pickle.loads(pickle.dumps(torch.autograd.Function))
import pickle; pickle.loads(pickle.dumps(torch.OutOfMemoryError("no")))
import pickle; pickle.loads(pickle.dumps(torch.linalg.LinAlgError("no")))
import pickle; pickle.loads(pickle.dumps(torch.ops.aten.add))
import pickle; pickle.loads(pickle.dumps(torch.utils.data.TensorDataset(torch.ones(2, 2))))[0]
import pickle, io; f = io.BytesIO(); torch.save(torch.ones(2), f); f.seek(0); torch.load(f)
import pickle, io; f = io.BytesIO(); torch.save({"a": [torch.nn.Identity().state_dict(), torch.ones(1)]}, f); f.seek(0); torch.load(f)
from multiprocessing.reduction import ForkingPickler; len(ForkingPickler.dumps(torch.ones(2))) > 0
import copyreg; copyreg.__reduce_ex__
import copy; copy.copy(torch.ones(2))
import copy; copy.deepcopy(torch.ones(2, requires_grad=True))
import copy; copy.deepcopy(torch.nn.Sequential(torch.nn.Linear(2, 2)))
import copy; copy.deepcopy([torch.float32, torch.device("cpu"), torch.Size([2])])
import copy; copy.copy(torch.Generator())
format(torch.ones(()), ".3f")
f"{torch.ones(()):.2f} {torch.ones(2)}"
"{:d}".format(torch.tensor(3))
"%s %d %.1f" % (torch.ones(1), torch.tensor(2), torch.tensor(2.5))
str(torch.ones(2)), repr(torch.ones(2)), ascii(torch.ones(2))
complex(torch.tensor(1 + 2j))
int(torch.tensor(2)), float(torch.tensor(2)), bool(torch.tensor(2))
round(torch.tensor(2.6))
import math; math.trunc(torch.tensor(2.6))
import math; math.floor(torch.tensor(2.6)), math.ceil(torch.tensor(2.4)), math.sqrt(torch.tensor(4.0))
import operator; operator.index(torch.tensor(2))
[10, 20, 30][torch.tensor(1)], list(range(torch.tensor(3)))
divmod(torch.tensor(7), torch.tensor(2))
divmod(7, torch.tensor(2))
7 // torch.tensor(2), 7 % torch.tensor(4), 7 - torch.tensor(2), 2 ** torch.tensor(3), 7 / torch.tensor(2)
torch.tensor(6) & 3, 6 | torch.tensor(1), 6 ^ torch.tensor(2), 1 << torch.tensor(3), 8 >> torch.tensor(1)
torch.ones(2, 2) @ torch.ones(2, 2)
abs(torch.tensor(-1)), -torch.tensor(1), +torch.tensor(1), ~torch.tensor(1)
x = torch.ones(2); x += 1; x -= 3; x *= 2; x /= 4; x **= 2; x
x = torch.tensor([7]); x //= 2; x %= 2; x <<= 3; x >>= 1; x &= 6; x |= 1; x ^= 3; x
torch.ones(2) == torch.ones(2), torch.ones(2) < 2, 2 >= torch.ones(2)
torch.ones(2) == None, torch.ones(2) != "a"
5.0 in torch.ones(2, 2), 1 in torch.ones(2, 2), torch.tensor(1.0) in torch.ones(2)
"a" in torch.ones(2, 2)
list(reversed(torch.arange(3)))
list(torch.arange(3)), tuple(torch.ones(2, 1)), len(torch.ones(3))
a, b = torch.ones(2); a
sorted(torch.tensor([3, 1, 2])), max(torch.tensor([3, 1])), sum(torch.ones(3)), all(torch.ones(2)), any(torch.zeros(2))
x = torch.ones(3); x[0] = 5; x[1:] = 2; x
x = torch.arange(6).view(2, 3); x[..., None, -1], x[x > 2], x[[0, 1], [1, 2]], x[torch.tensor(1)]
del torch.ones(2)[0]
hash(torch.ones(2)) == hash(torch.ones(2))
x = torch.ones(2); {x: 1}[x]
x = torch.ones(2); x in [x]
memoryview(torch.ones(2, dtype=torch.uint8)).tolist()
bytes(torch.ones(2, dtype=torch.uint8))
torch.ones(2).__class__, type(torch.ones(2)).__name__, type(torch.ones(2)).__module__, type(torch.ones(2)).__mro__[1:]
torch.ones(2).__dict__, torch.ones(2).__doc__ is None, torch.ones(2).__module__
"sum" in vars(torch.Tensor), "sum" in torch.Tensor.__dict__, "to" in vars(torch.Tensor)
"sum" in dir(torch.ones(2)), "sum" in dir(torch.Tensor), len(dir(torch.Tensor)) > 600
hasattr(torch.ones(2), "sum"), hasattr(torch.Tensor, "nothing"), getattr(torch.ones(2), "nothing", 7)
import inspect; inspect.getattr_static(torch.ones(2), "sum")
import inspect; "view" in dict(inspect.getmembers(torch.Tensor))
import inspect; inspect.isclass(torch.nn.Linear), inspect.isfunction(torch.nn.functional.linear), inspect.isroutine(torch.add)
import inspect; str(inspect.signature(torch.nn.functional.dropout))
import inspect; str(inspect.signature(torch.nn.Linear))
import inspect; inspect.getsource(torch.nn.Linear)[:20]
import inspect; inspect.getdoc(torch.Tensor.add) is not None, inspect.getdoc(torch.add) is not None
import inspect; inspect.getmodule(torch.nn.functional.softmax).__name__
import pydoc; "dropout" in pydoc.render_doc(torch.nn.functional.dropout)
import pydoc; len(pydoc.render_doc(torch.Tensor)) > 1000
torch.add.__name__, torch.add.__module__, torch.Tensor.add.__qualname__, torch.ones(2).sum.__self__
class T(torch.Tensor): pass
class T(torch.Tensor):\n    def sum(self, *a): return super().sum(*a)\ntorch.ones(2).as_subclass(T).sum()
class T(torch.Tensor):\n    def split(self, n): return super().split(n)\ntorch.ones(4).as_subclass(T).split(2)
class T(torch.Tensor):\n    def __reduce_ex__(self, p): return super().__reduce_ex__(p)\ntorch.ones(4).as_subclass(T).__reduce_ex__(2)[0]
class T(torch.Tensor):\n    def __format__(self, f): return super().__format__(f)\nformat(torch.ones(()).as_subclass(T), "")
class T(torch.Tensor):\n    def to(self, *a, **k): return super().to(*a, **k)\n    item = 3\ntorch.ones(2).as_subclass(T).to(torch.int32).item
class T(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, f, types, args=(), kwargs=None): return f.__name__\ntorch.ones(2).as_subclass(T).norm(), torch.ones(2).as_subclass(T) + 1
class P(torch.nn.Parameter):\n    def sum(self, *a): return super().sum(*a)\nP(torch.ones(2)).sum()
torch.Tensor.to = lambda *a: "mine"; torch.ones(2).sum(); torch.ones(2).to("cpu")
torch.Tensor.split = lambda *a: "mine"; torch.ones(2).norm(); torch.ones(2).split(1)
torch.Tensor.sum = lambda *a: "mine"; torch.ones(2).max(); torch.ones(2).sum()
torch.Tensor.__contains__ = lambda *a: True; torch.ones(2).norm(); "x" in torch.ones(2)
torch.Tensor.mine = lambda self: 3; torch.ones(2).mine()
before = torch.Tensor.__dict__["norm"]; torch.Tensor.norm = None; torch.Tensor.norm = before; torch.ones(4).norm()
from unittest import mock\nwith mock.patch.object(torch.Tensor, "sum", lambda *a: 5): a = torch.ones(2).sum()\n(a, torch.ones(2).sum())
from unittest import mock\nwith mock.patch("torch.Tensor.norm".replace("torch", torch.__name__), lambda *a: 5): a = torch.ones(2).norm()\n(a, torch.ones(2).norm())
from unittest import mock\nwith mock.patch.object(torch, "relu", lambda *a: 5): a = torch.relu(1)\n(a, torch.relu(torch.ones(1)))
del torch.Tensor.norm; hasattr(torch.ones(1), "norm")
torch.relu = 3; torch.relu
torch.nn.functional.relu = lambda x: "mine"; torch.nn.functional.relu(1)
torch.nn.Linear = 5; torch.nn.Linear
import collections.abc as c; [isinstance(torch.ones(2), k) for k in (c.Iterable, c.Sized, c.Container, c.Hashable, c.Reversible, c.Collection, c.Sequence, c.Buffer if hasattr(c, "Buffer") else c.Sized)]
import numbers; isinstance(torch.ones(2), numbers.Number), isinstance(torch.float32, torch.dtype)
import typing as t; [isinstance(torch.ones(()), k) for k in (t.SupportsInt, t.SupportsFloat, t.SupportsComplex, t.SupportsIndex, t.SupportsAbs, t.SupportsRound, t.SupportsBytes)]
import os; isinstance(torch.ones(2), os.PathLike), callable(torch.ones(2))
import typing\ndef f(x: torch.Tensor, y: "torch.nn.Module") -> torch.LongTensor: pass\nlist(typing.get_type_hints(f, {"torch": torch}))
import typing; typing.Optional[torch.Tensor], typing.Union[torch.Tensor, int], typing.List[torch.nn.Module]
torch.Tensor | None, list[torch.Tensor], dict[str, torch.nn.Parameter]
import dataclasses\n@dataclasses.dataclass\nclass D:\n    x: torch.Tensor\n    y: int = 3\ndataclasses.asdict(D(torch.ones(2)))
import functools\n@functools.singledispatch\ndef f(x): return "any"\n@f.register(torch.Tensor)\ndef g(x): return "tensor"\n(f(torch.ones(1)), f(torch.nn.Parameter(torch.ones(1))), f(1))
import functools; functools.partial(torch.sum, dim=0)(torch.ones(2, 2))
import functools; functools.reduce(torch.add, [torch.ones(2)] * 3)
import enum\nclass E(enum.Enum):\n    A = torch.float32\n    B = torch.int64\nE(torch.int64)
import abc\nclass A(abc.ABC): pass\nA.register(torch.Tensor)\nisinstance(torch.ones(1), A)
import weakref; x = torch.ones(2); weakref.ref(x)() is x
import gc; x = torch.ones(2); x.me = x; del x; gc.collect() >= 0
match_args = getattr(torch.Tensor, "__match_args__", None); match_args
import json; json.dumps(torch.ones(2))
import json; json.dumps(torch.ones(2).tolist())
import numpy as np; np.asarray(torch.ones(2)).dtype.name, np.array([torch.tensor(1.0), torch.tensor(2.0)]).tolist()
import numpy as np; np.add(torch.ones(2), 1)
import numpy as np; np.ones(2) + torch.ones(2, dtype=torch.float64)
import numpy as np; torch.ones(2, dtype=torch.float64) + np.ones(2)
import numpy as np; np.float64(2) * torch.ones(2)
import numpy as np; torch.from_numpy(np.ones(2)).dtype, torch.tensor(np.ones((2, 2))).shape, torch.as_tensor(np.int64(3))
import numpy as np; np.concatenate([torch.ones(2), torch.zeros(1)]).tolist()
import numpy as np; np.sum(torch.ones(3)), np.mean(torch.ones(3)), np.shape(torch.ones(2, 3))
import numpy as np; np.from_dlpack(torch.ones(2)).tolist()
import numpy as np; torch.from_dlpack(np.ones(2))
torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(torch.ones(2)))
torch.ones(2).__dlpack_device__()
torch.ones(2).__array_priority__, torch.Tensor.__torch_function__ is not None
torch.ones(2).type(), torch.ones(2).double().type(), torch.ones(2).is_cuda, torch.ones(2).layout
torch.ones(2).storage().tolist(), torch.ones(2).untyped_storage().nbytes(), torch.ones(2).storage_type()
torch.FloatTensor([1, 2]), torch.LongTensor(2).shape, torch.Tensor([1]).dtype
isinstance(torch.ones(1), torch.FloatTensor), isinstance(torch.ones(1), torch.LongTensor)
torch.FloatStorage([1.0]).tolist(), torch.UntypedStorage(2).nbytes()
torch.finfo(torch.float16).eps, torch.iinfo(torch.int8).max, torch.float32.itemsize, torch.float32.to_complex()
torch.get_default_dtype(), torch.get_default_device(), torch.is_grad_enabled()
torch.rand(2).shape, torch.initial_seed() > 0
torch.manual_seed(3); torch.rand(2)
torch.randn(2, generator=torch.Generator().manual_seed(1))
torch.manual_seed(3); torch.randperm(5), torch.randint(0, 9, (3,)), torch.bernoulli(torch.full((3,), 0.5)), torch.multinomial(torch.ones(3), 2)
torch.get_rng_state().shape
torch.seed() > 0
x = torch.ones(2, requires_grad=True); x.exp().sum().backward(); x.grad
x = torch.ones(2, requires_grad=True); torch.autograd.grad((x ** 2).sum(), x)
x = torch.ones(2, requires_grad=True); (x * 2).grad_fn, (x * 2).grad_fn.name(), type((x * 2).grad_fn).__name__
x = torch.ones(2, requires_grad=True); h = x.register_hook(lambda g: g * 2); x.sum().backward(); h.remove(); x.grad
class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x): return x * 2\n    @staticmethod\n    def backward(ctx, g): return g * 3\nx = torch.ones(2, requires_grad=True); F.apply(x).sum().backward(); x.grad
torch.autograd.gradcheck(torch.sin, torch.ones(2, dtype=torch.float64, requires_grad=True))
torch.autograd.functional.jacobian(torch.sin, torch.ones(2))
torch.func.grad(lambda x: x.sin().sum())(torch.ones(2))
torch.vmap(torch.sin)(torch.ones(2))
with torch.no_grad(): y = torch.ones(2, requires_grad=True) * 2\ny.requires_grad
with torch.autocast("cpu", torch.bfloat16): y = torch.ones(2, 2) @ torch.ones(2, 2)\ny.dtype
with torch.inference_mode(): y = torch.ones(2)\ny.is_inference()
with torch.device("meta"): y = torch.ones(2)\ny.device
with torch.profiler.profile() as p: torch.ones(2) + 1\nlen(p.key_averages()) > 0
with torch.autograd.detect_anomaly(check_nan=False): y = torch.ones(2, requires_grad=True).sum()\ny
from torch.utils._python_dispatch import TorchDispatchMode\nclass M(TorchDispatchMode):\n    def __torch_dispatch__(self, f, types, args=(), kwargs=None): return f(*args, **(kwargs or {}))\nwith M(): y = torch.ones(2) + 1\ny
from torch.overrides import TorchFunctionMode\nclass M(TorchFunctionMode):\n    def __torch_function__(self, f, types, args=(), kwargs=None): return f(*args, **(kwargs or {}))\nwith M(): y = torch.ones(2) + 1\ny
torch.overrides.is_tensor_like(torch.ones(1)), torch.overrides.has_torch_function((torch.ones(1),))
len(torch.overrides.get_overridable_functions()) > 0, torch.overrides.resolve_name(torch.Tensor.add)
torch.nn.Linear(2, 3)
torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten())
m = torch.nn.Linear(2, 2); list(m.state_dict()), m.load_state_dict(m.state_dict()), len(list(m.parameters()))
m = torch.nn.LSTM(2, 3); m(torch.ones(4, 2))[0].shape
torch.manual_seed(3); m = torch.nn.Linear(2, 2); m.weight, m.bias
m = torch.nn.Linear(2, 2); m.nothing
class M(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.w = torch.nn.Parameter(torch.ones(2))\n        self.register_buffer("b", torch.ones(1))\n    def forward(self, x): return x * self.w + self.b\nm = M(); m(torch.ones(2)), m
class M(torch.nn.Module):\n    def __getattr__(self, name):\n        try: return super().__getattr__(name)\n        except AttributeError: return "own"\nM().something
torch.nn.functional.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 1]))
torch.nn.functional.interpolate(torch.ones(1, 1, 2, 2), scale_factor=2).shape
torch.nn.init.kaiming_uniform_(torch.empty(2, 2)).shape
torch.nn.utils.clip_grad_norm_([torch.ones(2, requires_grad=True)], 1.0)
torch.nn.utils.rnn.pad_sequence([torch.ones(2), torch.ones(1)])
torch.nn.utils.weight_norm(torch.nn.Linear(2, 2))
torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(2, 2)).weight.shape
torch.nn.utils.parameters_to_vector([torch.ones(2)])
isinstance(torch.nn.Linear(1, 1), torch.nn.parallel.DistributedDataParallel), isinstance(1, torch.nn.DataParallel)
isinstance(torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter), isinstance(torch.ones(1), torch.nn.Parameter), isinstance(torch.ones(1), torch.nn.Buffer)
o = torch.optim.Adam([torch.ones(2, requires_grad=True)]); o.zero_grad(); o.step(); o
o = torch.optim.SGD([torch.ones(2, requires_grad=True)], 0.1); s = torch.optim.lr_scheduler.StepLR(o, 1); o.step(); s.step(); s.get_last_lr()
next(iter(torch.utils.data.DataLoader(torch.arange(4), batch_size=2)))
list(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(4)), num_workers=1))
torch.manual_seed(3); torch.utils.data.random_split(range(4), [2, 2])[0].indices
torch.utils.data.default_collate([1, 2])
torch.utils.checkpoint.checkpoint(torch.sin, torch.ones(2, requires_grad=True), use_reentrant=False)
torch.utils._pytree.tree_map(lambda x: x + 1, {"a": [1, 2]})
torch.distributions.Normal(0.0, 1.0).log_prob(torch.tensor(0.5))
torch.distributions.kl_divergence(torch.distributions.Normal(0.0, 1.0), torch.distributions.Normal(1.0, 1.0))
torch.fft.fft(torch.ones(2)), torch.linalg.norm(torch.ones(2)), torch.special.erf(torch.ones(2))
torch.linalg.inv(torch.eye(2)), torch.linalg.svdvals(torch.eye(2))
torch.einsum("ij,jk", torch.ones(2, 2), torch.ones(2, 2)), torch.stft(torch.ones(8), 4, window=torch.ones(4), return_complex=True).shape
torch.max(torch.ones(2, 2), 0), torch.return_types.max, isinstance(torch.max(torch.ones(2, 2), 0), torch.return_types.max)
torch.ops.aten.add(torch.ones(2), 1), torch.ops.aten.add.Tensor, torch.ops.aten.add.overloads()[:1]
torch.ops.nothing.nothing
lib = torch.library.Library("first", "FRAGMENT"); lib.define("f(Tensor x) -> Tensor"); lib.impl("f", lambda x: x + 1, "CPU"); torch.ops.first.f(torch.ones(1))
@torch.library.custom_op("first::g", mutates_args=())\ndef g(x: torch.Tensor) -> torch.Tensor: return x + 1\ng(torch.ones(1))
torch._foreach_add([torch.ones(1)], 1)
torch._C._get_tracing_state() is None
torch.compile(lambda x: x + 1)(torch.ones(1))
torch.jit.script(torch.nn.ReLU())(torch.ones(1))
torch.jit.is_scripting(), torch.jit.is_tracing()
torch.backends.cudnn.is_available(), torch.backends.mps.is_available(), torch.cuda.is_available(), torch.cuda.device_count()
torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic, torch.backends.cuda.matmul.allow_tf32
torch.cuda.amp.autocast is not None, torch.amp.GradScaler is not None
torch.distributed.is_available(), torch.distributed.is_initialized() if torch.distributed.is_available() else None
torch.multiprocessing.get_context("spawn").Queue is not None, torch.multiprocessing.get_sharing_strategy()
torch.testing.assert_close(torch.ones(2), torch.ones(2))
torch.sym_max(1, 2), torch.sym_int(2.0), isinstance(1, torch.SymInt)
torch.ones(2, dtype=torch.no_such_dtype)
torch.no_such_name
torch.nn.NoSuchLayer
torch.nn.functional.no_such_function(1)
torch.ones(2).no_such_method()
torch.add()
torch.add(torch.ones(2), "a")
torch.ones(2).view(3)
torch.ones(2) + torch.ones(3)
torch.ones(2, 2).sum(5)
torch.zeros(2)[5]
torch.ones("a")
torch.tensor([[1], [1, 2]])
torch.tensor(None)
from torch import *\nones(2), relu(ones(1)), nn.__name__, Tensor.__name__, float32
from torch.nn import *\nLinear(1, 1).in_features, Module.__name__
from torch.nn.functional import *\nrelu is not None
from torch import nn, optim, Tensor\nnn.__name__, optim.__name__, Tensor.__name__
import torch.nn.functional as F, torch.utils.data as d\nF.__name__, d.__name__
from torch.optim.lr_scheduler import LRScheduler, _LRScheduler\nLRScheduler.__name__
import importlib; importlib.import_module("torch.distributions.normal").Normal.__name__
import importlib.util; importlib.util.find_spec("torch.fft") is not None, importlib.util.find_spec("torch.no_such") is None
import importlib.resources as r; r.files("torch").joinpath("__init__.py").is_file()
import threading; r = []; t = threading.Thread(target=lambda: r.append(torch.ones(2).sum())); t.start(); t.join(); r
import concurrent.futures as c\nwith c.ThreadPoolExecutor(4) as p: r = list(p.map(lambda i: torch.ones(2).sum().item() + i, range(8)))\nr
import asyncio\nasync def f(): return torch.ones(2).norm()\nasyncio.run(f())
import contextvars; contextvars.copy_context().run(lambda: torch.ones(2).mean())
import os; r, w = os.pipe(); p = os.fork(); p or (os.write(w, str(torch.ones(2).sum().item()).encode()), os._exit(0)); os.waitpid(p, 0); os.read(r, 9)
import tempfile, os; p = os.path.join(tempfile.mkdtemp(), "x"); torch.save(torch.ones(2), p); torch.load(p, mmap=True)
import logging; logging.getLogger("x").warning("%s", torch.ones(2))
import string; string.Template("$x").substitute(x=torch.ones(1))
import pprint; pprint.pformat({"a": torch.ones(2)})
import reprlib; reprlib.repr(torch.ones(2))
import decimal; decimal.Decimal(torch.tensor(2).item())
import fractions; fractions.Fraction(torch.tensor(0.5).item())
import statistics; statistics.mean([torch.tensor(1.0), torch.tensor(3.0)])
import itertools; list(itertools.accumulate([torch.tensor(1), torch.tensor(2)]))
import array; array.array("f", torch.ones(2))
import struct; struct.pack("f", torch.tensor(1.0))
import ctypes; ctypes.c_int(torch.tensor(1)).value
import random; random.seed(0); random.choice(torch.arange(5)) in range(5)
import bisect; bisect.bisect(torch.tensor([1, 3]), 2)
import heapq; h = [torch.tensor(2), torch.tensor(1)]; heapq.heapify(h); h
import time; time.sleep(torch.tensor(0.0))
print(torch.ones(2), file=open("/dev/null", "w"))
open(torch.tensor(9999))
range(torch.tensor(2.5))
chr(torch.tensor(65))
torch.ones(2)()
torch.Tensor.__init_subclass__(), torch.Tensor.__subclasshook__(int)
torch.Tensor.__new__(torch.Tensor, [1.0])
torch.ones(2).__reduce__()[0].__name__, torch.ones(2).__reduce_ex__(2)[0].__name__
torch.ones(2).__sizeof__() > 0
torch.ones(2).__setstate__((torch.ones(1).untyped_storage(), 0, (1,), (1,)))
super(torch.Tensor, torch.ones(2)).__repr__ is not None
torch.Tensor.__getattribute__(torch.ones(2), "sum") is not None
torch.Tensor.__format__, torch.Tensor.__reduce_ex__.__name__, torch.Tensor.__contains__.__name__
torch.Tensor.__dict__["__add__"] is not None, torch.Tensor.__add__(torch.ones(1), 1)
import operator; operator.methodcaller("sum")(torch.ones(2)), operator.attrgetter("T")(torch.ones(2, 2)), operator.contains(torch.ones(2), 1)
map(torch.Tensor.sum, [torch.ones(2)]).__next__()
torch.Tensor.requires_grad.__get__(torch.ones(2)), torch.Tensor.grad
torch.ones(2).real, torch.ones(2).T, torch.ones(2).data, torch.ones(2).shape, torch.ones(2).names, torch.ones(2).H if 0 else 1
"""
# Left out: `object.__getattribute__(torch.ones(2), "sum")` and `type.__getattribute__(torch.Tensor, "sum")` before any method was
# looked up. Nobody but the interpreter sees these, and finds nothing.
SEPARATOR = "\\n"   # in STATEMENTS


def statements():
    found = [line.replace(SEPARATOR, "\n") for line in STATEMENTS.strip().splitlines()]
    # What docstrings show.
    package = Path(importlib.util.find_spec(PACKAGE).origin).parent
    for path in sorted(package.parent.glob(f"{package.name}/**/*.py")) or []:
        found += examples(path.read_text())
    return found


def examples(source):
    return [code for code in re.findall(r"^\s*>>> (.+)$", source, re.M) if "=" not in code and "with " not in code]


def modules():
    found = []
    package = importlib.import_module(PACKAGE)
    for each in pkgutil.walk_packages(package.__path__, PACKAGE + ".", onerror=lambda name: None):
        parts = each.name.split(".")[1:]
        if not parts[0].startswith(PRIVATE) and not any(part.startswith("_") for part in parts):
            found.append(each.name)
    return found


def names():
    """An expression for every public name of every public module, and for every attribute of the classes that grow."""
    package, found = importlib.import_module(PACKAGE), []
    for module in [PACKAGE, *modules()]:
        listed = getattr(importlib.import_module(module), "__all__", None)
        for name in listed if listed is not None else dir(package) if module == PACKAGE else ():
            if not name.startswith("__"):
                module = module.replace(PACKAGE, "torch")
                found.append(f"import {module}; {module}.{name}, {module}.{name} is {module}.{name}")
    for name in sorted(set(dir(package.Tensor)) - CHANGING):
        found.append(f"torch.Tensor.{name}")
        found.append(f"getattr(torch.ones(1), {name!r}) is not None")
    for kind in ("nn.Module", "nn.Parameter", "Generator", "UntypedStorage", "TypedStorage", "Size", "dtype", "device", "finfo", "optim.Optimizer",
                 "autograd.Function", "utils.data.DataLoader", "distributions.Distribution"):
        cls = package
        for part in kind.split("."):
            cls = getattr(cls, part)
        found += [f"torch.{kind}.{name}" for name in sorted(set(dir(cls)) - CHANGING)]
    return found


def show(value, depth=0):
    """A value as text, without addresses."""
    if isinstance(value, (list, tuple)) and type(value).__module__ == "builtins" and depth < 4:
        return f"{type(value).__name__}({', '.join(show(item, depth + 1) for item in value)})"
    text = repr(value)
    return re.sub(r"0x[0-9a-f]+|at \d{6,}|\d{9,}", "ADDRESS", f"{type(value).__module__}.{type(value).__qualname__} {text}"[:2000])


def answer(code):
    """What the statements give: the last expression's value, or the error."""
    package = importlib.import_module(PACKAGE)
    if PACKAGE == "kindling":
        package.install_as_torch()
    space = {"torch": package, "__name__": "first_calls"}
    sys.modules["first_calls"] = type(sys)("first_calls")
    sys.modules["first_calls"].__dict__.update(space)
    space = vars(sys.modules["first_calls"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            body = ast.parse(code).body
            last = body.pop() if isinstance(body[-1], ast.Expr) else None
            exec(compile(ast.Module(body, []), "<statement>", "exec"), space)
            return show(eval(compile(ast.Expression(last.value), "<statement>", "eval"), space)) if last else "done"
        except Exception as error:
            return f"raised {type(error).__name__}: " + re.sub(r"0x[0-9a-f]+", "ADDRESS", str(error))[:2000]


def in_child(function, *args):
    """function(*args) in a process forked for it, or how that ended."""
    sys.stdout.flush()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            with open(writer, "w") as file:
                json.dump(function(*args), file)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(writer)
    with open(reader) as file:
        text = file.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.loads(text) if status == 0 else f"the process ended with {status}"


def after_everything(entries):
    """The answers in children of a process that has loaded every module and run every statement."""
    answer("torch")     # the alias comes first, as in the others
    importlib.import_module(PACKAGE)
    for module in modules():
        importlib.import_module(module)
    for code in entries:
        if "torch.Tensor." in code and " = " in code or "mock" in code or re.search(r"^(del |torch\.[\w.]+ = )|fork|set_|[lL]ibrary", code):
            continue    # they change the package
        answer(code)
    return [in_child(answer, code) for code in entries]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--names", action="store_true", help="every public name as well, and not some of them")
    parser.add_argument("--some", type=int, default=200, help="so many names")
    parser.add_argument("--seed", type=int, default=1, help="which names")
    parser.add_argument("--only", metavar="TEXT", help="entries that contain this, and their answers")
    args = parser.parse_args()
    assert PACKAGE not in sys.modules
    entries, every = statements(), in_child(names)
    entries += every if args.names or args.only else random.Random(args.seed).sample(every, min(args.some, len(every)))
    if args.only:
        entries = [code for code in entries if args.only in code]
    first = [in_child(answer, code) for code in entries]
    later = in_child(after_everything, entries)
    if isinstance(later, str):
        later = [later] * len(entries)
    faults = 0
    for code, a, b in zip(entries, first, later):
        if args.only or a != b:
            print(f"{code!r}\n  first: {a}\n  later: {b}")
        faults += a != b
    print(f"{len(entries)} entries, {faults} faults")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
