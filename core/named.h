// core/named.h: calls of operators by name, for programs outside of the library: names stay what they are when numbers change. The C++
// functions with out= (generated/out_functions.h) are made of these, so that the library need not have one for each.
#pragma once
#include <algorithm>
#include <atomic>
#include <tuple>

#include "core/export.h"
#include "core/value.h"

namespace KINDLING_VISIBLE kindling {

struct Operator;

/// Text as a template argument.
template <size_t N> struct Literal {
    char text[N];
    constexpr Literal(const char (&given)[N]) { std::copy_n(given, N, text); }
};

/// Calls `name.overload` with all its arguments, in the schema's order. `found` keeps the operator.
void call_by_name(const char* name, const char* overload, std::atomic<const Operator*>& found, Value* arguments, Value* results);

template <Literal name, Literal overload = "out", class... A> Tensor call_out(const A&... arguments) {
    static constinit std::atomic<const Operator*> found{nullptr};
    Value given[] = {Value(arguments)...}, result;
    call_by_name(name.text, overload.text, found, given, &result);
    return result.take_tensor();
}
/// The same for an operator without a result: it writes into tensors of a list.
template <Literal name, Literal overload = "out", class... A> void call_into(const A&... arguments) {
    static constinit std::atomic<const Operator*> found{nullptr};
    Value given[] = {Value(arguments)...}, none;
    call_by_name(name.text, overload.text, found, given, &none);
}
/// The same for several results.
template <Literal name, Literal overload, class R, class... A> R call_outs(const A&... arguments) {
    static constinit std::atomic<const Operator*> found{nullptr};
    Value given[] = {Value(arguments)...}, results[std::tuple_size_v<R>];
    call_by_name(name.text, overload.text, found, given, results);
    return [&]<size_t... I>(std::index_sequence<I...>) {
        return R{results[I].take_tensor()...};
    }(std::make_index_sequence<std::tuple_size_v<R>>());
}

} // namespace kindling
