"""The differences from PyTorch that are meant, each with its reason.

An entry holds for operators whose `name.overload` its pattern fits wholly, and for differences whose kind, whose telling of
PyTorch's outcome and whose telling of ours its patterns are found in. `where` is a phrase of docs/differences.md that tells
it to users. Values, dtypes and shapes of what both answer are never left out by class: such an entry names the operators it
is for. Where both refuse, and for different reasons, the call has two faults and either may be told: what a refusal is about
is read off its words (COMPLAINTS), so a refusal for the same reason with another class is still a difference.

    python tests/fuzz/known.py --unused FILE...     # the entries that none of these files tells, which `--known FILE` of the tools wrote
"""
import math
import re
import sys
import zlib
from collections import namedtuple

# `refereed`: it holds only where PyTorch, once the call's tensors have elements on the CPU, refuses it for the same reason as we do
# ("refused"), answers it as we do ("answered"), or answers it ("taken"); or where it does as we do once the call of a name of torch.ops is made
# of the overload that was drawn ("overload").
Known = namedtuple("Known", "operators kind theirs ours why where test refereed", defaults=("", None, None))

# What a refusal is about, by its words. The first that fits counts.
COMPLAINTS = [
    ("the call", r"`shifts` required|cond must be a bool"),
    ("autograd", r"functions with out=\.\.\. arguments don't support"),
    ("an undefined tensor", r"Expected a proper Tensor but got None|tensor does not have a device"),
    ("a scaling", r"Invalid scaling configuration|must match output matrix type"),
    ("sizes", r"do not fit query"),
    ("an option", r"requires the return_complex"),
    ("a start", r"start out of range"),
    ("a padding", r"Padding size \d+ is not supported"),
    ("the call", r"expected at most \d|failed to unpack|argument '.*' (\(position \d+\) )?must be|Expected a value of type|unexpected keyword argument|Unknown keyword|"
                 r"invalid combination of arguments|is missing value for argument|missing \d+ required|match any schema|but expected one of|expected Tensor as element|invalid data type '(str|bytes)'|"
                 r"positional argument|takes no keyword arguments|Overflow when unpacking|can't convert negative int|int too (big|large)|has no attribute|object is not|object of type|got multiple values|len\(\) of a 0-d|"
                 r"does not accept|must be real number|cannot be interpreted as|can't assign|Could not infer dtype|in refs|invalid literal|"
                 r"only integer tensors of a single element|unhashable|too many values|object cannot be|expected .* but got .*object"),
    ("memory", r"SmallVector unable|allocate memory|out of memory|std::vector larger|Storage size calculation|bytes of memory"),
    ("numbers that are none", r"is singular|non-finite values|infs or NaNs|failed to converge"),
    ("pinned memory", r"pin_memory|pinned"),
    ("a device", r"same device|cross-device|CUDA|cuda|Meta tensors|meta tensor|backend|device type|on meta|fake impl|expected device|Expected one of cpu|must be on|"
                 r"Cannot copy out of meta|access accelerator|no data!|no tensor arguments to this function"),
    ("a dimension twice", r"appears multiple times|appears twice|repeated dim|duplicate dims|dim(ension)?s? .*(unique|duplicate|identical)"),
    ("a dimension", r"Dimension out of range|Dimension specified as|tuple index out of range|too many indices|to have non-zero size|"
                    r"reduction dim|[Dd]im(ension)? .* (appears|repeated)|dims? .* (unique|appears)|list index out of range|index out of range|out of bounds|"
                    r"out of range for tensor|empty tensor|dims? must be (distinct|unique|different)|same dimension|duplicate dim"),
    ("the target", r"can't be cast|Found dtype|Expected out tensor|output tensor|out= ?argument|out tensor|non-boolean outputs|for result, got|and out|dtype of out|"
                   r"Expected result|doesn't match the broadcast shape|Bad in-place|in-place|single memory location|overlap|in.?place|Inplace|result dtype|result type|"
                   r"desired output|expected out"),
    ("a value", r"value cannot be converted|sections are too many"),
    ("an index", r"are valid indices|Index has to be a vector/scalar|Index is supposed to be a vector|tensors used as indices|unexpected index type"),
    ("two dtypes", r"(have|be) (of )?the same d?type|have same d?type|dtypes? match|same scalar type"),
    ("a dtype", r"does not support bool|doesn't support tensors of type|not implemented for|conversion is supported for|not supported for|dtype|complex|Complex|floating|integral|[Bb]oolean|scalar type|scalar_type|input type|expects? .*(float|bool|int)|"
                r"Low precision|Promotion|same type|indices must be|Expected .*(Long|Int|Float|Double|Half|Byte)|Expected a long|expected T|to have type|"
                r"not applicable|LongTensor|types? other than|expects .* type|overflow|unsupported|should be Long|must be (long|int|bool|float)|only supports?|probabilities tensor"),
    ("autograd", r"requires grad|requires_grad|not differentiable|derivative|autograd|[Ii]nference|leaf|inference"),
    ("a word", r"Invalid (normalization )?mode|Expected one of|must be (one of|either)|should be|possible modes|reduction|[Rr]educe argument|expected .* to be one of|"
               r"rounding_mode|approximate|can only be|not a valid|indexing|Unrecognized|is not supported|unknown|Unknown|Unrecogni[sz]ed|invalid norm type|interpolation mode|requires? the return_complex"),
    ("sizes", r"needs 4d|storage offset|shape|size|dimension|dim|D tensor|length|elements|[Vv]ector|[Mm]atri|scalar|broadcast|numel|non-?empty|\dD|expected|Expected|weight|bins|window|pad|"
              r"defined|None|kernel|stride|too small"),
    ("a number", r"to be in \[|ZeroDivisionError|data points|upper bound|cannot be 0|must|should|between|positive|negative|greater|less|zero|range|value|odd|even|nan|inf"),
]
PATTERNS = [(matter, re.compile(pattern)) for matter, pattern in COMPLAINTS]


def complaint(told):
    """What a refusal is about, or None."""
    return next((matter for matter, pattern in PATTERNS if pattern.search(told)), None)


def two_faults(kind, theirs, ours, call):
    """Whether both refuse the call itself, and not for one reason."""
    about = [complaint(told.partition(": ")[2]) for told in (theirs, ours)]
    return all(about) and about[0] != about[1]


def complex_nan(kind, theirs, ours, call):
    """Complex numbers, of which PyTorch has NaN: of such that are not finite, whose products may not be, or that are few, as a deviation of one is."""
    few = re.search(r"\b(std|var|gradient)[\w.]*\(", call) or re.search(r"nan\S* there, \S*nan\S* here", call)
    return "complex" in call and bool(re.search(r"nan\S* there", call)) and bool(few or not_finite(kind, theirs, ours, call) or far_apart(kind, theirs, ours, call))


def expanded(kind, theirs, ours, call):
    return bool(re.search(r"<\w+ \[[^]]*\] by \[(\d+, )*0[,\]]", call))


def huge(kind, theirs, ours, call):
    """A complex number of more than 1e15, or a tensor with some."""
    return "numbers beyond 1e15" in call or bool(re.search(r"[(,= ]\(?[-+.\d]*e?[-+]?\d*[-+][.\d]+e\+(1[6-9]|[2-9]\d|\d{3})j\)", call))


def held(call):
    """Of each tensor with numbers: the least, the largest, the smallest besides 0, and what is not finite (see `holds` of differences.py)."""
    line = re.search(r"^holds (.*)$", call, re.M)
    for tensor in line[1].split("; ") if line else ():
        limits, least = re.search(r"(\S+) to ([^,\s]+)", tensor), re.search(r"from (\S+?)(,|$)", tensor)
        yield (*map(float, limits.groups() if limits else (0, 0)), float(least[1]) if least else 0, "NaN" in tensor, "infinity" in tensor)


def holds_nan(kind, theirs, ours, call):
    return any(nan for *_, nan, _ in held(call))


def holds_infinity(kind, theirs, ours, call):
    return any(infinite for *_, infinite in held(call))


def not_finite(kind, theirs, ours, call):
    return holds_nan(kind, theirs, ours, call) or holds_infinity(kind, theirs, ours, call)


def far_apart(kind, theirs, ours, call):
    """Whether the numbers are so large or small that sums and differences of them have no digits."""
    return any(max(abs(low), abs(high)) > 1e15 or 0 < least < 1e-15 for low, high, least, *_ in held(call))


def complex_far_out(kind, theirs, ours, call):
    return "complex64" in call and any(max(abs(low), abs(high)) > 1e15 for low, high, *_ in held(call))


def no_dirichlet(kind, theirs, ours, call):
    """Whether the arguments of _dirichlet_grad belong to no distribution, or the numbers differ by less than PyTorch's fits."""
    numbers = list(held(call))
    pair = re.search(r"\n(\S+) there, (\S+) here", call)
    one, other = (float(each) for each in pair.groups()) if pair else (0, 1)
    return any(low <= 0 for low, *_ in numbers) or numbers[0][1] >= 1 or numbers[2][0] <= numbers[1][1] or abs(one - other) <= 5e-3 * abs(one) or not_finite(kind, theirs, ours, call)


def slope_of_vectors(kind, theirs, ours, call):
    """Whether NaN takes part, or an in-place elu with a negative scale, whose branch PyTorch reads off the result, or one of infinite slope at 0, or a limit that is NaN."""
    return holds_nan(kind, theirs, ours, call) or "elu" in call and bool(re.search(r"_\(.*(scale=-|, -[\d.]+)|[(,= ]-?(inf|nan)\b", call.partition("\n")[0])) or "hardtanh" in call and bool(re.search(r"[, =]nan[,)]", call.partition("\n")[0]))


def unlike_sizes(kind, theirs, ours, call):
    """Whether the first two tensors have different sizes."""
    sizes = re.findall(r"<\w+ (\[[^]]*\]) by", call)
    return len(sizes) > 1 and sizes[0] != sizes[1]


def given_statistics(kind, theirs, ours, call):
    """Whether a batch normalisation goes by the statistics that it is given."""
    return bool(re.search(r"(>|None), False, |training=False", call))


def to_width_of_one(kind, theirs, ours, call):
    """Whether what is resized gets one column: by a size, or by a scale."""
    width = re.search(r"<\w+ \[[^]]*?(\d+)\] by", call)
    scale = re.search(r"\[[\d.e+-]+, ([\d.e+-]+)\]\)", call)
    return bool(re.search(r", \[\d+, 1\]", call)) or bool(width and scale) and int(int(width[1]) * float(scale[1])) == 1


def strided_one(kind, theirs, ours, call):
    """Whether an out= has a dimension of size 1, besides its first, whose stride is not that of rows in order."""
    out = re.search(r"out=<\w+ \[([^]]*)\] by \[([^]]*)\]", call)
    sizes, strides = ([int(each) for each in re.findall(r"\d+", group)] for group in out.groups()) if out else ([], [])
    return any(size == 1 and stride != math.prod(sizes[dim:]) for dim, (size, stride) in enumerate(zip(sizes, strides)) if dim)


def other_count(kind, theirs, ours, call):
    """Whether the second tensor has not one number for each row or column of the first, or, of a gradient, has them in another shape:
    what PyTorch makes of that with create_graph is broadcast."""
    sizes = [[int(size) for size in re.findall(r"\d+", each)] for each in re.findall(r"<\w+ \[([^]]*)\] by", call)]
    if len(sizes) < 2 or not sizes[0]:
        return False
    ones = [1] * (len(sizes[0]) - 1)
    dim = re.search(r">, (-?\d+)\)|dim=(-?\d+)", call)
    wanted = sizes[0][-1] if dim and (dim[1] or dim[2]) != "0" else sizes[0][0]
    return math.prod(sizes[1]) != wanted or "gradient" in kind and sizes[1] not in ([sizes[0][0], *ones], [*ones, sizes[0][-1]])


def repeated(kind, theirs, ours, call):
    """Whether the first tensor's elements share memory, or are one number."""
    low, high, *_ = next(iter(held(call)), (0, 1))
    return shares_memory(kind, theirs, ours, call) or low == high


def unstable(kind, theirs, ours, call):
    """Whether places (whole numbers) differ, and no stable order was asked for."""
    return "stable=True" not in call and bool(re.search(r"\n\d+ there, \d+ here", call))


def near(call, part):
    """Whether the two numbers that are told differ by no more than a part of them."""
    pair = re.search(r"\n(\S+) there, (\S+) here", call)
    one, other = (complex(each) for each in pair.groups()) if pair else (0, 1)
    return abs(one - other) <= part * abs(one)


def no_digits(kind, theirs, ours, call):
    """Whether both numbers that are told are what rounding leaves of the largest one."""
    pair = re.search(r"\n(\S+) there, (\S+) here", call)
    most = max((max(abs(low), abs(high)) for low, high, *_ in held(call)), default=0)
    return bool(pair) and max(abs(complex(each)) for each in pair.groups()) <= 1e-6 * most


def long_step(kind, theirs, ours, call):
    """Whether a slice has a step whose sum with its size passes 64 bits."""
    return any(int(step) >= 2**62 for step in re.findall(r"slice\([^()]*(?:, |step=)(\d+)\)", call))


def fewer_dims(kind, theirs, ours, call):
    """Whether the second tensor has fewer dimensions than the first, and is no batch of vectors for it."""
    sizes = [each.split(", ") for each in re.findall(r"<\w+ \[([^]]*)\] by", call)]
    return len(sizes) > 1 and len(sizes[1]) < len(sizes[0]) and sizes[1] != sizes[0][:-1]


def arguments_of(call):
    """The name of an operator called through torch.ops, and the words for its arguments by place and by name; or None."""
    head = re.match(r"(?:pybind11_\w+\.|aten::)(\w+)(?:\.\w+)?\(", call)
    if not head:
        return None
    words, depth, start, line = [], 0, head.end(), call.partition("\n")[0]
    for place in range(head.end(), len(line)):
        sign = line[place]
        if depth == 0 and sign in ",)":
            words.append(line[start:place].strip())
            start = place + 1
        depth += (sign in "<([{") - (sign in ">)]}")
        if depth < 0:
            break
    named = [word.split("=", 1) for word in words if re.match(r"[a-z]\w*=", word)]
    return head[1], [word for word in words if word and not re.match(r"[a-z]\w*=", word)], {name: word for name, word in named}


def takes(kind, word):
    """Whether an argument of TorchScript's type takes what a word tells: a tensor of one element stands for a number."""
    if kind.startswith("Optional") and word == "None":
        return True
    kind = re.sub(r"^Optional\[(.*)\]$", r"\1", kind)
    if word.startswith("<"):
        return kind == "Tensor" or kind in ("int", "float", "number", "bool", "complex") and bool(re.match(r"<\w+ \[(1(, 1)*)?\]", word)) or kind == "t"
    if re.match(r"[\[(]|torch\.Size|\{", word) and not re.match(r"\([-\d.einfa+]+j\)$", word):
        return "<" in word if kind == "List[Tensor]" else kind.startswith(("List", "Dict", "Tuple", "t"))
    if word.startswith(("'", '"')):   # a list of its letters
        return kind in ("str", "t", "List[str]")
    return kind != "Tensor" and not kind.startswith(("List", "Dict"))


def on_numbers(kind, theirs, ours, call):
    """Whether a call through torch.ops fits an operator of TorchScript's on Python values alone, and none on tensors."""
    import torch
    given = arguments_of(call)
    fitting = set()
    for schema in torch._C._jit_get_schemas_for_operator(f"aten::{given[0]}") if given else ():
        wanted = {argument.name: argument for argument in schema.arguments}
        pairs = [*zip([each for each in wanted.values() if not each.kwarg_only], given[1]), *((wanted.get(name), word) for name, word in given[2].items())]
        left = [each for each in list(wanted.values())[len(given[1]):] if each.name not in given[2] and not each.has_default_value()]
        if len(given[1]) <= len(wanted) and not left and all(each and takes(str(each.type), word) for each, word in pairs):
            fitting.add(any(str(each.type) in ("Tensor", "Optional[Tensor]", "List[Tensor]") for each in schema.arguments))
    return fitting == {False}


def any_order(call):
    """Whether a tensor of integers of the call, of more than one element, is anything but rows in order."""
    for sizes, strides in re.findall(r"<int(?:64|32) \[([^]]*)\] by \[([^]]*)\]", call.partition("\n")[0]):
        sizes, strides = ([int(each) for each in part.split(",")] for part in (sizes, strides)) if sizes else ([], [])
        if any(size > 1 and stride != math.prod(sizes[d + 1:]) for d, (size, stride) in enumerate(zip(sizes, strides))):
            return True
    return False


def no_elements(kind, theirs, ours, call):
    return bool(re.search(r"<\w+ \[([^]]*, )?0[,\]]", call))


def conjugates(call):
    """Whether the two complex numbers that are told are conjugate to one another, as on the two sides of a cut."""
    pair = re.search(r" (\S+j\)?) there, (\S+j\)?) here", call)
    one, other = (complex(each) for each in pair.groups()) if pair else (0, 1)
    return abs(one - other.conjugate()) <= 1e-9 * abs(one)


def beyond(kind, theirs, ours, call):
    """Whether an integer beyond 64 bits is what one side tells."""
    words = [bool(re.search(r"Overflow when unpacking|int too (big|large)|can't convert negative int", told)) for told in (theirs, ours)]
    return any(words) and not all(words)


def rows_apart(kind, theirs, ours, call):
    """Whether an out of more than two dimensions is anything but rows in order."""
    out = re.search(r"out=<\w+ \[([^]]*)\] by \[([^]]*)\]", call)
    sizes, strides = ([int(each) for each in part.split(",")] for part in out.groups()) if out and out[1] else ([], [])
    return len(sizes) > 2 and any(strides[d] != sizes[d + 1] * strides[d + 1] for d in range(len(sizes) - 1) if sizes[d] > 1)


def strided_out(kind, theirs, ours, call):
    """Whether an out is anything but rows in order."""
    out = re.search(r"out=<\w+ \[([^]]*)\] by \[([^]]*)\]", call)
    sizes, strides = ([int(each) for each in part.split(",")] for part in out.groups()) if out and out[1] else ([], [])
    return any(strides[d] != math.prod(sizes[d + 1:]) for d in range(len(sizes)) if sizes[d] > 1)


def sizes_of(text):
    """The numbers of elements of the tensors that a text shows."""
    return [math.prod(int(size) for size in re.findall(r"\d+", each)) for each in re.findall(r"<\w+ \[([^]]*)\] by", text)]


def target_grew(kind, theirs, ours, call):
    """Whether some target of a call has another number of elements than all that it reads."""
    line = call.partition("\n")[0]
    targets = re.findall(r"\w+=<[^<>]*>", line)
    read = sizes_of(re.sub(r"\w+=<[^<>]*>", "", line))
    return bool(targets) and any(size < max(read, default=0) for each in targets for size in sizes_of(each))


def resized(kind, theirs, ours, call):
    """Whether some target of a call has no elements, or another number of them than all that it reads, which do not lie in order."""
    line = call.partition("\n")[0]
    targets = re.findall(r"\w+=<[^<>]*>", line)
    read = [(*([int(each) for each in re.findall(r"\d+", group)] for group in pair),) for pair in re.findall(r"<\w+ \[([^]]*)\] by \[([^]]*)\]", re.sub(r"\w+=<[^<>]*>", "", line))]
    apart = any(size > 1 and stride != math.prod(sizes[dim + 1:]) for sizes, strides in read for dim, (size, stride) in enumerate(zip(sizes, strides)))
    return apart and any(size not in [math.prod(sizes) for sizes, _ in read] for each in targets for size in sizes_of(each))


def shared_beside_permuted(kind, theirs, ours, call):
    """Whether one tensor's elements share memory, and another one's do not lie in order."""
    places = []
    for group in re.findall(r"<\w+ \[([^]]*)\] by \[([^]]*)\]", call.partition("\n")[0]):
        sizes, strides = ([int(each) for each in re.findall(r"\d+", part)] for part in group)
        long = [(size, stride, math.prod(sizes[dim + 1:])) for dim, (size, stride) in enumerate(zip(sizes, strides)) if size > 1]
        shared = len({stride for _, stride, _ in long}) < len(long) or any(stride == 0 for _, stride, _ in long)
        places.append((shared, any(stride != wanted for _, stride, wanted in long)))
    return any(one[0] and other[1] for i, one in enumerate(places) for j, other in enumerate(places) if i != j)


def last_apart(kind, theirs, ours, call):
    """Whether the last dimension of one of the first three tensors does not lie in order."""
    return any(not each.endswith(", 1") for each in re.findall(r"<\w+ \[[^]]*\] by \[([^]]*)\]", call)[:3])


def opposite(call):
    """Whether the two numbers that are told differ by the sign alone."""
    pair = re.search(r"\n([-+.\de]+) there, ([-+.\de]+) here", call)
    return bool(pair) and abs(float(pair[1]) + float(pair[2])) <= 1e-5 * abs(float(pair[1]))


def odd_dims(kind, theirs, ours, call):
    """Whether a list of dimensions has a negative one, or one twice."""
    dims = re.search(r">, \[([-\d, ]*)\]|dim=\[([-\d, ]*)\]", call)
    dims = re.findall(r"-?\d+", (dims[1] or dims[2] or "") if dims else "")
    return len(set(dims)) < len(dims) or any(dim.startswith("-") for dim in dims)


# What torch.ops takes in PyTorch for an argument of a kind: a flag is anything's truth, a dtype an integer, a number a tensor's.
TAKEN = {"int": "int bool Tensor torch.dtype", "float": "float int bool Tensor", "Number": "int float bool complex Tensor torch.dtype", "str": "str",
         "torch.dtype": "torch.dtype int bool Tensor", "torch.layout": "torch.layout int bool", "torch.memory_format": "torch.memory_format int bool",
         "Tensor": "Tensor NoneType", "tuple of ints": "tuple list int bool Tensor torch.Size dict NoneType", "tuple of Tensors": "tuple list Tensor dict",
         "torch.device": "torch.device str", "torch.Storage": "torch.storage.UntypedStorage torch.storage.TypedStorage", "torch.Generator": "torch.Generator torch._C.Generator"}


def of_other_kinds(kind, theirs, ours, call):
    """Whether a call that no overload is for is for one of them by torch.ops' rules, and goes through torch.ops."""
    got = re.search(r"got \((.*)\), but expected one of", ours)
    if not got or not call.startswith(("pybind11_", "aten::")):
        return False
    given = [each.split("=") for each in re.split(r", (?![^(]*\))", got[1]) if each]
    for overload in re.findall(r"^ \* \((.*)\)$", ours, re.M):
        wanted = [each.partition(" = ") for each in overload.split(", ")]
        wanted = [(*each[0].rpartition(" ")[::2], each[2]) for each in wanted]
        positional = [each for each in wanted[:next((i for i, each in enumerate(wanted) if each[1] == "*"), None)]]
        named = {name: (what, default) for what, name, default in wanted}
        pairs = [(each[-1], (positional[i][0], positional[i][2]) if i < len(positional) else None) if len(each) == 1 else (each[1], named.get(each[0])) for i, each in enumerate(given)]
        if all(want and (want[0] == "bool" or what in TAKEN.get(want[0], "").split() or what == "NoneType" and want[1] == "None") for what, want in pairs):
            return True
    return False


# What every function takes for an argument of a kind.
NATURAL = {"int": "int", "float": "float int", "Number": "int float bool complex", "tuple of ints": "tuple list int torch.Size", "tuple of Tensors": "tuple list", "Tensor": "Tensor"}


def taken_by_ops(kind, theirs, ours, call):
    """Whether an argument of a call through torch.ops is of a type that is taken there, and by no function outside of it."""
    said = re.search(r"must be ([\w. ]+?), not ([\w.]*\w)", ours)
    if not said or not call.startswith(("pybind11_", "aten::")):
        return False
    wanted, given = (word.replace("kindling.", "torch.") for word in said.groups())
    return given in TAKEN.get(wanted, "").split() and given not in NATURAL.get(wanted, wanted).split()


def flag_or_dim(kind, theirs, ours, call):
    """Whether a call without an overload has a number or None where there is a flag in one overload and a dimension in another."""
    return bool(re.match(r"pybind11_\w+\.\w+\(<[^>]*>, (None|-?\d+)[,)]", call))


def other_batch(kind, theirs, ours, call):
    """Whether pivots have not the batch of their matrices."""
    sizes = [each.split(", ") for each in re.findall(r"<\w+ \[([^]]*)\] by", call)]
    return len(sizes) > 1 and sizes[0][:-2] != sizes[1][:-1]


