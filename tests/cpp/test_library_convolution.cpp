// Convolution against its definition, its gradients against the definition's; and the thread count changes no bit.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "check.h"
#include "core/error.h"
#include "draw.h"
#include "kernels/library/convolution/convolution.h"
#include "runtime/threads.h"

using namespace kindling;
using namespace kindling::library;

// each(output element, input element, weight element) for every product of the definition.
template <class Each> static void for_products(const Convolution& c, Each each) {
    int64_t in[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, out[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, padding[3] = {}, dilation[3] = {1, 1, 1};
    for (int d = 0; d < c.dims; ++d) {
        int to = 3 - c.dims + d;
        in[to] = c.in[d], kernel[to] = c.kernel[d], out[to] = c.out[d], stride[to] = c.stride[d], padding[to] = c.padding[d],
        dilation[to] = c.dilation[d];
    }
    int64_t ig = c.in_channels / c.groups, og = c.out_channels / c.groups;
    for (int64_t n = 0; n < c.batch; ++n)
        for (int64_t o = 0; o < c.out_channels; ++o)
            for (int64_t x = 0; x < out[0]; ++x)
                for (int64_t y = 0; y < out[1]; ++y)
                    for (int64_t z = 0; z < out[2]; ++z)
                        for (int64_t i = 0; i < ig; ++i)
                            for (int64_t a = 0; a < kernel[0]; ++a)
                                for (int64_t b = 0; b < kernel[1]; ++b)
                                    for (int64_t e = 0; e < kernel[2]; ++e) {
                                        int64_t p = x * stride[0] - padding[0] + a * dilation[0];
                                        int64_t q = y * stride[1] - padding[1] + b * dilation[1];
                                        int64_t r = z * stride[2] - padding[2] + e * dilation[2];
                                        if (p < 0 || q < 0 || r < 0 || p >= in[0] || q >= in[1] || r >= in[2]) continue;
                                        each((((n * c.out_channels + o) * out[0] + x) * out[1] + y) * out[2] + z,
                                             (((n * c.in_channels + o / og * ig + i) * in[0] + p) * in[1] + q) * in[2] + r,
                                             (((o * ig + i) * kernel[0] + a) * kernel[1] + b) * kernel[2] + e);
                                    }
}

/// All four kernels against products one by one.
template <class T> static void compare(const Convolution& c) {
    int64_t in_space = 1, out_space = 1, taps = 1;
    for (int d = 0; d < c.dims; ++d) in_space *= c.in[d], out_space *= c.out[d], taps *= c.kernel[d];
    int64_t inputs = c.batch * c.in_channels * in_space, outputs = c.batch * c.out_channels * out_space;
    int64_t weights = c.out_channels * c.in_channels / c.groups * taps;
    auto x = draw::as<T>(draw::reals(inputs)), w = draw::as<T>(draw::reals(weights)), g = draw::as<T>(draw::reals(outputs)),
         bias = draw::as<T>(draw::reals(c.out_channels));
    std::vector<double> out(static_cast<size_t>(outputs)), grad_x(x.size()), grad_w(w.size()), grad_b(bias.size());
    for (size_t i = 0; i < out.size(); ++i) {
        size_t channel = i / static_cast<size_t>(out_space) % bias.size();
        out[i] = draw::number(bias[channel]);
        grad_b[channel] += draw::number(g[i]);
    }
    for_products(c, [&](int64_t o, int64_t i, int64_t k) {
        auto so = static_cast<size_t>(o), si = static_cast<size_t>(i), sk = static_cast<size_t>(k);
        out[so] += draw::number(x[si]) * draw::number(w[sk]);
        grad_x[si] += draw::number(g[so]) * draw::number(w[sk]);
        grad_w[sk] += draw::number(g[so]) * draw::number(x[si]);
    });
    std::vector<T> got_out(out.size()), got_x(x.size()), got_w(w.size()), got_b(bias.size());
    convolution(c, x.data(), w.data(), bias.data(), got_out.data());
    convolution_input_gradient(c, g.data(), w.data(), nullptr, got_x.data());
    convolution_weight_gradient(c, x.data(), g.data(), got_w.data());
    convolution_bias_gradient(c.dtype, c.batch, c.out_channels, out_space, g.data(), got_b.data());
    CHECK(draw::close(got_out, out));
    CHECK(draw::close(got_x, grad_x));
    CHECK(draw::close(got_w, grad_w));
    CHECK(draw::close(got_b, grad_b));
}

template <class T> static void cases(int rounds, bool large = false, bool depthwise = false, bool many = false, bool wide = false) {
    for (int round = 0; round < rounds; ++round) {
        Convolution c{};
        c.dtype = dtype_of<T>;
        c.dims = static_cast<int>(large ? draw::integer(1, 2) : draw::integer(1, 3));
        c.batch = draw::integer(1, 3);
        c.groups = draw::integer(1, 3);
        c.in_channels = c.groups * (depthwise ? 1 : draw::integer(1, large ? 12 : 4));
        c.out_channels = c.groups * (depthwise ? draw::integer(1, 2) : draw::integer(1, large ? 30 : 4));
        if (large && !depthwise && round % 8 == 0) // the copy of the input is made in several bands
            c.dims = 2, c.groups = 1, c.in_channels = 150, c.out_channels = 5;
        if (many) { // small images, which lie side by side
            c.dims = static_cast<int>(draw::integer(1, 2));
            c.batch = draw::integer(2, 20);
            c.out_channels *= draw::integer(1, 9);
            if (round % 8 == 0) c.groups = 1, c.in_channels = 300, c.out_channels = 5;
        }
        if (wide) // channels for several panels and blocks of a weight's gradient
            c.in_channels = c.groups * draw::integer(16, 70), c.out_channels = c.groups * draw::integer(4, 40);
        bool pointwise = draw::integer(0, 4) == 0;
        for (int d = 0; d < c.dims; ++d) {
            c.kernel[d] = pointwise ? 1 : draw::integer(1, depthwise ? 7 : 3);
            c.stride[d] = pointwise ? 1 : draw::integer(1, 3);
            c.padding[d] = pointwise ? 0 : draw::integer(0, 2);
            c.dilation[d] = draw::integer(1, 2);
            c.in[d] = std::max<int64_t>(1, c.dilation[d] * (c.kernel[d] - 1) + 1 - 2 * c.padding[d]) +
                      (large ? draw::integer(c.dims == 1 ? 200 : 15, c.dims == 1 ? 700 : 40) : draw::integer(0, 8));
            c.out[d] = convolution_out(c.in[d], c.kernel[d], c.stride[d], c.padding[d], c.dilation[d]);
        }
        compare<T>(c);
    }
}

int main() {
    cases<float>(60);
    cases<double>(60);
    cases<float>(40, true);
    cases<float>(40, true, true);
    cases<double>(40, true, true);
    cases<double>(20, true);
    cases<float>(60, false, false, true);
    cases<double>(30, false, false, true);
    cases<float>(40, false, false, false, true);
    cases<double>(20, false, false, false, true);
    cases<Half>(10);
    cases<BFloat16>(10);

    // A kernel as large as the input, in groups; a stride beyond what is sorted by, with padding.
    compare<float>({DType::Float32, 2, 5, 6, 10, 2, {3, 4}, {3, 4}, {1, 1}, {1, 1}, {0, 0}, {1, 1}});
    compare<double>({DType::Float64, 3, 3, 4, 2, 1, {2, 3, 2}, {2, 3, 2}, {1, 1, 1}, {1, 2, 1}, {0, 0, 0}, {1, 1, 1}});
    compare<float>({DType::Float32, 2, 2, 3, 8, 1, {40, 37}, {9, 10}, {4, 4}, {9, 11}, {2, 3}, {1, 1}});
    compare<float>({DType::Float32, 3, 2, 2, 4, 2, {5, 30, 33}, {2, 3, 12}, {3, 3, 3}, {3, 10, 10}, {2, 1, 4}, {1, 2, 1}});

    // An input's gradient phase by phase.
    compare<float>({DType::Float32, 2, 9, 16, 24, 2, {23, 21}, {3, 4}, {12, 10}, {2, 2}, {1, 1}, {1, 1}});
    compare<float>({DType::Float32, 2, 30, 9, 8, 1, {14, 13}, {5, 3}, {7, 11}, {2, 1}, {2, 0}, {1, 1}});
    compare<float>({DType::Float32, 1, 12, 8, 11, 1, {300}, {7}, {100}, {3}, {3}, {1}});
    compare<double>({DType::Float64, 3, 5, 8, 9, 1, {9, 15, 13}, {3, 3, 3}, {5, 8, 6}, {2, 2, 2}, {1, 1, 0}, {1, 1, 1}});

    // Small images side by side, as many as there are threads for or not, and each of them alone.
    Convolution small{DType::Float32, 2, 7, 20, 24, 1, {7, 7}, {3, 3}, {7, 7}, {1, 1}, {1, 1}, {1, 1}};
    auto y = draw::as<float>(draw::reals(7 * 20 * 49)), v = draw::as<float>(draw::reals(24 * 20 * 9));
    std::vector<float> together(7 * 24 * 49), alone(together.size());
    small.batch = 1;
    for (size_t image = 0; image < 7; ++image)
        convolution(small, y.data() + image * 20 * 49, v.data(), nullptr, alone.data() + image * 24 * 49);
    small.batch = 7;
    for (int threads : {1, 3, 8}) {
        set_num_threads(threads);
        convolution(small, y.data(), v.data(), nullptr, together.data());
        CHECK(together == alone);
    }

    // A weight's gradient of more than is copied at once: several samples, rows of one, planes of one, rows of a plane.
    for (const Convolution& several :
         {Convolution{DType::Float32, 2, 30, 34, 8, 1, {33, 33}, {1, 2}, {33, 31}, {1, 1}, {0, 0}, {1, 2}},
          Convolution{DType::Float32, 2, 2, 32, 4, 1, {200, 190}, {2, 3}, {101, 188}, {2, 1}, {1, 0}, {1, 1}},
          Convolution{DType::Float32, 3, 1, 33, 4, 1, {40, 30, 31}, {2, 1, 3}, {40, 30, 31}, {1, 1, 1}, {1, 0, 1}, {2, 1, 1}},
          Convolution{DType::Float32, 3, 1, 32, 4, 1, {3, 200, 200}, {2, 2, 1}, {2, 199, 200}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}}}) {
        auto count = [](const int64_t (&sizes)[3], int dims) { return sizes[0] * sizes[1] * (dims == 3 ? sizes[2] : 1); };
        const int64_t in = several.batch * several.in_channels * count(several.in, several.dims);
        const int64_t out = several.batch * several.out_channels * count(several.out, several.dims);
        const int64_t weights = several.out_channels * several.in_channels * count(several.kernel, several.dims);
        auto from = draw::as<float>(draw::reals(in)), grad = draw::as<float>(draw::reals(out));
        std::vector<double> sums(static_cast<size_t>(weights));
        for_products(several, [&](int64_t o, int64_t i, int64_t k) {
            sums[static_cast<size_t>(k)] += draw::number(grad[static_cast<size_t>(o)]) * draw::number(from[static_cast<size_t>(i)]);
        });
        for (int threads : {1, 3}) {
            set_num_threads(threads);
            std::vector<float> got(sums.size());
            convolution_weight_gradient(several, from.data(), grad.data(), got.data());
            double worst = 0;
            for (size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::abs(static_cast<double>(got[i]) - sums[i]));
            CHECK(worst < 1e-5 * static_cast<double>(out / several.out_channels));
        }
    }

    Convolution c{DType::Float32, 2, 3, 20, 24, 1, {30, 30}, {3, 3}, {15, 15}, {2, 2}, {1, 1}, {1, 1}};
    auto x = draw::as<float>(draw::reals(3 * 20 * 900)), w = draw::as<float>(draw::reals(24 * 20 * 9)),
         g = draw::as<float>(draw::reals(3 * 24 * 225));
    std::vector<std::vector<float>> results;
    for (int threads : {1, 3, 8}) {
        set_num_threads(threads);
        std::vector<float> all(3 * 24 * 225 + 3 * 20 * 900 + 24 * 20 * 9);
        convolution(c, x.data(), w.data(), nullptr, all.data());
        convolution_input_gradient(c, g.data(), w.data(), nullptr, all.data() + 3 * 24 * 225);
        convolution_weight_gradient(c, x.data(), g.data(), all.data() + 3 * 24 * 225 + 3 * 20 * 900);
        results.push_back(all);
    }
    CHECK(results[0] == results[1]);
    CHECK(results[0] == results[2]);
    // What only one tap reads reaches no other one's gradient.
    x[0] = INFINITY;
    c.padding[0] = c.padding[1] = 0;
    c.stride[0] = c.stride[1] = 1;
    c.out[0] = c.out[1] = 28;
    auto wide = draw::as<float>(draw::reals(3 * 24 * 784));
    std::vector<float> grad(24 * 20 * 9);
    convolution_weight_gradient(c, x.data(), wide.data(), grad.data());
    for (size_t i = 0; i < grad.size(); ++i) CHECK(std::isfinite(grad[i]) == (i % (20 * 9) != 0));
    // Of planes that lie side by side, none reads another one's values, forward or backward.
    for (int64_t stride : {1, 2}) {
        const int64_t out = stride == 1 ? 7 : 4;
        Convolution plane{DType::Float32, 2, 2, 3, 3, 3, {7, 7}, {3, 3}, {out, out}, {stride, stride}, {1, 1}, {1, 1}};
        auto in = draw::as<float>(draw::reals(6 * 49)), by = draw::as<float>(draw::reals(27)),
             from = draw::as<float>(draw::reals(6 * out * out));
        for (size_t image : {size_t{0}, size_t{2}, size_t{4}}) {
            std::fill_n(in.begin() + static_cast<ptrdiff_t>(image) * 49, 49, INFINITY);
            std::fill_n(from.begin() + static_cast<ptrdiff_t>(image) * out * out, out * out, INFINITY);
        }
        std::vector<float> to(from.size()), back(in.size());
        convolution(plane, in.data(), by.data(), nullptr, to.data());
        convolution_input_gradient(plane, from.data(), by.data(), nullptr, back.data());
        for (size_t i = 0; i < to.size(); ++i) CHECK(i / static_cast<size_t>(out * out) % 2 == 0 || std::isfinite(to[i]));
        for (size_t i = 0; i < back.size(); ++i) CHECK(i / 49 % 2 == 0 || std::isfinite(back[i]));
    }
    c.dtype = DType::Int64;
    CHECK_THROWS(convolution(c, nullptr, nullptr, nullptr, nullptr), "not implemented for 'Long'");
    return finish("convolution");
}
