// Reductions against plain loops: dtypes, layouts, several dimensions, halves, indices, moments, finishes.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/error.h"
#include "kernels/loop.h"
#include "kernels/symbol.h"
#include "runtime/threads.h"
#include "tests/cpp/check.h"

using namespace kindling;

namespace {

std::mt19937_64 random_bits(7);

Expression identity(DType from, DType to, int outputs = 1) {
    ExpressionBuilder builder;
    Sym x = cast(builder.input(from), to);
    for (int i = 0; i < outputs; i++) builder.output(x);
    return builder.finish();
}

struct Layout {
    std::vector<int64_t> sizes, strides; // strides in elements
};
Layout contiguous(std::vector<int64_t> sizes) {
    Layout layout{sizes, sizes};
    int64_t stride = 1;
    for (size_t d = sizes.size(); d-- > 0; stride *= sizes[d]) layout.strides[d] = stride;
    return layout;
}
Layout permuted(std::vector<int64_t> sizes, std::vector<int> memory_order) {
    Layout layout{sizes, sizes};
    int64_t stride = 1;
    for (size_t i = memory_order.size(); i-- > 0;) {
        layout.strides[static_cast<size_t>(memory_order[i])] = stride;
        stride *= sizes[static_cast<size_t>(memory_order[i])];
    }
    return layout;
}
int64_t count_of(const Layout& layout) {
    int64_t n = 1;
    for (int64_t size : layout.sizes) n *= size;
    return n;
}

/// Calls f(offset of the element in `layout`, number of its output, number within its fold).
template <class F> void each(const Layout& layout, uint64_t reduced, F f) {
    std::vector<int64_t> at(layout.sizes.size(), 0);
    for (int64_t i = count_of(layout); i > 0; i--) {
        int64_t offset = 0, kept = 0, within = 0;
        for (size_t d = 0; d < at.size(); d++) {
            offset += at[d] * layout.strides[d];
            if (reduced >> d & 1) within = within * layout.sizes[d] + at[d];
            else kept = kept * layout.sizes[d] + at[d];
        }
        f(offset, kept, within);
        for (size_t d = at.size(); d-- > 0;) {
            if (++at[d] < layout.sizes[d]) break;
            at[d] = 0;
        }
    }
}

struct Output {
    void* data;
    DType type;
};

void run_fold(const Expression& expression, const Layout& layout, uint64_t reduced, const void* input, DType type,
              std::vector<Combine> combines, std::vector<Output> outputs, const Expression* finish = nullptr) {
    int ndim = static_cast<int>(layout.sizes.size());
    std::vector<std::vector<int64_t>> strides;
    std::vector<LoopOperand> operands;
    for (const Output& output : outputs) {
        std::vector<int64_t> bytes(layout.sizes.size(), 0);
        int64_t stride = static_cast<int64_t>(item_size(output.type));
        for (size_t d = layout.sizes.size(); d-- > 0;)
            if (!(reduced >> d & 1)) bytes[d] = stride, stride *= layout.sizes[d];
        strides.push_back(bytes);
    }
    std::vector<int64_t> bytes;
    for (int64_t stride : layout.strides) bytes.push_back(stride * static_cast<int64_t>(item_size(type)));
    strides.push_back(bytes);
    for (size_t k = 0; k < outputs.size(); k++) operands.push_back({outputs[k].data, outputs[k].type, strides[k].data()});
    operands.push_back({const_cast<void*>(input), type, strides.back().data()});
    LoopKernel kernel;
    kernel.expression = &expression;
    kernel.ndim = ndim;
    kernel.sizes = layout.sizes.data();
    kernel.output_count = static_cast<int>(outputs.size());
    kernel.input_count = 1;
    kernel.operands = operands.data();
    kernel.reduced = reduced;
    kernel.combines = combines.data();
    kernel.finish = finish;
    run(kernel);
}

const std::vector<std::pair<Layout, uint64_t>>& shapes() {
    static const std::vector<std::pair<Layout, uint64_t>>* all =
        new std::vector<std::pair<Layout, uint64_t>>{{contiguous({1}), 1},
                                                     {contiguous({7}), 1},
                                                     {contiguous({16}), 1},
                                                     {contiguous({255}), 1},
                                                     {contiguous({1000}), 1},
                                                     {contiguous({4099}), 1},
                                                     {contiguous({150001}), 1},
                                                     {contiguous({3, 5}), 2},
                                                     {contiguous({300, 10}), 2},
                                                     {contiguous({40, 300}), 2},
                                                     {contiguous({5, 3000}), 2},
                                                     {contiguous({3000, 40}), 1},
                                                     {contiguous({700, 300}), 1},
                                                     {contiguous({9000, 3}), 1},
                                                     {contiguous({1029, 16}), 1},
                                                     {contiguous({11, 50}), 1},
                                                     {contiguous({3, 5000, 20}), 2},
                                                     {contiguous({4, 6, 5, 7}), 0b1101},
                                                     {contiguous({4, 6, 50, 7}), 0b0101},
                                                     {contiguous({2, 3, 4}), 0},
                                                     {permuted({30, 40}, {1, 0}), 1},
                                                     {permuted({30, 40}, {1, 0}), 2},
                                                     {permuted({300, 400}, {1, 0}), 3},
                                                     {permuted({20, 30, 40}, {2, 0, 1}), 0b101},
                                                     {contiguous({1, 8, 1}), 0b111}};
    return *all;
}

template <class T> void fill(std::vector<T>& values, double low, double high) {
    std::uniform_real_distribution<double> uniform(low, high);
    for (T& value : values) value = static_cast<T>(uniform(random_bits));
}

template <class T> void test_sums(DType type, double tolerance) {
    Expression same = identity(type, type);
    for (const auto& [layout, reduced] : shapes()) {
        std::vector<T> input(static_cast<size_t>(count_of(layout)));
        fill(input, is_floating(type) ? -1 : 0, is_floating(type) ? 1 : 20);
        int64_t kept = 0;
        each(layout, reduced, [&](int64_t, int64_t k, int64_t) { kept = k + 1 > kept ? k + 1 : kept; });
        std::vector<T> sum(static_cast<size_t>(kept)), low(sum), high(sum);
        std::vector<long double> want(sum.size(), 0), scale(sum.size(), 0);
        std::vector<T> least(sum.size(), std::numeric_limits<T>::max()), greatest(sum.size(), std::numeric_limits<T>::lowest());
        each(layout, reduced, [&](int64_t offset, int64_t k, int64_t) {
            T value = input[static_cast<size_t>(offset)];
            size_t at = static_cast<size_t>(k);
            want[at] += static_cast<long double>(value);
            scale[at] += std::abs(static_cast<long double>(value));
            if (value < least[at]) least[at] = value;
            if (value > greatest[at]) greatest[at] = value;
        });
        run_fold(same, layout, reduced, input.data(), type, {Combine::Sum}, {{sum.data(), type}});
        Expression twice = identity(type, type, 2);
        run_fold(twice, layout, reduced, input.data(), type, {Combine::Min, Combine::Max}, {{low.data(), type}, {high.data(), type}});
        for (size_t k = 0; k < sum.size(); k++) {
            T whole = static_cast<T>(static_cast<uint64_t>(static_cast<int64_t>(want[k])));
            if (is_floating(type)) CHECK(std::abs(static_cast<long double>(sum[k]) - want[k]) <= tolerance * scale[k]);
            else CHECK(sum[k] == whole);
            CHECK(low[k] == least[k]);
            CHECK(high[k] == greatest[k]);
        }
    }
}

/// The same numbers in another layout give the same bits.
void test_order_follows_shape() {
    Expression same = identity(DType::Float32, DType::Float32);
    for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{37, 500, 20}, {3, 9, 60}, {2, 300, 16}, {2, 300, 512}}) {
        std::vector<Layout> layouts = {contiguous(sizes), permuted(sizes, {2, 1, 0}), permuted(sizes, {1, 2, 0})};
        std::vector<float> numbers(static_cast<size_t>(count_of(layouts[0])));
        fill(numbers, -1, 1);
        for (uint64_t reduced : {1u, 2u, 4u, 3u, 6u, 5u, 7u}) {
            std::vector<float> first;
            for (const Layout& layout : layouts) {
                std::vector<float> input(numbers.size()), sum(numbers.size(), 0);
                size_t i = 0;
                each(layout, reduced, [&](int64_t offset, int64_t, int64_t) { input[static_cast<size_t>(offset)] = numbers[i++]; });
                run_fold(same, layout, reduced, input.data(), DType::Float32, {Combine::Sum}, {{sum.data(), DType::Float32}});
                if (first.empty()) first = sum;
                CHECK(std::memcmp(first.data(), sum.data(), sum.size() * sizeof(float)) == 0);
            }
        }
    }
}

