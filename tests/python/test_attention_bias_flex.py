"""torch.nn.attention.bias and flex_attention beside torch."""
import importlib
import warnings

import kindling as torch
import pytest
from both import run, same

pytestmark = pytest.mark.kernels

SETUP = """
import importlib
b = importlib.import_module(torch.__name__ + ".nn.attention.bias")
f = importlib.import_module(torch.__name__ + ".nn.attention.flex_attention")
causal = lambda b, h, q, k: q >= k
near = lambda b, h, q, k: (q - k).abs() < 100 + h
docs = torch.arange(300) // 70
table = (torch.arange(600).reshape(2, 300) // 90)
def words(function):
    try: return function()
    except Exception as error: return type(error).__name__, str(error)
def parts(mask):
    return [x.tolist() if isinstance(x, torch.Tensor) else x for x in mask.as_tuple()[:-1]]
"""

BIAS = """
b.causal_lower_right(2, 3), b.causal_upper_left(3, 3), [(v.name, int(v)) for v in b.CausalVariant]
x = b.causal_lower_right(2, 4)\n[x.shape, x.dtype, type(x).__name__, x._materialize(), x.variant, x.seq_len_q, x.seq_len_kv, x.device]
words(lambda: b.causal_upper_left(2)), words(lambda: b.CausalBias(3, 2, 3))
b.causal_upper_left(5, 3)
b.causal_lower_right(5, 3)
x = b.causal_lower_right(2, 4)\nq, k = torch.ones(1, 2, 2, 8), torch.arange(64.).reshape(1, 2, 4, 8)\no = F.scaled_dot_product_attention(q, k, k, attn_mask=x)\n[o, type(o).__name__]
q = torch.arange(64.).reshape(1, 2, 4, 8) / 50\nF.scaled_dot_product_attention(q, q, q, attn_mask=b.causal_upper_left(4, 4))
q = torch.ones(1, 2, 2, 8)\nwords(lambda: F.scaled_dot_product_attention(q, q, q, attn_mask=b.causal_lower_right(2, 2), is_causal=True))
words(lambda: b.causal_lower_right(2, 4) + 1)[0]
""".strip().split("\n")


@pytest.mark.parametrize("source", [each.replace("\\n", "\n") for each in BIAS])
def test_causal_biases(source):
    same(source, SETUP)


MASKS = """
str(f.create_block_mask(causal, None, None, 256, 256, device='cpu'))
repr(f.create_block_mask(causal, None, None, 256, 256, device='cpu'))
m = f.create_block_mask(causal, None, None, 256, 256, device='cpu')\n[m.shape, m.numel(), m.sparsity(), m.to_dense(), m.BLOCK_SIZE, m.seq_lengths, parts(m)]
m = f.create_block_mask(near, 2, 3, 300, 200, device='cpu', BLOCK_SIZE=(64, 32))\n[m.shape, m.sparsity(), parts(m), parts(m[0]), parts(m[0, 1]), parts(m[:, :, 1]), m[-1].shape, m[0:1].shape]
m = f.create_block_mask(causal, 2, 3, 300, 200, device='cpu', BLOCK_SIZE=(64, 32))\n[m.to_string(limit=4), parts(m._adjust(128, 64)), words(lambda: m[0].mask_mod(0, 0, 0, 0))]
parts(f.create_block_mask(causal, None, None, 256, 256, device='cpu', separate_full_blocks=False))
f.create_block_mask(causal, 1, 1, 4096, 4096, device='cpu').to_string()
f.create_block_mask(near, 1, 1, 4096, 4096, device='cpu').to_string(grid_size=(5, 7))
f.create_block_mask(near, 1, 1, 1000, 4096, device='cpu').to_string(grid_size=-1)
parts(f.create_block_mask(lambda b, h, q, k: docs[q] == docs[k], None, None, 300, 300, device='cpu', BLOCK_SIZE=64))
parts(f.create_block_mask(lambda b, h, q, k: table[b][q] == table[b, k], 2, None, 300, 300, device='cpu', BLOCK_SIZE=64))
parts(f.create_block_mask(lambda b, h, q, k: (q - k < docs[h * 100]) & (q >= k), None, 3, 130, 140, device='cpu', BLOCK_SIZE=32))
f.create_mask(lambda b, h, q, k: table[b].sum() > table[b][q] * k * 1000, 2, 1, 5, 5, device='cpu')
f.create_mask(causal, 1, 1, 3, 3, device='cpu'), f.create_mask(lambda s, b, h, q, k: torch.where(q >= k, s, -float('inf')), 1, 2, 3, 3, device='cpu')
words(lambda: f.create_block_mask(lambda a: a, None, None, 2, 2, device='cpu'))
words(lambda: f.and_masks(causal, 3))[0]
f.create_mask(f.and_masks(causal, near), None, None, 3, 4, device='cpu'), f.create_mask(f.or_masks(causal, f.noop_mask), None, None, 3, 4, device='cpu')
f.create_mask(f.and_masks(), None, None, 2, 2, device='cpu'), f.create_mask(f.or_masks(), None, None, 2, 2, device='cpu')
[x.tolist() for x in (f._ordered_to_dense(torch.tensor([1, 2]), torch.tensor([[1, 0], [0, 1]]), 2), *f._dense_to_ordered(torch.tensor([[0, 1], [1, 1]])))]
m = f.BlockMask.from_kv_blocks(torch.tensor([[[1, 2]]]).int(), torch.tensor([[[[0, 1], [0, 1]]]]).int(), BLOCK_SIZE=4, mask_mod=causal)\n[m.shape, parts(m), m.mask_mod is causal, m.to('cpu').shape]
words(lambda: f.BlockMask.from_kv_blocks(torch.ones(2), torch.ones(2)))
words(lambda: f.create_block_mask(causal, 1, 1, 0, 2, device='cpu'))[0]
f.AuxOutput(), f.AuxRequest(lse=True)
""".strip().split("\n")


