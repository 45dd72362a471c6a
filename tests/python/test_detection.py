"""torch.ops.torchvision: the operators of torchvision's library, by definitions written out here (torchvision's own library
needs a PyTorch with CUDA, so it is not among the tests' packages)."""
import math
import random

import pytest

import kindling as torch
from kindling.autograd import gradcheck

pytestmark = pytest.mark.kernels

ops = torch.ops.torchvision


def overlap(a, b):
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    common = max(width, 0) * max(height, 0)
    return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common)


@pytest.mark.parametrize("seed", range(8))
def test_nms_takes_the_best_first(seed):
    chance = random.Random(seed)
    boxes = [[x, y, x + chance.uniform(.5, 4), y + chance.uniform(.5, 4)] for x, y in ((chance.uniform(0, 6), chance.uniform(0, 6)) for _ in range(30))]
    scores = [round(chance.random(), 1 + seed % 2) for _ in boxes]     # equal scores keep their order
    kept = []
    for i in sorted(range(30), key=lambda i: -scores[i]):
        if all(overlap(boxes[i], boxes[j]) <= .3 for j in kept):
            kept.append(i)
    found = ops.nms(torch.tensor(boxes, dtype=torch.float64), torch.tensor(scores, dtype=torch.float64), .3)
    assert found.dtype == torch.int64 and found.tolist() == kept


def test_overlaps_of_rotated_boxes():
    """Against the areas of polygons on a fine grid, and what is known of squares."""
    iou = torch.ops.torchvision.box_iou_rotated
    square = torch.tensor([[5.0, 5.0, 2.0, 2.0, 0.0]])
    octagon = 8 * (math.sqrt(2) - 1)                # of a square and the same by 45 degrees, of side 2
    others = torch.tensor([[5.0, 5.0, 2.0, 2.0, 0.0], [6.0, 5.0, 2.0, 2.0, 90.0], [5.0, 5.0, 2.0, 2.0, 45.0], [9.0, 9.0, 2.0, 2.0, 30.0], [5.0, 5.0, 0.0, 2.0, 0.0]])
    assert iou(square, others)[0].tolist() == pytest.approx([1, 1 / 3, octagon / (8 - octagon), 0, 0], abs=1e-6)
    assert iou(square.double(), others.double()).dtype == torch.float32
    boxes = [(0.0, 0.0, 4.0, 2.0, 20.0), (0.5, 0.3, 3.0, 1.5, -50.0)]
    grid = [i * 0.01 - 3 for i in range(600)]

    def inside(box, x, y):
        angle = math.radians(box[4])
        u, v = (x - box[0]) * math.cos(angle) - (y - box[1]) * math.sin(angle), (x - box[0]) * math.sin(angle) + (y - box[1]) * math.cos(angle)
        return abs(u) < box[2] / 2 and abs(v) < box[3] / 2

    hits = [(inside(boxes[0], x, y), inside(boxes[1], x, y)) for x in grid for y in grid]
    expected = sum(a and b for a, b in hits) / sum(a or b for a, b in hits)
    assert iou(torch.tensor(boxes[:1]), torch.tensor(boxes[1:])).item() == pytest.approx(expected, abs=2e-3)
    with pytest.raises(RuntimeError, match="shape .N, 5."):
        iou(square[:, :4], square)


def test_nms_of_nothing():
    assert ops.nms(torch.zeros(0, 4), torch.zeros(0), .5).tolist() == []


def read(plane, y, x):
    """A plane between its pixels: nothing further than one away, its edge before that."""
    height, width = len(plane), len(plane[0])
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = int(y), int(x)
    below, right, ly, lx = min(top + 1, height - 1), min(left + 1, width - 1), y - top, x - left
    return ((1 - ly) * ((1 - lx) * plane[top][left] + lx * plane[top][right]) + ly * ((1 - lx) * plane[below][left] + lx * plane[below][right]))


def cells(roi, rows, columns, scale, points, shift, least):
    """(row, column, [(y, x) of its points])"""
    x1, y1, x2, y2 = (value * scale - shift for value in roi)
    height, width = max(y2 - y1, least), max(x2 - x1, least)
    for row in range(rows):
        for column in range(columns):
            ny, nx = (points, points) if points > 0 else (math.ceil(height / rows), math.ceil(width / columns))
            yield row, column, [(y1 + height / rows * (row + (i + .5) / ny), x1 + width / columns * (column + (j + .5) / nx)) for i in range(ny) for j in range(nx)]


