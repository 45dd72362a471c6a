// kernels/library/convolution/convolution.cpp: chooses the method for a shape, and computes dtypes that go through others.
// Compiled for size.
#include "kernels/library/convolution/convolution.h"

#include <algorithm>

#include "core/error.h"
#include "kernels/library/convolution/convolution_shape.h"
#include "kernels/library/scratch.h"
#include "kernels/library/wide.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

using Shape = ConvolutionShape;

template <class T> void run_forward(const Shape& s, const T* input, const T* weight, const T* bias, T* output) {
    if (run_depthwise(s, input, weight, bias, output) || run_whole(s, input, weight, bias, output) ||
        run_points(s, input, weight, bias, output) || run_direct(s, input, weight, bias, output))
        return;
    run_unrolled(s, input, weight, bias, output);
}

template <class T> void run_input_gradient(const Shape& s, const T* grad_output, const T* weight, const T* bias, T* grad_input) {
    if (!bias && run_depthwise_input(s, grad_output, weight, grad_input)) return;
    if (run_whole_input(s, grad_output, weight, bias, grad_input) || run_points_input(s, grad_output, weight, bias, grad_input) ||
        run_direct_input(s, grad_output, weight, bias, grad_input))
        return;
    if constexpr (sizeof(T) == 4)
        if (run_strided_input(s, grad_output, weight, bias, grad_input)) return;
    run_unrolled_input(s, grad_output, weight, bias, grad_input);
}

template <class T> void run_weight_gradient(const Shape& s, const T* input, const T* grad_output, T* grad_weight) {
    if (s.batch == 0 || s.out_space == 0) return clear(grad_weight, s.groups * s.out_channels * s.in_channels * s.taps);
    if (run_depthwise_weight(s, input, grad_output, grad_weight) || run_whole_weight(s, input, grad_output, grad_weight)) return;
    if constexpr (sizeof(T) == 4)
        if (run_weight(s, input, grad_output, grad_weight)) return;
    if (run_direct_weight(s, input, grad_output, grad_weight)) return;
    run_unrolled_weight(s, input, grad_output, grad_weight);
}

// ---- the other dtypes, through float or through real and imaginary parts ----
// "Cold" means compiled for size: the time is spent in the functions called.

template <class R> struct Widened {
    Scratch<R> values;
    Widened(Load<R> load, const void* from, size_t bytes, int64_t step, int64_t count) : values(from ? count : 0) {
        if (!from) return;
        parallel_for(0, count, 32768, [&](int64_t begin, int64_t end) {
            load(static_cast<const char*>(from) + begin * step * static_cast<int64_t>(bytes), step, values.data + begin, end - begin);
        });
    }
};

template <class R> void combine(void* out, const R* real, const R* less, const R* imaginary, const R* more, int64_t count) {
    R* to = static_cast<R*>(out);
    for (int64_t i = 0; i < count; ++i) {
        to[2 * i] = real[i] - less[i];
        to[2 * i + 1] = imaginary[i] + more[i];
    }
}

// A computation over arrays of R, by reference.
template <class R> struct Job {
    const void* self;
    void (*call)(const void* self, const R* left, const R* right, const R* bias, R* out);
    void operator()(const R* left, const R* right, const R* bias, R* out) const { call(self, left, right, bias, out); }
};

struct Operands {
    const void* left;
    int64_t left_count;
    const void* right;
    int64_t right_count;
    const void* bias;
    int64_t bias_count;
    void* out;
    int64_t out_count;
};

// run(bias, out) with both converted to float from a half type.
template <class Run> void with_float_result(DType dtype, const void* bias, int64_t bias_count, void* out, int64_t count, const Run& run) {
    constexpr auto halves = Types<Half, BFloat16>{};
    const Store<float> store = find_store<float>(halves, dtype, "");
    const Widened<float> b(find_load<float>(halves, dtype, ""), bias, 2, 1, bias_count);
    Scratch<float> result(count);
    run(bias ? static_cast<const float*>(b.values.data) : nullptr, result.data);
    parallel_for(0, count, 32768,
                 [&](int64_t begin, int64_t end) { store(static_cast<char*>(out) + 2 * begin, 1, result.data + begin, end - begin); });
}

