"""Kindling: a tensor framework with PyTorch's API that starts at once.

``import kindling as torch``, or ``kindling run script.py`` for a program that says ``import torch``. Nothing but the
native core is loaded here: every other name is found at its first use (``__getattr__`` below): operators through the
core's index, submodules and Python functions from their files.
"""
__version__ = "2.13.0+kindling.0.1.0"

import sys as _sys

if __spec__.loader_state is not None:   # bindings/package has run it already
    _importer = _sys.modules["kindling._importer"] = __spec__.loader_state
else:   # an installation in place
    try:
        from kindling import _importer
    except ImportError:
        raise ImportError(f"kindling in {__path__[0]} is built for another Python than {_sys.version.split()[0]}: install it again with this one") from None
    _importer.begin(__spec__)

_import = _importer._import


class _Version(str):
    """A version's text that compares as a version, with texts and with tuples: kindling.torch_version."""
    __slots__ = ()
    __module__, __qualname__ = "kindling.torch_version", "TorchVersion"
    __hash__ = str.__hash__

    def __eq__(self, other):
        return _import("kindling.torch_version").compare(self, other, "__eq__")

    def __lt__(self, other):
        return _import("kindling.torch_version").compare(self, other, "__lt__")

    def __le__(self, other):
        return _import("kindling.torch_version").compare(self, other, "__le__")

    def __gt__(self, other):
        return _import("kindling.torch_version").compare(self, other, "__gt__")

    def __ge__(self, other):
        return _import("kindling.torch_version").compare(self, other, "__ge__")


__version__ = _Version(__version__)


import os as _os


def _native():
    from kindling import _C

    return _C


_options = ("TORCH_USE_RTLD_GLOBAL", "TORCH_USE_GLOBAL_DEPS", "KINDLING_SKIP_NATIVE")
if _sys.platform == "linux" and not any(_os.environ.get(_name, "0") not in ("", "0") for _name in _options):
    try:
        _C = _native()
    except ImportError as _error:
        from kindling._start.bootstrap import explained as _explained

        raise _explained(_error, __path__[0]) from _error
else:
    from kindling._start.bootstrap import load as _load

    _C = _load(__path__[0], _native)

globals().update((name, value) for name, value in vars(_C).items() if name[0] != "_")

pi = 3.141592653589793
e = 2.718281828459045
inf = 1e999
nan = inf - inf
newaxis = None

