"""Names of torch.profiler, written by tools/surface.py."""
TABLE = r"""
profiler/ ExecutionTraceObserver@profiler.profiler
profiler._utils _init_for_cuda_graphs()
profiler.itt is_available() mark() range() range_pop() range_push()
profiler.profiler ExecutionTraceObserver(profiler.profiler:_ITraceObserver):build_execution_trace_obs_from_env,cleanup,get_output_file_path,get_resources_dir,get_resources_dir_for_et_path,*is_registered,is_running,register_callback,set_extra_resource_collection,start,stop,unregister_callback ProfilerAction{NONE=0;WARMUP=1;RECORD=2;RECORD_AND_SAVE=3;DEVICE_STOPPED=4} _ITraceObserver:cleanup,start,stop _KinetoProfile:add_metadata,add_metadata_json,events,export_chrome_trace,export_memory_timeline,export_stacks,key_averages,prepare_trace,preset_metadata_json,start,start_trace,stop,stop_trace,toggle_collection_dynamic _default_schedule_fn() profile(profiler.profiler:_KinetoProfile):get_trace_id,set_custom_trace_id_callback,start,step,stop schedule() supported_activities() tensorboard_trace_handler()
profiler.python_tracer
"""  # noqa: E501
