"""Recurrent layers beside torch: outputs, last states and all gradients, over padded and packed sequences."""
import itertools

import numpy as np
import pytest
import torch as reference

import kindling

pytestmark = pytest.mark.kernels


def close(got, expected):
    np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-9)


def states(hidden):
    return hidden if isinstance(hidden, tuple) else (hidden,)


@pytest.mark.parametrize("options", [
    {}, {"num_layers": 2}, {"bidirectional": True}, {"num_layers": 2, "bidirectional": True, "bias": False},
    {"batch_first": True}, {"proj_size": 3, "bidirectional": True, "num_layers": 2}, {"nonlinearity": "relu"},
])
@pytest.mark.parametrize("mode,packed", list(itertools.product(("LSTM", "GRU", "RNN"), (False, True))))
def test_layer(mode, packed, options):
    if "proj_size" in options and mode != "LSTM" or "nonlinearity" in options and mode != "RNN":
        pytest.skip("not an option of this layer")
    theirs = getattr(reference.nn, mode)(4, 5, **options).double()
    ours = getattr(kindling.nn, mode)(4, 5, **options).double()
    ours.load_state_dict({name: kindling.from_numpy(value.numpy().copy()) for name, value in theirs.state_dict().items()})
    first = options.get("batch_first", False)
    data = np.random.default_rng(0).standard_normal((3, 6, 4) if first else (6, 3, 4))
    seen = []
    for torch, layer in ((reference, theirs), (kindling, ours)):
        x = torch.from_numpy(data.copy()).requires_grad_()
        rnn, sequence = torch.nn.utils.rnn, x
        if packed:
            sequence = rnn.pack_padded_sequence(x, torch.tensor([4, 6, 2]), batch_first=first, enforce_sorted=False)
        output, hidden = layer(sequence)
        if packed:
            output, lengths = rnn.pad_packed_sequence(output, batch_first=first)
            assert lengths.tolist() == [4, 6, 2]
        ((output ** 2).sum() + sum((h ** 3).sum() for h in states(hidden))).backward()
        seen.append([output, *states(hidden), x.grad, *(p.grad for p in layer.parameters())])
    assert len(seen[0]) == len(seen[1])
    for expected, got in zip(*seen):
        close(got, expected)


@pytest.mark.parametrize("name,gates", [("_thnn_fused_lstm_cell", 4), ("_thnn_fused_gru_cell", 3)])
def test_cell_twice_differentiable(name, gates):
    inputs = [kindling.randn(2, 3 * width, dtype=kindling.float64, requires_grad=True) for width in (gates, gates, 1)]
    cell = getattr(kindling, name)
    assert kindling.autograd.gradcheck(cell, inputs)
    assert kindling.autograd.gradgradcheck(cell, inputs)


@pytest.mark.parametrize("reverse", [False, True])
def test_all_steps_twice_differentiable(reverse):
    shapes = (3, 2, 8), (8, 2), (2, 2), (2, 2)
    inputs = [kindling.randn(*shape, dtype=kindling.float64, requires_grad=True) for shape in shapes]
    steps = kindling.ops.aten._lstm_steps
    for wanted in ((0,), (1,), (0, 1, 2)):
        def some(*given, wanted=wanted):
            results = steps(*given, reverse)
            return tuple(results[i] for i in wanted)

        assert kindling.autograd.gradcheck(some, inputs)
        assert kindling.autograd.gradgradcheck(some, inputs)


@pytest.mark.parametrize("batch,width", [(33, 40), (20, 130), (9, 70), (40, 3)])
def test_numbers_do_not_depend_on_threads(batch, width):
    kindling.manual_seed(0)
    layer = kindling.nn.LSTM(width, width, bidirectional=True)
    x = kindling.randn(12, batch, width, requires_grad=True)
    threads, seen = kindling.get_num_threads(), []
    for count in (1, 2, 5):
        kindling.set_num_threads(count)
        output, states = layer(x)
        seen.append([output, *states, *kindling.autograd.grad((output ** 2).sum() + states[1].sum(), [x, *layer.parameters()])])
    kindling.set_num_threads(threads)
    for some in seen[1:]:
        assert all(kindling.equal(got, expected) for got, expected in zip(some, seen[0], strict=True))
    # And a row's are the same with fewer beside it.
    with kindling.no_grad():
        assert kindling.equal(layer(x[:, :8])[0], seen[0][0][:, :8])


def test_last_states_are_copies():
    layer = kindling.nn.LSTM(3, 4)
    with kindling.no_grad():
        output, (h, c) = layer(kindling.randn(5, 2, 3))
        kept = output.clone()
        h.zero_()
        c.zero_()
    assert kindling.equal(output, kept)
    output, (h, c) = kindling.nn.LSTM(3, 4, device="meta")(kindling.empty(5, 2, 3, device="meta"))
    assert output.shape == (5, 2, 4) and h.shape == (1, 2, 4) and h.is_meta and c.is_meta


def test_wrong_sizes():
    layer = kindling.nn.LSTM(4, 5)
    with pytest.raises(RuntimeError, match="input.size\\(-1\\) must be equal to input_size. Expected 4, got 3"):
        layer(kindling.ones(2, 3, 3))
    with pytest.raises(RuntimeError, match="sequence length to be larger than 0"):
        layer(kindling.ones(0, 3, 4))


@pytest.mark.parametrize("layers", [-1, -2**63, 2**62, 2**63 - 1])
def test_impossible_numbers_of_layers(layers):
    for module in (reference, kindling):
        weights = [module.randn(15, 4), module.randn(15, 5), module.randn(15), module.randn(15)]
        with pytest.raises(RuntimeError, match="Expected more hidden states in stacked_rnn"):
            module.gru(module.randn(2, 3, 4), module.zeros(1, 3, 5), weights, True, layers, 0.0, False, False, False)
