"""Interpolation, grids, padding, sliding blocks, quantiles and their relatives beside torch, with gradients."""
import numpy as np
import pytest
import torch as reference

import kindling

pytestmark = pytest.mark.kernels

CASES = {
    "nearest": "F.interpolate(x, scale_factor=2)",
    "nearest-exact": "F.interpolate(x, size=(3, 9), mode='nearest-exact')",
    "bilinear": "F.interpolate(x, size=(7, 3), mode='bilinear', align_corners=True)",
    "bicubic": "F.interpolate(x, scale_factor=1.5, mode='bicubic')",
    "antialias": "F.interpolate(x, size=(2, 3), mode='bilinear', antialias=True)",
    "grid": "F.grid_sample(x, F.affine_grid(x[0, 0, :2, :3].reshape(1, 2, 3), (1, 3, 4, 4), align_corners=False), align_corners=False)",
    "reflect": "F.pad(x, (2, 1, 1, 3), mode='reflect')",
    "replicate": "F.pad(x, (2, -1, 0, 3), mode='replicate')",
    "circular": "F.pad(x, (2, 1, -1, 3), mode='circular')",
    "unfold": "F.unfold(x, (2, 3), dilation=(1, 2), padding=1, stride=2)",
    "fold": "F.fold(F.unfold(x, 2), (5, 6), 2)",
    "quantile": "torch.quantile(x, torch.tensor([0.25, 0.6], dtype=torch.float64), dim=2, keepdim=True)",
    "nanquantile": "torch.nanquantile(x, 0.3, interpolation='midpoint')",
    "kron": "torch.kron(x[0, 0], x[0, 1])",
    "cross": "torch.linalg.cross(x[0], x[0].flip(0), dim=0)",
    "cov": "torch.cov(x[0, 0], aweights=x[0, 1, 0].detach().abs())",
    "corrcoef": "torch.corrcoef(x[0, 0])",
    "gradient": "torch.gradient(x, spacing=0.5, dim=2, edge_order=2)[0]",
    "combinations": "torch.combinations(x[0, 0, 0], 3)",
    "vander": "torch.linalg.vander(x[0, 0, 0], N=4)",
    "segments": "torch.segment_reduce(x[0, 0], 'max', lengths=torch.tensor([2, 0, 3]), initial=0)",
    "ctc": "F.ctc_loss(x[0].permute(1, 0, 2).log_softmax(2), torch.tensor([[1, 2], [3, 3], [4, 5]]), (5, 5, 4), (2, 2, 1))",
}


@pytest.mark.parametrize("name", CASES)
def test_case(name):
    data = np.random.default_rng(0).standard_normal((1, 3, 5, 6))
    seen = []
    for torch in (reference, kindling):
        x = torch.from_numpy(data.copy()).requires_grad_()
        y = eval(CASES[name], {"torch": torch, "F": torch.nn.functional, "x": x})
        weights = np.random.default_rng(1).standard_normal(tuple(y.shape))
        (y * torch.from_numpy(np.array(weights))).sum().backward()
        seen.append((y, x.grad))
    for expected, got in zip(*seen):
        np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), rtol=1e-7, atol=1e-9)


def test_histogram():
    data = np.random.default_rng(0).standard_normal(50)
    for density in (False, True):
        expected, got = (torch.histogram(torch.from_numpy(data), 7, range=(-1.0, 1.5), density=density) for torch in (reference, kindling))
        np.testing.assert_allclose(got.hist.numpy(), expected.hist.numpy())
        np.testing.assert_allclose(got.bin_edges.numpy(), expected.bin_edges.numpy())


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_images_of_bytes(mode):
    """Weights in whole numbers, rounded along each dimension: the very bytes."""
    random = np.random.default_rng(1)
    for size, channels, to in (((40, 50), 3, (20, 20)), ((40, 50), 3, (40, 17)), ((13, 9), 5, (31, 9)), ((7, 1), 1, (3, 5)), ((20, 30), 4, (20, 30)), ((1, 60), 2, (2, 80))):
        for values in (random.integers(0, 256, (2, channels, *size), dtype=np.uint8), random.integers(0, 2, (2, channels, *size), dtype=np.uint8) * np.uint8(255)):
            for options in ({}, {"antialias": True}, {"align_corners": True}, {"antialias": True, "align_corners": True}):
                ours, theirs = (t.nn.functional.interpolate(t.from_numpy(values), to, mode=mode, **options) for t in (kindling, reference))
                assert ours.numpy().tobytes() == theirs.numpy().tobytes(), (size, channels, to, options)
    ours, theirs = (t.nn.functional.interpolate(t.from_numpy(values), scale_factor=(1.7, 0.6), mode=mode, antialias=True) for t in (kindling, reference))
    assert ours.numpy().tobytes() == theirs.numpy().tobytes()


