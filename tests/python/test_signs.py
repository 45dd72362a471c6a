"""Every sign of Python on tensors, numbers and arrays, in place too, beside torch: values, dtype, whose object the result is, errors."""
import operator
import warnings

import kindling
import numpy as np
import pytest
import torch

SIGNS = ("add sub mul truediv floordiv mod pow matmul lshift rshift and_ or_ xor iadd isub imul itruediv ifloordiv imod ipow imatmul ilshift irshift "
         "iand ior ixor lt le eq ne ge gt").split()
ONE = "neg pos abs invert not_ truth index int float bool complex round len".split()
OPERANDS = {
    "integers": "t.tensor([7, -5])", "floats": "t.tensor([7.5, -5])", "truths": "t.tensor([True, False])", "bytes": "t.tensor([7, 5], dtype=t.uint8)",
    "one": "t.tensor(3)", "leaf": "t.tensor([1., 2.], requires_grad=True)", "int": "2", "float": "2.5", "bool": "True", "complex": "1j", "None": "None",
    "list": "[1, 2]", "str": "'a'", "array": "np.array([1, 2])", "array of floats": "np.array([[1.], [2.]])", "array of objects": "np.array([1, None])",
    "reversed array": "np.array([1, 2])[::-1]", "NumPy's number": "np.float32(3)",
}
TENSORS = [each for each in OPERANDS if OPERANDS[each][:2] == "t."]


def outcome(module, function, *operands):
    operands = [eval(OPERANDS[each], {"t": module, "np": np}) for each in operands]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(*operands)
    except Exception as error:
        # Names of kernels and shapes behind the message are our own.
        return type(error).__name__, "" if isinstance(error, NotImplementedError) else str(error).split("; ")[0].split(" in ")[0]
    values = result.tolist() if hasattr(result, "tolist") else result
    return repr(values), type(result).__name__, str(getattr(result, "dtype", "")), getattr(result, "requires_grad", None), result is operands[0]


@pytest.mark.parametrize("sign", SIGNS)
def test_two_operands(sign):
    function, different = getattr(operator, sign), []
    for left in OPERANDS:
        for right in OPERANDS:
            if left not in TENSORS and right not in TENSORS or sign in ("pow", "ipow") and "complex" in (left, right):
                continue        # powers of complex numbers differ in the last bits
            if left == "one" and right in ("floats", "leaf") and sign in ("ilshift", "irshift", "iand", "ior", "ixor"):
                continue        # shape and dtype are refused: the shape first, or the dtype
            expected, got = outcome(torch, function, left, right), outcome(kindling, function, left, right)
            if got != expected:
                different.append(f"{left} {sign} {right}: torch {expected}, kindling {got}")
    assert not different, "\n".join(different)


@pytest.mark.parametrize("name", ONE)
def test_one_operand(name):
    function = getattr(operator, name, None) or eval(name)
    for operand in TENSORS:
        assert outcome(kindling, function, operand) == outcome(torch, function, operand), operand
