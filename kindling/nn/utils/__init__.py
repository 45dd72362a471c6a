"""Helpers around modules: gradient clipping, packed sequences, parametrisations. Each loads at its first use."""
_FAMILIES = {
    "clip_grad": "clip_grad_norm clip_grad_norm_ clip_grads_with_norm_ clip_grad_value_ get_total_norm",
    "convert_parameters": "parameters_to_vector vector_to_parameters",
    "fusion": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights",
    "init": "skip_init",
    "memory_format": "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format",
    "spectral_norm": "spectral_norm remove_spectral_norm",
    "weight_norm": "weight_norm remove_weight_norm",
}
_HOMES = {name: family for family, names in _FAMILIES.items() for name in names.split()}
_SUBMODULES = ("clip_grad", "convert_parameters", "fusion", "init", "memory_format", "parametrizations", "parametrize",
               "rnn", "stateless")

__all__ = [*_HOMES, "parametrizations", "parametrize", "rnn", "stateless"]


def __getattr__(name):
    from kindling.nn import _load
    if name in _HOMES:
        # A function may bear its module's name; it wins, as the import below would otherwise leave the module here.
        value = getattr(_load(f"{__name__}.{_HOMES[name]}"), name)
    elif name in _SUBMODULES:
        value = _load(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_HOMES, *_SUBMODULES})
