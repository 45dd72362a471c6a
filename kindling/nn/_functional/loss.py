"""Losses. `reduction` is "none", "mean" or "sum"; size_average and reduce are its old form."""
import kindling as torch
from kindling import _C
from kindling.nn import _reduction as _Reduction
from kindling.nn._functional import handle, has_any, warn

_nn = _C._nn


def _number(size_average, reduce, reduction):
    """The operators' number of a reduction."""
    if size_average is not None or reduce is not None:
        return _Reduction.legacy_get_enum(size_average, reduce)
    return _Reduction.get_enum(reduction)


def _reduced(loss, reduction):
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


def _broadcast(input, target):
    """Both of one size, with torch's warning where they are not."""
    if target.size() == input.size():
        return input, target
    warn(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will "
         "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.", stacklevel=4)
    return torch.broadcast_tensors(input, target)


def _check_weight(weight, input):
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")


def ctc_loss(log_probs: torch.Tensor, targets: torch.Tensor, input_lengths: torch.Tensor, target_lengths: torch.Tensor, blank: int = 0,
             reduction: str = "mean", zero_infinity: bool = False) -> torch.Tensor:
    """Connectionist temporal classification: log_probs (T, N, C) or (T, C), targets (N, S) or all in one row."""
    if has_any(log_probs, targets, input_lengths, target_lengths):
        return handle(ctc_loss, (log_probs, targets, input_lengths, target_lengths), log_probs, targets, input_lengths,
                      target_lengths, blank=blank, reduction=reduction, zero_infinity=zero_infinity)
    return torch.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _Reduction.get_enum(reduction),
                          zero_infinity)


