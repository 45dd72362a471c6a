// core/size.cpp: what sizes do while somebody records.
// Compiled for size.
#include "core/size.h"

#include "core/shape.h"
#include "core/tensor.h"
#include "core/thread_state.h"

namespace kindling {

SizeRecorder* exchange_recorder(SizeRecorder* recorder) {
    SizeRecorder* before = thread_state.sizes;
    thread_state.sizes = recorder;
    return before;
}

int64_t Size::specialise() const {
    if (thread_state.sizes) thread_state.sizes->specialised(*this);
    return value_;
}

IntList SizeList::specialise() const {
    for (size_t i = 0; i < size(); i++) (void)(*this)[i].number();
    return hints();
}

void SizeVector::push_back(Size size) {
    if (size.symbol() && !symbolic()) numbers_.resize(2 * size_);
    const bool both = size.symbol() || symbolic();
    numbers_.insert(size_++, size.hint());
    if (both) numbers_.push_back(size.symbol());
}

namespace {

using Step = SizeRecorder::Step;
using Relation = SizeRecorder::Relation;

Size joined(Step step, Size a, Size b, int64_t value) {
    const bool recorded = (a.symbol() || b.symbol()) && thread_state.sizes;
    return {value, recorded ? thread_state.sizes->step(step, a, b) : 0};
}

bool decided(Relation relation, Size a, Size b, bool outcome) {
    if ((a.symbol() || b.symbol()) && thread_state.sizes) thread_state.sizes->decided(relation, a, b, outcome);
    return outcome;
}

/// RuntimeError where a size does not fit 64 bits.
template <class F> int64_t checked(F overflows, Size a, Size b) {
    int64_t value;
    KINDLING_CHECK(Runtime, !overflows(a.hint(), b.hint(), &value), "a size is too large: of %lld and %lld",
                   static_cast<long long>(a.hint()), static_cast<long long>(b.hint()));
    return value;
}

} // namespace

Size operator+(Size a, Size b) {
    return joined(Step::Add, a, b, checked([](int64_t x, int64_t y, int64_t* to) { return __builtin_add_overflow(x, y, to); }, a, b));
}
Size operator-(Size a, Size b) {
    return joined(Step::Sub, a, b, checked([](int64_t x, int64_t y, int64_t* to) { return __builtin_sub_overflow(x, y, to); }, a, b));
}
Size operator*(Size a, Size b) {
    return joined(Step::Mul, a, b, checked([](int64_t x, int64_t y, int64_t* to) { return __builtin_mul_overflow(x, y, to); }, a, b));
}
Size operator/(Size a, Size b) {
    const int64_t x = a.hint(), y = b.hint(), quotient = x / y;
    return joined(Step::FloorDiv, a, b, quotient - (x % y != 0 && (x < 0) != (y < 0)));
}
Size operator%(Size a, Size b) {
    const int64_t x = a.hint(), y = b.hint(), rest = x % y;
    return joined(Step::Mod, a, b, rest && (rest < 0) != (y < 0) ? rest + y : rest);
}
bool operator==(Size a, Size b) { return decided(Relation::Equal, a, b, a.hint() == b.hint()); }
bool operator<(Size a, Size b) { return decided(Relation::Less, a, b, a.hint() < b.hint()); }

Size size_of(const Tensor& tensor, int64_t dim) {
    const int64_t at = wrap_dim(dim, tensor.dim());
    const int64_t value = tensor.size(at);
    return {value, thread_state.sizes ? thread_state.sizes->size_of(tensor.impl(), at) : 0};
}

SizeVector sizes_of(const Tensor& tensor) {
    SizeVector sizes;
    for (int64_t d = 0; d < tensor.dim(); d++) sizes.push_back(size_of(tensor, d));
    return sizes;
}

Size numel_of(const Tensor& tensor) {
    Size product = 1;
    for (int64_t d = 0; d < tensor.dim(); d++) product = product * size_of(tensor, d);
    return product;
}

} // namespace kindling
