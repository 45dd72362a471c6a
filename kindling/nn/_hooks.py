"""Where `nn` finds handles and backward hooks: `torch.utils.hooks` defines them."""
from kindling.utils.hooks import BackwardHook, RemovableHandle

__all__ = ["RemovableHandle", "BackwardHook"]
