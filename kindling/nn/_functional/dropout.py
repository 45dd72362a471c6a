"""Dropout of elements and of whole channels."""
import kindling as torch
from kindling.nn._functional import handle, has_one, warn


def _check(p: float):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> torch.Tensor:
    """Zeroes elements with probability p in training and scales the rest by 1/(1-p). ValueError unless 0 <= p <= 1."""
    if has_one(input):
        return handle(dropout, (input,), input, p=p, training=training, inplace=inplace)
    _check(p)
    return torch.dropout_(input, p, training) if inplace else torch.dropout(input, p, training)


def alpha_dropout(input: torch.Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> torch.Tensor:
    """Dropout that keeps mean and variance behind a selu."""
    if has_one(input):
        return handle(alpha_dropout, (input,), input, p=p, training=training, inplace=inplace)
    _check(p)
    return torch.alpha_dropout_(input, p, training) if inplace else torch.alpha_dropout(input, p, training)


def _channels(input, p: float, training: bool, inplace: bool):
    return torch.feature_dropout_(input, p, training) if inplace else torch.feature_dropout(input, p, training)


def dropout1d(input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> torch.Tensor:
    """Zeroes whole channels of (N, C, L) or (C, L). RuntimeError for other dimensions."""
    if has_one(input):
        return handle(dropout1d, (input,), input, p=p, training=training, inplace=inplace)
    _check(p)
    dimensions = input.dim()
    if dimensions not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {dimensions}D input. Note that dropout1d "
                           "exists to provide channel-wise dropout on inputs with 1 spatial dimension, a channel "
                           "dimension, and an optional batch dimension (i.e. 2D or 3D inputs).")
    if dimensions == 3:
        return _channels(input, p, training, inplace)
    batch = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = _channels(batch, p, training, inplace)
    return result.squeeze_(0) if inplace else result.squeeze(0)


def dropout2d(input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> torch.Tensor:
    """Zeroes whole channels of (N, C, H, W)."""
    if has_one(input):
        return handle(dropout2d, (input,), input, p=p, training=training, inplace=inplace)
    _check(p)
    dimensions = input.dim()
    if dimensions not in (3, 4):
        warn(f"dropout2d: Received a {dimensions}-D input to dropout2d, which is deprecated and will result in an error "
             "in a future release. To retain the behavior and silence this warning, please use dropout instead. Note "
             "that dropout2d exists to provide channel-wise dropout on inputs with 2 spatial dimensions, a channel "
             "dimension, and an optional batch dimension (i.e. 3D or 4D inputs).")
    if dimensions == 3:
        warn("dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
             "- input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
             "future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain "
             "the 1D channel-wise dropout behavior, please switch to using dropout1d instead.")
    return _channels(input, p, training, inplace)


def dropout3d(input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> torch.Tensor:
    """Zeroes whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    if has_one(input):
        return handle(dropout3d, (input,), input, p=p, training=training, inplace=inplace)
    _check(p)
    dimensions = input.dim()
    if dimensions not in (4, 5):
        warn(f"dropout3d: Received a {dimensions}-D input to dropout3d, which is deprecated and will result in an error "
             "in a future release. To retain the behavior and silence this warning, please use dropout instead. Note "
             "that dropout3d exists to provide channel-wise dropout on inputs with 3 spatial dimensions, a channel "
             "dimension, and an optional batch dimension (i.e. 4D or 5D inputs).")
    if dimensions == 5:
        return _channels(input, p, training, inplace)
    batch = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = _channels(batch, p, training, inplace)
    return result.squeeze_(0) if inplace else result.squeeze(0)


def feature_alpha_dropout(input: torch.Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> torch.Tensor:
    """alpha_dropout of whole channels."""
    if has_one(input):
        return handle(feature_alpha_dropout, (input,), input, p=p, training=training, inplace=inplace)
    _check(p)
    if inplace:
        return torch.feature_alpha_dropout_(input, p, training)
    return torch.feature_alpha_dropout(input, p, training)
