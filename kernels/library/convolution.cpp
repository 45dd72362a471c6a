// Convolution: which way a shape goes, and the general one, a matrix product over an unrolled input ("im2col"): rows are
// (channel, tap), columns are places of the output. Only a piece of the unrolled matrix that fits the cache is made at a
// time.
#include "kernels/library/convolution.h"

#include <algorithm>

#include "core/error.h"
#include "kernels/library/convolution_shape.h"
#include "kernels/library/gemm.h"
#include "kernels/library/scratch.h"
#include "kernels/library/wide.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

using Shape = ConvolutionShape;

// Where the innermost output places [0, out) read inside the input for one tap: places [first, last).
struct Span {
    int64_t first, last, start; // place p reads at start + p * stride
    Span(const Shape& s, int64_t tap) {
        start = tap * s.dilation[2] - s.padding[2];
        int64_t stride = s.stride[2];
        first = start >= 0 ? 0 : (-start + stride - 1) / stride;
        int64_t room = s.in[2] - start; // places with p * stride < room are inside
        last = room <= 0 ? 0 : (room + stride - 1) / stride;
        last = std::min(last, s.out[2]);
        first = std::min(first, last);
    }
};

// Visits output rows [row_begin, row_end) for unrolled rows [k_begin, k_end). `line(column, source, span)` gets the
// place in the unrolled piece and the input row, or null where the row lies in the padding.
template <class T, class Line>
void for_lines(const Shape& s, T* input, T* unrolled, int64_t k_begin, int64_t k_end, int64_t row_begin,
               int64_t row_end, Line line) {
    int64_t width = s.out[2], columns = (row_end - row_begin) * width;
    for (int64_t k = k_begin; k < k_end; ++k) {
        int64_t channel = k / s.taps, tap = k % s.taps;
        int64_t tap2 = tap % s.kernel[2], tap1 = tap / s.kernel[2] % s.kernel[1],
                tap0 = tap / (s.kernel[2] * s.kernel[1]);
        Span span(s, tap2);
        T* plane = input + channel * s.in_space;
        T* to = unrolled + (k - k_begin) * columns;
        int64_t x = row_begin / s.out[1], y = row_begin % s.out[1];
        for (int64_t row = row_begin; row < row_end; ++x, y = 0) {
            int64_t place0 = x * s.stride[0] - s.padding[0] + tap0 * s.dilation[0];
            bool inside0 = place0 >= 0 && place0 < s.in[0];
            int64_t place1 = y * s.stride[1] - s.padding[1] + tap1 * s.dilation[1];
            for (; y < s.out[1] && row < row_end; ++y, ++row, place1 += s.stride[1], to += width) {
                bool inside = inside0 && place1 >= 0 && place1 < s.in[1];
                line(to, inside ? plane + (place0 * s.in[1] + place1) * s.in[2] : nullptr, span);
            }
        }
    }
}

template <class T>
void unroll(const Shape& s, const T* input, T* unrolled, int64_t k_begin, int64_t k_end, int64_t row_begin,
            int64_t row_end) {
    int64_t width = s.out[2], stride = s.stride[2];
    for_lines(s, const_cast<T*>(input), unrolled, k_begin, k_end, row_begin, row_end,
              [&](T* to, const T* from, const Span& span) {
                  if (!from || span.first >= span.last) {
                      memset(static_cast<void*>(to), 0, sizeof(T) * static_cast<size_t>(width));
                      return;
                  }
                  for (int64_t p = 0; p < span.first; ++p)
                      to[p] = 0;
                  if (stride == 1)
                      copy_row(to + span.first, from + span.start + span.first, span.last - span.first);
                  else
                      for (int64_t p = span.first; p < span.last; ++p)
                          to[p] = from[span.start + p * stride];
                  for (int64_t p = span.last; p < width; ++p)
                      to[p] = 0;
              });
}

