"""Lists of passes, in an order that constraints allow."""
import inspect
from functools import wraps

import kindling as torch
from kindling.fx.passes.infra.pass_base import PassResult

__all__ = ["pass_result_wrapper", "this_before_that_pass_constraint", "PassManager"]


def _name(fn):
    return getattr(fn, "__name__", type(fn).__name__)


def pass_result_wrapper(fn):
    """A function that changes a graph module in place, as a pass that gives a PassResult."""
    if fn is None:
        return None

    @wraps(fn)
    def wrapped(gm):
        result = fn(gm)
        if result is None:
            return PassResult(gm, True)
        if isinstance(result, PassResult):
            return result
        return PassResult(result, True) if isinstance(result, torch.nn.Module) else None

    if not inspect.isfunction(fn):
        wrapped.__name__ = type(fn).__name__
    return wrapped


def this_before_that_pass_constraint(this, that):
    """`that` does not run before `this`."""
    def depends_on(a, b):
        return not (a == that and b == this)

    return depends_on


def _validate_pass_schedule_constraint(constraint, passes):
    for place, one in enumerate(passes):
        for later, other in enumerate(passes[place + 1:], place + 1):
            if not constraint(one, other):
                raise RuntimeError(f"pass schedule constraint violated. Expected {one} before {other} but found {one} at index {place} and "
                                   f"{other} at index{later} in pass list.")


def _topological_sort_passes(passes, constraints):
    """The passes in an order that breaks no constraint."""
    if not constraints:
        return passes
    follows = {each: [] for each in passes}
    waits = dict.fromkeys(passes, 0)
    for one in passes:
        for other in passes:
            if one != other and not all(constraint(one, other) for constraint in constraints):
                # `one` must not come before `other`.
                follows[other].append(one)
                waits[one] += 1
    ready = [each for each in passes if waits[each] == 0]
    order = []
    while ready:
        each = ready.pop(0)
        order.append(each)
        for later in follows[each]:
            waits[later] -= 1
            if waits[later] == 0:
                ready.append(later)
    stuck = [each for each in passes if waits[each] != 0]
    if stuck:
        raise RuntimeError(f"Circular dependency detected within the following passes: {stuck}")
    return order


class PassManager:
    """Runs passes over a graph module, `steps` times or until nothing changes; checks look at it after each."""

    steps = 1

    def __init__(self, passes=None, constraints=None, steps=None, run_checks_after_each_pass=False, suppress_check_failures=False):
        self.passes = list(passes or [])
        self.constraints = list(constraints or [])
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass):
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint):
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self):
        """RuntimeError if the order breaks a constraint."""
        if self._validated:
            return
        for constraint in self.constraints:
            _validate_pass_schedule_constraint(constraint, self.passes)
        self._validated = True

    def solve_constraints(self):
        """Puts the passes into an order that breaks none."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check):
        """A function of the module to be called before and after passes."""
        parameters = inspect.signature(check).parameters
        if len(parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check

    def check(self, module):
        pass

    def __call__(self, module):
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        changed = False
        for _ in range(self.steps):
            modified = False
            for place, each in enumerate(self.passes):
                done = [_name(other) for other in self.passes[:place]]
                try:
                    result = each(module)
                    if not isinstance(result, PassResult) and not hasattr(result, "graph_module"):
                        raise TypeError(f"The result of the pass {_name(each)} should be type PassResult."
                                        "Please wrap it with pass_result_wrapper()")
                    module, modified = result.graph_module, modified or result.modified
                    if isinstance(module, torch.fx.GraphModule):
                        module.recompile()
                    if self.run_checks_after_each_pass:
                        self.check(module)
                except Exception as error:
                    raise Exception(f"An error occurred when running the '{_name(each)}' pass after the following passes: {done}") from error
            changed = changed or modified
            if not modified:
                break
        return PassResult(module, changed)
