"""Attention whose scores a function changes, and whose mask is given by blocks.

Functions of (batch, head, query, key) are called with index tensors that broadcast: for all batches and heads at once if a few
places, computed one by one, agree; else head by head, and row by row. Attention goes by blocks of queries, so the scores never lie in memory
whole.
"""
import inspect
import itertools
from typing import NamedTuple, Optional, TypedDict

import kindling as torch

__all__ = ["BlockMask", "flex_attention", "AuxOutput", "AuxRequest", "FlexKernelOptions", "create_block_mask", "create_mask", "or_masks",
           "and_masks", "noop_mask"]

_DEFAULT_SPARSE_BLOCK_SIZE = 128
_LARGE_SPARSE_BLOCK_SIZE = 1 << 30
_ROWS = 256     # queries at a time


class FlexKernelOptions(TypedDict, total=False):
    """Options for kernels of GPUs: accepted."""

    num_warps: int
    num_stages: int
    BLOCK_M: int
    BLOCK_N: int
    BLOCK_M1: int
    BLOCK_N1: int
    BLOCK_M2: int
    BLOCK_N2: int
    PRESCALE_QK: bool
    ROWS_GUARANTEED_SAFE: bool
    BLOCKS_ARE_CONTIGUOUS: bool
    WRITE_DQ: bool
    FORCE_USE_FLEX_ATTENTION: bool
    USE_TMA: bool
    kpack: int
    matrix_instr_nonkdim: int
    waves_per_eu: int
    BACKEND: str


class AuxRequest(NamedTuple):
    """What attention shall give beside its result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What attention gave beside its result: the logarithms of the sums of exponentials, the greatest scores."""

    lse: Optional[torch.Tensor] = None
    max_scores: Optional[torch.Tensor] = None


def noop_mask(batch, head, token_q, token_kv):
    """A mask that masks nothing."""
    return batch.new_ones(size=(), dtype=torch.bool)


def _identity(score, batch, head, token_q, token_kv):
    return score


def _combined(masks, start, join, name):
    if not all(callable(each) for each in masks):
        raise RuntimeError(f"All inputs should be callable mask_mods: {masks}")

    def mask(b, h, q_idx, kv_idx):
        result = b.new_full((), start, dtype=torch.bool)
        for each in masks:
            result = join(result, each(b, h, q_idx, kv_idx))
        return result

    mask.__name__ = name
    return mask


def or_masks(*mask_mods):
    """A mask that lets through what any of them does."""
    return _combined(mask_mods, False, lambda one, other: one | other, "or_mask")


def and_masks(*mask_mods):
    """A mask that lets through what all of them do."""
    return _combined(mask_mods, True, lambda one, other: one & other, "and_mask")


# Functions of places.


def _fits(result, shape):
    """The result spread over a shape, or None if it has another one."""
    if not isinstance(result, torch.Tensor):
        return None
    if result.dim() > len(shape) or any(size not in (1, want) for size, want in zip(reversed(result.shape), reversed(shape))):
        return None
    return result.expand(shape)


