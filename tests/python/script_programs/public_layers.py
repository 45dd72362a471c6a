"""Programs in the style of published layers: activations, normalisation, recurrent cells, attention, convolution blocks."""
from typing import Dict, Final, List, NamedTuple, Optional, Tuple
import math
import torch
from torch import nn
from torch import Tensor
import torch.nn.functional as F


def _x():
    return torch.linspace(-2, 2, 8).view(2, 4).requires_grad_()


@program(lambda: (_x(),))
def swish(x):
    return x.mul(x.sigmoid())


@program(lambda: (_x(),))
def swish_backward(x):
    s = torch.sigmoid(x)
    return s * (1 + x * (1 - s))


@program(lambda: (_x(),))
def mish(x):
    return x.mul(F.softplus(x).tanh())


@program(lambda: (_x().detach(), True), lambda: (_x().detach(), False))
def hard_swish(x, inplace: bool = False):
    inner = F.relu6(x + 3.0).div_(6.0)
    return x.mul_(inner) if inplace else x.mul(inner)


@program(lambda: (_x(),))
def gelu_tanh(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


@program(lambda: (_x(),))
def bias_gelu(y):
    x = 1.0 + y
    return x * 0.5 * (1.0 + torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x)))


@program(lambda: (_x(), 1))
def glu(x, dim: int):
    a, b = x.chunk(2, dim=dim)
    return a * torch.sigmoid(b)


@program(lambda: (_x(),))
def squared_relu(x):
    return torch.pow(F.relu(x), 2)


@program(lambda: (_x(), 1e-6, torch.ones(4)))
def rms_norm(x: Tensor, eps: float, weight: Tensor):
    variance = x.to(torch.float32).pow(2).mean(-1, keepdim=True)
    x = x * torch.rsqrt(variance + eps)
    if weight.dtype == torch.float16 or weight.dtype == torch.bfloat16:
        x = x.to(weight.dtype)
    return weight * x


@program(lambda: (_x(), torch.ones(4), torch.zeros(4), 1e-5))
def layer_norm_by_hand(x: Tensor, gamma: Tensor, beta: Tensor, eps: float):
    mean = x.mean(-1, keepdim=True)
    std = ((x - mean) ** 2).mean(-1, keepdim=True)
    return gamma * (x - mean) / torch.sqrt(std + eps) + beta


@program(lambda: (_x(), 0.5, True), lambda: (_x(), 0.0, True), lambda: (_x(), 0.5, False))
def drop_path(x, drop_prob: float = 0.0, training: bool = False):
    if drop_prob == 0.0 or not training:
        return x
    keep_prob = 1 - drop_prob
    shape = (x.shape[0],) + (1,) * (x.ndim - 1) if False else [x.shape[0], 1]
    random_tensor = keep_prob + torch.rand(shape, dtype=x.dtype, device=x.device)
    random_tensor.floor_()
    return x.div(keep_prob) * random_tensor


@program(lambda: (_x(), _x(), None, 0.0, False), lambda: (_x(), _x(), torch.ones(4), 0.0, True))
def bias_dropout_add(x: Tensor, residual: Tensor, bias: Optional[Tensor], prob: float, training: bool) -> Tensor:
    if bias is not None:
        x = x + bias
    out = F.dropout(x, p=prob, training=training)
    return residual + out


