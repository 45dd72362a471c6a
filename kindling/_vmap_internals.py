"""The first form of `vmap`, by the names that older programs call it by: positional arguments alone."""

__all__ = ["vmap"]


def vmap(func, in_dims=0, out_dims=0):
    """`torch.vmap`; warns that it is to be called by that name."""
    import warnings
    warnings.warn("Please use torch.vmap instead of torch._vmap_internals.vmap.", FutureWarning, stacklevel=2)
    return _vmap(func, in_dims, out_dims)


def _vmap(func, in_dims=0, out_dims=0, allow_none_pass_through=False):
    """`func` for every slice; results that are None stay so with `allow_none_pass_through`."""
    from kindling.func._vmap import _mapped
    if not allow_none_pass_through:
        return _mapped(func, in_dims, out_dims, "first")

    def some(*args):
        """The results that are tensors, and which they are."""
        made = func(*args)
        all_of_them = made if isinstance(made, tuple) else (made,)
        found.append((isinstance(made, tuple), [each is not None for each in all_of_them]))
        return tuple(each for each in all_of_them if each is not None)

    def wrapped(*args):
        found.clear()
        dims = out_dims
        values = iter(_mapped(some, in_dims, dims, "first")(*args))
        many, there = found[-1]
        result = tuple(next(values) if each else None for each in there)
        return result if many else result[0]
    found = []
    return wrapped
