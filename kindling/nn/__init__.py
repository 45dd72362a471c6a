"""Layers, losses and the Module class. Every class is loaded with its family's file, at its first use."""
import kindling as _kindling

_FAMILIES = {
    "module": "Module",
    "container": "Container Sequential ModuleList ModuleDict ParameterList ParameterDict",
    "linear": "Identity Linear Bilinear LazyLinear",
    "activation": "Threshold ReLU RReLU Hardtanh ReLU6 Sigmoid Hardsigmoid Tanh SiLU Mish Hardswish ELU CELU SELU GLU "
                  "GELU Hardshrink LeakyReLU LogSigmoid Softplus Softshrink PReLU Softsign Tanhshrink Softmin Softmax "
                  "Softmax2d LogSoftmax",
    "attention": "MultiheadAttention",
    "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d LazyConv2d LazyConv3d "
            "LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d",
    "batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d",
    "instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d "
                    "LazyInstanceNorm3d",
    "normalization": "LocalResponseNorm CrossMapLRN2d LayerNorm GroupNorm RMSNorm",
    "dropout": "Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout",
    "sparse": "Embedding EmbeddingBag",
    "pooling": "MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d AvgPool1d AvgPool2d AvgPool3d "
               "FractionalMaxPool2d FractionalMaxPool3d LPPool1d LPPool2d LPPool3d AdaptiveMaxPool1d "
               "AdaptiveMaxPool2d AdaptiveMaxPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d",
    "padding": "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d "
               "ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d "
               "ZeroPad3d",
    "rnn": "RNNBase RNN LSTM GRU RNNCellBase RNNCell LSTMCell GRUCell",
    "loss": "L1Loss NLLLoss NLLLoss2d PoissonNLLLoss GaussianNLLLoss KLDivLoss MSELoss BCELoss BCEWithLogitsLoss "
            "HingeEmbeddingLoss MultiLabelMarginLoss SmoothL1Loss HuberLoss SoftMarginLoss CrossEntropyLoss "
            "MultiLabelSoftMarginLoss CosineEmbeddingLoss MarginRankingLoss MultiMarginLoss TripletMarginLoss "
            "TripletMarginWithDistanceLoss CTCLoss LinearCrossEntropyLoss",
    "linear_cross_entropy_options": "LinearCrossEntropyOptions",
    "adaptive": "AdaptiveLogSoftmaxWithLoss",
    "transformer": "Transformer TransformerEncoder TransformerDecoder TransformerEncoderLayer TransformerDecoderLayer",
    "upsampling": "Upsample UpsamplingNearest2d UpsamplingBilinear2d",
    "pixelshuffle": "PixelShuffle PixelUnshuffle",
    "channelshuffle": "ChannelShuffle",
    "fold": "Fold Unfold",
    "distance": "PairwiseDistance CosineSimilarity",
    "flatten": "Flatten Unflatten",
}
_CLASSES = {name: family for family, names in _FAMILIES.items() for name in names.split()}
_HOMES = {name: f"modules.{family}" for name, family in _CLASSES.items()}
for _name in ("Parameter", "Buffer", "UninitializedParameter", "UninitializedBuffer"):
    _HOMES[_name] = "parameter"
_HOMES["DataParallel"] = "parallel"
_SUBMODULES = ("attention", "common_types", "functional", "grad", "init", "modules", "parallel", "parameter", "utils",
               "_reduction")

__all__ = [*_HOMES, "factory_kwargs", "attention", "functional", "init", "modules", "parallel", "parameter", "utils"]


def factory_kwargs(kwargs):
    """The device, dtype and memory_format among a layer's keyword arguments, ready for a tensor factory.

    Also takes those of a nested "factory_kwargs" entry. TypeError for other or doubled keys.
    """
    if kwargs is None:
        return {}
    simple_keys = {"device", "dtype", "memory_format"}
    expected = {*simple_keys, "factory_kwargs"}
    if not kwargs.keys() <= expected:
        raise TypeError(f"unexpected kwargs {kwargs.keys() - expected}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for key in simple_keys:
        if key in kwargs:
            if key in found:
                raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
            found[key] = kwargs[key]
    return found


__getattr__, __dir__ = _kindling._lazy_parts(globals(), _HOMES, _SUBMODULES)
