"""What the extension's types do with objects that fit nothing: every attribute is read, called, set and deleted with numbers beyond
64 bits, objects whose every method raises, words, slices, empty lists. They may refuse; the process has to go on.
"""
import os
import subprocess
import sys

SWEEP = """
import os, random, resource, signal, warnings
import kindling as t
from kindling import _C

warnings.simplefilter("ignore")
if not os.environ.get("KINDLING_SANITIZED"):
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))

class Raises:
    pass

def refuse(self, *args, **kwargs):
    raise ValueError("odd")

for name in ("index int float complex len getitem setitem iter next bool array eq hash str repr call contains format dlpack enter").split():
    setattr(Raises, f"__{name}__", refuse)
for name in ("__array_interface__", "__torch_function__", "__cuda_array_interface__"):
    setattr(Raises, name, property(refuse))

ODD = [2**65, -2**65, None, "a", b"a", object(), Raises(), float("nan"), 1e400, [], (2**65,), [Raises()], {"a": 2**65}, slice(2**65), slice(Raises(), "a"), ...,
       t.ones(2), t.ones(2, 3, device="meta"), t.float32, t.Tensor, int, lambda *args: 1 / 0, "\\udc80", bytearray(3), iter([1]), t.Size([1])]

def objects():
    x = t.ones(2, 3)
    g = t.ones(2, requires_grad=True)
    made = [x, t.tensor([1, 2]), t.ones(2, dtype=t.complex64).conj(), g, g * 2, (g * 2).grad_fn, t.ones(2, device="meta"), t.eye(2).to_sparse(),
            x.untyped_storage(), x.shape, t.float32, t.device("cpu"), t.Generator(), t.finfo(t.float32), t.iinfo(t.int8), t.strided, t.contiguous_format, t.nn.Linear(2, 2)]
    for name in sorted(vars(_C)):
        each = getattr(_C, name)
        if isinstance(each, type):
            made.append(each)
            try:
                made.append(each())
            except Exception:
                pass
    return made

calls, rng = 0, random.Random(1)
for each in objects():
    try:
        names = dir(each)
    except Exception:
        continue
    for name in names:
        if name in ("__class__", "__reduce_ex__", "share_memory_"):
            continue
        os.pwrite(1, f"{type(each).__name__}.{name} ".ljust(100).encode(), 0)
        signal.alarm(60)
        try:
            found = getattr(each, name)
        except Exception:
            continue
        if callable(found):
            for args in [(), *((odd,) for odd in ODD), *((rng.choice(ODD), rng.choice(ODD)) for _ in range(6))]:
                try:
                    found(*args)
                except Exception:
                    pass
                calls += 1
        if not isinstance(each, type):
            for odd in ODD:
                try:
                    setattr(each, name, odd)
                except Exception:
                    pass
            try:
                delattr(each, name)
            except Exception:
                pass
assert calls > 20000, calls
"""


def test_no_object_ends_the_process(tmp_path):
    told = tmp_path / "told"
    with open(told, "w") as output:
        done = subprocess.run([sys.executable, "-c", SWEEP], stdout=output, stderr=subprocess.PIPE, text=True, cwd=tmp_path, timeout=1200,
                              env={**os.environ, "PYTHONFAULTHANDLER": "1"})
    assert done.returncode == 0, (told.read_text()[:100], done.returncode, done.stderr[-2000:])
