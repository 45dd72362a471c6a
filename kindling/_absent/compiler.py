"""Names of torch.compiler, written by tools/surface.py."""
TABLE = r"""
compiler/ _is_exporting_flag=False keep_portable_guards_unsafe() keep_tensor_guards_unsafe() load_compiled_function() skip_all_guards_unsafe() skip_guard_on_all_nn_modules_unsafe() skip_guard_on_globals_unsafe() skip_guard_on_inbuilt_nn_modules_unsafe()
compiler._cache CacheArtifactManager _deserialize_single_cache() _serialize_single_cache()
compiler.config accumulated_recompile_limit=256 allow_unspec_int_on_nn_module=False assume_static_by_default=True automatic_dynamic_shapes=True cache_key_tag='' capture_dynamic_output_shape_ops=False capture_scalar_outputs=False dynamic_shapes=True dynamic_sources='' dynamic_values='' enable_cpp_symbolic_shape_guards=False fail_on_recompile_limit_hit=False force_cudagraph_gc=False force_disable_caches=False job_id=None log_file_name=None pgo_extra_read_key=None pgo_extra_write_key=None recompile_limit=8 reorderable_logging_functions=set() skip_tensor_guards_with_matching_dict_tags=True unbacked_sources='' verbose=False wrap_top_frame=False
"""  # noqa: E501