// The reverse: adds the unrolled piece to the places it was read from.
template <class T>
void roll(const Shape& s, T* input, T* unrolled, int64_t k_begin, int64_t k_end, int64_t row_begin, int64_t row_end) {
    int64_t stride = s.stride[2];
    for_lines(s, input, unrolled, k_begin, k_end, row_begin, row_end, [&](T* from, T* to, const Span& span) {
        if (!to) return;
        to += span.start;
        if (stride == 1)
            for (int64_t p = span.first; p < span.last; ++p)
                to[p] += from[p];
        else
            for (int64_t p = span.first; p < span.last; ++p)
                to[p * stride] += from[p];
    });
}

template <class T>
Gemm product(int64_t m, int64_t n, int64_t k) {
    Gemm g{};
    g.dtype = dtype_of<T>;
    g.m = m;
    g.n = n;
    g.k = k;
    return g;
}

// How many output rows to unroll at a time.
int64_t rows_at_once(const Shape& s, int64_t unrolled_rows) {
    constexpr int64_t room = 128 << 10; // elements
    int64_t columns = std::max<int64_t>(room / std::max<int64_t>(unrolled_rows, 1), 128);
    int64_t rows = std::max<int64_t>(columns / std::max<int64_t>(s.out[2], 1), 1);
    return std::min(rows, s.out[0] * s.out[1]);
}

template <class T>
void run_forward(const Shape& s, const T* input, const T* weight, const T* bias, T* output) {
    if (run_depthwise(s, input, weight, bias, output) || run_direct(s, input, weight, bias, output)) return;
    int64_t unrolled_rows = s.in_channels * s.taps, all_rows = s.out[0] * s.out[1], width = s.out[2];
    int64_t rows = s.direct ? all_rows : rows_at_once(s, unrolled_rows);
    int64_t parts = (all_rows + rows - 1) / rows;
    auto task = [&](int64_t index) {
        int64_t image = index / parts, part = index % parts; // image counts (sample, group)
        int64_t row_begin = part * rows, row_end = std::min(row_begin + rows, all_rows);
        int64_t columns = (row_end - row_begin) * width;
        int64_t group = image % s.groups;
        const T* from = input + image * s.in_channels * s.in_space;
        T* to = output + image * s.out_channels * s.out_space + row_begin * width;
        Scratch<T> unrolled(s.direct ? 0 : unrolled_rows * columns);
        if (!s.direct) unroll(s, from, unrolled.data, 0, unrolled_rows, row_begin, row_end);
        Gemm g = product<T>(s.out_channels, columns, unrolled_rows);
        g.a = weight + group * s.out_channels * unrolled_rows;
        g.a_row = unrolled_rows;
        g.a_column = 1;
        g.b = s.direct ? from : unrolled.data;
        g.b_row = s.direct ? s.in_space : columns;
        g.b_column = 1;
        g.out = to;
        g.out_row = s.out_space;
        g.out_column = 1;
        if (bias) {
            g.c = bias + group * s.out_channels;
            g.c_row = 1;
            g.c_column = 0;
        }
        gemm(g);
    };
    int64_t tasks = s.batch * s.groups * parts;
    if (tasks == 1) return task(0); // the product itself uses the threads
    double work =
        static_cast<double>(s.out_channels) * static_cast<double>(unrolled_rows) * static_cast<double>(rows * width);
    auto grain = std::max<int64_t>(1, static_cast<int64_t>(500e3 / (work + 1)));
    parallel_for(0, tasks, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
            task(i);
    });
}