def nll_loss(input: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None = None, size_average: bool | None = None,
             ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean") -> torch.Tensor:
    """Minus the log probability (N, C, *) of the target class (N, *). ValueError where the sizes differ."""
    if has_any(input, target, weight):
        return handle(nll_loss, (input, target, weight), input, target, weight=weight, size_average=size_average,
                      ignore_index=ignore_index, reduce=reduce, reduction=reduction)
    return _nn.nll_loss_nd(input, target, weight, _number(size_average, reduce, reduction), ignore_index)


def poisson_nll_loss(input: torch.Tensor, target: torch.Tensor, log_input: bool = True, full: bool = False,
                     size_average: bool | None = None, eps: float = 1e-8, reduce: bool | None = None,
                     reduction: str = "mean") -> torch.Tensor:
    """Negative log likelihood of Poisson counts; with `full` Stirling's approximation of the constant is added."""
    if has_any(input, target):
        return handle(poisson_nll_loss, (input, target), input, target, log_input=log_input, full=full,
                      size_average=size_average, eps=eps, reduce=reduce, reduction=reduction)
    if size_average is not None or reduce is not None:
        reduction = _Reduction.legacy_get_string(size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not a valid value for reduction")
    return torch.poisson_nll_loss(input, target, log_input, full, eps, _Reduction.get_enum(reduction))


def gaussian_nll_loss(input: torch.Tensor, target: torch.Tensor, var: torch.Tensor | float, full: bool = False, eps: float = 1e-6,
                      reduction: str = "mean") -> torch.Tensor:
    """Negative log likelihood of normal targets with this mean and variance. ValueError for a wrong or negative var."""
    if has_any(input, target, var):
        return handle(gaussian_nll_loss, (input, target, var), input, target, var, full=full, eps=eps,
                      reduction=reduction)
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * torch.ones_like(input)
    elif isinstance(var, torch.Tensor) and var.size() != input.size():
        if input.size()[:-1] == var.size():
            # One variance for all of the last dimension.
            var = torch.unsqueeze(var, -1)
        elif input.dim() != var.dim() or sum(theirs for mine, theirs in zip(input.size(), var.size())
                                             if mine != theirs) != 1:
            # Only one dimension may differ, and there it has size 1.
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    if torch.any(var < 0):
        raise ValueError("var has negative entry/entries")
    var = var.clone()
    with torch.no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss += 0.9189385332046727      # log(2 pi) / 2
    return _reduced(loss, reduction)


def kl_div(input: torch.Tensor, target: torch.Tensor, size_average: bool | None = None, reduce: bool | None = None,
           reduction: str = "mean", log_target: bool = False) -> torch.Tensor:
    """Kullback-Leibler divergence of log probabilities from targets; "batchmean" divides the sum by the batch size."""
    if has_any(input, target):
        return handle(kl_div, (input, target), input, target, size_average=size_average, reduce=reduce,
                      reduction=reduction, log_target=log_target)
    if size_average is not None or reduce is not None:
        number = _Reduction.legacy_get_enum(size_average, reduce)
    else:
        if reduction == "mean":
            warn("reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' "
                 "divides only by the batch size, and aligns with the KL div math definition.'mean' will be changed to "
                 "behave the same as 'batchmean' in the next major release.")
        number = _Reduction.get_enum("sum" if reduction == "batchmean" else reduction)
    loss = torch.kl_div(input, target, number, log_target=log_target)
    if reduction == "batchmean" and input.dim() != 0:
        loss = loss / input.size()[0]
    return loss


def cross_entropy(input: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None = None, size_average: bool | None = None,
                  ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> torch.Tensor:
    """Cross entropy of logits (N, C, *) with class indices (N, *) or with probabilities (N, C, *)."""
    if has_any(input, target, weight):
        return handle(cross_entropy, (input, target, weight), input, target, weight=weight, size_average=size_average,
                      ignore_index=ignore_index, reduce=reduce, reduction=reduction, label_smoothing=label_smoothing)
    return _nn.cross_entropy_loss(input, target, weight, _number(size_average, reduce, reduction), ignore_index,
                                  label_smoothing)


def linear_cross_entropy(input: torch.Tensor, linear_weight: torch.Tensor, target: torch.Tensor, *,
                         linear_bias: torch.Tensor | None = None, weight: torch.Tensor | None = None, reduction: str = "mean",
                         ignore_index: int | None = None, label_smoothing: float = 0.0, options=None) -> torch.Tensor:
    """cross_entropy(linear(input, linear_weight, linear_bias), target) for input (N, D) or (D,).

    linear_weight (C, *K, D) makes logits (N, C, *K). `options` are checked and do not change the answer.
    """
    if has_any(input, linear_weight, target, linear_bias, weight):
        return handle(linear_cross_entropy, (input, linear_weight, target, linear_bias, weight), input, linear_weight,
                      target, linear_bias=linear_bias, weight=weight, reduction=reduction, ignore_index=ignore_index,
                      label_smoothing=label_smoothing, options=options)
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    if input.size(-1) != linear_weight.size(-1):
        raise RuntimeError("expected equal input and linear_weight last dimensions (in_features), got "
                           f"{input.size(-1)} and {linear_weight.size(-1)}, respectively")
    if input.dim() == 1 and linear_weight.dim() > 2:
        raise RuntimeError(f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires "
                           f"batched input, (N, {input.size(-1)}), got unbatched input with shape "
                           f"{tuple(input.shape)}")
    if linear_bias is not None and linear_bias.shape != linear_weight.shape[:-1]:
        raise RuntimeError(f"expected linear_bias shape {tuple(linear_weight.shape[:-1])}, got "
                           f"{tuple(linear_bias.shape)}")
    if target.is_floating_point() and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    if ignore_index is None:
        ignore_index = -100
    shape = linear_weight.shape[:-1]
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = _nn.linear(input, linear_weight.reshape(-1, linear_weight.size(-1)), bias)
    logits = logits.reshape(*input.shape[:-1], *shape)
    return cross_entropy(logits, target, weight=weight, reduction=reduction, ignore_index=ignore_index,
                         label_smoothing=label_smoothing)


def binary_cross_entropy(input: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None = None, size_average: bool | None = None,
                         reduce: bool | None = None, reduction: str = "mean") -> torch.Tensor:
    """Cross entropy of probabilities with targets in [0, 1]. ValueError where the sizes differ."""
    if has_any(input, target, weight):
        return handle(binary_cross_entropy, (input, target, weight), input, target, weight=weight,
                      size_average=size_average, reduce=reduce, reduction=reduction)
    number = _number(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) "
                         "is deprecated. Please ensure they have the same size.")
    if weight is not None:
        weight = weight.expand(torch.broadcast_shapes(target.size(), weight.size()))
    return _nn.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(input: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None = None,
                                     size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
                                     pos_weight: torch.Tensor | None = None) -> torch.Tensor:
    """binary_cross_entropy of sigmoid(input), stable for large logits. ValueError where the sizes differ."""
    if has_any(input, target, weight, pos_weight):
        return handle(binary_cross_entropy_with_logits, (input, target, weight, pos_weight), input, target,
                      weight=weight, size_average=size_average, reduce=reduce, reduction=reduction,
                      pos_weight=pos_weight)
    number = _number(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


def smooth_l1_loss(input: torch.Tensor, target: torch.Tensor, size_average: bool | None = None, reduce: bool | None = None,
                   reduction: str = "mean", beta: float = 1.0) -> torch.Tensor:
    """Squared error / (2 beta) below beta, absolute error - beta / 2 above."""
    if has_any(input, target):
        return handle(smooth_l1_loss, (input, target), input, target, size_average=size_average, reduce=reduce,
                      reduction=reduction, beta=beta)
    input, target = _broadcast(input, target)
    number = _number(size_average, reduce, reduction)
    if beta == 0.0:
        return _nn.l1_loss(input, target, number)
    return _nn.smooth_l1_loss(input, target, number, beta)


def huber_loss(input: torch.Tensor, target: torch.Tensor, reduction: str = "mean", delta: float = 1.0,
               weight: torch.Tensor | None = None) -> torch.Tensor:
    """Squared error / 2 up to delta, delta * (absolute error - delta / 2) above; `weight` per element."""
    if has_any(input, target, weight):
        return handle(huber_loss, (input, target, weight), input, target, reduction=reduction, delta=delta,
                      weight=weight)
    input, target = _broadcast(input, target)
    if weight is None:
        return _nn.huber_loss(input, target, _Reduction.get_enum(reduction), delta)
    _check_weight(weight, input)
    loss = _nn.huber_loss(input, target, 0, delta) * weight
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
    return _reduced(loss, reduction)


def _weighted(loss, weight, reduction):
    """A loss per element times its weight; the mean is by the weights' sum."""
    if reduction == "none":
        return loss * weight
    if reduction == "sum":
        return torch.sum(loss * weight)
    if reduction == "mean":
        return torch.sum(loss * weight) / torch.sum(weight)
    raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")


def l1_loss(input: torch.Tensor, target: torch.Tensor, size_average: bool | None = None, reduce: bool | None = None,
            reduction: str = "mean", weight: torch.Tensor | None = None) -> torch.Tensor:
    """Absolute error; `weight` per element."""
    if has_any(input, target, weight):
        return handle(l1_loss, (input, target, weight), input, target, size_average=size_average, reduce=reduce,
                      reduction=reduction, weight=weight)
    input, target = _broadcast(input, target)
    if size_average is not None or reduce is not None:
        reduction = _Reduction.legacy_get_string(size_average, reduce)
    if weight is None:
        return _nn.l1_loss(input, target, _Reduction.get_enum(reduction))
    _check_weight(weight, input)
    return _weighted(torch.abs(input - target), weight, reduction)


def mse_loss(input: torch.Tensor, target: torch.Tensor, size_average: bool | None = None, reduce: bool | None = None,
             reduction: str = "mean", weight: torch.Tensor | None = None) -> torch.Tensor:
    """Squared error; `weight` per element."""
    if has_any(input, target, weight):
        return handle(mse_loss, (input, target, weight), input, target, size_average=size_average, reduce=reduce,
                      reduction=reduction, weight=weight)
    input, target = _broadcast(input, target)
    if size_average is not None or reduce is not None:
        reduction = _Reduction.legacy_get_string(size_average, reduce)
    if weight is None:
        return _nn.mse_loss(input, target, _Reduction.get_enum(reduction))
    _check_weight(weight, input)
    return _weighted(torch.pow(input - target, 2), weight, reduction)


def margin_ranking_loss(input1: torch.Tensor, input2: torch.Tensor, target: torch.Tensor, margin: float = 0,
                        size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> torch.Tensor:
    """max(0, -target * (input1 - input2) + margin), target 1 or -1."""
    if has_any(input1, input2, target):
        return handle(margin_ranking_loss, (input1, input2, target), input1, input2, target, margin=margin,
                      size_average=size_average, reduce=reduce, reduction=reduction)
    number = _number(size_average, reduce, reduction)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError("margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
                           f"{input1.size()}, input2: {input2.size()}, target: {target.size()} ")
    return torch.margin_ranking_loss(input1, input2, target, margin, number)


def hinge_embedding_loss(input: torch.Tensor, target: torch.Tensor, margin: float = 1.0, size_average: bool | None = None,
                         reduce: bool | None = None, reduction: str = "mean") -> torch.Tensor:
    """input where target is 1, max(0, margin - input) where it is -1."""
    if has_any(input, target):
        return handle(hinge_embedding_loss, (input, target), input, target, margin=margin, size_average=size_average,
                      reduce=reduce, reduction=reduction)
    return torch.hinge_embedding_loss(input, target, margin, _number(size_average, reduce, reduction))


def multilabel_margin_loss(input: torch.Tensor, target: torch.Tensor, size_average: bool | None = None, reduce: bool | None = None,
                           reduction: str = "mean") -> torch.Tensor:
    """Hinge loss of several classes a sample: target (N, C) lists class indices, ended by -1."""
    if has_any(input, target):
        return handle(multilabel_margin_loss, (input, target), input, target, size_average=size_average, reduce=reduce,
                      reduction=reduction)
    return _nn.multilabel_margin_loss(input, target, _number(size_average, reduce, reduction))


def soft_margin_loss(input: torch.Tensor, target: torch.Tensor, size_average: bool | None = None, reduce: bool | None = None,
                     reduction: str = "mean") -> torch.Tensor:
    """log(1 + exp(-target * input)), target 1 or -1."""
    if has_any(input, target):
        return handle(soft_margin_loss, (input, target), input, target, size_average=size_average, reduce=reduce,
                      reduction=reduction)
    return _nn.soft_margin_loss(input, target, _number(size_average, reduce, reduction))


def multilabel_soft_margin_loss(input: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None = None,
                                size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> torch.Tensor:
    """Mean over the classes (last dimension) of the logistic loss with targets 0 or 1."""
    if has_any(input, target, weight):
        return handle(multilabel_soft_margin_loss, (input, target, weight), input, target, weight=weight,
                      size_average=size_average, reduce=reduce, reduction=reduction)
    if size_average is not None or reduce is not None:
        reduction = _Reduction.legacy_get_string(size_average, reduce)
    log_sigmoid = _nn.log_sigmoid
    loss = -(target * log_sigmoid(input) + (1 - target) * log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    classes = input.dim() - 1
    loss = loss.sum(dim=classes) / input.size(classes)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    return _reduced(loss, reduction)


def cosine_embedding_loss(input1: torch.Tensor, input2: torch.Tensor, target: torch.Tensor, margin: float = 0,
                          size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> torch.Tensor:
    """1 - cos where target is 1, max(0, cos - margin) where it is -1."""
    if has_any(input1, input2, target):
        return handle(cosine_embedding_loss, (input1, input2, target), input1, input2, target, margin=margin,
                      size_average=size_average, reduce=reduce, reduction=reduction)
    return torch.cosine_embedding_loss(input1, input2, target, margin, _number(size_average, reduce, reduction))


def multi_margin_loss(input: torch.Tensor, target: torch.Tensor, p: int = 1, margin: float = 1.0, weight: torch.Tensor | None = None,
                      size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> torch.Tensor:
    """Hinge loss of one class a sample, to the power p. ValueError unless p is 1 or 2 and weight one-dimensional."""
    if has_any(input, target, weight):
        return handle(multi_margin_loss, (input, target, weight), input, target, p=p, margin=margin, weight=weight,
                      size_average=size_average, reduce=reduce, reduction=reduction)
    number = _number(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return _nn.multi_margin_loss(input, target, p, margin, weight, number)


def triplet_margin_loss(anchor: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor, margin: float = 1.0, p: float = 2,
                        eps: float = 1e-6, swap: bool = False, size_average: bool | None = None, reduce: bool | None = None,
                        reduction: str = "mean") -> torch.Tensor:
    """max(0, |anchor - positive| - |anchor - negative| + margin) in p-norms. ValueError unless margin is positive."""
    if has_any(anchor, positive, negative):
        return handle(triplet_margin_loss, (anchor, positive, negative), anchor, positive, negative, margin=margin, p=p,
                      eps=eps, swap=swap, size_average=size_average, reduce=reduce, reduction=reduction)
    number = _number(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return torch.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


def triplet_margin_with_distance_loss(anchor: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor, *, distance_function=None,
                                      margin: float = 1.0, swap: bool = False, reduction: str = "mean") -> torch.Tensor:
    """triplet_margin_loss with a distance of the caller's. ValueError unless margin is positive."""
    if has_any(anchor, positive, negative):
        return handle(triplet_margin_with_distance_loss, (anchor, positive, negative), anchor, positive, negative,
                      distance_function=distance_function, margin=margin, swap=swap, reduction=reduction)
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if distance_function is None:
        distance_function = torch.pairwise_distance
    dimensions = anchor.ndim, positive.ndim, negative.ndim
    if len(set(dimensions)) > 1:
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of "
                           f"dimensions, but got: anchor {dimensions[0]}D, positive {dimensions[1]}D, and negative "
                           f"{dimensions[2]}D inputs")
    near, far = distance_function(anchor, positive), distance_function(anchor, negative)
    if swap:
        far = torch.minimum(far, distance_function(positive, negative))
    return _reduced(torch.clamp_min(margin + near - far, 0), reduction)
