// operators/boxed.h: from an ordinary function to the boxed calling form, by its parameter types.
#pragma once
#include <tuple>
#include <type_traits>

#include "core/operator.h"
#include "core/unboxed.h"

namespace kindling {

/// Which of a derivative's targets are needed.
struct Wanted {
    uint64_t bits;
    bool operator[](int i) const { return bits >> i & 1; }
};

namespace boxed {

[[noreturn]] void wrong_type(const Value& value, const char* expected);

/// A tensor argument while the body runs: the caller keeps it alive, so it is not counted again. A number becomes a tensor here.
class Borrowed {
public:
    explicit Borrowed(const Value& v);
    Borrowed(const Borrowed&) = delete;
    ~Borrowed() {
        if (made_) tensor_.~Tensor();
    }
    operator const Tensor&() const { return tensor_; }

private:
    union {
        Tensor tensor_;
    };
    bool made_;
};
/// How a body's parameter of type A gets its argument.
template <class A> struct Pass {
    static auto get(const Value& v) { return From<std::decay_t<A>>::get(v); }
};
template <> struct Pass<const Tensor&> {
    static Borrowed get(const Value& v) { return Borrowed(v); }
};

/// What a kernel gives. It is no differentiable view, even if the kernel made it by way of one.
void give(Value* result, TensorImpl* owned);
void give(Value* result, std::vector<Tensor>&& list);
inline void give(Value* results, Tensor&& t) { give(results, t.take()); }
template <class T> void give(Value* results, const T& t) { put(results, t); }
template <class... T> void give(Value* results, std::tuple<T...>&& tuple) {
    [&]<size_t... I>(std::index_sequence<I...>) {
        (give(results + I, std::get<I>(static_cast<std::tuple<T...>&&>(tuple))), ...);
    }(std::index_sequence_for<T...>());
}

template <class M> struct Signature;
template <class F, class R, class... A> struct Signature<R (F::*)(A...) const> {
    using Result = R;
    static constexpr size_t count = sizeof...(A);
    template <bool fresh, size_t... I> static void call(const Value* arguments, Value* results, std::index_sequence<I...>) {
        if constexpr (std::is_void_v<R>) F{}(Pass<A>::get(arguments[I])...);
        else if constexpr (fresh) give(results, F{}(Pass<A>::get(arguments[I])...));
        else put(results, F{}(Pass<A>::get(arguments[I])...));
    }
    template <size_t... I> static R apply(const Value* arguments, std::index_sequence<I...>) {
        return F{}(From<std::decay_t<A>>::get(arguments[I])...);
    }
};

/// Views that a call made several of: none of them may be written in place under autograd.
void mark_multiple(const Value& list);

/// Compositions and views, whose results are what they are.
template <class F> void kernel([[maybe_unused]] const Operator& op, Value* arguments, Value* results) {
    using S = Signature<decltype(&F::operator())>;
    S::template call<false>(arguments, results, std::make_index_sequence<S::count>());
    if constexpr (std::is_same_v<typename S::Result, std::vector<Tensor>>)
        if (op.body == Body::View) mark_multiple(results[0]);
}
template <class F> void fresh_kernel(const Operator&, Value* arguments, Value* results) {
    using S = Signature<decltype(&F::operator())>;
    S::template call<true>(arguments, results, std::make_index_sequence<S::count>());
}

// ---- derivatives

struct Names {
    const char* parameters;
};
template <class F> struct Given {
    const char* parameters;
};
template <class F> Given<F> operator+(Names names, F) { return {names.parameters}; }

template <> struct From<Wanted> {
    static Wanted get(const Value& v) { return {static_cast<uint64_t>(v.integer)}; }
};

inline void spread(Tensor* gradients, Tensor&& t) { gradients[0] = static_cast<Tensor&&>(t); }
inline void spread(Tensor* gradients, std::vector<Tensor>&& list) {
    for (size_t i = 0; i < list.size(); i++) gradients[i] = static_cast<Tensor&&>(list[i]);
}
template <class... T> void spread(Tensor* gradients, std::tuple<T...>&& tuple) {
    [&]<size_t... I>(std::index_sequence<I...>) {
        ((gradients[I] = std::get<I>(static_cast<std::tuple<T...>&&>(tuple))), ...);
    }(std::index_sequence_for<T...>());
}
/// `given` holds the saved values in the order of the lambda's parameters.
template <class F> void gradient(const Value* given, uint64_t, Tensor* gradients) {
    using S = Signature<decltype(&F::operator())>;
    spread(gradients, S::apply(given, std::make_index_sequence<S::count>()));
}

/// A check of values: `given` as above.
template <class F> void check(const Value* given) {
    using S = Signature<decltype(&F::operator())>;
    S::apply(given, std::make_index_sequence<S::count>());
}

} // namespace boxed
} // namespace kindling
