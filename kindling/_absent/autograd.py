"""Names of torch.autograd, written by tools/surface.py."""
TABLE = r"""
autograd/ DeviceType{CPU=0;CUDA=1;MKLDNN=2;OPENGL=3;OPENCL=4;IDEEP=5;HIP=6;FPGA=7;MAIA=8;XLA=9;Vulkan=10;Metal=11;XPU=12;MPS=13;MTIA=19;Meta=14;HPU=15;VE=16;Lazy=17;IPU=18;PrivateUse1=20} _disable_profiler() enforce_grad_layout_policy@autograd.grad_mode
autograd.grad_mode enforce_grad_layout_policy(utils._contextlib:_DecoratorContextManager):clone
autograd.gradcheck get_analytical_jacobian() get_numerical_jacobian() get_numerical_jacobian_wrt_specific_input()
autograd.graph _get_grad_fn_or_grad_acc() region_activation_memory_budget() set_override_stale_capture_stream()
autograd.profiler MemRecordsAcc@autograd.profiler_util parse_nvprof_trace()
autograd.profiler_legacy profile:config,export_chrome_trace,export_stacks,key_averages,*self_cpu_time_total,table,total_average
autograd.profiler_util EventMetadata<registers_per_thread;shared_memory;grid;block;priority;blocks_per_sm;warps_per_sm;occupancy;est_occupancy_pct;queued;graph_id;graph_node_id;stream;context;channel;channel_type;bytes;bandwidth_gb_s;collective_name;dtype;in_msg_nelems;out_msg_nelems;in_split_size;out_split_size;global_rank_start;global_rank_stride;group_size;process_group_name;process_group_desc;group_ranks;rank;src_rank;dst_rank;seq;is_async> Kernel<name;device;duration> MemRecordsAcc:in_interval StringTable
"""  # noqa: E501
