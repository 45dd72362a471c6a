"""Running results of an associative function: what cumsum is to addition."""
import kindling as torch
from kindling.utils import _pytree


def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    """The results of `combine_fn` over all elements up to each place of a dimension, of tensors or trees of them.

    ``combine_fn`` takes and gives trees like ``xs``; it must be associative, since it is applied to pairs: a scan of n places calls it
    on whole tensors about 2 log2(n) times. ``reverse`` goes from the end.

    >>> associative_scan(torch.add, torch.arange(4.), 0)
    tensor([0., 1., 3., 6.])
    """
    leaves, tree = _pytree.tree_flatten(xs)
    if not callable(combine_fn):
        raise ValueError("Combine_fn must be a callable, but got {}".format(combine_fn))
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise ValueError(f"Dim must be an int, but got {type(dim)}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    if not leaves or not all(isinstance(each, torch.Tensor) for each in leaves):
        raise ValueError("xs leaves must be tensors, and at least one")
    dims = [dim % each.dim() if each.dim() else 0 for each in leaves]
    if len({each.shape[at] for each, at in zip(leaves, dims)}) != 1:
        raise RuntimeError("xs leaves must have the same size along the dimension")
    moved = [each.movedim(at, 0) for each, at in zip(leaves, dims)]
    if reverse:
        moved = [each.flip(0) for each in moved]

    def combine(left, right):
        result, other = _pytree.tree_flatten(combine_fn(_pytree.tree_unflatten(left, tree), _pytree.tree_unflatten(right, tree)))
        if other != tree:
            raise RuntimeError(f"The combine_fn must give a tree like xs, {tree}, but gave {other}")
        return result

    def scan(elements):
        count = len(elements[0])
        if count < 2:
            return elements
        # Pairs first; the scan of the pairs has every second result, and one more step gives the others.
        second = scan(combine([each[:-1:2] for each in elements], [each[1::2] for each in elements]))
        before = [each[:-1] for each in second] if count % 2 == 0 else second
        first = [each[2::2] for each in elements]
        first = combine(before, first) if len(first[0]) else first
        results = []
        for element, even, odd in zip(elements, first, second):
            even = torch.cat([element[:1].to(odd.dtype), even.to(odd.dtype)])
            together = torch.stack([even[:len(odd)], odd], 1).flatten(0, 1)
            results.append(torch.cat([together, even[len(odd):]]))
        return results

    results = scan(moved)
    scan = None             # it calls itself: a cycle that would keep its tensors
    if reverse:
        results = [each.flip(0) for each in results]
    return _pytree.tree_unflatten([each.movedim(0, at) for each, at in zip(results, dims)], tree)
