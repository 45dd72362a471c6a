"""The loader, in this process and over workers, side by side with torch."""
import os
import resource
import signal
import subprocess
import sys
import time
import warnings

import pytest
import torch as reference

import kindling

BOTH = (kindling, reference)


@pytest.fixture(autouse=True)
def alarm():
    """A hang is a failure here, not an endless test."""
    def ring(number, frame):
        raise TimeoutError("the test hangs")
    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(300)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def patient(monkeypatch):
    """Nothing may be found by looking again and again: the loader looks once in an hour."""
    from kindling.utils.data import _multiprocess
    monkeypatch.setattr(_multiprocess, "MP_STATUS_CHECK_INTERVAL", 3600)


@pytest.fixture
def impatient(monkeypatch):
    """Workers that are busy at the end are not waited for."""
    from kindling.utils.data import _multiprocess
    monkeypatch.setattr(_multiprocess, "MP_STATUS_CHECK_INTERVAL", 0.1)


def plain(value):
    """Tensors as (dtype, list), in lists of any depth."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (kindling.Tensor, reference.Tensor)):
        return str(value.dtype).rpartition(".")[2], value.tolist()
    return value


def rows(module, count=10):
    return module.utils.data.TensorDataset(module.arange(count * 2).reshape(count, 2), module.arange(count) * 10)


def batches(loader):
    return [plain(batch) for batch in loader]


@pytest.mark.parametrize("options", [
    {}, {"batch_size": 3}, {"batch_size": 3, "drop_last": True}, {"batch_size": None},
    {"batch_size": 4, "shuffle": True},
    {"batch_size": 3, "sampler": [9, 1, 1, 0]}, {"batch_sampler": [[0, 2], [4]]}, {"batch_size": 2, "collate_fn": len},
])
@pytest.mark.parametrize("workers", [0, 2])
def test_batches(options, workers):
    def run(module):
        module.manual_seed(7)
        loader = module.utils.data.DataLoader(rows(module), num_workers=workers, **options)
        # Two epochs, and the state of the stream after them.
        return batches(loader), batches(loader), len(loader), module.rand(1).item()
    assert run(kindling) == run(reference)


def test_own_generator():
    def run(module):
        generator = module.Generator().manual_seed(2)
        loader = module.utils.data.DataLoader(rows(module), 3, shuffle=True, generator=generator)
        return batches(loader), batches(loader), module.rand(1, generator=generator).item()
    assert run(kindling) == run(reference)


def noisy(module):
    class Noisy(module.utils.data.Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, index):
            import random
            info = module.utils.data.get_worker_info()
            return index, random.random(), module.rand(1).item(), info.id, info.num_workers, info.seed
    return Noisy()


def test_workers_are_seeded_as_torchs():
    def run(module):
        module.manual_seed(3)
        return batches(module.utils.data.DataLoader(noisy(module), 2, num_workers=2))
    assert run(kindling) == run(reference)


def test_numpy_is_seeded_in_workers():
    def run(module):
        class Drawn(module.utils.data.Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, index):
                import numpy
                return float(numpy.random.rand())
        module.manual_seed(3)
        return batches(module.utils.data.DataLoader(Drawn(), num_workers=2))
    assert run(kindling) == run(reference)


def stream(module, count=10, promised=None):
    class Stream(module.utils.data.IterableDataset):
        def __iter__(self):
            info = module.utils.data.get_worker_info()
            first, step = (0, 1) if info is None else (info.id, info.num_workers)
            return iter(range(first, count, step))
        if promised is not None:
            def __len__(self):
                return promised
    return Stream()


@pytest.mark.parametrize("options", [{}, {"batch_size": 3}, {"batch_size": 3, "drop_last": True}, {"batch_size": None}])
@pytest.mark.parametrize("workers, persistent", [(0, False), (2, False), (2, True)])
def test_streams(options, workers, persistent):
    def run(module):
        loader = module.utils.data.DataLoader(stream(module), num_workers=workers, persistent_workers=persistent,
                                              **options)
        return batches(loader), batches(loader)
    assert run(kindling) == run(reference)


def test_stream_longer_than_promised():
    loader = kindling.utils.data.DataLoader(stream(kindling, promised=2), batch_size=5)
    assert len(loader) == 1
    with pytest.warns(UserWarning, match="was reported to be 2"):
        loader = kindling.utils.data.DataLoader(stream(kindling, promised=2))
        len(loader)
        assert len(list(loader)) == 10


def test_persistent_workers_stay():
    class Pid(kindling.utils.data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return os.getpid()
    for persistent in (True, False):
        loader = kindling.utils.data.DataLoader(Pid(), num_workers=2, persistent_workers=persistent)
        first, second = ({batch.item() for batch in loader} for _ in range(2))
        assert len(first) == 2 and os.getpid() not in first
        assert (first == second) is persistent


def test_workers_end_with_the_iterator():
    loader = kindling.utils.data.DataLoader(rows(kindling), num_workers=2)
    iterator = iter(loader)
    workers = iterator._workers
    next(iterator)
    assert all(worker.is_alive() for worker in workers)
    del iterator
    assert not any(worker.is_alive() for worker in workers)
    iterator = iter(loader)
    workers = iterator._workers
    list(iterator)
    assert not any(worker.is_alive() for worker in workers)


class Failing(kindling.utils.data.Dataset):
    def __init__(self, error):
        self.error = error

    def __len__(self):
        return 4

    def __getitem__(self, index):
        if index == 2:
            self.error()
        return index


class TwoArguments(Exception):
    def __init__(self, one, two):
        super().__init__(one, two)


def raise_value():
    raise ValueError("seven")


def raise_key():
    raise KeyError("seven")


def raise_two():
    raise TwoArguments(1, 2)


@pytest.mark.parametrize("error, kind", [(raise_value, ValueError), (raise_key, KeyError), (raise_two, RuntimeError)])
def test_worker_errors_come_back(error, kind):
    loader = kindling.utils.data.DataLoader(Failing(error), num_workers=1)
    seen = []
    with pytest.raises(kind) as caught:
        for batch in loader:
            seen.append(batch.item())
    assert seen == [0, 1]
    text = str(caught.value)
    name = "TwoArguments" if kind is RuntimeError else kind.__name__
    assert text.startswith(f"Caught {name} in DataLoader worker process 0.\nOriginal Traceback (most recent call last)")
    assert error.__name__ in text


def test_failing_worker_init():
    def init(number):
        raise ValueError("no start")
    with pytest.raises(ValueError, match="no start"):
        list(kindling.utils.data.DataLoader(rows(kindling), num_workers=1, worker_init_fn=init))


DEATHS = [(lambda: os._exit(3), "exit code 3"),
          (lambda: os.kill(os.getpid(), signal.SIGKILL), "killed by signal: Killed")]


@pytest.mark.parametrize("end, words", DEATHS)
def test_dead_workers_are_noticed_at_once(end, words, patient):
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly") as caught:
        list(kindling.utils.data.DataLoader(Failing(end), num_workers=2))
    assert words in str(caught.value.__cause__)


class Large(kindling.utils.data.Dataset):
    """Batches of several kinds; the worker that is asked for `last` ends, while others are being sent."""

    def __init__(self, last=None, end=None, size=200_000):
        self.last, self.end, self.size = last, end, size

    def __len__(self):
        return 10

    def __getitem__(self, index):
        if index == self.last:
            self.end()
        return {"large": kindling.full((self.size,), index), "small": [kindling.tensor(index), "text" * 10_000],
                "none": kindling.zeros(0)}


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("last", range(6))
@pytest.mark.parametrize("end, words", DEATHS)
def test_a_death_among_large_batches(end, words, last, persistent, patient):
    loader = kindling.utils.data.DataLoader(Large(last, end), num_workers=2, persistent_workers=persistent)
    index = -1
    with pytest.raises(RuntimeError, match="exited unexpectedly") as caught:
        for index, batch in enumerate(loader):
            assert batch["large"].eq(index).all() and batch["large"].shape == (1, 200_000)
    assert index < last
    assert words in str(caught.value.__cause__)


@pytest.mark.parametrize("received", range(4))
def test_killed_from_outside(received, patient):
    iterator = iter(kindling.utils.data.DataLoader(Large(), num_workers=2, prefetch_factor=1))
    for _ in range(received):
        next(iterator)
    os.kill(iterator._workers[0].pid, signal.SIGKILL)
    # What it had sent before is still given out; then its end is told.
    with pytest.raises(RuntimeError, match=f"{iterator._workers[0].pid}.* exited unexpectedly"):
        list(iterator)


def test_timeout(impatient):
    with pytest.raises(RuntimeError, match="DataLoader timed out after 0.2 seconds"):
        list(kindling.utils.data.DataLoader(Failing(lambda: time.sleep(3600)), num_workers=1, timeout=0.2))


def test_out_of_order():
    wait, go = os.pipe()

    class Slow(kindling.utils.data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            if index == 0:
                os.read(wait, 1)    # until the others have arrived
            return index
    order = []
    try:
        for batch in kindling.utils.data.DataLoader(Slow(), num_workers=2, in_order=False):
            order.append(batch.item())
            if len(order) == 2:
                os.write(go, b"x")
    finally:
        os.close(wait)
        os.close(go)
    assert sorted(order) == [0, 1, 2, 3] and order[:2] == [1, 3]


# ---- how batches travel

def test_batches_lie_in_shared_memory():
    def run(module):
        class Mixed(module.utils.data.Dataset):
            def __len__(self):
                return 2

            def __getitem__(self, index):
                torch = module
                return {"empty": torch.zeros(0, 3), "bool": torch.ones(3, dtype=torch.bool), "number": index,
                        "complex": [torch.zeros(2, 3, dtype=torch.complex64) + 1j, (torch.zeros(2) + index, 1.5)],
                        "large": torch.arange(70_000).reshape(7, 10_000), "text": "a", "nothing": torch.zeros(1)}

        def facts(value):
            if isinstance(value, module.Tensor):
                return (str(value.dtype), value.shape, value.stride(), value.is_shared(), value.requires_grad,
                        value.untyped_storage().resizable() if value.numel() else None, value.tolist())
            if isinstance(value, dict):
                return {key: facts(each) for key, each in value.items()}
            return [facts(each) for each in value] if isinstance(value, (list, tuple)) else value
        return [[repr(facts(batch)) for batch in module.utils.data.DataLoader(
            Mixed(), batch_size=size, num_workers=1)] for size in (2, None)]
    assert run(kindling) == run(reference)


NOTHING_LEFT = """
import contextlib, os, sys, threading, kindling
class Large(kindling.utils.data.Dataset):
    def __len__(self): return 10
    def __getitem__(self, index):
        assert threading.active_count() == 1
        return {"large": kindling.full((200_000,), index), "small": [kindling.tensor(index), "text" * 10_000]}
