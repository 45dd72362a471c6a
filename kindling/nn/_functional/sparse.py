"""Embedding look-ups."""
import kindling as torch
from kindling.nn._functional import handle, has_any, warn


def _no_grad_embedding_renorm_(weight: torch.Tensor, input: torch.Tensor, max_norm: float,
                               norm_type: float) -> tuple[torch.Tensor, torch.Tensor]:
    with torch.no_grad():
        torch.embedding_renorm_(weight.detach(), input, max_norm, norm_type)      # a tangent of the weight stays


def embedding(input: torch.Tensor, weight: torch.Tensor, padding_idx: int | None = None, max_norm: float | None = None,
              norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> torch.Tensor:
    """The rows of `weight` (V, D) that `input` (*) of int32 or int64 names: (*, D).

    The row `padding_idx` gets no gradient; rows longer than `max_norm` are shortened in place. AssertionError for a
    padding_idx outside the rows.
    """
    if has_any(input, weight):
        return handle(embedding, (input, weight), input, weight, padding_idx=padding_idx, max_norm=max_norm,
                      norm_type=norm_type, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)
    if padding_idx is not None:
        if padding_idx > 0:
            if padding_idx >= weight.size(0):
                raise AssertionError("Padding_idx must be within num_embeddings")
        elif padding_idx < 0:
            if padding_idx < -weight.size(0):
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx = weight.size(0) + padding_idx
    else:
        padding_idx = -1
    if max_norm is not None:
        input = input.contiguous()
        _no_grad_embedding_renorm_(weight, input, max_norm, norm_type)
    return torch.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def embedding_bag(input: torch.Tensor, weight: torch.Tensor, offsets: torch.Tensor | None = None, max_norm: float | None = None,
                  norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                  per_sample_weights: torch.Tensor | None = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> torch.Tensor:
    """Sums, means or maxima of rows of `weight` over bags of indices: (B, N), or (N,) with the bags' `offsets`."""
    if has_any(input, weight, offsets, per_sample_weights):
        return handle(embedding_bag, (input, weight, offsets, per_sample_weights), input, weight, offsets=offsets,
                      max_norm=max_norm, norm_type=norm_type, scale_grad_by_freq=scale_grad_by_freq, mode=mode,
                      sparse=sparse, per_sample_weights=per_sample_weights, include_last_offset=include_last_offset,
                      padding_idx=padding_idx)
    if weight.dtype == torch.long and input.is_floating_point():
        warn("Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
             "deprecated, and should now be `embedding_bag(input, weight, ...)`.")
        weight, input = input, weight
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must "
                         f"have the same shape as the input ({input.shape})")
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed "
                             f"length sequences. However, found offsets of type {type(offsets)}")
        offsets = torch.arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    numbers = {"sum": 0, "mean": 1, "max": 2}
    if mode not in list(numbers):   # which asks for no hash
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max":
        if scale_grad_by_freq:
            raise ValueError("max mode does not support scaling the gradient by the frequency")
        if sparse:
            raise ValueError("max mode does not support sparse weights")
    if max_norm is not None:
        _no_grad_embedding_renorm_(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
                                  f"for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub.")
    return torch.embedding_bag(weight, input, offsets, scale_grad_by_freq, numbers[mode], sparse, per_sample_weights,
                               include_last_offset, padding_idx)[0]
