"""Enumerations of the core as torch numbers them: ``DispatchKey`` and sets of them, ``Tag``, ``AggregationType``, ``qscheme``, ``_ConvBackend``."""
from kindling import _C


class _Enumeration(type):
    """A class whose members are its objects: `Kind.NAME`, `Kind(3)`, `Kind.__members__`."""

    def __call__(cls, value):
        for member in cls.__members__.values():
            if member.value == int(value):
                return member
        return cls._make(f"???({int(value)})", int(value))

    def _make(cls, name, value):
        member = cls.__new__(cls)
        member.name, member.value = name, value
        return member

    def __iter__(cls):
        return iter(cls.__members__.values())


class _Member(metaclass=_Enumeration):
    __members__ = {}

    def __init_subclass__(cls, names="", start=0):
        cls.__module__, cls.__members__ = _C.Size.__module__, {}
        for place, name in enumerate(names.split(), start):
            cls._add(name, place)

    @classmethod
    def _add(cls, name, value):
        member = cls.__members__[name] = cls._make(name, value)
        setattr(cls, name, member)

    def __int__(self):
        return self.value

    __index__ = __hash__ = __int__

    def __eq__(self, other):
        return type(self) is type(other) and self.value == other.value

    def __repr__(self):
        return f"<{type(self).__name__}.{self.name}: {self.value}>"

    def __str__(self):
        return f"{type(self).__name__}.{self.name}"

    def __reduce__(self):
        return type(self), (self.value,)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


class AggregationType(_Member, names="SUM AVG"):
    """How a logger joins the values of a counter."""


SUM, AVG = AggregationType.SUM, AggregationType.AVG


class Tag(_Member, names="core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated inplace inplace_view "
                         "maybe_aliasing_or_mutating needs_contiguous_strides needs_exact_strides needs_fixed_stride_order "
                         "nondeterministic_bitwise nondeterministic_seeded out out_variant pointwise pt2_compliant_tag reduction view_copy"):
    """What is known of an operator: `Tag.pointwise`, `Tag.nondeterministic_seeded`, ..."""


class qscheme(_Member, names="per_tensor_affine per_channel_affine per_tensor_symmetric per_channel_symmetric per_channel_affine_float_qparams"):
    """How quantised tensors are scaled."""

    def __repr__(self):
        return "torch." + self.name

    __str__ = __repr__

    def __reduce__(self):
        return self.name        # files have its name in torch


class DeviceType(_Member, names="CPU CUDA MKLDNN OPENGL OPENCL IDEEP HIP FPGA MAIA XLA Vulkan Metal XPU MPS Meta HPU VE Lazy IPU MTIA PrivateUse1"):
    """Where an event ran."""


class _ConvBackend(_Member, names="CudaDepthwise2d CudaDepthwise3d Cudnn CudnnTranspose Empty Miopen MiopenDepthwise MiopenTranspose Mkldnn"):
    """The code that PyTorch runs a convolution with (``torch._C._select_conv_backend``)."""


for _place, _name in enumerate("MkldnnEmpty NnpackSpatial Overrideable Slow2d Slow3d SlowDilated2d SlowDilated3d SlowTranspose2d SlowTranspose3d "
                               "Winograd3x3Depthwise Xnnpack2d Mps MpsTranspose,".split(), 10):
    _ConvBackend._add(_name, _place)


per_tensor_affine, per_channel_affine, per_tensor_symmetric, per_channel_symmetric, per_channel_affine_float_qparams = qscheme


_BACKENDS = "CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 PrivateUse2 PrivateUse3 Meta".split()
_FUNCTIONS = ("Undefined Dense FPGA MAIA_ Vulkan Quantized CustomRNGKeyId MkldnnCPU Sparse SparseCsr NestedTensor BackendSelect Fake Python "
              "FuncTorchDynamicLayerBackMode Functionalize Conjugate Negative ZeroTensor ADInplaceOrView AutogradOther AutogradFunctionality "
              "AutogradNestedTensor Tracer AutocastCPU AutocastMTIA AutocastMAIA AutocastXPU AutocastIPU AutocastHPU AutocastXLA AutocastMPS "
              "AutocastCUDA AutocastPrivateUse1 FuncTorchBatched BatchedNestedTensor FuncTorchVmapMode Batched VmapMode FuncTorchGradWrapper "
              "DeferredInit PythonTLSSnapshot FuncTorchDynamicLayerFrontMode TESTING_ONLY_1 TESTING_ONLY_2 PreDispatch PythonDispatcher").split()
_PER_BACKEND = {"Dense": "", "Quantized": "Quantized", "Sparse": "Sparse", "SparseCsr": "SparseCsr", "NestedTensor": "NestedTensor",
                "AutogradFunctionality": "Autograd"}