[[gnu::cold]] void run_half(DType dtype, const Operands& o, const Job<float>& run) {
    const Load<float> load = find_load<float>(Types<Half, BFloat16>{}, dtype, "");
    const Widened<float> l(load, o.left, 2, 1, o.left_count), r(load, o.right, 2, 1, o.right_count);
    with_float_result(dtype, o.bias, o.bias_count, o.out, o.out_count,
                      [&](const float* bias, float* out) { run(l.values.data, r.values.data, bias, out); });
}

template <class R> [[gnu::cold]] void run_complex(const Operands& o, const Job<R>& run) {
    auto part = [](const void* from, int64_t count, int which) {
        return Widened<R>(load_wide<R, R>, from ? static_cast<const R*>(from) + which : nullptr, sizeof(R), 2, count);
    };
    Widened<R> lr = part(o.left, o.left_count, 0), li = part(o.left, o.left_count, 1), rr = part(o.right, o.right_count, 0),
               ri = part(o.right, o.right_count, 1), br = part(o.bias, o.bias_count, 0), bi = part(o.bias, o.bias_count, 1);
    Scratch<R> a(o.out_count), b(o.out_count), c(o.out_count), d(o.out_count);
    const R* none = nullptr;
    run(lr.values.data, rr.values.data, o.bias ? br.values.data : none, a.data);
    run(li.values.data, ri.values.data, none, b.data);
    run(lr.values.data, ri.values.data, o.bias ? bi.values.data : none, c.data);
    run(li.values.data, rr.values.data, none, d.data);
    combine(o.out, a.data, b.data, c.data, d.data, o.out_count);
}

[[gnu::cold]] void run_job(DType dtype, const Operands& o, const Job<float>& single, const Job<double>& wide) {
    auto plain = [&]<class R>(const Job<R>& run) {
        run(static_cast<const R*>(o.left), static_cast<const R*>(o.right), static_cast<const R*>(o.bias), static_cast<R*>(o.out));
    };
    switch (dtype) {
    case DType::Float32: return plain(single);
    case DType::Float64: return plain(wide);
    case DType::Float16:
    case DType::BFloat16: return run_half(dtype, o, single);
    case DType::Complex64: return run_complex(o, single);
    case DType::Complex128: return run_complex(o, wide);
    default: refuse_dtype("slow_conv2d_cpu", dtype);
    }
}

// run(left, right, bias, out) for float and double. Half types and complex numbers are converted around it.
template <class Run>
void by_dtype(DType dtype, const void* left, int64_t left_count, const void* right, int64_t right_count, const void* bias,
              int64_t bias_count, void* out, int64_t out_count, const Run& run) {
    auto job = [&]<class R>(R) {
        return Job<R>{&run,
                      [](const void* self, const R* l, const R* r, const R* b, R* to) { (*static_cast<const Run*>(self))(l, r, b, to); }};
    };
    run_job(dtype, {left, left_count, right, right_count, bias, bias_count, out, out_count}, job(float{}), job(double{}));
}

// True if it is of bfloat16, and large enough for instructions for that to pay.
bool is_large_bfloat16(const Convolution& c, const Shape& s) {
    return c.dtype == DType::BFloat16 && s.out_channels >= 16 && s.in_channels * s.taps >= 32;
}
// True if AMX tiles pay for the product of such a convolution of bfloat16.
bool by_tiles(const Convolution& c, const Shape& s) { return is_large_bfloat16(c, s) && has_tiles(); }

struct Counts {
    int64_t input, weight, output;
    explicit Counts(const Shape& s)
        : input(s.batch * s.groups * s.in_channels * s.in_space), weight(s.groups * s.out_channels * s.in_channels * s.taps),
          output(s.batch * s.groups * s.out_channels * s.out_space) {}
};

} // namespace

void convolution(const Convolution& c, const void* input, const void* weight, const void* bias, void* output) {
    Shape s(c);
    Counts n(s);
    if (n.output == 0) return;
    // With fewer channels unrolling costs more than the products save.
    if (s.in_channels >= 8 && is_large_bfloat16(c, s) && (has_tiles() || has_bf16_products())) {
        const auto *x = static_cast<const BFloat16*>(input), *w = static_cast<const BFloat16*>(weight),
                   *b = static_cast<const BFloat16*>(bias);
        auto* to = static_cast<BFloat16*>(output);
        if (!has_tiles() || !run_tiles(s, x, w, b, to)) run_unrolled(s, x, w, b, to);
        return;
    }
    by_dtype(c.dtype, input, n.input, weight, n.weight, bias, c.out_channels, output, n.output,
             [&](auto* x, auto* w, auto* b, auto* y) { run_forward(s, x, w, b, y); });
}

