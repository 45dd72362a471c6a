"""How tensors are printed, character for character as PyTorch prints them. Loaded at the first repr."""
import math

import kindling as torch
from kindling._common.blocks import Block as _Block
from kindling import _C
from kindling._C import Tensor


class _Options:
    precision = 4
    threshold = 1000
    edgeitems = 3
    linewidth = 80
    sci_mode = None


PRINT_OPTS = _Options       # the class itself: one state


def get_printoptions():
    """The settings by name."""
    return {name: getattr(_Options, name) for name in ("precision", "threshold", "edgeitems", "linewidth", "sci_mode")}


class printoptions(_Block):
    """A block in which settings have other values."""

    def __init__(self, **changes):
        self.changes = changes

    def __enter__(self):
        self.before = get_printoptions()
        set_printoptions(**self.changes)

    def __exit__(self, *details):
        set_printoptions(**self.before)
        return False


_PROFILES = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, math.inf, 3, 80)}


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    if profile is not None:
        if profile in _PROFILES:
            _Options.precision, _Options.threshold, _Options.edgeitems, _Options.linewidth = _PROFILES[profile]
    if precision is not None:
        _Options.precision = precision
    if threshold is not None:
        _Options.threshold = threshold
    if edgeitems is not None:
        _Options.edgeitems = edgeitems
    if linewidth is not None:
        _Options.linewidth = linewidth
    _Options.sci_mode = sci_mode


class _Formatter:
    """One width and one notation for all the numbers that are shown, worked out from them."""

    def __init__(self, values, floating, nan_counts=False):
        """`nan_counts`: NaN is taken for a finite number, as PyTorch's isfinite does with float8_e8m0fnu."""
        self.floating = floating
        self.whole = True          # floats that are all integers are shown as "1."
        self.sci = False
        self.width = 1
        if not floating:
            for value in values:
                self.width = max(self.width, len(str(value)))
            return
        values = [value for value in values if value != 0 and (math.isfinite(value) or nan_counts)]
        if not values:
            return
        if any(map(math.isnan, values)):     # PyTorch compares with a NaN here: no answer is yes
            self.whole, self.sci = False, bool(_Options.sci_mode)
            self.width = max(len(f"{value:.{_Options.precision}{'e' if self.sci else 'f'}}") for value in values)
            return
        sizes = [abs(value) for value in values]
        smallest, largest = min(sizes), max(sizes)
        self.whole = all(value == math.ceil(value) for value in values)
        self.sci = _Options.sci_mode
        if self.sci is None:
            self.sci = largest / smallest > 1000.0 or largest > 1.0e8 or smallest < 1.0e-4
        if self.sci:
            widths = [len(f"{value:.{_Options.precision}e}") for value in values]
        elif self.whole:
            widths = [len(f"{value:.0f}") + 1 for value in values]
        else:
            widths = [len(f"{value:.{_Options.precision}f}") for value in values]
        self.width = max(1, *widths)

    def format(self, value):
        if not self.floating:
            text = str(value)
        elif self.sci:
            text = f"{value:.{_Options.precision}e}"
        elif self.whole:
            text = f"{value:.0f}" + ("." if math.isfinite(value) else "")
        else:
            text = f"{value:.{_Options.precision}f}"
        return text.rjust(self.width)


def _shown(tensor):
    """The values that are printed, as nested lists with None where some are left out."""
    if tensor.numel() == 0:
        return []
    if tensor.numel() <= _Options.threshold:
        return tensor.tolist()
    return _cut(tensor)


def _cut(tensor):
    edge = _Options.edgeitems
    if tensor.dim() == 0:
        return tensor.item()
    size = tensor.size(0)
    if size > 2 * edge:
        return ([_cut(tensor[i]) for i in range(edge)] + [None] +
                [_cut(tensor[i]) for i in range(size - edge, size)]) if tensor.dim() > 1 else (
                    tensor[:edge].tolist() + [None] + (tensor[size - edge:].tolist() if edge else []))
    return [_cut(tensor[i]) for i in range(size)] if tensor.dim() > 1 else tensor.tolist()


def _flat(values, result):
    if isinstance(values, list):
        for value in values:
            _flat(value, result)
    elif values is not None:
        result.append(values)
    return result


def _scalar(value, formatter, imaginary):
    if imaginary is None:
        return formatter.format(value)
    real, imag = formatter.format(value.real), imaginary.format(value.imag).lstrip()
    return real + imag + "j" if imag[0] in "+-" else real + "+" + imag + "j"