def mapped():
    with open("/proc/self/maps") as maps:
        ends = [line.split()[0].split("-") for line in maps if "kindling-batch" in line]
    return [int(end, 16) - int(begin, 16) for begin, end in ends]
def names():
    "Files in shared memory that these processes made: none but they make files that nobody may read."
    found = []
    for name in os.listdir("/dev/shm"):
        with contextlib.suppress(FileNotFoundError):
            if os.lstat("/dev/shm/" + name).st_mode & 0o777 == 0:
                found.append(name)
    return found
sys.dont_write_bytecode = True
os.umask(0o777)
files = len(os.listdir("/proc/self/fd"))
before = names()
kept = []
for batch in kindling.utils.data.DataLoader(Large(), batch_size=2, num_workers=2):
    kept.append(batch)
    assert threading.active_count() == 1
assert len(kept) == 5 and names() == before and len(os.listdir("/proc/self/fd")) <= files + 1
assert sum(mapped()) >= 5 * 2 * 200_000 * 4
# A label that is kept does not keep its batch.
kept, batch = [each["small"][0] for each in kept], None
assert [each.tolist() for each in kept] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
assert mapped() and max(mapped()) < 200_000
del kept
assert mapped() == []
print("well")
"""


def test_nothing_is_left_behind(tmp_path):
    done = subprocess.run([sys.executable, "-c", NOTHING_LEFT], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.strip() == "well", done.stderr


def test_many_tensors_and_few_open_files():
    class Ragged(kindling.utils.data.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, index):
            return [kindling.full((10_000,), 300 * index + each) for each in range(300)]
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 60, limits[1]))
    try:
        kept = list(kindling.utils.data.DataLoader(Ragged(), batch_size=None, num_workers=2))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert [each[5].item() for batch in kept for each in batch] == list(range(2400))


def test_tensors_over_one_storage_stay_together():
    class Views(kindling.utils.data.Dataset):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            whole = kindling.arange(6.0).reshape(2, 3)
            return whole, whole.t(), whole[1]
    for whole, turned, row in kindling.utils.data.DataLoader(Views(), batch_size=None, num_workers=1):
        row.zero_()
        assert whole.tolist() == [[0, 1, 2], [0, 0, 0]] and turned.tolist() == [[0, 0], [1, 0], [2, 0]]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_shared_datasets_are_not_copied(method):
    for module in BOTH:
        data = module.zeros(10, 200_000).share_memory_()
        loader = module.utils.data.DataLoader(data, batch_size=None, num_workers=1, multiprocessing_context=method)
        for row in loader:
            row.fill_(1)
        assert data.eq(1).all(), module.__name__


def test_samples_of_a_large_tensor_share_it():
    data = kindling.zeros(300, 10_000)      # 12 MB, of which each sample is a row
    rows = list(kindling.utils.data.DataLoader(data, batch_size=None, num_workers=1))
    assert len(rows) == 300 and rows[0].untyped_storage().nbytes() == data.untyped_storage().nbytes()
    with open("/proc/self/maps") as maps:
        assert len({line.split()[4] for line in maps if "kindling (deleted)" in line}) == 1     # one memory
    rows[0].fill_(3)
    assert rows[1].eq(0).all() and data.eq(0).all()


def test_a_child_that_frees_an_iterator_leaves_its_workers_alone():
    iterator = iter(kindling.utils.data.DataLoader(Large(), num_workers=1))
    next(iterator)
    child = os.fork()
    if not child:
        del iterator
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert len(list(iterator)) == 9


def test_numpy_batches():
    numpy = pytest.importorskip("numpy")

    class Arrays(kindling.utils.data.Dataset):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return numpy.full((100, 100), index), kindling.from_numpy(numpy.arange(3.0))
    for index, (array, tensor) in enumerate(kindling.utils.data.DataLoader(Arrays(), batch_size=None, num_workers=1)):
        array += 1
        assert (array == index + 1).all() and tensor.tolist() == [0, 1, 2]


def test_large_tasks_and_many_of_them():
    class Sizes(kindling.utils.data.Dataset):
        def __getitem__(self, index):
            return index

        def __len__(self):
            return 1 << 20
    for sampler, prefetch in (([list(range(200_000)), [1, 2]] * 5, 2), ([list(range(500))] * 600, 250)):
        loader = kindling.utils.data.DataLoader(Sizes(), batch_sampler=sampler, num_workers=2, prefetch_factor=prefetch)
        assert [len(batch) for batch in loader] == [len(each) for each in sampler]


def test_what_cannot_be_sent():
    class Wrong(kindling.utils.data.Dataset):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return lambda: index
    with pytest.raises(Exception, match="(?s)in DataLoader worker process 0.*(pickle|local object)"):
        list(kindling.utils.data.DataLoader(Wrong(), batch_size=None, num_workers=1))

    class History(Wrong):
        def __getitem__(self, index):
            return kindling.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        list(kindling.utils.data.DataLoader(History(), batch_size=None, num_workers=1))


ABANDONED = """
import os, signal, kindling
class Pids(kindling.utils.data.Dataset):
    def __len__(self): return 100
    def __getitem__(self, index): return kindling.tensor(os.getpid())
