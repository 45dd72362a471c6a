"""Loops over elements, as torch.jit.script takes them: what benchmarks/script_loops.py times and tests/python/test_script_loops.py compares.

Each function works on tensors that `inputs` makes, and writes its result into one of them or returns a number.
"""
import math
from typing import List
import torch


def edit_distance(a, b, table) -> int:
    """Levenshtein's distance of two sequences of whole numbers."""
    n = a.size(0)
    m = b.size(0)
    for i in range(n + 1):
        table[i, 0] = i
    for j in range(m + 1):
        table[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 1
            if int(a[i - 1]) == int(b[j - 1]):
                cost = 0
            best = int(table[i - 1, j - 1]) + cost
            up = int(table[i - 1, j]) + 1
            left = int(table[i, j - 1]) + 1
            if up < best:
                best = up
            if left < best:
                best = left
            table[i, j] = best
    return int(table[n, m])


def mandelbrot(out, most: int):
    """How many rounds z = z * z + c stays within 2, for points of a rectangle."""
    n = out.size(0)
    m = out.size(1)
    for i in range(n):
        for j in range(m):
            cr = -2.0 + 3.0 * float(j) / float(m)
            ci = -1.5 + 3.0 * float(i) / float(n)
            zr = 0.0
            zi = 0.0
            k = 0
            while k < most and zr * zr + zi * zi < 4.0:
                t = zr * zr - zi * zi + cr
                zi = 2.0 * zr * zi + ci
                zr = t
                k += 1
            out[i, j] = k


def floyd_warshall(d):
    """Lengths of shortest paths between all nodes, from lengths of edges."""
    n = d.size(0)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = float(d[i, k]) + float(d[k, j])
                if through < float(d[i, j]):
                    d[i, j] = through


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def lstm(x, w, u, b, h, c, gates):
    """An LSTM with one layer, over time."""
    steps = x.size(0)
    inputs = x.size(1)
    hidden = h.size(0)
    for t in range(steps):
        for g in range(4 * hidden):
            s = float(b[g])
            for k in range(inputs):
                s += float(w[g, k]) * float(x[t, k])
            for k in range(hidden):
                s += float(u[g, k]) * float(h[k])
            gates[g] = s
        for k in range(hidden):
            i = sigmoid(float(gates[k]))
            f = sigmoid(float(gates[hidden + k]))
            o = sigmoid(float(gates[3 * hidden + k]))
            new = f * float(c[k]) + i * math.tanh(float(gates[2 * hidden + k]))
            c[k] = new
            h[k] = o * math.tanh(new)


def beam_search(scores, width: int, best, states, back):
    """The `width` best paths through a trellis: scores[t, from, to]."""
    steps = scores.size(0)
    n = scores.size(1)
    for j in range(width):
        best[0, j] = 0.0 if j == 0 else -1e30
        states[0, j] = 0
    for t in range(steps):
        for j in range(width):
            best[t + 1, j] = -1e30
            states[t + 1, j] = 0
            back[t + 1, j] = 0
        for j in range(width):
            base = float(best[t, j])
            state = int(states[t, j])
            for to in range(n):
                value = base + float(scores[t, state, to])
                if value > float(best[t + 1, width - 1]):
                    place = width - 1
                    while place > 0 and value > float(best[t + 1, place - 1]):
                        best[t + 1, place] = float(best[t + 1, place - 1])
                        states[t + 1, place] = int(states[t + 1, place - 1])
                        back[t + 1, place] = int(back[t + 1, place - 1])
                        place -= 1
                    best[t + 1, place] = value
                    states[t + 1, place] = to
                    back[t + 1, place] = j


def life(a, b, rounds: int):
    """Conway's game of life on a torus; `a` holds the world before and after an even number of rounds."""
    n = a.size(0)
    m = a.size(1)
    for r in range(rounds):
        for i in range(n):
            up = (i + n - 1) % n
            down = (i + 1) % n
            for j in range(m):
                left = (j + m - 1) % m
                right = (j + 1) % m
                if r % 2 == 0:
                    alive = int(a[up, left]) + int(a[up, j]) + int(a[up, right]) + int(a[i, left]) + int(a[i, right]) + int(a[down, left]) + int(a[down, j]) + int(a[down, right])
                    b[i, j] = 1 if alive == 3 or (alive == 2 and int(a[i, j]) == 1) else 0
                else:
                    alive = int(b[up, left]) + int(b[up, j]) + int(b[up, right]) + int(b[i, left]) + int(b[i, right]) + int(b[down, left]) + int(b[down, j]) + int(b[down, right])
                    a[i, j] = 1 if alive == 3 or (alive == 2 and int(b[i, j]) == 1) else 0


def kmeans_assign(points, centres, labels) -> float:
    """The nearest centre of each point; the sum of the squared distances."""
    n = points.size(0)
    k = centres.size(0)
    d = points.size(1)
    total = 0.0
    for i in range(n):
        best = 1e30
        label = 0
        for c in range(k):
            s = 0.0
            for j in range(d):
                t = float(points[i, j]) - float(centres[c, j])
                s += t * t
            if s < best:
                best = s
                label = c
        labels[i] = label
        total += best
    return total


def matmul(a, b, c):
    """A product of matrices, one element after the other."""
    n = a.size(0)
    m = b.size(1)
    l = a.size(1)
    for i in range(n):
        for j in range(m):
            s = 0.0
            for k in range(l):
                s += float(a[i, k]) * float(b[k, j])
            c[i, j] = s


def list_distance(a: List[int], b: List[int]) -> int:
    """Levenshtein's distance over lists, two rows at a time."""
    m = len(b)
    before = [j for j in range(m + 1)]
    for i in range(len(a)):
        now = [i + 1] + [0] * m
        for j in range(m):
            cost = 0 if a[i] == b[j] else 1
            now[j + 1] = min(min(now[j] + 1, before[j + 1] + 1), before[j] + cost)
        before = now
    return before[m]


def list_paths(d: List[List[float]]) -> float:
    """Floyd-Warshall's over a list of lists; the mean of the lengths."""
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = d[i][k] + d[k][j]
                if through < d[i][j]:
                    d[i][j] = through
    total = 0.0
    for i in range(n):
        for j in range(n):
            total += d[i][j]
    return total / float(n * n)


def list_sort(a: List[int]) -> int:
    """Quicksort (Hoare's partition) with a stack of lists; a checksum."""
    waiting = [[0, len(a) - 1]]
    while len(waiting) > 0:
        part = waiting.pop()
        low, high = part[0], part[1]
        if low < high:
            pivot = a[(low + high) // 2]
            i, j = low, high
            while i <= j:
                while a[i] < pivot:
                    i += 1
                while a[j] > pivot:
                    j -= 1
                if i <= j:
                    held = a[i]
                    a[i] = a[j]
                    a[j] = held
                    i += 1
                    j -= 1
            waiting.append([low, j])
            waiting.append([i, high])
    sum = 0
    for i in range(len(a)):
        sum = (sum * 31 + a[i]) % 1000003
    return sum


def list_insertions(a: List[int]) -> int:
    """Every number put into a short list at every place, by slices and sums of lists."""
    made = 0
    for x in a:
        short = [1, 2, 3, 4, 5, 6]
        for at in range(7):
            longer = short[:at] + [x] + short[at:]
            made += longer[at] + len(longer)
    return made


def inputs(name, size, dtype=torch.float64, strided=False):
    """The arguments of a function for a size; `strided`: no tensor is contiguous."""
    def lay(tensor):
        if not strided or tensor.dim() == 0:
            return tensor
        wide = torch.zeros([2 * n for n in tensor.shape], dtype=tensor.dtype)
        view = wide[tuple(slice(None, None, 2) for _ in tensor.shape)]
        view.copy_(tensor)
        return view

    generator = torch.Generator().manual_seed(7)
    rand = lambda *sizes: lay(torch.rand(sizes, generator=generator, dtype=torch.float64).to(dtype))
    whole = lambda high, *sizes: lay(torch.randint(0, high, sizes, generator=generator))
    zeros = lambda *sizes, dtype=dtype: lay(torch.zeros(sizes, dtype=dtype))
    integer = torch.int64
    if name == "edit_distance":
        return whole(4, size), whole(4, size + 3), zeros(size + 1, size + 4, dtype=integer)
    if name == "mandelbrot":
        return zeros(size, size, dtype=integer), 100
    if name == "floyd_warshall":
        return (rand(size, size),)
    if name == "lstm":
        return rand(size, 16), rand(4 * 32, 16) - 0.5, rand(4 * 32, 32) - 0.5, rand(4 * 32), zeros(32), zeros(32), zeros(4 * 32)
    if name == "beam_search":
        return rand(size, 16, 16), 4, zeros(size + 1, 4), zeros(size + 1, 4, dtype=integer), zeros(size + 1, 4, dtype=integer)
    if name == "life":
        return whole(2, size, size), zeros(size, size, dtype=integer), 4
    if name == "kmeans_assign":
        return rand(size, 8), rand(10, 8), zeros(size, dtype=integer)
    if name == "matmul":
        return rand(size, size), rand(size, size), zeros(size, size)
    if name == "list_distance":
        return whole(4, size).tolist(), whole(4, size + 3).tolist()
    if name == "list_paths":
        return (rand(size, size).to(torch.float64).tolist(),)
    if name in ("list_sort", "list_insertions"):
        return (whole(1000000, size).tolist(),)
    raise KeyError(name)


# Of each: a size that a C++ program takes some milliseconds for, one for comparisons, and the power of it by which the rounds grow.
SIZES = {"edit_distance": (1000, 12, 2), "mandelbrot": (200, 8, 2), "floyd_warshall": (160, 9, 3), "lstm": (300, 2, 1), "beam_search": (2000, 5, 1),
         "life": (300, 8, 2), "kmeans_assign": (20000, 12, 1), "matmul": (160, 9, 3), "list_distance": (1000, 12, 2), "list_paths": (160, 9, 3),
         "list_sort": (20000, 100, 1), "list_insertions": (5000, 12, 1)}