# Names that Python files define, by file. A name in one of them wins over an operator of the same name.
_FILES = {
    "functional": "atleast_1d atleast_2d atleast_3d align_tensors block_diag broadcast_shapes broadcast_tensors cartesian_prod "
                  "cdist chain_matmul einsum lu meshgrid nonzero norm split stft istft tensordot unique unique_consecutive "
                  "unravel_index _grouped_mm",
    "_face.functions": "is_tensor is_storage typename set_default_tensor_type set_default_dtype get_default_device set_default_device "
             "get_default_device_scope set_printoptions "
             "get_num_threads set_num_threads get_num_interop_threads set_num_interop_threads use_deterministic_algorithms "
             "are_deterministic_algorithms_enabled is_deterministic_algorithms_warn_only_enabled "
             "set_deterministic_debug_mode get_deterministic_debug_mode set_float32_matmul_precision "
             "get_float32_matmul_precision set_warn_always is_warn_always_enabled set_flush_denormal asarray from_dlpack "
             "to_dlpack numel is_complex is_floating_point is_conj is_neg is_signed is_nonzero is_inference "
             "is_distributed get_device detach_ get_file_path from_file "
             "FloatTensor DoubleTensor HalfTensor BFloat16Tensor ByteTensor CharTensor ShortTensor IntTensor LongTensor "
             "BoolTensor dsmm hsmm saddmm _nnpack_available compiled_with_cxx11_abi init_num_threads has_lapack has_mkl has_openmp has_spectral "
             "is_autocast_ipu_enabled set_autocast_ipu_enabled get_autocast_ipu_dtype set_autocast_ipu_dtype "
             "is_autocast_xla_enabled set_autocast_xla_enabled get_autocast_xla_dtype set_autocast_xla_dtype",
    "sparse": "sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor sparse_compressed_tensor",
    "_face.symbols": "SymInt SymFloat SymBool sym_int sym_float sym_not sym_max sym_min sym_ite sym_sum sym_sqrt sym_fresh_size _sym_sqrt "
                "_sym_cos _sym_cosh _sym_sin _sym_sinh _sym_tan _sym_tanh _sym_asin _sym_acos _sym_atan _sym_log2",
    "_face.checks": "_check _check_with _check_index _check_value _check_type _check_not_implemented _check_is_size _check_tensor_all "
               "_check_tensor_all_with _as_tensor_fullprec _assert _assert_async _shape_as_tensor",
    "_face.control": "cond while_loop",
    "func._vmap": "vmap",
    "_face.devices": "Stream Event AcceleratorError get_device_module _register_device_module "
                "_is_device_backend_autoload_enabled _import_device_backends",
    "_quantized.tensor": "quantize_per_tensor quantize_per_channel quantize_per_tensor_dynamic dequantize int_repr q_scale q_zero_point q_per_channel_scales "
                  "q_per_channel_zero_points q_per_channel_axis fake_quantize_per_tensor_affine fake_quantize_per_channel_affine "
                  "fused_moving_avg_obs_fake_quant _choose_qparams_per_tensor _make_per_tensor_quantized_tensor "
                  "_make_per_channel_quantized_tensor _empty_affine_quantized _empty_per_channel_affine_quantized",
    "nested._internal.strided": "_nested_tensor_from_mask _nested_tensor_from_mask_left_aligned",
    "_face.memory": "memory_stats memory_summary empty_cache reset_peak_memory_stats set_cache_limit set_memory_limit",
    "_native_names.keys": "AVG SUM AggregationType DispatchKey DispatchKeySet ExcludeDispatchKeyGuard Tag qscheme per_tensor_affine per_channel_affine "
             "per_tensor_symmetric per_channel_symmetric per_channel_affine_float_qparams",
    "_native_names.types": "AnyType Argument AwaitType BoolType ClassType ComplexType DeviceObjType DictType EnumType FloatType FunctionSchema FutureType "
              "InferredType IntType InterfaceType ListType NoneType NumberType OptionalType PyObjectType RRefType StreamObjType "
              "StringType SymBoolType SymIntType TensorType TupleType Type UnionType parse_schema unify_type_list",
    "_native_names.private": "Block Graph Node Use Value",
    "_native_names.script": "AliasDb ArgumentSpec BenchmarkConfig BenchmarkExecutionStats BufferDict CallStack Capsule Code "
               "CompleteArgumentSpec ConcreteModuleType DeepCopyMemoTable DeserializationStorageContext ErrorReport FatalError FileCheck "
               "Future Gradient IODescriptor JITException LockingLogger ModuleDict NoopLogger OperatorInfo ParameterDict "
               "PyTorchFileReader PyTorchFileWriter ScriptClass ScriptClassFunction ScriptDict ScriptDictIterator "
               "ScriptDictKeyIterator ScriptList ScriptListIterator ScriptMethod ScriptModule ScriptObject "
               "ScriptObjectProperty SerializationStorageContext ThroughputBenchmark TracingState fork wait",
    "jit._script_function": "ScriptFunction",
    "jit._compilation_unit": "CompilationUnit",
    "random": "manual_seed seed initial_seed get_rng_state set_rng_state thread_safe_generator",
    "autograd.grad_mode": "no_grad enable_grad set_grad_enabled inference_mode",
    "serialization": "save load",
    "_saving.safetensors": "load_safetensors save_safetensors",
    "_start.alias": "install_as_torch",
    "_compile": "compile _disable_dynamo _normalize_mode _TorchCompileInductorWrapper _TorchCompileWrapper",
    "_compiling.mode": "CompileMode",
    "_compiling.deferred": "deferred",
    "storage": "Storage TypedStorage FloatStorage DoubleStorage HalfStorage BFloat16Storage ByteStorage CharStorage ShortStorage "
               "IntStorage LongStorage BoolStorage ComplexFloatStorage ComplexDoubleStorage QInt8Storage QUInt8Storage QInt32Storage",
    "amp._state": "is_autocast_enabled set_autocast_enabled get_autocast_dtype set_autocast_dtype autocast_increment_nesting "
                  "autocast_decrement_nesting clear_autocast_cache is_autocast_cache_enabled set_autocast_cache_enabled "
                  "get_autocast_cpu_dtype get_autocast_gpu_dtype set_autocast_cpu_dtype set_autocast_gpu_dtype "
                  "is_autocast_cpu_enabled set_autocast_cpu_enabled",
    "amp.autocast_mode": "autocast",
    "amp.grad_scaler": "GradScaler",
    "_ops": "ops classes",
    "_lowrank": "svd_lowrank pca_lowrank",
    "_lobpcg": "lobpcg",
    "_face.deprecated": "qr cholesky lu chain_matmul symeig solve lstsq eig matrix_rank",
}
_found = {}


