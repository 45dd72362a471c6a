"""Private names of PyTorch's native module that packages use (``torch._C._...``); found through ``_C.__getattr__``."""
import kindling
from kindling import _C
from kindling._common.eagerly import nothing


def _log_api_usage_once(name):
    """Nothing: nobody is told what a program uses."""


def _get_tracing_state():
    """What is being traced (``torch.jit.trace``) in this thread, None if nothing is."""
    return kindling._import("kindling.jit._trace").state if _C._is_tracing() else None


def _are_functorch_transforms_active():
    """Whether a function runs inside of one of torch.func's transforms."""
    return _C._transform_depth() > 0


# Switches of the script compiler's fusers: what was set before is what they give.
_jit_set_profiling_executor, _jit_set_profiling_mode = (lambda flag: True,) * 2
_jit_override_can_fuse_on_gpu = nothing("_jit_override_can_fuse_on_gpu")
_jit_set_nvfuser_enabled, _jit_set_texpr_fuser_enabled, _jit_can_fuse_on_gpu = (lambda *flag: False,) * 3


def _jit_override_can_fuse_on_cpu(flag):
    """Whether `graph_for` shows groups of pointwise operators."""
    kindling._import("kindling.jit._fusers").override_can_fuse_on_cpu(flag)


def _jit_can_fuse_on_cpu():
    return kindling._import("kindling.jit._fusers").can_fuse_on_cpu()


_jit_set_nvfuser_guard_mode = _jit_set_nvfuser_horizontal_mode = _jit_set_nvfuser_single_node_mode = lambda flag: False
_jit_set_bailout_depth = _jit_set_num_profiled_runs = lambda number: number
_jit_clear_class_registry = nothing("_jit_clear_class_registry")
Block, Graph, Node, Use, Value = map(_C._graph_type, ("Block", "Graph", "Node", "Use", "Value"))
_set_math_sdp_allow_fp16_bf16_reduction = kindling._import("kindling.backends.cuda").allow_fp16_bf16_reduction_math_sdp


def _parse_to(*args, **kwargs):
    """(device, dtype, non_blocking, memory_format) of the arguments of a `to` call (torch._C._nn._parse_to)."""
    from kindling.nn.modules.module import _parse_to
    device, *others = _parse_to(args, kwargs)
    return kindling.device(device) if isinstance(device, (str, int)) else device, *others


def _storage_Use_Count(pointer):
    """How many tensors and storages hold a storage, by its `_cdata`."""
    return _C._storage_use_count(pointer)


# What this build has not, by the names that programs ask by.
_has_cuda = _has_cudnn = _has_cusparselt = _has_magma = _has_mps = _has_xpu = _has_mkldnn = False
_GLIBCXX_USE_CXX11_ABI = True


def _get_cudnn_enabled():
    return kindling.backends.cudnn.enabled


def _is_torch_function_mode_enabled():
    return _C._len_torch_function_stack() > 0


def _is_alias_of(first, second):
    """Whether two tensors have one storage."""
    return first.untyped_storage()._cdata == second.untyped_storage()._cdata


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    from kindling.optim.optimizer import Optimizer
    return Optimizer._group_tensors_by_device_and_dtype(tensorlistlist, with_indices)


def _show_config():
    return kindling.__config__.show()


def _select_conv_backend(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, bias_sizes=None):
    """What PyTorch runs a convolution with where it has neither oneDNN nor NNPACK."""
    from kindling._native_names.keys import _ConvBackend
    if bias is not None:
        bias_sizes = bias.shape
    # The checks are the convolution's own; where there is nothing to compute it can run.
    device = "meta" if input.numel() else "cpu"
    stand_ins = [None if sizes is None else kindling.empty(sizes, device=device) for sizes in (input.shape, weight.shape, bias_sizes)]
    kindling.convolution(*stand_ins, stride, padding, dilation, transposed, output_padding, groups)
    if 0 in input.shape[:2]:
        return _ConvBackend.Empty
    if input.is_meta:
        return _ConvBackend.Overrideable
    kind = "Transpose" if transposed else "Dilated" if any(each != 1 for each in dilation) else ""
    return getattr(_ConvBackend, f"Slow{kind}{max(input.dim() - 2, 2)}d")   # one dimension is two, of which one has size 1


def _lacking(below):
    """`__getattr__` of a name space: what PyTorch's has, packages name and is not here (kindling/_absent)."""
    def find(name):
        if name[:2] == "__":
            raise AttributeError(f"module 'torch.{below}' has no attribute {name!r}")
        return kindling._import("kindling._absent").find(below, name)
    return find


def _space(name, **values):
    """A name space of the native module that is for packages' checks alone."""
    made = type(kindling)(f"{kindling.__name__}._C.{name}")
    made.__dict__.update(values, __getattr__=_lacking(f"_C.{name}"))
    return made


def _levels():
    """What asks for levels of transforms (torch._C._functorch)."""
    def find(name):
        value = getattr(kindling._import("kindling._functorch._native"), name, None)
        return lacking(name) if value is None or name[:2] == "__" else value
    lacking = _lacking("_C._functorch")
    made = _space("_functorch")
    made.__getattr__ = find
    return made


_functorch = _levels()
_autograd = _space("_autograd", SavedTensor=_C._SavedTensor, _saved_tensors_hooks_is_enabled=_C._saved_tensors_hooks_is_enabled,
                   _unsafe_set_version_counter=_C._unsafe_set_version_counter)
has_lapack = True


class _UndefinedGrad:
    """A function that gives a tensor back; its backward gives no gradient."""

    def __call__(self, tensor):
        class UndefinedGrad(kindling.autograd.Function):
            @staticmethod
            def forward(ctx, tensor):
                return tensor.view_as(tensor)

            @staticmethod
            def backward(ctx, gradient):
                return None
        return UndefinedGrad.apply(tensor)


class _WeakTensorRef:
    """Refers to a tensor without keeping it."""

    def __init__(self, tensor):
        import weakref
        if not isinstance(tensor, kindling.Tensor):
            raise TypeError(f"_WeakTensorRef(): argument must be Tensor, not {type(tensor).__name__}")
        self._reference = weakref.ref(tensor)

    def expired(self):
        """Whether the tensor is gone."""
        return self._reference() is None


def _is_view_replay_enabled():
    return False


_functions = _space("_functions", UndefinedGrad=_UndefinedGrad, DelayedError=kindling.autograd.function.DelayedError, AccumulateGrad=type(
    kindling.ones((), requires_grad=True).view(()).grad_fn.next_functions[0][0]))
_distributed_rpc = _space("_distributed_rpc", _is_current_rpc_agent_set=lambda: False)

# Where what PyTorch has as native classes is written here.
_CLASSES = (*(f"_native_names.{each}" for each in ("types", "script", "keys")), "_face.symbols")


def __getattr__(name):
    if name == "_distributed_c10d":
        return kindling._import("kindling.distributed.distributed_c10d")
    if name[:2] == "__":
        raise AttributeError(f"module 'torch._C' has no attribute {name!r}")
    if name == "_ConvBackend" or kindling._where(name) in _CLASSES:
        return getattr(kindling if name[0] != "_" else kindling._import("kindling._native_names.keys"), name)    # PyTorch's native classes, most of which torch has, too
    absent = kindling._import("kindling._absent")
    if f"_C.{name}" in absent.table("_C"):
        return globals().setdefault(name, _space(name))
    return absent.find("_C", name)
