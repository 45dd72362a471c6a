// Pooling against its definition, with nan, padding and ceil_mode; gradients against the definition's.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "check.h"
#include "core/error.h"
#include "draw.h"
#include "kernels/library/images/pooling.h"

using namespace kindling;
using namespace kindling::library;

template <class T> static void two_dimensions(int rounds) {
    for (int round = 0; round < rounds; ++round) {
        Pooling p{};
        p.dtype = dtype_of<T>;
        p.dims = 2;
        p.planes = 3;
        p.count_include_pad = draw::integer(0, 1);
        p.divisor_override = draw::integer(0, 3) == 0 ? 5 : 0;
        bool ceil_mode = draw::integer(0, 1);
        for (int d = 0; d < 2; ++d) {
            p.kernel[d] = draw::integer(1, 4);
            p.stride[d] = draw::integer(1, 3);
            p.padding[d] = draw::integer(0, p.kernel[d] / 2);
            p.dilation[d] = 1;
            p.in[d] = p.kernel[d] + draw::integer(0, 7);
            p.out[d] = pooling_out(p.in[d], p.kernel[d], p.stride[d], p.padding[d], 1, ceil_mode);
        }
        int64_t in_space = p.in[0] * p.in[1], out_space = p.out[0] * p.out[1];
        auto x = draw::as<T>(draw::reals(3 * in_space)), g = draw::as<T>(draw::reals(3 * out_space));
        std::vector<T> most(g.size()), mean(g.size()), most_grad(x.size()), mean_grad(x.size());
        std::vector<int64_t> indices(g.size());
        max_pool(p, x.data(), most.data(), indices.data());
        max_pool_gradient(p.dtype, 3, in_space, out_space, g.data(), indices.data(), most_grad.data());
        avg_pool(p, x.data(), mean.data());
        avg_pool_gradient(p, g.data(), mean_grad.data());
        std::vector<double> e_most, e_mean, e_most_grad(x.size()), e_mean_grad(x.size());
        for (int64_t n = 0; n < 3; ++n)
            for (int64_t i = 0; i < p.out[0]; ++i)
                for (int64_t j = 0; j < p.out[1]; ++j) {
                    double best = -1e300, sum = 0;
                    size_t best_place = 0;
                    std::vector<size_t> places;
                    int64_t with_padding = 0;
                    for (int64_t a = i * p.stride[0] - p.padding[0]; a < i * p.stride[0] - p.padding[0] + p.kernel[0]; ++a)
                        for (int64_t b = j * p.stride[1] - p.padding[1]; b < j * p.stride[1] - p.padding[1] + p.kernel[1]; ++b) {
                            if (a < p.in[0] + p.padding[0] && b < p.in[1] + p.padding[1]) ++with_padding;
                            if (a < 0 || b < 0 || a >= p.in[0] || b >= p.in[1]) continue;
                            auto place = static_cast<size_t>(n * in_space + a * p.in[1] + b);
                            places.push_back(place);
                            double value = draw::number(x[place]);
                            sum += value;
                            if (value > best) best = value, best_place = place;
                        }
                    double grad = draw::number(g[e_most.size()]);
                    double divisor = p.divisor_override    ? 5
                                     : p.count_include_pad ? static_cast<double>(with_padding)
                                                           : static_cast<double>(places.size());
                    CHECK(indices[e_most.size()] == static_cast<int64_t>(best_place) - n * in_space);
                    e_most.push_back(best);
                    e_mean.push_back(sum / divisor);
                    e_most_grad[best_place] += grad;
                    for (size_t place : places) e_mean_grad[place] += grad / divisor;
                }
        CHECK(draw::close(most, e_most));
        CHECK(draw::close(mean, e_mean));
        CHECK(draw::close(most_grad, e_most_grad));
        CHECK(draw::close(mean_grad, e_mean_grad));
    }
}

