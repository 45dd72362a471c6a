"""NAdam: Adam with Nesterov momentum."""
import kindling as torch
from kindling.optim.optimizer import (Optimizer, _check_betas, _check_capturable, _check_foreach, _check_lr,
                                      _check_not_negative, _check_steps, _decay, _default_to_fused_or_foreach,
                                      _get_value, _new_scalar, _RuleOptimizer, _to_scalar, _view_as_real, _zeros_like)

__all__ = ["NAdam", "nadam"]


class NAdam(_RuleOptimizer):
    """NAdam (Dozat, 2016): Adam whose step looks ahead by a momentum that grows over the steps.

    `decoupled_weight_decay` shrinks the parameter itself, as AdamW does.  ValueError for options out of range.
    """
    _late_options = {**_RuleOptimizer._late_options, "decoupled_weight_decay": False}
    _scalar_state = ("step", "mu_product")
    _no_sparse = "NAdam does not support sparse gradients"

    def __init__(self, params, lr: float | torch.Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0, momentum_decay: float = 4e-3,
                 decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False):
        _check_lr(lr)
        _check_not_negative(epsilon=eps)
        _check_betas(betas)
        _check_not_negative(weight_decay=weight_decay, momentum_decay=momentum_decay)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
                                  "maximize": maximize, "foreach": foreach, "capturable": capturable,
                                  "differentiable": differentiable})

    def _new_state(self, param, grad, group):
        return {"step": _new_scalar(0.0, param, group), "mu_product": _new_scalar(1.0, param, group),
                "exp_avg": _zeros_like(param), "exp_avg_sq": _zeros_like(param)}

    def _update(self, group, params, grads, states):
        beta1, beta2 = group["betas"]
        nadam(params, grads, [state["exp_avg"] for state in states], [state["exp_avg_sq"] for state in states],
              [state["mu_product"] for state in states], [state["step"] for state in states],
              group["decoupled_weight_decay"], group["foreach"], group["capturable"], group["differentiable"], False,
              group["maximize"], beta1=beta1, beta2=beta2, lr=group["lr"], weight_decay=group["weight_decay"],
              momentum_decay=group["momentum_decay"], eps=group["eps"])


def nadam(params, grads, exp_avgs, exp_avg_sqs, mu_products, state_steps, decoupled_weight_decay=False, foreach=None,
          capturable=False, differentiable=False, has_complex=False, maximize=False, *, beta1, beta2, lr, weight_decay,
          momentum_decay, eps):
    """One step of NAdam on lists of parameters, gradients and states."""
    _check_steps(state_steps)
    _check_steps(mu_products, "mu_products")
    if foreach is None:
        _, foreach = _default_to_fused_or_foreach(params, differentiable)
    if not params:
        return
    if foreach:
        _check_foreach(differentiable)
    if capturable:
        _check_capturable(params, mu_products, state_steps, names=", mu_products and state_steps",
                          supports_xla=not foreach)
    if foreach and not capturable:
        _multi_tensor_nadam(params, grads, exp_avgs, exp_avg_sqs, mu_products, state_steps, beta1, beta2,
                            _to_scalar(lr), weight_decay, momentum_decay, eps, decoupled_weight_decay, maximize)
    else:
        _single_tensor_nadam(params, grads, exp_avgs, exp_avg_sqs, mu_products, state_steps, beta1, beta2,
                             _to_scalar(lr), weight_decay, momentum_decay, eps, decoupled_weight_decay, maximize,
                             capturable, differentiable)


def _single_tensor_nadam(params, grads, exp_avgs, exp_avg_sqs, mu_products, state_steps, beta1, beta2, lr, weight_decay,
                         momentum_decay, eps, decoupled_weight_decay, maximize, capturable, differentiable):
    for param, grad, exp_avg, exp_avg_sq, mu_product, step in zip(params, grads, exp_avgs, exp_avg_sqs, mu_products,
                                                                  state_steps):
        if maximize:
            grad = -grad
        if param.is_complex():
            param, grad, exp_avg, exp_avg_sq = map(torch.view_as_real, (param, grad, exp_avg, exp_avg_sq))
        step += 1
        count = step if capturable else step.item()
        if weight_decay != 0:
            if decoupled_weight_decay:
                param.mul_(1 - lr * weight_decay)
            else:
                grad = grad.add(param, alpha=weight_decay)
        mu = beta1 * (1.0 - 0.5 * (0.96 ** (count * momentum_decay)))
        mu_next = beta1 * (1.0 - 0.5 * (0.96 ** ((count + 1) * momentum_decay)))
        mu_product *= mu
        exp_avg.lerp_(grad, 1 - beta1)
        exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        denom = exp_avg_sq.div(1 - beta2 ** count).sqrt()
        if differentiable or capturable:
            denom = denom.add(eps)
            grad = grad * (-lr * (1.0 - mu) / (1.0 - mu_product))
            ahead = exp_avg * (-lr * mu_next / (1.0 - mu_product * mu_next))
            param.addcdiv_(grad, denom)
            param.addcdiv_(ahead, denom)
        else:
            product = mu_product.item()
            denom.add_(eps)
            param.addcdiv_(grad, denom, value=(-lr * (1.0 - mu) / (1.0 - product)))
            param.addcdiv_(exp_avg, denom, value=(-lr * mu_next) / (1.0 - product * mu_next))


def _multi_tensor_nadam(params, grads, exp_avgs, exp_avg_sqs, mu_products, state_steps, beta1, beta2, lr, weight_decay,
                        momentum_decay, eps, decoupled_weight_decay, maximize):
    lr = _get_value(lr)
    for (params, grads, exp_avgs, exp_avg_sqs, products, steps), _ in Optimizer._group_tensors_by_device_and_dtype(
            [params, grads, exp_avgs, exp_avg_sqs, mu_products, state_steps]).values():
        _view_as_real(params, grads, exp_avgs, exp_avg_sqs)
        torch._foreach_add_(steps, 1)
        if decoupled_weight_decay and weight_decay != 0:
            torch._foreach_mul_(params, 1 - lr * weight_decay)
            grads, _ = _decay(params, grads, 0, maximize)
        else:
            grads, _ = _decay(params, grads, weight_decay, maximize)
        torch._foreach_lerp_(exp_avgs, grads, 1 - beta1)
        torch._foreach_mul_(exp_avg_sqs, beta2)
        torch._foreach_addcmul_(exp_avg_sqs, grads, grads, 1 - beta2)
        denoms = torch._foreach_sqrt(exp_avg_sqs)
        counts = [step.item() for step in steps]
        mus = [beta1 * (1.0 - 0.5 * (0.96 ** (count * momentum_decay))) for count in counts]
        mu_nexts = [beta1 * (1.0 - 0.5 * (0.96 ** ((count + 1) * momentum_decay))) for count in counts]
        torch._foreach_mul_(products, mus)
        torch._foreach_div_(denoms, [(1 - beta2 ** count) ** 0.5 for count in counts])
        torch._foreach_add_(denoms, eps)
        values = [product.item() for product in products]
        torch._foreach_addcdiv_(params, grads, denoms,
                                [(lr * (1.0 - mu) / (1.0 - value)) * -1 for value, mu in zip(values, mus)])
        torch._foreach_addcdiv_(params, exp_avgs, denoms,
                                [(lr * mu_next / (1.0 - value * mu_next)) * -1
                                 for value, mu_next in zip(values, mu_nexts)])
