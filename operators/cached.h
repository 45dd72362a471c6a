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

/// The expression `build(builder)` makes, kept for ever under `key` (dtypes and the like). F names the place.
template <class F> const Expression& cached_expression(uint64_t key, F build) {
    static constinit std::atomic<const CachedExpression*> head{nullptr};
    const CachedExpression* first = head.load(std::memory_order_acquire);
    for (auto* each = first; each; each = each->next)
        if (each->key == key) return each->expression;
    ExpressionBuilder builder;
    build(builder);
    auto* fresh = new CachedExpression{key, builder.finish(), first};
    while (!head.compare_exchange_weak(fresh->next, fresh)) {}
    return fresh->expression;
}

inline uint64_t key_of(DType a, DType b = DType::None, uint64_t more = 0) {
    return static_cast<uint64_t>(a) | static_cast<uint64_t>(b) << 8 | more << 16;
}

} // namespace kindling
