"""Modules as functions of their parameters, by the path that PyTorch defines them at."""
from kindling.func import functional_call, stack_module_state

__all__ = ["functional_call", "stack_module_state"]
