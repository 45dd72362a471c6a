"""Meta tensors: every operator of PyTorch's database makes from them what it makes from values, in shape, dtype and strides."""
import subprocess
import sys
from pathlib import Path

import kindling as torch
import pytest

CONFORMANCE = Path(__file__).resolve().parents[1] / "conformance"


def test_every_operator_of_the_database(tmp_path):
    calls = tmp_path / "calls.pickle"
    subprocess.run([sys.executable, "-W", "ignore", CONFORMANCE / "record.py", calls, "--samples", "2", "--dtypes", "float32"],
                   cwd=tmp_path, check=True, capture_output=True)
    replay = [sys.executable, CONFORMANCE / "replay.py", calls, "--module", "kindling", "--meta"]
    done = subprocess.run(replay, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    same = int(done.stdout.partition(" same")[0].rpartition(" ")[2])
    assert same > 1000


def test_what_an_operator_makes_on_the_way_is_meta_as_well():
    x = torch.empty(3, 5, device="meta", requires_grad=True)
    y = x.gather(1, torch.zeros(3, 1, dtype=torch.int64, device="meta")).sum()  # its gradient begins with zeros
    y.backward()
    assert x.grad.device.type == "meta" and x.grad.shape == (3, 5)
    loss = torch.nn.functional.cross_entropy(x, torch.empty(3, dtype=torch.int64, device="meta"))
    assert loss.device.type == "meta" and loss.shape == ()


def test_python_below_an_operator_makes_tensors_on_the_cpu():
    seen = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            seen.append(torch.zeros(1).device.type)
            return gradient * 2

    x = torch.empty(3, device="meta", requires_grad=True)
    x.register_hook(lambda gradient: seen.append(torch.zeros(1).device.type))
    Double.apply(x).sum().backward()

    @torch.library.custom_op("test_meta::scale", mutates_args=())
    def scale(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @scale.register_fake
    def _(x):
        seen.append(torch.ones(1).device.type)
        return torch.empty_like(x)

    assert scale(torch.empty(2, device="meta")).device.type == "meta"
    assert seen == ["cpu"] * 3
    assert torch.zeros(2).device.type == "cpu"


def test_values_are_asked_for_in_vain():
    x = torch.empty(4, device="meta")
    for call in (x.nonzero, lambda: x[x > 0], x.unique, lambda: x.sum().item(), x.tolist):
        with pytest.raises((RuntimeError, NotImplementedError), match="[Mm]eta"):
            call()


def test_probabilities_and_what_is_drawn_by_them_may_be_meta():
    x = torch.empty(3, 2, device="meta")
    assert x.bernoulli_(torch.tensor(0.5)) is x and x._version == 1  # read the tensor that has no memory
    assert x.bernoulli_(torch.empty(2, device="meta")) is x
    assert torch.bernoulli(x).is_meta


def test_what_lies_on_the_cpu_stays_there_beside_meta():
    x, tolerance = torch.eye(2, 3), torch.empty((), device="meta")
    with pytest.raises((RuntimeError, NotImplementedError), match="[Mm]eta"):
        torch.linalg.matrix_rank(x, tolerance)
    assert torch.linalg.svd(x)[1].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("reduce", ["prod", "mean", "amax", "amin"])
def test_meta_index_of_a_tensor_with_memory_is_refused(reduce):
    """A composition, so that nothing has compared the devices before it reads the index."""
    index = torch.zeros(1, dtype=torch.int64, device="meta")
    for x, source in ((torch.ones(()), torch.ones(())), (torch.ones(3), torch.ones(1))):
        with pytest.raises(RuntimeError, match="same device"):
            x.index_reduce(0, index, source, reduce)


EXAMPLES = """
import sys, warnings
warnings.simplefilter("ignore")
import kindling as torch
for line in open(sys.argv[1]):
    name, code = line.rstrip("\\n").split("\\t")[:2]
    print(name, flush=True)
    try:
        with torch.device("meta"):
            exec(code, {"torch": torch})
    except Exception:
        pass
print("all")
"""


def test_no_example_reads_memory_that_meta_tensors_do_not_have():
    """A kernel that asks for values there ends the process."""
    examples = Path(__file__).with_name("operator_examples.tsv")
    done = subprocess.run([sys.executable, "-c", EXAMPLES, examples], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "all", done.stdout.splitlines()[-1]


def test_which_devices_mix_follows_from_declarations():
    """Lists of indices may lie elsewhere than a meta tensor, whatever the operator's name; copy_ alone takes what it can; others refuse."""
    x, places = torch.zeros(3, 4, device="meta"), torch.tensor([0, 2])
    assert x[places].shape == (2, 4) and x.index_put((places,), torch.zeros(4, device="meta")).is_meta
    assert x.copy_(torch.ones(4)).is_meta
    for call in (lambda: x + torch.ones(4), lambda: torch.ones(3, 4).copy_(x), lambda: torch.mm(x, torch.ones(4, 2))):
        with pytest.raises((RuntimeError, NotImplementedError), match="meta"):
            call()
    for call in (lambda: torch.nonzero(x), lambda: torch.masked_select(x, x > 0), lambda: torch.unique(x), lambda: x[x > 0]):
        with pytest.raises(NotImplementedError):
            call()


def test_shapes_by_value_that_the_arguments_tell():
    """Where an argument says the shape, values are not asked; and what is computed in another dtype is written in place nowhere."""
    places = torch.zeros(3, dtype=torch.int64, device="meta")
    assert torch.nn.functional.one_hot(places, 4).shape == (3, 4) and torch.repeat_interleave(places, output_size=5).shape == (5,)
    assert torch.nonzero_static(places, size=2).shape == (2, 1)
    for call in (lambda: torch.nn.functional.one_hot(places), lambda: torch.repeat_interleave(places), lambda: torch.bincount(places)):
        with pytest.raises(NotImplementedError, match="depends on values"):
            call()
    for x in (torch.ones(3, device="meta").ge_(0), places.clone().lt_(torch.ones(3, device="meta")), torch.ones(3, device="meta").logical_not_()):
        assert x.is_meta and x.shape == (3,)
    with pytest.raises(RuntimeError, match="Tensor on device meta is not on the expected device cpu"):
        torch.cat([torch.ones(2), torch.ones(2, device="meta")])
