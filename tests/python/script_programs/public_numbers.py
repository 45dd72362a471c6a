"""Programs in the style of published geometry, graph and simulation code: quaternions, rotations, messages, clustering, solvers."""
from typing import Dict, List, Optional, Tuple
import math
import torch
from torch import nn
from torch import Tensor
import torch.nn.functional as F


def _q():
    return torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.5, 0.5]])


@program(lambda: (_q(), _q().flip(0)))
def quaternion_multiply(a: Tensor, b: Tensor) -> Tensor:
    aw, ax, ay, az = torch.unbind(a, -1)
    bw, bx, by, bz = torch.unbind(b, -1)
    ow = aw * bw - ax * bx - ay * by - az * bz
    ox = aw * bx + ax * bw + ay * bz - az * by
    oy = aw * by - ax * bz + ay * bw + az * bx
    oz = aw * bz + ax * by - ay * bx + az * bw
    return torch.stack((ow, ox, oy, oz), -1)


@program(lambda: (_q(),))
def quaternion_to_matrix(q: Tensor) -> Tensor:
    r, i, j, k = torch.unbind(q, -1)
    two_s = 2.0 / (q * q).sum(-1)
    o = torch.stack((1 - two_s * (j * j + k * k), two_s * (i * j - k * r), two_s * (i * k + j * r),
                     two_s * (i * j + k * r), 1 - two_s * (i * i + k * k), two_s * (j * k - i * r),
                     two_s * (i * k - j * r), two_s * (j * k + i * r), 1 - two_s * (i * i + j * j)), -1)
    return o.reshape(q.shape[:-1] + (3, 3)) if False else o.view(-1, 3, 3)


@program(lambda: (_q(), torch.ones(2, 3)))
def quaternion_rotate(q: Tensor, v: Tensor) -> Tensor:
    shape = q.shape
    q_w = q[:, 0]
    q_vec = q[:, 1:]
    a = v * (2.0 * q_w ** 2 - 1.0).unsqueeze(-1)
    b = torch.cross(q_vec, v, dim=-1) * q_w.unsqueeze(-1) * 2.0
    c = q_vec * torch.bmm(q_vec.view(shape[0], 1, 3), v.view(shape[0], 3, 1)).squeeze(-1) * 2.0
    return a + b + c


@program(lambda: (_q(),))
def quaternion_conjugate(q: Tensor) -> Tensor:
    shape = q.shape
    q = q.reshape(-1, 4)
    return torch.cat((q[:, 0:1], -q[:, 1:]), dim=-1).view(shape)


@program(lambda: (_q()[:1], _q()[1:], 0.3), lambda: (_q()[:1], _q()[:1], 0.3))
def slerp(a: Tensor, b: Tensor, t: float) -> Tensor:
    dot = float((a * b).sum())
    if dot < 0.0:
        b = -b
        dot = -dot
    if dot > 0.9995:
        return F.normalize(a + t * (b - a), dim=-1)
    theta_0 = math.acos(dot)
    theta = theta_0 * t
    s1 = math.sin(theta) / math.sin(theta_0)
    s0 = math.cos(theta) - dot * s1
    return s0 * a + s1 * b


@program(lambda: ("X", torch.tensor([0.1, 0.2])), lambda: ("Z", torch.tensor([0.1, 0.2])), lambda: ("W", torch.tensor([0.1])))
def axis_angle_rotation(axis: str, angle: Tensor) -> Tensor:
    cos = torch.cos(angle)
    sin = torch.sin(angle)
    one = torch.ones_like(angle)
    zero = torch.zeros_like(angle)
    if axis == "X":
        flat = (one, zero, zero, zero, cos, -sin, zero, sin, cos)
    elif axis == "Y":
        flat = (cos, zero, sin, zero, one, zero, -sin, zero, cos)
    elif axis == "Z":
        flat = (cos, -sin, zero, sin, cos, zero, zero, zero, one)
    else:
        raise ValueError("letter must be either X, Y or Z.")
    return torch.stack(flat, -1).reshape([angle.size(0), 3, 3])


@program(lambda: (torch.tensor([3.5, -3.5, 0.2]),))
def wrap_to_pi(angles: Tensor) -> Tensor:
    angles = angles.clone()
    angles %= 2 * math.pi
    angles -= 2 * math.pi * (angles > math.pi)
    return angles


