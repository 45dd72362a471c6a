"""Names of torch._C, written by tools/surface.py."""
TABLE = r"""
_C _DisableTorchDispatch _TorchDispatchModeKey{FUNCTIONAL=2;PROXY=1;FAKE=0} _accelerator_setAllocatorSettings() _cuda_beginAllocateCurrentThreadToPool _cuda_endAllocateToPool _cuda_releasePool _get_dispatch_mode() _get_sdp_priority_order()
_C._autograd DeviceType{CPU=0;CUDA=1;MKLDNN=2;OPENGL=3;OPENCL=4;IDEEP=5;HIP=6;FPGA=7;MAIA=8;XLA=9;Vulkan=10;Metal=11;XPU=12;MPS=13;MTIA=19;Meta=14;HPU=15;VE=16;Lazy=17;IPU=18;PrivateUse1=20} _KinetoEvent _ProfilerResult _top_saved_tensors_default_hooks()
_C._distributed_c10d Reducer _SymmetricMemory _register_process_group()
_C._distributed_rpc PyRRef
_C._nn flatten_dense_tensors() unflatten_dense_tensors()
_C._profiler _EventType{TorchOp=0;Backend=1;Vulkan=2;Allocation=3;PyCall=5;PyCCall=6;Kineto=7} _ExperimentalConfig _ProfilerEvent _TensorMetadata
"""  # noqa: E501
