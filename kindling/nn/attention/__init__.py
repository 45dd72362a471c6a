"""Choice of the kernel behind scaled_dot_product_attention."""
__all__ = ["SDPBackend", "sdpa_kernel", "WARN_FOR_UNFUSED_KERNELS"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend:
    """One of the kernels: ERROR, MATH, FLASH_ATTENTION, EFFICIENT_ATTENTION, CUDNN_ATTENTION, OVERRIDEABLE."""

    __slots__ = ("name", "value")
    __members__ = {}

    def __init__(self, name, value):
        self.name = name
        self.value = value
        type(self).__members__[name] = self
        setattr(type(self), name, self)

    def __int__(self):
        return self.value

    __index__ = __int__

    def __eq__(self, other):
        if isinstance(other, SDPBackend):
            return self.value == other.value
        return self.value == other if isinstance(other, int) else NotImplemented

    def __hash__(self):
        return hash(self.value)

    def __repr__(self):
        return f"<SDPBackend.{self.name}: {self.value}>"

    def __str__(self):
        return f"SDPBackend.{self.name}"

    def __reduce__(self):
        return _backend_from_string, (self.name,)


for _name, _value in (("ERROR", -1), ("MATH", 0), ("FLASH_ATTENTION", 1), ("EFFICIENT_ATTENTION", 2),
                      ("CUDNN_ATTENTION", 3), ("OVERRIDEABLE", 4)):
    SDPBackend(_name, _value)
    del _name, _value

_ALL = (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH, SDPBackend.CUDNN_ATTENTION,
        SDPBackend.OVERRIDEABLE)
# The kernels allowed at the moment. The library has one way to compute attention on the CPU, which obeys MATH and the
# fused names alike; the list is kept so that programs can set, nest and read it.
_allowed = list(_ALL)


def _backend_from_string(name):
    return SDPBackend.__members__[name]


def _cur_sdpa_kernel_backends(with_priority=False):
    return list(_allowed)


class sdpa_kernel:
    """`with sdpa_kernel(SDPBackend.MATH):` limits attention to one kernel or a list of kernels. Also a decorator.

    AssertionError for anything that is no SDPBackend.
    """

    def __init__(self, backends, set_priority=False):
        if not isinstance(backends, (list, SDPBackend)):
            raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
                                 f"{type(backends).__name__}")
        backends = [backends] if isinstance(backends, SDPBackend) else backends
        if not all(isinstance(backend, SDPBackend) for backend in backends):
            raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
        self.backends = list(dict.fromkeys(backends))

    def __enter__(self):
        self.former = list(_allowed)
        _allowed[:] = self.backends
        return {}

    def __exit__(self, kind, value, trace):
        _allowed[:] = self.former

    def __call__(self, function):
        backends = self.backends

        def wrapped(*args, **kwargs):
            with sdpa_kernel(backends):
                return function(*args, **kwargs)
        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            setattr(wrapped, name, getattr(function, name, None))
        wrapped.__wrapped__ = function
        return wrapped


def _sdpa_kernel_variadic(*backends):
    return sdpa_kernel(list(backends))