@program(lambda: (torch.rand(2, 3), torch.rand(3, 3), torch.rand(3)))
def transform_points(points: Tensor, rotation: Tensor, shift: Tensor) -> Tensor:
    homogeneous = torch.cat([points, torch.ones_like(points[..., :1])], dim=-1)
    matrix = torch.eye(4)
    matrix[:3, :3] = rotation
    matrix[:3, 3] = shift
    return (homogeneous @ matrix.t())[..., :3]


@program(lambda: (torch.rand(4, 2), torch.tensor([[0, 1, 2], [1, 2, 3]]), 4), )
def message_passing(x: Tensor, edges: Tensor, n: int) -> Tensor:
    row, col = edges[0], edges[1]
    degree = torch.zeros(n).scatter_add(0, row, torch.ones(row.size(0)))
    inverse = degree.pow(-0.5)
    inverse.masked_fill_(inverse == float("inf"), 0.0)
    norm = inverse[row] * inverse[col]
    out = torch.zeros_like(x)
    return out.index_add(0, row, norm.unsqueeze(-1) * x[col])


@program(lambda: (torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([0, 0, 1, 1]), None), lambda: (torch.tensor([1.0, 2.0]), torch.tensor([0, 2]), 4))
def segment_softmax(src: Tensor, index: Tensor, num: Optional[int] = None) -> Tensor:
    n = int(index.max()) + 1 if num is None else num
    biggest = torch.full([n], -1e30).scatter_reduce(0, index, src, reduce="amax", include_self=True)
    out = (src - biggest[index]).exp()
    total = torch.zeros(n).scatter_add_(0, index, out)
    return out / (total[index] + 1e-16)


@program(lambda: (torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), 4))
def adjacency_lists(edges: Tensor, n: int) -> Tuple[List[List[int]], List[int]]:
    out: List[List[int]] = []
    for _ in range(n):
        row: List[int] = []
        out.append(row)
    for e in range(edges.size(1)):
        out[int(edges[0, e])].append(int(edges[1, e]))
    return out, [len(o) for o in out]


@program(lambda: ([[1, 2], [3], [3], []], 0))
def breadth_first(graph: List[List[int]], start: int) -> Tuple[List[int], Dict[int, int]]:
    queue = [start]
    distance: Dict[int, int] = {start: 0}
    order: List[int] = []
    while len(queue) > 0:
        node = queue.pop(0)
        order.append(node)
        for other in graph[node]:
            if other not in distance:
                distance[other] = distance[node] + 1
                queue.append(other)
    return order, distance


@program(lambda: (torch.tensor([[0.0, 4.0, 1.0], [4.0, 0.0, 2.0], [1.0, 2.0, 0.0]]),))
def shortest_paths(d: Tensor) -> Tensor:
    d = d.clone()
    n = d.size(0)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = d[i, k] + d[k, j]
                if bool(through < d[i, j]):
                    d[i, j] = through
    return d


class UnionFind:
    def __init__(self, n: int):
        self.parent = [i for i in range(n)]

    def find(self, a: int) -> int:
        while self.parent[a] != a:
            self.parent[a] = self.parent[self.parent[a]]
            a = self.parent[a]
        return a

    def join(self, a: int, b: int) -> bool:
        x = self.find(a)
        y = self.find(b)
        if x == y:
            return False
        self.parent[x] = y
        return True


@program(lambda: ([(0, 1), (1, 2), (0, 2), (3, 4)], 5))
def components(edges: List[Tuple[int, int]], n: int) -> Tuple[int, List[int]]:
    sets = UnionFind(n)
    joined = 0
    for a, b in edges:
        if sets.join(a, b):
            joined += 1
    return n - joined, [sets.find(i) for i in range(n)]


@program(lambda: (torch.tensor([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.1, 5.0]]), 2, 3))
def kmeans(x: Tensor, k: int, steps: int) -> Tuple[Tensor, Tensor]:
    centres = x[:k].clone()
    labels = torch.zeros(x.size(0), dtype=torch.long)
    for _ in range(steps):
        distance = torch.cdist(x, centres)
        labels = distance.argmin(dim=1)
        for c in range(k):
            chosen = labels == c
            if bool(chosen.any()):
                centres[c] = x[chosen].mean(dim=0)
    return centres, labels


@program(lambda: (torch.rand(5, 3), 2))
def farthest_points(xyz: Tensor, npoint: int) -> Tensor:
    n = xyz.size(0)
    centroids = torch.zeros(npoint, dtype=torch.long)
    distance = torch.ones(n) * 1e10
    farthest = 0
    for i in range(npoint):
        centroids[i] = farthest
        centroid = xyz[farthest, :].view(1, 3)
        dist = torch.sum((xyz - centroid) ** 2, -1)
        mask = dist < distance
        distance[mask] = dist[mask]
        farthest = int(torch.max(distance, -1)[1])
    return centroids


