"""Names of torch._prims_common, written by tools/surface.py."""
TABLE = r"""
_prims_common/ DeviceLikeType~ canonicalize_dims() compute_required_storage_length() get_computation_dtype() is_contiguous_or_false() make_contiguous_strides_for() suggest_memory_format()
_prims_common.wrappers _maybe_convert_to_dtype()
"""  # noqa: E501