ROIS = [[0, 0.2, 0.9, 5.1, 6.3], [1, -2, -3, 4, 4], [1, 3, 3, 9.5, 12], [0, 1, 1, 1.2, 1.1]]


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("points", [-1, 2, 3])
def test_roi_align(points, aligned):
    torch.manual_seed(0)
    x, rois = torch.randn(2, 3, 6, 7, dtype=torch.float64), torch.tensor(ROIS, dtype=torch.float64)
    found = ops.roi_align(x, rois, .8, 2, 3, points, aligned)
    assert found.shape == (4, 3, 2, 3)
    for k, (image, *box) in enumerate(ROIS):
        for row, column, places in cells(box, 2, 3, .8, points, .5 * aligned, -1e9 if aligned else 1):
            for c in range(3):
                plane = x[image, c].tolist()
                assert found[k, c, row, column].item() == pytest.approx(sum(read(plane, *place) for place in places) / max(len(places), 1), abs=1e-12)


def test_ps_roi_align_reads_a_channel_for_each_cell():
    torch.manual_seed(0)
    x, rois = torch.randn(2, 2 * 6, 6, 7, dtype=torch.float64), torch.tensor(ROIS, dtype=torch.float64)
    found, channels = ops.ps_roi_align(x, rois, 1., 2, 3, 2)
    assert channels.dtype == torch.int32 and channels[1].flatten().tolist() == list(range(12))
    for k, (image, *box) in enumerate(ROIS):
        for row, column, places in cells(box, 2, 3, 1., 2, .5, -1e9):
            for c in range(2):
                plane = x[image, (c * 2 + row) * 3 + column].tolist()
                assert found[k, c, row, column].item() == pytest.approx(sum(read(plane, *place) for place in places) / 4, abs=1e-12)


def test_roi_pool():
    torch.manual_seed(0)
    x, rois = torch.randn(2, 3, 6, 7), torch.tensor(ROIS)
    found, places = ops.roi_pool(x, rois, 1., 2, 3)
    half_up = lambda value: math.floor(value + .5)      # noqa: E731
    for k, (image, *box) in enumerate(ROIS):
        x1, y1, x2, y2 = map(half_up, box)
        height, width = max(y2 - y1 + 1, 1) / 2, max(x2 - x1 + 1, 1) / 3
        for row in range(2):
            for column in range(3):
                ys = [y for y in range(y1 + math.floor(row * height), y1 + math.ceil((row + 1) * height)) if 0 <= y < 6]
                xs = [v for v in range(x1 + math.floor(column * width), x1 + math.ceil((column + 1) * width)) if 0 <= v < 7]
                for c in range(3):
                    values = {y * 7 + v: x[image, c, y, v].item() for y in ys for v in xs}
                    best = max(values, key=values.get, default=-1)
                    assert (found[k, c, row, column].item(), places[k, c, row, column].item()) == (values.get(best, 0), best)


@pytest.mark.parametrize("call", [lambda x, r: ops.roi_align(x, r, 1., 2, 2, 2, True), lambda x, r: ops.ps_roi_align(x, r, 1., 2, 2, 2)[0],
                                  lambda x, r: ops.roi_pool(x, r, 1., 2, 2)[0]])
def test_gradients_of_pooling(call):
    torch.manual_seed(0)
    x, rois = torch.randn(2, 4, 6, 7, dtype=torch.float64, requires_grad=True), torch.tensor(ROIS, dtype=torch.float64)
    assert gradcheck(lambda x: call(x, rois), (x,))
    with pytest.raises(RuntimeError):      # as in torchvision
        grad, = torch.autograd.grad(call(x, rois).square().sum(), x, create_graph=True)
        grad.sum().backward()