@program(lambda: (torch.tensor([1.0, 0.0]), 0.1, 5))
def runge_kutta(y: Tensor, h: float, steps: int) -> Tensor:
    for _ in range(steps):
        k1 = torch.stack([y[1], -y[0]])
        y2 = y + h / 2 * k1
        k2 = torch.stack([y2[1], -y2[0]])
        y3 = y + h / 2 * k2
        k3 = torch.stack([y3[1], -y3[0]])
        y4 = y + h * k3
        k4 = torch.stack([y4[1], -y4[0]])
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


@program(lambda: (2.0, 1e-12), lambda: (10.0, 1e-3))
def newton_root(a: float, tolerance: float) -> Tuple[float, int]:
    x = a
    n = 0
    while abs(x * x - a) > tolerance:
        x = 0.5 * (x + a / x)
        n += 1
        if n > 100:
            break
    return x, n


@program(lambda: (torch.tensor([[4.0, 1.0], [1.0, 3.0]]), torch.tensor([1.0, 2.0]), 10))
def conjugate_gradient(a: Tensor, b: Tensor, most: int) -> Tuple[Tensor, int]:
    x = torch.zeros_like(b)
    r = b - a @ x
    p = r
    rs = torch.dot(r, r)
    for i in range(most):
        ap = a @ p
        alpha = rs / torch.dot(p, ap)
        x = x + alpha * p
        r = r - alpha * ap
        new = torch.dot(r, r)
        if float(new.sqrt()) < 1e-8:
            return x, i
        p = r + (new / rs) * p
        rs = new
    return x, most


@program(lambda: (torch.zeros(4, 5), 1.0, 3))
def jacobi_heat(grid: Tensor, hot: float, steps: int) -> Tensor:
    grid[0, :] = hot
    for _ in range(steps):
        new = grid.clone()
        for i in range(1, grid.size(0) - 1):
            for j in range(1, grid.size(1) - 1):
                new[i, j] = (grid[i - 1, j] + grid[i + 1, j] + grid[i, j - 1] + grid[i, j + 1]) / 4
        grid = new
    return grid


@program(lambda: (torch.tensor([[0, 1, 0], [0, 1, 0], [0, 1, 0]]),))
def life_step(board: Tensor) -> Tensor:
    out = torch.zeros_like(board)
    h, w = board.shape
    for i in range(h):
        for j in range(w):
            n = 0
            for di in [-1, 0, 1]:
                for dj in [-1, 0, 1]:
                    if (di != 0 or dj != 0) and 0 <= i + di < h and 0 <= j + dj < w:
                        n += int(board[i + di, j + dj])
            if n == 3 or (n == 2 and int(board[i, j]) == 1):
                out[i, j] = 1
    return out


@program(lambda: (3, 4, 20))
def mandelbrot(h: int, w: int, most: int) -> List[List[int]]:
    rows: List[List[int]] = []
    for i in range(h):
        row: List[int] = []
        for j in range(w):
            c = complex(-2.0 + 3.0 * j / w, -1.0 + 2.0 * i / h)
            z = 0j
            n = 0
            while n < most and abs(z) <= 2.0:
                z = z * z + c
                n += 1
            row.append(n)
        rows.append(row)
    return rows


@program(lambda: (20,))
def primes(n: int) -> List[int]:
    marked = [False] * (n + 1)
    out: List[int] = []
    for p in range(2, n + 1):
        if marked[p]:
            continue
        out.append(p)
        m = p * p
        while m <= n:
            marked[m] = True
            m += p
    return out


@program(lambda: (48, 36), lambda: (17, 5))
def extended_gcd(a: int, b: int) -> Tuple[int, int, int]:
    x0, x1, y0, y1 = 1, 0, 0, 1
    while b != 0:
        q, a, b = a // b, b, a % b
        x0, x1 = x1, x0 - q * x1
        y0, y1 = y1, y0 - q * y1
    return a, x0, y0


@program(lambda: ([5, 2, 9, 1, 5],))
def insertion_sort(xs: List[int]) -> List[int]:
    out = xs.copy()
    for i in range(1, len(out)):
        v = out[i]
        j = i - 1
        while j >= 0 and out[j] > v:
            out[j + 1] = out[j]
            j -= 1
        out[j + 1] = v
    return out