template <class T>
void run_input_gradient(const Shape& s, const T* grad_output, const T* weight, const T* bias, T* grad_input) {
    if (!bias && run_depthwise_input(s, grad_output, weight, grad_input)) return;
    if (run_direct_input(s, grad_output, weight, bias, grad_input)) return;
    int64_t all_rows = s.out[0] * s.out[1], width = s.out[2];
    // A task is a block of channels of one image: nobody else adds to its part of the result.
    int64_t images = s.batch * s.groups;
    int64_t blocks = 1;
    if (images < 2 * num_threads())
        blocks = std::min<int64_t>(s.in_channels, (2 * num_threads() + images - 1) / std::max<int64_t>(images, 1));
    int64_t channels = (s.in_channels + blocks - 1) / blocks;
    channels = std::min((channels + 3) / 4 * 4, s.in_channels);
    blocks = (s.in_channels + channels - 1) / channels;
    int64_t rows = s.direct ? all_rows : rows_at_once(s, channels * s.taps);
    auto task = [&](int64_t index) {
        int64_t image = index / blocks, group = image % s.groups;
        int64_t channel = index % blocks * channels, count = std::min(channels, s.in_channels - channel);
        T* to = grad_input + (image * s.in_channels + channel) * s.in_space;
        const T* from = grad_output + image * s.out_channels * s.out_space;
        const T* offset = bias ? bias + group * s.in_channels + channel : nullptr;
        Scratch<T> unrolled(s.direct ? 0 : count * s.taps * rows * width);
        if (!s.direct)
            for (int64_t c = 0; c < count; ++c)
                std::fill_n(to + c * s.in_space, s.in_space, offset ? offset[c] : T{0});
        for (int64_t row = 0; row < all_rows; row += rows) {
            int64_t row_end = std::min(row + rows, all_rows), columns = (row_end - row) * width;
            Gemm g = product<T>(count * s.taps, columns, s.out_channels);
            g.a = weight + (group * s.out_channels * s.in_channels + channel) * s.taps;
            g.a_row = 1;
            g.a_column = s.in_channels * s.taps;
            g.b = from + row * width;
            g.b_row = s.out_space;
            g.b_column = 1;
            g.out = s.direct ? to : unrolled.data;
            g.out_row = s.direct ? s.in_space : columns;
            g.out_column = 1;
            if (s.direct && offset) {
                g.c = offset;
                g.c_row = 1;
            }
            gemm(g);
            if (!s.direct) roll(s, to, unrolled.data, 0, count * s.taps, row, row_end);
        }
        if (all_rows == 0 || width == 0)
            for (int64_t c = 0; s.direct && c < count; ++c)
                std::fill_n(to + c * s.in_space, s.in_space, offset ? offset[c] : T{0});
    };
    parallel_for(0, images * blocks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
            task(i);
    });
}

template <class T>
void run_weight_gradient(const Shape& s, const T* input, const T* grad_output, T* grad_weight) {
    int64_t unrolled_rows = s.in_channels * s.taps, all_rows = s.out[0] * s.out[1], width = s.out[2];
    if (s.batch == 0 || s.out_space == 0) {
        std::fill_n(grad_weight, s.groups * s.out_channels * unrolled_rows, T{0});
        return;
    }
    if (run_depthwise_weight(s, input, grad_output, grad_weight) || run_weight(s, input, grad_output, grad_weight) ||
        run_direct_weight(s, input, grad_output, grad_weight))
        return;
    // A task is a block of unrolled rows of one group, summed over all samples in their order. Its size depends on the
    // shape alone, as the product's own order of adding does on it.
    int64_t block = std::max<int64_t>((unrolled_rows + 15) / 16, 24);
    int64_t blocks = (unrolled_rows + block - 1) / block;
    int64_t rows = s.direct ? all_rows : rows_at_once(s, unrolled_rows);
    auto task = [&](int64_t index) {
        int64_t group = index / blocks, k_begin = index % blocks * block,
                k_end = std::min(k_begin + block, unrolled_rows);
        Scratch<T> unrolled(s.direct ? 0 : (k_end - k_begin) * rows * width);
        T* to = grad_weight + group * s.out_channels * unrolled_rows + k_begin;
        bool first = true;
        for (int64_t sample = 0; sample < s.batch; ++sample) {
            int64_t image = sample * s.groups + group;
            const T* from = input + image * s.in_channels * s.in_space;
            for (int64_t row = 0; row < all_rows; row += rows) {
                int64_t row_end = std::min(row + rows, all_rows), columns = (row_end - row) * width;
                if (!s.direct) unroll(s, from, unrolled.data, k_begin, k_end, row, row_end);
                Gemm g = product<T>(s.out_channels, k_end - k_begin, columns);
                g.a = grad_output + image * s.out_channels * s.out_space + row * width;
                g.a_row = s.out_space;
                g.a_column = 1;
                g.b = s.direct ? from + k_begin * s.in_space : unrolled.data;
                g.b_row = 1;
                g.b_column = s.direct ? s.in_space : columns;
                g.out = to;
                g.out_row = unrolled_rows;
                g.out_column = 1;
                if (!first) {
                    g.c = to;
                    g.c_row = unrolled_rows;
                    g.c_column = 1;
                }
                gemm(g);
                first = false;
            }
        }
    };
    if (s.groups * blocks == 1) return task(0);
    parallel_for(0, s.groups * blocks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
            task(i);
    });
}

