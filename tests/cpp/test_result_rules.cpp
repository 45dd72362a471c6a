// Result rules: numbers add no expression, choices and dtypes do, and out= and meta are served without a word from the kernels.
#include <algorithm>
#include <string>

#include "core/error.h"
#include "generated/functions.h"
#include "generated/out_functions.h"
#include "operators/kernel.h"
#include "tests/cpp/check.h"

using namespace kindling;

namespace {

int expressions_of(const char* name, const char* overload) {
    const Operator* op = find_operator(name, overload);
    CHECK(op && op->functional->loop != LoopKind::None);
    return loop_count(*op);
}

template <class F> int added(const char* name, const char* overload, F run) {
    const int before = expressions_of(name, overload);
    run();
    return expressions_of(name, overload) - before;
}

Tensor numbers(IntList sizes, DType dtype = DType::Float32) { return to(rand(sizes), dtype); }

void numbers_add_no_expression() {
    CHECK(added("mean", "dim", [] {
              for (int64_t n : {2, 3, 70}) mean(numbers({n, 5}), IntList(Sizes{0}), n == 3);
          }) == 1);
    CHECK(added("mean", "dim", [] { mean(numbers({4, 9}), IntList(Sizes{1})); }) == 0);
    CHECK(added("mean", "dim", [] { mean(numbers({4, 9}, DType::Float64), IntList(Sizes{1})); }) == 1);
    CHECK(added("var", "correction", [] {
              for (double c : {0., 1., 2.5}) var(numbers({8, 5}), std::nullopt, Scalar(c), false);
          }) == 1);
    CHECK(added("native_layer_norm", "", [] {
              for (int64_t n : {3, 64})
                  for (double eps : {1e-5, 1e-2}) native_layer_norm(numbers({4, n}), Sizes{n}, Tensor(), Tensor(), eps);
          }) == 1);
    // What is given or not is a choice among expressions.
    CHECK(added("native_layer_norm", "", [] { native_layer_norm(numbers({4, 3}), Sizes{3}, numbers({3}), Tensor(), 1e-5); }) == 1);
    CHECK(added("_softmax", "", [] {
              for (int64_t d : {0, 1, 2}) _softmax(numbers({2, 3, 4}), d, false);
          }) == 1);
    CHECK(added("cumsum", "", [] {
              for (int64_t d : {0, 1}) cumsum(numbers({3, 4}), d);
          }) == 1);
}

bool same_header(const Tensor& a, const Tensor& b) {
    return a.sizes() == b.sizes() && a.strides() == b.strides() && a.dtype() == b.dtype();
}

void meta_gives_the_same_headers() {
    for (DType dtype : {DType::Float32, DType::BFloat16, DType::Float64})
        for (bool turned : {false, true}) {
            Tensor x = numbers({4, 6, 8}, dtype);
            if (turned) x = transpose(x, 0, 2);
            Tensor there = to(x, Device{DeviceType::Meta}, dtype);
            CHECK(there.is_meta() && same_header(x, there));
            CHECK(same_header(mean(x, IntList(Sizes{1}), true), mean(there, IntList(Sizes{1}), true)));
            CHECK(same_header(_softmax(x, 1, false), _softmax(there, 1, false)));
            CHECK(same_header(cumsum(x, 0), cumsum(there, 0)));
            auto [a, b, c] = native_layer_norm(x, Sizes{x.size(2)}, Tensor(), Tensor(), 1e-5);
            auto [d, e, f] = native_layer_norm(there, Sizes{x.size(2)}, Tensor(), Tensor(), 1e-5);
            CHECK(d.is_meta() && same_header(a, d) && same_header(b, e) && same_header(c, f));
        }
}

/// out= is written in place where it can be, and by way of a copy where it overlaps an input.
void out_is_written_in_place() {
    Tensor x = numbers({3, 4}), place = numbers({3}), right = sum(x, IntList(Sizes{1}));
    const void* memory = place.data();
    sum_out(place, x, IntList(Sizes{1}));
    CHECK(place.data() == memory && equal(place, right));
    Tensor wide = numbers({3, 2}), column = select(wide, 1, 0), other = clone(select(wide, 1, 1));
    sum_out(column, x, IntList(Sizes{1}));
    CHECK(equal(column, right) && equal(select(wide, 1, 1), other));
    Tensor square = numbers({4, 4}), rows = cumsum(square, 1);
    cumsum_out(square, square, 1);
    CHECK(equal(square, rows));
}

void what_does_not_broadcast_is_refused() {
    CHECK_THROWS(_standardized(numbers({2, 3}), numbers({4}), numbers({3}), Tensor(), Tensor()), "does not broadcast to [2, 3]");
}

/// The operator in a primitive's line is there, and takes as many tensors.
void primitives_name_their_operators() {
    int named = 0;
    for (int i = 0; i < primitive_count; i++) {
        const auto primitive = static_cast<Primitive>(i);
        const std::string spelled = operator_of(primitive);
        if (spelled.empty()) continue;
        named++;
        const size_t dot = std::min(spelled.find('.'), spelled.size());
        const Operator* op = find_operator(spelled.substr(0, dot).c_str(), spelled.substr(std::min(dot + 1, spelled.size())).c_str());
        CHECK(op && op->tensor_count == operand_count(primitive));
    }
    CHECK(named > 80);
}

} // namespace

int main() {
    primitives_name_their_operators();
    numbers_add_no_expression();
    meta_gives_the_same_headers();
    out_is_written_in_place();
    what_does_not_broadcast_is_refused();
    return finish("test_result_rules");
}