def _where(name):
    """The file of ours that defines ``name``, if one does."""
    if not _found:      # in one step: other threads see all of it or nothing
        _found.update({each: file for file, names in _FILES.items() for each in names.split()})
    return _found.get(name)


def __getattr__(name):
    file = _where(name)
    if file is not None:
        value = getattr(_import("kindling." + file), name)
    elif name == "__all__":
        value = _import("kindling._face.public_names").public(_found)
    elif name == "torch":
        value = _sys.modules[__name__]
    elif name[:2] == "__" and name != "__config__":
        raise AttributeError(f"module 'torch' has no attribute '{name}'")
    else:
        value = _C._operator("torch", name)
        if value is None:
            if name in ("has_cuda", "has_cudnn", "has_mps", "has_mkldnn"):
                return _import("kindling._face.functions")._has(name)
            value = _C._error_class(name) or getattr(_C, name, None) or _C._named_dtype(name) or _submodule(name)
            if value is None:
                value = _import("kindling._absent").find("", name)
    return globals().setdefault(name, value)


def _lazy_parts(space, homes, submodules, functions=()):
    """``__getattr__`` and ``__dir__`` of a package of ours that loads its files on first use.

    ``space``: its globals; ``homes``: the file below it that defines a name, by name ("file:name" if it has another name there);
    ``submodules``: names of its files;
    ``functions``: names of functions that are names of files too. The function is what the package has, whatever is imported.
    """
    class Package(type(_sys)):
        if functions:
            def __setattr__(self, name, value):
                if name not in functions or not isinstance(value, type(_sys)):
                    super().__setattr__(name, value)

        @property
        def __dict__(self):
            for name in (*homes, *space.get("__all__", ())):    # who looks at all names wants to see them
                if name not in space:
                    getattr(self, name, None)
            return space

    _sys.modules[space["__spec__"].name].__class__ = Package

    def __getattr__(name):
        home = homes.get(name)
        if home is None and name not in submodules:
            if name[:2] == "__":
                raise AttributeError(f"module {space['__name__']!r} has no attribute {name!r}")
            value = space[name] = _import("kindling._absent").find(space["__spec__"].name[9:], name)
            return value
        file, _, own = (home or name).partition(":")
        module = _import(f"{space['__spec__'].name}.{file}")
        value = space[name] = getattr(module, own or name) if home else module
        return value

    def __dir__():
        return sorted({*space, *homes, *submodules})

    return __getattr__, __dir__


def _submodule(name):
    """A submodule, imported; None if there is no such file."""
    full = "kindling." + name
    try:
        return _import(full)
    except ModuleNotFoundError as error:
        if error.name != full:
            raise
        return None


def __dir__():
    import pkgutil

    here = {module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith(("_", "libkindling"))}
    _where("")
    return sorted(set(globals()) | set(_found) | set(_C._operator_names(1)) | here)


_C._VariableFunctions = _sys.modules[__name__]  # torch's module of operator functions

if "KINDLING_EAGER_IMPORT" in _os.environ:
    _import("kindling._start.eager").load(_sys.modules[__name__], _os.environ["KINDLING_EAGER_IMPORT"])
