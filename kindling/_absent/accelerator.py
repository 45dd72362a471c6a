"""Names of torch.accelerator, written by tools/surface.py."""
TABLE = r"""
accelerator/ Graph@accelerator.graphs
accelerator.graphs Graph:capture_begin,capture_end,debug_dump,enable_debug_mode,instantiate,pool,replay,reset
accelerator.memory empty_cache() empty_host_cache() get_memory_info() max_memory_allocated() max_memory_reserved() memory_allocated() memory_reserved() memory_stats() reset_accumulated_memory_stats() reset_peak_memory_stats()
"""  # noqa: E501
