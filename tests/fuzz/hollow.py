"""Tensors without elements, in every stride pattern: made so, expanded and cut, with strides of zero or of anything, from NumPy,
transposed, sliced, selected by a mask. Now and then one beside them has elements."""
import numpy

from draw import DTYPES, Draw, word_of

NUMPY = {name: name for name in DTYPES if name != "bfloat16"}


class Empty(Draw):
    """Shapes with a dimension of no size."""

    def __init__(self, rng, t):
        super().__init__(rng, t)
        self.rank = max(1, self.rank)
        self.shape = (self.shape or [0])[:self.rank]
        for place in rng.sample(range(self.rank), rng.choice((1, 1, 1, 1, 2, 0)) if self.rank > 1 else 1):
            self.shape[place] = 0
        self.dims = [0, *self.dims]

    def arranged(self, sizes, dtype, lazy=False):
        rng, t = self.rng, self.t
        kind, rank = rng.randrange(18), len(sizes)
        if 0 not in sizes or not rank:
            if rng.random() < 0.7 and rank:
                sizes = list(sizes)
                sizes[rng.randrange(rank)] = 0
            else:
                return super().arranged(sizes, dtype, lazy)
        hole = rng.choice([dim for dim, size in enumerate(sizes) if size == 0])
        if kind == 0:  # expanded and cut
            x = t.zeros([1] * rank, dtype=dtype).expand([size or 5 for size in sizes])
            for dim in range(rank):
                if sizes[dim] == 0:
                    x = x.narrow(dim, rng.randrange(3), 0)
        elif kind == 1:
            x = t.zeros([1 if dim != hole else 0 for dim in range(rank)], dtype=dtype).expand(sizes)
        elif kind == 2:
            x = t.zeros(4, dtype=dtype).as_strided(sizes, [0] * rank, rng.randrange(3))
        elif kind == 3:
            x = t.zeros(40, dtype=dtype).as_strided(sizes, [rng.choice((0, 1, 1, 2, 3, 7)) for _ in sizes], rng.randrange(3))
        elif kind == 4 and word_of(dtype) in NUMPY:
            x = t.from_numpy(numpy.zeros(sizes, dtype=NUMPY[word_of(dtype)]))
        elif kind == 5 and word_of(dtype) in NUMPY:
            x = t.from_numpy(numpy.zeros(sizes[::-1], dtype=NUMPY[word_of(dtype)]).T)
        elif kind in (6, 7) and rank > 1:
            order = rng.sample(range(rank), rank)
            x = t.zeros([sizes[place] for place in order], dtype=dtype).permute([order.index(dim) for dim in range(rank)])
        elif kind in (8, 9):  # a slice of what has elements
            x = t.ones([size or 3 for size in sizes], dtype=dtype)
            for dim in range(rank):
                if sizes[dim] == 0:
                    x = x[(slice(None),) * dim + (rng.choice((slice(0, 0), slice(3, None), slice(2, 1), slice(3, 3, 2))),)]
        elif kind == 10:
            x = t.ones([3 if dim == hole else size for dim, size in enumerate(sizes)], dtype=dtype)
            x = x[(slice(None),) * hole + (t.zeros(3, dtype=t.bool),)]
        elif kind == 11:
            x = t.zeros([2, *sizes], dtype=dtype)[1]
        elif kind == 12 and rank in (4, 5):
            x = t.zeros(sizes, dtype=dtype).contiguous(memory_format=t.channels_last if rank == 4 else t.channels_last_3d)
        elif kind == 13 and dtype.is_complex:
            x = t.zeros(sizes, dtype=dtype).conj()
        elif kind == 13 and dtype.is_signed:
            x = t._neg_view(t.zeros(sizes, dtype=dtype))
        elif kind == 14:
            x = t.zeros(sizes, dtype=dtype, device="meta") if rng.random() < 0.2 else t.empty_strided(sizes, [rng.choice((0, 1, 2, 5)) for _ in sizes], dtype=dtype)
        else:
            x = t.zeros(sizes, dtype=dtype)
        if self.grad and rng.random() < 0.6 and (dtype.is_floating_point or dtype.is_complex):
            x = x.detach().requires_grad_()
            self.leaves.append(x)
            if rng.random() < 0.5:
                x = x * 1
        return x
