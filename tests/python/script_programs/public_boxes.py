"""Programs in the style of published detection and image code: boxes, anchors, suppression, matching, transforms."""
from typing import Dict, List, Tuple
import math
import torch
from torch import nn
import torch.nn.functional as F


def _boxes():
    return torch.tensor([[0.0, 0.0, 10.0, 10.0], [1.0, 1.0, 11.0, 11.0], [20.0, 20.0, 30.0, 40.0], [2.0, 3.0, 4.0, 5.0]])


def _area(boxes: torch.Tensor) -> torch.Tensor:
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


@program(lambda: (_boxes(),))
def box_area(boxes: torch.Tensor) -> torch.Tensor:
    return _area(boxes)


def _upcast(t: torch.Tensor) -> torch.Tensor:
    if t.is_floating_point():
        return t if t.dtype in (torch.float32, torch.float64) else t.to(torch.float32)
    else:
        return t if t.dtype in (torch.int32, torch.int64) else t.to(torch.int32)


@program(lambda: (_boxes().half(),), lambda: (_boxes().to(torch.int16),), lambda: (_boxes(),))
def upcast_by_dtype(t: torch.Tensor) -> torch.Tensor:
    return _upcast(t)


def _pairwise(a: torch.Tensor, b: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    lt = torch.max(a[:, None, :2], b[:, :2])
    rb = torch.min(a[:, None, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[:, :, 0] * wh[:, :, 1]
    return inter, _area(a)[:, None] + _area(b) - inter


@program(lambda: (_boxes(), _boxes()[:2]))
def box_iou(boxes1: torch.Tensor, boxes2: torch.Tensor) -> torch.Tensor:
    inter, union = _pairwise(boxes1, boxes2)
    return inter / union


@program(lambda: (_boxes(), _boxes()[1:3]))
def generalized_iou(boxes1: torch.Tensor, boxes2: torch.Tensor) -> torch.Tensor:
    inter, union = _pairwise(boxes1, boxes2)
    iou = inter / union
    lti = torch.min(boxes1[:, None, :2], boxes2[:, :2])
    rbi = torch.max(boxes1[:, None, 2:], boxes2[:, 2:])
    whi = (rbi - lti).clamp(min=0)
    areai = whi[:, :, 0] * whi[:, :, 1]
    return iou - (areai - union) / areai


@program(lambda: (_boxes(), (12, 25)))
def clip_boxes(boxes: torch.Tensor, size: Tuple[int, int]) -> torch.Tensor:
    dim = boxes.dim()
    boxes_x = boxes[..., 0::2]
    boxes_y = boxes[..., 1::2]
    height, width = size
    boxes_x = boxes_x.clamp(min=0, max=width)
    boxes_y = boxes_y.clamp(min=0, max=height)
    clipped = torch.stack((boxes_x, boxes_y), dim=dim)
    return clipped.reshape(boxes.shape)


@program(lambda: (_boxes(), 5.0))
def remove_small(boxes: torch.Tensor, min_size: float) -> torch.Tensor:
    ws, hs = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    keep = (ws >= min_size) & (hs >= min_size)
    return torch.where(keep)[0]


@program(lambda: (_boxes(), torch.tensor([0.9, 0.8, 0.7, 0.95]), 0.5))
def nms_loop(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> torch.Tensor:
    order = torch.argsort(scores, descending=True)
    keep: List[int] = []
    suppressed = torch.zeros(boxes.size(0), dtype=torch.bool)
    areas = _area(boxes)
    for n in range(order.numel()):
        i = int(order[n])
        if bool(suppressed[i]):
            continue
        keep.append(i)
        for m in range(n + 1, order.numel()):
            j = int(order[m])
            if bool(suppressed[j]):
                continue
            x1 = max(float(boxes[i, 0]), float(boxes[j, 0]))
            y1 = max(float(boxes[i, 1]), float(boxes[j, 1]))
            x2 = min(float(boxes[i, 2]), float(boxes[j, 2]))
            y2 = min(float(boxes[i, 3]), float(boxes[j, 3]))
            inter = max(x2 - x1, 0.0) * max(y2 - y1, 0.0)
            if inter / (float(areas[i]) + float(areas[j]) - inter) > threshold:
                suppressed[j] = True
    return torch.tensor(keep, dtype=torch.int64)


@program(lambda: (_boxes(), torch.tensor([0.9, 0.8, 0.7, 0.6]), torch.tensor([0, 1, 0, 1])))
def batched_offsets(boxes: torch.Tensor, scores: torch.Tensor, idxs: torch.Tensor) -> torch.Tensor:
    if boxes.numel() == 0:
        return torch.empty((0,), dtype=torch.int64, device=boxes.device)
    max_coordinate = boxes.max()
    offsets = idxs.to(boxes) * (max_coordinate + torch.tensor(1).to(boxes))
    return boxes + offsets[:, None]


@program(lambda: (_boxes(), "xyxy", "cxcywh"), lambda: (_boxes(), "xyxy", "xywh"), lambda: (_boxes(), "abc", "xyxy"))
def box_convert(boxes: torch.Tensor, in_fmt: str, out_fmt: str) -> torch.Tensor:
    allowed = ("xyxy", "xywh", "cxcywh")
    if in_fmt not in allowed or out_fmt not in allowed:
        raise ValueError("Unsupported Bounding Box Conversions for given in_fmt and out_fmt")
    if in_fmt == out_fmt:
        return boxes.clone()
    x1, y1, x2, y2 = boxes.unbind(-1)
    if out_fmt == "xywh":
        return torch.stack((x1, y1, x2 - x1, y2 - y1), dim=-1)
    return torch.stack(((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1), dim=-1)


@program(lambda: (_boxes(), _boxes() + 1.5, [10.0, 10.0, 5.0, 5.0]))
def encode_boxes(reference: torch.Tensor, proposals: torch.Tensor, weights: List[float]) -> torch.Tensor:
    wx, wy, ww, wh = weights
    ex_w = proposals[:, 2] - proposals[:, 0]
    ex_h = proposals[:, 3] - proposals[:, 1]
    ex_x = proposals[:, 0] + 0.5 * ex_w
    ex_y = proposals[:, 1] + 0.5 * ex_h
    gt_w = reference[:, 2] - reference[:, 0]
    gt_h = reference[:, 3] - reference[:, 1]
    gt_x = reference[:, 0] + 0.5 * gt_w
    gt_y = reference[:, 1] + 0.5 * gt_h
    targets_dx = wx * (gt_x - ex_x) / ex_w
    targets_dy = wy * (gt_y - ex_y) / ex_h
    targets_dw = ww * torch.log(gt_w / ex_w)
    targets_dh = wh * torch.log(gt_h / ex_h)
    return torch.stack([targets_dx, targets_dy, targets_dw, targets_dh], dim=1)


class BoxCoder:
    def __init__(self, weights: Tuple[float, float, float, float], clip: float = math.log(1000.0 / 16)):
        self.weights = weights
        self.clip = clip

    def decode(self, codes: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
        wx, wy, ww, wh = self.weights
        widths = boxes[:, 2] - boxes[:, 0]
        heights = boxes[:, 3] - boxes[:, 1]
        dx = codes[:, 0::4] / wx
        dw = torch.clamp(codes[:, 2::4] / ww, max=self.clip)
        cx = dx * widths[:, None] + (boxes[:, 0] + 0.5 * widths)[:, None]
        pw = torch.exp(dw) * widths[:, None]
        half = torch.tensor(0.5, dtype=cx.dtype, device=pw.device) * pw
        return torch.cat((cx - half, cx + half, heights[:, None]), dim=1)


@program(lambda: (torch.ones(4, 4) * 0.1, _boxes()))
def decode_with_class(codes: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
    return BoxCoder((10.0, 10.0, 5.0, 5.0)).decode(codes, boxes)


@program(lambda: (torch.tensor([[0.9, 0.2, 0.4], [0.1, 0.8, 0.4]]), 0.7, 0.3, True), lambda: (torch.tensor([[0.9, 0.2, 0.4], [0.1, 0.8, 0.4]]), 0.7, 0.3, False))
def match_quality(quality: torch.Tensor, high: float, low: float, allow_low: bool) -> torch.Tensor:
    vals, matches = quality.max(dim=0)
    all_matches = matches.clone() if allow_low else None
    below = vals < low
    between = (vals >= low) & (vals < high)
    matches[below] = -1
    matches[between] = -2
    if allow_low:
        if all_matches is None:
            torch._assert(False, "all_matches should not be None")
        else:
            best, _ = quality.max(dim=1)
            pairs = torch.where(quality == best[:, None])[1]
            matches[pairs] = all_matches[pairs]
    return matches


@program(lambda: ([torch.tensor([1, -1, 0, 0, 2, 0])], 4, 0.5))
def balanced_counts(labels: List[torch.Tensor], per_image: int, fraction: float) -> List[Tuple[int, int]]:
    out: List[Tuple[int, int]] = []
    for per in labels:
        positive = torch.where(per >= 1)[0]
        negative = torch.where(per == 0)[0]
        num_pos = int(per_image * fraction)
        num_pos = min(positive.numel(), num_pos)
        num_neg = min(negative.numel(), per_image - num_pos)
        out.append((num_pos, num_neg))
    return out


@program(lambda: ([32, 64], [0.5, 1.0, 2.0]))
def base_anchors(scales: List[int], ratios: List[float]) -> torch.Tensor:
    s = torch.as_tensor(scales, dtype=torch.float32)
    r = torch.as_tensor(ratios, dtype=torch.float32)
    h = torch.sqrt(r)
    w = 1 / h
    ws = (w[:, None] * s[None, :]).view(-1)
    hs = (h[:, None] * s[None, :]).view(-1)
    return (torch.stack([-ws, -hs, ws, hs], dim=1) / 2).round()


@program(lambda: ([[2, 3], [1, 2]], [[8, 8], [16, 16]], [torch.tensor([[-1.0, -1.0, 1.0, 1.0]]), torch.tensor([[-2.0, -2.0, 2.0, 2.0], [-1.0, -2.0, 1.0, 2.0]])]))
def grid_anchors(sizes: List[List[int]], strides: List[List[int]], cells: List[torch.Tensor]) -> List[torch.Tensor]:
    anchors = []
    for size, stride, base in zip(sizes, strides, cells):
        grid_height, grid_width = size
        stride_height, stride_width = stride
        shifts_x = torch.arange(0, grid_width, dtype=torch.int32) * stride_width
        shifts_y = torch.arange(0, grid_height, dtype=torch.int32) * stride_height
        shift_y, shift_x = torch.meshgrid(shifts_y, shifts_x, indexing="ij")
        shift_x = shift_x.reshape(-1)
        shift_y = shift_y.reshape(-1)
        shifts = torch.stack((shift_x, shift_y, shift_x, shift_y), dim=1)
        anchors.append((shifts.view(-1, 1, 4) + base.view(1, -1, 4)).reshape(-1, 4))
    return anchors


@program(lambda: (torch.tensor([0.0, 1.0, 2.0]), torch.tensor([0.5, 1.5, 4.0]), 1.0))
def smooth_l1(input: torch.Tensor, target: torch.Tensor, beta: float) -> torch.Tensor:
    if beta < 1e-5:
        return torch.abs(input - target).sum()
    n = torch.abs(input - target)
    cond = n < beta
    return torch.where(cond, 0.5 * n ** 2 / beta, n - 0.5 * beta).sum()


@program(lambda: (torch.tensor([0.5, -1.0, 2.0], requires_grad=True), torch.tensor([1.0, 0.0, 1.0]), "mean"),
         lambda: (torch.tensor([0.5, -1.0, 2.0], requires_grad=True), torch.tensor([1.0, 0.0, 1.0]), "sum"))
def focal_loss(inputs: torch.Tensor, targets: torch.Tensor, reduction: str = "none", alpha: float = 0.25, gamma: float = 2.0) -> torch.Tensor:
    p = torch.sigmoid(inputs)
    ce = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    p_t = p * targets + (1 - p) * (1 - targets)
    loss = ce * ((1 - p_t) ** gamma)
    if alpha >= 0:
        alpha_t = alpha * targets + (1 - alpha) * (1 - targets)
        loss = alpha_t * loss
    if reduction == "none":
        pass
    elif reduction == "mean":
        loss = loss.mean()
    elif reduction == "sum":
        loss = loss.sum()
    else:
        raise ValueError(f"Invalid Value for arg 'reduction': '{reduction}'")
    return loss


@program(lambda: ([torch.ones(3, 4, 5), torch.ones(3, 6, 2)], 4))
def batch_images(images: List[torch.Tensor], divisible: int) -> torch.Tensor:
    maxes = [0, 0, 0]
    for img in images:
        for i, n in enumerate(img.shape):
            maxes[i] = max(maxes[i], n)
    stride = float(divisible)
    maxes[1] = int(math.ceil(float(maxes[1]) / stride) * stride)
    maxes[2] = int(math.ceil(float(maxes[2]) / stride) * stride)
    batched = images[0].new_full([len(images)] + maxes, 0)
    for i in range(batched.shape[0]):
        img = images[i]
        batched[i, : img.shape[0], : img.shape[1], : img.shape[2]].copy_(img)
    return batched


@program(lambda: ({"boxes": torch.zeros(2, 4), "labels": torch.tensor([1, 2])}, {"0": torch.ones(1)}))
def update_targets(target: Dict[str, torch.Tensor], extra: Dict[str, torch.Tensor]) -> Dict[str, torch.Tensor]:
    data: Dict[str, torch.Tensor] = {}
    for k, v in target.items():
        data[k] = v + 1
    for k in extra.keys():
        data["extra_" + k] = extra[k]
    return data


@program(lambda: (torch.arange(12.0).view(1, 3, 4), 2, 2))
def center_crop(img: torch.Tensor, height: int, width: int) -> torch.Tensor:
    h, w = img.shape[-2:]
    top = int(round((h - height) / 2.0))
    left = int(round((w - width) / 2.0))
    return img[..., top : top + height, left : left + width]


@program(lambda: (torch.rand(3, 2, 2),))
def rgb_to_grayscale(img: torch.Tensor, num_output_channels: int = 1) -> torch.Tensor:
    if img.ndim < 3:
        raise TypeError(f"Input image tensor should have at least 3 dimensions, but found {img.ndim}")
    if num_output_channels not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    r, g, b = img.unbind(dim=-3)
    l_img = (0.2989 * r + 0.587 * g + 0.114 * b).to(img.dtype)
    l_img = l_img.unsqueeze(dim=-3)
    if num_output_channels == 3:
        return l_img.expand(img.shape)
    return l_img


@program(lambda: (torch.tensor([[[0.2]], [[0.5]], [[0.9]]]),))
def rgb_to_hsv(img: torch.Tensor) -> torch.Tensor:
    r, g, b = img.unbind(dim=-3)
    maxc = torch.max(img, dim=-3).values
    minc = torch.min(img, dim=-3).values
    eqc = maxc == minc
    cr = maxc - minc
    ones = torch.ones_like(maxc)
    s = cr / torch.where(eqc, ones, maxc)
    cr_divisor = torch.where(eqc, ones, cr)
    rc = (maxc - r) / cr_divisor
    gc = (maxc - g) / cr_divisor
    bc = (maxc - b) / cr_divisor
    hr = (maxc == r) * (bc - gc)
    hg = ((maxc == g) & (maxc != r)) * (2.0 + rc - bc)
    hb = ((maxc != g) & (maxc != r)) * (4.0 + gc - rc)
    h = hr + hg + hb
    h = torch.fmod((h / 6.0 + 1.0), 1.0)
    return torch.stack((h, s, maxc), dim=-3)


@program(lambda: ([0.0, 0.0], 30.0, [1.0, 2.0], 1.5, [5.0, 0.0]))
def inverse_affine(center: List[float], angle: float, translate: List[float], scale: float, shear: List[float]) -> List[float]:
    rot = math.radians(angle)
    sx = math.radians(shear[0])
    sy = math.radians(shear[1])
    cx, cy = center
    tx, ty = translate
    a = math.cos(rot - sy) / math.cos(sy)
    b = -math.cos(rot - sy) * math.tan(sx) / math.cos(sy) - math.sin(rot)
    c = math.sin(rot - sy) / math.cos(sy)
    d = -math.sin(rot - sy) * math.tan(sx) / math.cos(sy) + math.cos(rot)
    matrix = [d, -b, 0.0, -c, a, 0.0]
    matrix = [x / scale for x in matrix]
    matrix[2] += matrix[0] * (-cx - tx) + matrix[1] * (-cy - ty)
    matrix[5] += matrix[3] * (-cx - tx) + matrix[4] * (-cy - ty)
    matrix[2] += cx
    matrix[5] += cy
    return matrix


@program(lambda: ([1, 2],), lambda: ([1],), lambda: ([1, 2, 3, 4],), lambda: ([1, 2, 3],))
def parse_padding(padding: List[int]) -> List[int]:
    if len(padding) == 1:
        pad_left = pad_right = pad_top = pad_bottom = padding[0]
    elif len(padding) == 2:
        pad_left = pad_right = padding[0]
        pad_top = pad_bottom = padding[1]
    elif len(padding) == 4:
        pad_left = padding[0]
        pad_top = padding[1]
        pad_right = padding[2]
        pad_bottom = padding[3]
    else:
        raise ValueError(f"Padding must be 1, 2, or 4 element tuple, not a {len(padding)} element tuple")
    return [pad_left, pad_right, pad_top, pad_bottom]


@program(lambda: (torch.arange(6.0).view(1, 2, 3), [1, 1, 1, 1]))
def pad_symmetric(img: torch.Tensor, padding: List[int]) -> torch.Tensor:
    in_sizes = img.size()
    _x_indices = [i for i in range(in_sizes[-1])]
    left_indices = [i for i in range(padding[0] - 1, -1, -1)]
    right_indices = [-(i + 1) for i in range(padding[1])]
    x_indices = torch.tensor(left_indices + _x_indices + right_indices, device=img.device)
    _y_indices = [i for i in range(in_sizes[-2])]
    top_indices = [i for i in range(padding[2] - 1, -1, -1)]
    bottom_indices = [-(i + 1) for i in range(padding[3])]
    y_indices = torch.tensor(top_indices + _y_indices + bottom_indices, device=img.device)
    return img[:, y_indices[:, None], x_indices[None, :]]


@program(lambda: (torch.rand(1, 2, 8, 8), [torch.tensor([[0.0, 0.0, 4.0, 4.0]])]))
class RoiHead(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(2, 3, 3, padding=1)
        self.cls = nn.Linear(3, 2)

    def crop(self, features: torch.Tensor, boxes: List[torch.Tensor]) -> torch.Tensor:
        pooled = torch.jit.annotate(List[torch.Tensor], [])
        for i, per_image in enumerate(boxes):
            for k in range(per_image.size(0)):
                b = per_image[k]
                x1, y1, x2, y2 = int(b[0]), int(b[1]), int(b[2]), int(b[3])
                pooled.append(features[i, :, y1:y2, x1:x2].amax(dim=[1, 2]))
        return torch.stack(pooled)

    def forward(self, features: torch.Tensor, boxes: List[torch.Tensor]) -> Tuple[torch.Tensor, List[int]]:
        x = F.relu(self.conv(features))
        pooled = self.crop(x, boxes)
        scores = F.softmax(self.cls(pooled), -1)
        labels: List[int] = []
        for row in scores:
            labels.append(int(row.argmax()))
        return scores, labels