/// The number of threads changes no bit.
void test_threads() {
    Expression same = identity(DType::Float32, DType::Float32);
    for (const auto& [layout, reduced] : {std::pair<Layout, uint64_t>{contiguous({3000003}), 1u},
                                          {contiguous({70000, 20}), 1u},
                                          {contiguous({900, 1500}), 1u},
                                          {contiguous({3, 400000}), 2u},
                                          {contiguous({40000, 30}), 2u}}) {
        std::vector<float> input(static_cast<size_t>(count_of(layout))), first;
        fill(input, -1, 1);
        for (int threads : {1, 2, 5}) {
            set_num_threads(threads);
            std::vector<float> sum(input.size(), 0);
            run_fold(same, layout, reduced, input.data(), DType::Float32, {Combine::Sum}, {{sum.data(), DType::Float32}});
            if (first.empty()) first = sum;
            CHECK(std::memcmp(first.data(), sum.data(), sum.size() * sizeof(float)) == 0);
        }
    }
    set_num_threads(default_num_threads());
}

void test_arguments() {
    Expression twice = identity(DType::Float32, DType::Float32, 2);
    for (const auto& [layout, reduced] : shapes())
        for (int with_nan : {0, 1}) {
            std::vector<float> input(static_cast<size_t>(count_of(layout)));
            fill(input, 0, 50);
            for (float& value : input) value = std::floor(value); // so that there are ties
            if (with_nan)
                for (size_t i = 0; i < input.size(); i += 11) input[i] = NAN;
            std::vector<float> want_value(input.size(), 0);
            std::vector<int64_t> want(input.size(), -1);
            each(layout, reduced, [&](int64_t offset, int64_t k, int64_t within) {
                float value = input[static_cast<size_t>(offset)], &best = want_value[static_cast<size_t>(k)];
                int64_t& index = want[static_cast<size_t>(k)];
                if (index < 0 || (!std::isnan(best) && (std::isnan(value) || value > best))) best = value, index = within;
            });
            std::vector<float> value(input.size(), 0);
            std::vector<int64_t> index(input.size(), -1);
            run_fold(twice, layout, reduced, input.data(), DType::Float32, {Combine::Max, Combine::ArgMax},
                     {{value.data(), DType::Float32}, {index.data(), DType::Int64}});
            for (size_t k = 0; k < input.size() && want[k] >= 0; k++) {
                CHECK(index[k] == want[k]);
                CHECK(value[k] == want_value[k] || (std::isnan(value[k]) && std::isnan(want_value[k])));
            }
        }
}

