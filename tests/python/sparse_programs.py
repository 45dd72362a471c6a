"""Runs one program in PyTorch and here, and tells the answers apart: layouts, parts, dtypes, coalescedness, printing, errors."""
import torch as reference

import kindling

COMPRESSED = {"sparse_csr": ("crow_indices", "col_indices"), "sparse_bsr": ("crow_indices", "col_indices"),
              "sparse_csc": ("ccol_indices", "row_indices"), "sparse_bsc": ("ccol_indices", "row_indices")}


def parts(value, coalesce=False):
    """What a value is, as plain Python. `coalesce`: COO by what it stands for, in whatever order its elements lie."""
    if isinstance(value, (reference.Tensor, kindling.Tensor)):
        layout = str(value.layout)[6:]
        if coalesce and layout == "sparse_coo":
            value = value.detach().clone()._coalesced_(False).coalesce()
        facts = [layout, tuple(value.shape), str(value.dtype), value.requires_grad]
        if layout == "sparse_coo":
            facts += [value.is_coalesced(), value.sparse_dim(), value.dense_dim(), value._indices().tolist(), numbers(value._values())]
        elif layout in COMPRESSED:
            compressed, plain = (getattr(value, name)() for name in COMPRESSED[layout])
            facts += [str(compressed.dtype), compressed.tolist(), plain.tolist(), numbers(value.values())]
        else:
            facts += [numbers(value)]
        return facts
    if isinstance(value, (list, tuple)):
        return [parts(each, coalesce) for each in value]
    if isinstance(value, (bool, int, float, complex, str, type(None))):
        return value
    return str(value)


def numbers(tensor):
    return [str(tensor.dtype), tuple(tensor.shape), tensor.detach().tolist()]


def run(torch, program, coalesce=False):
    """("gave", parts) or ("raised", class, words)."""
    torch.manual_seed(0)
    space = {"torch": torch, "F": torch.nn.functional}
    try:
        *first, last = program.strip().split("\n")
        exec("\n".join(first), space)
        if last.startswith(("for ", " ", "with ")) or " = " in last.split("(")[0]:
            exec(last, space)
            value = space.get("result")
        else:
            value = eval(last, space)
        return ["gave", parts(value, coalesce)]
    except Exception as error:
        return ["raised", type(error).__name__, str(error).split("\n")[0]]


def close(a, b, tolerance=1e-5):
    """Equal, numbers up to rounding."""
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(close(x, y, tolerance) for x, y in zip(a, b))
    if isinstance(a, (float, complex)) and isinstance(b, (float, complex)):
        return a == b or (a != a and b != b) or abs(a - b) <= tolerance * (1 + abs(a))
    return type(a) is type(b) and a == b


def compare(program, words=True):
    """None, or the two answers where they differ. `words`: whether errors must begin alike too."""
    theirs, ours = run(reference, program), run(kindling, program)
    if theirs[0] == ours[0] == "raised":
        same = theirs[1] == ours[1] and (not words or theirs[2][:25] == ours[2][:25])
    else:
        same = close(theirs, ours)
    return None if same else (theirs, ours)