@program(lambda: ([1.0, 3.0, 5.0, 7.0], 4.0), lambda: ([1.0], 0.0))
def bisect(xs: List[float], v: float) -> int:
    low, high = 0, len(xs)
    while low < high:
        mid = (low + high) // 2
        if xs[mid] < v:
            low = mid + 1
        else:
            high = mid
    return low


@program(lambda: ([1, 3, 4, 5], [1, 4, 5, 7], 7))
def knapsack(weights: List[int], values: List[int], capacity: int) -> int:
    best = [0 for _ in range(capacity + 1)]
    for w, v in zip(weights, values):
        for c in range(capacity, w - 1, -1):
            best[c] = max(best[c], best[c - w] + v)
    return best[capacity]


@program(lambda: (torch.rand(4, 3), 2), lambda: (torch.rand(2, 2), 5))
def power_iteration(m: Tensor, steps: int) -> Tuple[Tensor, float]:
    v = torch.ones(m.size(1))
    for _ in range(steps):
        u = m @ v
        u = u / u.norm()
        v = m.t() @ u
        v = v / torch.norm(v, p=2.0)
    return v, float((m @ v).norm())


@program(lambda: (torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0.1, 0.2]), 0.9, 0.95))
def generalized_advantage(values: Tensor, rewards: Tensor, gamma: float, lam: float) -> Tuple[Tensor, Tensor]:
    n = rewards.size(0)
    advantages = torch.zeros_like(rewards)
    last = torch.zeros([])
    for t in range(n - 1, -1, -1):
        delta = rewards[t] + gamma * values[t + 1] - values[t]
        last = delta + gamma * lam * last
        advantages[t] = last
    return advantages, advantages + values[:-1]


@program(lambda: (torch.tensor([0.5]), torch.tensor([[0.1, 0.2], [0.3, 0.1]]), torch.tensor([1.0, 2.0])), )
def lennard_jones(sigma: Tensor, x: Tensor, charge: Tensor) -> Tuple[Tensor, Tensor]:
    diff = x[:, None] - x[None]
    r2 = (diff ** 2).sum(-1) + torch.eye(x.size(0))
    s6 = (sigma ** 2 / r2) ** 3
    energy = 4 * (s6 ** 2 - s6)
    energy = torch.triu(energy, diagonal=1).sum()
    coulomb = (charge[:, None] * charge[None] / r2.sqrt()).triu(1).sum()
    return energy, coulomb


@program(lambda: (torch.tensor([[0.2, 0.8]]), torch.tensor([[0.5, 0.5]]), 1e-8))
def js_divergence(p: Tensor, q: Tensor, eps: float) -> Tensor:
    m = 0.5 * (p + q)
    kl_p = (p * ((p + eps) / (m + eps)).log()).sum(dim=-1)
    kl_q = (q * ((q + eps) / (m + eps)).log()).sum(dim=-1)
    return 0.5 * (kl_p + kl_q)


@program(lambda: (torch.rand(6), torch.rand(6), 3, 0.5))
def bootstrap_means(a: Tensor, b: Tensor, rounds: int, keep: float) -> List[float]:
    out: List[float] = []
    for _ in range(rounds):
        index = torch.randint(0, a.size(0), [int(a.size(0) * keep)])
        out.append(float(a[index].mean() - b[index].mean()))
    return out


@program(lambda: (torch.rand(3, 4), torch.tensor([[0, 1], [1, 2]])))
class GraphConv(nn.Module):
    cached: Optional[Tuple[Tensor, int]]

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.lin = nn.Linear(4, 2, bias=False)
        self.bias = nn.Parameter(torch.zeros(2))
        self.cached = None

    def aggregate(self, x: Tensor, index: Tensor, n: int) -> Tensor:
        out = x.new_zeros([n, x.size(1)])
        return out.scatter_add_(0, index.unsqueeze(-1).expand_as(x), x)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        cached = self.cached
        if cached is None:
            self.cached = (edges, x.size(0))
            n = x.size(0)
        else:
            n = cached[1]
        x = self.lin(x)
        return self.aggregate(x[edges[0]], edges[1], n) + self.bias


@program(lambda: (torch.rand(3, 3), torch.rand(3, 3)))
class PairDistance(nn.Module):
    eps: float

    def __init__(self):
        super().__init__()
        self.eps = 1e-6

    @torch.jit.export
    def pair(self, a: Tensor, b: Tensor) -> Tensor:
        return ((a - b) ** 2 + self.eps).sum().sqrt()

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        out = torch.zeros(a.size(0), b.size(0))
        for i in range(a.size(0)):
            for j in range(b.size(0)):
                out[i, j] = self.pair(a[i], b[j])
        return out