void test_moments() {
    Expression same = identity(DType::Float32, DType::Float32);
    for (const auto& [layout, reduced] : shapes()) {
        std::vector<float> input(static_cast<size_t>(count_of(layout)));
        fill(input, 100, 101);
        std::vector<double> mean(input.size()), squares(input.size());
        std::vector<long double> sum(input.size(), 0), square(input.size(), 0), count(input.size(), 0);
        each(layout, reduced, [&](int64_t offset, int64_t k, int64_t) {
            long double value = input[static_cast<size_t>(offset)] - 100.0L;
            sum[static_cast<size_t>(k)] += value, square[static_cast<size_t>(k)] += value * value, count[static_cast<size_t>(k)]++;
        });
        run_fold(same, layout, reduced, input.data(), DType::Float32, {Combine::MeanVar},
                 {{mean.data(), DType::Float64}, {squares.data(), DType::Float64}});
        for (size_t k = 0; k < input.size() && count[k] > 0; k++) {
            CHECK(std::abs(mean[k] - (100 + sum[k] / count[k])) < 1e-11);
            CHECK(std::abs(squares[k] - (square[k] - sum[k] * sum[k] / count[k])) <= 1e-9 * static_cast<double>(count[k]));
        }
    }
}

void test_half_mean_with_finish() {
    Expression load = identity(DType::BFloat16, DType::Float32);
    ExpressionBuilder builder;
    builder.output(cast(builder.input(DType::Float32) / 300, DType::BFloat16));
    Expression finish = builder.finish();
    Layout layout = contiguous({20, 300});
    for (uint64_t reduced : {2u}) {
        std::vector<BFloat16> input(6000), output(20);
        std::uniform_real_distribution<float> uniform(-1, 3);
        for (BFloat16& value : input) value = to_bfloat16(uniform(random_bits));
        run_fold(load, layout, reduced, input.data(), DType::BFloat16, {Combine::Sum}, {{output.data(), DType::BFloat16}}, &finish);
        for (size_t r = 0; r < 20; r++) {
            double sum = 0;
            for (size_t i = 0; i < 300; i++) sum += static_cast<double>(to_float(input[r * 300 + i]));
            CHECK(std::abs(static_cast<double>(to_float(output[r])) - sum / 300) < 0.005 * std::abs(sum / 300) + 1e-4);
        }
        std::vector<BFloat16> sums(20); // no finish: the store rounds
        run_fold(load, layout, reduced, input.data(), DType::BFloat16, {Combine::Sum}, {{sums.data(), DType::BFloat16}});
        CHECK(std::abs(to_float(sums[3]) - 300 * to_float(output[3])) < 0.01f * std::abs(to_float(sums[3])));
    }
}