class DispatchKey(_Member):
    """A layer or device that a call may pass through, with torch's number for it."""


_HIDDEN = ("FPGA MAIA_ Vulkan CustomRNGKeyId MkldnnCPU Fake Tracer AutocastMTIA AutocastMAIA AutocastXLA BatchedNestedTensor Batched VmapMode "
           "DeferredInit TESTING_ONLY_1 TESTING_ONLY_2").split()
for _place, _name in enumerate(_FUNCTIONS):
    if _name not in _HIDDEN:
        DispatchKey._add(_name, _place)
_at = 48
for _function, _prefix in _PER_BACKEND.items():
    DispatchKey._add(f"StartOf{_function}Backends", _at)
    for _place, _name in enumerate(_BACKENDS, 1):
        DispatchKey._add(_prefix + _name, _at + _place)
    DispatchKey._add(f"EndOf{_function}Backends", _at + 16)
    _at += 17
for _name in ("Autograd CompositeImplicitAutograd FuncTorchBatchedDecomposition CompositeImplicitAutogradNestedTensor "
              "CompositeExplicitAutograd CompositeExplicitAutogradNonFunctional").split():
    DispatchKey._add(_name, _at)
    _at += 1
_GROUPS = list(_PER_BACKEND)
ALIASES = frozenset("Autograd CompositeImplicitAutograd FuncTorchBatchedDecomposition CompositeImplicitAutogradNestedTensor "
                    "CompositeExplicitAutograd CompositeExplicitAutogradNonFunctional".split())


def _bits(key):
    value = key.value
    if 48 <= value < 150:
        group, backend = divmod(value - 48, 17)
        return 1 << _FUNCTIONS.index(_GROUPS[group]) + 15 | (1 << backend - 1 if backend else 0)
    return 1 << value + 15 if 0 < value < 48 else 0


class DispatchKeySet:
    """A set of dispatch keys: backends, and functions that all of them have."""

    def __init__(self, key, /):
        self._raw = _bits(key)

    @staticmethod
    def from_raw_repr(raw, /):
        made = DispatchKeySet(DispatchKey.Undefined)
        made._raw = raw
        return made

    def raw_repr(self):
        return self._raw

    def has(self, key):
        return self._raw & _bits(key) == _bits(key)

    def add(self, key):
        return self.from_raw_repr(self._raw | _bits(key))

    def remove(self, key):
        return self - DispatchKeySet(key)

    def __or__(self, other):
        return self.from_raw_repr(self._raw | other._raw)

    def __and__(self, other):
        return self.from_raw_repr(self._raw & other._raw)

    def __sub__(self, other):
        return self.from_raw_repr(self._raw & ~(other._raw >> 16 << 16))   # backends stay: other functions may need them

    def __eq__(self, other):
        return isinstance(other, DispatchKeySet) and self._raw == other._raw

    def __hash__(self):
        return hash(self._raw)

    def keys(self):
        """The keys, those with lower numbers first."""
        found = []
        for place, name in enumerate(_FUNCTIONS):
            if place and self._raw >> place + 15 & 1:
                if name in _PER_BACKEND:
                    start = 48 + 17 * _GROUPS.index(name)
                    found += [(place, DispatchKey(start + 1 + b)) for b in range(16) if self._raw >> b & 1]
                else:
                    found.append((place, DispatchKey(place)))
        return [key for _, key in found]

    def highestPriorityTypeId(self):
        functions = self._raw >> 16
        if not functions:
            return DispatchKey.Undefined
        name = _FUNCTIONS[functions.bit_length()]
        if name not in _PER_BACKEND:
            return DispatchKey(functions.bit_length())
        return DispatchKey(48 + 17 * _GROUPS.index(name) + (self._raw & 0xFFFF).bit_length())

    def __repr__(self):
        return f"DispatchKeySet({', '.join(key.name for key in self.keys())})"


DispatchKeySet.__module__ = _C.Size.__module__


class ExcludeDispatchKeyGuard:
    """A `with` block whose calls pass the layers of a set by: autograd's, autocast's."""

    def __init__(self, keys, /):
        names = {key.name for key in keys.keys()}
        self._word = 0
        if any(name[:8] == "Autograd" or name == "ADInplaceOrView" for name in names):
            self._word |= _C._KEY_AUTOGRAD
        if any(name[:8] == "Autocast" for name in names):
            self._word |= _C._KEY_AUTOCAST
        if "Python" in names:
            self._word |= _C._KEY_PYTHON

    def __enter__(self):
        self._before = _C._exclude_keys(self._word)
        return self

    def __exit__(self, *error):
        _C._exclude_keys(0, self._before)
        return False


ExcludeDispatchKeyGuard.__module__ = _C.Size.__module__
