#include "operators/boxed.h"

namespace kindling::boxed {

void wrong_type(const Value& value, const char* expected) {
    fail(ErrorKind::Type, "%s was expected, not a value of kind %d", expected, static_cast<int>(value.tag));
}

Scalar From<Scalar>::get(const Value& v) { return v.is_none() ? Scalar() : v.scalar(); }

int64_t From<int64_t>::get(const Value& v) {
    if (v.tag == Value::Tag::Int || v.tag == Value::Tag::Bool || v.tag == Value::Tag::UInt) return v.integer;
    if (v.tag == Value::Tag::Tensor || v.is_number()) return v.scalar().to_int();
    wrong_type(v, "an int");
}

double From<double>::get(const Value& v) {
    if (v.tag == Value::Tag::Float) return v.real;
    if (v.tag == Value::Tag::Tensor || v.is_number()) return v.scalar().to_double();
    wrong_type(v, "a float");
}

bool From<bool>::get(const Value& v) {
    if (v.tag == Value::Tag::Bool || v.tag == Value::Tag::Int) return v.integer != 0;
    if (v.is_none()) return false;
    if (v.tag == Value::Tag::Tensor || v.is_number()) return v.scalar().to_bool();
    wrong_type(v, "a bool");
}

}  // namespace kindling::boxed
