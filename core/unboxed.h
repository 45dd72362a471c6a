// core/unboxed.h: what a boxed value is as a parameter of an ordinary function, and what such a function returns, boxed.
#pragma once
#include <tuple>
#include <type_traits>
#include <vector>

#include "core/export.h"
#include "core/value.h"

namespace kindling::boxed {

/// Unboxing. What a Value holds was checked against the schema where it entered, so these only convert.
template <class T> struct From;
template <> struct From<Tensor> {
    static Tensor get(const Value& v) {
        if (v.tag == Value::Tag::Tensor) return Tensor::share(v.tensor);
        return v.is_number() ? wrap_number(v.scalar()) : Tensor();
    }
};
template <> struct From<Scalar> {
    KINDLING_API static Scalar get(const Value& v);
};
template <> struct From<int64_t> {
    KINDLING_API static int64_t get(const Value& v);
};
template <> struct From<double> {
    KINDLING_API static double get(const Value& v);
};
template <> struct From<bool> {
    KINDLING_API static bool get(const Value& v);
};
template <> struct From<Text> {
    static Text get(const Value& v) { return v.is_none() ? Text() : Text(v.text, v.size); }
};
template <> struct From<DType> {
    static DType get(const Value& v) { return v.is_none() ? DType::None : v.dtype; }
};
template <> struct From<Layout> {
    static Layout get(const Value& v) { return v.layout; }
};
template <> struct From<Device> {
    static Device get(const Value& v) { return v.device; }
};
template <> struct From<MemoryFormat> {
    static MemoryFormat get(const Value& v) { return v.is_none() ? MemoryFormat::Contiguous : v.format; }
};
template <> struct From<Generator*> {
    static Generator* get(const Value& v) { return v.is_none() ? nullptr : v.generator; }
};
template <> struct From<Ref<Storage>> {
    static Ref<Storage> get(const Value& v) { return Ref<Storage>::share(v.storage); }
};
template <> struct From<IntList> {
    static IntList get(const Value& v) { return v.is_none() ? IntList() : v.as_sizes().numbers(); }
};
/// Who takes these goes on with symbols; who takes numbers holds for them alone, and whoever records is told.
template <> struct From<Size> {
    static Size get(const Value& v) { return v.symbolic ? v.as_size() : Size(From<int64_t>::get(v)); }
};
template <> struct From<SizeList> {
    static SizeList get(const Value& v) { return v.is_none() ? SizeList() : v.as_sizes(); }
};
template <> struct From<Span<double>> {
    static Span<double> get(const Value& v) { return Span<double>(v.floats, v.size); }
};
template <> struct From<Span<bool>> {
    static Span<bool> get(const Value& v) { return Span<bool>(v.bools, v.size); }
};
template <> struct From<Span<Scalar>> {
    static Span<Scalar> get(const Value& v) { return Span<Scalar>(v.scalars, v.size); }
};
template <> struct From<TensorList> {
    static TensorList get(const Value& v) { return v.is_none() ? TensorList() : TensorList(v.tensors, v.size); }
};
template <class T> struct From<std::optional<T>> {
    static std::optional<T> get(const Value& v) {
        if (v.is_none()) return std::nullopt;
        return From<T>::get(v);
    }
};

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

} // namespace kindling::boxed