def _at(mod, scores, batch, head, query, key):
    """The function of one block, whatever way it must be called: a tensor (batches, heads, queries, keys)."""
    shape = (len(batch), len(head), len(query), len(key))

    def call(score, *places):
        return mod(score, *places) if scores is not None else mod(*places)

    def part(*index):
        return scores[index] if scores is not None else None

    def spread(index, values, dims, place):
        return values[index] if isinstance(index, int) else values.view([-1 if place == each else 1 for each in dims])

    def attempt(fixed):
        """With the first `fixed` of the four places given, the others as broadcasting tensors."""
        dims = range(len(fixed), 4)
        places = [spread(fixed[place] if place < len(fixed) else None, values, dims, place)
                  for place, values in enumerate((batch, head, query, key))]
        try:
            return _fits(call(part(*fixed), *places), shape[len(fixed):])
        except (RuntimeError, IndexError, ValueError, TypeError):
            # One place at a time it may work, or say what is wrong.
            return None

    def agrees(result, fixed):
        rest = shape[len(fixed):]
        corners = {tuple(0 for _ in rest), tuple(size - 1 for size in rest), tuple(size // 2 for size in rest),
                   tuple((size - 1) if place % 2 else 0 for place, size in enumerate(rest))}
        for corner in corners:
            index = (*fixed, *corner)
            one = call(part(*index), batch[index[0]], head[index[1]], query[index[2]], key[index[3]])
            there = result[corner]
            if not bool(torch.isclose(torch.as_tensor(one).to(torch.float64).detach(), there.to(torch.float64).detach(), rtol=1e-4, atol=1e-6,
                                      equal_nan=True)):
                return False
        return True

    def solve(fixed):
        if len(fixed) == 4:
            return torch.as_tensor(call(part(*fixed), batch[fixed[0]], head[fixed[1]], query[fixed[2]], key[fixed[3]]))
        result = attempt(fixed)
        if result is not None and agrees(result, fixed):
            return result
        # Batches and heads go together.
        if not fixed:
            return torch.stack([torch.stack([solve((b, h)) for h in range(shape[1])]) for b in range(shape[0])])
        return torch.stack([solve((*fixed, place)) for place in range(shape[len(fixed)])])

    if 0 in shape:
        return torch.zeros(shape, dtype=torch.bool if scores is None else scores.dtype)
    result = solve(())
    solve = None            # it calls itself: a cycle that would keep its tensors
    return result


def _places(count, device):
    return torch.arange(0, count, device=device)


def _is_mask(mod):
    """Whether a function takes four places (a mask), not a score and four places."""
    count = sum(1 for each in inspect.signature(mod).parameters.values()
                if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) and each.default is each.empty)
    if count not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    return count == 4


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """The mask of a function as a bool tensor (B, H, Q_LEN, KV_LEN); of a function of scores, where it is not -inf.

    >>> torch.nn.attention.flex_attention.create_mask(lambda b, h, q, k: q >= k, 1, 1, 2, 2)
    tensor([[[[ True, False],
              [ True,  True]]]])
    """
    device = device if device is not None else torch.get_default_device()
    mask, places = _is_mask(mod_fn), [_places(1 if size is None else size, device) for size in (B, H, Q_LEN, KV_LEN)]
    if mask:
        return _at(mod_fn, None, *places).to(torch.bool).contiguous()
    scores = torch.zeros([len(each) for each in places], device=device)
    return ~torch.isneginf(_at(mod_fn, scores, *places))


# Blocks.


def _round_up_to_multiple(x, multiple):
    return (x + multiple - 1) // multiple * multiple


def _ordered_to_dense(num_blocks_in_row, col_indices, num_cols):
    """Zeros and ones by block, from the blocks of each row."""
    rows = col_indices.shape[-2]
    dense = torch.zeros((*col_indices.shape[:-1], num_cols + 1), dtype=torch.int32, device=col_indices.device)
    valid = torch.arange(col_indices.shape[-1], device=col_indices.device) < num_blocks_in_row.unsqueeze(-1)
    # What is no block goes into a column of its own.
    where = torch.where(valid, col_indices.to(torch.int64), torch.full((), num_cols, dtype=torch.int64))
    dense.scatter_(-1, where, torch.ones_like(where, dtype=torch.int32))
    return dense[..., :num_cols].reshape(*col_indices.shape[:-2], rows, num_cols)


def _dense_to_ordered(dense_mask):
    """How many blocks each row has, and which come first, from zeros and ones by block."""
    dense_mask = dense_mask.to(torch.int32)
    count = dense_mask.sum(dim=-1)
    order = torch.argsort(dense_mask, dim=-1, descending=True, stable=True)
    return count.to(torch.int32, memory_format=torch.contiguous_format), order.to(torch.int32, memory_format=torch.contiguous_format)


def _transpose_ordered(num_blocks_in_row, col_indices):
    dense = _ordered_to_dense(num_blocks_in_row, col_indices, col_indices.shape[-1])
    return _dense_to_ordered(dense.transpose(-2, -1))


