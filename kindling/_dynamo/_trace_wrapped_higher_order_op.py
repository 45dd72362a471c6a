"""A block for masks that are written element by element: indexing by a tensor reads no value early here, with it or without."""
from kindling._common.eagerly import Block


class TransformGetItemToIndex(Block):
    """A block in which `x[i]` with a tensor `i` of one element is an operator on both; here it always is."""