void convolution_input_gradient(const Convolution& c, const void* grad_output, const void* weight, const void* bias, void* grad_input) {
    Shape s(c);
    Counts n(s);
    if (n.input == 0) return;
    if (by_tiles(c, s) && run_tiles_input(s, static_cast<const BFloat16*>(grad_output), static_cast<const BFloat16*>(weight),
                                          static_cast<const BFloat16*>(bias), static_cast<BFloat16*>(grad_input)))
        return;
    if (by_tiles(c, s))
        return with_float_result(c.dtype, bias, c.in_channels, grad_input, n.input, [&](const float* b, float* to) {
            run_unrolled_input(s, static_cast<const BFloat16*>(grad_output), static_cast<const BFloat16*>(weight), b, to);
        });
    by_dtype(c.dtype, grad_output, n.output, weight, n.weight, bias, c.in_channels, grad_input, n.input,
             [&](auto* g, auto* w, auto* b, auto* y) { run_input_gradient(s, g, w, b, y); });
}

void convolution_weight_gradient(const Convolution& c, const void* input, const void* grad_output, void* grad_weight) {
    Shape s(c);
    Counts n(s);
    if (n.weight == 0) return;
    if (n.input && n.output && by_tiles(c, s))
        return with_float_result(c.dtype, nullptr, 0, grad_weight, n.weight, [&](const float*, float* to) {
            run_unrolled_weight(s, static_cast<const BFloat16*>(input), static_cast<const BFloat16*>(grad_output), to);
        });
    by_dtype(c.dtype, input, n.input, grad_output, n.output, nullptr, 0, grad_weight, n.weight,
             [&](auto* x, auto* g, auto*, auto* y) { run_weight_gradient(s, x, g, y); });
}

void convolution_bias_gradient(DType dtype, int64_t batch, int64_t channels, int64_t space, const void* grad_output, void* grad_bias) {
    auto sums = [&](auto* from, auto*, auto*, auto* to) {
        using T = std::remove_reference_t<decltype(*to)>;
        parallel_for(0, channels, std::max<int64_t>(1, 32768 / std::max<int64_t>(batch * space, 1)), [&](int64_t begin, int64_t end) {
            for (int64_t c = begin; c < end; ++c) {
                T total = 0;
                for (int64_t n = 0; n < batch; ++n) {
                    const T* row = from + (n * channels + c) * space;
                    T lanes[16] = {};
                    int64_t i = 0;
                    for (; i + 16 <= space; i += 16)
                        for (int l = 0; l < 16; ++l) lanes[l] += row[i + l];
                    for (int l = 0; i + l < space; ++l) lanes[l] += row[i + l];
                    for (int step = 8; step; step /= 2)
                        for (int l = 0; l < step; ++l) lanes[l] += lanes[l + step];
                    total += lanes[0];
                }
                to[c] = total;
            }
        });
    };
    if (is_complex(dtype)) {
        // A complex number is two adjacent reals, which are summed separately.
        auto split = [&](auto* from, auto* to) {
            for (int64_t c = 0; c < channels; ++c)
                for (int part = 0; part < 2; ++part) {
                    std::remove_reference_t<decltype(*to)> total = 0;
                    for (int64_t n = 0; n < batch; ++n)
                        for (int64_t i = 0; i < space; ++i) total += from[2 * ((n * channels + c) * space + i) + part];
                    to[2 * c + part] = total;
                }
        };
        if (dtype == DType::Complex64) return split(static_cast<const float*>(grad_output), static_cast<float*>(grad_bias));
        return split(static_cast<const double*>(grad_output), static_cast<double*>(grad_bias));
    }
    by_dtype(dtype, grad_output, batch * channels * space, nullptr, 0, nullptr, 0, grad_bias, channels, sums);
}

} // namespace kindling::library