def _convert_mask_to_block_mask(mask, Q_BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, KV_BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE,
                                separate_full_blocks=False):
    """(blocks with something in them, full blocks or None) of a mask (B, H, Q, KV)."""
    if mask.dtype != torch.bool:
        raise AssertionError(f"mask must be bool, got {mask.dtype}")
    batch, heads, queries, keys = mask.shape
    rows, columns = _round_up_to_multiple(queries, Q_BLOCK_SIZE), _round_up_to_multiple(keys, KV_BLOCK_SIZE)
    mask = torch.nn.functional.pad(mask, (0, columns - keys, 0, rows - queries))
    blocks = mask.view(batch, heads, rows // Q_BLOCK_SIZE, Q_BLOCK_SIZE, columns // KV_BLOCK_SIZE, KV_BLOCK_SIZE)
    count = blocks.sum(dim=(-3, -1))
    if not separate_full_blocks:
        return (count > 0).to(torch.int8), None
    whole = Q_BLOCK_SIZE * KV_BLOCK_SIZE
    return ((count > 0) & (count < whole)).to(torch.int8), (count == whole).to(torch.int8)


def _convert_block_mask_to_mask(block_mask, KV_BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, Q_BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE):
    return block_mask.repeat_interleave(Q_BLOCK_SIZE, -2).repeat_interleave(KV_BLOCK_SIZE, -1)


def _create_sparse_block_from_block_mask(block_mask, mask_mod, seq_lengths, Q_BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE,
                                         KV_BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE):
    partial, full = block_mask
    more = _dense_to_ordered(full) if full is not None else (None, None)
    return BlockMask.from_kv_blocks(*_dense_to_ordered(partial), *more, BLOCK_SIZE=(Q_BLOCK_SIZE, KV_BLOCK_SIZE), mask_mod=mask_mod,
                                    seq_lengths=seq_lengths)


def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device=None, BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, _compile=False,
                      separate_full_blocks=True, compute_dq_write_order=False, dq_kv_order=True):
    """The blocks of a mask `mask_mod(batch, head, query, key)`: what is empty is never computed, what is full needs no mask.

    `B`, `H`: None where the mask is the same for all.

    >>> from torch.nn.attention.flex_attention import create_block_mask
    >>> create_block_mask(lambda b, h, q, k: q >= k, None, None, 256, 256).sparsity()
    25.0
    """
    mask = _is_mask(mask_mod)
    if not mask:
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    device = device if device is not None else torch.get_default_device()
    rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    batch, head = (_places(1 if size is None else size, device) for size in (B, H))
    keys = _places(KV_LEN, device)
    partial, full = [], []
    # A row of blocks at a time.
    for start in range(0, Q_LEN, rows):
        queries = torch.arange(start, min(start + rows, Q_LEN), device=device)
        part = _at(mask_mod, None, batch, head, queries, keys).to(torch.bool)
        some, whole = _convert_mask_to_block_mask(part, rows, columns, separate_full_blocks)
        partial.append(some)
        full.append(whole)
    if not partial:
        partial = [torch.zeros(len(batch), len(head), 0, -(-KV_LEN // columns), dtype=torch.int8)]
        full = partial
    return _create_sparse_block_from_block_mask((torch.cat(partial, 2), torch.cat(full, 2) if separate_full_blocks else None), mask_mod,
                                                (Q_LEN, KV_LEN), rows, columns)


class BlockMask:
    """Which blocks of (queries, keys) attention computes, for each batch and head.

    For each row of blocks: how many, and which columns (`kv_num_blocks`, `kv_indices`), of blocks that `mask_mod` says more about and of
    full ones (`full_...`); the same by columns (`q_num_blocks`, ...).
    """

    _TENSOR_ATTRS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices",
                     "full_q_num_blocks", "full_q_indices", "dq_write_order", "dq_write_order_full", "dq_kv_order")
    _CONTEXT_ATTRS = ("seq_lengths", "BLOCK_SIZE", "mask_mod", "dq_kv_order_spt")

    def __init__(self, seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, q_num_blocks, q_indices,
                 full_q_num_blocks, full_q_indices, BLOCK_SIZE=(_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE), mask_mod=noop_mask,
                 *, dq_write_order=None, dq_write_order_full=None, dq_kv_order=None, dq_kv_order_spt=None):
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        for one, other, names in ((full_kv_num_blocks, full_kv_indices, "full_kv"), (full_q_num_blocks, full_q_indices, "full_q")):
            if (one is None) != (other is None):
                raise AssertionError(f"{names}_num_blocks and {names}_indices must be both provided or omitted")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod
        self.dq_write_order, self.dq_write_order_full = dq_write_order, dq_write_order_full
        self.dq_kv_order, self.dq_kv_order_spt = dq_kv_order, dq_kv_order_spt

    @classmethod
    def from_kv_blocks(cls, kv_num_blocks, kv_indices, full_kv_num_blocks=None, full_kv_indices=None, BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE,
                       mask_mod=None, seq_lengths=None, compute_q_blocks=True, *, dq_write_order=None, dq_write_order_full=None,
                       dq_kv_order=None):
        """From the blocks of each row; those of each column are computed."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        q = full_q = (None, None)
        if compute_q_blocks:
            q = _transpose_ordered(kv_num_blocks, kv_indices)
            if full_kv_num_blocks is not None:
                full_q = _transpose_ordered(full_kv_num_blocks, full_kv_indices)
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        if seq_lengths is None:
            seq_lengths = (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1])
        return cls(seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, *q, *full_q, BLOCK_SIZE=size,
                   mask_mod=mask_mod if mask_mod is not None else noop_mask)

    def as_tuple(self, flatten=True):
        """What it is made of; `flatten`: the two pairs as their numbers."""
        size = self.BLOCK_SIZE if flatten else (self.BLOCK_SIZE,)
        lengths = self.seq_lengths if flatten else (self.seq_lengths,)
        return (*lengths, *(getattr(self, name) for name in self._TENSOR_ATTRS), self.dq_kv_order_spt, *size, self.mask_mod)

    @property
    def shape(self):
        """(batches, heads, queries, keys)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self):
        count = 1
        for size in self.shape:
            count *= size
        return count

    def sparsity(self):
        """The part of the scores that is not computed, in percent."""
        blocks = int(self.kv_num_blocks.sum())
        if self.full_kv_num_blocks is not None:
            blocks += int(self.full_kv_num_blocks.sum())
        return 100 * (1 - blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self):
        """Zeros and ones by block."""
        columns = self.kv_indices.shape[-1]
        dense = _ordered_to_dense(self.kv_num_blocks, self.kv_indices, columns)
        if self.full_kv_num_blocks is not None:
            dense = dense | _ordered_to_dense(self.full_kv_num_blocks, self.full_kv_indices, columns)
        return dense

    def to_string(self, grid_size=(20, 20), limit=4):
        """A picture of the blocks, for the first few batches and heads; `grid_size=-1`: a cell for each block."""
        dense = self.to_dense()
        *batch, rows, columns = dense.shape
        if isinstance(grid_size, int):
            grid_size = (rows, columns) if grid_size == -1 else (grid_size, grid_size)
        height, width = min(grid_size[0], rows), min(grid_size[1], columns)
        row_step, column_step = max(-(-rows // height), 1), max(-(-columns // width), 1)
        pictures = []
        for place, index in enumerate(itertools.product(*(range(size) for size in batch))):
            if place == limit:
                pictures.append("...\nTo print out more, set BlockMask.to_string(limit=N)\nYou can also index (BlockMask[batch, head]) to "
                                "choose a specific batch or head")
                break
            lines = [str(index)]
            for row in range(0, rows, row_step):
                line = ""
                for column in range(0, columns, column_step):
                    part = dense[index][row:row + row_step, column:column + column_step].float().mean()
                    line += "██" if part == 1 else "  " if part == 0 else "░░"
                lines.append(line)
            pictures.append("\n".join(lines) + "\n")
        return "\n".join(pictures)

    def __str__(self):
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip(chr(10))}\n)"

    def __repr__(self):
        def shown(name):
            value = getattr(self, name)
            return f"    {name}={value.shape if isinstance(value, torch.Tensor) else value},"

        names = [name for name in self._TENSOR_ATTRS if not name.startswith("dq")]
        return "\n".join(["BlockMask(", *map(shown, names), f"    BLOCK_SIZE={self.BLOCK_SIZE},", f"    shape={self.shape},",
                          f"    sparsity={self.sparsity():.2f}%,",
                          f"    mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}", ")"])

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        sizes = self.kv_num_blocks.shape
        padded = tuple(slice(each + size if each < 0 else each, (each + size if each < 0 else each) + 1) if isinstance(each, int) else each
                       for each, size in zip(index, sizes))
        taken = {name: getattr(self, name)[padded] if getattr(self, name) is not None else None
                 for name in ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")}
        return type(self).from_kv_blocks(**taken, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=_sliced_mask_mod_error, seq_lengths=self.seq_lengths,
                                         compute_q_blocks=self.q_indices is not None)

    def _adjust(self, new_q_len, new_kv_len):
        """The same mask for other lengths."""
        rows, columns = -(-new_q_len // self.BLOCK_SIZE[0]), -(-new_kv_len // self.BLOCK_SIZE[1])

        def fitted(count, indices):
            if count is None:
                return None, None
            dense = _ordered_to_dense(count, indices, indices.shape[-1])
            pad = (0, max(columns - dense.shape[-1], 0), 0, max(rows - dense.shape[-2], 0))
            return _dense_to_ordered(torch.nn.functional.pad(dense, pad)[..., :rows, :columns])

        return type(self).from_kv_blocks(*fitted(self.kv_num_blocks, self.kv_indices), *fitted(self.full_kv_num_blocks, self.full_kv_indices),
                                         BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod, seq_lengths=(new_q_len, new_kv_len))

    def to(self, device):
        """The same on another device."""
        tensors = {name: getattr(self, name).to(device) if isinstance(getattr(self, name), torch.Tensor) else getattr(self, name)
                   for name in self._TENSOR_ATTRS}
        return type(self)(seq_lengths=self.seq_lengths, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod, dq_kv_order_spt=self.dq_kv_order_spt,
                          **tensors)


def _sliced_mask_mod_error(batch, head, token_q, token_kv):
    raise RuntimeError("Cannot use mask_mod from a sliced BlockMask. When you slice a BlockMask using [], you must set the mask_mod attribute "
                       "yourself. Example: sliced_mask = block_mask[:, :, 0]; sliced_mask.mask_mod = your_mask_fn")


def _create_empty_block_mask(query, key):
    """A mask of one full block."""
    zero = torch.zeros([1, 1, 1, 1], dtype=torch.int32)
    return BlockMask.from_kv_blocks(torch.ones([1, 1, 1], dtype=torch.int32), zero, BLOCK_SIZE=_LARGE_SPARSE_BLOCK_SIZE, seq_lengths=(1, 1))


# Attention.


def _check(query, key, value, block_mask, enable_gqa):
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    heads, kv_heads = query.size(-3), key.size(-3)
    if not enable_gqa and heads != kv_heads:
        raise ValueError(f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={kv_heads}. Try setting "
                         "enable_gqa=True for GQA.")
    if enable_gqa and heads % kv_heads != 0:
        raise ValueError(f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads} and Hkv={kv_heads}.")
    if query.size(-1) != key.size(-1):
        raise ValueError(f"Expect query and key/value to have the same embedding dimension but got E={query.size(-1)} and E={key.size(-1)}.")
    if query.size(0) != key.size(0):
        if block_mask is None:
            raise ValueError("Expect query and key/value to have the same batch size, or non-none block_mask, but got block_mask=None, "
                             f"Bq={query.size(0)}, and Bkv={key.size(0)}.")
        if block_mask.kv_num_blocks.size(0) != query.size(0):
            raise ValueError("Expect query and key/value to have the same batch size, or block_mask and query to have the same batch size, but "
                             f"got Bq={query.size(0)}, Bkv={key.size(0)}, B_block_mask={block_mask.kv_num_blocks.size(0)}.")
    if block_mask is None:
        return
    block_mask.BLOCK_SIZE  # noqa: B018  what is no BlockMask has none
    queries, keys = query.size(-2), key.size(-2)
    mask_queries, mask_keys = block_mask.shape[-2:]
    if queries > mask_queries or keys > mask_keys:
        raise ValueError(f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={queries} and kv_len={keys}. As the block "
                         "mask was created for a smaller length than you're using it for, you likely need to create a new block mask.")
    if (queries < mask_queries and keys <= mask_keys) or (queries <= mask_queries and keys < mask_keys):
        raise ValueError(f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={queries} and kv_len={keys}. As the block "
                         "mask was created for a larger length than you're using it for, you can either 1. create a new block mask with the "
                         "correct length, or 2. 'adjust' the existing block mask to the correct length by calling "
                         "block_mask._adjust(q_len, kv_len). This essentially 'crops' the block mask to the upper left corner, which does not "
                         "work for all mask_mods!")
    for size, name, place in ((query.size(0), "batch", 0), (query.size(1), "heads", 1)):
        if block_mask.kv_num_blocks.size(place) not in (1, size):
            raise RuntimeError(f"block_mask has {block_mask.kv_num_blocks.size(place)} {name}, the query {size}")


def _listed(count, indices, start, stop, block):
    """Which keys' blocks are listed for rows of queries, by element: (B, H, rows, columns of blocks)."""
    dense = _ordered_to_dense(count, indices, indices.shape[-1]).to(torch.bool)
    return dense[..., torch.arange(start, stop) // block, :]


def flex_attention(query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False, kernel_options=None, *,
                   return_aux=None):
    """softmax(score_mod(query key^T * scale)) value, where `block_mask` lets scores through; (B, H, L, E) all.

    `score_mod(score, batch, head, query, key)` changes scores; `scale` is 1 / sqrt(E). Rows without any score give zeros. With
    `return_lse` or `return_aux`, the logarithms of the sums of exponentials too. `enable_gqa`: fewer heads of keys than of queries.

    >>> from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    >>> q = k = v = torch.eye(3).view(1, 1, 3, 3)
    >>> causal = create_block_mask(lambda b, h, q, k: q >= k, None, None, 3, 3)
    >>> flex_attention(q, k, v, block_mask=causal)[0, 0, 0]
    tensor([1., 0., 0.])
    """
    _check(query, key, value, block_mask, enable_gqa)
    if return_aux is not None and return_lse:
        raise ValueError("Cannot specify both return_lse and return_aux. return_lse is deprecated, please use return_aux=AuxRequest(lse=True) "
                         "instead.")
    if return_aux is not None and return_aux.max_scores:
        raise NotImplementedError("Returning max scores is not supported on CPU/MPS.")
    if not (query.dtype.is_floating_point and key.dtype.is_floating_point and value.dtype.is_floating_point):
        raise ValueError(f"flex_attention: query, key and value must be of floating dtypes, got {query.dtype}, {key.dtype} and {value.dtype}")
    scale = query.size(-1) ** -0.5 if scale is None else scale
    if enable_gqa and key.size(1) != query.size(1):
        groups = query.size(1) // key.size(1)
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    if key.size(0) != query.size(0):
        key, value = (tensor.expand(query.size(0), *tensor.shape[1:]) for tensor in (key, value))
    working = torch.float64 if query.dtype == torch.float64 else torch.float32
    keys = key.size(-2)
    batch, head, columns = (_places(size, query.device) for size in (query.size(0), query.size(1), keys))
    outputs, sums = [], []
    for start in range(0, query.size(-2), _ROWS):
        stop = min(start + _ROWS, query.size(-2))
        rows = torch.arange(start, stop, device=query.device)
        scores = (query[:, :, start:stop].to(working) @ key.to(working).mT) * scale
        if score_mod is not None:
            scores = _at(score_mod, scores, batch, head, rows, columns).to(working)
        if block_mask is not None:
            scores = scores.masked_fill(~_allowed(block_mask, batch, head, rows, columns), float("-inf"))
        lse = torch.logsumexp(scores, -1)
        # A row without any score has no maximum to subtract.
        empty = lse == float("-inf")
        weights = torch.exp(scores - torch.where(empty, torch.zeros_like(lse), lse).unsqueeze(-1))
        outputs.append((weights.to(value.dtype) @ value).to(query.dtype))
        sums.append(lse)
    out = torch.cat(outputs, 2) if outputs else query.new_zeros((*query.shape[:-1], value.size(-1)))
    lse = torch.cat(sums, 2) if sums else query.new_zeros(query.shape[:-1])
    if return_aux is not None:
        return out, AuxOutput(lse=lse if return_aux.lse else None)
    return (out, lse) if return_lse else out


def _allowed(block_mask, batch, head, rows, columns):
    """Where scores go through: in full blocks, and in the others where the mask says so."""
    start, stop = int(rows[0]), int(rows[-1]) + 1
    size_q, size_kv = block_mask.BLOCK_SIZE
    column_blocks = columns // size_kv
    partial = _listed(block_mask.kv_num_blocks, block_mask.kv_indices, start, stop, size_q)
    allowed = partial[..., column_blocks]
    if bool(partial.any()) and block_mask.mask_mod is not noop_mask:
        allowed = allowed & _at(block_mask.mask_mod, None, batch, head, rows, columns).to(torch.bool)
    if block_mask.full_kv_num_blocks is not None:
        full = _listed(block_mask.full_kv_num_blocks, block_mask.full_kv_indices, start, stop, size_q)
        allowed = allowed | full[..., column_blocks]
    return allowed
