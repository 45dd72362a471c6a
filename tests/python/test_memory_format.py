"""Memory formats: results and gradients of operators over planes lie in memory as PyTorch's do, whatever the input's format."""
import numpy
import pytest
import torch

import kindling

SHAPES = ((4, 8, 8, 8), (1, 8, 8, 8), (2, 1, 8, 8), (8, 8, 8), (2, 4, 8, 2))
CASES = {
    "max_pool2d": "F.max_pool2d(x, 2, return_indices=True)",
    "avg_pool2d": "F.avg_pool2d(x, 2)",
    "adaptive_avg_pool2d": "F.adaptive_avg_pool2d(x, 3)",
    "adaptive_avg_pool2d_whole": "F.adaptive_avg_pool2d(x, 1)",
    "adaptive_max_pool2d": "F.adaptive_max_pool2d(x, 3, return_indices=True)",
    "adaptive_max_pool2d_whole": "F.adaptive_max_pool2d(x, 1, return_indices=True)",
    "lp_pool2d": "F.lp_pool2d(x, 2, 2)",
    "max_unpool2d": "F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)",
    "nearest": "F.interpolate(x, scale_factor=2, mode='nearest')",
    "bilinear": "F.interpolate(x, scale_factor=2, mode='bilinear')",
    "bicubic": "F.interpolate(x, scale_factor=2, mode='bicubic')",
    "constant": "F.pad(x, (1, 1, 1, 1))",
    "reflect": "F.pad(x, (1, 1, 1, 1), mode='reflect')",
    "replicate": "F.pad(x, (1, 1, 1, 1), mode='replicate')",
    "circular": "F.pad(x, (1, 1, 1, 1), mode='circular')",
    "batch_norm": "F.batch_norm(x, t.zeros(x.shape[1], dtype=x.dtype), t.ones(x.shape[1], dtype=x.dtype))",
    "batch_norm_training": "F.batch_norm(x, None, None, training=True)",
    "group_norm": "F.group_norm(x, 1)",
    "group_norm_weight": "F.group_norm(x, 1, t.ones(x.shape[1], dtype=x.dtype))",
}
FORWARD = {     # their gradients are contiguous here
    "pixel_shuffle": "t.pixel_shuffle(x.repeat(1, 4, 1, 1), 2)",
    "pixel_unshuffle": "t.pixel_unshuffle(x, 2)",
    "channel_shuffle": "F.channel_shuffle(x, x.shape[1])",
}


def inputs(t, dtype, shape):
    """The same numbers contiguous, channels last, and both with every other channel left out."""
    def numbers(channels):
        sizes = (*shape[:-3], channels, *shape[-2:])
        count = 1
        for size in sizes:
            count *= size
        return t.arange(count).reshape(sizes).to(getattr(t, dtype)).sin()

    for form in ("contiguous", "channels_last", "sliced", "channels_last_sliced"):
        x = numbers(shape[-3] * (2 if "sliced" in form else 1))
        if "channels_last" in form:
            if x.dim() != 4:
                continue
            x = x.contiguous(memory_format=t.channels_last)
        yield form, x.narrow(-3, 0, x.shape[-3]).unfold(-3, 1, 2).squeeze(-1) if "sliced" in form else x


def answers(t, program, dtype, shape, grad):
    found = {}
    for form, x in inputs(t, dtype, shape):
        x.requires_grad_(grad)
        try:
            results = eval(program, {"t": t, "F": t.nn.functional, "x": x})
        except (RuntimeError, ValueError, IndexError, NotImplementedError) as error:
            found[form] = type(error).__name__
            continue
        results = list(results) if isinstance(results, tuple) else [results]
        if grad:
            results.append(t.autograd.grad(results[0], x, t.ones_like(results[0]))[0])
        found[form] = [(tuple(each.shape), each.stride(), each.detach().numpy()) for each in results]
    return found


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("case", (*CASES, *FORWARD))
def test_results_and_gradients_have_pytorch_strides(case, dtype):
    for shape in SHAPES:
        for grad in (False, True) if case in CASES else (False,):
            program = CASES.get(case) or FORWARD[case]
            ours, theirs = answers(kindling, program, dtype, shape, grad), answers(torch, program, dtype, shape, grad)
            for form, expected in theirs.items():
                if isinstance(expected, str):
                    assert ours[form] == expected, (shape, form, grad)
                    continue
                assert [each[:2] for each in ours[form]] == [each[:2] for each in expected], (shape, form, grad)
                for got, wanted in zip(ours[form], expected):
                    numpy.testing.assert_allclose(got[2], wanted[2], rtol=1e-3, atol=1e-4, err_msg=str((shape, form, grad)))


def test_a_format_is_read_off_strides():
    """to(memory_format=) copies where the strides do not suggest the format, and gives the tensor itself where they do."""
    def same(t):
        found = []
        for sizes in ((2, 3, 4, 5), (2, 1, 4, 5), (1, 3, 1, 1), (2, 3, 1, 1), (2, 1, 1, 1), (2, 0, 3, 3), (2, 3, 4, 5, 6)):
            base = t.empty(sizes)
            formats = [t.channels_last if len(sizes) == 4 else t.channels_last_3d, t.contiguous_format]
            for x in (base, base.contiguous(memory_format=formats[0]), base.contiguous(memory_format=formats[0])[:, ::2], base[:, ::2], base.transpose(1, 3), base.expand(sizes)):
                found += [(sizes, x.stride(), each, x.to(memory_format=getattr(t, each)).data_ptr() == x.data_ptr()) for each in (str(form).rpartition(".")[2] for form in formats)]
        return found

    assert same(kindling) == same(torch)


def test_fractional_pooling_of_odd_sizes():
    def tried(t):
        F, found = t.nn.functional, []
        for dims in (2, 3):
            x, samples, pool = t.rand((2,) + (7,) * dims), t.rand(1, 2, dims), getattr(F, f"fractional_max_pool{dims}d")
            for size in ((0,) + (1,) * (dims - 1), (1,) * (dims - 1) + (0,), (9,) + (3,) * (dims - 1), (3,) * (dims - 1) + (9,), (3,)):
                y = x.clone().requires_grad_()
                try:
                    values, indices = pool(y, (2,) * dims, output_size=size, _random_samples=samples, return_indices=True)
                    values.sum().backward()
                    found.append((tuple(values.shape), values.stride(), tuple(indices.shape), y.grad.abs().sum().item()))
                except RuntimeError as error:
                    found.append(str(error).replace("_out()", "()"))
        return found

    assert tried(kindling) == tried(torch)


def test_gradients_of_nothing():
    """An adaptive maximum over no places has no gradient; what unpools an empty batch has one."""
    def tried(t):
        F, found = t.nn.functional, []
        for pool in (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d, F.adaptive_avg_pool2d):
            x = t.rand(1, 4, 10, 9, requires_grad=True) if pool is not F.adaptive_max_pool1d else t.rand(1, 4, requires_grad=True)
            try:
                pool(x, 0).sum().backward()
            except RuntimeError as error:
                found.append(str(error))
        for dims in (1, 2, 3):
            x = t.rand((0, 10) + (10,) * dims, requires_grad=True)
            pooled, indices = getattr(t.nn, f"MaxPool{dims}d")(2, return_indices=True)(x)
            result = getattr(t.nn, f"MaxUnpool{dims}d")(2)(pooled, indices)
            result.sum().backward()
            found.append((tuple(result.shape), tuple(x.grad.shape)))
        return found

    assert tried(kindling) == tried(torch)