def negated_index(kind, theirs, ours, call):
    """Whether a tensor of integers of the call is lazily negated."""
    return bool(re.search(r"<int(64|32) [^<>]* neg\b", call.partition("\n")[0]))


def near_integers(call):
    """Whether the two numbers that are told differ by one."""
    pair = re.search(r"\n(\d+) there, (\d+) here", call)
    return bool(pair) and abs(int(pair[1]) - int(pair[2])) == 1


def no_windows(kind, theirs, ours, call):
    """Whether a gradient of windows has not one dimension more than what they were taken of."""
    sizes = re.search(r"<\w+ \[([^]]*)\] by .*?>, \[([^]]*)\]", call)
    return bool(sizes) and len(sizes[1].split(",")) != len(sizes[2].split(",")) + 1


def shares_memory(kind, theirs, ours, call):
    """Whether the first tensor's elements share memory: a stride of 0, or two strides that are one."""
    first = re.search(r"<\w+ \[([^]]*)\] by \[([^]]*)\]", call)
    strides = [stride for size, stride in zip(first[1].split(", "), first[2].split(", ")) if size not in ("", "0", "1")] if first else []
    return "0" in strides or len(set(strides)) < len(strides)


def singular(kind, theirs, ours, call):
    """Whether the numbers that are told are what an inverse of a singular matrix has, or there are numbers so far apart that it may be one."""
    return bool(re.search(r"\n\S*(nan|inf)\S* there|\n\S+ there, \S*(nan|inf)\S* here|LinAlgError", kind + call)) or far_apart(kind, theirs, ours, call)


def past_int64(kind, theirs, ours, call):
    """Whether a number of the call is between 2**63 and 2**64, or -2**63, whose negative is."""
    return bool(re.search(r"[=, (]-9223372036854775808\b", call.partition("\n")[0])) or any(2**63 <= int(number) <= 2**64 for number in re.findall(r"[(=, ](\d{19,20})[,)]", call.partition("\n")[0]))


def neither_finite(call):
    """Whether both numbers that differ are infinite or NaN."""
    return bool(re.search(r"\n\S*(nan|inf)\S* there, \S*(nan|inf)\S* here", call))


def both_not_finite(kind, theirs, ours, call):
    """Whether both numbers that differ are infinite or NaN, and come of such numbers, or of ones whose products may be."""
    return neither_finite(call) and (not_finite(kind, theirs, ours, call) or far_apart(kind, theirs, ours, call))


def off_by_little(kind, theirs, ours, call):
    """Whether the numbers differ by less than PyTorch's fits are good to, or are far out, where it has no digits left."""
    return apart(call)[1] <= 1e-5 or far_out(kind, theirs, ours, call)


def base_beyond_dtype(kind, theirs, ours, call):
    """Whether the base of a power is a number that the exponent's dtype has not."""
    base = re.match(r"[^(]*\((-?[\d.]+(?:e[+-]?\d+)?),", call)
    return bool(base) and abs(float(base[1])) > (65504 if "<float16" in call else 3.4e38)


def written_as_itself(call):
    """Whether a statement under hooks writes to what another name of its operand stands for (`type_as` and its like give the tensor itself)."""
    found = re.search(r"(saved_tensors_hooks|save_on_cpu)\([^\n]*\n +(v\d+)\.\w+_\((v\d+)\)", call)
    return bool(found) and bool(re.search(rf"^\s*{found[2]} = {found[3]}\.\w+\(", call, re.M))


def apart(call):
    """PyTorch's number where numbers differ, and how far ours is from it; (0, infinity) where they are not numbers."""
    pair = re.search(r"\n([-+.\dej()]+) there, ([-+.\dej()]+) here", call)
    return (complex(pair[1]), abs(complex(pair[1]) - complex(pair[2]))) if pair else (0, math.inf)


def nearly(call, share):
    """Whether the numbers that differ do by less than this share of them."""
    theirs, gap = apart(call)
    return gap <= share * abs(theirs)


def far_out(kind, theirs, ours, call):
    return any(max(abs(low), abs(high)) > 1e5 or nan or infinite for low, high, _, nan, infinite in held(call))


def large_number(call):
    """Whether a Python number of the call is beyond 1e5."""
    return any(abs(float(number)) > 1e5 for number in re.findall(r"(?<=[(=, ])-?\d+(?:\.\d+)?(?:e\+\d+)?(?=[,)])", re.sub(r"<[^<>]*>|\[[^][]*\]", "", call.partition("\n")[0])))


def not_differentiable(kind, theirs, ours, call):
    """Whether it is an operator on integers, or one that counts."""
    return bool(re.search(r"\b(bitwise_\w+|gcd|lcm|linalg_matrix_rank|matrix_rank|__\w+__)\b", call))


def on_meta(kind, theirs, ours, call):
    return bool(re.search(r"<[^<>]* meta\b|device='meta'", call))


def some_without_grad(kind, theirs, ours, call):
    """Whether some tensors of the call require grad, and some do not."""
    marks = re.findall(r"<\w+ \[[^<>]*>", call)
    return 0 < sum(" grad" in each for each in marks) < len(marks)


def from_gradients(program):
    """The variables of a program that are gradients or computed from such, each with what it was last given."""
    tainted = {}
    for target, value in re.findall(r"^\s*(v\d+)(?:, v\d+, _)? = (.*)$", program, re.M):
        if "autograd.grad(" in value or tainted.keys() & set(re.findall(r"\bv\d+\b", value)):
            tainted[target] = value
    return tainted


def out_of_range(kind, theirs, ours, call):
    """Whether a number of the call, beside those that its tensors hold, is an integer beyond 2**53 or a number beyond float32, and who refuses says so."""
    numbers = re.sub(r"<[^<>]*>", "", call.partition("\n")[0])
    extreme = re.search(r"(?<![\w.])-?\d{16,}(?![\d.])|[-+\d.]e\+?(3[89]|[4-9]\d|\d{3})\b", numbers)
    said = re.search(r"overflow|converted|too (many|large)|can only be 0|negative|range|[Mm]emory|Storage size|exceed|must be (finite|positive)|bounds|beyond", theirs if "Error" in theirs else ours)
    return bool(extreme and said)


def of_gradients(kind, theirs, ours, call):
    """Whether what differs is a gradient, what a hook saw of one, or computed from one."""
    name, _, program = call.partition(":")
    return name == "hooks" or name in from_gradients(program)


def flattened_gradient(kind, theirs, ours, call):
    """Whether what differs is, or comes of, a gradient of which some variable is a copy or not, as its strides have it; or a zero that
    has no memory in PyTorch."""
    name, _, program = call.partition(":")
    tainted = from_gradients(program)
    return name in tainted and bool(re.match(r" shares \(\) there, \(\d+,\) here", program)) or name in tainted and any(re.search(r"\.(reshape|flatten|ravel|contiguous)\(", value) for value in tainted.values())


def writes_to_gradient(kind, theirs, ours, call):
    """Whether the statement that differs writes to what autograd.grad gave, or to a view of it."""
    target = re.match(r"['\"]\(*(v\d+)", call)
    return bool(target) and of_gradients(kind, theirs, ours, target[1] + ":" + call)


def slope_at_nan(kind, theirs, ours, call):
    """Whether a program may take one of some functions of NaN, and PyTorch's slope is 0 or NaN."""
    return "(NaN among the variables)" in call and bool(re.search(r"[ (](-?0\.0|nan)\S* there", call)) and bool(re.search(r"F\.(hardtanh|relu6|elu|selu|hardswish)\(|logit", call))


def median_of_gradient(kind, theirs, ours, call):
    """Whether what differs comes of a median along a dimension of an expanded tensor, as gradients are, or of what is computed from one or written with it."""
    name, _, program = call.partition(":")
    expanded, tainted = set(), set()
    for targets, writes, value in re.findall(r"^\s*((?:\w+, )*\w+)( = |\.\w+_\(|\[[^=]*\] = )(.*)$", program, re.M):
        used = set(re.findall(r"\bv\d+\b", value))
        if writes != " = ":
            tainted |= {targets} if tainted & used else set()
            continue
        targets = set(targets.split(", "))
        if "autograd.grad(" in value or ".expand" in value or expanded & used and not tainted & used:
            expanded |= targets
        if re.search(r"v\d+\.median\(\d\)", value) and expanded & used or tainted & used:
            tainted |= targets
    return name in tainted or kind.startswith("grad") and bool(tainted)


def calls(names):
    """Whether a program calls one of these."""
    return lambda kind, theirs, ours, call: bool(re.search(rf"\b({names})\(", call))


def both_infinite_or_nan(kind, theirs, ours, call):
    """Whether both numbers that differ are not finite, and are complex or those of gradients."""
    return both_not_finite(kind, theirs, ours, call) and ("gradient" in kind or bool(re.search(r"\n\S*j\)? there, ", call)))


def castable(kind, theirs, ours, call):
    """Whether the dtype that PyTorch asks an out to have can be cast to the one that it has."""
    import torch
    pair = re.search(r"Expected out tensor to have dtype (?:c10::)?(.+?), but got (?:c10::)?(.+?) instead", theirs)
    words = [word.removesuffix(" int").lower() for word in pair.groups()] if pair else []
    dtypes = [getattr(torch, NAMES_IN_C.get(word, word), None) for word in words]
    return len(dtypes) == 2 and None not in dtypes and torch.can_cast(*dtypes)


# What C++ calls dtypes that have another name in Python.
NAMES_IN_C = {"unsigned char": "uint8", "signed char": "int8", "unsigned short": "uint16", "unsigned": "uint32", "unsigned int": "uint32", "unsigned long": "uint64",
              "complex<float>": "complex64", "complex<double>": "complex128"}
# Those that factor or invert matrices, and those whose sums of products leave what rounding leaves where numbers are nearly equal.
LINEAR = r"_?linalg_\w+|_?(slog|log)?det|p?inverse|cholesky\w*|lu\w*|triangular_solve|svd|nuclear_norm|matrix_(power|exp)|lstsq|or[gm]qr|chain_matmul"
SUMS = r"\w*norm\w*|_?c?pdist\w*|_?(euclidean_|c)dist\w*|(var|std)(_mean)?|cov|corrcoef|cosine_\w+|pairwise_distance|_?fft_\w+|i?stft"


# Of programs (programs.py), whose name is "program": `call` is the whole program.
PROGRAMS = [
    # Proven by the same program where PyTorch saves copies and keeps its graphs: see right_all_the_same in programs.py.
    Known(r"program", r"^RuntimeError there, (an answer|CheckpointError) here: .* \(about what is saved alone: the same with copies\)$",
          r"modified by an inplace operation|Trying to backward through the graph a second time|has been detached in-place|A view was created in no_grad mode|is a view and its base or another view of its base|created in inference mode and its base or another view|where expected condition to be a boolean",
          r"^(an answer|CheckpointError)",
          "What no derivative needs is not kept, and of what was written to the old value is.", "keeps fewer tensors for backward"),
    Known(r"program", r"^(grad|what hooks saw): (value|nan or infinity)$", r"", r"", "What a hook keeps of a result is the result itself there, whose data is another's now.", "keeps it and its graph alive for ever",
          lambda kind, theirs, ours, call: bool(re.search(r"(saved_tensors_hooks|save_on_cpu)\([^\n]*\n +(v\d+) = [^\n]*(\n.*)*\n\2\.data = ", call))),
    Known(r"program", r"^grad: nan or infinity$", r"", r"", "Where the norm is 0, so is its slope, whatever comes back.", "norm of zeros is 0 also", lambda kind, theirs, ours, call: "nan there, 0.0 here" in call and ".norm(" in call),
    Known(r"program", r"^(grad|what hooks saw): value$", r"", r"", "With hooks that pack saved tensors PyTorch takes the new value for the old one, and the gradient is wrong.",
          "keeps a copy of the old value", lambda kind, theirs, ours, call: bool(re.search(r"(saved_tensors_hooks|save_on_cpu)\([^\n]*\n +(v\d+)\.\w+_\([^\n]*\b\2\b", call)) or written_as_itself(call)),
    Known(r"program", r"^(variable|grad|what hooks saw): value$|^RuntimeError there, an answer here", r"", r"", "Whether the sign of a complex number is larger than 1.", "Where a result is zero but for rounding",
          lambda kind, theirs, ours, call: bool(re.search(r"^\s*(v\d+) = v\d+\.sgn\(\)\n(?s:.*)^\s*\1\[\1\.detach\(\)\.abs\(\) > 1\]", call, re.M))),
    Known(r"program", r"^RuntimeError there, an answer here", r"modified by an inplace operation", r"^an answer", "What is saved of an operand that is written to as well is its old value.", "More has a derivative than in PyTorch",
          lambda kind, theirs, ours, call: bool(re.search(r"^\s*(v\d+)\.\w+_\(\1\)", call, re.M))),
    Known(r"program", r"^RuntimeError there, an answer here", r"does not support automatic differentiation for outputs with complex dtype", r"^an answer",
          "Their formulas hold for complex numbers too.", "More has a derivative than in PyTorch"),
    Known(r"program", r"^RuntimeError there, an answer here", r"ZeroTensors are immutable|Expected isFloatingType", r"^an answer",
          "A gradient that is zero everywhere is a tensor like others; PyTorch's own representation of it gets in the way of sums in place.", "stops with an internal assertion"),
    Known(r"program", r"(grad|what hooks saw) (after|before) an error in backward|^an answer there, RuntimeError here: Trying to backward through .* after an error in backward$", r"", r"",
          "What was reached before the error depends on the order in which nodes run, which nobody can rely on.", "What an error in the middle of a backward pass"),
    Known(r"program", r" of memory read and written at once$", r"", r"",
          "PyTorch does not define in which order elements are read and written; it refuses the cases that it can tell.", "meets the elements in an order of its own"),
    Known(r"program", r"(value|nan or infinity) decided by rounding", r"", r"",
          "PyTorch's own answer changes as much when the program's numbers change in their last digit.", "Where a result is zero but for rounding"),
    Known(r"program", r"^(variable|what hooks saw): stride$", r"", r"", "PyTorch's gradient is expanded or permuted where ours is not, or the reverse.", "The strides of a gradient", of_gradients),
    Known(r"program", r"^variable: shares$", r"", r"", "Whether a gradient's strides let it be flattened without a copy.", "The strides of a gradient", flattened_gradient),
    Known(r"program", r"^grad: value$", r"", r"", "Written to behind its back, what PyTorch saved of it twice no longer fits together.", "keeps fewer tensors for backward",
          lambda kind, theirs, ours, call: bool(re.search(r"\.data\.\w+_\(|detach\(\)\.\w+_\(", call)) and "F.logsigmoid(" in call),
    Known(r"program", r"^RuntimeError there, an answer here|^an answer there, RuntimeError here", r"view size is not compatible|^an answer", r"view size is not compatible|^an answer", "Whether a gradient's strides let it be viewed so.", "The strides of a gradient", writes_to_gradient),
    Known(r"program", r"^(_is_view|base) ", r"", r"", "Whether a derivative is a view of another one.", "is a view or a copy, or requires grad", of_gradients),
    Known(r"program", r"^what hooks saw: int 2 there, int 1 here$", r"", r"", "A number is no tensor here.", "`x[...] = number`", lambda kind, theirs, ours, call: bool(re.search(r"\] = -?\d", call))),
    Known(r"program", r"^(variable|grad|what hooks saw): nan or infinity$", r"", r"", "Which part of a complex number is NaN depends on the order of its products.", "part of a complex number",
          lambda kind, theirs, ours, call: "complex128" in call and bool(re.search(r"(nan|inf)\S* there, \S*(nan|inf)\S* here", call) or
                                                                          re.search(r"\bnan there", call) and re.search(r"\.(real|imag)\b|view_as_real", call))),
    Known(r"program", r"^grad: shape$", r"", r"", "A leaf whose shape was changed after a graph was made of it.", "A leaf whose shape is changed",
          lambda kind, theirs, ours, call: "inference_mode" in call and bool(re.search(r"(squeeze|t)_\(", call))),
    Known(r"program", r"^RuntimeError there, an answer here", r"A view was created in no_grad mode and is being modified", r"^an answer",
          "A formula of a derivative is nobody's no_grad().", "may be written to", writes_to_gradient),
    Known(r"program", r"^RuntimeError there, an answer here", r"This view was created inside a custom Function", r"^an answer", "What no derivative needs is not kept.", "keeps fewer tensors for backward",
          lambda kind, theirs, ours, call: bool(re.search(r"no_grad\(\):\n +v\d+\.\w+_\(", call))),
    Known(r"program", r"^RuntimeError there, NotImplementedError here", r"A view was created in (no_grad|inference) mode|is a view and its base or another view|unsupported operation: (some|more than one) element|Inference tensors cannot be saved",
          r"not implemented for", "The call has two faults.", "wrong in two ways"),
    Known(r"program", r"^RuntimeError there, an answer here", r"some elements of the input tensor and the written-to tensor refer to a single|more than one element of the written-to tensor", r"^an answer",
          "PyTorch refuses the cases that it can tell, by their strides.", "meets the elements in an order of its own"),
    Known(r"program", r"^an answer there, RuntimeError here", r"", r"a leaf Variable that requires grad|Inference tensors cannot be saved", "PyTorch has forgotten that it requires grad, and says it all the same.",
          "given the data of an inference tensor", lambda kind, theirs, ours, call: bool(re.search(r"inference_mode\(\)(?s:.*)\.data = ", call))),
    Known(r"program", r"^variable: str 'RuntimeError' there, a tensor of", r"", r"", "PyTorch has no version to tell of what was an inference tensor.", "has no version in PyTorch",
          lambda kind, theirs, ours, call: bool(re.search(r"inference_mode\(\)(?s:.*)\.data = ", call))),
    Known(r"program", r"^RuntimeError there, an answer here", r"The size of tensor a|shape .* is invalid", r"^an answer", "PyTorch makes the view anew by the call that made it, without what was done to its shape in place.",
          "is made anew from where it lies", calls(r"v\d+\.(t_|squeeze_|unsqueeze_|transpose_)")),
    Known(r"program", r"^IndexError there, an answer here", r"select\(\): index 0 out of range", r"^an answer", "Normalisation of no channels.", "answer for tensors without elements", calls(r"bn\d+|F\.batch_norm")),
    Known(r"program", r"^IndexError there, (RuntimeError|NotImplementedError) here", r"have non-zero size", r"does not support complex|not implemented for", "The call has two faults.", "wrong in two ways"),
    Known(r"program", r"^what hooks saw: int 2 there, int 3 here$", r"", r"", "Its condition has an edge that leads nowhere.", "an edge for its condition", calls("torch.where")),
    Known(r"program", r"^(grad|variable|what hooks saw): (value|nan or infinity)$", r"", r"", "At NaN PyTorch's vector loop has 0 or NaN.", "its vector loop has 0 or NaN", slope_at_nan),
    Known(r"program", r"^(grad|variable|what hooks saw): nan or infinity$", r"", r"", "Powers of zero, in PyTorch by its logarithm.", "Complex functions have the C standard's values",
          lambda kind, theirs, ours, call: "complex128" in call and bool(re.search(r"nan\S* there", call)) and bool(re.search(r"\.pow_?\(|\*\*", call))),
    Known(r"program", r"^RuntimeError there, IndexError here", r"setStorage: sizes", r"index out of range", "The call has two faults.", "wrong in two ways"),
    Known(r"program", r"^RuntimeError there, an answer here", r"where expected condition to be a boolean tensor", r"^an answer", "It has the dtype that it had.", "gave back in another dtype", calls("saved_tensors_hooks|save_on_cpu")),
    Known(r"program", r"^\w+ an internal error there, ", r"", r"", "PyTorch stops where it makes the history of a view in another dtype, or of a base that is a leaf again.", "stops with an internal assertion"),
    Known(r"program", r"^(variable|grad): requires_grad False there, True here after an internal error there$", r"", r"", "The same: it is left without a history.", "stops with an internal assertion"),
    Known(r"program", r"^RuntimeError there, an answer here", r"does not require grad and does not have a grad_fn", r"^an answer", "PyTorch records nothing of some operators on such a tensor.",
          "given the data of an inference tensor", lambda kind, theirs, ours, call: bool(re.search(r"inference_mode\(\)(?s:.*)\.data = ", call))),
    Known(r"program", r"^_is_view True there, False here$", r"", r"", "What PyTorch makes of inference tensors in several steps is a view of one of them.", "of inference tensors in several steps",
          lambda kind, theirs, ours, call: "inference_mode" in call and bool(re.search(r"\A(v\d+):(?s:.*)^\s*\1 = .*(torch\.stack|\.repeat|cat|tile)", call, re.M))),
    Known(r"program", r"^base ", r"", r"", "The same of a view of such a tensor.", "of inference tensors in several steps",
          lambda kind, theirs, ours, call: "inference_mode" in call and bool(re.search(r"\Av\d+: another, (v\d+)\n(?s:.*)^\s*\1 = .*(torch\.stack|\.repeat|cat|tile)", call, re.M))),
    Known(r"program", r"^(variable|grad): value$", r"", r"", "PyTorch's median along a dimension reads beyond the memory of an expanded tensor.", "median along a dimension of an expanded tensor", median_of_gradient),
    Known(r"program", r"^variable: .* that a refused statement wrote$", r"", r"", "PyTorch writes first and refuses then.", "refuses only after it has written"),
    Known(r"program", r"^(variable|grad|what hooks saw): nan or infinity$", r"", r"", "PyTorch has no number for a derivative that is zero everywhere, so that NaN times it is zero there.", "zero times NaN",
          lambda kind, theirs, ours, call: bool(re.search(r" 0(\.0)?j? there, \(?nan", call)) and "(NaN among the variables)" in call and bool(re.search(r"\.(sgn|sign|round|floor|ceil|trunc|heaviside)_?\(", call))),
    Known(r"program", r"^grad: value of gradients in one memory$", r"", r"", "PyTorch expands one gradient for several leaves without dimensions, and adds to the one memory for each.", "adds up the gradients of both"),
    Known(r"program", r"^(variable|grad): requires_grad (True|False) there, (True|False) here \(and nothing moves it\)$", r"", r"", "A derivative that is zero throughout.",
          "or requires grad where it is zero throughout"),
    Known(r"program", r"^(grad|variable): lazy ", r"", r"", "Whether the conjugation or a copy comes last.", "and whether it is lazily conjugated",
          lambda kind, theirs, ours, call: "conj()" in call and (kind.startswith("grad") or of_gradients(kind, theirs, ours, call))),
    Known(r"program", r"^(variable|grad): value$", r"", r"", "The sign of a zero is that of the C standard.", "Complex functions have the C standard's values",
          lambda kind, theirs, ours, call: "angle()" in call and bool(re.search(r" -?3\.14159\d* there, -?3\.14159", call))),
    Known(r"program", r"^(variable|grad): value$", r"", r"", "The sign of a zero is that of the C standard; PyTorch's vector loop negates by subtracting from 0.", "Complex functions have the C standard's values",
          lambda kind, theirs, ours, call: "complex128" in call and conjugates(call) and bool(re.search(r"sqrt|log|acos|asin|atan|pow|\*\*", call))),
    Known(r"program", r"^(variable|grad): value$", r"", r"", "Which of two zeros is the greatest, told apart by an angle.", "Which zero a maximum or minimum of 0 and -0",
          lambda kind, theirs, ours, call: bool(re.search(r" -?(0\.0|3\.14159\d*) there, -?(0\.0|3\.14159\d*) here", call)) and
          bool(re.search(r"\.(max|min|amax|amin)\(", call)) and bool(re.search(r"atan2|angle\(", call))),
    Known(r"program", r"^an answer there, RuntimeError here", r"", r"setStorage: sizes", "A view that was given another storage has no place in its base; PyTorch tells in backward.", "refused in the call that PyTorch refuses in backward",
          lambda kind, theirs, ours, call: bool(re.match(r"['\"]\(*v\d+\S*\.set_\(", call))),
    Known(r"program", r"^(variable|grad): value$", r"", r"", "The angle of a number with itself, which is zero but for rounding.", "Where a result is zero but for rounding",
          lambda kind, theirs, ours, call: bool(re.search(r" -?(0\.785398\d*|2\.35619\d*) there, -?(0\.0|3\.14159\d*) here| -?(0\.0|3\.14159\d*) there, -?(0\.785398\d*|2\.35619\d*) here", call)) and "atan2" in call),
    Known(r"program", r"^an answer there, RuntimeError here: setStorage", r"", r"are out of bounds for storage", "A gradient that is a view here, and was given other data.", "is a view or a copy, or requires grad",
          lambda kind, theirs, ours, call: bool(re.search(r"^(v\d+) = torch\.autograd\.grad\((?s:.*)^\1\.(data = |set_\()", call, re.M))),
    Known(r"program", r"^an answer there, CheckpointError here", r"", r"Recomputed values", "An input that leads nowhere comes back from a hook as a leaf, of which more is kept.", "keeps fewer tensors for backward",
          lambda kind, theirs, ours, call: bool(re.search(r"inference_mode\(\)(?s:.*)saved_tensors_hooks(?s:.*)checkpoint\(", call))),
    Known(r"program", r"^an answer there, RuntimeError here: a leaf Variable", r"", r"", "A call that PyTorch refuses for its dtype has brought the view up to date.", "has not been looked at since",
          lambda kind, theirs, ours, call: bool((target := re.match(r"['\"]\(*(v\d+)", call)) and re.search(rf"^{target[1]} = v\d+(\.\w+\(|\[)", call, re.M))),
    Known(r"program", r"^(variable|grad|what hooks saw): nan or infinity$", r"", r"", "A constant that is normalised is zero but for rounding.", "Where a result is zero but for rounding",
          lambda kind, theirs, ours, call: "(NaN among the variables)" in call and bool(re.search(r"batch_norm|bn\d+\(", call)) and bool(re.search(r"pow|sqrt|log|reciprocal|div_|frac| / |\*\*", call))),
    Known(r"program", r"^RuntimeError there, IndexError here", r"out of bounds for dimension", r"out of range",
          "One of PyTorch's two ways to add rows has another class.", "`index_add` beyond the end is an IndexError", calls("index_add")),
]

