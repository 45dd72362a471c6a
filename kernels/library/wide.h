// kernels/library/wide.h: kernels that compute in one wide type and only load and store by dtype. A dtype then costs
// two small loops and no copy of the kernel.
#pragma once
#include "kernels/library/dtype_switch.h"
#include "kernels/library/half.h"

namespace kindling::library {

/// to[i] = from[i * step], converted.
template <class M> using Load = void (*)(const void* from, int64_t step, M* to, int64_t count);
/// to[i * step] = from[i], converted (rounded once; integers wrap).
template <class M> using Store = void (*)(void* to, int64_t step, const M* from, int64_t count);

template <class T, class M> void load_wide(const void* from, int64_t step, M* to, int64_t count) {
    const T* elements = static_cast<const T*>(from);
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<M>(load(elements[i * step]));
}
template <class T, class M> void store_wide(void* to, int64_t step, const M* from, int64_t count) {
    T* elements = static_cast<T*>(to);
    for (int64_t i = 0; i < count; ++i) elements[i * step] = store_as<T>(from[i]);
}

template <class M, class... T> Load<M> find_load(Types<T...> types, DType dtype, const char* kernel) {
    Load<M> found = nullptr;
    for_type(types, dtype, kernel, [&](auto type) { found = load_wide<decltype(type), M>; });
    return found;
}
template <class M, class... T> Store<M> find_store(Types<T...> types, DType dtype, const char* kernel) {
    Store<M> found = nullptr;
    for_type(types, dtype, kernel, [&](auto type) { found = store_wide<decltype(type), M>; });
    return found;
}

/// Converts elements of a dtype to the type M in which its kernel computes, and back.
template <class M> struct Wide {
    using Math = M;
    Load<M> load;
    Store<M> store;
    size_t bytes; // of an element
    bool same;    // the elements are of type M and can be used in place

    const void* at(const void* base, int64_t element) const {
        return static_cast<const char*>(base) + element * static_cast<int64_t>(bytes);
    }
    void* at(void* base, int64_t element) const { return static_cast<char*>(base) + element * static_cast<int64_t>(bytes); }
};

/// Calls run(Wide<M>) where M is double for double, float for the other floating dtypes, int64_t for integers.
template <class... T, class Run> void for_wide(Types<T...> types, DType dtype, const char* kernel, Run run) {
    auto go = [&]<class M>(M) {
        Wide<M> wide{nullptr, nullptr, item_size(dtype), dtype == dtype_of<M>};
        for_type(types, dtype, kernel, [&](auto type) {
            using E = decltype(type);
            if constexpr (std::is_integral_v<E> == std::is_integral_v<M> && (std::is_same_v<E, double> == std::is_same_v<M, double>)) {
                wide.load = load_wide<E, M>;
                wide.store = store_wide<E, M>;
            }
        });
        run(wide);
    };
    if (dtype == DType::Float64) return go(double{});
    if (is_floating(dtype)) return go(float{});
    if constexpr ((std::is_integral_v<T> || ...)) return go(int64_t{});
    refuse_dtype(kernel, dtype);
}

} // namespace kindling::library