// ---- the other dtypes, by way of float or of real and imaginary parts ----

template <class R>
struct Widened {
    Scratch<R> values;
    Widened(Load<R> load, const void* from, size_t bytes, int64_t step, int64_t count)
        : values(from ? count : 0) {
        if (!from) return;
        parallel_for(0, count, 32768, [&](int64_t begin, int64_t end) {
            load(static_cast<const char*>(from) + begin * step * static_cast<int64_t>(bytes), step,
                 values.data + begin, end - begin);
        });
    }
};

template <class R>
void combine(void* out, const R* real, const R* less, const R* imaginary, const R* more, int64_t count) {
    R* to = static_cast<R*>(out);
    for (int64_t i = 0; i < count; ++i) {
        to[2 * i] = real[i] - less[i];
        to[2 * i + 1] = imaginary[i] + more[i];
    }
}

// A computation over arrays of R, by reference.
template <class R>
struct Job {
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

void run_half(DType dtype, const Operands& o, const Job<float>& run) {
    constexpr auto halves = Types<Half, BFloat16>{};
    Load<float> load = find_load<float>(halves, dtype, "");
    Store<float> store = find_store<float>(halves, dtype, "");
    Widened<float> l(load, o.left, 2, 1, o.left_count), r(load, o.right, 2, 1, o.right_count),
        b(load, o.bias, 2, 1, o.bias_count);
    Scratch<float> result(o.out_count);
    run(l.values.data, r.values.data, o.bias ? b.values.data : nullptr, result.data);
    parallel_for(0, o.out_count, 32768, [&](int64_t begin, int64_t end) {
        store(static_cast<char*>(o.out) + 2 * begin, 1, result.data + begin, end - begin);
    });
}

template <class R>
void run_complex(const Operands& o, const Job<R>& run) {
    auto part = [](const void* from, int64_t count, int which) {
        return Widened<R>(load_wide<R, R>, from ? static_cast<const R*>(from) + which : nullptr, sizeof(R), 2, count);
    };
    Widened<R> lr = part(o.left, o.left_count, 0), li = part(o.left, o.left_count, 1),
               rr = part(o.right, o.right_count, 0), ri = part(o.right, o.right_count, 1),
               br = part(o.bias, o.bias_count, 0), bi = part(o.bias, o.bias_count, 1);
    Scratch<R> a(o.out_count), b(o.out_count), c(o.out_count), d(o.out_count);
    const R* none = nullptr;
    run(lr.values.data, rr.values.data, o.bias ? br.values.data : none, a.data);
    run(li.values.data, ri.values.data, none, b.data);
    run(lr.values.data, ri.values.data, o.bias ? bi.values.data : none, c.data);
    run(li.values.data, rr.values.data, none, d.data);
    combine(o.out, a.data, b.data, c.data, d.data, o.out_count);
}

void run_job(DType dtype, const Operands& o, const Job<float>& single, const Job<double>& wide) {
    auto plain = [&]<class R>(const Job<R>& run) {
        run(static_cast<const R*>(o.left), static_cast<const R*>(o.right), static_cast<const R*>(o.bias),
            static_cast<R*>(o.out));
    };
    switch (dtype) {
    case DType::Float32:
        return plain(single);
    case DType::Float64:
        return plain(wide);
    case DType::Float16:
    case DType::BFloat16:
        return run_half(dtype, o, single);
    case DType::Complex64:
        return run_complex(o, single);
    case DType::Complex128:
        return run_complex(o, wide);
    default:
        refuse_dtype("slow_conv2d_cpu", dtype);
    }
}

// run(left, right, bias, out) for float and double; halves and complex numbers are taken apart around it.
template <class Run>
void by_dtype(DType dtype, const void* left, int64_t left_count, const void* right, int64_t right_count,
              const void* bias, int64_t bias_count, void* out, int64_t out_count, const Run& run) {
    auto job = [&]<class R>(R) {
        return Job<R>{&run, [](const void* self, const R* l, const R* r, const R* b, R* to) {
                          (*static_cast<const Run*>(self))(l, r, b, to);
                      }};
    };
    run_job(dtype, {left, left_count, right, right_count, bias, bias_count, out, out_count}, job(float{}),
            job(double{}));
}

struct Counts {
    int64_t input, weight, output;
    explicit Counts(const Shape& s)
        : input(s.batch * s.groups * s.in_channels * s.in_space),
          weight(s.groups * s.out_channels * s.in_channels * s.taps),
          output(s.batch * s.groups * s.out_channels * s.out_space) {}
};

} // namespace

