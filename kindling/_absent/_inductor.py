"""Names of torch._inductor, written by tools/surface.py."""
TABLE = r"""
_inductor/ cudagraph_mark_step_begin() list_mode_options()
_inductor.cpu_vec_isa pick_vec_isa()
_inductor.exc InductorError!(_dynamo.exc:BackendCompilerFailed)
_inductor.runtime/
_inductor.runtime.cache_dir_utils cache_dir()
"""  # noqa: E501
