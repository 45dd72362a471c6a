"""The differences from PyTorch that are meant, each with its reason.

An entry holds for operators whose `name.overload` its pattern fits wholly, and for differences whose kind, whose telling of
PyTorch's outcome and whose telling of ours its patterns are found in. `where` is a phrase of docs/differences.md that tells
it to users. Values, dtypes and shapes of what both answer are never left out by class: such an entry names the operators it
is for. Where both refuse, and for different reasons, the call has two faults and either may be told: what a refusal is about
is read off its words (COMPLAINTS), so a refusal for the same reason with another class is still a difference.
"""
import re
from collections import namedtuple

Known = namedtuple("Known", "operators kind theirs ours why where test", defaults=("", None))

# What a refusal is about, by its words. The first that fits counts.
COMPLAINTS = [
    ("the call", r"expected at most \d|argument '.*' (\(position \d+\) )?must be|Expected a value of type|unexpected keyword argument|Unknown keyword|"
                 r"invalid combination of arguments|is missing value for argument|missing \d+ required|match any schema|but expected one of|expected Tensor as element|"
                 r"positional argument|Overflow when unpacking|can't convert negative int|int too (big|large)|has no attribute|object is not|got multiple values|"
                 r"does not accept|must be real number|cannot be interpreted as|can't assign|Could not infer dtype|in refs|invalid literal|"
                 r"only integer tensors of a single element|unhashable|too many values|object cannot be|expected .* but got .*object"),
    ("memory", r"allocate memory|out of memory|std::vector larger|Storage size calculation|bytes of memory"),
    ("a device", r"same device|cross-device|CUDA|cuda|Meta tensors|meta tensor|backend|device type|on meta|fake impl|expected device|Expected one of cpu|must be on|"
                 r"Cannot copy out of meta|no data!|pin_memory|pinned|no tensor arguments to this function"),
    ("a dimension", r"Dimension out of range|Dimension specified as|tuple index out of range|too many indices|Index has to be a vector/scalar|to have non-zero size|"
                    r"reduction dim|[Dd]im(ension)? .* (appears|repeated)|dims? .* (unique|appears)|list index out of range|index out of range|out of bounds|"
                    r"out of range for tensor|empty tensor|dims? must be (distinct|unique|different)|same dimension|duplicate dim"),
    ("the target", r"can't be cast|Found dtype|Expected out tensor|output tensor|out= ?argument|functions with out=|out tensor|non-boolean outputs|for result, got|and out|dtype of out|"
                   r"Expected result|doesn't match the broadcast shape|Bad in-place|in-place|single memory location|overlap|in.?place|Inplace|result dtype|result type|"
                   r"desired output|expected out"),
    ("a dtype", r"not implemented for|not supported for|dtype|complex|Complex|floating|integral|[Bb]oolean|scalar type|scalar_type|input type|expects? .*(float|bool|int)|"
                r"Low precision|Promotion|same type|index type|indices must be|tensors used as indices|Expected .*(Long|Int|Float|Double|Half|Byte)|expected T|to have type|"
                r"not applicable|LongTensor|types? other than|expects .* type|overflow|unsupported|should be Long|must be (long|int|bool|float)|only supports?|probabilities tensor"),
    ("autograd", r"requires grad|requires_grad|not differentiable|derivative|autograd|[Ii]nference|leaf|inference"),
    ("a word", r"Invalid (normalization )?mode|Expected one of|must be (one of|either)|should be|possible modes|reduction|[Rr]educe argument|expected .* to be one of|"
               r"rounding_mode|approximate|not a valid|indexing|Unrecognized|is not supported|unknown|Unknown"),
    ("sizes", r"shape|size|dimension|dim|D tensor|length|elements|[Vv]ector|[Mm]atri|scalar|broadcast|numel|non-?empty|\dD|expected|Expected|weight|bins|window|pad|"
              r"defined|None|kernel|stride"),
    ("a number", r"must|should|between|positive|negative|greater|less|zero|range|value|odd|even|nan|inf"),
]
PATTERNS = [(matter, re.compile(pattern)) for matter, pattern in COMPLAINTS]


def complaint(told):
    """What a refusal is about, or None."""
    return next((matter for matter, pattern in PATTERNS if pattern.search(told)), None)