@program(lambda: (_x(), (torch.zeros(2, 3), torch.zeros(2, 3)), torch.ones(12, 4) * 0.1, torch.ones(12, 3) * 0.2, torch.zeros(12), torch.zeros(12)))
def lstm_cell(input: Tensor, state: Tuple[Tensor, Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor, b_hh: Tensor) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
    hx, cx = state
    gates = torch.mm(input, w_ih.t()) + b_ih + torch.mm(hx, w_hh.t()) + b_hh
    ingate, forgetgate, cellgate, outgate = gates.chunk(4, 1)
    ingate = torch.sigmoid(ingate)
    forgetgate = torch.sigmoid(forgetgate)
    cellgate = torch.tanh(cellgate)
    outgate = torch.sigmoid(outgate)
    cy = (forgetgate * cx) + (ingate * cellgate)
    hy = outgate * torch.tanh(cy)
    return hy, (hy, cy)


@program(lambda: (_x(), torch.zeros(2, 3), torch.ones(9, 4) * 0.1, torch.ones(9, 3) * 0.2))
def gru_cell(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor) -> Tensor:
    gx = F.linear(x, w_x)
    gh = F.linear(h, w_h)
    i_r, i_i, i_n = gx.chunk(3, 1)
    h_r, h_i, h_n = gh.chunk(3, 1)
    r = torch.sigmoid(i_r + h_r)
    z = torch.sigmoid(i_i + h_i)
    n = torch.tanh(i_n + r * h_n)
    return n + z * (h - n)


@program(lambda: (torch.rand(5, 2, 4), torch.zeros(2, 4)))
def rnn_over_time(xs: Tensor, h: Tensor) -> Tuple[Tensor, Tensor]:
    outputs = []
    for x in xs.unbind(0):
        h = torch.tanh(x + 0.5 * h)
        outputs.append(h)
    return torch.stack(outputs), h


@program(lambda: (torch.rand(2, 3, 4), torch.rand(2, 3, 4), torch.rand(2, 3, 4), None), lambda: (torch.rand(2, 3, 4), torch.rand(2, 3, 4), torch.rand(2, 3, 4), torch.eye(3).bool()))
def scaled_attention(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
    d = q.size(-1)
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(d)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    attn = torch.softmax(scores, dim=-1)
    return torch.matmul(attn, v), attn


@program(lambda: (torch.rand(1, 2, 3, 4), torch.rand(3, 2), torch.rand(3, 2)))
def rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    x1 = x[..., ::2]
    x2 = x[..., 1::2]
    rotated = torch.stack((x1 * cos - x2 * sin, x1 * sin + x2 * cos), dim=-1)
    return rotated.flatten(-2)


@program(lambda: (torch.rand(2, 4),))
def rotate_half(x):
    x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


@program(lambda: (4, 6))
def sinusoidal_positions(length: int, dim: int) -> Tensor:
    half = dim // 2
    freq = math.log(10000.0) / (half - 1)
    emb = torch.exp(torch.arange(half, dtype=torch.float) * -freq)
    emb = torch.arange(length, dtype=torch.float).unsqueeze(1) * emb.unsqueeze(0)
    emb = torch.cat([torch.sin(emb), torch.cos(emb)], dim=1).view(length, -1)
    if dim % 2 == 1:
        emb = torch.cat([emb, torch.zeros(length, 1)], dim=1)
    return emb


@program(lambda: (4,), lambda: (6,))
def alibi_slopes(heads: int) -> List[float]:
    n = 1 << int(math.floor(math.log(heads) / math.log(2.0) + 1e-9))
    m_0 = 2.0 ** (-8.0 / n)
    slopes = [math.pow(m_0, 1 + i) for i in range(n)]
    if n < heads:
        m_1 = 2.0 ** (-4.0 / n)
        slopes += [math.pow(m_1, 1 + 2 * i) for i in range(heads - n)]
    return slopes


@program(lambda: (torch.arange(5), 8, 16, True), lambda: (torch.arange(-3, 3), 8, 16, False))
def relative_bucket(position: Tensor, num_buckets: int, max_distance: int, bidirectional: bool) -> Tensor:
    buckets = torch.zeros_like(position)
    if bidirectional:
        num_buckets = num_buckets // 2
        buckets += (position > 0).to(torch.long) * num_buckets
        position = torch.abs(position)
    else:
        position = -torch.min(position, torch.zeros_like(position))
    max_exact = num_buckets // 2
    is_small = position < max_exact
    large = max_exact + (torch.log(position.to(torch.float32) / max_exact) / math.log(max_distance / max_exact) * (num_buckets - max_exact)).to(torch.long)
    large = torch.min(large, torch.full_like(large, num_buckets - 1))
    buckets += torch.where(is_small, position, large)
    return buckets


@program(lambda: (torch.rand(1, 4, 4, 2), 2))
def window_partition(x: Tensor, window: int) -> Tensor:
    b, h, w, c = x.shape
    x = x.view(b, h // window, window, w // window, window, c)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, window * window, c)


@program(lambda: (torch.rand(1, 4, 2, 2), 2))
def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    batchsize, num_channels, height, width = x.size()
    channels_per_group = num_channels // groups
    x = x.view(batchsize, groups, channels_per_group, height, width)
    x = torch.transpose(x, 1, 2).contiguous()
    return x.view(batchsize, num_channels, height, width)


@program(lambda: (64, 0.75, 8, None), lambda: (10, 1.0, 8, 16))
def make_divisible(v: int, width: float, divisor: int, min_value: Optional[int]) -> int:
    if min_value is None:
        min_value = divisor
    value = v * width
    new_v = max(min_value, int(value + divisor / 2) // divisor * divisor)
    if new_v < 0.9 * value:
        new_v += divisor
    return new_v


@program(lambda: (torch.rand(1, 3, 5, 5), [3, 3], [2, 2], [1, 1]))
def pad_same(x: Tensor, kernel: List[int], stride: List[int], dilation: List[int]) -> Tensor:
    ih, iw = x.size()[-2:]
    pad_h = max((math.ceil(ih / stride[0]) - 1) * stride[0] + (kernel[0] - 1) * dilation[0] + 1 - ih, 0)
    pad_w = max((math.ceil(iw / stride[1]) - 1) * stride[1] + (kernel[1] - 1) * dilation[1] + 1 - iw, 0)
    if pad_h > 0 or pad_w > 0:
        x = F.pad(x, [pad_w // 2, pad_w - pad_w // 2, pad_h // 2, pad_h - pad_h // 2], value=0.0)
    return x


@program(lambda: (torch.rand(2, 3, 4), torch.rand(2, 3, 4)))
def info_nce(a: Tensor, b: Tensor, temperature: float = 0.1) -> Tensor:
    a = F.normalize(a.flatten(1), dim=1)
    b = F.normalize(b.flatten(1), p=2.0, dim=1, eps=1e-8)
    logits = a @ b.t() / temperature
    labels = torch.arange(a.size(0))
    return F.cross_entropy(logits, labels)


@program(lambda: (torch.rand(1, 4, 6, 6),))
class SqueezeExcite(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(4, 2, 1)
        self.fc2 = nn.Conv2d(2, 4, 1)
        self.act = nn.ReLU(inplace=True)
        self.gate = nn.Hardsigmoid()

    def forward(self, x: Tensor) -> Tensor:
        s = self.act(self.fc1(self.pool(x)))
        return x * self.gate(self.fc2(s))


@program(lambda: (torch.rand(1, 4, 5, 5),))
class Bottleneck(nn.Module):
    expansion: Final[int] = 2

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv1 = nn.Conv2d(4, 2, kernel_size=1, bias=False)
        self.bn1 = nn.BatchNorm2d(2)
        self.conv2 = nn.Conv2d(2, 4, kernel_size=3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(4)
        self.relu = nn.ReLU(inplace=True)
        self.downsample: Optional[nn.Module] = None

    def forward(self, x: Tensor) -> Tensor:
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


@program(lambda: (torch.rand(1, 2, 4, 4),))
class DenseLayer(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.norm = nn.BatchNorm2d(4)
        self.conv = nn.Conv2d(4, 2, 1)

    def bn_function(self, inputs: List[Tensor]) -> Tensor:
        return self.conv(F.relu(self.norm(torch.cat(inputs, 1))))

    def forward(self, input: Tensor) -> Tensor:
        if isinstance(input, Tensor):
            prev = [input, input * 2]
        else:
            prev = input
        return self.bn_function(prev)


class Outputs(NamedTuple):
    logits: Tensor
    aux: Optional[Tensor]


@program(lambda: (torch.rand(2, 3),))
class WithAux(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.main = nn.Linear(3, 2)
        self.side = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Outputs:
        aux: Optional[Tensor] = None
        if self.training:
            aux = self.side(x)
        return Outputs(self.main(x), aux)


@program(lambda: (torch.rand(2, 5, 4),))
class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.heads = 2
        self.qkv = nn.Linear(4, 12)
        self.proj = nn.Linear(4, 4)
        self.scale = 2 ** -0.5

    def forward(self, x: Tensor) -> Tensor:
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        attn = (q @ k.transpose(-2, -1)) * self.scale
        attn = attn.softmax(dim=-1)
        x = (attn @ v).transpose(1, 2).reshape(B, N, C)
        return self.proj(x)


@program(lambda: (torch.rand(3, 2, 4),))
class StackedLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.cells = nn.ModuleList([nn.LSTMCell(4, 4) for _ in range(2)])

    def forward(self, xs: Tensor) -> Tuple[Tensor, List[Tuple[Tensor, Tensor]]]:
        states: List[Tuple[Tensor, Tensor]] = []
        for _ in range(2):
            states.append((torch.zeros(xs.size(1), 4), torch.zeros(xs.size(1), 4)))
        outs: List[Tensor] = []
        for t in range(xs.size(0)):
            x = xs[t]
            i = 0
            for cell in self.cells:
                h, c = cell(x, states[i])
                states[i] = (h, c)
                x = h
                i += 1
            outs.append(x)
        return torch.stack(outs), states


@program(lambda: (torch.rand(3, 2, 4), None), lambda: (torch.rand(3, 2, 4), torch.zeros(2, 2, 4)))
class BidirectionalGRU(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.rnn = nn.GRU(4, 4, bidirectional=True)

    def forward(self, x: Tensor, h: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        y, h = self.rnn(x, h)
        return y[..., :4] + y[..., 4:], h


@program(lambda: (torch.rand(2, 3, 4), torch.tensor([3, 2])))
class PackedLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.rnn = nn.LSTM(4, 3, batch_first=True)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        out, _ = self.rnn(packed)
        y, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
        return y


@program(lambda: (torch.rand(2, 4),))
class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.gate = nn.Linear(4, 3)
        self.experts = nn.ModuleList([nn.Sequential(nn.Linear(4, 4), nn.GELU()) for _ in range(3)])

    def forward(self, x: Tensor) -> Tensor:
        weights = F.softmax(self.gate(x), dim=-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            out = out + weights[:, i : i + 1] * expert(x)
        return out


@program(lambda: (torch.rand(1, 2, 8, 8),))
class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.down = nn.Conv2d(2, 4, 3, stride=2, padding=1)
        self.mid = nn.Conv2d(4, 4, 3, padding=1)
        self.up = nn.ConvTranspose2d(4, 2, 2, stride=2)
        self.out = nn.Conv2d(4, 1, 1)

    def forward(self, x: Tensor) -> Dict[str, Tensor]:
        d = F.relu(self.down(x))
        m = F.relu(self.mid(d)) + d
        u = self.up(m)
        if u.shape[-2:] != x.shape[-2:]:
            u = F.interpolate(u, size=x.shape[-2:], mode="bilinear", align_corners=False)
        return {"out": self.out(torch.cat([u, x], dim=1)), "mid": m}
