"""Names of torch._higher_order_ops, written by tools/surface.py."""
TABLE = r"""
_higher_order_ops/ auto_functionalized@_higher_order_ops.auto_functionalize
_higher_order_ops.auto_functionalize auto_functionalized?
_higher_order_ops.effects _EffectType@_library.effects:EffectType _register_effectful_op()
_higher_order_ops.inline_asm_elementwise inline_asm_elementwise?
_higher_order_ops.out_dtype out_dtype?
_higher_order_ops.triton_kernel_wrap TritonKernelWrapperFunctional(_higher_order_ops.triton_kernel_wrap:_TritonKernelWrapper) _TritonKernelWrapper(_ops:HigherOrderOperator)
_higher_order_ops.while_loop while_loop()
"""  # noqa: E501
