"""Names of torch.utils, written by tools/surface.py."""
TABLE = r"""
utils/ ThroughputBenchmark@utils.throughput_benchmark cmake_prefix_path? get_cpp_backtrace@utils.cpp_backtrace swap_tensors()
utils._appending_byte_serializer AppendingByteSerializer BytesWriter
utils._config_module ConfigModule _Config<default;justknob=None;env_name_default=None;env_name_force=None;value_type=None;alias=None;deprecated=False;deprecation_message=None> _ConfigEntry<default;value_type;user_override;justknob=None;env_value_force=None;env_value_default=None;hide=False;alias=None;deprecated=False;deprecation_message=None;_deprecation_warned=False>
utils._ordered_set OrderedSet
utils._pytree Context~ PyTree~ is_structseq_instance() treespec_dumps() treespec_loads()
utils._sympy/
utils._sympy.functions FloorDiv simple_floordiv_gcd()
utils._sympy.numbers IntInfinity
utils._sympy.value_ranges ValueRanges<lower;upper;is_bool;is_int;is_float>
utils._triton has_triton()no
utils.backcompat/ Warning:*enabled,get_enabled,set_enabled broadcast_warning? keepdim_warning?
utils.benchmark/ CallgrindStats@utils.benchmark.utils.valgrind_wrapper.timer_interface CopyIfCallgrind@utils.benchmark.utils.valgrind_wrapper.timer_interface FunctionCount@utils.benchmark.utils.valgrind_wrapper.timer_interface FunctionCounts@utils.benchmark.utils.valgrind_wrapper.timer_interface
utils.benchmark.examples/
utils.benchmark.examples.compare FauxTorch:add,cat,extra_overhead,matmul,mul main()
utils.benchmark.examples.fuzzer main()
utils.benchmark.examples.op_benchmark BinaryOpFuzzer@utils.benchmark.op_fuzzers.binary Timer@utils.benchmark.utils.timer UnaryOpFuzzer@utils.benchmark.op_fuzzers.unary assert_dicts_equal() main() run()
utils.benchmark.examples.simple_timeit main()
utils.benchmark.examples.spectral_ops_fuzz_test BENCHMARKS? BENCHMARK_MAP? BENCHMARK_NAMES=['fft_real','fft_complex','ifft','rfft','irfft'] Benchmark<name;function;dtype> DEVICE_NAMES=['cpu','cuda'] SpectralOpFuzzer@utils.benchmark.op_fuzzers.spectral run_benchmark()
utils.benchmark.op_fuzzers/
utils.benchmark.op_fuzzers.binary BinaryOpFuzzer(utils.benchmark.utils.fuzzer:Fuzzer) FuzzedParameter@utils.benchmark.utils.fuzzer FuzzedTensor@utils.benchmark.utils.fuzzer Fuzzer@utils.benchmark.utils.fuzzer ParameterAlias@utils.benchmark.utils.fuzzer
utils.benchmark.op_fuzzers.sparse_binary BinaryOpSparseFuzzer(utils.benchmark.utils.fuzzer:Fuzzer) FuzzedParameter@utils.benchmark.utils.fuzzer FuzzedSparseTensor@utils.benchmark.utils.sparse_fuzzer Fuzzer@utils.benchmark.utils.fuzzer ParameterAlias@utils.benchmark.utils.fuzzer
utils.benchmark.op_fuzzers.sparse_unary UnaryOpSparseFuzzer(utils.benchmark.utils.fuzzer:Fuzzer)
utils.benchmark.op_fuzzers.spectral SpectralOpFuzzer(utils.benchmark.utils.fuzzer:Fuzzer)
utils.benchmark.op_fuzzers.unary FuzzedParameter@utils.benchmark.utils.fuzzer FuzzedTensor@utils.benchmark.utils.fuzzer Fuzzer@utils.benchmark.utils.fuzzer ParameterAlias@utils.benchmark.utils.fuzzer UnaryOpFuzzer(utils.benchmark.utils.fuzzer:Fuzzer)
utils.benchmark.utils._stubs CallgrindModuleType TimeitModuleType
utils.benchmark.utils.compile
utils.benchmark.utils.cpp_jit COMPAT_CALLGRIND_BINDINGS=None CONDA_PREFIX=None CXX_FLAGS? CallgrindModuleType@utils.benchmark.utils._stubs EXTRA_INCLUDE_PATHS? SOURCE_ROOT? TimeitModuleType@utils.benchmark.utils._stubs compile_callgrind_template() compile_timeit_template() get_compat_bindings()
utils.benchmark.utils.valgrind_wrapper/
utils.benchmark.utils.valgrind_wrapper.timer_interface CallgrindStats<task_spec;number_per_run;built_with_debug_symbols;baseline_inclusive_stats;baseline_exclusive_stats;stmt_inclusive_stats;stmt_exclusive_stats;stmt_callgrind_out> CopyIfCallgrind:*serialization,*setup,unwrap_all,*value FunctionCount<count;function> FunctionCounts<_data;inclusive;truncate_rows=True;_linewidth=None>
utils.bundled_inputs InflatableArg<value;fmt=None;fmt_fn=''> ListType@. MAX_RAW_TENSOR_SIZE=16 T~ TupleType@. augment_many_model_functions_with_bundled_inputs() augment_model_with_bundled_inputs() bundle_inputs() bundle_large_tensor() bundle_randn() wrap_cpp_module@jit._recursive
utils.checkpoint ContextManager~ContextManager GraphExecGroup _CachedTorchDispatchMode(utils._python_dispatch:TorchDispatchMode):ignore_compile_internals _CachingTorchDispatchMode(utils._python_dispatch:TorchDispatchMode):ignore_compile_internals _DEFAULT_DETERMINISM_MODE='default' _checkpoint_without_reentrant_generator() _get_autocast_kwargs() _get_device_module() _infer_device_type() contextlib?
utils.collect_env COMMON_PATTERNS=['torch','numpy','triton','optree'] CONDA_PATTERNS=['cudatoolkit','soumith','mkl','magma'] NVIDIA_PATTERNS=['cuda-cudart','cuda-cupti','cuda-libraries','cuda-opencl','cuda-nvrtc','cuda-runtime','cublas','cudnn','cufft','curand','cusolver','cusparse','nccl','nvjitlink','nvtx'] ONEAPI_PATTERNS? PIP_PATTERNS=['mypy','flake8','onnx'] SystemEnv<torch_version;is_debug_build;cuda_compiled_version;gcc_version;clang_version;cmake_version;os;libc_version;python_version;python_platform;is_cuda_available;cuda_runtime_version;cuda_module_loading;nvidia_driver_version;nvidia_gpu_models;cudnn_version;is_xpu_available;pip_version;pip_packages;conda_packages;hip_compiled_version;hip_runtime_version;miopen_runtime_version;caching_allocator_config;is_xnnpack_available;cpu_info> TORCH_AVAILABLE=True check_release_file() env_info_fmt? get_cachingallocator_config() get_clang_version() get_cmake_version() get_conda_packages() get_cpu_info() get_cuda_module_loading_config() get_cudnn_version() get_env_info() get_gcc_version() get_gpu_info() get_intel_gpu_detected() get_intel_gpu_driver_version() get_intel_gpu_onboard() get_libc_version() get_linux_pkg_version() get_lsb_version() get_mac_version() get_nvidia_driver_version() get_nvidia_smi() get_os() get_pip_packages() get_platform() get_pretty_env_info() get_python_platform() get_running_cuda_version() get_windows_version() is_xnnpack_available() main() pretty_str() run() run_and_parse_first_match() run_and_read_all() run_and_return_first_line()
utils.cpp_backtrace get_cpp_backtrace()
utils.cpp_extension BuildExtension:build_extensions,finalize_options,get_export_symbols,get_ext_filename,with_options COMMON_NVCC_FLAGS=['-D__CUDA_NO_HALF_OPERATORS__','-D__CUDA_NO_HALF_CONVERSIONS__','-D__CUDA_NO_BFLOAT16_CONVERSIONS__','-D__CUDA_NO_HALF2_OPERATORS__','--expt-relaxed-constexpr'] CUDAExtension() CUDA_HOME=None CppExtension() ROCM_HOME=None SyclExtension() check_compiler_is_gcc() check_compiler_ok_for_platform() get_compiler_abi_compatibility_and_version() get_cxx_compiler() get_default_build_root() include_paths() is_ninja_available() library_paths() load() load_inline() remove_extension_h_precompiler_headers() verify_ninja_availability()
utils.data._utils/ HAS_NUMPY=True python_exit_status=False
utils.data._utils.pin_memory _pin_memory_loop()
utils.data._utils.signal_handling _remove_worker_pids() _set_SIGCHLD_handler() _set_worker_pids() _set_worker_signal_handlers()
utils.data._utils.worker ManagerWatchdog _worker_info=None
utils.data.backward_compatibility worker_init_fn()
utils.data.dataloader _collate_fn_t? _sharding_worker_init_fn() _worker_init_fn_t?
utils.data.datapipes.dataframe/ CaptureDataFrame@utils.data.datapipes.dataframe.dataframes DFIterDataPipe@utils.data.datapipes.datapipe DataFramesAsTuplesPipe@utils.data.datapipes.dataframe.datapipes
utils.data.datapipes.dataframe.dataframe_wrapper PandasWrapper:concat,create_dataframe,get_columns,get_item,get_len,is_column,is_dataframe,iterate concat() create_dataframe() default_wrapper@utils.data.datapipes.dataframe.dataframe_wrapper:PandasWrapper get_columns() get_df_wrapper() get_item() get_len() is_column() is_dataframe() iterate() set_df_wrapper()
utils.data.datapipes.dataframe.dataframes Capture:apply_ops_2,*columns CaptureA(utils.data.datapipes.dataframe.dataframes:CaptureF):execute CaptureAdd(utils.data.datapipes.dataframe.dataframes:Capture):execute CaptureCall(utils.data.datapipes.dataframe.dataframes:Capture):execute CaptureControl CaptureDataFrame(utils.data.datapipes.dataframe.dataframes:CaptureInitial) CaptureDataFrameWithDataPipeOps(utils.data.datapipes.dataframe.dataframes:CaptureDataFrame):as_datapipe,batch,collate,filter,groupby,raw_iterator,shuffle CaptureF(utils.data.datapipes.dataframe.dataframes:Capture) CaptureGetAttr(utils.data.datapipes.dataframe.dataframes:Capture):execute CaptureGetItem(utils.data.datapipes.dataframe.dataframes:Capture):execute CaptureInitial(utils.data.datapipes.dataframe.dataframes:CaptureVariable) CaptureLikeMock CaptureMul(utils.data.datapipes.dataframe.dataframes:Capture):execute CaptureSetItem(utils.data.datapipes.dataframe.dataframes:Capture):execute CaptureSub(utils.data.datapipes.dataframe.dataframes:Capture):execute CaptureVariable(utils.data.datapipes.dataframe.dataframes:Capture):apply_ops,execute CaptureVariableAssign(utils.data.datapipes.dataframe.dataframes:CaptureF):execute DataFrameTracedOps(utils.data.datapipes.datapipe:DFIterDataPipe) DataFrameTracer(utils.data.datapipes.dataframe.dataframes:CaptureDataFrameWithDataPipeOps;utils.data.datapipes.datapipe:IterDataPipe):is_shardable,set_shuffle_settings disable_capture() get_val()
utils.data.datapipes.dataframe.datapipes ConcatDataFramesPipe(utils.data.datapipes.datapipe:DFIterDataPipe) DataFramesAsTuplesPipe(utils.data.datapipes.datapipe:IterDataPipe) ExampleAggregateAsDataFrames(utils.data.datapipes.datapipe:DFIterDataPipe) FilterDataFramesPipe(utils.data.datapipes.datapipe:DFIterDataPipe) PerRowDataFramesPipe(utils.data.datapipes.datapipe:DFIterDataPipe) ShuffleDataFramesPipe(utils.data.datapipes.datapipe:DFIterDataPipe)
utils.data.datapipes.dataframe.structures DataChunkDF(utils.data.datapipes.datapipe:DataChunk)
utils.data.datapipes.datapipe _DataPipeSerializationWrapper _IterDataPipeSerializationWrapper(utils.data.datapipes.datapipe:_DataPipeSerializationWrapper;utils.data.datapipes.datapipe:IterDataPipe) _MapDataPipeSerializationWrapper(utils.data.datapipes.datapipe:_DataPipeSerializationWrapper;utils.data.datapipes.datapipe:MapDataPipe)
utils.data.datapipes.utils.decoder Decoder:add_handler,decode,decode1 ImageHandler MatHandler audiohandler() basichandlers() extension_extract_fn() handle_extension() imagehandler() mathandler() videohandler()
utils.data.datapipes.utils.snapshot IterDataPipe@utils.data.datapipes.datapipe apply_random_seed@utils.data.graph_settings
utils.debug_log debug_grad_log()
utils.deterministic fill_uninitialized_memory=True
utils.file_baton FileBaton:release,try_acquire,wait
utils.flop_counter _unpack_flash_attention_nested_shapes()
utils.hipify/
utils.hipify.constants API_BLAS=39 API_C10=1339 API_CAFFE2=1338 API_DRIVER=37 API_FFT=43 API_LAST=42 API_PYTORCH=1337 API_PYT_EXT=46 API_RAND=41 API_ROCMSMI=1340 API_ROCTX=45 API_RTC=44 API_RUNTIME=38 API_SPECIAL=40 CONV_CACHE=15 CONV_CONTEXT=12 CONV_COORD_FUNC=5 CONV_D3D10=25 CONV_D3D11=26 CONV_D3D9=24 CONV_DEF=18 CONV_DEVICE=2 CONV_DEVICE_FUNC=7 CONV_EGL=28 CONV_ERROR=17 CONV_EVENT=10 CONV_EXEC=16 CONV_GL=20 CONV_GRAPHICS=21 CONV_INCLUDE=31 CONV_INCLUDE_CUDA_MAIN_H=32 CONV_INIT=1 CONV_JIT=23 CONV_KERN=4 CONV_LAST=36 CONV_LITERAL=34 CONV_MATH_FUNC=6 CONV_MEM=3 CONV_MODULE=14 CONV_NUMERIC_LITERAL=35 CONV_OCCUPANCY=11 CONV_OTHER=30 CONV_PEER=13 CONV_SPECIAL_FUNC=8 CONV_STREAM=9 CONV_SURFACE=22 CONV_TEX=19 CONV_THREAD=29 CONV_TYPE=33 CONV_VDPAU=27 CONV_VERSION=(0,) HIP_UNSUPPORTED=47
utils.hipify.cuda_to_hip_mappings C10_MAPPINGS? CAFFE2_PATH_MAPPINGS? CAFFE2_SPECIFIC_MAPPINGS? CUDA_IDENTIFIER_MAP? CUDA_INCLUDE_MAP? CUDA_SPECIAL_MAP? CUDA_TO_HIP_MAPPINGS? CUDA_TYPE_NAME_MAP? MATH_TRANSPILATIONS? PYTORCH_SPECIFIC_MAPPINGS?
utils.hipify.hipify_python CurrentState{INITIALIZED=1;DONE=2} GeneratedFileCleaner:makedirs,open HipifyResult InputError!(Exception) Trie:add,dump,export_to_regex,pattern,quote,search add_dim3() bcolors compute_stats() extract_arguments() file_add_header() file_specific_replacement() find_bracket_group() find_closure_group() find_parentheses_group() fix_static_global_kernels() get_hip_file_path() hip_header_magic() hipify() is_caffe2_gpu_file() is_cusparse_file() is_out_of_place() is_pytorch_file() is_special_file() match_extensions() matched_files_iter() openf() preprocess_file_and_save_result() preprocessor() processKernelLaunches() replace_extern_shared() replace_math_functions() str2bool()
utils.hipify.version
utils.jit/
utils.jit.log_extract Timer@utils.benchmark.utils.timer extract_ir() load_graph_and_inputs() make_tensor_from_type() no_fuser() run_baseline_no_fusion() run_nnc() run_nvfuser() run_test() time_cpu() time_cuda()
utils.mkldnn MkldnnBatchNorm(jit._script:ScriptModule) MkldnnConv1d(utils.mkldnn:_MkldnnConvNd) MkldnnConv2d(utils.mkldnn:_MkldnnConvNd) MkldnnConv3d(utils.mkldnn:_MkldnnConvNd) MkldnnLinear(jit._script:ScriptModule) MkldnnPrelu(jit._script:ScriptModule) _MkldnnConvNd(jit._script:ScriptModule) to_mkldnn()
utils.mobile_optimizer LintCode{BUNDLED_INPUT=1;REQUIRES_GRAD=2;DROPOUT=3;BATCHNORM=4} MobileOptimizerType{CONV_BN_FUSION=0;INSERT_FOLD_PREPACK_OPS=1;REMOVE_DROPOUT=2;FUSE_ADD_RELU=3;HOIST_CONV_PACKED_PARAMS=4;VULKAN_AUTOMATIC_GPU_TRANSFER=6} generate_mobile_module_lints() optimize_for_mobile()
utils.model_dump/ burn_in_info() get_info_and_burn_skeleton() get_inline_skeleton() get_model_info() get_storage_info() hierarchical_pickle()
utils.serialization/
utils.serialization.config load? save?
utils.show_pickle DumpUnpickler:dump,find_class,load_binunicode,persistent_load FakeClass:fake_new FakeObject:pp_format main()
utils.throughput_benchmark ExecutionStats:*iters_per_second,*latency_avg_ms,*num_iters,*total_time_seconds ThroughputBenchmark:add_input,benchmark,run_once format_time()
utils.viz/
"""  # noqa: E501
