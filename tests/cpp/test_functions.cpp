// The generated C++ functions hand their arguments on as they got them: in registers, in vector registers, in memory, and results
// of every kind come back (core/forward.cpp). Beside each function its operator is called with arguments boxed here.
#include <string>
#include <type_traits>

#include "core/dispatch.h"
#include "core/error.h"
#include "generated/functions.h"
#include "operators/kernel.h"
#include "runtime/random.h"
#include "tests/cpp/check.h"

using namespace kindling;

namespace {

bool same(const Tensor& a, const Tensor& b) {
    if (!a.defined() || !b.defined()) return a.defined() == b.defined();
    return a.sizes() == b.sizes() && a.strides() == b.strides() && a.dtype() == b.dtype() &&
           (a.dtype() == DType::Bool ? equal(a, b) : allclose(a, b, 0, 0, true));
}
bool same(const Tensor& a, Value& b) { return same(a, b.take_tensor()); }
bool same(const std::vector<Tensor>& a, Value& b) {
    const std::vector<Tensor> list = b.take_list();
    bool good = a.size() == list.size();
    for (size_t i = 0; good && i < a.size(); i++) good = same(a[i], list[i]);
    return good;
}
bool same(bool a, Value& b) { return b.tag == Value::Tag::Bool && a == (b.integer != 0); }
bool same(int64_t a, Value& b) { return b.tag == Value::Tag::Int && a == b.integer; }
bool same(DType a, Value& b) { return a == b.dtype; }
bool same(const Scalar& a, Value& b) { return a.to_double() == b.scalar().to_double(); }

/// A function and its operator, on the same arguments.
template <class R, class... A>
bool agree(const char* name, const char* overload, R (*function)(A...), std::type_identity_t<A>... arguments) {
    Value boxed[] = {Value(arguments)...}, results[8];
    call(*find_operator(name, overload), boxed, results);
    if constexpr (requires { std::tuple_size<R>::value; }) {
        R all = function(arguments...);
        return [&]<size_t... I>(std::index_sequence<I...>) {
            return (... & same(std::get<I>(all), results[I]));
        }(std::make_index_sequence<std::tuple_size_v<R>>());
    } else return same(function(arguments...), results[0]);
}
template <class R, class... A> using F = R (*)(A...);
/// TYPE in parentheses: F<result, parameters...>.
template <class> struct Inner;
template <class G> struct Inner<void(G)> {
    using Type = G;
};
#define AGREE(NAME, OVERLOAD, TYPE, ...) CHECK(agree(#NAME, OVERLOAD, static_cast<Inner<void TYPE>::Type>(NAME), __VA_ARGS__))

using T = const Tensor&;
using S = const Scalar&;

Tensor numbers(IntList sizes, DType dtype = DType::Float32) { return to(rand(sizes), dtype); }

void arguments_of_every_kind() {
    const Tensor x = numbers({4, 6}), y = numbers({4, 6}), image = numbers({1, 2, 5, 6}), weight = numbers({3, 2, 3, 3});
    AGREE(relu, "", (F<Tensor, T>), x);
    AGREE(add, "Tensor", (F<Tensor, T, T, S>), x, y, Scalar(2.5));
    AGREE(gelu, "", (F<Tensor, T, Text>), x, "tanh");
    AGREE(clamp, "", (F<Tensor, T, std::optional<Scalar>, std::optional<Scalar>>), x, std::nullopt, Scalar(0.5));
    AGREE(div, "Tensor_mode", (F<Tensor, T, T, std::optional<Text>>), x, y, "floor");
    AGREE(nan_to_num, "", (F<Tensor, T, std::optional<double>, std::optional<double>, std::optional<double>>), log(sub(x, y)), 1.5,
          std::nullopt, -7.);
    AGREE(_softmax, "", (F<Tensor, T, int64_t, bool>), x, -1, false);
    AGREE(sum, "dim_IntList", (F<Tensor, T, std::optional<IntList>, bool, DType>), x, IntList(Sizes{1}), true, DType::Float64);
    AGREE(contiguous, "", (F<Tensor, T, MemoryFormat>), image, MemoryFormat::ChannelsLast);
    AGREE(clone, "", (F<Tensor, T, std::optional<MemoryFormat>>), image, MemoryFormat::ChannelsLast);
    AGREE(full_like, "",
          (F<Tensor, T, S, DType, std::optional<Layout>, std::optional<Device>, std::optional<bool>, std::optional<MemoryFormat>>), image,
          Scalar(3), DType::Int16, Layout::Strided, Device(), false, MemoryFormat::ChannelsLast);
    AGREE(convolution, "", (F<Tensor, T, T, T, SizeList, SizeList, SizeList, bool, SizeList, Size>), image, weight, numbers({3}),
          Sizes{2, 1}, Sizes{1, 0}, Sizes{1, 2}, false, Sizes{0, 0}, 1);
    AGREE(upsample_bilinear2d, "", (F<Tensor, T, SizeList, bool, std::optional<double>, std::optional<double>>), image, Sizes{7, 9}, false,
          std::nullopt, 1.5);
    const double scales[] = {1.5, 2};
    AGREE(upsample_bilinear2d, "vec", (F<Tensor, T, std::optional<SizeList>, bool, std::optional<Span<double>>>), image, std::nullopt, true,
          Span<double>(scales, 2));
    AGREE(quantile, "scalar", (F<Tensor, T, double, std::optional<int64_t>, bool, Text>), x, 0.3, 1, true, "lower");
    AGREE(linspace, "", (F<Tensor, S, S, int64_t, DType, std::optional<Layout>, std::optional<Device>, std::optional<bool>>), Scalar(-1),
          Scalar(2.5), 7, DType::Float64, std::nullopt, std::nullopt, std::nullopt);
    const Scalar two[] = {Scalar(0.25), Scalar(0.5)};
    const Tensor pair[] = {x, y};
    AGREE(stack, "", (F<Tensor, TensorList, int64_t>), TensorList(pair, 2), -1);
    AGREE(_foreach_maximum, "ScalarList", (F<std::vector<Tensor>, TensorList, Span<Scalar>>), TensorList(pair, 2), Span<Scalar>(two, 2));
    Generator first(5), second(5);
    CHECK(same(normal(x, 0.5, &first), normal(x, 0.5, &second)) && !same(normal(x, 0.5, &first), x));
    Tensor into = zeros({2}, DType::Float32);
    set_(into, Ref<Storage>::share(x.impl()->storage), 3, Sizes{2, 2}, Sizes{6, 1});
    CHECK(same(into, as_strided(x, Sizes{2, 2}, Sizes{6, 1}, 3)));
}

void results_of_every_kind() {
    const Tensor x = numbers({6, 4}), image = numbers({2, 2, 5, 6}), weight = numbers({3, 2, 3, 3}), table = numbers({9, 4});
    AGREE(split, "sizes", (F<std::vector<Tensor>, T, SizeList, int64_t>), x, Sizes{1, 5}, 0);
    AGREE(aminmax, "", (F<std::tuple<Tensor, Tensor>, T, std::optional<int64_t>, bool>), x, 1, true);
    AGREE(native_batch_norm, "", (F<std::tuple<Tensor, Tensor, Tensor>, T, T, T, T, T, bool, double, double>), image, numbers({2}),
          numbers({2}), Tensor(), Tensor(), true, 0.1, 1e-3);
    const bool mask[] = {true, false, true};
    AGREE(convolution_backward, "",
          (std::tuple<Tensor, Tensor, Tensor> (*)(T, T, T, std::optional<SizeList>, SizeList, SizeList, SizeList, bool, SizeList, Size,
                                                  Span<bool>)),
          numbers({2, 3, 3, 4}), image, weight, IntList(Sizes{3}), Sizes{1, 1}, Sizes{0, 0}, Sizes{1, 1}, false, Sizes{0, 0}, 1,
          Span<bool>(mask, 3));
    const Tensor places = to(arange(Scalar(8)), DType::Int64), starts = mul(to(arange(Scalar(3)), DType::Int64), wrap_number(Scalar(2)));
    AGREE(embedding_bag, "padding_idx",
          (F<std::tuple<Tensor, Tensor, Tensor, Tensor>, T, T, T, bool, int64_t, bool, T, bool, std::optional<int64_t>>), table, places,
          starts, false, 1, false, Tensor(), false, 3);
    AGREE(equal, "", (F<bool, T, T>), x, x);
    AGREE(allclose, "", (F<bool, T, T, double, double, bool>), x, add(x, wrap_number(Scalar(0.01))), 0, 0.02, false);
    AGREE(allclose, "", (F<bool, T, T, double, double, bool>), x, add(x, wrap_number(Scalar(0.01))), 0, 0.002, false);
    AGREE(result_type, "Scalar", (F<DType, T, S>), places, Scalar(1.5));
    AGREE(_local_scalar_dense, "", (F<Scalar, T>), sum(x));
    AGREE(sparse_dim, "", (F<int64_t, T>), to_sparse(x));
    Tensor list[] = {clone(x), clone(table)};
    _foreach_add_(TensorList(list, 2), Scalar(1.5));
    CHECK(same(list[0], add(x, wrap_number(Scalar(1.5)))) && same(list[1], add(table, wrap_number(Scalar(1.5)))));
}

void methods_and_errors() {
    const Tensor x = numbers({3, 4});
    CHECK(same(x.clamp(std::nullopt, Scalar(0.5)), clamp(x, std::nullopt, Scalar(0.5))) && x.equal(x));
    CHECK(same(x.sum(IntList(Sizes{1}), true, DType::Float64), sum(x, IntList(Sizes{1}), true, DType::Float64)));
    CHECK_THROWS(matmul(x, x), "cannot be multiplied"); // errors pass through a function without a frame
    CHECK_THROWS(x.split(-1), "non-negative");
}

} // namespace

int main() {
    arguments_of_every_kind();
    results_of_every_kind();
    methods_and_errors();
    return finish("test_functions");
}