def two_faults(kind, theirs, ours):
    """Whether both refuse the call itself, and not for one reason."""
    about = [complaint(told.partition(": ")[2]) for told in (theirs, ours)]
    return all(about) and about[0] != about[1]


KNOWN = [
    Known(r".*", r"^\w+ there, \w+ here", r"^\w+: .*\(call\)$", r"^\w+: .*\(call\)$",
          "A call with two faults: which of them is told, and with what class, depends on the order in which they are looked for, "
          "which in PyTorch differs from operator to operator.", "wrong in two ways", two_faults),
    Known(r".*", r"^\w+( in the \w+)? there, an answer here", r"not implemented for 'UInt(16|32|64)'", r"^an answer",
          "PyTorch has kernels of these dtypes for few operators; here they are compiled as those of other integers are.",
          "uint16, uint32 and uint64 work wherever"),
    Known(r".*out", r"^(RuntimeError|TypeError) there, an answer here", r"expected at most \d+ argument|takes \d+ positional argument|match any schema|"
          r"unexpected keyword argument|invalid combination of arguments|missing value for argument 'dim'|missing value for argument 'other'|Unknown keyword argument", r"^an answer",
          "Each operator has one out overload, with all arguments that it takes otherwise; PyTorch's factories take no options beside "
          "out in torch.ops, its activations and their backward forms have no such overload, and a dim without a default is a name's own.",
          "Overloads with `out=`"),
    Known(r"(rand|randn|randint)_like\.\w+", r"^RuntimeError there, an answer here", r"Unknown keyword argument 'generator'", r"^an answer",
          "A generator is taken wherever random numbers are drawn.", "`generator=` is taken"),
    Known(r".*", r"^RuntimeError there, an answer here", r"Expected a value of type '(Tensor|number|Optional\[Tensor\])' for argument '\w+' but instead found type '(int|float|bool|complex|Tensor)'",
          r"^an answer", "A number and a tensor of no dimension stand for one another in torch.ops as they do in functions.", "a number where its declaration has a tensor"),
    Known(r".*out", r"^RuntimeError in the gradient there, RuntimeError here", r"derivative for aten::\w+ is not implemented \(gradient\)|CopySlices|fn_edge.is_valid",
          r"functions with out=\.\.\. arguments don't support automatic differentiation.*\(call\)",
          "PyTorch's generated out forms notice it in backward only.", "`out=` together with an argument that requires grad"),
    Known(r".*", r"^(RuntimeError|NotImplementedError) in the (second )?gradient there, an answer here",
          r"[Tt]he derivative for .* is not implemented|derivative for \S+ is not implemented|\"\w+_backward\" not implemented for '\w+'", r"^an answer",
          "Formulas are there for more operators and dtypes, each checked against finite differences by the tests of derivatives.", "More has a derivative than in PyTorch"),
    Known(r"_foreach_\w+\.\w+", r"^RuntimeError there, \w+( answer)? here", r"fallback doesn't currently support mutable TensorLists", r"",
          "PyTorch has no fallback for lists.", "List operators write in place to lazily conjugated"),
    Known(r"result_type\.\w+", r"^result: int \d+ there, str 'torch", r"", r"",
          "PyTorch's schema has the number of its ScalarType there.", "`torch.ops.aten.result_type` gives a dtype"),
    Known(r".*", r"^RuntimeError( in the gradient)? there, \w+( answer)? here", r"INTERNAL ASSERT FAILED|MKL FFT error|ArrayRef: invalid slice", r"",
          "A defect of PyTorch's, which says so.", "stops with an internal assertion"),
    Known(r".*", r"^NotImplementedError there, RuntimeError here", r"attempted to run this operator with Meta tensors, but there was no fake impl|Could not run '\S+' with arguments from the 'Meta' backend",
          r"Expected all tensors to be on the same device", "Meta tensors beside others: here that is what is told.", "wrong in two ways"),
]
COMPILED = [(*(re.compile(pattern, re.S) for pattern in entry[:4]), entry) for entry in KNOWN]


def known(name, kind, theirs="", ours=""):
    """The entry that a difference falls under, or None."""
    for operators, kinds, their, our, entry in COMPILED:
        if operators.fullmatch(name) and kinds.search(kind) and their.search(theirs) and our.search(ours):
            if entry.test is None or entry.test(kind, theirs, ours):
                return entry
    return None
