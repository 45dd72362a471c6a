"""Helpers around modules: gradient clipping, packed sequences, parametrisations. Each loads at its first use."""
import kindling as _kindling

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
               "prune", "rnn", "stateless")

__all__ = [*_HOMES, "parametrizations", "parametrize", "rnn", "stateless"]

__getattr__, __dir__ = _kindling._lazy_parts(globals(), _HOMES, _SUBMODULES, ("spectral_norm", "weight_norm"))
