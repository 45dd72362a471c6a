"""Names of torch.mtia, written by tools/surface.py."""
TABLE = r"""
mtia/ attach_out_of_memory_observer() current_device() current_stream() default_stream() empty_cache() get_device_capability() get_device_properties() get_rng_state() get_rng_state_all() graph_pool_handle@mtia.mtia_graph init() initial_seed() is_bf16_supported() max_memory_allocated@mtia.memory memory_allocated@mtia.memory memory_stats@mtia.memory record_memory_history() reset_peak_memory_stats@mtia.memory seed() seed_all() set_device() set_rng_state() set_rng_state_all() set_stream() snapshot() synchronize()
mtia.memory max_memory_allocated() memory_allocated() memory_stats() reset_peak_memory_stats()
mtia.mtia_graph MTIAGraph:capture_begin,capture_end,instantiate,pool,replay,reset graph graph_pool_handle()
"""  # noqa: E501
