// operators/boxed.h: from an ordinary function to the boxed calling form, by its parameter types.
#pragma once
#include <tuple>
#include <type_traits>

#include "core/operator.h"

namespace kindling {

/// Which of a derivative's targets are needed.
struct Wanted {
    uint64_t bits;
    bool operator[](int i) const { return bits >> i & 1; }
};

namespace boxed {

[[noreturn]] void wrong_type(const Value& value, const char* expected);

/// Unboxing. What a Value holds was checked against the schema where it entered, so these only convert.
template <class T> struct From;
template <> struct From<Tensor> {
    static Tensor get(const Value& v) {
        if (v.tag == Value::Tag::Tensor) return Tensor::share(v.tensor);
        return v.is_number() ? wrap_number(v.scalar()) : Tensor();
    }
};
/// A tensor argument while the body runs: the caller keeps it alive, so it is not counted again. A number becomes a tensor here.
class Borrowed {
public:
    explicit Borrowed(const Value& v);
    Borrowed(const Borrowed&) = delete;
    ~Borrowed() { if (made_) tensor_.~Tensor(); }
    operator const Tensor&() const { return tensor_; }

private:
    union { Tensor tensor_; };
    bool made_;
};
template <> struct From<Scalar> { static Scalar get(const Value& v); };
template <> struct From<int64_t> { static int64_t get(const Value& v); };
template <> struct From<double> { static double get(const Value& v); };
template <> struct From<bool> { static bool get(const Value& v); };
template <> struct From<Text> { static Text get(const Value& v) { return v.is_none() ? Text() : Text(v.text, v.size); } };
template <> struct From<DType> { static DType get(const Value& v) { return v.is_none() ? DType::None : v.dtype; } };
template <> struct From<Layout> { static Layout get(const Value& v) { return v.layout; } };
template <> struct From<Device> { static Device get(const Value& v) { return v.device; } };
template <> struct From<MemoryFormat> {
    static MemoryFormat get(const Value& v) { return v.is_none() ? MemoryFormat::Contiguous : v.format; }
};
template <> struct From<Generator*> { static Generator* get(const Value& v) { return v.is_none() ? nullptr : v.generator; } };
template <> struct From<Ref<Storage>> { static Ref<Storage> get(const Value& v) { return Ref<Storage>::share(v.storage); } };
template <> struct From<IntList> { static IntList get(const Value& v) { return v.is_none() ? IntList() : IntList(v.integers, v.size); } };
template <> struct From<Span<double>> { static Span<double> get(const Value& v) { return Span<double>(v.floats, v.size); } };
template <> struct From<Span<bool>> { static Span<bool> get(const Value& v) { return Span<bool>(v.bools, v.size); } };
template <> struct From<Span<Scalar>> { static Span<Scalar> get(const Value& v) { return Span<Scalar>(v.scalars, v.size); } };
template <> struct From<TensorList> {
    static TensorList get(const Value& v) { return v.is_none() ? TensorList() : TensorList(v.tensors, v.size); }
};
template <class T> struct From<std::optional<T>> {
    static std::optional<T> get(const Value& v) {
        if (v.is_none()) return std::nullopt;
        return From<T>::get(v);
    }
};

/// How a body's parameter of type A gets its argument.
template <class A> struct Pass { static auto get(const Value& v) { return From<std::decay_t<A>>::get(v); } };
template <> struct Pass<const Tensor&> { static Borrowed get(const Value& v) { return Borrowed(v); } };

inline void put(Value* results, Tensor&& t) { results[0] = Value::own(static_cast<Tensor&&>(t)); }
inline void put(Value* results, const Tensor& t) { results[0] = Value::own(Tensor(t)); }
inline void put(Value* results, std::vector<Tensor>&& list) { results[0] = Value::own(static_cast<std::vector<Tensor>&&>(list)); }
inline void put(Value* results, bool b) { results[0] = b; }
inline void put(Value* results, int64_t i) { results[0] = i; }
inline void put(Value* results, double d) { results[0] = d; }
inline void put(Value* results, const Scalar& s) { results[0] = s; }
inline void put(Value* results, DType d) { results[0] = d; }
template <class... T> void put(Value* results, std::tuple<T...>&& tuple) {
    [&]<size_t... I>(std::index_sequence<I...>) {
        (put(results + I, std::get<I>(static_cast<std::tuple<T...>&&>(tuple))), ...);
    }(std::index_sequence_for<T...>());
}

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

struct Names { const char* parameters; };
template <class F> struct Given { const char* parameters; };
template <class F> Given<F> operator+(Names names, F) { return {names.parameters}; }

template <> struct From<Wanted> { static Wanted get(const Value& v) { return {static_cast<uint64_t>(v.integer)}; } };

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

}  // namespace boxed
}  // namespace kindling
