"""Muon: momentum steps made orthogonal."""
import kindling as torch
from kindling.optim.optimizer import (Optimizer, _check_lr, _evaluate, _to_scalar, _use_grad_for_differentiable,
                                      _zeros_like)

__all__ = ["Muon", "muon"]

# The quintic polynomial of the Newton-Schulz iteration (Jordan, 2024), chosen for a steep slope at zero.
DEFAULT_A, DEFAULT_B, DEFAULT_C = 3.4445, -4.7750, 2.0315
DEFAULT_NS_STEPS = 5
EPS = 1e-7


class Muon(Optimizer):
    """Muon (Jordan, 2024): for matrices, a momentum step made orthogonal by Newton-Schulz iterations in bfloat16.

    `adjust_lr_fn` is "original" (also for None) or "match_rms_adamw": how the rate depends on the matrix's shape.
    Weight decay is decoupled.  ValueError for options out of range and for parameters that are no matrices.
    """

    def __init__(self, params, lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95, nesterov: bool = True,
                 ns_coefficients: tuple[float, float, float] = (DEFAULT_A, DEFAULT_B, DEFAULT_C), eps: float = EPS, ns_steps: int = DEFAULT_NS_STEPS,
                 adjust_lr_fn: str | None = None):
        if isinstance(lr, torch.Tensor):
            _check_lr(lr)
        for name, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not 0.0 <= value:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
                                  "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps,
                                  "adjust_lr_fn": adjust_lr_fn})
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError("Muon only supports 2D parameters whereas we found a parameter with size: "
                                     f"{param.size()}")

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Updates the parameters once.  `closure`, if given, evaluates the model again and returns the loss."""
        loss = _evaluate(closure)
        for group in self.param_groups:
            params, grads, buffers = [], [], []
            for param in group["params"]:
                grad = param.grad
                if grad is None:
                    continue
                if param.is_complex():
                    raise RuntimeError("Muon does not support complex parameters")
                if grad.is_sparse:
                    raise RuntimeError("Muon does not support sparse gradients")
                state = self.state[param]
                if "momentum_buffer" not in state:
                    state["momentum_buffer"] = _zeros_like(grad)
                params.append(param)
                grads.append(grad)
                buffers.append(state["momentum_buffer"])
            muon(params, grads, buffers, has_complex=False,
                 **{name: group[name] for name in ("lr", "weight_decay", "momentum", "nesterov", "ns_coefficients",
                                                   "ns_steps", "eps", "adjust_lr_fn")})
        return loss


def muon(params, grads, muon_momentum_bufs, *, foreach=None, lr, weight_decay, momentum, nesterov, ns_coefficients,
         ns_steps, eps, adjust_lr_fn, has_complex):
    """One step of Muon on lists of matrices, their gradients and their momentum buffers."""
    if foreach:
        raise RuntimeError("Foreach is not supported for Muon yet")
    if has_complex:
        raise ValueError("Complex parameters are not supported")
    lr = _to_scalar(lr)
    for param, grad, buffer in zip(params, grads, muon_momentum_bufs):
        if grad.ndim != 2:
            raise ValueError("Param gradient must be a 2D matrix")
        buffer.lerp_(grad, 1 - momentum)
        update = grad.lerp(buffer, momentum) if nesterov else buffer
        update = _zeropower_via_newtonschulz(update, ns_coefficients, ns_steps, eps)
        param.mul_(1 - lr * weight_decay)
        param.add_(update, alpha=-_adjust_lr(lr, adjust_lr_fn, param.shape))


def _zeropower_via_newtonschulz(grad, ns_coefficients, ns_steps, eps):
    """The orthogonal matrix nearest to `grad`, roughly: its singular values end between about 0.7 and 1.2."""
    if ns_steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if grad.ndim != 2:
        raise ValueError("Input tensor gradient must be a 2D matrix")
    if len(ns_coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = ns_coefficients
    tall = grad.size(0) > grad.size(1)
    x = grad.bfloat16()
    if x is grad:
        x = grad.clone()    # bfloat16 already: the division below must not reach the caller's tensor
    if tall:
        x = x.T
    x.div_(x.norm().clamp(min=eps))
    for _ in range(ns_steps):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _adjust_lr(lr, adjust_lr_fn, param_shape):
    rows, columns = param_shape[:2]
    if adjust_lr_fn == "match_rms_adamw":
        return lr * (0.2 * max(rows, columns) ** 0.5)
    return lr * max(1, rows / columns) ** 0.5
