"""``torch.quasirandom``: Sobol sequences."""
import kindling as torch

__all__ = ["SobolEngine"]

_BITS = 30


def _initial(dimension):
    """(polynomial, its initial numbers) of each dimension from the second on."""
    from base64 import b85decode

    from kindling.quasirandom._sobol_numbers import COUNTS, PACKED

    raw = b85decode(PACKED)
    bits = format(int.from_bytes(raw, "big"), f"0{8 * len(raw)}b")
    at, left = 0, dimension - 1
    for degree, count in enumerate(COUNTS, 1):
        for _ in range(min(count, left)):
            inner = int(bits[at:at + degree - 1] or "0", 2)
            at += degree - 1
            numbers = [1]
            for size in range(1, degree):
                numbers.append(2 * int(bits[at:at + size], 2) + 1)
                at += size
            yield (1 << degree) | (inner << 1) | 1, numbers
        left -= min(count, left)


def _from_scipy(dimension):
    """The same from SciPy, which has the whole table; None without SciPy."""
    import importlib.util
    from pathlib import Path

    spec = importlib.util.find_spec("scipy")
    file = Path(spec.submodule_search_locations[0]) / "stats" / "_sobol_direction_numbers.npz" if spec else None
    if file is None or not file.exists():
        return None
    import numpy

    with numpy.load(file) as table:
        polynomials, numbers = table["poly"][1:dimension].tolist(), table["vinit"][1:dimension].tolist()
    return [(polynomial, row[:polynomial.bit_length() - 1]) for polynomial, row in zip(polynomials, numbers)]


def _direction_numbers(dimension):
    """The direction numbers, an int64 tensor (dimension, 30): column k has those of weight 2^-(k + 1), as 30 bits."""
    from kindling.quasirandom._sobol_numbers import COUNTS

    if dimension <= 1 + sum(COUNTS):
        rows = list(_initial(dimension))
    else:
        rows = _from_scipy(dimension)
        if rows is None:
            raise RuntimeError(f"SobolEngine: the direction numbers of more than {1 + sum(COUNTS)} dimensions are read from SciPy's copy of the "
                               f"table, and SciPy is not installed (got dimension={dimension})")
    state = torch.ones(dimension, _BITS, dtype=torch.int64)
    start = 1
    while start < dimension:
        degree = rows[start - 1][0].bit_length() - 1
        stop = start
        while stop < dimension and rows[stop - 1][0].bit_length() - 1 == degree:
            stop += 1
        polynomials = torch.tensor([row[0] for row in rows[start - 1:stop - 1]])
        columns = list(torch.tensor([row[1][:_BITS] for row in rows[start - 1:stop - 1]]).unbind(1))
        for place in range(degree, _BITS):
            # m_i = m_{i-s} ^ 2^s m_{i-s} ^ the earlier ones where the polynomial has a coefficient
            new = columns[place - degree]
            for k in range(1, degree + 1):
                has = (polynomials >> (degree - k)) & 1
                new = new ^ has * (columns[place - k] << k)
            columns.append(new)
        state[start:stop] = torch.stack(columns, 1)
        start = stop
    return state << torch.arange(_BITS - 1, -1, -1)


class SobolEngine:
    """Points of a Sobol sequence in [0, 1): quasi-random, evener than random ones.

    `dimension`: up to 21201. `scramble`: a random linear scrambling and digital shift (Owen), from `seed` if there is one.

    >>> torch.quasirandom.SobolEngine(2).draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT = _BITS
    MAXDIM = 21201

    def __init__(self, dimension, scramble=False, seed=None):
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        cpu = torch.device("cpu")
        self.sobolstate = _direction_numbers(dimension).to(cpu)
        if scramble:
            self._scramble()
        else:
            self.shift = torch.zeros(dimension, device=cpu, dtype=torch.long)
        self.quasi = self.shift.clone(memory_format=torch.contiguous_format)
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def _scramble(self):
        generator = None
        if self.seed is not None:
            generator = torch.Generator()
            generator.manual_seed(self.seed)
        weights = 2 ** torch.arange(_BITS)
        bits = torch.randint(2, (self.dimension, _BITS), generator=generator)
        self.shift = (bits * weights).sum(1)
        lower = torch.randint(2, (self.dimension, _BITS, _BITS), generator=generator).tril()
        lower.diagonal(0, -2, -1).fill_(1)
        # Each direction number times the matrix, over GF(2), the highest bit first.
        places = torch.arange(_BITS - 1, -1, -1)
        digits = (self.sobolstate.unsqueeze(-1) >> places) & 1
        for begin in range(0, self.dimension, 1024):
            part = slice(begin, begin + 1024)
            scrambled = (digits[part].double() @ lower[part].double().mT).to(torch.int64) & 1
            self.sobolstate[part] = (scrambled << places).sum(-1)

    def _after(self, counts):
        """The states that many steps after the current one (`counts` > 0)."""
        # Points follow the Gray code of their number: two of them differ by the direction numbers of the bits that differ.
        start = max(self.num_generated - 1, 0)
        numbers = start + counts
        changed = (numbers ^ (numbers >> 1)) ^ (start ^ (start >> 1))
        states = self.quasi.expand(len(counts), -1).clone()
        for bit in range(int(changed.max()).bit_length() if len(counts) else 0):
            states ^= ((changed >> bit) & 1).unsqueeze(1) * self.sobolstate[:, bit]
        return states

    def draw(self, n=1, out=None, dtype=None):
        """The next `n` points, (n, dimension)."""
        if dtype is None:
            dtype = torch.get_default_dtype()
        steps = n - 1 if self.num_generated == 0 else n
        if steps < 0:
            torch.empty(steps, self.dimension)      # refuses, as PyTorch does
        states = self._after(torch.arange(1, steps + 1))
        if len(states):
            self.quasi = states[-1].clone()
        result = states.to(dtype) * 2.0**-_BITS
        if self.num_generated == 0:
            first = self._first_point.to(dtype)
            result = first if n == 1 else torch.cat((first, result), dim=-2) if n > 0 else result
        self.num_generated += n
        if out is not None:
            out.resize_as_(result).copy_(result)
            return out
        return result

    def draw_base2(self, m, out=None, dtype=None):
        """The next 2^m points; ValueError where their number would not stay a power of 2."""
        n = 2**m
        total = self.num_generated + n
        if not (total & (total - 1) == 0):
            raise ValueError("The balance properties of Sobol' points require n to be a power of 2. "
                             f"{self.num_generated} points have been previously generated, then: n={self.num_generated}+2**{m}={total}. "
                             "If you still want to do this, please use 'SobolEngine.draw()' instead.")
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self):
        """Back to the first point."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n):
        """Leaves `n` points out."""
        steps = n - 1 if self.num_generated == 0 else n
        if steps > 0:
            self.quasi = self._after(torch.tensor([steps]))[0]
        self.num_generated += n
        return self

    def __repr__(self):
        words = [f"dimension={self.dimension}"]
        if self.scramble:
            words.append("scramble=True")
        if self.seed is not None:
            words.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(words)})"
