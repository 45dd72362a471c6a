// operators/cached.h: expressions built once for each place and key, for kernels that are not pointwise operators.
#pragma once
#include <atomic>

#include "kernels/symbol.h"

namespace kindling {

struct CachedExpression {
    uint64_t key;
    Expression expression;
    const CachedExpression* next;
};

namespace detail {
const Expression& cached_expression(std::atomic<const CachedExpression*>& head, uint64_t key, void (*build)(void*, ExpressionBuilder&),
                                    void* context);
}

/// The expression `build(builder)` makes, kept for ever under `key` (dtypes and the like). F names the place.
template <class F> const Expression& cached_expression(uint64_t key, F build) {
    static constinit std::atomic<const CachedExpression*> head{nullptr};
    return detail::cached_expression(head, key, [](void* f, ExpressionBuilder& b) { (*static_cast<F*>(f))(b); }, &build);
}

inline uint64_t key_of(DType a, DType b = DType::None, uint64_t more = 0) {
    return static_cast<uint64_t>(a) | static_cast<uint64_t>(b) << 8 | more << 16;
}

} // namespace kindling