def test_ps_roi_pool():
    """The means of pixels. torchvision's never read the last row and column, and its gradients go there."""
    x = torch.arange(2 * 4 * 6 * 6.).view(2, 4, 6, 6).requires_grad_()
    found, channels = ops.ps_roi_pool(x, torch.tensor([[1., 0, 0, 4, 4], [0., 2, 2, 6, 6]]), 1., 2, 2)
    assert channels[0].flatten().tolist() == [0, 1, 2, 3]
    assert found[0].flatten().tolist() == [x[1, c, a:a + 2, b:b + 2].mean().item() for c, (a, b) in enumerate(((0, 0), (0, 2), (2, 0), (2, 2)))]
    assert found[1].flatten().tolist() == [x[0, c, a:min(a + 2, 5), b:min(b + 2, 5)].mean().item() for c, (a, b) in enumerate(((2, 2), (2, 4), (4, 2), (4, 4)))]
    found.sum().backward()
    assert x.grad[1, 0].nonzero().tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]] and x.grad[0, 3, 4:, 4:].tolist() == [[.25, .25], [.25, .25]]


def deformable(x, weight, offset, mask, bias, groups=1, offset_groups=1, stride=1, padding=1, dilation=1):
    return ops.deform_conv2d(x, weight, offset, x.new_zeros(len(x), 0) if mask is None else mask, bias, stride, stride, padding, padding,
                             dilation, dilation, groups, offset_groups, mask is not None)


def test_deform_conv2d_without_offsets_is_a_convolution():
    torch.manual_seed(0)
    for groups, stride, dilation in ((1, 1, 1), (2, 2, 1), (2, 1, 2)):
        x, weight, bias = torch.randn(2, 4, 7, 8), torch.randn(6, 4 // groups, 3, 3), torch.randn(6)
        expected = torch.nn.functional.conv2d(x, weight, bias, stride, 1, dilation, groups)
        offset = torch.zeros(2, 2 * 9 * 2, *expected.shape[2:])
        torch.testing.assert_close(deformable(x, weight, offset, None, bias, groups, 2, stride, 1, dilation), expected)
        half = torch.full((2, 9 * 2, *expected.shape[2:]), .5)
        torch.testing.assert_close(deformable(x, weight, offset, half, bias, groups, 2, stride, 1, dilation), (expected - bias.view(-1, 1, 1)) / 2 + bias.view(-1, 1, 1))


def test_deform_conv2d_with_whole_offsets_reads_elsewhere():
    torch.manual_seed(0)
    x, weight, bias = torch.randn(1, 2, 6, 6), torch.randn(3, 2, 1, 1), torch.zeros(3)
    offset = torch.zeros(1, 2, 6, 6)
    offset[:, 0], offset[:, 1] = 1, -2          # a row down, two columns to the left
    moved = torch.zeros_like(x)
    moved[:, :, :5, 2:] = x[:, :, 1:, :4]
    torch.testing.assert_close(deformable(x, weight, offset, None, bias, padding=0), torch.nn.functional.conv2d(moved, weight))


def test_gradients_of_deform_conv2d():
    torch.manual_seed(0)
    x, weight, bias = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((2, 4, 4, 5), (4, 2, 3, 3), (4,)))
    offset = (torch.randn(2, 2 * 9 * 2, 4, 5, dtype=torch.float64) + .01).requires_grad_()
    mask = torch.rand(2, 9 * 2, 4, 5, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda *given: deformable(*given, groups=2, offset_groups=2), (x, weight, offset, mask, bias), fast_mode=True)
    assert gradcheck(lambda x, weight, offset: deformable(x, weight, offset, None, bias.detach(), groups=2, offset_groups=2), (x, weight, offset), fast_mode=True)


def test_halves_are_computed_in_single_precision():
    x, rois = torch.randn(1, 2, 5, 5).half(), torch.tensor([[0, .3, .2, 3.6, 4.1]]).half()
    found = ops.roi_align(x, rois, 1., 2, 2, 2, True)
    assert found.dtype == torch.float16 and torch.equal(found, ops.roi_align(x.float(), rois.float(), 1., 2, 2, 2, True).half())


