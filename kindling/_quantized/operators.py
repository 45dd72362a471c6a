"""``torch.ops.quantized``: packed weights and the linear layers that use them."""
import kindling as torch
from kindling._quantized import tensor as _quantized

Tensor = torch.Tensor


class LinearPackedParamsBase:
    """A weight ready for products, and a bias; what `torch.ops.quantized.linear_prepack` gives."""

    def __init__(self, weight, bias):
        self._weight, self._bias = weight, bias

    def unpack(self):
        return self._weight, self._bias

    def weight(self):
        return self.unpack()[0]

    def bias(self):
        return self._bias


class _Int8(LinearPackedParamsBase):
    def __init__(self, weight, bias):
        super().__init__(weight, bias)
        quantizer = weight._quantizer
        plain = _quantized.numbers(weight)
        self._plain = plain.t()
        self._sums = plain.sum(1, dtype=torch.int32)
        if quantizer.axis is None:
            self._scales, self._zeros = _quantized._single(quantizer.scale), quantizer.zero_point
        else:
            self._scales, self._zeros = quantizer.scale.to(torch.float32), quantizer.zero_point.to(torch.int32)
        self._shifted = bool((torch.as_tensor(self._zeros) != 0).any())

    def __deepcopy__(self, memo):
        from copy import deepcopy
        return type(self)(deepcopy(self._weight, memo), deepcopy(self._bias, memo))

    def __reduce__(self):
        return linear_prepack, (self._weight, self._bias)

    def apply_dynamic(self, input, reduce_range=False):
        """Rows times the weight in whole numbers, the input's scale taken from its range."""
        if input.dim() < 2:
            raise RuntimeError("The dimension of input tensor should be larger than or equal to 2")
        if input.size(-1) != self._plain.size(0):
            raise RuntimeError("The number of columns in the weight and the last dimension of input must match: "
                               f"{self._plain.size(0)} and {input.size(-1)}")
        rows = input.detach().to(torch.float32).reshape(-1, input.size(-1))
        scale, zero = _quantized._choose_qparams_per_tensor(rows, reduce_range)
        numbers = _quantized._rounded(rows, _quantized.Quantizer(torch.per_tensor_affine, scale, zero), torch.quint8)
        # Products take int8: 128 less, and what that takes away is the sum of the weight's column.
        sums = torch._int_mm(numbers.bitwise_xor_(128).view(torch.int8), self._plain)
        sums += (128 - zero) * self._sums
        if self._shifted:
            left = numbers.view(torch.int8).sum(1, dtype=torch.int32, keepdim=True) + (128 - zero) * numbers.size(1)
            sums -= left * self._zeros
        both = (torch.tensor(scale, dtype=torch.float32) * self._scales).to(torch.float64)
        # The product and the bias are rounded once: in float64 the product is exact.
        result = sums.to(torch.float32).to(torch.float64).mul_(both)
        if self._bias is not None:
            result += self._bias.detach().to(torch.float64)
        return result.to(torch.float32).reshape(*input.shape[:-1], self._plain.size(1))


class _Half(LinearPackedParamsBase):
    def __init__(self, weight, bias):
        super().__init__(weight, bias)
        self._weight = weight.detach().clamp(-65504, 65504).to(torch.float16)

    def __deepcopy__(self, memo):
        from copy import deepcopy
        return type(self)(deepcopy(self._weight, memo), deepcopy(self._bias, memo))

    def __reduce__(self):
        return linear_prepack_fp16, (self.unpack()[0], self._bias)

    def unpack(self):
        return self._weight.to(torch.float32), self._bias

    def apply_dynamic(self, input, reduce_range=False):
        if input.dim() < 2:
            raise RuntimeError("Expected input.dim() >= 2 to be true, but got false.")
        result = torch.matmul(input.detach().to(torch.float32), self._weight.to(torch.float32).t())
        return result if self._bias is None else result + self._bias


def linear_prepack(weight, bias=None):
    """A quantised weight, packed."""
    if not isinstance(weight, _quantized.QuantizedTensor) or weight.dtype != torch.qint8:
        raise RuntimeError("quantized::linear_prepack: expected a weight of dtype qint8")
    if weight.dim() != 2:
        raise RuntimeError("The weight tensor for quantized::linear_prepack (fbgemm) should be 2-dimensional.")
    return _Int8(weight, bias)


def linear_prepack_fp16(weight, bias=None):
    """A float32 weight, packed in float16."""
    return _Half(weight, bias)


def linear_unpack(packed):
    """The weight and the bias of what was packed."""
    return packed.unpack()


linear_unpack_fp16 = linear_unpack


def linear_dynamic(input, packed, reduce_range=False):
    """A linear layer in whole numbers over float32 input."""
    return packed.apply_dynamic(input, reduce_range)


def linear_relu_dynamic(input, packed, reduce_range=False):
    """`linear_dynamic` and relu."""
    return packed.apply_dynamic(input, reduce_range).relu_()


def linear_dynamic_fp16(input, packed):
    """A linear layer with weights of float16 over float32 input."""
    return packed.apply_dynamic(input)


def linear_relu_dynamic_fp16(input, packed):
    """`linear_dynamic_fp16` and relu."""
    return packed.apply_dynamic(input).relu()