// Rows of many windows, with dilation, equal values, infinities and nan, against the definition.
template <class T> static void maxima(int rounds) {
    for (int round = 0; round < rounds; ++round) {
        Pooling p{};
        p.dtype = dtype_of<T>;
        p.dims = 2;
        p.planes = 2;
        for (int d = 0; d < 2; ++d) {
            p.kernel[d] = draw::integer(1, 4);
            p.stride[d] = draw::integer(1, 4);
            p.padding[d] = draw::integer(0, p.kernel[d] / 2);
            p.dilation[d] = draw::integer(1, 3);
            p.in[d] = p.dilation[d] * p.kernel[d] + draw::integer(0, d ? 60 : 3);
            p.out[d] = pooling_out(p.in[d], p.kernel[d], p.stride[d], p.padding[d], p.dilation[d], round % 2);
        }
        const int64_t in_space = p.in[0] * p.in[1], out_space = p.out[0] * p.out[1];
        std::vector<T> x(static_cast<size_t>(2 * in_space)), out(static_cast<size_t>(2 * out_space));
        std::vector<int64_t> indices(out.size());
        for (T& value : x) {
            value = static_cast<T>(draw::integer(0, 5));
            if constexpr (std::is_floating_point_v<T>) {
                if (draw::integer(0, 9) == 0) value = std::numeric_limits<T>::quiet_NaN();
                if (draw::integer(0, 3) == 0) value = -std::numeric_limits<T>::infinity();
            }
        }
        max_pool(p, x.data(), out.data(), indices.data());
        for (int64_t place = 0; place < 2 * out_space; ++place) {
            const T* plane = x.data() + place / out_space * in_space;
            const int64_t top = place % out_space / p.out[1] * p.stride[0] - p.padding[0],
                          left = place % p.out[1] * p.stride[1] - p.padding[1];
            int64_t best = -1;
            for (int64_t a = 0; a < p.kernel[0]; ++a)
                for (int64_t b = 0; b < p.kernel[1]; ++b) {
                    const int64_t y = top + a * p.dilation[0], z = left + b * p.dilation[1];
                    if (y < 0 || z < 0 || y >= p.in[0] || z >= p.in[1]) continue;
                    const int64_t at = y * p.in[1] + z;
                    if (best < 0 || plane[at] > plane[best] || plane[at] != plane[at]) best = at;
                }
            CHECK(indices[static_cast<size_t>(place)] == best);
            CHECK(memcmp(&out[static_cast<size_t>(place)], plane + best, sizeof(T)) == 0);
        }
    }
}

int main() {
    maxima<float>(60);
    maxima<double>(60);
    maxima<int64_t>(20);
    maxima<int16_t>(20);
    two_dimensions<float>(60);
    two_dimensions<double>(60);
    two_dimensions<BFloat16>(10);

    // Adaptive windows of 5 into 3: [0,2) [1,4) [3,5).
    Pooling p{};
    p.dtype = DType::Float64;
    p.dims = 1;
    p.planes = 1;
    p.in[0] = 5;
    p.out[0] = 3;
    double x[] = {1, 2, 3, 4, 5}, out[3], grad[5], ones[] = {1, 1, 1};
    int64_t indices[3];
    adaptive_avg_pool(p, x, out);
    CHECK(out[0] == 1.5 && out[1] == 3 && out[2] == 4.5);
    adaptive_avg_pool_gradient(p, ones, grad);
    CHECK(grad[0] == 0.5 && std::abs(grad[1] - (0.5 + 1.0 / 3)) < 1e-15 && std::abs(grad[2] - 1.0 / 3) < 1e-15);
    adaptive_max_pool(p, x, out, indices);
    CHECK(out[0] == 2 && out[1] == 4 && out[2] == 5 && indices[0] == 1 && indices[1] == 3 && indices[2] == 4);

    // nan wins.
    x[1] = std::numeric_limits<double>::quiet_NaN();
    adaptive_max_pool(p, x, out, indices);
    CHECK(std::isnan(out[0]) && std::isnan(out[1]) && out[2] == 5 && indices[0] == 1);

    // The last window of ceil_mode may not begin in the right padding.
    CHECK(pooling_out(5, 2, 2, 0, 1, false) == 2 && pooling_out(5, 2, 2, 0, 1, true) == 3);
    CHECK(pooling_out(4, 2, 3, 1, 1, true) == 2 && pooling_out(2, 1, 3, 0, 1, true) == 1);
    p.dtype = DType::Bool;
    CHECK_THROWS(adaptive_max_pool(p, x, out, indices), "not implemented for 'Bool'");
    return finish("pooling");
}
