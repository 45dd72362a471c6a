"""Names of torch.mps, written by tools/surface.py."""
TABLE = r"""
mps/ compile_shader() load_metallib()
mps.event Event:elapsed_time,query,record,synchronize,wait
mps.profiler is_capturing_metal() is_metal_capture_enabled() metal_capture() profile() start() stop()
"""  # noqa: E501