void test_complex_and_bool() {
    using C = std::complex<float>;
    Expression same = identity(DType::Complex64, DType::Complex64);
    Layout layout = contiguous({6, 500});
    std::vector<C> input(3000), sum(500), product(6);
    for (C& value : input) value = C(1.0f + static_cast<float>(random_bits() % 3) * 1e-3f, static_cast<float>(random_bits() % 5) * 1e-3f);
    for (uint64_t reduced : {1u, 2u}) {
        run_fold(same, layout, reduced, input.data(), DType::Complex64, {Combine::Sum}, {{sum.data(), DType::Complex64}});
        for (size_t k = 0; k < (reduced == 1 ? 500u : 6u); k++) {
            std::complex<double> want = 0;
            for (size_t i = 0; i < (reduced == 1 ? 6u : 500u); i++)
                want += std::complex<double>(input[reduced == 1 ? i * 500 + k : k * 500 + i]);
            CHECK(std::abs(std::complex<double>(sum[k]) - want) < 1e-3);
        }
    }
    run_fold(same, layout, 2, input.data(), DType::Complex64, {Combine::Prod}, {{product.data(), DType::Complex64}});
    for (size_t k = 0; k < 6; k++) {
        std::complex<double> want = 1;
        for (size_t i = 0; i < 500; i++) want *= std::complex<double>(input[k * 500 + i]);
        CHECK(std::abs(std::complex<double>(product[k]) - want) < 1e-4 * std::abs(want));
    }
    Expression truth = identity(DType::Int32, DType::Bool, 2);
    std::vector<int32_t> numbers(3000, 0);
    numbers[700] = 256;
    for (size_t i = 1000; i < 1500; i++) numbers[i] = -1;
    uint8_t any[6], every[6];
    run_fold(truth, layout, 2, numbers.data(), DType::Int32, {Combine::Any, Combine::All}, {{any, DType::Bool}, {every, DType::Bool}});
    const uint8_t want_any[] = {0, 1, 1, 0, 0, 0}, want_all[] = {0, 0, 1, 0, 0, 0};
    CHECK(!std::memcmp(any, want_any, 6) && !std::memcmp(every, want_all, 6));
}

void test_empty() {
    Expression same = identity(DType::Float32, DType::Float32);
    float output[4] = {9, 9, 9, 9};
    run_fold(same, contiguous({4, 0}), 2, nullptr, DType::Float32, {Combine::Sum}, {{output, DType::Float32}});
    CHECK(output[0] == 0 && output[3] == 0 && !std::signbit(output[0]));
    for (const Layout& layout : {contiguous({1}), contiguous({100, 3}), contiguous({40, 30}), contiguous({3000, 16})})
        for (uint64_t reduced : {1u, 2u}) {
            if (reduced == 2 && layout.sizes.size() == 1) continue;
            std::vector<float> zeros(static_cast<size_t>(count_of(layout)), -0.0f), sums(zeros.size(), 1);
            run_fold(same, layout, reduced, zeros.data(), DType::Float32, {Combine::Sum}, {{sums.data(), DType::Float32}});
            CHECK(sums[0] == 0 && !std::signbit(sums[0]));
        }
    run_fold(same, contiguous({4, 0}), 2, nullptr, DType::Float32, {Combine::Prod}, {{output, DType::Float32}});
    CHECK(output[0] == 1 && output[3] == 1);
}

} // namespace

int main() {
    test_sums<float>(DType::Float32, 3e-7);
    test_sums<double>(DType::Float64, 3e-16);
    test_sums<int64_t>(DType::Int64, 0);
    test_sums<int32_t>(DType::Int32, 0);
    test_sums<uint8_t>(DType::UInt8, 0);
    test_sums<int16_t>(DType::Int16, 0);
    test_order_follows_shape();
    test_threads();
    test_arguments();
    test_moments();
    test_half_mean_with_finish();
    test_complex_and_bool();
    test_empty();
    return finish("kernels: folds");
}