@pytest.mark.parametrize("source", [each.replace("\\n", "\n") for each in MASKS])
def test_block_masks(source):
    same(source, SETUP)


ERRORS = """
FA(q, k[:, :1], v[:, :1])
FA(q[0], k, v)
FA(q, k[..., :3], v)
FA(q, k, v, block_mask=f.create_block_mask(causal, None, None, 4, 8, device='cpu'))
FA(q, k, v, block_mask=f.create_block_mask(causal, None, None, 16, 16, device='cpu'))
FA(torch.ones(3, 2, 8, 4), k, v)
FA(q, k, v, return_lse=True, return_aux=f.AuxRequest())
FA(q, k, v, return_aux=f.AuxRequest(max_scores=True))
FA(torch.ones(1, 3, 8, 4), k, v, enable_gqa=True)
""".strip().split("\n")
INPUTS = "torch.manual_seed(0)\nq, k, v = (torch.randn(1, 2, 8, 4) for _ in range(3))\nFA = f.flex_attention\n"


@pytest.mark.parametrize("source", ERRORS)
def test_what_is_refused(source):
    same(source, SETUP + INPUTS)


@pytest.mark.parametrize("call", [
    "FA(q, k, v)", "FA(q, k, v, score_mod=lambda s, b, h, i, j: s + (i - j) * 0.1 * (h + 1))", "FA(q, k, v, scale=1.0)",
    "FA(q, k, v, block_mask=f.create_block_mask(causal, None, None, 8, 8, device='cpu'), return_lse=True)",
    "FA(q, k[:, :1], v[:, :1], enable_gqa=True, return_aux=f.AuxRequest(lse=True))", "FA(q, k, v[..., :3])",
    "FA(q, k, v, block_mask=f.create_block_mask(lambda b, h, i, j: i < 3, None, None, 8, 8, device='cpu'))",
])
def test_values_are_torchs(call):
    pytest.importorskip("sympy")
    import numpy as np

    def value(name):
        space = {}
        real = importlib.import_module(name)
        space.update(torch=real)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(SETUP + INPUTS + f"r = {call}", space)
        result = space["r"]
        flat = result if isinstance(result, tuple) else (result,)
        flat = [part for each in flat for part in (each if isinstance(each, tuple) else (each,)) if part is not None]
        return [each.numpy() for each in flat]

    for one, other in zip(value("kindling"), value("torch")):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


def test_blocks_of_queries_give_what_one_product_gives():
    """More queries than are computed at a time, masks of every kind, gradients of all inputs."""
    flex = importlib.import_module("kindling.nn.attention.flex_attention")
    torch.manual_seed(1)
    q, k, v = (torch.randn(2, 3, 600, 8, requires_grad=True) for _ in range(3))
    bias = torch.randn(3, requires_grad=True)
    lengths = torch.tensor([600, 350])

    def mask_mod(b, h, i, j):
        return (i >= j) & (j < lengths[b])

    mask = flex.create_block_mask(mask_mod, 2, None, 600, 600)
    out = flex.flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + bias[h] * (i - j).abs() / 600, block_mask=mask)
    out.pow(2).sum().backward()
    got = [out.detach(), *(each.grad.clone() for each in (q, k, v, bias))]
    for each in (q, k, v, bias):
        each.grad = None
    place = torch.arange(600)
    scores = q @ k.mT / 8**0.5 + bias.view(3, 1, 1) * (place.view(-1, 1) - place).abs() / 600
    dense = (place.view(-1, 1) >= place) & (place.view(1, 1, 1, -1) < lengths.view(2, 1, 1, 1))
    expected = torch.softmax(scores.masked_fill(~dense, float("-inf")), -1) @ v
    expected.pow(2).sum().backward()
    for one, other in zip(got, [expected.detach(), *(each.grad for each in (q, k, v, bias))]):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_what_is_in_no_block_is_masked():
    flex = importlib.import_module("kindling.nn.attention.flex_attention")
    q = torch.randn(1, 1, 8, 4)
    mask = flex.BlockMask.from_kv_blocks(torch.tensor([[[1, 1]]]).int(), torch.tensor([[[[0, 1], [1, 0]]]]).int(), BLOCK_SIZE=4)
    dense = torch.block_diag(torch.ones(4, 4), torch.ones(4, 4)).bool()
    torch.testing.assert_close(flex.flex_attention(q, q, q, block_mask=mask),
                               torch.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=dense))


def test_functions_that_do_not_broadcast_are_called_place_by_place():
    """A reduction over what a place indexes would be wrong for many places at once."""
    flex = importlib.import_module("kindling.nn.attention.flex_attention")
    rows = torch.arange(12.).reshape(3, 4)
    mask = flex.create_mask(lambda b, h, q, k: rows[q].sum() > 10 * k, None, None, 3, 4)
    expected = torch.tensor([[float(rows[i].sum()) > 10 * j for j in range(4)] for i in range(3)])
    assert torch.equal(mask[0, 0], expected)
    assert run("kindling", "f.create_mask(lambda b, h, q, k: docs[q][k], None, None, 2, 2, device='cpu')", SETUP).startswith("IndexError")
