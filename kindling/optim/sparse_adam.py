"""Adam for sparse gradients of dense parameters."""
import kindling as torch
from kindling.optim.optimizer import (Optimizer, _check_betas, _check_lr, _evaluate, _to_scalar,
                                      _use_grad_for_differentiable, _zeros_like)

__all__ = ["SparseAdam", "sparse_adam"]


class SparseAdam(Optimizer):
    """Adam that moves only the elements present in a sparse gradient, and only their running means.

    ValueError for options out of range and for sparse or complex parameters; RuntimeError in `step` for a dense
    gradient.
    """

    def __init__(self, params, lr: float | torch.Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, maximize: bool = False):
        _check_lr(lr)
        if not 0.0 < lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        _check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        places = [([index, at], param) for index, group in enumerate(self.param_groups)
                  for at, param in enumerate(group["params"])]
        if sparse := [place for place, param in places if param.is_sparse]:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        if unreal := [place for place, param in places if param.is_complex()]:
            raise ValueError(f"Complex params at indices {unreal}: SparseAdam does not support complex parameters")

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Updates the parameters once.  `closure`, if given, evaluates the model again and returns the loss."""
        loss = _evaluate(closure)
        for group in self.param_groups:
            params, grads, exp_avgs, exp_avg_sqs, steps = [], [], [], [], []
            for param in group["params"]:
                grad = param.grad
                if grad is None:
                    continue
                if not grad.is_sparse:
                    raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
                state = self.state[param]
                if not state:
                    state.update(step=0, exp_avg=_zeros_like(param), exp_avg_sq=_zeros_like(param))
                state["step"] += 1
                params.append(param)
                grads.append(grad)
                exp_avgs.append(state["exp_avg"])
                exp_avg_sqs.append(state["exp_avg_sq"])
                steps.append(state["step"])
            beta1, beta2 = group["betas"]
            sparse_adam(params, grads, exp_avgs, exp_avg_sqs, steps, eps=group["eps"], beta1=beta1, beta2=beta2,
                        lr=_to_scalar(group["lr"]), maximize=group.get("maximize", False))
        return loss


def sparse_adam(params, grads, exp_avgs, exp_avg_sqs, state_steps, *, eps, beta1, beta2, lr, maximize):
    """One step of SparseAdam on lists of parameters, sparse gradients and states; `state_steps` are numbers."""
    for param, grad, exp_avg, exp_avg_sq, step in zip(params, grads, exp_avgs, exp_avg_sqs, state_steps):
        grad = (-grad if maximize else grad).coalesce()
        indices, values, size = grad._indices(), grad._values(), grad.size()
        if values.numel() == 0:
            continue

        def sparse(update):
            return torch.sparse_coo_tensor(indices, update, size, dtype=grad.dtype, device=grad.device)

        old_avg = exp_avg.sparse_mask(grad)._values()
        change = values.sub(old_avg).mul_(1 - beta1)
        exp_avg.add_(sparse(change))
        old_sq = exp_avg_sq.sparse_mask(grad)._values()
        change_sq = values.pow(2).sub_(old_sq).mul_(1 - beta2)
        exp_avg_sq.add_(sparse(change_sq))
        numer = change.add(old_avg)
        denom = change_sq.add(old_sq).sqrt_().add_(eps)
        step_size = lr * (1 - beta2 ** step) ** 0.5 / (1 - beta1 ** step)
        param.add_(sparse(-step_size * numer.div_(denom)))
