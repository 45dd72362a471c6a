"""Data pipes: ready-made ones, those of programs, and the loader over them give PyTorch's elements, errors and warnings."""

import copy
import functools
import os
import pickle
import re
import subprocess
import sys
import warnings

import pytest
import torch

import kindling

SETUP = """
import copy, os, pickle
from LIB.utils.data import DataLoader, IterDataPipe, MapDataPipe, functional_datapipe
from LIB.utils.data.datapipes.iter import *
from LIB.utils.data.datapipes.map import SequenceWrapper as S, Mapper as MM
from LIB.utils.data.graph import traverse_dps
from LIB.utils.data.graph_settings import get_all_graph_pipes, apply_shuffle_settings, apply_random_seed, apply_sharding
I = IterableWrapper
def f(x): return x % 3
def ss(seed, pipe):
    t.manual_seed(seed)
    return list(pipe)
def dl(seed, pipe, **options):
    t.manual_seed(seed)
    return [each if not hasattr(each, "tolist") else each.tolist() for each in DataLoader(pipe, **options)]
class P(IterDataPipe):
    def __init__(self, n): self.n = n
    def __iter__(self):
        for i in range(self.n): yield i
class N(IterDataPipe):
    def __init__(self): self.i = 0
    def __iter__(self):
        self.i = 0
        return self
    def __next__(self):
        if self.i >= 2: raise StopIteration
        self.i += 1
        return self.i
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("files")
    (path / "sub").mkdir()
    for name in ("b.txt", "a.txt", "c.py", "sub/d.txt"):
        (path / name).write_text("hello " + name)
    return str(path)


@functools.cache
def setup(t):
    space = {"t": t, "__name__": "__main__"}
    exec(SETUP.replace("LIB", t.__name__), space)
    return space


def run(t, source, folder=""):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            space = dict(setup(t))
            body, _, last = source.replace("FOLDER", folder).rpartition("\n")
            exec(body, space)
            value = repr(eval(last, space))
        except Exception as error:
            value = f"{type(error).__name__}: {error}"
    value = re.sub(r" at 0x[0-9a-f]+", "", value).replace("kindling", "torch")
    return value, [(each.category, str(each.message).replace("kindling", "torch")) for each in seen if "pickle" in str(each.message) or "DataPipe" in str(each.message)]


PROGRAMS = r"""
list(I(range(10)).groupby(f))
list(I(range(10)).groupby(f,keep_key=True,buffer_size=4))
list(I(range(10)).groupby(f,group_size=2,buffer_size=4,keep_key=True))
list(I(range(10)).groupby(f,group_size=3,guaranteed_group_size=3,buffer_size=4))
list(I(range(10)).groupby(f,group_size=3,guaranteed_group_size=3,buffer_size=4,drop_remaining=True))
I(range(3)).groupby(f,group_size=20,buffer_size=4)
I(range(3)).groupby(f,buffer_size=0)
I(range(3)).groupby(f,guaranteed_group_size=2)
I(range(3)).foo
I(range(3)).batch(0)
list(I(range(7)).batch(3))
I(range(7)).batch(3)
len(I(range(7)).batch(3))
list(I(range(7)).batch(3).batch(2).unbatch(2))
list(I(range(7)).batch(3).batch(2).unbatch(-1))
list(I(range(7)).batch(3).unbatch(3))
list(I(range(7)).batch(3).unbatch(-2))
list(I([(0,1),(2,3)]).map(f,input_col=1))
list(I([(0,1),(2,3)]).map(f,input_col=1,output_col=-1))
I([(0,1)]).map(f,output_col=1)
I([(0,1)]).map(f,input_col=0,output_col=[1,2])
I([(0,1)]).map(f,input_col=[0,1])
list(I([(0,1),(2,3)]).map(max,input_col=[0,1]))
list(I([(0,1),(2,3)]).map(max,input_col=[0,1],output_col=[0]))
list(I([{'a':1,'b':2}]).map(f,input_col='b',output_col='c'))
list(I(range(5)).filter(f))
list(I(range(5)).filter(bool))
list(I([(0,1),(1,0)]).filter(bool,input_col=1))
[list(x) for x in I(range(6)).demux(2, lambda x:x%2)]
[list(x) for x in I(range(6)).demux(2, f)]
I(range(6)).demux(0,f)
[list(x) for x in I(range(6)).demux(2, lambda x:None if x==3 else x%2, drop_none=True)]
[list(x) for x in I(range(6)).demux(2, lambda x:x%2, buffer_size=1)]
I(range(6)).demux(1,f)
[list(x) for x in I(range(4)).fork(2)]
I(range(6)).fork(0)
[list(x) for x in I(range(6)).fork(2,buffer_size=2)]
I(range(3)).fork(1)
I(range(3)).fork(2)
I(range(3)).fork(2,copy='x')
[len(x) for x in I(range(3)).fork(2)]
list(I(range(3)).mux(I(range(10,20))))
list(I(range(3)).zip(I(range(10,20))))
list(I(range(3)).concat(I(range(10,12))))
len(I(range(3)).mux(I(range(10,20))))
I(range(3)).concat(3)
I(range(3)).zip([1])
Zipper()
Concater()
Multiplexer()
len(I(x for x in range(3)))
len(I(range(3)).filter(f))
ss(0,I(range(10)).shuffle())
ss(0,I(range(10)).shuffle(buffer_size=3))
list(I(range(10)).shuffle().set_seed(3))
list(I(range(5)).shuffle().set_shuffle(False))
ss(0,I(range(6)).batch(2).shuffle(unbatch_level=1))
I(range(3)).shuffle(buffer_size=0)
list(I(range(7)).sharding_filter())
list(Sampler(I(range(4))))
Sampler(I(range(4)).filter(f))
dl(0,I(range(10)).shuffle(),batch_size=3)
dl(0,I(range(10)).shuffle(),batch_size=3,shuffle=True)
dl(0,I(range(10)).shuffle(),batch_size=3,shuffle=False)
dl(0,I(range(10)),batch_size=3,shuffle=True)
dl(0,I(range(10)).shuffle().sharding_filter(),batch_size=3,num_workers=2)
dl(0,I(range(4)),batch_size=2,num_workers=2)
dl(0,I(range(10)).shuffle().sharding_filter(),batch_size=3,num_workers=2,shuffle=True)
list(S(range(5)).map(f))
list(S(range(5)).batch(2))
ss(0,S(range(5)).shuffle())
list(S(range(5)).shuffle().set_seed(1))
list(S(range(5)).zip(S(range(3))))
list(S(range(2)).concat(S(range(3))))
S(range(2))[5]
S({'a':1})['a']
len(S(range(5)).batch(2))
S(range(5)).batch(2)[1]
ss(0,S({'a':1,'b':2}).shuffle(indices=['a','b']))
S(range(3)).shuffle(indices=3)
dl(0,S(range(5)).map(f),batch_size=2,shuffle=True)
S(range(5)).batch(2)[7]
S(range(3)).concat(S(range(2)))[4]
S(range(3)).concat(S(range(2)))[6]
S(range(3)).zip(S(range(2)))[2]
S(range(3)).foo
repr(S(range(3)).map())
list(FileLister('FOLDER'))
list(FileLister('FOLDER','*.txt',recursive=True))
list(FileLister('FOLDER',['*.py','b*']))
[(p,s.read()) for p,s in FileLister('FOLDER','*.txt').open_files()]
list(FileLister('FOLDER','*.txt').open_files(mode='rb').read_from_stream(chunk=3))
list(I(['FOLDER']).list_files())
I(['x']).open_files(mode='q')
list(I(['/tmp/nonexist']).open_files())
list(FileLister('/tmp/nonexist'))
len(FileLister('FOLDER'))
len(FileLister('FOLDER',length=3))
list(I(['FOLDER/a.txt']).open_files())
list(I([1,2,3]).collate())
list(I([[1,2],[3,4]]).collate(collate_fn=sum))
list(I([1,2,3,4]).batch(2).collate())
str(I([1]).batch(1))
I([1,2]).batch(2).__iter__().__next__().as_str()
list(pickle.loads(pickle.dumps(I(range(5)).batch(2).shuffle().set_seed(3))))
list(copy.deepcopy(I(range(5)).map(f)))
[repr(x) for x in get_all_graph_pipes(traverse_dps(I(range(4)).shuffle().zip(I([1])).batch(2)))]
get_all_graph_pipes(traverse_dps(apply_shuffle_settings(I(range(4)),shuffle=True)))
traverse_dps(3)
list(P(3).map(f))
list(P(3))+list(P(3))
list(N())
list(N().map(f))
""".strip().split("\n")

LONGER = [
    "d = I(range(5)); i = iter(d); next(i); j = iter(d); next(j)\nnext(i)",
    "c = I(range(3)).map(lambda x: 1 // x)\nlist(c)",
    "c1, c2 = I(range(5)).fork(2); j = iter(c1); next(j); j2 = iter(c2); next(j2); k = iter(c1); next(k)\nnext(j)",
    "c1, c2 = I(range(5)).fork(2); j = iter(c1); next(j); j2 = iter(c2); next(j2); k = iter(c1); next(k)\n[next(k), list(c2), list(k)]",
    "c1, c2 = I(range(6)).demux(2, bool)\n[list(c1), list(c2), list(c1), list(c2)]",
    "s = I(range(7)).sharding_filter(); s.apply_sharding(3, 1)\n[list(s), len(s)]",
    "s = I(range(7)).sharding_filter()\ns.apply_sharding(2, 3)",
    "n = N()\n[list(n), list(n), list(n.map(f))]",
    "p = P(3)\nlist(zip(p, p))",
    "d = I(range(10)).shuffle(); t.manual_seed(1)\n[list(d), list(d)]",
    "d = DataLoader(I(range(10)).shuffle(), batch_size=4); t.manual_seed(1)\n[[each.tolist() for each in d], [each.tolist() for each in d]]",
    "d = DataLoader(I(range(8)).shuffle().sharding_filter(), batch_size=2, num_workers=2, persistent_workers=True); t.manual_seed(1)\n"
    "[[each.tolist() for each in d], [each.tolist() for each in d]]",
    "g = t.Generator(); g.manual_seed(3); d = apply_random_seed(I(range(6)).shuffle().batch(2).shuffle(), g)\nlist(d)",
    "d = apply_sharding(I(range(6)).sharding_filter().sharding_filter(), 2, 1)\nlist(d)",
    "class Reset(P):\n    def reset(self): self.n += 1\nr = Reset(1)\n[list(r), list(r)]",
    "functional_datapipe('map')(P)",
]


@pytest.mark.parametrize("source", PROGRAMS + LONGER)
def test_as_torch(source, folder):
    assert run(kindling, source, folder) == run(torch, source, folder)


def test_own_functions():
    for t in (torch, kindling):
        class Plus(t.utils.data.IterDataPipe):
            def __init__(self, source, k=1):
                self.source, self.k = source, k

            def __iter__(self):
                return (each + self.k for each in self.source)

        t.utils.data.functional_datapipe("plus_of_a_test")(Plus)
        pipe = setup(t)["I"](range(3)).plus_of_a_test(k=5)
        assert list(pipe) == [5, 6, 7] and list(pipe) == [5, 6, 7] and type(pipe) is Plus
        assert "plus_of_a_test" in dir(pipe) and hasattr(pipe, "batch") and not hasattr(pipe, "no_such_function")


def test_copies():
    pipe = setup(kindling)["I"](range(5)).batch(2).shuffle()
    for other in (copy.deepcopy(pipe), pickle.loads(pickle.dumps(pipe))):
        assert sorted(map(list, other)) == [[0, 1], [2, 3], [4]]


def test_loaders_of_other_data_load_no_pipes():
    source = ("import sys, kindling as t; list(t.utils.data.DataLoader([1, 2, 3])); "
              "assert not any('datapipes' in name or 'graph' in name.rpartition('data.')[2] for name in sys.modules if 'utils.data' in name), sys.modules")
    subprocess.run([sys.executable, "-c", source], check=True, cwd=os.path.dirname(__file__))


def test_a_thread_that_asks_while_another_one_loads_the_pipes():
    done = subprocess.run([sys.executable, "-c", """
import sys, threading
from kindling.utils.data import IterDataPipe

class Numbers(IterDataPipe):
    def __iter__(self):
        return iter(range(3))

begun = threading.Event()

class Slow:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.startswith("kindling.utils.data.datapipes.iter"):
            begun.set()
            threading.Event().wait(0.05)

def double(x):
    return 2 * x

found = []
sys.meta_path.insert(0, Slow)
threads = [threading.Thread(target=lambda: found.append(list(Numbers().map(double)))) for _ in range(3)]
threads[0].start()
begun.wait()
for each in threads[1:]:
    each.start()
for each in threads:
    each.join()
assert found == [[0, 2, 4]] * 3, found
"""], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr


@pytest.mark.parametrize("library", ["torch", "kindling"])
def test_a_function_that_a_program_gives_first_stays(library):
    done = subprocess.run([sys.executable, "-c", f"""
from {library}.utils.data import IterDataPipe, MapDataPipe
IterDataPipe.register_function("map", lambda pipe, *args: "mine")
MapDataPipe.register_function("shuffle", lambda pipe, *args: "mine too")
print(IterDataPipe().map(abs), MapDataPipe().shuffle())
"""], capture_output=True, text=True)
    assert done.stdout == "mine mine too\n", done.stderr
