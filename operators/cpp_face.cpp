// operators/cpp_face.cpp: members of Tensor and functions that only C++ programs use.
#include "generated/functions.h"
#include "runtime/random.h"

namespace KINDLING_VISIBLE kindling {

void manual_seed(uint64_t seed);
void manual_seed(uint64_t seed) { default_generator().manual_seed(seed); }

Tensor Tensor::operator-() const { return kindling::neg(*this); }
const Tensor& Tensor::operator+=(const Tensor& other) const {
    kindling::add_(*this, other);
    return *this;
}
const Tensor& Tensor::operator-=(const Tensor& other) const {
    kindling::sub_(*this, other);
    return *this;
}
const Tensor& Tensor::operator*=(const Tensor& other) const {
    kindling::mul_(*this, other);
    return *this;
}
const Tensor& Tensor::operator/=(const Tensor& other) const {
    kindling::div_(*this, other);
    return *this;
}
const Tensor& Tensor::operator+=(const Scalar& other) const {
    kindling::add_(*this, wrap_number(other));
    return *this;
}
const Tensor& Tensor::operator-=(const Scalar& other) const {
    kindling::sub_(*this, wrap_number(other));
    return *this;
}
const Tensor& Tensor::operator*=(const Scalar& other) const {
    kindling::mul_(*this, wrap_number(other));
    return *this;
}
const Tensor& Tensor::operator/=(const Scalar& other) const {
    kindling::div_(*this, wrap_number(other));
    return *this;
}
Tensor Tensor::operator[](int64_t index) const { return kindling::select(*this, 0, index); }

} // namespace kindling