iterator = iter(kindling.utils.data.DataLoader(Pids(), num_workers=2, persistent_workers=True))
other = iter(kindling.utils.data.DataLoader(Pids(), num_workers=2, persistent_workers=True))
for each in (iterator, other): print(next(each).item(), next(each).item(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_workers_end_when_the_loader_is_killed(tmp_path):
    # Its standard output stays open as long as any of them lives.
    done = subprocess.run([sys.executable, "-c", ABANDONED], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert done.returncode == -signal.SIGKILL and len(done.stdout.split()) == 4


def test_queues_and_pipes_share_memory():
    import kindling.multiprocessing as mp
    context = mp.get_context("fork")
    queue, (ours, theirs) = context.Queue(), mp.Pipe()
    data, second = kindling.zeros(3), kindling.arange(4.0)[2:]

    def work():
        got = queue.get()
        got += 5
        theirs.send(got.is_shared())
        theirs.recv().zero_()
        theirs.send("done")
        theirs.recv()
    worker = context.Process(target=work)
    worker.start()
    queue.put(data)
    assert ours.recv() is True
    assert data.is_shared() and data.tolist() == [5, 5, 5]
    ours.send(second)
    assert ours.recv() == "done" and second.tolist() == [0, 0]
    ours.send(None)
    worker.join()
    assert worker.exitcode == 0


SPAWNED = """
import kindling as torch, kindling.multiprocessing as mp
def work(rank, model, queue, done):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(2 ** rank)
    queue.put({"rank": [torch.full((3,), rank)], "none": torch.zeros(0)})
    done.wait()
if __name__ == "__main__":
    mp.set_start_method("spawn")
    model = torch.nn.Linear(2, 2)
    model.share_memory()
    before = model.weight.detach().clone()
    queue, done = mp.Queue(), mp.Event()
    context = mp.spawn(work, args=(model, queue, done), nprocs=2, join=False)
    got = [queue.get(timeout=200) for _ in range(2)]
    assert sorted(each["rank"][0].tolist() for each in got) == [[0, 0, 0], [1, 1, 1]]
    assert all(each["rank"][0].is_shared() for each in got)
    done.set()
    while not context.join():
        pass
    assert torch.allclose(model.weight - before, torch.tensor(3.0))
    with mp.Pool(2) as pool:
        print(torch.cat(pool.map(torch.exp, [torch.zeros(1), torch.zeros(2)])).tolist())
"""


def test_spawned_processes_train_one_model(tmp_path):
    (tmp_path / "shared.py").write_text(SPAWNED)
    done = subprocess.run([sys.executable, "shared.py"], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.strip() == "[1.0, 1.0, 1.0]", done.stderr


def test_queues_refuse_history():
    import kindling.multiprocessing as mp
    ours, _ = mp.Pipe()
    with pytest.raises(RuntimeError, match="Cowardly refusing"):
        ours.send(kindling.ones(2, requires_grad=True) * 2)
    parameter = kindling.nn.Parameter(kindling.ones(2))
    ours.send(parameter)
    assert parameter.is_shared()


def test_spawned_workers():
    loader = kindling.utils.data.DataLoader(rows(kindling), 5, num_workers=1, multiprocessing_context="spawn")
    assert [x.shape[0] for x, _ in loader] == [5, 5]


@pytest.mark.parametrize("options, error", [
    ({"num_workers": -1}, ValueError), ({"timeout": -1}, ValueError), ({"prefetch_factor": 2}, ValueError),
    ({"num_workers": 1, "prefetch_factor": -1}, ValueError), ({"persistent_workers": True}, ValueError),
    ({"shuffle": True, "sampler": [1]}, ValueError), ({"batch_sampler": [[1]], "batch_size": 2}, ValueError),
    ({"batch_size": None, "drop_last": True}, ValueError), ({"multiprocessing_context": "fork"}, ValueError),
    ({"num_workers": 1, "multiprocessing_context": "no"}, ValueError),
    ({"num_workers": 1, "multiprocessing_context": 3}, TypeError), ({"batch_size": 0}, ValueError),
])
def test_option_errors(options, error):
    messages = []
    for module in BOTH:
        with pytest.raises(error) as caught:
            module.utils.data.DataLoader(range(3), **options)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("options", [{"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}])
def test_stream_option_errors(options):
    messages = []
    for module in BOTH:
        with pytest.raises(ValueError) as caught:
            module.utils.data.DataLoader(stream(module), **options)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_options_are_fixed():
    loader = kindling.utils.data.DataLoader(range(3))
    with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoader is initialized"):
        loader.batch_size = 2


def test_pin_memory_warns():
    with pytest.warns(UserWarning, match="no accelerator is found"):
        assert len(list(kindling.utils.data.DataLoader(range(3), pin_memory=True))) == 3


def test_too_many_workers_are_warned_about():
    with pytest.warns(UserWarning, match="will create 1000 worker processes in total"):
        kindling.utils.data.DataLoader(range(3), num_workers=1000)


def test_worker_info_is_fixed():
    from kindling.utils.data._utils.info import WorkerInfo
    info = WorkerInfo(0, 2, 5, None)
    assert repr(info) == ("WorkerInfo(id=0, num_workers=2, seed=5, dataset=None, rng=None, "
                          "worker_method='multiprocessing')")
    with pytest.raises(AttributeError):
        info.id = 3
    assert kindling.utils.data.get_worker_info() is None


INTERRUPTED = """
import time, kindling
class Slow(kindling.utils.data.Dataset):
    def __len__(self): return 1000
    def __getitem__(self, index):
        time.sleep(0.05)
        return index
try:
    for batch in kindling.utils.data.DataLoader(Slow(), num_workers=2):
        print(batch.item(), flush=True)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_interrupt_is_clean(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, start_new_session=True, cwd=tmp_path)
    try:
        while process.stdout.readline().strip() != "3":
            assert process.poll() is None, process.stderr.read()
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=200)
    finally:
        process.kill()
    assert out.splitlines()[-1] == "interrupted"
    assert "Traceback" not in err


def test_iterating_imports_no_multiprocessing_without_workers(tmp_path):
    code = ("import sys, kindling; from kindling.utils.data import DataLoader; before = set(sys.modules); "
            "list(DataLoader(range(4), 2)); print('multiprocessing' in set(sys.modules) - before)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.strip() == "False", done.stderr


def test_no_warnings_in_ordinary_use():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(kindling.utils.data.DataLoader(rows(kindling), 2, shuffle=True, num_workers=1))
