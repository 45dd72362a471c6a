"""Whole models scripted and traced give what they give eagerly, gradients included: ResNet-18, a transformer encoder, an LSTM classifier,
a detection head; and scripted the Llama of examples/tiny_llama.py with its key-value cache, which gives PyTorch's numbers too."""
import copy
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import List, Optional, Tuple

import pytest

import kindling as torch
from kindling import nn

Tensor = torch.Tensor


class Block(nn.Module):
    expansion: int = 1

    def __init__(self, planes_in: int, planes: int, stride: int = 1, downsample: Optional[nn.Module] = None):
        super().__init__()
        self.conv1 = nn.Conv2d(planes_in, planes, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = downsample

    def forward(self, x: Tensor) -> Tensor:
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet18(nn.Module):
    def __init__(self, width: int = 8, classes: int = 10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        planes = width
        stages = []
        for i in range(4):
            wide, stride = width * 2 ** i, 1 if i == 0 else 2
            down = nn.Sequential(nn.Conv2d(planes, wide, 1, stride=stride, bias=False), nn.BatchNorm2d(wide)) if i else None
            stages.append(nn.Sequential(Block(planes, wide, stride, down), Block(wide, wide)))
            planes = wide
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(planes, classes)

    def _forward_impl(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        x = torch.flatten(self.avgpool(x), 1)
        return self.fc(x)

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


class Encoder(nn.Module):
    def __init__(self, words: int = 50, wide: int = 16):
        super().__init__()
        self.embedding = nn.Embedding(words, wide)
        self.position = nn.Parameter(torch.randn(1, 20, wide))
        layer = nn.TransformerEncoderLayer(wide, 4, 32, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(wide, words)

    def forward(self, tokens: Tensor, padding: Optional[Tensor] = None) -> Tensor:
        x = self.embedding(tokens) + self.position[:, : tokens.size(1)]
        return self.out(self.layers(x, src_key_padding_mask=padding))


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(30, 8, padding_idx=0)
        self.lstm = nn.LSTM(8, 12, num_layers=2, batch_first=True, bidirectional=True)
        self.cell = nn.LSTMCell(8, 12)
        self.head = nn.Linear(36, 4)

    def forward(self, tokens: Tensor) -> Tuple[Tensor, Tensor]:
        x = self.embedding(tokens)
        out, (h, c) = self.lstm(x)
        hx, cx = torch.zeros(x.size(0), 12), torch.zeros(x.size(0), 12)
        for t in range(x.size(1)):
            hx, cx = self.cell(x[:, t], (hx, cx))
        return self.head(torch.cat([out[:, -1], hx], dim=1)), c


class Head(nn.Module):
    """Boxes of an image: those above a score, the best first, without those that overlap one that was taken."""

    def __init__(self, score: float = 0.3, overlap: float = 0.4):
        super().__init__()
        self.features = nn.Conv2d(3, 8, 3, padding=1)
        self.scores = nn.Conv2d(8, 1, 1)
        self.boxes = nn.Conv2d(8, 4, 1)
        self.score, self.overlap = score, overlap

    def iou(self, a: Tensor, b: Tensor) -> float:
        left, top = torch.max(a[0], b[0]), torch.max(a[1], b[1])
        right, bottom = torch.min(a[2], b[2]), torch.min(a[3], b[3])
        inside = torch.clamp(right - left, min=0) * torch.clamp(bottom - top, min=0)
        union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - inside
        return float(inside / union)

    def forward(self, image: Tensor) -> List[Tuple[Tensor, float]]:
        x = torch.relu(self.features(image))
        scores = torch.sigmoid(self.scores(x)).flatten()
        sizes = self.boxes(x).flatten(2)[0].t().abs() + 0.1
        kept: List[Tuple[Tensor, float]] = []
        order = torch.argsort(scores, descending=True)
        for i in range(order.size(0)):
            place = int(order[i])
            if float(scores[place]) < self.score:
                break
            y, x0 = place // image.size(-1), place % image.size(-1)
            box = torch.stack([x0 - sizes[place, 0], y - sizes[place, 1], x0 + sizes[place, 2], y + sizes[place, 3]])
            fits = True
            for other, _ in kept:
                if self.iou(box, other) > self.overlap:
                    fits = False
                    break
            if fits:
                kept.append((box, float(scores[place])))
            if len(kept) >= 5:
                return kept
        return kept


def flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [tensor for each in value for tensor in flat(each)]
    return [torch.tensor(value)]


MODELS = {"resnet18": (ResNet18, lambda: (torch.randn(2, 3, 32, 32),)), "encoder": (Encoder, lambda: (torch.randint(0, 50, (3, 7)), torch.arange(7) >= torch.tensor([[7], [5], [6]]))),
          "lstm": (Classifier, lambda: (torch.randint(0, 30, (3, 6)),)), "detection": (Head, lambda: (torch.rand(1, 3, 9, 9),))}


class Detections(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = Head()

    def forward(self, image: Tensor) -> Tuple[Tensor, Tensor]:
        found = self.head(image)
        return torch.stack([box for box, _ in found]), torch.tensor([score for _, score in found])


class Detector(nn.Module):
    """A trace that has the loop for other images too: as a script, which gives tensors."""

    def __init__(self):
        super().__init__()
        self.detections = torch.jit.script(Detections())

    def forward(self, image: Tensor) -> Tuple[Tensor, Tensor]:
        return self.detections(image * 0.5)


def results(model, given):
    """What a model gives, its gradients and its buffers."""
    model.zero_grad()
    out = flat(model(*given))
    losses = [tensor.sum() for tensor in out if tensor.requires_grad]
    assert losses
    sum(losses).backward()
    return [out, [p.grad.clone() for p in model.parameters() if p.grad is not None], [buffer.clone() for buffer in model.buffers()]]


def assert_same(eager, compiled):
    for ours, theirs in zip(eager, compiled):
        assert len(ours) == len(theirs) and all(map(torch.equal, ours, theirs))


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("name", MODELS)
def test_a_scripted_model_gives_what_it_gives_eagerly(name, mode):
    kind, inputs = MODELS[name]
    torch.manual_seed(3)
    model, given = kind(), inputs()
    scripted = torch.jit.script(copy.deepcopy(model))
    assert_same(*(results(getattr(each, mode)(), given) for each in (model, scripted)))


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("name", MODELS)
def test_a_traced_model_gives_what_it_gives_eagerly(name, mode):
    kind, inputs = MODELS[name] if name != "detection" else (Detector, MODELS[name][1])
    torch.manual_seed(3)
    model = getattr(kind(), mode)()
    traced = torch.jit.trace(copy.deepcopy(model), inputs())
    model.load_state_dict(traced.state_dict())      # what the traced run did to running means
    for _ in range(2):
        given = inputs()                            # not what it was traced with
        assert_same(results(model, given), results(traced, given))


def test_the_llama_with_its_cache_gives_what_it_gives_eagerly_and_under_pytorch():
    program = str(Path(__file__).with_name("script_programs") / "llama.py")

    def run(*runner):
        done = subprocess.run([sys.executable, *runner, program], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    with ThreadPoolExecutor() as both:
        ours, theirs = both.map(lambda runner: run(*runner), [("-m", "kindling", "run"), ()])
    for each in (ours, theirs):
        assert each["original"] == each["typed"] == each["scripted"]
        assert each["scripted"]["by steps"] == pytest.approx(each["scripted"]["logits"], abs=1e-6)
    ours, theirs = ours["scripted"], theirs["scripted"]
    assert ours.pop("text") == theirs.pop("text")
    gradients = ours.pop("gradients"), theirs.pop("gradients")
    for given, expected in [(ours, theirs), gradients]:
        assert given.keys() == expected.keys()
        for key in given:
            assert given[key] == pytest.approx(expected[key], rel=1e-5, abs=1e-6)
