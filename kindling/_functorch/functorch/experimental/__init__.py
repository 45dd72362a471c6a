"""``functorch.experimental``: what `torch.func` has now."""
from kindling._functorch.apis import chunk_vmap
from kindling.func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_

__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]