def _vector(values, indent, formatter, imaginary):
    length = formatter.width + 2
    if imaginary is not None:
        length += imaginary.width + 1
    per_line = max(1, int(math.floor((_Options.linewidth - indent) / length)))
    texts = [" ..." if value is None else _scalar(value, formatter, imaginary) for value in values]
    lines = [texts[i:i + per_line] for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join([", ".join(line) for line in lines]) + "]"


def _nested(values, dims, indent, formatter, imaginary):
    if dims == 0:
        return _scalar(values, formatter, imaginary)
    if dims == 1:
        return _vector(values, indent, formatter, imaginary)
    parts = ["..." if value is None else _nested(value, dims - 1, indent + 1, formatter, imaginary) for value in values]
    return "[" + ("," + "\n" * (dims - 1) + " " * (indent + 1)).join(parts) + "]"


def _tensor_text(tensor, indent):
    if tensor.numel() == 0:
        return "[]"
    if tensor.is_neg():
        tensor = tensor.resolve_neg()
    if tensor.is_conj():
        tensor = tensor.resolve_conj()
    values = _shown(tensor)
    flat = _flat(values, [])
    imaginary = None
    if tensor.dtype.is_complex:
        formatter, imaginary = _Formatter([v.real for v in flat], True), _Formatter([v.imag for v in flat], True)
    else:
        formatter = _Formatter(flat, tensor.dtype.is_floating_point, tensor.dtype == torch.float8_e8m0fnu)
    return _nested(values, tensor.dim(), indent, formatter, imaginary)


def _sparse_text(tensor, indent, suffixes):
    """The parts of a sparse tensor, a line each."""
    if tensor.layout == torch.sparse_coo:
        parts = {"indices": tensor._indices(), "values": tensor._values()}
    elif tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        parts = {"crow_indices": tensor.crow_indices(), "col_indices": tensor.col_indices(), "values": tensor.values()}
    else:
        parts = {"ccol_indices": tensor.ccol_indices(), "row_indices": tensor.row_indices(), "values": tensor.values()}
    lines = []
    for name, part in parts.items():
        text = _tensor_text(part.detach(), indent + len(name) + 8)
        if part.numel() == 0:
            text += f", size={tuple(part.shape)}"
        lines.append(f"{name}=tensor({text})")
    suffixes[:0] = [f"size={tuple(tensor.shape)}", f"nnz={tensor._nnz()}"]
    return (",\n" + " " * indent).join(lines)


def _add_suffixes(text, suffixes, indent, force_newline):
    pieces = [text]
    length = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if force_newline or length + len(suffix) + 2 > _Options.linewidth:
            pieces.append(",\n" + " " * indent + suffix)
            length = indent + len(suffix)
            force_newline = False
        else:
            pieces.append(", " + suffix)
            length += len(suffix) + 2
    pieces.append(")")
    return "".join(pieces)


def _str(self, *, tensor_contents=None):
    with torch.no_grad(), _C.DisableTorchFunctionSubclass():
        if _C._transform_depth():
            levels = [number for kind, number, *_ in _C._transforms() if kind in ("grad", "jvp") and number <= _C._born_in(self)]
            return _of_levels(self, levels, tensor_contents)
        return _of_levels(self, [], tensor_contents)


def _of_levels(tensor, levels, contents):
    """A tensor as the transforms see it: `levels` are the numbers of those by derivatives that it was made in."""
    batch = _C._batch_of(tensor)
    if batch is None and not levels:
        return _intern(tensor, contents)
    if batch is None or levels and levels[-1] > batch[1]:
        if batch is None and len(levels) == 1:
            tensor = tensor.detach()         # its graph is the transform's
        head, below = f"GradTrackingTensor(lvl={levels[-1]}", _of_levels(tensor, levels[:-1], contents)
    else:
        value, depth, batched = batch
        below = _of_levels(value, levels, contents)
        if not batched:
            return below
        head = f"BatchedTensor(lvl={depth}, bdim=0"
    return f"{head}, value=\n    {below.replace(chr(10), chr(10) + '    ')}\n)"


def _intern(tensor, contents):
    try:
        grad_fn = tensor.grad_fn
        name = grad_fn and type(grad_fn).__name__
    except RuntimeError:                     # a view of what was written to that has no history
        grad_fn, name = None, "Invalid"
    is_plain = type(tensor) in (Tensor, torch.nn.Parameter)
    prefix = "tensor(" if type(tensor) is Tensor or is_plain else f"{type(tensor).__name__}("
    indent = len(prefix)
    suffixes = []
    if tensor.device.type != "cpu":
        suffixes.append(f"device='{tensor.device}'")
    default = tensor.dtype in (_C.get_default_dtype(), torch.int64, torch.bool) or (
        tensor.dtype.is_complex and tensor.dtype is _C.get_default_dtype().to_complex())
    if contents is not None:
        text = contents
        if not default:
            suffixes.append(f"dtype={tensor.dtype}")
    elif tensor.layout != torch.strided:
        if not default:
            suffixes.append(f"dtype={tensor.dtype}")
        text = _sparse_text(tensor, indent, suffixes)
    elif tensor.is_meta or not _has_memory(tensor):
        suffixes.append(f"size={tuple(tensor.shape)}")
        if tensor.dtype is not _C.get_default_dtype():
            suffixes.append(f"dtype={tensor.dtype}")
        text = "..."
    elif tensor.numel() == 0:
        if tensor.dim() != 1:
            suffixes.append(f"size={tuple(tensor.shape)}")
        if tensor.dtype is not _C.get_default_dtype():
            suffixes.append(f"dtype={tensor.dtype}")
        text = "[]"
    else:
        if not default:
            suffixes.append(f"dtype={tensor.dtype}")
        shown = tensor if tensor.device.type == "cpu" else tensor.cpu()
        text = _tensor_text(shown.detach() if type(tensor) is Tensor else shown.detach().as_subclass(Tensor), indent)
    if tensor.layout != torch.strided:
        suffixes.append(f"layout={tensor.layout}")
    if name is not None:
        if name == "CppFunction":
            name = grad_fn.name().rsplit("::", 1)[-1]
        suffixes.append(f"grad_fn=<{name}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    for _, tangent in _C._tangents(tensor)[-1:]:
        suffixes.append(f"tangent={tangent}")
    text = _add_suffixes(prefix + text, suffixes, indent, tensor.layout == torch.sparse_coo)
    if isinstance(tensor, torch.nn.Parameter):
        text = f"Parameter containing:\n{text}" if type(tensor) is torch.nn.Parameter else text
    return text


def _tensor_str(self, indent):
    """The numbers of a tensor alone."""
    return _tensor_text(self.detach(), indent)


def _str_intern(inp, *, tensor_contents=None):
    return _intern(inp, tensor_contents)


def _has_memory(tensor):
    return not hasattr(type(tensor), "_kindling_wrapper") and (tensor.numel() == 0 or tensor.data_ptr() != 0)
