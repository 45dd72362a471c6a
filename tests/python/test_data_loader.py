"""The loader, in this process and over workers, side by side with torch."""
import os
import signal
import subprocess
import sys
import time
import warnings

import pytest
import torch as reference

import kindling

BOTH = (kindling, reference)


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


@pytest.mark.parametrize("end, words", [(lambda: os._exit(3), "exit code 3"),
                                        (lambda: os.kill(os.getpid(), signal.SIGKILL), "killed by signal: Killed")])
def test_dead_workers_are_noticed_at_once(end, words):
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly") as caught:
        list(kindling.utils.data.DataLoader(Failing(end), num_workers=2))
    assert words in str(caught.value.__cause__)
    assert time.monotonic() - begin < 4


def test_timeout():
    with pytest.raises(RuntimeError, match="DataLoader timed out after 0.2 seconds"):
        list(kindling.utils.data.DataLoader(Failing(lambda: time.sleep(1.5)), num_workers=1, timeout=0.2))


def test_out_of_order():
    class Slow(kindling.utils.data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            time.sleep(0.5 if index == 0 else 0)
            return index
    loader = kindling.utils.data.DataLoader(Slow(), num_workers=2, in_order=False)
    order = [batch.item() for batch in loader]
    assert sorted(order) == [0, 1, 2, 3] and order[0] != 0


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
        out, err = process.communicate(timeout=20)
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
