"""The levels of transforms that are open, as objects."""
from kindling._functorch import _native
from kindling._functorch._native import TransformType

__all__ = ["FuncTorchInterpreter", "FunctionalizeInterpreter", "GradInterpreter", "JvpInterpreter", "TransformType", "VmapInterpreter", "coerce_cinterpreter",
           "compare_functorch_state", "retrieve_all_functorch_interpreters", "retrieve_current_functorch_interpreter"]


class FuncTorchInterpreter:
    """One level: its kind and its number."""

    def __init__(self, cptr):
        self._cptr = cptr

    def level(self):
        return self._cptr.level()

    def key(self):
        return self._cptr.key()

    def get_state(self):
        return self.key().name, self.level()

    def check_state(self, state):
        return state == self.get_state()


class VmapInterpreter(FuncTorchInterpreter):
    def batch_size(self):
        return self._cptr.batchSize()

    def randomness(self):
        return self._cptr.randomness().name.lower()

    def get_state(self):
        return *super().get_state(), self.randomness()


class GradInterpreter(FuncTorchInterpreter):
    def prev_grad_mode(self):
        """Whether graphs were recorded around the level."""
        return self._cptr.prevGradMode()

    def get_state(self):
        return *super().get_state(), self.prev_grad_mode()


class JvpInterpreter(FuncTorchInterpreter):
    pass


class FunctionalizeInterpreter(FuncTorchInterpreter):
    pass


_KINDS = {TransformType.Vmap: (VmapInterpreter, _native.CVmapInterpreterPtr), TransformType.Grad: (GradInterpreter, _native.CGradInterpreterPtr),
          TransformType.Jvp: (JvpInterpreter, _native.CJvpInterpreterPtr),
          TransformType.Functionalize: (FunctionalizeInterpreter, _native.CFunctionalizeInterpreterPtr)}


def coerce_cinterpreter(cinterpreter):
    shown, native = _KINDS[cinterpreter.key()]
    return shown(native(cinterpreter))


def retrieve_current_functorch_interpreter():
    interpreter = _native.peek_interpreter_stack()
    assert interpreter is not None, "no transform of a function is open"
    return coerce_cinterpreter(interpreter)


def retrieve_all_functorch_interpreters():
    """All open levels, the outermost first."""
    return [coerce_cinterpreter(each) for each in _native.get_interpreter_stack() or ()]


def compare_functorch_state(states):
    """Whether the open levels are those whose states were taken."""
    levels = retrieve_all_functorch_interpreters()
    return len(levels) == len(states) and all(level.check_state(state) for level, state in zip(levels, states))
