"""Names of torch._jit_internal, written by tools/surface.py."""
TABLE = r"""
_jit_internal FunctionModifiers _copy_to_script_wrapper() _overload() _overload_method() boolean_dispatch() export() ignore() is_dict() is_list() is_optional() is_static_fn() is_tuple() is_union() should_drop() unused()
"""  # noqa: E501
