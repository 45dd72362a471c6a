"""Reduction names of the losses as the operators' numbers, and the old size_average and reduce arguments."""
_NUMBERS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def get_enum(reduction):
    """0, 1 or 2 for "none", "mean" or "sum"; ValueError for anything else."""
    number = _NUMBERS.get(reduction) if isinstance(reduction, str) else None
    if number is None:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if reduction == "elementwise_mean":
        import warnings
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=2)
    return number


def legacy_get_string(size_average, reduce, emit_warning=True):
    """The reduction's name for the old pair of arguments, which both default to True."""
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    if size_average and reduce:
        name = "mean"
    elif reduce:
        name = "sum"
    else:
        name = "none"
    if emit_warning:
        import warnings
        warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{name}' instead.",
                      stacklevel=2)
    return name


def legacy_get_enum(size_average, reduce, emit_warning=True):
    """The reduction's number for the old pair of arguments."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
