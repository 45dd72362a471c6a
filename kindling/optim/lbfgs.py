"""L-BFGS."""
import kindling as torch
from kindling.optim.optimizer import Optimizer, _check_lr, _evaluate, _to_scalar, _use_grad_for_differentiable

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """L-BFGS: quasi-Newton steps from the last `history_size` changes of the gradient.

    `step` needs a closure that evaluates the model and returns the loss, and calls it up to `max_eval` times.
    `line_search_fn` is None (steps of length `lr`) or "strong_wolfe".  One parameter group only; ValueError otherwise.
    """

    def __init__(self, params, lr: float | torch.Tensor = 1, max_iter: int = 20, max_eval: int | None = None, tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9,
                 history_size: int = 100, line_search_fn: str | None = None):
        _check_lr(lr)
        super().__init__(params, {"lr": lr, "max_iter": max_iter,
                                  "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                                  "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
                                  "history_size": history_size, "line_search_fn": line_search_fn})
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]
        self._numel_cache = None

    # ---- the parameters and gradients as one vector

    def _numel(self):
        if self._numel_cache is None:
            self._numel_cache = sum(param.numel() * (2 if param.is_complex() else 1) for param in self._params)
        return self._numel_cache

    def _gather_flat_grad(self):
        flat = []
        for param in self._params:
            grad = param.grad
            if grad is None:
                grad = param.new_zeros(param.numel())
            elif grad.is_sparse:
                grad = grad.to_dense()
            grad = grad.view(-1)
            flat.append(torch.view_as_real(grad).view(-1) if grad.is_complex() else grad)
        return torch.cat(flat, 0)

    def _add_grad(self, step_size, update):
        offset = 0
        for param in self._params:
            if param.is_complex():
                param = torch.view_as_real(param)
            numel = param.numel()
            param.add_(update[offset:offset + numel].view_as(param), alpha=step_size)
            offset += numel

    def _clone_param(self):
        return [param.clone(memory_format=torch.contiguous_format) for param in self._params]

    def _set_param(self, values):
        for param, value in zip(self._params, values):
            param.copy_(value)

    def _directional_evaluate(self, closure, x, t, d):
        """Loss and gradient at x + t * d; the parameters are put back to x."""
        self._add_grad(t, d)
        loss = float(closure())
        gradient = self._gather_flat_grad()
        self._set_param(x)
        return loss, gradient

    # ---- the step

    @_use_grad_for_differentiable
    def step(self, closure):
        """Takes up to `max_iter` quasi-Newton steps; returns the loss before the first of them."""
        group = self.param_groups[0]
        lr, max_iter, max_eval = _to_scalar(group["lr"]), group["max_iter"], group["max_eval"]
        tolerance_grad, tolerance_change = group["tolerance_grad"], group["tolerance_change"]
        line_search = group["line_search_fn"]
        # Under the first parameter, because state is kept by parameter.
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        def evaluate():
            return _evaluate(closure)

        first_loss = evaluate()
        loss = float(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        gradient = self._gather_flat_grad()
        if gradient.abs().max() <= tolerance_grad:
            return first_loss
        history = _History(state, group["history_size"])
        direction, length = state.get("d"), state.get("t")
        old_gradient, old_loss = state.get("prev_flat_grad"), state.get("prev_loss")
        iteration = 0
        while iteration < max_iter:
            iteration += 1
            state["n_iter"] += 1
            first = state["n_iter"] == 1
            if first:
                direction = gradient.neg()
                history.clear()
            else:
                history.append(gradient.sub(old_gradient), direction.mul(length))
                direction = history.direction(gradient)
            if old_gradient is None:
                old_gradient = gradient.clone(memory_format=torch.contiguous_format)
            else:
                old_gradient.copy_(gradient)
            old_loss = loss
            length = min(1.0, 1.0 / gradient.abs().sum()) * lr if first else lr
            slope = gradient.dot(direction)
            if slope > -tolerance_change:
                break
            new_evaluations = 0
            flat = False
            if line_search is not None:
                if line_search != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                start = self._clone_param()
                loss, gradient, length, new_evaluations = _strong_wolfe(
                    lambda x, t, d: self._directional_evaluate(evaluate, x, t, d), start, length, direction, loss,
                    gradient, slope, max_ls=max_eval - evaluations)
                self._add_grad(length, direction)
                flat = gradient.abs().max() <= tolerance_grad
            else:
                self._add_grad(length, direction)
                # After the last step nobody asks for the gradient, so the evaluation is saved.
                if iteration != max_iter:
                    loss = float(evaluate())
                    gradient = self._gather_flat_grad()
                    flat = gradient.abs().max() <= tolerance_grad
                    new_evaluations = 1
            evaluations += new_evaluations
            state["func_evals"] += new_evaluations
            if (iteration == max_iter or evaluations >= max_eval or flat
                    or direction.mul(length).abs().max() <= tolerance_change
                    or abs(loss - old_loss) < tolerance_change):
                break
        state["d"], state["t"] = direction, length
        history.save()
        state["prev_flat_grad"], state["prev_loss"] = old_gradient, old_loss
        return first_loss


class _History:
    """The last changes of gradient and parameters, and the approximate inverse Hessian that they give."""

    def __init__(self, state, size):
        self.state, self.size = state, size
        self.gradients, self.steps, self.inverses = state.get("old_dirs"), state.get("old_stps"), state.get("ro")
        self.diagonal = state.get("H_diag")

    def save(self):
        self.state["old_dirs"], self.state["old_stps"], self.state["ro"] = self.gradients, self.steps, self.inverses
        self.state["H_diag"] = self.diagonal

    def clear(self):
        self.gradients, self.steps, self.inverses, self.diagonal = [], [], [], 1

    def append(self, gradient_change, step):
        curvature = gradient_change.dot(step)
        if curvature <= 1e-10:
            return      # not convex along this step: it would spoil the approximation
        if len(self.gradients) == self.size:
            for kept in (self.gradients, self.steps, self.inverses):
                kept.pop(0)
        self.gradients.append(gradient_change)
        self.steps.append(step)
        self.inverses.append(1.0 / curvature)
        self.diagonal = curvature / gradient_change.dot(gradient_change)

    def direction(self, gradient):
        """Minus the approximate inverse Hessian times the gradient, by the two-loop recursion."""
        count = len(self.gradients)
        factors = self.state.setdefault("al", [None] * self.size)
        q = gradient.neg()
        for index in range(count - 1, -1, -1):
            factors[index] = self.steps[index].dot(q) * self.inverses[index]
            q.add_(self.gradients[index], alpha=-factors[index])
        result = torch.mul(q, self.diagonal)
        for index in range(count):
            back = self.gradients[index].dot(result) * self.inverses[index]
            result.add_(self.steps[index], alpha=factors[index] - back)
        return result


def _cubic_interpolate(x1, f1, g1, x2, f2, g2, bounds=None):
    """Where the cubic through two points with slopes has its minimum, kept within bounds (by default the points)."""
    lowest, highest = bounds or ((x1, x2) if x1 <= x2 else (x2, x1))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 ** 2 - g1 * g2
    if not square >= 0:
        return (lowest + highest) / 2.0
    d2 = square.sqrt()
    if x1 <= x2:
        position = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        position = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(position, lowest), highest)


