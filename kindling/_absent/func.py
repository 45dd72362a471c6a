"""Names of torch.func, written by tools/surface.py."""
TABLE = r"""
func/ debug_unwrap() functional_call() functionalize() grad() grad_and_value() hessian() jacfwd() jacrev() jvp() linearize() rearrange() replace_all_batch_norm_modules_() stack_module_state() vjp() vmap()
"""  # noqa: E501