KNOWN = [
    *PROGRAMS,
    Known(r".*", r"^\w+ there, \w+ here", r"^\w+: .*\(call\)$", r"^\w+: .*\(call\)$",
          "A call with two faults: which of them is told, and with what class, depends on the order in which they are looked for, "
          "which in PyTorch differs from operator to operator.", "wrong in two ways", two_faults),
    Known(r".*", r"^\w+( in the \w+)? there, an answer here", r"not implemented for 'UInt(16|32|64)'", r"^an answer",
          "PyTorch has kernels of these dtypes for few operators; here they are compiled as those of other integers are.",
          "uint16, uint32 and uint64 work wherever"),
    Known(r".*", r"^RuntimeError( in the (second )?gradient)? there, an answer here", r"Promotion for uint16, uint32, uint64 types is not supported|out of bounds for (long )?unsigned", r"^an answer",
          "They are promoted as other integers are.", "uint16, uint32 and uint64 work wherever"),
    Known(r".*out", r"^(RuntimeError|TypeError) there, an answer here", r"expected at most \d+ argument|takes \d+ positional argument|match any schema|"
          r"unexpected keyword argument|invalid combination of arguments|missing value for argument '(dim|other|out)'|Unknown keyword argument|missing 1 required positional arguments|takes no keyword arguments", r"^an answer",
          "Each operator has one out overload, with all arguments that it takes otherwise; PyTorch's factories take no options beside "
          "out in torch.ops, its activations and their backward forms have no such overload, and a dim without a default is a name's own.",
          "Overloads with `out=`"),
    Known(r"_?to_sparse(_\w+)?\.\w+", r"^RuntimeError in the gradient there, an answer here", r"conversion from Sparse|Expected result Tensor to be of format CSR|to\(options\) doesn't support converting to a different layout",
          r"^an answer", "PyTorch converts no batch back.", "Conversions of batches to compressed layouts have gradients"),
    Known(r"(rand|randn|randint)_like\.\w+", r"^RuntimeError there, an answer here", r"Unknown keyword argument 'generator'|expected at most \d argument", r"^an answer",
          "A generator is taken wherever random numbers are drawn.", "`generator=` is taken"),
    Known(r".*", r"^RuntimeError there, an answer here", r"Expected a value of type '(Tensor|number|int|float|Optional\[(Tensor|number|int|float)\]|List\[(number|Tensor)\])' for argument '\w+' but instead found type '(int|float|bool|complex|Tensor|list)'",
          r"^an answer", "A number and a tensor of no dimension stand for one another in torch.ops as they do in functions.", "a number where its declaration has a tensor"),
    Known(r".*out", r"^(RuntimeError in the gradient|an answer) there, RuntimeError here", r"derivative for aten::\w+ is not implemented \(gradient\)|CopySlices|fn_edge.is_valid|^an answer",
          r"functions with out=\.\.\. arguments don't support automatic differentiation.*\(call\)",
          "PyTorch's generated out forms notice it in backward only, or not at all.", "`out=` together with an argument that requires grad"),
    Known(r".*", r"^(RuntimeError|NotImplementedError) in the (second )?gradient there, an answer here",
          r"[Tt]he derivative for .* is not implemented|derivative for \S+ is not implemented|result type \w+ can't be cast to the desired output type|Expected grad_output to have non-zero size|\"\w+_backward\" not implemented for '\w+'", r"^an answer",
          "Formulas are there for more operators and dtypes, each checked against finite differences by the tests of derivatives.", "More has a derivative than in PyTorch"),
    Known(r".*", r"^RuntimeError there, \w+( answer)? here", r"fallback doesn't currently support mutable TensorLists|fallback does not support operators with more than one mutable tensors", r"",
          "PyTorch has no fallback for several targets.", "List operators write in place to lazily conjugated"),
    Known(r"result_type\.\w+", r"^result: int \d+ there, str 'torch", r"", r"",
          "PyTorch's schema has the number of its ScalarType there.", "`torch.ops.aten.result_type` gives a dtype"),
    Known(r".*", r"^RuntimeError( in the (second )?gradient)? there, \w+( answer| in the (second )?gradient)? here", r"INTERNAL ASSERT FAILED|MKL FFT error|could not construct a memory descriptor|ArrayRef: invalid slice|inconsistent range for TensorList output|Expected a proper Tensor but got None.*\((second )?gradient\)|"
          r"Could this error message be improved|start out of range \(expected|DispatchStub: missing|returned an invalid gradient at index", r"",
          "A defect of PyTorch's, which says so.", "stops with an internal assertion"),
    Known(r".*", r"^NotImplementedError there, RuntimeError here", r"attempted to run this operator with Meta tensors, but there was no fake impl|Could not run '\S+' with arguments from the 'Meta' backend",
          r"Expected all tensors to be on the same device", "Meta tensors beside others: here that is what is told.", "wrong in two ways"),
    Known(r".*", r"^RuntimeError there, NotImplementedError here", r"^RuntimeError: .*\(call\)$", r"^NotImplementedError: .*\(call\)$",
          "Whoever catches the one catches the other.", "NotImplementedError, which is a RuntimeError"),
    Known(r".*", r"^an answer there, \w+ here|^result: (\w+ \S+|list of \d+|tuple of \d+) there, |^result: list", r"^an answer", r"", "TorchScript's operators on Python numbers share the names of torch.ops.",
          "Operators on Python numbers alone", on_numbers),
    Known(r"\w+_\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"argument '\w+' \(position 1\) must be Tensor, not (int|float|bool|complex)\.", "PyTorch makes a tensor of it, which nobody sees.", "cannot be what is written to"),
    Known(r".*", r"^RuntimeError there, AssertionError here", r"does not match device type of out parameter", r"Torch not compiled with CUDA enabled",
          "There is no such device, whatever out is on.", "wrong in two ways"),
    Known(r".*", r"stride of no elements$", r"", r"", "They lead nowhere; they are computed, where they are not kept, without the care for each operator that PyTorch's have.",
          "The strides of a tensor without elements"),
    Known(r"(nonzero|nonzero_numpy|argwhere|where)\.(default|out)", r"^(result|arguments after the call): stride$", r"^an answer", r"^an answer",
          "Rows are written as they are found.", "`nonzero` and `argwhere` give rows"),
    Known(r".*", r"^(second )?gradient: stride$", r"^an answer", r"^an answer",
          "Of a gradient that autograd.grad gives; .grad has those of its leaf, as in PyTorch.", "The strides of a gradient"),
    Known(r".*", r"^\w+( answer)? there, \w+ here", r"^an answer|\(call\)$", r"\(call\)$",
          "What is wrong with a call does not depend on how many elements there are.", "of empty and of meta tensors is refused", None, "refused"),
    Known(r".*", r"^\w+ there, an answer here|^(result|arguments after the call): (dtype|shape|stride|requires_grad|layout)|^result: [\w ]+ there, ", r"^an answer|\(call\)$", r"^an answer",
          "PyTorch's operator answers as we do where there are values.", "PyTorch works out the shapes of meta tensors", on_meta, "answered"),
    Known(r".*", r"^an answer there, RuntimeError here", r"^an answer", r"Expected all tensors to be on the same device, but found at least two devices, meta and cpu",
          "A result without values would come of values without a word.", "Meta tensors together with tensors that have values"),
    Known(r"broadcast_tensors\.\w+", r"^TypeError there, an answer here",
          r"expected Tensor as element \d+ in argument 0, but got (list|tuple)", r"^an answer", "A list is as clear as several arguments.", "takes its tensors in a list as well"),
    Known(r".*", r"^RuntimeError there, an answer here", r"Inference tensors cannot be saved for backward", r"^an answer",
          "What is not needed is not kept, so it may be an inference tensor.", "keeps fewer tensors for backward"),
    Known(r"(soft_margin_loss|special_zeta|zeta|a(rc)?tan2)\.\w+", r"^RuntimeError in the gradient there, an answer here", r"on a bool tensor is not supported", r"^an answer",
          "What is not differentiated may be a bool.", "More has a derivative than in PyTorch"),
    Known(r"_foreach_\w+\.\w+", r"^RuntimeError in the gradient there, an answer here", r"on a bool tensor is not supported|can't be cast to the desired output type", r"^an answer",
          "Each tensor of a list is as if it were alone.", "Each tensor of a list operator is treated as if it were alone"),
    Known(r".*", r"^RuntimeError there, an answer here", r"Autograd not support dtype", r"^an answer",
          "The result is of integers and does not require grad.", "What comes out in integers does not require grad"),
    Known(r"_foreach_\w+\.\w+", r"^(result|arguments after the call): requires_grad True there, False here", r"^an answer", r"^an answer",
          "Each tensor of a list is as if it were alone: PyTorch marks the results of all where one requires grad.",
          "Each tensor of a list operator is treated as if it were alone", some_without_grad),
    Known(r"(le|less_equal|lt|less|ge|greater_equal|gt|greater|eq|ne|not_equal)_\.\w+",
          r"^(result|arguments after the call): requires_grad True there, False here|^(second )?gradient is a tensor there, NoneType None here", r"^an answer", r"^an answer",
          "Their results do not move with their inputs.", "Comparisons in place"),
    Known(r"kron\.out|\w*(_like|_embed)\.\w+|empty\.\w+|cov\.\w+", r": version (not )?counted there, (not )?here", r"^an answer", r"^an answer",
          "The number of writes inside of an operator.", "may be 1 where PyTorch has 0"),
    Known(r"_fused_(adamw?|sgd|adagrad)_\.\w+", r": version not counted there, here", r"^an answer", r"^an answer",
          "A parameter that a step has written and that was saved for backward must be found.", "A fused step of an optimiser counts"),
    Known(r"(special_)?(bessel_[jy][01]|airy_ai)\.\w+", r"^(result|arguments after the call): (value|nan or infinity)", r"^an answer", r"^an answer",
          "PyTorch's are off by up to 3e-6, and have NaN where numbers are large.", "good to rounding everywhere", off_by_little),
    Known(r"hardsigmoid(_|_backward)?\.\w+", r"^(result|gradient|second gradient): value", r"^an answer", r"^an answer",
          "PyTorch has 1/6 in single precision.", "`hardsigmoid`'s gradient", lambda kind, theirs, ours, call: near(call, 1e-7)),
    Known(r"celu_?\.\w+", r"^(second )?gradient: value", r"^an answer", r"^an answer", "PyTorch has 1 / alpha in single precision going back.", "and so is `celu`'s", lambda kind, theirs, ours, call: near(call, 1e-4)),
    Known(r"__(and|or|xor|lshift|rshift)__\.out", r"^an answer there, TypeError here", r"^an answer", r"takes no keyword arguments",
          "PyTorch's answer is NotImplemented.", "Overloads with `out=`"),
    Known(r"to\.\w+", r"^result: (int|float|bool|complex) \S+ there, a tensor of", r"", r"", "A number given for a tensor.", "a number where its declaration has a tensor"),
    Known(r"_foreach_copy\.\w+", r"^(an answer|RuntimeError in the gradient) there, RuntimeError here", r"", r"must have the same number of tensors",
          "Every list operator is.", "Lists of different lengths are refused"),
    Known(r"_local_scalar_dense\.default", r"^an answer there, RuntimeError here", r"^an answer", r"elements cannot be converted to Scalar",
          "The check is item()'s there, and here that of what item() calls.", "`_local_scalar_dense` of more than one element"),
    Known(r".*", r"^(NotImplementedError|RuntimeError) there, an answer here", r"not implemented for '(Half|BFloat16|ComplexHalf)'|Unsupported dtype (Half|BFloat16)", r"^an answer",
          "They are computed in float32 and rounded, as where PyTorch has kernels of them.", "float16 and bfloat16 work in more operators"),
    Known(r".*", r"^an answer there, RuntimeError here", r"^an answer", r"must be (Tensor|Number|int|bool|float|tuple of ints), not (torch|kindling)\.dtype|got \(.*(torch|kindling)\.dtype.*\), but expected one of",
          "In PyTorch's schemas a dtype is an integer.", "a dtype where a number belongs"),
    Known(r".*", r"^an answer there, (RuntimeError|TypeError) here", r"^an answer", r"Overflow when unpacking long long\. Declaration: aten::\w+\(Tensor self, bool |must be torch\.(dtype|memory_format|layout), not (int|bool|float|Tensor)\b|must be int, not (bool|Tensor)\.|must be tuple of (ints|Tensors|Scalars), not (dict|Tensor|bool|list)\b|must be float, not Tensor\.",
          "PyTorch's functions outside of torch.ops refuse it, too.", "a number of another kind for an int"),
    Known(r".*", r"^\w+ in the (second )?gradient there, \w+ here", r"\((second )?gradient\)$", r"\(call\)$",
          "What cannot be differentiated, or has another fault, is refused at once.", "refused in the call that PyTorch refuses in backward"),
    Known(r".*out", r"^RuntimeError there, \w+ in the (second )?gradient here", r"expected at most \d+ argument|takes \d+ positional argument|match any schema|"
          r"unexpected keyword argument|invalid combination of arguments|missing value for argument", r"gradient\)$",
          "The call is one that PyTorch has no overload for.", "Overloads with `out=`"),
    Known(r"linalg_lu\w*\.\w+|_lu_with_info\.\w+|lu\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"LU without pivoting is not implemented",
          "PyTorch's for empty and meta tensors.", "needs row exchanges"),
    Known(r".*", r"^RuntimeError there, (an answer|NotImplementedError in the gradient) here", r"does not support automatic differentiation for outputs with complex dtype", r"",
          "The formulas hold for complex numbers.", "More has a derivative than in PyTorch"),
    Known(r".*", r"^\w+Error there, \w+Error here", r"\(call\)$", r"\(call\)$",
          "Both refuse.", "PyTorch works out the shapes of meta tensors", on_meta),
    Known(r"geqrf\.out|\w+\.out", r"^an answer there, RuntimeError here", r"^an answer", r"got multiple values for argument",
          "PyTorch's schemas name an input and an output alike.", "Overloads with `out=`"),
    Known(r"(rand|randn|randint|randperm)\.\w+", r"^RuntimeError there, an answer here", r"Unknown keyword argument 'generator'|match any schema|expected at most \d argument", r"^an answer",
          "A generator is taken wherever random numbers are drawn.", "`generator=` is taken"),
    Known(r".*", r"^(result|arguments after the call|gradient|second gradient): nan or infinity", r"^an answer", r"^an answer",
          "Annex G of the C standard, as far as it goes.", "Complex functions have the C standard's values", complex_nan),
    Known(r"_?fft_\w+\.\w+|i?stft\.\w+", r"^(result|arguments after the call): (stride$|lazy|shares)", r"^an answer", r"^an answer",
          "They follow the order in which MKL's passes go.", "Fourier transforms and of some linear algebra"),
    Known(r"(matrix_exp|triangular_solve|unique_dim|float_power|pow|_linalg_solve_ex|linalg_(matrix_exp|lstsq|solve_ex|solve|householder_product|inv|inv_ex|solve_triangular|tensorinv|tensorsolve)|cholesky(_inverse|_solve)?|svd|orgqr|conv_tbc)\.\w+|linalg_eig\.out", r"^(result|arguments after the call): (stride$|lazy)", r"", r"",
          "LAPACK's columns, a unary operator's number.", "Fourier transforms and of some linear algebra"),
    Known(r"(adaptive_|fractional_)?max_pool\w*\.\w+", r"^gradient: requires_grad True there, False here", r"^an answer", r"^an answer",
          "Their second derivative is 0 everywhere.", "The gradient of a maximum pooling"),
    Known(r"(cummin|cummax)\.\w+", r"^gradient: requires_grad True there, False here", r"^an answer", r"^an answer", "PyTorch gives back the input where there are no elements.", "The gradient of a maximum pooling",
          lambda kind, theirs, ours, call: bool(re.search(r"\b0[,\]]", call))),
    Known(r".*", r"^(an answer|NotImplementedError) there, RuntimeError here", r"^an answer|\(call\)$", r"pin_memory=True requires a CUDA", "There is none.", "`pin_memory=True` is refused"),
    Known(r".*", r"^(ValueError|TypeError|RuntimeError|OverflowError) there, (RuntimeError|TypeError|ValueError|OverflowError) here", r"Overflow when unpacking long|int too big to convert", r"Overflow when unpacking long|int too big to convert", "An integer beyond 64 bits.", "other words than PyTorch's"),
    Known(r".*", r"^(RuntimeError|TypeError) there, (OverflowError|ValueError) here|^(OverflowError|ValueError) there, (RuntimeError|TypeError) here",
          r"^\w+: .*\(call\)$", r"^\w+: .*\(call\)$", "An integer beyond 64 bits beside another fault.", "wrong in two ways", beyond),
    Known(r".*", r"^AttributeError there, TypeError here", r"object has no attribute", r"must be \w+, not|invalid combination|object of type", "PyTorch's functions in Python do not look at types.",
          "a TypeError where PyTorch's Python code"),
    Known(r".*", r"^an answer there, RuntimeError here", r"^an answer", r"must be Tensor, not NoneType", "PyTorch's undefined tensor.", "None where a tensor belongs"),
    Known(r".*out", r"^(RuntimeError|NotImplementedError) there, an answer here", r"Expected a proper Tensor but got None|on undefined tensor|on an undefined Tensor|nullptr \(uninitialized\)|UNKNOWN_SCALAR|There were no tensor arguments to this function|tensor does not have a device", r"^an answer",
          "As in functions.", "`out=None` is no `out`"),
    Known(r".*", r"^an answer there, RuntimeError here", r"^an answer", r"more than one element of the written-to tensor", "Some of PyTorch's operators do not look.",
          "whose elements share memory is refused"),
    Known(r"view_as_complex(_copy)?\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"only supported for half, float and double|float16", "complex32 is not there.", "complex32"),
    Known(r"view_as_complex(_copy)?\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"Tensor must have a", "PyTorch makes a copy of what is lazily negated first, which lies in rows.", "`view_as_complex` of what is lazily negated", lambda kind, theirs, ours, call: bool(re.search(r"<[^<>]* neg\b", call))),
    Known(r"linalg_(inv|cholesky)_ex\.\w+|_?linalg_solve_ex\.\w+", r"^result: (nan or infinity|value)", r"^an answer", r"^an answer", "What is left in a singular matrix is LAPACK's.",
          "`inv_ex` of a singular matrix", lambda *told: "nan or infinity" in told[0] or far_apart(*told) or expanded(*told) or no_digits(*told) or "a singular matrix" in told[3]),
    Known(r"smooth_l1_loss\.\w+", r"^gradient: value", r"^an answer", r"^an answer", "PyTorch's slope is -1 where both are equal and beta is 0.", "slope of `torch.ops.aten.smooth_l1_loss`",
          lambda kind, theirs, ours, call: bool(re.search(r"(, |beta=)-?0\.0\)|reduction=\d, 0\.0\b", call))),
    Known(r"(mse|huber|smooth_l1)_loss\.\w+", r"^(second )?gradient: value", r"^an answer", r"^an answer",
          "Of shapes that are broadcast: PyTorch divides by the number of the input's elements, not of the loss's.", "`torch.ops.aten.mse_loss` of shapes that are broadcast", unlike_sizes),
    Known(r"(arg)?sort\.\w+", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "Which of two equal elements comes first is open.",
          "of equal elements is open", unstable),
    Known(r"m?sort\.\w+", r"^(second )?gradient: value", r"^an answer", r"^an answer", "And so is which of them gets which gradient.", "of equal elements is open",
          lambda kind, theirs, ours, call: "stable=True" not in call and "equal numbers" in call),
    Known(r".*", r"^RuntimeError there, (an answer|RuntimeError in the gradient) here", r"Expected a value of type '(Optional\[)?List\[(int|Tensor)\]\]?' for argument '\w+' but instead found type '(int|Tensor|NoneType)'", r"",
          "One for a list of one.", "one integer or tensor where its declaration has a list"),
    Known(r"_pad_circular\.\w+", r"^an answer there, RuntimeError here|^RuntimeError there, an answer here", r"^an answer|Invalid padding size", r"padding size is expected to be|^an answer", "F.pad's rules hold for what it calls.", "`_pad_circular` takes what"),
    Known(r"(rsub|threshold_backward|copy|nan_to_num|_fused_rms_norm|log_sigmoid(_forward)?|bitwise_\w+|__[lr]shift__|gradient|isin|conj_physical|_standard_gamma_grad|_dirichlet_grad|ldexp|special_\w+_polynomial_\w+)\.\w+", r"^(result|arguments after the call): stride$", r"", r"",
          "They are those of the first operand that is not broadcast.", "strides of what `rsub`"),
    Known(r"(nan)?median\.\w+", r"^(result|arguments after the call|gradient): (value|nan or infinity)", r"^an answer", r"^an answer",
          "PyTorch's median along a dimension reads beyond the memory of an expanded tensor.", "median along a dimension of an expanded tensor", expanded),
    Known(r"(_foreach_)?(float_)?pow(er)?_?\.\w+", r"^(result|arguments after the call|gradient|second gradient): value|^(second )?gradient: nan or infinity", r"^an answer", r"^an answer",
          "The phase of a power with so large an exponent is that of its rounding.", "Powers of complex numbers with exponents", huge),
    Known(r".*", r"^NotImplementedError there, \w+( in the gradient)? here", r"not implemented for 'UInt(16|32|64)'", r"\(call\)$|invalid gradient at index",
          "These dtypes are no fault here, so the call's other one is told.", "uint16, uint32 and uint64 work wherever"),
    Known(r"nll_loss(2d)?(_forward)?\.\w+", r"^RuntimeError there, ValueError here", r"\(call\)$", r"\(call\)$", "The checks are those of the function.", "`torch.ops.aten.nll_loss2d` refuses sizes"),
    Known(r"fft_i?fftshift\.\w+", r"^RuntimeError there, an answer here", r"`shifts` required", r"^an answer", "Nothing to shift.", "`fftshift` over no dimension"),
    Known(r"norm_except_dim\.\w+|_weight_norm\.\w+|_fft_\w+\.\w+|unique_dim\.\w+|unique_consecutive\.\w+|embedding_dense_backward\.\w+", r"^RuntimeError( in the gradient)? there, an answer here",
          r"because the unspecified dimension size -1 can be any value|Number of zero sized dimensions is more than one", r"^an answer", "Of tensors without elements.",
          "answer for tensors without elements"),
    Known(r"m[TH]\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"only supported on matrices or batches of matrices", "A number is no matrix.", "`mT` and `mH` of a number"),
    Known(r".*", r"^an answer there, RuntimeError here", r"^an answer", r"is not differentiable with respect to argument", "An index that requires grad is a mistake.",
          "refused in the call that PyTorch refuses in backward"),
    Known(r"(?!_?(unsafe_)?view|unflatten|expand|as_strided)\w+\.\w+", r"^RuntimeError there, an answer here", r"view size is not compatible with input tensor's size and stride", r"^an answer",
          "PyTorch takes a view of what cannot be viewed.", "takes a view of a tensor whose strides do not allow it"),
    Known(r".*", r"^(NotImplementedError|AssertionError|RuntimeError) there, an answer here", r"attempted to run this operator with Meta tensors, but there was no fake impl|Could not run '\S+' with arguments from the '(Meta|CPU)' backend|"
          r"generator is not supported in refs|Expected tensor to have (meta|cpu) DeviceType|on the same device \(|in the same device, but|must all be on the same device|backend of indices \(Meta\) must match|not implemented for 'None'|"
          r"Attempting to copy from device (cpu to device meta|meta to device cpu)|tensors to be on the same device, but got|is not on the expected device|not implemented for torch\.", r"^an answer", "There is a shape to give.", "no function for the shapes of meta tensors"),
    Known(r".*", r"^an answer there, (RuntimeError|NotImplementedError) here", r"^an answer", r"Cannot copy out of meta tensor; no data!|Tensor.item\(\) cannot be called on meta",
          "Without values there is no answer.", "Meta tensors together with tensors that have values", on_meta),
    Known(r".*", r"^NotImplementedError there, an answer here", r"Cannot copy out of meta tensor; no data!", r"^an answer",
          "A number of a meta tensor stands for its dtype.", "Meta tensors together with tensors that have values", on_meta),
    Known(r"(log|special_log)sumexp\.\w+", r"^RuntimeError there, an answer here", r"output with shape \[\] doesn't match the broadcast shape", r"^an answer",
          "No dimension means all.", "`logsumexp` over no dimension"),
    Known(r"(clamp|clip)_?\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"value cannot be converted to type double without overflow",
          "Complex numbers have no order.", "a complex limit of `clamp`"),
    Known(r"pow\.Scalar_out", r"^an answer there, RuntimeError here", r"^an answer", r"result type \w+ can't be cast", "PyTorch does not look at the dtype where the base is 1.", "`pow(1 + 0j, x, out=)`"),
    Known(r"normal\.\w*out|bernoulli\.out", r"^(RuntimeError there, an answer here|an answer there, (NotImplementedError|RuntimeError) here)|^(result|arguments after the call): shape$", r"The size of tensor a|^an answer",
          r"^an answer|normal_kernel_cpu|result type \w+ can't be cast", "What is drawn has the shape of the parameters.", "`normal(out=)` and `bernoulli(out=)`"),
    Known(r"(nll_loss2d)\.\w+", r"^RuntimeError there, an answer here", r"only batches of spatial targets supported", r"^an answer", "It is F.nll_loss.", "`torch.ops.aten.nll_loss2d` refuses sizes"),
    Known(r"_fused_rms_norm\.\w+", r"^an answer there, \w+ here|^result: requires_grad True there, False here", r"", r"", "The checks are those of rms_norm.", "`_fused_rms_norm` and `_weight_norm` check"),
    Known(r"_weight_norm\.\w+", r"there, (an answer|RuntimeError) here|^result: shape", r"", r"", "The checks are those of the parts it consists of.", "`_fused_rms_norm` and `_weight_norm` check"),
    Known(r"_weight_norm\.\w+", r"^(result|(second )?gradient): (value|nan or infinity)", r"^an answer", r"^an answer", "PyTorch reads as many numbers of g as there are rows, of whatever g is.",
          "`_fused_rms_norm` and `_weight_norm` check", other_count),
    Known(r"_reshape_alias\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"out of bounds for storage", "PyTorch does not look whether the storage holds it.", "`_reshape_alias` beyond the storage"),
    Known(r"set_\.source_\w+", r"^an answer there, RuntimeError here", r"^an answer", r"Could not set tensor of type|invalid storage offset|Negative strides", "Of tensors without elements PyTorch does not look.", "`set_` to a tensor of another dtype"),
    Known(r"set_\.\w+", r"^(result|arguments after the call): shares$", r"^an answer", r"^an answer", "Storages without bytes.", "which empty storages are the same"),
    Known(r".*", r"^(result|gradient): (dtype complex32 there, complex64 here|str 'torch.complex32' there, str 'torch.complex64' here)", r"", r"", "complex32 is not there.", "complex32"),
    Known(r"complex(_out)?\.\w+|complex\.\w+", r"^an answer there, NotImplementedError here", r"^an answer", r"complex32", "complex32 is not there.", "complex32"),
    Known(r".*", r"^RuntimeError there, an answer here", r"cannot be converted to type c10::complex<c10::Half> without overflow", r"^an answer", "complex32 is not there, and complex64 holds it.", "complex32"),
    Known(r"_standard_gamma_grad\.\w+", r"^result: requires_grad False there, True here|^an answer there, NotImplementedError in the gradient here", r"^an answer", r"", "PyTorch's by its second argument is 0, which is not what the number moves by.", "`_standard_gamma_grad` by"),
    Known(r"max_unpool[23]d\.\w+", r"^RuntimeError in the gradient there, an answer here", r"is out of bounds for dimension", r"^an answer", "Nothing was put there, so nothing is taken.", "into an output without elements"),
    Known(r"_fused_(adam|adamw|sgd|adagrad)_\.\w+|_foreach_copy\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"must have the same (number of tensors|sizes and dtype)|must have at least one tensor|doesn't match the broadcast shape",
          "Lists of different lengths are a mistake.", "Lists of different lengths are refused"),
    Known(r"(_foreach_|special_)?(polygamma|digamma|psi|lgamma|gammaln|multigammaln|mvlgamma|trigamma)_?\.\w+", r"^(result|gradient|second gradient|arguments after the call): nan or infinity", r"^an answer", r"^an answer",
          "Its poles are poles.", "`polygamma` is infinite at its poles"),
    Known(r"special_i[01]e?\.\w+|i0\.\w+", r"^(gradient|second gradient): nan or infinity", r"^an answer", r"^an answer", "NaN stays.", "derivatives of Bessel functions at NaN", not_finite),
    Known(r"(hardtanh|relu6|hardshrink|softshrink|elu|celu|selu|hardswish|(special_)?logit)(_|_backward)?\.\w+", r"^(result|gradient|second gradient): (value|nan or infinity)", r"^an answer", r"^an answer",
          "At NaN PyTorch's vector loop has 0 or NaN.", "and `hardswish` at NaN", slope_of_vectors),
    Known(r"(polar|mode|var_mean|std_mean)\.\w+", r"^(result|gradient|second gradient): (nan or infinity)", r"^an answer", r"^an answer",
          "What is NaN of numbers that are none, or whose sum is.", "of infinities and NaN differ", lambda *told: not_finite(*told) or "_mean" in told[3] and far_apart(*told)),
    Known(r"(_?linalg_\w+|_?fft_\w+|triangular_solve|cholesky\w*|inverse|det|logdet|slogdet|matrix_exp|matrix_power|prod|cumprod|i?stft|cross_entropy_loss|nll_loss\w*|logsumexp|cov|corrcoef|pow|addcmul|addcdiv|mul|div|mm|bmm|matmul|addmm|baddbmm|linear|einsum|inner|v?dot|mv|addmv|tensordot|bilinear|addbmm|_?sparse_mm|conv\w*|square_?|trapz|trapezoid|cumulative_trapezoid)\.\w+",
          r"^(result|gradient|second gradient|arguments after the call): nan or infinity", r"^an answer", r"^an answer", "Sums of products that overflow: which of them are NaN depends on their order.",
          "where sums of products overflow", both_not_finite),
    Known(r"_?linalg_(svd|svdvals|matrix_rank|cond|pinv|norm|matrix_norm|eig|eigvals|lstsq)\.\w+|svd\.\w+|pinverse\.\w+|nuclear_norm\.\w+", r"^an answer there, (LinAlgError|RuntimeError) here", r"^an answer", r"contained non-finite values|should not contain infs or NaNs|the matrices have infs or NaNs|the right sides have NaNs",
          "Whether PyTorch's library notices depends on where they are.", "Singular values of a matrix that is not finite"),
    Known(r"(linalg_matrix_power|matrix_power|linalg_inv(_ex)?|inverse|linalg_solve|linalg_tensorinv|_?linalg_slogdet|_?linalg_det|det|slogdet|logdet)\.\w+", r"^an answer there, LinAlgError (in the gradient )?here|^LinAlgError (in the gradient )?there, an answer here", r"", r"",
          "Whether rounding leaves a zero.", "A matrix that is singular but for rounding"),
    Known(r"(linalg_)?matrix_exp\.\w+", r"^(result|gradient|arguments after the call): nan or infinity", r"^an answer", r"^an answer", "The norm of the matrix is infinite, and PyTorch's number of squarings is none.",
          "where sums of products overflow", lambda *told: bool(re.search(r" there, \(?-?nan", told[3])) and far_apart(*told)),
    Known(r"linalg_lstsq\.\w+", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "PyTorch leaves gelsy's exchanges as memory was, which tells where rcond leaves something out.",
          "what memory held where `rcond`", lambda kind, theirs, ours, call: not re.search(r"'gels[ds]?'", call)),
    Known(r"linalg_ldl_factor(_ex)?\.\w+", r"^(result|arguments after the call): value", r"", r"", "Which of equal pivots is taken is LAPACK's.", "Which of equal pivots", lambda *told: far_apart(*told) or "complex" in told[3]),
    Known(r"(special_)?exp2\.\w+|exp2_\.\w+|sgn_?\.\w+", r"^(result|gradient|arguments after the call): (value|nan or infinity)", r"^an answer", r"^an answer",
          "The phase of such an exponent, or the size of such a number, is beyond the digits or the range of complex64.", "(`exp2` and `sgn` of large numbers)", complex_far_out),
    Known(r"(celu|elu|rrelu|leaky_relu)_?\.\w+", r"^RuntimeError in the gradient there, an answer here", r"In-place (elu|leakyReLu) backward calculation is triggered with a negative slope", r"^an answer",
          "The old value is kept where the derivative needs it.", "keeps a copy of the old value"),
    Known(r"huber_loss\.\w+", r"^RuntimeError in the gradient there, an answer here", r"Found dtype \w+ but expected", r"^an answer", "The target is converted.", "More has a derivative than in PyTorch"),
    Known(r"unique_consecutive\.\w+", r"^result: (value|shape|tuple)|^result is|^result: ", r"", r"", "PyTorch mixes up which results to give where its flags are given by position.", "`unique_consecutive` with flags by position",
          lambda kind, theirs, ours, call: "boolean_dispatch" in call),
    Known(r"index_(add|copy|fill|reduce)_?\.\w+", r"^RuntimeError there, IndexError here", r"setStorage: sizes", r"out of range", "One of PyTorch's ways to do it restrides first.", "`index_add` beyond the end is an IndexError"),
    Known(r"__[lr]shift__\.out|bitwise_\w+\.out|(linalg_)?cross\.out|linalg_vecdot\.out", r"^RuntimeError there, an answer here", r"Expected out tensor to have dtype|expected scalar type", r"^an answer", "It is the shift's out.", "Overloads with `out=`"),
    Known(r"split_copy\.Tensor_out|linear\.out|empty\.memory_format_out|nanmean\.out|mean\.\w*out", r"^RuntimeError there, an answer here", r"The size of tensor a|doesn't match the broadcast shape|'memory_format' argument is incompatible|could not infer", r"^an answer",
          "Targets are resized as elsewhere.", "Overloads with `out=`"),
    Known(r"(max|min)\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"Expected reduction dim to be specified", "There is no element to give.", "of empty and of meta tensors is refused"),
    Known(r"\w+\.\w*out", r"^RuntimeError there, (an answer|RuntimeError in the gradient) here", r"functions with out=\.\.\. arguments don't support automatic differentiation", r"^an answer|\(gradient\)$",
          "It has no derivative, so it may write to a tensor that requires grad.", "may write to an `out` that requires grad", not_differentiable),
    Known(r"linalg_matrix_rank\.\w+", r"^RuntimeError there, an answer here", r"a leaf Variable that requires grad|variables that require grad", r"^an answer", "The same.", "may write to an `out` that requires grad"),
    Known(r"rand(int|perm)\.\w+", r"^result: dtype float32 there, int64 here", r"^an answer", r"^an answer", "As in torch.randint.", "`torch.ops.aten.randint` with `dtype=None`"),
    Known(r"view(_copy)?\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"got \(Tensor, int\), but expected one of", "In PyTorch's schemas a dtype is an integer.", "a dtype where a number belongs"),
    Known(r".*", r"^an answer there, (RuntimeError|TypeError) here", r"^an answer", r"must be [\w. ]+, not [\w.]+", "PyTorch's functions outside of torch.ops refuse it, too.", "a number of another kind for an int", taken_by_ops),
    Known(r".*", r"^\w+Error in the (second )?gradient there, an answer here", r"^\w+: (?!.*(modified by an inplace operation|a second time|[Ii]nference|does not require grad))", r"^an answer",
          "Dtypes are promoted and shapes broadcast on the way back as in the call.", "More has a derivative than in PyTorch"),
    Known(r".*", r"^\w+Error there, an answer here", r"^\w+: (?!.*(non-zero size|reduction dim|identity|[Ee]mpty|no elements|at least (one|1)|numel))", r"^an answer", "What PyTorch takes with elements has an answer without.",
          "what it takes with elements has an answer", no_elements, "taken"),
    Known(r".*out", r"^(result|arguments after the call): stride$", r"^an answer", r"^an answer", "Of a target that is resized.", "of a target that is resized", resized),
    Known(rf"({LINEAR}|{SUMS})\.\w+", r" decided by rounding$", r"", r"", "PyTorch's own answer changes as much when the call's numbers change in their last digit.", "What rounding decides"),
    Known(r".*", r"^(result|arguments after the call|(second )?gradient): nan or infinity", r"^an answer", r"^an answer", "Which of them are NaN and which infinite, or which part of a complex number.", "neither is a finite number", both_infinite_or_nan),
    Known(r"\w+\.\w*out", r"^RuntimeError there, (an answer|\w+Error in the gradient) here", r"Expected out tensor to have dtype", r"", "A result is cast to its target where it can be.", "Overloads with `out=`", castable),
    Known(r"(?:_fft_\w+)\.out|chain_matmul\.out|inner\.out", r"^an answer there, \w+ here", r"^an answer", r"Expected out tensor to have dtype|Dimension out of range", "As elsewhere.", "Overloads with `out=`"),
    Known(r"_fft_\w+\.\w+", r"^an answer there, IndexError here|^IndexError there, an answer here", r"", r"Dimension out of range|^an answer", "As in torch.fft.", "private Fourier transforms"),
    Known(r"nll_loss(_forward)?\.\w+", r"^RuntimeError there, an answer here", r"input tensor should be", r"^an answer", "It is F.nll_loss.", "`torch.ops.aten.nll_loss2d` refuses sizes"),
    Known(r"_fft_\w+\.\w+", r"^RuntimeError there, an answer here", r"duplicate dims are not allowed|is invalid for input of size", r"^an answer", "Each dimension is transformed once for each time it is named.", "private Fourier transforms"),
    Known(r"(multinomial|nonzero_static|histc|bernoulli\w*|embedding_bag|native_dropout)\.\w+", r"^an answer there, (RuntimeError|NotImplementedError) here", r"^an answer", r"offsets\[0\] has to be 0|Float can't be cast to the desired output type Bool|cannot sample n_sample|depends on values|expects p to be in", "What is wrong with a call does not depend on values.", "of empty and of meta tensors is refused", on_meta),
    Known(r"grid_sampler\w*\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"unknown interpolation mode", "PyTorch takes any number for a mode.", "`grid_sampler` with an unknown mode"),
    Known(r"histogramdd\.\w+", r"^result: str '(list|tuple)' there", r"", r"", "A list or a tuple of edges.", "edges of `histogramdd`"),
    Known(r"\w+_loss\.out|inner\.out|linalg_matrix_rank\.\w*out", r"^result: shares$", r"^an answer", r"^an answer", "A target that was made smaller has its storage.", "keeps its storage"),
    Known(r"view\.dtype", r"^result: inference False there, True here", r"^an answer", r"^an answer", "A view of an inference tensor is one.", "is an inference tensor"),
    Known(r"unflatten\.\w+", r"^RuntimeError there, IndexError here", r"unflatten got an unexpected error", r"", "The error is not wrapped.", "`unflatten` gives the error of"),
    Known(r"replication_pad\w+\.\w+|(var|std)(_mean)?\.\w+|batch_norm\.\w+|(linalg_)?det\.\w+|polar\.\w+|native_dropout\.\w+|vander\.\w+|adaptive_\w+\.\w+|set_\.\w+|_pad_packed_sequence\.\w+|triangular_solve\.\w+|scatter_reduce\.\w+", r"^(result|gradient|arguments after the call): requires_grad (True|False) there, (True|False) here", r"^an answer", r"^an answer",
          "A derivative that is zero or NaN throughout.", "or requires grad where it is zero throughout"),
    Known(r"rnn_\w+_cell\.\w+|gru_cell\.\w+|lstm_cell\.\w+", r"^(RuntimeError|IndexError) there, an answer here", r"first dim must be|Dimension out of range", r"^an answer", "Weights of one row are broadcast.", "cells take weights"),
    Known(r"linalg_lstsq\.\w+", r"^RuntimeError there, an answer here", r"The size of tensor a \(\d+\) must match", r"^an answer", "There is nothing to solve.", "answer for tensors without elements"),
    Known(r"unfold_backward\.\w+", r"^IndexError there, (an answer|RuntimeError) here", r"Dimension out of range", r"", "PyTorch's shape function for meta tensors takes the step for a dimension.", "no function for the shapes of meta tensors", on_meta),
    Known(r"linalg_cond\.\w+", r"^RuntimeError in the gradient there, an answer here", r"modified by an inplace operation", r"^an answer", "It has a derivative.", "`torch.linalg.cond` has a gradient"),
    Known(r"(any|all)\.dims?|tensor_split\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"invalid combination of arguments - got \(Tensor, (Tensor, bool|dict.*)\)|to have dtype of long|must be tuple of ints, not bytes",
          "A tensor is no list of numbers.", "a tensor where its declaration has a list of numbers"),
    Known(r".*out", r"^result: NoneType None there", r"^an answer", r"^an answer", "As in functions.", "`out=None` is no `out`", lambda kind, theirs, ours, call: "out=None" in call),
    Known(r"index_put_?\.\w+", r"^RuntimeError there, (an answer|IndexError in the gradient) here", r"called on an undefined Tensor|nullptr \(uninitialized\)", r"", "No index means all.", "an empty list of indices"),
    Known(r"(_foreach_)?(add|sub|subtract|rsub)_?\.\w+", r"^(result|arguments after the call): nan or infinity", r"^an answer", r"^an answer", "It multiplies by alpha first.", "sums with an infinity", lambda kind, theirs, ours, call: "j)" in call or "complex" in call),
    Known(r"resize_(as_)?\.\w+", r"^result: shares$", r"^an answer", r"^an answer", "PyTorch's storage does not grow where the sizes stay.", "`resize_as_` with a memory format", shares_memory),
    Known(r"linalg_lstsq\.\w+", r"^LinAlgError there, an answer here|^(result|arguments after the call): (value|nan or infinity)", r"^an answer|could not be computed", r"^an answer", "PyTorch's library notices infinities in one dtype and not in another.", "what other drivers make of infinities", lambda *told: not_finite(*told) or far_apart(*told)),
    Known(r"linalg_pinv\.\w*out\w*", r"^an answer there, RuntimeError here", r"^an answer", r"tensor of complex type is not supported", "As without out.", "with which complex tolerances are refused"),
    Known(r"soft_margin_loss\.\w+", r"^(result|arguments after the call): nan or infinity", r"^an answer", r"^an answer", "Infinite complex numbers.", "where sums of products overflow", both_not_finite),
    Known(r"(soft_margin|huber)_loss\.\w+", r"^(result|arguments after the call): (value|nan or infinity|shape)", r"^an answer", r"^an answer", "PyTorch leaves memory as it was.", "a reduction that there is none of",
          lambda kind, theirs, ours, call: not re.search(r", [012](, [-\d.]+)?(, out=.*)?\)\n", call)),
    Known(r"(linspace|logspace)\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"value cannot be converted to type|inferred dtype", "The ends are checked also where they are not reached.", "of empty and of meta tensors is refused"),
    Known(r"native_batch_norm\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"Expected 2D or more input|to be defined when training is False|expected floating weight, bias and statistics", "The checks are those of batch_norm.", "`native_batch_norm` checks"),
    Known(r"_native_batch_norm_legit\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"Expected 2D or more|to be defined when training is False|expected floating weight, bias and statistics", "The checks are those of batch_norm.", "`native_batch_norm` checks"),
    Known(r"diff\.out", r"^(IndexError|RuntimeError) there, an answer here", r"start out of range|expected scalar_type", r"^an answer", "As without out.", "Overloads with `out=`"),
    Known(r"norm\.ScalarOpt_dim_dtype", r"^RuntimeError there, an answer here", r"Expected out tensor to have dtype", r"^an answer", "A norm is real.", "`norm` of complex numbers with a dtype"),
    Known(r"affine_grid_generator\.out|range\.step(_out)?", r"^TypeError there, an answer here", r"must be torch.layout, not NoneType|unexpected keyword argument", r"^an answer", "None is the default.", "Overloads with `out=`"),
    Known(r"linalg_cholesky_ex\.\w+", r"^(result|arguments after the call|gradient|second gradient): (value|nan or infinity)", r"", r"", "LAPACK stops at another place in its blocks.", "one that is not positive-definite", lambda *told: "not positive-definite" in told[3]),
    Known(r"_?linalg_(svd|eig|eigh|qr|cholesky_ex|ldl_factor_ex)\.\w+", r"^(result|arguments after the call): stride$", r"", r"", "Of meta tensors the strides are those of other devices.", "Fourier transforms and of some linear algebra", on_meta),
    Known(r"(linalg_)?matrix_power\.out", r"^an answer there, RuntimeError here", r"^an answer", r"Expected out tensor to have dtype", "Whether PyTorch converts depends on n.", "Overloads with `out=`"),
    Known(r".*", r"^(second )?gradient: lazy", r"^an answer", r"^an answer", "Of a gradient that autograd.grad gives.", "and whether it is lazily conjugated"),
    Known(r"(rsub|sub|subtract)_?\.\w+", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "PyTorch takes it for -1.", "alpha beyond 64 bits with a sign",
          past_int64),
    Known(r"(rsub|sub|subtract)_?\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"value cannot be converted to type", "PyTorch's sign wraps, and what is left fits.", "alpha beyond 64 bits with a sign", past_int64),
    Known(r"(all|any)\.\w*out", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "PyTorch converts the numbers to uint8 first.", "`all` and `any` with an `out` of uint8",
          lambda kind, theirs, ours, call: "out=<uint8" in call),
    Known(r"to\.other", r"^(result|arguments after the call): |^an answer there, RuntimeError here", r"", r"", "Flags by position are taken for a dtype by another of PyTorch's overloads.", "a dtype where a number belongs",
          lambda kind, theirs, ours, call: bool(re.search(r">, (True|False|[-\d.e+]+)[,)]|memory_format=None", call))),
    Known(r"linalg_vecdot\.\w+", r"^an answer there, IndexError here", r"^an answer", r"Dimension out of range", "Of vectors PyTorch does not look at it.", "a dimension out of range of a vector"),
    Known(r"linalg_pinv\.\w*", r"^result: shape|^arguments after the call: shape", r"^an answer", r"^an answer", "A tolerance with dimensions is broadcast over the batch.", "`pinv` with tolerances"),
    Known(r"(nansum|nanmean)\.\w+|(var|std)\.\w*out", r"^NotImplementedError there, (an answer|RuntimeError) here", r"nansum_cpu|std_cpu", r"", "Numbers that are converted to another dtype.", "`nansum` and `nanmean` with a dtype"),
    Known(r"vander\.\w+", r"^RuntimeError in the gradient there, an answer here", r"modified by an inplace operation", r"^an answer", "PyTorch overwrites what it needs.", "More has a derivative than in PyTorch"),
    Known(r"(special_|_foreach_)?(erf|erfc|erfinv|gelu|ndtr|log_ndtr|asinh|acosh|atanh|asin|acos|atan|arc\w+|sinc|tanh|sigmoid|silu|mish|softplus|rsqrt|hypot)_?\.\w+", r"^(second )?gradient: nan or infinity", r"^an answer", r"^an answer", "Zero times infinity is not met.", "second derivatives far from 0",
          lambda kind, theirs, ours, call: "nan there" in call),
    Known(r".*", r"^an answer there, (Index|Runtime)Error here", r"^an answer", r"to have non-zero size|select\(\): index \S+ out of range", "There is no element to give.", "of empty and of meta tensors is refused", on_meta),
    Known(r"(arange|linspace|logspace|range|full|scalar_tensor)\.\w+", r"^RuntimeError there, an answer here", r"failed to match any schema|expected at most \d argument", r"^an answer", "A number and a tensor of no dimension stand for one another.", "a number where its declaration has a tensor"),
    Known(r"(special_)?logit_?\.\w+", r"^RuntimeError there, an answer here", r"value cannot be converted to type", r"^an answer", "A limit beyond the dtype is none.", "`logit` with an `eps` beyond the dtype"),
    Known(r"inner\.\w+|tensordot\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"Inference tensors cannot be saved", "PyTorch sums over a dimension of 1 first, and what comes of that is no inference tensor.", "so some of them may be inference tensors", lambda kind, theirs, ours, call: bool(re.search(r"[\[ ]1[\],]", call))),
    Known(r"polar\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"Inference tensors cannot be saved", "The formula needs it.", "is right"),
    Known(r"unfold_backward\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"maximum size for tensor|doesn't match the broadcast shape|must match the size of tensor", "No window fits.", "`unfold_backward` of a window"),
    Known(r"_pad_circular\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"Negative padding value is resulting in an empty", "F.pad's rules hold for what it calls.", "`_pad_circular` takes what"),
    Known(r"trap(z|ezoid)\.\w+|cumulative_trapezoid\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"only support dx as a real number", "A flag is no distance.", "a number of another kind for an int"),
    Known(r"histogram(dd)?\.\w+", r"^an answer there, NotImplementedError here", r"^an answer", r"not implemented for '(BFloat16|Half)'", "Counts in so few digits.", "`histogram` of float16 and bfloat16"),
    Known(r"_dirichlet_grad\.\w+", r"^result: (value|nan or infinity)", r"^an answer", r"^an answer", "Of numbers that no distribution gives, or to the digits that PyTorch's fits are good to.", "fits good to about 1e-3", no_dirichlet),
    Known(r"(clip|clamp)_?\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"Promotion for uint16, uint32, uint64 types is not supported", "Two limits of which one is beyond 64 bits with a sign.", "alpha beyond 64 bits with a sign"),
    Known(r"mish_backward\.\w+", r"^RuntimeError there, an answer here|^result: dtype", r"can't be cast|^an answer", r"^an answer", "The two are promoted as in other gradients.", "`mish_backward` of two dtypes"),
    Known(r"(var|std)(_mean)?\.\w+", r"^(second )?gradient: (value|nan or infinity)", r"^an answer", r"^an answer", "PyTorch's gradient over an empty list of dimensions takes the number of elements for 1.", "over an empty list of dimensions",
          lambda kind, theirs, ours, call: ", []" in call or "dim=[]" in call),
    Known(r"(linalg_)?matrix_exp\.\w+", r"^(result|(second )?gradient|arguments after the call): (nan or infinity|value)", r"^an answer", r"^an answer", "PyTorch's is NaN, or -1e30, for every matrix of more than one row.", "`torch.matrix_exp` of float16 and bfloat16", lambda kind, theirs, ours, call: bool(re.search(r"\A\S*<(bfloat16|float16)", call)) and bool(re.search(r"\n\S*(nan|inf|e\+\d\d)\S* there", call))),
    Known(r"embedding_(dense_backward|renorm_)\.\w+", r"^an answer there, (RuntimeError|IndexError) here", r"^an answer", r"out of bounds|out of range", "PyTorch passes over rows that there are not.", "`embedding_dense_backward` of a row"),
    Known(r"linear\.\w+", r"^RuntimeError there, an answer here", r"mat2 must be a matrix|doesn't match the broadcast shape", r"^an answer", "A vector as weight with a bias.", "A vector as weight of"),
    Known(r"_unsafe_masked_index_put_accumulate\.\w+", r"^(RuntimeError|IndexError)( in the gradient)? there, an answer here", r"must be long or int|at least one index must be provided|unexpected index type|used as masks must be bool", r"^an answer", "There is nothing to write.", "answer for tensors without elements"),
    Known(r"isin\.\w+", r"^result: device", r"^an answer", r"^an answer", "What is compared with meta tensors is a meta tensor.", "Meta tensors together with tensors that have values", on_meta),
    Known(r"_foreach_norm\.\w+", r"^result: (value|nan or infinity)", r"^an answer", r"^an answer", "PyTorch leaves memory as it was.", "Meta tensors together with tensors that have values", on_meta),
    Known(r"linalg_matrix_rank\.\w+", r"^(result|arguments after the call): shape", r"^an answer", r"^an answer", "A tolerance with dimensions is broadcast over the batch.", "`pinv` with tolerances"),
    Known(r"_(log_)?softmax_backward_data\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"must have the same shape", "The same for out.", "have one shape"),
    Known(r"index(_put_?)?\.\w+", r"^RuntimeError there, IndexError here", r"tensors used as indices must be", r"tensors used as indices must be", "The class is the same for meta tensors.", "PyTorch works out the shapes of meta tensors", on_meta),
    Known(r"nll_loss(2d)?_backward\.\w+", r"^RuntimeError there, an answer here", r"should be|expected|size mismatch", r"^an answer", "It is the gradient of F.nll_loss.", "`torch.ops.aten.nll_loss2d` refuses sizes"),
    Known(r"lu_unpack\.\w+", r"^an answer there, RuntimeError here|^result: shape", r"", r"", "Pivots of a matrix without rows.", "answer for tensors without elements", lambda kind, theirs, ours, call: bool(re.search(r"\b0[,\]]", call))),
    Known(r"_reshape_alias\.\w+|\w*empty_strided\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"Negative strides are not supported", "PyTorch does not look.", "`_reshape_alias` beyond the storage"),
    Known(r"meshgrid\.\w+", r"^TypeError there, AttributeError here", r"expected Tensor as element", r"object has no attribute", "What is no tensor has no dimensions.", "a TypeError where PyTorch's Python code"),
    Known(r"native_dropout\.\w+", r"^(result|arguments after the call): (lazy|dtype bool there)", r"^an answer", r"^an answer", "There is nothing to drop.", "`native_dropout` of tensors without elements"),
    Known(r"linalg_cond\.\w+", r"^RuntimeError there, an answer here", r"got an invalid norm type", r"^an answer", "It has any order that a norm has.", "norm of any order"),
    Known(r"(special_)?logsumexp\.out|\w+_loss\.out|soft_margin_loss\.default", r"^an answer there, RuntimeError here", r"^an answer", r"result type \w+ can't be cast|Expected out tensor to have dtype", "The result is computed before it is written.", "of empty and of meta tensors is refused"),
    Known(r"fft_ihfftn\.out", r"^RuntimeError there, an answer here", r"Found dtype Complex", r"^an answer", "The result is cast, as over several dimensions.", "`torch.fft.ihfftn(out=)` over one"),
    Known(r"binary_cross_entropy\.out", r"^RuntimeError there, an answer here", r"The size of tensor a", r"^an answer", "As every other out.", "`binary_cross_entropy` resizes its `out`"),
    Known(r"binary_cross_entropy\.\w+", r"^an answer there, (RuntimeError|ValueError) here", r"^an answer", r"Using a target size", "As F.binary_cross_entropy.", "sizes of `binary_cross_entropy`"),
    Known(r"constant_pad_nd\.\w+|pad\.\w+", r"^RuntimeError there, an answer here", r"length must be non-negative", r"^an answer", "What is cut off and what is added come to a size that there is.", "cuts off more than there is"),
    Known(r".*", r"^RuntimeError there, (an answer|\w+) here", r"cannot be represented as a SymInt", r"", "PyTorch's integers have 62 bits there.", "integers below -2**62"),
    Known(r"(std|var)(_mean)?\.(correction\w*|default)", r"^(result|gradient): (value|nan or infinity|shape)|^an answer there, IndexError here", r"^an answer", r"^an answer|Dimension out of range", "A number or None by position is a dimension here and a flag there.", "None by position", flag_or_dim),
    Known(r".*", r"^(TypeError|ValueError|AssertionError|RuntimeError) there, an answer here", r"does not support complex|^TypeError: meta_\w+\(\) takes|real number, not 'complex'|not supported between instances of|cannot be safely cast to type|correction argument should be", r"^an answer", "PyTorch's shape function does not take complex numbers.", "no function for the shapes of meta tensors", on_meta),
    Known(r"(special_)?sinc_?\.\w+", r"^(gradient|second gradient): nan or infinity", r"^an answer", r"^an answer", "Infinity has no sine.", "of infinities and NaN differ", not_finite),
    Known(r"arg(max|min)\.\w+", r"^RuntimeError there, IndexError here", r"reduction dim to be specified", r"reduction dim to be specified", "The class is the same for meta tensors.", "PyTorch works out the shapes of meta tensors", on_meta),
    Known(r"lerp_?\.\w+|threshold_?\.\w+|hinge_embedding_loss\.\w+", r"^RuntimeError there, an answer here", r"value cannot be converted to type", r"^an answer", "A weight beyond the dtype is infinite.", "A weight of `lerp` beyond the dtype"),
    Known(r"(remainder|fmod)\.\w*out", r"^RuntimeError there, an answer here", r"Expected out tensor to have dtype", r"^an answer", "It casts as others do.", "Overloads with `out=`"),
    Known(r"(_foreach_)?(pow|norm)_?\.\w+", r"^RuntimeError there, an answer here", r"value cannot be converted to type int64_t", r"^an answer", "The number fits uint64.", "uint16, uint32 and uint64 work wherever"),
    Known(r"linalg_solve_triangular\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"to have the same dtype", "One dtype is asked for, as by other solvers.", "`solve_triangular` of two complex dtypes"),
    Known(r"renorm_?\.\w+", r"^second gradient: nan or infinity", r"^an answer", r"^an answer", "Rows of infinities and NaN.", "of infinities and NaN differ", not_finite),
    Known(r"abs(olute)?_?\.\w+", r"^second gradient: value", r"^an answer", r"^an answer", "Along a tiny number the modulus has no second slope: what is told is rounding, over the number.", "along a tiny complex number",
          lambda kind, theirs, ours, call: "<complex" in call and any(0 < least < 1e-5 for _, _, least, *_ in held(call))),
    Known(r"(_?linalg_(slog)?|slog|log)?det\.\w+", r"^(second )?gradient: value", r"^an answer", r"^an answer", "PyTorch's is another one than that of the same numbers in order.", "`slogdet` of a lazily negated matrix",
          lambda kind, theirs, ours, call: bool(re.search(r" neg[ >]", call))),
    Known(r"conv(_transpose)?\w*\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"to be a single integer value or a list of \d values", "Options of meta tensors are looked at, too.", "PyTorch works out the shapes of meta tensors", on_meta),
    Known(r"(linalg_)?matmul\.out", r"^RuntimeError there, an answer here", r"must match the size of tensor b", r"^an answer", "PyTorch folds the target, whose elements share memory, to another shape.", "folds that of a batched `matmul` to another shape",
          lambda kind, theirs, ours, call: shares_memory(kind, theirs, ours, call.partition("out=")[2])),
    Known(r"grid_sampler_[23]d_backward\.\w+", r"^result is a tensor there, NoneType None here", r"^an answer", r"^an answer", "The mask says that nobody wants the grid's gradient.", "`grid_sampler_2d_backward` gives the gradients that its mask names",
          lambda kind, theirs, ours, call: "False])" in call),
    Known(r"addbmm\.out", r"^an answer there, RuntimeError here", r"^an answer", r"must have the same dtype", "PyTorch copies self to the target first.", "`addbmm` into an `out` asks"),
    Known(r"elu_backward\.\w+", r"^(result|(second )?gradient): nan or infinity", r"^an answer", r"^an answer", "Factors whose product overflows, in another order.", "where sums of products overflow",
          lambda kind, theirs, ours, call: "e+308" in call),
    Known(r"ctc_loss\.\w+", r"^an answer there, IndexError here", r"^an answer", r"target -?\d+ is out of range", "PyTorch reads beyond the probabilities.", "`ctc_loss` of a target that is no class"),
    Known(r"max_unpool[23]d\.\w+", r"^an answer there, NotImplementedError here", r"^an answer", r"not implemented for", "For no output PyTorch asks no dtype.", "into an output without elements put nothing there",
          lambda kind, theirs, ours, call: bool(re.search(r">, (0\b|\[[^\]]*\b0\b[^\]]*\])", call))),
    Known(r"_weight_norm\.\w+", r"^result: stride", r"^an answer", r"^an answer", "A v and a g of unlike dimensions.", "`_fused_rms_norm` and `_weight_norm` check",
          lambda kind, theirs, ours, call: len({len(each.split(",")) for each in re.findall(r"<\w+ \[([^\]]*)\]", call)[:2]}) > 1),
    Known(r"pairwise_distance\.\w+", r"^(second )?gradient: (value|nan or infinity)", r"^an answer", r"^an answer", "An order so high that all powers are 0 or infinite.", "a number that no dtype or memory holds",
          lambda kind, theirs, ours, call: bool(re.search(r">, (\d{3,}|[6-9]\d|\d(\.\d*)?e\+\d+)", call))),
    Known(r"renorm_?\.\w+", r"^(second )?gradient: (value|nan or infinity)", r"^an answer", r"^an answer", "PyTorch's backward has the norms in float64, where powers overflow later.", "where sums of products overflow",
          lambda kind, theirs, ours, call: bool(re.search(r">, -?\d{2,}(\.\d+)?,", call))),
    Known(r"bucketize\.out", r"^an answer there, \w+ here", r"^an answer", r"bucketize\(\) received an invalid combination", "PyTorch's own function of a number takes no out.", "Overloads with `out=`"),
    Known(r"(var|std)(_mean)?\.\w+", r"^(result|arguments after the call): nan or infinity", r"^an answer", r"^an answer", "PyTorch's running mean does not overflow where a sum does.", "where sums of products overflow", both_not_finite),
    Known(r"linalg_matrix_rank\.\w*out", r"^(result|arguments after the call): (dtype|shape|stride)", r"^an answer", r"^an answer", "PyTorch gives another tensor than the meta one it was to write to.", "shapes of meta tensors with functions in",
          lambda kind, theirs, ours, call: "meta" in call.partition("\n")[0]),
    Known(r"(special_)?sinc_?\.\w+", r"^second gradient: value", r"^an answer", r"^an answer", "Differences of numbers that are nearly equal.", "second derivative of `sinc` in half precision",
          lambda kind, theirs, ours, call: "float16" in call),
    Known(r"(_?linalg_(slog)?|slog|log)?det\.\w+", r"^(second )?gradient: value", r"^an answer", r"^an answer", "They go through an inverse.", "Gradients of determinants are as good as",
          lambda kind, theirs, ours, call: "32" in call and nearly(call, 1e-3)),
    Known(r"soft_margin_loss\.\w+", r"^(result|arguments after the call): stride$", r"^an answer", r"^an answer", "They are those of both operands.", "strides of what `rsub`"),
    Known(r"binary_cross_entropy_with_logits\.\w+", r"^RuntimeError there, an answer here", r"result type Complex\w+ can't be cast to the desired output type", r"^an answer", "It can without a weight.", "a complex target of"),
    Known(r"addcdiv_?\.\w+", r"^second gradient: nan or infinity", r"^an answer", r"^an answer", "PyTorch's divides by powers that overflow.", "where sums of products overflow", far_apart),
    Known(r"(addcdiv|addcmul|atan2|hypot)_?\.\w+", r"^RuntimeError in the gradient there, an answer here", r"can't be cast to the desired output type|on a bool tensor is not supported", r"^an answer", "Of integers and booleans beside floating numbers.", "More has a derivative than in PyTorch"),
    Known(r"addr_?\.\w+", r"^RuntimeError in the gradient there, an answer here", r"must have the same dtype", r"^an answer", "Dtypes are promoted in the gradient, too.", "More has a derivative than in PyTorch"),
    Known(r"\w+\.\w*out", r"^TypeError there, (an answer|RuntimeError in the gradient) here", r"argument 'out' must be Tensor, not list", r"", "One for a list of one.", "one integer or tensor where its declaration has a list"),
    Known(r"polar\.\w+", r"^(second )?gradient: value", r"^an answer", r"^an answer", "PyTorch takes the sign of abs for none.", "that of `polar` with a negative `abs`"),
    Known(r"(special_)?xlog(y|1py)_?\.\w+", r"^(gradient|second gradient): nan or infinity", r"^an answer", r"^an answer", "The logarithm of NaN is NaN.", "of infinities and NaN differ", not_finite),
    Known(r"(kthvalue|mode|median)\.\w+", r"^an answer there, NotImplementedError here", r"^an answer", r"not implemented for '(Bool|Complex\w+)'", "Of a number PyTorch does not look.", "of empty and of meta tensors is refused"),
    Known(r"linalg_lstsq\.\w+", r"^NotImplementedError there, RuntimeError here", r"linalg_lstsq_cpu", r"Expected a floating point|Low precision", "The check is that of the other solvers.", "plain RuntimeError"),
    Known(r"_?scaled_dot_product\w+\.\w+", r"^((Runtime|Index)Error there, an answer here|an answer there, IndexError here)", r"doesn't match the broadcast shape|expected scalar type|Dimension specified as|^an answer", r"^an answer|Dimension out of range",
          "What is broadcast is broadcast.", "Attention takes what can be broadcast"),
    Known(r"_pad_packed_sequence\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"the packed data has", "Rows that no sequence has.", "rows that no sequence has"),
    Known(r".*out", r"^an answer there, RuntimeError here", r"^an answer", r"cross-device copies", "Targets are checked as elsewhere.", "Meta tensors together with tensors that have values"),
    Known(r"special_\w+\.out", r"^(Runtime|Type)Error there, RuntimeError in the gradient here", r"Expected a value of type 'Tensor'|invalid combination of arguments", r"", "A number stands for a tensor.", "a number where its declaration has a tensor"),
    Known(r"_foreach_\w+\.\w+", r"^(IndexError in the gradient|TypeError) there, an answer here", r"index 0 out of range|expected Tensor as element", r"^an answer", "Each tensor of a list is as if it were alone.", "Each tensor of a list operator is treated as if it were alone"),
    Known(r"\[\]|slice\w*\.\w+", r"^RuntimeError( in the gradient)? there, an answer here", r"Negative strides are not supported", r"^an answer", "A step beyond 64 bits.", "integers below -2**62"),
    Known(r"embedding_dense_backward\.\w+", r"^RuntimeError there, RuntimeError in the gradient here", r"does not support automatic differentiation", r"", "The formulas hold for complex numbers.", "More has a derivative than in PyTorch"),
    Known(r"tri[lu]\.out", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "PyTorch takes the matrices of an out for neighbours.", "whose matrices do not lie one behind the other", rows_apart),
    Known(r"adaptive_avg_pool3d\.out", r"^(result|arguments after the call): (value|nan or infinity)", r"^an answer", r"^an answer", "PyTorch takes an out for rows in order.", "softmax into an `out`", strided_out),
    Known(r"linalg_solve_triangular\.\w+", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "One number for all elements, and right sides of 1e30: what is left of a difference is rounding.", "numbers of a triangle that are one",
          lambda kind, theirs, ours, call: bool(re.search(r"<\w+ \[[\d, ]+\] by \[(0, )*0, 0\]", call))),
    Known(r"prod\.\w+", r"^(second )?gradient: nan or infinity", r"^an answer", r"^an answer", "The product of a half type overflows, and there is multiplied by 0.", "the product of a half type",
          lambda kind, theirs, ours, call: bool(re.search(r"b?float16", call))),
    Known(r"_(log_)?softmax(_backward_data)?\.out|(log_)?softmax\.\w*out", r"^(result|arguments after the call): (value|nan or infinity)", r"^an answer", r"^an answer", "PyTorch takes an out for rows in order.", "softmax into an `out`", strided_out),
    Known(r"linalg_solve_triangular\.out", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "PyTorch writes to a lazily negated out without its sign.", "a lazily negated `out` of `solve_triangular`",
          lambda kind, theirs, ours, call: " neg" in call.partition("out=")[2].partition(">")[0] and opposite(call)),
    Known(r"special_zeta\.\w+", r"^(result|arguments after the call): nan or infinity", r"^an answer", r"^an answer", "A power that underflows.", "`zeta` of a large number",
          lambda kind, theirs, ours, call: "\nnan there, 0.0 here" in call and (far_out(kind, theirs, ours, call) or large_number(call))),
    Known(r"(gcd|lcm)_?\.\w+", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "The least integer has no absolute value in its dtype.", "`gcd` and `lcm` of a dtype's least integer",
          lambda kind, theirs, ours, call: any(low in (-128, -32768, -2.14748e+09, -9.22337e+18) for low, *_ in held(call))),
    Known(r"poisson\.\w+", r"^result: (value|nan or infinity)", r"^an answer", r"^an answer", "A count beyond int64, which C++ does not define.", "`poisson` of a rate beyond int64",
          lambda kind, theirs, ours, call: "\n-9.223372036854776e+18 there" in call and (holds_infinity(kind, theirs, ours, call) or any(high > 9e18 for _, high, *_ in held(call)))),
    Known(r"_?fft_\w+\.\w+|i?stft\.\w+", r"^(result|gradient|second gradient|arguments after the call): nan or infinity", r"^an answer", r"^an answer",
          "Which sums of a transform meet a number that is none depends on how it is taken apart.", "where sums of products overflow", lambda *told: not_finite(*told) or far_apart(*told)),
    Known(r"_fft_\w+\.\w+", r"^(result|gradient|arguments after the call): (shape|value)|^RuntimeError there, an answer here", r"^an answer|number of dimensions in the tensor input does not match", r"^an answer",
          "PyTorch neither wraps dimensions there nor looks whether one is named twice.", "private Fourier transforms", odd_dims),
    Known(r"(_foreach_)?(float_)?pow(er)?_?\.\w+", r"^(second )?gradient: nan or infinity", r"^an answer", r"^an answer", "Zero times the logarithm of zero.", "powers of zero",
          lambda kind, theirs, ours, call: "\nnan there, " in call and kind.startswith("second") or "complex" in call and ("(nan+nanj) there, 0" in call or "(nan+nanj) there, " in call and unlike_sizes(kind, theirs, ours, call))),
    Known(r".*", r"^RuntimeError in the (second )?gradient there, an answer here", r"Subtraction, the `-` operator, with a bool tensor is not supported", r"^an answer", "The formulas take booleans for numbers.", "More has a derivative than in PyTorch"),
    Known(r"(linspace|logspace)\.\w*out", r"^an answer there, RuntimeError here", r"^an answer", r"inferred dtype \S+ can't be safely cast", "Complex ends make complex numbers.", "complex ends of `linspace`"),
    Known(r"_coalesced_\.\w+|sparse_resize_and_clear_\.\w+", r"^an answer there, NotImplementedError here", r"^an answer", r"with arguments from the 'CPU' backend", "A meta tensor that is not sparse.", "no function for the shapes of meta tensors", on_meta),
    Known(r"special_ndtr\.out|linear\.out|native_dropout_backward\.out|hardswish_backward\.out|take\.out|stack\.out|abs(olute)?\.out|(linalg_)?matrix_power\.out", r"^(result|arguments after the call): stride$", r"^an answer", r"^an answer", "Rows there, or the strides of the places.", "strides of what `rsub`"),
    Known(r".*", r"^an answer there, (RuntimeError|TypeError) here", r"^an answer", r"invalid combination of arguments",
          "PyTorch's functions outside of torch.ops refuse it, too.", "a number of another kind for an int", of_other_kinds),
    Known(r"adaptive_(avg|max)_pool3d\.\w+", r"^RuntimeError there, an answer here", r"output_size must be 3", r"^an answer", "A tensor of one element for a list.", "where its declaration has a list"),
    Known(r"linalg_ldl_solve\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"pivots must be between", "LAPACK would follow them out of the matrix.", "exchanges that no factorisation gives"),
    Known(r"\[\]=", r"^TypeError there, RuntimeError here", r"can't assign a \w+ to a torch\.", r"Could not infer dtype", "Neither the place nor what is put there is any.", "wrong in two ways"),
    Known(r"tensor_split\.tensor_indices_or_sections", r"^an answer there, RuntimeError here", r"^an answer", r"zero-dimensional or one-dimensional tensor", "A tensor of one element for a number.", "a number where its declaration has a tensor"),
    Known(r"nuclear_norm\.\w+", r"^an answer there, (Index|Runtime)Error here", r"^an answer", r"Dimension out of range|dims must be different", "A dimension, and there a flag.", "a number of another kind for an int"),
    Known(r"isin\.\w+", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "Two of the integers are one floating number, and PyTorch takes one of them for the other's match.", "integers among floating numbers",
          lambda kind, theirs, ours, call: bool(re.search(r"<int64.*<b?float", call))),
    Known(r"linalg_matrix_rank\.\w+", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "Of a singular matrix rounding leaves values that are greater than a tolerance of 0.", "a tolerance of 0",
          lambda kind, theirs, ours, call: bool(re.search(r"\b[ar]tol=-?0\.0\b", call))),
    Known(r"isin\.\w+", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "What is said to be unique is not.", "`isin` of what is said to be unique",
          lambda kind, theirs, ours, call: bool(re.search(r"assume_unique=True|>, True", call))),
    Known(r"(linalg_)?(det|slogdet)\.\w+|logdet\.\w+|_linalg_(det|slogdet)\.\w+", r"^(second )?gradient: nan or infinity", r"^an answer", r"^an answer", "A singular matrix, or one that is not finite, has no such gradient.", "where sums of products overflow", not_finite),
    Known(r"embedding_sparse_backward\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"negative dimension", "A table has no fewer than no rows.", "of empty and of meta tensors is refused"),
    Known(r"narrow\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"start must be an 0-dim integral Tensor", "PyTorch takes its number for the other overload.", "start of `narrow` that is a floating tensor"),
    Known(r"_validate_sparse_coo_tensor_args\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"must have same nnz", "They are not the parts of a sparse tensor.", "as many indices as values"),
    Known(r"(float_)?pow\.Scalar", r"^(second )?gradient: nan or infinity", r"^an answer", r"^an answer", "Powers of zero, in PyTorch by its logarithm.", "Complex functions have the C standard's values",
          lambda kind, theirs, ours, call: bool(re.match(r"\S+\((-?0(\.0)?|-?0j|\(-?0[-+]-?0j\)),", call)) and "complex" in call and "nan" in call),
    Known(r"addmv\.\w+", r"^result: shape", r"^an answer", r"^an answer", "Of a matrix without elements PyTorch does not broadcast what is added.", "`addmv` of a matrix without elements", lambda kind, theirs, ours, call: bool(re.search(r"<\w+ \[\] by", call))),
    Known(r"(sub|rsub|subtract)_?\.\w+", r"^RuntimeError( in the gradient)? there, an answer here|^an answer there, RuntimeError here", r"", r"value cannot be converted to type|^an answer", "PyTorch looks at alpha with its sign changed.", "An alpha of `sub` is looked at as it is",
          lambda kind, theirs, ours, call: bool(re.search(r"(alpha=|, )-?(128|32768|2147483648|9223372036854775808)\b", call))),
    Known(r"fft_rfftfreq\.out", r"^result: shape", r"^an answer", r"^an answer", "Of fewer than no values PyTorch changes the target's shape on no device only.", "fftfreq` with an out=", on_meta),
    Known(r"gelu_?\.\w+", r"^(result|arguments after the call): nan or infinity", r"^an answer", r"^an answer", "PyTorch's vector loop has NaN at infinity.", "`gelu` at infinity", lambda kind, theirs, ours, call: "\nnan there, inf here" in call),
    Known(r"ldexp_?\.\w+", r"^(result|arguments after the call|gradient): (value|nan or infinity)", r"^an answer", r"^an answer", "An exponent that a C int has not.", "`ldexp` with an exponent beyond 32 bits",
          lambda kind, theirs, ours, call: any(max(abs(low), abs(high)) > 2e9 for low, high, *_ in held(call))),
    Known(r"ldexp_?\.\w+", r"^gradient: value", r"^an answer", r"^an answer", "PyTorch's slope for a negative integer exponent is the integer 2 ** exponent, 0.", "`ldexp` with negative integers",
          lambda kind, theirs, ours, call: bool(re.search(r"\n-?0(\.0)?j? there|\n\S*0j\)? there", call)) or any(low < 0 for low, *_ in held(call))),
    Known(r"(linalg_)?(slogdet|det|cond)\.\w+|logdet\.\w+", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "Whether rounding leaves a zero.", "A matrix that is singular but for rounding",
          lambda *told: far_apart(*told) or expanded(*told)),
    Known(r"lu_unpack\.\w+", r"^result: (value|shape)|^an answer there, RuntimeError here", r"^an answer", r"^an answer|expand", "PyTorch reads as many pivots as the matrices have, of whatever there are.", "`lu_unpack` with pivots of another batch", other_batch),
    Known(r"(nextafter|ldexp|copysign)_?\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"Inference tensors cannot be saved", "One formula serves both operands.", "so some of them may be inference tensors"),
    Known(r"scaled_dot_product_attention\.\w+", r"^result: nan or infinity", r"^an answer", r"^an answer", "Nothing times infinity.", "rows that attend to nothing", lambda *told: "\nnan there, 0.0 here" in told[3] and not_finite(*told)),
    Known(r"fmod_?\.\w+", r"^(result|arguments after the call): nan or infinity", r"^an answer", r"^an answer", "PyTorch's vector loop divides first.", "`fmod` and `remainder` of numbers whose quotient", lambda *told: "\nnan there" in told[3] and far_apart(*told)),
    Known(r"linalg_pinv\.\w+|pinverse\.\w+", r"^(second )?gradient: (nan or infinity|value)", r"^an answer", r"^an answer", "A singular matrix, or one that is not finite, has no such gradient.", "where sums of products overflow", lambda *told: not_finite(*told) or far_apart(*told) or expanded(*told)),
    Known(r"native_dropout\.\w+", r"^gradient: value", r"^an answer", r"^an answer", "PyTorch drops as in training and forgets the scale going back.", "`native_dropout` with `train=None`", lambda kind, theirs, ours, call: bool(re.search(r", None\)$|train=None", call.partition("\n")[0]))),
    Known(r"\[\]|(_?unsafe_)?index(_put_?)?\.\w+|_unsafe_index\w*\.\w+|embedding_sparse_backward\.\w+|tensor_split\.\w+", r"^(result|gradient|arguments after the call): (value|shape)|^(IndexError( in the gradient)?|an answer) there, (an answer|IndexError|RuntimeError)( in the gradient)? here", r"",
          r"", "PyTorch reads an index that is lazily negated without its sign.", "an index that is lazily negated", negated_index),
    Known(r"(index|_unsafe_index)\.Tensor\w*|index_put_?\.\w+", r"^(result: (shape|value)|an answer there, IndexError here|RuntimeError there, an answer here)", r"^an answer|INTERNAL ASSERT", r"^an answer|does not match the shape of the indexed tensor|too many indices|out of bounds",
          "PyTorch drops a mask of no dimension from a list of indices.", "a mask of no dimension in a list of indices", lambda kind, theirs, ours, call: bool(re.search(r"<(bool|uint8) \[\]", call))),
    Known(r".*", r"^gradient: requires_grad True there, False here", r"", r"", "What has no second derivative gives a gradient that needs none.", "requires grad where it is zero throughout",
          lambda kind, theirs, ours, call: "second gradients are zero there" in call),
    Known(r"pow\.Scalar\w*", r"^(second )?gradient: nan or infinity", r"^an answer", r"^an answer", "PyTorch's logarithm of a base between 2**63 and 2**64 is that of a negative number.", "powers whose base is beyond int64", lambda *told: "\nnan there" in told[3] and past_int64(*told)),
    Known(r"linalg_solve(_ex|_triangular)?\.\w+|triangular_solve\.\w+|linalg_inv(_ex)?\.\w+|inverse\.\w+", r"^result: nan or infinity", r"^an answer", r"^an answer", "Products on the way that overflow on one side.", "where sums of products overflow", far_apart),
    Known(r"(clamp\w*|clip)_?\.Tensor\w*", r"^RuntimeError in the (second )?gradient there, an answer here", r"output with shape .* doesn't match the broadcast shape", r"^an answer", "What was broadcast is summed.", "More has a derivative than in PyTorch"),
    Known(r"combinations\.\w+", r"^(Runtime|Value)Error there, (an answer|RuntimeError in the gradient) here", r"std::vector larger|integer multiplication overflow|allocate memory", r"^an answer|overflow", "PyTorch makes a mask of all choices first.", "`combinations` of more than memory"),
    Known(r"_fft_\w+\.\w+", r"^RuntimeError there, (an answer|IndexError) here", r"number of dimensions in the tensor input does not match", r"", "PyTorch does not look whether the dimensions are there.", "private Fourier transforms"),
    Known(r"(linspace|logspace)\.\w+", r"^NotImplementedError there, RuntimeError here", r"not implemented for 'Bool'", r"inferred dtype \S+ can't be safely cast", "Two faults.", "wrong in two ways"),
    Known(r"(linspace|logspace)\.\w+", r"^result: requires_grad True there, False here", r"^an answer", r"^an answer", "Of meta tensors PyTorch composes it.", "PyTorch works out the shapes of meta tensors", on_meta),
    Known(r"(linspace|logspace)\.\w+", r"^result: dtype float\d\d there, complex\d+ here", r"^an answer", r"^an answer", "PyTorch's function for it leaves out that an end is complex.", "PyTorch works out the shapes of meta tensors", on_meta),
    Known(r"arange\.\w+", r"^(result|arguments after the call): shape", r"^an answer", r"^an answer", "The sum of end and step is no int64, and wraps in PyTorch.", "`arange` whose end and step",
          lambda kind, theirs, ours, call: bool(re.search(r"\b9223372036854775\d{3}\b", call))),
    Known(r"(linspace|logspace|arange)\.\w+", r"^(result|arguments after the call): shape", r"^an answer", r"^an answer", "One of one element keeps its shape on the CPU alone.", "PyTorch works out the shapes of meta tensors", on_meta),
    Known(r".*", r"^ValueError there, an answer here", r"is not a valid value for reduction", r"^an answer", "PyTorch's function for it looks at what its operator does not.", "PyTorch works out the shapes of meta tensors", on_meta),
    Known(r"cov\.\w+", r"^arguments after the call: value", r"^an answer", r"^an answer", "PyTorch subtracts the mean of a single number from that number itself.", "`cov` of a number without dimensions", lambda kind, theirs, ours, call: bool(re.search(r"cov[\w.]*\(<\w+ \[\] ", call))),
    Known(r"remainder_?\.\w+", r"^(result|arguments after the call): nan or infinity", r"^an answer", r"^an answer", "PyTorch's vector loop divides first.", "`fmod` and `remainder` of numbers whose quotient", lambda *told: "\nnan there" in told[3] and far_apart(*told)),
    Known(r"linalg_lstsq\.\w+", r"^RuntimeError there, an answer here|^(result|arguments after the call): shape", r"doesn't match the broadcast shape|must match the size of tensor b|^an answer", r"^an answer", "A right side of fewer dimensions is broadcast.", "`linalg.lstsq` broadcasts a right side", fewer_dims),
    Known(r"fft_ifft\.out", r"^RuntimeError there, an answer here", r"Found dtype Complex(Double|Float) but expected", r"^an answer", "It casts as others do.", "`fft.ifft` of real numbers"),
    Known(r"rrelu_\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"bound must be finite", "The checks are those of rrelu.", "`rrelu_` with an infinite limit"),
    Known(r"clamp_?\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"value cannot be converted to type", "PyTorch fills with a limit that is NaN before it looks at the other one.", "two limits of `clamp`", lambda kind, theirs, ours, call: "nan" in call.partition("\n")[0]),
    Known(r"hardtanh_?\.\w+", r"^RuntimeError there, an answer here", r"[Cc]annot do hardtanh on an unsigned type", r"^an answer", "A limit below -1 wraps.", "`hardtanh` of uint8"),
    Known(r"_unsafe_masked_index_put_accumulate\.\w+", r"^gradient is a tensor there, NoneType None here", r"^an answer", r"^an answer", "Nothing is added.", "what adds nothing to a tensor without elements", no_elements),
    Known(r"index_(fill|copy|add)_?\.\w+", r"^RuntimeError in the gradient there, IndexError in the gradient here", r"self indexing axis dim should be positive", r"index out of range", "Places along a dimension of none.", "refuses some with another class", no_elements),
    Known(r"_safe_softmax\.\w+", r"^second gradient: value", r"^an answer", r"^an answer", "Shares whose sum is one.", "a result is zero but for rounding", lambda kind, theirs, ours, call: bool(re.search(r"[\d.]e-(0[89]|1\d) there, -?(0\.0|[\d.]+e-(0[89]|1\d)) here", call)) or bool(re.search(r"<b?float16", call) and re.search(r"0\.000\d+ there|[\d.]e-0\d there", call))),
    Known(r"to\.\w+", r"^an answer there, (Runtime|Type)Error here", r"^an answer", r"Cannot access accelerator|match any schema|argument", "TorchScript's conversions of Python numbers.", "Operators on Python numbers alone", lambda kind, theirs, ours, call: bool(re.match(r"\S+\(-?[\d.]+, ", call))),
    Known(r"(linalg_)?cross\.\w+", r" decided by rounding$", r"", r"", "PyTorch's own answer changes as much when the call's numbers change in their last digit.", "What rounding decides"),
    Known(r"(linalg_)?solve_triangular\.\w+|triangular_solve\.\w+", r"^result: nan or infinity", r"^an answer", r"^an answer", "A complex number divided by zero.", "zero on its diagonal", lambda *told: "complex" in told[3]),
    Known(r"linalg_vander\.\w+", r"^RuntimeError there, an answer here", r"integer multiplication overflow", r"^an answer", "PyTorch counts products that it does not make.", "no function for the shapes of meta tensors", on_meta),
    Known(r"gradient\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"expected each spacing tensor to have as many elements", "PyTorch reads the first of them.", "`gradient` with more places than"),
    Known(r"_fft_\w+\.\w+", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "A normalisation that there is none of.", "normalisation by a number beyond 2", lambda kind, theirs, ours, call: bool(re.search(r"\], -?(\d{2,}|[3-9]), (True|False)", call.partition("\n")[0]))),
    Known(r"_unsafe_masked_index\.\w+", r"^result: shape", r"^an answer", r"^an answer", "PyTorch's has no elements either.", "answer for tensors without elements", no_elements),
    Known(r"narrow_copy\.\w+", r"^(second )?gradient: value", r"^an answer", r"^an answer", "PyTorch's gradient takes a negative start for a place.", "gradient of `narrow_copy` from a negative start", lambda kind, theirs, ours, call: bool(re.search(r">, -?\d+, -\d+, \d+|start=-", call))),
    Known(r"copy_\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"argument '(input|self)' \(position 1\) must be Tensor, not (int|float|bool|complex)\.", "PyTorch takes a number for a target.", "a number for an `out`"),
    Known(r"_?scaled_dot_product\w+\.\w+", r"^result: nan or infinity", r"^an answer", r"^an answer", "Its only score is NaN.", "a score that is NaN makes its row", lambda *told: " there, nan here" in told[3] and not_finite(*told)),
    Known(r"(_?convolution|(_slow_|_thnn_|slow_|thnn_)?conv(_transpose|_depthwise|_tbc)?\dd?|conv_tbc|_convolution_mode)\w*\.\w+", r"^(result|gradient): nan or infinity", r"^an answer", r"^an answer", "Nothing times infinity.", "zeros around an input or between its elements",
          lambda *told: " there, nan here" in told[3] and not_finite(*told)),
    Known(r"nansum\.\w+", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "NaN is converted.", "`nansum` to an integer dtype converts first", not_finite),
    Known(r"(bartlett|blackman|hamming|hann|kaiser)_window\.\w+", r"^result: value", r"^an answer", r"^an answer", "Computed in float32.", "window of float16 or bfloat16 is that of float32", lambda kind, theirs, ours, call: bool(re.search(r"dtype=torch\.(bfloat16|float16|half)", call))),
    Known(r"(smooth_l1|huber)_loss\.\w+", r"^second gradient: value", r"^an answer", r"^an answer", "At NaN.", "`smooth_l1_loss` has a second derivative", not_finite),
    Known(r"pow\.\w+_out", r"^an answer there, RuntimeError here", r"^an answer", r"can't be cast to the desired output type", "1 of any exponent.", "`pow` of a complex 1", lambda kind, theirs, ours, call: bool(re.search(r"pow\(\(?1(\.0)?\+0j\)?, |pow\(1(\.0)?, ", call))),
    Known(r"_?scaled_dot_product\w+\.\w+", r"^(result|gradient): (value|nan or infinity)", r"^an answer", r"^an answer", "PyTorch takes the last dimension of what it reads for rows in order.", "attention whose last dimension is no row", last_apart),
    Known(r"multi(label)?_margin_loss\.\w+", r"^(result|arguments after the call): (value|nan or infinity)", r"^an answer", r"^an answer", "PyTorch leaves the loss of no samples as memory was.", "the margin loss of no samples", no_elements),
    Known(r"_?linalg_eigvals\.\w+|linalg_eig\.\w+", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "In which order LAPACK finds them.", "order in which eigenvalues", lambda kind, theirs, ours, call: not re.search(r" 1 of \d+ differ", call)),
    Known(r"ldexp_?\.\w+", r"^(result|gradient|arguments after the call): value", r"^an answer", r"^an answer", "Powers of two with complex exponents in their precision.", "`ldexp` with complex or real numbers", lambda kind, theirs, ours, call: bool(re.search(r"<(complex64|float32) ", call)) and near(call, 1e-5 if "complex64" in call else 1e-6)),
    Known(r"poisson\.\w+", r"^(result|arguments after the call): nan or infinity", r"^an answer", r"^an answer", "There is none.", "Poisson numbers of an infinite rate", lambda kind, theirs, ours, call: "inf" in call.partition("\n")[0]),
    Known(r"(native_)?layer_norm\.\w+", r"^(result|arguments after the call): nan or infinity", r"^an answer", r"^an answer", "Equal numbers have no deviation, or what rounding leaves of it, and eps is 0.", "What rounding decides",
          lambda kind, theirs, ours, call: bool(re.search(r", -?0(\.0)?[,)]", call)) and "equal numbers" in call),
    Known(r"cosine_similarity\.\w+", r"^(second )?gradient: nan or infinity", r"^an answer", r"^an answer", "A vector of zeros is divided by its length where eps is 0.", "neither is a finite number",
          lambda kind, theirs, ours, call: bool(re.search(r", -?0\.0\)|eps=-?0\.0", call)) and neither_finite(call)),
    Known(r"cosine_similarity\.\w+|(margin_ranking|cosine_embedding|triplet_margin|hinge_embedding)_loss\.\w+|pairwise_distance\.\w+", r"^(second )?gradient: nan or infinity", r"^an answer", r"^an answer", "Where products overflow, their order matters.", "the gradient of a product that overflows", lambda *told: not_finite(*told) or far_apart(*told)),
    Known(r"linalg_tensorsolve\.\w+", r"^(Value|Runtime)Error there, an answer here", r"cannot create std::vector larger", r"^an answer", "A number is solved for.", "stops with an internal assertion"),
    Known(r"(sub|subtract|add|rsub)_?\.\w+", r"^RuntimeError in the (second )?gradient there, an answer here", r"value cannot be converted to type int64_t without overflow", r"^an answer", "An alpha beyond 64 bits is that number.", "An alpha beyond 64 bits", past_int64),
    Known(r"_fused_(adam|adamw|sgd|adagrad)_\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"a leaf Variable that requires grad", "What is written to is a leaf that requires grad.", "a target of fused optimizers"),
    Known(r"(rand|randn|randint)_like\.\w+", r"^result: requires_grad True there, False here", r"^an answer", r"^an answer", "Of meta tensors PyTorch composes it.", "PyTorch works out the shapes of meta tensors", on_meta),
    Known(r"_foreach_\w+\.\w+", r"^IndexError in the gradient there, an answer here", r"cannot be applied to a \d+-dim tensor", r"^an answer", "A defect of PyTorch's formula for several complex tensors.", "More has a derivative than in PyTorch"),
    Known(r"lerp_?\.\w+", r"^(result|arguments after the call|gradient): nan or infinity", r"^an answer", r"^an answer", "A difference that overflows.", "where sums of products overflow", far_apart),
    Known(r"mean\.\w*out", r"^RuntimeError there, an answer here", r"input types can't be cast to the desired output type", r"^an answer", "As without out, and with a dimension.", "Overloads with `out=`"),
    Known(r"_?conv(olution|\d?d|_transpose\dd)\w*\.\w+", r"^second gradient: NoneType None there, a tensor of|^second gradient is a tensor there, NoneType None here", r"^an answer", r"^an answer", "There is no element to be differentiated.", "or requires grad where it is zero throughout", no_elements),
    Known(r"softplus(_backward)?\.\w+", r"^(result|(second )?gradient): nan or infinity", r"^an answer", r"^an answer", "PyTorch divides an exponential that overflows by itself.", "`softplus` where its exponential overflows"),
    Known(r"normal\.\w*out", r"^an answer there, RuntimeError here", r"^an answer", r"value cannot be converted to type|resize storage that is not resizable", "PyTorch adds a mean to what is in out.", "numbers of the shape of the parameters"),
    Known(r"_?linalg_eigvals\.\w+|linalg_eig\.\w+", r"^(second )?gradient: (value|nan or infinity)", r"^an answer", r"^an answer", "The eigenvalues of a matrix whose rows are all one coincide at zero.", "gradients of eigenvalues that coincide", expanded),
    Known(r"_weight_norm\.\w+", r"^second gradient: value", r"^an answer", r"^an answer", "PyTorch's formula of the second takes the norm of each number for a constant.", "of the norms of single numbers", lambda kind, theirs, ours, call: bool(re.search(r"_weight_norm\(<\w+ \[\d+\] ", call))),
    Known(r"softshrink_backward\.\w+|hardshrink_backward\.\w+", r"^(result|gradient): value", r"^an answer", r"^an answer", "Between NaN and NaN is nothing: PyTorch's vector loop says otherwise than its last elements.", "`hardshrink` with a limit of NaN", lambda kind, theirs, ours, call: bool(re.search(r"\bnan[,)]", call))),
    Known(r"masked_fill_?\.Tensor", r"^RuntimeError there, an answer here", r"to be on same device", r"^an answer", "A number of no dimension may be on another device.", "but for a number (a tensor of no dimension)", on_meta),
    Known(r"linalg_matrix_rank\.\w+", r"^gradient: value", r"^an answer", r"^an answer", "What out was computed from keeps its gradient.", "may write to an `out` that requires grad", lambda kind, theirs, ours, call: bool(re.search(r"out=<[^<>]* grad", call))),
    Known(r"(as_strided|slice|select|diagonal)_scatter\.out", r"^(result|arguments after the call): stride", r"^an answer", r"^an answer", "They are those of self.", "strides of what `rsub`"),
    Known(r"\[\]=|index_put_?\.\w+", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "Which of two writes to one place is the last.", "which of two writes to one place", lambda kind, theirs, ours, call: "accumulate=True" not in call and any_order(call)),
    Known(r"(linalg_)?matrix_power\.\w+", r"^(result|arguments after the call|gradient|second gradient): nan or infinity", r"^an answer", r"^an answer", "Where products overflow, their order matters.", "where sums of products overflow", lambda kind, theirs, ours, call: bool(re.search(r", -?\d{3,}[,)]", call)) or far_apart(kind, theirs, ours, call)),
    Known(r"_?linalg_svd(vals)?\.\w+|linalg_(cond|norm|matrix_norm)\.\w+|nuclear_norm\.\w+|svd\.\w+", r"^(second )?gradient: value", r"^an answer", r"^an answer", "The vectors of equal singular values are free.", "singular values of which several are equal",
          lambda kind, theirs, ours, call: "equal singular values" in call or "a singular matrix" in call),
    Known(r"_?upsample_\w+\.\w+", r"^RuntimeError there, an answer here", r"It is expected \w+ equals to \d, but got size 1", r"^an answer", "A tensor of one element is one number for all dimensions there.", "a tensor of one element where it has a",
          lambda kind, theirs, ours, call: bool(re.search(r">, <\w+ \[1(, 1)*\]", call))),
    Known(r"tensor_split\.\w+", r"^RuntimeError there, an answer here", r"number of sections must be larger than 0", r"^an answer", "A tensor of one element is a number there.", "a tensor of one element where it has a"),
    Known(r"_?conv\w*\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"Kernel size can't be greater than actual input size|negative output size", "There is no window.", "of empty and of meta tensors is refused",
          lambda kind, theirs, ours, call: bool(re.search(r"(?s)\[.*> ?, .*?\[\d+, \d+, ([^\]]*, )?0[\],]", call.partition("\n")[0]))),
    Known(r"fractional_max_pool[23]d\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"kernel_size must be greater than zero", "There is no window.", "of empty and of meta tensors is refused"),
    Known(r".*", r"^an answer there, (RuntimeError|TypeError) here", r"^an answer", r"failed to unpack the object at pos \d+ with error .*but got bool", "PyTorch's functions outside of torch.ops refuse it, too.", "a number of another kind for an int", lambda kind, theirs, ours, call: call.startswith(("pybind11_", "aten::"))),
    Known(r"put_?\.\w+", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "Which of two writes to one place is the last.", "which of two writes to one place", lambda kind, theirs, ours, call: "True" not in call.partition("\n")[0]),
    Known(r"view(_copy)?\.dtype\w*", r"^RuntimeError there, an answer here", r"self\.stride\(-?\d+\) must be", r"^an answer", "Strides of no elements.", "The strides of a tensor without elements", no_elements),
    Known(r"kron\.out", r"^(result|arguments after the call): stride", r"^an answer", r"^an answer", "They are those of the operands.", "strides of what `rsub`"),
    Known(r"(min|max|amin|amax|aminmax)\.\w*out", r"^RuntimeError there, an answer here", r"cannot be converted to type uint(16|32|64)_t", r"^an answer", "PyTorch's first limit does not fit them.", "uint16, uint32 and uint64 work wherever"),
    Known(r"(__[lr]shift__|bitwise_\w+)\.\w*out", r"^RuntimeError there, (an answer|RuntimeError in the gradient) here", r"Expected out tensor to have dtype", r"", "It casts as others do.", "Overloads with `out=`"),
    Known(r"logspace\.\w+", r"^(result|arguments after the call): nan or infinity", r"^an answer", r"^an answer", "A complex power that overflows.", "where sums of products overflow", lambda kind, theirs, ours, call: bool(re.search(r"nan\S* there", call)) and "j)" in call.partition("\n")[0]),
    Known(r"(linalg_)?(vector_|matrix_|frobenius_)?norm\.\w+|linalg_norm\.\w+", r"^(result|arguments after the call): nan or infinity", r"^an answer", r"^an answer", "The square of a complex number with an infinite part and one that is NaN.", "where sums of products overflow", lambda kind, theirs, ours, call: "<complex" in call and not_finite(kind, theirs, ours, call)),
    Known(r"(cum)?prod\.\w+", r"^(result|arguments after the call): nan or infinity", r"^an answer", r"^an answer", "Of thousands of factors the order says where they overflow.", "where sums of products overflow", lambda kind, theirs, ours, call: far_apart(kind, theirs, ours, call) or any(math.prod(int(size) for size in sizes.split(", ")) > 300 for sizes in re.findall(r"<\w+ \[(\d[^]]*)\] by", call))),
    Known(r"repeat_interleave\.\w+", r"^an answer there, NotImplementedError here", r"^an answer", r"the shape of its result depends on values", "How often is not known.", "of empty and of meta tensors is refused", on_meta),
    Known(r"(linspace|logspace)\.\w*out", r"^RuntimeError there, an answer here", r"functions with out=\.\.\. arguments don't support", r"^an answer", "An end is a number, which has no gradient.", "may write to an `out` that requires grad"),
    Known(r"(linalg_)?(slogdet|det)\.\w+|logdet\.\w+|_linalg_(slogdet|det)\.\w+", r"^(second )?gradient: nan or infinity", r"^an answer", r"^an answer", "A singular matrix has no inverse.", "A matrix that is singular but for rounding", lambda kind, theirs, ours, call: bool(re.search(r"\n\S*(nan|inf)\S* there, \S*(nan|inf)\S* here", call))),
    Known(r"(rand|randn)\.\w*out", r"^an answer there, NotImplementedError here", r"^an answer", r"not implemented for", "There is nothing to draw.", "of empty and of meta tensors is refused", lambda kind, theirs, ours, call: bool(re.search(r"out=<\w+ \[[^]]*\b0\b", call))),
    Known(r"(randint|randperm)\.\w*out", r"^RuntimeError there, an answer here", r"dtype Long does not match dtype of out", r"^an answer", "int64 is what is meant where nothing is said.", "Overloads with `out=`"),
    Known(r"pixel_(un)?shuffle\.\w+", r"^RuntimeError in the (second )?gradient there, an answer here", r"to be divisible by", r"^an answer", "Of no elements the sizes stay, in PyTorch not on the way back.", "More has a derivative than in PyTorch", no_elements),
    Known(r"(_foreach_)?pow_?\.\w+", r"^(second )?gradient: value", r"^an answer", r"^an answer", "An integer exponent beyond 256 is rounded as the half type is.", "integer exponents beyond 256", lambda kind, theirs, ours, call: bool(re.search(r"<(bfloat16|float16) ", call)) and any(high > 256 or low < -256 for low, high, *_ in held(call))),
    Known(r"((huber|smooth_l1|mse|l1)_loss|binary_cross_entropy)\.out", r"^(result|arguments after the call): shape", r"^an answer", r"^an answer", "A reduction that there is none of.", "a reduction that there is none of is a mean", lambda kind, theirs, ours, call: bool(re.search(r">, (-\d+|[3-9]|\d\d+)[,)]|reduction=(-\d+|[3-9]|\d\d+)", call))),
    Known(r"view_as_complex(_copy)?\.\w+", r"^RuntimeError there, an answer here", r"Tensor must have a", r"^an answer", "Strides of no elements.", "The strides of a tensor without elements", no_elements),
    Known(r"softplus(_backward)?\.\w+", r"^(second )?gradient: value", r"^an answer", r"^an answer", "Nothing is above a threshold that is NaN, and nothing below it.", "`softplus` with a threshold of NaN",
          lambda kind, theirs, ours, call: bool(re.search(r"\bnan\)", call.partition("\n")[0]))),
    Known(r"softplus(_backward)?\.\w+", r"^NotImplementedError in the (second )?gradient there, an answer here", r"not implemented for 'Complex", r"^an answer", "A complex number without an imaginary part.", "More has a derivative than in PyTorch"),
    Known(r"trapz\.dx", r"^an answer there, OverflowError here", r"^an answer", r"int too big|can't convert negative int", "As trapezoid's dx, where PyTorch refuses it, too.", "as `dx` of `trapz`"),
    Known(r"trapz\.dx", r"^TypeError there, an answer here", r"dx=complex", r"^an answer", "As trapezoid's dx, a number of any kind.", "as `dx` of `trapz`"),
    Known(r"normal\.\w+", r"^an answer there, (NotImplemented|Runtime)Error here", r"^an answer", r"not implemented for|value cannot be converted|Promotion for uint", "There is nothing to draw.", "of empty and of meta tensors is refused", no_elements),
    Known(r"to\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"Cannot access accelerator", "In PyTorch's schemas a dtype is an integer, and it asks no one what stands for it.", "a dtype where a number belongs", lambda kind, theirs, ours, call: bool(re.search(r">, \d+[,)]", call))),
    Known(r"to\.\w+|contiguous\.\w+", r"^result: shares", r"^an answer", r"^an answer", "By the stride of one element, which leads nowhere.", "The stride of a dimension of one element", lambda kind, theirs, ours, call: "_format" in call and bool(re.search(r"<\w+ \[([^]]*, )?1[,\]]", call))),
    Known(r"_unsafe_masked_index\w*\.\w+", r"^TypeError there, an answer here", r"expected Tensor as element \d+ in argument 2, but got NoneType", r"^an answer", "An index that is None is a whole dimension, as its declaration has it.", "and an empty list of indices"),
    Known(r"(arc|a)cosh_?\.\w+", r"^(second )?gradient: value", r"^an answer", r"^an answer", "On the cut, by the sign of a zero.", "Complex functions have the C standard's values",
          lambda kind, theirs, ours, call: "<complex" in call and bool(pair := re.search(r"\n(\S+) there, (\S+) here", call)) and abs(complex(pair[1]) + complex(pair[2])) <= 1e-5 * abs(complex(pair[1]))),
    Known(r"as_strided_scatter\.\w+", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "Which of two writes to one place is the last.", "which of two writes to one place"),
    Known(r"hardtanh_backward\.\w+", r"^NotImplementedError there, an answer here", r"not implemented for 'Complex", r"^an answer", "A complex number without an imaginary part.", "More has a derivative than in PyTorch"),
    Known(r"upsample_\w+\.\w+", r"^(result|gradient|arguments after the call): nan or infinity", r"^an answer", r"^an answer", "Infinity times a weight of 0, of a scale that contradicts the sizes.", "of infinities and NaN differ", not_finite),
    Known(r"(special_)?logsumexp\.\w+", r"^result: shape$", r"^an answer", r"^an answer", "PyTorch's function for it keeps the dimensions.", "PyTorch works out the shapes of meta tensors", on_meta),
    Known(r"repeat_interleave\.\w+", r"^(RuntimeError there, an answer here|an answer there, RuntimeError here|result: (value|shape))", r"", r"", "PyTorch reads an index that is lazily negated without its sign.", "an index that is lazily negated", negated_index),
    Known(r"detach_copy\.\w+", r"^result: requires_grad True there, False here", r"^an answer", r"^an answer", "Of meta tensors PyTorch composes it.", "PyTorch works out the shapes of meta tensors", on_meta),
    Known(r"cov\.\w+", r"^RuntimeError there, an answer here", r"Inplace update to inference tensor|a view of a leaf Variable that requires grad", r"^an answer", "PyTorch subtracts the mean of a single number from that number itself.", "`cov` of a number without dimensions"),
    Known(r"_?unique2?\.\w+", r"^(result|arguments after the call): value", r"", r"", "The inverse among several NaN.", "inverse among nan", holds_nan),
    Known(r"(add|sub|subtract|rsub)_?\.\w+", r"^(result|arguments after the call): nan or infinity", r"^an answer", r"^an answer", "A product with alpha that overflows, where PyTorch adds without rounding it.", "where sums of products overflow", lambda *told: "alpha=" in told[3] and far_apart(*told)),
    Known(r".*out", r"^result: shares$", r"^an answer", r"^an answer", "A target that grew may have room where it lies.", "keeps its storage", target_grew),
    Known(r"soft_margin_loss\.\w+", r"^(second )?gradient: (value|nan or infinity)", r"^an answer", r"^an answer", "PyTorch changes the target's sign in its dtype.", "`soft_margin_loss` with a target of uint8", lambda kind, theirs, ours, call: bool(re.search(r">, <uint8 ", call))),
    Known(r"rrelu_?\.\w+", r"^(result|arguments after the call|(second )?gradient): value", r"^an answer", r"^an answer", "PyTorch adds two flags to a flag.", "limits of `rrelu` that are flags", lambda kind, theirs, ours, call: bool(re.search(r"\bTrue\b.*\bTrue\b|lower=True.*upper=True", call.partition("\n")[0]))),
    Known(r"addbmm_\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"doesn't match the broadcast shape", "PyTorch gives self another shape, which it refuses in addmm_ and its kin.", "`addbmm_` does not change the shape"),
    Known(r"norm\.\w+", r"^TypeError there, an answer here", r"must be tuple of ints, not Tensor", r"^an answer", "A tensor without elements is an empty list.", "answer for tensors without elements", no_elements),
    Known(r"kron\.\w+", r"^(result|arguments after the call): nan or infinity", r"^an answer", r"^an answer", "Which part of a complex product is NaN.", "where sums of products overflow", lambda *told: "<complex" in told[3] and (not_finite(*told) or far_apart(*told))),
    Known(r"_conj\.\w+", r"^an answer there, (TypeError|RuntimeError) here", r"^an answer", r"must be Tensor, not (complex|int|float|bool)", "torch.conj refuses it, too.", "`torch._conj` of a number"),
    Known(r"norm\.\w+", r"^AttributeError there, TypeError here", r"object has no attribute 'layout'", r"len\(\) of a 0-d", "The call has two faults.", "wrong in two ways"),
    Known(r"to\.\w+|_to_copy\.\w+|copy_?\.\w+", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "What a conversion to an integer dtype makes of numbers that it cannot hold is undefined in C++.", "What has no place in an integer dtype",
          lambda kind, theirs, ours, call: bool(re.search(r"uint(16|32|64)", call)) and (not_finite(kind, theirs, ours, call) or any(max(abs(low), abs(high)) > 4e9 for low, high, *_ in held(call)))),
    Known(r"(cum)?prod_?\.\w+", r"^(second )?gradient: (nan or infinity|value)", r"^an answer", r"^an answer", "Which products meet zero times infinity depends on the formula.", "the gradient of a product that overflows", lambda *told: not_finite(*told) or far_apart(*told)),
    Known(r"adaptive_avg_pool[123]d\.\w+|_adaptive_avg_pool[23]d\.\w+", r"^an answer there, NotImplementedError here", r"^an answer", r"not implemented for", "There is nothing to average.", "of empty and of meta tensors is refused", lambda kind, theirs, ours, call: bool(re.search(r">, (\[[\d, ]*\b0\b[\d, ]*\]|0)[,)]", call))),
    Known(r"atan2_?\.\w+|arctan2_?\.\w+", r"^(second )?gradient: (value|nan or infinity)", r"^an answer", r"^an answer", "PyTorch squares integers in their dtype, which wraps.", "gradient of `atan2` with integers", lambda kind, theirs, ours, call: bool(re.search(r"<u?int(8|16|32|64) ", call))),
    Known(r"(native_)?(batch|layer|group)_norm\.\w+|_native_batch_norm\w*\.\w+|_batch_norm\w*\.\w+|(native_)?rms_norm\.\w+|_fused_rms_norm\.\w+|_weight_norm\.\w+", r"^(result|gradient|second gradient): (value|nan or infinity)", r"^an answer", r"^an answer",
          "Sums that overflow, or differences of numbers that are too large for any digit.", "normalised numbers that are too large",
          lambda kind, theirs, ours, call: far_apart(kind, theirs, ours, call) or kind.endswith("infinity") and not_finite(kind, theirs, ours, call)),
    Known(r"native_batch_norm\.\w+", r"^IndexError in the (second )?gradient there, an answer here", r"Dimension out of range", r"^an answer", "Statistics of one channel have a dimension.", "More has a derivative than in PyTorch"),
    Known(r"(add|sub|rsub|subtract)_?\.\w+", r"^NotImplementedError in the (second )?gradient there, an answer here", r"\"sum_cpu\" not implemented for 'ComplexHalf'", r"^an answer", "Numbers that PyTorch makes halves of.", "More has a derivative than in PyTorch"),
    Known(r"linalg_lu_factor\.\w+|linalg_(inv|solve)\.\w+|inverse\.\w+", r"^(an answer there, (RuntimeError|LinAlgError) here|(RuntimeError|LinAlgError) there, an answer here)", r"singular|is zero and using it|^an answer", r"singular|is zero and using it|^an answer", "Whether rounding leaves a zero.", "A matrix that is singular but for rounding"),
    Known(r"(linalg_)?(slogdet|det)\.\w+|logdet\.\w+", r"^(result|arguments after the call): nan or infinity", r"^an answer", r"^an answer", "Whether rounding leaves a zero.", "A matrix that is singular but for rounding",
          lambda kind, theirs, ours, call: bool(re.search(r"-inf (there|here)", call))),
    Known(r"(var|std)\.\w*out", r"^(result|arguments after the call): nan or infinity", r"^an answer", r"^an answer", "Of half precision, computed in float32, into an out of float64.", "computed in float32 and rounded", far_apart),
    Known(r"embedding_bag\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"offsets has to be a 1D Tensor", "PyTorch reads the offsets in whatever shape they are.", "Bags take indices of two dimensions"),
    Known(r"([hvd]|tensor_)?split\.\w+", r"^an answer there, (Type|Runtime)Error here", r"^an answer", r"got \(Tensor", "A tensor that is a flag.", "a number of another kind for an int"),
    Known(r"_foreach_powsum\.\w+", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "PyTorch makes a real number of a single complex one first.", "power of a single complex number", lambda kind, theirs, ours, call: "<complex" in call),
    Known(r"elu_?\.\w+", r"^RuntimeError there, an answer here", r"value cannot be converted to type int64_t", r"^an answer", "A scale that is a tensor.", "a number that no dtype or memory holds"),
    Known(r"(min|max)\.\w*out", r"^RuntimeError there, an answer here", r"value cannot be converted", r"^an answer", "PyTorch looks whether the number fits the target.", "`min` and `max` of all elements into an `out`"),
    Known(r"normal\.\w+", r"^NotImplementedError there, an answer here", r"\"normal_kernel_cpu\" not implemented for", r"^an answer", "The deviations are promoted.", "deviations of `normal` that are integers"),
    Known(r"argsort\.\w*out", r"^RuntimeError there, an answer here", r"functions with out=\.\.\.", r"^an answer", "Indices have no gradient to lose.", "`out=` together with an argument that requires grad"),
    Known(r"(special_)?log_softmax\.\w+", r"^RuntimeError there, an answer here", r"Subtraction, the `-` operator, with two bool tensors", r"^an answer", "Of flags, on no device.", "of empty and of meta tensors is refused", on_meta),
    Known(r"renorm\.\w+", r"^(second )?gradient: (value|nan or infinity)", r"^an answer", r"^an answer", "An order so high that all powers are 0 or infinite.", "a number that no dtype or memory holds", lambda kind, theirs, ours, call: bool(re.search(r">, (\d{3,}|[6-9]\d|\d\.\d*e\+\d+)", call))),
    Known(r"(linalg_vector_|linalg_)?norm\.\w+", r"^(second )?gradient: nan or infinity", r"^an answer", r"^an answer", "An order so high that all powers are 0 or infinite.", "a number that no dtype or memory holds", lambda kind, theirs, ours, call: bool(re.search(r">, (\d{3,}|[6-9]\d|\d\.\d*e\+\d+)", call))),
    Known(r"logit_?\.\w+", r"^(second )?gradient: (value|nan or infinity)", r"^an answer", r"^an answer", "At NaN PyTorch's vector loop has 0 or NaN.", "its vector loop has 0 or NaN", lambda kind, theirs, ours, call: "nan" in call.partition("\n")[0]),
    Known(r"_?(unsafe_)?index_put_?\.\w+|index_put\.\w+", r"^an answer there, (Index|Runtime)Error here", r"^an answer", r"shape mismatch", "A flag alone is no index in PyTorch's operator, which takes what it writes to whole.", "stops with an internal assertion", lambda kind, theirs, ours, call: bool(re.search(r"\[<bool \[\]", call))),
    Known(r"group_norm\.\w+", r"^result: requires_grad True there, False here", r"^an answer", r"^an answer", "A result without elements.", "requires grad where it is zero throughout", no_elements),
    Known(r"to\.\w+", r"^(RuntimeError there, an answer here|an answer there, \w+Error here)", r"Unsupported TypeMeta|^an answer", r"^an answer|invalid combination of arguments - got \(.*Tensor", "PyTorch takes a tensor for an option that it does not look at, or stumbles over it.", "`x.to(other)` with a tensor"),
    Known(r"softplus_backward\.\w+", r"^NotImplementedError there, an answer here", r"not implemented for 'Complex", r"^an answer", "A complex number without an imaginary part.", "More has a derivative than in PyTorch"),
    Known(r"_?upsample_\w+\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"should be greater than 0", "The checks are those of tensors with values.", "of empty and of meta tensors is refused", on_meta),
    Known(r"(native_)?layer_norm\.\w+", r"^gradient: requires_grad True there, False here", r"^an answer", r"^an answer", "The same node gives the gradient of the bias, whose own derivative is zero.", "requires grad where it is zero throughout", not_finite),
    Known(r"_(log_)?softmax_backward_data\.\w+", r"^(result|arguments after the call): nan or infinity", r"^an answer", r"^an answer", "Infinity less infinity, by the order of the sum.", "softmax into an `out`",
          lambda kind, theirs, ours, call: bool(re.search(r"-?(inf|nan)\S* there, -?(inf|nan)", call)) or far_apart(kind, theirs, ours, call)),
    Known(r"(_(?!foreach_)[a-z]\w*|\w+_backward)\.\w+", r"^(an answer|\w+Error( in the (second )?gradient)?) there, (an answer|\w+Error( in the (second )?gradient)?) here", r"", r"", "Private operators, which programs call with what public ones have checked.", "Operators whose name begins with an underscore"),
    Known(r".*", r"^(an answer|\w+Error( in the (second )?gradient)?) there, (an answer|\w+Error( in the (second )?gradient)?) here", r"", r"", "Numbers that no dtype or memory holds.", "a number that no dtype or memory holds", out_of_range),
    Known(r"_?upsample_\w+_aa\.\w+", r"^an answer there, NotImplementedError here", r"^an answer", r"not implemented for '(U?Int|Short|Long|Char)", "PyTorch's antialiased kernels take other integers.", "`antialias=True` of other integers"),
    Known(r"\w+\.\w*out", r"^(an answer|RuntimeError) there, (Type|Runtime)Error here", r"^(an answer|RuntimeError.*can't be cast)", r"argument 'out' must be Tensor, not (float|int|bool|complex)|invalid combination of arguments - got \(.*out=(int|float|bool|complex)\)", "PyTorch takes a number for a target.", "a number for an `out`"),
    Known(r"nan_to_num_?\.\w+", r"^RuntimeError there, an answer here", r"Complex dtype is not supported for is(neg|pos)inf", r"^an answer", "PyTorch's shape function.", "PyTorch works out the shapes of meta tensors", on_meta),
    Known(r"i?fft\w*\.\w+|_?fft_\w+\.\w+", r"^(result|gradient|second gradient|arguments after the call): value", r"^an answer", r"^an answer", "Rounding at numbers of that size.", "where sums of products overflow", far_apart),
    Known(r"index_add_?\.\w+", r"^RuntimeError there, IndexError here", r"is out of bounds", r"out of range", "One of PyTorch's two ways to add rows has another class.", "`index_add` beyond the end is an IndexError"),
    Known(r"(_foreach_)?copy\.\w+", r"^result: value", r"^an answer", r"^an answer", "The result has self's strides, whose elements share memory.", "elements in an order of its own", shares_memory),
    Known(r"(ldexp_?|threshold_backward)\.\w+", r"^result: dtype", r"^an answer", r"^an answer", "Of meta tensors PyTorch composes it.", "PyTorch works out the shapes of meta tensors", on_meta),
    Known(r"nll_loss2d\.\w+", r"^an answer there, ValueError here", r"^an answer", r"Expected 1 or more dimensions", "PyTorch's shape function does not look.", "`torch.ops.aten.nll_loss2d` refuses sizes", on_meta),
    Known(r"unique_dim\w*\.\w+", r"^result: (value|nan or infinity|shape)", r"", r"", "NaN have no order.", "rows with NaN have no order", holds_nan),
    Known(r"hardshrink(_backward)?\.\w+", r"^(second )?gradient: value", r"^an answer", r"^an answer", "Between NaN and NaN is nothing: PyTorch's vector loop says otherwise than its last elements.", "`hardshrink` with a limit of NaN", lambda kind, theirs, ours, call: bool(re.search(r"\bnan[,)]", call))),
    Known(r"_weight_norm\.\w+", r"^(result|gradient|second gradient): (value|nan or infinity)", r"^an answer", r"^an answer", "PyTorch reads beyond a g that is too small.", "`_weight_norm` check", other_count),
    Known(r"channel_shuffle\.\w+", r"^RuntimeError in the gradient there, an answer here", r"Number of groups to divide channels in must be positive", r"^an answer", "There is a gradient of no elements.", "More has a derivative than in PyTorch"),
    Known(r"_to_dense\.\w+", r"^NotImplementedError there, (NotImplementedError in the gradient|an answer) here", r"aten::_to_dense", r"", "A dense tensor is its own dense form.", "_to_dense` of a dense tensor"),
    Known(r"_sparse_\w+_tensor_unsafe\.\w+", r"^an answer there, \w+ here", r"^an answer", r"Torch not compiled with CUDA enabled", "There is no such device.", "a device that is not there"),
    Known(r"binary_cross_entropy_with_logits\.\w+", r"^RuntimeError in the (second )?gradient there, an answer here", r"doesn't match the broadcast shape", r"^an answer", "What is broadcast is broadcast.", "More has a derivative than in PyTorch"),
    Known(r"normal\.Tensor_Tensor", r"^gradient: NoneType None there|^result: (shape|requires_grad False there)", r"^an answer", r"^an answer", "torch.ops takes a tensor of no dimension for the number of another overload.", "a tensor of one element where it has a",
          lambda kind, theirs, ours, call: bool(re.search(r"<\w+ \[(1(, 1)*)?\]", call))),
    Known(r"to\.(other|dtype)", r"^result: dtype", r"^an answer", r"^an answer", "torch.ops takes a tensor of one element for the number of a dtype.", "a tensor of one element where it has a", lambda kind, theirs, ours, call: bool(re.search(r">, <\w+ \[(1(, 1)*)?\]", call))),
    Known(r"special_log_ndtr\.\w+", r"^(second )?gradient: (nan or infinity|value)", r"^an answer", r"^an answer", "Far out its slope is the number itself; PyTorch divides zero by zero.", "Of second derivatives far from 0", far_out),
    Known(r"cholesky_inverse\.\w+|logdet\.\w+|linalg_ldl_factor\w*\.\w+|linalg_pinv\.\w+|pinverse\.\w+", r"^(result|gradient|second gradient|arguments after the call): (nan or infinity|value)|^LinAlgError there, an answer here|^an answer there, LinAlgError here", r"", r"", "A factor with a zero on its diagonal has no inverse.", "A matrix that is singular but for rounding",
          lambda *told: singular(*told) or "gradient: value" in told[0] and near(told[3], 1e-3 if "float32" in told[3] else 1e-4)),
    Known(r"_?scaled_dot_product\w+\.\w+", r"^RuntimeError there, an answer here", r"Expected attn_mask dtype to be|Attention mask is the same data type as query", r"^an answer", "A mask is added, as promotion has it.", "Attention takes what can be broadcast"),
    Known(r"stft\.\w+", r"^RuntimeError there, an answer here", r"MKL FFT doesn't support tensors of type: (Half|ComplexHalf)", r"^an answer", "It is computed in float32.", "computed in float32 and rounded"),
    Known(r"_fft_r2c\.\w+|_fft_c2r\.\w+|_fft_c2c\.\w+", r"^RuntimeError there, an answer here", r"MKL FFT doesn't support tensors of type", r"^an answer", "There is nothing to transform.", "private Fourier transforms"),
    Known(r"linalg_(matrix_norm|norm|cond)\.\w+|nuclear_norm\.\w+", r"^result: requires_grad False there, True here", r"^an answer", r"^an answer", "The norm of no element.", "requires grad where it is zero throughout", lambda kind, theirs, ours, call: bool(re.search(r"<\w+ \[[^]]*\b0\b", call))),
    Known(r"(repeat_interleave|channel_shuffle)\.\w+", r"^result: lazy", r"^an answer", r"^an answer", "No elements have no sign.", "of empty and of meta tensors", lambda kind, theirs, ours, call: bool(re.search(r"<\w+ \[[^]]*\b0\b", call))),
    Known(r"_?embedding_bag\w*\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"offsets has to be a 1D", "What is wrong with a call does not depend on how many elements there are.", "of empty and of meta tensors is refused", no_elements),
    Known(r"_?embedding_bag\w*\.\w+", r"^IndexError( in the gradient)? there, an answer here", r"Index is supposed to be a vector", r"^an answer", "Indices of two dimensions are taken for any table.", "Bags take indices of two dimensions"),
    Known(r".*", r"^an answer there, RuntimeError here", r"^an answer", r"must be (tuple of ints|str), not bytes|got \(Tensor, bytes", "PyTorch takes bytes for a list of integers and for a word.", "bytes for a list of integers"),
    Known(r"linalg_matrix_rank\.\w*out", r"^arguments after the call: stride$|^result: stride$", r"^an answer", r"^an answer", "PyTorch resizes the target to the shape of the ranks, and then to that of the tolerances.", "strides of what `rsub`"),
    Known(r"unfold_backward\.\w+", r"^result: value|^RuntimeError there, IndexError here", r"^an answer|setStorage", r"^an answer|out of range", "PyTorch reads windows that are not there.", "`unfold_backward` of a window that does not fit", no_windows),
    Known(r"(unsafe_)?chunk\.\w+", r"^RuntimeError there, an answer here", r"split_size=-1|split_size can only be 0", r"^an answer", "PyTorch's sum of its size and their number wraps.", "`chunk` into more parts than 64 bits can add up"),
    Known(r"lu_unpack\.\w+", r"^RuntimeError in the gradient there, an answer here", r"triu: input tensor must have at least 2", r"^an answer", "Only the permutation was asked for.", "More has a derivative than in PyTorch"),
    Known(r"set_\.\w+", r"^RuntimeError there, RuntimeError in the gradient here", r"setStorage", r"", "The storage grows.", "`set_` to a tensor of another dtype"),
    Known(r"ldexp_?\.\w+", r"^(second )?gradient: nan or infinity", r"^an answer", r"^an answer", "Nothing times infinity.", "of infinities and NaN differ", lambda *told: not_finite(*told) or far_apart(*told)),
    Known(r"unflatten\.\w+", r"^TypeError there, NotImplementedError here", r"must be int, not str", r"named tensors", "It is a name.", "Named tensors"),
    Known(r"embedding_bag\.\w+", r"^IndexError there, RuntimeError here", r"Index is supposed to be a vector", r"offsets have to be 1D", "The check comes first.", "wrong in two ways"),
    Known(r"histogram\w*\.\w+", r"^result: value", r"^an answer", r"^an answer", "Edges that are all one number.", "`histogram` of numbers whose edges", lambda *told: far_apart(*told) or "e+308" in told[3]),
    Known(r"_scaled_dot_product_flash_attention_for_cpu_backward\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"do not fit query", "PyTorch reads beyond what it is given.", "of attention whose sizes do not fit"),
    Known(r"pixel_(un)?shuffle\.\w+", r"^result: shape", r"^an answer", r"^an answer", "PyTorch's shape function for meta tensors gives another shape than its operator.", "PyTorch works out the shapes of meta tensors", on_meta),
    Known(r"_scaled_dot_product_flash_attention_for_cpu\.\w+", r"^result: stride", r"^an answer", r"^an answer", "The logarithms lie by rows.", "Fourier transforms and of some linear algebra"),
    Known(r"fft_fftfreq\.out", r"^IndexError there, an answer here", r"cannot be applied to a 0-dim tensor", r"^an answer", "PyTorch writes to slices of the target.", "fftfreq` with an out="),
    Known(r"addc(div|mul)_?\.\w+", r"^(gradient|second gradient): value", r"^an answer", r"^an answer", "PyTorch multiplies integers by value first, which wraps.", "a `value` beyond the integers", lambda kind, theirs, ours, call: bool(re.search(r"value=-?\d{18,}", call))),
    Known(r"block_diag\.\w+", r"^gradient: value", r"^an answer", r"^an answer", "An empty vector is a block of one row and no column.", "`block_diag` of an empty vector", lambda kind, theirs, ours, call: bool(re.search(r"<\w+ \[0\]", call))),
    Known(r"_foreach_(norm|copy)\.\w+", r"^an answer there, RuntimeError here|^result: device", r"^an answer", r"^an answer|does not have an identity", "Meta tensors in a list.", "Meta tensors together with tensors that have values", on_meta),
    Known(r"(linspace|logspace)\.\w*out", r"^(result|arguments after the call): requires_grad True there, False here", r"^an answer", r"^an answer", "An end is a number, which has no gradient.", "the ends of `linspace`"),
    Known(r"(pow|__pow__)\.\w+", r"^result: dtype int64 there, bool here", r"^an answer", r"^an answer", "PyTorch's function for it has another dtype than its operator.", "PyTorch works out the shapes of meta tensors", on_meta),
    Known(r"\[\]=?|slice\w*\.\w+", r"^RuntimeError there, an answer here|^(result|arguments after the call): (value|shape)", r"", r"^an answer", "PyTorch's number of steps wraps, and reads and writes elsewhere.", "A slice whose step", long_step),
    Known(r"index\.Tensor|gradient\.\w+", r"^RuntimeError there, an answer here", r"tensors used as indices must be long|expected each tensor to be on the same device", r"^an answer", "PyTorch's function for it takes other dtypes, and no number.", "PyTorch works out the shapes of meta tensors", on_meta),
    Known(r"as_strided_copy\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"setStorage: sizes", "What its storage does not hold.", "of empty and of meta tensors is refused", on_meta),
    Known(r"_unsafe_masked_index_put_accumulate\.\w+", r"^RuntimeError there, IndexError in the gradient here", r"Inference tensors cannot be saved", r"at least one index", "No index, and a mask that cannot be kept.", "wrong in two ways"),
    Known(r"nansum\.\w+", r"^(result|arguments after the call): shape", r"^an answer", r"^an answer", "PyTorch's shape rule takes no dimensions for none to sum over.", "`nansum` over no dimensions", on_meta),
    Known(r"clamp_?\.\w+|clip_?\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"value cannot be converted", "PyTorch looks at NaN first.", "where the other limit is NaN", lambda kind, theirs, ours, call: "nan" in call),
    Known(r"cov\.\w+", r"^RuntimeError there, an answer here", r"expected m1 and m2 to have the same dtype", r"^an answer", "PyTorch multiplies the argument itself then.", "`cov` of one observation with weights"),
    Known(r"cov\.\w+", r"^arguments after the call: value$", r"^an answer", r"^an answer", "PyTorch takes the mean off in the argument's memory.", "`cov` of one observation with weights",
          lambda kind, theirs, ours, call: bool(re.search(r"[fa]weights=<", call) and re.search(r"\n(0|0\.0|-0\.0|0j|\(0\+0j\)) there", call) and re.match(r"[^<]*<\w+ \[(\d+, )?1\]|[^<]*<\w+ \[\]", call))),
    Known(r"adaptive_avg_pool[23]d\.out", r"^(RuntimeError there, an answer|RuntimeError there, IndexError) here", r"Expected (3D or 4D|4D or 5D) tensor|to have non-zero size for non-batch", r"^an answer|Dimension out of range", "As without out, to sizes that are all 1.", "to sizes that are all 1"),
    Known(r"linear\.out", r"^RuntimeError there, an answer here", r"resize storage that is not resizable", r"^an answer", "A bias of a vector is added.", "A vector as weight of `linear`"),
    Known(r"_embedding_bag\w*\.\w+", r"^result: shape", r"^an answer", r"^an answer", "PyTorch's function for it makes fewer of what goes backward.", "PyTorch works out the shapes of meta tensors", on_meta),
    Known(r"_(log_)?softmax_backward_data\.\w+", r"^result: dtype", r"^an answer", r"^an answer", "PyTorch's function for it takes any dtype's word.", "PyTorch works out the shapes of meta tensors", on_meta),
    Known(r"(native_)?channel_shuffle\.\w+", r"^RuntimeError there, an answer here", r"is ambiguous", r"^an answer", "Of tensors without elements.", "PyTorch works out the shapes of meta tensors", on_meta),
    Known(r"index_put_?\.\w+|\[\]=", r"^an answer there, RuntimeError in the gradient here", r"^an answer", r"masked_fill_ only supports boolean masks", "What is wrong with a mask of uint8 does not depend on how many elements there are.", "of empty and of meta tensors is refused", no_elements),
    Known(r"lerp\.\w*out", r"^an answer there, RuntimeError here", r"^an answer", r"Found dtype \w+ but expected", "PyTorch makes a number of a weight without dimensions, and then takes any out.", "`lerp` into an `out` of another dtype"),
    Known(r"searchsorted\.\w+|bucketize\.\w+", r"^result: device", r"^an answer", r"^an answer", "What is looked up in a meta tensor is a meta tensor.", "Meta tensors together with tensors that have values", on_meta),
    Known(r"searchsorted\.\w+|bucketize\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"side can only be", "PyTorch does not look at it there.", "of empty and of meta tensors is refused", on_meta),
    Known(r"_new_zeros_with_same_feature_meta\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"has no -?\d+ dimensions", "PyTorch reads sizes that are not there.", "more batch dimensions than there are"),
    Known(r"(nan)?quantile\.\w+", r"^(second )?gradient: value", r"^an answer", r"^an answer", "Which of equal numbers is the one.", "The order of equal elements is open", lambda kind, theirs, ours, call: "equal numbers" in call),
    Known(r"linalg_lstsq\.\w+", r"^an answer there, LinAlgError in the (second )?gradient here", r"^an answer", r"non-finite values", "Its gradient goes by singular values.", "Singular values of a matrix that is not finite are refused", not_finite),
    Known(r"fft_r?fftfreq\.out", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "PyTorch writes to slices of the target.", "fftfreq` with an out=", lambda kind, theirs, ours, call: not re.search(r"out=<\w+ \[\d+\] by \[1\]", call)),
    Known(r"soft_margin_loss\.\w+", r"^(second )?gradient: (nan or infinity|value)", r"^an answer", r"^an answer", "PyTorch's negative of an integer wraps, and an exponential that overflows is divided by itself.", "The gradient of `soft_margin_loss`",
          lambda kind, theirs, ours, call: bool(re.search(r"\n\S*nan\S* there|there, \S*nan\S* here", call)) or bool(re.search(r"<uint8 ", call)) or any(low in (-128, -32768, -2147480000, -9.22337e18) for low, *_ in held(call))),
    Known(r"squeeze_\.\w+", r"^(result|arguments after the call): (stride|value|shares|version)", r"^an answer", r"^an answer", "PyTorch resizes a lazily negated or conjugated tensor and writes its elements in order.", "`squeeze_` of a lazily", lambda kind, theirs, ours, call: bool(re.search(r"<\w+ [^<>]*\b(neg|conj)\b", call))),
    Known(r"scatter_reduce_?\.\w+", r"^RuntimeError in the gradient there, an answer here", r"Expected 'reduce' to be one of", r"^an answer", "There is nothing to reduce.", "of empty and of meta tensors", no_elements),
    Known(r"special_zeta\.\w+", r"^RuntimeError in the (second )?gradient there, an answer here", r"boolean negative", r"^an answer", "A flag is 0 or 1.", "More has a derivative than in PyTorch"),
    Known(r"(l1_loss|sgn_?|abs|linalg_norm|linalg_vector_norm|norm|dist)\.\w+", r"^(second )?gradient: value", r"^an answer", r"^an answer", "The square of a complex number that small has no digits.", "what is computed on the way overflows or loses its digits",
          lambda *told: "complex64" in told[3] and far_apart(*told)),
    Known(r"linalg_solve_triangular\.out", r"^an answer there, RuntimeError here", r"^an answer", r"Expected out tensor to have dtype", "PyTorch does not look at the dtype of a target whose elements lie in neither order.", "`linalg.solve_triangular` into a target", strided_out),
    Known(r"(linalg_)?det\.\w+", r"^(result|arguments after the call): nan or infinity", r"^an answer", r"^an answer", "Which products meet infinities depends on the exchanges.", "where sums of products overflow", not_finite),
    Known(r"(special_)?logit\.\w+", r"^(second )?gradient: (nan or infinity|value)", r"^an answer", r"^an answer", "With create_graph PyTorch takes it for a limit.", "a negative `eps` of `logit`", lambda kind, theirs, ours, call: bool(re.search(r">, -|eps=-", call))),
    Known(r"(adaptive_)?(max|avg)_pool3d\w*\.\w+", r"^RuntimeError there, an answer here", r"Unsupported memory format. Supports only ChannelsLast", r"^an answer", "PyTorch takes planes without a batch for images.", "pools in three dimensions without a batch",
          lambda kind, theirs, ours, call: bool(re.search(r"\A\S*<\w+ \[\d+, \d+, \d+, \d+\]", call))),
    Known(r"pixel_(un)?shuffle\.\w+", r"^RuntimeError there, an answer here", r"Unsupported memory format. Supports only ChannelsLast", r"^an answer", "PyTorch looks at the strides of what has five dimensions.", "`pixel_shuffle` of five dimensions"),
    Known(r"(cat|concat|concatenate|hstack|dstack|column_stack)\.\w*out", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "PyTorch divides by the stride of a dimension of size 1.", "`cat` of one tensor whose size is 1", strided_one),
    Known(r"_?native_batch_norm(_legit)?\.out", r"^(result|arguments after the call): shape", r"^an answer", r"^an answer", "By given statistics PyTorch does not touch the targets of the others.", "with given statistics has none of its own", given_statistics),
    Known(r".*", r"^RuntimeError there, an answer here", r"Expected a value of type 'bool' for argument '\w+' but instead found type 'Tensor'", r"^an answer", "PyTorch takes a tensor for a flag by way of int64.", "a flag is the truth of whatever is given",
          lambda kind, theirs, ours, call: bool(re.search(r"<uint64 [^<>]*\[(9[3-9]|1)\d{18,}\]", call))),
    Known(r"logspace\.\w+", r"^RuntimeError there, an answer here", r"value cannot be converted to type c10::complex", r"^an answer", "One complex number, whose power overflows, is infinite.", "a number beyond float32", lambda kind, theirs, ours, call: bool(re.search(r"\dj\), 1\b|steps=1\b", call))),
    Known(r"_?upsample_\w+_aa\.\w+", r"^(result|arguments after the call): value", r"^an answer", r"^an answer", "PyTorch repeats another row's value.", "to a width of 1 gives the mean", to_width_of_one),
    Known(r"linalg_cond\.\w+", r"^(result|arguments after the call): (value|nan or infinity)", r"^an answer", r"^an answer", "How far from singular is what rounding leaves.", "A matrix that is singular but for rounding", lambda kind, theirs, ours, call: "a singular matrix" in call),
    Known(r"lerp_?\.Tensor", r"^RuntimeError there, RuntimeError in the gradient here", r"for argument 'weight' but instead found type 'bool'", r"with a bool tensor is not supported", "A flag stands for a tensor, whose gradient either refuses.", "a number where its declaration has a tensor"),
    Known(r"program", r"^(grad|what hooks saw): value$", r"", r"", "PyTorch gives the hooks' result the new sizes.", "A result that hooks have packed keeps its sizes",
          lambda kind, theirs, ours, call: bool(re.search(r"(saved_tensors_hooks|save_on_cpu)\([^\n]*\n +(v\d+) = (?s:.*)^\s*\2\.(un)?(squeeze|t|transpose|swapaxes|swapdims)_\(", call, re.M))),
    Known(r"program", r"^(variable|grad|what hooks saw): value$", r"", r"", "A complex sum has lost the sign of a zero there, and a function has another side of its cut.", "sign of a zero in a complex sum",
          lambda kind, theirs, ours, call: bool(re.search(r"\(-?([\d.]+)([+-][\d.]+j)\) there, \(-?\1\2\) here", call))),
    Known(r"program", r"^grad: shape$", r"", r"", "PyTorch's gradient has the sizes that the leaf had when it was first used.", "a leaf that was given other sizes",
          lambda kind, theirs, ours, call: bool(re.search(r"(no_grad|set_grad_enabled\(False)[^\n]*\n +v\d+\.(un)?squeeze_\(|\n +v\d+\.(t|transpose|swap\w+|resize)_\(", call))),
    Known(r"program", r"^variable: shares$", r"", r"", "PyTorch gives back the input as the gradient.", "of `cummax` without elements", lambda kind, theirs, ours, call: bool(re.search(r"cum(max|min)\((?s:.*)autograd\.grad\(", call))),
    Known(r"program", r"^is_leaf RuntimeError there", r"", r"", "PyTorch makes such a view again of the new data, and cannot.", "`data` was replaced by what the base has no room for",
          lambda kind, theirs, ours, call: ".data = " in call),
    Known(r"program", r"^an answer there, RuntimeError here", r"", r"the history of a view that was given other data", "PyTorch's gradient is that of a place in the base.", "`data` was replaced by what the base has no room for"),
    Known(r"(unsafe_)?split\w*\.\w+", r"^TypeError there, ValueError here", r"a bytes-like object is required", r"empty separator", "Bytes are split by the tensor's.", "Tensors have the buffer protocol"),
    Known(r"(unsafe_)?split\w*_copy\.\w*out", r"^an answer there, RuntimeError here", r"^an answer", r"expected an out= argument of size", "There are as many targets as parts.", "of empty and of meta tensors is refused", no_elements),
    Known(r".*", r"", r"", r"", "PyTorch takes another overload of the name first; asked for this one, it does what we do.", "Which overload of a name", lambda kind, theirs, ours, call: call.startswith("pybind11_"), "overload"),
    Known(r".*", r"^(Index|Runtime|Value)Error there, (Index|Runtime|Value)Error here", r"\(call\)$", r"\(call\)$", "Both refuse.", "with another class of exception", no_elements),
    Known(r".*", r"^(result|arguments after the call): stride$", r"^an answer", r"^an answer", "What follows whom of dimensions whose strides are alike.", "beside one that is permuted", shared_beside_permuted),
    Known(r"pow\.Scalar\w*", r"^(second )?gradient: nan or infinity", r"^an answer", r"^an answer", "The base is infinite in that dtype, and so is its logarithm, which PyTorch takes before.", "a base of a power beyond its dtype", base_beyond_dtype),
    Known(r"binomial\.\w+", r"^result: (value|nan or infinity)", r"^an answer", r"^an answer", "How many numbers are drawn for a probability that is none.", "`binomial` of probabilities beyond 0 to 1",
          lambda kind, theirs, ours, call: any(low < 0 or high > 1 for low, high, *_ in list(held(call))[1:2])),
    Known(r"(select|slice|diagonal|as_strided)_scatter\.\w+", r"^(result|(second )?gradient): value", r"^an answer", r"^an answer", "The result has self's strides, whose elements share memory.", "elements in an order of its own", shares_memory),
    Known(r"_?(native_)?batch_norm\w*\.\w+", r"^(result|(second )?gradient): (value|nan or infinity)", r"^an answer", r"^an answer", "PyTorch takes the root of no variance for infinite.", "normalised with an `eps` of 0",
          lambda kind, theirs, ours, call: bool(re.search(r"\bFalse, [^,()]+, (0\.0|0)(, (True|False))?\)\n|training=False.*eps=0(\.0)?\b", call))),
    Known(r"tri[lu](_indices)?\.\w+", r"^(result|arguments after the call|gradient): (shape|value)", r"^an answer", r"^an answer", "PyTorch's sum of sizes and the offset wraps.", "diagonals as far as 64 bits go", lambda kind, theirs, ours, call: bool(re.search(r"[ =]-?\d{18,}[,)]", call.partition("\n")[0]))),
    Known(r"linear\.\w+", r"^RuntimeError there, an answer here", r"self and mat2 must have the same dtype", r"^an answer", "A vector as weight with a bias.", "A vector as weight of `linear`",
          lambda kind, theirs, ours, call: bool(re.match(r"[^<]*<[^<>]*>, <\w+ \[\d+\] ", call))),
    Known(r"(floor_divide|heaviside)_\.\w+", r"^an answer there, RuntimeError in the gradient here", r"^an answer", r"derivative for aten::\w+_ is not implemented", "PyTorch forgets it of a view.", "also where it wrote to a view"),
    Known(r"_?embedding_bag\w*\.\w+", r"^result: shape", r"^an answer", r"^an answer", "Places of no indices.", "bags without indices", no_elements),
    Known(r"normal\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"standard deviation to be non-complex", "torch.ops takes a tensor of no dimension for the number of another overload.", "a tensor of one element where it has a",
          lambda kind, theirs, ours, call: bool(re.search(r"<complex\d+ \[(1(, 1)*)?\]", call))),
    Known(r"hardtanh_?\.\w+", r"^an answer there, RuntimeError here", r"^an answer", r"cannot be converted to type uint8_t", "A limit between -1 and 0.", "`hardtanh` of uint8"),
]
COMPILED = [(*(re.compile(pattern, re.S) for pattern in entry[:4]), entry) for entry in KNOWN]


def known(name, kind, theirs="", ours="", call="", with_values=None):
    """The entry that a difference falls under, or None. `with_values` asks PyTorch again, for each word of `refereed`."""
    # What holds for an operator holds for it in place and on lists, too.
    names = {name, re.sub(r"(?<=[a-z0-9])_\.", ".", name).removeprefix("_foreach_")}
    for operators, kinds, their, our, entry in COMPILED:
        if any(map(operators.fullmatch, names)) and kinds.search(kind) and their.search(theirs) and our.search(ours):
            if (entry.test is None or entry.test(kind, theirs, ours, call)) and (not entry.refereed or with_values and with_values[entry.refereed]()):
                return entry
    return None


def mark(entry):
    """What names an entry in the files of `--known`, whatever is added or taken away beside it."""
    return f"{zlib.crc32(repr(entry[:6]).encode()):08x}"


def unused(files):
    """The entries that no line of these files begins with the mark of."""
    met = set()
    for path in files:
        with open(path) as file:
            met |= {line[:8] for line in file}
    return [entry for entry in KNOWN if mark(entry) not in met]


if __name__ == "__main__":
    if sys.argv[1:2] != ["--unused"]:
        sys.exit("known.py --unused FILE...")
    for entry in unused(sys.argv[2:]):
        print(mark(entry), entry.operators, entry.kind, entry.theirs, entry.ours, entry.why, sep=" | ")