def test_bad_calls_name_what_is_wrong():
    x, rois = torch.zeros(2, 4, 5, 5), torch.zeros(1, 5)
    for call, words in ((lambda: ops.nms(torch.zeros(3, 5), torch.zeros(3), .5), "boxes should have 4 elements in dimension 1, got 5"),
                        (lambda: ops.nms(torch.zeros(3, 4), torch.zeros(2), .5), "same number of elements in dimension 0, got 3 and 2"),
                        (lambda: ops.roi_align(x, torch.zeros(1, 4), 1., 2, 2, 2, True), r"rois must have shape as Tensor\[K, 5\], not \[1, 4\]"),
                        (lambda: ops.roi_align(x, rois.double(), 1., 2, 2, 2, True), "same type, but got float32 and float64"),
                        (lambda: ops.roi_align(x, rois + 2, 1., 2, 2, 2, True), "a region is of image 2, but there are 2 images"),
                        (lambda: ops.roi_align(x, rois * math.nan, 1., 2, 2, 2, True), "a region is of image nan"),
                        (lambda: ops.roi_align(x, torch.tensor([[0, 0, 0, 1e9, 1e9]]), 1., 1, 1, -1, True), "too large to be sampled"),
                        (lambda: ops.roi_pool(x, rois, 1., 0, 2), "output size must be positive"),
                        (lambda: ops.ps_roi_align(x, rois, 1., 3, 1, 2), "multiple of pooling height"),
                        (lambda: deformable(x, torch.zeros(4, 4, 3, 3), torch.zeros(2, 18, 5, 4), None, torch.zeros(4)), r"expected offset of shape \[2, 18, 5, 5\]"),
                        (lambda: deformable(x, torch.zeros(4, 3, 3, 3), torch.zeros(2, 18, 5, 5), None, torch.zeros(4)), "do not fit")):
        with pytest.raises(RuntimeError, match=words):
            call()
    with pytest.raises(NotImplementedError):
        ops.roi_align(x.to(torch.int64), rois.to(torch.int64), 1., 2, 2, 2, True)


def test_meta_tensors_have_shapes():
    x, rois = torch.empty(2, 4, 5, 5, device="meta"), torch.empty(3, 5, device="meta")
    assert ops.roi_align(x, rois, 1., 2, 3, 2, True).shape == (3, 4, 2, 3)
    assert [each.shape for each in ops.ps_roi_align(x, rois, 1., 2, 2, 2)] == [(3, 1, 2, 2)] * 2
    assert deformable(x, torch.empty(6, 4, 3, 3, device="meta"), torch.empty(2, 18, 5, 5, device="meta"), None, torch.empty(6, device="meta")).shape == (2, 6, 5, 5)


def test_odd_regions_and_sizes_end_well():
    """Coordinates of any size, planes without pixels, nothing to pool: an answer or a RuntimeError."""
    chance, answered = random.Random(0), 0
    odd = [0., -1., .5, 4., 1e30, -1e30, math.inf, -math.inf, math.nan, 1e9, -1e9, 2.**31, 1e-30]
    for _ in range(1500):
        n, c, h, w = (chance.choice((0, 1, 2, 3)) for _ in range(4))
        rows, columns, k = (chance.choice((0, 1, 2)) for _ in range(3))
        x = torch.randn(n, c * max(rows * columns, 1), h, w, requires_grad=True)
        if chance.random() < .3:
            x = x.transpose(2, 3)
        rois = torch.tensor([[chance.choice((0., 0., 1., -1., 9.)), *(chance.choice(odd) for _ in range(4))] for _ in range(k)]).view(k, 5)
        scale, points = chance.choice((1., .25, 0., -1., math.inf)), chance.choice((-1, 0, 1, 3))
        for call in (lambda: ops.roi_align(x, rois, scale, rows, columns, points, chance.random() < .5), lambda: ops.ps_roi_align(x, rois, scale, rows, columns, points)[0],
                     lambda: ops.roi_pool(x, rois, scale, rows, columns)[0], lambda: ops.ps_roi_pool(x, rois, scale, rows, columns)[0]):
            try:
                found = call()
                found.sum().backward()
                answered += 1
            except RuntimeError:
                pass
        stride, padding, dilation = (chance.choice((0, 1, 2)) for _ in range(3))
        offset, mask = torch.tensor([chance.choice(odd) for _ in range(18 * n * h * w)]).view(n, 18, h, w), torch.ones(n, 9, h, w)
        try:
            found = ops.deform_conv2d(x, torch.randn(2, x.size(1), 3, 3), offset, mask, torch.zeros(2), stride, stride, padding, padding, dilation, dilation, 1, 1, True)
            found.sum().backward()
            answered += 1
        except RuntimeError:
            pass
    assert answered > 1000