def test_scale_that_the_sizes_do_not_bear_out():
    """Places that lie wholly behind the input's end take nothing, and nothing is read for them."""
    x = kindling.full((1, 1, 1, 1), 3.0, dtype=kindling.float64)
    row = kindling.ops.aten._upsample_bilinear2d_aa(x, [8, 8], False, None, 0.5)[0, 0, 0].tolist()
    assert row == [3.0] + [0.0] * 7


def test_index_add_refuses_a_source_of_other_dimensions():
    with pytest.raises(RuntimeError, match="source tensor shape must match"):
        kindling.zeros(3, 2).index_add(0, kindling.tensor([0, 1]), kindling.ones(2))


@pytest.mark.parametrize("mode", ("reflect", "replicate", "circular"))
@pytest.mark.parametrize("pad", ((2, 1, 3, 0), (-1, 2, 0, -3), (0, 0, 1, 1), (0, -299, 0, 0)))
@pytest.mark.parametrize("dtype", (np.float32, np.int8, np.complex128))
def test_pad_moves_elements_of_any_size(mode, pad, dtype):
    data = np.arange(2 * 3 * 150 * 300).reshape(2, 3, 150, 300).astype(dtype)
    one, other = (torch.nn.functional.pad(torch.from_numpy(data), pad, mode=mode).numpy() for torch in (reference, kindling))
    np.testing.assert_array_equal(one, other)


def test_fold_of_truths_is_their_or():
    columns = reference.zeros(1, 4, 4, dtype=reference.bool)
    columns[0, 1, 2] = True
    for module, x in ((reference, columns), (kindling, kindling.from_numpy(columns.numpy()))):
        image = module.nn.functional.fold(x, (3, 3), (2, 2))
        assert image.dtype == module.bool and image.nonzero().tolist() == [[0, 0, 1, 1]]
    ours = kindling.nn.functional.fold(kindling.ones(1, 4, 4, dtype=kindling.bool), (3, 3), (2, 2))
    assert ours.all().item()


def test_one_element_planes_lie_as_the_input_does():
    def strides(torch):
        F = torch.nn.functional
        x = torch.ones(2, 4, 3, 3).contiguous(memory_format=torch.channels_last)
        y = torch.ones(2, 4, 3, 3, 3).contiguous(memory_format=torch.channels_last_3d)
        calls = [lambda x: F.adaptive_max_pool2d(x, 1), lambda x: F.adaptive_avg_pool2d(x, (1, 1)), lambda x: F.max_pool2d(x, 3), lambda x: F.avg_pool2d(x, 3),
                 lambda x: F.pad(x, (-1, -1, -1, -1), mode="reflect"), lambda x: F.pad(x, (-1, -1, -1, -1), mode="replicate"),
                 lambda x: F.interpolate(x, size=1), lambda x: F.interpolate(x, size=1, mode="bilinear"), lambda x: F.interpolate(x, size=1, mode="bicubic"),
                 lambda x: F.interpolate(x, size=1, mode="bilinear", antialias=True), lambda x: F.interpolate(x, size=1, mode="nearest-exact")]
        volumes = [lambda y: F.max_pool3d(y, 3), lambda y: F.adaptive_max_pool3d(y, 1), lambda y: F.avg_pool3d(y, 3), lambda y: F.adaptive_avg_pool3d(y, 2),
                   lambda y: F.max_pool3d(y, 2), lambda y: F.adaptive_max_pool3d(y, 2), lambda y: F.avg_pool3d(y, 2), lambda y: F.interpolate(y, size=1)]
        y.requires_grad_()
        return [call(x).stride() for call in calls] + [s for call in volumes for s in (call(y).stride(), torch.autograd.grad(call(y).sum(), y)[0].stride())]

    assert strides(kindling) == strides(reference)
