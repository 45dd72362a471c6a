"""Layer functions without state. Names that are operators as they stand are bound to them; the others are wrappers.

Both kinds resolve at first use: an operator from the tables below, a wrapper with its family's file.
"""
from kindling import _C

_FAMILIES = {
    "activation": "threshold relu glu hardtanh relu6 elu selu celu leaky_relu rrelu tanhshrink softsign softmin softmax "
                  "gumbel_softmax log_softmax tanh sigmoid hardsigmoid silu mish hardswish _get_softmax_dim _threshold",
    "dropout": "dropout alpha_dropout dropout1d dropout2d dropout3d feature_alpha_dropout",
    "sparse": "embedding embedding_bag _no_grad_embedding_renorm_",
    "norm": "batch_norm instance_norm layer_norm rms_norm group_norm local_response_norm normalize _verify_batch_size "
            "_verify_spatial_size",
    "loss": "ctc_loss nll_loss poisson_nll_loss gaussian_nll_loss kl_div cross_entropy binary_cross_entropy "
            "binary_cross_entropy_with_logits smooth_l1_loss huber_loss l1_loss mse_loss margin_ranking_loss "
            "hinge_embedding_loss multilabel_margin_loss soft_margin_loss multilabel_soft_margin_loss "
            "cosine_embedding_loss multi_margin_loss triplet_margin_loss triplet_margin_with_distance_loss "
            "linear_cross_entropy",
    "pooling": "fractional_max_pool2d_with_indices fractional_max_pool2d fractional_max_pool3d_with_indices "
               "fractional_max_pool3d max_pool1d_with_indices max_pool1d max_pool2d_with_indices max_pool2d "
               "max_pool3d_with_indices max_pool3d max_unpool1d max_unpool2d max_unpool3d lp_pool1d lp_pool2d lp_pool3d "
               "adaptive_max_pool1d_with_indices adaptive_max_pool1d adaptive_max_pool2d_with_indices "
               "adaptive_max_pool2d adaptive_max_pool3d_with_indices adaptive_max_pool3d adaptive_avg_pool2d "
               "adaptive_avg_pool3d _max_pool1d _max_pool2d _max_pool3d _adaptive_max_pool1d _adaptive_max_pool2d "
               "_adaptive_max_pool3d _fractional_max_pool2d _fractional_max_pool3d _unpool_output_size",
    "vision": "pad interpolate upsample upsample_nearest upsample_bilinear grid_sample affine_grid unfold fold",
    "scaled": "scaled_mm ScalingType SwizzleType",
    "attention": "multi_head_attention_forward grouped_mm _canonical_mask _none_or_dtype _in_projection "
                 "_in_projection_packed _mha_shape_check _check_key_padding_mask",
}
_WRAPPERS = {name: f"kindling.nn._functional.{family}" for family, names in _FAMILIES.items() for name in names.split()}
# Operators bound straight, by the name space that has them.
_TORCH = frozenset((
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "conv_tbc", "avg_pool1d",
    "adaptive_avg_pool1d", "relu_", "celu_", "rrelu_", "selu_", "threshold_", "bilinear", "channel_shuffle",
    "native_channel_shuffle", "cosine_similarity", "hardshrink", "pairwise_distance", "pdist", "pixel_shuffle",
    "pixel_unshuffle", "prelu"))
_NN = {name: name for name in (
    "avg_pool2d", "avg_pool3d", "gelu", "linear", "elu_", "hardtanh_", "leaky_relu_", "softplus", "softshrink",
    "one_hot", "scaled_dot_product_attention")}
_NN["logsigmoid"] = "log_sigmoid"
_HELPERS = {"_Reduction": ("kindling.nn._reduction", None), "grad": ("kindling.nn.grad", None),
            "_single": ("kindling.nn.modules.utils", "_single"), "_pair": ("kindling.nn.modules.utils", "_pair"),
            "_triple": ("kindling.nn.modules.utils", "_triple"),
            "_list_with_default": ("kindling.nn.modules.utils", "_list_with_default"),
            "Tensor": ("kindling", "Tensor"), "math": ("math", None), "warnings": ("warnings", None),
            "torch": ("kindling", None), "_VF": ("kindling", None)}
GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}

__all__ = sorted(name for name in (*_WRAPPERS, *_TORCH, *_NN) if name[0] != "_")


def _load(module):
    # The import statement's own function: importlib is not needed for it.
    return __import__(module, fromlist=("__name__",))


class _Functions(type(_C)):
    @property
    def __dict__(self):
        for name in __all__:    # who looks at all names wants to see them
            if name not in globals():
                getattr(self, name)
        return globals()


_load(__name__).__class__ = _Functions


def __getattr__(name):
    home = _WRAPPERS.get(name)
    if home is not None:
        value = getattr(_load(home), name)
        value.__module__ = __name__     # where pickles look for it
    elif name in _NN:
        value = getattr(_C._nn, _NN[name])
    elif name in _TORCH:
        value = getattr(_load("kindling"), name)
    elif name in _HELPERS:
        home, attribute = _HELPERS[name]
        value = _load(home) if attribute is None else getattr(_load(home), attribute)
    elif name in ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic",
                  "handle_torch_function"):
        value = getattr(_load("kindling").overrides, name)
    elif name[:2] == "__":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    else:
        value = _load("kindling._absent").find("nn.functional", name)
    return globals().setdefault(name, value)


def __dir__():
    return sorted({*globals(), *_WRAPPERS, *_TORCH, *_NN})
