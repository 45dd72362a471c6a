// core/registration.h: operators from outside of the library, added and taken back at run time.
//
//     Tensor scaled(const Tensor& self, double by) { return self * Scalar(by); }
//     register_operator<scaled>("mine::scaled(Tensor self, float by=2) -> Tensor");
//     Tensor y = call_operator<"mine::scaled">(x, 3.0);
//
// In Python it is torch.ops.mine.scaled. Names without a namespace are torch.ops.aten's.
#pragma once
#include "core/named.h"
#include "core/unboxed.h"

namespace KINDLING_VISIBLE kindling {

/// What goes backward through an operator from outside.
enum class Gradient : uint8_t {
    OfItsParts, // the operators that it calls are differentiated; modes and vmap see those, too
    None,       // its results never require grad
    Refused,    // they do, and going backward raises
};

/// Adds an operator beside the built-in ones. `letters` says the types of the function's parameters. RuntimeError if they are not
/// those of the schema, or if there is one of this name and overload already.
void add_operator(const char* schema, void (*kernel)(const Operator& op, Value* arguments, Value* results), const char* letters,
                  Gradient gradient);
/// Forgets an operator that was added; false if there is none. Its memory stays: callers may hold it.
bool remove_operator(const char* name, const char* overload);

namespace boxed {

template <class T> inline constexpr char letter = 0;
template <> inline constexpr char letter<Tensor> = 't';
template <> inline constexpr char letter<Scalar> = 's';
template <> inline constexpr char letter<int64_t> = 'i';
template <> inline constexpr char letter<double> = 'd';
template <> inline constexpr char letter<bool> = 'b';
template <> inline constexpr char letter<Text> = 'T';
template <> inline constexpr char letter<DType> = 'D';
template <> inline constexpr char letter<IntList> = 'I';
template <> inline constexpr char letter<Size> = 'i';
template <> inline constexpr char letter<SizeList> = 'I';
template <> inline constexpr char letter<TensorList> = 'l';
template <class T> inline constexpr char letter<std::optional<T>> = letter<T>;

template <auto function> struct Outside;
template <class R, class... A, R (*function)(A...)> struct Outside<function> {
    static_assert(
        ((letter<std::decay_t<A>> != 0) && ...),
        "parameters are Tensor, Scalar, int64_t, double, bool, Text, DType, IntList, Size, SizeList, TensorList, or optional of one");
    static constexpr char letters[] = {letter<std::decay_t<A>>..., 0};
    static void run(const Operator&, Value* arguments, Value* results) {
        [&]<size_t... I>(std::index_sequence<I...>) {
            if constexpr (std::is_void_v<R>) function(From<std::decay_t<A>>::get(arguments[I])...);
            else put(results, function(From<std::decay_t<A>>::get(arguments[I])...));
        }(std::index_sequence_for<A...>());
    }
};

} // namespace boxed

template <auto function> void register_operator(const char* schema, Gradient gradient = Gradient::OfItsParts) {
    add_operator(schema, &boxed::Outside<function>::run, boxed::Outside<function>::letters, gradient);
}
/// Calls one with all arguments of its schema.
template <Literal name, Literal overload = "", class... A> Tensor call_operator(const A&... arguments) {
    return call_out<name, overload>(arguments...);
}

} // namespace kindling
