// Running sums, products, extremes and log-sum-exps against plain loops, along every dimension.
#include <cmath>
#include <random>
#include <vector>

#include "kernels/loop.h"
#include "kernels/symbol.h"
#include "tests/cpp/check.h"

using namespace kindling;

namespace {

std::mt19937_64 random_bits(11);

Expression identity(DType type, DType to) {
    ExpressionBuilder builder;
    builder.output(cast(builder.input(type), to));
    return builder.finish();
}

void run_scan(const Expression& expression, Scan scan, const std::vector<int64_t>& sizes, const std::vector<int64_t>& in_strides, int dim,
              const void* input, DType type, void* output, DType out_type, int64_t* indices) {
    std::vector<int64_t> out(sizes.size()), index(sizes.size()), in(sizes.size());
    int64_t stride = 1;
    for (size_t d = sizes.size(); d-- > 0; stride *= sizes[d]) {
        out[d] = stride * static_cast<int64_t>(item_size(out_type));
        index[d] = stride * 8;
        in[d] = in_strides[d] * static_cast<int64_t>(item_size(type));
    }
    std::vector<LoopOperand> operands = {{output, out_type, out.data()}};
    if (indices) operands.push_back({indices, DType::Int64, index.data()});
    operands.push_back({const_cast<void*>(input), type, in.data()});
    LoopKernel kernel;
    kernel.expression = &expression;
    kernel.ndim = static_cast<int>(sizes.size());
    kernel.sizes = sizes.data();
    kernel.output_count = indices ? 2 : 1;
    kernel.input_count = 1;
    kernel.operands = operands.data();
    kernel.scan = scan;
    kernel.scan_dim = dim;
    run(kernel);
}

template <class T> void test_scans(DType type) {
    const std::vector<std::vector<int64_t>> shapes = {{1}, {7}, {1000}, {5, 30}, {200, 3}, {3, 40, 70}, {1, 5, 1}, {4, 0, 2}};
    for (const auto& sizes : shapes)
        for (int dim = 0; dim < static_cast<int>(sizes.size()); dim++)
            for (Scan scan : {Scan::Sum, Scan::Prod, Scan::Min, Scan::Max, Scan::LogSumExp}) {
                if (scan == Scan::LogSumExp && !is_floating(type)) continue;
                size_t d = static_cast<size_t>(dim);
                int64_t inner = 1, outer = 1, length = sizes[d];
                for (size_t i = 0; i < sizes.size(); i++) (i < d ? outer : i > d ? inner : length) *= i == d ? 1 : sizes[i];
                // The input lies backwards: its first dimension is the nearest in memory.
                std::vector<int64_t> strides(sizes.size());
                int64_t count = 1;
                for (size_t i = 0; i < sizes.size(); count *= sizes[i], i++) strides[i] = count;
                std::vector<T> input(static_cast<size_t>(count)), output(input), want(input);
                std::vector<int64_t> indices(input.size() + 1, -1), want_indices(input.size(), -1);
                for (T& value : input) value = static_cast<T>(static_cast<double>(random_bits() % 9) - (is_unsigned(type) ? 0 : 4));
                if (is_floating(type) && scan != Scan::LogSumExp && scan != Scan::Prod)
                    for (size_t i = 3; i < input.size(); i += 50) input[i] = static_cast<T>(NAN);
                auto offset_in = [&](int64_t flat) {
                    int64_t at = 0;
                    for (size_t i = sizes.size(); i-- > 0; flat /= sizes[i]) at += flat % sizes[i] * strides[i];
                    return static_cast<size_t>(at);
                };
                for (int64_t o = 0; o < outer; o++)
                    for (int64_t i = 0; i < inner; i++) {
                        double sum = 0, product = 1, logarithm = 0;
                        uint64_t whole_sum = 0, whole_product = 1;
                        T best{};
                        int64_t best_at = 0;
                        for (int64_t k = 0; k < length; k++) {
                            int64_t flat = (o * length + k) * inner + i;
                            T x = input[offset_in(flat)];
                            double value = static_cast<double>(x);
                            sum += value, product *= value;
                            if (!is_floating(type))
                                whole_sum += static_cast<uint64_t>(static_cast<int64_t>(value)),
                                    whole_product *= static_cast<uint64_t>(static_cast<int64_t>(value));
                            logarithm = k ? std::max(logarithm, value) + std::log1p(std::exp(-std::fabs(logarithm - value))) : value;
                            if (k == 0 || value != value || (best == best && (scan == Scan::Max ? x >= best : x <= best)))
                                best = x, best_at = k;
                            size_t at = static_cast<size_t>(flat);
                            bool floating = is_floating(type);
                            want[at] = scan == Scan::Sum         ? (floating ? static_cast<T>(sum) : static_cast<T>(whole_sum))
                                       : scan == Scan::Prod      ? (floating ? static_cast<T>(product) : static_cast<T>(whole_product))
                                       : scan == Scan::LogSumExp ? static_cast<T>(logarithm)
                                                                 : best;
                            want_indices[at] = best_at;
                        }
                    }
                bool extreme = scan == Scan::Min || scan == Scan::Max;
                run_scan(identity(type, type), scan, sizes, strides, dim, input.data(), type, output.data(), type,
                         extreme ? indices.data() : nullptr);
                for (size_t i = 0; i < output.size(); i++) {
                    double got = static_cast<double>(output[i]), wanted = static_cast<double>(want[i]);
                    double tolerance = scan == Scan::LogSumExp ? 1e-6 * (1 + std::fabs(wanted)) : 0;
                    CHECK((got != got && wanted != wanted) || std::fabs(got - wanted) <= tolerance || got == wanted);
                    if (extreme) CHECK(indices[i] == want_indices[i]);
                }
            }
}

void test_halves() {
    // Sums of a half run in double and are rounded where they are stored.
    std::vector<BFloat16> input(600), output(600);
    for (BFloat16& value : input) value = to_bfloat16(0.01f);
    run_scan(identity(DType::BFloat16, DType::BFloat16), Scan::Sum, {600}, {1}, 0, input.data(), DType::BFloat16, output.data(),
             DType::BFloat16, nullptr);
    for (size_t i = 0; i < 600; i++)
        CHECK(to_float(output[i]) ==
              to_float(to_bfloat16(static_cast<float>(static_cast<double>(to_float(input[0])) * static_cast<double>(i + 1)))));
}

} // namespace

int main() {
    test_scans<float>(DType::Float32);
    test_scans<double>(DType::Float64);
    test_scans<int64_t>(DType::Int64);
    test_scans<int16_t>(DType::Int16);
    test_scans<uint8_t>(DType::UInt8);
    test_halves();
    return finish("kernels: scans");
}