class _Point:
    """A point on the line: step length, loss, gradient and slope along the line."""
    __slots__ = ("t", "loss", "gradient", "slope")

    def __init__(self, t, loss, gradient, slope):
        self.t, self.loss, self.gradient, self.slope = t, loss, gradient, slope


def _strong_wolfe(evaluate, x, t, d, loss, gradient, slope, c1=1e-4, c2=0.9, tolerance_change=1e-9, max_ls=25):
    """A step length that meets the strong Wolfe conditions (Nocedal and Wright, algorithms 3.5 and 3.6).

    Returns loss, gradient and length there, and the number of evaluations.
    """
    largest = d.abs().max()

    def at(length):
        new_loss, new_gradient = evaluate(x, length, d)
        return _Point(length, new_loss, new_gradient, new_gradient.dot(d))

    start = _Point(0, loss, gradient.clone(memory_format=torch.contiguous_format), slope)
    before, new = start, at(t)
    evaluations, iteration = 1, 0
    bracket, done = None, False
    # Go out until the minimum lies between two points.
    while iteration < max_ls:
        if new.loss > loss + c1 * new.t * slope or (iteration > 1 and new.loss >= before.loss):
            bracket = [before, new]
            break
        if abs(new.slope) <= -c2 * slope:
            bracket, done = [new], True
            break
        if new.slope >= 0:
            bracket = [before, new]
            break
        t = _cubic_interpolate(before.t, before.loss, before.slope, new.t, new.loss, new.slope,
                               bounds=(new.t + 0.01 * (new.t - before.t), new.t * 10))
        before, new = new, at(t)
        evaluations += 1
        iteration += 1
    if bracket is None:
        bracket = [start, new]
    # Then close in.
    low, high = (0, 1) if bracket[0].loss <= bracket[-1].loss else (1, 0)
    stuck = False
    while not done and iteration < max_ls:
        first, second = bracket
        if abs(second.t - first.t) * largest < tolerance_change:
            break
        t = _cubic_interpolate(first.t, first.loss, first.slope, second.t, second.loss, second.slope)
        left, right = min(first.t, second.t), max(first.t, second.t)
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            # Too near to an end twice in a row, or beyond it: no progress, so move a tenth inwards.
            if stuck or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        new = at(t)
        evaluations += 1
        iteration += 1
        if new.loss > loss + c1 * new.t * slope or new.loss >= bracket[low].loss:
            bracket[high] = new
            low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
        else:
            if abs(new.slope) <= -c2 * slope:
                done = True
            elif new.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = new
    best = bracket[low]
    return best.loss, best.gradient, best.t, evaluations
