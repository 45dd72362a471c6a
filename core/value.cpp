// core/value.cpp: ownership of boxed values, and checked conversion of scalars.
#include "core/value.h"

#include <cmath>

namespace kindling {

Value::Value(const Scalar& s) : integer(0) {
    switch (s.kind()) {
    case Scalar::Kind::Bool:
        tag = Tag::Bool;
        integer = s.to_bool();
        break;
    case Scalar::Kind::Int:
        tag = Tag::Int;
        integer = s.to_int();
        break;
    case Scalar::Kind::UInt:
        tag = Tag::UInt;
        integer = s.to_int();
        break;
    case Scalar::Kind::Float:
        tag = Tag::Float;
        real = s.to_double();
        break;
    case Scalar::Kind::Complex:
        tag = Tag::Complex;
        real = s.to_complex().real();
        imag = s.to_complex().imag();
        break;
    }
}

Scalar Value::scalar() const {
    switch (tag) {
    case Tag::Bool: return Scalar(integer != 0);
    case Tag::Int: return Scalar(as_size().number());
    case Tag::UInt: return Scalar(static_cast<uint64_t>(integer));
    case Tag::Float: return Scalar(real);
    case Tag::Complex: return Scalar(std::complex<double>(real, imag));
    case Tag::Tensor: return Tensor::share(tensor).item_scalar();
    default: fail(ErrorKind::Type, "a number was expected");
    }
}

Value Value::own(std::vector<Tensor>&& list) {
    Value v;
    v.tag = Tag::TensorList;
    v.size = static_cast<uint32_t>(list.size());
    v.tensors = new Tensor[list.size()];
    for (size_t i = 0; i < list.size(); i++) v.tensors[i] = std::move(list[i]);
    return v;
}

std::vector<Tensor> Value::take_list() {
    std::vector<Tensor> list;
    if (tag != Tag::TensorList) return list;
    list.reserve(size);
    for (uint32_t i = 0; i < size; i++) list.push_back(std::move(tensors[i]));
    delete[] tensors;
    tag = Tag::None;
    return list;
}

void Value::discard() {
    if (tag == Tag::Tensor) release(tensor);
    else if (tag == Tag::TensorList) delete[] tensors;
    tag = Tag::None;
}

double Scalar::to_double() const {
    KINDLING_CHECK(Runtime, is_real(), "value cannot be converted to type double without overflow");
    return real();
}

void check_fits(const Scalar& value, DType dtype, const char* called) {
    auto fits = [&](double x) {
        if (dtype == DType::Float64 || dtype == DType::Complex128) return true;
        if (!is_integral(dtype)) return !(std::abs(x) > greatest(to_real(dtype))) || std::isinf(x);
        bool whole = !value.is_float() && !value.is_complex();
        double width = std::ldexp(1.0, static_cast<int>(item_size(dtype)) * 8 - (is_unsigned(dtype) ? 0 : 1));
        double low = !is_unsigned(dtype) ? -width : whole ? 1 - width : 0;
        bool below =
            whole && item_size(dtype) == 8 ? is_unsigned(dtype) || value.kind() != Scalar::Kind::UInt : x <= width - 1 && x < width;
        return x == x && x >= low && below;
    };
    const std::complex<double> parts = value.to_complex();
    const bool good = dtype == DType::Bool || (fits(parts.real()) && (is_complex(dtype) ? fits(parts.imag()) : parts.imag() == 0));
    KINDLING_CHECK(Runtime, good, "value cannot be converted to type %s without overflow", called ? called : c_type_name(dtype));
}

void check_kind(const Scalar& value, DType result, const char* name) {
    KINDLING_CHECK(Runtime, !value.is_bool() || result == DType::Bool, "Boolean %s only supported for Boolean results.", name);
    const bool whole = value.is_bool() || value.is_integral();
    KINDLING_CHECK(Runtime, whole || category(result) >= 2, "For integral input tensors, argument %s must not be a floating point number.",
                   name);
}

Tensor wrap_number(const Scalar& number) {
    // Kept in full, as torch does; weak in promotion.
    DType dtype = number.dtype();
    Tensor tensor = make_tensor({}, dtype);
    switch (dtype) {
    case DType::Float64: *tensor.data_ptr<double>() = number.to_double(); break;
    case DType::Complex128: *tensor.data_ptr<std::complex<double>>() = number.to_complex(); break;
    case DType::Bool: *tensor.data_ptr<bool>() = number.to_bool(); break;
    default: *tensor.data_ptr<int64_t>() = number.to_int(); break;
    }
    tensor.impl()->wrapped_number = true;
    return tensor;
}

} // namespace kindling