void convolution(const Convolution& c, const void* input, const void* weight, const void* bias, void* output) {
    Shape s(c);
    Counts n(s);
    if (n.output == 0) return;
    by_dtype(c.dtype, input, n.input, weight, n.weight, bias, c.out_channels, output, n.output,
             [&](auto* x, auto* w, auto* b, auto* y) { run_forward(s, x, w, b, y); });
}

void convolution_input_gradient(const Convolution& c, const void* grad_output, const void* weight, const void* bias,
                                void* grad_input) {
    Shape s(c);
    Counts n(s);
    if (n.input == 0) return;
    by_dtype(c.dtype, grad_output, n.output, weight, n.weight, bias, c.in_channels, grad_input, n.input,
             [&](auto* g, auto* w, auto* b, auto* y) { run_input_gradient(s, g, w, b, y); });
}

void convolution_weight_gradient(const Convolution& c, const void* input, const void* grad_output, void* grad_weight) {
    Shape s(c);
    Counts n(s);
    if (n.weight == 0) return;
    by_dtype(c.dtype, input, n.input, grad_output, n.output, nullptr, 0, grad_weight, n.weight,
             [&](auto* x, auto* g, auto*, auto* y) { run_weight_gradient(s, x, g, y); });
}

void convolution_bias_gradient(DType dtype, int64_t batch, int64_t channels, int64_t space, const void* grad_output,
                               void* grad_bias) {
    auto sums = [&](auto* from, auto*, auto*, auto* to) {
        using T = std::remove_reference_t<decltype(*to)>;
        parallel_for(0, channels, std::max<int64_t>(1, 32768 / std::max<int64_t>(batch * space, 1)),
                     [&](int64_t begin, int64_t end) {
                         for (int64_t c = begin; c < end; ++c) {
                             T total = 0;
                             for (int64_t n = 0; n < batch; ++n) {
                                 const T* row = from + (n * channels + c) * space;
                                 T lanes[16] = {};
                                 int64_t i = 0;
                                 for (; i + 16 <= space; i += 16)
                                     for (int l = 0; l < 16; ++l)
                                         lanes[l] += row[i + l];
                                 for (int l = 0; i + l < space; ++l)
                                     lanes[l] += row[i + l];
                                 for (int step = 8; step; step /= 2)
                                     for (int l = 0; l < step; ++l)
                                         lanes[l] += lanes[l + step];
                                 total += lanes[0];
                             }
                             to[c] = total;
                         }
                     });
    };
    if (is_complex(dtype)) {
        // A complex number is two reals side by side, summed apart.
        auto split = [&](auto* from, auto* to) {
            for (int64_t c = 0; c < channels; ++c)
                for (int part = 0; part < 2; ++part) {
                    std::remove_reference_t<decltype(*to)> total = 0;
                    for (int64_t n = 0; n < batch; ++n)
                        for (int64_t i = 0; i < space; ++i)
                            total += from[2 * ((n * channels + c) * space + i) + part];
                    to[2 * c + part] = total;
                }
        };
        if (dtype == DType::Complex64)
            return split(static_cast<const float*>(grad_output), static_cast<float*>(grad_bias));
        return split(static_cast<const double*>(grad_output), static_cast<double*>(grad_bias));
    }
    by_dtype(dtype, grad_output, batch * channels * space, nullptr, 0, nullptr, 0, grad_bias, channels, sums);
}

} // namespace kindling::library
