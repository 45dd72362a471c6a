"""How long torch.jit.script takes: a function of 50 lines, and a ResNet-18, here or in PyTorch.

    python benchmarks/script_compile.py [kindling|torch] [--times N]

The least, and the median, of N compilations in one process; the first one, which also loads what scripting needs, apart. Each compiles
another function (its text differs in a name), so nothing that was compiled before is found again. `processor` is time that the process
used: where the machine is busy it says more than the clock.
"""
import argparse
import importlib
import importlib.util
import os
import statistics
import sys
import tempfile
import time

FUNCTION = '''
import {module} as torch
from typing import List, Optional, Tuple


def program_{number}(x: torch.Tensor, boxes: List[int], scale: float, limit: int, name: Optional[str] = None) -> Tuple[torch.Tensor, int, float]:
    total = 0.0
    count = 0
    y = torch.relu(x) * scale
    z = y.sum(dim=0)
    parts: List[torch.Tensor] = []
    sizes = [y.size(0), y.size(1)]
    for i in range(limit):
        a = y * i + 1
        b = torch.tanh(a) - y
        if i % 2 == 0:
            parts.append(a)
            count += 1
        elif i % 3 == 0:
            parts.append(b)
            count += 2
        else:
            continue
        if count > 10 * limit:
            break
        total += float(a.mean()) * scale
    while count > limit and len(parts) > 1:
        parts.pop()
        count -= 1
    best = 0
    for box in boxes:
        if box > best:
            best = box
        best = max(min(best, 100), sizes[0] + sizes[1])
    if name is not None:
        label = name.upper() + "_" + str(count)
        if len(label) > 3 and label[0] == "A":
            total = total + 1.5
    else:
        total = total - 0.5
    table = {{1: 0.5, 2: 1.5}}
    for key in table:
        total += table[key] * key
    pairs = [(k, k * k) for k in range(3)]
    for left, right in pairs:
        best += left * right
    result = torch.cat(parts, dim=0) if len(parts) > 0 else z.unsqueeze(0)
    result = result.reshape(-1)
    mask = result > total
    result = torch.where(mask, result, torch.zeros_like(result))
    w = torch.exp(-result) + torch.sigmoid(result) * 0.5
    w = torch.clamp(w, min=0.0, max=float(limit))
    assert w.dim() == 1, "a row"
    return w, best + count, total
'''

RESNET = '''
import {module} as torch
from {module} import nn


class Block(nn.Module):
    def __init__(self, before: int, width: int, stride: int):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(before, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.down = nn.Sequential(nn.Conv2d(before, width, 1, stride, bias=False), nn.BatchNorm2d(width)) if stride != 1 or before != width else nn.Identity()

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return self.relu(y + self.down(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.number = {number}
        self.conv, self.bn, self.relu, self.pool = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        widths = [64, 64, 128, 256, 512]
        self.layers = nn.Sequential(*[nn.Sequential(Block(a, b, 1 + (b > 64)), Block(b, b, 1)) for a, b in zip(widths, widths[1:])])
        self.mean, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(512, 1000)

    def forward(self, x):
        x = self.pool(self.relu(self.bn(self.conv(x))))
        x = self.mean(self.layers(x))
        return self.fc(torch.flatten(x, 1))
'''


def loaded(text, module, number, folder):
    path = os.path.join(folder, f"text_{module}_{number}.py")
    with open(path, "w") as file:
        file.write(text.format(module=module, number=number))
    spec = importlib.util.spec_from_file_location(f"text_{module}_{number}", path)
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


def main():
    import warnings
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("module", nargs="?", default="kindling")
    parser.add_argument("--times", type=int, default=9)
    given = parser.parse_args()
    torch = importlib.import_module(given.module)
    folder = tempfile.mkdtemp()
    print(f"{given.module}: milliseconds, first / least / median; processor: least")
    for what, text, make in (("50 lines", FUNCTION, lambda made, n: getattr(made, f"program_{n}")), ("ResNet-18", RESNET, lambda made, n: made.ResNet().eval())):
        clock, used = [], []
        for n in range(given.times):
            target = make(loaded(text, given.module, f"{n}", folder), n)
            begin, processor = time.perf_counter(), time.process_time()
            torch.jit.script(target)
            used.append(time.process_time() - processor)
            clock.append(time.perf_counter() - begin)
        rest = sorted(clock[1:])
        print(f"{what:10} {clock[0] * 1e3:8.1f} {rest[0] * 1e3:8.1f} {statistics.median(rest) * 1e3:8.1f}   {min(used[1:]) * 1e3:8.1f}")


if __name__ == "__main__":
    main()
